"""Writer of Juice files: minimal edits of a mechanism's document, or a new one.

Indented with tabs, as by the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from lxml import etree

from ...core.gait.behaviors import Clockwork, GaitBehaviors, Network
from ...core.model import Array, Body, Joint, Mechanism, body_by_id, joint_by_id
from ...core.report import FormatError, Message, Report
from ..text.xml_editor import XmlEdits, start_edits
from ..text.xml_reader import escape_text
from .document import Document
from .from_model import (
    IdAllocator,
    IdLookup,
    body_row,
    convert_for_juice,
    joint_frame,
    joint_row,
    record_row,
    settings_row,
)
from .gait import (
    CLOCKWORK,
    CLOCKWORK_MOTOR,
    EDGE,
    MOTORS_AFTER_FIELD,
    NETWORK,
    NODE_LISTS,
    NODES,
    SourceRecord,
    behaviour_parts,
    record_table,
)
from .reader import SourceElement, model_element
from .schema import BODY, CONTAINERS, INTEGER, JOINTS, MODEL, NUMBER, Field, Row, Table
from .servo_gains import choose_cfm

#: Element as its tag and its text or its children.
ElementTuple = tuple[str, "str | list[ElementTuple]"]

_JPM_COMPONENT = frozenset({"ID", "Name", "Position", "Rotation", "Twin"})
_JPM_BARE = frozenset({"Length", "Diameter"})


def format_value(item: Field, value: object) -> str:
    """Return a value as the file's text."""
    return escape_text(item.kind.spell(value))


def field_nodes(table: Table, row: Row, paths: Iterable[str] | None = None) -> list[ElementTuple]:
    """Return the elements of a row, or of the fields at ``paths``, in their groups.

    Fields that the row lacks, and unknown numbers (None), are left out.
    """
    chosen = None if paths is None else set(paths)
    items = [item for item in table if item.path in row and (chosen is None or item.path in chosen)]
    items = [item for item in items if item.kind not in (NUMBER, INTEGER) or row[item.path] is not None]
    nodes: list[ElementTuple] = []
    for group, members in groupby(items, key=lambda item: item.path.rpartition("/")[0]):
        leaves: list[ElementTuple] = [
            (item.path.rpartition("/")[2], format_value(item, row[item.path])) for item in members
        ]
        if group:
            nodes.append((group, leaves))
        else:
            nodes += leaves
    return nodes


def object_node(table: Table, row: Row, dialect: str = "jm") -> ElementTuple:
    """Return a body or joint as an element of a dialect."""
    nodes = field_nodes(table, row)
    if dialect != "jpm":
        return table.tag, nodes
    component: ElementTuple = ("Component", [_legacy_node(node) for node in nodes if node[0] in _JPM_COMPONENT])
    rest = [_legacy_node(node) for node in nodes if node[0] not in _JPM_COMPONENT]
    if "Body1" not in table:
        return table.tag, [component, *rest]
    joint: ElementTuple = ("Joint", [component, *(node for node in rest if node[0] not in _JPM_BARE)])
    return table.tag, [joint, *(node for node in rest if node[0] in _JPM_BARE)]


def format_node(node: ElementTuple, indent: str = "", newline: str = "\n") -> str:
    """Format an element, without white space around it."""
    tag, content = node
    if isinstance(content, str):
        return f"<{tag}>{content.replace(chr(10), newline)}</{tag}>"
    inside = "".join(f"{newline}{indent}\t{format_node(child, indent + chr(9), newline)}" for child in content)
    return f"<{tag}>{inside}{newline}{indent}</{tag}>"


def _legacy_node(node: ElementTuple) -> ElementTuple:
    tag, content = node
    if tag == "Rotation" and not isinstance(content, str):
        return tag, [("H" if name == "Y" else name, value) for name, value in content]
    return ("Dimensions" if tag == "BoxDimensions" else tag), content


