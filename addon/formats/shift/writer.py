"""Writer of Shift files: minimal edits of the document from which a mechanism was read, or a new document."""

from __future__ import annotations

from collections import deque
from typing import Any

from ...core.model import Mechanism
from ...core.report import FormatError, Message, Report
from ..text.detection import get_prepared
from ..text.json_editor import JsonEdits, format_json, is_same_json
from ..text.json_reader import JsonNode
from .from_model import AssemblyContents, OutputElement, ShiftConverter, ShiftRows
from .reader import PLACEMENT, Document, JointEnd, Key, SourceElement
from .schema import (
    ASSEMBLY,
    BODY,
    ENDS,
    EXTENSION_KEY,
    FIXED,
    FRAME,
    JOINT,
    LIGHT,
    PAIRS,
    RESTRAINT,
    SEPARATOR,
    Row,
    Table,
)

#: Fields of an element that are written even at their defaults.
_REQUIRED_FIELDS = {
    "body": {"name", "center_of_mass", "mass", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"},
    "frame": {"name", "T"},
    "joint": {"name", "type", "initial_displacement", "initial_velocity"},
    "light": {"name", "type", "Ka", "Kd", "Ks"},
    "restraint": {"name", "type", "knot_points", "coefficients"},
    "assembly": {"name", "active"},
}
_EMPTY_CONTENTS = AssemblyContents()
_UNITS = {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"}
_VERSIONS = {PAIRS: "0.2", ENDS: "2.0.0"}


def new_document(mechanism: Mechanism, report: Report, dialect: str = PAIRS) -> str:
    """Return the text of a new Shift file, with everything that Shift cannot hold as extension data.

    Raises:
        FormatError: two bodies or two joints have the same id.
    """
    _reject_duplicate_ids(mechanism)
    lowering = ShiftConverter(mechanism, dialect, top=mechanism.name or "model")
    lowered = lowering.lowered()
    lowering.losses.report_all(report)
    if lowered.tree.top:
        report.info(
            "invented-assembly", Message("Parts without an assembly: written in an assembly '{}'", lowered.tree.top)
        )
    include = "include_directories" if dialect == ENDS else "include_dir"
    settings: dict[str, Any] = {
        "version": _VERSIONS[dialect],
        "units": _UNITS,
        "gravity": lowered.settings["gravity"],
        include: ["."],
    }
    if lowered.settings[EXTENSION_KEY]:
        settings[EXTENSION_KEY] = lowered.settings[EXTENSION_KEY]
    ground = {"frames": frame_list(lowered, None), "lights": [light_object(part, lowered) for part in lowered.lights]}
    top = assembly_contents("", lowered, dialect)
    document = {"model_parameters": settings, FIXED: {key: value for key, value in ground.items() if value}, **top}
    own = mechanism.source.format == "shift"
    return format_json(document, ascii_only=own and not encodes_unicode(mechanism.source.encoding)) + "\n"


def encodes_unicode(encoding: str) -> bool:
    """Return whether an encoding has all characters; if not, those beyond ASCII are escaped."""
    return encoding == "" or encoding.lower().startswith("utf")


def _reject_duplicate_ids(mechanism: Mechanism) -> None:
    for what, records in (("bodies", mechanism.bodies), ("joints", mechanism.joints)):
        seen: set[str] = set()
        for record in records:
            if record.id in seen:
                raise FormatError(
                    f"two {what} have the ID {record.id}",
                    path=mechanism.source.path,
                    remedy="Give one of them another ID.",
                )
            seen.add(record.id)


def assembly_contents(path: str, lowered: ShiftRows, dialect: str) -> dict[str, Any]:
    """Return the contents of an assembly, or of the top: its bodies, joints, restraints and assemblies."""
    held = lowered.held.get(path, _EMPTY_CONTENTS)
    lists = {
        "bodies": [body_object(part, lowered, dialect) for part in held.bodies],
        "joints": [joint_object(part, lowered, dialect) for part in held.joints],
        "restraints": [restraint_object(part, lowered) for part in held.restraints],
        "assemblies": [assembly_object(inner, lowered, dialect) for inner in lowered.tree.inner(path)],
    }
    wanted = ("assemblies",) if not path else ("bodies", "joints")
    return {key: value for key, value in lists.items() if value or key in wanted}


def assembly_object(path: str, lowered: ShiftRows, dialect: str) -> dict[str, Any]:
    """Return an assembly with its contents."""
    return {**row_object(ASSEMBLY, lowered.assemblies[path], dialect), **assembly_contents(path, lowered, dialect)}


def body_object(part: OutputElement, lowered: ShiftRows, dialect: str) -> dict[str, Any]:
    """Return a body with its frames."""
    made = row_object(BODY, part.row, dialect)
    if part.key[1] and not part.row["mass"]:
        made = {
            "name": part.row["name"],
            EXTENSION_KEY: part.row[EXTENSION_KEY],
        }  # between the pieces of a joint: no other values
    owner = part.key[0] if not part.key[1] else f"{part.key[0]}\0{part.key[1]}"
    frames = frame_list(lowered, owner)
    return {**made, "frames": frames} if frames else made


def frame_list(lowered: ShiftRows, owner: str | None) -> list[dict[str, Any]]:
    """Return the frames on a body, None for the ground."""
    return [row_object(FRAME, row, PAIRS) for row in lowered.frames.get(owner, {}).values()]


def joint_object(part: OutputElement, lowered: ShiftRows, dialect: str) -> dict[str, Any]:
    """Return a joint."""
    made = row_object(JOINT, part.row, dialect)
    name = made.pop("name")
    return {"name": name, **ends_row(part, lowered, dialect), **made}


def ends_row(part: OutputElement, lowered: ShiftRows, dialect: str) -> dict[str, Any]:
    """Return the two ends of a joint in the form of a dialect."""
    pairs = [(lowered.reference(owner, part.assembly), frame) for owner, frame in part.ends]
    if dialect == PAIRS:
        return {"body_frame_pairs": [list(pair) for pair in pairs]}
    (parent, at_parent), (child, at_child) = pairs
    return {"parent": [parent.split(SEPARATOR), at_parent], "child": [child.split(SEPARATOR), at_child]}


def light_object(part: OutputElement, lowered: ShiftRows) -> dict[str, Any]:
    """Return a light on its frame."""
    made = row_object(LIGHT, part.row, PAIRS)
    name, kind = made.pop("name"), made.pop("type")
    ((owner, frame),) = part.ends
    return {"name": name, "type": kind, "parent": [lowered.reference(owner, ""), frame], **made}


def restraint_object(part: OutputElement, lowered: ShiftRows) -> dict[str, Any]:
    """Return a restraint, along a joint or between two frames."""
    made = row_object(RESTRAINT, part.row, PAIRS)
    name, kind = made.pop("name"), made.pop("type")
    pairs = [[lowered.reference(owner, part.assembly), frame] for owner, frame in part.ends]
    return {"name": name, "type": kind, **({"body_frame_pair": pairs} if pairs else {}), **made}


def row_object(table: Table, row: Row, dialect: str) -> dict[str, Any]:
    """Return the required and non-default values of a row at their paths in a dialect."""
    made: dict[str, Any] = {}
    for item in table:
        if item.name not in row:
            continue
        value = row[item.name]
        if value is None or (is_same_json(value, item.default) and item.name not in _REQUIRED_FIELDS[table.what]):
            continue
        holder = made
        *groups, last = item.path_in(dialect)
        for group in groups:
            holder = holder.setdefault(group, {})
        holder[last] = value
    return made


def patch_document(document: Document, mechanism: Mechanism, report: Report) -> str:
    """Return the text of the document from which a mechanism was read, with the mechanism's edits."""
    return _Patch(document, mechanism, report).text()


def _document_rows(document: Document, placed: set[str]) -> tuple[ShiftConverter, ShiftRows]:
    """Return the converter and the rows of a document's mechanism."""
    lowering = ShiftConverter(document.mechanism, document.dialect, placed=placed)
    return lowering, lowering.lowered()


class _Patch:
    """Differences between a document and a mechanism, collected and then applied."""

    def __init__(self, document: Document, mechanism: Mechanism, report: Report) -> None:
        self.document, self.report, self.dialect = document, report, document.dialect
        placed = {body for body, piece in document.joints if piece == PLACEMENT}
        before, self.before = get_prepared(document, "rows", lambda: _document_rows(document, placed))
        now = ShiftConverter(mechanism, self.dialect, placed=placed)
        self.now = now.lowered(before)
        self.lowering = now
        self.edits = JsonEdits(document.text, ascii_only=not encodes_unicode(mechanism.source.encoding))
        self.pending: dict[tuple[int, str], tuple[JsonNode, list[Any]]] = {}
        self.counts = {"changed": 0, "added": 0, "deleted": 0}
        self.new_assemblies = [path for path in self.now.assemblies if path not in document.elements.assemblies]

    def text(self) -> str:
        """Return the document's text with all edits; the exact text where there are none."""
        self._row(self.document.elements.settings, self.before.settings, self.now.settings)
        self._assemblies()
        self._parts(self.document.bodies, self.before.bodies, self.now.bodies, "bodies")
        self._frames()
        self._parts(self.document.joints, self.before.joints, self.now.joints, "joints")
        self._numbered("lights")
        self._numbered("restraints")
        self._put()
        if self.edits.empty:
            self.report.info("document-kept", "Document: unedited, written as it was read")
            return self.document.text
        self.lowering.losses.report_all(self.report)
        said = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        self.report.info("document-patched", Message("Document: elements {}. All else is written as it was read", said))
        return self.edits.result()

    def _assemblies(self) -> None:
        for path, placed in self.document.elements.assemblies.items():
            if path in self.now.assemblies:
                self._row(placed, self.before.assemblies[path], self.now.assemblies[path])
            elif self.now.tree.outer(path) in self.now.assemblies or not placed.assembly:
                self._delete(placed.node)
        for path in self.new_assemblies:
            if self.now.tree.outer(path) not in self.new_assemblies:
                made = assembly_object(path, self.now, self.dialect)
                self._add(self._holder(self.now.tree.outer(path)), "assemblies", made)

    def _parts(
        self,
        placed: dict[Key, SourceElement],
        before: dict[Key, OutputElement],
        now: dict[Key, OutputElement],
        key: str,
    ) -> None:
        for own, part in now.items():
            at, was = placed.get(own), before.get(own)
            if at is not None and was is not None and was.assembly == part.assembly:
                self._row(at, was.row, part.row, self._changed_ends(at, was, part))
            elif at is None and was is not None and self._is_same(was, part):
                continue  # it is not in the document, and need not be now
            else:
                if at is not None:
                    self._delete(at.node)
                self._append(part, key)
        for own, at in placed.items():
            if own not in now:
                self._delete(at.node)

    def _is_same(self, was: OutputElement, part: OutputElement) -> bool:
        return is_same_json(_tuples_to_lists(was.row), _tuples_to_lists(part.row)) and self._named(
            was, self.before
        ) == self._named(part, self.now)

    def _append(self, part: OutputElement, key: str) -> None:
        if part.assembly in self.new_assemblies:
            return  # written with its assembly
        if key == "bodies":
            made = body_object(part, self.now, self.dialect)
        elif key == "joints":
            made = joint_object(part, self.now, self.dialect)
        else:
            made = restraint_object(part, self.now)
        self._add(self._holder(part.assembly), key, made)

    def _holder(self, assembly: str) -> JsonNode:
        return self.document.elements.assemblies[assembly].node if assembly else self.document.root

    def _frames(self) -> None:
        for owner in {**self.before.frames, **self.now.frames}:
            was, now = self.before.frames.get(owner, {}), self.now.frames.get(owner, {})
            holder = self._frame_holder(owner)
            if holder is None:
                continue
            for name, row in now.items():
                placed = self.document.frames.get((owner, name))
                if placed is not None:
                    self._row(placed, was.get(name, row), row)
                elif name not in was:
                    self._add(holder, "frames", row_object(FRAME, row, self.dialect))
            for name in was:
                placed = self.document.frames.get((owner, name))
                if placed is not None and name not in now:
                    self._delete(placed.node)

    def _frame_holder(self, owner: str | None) -> JsonNode | None:
        """Return the node with the owner's list of frames; None if the owner is new, and written with its frames."""
        if owner is None:
            ground = self.document.root.get(FIXED)
            return self.document.root if ground is None or self.document.root.get("frames") is not None else ground
        own, _, part = owner.partition("\0")
        placed = self.document.bodies.get((own, int(part or 0)))
        part_now = self.now.bodies.get((own, int(part or 0)))
        moved = part_now is None or placed is None or placed.assembly != part_now.assembly
        return None if moved or placed is None else placed.node

    def _numbered(self, key: str) -> None:
        """Edit lights or restraints, which have no ids and are matched by name and order."""
        placed = list(getattr(self.document.elements, key))
        before, now = list(getattr(self.before, key)), list(getattr(self.now, key))
        pairs = _match_elements(before, now)
        node_of = {id(part): at for part, at in zip(before, placed, strict=True)}
        for old, new in pairs:
            at = node_of[id(old)]
            self._row(at, old.row, new.row, self._changed_ends(at, old, new))
        stay = {id(part) for pair in pairs for part in pair}
        for old in before:
            if id(old) not in stay:
                self._delete(node_of[id(old)].node)
        for new in now:
            if id(new) in stay:
                continue
            if key == "lights":
                ground = self.document.root.get(FIXED)
                holder = self.document.root if ground is None or self.document.root.get("lights") else ground
                self._add(holder, "lights", light_object(new, self.now))
            else:
                self._append(new, "restraints")

    def _named(self, part: OutputElement, lowered: ShiftRows) -> list[tuple[str, str]]:
        return [(lowered.reference(owner, part.assembly), frame) for owner, frame in part.ends]

    def _changed_ends(self, placed: SourceElement, was: OutputElement, part: OutputElement) -> bool:
        """Edit the ends that differ; returns whether any does."""
        old, new = self._named(was, self.before), self._named(part, self.now)
        if old == new:
            return False
        if len(placed.ends) != len(new):
            if not placed.ends:
                writer = restraint_object if placed.table.what == "restraint" else light_object
                made = writer(part, self.now)
                for key in ("body_frame_pair", "parent"):
                    if key in made:
                        self.edits.add(placed.node, made[key], key)
            return True
        for end, one, other in zip(placed.ends, old, new, strict=True):
            if one != other:
                self._end(end, one, other)
        return True

    def _end(self, end: JointEnd, old: tuple[str, str], new: tuple[str, str]) -> None:
        listed = end.body_node is not None and isinstance(end.body_node.value, list)
        body: Any = new[0].split(SEPARATOR) if listed else new[0]
        if end.body_node is None or end.frame_node is None:
            self.edits.put(end.whole, [new[0], new[1]])
            return
        if old[0] != new[0]:
            self.edits.put(end.body_node, body)
        if old[1] != new[1]:
            self.edits.put(end.frame_node, new[1])

    def _row(self, placed: SourceElement, before: Row, now: Row, changed: bool = False) -> None:
        """Edit the values of one element that differ."""
        missing: Row = {}
        for name, value in now.items() if before is not now else ():
            was = before.get(name)
            if was is value or was == value or is_same_json(_tuples_to_lists(was), _tuples_to_lists(value)):
                continue
            changed = True
            node = placed.at(name)
            if value is None or (name == EXTENSION_KEY and not value):
                if node is not None:
                    self.edits.delete(node)
            elif node is not None:
                self.edits.update(node, _tuples_to_lists(was), _tuples_to_lists(value))
            else:
                missing[name] = value
        if missing:
            self._insert(placed, now, missing)
        self.counts["changed"] += changed

    def _insert(self, placed: SourceElement, row: Row, missing: Row) -> None:
        """Insert values that an element lacks; a group that it lacks is written completely."""
        groups: dict[str, Row] = {}
        for name, value in missing.items():
            item = placed.table[name]
            path = next(
                (path for path in item.places if len(path) > 1 and placed.node.get(*path[:-1]) is not None),
                item.path_in(self.dialect),
            )
            holder = placed.node.get(*path[:-1])
            if holder is not None and isinstance(holder.value, dict):
                self.edits.add(holder, _tuples_to_lists(value), path[-1])
            else:
                groups.setdefault(path[0], {})[path[-1]] = _tuples_to_lists(value)
        for group, found in groups.items():
            whole = {
                item.path_in(self.dialect)[-1]: _tuples_to_lists(row[item.name])
                for item in placed.table
                if item.name in row and item.path_in(self.dialect)[0] == group and item.name not in placed.places
            }
            self.edits.add(placed.node, {**whole, **found}, group)

    def _delete(self, node: JsonNode) -> None:
        self.counts["deleted"] += 1
        self.edits.delete(node)

    def _add(self, holder: JsonNode, key: str, value: Any) -> None:
        self.counts["added"] += 1
        self.pending.setdefault((id(holder), key), (holder, []))[1].append(_tuples_to_lists(value))

    def _put(self) -> None:
        """Append new elements to their lists, which are created if missing."""
        for (_, wanted), (holder, items) in self.pending.items():
            single = wanted == "restraints" and holder.get(wanted) is None and holder.get("restraint") is not None
            key = "restraint" if single else wanted
            there = holder.get(key)
            if there is None:
                self.edits.add(holder, items, key)
            elif isinstance(there.value, list):
                for item in items:
                    self.edits.add(there, item)
            else:
                self.edits.put(there, [*([there.plain()] if there.value is not None else []), *items])


def _match_elements(before: list[OutputElement], now: list[OutputElement]) -> list[tuple[OutputElement, OutputElement]]:
    """Match the document's elements to the current ones: by name, those of one name in order.

    If their numbers are equal, the rest is matched by index, as renamed.
    """
    left: dict[str, deque[OutputElement]] = {}
    for old in before:
        left.setdefault(old.key[0], deque()).append(old)
    pairs = [(left[new.key[0]].popleft(), new) for new in now if left.get(new.key[0])]
    if len(pairs) < len(before) == len(now):
        alone = {old.key[1]: old for same in left.values() for old in same}
        known = {id(new) for _old, new in pairs}
        renamed = (new for new in now if id(new) not in known and new.key[1] in alone)
        pairs += [(alone[new.key[1]], new) for new in renamed]
    return pairs


def _tuples_to_lists(value: Any) -> Any:
    """Return a value with its tuples replaced by lists."""
    if isinstance(value, dict):
        return {key: _tuples_to_lists(item) for key, item in value.items()}
    return [_tuples_to_lists(item) for item in value] if isinstance(value, (list, tuple)) else value
