"""Evaluation of gaits: Juice's engine, clockworks and networks, and gaits as motions.

The rules are those of the Juice program. A ``Gait`` is compiled once from the behaviors of a mechanism into batches of
equal nodes in topological order, so that one call evaluates a whole animation or, as quickly, a single frame of a live
simulation. Its commands are in the mechanism's own coordinates: radians and length units, in the sense of each ``Dof``
(the file reverses some hinges and has all of them in degrees).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import naming
from ..model import Array, Mechanism, Motion, Trajectory, body_by_id, joint_by_id
from ..motion.servo_matching import mechanism_servos
from ..report import FormatError, Message, Report
from .behaviors import (
    BODY_PITCH,
    BODY_ROLL,
    BODY_YAW,
    ENGINE_SOURCE,
    INPUT_BY_AMP_MOD,
    INPUT_BY_SOURCE,
    Clockwork,
    ClockworkMotor,
    Engine,
    GaitBehaviors,
    GaitServos,
    Network,
    NetworkNode,
    motor_dof,
)

FULL_TURN = 2.0 * math.pi


def trapezoid_wave(angle: Array, ramp: Array | float, width: Array | float) -> Array:
    """Compute a square wave with sine ramps.

    Args:
        angle: Phase (rad) up to one turn; negative ones are on the first ramp for ever.
        ramp: Duration of a ramp, as a share of that of a sine.
        width: Half width (rad) of a ramp, on each side of a zero.
    """
    centre = np.where(angle < math.pi - width, 0.0, np.where(angle < FULL_TURN - width, math.pi, FULL_TURN))
    away = angle - centre
    return np.where(away < width, np.sin(away / ramp + centre), np.where(centre == 0.0, 1.0, -1.0))


def wrap_to_turn(angle: Array) -> Array:
    """Wrap angles (rad) of a turn and more into one turn; negative angles stay as they are."""
    return np.where(angle >= FULL_TURN, np.mod(angle, FULL_TURN), angle)


def step_wave(angle: Array) -> Array:
    """Compute the step wave of clockworks at phases (rad)."""
    return trapezoid_wave(wrap_to_turn(np.where(angle < 0.0, angle + FULL_TURN, angle)), 0.5, math.pi / 4.0)


def _wave_node(degrees: Array, ramp: Array, width: Array, output_range: Array, offset: Array) -> Array:
    # At exactly one turn the Juice program passes its input through, a spike of 360 times the range for one step;
    # here a full turn is equal to 0.
    return trapezoid_wave(wrap_to_turn(np.radians(degrees)), ramp, width) * output_range + offset


def _wave_parameters(node: NetworkNode) -> tuple[float, ...]:
    ramp = min(node.duty_cycle / 100.0, 1.0)
    width = max(math.pi / 2.0 * ramp, 0.01)
    return ramp or width / (math.pi / 2.0), width, node.output_range, node.output_offset


def _arithmetic_parameters(node: NetworkNode) -> tuple[float, ...]:
    return (node.add, node.multiply, 0.0) if node.add_first else (0.0, node.multiply, node.add)


#: Function of a node on the sum (or product) of its inputs, and its parameters.
NODE_FUNCTIONS: dict[str, tuple[Callable[..., Array] | None, Callable[[NetworkNode], tuple[float, ...]]]] = {
    "source": (None, lambda node: ()),
    "motor": (None, lambda node: ()),
    "multiply": (None, lambda node: ()),
    "constant": (np.add, lambda node: (node.value,)),
    "absolute": (np.abs, lambda node: ()),
    "limit": (lambda x, low, high: np.minimum(np.maximum(x, low), high), lambda node: (node.minimum, node.maximum)),
    "arithmetic": (lambda x, before, factor, after: (x + before) * factor + after, _arithmetic_parameters),
    "wave": (_wave_node, _wave_parameters),
}


@dataclass
class NodeBatch:
    """Nodes of one kind at one depth: rows of the state that they write, and the edges that feed them."""

    kind: str
    rows: list[int] = field(default_factory=list)
    first_edges: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    parameters: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, row: int, edges: Iterable[tuple[int, float]], parameters: tuple[float, ...]) -> None:
        """Add a node: its row, its input edges (source row, factor) and its parameters."""
        self.rows.append(row)
        self.first_edges.append(len(self.sources))
        for source, factor in edges:
            self.sources.append(source)
            self.factors.append(factor)
        self.parameters.append(parameters)

    def compiled(self) -> Callable[[Array], None]:
        """Compile a function that updates the state, (rows, n), by these nodes."""
        rows, firsts, sources = (np.array(x, dtype=np.intp) for x in (self.rows, self.first_edges, self.sources))
        factors = np.array(self.factors)[:, None]
        function = NODE_FUNCTIONS[self.kind][0]
        columns = [np.array(column)[:, None] for column in zip(*self.parameters, strict=True)]
        gather = np.multiply.reduceat if self.kind == "multiply" else np.add.reduceat

        def run(state: Array) -> None:
            value = gather(state[sources] * factors, firsts, axis=0)
            state[rows] = value if function is None else function(value, *columns)

        return run


class NodeOrder:
    """Topological order of a network: the nodes that get all their inputs, and their depths.

    An edge whose source does not exist still counts as an input, so nodes after it are never evaluated; nor are cycles.
    A node without inputs keeps its initial value.
    """

    def __init__(self, network: Network) -> None:
        self.nodes: dict[str, NetworkNode] = {}
        for node in network.nodes:
            self.nodes.setdefault(node.id, node)
        self.inputs: dict[str, list[tuple[str, float]]] = {key: [] for key in self.nodes}
        outputs: dict[str, list[str]] = {key: [] for key in self.nodes}
        waiting: Counter[str] = Counter()
        for edge in network.edges:
            if edge.destination is None or edge.destination not in self.nodes:
                continue
            waiting[edge.destination] += 1
            if edge.source is not None and edge.source in self.nodes:
                self.inputs[edge.destination].append((edge.source, edge.factor))
                outputs[edge.source].append(edge.destination)
        self.depth = {key: 0 for key in self.nodes if not waiting[key]}
        reached = list(self.depth)
        for key in reached:
            for follower in outputs[key]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    self.depth[follower] = 1 + max(self.depth[source] for source, _ in self.inputs[follower])
                    reached.append(follower)

    def dependencies_of(self, key: str) -> set[str]:
        """Return a node and all nodes that it depends on."""
        found = {key}
        stack = [key]
        while stack:
            for source, _ in self.inputs[stack.pop()]:
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return found


INPUT_NAMES: tuple[str, ...] = tuple(INPUT_BY_SOURCE.values())
FEEDBACK_AXIS = {BODY_YAW: 0, BODY_PITCH: 1, BODY_ROLL: 2}
NONE, SINE, DOUBLE_SINE, STEP, CONTINUOUS = 0, 1, 2, 3, 4
INPUT_LIMIT, INPUT_SATURATION = 180.0, 178.0  # degrees; commands by an input beyond the first are set to the second

GaitInputs = Mapping[str, ArrayLike]
GaitFeedback = Mapping[str, ArrayLike]
_NO_INPUTS: Mapping[str, ArrayLike] = MappingProxyType({})


@dataclass(frozen=True)
class GaitCommands:
    """Commands to joints: joint id -> (n,).

    ``position`` in rad or length units, already within the stops; ``velocity`` in rad/s, not clamped. A joint is in at
    most one of the two.
    """

    position: dict[str, Array]
    velocity: dict[str, Array]


def parse_input(text: str) -> tuple[str, float]:
    """Parse ``joystick 1 y=-1`` as an input's name and value; case, spaces and punctuation in the name are ignored.

    Raises:
        ValueError: The text is no input; the message lists what is allowed.
    """
    name, separator, number = text.partition("=")
    wanted = _normalize_name(name)
    for control in INPUT_NAMES:
        if separator and _normalize_name(control) == wanted:
            try:
                value = float(number)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise ValueError(
                    f"Input {control!r}: {number.strip()!r} is not a number. Write an input as {control}=-1."
                )
            return control, value
    raise ValueError(f"{text!r} is not an input. Write NAME=VALUE with one of the names {', '.join(INPUT_NAMES)}.")


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def feedback_angles(rotation: ArrayLike) -> Array:
    """Compute yaw, pitch and roll in degrees, (..., 3), as Juice's feedback has them, for body rotations (..., 3, 3).

    In terms of the body's quaternion, yaw is the arc tangent of 2(wz + yz) over ww + xx - yy - zz: the program has y*z
    in place of the expected x*y. It is reproduced, since models were tuned with it.
    """
    r = np.asarray(rotation, dtype=np.float64)
    ahead = r[..., 0, 0]
    yaw = np.arctan2(0.5 * (r[..., 1, 0] - r[..., 0, 1] + r[..., 1, 2] + r[..., 2, 1]), np.abs(ahead))
    yaw = np.where(ahead < 0.0, math.pi - yaw, yaw)
    pitch = np.arctan2(r[..., 2, 1], np.abs(r[..., 2, 2]))
    roll = np.arcsin(np.clip(-r[..., 2, 0], -1.0, 1.0))
    return np.degrees(np.stack([yaw, pitch, roll], axis=-1))


def gait_servo_names(mechanism: Mechanism) -> dict[str, str]:
    """Return the unique name of every servo that a gait can command, by the id of its joint."""
    names = naming.servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    return {joint: own[0] for joint, own in names.items() if len(own) == 1}


def find_gait(mechanism: Mechanism) -> Gait | None:
    """Return the gait of a mechanism; None where its behaviors command no joint."""
    gait = Gait(mechanism)
    return gait if gait.joints else None


_CLOCKWORK_FUNCTIONS: dict[int, Callable[[Array], Array]] = {
    SINE: np.sin,
    DOUBLE_SINE: lambda angle: np.sin(2.0 * angle),
    STEP: step_wave,
    CONTINUOUS: np.degrees,
}


class _MotorArrays:
    """Motors of clockworks as columns of numbers, to be evaluated together."""

    def __init__(self, motors: list[tuple[Any, ...]]) -> None:
        self.count = len(motors)
        offset, scale, rows, modulation, extra = zip(*motors, strict=True) if motors else ((),) * 5
        self.offset, self.scale, self.extra = (np.array(x, dtype=np.float64)[:, None] for x in (offset, scale, extra))
        self.rows, self.modulation = (np.array(x, dtype=np.intp) for x in (rows, modulation))

    def scaled(self, state: Array, values: Array) -> Array:
        """Compute commands (motors, n) from waves: offset plus wave times amplitude and modulation."""
        return self.offset + values * (self.scale * state[self.modulation])


class _CommandSum:
    """Sum of the commands to the same joint."""

    def __init__(self, joints: list[str]) -> None:
        self.joints = list(dict.fromkeys(joints))
        place = {joint: number for number, joint in enumerate(self.joints)}
        places = np.array([place[joint] for joint in joints], dtype=np.intp)
        self.order = np.argsort(places, kind="stable")
        self.firsts = np.searchsorted(places[self.order], np.arange(len(self.joints)))

    def __call__(self, commands: Array) -> Array:
        return np.add.reduceat(commands[self.order], self.firsts, axis=0) if self.joints else commands[:0]


class Gait:
    """Compiled behaviors of a mechanism.

    ``controls``: the inputs that affect any command, in the order of ``INPUT_NAMES``; ``feedback_bodies``: ids of the
    bodies whose orientation does; ``joints``: ids of the joints that get commands, in the order of the mechanism;
    ``held`` and ``spun``: those of them that get positions and those that get velocities.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        behaviours = mechanism.behaviours if isinstance(mechanism.behaviours, GaitBehaviors) else GaitBehaviors()
        self.mechanism = mechanism
        self.engine: Engine = behaviours.engine
        self._without_type = SINE if behaviours.sine_without_type else NONE
        self._poses = {own: body.pose for own, body in body_by_id(mechanism).items()}
        self._dofs = {own: motor_dof(joint) for own, joint in joint_by_id(mechanism).items()}
        self._row_of: dict[tuple[Any, ...], int] = {}
        self._begin: list[float] = []
        self._engine_motors: dict[int, list[tuple[str, tuple[Any, ...]]]] = defaultdict(list)
        self._input_motors: list[tuple[str, tuple[Any, ...]]] = []
        self._motor_nodes: dict[bool, list[tuple[str, int]]] = {False: [], True: []}
        batches: dict[tuple[int, str], NodeBatch] = {}
        for number, item in enumerate(behaviours.items):
            if item.enabled and isinstance(item, Clockwork):
                self._add_clockwork(item)
            elif item.enabled and isinstance(item, Network):
                self._add_network(item, number, batches)
        self._finish(batches)

    # ------------------------------------------------------------------ compiling

    def _row(self, *key: Any, begin: float = 0.0) -> int:
        """Return the row of the state that holds a signal or a node's value; create it if necessary."""
        if key not in self._row_of:
            self._row_of[key] = len(self._begin)
            self._begin.append(begin)
        return self._row_of[key]

    def _signal(self, source: int, body: str | None, levelled: bool) -> int:
        """Return the row of a motion source.

        For networks pitch and roll are ``levelled``: scaled by each other's cosine.
        """
        if source == ENGINE_SOURCE:
            return self._row("engine")
        if source in INPUT_BY_SOURCE:
            return self._row("control", INPUT_BY_SOURCE[source])
        if source in FEEDBACK_AXIS and body in self._poses:
            return self._row("feedback", body, FEEDBACK_AXIS[source], levelled)
        return self._row("zero")

    def _add_clockwork(self, item: Clockwork) -> None:
        if item.source != ENGINE_SOURCE and item.source not in INPUT_BY_SOURCE and item.source not in FEEDBACK_AXIS:
            return
        for motor in item.motors:
            dof = self._dofs.get(motor.joint or "")
            if not motor.enabled or dof is None or motor.joint is None:
                continue
            if item.source == ENGINE_SOURCE:
                motion = self._without_type if motor.motion is None else motor.motion
                if motion in _CLOCKWORK_FUNCTIONS and not (motion == CONTINUOUS and dof.kind == "rotation"):
                    self._engine_motors[motion].append((motor.joint, self._engine_motor(item, motor)))
            else:
                self._input_motors.append((motor.joint, self._input_motor(item, motor)))

    def _modulation(self, item: Clockwork) -> int:
        control = INPUT_BY_AMP_MOD.get(item.amp_mod)
        return self._row("control", control) if control else self._row("one", begin=1.0)

    def _engine_motor(self, item: Clockwork, motor: ClockworkMotor) -> tuple[Any, ...]:
        engine, phase = self._signal(ENGINE_SOURCE, None, False), math.radians(motor.phase)
        if motor.motion == CONTINUOUS:  # neither amplitude nor gain applies
            return motor.offset, 1.0, engine, self._row("one", begin=1.0), phase
        return motor.offset, motor.amplitude * item.gain / 100.0, engine, self._modulation(item), phase

    def _input_motor(self, item: Clockwork, motor: ClockworkMotor) -> tuple[Any, ...]:
        signal = self._signal(item.source, item.feedback_body, False)
        if item.source in FEEDBACK_AXIS:
            return motor.offset, item.gain / 100.0, signal, self._modulation(item), math.inf
        scale = motor.amplitude * item.gain / 100.0
        return motor.offset, scale, signal, self._modulation(item), INPUT_LIMIT

    def _add_network(self, item: Network, number: int, batches: dict[tuple[int, str], NodeBatch]) -> None:
        wiring = NodeOrder(item)
        needed: set[str] = set()
        for key, node in wiring.nodes.items():
            dof = self._dofs.get(node.joint or "") if node.kind == "motor" else None
            if dof is None or node.joint is None or not wiring.depth.get(key):
                continue
            if node.velocity and dof.kind != "rotation":
                continue
            needed |= wiring.dependencies_of(key)
            self._motor_nodes[node.velocity].append((node.joint, self._row("node", number, key)))
        for key in wiring.nodes:
            if key in needed:
                self._add_node(wiring, number, key, batches)

    def _add_node(self, wiring: NodeOrder, number: int, key: str, batches: dict[tuple[int, str], NodeBatch]) -> None:
        node, depth = wiring.nodes[key], wiring.depth[key]
        row = self._row("node", number, key)
        edges = [(self._row("node", number, source), factor) for source, factor in wiring.inputs[key]]
        if node.kind == "source":  # its signal is added like one more edge
            edges.append((self._signal(node.source, node.body, True), 1.0))
        if edges:
            batch = batches.setdefault((depth, node.kind), NodeBatch(node.kind))
            batch.add(row, edges, NODE_FUNCTIONS[node.kind][1](node))
        else:
            self._begin[row] = {"constant": node.value, "multiply": 1.0}.get(node.kind, 0.0)

    def _finish(self, batches: dict[tuple[int, str], NodeBatch]) -> None:
        self._run = [batches[key].compiled() for key in sorted(batches)]
        used = {key[1] for key in self._row_of if key[0] == "control"}
        self.controls = [name for name in INPUT_NAMES if name in used]
        measured = {key[1] for key in self._row_of if key[0] == "feedback"}
        self._design = {body: feedback_angles(self._poses[body][:3, :3]) for body in measured}
        self.feedback_bodies = [body for body in dict.fromkeys(b.id for b in self.mechanism.bodies) if body in measured]

        self._slices: list[tuple[slice, Callable[[Array], Array]]] = []
        engine_motors: list[tuple[str, tuple[Any, ...]]] = []
        for motion, motors in self._engine_motors.items():
            self._slices.append(
                (slice(len(engine_motors), len(engine_motors) + len(motors)), _CLOCKWORK_FUNCTIONS[motion])
            )
            engine_motors += motors
        self._engine_arrays = _MotorArrays([columns for _, columns in engine_motors])
        self._input_arrays = _MotorArrays([columns for _, columns in self._input_motors])
        self._position_rows, self._velocity_rows = (
            np.array([row for _, row in self._motor_nodes[velocity]], dtype=np.intp) for velocity in (False, True)
        )
        self._velocity_sum = _CommandSum([joint for joint, _ in self._motor_nodes[True]])
        positioned = [*engine_motors, *self._input_motors, *self._motor_nodes[False]]
        self._position_sum = _CommandSum([joint for joint, _ in positioned])
        self.spun = self._velocity_sum.joints
        self.held = [joint for joint in self._position_sum.joints if joint not in self.spun]
        self._kept = np.array([joint not in self.spun for joint in self._position_sum.joints], dtype=bool)
        self._position_servos = GaitServos.of([self._dofs[joint] for joint in self.held])
        self._velocity_servos = GaitServos.of([self._dofs[joint] for joint in self.spun])
        commanded = {*self._position_sum.joints, *self._velocity_sum.joints}
        self.joints = [joint for joint in dict.fromkeys(j.id for j in self.mechanism.joints) if joint in commanded]

    # ------------------------------------------------------------------ evaluating

    def phase(self, times: ArrayLike, speed_factor: float | None = None) -> Array:
        """Compute the engine phase (rad) at times (n,) in seconds since the start: (n,).

        The Juice program keeps it within one turn, (0, 2 pi], from above only: an engine that runs backwards has an
        ever more negative phase.
        """
        engine = self.engine
        factor = engine.speed_factor if speed_factor is None else speed_factor
        running = np.maximum(np.asarray(times, dtype=np.float64) - engine.pose_delay, 0.0)
        start = _wrap_phase(np.asarray(math.radians(engine.pose_phase)))
        return _wrap_phase(start + FULL_TURN * (engine.standard_speed / 60.0 * factor * running))

    def evaluate(
        self, phase: ArrayLike, controls: GaitInputs = _NO_INPUTS, feedback: GaitFeedback = _NO_INPUTS
    ) -> GaitCommands:
        """Compute the commands at engine phases (n,) in radians.

        Args:
            phase: Engine phases.
            controls: Input name -> number or (n,), 0 where not given. An input that this gait does not read has no
                effect.
            feedback: Body id -> yaw, pitch, roll in degrees, (3,) or (n, 3), the design orientation where not given.

        Raises:
            ValueError: An input does not exist.
        """
        unknown = [name for name in controls if name not in INPUT_NAMES]
        if unknown:
            raise ValueError(
                f"Input {unknown[0]!r} does not exist. Inputs are {', '.join(INPUT_NAMES)}; "
                f"this gait reads {', '.join(self.controls) or 'none of them'}."
            )
        position, velocity = self.evaluate_rows(np.atleast_1d(np.asarray(phase, dtype=np.float64)), controls, feedback)
        return GaitCommands(dict(zip(self.held, position, strict=True)), dict(zip(self.spun, velocity, strict=True)))

    def evaluate_rows(
        self, angle: Array, controls: GaitInputs = _NO_INPUTS, feedback: GaitFeedback = _NO_INPUTS
    ) -> tuple[Array, Array]:
        """Compute the commands at engine phases (n,) as rows, (joints, n) each.

        Returns:
            Positions of the joints ``held`` and velocities of those ``spun``.
        """
        state = self._signals(angle, controls, feedback)
        for run in self._run:
            run(state)
        wanted = self._engine_commands(state, angle), self._input_commands(state), state[self._position_rows]
        position = self._position_servos.position(self._position_sum(np.concatenate(wanted))[self._kept])
        return position, self._velocity_servos.sign * self._velocity_sum(state[self._velocity_rows])

    def _signals(self, angle: Array, controls: GaitInputs, feedback: GaitFeedback) -> Array:
        state = np.repeat(np.array(self._begin)[:, None], len(angle), axis=1)
        for key, row in self._row_of.items():
            if key[0] == "engine":
                state[row] = np.degrees(angle)
            elif key[0] == "control":
                state[row] = controls.get(key[1], 0.0)
            elif key[0] == "feedback":
                _, body, axis, levelled = key
                ypr = np.asarray(feedback.get(body, self._design[body]), dtype=np.float64)
                state[row] = ypr[..., axis]
                if levelled and axis:
                    state[row] *= np.cos(np.radians(ypr[..., 3 - axis]))
        return state

    def _engine_commands(self, state: Array, angle: Array) -> Array:
        motors = self._engine_arrays
        own = motors.extra + angle
        own = np.where(own > FULL_TURN, own - FULL_TURN, own)
        for part, function in self._slices:
            own[part] = function(own[part])
        return motors.scaled(state, own)

    def _input_commands(self, state: Array) -> Array:
        motors = self._input_arrays
        wanted = motors.scaled(state, state[motors.rows])
        return np.where(np.abs(wanted) > motors.extra, np.copysign(INPUT_SATURATION, wanted), wanted)

    def motion(
        self,
        times: ArrayLike,
        controls: GaitInputs = _NO_INPUTS,
        name: str = "Gait",
        feedback: GaitFeedback = _NO_INPUTS,
        speed_factor: float | None = None,
    ) -> Motion:
        """Sample the gait at times (n,) in seconds, one trajectory per commanded joint."""
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        values = self.servo_values(self.evaluate(self.phase(at, speed_factor), controls, feedback), at)
        names = gait_servo_names(self.mechanism)
        return Motion(name, [Trajectory(names[joint], at.copy(), values[joint]) for joint in self.joints])

    def servo_values(self, commands: GaitCommands, times: Array) -> dict[str, Array]:
        """Convert commands at times (n,) in seconds to servo positions (n,), by joint id.

        Joints with velocities start at their initial position and move by the integral (trapezoid rule).
        """
        values = dict(commands.position)
        for joint, speed in commands.velocity.items():
            dof = self._dofs[joint]
            assert dof is not None
            turned = np.cumsum(np.diff(times) * (speed[1:] + speed[:-1]) / 2.0)
            values[joint] = dof.position + np.concatenate([[0.0], turned])[: len(times)]
        return values


