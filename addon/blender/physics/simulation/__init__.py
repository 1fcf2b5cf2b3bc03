"""Simulations: set up and removed, stepped and controlled frame by frame."""
