"""The imported document, kept word for word in a Text of the .blend that travels with the model."""

from __future__ import annotations

import bpy

from ...core.model import Mechanism
from ...core.report import FormatError
from ...formats import loads, loads_again
from ...formats.text.file_io import declared_encoding, encode
from .access import settings

#: Blender takes a line of a million characters in seconds and one of ten million in minutes.
_LONGEST_LINE = 10_000
#: What a Text keeps of itself, so that it is still that document where the model has lost what it knew: the encoding of
#: its file, and the character at which its lines are folded.
_ENCODING, _FOLD = "knuckle_encoding", "knuckle_fold"
#: A declaration of an encoding stands within so many characters.
_HEAD = 200


def keep_document(rig: bpy.types.Object, name: str, text: str, encoding: str) -> None:
    """Put a document into a Text of its own. Overlong lines are folded at a character that the text has not."""
    model = settings(rig)
    model.encoding = encoding
    model.fold = ""
    if _has_long_line(text):
        model.fold = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        text = "\n".join(map(lambda line: _folded(line, model.fold), text.split("\n")))
    model.document = bpy.data.texts.new(name)
    model.document.from_string(text)
    model.document[_ENCODING], model.document[_FOLD] = model.encoding, model.fold


def adopt_document(rig: bpy.types.Object, text: bpy.types.Text) -> None:
    """Have a Text of the file be the document of a model."""
    model = settings(rig)
    model.document = text
    model.encoding, model.fold = _kept(text)


def read_text(text: bpy.types.Text, path: str) -> Mechanism:
    """The mechanism of any Text, as it would be of a model from ``path``. FormatError where it is none."""
    encoding, fold = _kept(text)
    return loads(encode(_unfolded(text, fold), encoding, as_read=True), path)


def _kept(text: bpy.types.Text) -> tuple[str, str]:
    """Encoding and fold of a Text. Those that an earlier release made do not know theirs."""
    encoding = text.get(_ENCODING) or declared_encoding(text.as_string()[:_HEAD]) or "utf-8"
    return str(encoding), str(text.get(_FOLD, ""))


def _has_long_line(text: str) -> bool:
    """Return whether a line is longer than Blender takes well: seen by leaps from one end of a line to the last in
    reach."""
    at = 0
    while len(text) - at > _LONGEST_LINE:
        at = text.rfind("\n", at, at + _LONGEST_LINE + 1) + 1
        if at == 0:
            return True
    return False


def _folded(line: str, mark: str) -> str:
    parts = [line[at : at + _LONGEST_LINE] for at in range(0, len(line), _LONGEST_LINE)]
    return f"{mark}\n".join(parts)


def document_text(rig: bpy.types.Object) -> str | None:
    """The document as it was read; None where the model has none."""
    model = settings(rig)
    if model.document is None:
        return None
    return _unfolded(model.document, model.fold)


def _unfolded(document: bpy.types.Text, fold: str) -> str:
    text = document.as_string()
    return text.replace(f"{fold}\n", "") if fold else text


def read_document(rig: bpy.types.Object) -> Mechanism | None:
    """The mechanism as its document has it; None where there is none.

    FormatError, which names the Text, where the user has made something else of it.
    """
    data = document_bytes(rig)
    if data is None:
        return None
    try:
        return loads_again(data, settings(rig).path)
    except FormatError as error:
        raise FormatError(
            error.message, path=f"the Text {settings(rig).document.name!r}", line=error.line, where=error.where,
            remedy="It is what files are written from: undo what was typed there, or Rebuild Missing Parts.",
        ) from error  # fmt: skip


def document_bytes(rig: bpy.types.Object) -> bytes | None:
    """The document as the bytes of the file; None where the model has none."""
    text = document_text(rig)
    return None if text is None else encode(text, settings(rig).encoding, as_read=True)
