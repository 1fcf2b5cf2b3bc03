"""Juice documents: XML tree, rows of objects, and the mechanism that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from ...core.gait.behaviors import GaitBehaviors
from ...core.model import Mechanism, Source
from ...core.report import FormatError, Message, Report
from ..text.xml_reader import parse
from . import gait, to_model
from .reader import Reader, ReferenceResolver, SourceElement, model_element, object_elements, require_unique_ids
from .schema import BODY, CONTAINERS, MODEL

#: Elements of a .jm3 that hold the world's parameters.
SOLVERS = ("ODE.Standard", "ODE.Iterative")
_KNOWN = {*CONTAINERS, *(table.tag for table in CONTAINERS.values()), *(item.path for item in MODEL), "Behaviors"}


@dataclass
class Document:
    """Parsed Juice document.

    Attributes:
        text: the text of the file.
        sound: the text that was parsed, after repairs.
        root: root element of ``sound``.
        settings: row of the model (world and engine).
        bodies: rows of the bodies.
        joints: rows of the joints.
        behaviours: behaviors, each followed by its motors or nodes and edges, in document order.
        mechanism: the mechanism.
        prepared: cache of ``get_prepared``.
    """

    text: str
    sound: str
    root: etree._Element
    settings: SourceElement
    bodies: list[SourceElement]
    joints: list[SourceElement]
    behaviours: list[gait.SourceRecord]
    mechanism: Mechanism
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)


def is_juice(root: etree._Element) -> bool:
    """Return whether a root element is that of a Juice model."""
    if root.tag == "JuiceFile":
        return root.find(MODEL.tag) is not None
    if root.tag != MODEL.tag:
        return False
    odd_version = any(str(name).startswith("FileVersion") for name in root.attrib)
    return odd_version or not len(root) or any(child.tag in _KNOWN for child in root)


def detect_dialect(root: etree._Element) -> str:
    """Return the dialect: ``jm``, ``jm3`` (a JuiceFile) or ``jpm`` (the older, flat list of objects)."""
    if root.tag == "JuiceFile":
        return "jm3"
    objects = {table.tag for table in CONTAINERS.values()}
    return "jpm" if any(child.tag in objects for child in root) else "jm"


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
    if not is_juice(root):
        raise FormatError(f"<{root.tag}> is not the root of a Juice model", path=path, line=1, where=str(root.tag))
    model = model_element(root)
    reader = Reader(path, report)
    settings = reader.place(root, MODEL)
    if all(next(root.iter(solver), None) is not None for solver in SOLVERS):
        report.info("two-solvers", "settings for two solvers; the first ones are used")
    placed = [reader.place(element, table) for element, table in object_elements(model, reader)]
    bodies = [item for item in placed if item.table is BODY]
    joints = [item for item in placed if item.table is not BODY]
    require_unique_ids(bodies, "bodies", path)
    require_unique_ids(joints, "joints", path)
    body_of, joint_of = ReferenceResolver(bodies), ReferenceResolver(joints)
    behaviours = gait.read_behaviours(model, reader, body_of, joint_of)
    strengths = gait.motor_gains(model, reader, joint_of)
    result = to_model.build(settings, bodies, joints, body_of, joint_of, strengths, path, report)
    result.behaviours = gait.assemble_behaviours(settings, behaviours)
    _report_untyped_motors(result.behaviours, report)
    reader.report_defaults()
    reader.report_ignored()
    result.report = report
    result.directed = False
    result.source = Source("juice", detect_dialect(root), path, text)
    return Document(text, sound, root, settings, bodies, joints, behaviours, result)


def _report_untyped_motors(behaviours: GaitBehaviors, report: Report) -> None:
    """Report motors without a motion type, as in files older than these types."""
    if found := behaviours.motors_without_type:
        names = "motor of the gait states" if len(found) == 1 else "motors of the gait state"
        report.warn(
            "no-motion-type",
            Message(
                "{} {} no MotionType, as in older files; a sine is used, unless the import option Sine without "
                "Motion Type is off",
                len(found),
                names,
            ),
        )
