"""Reader of x_xy documents: elements to uninterpreted rows, and these to a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

import numpy as np
from lxml import etree

from ...core.model import Mechanism, Source
from ...core.record_utils import FrozenDict
from ...core.report import FormatError, Message, Report
from ...core.transforms import IDENTITY_POSE
from ..text.numbers import WHITESPACE
from ..text.xml_reader import ElementSpans, element_path, parse, source_line
from . import comments
from . import values as geometry
from .schema import ATTRIBUTES, COLORS, DEFAULT_DT, DEFAULT_GRAVITY, DOF_ATTRIBUTES, GEOMS, PARENTS, ROOT, joint_kind
from .to_model import build
from .values import GeomRow, Key, LinkRow, ModelRow, OmcRow, Reader, ReportCollector, format_x_xy_numbers, is_numeric

_ORIGIN = (0.0, 0.0, 0.0)
_NOTHING: tuple[etree._Element, ...] = ()
_NO_EXTENSION = FrozenDict()


@dataclass
class Document:
    """Parsed x_xy document: its rows with their elements, and the mechanism that they make.

    ``sound`` is the text that was parsed, after repairs.
    """

    text: str
    sound: str
    root: etree._Element
    mechanism: Mechanism
    model: ModelRow
    worldbody: etree._Element | None
    reader: Reader
    links: list[etree._Element] = field(default_factory=list)  # in the order of model.links
    geoms: list[Sequence[etree._Element]] = field(default_factory=list)  # elements of each link's geoms
    omcs: list[Sequence[etree._Element]] = field(default_factory=list)
    world_geoms: list[etree._Element] = field(default_factory=list)
    notes: dict[etree._Element, tuple[int, int]] = field(default_factory=dict)  # span of the comment of an element
    numbers: dict[Key, int] = field(default_factory=dict)  # indices of the links in the model
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)


def read(
    text: str, path: str = "", report: Report | None = None, parsed: tuple[etree._Element, str] | None = None
) -> Document:
    """Read a document.

    What the program would reject but has only one possible meaning is read and reported.

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
    if root.tag != ROOT:
        raise FormatError(f"<{root.tag}> is not the root of an x_xy model", path=path, line=1, where=str(root.tag))
    remarks = ReportCollector(report)
    walk = _DocumentWalker(text, sound, root, Reader(path, remarks))
    document = walk.document()
    mechanism, keys = build(document.model, path, remarks)
    mechanism.report = report
    mechanism.source = Source(ROOT, "", path, text)
    document.mechanism = mechanism
    document.numbers = {key: number for number, key in enumerate(keys)}
    remarks.report_all()
    return document


