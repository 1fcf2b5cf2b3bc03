"""Edits of mechanisms without Blender: mirror images, twins, symmetry and design poses after edits."""
