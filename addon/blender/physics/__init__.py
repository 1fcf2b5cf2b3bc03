"""Simulation of mechanisms with Blender's rigid-body world; building the physics and clearing it are inverse."""
