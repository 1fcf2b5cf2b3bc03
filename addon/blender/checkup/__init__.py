"""Whether this installation is whole: versions, modules, folders, what Blender was built with, and a test run."""

from __future__ import annotations

import os
from typing import Any

import bpy

from ...about.rows import Row
from ...about.wheels import wheel_rows
from .machine import machine_rows, version_rows
from .smoke import smoke_rows

__all__ = ["check_all"]


def check_all() -> list[Row]:
    """All rows; takes about two seconds. The open file is not touched."""
    places: Any = bpy.utils  # whose stubs lack one of these
    extensions = os.path.normpath(places.user_resource("EXTENSIONS"))
    blender = [places.resource_path("LOCAL"), places.system_resource("SCRIPTS"), os.path.dirname(bpy.__file__)]
    return [*version_rows(), *wheel_rows(extensions, blender), *machine_rows(), *smoke_rows()]
