"""Read and write model and motion files.

A format is recognized by its content, never by its file name. The supported formats are listed in ``registry``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from ..core.model import Mechanism, Motion, Source
from ..core.motion.root_motion import drop_root_motion
from ..core.report import FormatError, Message, Report
from ..core.transforms import without_rotation_rounding
from . import juice, motion_csv, webots, xmdi
from .document.cache import cached_mechanism
from .document.conversion_losses import report_unsupported_fields
from .meshes.bounds import complete_masses, needs_mesh_inertia, replace_meshes_with_boxes
from .meshes.copy import IS_WRITTEN, copy_meshes, without_written_marks
from .registry import (
    FORMATS,
    MOTION_FORMATS,
    Format,
    MotionFormat,
    format_id,
    model_format,
    motion_format_id,
    reject_invalid_inertia,
    reject_overflows,
    report_negative_masses,
    wrong_kind_error,
)
from .text.detection import AnyDocument, OpenedFile, open_xml
from .text.file_io import encode_like, encode_text, gc_paused, read_bytes, write_atomically, write_transaction

__all__ = [
    "FORMATS",
    "MOTION_FORMATS",
    "FormatError",
    "Mechanism",
    "complete_masses",
    "dumps",
    "dumps_motions",
    "encode_model",
    "format_id",
    "is_motion",
    "load",
    "load_motion",
    "load_motions",
    "loads",
    "loads_cached",
    "loads_motions",
    "motion_format_id",
    "read_motions",
    "save",
    "save_motion",
]


@contextmanager
def _io_context() -> Iterator[None]:
    """Pause garbage collection and silence numpy's floating-point warnings while files are read or written.

    Overflows are looked for in the result instead (``reject_overflows``).
    """
    with gc_paused(), np.errstate(all="ignore"):
        yield


def is_motion(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds servo motion rather than a model.

    Raises:
        FormatError: the file is of no format that can be opened.
    """
    name = os.fspath(path)
    opened = _open_motion(read_bytes(name), name)
    return any(row.detect(opened) for row in MOTION_FORMATS.values())


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read a model file.

    The mechanism's ``report`` lists what was read, repaired and left out; its ``source`` keeps the document.

    Raises:
        FormatError: naming file, line and element, where the file is no model or not a valid one.

    >>> hexapod = load("sample_models/hexapod/hexapod.jm")
    >>> len(hexapod.bodies), len(hexapod.joints), hexapod.source.format
    (23, 22, 'juice')
    >>> load("sample_models/humanoid/wave.motion")
    Traceback (most recent call last):
    addon.core.report.FormatError: ...wave.motion:1: this is a servo motion (Webots motion), not a model...
    """
    return loads(read_bytes(path), os.fspath(path))


def loads(data: bytes, path: str = "") -> Mechanism:
    """Read a model from a file's bytes; ``path`` is for messages and the model's name."""
    return _read(data, path)[0]


def loads_cached(data: bytes, path: str = "") -> Mechanism:
    """Read a model from a file's bytes through the document cache (see ``document.cache``).

    For files that are read and written repeatedly.
    """
    return cached_mechanism(data, path, lambda: _read(data, path))


def _read(data: bytes, path: str) -> tuple[Mechanism, AnyDocument | None]:
    """Read the mechanism in a file's bytes and its parsed document; None for formats whose row has no ``read``."""
    with _io_context():
        opened = open_xml(data, path)
        row = next((row for row in FORMATS.values() if row.detect(opened)), None)
        if row is None:
            raise wrong_kind_error(opened, "model")
        document = None if row.read is None else row.read(opened)
        mechanism = row.load(opened) if document is None else document.mechanism
        reject_overflows(mechanism, path)
        report_negative_masses(mechanism)
        mechanism.source.encoding = opened.encoding
        return mechanism, document


