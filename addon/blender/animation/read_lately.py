"""Documents of motions that were read lately.

An Action keeps its document as bytes, and whoever takes the motion off a model wants the numbers in it: reading a
million of them takes a second, looking whether the bytes are the same some hundredths. They are known by what they are,
so that what is found is never out of date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.model import Motion
from ...formats.document.parse_cache import Lately

#: Bytes of documents that are kept; numbers take a few times as much.
MOST = 100_000_000

_lately: Lately[list[Motion]] = Lately(MOST)


def motions_in(data: bytes, path: str) -> list[Motion] | None:
    """The motions of a document from ``path``, which are not to be changed; None where it was not read lately."""
    return _lately.get(data, path)


def keep(data: bytes, path: str, motions: Sequence[Motion]) -> None:
    """Keep what a document says, as long as there is room."""
    _lately.keep(data, path, list(motions))


def keep_only(data: bytes, motion: Motion) -> None:
    """Keep what a document of one motion says. The motion may change later on: what was read is copied."""
    own = [replace(each, times=each.times.copy(), values=each.values.copy()) for each in motion.as_read]
    assert motion.source is not None
    keep(data, motion.source.path, [replace(motion, trajectories=own, as_read=tuple(own))])
