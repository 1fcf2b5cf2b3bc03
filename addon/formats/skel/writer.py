"""Writer of SKEL files: minimal edits of the document from which a mechanism was read.

Both the mechanism as it was read and the current one are planned; the text is edited only where the plans differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from lxml import etree

from ...core.model import Array, Mechanism
from ...core.report import Message, Report
from ...core.transforms import inverse
from ..text.detection import get_prepared
from ..text.xml_editor import XmlEdits, start_edits
from ..text.xml_reader import escape_attribute, escape_text
from .document import Document
from .from_model import SkelPlan
from .from_model_rows import (
    COORDINATE_DEFAULTS,
    ExistingElement,
    ExistingElements,
    PlannedBody,
    PlannedJoint,
    same_value,
)
from .markup import (
    AXIS_PATH,
    BLOCKS,
    DOF_PATH,
    INDENT,
    INITIAL,
    XmlNode,
    body_node,
    element_node,
    format_field,
    initial_row,
    joint_node,
    shape_node,
)
from .reader import Skeleton, SourceElement
from .schema import (
    AXES,
    DOF,
    MARKER,
    MOMENT,
    SHAPES,
    SIX,
    SKELETON,
    WORLD,
    Row,
    dart_name,
    format_skel_number,
    format_skel_numbers,
    pose_from_transformation,
)
from .to_model import coordinate_name
from .to_model_shapes import inner_pose

_MASS_PATHS = ("inertia/mass", "inertia/offset")


class PatchError(Exception):
    """Edits that do not fit into the document; the message gives the reason."""


def patch_document(document: Document, mechanism: Mechanism, report: Report) -> str:
    """Return the text of the document from which a mechanism was read, with the mechanism's edits.

    Raises:
        PatchError: the edits need another document.
    """
    return _Patch(document, mechanism, report).text()


class _Patch:
    def __init__(self, document: Document, mechanism: Mechanism, report: Report) -> None:
        self.document, self.report = document, report
        self.changes = DocumentChanges()
        self.counts = {"changed": 0, "added": 0, "deleted": 0}
        self.bodies = {item.id: item for skeleton in document.skeletons for item in skeleton.bodies}
        self.joints = {
            item.id: item for skeleton in document.skeletons for item in (*skeleton.joints, *skeleton.implied)
        }
        self.skeleton_of = {item.id: skeleton for skeleton in document.skeletons for item in skeleton.bodies}
        self.before, known = get_prepared(document, "plan", self._planned)
        said = Report()
        self.now = SkelPlan.of(mechanism, said, self._standing(mechanism), self.before)
        report.entries += [entry for entry in said.entries if (entry.code, entry.message) not in known]
        self.gone: set[str] = set()
        self.scattered = False
        self.existing = {id(plan): self._existing_skeletons(plan) for plan in (self.before, self.now)}

    def _planned(self) -> tuple[SkelPlan, set[tuple[str, str]]]:
        """Return the plan of the unedited document, and its report entries."""
        quiet, mechanism = Report(), self.document.mechanism
        plan = SkelPlan.of(mechanism, quiet, self._standing(mechanism))
        return plan, {(entry.code, entry.message) for entry in quiet.entries}

    def text(self) -> str:
        """Return the document's text with all edits; the exact text where there are none."""
        self._world()
        self._skeletons()
        self._bodies()
        self._joints()
        if not self.changes:
            self.report.info("document-kept", "Document: unedited, written as it was read")
            return self.document.text
        if self.scattered:
            raise PatchError("a joint connects bodies of two of its skeletons")
        said = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        self.report.info("document-patched", Message("Document: objects {}. All else is written as it was read", said))
        return self.changes.made(start_edits(self.document))

    def _standing(self, mechanism: Mechanism) -> ExistingElements:
        """Return the names of the document's objects, except those that were renamed."""
        read, found = self.document.mechanism, ExistingElements()
        names = {body.id: body.name for body in read.bodies}
        for body in mechanism.bodies:
            if body.id in self.bodies and body.id in names:
                own = self.bodies[body.id].row["@name"]
                found.bodies[body.id] = ExistingElement(own if body.name == names[body.id] else None)
        names = {joint.id: joint.name for joint in read.joints}
        for joint in mechanism.joints:
            if joint.id in self.joints and joint.id in names:
                row = self.joints[joint.id].row
                found.joints[joint.id] = ExistingElement(
                    row["@name"] if joint.name == names[joint.id] else None, row["@type"]
                )
        return found

    def _world(self) -> None:
        placed, old, new = self.document.world, self.before.world, self.now.world
        if placed is not None:
            self._count("changed", self._fields(placed, old, new))
        elif not _is_same_row(old, new):
            self.report.warn("dropped-world", "Gravity and time step: not written, the file has no <world>")

    def _skeletons(self) -> None:
        for key, row in self.now.skeletons.items():
            skeleton = self._existing_skeleton(key, self.now)
            if skeleton is None:
                self._count("added", True)
                self.changes.add(self.document.holder, skeleton_node(self.now, key))
            elif key in self.before.skeletons and not _is_same_row(self.before.skeletons[key], row):
                if skeleton.placed.row.is_set("immobile"):
                    self.changes.set(skeleton.placed, "immobile", None)
                self._count("changed", self._fields(skeleton.placed, self.before.skeletons[key], row))
        standing = [self._existing_skeleton(key, self.now) for key in self.now.skeletons]
        for key in self.before.skeletons.keys() - self.now.skeletons.keys():
            skeleton = self._existing_skeleton(key, self.before)
            if skeleton is not None and all(other is not skeleton for other in standing):
                self.gone.add(key)
                self._count("deleted", True)
                self.changes.delete(skeleton.placed.element)

    def _existing_skeletons(self, plan: SkelPlan) -> dict[str, Skeleton | None]:
        """Return the document's skeleton of each planned one, None for a new one; sets ``scattered``."""
        found: dict[str, dict[int, Skeleton]] = {key: {} for key in plan.skeletons}
        for id_, body in plan.bodies.items():
            if id_ in self.skeleton_of:
                found[body.skeleton][id(self.skeleton_of[id_])] = self.skeleton_of[id_]
        by_id = {skeleton.placed.id: skeleton for skeleton in self.document.skeletons}
        self.scattered = any(len(several) > 1 for several in found.values())
        return {key: next(iter(several.values()), by_id.get(key)) for key, several in found.items()}

    def _existing_skeleton(self, key: str, plan: SkelPlan) -> Skeleton | None:
        return self.existing[id(plan)][key]

    def _bodies(self) -> None:
        for id_, body in self.now.bodies.items():
            skeleton = self._existing_skeleton(body.skeleton, self.now)
            if skeleton is None:
                continue  # written with its skeleton
            if id_ not in self.before.bodies:
                self._count("added", True)
                after = skeleton.bodies[-1].element if skeleton.bodies else None
                self.changes.add(skeleton.placed.element, body_node(body, _frame(skeleton)), after)
            elif id_ in self.bodies:
                self._body(self.bodies[id_], skeleton, self.before.bodies[id_], body)
            elif not _is_same_row(self.before.bodies[id_].row, body.row):
                raise PatchError("a chain of joints was changed")
        self._delete_removed(self.bodies, self.before.bodies, self.now.bodies)

    def _body(self, item: SourceElement, skeleton: Skeleton, old: PlannedBody, new: PlannedBody) -> None:
        if old is new:
            return
        was, row = dict(old.row), dict(new.row)
        if not same_value(was["transformation"], row["transformation"]):
            row["transformation"] = inverse(_frame(skeleton)) @ row["transformation"]
        self._mass(item, was, row)
        altered = self._fields(item, was, row)
        altered |= patch_shapes(self.changes, item, old.shapes, new.shapes)
        altered |= patch_markers(self.changes, item, old.markers, new.markers)
        self._count("changed", altered)

    def _mass(self, item: SourceElement, old: Row, new: Row) -> None:
        """Choose which mass properties to write.

        A tensor that the document leaves to be derived stays so unless another is stated; a body without <inertia> gets
        a complete one.
        """
        tensor = [path for path in new if path.startswith(MOMENT)]
        is_derived = new["stated"] is None and not item.has(MOMENT.rstrip("/"))
        if is_derived or same_value(old["stated"], new["stated"]):
            new |= {path: old[path] for path in tensor}
            mass_altered = not all(same_value(old[path], new[path]) for path in _MASS_PATHS)
            if item.has("inertia") or not mass_altered:
                return
        if not item.has(MOMENT.rstrip("/")) or item.row.is_set("inertia/transformation"):
            # write all of them, also the unchanged ones: without an old value they count as changed
            old |= dict.fromkeys((*tensor, *(path for path in _MASS_PATHS if not item.row.is_set(path))))
        if item.row.is_set("inertia/transformation"):
            self.changes.set(item, "inertia/transformation", None)

    def _joints(self) -> None:
        for id_, joint in self.now.joints.items():
            skeleton = self._existing_skeleton(joint.skeleton, self.now)
            if skeleton is None:
                continue
            if id_ not in self.before.joints:
                self._count("added", True)
                after = skeleton.joints[-1].element if skeleton.joints else None
                self.changes.add(skeleton.placed.element, joint_node(joint), after)
            elif id_ in self.joints:
                self._joint(self.joints[id_], self.before.joints[id_], joint)
            elif not _is_same_row(self.before.joints[id_].row, joint.row):
                raise PatchError("a chain of joints was changed")
        self._delete_removed(self.joints, self.before.joints, self.now.joints)

    def _joint(self, item: SourceElement, old: PlannedJoint, new: PlannedJoint) -> None:
        kinds = [(joint.tag, joint.row["@type"], len(joint.coordinates)) for joint in (old, new)]
        if kinds[0] != kinds[1]:
            self._count("changed", True)
            self.changes.replace(item.element, joint_node(new))
            return
        altered = self._fields(item, old.row, new.row)
        altered |= patch_coordinates(self.changes, item, old, new)
        self._count("changed", altered)

    def _delete_removed(
        self, placed: Mapping[str, SourceElement], before: Mapping[str, Any], now: Mapping[str, Any]
    ) -> None:
        for id_, item in before.items():
            if id_ not in now and id_ in placed and item.skeleton not in self.gone:
                self._count("deleted", True)
                self.changes.delete(placed[id_].element)

    def _fields(self, item: SourceElement, old: Row, new: Row) -> bool:
        """Edit the fields of one object that differ; returns whether there were any."""
        return patch_fields(self.changes, item, old, new)

    def _count(self, what: str, happened: bool) -> None:
        self.counts[what] += happened


