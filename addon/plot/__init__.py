"""Pictures: of motions, and of what many runs came to."""

from .canvas import ENDINGS
from .motions import motion_picture
from .sweeps import sweep_picture

__all__ = ["ENDINGS", "motion_picture", "sweep_picture"]
