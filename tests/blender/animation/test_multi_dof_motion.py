"""Motions on joints of several degrees of freedom: keyed by name, read back from the pose, exact between the keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.model import DOF_SIZE, Array, Dof, Motion, Trajectory
from addon.core.transforms import inverse
from tests.support.degrees_helpers import (
    CHAINS,
    X,
    Y,
    Z,
    both_ways,
    chain,
    linked,
    put,
    release_stops,
    rotations,
    slides,
    worst,
    zero,
)
from tests.support.mechanisms import curves_of, objects_of, world_of

NEAR = 2e-5  # what 32-bit matrices leave of a coordinate


def names(*dofs: Dof) -> list[str]:
    """The servo names of joint ``Hip`` as motions are to call them."""
    if sum(DOF_SIZE[dof.kind] for dof in dofs) == 1:
        return ["Hip"]
    out: list[str] = []
    for dof in dofs:
        block = {"ball": ["rx", "ry", "rz"], "free": ["rx", "ry", "rz", "x", "y", "z"]}
        out += block.get(dof.kind, [dof.name or str(len(out) + 1)])
    return [f"Hip/{name}" for name in out]


def motion_of(dofs: list[Dof], values: Array, step: float = 0.1) -> Motion:
    """A motion with one trajectory per coordinate of values (keys, coordinates), a key every ``step`` seconds."""
    times = np.arange(len(values)) * step
    return Motion("Sway", [Trajectory(name, times, values[:, k]) for k, name in enumerate(names(*dofs))])


def collection_of(rig: Any) -> Any:
    return rig.data.knuckle.collection


def at_ten(scene: Any) -> None:
    """Ten frames in a second: keys a tenth of a second apart lie on frames."""
    scene.render.fps, scene.render.fps_base, scene.frame_start = 10, 1.0, 1


def wander(size: int, count: int, reach: float, seed: int) -> Array:
    """Values (count, size) that go smoothly anywhere within reach."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, count)[:, None]
    return reach * np.sin(2 * np.pi * (t * rng.uniform(0.3, 1.0, size) + rng.uniform(0, 1, size)))


@both_ways
@pytest.mark.parametrize("name", [name for name, (dofs, _, _) in CHAINS.items() if dofs and name != "two balls"])
def test_what_is_keyed_moves_the_bodies_and_is_read_back(blank: Any, name: str, is_reversed: bool) -> None:
    from addon.blender.animation import apply, sample

    dofs = CHAINS[name][0]
    mechanism = linked(*dofs, is_reversed=is_reversed)
    rig = put(mechanism)
    release_stops(rig)
    rest = zero(rig)
    at_ten(blank.scene)
    values = wander(sum(DOF_SIZE[dof.kind] for dof in dofs), 12, 0.9, seed=len(name))
    motion = motion_of(dofs, values)
    action, report = apply(motion, collection_of(rig))
    assert not [entry for entry in report.entries if entry.severity != "info"]
    assert action.name == "Sway"
    for key in (0, 4, 11):
        blank.scene.frame_set(1 + key)
        assert worst(rig, mechanism, rest, {"j": values[None, key]}) < 1e-5
    found = sample(collection_of(rig), frames=range(1, 13))
    assert [track.name for track in found.trajectories] == names(*dofs)
    for track, column in zip(found.trajectories, values.T, strict=True):
        assert track.times == pytest.approx(np.arange(12) * 0.1)
        assert np.abs(track.values - column).max() < NEAR


