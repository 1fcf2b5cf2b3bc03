"""A mechanism written into the document it was read from: what was edited changes there, and nothing else.

Both the mechanism as it was read and as it is now are planned; only where the two plans differ is the text touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...core.model import Array, Mechanism
from ...core.report import Report
from ...core.transforms import inverse
from ..documents import prepared
from ..xmledits import edits_of
from .changes import Changes
from .document import Document, Skeleton
from .geometry import pose_of
from .markup import body_node, joint_node, spelt
from .patch_parts import coordinates_patched, markers_patched, shapes_patched
from .plan import Plan
from .planned import PlannedBody, PlannedJoint, Standing, Standings
from .read import Placed
from .rows import same_value
from .table import MOMENT, SIX, Row
from .write import skeleton_node

_MASS = ("inertia/mass", "inertia/offset")


class Unpatchable(Exception):
    """What was edited does not fit into the document; the message says why."""


def patched(document: Document, mechanism: Mechanism, report: Report) -> str:
    """The text of the document that a mechanism was read from, with the mechanism's edits. Unpatchable where they need
    another document."""
    return _Patch(document, mechanism, report).text()


class _Patch:
    def __init__(self, document: Document, mechanism: Mechanism, report: Report) -> None:
        self.document, self.report = document, report
        self.changes = Changes()
        self.counts = {"changed": 0, "added": 0, "deleted": 0}
        self.bodies = {item.id: item for skeleton in document.skeletons for item in skeleton.bodies}
        self.joints = {
            item.id: item for skeleton in document.skeletons for item in (*skeleton.joints, *skeleton.implied)
        }
        self.home = {item.id: skeleton for skeleton in document.skeletons for item in skeleton.bodies}
        self.before, known = prepared(document, "plan", self._planned)
        said = Report()
        self.now = Plan.of(mechanism, said, self._standing(mechanism), self.before)
        report.entries += [entry for entry in said.entries if (entry.code, entry.message) not in known]
        self.gone: set[str] = set()
        self.scattered = False
        self.homes = {id(plan): self._homes(plan) for plan in (self.before, self.now)}

    def _planned(self) -> tuple[Plan, set[tuple[str, str]]]:
        """The plan of the document as it is, and what there is to say of it."""
        quiet, mechanism = Report(), self.document.mechanism
        plan = Plan.of(mechanism, quiet, self._standing(mechanism))
        return plan, {(entry.code, entry.message) for entry in quiet.entries}

    def text(self) -> str:
        """The document's text with every edit made; the very text where there is none."""
        self._world()
        self._skeletons()
        self._bodies()
        self._joints()
        if not self.changes:
            self.report.info("document-kept", "nothing was edited; the document is written as it was read")
            return self.document.text
        if self.scattered:
            raise Unpatchable("a joint joins bodies of two of its skeletons")
        said = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        self.report.info("document-patched", f"objects in the document: {said}; all else is written as it was read")
        return self.changes.made(edits_of(self.document))

    def _standing(self, mechanism: Mechanism) -> Standings:
        """Return how the objects of the document are called in it, but for those that were given another name."""
        read, found = self.document.mechanism, Standings()
        names = {body.id: body.name for body in read.bodies}
        for body in mechanism.bodies:
            if body.id in self.bodies and body.id in names:
                own = self.bodies[body.id].row["@name"]
                found.bodies[body.id] = Standing(own if body.name == names[body.id] else None)
        names = {joint.id: joint.name for joint in read.joints}
        for joint in mechanism.joints:
            if joint.id in self.joints and joint.id in names:
                row = self.joints[joint.id].row
                found.joints[joint.id] = Standing(row["@name"] if joint.name == names[joint.id] else None, row["@type"])
        return found

    def _world(self) -> None:
        placed, old, new = self.document.world, self.before.world, self.now.world
        if placed is not None:
            self._count("changed", self._fields(placed, old, new))
        elif not _alike(old, new):
            self.report.warn("dropped-world", "the file has no <world>; gravity and time step are not written")

    def _skeletons(self) -> None:
        for key, row in self.now.skeletons.items():
            home = self._home(key, self.now)
            if home is None:
                self._count("added", True)
                self.changes.add(self.document.holder, skeleton_node(self.now, key))
            elif key in self.before.skeletons and not _alike(self.before.skeletons[key], row):
                if home.placed.row.says("immobile"):
                    self.changes.set(home.placed, "immobile", None)
                self._count("changed", self._fields(home.placed, self.before.skeletons[key], row))
        standing = [self._home(key, self.now) for key in self.now.skeletons]
        for key in self.before.skeletons.keys() - self.now.skeletons.keys():
            home = self._home(key, self.before)
            if home is not None and all(other is not home for other in standing):
                self.gone.add(key)
                self._count("deleted", True)
                self.changes.delete(home.placed.element)

    def _homes(self, plan: Plan) -> dict[str, Skeleton | None]:
        """The document's skeleton that each planned one stands in; None for a new one. Notes one that is in several."""
        found: dict[str, dict[int, Skeleton]] = {key: {} for key in plan.skeletons}
        for id_, body in plan.bodies.items():
            if id_ in self.home:
                found[body.skeleton][id(self.home[id_])] = self.home[id_]
        by_id = {skeleton.placed.id: skeleton for skeleton in self.document.skeletons}
        self.scattered = any(len(several) > 1 for several in found.values())
        return {key: next(iter(several.values()), by_id.get(key)) for key, several in found.items()}

    def _home(self, key: str, plan: Plan) -> Skeleton | None:
        return self.homes[id(plan)][key]

    def _bodies(self) -> None:
        for id_, body in self.now.bodies.items():
            home = self._home(body.skeleton, self.now)
            if home is None:
                continue  # written with its skeleton
            if id_ not in self.before.bodies:
                self._count("added", True)
                after = home.bodies[-1].element if home.bodies else None
                self.changes.add(home.placed.element, body_node(body, _frame(home)), after)
            elif id_ in self.bodies:
                self._body(self.bodies[id_], home, self.before.bodies[id_], body)
            elif not _alike(self.before.bodies[id_].row, body.row):
                raise Unpatchable("what it holds as a chain of joints was changed")
        self._delete_lost(self.bodies, self.before.bodies, self.now.bodies)

    def _body(self, item: Placed, home: Skeleton, old: PlannedBody, new: PlannedBody) -> None:
        if old is new:
            return
        was, row = dict(old.row), dict(new.row)
        if not same_value(was["transformation"], row["transformation"]):
            row["transformation"] = inverse(_frame(home)) @ row["transformation"]
        self._mass(item, was, row)
        altered = self._fields(item, was, row)
        altered |= shapes_patched(self.changes, item, old.shapes, new.shapes)
        altered |= markers_patched(self.changes, item, old.markers, new.markers)
        self._count("changed", altered)

    def _mass(self, item: Placed, old: Row, new: Row) -> None:
        """Choose which numbers of the mass are to be written. A tensor that the document leaves to be derived stays so
        while nobody states another; a body without any <inertia> gets a whole one."""
        tensor = [path for path in new if path.startswith(MOMENT)]
        is_derived = new["stated"] is None and not item.has(MOMENT.rstrip("/"))
        if is_derived or same_value(old["stated"], new["stated"]):
            new |= {path: old[path] for path in tensor}
            mass_altered = not all(same_value(old[path], new[path]) for path in _MASS)
            if item.has("inertia") or not mass_altered:
                return
        if not item.has(MOMENT.rstrip("/")) or item.row.says("inertia/transformation"):
            # all of them, also those that are the same; a differing old value makes them differ
            old |= dict.fromkeys((*tensor, *(path for path in _MASS if not item.row.says(path))))
        if item.row.says("inertia/transformation"):
            self.changes.set(item, "inertia/transformation", None)

    def _joints(self) -> None:
        for id_, joint in self.now.joints.items():
            home = self._home(joint.skeleton, self.now)
            if home is None:
                continue
            if id_ not in self.before.joints:
                self._count("added", True)
                after = home.joints[-1].element if home.joints else None
                self.changes.add(home.placed.element, joint_node(joint), after)
            elif id_ in self.joints:
                self._joint(self.joints[id_], self.before.joints[id_], joint)
            elif not _alike(self.before.joints[id_].row, joint.row):
                raise Unpatchable("what it holds as a chain of joints was changed")
        self._delete_lost(self.joints, self.before.joints, self.now.joints)

    def _joint(self, item: Placed, old: PlannedJoint, new: PlannedJoint) -> None:
        kinds = [(joint.tag, joint.row["@type"], len(joint.coordinates)) for joint in (old, new)]
        if kinds[0] != kinds[1]:
            self._count("changed", True)
            self.changes.replace(item.element, joint_node(new))
            return
        altered = self._fields(item, old.row, new.row)
        altered |= coordinates_patched(self.changes, item, old, new)
        self._count("changed", altered)

    def _delete_lost(self, placed: Mapping[str, Placed], before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        for id_, item in before.items():
            if id_ not in now and id_ in placed and item.skeleton not in self.gone:
                self._count("deleted", True)
                self.changes.delete(placed[id_].element)

    def _fields(self, item: Placed, old: Row, new: Row) -> bool:
        """Write the fields of one object that differ; whether there were any."""
        return fields_patched(self.changes, item, old, new)

    def _count(self, what: str, happened: bool) -> None:
        self.counts[what] += happened


def fields_patched(changes: Changes, item: Placed, old: Row, new: Row, skip: Iterable[str] = ()) -> bool:
    """Write the fields of one object that differ, but for some; whether there were any."""
    changed = [
        path
        for path in (*new, *(path for path in old if path not in new))
        if not same_value(old.get(path), new.get(path)) and path in item.table and path not in skip
    ]
    for path in changed:
        kind = item.table[path].kind
        value = new.get(path)
        near = item.row[path] if kind is SIX else None
        changes.set(item, path, None if value is None else spelt(item.table[path], value, near))
    return bool(changed)


def _alike(old: Row, new: Row) -> bool:
    return all(same_value(old.get(path), new.get(path)) for path in old.keys() | new.keys())


def _frame(skeleton: Skeleton) -> Array:
    six = skeleton.placed.row["transformation"]
    return pose_of(six) if any(six) else np.eye(4)
