"""Joints at the world in the rigid-body world: what hangs on them swings as mechanics has it, follows its servos, goes
with the armature and leaves nothing behind.

The reference is Lagrange's equations of the double pendulum, integrated here. Links are boxes, whose inertia Blender
has exactly; those of Shift have no shape, and the inertia of the ball that Blender takes for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Array, Body, Joint, Mechanism
from tests.support.bake_helpers import by_hand
from tests.support.clear_helpers import differences, everything
from tests.support.degrees_helpers import put, turned
from tests.support.mechanisms import bone_of, key, objects_of, play, world_of
from tests.support.world_joints_helpers import LENGTH, START, THICK, G, anchors, begin, gaps, links, skel

BOX = (THICK**2 + LENGTH**2) / 12.0
BALL = 0.4 * 0.5**2  # what Blender takes for a body without a shape: measured


def x_xy() -> Mechanism:
    """The same."""
    box = f'<geom type="box" mass="1" pos="0 0 {-LENGTH / 2}" dim="{THICK} {THICK} {LENGTH}"/>'
    text = (
        '<x_xy model="m"><options gravity="0 0 9.81" dt="0.01"/><worldbody>'
        f'<body name="upper" joint="rx" damping="0" pos="0.3 -0.2 0">{box}'
        f'<body name="lower" joint="rx" damping="0" pos="0 0 {-LENGTH}">{box}</body></body></worldbody></x_xy>'
    )
    return formats.loads(text.encode(), "m.xml")


def shift() -> Mechanism:
    """The same of bodies without shapes."""
    bodies = [
        {
            "name": name,
            "center_of_mass": [0, 0, -LENGTH / 2],
            "inertia": {"mass": 1, "Ixx": BALL, "Iyy": BALL, "Izz": BALL},
            "frames": [{"name": "end", "T": [0, 0, -LENGTH]}],
        }
        for name in ("upper", "lower")
    ]
    ends = {"one": [["fixed", "hook"], ["upper", "origin"]], "two": [["upper", "end"], ["lower", "origin"]]}
    document = {
        "model_parameters": {"gravity": [0, 0, -G]},
        "fixed": {"frames": [{"name": "hook", "T": [0.3, -0.2, 0]}]},
        "bodies": bodies,
        "joints": [
            {"name": name, "type": "revolute", "axis": [1, 0, 0], "body_frame_pairs": pair}
            for name, pair in ends.items()
        ],
    }
    return formats.loads(json.dumps(document).encode(), "m.json")


MODELS: dict[str, tuple[Callable[[], Mechanism], float]] = {
    "skel": (skel, BOX),
    "x_xy": (x_xy, BOX),
    "shift": (shift, BALL),
}
each_format = pytest.mark.parametrize("name", MODELS)


def swing(inertia: float, seconds: float, rate: int = 60, steps: int = 50) -> Array:
    """The angles (frames, 2) of the two links with the plumb line, by Runge and Kutta."""
    near, far = inertia + LENGTH**2 / 4 + LENGTH**2, inertia + LENGTH**2 / 4

    def change(state: Array) -> Array:
        one, two, v, w = state
        across, along = 0.5 * LENGTH**2 * math.sin(one - two), 0.5 * LENGTH**2 * math.cos(one - two)
        mass = np.array([[near, along], [along, far]])
        force = [-across * w * w - 1.5 * LENGTH * G * math.sin(one), across * v * v - 0.5 * LENGTH * G * math.sin(two)]
        return np.array([v, w, *np.linalg.solve(mass, force)])

    state, step = np.array([START[0], sum(START), 0.0, 0.0]), 1.0 / rate / steps
    out = [state[:2]]
    for _ in range(round(seconds * rate)):
        for _ in range(steps):
            a = change(state)
            b = change(state + step / 2 * a)
            c = change(state + step / 2 * b)
            d = change(state + step * c)
            state = state + step / 6 * (a + 2 * b + 2 * c + d)
        out.append(state[:2])
    return np.array(out)


def angles(rig: Any) -> list[float]:
    """The angles of both links with the plumb line, about the armature's X, as seen by their mesh objects."""
    stand = np.linalg.inv(world_of(rig))
    return [math.atan2(pose[2, 1], pose[2, 2]) for pose in (stand @ world_of(link) for link in links(rig))]


def force(rig: Any, torque: float) -> None:
    """The formats with joints at the world say nothing of servos: give them some force."""
    for empty in objects_of(rig, "JOINT").values():
        empty.knuckle.joint.dofs[0].max_force = torque


# ---------------------------------------------------------------- motion


