"""Gaits: a joint gets the commands that Juice's own program would give it, also sampled on a grid of times.

The rules are checked twice: on small models whose commands can be worked out by hand, and on the behaviours
of real files against an interpreter written here, which walks the XML one edge and one number at a time.
"""

from __future__ import annotations

import math
import timeit
from collections.abc import Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from addon.core.gait.behaviors import (
    Clockwork,
    ClockworkMotor,
    Engine,
    GaitBehaviors,
    Network,
    NetworkEdge,
    NetworkNode,
)
from addon.core.gait.engine import (
    Gait,
    feedback_angles,
    find_gait,
    gait_servo_names,
    parse_input,
    report_inputs,
    sample_gait,
)
from addon.core.model import Body, Dof, Joint, Mechanism, Source
from addon.core.report import FormatError, Report
from addon.core.transforms import rotation_matrix

TURN = 2 * math.pi


def hinge(name: str = "knee", sign: float = 1.0, **stops: float) -> Joint:
    return Joint(name, name, "revolute", "trunk", "leg", dofs=[Dof("rotation", file_sign=sign, **stops)])


def slider(name: str = "piston", **stops: float) -> Joint:
    return Joint(name, name, "prismatic", "trunk", "leg", dofs=[Dof("translation", **stops)])


def ball(name: str = "hip") -> Joint:
    return Joint(name, name, "ball", "trunk", "leg", dofs=[Dof("ball")])


def model(*joints: Joint, does: list[Any], engine: Engine | None = None) -> Mechanism:
    bodies = [Body("trunk", "Trunk"), Body("leg", "Leg")]
    return Mechanism(bodies=bodies, joints=list(joints), behaviours=GaitBehaviors(engine or Engine(), does))


def clockwork(joint: str = "knee", source: int = 1, amp_mod: int = 0, gain: float = 100.0, **motor: Any) -> Clockwork:
    return Clockwork(motors=[ClockworkMotor(joint, **motor)], source=source, amp_mod=amp_mod, gain=gain)


def network(nodes: list[NetworkNode], *edges: tuple[str | None, str | None, float]) -> Network:
    return Network(nodes=nodes, edges=[NetworkEdge(*edge) for edge in edges])


def degrees_at(mechanism: Mechanism, phase: Any, joint: str = "knee", **kwargs: Any) -> np.ndarray:
    return np.degrees(Gait(mechanism).evaluate(np.radians(phase), **kwargs).position[joint])


# ---------------------------------------------------------------------------------------- the engine


def test_the_engine_rotates_at_its_speed_after_holding_its_pose() -> None:
    engine = Engine(standard_speed=30, speed_factor=0.5, pose_delay=1.0, pose_phase=90)
    phase = Gait(model(hinge(), does=[], engine=engine)).phase(np.array([0.0, 1.0, 2.0, 4.0, 5.0]))
    # 30 a minute at half speed is a quarter turn a second
    np.testing.assert_allclose(phase / TURN, [0.25, 0.25, 0.5, 1.0, 0.25], atol=1e-12)


@pytest.mark.parametrize("factor", [1.0, 2.3, -0.7, 0.0])
@pytest.mark.parametrize("pose_phase", [0.0, 90.0, 360.0, 450.0, -100.0])
def test_the_engine_is_the_one_that_steps(factor: float, pose_phase: float) -> None:
    """Stepping as the program does: add, and take one turn off when above one turn. Never turn it up."""
    engine = Engine(standard_speed=47, speed_factor=factor, pose_delay=0.25, pose_phase=pose_phase)
    gait = Gait(model(hinge(), does=[], engine=engine))
    phase, stepped = math.radians(pose_phase), []
    times = np.arange(0, 6, 0.01)
    for time in times:
        if phase > TURN:
            phase -= TURN
        stepped.append(phase)
        if time >= 0.25 - 1e-9:
            phase += TURN * 47 / 60 * factor * 0.01
    np.testing.assert_allclose(gait.phase(times), stepped, atol=1e-9)


