"""Writer of XMDI: minimal edits of the document from which motions were read, or a new document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from ...core.model import Array, Motion, Source, Trajectory
from ...core.motion.keyframes import finite_keyframes
from ...core.report import FormatError, Message, Report
from ..document.cache import attach_document, attached_document, report_unreadable_document
from ..text import numbers, xml_reader
from ..text.numbers import format_shortest, replace_words, shortest_decimal
from ..text.xml_editor import XmlEdits
from ..text.xml_reader import escape_attribute
from .reader import (
    FRAME_SECONDS,
    INTERPOLATION,
    Document,
    MotionElement,
    Reader,
    ServoElement,
    ascending_order,
    is_holding,
)

_WORDS = re.compile(r"<!--.*?-->|<\?.*?\?>|([^\s<](?:(?:<!--.*?-->|<\?.*?\?>)*[^\s<])*)", re.DOTALL)
_XML = "http://www.w3.org/XML/1998/namespace"


def patch_document(
    document: Document, mine: Sequence[tuple[int, Motion]], others: Sequence[Motion], report: Report
) -> str:
    """Return a document's text with edited motions.

    Args:
        document: the document.
        mine: motions read from it, with their indices in it; its other motions are removed.
        others: motions to append.
        report: receives what was changed or could not be held.
    """
    return _Patch(document, report).text(mine, others)


class _Patch:
    """Differences between a document and motions, collected and then applied."""

    def __init__(self, document: Document, report: Report) -> None:
        self.document, self.report = document, report
        self.waiting: list[Callable[[XmlEdits], None]] = []

    def text(self, mine: Sequence[tuple[int, Motion]], others: Sequence[Motion]) -> str:
        """Return the document's text with all edits; the exact text where there are none."""
        kept = {index for index, _ in mine}
        for index, motion in mine:
            self._motion(self.document.motions[index], plan_motion(motion, self.report))
        for index, gone in enumerate(self.document.motions):
            if index not in kept:
                self._remove(gone.element, kept)
        for motion in others:
            new = plan_motion(motion, self.report)
            self.waiting.append(lambda edits, new=new: _insert_motion(edits, self.document, new))
        if not self.waiting:
            return self.document.text
        edits = XmlEdits(self.document.sound, self.document.root, as_read=self.document.text)
        for change in self.waiting:
            change(edits)
        return edits.result()

    # -------------------------------------------------------------- motions and servos

    def _motion(self, old: MotionElement, new: MotionPlan) -> None:
        self._attributes(old.element, {"name": old.name} | old.attributes, {"name": new.name} | new.attributes)
        names = [servo.name for servo in old.servos]
        places = numbers.match_servo_names(names, [servo.name for servo in new.servos])
        for place, servo in zip(places, new.servos, strict=True):
            if place is not None:
                self._servo(old.servos[place], servo)
        gone = [servo for place, servo in enumerate(old.servos) if place not in places]
        self.waiting += [lambda edits, servo=servo: edits.delete(servo.element) for servo in gone]
        added = [servo for place, servo in zip(places, new.servos, strict=True) if place is None]
        if added:
            self.waiting.append(lambda edits: _insert_servos(edits, self.document, old, added))

    def _attributes(self, element: Any, old: dict[str, str], new: dict[str, str]) -> None:
        changed: list[tuple[str, str | None]] = [(key, None) for key in old if key not in new]
        changed += [(key, value) for key, value in new.items() if old.get(key) != value]
        for key, value in changed:
            self.waiting.append(lambda edits, key=key, value=value: _set_attribute(edits, element, key, value))

    def _servo(self, old: ServoElement, new: ServoPlan) -> None:
        if old.name != new.name:
            self._attributes(old.element, {"name": old.name}, {"name": new.name})
        times, values = old.times, old.key_values
        if _equal(times, new.times) and _equal(values, new.values):
            return
        places = numbers.match_key_times(times, values, new.times, new.values)
        if old.kept is None or (len(places) == len(times) == len(old.kept) and _equal(times, new.times)):
            self._words_in_place(old, new, places)
        else:
            self._words_in_order(old, old.kept, new, places)

    def _words_in_place(self, old: ServoElement, new: ServoPlan, places: numbers.IndexArray) -> None:
        """Change, insert and remove words in document order."""
        stayed = places >= 0
        for element, was, now, spell in (
            (old.positions, old.key_values, new.values, new.position_words),
            (old.counts, old.times, new.times, new.frame_words),
        ):
            same = stayed.copy()
            same[stayed] = was[places[stayed]] == now[stayed]
            if same.all() and len(places) == len(was):
                continue
            words: list[str | None] = list(spell())
            for number in np.flatnonzero(same):
                words[number] = None
            at = places
            if old.kept is not None:  # all keyframes remain, at their times, in the document's own order
                every: list[str | None] = [None] * len(old.values)
                for number, word in zip(old.kept.tolist(), words, strict=True):
                    every[number] = word
                words, at = every, np.arange(len(every))
            self.waiting.append(
                lambda edits, element=element, at=at, words=words: _replace_element_words(edits, element, at, words)
            )

    def _words_in_order(self, old: ServoElement, kept: np.ndarray, new: ServoPlan, places: numbers.IndexArray) -> None:
        """Write the keyframes of an unsorted servo sorted; those that stay keep their words."""
        for element, was, now, fresh in (
            (old.positions, old.values, new.values, new.position_words()),
            (old.counts, old.frames * FRAME_SECONDS, new.times, new.frame_words()),
        ):
            words = (element.text or "").split()
            at = [int(kept[place]) if place >= 0 else -1 for place in places.tolist()]
            text = " ".join(
                words[place] if place >= 0 and was[place] == value else word
                for place, value, word in zip(at, now.tolist(), fresh, strict=True)
            )
            self.waiting.append(lambda edits, element=element, text=text: _replace_text(edits, element, text))

    def _remove(self, element: Any, kept: set[int]) -> None:
        staying = [self.document.motions[index].element for index in kept]
        holders = {each for stay in staying for each in stay.iterancestors("motion")}
        if element in holders:  # a motion inside of it stays
            self.waiting.append(lambda edits: _unwrap(edits, element))
        elif all(outer in holders or outer in staying for outer in element.iterancestors("motion")):
            self.waiting.append(lambda edits: edits.delete(element))


