"""Retimed servo curves, against what Blender evaluated before; and what retiming and mirroring reject, before anything
is changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import body, bone_of, curves_of, joint, model, objects_of, put, world_of
from tests.support.retime_refused_helpers import mute
from tests.support.retimed import FLIP, KEYS, OPEN, course, curve_of, displacements, keyed, legged, looks

TYPES = ["FREE", "ALIGNED", "VECTOR", "AUTO", "AUTO_CLAMPED"]


@pytest.fixture
def rig(blank: Any) -> Any:
    return put(legged())


WITHIN = np.linspace(1, 31, 241)[:-1] + 0.03


@pytest.mark.parametrize("handles", ["FREE", "VECTOR"])
@pytest.mark.parametrize("kind", ["LINEAR", "CONSTANT", "BEZIER"])
def test_rounds_are_the_first_round_again(rig: Any, kind: str, handles: str) -> None:
    from addon.blender.animation.retiming import repeat_keys

    curve = keyed(rig, 11, KEYS, kind, handles)
    before = course(curve, WITHIN)
    assert repeat_keys(rig, 3).period == 30
    assert len(curve.keyframe_points) == 10
    for number in range(3):
        assert course(curve, WITHIN + 30 * number) == pytest.approx(before, abs=2e-5), number


def test_kinds_and_types_of_keys_come_along(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_keys

    curve = keyed(rig, 11, KEYS, "BEZIER")
    points = curve.keyframe_points
    points[1].interpolation, points[1].easing, points[1].amplitude = "ELASTIC", "EASE_IN", 0.3
    points[2].type, points[2].handle_left_type = "BREAKDOWN", "VECTOR"
    before = [(p.interpolation, p.easing, p.type, p.handle_left_type, p.amplitude) for p in points]
    repeat_keys(rig, 2)
    after = [(p.interpolation, p.easing, p.type, p.handle_left_type, p.amplitude) for p in curve.keyframe_points]
    assert after[:3] == before[:3] and after[4:6] == before[1:3]


def test_repeated_keys_of_an_open_motion_return_in_the_pause_and_climb(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_keys

    curve = keyed(rig, 11, OPEN)
    before = course(curve, WITHIN)
    assert repeat_keys(rig, 2, gap=4.0).period == 34
    assert course(curve, WITHIN + 34) == pytest.approx(before, abs=1e-5)
    assert curve.evaluate(33) == pytest.approx(0.1, abs=1e-6)
    assert curve.keyframe_points[-1].co[0] == 65

    climbing = keyed(rig, 12, OPEN)
    repeat_keys(rig, 3, "climb", bones={bone_of(rig, 12).name})
    # in the range of the whole motion, which the other servo has made 64 frames long
    assert climbing.evaluate(1 + 64 + 8) == pytest.approx(0.5 + 0.2, abs=1e-5)
    assert climbing.evaluate(1 + 2 * 64 + 8) == pytest.approx(0.5 + 0.4, abs=1e-5)


def test_blending_closes_the_round(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_keys

    curve = keyed(rig, 11, OPEN, "BEZIER", "FREE")
    before = course(curve, WITHIN)
    repeat_keys(rig, 2, "blend", blend=10)
    early = WITHIN < 21
    assert course(curve, WITHIN)[early] == pytest.approx(before[early], abs=2e-5)
    assert curve.evaluate(31) == pytest.approx(0.0, abs=1e-6)
    assert course(curve, WITHIN + 30)[early] == pytest.approx(before[early], abs=2e-5)


def test_servos_with_fewer_keys_repeat_with_the_others(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_endlessly, repeat_keys

    long, short, still = keyed(rig, 11), keyed(rig, 12, [(5, 0.3), (15, -0.1)]), keyed(rig, 13, [(5, 0.2)])
    before = course(short, WITHIN)
    repeat_keys(rig, 2, gap=2.0)
    assert course(short, WITHIN + 32) == pytest.approx(before, abs=1e-5)
    assert len(still.keyframe_points) == 1
    repeat_endlessly(rig)
    assert [len(c.modifiers) for c in (long, short, still)] == [1, 1, 0]
    assert long.keyframe_points[-1].co[0] == short.keyframe_points[-1].co[0]


@pytest.mark.parametrize("handles", ["FREE", "AUTO_CLAMPED"])
def test_endless_rounds_by_the_modifier_and_removed_again(rig: Any, handles: str) -> None:
    import bpy

    from addon.blender.animation.motion_checks import motion_overviews
    from addon.blender.animation.retiming import repeat_endlessly, stop_repeating

    curve = keyed(rig, 11, KEYS, "BEZIER", handles)
    before, keys = course(curve, WITHIN), looks(curve)
    repeat_endlessly(rig)
    assert motion_overviews(rig, bpy.context.scene)[0].cycles
    # Blender leads handles that it sets by itself smoothly over the seam: but for the two parts beside it
    same = (WITHIN > 9) & (WITHIN < 21) | (handles == "FREE")
    for number in (-7, 1, 40):
        assert course(curve, WITHIN + 30 * number)[same] == pytest.approx(before[same], abs=1e-4)
    repeat_endlessly(rig)
    assert len(curve.modifiers) == 1, "twice is once"
    assert stop_repeating(rig) == 1
    assert not motion_overviews(rig, bpy.context.scene)[0].cycles
    assert curve.evaluate(100) == pytest.approx(0.0, abs=1e-6)
    assert looks(curve) == keys, "a closed motion needed no key"


def test_endless_climbing_is_with_offset(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_endlessly

    curve = keyed(rig, 11, OPEN)
    repeat_endlessly(rig, "climb")
    assert curve.evaluate(1 + 8 + 5 * 30) == pytest.approx(0.5 + 5 * 0.2, abs=1e-4)


def test_a_curve_with_modifiers_is_rejected_before_any_is_changed(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_endlessly

    first, second = keyed(rig, 11, OPEN), keyed(rig, 12, OPEN)
    second.modifiers.new(type="NOISE")
    before = looks(first)
    with pytest.raises(ValueError, match="it has modifiers, and Cycles must be the first. Remove them"):
        repeat_endlessly(rig)
    assert looks(first) == before and not len(first.modifiers)


@pytest.mark.parametrize("kind", ["LINEAR", "CONSTANT", "BEZIER"])
def test_offset_and_speed_take_all_of_the_curve_along(rig: Any, kind: str) -> None:
    from addon.blender.animation.retiming import (
        action_speed_for_duration,
        motion_range,
        offset_keys,
        scale_action_speed,
    )

    curve = keyed(rig, 11, KEYS, kind, "FREE")
    before = course(curve, WITHIN)
    offset_keys(rig, 12.5)
    assert course(curve, WITHIN + 12.5) == pytest.approx(before, abs=2e-5)
    offset_keys(rig, -12.5)
    scale_action_speed(rig, 2.5, about=11.0)
    assert course(curve, 11 + (WITHIN - 11) / 2.5) == pytest.approx(before, abs=2e-5)
    scale_action_speed(rig, 0.4, about=11.0)
    assert motion_range(rig) == pytest.approx((1, 31), abs=1e-4)
    scale_action_speed(rig, action_speed_for_duration(rig, 90), about=1.0)
    assert motion_range(rig) == pytest.approx((1, 91), abs=1e-4)
    assert course(curve, 1 + (WITHIN - 1) * 3) == pytest.approx(before, abs=1e-4)


@pytest.mark.parametrize("kind", ["LINEAR", "CONSTANT", "BEZIER"])
@pytest.mark.parametrize("frames", [5.0, -17.0, 30.0, 37.25])
def test_wrapped_offset_rotates_the_keys_within_the_range(rig: Any, kind: str, frames: float) -> None:
    from addon.blender.animation.retiming import motion_range, offset_keys

    curve = keyed(rig, 11, KEYS, kind, "FREE")
    source = 1 + np.mod(WITHIN - frames - 1, 30)
    expected = course(curve, source)
    offset_keys(rig, frames, wrap=True)
    assert course(curve, WITHIN) == pytest.approx(expected, abs=2e-5)
    assert motion_range(rig) == pytest.approx((1, 31), abs=1e-4)


def test_only_the_bones_that_are_meant(rig: Any) -> None:
    from addon.blender.animation.retiming import offset_keys, scale_action_speed

    first, second = keyed(rig, 11), keyed(rig, 12)
    before = looks(second)
    offset_keys(rig, 3, bones={bone_of(rig, 11).name})
    scale_action_speed(rig, 2, 1, bones={bone_of(rig, 11).name})
    assert looks(second) == before and first.keyframe_points[0].co[0] == 2.5
    with pytest.raises(ValueError, match="no keyframes of the selected servos"):
        offset_keys(rig, 3, bones={bone_of(rig, 13).name})


def test_other_curves_of_the_action_stay(rig: Any) -> None:
    from addon.blender.animation.retiming import offset_keys, repeat_keys, scale_action_speed

    keyed(rig, 11)
    rig.keyframe_insert("location", index=0, frame=4)
    mine = next(c for c in curves_of(rig) if c.data_path == "location")
    before = looks(mine)
    repeat_keys(rig, 2)
    offset_keys(rig, 3)
    scale_action_speed(rig, 2, 1)
    assert looks(mine) == before


def test_the_path_of_the_root_comes_along_in_time(rig: Any) -> None:
    from addon.blender.animation.retiming import offset_keys

    keyed(rig, 11)
    root = next(bone.name for bone in rig.data.bones if bone.knuckle.root)
    rig.pose.bones[root].keyframe_insert("location", index=0, frame=4)
    path = next(c for c in curves_of(rig) if f'"{root}"' in c.data_path)
    offset_keys(rig, 3)
    assert path.keyframe_points[0].co[0] == 7
    offset_keys(rig, 3, bones={bone_of(rig, 11).name})
    assert path.keyframe_points[0].co[0] == 7


@pytest.mark.parametrize("what", ["nothing", "no servos"])
def test_without_keys_it_is_said(rig: Any, what: str) -> None:
    from addon.blender.animation.mirror import mirror_keys
    from addon.blender.animation.retiming import repeat_keys

    if what == "no servos":
        rig.keyframe_insert("location", index=0, frame=4)
    words = "no motion. Import one" if what == "nothing" else "no keyframes of servos of"
    for act in (lambda: repeat_keys(rig, 2), lambda: mirror_keys(rig)):
        with pytest.raises(ValueError, match=words):
            act()


# ---------------------------------------------------------------- mirrored


@pytest.mark.parametrize("kind", ["LINEAR", "BEZIER"])
def test_the_mirrored_motion_is_the_mirror_image(rig: Any, kind: str) -> None:
    import bpy

    from addon.blender.animation.mirror import mirror_keys

    scene = bpy.context.scene
    rest = {name: world_of(obj) for name, obj in objects_of(rig, "BODY").items()}
    keyed(rig, 11, KEYS, kind, "FREE")
    keyed(rig, 12, [(1, 0.7), (12, -0.2), (31, 0.1)], kind)
    keyed(rig, 13, [(1, 0.3), (20, -0.5)], kind)
    kept = {c.data_path: looks(c) for c in curves_of(rig)}
    frames = [1, 5.5, 11, 20, 31]
    before = []
    for frame in frames:
        scene.frame_set(int(frame), subframe=frame % 1)
        before.append(displacements(rig, rest))
    report = mirror_keys(rig)
    assert any(entry.code == "mirror-by-name" and "Left Hip" in entry.message for entry in report.entries)
    twin = {"1": "1", "2": "3", "3": "2", "4": "4"}
    for frame, then in zip(frames, before, strict=True):
        scene.frame_set(int(frame), subframe=frame % 1)
        now = displacements(rig, rest)
        for name in then:
            assert now[twin[name]] == pytest.approx(FLIP @ then[name] @ FLIP, abs=2e-4), (frame, name)
    mirror_keys(rig)
    for curve in curves_of(rig):
        for now, then in zip(looks(curve), kept[curve.data_path], strict=True):
            assert np.concatenate(now[:3]) == pytest.approx(np.concatenate(then[:3]), abs=1e-6)
            assert now[3:] == then[3:]


def test_one_side_gives_the_keys_of_the_other_half_a_period_later(rig: Any) -> None:
    from addon.blender.animation.mirror import mirror_keys

    left = keyed(rig, 11, KEYS, "LINEAR")
    neck = keyed(rig, 13, [(1, 0.3), (31, 0.3)])
    before, of_neck = looks(left), looks(neck)
    own, values = course(left, WITHIN), course(left, 1 + np.mod(WITHIN - 15 - 1, 30))
    mirror_keys(rig, "negative", phase=0.5)
    assert looks(left) == before and looks(neck) == of_neck
    right = curve_of(rig, 12)
    sign = math.copysign(1.0, right.evaluate(24))  # where the left was at its highest half a round before
    assert course(right, WITHIN) == pytest.approx(sign * values, abs=1e-4)
    mirror_keys(rig, "positive", phase=0.5)
    assert course(left, WITHIN) == pytest.approx(own, abs=1e-4)


def test_a_servo_without_keys_hands_on_where_it_is(rig: Any) -> None:
    from addon.blender.animation.mirror import mirror_keys

    keyed(rig, 11)
    bone_of(rig, 12).rotation_euler[2] = 0.25
    mirror_keys(rig)
    assert curve_of(rig, 11) is None and curve_of(rig, 12) is not None
    assert abs(bone_of(rig, 11).rotation_euler[2]) == pytest.approx(0.25)


def test_cycles_change_sides_too(rig: Any) -> None:
    from addon.blender.animation.mirror import mirror_keys
    from addon.blender.animation.retiming import repeat_endlessly

    keyed(rig, 11, OPEN)
    keyed(rig, 12, [(1, 0.5), (31, 0.1)])
    repeat_endlessly(rig, "climb", bones={bone_of(rig, 11).name})
    mirror_keys(rig)
    assert [m.mode_after for m in curve_of(rig, 12).modifiers] == ["REPEAT_OFFSET"]
    assert not len(curve_of(rig, 11).modifiers)


def test_only_what_has_a_counterpart(rig: Any) -> None:
    from addon.blender.animation.mirror import mirror_keys

    first, second = keyed(rig, 11), keyed(rig, 12, OPEN)
    neck = keyed(rig, 13)
    before = looks(second), looks(neck)
    mirror_keys(rig, bones={bone_of(rig, 12).name})
    assert (looks(second), looks(neck)) == before
    its = np.array([p.co[1] for p in second.keyframe_points])
    assert np.abs([p.co[1] for p in first.keyframe_points]) == pytest.approx(np.abs(its), abs=1e-6)


@pytest.mark.parametrize("name", ["pterosaur_balljoints.jm", "hexapod.jm", "biped.skel"])
def test_real_models_with_balls_and_twins(blank: Any, corpus: Path, sample_models: Path, name: str) -> None:
    """Every servo keyed at random; bodies are looked at before and after."""
    import bpy

    from addon import formats
    from addon.blender.animation import apply
    from addon.blender.animation.mirror import mirror_keys
    from addon.blender.data.channels import servo_channels
    from addon.core.editing.mirroring import motion_mirror
    from addon.core.model import Motion, Trajectory

    path = next(p for folder in (sample_models, corpus) for p in sorted(folder.rglob(name)))
    rig = put(path, gait=False, physics=False, up_axis="Z")
    scene, rng = bpy.context.scene, np.random.default_rng(2)
    mirror = motion_mirror(formats.load(path))
    flip = mirror.sides.plane.reflection
    # roots stay: a free root hangs in the world
    own = {k: v for k, v in servo_channels(rig).items() if k in mirror.joints and v and v[0].kind != "free"}
    times = np.array([0.0, 0.2, 0.5])
    tracks = [Trajectory(c.name, times, rng.uniform(-0.5, 0.5, 3)) for every in own.values() for c in every]
    rest = {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}
    apply(Motion("random", tracks), rig.data.knuckle.collection, scene)
    rate = scene.render.fps / scene.render.fps_base
    before = []
    for time in times:
        scene.frame_set(scene.frame_start + int(round(time * rate)))
        before.append(displacements(rig, rest))
    mirror_keys(rig)
    size = max(np.ptp([at[:3, 3] for at in rest.values()], axis=0))
    for time, then in zip(times, before, strict=True):
        scene.frame_set(scene.frame_start + int(round(time * rate)))
        now = displacements(rig, rest)
        for key_, moved_by in then.items():
            twin = mirror.sides.bodies.get(key_, key_)
            wanted = flip @ moved_by @ flip
            assert now[twin][:3, :3] == pytest.approx(wanted[:3, :3], abs=1e-3), (name, key_, time)
            assert np.abs(now[twin][:3, 3] - wanted[:3, 3]).max() < 2e-2 * size, (name, key_, time)


def state(rig: Any) -> list[Any]:
    """All that can be seen of an Action's curves."""
    return [
        (c.data_path, c.mute, c.extrapolation, looks(c), [(m.type, m.mute) for m in c.modifiers])
        for c in curves_of(rig)
    ]


