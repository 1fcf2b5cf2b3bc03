"""Simulation accuracy: the same figures as measured on the evaluated bodies, also for mechanisms that begin past half
a turn, are scaled, have inertia proxies or play in slow motion."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.model import Body, Dof, Joint, Mechanism, Shape
from addon.core.transforms import inverse
from tests.support.bake_helpers import by_hand
from tests.support.degrees_helpers import X, Y, Z, pose_of
from tests.support.loops import crank_rocker
from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    coordinate,
    curves_of,
    gap,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    world_of,
)
from tests.support.swings import chain, put_world
from tests.support.truth_helpers import SOFT, G, baked


def test_figures_of_a_soft_model_are_those_that_bodies_show(blank: Any) -> None:
    rig, document = put(SOFT), XmlModel(SOFT)
    key(rig, 11, [(1, 0.0), (30, 0.7), (60, -0.2)])
    key(rig, 12, [(1, 0.0), (60, 0.3)])
    rig.data.knuckle.drive = "SERVO"
    hinges = (11, 12)
    seen = play(
        blank.scene,
        60,
        lambda: ([gap(rig, n, document) for n in (11, 12, 13)], [coordinate(rig, n, document) for n in hinges]),
    )
    gaps, values = (np.array(column) for column in zip(*seen, strict=True))
    found = {joint.id: joint for joint in baked(rig, 60).joints}
    assert list(found) == ["11", "12", "13"]
    assert gaps.max() > 0.02, "it is soft"
    for column, number in enumerate(found):
        assert found[number].separation == pytest.approx(gaps[:, column].max(), rel=1e-3)
        assert found[number].mean_separation == pytest.approx(gaps[:, column].mean(), rel=1e-3)
    # links: the upper arm from hinge to hinge, the lower from hinge to ball; the hand is half a unit wide
    assert [joint.length for joint in found.values()] == pytest.approx([2, 1, 0.5], abs=1e-4)
    frames = np.arange(2, 61)
    wanted = np.stack(
        [np.interp(frames, [1, 30, 60], [0.0, 0.7, -0.2]), np.interp(frames, [1, 60], [0.0, 0.3])], axis=1
    )
    errors = np.abs(wanted - values[1:])
    assert errors.max() > 0.05, "it is weak"
    for column, number in enumerate(("11", "12")):
        assert found[number].tracking_error == pytest.approx(errors[:, column].max(), abs=2e-4)
        assert found[number].mean_tracking_error == pytest.approx(errors[:, column].mean(), abs=2e-4)
    assert math.isnan(found["13"].tracking_error)


def test_stops_that_physics_does_not_know_of_are_run_over(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.events.signals import writing_records
    from addon.blender.physics.workarounds import initial_state as starting

    rig, document = put(SOFT), XmlModel(SOFT)
    rig.data.knuckle.drive = "LIMP"
    monkeypatch.setattr(starting, "write_stops", lambda *_: None)
    with writing_records():
        for number, (lower, upper) in {"11": (-0.3, 3.0), "12": (-2.9, 0.1)}.items():
            dof = objects_of(rig, "JOINT")[number].knuckle.joint.dofs[0]
            dof.use_lower, dof.lower, dof.use_upper, dof.upper = True, lower, True, upper
    seen = np.array(play(blank.scene, 50, lambda: [coordinate(rig, number, document) for number in (11, 12)]))
    found = {joint.id: joint.stop_overrun for joint in baked(rig, 50).joints}
    assert found["11"] == pytest.approx(-0.3 - seen[:, 0].min(), abs=2e-4)
    assert found["12"] == pytest.approx(seen[:, 1].max() - 0.1, abs=2e-4)
    assert min(found["11"], found["12"]) > 0.1


def test_how_deep_bodies_are_in_the_ground_is_measured_on_what_is_seen(blank: Any) -> None:
    """A heavy block on a light one, dropped: its corners, in every frame."""
    text = model(body(1, (0, 0, 3), (1, 2, 1), mass=50, ypr=(20, 30, 10), name="Crate"), gravity=G)
    rig = put(text, gait=False)
    rig.data.knuckle.drive = "LIMP"
    crate = objects_of(rig, "BODY")["1"]
    corners = np.array([vertex.co[:] for vertex in crate.data.vertices])

    def depth() -> float:
        pose = world_of(crate)
        return -float((corners @ pose[2, :3] + pose[2, 3]).min())

    depths = play(blank.scene, 90, depth)
    accuracy = baked(rig, 90)
    assert max(depths) > 1e-4, "it strikes the ground"
    assert accuracy.penetration == pytest.approx(max(depths), abs=2e-5)
    kept = rig.data.knuckle.accuracy
    assert kept.deepest_frame == int(np.argmax(depths)) + 1
    assert kept.deepest_names == "Crate\n"


def test_a_passive_pendulum_gains_no_energy_and_a_pushed_one_does(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 6), (1, 1, 12), mass=1e5),
        body(2, (2, 0, 6), (3, 0.2, 0.2), mass=2),
        joint(3, 1, 2, (0.5, 0, 6), (0, 90, 0), force=0),
        gravity=G,
    )
    rig = put(text)
    rig.data.knuckle.drive = "LIMP"
    assert baked(rig, 60).energy_gained < 0.01
    import bpy

    wind = bpy.data.objects.new("Wind", None)
    blank.scene.collection.objects.link(wind)
    bpy.context.view_layer.objects.active = wind
    bpy.ops.object.forcefield_toggle()
    wind.field.type, wind.field.strength = "FORCE", -400
    wind.location = (3, 0, -6)
    rig.data.knuckle.drive = "LIMP"
    assert baked(rig, 60).energy_gained > 0.1


def test_what_is_known_of_a_run_stays_with_the_model(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.physics.recording.accuracy import accuracy_lines, worst_joint_lines

    rig = put(SOFT)
    assert (accuracy_lines(rig), worst_joint_lines(rig)) == ([], [])
    assert not bpy.ops.knuckle.select_worst.poll()
    rig.data.knuckle.drive = "LIMP"
    baked(rig, 20)
    lines, worst = accuracy_lines(rig), worst_joint_lines(rig)
    assert rig.data.knuckle.accuracy.run == "Ragdoll, frames 1 to 20"
    assert [line.what for line in lines] == ["Joint separation", "Stop overrun", "Energy gained", "Penetration"]
    assert len(worst) == 3
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert accuracy_lines(rig) == lines
    again = worst_joint_lines(rig)
    assert [line for _, line in again] == [line for _, line in worst]
    shares = {row.id: row.separation / row.length for row in rig.data.knuckle.accuracy.joints}
    assert [empty.knuckle.source_id for empty, _ in again] == sorted(shares, key=lambda key: -shares[key])
    assert bpy.ops.knuckle.select_worst() == {"FINISHED"}
    assert set(bpy.context.view_layer.objects.selected) == {empty for empty, _ in again}
    assert bpy.context.view_layer.objects.active == again[0][0]
    bpy.data.objects.remove(again[0][0])
    assert worst_joint_lines(rig)[0][0] is None


def test_a_servo_without_target_has_no_tracking_error(blank: Any) -> None:
    rig = put(SOFT.replace("<MaxForce>20</MaxForce>", "<MaxForce>0</MaxForce>"))
    rig.data.knuckle.drive = "SERVO"
    found = {joint.id: joint.tracking_error for joint in baked(rig, 10).joints}
    assert found["11"] > 0
    assert math.isnan(found["12"])


def recorded(scene: Any, rig: Any, last: int) -> Any:
    from addon.blender.physics.recording.bake import record

    return record(scene, rig, last)


# ---------------------------------------------------------------- whole turns


@pytest.mark.parametrize(("lower", "upper", "start"), [(2.8, 3.6, 3.3), (-3.6, -2.8, -3.3), (3.5, 5.0, 4.0)])
def test_a_hinge_that_begins_past_180_degrees_keeps_its_revolutions(
    blank: Any, lower: float, upper: float, start: float
) -> None:
    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    mechanism = chain(links=1)
    dof = mechanism.joints[0].dofs[0]
    dof.lower, dof.upper, dof.position = lower, upper, start
    rig = put_world(mechanism, "KEYS", 2)
    bone_of(rig, "hinge 0").rotation_euler[2] = start
    rig.data.knuckle.drive = "LIMP"
    recording = recorded(blank.scene, rig, 90)
    values = recording.values[:, 0]
    assert values[0] == pytest.approx(start, abs=1e-5)
    assert lower - 0.01 < values.min() < values.max() < upper + 0.01
    assert np.ptp(values) > 0.2, "it falls to a stop"
    assert accuracy_of_recording(blank.scene, recording).joints[0].stop_overrun < 0.01


def test_a_spring_at_rest_past_180_degrees_stores_no_energy(blank: Any) -> None:
    """A spring that rests at 4.5 swings a link that begins at 4 by its own half radian, as energy is kept."""
    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    mechanism = chain(links=1)
    dof = mechanism.joints[0].dofs[0]
    dof.stiffness, dof.rest, dof.position = 20.0, 4.5, 4.0
    mechanism.world.gravity = np.zeros(3)
    rig = put_world(mechanism, "KEYS", 2)
    bone_of(rig, "hinge 0").rotation_euler[2] = 4.0
    rig.data.knuckle.drive = "LIMP"
    recording = recorded(blank.scene, rig, 90)
    assert recording.values[:, 0].max() == pytest.approx(5.0, abs=0.01)
    assert recording.values[:, 0].min() == pytest.approx(4.0, abs=0.01)
    assert accuracy_of_recording(blank.scene, recording).energy_gained < 0.01


def test_keys_past_180_degrees_come_back_as_they_were(blank: Any) -> None:
    from addon.blender.physics.recording.bake import bake

    rig = put_world(two_turns(), "KEYS", 2)
    key(rig, "arm", [(1, 4.0), (60, 5.0)])
    path = f'pose.bones["{bone_of(rig, "both").name}"].rotation_euler'
    for frame, value in ((1, 4.0), (60, 4.5)):
        bone_of(rig, "both").rotation_euler[2] = value
        rig.keyframe_insert(path, index=2, frame=frame)
    rig.data.knuckle.drive = "SERVO"
    bake(blank.scene, rig, 60)
    first = {(curve.data_path, curve.array_index): curve.evaluate(1) for curve in curves_of(rig)}
    last = {(curve.data_path, curve.array_index): curve.evaluate(60) for curve in curves_of(rig)}
    arm = f'pose.bones["{bone_of(rig, "arm").name}"].rotation_euler', 2
    assert (first[arm], last[arm]) == pytest.approx((4.0, 5.0), abs=0.01)
    assert first[path, 2] == pytest.approx(4.0, abs=0.01)
    assert last[path, 2] == pytest.approx(4.5, abs=0.05)


def two_turns() -> Mechanism:
    """A hinge with a servo, and a universal joint with one; no gravity."""
    base = Body("base", "Base", immobile=True, shapes=[Shape("box", dict.fromkeys("xyz", 0.2))])
    bodies, joints = [base], []
    for name, place, dofs in (
        ("arm", (0.0, 0.0, 3.0), [Dof("rotation", axis=Y)]),
        ("both", (0.0, 2.0, 3.0), [Dof("rotation", axis=Y), Dof("rotation", axis=Z)]),
    ):
        frame, at = pose_of((0, 0, 0), place), (place[0] + 0.5, place[1], place[2])
        shape = Shape("box", {"x": 1.0, "y": 0.2, "z": 0.2})
        bodies.append(Body(f"{name} body", name, pose_of((0, 0, 0), at), 2.0, shapes=[shape], collidable=False))
        for dof in dofs:
            dof.max_force = 1000.0
        joints.append(Joint(name, name, "any", "base", f"{name} body", frame, inverse(bodies[-1].pose) @ frame, dofs))
    mechanism = Mechanism("two turns", bodies=bodies, joints=joints)
    mechanism.world.gravity = np.zeros(3)
    return mechanism


# ---------------------------------------------------------------- servos of several degrees


@pytest.mark.parametrize(("force", "least", "most"), [(1.0, 0.5, math.pi), (1000.0, 0.0, 0.02)])
def test_servos_of_several_degrees_have_an_error(blank: Any, force: float, least: float, most: float) -> None:
    """A servo of 1 N m under a load of 9.8 N m lies far below; a strong one holds. The worst axis is told."""
    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    mechanism = two_turns()
    mechanism.world.gravity = np.array([0.0, 0.0, -9.81])
    for dof in mechanism.joints[1].dofs:
        dof.max_force = force
    rig = put_world(mechanism, "SERVO", 1)
    recording = recorded(blank.scene, rig, 31)
    (item,) = recording.joint_state.multi_dof_joints
    seen = np.abs(item.coordinates(recording.poses)[1:]).max(axis=1)
    (found,) = [joint for joint in accuracy_of_recording(blank.scene, recording).joints if joint.id == "both"]
    assert found.is_revolute
    assert least <= found.tracking_error < most
    assert found.tracking_error == pytest.approx(seen.max(), abs=1e-6)
    assert found.mean_tracking_error == pytest.approx(seen.mean(), abs=1e-6)


# ---------------------------------------------------------------- open joints


@pytest.mark.parametrize("dofs", [[Dof("rotation")], [Dof("rotation"), Dof("rotation", axis=X)]], ids=["one", "two"])
def test_an_open_joint_is_read_the_same_by_all(blank: Any, dofs: list[Dof]) -> None:
    """The child's side of it is turned by 0.4 rad at design: what it is at then is told by the file's own frames."""
    from addon.blender.physics.recording.accuracy import recorded_run
    from addon.core.kinematics import joint_values_from_transform
    from addon.core.run_metrics import _joint_transforms

    mechanism = crank_rocker()
    chord = mechanism.joints[-1]
    chord.frame_child = chord.frame_child @ pose_of((0, 0, 0.4), (0, 0, 0))
    chord.dofs = [replace(dof) for dof in dofs]
    recording = recorded(blank.scene, put_world(mechanism, "KEYS", 1), 2)
    (held,) = [each for each in recorded_run(blank.scene, recording).joints if each.joint.id == chord.id]
    ends = recording.poses[0, held.parent] @ chord.frame_parent, recording.poses[0, held.child] @ chord.frame_child
    wanted = joint_values_from_transform(chord, (inverse(ends[0]) @ ends[1])[None])[0]
    assert abs(wanted[0]) > 0.3
    assert joint_values_from_transform(held.joint, _joint_transforms(held, recording.poses))[0] == pytest.approx(
        wanted, abs=1e-4
    )
    several = [
        each.now(recording.poses[0]) for each in recording.joint_state.multi_dof_joints if each.joint.id == chord.id
    ]
    lone = dict(zip(recording.joint_state.joints, recording.values[0, :, None], strict=True))
    assert (several or [lone[chord.id]])[0] == pytest.approx(wanted, abs=1e-4)


# ---------------------------------------------------------------- mass, energy


def test_inertia_proxies_count_with_their_bodies(blank: Any) -> None:
    """By the pose of a double pendulum of whom one link has moments that its box has not: energy is kept."""
    from addon.blender.physics.recording.accuracy import accuracy_of_recording, recorded_run
    from addon.core.run_metrics import energy_gained

    mechanism = chain(links=2)
    mechanism.bodies[0].inertia = np.diag([0.05, 0.25, 0.25])
    rig = put_world(mechanism, "LIMP", 2)
    recording = recorded(blank.scene, rig, 121)
    assert objects_of(rig, "BODY")["link 0"].knuckle.inertia_proxy_share > 0
    run = recorded_run(blank.scene, recording)
    assert run.masses == pytest.approx([1.0, 1.0])
    assert run.tensors[0] == pytest.approx(np.diag([0.05, 0.25, 0.25]), abs=1e-4)
    assert accuracy_of_recording(blank.scene, recording).energy_gained < 0.005
    halved = replace(run, masses=np.array([0.5, 1.0]))
    assert energy_gained(halved) > 0.05, "a link of half its mass would gain"


@pytest.mark.parametrize("rate", [60, 24])
def test_energy_is_kept_wherever_a_run_ends(blank: Any, rate: int) -> None:
    """One run of a double pendulum, cut at each of its frames."""
    from addon.blender.physics.recording.accuracy import recorded_run
    from addon.core.run_metrics import energy_gained

    rig = put_world(chain(links=2), "LIMP", 2, rate)
    recording = recorded(blank.scene, rig, 2 * rate + 1)
    run = recorded_run(blank.scene, recording)
    steps = len(run.course) // rate // 2
    assert run.rate == pytest.approx(rate * steps)
    gained = [
        energy_gained(
            replace(run, poses=run.poses[:n], steps=None if run.steps is None else run.steps[: (n - 1) * steps + 1])
        )
        for n in range(20, len(run.poses) + 1)
    ]
    assert max(gained) < 0.005


def test_no_energy_is_reported_for_rotations_too_large_between_frames(blank: Any) -> None:
    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    rig = put_world(chain(links=2, long=0.02), "LIMP", 1)
    assert math.isnan(accuracy_of_recording(blank.scene, recorded(blank.scene, rig, 61)).energy_gained)


# ---------------------------------------------------------------- the world's own time


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_in_slow_motion_and_fast_servos_keep_to_their_keys(blank: Any, speed: float) -> None:
    rig = put_world(two_turns(), "KEYS", 2)
    wanted = 0.8 * np.sin(np.pi * np.arange(40) / 40)
    key(rig, "arm", list(enumerate(wanted.tolist(), start=1)))
    blank.scene.rigidbody_world.time_scale = speed
    rig.data.knuckle.drive = "SERVO"
    recording = recorded(blank.scene, rig, 40)
    place = recording.joint_state.joints.index("arm")
    # from rest it takes some frames to catch up; at another rate than the world's it stays 0.03 behind or ahead
    assert np.abs(recording.values[5:, place] - wanted[5:]).max() < 0.002


def test_energy_is_reported_in_the_time_of_the_world(blank: Any) -> None:
    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    rig = put_world(chain(links=2), "LIMP", 2)
    blank.scene.rigidbody_world.time_scale = 2.0
    assert accuracy_of_recording(blank.scene, recorded(blank.scene, rig, 61)).energy_gained < 0.02


# ---------------------------------------------------------------- scaled models


@pytest.mark.parametrize("size", [2.0, 0.5])
def test_separations_of_a_scaled_model_are_those_of_its_bodies(blank: Any, size: float) -> None:
    import bpy

    from addon.blender.physics.recording.accuracy import accuracy_of_recording

    rig = put_world(chain(links=2, ratio=100), "KEYS", 1)
    rig.scale = (size,) * 3
    bpy.context.view_layer.update()
    rig.data.knuckle.drive = "LIMP"
    blank.scene.rigidbody_world.substeps_per_frame = 5
    bodies = objects_of(rig, "BODY")

    def share() -> float:
        """How far the links are apart, of a link's length, where they are drawn."""
        one, other = world_of(bodies["link 0"]), world_of(bodies["link 1"])
        apart = one @ [0.5, 0, 0, 1] - other @ [-0.5, 0, 0, 1]
        return float(np.linalg.norm(apart[:3]) / np.linalg.norm((one @ [1.0, 0, 0, 0])[:3]))

    seen = max(play(blank.scene, 40, share))
    assert seen > 2e-4
    recording = recorded(blank.scene, rig, 40)
    accuracy = accuracy_of_recording(blank.scene, recording)
    (found,) = [joint for joint in accuracy.joints if joint.id == "hinge 1"]
    assert found.share == pytest.approx(seen, rel=2e-3)
    assert recording.max_joint_separation() == pytest.approx(found.separation, rel=0.1)
    assert accuracy.energy_gained < 0.005


