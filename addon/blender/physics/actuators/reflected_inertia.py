"""What the servos of a model have to move: what gains that no file gives are chosen for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import bpy
import numpy as np

from ....core.model import DOF_SIZE, Array
from ....core.transforms import affine_inverse
from ...data.access import record_of
from ...data.body_mass import whole_mass
from ...data.queries import parts
from ..bodies.collision_shapes import collision_children
from ..bodies.inertia import turning_tensor
from ..constraints.dof_axes import axes_at
from ..world.anchor import is_held
from ..world.scale import size_of
from .effective_mass import Eased
from .joint_state import Plant, Undriven

#: Of a joint that moves nothing: its gains have to be something.
_LEAST = 1e-9


class Carried:
    """The bodies of a model and how they hang together, for one set of poses (bodies + 1, 4, 4) in its own lengths.

    Masses and forces of a model that is scaled are what they were, and its arms as long as the world has them. What a
    slide moves is told as force per acceleration in the model's own lengths: of one twice as large, twice the mass."""

    def __init__(self, plant: Plant, poses: Array) -> None:
        self._poses, self._world, self._size = poses, len(plant.bodies), size_of(plant.rig)
        pieces = collision_children(plant.rig)
        solid = [obj.rigid_body is not None for obj in plant.bodies]
        bodies = list(zip(plant.bodies, solid, strict=True))
        self._mass = np.array([whole_mass(obj, obj.rigid_body.mass) if it else 0.0 for obj, it in bodies])
        self._tensors = np.array(
            [turning_tensor(obj, pieces.get(obj, ())) if it else np.zeros((3, 3)) for obj, it in bodies]
        ).reshape(-1, 3, 3)
        self._stands = {
            number for number, obj in enumerate(plant.bodies) if solid[number] and obj.rigid_body.type == "PASSIVE"
        } | {self._world}
        self._beside = self._neighbours(plant)
        self._plant = plant

    def _neighbours(self, plant: Plant) -> list[set[int]]:
        place: dict[bpy.types.Object | None, int] = {obj: number for number, obj in enumerate(plant.bodies)}
        place[None] = self._world
        beside: list[set[int]] = [set() for _ in range(self._world + 1)]
        for record in (record_of(empty).joint for empty in parts(plant.rig, "JOINT")):
            if is_held(record) and record.parent in place and record.child in place:
                beside[place[record.parent]].add(place[record.child])
                beside[place[record.child]].add(place[record.parent])
        return beside

    def _side(self, start: int, other: int) -> set[int] | None:
        """The bodies on one side of a joint; None where that side stands, or hangs on the other one as well."""
        found, reached = {start}, [start]
        while reached:
            at = reached.pop()
            for body in self._beside[at] - found - ({other} if at == start else set()):
                found.add(body)
                reached.append(body)
        return None if found & self._stands or other in found else found

    def _about(self, bodies: set[int], point: Array, axis: Array, turns: bool) -> float:
        """The inertia of bodies about an axis, or their mass along it."""
        at = sorted(bodies)
        if not turns:
            return float(self._mass[at].sum()) * self._size
        arms = self._size * (self._poses[at][:, :3, 3] - point)
        across = arms - np.outer(arms @ axis, axis)
        own = np.einsum("nji,j->ni", self._poses[at][:, :3, :3], axis)
        return float(self._mass[at] @ (across**2).sum(axis=1) + np.einsum("ni,nij,nj->", own, self._tensors[at], own))

    def _moved(self, parent: int, child: int, point: Array, axis: Array, turns: bool) -> float:
        """Return what a servo between two bodies moves: its child's side, against the other where that is free to go
        too."""
        sides = [self._side(child, parent), self._side(parent, child)]
        free = [self._about(side, point, axis, turns) for side in sides if side is not None]
        if not free:  # in a loop
            free = [self._about({body}, point, axis, turns) for body in (child, parent) if body not in self._stands][:1]
        return max(1.0 / sum(1.0 / max(each, _LEAST) for each in free) if free else 0.0, _LEAST)

    def by_servos(self, plant: Plant) -> Array:
        """Return what the servo of each lone hinge or slide moves (n,): moments of inertia, or masses."""
        frames = self._poses[plant.parent] @ affine_inverse(plant.frame_parent)
        ends = zip(plant.parent, plant.child, frames, plant.turns, strict=True)
        return np.array([self._moved(int(p), int(c), f[:3, 3], f[:3, 2], bool(t)) for p, c, f, t in ends])

    def by_coordinates(self, joint: Undriven, values: Array) -> Array:
        """Return what each servo of a joint of several degrees moves (size,) at its coordinates."""
        frame = self._poses[joint.parent] @ joint.on_parent
        point = (self._poses[joint.child] @ joint.on_child)[:3, 3]
        axes = axes_at(joint.joint.dofs, values) @ frame[:3, :3].T
        kinds = zip(axes, self._turning(joint), strict=True)
        return np.array([self._moved(joint.parent, joint.child, point, axis, turns) for axis, turns in kinds])

    def stands(self, body: int) -> bool:
        """Return whether the body at a place among the poses stays where it is."""
        return body in self._stands

    @cached_property
    def eased(self) -> Eased:
        """Return how easily the bodies go where they are pushed, in these poses and all that follow."""
        moves = [mass > 0.0 and body not in self._stands for body, mass in enumerate(self._mass)]
        return Eased(self._plant, self._mass, self._tensors, [*moves, False])

    def momentum(self, body: int, speed: Array, spin: Array) -> tuple[Array, Array]:
        """Return what it takes to give a body a speed (in the model's own lengths) and a spin (3,), along the world's
        axes: linear and angular momentum."""
        turn = self._poses[body][:3, :3]
        return self._mass[body] * self._size * speed, turn @ self._tensors[body] @ turn.T @ spin

    def _turning(self, joint: Undriven) -> Iterator[bool]:
        for dof in joint.joint.dofs:
            yield from [dof.kind != "translation"] * DOF_SIZE[dof.kind]
