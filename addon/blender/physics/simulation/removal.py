"""Taking objects out of a rigid-body world.

Out of the world's collections alone, bodies keep what they had there. Only Blender's operator takes it away, and it
works on what is active and selected, so it has a scene of its own to do it in. (For constraints there is none that
takes many at once: an empty keeps its constraint, which without its two bodies and out of any world does nothing.)

The order matters. In Blender's simulation, constraints and bodies point at each other, and neither looks whether the
other is still there when it is freed: Blender crashes, later and elsewhere. Constraints that have lost their objects
are taken out cleanly when the simulation is built anew; after that, bodies are free to go. So whenever the simulation
is built anew here, no constraint of the world holds anything meanwhile, whose it may be (``rest``): what is deleted or
taken back before the next run meets an empty simulation.

The user deletes in any order, and what is hidden or cannot be selected stays behind; a script removes what it likes.
``part_with_lost`` is what makes that safe before Blender takes another step:

* A constraint that a script removed is freed, and its bodies know it no more, but the simulation would take its next
  step with it. It is built anew. (In Blender 4.2 the bodies still know it, which crashes that: nothing is to be done.)
* A constraint that is taken out of the world's collection, as all are when that is deleted, stays in the simulation.
  Built anew, this frees its bodies, but not the constraint, which is asked for them when it is in a world again:
  Blender crashes. So it is in the world once more while that is built anew, and holds nothing.
* A constraint whose body was deleted still points at it, and asks it something when it is freed. So it is not: it
  leaves the world, which is built anew without it, and stays until the file is closed. Blender frees it then, and
  crashes where it has used the body's memory for something else meanwhile (7 to 18 times in 20). Nothing was found that
  keeps it from that: freed at once, such constraints crashed about as often, and in the midst of the work. Without us
  Blender crashes sooner, at the next step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import bpy

from ...data.access import armature_settings, record_of, settings
from ...data.datablocks import linked_objects
from ...data.queries import child_collection, parts
from ...scene.meshes import box
from ...scene.temporary_scene import Objects, at_work, workshop
from ..actuators.motors import listed, motor_lists, strike_off, unlisted
from ..bodies.inertia import is_lost_flywheel
from ..world.anchor import is_anchor
from ..world.membership import simulated_in
from ..world.rigidbody_world import clear_world, first_frame, rebuild_simulation, refit_world, rewind_simulation
from . import cached_frames as progress
from . import session as runs

#: Scenes and empties by their ``session_uid``, which they keep until another file is opened.
_simulated: set[int] = set()
_spent: set[int] = set()
_busy: set[int] = set()
#: The constraints that scenes' worlds had when they were last looked at.
_held: dict[int, frozenset[int]] = {}


def strip_physics(scene: bpy.types.Scene, bodies: Objects, empties: Objects) -> None:
    """Take objects out of a scene's world, bodies with the rigid body that they had in it.

    A world that is switched off runs meanwhile; its cache, if it is baked, is freed.
    """
    world = scene.rigidbody_world
    for empty in empties:
        if empty.rigid_body_constraint is not None:
            empty.rigid_body_constraint.object1 = empty.rigid_body_constraint.object2 = None
    enabled = world.enabled
    if world.point_cache.is_baked:  # of what is no more after this
        with bpy.context.temp_override(scene=scene, point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    world.enabled = True
    try:
        rest(scene)
    finally:
        world.enabled = enabled
    if scene.frame_current > first_frame(scene):
        _break_off(scene)
    _unlink(empties, world.constraints)
    _unlink(bodies, world.collection)
    _held[scene.session_uid] = _uids(world.constraints)
    bodies = [obj for obj in bodies if obj.rigid_body is not None]
    if bodies:
        with _at_work(bodies):
            bpy.ops.rigidbody.objects_remove()


def rest(scene: bpy.types.Scene, more: Objects = (), rewind: bool = False) -> None:
    """Have a scene's simulation let go of all constraints, whose they may be, and of ``more`` that are not in its world
    now. The next run makes them anew at its second frame; until then any body may be deleted. ``rewind``: nothing
    goes on before that. Nobody does anything at the frames that this goes to: see ``is_resting``."""
    _busy.add(scene.session_uid)
    try:
        with _holding_nothing(scene.rigidbody_world, more):
            if rebuild_simulation(scene):
                _simulated.discard(scene.session_uid)
            if rewind:
                rewind_simulation(scene)
    finally:
        _busy.discard(scene.session_uid)


def is_resting(scene: bpy.types.Scene) -> bool:
    """Return whether a scene's simulation is being emptied: the frames that it goes to are nobody's, and its
    constraints have to stay where they are."""
    return scene.session_uid in _busy


def part_with_lost(scene: bpy.types.Scene) -> bool:
    """Take constraints of models out of a scene's world whose bodies were deleted, and the parts of deleted bodies'
    shapes. Whether there were any, or constraints were deleted themselves: the run is over then."""
    world, uid = scene.rigidbody_world, scene.session_uid
    if is_resting(scene):
        return False
    vanished = _held.get(uid, frozenset()) - _uids(world.constraints)
    widows = [empty for empty in _members(world.constraints) if _is_widow(empty)]
    linked = linked_objects()
    orphans = [obj for obj in _members(world.collection) if is_orphan(obj, linked)]
    _unlink(widows, world.constraints)
    _unlink(orphans, world.collection)
    _held[uid] = _uids(world.constraints)
    if not (widows or orphans or (vanished and uid in _simulated)):
        return False
    motors = [empty for empty in widows if record_of(empty).role == "NONE"]
    if uid in _simulated:
        rest(scene, _taken_out(vanished), rewind=True)
        _spent.update(empty.session_uid for empty in widows if empty not in motors)
    _set_aside(motors)
    return True


def _taken_out(vanished: Collection[int]) -> list[bpy.types.Object]:
    """Of the constraints that are no longer in a world: those that are there yet, with both their bodies."""
    found = [obj for obj in bpy.data.objects if obj.session_uid in vanished] if vanished else []
    return [obj for obj in found if obj.rigid_body_constraint is not None and not _has_lost(obj)]


def _break_off(scene: bpy.types.Scene) -> None:
    """In the middle of a run the simulation was emptied: that is over, and bodies follow their bones until the next."""
    progress.end(scene)
    for rig in simulated_in(scene):
        runs.lose(rig)
        if settings(rig).drive != "KEYS":
            runs.hold(rig)


@contextmanager
def _holding_nothing(world: bpy.types.RigidBodyWorld, more: Objects) -> Iterator[None]:
    """Within it no constraint of a world holds anything, and what was taken out of it, ``more``, is in it too: as its
    simulation is built anew, Blender frees what these had in it."""
    kept, folder = world.constraints, None
    empties = [obj for obj in [*_members(kept), *more] if obj.rigid_body_constraint is not None]
    ends = {}
    for empty in empties:
        held = empty.rigid_body_constraint
        ends[empty.session_uid] = [-1 if end is None else end.session_uid for end in (held.object1, held.object2)]
    try:
        for empty in empties:
            empty.rigid_body_constraint.object1 = empty.rigid_body_constraint.object2 = None
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
        there = {obj.session_uid: obj for obj in bpy.data.objects}  # scripts of the user run as frames change
        for empty, (one, two) in ((there[uid], pair) for uid, pair in ends.items() if uid in there):
            if empty.rigid_body_constraint is not None:
                empty.rigid_body_constraint.object1 = there.get(one)
                empty.rigid_body_constraint.object2 = there.get(two)


def _set_aside(motors: Objects) -> None:
    """Have motors be nobody's, in no collection.

    They are not removed: Blender would free their constraint. No file gets them.
    """
    for rig in {record_of(motor).model for motor in motors}:
        for joint in (record_of(empty).joint for empty in parts(rig, "JOINT")):
            for name in ("motor", "preload"):
                if getattr(joint, name) in motors:
                    setattr(joint, name, None)
        for kept in motor_lists(rig):
            strike_off(kept, [place for place, motor in enumerate(kept) if motor.empty in motors])
    for motor in motors:
        record_of(motor).model = None
        for folder in motor.users_collection:
            folder.objects.unlink(motor)


def dismiss_unlisted(scene: bpy.types.Scene, rigs: Iterable[bpy.types.Object]) -> bool:
    """At the first frame of a scene: take the motors of models that nothing needs any more out of its world and remove
    them. Whether there were any."""
    idle = [motor for rig in rigs for motor in unlisted(scene, rig) if not is_spent(motor)]
    if idle:
        strip_physics(scene, [], idle)
        bpy.data.batch_remove(idle)
    return bool(idle)


def note_simulated(scene: bpy.types.Scene) -> None:
    """Blender takes a step with a scene's world: its constraints are in a simulation from now on."""
    _simulated.add(scene.session_uid)


