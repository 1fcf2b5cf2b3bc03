"""Documents of models that are read again and again: with every edit of a model in Blender, which begins with what its
document says, and with every export, which is that document with the edits in it.

What is kept of one is never handed out to be edited, only copies of its mechanism are, so that no edit gets into it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

from ..model.records import Mechanism, Source
from .files import no_garbage_hunts
from .lately import Lately
from .remembered import recall, remember

#: Bytes of documents that are kept; what they say takes ten to twenty times as much.
MOST = 10_000_000


class AnyDocument(Protocol):
    """What every format's reader gives: the text, and the mechanism in it, and what ``prepared`` has made of it."""

    text: str
    mechanism: Mechanism
    prepared: dict[str, Any]


D = TypeVar("D", bound=AnyDocument)
T = TypeVar("T")


@dataclass
class _Kept:
    """A document that was read."""

    document: AnyDocument

    @cached_property
    def pickled(self) -> bytes:
        """Its mechanism, which comes back from this in a fifth of the time that reading it takes."""
        return pickle.dumps(self.document.mechanism, pickle.HIGHEST_PROTOCOL)


_lately: Lately[_Kept] = Lately(MOST)
#: What reads a document: its mechanism, and the document where that can be kept.
Reader = Callable[[], tuple[Mechanism, AnyDocument | None]]


def mechanism_of(data: bytes, path: str, read: Reader) -> Mechanism:
    """A mechanism of one's own of a document, which is read where it was not lately, and then kept."""
    with no_garbage_hunts():
        mechanism, kept = _read_or_kept(data, path, read)
        if kept is not None:
            mechanism = cast(Mechanism, pickle.loads(kept.pickled))
            remember(mechanism.source, kept.document)
    return mechanism


def lent_mechanism(data: bytes, path: str, read: Reader) -> Mechanism:
    """The same to be looked at only: nothing but its report is one's own. It costs no copy, and whoever edits what was
    made of it finds the document read."""
    mechanism, kept = _read_or_kept(data, path, read)
    if kept is not None:
        mechanism = copy.copy(mechanism)
        mechanism.report = copy.deepcopy(mechanism.report)
        remember(mechanism.source, kept.document)
    return mechanism


def _read_or_kept(data: bytes, path: str, read: Reader) -> tuple[Mechanism, _Kept | None]:
    """A document's own mechanism, and what is kept of it; None where nothing is."""
    kept = _lately.get(data, path)
    if kept is None:
        mechanism, document = read()
        if document is None or not _lately.has_room(data):
            return mechanism, None
        kept = _Kept(document)
        _lately.keep(data, path, kept)
    return kept.document.mechanism, kept


def document_of(source: Source, read: Callable[[str, str], D]) -> D:
    """The document that a mechanism is from, by what reads one of its format from a text and a path. It is only to be
    looked at. FormatError where it cannot be read any more."""
    kept = recall(source)
    return read(source.text, source.path) if kept is None else cast(D, kept)


def prepared(document: AnyDocument, what: str, make: Callable[[], T]) -> T:
    """What is worked out of a document before edits are written into it, and is the same for all of them: made once.
    It is only to be looked at."""
    if what not in document.prepared:
        document.prepared[what] = make()
    return cast(T, document.prepared[what])
