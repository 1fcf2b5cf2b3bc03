"""Inertia proxies, which give bodies the file's inertia tensor, and the inertia that Blender computes itself.

Blender has no inertia tensor to be set: Bullet computes one from the collision shape and the mass, about the object's
origin and along its axes. Its formulas (``calculateLocalInertia`` of its shapes) are exact for boxes, spheres and
cylinders; capsules, cones, hulls and compounds count as the box that contains them. All were measured.

A body whose shape gives another tensor than the file's is split in two for physics: what collides and has the joints
keeps a share of the mass, and the rest is in a hidden box fixed to it, center to center, that touches nothing. The
box's edges and rotation are such that both together have the file's tensor. Measured against the free rotation of a
tensor with products: off by 1.4 rad after 2 s without, by 0.008 rad with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import bpy
import numpy as np
from mathutils import Matrix

from ....core.mass_properties import min_principal_moments
from ....core.model import Array, Mechanism, body_by_id
from ....core.report import Message, Report, abbreviate_names, count_with_noun
from ....core.transforms import make_pose
from ...data.access import bodies_of, constraint_of, constraints_of, record_of, rigid_body_of, settings
from ...data.datablocks import mesh_points
from ...data.queries import helper_collection, own_inertia_proxy, own_proxy_weld, parts
from ...data.rigid_bodies import MIN_MASS, apply_masses, collision_children
from ...scene.meshes import box
from .carried_inertia import CarriedInertia

#: Count of bodies that a warning names.
_MAX_NAMES = 3
#: Relative difference below which Blender's own inertia is accepted, and the one at which a split is good enough. A
#: humanoid that hangs by its torso strays by 0.4 mm in a second with the former, and by 1.1 mm without any proxy.
_ACCEPTED_ERROR, _EXACT_ERROR = 0.02, 1e-4
#: Possible shares of the mass for a proxy; the least sufficient one is taken, since fixed joints of unlike masses are
#: weaker.
_PROXY_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Least edge of a proxy, as a share of its longest.
_MIN_EDGE_RATIO = 1e-3
_SUFFIX = " Inertia Proxy"


@dataclass(frozen=True)
class InertiaSplit:
    """Division of a body's mass between itself and its inertia proxy.

    ``share``: the proxy's share of the mass; ``edges`` (3,) of its box; ``turn`` (3, 3): its rotation; ``residual``:
    the remaining difference as a share of the file's tensor.
    """

    share: float
    edges: Array
    turn: Array
    residual: float


def find_inertia_split(tensor: Array, moments: Array) -> InertiaSplit | None:
    """Return the best split of a body of mass 1; None where the shape alone does as well.

    Args:
        tensor: Wanted inertia tensor (3, 3) about the center of mass.
        moments: Moments of inertia (3,) from its collision shape.
    """
    size = float(np.abs(np.linalg.eigvalsh(tensor)).max())
    alone = float(_relative_errors(tensor[None], moments[None])[0])
    if alone <= _ACCEPTED_ERROR:
        return None
    best: InertiaSplit | None = None
    for share in _PROXY_SHARES:
        rest = (tensor - (1.0 - share) * np.diag(moments)) / share
        principal, turn = np.linalg.eigh(rest)
        if np.linalg.det(turn) < 0.0:
            turn = turn * [-1.0, 1.0, 1.0]
        squares = 6.0 * (principal.sum() - 2.0 * principal)
        edges = np.sqrt(np.maximum(squares, 0.0))
        if not edges.max() > 0.0:
            continue
        edges = np.maximum(edges, _MIN_EDGE_RATIO * edges.max())
        whole = (1.0 - share) * np.diag(moments) + share * turn @ np.diag(_box_moments(edges)) @ turn.T
        found = InertiaSplit(share, edges, turn, float(np.abs(whole - tensor).max()) / size)
        if best is None or found.residual < best.residual - 1e-9:
            best = found
        if best.residual <= _EXACT_ERROR:
            break
    return best if best is not None and best.residual < 0.5 * alone else None


def _relative_errors(tensors: Array, moments: Array) -> Array:
    """Return the differences (n,) of tensors (n, 3, 3) and moments (n, 3), as shares of the largest moment."""
    size = np.abs(np.linalg.eigvalsh(tensors)).max(axis=1)
    share: Array = np.abs(moments[:, :, None] * np.eye(3) - tensors).max(axis=(1, 2)) / size
    return share


def errors_in_motion(bodies: Sequence[bpy.types.Object], tensors: Array, moments: Array) -> Array:
    """Return the relative errors (n,) of moments of inertia where they matter for the bodies' motion.

    A body that joints carry turns about their axes, with all that the joint carries: its error is the largest share of
    the moment of inertia of all that about the axis of one of these joints, in the design (parallel axis theorem). The
    error of a free body is a share of its own largest moment.

    Args:
        bodies: Bodies of one mechanism.
        tensors: Wanted inertia tensors (n, 3, 3) about the centers of mass, in the bodies' axes, for a mass of 1.
        moments: Moments of inertia (n, 3) that Blender has in their place.
    """
    errors = _relative_errors(tensors, moments)
    if not (errors > _ACCEPTED_ERROR).any():
        return errors
    carried = CarriedInertia(record_of(bodies[0]).model)
    for number in np.flatnonzero(errors > _ACCEPTED_ERROR):
        off = record_of(bodies[number]).mass * (np.diag(moments[number]) - tensors[number])
        error = carried.largest_error(bodies[number], off, _ACCEPTED_ERROR)
        errors[number] = errors[number] if error is None else min(errors[number], error)
    return errors


def set_up_inertia_proxies(
    bodies: Sequence[bpy.types.Object],
    pieces: Mapping[bpy.types.Object, Sequence[bpy.types.Object]],
    there: WorldMembership,
    kinematic: bool,
) -> None:
    """Create the inertia proxies that bodies need, and set the masses of both.

    Not to be called during a simulation.

    Args:
        bodies: The bodies, with rigid bodies set up.
        pieces: Parts of compound shapes by body.
        there: World and its present members.
        kinematic: Whether bones move the bodies.
    """
    splits = _inertia_splits(bodies, pieces)
    for obj in bodies:
        split, record = splits.get(obj), record_of(obj)
        if split is not None:
            _set_up_inertia_proxy(obj, split, there, kinematic)
        elif record.inertia_proxy_share:
            record.inertia_proxy_share = 0.0
            apply_masses(obj)


#: Collision shapes whose moments a body may have that touches nothing, from the same mesh.
_UNTOUCHED_SHAPES: tuple[Any, ...] = ("SPHERE", "CYLINDER")


def fit_untouched_shapes(bodies: Sequence[bpy.types.Object]) -> None:
    """Give bodies that touch nothing a collision shape with the file's moments of inertia, where there is one.

    No proxy is then needed, whose constraint costs as much as a joint and makes the body's joints softer.
    """
    own = [obj for obj in bodies if _has_own_tensor(obj) and not any(rigid_body_of(obj).collision_collections[:])]
    if not own or not settings(record_of(own[0]).model).match_inertia:
        return
    tensors = np.array([record_of(obj).tensor[:] for obj in own], dtype=np.float64).reshape(-1, 3, 3)
    extents = [_extent(obj) for obj in own]
    hulls = np.array(
        [unit_moments(rigid_body_of(obj).collision_shape, each) for obj, each in zip(own, extents, strict=True)]
    )
    left = errors_in_motion(own, tensors, hulls) > _ACCEPTED_ERROR
    for shape in _UNTOUCHED_SHAPES:
        moments = np.array([unit_moments(shape, each) for each in extents])
        fits = left & (errors_in_motion(own, tensors, moments) <= _ACCEPTED_ERROR)
        for number in np.flatnonzero(fits):
            rigid_body_of(own[number]).collision_shape = shape
        left &= ~fits


def _has_own_tensor(obj: bpy.types.Object) -> bool:
    record = record_of(obj)
    return record.has_tensor and record.mass > MIN_MASS and rigid_body_of(obj).type == "ACTIVE"


def _inertia_splits(
    bodies: Sequence[bpy.types.Object], pieces: Mapping[bpy.types.Object, Sequence[bpy.types.Object]]
) -> dict[bpy.types.Object, InertiaSplit]:
    """Return the splits of bodies that need an inertia proxy: their shapes give them other moments than the file's."""
    bodies = [obj for obj in bodies if _has_own_tensor(obj)]
    if not bodies or not settings(record_of(bodies[0]).model).match_inertia:
        return {}
    tensors = np.array([record_of(obj).tensor[:] for obj in bodies], dtype=np.float64).reshape(-1, 3, 3)
    moments = blender_moments_of_all(bodies, pieces) / np.array([rigid_body_of(obj).mass for obj in bodies])[:, None]
    off = errors_in_motion(bodies, tensors, moments) > _ACCEPTED_ERROR
    found = {bodies[number]: find_inertia_split(tensors[number], moments[number]) for number in np.flatnonzero(off)}
    return {
        obj: split
        for obj, split in found.items()
        if split is not None and record_of(obj).mass * min(split.share, 1.0 - split.share) >= MIN_MASS
    }


