"""Conversion of an x_xy document's rows to a mechanism.

A body of the file is a body and its joint. Where our own writer needed several bodies for one joint, those in between
are marked as steps and merged into one joint again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from ...core.kinematics import CLOSES_LOOP
from ...core.model import DOF_SIZE, Array, Body, Dof, Frame, Joint, Mechanism, Shape, World, identity
from ...core.record_utils import freeze_array
from ...core.report import Message
from ...core.transforms import IDENTITY_POSE, inverse, make_pose, rotation_matrix, rotation_vector
from . import comments
from . import values as geometry
from .schema import DOF_ATTRIBUTES, WORLD_BODY, Block, JointKind, Vector, joint_kind
from .values import (
    GeomRow,
    Key,
    LinkRow,
    ModelRow,
    ReportCollector,
    restore_name,
    shape_from_row,
    unique_element_names,
)

R = TypeVar("R")
_MALFORMED_ERRORS = (KeyError, ValueError, TypeError, IndexError, AttributeError)


def build(model: ModelRow, path: str, remarks: ReportCollector) -> tuple[Mechanism, list[Key]]:
    """Build the mechanism of rows; returns it and the key of each row."""
    return _Builder(model, path, remarks).result()


@dataclass
class _Builder:
    model: ModelRow
    path: str
    remarks: ReportCollector
    mechanism: Mechanism = field(default_factory=Mechanism)

    def result(self) -> tuple[Mechanism, list[Key]]:
        model, out = self.model, self.mechanism
        out.name = restore_name(model.model) if model.model else PurePath(self.path).stem or "Mechanism"
        out.world = World(gravity=-np.array(model.gravity) + 0.0, time_step=model.dt)
        self.keys: list[Key] = [("", "", 0)] * len(model.links)
        self.ids, self.frame_ids = unique_element_names(), unique_element_names()
        self.body_of: list[str | None] = [None] * len(model.links)  # id of the body that a link carries
        self.poses: dict[str | None, Array] = {None: identity()}
        self.stretch = self._stretches()
        self.steps = self._steps()
        if model.geoms:
            self._world_body()
        for number, row in enumerate(model.links):
            if number in self.steps:
                continue
            if "frame" in row.note:
                self._frame(number, row)
            else:
                self._body(number, row)
        self._report_joint_kinds()
        self._whole_model()
        return out, self.keys

    def _stretches(self) -> list[float]:
        """Return the factor by which the program scales the position of each link: the squared quaternions above it."""
        out: list[float] = []
        below: list[float] = []
        for row in self.model.links:
            here = 1.0 if row.parent is None else below[row.parent]
            out.append(here)
            below.append(here * row.stretch)
        return out

    def _steps(self) -> set[int]:
        """Return the indices of the links that are only steps of a descendant's joint."""
        links = self.model.links
        children: dict[int, list[int]] = {}
        for number, row in enumerate(links):
            if row.parent is not None:
                children.setdefault(row.parent, []).append(number)
        marked = {
            number
            for number, row in enumerate(links)
            if row.note.get("step") is True and len(children.get(number, ())) == 1 and not row.geoms and not row.omcs
        }
        for number, row in enumerate(links):
            if number in marked or row.parent not in marked:
                continue
            chain = step_chain(links, number, marked)
            if "frame" in row.note or self._made(chain) is None:
                self.remarks.warn(
                    "edited-step",
                    Message(
                        "intermediate bodies of the joint of '{}' were edited; they are imported as bodies", row.name
                    ),
                )
                marked -= set(chain)
        return marked

    def _made(self, chain: list[int]) -> tuple[Array, Array, list[Dof]] | None:
        """Return frames and dofs of the joint of a chain of links; None where they do not make one joint."""
        last = self.model.links[chain[-1]]
        made = merge_steps(self.model.links, chain, self.stretch)
        if made is None and JOINT_FRAME in last.note:
            self.remarks.warn(
                "bad-note",
                Message("extension data of the joint of '{}' no longer match it; they are ignored", last.name),
            )
            del last.note[JOINT_FRAME]
            made = merge_steps(self.model.links, chain, self.stretch)
        return made

    def _pose(self, number: int) -> Array:
        """Return the pose of a link in its parent, with its position scaled as by the program."""
        pose = self.model.links[number].pose
        if self.stretch[number] == 1.0:
            return pose
        return make_pose(pose[:3, :3], pose[:3, 3] * self.stretch[number])

    def _carrier(self, number: int) -> str | None:
        parent = self.model.links[number].parent
        return None if parent is None else self.body_of[parent]

    def _world_body(self) -> None:
        """Create an immobile body from the geoms of the world."""
        names = unique_element_names()
        for row in self.model.links:
            names.add(row.name)
        own = self.ids(names.free(WORLD_BODY))
        body = Body(own, WORLD_BODY, immobile=True, extra={WORLD_BODY: True})
        self._weigh(body, self.model.geoms)
        body.shapes = [shape_from_row(row) for row in self.model.geoms]
        self.mechanism.bodies.append(body)

    def _body(self, number: int, row: LinkRow) -> None:
        links = self.model.links
        chain = step_chain(links, number, self.steps)
        name = restore_name(row.name)
        own = self.ids(row.note.get("id") or name or f"body {number + 1}")
        if name and own != name and "id" not in row.note:
            self.remarks.warn("repeated-name", Message("a second body is named '{}', which ring rejects", name))
        parent = self._carrier(chain[0])
        for step, link in enumerate(chain[:-1]):
            self.keys[link] = ("body", own, step)
        self.keys[number] = ("body", own, len(chain) - 1)
        self.body_of[number] = own
        body = Body(own, name or own, line=row.line)
        for limit in ("pos_min", "pos_max"):
            if limit in row.numbers:
                body.extra[limit] = list(row.numbers[limit])
        carriers = set(row.note.get("mass_geoms", ()))
        self._weigh(body, row.geoms)
        body.shapes = [shape_from_row(geom) for k, geom in enumerate(row.geoms) if k not in carriers]
        frame_parent, frame_child, dofs = self._made(chain)  # type: ignore[misc]
        kinds = [links[link].joint for link in chain if links[link].joint != "frozen"] or ["frozen"]
        kind = joint_kind(kinds[0]) if len(kinds) == 1 else None
        type_ = kind.type if kind else "weld" if not dofs else "compound"
        joint = Joint(own, body.name, type_, parent, own, frame_parent, frame_child, dofs, line=row.line)
        if len(kinds) == 1:
            joint.extra["joint"] = kinds[0]
        if kind is None and len(kinds) == 1:
            joint.extra["numbers"] = {name: list(row.numbers[name]) for name in DOF_ATTRIBUTES if name in row.numbers}
        body.pose = self.poses[parent] @ (
            frame_parent if frame_child is IDENTITY_POSE else frame_parent @ inverse(frame_child)
        )
        self.poses[own] = body.pose
        joints = [joint]
        self._apply(row, body, joints)
        self.mechanism.bodies.append(body)
        self.mechanism.joints += joints
        self._markers(row, body)

    def _weigh(self, body: Body, geoms: Sequence[GeomRow]) -> None:
        body.mass, body.com, body.inertia = geometry.geom_mass_properties(
            [(row.kind, row.dim, row.mass, row.pose) for row in geoms]
        )

    def _apply(self, row: LinkRow, body: Body, joints: list[Joint]) -> None:
        """Apply the extension data of a body to it and its joint."""
        note = row.note
        if not note:
            return
        try:
            comments.apply_fields(note.get("body", {}), body)
            joint = joints[0]
            comments.apply_fields(note.get("joint", {}), joint)
            if "dofs" in note:
                joint.dofs = [
                    _record_with_extension(own, dof) for own, dof in zip(note["dofs"], joint.dofs, strict=True)
                ]
            if "shapes" in note:
                body.shapes = _shapes_with_extension(note["shapes"], body.shapes)
            if note.get("against"):
                joints[0] = reverse_joint(joint)
            if note.get("loose"):
                joints.clear()
        except _MALFORMED_ERRORS:
            self.remarks.warn(
                "bad-note",
                Message("extension data of '{}' no longer match it; what does not match is ignored", row.name),
            )

    def _markers(self, row: LinkRow, body: Body) -> None:
        if len(row.omcs) > 1:
            self.remarks.warn("markers", Message("'{}' has {} markers; ring uses one", row.name, len(row.omcs)))
        for marker in row.omcs:
            pose = make_pose(position=marker.pos)
            frame = Frame(restore_name(marker.name), body.id, pose, extra={"pos_marker": marker.pos_marker})
            self.mechanism.frames.append(frame)

    def _frame(self, number: int, row: LinkRow) -> None:
        """Create a frame that was written as a body."""
        frame = Frame(restore_name(row.name), self._carrier(number), self._pose(number))
        try:
            comments.apply_fields(row.note["frame"], frame)
        except _MALFORMED_ERRORS:
            self.remarks.warn(
                "bad-note",
                Message("extension data of '{}' no longer match it; what does not match is ignored", row.name),
            )
        own = self.frame_ids(frame.name)
        self.keys[number] = ("frame", own, 0)
        self.mechanism.frames.append(frame)

    def _report_joint_kinds(self) -> None:
        chosen: dict[str, tuple[JointKind, list[str]]] = {}
        for row in self.model.links:
            kind = joint_kind(row.joint)
            if kind is None:
                message = Message(
                    "joint type '{}' is unknown in ring; it is imported as frozen, and kept in the file", row.joint
                )
                self.remarks.warn("unknown-joint", message)
            elif kind.refused:
                self.remarks.warn(
                    "refused-joint", Message("ring rejects joint type '{}' in a file; it is imported", row.joint)
                )
            elif kind.chosen and not row.note.get("dofs"):
                chosen.setdefault(kind.name, (kind, []))[1].append(row.name)
        for name, (kind, links) in chosen.items():
            axes = " then ".join("xyz"[block.axis.index(1.0)] for block in kind.blocks)
            message = Message(
                "{} has no axis in the file, ring chooses one at random; here it is {} of its body, and stays {} "
                "in the file ({}{})",
                name,
                axes,
                name,
                ", ".join(links[:3]),
                ", ..." if len(links) > 3 else "",
            )
            self.remarks.add("info", "axis-chosen", message)
        geoms = [geom.kind for row in self.model.links for geom in row.geoms]
        if {"cylinder", "capsule"} & set(geoms):
            self.remarks.add(
                "info",
                "long-axis",
                "cylinders and capsules lie along z, as ring draws them; their inertia is along x, as ring computes it",
            )

    def _whole_model(self) -> None:
        """Apply the extension data of the root."""
        note, out = self.model.note, self.mechanism
        nested = len(out.joints)
        try:
            out.name = note.get("name", out.name)
            comments.apply_fields(note.get("world", {}), out.world)
            for name, kind in comments.WHOLE_RECORDS.items():
                getattr(out, name).extend(comments.restore_record(kind, item) for item in note.get(name, ()))
        except _MALFORMED_ERRORS:
            self.remarks.warn(
                "bad-note", "extension data of the model no longer match it; what does not match is ignored"
            )
        for joint in out.joints[nested:]:  # the tree of the file is that of its nested bodies
            joint.extra[CLOSES_LOOP] = True
        here = {body.id for body in out.bodies}
        gone = [joint for joint in out.joints if not {joint.parent, joint.child} - {None} <= here]
        for joint in gone:
            self.remarks.warn(
                "dangling-joint",
                Message("joint '{}' in a comment: a body is missing; the joint is ignored", joint.name),
            )
        out.joints = [joint for joint in out.joints if joint not in gone] if gone else out.joints