# ------------------------------------------------------------------ changes of the text


def _equal(one: Array, other: Array) -> bool:
    return len(one) == len(other) and bool((one == other).all())


def _replace_element_words(edits: XmlEdits, element: Any, places: Any, words: Sequence[str | None]) -> None:
    """Replace the words between an element's tags; see ``replace_words``."""
    span = edits.span(element)
    raw = edits.text[span.inner : span.close]
    if "&" in raw or "<![CDATA[" in raw or not raw:
        old = (element.text or "").split()
        _replace_text(edits, element, " ".join(word or old[place] for place, word in zip(places, words, strict=True)))
        return
    found = [match.span(1) for match in _WORDS.finditer(raw) if match[1] is not None]
    edits.changes.append((span.inner, span.close, replace_words(raw, found, places.tolist(), words)))


def _replace_text(edits: XmlEdits, element: Any, text: str) -> None:
    span = edits.span(element)
    if span.inner == span.end:
        edits.set_text(element, text)
    else:
        edits.changes.append((span.inner, span.close, text))


def _unwrap(edits: XmlEdits, element: Any) -> None:
    """Remove a motion around another one: its tags and its servos."""
    span = edits.span(element)
    edits.changes += [(span.start, span.inner, ""), (span.close, span.end, "")]
    for child in element:
        if child.tag == "servo":
            edits.delete(child)


def _set_attribute(edits: XmlEdits, element: Any, key: str, value: str | None) -> None:
    name, declared = _qualified_name(element.nsmap, key)
    if declared and value is not None:
        edits.set_attribute(element, *declared)
    edits.set_attribute(element, name, None if value is None else escape_attribute(value))


def _qualified_name(known: dict[str | None, str], key: str) -> tuple[str, tuple[str, str] | None]:
    """Return an attribute's qualified name, and the namespace declaration (name, value) if one is needed."""
    namespace, brace, local = key.removeprefix("{").rpartition("}")
    if not brace:
        return key, None
    if namespace == _XML:
        return f"xml:{local}", None
    prefix = next((prefix for prefix, uri in known.items() if uri == namespace and prefix), None)
    if prefix is not None:
        return f"{prefix}:{local}", None
    free = next(f"ns{number}" for number in range(len(known) + 1) if f"ns{number}" not in known)
    return f"{free}:{local}", (f"xmlns:{free}", escape_attribute(namespace))