def _set_up_inertia_proxy(obj: bpy.types.Object, split: InertiaSplit, there: WorldMembership, kinematic: bool) -> None:
    record = record_of(obj)
    proxy = _ensure_inertia_proxy(obj, there)
    proxy.data.clear_geometry()  # type: ignore[union-attr]
    corners, faces = box(*(float(edge) for edge in split.edges))
    proxy.data.from_pydata(corners.tolist(), [], faces)  # type: ignore[union-attr]
    proxy.matrix_basis = obj.matrix_basis.normalized() @ Matrix(make_pose(split.turn).tolist())
    record.inertia_proxy_share = split.share
    body, weld = rigid_body_of(proxy), constraint_of(_ensure_proxy_weld(obj, there))
    body.type, body.kinematic, body.collision_shape = "ACTIVE", kinematic, "BOX"
    body.use_margin, body.collision_margin = True, 0.0
    body.collision_collections = [False] * 20
    body.linear_damping = body.angular_damping = 0.0
    body.use_deactivation = False
    weld.type, weld.object1, weld.object2, weld.disable_collisions = "FIXED", obj, proxy, True
    apply_masses(obj)


def report_light_bodies(bodies: Sequence[bpy.types.Object], report: Report) -> None:
    """Report bodies lighter than the least mass of Blender's physics, and those with no or negative mass."""
    light = [obj for obj in bodies if record_of(obj).mass < 0.999 * MIN_MASS and rigid_body_of(obj).type == "ACTIVE"]
    none = [obj for obj in light if record_of(obj).mass <= 0.0]
    if none:
        report.warn(
            "mass-none",
            Message(
                "Mass: not above 0 for {}, {} kg is simulated. Enter a mass and use Add Rigid Bodies again",
                _body_names(none),
                f"{MIN_MASS:g}",
            ),
            where=none[0].name,
        )
    light = [obj for obj in light if record_of(obj).mass > 0.0]
    if light:
        report.warn(
            "mass-too-small",
            Message(
                "Mass: below Blender's minimum of {} kg for {}, the minimum is simulated. Multiply all masses, "
                "moments of inertia, forces, stiffness, damping and friction of the mechanism by the same large "
                "factor",
                f"{MIN_MASS:g}",
                _body_names(light),
            ),
            where=light[0].name,
        )


