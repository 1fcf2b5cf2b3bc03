"""Root motion: the motion of a mechanism's root body as trajectories, and its columns in tables.

A root has the six coordinates of a free joint between the world and its body, at the center of mass of the design pose
and in the mechanism's axes: a rotation vector (rad) and a translation (length units). All are 0 at the design pose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..model import Array, Motion, MotionUnit, Trajectory
from ..naming import unique_names
from ..report import Message, Report
from .servo_matching import match_servos

#: Prefix of the names of root motion's columns.
ROOT_PREFIX = "root:"
#: Their suffixes, in the order of the coordinates, and the unit of each.
ROOT_DOF_UNITS: Mapping[str, MotionUnit] = {"rx": "rad", "ry": "rad", "rz": "rad", "x": "m", "y": "m", "z": "m"}


def root_trajectory_names(roots: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the names of the six trajectories of each root's motion, by body id.

    Args:
        roots: Ids and names of root bodies.
    """
    return {key: _trajectory_names(name) for key, name in unique_names(roots).items()}


def _trajectory_names(body: str) -> tuple[str, ...]:
    return tuple(f"{ROOT_PREFIX}{body}/{coordinate}" for coordinate in ROOT_DOF_UNITS)


def root_body_name(name: str) -> str:
    """Return the name of the body from the name of a trajectory of root motion."""
    return name[len(ROOT_PREFIX) :].rpartition("/")[0]


def match_roots(motion: Motion, known: Iterable[str]) -> dict[str, str]:
    """Match the roots of a motion to those of a mechanism, by the names of their bodies.

    Exact matches come first, then those that differ only in case and separators, and then the single root that is left
    on both sides.

    Args:
        motion: Its trajectories of root motion are matched.
        known: Names of the mechanism's root bodies.

    Returns:
        The mechanism's bodies by the motion's.
    """
    bodies = dict.fromkeys(root_body_name(each.name) for each in motion.trajectories if each.root)
    pairs = match_servos(list(bodies), left := list(known)).pairs
    alone, left = [body for body in bodies if body not in pairs], [body for body in left if body not in pairs.values()]
    return pairs | dict(zip(alone, left, strict=True)) if len(alone) == len(left) == 1 else pairs


def report_unmatched_roots(names: Iterable[str], report: Report) -> None:
    """Report trajectories of root motion (names) without a root body: one entry for each body."""
    for body in dict.fromkeys(map(root_body_name, names)):
        report.warn(
            "root-unmatched",
            Message("Root motion of {} has no effect: no root body has this name", repr(body)),
            where=body,
        )


def map_root_trajectories(
    motion: Motion, known: Iterable[Sequence[str]], mapping: Mapping[str, str], report: Report
) -> dict[str, str]:
    """Map a motion's trajectories of root motion to a mechanism's.

    Args:
        motion: Its trajectories of root motion are mapped.
        known: The names of the six trajectories of each of the mechanism's roots, as from ``root_trajectory_names``.
        mapping: Explicit mapping of single trajectories; roots that occur in it are not matched by name.
        report: Gets an entry for each root that was matched to one with another name.

    Returns:
        The mechanism's trajectories by the motion's.
    """
    names = {root_body_name(own[0]): own for own in known}
    out: dict[str, str] = {}
    for body, ours in match_roots(motion, names).items():
        theirs = [each.name for each in motion.trajectories if each.root and root_body_name(each.name) == body]
        if mapping.keys().isdisjoint(theirs):
            out |= zip(theirs, names[ours], strict=True)
            if body != ours:
                report.info(
                    "root-matched", Message("Root motion of {} was matched with {}", repr(body), repr(ours)), where=body
                )
    return out


def is_root_rotation(name: str) -> bool:
    """Return whether a trajectory of root motion, by its name, is a rotation and not a translation."""
    return ROOT_DOF_UNITS[name.rpartition("/")[2]] == "rad"


def detect_root_motion(trajectories: Sequence[Trajectory]) -> None:
    """Mark the trajectories of a table that are root motion: all six of one body, each once, with fitting units.

    All others are servos, whatever their names.
    """
    by_name: dict[str, list[Trajectory]] = {}
    for each in trajectories:
        if each.name.startswith(ROOT_PREFIX):
            by_name.setdefault(each.name, []).append(each)
    for body in dict.fromkeys(map(root_body_name, by_name)):
        found = [each for name in _trajectory_names(body) for each in by_name.get(name, ())]
        units = ({"", "rad"} if unit == "rad" else {"", "m"} for unit in ROOT_DOF_UNITS.values())
        if len(found) == len(ROOT_DOF_UNITS) and all(
            each.name == name and each.unit in fitting
            for each, name, fitting in zip(found, _trajectory_names(body), units, strict=True)
        ):
            for each in found:
                each.root = True


def _format_seconds(time: float) -> str:
    return Message("{} s", f"{time:.3g}")


def drop_root_motion(
    motion: Motion, format: str, report: Report, when: Callable[[float], str] = _format_seconds
) -> Motion:
    """Remove root motion for a format that has servos only, and report its extent.

    Args:
        motion: The motion; it is not changed.
        format: The format's name, for the report.
        report: Gets one entry for each motion with root motion.
        when: Formats a time (s) for the report.

    Returns:
        The motion itself where it has none.
    """
    paths = [each for each in motion.trajectories if each.root]
    if not paths:
        return motion
    dropped = []
    for body in dict.fromkeys(root_body_name(each.name) for each in paths):
        own = [each for each in paths if root_body_name(each.name) == body and len(each.times)]
        turns, slides = ([each for each in own if is_root_rotation(each.name) == wanted] for wanted in (True, False))
        (slid, far), (turned, most) = _max_distance(slides), _max_distance(turns)
        dropped.append(
            f"{body!r} moves up to {slid:.3g} m ({when(far)}) and turns up to {turned:.3g} rad ({when(most)})"
        )
    report.warn(
        "root-motion-left",
        Message("Root motion is not written, {} has none: {}. Write CSV to keep it", format, "; ".join(dropped)),
        where=f"motion {motion.name!r}",
    )
    return replace(motion, trajectories=[each for each in motion.trajectories if not each.root])


def _max_distance(tracks: Sequence[Trajectory]) -> tuple[float, float]:
    """Return the largest distance from 0 of up to three coordinates together, and its time (s)."""
    if not tracks:
        return 0.0, 0.0
    times = np.unique(np.concatenate([each.times for each in tracks]))
    values: Array = np.array([each.at(times) for each in tracks])
    lengths = np.linalg.norm(values, axis=0)
    at = int(np.argmax(lengths))
    return float(lengths[at]), float(times[at])
