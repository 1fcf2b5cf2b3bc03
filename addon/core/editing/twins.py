"""Twins: mirror images of bodies, joints and restraints.

The mirror image of a part with the pose ``P`` is at ``S P L``: reflected in the plane by ``S``, and its own axes by
``L``, so that they stay right-handed. The choice of ``L`` is free: for existing twins it is the one nearest to their
present axes; for new ones each part's own X axis is reversed where the plane is X = 0 (Y where it is Y = 0, and so on),
as in Juice's editor, where the twin of yaw, pitch and roll is (-yaw, pitch, -roll).

For a restraint, a distance along a reversed axis changes its sign, and so may the value of a joint's twin: a restraint
of ``q`` by ``f(q)`` becomes one of ``-q`` by ``-f(-q)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from ..kinematics import joint_frame_world
from ..model import (
    DOF_SIZE,
    Array,
    Body,
    Dof,
    Joint,
    Mechanism,
    Plane,
    Restraint,
    Shape,
    body_by_id,
    dof_slices,
    joint_by_id,
)
from ..report import Message
from ..transforms import inverse, make_pose
from .edits import Edit, with_restraints
from .mirroring import DofMap, is_signed_permutation, match_dofs, mirror_joint_ends, unit_axis
from .sides import counterpart_names, pairs_by_twin, twin_name

#: All reflections that permute axes and signs; diagonal ones first.
_FLIPS = sorted(
    (
        flip
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
        if np.linalg.det(flip := np.diag(signs)[:, order]) < 0.0
    ),
    key=lambda flip: (-np.abs(np.diag(flip)).sum(), -np.trace(flip)),
)
#: Diagonal reflections, for shapes, which are symmetric along their own axes; and those of them that keep Z, for
#: shapes that are not symmetric along Z.
_AXIS_FLIPS = [flip for flip in _FLIPS if np.abs(np.diag(flip)).sum() == 3.0]
_UPRIGHT_FLIPS = [flip for flip in _AXIS_FLIPS if flip[2, 2] > 0.0]
_UPRIGHT_SHAPES = {"cone", "pyramid", "hemisphere", "plane"}
_X_FLIP = np.diag([-1.0, 1.0, 1.0])
#: Tolerance of positions, as a share of their coordinates, and of rotations, in which a part was not moved: rounding to
#: 32 bits.
_MOVED_TOLERANCE = 1e-6


def default_flip(plane: Plane) -> Array:
    """Return the default reflection (3, 3) of a new twin's axes: the axis most nearly along the normal is reversed."""
    return _usual_flip(plane.reflection)


def _usual_flip(reflection: Array) -> Array:
    """Return the diagonal reflection (3, 3) nearest to one (4, 4) in a plane."""
    out = np.eye(3)
    along = int(np.diag(reflection)[:3].argmin())  # 1 - 2 n² for each component of the plane's normal
    out[along, along] = -1.0
    return out


def flip_between(pose: Array, twin: Array, plane: Plane) -> Array:
    """Find the reflection (3, 3) of the axes of an existing twin with the pose ``twin`` (4, 4)."""
    return _axes_flip(pose, twin, plane.reflection)


def _axes_flip(pose: Array, twin: Array, reflection: Array) -> Array:
    return _nearest_flip(inverse(twin) @ reflection @ pose, _FLIPS, _usual_flip(reflection))


def reflection_on(pose: Array, twin: Array, reflection: Array) -> Array:
    """Return the reflection (4, 4) of what is on a part: from the part's axes to those of its twin.

    Args:
        pose: Pose (4, 4) of the part.
        twin: That of its twin.
        reflection: Reflection (4, 4) from the axes in which the first pose is to those of the second: that of the
            mirror plane for bodies, and what this function returns for what is on them.
    """
    return make_pose(_axes_flip(pose, twin, reflection).T)


def mirror_pose(pose: Array, plane: Plane, flip: Array) -> Array:
    """Compute the mirror image (4, 4) of a pose (4, 4), its own axes reflected by ``flip`` (3, 3)."""
    return plane.reflection @ pose @ make_pose(flip)


