"""``python -m addon …``: Knuckle's command line, with Blender as a Python module."""

import sys

from .cli import main

sys.exit(main(sys.argv[1:]))
