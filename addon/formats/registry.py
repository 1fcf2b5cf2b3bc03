"""Registry of file formats: each is one row of ``FORMATS`` or ``MOTION_FORMATS``.

Also the checks of what was read that all formats share: numbers of a file are finite, but derived quantities may
overflow (sizes near 1e308 have no volume), and a mass may be negative.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from ..core.mass_properties import body_inertia
from ..core.model import Body, Mechanism, Motion
from ..core.report import FormatError, Message, Report
from . import juice, motion_csv, shift, skel, webots, x_xy, xmdi
from .text.detection import FOREIGN_ROOTS, AnyDocument, OpenedFile, foreign_file_error, json_kind
from .text.xml_reader import source_line

#: Bodies per batch of the finiteness check.
_BATCH_SIZE = 1000


def reject_overflows(mechanism: Mechanism, path: str) -> None:
    """Raise a FormatError where a pose, center of mass or inertia tensor that was read is not finite."""
    for first in range(0, len(mechanism.bodies), _BATCH_SIZE):
        block = mechanism.bodies[first : first + _BATCH_SIZE]
        if not _are_finite(block):
            _reject_overflow(block, path)


def _are_finite(bodies: Sequence[Body]) -> bool:
    """Return whether poses, centers of mass and inertia tensors are finite.

    Tests many bodies at once, as one by one is slow.
    """
    tensors = [body.inertia for body in bodies if body.inertia is not None]
    made = np.array([body.pose for body in bodies]), np.array([body.com for body in bodies]), np.array(tensors)
    return all(bool(np.isfinite(each).all()) for each in made)


def _reject_overflow(bodies: Sequence[Body], path: str) -> None:
    for body in bodies:
        made = {"pose": body.pose, "center of mass": body.com, "moment of inertia": body.inertia}
        what = next((name for name, each in made.items() if each is not None and not np.isfinite(each).all()), None)
        if what is not None:
            raise _overflow_error(what, body, path)


def report_negative_masses(mechanism: Mechanism) -> None:
    """Warn of bodies with a negative mass."""
    for body in mechanism.bodies:
        if body.mass < 0.0:
            message = f"body '{body.name}': the mass {body.mass:g} is negative"
            mechanism.report.warn("negative-mass", message, body.line)


def reject_invalid_inertia(mechanism: Mechanism) -> None:
    """Raise a FormatError where a moment of inertia that would have to be written is not finite."""
    with np.errstate(all="ignore"):
        infinite = next((body for body in mechanism.bodies if not np.isfinite(body_inertia(body)).all()), None)
    if infinite is not None:
        raise _overflow_error("moment of inertia", infinite, mechanism.source.path)


def _overflow_error(what: str, body: Body, path: str) -> FormatError:
    return FormatError(
        f"body '{body.name}': the {what} is not finite",
        path=path,
        line=body.line,
        remedy="Reduce its sizes, distances or mass.",
    )


@dataclass(frozen=True)
class Format:
    """Model file format.

    Attributes:
        id: its key in ``FORMATS``.
        label: its name in messages.
        extensions: file extensions, the preferred one first.
        detect: whether a file is of this format.
        load: gives the mechanism.
        dump: gives the text for a mechanism, a file extension (with its dot; it may decide on a dialect) and a report
            to add to.
        names_meshes: False where the format has no shapes in files of their own.
        read: gives the document with the mechanism in it that ``load`` gives; where there is one, it is kept from one
            edit and export to the next.
    """

    id: str
    label: str
    extensions: tuple[str, ...]
    detect: Callable[[OpenedFile], bool]
    load: Callable[[OpenedFile], Mechanism]
    dump: Callable[[Mechanism, str, Report], str]
    names_meshes: bool = True  # False: it has no shapes in files of their own
    read: Callable[[OpenedFile], AnyDocument] | None = None


@dataclass(frozen=True)
class MotionFormat:
    """Motion file format.

    ``dump`` gives the text for motions: the document they were read from with the edits, where they have one of this
    format, else a new one. ``supports_root_motion``: the format can hold root motion.
    """

    id: str
    label: str
    extensions: tuple[str, ...]
    detect: Callable[[OpenedFile], bool]
    load: Callable[[OpenedFile], tuple[list[Motion], Report]]
    dump: Callable[[Sequence[Motion], Report], str]
    supports_root_motion: bool = False


FORMATS: dict[str, Format] = {
    "juice": Format(
        "juice",
        "Juice",
        (".jm", ".jm3", ".jpm", ".xml"),
        juice.detect,
        juice.load,
        juice.dump,
        names_meshes=False,
        read=juice.read_opened,
    ),
    "skel": Format("skel", "SKEL (DART)", (".skel",), skel.detect, skel.load, skel.dump, read=skel.read_opened),
    "x_xy": Format("x_xy", "x_xy (ring)", (".xml",), x_xy.detect, x_xy.load, x_xy.dump, read=x_xy.read_opened),
    "shift": Format("shift", "Shift", (".json",), shift.detect, shift.load, shift.dump, read=shift.read_opened),
}
MOTION_FORMATS: dict[str, MotionFormat] = {
    "xmdi": MotionFormat("xmdi", "XMDI servo motion", (".xmdi", ".xml"), xmdi.detect, xmdi.load, xmdi.dump),
    "webots": MotionFormat(
        "webots",
        "Webots motion",
        (".motion",),
        webots.detect,
        webots.load,
        webots.dump,
    ),
    "csv": MotionFormat(
        "csv",
        "CSV table of motion",
        (".csv",),
        motion_csv.detect,
        motion_csv.load,
        motion_csv.dump,
        supports_root_motion=True,
    ),
}


def format_id(mechanism: Mechanism, path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the id of the format that ``save`` writes.

    That is the format asked for; else that of the path's extension: where several share it the mechanism's own, else
    the one that lists it first.
    """
    own, suffix = mechanism.source.format, PurePath(path).suffix.lower()
    if format:
        return format
    rows = [row for row in FORMATS.values() if suffix in row.extensions]
    fitting = [row.id for row in sorted(rows, key=lambda row: row.extensions.index(suffix))]
    if own in FORMATS and (own in fitting or not suffix):
        return own
    return fitting[0] if fitting else suffix or own