def nearest_image(pose: Array, twin: Array, reflection: Array) -> Array:
    """Return the image (4, 4) of a part's pose (4, 4), with the axes nearest to its twin's (see ``mirror_change``)."""
    return reflection @ pose @ make_pose(_axes_flip(pose, twin, reflection))


def mirror_change(poses: Sequence[Array], scales: Sequence[Array], reflection: Array) -> tuple[Array, Array]:
    """Compute the pose (4, 4) and scale (3,) of a part's twin after the part was moved, rotated or scaled.

    The twin keeps its position if the part was not moved, and its rotation if the part was not rotated. It keeps its
    axes, and its scale in relation to the part's. Along axes where either was flat it gets the part's scale.

    Args:
        poses: Poses (4, 4) of the part before and after, and of the twin.
        scales: Their scales (3,).
        reflection: Reflection (4, 4) from the part's side to that of its twin (see ``reflection_on``).
    """
    before, now, twin = poses
    flip = _axes_flip(before, twin, reflection)
    was, own = (np.abs(flip).T @ scale for scale in scales[:2])
    flat = (was == 0.0) | (scales[2] == 0.0)
    image = reflection @ now @ make_pose(flip)
    reach = _MOVED_TOLERANCE * float(np.abs(before[:3, 3]).max())
    if np.abs(now[:3, 3] - before[:3, 3]).max() <= reach:
        image[:3, 3] = twin[:3, 3]
    if np.abs(now[:3, :3] - before[:3, :3]).max() <= _MOVED_TOLERANCE:
        image[:3, :3] = twin[:3, :3]
    return image, np.where(flat, own, scales[2] * own / np.where(flat, 1.0, was))


def _nearest_flip(seen: Array, flips: list[Array], usual: Array) -> Array:
    fits = [float(np.sum(flip * seen[:3, :3].T)) for flip in flips]
    if float(np.sum(usual * seen[:3, :3].T)) >= max(fits) - 1e-6:
        return usual
    return flips[int(np.argmax(fits))]


# ---------------------------------------------------------------- bodies


def mirror_body(body: Body, plane: Plane, twin: Body | None = None, kept: Collection[int] = ()) -> Body:
    """Compute the mirror image of a body: its pose, mass, center of mass, inertia, flags and shapes.

    Args:
        body: The body.
        plane: The mirror plane.
        twin: Its twin, whose id, names and axes the image gets; it is not changed. None: the image has the body's own
            id, and its axes are reflected by the ``default_flip``.
        kept: Indices of shapes whose mesh, size and pose in the twin stay, since they are mirror images already. Other
            meshes are reflected by the sign of their size.
    """
    flip = default_flip(plane) if twin is None else flip_between(body.pose, twin.pose, plane)
    out = deepcopy(body if twin is None else twin)
    out.pose = mirror_pose(body.pose, plane, flip)
    out.mass = body.mass
    out.com = flip.T @ body.com
    out.inertia = None if body.inertia is None else flip.T @ body.inertia @ flip
    out.gravity, out.collidable, out.immobile = body.gravity, body.collidable, body.immobile
    before = {number: shape for number, shape in enumerate(out.shapes)}
    out.shapes = []
    for number, shape in enumerate(body.shapes):
        its = before.get(number)
        image = mirror_shape(shape, flip, its)
        if number in kept and its is not None:
            image.mesh, image.size, image.pose = its.mesh, its.size, its.pose
        out.shapes.append(image)
    return out


