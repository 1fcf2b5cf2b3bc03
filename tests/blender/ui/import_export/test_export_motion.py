"""Exported motion is what Blender shows, or the report says what is left out: read back with csv and ElementTree and
compared with evaluated matrices."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.conftest import CORPUS, ROOT

LAMP = ROOT / "sample_models" / "desk_lamp" / "desk_lamp.skel"
HEXAPOD = ROOT / "sample_models" / "hexapod" / "hexapod.jm"


def bring(path: Path, **options: Any) -> Any:
    import bpy

    usual = {"physics": False, "gait": False, "adapt_scene": False}
    bpy.ops.import_scene.mechanism(filepath=str(path), **{**usual, **options})
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.knuckle.role == "MODEL")


def export(path: Path, **options: Any) -> None:
    import bpy

    assert bpy.ops.export_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}


def table(path: Path) -> dict[str, dict[float, float]]:
    """The columns of a table, by heading: time -> value."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {
        name: {float(row[0]): float(row[number]) for row in rows if row[number]}
        for number, name in enumerate(head)
        if number
    }


def told(rig: Any, code: str) -> list[str]:
    return [line.message for line in rig.data.knuckle.report if line.code == code]


def key(rig: Any, bone: str, prop: str, values: dict[int, Any], index: int = -1) -> None:
    pose = rig.pose.bones[bone]
    for frame, value in values.items():
        if index >= 0:
            getattr(pose, prop)[index] = value
        else:
            setattr(pose, prop, value)
        pose.keyframe_insert(prop, index=index, frame=frame)


def push_down(rig: Any, name: str) -> None:
    """Put the Action into a track of the NLA."""
    action = rig.animation_data.action
    action.name = name
    track = rig.animation_data.nla_tracks.new()
    strip = track.strips.new(name, int(action.frame_range[0]), action)
    if hasattr(strip, "action_slot"):
        strip.action_slot = action.slots[0]
    rig.animation_data.action = None


def own_rotation(rig: Any, bone: str) -> np.ndarray:
    """What a bone is turned by against its carrier, from rest."""
    pose = rig.pose.bones[bone]
    rest, now = np.array(pose.bone.matrix_local), np.array(pose.matrix)
    if pose.parent is not None:
        rest = np.linalg.inv(np.array(pose.parent.bone.matrix_local)) @ rest
        now = np.linalg.inv(np.array(pose.parent.matrix)) @ now
    return np.linalg.inv(rest) @ now


def shown(frame: float) -> None:
    import bpy

    bpy.context.scene.frame_set(math.floor(frame), subframe=frame % 1.0)


def rate() -> float:
    import bpy

    return bpy.context.scene.render.fps / bpy.context.scene.render.fps_base


# ---------------------------------------------------------------- what moves


def angles(rig: Any, bone: str) -> float:
    turned = own_rotation(rig, bone)
    return math.atan2(turned[1, 0], turned[0, 0])


@pytest.mark.parametrize("meta", [False, True], ids=["strip", "meta strip"])
def test_what_a_track_moves_beside_the_action_is_exported(blank: Any, tmp_path: Path, meta: bool) -> None:
    rig = bring(LAMP)
    key(rig, "shoulder", "rotation_euler", {1: 0.1, 31: 0.9}, 2)
    push_down(rig, "lower")
    if meta:
        import bpy

        strip = rig.animation_data.nla_tracks[0].strips[0]
        strip.select = True
        area = bpy.context.window.screen.areas[0] if bpy.context.window else None
        if area is None:
            pytest.skip("meta strips are made in an editor")
        area.type = "NLA_EDITOR"
        with bpy.context.temp_override(area=area):
            bpy.ops.nla.meta_add()
    key(rig, "elbow", "rotation_euler", {1: -0.2, 31: -1.0}, 2)
    export(tmp_path / "both.csv")
    columns = table(tmp_path / "both.csv")
    assert sorted(columns) == ["elbow [rad]", "shoulder [rad]"]
    for name in ("elbow", "shoulder"):
        for time, value in columns[f"{name} [rad]"].items():
            shown(1 + min(time * rate(), 30.0))
            assert angles(rig, name) == pytest.approx(value, abs=2e-5), (name, time)
    export(tmp_path / "both.xmdi")
    servos = [each.get("name") for each in ElementTree.parse(tmp_path / "both.xmdi").iter("servo")]
    assert sorted(servos) == ["elbow", "shoulder"]


