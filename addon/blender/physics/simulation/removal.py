"""Removal of objects from a rigid-body world, without the crashes of Blender that it can cause; also the ground.

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
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import bpy

from ...data.access import armature_settings, bodies_of, constraint_of, record_of, rigid_body_of, settings, world_of
from ...data.datablocks import objects_in_collections
from ...data.queries import child_collection, parts
from ...scene.meshes import box
from ...scene.temporary_scene import ObjectSequence, operator_context, scratch_scene
from ..actuators.motors import listed_motors, motor_lists, remove_from_motor_list, unlisted_motors
from ..bodies.inertia import is_orphan_inertia_proxy
from ..world.anchor import is_anchor
from ..world.membership import simulated_rigs
from ..world.rigidbody_world import clear_world, first_frame, rebuild_simulation, refit_world, rewind_simulation
from . import cached_frames
from .session import all_sessions, drop_controller, hold_on_bones, mark_unsimulated, session_of


def remove_from_world(scene: bpy.types.Scene, bodies: ObjectSequence, empties: ObjectSequence) -> None:
    """Remove objects from a scene's world: bodies with their rigid bodies, empties without.

    A world that is switched off is enabled meanwhile; a baked cache is freed.
    """
    world = world_of(scene)
    for empty in empties:
        if empty.rigid_body_constraint is not None:
            empty.rigid_body_constraint.object1 = empty.rigid_body_constraint.object2 = None
    enabled = world.enabled
    if world.point_cache.is_baked:  # it would be outdated after this
        with bpy.context.temp_override(scene=scene, point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    world.enabled = True
    try:
        empty_simulation(scene)
    finally:
        world.enabled = enabled
    if scene.frame_current > first_frame(scene):
        _interrupt_run(scene)
    _unlink(empties, world.constraints)
    _unlink(bodies, world.collection)
    session_of(scene).constraints = _uids(world.constraints)
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
    session = session_of(scene)
    session.is_emptying = True
    try:
        with _constraints_disabled(world_of(scene), more):
            if rebuild_simulation(scene):
                session.has_run = False
            if rewind:
                rewind_simulation(scene)
    finally:
        session.is_emptying = False


def is_emptying_simulation(scene: bpy.types.Scene) -> bool:
    """Return whether a scene's simulation is being emptied.

    Frame handlers ignore the frames visited meanwhile, and its constraints must stay where they are.
    """
    return session_of(scene).is_emptying


def remove_dangling_constraints(scene: bpy.types.Scene) -> bool:
    """Remove constraints with deleted bodies, and the shapes of deleted bodies, from a scene's world.

    Returns:
        Whether there were any, or constraints were deleted themselves: the simulation has then ended.
    """
    world, session = world_of(scene), session_of(scene)
    if session.is_emptying:
        return False
    vanished = session.constraints - _uids(world.constraints)
    widows = [empty for empty in _collection_objects(world.constraints) if _is_dangling(empty)]
    linked = objects_in_collections()
    orphans = [obj for obj in _collection_objects(world.collection) if is_orphan_helper(obj, linked)]
    _unlink(widows, world.constraints)
    _unlink(orphans, world.collection)
    session.constraints = _uids(world.constraints)
    if not (widows or orphans or (vanished and session.has_run)):
        return False
    motors = [empty for empty in widows if record_of(empty).role == "NONE"]
    if session.has_run:
        empty_simulation(scene, _removed_constraints(vanished), rewind=True)
        session.unusable.update(empty.session_uid for empty in widows if empty not in motors)
    _discard_motors(motors)
    return True


def _removed_constraints(vanished: Collection[int]) -> list[bpy.types.Object]:
    """Return the vanished constraints that still exist, with both their bodies."""
    found = [obj for obj in bpy.data.objects if obj.session_uid in vanished] if vanished else []
    return [obj for obj in found if obj.rigid_body_constraint is not None and not _has_missing_body(obj)]


def _interrupt_run(scene: bpy.types.Scene) -> None:
    """End a simulation that was emptied; bodies follow their bones until the next one."""
    cached_frames.invalidate_run(scene)
    for rig in simulated_rigs(scene):
        mark_unsimulated(rig)
        if settings(rig).drive != "KEYS":
            hold_on_bones(rig)


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


def remove_unlisted_motors(scene: bpy.types.Scene, rigs: Iterable[bpy.types.Object]) -> bool:
    """Delete motors that are no longer in use, at the first frame of a scene.

    Returns:
        Whether there were any.
    """
    idle = [motor for rig in rigs for motor in unlisted_motors(scene, rig) if not is_unusable_constraint(motor)]
    if idle:
        remove_from_world(scene, [], idle)
        bpy.data.batch_remove(idle)
    return bool(idle)


def mark_simulated(scene: bpy.types.Scene) -> None:
    """Note that Blender steps a scene's world: its constraints are in a simulation from now on."""
    session_of(scene).has_run = True


def is_unusable_constraint(empty: bpy.types.Object) -> bool:
    """Return whether an empty's constraint was in a simulation in which its body was deleted.

    It still points there until it is read from a file again: put into the world again, it crashed Blender every third
    time.
    """
    return any(empty.session_uid in each.unusable for each in all_sessions())


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


