"""Creation of objects, bones, constraints and Actions of Blender from a mechanism."""
