"""A bone posed beyond a stop stands at that stop: ranges near and beyond half a turn, one-sided, without 0, of several
turns; posed by hand, keys, handles of curves, drivers and strips. Evaluated matrices, exported files and the targets of
servos are compared with a plain clamp."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array, Dof
from addon.core.stops import clamp_angles, is_limit_exact
from tests.support.emptied import empty_file

X, Y, Z = np.eye(3)
#: Lower and upper stop (rad), None where there is none, and where the file begins: within them.
RANGES: list[tuple[float | None, float | None, float]] = [
    (-2.6, 0.2, 0.0),
    (-2.09, 2.09, 0.0),
    (-math.pi, math.pi, 0.0),
    (-3.1, 3.1, 0.0),
    (-0.5, 3.2, 0.0),
    (-4.0, 4.0, 0.0),
    (3.5, 5.0, 4.0),
    (1.0, 2.5, 1.5),
    (-3.2, -3.15, -3.15),
    (-0.5, None, 0.0),
    (None, 1.0, 0.0),
    (None, -4.0, -5.0),
    (-20.0, 20.0, 0.0),
    (7.0, 8.0, 7.5),
    (1200.0, 1201.0, 1200.5),
    (-1.0, -1.0, -1.0),
]
VALUES = [
    0.1,
    -0.1,
    1.8,
    2.0,
    2.5,
    3.1,
    3.1415927,
    -3.1415927,
    3.2,
    4.0,
    -4.0,
    5.0,
    6.3,
    -7.0,
    9.5,
    21.0,
    -30.0,
    1203.0,
]


def within(value: float, lower: float | None, upper: float | None) -> float:
    value = value if lower is None or value >= lower else lower
    return value if upper is None or value <= upper else upper


def apart(one: float, other: float) -> float:
    """How far two angles are from each other, whole turns aside."""
    return abs(math.remainder(one - other, 2.0 * math.pi))


def made(dofs: list[list[Dof]], physics: bool = False) -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build
    from tests.support.stops_helpers import arms

    rig = rig_in(build(arms(dofs), options=BuildOptions(gait=False, physics=physics)))
    bpy.context.view_layer.objects.active = rig
    bpy.context.view_layer.update()
    return rig


@pytest.fixture
def hinges(blank: Any) -> Any:
    return made([[Dof("rotation", Z, lower=low, upper=high, position=at)] for low, high, at in RANGES])


def angle_of(rig: Any, number: int) -> float:
    """The angle of an evaluated bone about its Z, which is the axis of its joint."""
    import bpy

    pose = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[f"J{number}"]
    rest = np.array(pose.bone.matrix_local)
    local = np.linalg.inv(rest) @ np.array(pose.matrix)
    if pose.parent is not None:
        above = np.array(pose.parent.bone.matrix_local)
        local = np.linalg.inv(rest) @ above @ np.linalg.inv(np.array(pose.parent.matrix)) @ np.array(pose.matrix)
    return math.atan2(local[1, 0], local[0, 0])


def is_body_turned(rig: Any, number: int, angle: float) -> bool:
    """Whether an arm, which hangs 0.5 beside its hinge, stands where this has it turned by an angle."""
    import bpy

    arm = next(obj for obj in bpy.data.objects if obj.name == f"Arm {number}")
    place = np.array(arm.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)[:3, 3]
    wanted = [0.5 + 0.5 * math.cos(angle), number + 0.5 * math.sin(angle), 0.0]
    return bool(np.abs(place - wanted).max() < 1e-3)


def strays(rig: Any, where: object) -> list[str]:
    """The hinges that do not stand where a plain clamp of their channels has them."""
    out = []
    for number, (lower, upper, _at) in enumerate(RANGES):
        told = float(rig.pose.bones[f"J{number}"].rotation_euler.z)
        wanted, seen = within(told, lower, upper), angle_of(rig, number)
        if apart(seen, wanted) > 2e-4:
            out.append(f"{where}: [{lower}, {upper}] at {told:.3f} is seen at {seen:.3f}, not {wanted:.3f}")
    return out


def by_hand(rig: Any) -> Iterator[object]:
    import bpy

    for value in VALUES:
        for number in range(len(RANGES)):
            rig.pose.bones[f"J{number}"].rotation_euler.z = value
        bpy.context.view_layer.update()
        yield value


def curves(rig: Any, put: Callable[[Any], None]) -> None:
    import bpy

    from addon.blender.compat import action_curves

    for number in range(len(RANGES)):
        rig.pose.bones[f"J{number}"].keyframe_insert("rotation_euler", index=2, frame=1)
    for curve in action_curves(rig, rig.animation_data.action):
        put(curve)
    bpy.context.view_layer.update()


def frames(count: int) -> Iterator[object]:
    """All of them, and some between and backwards."""
    import bpy

    for frame in [*range(1, count + 1), count // 2, 2, 7.25, count - 0.5]:
        bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
        yield frame


def by_keys(rig: Any) -> Iterator[object]:
    def put(curve: Any) -> None:
        for step, value in enumerate(VALUES):
            curve.keyframe_points.insert(1 + 2 * step, value).interpolation = "LINEAR"

    curves(rig, put)
    return frames(2 * len(VALUES))


def by_handles(rig: Any) -> Iterator[object]:
    """Keys are all 0; handles take the curve to 12 and then to -12 between them."""

    def put(curve: Any) -> None:
        for frame, far in ((1, 0.0), (21, 16.0), (41, -16.0)):
            key = curve.keyframe_points.insert(frame, 0.0)
            key.interpolation, key.handle_left_type, key.handle_right_type = "BEZIER", "FREE", "FREE"
            key.handle_left = frame - 7, far
            key.handle_right = frame + 7, {1: 16.0, 21: -16.0, 41: 0.0}[frame]

    curves(rig, put)
    return frames(41)


def by_drivers(rig: Any) -> Iterator[object]:
    for number in range(len(RANGES)):
        rig.pose.bones[f"J{number}"].driver_add("rotation_euler", 2).driver.expression = "(frame - 25) * 0.5"
    return frames(50)


def by_strips(rig: Any) -> Iterator[object]:
    for _ in by_keys(rig):
        break
    data = rig.animation_data
    data.nla_tracks.new().strips.new("all", 1, data.action)
    data.action = None
    return frames(2 * len(VALUES))


@pytest.mark.parametrize("pose", [by_hand, by_keys, by_handles, by_drivers, by_strips])
def test_a_bone_past_a_stop_stands_at_it(hinges: Any, pose: Callable[[Any], Iterator[object]]) -> None:
    wrong, seen = [], 0
    for where in pose(hinges):
        wrong += strays(hinges, where)
        seen += 1
    assert seen > 15
    assert not wrong, wrong[:5]


def test_bodies_stand_where_bones_do(hinges: Any) -> None:
    for value in by_hand(hinges):
        for number, (lower, upper, _at) in enumerate(RANGES):
            assert is_body_turned(hinges, number, within(float(np.float32(value)), lower, upper)), (value, lower, upper)


SEVERAL = [
    [Dof("rotation", Z, lower=-1.0, upper=1.0), Dof("rotation", X, lower=-0.5, upper=2.0)],
    [Dof("rotation", X, lower=-4.0, upper=1.0), Dof("rotation", Z)],
    [Dof("rotation", a, lower=low, upper=up) for a, low, up in ((Z, -1.0, 1.0), (Y, -2.5, 2.8), (X, -0.5, 2.0))],
    [Dof("rotation", X), Dof("rotation", Y, lower=-2.5, upper=2.8), Dof("rotation", Z)],
    [Dof("rotation", X, lower=-2.0), Dof("rotation", Y), Dof("rotation", Z, upper=5.0)],
    [Dof("translation", X, lower=-0.1, upper=0.5)],
    [Dof("rotation", Z, lower=-3.0, upper=1.0), Dof("translation", Z, lower=-0.1, upper=0.2)],
]


def test_multi_dof_and_prismatic_joints_stand_at_their_stops(blank: Any) -> None:
    from mathutils import Euler

    from addon.blender.animation.pose_reader import PoseReader
    from addon.blender.data.channels import servo_channels

    rig = made(SEVERAL)
    channels = [channel for own in servo_channels(rig).values() for channel in own]
    dofs = dict(zip(channels, [dof for own in SEVERAL for dof in own], strict=True))
    rng, steps = np.random.default_rng(7), [0.0, math.pi / 2, -math.pi / 2, math.pi, 3.2]
    for _ in range(150):
        wanted: dict[str, tuple[list[float], list[float]]] = {}
        for channel, dof in dofs.items():
            told = float(np.float32(rng.choice([rng.choice(steps), rng.uniform(-2, 2), rng.uniform(-7, 7)])))
            getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = told
            angles, places = wanted.setdefault(channel.bone, ([0.0] * 3, [0.0] * 3))
            (places if channel.prop == "location" else angles)[channel.index] = within(told, dof.lower, dof.upper)
        blank.view_layer.update()
        evaluated = rig.evaluated_get(blank.evaluated_depsgraph_get())
        for bone, (angles, places) in wanted.items():
            pose = evaluated.pose.bones[bone]
            local = np.array(
                evaluated.convert_space(pose_bone=pose, matrix=pose.matrix, from_space="POSE", to_space="LOCAL")
            )
            turn = np.array(Euler(angles, rig.pose.bones[bone].rotation_mode).to_matrix())
            assert np.abs(local[:3, :3] - turn).max() < 2e-4, (bone, angles)
            assert local[:3, 3] == pytest.approx(places, abs=1e-5), bone
        read = PoseReader(rig, channels).read()
        for channel, value in zip(channels, read.tolist(), strict=True):
            angles, places = wanted[channel.bone]
            if abs(math.cos(angles[1])) > 0.01:  # else the outer two cannot be told apart
                own = (places if channel.prop == "location" else angles)[channel.index]
                assert value == pytest.approx(own, abs=2e-3), channel


def test_a_joint_that_begins_past_a_stop_stands_where_its_file_begins(blank: Any) -> None:
    """And at its stop anywhere else beyond it; a slide too."""
    rig = made([[Dof("rotation", Z, lower=1.0, upper=2.5)], [Dof("translation", Z, upper=2.0, position=5.0)]])
    turn, slide = (rig.pose.bones[name] for name in ("J0", "J1"))
    evaluated = rig.evaluated_get(blank.evaluated_depsgraph_get())
    for told, seen in ((None, 0.0), (0.5, 1.0), (4.0, 2.5), (0.0, 0.0), (2.0, 2.0)):
        turn.rotation_euler.z = turn.rotation_euler.z if told is None else told
        blank.view_layer.update()
        assert angle_of(rig, 0) == pytest.approx(seen, abs=1e-5)
    for told, seen in ((None, 5.0), (4.0, 2.0), (9.0, 2.0), (5.0, 5.0), (1.0, 1.0)):
        slide.location.z = slide.location.z if told is None else told
        blank.view_layer.update()
        local = evaluated.pose.bones["J1"]
        moved = evaluated.convert_space(pose_bone=local, matrix=local.matrix, from_space="POSE", to_space="LOCAL")
        assert moved.translation.z == pytest.approx(seen, abs=1e-5)


def table(path: Path) -> list[list[str]]:
    """The rows of a CSV file, first the names of the columns, without units."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    return [[title.split("[")[0].split("(")[0].strip() for title in header], *rows]


def test_motion_files_have_what_is_seen(hinges: Any, tmp_path: Path) -> None:
    """Clamped, from keys and from what drivers do."""
    import bpy

    bpy.context.scene.frame_end = 60
    for _ in by_keys(hinges):
        pass
    for name, put in (("keys", lambda: None), ("drivers", lambda: list(by_drivers(hinges)))):
        if name == "drivers":
            hinges.animation_data.action = None
        put()
        path = tmp_path / f"{name}.csv"
        options = {"servos": "ALL", "stops": "CLAMP", "keys": "SAMPLED", "step": 1000.0 / 60.0}
        assert bpy.ops.export_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}
        header, *rows = table(path)
        assert len(rows) > 20
        for row in rows:
            bpy.context.scene.frame_set(min(1 + round(float(row[0]) * 60.0), bpy.context.scene.frame_end))
            for number, (lower, upper, _at) in enumerate(RANGES):
                value = float(row[header.index(f"J{number}")])
                told = float(hinges.pose.bones[f"J{number}"].rotation_euler.z)
                assert value == pytest.approx(within(told, lower, upper), abs=2e-3), (name, row[0], number)
                assert apart(value, angle_of(hinges, number)) < 2e-3


@pytest.mark.parametrize("number", range(len(RANGES)))
def test_stops_from_pose_are_what_was_set(hinges: Any, number: int) -> None:
    """Also beyond a stop, which widens the range, and whole turns beyond it; as the user presses the button."""
    from addon.blender.data.access import record_of
    from tests.support.scenes import pick
    from tests.support.stops_helpers import joint_of

    lower, upper, _at = RANGES[number]
    empty = joint_of(hinges, f"J{number}")
    dof = record_of(empty).joint.dofs[0]
    import bpy

    for beyond in (0.3, 2.2, 7.0):
        pick(empty)
        wide = (upper if upper is not None else 3.0) + beyond
        hinges.pose.bones[f"J{number}"].rotation_euler.z = wide
        bpy.context.view_layer.update()
        assert bpy.ops.knuckle.set_stops(to="UPPER") == {"FINISHED"}
        assert (dof.use_upper, dof.upper) == (True, pytest.approx(wide))
        assert dof.use_lower == (lower is not None) and (lower is None or dof.lower == pytest.approx(lower))
        low = (lower if lower is not None else wide - 9.0) - beyond
        hinges.pose.bones[f"J{number}"].rotation_euler.z = low
        bpy.context.view_layer.update()
        assert bpy.ops.knuckle.set_stops(to="LOWER") == {"FINISHED"}
        assert (dof.use_lower, dof.lower, dof.upper) == (True, pytest.approx(low), pytest.approx(wide))
        lower, upper = low, wide
        assert apart(angle_of(hinges, number), low) < 2e-4


def test_limits_of_inverse_kinematics_are_the_nearest_that_blender_has(hinges: Any) -> None:
    """Blender cuts the lower one at 0 and half a turn, the upper one too; the report says which stops are not kept."""
    inexact = set()
    for number, (lower, upper, _at) in enumerate(RANGES):
        bone = hinges.pose.bones[f"J{number}"]
        low = -math.pi if lower is None else min(max(lower, -math.pi), 0.0)
        high = math.pi if upper is None else max(min(upper, math.pi), 0.0)
        assert bone.use_ik_limit_z == (high - low < 2.0 * math.pi - 1e-5), (lower, upper)
        if bone.use_ik_limit_z:
            assert (bone.ik_min_z, bone.ik_max_z) == pytest.approx((low, high), abs=1e-6)
        kept = (0.0 if end is None else end for end in (lower, upper))
        if any(
            not first <= end <= last for end, first, last in zip(kept, (-math.pi, 0.0), (0.0, math.pi), strict=True)
        ):
            inexact.add(number)
    (told,) = [line for line in hinges.data.knuckle.report if line.code == "ik-stops-inexact"]
    assert f" {len(inexact)} " in told.message and len(inexact) == 10


def test_inverse_kinematics_keeps_to_its_limits_and_is_exported_as_it_is_seen(hinges: Any, tmp_path: Path) -> None:
    """Exactly to stops between which 0 is, within half a turn; to the nearest limits elsewhere."""
    import bpy

    goals = []
    for number in range(len(RANGES)):
        goal = bpy.data.objects.new("Goal", None)
        bpy.context.scene.collection.objects.link(goal)
        reach = hinges.pose.bones[f"J{number}"].constraints.new("IK")
        reach.target, reach.chain_count = goal, 1
        goals.append(goal)
    seen: list[list[float]] = []
    bpy.context.scene.frame_end = 16
    for frame in range(1, 17):
        for number, goal in enumerate(goals):
            goal.location = (0.5 + 3.0 * math.cos(0.4 * frame), number + 3.0 * math.sin(0.4 * frame), 0.0)
            goal.keyframe_insert("location", frame=frame)
    for frame in range(1, 17):
        bpy.context.scene.frame_set(frame)
        seen.append([angle_of(hinges, number) for number in range(len(RANGES))])
    for number, (lower, upper, _at) in enumerate(RANGES):
        low = -math.pi if lower is None else min(max(lower, -math.pi), 0.0)
        high = math.pi if upper is None else max(min(upper, math.pi), 0.0)
        values = [row[number] for row in seen]
        assert low - 1e-3 <= min(values) and max(values) <= high + 1e-3, (lower, upper)
        assert np.ptp(values) > 0.15 * min(high - low, 2.0), "it reaches for its goal"
    path = tmp_path / "reach.csv"
    options = {"servos": "ALL", "stops": "KEEP", "keys": "SAMPLED", "step": 1000.0 / 60.0}
    assert bpy.ops.export_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}
    header, *rows = table(path)
    for row, angles in zip(rows, seen, strict=False):
        for number, angle in enumerate(angles):
            assert apart(float(row[header.index(f"J{number}")]), angle) < 1e-3


