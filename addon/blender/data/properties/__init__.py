"""Property groups on Blender's objects, armatures and Actions."""