def mirror_shape(shape: Shape, flip: Array, twin: Shape | None = None) -> Shape:
    """Compute the mirror image of a shape, in the axes of its body's twin, which are reflected by ``flip`` (3, 3).

    Its own axes keep or reverse their directions: as near as possible to those of ``twin`` where that is of its type.
    """
    like = shape if twin is None or twin.type != shape.type else twin
    own = frame_flip(shape.pose, flip, like.pose, upright=shape.type in _UPRIGHT_SHAPES)
    out = deepcopy(like)
    out.pose = mirror_local_pose(shape.pose, flip, own)
    out.size = dict(shape.size)
    if shape.type == "mesh":
        out.size = {axis: own[k, k] * shape.size.get(axis, 1.0) for k, axis in enumerate("xyz")}
    out.mesh, out.soft = shape.mesh, shape.soft
    out.spheres = [(radius, *(own @ [x, y, z]).tolist()) for radius, x, y, z in shape.spheres]
    out.visual, out.collision, out.color = shape.visual, shape.collision, shape.color
    if shape.extra.get("collidable") != out.extra.get("collidable"):
        out.extra = out.extra | {"collidable": shape.extra.get("collidable", True)}
    return out


def frame_flip(pose: Array, flip: Array, twin: Array, upright: bool = False) -> Array:
    """Find the reflection (3, 3), diagonal, of a frame's or shape's own axes nearest to those of its counterpart.

    Args:
        pose: Pose (4, 4) of the frame on its body.
        flip: Reflection (3, 3) of the body's axes.
        twin: Pose (4, 4) of the counterpart.
        upright: Keep Z, as for a light, which shines along it, and a cone.
    """
    return _nearest_flip(inverse(twin) @ make_pose(flip.T) @ pose, _UPRIGHT_FLIPS if upright else _AXIS_FLIPS, _X_FLIP)


def mirror_local_pose(pose: Array, flip: Array, own: Array) -> Array:
    """Compute the mirror image of a pose (4, 4) on a body, relative to the body's twin.

    The body's axes are reflected by ``flip``, the pose's own by ``own`` (3, 3).
    """
    return make_pose(flip.T) @ pose @ make_pose(own)


# ---------------------------------------------------------------- joints


def mirror_joint(
    joint: Joint, plane: Plane, body_twins: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint | None = None
) -> Joint:
    """Compute the mirror image of a joint: a copy of ``twin``, or of the joint itself, between the twins of its bodies.

    The values count so that equal ones are mirrored poses wherever the axes allow it, else with the opposite sign;
    stops, initial and rest values follow.

    Args:
        joint: The joint.
        plane: The mirror plane.
        body_twins: Twins of bodies, by id (see ``mirror_joint_ends``).
        bodies: The bodies by id, mirrored already.
        twin: Its twin, or None.

    Raises:
        ValueError: The twin has other degrees of freedom.
    """
    frame = joint_frame_world(joint, bodies)
    before = frame if twin is None else joint_frame_world(twin, bodies)
    flip = default_flip(plane) if twin is None else flip_between(frame, before, plane)
    out = deepcopy(joint if twin is None else twin)
    ends, swapped = mirror_joint_ends(joint, twin, body_twins, bodies, plane)
    frames = [mirror_pose(_world_frame(end, at, bodies), plane, flip) for end, at in _joint_sides(joint)]
    if swapped:
        ends = ends[::-1]
        frames.reverse()
    out.parent, out.child = ends
    out.frame_parent, out.frame_child = (
        at if end is None else inverse(bodies[end].pose) @ at for end, at in zip(ends, frames, strict=True)
    )
    out.active, out.type = joint.active, joint.type
    _mirror_dof_axes(joint, out, flip, swapped)
    parts = twin_dof_maps(joint, out, plane, body_twins, bodies)
    if (joint.dofs and not parts) or len(joint.dofs) != len(out.dofs):
        raise ValueError(
            Message("Joint {} and twin {}: different degrees of freedom", repr(joint.name), repr(out.name))
        )
    mirror_dofs(joint, out, parts)
    return out


def mirror_joint_settings(
    joint: Joint,
    plane: Plane,
    body_twins: Mapping[str, str],
    bodies: Mapping[str, Body],
    twin: Joint,
    edited: EditedValues | None = None,
) -> Joint:
    """Copy a joint's stops, initial values, springs and motors to a copy of its twin.

    Only dofs whose axes are mirror images are copied. Arguments as for ``mirror_joint`` and ``mirror_dofs``.
    """
    out = deepcopy(twin)
    mirror_dofs(joint, out, twin_dof_maps(joint, out, plane, body_twins, bodies), edited)
    return out


