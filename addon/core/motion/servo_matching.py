"""Which servo of a mechanism is meant by each servo of a motion file: their names, matched in one place.

Programs spell the same servo ``Left Hip``, ``left_hip``, ``LeftHip``, ``left-hip`` and ``left.hip``. What is spelled
exactly so is meant first; what differs in case and separators only, second. A mapping by hand goes before both.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from .. import naming
from ..model import DOF_SIZE, Dof, Mechanism, Motion, Trajectory
from ..stops import Limits, stops_of

_SEPARATORS = re.compile(r"[\s_\-./:]+")
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass
class Match:
    """What came of matching.

    ``pairs``: the file's name -> the mechanism's, no two of which are the same. ``unmatched``: the file's name -> why
    it moves nothing, in words. ``loose``: those of the pairs whose names are not the same to the letter and that no
    mapping gave. ``repeated``: names that the file has several times; all of them stand for one servo, which can follow
    only one. ``unused``: names in the mapping that the file does not have.
    """

    pairs: dict[str, str] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    loose: dict[str, str] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def match_servos(names: Sequence[str], known: Sequence[str], mapping: Mapping[str, str] = _NOTHING) -> Match:
    """Match a file's servo ``names`` to the ``known`` servos of a mechanism.

    ``mapping``: file's name -> servo's name, which goes before everything; "" leaves the file's servo out. Where two
    of the file's servos would come to one, or one could be several, neither is guessed: all are reported.
    """
    counts = Counter(names)
    match = Match(repeated=[name for name, count in counts.items() if count > 1])
    match.unused = [name for name in mapping if name not in counts]
    servos = dict.fromkeys(known)
    _follow_mapping(match, counts, servos, mapping)
    taken = {servo: name for name, servo in match.pairs.items()}
    for name in counts:
        if name not in mapping and name in servos:
            if name in taken:
                match.unmatched[name] = f"the mapping gives its servo to {taken[name]!r}"
            else:
                match.pairs[name] = name
    _match_loosely(match, [name for name in counts if name not in mapping and name not in servos], list(servos))
    for found in (match.pairs, match.unmatched, match.loose):  # in the file's order
        ordered = {name: found[name] for name in counts if name in found}
        found.clear()
        found.update(ordered)
    return match


def followed(motion: Motion, match: Match) -> Motion:
    """The motion with its matched servos under the mechanism's names, and without the others.

    Of a servo that the file has several times, the last counts.
    """
    chosen: dict[str, Trajectory] = {each.name: each for each in motion.trajectories if each.name in match.pairs}
    tracks = [
        Trajectory(match.pairs[name], each.times, each.values, each.interpolation, each.held, each.unit)
        for name, each in chosen.items()
    ]
    return Motion(motion.name, tracks, dict(motion.attributes))


def loose_key(name: str) -> str:
    """Return what is left of a name where case and separators do not count.

    Between digits a separator does: leg 1-2 is not leg 12.
    """
    words = [word for word in _SEPARATORS.split(unicodedata.normalize("NFKC", name).casefold()) if word]
    key = "".join(words[:1])
    for word in words[1:]:
        key += f" {word}" if key[-1].isdigit() and word[0].isdigit() else word
    return key


def _follow_mapping(match: Match, names: Mapping[str, int], servos: Mapping[str, None], by: Mapping[str, str]) -> None:
    claims: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if name in by and by[name]:
            claims[by[name]].append(name)
        elif name in by:
            match.unmatched[name] = "the mapping leaves it out"
    for servo, claimants in claims.items():
        if servo not in servos:
            near = _listed(each for each in servos if loose_key(each) == loose_key(servo))
            hint = f"; it has {near}" if near else ""
            for name in claimants:
                match.unmatched[name] = f"the mapping gives it servo {servo!r}, which the mechanism does not have{hint}"
        elif len(claimants) > 1:
            for name in claimants:
                match.unmatched[name] = f"the mapping gives servo {servo!r} to several: {_listed(claimants)}"
        else:
            match.pairs[claimants[0]] = servo


def _match_loosely(match: Match, names: Sequence[str], known: Sequence[str]) -> None:
    """Pair what is left over on both sides where exactly one is meant by exactly one."""
    taken = {servo: name for name, servo in match.pairs.items()}
    meant: dict[str, list[str]] = defaultdict(list)
    for servo in known:
        meant[loose_key(servo)].append(servo)
    asking: dict[str, list[str]] = defaultdict(list)
    for name in names:
        asking[loose_key(name)].append(name)
    for name in names:
        key = loose_key(name)
        candidates, rivals = (meant[key] if key else []), asking[key]
        free = [servo for servo in candidates if servo not in taken]
        if len(candidates) > 1 and free:
            match.unmatched[name] = f"several servos may be meant: {_listed(candidates)}"
        elif free and len(rivals) > 1:
            match.unmatched[name] = f"servo {free[0]!r} may be meant by several: {_listed(rivals)}"
        elif free:
            match.pairs[name] = match.loose[name] = free[0]
        elif candidates:
            match.unmatched[name] = f"servo {candidates[0]!r} already follows {taken[candidates[0]]!r}"
        else:
            match.unmatched[name] = _why_unknown(name, known)


def _why_unknown(name: str, known: Sequence[str]) -> str:
    key = loose_key(name)
    several = sorted(each for each in known if key and "/" in each and loose_key(each.rpartition("/")[0]) == key)
    if several:
        return f"its joint has several coordinates, each with a servo of its own: {_listed(several)}"
    return "no joint has this name"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


@dataclass(frozen=True)
class Servo:
    """One coordinate of a joint as motions know it.

    ``slides``: it is a length, not an angle (rad). ``lower`` and ``upper`` are None where there is no stop.
    """

    name: str
    joint: str
    slides: bool
    lower: float | None
    upper: float | None

    @property
    def stops(self) -> Limits:
        """Both stops."""
        return self.lower, self.upper


def servos_of(mechanism: Mechanism, active: bool = True) -> dict[str, Servo]:
    """The servos of the joints that move, or else of those that are switched off, by name.

    Of joints with one id the first that moves counts.
    """
    names = naming.servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    firsts = {joint.id: joint for joint in reversed(mechanism.joints) if joint.dofs}
    return {
        name: Servo(name, joint.id, slides, *stops)
        for joint in mechanism.joints
        if firsts.get(joint.id) is joint and joint.active == active
        for name, slides, stops in zip(names[joint.id], _slides(joint.dofs), stops_of(joint.dofs), strict=True)
    }


def _slides(dofs: Iterable[Dof]) -> Iterator[bool]:
    """Of each coordinate whether it is a length."""
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        yield from ([dof.kind == "translation"] if size == 1 else [number >= 3 for number in range(size)])