_COLUMN = {"source": 60, "motor": 420}  # canvas pixels for nodes without a position
_SPACING = 50


class BehaviourWriter:
    """Writer of behaviors.

    Args:
        body_id_of: the file's ID of a body.
        joint_id_of: the file's ID of a joint.
        near: rows of nodes by id, for what a record does not hold (their positions on the canvas).
    """

    def __init__(self, body_id_of: IdLookup, joint_id_of: IdLookup, near: Mapping[str, Row] | None = None) -> None:
        self.body_id_of, self.joint_id_of = body_id_of, joint_id_of
        self.near = near or {}

    def row(self, record: Any, node_number: IdLookup) -> Row:
        """Return a record's row, without its own ID."""
        numbers = {
            "joint": self.joint_id_of,
            "body": self.body_id_of,
            "feedback_body": self.body_id_of,
            "source": node_number,
            "destination": node_number,
        }
        return record_row(record, record_table(record), numbers)

    def node(self, item: Clockwork | Network, taken: Collection[str] = ()) -> ElementTuple:
        """Return a behavior as an element; ``taken`` are IDs that its nodes may not be given."""
        return self._clockwork(item) if isinstance(item, Clockwork) else self._network(item, taken)

    def _clockwork(self, item: Clockwork) -> ElementTuple:
        nothing: IdLookup = IdAllocator(())
        motors: list[ElementTuple] = [
            (CLOCKWORK_MOTOR.tag, field_nodes(CLOCKWORK_MOTOR, self.row(motor, nothing))) for motor in item.motors
        ]
        nodes = field_nodes(CLOCKWORK, {"AbsoluteValue": 0, **self.row(item, nothing)})
        behind = [tag for tag, _ in nodes].index(MOTORS_AFTER_FIELD) + 1
        return CLOCKWORK.tag, [*nodes[:behind], ("ClockworkMotors", motors), *nodes[behind:]]

    def _network(self, item: Network, taken: Collection[str]) -> ElementTuple:
        number = IdAllocator([node.id for node in item.nodes], taken)
        lists: list[ElementTuple] = []
        for name, kinds in NODE_LISTS.items():
            members = [node for node in item.nodes if node.kind in kinds]
            nodes: list[ElementTuple] = []
            for i, node in enumerate(members):
                place = {"X": _COLUMN.get(node.kind, 240), "Y": 40 + _SPACING * i}
                extra = {"AmpModSource": 0} if node.kind == "source" else {}
                row = {**place, **extra, **self.near.get(node.id, {}), **self.row(node, number), "ID": number(node.id)}
                nodes.append((NODES[node.kind].tag, field_nodes(NODES[node.kind], row)))
            lists.append((name, nodes))
        edges: list[ElementTuple] = [(EDGE.tag, field_nodes(EDGE, self.row(edge, number))) for edge in item.edges]
        return NETWORK.tag, [*field_nodes(NETWORK, self.row(item, number)), *lists, ("Edges", edges)]


def reverse_behaviour_signs(behaviours: GaitBehaviors, joints: Collection[str]) -> GaitBehaviors:
    """Return behaviors for a file in which the values of some joints (ids) have the opposite sign."""
    if not joints:
        return behaviours
    return replace(behaviours, items=[_reverse_signs(item, joints) for item in behaviours.items])


def _reverse_signs(item: Clockwork | Network, joints: Collection[str]) -> Clockwork | Network:
    if isinstance(item, Clockwork):
        motors = [
            replace(motor, offset=-motor.offset, amplitude=-motor.amplitude) if motor.joint in joints else motor
            for motor in item.motors
        ]
        return replace(item, motors=motors)
    reversed_nodes = {node.id for node in item.nodes if node.kind == "motor" and node.joint in joints}
    edges = [replace(edge, factor=-edge.factor) if edge.destination in reversed_nodes else edge for edge in item.edges]
    return replace(item, edges=edges)