def twin_dof_maps(
    joint: Joint, twin: Joint, plane: Plane, body_twins: Mapping[str, str], bodies: Mapping[str, Body]
) -> tuple[DofMap, ...]:
    """Compute the mapping from a joint's values to its twin's; empty where there is none.

    ``body_twins`` and ``bodies`` as for ``mirror_joint``.
    """
    swapped = mirror_joint_ends(joint, twin, body_twins, bodies, plane)[1]
    reflected = inverse(joint_frame_world(twin, bodies)) @ plane.reflection @ joint_frame_world(joint, bodies)
    return match_dofs(joint, twin, reflected, swapped)[0]


def _mirror_dof_axes(joint: Joint, twin: Joint, flip: Array, swapped: bool) -> None:
    """Set the axes of a twin's dofs to the mirror images of the joint's, each in the direction that the twin had.

    The twin's frame is the joint's, reflected with its axes by ``flip``. Screws change their handedness.
    """
    for own, its in zip(joint.dofs, reversed(twin.dofs) if swapped else twin.dofs, strict=False):
        if own.kind != its.kind or DOF_SIZE[own.kind] > 1:
            continue
        if own.kind == "screw":
            its.pitch = -own.pitch  # the mirror image of a right-handed screw is left-handed
        image = _twin_axis(flip.T @ own.axis, unit_axis(its.axis) * np.linalg.norm(own.axis))
        its.axis = image if float(image @ its.axis) >= 0.0 else -image


def retype_twin(
    joint: Joint, plane: Plane, body_twins: Mapping[str, str], bodies: Mapping[str, Body], twin: Joint
) -> Joint:
    """Return a joint's twin with the joint's mirrored degrees of freedom in place of its own.

    It keeps its own frame and bodies. ``body_twins`` and ``bodies`` as for ``mirror_joint``.
    """
    flip = flip_between(joint_frame_world(joint, bodies), joint_frame_world(twin, bodies), plane)
    out = deepcopy(twin)
    out.type, out.dofs = joint.type, deepcopy(joint.dofs)
    for dof in out.dofs:
        dof.axis = _twin_axis(flip.T @ dof.axis, dof.axis)
    if mirror_joint_ends(joint, twin, body_twins, bodies, plane)[1]:
        out.dofs.reverse()
    return mirror_joint(joint, plane, body_twins, bodies, out)


def _twin_axis(image: Array, axis: Array) -> Array:
    """Return an axis' mirror image, or the axis itself where the two are parallel."""
    along = min(np.abs(image - axis).max(), np.abs(image + axis).max())
    return axis if along < 1e-7 else image


def _joint_sides(joint: Joint) -> tuple[tuple[str | None, Array], tuple[str | None, Array]]:
    return (joint.parent, joint.frame_parent), (joint.child, joint.frame_child)


def _world_frame(body: str | None, frame: Array, bodies: Mapping[str, Body]) -> Array:
    return frame if body is None else bodies[body].pose @ frame


#: Fields that are equal in twins, whatever the sign of their values.
UNSIGNED_FIELDS = (
    "damping", "friction", "stiffness", "armature", "gain", "max_force", "servo_stiffness", "servo_damping", "actuator",
)  # fmt: skip
#: Fields that change their sign with the value.
SIGNED_FIELDS = ("position", "velocity", "rest")
#: Stops, each of which is the image of the other one where the value changes its sign.
OPPOSITE_STOPS = {"lower": "upper", "upper": "lower"}
#: Fields of a single degree of freedom, and of a ball or free block, that are mirrored.
_SINGLE_FIELDS, _BLOCK_FIELDS = (*UNSIGNED_FIELDS, *SIGNED_FIELDS, *OPPOSITE_STOPS), ("start", "start_rates")
#: Values of a joint: index of a degree of freedom, where its single axes follow all others, and name of the field.
EditedValues = Collection[tuple[int, str]]


