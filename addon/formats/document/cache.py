"""What documents were read to lately. They are known by what they are, so that what is found is never out of date."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from ...core.model import Mechanism, Source
from ...core.record_utils import copy_mechanism
from ..text.detection import AnyDocument
from ..text.file_io import gc_paused

K = TypeVar("K")
_Key = tuple[bytes, str]
_instances: WeakSet[ContentLRU[Any]] = WeakSet()


class ContentLRU(Generic[K]):
    """What was made of documents, by their bytes and paths; ``most`` is how many bytes of documents are kept.

    What was asked for longest ago goes first; what is larger alone is not kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[_Key, tuple[int, K]] = OrderedDict()
        _instances.add(self)

    def get(self, data: bytes, path: str) -> K | None:
        """Return what was made of a document; None where it was not read lately."""
        key = _key(data, path)
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][1]

    def keep(self, data: bytes, path: str, made: K) -> None:
        """Keep what was made of a document, as long as there is room."""
        if not self.has_room(data):
            return
        self._kept[_key(data, path)] = len(data), made
        while sum(size for size, _made in self._kept.values()) > self.most:
            self._kept.popitem(last=False)

    def has_room(self, data: bytes) -> bool:
        """Return whether a document would be kept."""
        return len(data) <= self.most

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()


def clear_content_caches() -> None:
    """Keep nothing of what was read lately, of whatever kind."""
    for each in _instances:
        each.clear()


def _key(data: bytes, path: str) -> _Key:
    return blake2b(data, digest_size=16).digest(), path


#: Bytes of documents that are kept; what they say takes ten to twenty times as much.
MAX_DOCUMENT_CACHE_BYTES = 10_000_000


D = TypeVar("D", bound=AnyDocument)
T = TypeVar("T")
_document_cache: ContentLRU[AnyDocument] = ContentLRU(MAX_DOCUMENT_CACHE_BYTES)


def cached_mechanism(data: bytes, path: str, read: Callable[[], tuple[Mechanism, AnyDocument | None]]) -> Mechanism:
    """A mechanism of one's own of a document, which is read where it was not lately, and then kept.

    ``read`` gives the two; no document where that cannot be kept.
    """
    document = _document_cache.get(data, path)
    with gc_paused():
        if document is None:
            mechanism, document = read()
            if document is None or not _document_cache.has_room(data):
                return mechanism
            _document_cache.keep(data, path, document)
        mechanism = copy_mechanism(document.mechanism)  # a fifth of the time that reading it takes
    attach_document(mechanism.source, document)
    return mechanism


def source_document(source: Source, read: Callable[[str, str], D]) -> D:
    """The document that a mechanism is from, by what reads one of its format from a text and a path.

    It is only to be looked at. FormatError where it cannot be read any more.
    """
    kept = attached_document(source)
    return read(source.text, source.path) if kept is None else cast(D, kept)


_attached: dict[int, tuple[weakref.ref[Source], str, Any]] = {}


def attach_document(source: Source, document: Any) -> None:
    """Keep a document until its source is gone. It must not change with what was made of it."""
    key, documents = id(source), _attached  # as Python ends, the module's own name may be gone before a source is
    documents[key] = weakref.ref(source, lambda _: documents.pop(key, None)), source.text, document


def attached_document(source: Source) -> Any:
    """The document of a source, None where it is not kept or the text is another by now."""
    reference, text, document = _attached.get(id(source), (None, "", None))
    return document if reference is not None and reference() is source and text == source.text else None
