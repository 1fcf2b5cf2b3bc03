"""Servo motion as keys and back: where the keys stand, which servo they move, and what a sample reads off the pose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Motion, Trajectory
from tests.support.mechanisms import XmlModel, body, bone_of, coordinate, curves_of, joint, key, model, put, turn

#: A trunk with an upper arm and a forearm on hinges across Y, a slide, a head on a ball, and two joints of one name.
DOCUMENT = model(
    body(1, (0, 0, 4), (2, 2, 2), mass=10),
    body(2, (2.5, 0, 4), (3, 0.4, 0.4)),
    body(3, (5.1, 0, 4), (2.2, 0.4, 0.4)),
    body(4, (0, 2.5, 4)),
    body(5, (0, 0, 6)),
    body(6, (-2, 0, 4)),
    body(7, (-4, 0, 4)),
    joint(21, 1, 2, (1, 0, 4), (0, 90, 0), name="Shoulder"),
    joint(22, 2, 3, (4, 0, 4), (0, 90, 0), stops=(-120, 100), name="Elbow"),
    joint(23, 1, 4, (0, 1.5, 4), (0, 90, 0), name="Slide", tag="PrismaticJoint"),
    joint(24, 1, 5, (0, 0, 5), name="Neck", tag="SphericalJoint"),
    joint(25, 1, 6, (-1, 0, 4), (0, 90, 0), name="Link"),
    joint(26, 6, 7, (-3, 0, 4), (0, 90, 0), name="Link"),
)
SERVOS = {"21": "Shoulder", "22": "Elbow", "25": "Link #25", "26": "Link #26", "23": "Slide"}
BALL = [f"Neck/{part}" for part in ("rx", "ry", "rz")]  # a servo for each number of its rotation vector


def built() -> Any:
    return put(DOCUMENT, gait=False, adapt_scene=False)


def collection_of(rig: Any) -> Any:
    return rig.data.knuckle.collection


def motion_of(**values: list[float]) -> Motion:
    """A motion with keys every 32 ms."""
    tracks = [
        Trajectory(name.replace("_", " "), np.arange(len(each)) * 0.032, np.array(each, dtype=np.float64))
        for name, each in values.items()
    ]
    return Motion("Wave", tracks)


def keys_of(rig: Any, number: str | int) -> np.ndarray:
    """Frames and values (n, 2) of the keys of a joint's bone."""
    name = bone_of(rig, number).name
    (curve,) = [curve for curve in curves_of(rig) if curve.data_path.split('"')[1] == name]
    return np.array([point.co[:] for point in curve.keyframe_points])


def track(motion: Motion, name: str) -> Trajectory:
    (found,) = [each for each in motion.trajectories if each.name == name]
    return found


# ---------------------------------------------------------------- motion -> keys


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (30, 1.0), (60, 1.0), (30, 1.001)])
@pytest.mark.parametrize("first", [0, 1, 40])  # Blender's scenes do not begin before 0, but keys may
@pytest.mark.parametrize("start", [None, -10, 101.5])
def test_keys_stand_at_the_frames_of_their_times(
    blank: Any, fps: int, base: float, first: int, start: float | None
) -> None:
    """A time of t seconds is frame first + t * fps, of any rate and beginning."""
    from addon.blender.animation import apply

    scene = blank.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start = fps, base, first
    rig = built()
    values = [0.0, 0.3, -0.2, 0.9, 0.1]
    apply(motion_of(Shoulder=values), collection_of(rig), scene, start)
    found = keys_of(rig, 21)
    zero = first if start is None else start
    assert found[:, 0] == pytest.approx([zero + 0.032 * k * fps / base for k in range(5)], abs=1e-4)
    assert found[:, 1] == pytest.approx(values, abs=1e-6)


def test_bodies_move_as_in_the_motion(blank: Any) -> None:
    """At 62.5 frames per second every second frame is a key: measured on the bodies, between keys too."""
    from addon.blender.animation import apply

    blank.scene.render.fps, blank.scene.render.fps_base = 125, 2.0
    rig, document = built(), XmlModel(DOCUMENT)
    shoulder, slide = [0.0, 0.4, -0.6], [0.0, 0.5, 0.25]
    apply(motion_of(Shoulder=shoulder, Slide=slide), collection_of(rig))
    for frame in range(1, 6):
        blank.scene.frame_set(frame)
        time = (frame - 1) / 2
        assert coordinate(rig, 21, document) == pytest.approx(np.interp(time, range(3), shoulder), abs=1e-5)
        assert coordinate(rig, 23, document) == pytest.approx(np.interp(time, range(3), slide), abs=1e-5)


