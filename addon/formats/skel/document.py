"""SKEL documents: XML tree, rows of objects, and the mechanism that they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from lxml import etree

from ...core.model import Mechanism, Source
from ...core.report import FormatError, Report
from ..text.xml_reader import parse, source_line
from . import to_model
from .reader import Reader, Skeleton, SourceElement
from .schema import BODY, DOF, INACTIVE_JOINT, JOINT, LOOP_JOINT, MARKER, SHAPES, SKELETON, WORLD
from .to_model_shapes import read_shape_row

JOINT_TAGS = ("joint", LOOP_JOINT, INACTIVE_JOINT)


@dataclass
class Document:
    """Parsed SKEL document.

    Attributes:
        text: the text of the file.
        sound: the text that was parsed, after repairs.
        root: root element of ``sound``.
        holder: the element that contains the skeletons.
        world: row of the <world>, None if there is none.
        skeletons: the skeletons.
        mechanism: the mechanism.
        prepared: cache of ``get_prepared``.
    """

    text: str
    sound: str
    root: etree._Element
    holder: etree._Element
    world: SourceElement | None
    skeletons: list[Skeleton]
    mechanism: Mechanism
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)


def is_skel(root: etree._Element) -> bool:
    """Return whether a root element is that of a SKEL document."""
    return bool(root.tag == "skel")


def read(
    text: str, path: str = "", report: Report | None = None, parsed: tuple[etree._Element, str] | None = None
) -> Document:
    """Read a document.

    Repairs and elements without meaning are in the mechanism's report.

    Args:
        text: the text of the file.
        path: its path, for messages.
        report: receives the entries.
        parsed: result of ``xml_reader.parse``, if already parsed.

    Raises:
        FormatError: naming line and element, where it cannot be read.
    """
    report = Report() if report is None else report
    root, sound = parse(text, path, report) if parsed is None else parsed
    world = root.find("world")
    if world is None and root.find("skeleton") is None:
        raise FormatError(
            "a <skel> holds neither <world> nor <skeleton>",
            path=path,
            line=source_line(root),
            where=str(root.tag),
            remedy="Put the skeletons into <world> ... </world>.",
        )
    reader = Reader(path, report)
    holder = root if world is None else world
    _report_ignored_worlds(root, reader)
    placed_world = None if world is None else reader.place(world, WORLD)
    if world is None:
        reader.note("info", "no-world", "the file has no <world>; gravity and time step are DART's defaults", root)
    skeletons = [_read_skeleton(element, reader) for element in holder.findall("skeleton")]
    result = to_model.build(placed_world, skeletons, reader)
    result.name = PurePath(path).stem or (placed_world.row["@name"] if placed_world else "") or "Mechanism"
    reader.report_all()
    result.report = report
    result.source = Source("skel", "skeleton" if world is None else "world", path, text)
    return Document(text, sound, root, holder, placed_world, skeletons, result)


def _report_ignored_worlds(root: etree._Element, reader: Reader) -> None:
    """Warn of worlds after the first, and of skeletons beside it, which DART does not read."""
    worlds = root.findall("world")
    for other in worlds[1:]:
        reader.note("warning", "ignored-element", "a further <world> is ignored", other)
    strays: Iterable[etree._Element] = root.findall("skeleton") if worlds else ()
    for other in strays:
        reader.note("warning", "ignored-element", "a <skeleton> outside the <world> is ignored", other)


def _read_skeleton(element: etree._Element, reader: Reader) -> Skeleton:
    placed = reader.place(element, SKELETON)
    if not len(element):
        return Skeleton(placed, [], [])
    bodies = [_read_body(child, reader) for child in element.findall("body")]
    joints = [_read_joint(child, reader) for child in element if child.tag in JOINT_TAGS]
    return Skeleton(placed, bodies, joints)


def _read_body(element: etree._Element, reader: Reader) -> SourceElement:
    placed = reader.place(element, BODY)
    if len(element):
        shapes = [read_shape_row(child, reader) for child in element if child.tag in SHAPES]
        placed.parts = [*shapes, *(reader.place(child, MARKER) for child in element if child.tag == MARKER.tag)]
    return placed


def _read_joint(element: etree._Element, reader: Reader) -> SourceElement:
    placed = reader.place(element, JOINT)
    placed.parts = [reader.place(child, DOF) for child in element if child.tag == DOF.tag]
    return placed
