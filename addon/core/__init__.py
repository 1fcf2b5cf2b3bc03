"""Mechanisms: records, motion and edits. Needs numpy only; knows neither files nor Blender."""
