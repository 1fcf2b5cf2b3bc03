"""XMDI, the XML Motion Data Interchange Format: motions of servos as positions at numbered frames.

A document holds motions, a motion servos, and a servo two lists of equally many numbers: positions (rad,
or length for a slider) and the frames at which they hold, a frame being one step of 32 ms. Between key
frames positions are interpolated; nothing says how, so it is linear.

The published text of the specification lost its tags, so reading goes by structure: every element called
``motion`` counts, wherever it stands and in whatever namespace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree

from ...model.records import Array, Motion, Source, Trajectory
from ...model.report import FormatError, Report
from .. import files, xml
from ..opened import Opened

FRAME_SECONDS = 0.032
WHOLE_FRAME = 1e-6  # frames this close to a whole number are written as it
POSITION_TAGS = ("position", "positions")
FRAME_TAGS = ("frames", "frame")

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def loads(data: bytes, path: str = "") -> tuple[list[Motion], Report]:
    """Read a document. Times come out in seconds, each servo's in ascending order.

    Raises FormatError with line and element for what is not XMDI, a motion or servo without a name, a servo
    without exactly one ``position`` and one ``frames``, lists of unequal length, and what is not a number."""
    report = Report()
    if not data.strip():
        raise FormatError("the file is empty", path=path, remedy="Save the motion again in the program it came from.")
    text, encoding = files.decode(data, report)
    root, _ = xml.parse(text, path, report)
    return read(root, Source("xmdi", "", path, text, encoding), report), report


def detect(opened: Opened) -> bool:
    """Whether a document holds motions of servos."""
    return next((True for motion in opened.root.iter("motion") if motion.find("servo") is not None), False)


def load(opened: Opened) -> tuple[list[Motion], Report]:
    """The motions of a document that is XMDI."""
    source = Source("xmdi", "", opened.path, opened.text, opened.encoding)
    return read(opened.root, source, opened.report), opened.report


def read(root: Any, source: Source, report: Report) -> list[Motion]:
    """The motions below an element, numbered in their order, all of the one source."""
    path = source.path
    elements = list(root.iter("motion"))
    if not elements:
        raise FormatError(
            "the document holds no motion element, so it is not XMDI",
            path=path,
            line=xml.line_of(root),
            where=xml.where_is(root),
            remedy="Choose a file of servo motion.",
        )
    motions = [_read_motion(element, path, report) for element in elements]
    for index, motion in enumerate(motions):
        motion.source, motion.index = source, index
    return motions


def dump(motions: Sequence[Motion], report: Report) -> str:
    """The text of motions."""
    return dumps(motions)


def dumps(motions: Sequence[Motion]) -> str:
    """Write motions as one document, with an XML declaration, indented with tabs.

    Numbers are the shortest that read back the same; times become frames, whole ones where they are within
    1e-6 of a whole frame. XMDI knows no interpolation but its reader's, so that is not written: whoever saves
    a trajectory of constant steps has to say that it will be read as linear.

    Raises FormatError for numbers that are not finite and for names and attributes that XML cannot hold."""
    root = etree.Element("xmdi")
    holder = etree.SubElement(root, "motions")
    for motion in motions:
        _write_motion(holder, motion)
    etree.indent(root, space="\t")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{etree.tostring(root, encoding="unicode")}\n'


# ------------------------------------------------------------------ reading


def _read_motion(element: Any, path: str, report: Report) -> Motion:
    name = _name_of(element, path)
    trajectories: list[Trajectory] = []
    for child in element:
        if child.tag == "servo":
            trajectories.append(_read_servo(child, path, report))
        elif child.tag != "motion":  # one inside another is read by itself
            _warn(report, "ignored-element", f"a motion holds servos only; <{child.tag}> was left out", child)
    if not trajectories:
        _warn(report, "empty-motion", f"motion {name!r} holds no servos", element)
    names = [trajectory.name for trajectory in trajectories]
    for repeated in sorted({each for each in names if names.count(each) > 1}):
        _warn(
            report, "repeated-servo", f"motion {name!r} holds servo {repeated!r} more than once; all are kept", element
        )
    attributes = {str(key): str(value) for key, value in element.attrib.items() if key != "name"}
    return Motion(name, trajectories, attributes)


def _read_servo(element: Any, path: str, report: Report) -> Trajectory:
    name = _name_of(element, path)
    positions, frames = _only(element, POSITION_TAGS, path), _only(element, FRAME_TAGS, path)
    if element.index(frames) < element.index(positions):
        _warn(report, "order", "frames stand before the positions; they were read all the same", frames)
    for child in element:
        if child not in (positions, frames):
            _warn(report, "ignored-element", f"<{child.tag}> in a servo was left out", child)
    for key in element.attrib:
        if key != "name":
            _warn(report, "ignored-attribute", f"attribute {key!r} of servo {name!r} was left out", element)
    values, counts = _numbers(positions, path, report), _numbers(frames, path, report)
    if len(values) != len(counts):
        raise FormatError(
            f"servo {name!r} has {len(values)} positions but {len(counts)} frames",
            path=path,
            line=xml.line_of(element),
            where=xml.where_is(element),
            remedy="Give every position its frame.",
        )
    if not len(values):
        _warn(report, "empty-servo", f"servo {name!r} has no key frames", element)
    kept = _in_order(counts)
    if len(kept) != len(counts) or (np.diff(kept) < 0).any():
        _warn(
            report, "sorted-frames", f"frames of servo {name!r} were put in order; of equal ones the last holds", frames
        )
    return Trajectory(name, counts[kept] * FRAME_SECONDS, values[kept])


def _in_order(frames: Array) -> Array:
    """Places of the frames in ascending order, of equal ones only the last."""
    order = np.argsort(frames, kind="stable")
    last = np.ones(len(order), dtype=bool)
    last[:-1] = np.diff(frames[order]) > 0
    return order[last]


def _name_of(element: Any, path: str) -> str:
    name = element.get("name")
    if name is None:
        raise FormatError(
            f"this {element.tag} has no name",
            path=path,
            line=xml.line_of(element),
            where=xml.where_is(element),
            remedy='Give it one: name="...".',
        )
    return str(name)


def _only(element: Any, tags: tuple[str, ...], path: str) -> Any:
    """The one child with one of these tags."""
    found = [child for child in element if child.tag in tags]
    if len(found) != 1:
        culprit = found[1] if found else element
        raise FormatError(
            f"servo {element.get('name')!r} has {'more than one' if found else 'no'} <{tags[0]}>",
            path=path,
            line=xml.line_of(culprit),
            where=xml.where_is(culprit),
            remedy="A servo holds one position list and one frames list.",
        )
    return found[0]


def _numbers(element: Any, path: str, report: Report) -> Array:
    if element.attrib:
        _warn(report, "ignored-attribute", f"<{element.tag}> has no attributes in XMDI; they were left out", element)
    if len(element):
        raise FormatError(
            f"<{element.tag}> holds <{element[0].tag}> where only numbers may stand",
            path=path,
            line=xml.line_of(element[0]),
            where=xml.where_is(element[0]),
            remedy="Write the numbers with spaces between them.",
        )
    words = (element.text or "").split()
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise FormatError(
                f"{word!r} is not a number",
                path=path,
                line=_line_of_word(element, word),
                where=xml.where_is(element),
                remedy="Write numbers like -0.7 with spaces between them.",
            )
    return np.array([float(word) for word in words], dtype=np.float64)


def _line_of_word(element: Any, word: str) -> int:
    """The line of a word in an element's text, counted from the line of its tag."""
    match = re.search(rf"(?<!\S){re.escape(word)}(?!\S)", element.text)
    return int(xml.line_of(element) or 1) + element.text.count("\n", 0, match.start() if match else 0)


