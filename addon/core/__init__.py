"""What a mechanism is. Needs numpy only and knows nothing of files or of Blender."""