@pytest.mark.parametrize("size", [2.0, 0.1])
@pytest.mark.parametrize("all_bodies", [False, True])
def test_a_bake_of_a_scaled_model_plays_what_physics_did(blank: Any, size: float, all_bodies: bool) -> None:
    """A floating double pendulum and a universal joint: roots, hinges and other joints."""
    import bpy

    from addon.blender.physics.recording.bake import bake

    mechanism = two_turns()
    mechanism.bodies[0].immobile = False
    mechanism.world.gravity = np.array([0.0, 0.0, -4.0 * size])
    for dof in (dof for each in mechanism.joints for dof in each.dofs):
        dof.stiffness, dof.rest = 10.0, 0.6
    rig = put_world(mechanism, "KEYS", 1)
    rig.scale, rig.location = (size,) * 3, (1.0, 2.0, 3.0)
    bpy.context.view_layer.update()
    rig.data.knuckle.drive = "LIMP"
    bodies = list(objects_of(rig, "BODY").values())

    def look() -> Any:
        return np.array([world_of(obj) for obj in bodies])

    seen = np.array(play(blank.scene, 31, look))
    by_hand(rig)
    bake(blank.scene, rig, 31, all_bodies=all_bodies)
    played = np.array(play(blank.scene, 31, look))
    assert np.abs(seen[-1] - seen[0]).max() > 0.2 * size
    assert np.abs(played - seen)[..., :3, 3].max() < 2e-3 * size
    assert np.abs(played - seen)[..., :3, :3].max() < 5e-3 * size