@pytest.mark.parametrize(("lower", "upper", "told"), [(-2.6, 0.2, 4.0), (-2.09, 2.09, 3.2), (-0.5, None, -2.0)])
def test_servo_targets_past_a_stop_are_the_stop(
    blank: Any, lower: float | None, upper: float | None, told: float
) -> None:
    """A target beyond a stop is that stop: a servo that was told to go on pushed the other way around."""
    from addon.blender.physics.simulation import session
    from tests.support.degrees_helpers import put, rotations
    from tests.support.mechanisms import play
    from tests.support.springs_helpers import angle, cube_on_joint, moved

    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper, dof.max_force = lower, upper, 1000.0
    rig = put(cube_on_joint(*dofs), physics=True)
    rig.data.knuckle.drive = "SERVO"
    rig.pose.bones[0].rotation_euler.z = told
    ends = play(blank.scene, 60, lambda: angle(2)(moved(rig)))
    run = session.controller_at(blank.scene, rig, 60)
    assert run is not None and run.servo_targets == pytest.approx([within(told, lower, upper)])
    assert apart(ends[-1], within(told, lower, upper)) < 0.02


def test_a_saved_file_has_plain_limits_and_opens_at_its_stops(hinges: Any, tmp_path: Path) -> None:
    """Without the extension, no bone is held where it stood when the file was saved."""
    import bpy

    for number in range(len(RANGES)):
        hinges.pose.bones[f"J{number}"].rotation_euler.z = 9.5
    bpy.context.view_layer.update()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "posed.blend"), copy=True)
    with bpy.data.libraries.load(str(tmp_path / "posed.blend")) as (_there, here):
        here.objects = [hinges.name]
    limits = [pose.constraints["Stops"] for pose in here.objects[0].pose.bones if "Stops" in pose.constraints]
    assert [limit.use_limit_x for limit in limits] == [False] * len(RANGES)
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "posed.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    bpy.context.view_layer.update()
    assert not strays(rig, "opened")
    for number in range(len(RANGES)):
        rig.pose.bones[f"J{number}"].rotation_euler.z = 0.1
    bpy.context.view_layer.update()
    assert not strays(rig, "posed again")


