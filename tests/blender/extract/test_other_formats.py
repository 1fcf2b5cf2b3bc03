"""SKEL, x_xy and Shift through Blender: a model that nobody edited is written as it was, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from addon import formats
from addon.model.report import FormatError

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

    from addon.blender.build import BuildOptions, build
    from addon.blender.extract import extract

    bpy.ops.wm.read_factory_settings(use_empty=True)
    collection = build(mechanism, bpy.context, BuildOptions(physics=False, gait=False))
    return formats.dumps(extract(collection))[0]


def test_shapes_keep_what_blender_has_no_place_for(blank: Any) -> None:
    """A geom without a colour stays without one."""
    assert through_blender(formats.loads(X_XY.encode(), "arm.xml")) == X_XY


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_files_come_out_as_they_went_in(blank: Any, corpus: Path, tmp_path: Path, folder: str) -> None:
    """All of them together in one .blend, saved and opened again; meshes that are not there included."""
    import bpy

    from addon.blender.build import BuildOptions, build
    from addon.blender.extract import extract

    read: dict[str, tuple[Path, bytes]] = {}
    for path in sorted((corpus / folder).rglob("*" + FOLDERS[folder])):
        try:
            mechanism = formats.load(path)
        except FormatError:
            continue
        collection = build(mechanism, bpy.context, BuildOptions(physics=False, gait=False))
        read[collection.name] = path, path.read_bytes()
    if not read:
        pytest.skip("real files are not here")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "all.blend"), compress=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "all.blend"))
    for name, (path, data) in read.items():
        mechanism = extract(bpy.data.collections[name])
        target = tmp_path / ("out" + FOLDERS[folder])
        formats.save(mechanism, target)
        assert target.read_bytes() == data, path
    assert len(read) > 10