_CONTAINER = {table.tag: name for name, table in CONTAINERS.items()}


def patch_document(document: Document, mechanism: Mechanism, report: Report) -> str:
    """Return the text of the document from which a mechanism was read, with the mechanism's edits."""
    return _Patch(document, mechanism, report).text()


class _Patch:
    """Differences between a document and a mechanism, collected and then applied."""

    def __init__(self, document: Document, mechanism: Mechanism, report: Report) -> None:
        self.document, self.mechanism, self.report = document, mechanism, report
        self.model = model_element(document.root)
        self.todo: list[Callable[[XmlEdits], None]] = []
        self.added: dict[str, list[ElementTuple]] = {}
        self.counts = {"changed": 0, "added": 0, "deleted": 0}
        before = document.mechanism
        self.before = before
        ids = [item.row["ID"] for item in (*document.bodies, *document.joints)]
        node_ids = [item.placed.row["ID"] for item in document.behaviours if "ID" in item.placed.table]
        self.taken = (*ids, *node_ids)
        self.plan = JuicePlan.of(mechanism, report, self.taken)
        self.body_before = IdAllocator(body.id for body in before.bodies)
        self.joint_before = IdAllocator(joint.id for joint in before.joints)

    def text(self) -> str:
        """Return the document's text with all edits; the exact text where there are none."""
        self._settings()
        self._bodies()
        self._behaviours(self._joints())
        if not self.todo and not self.added:
            self.report.info("document-kept", "Document: unedited, written as it was read")
            return self.document.text
        edits = start_edits(self.document)
        for change in self.todo:
            change(edits)
        for tag, nodes in self.added.items():
            self._add(edits, tag, nodes)
        said = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        self.report.info("document-patched", Message("Document: objects {}. All else is written as it was read", said))
        return edits.result()

    def _settings(self) -> None:
        placed = self.document.settings
        rows = [
            settings_row(which.world, getattr(which.behaviours, "engine", None), placed.row.whole())
            for which in (self.before, self.mechanism)
        ]
        self._fields(placed, rows[0], rows[1])

    def _bodies(self) -> None:
        before = body_by_id(self.before)
        placed = {item.row["ID"]: item for item in self.document.bodies}
        for body in self.plan.bodies:
            item = placed.pop(body.id, None)
            if item is None:
                self._append(object_node(BODY, body_row(body, self.plan.body_id_of), self._dialect))
            else:
                self._body(item, before[body.id], body)
        for item in placed.values():
            self._delete(item.element)

    def _body(self, item: SourceElement, before: Body, now: Body) -> None:
        row = item.row.whole()
        old = body_row(before, self.body_before, row, before.pose)
        self._fields(item, old, body_row(now, self.plan.body_id_of, row, before.pose))

    def _joints(self) -> set[str]:
        """Collect the edits of joints; returns the ids of those whose sign in the file changes."""
        before = joint_by_id(self.before)
        placed = {item.row["ID"]: item for item in self.document.joints}
        poses_before = {own: body.pose for own, body in body_by_id(self.before).items()}
        poses = poses_before | self.plan.pose_of
        turned_round = set()
        for joint in self.plan.joints:
            item = placed.get(joint.id)
            if item is not None and item.table is JOINTS[joint.type]:
                del placed[joint.id]
                sense = self._joint(item, before[joint.id], joint, poses_before, poses)
            else:
                frame = world_joint_frame(joint, poses, self.report)
                row, sense = joint_row(joint, frame, self.plan.body_id_of, self.plan.joint_id_of)
                self._append(object_node(JOINTS[joint.type], row, self._dialect))
            if self.plan.is_reversed(joint, sense):
                turned_round.add(joint.id)
        for item in placed.values():
            self._delete(item.element)
        return turned_round

    def _joint(self, item: SourceElement, before: Joint, now: Joint, poses_before: dict, poses: dict) -> float:
        quiet = Report()
        frame_before = world_joint_frame(before, poses_before, quiet)
        frame = world_joint_frame(now, poses, self.report)
        row = item.row.whole()
        old, _ = joint_row(before, frame_before, self.body_before, self.joint_before, row, frame_before)
        new, sense = joint_row(now, frame, self.plan.body_id_of, self.plan.joint_id_of, row, frame_before)
        self._fields(item, old, new)
        return sense

    def _behaviours(self, turned_round: set[str]) -> None:
        if not isinstance(self.mechanism.behaviours, GaitBehaviors):
            return
        now = reverse_behaviour_signs(self.mechanism.behaviours, turned_round).items
        groups = _group_behaviours(self.document.behaviours)
        objects = [item.placed for item in self.document.behaviours]
        near = {item.row["ID"]: item.row.whole() for item in objects if "ID" in item.table}
        writer = BehaviourWriter(self.plan.body_id_of, self.plan.joint_id_of, near)
        old_writer = BehaviourWriter(self.body_before, self.joint_before)
        pairs, lost, new = _match_behaviours(groups, now)
        for group, item in pairs:
            records = [item, *behaviour_parts(item)]
            if not _same_structure(group, records):
                self._replace(group[0].placed.element, writer.node(item, self._used))
                continue
            node_ids = {record.record.id for record in group if "ID" in record.placed.table}
            number = _FixedIds(node_ids)
            for placed, record in zip(group, records, strict=True):
                self._fields(placed.placed, old_writer.row(placed.record, number), writer.row(record, number))
        for group in lost:
            self._delete(group[0].placed.element)
        for item in new:
            self._append(writer.node(item, self._used), "Behaviors")

    @property
    def _used(self) -> set[str]:
        return {*self.taken, *self.plan.body_id_of.values(), *self.plan.joint_id_of.values()}

    @property
    def _dialect(self) -> str:
        return self.before.source.dialect

    def _fields(self, item: SourceElement, old: Row, new: Row) -> None:
        """Edit the values of one object that differ."""
        changed = [path for path in new if path in item.table and not _is_same_value(item, path, old[path], new[path])]
        if not changed:
            return
        self.counts["changed"] += 1
        places = item.places()
        missing = [path for path in changed if path not in places]
        for path in changed:
            if path in places:
                value = format_value(item.table[path], new[path])
                self.todo.append(lambda edits, element=places[path], value=value: edits.set_text(element, value))
        if missing:
            # a group that is missing is written completely
            groups = {path.partition("/")[0] for path in missing if "/" in path}
            paths = {*missing, *(path for path in new if path.partition("/")[0] in groups and path not in places)}
            self.todo.append(lambda edits: _insert_fields(edits, item, new, paths))

    def _delete(self, element: etree._Element) -> None:
        self.counts["deleted"] += 1
        self.todo.append(lambda edits: edits.delete(element))

    def _replace(self, element: etree._Element, node: ElementTuple) -> None:
        self.counts["changed"] += 1
        self.todo.append(lambda edits: edits.replace(element, format_node(node, edits.indent(element), edits.newline)))

    def _append(self, node: ElementTuple, container: str | None = None) -> None:
        self.counts["added"] += 1
        self.added.setdefault(container or _CONTAINER[node[0]], []).append(node)

    def _add(self, edits: XmlEdits, container: str, nodes: list[ElementTuple]) -> None:
        """Append new elements to their list, which is created if missing."""
        parent = self.model.find(container)
        if parent is not None:
            indent = edits.indent(parent) + "\t"
            edits.insert_last(
                parent, "".join(f"{edits.newline}{indent}{format_node(n, indent, edits.newline)}" for n in nodes)
            )
            return
        indent = edits.indent(self.model) + ("" if self._dialect == "jpm" else "\t")
        if self._dialect != "jpm":
            nodes = [(container, nodes)]
        for node in nodes:
            edits.insert_last(self.model, f"{edits.newline}{indent}{format_node(node, indent, edits.newline)}")


