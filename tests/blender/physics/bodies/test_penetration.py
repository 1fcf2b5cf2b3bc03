"""How deep bodies are in one another: against what can be worked out, and against the hull of all differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.collision_helpers import OVERLAPPING, limp, skel
from tests.support.mechanisms import body, joint, model, pose, put
from tests.support.truth_helpers import baked

pytest.importorskip("bpy", reason="Blender is not here")


def solid(kind: str, *half: float) -> Any:
    from addon.blender.physics.bodies.penetration import ConvexShape

    corners = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * half
    return ConvexShape(kind, corners, np.array(half))


def deep(one: Any, other: Any, at: np.ndarray, there: np.ndarray) -> float:
    from addon.blender.physics.bodies.penetration import penetration_depths

    return float(penetration_depths(one, other, at[None], there[None])[0])


CUBE, BALL, ROD, LOG = (
    solid("BOX", 1, 1, 1),
    solid("SPHERE", 1, 1, 1),
    solid("CAPSULE", 0.5, 0.5, 2),
    solid("CYLINDER", 0.5, 0.5, 2),
)
ROUND = (1.2, 0.7, -0.4)
KNOWN = {
    "face in face": (CUBE, CUBE, pose((1.7, 0.2, 0.1)), 0.3),
    "edge in face": (CUBE, CUBE, pose((2.2, 0, 0), (45, 0, 0)), math.sqrt(2) + 1 - 2.2),
    "apart by a corner": (CUBE, CUBE, pose((1.9, 1.9, 0), (45, 0, 0)), 0.0),
    "ball in ball": (BALL, BALL, pose(ROUND), 2 - float(np.linalg.norm(ROUND))),
    "ball in face": (CUBE, BALL, pose((1.9, 0.5, 0.3)), 0.1),
    "ball in corner": (CUBE, BALL, pose((1.5, 1.5, 1.5)), 1 - math.sqrt(0.75)),
    "ball at a corner": (CUBE, BALL, pose((1.6, 1.6, 1.6)), 0.0),
    "rod across rod": (ROD, ROD, pose((0.8, 0.3, 0.1), (0, 90, 0)), 0.2),
    "end of a rod in a face": (CUBE, ROD, pose((0, 0, 2.9)), 0.1),
    "log on its side": (CUBE, LOG, pose((0, 0, 1.4), (30, 90, 0)), 0.1),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("turned", [False, True])
def test_depths_that_can_be_worked_out(name: str, turned: bool) -> None:
    one, other, there, expected = KNOWN[name]
    frame = pose((3, -2, 5), (70, 20, 40)) if turned else np.eye(4)
    assert deep(one, other, frame, frame @ there) == pytest.approx(expected, abs=2e-4)
    assert deep(other, one, frame @ there, frame) == pytest.approx(expected, abs=2e-4)


def minkowski(ones: np.ndarray, others: np.ndarray) -> float:
    """How deep the hulls of two clouds are in one another: how far the origin is inside the hull of all differences."""
    import bmesh
    from mathutils import Vector

    mesh = bmesh.new()
    for point in (ones[:, None] - others[None]).reshape(-1, 3):
        mesh.verts.new(point)
    bmesh.ops.convex_hull(mesh, input=mesh.verts)
    bmesh.ops.triangulate(mesh, faces=mesh.faces)
    middle = sum((vertex.co for vertex in mesh.verts), Vector()) / len(mesh.verts)
    reach = []
    for face in mesh.faces:
        normal = (face.verts[1].co - face.verts[0].co).cross(face.verts[2].co - face.verts[0].co).normalized()
        if normal.dot(face.verts[0].co - middle) < 0:
            normal.negate()
        reach.append(normal.dot(face.verts[0].co))
    mesh.free()
    return max(0.0, min(reach))


def test_hulls_are_as_deep_as_the_hull_of_their_differences() -> None:
    from addon.blender.physics.bodies.penetration import ConvexShape

    random = np.random.default_rng(3)
    found, expected = [], []
    for _ in range(60):
        clouds = [random.normal(size=(12, 3)) for _ in range(2)]
        places = [pose(random.uniform(-1.5, 1.5, 3), random.uniform(-180, 180, 3)) for _ in range(2)]
        solids = [ConvexShape("CONVEX_HULL", cloud, np.ptp(cloud, axis=0) / 2) for cloud in clouds]
        found.append(deep(*solids, *places))
        world = [cloud @ place[:3, :3].T + place[:3, 3] for cloud, place in zip(clouds, places, strict=True)]
        expected.append(minkowski(*world))
    off = np.array(found) - np.array(expected)
    assert 10 < np.count_nonzero(expected) < 60
    assert off.min() > -1e-4, "never too small"
    assert np.median(off) < 1e-3
    assert off.max() < 0.05, "of hulls that are about 3 across"


def placed_at_random(count: int) -> np.ndarray:
    """Poses (count, 4, 4) that are turned at random and less than a unit from the origin."""
    random = np.random.default_rng(2)
    poses = np.tile(np.eye(4), (count, 1, 1))
    turns = np.linalg.qr(random.normal(size=(count, 3, 3)))[0]
    poses[:, :3, :3] = turns * np.linalg.det(turns)[:, None, None]
    poses[:, :3, 3] = random.uniform(-0.6, 0.6, (count, 3))
    return poses


@pytest.mark.parametrize("other", [CUBE, BALL, ROD, LOG], ids=lambda each: each.kind)
def test_what_is_about_so_deep_is_no_less_deep(other: Any) -> None:
    from addon.blender.physics.bodies.penetration import penetration_depths

    at, there = placed_at_random(40), np.tile(np.eye(4), (40, 1, 1))
    known, about = (penetration_depths(LOG, other, at, there, rough) for rough in (False, True))
    assert (about > known - 1e-6).all() and (about < 1.1 * known + 0.02).all()


def test_many_at_once_are_as_deep_as_each_alone() -> None:
    from addon.blender.physics.bodies.penetration import penetration_depths

    at, there = placed_at_random(20), np.tile(np.eye(4), (20, 1, 1))
    together = penetration_depths(CUBE, LOG, at, there)
    assert together == pytest.approx([deep(CUBE, LOG, *each) for each in zip(at, there, strict=True)], abs=1e-9)


def test_a_kind_of_size_one_that_is_scaled_is_as_deep() -> None:
    from addon.blender.physics.bodies.penetration import penetration_depths

    plank, unit = solid("BOX", 0.5, 2, 0.2), solid("BOX", 1, 1, 1)
    at, there = placed_at_random(20), np.tile(np.eye(4), (20, 1, 1))
    assert penetration_depths(unit, LOG, at * [0.5, 2.0, 0.2, 1.0], there) == pytest.approx(
        penetration_depths(plank, LOG, at, there), abs=1e-9
    )


def test_bodies_that_begin_in_one_another_are_reported_unless_filtered(blank: Any) -> None:
    rig = limp(skel(OVERLAPPING), self_collide=True)
    accuracy = baked(rig, 5)
    assert accuracy.penetration == pytest.approx(0.4, abs=1e-4)
    assert rig.data.knuckle.accuracy.deepest_frame == 1
    assert set(rig.data.knuckle.accuracy.deepest_names.split()) in ({"a", "b"}, {"a", "c"})


def test_what_does_not_collide_is_in_nothing(blank: Any) -> None:
    assert baked(limp(skel(OVERLAPPING), self_collide=False), 5).penetration == 0.0


def test_jointed_bodies_may_be_in_one_another(blank: Any) -> None:
    two = body(1, (0, 0, 9), (1, 1, 1)) + body(2, (0.8, 0, 9), (1, 1, 1))
    rig = put(model(two, joint(4, 1, 2, (0.4, 0, 9), force=0), gravity=0))
    rig.data.knuckle.drive = "LIMP"
    assert baked(rig, 5).penetration == 0.0
