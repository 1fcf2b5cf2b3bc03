"""Motions written as XMDI: into the document that they were read from where they have one, else as a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lxml import etree

from ...model.records import Motion, Source
from ...model.report import FormatError, Report
from .. import xml
from ..remembered import recall, remember
from .patch import patched
from .plan import planned
from .read import Document, Reader

FORMAT = "xmdi"
#: The outer elements of new documents: what the specification calls them is lost.
ROOT, HOLDER = "xmdi", "motions"


def dump(motions: Sequence[Motion], report: Report) -> str:
    """The text of motions. The first that was read from XMDI gives the document, in which all of its motions are
    patched; the others stand behind them. Numbers that are new are the shortest that read back the same.

    Raises FormatError for numbers that are not finite and for names and attributes that XML cannot hold."""
    source = next((each.source for each in motions if each.source is not None and _has_text(each.source)), None)
    document = None if source is None else _document_of(source, report)
    if document is None or source is None:
        return new_document(motions, report)
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
        return new_document(motions, report)
    return patched(document, list(mine.items()), others, report)


def new_document(motions: Sequence[Motion], report: Report) -> str:
    """Motions as one new document, with an XML declaration, indented with tabs."""
    root = etree.Element(ROOT)
    holder = etree.SubElement(root, HOLDER)
    for motion in motions:
        _add(holder, motion, report)
    etree.indent(root, space="\t")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{etree.tostring(root, encoding="unicode")}\n'


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