def test_the_end_of_an_engine_cycle_stays_the_end_and_the_start_the_start() -> None:
    gait = Gait(model(hinge(), does=[], engine=Engine(60, 1.0, 0.0, 0.0)))
    assert gait.phase([0.0, 1.0]).tolist() == [0.0, TURN]


def test_a_speed_factor_given_outright_replaces_the_files() -> None:
    gait = Gait(model(hinge(), does=[], engine=Engine(60, 2.0, 0.0, 0.0)))
    np.testing.assert_allclose(gait.phase([0.25], speed_factor=-1.0), [-TURN / 4])


# ---------------------------------------------------------------------------------------- clockworks


def test_sine_and_double_sine() -> None:
    angles = np.array([0.0, 30.0, 100.0, 250.0, 359.0])
    sine = model(hinge(), does=[clockwork(motion=1, amplitude=20, phase=15, offset=3, gain=50)])
    np.testing.assert_allclose(degrees_at(sine, angles), 3 + 10 * np.sin(np.radians(angles + 15)))
    double = model(hinge(), does=[clockwork(motion=2, amplitude=20, phase=15)])
    np.testing.assert_allclose(degrees_at(double, angles), 20 * np.sin(2 * np.radians(angles + 15)), atol=1e-12)


def test_step_is_a_square_with_ramps_of_an_eighth() -> None:
    mechanism = model(hinge(), does=[clockwork(motion=3, amplitude=10)])
    half = 10 * math.sin(math.radians(45))
    at = {0: 0, 22.5: half, 45: 10, 90: 10, 134: 10, 157.5: half, 180: 0, 202.5: -half, 270: -10, 337.5: -half, 360: 0}
    np.testing.assert_allclose(degrees_at(mechanism, list(at)), list(at.values()), atol=1e-9)


def test_step_below_zero_is_turned_up_once_and_then_rides_its_first_ramp() -> None:
    mechanism = model(hinge(), does=[clockwork(motion=3, amplitude=10)])
    assert degrees_at(mechanism, [-90.0])[0] == pytest.approx(-10)
    assert degrees_at(mechanism, [-460.0])[0] == pytest.approx(10 * math.sin(2 * math.radians(-100)))


def test_a_motor_phase_of_several_revolutions_is_accepted() -> None:
    for motion in (1, 2, 3):
        plain = model(hinge(), does=[clockwork(motion=motion, amplitude=10, phase=50)])
        wound = model(hinge(), does=[clockwork(motion=motion, amplitude=10, phase=50 + 3 * 360)])
        angles = np.linspace(1, 359, 37)
        np.testing.assert_allclose(degrees_at(wound, angles), degrees_at(plain, angles), atol=1e-9)


def test_continuous_moves_sliders_by_the_phase_in_degrees_and_leaves_hinges_free() -> None:
    does = [
        clockwork("piston", motion=4, amplitude=7, gain=10, offset=2, phase=200),
        clockwork("knee", motion=4, amplitude=7),
    ]
    gait = Gait(model(slider(), hinge(), does=does))
    position = gait.evaluate(np.radians([100.0, 200.0])).position
    assert gait.joints == ["piston"]
    np.testing.assert_allclose(position["piston"], [302, 42])


def test_motion_none_commands_nothing_from_the_engine_and_everything_from_a_control() -> None:
    assert Gait(model(hinge(), does=[clockwork(motion=0, amplitude=9, offset=5)])).joints == []
    by_hand = model(hinge(), does=[clockwork(source=3, motion=0, amplitude=9, offset=5, gain=200)])
    assert degrees_at(by_hand, [0.0], controls={"joystick 1 y": -0.5})[0] == pytest.approx(5 - 9)


@pytest.mark.parametrize(("value", "expected"), [(10.0, 178.0), (-10.0, -178.0), (9.0, 180.0), (-9.0, -180.0)])
def test_a_control_that_asks_for_more_than_180_degrees_gets_178(value: float, expected: float) -> None:
    mechanism = model(hinge(), does=[clockwork(source=12, amplitude=20)])
    assert degrees_at(mechanism, [0.0], controls={"joystick 2 z": value})[0] == pytest.approx(expected)


