"""Workarounds: one module per bug or race of Blender's physics; docs/developers/workarounds.md is their index."""