def test_mirroring_looks_for_room_before_it_writes(blank: Any) -> None:
    """The arms are made after the hips: these would be done when there is no room for the Cycles."""
    from addon.blender.animation.mirror import mirror_keys

    sides = [(2, -1, 51, "Left Hip"), (3, 1, 52, "Right Hip"), (4, -2, 53, "Left Arm"), (5, 2, 54, "Right Arm")]
    rig = put(
        model(
            body(1, (0, 0, 4)),
            *(body(number, (x, 0, 2)) for number, x, _, _ in sides),
            *(joint(own, 1, number, (x, 0, 3), name=name) for number, x, own, name in sides),
        )
    )
    for number, (_, _, own, _) in enumerate(sides):
        keyed(rig, own, [(1, 0.1 * number), (11, 0.3)])
    curve_of(rig, 53).modifiers.new("CYCLES")
    curve_of(rig, 54).modifiers.new("NOISE")
    before = state(rig)
    with pytest.raises(ValueError, match="Cycles must be the first"):
        mirror_keys(rig)
    assert state(rig) == before


def test_all_settings_of_a_cycles_change_sides(rig: Any) -> None:
    from addon.blender.animation.mirror import mirror_keys

    cycles = keyed(rig, 11, OPEN).modifiers.new("CYCLES")
    keyed(rig, 12)
    wanted = {
        "mode_before": "NONE", "mode_after": "MIRROR", "cycles_after": 3, "use_restricted_range": True,
        "frame_start": 20.0, "frame_end": 70.0, "blend_in": 4.0, "blend_out": 8.0, "use_influence": True,
        "influence": 0.5, "mute": True,
    }  # fmt: skip
    for name, value in wanted.items():
        setattr(cycles, name, value)
    mirror_keys(rig)
    (made,) = curve_of(rig, 12).modifiers
    assert {name: getattr(made, name) for name in wanted} == wanted


