"""The imported document, kept word for word in a Text of the .blend that travels with the model."""

from __future__ import annotations

import bpy

from ..formats.files import encode
from .access import settings

#: Blender takes a line of a million characters in seconds and one of ten million in minutes.
_LONGEST_LINE = 10_000


def keep_document(rig: bpy.types.Object, name: str, text: str, encoding: str) -> None:
    """Put a model's document into a Text of its own."""
    model = settings(rig)
    model.encoding = encoding
    model.document, model.fold = new_text(name, text)


def new_text(name: str, text: str) -> tuple[bpy.types.Text, str]:
    """A new Text that holds a document, and the character at which its overlong lines are folded: one that the text
    has not, empty where no line is too long."""
    fold = ""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        fold = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        text = "\n".join(_folded(line, fold) for line in text.split("\n"))
    block = bpy.data.texts.new(name)
    block.from_string(text)
    return block, fold


def text_in(block: bpy.types.Text, fold: str) -> str:
    """What ``new_text`` was given."""
    text = block.as_string()
    return text.replace(f"{fold}\n", "") if fold else text


def _folded(line: str, mark: str) -> str:
    parts = [line[at : at + _LONGEST_LINE] for at in range(0, len(line), _LONGEST_LINE)]
    return f"{mark}\n".join(parts)


def document_text(rig: bpy.types.Object) -> str | None:
    """The document as it was read; None where the model has none."""
    model = settings(rig)
    return None if model.document is None else text_in(model.document, model.fold)


def document_bytes(rig: bpy.types.Object) -> bytes | None:
    """The document as the bytes of the file; None where the model has none."""
    text = document_text(rig)
    return None if text is None else encode(text, settings(rig).encoding)