def test_feedback_comes_raw_whatever_the_amplitude() -> None:
    does = [Clockwork(motors=[ClockworkMotor("knee", offset=1, amplitude=99)], source=7, gain=50, feedback_body="leg")]
    mechanism = model(hinge(), does=does)
    assert Gait(mechanism).feedback_bodies == ["leg"]
    turned = {"leg": np.array([10.0, 600.0, 60.0])}
    assert degrees_at(mechanism, [0.0], feedback=turned)[0] == pytest.approx(1 + 300)


def test_feedback_of_no_body_is_zero() -> None:
    assert degrees_at(model(hinge(), does=[clockwork(source=8, offset=4)]), [0.0])[0] == pytest.approx(4)


def test_a_control_modulates_the_amplitude_of_a_clockwork() -> None:
    for number, name in {1: "joystick 1 x", 2: "joystick 1 y", 3: "joystick 1 z", 4: "joystick 1 r"}.items():
        mechanism = model(hinge(), does=[clockwork(motion=1, amplitude=10, offset=1, amp_mod=number)])
        assert Gait(mechanism).controls == [name]
        assert degrees_at(mechanism, [90.0], controls={name: -0.3})[0] == pytest.approx(1 - 3)
    uninitialised = model(hinge(), does=[clockwork(motion=1, amplitude=10, amp_mod=-842150451)])
    assert degrees_at(uninitialised, [90.0])[0] == pytest.approx(10)


@pytest.mark.parametrize("source", [0, 9, 16, -842150451])
def test_other_sources_command_nothing(source: int) -> None:
    assert find_gait(model(hinge(), does=[clockwork(source=source, motion=1, amplitude=10)])) is None


def test_what_is_disabled_is_silent() -> None:
    off = clockwork(motion=1, amplitude=10)
    off.enabled = False
    assert Gait(model(hinge(), does=[off])).joints == []
    assert Gait(model(hinge(), does=[clockwork(motion=1, amplitude=10, enabled=False)])).joints == []


def test_behaviours_add_up_before_the_stops_clamp() -> None:
    does = [clockwork(motion=1, amplitude=100), clockwork(source=2, amplitude=-60)]
    mechanism = model(hinge(upper=math.radians(50)), does=does)
    given = {"joystick 1 x": np.array([0.0, 1.0])}
    np.testing.assert_allclose(degrees_at(mechanism, [90.0, 90.0], controls=given), [50, 40])


# ---------------------------------------------------------------------------------------- joints


def test_a_joint_with_negative_sign_in_the_file_rotates_back() -> None:
    mechanism = model(hinge(sign=-1.0, lower=math.radians(-20)), does=[clockwork(motion=1, amplitude=30)])
    np.testing.assert_allclose(degrees_at(mechanism, [90.0, 270.0]), [-20, 30])


def test_stops_hold_to_the_last_bit() -> None:
    mechanism = model(hinge(sign=-1.0, lower=-0.3, upper=0.1), does=[clockwork(motion=1, amplitude=90)])
    assert Gait(mechanism).evaluate(np.radians([90.0, 270.0])).position["knee"].tolist() == [-0.3, 0.1]


@pytest.mark.parametrize("velocity", [False, True])
def test_balls_and_inactive_joints_get_no_commands(velocity: bool) -> None:
    dead = hinge()
    dead.active = False
    for joint in (ball("knee"), dead):
        motor = NetworkNode("m", "motor", joint="knee", velocity=velocity)
        drive = network([NetworkNode("c", "constant", value=1.0), motor], ("c", "m", 1.0))
        assert Gait(model(joint, does=[drive, clockwork(motion=1, amplitude=10)])).joints == []