@pytest.mark.parametrize("off", ["track", "strip", "curve", "nla"])
def test_what_is_muted_in_a_track_moves_nothing(blank: Any, tmp_path: Path, off: str) -> None:
    from addon.blender.compat import strip_curves

    rig = bring(LAMP)
    key(rig, "shoulder", "rotation_euler", {1: 0.1, 31: 0.9}, 2)
    push_down(rig, "lower")
    track = rig.animation_data.nla_tracks[0]
    if off == "track":
        track.mute = True
    elif off == "strip":
        track.strips[0].mute = True
    elif off == "curve":
        for curve in strip_curves(track.strips[0]):
            curve.mute = True
    else:
        rig.animation_data.use_nla = False
    key(rig, "elbow", "rotation_euler", {1: -0.2, 31: -1.0}, 2)
    export(tmp_path / "one.csv")
    assert list(table(tmp_path / "one.csv")) == ["elbow [rad]"]


# ---------------------------------------------------------------- what no servo holds


def number_in(message: str, pattern: str) -> float:
    found = re.search(pattern, message)
    assert found is not None, message
    return float(found[1])


def test_a_rotation_about_a_locked_axis_is_reported_with_its_size(blank: Any, tmp_path: Path) -> None:
    rig = bring(LAMP)
    pose = rig.pose.bones["neck"]
    locked = next(index for index in range(3) if pose.lock_rotation[index])
    key(rig, "neck", "rotation_euler", {1: 0.0, 21: 0.3, 41: -0.1}, locked)
    for name in ("a.csv", "a.xmdi", "a.motion"):
        export(tmp_path / name, servos="ALL")
        (message,) = told(rig, "bone-turn")
        assert "'neck'" in message and "frame 21" in message, message
        # the other two axes take up a part of the turn about the third: what is left is less
        shown(21)
        size = number_in(message, r"rotation of ([\d.]+) rad")
        assert 0.2 < size <= 0.3 + 1e-3
    assert not told(rig, "bone-slide") and not told(rig, "bone-scale")


def test_inverse_kinematics_on_a_locked_axis_is_reported(blank: Any, tmp_path: Path) -> None:
    """What the joint cannot do is measured anew, from the matrix and the two angles that the file has."""
    import bpy
    from mathutils import Euler

    from addon.blender.data.channels import servo_channels

    rig = bring(LAMP)
    goal = bpy.data.objects.new("goal", None)
    bpy.context.scene.collection.objects.link(goal)
    tip = rig.pose.bones["neck"]
    at = rig.matrix_world @ tip.tail
    for frame, where in ((1, (0.0, 0.0, 0.0)), (41, (0.35, 0.3, -0.2))):
        goal.location = [a + b for a, b in zip(at, where, strict=True)]
        goal.keyframe_insert("location", frame=frame)
    solver = tip.constraints.new("IK")
    solver.target, solver.chain_count = goal, 1
    bpy.context.scene.frame_end = 41
    export(tmp_path / "ik.csv", frame_start=1, frame_end=41)
    columns = {name.partition(" [")[0]: values for name, values in table(tmp_path / "ik.csv").items()}
    order = [columns["neck/neck_1"], columns["neck/neck_2"]]
    every = servo_channels(rig).values()
    channels = next(own for own in every if own[0].bone == "neck")
    left = {}
    for time in order[0]:
        shown(1 + min(time * rate(), 40.0))
        wanted = np.eye(3)
        for channel, values in zip(channels, order, strict=True):
            turn = [0.0] * 3
            turn[channel.index] = values[time]
            wanted = wanted @ np.array(Euler(turn).to_matrix())
        rest = wanted.T @ own_rotation(rig, "neck")[:3, :3]
        left[1 + min(time * rate(), 40.0)] = math.acos(min((np.trace(rest) - 1.0) / 2.0, 1.0))
    worst = max(left, key=lambda frame: left[frame])
    assert left[worst] > 0.1, "it turns about the axis that it does not have"
    (message,) = told(rig, "bone-turn")
    assert number_in(message, r"rotation of ([\d.]+) rad") == pytest.approx(left[worst], rel=0.02)
    assert number_in(message, r"frame ([\d.]+)") == pytest.approx(worst, abs=0.01)


