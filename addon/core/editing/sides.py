"""Left and right of a mechanism: pairs of parts by twins or by names, and the mirror plane."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..kinematics import joint_frames_world
from ..mass_properties import body_center
from ..model import Array, Body, Joint, Mechanism, Plane, body_by_id

#: Words and letters of names that denote the side. A single letter counts where it is separate: ``leg_L``,
#: ``L hip``, ``hipL``, ``LHip``, ``LHY``, or as one of the two of a corner: ``FL``, ``rr_knee``.
_SIDE_WORDS = re.compile(r"(?P<word>left|right)", re.IGNORECASE)
_SIDE_LETTERS = re.compile(
    r"(?<![A-Za-z])(?P<corner>[FBMHR][LR]|[LR][FBMHR]|[fbmhr][lr]|[lr][fbmhr])(?![a-z])"
    r"|(?<![A-Za-z])(?P<apart>[LRlr])(?![A-Za-z])"
    r"|(?<![A-Za-z])(?P<before>[LR])(?=[A-Z])"
    r"|(?<=[a-z0-9])(?P<behind>[LR])(?![A-Za-z])"
)
_OPPOSITE = {"left": "right", "right": "left", "l": "r", "r": "l"}

#: Tolerance (as a share of the mechanism's size) within which a coordinate plane is preferred to the best fit.
_PLANE_TOLERANCE = 1e-3


def counterpart_names(name: str) -> list[str]:
    """Return the possible names of a part's counterpart, the likeliest first: ``Left Hip`` -> ``Right Hip``."""
    words = list(_SIDE_WORDS.finditer(name))
    spans = [(m.start(), m.end()) for m in words]
    out = []
    if len(spans) > 1:
        out.append(_swap_sides(name, spans))
    out += [_swap_sides(name, [span]) for span in spans]
    for match in _SIDE_LETTERS.finditer(name):
        if match["corner"]:
            out += [
                _swap_sides(name, [(k, k + 1)])
                for k in (match.end() - 1, match.start())
                if name[k].lower() in _OPPOSITE
            ]
        else:
            out.append(_swap_sides(name, [match.span()]))
    return [each for each in dict.fromkeys(out) if each != name]


def twin_name(name: str, taken: Collection[str]) -> str:
    """Create the name of a twin: ``Left Hip`` -> ``Right Hip``, ``FL`` -> ``FR``.

    A name without a side gets `` twin`` appended, with a number where that is taken.
    """
    for other in counterpart_names(name):
        if other not in taken:
            return other
    stem = re.sub(r" twin( \d+)?$", "", name)
    number, out = 1, f"{stem} twin"
    while out in taken:
        number += 1
        out = f"{stem} twin {number}"
    return out


def _swap_sides(name: str, spans: Sequence[tuple[int, int]]) -> str:
    out = name
    for start, end in reversed(spans):
        here = name[start:end]
        other = _OPPOSITE[here.lower()]
        other = other.upper() if here.isupper() else other.capitalize() if here[0].isupper() else other
        out = out[:start] + other + out[end:]
    return out


def pairs_by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Pair parts by their names (id -> name), in both directions, where the counterpart's name is unique."""
    ids: dict[str, list[str]] = {}
    for key, name in names.items():
        ids.setdefault(name, []).append(key)
    found: dict[str, str] = {}
    for key, name in names.items():
        for other in counterpart_names(name):
            if len(ids.get(other, ())) == 1 and len(ids[name]) == 1 and key not in found and ids[other][0] not in found:
                found[key], found[ids[other][0]] = ids[other][0], key
    return found


def pairs_by_twin(parts: Iterable[Body] | Iterable[Joint]) -> dict[str, str]:
    """Pair bodies, or joints, by their twins (id -> id), in both directions, where each is the other's twin."""
    twins = {part.id: part.twin for part in parts}
    return {
        key: other for key, other in twins.items() if other is not None and other != key and twins.get(other) == key
    }


@dataclass(frozen=True)
class Sides:
    """Pairs of left and right parts by id, in both directions, and the mirror plane between them.

    ``named`` are the joints that were paired by their names and not as twins.
    """

    bodies: dict[str, str]
    joints: dict[str, str]
    named: frozenset[str]
    plane: Plane


def find_sides(mechanism: Mechanism, normal: Array | None = None) -> Sides:
    """Find left and right of a mechanism. Parts without a twin are paired by their names.

    The plane is the mechanism's own, else the ``find_mirror_plane``, and without pairs X = 0.

    Args:
        mechanism: The mechanism.
        normal: Another normal (3,) for the plane.
    """
    bodies, joints, named = _find_pairs(mechanism)
    plane = mechanism.mirror_plane
    if normal is not None:
        pairs = _pair_positions(mechanism, bodies, joints)
        plane = _center_plane(Plane(np.asarray(normal, dtype=np.float64)), pairs, _pairs_extent(pairs))
    elif plane is None:
        plane = _fit_plane(_pair_positions(mechanism, bodies, joints)) or Plane(np.eye(3)[0])
    return Sides(bodies, joints, frozenset(named), plane)


