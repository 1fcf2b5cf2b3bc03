"""Where a new joint is put: on a face, on a ring of points, between two bodies; told by what stands in the scene."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler

from addon.blender.data.queries import parts
from tests.support.scenes import pick

LEANS = (0.3, -0.5, 0.8)


def box_and_disc(lean: tuple[float, float, float] = LEANS) -> tuple[Any, Any, Any]:
    """A model of a box about the origin, of edge 1, and a leaning disc of radius 0.4 and height 0.2 at (0, 0, 2)."""
    bpy.ops.knuckle.new_model(name="Two")
    rig = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=1)
    box = bpy.context.object
    box.name = "Box"
    bpy.ops.mesh.primitive_cylinder_add(radius=0.4, depth=0.2, vertices=24, location=(0, 0, 2), rotation=lean)
    disc = bpy.context.object
    disc.name = "Disc"
    pick(box, disc, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    return rig, box, disc


def joint_at(rig: Any, child: Any, parent: Any, where: str, active: Any = None) -> Any:
    """Where the one joint is (4, 4)."""
    pick(child, parent)
    if active is not None:
        bpy.context.view_layer.objects.active = active
    assert bpy.ops.knuckle.add_joint(where=where) == {"FINISHED"}
    (joint,) = parts(rig, "JOINT")
    bpy.context.view_layer.update()
    return np.array(joint.matrix_world)


def top(disc: Any, radius: float) -> Any:
    """The points of the disc's upper rim, as numbers; each stands ``radius`` from its axis."""
    out = [vertex.index for vertex in disc.data.vertices if vertex.co.z > 0]
    assert all(np.hypot(*disc.data.vertices[index].co[:2]) == pytest.approx(radius, abs=1e-6) for index in out)
    return out


def chosen_only(obj: Any, kind: str, numbers: Any) -> None:
    for every in (obj.data.vertices, obj.data.edges, obj.data.polygons):
        every.foreach_set("select", [False] * len(every))
    for number in numbers:
        getattr(obj.data, kind)[number].select = True


@pytest.mark.parametrize("editing", [False, True])
def test_on_the_active_face_of_a_body(blank: Any, editing: bool) -> None:
    rig, box, disc = box_and_disc()
    number = next(each.index for each in box.data.polygons if each.normal.y > 0.9)
    chosen_only(box, "polygons", [number])
    box.data.polygons.active = number
    pick(disc, box)
    if editing:
        bpy.context.view_layer.objects.active = box
        bpy.ops.object.mode_set(mode="EDIT")
        box.update_from_editmode()
    from addon.blender.editing.joints import joint_placement

    found = np.array(joint_placement(bpy.context, "FACE", box, disc))
    if editing:
        bpy.ops.object.mode_set(mode="OBJECT")
    assert found[:3, 3] == pytest.approx([0, 0.5, 0], abs=1e-6)
    assert found[:3, 2] == pytest.approx([0, 1, 0], abs=1e-6)
    assert found[:3, :3] @ found[:3, :3].T == pytest.approx(np.eye(3), abs=1e-6)
    made = joint_at(rig, disc, box, "FACE")
    assert made[:3, 3] == pytest.approx([0, 0.5, 0], abs=1e-6), "through the operator"


def test_on_the_axle_of_a_ring(blank: Any) -> None:
    rig, box, disc = box_and_disc()
    chosen_only(disc, "vertices", top(disc, 0.4))
    made = joint_at(rig, disc, box, "RING")
    axle = np.array(Euler(LEANS).to_matrix())[:, 2]
    assert made[:3, 3] == pytest.approx(np.array([0, 0, 2]) + 0.1 * axle, abs=2e-6), "the middle of the rim"
    assert abs(made[:3, 2] @ axle) == pytest.approx(1.0, abs=1e-6), "square to its plane"


def test_between_the_nearest_points_with_the_childs_own_axes(blank: Any) -> None:
    rig, box, disc = box_and_disc(lean=(0.0, 0.0, 0.7))
    made = joint_at(rig, disc, box, "NEAREST")
    assert made[2, 3] == pytest.approx((0.5 + 1.9) / 2, abs=1e-6), "half way from the box's top to the disc's bottom"
    assert np.hypot(*made[:2, 3]) <= 0.4 + 1e-6
    assert made[:3, 2] == pytest.approx([0, 0, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("where", "tells"),
    [
        ("FACE", "Face: none is active. Select one in Edit Mode"),
        ("RING", "Ring: none is selected. Select an edge loop"),
    ],
)
def test_a_new_joint_without_selection_reports_what_to_select(blank: Any, where: str, tells: str) -> None:
    rig, box, disc = box_and_disc()
    for obj in (box, disc):
        chosen_only(obj, "vertices", [])
    pick(disc, box)
    with pytest.raises(RuntimeError, match=tells):
        bpy.ops.knuckle.add_joint(where=where)
    chosen_only(disc, "vertices", [0, 1])
    if where == "RING":
        with pytest.raises(RuntimeError, match=tells):
            bpy.ops.knuckle.add_joint(where=where)
    assert not [*parts(rig, "JOINT")], "nothing is half made"


def test_the_nearest_points_take_two_bodies_with_faces(blank: Any) -> None:
    rig, _box, disc = box_and_disc()
    pick(disc)
    with pytest.raises(RuntimeError, match="Nearest points: they are between two bodies. Select both"):
        bpy.ops.knuckle.add_joint(where="NEAREST")
    assert not [*parts(rig, "JOINT")]
