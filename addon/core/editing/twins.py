"""Twins: a body or joint made the mirror image of its mate.

The mirror image of a part with the pose ``P`` stands at ``S P L``: reflected by ``S`` about the plane, and its own axes
by ``L``, so that they stay right-handed. Which ``L`` is a matter of taste: for twins that are there, the one that is
nearest to how they stand; for new ones each part's own X axis is turned round where the plane is X = 0 (Y where it is
Y = 0, and so on), as Juice's editor does, where the twin of yaw, pitch and roll is (-yaw, pitch, -roll)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from itertools import permutations, product

import numpy as np

from ..kinematics import joint_frame_world
from ..model import DOF_SIZE, Array, Body, Dof, Joint, Plane, Shape
from ..transforms import inverse
from .mirroring import Part, direction, image_ends, is_plain, joint_parts

#: Every way to turn axes into axes of the other hand: those that turn none into another first.
_FLIPS = sorted(
    (
        flip
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
        if np.linalg.det(flip := np.diag(signs)[:, order]) < 0.0
    ),
    key=lambda flip: (-np.abs(np.diag(flip)).sum(), -np.trace(flip)),
)
#: The same for shapes, which look alike when they are reflected along their own axes; and for what points along its own
#: Z, which is not the same upside down.
_PLAIN_FLIPS = [flip for flip in _FLIPS if np.abs(np.diag(flip)).sum() == 3.0]
_UPRIGHT_FLIPS = [flip for flip in _PLAIN_FLIPS if flip[2, 2] > 0.0]
_POINTED = {"cone", "pyramid", "hemisphere", "plane"}
_ALONG_X = np.diag([-1.0, 1.0, 1.0])


def usual_flip(plane: Plane) -> Array:
    """Return how the axes of new twins are reflected, (3, 3): the one that the plane is most nearly square to, turned
    round."""
    out = np.eye(3)
    along = int(np.abs(plane.normal).argmax())
    out[along, along] = -1.0
    return out


def flip_between(pose: Array, twin: Array, plane: Plane) -> Array:
    """Return how the axes of a twin that stands at the pose ``twin`` (4, 4) are reflected, (3, 3)."""
    return _nearest(inverse(twin) @ plane.reflection @ pose, _FLIPS, usual_flip(plane))


def image_of(pose: Array, plane: Plane, flip: Array) -> Array:
    """Return where the mirror image of a pose (4, 4) stands whose own axes are reflected by ``flip`` (3, 3)."""
    return plane.reflection @ pose @ _local(flip)


def _nearest(seen: Array, flips: list[Array], usual: Array) -> Array:
    fits = [float(np.sum(flip * seen[:3, :3].T)) for flip in flips]
    if float(np.sum(usual * seen[:3, :3].T)) >= max(fits) - 1e-6:
        return usual
    return flips[int(np.argmax(fits))]


# ---------------------------------------------------------------- bodies


def mirrored_body(body: Body, plane: Plane, twin: Body | None = None, kept: Collection[int] = ()) -> Body:
    """The mirror image of a body: its pose, mass, center of mass, inertia, flags and shapes.

    ``twin``, whose id, names and axes it has, is left as it is; None: the image has the body's own id, and its axes are
    reflected by the ``usual_flip``. A mesh is reflected by the sign of its size; those of the shapes ``kept`` (numbers)
    stay what they are in the twin, and where, as they are mirror images there already."""
    flip = usual_flip(plane) if twin is None else flip_between(body.pose, twin.pose, plane)
    out = deepcopy(body if twin is None else twin)
    out.pose = image_of(body.pose, plane, flip)
    out.mass = body.mass
    out.com = flip.T @ body.com
    out.inertia = None if body.inertia is None else flip.T @ body.inertia @ flip
    out.gravity, out.collidable, out.immobile = body.gravity, body.collidable, body.immobile
    before = {number: shape for number, shape in enumerate(out.shapes)}
    out.shapes = []
    for number, shape in enumerate(body.shapes):
        its = before.get(number)
        image = mirrored_shape(shape, flip, its)
        if number in kept and its is not None:
            image.mesh, image.size, image.pose = its.mesh, its.size, its.pose
        out.shapes.append(image)
    return out


def mirrored_shape(shape: Shape, flip: Array, twin: Shape | None = None) -> Shape:
    """The mirror image of a shape, in the axes of its body's twin, which are the body's reflected by ``flip`` (3, 3).
    It keeps its own axes, each turned round or not: those of ``twin`` where that is of its type, as nearly as may
    be."""
    like = shape if twin is None or twin.type != shape.type else twin
    own = shape_flip(shape, flip, like)
    out = deepcopy(like)
    out.pose = attached_image(shape.pose, flip, own)
    out.size = dict(shape.size)
    if shape.type == "mesh":
        out.size = {axis: own[k, k] * shape.size.get(axis, 1.0) for k, axis in enumerate("xyz")}
    out.mesh, out.soft = shape.mesh, shape.soft
    out.spheres = [(radius, *(own @ [x, y, z]).tolist()) for radius, x, y, z in shape.spheres]
    out.visual, out.collision, out.color = shape.visual, shape.collision, shape.color
    if shape.extra.get("collidable") != out.extra.get("collidable"):
        out.extra = out.extra | {"collidable": shape.extra.get("collidable", True)}
    return out


def shape_flip(shape: Shape, flip: Array, twin: Shape) -> Array:
    """Return how the own axes of a shape are reflected, (3, 3), diagonal, on a body whose axes are by ``flip``: so that
    they are as near as may be to those of ``twin``."""
    flips = _UPRIGHT_FLIPS if shape.type in _POINTED else _PLAIN_FLIPS
    return _nearest(inverse(twin.pose) @ _local(flip.T) @ shape.pose, flips, _ALONG_X)


def frame_flip(pose: Array, flip: Array, twin: Array, upright: bool = False) -> Array:
    """Return how the own axes of a frame at the pose (4, 4) on its body are reflected, (3, 3), diagonal, on a body
    whose axes are by ``flip``: as near as may be to those of its counterpart at ``twin``; ``upright``: of a light,
    which shines along its Z."""
    return _nearest(inverse(twin) @ _local(flip.T) @ pose, _UPRIGHT_FLIPS if upright else _PLAIN_FLIPS, _ALONG_X)


def attached_image(pose: Array, flip: Array, own: Array) -> Array:
    """The pose (4, 4), on a body's twin, of the mirror image of what has this pose on the body. The body's axes are
    reflected by ``flip``, its own by ``own`` (3, 3)."""
    return _local(flip.T) @ pose @ _local(own)


def _local(flip: Array) -> Array:
    out = np.eye(4)
    out[:3, :3] = flip
    return out


# ---------------------------------------------------------------- joints


def mirrored_joint(
    joint: Joint, plane: Plane, mates: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint | None = None
) -> Joint:
    """The mirror image of a joint: a copy of ``twin``, or of the joint itself, between the twins of its bodies.

    ``mates`` are the twins of bodies, by id (``image_ends``). ``bodies`` are those of now, mirrored
    already. The coordinates count so that equal ones are mirrored poses wherever the axes allow it, else with the other
    sign; stops, starts and rests go with that. ValueError where the twin has other degrees of freedom."""
    frame = joint_frame_world(joint, bodies)
    before = frame if twin is None else joint_frame_world(twin, bodies)
    flip = usual_flip(plane) if twin is None else flip_between(frame, before, plane)
    out = deepcopy(joint if twin is None else twin)
    ends, swapped = image_ends(joint, twin, mates, bodies, plane)
    frames = [image_of(_in_world(end, at, bodies), plane, flip) for end, at in _sides(joint)]
    if swapped:
        ends = ends[::-1]
        frames.reverse()
    out.parent, out.child = ends
    out.frame_parent, out.frame_child = (
        at if end is None else inverse(bodies[end].pose) @ at for end, at in zip(ends, frames, strict=True)
    )
    out.active, out.type = joint.active, joint.type
    _mirror_axes(joint, out, flip, swapped)
    parts = dof_parts(joint, out, plane, mates, bodies)
    if (joint.dofs and not parts) or len(joint.dofs) != len(out.dofs):
        raise ValueError(f"joint {joint.name!r} and its twin {out.name!r} have other degrees of freedom")
    mirror_dofs(joint, out, parts)
    return out


def mirrored_values(
    joint: Joint, plane: Plane, mates: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint
) -> Joint:
    """A joint's twin where it is, with the joint's stops, start, springs and motors, as far as their axes are mirror
    images. ``mates`` and ``bodies`` as for ``mirrored_joint``."""
    out = deepcopy(twin)
    mirror_dofs(joint, out, dof_parts(joint, out, plane, mates, bodies))
    return out


def dof_parts(
    joint: Joint, twin: Joint, plane: Plane, mates: Mapping[str, str], bodies: Mapping[str, Body]
) -> tuple[Part, ...]:
    """Return which coordinates of a joint become which of its twin's, and how; none where they cannot. ``mates`` and
    ``bodies`` as for ``mirrored_joint``."""
    swapped = image_ends(joint, twin, mates, bodies, plane)[1]
    reflected = inverse(joint_frame_world(twin, bodies)) @ plane.reflection @ joint_frame_world(joint, bodies)
    return joint_parts(joint, twin, reflected, swapped)[0]


def _mirror_axes(joint: Joint, twin: Joint, flip: Array, swapped: bool) -> None:
    """Give the degrees of freedom of a twin, whose frame is the joint's reflected with its axes by ``flip``, the mirror
    images of the joint's axes, each the way round in which the twin had it; and screws the other hand."""
    for own, its in zip(joint.dofs, reversed(twin.dofs) if swapped else twin.dofs, strict=False):
        if own.kind != its.kind or DOF_SIZE[own.kind] > 1:
            continue
        if own.kind == "screw":
            its.pitch = -own.pitch  # the mirror image of a right-handed screw is left-handed
        image = _own_axis(flip.T @ own.axis, direction(its.axis) * np.linalg.norm(own.axis))
        its.axis = image if float(image @ its.axis) >= 0.0 else -image


