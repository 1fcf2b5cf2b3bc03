"""Writer of x_xy files: minimal edits of the document from which a mechanism was read, or a new document."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from lxml import etree

from ...core.model import Array, Mechanism
from ...core.report import Message, Report
from ...core.transforms import bitwise_equal, make_pose
from ..text.detection import get_prepared
from ..text.xml_editor import XmlEdits, start_edits
from ..text.xml_reader import escape_attribute
from . import comments
from . import values as geometry
from .from_model import CommentRequest, OriginalRows, model_rows
from .from_model_parts import align_body_frames
from .reader import Document
from .schema import ATTRIBUTES, DEFAULT_DT, DOF_ATTRIBUTES, OLD_ATTRIBUTES, joint_kind
from .values import GeomRow, Key, LinkRow, ModelRow, OmcRow, format_x_xy_number, format_x_xy_numbers

_ROTATIONS = ("euler", "quat")


def patch_document(document: Document, mechanism: Mechanism, report: Report) -> str:
    """Return the text of the document from which a mechanism was read, with its edits.

    A new document where the edits do not fit into the old one.
    """
    said = Report()
    known = get_prepared(document, "rows", lambda: OriginalRows(document.mechanism))
    before = known.rows
    now, then = align_body_frames(mechanism, document.mechanism)
    after, ask = known.current_rows(now, then, said)
    if document.worldbody is None:
        return _keep_or_rewrite(document, mechanism, before, after, report, "has no <worldbody>")
    if _parent_keys(before, [row.key for row in before.links]) != _parent_keys(document.model, list(document.numbers)):
        return _keep_or_rewrite(document, mechanism, before, after, report, "cuts its loops elsewhere than we do")
    text = _Patch(document, before, after, ask).text()
    if text == document.text:
        report.info("document-kept", "Document: unedited, written as it was read")
        return text
    report.extend(said)
    report.info("document-patched", "Document: edits are written into it. All else is written as it was read")
    return text


def _keep_or_rewrite(
    document: Document, mechanism: Mechanism, before: ModelRow, after: ModelRow, report: Report, why: str
) -> str:
    """Keep or completely rewrite a document whose bodies are nested otherwise than we would write them."""
    if document_text(before) == document_text(after):
        report.info("document-kept", "Document: unedited, written as it was read")
        return document.text
    report.warn(
        "document-lost", Message("Document: it {}. A new one is written, without comments and unknown elements", why)
    )
    return new_document(mechanism, report)


def _parent_keys(model: ModelRow, keys: list[Key]) -> dict[Key, Key | None]:
    """Return the key of the parent of each link."""
    links = zip(keys, model.links, strict=True)
    return {key: None if row.parent is None else keys[row.parent] for key, row in links}


class _Patch:
    """Differences of two sets of rows, applied to the text from which the first was read."""

    def __init__(self, document: Document, before: ModelRow, after: ModelRow, ask: CommentRequest) -> None:
        self.document, self.before, self.after, self.ask = document, before, after, ask
        self.todo: list[Callable[[XmlEdits], None]] = []
        self.old = {row.key: row for row in before.links}
        self.other_steps = self._restructured_bodies()
        self.below: dict[int | None, list[int]] = {}
        for number, row in enumerate(after.links):
            self.below.setdefault(row.parent, []).append(number)
        self.stretched: list[float] = []  # factor by which the program scales child positions of each link
        for row in document.model.links:
            self.stretched.append(row.stretch * self._stretch(row.parent))

    def text(self) -> str:
        """Return the document's text with all edits; the exact text where there are none."""
        document = self.document
        self._model()
        self._geoms(document.worldbody, document.world_geoms, self.before.geoms, self.after.geoms)
        rewritten = self._rewritten()
        self.ask({key[1] for key in (self.after.links[number].key for number in rewritten) if key[0] == "body"})
        for number, row in enumerate(self.after.links):
            if number in rewritten or has_same_markup(self.old[row.key], row):
                continue
            self._link(document.numbers[row.key], self.old[row.key], row)
        self._delete(rewritten)
        self._add(rewritten)
        if not self.todo:
            return document.text
        edits = start_edits(document)
        for change in self.todo:
            change(edits)
        return edits.result()

    def _restructured_bodies(self) -> set[str]:
        """Return the ids of the bodies whose joint has other steps in the document than we would write."""
        document = self.document
        written: dict[str, list[LinkRow]] = {}
        planned: dict[str, list[LinkRow]] = {}
        for key, number in document.numbers.items():
            if key[0] == "body":
                written.setdefault(key[1], []).append(document.model.links[number])
        for row in self.before.links:
            if row.key[0] == "body":
                planned.setdefault(row.key[1], []).append(row)
        return {
            own
            for own, rows in planned.items()
            if len(rows) > 1
            and [(row.joint, *link_attributes(row).values()) for row in rows]
            != [(row.joint, *link_attributes(row).values()) for row in written.get(own, ())]
        }

    def _model(self) -> None:
        root = self.document.root
        if self.before.model != self.after.model:
            self._set(root, "model", self.after.model)
        old, new = option_attributes(self.before), option_attributes(self.after)
        changed = {name: text for name, text in new.items() if old[name] != text}
        options = root.find("options")
        if changed and options is None:
            inside = "".join(f' {name}="{text}"' for name, text in changed.items())
            self._append(root, [f"<options{inside}/>"])
        else:
            for name, text in changed.items():
                self._set(options, name, text)
        self._note(root, self.before.note, self.after.note)

    def _rewritten(self) -> set[int]:
        """Return the indices of the links that are new, moved, or have to be rewritten."""
        rewritten: set[int] = set()
        steps: dict[tuple[str, str], list[LinkRow]] = {}
        for row in self.after.links:
            steps.setdefault(row.key[:2], []).append(row)

        def changed(whose: tuple[str, str]) -> bool:
            return any(not has_same_markup(self.old.get(step.key), step) for step in steps[whose])

        for number, row in enumerate(self.after.links):
            old = self.old.get(row.key)
            here = old is not None and row.key in self.document.numbers and row.parent not in rewritten
            moved = not here or old is None or _parent_key(self.before, old) != _parent_key(self.after, row)
            if moved or (row.key[0] == "body" and row.key[1] in self.other_steps and changed(row.key[:2])):
                rewritten.add(number)
        return rewritten

    def _link(self, number: int, old: LinkRow, new: LinkRow) -> None:
        document = self.document
        element = document.links[number]
        self._attributes(element, link_attributes(old), link_attributes(new), old.pose, new.pose, new, number)
        self._geoms(element, document.geoms[number], old.geoms, new.geoms)
        self._omcs(element, document.omcs[number], old.omcs, new.omcs)
        self._note(element, old.note, new.note)

    def _attributes(
        self,
        element: etree._Element,
        old: Attributes,
        new: Attributes,
        old_pose: Array,
        new_pose: Array,
        row: LinkRow | None = None,
        number: int | None = None,
    ) -> None:
        """Edit the attributes of one element that differ."""
        if old == new:
            return
        for name in dict.fromkeys((*old, *new)):
            if name not in {"pos", "euler"} and old.get(name) != new.get(name):
                self._set(element, name, new.get(name), row)
        stretch = 1.0 if number is None else self._stretch(self.document.model.links[number].parent)
        if old.get("pos") != new.get("pos"):
            near = old_pose[:3, 3] / stretch
            self._set(
                element,
                "pos",
                format_x_xy_numbers(clean_zeros(_keep_near_values(new_pose[:3, 3] / stretch, near))),
                row,
            )
        if old.get("euler") != new.get("euler"):
            self._turn(element, old_pose[:3, :3], new_pose[:3, :3])

    def _turn(self, element: etree._Element, old: Array, new: Array) -> None:
        """Edit a rotation in the form that the document has."""
        reader = self.document.reader
        found = reader.attributes(element)
        if "quat" in found:
            near = reader.vector(element, "quat", found, (1.0, 0.0, 0.0, 0.0))
            values, name = geometry.quat_from_rotation(new, near), "quat"
        else:
            near = reader.vector(element, "euler", found, (0.0, 0.0, 0.0))
            values, name = geometry.euler_from_rotation(new, near), "euler"
        self._set(
            element,
            name,
            format_x_xy_numbers(clean_zeros(_keep_near_values(np.array(values), np.array(near), 100.0), 100.0)),
        )
        for other in _ROTATIONS:
            if other != name and other in element.attrib:
                self._set(element, other, None)

    def _stretch(self, number: int | None) -> float:
        """Return the factor by which the program scales positions of children of a link of the document."""
        return 1.0 if number is None else self.stretched[number]

    def _geoms(
        self, parent: etree._Element, elements: Sequence[etree._Element], old: Sequence[GeomRow], new: Sequence[GeomRow]
    ) -> None:
        defaults = self.document.reader.defaults
        texts = [geom_text(row) for row in old], [geom_text(row) for row in new]
        if texts[0] == texts[1]:
            return
        if len(elements) != len(old):  # they cannot be matched, and are rewritten
            for element in elements:
                self._remove(element)
            self._append(parent, [geom_text(row, defaults) for row in new])
            return

        def change(i: int, j: int) -> None:
            if old[i].kind != new[j].kind and "xyz" in (old[i].kind, new[j].kind):
                # the program ignores pose and mass of axes, which a geom of another type has
                self.todo.append(lambda edits: edits.replace(elements[i], geom_text(new[j], defaults)))
                return
            pair = geom_attributes(old[i]), geom_attributes(new[j])
            self._attributes(elements[i], *pair, old[i].pose, new[j].pose)

        def add(j: int, after: etree._Element | None) -> None:
            self._append(parent, [geom_text(new[j], defaults)], after)

        _align_elements(texts, elements, change, add, self._remove)

    def _omcs(
        self, parent: etree._Element, elements: Sequence[etree._Element], old: Sequence[OmcRow], new: Sequence[OmcRow]
    ) -> None:
        texts = [omc_text(row) for row in old], [omc_text(row) for row in new]
        if texts[0] != texts[1] and len(elements) != len(old):  # some are frames of extension data
            for element in elements:
                self._remove(element)
            self._append(parent, texts[1])
            return

        def change(i: int, j: int) -> None:
            was, now = omc_attributes(old[i]), omc_attributes(new[j])
            for name in dict.fromkeys((*was, *now)):
                if was.get(name) != now.get(name):
                    self._set(elements[i], name, now.get(name))

        def add(j: int, after: etree._Element | None) -> None:
            self._append(parent, [omc_text(new[j])], after)

        _align_elements(texts, elements, change, add, self._remove)

    def _note(self, element: etree._Element, old: comments.ExtensionData, new: comments.ExtensionData) -> None:
        if comments.format_comment(old) == comments.format_comment(new):
            return
        place = self.document.notes.get(element)
        text = comments.format_comment(new) if new else ""
        if place is not None:
            self.todo.append(lambda edits: edits.changes.append((*place, text)))
        elif text:
            self._append(element, [text])

    def _set(self, element: etree._Element, name: str, text: str | None, row: LinkRow | None = None) -> None:
        """Set an attribute; None removes it, or writes it explicitly where the document's defaults would apply."""
        tag = str(element.tag)
        if text is None and name in self.document.reader.defaults.get(tag, {}):
            text = explicit_default(name, row) or None
        for old, right in OLD_ATTRIBUTES.get(tag, {}).items():
            if right == name and old in element.attrib and name not in element.attrib:
                self.todo.append(lambda edits, old=old: edits.set_attribute(element, old, None))
        value = None if text is None else escape_attribute(text)
        self.todo.append(lambda edits: edits.set_attribute(element, name, value))

    def _remove(self, element: etree._Element) -> None:
        self.todo.append(lambda edits: edits.delete(element))

    def _append(self, parent: etree._Element, texts: Sequence[str], after: etree._Element | None = None) -> None:
        """Insert elements behind another, else first in their parent."""

        def insert(edits: XmlEdits) -> None:
            markup = "".join(f"{_indent_inside(edits, parent)}{text}" for text in texts)
            if after is not None:
                edits.insert_after(after, markup)
            elif len(parent):  # behind the rest of the line of the parent's tag
                edits.insert(edits.span(parent[0]).start - len(edits.space_before(parent[0])), markup)
            else:
                edits.insert_first(parent, markup)

        self.todo.append(insert)

    def _delete(self, rewritten: set[int]) -> None:
        """Delete the bodies of the document that are gone, or rewritten elsewhere."""
        staying = {row.key for number, row in enumerate(self.after.links) if number not in rewritten}
        gone = {self.document.links[i] for key, i in self.document.numbers.items() if key not in staying}
        for element in self.document.links:
            if element in gone and element.getparent() not in gone:  # children are deleted with their parent
                self._remove(element)

    def _add(self, rewritten: set[int]) -> None:
        """Insert new bodies behind the existing children of their parent."""
        document, links = self.document, list(self.after.links)
        stretch: dict[int | None, float] = {None: 1.0}
        for number, row in enumerate(links):
            if number not in rewritten:
                stretch[number] = self._stretch(document.numbers[row.key])
                continue
            stretch[number] = stretch[row.parent]
            if stretch[number] != 1.0:
                pose = make_pose(row.pose[:3, :3], row.pose[:3, 3] / stretch[number])
                links[number] = replace(row, pose=pose)
        for number in sorted(rewritten):
            carrier = links[number].parent
            if carrier in rewritten:
                continue
            parent = document.worldbody if carrier is None else document.links[document.numbers[links[carrier].key]]

            def insert(edits: XmlEdits, number: int = number, parent: etree._Element = parent) -> None:
                margin = _indent_inside(edits, parent).removeprefix(edits.newline)
                defaults = document.reader.defaults
                text = link_text(links, number, self.below, margin, edits.newline, defaults, _indent_step(margin))
                edits.insert_last(parent, edits.newline + text)

            self.todo.append(insert)