SQUEEZED: dict[str, tuple[Callable[[Any], Any], str]] = {}


def squeezes(words: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def told(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
        SQUEEZED[act.__name__] = act, words
        return act

    return told


@squeezes("let it play less fast")
def sped_up(rig: Any) -> None:
    from addon.blender.animation.retiming import scale_action_speed

    scale_action_speed(rig, 900.0, 1.0)


@squeezes("choose a longer gap or fewer rounds")
def looped(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_keys

    repeat_keys(rig, 2, gap=0.005)


@squeezes("choose a longer gap")
def looped_endlessly(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_endlessly

    repeat_endlessly(rig, gap=0.005)


@squeezes("move it less far")
def moved_too_far(rig: Any) -> None:
    """Frames so late that 32-bit numbers have steps of 16 frames."""
    from addon.blender.animation.retiming import offset_keys

    offset_keys(rig, 2.0e8)


@squeezes("choose a longer gap")
def wrapped(rig: Any) -> None:
    from addon.blender.animation.retiming import offset_keys

    offset_keys(rig, 5.0, wrap=True, gap=0.005)


@pytest.mark.parametrize("name", SQUEEZED)
def test_keys_that_blender_would_merge_are_rejected(rig: Any, name: str) -> None:
    act, words = SQUEEZED[name]
    keyed(rig, 13, [(1, 0.0), (400, 0.5), (800, 0.2)])  # which alone could be done
    keyed(rig, 11, OPEN)
    curve_of(rig, 13).modifiers.new("CYCLES")
    before = state(rig)
    with pytest.raises(ValueError, match=words):
        act(rig)
    assert state(rig) == before


def test_scaled_keys_stay_at_the_least_distance_that_blender_keeps(rig: Any) -> None:
    from addon.blender.animation.retiming import scale_action_speed

    curve = keyed(rig, 11, [(k, 0.1 * k) for k in range(1, 51)])
    scale_action_speed(rig, 90.0, 1.0)
    assert len(curve.keyframe_points) == 50
    with pytest.raises(ValueError, match="0.01"):
        scale_action_speed(rig, 2.0, 1.0)
    assert len(curve.keyframe_points) == 50


def test_a_seam_beside_a_key_loses_none(rig: Any) -> None:
    """The round is cut 0.006 frames before a key: that key is the cut."""
    from addon.blender.animation.retiming import offset_keys

    curve = keyed(rig, 11, KEYS)
    offset_keys(rig, 31 - 21.0 + 0.006, wrap=True)
    values = [point.co[1] for point in curve.keyframe_points]
    assert values == pytest.approx([-0.4, 0.0, 0.5, -0.4])


# ---------------------------------------------------------------- muted


@pytest.mark.parametrize("how", ["curve", "group"])
def test_muted_curves_stay_as_they_are(rig: Any, how: str) -> None:
    from addon.blender.animation.retiming import motion_range, offset_keys, repeat_keys, scale_action_speed

    keyed(rig, 11)
    silent = keyed(rig, 12, [(1, 0.0), (900, 1.0)])
    mute(silent, how)
    before = looks(silent)
    assert motion_range(rig) == (1.0, 31.0)
    repeat_keys(rig, 2)
    offset_keys(rig, 3)
    scale_action_speed(rig, 2, 1)
    assert looks(silent) == before
    mute(curve_of(rig, 11), how)
    with pytest.raises(ValueError, match="no keyframes of servos of"):
        offset_keys(rig, 3)


def test_what_is_muted_is_not_mirrored(rig: Any) -> None:
    """A muted curve hands on what is seen, the pose, and shows what comes to it."""
    from addon.blender.animation.mirror import mirror_keys

    left, right = keyed(rig, 11), keyed(rig, 12, OPEN)
    right.mute = True
    bone_of(rig, 12).rotation_euler[2] = 0.25
    frames = np.linspace(1, 31, 61)
    values = course(left, frames)
    mirror_keys(rig)
    assert abs(bone_of(rig, 11).rotation_euler[2]) == pytest.approx(0.25)
    made = curve_of(rig, 12)
    assert not made.mute and np.abs(course(made, frames)) == pytest.approx(np.abs(values), abs=1e-6)
    assert curve_of(rig, 11) is None
