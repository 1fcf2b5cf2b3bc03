"""A mechanism written into the document it was read from: what was edited changes there, and nothing else."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from lxml import etree

from ...core.model import Array, Mechanism
from ...core.report import Report
from ...core.transforms import bitwise_equal
from ..text.detection import get_prepared
from ..text.xml_editor import XmlEdits, start_edits
from ..text.xml_reader import escape_attribute
from . import comments as notes
from . import values as geometry
from .from_model import CommentRequest, OriginalRows, model_rows
from .from_model_parts import align_body_frames
from .reader import Document
from .schema import ATTRIBUTES, DEFAULT_DT, DOF_ATTRIBUTES, OLD_ATTRIBUTES, joint_kind
from .values import GeomRow, Key, LinkRow, ModelRow, OmcRow, format_x_xy_number, format_x_xy_numbers

_ROTATIONS = ("euler", "quat")


def patch_document(document: Document, mechanism: Mechanism, report: Report) -> str:
    """The text of the document that a mechanism was read from, with the mechanism's edits.

    A new document where the edits have no place in the old one.
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
        report.info("document-kept", "nothing was edited; the document is written as it was read")
        return text
    report.extend(said)
    report.info("document-patched", "what was edited was changed in the document; all else is written as it was read")
    return text


def _keep_or_rewrite(
    document: Document, mechanism: Mechanism, before: ModelRow, after: ModelRow, report: Report, why: str
) -> str:
    """For a document whose bodies hang otherwise than we would write them: it is kept whole or written anew."""
    if document_text(before) == document_text(after):
        report.info("document-kept", "nothing was edited; the document is written as it was read")
        return document.text
    report.warn("document-lost", f"the document {why}; with its edits it is written anew")
    return new_document(mechanism, report)


def _parent_keys(model: ModelRow, keys: list[Key]) -> dict[Key, Key | None]:
    """Return what each link hangs on."""
    links = zip(keys, model.links, strict=True)
    return {key: None if row.parent is None else keys[row.parent] for key, row in links}