def retyped_twin(
    joint: Joint, plane: Plane, mates: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint
) -> Joint:
    """A joint's twin, in its own frame and between its own bodies, with the degrees of freedom of the joint mirrored,
    whatever it had itself. ``mates`` and ``bodies`` as for ``mirrored_joint``."""
    flip = flip_between(joint_frame_world(joint, bodies), joint_frame_world(twin, bodies), plane)
    out = deepcopy(twin)
    out.type, out.dofs = joint.type, deepcopy(joint.dofs)
    for dof in out.dofs:
        dof.axis = _own_axis(flip.T @ dof.axis, dof.axis)
    if image_ends(joint, twin, mates, bodies, plane)[1]:
        out.dofs.reverse()
    return mirrored_joint(joint, plane, mates, bodies, out)


def _own_axis(image: Array, axis: Array) -> Array:
    """An axis' mirror image, or the axis itself where that lies along it."""
    along = min(np.abs(image - axis).max(), np.abs(image + axis).max())
    return axis if along < 1e-7 else image


def _sides(joint: Joint) -> tuple[tuple[str | None, Array], tuple[str | None, Array]]:
    return (joint.parent, joint.frame_parent), (joint.child, joint.frame_child)


def _in_world(body: str | None, frame: Array, bodies: Mapping[str, Body]) -> Array:
    return frame if body is None else bodies[body].pose @ frame


