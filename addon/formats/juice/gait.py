"""Behaviors of a Juice document: tables and reader of clockworks and networks, with the nodes and edges of networks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from ...core.gait.behaviors import Clockwork, ClockworkMotor, Engine, GaitBehaviors, Network, NetworkEdge, NetworkNode
from ...core.report import Message
from .reader import Reader, ReferenceResolver, SourceElement
from .schema import FLAG, IDENTITY, INTEGER, MOTOR_TYPE, NUMBER, REFERENCE, TEXT, Field, Table

_BEHAVIOUR = (
    Field("Name", TEXT, "", attr="name"),
    Field("Enabled", FLAG, True, attr="enabled"),
    Field("Gain", NUMBER, 100.0, attr="gain", unit="percent", needed=False),
)

CLOCKWORK = Table(
    "Clockwork",
    (
        *_BEHAVIOUR,
        Field("MotionSource", INTEGER, 1, attr="source"),
        Field("AmpModSource", INTEGER, 0, attr="amp_mod"),
        Field("AbsoluteValue", INTEGER, 0, needed=False),  # stored but never used by the program
        Field("FeedbackSource", REFERENCE, attr="feedback_body", needed=False),
    ),
    old=("Behavior",),
    parts=("ClockworkMotors", "MotionLinks", "ClockworkMotor", "MotionLink"),
)
#: Field behind which the motors of a clockwork follow.
MOTORS_AFTER_FIELD = "Gain"

CLOCKWORK_MOTOR = Table(
    "ClockworkMotor",
    (
        Field("JointID", REFERENCE, attr="joint"),
        Field("Enabled", FLAG, True, attr="enabled"),
        Field("Offset", NUMBER, 0.0, attr="offset", unit="degrees or length"),
        Field("MotionType", INTEGER, attr="motion", needed=False),
        Field("Phase", NUMBER, 0.0, attr="phase", unit="degrees"),
        Field("Amplitude", NUMBER, 0.0, attr="amplitude", unit="degrees or length"),
    ),
    old=("MotionLink",),
    parts=("Gain", "MaxForce"),
)
#: Values of a joint in a motor of a .jpm file.
LINK_MOTOR = Table(
    "MotionLink",
    (Field("JointID", REFERENCE), Field("Gain", NUMBER, needed=False), Field("MaxForce", NUMBER, needed=False)),
)

#: Lists of a network, in order, with the kinds of their nodes.
NODE_LISTS = {
    "MotorNodes": ("motor",),
    "FunctionNodes": ("constant", "multiply", "limit", "arithmetic", "wave", "absolute"),
    "MotionSourceNodes": ("source",),
}
NETWORK = Table("NetworkBehavior", _BEHAVIOUR, parts=(*NODE_LISTS, "Edges"))

_NODE = (
    Field("ID", IDENTITY, attr="id", old=("SerializationID",)),
    Field("Name", TEXT, "", attr="name"),
    Field("X", NUMBER, 0.0, unit="pixels", needed=False),
    Field("Y", NUMBER, 0.0, unit="pixels", needed=False),
)


def _node_schema(tag: str, *fields: Field) -> Table:
    return Table(tag, (*_NODE, *fields))


#: Node tables by the kind of node.
NODES: dict[str, Table] = {
    "motor": _node_schema(
        "MotorNode",
        Field("JointID", REFERENCE, attr="joint"),
        Field("MotorType", MOTOR_TYPE, False, attr="velocity"),
    ),
    "constant": _node_schema("ConstantNode", Field("Value", NUMBER, 0.0, attr="value")),
    "multiply": _node_schema("MultiplyNode"),
    "limit": _node_schema(
        "LimitNode",
        Field("Minimum", NUMBER, -1.0, attr="minimum"),
        Field("Maximum", NUMBER, 1.0, attr="maximum"),
    ),
    "arithmetic": _node_schema(
        "ArithmeticNode",
        Field("Add", NUMBER, 0.0, attr="add"),
        Field("Multiply", NUMBER, 1.0, attr="multiply"),
        Field("AddFirst", FLAG, False, attr="add_first"),
    ),
    "wave": _node_schema(
        "WaveNode",
        Field("DutyCycle", NUMBER, 100.0, attr="duty_cycle", unit="percent of a quarter turn"),
        Field("OutputRange", NUMBER, 45.0, attr="output_range"),
        Field("OutputOffset", NUMBER, 0.0, attr="output_offset"),
    ),
    "absolute": _node_schema("AbsoluteValueNode"),
    "source": _node_schema(
        "MotionSourceNode",
        Field("MotionSource", INTEGER, 0, attr="source"),
        Field("AmpModSource", INTEGER, 0, needed=False),
        Field("BodyFeedbackSource", REFERENCE, attr="body", needed=False),
    ),
}
NODE_KIND = {table.tag: kind for kind, table in NODES.items()}
EDGE = Table(
    "Edge",
    (
        Field("Source", REFERENCE, attr="source"),
        Field("Destination", REFERENCE, attr="destination"),
        Field("Factor", NUMBER, 1.0, attr="factor"),
    ),
)


MOTOR_LISTS = ("ClockworkMotors", "MotionLinks")
MOTOR_TAGS = (CLOCKWORK_MOTOR.tag, *CLOCKWORK_MOTOR.old)
BEHAVIOUR_TAGS = (CLOCKWORK.tag, *CLOCKWORK.old, NETWORK.tag)


@dataclass
class SourceRecord:
    """Behavior, or a motor, node or edge of one, with its element."""

    placed: SourceElement
    record: Any


def read_behaviours(
    model: etree._Element, reader: Reader, body_of: ReferenceResolver, joint_of: ReferenceResolver
) -> list[SourceRecord]:
    """Read all behaviors in document order, each followed by its parts."""
    found: list[SourceRecord] = []
    for element in _behaviour_elements(model, reader):
        if element.tag == NETWORK.tag:
            found += _read_network(element, reader, body_of, joint_of)
        else:
            found += _read_clockwork(element, reader, body_of, joint_of)
    return found


def assemble_behaviours(settings: SourceElement, found: list[SourceRecord]) -> GaitBehaviors:
    """Return the engine with the behaviors."""
    speeds = {item.attr: settings.row[item.path] for item in settings.table if item.attr in Engine.__annotations__}
    items = [item.record for item in found if isinstance(item.record, Clockwork | Network)]
    return GaitBehaviors(Engine(**speeds), items)


def motor_gains(model: etree._Element, reader: Reader, joint_of: ReferenceResolver) -> dict[str, tuple[float, float]]:
    """Return gain and maximum force by joint id, where motors have them (.jpm): the largest of all behaviors."""
    strengths: dict[str, tuple[float, float]] = {}
    for behaviour in _behaviour_elements(model):
        for element in _motor_elements(behaviour):
            if element.find("Gain") is None and element.find("MaxForce") is None:
                continue
            row = reader.place(element, LINK_MOTOR, whole=False).row
            joint = joint_of(row["JointID"])
            if joint is not None:
                gain, force = strengths.get(joint, (0.0, 0.0))
                strengths[joint] = max(gain, row["Gain"] or 0.0), max(force, row["MaxForce"] or 0.0)
    return strengths


def _behaviour_elements(model: etree._Element, reader: Reader | None = None) -> Iterator[etree._Element]:
    return _child_elements(model, ("Behaviors",), BEHAVIOUR_TAGS, reader)


def _motor_elements(behaviour: etree._Element, reader: Reader | None = None) -> Iterator[etree._Element]:
    return _child_elements(behaviour, MOTOR_LISTS, MOTOR_TAGS, reader)


def _child_elements(
    parent: etree._Element, lists: Collection[str], tags: Collection[str], reader: Reader | None, direct: bool = True
) -> Iterator[etree._Element]:
    """Yield the elements with some tags, in lists or, with ``direct``, directly in the parent.

    Other elements in the lists are reported to the reader as ignored.
    """
    for child in parent:
        if child.tag in lists:
            for element in child:
                if element.tag in tags:
                    yield element
                elif reader is not None:
                    reader.ignore(f"nothing is known by the name {element.tag} in <{child.tag}>", element)
        elif direct and child.tag in tags:
            yield child


def _read_clockwork(
    element: etree._Element, reader: Reader, body_of: ReferenceResolver, joint_of: ReferenceResolver
) -> Iterator[SourceRecord]:
    made = _read_record(Clockwork, reader.place(element, CLOCKWORK), reader, body_of)
    yield made
    for motor in _motor_elements(element, reader):
        part = _read_record(ClockworkMotor, reader.place(motor, CLOCKWORK_MOTOR), reader, joint_of)
        made.record.motors.append(part.record)
        yield part


def _read_network(
    element: etree._Element, reader: Reader, body_of: ReferenceResolver, joint_of: ReferenceResolver
) -> Iterator[SourceRecord]:
    made = _read_record(Network, reader.place(element, NETWORK), reader, body_of)
    yield made
    nodes: list[SourceElement] = []
    ids: set[object] = set()
    for child in element:
        for part in child if child.tag in NODE_LISTS else ():
            kind = NODE_KIND.get(part.tag)
            if kind is None:
                reader.ignore(f"nothing is known by the name {part.tag} in <{child.tag}>", part)
                continue
            node = _read_node(
                kind, reader.place(part, NODES[kind]), ids, reader, joint_of if kind == "motor" else body_of
            )
            nodes.append(node.placed)
            made.record.nodes.append(node.record)
            yield node
    node_of = ReferenceResolver(nodes)
    for part in _child_elements(element, ("Edges",), (EDGE.tag,), reader, direct=False):
        edge = _read_record(NetworkEdge, reader.place(part, EDGE), reader, node_of)
        made.record.edges.append(edge.record)
        yield edge


def _read_node(
    kind: str, placed: SourceElement, before: set[object], reader: Reader, resolve: ReferenceResolver
) -> SourceRecord:
    if placed.row["ID"] is None:
        placed.row["ID"] = f"node {len(before) + 1}"
        reader.warn("no-id", Message("{} has no ID, so no edge can refer to it", placed.label), placed.element)
    elif placed.row["ID"] in before:
        message = Message("{} has the ID of another node; edges refer to the first", placed.label)
        reader.warn("duplicate-id", message, placed.element)
    before.add(placed.row["ID"])
    return _read_record(NetworkNode, placed, reader, resolve, kind=kind)


def _read_record(
    cls: Any, placed: SourceElement, reader: Reader, resolve: ReferenceResolver, **more: str
) -> SourceRecord:
    """Create a record from a row, with references resolved; dangling ones are reported."""
    values = dict(more)
    for item in placed.table:
        if not item.attr:
            continue
        value = placed.row[item.path]
        if item.kind is REFERENCE:
            found = resolve(value)
            if found is None and not resolve.is_none(value):
                message = Message(
                    "{} of {} refers to {}, which is not in the file", item.path, placed.label, value.strip()
                )
                reader.warn("dangling-reference", message, placed.element)
            value = found
        values[item.attr] = value
    return SourceRecord(placed, cls(**values))


def record_table(record: Any) -> Table:
    """Return the table by which a record of a behavior is written."""
    if isinstance(record, NetworkNode):
        return NODES[record.kind]
    return {Clockwork: CLOCKWORK, ClockworkMotor: CLOCKWORK_MOTOR, Network: NETWORK, NetworkEdge: EDGE}[type(record)]


def behaviour_parts(behaviour: Clockwork | Network) -> list[Any]:
    """Return a behavior's motors, or its nodes and edges, in the order of ``read_behaviours``."""
    return behaviour.motors if isinstance(behaviour, Clockwork) else [*behaviour.nodes, *behaviour.edges]
