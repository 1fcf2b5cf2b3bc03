"""The mechanism that stands in a scene, edits included."""
