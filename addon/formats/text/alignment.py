"""Which of the things in a document are those that are to be written: servos by name, keys by time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.model import Array

Places = NDArray[np.int64]
#: Pairs of old and new keys between two that stayed, beyond which nobody looks for those that moved: all are new then.
LARGEST_SEARCH = 10**6


def servos(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For every new servo its place among the old ones, None where it was not there: the one of its name (of several,
    in their order). Where as many are new as are gone, those at the same places were renamed."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(old):
        places.setdefault(name, []).append(place)
    found = [places[name].pop(0) if places.get(name) else None for name in new]
    if len(old) == len(new):
        taken = set(found)
        for place, match in enumerate(found):
            if match is None and place not in taken:
                found[place] = place
    return found


def keys(old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> Places:
    """For every new key the place of the old one that it is, -1 where it is a new one, (n,); places ascend.

    Times ascend in both. Of two ways to see it the one that changes less is taken: keys stayed at their places in the
    row, or at their times, with those moved that lie between two that stayed."""
    by_time = _by_time(old_times, old_values, new_times, new_values)
    if len(old_times) != len(new_times):
        return by_time
    in_row = np.arange(len(new_times))
    each = (old_times, old_values, new_times, new_values)
    return in_row if _cost(in_row, *each) <= _cost(by_time, *each) else by_time


def _by_time(old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> Places:
    found = np.full(len(new_times), -1, np.int64)
    _, old, new = np.intersect1d(old_times, new_times, assume_unique=True, return_indices=True)
    found[new] = old
    old_ends = np.concatenate(([-1], old, [len(old_times)]))
    new_ends = np.concatenate(([-1], new, [len(new_times)]))
    for gap in np.flatnonzero((np.diff(old_ends) > 1) & (np.diff(new_ends) > 1)):
        olds = np.arange(old_ends[gap] + 1, old_ends[gap + 1])
        news = np.arange(new_ends[gap] + 1, new_ends[gap + 1])
        if len(olds) == len(news):
            found[news] = olds
            continue
        if len(olds) * len(news) > LARGEST_SEARCH:
            continue
        following = 0
        for place in news:
            same = np.flatnonzero(old_values[olds[following:]] == new_values[place])
            if len(same):
                found[place] = olds[following + same[0]]
                following += int(same[0]) + 1
    return found


def _cost(places: Places, old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> int:
    """Return how many numbers of the document change."""
    kept = places >= 0
    retimed = np.count_nonzero(old_times[places[kept]] != new_times[kept])
    changed = np.count_nonzero(old_values[places[kept]] != new_values[kept])
    return int(retimed + changed + 2 * (len(new_times) + len(old_times) - 2 * np.count_nonzero(kept)))