@pytest.mark.parametrize("place", ["as designed", "elsewhere"])
@each_format
def test_a_double_pendulum_at_the_world_swings_as_mechanics_has_it(blank: Any, name: str, place: str) -> None:
    make, inertia = MODELS[name]
    mechanism = make()
    rig = put(mechanism, physics=True)
    begin(rig, mechanism)
    if place == "elsewhere":
        rig.location, rig.rotation_euler = (3, -2, 5), (0, 0, 1.1)
    rig.data.knuckle.drive = "LIMP"
    seen = play(blank.scene, 121, lambda: (angles(rig), gaps(rig)))
    wanted = swing(inertia, 2.0)
    assert np.abs(wanted).max() > 0.6
    assert np.abs(np.unwrap([angle for angle, _ in seen], axis=0) - wanted).max() < 0.03
    assert max(max(gap) for _, gap in seen) < 0.002
    assert "joint-at-world" not in {line.code for line in rig.data.knuckle.report}


def test_a_small_swing_takes_its_time(blank: Any) -> None:
    mechanism = skel()
    mechanism.bodies, mechanism.joints = mechanism.bodies[:1], mechanism.joints[:1]
    rig = put(mechanism, physics=True)
    begin(rig, mechanism, (0.1,))
    rig.data.knuckle.drive = "LIMP"
    (upper,) = objects_of(rig, "BODY").values()

    def angle() -> float:
        return math.atan2(world_of(upper)[2, 1], world_of(upper)[2, 2])

    values = np.array(play(blank.scene, 300, angle))
    at = np.flatnonzero(np.diff(np.sign(values)))
    crossings = at + values[at] / (values[at] - values[at + 1])
    period = 2 * math.pi * math.sqrt((BOX + LENGTH**2 / 4) / (G * LENGTH / 2)) * (1 + 0.1**2 / 16)
    assert np.diff(crossings).mean() * 2 / 60 == pytest.approx(period, rel=1e-3)
    assert np.abs(values).max() == pytest.approx(0.1, rel=0.01), "and it does not die down"


@each_format
def test_servos_at_the_world_track_their_keys(blank: Any, name: str) -> None:
    mechanism = MODELS[name][0]()
    rig = put(mechanism, physics=True)
    force(rig, 500)
    one, two = (joint.id for joint in mechanism.joints)
    key(rig, one, [(1, 0.2), (60, -0.6)])
    key(rig, two, [(1, -0.5), (60, 0.9)])
    rig.location, rig.rotation_euler = (3, -2, 5), (0, 0, 1.1)
    rig.data.knuckle.drive = "SERVO"
    found = np.array(play(blank.scene, 60, lambda: angles(rig)))
    share = np.arange(60) / 59
    wanted = np.stack([0.2 - 0.8 * share, -0.3 + 0.6 * share], axis=1)
    assert np.abs(found - wanted)[2:].max() < 0.03


def test_a_prismatic_joint_at_the_world_is_driven_too(blank: Any) -> None:
    """Against its weight, up a slope."""
    mechanism = skel()
    mechanism.bodies, mechanism.joints = mechanism.bodies[:1], mechanism.joints[:1]
    (dof,) = mechanism.joints[0].dofs
    dof.kind, dof.axis = "translation", np.array([0.0, 0.6, 0.8])
    rig = put(mechanism, physics=True)
    force(rig, 300)
    key(rig, mechanism.joints[0].id, [(1, 0.1), (60, 0.7)])
    rig.data.knuckle.drive = "SERVO"
    (upper,) = objects_of(rig, "BODY").values()
    path = np.array(play(blank.scene, 60, lambda: world_of(upper)[:3, 3]))
    wanted = np.array([0.3, -0.2, -0.5]) + np.linspace(0.1, 0.7, 60)[:, None] * dof.axis
    assert np.abs(path - wanted).max() < 0.02


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
def test_joints_whose_child_is_the_world_count_the_same_way(blank: Any, drive: str) -> None:
    """Parents and children exchanged: the coordinates are the opposite ones, the motion is the same."""
    mechanism = turned(skel())
    assert mechanism.joints[0].child is None
    rig = put(mechanism, physics=True)
    force(rig, 500)
    begin(rig, mechanism, (-START[0], -START[1]))
    rig.data.knuckle.drive = drive
    seen = play(blank.scene, 61, lambda: (angles(rig), gaps(rig)))
    wanted = swing(BOX, 1.0) if drive == "LIMP" else np.tile([START[0], sum(START)], (61, 1))
    assert np.abs(np.array([angle for angle, _ in seen]) - wanted).max() < 0.03
    assert max(max(gap) for _, gap in seen) < 0.003


def test_the_anchor_goes_with_the_armature_in_the_middle_of_a_run(blank: Any) -> None:
    mechanism = skel()
    rig = put(mechanism, physics=True)
    begin(rig, mechanism)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 20, lambda: None)
    rig.location = (1.0, 0.5, 0.2)
    for frame in range(21, 60):
        blank.scene.frame_set(frame)
    assert max(gaps(rig)) < 0.005