def test_a_velocity_overrides_positions_and_is_not_clamped() -> None:
    nodes = [NetworkNode("c", "constant", value=7.0), NetworkNode("m", "motor", joint="knee", velocity=True)]
    spin = network(nodes, ("c", "m", 1.0), ("c", "m", 0.5))
    mechanism = model(hinge(sign=-1.0, lower=-0.1, upper=0.1), does=[spin, clockwork(motion=1, amplitude=10)])
    commands = Gait(mechanism).evaluate([0.5])
    assert commands.position == {}
    assert commands.velocity["knee"].tolist() == [-10.5]


def test_a_velocity_for_a_slider_is_ignored() -> None:
    nodes = [NetworkNode("c", "constant", value=7.0), NetworkNode("m", "motor", joint="piston", velocity=True)]
    mechanism = model(slider(), does=[network(nodes, ("c", "m", 1.0)), clockwork("piston", source=2, offset=2)])
    commands = Gait(mechanism).evaluate([0.5])
    assert commands.velocity == {}
    assert commands.position["piston"].tolist() == [2.0]


# ---------------------------------------------------------------------------------------- networks


def through(*nodes: NetworkNode, value: float | None = None) -> np.ndarray:
    """What a slider gets when the joystick (or a constant) goes through a chain of nodes."""
    first = NetworkNode("in", "source", source=2) if value is None else NetworkNode("in", "constant", value=value)
    chain = [first, *nodes, NetworkNode("out", "motor", joint="piston")]
    edges = [(a.id, b.id, 1.0) for a, b in zip(chain, chain[1:], strict=False)]
    mechanism = model(slider(), does=[network(chain, *edges)])
    return Gait(mechanism).evaluate(np.zeros(5), {"joystick 1 x": np.array([-2, -0.5, 0, 0.5, 2])}).position["piston"]