def _body_names(bodies: Sequence[bpy.types.Object]) -> str:
    return abbreviate_names((record_of(obj).source_name or obj.name for obj in bodies), _MAX_NAMES)


class WorldMembership(NamedTuple):
    """Rigid-body world, the objects ``held`` in its collections, and the objects ``linked`` to any collection.

    Collected once for all bodies, since Blender searches all objects for each query.
    """

    world: bpy.types.RigidBodyWorld
    held: Collection[bpy.types.Object]
    linked: Collection[bpy.types.Object]


def _ensure_inertia_proxy(obj: bpy.types.Object, there: WorldMembership) -> bpy.types.Object:
    record = record_of(obj)
    proxy = own_inertia_proxy(obj)
    if proxy is None or proxy not in there.linked:
        name = obj.name + _SUFFIX
        proxy = record.inertia_proxy = bpy.data.objects.new(name, bpy.data.meshes.new(name))
        record_of(proxy).role, record_of(proxy).model, record_of(proxy).inertia_proxy_of = "SHAPE", record.model, obj
        record_of(proxy).is_inertia_proxy = True
        proxy.rotation_mode = "QUATERNION"
        proxy.parent, proxy.parent_type, proxy.parent_bone = obj.parent, obj.parent_type, obj.parent_bone
        proxy.matrix_parent_inverse = obj.matrix_parent_inverse
        proxy.display_type = "WIRE"
        proxy.hide_render = proxy.hide_select = True
        helper_collection(record.model).objects.link(proxy)
        proxy.hide_viewport = True
    if proxy not in there.held:
        bodies_of(there.world).objects.link(proxy)
    return proxy


