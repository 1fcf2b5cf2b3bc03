"""Motions mirrored from left to right.

A pose is mirrored where each body's twin has moved, from where it was designed, as the mirror image of how the body has
moved: ``D' = S D S`` with the reflection ``S`` about the plane between the twins. For a joint that says
``J'(q') = K J(q) K^-1`` with ``K`` its frame reflected and seen from its counterpart's: a turn about ``a`` becomes one
about ``-K a``, a slide along ``a`` one along ``K a``; and the inverse of it where the counterpart has its bodies the
other way round. What that makes of the coordinates follows from the axes alone, whatever the signs in the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..kinematics import joint_frames_world
from ..model import DOF_SIZE, Array, Body, Dof, DofKind, Joint, Mechanism, Motion, Plane, Trajectory
from ..motion.keyframes import Keys, turned_round
from ..motion.retiming import span_of
from ..naming import servo_names
from ..report import Report
from ..transforms import inverse
from .sides import Sides, name_list, sides_of

#: Cosines: axes of counterparts that are nearer are taken for mirror images, those that are further off not at all.
_SAME, _RELATED = float(np.cos(np.radians(1.0))), 0.7
#: A reflection whose numbers are this near to 0 and 1 takes coordinates one by one.
_PLAIN = 1e-6


@dataclass(frozen=True)
class Part:
    """Coordinates of a joint and those of its counterpart that they become: ``values @ matrix.T``.

    ``of`` and ``to`` are numbers of coordinates in their joints: one, or the 3 of a ball, the 6 of a free block.
    """

    kind: DofKind
    of: tuple[int, ...]
    to: tuple[int, ...]
    matrix: Array


@dataclass(frozen=True)
class JointMirror:
    """How the coordinates of the joint ``source`` become those of ``target``; a middle joint is its own."""

    source: str
    target: str
    parts: tuple[Part, ...]


@dataclass
class Mirror:
    """How the motions of a mechanism are mirrored: for every joint that moves and has a counterpart, by its id."""

    sides: Sides
    joints: dict[str, JointMirror]
    names: dict[str, tuple[str, ...]]
    heights: dict[str, float]
    report: Report = field(default_factory=Report)

    def on_side(self, positive: bool) -> list[str]:
        """The ids of the joints on one side that have a counterpart on the other: where the plane's normal points
        (+X as a rule, right of what looks along Y), or the other."""
        return [
            key
            for key, each in self.joints.items()
            if each.target != key and ((self.heights[key], key) > (self.heights[each.target], each.target)) == positive
        ]

    def values(self, coordinates: Mapping[str, Array]) -> dict[str, Array]:
        """Mirrored coordinates, joint id -> (n, size), of coordinates (n, size): as ``Tree.forward`` takes them."""
        out = {}
        for key, each in self.joints.items():
            if key in coordinates:
                given = np.asarray(coordinates[key], dtype=np.float64)
                found = np.zeros_like(given)
                for part in each.parts:
                    found[:, part.to] = given[:, part.of] @ part.matrix.T
                out[each.target] = found
        return out


def mirror_of(mechanism: Mechanism, normal: Array | None = None) -> Mirror:
    """Return how motions of a mechanism are mirrored. ``normal`` (3,) chooses the plane's direction, else its parts do.

    The report lists the pairs that were found by name, what has no counterpart, and what is mirrored roughly because
    the axes are no mirror images of each other.
    """
    sides = sides_of(mechanism, normal)
    frames = joint_frames_world(mechanism)
    every = {joint.id: joint for joint in reversed(mechanism.joints)}
    names = servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    heights = {key: sides.plane.height(frame[:3, 3]) for key, frame in frames.items()}
    out = Mirror(sides, {}, names, heights)
    bodies = {body.id: body for body in mechanism.bodies}
    rough: dict[str, float] = {}
    lone = []
    for joint in mechanism.joints:
        if not (joint.dofs and joint.active):
            continue
        other = every[sides.joints.get(joint.id, joint.id)]
        swapped = image_ends(joint, other, sides.bodies, bodies, sides.plane)[1]
        with np.errstate(over="ignore", invalid="ignore"):  # frames may stand anywhere that a number can tell
            reflected = inverse(frames[other.id]) @ sides.plane.reflection @ frames[joint.id]
        parts, nearest = joint_parts(joint, other, reflected, swapped)
        if not parts:
            lone.append(joint.name or joint.id)
            continue
        if nearest < _SAME:
            rough[joint.name or joint.id] = float(np.degrees(np.arccos(nearest)))
        out.joints[joint.id] = JointMirror(joint.id, other.id, parts)
    _tell(out, every, lone, rough)
    return out


def _tell(mirror: Mirror, every: Mapping[str, Joint], lone: list[str], rough: Mapping[str, float]) -> None:
    named = [key for key in mirror.on_side(positive=False) if key in mirror.sides.named]
    if named:
        pairs = [f"{every[key].name} / {every[mirror.sides.joints[key]].name}" for key in named]
        mirror.report.info(
            "mirror-by-name", f"{len(pairs)} pairs have no twins and were found by name: {name_list(pairs)}"
        )
    if not mirror.sides.joints:
        mirror.report.warn(
            "mirror-no-sides", "No joint has a twin or a name that tells its side: all are mirrored onto themselves"
        )
    if lone:
        mirror.report.warn("mirror-alone", f"No counterpart, left as they are: {name_list(lone)}")
    if rough:
        worst = max(rough.values())
        mirror.report.warn(
            "mirror-rough",
            f"Mirrored roughly, their axes are up to {worst:.0f}° from mirror images: {name_list(rough)}",
        )


def image_ends(
    joint: Joint, twin: Joint | None, mates: Mapping[str, str], bodies: Mapping[str, Body], plane: Plane
) -> tuple[tuple[str | None, str | None], bool]:
    """Find the bodies that the mirror image of a joint joins, and whether the twin has them the other way round.

    A body with a twin has that for its image. One without has the body in its place at the joint's twin, if that has no
    twin either and is nearer to its image than it is itself, else itself. ``mates`` are the twins of bodies, by id;
    ``bodies`` those that the two joints join.

    Returns:
        The images of the joint's parent and child, and whether the twin's parent is the image of the child.
    """
    swapped = twin is not None and _is_swapped(joint, twin, mates, bodies, plane)
    its = (None, None) if twin is None else (twin.child, twin.parent) if swapped else (twin.parent, twin.child)

    def image(end: str | None, there: str | None) -> str | None:
        if end is None or end in mates:
            return mates[end] if end is not None else None
        return end if there is None or there in mates or not is_nearer(there, end) else there

    def is_nearer(there: str, end: str) -> bool:
        if there == end or there not in bodies or end not in bodies:
            return True
        (where, its), flip = (_center(bodies[each]) for each in (end, there)), plane.reflection
        with np.errstate(over="ignore", invalid="ignore"):
            at = flip[:3, :3] @ where + flip[:3, 3]
            return bool(np.linalg.norm(at - its) < np.linalg.norm(at - where))

    return (image(joint.parent, its[0]), image(joint.child, its[1])), swapped


def _center(body: Body) -> Array:
    """The center of mass of a body in the world, (3,)."""
    center: Array = body.pose[:3, :3] @ body.com + body.pose[:3, 3]
    return center


def _is_swapped(joint: Joint, other: Joint, mates: Mapping[str, str], bodies: Mapping[str, Body], plane: Plane) -> bool:
    """Return whether the counterpart has its bodies the other way round: its parent is the mirror image of the
    child."""
    parent, child = (mates.get(end, end) if end is not None else None for end in (joint.parent, joint.child))
    if (parent, child) == (other.parent, other.child):
        return False
    if (child, parent) == (other.parent, other.child):
        return True
    if parent == other.parent or child == other.child:
        return False
    if child == other.parent or parent == other.child:
        return True
    found = [bodies.get(end or "") for end in (joint.parent, joint.child, other.parent, other.child)]
    at = [_center(body) for body in found if body is not None]
    if len(at) < len(found):
        return False
    flip = plane.reflection
    ends = [flip[:3, :3] @ place + flip[:3, 3] for place in at[:2]]
    straight = np.linalg.norm(ends[0] - at[2]) + np.linalg.norm(ends[1] - at[3])
    crossed = np.linalg.norm(ends[1] - at[2]) + np.linalg.norm(ends[0] - at[3])
    return bool(crossed < straight)


@dataclass(frozen=True, eq=False)
class _Step:
    """A degree of freedom with its first coordinate's number and, as its counterpart would have it, its axis."""

    dof: Dof
    at: int
    axis: Array

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(range(self.at, self.at + DOF_SIZE[self.dof.kind]))


