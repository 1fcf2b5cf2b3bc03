"""The keys of one curve over time, with their handles: what motions and Blender's curves have in common.

All that retimes a motion is done here once, for both. Keys go to the next in the ways of Blender, by its numbers; a
trajectory's are ``HELD`` or ``STRAIGHT`` and their handles are the keys themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..model import Array, Trajectory

#: How a key goes to the next. Blender has more, which ease; between such keys a curve counts as straight here.
HELD, STRAIGHT, BEZIER = 0, 1, 2
#: The handles' types (Blender's numbers): one that stays where it is put.
FREE = 0
#: Keys that are nearer (s) are at one time.
SAME_TIME = 1e-9
_HALVINGS = 60


@dataclass(frozen=True)
class Keys:
    """Keys in the order of their times.

    ``times`` and ``values`` are (n, 3): of the left handle, the key and the right handle; ``kinds`` (n,) how each goes
    to the next. ``more`` holds what else comes with keys, (n,) each; of these ``left_type`` and ``right_type`` become
    ``FREE`` where a curve is cut. Keys that are nearer than ``near`` are at one time.
    """

    times: Array
    values: Array
    kinds: NDArray[np.int32]
    more: dict[str, NDArray] = field(default_factory=dict)
    near: float = SAME_TIME

    @staticmethod
    def of(trajectory: Trajectory) -> Keys:
        """The keys of a trajectory."""
        times, values = (np.asarray(x, dtype=np.float64) for x in (trajectory.times, trajectory.values))
        kinds = np.where(trajectory.holds(), HELD, STRAIGHT).astype(np.int32)
        return Keys(np.repeat(times[:, None], 3, axis=1), np.repeat(values[:, None], 3, axis=1), kinds)

    def put_into(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with these keys."""
        held = self.kinds == HELD
        if held.all() or not held.any():
            every = trajectory.interpolation if not len(held) else "constant" if held[0] else "linear"
            return replace(trajectory, times=self.at_keys, values=self.told, held=None, interpolation=every)
        return replace(trajectory, times=self.at_keys, values=self.told, held=held)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def at_keys(self) -> Array:
        """Times of the keys, (n,)."""
        return self.times[:, 1].copy()

    @property
    def told(self) -> Array:
        """Values of the keys, (n,)."""
        return self.values[:, 1].copy()

    @property
    def first(self) -> float:
        """Time of the first key."""
        return float(self.times[0, 1])

    @property
    def last(self) -> float:
        """Time of the last key."""
        return float(self.times[-1, 1])

    @property
    def moves(self) -> bool:
        """Return whether the value is ever another than at first."""
        return bool(np.ptp(self.values) > 0.0)

    @property
    def rise(self) -> float:
        """By how much the last value is above the first."""
        return float(self.values[-1, 1] - self.values[0, 1])

    def at(self, times: Array) -> Array:
        """Values at times (m,), those of the outer keys beyond them."""
        at = np.asarray(times, dtype=np.float64)
        keys, told = self.times[:, 1], self.values[:, 1]
        before = np.clip(np.searchsorted(keys, at, side="right") - 1, 0, len(self) - 1)
        out = np.where(self.kinds[before] == HELD, told[before], np.interp(at, keys, told))
        curved = (self.kinds[before] == BEZIER) & (before < len(self) - 1) & (at > keys[0])
        if curved.any():
            x, y = self.controls(before[curved])
            out[curved] = bezier(y, _share(x, at[curved]))
        return np.where(at >= keys[-1], told[-1], out)

    def controls(self, of: NDArray[np.intp]) -> tuple[Array, Array]:
        """Times and values (m, 4) of the control points between the keys number ``of`` (m,) and the next, as Blender
        takes them: a handle that reaches beyond the other key is shortened to reach it."""
        to = of + 1
        x = np.stack([self.times[of, 1], self.times[of, 2], self.times[to, 0], self.times[to, 1]], axis=1)
        y = np.stack([self.values[of, 1], self.values[of, 2], self.values[to, 0], self.values[to, 1]], axis=1)
        length = x[:, 3] - x[:, 0]
        for end, handle in ((0, 1), (3, 2)):
            reach = np.abs(x[:, handle] - x[:, end])
            share = np.where(reach > length, length / np.where(reach > 0.0, reach, 1.0), 1.0)
            for points in (x, y):
                points[:, handle] = points[:, end] + share * (points[:, handle] - points[:, end])
        return x, y

    def taken(self, which: NDArray | slice | list[int]) -> Keys:
        """Some of the keys, by their numbers or a mask."""
        more = {name: column[which] for name, column in self.more.items()}
        return replace(self, times=self.times[which], values=self.values[which], kinds=self.kinds[which], more=more)

    def moved(self, time: float, value: float = 0.0) -> Keys:
        """The keys later by a time and higher by a value."""
        return replace(self, times=self.times + time, values=self.values + value)

    def faster(self, factor: float, about: float) -> Keys:
        """The keys ``factor`` times as fast, the one at ``about`` where it is."""
        return replace(self, times=about + (self.times - about) / factor)

    def times_value(self, factor: float) -> Keys:
        """The keys with all values multiplied."""
        return replace(self, values=self.values * factor)

    def with_key(self, time: float) -> Keys:
        """With a key at a time, the course between keys as it was. Beyond the outer keys their values hold."""
        keys = self.times[:, 1]
        if np.abs(keys - time).min() <= self.near:
            return self
        place = int(np.searchsorted(keys, time))
        near = min(max(place - 1, 0), len(self) - 1)
        value = float(self.at(np.array([time]))[0])
        out = joined([self.taken(slice(0, place)), self.taken([near]), self.taken(slice(place, None))])
        out.times[place], out.values[place] = time, value
        if place == 0:
            out.kinds[0] = min(out.kinds[0], STRAIGHT)
            out._let_go(slice(0, 2))
        elif place == len(self):
            out.kinds[place - 1 : place + 1] = min(out.kinds[place], STRAIGHT)
            out._let_go(slice(place - 1, place + 1))
        elif out.kinds[place] == BEZIER:
            out._cut(place, *self.controls(np.array([place - 1])))
        return out

    def _cut(self, place: int, x: Array, y: Array) -> None:
        """Put the handles about a key that was put into a Bezier part, by de Casteljau."""
        share = float(_share(x, self.times[place, 1:2])[0])
        for points, own in ((x[0], self.times), (y[0], self.values)):
            ab, bc, cd = (points[k] + share * (points[k + 1] - points[k]) for k in range(3))
            left, right = ab + share * (bc - ab), bc + share * (cd - bc)
            own[place - 1, 2], own[place, 0], own[place, 2], own[place + 1, 0] = ab, left, right, cd
        self._let_go(slice(place - 1, place + 2))

    def _let_go(self, which: slice) -> None:
        """Have handles stay where they are, whatever keys come beside them."""
        for name in {"left_type", "right_type"} & self.more.keys():
            self.more[name][which] = FREE

    def straightened(self, apart: float, most: int = 400) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Times, values and whether they hold (m,), of points that straight lines join: the keys, and on Bezier parts
        points of the very curve with its lowest and highest, four at least and ``most`` at most, else about ``apart``
        in time."""
        keys, told, held = self.times[:, 1], self.values[:, 1], self.kinds == HELD
        curved = np.flatnonzero(self.kinds[:-1] == BEZIER)
        if not len(curved):
            return keys.copy(), told.copy(), held
        x, y = self.controls(curved)
        counts = np.clip(np.ceil((x[:, 3] - x[:, 0]) / apart), 4, most).astype(np.intp)
        places, times, values = [np.arange(len(self))], [keys], [told]
        for count in np.unique(counts):
            those = counts == count
            shares = _with_extremes(np.tile(np.arange(1, count) / count, (int(those.sum()), 1)), y[those])
            times.append(bezier(x[those], shares).ravel())
            values.append(bezier(y[those], shares).ravel())
            places.append(np.repeat(curved[those], count - 1))
        place, time, value = np.concatenate(places), np.concatenate(times), np.concatenate(values)
        order = np.lexsort((time, place))  # a key is never later than the points up to the next
        return time[order], value[order], held[place[order]]

    def between(self, first: float, last: float) -> Keys:
        """The course from one time to another, with keys at both."""
        out = self.with_key(first).with_key(last)
        keys = out.times[:, 1]
        return out.taken((keys >= first - self.near) & (keys <= last + self.near))

    def then(self, other: Keys) -> Keys:
        """These keys, then those of ``other``, whose first takes the place of the last of these."""
        out = joined([self.taken(slice(0, -1)), other])
        place = len(self) - 1
        out.times[place, 0], out.values[place, 0] = self.times[-1, 0], self.values[-1, 0]
        if "left_type" in out.more:
            out.more["left_type"][place] = self.more["left_type"][-1]
        return out


def bezier(points: Array, share: Array) -> Array:
    """Cubics with control points (m, 4) at shares (m,) or (m, k) of their parameter."""
    p0, p1, p2, p3 = points.T if share.ndim == 1 else points.T[:, :, None]
    rest = 1.0 - share
    return rest**3 * p0 + 3.0 * rest**2 * share * p1 + 3.0 * rest * share**2 * p2 + share**3 * p3


def _with_extremes(shares: Array, y: Array) -> Array:
    """Shares (m, k), in order, of cubics with control points ``y`` (m, 4), those nearest to the cubics' turning points
    moved onto them."""
    a = y[:, 3] - 3.0 * y[:, 2] + 3.0 * y[:, 1] - y[:, 0]
    b = 2.0 * (y[:, 2] - 2.0 * y[:, 1] + y[:, 0])
    c = y[:, 1] - y[:, 0]
    root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
    q = -0.5 * (b + np.where(b < 0.0, -root, root))  # steady also where a or c is nearly 0
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.stack([q / a, c / q], axis=1)
    step = shares[:, :1]
    for turn in turns.T:
        real = (turn > 0.5 * step[:, 0]) & (turn < 1.0 - 0.5 * step[:, 0]) & (b * b >= 4.0 * a * c)
        rows = np.flatnonzero(real)
        shares[rows, np.abs(shares[rows] - turn[rows, None]).argmin(axis=1)] = turn[rows]
    return np.sort(shares, axis=1)


def _share(x: Array, at: Array) -> Array:
    """The parameters (m,) at which the times of cubics (m, 4), which never go back, are ``at`` (m,)."""
    low, high = np.zeros(len(at)), np.ones(len(at))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        later = bezier(x, middle) < at
        low, high = np.where(later, middle, low), np.where(later, high, middle)
    return 0.5 * (low + high)


def joined(parts: Sequence[Keys]) -> Keys:
    """Keys one after the other, as copies."""
    more = {name: np.concatenate([part.more[name] for part in parts]) for name in parts[0].more}
    times, values, kinds = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "values", "kinds")
    )
    return replace(parts[0], times=times, values=values, kinds=kinds, more=more)


# ---------------------------------------------------------------- retiming


@dataclass(frozen=True)
class Span:
    """From when to when a motion goes, and what becomes of its end when it begins again: ``gap`` is the time from its
    last key to the first of the next round, 0 where one key is both."""

    first: float
    last: float
    gap: float = 0.0

    @property
    def period(self) -> float:
        """Return how long a round takes."""
        return self.last - self.first + self.gap

    def closed(self, keys: Keys) -> Keys:
        """Keys over the whole span, and one with the first value again at the end of the round where there is a gap."""
        out = keys.between(self.first, self.last)
        if self.gap > 0.0:
            end = out.taken([0]).moved(self.period)
            out = joined([out, end])
        return out


def repeated(keys: Keys, span: Span, rounds: int, climbs: bool = False) -> Keys:
    """Keys, those over ``span``, for several rounds.

    ``climbs``: each round begins at the value at which the one before ended. Where there is a gap, no key ends the last
    round's.
    """
    if len(keys) < 2:
        return keys
    one = span.closed(keys)
    inner, starts = one.taken(slice(1, -1)), one.taken([0])
    seam = one.taken([-1]).then(starts.moved(span.period, one.rise if climbs else 0.0))
    seam.times[0, 1] = one.last  # and no rounding beside it
    parts = [starts]
    for number in range(rounds):
        shift = number * span.period, number * one.rise if climbs else 0.0
        parts += [inner.moved(*shift), (seam if number < rounds - 1 else one.taken([-1])).moved(*shift)]
    out = joined(parts)
    return out.taken(slice(0, -1)) if span.gap > 0.0 else out


def turned_round(keys: Keys, span: Span, later: float, climbs: bool = False) -> Keys:
    """Keys, those over ``span``, later by a time; what comes to lie beyond the end of the round begins it.

    ``climbs``: a round ends where the next begins, so that what begins it lies lower by what the round rises.
    """
    if len(keys) < 2 or span.period <= 0.0:
        return keys
    later = later % span.period
    if min(later, span.period - later) <= keys.near:
        return keys
    one, cut = span.closed(keys), span.first + span.period - later
    after, before = one.between(cut, span.first + span.period), one.between(span.first, cut)
    return after.moved(later - span.period, -one.rise if climbs else 0.0).then(before.moved(later))


def led_back(keys: Keys, span: Span, within: float) -> Keys:
    """Keys, those over ``span``, that come back to their first value at the end: what lacks is added to the values of
    the last ``within`` of it, more and more, beginning and ending softly."""
    if len(keys) < 2:
        return keys
    within = min(within, span.last - span.first)
    start = span.last - within
    out = span.closed(keys).with_key(start)
    share = np.clip((out.times - start) / within, 0.0, 1.0) if within > 0.0 else (out.times >= span.last).astype(float)
    share[out.times[:, 1] <= start + keys.near] = 0.0
    return replace(out, values=out.values - share**2 * (3.0 - 2.0 * share) * out.rise)


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