class _FixedIds:
    """Lookup of node IDs for a network whose nodes are unchanged: each keeps its own."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids

    def __call__(self, own: str | None) -> str | None:
        return own if own in self.ids else None


def _is_same_value(item: SourceElement, path: str, old: Any, new: Any) -> bool:
    if item.table[path].kind is NUMBER:
        return old == new or math.isclose(old, new, rel_tol=1e-12)
    return bool(old == new)


def _insert_fields(edits: XmlEdits, item: SourceElement, row: Row, paths: set[str]) -> None:
    """Insert fields that the document lacks behind the field that precedes them in the table."""
    order, places = [field.path for field in item.table], item.places()
    for node in field_nodes(item.table, row, paths):
        group, leaves = (node[0], node[1]) if not isinstance(node[1], str) else ("", [])
        first = f"{group}/{leaves[0][0]}" if group else node[0]
        siblings = [element for path, element in places.items() if group and path.startswith(f"{group}/")]
        if siblings:
            for leaf in leaves:
                edits.insert_after(siblings[-1], edits.space_before(siblings[-1]) + format_node(leaf))
            continue
        before = [path for path in order[: order.index(first)] if path in places]
        anchor = places[before[-1]] if before else None
        if anchor is not None and "/" in before[-1]:
            anchor = anchor.getparent()
        parent = anchor if anchor is not None else item.element[0] if len(item.element) else None
        space = edits.space_before(parent) if parent is not None else edits.newline
        markup = space + format_node(node, space.rpartition("\n")[2], edits.newline)
        if anchor is not None:
            edits.insert_after(anchor, markup)
        else:
            edits.insert_first(item.element, markup)


def _group_behaviours(found: list[SourceRecord]) -> list[list[SourceRecord]]:
    """Group behaviors with their parts, one list each."""
    groups: list[list[SourceRecord]] = []
    for item in found:
        if isinstance(item.record, Clockwork | Network):
            groups.append([])
        groups[-1].append(item)
    return groups


def _match_behaviours(
    groups: list[list[SourceRecord]], now: list[Clockwork | Network]
) -> tuple[list[tuple[list[SourceRecord], Clockwork | Network]], list[list[SourceRecord]], list[Clockwork | Network]]:
    """Match the document's behaviors to the current ones; returns pairs, deleted ones, and new ones."""
    if len(groups) == len(now):
        return list(zip(groups, now, strict=True)), [], []
    pairs = []
    for alike in (_equal, _same_name):
        for group in list(groups):
            match = next((item for item in now if alike(group[0].record, item)), None)
            if match is not None:
                pairs.append((group, match))
                groups = [other for other in groups if other is not group]
                now = [other for other in now if other is not match]
    return pairs, groups, now