def patch_fields(changes: DocumentChanges, item: SourceElement, old: Row, new: Row, skip: Iterable[str] = ()) -> bool:
    """Edit the fields of one object that differ, except ``skip``; returns whether there were any."""
    changed = [
        path
        for path in (*new, *(path for path in old if path not in new))
        if not same_value(old.get(path), new.get(path)) and path in item.table and path not in skip
    ]
    for path in changed:
        kind = item.table[path].kind
        value = new.get(path)
        near = item.row[path] if kind is SIX else None
        changes.set(item, path, None if value is None else format_field(item.table[path], value, near))
    return bool(changed)


def _is_same_row(old: Row, new: Row) -> bool:
    return all(same_value(old.get(path), new.get(path)) for path in old.keys() | new.keys())


def _frame(skeleton: Skeleton) -> Array:
    six = skeleton.placed.row["transformation"]
    return pose_from_transformation(six) if any(six) else np.eye(4)


class DocumentChanges:
    """Pending changes of a document; elements that are replaced or deleted must not be changed as well."""

    def __init__(self) -> None:
        self._todo: list[Callable[[XmlEdits], None]] = []
        self._missing: dict[etree._Element, dict[str, str]] = {}
        self._added: list[tuple[etree._Element, etree._Element | None, XmlNode]] = []

    def __bool__(self) -> bool:
        return bool(self._todo or self._missing or self._added)

    def set(self, item: SourceElement, path: str, text: str | None) -> None:
        """Set the text (not yet escaped) of an object's field; None deletes it.

        A field in an older spelling is rewritten in DART's.
        """
        there = item.places().get(path)
        name = path.rpartition("/")[2]
        if there is None:
            if text is not None:
                self._missing.setdefault(item.element, {})[path] = text
        elif name.startswith("@"):
            value = None if text is None else escape_attribute(text)
            self._todo.append(lambda edits: edits.set_attribute(there, name[1:], value))
        elif text is None:
            self.delete(there)
        elif there is not _find_element(item.element, path):
            self.delete(there)
            self._missing.setdefault(item.element, {})[path] = text
        else:
            self._todo.append(lambda edits: edits.set_text(there, escape_text(text)))

    def delete(self, element: etree._Element) -> None:
        """Delete an element."""
        self._todo.append(lambda edits: edits.delete(element))

    def replace(self, element: etree._Element, node: XmlNode) -> None:
        """Replace an element."""
        self._todo.append(
            lambda edits: edits.replace(
                element, node.markup(edits.indent(element), edits.newline, _step(edits, element))
            )
        )

    def add(self, parent: etree._Element, node: XmlNode, after: etree._Element | None = None) -> None:
        """Add a new element behind one of its siblings, or behind the last."""
        self._added.append((parent, after, node))

    def made(self, edits: XmlEdits) -> str:
        """Return the text with all changes applied."""
        for change in self._todo:
            change(edits)
        for element, values in self._missing.items():
            for parent, node in _new_elements(element, values):
                if isinstance(node, tuple):
                    edits.set_attribute(parent, node[0], escape_attribute(node[1]))
                else:
                    self._added.append((parent, None, node))
        for parent, after, node in self._added:
            _insert(edits, parent, after, node)
        return edits.result()