def find_leftovers(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the armatures of deleted mechanisms that left a ground, motors or world settings in the scene.

    Empty without a rigid-body world.
    """
    if scene.rigidbody_world is None:
        return []
    rigs = (armature_settings(data).rig for data in bpy.data.armatures)
    return [rig for rig in rigs if rig is not None and not rig.users_scene and rig.data is not None]


def remove_leftovers(scene: bpy.types.Scene) -> int:
    """Remove what deleted mechanisms left in the scene's physics.

    Bodies that the user kept lose their physics and stay.

    Returns:
        The count of deleted objects.
    """
    world = world_of(scene)
    lost = find_leftovers(scene)
    mine = [obj for obj in scene.objects if record_of(obj).model in lost] if lost else []
    held = {obj for c in (world.collection, world.constraints) if c is not None for obj in c.objects} if lost else set()
    heir = other_rig_on_ground(scene, lost)
    if heir is not None:
        for ground in [obj for obj in mine if record_of(obj).is_ground]:
            mine.remove(ground)
            transfer_ground(scene, ground, heir)
    bodies = [obj for obj in mine if obj in held and obj.rigid_body is not None]
    empties = [obj for obj in mine if obj in held and obj.rigid_body_constraint is not None]
    if bodies or empties:
        remove_from_world(scene, bodies, empties)
    linked = objects_in_collections()
    gone = [obj for obj in mine if _is_helper(obj, linked)]
    shapes = {obj.data for obj in gone if obj.data is not None}
    bpy.data.batch_remove(gone)
    bpy.data.batch_remove([mesh for mesh in shapes if not mesh.users])  # equal bodies share meshes
    for rig in lost:
        clear_world(scene, rig, next(simulated_rigs(scene), None))
    refit_world(scene, list(simulated_rigs(scene)))
    return len(gone)


def _is_helper(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object of a mechanism is useless without it.

    Helper objects are hidden or not selectable, and so not deleted with the mechanism.
    """
    record = record_of(obj)
    return record.is_ground or is_anchor(obj) or record.role == "NONE" or is_orphan_helper(obj, linked)


def motors_in(scene: bpy.types.Scene, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the empties of all motors of a mechanism in a scene."""
    return [] if scene.rigidbody_world is None else [*listed_motors(rig), *unlisted_motors(scene, rig)]


def remove_other_motors(scene: bpy.types.Scene, rig: bpy.types.Object, kept: Collection[bpy.types.Object]) -> None:
    """Delete a mechanism's motors except those ``kept``."""
    spare = [motor for motor in motors_in(scene, rig) if motor not in kept]
    if not spare:
        return
    drop_controller(rig)
    mark_unsimulated(rig)
    remove_from_world(scene, [], spare)
    for rows in motor_lists(rig):
        for number in reversed(range(len(rows))):
            if rows[number].empty in spare:
                rows.remove(number)
    bpy.data.batch_remove(spare)


_GROUND_NAME = "Knuckle Ground"


def grounds_in(world: bpy.types.RigidBodyWorld) -> list[bpy.types.Object]:
    """Return the grounds in a world."""
    return [obj for obj in bodies_of(world).objects if record_of(obj).is_ground]


def ensure_ground(scene: bpy.types.Scene, rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> None:
    """Create the ground: a large passive box whose top is at height 0, one for all mechanisms of the scene."""
    if grounds_in(world):
        return
    wide, deep = 2e5, 10.0  # Blender's box is centered on the object's origin, wherever the mesh is
    corners, faces = box(wide, wide, deep)
    mesh = bpy.data.meshes.new(_GROUND_NAME)
    mesh.from_pydata(corners.tolist(), [], faces)
    ground = bpy.data.objects.new(_GROUND_NAME, mesh)
    ground.location = (0.0, 0.0, -deep / 2)
    record_of(ground).role = "SHAPE"
    record_of(ground).is_ground = True
    record_of(ground).model = rig
    ground.display_type = "WIRE"
    ground.hide_render = True
    ground.hide_select = True
    child_collection(rig, "Collision").objects.link(ground)
    ground.hide_viewport = True
    bodies_of(world).objects.link(ground)
    body = rigid_body_of(ground)
    body.type = "PASSIVE"
    body.collision_shape = "BOX"
    body.friction = 1.0  # Blender multiplies the two coefficients of a contact
    body.restitution = 0.0
    body.use_margin, body.collision_margin = True, 0.0


def other_rig_on_ground(scene: bpy.types.Scene, but: Collection[bpy.types.Object]) -> bpy.types.Object | None:
    """Return a mechanism on the scene's ground that is not among ``but``, or None."""
    return next((rig for rig in simulated_rigs(scene) if rig not in but and settings(rig).has_ground), None)


def transfer_ground(scene: bpy.types.Scene, ground: bpy.types.Object, heir: bpy.types.Object) -> None:
    """Make another mechanism the owner of a ground."""
    for folder in ground.users_collection:
        if folder != world_of(scene).collection:
            folder.objects.unlink(ground)
    child_collection(heir, "Collision").objects.link(ground)
    record_of(ground).model = heir


def update_ground(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Create the ground of a simulated mechanism, or remove it where no mechanism uses it."""
    world = world_of(scene)
    if settings(rig).has_ground:
        ensure_ground(scene, rig, world)
    elif other_rig_on_ground(scene, ()) is None:
        remove_grounds(scene, grounds_in(world))


def remove_grounds(scene: bpy.types.Scene, grounds: list[bpy.types.Object]) -> None:
    """Delete grounds of a scene."""
    if grounds:
        remove_from_world(scene, grounds, [])
        bpy.data.batch_remove([*grounds, *(ground.data for ground in grounds)])