class _Patch:
    """Finds how two sets of rows differ, and makes these changes in the text that the first was read from."""

    def __init__(self, document: Document, before: ModelRow, after: ModelRow, ask: CommentRequest) -> None:
        self.document, self.before, self.after, self.ask = document, before, after, ask
        self.todo: list[Callable[[XmlEdits], None]] = []
        self.old = {row.key: row for row in before.links}
        self.other_steps = self._restructured_bodies()
        self.below: dict[int | None, list[int]] = {}
        for number, row in enumerate(after.links):
            self.below.setdefault(row.parent, []).append(number)
        self.stretched: list[float] = []  # by how much the program multiplies the places of what hangs on each link
        for row in document.model.links:
            self.stretched.append(row.stretch * self._stretch(row.parent))

    def text(self) -> str:
        """The document's text with every edit made; the very text where there is none."""
        document = self.document
        self._model()
        self._geoms(document.worldbody, document.world_geoms, self.before.geoms, self.after.geoms)
        anew = self._anew()
        self.ask({key[1] for key in (self.after.links[number].key for number in anew) if key[0] == "body"})
        for number, row in enumerate(self.after.links):
            if number in anew or is_written_alike(self.old[row.key], row):
                continue
            self._link(document.numbers[row.key], self.old[row.key], row)
        self._delete(anew)
        self._add(anew)
        if not self.todo:
            return document.text
        edits = start_edits(document)
        for change in self.todo:
            change(edits)
        return edits.result()

    def _restructured_bodies(self) -> set[str]:
        """Ids of the bodies whose joint takes other steps in the document than we would write."""
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

    def _anew(self) -> set[int]:
        """Numbers of the links that have no place in the document, or another one than before."""
        anew: set[int] = set()
        steps: dict[tuple[str, str], list[LinkRow]] = {}
        for row in self.after.links:
            steps.setdefault(row.key[:2], []).append(row)

        def changed(whose: tuple[str, str]) -> bool:
            return any(not is_written_alike(self.old.get(step.key), step) for step in steps[whose])

        for number, row in enumerate(self.after.links):
            old = self.old.get(row.key)
            here = old is not None and row.key in self.document.numbers and row.parent not in anew
            moved = not here or old is None or _parent_key(self.before, old) != _parent_key(self.after, row)
            if moved or (row.key[0] == "body" and row.key[1] in self.other_steps and changed(row.key[:2])):
                anew.add(number)
        return anew

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
        """Write the attributes of one element that differ."""
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
        """Write an orientation in the way in which the document has it."""
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
        """By how much the program multiplies the places of what hangs on a link of the document."""
        return 1.0 if number is None else self.stretched[number]

    def _geoms(
        self, parent: etree._Element, elements: Sequence[etree._Element], old: Sequence[GeomRow], new: Sequence[GeomRow]
    ) -> None:
        defaults = self.document.reader.defaults
        texts = [geom_text(row) for row in old], [geom_text(row) for row in new]
        if texts[0] == texts[1]:
            return
        if len(elements) != len(old):  # the document's geoms cannot be told apart: they are written anew
            for element in elements:
                self._remove(element)
            self._append(parent, [geom_text(row, defaults) for row in new])
            return

        def change(i: int, j: int) -> None:
            if old[i].kind != new[j].kind and "xyz" in (old[i].kind, new[j].kind):
                # of axes the program passes over the place and mass that a geom of another type has
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
        if texts[0] != texts[1] and len(elements) != len(old):  # some are in a note that says they are in the document
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

    def _note(self, element: etree._Element, old: notes.ExtensionData, new: notes.ExtensionData) -> None:
        if notes.format_comment(old) == notes.format_comment(new):
            return
        place = self.document.notes.get(element)
        text = notes.format_comment(new) if new else ""
        if place is not None:
            self.todo.append(lambda edits: edits.changes.append((*place, text)))
        elif text:
            self._append(element, [text])

    def _set(self, element: etree._Element, name: str, text: str | None, row: LinkRow | None = None) -> None:
        """Give an attribute a value; without one, it is taken away, or spelt out where the defaults would give it."""
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
        """Put elements behind another, else first in their parent."""

        def insert(edits: XmlEdits) -> None:
            markup = "".join(f"{_indent_inside(edits, parent)}{text}" for text in texts)
            if after is not None:
                edits.insert_after(after, markup)
            elif len(parent):  # behind what else stands on the line of the parent's tag
                edits.insert(edits.span(parent[0]).start - len(edits.space_before(parent[0])), markup)
            else:
                edits.insert_first(parent, markup)

        self.todo.append(insert)

    def _delete(self, anew: set[int]) -> None:
        """Delete the bodies of the document that are gone, or written anew elsewhere."""
        staying = {row.key for number, row in enumerate(self.after.links) if number not in anew}
        gone = {self.document.links[i] for key, i in self.document.numbers.items() if key not in staying}
        for element in self.document.links:
            if element in gone and element.getparent() not in gone:  # what hangs on what is gone goes with it
                self._remove(element)

    def _add(self, anew: set[int]) -> None:
        """Write new bodies behind what their parent has already."""
        document, links = self.document, list(self.after.links)
        stretch: dict[int | None, float] = {None: 1.0}
        for number, row in enumerate(links):
            if number not in anew:
                stretch[number] = self._stretch(document.numbers[row.key])
                continue
            stretch[number] = stretch[row.parent]
            if stretch[number] != 1.0:
                pose = geometry.pose_from_rotation(row.pose[:3, 3] / stretch[number], row.pose[:3, :3])
                links[number] = replace(row, pose=pose)
        for number in sorted(anew):
            carrier = links[number].parent
            if carrier in anew:
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
    """A new line with the indentation of what is inside of a parent."""
    for child in parent:
        space = edits.space_before(child)
        if "\n" in space:
            return edits.newline + space.rpartition("\n")[2]
    indent = edits.indent(parent)
    return edits.newline + indent + ("\t" if indent.startswith("\t") else INDENT)


def _indent_step(margin: str) -> str:
    return "\t" if margin.startswith("\t") else INDENT


def _keep_near_values(values: Array, near: Array, size: float = 1.0) -> tuple[float, ...]:
    """Numbers with those of ``near`` where they are the same; beside an edit, rounding in 32 bits is none."""
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
    """Change, add and remove the elements of a list, so that most of them stay what they are."""
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