def mirror_dofs(joint: Joint, twin: Joint, parts: tuple[DofMap, ...], edited: EditedValues | None = None) -> list[str]:
    """Set a twin's stops, initial values, springs and motors from the joint's.

    Args:
        joint: The joint.
        twin: Its twin, which is changed.
        parts: The mapping of their values (see ``mirroring.match_dofs``).
        edited: Values to mirror; None: all.

    Returns:
        Names of what cannot be mirrored: the stops and springs of single axes of balls whose axes are oblique.
    """
    own, its = ({values.start: dof for dof, values in dof_slices(each.dofs)} for each in (joint, twin))
    order = [id(dof) for dof in (*joint.dofs, *(axis for dof in joint.dofs for axis in dof.parts))]
    left_out = []

    def chosen(dof: Dof, fields: Iterable[str]) -> list[str]:
        return [name for name in fields if edited is None or (order.index(id(dof)), name) in edited]

    for part in parts:
        source, target = own[part.of[0]], its[part.to[0]]
        if len(part.of) == 1:
            mirror_dof_values(source, target, float(part.matrix[0, 0]), chosen(source, _SINGLE_FIELDS))
            continue
        for name in chosen(source, UNSIGNED_FIELDS):
            setattr(target, name, getattr(source, name))
        for name in chosen(source, _BLOCK_FIELDS):
            numbers = part.matrix @ np.array(getattr(source, name) or [0.0] * len(part.of))
            setattr(target, name, tuple((numbers + 0.0).tolist()) if numbers.any() else ())
        if not source.parts and not target.parts:
            continue
        if len(source.parts) != len(target.parts) or not is_signed_permutation(part.matrix):
            left_out.append("stops and springs of the single axes")
            continue
        for row, column in enumerate(np.abs(part.matrix).argmax(axis=1)):
            axis = source.parts[column]
            mirror_dof_values(axis, target.parts[row], float(part.matrix[row, column]), chosen(axis, _SINGLE_FIELDS))
    return left_out


def mirror_dof_values(source: Dof, target: Dof, sign: float, fields: Iterable[str]) -> None:
    """Set the images of some fields of a single degree of freedom on its twin, whose value is ``sign`` times its."""
    for name in fields:
        value = getattr(source, name)
        if name in SIGNED_FIELDS:
            setattr(target, name, sign * value + 0.0)
        elif name in OPPOSITE_STOPS and sign < 0.0:
            setattr(target, OPPOSITE_STOPS[name], None if value is None else -value + 0.0)
        else:
            setattr(target, name, value)


#: Axis along which a distance is measured, by its type in lower case.
_DISTANCE_AXES = {"tx": 0, "ty": 1, "tz": 2}
#: Tolerance within which entries of reflections are rounded to integers.
_ROUNDING_TOLERANCE = 1e-6
#: Largest relative difference of equal poses.
_POSE_TOLERANCE = 1e-5


def mirror_restraints(
    mechanism: Mechanism, plane: Plane, bodies: Collection[str], joints: Collection[str]
) -> tuple[Edit, list[str]]:
    """Mirror the restraints on given ``bodies`` and ``joints``, whose twins are mirror images already.

    Those between a body and its twin are their own images: the frame on the twin becomes the image of the other one.
    Others between given bodies and their twins stay.

    Args:
        mechanism: The mechanism; restraints on parts that it lacks are left out.
        plane: The mirror plane.
        bodies: Ids of the bodies to copy from.
        joints: Ids of the joints to copy from.

    Returns:
        The edit; and the names of the restraints without an image, since their joint has several degrees of freedom or
        other ones than its twin.
    """
    pairs, out, left_out = _RestraintMirror.of(mechanism, plane), dict[int, Restraint](), []
    names = {item.name for item in mechanism.restraints}
    for number, item in enumerate(mechanism.restraints):
        if pairs.connects_twins(item, bodies):
            out[number] = pairs.symmetrized(item, bodies)
            continue
        if not pairs.is_on_leading_side(item, bodies, joints):
            continue
        sign = pairs.sign(item.joint)
        if sign is None:
            left_out.append(item.name)
            continue
        at = pairs.twin_index(number)
        made = pairs.image(item, None if at is None else mechanism.restraints[at], sign)
        if at is None:
            at = len(mechanism.restraints) + sum(key >= len(mechanism.restraints) for key in out)
            made.name = twin_name(item.name, names)
            names.add(made.name)
        out[at] = made
    return Edit(mechanism, with_restraints(mechanism, out), restraints=out), left_out