def test_constant_interpolation_is_keyed_as_steps(blank: Any) -> None:
    from addon.blender.animation import apply

    rig = built()
    motion = motion_of(Shoulder=[0.0, 0.5, 1.0])
    motion.trajectories[0].interpolation = "constant"
    apply(motion, collection_of(rig))
    rate = blank.scene.render.fps
    for at, wanted in ((0.031, 0.0), (0.033, 0.5), (0.063, 0.5), (0.065, 1.0)):
        frame = 1 + at * rate
        blank.scene.frame_set(math.floor(frame), subframe=frame % 1)
        assert coordinate(rig, 21, XmlModel(DOCUMENT)) == pytest.approx(wanted, abs=1e-5)


def test_servos_are_found_by_name_and_the_others_are_reported(blank: Any) -> None:
    from addon.blender.animation import apply

    rig = built()
    motion = motion_of(Shoulder=[0.1], Tail=[0.2], Neck=[0.3], Link=[0.4], **{"Link_#26": [0.5]})
    _action, report = apply(motion, collection_of(rig))
    assert {curve.data_path.split('"')[1] for curve in curves_of(rig)} == {
        bone_of(rig, number).name for number in (21, 26)
    }
    assert keys_of(rig, 26)[0, 1] == pytest.approx(0.5)
    unmatched = {entry.where: entry.message for entry in report.entries if entry.severity == "warning"}
    assert set(unmatched) == {"Tail", "Neck", "Link"}
    assert "no joint has this name" in unmatched["Tail"]
    assert "no joint has this name" in unmatched["Link"], "two joints are called that: neither may be meant"
    assert all(part in unmatched["Neck"] for part in BALL), "a ball has a servo for each of its numbers"
    assert "Servos keyframed: 2 of 5" in report.entries[-1].message


def test_servos_have_the_same_names_in_blender_and_outside(blank: Any) -> None:
    """Of several models of one file Blender numbers the objects; joints without a name go by their id."""
    from addon import formats
    from addon.blender.animation import sample
    from addon.core.gait.engine import gait_servo_names

    text = DOCUMENT.replace("<Name>Shoulder</Name>", "<Name></Name>").replace("Slide", "Joint with a name " * 5)
    outside = gait_servo_names(formats.loads(text.encode(), "small.jm"))
    for _ in range(2):
        rig = put(text, gait=False)
        motion = sample(collection_of(rig), frames=[1])
        assert [each.name for each in motion.trajectories] == [*(outside[joint] for joint in SERVOS), *BALL]


def test_every_motion_is_an_action_of_its_own_and_the_old_one_is_not_touched(blank: Any) -> None:
    import bpy

    from addon.blender.animation import apply

    rig = built()
    key(rig, 21, [(1, 0.0), (40, 0.7)])
    mine = rig.animation_data.action
    before = keys_of(rig, 21).copy()
    first, _ = apply(motion_of(Shoulder=[0.1, 0.2]), collection_of(rig))
    second, _ = apply(motion_of(Shoulder=[0.3]), collection_of(rig))
    assert len({mine.name, first.name, second.name}) == 3
    assert rig.animation_data.action == second
    assert all(action.name in bpy.data.actions and action.use_fake_user for action in (first, second))
    rig.animation_data.action = mine
    if hasattr(rig.animation_data, "action_slot"):
        rig.animation_data.action_slot = mine.slots[0]
    assert np.array_equal(keys_of(rig, 21), before)


@pytest.mark.parametrize(
    ("end", "extend", "expected"), [(250, True, 250), (3, True, 8), (3, False, 3), (8, True, 8), (7, True, 8)]
)
def test_the_scene_is_lengthened_and_never_shortened(blank: Any, end: int, extend: bool, expected: int) -> None:
    """Ten steps of 32 ms at 20 frames per second end at frame 1 + 6.4."""
    from addon.blender.animation import apply

    blank.scene.render.fps, blank.scene.frame_end = 20, end
    rig = built()
    apply(motion_of(Shoulder=[0.1] * 11), collection_of(rig), extend=extend)
    assert blank.scene.frame_end == expected