def joint_parts(joint: Joint, other: Joint, reflected: Array, swapped: bool) -> tuple[tuple[Part, ...], float]:
    """The parts of a joint and the least cosine between an axis' mirror image and the counterpart's own; no parts
    where some coordinate becomes none of the counterpart's."""
    turn = reflected[:3, :3]
    sense = -1.0 if swapped else 1.0
    mine = [
        _Step(s.dof, s.at, sense * (turn if s.dof.kind == "translation" else -turn) @ s.axis) for s in _steps(joint)
    ]
    its = _steps(other)
    if swapped:
        mine.reverse()
    matched = _matched(mine, its)
    if matched is None:
        return (), 0.0
    parts, nearest = [], 1.0
    for step, its_step in matched:
        kind = step.dof.kind
        if kind in {"ball", "free"}:
            matrix = np.zeros((DOF_SIZE[kind],) * 2)
            matrix[:3, :3] = -sense * turn
            if kind == "free":
                if swapped or np.abs(reflected[:3, 3]).max() > _PLAIN:
                    return (), 0.0  # neither is a matter of its coordinates one by one
                matrix[3:, 3:] = turn
            matrix[np.abs(matrix) < _PLAIN] = 0.0
        else:
            along = float(step.axis @ its_step.axis)
            nearest = min(nearest, abs(along))
            matrix = np.array([[np.sign(along)]])
        parts.append(Part(kind, step.numbers, its_step.numbers, matrix))
    return tuple(sorted(parts, key=lambda part: part.of)), nearest