def _parent_key(model: ModelRow, row: LinkRow) -> Key | None:
    return None if row.parent is None else model.links[row.parent].key


def _indent_inside(edits: XmlEdits, parent: etree._Element) -> str:
    """Return a line end with the indentation of a parent's children."""
    for child in parent:
        space = edits.space_before(child)
        if "\n" in space:
            return edits.newline + space.rpartition("\n")[2]
    indent = edits.indent(parent)
    return edits.newline + indent + ("\t" if indent.startswith("\t") else INDENT)


def _indent_step(margin: str) -> str:
    return "\t" if margin.startswith("\t") else INDENT


def _keep_near_values(values: Array, near: Array, size: float = 1.0) -> tuple[float, ...]:
    """Return numbers, with those of ``near`` where they are equal; beside an edit, up to 32-bit rounding."""
    apart = np.abs(np.asarray(values) - near)
    tolerance = (
        geometry.ROUNDING_TOLERANCE if apart.max() > geometry.EDITED_TOLERANCE * size else geometry.EQUAL_TOLERANCE
    )
    same = apart <= tolerance * size * (1.0 + np.abs(near) / size)
    return tuple(float(x) for x in np.where(same, near, values))


def _align_elements(
    texts: tuple[list[str], list[str]],
    elements: Sequence[etree._Element],
    change: Callable[[int, int], None],
    add: Callable[[int, etree._Element | None], None],
    remove: Callable[[etree._Element], None],
) -> None:
    """Change, add and remove the elements of a list, so that most of them stay unchanged."""
    old, new = texts
    if old == new:
        return
    if len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            if was != now:
                change(i, i)
        return
    for what, i, i_end, j, j_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        pairs = min(i_end - i, j_end - j)
        for k in range(pairs):
            change(i + k, j + k)
        for k in range(i + pairs, i_end):
            remove(elements[k])
        before = elements[i + pairs - 1] if i + pairs else None
        for k in range(j + pairs, j_end):
            add(k, before)


