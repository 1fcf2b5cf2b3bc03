"""Documents of models that are read again and again: with every edit of a model in Blender, which begins with what its
document says, and with every export, which is that document with the edits in it.

What is kept of one is never handed out, only copies of its mechanism are, so that no edit gets into it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from ..model.records import Mechanism, Source
from .files import no_garbage_hunts
from .lately import Lately

#: Bytes of documents that are kept; what they say takes twenty to thirty times as much.
MOST = 5_000_000


class Document(Protocol):
    """What every format's reader gives: the text, and the mechanism in it. ``prepared``: see ``once``."""

    text: str
    mechanism: Mechanism
    prepared: dict[str, Any]


@dataclass
class _Kept:
    document: Document
    copy: bytes  # the mechanism, pickled: a fifth of the time that reading it takes

    def is_of(self, source: Source) -> bool:
        """Whether it is the document that a mechanism says it is from."""
        own = self.document.mechanism.source
        return (own.format, own.path, own.encoding) == (source.format, source.path, source.encoding) and (
            self.document.text == source.text
        )


D = TypeVar("D", bound=Document)
T = TypeVar("T")
_lately: Lately[_Kept] = Lately(MOST)


def mechanism_of(data: bytes, path: str, read: Callable[[], Document]) -> Mechanism:
    """A mechanism of one's own of a document, which is read where it was not lately, and then kept."""
    kept = _lately.get(data, path)
    if kept is None:
        document = read()
        kept = _Kept(document, pickle.dumps(document.mechanism, pickle.HIGHEST_PROTOCOL))
        _lately.keep(data, path, kept)
    with no_garbage_hunts():
        return cast(Mechanism, pickle.loads(kept.copy))


def document_of(source: Source, read: Callable[[str, str], D]) -> D:
    """The document that a mechanism is from, by what reads one of its format from a text and a path. It is only to be
    looked at. FormatError where it cannot be read any more."""
    kept = next((kept for kept in _lately if kept.is_of(source)), None)
    return read(source.text, source.path) if kept is None else cast(D, kept.document)


def once(document: Document, what: str, make: Callable[[], T]) -> T:
    """What is worked out of a document before edits are written into it, and is the same for all of them. It is only
    to be looked at."""
    if what not in document.prepared:
        document.prepared[what] = make()
    return cast(T, document.prepared[what])
