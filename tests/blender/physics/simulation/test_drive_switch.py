"""From keys to physics and back at keyed frames, at the 24 frames a second of films: what moves goes on with the speed
that it had, and comes back to its keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array
from tests.support import loops
from tests.support.degrees_helpers import Z, put, rotations, slides
from tests.support.drive_helpers import key_drive
from tests.support.mechanisms import key, objects_of, play, world_of
from tests.support.springs_helpers import angle, cube_on_joint, moved

RATE = 24
#: The frame from which on physics has the model, and that from which on keys have it again.
LEFT, BACK = 13, 25


def handed_over(scene: Any, kind: str, drive: str, values: Array) -> Array:
    """A coordinate that has keys at every frame, and is handed over and back."""
    scene.render.fps = RATE
    rig = put(cube_on_joint(*(rotations(Z) if kind == "hinge" else slides(Z))), physics=True, adapt_scene=False)
    key(rig, "j", [(frame + 1, value) for frame, value in enumerate(values)])
    key_drive(rig, (1, "KEYS"), (LEFT, drive), (BACK, "KEYS"))
    look = angle(2) if kind == "hinge" else lambda pose: float(pose[2, 3])
    return np.array(play(scene, len(values), lambda: look(moved(rig))))


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_a_body_released_from_keyframes_keeps_their_velocity(blank: Any, kind: str, drive: str) -> None:
    """Nothing slows it: it is where it would be if it went on. Limp it does so though its keys stop."""
    going = 1.5 * np.arange(36) / RATE
    told = np.minimum(going, going[LEFT]) if drive == "LIMP" else going
    found = handed_over(blank.scene, kind, drive, told)
    assert found[:LEFT] == pytest.approx(going[:LEFT], abs=1e-5)
    assert found[LEFT : BACK - 1] == pytest.approx(going[LEFT : BACK - 1], abs=5e-3)
    assert found[BACK - 1 :] == pytest.approx(told[BACK - 1 :], abs=1e-5)


def test_the_speed_of_keys_that_speed_up_is_that_of_their_last_frame(blank: Any) -> None:
    told = 0.5 * (np.arange(36) / RATE) ** 2
    found = handed_over(blank.scene, "hinge", "LIMP", told)
    last = (told[LEFT - 1] - told[LEFT - 2]) * RATE
    assert np.diff(found)[LEFT : BACK - 3] * RATE == pytest.approx(last, rel=0.1)


def loop(scene: Any) -> tuple[Any, Any]:
    """A crank-rocker without weight whose crank is keyed to turn at 2 rad/s, handed over and back."""
    from addon.blender.animation.keying import LINEAR, key_servos

    scene.render.fps = RATE
    mechanism = loops.crank_rocker(0.8)
    mechanism.world.gravity = np.zeros(3)
    rig = put(mechanism, physics=True, adapt_scene=False)
    frames = np.arange(1.0, 37.0)
    key_servos(rig, "turn", {"A": (frames, 2.0 * (frames - 1.0) / RATE, LINEAR)})
    key_drive(rig, (1, "KEYS"), (LEFT, "LIMP"), (BACK, "KEYS"))
    return rig, mechanism


def energy(poses: Array, mechanism: Any) -> Array:
    """Kinetic energy (frames - 1,) of bodies (frames, bodies, 4, 4) that move in a plane, half a frame later each."""
    bodies = mechanism.bodies
    mass = np.array([body.mass for body in bodies])
    size = np.array([[body.shapes[0].size[axis] for axis in "xyz"] for body in bodies])
    moment = mass * (size[:, 0] ** 2 + size[:, 1] ** 2) / 12.0
    speed = np.diff(poses[:, :, :3, 3], axis=0) * RATE
    turn = np.swapaxes(poses[:-1, :, :3, :3], 2, 3) @ poses[1:, :, :3, :3]
    spin = np.arccos(np.clip((np.trace(turn, axis1=2, axis2=3) - 1.0) / 2.0, -1.0, 1.0)) * RATE
    return 0.5 * ((speed**2).sum(axis=2) @ mass + spin**2 @ moment)


def test_a_loop_goes_on_with_what_its_keys_gave_it(blank: Any) -> None:
    """Without weight and motors, its energy stays what it was in the last frame of its keys."""
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    rig, mechanism = loop(blank.scene)
    joint_state, bodies = gather_joint_state(rig), objects_of(rig, "BODY")

    def look() -> Any:
        gap = float(joint_state.separations(joint_state.poses()).max())
        return gap, np.array([world_of(bodies[body.id]) for body in mechanism.bodies])

    gaps, poses = zip(*play(blank.scene, 36, look), strict=True)
    assert max(gaps) < 1e-3
    found = energy(np.array(poses), mechanism)
    assert found[LEFT : BACK - 2] == pytest.approx(found[LEFT - 2], rel=0.08)
    tip = np.array(poses)[:, 0, :3, 3]
    angles = np.unwrap(np.arctan2(tip[:, 2], tip[:, 0]))
    told = angles[0] + math.copysign(2.0, angles[5] - angles[0]) * np.arange(36) / RATE
    for keyed in (slice(0, LEFT - 1), slice(BACK - 1, None)):
        assert np.sin(angles[keyed] - told[keyed]) == pytest.approx(0.0, abs=1e-4)


def test_a_keyed_drive_switch_is_baked_as_played_and_scrubbing_reports_differences(blank: Any) -> None:
    """A body that keys have at present is not shown where physics had it: then one is told to bake, or to play."""
    from addon.blender.physics.recording.bake import bake
    from addon.blender.physics.simulation import cached_frames as progress

    rig, _ = loop(blank.scene)
    bodies = objects_of(rig, "BODY")
    look = lambda: np.array([world_of(obj) for obj in bodies.values()])  # noqa: E731
    played = play(blank.scene, 36, look)
    for frame in (20, 15, 30, 8):
        blank.scene.frame_set(frame)
        assert (
            np.abs(look() - played[frame - 1]).max() < 1e-3
        ) or "this frame is not simulated" in progress.frame_note(blank.scene), frame
    again = play(blank.scene, 36, look)
    assert np.abs(np.array(again) - np.array(played)).max() < 1e-4
    bake(blank.scene, rig, last=36, all_bodies=True)
    for frame in (*range(1, 37), 20, 13):
        blank.scene.frame_set(frame)
        assert np.abs(look() - played[frame - 1])[:, :3, 3].max() < 1e-4