def has_same_markup(old: LinkRow | None, new: LinkRow) -> bool:
    """Return whether two links have the same text, apart from their children."""
    if old is not None and _is_identical(old, new):
        return True
    if (
        old is None
        or comments.format_comment(old.note) != comments.format_comment(new.note)
        or link_attributes(old) != link_attributes(new)
    ):
        return False
    parts = [([geom_text(row) for row in link.geoms], [omc_text(row) for row in link.omcs]) for link in (old, new)]
    return parts[0] == parts[1]


def _is_identical(old: LinkRow, new: LinkRow) -> bool:
    """Return whether two links are bitwise equal, so that their text need not be compared."""
    return (
        (old.name, old.joint, old.numbers, old.note) == (new.name, new.joint, new.numbers, new.note)
        and bitwise_equal(old.pose, new.pose)
        and len(old.geoms) == len(new.geoms)
        and old.omcs == new.omcs
        and all(
            (one.kind, one.dim, one.mass, one.color, one.edge_color)
            == (two.kind, two.dim, two.mass, two.color, two.edge_color)
            and bitwise_equal(one.pose, two.pose)
            for one, two in zip(old.geoms, new.geoms, strict=True)
        )
    )


INDENT = "    "
#: Levels that are indented: a rope of thousands of links would be mostly blanks.
MAX_INDENT_LEVEL = 100
Attributes = dict[str, str]
Defaults = Mapping[str, Mapping[str, str]]

