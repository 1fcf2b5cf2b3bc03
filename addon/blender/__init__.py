"""The rooms that talk to Blender. Only what is below here may import bpy."""
