"""The rigid-body world of a scene: its settings, its members, its scale, its removal."""