def test_a_key_on_a_locked_place_and_a_scale_are_reported(blank: Any, tmp_path: Path) -> None:
    rig = bring(LAMP)
    key(rig, "shoulder", "rotation_euler", {1: 0.1, 31: 0.9}, 2)
    key(rig, "elbow", "location", {1: (0.0, 0.0, 0.0), 31: (0.0, 0.04, 0.03)})
    key(rig, "neck", "scale", {1: (1.0, 1.0, 1.0), 16: (1.0, 1.5, 1.0), 31: (1.2, 1.2, 1.2)})
    for name in ("a.csv", "a.xmdi", "a.motion"):
        export(tmp_path / name)
        (slid,), (scaled,) = told(rig, "bone-slide"), told(rig, "bone-scale")
        assert "'elbow'" in slid and number_in(slid, r"translation of ([\d.]+) m") == pytest.approx(0.05, abs=1e-3)
        assert number_in(slid, r"frame ([\d.]+)") == 31
        assert "'neck'" in scaled and number_in(scaled, r"scale is not exported, ([\d.]+) off 1") == pytest.approx(
            0.5, abs=1e-3
        )
        assert number_in(scaled, r"frame ([\d.]+)") == 16
        assert not told(rig, "bone-turn")


def test_an_armature_that_moves_as_an_object_is_reported(blank: Any, tmp_path: Path) -> None:
    rig = bring(HEXAPOD)
    leg = next(bone.name for bone in rig.pose.bones if bone.parent is not None)
    key(rig, leg, "rotation_euler", {1: 0.0, 61: 0.2}, 2)
    for frame, place in ((1, (0.0, 0.0, 0.0)), (31, (0.3, 0.4, 0.0))):
        rig.location = place
        rig.keyframe_insert("location", frame=frame)
    for frame, angle in ((31, 0.0), (61, 0.25)):
        rig.rotation_mode = "XYZ"
        rig.rotation_euler = (0.0, 0.0, angle)
        rig.keyframe_insert("rotation_euler", frame=frame)
    for name in ("a.csv", "a.xmdi", "a.motion"):
        export(tmp_path / name)
        (message,) = told(rig, "armature-moves")
        assert number_in(message, r"up to ([\d.]+) m") == pytest.approx(0.5, abs=1e-3)
        assert number_in(message, r"frame ([\d.]+)") == 31
        assert number_in(message, r"and ([\d.]+) rad") == pytest.approx(0.25, abs=1e-3)
        assert number_in(message, r"rad \(frame ([\d.]+)") == 61
    assert not told(rig, "bone-slide")


def test_residues_are_reported_in_the_units_of_the_file(blank: Any, tmp_path: Path) -> None:
    rig = bring(LAMP)
    key(rig, "shoulder", "rotation_euler", {1: 0.1, 31: 0.9}, 2)
    key(rig, "elbow", "location", {1: (0.0, 0.0, 0.0), 31: (0.0, 0.04, 0.03)})
    key(
        rig,
        "neck",
        "rotation_euler",
        {1: 0.0, 21: 0.3},
        next(k for k in range(3) if rig.pose.bones["neck"].lock_rotation[k]),
    )
    rig.location = (0.0, 0.0, 0.0)
    rig.keyframe_insert("location", frame=1)
    rig.location = (0.3, 0.4, 0.0)
    rig.keyframe_insert("location", frame=31)
    export(tmp_path / "a.csv", angle_unit="RAD", length_unit="M")
    (turned,) = told(rig, "bone-turn")
    radians = number_in(turned, r"rotation of ([\d.]+) rad")
    export(tmp_path / "b.csv", angle_unit="DEG", length_unit="MM")
    (turned,), (slid,), (moved,) = (told(rig, code) for code in ("bone-turn", "bone-slide", "armature-moves"))
    assert number_in(turned, r"rotation of ([\d.]+) deg ") == pytest.approx(math.degrees(radians), rel=5e-3)
    assert number_in(slid, r"translation of ([\d.]+) mm ") == pytest.approx(50.0, abs=0.1)
    assert number_in(moved, r"up to ([\d.]+) mm ") == pytest.approx(500.0, abs=1.0)