def _find_element(element: etree._Element, path: str) -> etree._Element | None:
    return element.find(path)


def _new_elements(
    element: etree._Element, values: dict[str, str]
) -> Iterable[tuple[etree._Element, XmlNode | tuple[str, str]]]:
    """Yield new elements and attributes for paths below an element, each with its (possibly existing) parent."""
    roots: dict[etree._Element, XmlNode] = {}
    for path, text in values.items():
        steps = path.split("/")
        here = element
        while len(steps) > 1 and (below := here.find(steps[0])) is not None:
            here = below
            steps = steps[1:]
        if len(steps) == 1 and steps[0].startswith("@"):
            yield here, (steps[0][1:], text)
        else:
            roots.setdefault(here, XmlNode("")).put("/".join(steps), text)
    for parent, root in roots.items():
        for child in root.children:
            yield parent, child


def _insert(edits: XmlEdits, parent: etree._Element, after: etree._Element | None, node: XmlNode) -> None:
    step = _step(edits, parent)
    siblings = list(parent)
    indent = edits.indent(siblings[0]) if siblings else edits.indent(parent) + step
    markup = f"{edits.newline}{indent}{node.markup(indent, edits.newline, step)}"
    if after is not None:
        edits.insert_after(after, markup)
    else:
        edits.insert_last(parent, markup)


