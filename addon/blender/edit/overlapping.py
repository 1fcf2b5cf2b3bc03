"""Bodies that begin in one another and that no joint joins: physics pushes them apart at its first step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...core.editing.sides import name_list
from ...core.kinematics import initial_coordinates, spanning_tree
from ...core.model import Array, Mechanism, Shape
from ...core.validation import Finding
from ..physics.bodies.penetration import depths
from ..physics.bodies.support_function import Solid

#: Bodies that are in one another by no more than this share of the smaller one touch.
_TOUCHING = 0.01
#: Pairs that seem to be deeper than so many times that need not be measured better, but for so many of the deepest.
_CLEARLY, _DEEPEST = 5.0, 10
_NO_POINTS = np.zeros((0, 3))
#: Pairs that are measured together.
_AT_ONCE = 1000
Piece = tuple[int, Solid, Array]  # the body's number, and where it is in the world
Pair = tuple[Piece, Piece]


def overlapping(mechanism: Mechanism) -> Iterator[Finding]:
    """One finding for all pairs of bodies, if there are any; of boxes, balls, cylinders and capsules that collide."""
    poses = spanning_tree(mechanism).forward(initial_coordinates(mechanism))[0]
    pieces = [
        (number, solid, poses[number] @ shape.pose)
        for number, body in enumerate(mechanism.bodies)
        if body.active and body.collidable
        for shape in body.shapes
        if shape.collision and bool(shape.extra.get("collidable", True)) and (solid := _solid(shape)) is not None
    ]
    deepest: dict[tuple[int, int], float] = {}
    about = sorted(_measured(_apart(mechanism, _near(pieces)), rough=True), key=lambda each: each[1])
    about = [(pair, depth) for pair, depth in about if depth > _touching(pair)]
    clear = [each for each in about[:-_DEEPEST] if each[1] > _CLEARLY * _touching(each[0])]
    close = [pair for pair, depth in about[:-_DEEPEST] if depth <= _CLEARLY * _touching(pair)]
    close += [pair for pair, _depth in about[-_DEEPEST:]]
    for pair, depth in [*clear, *_measured(close)]:
        if depth > _touching(pair):
            key = pair[0][0], pair[1][0]
            deepest[key] = max(depth, deepest.get(key, 0.0))
    if not deepest:
        return
    first, second = max(deepest, key=lambda key: deepest[key])
    one_body, other_body = mechanism.bodies[first], mechanism.bodies[second]
    count = f"{len(deepest)} pairs of bodies" if len(deepest) > 1 else "A pair of bodies"
    names = name_list((one_body.name, other_body.name))
    yield Finding(
        "bodies-overlap", "info",
        f"{count} that no joint joins {'begin' if len(deepest) > 1 else 'begins'} in one another; the deepest are "
        f"{names}, by {deepest[first, second]:.3g}", "body", (one_body.id, other_body.id),
    )  # fmt: skip


def _apart(mechanism: Mechanism, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The pairs that no joint joins, and of which one at least can be pushed."""
    joined = {frozenset((joint.parent, joint.child)) for joint in mechanism.joints if joint.active}
    for one, other in pairs:
        bodies = mechanism.bodies[one[0]], mechanism.bodies[other[0]]
        if frozenset(body.id for body in bodies) not in joined and not all(body.immobile for body in bodies):
            yield one, other


def _touching(pair: Pair) -> float:
    """Return how deep two pieces are in one another that only touch."""
    return _TOUCHING * float(min(pair[0][1].half.min(), pair[1][1].half.min()))


def _measured(pairs: Iterable[Pair], rough: bool = False) -> Iterator[tuple[Pair, float]]:
    """Yield how deep pieces are in one another: all pairs of two kinds at once, by kinds of size 1 that are scaled."""
    alike: dict[tuple[str, str], list[Pair]] = {}
    for one, other in pairs:
        alike.setdefault((one[1].kind, other[1].kind), []).append((one, other))
    for kinds, found in alike.items():
        unit, other_unit = (Solid(kind, _NO_POINTS, np.ones(3)) for kind in kinds)
        for first in range(0, len(found), _AT_ONCE):
            some = found[first : first + _AT_ONCE]
            at, there = (np.array([_scaled(pair[side]) for pair in some]) for side in (0, 1))
            yield from zip(some, depths(unit, other_unit, at, there, rough).tolist(), strict=True)


def _scaled(piece: Piece) -> Array:
    """Return where a kind of size 1 stands to be a piece (4, 4)."""
    _number, solid, place = piece
    return place * [*solid.half, 1.0]


def _solid(shape: Shape) -> Solid | None:
    size = shape.size
    if shape.type == "box":
        return Solid("BOX", _NO_POINTS, np.array([size["x"], size["y"], size["z"]]) / 2.0)
    if shape.type == "sphere":
        return Solid("SPHERE", _NO_POINTS, np.full(3, size["radius"]))
    if shape.type in {"cylinder", "capsule"}:
        radius, along = size["radius"], size["length"] / 2.0
        caps = radius if shape.type == "capsule" else 0.0
        return Solid(shape.type.upper(), _NO_POINTS, np.array([radius, radius, along + caps]))
    return None


def _near(pieces: list[Piece]) -> Iterator[Pair]:
    """Pieces of two bodies whose boxes along the axes overlap; sorted along the longest way, so that a thousand of them
    take no million looks."""
    if not pieces:
        return
    half = np.array([np.abs(at[:3, :3]) @ solid.half for _number, solid, at in pieces])
    middle = np.array([at[:3, 3] for _number, _solid_, at in pieces])
    low, high = middle - half, middle + half
    axis = int(np.ptp(middle, axis=0).argmax())
    order = np.argsort(low[:, axis], kind="stable")
    starts = low[order, axis]
    for place, here in enumerate(order):
        rest = order[place + 1 : int(np.searchsorted(starts, high[here, axis]))]
        for there in rest[((low[rest] < high[here]) & (high[rest] > low[here])).all(axis=1)]:
            one, other = sorted((pieces[here], pieces[there]), key=lambda piece: piece[0])
            if one[0] != other[0]:
                yield one, other
