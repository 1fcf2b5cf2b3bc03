"""Mesh files: found, measured, copied, read and written."""
