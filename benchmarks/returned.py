"""What is not as it was when a mechanism comes back from another format, and whether the reports said so.

Everything is compared in the world, where it does not matter on which frame of a body its numbers are told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addon.core.mass_properties import body_inertia
from addon.core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, Shape
from addon.core.report import Entry
from benchmarks.standing import apart, paired, size_of

#: What differs by no more than this, by the size of what is compared, came back.
CLOSE = 1e-9


@dataclass(frozen=True)
class Difference:
    """One thing that did not come back: ``what`` kind of thing, of whom, and how far off it is (1 for what is gone or
    is no number)."""

    what: str
    whose: str
    detail: str
    amount: float = 1.0

    def __str__(self) -> str:
        return f"{self.what} of '{self.whose}': {self.detail}"


#: The entries of reports that announce each kind of difference: their codes and, behind a colon, a word of the message.
ANNOUNCED: dict[str, tuple[str, ...]] = {
    "body": ("dropped-inactive", "dropped-body"),
    "joint": ("dropped-joint", "left-joint", "cut-loop"),
    "body frame": ("moved-frame", "moved-body"),
    "body name": ("renamed",),
    "joint name": ("renamed",),
    "mass": (),
    "centre of mass": ("moved-com",),
    "inertia": ("dropped-inertia", "approximated-inertia", "invented-inertia"),
    "gravity flag": ("dropped-flag:gravity",),
    "collidable": ("dropped-flag:collision",),
    "immobile": ("dropped-flag:fixed",),
    "body assembly": ("dropped-assembly", "invented-assembly"),
    "joint assembly": ("dropped-assembly", "invented-assembly"),
    "assembly": ("dropped-assembly",),
    "body twin": ("dropped-twin",),
    "joint twin": ("dropped-twin",),
    "shapes": ("dropped-shape", "dropped-shape-use", "approximated-shape", "undrawn-shape"),
    "shape pose": ("moved-axes", "approximated-shape", "dropped-shape"),
    "shape size": ("approximated-shape", "dropped-shape", "mended-size"),
    "shape use": ("dropped-shape-use", "dropped-shape"),
    "colour": ("dropped-color",),
    "joint type": ("approximated-joint", "renamed-joint-type"),
    "freedom": ("approximated-joint",),
    "ends": ("reversed-joint", "joint-to-world"),
    "active": ("joint-to-world", "dropped-inactive", "dropped-flag:switched"),
    "joint frame": ("approximated-joint", "joint-apart"),
    "limits": ("dropped-limit",),
    "start": ("dropped-joint-property:position",),
    "velocity": ("dropped-joint-property:velocity",),
    "damping": ("dropped-joint-property:damping",),
    "friction": ("dropped-joint-property:friction",),
    "spring": ("dropped-joint-property:stiffness",),
    "armature": ("dropped-joint-property:inertia",),
    "gain": ("dropped-joint-property:gain",),
    "strength": ("dropped-joint-property:max_force",),
    "gravity": ("approximated-gravity",),
    "world friction": ("dropped-world:friction",),
    "erp": ("dropped-world:erp",),
    "cfm": ("dropped-world:cfm",),
    "ground": ("dropped-world:ground",),
    "time step": ("dropped-world:Time",),
    "frame": ("dropped-frame",),
    "frame turn": ("dropped-rotation",),
    "light": ("dropped-light",),
    "restraint": ("dropped-restraint",),
    "behaviours": ("dropped-behaviours",),
}


def is_announced(difference: Difference, entries: Iterable[Entry]) -> bool:
    """Whether a report said that this would not come back."""
    wanted = [rule.partition(":") for rule in ANNOUNCED[difference.what]]
    return any(entry.code == code and word in entry.message for entry in entries for code, _, word in wanted)


def differences(one: Mechanism, other: Mechanism) -> list[Difference]:
    """What of a mechanism is not in what it became, and by how much every number is off that is not exactly the
    same."""
    size = size_of(one)
    pairs = paired(one, other)
    found: list[Difference] = list(_world(one, other))
    for body in one.bodies:
        there = pairs.bodies.get(body.id)
        if there is None:
            found.append(Difference("body", body.name, "is not there"))
        else:
            found += _body(body, there, size)
    poses = {body.id: body.pose for body in one.bodies}
    others = {body.id: body.pose for body in other.bodies}
    same = {own: body.id for own, body in pairs.bodies.items()}
    for joint in one.joints:
        back = pairs.joints.get(joint.id)
        if back is None:
            found.append(Difference("joint", joint.name, "is not there"))
        else:
            found += _joint(joint, back, _Places(poses, others, same, size))
    twins = {own: joint.id for own, joint in pairs.joints.items()}
    for joint in one.joints:
        if joint.id in pairs.joints and twins.get(joint.twin or "") != pairs.joints[joint.id].twin:
            found.append(Difference("joint twin", joint.name, f"{joint.twin} is {pairs.joints[joint.id].twin}"))
    for body in one.bodies:
        if body.id in same and same.get(body.twin or "") != pairs.bodies[body.id].twin:
            found.append(Difference("body twin", body.name, f"{body.twin} is {pairs.bodies[body.id].twin}"))
    return found


def _off(mine: Any, theirs: Any, size: float = 0.0) -> float:
    """How far numbers are apart, by their own size or that given; 1 where one of them is missing."""
    if mine is None or theirs is None or np.shape(mine) != np.shape(theirs):
        return float(mine is not theirs)
    mine, theirs = np.asarray(mine, dtype=float), np.asarray(theirs, dtype=float)
    return float(np.abs(mine - theirs).max(initial=0.0)) / (size or float(np.abs(mine).max(initial=0.0)) or 1.0)


def _numbers(what: str, whose: str, mine: Any, theirs: Any, size: float = 0.0) -> Iterator[Difference]:
    amount = _off(mine, theirs, size)
    if amount > CLOSE:
        yield Difference(what, whose, f"{_short(mine)} is {_short(theirs)}", amount)
    elif amount > 0.0:
        yield Difference(what, whose, "rounding", amount)


def _poses(what: str, whose: str, mine: Array, theirs: Array, size: float) -> Iterator[Difference]:
    amount = apart(mine, theirs, size)
    if amount > 0.0:
        yield Difference(what, whose, f"{amount:.3g} away", amount)


def _equal(what: str, whose: str, mine: Any, theirs: Any) -> Iterator[Difference]:
    if mine != theirs:
        yield Difference(what, whose, f"{mine!r} is {theirs!r}")


def _short(value: Any) -> str:
    return " ".join(np.array2string(np.asarray(value), precision=6).split()) if np.ndim(value) else str(value)


def _body(body: Body, there: Body, size: float) -> Iterator[Difference]:
    name = body.name
    yield from _equal("body name", name, body.name, there.name)
    yield from _poses("body frame", name, body.pose, there.pose, size)
    yield from _numbers("mass", name, body.mass, there.mass)
    yield from _numbers("centre of mass", name, _point(body.pose, body.com), _point(there.pose, there.com), size)
    yield from _numbers("inertia", name, _tensor(body), _tensor(there))
    yield from _equal("gravity flag", name, body.gravity, there.gravity)
    yield from _equal("collidable", name, body.collidable, there.collidable)
    yield from _equal("immobile", name, body.immobile, there.immobile)
    yield from _equal("body assembly", name, body.assembly, there.assembly)
    yield from _shapes(body, there, size)


def _point(pose: Array, place: Array) -> Array:
    return pose[:3, :3] @ place + pose[:3, 3]


def _tensor(body: Body) -> Array:
    """The inertia (3, 3) about the centre of mass, along the world's axes."""
    return body.pose[:3, :3] @ body_inertia(body) @ body.pose[:3, :3].T


