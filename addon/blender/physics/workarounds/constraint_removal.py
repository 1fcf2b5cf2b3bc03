"""Removal of constraints and bodies from a rigid-body world without the crashes of Blender that it can cause.

Objects that merely leave the world's collections keep their rigid bodies. Only Blender's operator removes these, and it
works on active and selected objects, so it runs in a scene of its own. (For constraints no operator removes many at
once: an empty keeps its constraint, which without bodies and outside of any world has no effect.)

The order matters. In Blender's simulation, constraints and bodies point at each other, and neither checks whether the
other still exists when it is freed: Blender crashes, later and elsewhere. Constraints without objects are removed
cleanly when the simulation is rebuilt; after that, bodies can be freed. So whenever the simulation is rebuilt here, no
constraint of the world, of whatever mechanism, holds anything meanwhile (``empty_simulation``): what is deleted or
undone before the next simulation meets an empty one.

The user deletes in any order, and hidden or unselectable objects stay behind; scripts remove anything.
``remove_dangling_constraints`` makes that safe before Blender takes another step:

* A constraint removed by a script is freed and its bodies do not refer to it any more, but the simulation would take
  its next step with it. It is rebuilt. (In Blender 4.2 the bodies still refer to it, which crashes: no remedy exists.)
* A constraint unlinked from the world's collection, as all are when that is deleted, stays in the simulation. A rebuild
  frees its bodies, but not the constraint, which refers to them when it is in a world again: Blender crashes. So it is
  in the world during one more rebuild, and holds nothing.
* A constraint whose body was deleted still points at it and reads it when freed. So it is not freed: it leaves the
  world, which is rebuilt without it, and stays until the file is closed. Blender frees it then, and crashes where it
  has used the body's memory for something else meanwhile (7 to 18 times in 20). No way was found to avoid that: freed
  at once, such constraints crashed about as often, and during work. Without us Blender crashes sooner, at the next
  step.

*Remove Rigid Body World* frees the bodies of the simulation and keeps the constraints, which point at them. As such a
constraint is put into another world, Bullet reads the freed bodies (``btRigidBody::removeConstraintRef``) and Blender
crashes at the next step. So the constraints are renewed (``renew_constraints``). Measured with a chain of 12 cubes and
11 hinges, 5 frames, world removed and recreated, 5 frames; crashes of 8 runs:

====================================================== === === === ===
done before the world is recreated                     4.2 4.5 5.0 5.2
====================================================== === === === ===
nothing                                                8   5   6   8
*Remove Rigid Body Constraint*, added again            0   2   8   8
empties replaced by their copies, the old ones kept    0   0   0   0
====================================================== === === === ===

A copy of an empty has its constraint without the constraint's simulation data. Whatever frees the old ones crashes as
well: undo (7 to 8 of 8 runs, with the copies and without), and the end of Blender 5.0 and 5.2 (6 and 8 of 8 without
anything of ours).

Remove this when Blender frees the constraints of a world with it, and those of a body before the body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import bpy

from ...data.access import constraint_of, record_of, world_of
from ...data.datablocks import objects_in_collections
from ...data.queries import parts, simulates_here
from ...events.runtime_state import Lifetime, RuntimeState, all_states, state_of
from ...scene.temporary_scene import ObjectSequence, operator_context, scratch_scene
from ..actuators.motors import motor_lists, remove_from_motor_list
from ..bodies.inertia import is_orphan_inertia_proxy
from ..world.rigidbody_world import rebuild_simulation, rewind_simulation


@dataclass
class _SimulatedConstraints(RuntimeState):
    """Constraints of a scene's simulation.

    Attributes:
        is_emptying: The simulation is being emptied.
        has_run: Blender has stepped the world, so that its constraints are in a simulation.
        known: ``session_uid`` of the world's constraints at the last check.
        unusable: ``session_uid`` of empties whose constraints must not be simulated again.
    """

    lifetime: ClassVar = Lifetime.FILE
    is_emptying: bool = False
    has_run: bool = False
    known: frozenset[int] = frozenset()
    unusable: set[int] = field(default_factory=set)


def holds_constraints(scene: bpy.types.Scene) -> bool:
    """Return whether the constraints of a scene's world are in a simulation, since Blender has stepped it."""
    return state_of(_SimulatedConstraints, scene).has_run


def detach_from_simulation(scene: bpy.types.Scene, empties: ObjectSequence) -> None:
    """Empty a scene's simulation before constraints, or bodies of constraints, are taken out of its world.

    A world that is switched off is enabled meanwhile; a baked cache is freed. One that is off since another scene
    simulates its mechanisms is left alone: a step would create a simulation of the bodies in it. The constraints hold
    nothing afterwards, so that they are not taken for those of a world that the user removed (``renew_constraints``).
    """
    world = world_of(scene)
    for empty in empties:
        if empty.rigid_body_constraint is not None:
            empty.rigid_body_constraint.object1 = empty.rigid_body_constraint.object2 = None
    if not (world.enabled or simulates_here(scene) or state_of(_SimulatedConstraints, scene).has_run):
        return
    enabled = world.enabled
    if world.point_cache.is_baked:  # it would be outdated after this
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0], point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    world.enabled = True
    try:
        empty_simulation(scene)
    finally:
        world.enabled = enabled


