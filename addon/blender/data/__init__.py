"""The records of mechanisms on Blender's data: read, written, queried, counted."""