def save(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    format: str | None = None,
    mesh_folders: Sequence[str] = (),
    ignore_unit: bool = True,
    with_meshes: bool = False,
) -> Report:
    """Write a model, in the given format, else that of the path's extension, else that in which it was read.

    An existing file stays intact until the new one is complete.

    Args:
        mechanism: the mechanism to write.
        path: the file to write.
        format: id of a row of ``FORMATS``; by default see ``format_id``.
        mesh_folders: where mesh files are looked for, see ``complete_masses``: a newly generated document needs the
            moments of inertia that a model leaves to the size of meshes.
        ignore_unit: see ``complete_masses``.
        with_meshes: copy the mesh files that the model names into the folder of ``path``; see ``copy_meshes``.

    Returns:
        The report of what was changed or lost.

    >>> lamp = load("sample_models/desk_lamp/desk_lamp.skel")
    >>> report = save(lamp, "out/lamp.jm")
    >>> print(report.entries[0].message.partition(":")[0])
    Moments of inertia
    """
    name = os.fspath(path)
    suffix = PurePath(name).suffix.lower()
    report = Report()
    row = model_format(format_id(mechanism, name, format))
    _complete_masses_for(row, mechanism, report, mesh_folders, ignore_unit)
    written = _prepare_for_format(row, mechanism, report, mesh_folders, ignore_unit)
    with _io_context(), write_transaction():
        if with_meshes and row.names_meshes:
            written = copy_meshes(written, name, report, mesh_folders)
        text = row.dump(without_written_marks(written), suffix, report)
        write_atomically(name, encode_model(text, mechanism, row.id, report))
    if row.names_meshes and not with_meshes:
        _report_uncopied_meshes(mechanism, name, report)
    return report


def encode_model(text: str, mechanism: Mechanism, format: str, report: Report) -> bytes:
    """Encode the text that ``dumps`` gave for a model; text patched into its document keeps that document's encoding.

    Args:
        text: the text of the file.
        mechanism: the mechanism, with its ``source``.
        format: id of the format that was written.
        report: the report of ``dumps``; with an entry ``document-lost`` the text is not the document's.
    """
    source = mechanism.source
    if format != source.format:
        return encode_text(text, "")  # another format's code page is not this one's
    if any(entry.code == "document-lost" for entry in report.entries):
        return encode_text(text, source.encoding)
    return encode_like(text, source.text, source.encoding)


def _report_uncopied_meshes(mechanism: Mechanism, path: str, report: Report) -> None:
    """Warn of mesh files that stay behind when a model is written into another folder than it came from."""
    shapes = [shape for body in mechanism.bodies for shape in body.shapes]
    named = {shape.mesh for shape in shapes if shape.mesh and not shape.extra.get(IS_WRITTEN)}
    before, now = (os.path.dirname(os.path.abspath(each)) for each in (mechanism.source.path, path))
    if named and mechanism.source.path and before != now:
        some = ", ".join(sorted(named)[:3]) + (", ..." if len(named) > 3 else "")
        report.warn(
            "meshes-stay",
            Message(
                "Mesh files: not copied from {} to {}: {}. Choose Copy (--copy-meshes) to copy them", before, now, some
            ),
        )


def dumps(
    mechanism: Mechanism, format: str | None = None, mesh_folders: Sequence[str] = (), ignore_unit: bool = True
) -> tuple[str, Report]:
    """Return the text of a model in a format (its own if None is given) and the report of losses. See ``save``."""
    report = Report()
    row = model_format(format_id(mechanism, "", format))
    _complete_masses_for(row, mechanism, report, mesh_folders, ignore_unit)
    with _io_context():
        return row.dump(_prepare_for_format(row, mechanism, report, mesh_folders, ignore_unit), "", report), report


