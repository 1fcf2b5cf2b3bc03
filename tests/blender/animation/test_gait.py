"""The model's own gait as keys: against the sine written out here, for any rate and beginning, with keyed controls."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    clockwork,
    clockwork_motor,
    coordinate,
    curves_of,
    joint,
    key,
    model,
    play,
    put,
    spinner,
)

JOYSTICK_1_Y_SOURCE, JOYSTICK_1_Y_MODULATION = 3, 2


def machine(*behaviours: str, stops: tuple = (None, None), **world: Any) -> str:
    """A heavy tower with two level arms on hinges and one on a slide."""
    return model(
        body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
        body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5),
        body(3, (-3, 0, 6), (2, 0.2, 0.3), mass=1.5),
        body(4, (0, 3, 6), (0.2, 2, 0.3), mass=1.5),
        joint(21, 1, 2, (2, 0, 6), (0, 90, 0), stops=stops, force=200),
        joint(22, 1, 3, (-2, 0, 6), (0, -90, 0), force=200),
        joint(23, 1, 4, (0, 2, 6), (0, 90, 0), force=200, tag="PrismaticJoint"),
        behaviours="".join(behaviours),
        **world,
    )


def sense(document: XmlModel, number: str) -> float:
    """From the file's count to the second body's motion about the design axis: ODE counts the first body's."""
    place = document.joints[number]
    return -1.0 if place.line @ place.axis > 0 else 1.0


def baked(rig: Any, number: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Frames and values of the keys of a joint's bone."""
    name = bone_of(rig, number).name
    (curve,) = [curve for curve in curves_of(rig) if curve.data_path.split('"')[1] == name]
    points = np.array([point.co[:] for point in curve.keyframe_points])
    return points[:, 0], points[:, 1]


def key_setting(rig: Any, path: str, keys: list[tuple[float, float]]) -> None:
    """Key a setting of the model with straight lines between, as a user would."""
    owner, _, name = f"knuckle.{path}".rpartition(".")
    group = rig.data.path_resolve(owner)
    for frame, value in keys:
        setattr(group, name, value)
        rig.data.keyframe_insert(f"{owner}.{name}", frame=frame)
    for curve in curves_of(rig.data):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


# ---------------------------------------------------------------- the baked keys


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (60, 1.0), (30, 1.001)])
@pytest.mark.parametrize("first", [0, 1, 40])
def test_baked_keys_are_the_sine_of_the_file(blank: Any, fps: int, base: float, first: int) -> None:
    """offset + amplitude * gain * sin(phase + engine), the engine at rest for its delay; one key per frame."""
    text = machine(
        clockwork(
            clockwork_motor(21, amplitude=25, offset=5, phase=40),
            clockwork_motor(22, amplitude=10, phase=-90),
            clockwork_motor(23, amplitude=0.4, offset=0.1),
            gain=80,
        ),
        speed=50,
        delay=0.4,
        phase=30,
    )  # fmt: skip
    scene, document = blank.scene, XmlModel(text)
    scene.render.fps, scene.render.fps_base, scene.frame_start = fps, base, first
    rig = put(text, adapt_scene=False, gait_seconds=2.0)
    for number, amplitude, offset, phase in (("21", 25, 5, 40), ("22", 10, 0, -90), ("23", 0.4, 0.1, 0)):
        frames, values = baked(rig, number)
        assert frames.tolist() == list(range(first, first + math.ceil(2 * fps / base) + 1))
        time = (frames - first) * base / fps
        engine = math.radians(30) + 2 * math.pi * 50 / 60 * np.maximum(time - 0.4, 0)
        wanted = offset + amplitude * 0.8 * np.sin(math.radians(phase) + engine)
        unit = math.radians(1) if number != "23" else 1.0
        assert values == pytest.approx(sense(document, number) * unit * wanted, abs=2e-6)


def test_baked_keys_stay_within_the_stops(blank: Any) -> None:
    text = machine(clockwork(clockwork_motor(21, amplitude=60)), stops=(-20, 35))
    rig, document = put(text), XmlModel(text)
    frames, values = baked(rig, 21)
    wanted = sense(document, "21") * 60 * np.sin(2 * math.pi * (frames - 1) / 60)
    low, high = document.joints["21"].limits()
    assert values == pytest.approx(np.clip(np.radians(wanted), low, high), abs=2e-6)
    assert {round(float(end), 5) for end in (values.min(), values.max())} == {round(low, 5), round(high, 5)}


def test_a_joint_with_a_commanded_velocity_rotates_on_and_on(blank: Any) -> None:
    text = machine(spinner(21, 2.5))
    rig, document = put(text), XmlModel(text)
    frames, values = baked(rig, 21)
    assert values == pytest.approx(sense(document, "21") * 2.5 * (frames - 1) / 60, abs=1e-5)


