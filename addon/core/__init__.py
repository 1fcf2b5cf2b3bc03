"""Mechanisms: records, motion and edits. Needs numpy only, and neither files nor Blender."""
