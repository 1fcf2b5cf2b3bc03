"""SKEL, x_xy and Shift through Blender: a model that nobody edited is written as it was, to the byte."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from addon import formats
from addon.core.report import FormatError
from tests.support.emptied import empty_file

X_XY = """<x_xy model="arm">
    <options gravity="0 0 9.81" dt="0.01"/>
    <worldbody>
        <body name="upper" joint="ry">
            <geom type="box" mass="1" pos="0.5 0 0" dim="1 0.25 0.2"/>
        </body>
    </worldbody>
</x_xy>
"""
FOLDERS = {"skel": ".skel", "x_xy": ".xml", "shift": ".json"}


def through_blender(mechanism: Any) -> str:
    """What is written of a model that was built and read off Blender again."""
    import bpy

    from addon.blender.reconcile.build import BuildOptions, build
    from addon.blender.scene.read.mechanism import extract

    empty_file()
    collection = build(mechanism, bpy.context, BuildOptions(physics=False, gait=False))
    return formats.dumps(extract(collection))[0]


def test_shapes_keep_what_blender_has_no_place_for(blank: Any) -> None:
    """A geom without a colour stays without one."""
    assert through_blender(formats.loads(X_XY.encode(), "arm.xml")) == X_XY


#: So many models in one scene: each import has Blender evaluate all that are there.
_TOGETHER = 8


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_files_come_out_as_they_went_in(blank: Any, corpus: Path, tmp_path: Path, folder: str) -> None:
    """Some of them together in one .blend, saved and opened again; meshes that are not there included."""
    mechanisms = readable(sorted((corpus / folder).rglob("*" + FOLDERS[folder])))
    if not mechanisms:
        pytest.skip("real files are not here")
    assert len(mechanisms) > 10
    paths = list(mechanisms)
    for first in range(0, len(paths), _TOGETHER):
        several = paths[first : first + _TOGETHER]
        names = saved_together([mechanisms[path] for path in several], tmp_path / "several.blend")
        for path, name in zip(several, names, strict=True):
            assert written(name, tmp_path / ("out" + FOLDERS[folder])) == path.read_bytes(), path


def readable(paths: list[Path]) -> dict[Path, Any]:
    """The models of files, but of those that are refused."""
    found = {}
    for path in paths:
        with contextlib.suppress(FormatError):
            found[path] = formats.load(path)
    return found


def saved_together(mechanisms: list[Any], path: Path) -> list[str]:
    """Build models into a scene of their own, which is saved and opened again: the names of their collections."""
    import bpy

    from addon.blender.reconcile.build import BuildOptions, build

    empty_file()
    options = BuildOptions(physics=False, gait=False)
    names = [build(mechanism, bpy.context, options).name for mechanism in mechanisms]
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return names


def written(collection: str, target: Path) -> bytes:
    """What the model of a collection is saved as."""
    import bpy

    from addon.blender.scene.read.mechanism import extract

    formats.save(extract(bpy.data.collections[collection]), target)
    return target.read_bytes()