def test_arithmetic_nodes_compute_their_functions() -> None:
    given = np.array([-2, -0.5, 0, 0.5, 2])
    np.testing.assert_allclose(through(NetworkNode("n", "absolute")), abs(given))
    np.testing.assert_allclose(through(NetworkNode("n", "limit", minimum=-0.7, maximum=1)), [-0.7, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(
        through(NetworkNode("n", "arithmetic", add=3, multiply=2, add_first=True)), (given + 3) * 2
    )
    np.testing.assert_allclose(through(NetworkNode("n", "arithmetic", add=3, multiply=2)), given * 2 + 3)
    np.testing.assert_allclose(through(NetworkNode("n", "constant", value=3)), given + 3)
    np.testing.assert_allclose(through(NetworkNode("n", "multiply")), given)


def test_edges_add_and_at_multiply_nodes_multiply() -> None:
    for kind, expected in {"arithmetic": 3 * 0.5 + 4 * 2.0, "multiply": (3 * 0.5) * (4 * 2.0)}.items():
        nodes = [NetworkNode("a", "constant", value=3), NetworkNode("b", "constant", value=4), NetworkNode("n", kind)]  # type: ignore[arg-type]
        nodes.append(NetworkNode("m", "motor", joint="piston"))
        does = network(nodes, ("a", "n", 0.5), ("b", "n", 2.0), ("n", "m", 1.0))
        assert Gait(model(slider(), does=[does])).evaluate([0.0]).position["piston"].tolist() == [expected]


def test_what_nothing_leads_to_keeps_its_beginning_and_its_function_does_not_happen() -> None:
    begins = {"arithmetic": 0.0, "wave": 0.0, "limit": 0.0, "absolute": 0.0, "multiply": 1.0, "constant": 5.0}
    for kind, expected in begins.items():
        node = NetworkNode("n", kind, value=5.0, add=9.0, output_offset=9.0, minimum=3.0, maximum=4.0)  # type: ignore[arg-type]
        does = network([node, NetworkNode("m", "motor", joint="piston")], ("n", "m", 2.0))
        assert Gait(model(slider(), does=[does])).evaluate([0.0]).position["piston"].tolist() == [2 * expected]


def test_a_motor_that_nothing_leads_to_commands_nothing() -> None:
    assert Gait(model(slider(), does=[network([NetworkNode("m", "motor", joint="piston")])])).joints == []


@pytest.mark.parametrize("source", [None, "nobody"])
def test_an_edge_from_nowhere_silences_all_that_follows(source: str | None) -> None:
    nodes = [
        NetworkNode("c", "constant", value=1),
        NetworkNode("n", "arithmetic"),
        NetworkNode("m", "motor", joint="piston"),
    ]
    assert (
        Gait(model(slider(), does=[network(nodes, ("c", "n", 1.0), (source, "n", 1.0), ("n", "m", 1.0))])).joints == []
    )
    # while an edge to nowhere harms nobody
    assert Gait(model(slider(), does=[network(nodes, ("c", "n", 1.0), ("n", source, 1.0), ("n", "m", 1.0))])).joints


def test_a_cycle_never_happens() -> None:
    nodes = [NetworkNode("c", "constant", value=1), NetworkNode("a", "arithmetic"), NetworkNode("b", "arithmetic")]
    nodes += [NetworkNode("m", "motor", joint="piston"), NetworkNode("n", "motor", joint="knee")]
    does = network(nodes, ("c", "a", 1), ("a", "b", 1), ("b", "a", 1), ("b", "m", 1), ("c", "n", 1))
    assert Gait(model(slider(), hinge(), does=[does])).joints == ["knee"]


def test_network_source_nodes_read_their_inputs() -> None:
    ypr = np.array([20.0, 30.0, -40.0])
    cos = lambda angle: math.cos(math.radians(angle))  # noqa: E731
    expected = {1: 77.0, 6: 20.0, 7: 30 * cos(-40), 8: -40 * cos(30), 14: 0.25, 9: 0.0, 0: 0.0}
    for source, value in expected.items():
        nodes = [NetworkNode("s", "source", source=source, body="leg"), NetworkNode("m", "motor", joint="piston")]
        gait = Gait(model(slider(), does=[network(nodes, ("s", "m", 1.0))]))
        controls = {"key up/down": 0.25}
        got = gait.evaluate(np.radians([77.0]), controls, {"leg": ypr}).position["piston"]
        assert got[0] == pytest.approx(value), source


def test_wave_ramps_follow_the_duty_cycle() -> None:
    node = NetworkNode("w", "wave", duty_cycle=50, output_range=10, output_offset=1)
    for degrees, shape in {0: 0, 22.5: math.sin(math.pi / 4), 45: 1, 90: 1, 135: 1, 180: 0, 270: -1, 315: -1}.items():
        assert through(node, value=degrees)[0] == pytest.approx(1 + 10 * shape), degrees
    full = NetworkNode("w", "wave", duty_cycle=250, output_range=10)
    for degrees in (0, 10, 100, 200, 300, 359, 721, 3600 + 45):
        assert through(full, value=degrees)[0] == pytest.approx(10 * math.sin(math.radians(degrees)), abs=1e-9)


def test_a_negative_wave_input_stays_on_the_first_ramp() -> None:
    node = NetworkNode("w", "wave", duty_cycle=50, output_range=1)
    assert through(node, value=-100)[0] == pytest.approx(math.sin(2 * math.radians(-100)))


@pytest.mark.parametrize("degrees", [360.0, 720.0])
def test_a_full_revolution_gives_no_spike(degrees: float) -> None:
    assert through(NetworkNode("w", "wave", duty_cycle=50, output_range=45), value=degrees)[0] == pytest.approx(0)


def test_a_wave_without_ramps_is_a_square() -> None:
    node = NetworkNode("w", "wave", duty_cycle=0, output_range=1)
    assert [through(node, value=d)[0] for d in (1.0, 90, 179, 181, 359)] == [1, 1, 1, -1, -1]
    assert np.isfinite([through(node, value=d)[0] for d in np.linspace(-5, 365, 1000)]).all()


# ---------------------------------------------------------------------------------------- inputs and outputs


def test_controls_are_those_that_matter() -> None:
    nodes = [
        NetworkNode("y", "source", source=3),
        NetworkNode("x", "source", source=2),
        NetworkNode("m", "motor", joint="knee"),
    ]
    does = [clockwork("piston", source=14, amplitude=1, amp_mod=4), network(nodes, ("y", "m", 1.0))]
    silent = clockwork(source=13, amplitude=1)
    silent.enabled = False
    gait = Gait(model(hinge(), slider(), does=[*does, silent]))
    assert gait.controls == ["joystick 1 y", "joystick 1 r", "key up/down"]


def test_an_unknown_control_is_named_and_so_are_the_known() -> None:
    gait = Gait(model(hinge(), does=[clockwork(source=3, amplitude=1)]))
    with pytest.raises(ValueError, match=r"'throttle'.*joystick 1 x.*key left/right.*reads joystick 1 y"):
        gait.evaluate([0.0], {"throttle": 1.0})
    gait.evaluate([0.0], {"joystick 2 r": 1.0})  # exists, and is not listened to


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("joystick 1 y=-1", ("joystick 1 y", -1.0)),
        (" Joystick1Y = .5 ", ("joystick 1 y", 0.5)),
        ("JOYSTICK 2  R=1e-1", ("joystick 2 r", 0.1)),
        ("key up/down=1", ("key up/down", 1.0)),
        ("Key Left/Right = -1", ("key left/right", -1.0)),
    ],
)
def test_inputs_are_read_as_people_type_them(text: str, meaning: tuple[str, float]) -> None:
    assert parse_input(text) == meaning


