"""Documents of motions that were read lately.

An Action keeps its document as bytes, and whoever takes the motion off a model wants the numbers in it: reading a
million of them takes a second, looking whether the bytes are the same some hundredths. They are known by what they are,
so that what is found is never out of date."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from bpy.app.handlers import persistent

from ...model.records import Motion
from ..hooks import Handlers, hang, take_down

#: Bytes of documents that are kept; numbers take a few times as much.
MOST = 100_000_000

_Key = tuple[bytes, str]
_kept: OrderedDict[_Key, tuple[int, list[Motion]]] = OrderedDict()


def motions_in(data: bytes, path: str) -> list[Motion] | None:
    """The motions of a document from ``path``, which are not to be changed; None where it was not read lately."""
    key = _key(data, path)
    if key not in _kept:
        return None
    _kept.move_to_end(key)
    return _kept[key][1]


def keep(data: bytes, path: str, motions: Sequence[Motion]) -> None:
    """Keep what a document says, as long as there is room. What was asked for longest ago goes first."""
    _kept[_key(data, path)] = len(data), list(motions)
    while sum(size for size, _motions in _kept.values()) > MOST:
        _kept.popitem(last=False)


def keep_only(data: bytes, motion: Motion) -> None:
    """The same of the one motion of a document. It may change later on: what was read is copied."""
    own = [replace(each, times=each.times.copy(), values=each.values.copy()) for each in motion.as_read]
    assert motion.source is not None
    keep(data, motion.source.path, [replace(motion, trajectories=own, as_read=tuple(own))])


def _key(data: bytes, path: str) -> _Key:
    return blake2b(data, digest_size=16).digest(), path


@persistent
def forget(*_: Any) -> None:
    """Keep nothing: another file is open."""
    _kept.clear()


_HANDLERS: Handlers = (("load_post", forget), ("load_factory_startup_post", forget))


def register() -> None:
    """Hang in what forgets."""
    hang(_HANDLERS)


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS)
    forget()