def test_the_worst_frame_of_a_long_motion_is_reported(blank: Any, tmp_path: Path) -> None:

    rig = bring(LAMP)
    key(rig, "shoulder", "rotation_euler", {1: 0.1, 4001: 0.9}, 2)
    for curve in curves_of(rig):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    driver = rig.pose.bones["elbow"].driver_add("location", 1).driver
    driver.expression = "0.2 * exp(-((frame - 2006) / 30) ** 2)"
    export(tmp_path / "a.csv", step=1000 / rate())
    (slid,) = told(rig, "bone-slide")
    assert number_in(slid, r"translation of ([\d.]+) m") == pytest.approx(0.2, abs=1e-4)
    assert number_in(slid, r"frame ([\d.]+)") == pytest.approx(2006, abs=0.01)


@pytest.mark.parametrize("servos", ["SELECTED", "KEYED"])
def test_a_selected_root_has_its_path(blank: Any, tmp_path: Path, servos: str) -> None:
    import bpy

    rig = bring(HEXAPOD)
    walked(rig)
    bpy.context.view_layer.objects.active = next(o for o in bpy.data.objects if o.knuckle.source_name == "Chassis")
    for obj in bpy.context.selected_objects:
        obj.select_set(False)
    bpy.context.view_layer.objects.active.select_set(True)
    export(tmp_path / "a.csv", servos=servos)
    found = list(table(tmp_path / "a.csv"))
    assert found[-6:] == ROOT_COLUMNS and (servos == "KEYED") == (len(found) > 6)


@pytest.mark.parametrize("path", sorted((ROOT / "sample_models").glob("*/*.[js]*")), ids=lambda path: path.name)
def test_motion_within_its_joints_has_an_empty_report(blank: Any, tmp_path: Path, path: Path) -> None:
    """Every coordinate of every sample model keyed, through the pose and key for key."""
    from addon import formats
    from addon.blender.data.channels import servo_channels

    if path.suffix not in {".jm", ".skel", ".json"} or formats.is_motion(path):
        pytest.skip("no model")
    rig = bring(path)
    random = np.random.default_rng(3)
    for own in servo_channels(rig).values():
        for channel in own:
            if channel.is_single:
                key(rig, channel.bone, channel.prop, {1: 0.0, 21: random.uniform(-0.2, 0.2)}, channel.index)
            elif channel.index == 0:
                turn = np.append(1.0, random.uniform(-0.2, 0.2, 3))
                key(rig, channel.bone, "rotation_quaternion", {1: (1, 0, 0, 0), 21: turn / np.linalg.norm(turn)})
    for keys in ("AUTO", "SAMPLED"):
        export(tmp_path / "a.csv", keys=keys)
        lines = [line.code for line in rig.data.knuckle.report]
        assert not {"bone-turn", "bone-slide", "bone-scale", "root-motion-left"}.intersection(lines)


# ---------------------------------------------------------------- root motion

ROOT_COLUMNS = [f"root:Chassis/{name}" for name in ("rx [rad]", "ry [rad]", "rz [rad]", "x [m]", "y [m]", "z [m]")]