def _prepare_for_format(
    row: Format, mechanism: Mechanism, report: Report, mesh_folders: Sequence[str], ignore_unit: bool
) -> Mechanism:
    """Return the mechanism as a format can hold it, with losses reported.

    Gains chosen for another format than its own are reset, and meshes become boxes where the format has none. Frames of
    joints from Blender or a script have rotations of 32 bits; formats take exact ones.
    """
    report_unsupported_fields(mechanism, row.id, report)
    mechanism = _with_exact_frames(mechanism)
    if not row.names_meshes:
        mechanism = replace_meshes_with_boxes(mechanism, report, mesh_folders, ignore_unit)
    if row.id == mechanism.source.format or mechanism.source.format != "juice":
        return mechanism
    return juice.restore_source_gains(mechanism)


def _with_exact_frames(mechanism: Mechanism) -> Mechanism:
    joints = mechanism.joints
    frames = np.array([(joint.frame_parent, joint.frame_child) for joint in joints]).reshape(-1, 4, 4)
    exact = without_rotation_rounding(frames)
    changed = (exact != frames).any(axis=(1, 2)).reshape(-1, 2)
    if not changed.any():
        return mechanism
    made = [
        replace(joint, frame_parent=exact[2 * number], frame_child=exact[2 * number + 1]) if is_changed else joint
        for number, (joint, is_changed) in enumerate(zip(joints, changed.any(axis=1), strict=True))
    ]
    return replace(mechanism, joints=made)


def _complete_masses_for(
    row: Format, mechanism: Mechanism, report: Report, mesh_folders: Sequence[str], ignore_unit: bool
) -> None:
    if row.id == mechanism.source.format and mechanism.source.text:
        return
    if needs_mesh_inertia(mechanism):
        complete_masses(mechanism, report, mesh_folders, ignore_unit)
    reject_invalid_inertia(mechanism)


def load_motion(path: str | os.PathLike[str]) -> Motion:
    """Read a motion; of a file with several, the first.

    >>> wave = load_motion("sample_models/humanoid/wave.motion")
    >>> wave.trajectories[0].name
    'HeadYaw'
    """
    return load_motions(path)[0]


def load_motions(path: str | os.PathLike[str]) -> list[Motion]:
    """Read all motions of a file.

    >>> [motion.name for motion in load_motions("sample_models/humanoid/squat.xmdi")]
    ['squat']
    """
    return read_motions(path)[0]


def read_motions(path: str | os.PathLike[str]) -> tuple[list[Motion], Report]:
    """Read all motions of a file, with the report of the reading.

    Raises:
        FormatError: the file is no motion.
    """
    return loads_motions(read_bytes(path), os.fspath(path))


def loads_motions(data: bytes, path: str = "") -> tuple[list[Motion], Report]:
    """Read all motions from a file's bytes, with the report of the reading.

    All of them share one ``source``, the document, and have an ``index`` in it.

    Args:
        data: the bytes of the file.
        path: for messages, and for the names of motions that have none of their own.

    Raises:
        FormatError: naming file, line and element, where it is no motion or not a valid one.
    """
    with _io_context():
        opened = _open_motion(data, path)
        row = next((row for row in MOTION_FORMATS.values() if row.detect(opened)), None)
        if row is None:
            raise wrong_kind_error(opened, "servo motion")
        motions, report = row.load(opened)
    for motion in motions:
        motion.count, motion.as_read = len(motions), tuple(motion.trajectories)
    return motions, report


def _open_motion(data: bytes, path: str) -> OpenedFile:
    try:
        return open_xml(data, path)
    except FormatError:
        motion_csv.reject_other_tables(data, path)
        raise


