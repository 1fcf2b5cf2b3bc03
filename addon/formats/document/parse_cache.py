"""What documents were read to lately. They are known by what they are, so that what is found is never out of date."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")
_Key = tuple[bytes, str]
_all: WeakSet[Lately[Any]] = WeakSet()


class Lately(Generic[T]):
    """What was made of documents, by their bytes and paths; ``most`` is how many bytes of documents are kept. What was
    asked for longest ago goes first; what is larger alone is not kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[_Key, tuple[int, T]] = OrderedDict()
        _all.add(self)

    def get(self, data: bytes, path: str) -> T | None:
        """Return what was made of a document; None where it was not read lately."""
        key = _key(data, path)
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][1]

    def keep(self, data: bytes, path: str, made: T) -> None:
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


def forget() -> None:
    """Keep nothing of what was read lately, of whatever kind."""
    for each in _all:
        each.clear()


def _key(data: bytes, path: str) -> _Key:
    return blake2b(data, digest_size=16).digest(), path