@both_ways
@pytest.mark.parametrize("dofs", [[Dof("ball")], [Dof("free")]], ids=["ball", "free"])
def test_a_ball_goes_straight_from_key_to_key(blank: Any, dofs: list[Dof], is_reversed: bool) -> None:
    """Two keys far apart: in between, its rotation vector is where a straight line has it, and passes half a turn
    without a jump."""
    from addon.blender.animation import apply, sample

    mechanism = linked(*dofs, is_reversed=is_reversed)
    rig = put(mechanism)
    rest = zero(rig)
    at_ten(blank.scene)
    size = DOF_SIZE[dofs[0].kind]
    ends = np.array([[0.5, -1.0, 0.3, 0.1, 0.2, 0.3], [1.5, 3.5, -2.0, -1.0, 0.5, 2.0]])[:, :size]
    assert np.linalg.norm(ends[1, :3]) > math.pi + 1.0
    bent = (
        is_reversed and size == 6
    )  # a location that goes round: straight only from one key to the next, a few frames off
    close = 1e-3 if bent else 5e-5
    apply(motion_of(dofs, ends, step=2.0), collection_of(rig))
    for frame in (1.0, 4.0, 9.5, 15.3, 21.0):
        blank.scene.frame_set(int(frame), subframe=frame % 1)
        share = (frame - 1) / 20
        expected = ends[:1] * (1 - share) + ends[1:] * share
        assert worst(rig, mechanism, rest, {"j": expected}) < close
    found = sample(collection_of(rig), frames=range(1, 22))
    line = ends[0] + (ends[1] - ends[0]) * np.linspace(0, 1, 21)[:, None]
    assert np.abs(np.array([track.values for track in found.trajectories]).T - line).max() < close


def test_a_ball_joint_rotates_past_full_revolutions(blank: Any) -> None:
    """Two and a half turns about one axis are read as such, from the first key on."""
    from addon.blender.animation import apply, sample

    dofs = [Dof("ball")]
    rig = put(linked(*dofs))
    at_ten(blank.scene)
    values = np.linspace(0, 5 * math.pi, 51)[:, None] * np.array([[0.6, 0.0, -0.8]])
    apply(motion_of(dofs, values), collection_of(rig))
    found = sample(collection_of(rig), frames=range(1, 52))
    assert np.abs(np.array([track.values for track in found.trajectories]).T - values).max() < 5e-5
    late = sample(collection_of(rig), frames=range(15, 20))  # beyond half a turn, short of a whole one
    assert np.abs(np.array([track.values for track in late.trajectories]).T - values[14:19]).max() < 5e-5


@pytest.mark.parametrize("axes", [(Z, X, Y), (Z, Y, X), (X, -Y, Z)], ids=["right-handed", "left-handed", "turned"])
def test_three_rotations_are_read_as_they_were_keyed(blank: Any, axes: tuple) -> None:
    """Also with the middle one beyond a quarter turn, where the same pose has other angles, and at it, where only the
    sum of the outer two shows."""
    from addon.blender.animation import apply, sample

    dofs = rotations(*axes)
    rig = put(linked(*dofs))
    assert len(chain(rig)) == 1
    at_ten(blank.scene)
    values = np.array([[0.1, 0.2, 0.3], [0.3, 1.4, -0.4], [0.4, math.pi / 2, -0.5], [0.5, 2.0, -0.6], [0.5, 2.9, 3.5]])
    apply(motion_of(dofs, values), collection_of(rig))
    found = np.array([track.values for track in sample(collection_of(rig), frames=range(1, 6)).trajectories]).T
    assert np.abs(found - values).max() < NEAR


def test_three_rotations_that_something_else_poses_are_read_without_jumps(blank: Any) -> None:
    """A constraint turns the bone through a pose where the nearest angles would change over."""
    from addon.blender.animation import sample

    mechanism = linked(*rotations(Z, X, Y))
    rig = put(mechanism)
    rest = zero(rig)
    at_ten(blank.scene)
    (bone,) = chain(rig)
    import bpy

    leader = bpy.data.objects.new("Leader", None)
    blank.scene.collection.objects.link(leader)
    leader.rotation_mode = "QUATERNION"
    copying = bone.constraints.new("COPY_ROTATION")
    copying.target, copying.owner_space, copying.target_space = leader, "LOCAL", "WORLD"
    for frame in range(1, 42):
        angle = 0.075 * (frame - 1)  # three radians about the middle axis, nearly
        half = angle / 2
        leader.rotation_quaternion = (math.cos(half), math.sin(half) * 0.96, math.sin(half) * 0.28, 0.0)
        leader.keyframe_insert("rotation_quaternion", frame=frame)
    found = sample(collection_of(rig), frames=range(1, 42), joints=["j"])
    values = np.array([track.values for track in found.trajectories]).T
    assert np.abs(values).max() > 2.0
    for frame in (1, 20, 30, 41):
        blank.scene.frame_set(frame)
        assert worst(rig, mechanism, rest, {"j": values[None, frame - 1]}) < NEAR
    assert np.abs(np.diff(values, axis=0)).max() < 0.4


