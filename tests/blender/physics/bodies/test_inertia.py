"""Moments of inertia under physics: Blender's, measured on springs, against those of the shapes; reports of those that
differ from the file's; and inertia proxies, against the free rotation of the file's tensor, integrated here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape
from tests.support.clear_helpers import differences, everything
from tests.support.degrees_helpers import X, Y, Z, pose_of, put
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.swings import GRAVITY, chain, lean_of, put_world, swings
from tests.support.tops import MASS, SIZE, leaning_tensor, strays

BODY_MASS, STIFFNESS, PULL = 2.0, 30.0, 4.0
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
    body = Body("b", "B", mass=BODY_MASS, shapes=[shape] if shape else [])
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
    return STIFFNESS * (period / (2 * math.pi)) ** 2 - BODY_MASS * beside**2


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
    rig = put(Mechanism("m", bodies=[Body("b", "B", mass=BODY_MASS, shapes=[shape])]), physics=True)
    (obj,) = objects_of(rig, "BODY").values()
    off = np.abs(blender_moments(obj) / BODY_MASS / np.diag(unit_inertia(shape)) - 1.0).max()
    assert off < 0.02 if kind in EXACT else 0.02 < off < 1.3


def two_bodies(*tensors: Array | None) -> Mechanism:
    box = Shape("box", SIZES["box"])
    bodies = [
        Body(name, name.title(), pose_of((0, 0, 0), (3.0 * k, 0, 0)), BODY_MASS, inertia=tensor, shapes=[box])
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
    return BODY_MASS / 12 * np.diag([y + z, x + z, x + y])


def test_equal_or_missing_moments_of_inertia_are_not_reported(blank: Any) -> None:
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

    rig = put(
        Mechanism("m", bodies=[Body("b", "B", mass=BODY_MASS, shapes=[Shape("box", SIZES["box"])])]), physics=True
    )
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
    assert blender_moments(obj, pieces) == pytest.approx(BODY_MASS / 12 * np.array([y + z, x + z, x + y]), rel=1e-5)


def test_a_body_rotates_freely_with_the_inertia_of_its_file(blank: Any) -> None:
    assert strays(leaning_tensor(), matched=False, seconds=1.0) > 0.5
    assert strays(leaning_tensor(), matched=True, seconds=1.0) < 0.01


def test_a_pendulum_swings_with_the_moment_of_the_file(blank: Any) -> None:
    """A rod's shape with three times its moment: the joint bears on the lighter part."""
    mechanism = chain(1.0, links=1, lean=1.0)
    mechanism.bodies[0].inertia = np.diag([0.1, 0.25, 0.25])
    rig = put_world(mechanism, "LIMP", 8.0)
    (obj,) = objects_of(rig, "BODY").values()
    found, last = swings(np.array(play(blank.scene, 480, lambda: lean_of(world_of(obj)))), 60.0)
    one, other = 1.0, math.cos(0.5)
    for _ in range(6):
        one, other = (one + other) / 2.0, math.sqrt(one * other)
    assert found == pytest.approx(2.0 * math.pi / math.sqrt(GRAVITY * 0.5 / (0.25 + 0.25)) / one, rel=2e-3)
    assert last == pytest.approx(1.0, rel=5e-3)


@pytest.mark.parametrize("seed", range(20))
def test_any_tensor_of_a_solid_is_split_to_within_a_hundredth(seed: int) -> None:
    """Tensors of point masses at random, about their middle."""
    from addon.blender.physics.bodies.inertia import find_inertia_split

    random = np.random.default_rng(seed)
    points = random.normal(size=(8, 3)) * random.uniform(0.3, 1.0, 3)
    points -= points.mean(axis=0)
    tensor = np.mean([p @ p * np.eye(3) - np.outer(p, p) for p in points], axis=0)
    edges = random.uniform(0.5, 1.5, 3) * np.sqrt(np.trace(tensor))
    moments = ((edges**2).sum() - edges**2) / 12.0
    split = find_inertia_split(tensor, moments)
    assert split is not None
    assert split.residual < 0.01
    wheel = split.turn @ np.diag(((split.edges**2).sum() - split.edges**2) / 12.0) @ split.turn.T
    whole = (1.0 - split.share) * np.diag(moments) + split.share * wheel
    assert np.abs(whole - tensor).max() < 0.01 * np.linalg.eigvalsh(tensor).max()


def heavy() -> Mechanism:
    body = Body("b", "b.L", mass=MASS, inertia=leaning_tensor(), shapes=[Shape("box", SIZE)])
    return Mechanism("top", bodies=[body], joints=[Joint("f", "f", "ball", None, "b", dofs=[Dof("ball")])])


def test_mass_and_center_include_the_inertia_proxy_and_the_rest_is_reported(blank: Any) -> None:
    from addon.blender.physics.bodies.inertia import combined_inertia
    from addon.blender.scene.read.mechanism import extract

    mechanism = heavy()
    rig = put_world(mechanism, "KEYS", 1.0)
    (obj,) = objects_of(rig, "BODY").values()
    wheel = obj.knuckle.inertia_proxy
    assert obj.rigid_body.mass + wheel.rigid_body.mass == pytest.approx(MASS)
    assert np.abs(world_of(wheel)[:3, 3] - world_of(obj)[:3, 3]).max() < 1e-6
    assert np.abs(combined_inertia(obj) - leaning_tensor()).max() < 0.01 * 0.28
    (told,) = [line.message for line in rig.data.knuckle.report if line.code == "inertia-matched"]
    assert "at most 0.0%" not in told
    assert "inertia-differs" not in {line.code for line in rig.data.knuckle.report}
    assert extract(rig.data.knuckle.collection).bodies[0].mass == pytest.approx(MASS)
    obj.knuckle.mass = 5.0
    assert obj.rigid_body.mass + wheel.rigid_body.mass == pytest.approx(5.0)


def test_inertia_proxies_are_removed_with_the_physics(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put_world(heavy(), "KEYS", 1.0)
    clear_physics(blank.scene, rig)
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    assert differences(before, everything(blank.scene)) != {}
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 5, lambda: None)
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert differences(before, everything(blank.scene)) == {}


def test_without_the_option_there_are_no_inertia_proxies(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics

    rig = put_world(heavy(), "KEYS", 1.0)
    rig.data.knuckle.match_inertia = False
    build_physics(blank.scene, rig)
    (obj,) = objects_of(rig, "BODY").values()
    assert obj.rigid_body.mass == pytest.approx(MASS)
    assert not [other for other in bpy.data.objects if other.knuckle.is_inertia_proxy]
