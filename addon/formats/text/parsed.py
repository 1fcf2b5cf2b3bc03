"""Parsed documents, and what is computed from one once and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from ...core.model import Mechanism

T = TypeVar("T")


class AnyDocument(Protocol):
    """What every format's reader gives: the text, and the mechanism in it, and what ``prepared`` has made of it."""

    text: str
    mechanism: Mechanism
    prepared: dict[str, Any]


def prepared(document: AnyDocument, what: str, make: Callable[[], T]) -> T:
    """Return what is worked out of a document before edits are written into it, and is the same for all of them: made
    once. It is only to be looked at."""
    if what not in document.prepared:
        document.prepared[what] = make()
    return cast(T, document.prepared[what])