def direction(axis: Array) -> Array:
    """An axis (3,) with length 1; one of no length, which files have too, as it is."""
    return np.asarray(axis, dtype=np.float64) / (float(np.linalg.norm(axis)) or 1.0)


def _steps(joint: Joint) -> list[_Step]:
    out, at = [], 0
    for dof in joint.dofs:
        out.append(_Step(dof, at, direction(dof.axis)))
        at += DOF_SIZE[dof.kind]
    return out


def _matched(mine: list[_Step], its: list[_Step]) -> list[tuple[_Step, _Step]] | None:
    """Return which degree of freedom becomes which: one after the other where their axes allow it, else each the one
    that lies nearest."""
    if len(mine) != len(its):
        return None
    if all(_likeness(a, b) >= _RELATED for a, b in zip(mine, its, strict=True)):
        return list(zip(mine, its, strict=True))
    left = list(its)
    out = []
    for step in mine:
        best = max(left, key=lambda each: _likeness(step, each))
        if _likeness(step, best) < _RELATED:
            return None
        left.remove(best)
        out.append((step, best))
    return out


def _likeness(one: _Step, other: _Step) -> float:
    if one.dof.kind != other.dof.kind:
        return 0.0
    if one.dof.kind == "screw" and abs(one.dof.pitch + other.dof.pitch) > _PLAIN * abs(one.dof.pitch):
        return 0.0  # the mirror image of a right-handed screw is left-handed
    return 1.0 if one.dof.kind in {"ball", "free"} else abs(float(one.axis @ other.axis))


