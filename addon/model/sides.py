"""Left and right of a mechanism: which part mirrors which, by twins or by names, and about which plane."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .kinematics import joint_frames_world
from .records import Array, Mechanism

#: Words and letters of names that change with the side. A lone letter counts where it stands apart: ``leg_L``,
#: ``L hip``, ``hipL``, ``LHip``, ``LHY``, or as one of the two of a corner: ``FL``, ``rr_knee``.
_WORDS = re.compile(r"(?P<word>left|right)", re.IGNORECASE)
_LETTERS = re.compile(
    r"(?<![A-Za-z])(?P<corner>[FBMHR][LR]|[LR][FBMHR]|[fbmhr][lr]|[lr][fbmhr])(?![a-z])"
    r"|(?<![A-Za-z])(?P<apart>[LRlr])(?![A-Za-z])"
    r"|(?<![A-Za-z])(?P<before>[LR])(?=[A-Z])"
    r"|(?<=[a-z0-9])(?P<behind>[LR])(?![A-Za-z])"
)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}

#: Axes that lie this near (as a share of the mechanism's size) to the best plane are taken for it.
_AS_GOOD = 1e-3


def counterpart_names(name: str) -> list[str]:
    """The names that a part's counterpart may have, the likeliest first: ``Left Hip`` -> ``Right Hip``."""
    words = list(_WORDS.finditer(name))
    places = [(m.start(), m.end()) for m in words]
    out = []
    if len(places) > 1:
        out.append(_swapped(name, places))
    out += [_swapped(name, [place]) for place in places]
    for match in _LETTERS.finditer(name):
        if match["corner"]:
            out += [_swapped(name, [(k, k + 1)]) for k in (match.end() - 1, match.start()) if name[k].lower() in _OTHER]
        else:
            out.append(_swapped(name, [match.span()]))
    return [each for each in dict.fromkeys(out) if each != name]


def _swapped(name: str, places: Sequence[tuple[int, int]]) -> str:
    out = name
    for start, end in reversed(places):
        here = name[start:end]
        other = _OTHER[here.lower()]
        other = other.upper() if here.isupper() else other.capitalize() if here[0].isupper() else other
        out = out[:start] + other + out[end:]
    return out


def pairs_by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Who mirrors whom among parts with names (id -> name), both ways round: those that are each other's."""
    ids: dict[str, list[str]] = {}
    for key, name in names.items():
        ids.setdefault(name, []).append(key)
    found: dict[str, str] = {}
    for key, name in names.items():
        for other in counterpart_names(name):
            if len(ids.get(other, ())) == 1 and len(ids[name]) == 1 and key not in found and ids[other][0] not in found:
                found[key], found[ids[other][0]] = ids[other][0], key
    return found


def pairs_by_twin(twins: Mapping[str, str | None]) -> dict[str, str]:
    """Who mirrors whom among parts with twins (id -> id), both ways round: those that name each other."""
    return {
        key: other for key, other in twins.items() if other is not None and other != key and twins.get(other) == key
    }


@dataclass(frozen=True)
class Plane:
    """A plane in the world: where ``normal`` (3,), a unit vector, times a point is ``offset``."""

    normal: Array
    offset: float = 0.0

    @property
    def reflection(self) -> Array:
        """What mirrors poses and points about it, (4, 4); its own inverse."""
        out = np.eye(4)
        out[:3, :3] -= 2.0 * np.outer(self.normal, self.normal)
        out[:3, 3] = 2.0 * self.offset * self.normal
        return out

    def height(self, point: Array) -> float:
        """How far a point (3,) lies on the side to which the normal points."""
        return float(self.normal @ point - self.offset)


@dataclass(frozen=True)
class Sides:
    """Who mirrors whom, by id, both ways round; ``named`` are the joints that were found by their names and not as
    twins. ``plane`` is the one between them."""

    bodies: dict[str, str]
    joints: dict[str, str]
    named: frozenset[str]
    plane: Plane


def sides_of(mechanism: Mechanism, normal: Array | None = None) -> Sides:
    """Left and right of a mechanism. Parts without a twin are matched by their names among themselves.

    The plane is the one that mirrors the pairs best where they were designed: one of the file's own axes stands
    square to it if that fits. ``normal`` (3,) chooses its direction. Without a pair it is X = 0."""
    bodies = pairs_by_twin({body.id: body.twin for body in mechanism.bodies})
    joints = pairs_by_twin({joint.id: joint.twin for joint in mechanism.joints})
    named = pairs_by_name({joint.id: joint.name for joint in mechanism.joints if joint.id not in joints})
    bodies |= pairs_by_name({body.id: body.name for body in mechanism.bodies if body.id not in bodies})
    joints |= named
    return Sides(bodies, joints, frozenset(named), _plane(mechanism, bodies, joints, normal))


def _plane(mechanism: Mechanism, bodies: dict[str, str], joints: dict[str, str], normal: Array | None) -> Plane:
    points = {body.id: body.pose[:3, :3] @ body.com + body.pose[:3, 3] for body in mechanism.bodies}
    frames = joint_frames_world(mechanism)
    here = [(points[key], points[other]) for key, other in bodies.items() if key < other]
    here += [(frames[key][:3, 3], frames[other][:3, 3]) for key, other in joints.items() if key < other]
    spread: Array = np.array(here).reshape(-1, 2, 3)
    across = spread[:, 1] - spread[:, 0]
    size = float(np.ptp(spread.reshape(-1, 3), axis=0).max()) if len(spread) else 0.0
    if normal is not None:
        return _set_at_zero(Plane(np.asarray(normal, dtype=np.float64)), spread, size)
    if size == 0.0 or np.abs(across).max() <= _AS_GOOD * size:
        return Plane(np.eye(3)[0])
    best = np.linalg.svd(across, full_matrices=False)[2][0]
    planes = [
        _set_at_zero(Plane(axis), spread, size) for axis in (*np.eye(3), best * np.sign(best[np.abs(best).argmax()]))
    ]
    misses = [_miss(plane, spread) for plane in planes]
    return next(p for p, miss in zip(planes, misses, strict=True) if miss <= min(misses) + _AS_GOOD * size)


def _set_at_zero(plane: Plane, spread: Array, size: float) -> Plane:
    """The plane moved between pairs of points (n, 2, 3); through the origin where that fits as well."""
    if not len(spread):
        return plane
    between = replace(plane, offset=float(np.median(spread.mean(axis=1) @ plane.normal)))
    return plane if _miss(plane, spread) <= _miss(between, spread) + _AS_GOOD * size else between


def _miss(plane: Plane, spread: Array) -> float:
    """By how much a plane misses to mirror pairs of points (n, 2, 3) onto each other, at the median."""
    turned = spread[:, 0] @ plane.reflection[:3, :3] + plane.reflection[:3, 3]
    return float(np.median(np.linalg.norm(turned - spread[:, 1], axis=1)))


def name_list(names: Iterable[str], most: int = 8) -> str:
    """Names for a message: the first few, and how many more."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(map(repr, every[:most])) + more