# ---------------------------------------------------------------- files, keys, clearing


def test_a_run_from_a_saved_file_is_the_same(blank: Any, tmp_path: Path) -> None:
    import bpy

    mechanism = x_xy()
    rig = put(mechanism, physics=True)
    begin(rig, mechanism)
    rig.data.knuckle.drive = "LIMP"
    wanted = play(bpy.context.scene, 60, lambda: angles(rig))
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "run.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "run.blend"))
    (rig,) = [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]
    found = play(bpy.context.scene, 60, lambda: angles(rig))
    assert np.abs(np.array(found) - wanted).max() < 1e-4


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
def test_on_keys_it_does_what_it_did(blank: Any, drive: str) -> None:
    from addon.blender.physics.recording.bake import bake

    mechanism = skel()
    rig = put(mechanism, physics=True)
    force(rig, 4)  # too weak to hold
    begin(rig, mechanism)
    rig.location, rig.rotation_euler = (3, -2, 5), (0, 0, 1.1)
    rig.data.knuckle.drive = drive
    wanted = np.array(play(blank.scene, 60, lambda: angles(rig)))
    by_hand(rig)
    _action, recording = bake(blank.scene, rig, 60)
    assert np.abs(np.array(play(blank.scene, 60, lambda: angles(rig))) - wanted).max() < 1e-3
    assert recording.max_joint_separation() < 0.003
    assert recording.values[:, 0] == pytest.approx(wanted[:, 0], abs=1e-3)
    assert np.ptp(wanted, axis=0).min() > 0.3


def test_a_slow_scene_bakes_in_small_steps_though_another_model_is_anchored(blank: Any) -> None:
    from addon.blender.physics.recording.bake import record

    mechanism = skel()
    other, rig = put(skel(), physics=True), put(mechanism, physics=True)
    other.location = (20, 0, 0)
    blank.scene.render.fps = 24
    other.data.knuckle.drive = rig.data.knuckle.drive = "LIMP"
    begin(rig, mechanism)
    recording = record(blank.scene, rig, last=25)
    wanted = swing(BOX, 1.0, 24)
    assert np.abs(np.cumsum(recording.values, axis=1) - wanted).max() < 0.01


def test_clearing_takes_the_anchor_away(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put(skel(), physics=False)
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    (anchor,) = anchors()
    assert anchor.hide_viewport and anchor.hide_render and anchor.hide_select
    build_physics(blank.scene, rig)
    assert anchors() == [anchor]
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 20, lambda: None)
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert not anchors()
    assert differences(before, everything(blank.scene)) == {}


def test_a_deleted_model_leaves_no_anchor(blank: Any) -> None:
    import bpy

    rig = put(skel(), physics=True)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 5, lambda: None)
    for obj in [obj for obj in blank.scene.objects if obj not in anchors()]:
        obj.hide_set(False)
        obj.select_set(True)
    bpy.ops.object.delete()
    assert len(anchors()) == 1
    assert bpy.ops.knuckle.clean_up() == {"FINISHED"}
    assert not [obj for obj in blank.scene.objects if obj.knuckle.role == "SHAPE"]
    assert blank.scene.rigidbody_world is None