def _wrap_phase(angle: Array) -> Array:
    return angle - FULL_TURN * np.maximum(np.ceil(angle / FULL_TURN) - 1.0, 0.0)


#: Longest step (s) of the integration of velocities, however coarse the grid.
MAX_INTEGRATION_STEP = 0.004


def sample_gait(mechanism: Mechanism, controls: GaitInputs, seconds: float, step: float) -> Motion:
    """Sample a mechanism's gait from 0 to ``seconds``, every ``step`` (s), the last sample at or before the end.

    Args:
        mechanism: The mechanism.
        controls: Input name -> number, 0 where not given.
        seconds: Duration (s).
        step: Sampling interval (s).

    Raises:
        FormatError: The mechanism has no gait.
    """
    gait = find_gait(mechanism)
    if gait is None:
        raise FormatError(
            f"{mechanism.name!r} has no gait",
            path=mechanism.source.path,
            remedy="Choose a motion, or a Juice model with behaviors that command its joints.",
        )
    count = math.floor(seconds / step + 1e-9) + 1
    finer = max(1, math.ceil(step / MAX_INTEGRATION_STEP - 1e-9)) if _has_velocities(gait) else 1
    times = np.arange((count - 1) * finer + 1) * (step / finer)
    fine = gait.motion(times, controls, f"{mechanism.name} Gait")
    times = np.arange(count) * step
    servos = mechanism_servos(mechanism)
    return Motion(
        fine.name,
        [
            Trajectory(
                each.name, times.copy(), each.values[::finer].copy(), unit="m" if servos[each.name].slides else "rad"
            )
            for each in fine.trajectories
        ],
    )


def report_inputs(gait: Gait | None, controls: Mapping[str, float], report: Report) -> None:
    """Warn of input values beyond -1 to 1 and of inputs that a gait does not read."""
    inputs = gait.controls if gait is not None else []
    for name, value in controls.items():
        if abs(value) > 1.0:
            report.warn(
                "input-far",
                Message("Input {}: {} is outside the range of an input (-1 to 1)", repr(name), f"{value:g}"),
            )
        if name not in inputs:
            read = f"it reads {', '.join(inputs)}" if inputs else "it reads none"
            report.warn(
                "input-unheard", Message("Input {} has no effect: the gait does not read it; {}", repr(name), read)
            )


def _has_velocities(gait: Gait) -> bool:
    return bool(gait.evaluate(0.0).velocity)
