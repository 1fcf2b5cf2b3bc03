"""Caches of parsed documents, keyed by content hash and path, so that an entry is never out of date.

For documents that are read repeatedly: with every edit of a mechanism in Blender, which starts from its document, and
with every export, which is that document with the edits in it. Only copies of a cached mechanism are handed out, so
that no edit gets into the cache.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from ...core.model import Mechanism, Source
from ...core.record_utils import copy_mechanism
from ...core.report import FormatError, Message, Report
from ..text.detection import AnyDocument
from ..text.file_io import gc_paused

K = TypeVar("K")
_Key = tuple[bytes, str]
_instances: WeakSet[ContentLRU[Any]] = WeakSet()


class ContentLRU(Generic[K]):
    """Least-recently-used cache of values by the bytes and path of their document.

    Args:
        most: total size in bytes of the documents kept; a larger document is not kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[_Key, tuple[int, K]] = OrderedDict()
        _instances.add(self)

    def get(self, data: bytes, path: str) -> K | None:
        """Return the cached value of a document, or None."""
        key = _key(data, path)
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][1]

    def keep(self, data: bytes, path: str, made: K) -> None:
        """Store the value of a document if it fits."""
        if not self.has_room(data):
            return
        self._kept[_key(data, path)] = len(data), made
        while sum(size for size, _made in self._kept.values()) > self.most:
            self._kept.popitem(last=False)

    def has_room(self, data: bytes) -> bool:
        """Return whether a document is small enough to be kept."""
        return len(data) <= self.most

    def clear(self) -> None:
        """Remove all entries."""
        self._kept.clear()


def clear_content_caches() -> None:
    """Clear all content caches."""
    for each in _instances:
        each.clear()


def _key(data: bytes, path: str) -> _Key:
    return blake2b(data, digest_size=16).digest(), path


#: Bytes of documents that are kept; parsed, they take ten to twenty times as much.
MAX_DOCUMENT_CACHE_BYTES = 10_000_000


D = TypeVar("D", bound=AnyDocument)
T = TypeVar("T")
_document_cache: ContentLRU[AnyDocument] = ContentLRU(MAX_DOCUMENT_CACHE_BYTES)


def cached_mechanism(data: bytes, path: str, read: Callable[[], tuple[Mechanism, AnyDocument | None]]) -> Mechanism:
    """Return a private copy of a document's mechanism; the document is read if it is not in the cache, and then kept.

    Args:
        data: the bytes of the document.
        path: its path.
        read: gives the mechanism and its document, or None for one that cannot be kept.
    """
    document = _document_cache.get(data, path)
    with gc_paused():
        if document is None:
            mechanism, document = read()
            if document is None or not _document_cache.has_room(data):
                return mechanism
            _document_cache.keep(data, path, document)
        mechanism = copy_mechanism(document.mechanism)  # takes a fifth of the time of reading
    attach_document(mechanism.source, document)
    return mechanism


def source_document(mechanism: Mechanism, format_: str, read: Callable[[str, str], D], report: Report) -> D | None:
    """Return a mechanism's own document, to write its edits into; it must not be changed.

    Args:
        mechanism: the mechanism.
        format_: the format of the document.
        read: parses text and path, if the document is not attached to its source.
        report: gets an entry if the text cannot be read any more.

    Returns:
        The document; None where it cannot be read, or the mechanism is from another format or from no document.
    """
    source = mechanism.source
    if source.format != format_ or not source.text:
        return None
    try:
        kept = attached_document(source)
        return read(source.text, source.path) if kept is None else cast(D, kept)
    except FormatError as error:
        report_unreadable_document(error, report)
        return None


def report_unreadable_document(error: FormatError, report: Report) -> None:
    """Report that the document of a mechanism or motion cannot be read any more, so that a new one is written."""
    report.warn(
        "document-lost",
        Message(
            "Document: no longer readable ({}). A new one is written, without comments and unknown elements", error
        ),
    )


_attached: dict[int, tuple[weakref.ref[Source], str, Any]] = {}


def attach_document(source: Source, document: Any) -> None:
    """Attach a parsed document to its source for the source's lifetime; edits of the mechanism must not change it."""
    key, documents = id(source), _attached  # at interpreter exit, the module's own name may be deleted before a source
    documents[key] = weakref.ref(source, lambda _: documents.pop(key, None)), source.text, document


def attached_document(source: Source) -> Any:
    """Return the document attached to a source; None if there is none or the text has changed since."""
    reference, text, document = _attached.get(id(source), (None, "", None))
    return document if reference is not None and reference() is source and text == source.text else None