def side_signs(plane: Plane, points: Array, names: Sequence[str]) -> list[int]:
    """Compute the sides of a plane on which parts are: 1 left, -1 right, 0 between.

    The names decide which side is the left one; without a majority it is the side of the normal.

    Args:
        plane: The mirror plane.
        points: Positions of the parts, (n, 3).
        names: Names of the parts, n.

    >>> side_signs(Plane(np.eye(3)[0]), np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0]]), ["R hip", "L hip", "head"])
    [-1, 1, 0]
    """
    distances = points @ plane.normal - plane.offset
    distances[np.abs(distances) < _PLANE_TOLERANCE * np.abs(distances).max(initial=0.0)] = 0.0
    signs = np.sign(distances).astype(int)
    if sum(sign * _side_from_name(name) for sign, name in zip(signs, names, strict=True)) < 0:
        signs = -signs
    found: list[int] = signs.tolist()
    return found


def _side_from_name(name: str) -> int:
    """Return the side that a name denotes: 1 left, -1 right, 0 none or both."""
    sides = {match["word"][0].lower() for match in _SIDE_WORDS.finditer(name)}
    if not sides:
        for match in _SIDE_LETTERS.finditer(name):
            text = match.group().lower()
            sides.add(text[-1] if text[-1] in _OPPOSITE else text[0])
    return {"l": 1, "r": -1}[sides.pop()] if len(sides) == 1 else 0


def find_mirror_plane(mechanism: Mechanism) -> Plane | None:
    """Fit the plane that best mirrors the pairs of a mechanism at the design pose.

    A plane perpendicular to one of the file's own axes is preferred if that fits. None where there are no pairs, or all
    of them lie within one plane.
    """
    bodies, joints, _named = _find_pairs(mechanism)
    return _fit_plane(_pair_positions(mechanism, bodies, joints)) if bodies or joints else None


def _find_pairs(mechanism: Mechanism) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Pair bodies and joints; the third result are the joints that were paired by their names."""
    bodies = pairs_by_twin(mechanism.bodies)
    joints = pairs_by_twin(mechanism.joints)
    named = pairs_by_name({joint.id: joint.name for joint in mechanism.joints if joint.id not in joints})
    bodies |= pairs_by_name({body.id: body.name for body in mechanism.bodies if body.id not in bodies})
    return bodies, joints | named, named


def _pair_positions(mechanism: Mechanism, bodies: dict[str, str], joints: dict[str, str]) -> Array:
    """Return the positions of the two parts of each pair, (n, 2, 3)."""
    points = {own: body_center(body) for own, body in body_by_id(mechanism).items()}
    frames = joint_frames_world(mechanism) if joints else {}
    here = [(points[key], points[other]) for key, other in bodies.items() if key < other]
    here += [(frames[key][:3, 3], frames[other][:3, 3]) for key, other in joints.items() if key < other]
    return np.array(here).reshape(-1, 2, 3)


def _pairs_extent(pairs: Array) -> float:
    return float(np.ptp(pairs.reshape(-1, 3), axis=0).max()) if len(pairs) else 0.0


def _fit_plane(pairs: Array) -> Plane | None:
    across, size = pairs[:, 1] - pairs[:, 0], _pairs_extent(pairs)
    if size == 0.0 or np.abs(across).max() <= _PLANE_TOLERANCE * size:
        return None
    best = np.linalg.svd(across, full_matrices=False)[2][0]
    planes = [
        _center_plane(Plane(axis), pairs, size) for axis in (*np.eye(3), best * np.sign(best[np.abs(best).argmax()]))
    ]
    misses = [_plane_error(plane, pairs) for plane in planes]
    return next(p for p, miss in zip(planes, misses, strict=True) if miss <= min(misses) + _PLANE_TOLERANCE * size)


def _center_plane(plane: Plane, spread: Array, size: float) -> Plane:
    """Move the plane between pairs of points (n, 2, 3); through the origin where that fits as well."""
    if not len(spread):
        return plane
    between = replace(plane, offset=float(np.median(spread.mean(axis=1) @ plane.normal)))
    return plane if _plane_error(plane, spread) <= _plane_error(between, spread) + _PLANE_TOLERANCE * size else between


def _plane_error(plane: Plane, spread: Array) -> float:
    """Compute the median error with which a plane mirrors pairs of points (n, 2, 3) onto each other."""
    return float(np.median(np.linalg.norm(plane.mirror_points(spread[:, 0]) - spread[:, 1], axis=1)))