def is_spent(empty: bpy.types.Object) -> bool:
    """Return whether an empty's constraint was in a simulation in which its body was deleted.

    It still points there, which nothing mends but reading it from a file: in the world again, it crashed Blender every
    third time.
    """
    return empty.session_uid in _spent


def _members(collection: bpy.types.Collection | None) -> list[bpy.types.Object]:
    return [] if collection is None else collection.objects[:]


def _uids(collection: bpy.types.Collection | None) -> frozenset[int]:
    return frozenset(obj.session_uid for obj in _members(collection))


def _is_widow(empty: bpy.types.Object) -> bool:
    return empty.rigid_body_constraint is not None and record_of(empty).model is not None and _has_lost(empty)


def _has_lost(empty: bpy.types.Object) -> bool:
    """Return whether one of the bodies that a constraint holds is gone."""
    constraint = empty.rigid_body_constraint
    return any(end is None or end.rigid_body is None for end in (constraint.object1, constraint.object2))


def forget_simulations() -> None:
    """Another file was opened."""
    for each in (_simulated, _spent, _held, _busy):
        each.clear()


def is_orphan(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object is the collision shape or the flywheel of a body that was deleted: that is not
    ``linked``."""
    if is_lost_flywheel(obj, linked):
        return True
    if record_of(obj).shape < 0 or record_of(obj).model is None:
        return False
    return obj.parent is None or obj.parent not in linked


def _unlink(objects: Objects, collection: bpy.types.Collection | None) -> None:
    held = set(_members(collection))
    for obj in dict.fromkeys(objects):
        if collection is not None and obj in held:
            collection.objects.unlink(obj)


@contextmanager
def _at_work(objects: Objects) -> Iterator[None]:
    """Objects selected in a scene of their own, the first active (and visible, as operators want it)."""
    first = objects[0]
    hidden, first.hide_viewport = first.hide_viewport, False
    try:
        with workshop(objects) as scene, at_work(scene, objects):
            yield
    finally:
        first.hide_viewport = hidden


def leftovers(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return what models that the user deleted left in the scene's physics: the ground, motors, the world's settings.

    Their armatures, which are no longer in the scene.
    """
    if scene.rigidbody_world is None:
        return []
    rigs = (armature_settings(data).rig for data in bpy.data.armatures)
    return [rig for rig in rigs if rig is not None and not rig.users_scene and rig.data is not None]


def remove_leftovers(scene: bpy.types.Scene) -> int:
    """Remove them; returns how many objects went. Bodies that the user kept lose their physics and stay."""
    world = scene.rigidbody_world
    lost = leftovers(scene)
    mine = [obj for obj in scene.objects if record_of(obj).model in lost] if lost else []
    held = {obj for c in (world.collection, world.constraints) if c is not None for obj in c.objects} if lost else set()
    heir = heir_of_ground(scene, lost)
    for ground in [obj for obj in mine if record_of(obj).is_ground and heir is not None]:
        mine.remove(ground)
        hand_down(scene, ground, heir)
    bodies = [obj for obj in mine if obj in held and obj.rigid_body is not None]
    empties = [obj for obj in mine if obj in held and obj.rigid_body_constraint is not None]
    if bodies or empties:
        strip_physics(scene, bodies, empties)
    linked = linked_objects()
    gone = [obj for obj in mine if _is_helper(obj, linked)]
    shapes = {obj.data for obj in gone if obj.data is not None}
    bpy.data.batch_remove(gone)
    bpy.data.batch_remove([mesh for mesh in shapes if not mesh.users])  # bodies that look alike share theirs
    for rig in lost:
        clear_world(scene, rig, next(simulated_in(scene), None))
    refit_world(scene, list(simulated_in(scene)))
    return len(gone)


def _is_helper(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object of a model is nothing without it: hidden, or not to be selected, and so not deleted with
    it."""
    record = record_of(obj)
    return record.is_ground or is_anchor(obj) or record.role == "NONE" or is_orphan(obj, linked)


def motors_in(scene: bpy.types.Scene, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The empties of all motors that a model has in a scene."""
    return [] if scene.rigidbody_world is None else [*listed(rig), *unlisted(scene, rig)]


def shed_motors(scene: bpy.types.Scene, rig: bpy.types.Object, kept: Collection[bpy.types.Object]) -> None:
    """Remove a model's motors but those that are ``kept``."""
    spare = [motor for motor in motors_in(scene, rig) if motor not in kept]
    if not spare:
        return
    runs.drop(rig)
    runs.lose(rig)
    strip_physics(scene, [], spare)
    for rows in motor_lists(rig):
        for number in reversed(range(len(rows))):
            if rows[number].empty in spare:
                rows.remove(number)
    bpy.data.batch_remove(spare)


_GROUND = "Knuckle Ground"


def grounds_in(world: bpy.types.RigidBodyWorld) -> list[bpy.types.Object]:
    """The grounds in a world."""
    return [obj for obj in world.collection.objects if record_of(obj).is_ground]


def ensure_ground(scene: bpy.types.Scene, rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> None:
    """A large passive box whose top is at height 0, one for all models of the scene."""
    if grounds_in(world):
        return
    wide, deep = 2e5, 10.0  # Blender's box stands about the object's origin, wherever the mesh is
    corners, faces = box(wide, wide, deep)
    mesh = bpy.data.meshes.new(_GROUND)
    mesh.from_pydata(corners.tolist(), [], faces)
    ground = bpy.data.objects.new(_GROUND, mesh)
    ground.location = (0.0, 0.0, -deep / 2)
    record_of(ground).role = "SHAPE"
    record_of(ground).is_ground = True
    record_of(ground).model = rig
    ground.display_type = "WIRE"
    ground.hide_render = True
    ground.hide_select = True
    child_collection(rig, "Collision").objects.link(ground)
    ground.hide_viewport = True
    world.collection.objects.link(ground)
    body = ground.rigid_body
    body.type = "PASSIVE"
    body.collision_shape = "BOX"
    body.friction = 1.0  # Blender multiplies the two coefficients of a contact
    body.restitution = 0.0
    body.use_margin, body.collision_margin = True, 0.0


def heir_of_ground(scene: bpy.types.Scene, but: Collection[bpy.types.Object]) -> bpy.types.Object | None:
    """Another model than some that stands on the scene's ground."""
    return next((rig for rig in simulated_in(scene) if rig not in but and settings(rig).has_ground), None)


def hand_down(scene: bpy.types.Scene, ground: bpy.types.Object, heir: bpy.types.Object) -> None:
    """Have a ground belong to another model."""
    for folder in ground.users_collection:
        if folder != scene.rigidbody_world.collection:
            folder.objects.unlink(ground)
    child_collection(heir, "Collision").objects.link(ground)
    record_of(ground).model = heir


def follow_switch(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Put the ground under a model that is simulated in a scene, or take it away where nobody stands on it."""
    world = scene.rigidbody_world
    if settings(rig).has_ground:
        ensure_ground(scene, rig, world)
    elif heir_of_ground(scene, ()) is None:
        remove(scene, grounds_in(world))


def remove(scene: bpy.types.Scene, grounds: list[bpy.types.Object]) -> None:
    """Remove grounds from a scene."""
    if grounds:
        strip_physics(scene, grounds, [])
        bpy.data.batch_remove([*grounds, *(ground.data for ground in grounds)])
