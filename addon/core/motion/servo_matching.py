"""Matching of the servos of a motion file to those of a mechanism, by name.

Programs spell the same servo ``Left Hip``, ``left_hip``, ``LeftHip``, ``left-hip`` and ``left.hip``. Exact matches come
first, then names that differ only in case and separators. An explicit mapping has priority over both.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from .. import naming
from ..model import Mechanism, Motion, Trajectory, are_angles, by_id
from ..report import Message, Report
from ..stops import StopPair, joint_stops

_SEPARATORS = re.compile(r"[\s_\-./:]+")
_NO_MAPPING: Mapping[str, str] = MappingProxyType({})


@dataclass
class ServoMatch:
    """Result of matching.

    ``pairs``: the file's name -> the mechanism's, each of which occurs once. ``unmatched``: the file's name -> the
    reason why it moves nothing. ``loose``: those of the pairs that are neither spelled equally nor from the mapping.
    ``repeated``: names that the file has several times; all of them stand for one servo, which can follow only one.
    ``unused``: names in the mapping that the file does not have.
    """

    pairs: dict[str, str] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    loose: dict[str, str] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)

    def report(self, unmatched: Mapping[str, str], report: Report) -> None:
        """Report names without a match, with the reasons in ``unmatched``, names matched loosely, and repeated ones."""
        for name, why in unmatched.items():
            report.warn("servo-unmatched", Message("Servo {} has no effect: {}", repr(name), why), where=name)
        for name, servo in self.loose.items():
            report.info("servo-matched", Message("Servo {} was matched with {}", repr(name), repr(servo)), where=name)
        for name in self.repeated:
            report.warn(
                "servo-repeated",
                Message("Servo {} occurs several times in the motion. The last one plays", repr(name)),
                where=name,
            )


def match_servos(names: Sequence[str], known: Sequence[str], mapping: Mapping[str, str] = _NO_MAPPING) -> ServoMatch:
    """Match a file's servo ``names`` to the ``known`` servos of a mechanism.

    Ambiguous matches, where two of the file's servos fit one or one fits several, are not resolved but reported.

    Args:
        names: The file's names.
        known: The mechanism's names.
        mapping: The file's name -> servo's name, with priority; "" leaves the file's servo out.
    """
    counts = Counter(names)
    match = ServoMatch(repeated=[name for name, count in counts.items() if count > 1])
    match.unused = [name for name in mapping if name not in counts]
    servos = dict.fromkeys(known)
    _apply_mapping(match, counts, servos, mapping)
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


def apply_servo_match(motion: Motion, match: ServoMatch) -> Motion:
    """Return the motion with its matched servos under the mechanism's names, and without the others.

    Of a servo that the file has several times, the last counts.
    """
    chosen: dict[str, Trajectory] = {each.name: each for each in motion.trajectories if each.name in match.pairs}
    tracks = [
        Trajectory(match.pairs[name], each.times, each.values, each.interpolation, each.held, each.unit)
        for name, each in chosen.items()
    ]
    return Motion(motion.name, tracks, dict(motion.attributes))


def normalize_servo_name(name: str) -> str:
    """Return the key of a name by which names that differ in case and separators are equal.

    Between digits a separator counts: leg 1-2 is not leg 12.
    """
    words = [word for word in _SEPARATORS.split(unicodedata.normalize("NFKC", name).casefold()) if word]
    key = "".join(words[:1])
    for word in words[1:]:
        key += f" {word}" if key[-1].isdigit() and word[0].isdigit() else word
    return key


def _apply_mapping(
    match: ServoMatch, names: Mapping[str, int], servos: Mapping[str, None], by: Mapping[str, str]
) -> None:
    claims: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if name in by and by[name]:
            claims[by[name]].append(name)
        elif name in by:
            match.unmatched[name] = "the mapping leaves it out"
    for servo, claimants in claims.items():
        if servo not in servos:
            near = _quoted_list(each for each in servos if normalize_servo_name(each) == normalize_servo_name(servo))
            hint = f"; it has {near}" if near else ""
            for name in claimants:
                match.unmatched[name] = f"the mapping gives it servo {servo!r}, which the mechanism does not have{hint}"
        elif len(claimants) > 1:
            for name in claimants:
                match.unmatched[name] = f"the mapping gives servo {servo!r} to several: {_quoted_list(claimants)}"
        else:
            match.pairs[claimants[0]] = servo


def _match_loosely(match: ServoMatch, names: Sequence[str], known: Sequence[str]) -> None:
    """Match the remaining names where exactly one on each side has the same key."""
    taken = {servo: name for name, servo in match.pairs.items()}
    meant: dict[str, list[str]] = defaultdict(list)
    for servo in known:
        meant[normalize_servo_name(servo)].append(servo)
    asking: dict[str, list[str]] = defaultdict(list)
    for name in names:
        asking[normalize_servo_name(name)].append(name)
    for name in names:
        key = normalize_servo_name(name)
        candidates, rivals = (meant[key] if key else []), asking[key]
        free = [servo for servo in candidates if servo not in taken]
        if len(candidates) > 1 and free:
            match.unmatched[name] = f"several servos may be meant: {_quoted_list(candidates)}"
        elif free and len(rivals) > 1:
            match.unmatched[name] = f"servo {free[0]!r} may be meant by several: {_quoted_list(rivals)}"
        elif free:
            match.pairs[name] = match.loose[name] = free[0]
        elif candidates:
            match.unmatched[name] = f"servo {candidates[0]!r} already follows {taken[candidates[0]]!r}"
        else:
            match.unmatched[name] = _unknown_reason(name, known)


def _unknown_reason(name: str, known: Sequence[str]) -> str:
    key = normalize_servo_name(name)
    several = sorted(
        each for each in known if key and "/" in each and normalize_servo_name(each.rpartition("/")[0]) == key
    )
    if several:
        return Message("its joint has several coordinates, each with a servo of its own: {}", _quoted_list(several))
    return "no joint has this name"


def _quoted_list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


@dataclass(frozen=True)
class Servo:
    """Coordinate of a joint as motions refer to it.

    ``slides``: it is a length, not an angle (rad). ``lower`` and ``upper`` are None where there is no stop.
    """

    name: str
    joint: str
    slides: bool
    lower: float | None
    upper: float | None

    @property
    def stops(self) -> StopPair:
        """Return both stops."""
        return self.lower, self.upper


def mechanism_servos(mechanism: Mechanism, active: bool = True) -> dict[str, Servo]:
    """Return the servos of the active joints, or else of those that are switched off, by name.

    Of joints with the same id the first with any dof counts.
    """
    names = naming.servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    firsts = by_id(joint for joint in mechanism.joints if joint.dofs)
    return {
        name: Servo(name, joint.id, not angle, *stops)
        for joint in mechanism.joints
        if firsts.get(joint.id) is joint and joint.active == active
        for name, angle, stops in zip(names[joint.id], are_angles(joint.dofs), joint_stops(joint.dofs), strict=True)
    }
