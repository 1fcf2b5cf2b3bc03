"""Layout of a joint's degrees of freedom on bone channels. No bpy.

A bone's own motion is ``T(location) R(rotation)`` in its rest axes. One bone therefore holds translations, then up to
three rotations, as long as all their axes are at right angles or coincide: each becomes a channel with the value of the
coordinate, sign included. Where the next dof does not fit, the next bone of a chain begins.

A screw takes two bones: one that rotates, and before it one that slides by a driver on the rotation. (A driver that
reads the bone that it drives is a dependency cycle to Blender.)

A joint that points against the tree moves its parent: its bones have the inverse of its motion, which is the same dofs
in reverse order about opposite axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...core.model import Array, DofKind, Joint
from ..rig.joint_frames import ORTHOGONAL_TOLERANCE, DofLike

Property = Literal["location", "rotation_euler", "rotation_quaternion"]

_LETTERS = "XYZ"


@dataclass(frozen=True)
class DofPlacement:
    """Channel of a dof: bone of its joint's chain (``step``), property and array index.

    A ball or free dof has the whole quaternion (and location) of its bone: index -1.
    """

    step: int
    prop: Property
    index: int


@dataclass(frozen=True)
class AxisLayout:
    """Assignment of a bone's axes (0 to 2 for X to Z) to the directions of its dofs.

    ``axes`` are the bone's X, Y and Z in the joint's frame, as columns; None where one direction or none leaves the
    choice.
    """

    columns: tuple[int, ...]
    axes: Array | None


@dataclass
class BoneDofs:
    """Degrees of freedom of one bone.

    ``slides`` and ``turns`` are pairs of a dof's index in its joint and its direction's index, in the order of the
    motion; those in ``driven`` slide as screws. ``block`` is the index of a ball or free dof.
    """

    directions: list[Array] = field(default_factory=list)
    slides: list[tuple[int, int]] = field(default_factory=list)
    turns: list[tuple[int, int]] = field(default_factory=list)
    driven: set[int] = field(default_factory=set)
    block: int | None = None
    free: bool = False
    _places: dict[tuple[tuple[int, ...], int], Mapping[int, DofPlacement]] = field(default_factory=dict)
    _layouts: list[AxisLayout] = field(default_factory=list)

    def take(self, number: int, kind: DofKind, axis: Array) -> bool:
        """Add the next dof of the motion (of a screw its translation); return False where it does not fit."""
        if self.block is not None:
            return False
        if kind in {"ball", "free"}:
            if self.turns or (kind == "free" and self.slides):
                return False
            self.block, self.free = number, kind == "free"
            return True
        direction = self._direction(axis / np.linalg.norm(axis))
        if direction is None:
            return False
        slides, turns = ({mine for _, mine in those} for those in (self.slides, self.turns))
        if kind == "rotation":
            if direction in turns:
                return False
            self.turns.append((number, direction))
        else:
            # after a rotation it fits only along the rotation's axis, where the two commute
            if direction in slides or (turns and turns != {direction}):
                return False
            self.slides.append((number, direction))
            if kind == "screw":
                self.driven.add(number)
        if direction == len(self.directions):
            self.directions.append(axis / np.linalg.norm(axis))
        return True

    def _direction(self, axis: Array) -> int | None:
        """Return the index of a direction, a known one or the next; None unless it is parallel or at right angles."""
        found = len(self.directions)
        for number, other in enumerate(self.directions):
            along = float(axis @ other)
            if along > 1.0 - ORTHOGONAL_TOLERANCE:
                found = number
            elif abs(along) > ORTHOGONAL_TOLERANCE:
                return None
        return found

    @property
    def first(self) -> int:
        """Return the index of the direction for the bone's Z if possible: of the first rotation, else translation."""
        return self._order()[0]

    @property
    def axis(self) -> Array:
        """Return the ``first`` direction in the joint's frame; Z where there is none."""
        return self.directions[self.first] if self.directions else np.array([0.0, 0.0, 1.0])

    @property
    def bound(self) -> bool:
        """Return whether the directions determine more than the bone's Z."""
        return len(self.directions) > 1

    def _order(self) -> list[int]:
        """Return direction indices in the order in which they choose their axis of the bone."""
        return list(dict.fromkeys([mine for _, mine in self.turns] + [mine for _, mine in self.slides]))

    def layouts(self) -> list[AxisLayout]:
        """Return the possible layouts of the bone's axes: those with Z on the first direction, then the rest."""
        self._layouts = self._layouts or self._find_layouts()
        return self._layouts

    def _find_layouts(self) -> list[AxisLayout]:
        order = self._order()
        if len(order) < 2:
            return [AxisLayout((2,) * len(order), None)]
        first, second = self.directions[order[0]], self.directions[order[1]]
        across = np.cross(first, second)
        across /= np.linalg.norm(across)
        second = np.cross(across, first)
        ways = [((2, 0, 1), [second, across, first]), ((2, 1, 0), [-across, second, first])]
        if len(order) == 3:
            ways = [ways[0] if across @ self.directions[order[2]] > 0.0 else ways[1]]
        out = []
        for shift in range(3):
            for columns, axes in ways:
                mine = dict(zip(order, [(column + shift) % 3 for column in columns], strict=False))
                laid = np.roll(np.stack(axes, axis=1), shift, axis=1)
                out.append(AxisLayout(tuple(mine[k] for k in range(len(order))), laid))
        return out

    def screw_locations(self, layout: AxisLayout) -> dict[int, int]:
        """Return the index of the location that each screw drives, by dof index in the joint."""
        return {number: layout.columns[direction] for number, direction in self.slides if number in self.driven}

    def rotation_mode(self, layout: AxisLayout) -> str:
        """Return Blender's rotation mode for the order of the rotations; it names the innermost first."""
        if self.block is not None:
            return "QUATERNION"
        turning = [layout.columns[direction] for _, direction in self.turns]
        order = turning + [column for column in (2, 1, 0) if column not in turning]
        return "".join(_LETTERS[column] for column in reversed(order))

    def places(self, layout: AxisLayout, step: int) -> Mapping[int, DofPlacement]:
        """Return the placement of each dof, by its index in the joint."""
        found = self._places.get((layout.columns, step))
        if found is None:
            found = self._places[layout.columns, step] = self._find_places(layout, step)
        return found

    def _find_places(self, layout: AxisLayout, step: int) -> Mapping[int, DofPlacement]:
        out = {
            number: DofPlacement(step, "location", layout.columns[direction])
            for number, direction in self.slides
            if number not in self.driven
        }
        out |= {
            number: DofPlacement(step, "rotation_euler", layout.columns[direction]) for number, direction in self.turns
        }
        if self.block is not None:
            out[self.block] = DofPlacement(step, "rotation_quaternion", -1)
        return out


