"""Reading of a mechanism from the scene, with the user's edits."""
