"""Blender's moments of inertia, as it turns bodies on springs, against ours of its shapes; and what is told of those
that differ from the file's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape
from tests.support.degrees_helpers import X, Y, Z, pose_of, put
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, play, world_of

MASS, STIFFNESS, PULL = 2.0, 30.0, 4.0
SIZES = {
    "box": {"x": 0.6, "y": 0.8, "z": 1.4},
    "sphere": {"radius": 0.5},
    "cylinder": {"radius": 0.3, "length": 1.2},
    "capsule": {"radius": 0.3, "length": 0.7},
    "cone": {"radius": 0.4, "length": 1.1},
    "ellipsoid": {"x": 0.6, "y": 0.8, "z": 1.4},
}
EXACT = {"box", "sphere", "cylinder"}


def measured(shape: Shape | None, axis: int, beside: float = 0.2) -> float:
    """The moment of inertia that Blender has about an axis through the middle: from the period of the body on a
    torsional spring a little beside its middle, under a weight that turns it out."""
    import bpy

    empty_file()
    off = beside * np.eye(3)[axis - 1]
    dof = Dof("rotation", np.eye(3)[axis], stiffness=STIFFNESS)
    body = Body("b", "B", mass=MASS, shapes=[shape] if shape else [])
    mechanism = Mechanism("m", bodies=[body])
    at = pose_of((0, 0, 0), off)
    mechanism.joints = [Joint("j", "J", "revolute", None, "b", at, at.copy(), [dof])]
    pull = PULL * np.cross(np.eye(3)[axis], off / beside)
    mechanism.world.gravity = pull
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    one, other = (axis + 1) % 3, (axis + 2) % 3
    (obj,) = objects_of(rig, "BODY").values()

    def angle() -> float:
        pose = np.linalg.inv(world_of(rig)) @ world_of(obj)
        return math.atan2(pose[other, one], pose[one, one])

    values = np.array(play(bpy.context.scene, 240, angle))
    values = values - (values.max() + values.min()) / 2
    at_zero = np.flatnonzero(np.diff(np.sign(values)))
    crossings = at_zero + values[at_zero] / (values[at_zero] - values[at_zero + 1])
    period = float(np.diff(crossings[: 1 + 2 * ((len(crossings) - 1) // 2)]).mean()) * 2 / 60
    return STIFFNESS * (period / (2 * math.pi)) ** 2 - MASS * beside**2


@pytest.mark.parametrize("kind", [*SIZES, "nothing"])
def test_bullets_moments_are_known(blank: Any, kind: str) -> None:
    import bpy

    from addon.blender.physics.bodies.inertia import blender_moments

    shape = None if kind == "nothing" else Shape(kind, SIZES[kind])  # type: ignore[arg-type]
    for axis in range(3):
        found = measured(shape, axis)
        (obj,) = [obj for obj in bpy.data.objects if obj.knuckle.role == "BODY"]
        assert found == pytest.approx(blender_moments(obj)[axis], rel=0.02), "xyz"[axis]


@pytest.mark.parametrize("kind", SIZES)
def test_which_shapes_have_the_moments_of_the_solid(blank: Any, kind: str) -> None:
    from addon.blender.physics.bodies.inertia import blender_moments
    from addon.core.mass_properties import unit_inertia

    shape = Shape(kind, SIZES[kind])  # type: ignore[arg-type]
    rig = put(Mechanism("m", bodies=[Body("b", "B", mass=MASS, shapes=[shape])]), physics=True)
    (obj,) = objects_of(rig, "BODY").values()
    off = np.abs(blender_moments(obj) / MASS / np.diag(unit_inertia(shape)) - 1.0).max()
    assert off < 0.02 if kind in EXACT else 0.02 < off < 1.3


def two_bodies(*tensors: Array | None) -> Mechanism:
    box = Shape("box", SIZES["box"])
    bodies = [
        Body(name, name.title(), pose_of((0, 0, 0), (3.0 * k, 0, 0)), MASS, inertia=tensor, shapes=[box])
        for k, (name, tensor) in enumerate(zip(("one", "two"), tensors, strict=True))
    ]
    return Mechanism("m", bodies=bodies)


def told(mechanism: Mechanism) -> list[tuple[str, str, str]]:
    """What is said of a model whose bodies get no flywheels."""
    import bpy

    from addon.blender.physics.bodies.inertia import report_inertia
    from addon.blender.physics.simulation.setup import build_physics

    rig = put(mechanism, physics=False)
    rig.data.knuckle.match_inertia = False
    build_physics(bpy.context.scene, rig)
    entries = report_inertia(rig, mechanism).entries
    return [(e.severity, e.where, e.message) for e in entries if e.code == "inertia-differs"]


def box_tensor() -> Array:
    x, y, z = (SIZES["box"][name] ** 2 for name in "xyz")
    return MASS / 12 * np.diag([y + z, x + z, x + y])


def test_what_is_the_same_or_not_told_is_not_reported(blank: Any) -> None:
    assert told(two_bodies(box_tensor(), None)) == []
    assert told(two_bodies(None, np.zeros((3, 3)))) == []


def test_the_worst_body_is_named_with_its_share(blank: Any) -> None:
    ((severity, where, message),) = told(two_bodies(box_tensor() * [1.05, 1, 1], np.diag(np.diag(box_tensor()) / 1.5)))
    assert (severity, where) == ("info", "Two")
    assert "2 of 2 bodies" in message
    assert "50%" in message
    ((severity, _, message),) = told(two_bodies(box_tensor(), np.diag(np.diag(box_tensor()) / 2.5)))
    assert severity == "warning" and "150%" in message, "beyond twice what the file has"


def test_a_small_difference_is_a_word_and_a_product_counts(blank: Any) -> None:
    ((severity, _, _),) = told(two_bodies(box_tensor() * 1.04, box_tensor()))
    assert severity == "info"
    leaning = box_tensor()
    leaning[0, 1] = leaning[1, 0] = 0.3 * math.sqrt(leaning[0, 0] * leaning[1, 1])
    ((severity, _, message),) = told(two_bodies(leaning, None))
    assert severity == "info"
    assert "30% of the moments" in message


def test_moments_are_compared_axis_by_axis(blank: Any) -> None:
    """A box that lies along X in the file and stands along Z here has the same three moments."""
    from addon.blender.physics.bodies.inertia import inertia_differences

    moments = np.array([3.0, 2.0, 1.0])
    tensors = np.array([np.diag(moments), np.diag(moments[::-1])])
    off, products = inertia_differences(tensors, np.array([moments, moments]))
    assert off == pytest.approx([0.0, 2.0]) and products.tolist() == [0.0, 0.0]


def test_a_compound_counts_as_the_box_that_holds_it(blank: Any) -> None:
    from addon.blender.physics.bodies.inertia import blender_moments

    rig = put(Mechanism("m", bodies=[Body("b", "B", mass=MASS, shapes=[Shape("box", SIZES["box"])])]), physics=True)
    (obj,) = objects_of(rig, "BODY").values()
    import bpy

    pieces = []
    for place in (X, -2 * Y + Z):
        piece = bpy.data.objects.new("piece", obj.data)
        piece.parent, piece.location = obj, place
        bpy.context.scene.rigidbody_world.collection.objects.link(piece)
        piece.rigid_body.collision_shape = "BOX"
        pieces.append(piece)
    obj.rigid_body.collision_shape = "COMPOUND"
    x, y, z = (SIZES["box"]["x"] + 1) ** 2, (SIZES["box"]["y"] + 2) ** 2, (SIZES["box"]["z"] + 1) ** 2
    assert blender_moments(obj, pieces) == pytest.approx(MASS / 12 * np.array([y + z, x + z, x + y]), rel=1e-5)
