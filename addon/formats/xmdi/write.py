"""Motions written as XMDI: into the document that they were read from where they have one, else as a new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lxml import etree

from ...core.model import Motion, Source
from ...core.report import FormatError, Report
from .. import xml
from ..remembered import recall, remember
from .patch import patched
from .plan import planned
from .read import Document, Reader

FORMAT = "xmdi"
#: What the root and the container of motions are called in a new document.
OUTER = ("xmdi", "motions")
#: Tags that mean something else.
RESERVED = {"motion", "servo", "position", "positions", "frame", "frames"}


def dump(motions: Sequence[Motion], report: Report, outer: tuple[str, str] = OUTER) -> str:
    """The text of motions. The first that was read from XMDI gives the document, in which all of its motions are
    patched; the others stand behind them. Numbers that are new are the shortest that read back the same. ``outer``
    names the root of a new document and the container of its motions: the published text has lost their names.

    Raises FormatError for numbers that are not finite and for names and attributes that XML cannot hold."""
    source = next((each.source for each in motions if each.source is not None and _has_text(each.source)), None)
    document = None if source is None else _document_of(source, report)
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
        report.warn("document-lost", "the document has no place for these motions; a new one was written")
        return new_document(motions, report, outer)
    return patched(document, list(mine.items()), others, report)


def new_document(motions: Sequence[Motion], report: Report, outer: tuple[str, str] = OUTER) -> str:
    """Motions as one new document, with an XML declaration, indented with tabs."""
    root = _container(etree.Element, outer[0])
    holder = _container(lambda tag: etree.SubElement(root, tag), outer[1])
    for motion in motions:
        _add(holder, motion, report)
    etree.indent(root, space="\t")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{etree.tostring(root, encoding="unicode")}\n'


def _container(make: Callable[[str], Any], tag: str) -> Any:
    """An element that holds motions. FormatError where XML cannot have such a tag, or it would mean something else."""
    try:
        if tag not in RESERVED:
            return make(tag)
    except ValueError:
        pass
    raise FormatError(f"{tag!r} cannot be what an XMDI container is called", remedy="Give it a name like 'motions'.")


def _add(holder: Any, motion: Motion, report: Report) -> None:
    plan = planned(motion, report)
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


def _document_of(source: Source, report: Report) -> Document | None:
    kept = recall(source)
    if kept is not None:
        return kept
    try:
        root, sound = xml.parse(source.text, source.path, Report())
        document = Reader(source.text, sound, root, source.path, Report()).document()
    except FormatError as error:
        report.warn("document-lost", f"the kept document cannot be read any more ({error}); a new one is written")
        return None
    remember(source, document)
    return document