@pytest.mark.parametrize("text", ["joystick 1 y", "joystick 3 y=1", "=1", "", "joystick 1 y=", "joystick 1 y=nan"])
def test_inputs_that_mean_nothing_say_what_would(text: str) -> None:
    with pytest.raises(ValueError, match="joystick 1 y"):
        parse_input(text)


def test_feedback_angles_are_the_programs_formula_in_quaternions() -> None:
    rng = np.random.default_rng(3)
    for w, x, y, z in (q / np.linalg.norm(q) for q in rng.normal(size=(200, 4))):
        half = math.acos(w)
        rotation = rotation_matrix(np.array([x, y, z]) / math.sin(half) * 2 * half)
        ahead, up = w * w + x * x - y * y - z * z, w * w - x * x - y * y + z * z
        yaw = math.atan(2 * (w * z + y * z) / ahead) + (math.pi if ahead < 0 else 0)
        pitch = math.atan(2 * (w * x + y * z) / up) * (-1 if up < 0 else 1)
        roll = math.asin(2 * (w * y - x * z))
        np.testing.assert_allclose(feedback_angles(rotation), np.degrees([yaw, pitch, roll]), atol=1e-6)


def test_feedback_defaults_to_how_the_body_was_designed() -> None:
    does = [Clockwork(motors=[ClockworkMotor("knee")], source=7, feedback_body="leg")]
    mechanism = model(hinge(), does=does)
    mechanism.bodies[1].pose[:3, :3] = rotation_matrix(np.array([math.radians(25), 0, 0]))
    assert degrees_at(mechanism, [0.0])[0] == pytest.approx(25)


def test_baked_motion_is_the_command_at_every_time() -> None:
    mechanism = model(hinge(), does=[clockwork(motion=1, amplitude=30)], engine=Engine(60, 1.0, 0.5, 90.0))
    times = np.linspace(0, 3, 91)
    motion = Gait(mechanism).motion(times, name="Walk")
    assert (motion.name, [t.name for t in motion.trajectories]) == ("Walk", ["knee"])
    expected = np.radians(30) * np.sin(TURN * np.maximum(times - 0.5, 0) + math.pi / 2)
    np.testing.assert_allclose(motion.trajectories[0].values, expected, atol=1e-12)


