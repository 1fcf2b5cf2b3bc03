"""The imported document, kept word for word in a Text of the .blend that travels with the model."""

from __future__ import annotations

import bpy

from ..formats import loads
from ..formats.files import encode
from ..model.records import Mechanism
from ..model.report import FormatError
from .access import settings

#: Blender takes a line of a million characters in seconds and one of ten million in minutes.
_LONGEST_LINE = 10_000


def keep_document(rig: bpy.types.Object, name: str, text: str, encoding: str) -> None:
    """Put a document into a Text of its own. Overlong lines are folded at a character that the text has not."""
    model = settings(rig)
    model.encoding = encoding
    model.fold = ""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        model.fold = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        text = "\n".join(map(lambda line: _folded(line, model.fold), text.split("\n")))
    model.document = bpy.data.texts.new(name)
    model.document.from_string(text)


def _folded(line: str, mark: str) -> str:
    parts = [line[at : at + _LONGEST_LINE] for at in range(0, len(line), _LONGEST_LINE)]
    return f"{mark}\n".join(parts)


def document_text(rig: bpy.types.Object) -> str | None:
    """The document as it was read; None where the model has none."""
    model = settings(rig)
    if model.document is None:
        return None
    text = model.document.as_string()
    return text.replace(f"{model.fold}\n", "") if model.fold else text


def read_document(rig: bpy.types.Object) -> Mechanism | None:
    """The mechanism as its document has it; None where there is none. FormatError, which names the Text, where the
    user has made something else of it."""
    data = document_bytes(rig)
    if data is None:
        return None
    try:
        return loads(data, settings(rig).path)
    except FormatError as error:
        raise FormatError(
            error.message, path=f"the Text {settings(rig).document.name!r}", line=error.line, where=error.where,
            remedy="It is what files are written from: undo what was typed there, or Rebuild Missing Parts.",
        ) from error  # fmt: skip


def document_bytes(rig: bpy.types.Object) -> bytes | None:
    """The document as the bytes of the file; None where the model has none."""
    text = document_text(rig)
    return None if text is None else encode(text, settings(rig).encoding, as_read=True)