def test_an_anchor_that_was_deleted_is_put_back(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics

    mechanism = skel()
    rig = put(mechanism, physics=True)
    (anchor,) = anchors()
    bpy.data.objects.remove(anchor)
    build_physics(blank.scene, rig)
    begin(rig, mechanism)
    rig.data.knuckle.drive = "LIMP"
    assert max(max(each) for each in play(blank.scene, 30, lambda: gaps(rig))) < 0.002


def test_a_joint_that_lost_its_body_is_not_attached_to_the_world(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics

    rig = put(skel(), physics=True)
    upper, lower = links(rig)
    bpy.data.objects.remove(upper)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 61, lambda: world_of(lower)[2, 3])
    assert heights[0] - heights[-1] == pytest.approx(G / 2, rel=0.03)


def test_what_is_welded_to_the_world_stands_however_light_it_is(blank: Any) -> None:
    """A base without mass that carries the pendulum, and goes with the armature."""
    mechanism = skel()
    base = Body("base", "base", mass=0.0)
    mechanism.bodies.append(base)
    mechanism.joints[0].parent = "base"
    mechanism.joints.append(Joint("weld", "weld", "weld", None, "base"))
    rig = put(mechanism, physics=True)
    begin(rig, mechanism, START)
    rig.location = (3, -2, 5)
    for drive in ("LIMP", "KEYS", "LIMP"):
        rig.data.knuckle.drive = drive
        seen = play(blank.scene, 61, lambda: (angles(rig), gaps(rig)))
        wanted = swing(BOX, 1.0) if drive == "LIMP" else np.tile([START[0], sum(START)], (61, 1))
        assert np.abs(np.array([angle for angle, _ in seen]) - wanted).max() < 0.03
        assert max(max(gap) for _, gap in seen) < 0.002
    assert "mass-ratio" not in {line.code for line in rig.data.knuckle.report}


def test_masses_that_do_not_hold_together_are_reported(blank: Any) -> None:
    mechanism = skel()
    mechanism.bodies[0].mass = 0.005
    put(mechanism, physics=True)
    (entry,) = [each for each in mechanism.report.entries if each.code == "mass-ratio"]
    assert "1:200" in entry.message
    assert entry.where == "two"


def test_a_joint_that_was_given_a_body_in_the_worlds_place_holds_to_it(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics

    mechanism = skel()
    mechanism.bodies.append(Body("base", "base", mass=1.0, immobile=True))
    rig = put(mechanism, physics=True)
    base = objects_of(rig, "BODY")["base"]
    record = objects_of(rig, "JOINT")[mechanism.joints[0].id].knuckle.joint
    record.parent = base
    build_physics(blank.scene, rig)
    begin(rig, mechanism)
    rig.data.knuckle.drive = "LIMP"
    seen = play(blank.scene, 61, lambda: angles(rig))
    assert np.abs(np.array(seen) - swing(BOX, 1.0)).max() < 0.03


def test_what_floats_needs_no_anchor(blank: Any) -> None:
    mechanism = skel()
    mechanism.joints[0].dofs[0].kind = "free"
    mechanism.joints[0].type = "free"
    rig = put(mechanism, physics=True)
    assert not anchors()
    rig.data.knuckle.drive = "LIMP"
    heights = play(blank.scene, 61, lambda: world_of(links(rig)[0])[2, 3])
    assert heights[0] - heights[-1] == pytest.approx(G / 2, rel=0.03)
    assert bone_of(rig, mechanism.joints[0].id).rotation_mode == "QUATERNION"


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside what hangs on the world"])
def test_what_floats_is_baked_where_it_went(blank: Any, beside: bool) -> None:
    from addon.blender.physics.recording.bake import bake
    from addon.blender.physics.simulation.setup import clear_physics

    mechanism = skel()
    mechanism.joints[0].dofs[0].kind = mechanism.joints[0].type = "free"
    if beside:
        (other,) = skel().bodies[:1]
        (joint,) = skel().joints[:1]
        other.id = other.name = joint.child = "hung"
        joint.id = joint.name = "hook"
        other.pose = other.pose.copy()
        other.pose[0, 3] += 5.0
        mechanism.bodies.append(other)
        mechanism.joints.append(joint)
    rig = put(mechanism, physics=True)
    rig.location, rig.rotation_euler = (3, -2, 5), (0.2, 0, 1.1)
    rig.data.knuckle.drive = "LIMP"
    path = np.array(play(blank.scene, 61, lambda: [world_of(link) for link in links(rig)]))
    assert path[0, 0, 2, 3] - path[-1, 0, 2, 3] == pytest.approx(G / 2, rel=0.03)
    by_hand(rig)
    bake(blank.scene, rig, 61)
    clear_physics(blank.scene, rig)
    assert np.abs(np.array(play(blank.scene, 61, lambda: [world_of(link) for link in links(rig)])) - path).max() < 0.005


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside what hangs on the world"])
def test_what_floats_and_was_raised_to_the_ground_is_baked_on_it(blank: Any, beside: bool) -> None:
    """A box that begins with its middle at the ground rests half its length above it."""
    from addon.blender.physics.recording.bake import bake
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    mechanism = skel()
    mechanism.bodies, mechanism.joints = mechanism.bodies[:1], mechanism.joints[:1]
    mechanism.joints[0].dofs[0].kind = mechanism.joints[0].type = "free"
    mechanism.bodies[0].pose[2, 3] = 0.0
    if beside:
        mechanism.bodies.append(skel().bodies[1])
        mechanism.bodies[1].pose = np.eye(4)
        mechanism.bodies[1].pose[:3, 3] = 5, 0, 8
        mechanism.joints.append(Joint("hook", "hook", "weld", None, mechanism.bodies[1].id))
    rig = put(mechanism, physics=True)
    rig.data.knuckle.has_ground = True
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "LIMP"
    upper = next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_name == "upper")
    heights = play(blank.scene, 30, lambda: world_of(upper)[2, 3])
    assert heights[5] == pytest.approx(LENGTH / 2, abs=0.01)
    by_hand(rig)
    bake(blank.scene, rig, 30)
    clear_physics(blank.scene, rig)
    assert np.abs(np.array(play(blank.scene, 30, lambda: world_of(upper)[2, 3])) - heights).max() < 0.005