def _shapes_with_extension(noted: Sequence[Any], shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes of a body by its extension data: geoms with changes, and shapes without a geom."""
    out = []
    for item in noted:
        rest = {key: value for key, value in item.items() if key != "geom"}
        if "geom" in item:
            out.append(_record_with_extension(rest, shapes[item["geom"]]))
        else:
            out.append(comments.restore_record(Shape, rest))
    return out


def _record_with_extension(note: Any, record: R) -> R:
    """Return a record with its extension data applied. Raises what ``comments.apply_fields`` raises."""
    made = replace(record)  # type: ignore[type-var]
    comments.apply_fields(note, made)
    return comments.validate_record(made)


#: Tolerance of poses and axes for steps that can be merged into one joint.
STEP_TOLERANCE = 1e-9
#: Key in the extension data of a body: the pose of its joint's frame in it.
JOINT_FRAME = "joint_frame"


def dofs_from_numbers(kind: JointKind, numbers: dict[str, tuple[float, ...]]) -> list[Dof]:
    """Return the degrees of freedom of a joint with its four lists of numbers."""
    return [_dof(block, numbers) for block in kind.blocks]


def reverse_joint(joint: Joint) -> Joint:
    """Exchange the ends of a joint; the value of a single axis stays, that of a ball or free block changes sign."""
    dofs = [_reverse_dof(dof) for dof in reversed(joint.dofs)]
    copy = replace(joint)
    copy.parent, copy.child, copy.dofs = joint.child, joint.parent, dofs
    copy.frame_parent, copy.frame_child = joint.frame_child, joint.frame_parent
    return copy


def _reverse_dof(dof: Dof) -> Dof:
    copy = replace(dof)
    if DOF_SIZE[dof.kind] == 1:
        copy.axis = -dof.axis + 0.0
    return copy


def step_chain(links: Sequence[LinkRow], number: int, steps: set[int]) -> list[int]:
    """Return a link preceded by its steps, in order."""
    chain = [number]
    while (parent := links[chain[0]].parent) is not None and parent in steps:
        chain.insert(0, parent)
    return chain


def merge_steps(
    links: Sequence[LinkRow], chain: Sequence[int], stretch: Sequence[float]
) -> tuple[Array, Array, list[Dof]] | None:
    """Return frames and dofs of the joint that several links make; None where they do not make one joint.

    The joint's frame is that of the first link, unless the extension data of the last give its pose in the body.
    """
    first, last = links[chain[0]], links[chain[-1]]
    start = first.pose
    if stretch[chain[0]] != 1.0:
        start = make_pose(start[:3, :3], start[:3, 3] * stretch[chain[0]])
    if len(chain) == 1 and JOINT_FRAME not in last.note:
        kind = joint_kind(first.joint)
        return start, IDENTITY_POSE, dofs_from_numbers(kind, first.numbers) if kind else []
    places = [start]  # pose of each link at rest, in the parent of the first
    for number in chain[1:]:
        if links[number].stretch != 1.0 or stretch[number] != 1.0:
            return None
        places.append(places[-1] @ links[number].pose)
    noted = pose_from_extension(last.note.get(JOINT_FRAME))
    entry = start if noted is None else places[-1] @ noted
    dofs = []
    for number, place in zip(chain, places, strict=True):
        kind = joint_kind(links[number].joint)
        if kind is None:
            return None
        for dof in dofs_from_numbers(kind, links[number].numbers):
            if not _transform_axis(inverse(entry) @ place, dof):
                return None
            dofs.append(dof)
    return entry, (inverse(places[-1]) @ entry if noted is None else noted), dofs


def _transform_axis(place: Array, dof: Dof) -> bool:
    """Transform the axis of a dof from the frame at ``place`` to the reference frame.

    False where the dof does not act through the origin of that frame.
    """
    if DOF_SIZE[dof.kind] > 1:
        return geometry.is_close(place, identity(), STEP_TOLERANCE)
    axis = place[:3, :3] @ dof.axis
    whole = np.rint(axis)
    dof.axis = np.where(np.abs(axis - whole) < geometry.EQUAL_TOLERANCE, whole, axis) + 0.0
    (x, y, z), (a, b, c) = place[:3, 3].tolist(), axis.tolist()
    beside = max(abs(y * c - z * b), abs(z * a - x * c), abs(x * b - y * a))
    return dof.kind == "translation" or beside <= STEP_TOLERANCE


def pose_from_extension(noted: Any) -> Array | None:
    """Return a pose from the six numbers of extension data: position and rotation vector; None where invalid."""
    try:
        numbers = np.array(noted, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if numbers.shape != (6,) or not np.isfinite(numbers).all():
        return None
    return make_pose(rotation_matrix(numbers[3:]) if numbers[3:].any() else None, numbers[:3])


def extension_from_pose(pose: Array) -> list[float]:
    """Return the six numbers of a pose for extension data: position and rotation vector."""
    return [float(x) + 0.0 for x in (*pose[:3, 3], *rotation_vector(pose[:3, :3]))]


def _dof(block: Block, numbers: dict[str, tuple[float, ...]]) -> Dof:
    dof = Dof(block.kind, _axis(block.axis))  # type: ignore[arg-type]
    lists = {
        attribute: _spring_rest(block, numbers[name][block.places])
        if name == "spring_zero"
        else numbers[name][block.rates]
        for name, attribute in DOF_ATTRIBUTES.items()
        if name in numbers
    }
    in_space = DOF_SIZE[block.kind] > 1 and "rest" in lists
    if not in_space and all(len(set(values)) <= 1 for values in lists.values()):
        for attribute, values in lists.items():
            setattr(dof, attribute, values[0])
        return dof
    dof.parts = [Dof("rotation" if i < 3 else "translation", np.eye(3)[i % 3]) for i in range(DOF_SIZE[block.kind])]
    for attribute, values in lists.items():
        for part, value in zip(dof.parts, values, strict=True):
            setattr(part, attribute, value)
    return dof


@cache
def _axis(axis: Vector) -> Array:
    """Return an axis, cached to be shared by all joints about it."""
    return freeze_array(np.array(axis))


def _spring_rest(block: Block, values: Sequence[float]) -> tuple[float, ...]:
    """Return the rest position of a spring, with a quaternion converted to a rotation vector."""
    if DOF_SIZE[block.kind] == 1:
        return tuple(values)
    return (*(float(x) for x in rotation_vector(geometry.rotation_from_quat(values[:4]))), *values[4:])