_ZERO_TOLERANCE = 1e-14
#: Values of attributes that neither an element nor the defaults give.
_NEUTRAL_VALUES = {
    "pos": "0 0 0",
    "euler": "0 0 0",
    "quat": "1 0 0 0",
    "mass": "0",
    "color": "self",
    "edge_color": "black",
}


def new_document(mechanism: Mechanism, report: Report) -> str:
    """Return the text of a new file with everything that x_xy can hold, and the rest in comments."""
    return document_text(model_rows(mechanism, report))


def document_text(model: ModelRow) -> str:
    """Return the text of a whole document."""
    root = {} if model.model is None else {"model": model.model}
    lines = [_format_tag("x_xy", root, False)]
    if model.note:
        lines.append(INDENT + comments.format_comment(model.note))
    lines += [INDENT + _format_tag("options", option_attributes(model)), f"{INDENT}<worldbody>"]
    lines += [INDENT * 2 + _format_tag("geom", geom_attributes(geom)) for geom in model.geoms]
    below: dict[int | None, list[int]] = {}
    for number, row in enumerate(model.links):
        below.setdefault(row.parent, []).append(number)
    lines += [link_text(model.links, number, below, INDENT * 2) for number in below.get(None, [])]
    return "\n".join((*lines, f"{INDENT}</worldbody>", "</x_xy>", ""))


