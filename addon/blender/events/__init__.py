"""Handlers, signals, undo and files: events of Blender and of the interface."""