def make_old(rig: Any) -> None:
    """Give bones the limits that releases before 5 gave them: read off a file of theirs."""
    for number, (lower, upper, _at) in enumerate(RANGES):
        pose = rig.pose.bones[f"J{number}"]
        pose.constraints.remove(pose.constraints["Stops"])
        low, high = -math.pi if lower is None else lower, math.pi if upper is None else upper
        if low >= -math.pi and high <= math.pi:
            limit = pose.constraints.new("LIMIT_ROTATION")
            limit.name, limit.owner_space, limit.use_limit_z = "Stops", "LOCAL", True
            limit.min_z, limit.max_z = low, high
    rig.data.knuckle.version = 4


def test_a_file_of_an_earlier_release_gets_the_right_limits(hinges: Any, tmp_path: Path) -> None:
    """What the user switched off stays off."""
    import bpy

    make_old(hinges)
    hinges.pose.bones["J0"].constraints["Stops"].mute = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "old.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert rig.pose.bones["J0"].constraints["Stops"].mute
    rig.pose.bones["J0"].constraints["Stops"].mute = False
    for value in by_hand(rig):
        assert not strays(rig, value)


def test_undo_and_redo_leave_bones_at_their_stops(hinges: Any) -> None:
    import bpy

    def pose(value: float) -> None:
        for number in range(len(RANGES)):
            bpy.data.objects[name].pose.bones[f"J{number}"].rotation_euler.z = value
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message=str(value))

    name = hinges.name
    bpy.ops.ed.undo_push(message="begin")
    for value in (0.1, 9.5, -4.0, 0.2):
        pose(value)
    for step in (bpy.ops.ed.undo, bpy.ops.ed.undo, bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.redo, bpy.ops.ed.redo):
        step()
        bpy.context.view_layer.update()
        assert not strays(bpy.data.objects[name], step)


