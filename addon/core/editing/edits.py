"""Results of edits: the edited mechanism, and what becomes of the values of its joints.

An edit is a function from a mechanism to an ``Edit``. It never changes the mechanism that it gets: parts that it leaves
alone are the same objects in both mechanisms, and parts that it changes are new ones. The simplest edit switches an
assembly, like the flag in its file: parts that are off are kept, but not posed or simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from ..kinematics import CLOSES_LOOP, Tree, joint_motion, joint_values_from_transform
from ..loops.closure import close_loops
from ..model import (
    DOF_SIZE,
    Array,
    Assembly,
    Body,
    Dof,
    Joint,
    Mechanism,
    Restraint,
    body_by_id,
    first_indices,
)
from ..report import Message
from ..transforms import inverse

Part = TypeVar("Part", Body, Joint)
#: Opening (length units, rad) up to which a copied loop counts as closed.
_OPEN_TOLERANCE = 1e-3


@dataclass(frozen=True)
class JointEdit:
    """Change of a joint's values by an edit.

    Attributes:
        held: Values (size,) of the changed joint at which its bodies are seen; None if they stay anyway.
        values: New channel values (size,); None: unchanged.
        numbers: New index and factor by previous index of its values; None: unchanged.
        convert: Returns the new values (n, size) of previous ones (n, previous size), where none of them continues.
    """

    held: Array | None = None
    values: Array | None = None
    numbers: Mapping[int, tuple[int, float]] | None = None
    convert: Callable[[Array], Array] | None = None

    def converted(self, values: Array) -> Array:
        """Return the new values (n, size) of previous ones (n, previous size) of the joint as it moved before."""
        if self.convert is not None:
            return self.convert(values)
        if self.numbers is None:
            return values
        size = (
            len(self.values) if self.values is not None else 1 + max((k for k, _ in self.numbers.values()), default=-1)
        )
        out = np.zeros((len(values), size))
        for was, (now, factor) in self.numbers.items():
            out[:, now] = factor * values[:, was]
        return out


@dataclass(frozen=True)
class Edit:
    """An edited mechanism.

    Attributes:
        before: The mechanism that was edited.
        after: The edited one.
        joints: Changes of joint values, by joint id.
        copies: Ids of the parts that new parts are copies of, by the id of the new part. They are placed by their
            joints; other new bodies stand where they are designed.
        images: Ids of the bodies that bodies became mirror images of, by the id of the image.
        assembled: Initial values (size,) at which closed loops are assembled, by the ids of joints that get others.
        restraints: Restraints that are changed, by their index among the mechanism's, and new ones, which follow the
            last.
        shapes: Previous index of each shape (None: new), by the ids of bodies whose shapes were replaced.
    """

    before: Mechanism
    after: Mechanism
    joints: Mapping[str, JointEdit] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    assembled: Mapping[str, Array] = field(default_factory=dict)
    restraints: Mapping[int, Restraint] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int | None]] = field(default_factory=dict)

    @property
    def deleted_joints(self) -> set[str]:
        """Return the ids of the joints that the edited mechanism lacks."""
        return {joint.id for joint in self.before.joints} - {joint.id for joint in self.after.joints}

    @property
    def deleted_bodies(self) -> set[str]:
        """Return the ids of the bodies that the edited mechanism lacks."""
        return {body.id for body in self.before.bodies} - {body.id for body in self.after.bodies}

    def then(self, other: Edit) -> Edit:
        """Return the edit that does this one and then ``other``, an edit of ``after`` that changes other parts."""
        joints, copies = {**self.joints, **other.joints}, {**self.copies, **other.copies}
        images, assembled = {**self.images, **other.images}, {**self.assembled, **other.assembled}
        restraints, shapes = {**self.restraints, **other.restraints}, {**self.shapes, **other.shapes}
        return Edit(self.before, other.after, joints, copies, images, assembled, restraints, shapes)


def without_open_loops(
    edit: Edit, tree: Tree, seen: Mapping[str, Array], chosen: Collection[str]
) -> tuple[Edit, list[Joint]]:
    """Leave out copies of joints that close loops which are open where the mechanism is seen.

    Args:
        edit: The edit that copies parts; joints may be twins of those that it copies.
        tree: Spanning tree of the mechanism that was edited.
        seen: Values (size,) at which the joints of that mechanism are seen, by id; its bodies stay there.
        chosen: Ids of joints whose copies are made in any case.

    Returns:
        The edit without these copies, and the joints that they are copies of.
    """
    chords = {own for own, original in edit.copies.items() if original in tree.loop_joints and original not in chosen}
    if not chords:
        return edit, []
    joints = []
    for joint in edit.after.joints:
        if joint.id in seen:
            frame = joint.frame_parent @ joint_motion(joint, seen[joint.id][None])[0]
            joints.append(replace(joint, dofs=[], frame_parent=frame))
        else:
            joints.append(replace(joint, extra={**joint.extra, CLOSES_LOOP: joint.id in chords}))
    values = {own: each.values for own, each in edit.joints.items() if each.values is not None}
    openings = close_loops(replace(edit.after, joints=joints), positions=values)[2]
    left = {own for own in chords & openings.keys() if max(openings[own]) > _OPEN_TOLERANCE}
    kept = [
        replace(each, twin=None) if each.twin in left else each for each in edit.after.joints if each.id not in left
    ]
    out = replace(
        edit,
        after=replace(edit.after, joints=kept),
        joints={own: each for own, each in edit.joints.items() if own not in left},
        copies={own: each for own, each in edit.copies.items() if own not in left},
        assembled={own: each for own, each in edit.assembled.items() if own not in left},
    )
    return out, [joint for joint in edit.before.joints if joint.id in {edit.copies[own] for own in left}]


def with_joints(mechanism: Mechanism, joints: Iterable[Joint]) -> Mechanism:
    """Return a mechanism in which these joints replace those with the same ids; others are added at the end."""
    return replace(mechanism, joints=_replaced(mechanism.joints, joints))


def with_bodies(mechanism: Mechanism, bodies: Iterable[Body]) -> Mechanism:
    """Return a mechanism in which these bodies replace those with the same ids; others are added at the end."""
    return replace(mechanism, bodies=_replaced(mechanism.bodies, bodies))


def _replaced(present: Collection[Part], changed: Iterable[Part]) -> list[Part]:
    new: dict[str, Part] = {part.id: part for part in changed}
    return [new.pop(part.id, part) for part in present] + list(new.values())


def with_restraints(mechanism: Mechanism, changed: Mapping[int, Restraint]) -> Mechanism:
    """Return a mechanism with changed and new restraints (``Edit.restraints``)."""
    every = {**dict(enumerate(mechanism.restraints)), **changed}
    return replace(mechanism, restraints=[every[number] for number in sorted(every)])


# ---------------------------------------------------------------- assemblies

#: Separator of the names in an assembly's path.
ASSEMBLY_SEPARATOR = ":"


def parent_assembly_path(path: str, known: Collection[str]) -> str:
    """Return the path of the assembly around one, ``""`` at the top."""
    outer = path.rpartition(ASSEMBLY_SEPARATOR)[0]
    return outer if outer in known else ""


def active_paths(assemblies: Iterable[Assembly]) -> set[str]:
    """Return the paths of the assemblies that are on and inside of assemblies that are on; "" is the top level."""
    known = {assembly.path: assembly for assembly in assemblies}

    def is_on(path: str) -> bool:
        return path not in known or (known[path].active and is_on(parent_assembly_path(path, known)))

    return {path for path in known if is_on(path)} | {""}


def switch_assembly(mechanism: Mechanism, path: str, on: bool) -> Edit:
    """Switch an assembly and everything in it on or off.

    Parts that the file switches off by themselves, and joints that lack a body, stay off. A joint is off with either of
    its bodies.

    Args:
        mechanism: The mechanism.
        path: Path of the assembly.
        on: Whether it is on.

    Raises:
        ValueError: The mechanism has no assembly with this path.
    """
    if all(assembly.path != path for assembly in mechanism.assemblies):
        raise ValueError(Message("The mechanism has no assembly {}", repr(path)))
    assemblies = [replace(each, active=on) if each.path == path else each for each in mechanism.assemblies]
    running = active_paths(assemblies)
    after = replace(mechanism, assemblies=assemblies)
    after.bodies = [
        _switched(body, body.assembly in running and body.extra.get("active", True) is not False)
        for body in mechanism.bodies
    ]
    bodies = body_by_id(after)
    after.joints = [
        _switched(
            joint,
            joint.assembly in running
            and _is_functional(joint)
            and all(bodies[end].active for end in joint.ends if end is not None),
        )
        for joint in mechanism.joints
    ]
    return Edit(mechanism, after)


def _switched(part: Part, on: bool) -> Part:
    return part if part.active == on else replace(part, active=on)


def lacks_body(joint: Joint) -> bool:
    """Return whether a joint has not two different ends, of which one may be the world."""
    return joint.parent == joint.child


def _is_functional(joint: Joint) -> bool:
    """Return whether a joint is active while its assembly and its bodies are on."""
    own = joint.extra.get("active", True) is not False and not joint.extra.get("broken")
    return own and not lacks_body(joint)


# ---------------------------------------------------------------- values of other degrees of freedom

#: Tolerance of entries of equal motions.
_TOLERANCE = 1e-9
#: Deviation of the cosine between axes up to which they are the same.
_AXIS_TOLERANCE = 1e-10


def change_of_values(old: Sequence[Dof], new: Sequence[Dof], seen: Array) -> JointEdit:
    """Return how joint values change where new degrees of freedom replace old ones in the same frame.

    Those of the same kind about the same axis continue; where there are none, values become the nearest ones.

    Args:
        old: The old degrees of freedom.
        new: The new ones.
        seen: The joint values (size,) of the old ones as seen.
    """
    numbers, now = _match_dofs(old, new), convert_values(old, new, seen)
    convert = partial(_nearest_values, old, new) if old and new and not numbers else None
    return JointEdit(now, now, numbers, convert)


def lost_motion(
    old: Sequence[Dof], new: Sequence[Dof], change: JointEdit, values: Array, seen: Array
) -> tuple[Array, Array]:
    """Return how far a joint's child is off where new degrees of freedom replaced old ones, seen from where it stays.

    Args:
        old: The old degrees of freedom.
        new: The new ones.
        change: The change of the joint's values (``change_of_values``).
        values: Old values (n, size).
        seen: The old values (size,) at which the child stays in place.

    Returns:
        Distances and angles (rad), each (n,).
    """
    assert change.values is not None
    after = change.converted(values)
    one, other = _joint_with(old), _joint_with(new)
    moved = inverse(joint_motion(one, seen[None])) @ joint_motion(one, values)
    moves = inverse(joint_motion(other, change.values[None])) @ joint_motion(other, after)
    turned = np.linalg.norm(moves[:, :3, :3] - moved[:, :3, :3], axis=(1, 2)) / np.sqrt(2.0)  # 2 sin(angle / 2)
    return np.linalg.norm(moves[:, :3, 3] - moved[:, :3, 3], axis=1), 2.0 * np.arcsin(np.minimum(1.0, turned / 2.0))


def _match_dofs(old: Sequence[Dof], new: Sequence[Dof]) -> dict[int, tuple[int, float]]:
    """Return new index and factor of each old joint value that continues: of the same kind about the same axis.

    A hinge that becomes a screw about its axis, or the reverse, continues too.
    """
    first, second = first_indices(old), first_indices(new)
    is_alone, left = len(old) == len(new) == 1, [*range(len(new))]
    out: dict[int, tuple[int, float]] = {}
    for number, dof in enumerate(old):
        at, factor = next(((k, sign) for k in left if (sign := _direction(dof, new[k], is_alone))), (-1, 0.0))
        if factor:
            left.remove(at)
            out |= {first[number] + k: (second[at] + k, factor) for k in range(DOF_SIZE[dof.kind])}
    return out


def _direction(old: Dof, new: Dof, is_alone: bool) -> float:
    """Return 1 where a degree of freedom is the same as another, -1 where its axis points against it, else 0."""
    if old.kind != new.kind and not (is_alone and {old.kind, new.kind} == {"rotation", "screw"}):
        return 0.0
    if DOF_SIZE[old.kind] > 1:
        return 1.0
    along = float(old.axis @ new.axis) / float(np.linalg.norm(old.axis) * np.linalg.norm(new.axis))
    return float(np.sign(along)) if abs(along) > 1.0 - _AXIS_TOLERANCE else 0.0


def convert_values(old: Sequence[Dof], new: Sequence[Dof], value: Array) -> Array:
    """Return the new joint values (size,) nearest to old ones.

    Degrees of freedom that continue keep their values, as their keyframes do.
    """
    numbers, same = _match_dofs(old, new), np.zeros(first_indices(new)[-1])
    for was, (now, factor) in numbers.items():
        same[now] = factor * value[was]
    if numbers or np.abs(_motion(new, same) - _motion(old, value)).max() < _TOLERANCE:
        return same
    return _nearest_values(old, new, value[None])[0]


def _nearest_values(old: Sequence[Dof], new: Sequence[Dof], values: Array) -> Array:
    """Return the values (n, size) of new degrees of freedom whose motion is nearest to that of old ones (n, old)."""
    near = joint_values_from_transform(_joint_with(new), joint_motion(_joint_with(old), values))
    return np.where(np.abs(near) < _TOLERANCE, 0.0, near)


def _joint_with(dofs: Sequence[Dof]) -> Joint:
    return Joint("", "", "", None, None, dofs=list(dofs))


def _motion(dofs: Sequence[Dof], coordinates: Array) -> Array:
    return joint_motion(_joint_with(dofs), coordinates[None])[0]
