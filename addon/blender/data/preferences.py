"""What the user set under Edit > Preferences > Add-ons > Knuckle, for all rooms; defaults where we are no add-on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import bpy

from ...formats.xmdi import OUTER

#: The name under which Blender knows the add-on: ``bl_ext.user_default.knuckle``, or ``addon`` in our own tree.
ADDON = (__package__ or "").rsplit(".", 2)[0]


def mesh_folders() -> tuple[str, ...]:
    """The folders, absolute, in which meshes may be looked for beside the model's own."""
    found = _preferences()
    folders = [row.path for row in found.mesh_folders] if found is not None else []
    return tuple(dict.fromkeys(os.path.normpath(folder) for folder in folders if is_absolute(folder)))


def is_absolute(folder: str) -> bool:
    """Return whether a folder is the same whichever .blend is open: ``//`` means the folder of that, perhaps a
    stranger's."""
    return os.path.isabs(folder) and not folder.startswith("//")


def ignore_collada_units() -> bool:
    """Return whether the unit that a Collada file names is left out of account."""
    found = _preferences()
    return bool(found.ignore_collada_units) if found is not None else True


def import_defaults(names: Iterable[str]) -> dict[str, Any]:
    """Return what imports begin with, by the names of their options; empty where nobody has enabled us."""
    found = _preferences()
    return {} if found is None else {name: getattr(found, name) for name in names if hasattr(found, name)}


def overlay_defaults() -> set[str]:
    """Return which overlays are switched on with the first mechanism of a scene."""
    found = _preferences()
    return set(found.overlays) if found is not None else set()


def xmdi_tags() -> tuple[str, str]:
    """Return what new XMDI documents call their root and the container of their motions."""
    found = _preferences()
    return (found.xmdi_root or OUTER[0], found.xmdi_container or OUTER[1]) if found is not None else OUTER


def _preferences() -> Any:
    """Our preferences, or None: from the command line and in tests nobody has enabled us."""
    addon: Any = bpy.context.preferences.addons.get(ADDON)
    found = addon.preferences if addon is not None else None
    return found if hasattr(found, "mesh_folders") else None
