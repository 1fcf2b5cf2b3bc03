"""The gaits of real files, against an interpreter that walks their XML one edge and one number at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.gait.behaviors import (
    INPUT_BY_AMP_MOD,
    INPUT_BY_SOURCE,
    Clockwork,
    ClockworkMotor,
    GaitBehaviors,
    Network,
    NetworkEdge,
    NetworkNode,
)
from addon.core.gait.engine import Gait
from addon.core.model import Body, Dof, Joint, Mechanism
from tests.support.references import CORPUS

etree = pytest.importorskip("lxml.etree")

JUICE = CORPUS / "juice"
FILES = sorted(JUICE.glob("*/*.jm"))
KINDS = {"RevoluteJoint": "rotation", "PrismaticJoint": "translation", "SphericalJoint": "ball"}
NODES = {
    "MotionSourceNode": "source", "ConstantNode": "constant", "MultiplyNode": "multiply", "LimitNode": "limit",
    "ArithmeticNode": "arithmetic", "WaveNode": "wave", "AbsoluteValueNode": "absolute", "MotorNode": "motor",
}  # fmt: skip


def number(element: Any, tag: str, default: float = 0.0) -> float:
    text = element.findtext(tag)
    return default if text is None else float(text)


def reference(element: Any, tag: str) -> str | None:
    text = element.findtext(tag) or "0"
    value = int(text) if text.lstrip("-").isdigit() and not text.startswith("01") else int(text, 16)  # Gyro.jm has one
    return str(value % 2**32) if value else None


def flag(element: Any, tag: str, default: bool = True) -> bool:
    text = element.findtext(tag)
    return default if text is None else text[0] in "tTyY1"


# ------------------------------------------------------------------ by hand, one number at a time


def step_by_hand(p: float) -> float:
    if p < 0:
        p += 2 * math.pi
    while p >= 2 * math.pi:
        p -= 2 * math.pi
    eighth = int(math.floor(8 * p / (2 * math.pi)))
    if eighth in (1, 2):
        return 1.0
    if eighth in (5, 6):
        return -1.0
    return math.sin(2 * p) if eighth in (0, 7) or p < 0 else -math.sin(2 * (p - math.pi))


def wave_by_hand(node: Any, degrees: float) -> float:
    a = math.radians(degrees)
    while a >= 2 * math.pi:
        a -= 2 * math.pi
    ramp = min(1.0, number(node, "DutyCycle", 100) / 100)
    width = max(ramp * math.pi / 2, 0.01)
    if a < width:
        out = math.sin(a / ramp)
    elif a < math.pi - width:
        out = 1.0
    elif a < math.pi + width:
        out = -math.sin((a - math.pi) / ramp)
    elif a < 2 * math.pi - width:
        out = -1.0
    else:
        out = math.sin((a - 2 * math.pi) / ramp)
    return out * number(node, "OutputRange", 45) + number(node, "OutputOffset")


class ByHand:
    """One step of a file's behaviours. ``position`` and ``velocity``: joint id -> list of contributions."""

    def __init__(self, root: Any, phase: float, controls: dict[str, float], ypr: dict[str, Any]) -> None:
        self.phase, self.controls, self.ypr = phase, controls, ypr
        self.kinds = {reference(j, "ID"): KINDS[j.tag] for j in root.iter(*KINDS)}
        self.position: dict[Any, list[float]] = defaultdict(list)
        self.velocity: dict[Any, list[float]] = defaultdict(list)
        for behaviour in root.find("Behaviors"):
            if flag(behaviour, "Enabled"):
                (self.network if behaviour.tag == "NetworkBehavior" else self.clockwork)(behaviour)

    def clockwork(self, item: Any) -> None:
        source, mod = int(number(item, "MotionSource", 1)), int(number(item, "AmpModSource"))
        k = number(item, "Gain", 100) / 100 * self.controls.get(INPUT_BY_AMP_MOD.get(mod, ""), 1.0)
        for motor in item.iter("ClockworkMotor", "MotionLink"):
            joint, offset = reference(motor, "JointID"), number(motor, "Offset")
            amplitude, kind = number(motor, "Amplitude"), int(number(motor, "MotionType"))
            if not flag(motor, "Enabled"):
                continue
            if source in INPUT_BY_SOURCE:
                value = offset + self.controls[INPUT_BY_SOURCE[source]] * amplitude * k
                self.position[joint].append(178 if value > 180 else -178 if value < -180 else value)
            elif source in (6, 7, 8):
                angles = self.ypr.get(reference(item, "FeedbackSource"), (0, 0, 0))
                self.position[joint].append(offset + angles[source - 6] * k)
            elif source == 1 and kind in (1, 2, 3):
                p = math.radians(number(motor, "Phase")) + self.phase
                p = p - 2 * math.pi if p > 2 * math.pi else p
                f = {1: math.sin, 2: lambda x: math.sin(2 * x), 3: step_by_hand}[kind]
                self.position[joint].append(offset + amplitude * k * f(p))
            elif source == 1 and kind == 4 and self.kinds.get(joint) == "translation":
                raise AssertionError("no real file has this; tested on a small model")

    def network(self, item: Any) -> None:
        nodes = {reference(n, "ID"): n for n in item.iter(*NODES)}
        edges = [
            (reference(e, "Source"), reference(e, "Destination"), number(e, "Factor", 1)) for e in item.iter("Edge")
        ]
        missing = {key: sum(to == key for _, to, _ in edges) for key in nodes}
        value = {key: self.begin(node) for key, node in nodes.items()}
        moved = True
        while moved:
            moved = False
            for edge in list(edges):
                source, to, factor = edge
                if source not in nodes or to not in nodes or missing[source]:
                    continue
                value[to] = (
                    value[to] * (value[source] * factor)
                    if nodes[to].tag == "MultiplyNode"
                    else value[to] + value[source] * factor
                )
                missing[to] -= 1
                if not missing[to]:
                    value[to] = self.apply(nodes[to], value[to])
                edges.remove(edge)
                moved = True

    def begin(self, node: Any) -> float:
        if node.tag != "MotionSourceNode":
            return {"ConstantNode": number(node, "Value"), "MultiplyNode": 1.0}.get(node.tag, 0.0)
        source = int(number(node, "MotionSource"))
        if source == 1:
            return math.degrees(self.phase)
        if source in INPUT_BY_SOURCE:
            return self.controls[INPUT_BY_SOURCE[source]]
        if source not in (6, 7, 8):
            return 0.0
        yaw, pitch, roll = self.ypr.get(reference(node, "BodyFeedbackSource"), (0.0, 0.0, 0.0))
        return {
            6: yaw,
            7: pitch * math.cos(math.radians(roll)),
            8: roll * math.cos(math.radians(pitch)),
        }[source]

    def apply(self, node: Any, x: float) -> float:
        if node.tag == "ArithmeticNode":
            add, multiply = number(node, "Add"), number(node, "Multiply", 1)
            return (x + add) * multiply if flag(node, "AddFirst", False) else x * multiply + add
        if node.tag == "LimitNode":
            return sorted([number(node, "Minimum", -1), x, number(node, "Maximum", 1)])[1]
        if node.tag == "WaveNode":
            return wave_by_hand(node, x)
        if node.tag == "MotorNode":
            velocity = int(number(node, "MotorType", 1)) == 2
            if not velocity or self.kinds.get(reference(node, "JointID")) == "rotation":
                (self.velocity if velocity else self.position)[reference(node, "JointID")].append(x)
        return abs(x) if node.tag == "AbsoluteValueNode" else x