def test_two_rotations_are_read_through_a_full_revolution(blank: Any) -> None:
    from addon.blender.animation import apply, sample

    dofs = rotations(Y, X)
    rig = put(linked(*dofs))
    at_ten(blank.scene)
    values = np.stack([np.linspace(-7, 7, 29), np.linspace(5, -6, 29)], axis=1)
    apply(motion_of(dofs, values), collection_of(rig))
    found = np.array([track.values for track in sample(collection_of(rig), frames=range(1, 30)).trajectories]).T
    assert np.abs(found - values).max() < NEAR


def test_a_part_of_a_joint_may_be_keyed_and_is_all_that_is_read(blank: Any) -> None:
    from addon.blender.animation import apply, sample

    dofs = [Dof("translation", X, name="along"), *rotations(Z)]
    rig = put(linked(*dofs))
    at_ten(blank.scene)
    motion = Motion("Part", [Trajectory("Hip/along", np.array([0.0, 0.5]), np.array([0.25, 1.0]))])
    _, report = apply(motion, collection_of(rig))
    assert [entry.severity for entry in report.entries] == ["info"]
    found = sample(collection_of(rig), frames=(1, 6))
    assert [(track.name, track.values.tolist()) for track in found.trajectories] == [
        ("Hip/along", pytest.approx([0.25, 1.0], abs=1e-6))
    ]
    every = sample(collection_of(rig), frames=(1,), joints=["j", "h"])
    assert [track.name for track in every.trajectories] == ["Hip/along", "Hip/2", "Wrist"]


def test_the_rest_of_a_ball_stays_where_the_file_begins(blank: Any) -> None:
    from addon.blender.animation import apply

    mechanism = linked(Dof("ball", start=(0.3, -0.4, 0.5)))
    rig = put(mechanism)
    rest = zero(rig)
    at_ten(blank.scene)
    apply(Motion("Part", [Trajectory("Hip/ry", np.array([0.0, 1.0]), np.array([0.0, 0.8]))]), collection_of(rig))
    blank.scene.frame_set(6)
    assert worst(rig, mechanism, rest, {"j": np.array([[0.3, 0.4, 0.5]])}) < 3e-5


def test_keys_of_one_ball_may_lie_at_different_times(blank: Any) -> None:
    from addon.blender.animation import apply

    mechanism = linked(Dof("ball"))
    rig = put(mechanism)
    rest = zero(rig)
    at_ten(blank.scene)
    tracks = [([0.0, 1.0], [0.0, 1.0]), ([0.0, 0.4, 1.0], [0.0, 0.8, -0.2]), ([0.6], [0.5])]
    apply(
        Motion(
            "M", [Trajectory(f"Hip/r{a}", np.array(t), np.array(v)) for a, (t, v) in zip("xyz", tracks, strict=True)]
        ),
        collection_of(rig),
    )
    for frame, expected in ((1, (0, 0, 0.5)), (3, (0.2, 0.4, 0.5)), (5, (0.4, 0.8, 0.5)), (8, (0.7, 0.3, 0.5))):
        blank.scene.frame_set(frame)
        assert worst(rig, mechanism, rest, {"j": np.array([expected])}) < 3e-5


def test_constant_keys_of_a_ball_hold(blank: Any) -> None:
    from addon.blender.animation import apply

    mechanism = linked(Dof("ball"))
    rig = put(mechanism)
    rest = zero(rig)
    at_ten(blank.scene)
    times = np.array([0.0, 1.0])
    apply(
        Motion("M", [Trajectory(f"Hip/r{a}", times, np.array([0.2, 1.0]), "constant") for a in "xyz"]),
        collection_of(rig),
    )
    for frame, value in ((1, 0.2), (10, 0.2), (11, 1.0)):
        blank.scene.frame_set(frame)
        assert worst(rig, mechanism, rest, {"j": np.full((1, 3), value)}) < 1e-5