def unlink_from_world(scene: bpy.types.Scene, bodies: ObjectSequence, empties: ObjectSequence) -> None:
    """Take objects out of a world whose simulation is empty: bodies lose their rigid bodies, empties lose nothing."""
    world = world_of(scene)
    _unlink(empties, world.constraints)
    _unlink(bodies, world.collection)
    state_of(_SimulatedConstraints, scene).known = _uids(world.constraints)
    bodies = [obj for obj in bodies if obj.rigid_body is not None]
    if bodies:
        with _selected_in_own_scene(bodies):
            bpy.ops.rigidbody.objects_remove()


def empty_simulation(scene: bpy.types.Scene, more: ObjectSequence = (), rewind: bool = False) -> None:
    """Make a scene's simulation release all constraints, of whatever mechanism.

    The next simulation creates them again at its second frame; until then any body may be deleted. Frame handlers do
    nothing at the frames visited: see ``is_emptying_simulation``.

    Args:
        scene: The scene.
        more: Empties with constraints that are no longer in its world.
        rewind: Move the simulation back to the first frame.
    """
    state = state_of(_SimulatedConstraints, scene)
    state.is_emptying = True
    try:
        with _constraints_disabled(world_of(scene), more):
            if rebuild_simulation(scene):
                state.has_run = False
            if rewind:
                rewind_simulation(scene)
    finally:
        state.is_emptying = False


def is_emptying_simulation(scene: bpy.types.Scene) -> bool:
    """Return whether a scene's simulation is being emptied.

    Frame handlers ignore the frames visited meanwhile, and its constraints must stay where they are.
    """
    return state_of(_SimulatedConstraints, scene).is_emptying


def remove_dangling_constraints(scene: bpy.types.Scene) -> bool:
    """Remove constraints with deleted bodies, and the shapes of deleted bodies, from a scene's world.

    Returns:
        Whether there were any, or constraints were deleted themselves: the simulation has then ended.
    """
    world, state = world_of(scene), state_of(_SimulatedConstraints, scene)
    if state.is_emptying:
        return False
    vanished = state.known - _uids(world.constraints)
    widows = [empty for empty in _collection_objects(world.constraints) if _is_dangling(empty)]
    linked = objects_in_collections()
    orphans = [obj for obj in _collection_objects(world.collection) if is_orphan_helper(obj, linked)]
    _unlink(widows, world.constraints)
    _unlink(orphans, world.collection)
    state.known = _uids(world.constraints)
    if not (widows or orphans or (vanished and state.has_run)):
        return False
    motors = [empty for empty in widows if record_of(empty).role == "NONE"]
    if state.has_run:
        empty_simulation(scene, _removed_constraints(vanished), rewind=True)
        state.unusable.update(empty.session_uid for empty in widows if empty not in motors)
    _discard_motors(motors)
    return True


def _removed_constraints(vanished: Collection[int]) -> list[bpy.types.Object]:
    """Return the vanished constraints that still exist, with both their bodies."""
    found = [obj for obj in bpy.data.objects if obj.session_uid in vanished] if vanished else []
    return [obj for obj in found if obj.rigid_body_constraint is not None and not _has_missing_body(obj)]


@contextmanager
def _constraints_disabled(world: bpy.types.RigidBodyWorld, more: ObjectSequence) -> Iterator[None]:
    """Detach all constraints of a world within the context, and those of ``more``, which join it meanwhile.

    Note:
        As Blender rebuilds the simulation, it frees their simulation data.
    """
    kept, folder = world.constraints, None
    empties = [obj for obj in [*_collection_objects(kept), *more] if obj.rigid_body_constraint is not None]
    ends = {}
    for empty in empties:
        held = constraint_of(empty)
        ends[empty.session_uid] = [-1 if end is None else end.session_uid for end in (held.object1, held.object2)]
    try:
        for empty in empties:
            constraint_of(empty).object1 = constraint_of(empty).object2 = None
        if more:
            folder = bpy.data.collections.new("Knuckle Workshop")
            if kept is not None:
                folder.children.link(kept)
            for empty in more:
                folder.objects.link(empty)
            world.constraints = folder
        yield
    finally:
        if folder is not None:
            world.constraints = kept
            bpy.data.collections.remove(folder)
        there = {obj.session_uid: obj for obj in bpy.data.objects}  # user scripts may delete objects
        for empty, (one, two) in ((there[uid], pair) for uid, pair in ends.items() if uid in there):
            if empty.rigid_body_constraint is not None:
                empty.rigid_body_constraint.object1 = there.get(one)
                empty.rigid_body_constraint.object2 = there.get(two)