def test_bodies_play_the_gait(blank: Any) -> None:
    text = machine(clockwork(clockwork_motor(21, amplitude=25)))
    rig, document = put(text), XmlModel(text)
    found = play(blank.scene, 60, lambda: coordinate(rig, 21, document))
    wanted = sense(document, "21") * math.radians(25) * np.sin(2 * math.pi * np.arange(60) / 60)
    assert found == pytest.approx(wanted, abs=1e-5)


def test_a_servo_that_never_moves_has_one_key(blank: Any) -> None:
    rig = put(machine(clockwork(clockwork_motor(21, offset=15), clockwork_motor(22, amplitude=15))))
    assert len(baked(rig, 21)[0]) == 1
    assert abs(baked(rig, 21)[1][0]) == pytest.approx(math.radians(15), abs=1e-6)
    assert len(baked(rig, 22)[0]) == 61


def test_a_model_without_a_gait_has_nothing_to_bake(blank: Any) -> None:
    from addon.blender.animation.gait import bake_gait, plays_baked_gait

    rig = put(machine())
    assert rig.animation_data is None or rig.animation_data.action is None
    assert bake_gait(blank.scene, rig, 1, 10) is None
    key(rig, 21, [(1, 0.5)])
    assert not plays_baked_gait(rig)


def test_baking_again_leaves_the_old_action(blank: Any) -> None:
    import bpy

    from addon.blender.animation.gait import bake_gait

    rig = put(machine(clockwork(clockwork_motor(21, amplitude=25))))
    first = rig.animation_data.action
    rig.data.knuckle.speed_factor = 2.0
    second = bake_gait(blank.scene, rig, 11, 25, "Faster")
    assert second.name == "Faster"
    assert rig.animation_data.action == second != first
    assert first.name in bpy.data.actions
    frames, values = baked(rig, 21)
    assert frames.tolist() == list(range(11, 26)), "time still counts from the scene's first frame"
    assert np.abs(values) == pytest.approx(
        np.abs(math.radians(25) * np.sin(2 * math.pi * 2 * (frames - 1) / 60)), abs=2e-6
    )


# ---------------------------------------------------------------- controls


def test_a_control_that_is_set_is_in_the_bake(blank: Any) -> None:
    from addon.blender.animation.gait import bake_gait

    text = machine(clockwork(clockwork_motor(21, amplitude=40), source=JOYSTICK_1_Y_SOURCE))
    rig, document = put(text), XmlModel(text)
    assert rig.data.knuckle.gait_inputs == "joystick 1 y"
    assert baked(rig, 21)[1].tolist() == [0.0]
    rig.data.knuckle.controls.joystick_1_y = -0.5
    bake_gait(blank.scene, rig, 1, 10)
    assert baked(rig, 21)[1] == pytest.approx([sense(document, "21") * math.radians(-20)], abs=1e-6)


@pytest.mark.parametrize("kind", ["source", "modulation"])
def test_a_control_that_is_keyed_is_in_the_bake_frame_by_frame(blank: Any, kind: str) -> None:
    """A stick pushed over half a second leads a servo, or swells a sine."""
    from addon.blender.animation.gait import bake_gait

    which = {"source": JOYSTICK_1_Y_SOURCE} if kind == "source" else {"amp_mod": JOYSTICK_1_Y_MODULATION}
    text = machine(clockwork(clockwork_motor(21, amplitude=40), **which))
    rig, document = put(text), XmlModel(text)
    key_setting(rig, "controls.joystick_1_y", [(16, 0.0), (46, -1.0)])
    bake_gait(blank.scene, rig, 1, 61)
    frames, values = baked(rig, 21)
    stick = np.interp(frames, [16, 46], [0, -1])
    wave = np.sin(2 * math.pi * (frames - 1) / 60) if kind == "modulation" else 1.0
    assert values == pytest.approx(sense(document, "21") * math.radians(40) * stick * wave, abs=2e-6)


def test_a_curve_that_is_muted_has_no_say(blank: Any) -> None:
    """As in Blender itself: the control is then what it was set to."""
    from addon.blender.animation.gait import bake_gait

    text = machine(clockwork(clockwork_motor(21, amplitude=40), source=JOYSTICK_1_Y_SOURCE))
    rig, document = put(text), XmlModel(text)
    key_setting(rig, "controls.joystick_1_y", [(1, 1.0), (46, -1.0)])
    curves_of(rig.data)[0].mute = True
    rig.data.knuckle.controls.joystick_1_y = 0.25
    bake_gait(blank.scene, rig, 1, 61)
    assert baked(rig, 21)[1] == pytest.approx([sense(document, "21") * math.radians(10)], abs=1e-6)


