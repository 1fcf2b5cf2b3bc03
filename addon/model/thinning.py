"""Fewer keys for the same motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .records import Array


def kept_keys(times: Array, values: Array, tolerance: float) -> NDArray[np.intp]:
    """Return which of the keys (n,) to keep so that straight lines between them pass all others within ``tolerance``,
    an error in the values' unit. The first and the last are kept; times are strictly ascending.

    From each kept key the line goes on for as long as its slope fits all keys that were passed (O'Rourke's funnel,
    1981), so that the work grows with n alone."""
    count = len(times)
    if not np.isfinite(values).all():
        raise ValueError("what is no number cannot be between others")
    if count < 3:
        return np.arange(count)
    t, v = times.tolist(), values.tolist()
    kept = [0]
    anchor, low, high = 0, -np.inf, np.inf
    last = 0  # the furthest key that a line from the anchor can end at
    for key in range(1, count):
        while True:
            step = t[key] - t[anchor]
            slope = (v[key] - v[anchor]) / step
            if low <= slope <= high:
                low, high = max(low, slope - tolerance / step), min(high, slope + tolerance / step)
                last = key
                break
            kept.append(last)
            anchor, low, high = last, -np.inf, np.inf
    kept.append(count - 1)
    return np.array(kept, dtype=np.intp)