def _insert_motion(edits: XmlEdits, document: Document, motion: MotionPlan) -> None:
    """Insert a motion behind the last one."""
    last = next(each for each in reversed(document.motions) if next(each.element.iterancestors("motion"), None) is None)
    layout = _Layout.of(edits, last, document)
    lead = edits.space_before(last.element)
    known = dict(last.element.getparent().nsmap)
    words = ""
    for key, value in ({"name": motion.name} | motion.attributes).items():
        name, declared = _qualified_name(known, key)
        if declared:
            words += f' {declared[0]}="{declared[1]}"'
            known[declared[0].removeprefix("xmlns:")] = key[1:].rpartition("}")[0]
        words += f' {name}="{escape_attribute(value)}"'
    servos = "".join(layout.servo(servo, lead + layout.step) for servo in motion.servos)
    tag = f"{layout.prefix}motion"
    markup = f"{lead}<{tag}{words}>{servos}{lead}</{tag}>" if servos else f"{lead}<{tag}{words}/>"
    edits.insert_after(last.element, markup)


def _insert_servos(edits: XmlEdits, document: Document, motion: MotionElement, servos: Sequence[ServoPlan]) -> None:
    """Insert servos behind a motion's last one."""
    layout = _Layout.of(edits, motion, document)
    if motion.servos:
        last = motion.servos[-1].element
        lead = edits.space_before(last)
        edits.insert_after(last, "".join(layout.servo(servo, lead) for servo in servos))
        return
    outer = layout.newline + edits.indent(motion.element) if layout.newline else ""
    markup = "".join(layout.servo(servo, outer + layout.step) for servo in servos)
    span = edits.span(motion.element)
    inside = edits.text[span.inner : span.close]
    is_open = span.inner != span.end and not len(motion.element)
    edits.insert_last(motion.element, markup + (outer if is_open and "\n" not in inside else ""))


@dataclass
class _Layout:
    """Layout of servos in a document.

    Attributes:
        prefix: namespace prefix of the tags, with its colon.
        newline: line end, "" where everything is on one line.
        step: indentation of a servo relative to its motion.
        inner: indentation of a servo's content, None where it has none.
    """

    prefix: str
    newline: str  # "" where everything is on one line
    step: str
    inner: str | None

    @classmethod
    def of(cls, edits: XmlEdits, motion: MotionElement, document: Document) -> _Layout:
        """Return the layout of a motion, or of the document's first one that has servos."""
        prefix = edits.span(motion.element).tag.rpartition(":")[0]
        sample = next((each for each in (motion, *document.motions) if each.servos), None)
        newline = edits.newline if "\n" in edits.text else ""
        step = "\t" if newline else ""
        inner: str | None = step
        if sample is not None:
            outside, servo = (edits.space_before(each) for each in (sample.element, sample.servos[0].element))
            inside = edits.space_before(sample.servos[0].element[0])
            step = servo.removeprefix(outside) if servo.startswith(outside) else step
            inner = inside.removeprefix(servo) if inside.startswith(servo) else None
        return cls(prefix and f"{prefix}:", newline, step, inner)

    def servo(self, servo: ServoPlan, lead: str) -> str:
        """Return a servo's markup with the white space before it."""
        inside = "" if self.inner is None else lead + self.inner
        lists = (("position", servo.position_words()), ("frames", servo.frame_words()))
        content = "".join(f"{inside}<{self.prefix}{tag}>{' '.join(words)}</{self.prefix}{tag}>" for tag, words in lists)
        tag = f"{self.prefix}servo"
        return f'{lead}<{tag} name="{escape_attribute(servo.name)}">{content}{lead if inside else ""}</{tag}>'


WHOLE_FRAME_TOLERANCE = 1e-6  # frames this close to a whole number are rounded to it