def test_a_servo_of_a_joint_without_bone_or_of_none_is_reported(blank: Any) -> None:
    from addon.blender.animation import apply

    mechanism = linked(*rotations(Z, X))
    extra = linked(*rotations(Z, X)).joints[1]
    extra.id = extra.name = "Second"  # the same bodies once more: closes a loop
    mechanism.joints.append(extra)
    rig = put(mechanism)
    trajectories = [Trajectory(name, np.zeros(1), np.zeros(1)) for name in ("Second/1", "Hip", "Hip/2")]
    _, report = apply(Motion("M", trajectories), collection_of(rig))
    told = {entry.where: entry.message for entry in report.entries if entry.severity == "warning"}
    assert set(told) == {"Second/1", "Hip"}
    assert "no bone" in told["Second/1"] and "'Hip/1', 'Hip/2'" in told["Hip"]


def test_keys_are_plain_curves_on_the_channels(blank: Any) -> None:
    from addon.blender.animation import apply

    dofs = [*slides(Y, X), *rotations(Z)]
    rig = put(linked(*dofs))
    (bone,) = chain(rig)
    at_ten(blank.scene)
    apply(motion_of(dofs, np.array([[0.0, 0.0, 0.0], [0.5, -0.25, 0.75]])), collection_of(rig))
    ends = {(curve.data_path.rsplit(".", 1)[1], curve.array_index): curve.evaluate(2) for curve in curves_of(rig)}
    rest = np.array(bone.bone.matrix_local)[:3, :3]
    frame = linked(*dofs).joints[1].frame_parent[:3, :3]
    for value, axis in ((0.5, Y), (-0.25, X)):
        (index,) = np.flatnonzero(np.abs(rest.T @ frame @ axis - 1.0) < 1e-5)
        assert ends.pop(("location", int(index))) == pytest.approx(value)
    assert ends == {("rotation_euler", 2): pytest.approx(0.75)}


@both_ways
@pytest.mark.parametrize("name", ["skew turns", "a ball after slides", "a turn after a ball", "slides, screw, turn"])
def test_a_run_without_physics_bakes_to_the_pose_it_was(blank: Any, name: str, is_reversed: bool) -> None:
    """On keys the bodies of a recording go exactly as the Action says: the baked Action says the same of all joints."""
    from addon.blender.animation import apply
    from addon.blender.physics.recording.bake import bake

    dofs = CHAINS[name][0]
    mechanism = linked(*dofs, is_reversed=is_reversed)
    rig = put(mechanism, physics=True)
    release_stops(rig)
    rest = zero(rig)
    at_ten(blank.scene)
    values = wander(sum(DOF_SIZE[dof.kind] for dof in dofs), 12, 1.2, seed=3)
    action, _ = apply(motion_of(dofs, values), collection_of(rig))
    baked, _recording = bake(blank.scene, rig, last=12)
    assert rig.animation_data.action == baked != action
    for key in (0, 5, 11):
        blank.scene.frame_set(1 + key)
        assert worst(rig, mechanism, rest, {"j": values[None, key]}) < 2e-5


def test_the_model_stands_as_the_file_begins_when_no_action_plays(blank: Any) -> None:
    """And a motion on one joint leaves the others there."""
    from addon.blender.animation import apply

    dofs = rotations(Z, X)
    dofs[0].position, dofs[1].position = 0.4, -0.7
    mechanism = linked(*dofs)
    rig = put(mechanism)
    seen = []
    blank.scene.frame_set(5)
    seen.append(world_of(objects_of(rig, "BODY")["arm"]))
    apply(Motion("M", [Trajectory("Wrist", np.zeros(1), np.full(1, 0.3))]), collection_of(rig))
    blank.scene.frame_set(6)
    seen.append(world_of(objects_of(rig, "BODY")["arm"]))
    rig.animation_data.action = None
    blank.scene.frame_set(7)
    seen.append(world_of(objects_of(rig, "BODY")["arm"]))
    tree = spanning_tree(mechanism)
    design, begins = tree.forward({})[0, 1], tree.forward({"j": np.array([[0.4, -0.7]])})[0, 1]
    expected = begins @ inverse(design) @ zero(rig)["arm"]
    assert all(np.abs(stand - expected).max() < 1e-5 for stand in seen)
