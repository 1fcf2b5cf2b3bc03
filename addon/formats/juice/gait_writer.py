"""Behaviours to the text of a Juice file, in the sense in which the file counts its joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...core.gait.behaviors import Behaviours, Clockwork, Network
from .from_model import Number, Numbers, record_row
from .gait_reader import table_of
from .gait_schema import CLOCKWORK, CLOCKWORK_MOTOR, EDGE, MOTORS_BEHIND, NETWORK, NODE_LISTS, NODES
from .markup import Node, fields
from .schema import Row

_COLUMN = {"source": 60, "motor": 420}  # canvas pixels for nodes that have no place of their own
_SPACING = 50


class Writer:
    """Writes behaviours. ``body_number`` and ``joint_number`` give the IDs of what is there; ``near`` the rows of
    nodes by id, for what a record does not hold (their places on the canvas)."""

    def __init__(self, body_number: Number, joint_number: Number, near: Mapping[str, Row] | None = None) -> None:
        self.body_number, self.joint_number = body_number, joint_number
        self.near = near or {}

    def row(self, record: Any, node_number: Number) -> Row:
        """A record's row, with everything but its own ID."""
        numbers = {
            "joint": self.joint_number,
            "body": self.body_number,
            "feedback_body": self.body_number,
            "source": node_number,
            "destination": node_number,
        }
        return record_row(record, table_of(record), numbers)

    def node(self, item: Clockwork | Network, taken: Collection[str] = ()) -> Node:
        """A behaviour as an element; ``taken`` are IDs that its nodes may not be given."""
        return self._clockwork(item) if isinstance(item, Clockwork) else self._network(item, taken)

    def _clockwork(self, item: Clockwork) -> Node:
        nothing: Number = Numbers(())
        motors: list[Node] = [
            (CLOCKWORK_MOTOR.tag, fields(CLOCKWORK_MOTOR, self.row(motor, nothing))) for motor in item.motors
        ]
        nodes = fields(CLOCKWORK, {"AbsoluteValue": 0, **self.row(item, nothing)})
        behind = [tag for tag, _ in nodes].index(MOTORS_BEHIND) + 1
        return CLOCKWORK.tag, [*nodes[:behind], ("ClockworkMotors", motors), *nodes[behind:]]

    def _network(self, item: Network, taken: Collection[str]) -> Node:
        number = Numbers([node.id for node in item.nodes], taken)
        lists: list[Node] = []
        for name, kinds in NODE_LISTS.items():
            members = [node for node in item.nodes if node.kind in kinds]
            nodes: list[Node] = []
            for i, node in enumerate(members):
                place = {"X": _COLUMN.get(node.kind, 240), "Y": 40 + _SPACING * i}
                extra = {"AmpModSource": 0} if node.kind == "source" else {}
                row = {**place, **extra, **self.near.get(node.id, {}), **self.row(node, number), "ID": number(node.id)}
                nodes.append((NODES[node.kind].tag, fields(NODES[node.kind], row)))
            lists.append((name, nodes))
        edges: list[Node] = [(EDGE.tag, fields(EDGE, self.row(edge, number))) for edge in item.edges]
        return NETWORK.tag, [*fields(NETWORK, self.row(item, number)), *lists, ("Edges", edges)]


def turned(behaviours: Behaviours, joints: Collection[str]) -> Behaviours:
    """Return behaviours for a file that counts some joints (ids) the other way round."""
    if not joints:
        return behaviours
    return replace(behaviours, items=[_turned(item, joints) for item in behaviours.items])


def _turned(item: Clockwork | Network, joints: Collection[str]) -> Clockwork | Network:
    if isinstance(item, Clockwork):
        motors = [
            replace(motor, offset=-motor.offset, amplitude=-motor.amplitude) if motor.joint in joints else motor
            for motor in item.motors
        ]
        return replace(item, motors=motors)
    reversed_nodes = {node.id for node in item.nodes if node.kind == "motor" and node.joint in joints}
    edges = [replace(edge, factor=-edge.factor) if edge.destination in reversed_nodes else edge for edge in item.edges]
    return replace(item, edges=edges)
