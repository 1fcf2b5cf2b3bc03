"""Documents of models that are read again and again: with every edit of a model in Blender, which begins with what its
document says, and with every export, which is that document with the edits in it.

What is kept of one is never handed out, only copies of its mechanism are, so that no edit gets into it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...core.model import Mechanism, Source
from ...core.record_utils import copied
from ..text.file_io import no_garbage_hunts
from ..text.parsed import AnyDocument
from .parse_cache import Lately

#: Bytes of documents that are kept; what they say takes ten to twenty times as much.
MOST = 10_000_000


D = TypeVar("D", bound=AnyDocument)
T = TypeVar("T")
_lately: Lately[AnyDocument] = Lately(MOST)


def mechanism_of(data: bytes, path: str, read: Callable[[], tuple[Mechanism, AnyDocument | None]]) -> Mechanism:
    """A mechanism of one's own of a document, which is read where it was not lately, and then kept. ``read`` gives the
    two; no document where that cannot be kept."""
    document = _lately.get(data, path)
    with no_garbage_hunts():
        if document is None:
            mechanism, document = read()
            if document is None or not _lately.has_room(data):
                return mechanism
            _lately.keep(data, path, document)
        mechanism = copied(document.mechanism)  # a fifth of the time that reading it takes
    remember(mechanism.source, document)
    return mechanism


def document_of(source: Source, read: Callable[[str, str], D]) -> D:
    """The document that a mechanism is from, by what reads one of its format from a text and a path. It is only to be
    looked at. FormatError where it cannot be read any more."""
    kept = recall(source)
    return read(source.text, source.path) if kept is None else cast(D, kept)


_documents: dict[int, tuple[weakref.ref[Source], str, Any]] = {}


def remember(source: Source, document: Any) -> None:
    """Keep a document until its source is gone. It must not change with what was made of it."""
    key, documents = id(source), _documents  # as Python ends, the module's own name may be gone before a source is
    documents[key] = weakref.ref(source, lambda _: documents.pop(key, None)), source.text, document


def recall(source: Source) -> Any:
    """The document of a source, None where it is not kept or the text is another by now."""
    reference, text, document = _documents.get(id(source), (None, "", None))
    return document if reference is not None and reference() is source and text == source.text else None
