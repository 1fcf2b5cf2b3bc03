"""Rows of an x_xy document to the records of a mechanism.

A body of the file is a body and the joint that it hangs by. Where our own writer needed several bodies for one joint,
those in between are marked as steps, and become one joint again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from ...core.kinematics import CLOSES_LOOP
from ...core.model import Array, Body, Dof, Frame, Joint, Mechanism, Shape, World, identity
from ...core.record_utils import HERE
from ...core.transforms import inverse
from . import geometry, notes
from .joints import JOINT_FRAME, chain_of, merged, turned_round
from .names import read_name, unique_names
from .rows import GeomRow, Key, LinkRow, ModelRow
from .table import COLORS, DOF_ATTRIBUTES, GEOMS, joint_kind
from .values import Remarks, color_of

R = TypeVar("R")
WORLD_BODY = "worldbody"
_ANYTHING_WRONG = (KeyError, ValueError, TypeError, IndexError, AttributeError)


def build(model: ModelRow, path: str, remarks: Remarks) -> tuple[Mechanism, list[Key]]:
    """The mechanism that rows describe, and who each of the rows is."""
    return _Builder(model, path, remarks).result()


def shape_of(row: GeomRow) -> Shape:
    """The neutral shape of a geom. What is wholly transparent neither shows nor collides."""
    kind = GEOMS[row.kind]
    color = color_of(row.color)
    hidden = color is not None and color[3] == 0.0
    extra: dict[str, Any] = {} if row.kind == "xyz" else {"mass": row.mass}
    if row.color and (color is None or row.color in COLORS):
        extra["color"] = row.color
    if row.edge_color:
        extra["edge_color"] = row.edge_color
    return Shape(
        kind.shape,
        dict(zip(kind.sizes, row.dim, strict=True)),
        row.pose,
        visual=not hidden,
        collision=not hidden and row.kind != "xyz",
        color=color,
        extra=extra,
    )


@dataclass
class _Builder:
    model: ModelRow
    path: str
    remarks: Remarks
    mechanism: Mechanism = field(default_factory=Mechanism)

    def result(self) -> tuple[Mechanism, list[Key]]:
        model, out = self.model, self.mechanism
        out.name = read_name(model.model) if model.model else PurePath(self.path).stem or "Mechanism"
        out.world = World(gravity=-np.array(model.gravity) + 0.0, time_step=model.dt)
        self.keys: list[Key] = [("", "", 0)] * len(model.links)
        self.ids, self.frame_ids = unique_names(), unique_names()
        self.body_of: list[str | None] = [None] * len(model.links)  # the id of the body that a link carries
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
        self._tell_kinds()
        self._whole_model()
        return out, self.keys

    def _stretches(self) -> list[float]:
        """By how much the program multiplies the place of each link: the squares of the quaternions above it."""
        out: list[float] = []
        below: list[float] = []
        for row in self.model.links:
            here = 1.0 if row.parent is None else below[row.parent]
            out.append(here)
            below.append(here * row.stretch)
        return out

    def _steps(self) -> set[int]:
        """Numbers of the links that are but steps of the joint of what hangs on them."""
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
            chain = chain_of(links, number, marked)
            if "frame" in row.note or self._made(chain) is None:
                self.remarks.warn("edited-step", f"the steps to '{row.name}' were edited; they are bodies of their own")
                marked -= set(chain)
        return marked

    def _made(self, chain: list[int]) -> tuple[Array, Array, list[Dof]] | None:
        """Return what the joint of a chain of links is made of; None where they make no one joint."""
        last = self.model.links[chain[-1]]
        made = merged(self.model.links, chain, self.stretch)
        if made is None and JOINT_FRAME in last.note:
            self.remarks.warn(
                "bad-note", f"the joint of '{last.name}' was edited so that its note does not fit any more"
            )
            del last.note[JOINT_FRAME]
            made = merged(self.model.links, chain, self.stretch)
        return made

    def _pose(self, number: int) -> Array:
        """The pose of a link in its parent, stretched as the program does."""
        pose = self.model.links[number].pose
        if self.stretch[number] == 1.0:
            return pose
        return geometry.pose_of(pose[:3, 3] * self.stretch[number], pose[:3, :3])

    def _carrier(self, number: int) -> str | None:
        parent = self.model.links[number].parent
        return None if parent is None else self.body_of[parent]

    def _world_body(self) -> None:
        """The geoms of the world, as a body that never moves."""
        names = unique_names()
        for row in self.model.links:
            names.add(row.name)
        own = self.ids(names.free(WORLD_BODY))
        body = Body(own, WORLD_BODY, immobile=True, extra={WORLD_BODY: True})
        self._weigh(body, self.model.geoms)
        body.shapes = [shape_of(row) for row in self.model.geoms]
        self.mechanism.bodies.append(body)

    def _body(self, number: int, row: LinkRow) -> None:
        links = self.model.links
        chain = chain_of(links, number, self.steps)
        name = read_name(row.name)
        own = self.ids(row.note.get("id") or name or f"body {number + 1}")
        if name and own != name and "id" not in row.note:
            self.remarks.warn("repeated-name", f"a second body is called '{name}', which the program refuses")
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
        body.shapes = [shape_of(geom) for k, geom in enumerate(row.geoms) if k not in carriers]
        frame_parent, frame_child, dofs = self._made(chain)  # type: ignore[misc]
        kinds = [links[link].joint for link in chain if links[link].joint != "frozen"] or ["frozen"]
        kind = joint_kind(kinds[0]) if len(kinds) == 1 else None
        type_ = kind.type if kind else "weld" if not dofs else "compound"
        joint = Joint(own, body.name, type_, parent, own, frame_parent, frame_child, dofs, line=row.line)
        if len(kinds) == 1:
            joint.extra["joint"] = kinds[0]
        if kind is None and len(kinds) == 1:
            joint.extra["numbers"] = {name: list(row.numbers[name]) for name in DOF_ATTRIBUTES if name in row.numbers}
        body.pose = self.poses[parent] @ (frame_parent if frame_child is HERE else frame_parent @ inverse(frame_child))
        self.poses[own] = body.pose
        joints = [joint]
        self._apply(row, body, joints)
        self.mechanism.bodies.append(body)
        self.mechanism.joints += joints
        self._markers(row, body)

    def _weigh(self, body: Body, geoms: Sequence[GeomRow]) -> None:
        body.mass, body.com, body.inertia = geometry.weigh([(row.kind, row.dim, row.mass, row.pose) for row in geoms])

    def _apply(self, row: LinkRow, body: Body, joints: list[Joint]) -> None:
        """What the note of a body adds to it and to its joint."""
        note = row.note
        if not note:
            return
        try:
            notes.apply(note.get("body", {}), body)
            joint = joints[0]
            notes.apply(note.get("joint", {}), joint)
            if "dofs" in note:
                joint.dofs = [_noted(own, dof) for own, dof in zip(note["dofs"], joint.dofs, strict=True)]
            if "shapes" in note:
                body.shapes = _noted_shapes(note["shapes"], body.shapes)
            if note.get("against"):
                joints[0] = turned_round(joint)
            if note.get("loose"):
                joints.clear()
        except _ANYTHING_WRONG:
            self.remarks.warn("bad-note", f"the note of '{row.name}' does not fit any more; what did not is left out")

    def _markers(self, row: LinkRow, body: Body) -> None:
        if len(row.omcs) > 1:
            self.remarks.warn("markers", f"'{row.name}' has {len(row.omcs)} markers; the program takes one")
        for marker in row.omcs:
            pose = geometry.pose_of(marker.pos, np.eye(3))
            frame = Frame(read_name(marker.name), body.id, pose, extra={"pos_marker": marker.pos_marker})
            self.mechanism.frames.append(frame)

    def _frame(self, number: int, row: LinkRow) -> None:
        """A frame that was written as a body."""
        frame = Frame(read_name(row.name), self._carrier(number), self._pose(number))
        try:
            notes.apply(row.note["frame"], frame)
        except _ANYTHING_WRONG:
            self.remarks.warn("bad-note", f"the note of '{row.name}' does not fit any more; what did not is left out")
        own = self.frame_ids(frame.name)
        self.keys[number] = ("frame", own, 0)
        self.mechanism.frames.append(frame)

    def _tell_kinds(self) -> None:
        chosen: dict[str, list[str]] = {}
        for row in self.model.links:
            kind = joint_kind(row.joint)
            if kind is None:
                message = (
                    f"'{row.joint}' is no joint of the program itself; what it does is not in the file, so that it is "
                    "taken as frozen, and kept"
                )
                self.remarks.warn("unknown-joint", message)
            elif kind.refused:
                self.remarks.warn(
                    "refused-joint", f"the program refuses the joint '{row.joint}' in a file; it is read as it is"
                )
            elif kind.chosen and not row.note.get("dofs"):
                chosen.setdefault(kind.name, []).append(row.name)
        for name, links in chosen.items():
            axes = " then ".join("xyz"[block.axis.index(1.0)] for block in joint_kind(name).blocks)
            message = (
                f"{name} has no axis in the file, and the program draws one at random; here it is {axes} of its body, "
                f"and it stays {name} in the file ({', '.join(links[:3])}{', ...' if len(links) > 3 else ''})"
            )
            self.remarks.add("info", "axis-chosen", message)
        geoms = [geom.kind for row in self.model.links for geom in row.geoms]
        if {"cylinder", "capsule"} & set(geoms):
            message = (
                "cylinders and capsules lie along z, as the program draws them; their inertia is the program's, "
                "which takes them as lying along x"
            )
            self.remarks.add("info", "long-axis", message)

    def _whole_model(self) -> None:
        """What the note of the root adds."""
        note, out = self.model.note, self.mechanism
        nested = len(out.joints)
        try:
            out.name = note.get("name", out.name)
            notes.apply(note.get("world", {}), out.world)
            for name, kind in notes.KEPT_WHOLE.items():
                getattr(out, name).extend(notes.restored(kind, item) for item in note.get(name, ()))
        except _ANYTHING_WRONG:
            self.remarks.warn("bad-note", "the note of the model does not fit any more; what did not is left out")
        for joint in out.joints[nested:]:  # the file's own tree is that of its nested bodies
            joint.extra[CLOSES_LOOP] = True
        here = {body.id for body in out.bodies}
        gone = [joint for joint in out.joints if not {joint.parent, joint.child} - {None} <= here]
        for joint in gone:
            self.remarks.warn("dangling-joint", f"the joint '{joint.name}' of a note has lost a body; it is left out")
        out.joints = [joint for joint in out.joints if joint not in gone] if gone else out.joints


def _noted_shapes(noted: Sequence[Any], shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of a body by its note: those of its geoms with what the note changes, and those without a geom."""
    out = []
    for item in noted:
        rest = {key: value for key, value in item.items() if key != "geom"}
        if "geom" in item:
            out.append(_noted(rest, shapes[item["geom"]]))
        else:
            out.append(notes.restored(Shape, rest))
    return out


def _noted(note: Any, record: R) -> R:
    """A record with what its note says of it. Raises what ``notes.apply`` raises."""
    made = replace(record)  # type: ignore[type-var]
    notes.apply(note, made)
    return notes.whole(made)
