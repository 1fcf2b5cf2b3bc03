"""Simulation panel, drives, Live Input and the physics view."""