# ------------------------------------------------------------------ the same file as records


def records_of(root: Any, signs: np.random.Generator) -> Mechanism:
    bodies = [Body(reference(b, "ID") or "", "") for b in root.iter("Body")]
    known = {body.id for body in bodies}
    joints = []
    for element in root.iter(*KINDS):
        kind, sign = KINDS[element.tag], float(signs.choice([-1.0, 1.0]))
        unit = math.radians(1) if kind == "rotation" else 1.0
        low = unit * number(element, "LoStopValue") if flag(element, "LoStopFlag", False) else None
        high = unit * number(element, "HiStopValue") if flag(element, "HiStopFlag", False) else None
        if sign < 0:
            low, high = (None if high is None else -high), (None if low is None else -low)
        one, two = reference(element, "Body1"), reference(element, "Body2")
        joints.append(
            Joint(
                reference(element, "ID") or "", "", element.tag, one, two,
                dofs=[Dof(kind, lower=low, upper=high, file_sign=sign)],  # type: ignore[arg-type]
                active=one != two and one in known and two in known,
            )
        )  # fmt: skip
    items = [network_of(b) if b.tag == "NetworkBehavior" else clockwork_of(b) for b in root.find("Behaviors")]
    return Mechanism(bodies=bodies, joints=joints, behaviours=GaitBehaviors(items=items))


