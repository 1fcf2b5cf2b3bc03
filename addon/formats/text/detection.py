"""Opened files: the text, its XML or JSON, and the detection of foreign files that are not supported."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from lxml import etree

from ...core.model import Mechanism
from ...core.report import FormatError, Message, Report
from . import csv_table, json_reader, xml_reader
from .file_io import decode

T = TypeVar("T")


class AnyDocument(Protocol):
    """Protocol of a format's parsed document: text, mechanism, and the values cached by ``get_prepared``."""

    text: str
    mechanism: Mechanism
    prepared: dict[str, Any]


def get_prepared(document: AnyDocument, what: str, make: Callable[[], T]) -> T:
    """Return a read-only value derived from an unedited document, computed once by ``make`` and cached as ``what``."""
    if what not in document.prepared:
        document.prepared[what] = make()
    return cast(T, document.prepared[what])


#: Descriptions of other programs' XML files by root element.
FOREIGN_ROOTS = {
    "robot": "a URDF robot description",
    "sdf": "an SDF (Gazebo) description",
    "gazebo": "an SDF (Gazebo) description",
    "mujoco": "a MuJoCo (MJCF) model",
    "mujocoinclude": "a part of a MuJoCo (MJCF) model",
    "COLLADA": "a COLLADA scene",
    "svg": "an SVG drawing",
    "html": "a web page (HTML)",
    "plist": "a property list",
    "X3D": "an X3D scene",
    "OpenSimDocument": "an OpenSim model",
    "Robot": "an OpenRAVE robot",
    "Environment": "an OpenRAVE environment",
    "kml": "a KML map",
    "launch": "a ROS launch file",
    "project": "a build or project file",
    "rss": "a news feed",
    "model": "a 3MF model",
    "amf": "an AMF model",
}
_FIRST_BYTES = (
    (b"glTF", "a glTF scene"),
    (b"BLENDER", "a .blend file"),
    (b"\x28\xb5\x2f\xfd", "a compressed file, perhaps a .blend"),
    (b"\x1f\x8b", "a compressed file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"%PDF", "a PDF document"),
    (b"#VRML", "a VRML scene"),
)
#: Descriptions of other programs' plain text by its beginning, behind comments.
_FIRST_WORDS = (
    (r"dofs\s*\{", "a skeleton in the text format that DART had until 2012, before SKEL was XML"),
    (r"(?:node|link|markers|masses)\s+\S+\s*\{", "a skeleton in the text format that DART had until 2012"),
    (r"balljoint\s+\S+\s*\{", "a skeleton in the plain text of a course in animation (CSE 169)"),
    (r"HIERARCHY\s", "a BVH motion capture"),
    (r":(?:version|name|units)\s", "an Acclaim (ASF) skeleton"),
)
_COMMENTS = re.compile(r"(?:\s|#[^\n]*\n|//[^\n]*\n)*")
#: Beginnings of JSON documents; some have a comment first.
_JSON_BEGINS = ("{", "[", "//", "/*")
#: Descriptions of other programs' JSON files by keys of the top object.
FOREIGN_KEYS = (
    ({"asset", "scenes"}, "a glTF scene"),
    ({"asset", "nodes"}, "a glTF scene"),
    ({"asset", "meshes"}, "a glTF scene"),
    ({"name", "version", "scripts"}, "a package description (package.json)"),
    ({"name", "version", "dependencies"}, "a package description (package.json)"),
    ({"name", "lockfileVersion"}, "a lock file of packages"),
    ({"cells", "nbformat"}, "a Jupyter notebook"),
    ({"skeleton", "bones"}, "a Spine skeleton"),
    ({"robot", "links", "joints"}, "a robot description as robot programs keep it (LinkForge, for one)"),
    ({"links", "joints"}, "a robot description of links and joints (LinkForge, for one)"),
    ({"type", "features"}, "a GeoJSON map"),
    ({"metadata", "geometries"}, "a three.js scene"),
    ({"Name", "Type", "Template"}, "a Chrono::Vehicle description"),
    ({"frames", "fps"}, "an animation of servos (blender-servo-animation, for one)"),
    ({"fps", "servos"}, "an animation of servos (blender-servo-animation)"),
    ({"v", "fr", "layers"}, "a Lottie animation"),
    ({"compilerOptions"}, "a compiler's settings (tsconfig.json)"),
    ({"$schema", "properties"}, "a JSON schema"),
)
#: First characters of a Webots .motion file.
WEBOTS_MOTION = "#WEBOTS_MOTION"
#: Plain-text motion formats, with their tests of a text.
PLAIN_MOTIONS: dict[str, Callable[[str], bool]] = {
    "webots": lambda text: text.lstrip().startswith(WEBOTS_MOTION),
    "csv": csv_table.is_motion_table,
}


@dataclass
class OpenedFile:
    """Parsed file with its report so far.

    Attributes:
        path: path of the file, for messages.
        data: its bytes.
        text: the text that was parsed; malformed XML is repaired first.
        encoding: name of its encoding.
        root: root element of the XML; an empty element ``JSON`` for JSON, ``TEXT`` for a plain-text motion.
        report: entries of the reading so far.
        json: top value of JSON.
        plain: id of the plain-text motion format.
        as_read: text of XML before repairs.
    """

    path: str
    data: bytes
    text: str
    encoding: str
    root: etree._Element
    report: Report = field(default_factory=Report)
    json: json_reader.JsonNode | None = None
    plain: str = ""
    as_read: str = ""


def open_xml(data: bytes, path: str) -> OpenedFile:
    """Decode and parse XML or JSON; plain-text motions are only decoded.

    Raises:
        FormatError: it is none of these; the message names the kind of file where that is known.
    """
    report = Report()
    if not data.lstrip():  # copies nothing unless there is leading whitespace
        raise FormatError("the file is empty", path=path, remedy="Save it again in the program that wrote it.")
    for first, program in _FIRST_BYTES:
        if data.lstrip().startswith(first):
            raise foreign_file_error(program, path)
    text, encoding = decode(data, report)
    if "\0" in text:
        raise foreign_file_error(
            "a binary file" + (", perhaps a Spine skeleton" if path.lower().endswith(".skel") else ""), path
        )
    if text.lstrip().startswith(_JSON_BEGINS):
        node, text, encoding = _read_json(data, text, encoding, path, report)
        return OpenedFile(path, data, text, encoding, etree.Element("JSON"), report, node)
    if not text.lstrip().startswith("<"):
        plain = next((id for id, begins in PLAIN_MOTIONS.items() if begins(text)), "")
        if plain:
            return OpenedFile(path, data, text, encoding, etree.Element("TEXT"), report, plain=plain)
    try:
        root, sound = xml_reader.parse(text, path, report)
    except FormatError:
        what = FOREIGN_ROOTS.get(first_tag(text)) or _plain_kind(text)
        if what is None and csv_table.is_table(text):
            what = "a table without a time column"
        if what is not None:
            raise foreign_file_error(what, path) from None
        raise
    return OpenedFile(path, data, sound, encoding, root, report, as_read=text)


#: Double-byte code pages of Windows. The second byte of a letter may be a backslash in ASCII: a text that is not valid
#: JSON in code page 1252 may be valid in one of them.
_DOUBLE_BYTE_CODE_PAGES = {"cp932": "932", "gbk": "936", "cp949": "949", "cp950": "950"}


def _read_json(
    data: bytes, text: str, encoding: str, path: str, report: Report
) -> tuple[json_reader.JsonNode, str, str]:
    """Parse JSON; returns the top value, the text and the encoding, which may differ from the one first detected."""
    read_report = Report()
    try:
        node = json_reader.parse(text, path, read_report)
    except FormatError:
        found = _read_double_byte_json(data, path, read_report) if encoding == "cp1252" else None
        if found is None:
            raise
        node, text, encoding = found
        report.entries[:] = [entry for entry in report.entries if entry.code != "decoded-8-bit"]
        page = _DOUBLE_BYTE_CODE_PAGES[encoding]
        message = Message("the text is not UTF-8; it was read in the Windows code page {}", page)
        report.warn("decoded-8-bit", message)
    report.extend(read_report)
    return node, text, encoding


def _read_double_byte_json(data: bytes, path: str, report: Report) -> tuple[json_reader.JsonNode, str, str] | None:
    """Parse JSON in the first double-byte code page in which it is valid and survives a round trip.

    None where there is none.
    """
    for codec in _DOUBLE_BYTE_CODE_PAGES:
        report.entries.clear()
        try:
            text = data.decode(codec)
            if text.encode(codec) == data:
                return json_reader.parse(text, path, report), text, codec
        except (UnicodeError, FormatError):
            continue
    return None


def _plain_kind(text: str) -> str | None:
    """Return the description of another program's plain text, by its first words; None if unknown."""
    start = _COMMENTS.match(text)
    at = start.end() if start else 0
    return next((what for words, what in _FIRST_WORDS if re.compile(words).match(text, at)), None)


def json_kind(node: json_reader.JsonNode) -> str:
    """Describe JSON that is of no supported format."""
    keys = set(node.value) if isinstance(node.value, dict) else set()
    known = next((what for known, what in FOREIGN_KEYS if known <= keys), None)
    if known:
        return known
    if not isinstance(node.value, dict):
        return "JSON without an object at its top"
    return f"an unknown kind of JSON with {', '.join(map(_quote_key, sorted(keys)[:4])) or 'nothing'} at its top"


def _quote_key(key: str) -> str:
    return f'"{key if len(key) <= 40 else key[:40] + "..."}"'


def first_tag(text: str) -> str:
    """Return the name of the first element, without its prefix."""
    match = next((match for match, _ in xml_reader.scan_tags(text)), None)
    return match[2].rpartition(":")[2] if match else ""


def foreign_file_error(what: str, path: str, line: int | None = None, where: str = "", remedy: str = "") -> FormatError:
    """Build the error for a file of a kind that is not supported."""
    remedy = remedy or "Choose a model or a motion file."
    return FormatError(f"this is {what}, which is not supported", path=path, line=line, where=where, remedy=remedy)