def dumps_motions(
    motions: Motion | Sequence[Motion],
    format: str,
    report: Report | None = None,
    xmdi_tags: tuple[str, str] = xmdi.DEFAULT_TAGS,
) -> str:
    """Return the text of motions in a format (``xmdi``, ``webots``, ``csv``).

    Motions that have a source in that format are written into that document, where everything that was not edited keeps
    its exact text.

    Args:
        motions: one motion or several.
        format: id of a row of ``MOTION_FORMATS``.
        report: receives what was changed or could not be held.
        xmdi_tags: names of the root element and of the container of motions in a new XMDI document.

    Raises:
        FormatError: the format is unknown or cannot hold the motions.
    """
    if format not in MOTION_FORMATS:
        known = ", ".join(f"{row.id} ({' '.join(row.extensions)})" for row in MOTION_FORMATS.values())
        raise FormatError(f"motion format '{format}' does not exist", remedy=Message("Choose one of: {}.", known))
    several, report = _as_list(motions), Report() if report is None else report
    row = MOTION_FORMATS[format]
    if not row.supports_root_motion:
        several = [drop_root_motion(each, row.label, report) for each in several]
    with _io_context():
        text = xmdi.dump(several, report, xmdi_tags) if format == xmdi.FORMAT else row.dump(several, report)
    if format != webots.FORMAT:
        webots.report_pose_names(several, report)
    source = _written_source(several, format, report)
    if source.text and text == source.text:
        report.info("document-kept", "Document: unedited, written as it was read")
    elif source.text:
        report.info("document-patched", "Document: edits are written into it. All else is written as it was read")
    return text


def _written_source(motions: Sequence[Motion], format: str, report: Report) -> Source:
    """Return the first document of the format among the motions' sources, or an empty source where there is none."""
    if any(entry.code == "document-lost" for entry in report.entries):
        return Source()
    found = (each.source for each in motions if each.source is not None and each.source.format == format)
    return next((source for source in found if source.text), Source())


def save_motion(
    motion: Motion | Sequence[Motion],
    path: str | os.PathLike[str],
    format: str | None = None,
    xmdi_tags: tuple[str, str] = xmdi.DEFAULT_TAGS,
) -> Report:
    """Write a motion, or several, in the given format or that of the path's extension.

    Where the path has no extension, the format in which the motions were read, else XMDI. An existing file stays intact
    until the new one is complete. For ``xmdi_tags`` see ``dumps_motions``.

    >>> wave = load_motion("sample_models/humanoid/wave.motion")
    >>> print(save_motion(wave, "out/wave.csv"))
    info: Held values: 2 are written twice, as steps [motion 'wave']
    info: Motions written: 1
    """
    name = os.fspath(path)
    motions = _as_list(motion)
    suffix = PurePath(name).suffix.lower()
    found = format or motion_format_id(path)
    if not found and not suffix:
        found = next((each.source.format for each in motions if each.source is not None), "xmdi")
    if found not in MOTION_FORMATS:
        raise FormatError(
            f"motion format '{format or suffix}' does not exist",
            path=name,
            remedy=Message(
                "Use one of {}.", ", ".join(sorted({e for row in MOTION_FORMATS.values() for e in row.extensions}))
            ),
        )
    report = Report()
    try:
        text = dumps_motions(motions, found, report, xmdi_tags)
        data = _encode_motion(text, _written_source(motions, found, report), MOTION_FORMATS[found], report)
    except FormatError as error:
        error.path = error.path or name
        raise
    write_atomically(name, data)
    report.info("written", Message("Motions written: {}", len(motions)))
    return report


def _encode_motion(text: str, source: Source, row: MotionFormat, report: Report) -> bytes:
    """Encode a motion's text in its document's encoding.

    Characters that the encoding lacks become character references in XML; plain-text formats fall back to UTF-8.
    """
    encoding, as_read = source.encoding, text == source.text
    if row.id == "xmdi" or as_read:
        return encode_text(text, encoding, as_read)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeError:
        report.warn(
            "encoding",
            Message(
                "Encoding: {} lacks a character of the servo names. The file is written in UTF-8", encoding or "UTF-8"
            ),
        )
        encoding = "utf-8"
    try:
        text.encode("utf-8")
    except UnicodeError as error:
        raise FormatError(f"a servo name cannot be written: {error}", remedy="Rename that servo.") from error
    return encode_text(text, encoding, as_read=True)


def _as_list(motions: Motion | Sequence[Motion]) -> list[Motion]:
    return [motions] if isinstance(motions, Motion) else list(motions)