def clockwork_of(element: Any) -> Clockwork:
    motors = [
        ClockworkMotor(
            reference(m, "JointID"), flag(m, "Enabled"), number(m, "Offset"), int(number(m, "MotionType")),
            number(m, "Phase"), number(m, "Amplitude"),
        )
        for m in element.iter("ClockworkMotor", "MotionLink")
    ]  # fmt: skip
    source, mod = int(number(element, "MotionSource", 1)), int(number(element, "AmpModSource"))
    body, gain = reference(element, "FeedbackSource"), number(element, "Gain", 100)
    return Clockwork("", flag(element, "Enabled"), gain, motors, source, mod, body)


def network_of(element: Any) -> Network:
    nodes = []
    for n in element.iter(*NODES):
        node = NetworkNode(reference(n, "ID") or "", NODES[n.tag])  # type: ignore[arg-type]
        node.source, node.body = int(number(n, "MotionSource")), reference(n, "BodyFeedbackSource")
        node.value, node.joint = number(n, "Value"), reference(n, "JointID")
        node.minimum, node.maximum = number(n, "Minimum", -1), number(n, "Maximum", 1)
        node.add, node.multiply = number(n, "Add"), number(n, "Multiply", 1)
        node.add_first, node.velocity = flag(n, "AddFirst", False), number(n, "MotorType", 1) == 2
        node.duty_cycle, node.output_range = number(n, "DutyCycle", 100), number(n, "OutputRange", 45)
        node.output_offset = number(n, "OutputOffset")
        nodes.append(node)
    edges = [
        NetworkEdge(reference(e, "Source"), reference(e, "Destination"), number(e, "Factor", 1))
        for e in element.iter("Edge")
    ]
    return Network("", flag(element, "Enabled"), 100.0, nodes, edges)


def expected_of(joint: Joint, by_hand: ByHand) -> tuple[float | None, float | None]:
    """Position and velocity of a joint in its own coordinate, as far as it is told any."""
    dof = joint.dofs[0]
    if dof.kind == "ball" or not joint.active:
        return None, None
    if by_hand.velocity[joint.id]:
        return None, dof.file_sign * sum(by_hand.velocity[joint.id])
    if not by_hand.position[joint.id]:
        return None, None
    total = sum(by_hand.position[joint.id])
    value = dof.file_sign * (math.radians(total) if dof.kind == "rotation" else total)
    if dof.lower is not None and value < dof.lower:
        value = dof.lower
    if dof.upper is not None and value > dof.upper:
        value = dof.upper
    return value, None


@pytest.mark.skipif(not FILES, reason=f"real files are not here: {JUICE}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_real_gait_is_that_of_its_file(path: Path) -> None:
    root = etree.parse(str(path), etree.XMLParser(recover=True)).getroot()
    if root.find("Behaviors") is None:
        pytest.skip("a file without behaviours")
    rng = np.random.default_rng(1)
    mechanism = records_of(root, rng)
    gait = Gait(mechanism)
    told = set()
    phases = np.concatenate([rng.uniform(0, 2 * math.pi, 12), rng.uniform(-9, 0, 4), [0.0]])
    for phase in phases:
        controls = {name: float(rng.uniform(-1, 1)) for name in INPUT_BY_SOURCE.values()}
        ypr = {body.id: rng.uniform(-80, 80, 3) for body in mechanism.bodies}
        by_hand = ByHand(root, float(phase), controls, ypr)
        commands = gait.evaluate([phase], controls, ypr)
        for joint in mechanism.joints:
            position, velocity = expected_of(joint, by_hand)
            assert (joint.id in commands.position, joint.id in commands.velocity) == (
                position is not None,
                velocity is not None,
            )
            if position is not None:
                assert commands.position[joint.id][0] == pytest.approx(position, abs=1e-9)
                told.add(joint.id)
            if velocity is not None:
                assert commands.velocity[joint.id][0] == pytest.approx(velocity, abs=1e-9)
                told.add(joint.id)
    assert told == set(gait.joints)


@pytest.mark.skipif(not FILES, reason=f"real files are not here: {JUICE}")
def test_the_walkers_listen_to_their_joysticks() -> None:
    listening = {}
    for path in FILES:
        root = etree.parse(str(path), etree.XMLParser(recover=True)).getroot()
        if root.find("Behaviors") is not None:
            listening[path.stem] = Gait(records_of(root, np.random.default_rng(0)))
    assert {"joystick 1 x", "joystick 1 y", "joystick 1 r"} <= set(listening["SimpleHex"].controls)
    assert "joystick 1 y" in listening["bigsixpack"].controls
    assert listening["simpleant2"].controls == []
    assert len(listening["simpleant2"].joints) == 12
    assert listening["Segwack1"].feedback_bodies
    assert sum(bool(gait.joints) for gait in listening.values()) >= 20
