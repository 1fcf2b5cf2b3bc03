"""Handlers, signals and file events of Blender and of our properties."""
