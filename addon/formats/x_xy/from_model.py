"""Conversion of a mechanism to rows of an x_xy document: the inverse of ``to_model``.

What a document cannot hold goes into extension data: the rows are converted back, and any difference to the mechanism
is recorded there and reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import numpy as np

from ...core.kinematics import Link, Tree, spanning_tree
from ...core.model import Body, Dof, Frame, Joint, Mechanism, body_by_id, identity
from ...core.record_utils import records_equal
from ...core.report import Message, Report
from ...core.transforms import bitwise_equal, inverse
from . import comments, values
from .comments import ExtensionData
from .from_model_parts import (
    CachedLink,
    LinkCache,
    body_geoms,
    joint_steps,
    scenery_body,
    warn_dropped,
    warn_kept_as_comment,
    warn_unattached_joints,
)
from .schema import joint_kind
from .to_model import JOINT_FRAME, build, extension_from_pose, reverse_joint
from .values import LinkRow, ModelRow, OmcRow, ReportCollector, restore_name, safe_name, unique_element_names

_BODY_EXCLUDED = frozenset({"id", "pose", "shapes", "mass", "com", "inertia", "line"})
_JOINT_EXCLUDED = frozenset({"parent", "child", "frame_parent", "frame_child", "dofs", "line"})
_DOF_EXCLUDED = frozenset({"axis", "damping", "armature", "stiffness", "rest", "parts"})
#: Fields that lose only their spelling, or that are reported elsewhere.
_UNREPORTED_FIELDS = frozenset({"id", "name", "type", "kind", "pitch", "extra", "immobile", "parts"})
_PART_FIELDS = frozenset({"kind", "axis", "damping", "armature", "stiffness", "rest"})

#: Function that computes the extension data of bodies, by id, in their rows.
CommentRequest = Callable[[Collection[str]], None]


def model_rows(mechanism: Mechanism, report: Report) -> ModelRow:
    """Return the rows of a mechanism for a new document."""
    remarks = ReportCollector(report)
    out = _RowWriter(mechanism, remarks, None, {}).model()
    remarks.report_all()
    return out


class OriginalRows:
    """Rows of a document's mechanism, for comparison with the current ones.

    Extension data are computed only for the bodies that are compared.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._memory: LinkCache = {}
        self._writer = _RowWriter(mechanism, ReportCollector(Report()), mechanism, self._memory, unasked=True)
        self.rows = self._writer.model()

    def current_rows(self, mechanism: Mechanism, then: Mechanism, report: Report) -> tuple[ModelRow, CommentRequest]:
        """Return the rows of the current mechanism, and the function that computes extension data of bodies by id.

        Bodies that are unchanged, with unchanged joints, reuse cached steps and geoms and their earlier extension data
        (possibly not yet computed); these are not reported again.

        Args:
            mechanism: the current mechanism.
            then: that of the document: its content may be written even if the loader rejects it, and unedited mass
                distributions follow the geoms.
            report: receives the losses.
        """
        remarks = ReportCollector(report)
        now = _RowWriter(mechanism, remarks, then, dict(self._memory))
        out = now.model()
        remarks.report_all()
        now.read |= self._writer.read & now.noted.keys()
        self._writer.note_bodies(self._memory.keys() - now.noted.keys())
        return out, now.note_bodies