def _step(edits: XmlEdits, element: etree._Element) -> str:
    """Return the document's indentation per level at an element."""
    own = edits.indent(element)
    parent = element.getparent()
    outer = edits.indent(parent) if parent is not None else ""
    return own.removeprefix(outer) if own != outer and own.startswith(outer) else INDENT


Shapes = Sequence[tuple[str, Row]]


def patch_shapes(changes: DocumentChanges, body: SourceElement, old: Shapes, new: Shapes) -> bool:
    """Edit the shapes of a body that differ; returns whether there were any."""
    placed = [part for part in body.parts if part.table.tag in SHAPES]
    pairs = _match_shapes(old, new)
    altered = False
    last: SourceElement | None = None
    for before, after in pairs:
        if before is not None and after is not None:
            altered |= _patch_shape(changes, placed[before], old[before], new[after])
        elif before is not None:
            altered = True
            changes.delete(placed[before].element)
        elif after is not None and new[after][1]["type"] is not None:
            altered = True
            changes.add(body.element, shape_node(*new[after]), last.element if last is not None else None)
        last = placed[before] if before is not None else last
    return altered


def patch_markers(changes: DocumentChanges, body: SourceElement, old: Sequence[Row], new: Sequence[Row]) -> bool:
    """Rewrite the markers of a body if any of them differs; returns whether one did."""
    if len(old) == len(new) and all(same_value(a[path], b[path]) for a, b in zip(old, new, strict=True) for path in a):
        return False
    for part in body.parts:
        if part.table is MARKER:
            changes.delete(part.element)
    for row in new:
        changes.add(body.element, element_node("marker", MARKER, row))
    return True


