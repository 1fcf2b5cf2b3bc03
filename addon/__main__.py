"""``python -m addon …``: Knuckle's command line, with Blender as a Python module."""

import os
import shutil
import sys

from .installation import dependency_rows, missing_dependency, rows_as_text

if missing_dependency():  # the command line itself needs these modules
    print(
        rows_as_text(dependency_rows()) if sys.argv[1:2] == ["self-check"] else f"knuckle: {missing_dependency()}",
        file=sys.stderr,
    )
    sys.exit(1)

from .cli import main  # noqa: E402

code = main(sys.argv[1:])
if "bpy" in sys.modules and (code or "mujoco" in sys.modules):
    # Exit without Python's cleanup. After a swallowed exception, such as Ctrl-C within a render, or with MuJoCo loaded,
    # the normal exit crashes Blender 4.2 and may hang 4.5. By now the work has ended and no file of it is open.
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.rmtree(sys.modules["bpy"].app.tempdir, ignore_errors=True)
    os._exit(code)
sys.exit(code)
