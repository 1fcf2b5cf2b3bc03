"""What an import shows: the mechanism fills the part of the view that no panel covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scenes import OWN

MODELS = [
    "hexapod/hexapod.jm",
    "desk_lamp/desk_lamp.skel",
    "pumpjack/pumpjack.json",
    "sensor_leg/sensor_leg.xml",
    "humanoid/humanoid.skel",
]


def view() -> tuple[Any, Any, Any]:
    """The 3D View's area, its window region, and the view."""
    import bpy

    area = next(area for area in bpy.context.screen.areas if area.type == "VIEW_3D")
    return area, next(region for region in area.regions if region.type == "WINDOW"), area.spaces.active.region_3d


def seen(points: Any, view: Any, region: Any) -> Any:
    """Points as a view with Blender's default lens shows them, (n, 2) in pixels of its region: what is drawn is worked
    out from the place, direction and distance of the view alone, by Blender's definition of its lens."""
    matrix = np.array(view.view_rotation.to_matrix())
    local = (points - np.array(view.view_location)) @ matrix
    depth = np.full(len(local), view.view_distance)
    if view.view_perspective == "PERSP":
        depth = view.view_distance - local[:, 2]
    assert (depth > 0.0).all()
    scale = max(region.width, region.height) * 50.0 / 72.0  # a lens of 50 mm on a sensor of twice 36 mm
    return local[:, :2] * (scale / depth)[:, None] + [region.width / 2, region.height / 2]


def vertices() -> Any:
    """The vertices of all bodies as they are evaluated, (n, 3)."""
    import bpy

    depsgraph = bpy.context.evaluated_depsgraph_get()
    out = []
    for obj in bpy.data.objects:
        if obj.knuckle.role == "BODY":
            evaluated = obj.evaluated_get(depsgraph)
            out += [evaluated.matrix_world @ vertex.co for vertex in evaluated.data.vertices]
    return np.array(out)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("perspective", ["PERSP", "ORTHO"])
def test_imported_mechanism_fills_the_free_part_of_the_view(startup: Any, model: str, perspective: str) -> None:
    import bpy

    area, region, look = view()
    look.view_perspective = perspective
    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / model), frame_view=True) == {"FINISHED"}
    pixels = seen(vertices(), look, region)
    left = max(r.x + r.width for r in area.regions if r.type == "TOOLS") - region.x
    top = min(r.y for r in area.regions if r.type in {"HEADER", "TOOL_HEADER"} and r.height > 1) - region.y
    assert pixels[:, 0].min() >= left
    assert pixels[:, 0].max() <= region.width
    assert pixels[:, 1].min() >= 0.0
    assert pixels[:, 1].max() <= top
    size = np.ptp(pixels, axis=0) / [region.width - left, top]
    assert 0.5 <= size.max() <= 0.9


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("perspective", ["PERSP", "ORTHO"])
def test_followed_mechanism_stays_whole(startup: Any, model: str, perspective: str) -> None:
    import bpy

    area, region, look = view()
    look.view_perspective = perspective
    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / model), frame_view=True) == {"FINISHED"}
    near = look.view_distance
    assert bpy.ops.knuckle.follow_in_view() == {"FINISHED"}
    look.view_location = area.spaces.active.lock_object.matrix_world.translation  # where Blender then looks
    pixels = seen(vertices(), look, region)
    assert (pixels >= 0.0).all()
    assert (pixels <= [region.width, region.height]).all()
    assert look.view_distance >= near
    look.view_distance = 1000.0 * near
    for _ in range(2):
        assert bpy.ops.knuckle.follow_in_view() == {"FINISHED"}
    assert look.view_distance == pytest.approx(1000.0 * near), "none comes nearer"


def test_bodies_that_show_nothing_do_not_count(startup: Any, tmp_path: Path) -> None:
    import bpy

    _area, region, look = view()
    path = tmp_path / "far.xml"
    path.write_text(
        '<x_xy model="far"><worldbody><body name="arm" joint="ry"><geom type="box" mass="1" dim="0.5 0.2 0.2"/>'
        '<body name="imu" pos="9 0 0" joint="frozen"/></body></worldbody></x_xy>'
    )
    assert bpy.ops.import_scene.mechanism(filepath=str(path), frame_view=True) == {"FINISHED"}
    size = np.ptp(seen(vertices(), look, region), axis=0) / [region.width, region.height]
    assert size.max() > 0.4


def test_script_leaves_the_view(startup: Any) -> None:
    import bpy

    _area, _region, look = view()
    before = (*look.view_location, look.view_distance, *look.view_rotation)
    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / MODELS[0])) == {"FINISHED"}
    assert (*look.view_location, look.view_distance, *look.view_rotation) == before


def test_view_through_the_camera_stays(startup: Any) -> None:
    import bpy

    _area, _region, look = view()
    look.view_perspective = "CAMERA"
    before = (*look.view_location, look.view_distance)
    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / MODELS[0]), frame_view=True) == {"FINISHED"}
    assert (*look.view_location, look.view_distance) == before