def patch_coordinates(changes: DocumentChanges, item: SourceElement, old: PlannedJoint, new: PlannedJoint) -> bool:
    """Edit the values and names of a joint's coordinates that differ; returns whether there were any.

    Each is edited where the document has it: in its <dof>, under its axis, or in the initial values.
    """
    block = new.row["@type"] in BLOCKS
    dofs = _dof_elements(item)
    made: dict[int, XmlNode] = {}
    initial: set[str] = set()
    altered = False
    for i, (before, after) in enumerate(zip(old.coordinates, new.coordinates, strict=True)):
        values: dict[str, Any] = {
            path: after["extra"].get(path) for path in before["extra"].keys() | after["extra"].keys()
        }
        was = {path: before["extra"].get(path) for path in values}
        values |= {DOF_PATH[name]: after[name] for name in COORDINATE_DEFAULTS}
        was |= {DOF_PATH[name]: before[name] for name in COORDINATE_DEFAULTS}
        of_path = {path: name for name, path in DOF_PATH.items()}
        for path, value in values.items():
            if path not in DOF or same_value(was[path], value):
                continue
            altered = True
            name = of_path.get(path, "")
            text = None if value is None else format_skel_number(value)
            if i in dofs and dofs[i].row.is_set(path):
                changes.set(dofs[i], path, text)
            elif name in INITIAL.values():
                initial.add(next(field for field, attribute in INITIAL.items() if attribute == name))
            elif name and not block and i < len(AXES):
                changes.set(item, f"{AXES[i]}/{AXIS_PATH[name]}", text)
            elif i in dofs:
                changes.set(dofs[i], path, text)
            elif text is not None:
                made.setdefault(i, XmlNode("dof", {"local_index": str(i)})).put(path, text)
    for i, name in _renamed_coordinates(old, new):
        if i not in dofs:
            made.setdefault(i, XmlNode("dof", {"local_index": str(i)})).attributes["name"] = name
        elif dofs[i].row["@name"] != name:
            changes.set(dofs[i], "@name", name)
        altered = True
    whole = initial_row(new)
    for field in initial:
        values_now = whole[field] or (0.0,) * len(new.coordinates)
        changes.set(item, field, format_skel_numbers(values_now))
    for node in made.values():
        changes.add(item.element, node)
    return altered


def _renamed_coordinates(old: PlannedJoint, new: PlannedJoint) -> list[tuple[int, str]]:
    """Return index and name of the coordinates renamed other than with their joint."""
    row = new.row | {"@name": old.row["@name"]}
    out = []
    for i, (before, after) in enumerate(zip(old.coordinates, new.coordinates, strict=True)):
        was, now = (coordinate_name(each, each["@type"], i) for each in (old.row, row))
        kept = before["name"] == after["name"]
        if after["name"] and not (kept and was == now) and (after["name"] != now or before["name"] != was):
            out.append((i, after["name"]))
    return out


def _dof_elements(item: SourceElement) -> dict[int, SourceElement]:
    found: dict[int, SourceElement] = {}
    for part in item.parts:
        index = part.row["@local_index"]
        found[0 if index is None else int(index)] = part
    return found