def _ensure_proxy_weld(obj: bpy.types.Object, there: WorldMembership) -> bpy.types.Object:
    record = record_of(obj)
    weld = own_proxy_weld(obj)
    if weld is None or weld not in there.linked:
        weld = record.inertia_proxy_constraint = bpy.data.objects.new(obj.name + _SUFFIX + " Weld", None)
        record_of(weld).model, record_of(weld).inertia_proxy_of = record.model, obj
        weld.empty_display_type, weld.empty_display_size = "PLAIN_AXES", 1e-3
        weld.rotation_mode = "QUATERNION"
        weld.parent, weld.parent_type, weld.parent_bone = obj.parent, obj.parent_type, obj.parent_bone
        weld.matrix_parent_inverse, weld.matrix_basis = obj.matrix_parent_inverse, obj.matrix_basis.normalized()
        # selectable, so that it is deleted with the mechanism, before its bodies: Blender crashes otherwise
        helper_collection(record.model).objects.link(weld)
    if weld not in there.held:
        constraints_of(there.world).objects.link(weld)
    return weld


def is_orphan_inertia_proxy(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object is the inertia proxy of a deleted body, one that is not among the ``linked`` objects."""
    record = record_of(obj)
    if not record.is_inertia_proxy or record.model is None:
        return False
    return record.inertia_proxy_of is None or record.inertia_proxy_of not in linked


def drop_unused_inertia_proxies(rig: bpy.types.Object) -> tuple[list[bpy.types.Object], list[bpy.types.Object]]:
    """Detach the inertia proxies that bodies no longer need.

    Returns:
        The proxies and the empties that fix them, to be removed from the world and deleted.
    """
    records = [(obj, record_of(obj)) for obj in parts(rig, "BODY")]
    unused = [
        (obj, record)
        for obj, record in records
        if not record.inertia_proxy_share
        and (record.inertia_proxy is not None or record.inertia_proxy_constraint is not None)
    ]
    proxies = [proxy for obj, _ in unused if (proxy := own_inertia_proxy(obj)) is not None]
    held = [weld for obj, _ in unused if (weld := own_proxy_weld(obj)) is not None]
    for _, record in unused:
        record.inertia_proxy = record.inertia_proxy_constraint = None
    return proxies, held


#: Relative differences that are reported as information, and as a warning.
_REPORT_THRESHOLD, _WARNING_THRESHOLD = 0.01, 1.0
#: Edge of the cube that Blender assumes for a mesh without vertices.
_DEFAULT_EXTENT = 1.0


def report_inertia(rig: bpy.types.Object, mechanism: Mechanism) -> Report:
    """Report the bodies whose simulated inertia differs from the file's."""
    report = Report()
    tensors = {own: body.inertia for own, body in body_by_id(mechanism).items() if body.inertia is not None}
    bodies = [obj for obj in parts(rig, "BODY") if obj.rigid_body is not None and not record_of(obj).immobile]
    stated = [(obj, np.asarray(tensors[key])) for obj in bodies if (key := record_of(obj).source_id) in tensors]
    least = min_principal_moments(np.array([tensor for _, tensor in stated]).reshape(-1, 3, 3))
    stated = [each for each, moment in zip(stated, least, strict=True) if moment > 0.0]
    pieces = (
        collision_children(rig) if any(rigid_body_of(obj).collision_shape == "COMPOUND" for obj, _ in stated) else {}
    )
    splits = _inertia_splits([obj for obj, _tensor in stated], pieces)
    if splits:
        left = {obj: split.residual for obj, split in splits.items()}
        last = max(left, key=lambda obj: left[obj])
        report.info(
            "inertia-matched",
            Message(
                "Moments of inertia: those of the file are simulated, with inertia proxies for {} of {}. "
                "The error is at most {} of the largest moment",
                len(left),
                count_with_noun(len(stated), "body", "bodies"),
                _percentage(left[last]),
            ),
            where=last.name,
        )
        stated = [(obj, tensor) for obj, tensor in stated if obj not in left]
    if not stated:
        return report
    here = blender_moments_of_all([obj for obj, _ in stated], pieces)
    if settings(rig).match_inertia:
        stated, here = _report_joints(stated, here, report)
        if not stated:
            return report
    moments, products = inertia_differences(np.array([tensor for _, tensor in stated]), here)
    either = np.maximum(moments, products)
    off, worst = either > _REPORT_THRESHOLD, int(either.argmax())
    if not off.any():
        return report
    obj = stated[worst][0]
    add = report.warn if either[worst] > _WARNING_THRESHOLD else report.info
    add(
        "inertia-differs",
        Message(
            "Moments of inertia: those of the collision shapes are simulated for {} of {}. The "
            "largest error is {} ({}); products of inertia, up to {} of the moments, are ignored",
            off.sum(),
            count_with_noun(len(stated), "body", "bodies"),
            f"{moments[worst]:.0%}",
            repr(record_of(obj).source_name or obj.name),
            f"{products[off].max():.0%}",
        ),
        where=obj.name,
    )
    return report


def _report_joints(
    stated: list[tuple[bpy.types.Object, Array]], here: Array, report: Report
) -> tuple[list[tuple[bpy.types.Object, Array]], Array]:
    """Report the bodies without inertia proxies whose moments of inertia differ but hardly matter about their joints.

    Args:
        stated: Bodies with the file's tensors (3, 3).
        here: Blender's moments (n, 3).
        report: The report.

    Returns:
        The other bodies, and their moments.
    """
    bodies, masses = [obj for obj, _ in stated], np.array([rigid_body_of(obj).mass for obj, _ in stated])
    tensors = np.array([tensor for _, tensor in stated]) / masses[:, None, None]
    moments = here / masses[:, None]
    errors = errors_in_motion(bodies, tensors, moments)
    small = (errors <= _ACCEPTED_ERROR) & (_relative_errors(tensors, moments) > _ACCEPTED_ERROR)
    if small.any():
        worst = int(np.where(small, errors, 0.0).argmax())
        report.info(
            "inertia-at-joints",
            Message(
                "Moments of inertia: those of the collision shapes are simulated for {} of {}, whose errors about "
                "their joints are at most {}",
                int(small.sum()),
                count_with_noun(len(stated), "body", "bodies"),
                _percentage(float(errors[worst])),
            ),
            where=bodies[worst].name,
        )
    return [each for each, is_small in zip(stated, small, strict=True) if not is_small], here[~small]


def _percentage(left: float) -> str:
    return f"{left:.1%}" if left >= 5e-4 else "< 0.1%"


def combined_inertia(obj: bpy.types.Object, pieces: Iterable[bpy.types.Object] = ()) -> Array:
    """Return the simulated inertia tensor (3, 3) of a body with its proxy, in the body's axes."""
    own, proxy = np.diag(blender_moments(obj, pieces)), record_of(obj).inertia_proxy
    if proxy is None or not record_of(obj).inertia_proxy_share:
        return own
    turn = np.array((obj.matrix_basis.normalized().inverted_safe() @ proxy.matrix_basis).to_3x3(), dtype=np.float64)
    return own + turn @ np.diag(blender_moments(proxy)) @ turn.T


def inertia_differences(tensors: Array, moments: Array) -> tuple[Array, Array]:
    """Compare the file's inertia tensors with Blender's moments.

    Args:
        tensors: The file's tensors (n, 3, 3).
        moments: Blender's moments (n, 3).

    Returns:
        Largest relative difference (n,) of the principal moments, each compared with that of the nearest axis; and the
        largest products of inertia (n,) as shares of the geometric mean of their two moments.
    """
    principal, axes = np.linalg.eigh(tensors)
    nearness = np.abs(axes)  # of a body's axes (rows) to the principal ones
    ways = np.array(list(itertools.permutations(range(3))))
    order = ways[nearness[:, np.arange(3), ways].sum(axis=2).argmax(axis=1)]
    diagonal = np.sqrt(np.diagonal(tensors, axis1=1, axis2=2))
    products = np.abs(tensors / (diagonal[:, :, None] * diagonal[:, None, :]))[:, ~np.eye(3, dtype=bool)]
    apart = np.abs(moments / np.take_along_axis(principal, order, axis=1) - 1.0)
    return apart.max(axis=1), products.max(axis=1)


def blender_moments_of_all(
    bodies: Sequence[bpy.types.Object], pieces: Mapping[bpy.types.Object, Iterable[bpy.types.Object]]
) -> Array:
    """Return the moments of inertia (n, 3) that Bullet gives to bodies as configured.

    Args:
        bodies: The bodies.
        pieces: Parts of compound shapes by body.
    """
    alike: dict[tuple[str, bpy.types.ID | None], Array] = {}  # bodies share meshes
    out = np.empty((len(bodies), 3))
    for number, obj in enumerate(bodies):
        body = rigid_body_of(obj)
        shape = body.collision_shape
        if shape == "COMPOUND":
            out[number] = blender_moments(obj, pieces.get(obj, ()))
            continue
        if (shape, obj.data) not in alike:
            alike[shape, obj.data] = unit_moments(shape, _extent(obj))
        out[number] = body.mass * alike[shape, obj.data]
    return out


def blender_moments(obj: bpy.types.Object, pieces: Iterable[bpy.types.Object] = ()) -> Array:
    """Return the moments of inertia (3,) that Bullet gives to a body as configured.

    Args:
        obj: The body.
        pieces: Its collision children, if its shape is a compound.
    """
    shape, mass = rigid_body_of(obj).collision_shape, rigid_body_of(obj).mass
    if shape == "COMPOUND":
        low, high = _box_of_pieces(pieces)
        return mass * _box_moments(high - low)
    return mass * unit_moments(shape, _extent(obj))


def unit_moments(shape: str, extent: Array) -> Array:
    """Return the moments of inertia (3,) of one of Blender's collision shapes of mass 1, for a mesh extent (3,)."""
    size = _size(shape, extent)
    if shape == "SPHERE":
        return np.full(3, 0.1 * size[0] ** 2)
    if shape == "CYLINDER":
        across = size[0] ** 2 / 16.0 + size[2] ** 2 / 12.0
        return np.array([across, across, size[0] ** 2 / 8.0])
    return _box_moments(size)


def _box_moments(edges: Array) -> Array:
    """Return the moments of inertia (3,) of a box of mass 1."""
    square = edges**2
    return (square.sum() - square) / 12.0


def _size(shape: str, extent: Array) -> Array:
    """Return the size (3,) of a collision shape for a mesh extent (3,): round ones are as wide as its wider side."""
    if shape == "SPHERE":
        return np.full(3, extent.max())
    if shape in {"CYLINDER", "CONE", "CAPSULE"}:
        wide = max(extent[0], extent[1])
        return np.array([wide, wide, max(extent[2], wide) if shape == "CAPSULE" else extent[2]])
    return extent


def _extent(obj: bpy.types.Object) -> Array:
    points = mesh_points(cast(bpy.types.Mesh, obj.data))
    return np.ptp(points, axis=0) if len(points) else np.full(3, _DEFAULT_EXTENT)


def _box_of_pieces(pieces: Iterable[bpy.types.Object]) -> tuple[Array, Array]:
    """Return the corners of the box along a compound's axes that contains its children's own boxes."""
    boxes = list(_boxes(pieces)) or [(np.zeros(3), np.zeros(3))]
    return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)


def _boxes(pieces: Iterable[bpy.types.Object]) -> Iterator[tuple[Array, Array]]:
    for piece in pieces:
        pose = np.array(piece.matrix_parent_inverse @ piece.matrix_basis, dtype=np.float64)
        scale = np.linalg.norm(pose[:3, :3], axis=0)
        shape, middle = rigid_body_of(piece).collision_shape, pose[:3, 3]
        size = _size(shape, _extent(piece) * scale)
        if shape == "CONVEX_HULL" and len(points := mesh_points(cast(bpy.types.Mesh, piece.data))):
            middle = (pose @ np.append((points.min(axis=0) + points.max(axis=0)) / 2.0, 1.0))[:3]
        half = np.abs(pose[:3, :3] / scale) @ size / 2.0
        yield middle - half, middle + half
