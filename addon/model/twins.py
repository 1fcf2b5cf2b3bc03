"""Twins: a body or joint made the mirror image of its mate.

The mirror image of a part with the pose ``P`` stands at ``S P L``: reflected by ``S`` about the plane, and its own axes
by ``L``, so that they stay right-handed. Which ``L`` is a matter of taste: for twins that are there, the one that is
nearest to how they stand; for new ones each part's own X axis is turned round where the plane is X = 0 (Y where it is
Y = 0, and so on), as Juice's editor does, where the twin of yaw, pitch and roll is (-yaw, pitch, -roll)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import permutations, product

import numpy as np

from .kinematics import joint_frame_world
from .mirror import Part, is_plain, joint_parts
from .records import DOF_SIZE, Array, Body, Dof, Joint, Shape
from .rotations import inverse
from .sides import Plane

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
#: The same for shapes, which look alike when they are reflected along their own axes.
_PLAIN_FLIPS = [flip for flip in _FLIPS if np.abs(np.diag(flip)).sum() == 3.0]


def usual_flip(plane: Plane) -> Array:
    """How the axes of new twins are reflected, (3, 3): the one that the plane is most nearly square to, turned
    round."""
    out = np.eye(3)
    along = int(np.abs(plane.normal).argmax())
    out[along, along] = -1.0
    return out


def flip_between(pose: Array, twin: Array, plane: Plane) -> Array:
    """How the axes of a twin that stands at the pose ``twin`` (4, 4) are reflected, (3, 3)."""
    return _nearest(inverse(twin) @ plane.reflection @ pose, _FLIPS, usual_flip(plane))


def image_of(pose: Array, plane: Plane, flip: Array) -> Array:
    """Where the mirror image of a pose (4, 4) stands whose own axes are reflected by ``flip`` (3, 3)."""
    local = np.eye(4)
    local[:3, :3] = flip
    return plane.reflection @ pose @ local


def _nearest(seen: Array, flips: list[Array], usual: Array) -> Array:
    fits = [float(np.sum(flip * seen[:3, :3].T)) for flip in flips]
    if float(np.sum(usual * seen[:3, :3].T)) >= max(fits) - 1e-6:
        return usual
    return flips[int(np.argmax(fits))]


# ---------------------------------------------------------------- bodies


def mirrored_body(body: Body, plane: Plane, twin: Body | None = None) -> Body:
    """The mirror image of a body: a copy of ``twin`` with its pose, mass, centre of mass, inertia and shapes, or of the
    body itself where there is none. Meshes cannot be reflected in their files: a twin keeps its own."""
    flip = usual_flip(plane) if twin is None else flip_between(body.pose, twin.pose, plane)
    out = deepcopy(body if twin is None else twin)
    out.pose = image_of(body.pose, plane, flip)
    out.mass = body.mass
    out.com = flip.T @ body.com
    out.inertia = None if body.inertia is None else flip.T @ body.inertia @ flip
    out.gravity, out.collidable, out.immobile = body.gravity, body.collidable, body.immobile
    if twin is None or [shape.type for shape in twin.shapes] == [shape.type for shape in body.shapes]:
        theirs = out.shapes
        out.shapes = [mirrored_shape(own, flip, it) for own, it in zip(body.shapes, theirs, strict=True)]
    return out


def mirrored_shape(shape: Shape, flip: Array, twin: Shape) -> Shape:
    """The mirror image of a shape, in the axes of its body's twin: a copy of ``twin`` with its pose and size."""
    local = np.eye(4)
    local[:3, :3] = flip.T
    own = _nearest(inverse(twin.pose) @ local @ shape.pose, _PLAIN_FLIPS, np.diag([-1.0, 1.0, 1.0]))
    out = deepcopy(twin)
    turn = np.eye(4)
    turn[:3, :3] = own
    out.pose = local @ shape.pose @ turn
    if shape.type != "mesh":
        out.size = dict(shape.size)
    out.spheres = [(radius, *(own @ [x, y, z]).tolist()) for radius, x, y, z in shape.spheres]
    out.visual, out.collision, out.color = shape.visual, shape.collision, shape.color
    return out


# ---------------------------------------------------------------- joints


def mirrored_joint(
    joint: Joint, plane: Plane, mates: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint | None = None
) -> Joint:
    """The mirror image of a joint: a copy of ``twin``, or of the joint itself, between the twins of its bodies.

    ``mates`` are the twins of bodies, by id: a body without one is its own. ``bodies`` are those of now, mirrored
    already. The coordinates count so that equal ones are mirrored poses wherever the axes allow it, else with the other
    sign; stops, starts and rests go with that. ValueError where the twin has other degrees of freedom."""
    frame = joint_frame_world(joint, bodies)
    before = frame if twin is None else joint_frame_world(twin, bodies)
    flip = usual_flip(plane) if twin is None else flip_between(frame, before, plane)
    out = deepcopy(joint if twin is None else twin)
    ends = [mates.get(end, end) if end is not None else None for end in (joint.parent, joint.child)]
    frames = [image_of(_in_world(end, at, bodies), plane, flip) for end, at in _sides(joint)]
    if twin is not None and (twin.parent, twin.child) == (ends[1], ends[0]):
        ends.reverse()
        frames.reverse()
    out.parent, out.child = ends
    out.frame_parent, out.frame_child = (
        at if end is None else inverse(bodies[end].pose) @ at for end, at in zip(ends, frames, strict=True)
    )
    out.active, out.type = joint.active, joint.type
    if twin is None:
        for dof in out.dofs:
            dof.axis = _own_axis(flip.T @ dof.axis, dof.axis)
    swapped = ends[0] != mates.get(joint.parent or "", joint.parent)
    for own, its in zip(joint.dofs, reversed(out.dofs) if swapped else out.dofs, strict=False):
        if own.kind == its.kind == "screw":
            its.pitch = -own.pitch  # the mirror image of a right-handed screw is left-handed
    parts, _nearness = joint_parts(joint, out, inverse(frames[0]) @ plane.reflection @ frame, swapped)
    if (joint.dofs and not parts) or len(joint.dofs) != len(out.dofs):
        raise ValueError(f"joint {joint.name!r} and its twin {out.name!r} have other degrees of freedom")
    mirror_dofs(joint, out, parts)
    return out


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
    ends = [mates.get(end, end) if end is not None else None for end in (joint.parent, joint.child)]
    if (twin.parent, twin.child) == (ends[1], ends[0]):
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
ALIKE = ("damping", "friction", "stiffness", "armature", "gain", "max_force", "actuator")
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
