"""Edits of mechanisms without Blender: mirror images, twins, symmetry, closed designs."""