@dataclass
class ServoPlan:
    """Servo to be written: times (s), strictly ascending, and values."""

    name: str
    times: Array
    values: Array

    def position_words(self) -> list[str]:
        """Return the values as words."""
        return [format_shortest(value) for value in self.values.tolist()]

    def frame_words(self) -> list[str]:
        """Return the times as frame numbers."""
        return format_frames(self.times)


@dataclass
class MotionPlan:
    """Motion to be written."""

    name: str
    attributes: dict[str, str]
    servos: list[ServoPlan]


def plan_motion(motion: Motion, report: Report) -> MotionPlan:
    """Return what to write for a motion: sorted keyframes, and held values as attribute or as extra keyframes.

    Raises:
        FormatError: numbers are not finite, or XML cannot hold a name or an attribute.
    """
    where = f"motion {motion.name!r}"
    attributes = {key: value for key, value in motion.attributes.items() if key != "name"}
    for key, value in (*attributes.items(), ("name", motion.name)):
        _check(key, value, where)
    keys = [_ordered_keys(trajectory, where, report) for trajectory in motion.trajectories]
    constant = _is_constant(motion, keys)
    if constant and not is_holding(attributes):
        attributes[INTERPOLATION] = "constant"
    elif not constant and is_holding(attributes) and any(len(times) > 1 for times, _, _ in keys):
        del attributes[INTERPOLATION]
        report.info(
            "interpolation", "Interpolation: the motion is no longer constant, the attribute is removed", where=where
        )
    if not constant:
        keys = [_add_hold_steps(*each) for each in keys]
        added = sum(len(now[0]) - len(each.times) for now, each in zip(keys, motion.trajectories, strict=True))
        if added > 0:
            report.info(
                "held-keys",
                Message("Held values: {} are written twice, to last until the next key", added),
                where=where,
            )
    names = [trajectory.name for trajectory in motion.trajectories]
    return MotionPlan(
        motion.name, attributes, [ServoPlan(name, *each[:2]) for name, each in zip(names, keys, strict=True)]
    )


def format_frames(times: Array) -> list[str]:
    """Format times (s) as frame numbers that read back as the same times.

    Rounded to whole frames within 1e-6 of one, if no two become equal.

    Raises:
        FormatError: a time is too large.
    """
    with np.errstate(over="ignore"):
        frames = times / FRAME_SECONDS
    if not np.isfinite(frames).all():
        raise FormatError("a time is too large to be counted in frames", remedy="Move the keyframes nearer to 0 s.")
    whole = np.rint(frames)
    near = (np.abs(frames - whole) <= WHOLE_FRAME_TOLERANCE) & (np.abs(whole) < 2**53)
    written = np.where(near, whole, frames)
    if (np.diff(written) <= 0).any():
        near &= whole * FRAME_SECONDS == times
    return [
        str(int(nearest)) if is_near else shortest_decimal(time, frame, lambda number: number * FRAME_SECONDS)
        for nearest, is_near, time, frame in zip(
            whole.tolist(), near.tolist(), times.tolist(), frames.tolist(), strict=True
        )
    ]


def _ordered_keys(trajectory: Trajectory, where: str, report: Report) -> tuple[Array, Array, np.ndarray]:
    """Return times, values, and which keyframes are held, sorted by time."""
    _check("name", trajectory.name, where)
    times, values = finite_keyframes(trajectory, where)
    held, order = trajectory.holds(), ascending_order(times)
    if order is None:
        return times, values, held
    report.warn(
        "sorted-frames",
        Message("Servo {}: keyframes are sorted by time, of equal times the last counts", repr(trajectory.name)),
        None,
        where,
    )
    return times[order], values[order], held[order]


def _is_constant(motion: Motion, keys: Sequence[tuple[Array, Array, np.ndarray]]) -> bool:
    """Return whether values are held throughout; for single keyframes the interpolation of the trajectories decides."""
    if any(not held[:-1].all() for _, _, held in keys):
        return False
    if any(len(held) > 1 for _, _, held in keys):
        return True
    return bool(keys) and all(trajectory.interpolation == "constant" for trajectory in motion.trajectories)


