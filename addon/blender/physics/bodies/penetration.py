"""Penetration depth of a mechanism's bodies during a simulation, from support functions of convex collision shapes.

Two convex shapes are separated if a direction separates them; else the depth is their least overlap over all
directions: the distance by which one would have to move. The search begins with the axes of both, their cross
products, the line between the centers and evenly spread directions, and refines the best. So a separation found is
certain; a depth is exact for boxes that touch with faces or edges, and never too small. A compound is as deep as its
deepest part.

Pairs that Blender does not let collide do not count: those that a constraint joins or filters, and those that share no
collision collection. Of long simulations some frames are examined for all pairs, then all frames for the deepest pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ....core.model import Array
from ....core.run_metrics import BodyPenetration
from ....core.transforms import rotation_and_scale
from ...data.access import rigid_body_of
from ...data.datablocks import mesh_points

#: Cache of the vertices (n, 3) of meshes: many bodies share theirs.
PointsByMesh = dict[bpy.types.ID, Array]


@dataclass(frozen=True)
class ConvexShape:
    """Collision shape of an object: Blender's type, the mesh's vertices (n, 3), and half their extent (3,).

    Blender centers its primitives on the object's origin.
    """

    kind: str
    points: Array
    half: Array

    def reach(self, ways: Array, scale: Array) -> Array:
        """Return the support function (...) along unit vectors (..., 3) in its own axes, scaled by (..., 3)."""
        x, y, z = np.moveaxis(self.half * scale, -1, 0)
        radius, along = np.maximum(x, y), ways[..., 2]
        across = np.sqrt(np.maximum(1.0 - along**2, 0.0))
        if self.kind == "BOX":
            return np.asarray(np.abs(ways[..., 0]) * x + np.abs(ways[..., 1]) * y + np.abs(along) * z)
        if self.kind == "SPHERE":
            return np.asarray(np.maximum(radius, z) * np.ones_like(along))
        if self.kind == "CAPSULE":
            return np.asarray(np.abs(along) * np.maximum(z - radius, 0.0) + radius)
        if self.kind == "CYLINDER":
            return np.asarray(np.abs(along) * z + radius * across)
        if self.kind == "CONE":
            return np.asarray(np.maximum(radius * across - along * z, along * z))
        return np.asarray(((ways * scale) @ self.points.T).max(axis=-1))


def convex_shape_of(obj: bpy.types.Object, measured: PointsByMesh) -> ConvexShape | None:
    """Return the collision shape of an object with a rigid body; None where its mesh has no vertices."""
    points = _points(cast(bpy.types.Mesh, obj.data), measured)
    if not len(points):
        return None
    return ConvexShape(rigid_body_of(obj).collision_shape, points, np.ptp(points, axis=0) / 2.0)


def pose_on_parent(child: bpy.types.Object) -> Array:
    """Return the pose (4, 4) of a child on its parent. Its world matrix may be outdated, since it is hidden."""
    return np.array(child.matrix_parent_inverse @ child.matrix_basis, dtype=np.float64)


def _points(mesh: bpy.types.Mesh, measured: PointsByMesh) -> Array:
    if mesh not in measured:
        measured[mesh] = mesh_points(mesh)
    return measured[mesh]


def lowest_point(
    obj: bpy.types.Object, children: Sequence[bpy.types.Object], pose: Array, measured: PointsByMesh
) -> float:
    """Return the height of the lowest colliding point of a body at a world pose; infinity where it does not collide.

    Args:
        obj: The body.
        children: Parts of its compound.
        pose: World pose (4, 4).
        measured: Cache of vertices.
    """
    return float(lowest_points(obj, children, pose[None], measured)[0])


def lowest_points(
    obj: bpy.types.Object, children: Sequence[bpy.types.Object], poses: Array, measured: PointsByMesh
) -> Array:
    """Return the heights (n,) of the lowest colliding points of a body; infinity where it does not collide.

    Args:
        obj: The body.
        children: Parts of its compound.
        poses: World poses (n, 4, 4).
        measured: Cache of vertices.
    """
    body, nowhere = obj.rigid_body, np.full(len(poses), math.inf)
    if body is None or body.type == "PASSIVE" or not any(body.collision_collections):
        return nowhere  # a fixed body is not pushed out of the ground
    if body.collision_shape != "COMPOUND":
        return _lowest_heights(obj, poses, measured)
    solid = [child for child in children if child.rigid_body is not None]
    return np.min(
        [nowhere, *(_lowest_heights(child, poses @ pose_on_parent(child), measured) for child in solid)], axis=0
    )


def _lowest_heights(obj: bpy.types.Object, poses: Array, measured: PointsByMesh) -> Array:
    solid = convex_shape_of(obj, measured)
    if solid is None:
        return np.full(len(poses), math.inf)
    turns, scale = rotation_and_scale(poses)
    return np.asarray(poses[:, 2, 3] - solid.reach(-turns[:, 2], scale))


#: Count of frames examined for all pairs, and of the deepest pairs examined at all frames.
SAMPLE_COUNT, _MAX_NAMES = 60, 3
#: First and last step (rad) of the search for a better direction.
_COARSE_STEP, _FINE_STEP = 0.4, 1e-4
#: Count of directions from which the search starts, and of evenly spread ones besides those from the shapes.
_START_COUNT, _DIRECTION_COUNT = 8, 64
#: Count of starts and last step (rad) for an approximate depth.
_ROUGH_START_COUNT, _ROUGH_STEP = 3, 0.03
#: Distance at which bodies touch, as a share of their size.
CONTACT_SHARE = 1e-3
_CIRCLE = [(np.cos(angle), np.sin(angle)) for angle in np.arange(8) * np.pi / 4]


DirectionIndices = NDArray[np.intp]


class PlacedShape(NamedTuple):
    """Collision shape on its body."""

    solid: ConvexShape
    place: Array  # pose (4, 4) on its body
    radius: float  # of its bounding sphere about its origin


def measure_penetrations(
    world: bpy.types.RigidBodyWorld,
    bodies: Sequence[bpy.types.Object],
    pieces: dict[bpy.types.Object, list[bpy.types.Object]],
    poses: Array,
) -> list[BodyPenetration]:
    """Return the penetration of the deepest pairs of bodies during a simulation; only pairs that penetrated at all.

    Args:
        world: The rigid-body world.
        bodies: The bodies.
        pieces: Parts of compounds by body.
        poses: Recorded poses (frames, bodies, 4, 4).
    """
    measured: PointsByMesh = {}
    parts = [placed_shapes(obj, pieces.get(obj, ()), measured) for obj in bodies]
    frames = np.unique(np.linspace(0, len(poses) - 1, min(SAMPLE_COUNT, len(poses))).round().astype(int))
    found = []
    for first, second in collidable_pairs(world, bodies, parts):
        depth = _body_depths(parts[first], parts[second], poses[frames, first], poses[frames, second])
        if depth.max(initial=0.0) > 0.0:
            found.append((float(depth.max()), first, second))
    found.sort(key=lambda each: -each[0])
    out = []
    for _, first, second in found[:_MAX_NAMES]:
        out.append(
            BodyPenetration(first, second, _body_depths(parts[first], parts[second], poses[:, first], poses[:, second]))
        )
    return out


def first_contact(
    world: bpy.types.RigidBodyWorld,
    bodies: Sequence[bpy.types.Object],
    pieces: dict[bpy.types.Object, list[bpy.types.Object]],
    poses: Array,
) -> int | None:
    """Return the index of the first frame at which two bodies touch that may collide; None where none do.

    They touch where they would penetrate if both were larger by ``CONTACT_SHARE``. The arguments are those of
    ``measure_penetrations``.
    """
    measured: PointsByMesh = {}
    parts = [placed_shapes(obj, pieces.get(obj, ()), measured) for obj in bodies]
    larger, end = poses.copy(), len(poses)
    larger[..., :3, :3] *= 1.0 + CONTACT_SHARE
    for first, second in collidable_pairs(world, bodies, parts):
        depths = _body_depths(parts[first], parts[second], larger[:end, first], larger[:end, second], rough=True)
        end = int(np.argmax(depths > 0.0)) if (depths > 0.0).any() else end
    return end if end < len(poses) else None


def placed_shapes(
    obj: bpy.types.Object, pieces: Sequence[bpy.types.Object], measured: PointsByMesh
) -> list[PlacedShape]:
    """Return the collision shapes of a body, those of its parts if it is a compound; none where it does not collide."""
    body = obj.rigid_body
    if body is None or not any(body.collision_collections):
        return []
    places = {obj: np.eye(4)}
    if body.collision_shape == "COMPOUND":
        places = {piece: pose_on_parent(piece) for piece in pieces if piece.rigid_body is not None}
    solids = {each: convex_shape_of(each, measured) for each in places}
    return [
        PlacedShape(solid, places[each], _radius(solid))
        for each, solid in solids.items()
        if solid is not None and solid.kind != "MESH"  # a hollow one is no hull
    ]


def _radius(solid: ConvexShape) -> float:
    if solid.kind == "CONVEX_HULL":
        return float(np.linalg.norm(solid.points, axis=1).max())
    return float(np.linalg.norm([solid.half[:2].max() * np.sqrt(2.0), solid.half.max()]))


def collidable_pairs(
    world: bpy.types.RigidBodyWorld, bodies: Sequence[bpy.types.Object], parts: list[list[PlacedShape]]
) -> Iterator[tuple[int, int]]:
    """Yield the indices of pairs of bodies that Blender lets collide."""
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
    return {number for number, there in enumerate(rigid_body_of(obj).collision_collections) if there}


def _body_depths(
    ones: list[PlacedShape], others: list[PlacedShape], at: Array, there: Array, rough: bool = False
) -> Array:
    """Return the penetration depth (frames,) of two bodies at poses (frames, 4, 4) of both."""
    out = np.zeros(len(at))
    for one in ones:
        for other in others:
            a, b = at @ one.place, there @ other.place
            size = [rotation_and_scale(poses)[1].max(axis=1, initial=0.0) for poses in (a, b)]
            near = np.linalg.norm(b[:, :3, 3] - a[:, :3, 3], axis=1) < size[0] * one.radius + size[1] * other.radius
            if near.any():
                out[near] = np.maximum(out[near], penetration_depths(one.solid, other.solid, a[near], b[near], rough))
    return out


def penetration_depths(one: ConvexShape, other: ConvexShape, at: Array, there: Array, rough: bool = False) -> Array:
    """Return the penetration depth (n,) of two convex shapes at poses (n, 4, 4) of both; 0 where they are separated.

    Args:
        one: The first shape.
        other: The second shape.
        at: Poses of the first.
        there: Poses of the second.
        rough: Approximate depth, never too small, in a tenth of the time.
    """
    count, fine = (_ROUGH_START_COUNT, _ROUGH_STEP) if rough else (_START_COUNT, _FINE_STEP)
    sides = [(solid, *rotation_and_scale(poses)) for solid, poses in ((one, at), (other, there))]
    between = there[:, :3, 3] - at[:, :3, 3]

    def overlap(ways: Array, rows: DirectionIndices) -> Array:
        """Return the overlap (m, k) along unit vectors (m, k, 3), at the poses of some rows (m,)."""
        out = -np.einsum("nkj,nj->nk", ways, between[rows])
        for sense, (solid, turn, scale) in zip((1.0, -1.0), sides, strict=True):
            out += solid.reach(sense * ways @ turn[rows], scale[rows, None, :])
        return out

    ways = _start_directions(sides[0][1], sides[1][1], between)
    over = overlap(ways, np.arange(len(at)))
    least = np.maximum(over.min(axis=1), 0.0)
    inside = np.flatnonzero(least > 0.0)
    if not len(inside):
        return least
    starts = np.argpartition(over[inside], count, axis=1)[:, :count]
    rows = np.repeat(inside, count)
    found = _minimize_overlap(ways[rows, starts.ravel()], lambda ways, which: overlap(ways, rows[which]), fine)
    least[inside] = np.maximum(found.reshape(-1, count).min(axis=1), 0.0)
    return least


def _minimize_overlap(way: Array, overlap: Callable[[Array, DirectionIndices], Array], fine: float) -> Array:
    """Return the least overlap (m,) found by descent from unit vectors (m, 3).

    Args:
        way: Initial directions.
        overlap: Function of directions (k, n, 3) and their indices (k,) that returns overlaps (k, n).
        fine: Step (rad) at which the descent ends.
    """
    way, step, going = way.copy(), np.full(len(way), _COARSE_STEP), np.arange(len(way))
    least = overlap(way[:, None], going)[:, 0]
    while len(going := going[(least[going] > 0.0) & (step[going] > fine)]):
        ways = _directions_around(way[going], step[going])
        over = overlap(ways, going)
        best = over.argmin(axis=1)
        found = over[np.arange(len(going)), best]
        better = found < least[going]
        way[going[better]], least[going[better]] = ways[better, best[better]], found[better]
        step[going[~better]] /= 2.0
    return least


def _start_directions(one: Array, other: Array, between: Array) -> Array:
    """Return initial directions (n, k, 3) for rotations (n, 3, 3) and the vector (n, 3) between the centers."""
    axes = [np.swapaxes(turn, 1, 2) for turn in (one, other)]
    across = np.cross(axes[0][:, :, None], axes[1][:, None]).reshape(len(one), 9, 3)
    ways = np.concatenate([*axes, across, between[:, None]], axis=1)
    long = np.linalg.norm(ways, axis=2, keepdims=True)
    ways = np.where(long > 1e-6, ways / np.where(long > 1e-6, long, 1.0), axes[0][:, :1])
    even = np.broadcast_to(_even_directions(_DIRECTION_COUNT), (len(one), _DIRECTION_COUNT, 3))
    return np.concatenate([ways, -ways, even], axis=1)


def _even_directions(count: int) -> Array:
    """Return unit vectors (count, 3) in all directions: a spiral from pole to pole in golden-angle steps."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - z**2)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def _directions_around(way: Array, step: Array) -> Array:
    """Return unit vectors (n, 8, 3) around others (n, 3), rotated from them by about ``step`` (n,)."""
    least = np.eye(3)[np.abs(way).argmin(axis=1)]
    side = np.cross(way, least)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(way, side)
    out = np.stack([way + step[:, None] * (c * side + s * up) for c, s in _CIRCLE], axis=1)
    return np.asarray(out / np.linalg.norm(out, axis=2, keepdims=True))