class _RowWriter:
    """Writer of rows; with ``unasked`` extension data are computed only on request."""

    def __init__(
        self,
        mechanism: Mechanism,
        remarks: ReportCollector,
        before: Mechanism | None,
        memory: LinkCache,
        unasked: bool = False,
    ) -> None:
        self.mechanism, self.remarks, self.kept = mechanism, remarks, before is not None
        self.memory, self.unasked = memory, unasked
        self.noted: dict[str, ExtensionData] = {}  # extension data of unchanged bodies
        self.read: set[str] = set()  # bodies whose extension data are computed
        self.before = {} if before is None else body_by_id(before)
        self.named_before = _names_shared_with_joints(before)
        self.refers = _refers_by_id(mechanism)
        self.followed: set[str] = set()  # bodies whose mass, or its distribution, follows their geoms
        self.tree: Tree = spanning_tree(mechanism)
        self.linked = {link.body for link in self.tree.links}
        self.names = unique_element_names()
        self.out = ModelRow()
        self.index_of_body: dict[str | None, int | None] = {None: None}  # index of the link that carries a body
        self.joint_of: dict[str, Joint] = {}  # joint by body as written, from the parent to the body
        self.against: set[str] = set()
        self.left: list[Joint] = []
        self.whole: list[Frame] = []

    def model(self) -> ModelRow:
        """Return all rows, with their extension data."""
        mechanism, out = self.mechanism, self.out
        if mechanism.name:
            out.model = safe_name(mechanism.name)
        out.gravity = tuple(float(x) for x in -mechanism.world.gravity + 0.0)
        out.dt = mechanism.world.time_step
        scenery = scenery_body(mechanism)
        order = self._tree_order(scenery)
        warn_dropped(mechanism, self.remarks)
        for body, link in order:
            self._body(body, link)
        if scenery is not None:
            out.geoms = body_geoms(scenery, self.remarks, self.before.get(scenery.id)).rows
        self._frames(scenery)
        self._notes()
        self._in_file_order()
        return out

    def _tree_order(self, scenery: Body | None) -> list[tuple[Body, Link | None]]:
        """Return bodies with their link of the spanning tree, parents first and otherwise in file order."""
        bodies = body_by_id(self.mechanism)
        links = {link.body: link for link in self.tree.links}
        below: dict[str | None, list[str]] = {}
        for own in dict.fromkeys(body.id for body in self.mechanism.bodies):
            if scenery is None or own != scenery.id:
                link = links.get(own)
                below.setdefault(None if link is None else link.carrier, []).append(own)
        out: list[tuple[Body, Link | None]] = []
        waiting = below.get(None, [])[::-1]
        while waiting:
            own = waiting.pop()
            out.append((bodies[own], links.get(own)))
            waiting += below.get(own, [])[::-1]
        used = {link.joint.id for link in self.tree.links}
        self.left = [joint for joint in self.mechanism.joints if joint.id not in used]
        return out

    def _body(self, body: Body, link: Link | None) -> None:
        joint = self._joint(body, link)
        parent = self.index_of_body[joint.parent]
        old = self.memory.get(body.id)
        is_same = old is not None and records_equal(body, old.body) and records_equal(joint, old.joint)
        made = old if old is not None and is_same else self._made(body, joint)
        if not is_same:
            self.remarks.take(made.remarks)
        steps, geoms = made.steps, made.geoms
        name = self._name(body.name or body.id)
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            row = LinkRow(
                name if last else self._name(f"{name} step {number + 1}"),
                step.joint,
                parent,
                step.pose,
                numbers=dict(step.numbers),
                note={} if last else {"step": True},
                key=("body", body.id, number),
            )
            parent = len(self.out.links)
            self.out.links.append(row)
        row.numbers |= {
            limit: tuple(map(float, body.extra[limit])) for limit in ("pos_min", "pos_max") if body.extra.get(limit)
        }
        if geoms.follows:
            self.followed.add(body.id)
        row.geoms = geoms.rows
        row.note |= made.note
        self.index_of_body[body.id] = parent
        carried = link is not None, link is not None and link.is_reversed
        noted = (row.name, self.refers, bool(self.left), self.named_before.get(body.id), *carried)
        if is_same and made.row is not None and made.noted == noted:
            self.noted[body.id] = made.row.note
        self.memory[body.id] = replace(made, row=row, noted=noted)

    def _made(self, body: Body, joint: Joint) -> CachedLink:
        remarks = ReportCollector(Report())
        geoms = body_geoms(body, remarks, self.before.get(body.id))
        steps, there, note = joint_steps(joint, self.kept), identity(), geoms.note()
        for step in steps[1:]:
            there = inverse(step.pose) @ there
        if not values.is_close(joint.frame_child, there, 1e-12):
            note = {JOINT_FRAME: extension_from_pose(joint.frame_child), **note}
        return CachedLink(body, joint, steps, geoms, note, remarks)

    def _joint(self, body: Body, link: Link | None) -> Joint:
        """Return the joint of a body, from its parent; a free or frozen one if it has none."""
        if link is None:
            dofs = [] if body.immobile else [Dof("free")]
            kind = "weld" if body.immobile else "free"
            joint = Joint(body.id, body.name, kind, None, body.id, body.pose, identity(), dofs)
        elif link.is_reversed:
            self.against.add(body.id)
            joint = reverse_joint(link.joint)
        else:
            joint = link.joint
        self.joint_of[body.id] = joint
        return joint

    def _name(self, wanted: str) -> str:
        return self.names(safe_name(wanted))

    def _frames(self, scenery: Body | None) -> None:
        """Write markers in their bodies, and other frames as frozen bodies."""
        names = unique_element_names()
        for frame in self.mechanism.frames:
            carrier = frame.body if scenery is None or frame.body != scenery.id else None
            if carrier not in self.index_of_body:
                self.whole.append(frame)
                continue
            number = self.index_of_body[carrier]
            # the program takes one marker per body, although a document may have more
            room = number is not None and (self.kept or not self.out.links[number].omcs)
            if number is not None and room and _is_marker(frame):
                position = tuple(float(x) for x in frame.pose[:3, 3])
                marker = OmcRow(safe_name(frame.name), str(frame.extra["pos_marker"]), position)
                self.out.links[number].omcs.append(marker)
                continue
            own = names(frame.name)
            row = LinkRow(self._name(frame.name or "frame"), "frozen", number, frame.pose, key=("frame", own, 0))
            row.note = {"frame": {}}
            back = Frame(restore_name(row.name), frame.body, frame.pose)
            row.note["frame"] = comments.changed_fields(frame, back, frozenset({"pose", "body"}))
            self.out.links.append(row)

    def _notes(self) -> None:
        """Compute and report extension data; unchanged bodies already have theirs."""
        self._note_model(
            build(ModelRow(self.out.model, self.out.gravity, self.out.dt), "", ReportCollector(Report()))[0]
        )
        if self.unasked:
            return
        rows = {row.key[1]: row for row in self._own_rows()}
        for own, note in self.noted.items():
            rows[own].note = dict(note)
        self.note_bodies(rows.keys() - self.noted.keys())
        self._report_comments({own: row.note for own, row in rows.items() if own not in self.noted})

    def _report_comments(self, noted: Mapping[str, ExtensionData]) -> None:
        said: Counter[tuple[str, str]] = Counter()
        first: dict[tuple[str, str], str] = {}
        bodies = body_by_id(self.mechanism)
        for own, note in noted.items():
            on_joints = [
                ("joint", fields, self.joint_of[own].name) for fields in (note.get("joint", ()), *note.get("dofs", ()))
            ]
            for what, fields, name in (("body", note.get("body", ()), bodies[own].name), *on_joints):
                for item in sorted({*fields} - _UNREPORTED_FIELDS):
                    said[what, item] += 1
                    first.setdefault((what, item), name)
        for (what, item), count in said.items():
            more = f" and {count - 1} more" if count > 1 else ""
            missing = f"{comments.field_label(item)} of a {what} ('{first[what, item]}'{more})"
            self.remarks.warn("kept-as-comment", Message("Not in x_xy, kept as a comment: {}", missing))

    def _own_rows(self) -> list[LinkRow]:
        """Return the rows of the bodies themselves, without those between the steps of their joints."""
        return [row for row in self.out.links if row.key[0] == "body" and "step" not in row.note]

    def note_bodies(self, asked: Collection[str]) -> None:
        """Convert rows of bodies back and record the differences, for those of the given ids not yet done."""
        asked = {*asked} - self.read
        back, _ = build(self._to_read(asked), "", ReportCollector(Report()))
        joints = {joint.child: joint for joint in back.joints}
        bodies = body_by_id(self.mechanism)
        reading = [row for row in self._own_rows() if row.key[1] in asked]
        for row, read_body in zip(reading, back.bodies, strict=True):
            own = row.key[1]
            self._note(row, bodies[own], read_body, self.joint_of[own], joints[read_body.id])
        self.read |= asked

    def _to_read(self, asked: Collection[str]) -> ModelRow:
        """Return the rows of bodies to be converted back; their parents are not needed."""
        place: dict[int, int] = {}
        out = ModelRow(self.out.model, self.out.gravity, self.out.dt)
        for number, row in enumerate(self.out.links):
            if row.key[0] == "body" and row.key[1] in asked:
                place[number] = len(out.links)
                parent = None if row.parent is None else place.get(row.parent)
                out.links.append(replace(row, parent=parent))
        return out

    def _note(self, row: LinkRow, body: Body, read_body: Body, joint: Joint, read_joint: Joint) -> None:
        note = row.note
        renamed = self.named_before.get(body.id) == joint.name and not (
            self.refers or self.left
        )  # joint and body have the same name
        if read_body.id != body.id and not renamed:
            note["id"] = body.id
        apart = comments.changed_fields(body, read_body, _BODY_EXCLUDED)
        for name, amount in (("mass", abs(body.mass)), ("com", 1.0), ("inertia", None)):
            mine, theirs = getattr(body, name), getattr(read_body, name)
            if mine is None or body.id in self.followed:
                continue
            if mine == theirs if name == "mass" else bitwise_equal(mine, theirs):
                continue
            size = float(np.abs(mine).max()) if amount is None else amount
            if float(np.abs(np.asarray(mine) - np.asarray(theirs)).max()) > 1e-9 * (size or 1.0):
                apart[name] = np.asarray(mine).tolist() if name != "mass" else float(mine)
        if apart:
            note["body"] = apart
        if body.id not in self.linked:
            note["loose"] = True
            return
        if body.id in self.against:
            note["against"] = True
        read_joint.id = read_body.id if "id" not in note else body.id
        mine = comments.changed_fields(joint, read_joint, _JOINT_EXCLUDED | ({"id", "name"} if renamed else set()))
        if mine:
            note["joint"] = mine
        kind = joint_kind(row.joint)
        chosen = kind is not None and kind.chosen
        dofs = [_dof_difference(dof, read, chosen) for dof, read in zip(joint.dofs, read_joint.dofs, strict=True)]
        if any(dofs):
            note["dofs"] = dofs

    def _note_model(self, back: Mechanism) -> None:
        mechanism, note = self.mechanism, self.out.note
        if mechanism.name != back.name and mechanism.name:
            note["name"] = mechanism.name
        world = comments.changed_fields(mechanism.world, back.world, frozenset({"gravity", "time_step"}))
        if world:
            note["world"] = world
            for item in world:
                message = Message("Not in x_xy, kept as a comment: {} of the world", comments.field_label(item))
                self.remarks.add("info", "kept-as-comment", message)
        for name, items in (
            ("joints", self.left),
            ("assemblies", mechanism.assemblies),
            ("restraints", mechanism.restraints),
            ("lights", mechanism.lights),
            ("frames", self.whole),
        ):
            if items:
                note[name] = [comments.non_default_fields(item) for item in items]
        warn_unattached_joints(self.left, self.tree.loop_joints, self.remarks)
        warn_kept_as_comment(mechanism, self.remarks)

    def _in_file_order(self) -> None:
        """Sort the links in file order: each followed by all its descendants."""
        links = self.out.links
        below: dict[int | None, list[int]] = {}
        for number, row in enumerate(links):
            below.setdefault(row.parent, []).append(number)
        order: list[int] = []
        waiting = below.get(None, [])[::-1]
        while waiting:
            number = waiting.pop()
            order.append(number)
            waiting += below.get(number, [])[::-1]
        place = {number: i for i, number in enumerate(order)}
        self.out.links = [links[number] for number in order]
        for row in self.out.links:
            row.parent = None if row.parent is None else place[row.parent]


