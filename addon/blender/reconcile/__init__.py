"""Mechanisms made into objects, bones, constraints and Actions of Blender."""
