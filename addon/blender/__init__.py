"""Blender integration. Only this package may import bpy."""
