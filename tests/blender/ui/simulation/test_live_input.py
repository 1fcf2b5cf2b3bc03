"""Live Input in the interface: the overlay and the panels show the same names and values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.panels_helpers import draw_all
from tests.support.scenes import OWN


@pytest.fixture
def live(blank: Any) -> Any:
    """Starts Live Input on a mechanism; returns the session, its overlay and its display."""
    import bpy

    from addon.blender.physics.simulation.live_input import LiveSession
    from addon.blender.ui.simulation.live_input import LiveOverlay, _SessionDisplay, mapped_live_input

    begun: list[Any] = []

    def start(rig: Any) -> tuple[Any, Any, Any]:
        session = LiveSession(bpy.context.scene, rig, mapped_live_input(rig), False, False)
        overlay = LiveOverlay()
        begun.extend((session, overlay))
        return session, overlay, _SessionDisplay(session, overlay, bpy.context.screen, None)

    yield start
    for each in begun:
        getattr(each, "hide", getattr(each, "end", None))()


def imported(name: str) -> Any:
    import bpy

    path = OWN / name
    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.5) == {"FINISHED"}
    return bpy.context.object


def labels(panel: str) -> list[str]:
    return [text for kind, text in draw_all()[panel] if kind == "label"]


def test_inputs_have_the_same_value_in_the_overlay_and_in_the_panels(live: Any) -> None:
    import bpy

    rig = imported("hexapod/hexapod.jm")
    assert ("prop", "joystick_1_y") in draw_all()["Simulation"]
    session, overlay, display = live(rig)
    bpy.context.scene.frame_set(1)
    session.live.press("W")
    for frame in range(2, 12):
        bpy.context.scene.frame_set(frame)
    display.look(True)
    assert 0.0 < session.live.axes["UP_DOWN"] < 1.0, "on the way"
    value = session.live.input_values["joystick 1 y"]
    forward = next(row for row in overlay.rows if row.name == "Joystick 1 Y")
    assert float(forward.value) == pytest.approx(value, abs=6e-4) and forward.share == value < 0.0
    shown = labels("Simulation")
    assert shown[shown.index("Joystick 1 Y") + 1] == forward.value
    assert ("prop", "joystick_1_y") not in draw_all()["Simulation"], "keys move it, and not its slider"
    keys = labels("Live Input Keys")
    for row in overlay.rows:
        assert keys[keys.index(row.keys) + 1].startswith(f"{row.name}: {row.value}")


def test_a_mapped_servo_has_its_own_value_beside_its_name(live: Any) -> None:
    import bpy

    from addon.blender.data.channels import servo_channels

    rig = imported("desk_lamp/desk_lamp.skel")
    joint, (channel,) = next((joint, own) for joint, own in servo_channels(rig).items() if len(own) == 1)
    row = rig.data.knuckle_live.servos.add()
    row.joint, row.axis, row.speed = joint, "UP_DOWN", -0.5
    assert channel.name in labels("Live Input Keys"), "the name alone: its number is the speed, which says so"
    session, overlay, display = live(rig)
    bpy.context.scene.frame_set(1)
    session.live.press("W")
    for frame in range(2, 30):
        bpy.context.scene.frame_set(frame)
    display.look(True)
    (shown,) = overlay.rows
    assert shown.name == channel.name and -1.0 <= shown.share <= 1.0
    angle = getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index]
    assert shown.value.endswith("°") and float(shown.value[:-1]) == pytest.approx(angle * 57.29578, abs=0.1)
    assert f"{shown.name}: {shown.value}" in labels("Live Input Keys")