def is_written_alike(old: LinkRow | None, new: LinkRow) -> bool:
    """Return whether two links are written alike, apart from what hangs on them."""
    if old is not None and _is_identical(old, new):
        return True
    if (
        old is None
        or notes.format_comment(old.note) != notes.format_comment(new.note)
        or link_attributes(old) != link_attributes(new)
    ):
        return False
    parts = [([geom_text(row) for row in link.geoms], [omc_text(row) for row in link.omcs]) for link in (old, new)]
    return parts[0] == parts[1]


def _is_identical(old: LinkRow, new: LinkRow) -> bool:
    """Return whether two links are the same to the last digit, so that they need not be written to be compared."""
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
#: Levels that are indented: a rope of thousands of links would be nothing but blanks.
MAX_INDENT_LEVEL = 100
Attributes = dict[str, str]
Defaults = Mapping[str, Mapping[str, str]]

_ZERO_TOLERANCE = 1e-14
#: What an attribute is where neither an element nor the defaults give it.
_NEUTRAL_VALUES = {
    "pos": "0 0 0",
    "euler": "0 0 0",
    "quat": "1 0 0 0",
    "mass": "0",
    "color": "self",
    "edge_color": "black",
}


def new_document(mechanism: Mechanism, report: Report) -> str:
    """The text of a file with everything of a mechanism that x_xy can hold, and the rest in comments."""
    return document_text(model_rows(mechanism, report))


def document_text(model: ModelRow) -> str:
    """A whole document."""
    root = {} if model.model is None else {"model": model.model}
    lines = [_format_tag("x_xy", root, False)]
    if model.note:
        lines.append(INDENT + notes.format_comment(model.note))
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
    """A body with all that hangs on it, every line indented. ``below`` are the numbers of what hangs on each link."""
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
            inside.append(notes.format_comment(row.note))
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
    """A geom."""
    return _format_tag("geom", _explicit_attributes("geom", geom_attributes(row), defaults))


def omc_text(row: OmcRow) -> str:
    """A marker."""
    return _format_tag("omc", omc_attributes(row))


def option_attributes(model: ModelRow) -> Attributes:
    """The attributes of ``options``."""
    return {
        "gravity": format_x_xy_numbers(model.gravity),
        "dt": format_x_xy_number(DEFAULT_DT if model.dt is None else model.dt),
    }


def link_attributes(row: LinkRow) -> Attributes:
    """The attributes of a body; what is zero is left out."""
    out = {"name": row.name, "joint": row.joint, **pose_attributes(row.pose)}
    return out | {name: format_x_xy_numbers(row.numbers[name]) for name in ATTRIBUTES["body"] if name in row.numbers}


def geom_attributes(row: GeomRow) -> Attributes:
    """The attributes of a geom."""
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
    """The attributes of a marker."""
    out = {"name": row.name, "pos_marker": row.pos_marker}
    return out | ({"pos": format_x_xy_numbers(row.pos)} if any(row.pos) else {})


def pose_attributes(pose: Array) -> Attributes:
    """Place and angles of a pose; what is zero is left out."""
    out = {}
    position = clean_zeros(pose[:3, 3])
    if any(position):
        out["pos"] = format_x_xy_numbers(position)
    angles = clean_zeros(geometry.euler_from_rotation(pose[:3, :3]), 100.0)
    if any(angles):
        out["euler"] = format_x_xy_numbers(angles)
    return out


def clean_zeros(values: Sequence[float] | Array, size: float = 1.0) -> tuple[float, ...]:
    """Numbers without what only rounding left of zeros."""
    return tuple(0.0 if abs(x) < _ZERO_TOLERANCE * size else float(x) for x in values)


def explicit_default(name: str, row: LinkRow | None) -> str:
    """Return what an attribute is where it says nothing, spelt out."""
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
        position = row.pose[:3, 3] + (1e-6 if name == "pos_max" else 0.0)  # the loader wants them to differ
        return format_x_xy_numbers(position)
    return ""


def _explicit_attributes(
    tag: str, found: Attributes, defaults: Defaults | None, row: LinkRow | None = None
) -> Attributes:
    """The attributes of a new element, those spelt out that the document's defaults would otherwise give it."""
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