class _DocumentWalker:
    """Single pass over the elements that collects rows."""

    def __init__(self, text: str, sound: str, root: etree._Element, reader: Reader) -> None:
        self.text, self.sound, self.root, self.reader = text, sound, root, reader
        self.remarks = reader.remarks
        found = comments.find_comments(sound, ElementSpans(sound)) if "<!--knuckle" in sound else {}
        self.noted: dict[etree._Element, tuple[comments.ExtensionData | None, int, int]] = {}
        if found:
            self.noted = {element: found[i] for i, element in enumerate(root.iter()) if i in found}

    def document(self) -> Document:
        """Read the rows of the whole document."""
        root, reader = self.root, self.reader
        own = reader.own(root)
        model = ModelRow(own.get("model"), note=self._note(root))
        self._options(model)
        self._defaults()
        self._report_unknown_elements()
        worldbody = self._only(root, "worldbody")
        if worldbody is None or worldbody.find("body") is None:
            self.remarks.warn("no-bodies", "the model has no body, which ring rejects", root)
        places = {element: (start, end) for element, (_, start, end) in self.noted.items()}
        out = Document(self.text, self.sound, root, Mechanism(), model, worldbody, reader, notes=places)
        if worldbody is None:
            return out
        out.world_geoms, model.geoms = self._geoms(worldbody)
        waiting: list[tuple[etree._Element, int | None]] = []
        waiting += [(body, None) for body in worldbody.iterchildren("body", reversed=True)]
        while waiting:
            element, parent = waiting.pop()
            number = len(model.links)
            row = self._link(element, parent)
            model.links.append(row)
            out.links.append(element)
            if not len(element):
                out.geoms.append(_NOTHING)
                out.omcs.append(_NOTHING)
                continue
            geoms, row.geoms = self._geoms(element)
            omcs = list(element.iterchildren("omc"))
            row.omcs = [self._omc(omc) for omc in omcs]
            out.geoms.append(geoms)
            out.omcs.append(omcs)
            waiting += [(body, number) for body in element.iterchildren("body", reversed=True)]
        return out

    def _note(self, element: etree._Element) -> comments.ExtensionData:
        if element not in self.noted:
            return _NO_EXTENSION
        note = self.noted[element][0]
        if note is None:
            self.remarks.warn(
                "bad-note", "a comment with extension data was edited and cannot be read; it is ignored", element
            )
        return note or {}

    def _only(self, parent: etree._Element, tag: str) -> etree._Element | None:
        """Return the one element of a kind; of several the first."""
        found = list(parent.iterchildren(tag))
        if len(found) > 1:
            self.remarks.warn(
                "repeated-element", Message("{} occurs {} times; the first is used", tag, len(found)), found[1]
            )
        return found[0] if found else None

    def _options(self, model: ModelRow) -> None:
        element = self._only(self.root, "options")
        found = {} if element is None else self.reader.own(element)
        model.gravity = self.reader.vector(element, "gravity", found, DEFAULT_GRAVITY)
        (model.dt,) = self.reader.vector(element, "dt", found, (DEFAULT_DT,))
        if model.gravity[2] < 0.0:
            message = "gravity has the sign of an accelerometer at rest, so bodies fall upwards"
            self.remarks.warn("gravity-upwards", message, element)

    def _defaults(self) -> None:
        element = self._only(self.root, "defaults")
        if element is None:
            return
        for tag in ("geom", "body"):
            found = self._only(element, tag)
            if found is not None:
                self.reader.defaults[tag] = self.reader.own(found)

    def _report_unknown_elements(self) -> None:
        for element in self.root.iter():
            if element is self.root:
                continue
            tag, parent = str(element.tag), str(element.getparent().tag)
            if tag not in ATTRIBUTES:
                self.remarks.warn("unknown-element", Message("<{}> is unknown in ring; it is kept", tag), element)
            elif parent not in PARENTS.get(tag, ()) and parent in ATTRIBUTES:
                self.remarks.warn(
                    "misplaced-element", Message("<{}> is misplaced inside <{}>; it is kept", tag, parent), element
                )

    def _pose(self, element: etree._Element, found: dict[str, str]) -> tuple[np.ndarray, float]:
        """Return the pose of a body or geom in its parent, and the squared length of its quaternion."""
        position = self.reader.vector(element, "pos", found, _ORIGIN)
        if "euler" in found:
            angles = self.reader.vector(element, "euler", found, _ORIGIN)
            return geometry.pose_from_rows(position, geometry.rotation_rows_from_euler(angles)), 1.0
        if "quat" not in found and not any(position):
            return IDENTITY_POSE, 1.0
        if "quat" not in found:
            return geometry.pose_from_rows(position, geometry.IDENTITY_ROWS), 1.0
        quat = self.reader.vector(element, "quat", found, (1.0, 0.0, 0.0, 0.0))
        stretch = math.fsum(x * x for x in quat)
        if stretch == 0.0:
            self.remarks.warn("zero-quat", "a quat of length 0 is read as no rotation", element)
            stretch = 1.0
        elif element.tag == "body" and abs(stretch - 1.0) > 1e-3:
            message = (
                "a quat is not a unit quaternion: as in ring, positions of children of its body are multiplied "
                "by the square of its length"
            )
            self.remarks.warn("quat-length", message, element)
        return geometry.pose_from_rows(position, geometry.rotation_rows_from_quat(quat)), stretch

    def _link(self, element: etree._Element, parent: int | None) -> LinkRow:
        found = self.reader.attributes(element)
        if not found.get("name"):
            self.remarks.warn("no-name", "a body has no name, which ring rejects; one is generated", element)
        elif is_numeric(found["name"]):
            message = Message("ring reads the name '{}' as a number", found["name"])
            self.remarks.warn("numeric-name", message, element)
        joint = intern(found.get("joint", "").strip())
        if not joint:
            self.remarks.warn("no-joint", "a body has no joint, which ring rejects; it is frozen", element)
            joint = "frozen"
        pose, stretch = self._pose(element, found)
        row = LinkRow(
            found.get("name", ""), joint, parent, pose, stretch, note=self._note(element), line=source_line(element)
        )
        self._range(element, found, row)
        self._joint_numbers(element, found, row)
        return row

    def _range(self, element: etree._Element, found: dict[str, str], row: LinkRow) -> None:
        names = [name for name in ("pos_min", "pos_max") if name in found]
        for name in names:
            row.numbers[name] = self.reader.vector(element, name, found, _ORIGIN)
        if len(names) == 1:
            self.remarks.warn("half-range", Message("a body has only {}; ring needs both or none", names[0]), element)
        elif names and row.numbers["pos_min"] == row.numbers["pos_max"]:
            self.remarks.warn("empty-range", "pos_min and pos_max are equal, which ring rejects", element)

    def _joint_numbers(self, element: etree._Element, found: dict[str, str], row: LinkRow) -> None:
        kind = joint_kind(row.joint)
        for name in DOF_ATTRIBUTES:
            if name not in found:
                continue
            if kind is None:
                values = tuple(self.reader.numbers(element, name, found[name]))
                row.numbers |= {name: values} if values else {}
                continue
            default = [0.0] * (kind.coordinates if name == "spring_zero" else kind.velocities)
            if name == "spring_zero":
                for block in kind.blocks:
                    if block.kind in {"ball", "free"}:
                        default[block.place] = 1.0
            values = self.reader.vector(element, name, found, default)
            if values != tuple(default):
                row.numbers[name] = values

    def _geoms(self, parent: etree._Element) -> tuple[list[etree._Element], list[GeomRow]]:
        elements = list(parent.iterchildren("geom"))
        return elements, [self._geom(element) for element in elements]

    def _geom(self, element: etree._Element) -> GeomRow:
        found = self.reader.attributes(element)
        name = found.get("type", "").strip()
        kind = GEOMS.get(name)
        if kind is None:
            raise FormatError(
                f"geom type '{name}' does not exist" if name else "a geom has no type",
                path=self.reader.path,
                line=source_line(element),
                where=element_path(element),
                remedy=Message('Write type="..." with one of: {}.', ", ".join(GEOMS)),
            )
        if "dim" not in found and not kind.default:
            raise FormatError(
                f"a {name} has no dim",
                path=self.reader.path,
                line=source_line(element),
                where=element_path(element),
                remedy=Message('Write dim="{}" with its {}.', " ".join(kind.sizes), " and ".join(kind.sizes)),
            )
        sizes = self.reader.numbers(element, "dim", found["dim"]) if "dim" in found else kind.default
        dim = self.reader.vector(element, "dim", found, (*sizes, *sizes[-1:] * 3, 1e-3, 1e-3, 1e-3)[: len(kind.sizes)])
        if min(dim) <= 0.0:
            message = Message(
                "a {} has a dim that is not positive, which ring rejects; its absolute value is used", name
            )
            self.remarks.warn("negative-size", message, element)
            dim = tuple(abs(x) or 1e-9 for x in dim)
        if name == "xyz":
            return GeomRow(name, dim)  # the program ignores its other attributes
        if "mass" not in found:
            self.remarks.warn("no-mass", Message("a {} has no mass, which ring rejects; 0 is used", name), element)
        (mass,) = self.reader.vector(element, "mass", found, (0.0,))
        pose, _ = self._pose(element, found)
        return GeomRow(name, dim, mass, pose, self._color(element, found.get("color")), found.get("edge_color", ""))

    def _color(self, element: etree._Element, text: str | None) -> str:
        """Return a color as its name or its three or four numbers."""
        color = self.reader.color(element, text)
        if color is None and text and is_numeric(text):
            return ""  # the program accepts any word, but not a wrong count of numbers
        if color is None or (text or "").strip() in COLORS:
            return (text or "").strip()
        return format_x_xy_numbers(color if color[3] != 1.0 else color[:3])

    def _omc(self, element: etree._Element) -> OmcRow:
        found = self.reader.attributes(element)
        number = found.get("pos_marker", "").strip(WHITESPACE)
        if not (number.isascii() and number.isdecimal()):
            self.remarks.warn("marker-number", "pos_marker of a marker is not a whole number; 0 is used", element)
            number = "0"
        return OmcRow(
            found.get("name", ""),
            number,
            self.reader.vector(element, "pos", found, _ORIGIN),
        )
