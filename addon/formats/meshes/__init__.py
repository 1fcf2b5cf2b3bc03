"""Mesh files: finding, measuring, copying, reading and writing."""