def test_a_baked_wheel_rotates_by_the_integral_of_its_velocity() -> None:
    nodes = [NetworkNode("x", "source", source=2), NetworkNode("m", "motor", joint="knee", velocity=True)]
    mechanism = model(hinge(sign=-1.0), does=[network(nodes, ("x", "m", 3.0))])
    mechanism.joints[0].dofs[0].position = 0.5
    times = np.array([0.0, 1.0, 1.5, 4.0])
    motion = Gait(mechanism).motion(times, {"joystick 1 x": times})  # velocity -3t: angle 0.5 - 1.5 t squared
    np.testing.assert_allclose(motion.trajectories[0].values, 0.5 - 1.5 * times**2)


def test_servos_of_one_name_are_distinguished() -> None:
    joints = [hinge("a"), hinge("b"), hinge("c"), hinge("d")]
    for joint, name in zip(joints, ["Knee", "Knee", "Hip", ""], strict=True):
        joint.name = name
    assert gait_servo_names(model(*joints, does=[])) == {"a": "Knee #a", "b": "Knee #b", "c": "Hip", "d": "#d"}


def test_a_frame_of_a_walker_takes_a_fraction_of_a_millisecond() -> None:
    nodes, edges = [NetworkNode("e", "source", source=1), NetworkNode("y", "source", source=3)], []
    for n in range(12):
        nodes += [
            NetworkNode(f"a{n}", "arithmetic", add=30 * n),
            NetworkNode(f"w{n}", "wave"),
            NetworkNode(f"p{n}", "multiply"),
        ]
        nodes += [NetworkNode(f"m{n}", "motor", joint=str(n))]
        edges += [("e", f"a{n}", 1.0), (f"a{n}", f"w{n}", 1.0), (f"w{n}", f"p{n}", 1.0), ("y", f"p{n}", 1.0)]
        edges += [(f"p{n}", f"m{n}", 1.0)]
    gait = Gait(model(*(hinge(str(n)) for n in range(12)), does=[network(nodes, *edges)]))
    run = lambda: gait.evaluate(gait.phase(1.7), {"joystick 1 y": -1.0})  # noqa: E731
    took = min(timeit.repeat(run, timer=process_time, number=50, repeat=5))
    assert took / 50 < 1e-3  # 0.1 ms on an idle machine


def test_no_behaviours_no_gait() -> None:
    assert find_gait(Mechanism(joints=[hinge()])) is None
    assert Gait(Mechanism()).evaluate([0.0, 1.0]).position == {}
    assert Gait(Mechanism()).motion([0.0, 1.0]).trajectories == []


def test_one_call_for_many_phases_equals_many_calls() -> None:
    nodes = [
        NetworkNode("e", "source", source=1),
        NetworkNode("w", "wave", duty_cycle=30),
        NetworkNode("m", "motor", joint="knee"),
    ]
    does = [network(nodes, ("e", "w", 1.0), ("w", "m", 1.0)), clockwork(motion=3, amplitude=12, phase=33)]
    gait = Gait(model(hinge(), does=does))
    phases = np.linspace(-8, 8, 50)
    one_by_one = [gait.evaluate(phase).position["knee"][0] for phase in phases]
    np.testing.assert_array_equal(gait.evaluate(phases).position["knee"], one_by_one)


def test_mappings_of_numpy_values_are_accepted() -> None:
    mechanism = model(hinge(), does=[clockwork(source=2, amplitude=10)])
    given: Mapping[str, Any] = {"joystick 1 x": np.float32(0.5)}
    assert degrees_at(mechanism, [0.0, 0.0], controls=given).tolist() == pytest.approx([5, 5])


def turning_leg(*does: object, sign: float = 1.0) -> Mechanism:
    """A leg that turns against its trunk, and an engine of a turn a second."""
    hinge = Joint("knee", "Knee", "revolute", "trunk", "leg", dofs=[Dof("rotation", file_sign=sign)])
    bodies = [Body("trunk", "Trunk"), Body("leg", "Leg")]
    return Mechanism(
        "walker", bodies=bodies, joints=[hinge], behaviours=GaitBehaviors(Engine(60, 1.0, 0.0, 0.0), [*does])
    )