def _add_hold_steps(times: Array, values: Array, held: np.ndarray) -> tuple[Array, Array, np.ndarray]:
    """Repeat every held value at the last step before the next keyframe, where there is one."""
    if not held[:-1].any():
        return times, values, held
    steps = np.ceil(np.round(times[1:] / FRAME_SECONDS, 6)) - 1
    again = steps * FRAME_SECONDS
    wanted = np.flatnonzero(held[:-1] & (again > times[:-1]))
    return (
        np.insert(times, wanted + 1, again[wanted]),
        np.insert(values, wanted + 1, values[wanted]),
        np.insert(held, wanted + 1, False),
    )


def _check(key: str, value: str, where: str) -> None:
    try:
        etree.Element("motion").set(key, value)
    except (ValueError, TypeError, UnicodeEncodeError) as error:
        raise FormatError(
            f"XML cannot hold the attribute {key!r} with the value {value!r}",
            where=where,
            remedy="Remove spaces from the attribute's name, and control characters.",
        ) from error


FORMAT = "xmdi"
#: Names of the root and of the container of motions in a new document.
DEFAULT_TAGS = ("xmdi", "motions")
#: Tags with another meaning.
RESERVED_TAGS = {"motion", "servo", "position", "positions", "frame", "frames"}


def dump(motions: Sequence[Motion], report: Report, outer: tuple[str, str] = DEFAULT_TAGS) -> str:
    """Return the text of motions.

    The first motion read from XMDI gives the document, in which all of its motions are patched; the others are
    appended. New numbers are the shortest that read back the same.

    Args:
        motions: the motions.
        report: receives what was changed or could not be held.
        outer: names of the root and of the container of motions in a new document: the published text has lost them.

    Raises:
        FormatError: numbers are not finite, or XML cannot hold a name or an attribute.
    """
    source = next((each.source for each in motions if each.source is not None and _has_text(each.source)), None)
    document = None if source is None else _open_source(source, report)
    if document is None or source is None:
        return new_document(motions, report, outer)
    mine: dict[int, Motion] = {}
    others: list[Motion] = []
    for motion in motions:
        theirs = motion.source
        is_mine = theirs is not None and _has_text(theirs) and theirs.text == source.text
        if is_mine and motion.index not in mine and 0 <= motion.index < len(document.motions):
            mine[motion.index] = motion
        else:
            others.append(motion)
    root = document.motions[0].element is document.root
    if root and (others or 0 not in mine) or not mine:
        report.warn("document-lost", "Document: it has no place for these motions. A new one is written")
        return new_document(motions, report, outer)
    return patch_document(document, list(mine.items()), others, report)


def new_document(motions: Sequence[Motion], report: Report, outer: tuple[str, str] = DEFAULT_TAGS) -> str:
    """Return motions as a new document, with an XML declaration, indented with tabs."""
    root = _container(etree.Element, outer[0])
    holder = _container(lambda tag: etree.SubElement(root, tag), outer[1])
    for motion in motions:
        _add(holder, motion, report)
    etree.indent(root, space="\t")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{etree.tostring(root, encoding="unicode")}\n'


def _container(make: Callable[[str], Any], tag: str) -> Any:
    """Create an element that holds motions.

    Raises:
        FormatError: the tag is invalid in XML or reserved.
    """
    try:
        if tag not in RESERVED_TAGS:
            return make(tag)
    except ValueError:
        pass
    raise FormatError(f"{tag!r} is not a valid name of an XMDI container", remedy="Use a name like 'motions'.")


def _add(holder: Any, motion: Motion, report: Report) -> None:
    plan = plan_motion(motion, report)
    element = etree.SubElement(holder, "motion")
    element.set("name", plan.name)
    for key, value in plan.attributes.items():
        element.set(key, value)
    for each in plan.servos:
        servo = etree.SubElement(element, "servo")
        servo.set("name", each.name)
        etree.SubElement(servo, "position").text = " ".join(each.position_words())
        etree.SubElement(servo, "frames").text = " ".join(each.frame_words())


def _has_text(source: Source) -> bool:
    return source.format == FORMAT and bool(source.text)


def _open_source(source: Source, report: Report) -> Document | None:
    kept = attached_document(source)
    if kept is not None:
        return kept
    try:
        root, sound = xml_reader.parse(source.text, source.path, Report())
        document = Reader(source.text, sound, root, source.path, Report()).document()
    except FormatError as error:
        report_unreadable_document(error, report)
        return None
    attach_document(source, document)
    return document
