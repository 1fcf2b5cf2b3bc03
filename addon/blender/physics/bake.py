"""Public names of release 1.0 for ``physics.recording.bake``."""

from .recording.bake import bake, record, recorded_motion

__all__ = ["bake", "record", "recorded_motion"]