def link_text(
    links: Sequence[LinkRow],
    number: int,
    below: Mapping[int | None, Sequence[int]],
    indent: str,
    newline: str = "\n",
    defaults: Defaults | None = None,
    step: str = INDENT,
) -> str:
    """Return a body with its descendants, every line indented; ``below`` are the indices of each link's children."""
    lines: list[str] = []
    waiting: list[tuple[int | None, str]] = [(number, indent)]
    while waiting:
        own, margin = waiting.pop()
        if own is None:
            lines.append(f"{margin}</body>")
            continue
        row = links[own]
        inside = []
        if row.note:
            inside.append(comments.format_comment(row.note))
        inside += [
            _format_tag("geom", _explicit_attributes("geom", geom_attributes(geom), defaults)) for geom in row.geoms
        ]
        inside += [_format_tag("omc", omc_attributes(marker)) for marker in row.omcs]
        children = below.get(own, ())
        closed = not inside and not children
        lines.append(
            margin + _format_tag("body", _explicit_attributes("body", link_attributes(row), defaults, row), closed)
        )
        within = margin + step if len(margin) < MAX_INDENT_LEVEL * len(step) else margin
        lines += [within + line for line in inside]
        if not closed:
            waiting.append((None, margin))
            waiting += [(child, within) for child in reversed(children)]
    return newline.join(lines)


def geom_text(row: GeomRow, defaults: Defaults | None = None) -> str:
    """Return a geom as text."""
    return _format_tag("geom", _explicit_attributes("geom", geom_attributes(row), defaults))


