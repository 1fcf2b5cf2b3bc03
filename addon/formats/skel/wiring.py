"""Which bodies the joints of a skeleton join, and what is wrong with it.

DART crashes or never ends on most of what is mended here; what it drops stays in the mechanism as an inactive joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .read import Placed, Reader
from .table import INACTIVE_JOINT, LOOP_JOINT

if TYPE_CHECKING:
    from .document import Skeleton

WORLD_NAME = "world"


@dataclass
class Ends:
    """The names of a joint's bodies, None for the world or for what is not there, whether it joins them, and whether it
    closes a ring that DART could not read."""

    parent: str | None
    child: str | None
    active: bool
    closes: bool = False


def wired(skeleton: Skeleton, reader: Reader) -> dict[int, Ends]:
    """The ends of every joint of a skeleton, by the identity of its placed object. Reports what is amiss."""
    names = {item.row["@name"] for item in skeleton.bodies}
    ends: dict[int, Ends] = {}
    carried: dict[str, str | None] = {}
    carrier: dict[str, Ends] = {}
    for item in skeleton.joints:
        found = ends[id(item)] = _ends(item, names, reader)
        if item.element.tag in (LOOP_JOINT, INACTIVE_JOINT) or not found.active or found.child is None:
            continue
        if found.child in carried:
            message = f"{item.label} joins '{found.child}', which another joint carries already"
            what = f"{message}; DART drops it, and here it is inactive"
            reader.note("warning", "second-joint", what, item.element)
            found.active = False
        else:
            carried[found.child] = found.parent
            carrier[found.child] = found
    _tell_loose(skeleton, carried, reader)
    for ring in _rings(carried):
        carrier[ring[0]].closes = True
        of = next(item for item in skeleton.bodies if item.row["@name"] == ring[0])
        names_of_ring = ", ".join(repr(each) for each in ring)
        message = f"the joints of {names_of_ring} carry each other in a ring, which DART cannot read"
        message += f"; that of {ring[0]!r} closes it as a loop"
        reader.note("warning", "joint-cycle", message, of.element)
    return ends


def _ends(item: Placed, names: set[str], reader: Reader) -> Ends:
    parent, child = (_end(item, end, names, reader) for end in ("parent", "child"))
    world = item.row["parent"] is None or item.row["parent"] == WORLD_NAME
    active = child is not None and (parent is not None or world)
    if active and parent == child:
        reader.note(
            "warning", "inactive-joint", f"{item.label} joins nothing: both its ends are '{child}'", item.element
        )
        active = False
    return Ends(parent, child, active)


def _end(item: Placed, end: str, names: set[str], reader: Reader) -> str | None:
    given = item.row[end]
    told = next(item.element.iterchildren(end), None)
    text = None if told is None else told.text
    if text in names:
        given = text
    if given in names:
        if text != given:
            message = f"there is white space around the {end} '{given}' of {item.label}; DART does not find it"
            reader.note("warning", "repaired-reference", message, item.element)
        return given
    if given is None or (end == "parent" and given == WORLD_NAME):
        return None
    message = (
        f"the {end} of {item.label} is '{given}', and no body of the skeleton has this name; the joint is inactive"
    )
    reader.note("warning", "dangling-reference", message, item.element)
    return None


def _tell_loose(skeleton: Skeleton, carried: dict[str, str | None], reader: Reader) -> None:
    """Report bodies that no joint carries."""
    carriers = set(carried.values())
    for item in skeleton.bodies:
        name = item.row["@name"]
        if name in carried:
            continue
        if name in carriers:
            message = f"{item.label} hangs on nothing; it is free, as if by a free joint of DART's"
            reader.note("info", "loose-body", message, item.element)
        else:
            message = f"no joint carries {item.label}; it stands free where it was put (DART stops here)"
            reader.note("warning", "orphan-body", message, item.element)


def _rings(carried: dict[str, str | None]) -> list[list[str]]:
    """Bodies whose joints carry each other, round by round."""
    rings: list[list[str]] = []
    safe: set[str | None] = {None}
    for name in carried:
        way: dict[str, None] = {}
        here: str | None = name
        while here is not None and here not in safe and here not in way and here in carried:
            way[here] = None
            here = carried[here]
        if here in way:
            order = list(way)
            rings.append(order[order.index(here) :])
        safe.update(way)
        safe.add(here)
    return rings