@pytest.mark.parametrize("old", [False, True], ids=["present", "old"])
@pytest.mark.parametrize("override", [False, True], ids=["linked", "overridden"])
def test_a_linked_model_stands_at_its_stops(hinges: Any, tmp_path: Path, override: bool, old: bool) -> None:
    """It has a motion of its file, which stays as it is; so it does in a file that was saved and opened again."""
    import bpy

    def shown() -> Any:
        """The armature in the scene."""
        (rig,) = (obj for obj in bpy.context.scene.objects if obj.knuckle.role == "MODEL")
        assert (rig.library is None, rig.override_library is None) == (override, not override)
        return rig

    for _ in by_keys(hinges):
        pass
    if old:
        make_old(hinges)
    path, name = tmp_path / "there.blend", hinges.data.knuckle.collection.name
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    before = path.read_bytes()
    empty_file()
    with bpy.data.libraries.load(str(path), link=True) as (_there, here):
        here.collections = [name]
    if override:
        here.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    else:
        bpy.context.scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.update()
    for _opened in range(3):
        for frame in frames(2 * len(VALUES)):
            assert not strays(shown(), frame)
        bpy.ops.ed.undo_push(message="played")
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "here.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "here.blend"))
    assert path.read_bytes() == before
    if override:
        assert not [each.rna_path for each in shown().override_library.properties if "Stops" in each.rna_path]
        shown().animation_data.action = None
        for value in by_hand(shown()):
            assert not strays(shown(), value)