def _dof_difference(dof: Dof, read: Dof, chosen: bool) -> comments.ExtensionData:
    """Return what conversion back does not restore of a dof; ``chosen`` if its axis is not in the file."""
    out = comments.changed_fields(dof, read, _DOF_EXCLUDED)
    if chosen and not values.is_close(dof.axis, read.axis, 1e-9):
        out["axis"] = [float(x) for x in dof.axis]
    parts = [comments.non_default_fields(part) for part in dof.parts]
    if any(part.keys() - _PART_FIELDS for part in parts):
        out["parts"] = parts
    return out


def _names_shared_with_joints(before: Mechanism | None) -> dict[str, str]:
    """Return the names, by id, of a document's bodies whose joints have the same name, both used as ids."""
    if before is None:
        return {}
    joints = {joint.child: joint for joint in before.joints}
    return {
        body.id: body.name
        for body in before.bodies
        if body.id in joints and body.id == body.name == joints[body.id].name == joints[body.id].id
    }


def _refers_by_id(mechanism: Mechanism) -> bool:
    """Return whether extension data refer to bodies or joints by their ids."""
    twins = [*(body.twin for body in mechanism.bodies), *(joint.twin for joint in mechanism.joints)]
    loose = (not joint.active for joint in mechanism.joints)
    return bool(mechanism.restraints or mechanism.lights or any(twins) or any(loose))


def _is_marker(frame: Frame) -> bool:
    return "pos_marker" in frame.extra and values.is_close(frame.pose[:3, :3], np.eye(3))