def test_a_keyed_speed_is_summed_up(blank: Any) -> None:
    """From standstill to full speed in a second: the engine has turned by half of what full speed turns it."""
    from addon.blender.animation.gait import bake_gait

    text = machine(clockwork(clockwork_motor(21, amplitude=40)), delay=0.25)
    rig, document = put(text), XmlModel(text)
    key_setting(rig, "speed_factor", [(16, 0.0), (76, 1.0)])
    bake_gait(blank.scene, rig, 1, 121)
    frames, values = baked(rig, 21)
    run = np.clip((frames - 16) / 60, 0, None)
    turned = np.where(run < 1, run**2 / 2, run - 0.5)
    wanted = sense(document, "21") * math.radians(40) * np.sin(2 * math.pi * turned)
    assert values == pytest.approx(wanted, abs=1e-5)


def test_edited_stops_and_engine_are_in_the_next_bake(blank: Any) -> None:
    from addon.blender.animation.gait import bake_gait
    from tests.support.mechanisms import objects_of

    text = machine(clockwork(clockwork_motor(21, amplitude=40)), stops=(-90, 90))
    rig, document = put(text), XmlModel(text)
    objects_of(rig, "JOINT")["21"].knuckle.joint.dofs[0].upper = 0.2
    rig.data.knuckle.standard_speed, rig.data.knuckle.pose_phase = 30.0, 90.0
    bake_gait(blank.scene, rig, 1, 121)
    frames, values = baked(rig, 21)
    wanted = sense(document, "21") * math.radians(40) * np.sin(math.pi / 2 + math.pi * (frames - 1) / 60)
    assert values == pytest.approx(np.minimum(wanted, 0.2), abs=2e-6)


# ---------------------------------------------------------------- whose keys they are


def test_a_gaits_own_action_is_known_until_it_is_edited(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.animation.gait import bake_gait, plays_baked_gait

    rig = put(machine(clockwork(clockwork_motor(21, amplitude=25))))
    assert plays_baked_gait(rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "gait.blend"))
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "gait.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert plays_baked_gait(rig)
    curves_of(rig)[0].keyframe_points[7].co[1] += 0.01
    assert not plays_baked_gait(rig)
    bake_gait(bpy.context.scene, rig, 1, 61)
    assert plays_baked_gait(rig)
    key(rig, 22, [(5, 0.1)])
    assert not plays_baked_gait(rig), "another servo is keyed"
    rig.animation_data.action = None
    assert plays_baked_gait(rig), "without keys, the gait is what the model has"
    key(rig, 21, [(1, 0.0)])
    assert not plays_baked_gait(rig), "an Action of the user's own"


def test_automatic_means_the_gait_while_it_is_untouched_and_the_keys_once_edited(blank: Any) -> None:
    """Under servos: a stick that is pushed after the bake moves the untouched gait live; edited keys do not listen."""
    text = machine(clockwork(clockwork_motor(21, amplitude=40), source=JOYSTICK_1_Y_SOURCE), cfm=1e-6)
    rig, document = put(text), XmlModel(text)
    assert (rig.data.knuckle.target, rig.data.knuckle.law) == ("AUTO", "AUTO")
    rig.data.knuckle.controls.joystick_1_y = 1.0
    rig.data.knuckle.drive = "SERVO"
    pushed = sense(document, "21") * math.radians(40)
    assert play(blank.scene, 60, lambda: coordinate(rig, 21, document))[-1] == pytest.approx(pushed, abs=0.03)
    for point in curves_of(rig)[0].keyframe_points:
        point.co[1] = -0.3
    assert play(blank.scene, 60, lambda: coordinate(rig, 21, document))[-1] == pytest.approx(-0.3, abs=0.03)
    rig.data.knuckle.target = "GAIT"
    assert play(blank.scene, 60, lambda: coordinate(rig, 21, document))[-1] == pytest.approx(pushed, abs=0.03)


@pytest.mark.parametrize("degrees", [0.0, 90.0, -33.5])
def test_the_phase_of_the_pose_is_shown_in_degrees_as_the_file_has_it(blank: Any, degrees: float) -> None:
    from addon.blender.data.access import settings
    from tests.support.scenes import made

    model = settings(made("hexapod.jm"))
    model.pose_phase_angle = math.radians(degrees)
    assert model.pose_phase == pytest.approx(degrees, abs=1e-5)
    model.pose_phase = 2.0 * degrees
    assert model.pose_phase_angle == pytest.approx(math.radians(2.0 * degrees), abs=1e-6)
