"""Every kind of behaviour that a Juice model can have, imported, baked, and read off the keys.

What the keys should be is worked out here: each case writes its behaviour as the file has it and, beside it, what
the program makes of it, in the file's own count (degrees or lengths)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    clockwork,
    clockwork_motor,
    curves_of,
    joint,
    model,
    put,
    spinner,
)

TURN = 2 * math.pi
#: No frame falls on the end of a turn, where the phase jumps.
SPEED, FACTOR, DELAY, PHASE = 47.0, 1.0, 0.2, 17.0
SECONDS = 3.0
FELT = {31: (20, 0, 0), 32: (0, 25, 0), 33: (0, 0, -35), 34: (0, 30, 0)}  # bodies that a gait feels, as designed

Controls = dict[str, float]
Expected = Callable[[np.ndarray], np.ndarray]


class Case(NamedTuple):
    """A behaviour, the joint whose keys are read, what they are for engine phases (n,) in radians, and the sticks."""

    behaviours: str
    expected: Expected
    joint: str = "21"
    controls: Controls = {}
    speed: bool = False


def machine(behaviours: str) -> str:
    """A tower with two level arms on hinges, of which one has stops, one on a slide, and bodies that lean."""
    return model(
        body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
        body(2, (3, 0, 6), (2, 0.2, 0.3)),
        body(3, (-3, 0, 6), (2, 0.2, 0.3)),
        body(4, (0, 3, 6), (0.2, 2, 0.3)),
        *(body(number, (number, 9, 1), ypr=ypr) for number, ypr in FELT.items()),
        joint(21, 1, 2, (2, 0, 6), (0, 90, 0)),
        joint(22, 1, 3, (-2, 0, 6), (0, -90, 0), stops=(-20, 35)),
        joint(23, 1, 4, (0, 2, 6), (0, 90, 0), tag="PrismaticJoint"),
        behaviours=behaviours,
        speed=SPEED,
        delay=DELAY,
        phase=PHASE,
    )


def network(*nodes: str, edges: tuple[tuple[int, int, float], ...]) -> str:
    """A network of nodes as XML; edges are (source, destination, factor)."""
    groups = {"MotorNodes": "", "FunctionNodes": "", "MotionSourceNodes": ""}
    for node in nodes:
        kind = node[1 : node.index(">")]
        group = {"MotorNode": "MotorNodes", "MotionSourceNode": "MotionSourceNodes"}.get(kind, "FunctionNodes")
        groups[group] += node
    inside = "".join(f"<{tag}>{text}</{tag}>" for tag, text in groups.items())
    wires = "".join(
        f"<Edge><Source>{a}</Source><Destination>{b}</Destination><Factor>{factor}</Factor></Edge>"
        for a, b, factor in edges
    )
    return (
        f"<NetworkBehavior><Name>Net</Name><Enabled>1</Enabled><Gain>100</Gain>{inside}<Edges>{wires}</Edges>"
        "</NetworkBehavior>"
    )


def node(kind: str, number: int, **fields: Any) -> str:
    """A node as XML; canvas places and a name belong to all."""
    inside = "".join(f"<{tag}>{value}</{tag}>" for tag, value in {"Name": kind, "X": 0, "Y": 0, **fields}.items())
    return f"<{kind}><ID>{number}</ID>{inside}</{kind}>"


def source(number: int, of: int, body: int = 0) -> str:
    return node("MotionSourceNode", number, MotionSource=of, AmpModSource=0, BodyFeedbackSource=body)


def motor(number: int, joint: int = 21, kind: int = 1) -> str:
    return node("MotorNode", number, JointID=joint, MotorType=kind)


def square(phase: np.ndarray, ramp: float) -> np.ndarray:
    """A square wave whose corners are quarter sines over a share of a quarter turn: 1 makes it a sine."""
    half, into = np.divmod(np.mod(phase, TURN), math.pi)
    near = np.minimum(np.minimum(into, math.pi - into), ramp * math.pi / 2)  # to the next zero
    return np.where(half == 0, 1.0, -1.0) * np.sin(near / ramp)


def through(function: str, of: Callable[[np.ndarray], np.ndarray], **fields: Any) -> Case:
    """The engine, in degrees, through one function node, with edges of factors other than one."""
    kind = node(function, 12, **fields)
    net = network(source(11, 1), kind, motor(13), edges=((11, 12, 0.5), (12, 13, -0.25)))
    return Case(net, lambda p: -0.25 * of(0.5 * np.degrees(p)))


def multiplied() -> Case:
    """The engine times a stick times a constant."""
    net = network(
        source(11, 1), source(12, 2), node("ConstantNode", 14, Value=-3), node("MultiplyNode", 15), motor(16),
        edges=((11, 15, 0.1), (12, 15, 2.0), (14, 15, 0.5), (15, 16, 1.0)),
    )  # fmt: skip
    return Case(net, lambda p: 0.1 * np.degrees(p) * (2 * 0.4) * -1.5, controls={"joystick_1_x": 0.4})


STICKS = {
    2: "joystick_1_x", 3: "joystick_1_y", 4: "joystick_1_z", 5: "joystick_1_r",
    10: "joystick_2_x", 11: "joystick_2_y", 12: "joystick_2_z", 13: "joystick_2_r",
    14: "key_up_down", 15: "key_left_right",
}  # fmt: skip
MODULATIONS = {1: "joystick_1_x", 2: "joystick_1_y", 3: "joystick_1_z", 4: "joystick_1_r"}


def cases() -> dict[str, Case]:
    """One for each thing that a behaviour can be or hold."""
    own = math.radians(50)
    turned = {"amplitude": 30, "offset": 5, "phase": 50}
    out = {
        "sine": Case(
            clockwork(clockwork_motor(21, **turned), gain=80), lambda p: 5 + 24 * np.sin(p + own)
        ),
        "double sine": Case(
            clockwork(clockwork_motor(21, kind=2, **turned), gain=80), lambda p: 5 + 24 * np.sin(2 * (p + own))
        ),
        "step": Case(
            clockwork(clockwork_motor(21, kind=3, **turned), gain=80), lambda p: 5 + 24 * square(p + own, 0.5)
        ),
        "sine on a slide": Case(
            clockwork(clockwork_motor(23, amplitude=0.4, offset=0.1)), lambda p: 0.1 + 0.4 * np.sin(p), "23"
        ),
        "continuous on a slide": Case(
            clockwork(clockwork_motor(23, kind=4, amplitude=9, offset=2, phase=50), gain=10),
            lambda p: 2 + np.degrees(np.where(p + own > TURN, p + own - TURN, p + own)),
            "23",
        ),
        "several behaviours add up, and then the stops clamp": Case(
            clockwork(clockwork_motor(22, amplitude=25), clockwork_motor(22, kind=2, amplitude=15, offset=-4))
            + network(source(11, 1), motor(12, 22), edges=((11, 12, 0.05),)),
            lambda p: np.clip(25 * np.sin(p) - 4 + 15 * np.sin(2 * p) + 0.05 * np.degrees(p), -20, 35),
            "22",
        ),
        "what is switched off is silent": Case(
            clockwork(clockwork_motor(21, amplitude=10))
            + clockwork(clockwork_motor(21, amplitude=50)).replace("<Enabled>1", "<Enabled>0", 1)
            + clockwork(clockwork_motor(21, amplitude=50).replace("<Enabled>1", "<Enabled>0")),
            lambda p: 10 * np.sin(p),
        ),
        "an older file's Behavior of MotionLinks": Case(
            clockwork(clockwork_motor(21, **turned)).replace("ClockworkMotor", "MotionLink").replace(
                "Clockwork>", "Behavior>"),
            lambda p: 5 + 30 * np.sin(p + own),
        ),
        "a motor of a file that is older than the motion types": Case(
            clockwork(clockwork_motor(21, **turned).replace("<MotionType>1</MotionType>", "")),
            lambda p: 5 + 30 * np.sin(p + own),
        ),
        "a stick that asks for more than half a turn": Case(
            clockwork(clockwork_motor(21, amplitude=400), source=3),
            lambda p: np.full(len(p), -178.0),
            controls={"joystick_1_y": -0.5},
        ),
        "a network's edge alone": Case(
            network(source(11, 1), motor(12), edges=((11, 12, 0.2),)), lambda p: 0.2 * np.degrees(p)
        ),
        "edges add up": Case(
            network(source(11, 1), source(12, 3), motor(13), edges=((11, 13, 0.2), (12, 13, 30.0))),
            lambda p: 0.2 * np.degrees(p) + 30 * 0.7,
            controls={"joystick_1_y": 0.7},
        ),
        "constant": Case(
            network(node("ConstantNode", 11, Value=12.5), motor(12), edges=((11, 12, -2.0),)),
            lambda p: np.full(len(p), -25.0),
        ),
        "multiply": multiplied(),
        "limit": through("LimitNode", lambda x: np.clip(x, 30, 120), Minimum=30, Maximum=120),
        "arithmetic, multiplied first": through(
            "ArithmeticNode", lambda x: x * 0.3 + 40, Add=40, Multiply=0.3, AddFirst=0
        ),
        "arithmetic, added first": through(
            "ArithmeticNode", lambda x: (x - 60) * 0.3, Add=-60, Multiply=0.3, AddFirst=1
        ),
        "absolute value": Case(
            network(
                source(11, 1), node("ArithmeticNode", 12, Add=-180, Multiply=1, AddFirst=1),
                node("AbsoluteValueNode", 13), motor(14), edges=((11, 12, 1.0), (12, 13, 1.0), (13, 14, 0.5)),
            ),
            lambda p: 0.5 * np.abs(np.degrees(p) - 180),
        ),
        "a wave": through(
            "WaveNode", lambda x: 4 - 33 * square(np.radians(x), 0.3), DutyCycle=30, OutputRange=-33, OutputOffset=4
        ),
        "a full wave is a sine": through(
            "WaveNode", lambda x: 20 * np.sin(np.radians(x)), DutyCycle=100, OutputRange=20, OutputOffset=0
        ),
        "a constant speed": Case(spinner(21, -1.5), lambda p: np.full(len(p), -1.5), speed=True),
        "a speed that varies, which a position does not disturb": Case(
            network(
                source(11, 1), node("WaveNode", 12, DutyCycle=100, OutputRange=3, OutputOffset=1), motor(13, kind=2),
                edges=((11, 12, 1.0), (12, 13, 1.0)),
            )
            + clockwork(clockwork_motor(21, amplitude=20)),
            lambda p: 1 + 3 * np.sin(p),
            speed=True,
        ),
    }  # fmt: skip
    for number, stick in STICKS.items():
        out[f"clockwork moved by {stick}"] = Case(
            clockwork(clockwork_motor(21, amplitude=40, offset=7), source=number, gain=50),
            lambda p: np.full(len(p), 7 + 40 * 0.5 * -0.6),
            controls={stick: -0.6},
        )
        out[f"network moved by {stick}"] = Case(
            network(source(11, number), motor(12), edges=((11, 12, 45.0),)),
            lambda p: np.full(len(p), 45 * 0.3),
            controls={stick: 0.3},
        )
    for number, stick in MODULATIONS.items():
        out[f"amplitude of {stick}"] = Case(
            clockwork(clockwork_motor(21, amplitude=40, offset=7), amp_mod=number),
            lambda p: 7 + 40 * -0.6 * np.sin(p),
            controls={stick: -0.6},
        )
    for number, felt, angle in ((6, 31, 20.0), (7, 32, 25.0), (8, 33, -35.0)):
        out[f"clockwork that feels {number}"] = Case(
            clockwork(clockwork_motor(21, amplitude=99, offset=3), source=number, feedback=felt, gain=40),
            lambda p, angle=angle: np.full(len(p), 3 + 0.4 * angle),
        )
        out[f"network that feels {number}"] = Case(
            network(source(11, number, felt), motor(12), edges=((11, 12, -0.5),)),
            lambda p, angle=angle: np.full(len(p), -0.5 * angle),
        )
    return out


CASES = cases()


def engine(times: np.ndarray) -> np.ndarray:
    """The engine's phase (rad) by its clock: it waits, then turns, and a full turn is taken off when it is passed."""
    turned = math.radians(PHASE) + TURN * SPEED / 60 * FACTOR * np.maximum(times - DELAY, 0)
    return np.where(turned > TURN, np.mod(turned, TURN), turned)


