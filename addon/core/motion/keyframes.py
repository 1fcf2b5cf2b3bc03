"""Keyframes of one curve with their handles: the common form of motions and Blender's F-curves.

All retiming is done here, for both. Interpolations have Blender's numbers; a trajectory's are ``CONSTANT_KEY`` or
``LINEAR_KEY`` and its handles are the keys themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..model import Array, Trajectory
from ..report import FormatError

#: Interpolation from a key to the next. Blender has more, with easing, which count as linear here.
CONSTANT_KEY, LINEAR_KEY, BEZIER_KEY = 0, 1, 2
#: Type of a free handle (Blender's number).
FREE_HANDLE = 0
#: Largest distance (s) of keys that count as simultaneous.
TIME_TOLERANCE = 1e-9
_BISECTIONS = 60


def finite_keyframes(trajectory: Trajectory, where: str) -> tuple[Array, Array]:
    """Return times and values (n,) of a trajectory.

    Raises:
        FormatError: A keyframe has no finite time and value; ``where`` is the place that it names.
    """
    times, values = np.asarray(trajectory.times, np.float64), np.asarray(trajectory.values, np.float64)
    if times.shape != values.shape or not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise FormatError(
            f"servo {trajectory.name!r} has keyframes without a finite time and value",
            where=where,
            remedy="Correct or delete them.",
        )
    return times, values


@dataclass(frozen=True)
class Keyframes:
    """Keyframes in the order of their times.

    ``times`` and ``values`` are (n, 3): of the left handle, the key and the right handle; ``kinds`` (n,) are the
    interpolations to the next key. ``more`` has further attributes of keys, (n,) each; of these ``left_type`` and
    ``right_type`` become ``FREE_HANDLE`` where a curve is cut. Keys nearer than ``near`` count as simultaneous.
    """

    times: Array
    values: Array
    kinds: NDArray[np.int32]
    more: dict[str, NDArray] = field(default_factory=dict)
    near: float = TIME_TOLERANCE

    @staticmethod
    def of(trajectory: Trajectory) -> Keyframes:
        """Create keyframes from a trajectory."""
        times, values = (np.asarray(x, dtype=np.float64) for x in (trajectory.times, trajectory.values))
        kinds = np.where(trajectory.holds(), CONSTANT_KEY, LINEAR_KEY).astype(np.int32)
        return Keyframes(np.repeat(times[:, None], 3, axis=1), np.repeat(values[:, None], 3, axis=1), kinds)

    def to_trajectory(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory with these keyframes."""
        held = self.kinds == CONSTANT_KEY
        if held.all() or not held.any():
            every = trajectory.interpolation if not len(held) else "constant" if held[0] else "linear"
            return replace(
                trajectory, times=self.keyframe_times, values=self.keyframe_values, held=None, interpolation=every
            )
        return replace(trajectory, times=self.keyframe_times, values=self.keyframe_values, held=held)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def keyframe_times(self) -> Array:
        """Return the times of the keys, (n,)."""
        return self.times[:, 1].copy()

    @property
    def keyframe_values(self) -> Array:
        """Return the values of the keys, (n,)."""
        return self.values[:, 1].copy()

    @property
    def first(self) -> float:
        """Return the time of the first key."""
        return float(self.times[0, 1])

    @property
    def last(self) -> float:
        """Return the time of the last key."""
        return float(self.times[-1, 1])

    @property
    def moves(self) -> bool:
        """Return whether the value ever changes."""
        return bool(np.ptp(self.values) > 0.0)

    @property
    def rise(self) -> float:
        """Return the difference between the last value and the first."""
        return float(self.values[-1, 1] - self.values[0, 1])

    def at(self, times: Array) -> Array:
        """Evaluate at times (m,); constant outside the range of keys."""
        at = np.asarray(times, dtype=np.float64)
        keys, key_values = self.times[:, 1], self.values[:, 1]
        before = np.clip(np.searchsorted(keys, at, side="right") - 1, 0, len(self) - 1)
        out = np.where(self.kinds[before] == CONSTANT_KEY, key_values[before], np.interp(at, keys, key_values))
        curved = (self.kinds[before] == BEZIER_KEY) & (before < len(self) - 1) & (at > keys[0])
        if curved.any():
            x, y = self.controls(before[curved])
            out[curved] = evaluate_bezier(y, _bezier_parameter(x, at[curved]))
        return np.where(at >= keys[-1], key_values[-1], out)

    def controls(self, of: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the control points of the segments after the keys ``of`` (m,), times and values (m, 4).

        As in Blender a handle that reaches beyond the other key is shortened to reach it.
        """
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

    def taken(self, which: NDArray | slice | list[int]) -> Keyframes:
        """Select keys by indices or a mask."""
        more = {name: column[which] for name, column in self.more.items()}
        return replace(self, times=self.times[which], values=self.values[which], kinds=self.kinds[which], more=more)

    def moved(self, time: float, value: float = 0.0) -> Keyframes:
        """Shift the keys by a time and a value."""
        return replace(self, times=self.times + time, values=self.values + value)

    def faster(self, factor: float, about: float) -> Keyframes:
        """Scale time by ``1 / factor`` about the time ``about``."""
        return replace(self, times=about + (self.times - about) / factor)

    def scaled_values(self, factor: float) -> Keyframes:
        """Multiply all values by a factor."""
        return replace(self, values=self.values * factor)

    def with_keyframe(self, time: float) -> Keyframes:
        """Insert a key at a time without changing the curve. Outside the range of keys the curve is constant."""
        keys = self.times[:, 1]
        if np.abs(keys - time).min() <= self.near:
            return self
        place = int(np.searchsorted(keys, time))
        near = min(max(place - 1, 0), len(self) - 1)
        value = float(self.at(np.array([time]))[0])
        out = concatenate_keyframes([self.taken(slice(0, place)), self.taken([near]), self.taken(slice(place, None))])
        out.times[place], out.values[place] = time, value
        if place == 0:
            out.kinds[0] = min(out.kinds[0], LINEAR_KEY)
            out._let_go(slice(0, 2))
        elif place == len(self):
            out.kinds[place - 1 : place + 1] = min(out.kinds[place], LINEAR_KEY)
            out._let_go(slice(place - 1, place + 1))
        elif out.kinds[place] == BEZIER_KEY:
            out._cut(place, *self.controls(np.array([place - 1])))
        return out

    def _cut(self, place: int, x: Array, y: Array) -> None:
        """Set the handles about a key that was inserted into a Bezier segment, by de Casteljau's algorithm."""
        share = float(_bezier_parameter(x, self.times[place, 1:2])[0])
        for points, own in ((x[0], self.times), (y[0], self.values)):
            ab, bc, cd = (points[k] + share * (points[k + 1] - points[k]) for k in range(3))
            left, right = ab + share * (bc - ab), bc + share * (cd - bc)
            own[place - 1, 2], own[place, 0], own[place, 2], own[place + 1, 0] = ab, left, right, cd
        self._let_go(slice(place - 1, place + 2))

    def _let_go(self, which: slice) -> None:
        """Set handles to free, so that they stay where they are whatever keys are beside them."""
        for name in {"left_type", "right_type"} & self.more.keys():
            self.more[name][which] = FREE_HANDLE

    def to_polyline(self, apart: float, most: int = 400) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Approximate the curve by a polyline.

        Bezier segments get points on the curve, including its extremes: four at least and ``most`` at most, else about
        ``apart`` in time.

        Returns:
            Times, values and whether they hold, (m,).
        """
        keys, key_values, held = self.times[:, 1], self.values[:, 1], self.kinds == CONSTANT_KEY
        curved = np.flatnonzero(self.kinds[:-1] == BEZIER_KEY)
        if not len(curved):
            return keys.copy(), key_values.copy(), held
        x, y = self.controls(curved)
        counts = np.clip(np.ceil((x[:, 3] - x[:, 0]) / apart), 4, most).astype(np.intp)
        places, times, values = [np.arange(len(self))], [keys], [key_values]
        for count in np.unique(counts):
            those = counts == count
            shares = _include_extrema(np.tile(np.arange(1, count) / count, (int(those.sum()), 1)), y[those])
            times.append(evaluate_bezier(x[those], shares).ravel())
            values.append(evaluate_bezier(y[those], shares).ravel())
            places.append(np.repeat(curved[those], count - 1))
        place, time, value = np.concatenate(places), np.concatenate(times), np.concatenate(values)
        order = np.lexsort((time, place))  # each key before the points of its segment
        return time[order], value[order], held[place[order]]

    def between(self, first: float, last: float) -> Keyframes:
        """Cut out the curve from one time to another, with keys at both."""
        out = self.with_keyframe(first).with_keyframe(last)
        keys = out.times[:, 1]
        return out.taken((keys >= first - self.near) & (keys <= last + self.near))

    def then(self, other: Keyframes) -> Keyframes:
        """Append keys, whose first replaces the last of these."""
        out = concatenate_keyframes([self.taken(slice(0, -1)), other])
        place = len(self) - 1
        out.times[place, 0], out.values[place, 0] = self.times[-1, 0], self.values[-1, 0]
        if "left_type" in out.more:
            out.more["left_type"][place] = self.more["left_type"][-1]
        return out


def evaluate_bezier(points: Array, share: Array) -> Array:
    """Evaluate cubic Bezier curves with control points (m, 4) at parameters (m,) or (m, k)."""
    p0, p1, p2, p3 = points.T if share.ndim == 1 else points.T[:, :, None]
    rest = 1.0 - share
    return rest**3 * p0 + 3.0 * rest**2 * share * p1 + 3.0 * rest * share**2 * p2 + share**3 * p3


def _include_extrema(shares: Array, y: Array) -> Array:
    """Move those parameters (m, k), in order, onto the extremes of cubics ``y`` (m, 4) that are nearest to them."""
    a = y[:, 3] - 3.0 * y[:, 2] + 3.0 * y[:, 1] - y[:, 0]
    b = 2.0 * (y[:, 2] - 2.0 * y[:, 1] + y[:, 0])
    c = y[:, 1] - y[:, 0]
    root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
    q = -0.5 * (b + np.where(b < 0.0, -root, root))  # numerically stable also where a or c is nearly 0
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.stack([q / a, c / q], axis=1)
    step = shares[:, :1]
    for turn in turns.T:
        real = (turn > 0.5 * step[:, 0]) & (turn < 1.0 - 0.5 * step[:, 0]) & (b * b >= 4.0 * a * c)
        rows = np.flatnonzero(real)
        shares[rows, np.abs(shares[rows] - turn[rows, None]).argmin(axis=1)] = turn[rows]
    return np.sort(shares, axis=1)


def _bezier_parameter(x: Array, at: Array) -> Array:
    """Find the parameters (m,) at which monotonic cubics ``x`` (m, 4) have the values ``at`` (m,), by bisection."""
    low, high = np.zeros(len(at)), np.ones(len(at))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        later = evaluate_bezier(x, middle) < at
        low, high = np.where(later, middle, low), np.where(later, high, middle)
    return 0.5 * (low + high)


def concatenate_keyframes(parts: Sequence[Keyframes]) -> Keyframes:
    """Concatenate keyframes, as copies."""
    more = {name: np.concatenate([part.more[name] for part in parts]) for name in parts[0].more}
    times, values, kinds = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "values", "kinds")
    )
    return replace(parts[0], times=times, values=values, kinds=kinds, more=more)


# ---------------------------------------------------------------- retiming


@dataclass(frozen=True)
class MotionSpan:
    """Time range of a motion, and its ``gap`` when repeated.

    ``gap`` is the time from the last key to the first of the next cycle, 0 where one key is both.
    """

    first: float
    last: float
    gap: float = 0.0

    @property
    def period(self) -> float:
        """Return the duration of a cycle."""
        return self.last - self.first + self.gap

    def closed(self, keys: Keyframes) -> Keyframes:
        """Extend keys to the whole span, with the first value again at the end of the cycle where there is a gap."""
        out = keys.between(self.first, self.last)
        if self.gap > 0.0:
            end = out.taken([0]).moved(self.period)
            out = concatenate_keyframes([out, end])
        return out


def repeat_keyframes(keys: Keyframes, span: MotionSpan, rounds: int, climbs: bool = False) -> Keyframes:
    """Repeat keys over ``span`` for several cycles.

    ``climbs``: each cycle begins at the value at which the previous one ended. Where there is a gap, the last cycle has
    no key at its end.
    """
    if len(keys) < 2:
        return keys
    one = span.closed(keys)
    inner, starts = one.taken(slice(1, -1)), one.taken([0])
    seam = one.taken([-1]).then(starts.moved(span.period, one.rise if climbs else 0.0))
    seam.times[0, 1] = one.last  # without rounding
    parts = [starts]
    for number in range(rounds):
        shift = number * span.period, number * one.rise if climbs else 0.0
        parts += [inner.moved(*shift), (seam if number < rounds - 1 else one.taken([-1])).moved(*shift)]
    out = concatenate_keyframes(parts)
    return out.taken(slice(0, -1)) if span.gap > 0.0 else out


def shift_keyframes_cyclic(keys: Keyframes, span: MotionSpan, later: float, climbs: bool = False) -> Keyframes:
    """Delay keys over ``span`` by a time, wrapping what leaves the end of the cycle to its beginning.

    ``climbs``: a cycle ends where the next begins, so that the wrapped part is lower by the rise of a cycle.
    """
    if len(keys) < 2 or span.period <= 0.0:
        return keys
    later = later % span.period
    if min(later, span.period - later) <= keys.near:
        return keys
    one, cut = span.closed(keys), span.first + span.period - later
    after, before = one.between(cut, span.first + span.period), one.between(span.first, cut)
    return after.moved(later - span.period, -one.rise if climbs else 0.0).then(before.moved(later))


def blend_to_first_value(keys: Keyframes, span: MotionSpan, within: float) -> Keyframes:
    """Blend keys over ``span`` back to their first value at the end.

    The difference is subtracted with a smoothstep weight during the last ``within`` of the span.
    """
    if len(keys) < 2:
        return keys
    within = min(within, span.last - span.first)
    start = span.last - within
    out = span.closed(keys).with_keyframe(start)
    share = np.clip((out.times - start) / within, 0.0, 1.0) if within > 0.0 else (out.times >= span.last).astype(float)
    share[out.times[:, 1] <= start + keys.near] = 0.0
    return replace(out, values=out.values - share**2 * (3.0 - 2.0 * share) * out.rise)


def simplified_key_indices(times: Array, values: Array, tolerance: float) -> NDArray[np.intp]:
    """Select the keys (n,) to keep so that straight lines between them pass all others within ``tolerance``.

    From each kept key the line continues for as long as its slope fits all keys that were passed (O'Rourke's funnel,
    1981), so that the effort grows linearly with n. The first and the last key are kept.

    Args:
        times: Strictly ascending times (n,).
        values: Values (n,).
        tolerance: Largest error, in the values' unit.

    Returns:
        Indices of the keys to keep.

    Raises:
        ValueError: A value is not finite.
    """
    count = len(times)
    if not np.isfinite(values).all():
        raise ValueError("Interpolation needs finite values")
    if count < 3:
        return np.arange(count)
    t, v = times.tolist(), values.tolist()
    kept = [0]
    anchor, low, high = 0, -np.inf, np.inf
    last = 0  # the farthest key at which a line from the anchor can end
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