def test_a_collection_without_a_mechanism_is_rejected(blank: Any) -> None:
    import bpy

    from addon.blender.animation import apply, sample

    plain = bpy.data.collections.new("Plain")
    with pytest.raises(ValueError, match="'Plain' has no mechanism"):
        apply(motion_of(Shoulder=[0.1]), plain)
    with pytest.raises(ValueError, match="'Plain' has no mechanism"):
        sample(plain)


# ---------------------------------------------------------------- pose -> motion


def test_a_motion_comes_back_as_it_was_keyed(blank: Any) -> None:
    from addon.blender.animation import apply, sample

    rig = built()
    rng = np.random.default_rng(5)
    there = Motion(
        "Wave",
        [Trajectory(name, np.arange(21) / 24, rng.uniform(-1.5, 1.5, 21)) for name in SERVOS.values()],
    )
    apply(there, collection_of(rig))
    blank.scene.frame_end = 21
    back = sample(collection_of(rig))
    assert back.name == "Wave"
    assert [each.name for each in back.trajectories] == list(SERVOS.values())
    for name in SERVOS.values():
        assert track(back, name).times == pytest.approx(track(there, name).times, abs=1e-9)
        assert track(back, name).values == pytest.approx(track(there, name).values, abs=2e-6)
    apply(back, collection_of(rig))
    again = sample(collection_of(rig))
    for name in SERVOS.values():
        assert track(again, name).values == pytest.approx(track(back, name).values, abs=2e-6)


def test_a_motion_that_begins_before_the_scene_comes_back_too(blank: Any) -> None:
    from addon.blender.animation import apply, sample

    blank.scene.render.fps = 30
    rig = built()
    apply(motion_of(Shoulder=[0.0, 0.5, 0.25]), collection_of(rig), start=-10)
    found = track(sample(collection_of(rig), frames=[-10 + 0.96 * k for k in range(3)]), "Shoulder")
    assert found.times == pytest.approx([0, 0.032, 0.064], abs=1e-9)
    assert found.values == pytest.approx([0, 0.5, 0.25], abs=1e-5)


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (60, 1.0), (30, 1.001)])
@pytest.mark.parametrize("first", [0, 1, 40])
def test_a_sample_counts_its_seconds_from_its_first_frame(blank: Any, fps: int, base: float, first: int) -> None:
    from addon.blender.animation import sample

    scene = blank.scene
    scene.render.fps, scene.render.fps_base = fps, base
    scene.frame_start, scene.frame_end = first, first + 12
    rig = built()
    key(rig, 21, [(first, 0.0), (first + 12, 1.2)])
    found = track(sample(collection_of(rig)), "Shoulder")
    assert found.times == pytest.approx(np.arange(13) * base / fps, rel=1e-7)
    assert found.values == pytest.approx(0.1 * np.arange(13), abs=1e-5)
    part = track(sample(collection_of(rig), frames=[first + 2, first + 2.5, first + 4.25]), "Shoulder")
    assert part.times == pytest.approx([0, 0.5 * base / fps, 2.25 * base / fps], rel=1e-7)
    assert part.values == pytest.approx([0.2, 0.25, 0.425], abs=1e-5)


def test_a_sample_holds_the_keyed_servos_or_those_that_are_asked_for(blank: Any) -> None:
    from addon.blender.animation import sample

    rig = built()
    bone_of(rig, 22).rotation_euler[2] = 0.25
    assert [each.name for each in sample(collection_of(rig), frames=[1]).trajectories] == [*SERVOS.values(), *BALL]
    key(rig, 21, [(1, 0.5)])
    assert [each.name for each in sample(collection_of(rig), frames=[1]).trajectories] == ["Shoulder"]
    asked = sample(collection_of(rig), frames=[1], joints=["23", "22", "24"], name="Asked")
    assert asked.name == "Asked"
    assert {each.name: each.values.tolist() for each in asked.trajectories} == {
        "Slide": [pytest.approx(0.0, abs=1e-6)],
        "Elbow": [pytest.approx(0.25, abs=1e-6)],
        **{part: [pytest.approx(0.0, abs=1e-6)] for part in BALL},
    }