def sense(document: XmlModel, number: str) -> float:
    """From the file's count to the second body's motion about the drawn axis: ODE counts the first body's."""
    place = document.joints[number]
    return -1.0 if place.line @ place.axis > 0 else 1.0


def baked(rig: Any, number: str) -> tuple[np.ndarray, np.ndarray]:
    """Frames and values of the keys of a joint's bone."""
    name = bone_of(rig, number).name
    (curve,) = [curve for curve in curves_of(rig) if curve.data_path.split('"')[1] == name]
    points = np.array([point.co[:] for point in curve.keyframe_points])
    return points[:, 0], points[:, 1]


@pytest.mark.parametrize("name", CASES)
def test_a_behaviour_is_baked_as_the_program_runs_it(blank: Any, name: str) -> None:
    from addon.blender.animation.gait import bake_gait

    case = CASES[name]
    text = machine(case.behaviours)
    rig = put(text, gait_seconds=SECONDS)
    for control, value in case.controls.items():
        setattr(rig.data.knuckle.controls, control, value)
    scene = blank.scene
    if case.controls:
        bake_gait(scene, rig, 1, 1 + round(SECONDS * scene.render.fps))
    frames, values = baked(rig, case.joint)
    everywhere = np.arange(1, 2 + round(SECONDS * scene.render.fps))
    times = (everywhere - 1) / scene.render.fps
    told = case.expected(engine(times))
    if case.speed:  # by the integral of what is told, far finer than the keys
        fine = np.linspace(0, times[-1], 200 * (len(times) - 1) + 1)
        speed = case.expected(engine(fine))
        wanted = np.concatenate([[0], np.cumsum((speed[1:] + speed[:-1]) / 2) * (fine[1] - fine[0])])[::200]
    else:
        wanted = told * (math.radians(1) if case.joint != "23" else 1.0)
    wanted = wanted * sense(XmlModel(text), case.joint)
    assert set(frames) == set(everywhere) or (len(frames) == 1 and np.ptp(wanted) == 0.0)
    tolerance = 2e-3 if case.speed else 3e-6 * max(1.0, float(np.abs(wanted).max()))
    found = np.interp(everywhere, frames, values)
    assert found == pytest.approx(wanted, abs=tolerance)
    others = {"21", "22", "23"} - {case.joint}
    moved = {curve.data_path.split('"')[1] for curve in curves_of(rig) if "Joint" in curve.data_path}
    assert not moved & {bone_of(rig, number).name for number in others}


