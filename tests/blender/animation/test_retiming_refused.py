"""What retiming and mirroring refuse, they refuse before anything is changed; and what is muted takes no part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import body, bone_of, curves_of, joint, model, put
from tests.support.retime_refused_helpers import mute
from tests.support.retimed import KEYS, OPEN, course, curve_of, keyed, legged, looks


@pytest.fixture
def rig(blank: Any) -> Any:
    return put(legged())


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
    """Where 32 bits count in steps of 16 frames."""
    from addon.blender.animation.retiming import offset_keys

    offset_keys(rig, 2.0e8)


@squeezes("choose a longer gap")
def wrapped(rig: Any) -> None:
    from addon.blender.animation.retiming import offset_keys

    offset_keys(rig, 5.0, wrap=True, gap=0.005)


@pytest.mark.parametrize("name", SQUEEZED)
def test_keys_that_blender_would_merge_are_refused(rig: Any, name: str) -> None:
    act, words = SQUEEZED[name]
    keyed(rig, 13, [(1, 0.0), (400, 0.5), (800, 0.2)])  # which alone could be done
    keyed(rig, 11, OPEN)
    curve_of(rig, 13).modifiers.new("CYCLES")
    before = state(rig)
    with pytest.raises(ValueError, match=words):
        act(rig)
    assert state(rig) == before


def test_as_fast_as_blender_can_hold_apart(rig: Any) -> None:
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
