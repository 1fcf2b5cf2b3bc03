"""How deep bodies of a model were in one another during a run.

Two convex shapes are apart if there is a direction in which they are; else they are as deep in one another as they
overlap in the direction in which they do so least: that far one of them would have to go. That direction is looked for,
among the axes of both, what is at right angles to two of them and the line between their middles, and then nearer and
nearer about the best. So what is found to be apart is; a depth is exact for boxes that touch with faces or edges, and
never too small. A compound is as deep as the deepest of its parts.

Pairs that Blender does not let collide do not count: those that a constraint joins or keeps apart, and those that share
no collision collection. Of long runs some frames are looked at, then every one of the pairs that were deepest in those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import bpy
import numpy as np
from numpy.typing import NDArray

from ....core.model import Array
from ....core.run_metrics import Overlap
from .support_function import Measured, Solid, place_on_parent, solid_of, turn_and_scale

#: How many frames of a run are looked at for all pairs, and how many of the deepest pairs at all frames.
SAMPLES, _NAMED = 60, 3
#: By how much (rad) the direction is changed to find a better one: first, and at the last.
_COARSE, _FINE = 0.4, 1e-4
#: From how many of the first directions it is looked for, and how many there are besides those that the shapes give.
_STARTS, _EVEN = 8, 64
#: The same where it is only to be known about.
_FEW, _ROUGH = 3, 0.03
_AROUND = [(np.cos(angle), np.sin(angle)) for angle in np.arange(8) * np.pi / 4]


Numbers = NDArray[np.intp]


class _Part(NamedTuple):
    solid: Solid
    place: Array  # on its body
    radius: float  # of a ball about its origin that holds it


def overlaps_of(
    world: bpy.types.RigidBodyWorld,
    bodies: Sequence[bpy.types.Object],
    pieces: dict[bpy.types.Object, list[bpy.types.Object]],
    poses: Array,
) -> list[Overlap]:
    """Return how deep bodies were in one another at recorded poses (frames, bodies, 4, 4): those that were at all.
    ``pieces`` are the parts of compounds."""
    measured: Measured = {}
    parts = [_parts(obj, pieces.get(obj, ()), measured) for obj in bodies]
    frames = np.unique(np.linspace(0, len(poses) - 1, min(SAMPLES, len(poses))).round().astype(int))
    found = []
    for first, second in _pairs(world, bodies, parts):
        depth = _depths(parts[first], parts[second], poses[frames, first], poses[frames, second])
        if depth.max(initial=0.0) > 0.0:
            found.append((float(depth.max()), first, second))
    found.sort(key=lambda each: -each[0])
    out = []
    for _, first, second in found[:_NAMED]:
        out.append(Overlap(first, second, _depths(parts[first], parts[second], poses[:, first], poses[:, second])))
    return out


def _parts(obj: bpy.types.Object, pieces: Sequence[bpy.types.Object], measured: Measured) -> list[_Part]:
    body = obj.rigid_body
    if body is None or not any(body.collision_collections):
        return []
    places = {obj: np.eye(4)}
    if body.collision_shape == "COMPOUND":
        places = {piece: place_on_parent(piece) for piece in pieces if piece.rigid_body is not None}
    solids = {each: solid_of(each, measured) for each in places}
    return [
        _Part(solid, places[each], _radius(solid))
        for each, solid in solids.items()
        if solid is not None and solid.kind != "MESH"  # a hollow one is no hull
    ]


def _radius(solid: Solid) -> float:
    if solid.kind == "CONVEX_HULL":
        return float(np.linalg.norm(solid.points, axis=1).max())
    return float(np.linalg.norm([solid.half[:2].max() * np.sqrt(2.0), solid.half.max()]))


def _pairs(
    world: bpy.types.RigidBodyWorld, bodies: Sequence[bpy.types.Object], parts: list[list[_Part]]
) -> Iterator[tuple[int, int]]:
    """Places of bodies that Blender lets collide."""
    constraints = world.constraints.objects if world.constraints is not None else ()
    held = [obj.rigid_body_constraint for obj in constraints]
    joined = {frozenset((each.object1, each.object2)) for each in held if each is not None and each.disable_collisions}
    shared = [set() if not parts[n] else _collections(obj) for n, obj in enumerate(bodies)]
    moved = [obj.rigid_body is not None and obj.rigid_body.type == "ACTIVE" for obj in bodies]
    for first, second in combinations(range(len(bodies)), 2):
        may = (moved[first] or moved[second]) and shared[first] & shared[second]
        if may and frozenset((bodies[first], bodies[second])) not in joined:
            yield first, second


def _collections(obj: bpy.types.Object) -> set[int]:
    return {number for number, there in enumerate(obj.rigid_body.collision_collections) if there}


def _depths(ones: list[_Part], others: list[_Part], at: Array, there: Array) -> Array:
    """Return how deep (frames,) two bodies are in one another at poses (frames, 4, 4) of both."""
    out = np.zeros(len(at))
    for one in ones:
        for other in others:
            a, b = at @ one.place, there @ other.place
            size = [turn_and_scale(poses)[1].max(axis=1, initial=0.0) for poses in (a, b)]
            near = np.linalg.norm(b[:, :3, 3] - a[:, :3, 3], axis=1) < size[0] * one.radius + size[1] * other.radius
            if near.any():
                out[near] = np.maximum(out[near], depths(one.solid, other.solid, a[near], b[near]))
    return out


def depths(one: Solid, other: Solid, at: Array, there: Array, rough: bool = False) -> Array:
    """Return how deep (n,) two convex shapes are in one another at poses (n, 4, 4) of both; 0 where they are apart.
    ``rough``: about so deep, and no less, in a tenth of the time."""
    count, fine = (_FEW, _ROUGH) if rough else (_STARTS, _FINE)
    sides = [(solid, *turn_and_scale(poses)) for solid, poses in ((one, at), (other, there))]
    between = there[:, :3, 3] - at[:, :3, 3]

    def overlap(ways: Array, rows: Numbers) -> Array:
        """By how much (m, k) they overlap, at the poses of some rows (m,), along unit vectors (m, k, 3)."""
        out = -np.einsum("nkj,nj->nk", ways, between[rows])
        for sense, (solid, turn, scale) in zip((1.0, -1.0), sides, strict=True):
            out += solid.reach(sense * ways @ turn[rows], scale[rows, None, :])
        return out

    ways = _candidates(sides[0][1], sides[1][1], between)
    over = overlap(ways, np.arange(len(at)))
    least = np.maximum(over.min(axis=1), 0.0)
    inside = np.flatnonzero(least > 0.0)
    if not len(inside):
        return least
    starts = np.argpartition(over[inside], count, axis=1)[:, :count]
    rows = np.repeat(inside, count)
    found = _nearer(ways[rows, starts.ravel()], lambda ways, which: overlap(ways, rows[which]), fine)
    least[inside] = np.maximum(found.reshape(-1, count).min(axis=1), 0.0)
    return least


def _nearer(way: Array, overlap: Callable[[Array, Numbers], Array], fine: float) -> Array:
    """The least overlap (m,) that is found going from unit vectors (m, 3), each by steps of its own down to ``fine``,
    with what says it for some of them (k,) along (k, n, 3)."""
    way, step, going = way.copy(), np.full(len(way), _COARSE), np.arange(len(way))
    least = overlap(way[:, None], going)[:, 0]
    while len(going := going[(least[going] > 0.0) & (step[going] > fine)]):
        ways = _around(way[going], step[going])
        over = overlap(ways, going)
        best = over.argmin(axis=1)
        found = over[np.arange(len(going)), best]
        better = found < least[going]
        way[going[better]], least[going[better]] = ways[better, best[better]], found[better]
        step[going[~better]] /= 2.0
    return least


def _candidates(one: Array, other: Array, between: Array) -> Array:
    """Unit vectors (n, k, 3) to begin with, for rotations (n, 3, 3) and the way (n, 3) between the middles."""
    axes = [np.swapaxes(turn, 1, 2) for turn in (one, other)]
    across = np.cross(axes[0][:, :, None], axes[1][:, None]).reshape(len(one), 9, 3)
    ways = np.concatenate([*axes, across, between[:, None]], axis=1)
    long = np.linalg.norm(ways, axis=2, keepdims=True)
    ways = np.where(long > 1e-6, ways / np.where(long > 1e-6, long, 1.0), axes[0][:, :1])
    even = np.broadcast_to(_evenly(_EVEN), (len(one), _EVEN, 3))
    return np.concatenate([ways, -ways, even], axis=1)


def _evenly(count: int) -> Array:
    """Unit vectors (count, 3) in all directions: a spiral from pole to pole, a golden angle further at each step."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - z**2)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def _around(way: Array, step: Array) -> Array:
    """Unit vectors (n, 8, 3) about others (n, 3), turned from them by about ``step`` (n,)."""
    least = np.eye(3)[np.abs(way).argmin(axis=1)]
    side = np.cross(way, least)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(way, side)
    out = np.stack([way + step[:, None] * (c * side + s * up) for c, s in _AROUND], axis=1)
    return np.asarray(out / np.linalg.norm(out, axis=2, keepdims=True))