def _shapes(body: Body, there: Body, size: float) -> Iterator[Difference]:
    mine, theirs = _halves(body.shapes), _halves(there.shapes)
    kinds, others = [shape.type for shape in mine], [shape.type for shape in theirs]
    if kinds != others:
        yield Difference("shapes", body.name, f"{kinds} are {others}")
        return
    for shape, other in zip(mine, theirs, strict=True):
        place = f"{body.name} ({shape.type})"
        yield from _poses("shape pose", place, body.pose @ shape.pose, there.pose @ other.pose, size)
        yield from _equal("shapes", place, (shape.mesh, shape.soft), (other.mesh, other.soft))
        for key in shape.size.keys() | other.size.keys():
            yield from _numbers("shape size", place, shape.size.get(key), other.size.get(key))
        yield from _numbers("shape size", place, shape.spheres, other.spheres)
        yield from _equal("shape use", place, (shape.visual, shape.collision), (other.visual, other.collision))
        yield from _numbers("colour", place, shape.color, other.color)


def _halves(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes for the eye, then shapes for collisions; one for both is two, as some formats have it."""
    seen = [replace(shape, collision=False) for shape in shapes if shape.visual]
    felt = [replace(shape, visual=False, color=None) for shape in shapes if shape.collision]
    return [*seen, *felt, *(shape for shape in shapes if not shape.visual and not shape.collision)]


@dataclass(frozen=True)
class _Places:
    """Design poses of the bodies of both, the second's ids by the first's, and the size of the model."""

    mine: dict[str, Array]
    theirs: dict[str, Array]
    same: dict[str, str]
    size: float


def _joint(joint: Joint, there: Joint, places: _Places) -> Iterator[Difference]:
    name = joint.name
    yield from _equal("joint type", name, joint.type, there.type)
    yield from _equal("joint assembly", name, joint.assembly, there.assembly)
    yield from _equal("active", name, joint.active, there.active)
    ends = [places.same.get(end, end) if end is not None else None for end in (joint.parent, joint.child)]
    if ends != [there.parent, there.child]:
        yield Difference("ends", name, f"{ends} are {[there.parent, there.child]}")
        return
    kinds, others = [dof.kind for dof in joint.dofs], [dof.kind for dof in there.dofs]
    if kinds != others:
        yield Difference("freedom", name, f"{kinds} is {others}")
        return
    frames = [
        (places.mine.get(joint.parent or "", np.eye(4)) @ joint.frame_parent,
         places.theirs.get(there.parent or "", np.eye(4)) @ there.frame_parent),
        (places.mine.get(joint.child or "", np.eye(4)) @ joint.frame_child,
         places.theirs.get(there.child or "", np.eye(4)) @ there.frame_child),
    ]  # fmt: skip
    for mine, theirs in frames:
        yield from _numbers("joint frame", name, mine[:3, 3], theirs[:3, 3], places.size)
        for dof, other in zip(joint.dofs, there.dofs, strict=True):
            if DOF_SIZE[dof.kind] == 1:
                yield from _numbers("joint frame", name, mine[:3, :3] @ _unit(dof), theirs[:3, :3] @ _unit(other))
            else:
                yield from _numbers("joint frame", name, mine[:3, :3], theirs[:3, :3])
    for dof, other in zip(joint.dofs, there.dofs, strict=True):
        yield from _dof(dof, other, name)


def _unit(dof: Dof) -> Array:
    return np.asarray(dof.axis) / np.linalg.norm(dof.axis)


def _dof(dof: Dof, other: Dof, name: str) -> Iterator[Difference]:
    yield from _numbers("start", name, dof.initial, other.initial, 1.0)
    yield from _numbers("velocity", name, _rates(dof), _rates(other), 1.0)
    yield from _numbers("freedom", name, dof.pitch, other.pitch)
    yield from _numbers("gain", name, dof.gain, other.gain)
    yield from _numbers("strength", name, dof.max_force, other.max_force)
    for mine, theirs in zip(_singles(dof), _singles(other), strict=True):
        for what, attributes in _SINGLE.items():
            for attribute in attributes:
                yield from _numbers(what, name, getattr(mine, attribute), getattr(theirs, attribute))


def _rates(dof: Dof) -> Array:
    return np.array(dof.start_rates or [dof.velocity] * DOF_SIZE[dof.kind])


_SINGLE = {
    "limits": ("lower", "upper"),
    "damping": ("damping",),
    "friction": ("friction",),
    "spring": ("stiffness", "rest"),
    "armature": ("armature",),
}


def _singles(dof: Dof) -> list[Dof]:
    return dof.parts or [dof] * DOF_SIZE[dof.kind]


def _frames(one: Mechanism, other: Mechanism) -> Iterator[Difference]:
    """Frames by name and by where they stand in the world."""
    size = size_of(one)
    places = _frames_in_world(other)
    for name, poses in _frames_in_world(one).items():
        for pose in poses:
            off = [(apart(pose, back, size), float(np.abs(pose - back)[:3, 3].max()) / size) for back in places[name]]
            if not any(place <= CLOSE for _, place in off):
                yield Difference("frame", name, "is not there")
            elif not any(both <= CLOSE for both, _ in off):
                yield Difference("frame turn", name, f"{min(off)[0]:.3g} away", min(off)[0])


def _frames_in_world(mechanism: Mechanism) -> defaultdict[str, list[Array]]:
    found: defaultdict[str, list[Array]] = defaultdict(list)
    poses = {body.id: body.pose for body in mechanism.bodies}
    for frame in mechanism.frames:
        found[frame.name].append(poses.get(frame.body or "", np.eye(4)) @ frame.pose)
    return found


def _world(one: Mechanism, other: Mechanism) -> Iterator[Difference]:
    name, mine, theirs = one.name, one.world, other.world
    yield from _numbers("gravity", name, mine.gravity, theirs.gravity)
    for what, attribute in (("world friction", "friction"), ("erp", "erp"), ("cfm", "cfm"), ("ground", "ground"),
                            ("time step", "time_step")):  # fmt: skip
        if getattr(mine, attribute) is not None:
            yield from _numbers(what, name, getattr(mine, attribute), getattr(theirs, attribute))
    yield from _frames(one, other)
    for what, items, others in (
        ("light", one.lights, other.lights),
        ("restraint", one.restraints, other.restraints),
        ("assembly", one.assemblies, other.assemblies),
    ):
        for item in items:
            if item.name not in [each.name for each in others]:  # type: ignore[attr-defined]
                yield Difference(what, item.name, "is not there")  # type: ignore[attr-defined]
    if getattr(one.behaviours, "items", None) and not getattr(other.behaviours, "items", None):
        yield Difference("behaviours", name, "are not there")
