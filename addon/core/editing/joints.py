"""Edits of joints: other degrees of freedom, parent and child swapped, moved; parts added and deleted.

A joint of another type keeps its bodies where they are seen. The joint values of the new type reproduce the old motion
as far as possible (a hinge at 0.5 rad becomes a ball joint rotated by 0.5 rad); the rest goes into the design (a hinge
that becomes fixed is fixed as it is seen).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Literal

import numpy as np

from ..joint_types import convert_dofs
from ..kinematics import (
    joint_child_frame_world,
    joint_frame_world,
    set_initial_values,
)
from ..mass_properties import shape_volume, solid_shapes
from ..model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, Shape, body_by_id, dof_slices, joint_by_id
from ..naming import unique_name
from ..primitive_fit import FittedSolid
from ..report import Message, Report
from ..stops import NO_STOPS, StopPair, value_dofs
from ..transforms import inverse, rotation_matrix
from .edits import Edit, JointEdit, Part, change_of_values, convert_values, with_bodies, with_joints, with_restraints
from .twins import OPPOSITE_STOPS, SIGNED_FIELDS, UNSIGNED_FIELDS, mirror_dof_values, reverse_restraint

#: Tolerance of entries of equal motions.
_TOLERANCE = 1e-9


# ---------------------------------------------------------------- degrees of freedom


def change_type(mechanism: Mechanism, joint_id: str, type_: str, seen: Array) -> Edit:
    """Change the type of a joint, about its present axis.

    Degrees of freedom that continue keep stops, motor, springs and keyframes. A joint of the type already is left
    unchanged.

    Args:
        mechanism: The mechanism.
        joint_id: Id of the joint.
        type_: The new type.
        seen: Its joint values (size,) as seen.

    Raises:
        ValueError: The type is unknown.
    """
    joint = joint_by_id(mechanism)[joint_id]
    if is_of_type(joint, type_):
        return Edit(mechanism, mechanism)
    return change_dofs(mechanism, joint_id, type_, convert_dofs(deepcopy(joint.dofs), type_), seen)


def is_of_type(joint: Joint, type_: str) -> bool:
    """Return whether a joint is of a type, with its degrees of freedom.

    Raises:
        ValueError: The type is unknown.
    """
    dofs = convert_dofs(deepcopy(joint.dofs), type_)
    return joint.type == type_ and [dof.kind for dof in dofs] == [dof.kind for dof in joint.dofs]


def change_dofs(mechanism: Mechanism, joint_id: str, type_: str, dofs: Sequence[Dof], seen: Array) -> Edit:
    """Give a joint other degrees of freedom in the same frame, with initial values that keep its bodies in place.

    Args:
        mechanism: The mechanism.
        joint_id: Id of the joint.
        type_: The new type.
        dofs: The new degrees of freedom.
        seen: The joint values (size,) of the old ones as seen.
    """
    joint = joint_by_id(mechanism)[joint_id]
    start = joint.initial
    made = [replace(dof) for dof in dofs]
    if start.any() or any(dof.initial.any() for dof in dofs):
        set_initial_values(made, convert_values(joint.dofs, dofs, start))
    edit = change_of_values(joint.dofs, dofs, seen)
    return Edit(mechanism, with_joints(mechanism, [replace(joint, type=type_, dofs=made)]), {joint_id: edit})


def keep_continuing_values(before: Joint, after: Joint, change: JointEdit) -> Joint:
    """Return a joint that got other degrees of freedom, with its own stops, springs and motors where they continue.

    Args:
        before: The joint before.
        after: The joint with other degrees of freedom, and with the initial values that it is to have.
        change: The change of its values (``change_of_values``).
    """
    out = replace(after, dofs=[replace(dof) for dof in after.dofs])
    old, new = ({at.start: dof for dof, at in dof_slices(each.dofs)} for each in (before, out))
    for was, (now, factor) in (change.numbers or {}).items():
        if was not in old or now not in new or old[was].kind != new[now].kind:
            continue  # another coordinate of a ball or free block; a hinge that becomes a screw has no stops
        fields = [*UNSIGNED_FIELDS, *SIGNED_FIELDS, *OPPOSITE_STOPS]
        mirror_dof_values(old[was], new[now], factor, [name for name in fields if name != "position"])
        new[now].start_rates, new[now].parts = old[was].start_rates, deepcopy(old[was].parts)
    return out


# ---------------------------------------------------------------- values

#: Groups of fields of degrees of freedom that can be copied between joints.
COPIED_FIELDS = {
    "stops": ("lower", "upper"),
    "servo": ("gain", "max_force", "servo_stiffness", "servo_damping"),
    "spring": ("stiffness", "rest", "damping", "friction", "armature"),
}


#: Joint id and index of a joint value.
ValueKey = tuple[str, int]
StopEnd = Literal["lower", "upper"]
STOP_ENDS: tuple[StopEnd, StopEnd] = ("lower", "upper")


def set_stops(
    mechanism: Mechanism, wanted: Mapping[ValueKey, StopPair], names: Mapping[ValueKey, str]
) -> tuple[Edit, Report]:
    """Set stops of joint values, unless a lower one would be above the upper one.

    Args:
        mechanism: The mechanism.
        wanted: Lower and upper stop by joint id and index of the value; None: unchanged.
        names: Names of the values, for the report.

    Returns:
        The edit, and an entry for each value whose stops were not set.
    """
    joints, pairs, report = joint_by_id(mechanism), dict[ValueKey, StopPair](), Report()
    for (own, index), pair in wanted.items():
        where, dof = names[own, index], value_dofs(joints[own].dofs)[index]
        if dof is None:
            report.warn("no-stops", Message("{}: not set, its file format has no stops for it", where), where=where)
            continue
        lower, upper = (old if new is None else new for old, new in zip((dof.lower, dof.upper), pair, strict=True))
        if lower is not None and upper is not None and lower > upper:
            other = "upper" if pair[0] is not None else "lower"
            report.warn(
                "beyond-other",
                Message("{}: not set, its value is at or past the {} stop", where, other),
                where=where,
            )
            continue
        pairs[own, index] = lower, upper
    return _write_stops(mechanism, pairs), report


def switch_joint_stops(
    mechanism: Mechanism,
    previous: Mapping[ValueKey, tuple[float, float]],
    reaches: Mapping[ValueKey, float],
    ends: Collection[StopEnd],
    on: bool,
) -> Edit:
    """Switch stops of joint values on or off.

    Args:
        mechanism: The mechanism.
        previous: Last lower and upper stop, by joint id and index of the value; 0 for one that was never set.
        reaches: Distances from 0, or from the other stop, of stops that were never set.
        ends: The stops to switch.
        on: Whether they are on.
    """
    joints, pairs = joint_by_id(mechanism), dict[ValueKey, StopPair]()
    for (own, index), last in previous.items():
        dof = value_dofs(joints[own].dofs)[index]
        now = NO_STOPS if dof is None else (dof.lower, dof.upper)
        are_on = [on if end in ends else stop is not None for end, stop in zip(STOP_ENDS, now, strict=True)]
        values = _distinct_stops(last, now, reaches[own, index], both=all(are_on))
        lower, upper = (value if is_on else None for value, is_on in zip(values, are_on, strict=True))
        pairs[own, index] = lower, upper
    return _write_stops(mechanism, pairs)


def _distinct_stops(last: tuple[float, float], now: StopPair, reach: float, both: bool) -> tuple[float, float]:
    """Return two stops, with a default for one that is off where the two leave no range; 0 was never set."""
    lower, upper = last
    if now == NO_STOPS and lower == upper == 0.0:
        return -reach, reach
    if both and lower >= upper and None in now:
        keeps_lower = now[0] is not None or (now[1] is None and upper == 0.0)
        return (lower, lower + reach) if keeps_lower else (upper - reach, upper)
    return lower, upper


def _write_stops(mechanism: Mechanism, pairs: Mapping[ValueKey, StopPair]) -> Edit:
    joints, changed = joint_by_id(mechanism), dict[str, Joint]()
    for (own, index), pair in pairs.items():
        joint = changed.setdefault(own, replace(joints[own], dofs=deepcopy(joints[own].dofs)))
        dof = value_dofs(joint.dofs)[index]
        if dof is not None:
            dof.lower, dof.upper = pair
    return Edit(mechanism, with_joints(mechanism, changed.values()))


def swap_stops(mechanism: Mechanism, joints: Iterable[str]) -> Edit:
    """Swap lower and upper stops of joints (ids) where the lower one is above the upper one."""
    return _change_dofs(mechanism, joints, _swap_stops)


def _swap_stops(dof: Dof) -> None:
    if dof.lower is not None and dof.upper is not None and dof.lower > dof.upper:
        dof.lower, dof.upper = dof.upper, dof.lower


def limit_positions(mechanism: Mechanism, joints: Iterable[str]) -> Edit:
    """Move initial values of joints (ids) that are beyond a stop to this stop."""
    return _change_dofs(mechanism, joints, _limit_position, with_parts=False)


def _limit_position(dof: Dof) -> None:
    if DOF_SIZE[dof.kind] == 1:
        dof.position = _clipped(dof.position, dof)
        return
    begins = [_clipped(value, part) for value, part in zip(dof.initial.tolist(), value_dofs([dof]), strict=True)]
    dof.start = tuple(begins) if any(begins) else ()


def _clipped(value: float, dof: Dof | None) -> float:
    """Return a value within the stops of a degree of freedom."""
    low, high = (None, None) if dof is None else (dof.lower, dof.upper)
    return float(np.clip(value, -np.inf if low is None else low, np.inf if high is None else high))


def _change_dofs(
    mechanism: Mechanism, joints: Iterable[str], change: Callable[[Dof], None], with_parts: bool = True
) -> Edit:
    """Change all degrees of freedom of joints (ids) and their parts."""
    known = joint_by_id(mechanism)
    changed = [replace(known[own], dofs=deepcopy(known[own].dofs)) for own in joints if own in known]
    for dof in (dof for joint in changed for dof in joint.dofs):
        for each in (dof, *dof.parts) if with_parts else (dof,):
            change(each)
    return Edit(mechanism, with_joints(mechanism, changed))


def estimate_masses(mechanism: Mechanism, bodies: Collection[str], density: float) -> Edit:
    """Set the masses of bodies (ids) to those of their solid shapes.

    Args:
        mechanism: The mechanism.
        bodies: Ids of the bodies. One without a solid shape gets a mass of 1.
        density: Mass per volume (kg per cubic length unit).
    """
    volumes = {
        body.id: sum(map(shape_volume, solid_shapes(body.shapes))) for body in mechanism.bodies if body.id in bodies
    }
    changed = [replace(body, mass=density * volumes[body.id] or 1.0) for body in mechanism.bodies if body.id in volumes]
    return Edit(mechanism, with_bodies(mechanism, changed))


def copy_dof_values(
    mechanism: Mechanism, source: str, targets: Iterable[str], groups: Collection[str]
) -> tuple[Edit, int]:
    """Copy groups of ``COPIED_FIELDS`` from a joint to others, between degrees of freedom of the same kind.

    Args:
        mechanism: The mechanism.
        source: Id of the joint.
        targets: Ids of the others.
        groups: Keys of ``COPIED_FIELDS``.

    Returns:
        The edit, and the number of joints without a matching degree of freedom.
    """
    joints, changed, unlike = joint_by_id(mechanism), list[Joint](), 0
    own = joints[source].dofs
    names = [name for key, fields in COPIED_FIELDS.items() if key in groups for name in fields]
    for target in targets:
        joint = replace(joints[target], dofs=deepcopy(joints[target].dofs))
        pairs = [pair for pair in zip(own, joint.dofs, strict=False) if pair[0].kind == pair[1].kind]
        unlike += not pairs
        pairs += [each for one, other in pairs for each in zip(one.parts, other.parts, strict=False)]
        differing = [
            (one, other, name) for one, other in pairs for name in names if getattr(one, name) != getattr(other, name)
        ]
        for one, other, name in differing:
            setattr(other, name, getattr(one, name))
        changed += [joint] if differing else []
    return Edit(mechanism, with_joints(mechanism, changed)), unlike


# ---------------------------------------------------------------- ends


def require_swappable(joint: Joint) -> None:
    """Raise ValueError if parent and child of a joint cannot be swapped."""
    if joint.parent is None or joint.child is None:
        raise ValueError(Message("{}: not between two bodies", repr(joint.name)))
    if any(dof.kind == "free" and dof.initial.any() for dof in joint.dofs):
        raise ValueError(
            Message(
                "{}: a free joint with an initial value other than 0. Move its bodies together first", repr(joint.name)
            )
        )
    for key in ("stiffness", "damping"):
        terms = [float(term) for term in joint.extra.get(key) or ()]
        is_rest = key == "stiffness" and len(terms) > 1 and terms[1] != 0.0  # the constant term is in the rest value
        if any(terms[2 if is_rest else 0 :: 2]):
            raise ValueError(
                Message(
                    "{}: its {} has terms of even powers in the file, which only the file can reverse",
                    repr(joint.name),
                    key,
                )
            )


def swap_ends(mechanism: Mechanism, joint_id: str, pose: Array | None) -> Edit:
    """Swap parent and child of a joint.

    Its motion is inverted, with the degrees of freedom in reverse order, so that the mechanism moves as before: joint
    values change sign, and with them stops, initial and rest values, and the laws of its restraints.

    Args:
        mechanism: The mechanism.
        joint_id: Id of the joint.
        pose: Its channel values (size,); None where it has no bone.

    Raises:
        ValueError: The joint lacks a body, or is free and its initial values are not zero.
    """
    joint = joint_by_id(mechanism)[joint_id]
    require_swappable(joint)
    swapped = replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        frame_parent=joint.frame_child,
        frame_child=joint.frame_parent,
        dofs=[_reversed_dof(dof) for dof in reversed(joint.dofs)],
    )
    inverse_laws = {n: reverse_restraint(each) for n, each in enumerate(mechanism.restraints) if each.joint == joint_id}
    after = with_restraints(with_joints(mechanism, [swapped]), inverse_laws)
    return Edit(mechanism, after, {joint_id: _reversal(joint.dofs, pose)}, restraints=inverse_laws)


def _reversal(dofs: Sequence[Dof], pose: Array | None) -> JointEdit:
    numbers: dict[int, tuple[int, float]] = {}
    values = [np.zeros(0)]
    for dof, own in reversed([*dof_slices(dofs)]):
        numbers |= {index: (len(numbers) + k, -1.0) for k, index in enumerate(range(own.start, own.stop))}
        if pose is not None:
            values.append(_reversed_values(pose[own], dof.kind))
    return JointEdit(None, None if pose is None else np.concatenate(values), numbers)


def _reversed_values(values: Array, kind: str) -> Array:
    """Return the values of one degree of freedom of the inverse motion."""
    out = -values + 0.0
    if kind == "free":
        out[3:] = -rotation_matrix(values[:3]).T @ values[3:] + 0.0
    return out


def _reversed_dof(dof: Dof) -> Dof:
    """Return a degree of freedom with the opposite sign of its values."""
    out = replace(dof)
    mirror_dof_values(dof, out, -1.0, (*SIGNED_FIELDS, *OPPOSITE_STOPS))
    if DOF_SIZE[dof.kind] > 1:
        out.start, out.start_rates = (
            tuple(-number + 0.0 for number in numbers) for numbers in (dof.start, dof.start_rates)
        )
        out.parts = [_reversed_dof(part) for part in dof.parts]
    return out


# ---------------------------------------------------------------- place


def move_joint(mechanism: Mechanism, joint_id: str, frame: Array, seen: Array) -> Edit:
    """Move a joint; its bodies stay where they are, also if they are posed.

    Args:
        mechanism: The mechanism.
        joint_id: Id of the joint.
        frame: Its new frame (4, 4) on its parent's side, in the mechanism's design.
        seen: Its joint values (size,) as seen.
    """
    joint, bodies = joint_by_id(mechanism)[joint_id], body_by_id(mechanism)
    parent, child = (np.eye(4) if end is None else bodies[end].pose for end in joint.ends)
    opening = inverse(joint_frame_world(joint, bodies)) @ joint_child_frame_world(joint, bodies)
    moved = replace(
        joint, frame_parent=inverse(parent) @ frame, frame_child=inverse(child) @ frame @ _without_rounding(opening)
    )
    return Edit(mechanism, with_joints(mechanism, [moved]), {joint_id: JointEdit(seen)})


def _without_rounding(opening: Array) -> Array:
    return np.eye(4) if np.abs(opening - np.eye(4)).max() < _TOLERANCE else opening


# ---------------------------------------------------------------- parts


def number_names(mechanism: Mechanism, kind: str, ids: Sequence[str]) -> Edit:
    """Append a free number to the names of all but the first of several bodies or joints (ids) with one name."""
    taken = {body.name for body in mechanism.bodies} | {joint.name for joint in mechanism.joints}
    if kind == "body":
        return Edit(mechanism, with_bodies(mechanism, _numbered(mechanism.bodies, ids[1:], taken)))
    return Edit(mechanism, with_joints(mechanism, _numbered(mechanism.joints, ids[1:], taken)))


def _numbered(parts: Iterable[Part], ids: Collection[str], taken: set[str]) -> list[Part]:
    out = list[Part]()
    for part in parts:
        if part.id in ids:
            out.append(replace(part, name=unique_name(part.name, taken)))
            taken.add(out[-1].name)
    return out


def add_joint(mechanism: Mechanism, joint: Joint) -> Edit:
    """Add a joint between two bodies, or a body and the world, which stand at its joint values 0.

    Raises:
        ValueError: Both ends are the same body, or one is none of the mechanism.
    """
    known = {body.id for body in mechanism.bodies}
    for end in joint.ends:
        if end is not None and end not in known:
            raise ValueError(Message("{}: not a body of {}", repr(end), repr(mechanism.name)))
    if joint.parent == joint.child:
        raise ValueError("Joint: both ends are the same body. Select another body")
    start = np.zeros(joint.size)
    return Edit(mechanism, with_joints(mechanism, [joint]), {joint.id: JointEdit(start)})


def add_bodies(
    mechanism: Mechanism, solids: Sequence[tuple[str, Array, FittedSolid]], mass: float | None, density: float
) -> tuple[Edit, list[Body]]:
    """Add bodies whose frames are at their centers of mass.

    Args:
        mechanism: The mechanism.
        solids: Name, frame (4, 4) of the mesh in the mechanism's axes, and solid fitted to the mesh, of each.
        mass: Mass of each; None: volume times ``density``.
        density: Mass per volume.

    Returns:
        The edit, and the new bodies in the order of the solids.
    """
    ids, made = {*body_by_id(mechanism), *joint_by_id(mechanism)}, list[Body]()
    for name, frame, solid in solids:
        body = Body(unique_name(name, ids), name, frame @ solid.frame, mass or density * solid.volume)
        body.shapes = [solid.shape]
        if solid.shape.type == "mesh" and solid.volume > 0.0:
            body.inertia = body.mass / solid.volume * solid.tensor
        ids.add(body.id)
        made.append(body)
    return Edit(mechanism, replace(mechanism, bodies=[*mechanism.bodies, *made])), made


def replace_visual_shape(
    mechanism: Mechanism, body_id: str, shape: Shape, inertia: Array | None, has_separate: bool
) -> Edit:
    """Replace the visual shapes of a body by one, which gets their color; other collision shapes stay.

    Args:
        mechanism: The mechanism.
        body_id: Id of the body.
        shape: The new shape.
        inertia: Its new inertia tensor (3, 3); None: that of its shapes.
        has_separate: Collision shapes are separate from visual ones; if False the new one collides as they did.
    """
    body = body_by_id(mechanism)[body_id]
    seen = [each for each in body.shapes if each.visual]
    made = replace(
        shape,
        visual=True,
        color=next((each.color for each in seen), None),
        collision=not has_separate and any(each.collision for each in seen),
        extra={"collidable": all(each.extra.get("collidable", True) for each in seen)},
    )
    stay = [n for n, each in enumerate(body.shapes) if (each.collision if has_separate else not each.visual)]
    shapes = [made, *(replace(body.shapes[number], visual=False) for number in stay)]
    after = with_bodies(mechanism, [replace(body, shapes=shapes, inertia=inertia)])
    return Edit(mechanism, after, shapes={body_id: [None, *stay]})


def delete_parts(mechanism: Mechanism, bodies: Collection[str], joints: Collection[str]) -> Edit:
    """Delete bodies and joints, with the joints, frames, lights and restraints of deleted bodies.

    Args:
        mechanism: The mechanism.
        bodies: Ids of bodies.
        joints: Ids of joints; a body may have the same id.

    Raises:
        ValueError: There is no such body or joint.
    """
    left = [body for body in mechanism.bodies if body.id not in bodies]
    kept = [
        joint
        for joint in mechanism.joints
        if not (joint.id in joints or (joint.parent or "") in bodies or (joint.child or "") in bodies)
    ]
    if len(left) == len(mechanism.bodies) and len(kept) == len(mechanism.joints):
        raise ValueError("Select bodies or joints of the mechanism to delete them")
    gone = {body.id for body in mechanism.bodies} - {body.id for body in left}
    lost = {joint.id for joint in mechanism.joints} - {joint.id for joint in kept}
    after = replace(
        mechanism,
        bodies=[replace(body, twin=None) if body.twin in gone else body for body in left],
        joints=[replace(joint, twin=None) if joint.twin in lost else joint for joint in kept],
        frames=[frame for frame in mechanism.frames if frame.body not in gone],
        lights=[light for light in mechanism.lights if light.body not in gone],
        restraints=[
            item for item in mechanism.restraints if item.joint not in lost and not gone & {*(item.bodies or ())}
        ],
    )
    return Edit(mechanism, after)
