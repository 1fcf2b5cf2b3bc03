"""Helpers for tests of libraries: other .blend files, and data linked or appended from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

from tests.support.emptied import empty_file
from tests.support.exam import bring, rigs


def saved(folder: Path, name: str = "library.blend", ready: Callable[[], Any] | None = None) -> str:
    """The path of a .blend with the model in it, or with what ``ready`` makes; an empty scene is open after it."""
    bring(folder) if ready is None else ready()
    path = str(folder / name)
    bpy.ops.wm.save_as_mainfile(filepath=path)
    empty_file()
    return path


def load(path: str, kind: str, name: str, link: bool = True) -> Any:
    """A datablock of another file, linked or appended, in no collection yet."""
    with bpy.data.libraries.load(path, link=link) as (_there, here):
        setattr(here, kind, [name])
    return getattr(here, kind)[0]


def put(path: str, link: bool = True) -> Any:
    """The model's collection out of another file, put into the scene by script; its armature."""
    bpy.context.scene.collection.children.link(load(path, "collections", "duo", link))
    bpy.context.scene.render.fps = 60  # as the file had it that the model was imported into
    bpy.context.view_layer.update()
    return rigs()[-1]


def put_by_operator(path: str, kind: str = "Collection", name: str = "duo", link: bool = False) -> Any:
    """The same by File > Append or File > Link."""
    before = set(rigs())
    operator = bpy.ops.wm.link if link else bpy.ops.wm.append
    directory = f"{path}/{kind}/"
    assert operator(filepath=directory + name, directory=directory, filename=name) == {"FINISHED"}
    bpy.context.scene.render.fps = 60
    (rig,) = set(rigs()) - before
    return rig