def swinging(amplitude: float = 30.0, control: int = 0) -> Clockwork:
    return Clockwork(motors=[ClockworkMotor("knee", motion=1, amplitude=amplitude)], source=1, amp_mod=control)


def wheel() -> Network:
    """A speed that is a sine of two turns per turn of the engine."""
    nodes = [
        NetworkNode("e", "source", source=1),
        NetworkNode("w", "wave", duty_cycle=100, output_range=3.0, output_offset=1.0),
        NetworkNode("m", "motor", joint="knee", velocity=True),
    ]
    return Network(nodes=nodes, edges=[NetworkEdge("e", "w", 2.0), NetworkEdge("w", "m", 1.0)])


@pytest.mark.parametrize(
    ("seconds", "step", "count"), [(1.0, 0.032, 32), (0.96, 0.032, 31), (0.1, 0.03, 4), (0.01, 1, 1)]
)
def test_the_grid_goes_from_zero_to_the_end_or_just_before(seconds: float, step: float, count: int) -> None:
    (track,) = sample_gait(turning_leg(swinging()), {}, seconds, step).trajectories
    assert track.times == pytest.approx(np.arange(count) * step, abs=1e-12)
    assert track.values == pytest.approx(np.radians(30) * np.sin(TURN * np.arange(count) * step), abs=1e-12)


def test_controls_keep_their_values_while_a_gait_is_sampled() -> None:
    (track,) = sample_gait(turning_leg(swinging(control=2)), {"joystick 1 y": -0.5}, 1.0, 0.1).trajectories
    assert track.values == pytest.approx(-np.radians(15) * np.sin(TURN * track.times), abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("step", [0.001, 0.032, 0.25, 1.0])
def test_a_wheel_has_turned_by_the_integral_of_its_speed_however_coarse_the_grid(step: float, sign: float) -> None:
    """The integral of 1 + 3 sin(4 pi t). Between steps of a quarter of a second the speed is not what it is at them."""
    (track,) = sample_gait(turning_leg(wheel(), sign=sign), {}, 3.0, step).trajectories
    wanted = track.times + 3 * (1 - np.cos(2 * TURN * track.times)) / (2 * TURN)
    assert track.values == pytest.approx(sign * wanted, abs=2e-4)
    assert track.times == pytest.approx(np.arange(len(track.times)) * step)


def test_a_model_without_a_gait_is_rejected() -> None:
    mechanism = turning_leg()
    mechanism.source = Source(path="walker.jm")
    with pytest.raises(FormatError, match=r"^walker.jm: 'walker' has no gait\. Choose a motion"):
        sample_gait(mechanism, {}, 1.0, 0.032)


def test_controls_that_are_not_heard_or_go_too_far_are_reported() -> None:
    report = Report()
    report_inputs(find_gait(turning_leg(swinging(control=2))), {"joystick 1 y": 0.5, "joystick 2 x": 0.5}, report)
    assert [entry.code for entry in report.entries] == ["input-unheard"]
    assert "it reads joystick 1 y" in report.entries[0].message
    report = Report()
    report_inputs(None, {"joystick 1 y": -2.0}, report)
    assert [entry.code for entry in report.entries] == ["input-far", "input-unheard"]
    assert "it reads none" in report.entries[1].message


def test_the_hexapod_steps_once_in_a_cycle_of_its_engine(sample_models: Path) -> None:
    from addon import formats

    mechanism = formats.load(sample_models / "hexapod" / "hexapod.jm")
    engine = mechanism.behaviours.engine
    period = 60 / (engine.standard_speed * engine.speed_factor)
    motion = sample_gait(mechanism, {"joystick 1 y": -1.0}, engine.pose_delay + 3 * period, period / 50)
    legs = [each for each in motion.trajectories if each.name.endswith(("Swing", "Lift", "Knee"))]
    assert len(legs) == 18
    for each in legs:
        running = each.values[each.times >= engine.pose_delay + period / 50]
        assert np.ptp(running) > np.radians(5), each.name
        assert running[:50] == pytest.approx(running[50:100], abs=1e-9), each.name