def _warn(report: Report, code: str, message: str, element: Any) -> None:
    report.warn(code, message, xml.line_of(element), xml.where_is(element))


# ------------------------------------------------------------------ writing


def _write_motion(holder: Any, motion: Motion) -> None:
    element = etree.SubElement(holder, "motion")
    _set(element, "name", motion.name, motion.name)
    for key, value in motion.attributes.items():
        if key != "name":
            _set(element, key, value, motion.name)
    for trajectory in motion.trajectories:
        servo = etree.SubElement(element, "servo")
        _set(servo, "name", trajectory.name, motion.name)
        times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
        if times.shape != values.shape or not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise FormatError(
                f"the keys of servo {trajectory.name!r} are not pairs of finite numbers",
                where=f"motion {motion.name!r}",
                remedy="Remove or repair those keys.",
            )
        etree.SubElement(servo, "position").text = " ".join(map(_shortest, values.tolist()))
        etree.SubElement(servo, "frames").text = " ".join(map(_frame, times.tolist()))


def _set(element: Any, key: str, value: str, motion: str) -> None:
    try:
        element.set(key, value)
    except ValueError as error:
        raise FormatError(
            f"XML cannot hold the attribute {key!r} with the value {value!r}",
            where=f"motion {motion!r}",
            remedy="Take out spaces in the attribute's name, and control characters.",
        ) from error


def _shortest(number: float) -> str:
    """The shortest text that reads back as the same number; whole numbers without a point."""
    text = repr(number)
    return text.removesuffix(".0")


def _frame(time: float) -> str:
    """The frame number of a time in seconds, spelled so that it reads back as that time."""
    frame = time / FRAME_SECONDS
    nearest = round(frame)
    if abs(frame - nearest) <= WHOLE_FRAME:
        return str(nearest)
    for neighbour in (frame, math.nextafter(frame, math.inf), math.nextafter(frame, -math.inf)):
        for digits in range(1, 18):
            text = f"{neighbour:.{digits}g}"
            if float(text) * FRAME_SECONDS == time:
                return _shortest(float(text))
    return _shortest(frame)