def walked(rig: Any) -> None:
    """Key the root's path with a turn and the legs' first servo."""
    half = math.sin(0.3), math.cos(0.3)
    key(rig, "Chassis", "location", {1: (0.0, 0.0, 0.0), 61: (0.5, 1.5, 0.2)})
    key(rig, "Chassis", "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 61: (half[1], 0.0, half[0], 0.0)})
    leg = next(bone.name for bone in rig.pose.bones if bone.parent is not None)
    key(rig, leg, "rotation_euler", {1: 0.0, 61: 0.2}, 2)


def body_pose(rig: Any, name: str) -> np.ndarray:
    """A body's evaluated matrix in the mechanism's axes."""
    import bpy

    graph = bpy.context.evaluated_depsgraph_get()
    obj = next(o for o in bpy.data.objects if o.knuckle.role == "BODY" and o.knuckle.source_name == name)
    return np.linalg.inv(np.array(rig.matrix_world)) @ np.array(obj.evaluated_get(graph).matrix_world)


def about(vector: np.ndarray) -> np.ndarray:
    """Rodrigues' rotation."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector / angle if angle else vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def root_pose(columns: dict[str, dict[float, float]], time: float, start: np.ndarray) -> np.ndarray:
    """Where the columns of a table have the root, which stood at ``start`` in the design."""
    values = [columns[name][time] for name in ROOT_COLUMNS]
    pose = start.copy()
    pose[:3, :3] = about(np.array(values[:3])) @ start[:3, :3]
    pose[:3, 3] += values[3:]
    return pose


def test_a_keyed_path_is_in_the_table_and_comes_back(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = bring(HEXAPOD)
    shown(1)
    start = body_pose(rig, "Chassis")
    walked(rig)
    export(tmp_path / "walk.csv")
    columns = table(tmp_path / "walk.csv")
    assert [name for name in columns if name.startswith("root:")] == ROOT_COLUMNS
    poses = {}
    for time in columns[ROOT_COLUMNS[0]]:
        frame = 1 + min(time * rate(), 60.0)
        shown(frame)
        poses[frame] = body_pose(rig, "Chassis")
        assert np.abs(root_pose(columns, time, start) - poses[frame]).max() < 2e-5, time
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    assert bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "walk.csv")) == {"FINISHED"}
    for frame, pose in poses.items():
        shown(frame)
        assert np.abs(body_pose(rig, "Chassis") - pose).max() < 5e-5, frame
    export(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "walk.csv").read_bytes(), "nothing was edited"
    location = next(c for c in curves_of(rig) if c.data_path.endswith('["Chassis"].location') and c.array_index == 0)
    location.keyframe_points[10].co[1] += 0.125
    location.update()
    export(tmp_path / "edited.csv")
    edited = table(tmp_path / "edited.csv")
    changed = [
        (name, time)
        for name, values in columns.items()
        for time, value in values.items()
        if abs(edited[name][time] - value) > 1e-6
    ]
    assert [name for name, _ in changed] == ["root:Chassis/x [m]"]


@pytest.mark.parametrize(
    ("names", "matched", "left"),
    [(["Torso"], ["Torso"], []), (["chassis", "Tail"], ["chassis"], ["Tail"]), (["One", "Two"], [], ["One", "Two"])],
    ids=["another name", "another case", "two roots"],
)
def test_the_path_of_a_root_of_another_name_is_matched_or_reported_once(
    blank: Any, tmp_path: Path, names: list[str], matched: list[str], left: list[str]
) -> None:
    import bpy

    rig = bring(HEXAPOD)
    head = "".join(f",root:{name}/{each}" for name in names for each in ("rx", "ry", "rz", "x", "y", "z"))
    moved = "".join(f",0,0,0,{number + 1}.5,0,0" for number in range(len(names)))
    text = f"time,Waist{head}\n0,0{moved}\n1,0.25{moved}\n"
    (tmp_path / "walk.csv").write_text(text)
    assert bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "walk.csv")) == {"FINISHED"}
    assert told(rig, "servo-unmatched") == []
    assert told(rig, "servos-keyed") == ["Servos keyframed: 1 of 1, in Action 'walk'"]
    assert [line.split("'")[1::2] for line in told(rig, "root-matched")] == [[name, "Chassis"] for name in matched]
    assert [line.split("'")[1] for line in told(rig, "root-unmatched")] == left
    shown(1)
    assert tuple(rig.pose.bones["Chassis"].location) == pytest.approx((1.5, 0, 0) if matched else (0, 0, 0))
    export(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == text, "what moves nothing goes out again too"


def curves_of(rig: Any) -> Any:
    from addon.blender.compat import action_curves

    return action_curves(rig, rig.animation_data.action)


def test_formats_without_a_place_for_the_path_say_how_far_it_goes(blank: Any, tmp_path: Path) -> None:
    rig = bring(HEXAPOD)
    walked(rig)
    for name in ("walk.xmdi", "walk.motion"):
        export(tmp_path / name)
        (message,) = told(rig, "root-motion-left")
        assert "'Chassis'" in message and "root:" not in (tmp_path / name).read_text()
        assert number_in(message, r"up to ([\d.]+) m") == pytest.approx(math.hypot(0.5, 1.5, 0.2), abs=0.01)
        assert number_in(message, r"up to ([\d.]+) rad") == pytest.approx(0.6, abs=0.01)
        assert "(frame 61" in message
    export(tmp_path / "walk.csv")
    assert not told(rig, "root-motion-left"), "a table has a place for it"


@pytest.mark.parametrize("gait", [False, True], ids=["without its gait", "with its gait"])
def test_a_model_whose_root_stands_has_no_path(blank: Any, tmp_path: Path, gait: bool) -> None:
    rig = bring(HEXAPOD, gait=gait)
    leg = next(bone.name for bone in rig.pose.bones if bone.parent is not None)
    key(rig, leg, "rotation_euler", {1: 0.0, 61: 0.2}, 2)
    for servos in ("KEYED", "ALL"):
        export(tmp_path / "still.csv", servos=servos)
        assert not [name for name in table(tmp_path / "still.csv") if name.startswith("root:")]
    export(tmp_path / "still.xmdi")
    assert not told(rig, "root-motion-left")


@pytest.mark.parametrize("ending", ["csv", "xmdi", "motion"])
def test_under_physics_the_path_is_where_the_bodies_go(blank: Any, tmp_path: Path, ending: str) -> None:
    import bpy

    rig = bring(HEXAPOD, physics=True, adapt_scene=True)
    start = body_pose(rig, "Chassis")
    rig.data.knuckle.drive = "SERVO"
    bpy.context.scene.frame_end = 31
    path = tmp_path / f"run.{ending}"
    export(path, frame_start=1, frame_end=31)
    if ending != "csv":
        (message,) = told(rig, "root-motion-left")
        assert "'Chassis'" in message
        return
    columns = table(path)
    assert [name for name in columns if name.startswith("root:")] == ROOT_COLUMNS
    units = {name.rpartition(" ")[2] for name in columns}
    assert units == {"[rad]", "[m]"}
    from addon.blender.physics.recording.bake import record

    recording = record(bpy.context.scene, rig, 31)
    (place,) = [k for k, obj in enumerate(recording.joint_state.bodies) if obj.knuckle.source_name == "Chassis"]
    world = np.array(rig.matrix_world)
    for time in list(columns[ROOT_COLUMNS[0]])[:-1]:
        at = time * rate()
        if abs(at - round(at)) > 1e-6:
            continue
        pose = np.linalg.inv(world) @ recording.poses[round(at), place]
        assert np.abs(root_pose(columns, time, start) - pose).max() < 1e-4, time


SERVO = '<servo name="elbow"><position>{}</position><frames>{}</frames></servo>'
BOTH = (
    f'<xmdi><motions><motion name="m">{SERVO.format("0 -0.5", "0 10")}</motion>'
    f'<motion name="m">{SERVO.format("-0.1 -0.7", "0 20")}</motion></motions></xmdi>'
)


# ---------------------------------------------------------------- names, rates, what is missing


def test_motions_of_one_name_keep_it(blank: Any, tmp_path: Path) -> None:
    import bpy

    bring(LAMP)
    (tmp_path / "two.xmdi").write_text(BOTH)
    bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "two.xmdi"))
    export(tmp_path / "out.xmdi", motions="ALL")
    assert (tmp_path / "out.xmdi").read_text() == BOTH
    export(tmp_path / "cut.xmdi", motions="ALL", frame_start=1, frame_end=5)
    names = [each.get("name") for each in ElementTree.parse(tmp_path / "cut.xmdi").iter("motion")]
    assert names == ["m", "m"]
    copy = bpy.data.actions["m"].copy()
    copy.use_fake_user = True
    export(tmp_path / "three.xmdi", motions="ALL")
    names = [each.get("name") for each in ElementTree.parse(tmp_path / "three.xmdi").iter("motion")]
    assert len(names) == len(set(names)) == 3, "of a copy the names tell which is which"


def test_a_motion_plays_at_its_speed_whatever_the_scene_shows(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = bring(LAMP)
    (tmp_path / "two.xmdi").write_text(BOTH)
    for fps, base in ((24, 1.0), (60, 1.0), (30, 1.001)):
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
        bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "two.xmdi"))
        shown(1 + 10 * 0.032 * fps / base)
        assert angles(rig, "elbow") == pytest.approx(-0.5, abs=1e-5)
        export(tmp_path / "same.xmdi")
        assert not told(rig, "rate-changed")
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 12, 1.0
    export(tmp_path / "slow.xmdi")
    (message,) = told(rig, "rate-changed")
    assert "at 0.4 times the speed" in message and "Speed with factor 2.498" in message, message
    (servo,) = ElementTree.parse(tmp_path / "slow.xmdi").iter("servo")
    last = float(servo.findtext("frames").split()[-1])
    assert last == pytest.approx(10 * 30 / 1.001 / 12, abs=0.01), "what Blender shows"


def test_an_armature_without_its_joints_is_rejected_with_what_is_missing(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = bring(LAMP)
    key(rig, "elbow", "rotation_euler", {1: -0.2, 31: -1.0}, 2)
    for obj in [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT"]:
        bpy.data.objects.remove(obj)
    with pytest.raises(RuntimeError, match="joints are missing .*elbow.*Rebuild Missing Parts"):
        export(tmp_path / "none.xmdi")
    assert not (tmp_path / "none.xmdi").exists()


def test_a_joint_that_is_missing_is_reported(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = bring(LAMP)
    key(rig, "elbow", "rotation_euler", {1: -0.2, 31: -1.0}, 2)
    joints = [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT"]
    gone = next(obj for obj in joints if obj.knuckle.source_name == "shoulder")
    bpy.data.objects.remove(gone)
    export(tmp_path / "some.xmdi")
    (message,) = told(rig, "joints-missing")
    assert "'shoulder'" in message


# ---------------------------------------------------------------- linked mechanisms


@pytest.fixture
def library(blank: Any, tmp_path: Path) -> Path:
    import bpy

    rig = bring(LAMP)
    key(rig, "elbow", "rotation_euler", {1: -0.2, 31: -1.0}, 2)
    for curve in curves_of(rig):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    rig.users_collection[0].name = "Lamp"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    return tmp_path / "library.blend"


@pytest.mark.parametrize("motions", ["ACTIVE", "ALL"])
@pytest.mark.parametrize("override", [False, True], ids=["linked", "overridden"])
def test_a_linked_mechanism_is_exported(library: Path, tmp_path: Path, override: bool, motions: str) -> None:
    import bpy

    with bpy.data.libraries.load(str(library), link=True) as (_there, here):
        here.collections = ["Lamp"]
    (collection,) = here.collections
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scene.render.fps = 60
    if override:
        collection = collection.override_hierarchy_create(scene, layer)
    if collection.name not in scene.collection.children:
        scene.collection.children.link(collection)
    rig = next(obj for obj in collection.all_objects if obj.type == "ARMATURE")
    layer.objects.active = rig
    export(tmp_path / "linked.csv", motions=motions)
    columns = table(tmp_path / "linked.csv")
    assert list(columns) == ["elbow [rad]"]
    for time, value in columns["elbow [rad]"].items():
        shown(1 + min(time * 60, 30.0))
        assert angles(rig, "elbow") == pytest.approx(value, abs=1e-5)


# ---------------------------------------------------------------- real files

FILES = [path for path in sorted((CORPUS / "juice" / "models").glob("*.jm")) if path.name != "simpleant2.jp.jm"][:6]
NO_FILES = [pytest.param(None, marks=pytest.mark.skip(reason="real Juice files are not here"))]


@pytest.mark.parametrize("path", FILES or NO_FILES, ids=lambda path: path.name if path else "none")
def test_real_models_keep_their_roots_path(blank: Any, tmp_path: Path, path: Path) -> None:
    import bpy

    from addon.blender.data.queries import root_bones

    rig = bring(path)
    bones = root_bones(rig)
    for bone in bones.values():
        key(rig, bone, "location", {1: (0.0, 0.0, 0.0), 25: (0.3, -0.2, 0.1)})
        key(rig, bone, "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 25: (0.8, 0.36, 0.48, 0.0)})
    frames, poses = (1, 9, 17, 25), {}
    for frame in frames:
        shown(frame)
        poses[frame] = [np.array(rig.pose.bones[bone].matrix) for bone in bones.values()]
    export(tmp_path / "path.csv", step=1000 / rate() / 2)
    rig.animation_data_clear()
    bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "path.csv"))
    for frame in frames:
        shown(frame)
        now = [np.array(rig.pose.bones[bone].matrix) for bone in bones.values()]
        assert np.abs(np.array(now) - poses[frame]).max() < 1e-4 * max(1.0, np.abs(poses[frame]).max())
