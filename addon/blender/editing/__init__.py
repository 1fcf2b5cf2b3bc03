"""Edits of mechanisms in a scene."""