@dataclass
class _RestraintMirror:
    """Mechanism with the twins of its bodies and joints, by id."""

    mechanism: Mechanism
    plane: Plane
    known: dict[str, Body]
    bodies: dict[str, str]
    joints: dict[str, str]

    @classmethod
    def of(cls, mechanism: Mechanism, plane: Plane) -> _RestraintMirror:
        """Create the pairs of a mechanism."""
        return cls(
            mechanism,
            plane,
            body_by_id(mechanism),
            pairs_by_twin(mechanism.bodies),
            pairs_by_twin(mechanism.joints),
        )

    def is_on_leading_side(self, item: Restraint, bodies: Collection[str], joints: Collection[str]) -> bool:
        """Return whether a restraint is on given parts, and not on their twins as well."""
        if item.joint is not None:
            return item.joint in joints and item.joint in self.joints
        ends = {end for end in item.bodies or () if end is not None}
        followers = {self.bodies[body] for body in bodies if body in self.bodies}
        return bool(ends & set(bodies)) and not ends & followers and ends <= self.known.keys()

    def connects_twins(self, item: Restraint, bodies: Collection[str]) -> bool:
        """Return whether a restraint is between a given body and its twin."""
        one, other = item.bodies or (None, None)
        return one is not None and self.bodies.get(one) == other and not {one, other}.isdisjoint(bodies)

    def symmetrized(self, item: Restraint, bodies: Collection[str]) -> Restraint:
        """Return a restraint between twins, with the frame on the twin as the image of the frame on the given body."""
        ends, frames, names = list(item.bodies or ()), list(item.frames or ()), [*item.extra.get("frames", ["", ""])]
        lead = 0 if ends[0] in bodies else 1
        place = self._place(ends[lead], frames[lead], names[lead], frames[1 - lead])
        frames[1 - lead], names[1 - lead] = place[:2]
        extra = item.extra | {"frames": names} if "frames" in item.extra else item.extra
        return replace(item, frames=(frames[0], frames[1]), extra=extra)

    def sign(self, joint: str | None) -> float | None:
        """Return the sign of a joint's value in its twin, 1 without a joint; None where it has no single image."""
        if joint is None:
            return 1.0
        known = joint_by_id(self.mechanism)
        parts = twin_dof_maps(known[joint], known[self.joints[joint]], self.plane, self.bodies, self.known)
        return float(parts[0].matrix[0, 0]) if len(parts) == 1 and len(parts[0].of) == 1 else None

    def _attachment(self, item: Restraint, mirrored: bool = False) -> tuple[object, ...]:
        bodies, joints = (self.bodies, self.joints) if mirrored else ({}, {})
        ends = {bodies.get(end, end) if end is not None else None for end in item.bodies or ()}
        return item.type, joints.get(item.joint or "", item.joint), frozenset(ends)

    def twin_index(self, number: int) -> int | None:
        """Find the index of a restraint's twin among those of its type between the twins of its parts.

        It is the one with the counterpart's name, else they are paired in their order.
        """
        every = self.mechanism.restraints
        own, image = self._attachment(every[number]), self._attachment(every[number], mirrored=True)
        mine, its = ([n for n, each in enumerate(every) if self._attachment(each) == on] for on in (own, image))
        named = {n: at for n in mine for at in its if every[at].name in counterpart_names(every[n].name)}
        if number in named:
            return named[number]
        rest = [at for at in its if at not in named.values()]
        index = [n for n in mine if n not in named].index(number)
        return rest[index] if index < len(rest) else None

    def image(self, item: Restraint, twin: Restraint | None, sign: float) -> Restraint:
        """Return the mirror image of a restraint, in place of its ``twin`` if it has one."""
        out = deepcopy(item)
        if twin is not None:
            out.name, out.assembly = twin.name, twin.assembly
        if item.joint is not None:
            out.joint = self.joints[item.joint]
        if item.bodies is not None and item.frames is not None:
            names = item.extra.get("frames", ["", ""])
            ends = zip(item.bodies, item.frames, names, strict=True)
            places = [self._place(*end, before) for end, before in zip(ends, self._before(item, twin), strict=True)]
            (one, name, first), (other, other_name, _flip) = places
            out.bodies, out.frames = self._images(item.bodies), (one, other)
            if "frames" in item.extra:
                out.extra["frames"] = [name, other_name]
            axis = _DISTANCE_AXES.get(item.distance.strip().lower())
            sign *= 1.0 if axis is None else float(first[axis, axis])
        return out if sign > 0.0 else reverse_restraint(out)

    def _images(self, ends: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
        one, other = (None if end is None else self.bodies.get(end, end) for end in ends)
        return one, other

    def _before(self, item: Restraint, twin: Restraint | None) -> Iterator[Array | None]:
        """Yield the frames of the twin before the edit."""
        known = {}
        if twin is not None and twin.bodies is not None and twin.frames is not None:
            known = dict(zip(twin.bodies, twin.frames, strict=True))
        yield from (known.get(end) for end in self._images(item.bodies or (None, None)))

    def _place(self, body: str | None, frame: Array, name: str, before: Array | None) -> tuple[Array, str, Array]:
        """Mirror a restraint's frame on a body, None: in the world.

        Its axes are as near as possible to those of the twin's reference frame with the counterpart's name, or of the
        twin's frame ``before``.

        Returns:
            The pose (4, 4), the name of its reference frame, and the reflection (3, 3) of its axes.
        """
        twin = None if body is None else self.bodies.get(body, body)
        found = {each.name: each.pose for each in self.mechanism.frames if each.body == twin}
        others = [name] if body == twin else [*counterpart_names(name), name]
        named = next((each for each in others if each in found), others[0])
        seen = self._mirror_local_frame(body, twin, frame)
        flip = frame_flip(seen, np.eye(3), found.get(named, frame if before is None else before))
        image, there = seen @ make_pose(flip), found.get(named)
        if there is not None and np.abs(there - image).max() <= _POSE_TOLERANCE * max(1.0, float(np.abs(there).max())):
            image = there  # equal up to rounding to 32 bits
        return image, named, flip

    def _mirror_local_frame(self, body: str | None, twin: str | None, frame: Array) -> Array:
        """Return the mirror image (4, 4), left-handed, of a frame on a body, relative to the body's twin."""
        if body is None:
            return mirror_pose(frame, self.plane, np.eye(3))
        pose, other = self.known[body].pose, self.known[twin or body].pose
        if body != twin:
            return mirror_local_pose(frame, flip_between(pose, other, self.plane), np.eye(3))
        own = inverse(pose) @ mirror_pose(pose, self.plane, np.eye(3))
        rounded = own.round()
        own = np.where(np.abs(own - rounded) <= _ROUNDING_TOLERANCE, rounded, own)
        return own @ frame


def reverse_restraint(item: Restraint) -> Restraint:
    """Return a restraint whose coordinate is reversed: ``-f(-q)`` in place of ``f(q)``."""
    return replace(
        item,
        knots=[-knot + 0.0 for knot in reversed(item.knots)],
        coefficients=[_reverse_polynomial(piece) for piece in reversed(item.coefficients)],
    )


def _reverse_polynomial(piece: Sequence[float]) -> list[float]:
    """Reverse a polynomial in descending powers: ``-f(-q)``."""
    degree = len(piece) - 1
    return [number * (1.0 if (degree - index) % 2 else -1.0) + 0.0 for index, number in enumerate(piece)]
