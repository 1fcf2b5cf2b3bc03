"""Simulations: set up and removed, and controlled frame by frame."""