def _discard_motors(motors: ObjectSequence) -> None:
    """Release motors from their mechanism and from all collections.

    They are not deleted, since Blender would free their constraint. No file gets them.
    """
    for rig in {record_of(motor).model for motor in motors}:
        for joint in (record_of(empty).joint for empty in parts(rig, "JOINT")):
            for name in ("motor", "spring_preload"):
                if getattr(joint, name) in motors:
                    setattr(joint, name, None)
        for kept in motor_lists(rig):
            remove_from_motor_list(kept, [place for place, motor in enumerate(kept) if motor.empty in motors])
    for motor in motors:
        record_of(motor).model = None
        for folder in motor.users_collection:
            folder.objects.unlink(motor)


def note_step(scene: bpy.types.Scene) -> None:
    """Note that Blender steps a scene's world: its constraints are in a simulation from now on."""
    state_of(_SimulatedConstraints, scene).has_run = True


def is_unusable_constraint(empty: bpy.types.Object) -> bool:
    """Return whether an empty's constraint was in a simulation in which its body was deleted.

    It still points there until it is read from a file again: put into the world again, it crashed Blender every third
    time.
    """
    return any(empty.session_uid in each.unusable for each in all_states(_SimulatedConstraints))


def _collection_objects(collection: bpy.types.Collection | None) -> list[bpy.types.Object]:
    return [] if collection is None else collection.objects[:]


def _uids(collection: bpy.types.Collection | None) -> frozenset[int]:
    return frozenset(obj.session_uid for obj in _collection_objects(collection))


def _is_dangling(empty: bpy.types.Object) -> bool:
    return empty.rigid_body_constraint is not None and record_of(empty).model is not None and _has_missing_body(empty)


def _has_missing_body(empty: bpy.types.Object) -> bool:
    """Return whether one of the bodies of a constraint is missing."""
    constraint = constraint_of(empty)
    return any(end is None or end.rigid_body is None for end in (constraint.object1, constraint.object2))


def is_orphan_helper(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object is the collision shape or inertia proxy of a deleted body, one not ``linked``."""
    if is_orphan_inertia_proxy(obj, linked):
        return True
    if record_of(obj).shape < 0 or record_of(obj).model is None:
        return False
    return obj.parent is None or obj.parent not in linked


def _unlink(objects: ObjectSequence, collection: bpy.types.Collection | None) -> None:
    held = set(_collection_objects(collection))
    for obj in dict.fromkeys(objects):
        if collection is not None and obj in held:
            collection.objects.unlink(obj)


@contextmanager
def _selected_in_own_scene(objects: ObjectSequence) -> Iterator[None]:
    """Select objects in a scene of their own within the context, the first active and visible, as operators need it."""
    first = objects[0]
    hidden, first.hide_viewport = first.hide_viewport, False
    try:
        with scratch_scene(objects) as scene, operator_context(scene, objects):
            yield
    finally:
        first.hide_viewport = hidden


def renew_constraints() -> None:
    """Replace empties whose constraints a removed world left behind by copies of them."""
    worlds = [scene.rigidbody_world for scene in bpy.data.scenes]
    held = {obj for world in worlds if world and world.constraints for obj in world.constraints.objects}
    for obj in [obj for obj in bpy.data.objects if _is_stale_constraint(obj, obj in held)]:
        _replace_by_copy(obj)


def _is_stale_constraint(obj: bpy.types.Object, is_held: bool) -> bool:
    """Return whether one of our constraints was left behind by a removed world.

    It points at bodies (those that *Clear Physics* leaves point at none) but is in no world; or, where scenes share the
    collections of a world, it points at an object that is no rigid body any more.
    """
    constraint = obj.rigid_body_constraint
    if constraint is None or record_of(obj).model is None or obj.library or obj.override_library:
        return False
    ends = [end for end in (constraint.object1, constraint.object2) if end is not None]
    return any(end.rigid_body is None for end in ends) if is_held else bool(ends)


def _replace_by_copy(obj: bpy.types.Object) -> None:
    """Replace an object by a copy everywhere, under its name; the old one stays in memory, but in no file."""
    layer, name = bpy.context.view_layer, obj.name
    selected, active = obj.select_get(), layer.objects.active == obj
    made = obj.copy()
    obj.user_remap(made)
    obj.name = f"{name} (removed)"
    made.name = name
    record_of(obj).role, record_of(obj).model = "NONE", None
    if layer.objects.get(name) == made:
        made.select_set(selected)
        if active:
            layer.objects.active = made
