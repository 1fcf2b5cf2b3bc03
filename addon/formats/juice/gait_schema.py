"""What stands in the Behaviors of a Juice file: clockworks, networks, and the nodes and edges of networks."""

from __future__ import annotations

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
        Field("AbsoluteValue", INTEGER, 0, needed=False),  # stored by the program, which never uses it
        Field("FeedbackSource", REFERENCE, attr="feedback_body", needed=False),
    ),
    old=("Behavior",),
    parts=("ClockworkMotors", "MotionLinks", "ClockworkMotor", "MotionLink"),
)
#: The motors of a clockwork stand behind this field.
MOTORS_BEHIND = "Gain"

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
#: What a motor of a .jpm file says about its joint.
LINK_MOTOR = Table(
    "MotionLink",
    (Field("JointID", REFERENCE), Field("Gain", NUMBER, needed=False), Field("MaxForce", NUMBER, needed=False)),
)

#: The lists of a network, in order, with the kinds of node in them.
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


def _node(tag: str, *fields: Field) -> Table:
    return Table(tag, (*_NODE, *fields))


#: Node tables by the kind of node.
NODES: dict[str, Table] = {
    "motor": _node(
        "MotorNode",
        Field("JointID", REFERENCE, attr="joint"),
        Field("MotorType", MOTOR_TYPE, False, attr="velocity"),
    ),
    "constant": _node("ConstantNode", Field("Value", NUMBER, 0.0, attr="value")),
    "multiply": _node("MultiplyNode"),
    "limit": _node(
        "LimitNode",
        Field("Minimum", NUMBER, -1.0, attr="minimum"),
        Field("Maximum", NUMBER, 1.0, attr="maximum"),
    ),
    "arithmetic": _node(
        "ArithmeticNode",
        Field("Add", NUMBER, 0.0, attr="add"),
        Field("Multiply", NUMBER, 1.0, attr="multiply"),
        Field("AddFirst", FLAG, False, attr="add_first"),
    ),
    "wave": _node(
        "WaveNode",
        Field("DutyCycle", NUMBER, 100.0, attr="duty_cycle", unit="percent of a quarter turn"),
        Field("OutputRange", NUMBER, 45.0, attr="output_range"),
        Field("OutputOffset", NUMBER, 0.0, attr="output_offset"),
    ),
    "absolute": _node("AbsoluteValueNode"),
    "source": _node(
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