def test_what_a_scaled_model_wants_is_what_a_model_of_that_size_wants(blank: Any) -> None:
    import bpy

    from addon.blender.physics.world.solver_settings import required_solver_settings

    small = required_solver_settings(put_world(chain(links=3, long=0.02), "KEYS", 1))
    rig = put_world(chain(links=3), "KEYS", 1)
    rig.scale = (0.02,) * 3
    bpy.context.view_layer.update()
    assert required_solver_settings(rig).steps == pytest.approx(small.steps, rel=1e-3)


# ---------------------------------------------------------------- nothing finite


def test_a_simulation_without_finite_positions_is_rejected(blank: Any) -> None:
    """A body is thrown to where there are no numbers in mid-run: an error tells which, and nothing is kept of it."""
    import bpy

    from addon.blender.physics.recording.bake import bake

    rig = put_world(chain(links=2), "LIMP", 1)
    by_hand(rig)  # trial simulations would be spoiled instead of the bake
    lost = objects_of(rig, "BODY")["link 1"]

    def spoil(scene: Any, _graph: Any = None) -> None:
        if scene.frame_current == 12:
            lost.rigid_body.mass = math.nan
            scene.gravity = (math.nan,) * 3

    bpy.app.handlers.frame_change_pre.append(spoil)
    try:
        with pytest.raises(ValueError, match=r"diverged at frame 1[23]: no finite position of 'link .*\. Look"):
            bake(blank.scene, rig, 20)
    finally:
        bpy.app.handlers.frame_change_pre.remove(spoil)
    assert not rig.data.knuckle.accuracy.run
    assert rig.data.knuckle.drive == "LIMP"


@pytest.mark.parametrize("size", [2.0, 0.5])
def test_prismatic_joints_of_a_scaled_model_keep_their_keys_and_stops(blank: Any, size: float) -> None:
    """In its own lengths, which are longer or shorter in the world."""
    import bpy

    mechanism = two_turns()
    mechanism.joints[0].dofs = [Dof("translation", axis=X, lower=-0.3, upper=0.5, max_force=1000.0)]
    rig = put_world(mechanism, "KEYS", 1)
    rig.scale = (size,) * 3
    wanted = 0.6 * np.sin(np.pi * np.arange(60) / 40)
    key(rig, "arm", list(enumerate(wanted.tolist(), start=1)))
    bpy.context.view_layer.update()
    rig.data.knuckle.drive = "SERVO"
    recording = recorded(blank.scene, rig, 60)
    values = recording.values[:, recording.joint_state.joints.index("arm")]
    free = np.flatnonzero((wanted > -0.25) & (wanted < 0.45))
    assert (values.min(), values.max()) == pytest.approx((-0.3, 0.5), abs=0.01)
    assert np.abs(values - wanted)[free[free > 5]].max() < 0.06
    rising = slice(3, 9)  # before a stop was met
    assert np.abs(values - wanted)[rising].max() < 0.005