def _patch_shape(changes: DocumentChanges, placed: SourceElement, old: tuple[str, Row], new: tuple[str, Row]) -> bool:
    if old[0] != new[0] or old[1]["type"] != new[1]["type"] or not _same_spheres(old[1], new[1]):
        if new[1]["type"] is None:
            return False
        changes.replace(placed.element, shape_node(*new))
        return True
    altered = False
    for path in (*new[1], *(path for path in old[1] if path not in new[1])):
        if path not in placed.table or same_value(old[1].get(path), new[1].get(path)):
            continue
        altered = True
        value = new[1].get(path)
        item = placed.table[path]
        if path == "color" and value is not None and len(placed.row[path] or ()) == 3 and value[3:] == (1.0,):
            value = value[:3]  # as the document has it
        if item.kind is SIX and value is not None:
            value = value @ inverse(inner_pose(placed.row))  # a plane's own pose is in its normal and offset
        near = placed.row[path] if item.kind is SIX else None
        changes.set(placed, path, None if value is None else format_field(item, value, near))
    return altered


def _same_spheres(old: Row, new: Row) -> bool:
    return same_value(old.get("spheres", ()), new.get("spheres", ()))


def _match_shapes(old: Shapes, new: Shapes) -> list[tuple[int | None, int | None]]:
    """Match the document's shapes to the current ones by index.

    Pairwise if their numbers are equal; else the longest common subsequence, with deletions and insertions between.
    """
    if len(old) == len(new):
        return [(i, i) for i in range(len(old))]
    common = _longest_common(old, new)
    pairs: list[tuple[int | None, int | None]] = []
    a = b = 0
    for i, k in [*common, (len(old), len(new))]:
        pairs += [(x, None) for x in range(a, i)]
        pairs += [(None, y) for y in range(b, k)]
        if i < len(old):
            pairs.append((i, k))
        a, b = i + 1, k + 1
    return pairs


def _longest_common(old: Shapes, new: Shapes) -> list[tuple[int, int]]:
    same = [[_equal(a, b) for b in new] for a in old]
    best = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for k in reversed(range(len(new))):
            best[i][k] = best[i + 1][k + 1] + 1 if same[i][k] else max(best[i + 1][k], best[i][k + 1])
    found, i, k = [], 0, 0
    while i < len(old) and k < len(new):
        if same[i][k]:
            found.append((i, k))
            i, k = i + 1, k + 1
        elif best[i + 1][k] >= best[i][k + 1]:
            i += 1
        else:
            k += 1
    return found


def _equal(a: tuple[str, Row], b: tuple[str, Row]) -> bool:
    return a[0] == b[0] and all(same_value(a[1].get(path), b[1].get(path)) for path in a[1].keys() | b[1].keys())


def new_document(mechanism: Mechanism, report: Report) -> str:
    """Return the text of a new SKEL file with everything of a mechanism that SKEL can hold, and complete tensors."""
    plan = SkelPlan.of(mechanism, report)
    meshes = sorted({shape.mesh for body in mechanism.bodies for shape in body.shapes if shape.mesh})
    if meshes:
        message = f"Mesh files: names are unchanged ('{meshes[0]}', 1 of {len(meshes)})"
        report.info(
            "mesh-names", Message("{}. DART searches from the file's folder and stops if one is missing", message)
        )
    world = element_node("world", WORLD, {"@name": dart_name(mechanism.name, "world"), **plan.world})
    world.attributes.setdefault("name", "world")
    world.children += [skeleton_node(plan, key) for key in plan.skeletons]
    root = XmlNode("skel", {"version": "1.0"}, children=[world])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root.markup()}\n'


def skeleton_node(plan: SkelPlan, key: str) -> XmlNode:
    """Return the element of a planned skeleton with its bodies and joints."""
    node = element_node("skeleton", SKELETON, plan.skeletons[key])
    node.children += [body_node(body) for body in plan.bodies.values() if body.skeleton == key]
    node.children += [joint_node(joint) for joint in plan.joints.values() if joint.skeleton == key]
    return node