@pytest.mark.parametrize("is_sine", [True, False])
def test_motors_without_a_type_play_what_was_chosen_at_import(blank: Any, tmp_path: Path, is_sine: bool) -> None:
    """Also when the gait is made again after reopening; the report tells, and the file goes out as it was."""
    import bpy

    gait = clockwork(clockwork_motor(21, amplitude=30).replace("<MotionType>1</MotionType>", ""))
    path = tmp_path / "old.jm"
    path.write_text(machine(gait))
    bpy.ops.import_scene.mechanism(filepath=str(path), sine_without_type=is_sine)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "old.blend"))
    rig = bpy.context.view_layer.objects.active
    if is_sine:
        assert bpy.ops.knuckle.bake_gait(frame_start=1, frame_end=180) == {"FINISHED"}
        assert np.ptp(baked(rig, "21")[1]) == pytest.approx(math.radians(60), rel=2e-3)
    else:
        with pytest.raises(RuntimeError, match="gait"):
            bpy.ops.knuckle.bake_gait(frame_start=1, frame_end=180)
        assert rig.animation_data is None or rig.animation_data.action is None
    (told,) = [entry.message for entry in rig.data.knuckle.report if entry.code == "no-motion-type"]
    assert told.startswith("1 motor of the gait states no MotionType")
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "again.jm"))
    assert (tmp_path / "again.jm").read_bytes() == path.read_bytes()


def test_every_kind_that_a_file_can_name_is_tried_here() -> None:
    """Against the lists of the format's own description: function and source nodes, sources, modulations, motions."""
    text = "".join(case.behaviours for case in CASES.values())
    for tag in (
        "ConstantNode", "MultiplyNode", "LimitNode", "ArithmeticNode", "WaveNode", "AbsoluteValueNode",
        "MotionSourceNode", "MotorNode", "Clockwork", "NetworkBehavior", "Behavior", "MotionLink",
    ):  # fmt: skip
        assert f"<{tag}>" in text, tag
    for tag, numbers in (
        ("MotionSource", [*range(1, 9), *range(10, 16)]),  # 9 is not used by the program
        ("AmpModSource", range(5)),
        ("MotionType", range(1, 5)),
        ("MotorType", (1, 2)),
    ):
        assert [number for number in numbers if f"<{tag}>{number}</{tag}>" not in text] == [], tag
