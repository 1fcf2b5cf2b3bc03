"""Bones: channels, limits, dials and joint frames."""
