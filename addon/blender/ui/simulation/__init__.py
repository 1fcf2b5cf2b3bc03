"""Simulation: panel, drives, Live Input, and the display of 3D views under physics."""