def model_format(format: str) -> Format:
    """Return the row of a model format.

    Raises:
        FormatError: there is no format of this name.
    """
    if format not in FORMATS:
        known = ", ".join(f"{row.id} ({' '.join(row.extensions)})" for row in FORMATS.values())
        raise FormatError(f"model format '{format}' does not exist", remedy=Message("Choose one of: {}.", known))
    return FORMATS[format]


def wrong_kind_error(opened: OpenedFile, wanted: str) -> FormatError:
    """Build the error for a well-formed document that is not of the wanted kind (``model`` or ``servo motion``)."""
    root, path = opened.root, opened.path
    line, where = source_line(root), str(root.tag)
    if opened.json is not None or opened.plain:
        line, where = 1, ""
    rows: list[Format | MotionFormat] = [*FORMATS.values(), *MOTION_FORMATS.values()]
    found = next((row for row in rows if row.detect(opened)), None)
    if found is not None:
        kind = "servo motion" if isinstance(found, MotionFormat) else "model"
        return FormatError(
            f"this is a {kind} ({found.label}), not a {wanted}",
            path=path,
            line=line,
            where=where,
            remedy=Message(
                "Open it with File > Import > {}.", "Servo Motion" if kind == "servo motion" else "Mechanism"
            ),
        )
    what = FOREIGN_ROOTS.get(where, f"an unknown kind of XML with the root <{where}>")
    if opened.json is not None:
        what = json_kind(opened.json)
    reads = MOTION_FORMATS if wanted == "servo motion" else FORMATS
    labels = ", ".join(f"{row.label} ({', '.join(row.extensions)})" for row in reads.values())
    return foreign_file_error(what, path, line, where, f"Supported formats of a {wanted}: {labels}.")


def motion_format_id(path: str | os.PathLike[str]) -> str:
    """Return the motion format of a path's extension; empty where there is none."""
    suffix = PurePath(path).suffix.lower()
    return next((row.id for row in MOTION_FORMATS.values() if suffix in row.extensions), "")