#: What twins have the same of, whichever way their coordinates count.
ALIKE = (
    "damping", "friction", "stiffness", "armature", "gain", "max_force", "servo_stiffness", "servo_damping", "actuator",
)  # fmt: skip
#: What changes its sign with the coordinate.
SIGNED = ("position", "velocity", "rest")


def mirror_dofs(joint: Joint, twin: Joint, parts: tuple[Part, ...]) -> list[str]:
    """Give a joint's twin its stops, start, springs and motors, by how their coordinates become each other's
    (``mirror.joint_parts``). Returns what does not go: the single stops and springs of balls whose axes are slanted."""
    own, its = _numbered(joint), _numbered(twin)
    left_out = []
    for part in parts:
        source, target = own[part.of[0]], its[part.to[0]]
        if len(part.of) == 1:
            _copy(source, target, float(part.matrix[0, 0]))
            continue
        for name in ALIKE:
            setattr(target, name, getattr(source, name))
        for name in ("start", "start_rates"):
            numbers = part.matrix @ np.array(getattr(source, name) or [0.0] * len(part.of))
            setattr(target, name, tuple((numbers + 0.0).tolist()) if numbers.any() else ())
        if not source.parts and not target.parts:
            continue
        if len(source.parts) != len(target.parts) or not is_plain(part.matrix):
            left_out.append("stops and springs of the single axes")
            continue
        for row, column in enumerate(np.abs(part.matrix).argmax(axis=1)):
            _copy(source.parts[column], target.parts[row], float(part.matrix[row, column]))
    return left_out


def _numbered(joint: Joint) -> dict[int, Dof]:
    """The degrees of freedom of a joint by the number of their first coordinate."""
    out, at = {}, 0
    for dof in joint.dofs:
        out[at] = dof
        at += DOF_SIZE[dof.kind]
    return out


def _copy(source: Dof, target: Dof, sign: float) -> None:
    for name in ALIKE:
        setattr(target, name, getattr(source, name))
    for name in SIGNED:
        setattr(target, name, sign * getattr(source, name) + 0.0)
    target.lower, target.upper = mirrored_stops(source.lower, source.upper, sign)


def mirrored_stops(lower: float | None, upper: float | None, sign: float) -> tuple[float | None, float | None]:
    """The stops of a twin whose coordinate is ``sign`` times its mate's."""
    if sign > 0.0:
        return lower, upper
    return (None if upper is None else -upper + 0.0), (None if lower is None else -lower + 0.0)
