"""Editing of mechanisms in a scene."""