def test_a_render_has_bones_at_their_stops(blank: Any, tmp_path: Path) -> None:
    """A bright arm turns away from a camera that sees it at its stop: what is rendered is what is seen."""
    import bpy

    rig = made([[Dof("rotation", Z, lower=-2.6, upper=0.2)]])
    bone, scene = rig.pose.bones["J0"], bpy.context.scene
    for frame, value in ((1, 0.2), (2, 4.0), (3, 0.2)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    seen: list[float] = []

    def look(_scene: Any, depsgraph: Any) -> None:
        pose = rig.evaluated_get(depsgraph).pose.bones["J0"]
        local = np.linalg.inv(np.array(pose.bone.matrix_local)) @ np.array(pose.matrix)
        seen.append(math.atan2(local[1, 0], local[0, 0]))

    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.render.engine, scene.cycles.samples, scene.cycles.device = "CYCLES", 1, "CPU"
    scene.render.resolution_x = scene.render.resolution_y = 16
    camera.location = (1.0, 0.0, 8.0)
    scene.render.filepath = str(tmp_path / "####")
    scene.render.use_motion_blur = False
    scene.frame_start, scene.frame_end = 1, 2
    bpy.ops.render.render(animation=True)
    pictures = [bpy.data.images.load(str(path)) for path in sorted(tmp_path.glob("*.png"))]
    first, second = (np.array(picture.pixels) for picture in pictures)
    assert np.ptp(first) > 0.01, "something is seen"
    assert np.abs(first - second).max() < 0.02


# ---------------------------------------------------------------- the rule itself


def blender_limits(angles: Array, lower: Array, upper: Array, order: str) -> Array:
    """What a plain limit makes of angles, by Blender's own decomposition: the matrix (3, 3)."""
    from mathutils import Euler

    turn = Euler(angles.tolist(), order).to_matrix()
    ends = np.minimum(np.maximum(np.array(turn.to_euler(order)), lower), upper)
    return np.array(Euler(ends.tolist(), order).to_matrix())


def test_where_a_plain_limit_is_said_to_do_it_does() -> None:
    from mathutils import Euler

    rng, order, sure = np.random.default_rng(5), "XYZ", 0
    for _ in range(20_000):
        angles = rng.uniform(-4.0, 4.0, 3) * (rng.random(3) < 0.7)
        lower = np.where(rng.random(3) < 0.5, -rng.uniform(0.0, 4.0, 3), -np.inf)
        upper = np.where(rng.random(3) < 0.5, rng.uniform(0.0, 4.0, 3), np.inf)
        if is_limit_exact(angles[None], lower[None], upper[None], np.array([1]))[0]:
            sure += 1
            wanted = np.array(Euler(clamp_angles(angles, lower, upper).tolist(), order).to_matrix())
            assert np.abs(blender_limits(angles, lower, upper, order) - wanted).max() < 1e-4, (angles, lower, upper)
    assert sure > 8_000


def test_switched_off_leaves_no_bone_held(hinges: Any) -> None:
    import addon

    for _ in by_hand(hinges):
        pass
    hinges.pose.bones["J0"].rotation_euler.z = 4.0
    import bpy

    bpy.context.view_layer.update()
    limit = hinges.pose.bones["J0"].constraints["Stops"]
    assert limit.min_z == limit.max_z
    addon.unregister()
    try:
        assert (limit.min_z, limit.max_z) == pytest.approx((-2.6, 0.2))
    finally:
        addon.register()


def test_another_rotation_mode_is_another_state(hinges: Any) -> None:
    from addon.blender.animation.rotation_stops import bone_stops

    before = bone_stops(hinges)["rotation_euler"]
    hinges.pose.bones["J0"].rotation_mode = "XZY"
    after = bone_stops(hinges)["rotation_euler"]
    assert before.middle[0] == 1 and after.middle[0] == 2


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE"])
@pytest.mark.parametrize("value", [0.1, -0.1, 2.5, 3.2, 4.0, -4.0, 6.3, -7.0, 21.0, 1203.0])
def test_another_rotation_mode_leaves_bones_where_they_stand(hinges: Any, mode: str, value: float) -> None:
    """At their stops too, and in a file that is saved and opened: Blender turns angles into quaternions."""
    import bpy

    def angles() -> list[float]:
        bpy.context.view_layer.update()
        return [angle_of(hinges, number) for number in range(len(RANGES))]

    for number in range(len(RANGES)):
        hinges.pose.bones[f"J{number}"].rotation_euler.z = value
    before = angles()
    for number in range(len(RANGES)):
        hinges.pose.bones[f"J{number}"].rotation_mode = mode
    assert max(map(apart, angles(), before)) < 1e-3
    bpy.context.scene.frame_set(3)
    assert max(map(apart, angles(), before)) < 1e-3


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE"])
@pytest.mark.parametrize("begin", [0.0, 9.5], ids=["plain", "held"])
def test_bones_turned_by_quaternions_stand_at_their_stops(hinges: Any, mode: str, begin: float) -> None:
    """Up to a turn to either side, which is what a quaternion can tell; from a pose at which limits are plain, and from
    one at which bones are held."""
    import bpy
    from mathutils import Quaternion

    poses = [hinges.pose.bones[f"J{number}"] for number in range(len(RANGES))]
    for pose in poses:
        pose.rotation_euler.z = begin
    bpy.context.view_layer.update()
    for pose in poses:
        pose.rotation_mode = mode
    bpy.context.view_layer.update()
    for value in (0.1, -0.3, 1.9, 3.0, 3.3, 4.0, 5.5, -2.0, -3.3, -5.0, 0.2):
        for pose in poses:
            if mode == "QUATERNION":
                pose.rotation_quaternion = Quaternion((math.cos(value / 2.0), 0.0, 0.0, math.sin(value / 2.0)))
            else:
                pose.rotation_axis_angle = (value, 0.0, 0.0, 1.0)
        bpy.context.view_layer.update()
        for number, (lower, upper, _at) in enumerate(RANGES):
            wanted = within(value, lower, upper)
            assert apart(angle_of(hinges, number), wanted) < 1e-3, (value, lower, upper)


@pytest.mark.parametrize("edited", ["nothing", "copy", "original"])
def test_a_duplicated_joint_leaves_the_bone_its_own_stops(blank: Any, edited: str) -> None:
    """The bone is that of the joint that was there first: stops of a copy, which has no bone yet, hold nothing."""
    import bpy

    from addon.blender.data.access import record_of
    from tests.support.scenes import pick
    from tests.support.stops_helpers import joint_of

    rig = made([[Dof("rotation", Z, lower=-2.6, upper=0.2)], [Dof("rotation", Z, lower=-4.0, upper=4.0)]])
    original = joint_of(rig, "J0")
    pick(original)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    copy = bpy.context.object
    assert record_of(copy).source_id == record_of(original).source_id and copy != original
    upper = 0.2
    if edited == "copy":
        record_of(copy).joint.dofs[0].upper = 1.5
    elif edited == "original":
        record_of(original).joint.dofs[0].upper = upper = 1.0
    for value in (0.1, 1.2, 4.0, 9.0, -3.0):
        rig.pose.bones["J0"].rotation_euler.z = value
        bpy.context.view_layer.update()
        assert apart(angle_of(rig, 0), within(value, -2.6, upper)) < 2e-4, value


def test_a_bone_that_is_deleted_as_a_key_is_added_holds_no_other(hinges: Any, capfd: Any) -> None:
    """In one change: all other bones go on to stand at their stops, by the keys that there are now."""
    import bpy

    for _ in by_keys(hinges):
        pass
    bpy.context.scene.frame_set(1)
    pick = bpy.context.view_layer.objects
    pick.active = hinges
    bpy.ops.object.mode_set(mode="EDIT")
    hinges.data.edit_bones.remove(hinges.data.edit_bones["J3"])
    bpy.ops.object.mode_set(mode="OBJECT")
    hinges.pose.bones["J9"].rotation_euler.z = -9.0
    hinges.pose.bones["J9"].keyframe_insert("rotation_euler", index=2, frame=4)
    capfd.readouterr()
    for frame in frames(20):
        for number, (lower, upper, _at) in enumerate(RANGES):
            if number != 3:
                told = float(hinges.pose.bones[f"J{number}"].rotation_euler.z)
                assert apart(angle_of(hinges, number), within(told, lower, upper)) < 2e-4, (frame, number)
        if frame == 4:
            assert hinges.pose.bones["J9"].rotation_euler.z == pytest.approx(-9.0)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE"])
def test_bones_of_several_angles_stand_at_their_stops_in_any_mode(blank: Any, mode: str) -> None:
    """Within 90°: where they stood as the mode was changed, and within the stops of their joint wherever they go."""
    import bpy
    from mathutils import Euler, Quaternion

    axes = list(itertools.permutations((X, Y, Z)))
    joints = [*SEVERAL[:3], *([Dof("rotation", a, lower=-0.6, upper=0.9) for a in each] for each in axes)]
    rig, rng = made(joints), np.random.default_rng(3)
    poses = {pose: pose.rotation_mode for pose in rig.pose.bones if pose.name.startswith("J")}

    def seen(pose: Any) -> Any:
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        each = evaluated.pose.bones[pose.name]
        return evaluated.convert_space(pose_bone=each, matrix=each.matrix, from_space="POSE", to_space="LOCAL")

    for _ in range(20):
        for pose, order in poses.items():
            pose.rotation_mode, pose.rotation_euler = order, rng.uniform(-1.4, 1.4, 3) * [1, 0.5, 1]
        bpy.context.view_layer.update()
        before = {pose: np.array(seen(pose)) for pose in poses}
        for pose in poses:
            pose.rotation_mode = mode
        bpy.context.view_layer.update()
        assert max(np.abs(np.array(seen(pose)) - there).max() for pose, there in before.items()) < 1e-3
        for pose, order in poses.items():
            turn = Euler((rng.uniform(-1.4, 1.4, 3) * [1, 0.5, 1]).tolist(), order).to_quaternion()
            pose.rotation_quaternion = Quaternion(turn)
            axis, angle = turn.to_axis_angle()
            pose.rotation_axis_angle = (angle, *axis)
        bpy.context.view_layer.update()
        for (pose, order), dofs in zip(poses.items(), joints, strict=True):
            turns = dict(zip("XYZ", seen(pose).to_euler(order), strict=True))
            for axis, dof in zip(reversed(order), dofs, strict=False):
                low, high = (math.copysign(9.0, s) if e is None else e for s, e in ((-1, dof.lower), (1, dof.upper)))
                assert low - 1e-3 <= turns[axis] <= high + 1e-3, (pose.name, order, turns)
