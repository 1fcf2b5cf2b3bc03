"""Bodies turn as the file has it: against the free rotation of the file's tensor, integrated here, and the period of a
pendulum that has it; and what makes them do so comes and goes with the physics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Body, Dof, Joint, Mechanism, Shape
from tests.support.clear_helpers import differences, everything
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.swings import GRAVITY, chain, lean_of, put_world, swings
from tests.support.tops import MASS, SIZE, leaning_tensor, strays


def test_a_body_turns_freely_as_the_file_has_it(blank: Any) -> None:
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


def test_mass_and_centre_are_the_whole_bodys_and_what_is_left_is_told(blank: Any) -> None:
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


def test_flywheels_go_with_the_physics(blank: Any) -> None:
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


def test_without_the_wish_there_are_none(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics

    rig = put_world(heavy(), "KEYS", 1.0)
    rig.data.knuckle.match_inertia = False
    build_physics(blank.scene, rig)
    (obj,) = objects_of(rig, "BODY").values()
    assert obj.rigid_body.mass == pytest.approx(MASS)
    assert not [other for other in bpy.data.objects if other.knuckle.is_inertia_proxy]
