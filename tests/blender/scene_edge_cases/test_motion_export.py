"""Motions written from odd rigs: what the file has at each frame is what the evaluated pose has there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from tests.support.mechanisms import bone_of, curves_of, key, put
from tests.support.motion_options_helpers import ARM, angle_of, exported, imported, put_xmdi, track, wave
from tests.support.scenes import pick

FIRST, LAST, RATE = 1, 25, 25
#: Where the file has each hinge.
SERVOS = {21: 0, 22: 1}


@pytest.fixture
def rig(blank: Any) -> Any:
    rig = put(ARM, gait=False, adapt_scene=False)
    bpy.context.scene.render.fps = RATE
    key(rig, 21, [(1, 0.0), (9, 0.5), (25, -0.3)])
    key(rig, 22, [(1, 0.2), (13, -0.4), (20, 0.6)])
    pick(rig)
    return rig


def assert_as_seen(rig: Any, path: Path, servos: tuple[int, ...] = (21, 22), **options: Any) -> None:
    """Export, with nothing but the file left behind, and compare with what is seen at each frame."""
    before = state()
    motion = exported(
        path, servos="ALL", step=1000.0 / RATE, frame_start=FIRST, frame_end=LAST, **options
    )  # fmt: skip
    assert state() == before
    rig.data.pose_position = "POSE"
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    for number in servos:
        written = motion.trajectories[SERVOS[number]]
        for frame in range(FIRST, LAST + 1):
            value = float(written.at(np.array([(frame - FIRST) / rate]))[0])
            assert value == pytest.approx(angle_of(rig, number, frame), abs=2e-6), (written.name, frame)


def state() -> tuple[Any, ...]:
    scene = bpy.context.scene
    return scene.name, scene.frame_current, scene.frame_subframe, bpy.context.mode, len(bpy.data.actions)


def curve(rig: Any, number: int) -> Any:
    (found,) = [each for each in curves_of(rig) if bone_of(rig, number).name in each.data_path]
    return found


# ---------------------------------------------------------------- the rig


def renamed(rig: Any) -> None:
    bone_of(rig, 21).name = 'Mine "21"'


def hidden(rig: Any) -> None:
    bone_of(rig, 21).bone.hide = True
    if hasattr(bone_of(rig, 21), "hide"):
        bone_of(rig, 21).hide = True


def in_a_hidden_bone_collection(rig: Any) -> None:
    for each in rig.data.collections_all:
        each.is_visible = False


def hidden_armature(rig: Any) -> None:
    rig.hide_viewport = True


def excluded(rig: Any) -> None:
    for layer in bpy.context.view_layer.layer_collection.children:
        layer.exclude = True


def at_rest(rig: Any) -> None:
    """The motion is none of rest, keyed or sampled."""
    driven(rig)
    rig.data.pose_position = "REST"


def another_mode(rig: Any) -> None:
    bone_of(rig, 21).rotation_mode = "QUATERNION"


def locked_channel(rig: Any) -> None:
    bone_of(rig, 21).lock_rotation = (True, True, True)


def parented(rig: Any) -> None:
    above = bpy.data.objects.new("Above", None)
    bpy.context.scene.collection.objects.link(above)
    above.scale, above.rotation_euler = (2.0, 2.0, 2.0), (0.3, 0.2, 0.1)
    rig.parent = above


# ---------------------------------------------------------------- curves


def muted(rig: Any) -> None:
    bone_of(rig, 21).rotation_euler.z = 0.125
    curve(rig, 21).mute = True


def muted_group(rig: Any) -> None:
    bone_of(rig, 21).rotation_euler.z = 0.125
    own = curve(rig, 21)
    groups = own.id_data.layers[0].strips[0].channelbags[0].groups if hasattr(own.id_data, "layers") else None
    own.group = (groups if groups is not None else own.id_data.groups).new("Silent")
    own.group.mute = True


def locked(rig: Any) -> None:
    curve(rig, 21).lock = True


def noise(rig: Any) -> None:
    made = curve(rig, 21).modifiers.new("NOISE")
    made.strength, made.scale = 0.7, 3.0


def noise_between(rig: Any) -> None:
    made = curve(rig, 21).modifiers.new("NOISE")
    made.strength, made.use_restricted_range, made.frame_start, made.frame_end = 0.7, True, 5.0, 11.0


def stepped(rig: Any) -> None:
    made = curve(rig, 21).modifiers.new("STEPPED")
    made.frame_step = 4.0


def going_on(rig: Any) -> None:
    points = curve(rig, 21).keyframe_points
    points.remove(points[2])
    curve(rig, 21).extrapolation = "LINEAR"


def between_frames(rig: Any) -> None:
    key(rig, 21, [(4.37, 0.9), (-7.25, 0.4)])


def odd_rate(rig: Any) -> None:
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 30, 1.001
    between_frames(rig)


def baked(rig: Any) -> None:
    curve(rig, 21).convert_to_samples(1, 25)


def generated(rig: Any) -> None:
    """A curve without a key, made by a modifier alone."""
    empty_curve(rig)
    made = curve(rig, 21).modifiers.new("GENERATOR")
    made.coefficients = (0.1, 0.02)


def empty_curve(rig: Any) -> None:
    for point in reversed(curve(rig, 21).keyframe_points):
        curve(rig, 21).keyframe_points.remove(point)
    bone_of(rig, 21).rotation_euler.z = 0.3


def without_action(rig: Any) -> None:
    bpy.data.actions.remove(rig.animation_data.action)
    bone_of(rig, 21).rotation_euler.z = 0.3


def anothers_slot(rig: Any) -> None:
    """The Action's slot of an empty: it has none of the bones' curves, and the pose stays as it stands."""
    action = rig.animation_data.action
    if not hasattr(action, "slots"):
        pytest.skip("Actions have slots from Blender 4.4 on")
    rig.animation_data.action_slot = action.slots.new("OBJECT", "Somebody Else")
    bone_of(rig, 21).rotation_euler.z = 0.3


def no_slot(rig: Any) -> None:
    if not hasattr(rig.animation_data, "action_slot"):
        pytest.skip("Actions have slots from Blender 4.4 on")
    rig.animation_data.action_slot = None
    bone_of(rig, 21).rotation_euler.z = 0.3


# ---------------------------------------------------------------- what else poses


def driven(rig: Any) -> None:
    bpy.context.scene["wheel"] = 0.0
    made = bone_of(rig, 21).driver_add("rotation_euler", 2)
    made.driver.expression = "frame * 0.01"


def driven_wrongly(rig: Any) -> None:
    made = bone_of(rig, 21).driver_add("rotation_euler", 2)
    made.driver.expression = "no_such_name + 1"


def copying(rig: Any) -> None:
    """Blender 4.2 to 5.2 alike: a bone that turns as the other."""
    made = bone_of(rig, 22).constraints.new("COPY_ROTATION")
    made.target, made.subtarget = rig, bone_of(rig, 21).name
    made.target_space = made.owner_space = "LOCAL"


def pushed(rig: Any, **settings: Any) -> Any:
    data = rig.animation_data
    made = data.nla_tracks.new().strips.new("Strip", 1, data.action)
    data.action = None
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def scaled_strip(rig: Any) -> None:
    pushed(rig, scale=0.5, repeat=1.7)


def reversed_strip(rig: Any) -> None:
    pushed(rig, use_reverse=True)


def late_strip(rig: Any) -> None:
    pushed(rig, extrapolation="NOTHING").frame_start = 6


def faded_strip(rig: Any) -> None:
    pushed(rig, blend_in=6.0, blend_out=4.0)


def muted_strip(rig: Any) -> None:
    pushed(rig, mute=True)
    bone_of(rig, 21).rotation_euler.z = 0.3


def muted_track(rig: Any) -> None:
    pushed(rig)
    rig.animation_data.nla_tracks[0].mute = True
    bone_of(rig, 21).rotation_euler.z = 0.3


def strip_without_action(rig: Any) -> None:
    bpy.data.actions.remove(pushed(rig).action)
    bone_of(rig, 21).rotation_euler.z = 0.3


def added_strip(rig: Any) -> None:
    action = rig.animation_data.action
    pushed(rig)
    pushed_again = rig.animation_data.nla_tracks.new().strips.new("Again", 4, action)
    pushed_again.blend_type, pushed_again.influence = "ADD", 0.5


def strips_off(rig: Any) -> None:
    pushed(rig)
    rig.animation_data.use_nla = False
    bone_of(rig, 21).rotation_euler.z = 0.3


def half_action(rig: Any) -> None:
    rig.animation_data.action_influence = 0.5


# ---------------------------------------------------------------- where one stands


def edit_mode(rig: Any) -> None:
    driven(rig)
    bpy.ops.object.mode_set(mode="EDIT")


def pose_mode(rig: Any) -> None:
    bpy.ops.object.mode_set(mode="POSE")


def between(rig: Any) -> None:
    bpy.context.scene.frame_set(7, subframe=0.5)


HARMS: list[Callable[[Any], None]] = [
    renamed, hidden, in_a_hidden_bone_collection, hidden_armature, excluded, at_rest, another_mode, locked_channel,
    parented, muted, muted_group, locked, noise, noise_between, stepped, going_on, between_frames, odd_rate, baked,
    empty_curve, generated, without_action, anothers_slot, no_slot, driven, driven_wrongly, copying, scaled_strip,
    reversed_strip, late_strip, faded_strip, muted_strip, muted_track, strip_without_action, added_strip, strips_off,
    half_action, edit_mode, pose_mode, between,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_what_is_written_is_what_is_seen(rig: Any, tmp_path: Path, harm: Callable[[Any], None]) -> None:
    harm(rig)
    assert_as_seen(rig, tmp_path / "out.csv", keys="SAMPLED" if harm is empty_curve else "AUTO")


def test_of_deleted_bones_nothing_is_written_and_the_others_are(rig: Any, tmp_path: Path) -> None:
    """A servo without a bone moves nothing; its curves are left, and it is said how the bones come back."""
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones[bone_of(rig, 22).name])
    bpy.ops.object.mode_set(mode="OBJECT")
    motion = exported(tmp_path / "out.csv", servos="ALL")
    assert [each.name for each in motion.trajectories] == ["Shoulder", "Slide"]
    pick(rig)
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert_as_seen(rig, tmp_path / "again.csv")


def test_from_another_scene_it_is_said_where_the_model_is(rig: Any, tmp_path: Path) -> None:
    first_scene, path = bpy.context.scene, tmp_path / "out.csv"
    first_scene.name = "Home"
    bpy.context.window.scene = bpy.data.scenes.new("Empty")
    for run in (bpy.ops.export_anim.servo_motion, bpy.ops.export_scene.mechanism):
        with pytest.raises(RuntimeError, match="no mechanism in scene 'Empty': 'small' is in scene 'Home'"):
            run(filepath=str(path))
    assert not path.exists()
    bpy.context.window.scene = first_scene
    pick(rig)
    assert_as_seen(rig, path)


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
def test_in_the_middle_of_a_run_it_is_what_the_run_did(rig: Any, tmp_path: Path, drive: str) -> None:
    """The same, wherever in the run one asks; and what the run had come to is seen again after it."""
    scene = bpy.context.scene
    scene.frame_end = LAST
    assert bpy.ops.knuckle.set_drive(drive=drive) == {"FINISHED"}
    scene.frame_set(FIRST)
    at_first = exported(tmp_path / "first.csv", frame_end=LAST)
    seen = {}
    for frame in range(FIRST, LAST + 1):
        scene.frame_set(frame)
        if frame == 12:
            seen = {obj.name: np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)
                    for obj in scene.objects if obj.rigid_body is not None}  # fmt: skip
    scene.frame_set(FIRST)
    for frame in range(FIRST, 13):
        scene.frame_set(frame)
    midway = exported(tmp_path / "midway.csv", frame_end=LAST)
    assert scene.frame_current == 12
    for one, other in zip(at_first.trajectories, midway.trajectories, strict=True):
        assert one.name == other.name and other.values == pytest.approx(one.values, abs=1e-4)
    layer = bpy.context.evaluated_depsgraph_get()
    for name, place in seen.items():
        now = np.array(bpy.data.objects[name].evaluated_get(layer).matrix_world)
        assert now == pytest.approx(place, abs=1e-4), name


def test_a_motion_goes_onto_the_file_that_it_came_from(rig: Any, tmp_path: Path) -> None:
    """While somebody has that open: who reads it reads the old one to its end."""
    path = put_xmdi(tmp_path / "wave.xmdi", wave())
    imported(path)
    before = path.read_bytes()
    with path.open("rb") as reader:
        head = reader.read(8)
        own = curve(rig, 21).keyframe_points[1]
        own.co.y = 0.125
        motion = exported(path)
        assert head + reader.read() == before
    assert track(motion, "Shoulder").values.tolist() == [0.0, 0.125, -0.2]
    own.co.y = 0.4
    exported(path)
    assert path.read_bytes() == before
