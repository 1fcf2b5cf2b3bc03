"""Rigid-body world of a scene: settings, members, scale, removal."""