def _equal(a: object, b: object) -> bool:
    return a == b


def _same_name(a: Clockwork | Network, b: Clockwork | Network) -> bool:
    return type(a) is type(b) and a.name == b.name


def _same_structure(group: list[SourceRecord], records: list[Any]) -> bool:
    if len(group) != len(records):
        return False
    return all(
        record_table(placed.record) is record_table(record)
        and getattr(placed.record, "id", "") == getattr(record, "id", "")
        for placed, record in zip(group, records, strict=True)
    )


FRAME_TOLERANCE = 1e-6


@dataclass
class JuicePlan:
    """Bodies and joints to be written, converted for Juice, with their IDs."""

    bodies: list[Body]
    joints: list[Joint]
    body_id_of: IdAllocator
    joint_id_of: IdAllocator
    pose_of: dict[str, Array]
    #: Signs of joint values in the file, by joint id; welds have none.
    file_signs: dict[str, float]

    @classmethod
    def of(cls, mechanism: Mechanism, report: Report, taken: Iterable[str] = ()) -> JuicePlan:
        """Convert a mechanism for Juice.

        Args:
            mechanism: the mechanism.
            report: receives the losses.
            taken: IDs not to be given to new objects.

        Raises:
            FormatError: two objects of one kind have the same id.
        """
        bodies, joints = convert_for_juice(mechanism, report)
        try:
            body_id_of = IdAllocator((body.id for body in bodies), (*taken, *(joint.id for joint in joints)))
            joint_id_of = IdAllocator((joint.id for joint in joints), (*taken, *body_id_of.values()))
        except FormatError as error:
            raise FormatError(error.message, path=mechanism.source.path, remedy=error.remedy) from None
        pose_of = {body.id: body.pose for body in mechanism.bodies}
        file_signs = {joint.id: joint.dofs[0].file_sign for joint in mechanism.joints if joint.dofs}
        return cls(bodies, joints, body_id_of, joint_id_of, pose_of, file_signs)

    def is_reversed(self, joint: Joint, sense: float) -> bool:
        """Return whether the sign of a joint's value in the file changes, ``sense`` being that of its row."""
        return sense != self.file_signs.get(joint.id, sense)


