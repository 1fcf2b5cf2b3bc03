"""``python -m addon …``: Knuckle's command line, with Blender as a Python module."""

import sys

from .about.rows import plain_text
from .about.wheels import wheel_rows, why_not

if why_not():  # the command line itself needs these modules
    print(plain_text(wheel_rows()) if sys.argv[1:2] == ["self-check"] else f"knuckle: {why_not()}", file=sys.stderr)
    sys.exit(1)

from .cli import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
