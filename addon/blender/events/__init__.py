"""What Blender and the interface tell of: handlers, signals, undo, files."""
