"""Modifiers of a body go to its twin as mirror images: judged by the corners of evaluated meshes, reflected here, and
by the numbers of the exported mesh files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.queries import twin_of
from addon.blender.editing.symmetry.twins import mirror_to_twins
from tests.support.mirror_images_helpers import furthest, reopened
from tests.support.scenes import pick, the_rig

#: The order and signs of the axes of a twin's own frame, as Euler angles that it is turned by.
TURNS = [(0.0, 0.0, 0.0), (0.0, np.pi / 2.0, 0.0), (np.pi / 2.0, 0.0, np.pi), (0.3, 0.2, 1.2)]


def cut_and_mirrored(obj: Any) -> None:
    made = obj.modifiers.new("Mirror", "MIRROR")
    made.use_axis = (True, False, True)
    made.use_bisect_axis = (True, False, True)
    made.use_bisect_flip_axis = (True, False, False)


def beveled(obj: Any) -> None:
    made = obj.modifiers.new("Bevel", "BEVEL")
    made.width, made.segments, made.limit_method = 0.03, 2, "NONE"


def subdivided(obj: Any) -> None:
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1


def thick(obj: Any) -> None:
    made = obj.modifiers.new("Solidify", "SOLIDIFY")
    made.thickness, made.offset = 0.07, 0.4


def in_rows(obj: Any) -> None:
    made = obj.modifiers.new("Array", "ARRAY")
    made.count, made.use_constant_offset = 3, True
    made.relative_offset_displace, made.constant_offset_displace = (0.5, 0.1, -0.3), (0.2, -0.1, 0.4)


def smoothed(obj: Any) -> None:
    made = obj.modifiers.new("Smooth", "SMOOTH")
    made.use_x, made.use_y, made.factor, made.iterations = False, True, 0.7, 2


def several(obj: Any) -> None:
    for add in (cut_and_mirrored, beveled, in_rows):
        add(obj)


KINDS: list[Callable[[Any], None]] = [cut_and_mirrored, beveled, subdivided, thick, in_rows, smoothed, several]


def wedge(name: str, place: tuple[float, float, float], turn: tuple[float, float, float]) -> Any:
    """A mesh that no mirror maps onto itself."""
    points = [(0, 0, 0), (1, 0, 0), (0, 0.6, 0), (0.2, 0.3, 0.9), (-0.4, -0.2, 0.3)]
    faces = [(0, 2, 1), (1, 2, 3), (0, 1, 4), (1, 3, 4), (2, 4, 3), (0, 4, 2)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.location, obj.rotation_euler = place, turn
    return obj


def zoo(turn: tuple[float, float, float] = TURNS[0]) -> Any:
    """A model of two bodies with own meshes that are twins across X = 0, the right one turned in a way of its own."""
    bpy.ops.knuckle.new_model(name="Zoo")
    rig = bpy.context.object
    left, right = wedge("Left", (-2.0, 0.3, 1.0), (0.1, 0.2, 0.3)), wedge("Right", (1.0, 0.0, 0.0), turn)
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    pick(left, right)
    assert bpy.ops.knuckle.link_twins() == {"FINISHED"}
    bpy.context.view_layer.update()
    return left, right


def seen(obj: Any) -> np.ndarray:
    """The corners (n, 3) in the world of a mesh as it is evaluated."""
    bpy.context.view_layer.update()
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([evaluated.matrix_world @ corner.co for corner in evaluated.to_mesh().vertices])


def off(obj: Any, twin: Any) -> float:
    mine, its = seen(obj) * [-1.0, 1.0, 1.0], seen(twin)
    assert len(mine) == len(its)
    return max(furthest(mine, its), furthest(its, mine))


def exported(folder: Path) -> Path:
    pick(the_rig())
    path = folder / "out.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel") == {"FINISHED"}
    return path


def written(folder: Path) -> dict[str, bytes]:
    """The text of the model's file and of the meshes beside it."""
    exported(folder)
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.suffix != ".blend" and path.is_file()}


def settings(obj: Any) -> list[dict[str, Any]]:
    out = []
    for modifier in obj.modifiers:
        names = [each.identifier for each in modifier.bl_rna.properties if not each.is_readonly]
        told = {name: getattr(modifier, name) for name in names}
        out.append({name: value[:] if hasattr(value, "__len__") else value for name, value in told.items()})
    return out


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("add", KINDS)
def test_the_twin_is_seen_as_the_image(blank: Any, tmp_path: Path, add: Callable[[Any], None], turn: Any) -> None:
    """There and back leaves both as after the first, and so does a saved file; the export has what is seen."""
    left, right = zoo(turn)
    add(left)
    right.modifiers.new("Old", "SUBSURF")
    pick(left)
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    assert off(left, right) < 1e-5
    assert [each.name for each in right.modifiers] == [each.name for each in left.modifiers]
    first = settings(left), settings(right)
    files = written(tmp_path)
    for chosen in (right, left):
        pick(chosen)
        assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
        assert (settings(left), settings(right)) == first
        assert written(tmp_path) == files
    reopened(tmp_path)
    left, right = bpy.data.objects["Left"], bpy.data.objects["Right"]
    assert (settings(left), settings(right)) == first and off(left, right) < 1e-5
    path = exported(tmp_path)
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.mechanism(filepath=str(path))
    assert off(bpy.data.objects["Left"], bpy.data.objects["Right"]) < 2e-5


@pytest.mark.parametrize("add", [cut_and_mirrored, in_rows, several])
def test_a_twin_that_is_made_has_them(blank: Any, add: Callable[[Any], None]) -> None:
    left, right = zoo()
    add(left)
    pick(right)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    pick(left)
    assert bpy.ops.knuckle.create_twin(plane="X") == {"FINISHED"}
    assert off(left, twin_of(left)) < 1e-5


def test_a_modifier_without_mirror_image_is_reported_and_left(blank: Any) -> None:
    """By its type, or as another object tells what it does. The twin's own ones of these names stay."""
    left, right = zoo()
    left.modifiers.new("Twist", "SIMPLE_DEFORM").angle = 0.5
    left.modifiers.new("About", "MIRROR").mirror_object = the_rig()
    beveled(left)
    right.modifiers.new("Twist", "SIMPLE_DEFORM").angle = -0.2
    _led, report = mirror_to_twins([left])
    assert [each.name for each in right.modifiers] == ["Twist", "Bevel"]
    assert right.modifiers["Twist"].angle == pytest.approx(-0.2)
    (entry,) = (entry for entry in report.entries if entry.code == "modifier-not-mirrored")
    assert "Twist, About" in entry.message and "'Right'" in entry.message