# ---------------------------------------------------------------- motions


def mirrored(
    motion: Motion,
    mirror: Mirror,
    joints: Collection[str] | None = None,
    phase: float = 0.0,
    period: float | None = None,
) -> Motion:
    """A motion mirrored: each servo does what its counterpart did, as in a mirror.

    ``joints`` (ids) are those whose motion goes to their counterparts, while all else stays; None: all, both ways.
    ``phase`` is by how much of a round what is mirrored comes later, wrapping at the end of the motion: 0.5 makes
    one leg's steps the other's. A round takes ``period`` (s); None: as long as the motion.
    """
    given = {each.name: each for each in motion.trajectories}
    made: dict[str, Trajectory | None] = {}
    for key, each in mirror.joints.items():
        if joints is None or key in joints:
            made |= _mirrored_joint(each, mirror, given)
    if phase:
        made |= _later(made, motion, phase, period)
    names = list(dict.fromkeys([*given, *made]))
    tracks = [made[name] if name in made else replace(given[name]) for name in names]
    return replace(
        motion, trajectories=[each for each in tracks if each is not None], attributes=dict(motion.attributes)
    )


def _later(
    made: Mapping[str, Trajectory | None], motion: Motion, phase: float, period: float | None
) -> dict[str, Trajectory | None]:
    """The trajectories that were made, later by a share of a round, in the range of the whole motion."""
    tracks = {name: each for name, each in made.items() if each is not None and len(each.times)}
    keys = {name: Keys.of(each) for name, each in tracks.items()}
    span = span_of(motion, keys.values(), None)
    later = phase * (span.period if period is None else period)
    return {name: turned_round(own, span, later).put_into(tracks[name]) for name, own in keys.items()}


def _mirrored_joint(each: JointMirror, mirror: Mirror, given: Mapping[str, Trajectory]) -> dict[str, Trajectory | None]:
    """The trajectories of a joint's counterpart by servo; None for those that nothing moves."""
    names, own = mirror.names[each.target], mirror.names[each.source]
    out: dict[str, Trajectory | None] = {}
    for part in each.parts:
        tracks = [given.get(own[k]) for k in part.of]
        targets = [names[k] for k in part.to]
        if is_plain(part.matrix):
            rows = np.abs(part.matrix).argmax(axis=1)
            for row, (name, column) in enumerate(zip(targets, rows, strict=True)):
                track = tracks[column]
                sign = float(np.sign(part.matrix[row, column]))
                out[name] = None if track is None else replace(track, name=name, values=sign * np.asarray(track.values))
        elif any(track is not None for track in tracks):
            out |= _mirrored_block(part, tracks, targets)
        else:
            out |= dict.fromkeys(targets)
    return out


def is_plain(matrix: Array) -> bool:
    """Return whether a part's matrix takes each coordinate to one, as it is or with the other sign."""
    return bool((np.abs(np.abs(matrix).max(axis=1) - 1.0) < _PLAIN).all())


def _mirrored_block(part: Part, tracks: list[Trajectory | None], targets: list[str]) -> dict[str, Trajectory | None]:
    """The trajectories of a ball or free block whose mirror image mixes its coordinates: keys at all their times."""
    present = [track for track in tracks if track is not None and len(track.times)]
    times = np.unique(np.concatenate([np.zeros(0), *(track.times for track in present)]))
    values = np.zeros((len(times), len(part.of)))
    held = np.zeros(len(times), dtype=bool)
    for k, track in enumerate(tracks):
        if track is not None and len(track.times):
            values[:, k] = track.at(times)
    if present:
        before = np.searchsorted(present[0].times, times, side="right") - 1
        held = present[0].holds()[np.clip(before, 0, None)]
    image = values @ part.matrix.T
    return {
        name: Keys.of(Trajectory(name, times, image[:, k], held=held)).put_into(Trajectory(name, times, image[:, k]))
        for k, name in enumerate(targets)
    }