class BoneChains:
    """Cache of the bones that joints' dofs need: joints with equal dofs share theirs."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], list[BoneDofs]] = {}

    def of(self, joint: Joint, is_reversed: bool) -> list[BoneDofs]:
        """Return the bones of a joint, from the carrier outwards, at least one. They must not be changed."""
        alike = is_reversed, *((dof.kind, np.asarray(dof.axis, dtype=np.float64).tobytes()) for dof in joint.dofs)
        found = self._known.get(alike)
        if found is None:
            found = self._known[alike] = bone_chain(joint, is_reversed)
        return found


def bone_chain(joint: Joint, is_reversed: bool = False) -> list[BoneDofs]:
    """Return the bones that a joint's dofs need, from the carrier outwards, at least one."""
    return _build_chain(joint.dofs, is_reversed)


def _build_chain(dofs: Sequence[DofLike], is_reversed: bool) -> list[BoneDofs]:
    chain = [BoneDofs()]
    order = list(enumerate(dofs))
    for number, dof in reversed(order) if is_reversed else order:
        axis = np.array(dof.axis, dtype=np.float64)
        axis = -axis if is_reversed else axis
        if not chain[-1].take(number, dof.kind, axis):
            chain.append(BoneDofs())
            chain[-1].take(number, dof.kind, axis)
        if dof.kind == "screw":
            chain.append(BoneDofs())
            chain[-1].take(number, "rotation", axis)
    return chain