def omc_text(row: OmcRow) -> str:
    """Return a marker as text."""
    return _format_tag("omc", omc_attributes(row))


def option_attributes(model: ModelRow) -> Attributes:
    """Return the attributes of ``options``."""
    return {
        "gravity": format_x_xy_numbers(model.gravity),
        "dt": format_x_xy_number(DEFAULT_DT if model.dt is None else model.dt),
    }


def link_attributes(row: LinkRow) -> Attributes:
    """Return the attributes of a body, without zeros."""
    out = {"name": row.name, "joint": row.joint, **pose_attributes(row.pose)}
    return out | {name: format_x_xy_numbers(row.numbers[name]) for name in ATTRIBUTES["body"] if name in row.numbers}


def geom_attributes(row: GeomRow) -> Attributes:
    """Return the attributes of a geom."""
    if row.kind == "xyz":
        return {"type": "xyz", "dim": format_x_xy_numbers(row.dim)}
    out = {
        "type": row.kind,
        "mass": format_x_xy_number(row.mass),
        **pose_attributes(row.pose),
        "dim": format_x_xy_numbers(row.dim),
    }
    return out | {name: text for name, text in (("color", row.color), ("edge_color", row.edge_color)) if text}


def omc_attributes(row: OmcRow) -> Attributes:
    """Return the attributes of a marker."""
    out = {"name": row.name, "pos_marker": row.pos_marker}
    return out | ({"pos": format_x_xy_numbers(row.pos)} if any(row.pos) else {})


def pose_attributes(pose: Array) -> Attributes:
    """Return position and angles of a pose, without zeros."""
    out = {}
    position = clean_zeros(pose[:3, 3])
    if any(position):
        out["pos"] = format_x_xy_numbers(position)
    angles = clean_zeros(geometry.euler_from_rotation(pose[:3, :3]), 100.0)
    if any(angles):
        out["euler"] = format_x_xy_numbers(angles)
    return out


def clean_zeros(values: Sequence[float] | Array, size: float = 1.0) -> tuple[float, ...]:
    """Return numbers with rounding errors of zeros removed."""
    return tuple(0.0 if abs(x) < _ZERO_TOLERANCE * size else float(x) for x in values)


def explicit_default(name: str, row: LinkRow | None) -> str:
    """Return the explicit value of an attribute equivalent to its absence."""
    if name in _NEUTRAL_VALUES:
        return _NEUTRAL_VALUES[name]
    kind = joint_kind(row.joint) if row is not None else None
    if kind is not None and name in DOF_ATTRIBUTES:
        values = [0.0] * (kind.coordinates if name == "spring_zero" else kind.velocities)
        for block in kind.blocks:
            if name == "spring_zero" and block.kind in {"ball", "free"}:
                values[block.place] = 1.0
        return format_x_xy_numbers(values)
    if row is not None and name in {"pos_min", "pos_max"}:
        position = row.pose[:3, 3] + (1e-6 if name == "pos_max" else 0.0)  # the loader requires that they differ
        return format_x_xy_numbers(position)
    return ""


def _explicit_attributes(
    tag: str, found: Attributes, defaults: Defaults | None, row: LinkRow | None = None
) -> Attributes:
    """Return the attributes of a new element, with explicit values where the document's defaults would apply."""
    given = (defaults or {}).get(tag, {})
    if not given:
        return found
    out = dict(found)
    if "quat" in given and "euler" in out:
        angles = [float(x) for x in out.pop("euler").split()]
        out["quat"] = format_x_xy_numbers(
            clean_zeros(geometry.quat_from_rotation(geometry.rotation_from_euler(angles)))
        )
    for name in given:
        text = explicit_default(name, row) if name not in out else ""
        if text and not (tag == "geom" and out.get("type") == "xyz"):
            out[name] = text
    order = ATTRIBUTES[tag]
    return dict(sorted(out.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def _format_tag(tag: str, found: Attributes, closed: bool = True) -> str:
    inside = "".join(f' {name}="{escape_attribute(text)}"' for name, text in found.items())
    return f"<{tag}{inside}{'/' if closed else ''}>"
