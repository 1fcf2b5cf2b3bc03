"""Reading of the user's settings under Edit > Preferences > Add-ons > Knuckle; defaults where it is not enabled."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import bpy

from ...formats.xmdi import DEFAULT_TAGS

#: Blender's name of the add-on: ``bl_ext.user_default.knuckle``, or ``addon`` in our own tree.
ADDON = (__package__ or "").rsplit(".", 2)[0]


def mesh_folders() -> tuple[str, ...]:
    """Return the absolute folders that are searched for meshes besides the model file's own."""
    found = _preferences()
    folders = [row.path for row in found.mesh_folders] if found is not None else []
    return tuple(dict.fromkeys(os.path.normpath(folder) for folder in folders if is_absolute(folder)))


def is_absolute(folder: str) -> bool:
    """Return whether a folder does not depend on the open .blend.

    A path that begins with ``//`` does: it is relative to a file that a stranger may have written.
    """
    return os.path.isabs(folder) and not folder.startswith("//")


def ignore_collada_units() -> bool:
    """Return whether the unit that a Collada file declares is ignored."""
    found = _preferences()
    return bool(found.ignore_collada_units) if found is not None else True


def import_defaults(names: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of import options by their names; empty where the add-on is not enabled."""
    found = _preferences()
    return {} if found is None else {name: getattr(found, name) for name in names if hasattr(found, name)}


def overlay_defaults() -> set[str]:
    """Return the overlays that are switched on with the first mechanism of a scene."""
    found = _preferences()
    return set(found.overlays) if found is not None else set()


def xmdi_tags() -> tuple[str, str]:
    """Return the tags of the root and of the motion container in new XMDI documents."""
    found = _preferences()
    return (
        (found.xmdi_root or DEFAULT_TAGS[0], found.xmdi_container or DEFAULT_TAGS[1])
        if found is not None
        else DEFAULT_TAGS
    )


def _preferences() -> Any:
    """Return our preferences; None where the add-on is not enabled, as on the command line and in tests."""
    addon: Any = bpy.context.preferences.addons.get(ADDON)
    found = addon.preferences if addon is not None else None
    return found if hasattr(found, "mesh_folders") else None
