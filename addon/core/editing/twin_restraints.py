"""Restraints between twins: the mirror images of those between their mates.

A reflection turns the pose ``F`` of a place on a body into ``M F L``: ``M`` leads from the body, reflected, to its
twin, and ``L`` turns one of the place's own axes round. A distance along that axis then counts with the other sign, and
so may the coordinate of a joint's twin: what restrains ``q`` by ``f(q)`` restrains ``-q`` by ``-f(-q)``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from ..model import Array, Body, Mechanism, Plane, Restraint
from ..transforms import inverse
from .sides import counterpart_names, pairs_by_twin, twin_name
from .twins import attached_image, dof_parts, flip_between, frame_flip, image_of

#: Which axis a distance counts along, by its type in lower case.
_AXES = {"tx": 0, "ty": 1, "tz": 2}
#: Entries of reflections that are as near to whole numbers are these.
_PLAIN = 1e-6
#: Poses that differ by no more, as a share of their size, are the same.
_SAME = 1e-5


def mirrored_restraints(
    mechanism: Mechanism, plane: Plane, bodies: Collection[str], joints: Collection[str]
) -> tuple[dict[int, Restraint], list[str]]:
    """Mirror the restraints on some ``bodies`` and ``joints`` (ids), whose twins are mirror images by now.

    Those between a body and its twin are their own images: their place on the twin becomes the image of the other one.
    Others that join what leads to what follows stay.

    Args:
        mechanism: the mechanism; restraints on parts that it lacks are left out.
        plane: the mirror plane.
        bodies: ids of the bodies that lead.
        joints: ids of the joints that lead.

    Returns:
        The images by their index among the mechanism's restraints, where new ones follow the last; and the names of
        those that have none, as they are along joints of several degrees of freedom or of other ones than the twin's.
    """
    pairs, out, left_out = _Pairs.of(mechanism, plane), dict[int, Restraint](), []
    names = {item.name for item in mechanism.restraints}
    for number, item in enumerate(mechanism.restraints):
        if pairs.joins_twins(item, bodies):
            out[number] = pairs.evened(item, bodies)
            continue
        if not pairs.is_led(item, bodies, joints):
            continue
        sign = pairs.sign(item.joint)
        if sign is None:
            left_out.append(item.name)
            continue
        at = pairs.index_of_twin(number)
        made = pairs.image(item, None if at is None else mechanism.restraints[at], sign)
        if at is None:
            at = len(mechanism.restraints) + sum(key >= len(mechanism.restraints) for key in out)
            made.name = twin_name(item.name, names)
            names.add(made.name)
        out[at] = made
    return out, left_out


@dataclass
class _Pairs:
    """A mechanism with the twins of its bodies and joints, by id."""

    mechanism: Mechanism
    plane: Plane
    known: dict[str, Body]
    bodies: dict[str, str]
    joints: dict[str, str]

    @classmethod
    def of(cls, mechanism: Mechanism, plane: Plane) -> _Pairs:
        """Find those of a mechanism."""
        return cls(
            mechanism,
            plane,
            {body.id: body for body in mechanism.bodies},
            pairs_by_twin({body.id: body.twin for body in mechanism.bodies}),
            pairs_by_twin({joint.id: joint.twin for joint in mechanism.joints}),
        )

    def is_led(self, item: Restraint, bodies: Collection[str], joints: Collection[str]) -> bool:
        """Return whether a restraint is on what leads, and not on what follows that."""
        if item.joint is not None:
            return item.joint in joints and item.joint in self.joints
        ends = {end for end in item.bodies or () if end is not None}
        followers = {self.bodies[body] for body in bodies if body in self.bodies}
        return bool(ends & set(bodies)) and not ends & followers and ends <= self.known.keys()

    def joins_twins(self, item: Restraint, bodies: Collection[str]) -> bool:
        """Return whether a restraint is between a body that leads and its twin."""
        one, other = item.bodies or (None, None)
        return one is not None and self.bodies.get(one) == other and not {one, other}.isdisjoint(bodies)

    def evened(self, item: Restraint, bodies: Collection[str]) -> Restraint:
        """Return a restraint between twins with its place on the one that follows as the image of the other place."""
        ends, frames, names = list(item.bodies or ()), list(item.frames or ()), [*item.extra.get("frames", ["", ""])]
        lead = 0 if ends[0] in bodies else 1
        place = self._place(ends[lead], frames[lead], names[lead], frames[1 - lead])
        frames[1 - lead], names[1 - lead] = place[:2]
        extra = item.extra | {"frames": names} if "frames" in item.extra else item.extra
        return replace(item, frames=(frames[0], frames[1]), extra=extra)

    def sign(self, joint: str | None) -> float | None:
        """Return how the coordinate of a joint's twin counts, 1 without a joint; None where it has no one image."""
        if joint is None:
            return 1.0
        known = {each.id: each for each in self.mechanism.joints}
        parts = dof_parts(known[joint], known[self.joints[joint]], self.plane, self.bodies, self.known)
        return float(parts[0].matrix[0, 0]) if len(parts) == 1 and len(parts[0].of) == 1 else None

    def _on(self, item: Restraint, mirrored: bool = False) -> tuple[object, ...]:
        bodies, joints = (self.bodies, self.joints) if mirrored else ({}, {})
        ends = {bodies.get(end, end) if end is not None else None for end in item.bodies or ()}
        return item.type, joints.get(item.joint or "", item.joint), frozenset(ends)

    def index_of_twin(self, number: int) -> int | None:
        """Return the index of a restraint's twin: of those of its type between the twins of what it is on the one with
        the name of the other side, else one by one in their order."""
        every = self.mechanism.restraints
        own, image = self._on(every[number]), self._on(every[number], mirrored=True)
        mine, its = ([n for n, each in enumerate(every) if self._on(each) == on] for on in (own, image))
        named = {n: at for n in mine for at in its if every[at].name in counterpart_names(every[n].name)}
        if number in named:
            return named[number]
        rest = [at for at in its if at not in named.values()]
        index = [n for n in mine if n not in named].index(number)
        return rest[index] if index < len(rest) else None

    def image(self, item: Restraint, twin: Restraint | None, sign: float) -> Restraint:
        """Return the mirror image of a restraint, in place of its ``twin`` if it has one."""
        out = deepcopy(item)
        if twin is not None:
            out.name, out.assembly = twin.name, twin.assembly
        if item.joint is not None:
            out.joint = self.joints[item.joint]
        if item.bodies is not None and item.frames is not None:
            names = item.extra.get("frames", ["", ""])
            ends = zip(item.bodies, item.frames, names, strict=True)
            places = [self._place(*end, before) for end, before in zip(ends, self._before(item, twin), strict=True)]
            (one, name, first), (other, other_name, _flip) = places
            out.bodies, out.frames = self._images(item.bodies), (one, other)
            if "frames" in item.extra:
                out.extra["frames"] = [name, other_name]
            axis = _AXES.get(item.distance.strip().lower())
            sign *= 1.0 if axis is None else float(first[axis, axis])
        return out if sign > 0.0 else reversed_law(out)

    def _images(self, ends: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
        one, other = (None if end is None else self.bodies.get(end, end) for end in ends)
        return one, other

    def _before(self, item: Restraint, twin: Restraint | None) -> Iterator[Array | None]:
        """Yield where the twin has its places until now."""
        known = {}
        if twin is not None and twin.bodies is not None and twin.frames is not None:
            known = dict(zip(twin.bodies, twin.frames, strict=True))
        yield from (known.get(end) for end in self._images(item.bodies or (None, None)))

    def _place(self, body: str | None, frame: Array, name: str, before: Array | None) -> tuple[Array, str, Array]:
        """Mirror a place on a body, None: in the world. Its axes are those, as nearly as may be, of the twin's frame
        that has its frame's name, or of where the twin's place was ``before``. Returns its pose, the name of its frame
        and how its axes are reflected."""
        mate = None if body is None else self.bodies.get(body, body)
        found = {each.name: each.pose for each in self.mechanism.frames if each.body == mate}
        others = [name] if body == mate else [*counterpart_names(name), name]
        named = next((each for each in others if each in found), others[0])
        seen = self._reflected(body, mate, frame)
        flip = frame_flip(seen, np.eye(3), found.get(named, frame if before is None else before))
        turned = np.eye(4)
        turned[:3, :3] = flip
        image, there = seen @ turned, found.get(named)
        if there is not None and np.abs(there - image).max() <= _SAME * max(1.0, float(np.abs(there).max())):
            image = there  # which 32 bits have rounded
        return image, named, flip

    def _reflected(self, body: str | None, mate: str | None, frame: Array) -> Array:
        """Return a place on a body seen in the mirror, (4, 4) of the other hand, on the body's twin."""
        if body is None:
            return image_of(frame, self.plane, np.eye(3))
        pose, other = self.known[body].pose, self.known[mate or body].pose
        if body != mate:
            return attached_image(frame, flip_between(pose, other, self.plane), np.eye(3))
        own = inverse(pose) @ image_of(pose, self.plane, np.eye(3))
        whole = own.round()
        own = np.where(np.abs(own - whole) <= _PLAIN, whole, own)
        return own @ frame


def reversed_law(item: Restraint) -> Restraint:
    """Return a restraint whose coordinate counts the other way: ``-f(-q)`` in place of ``f(q)``."""
    return replace(
        item,
        knots=[-knot + 0.0 for knot in reversed(item.knots)],
        coefficients=[_reversed_piece(piece) for piece in reversed(item.coefficients)],
    )


def _reversed_piece(piece: Sequence[float]) -> list[float]:
    """Reverse a polynomial in descending powers."""
    last = len(piece) - 1
    return [number * (1.0 if (last - place) % 2 else -1.0) + 0.0 for place, number in enumerate(piece)]