def world_joint_frame(joint: Joint, pose_of: Mapping[str, Array], report: Report) -> Array:
    """Return a joint's world frame (4, 4); reported where its two bodies disagree."""
    frame, apart = joint_frame(joint, pose_of)
    if apart > FRAME_TOLERANCE * (1.0 + abs(frame[:3, 3]).max()):
        message = Message(
            "Joint '{}': joint separation {}. The side of the parent is written", joint.name, f"{apart:.3g}"
        )
        report.warn("joint-apart", message)
    return frame


def new_document(mechanism: Mechanism, report: Report) -> str:
    """Return the text of a new Juice file (.jm) with everything of a mechanism that Juice can hold."""
    plan = JuicePlan.of(mechanism, report)
    rows: dict[str, list[Row]] = {table.tag: [] for table in CONTAINERS.values()}
    rows[BODY.tag] = [body_row(body, plan.body_id_of) for body in plan.bodies]
    reversed_joints = set()
    for joint in plan.joints:
        frame = world_joint_frame(joint, plan.pose_of, report)
        row, sense = joint_row(joint, frame, plan.body_id_of, plan.joint_id_of)
        rows[JOINTS[joint.type].tag].append(row)
        if plan.is_reversed(joint, sense):
            reversed_joints.add(joint.id)
    behaviours = mechanism.behaviours if isinstance(mechanism.behaviours, GaitBehaviors) else GaitBehaviors()
    usual = dict(MODEL.defaults)
    if mechanism.source.format != "juice" and mechanism.behaviours is None:
        rigid = choose_cfm(mechanism, usual["ERP"], usual["CFM"])
        if mechanism.world.cfm is None and rigid != usual["CFM"]:
            report.info(
                "approximated-softness",
                Message("Joint softness: rigid joints are written as springs with a CFM of {}", f"{rigid:g}"),
            )
        usual["CFM"] = rigid
    settings = settings_row(mechanism.world, behaviours.engine, usual)
    writer = BehaviourWriter(plan.body_id_of, plan.joint_id_of)
    taken = {*plan.body_id_of.values(), *plan.joint_id_of.values()}
    content: list[ElementTuple] = [
        *field_nodes(MODEL, settings),
        *((name, _object_nodes(table, rows[table.tag])) for name, table in CONTAINERS.items()),
        (
            "Behaviors",
            [writer.node(item, taken) for item in reverse_behaviour_signs(behaviours, reversed_joints).items],
        ),
    ]
    return format_node((MODEL.tag, content)).replace("<Model>", '<Model FileVersion="1">', 1) + "\n"


def _object_nodes(table: Table, rows: list[Row]) -> list[ElementTuple]:
    return [object_node(table, row) for row in rows]
