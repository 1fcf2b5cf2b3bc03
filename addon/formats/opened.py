"""A file opened but not yet understood: its text, its XML, and what it is where it is nothing that we read."""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree

from ..model.report import FormatError, Report
from . import xml
from .files import decode

#: Root elements of other programs' XML, and what those files are.
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
    "x_xy": "an x_xy (ring) model",
    "skel": "a SKEL (DART) skeleton",
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
    (b"#WEBOTS_MOTION", "a Webots .motion file"),
    (b"#VRML", "a VRML scene"),
    (b"{", "JSON, perhaps a Shift model"),
    (b"[", "JSON"),
)


@dataclass
class Opened:
    """A document and its report so far. ``root`` is its XML."""

    path: str
    data: bytes
    text: str
    encoding: str
    root: etree._Element
    report: Report = field(default_factory=Report)


def open_xml(data: bytes, path: str, texts: tuple[str, ...] = ()) -> Opened:
    """Decode and parse. FormatError, saying what the file is if that is known, where it is no sound XML. ``texts``
    names elements that hold only text."""
    report = Report()
    if not data.strip():
        raise FormatError("the file is empty", path=path, remedy="Save the model again in the program it came from.")
    for first, what in _FIRST_BYTES:
        if data.lstrip().startswith(first):
            raise not_ours(what, path)
    text, encoding = decode(data, report)
    if "\0" in text:
        raise not_ours("a binary file", path)
    try:
        root, text = xml.parse(text, path, report, texts)
    except FormatError:
        what = FOREIGN_ROOTS.get(first_tag(text))
        if what is not None:
            raise not_ours(what, path) from None
        raise
    return Opened(path, data, text, encoding, root, report)


def first_tag(text: str) -> str:
    """The name of the first element, without its prefix."""
    match = next((match for match, _ in xml.scan(text)), None)
    return match[2].rpartition(":")[2] if match else ""


def not_ours(what: str, path: str, line: int | None = None, where: str = "", remedy: str = "") -> FormatError:
    """The refusal of a file that is something else."""
    return FormatError(f"this is {what}, which cannot be read here", path=path, line=line, where=where, remedy=remedy)
