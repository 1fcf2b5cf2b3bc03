"""Bones of mechanisms: channels, limits, dials and joint frames."""
