"""Documents that were read, for as long as what was read from them lives: saving need not read them once more."""

from __future__ import annotations

import weakref
from typing import Any

from ..core.model import Source

_documents: dict[int, tuple[weakref.ref[Source], str, Any]] = {}


def remember(source: Source, document: Any) -> None:
    """Keep a document until its source is gone. It must not change with what was made of it."""
    key, documents = id(source), _documents  # as Python ends, the module's own name may be gone before a source is
    documents[key] = weakref.ref(source, lambda _: documents.pop(key, None)), source.text, document


def recall(source: Source) -> Any:
    """The document of a source, None where it is not kept or the text is another by now."""
    reference, text, document = _documents.get(id(source), (None, "", None))
    return document if reference is not None and reference() is source and text == source.text else None