def test_stops_are_in_a_sample(blank: Any) -> None:
    """Keys beyond the stops: the bone's limit holds the pose, and that is what a servo would be told."""
    from addon.blender.animation import sample

    rig, document = built(), XmlModel(DOCUMENT)
    low, high = document.joints["22"].limits()
    key(rig, 22, [(1, -2.6), (53, 2.6)])
    found = track(sample(collection_of(rig), frames=range(1, 54)), "Elbow").values
    assert found == pytest.approx(np.clip(-2.6 + 0.1 * np.arange(53), low, high), abs=1e-5)


def test_inverse_kinematics_are_in_a_sample(blank: Any) -> None:
    """The hand is led by IK to a place at a known distance: the elbow's angle is that of the triangle."""
    import bpy

    from addon.blender.animation import sample

    rig, document = built(), XmlModel(DOCUMENT)
    bone_of(rig, 22).rotation_euler[2] = 0.4  # which way to bend
    target = bpy.data.objects.new("Target", None)
    blank.scene.collection.objects.link(target)
    leads = bone_of(rig, 22).constraints.new("IK")
    leads.target, leads.chain_count, leads.iterations = target, 2, 500
    far = np.array([3.6, 3.2, 2.8])
    for frame, reach in zip((1, 2, 3), far, strict=True):
        target.location = np.array([1, 0, 4]) + reach * np.array([0.8, 0, 0.6])
        target.keyframe_insert("location", frame=frame)
    motion = sample(collection_of(rig), frames=[1, 2, 3], joints=["21", "22"])
    upper, fore = 3.0, 1.1  # from hinge to hinge, and on to the forearm's centre, where its bone ends
    wanted = np.arccos((far**2 - upper**2 - fore**2) / (2 * upper * fore))
    elbow = track(motion, "Elbow").values
    assert np.abs(elbow) == pytest.approx(wanted, abs=2e-3)
    axis = document.joints["21"].axis
    hand = [
        turn(axis, a) @ [upper, 0, 0] + turn(axis, a + b) @ [fore, 0, 0]
        for a, b in zip(track(motion, "Shoulder").values, elbow, strict=True)
    ]
    assert np.abs(np.array(hand) - far[:, None] * np.array([0.8, 0, 0.6])).max() < 5e-3
    assert bone_of(rig, 22).rotation_euler[2] == pytest.approx(0.4), "IK bends the pose, not the channel"


def test_drivers_and_what_carries_the_model_are_no_trouble(blank: Any) -> None:
    from addon.blender.animation import sample

    rig = built()
    rig.location, rig.rotation_euler, rig.scale = (3, 2, 1), (0.4, 0.5, 0.6), (2, 2, 2)
    bone = bone_of(rig, 23)
    bone.driver_add("location", 2).driver.expression = "frame * 0.125"
    found = sample(collection_of(rig), frames=[1, 2, 4], joints=["23"]).trajectories[0].values
    assert found == pytest.approx([0.125, 0.25, 0.5], abs=1e-5)


def test_angles_go_on_past_180_degrees(blank: Any) -> None:
    from addon.blender.animation import sample

    rig = built()
    key(rig, 21, [(1, 0.0), (41, 4 * math.pi)])
    found = sample(collection_of(rig), frames=range(1, 42)).trajectories[0].values
    assert found == pytest.approx(0.1 * math.pi * np.arange(41), abs=1e-5)


def test_sampling_puts_the_frame_back(blank: Any) -> None:
    from addon.blender.animation import sample

    rig = built()
    key(rig, 21, [(1, 0.0), (11, 1.0)])
    blank.scene.frame_set(4, subframe=0.5)
    sample(collection_of(rig), frames=[1, 9])
    assert (blank.scene.frame_current, blank.scene.frame_subframe) == (4, 0.5)
    assert coordinate(rig, 21, XmlModel(DOCUMENT)) == pytest.approx(0.35, abs=1e-5)
    with pytest.raises(TypeError):
        sample(collection_of(rig), frames=[2, "three"])  # type: ignore[list-item]
    assert (blank.scene.frame_current, blank.scene.frame_subframe) == (4, 0.5)


def test_a_sample_without_frames_is_empty(blank: Any) -> None:
    from addon.blender.animation import sample

    motion = sample(collection_of(built()), frames=[])
    assert [len(each.times) for each in motion.trajectories] == [0] * len([*SERVOS, *BALL])
    assert motion.duration == 0.0
