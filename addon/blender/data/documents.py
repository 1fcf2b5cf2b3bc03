"""The imported document, kept word for word in a Text of the .blend."""

from __future__ import annotations

import bpy

from ...core.model import Mechanism
from ...core.report import FormatError
from ...formats import loads, loads_cached
from ...formats.text.file_io import declared_encoding, encode_text
from .access import settings

#: Blender takes seconds for a line of a million characters and minutes for one of ten million.
_MAX_LINE_LENGTH = 10_000
#: Custom properties of a Text (encoding of its file, fold character), so that it can be adopted again when the
#: mechanism's settings are lost.
_ENCODING_KEY, _FOLD_KEY = "knuckle_encoding", "knuckle_fold"
#: Count of characters that are searched for a declaration of the encoding.
_HEAD_LENGTH = 200


def store_document(rig: bpy.types.Object, name: str, text: str, encoding: str) -> None:
    """Store a document in a new Text of the mechanism; overlong lines are folded at a character that the text lacks."""
    model = settings(rig)
    model.encoding = encoding
    model.fold = ""
    if _has_long_line(text):
        model.fold = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        text = "\n".join(map(lambda line: _fold_line(line, model.fold), text.split("\n")))
    model.document = bpy.data.texts.new(name)
    model.document.from_string(text)
    model.document[_ENCODING_KEY], model.document[_FOLD_KEY] = model.encoding, model.fold


def assign_document(rig: bpy.types.Object, text: bpy.types.Text) -> None:
    """Make an existing Text the document of a mechanism."""
    model = settings(rig)
    model.document = text
    model.encoding, model.fold = _encoding_and_fold(text)


def mechanism_from_text(text: bpy.types.Text, path: str) -> Mechanism:
    """Return the mechanism of any Text, as if read from ``path``.

    Raises:
        FormatError: The Text holds no mechanism.
    """
    encoding, fold = _encoding_and_fold(text)
    return loads(encode_text(_unfold_text(text, fold), encoding, as_read=True), path)


def _encoding_and_fold(text: bpy.types.Text) -> tuple[str, str]:
    """Return encoding and fold character of a Text; Texts of earlier releases do not record them."""
    encoding = text.get(_ENCODING_KEY) or declared_encoding(text.as_string()[:_HEAD_LENGTH]) or "utf-8"
    return str(encoding), str(text.get(_FOLD_KEY, ""))


def _has_long_line(text: str) -> bool:
    """Return whether a line is longer than ``_MAX_LINE_LENGTH``.

    Searches in jumps, each to the last line end in reach.
    """
    at = 0
    while len(text) - at > _MAX_LINE_LENGTH:
        at = text.rfind("\n", at, at + _MAX_LINE_LENGTH + 1) + 1
        if at == 0:
            return True
    return False


def _fold_line(line: str, mark: str) -> str:
    parts = [line[at : at + _MAX_LINE_LENGTH] for at in range(0, len(line), _MAX_LINE_LENGTH)]
    return f"{mark}\n".join(parts)


def source_document_text(rig: bpy.types.Object) -> str | None:
    """Return the document as it was read; None where the mechanism has none."""
    model = settings(rig)
    if model.document is None:
        return None
    return _unfold_text(model.document, model.fold)


def _unfold_text(document: bpy.types.Text, fold: str) -> str:
    text = document.as_string()
    return text.replace(f"{fold}\n", "") if fold else text


def read_document(rig: bpy.types.Object) -> Mechanism | None:
    """Return the mechanism of the document; None where there is none.

    Raises:
        FormatError: The user edited the Text so that it is not valid; the error names the Text.
    """
    data = document_bytes(rig)
    if data is None:
        return None
    try:
        return loads_cached(data, settings(rig).path)
    except FormatError as error:
        raise FormatError(
            error.message, path=f"the Text {settings(rig).document.name!r}", line=error.line, where=error.where,
            remedy="Undo the edits in this Text, or press Rebuild Missing Parts.",
        ) from error  # fmt: skip


def document_bytes(rig: bpy.types.Object) -> bytes | None:
    """Return the document as the bytes of its file; None where the mechanism has none."""
    text = source_document_text(rig)
    return None if text is None else encode_text(text, settings(rig).encoding, as_read=True)
