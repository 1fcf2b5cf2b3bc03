"""Building and clearing a mechanism's physics: rigid bodies, constraints, friction, ground, and helper objects."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

import bpy
import numpy as np

from ....core.report import Report
from ...data.access import armature_settings, bodies_of, constraints_of, record_of, rigid_body_of, settings, world_of
from ...data.caching import joint_record, memoized_reads
from ...data.conversion import clear_message
from ...data.datablocks import objects_in_collections, still_exists
from ...data.properties.joint import KnuckleJoint
from ...data.properties.model import KnuckleObject
from ...data.queries import (
    child_collection,
    inertia_proxies,
    own_inertia_proxy,
    parts,
    proxy_welds,
    simulates_here,
)
from ...data.rigid_bodies import MIN_MASS, collision_children, store_typed_mass
from ...scene.meshes import box
from ...scene.temporary_scene import ObjectSequence
from ..actuators.motors import clear_motor_lists, listed_motors, motor_lists, unlisted_motors
from ..bodies.collision import apply_collision_filter, filter_constraints, set_up_collision, share_collections
from ..bodies.inertia import (
    WorldMembership,
    drop_unused_inertia_proxies,
    fit_untouched_shapes,
    report_light_bodies,
    set_up_inertia_proxies,
)
from ..constraints.constraints import write_constraint
from ..constraints.restraints import point_restraints, report_restraints
from ..workarounds.constraint_removal import (
    detach_from_simulation,
    is_orphan_helper,
    is_unusable_constraint,
    remove_dangling_constraints,
    renew_constraints,
    unlink_from_world,
)
from ..workarounds.undo_guard import expect_physics
from ..world.anchor import (
    begins_with_velocity,
    connects_bodies,
    ensure_anchor,
    is_anchor,
    is_floating,
    own_anchor,
    raise_model,
    welded_to_world,
)
from ..world.membership import simulated_elsewhere_message, simulated_rigs, switch_world_off, switch_world_on
from ..world.rigidbody_world import clear_world, ensure_world, first_frame, refit_world, reset_cache
from ..world.scale import NewObjectDefaults, report_distortion
from . import cached_frames
from .session import drop_controller, hold_on_bones, mark_unsimulated
from .unsupported import report_unsupported

#: Juice's friction is a force limit per contact, not a coefficient: this multiple of its share of the weight, within
#: these bounds, made real walkers walk as in ODE.
FRICTION_SHARE = 2.5
FRICTION_BOUNDS = (0.3, 1.0)
#: Friction of every body in DART; files of the other formats have none. Blender multiplies the two of a contact.
DART_FRICTION = 1.0


def build_physics(scene: bpy.types.Scene, rig: bpy.types.Object, is_new: bool = False) -> Report:
    """Create the rigid bodies and constraints of a mechanism, driven as its drive says.

    Existing ones are set again from the records, which also repairs a mechanism after an edit.

    Args:
        scene: The scene.
        rig: The armature object.
        is_new: The mechanism was just created, and nothing of it was moved.

    Returns:
        A report of what is not simulated as in the file.

    Raises:
        ValueError: Its physics is in another scene.
    """
    report = Report()
    elsewhere = simulated_elsewhere_message(scene, rig)
    if elsewhere:
        raise ValueError(elsewhere)
    others = [other for other in simulated_rigs(scene) if other != rig]
    drop_controller(rig)
    expect_physics()
    if scene.rigidbody_world is None and not is_new:
        renew_constraints()
    with memoized_reads():
        world = ensure_world(scene, rig, report, others)
        remove_dangling_constraints(scene)
        _unlink_without_physics(world)
        # former members of a world keep their rigid body or constraint: only membership counts
        linked = {*bodies_of(world).objects[:], *constraints_of(world).objects[:]}
        joints = parts(rig, "JOINT")
        welded = welded_to_world(map(joint_record, joints))
        _set_up_bodies(scene, rig, world, linked, welded, report)
        if not is_new:
            report_distortion(rig, report)
        report_unsupported(joints, report)
        report_restraints(rig, report)
        is_stepped = simulates_here(scene)
        held = [empty for empty in joints if _needs_constraint(joint_record(empty), welded)]
        _set_up_constraints(rig, world, linked, held, report, is_stepped)
        if is_stepped:
            apply_collision_filter(scene, rig, report)
        if is_stepped and settings(rig).has_ground and any(record_of(obj).active for obj in parts(rig, "BODY")):
            ensure_ground(scene, rig, world)
    reset_cache(scene)
    switch_world_on(scene)
    switch_world_off(scene)
    return report


def add_obstacles(scene: bpy.types.Scene, obstacles: Iterable[bpy.types.Object]) -> None:
    """Add objects to the world of a simulation scene, which follow their animation and which mechanisms collide with.

    Those with a rigid body keep its collision shape and friction; of others the mesh counts.
    """
    for obj in obstacles:
        is_new = obj.rigid_body is None
        bodies_of(world_of(scene)).objects.link(obj)
        body = rigid_body_of(obj)
        if is_new:
            body.collision_shape, body.friction, body.restitution = "MESH", 1.0, 0.0
            body.use_margin, body.collision_margin = True, 0.0
        body.type, body.kinematic = "PASSIVE", True
        share_collections(scene, [obj])


def _unlink_without_physics(world: bpy.types.RigidBodyWorld) -> None:
    """Unlink parts of mechanisms without rigid body or constraint from a world's collections.

    Note:
        Blender removes these with the world of another scene that shares the collections. Linked again, the parts get
        new ones.
    """
    for held, name in ((bodies_of(world), "rigid_body"), (constraints_of(world), "rigid_body_constraint")):
        for obj in held.objects[:]:
            if getattr(obj, name) is None and record_of(obj).model is not None:
                held.objects.unlink(obj)


def _set_up_bodies(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
    welded: Container[bpy.types.Object],
    report: Report,
) -> None:
    """Set up the rigid bodies of a mechanism, and inertia proxies where needed."""
    bodies = [obj for obj in parts(rig, "BODY") if record_of(obj).active]
    children, friction = collision_children(rig), store_friction(rig)
    is_stepped = simulates_here(scene)
    kinematic = not is_stepped or settings(rig).drive == "KEYS"
    fresh, held = NewObjectDefaults(), bodies_of(world).objects
    if any(obj not in linked for obj in bodies):
        mark_unsimulated(rig)
        cached_frames.invalidate_run(scene)
    for obj in bodies:
        is_new = False
        if obj in linked:
            store_typed_mass(obj)
        else:
            is_new = obj.rigid_body is None
            held.link(obj)
        values = set_up_collision(obj, children.get(obj, ()), world, linked)
        values |= _rigid_body_settings(record_of(obj), friction, kinematic, obj in welded)
        fresh.put(obj.rigid_body, values, is_new)
    fit_untouched_shapes(bodies)
    if is_stepped:
        set_up_inertia_proxies(bodies, children, WorldMembership(world, linked, objects_in_collections()), kinematic)
    _remove_inertia_proxies(scene, *drop_unused_inertia_proxies(rig))
    report_light_bodies(bodies, report)


def _set_up_constraints(
    rig: bpy.types.Object,
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
    held: list[bpy.types.Object],
    report: Report,
    is_stepped: bool,
) -> None:
    """Set up the constraints of joints, given by their empties."""
    for empty in filter(is_unusable_constraint, held):
        report.warn(
            "constraint-lost",
            "Joint: a body was deleted during a simulation, so it is not simulated. Save the file and open it again",
            where=empty.name,
        )
    held = [empty for empty in held if not is_unusable_constraint(empty)]
    at_world = any(joint_record(empty).at_world for empty in held)
    if is_stepped and (at_world or point_restraints(rig) or begins_with_velocity(rig)):
        ensure_anchor(rig, world)
    model, fresh = settings(rig), NewObjectDefaults()
    for empty in held:
        is_new = empty not in linked and empty.rigid_body_constraint is None
        if empty not in linked:
            constraints_of(world).objects.link(empty)
        write_constraint(empty, model, fresh if is_new else None)


def _remove_inertia_proxies(
    scene: bpy.types.Scene, proxies: list[bpy.types.Object], held: list[bpy.types.Object]
) -> None:
    if proxies or held:
        remove_from_world(scene, proxies, held)
        bpy.data.batch_remove([*held, *proxies, *(proxy.data for proxy in proxies)])


def _needs_constraint(joint: KnuckleJoint, welded: set[bpy.types.Object]) -> bool:
    """Return whether a joint needs a constraint: not between fixed bodies, nor where a body floats."""
    if not connects_bodies(joint) or is_floating(joint):
        return False
    return any(end is not None and end not in welded for end in (joint.parent, joint.child))


def is_physics_complete(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether a scene's world has all constraints of a mechanism, and the anchor where they need it.

    The user may have deleted the anchor, or given a floating joint a spring.
    """
    world = scene.rigidbody_world
    if world is None or world.collection is None or world.constraints is None:
        return False
    records = {empty: record_of(empty).joint for empty in parts(rig, "JOINT")}
    welded = welded_to_world(records.values())
    needed = [empty for empty, joint in records.items() if _needs_constraint(joint, welded)]
    if not simulates_here(scene):
        return set(needed) <= set(world.constraints.objects)
    linked, anchor = set(world.constraints.objects), own_anchor(rig)
    anchored = anchor is not None and anchor.name in world.collection.objects
    if any(record_of(obj).inertia_proxy_share and own_inertia_proxy(obj) is None for obj in parts(rig, "BODY")):
        return False  # a copy, whose bodies are fixed to its original's inertia proxies
    if settings(rig).has_ground and not grounds_in(world):
        return False
    return (anchored or not (point_restraints(rig) or begins_with_velocity(rig))) and all(
        empty in linked and (anchored or not records[empty].at_world) for empty in needed
    )


def contact_friction(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> float:
    """Return the Coulomb coefficient of the mechanism's bodies.

    In Juice from the file's friction (a force) and the mechanism's weight; in other formats as set, else DART's.
    """
    model = settings(rig)
    if model.format not in {"juice", ""}:
        return model.friction or DART_FRICTION
    weight = sum(record_of(obj).mass for obj in bodies) * sum(part * part for part in model.gravity) ** 0.5
    low, high = FRICTION_BOUNDS
    return min(max(FRICTION_SHARE * model.friction / weight, low), high) if weight > 0 else high


def store_friction(rig: bpy.types.Object) -> float:
    """Store and return the friction of a mechanism's bodies, to detect one that the user types."""
    friction = contact_friction(rig, [obj for obj in parts(rig, "BODY") if record_of(obj).active])
    settings(rig).contact_friction = friction
    return friction


def apply_friction(rig: bpy.types.Object) -> None:
    """Set the friction of the mechanism's bodies, after an edit of friction or gravity."""
    friction = store_friction(rig)
    for obj in parts(rig, "BODY"):
        if obj.rigid_body is not None:
            obj.rigid_body.friction = friction


def typed_frictions(rig: bpy.types.Object) -> dict[bpy.types.Object, float]:
    """Return the frictions of bodies that the user typed into Blender's Physics tab."""
    usual = np.float32(settings(rig).contact_friction)
    present = {obj: obj.rigid_body.friction for obj in parts(rig, "BODY") if obj.rigid_body is not None}
    return {obj: friction for obj, friction in present.items() if usual >= 0.0 and np.float32(friction) != usual}


def restore_typed_frictions(frictions: Mapping[bpy.types.Object, float]) -> None:
    """Set typed frictions on the bodies that still exist."""
    for obj, friction in frictions.items():
        if still_exists(obj) and obj.rigid_body is not None:
            obj.rigid_body.friction = friction


def _rigid_body_settings(record: KnuckleObject, friction: float, kinematic: bool, welded: bool) -> dict[str, Any]:
    """Return the properties of a body's rigid body, other than those of its collision shape."""
    return {
        "type": "PASSIVE" if record.immobile or welded else "ACTIVE",
        "kinematic": kinematic or (welded and not record.immobile),
        "mass": max(record.mass, MIN_MASS),
        "friction": friction,
        # A ball of restitution 0.8 that falls 3 m rises by 2 cm where it should by 1.9 m: at as many steps per second
        # as mechanisms need, Blender's contacts brake it before it touches. And no format has any
        "restitution": 0.0,
        "linear_damping": 0.0,
        "angular_damping": 0.0,
        "use_deactivation": False,
    }


def clear_physics(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    keep_world: bool = False,
    successor: bpy.types.Object | None = None,
) -> None:
    """Remove a mechanism's physics; the scene is then as before it was built.

    Args:
        scene: The scene.
        rig: The armature object.
        keep_world: Leave the scene's world as it is, for a mechanism that returns to it.
        successor: Mechanism that takes over what is stored about the world; None: another that is simulated in it.

    Raises:
        ValueError: It is in another scene.
    """
    elsewhere = simulated_elsewhere_message(scene, rig)
    if elsewhere:
        raise ValueError(elsewhere)
    if settings(rig).drive != "KEYS":
        settings(rig).drive = "KEYS"
    raise_model(rig, 0.0)
    world = scene.rigidbody_world
    if world is None:
        return
    remove_dangling_constraints(scene)
    drop_controller(rig)
    mark_unsimulated(rig)
    successor = successor or next((other for other in simulated_rigs(scene) if other != rig), None)
    bodies, joints = parts(rig, "BODY"), parts(rig, "JOINT")
    for obj in bodies:
        store_typed_mass(obj)
    grounds = [obj for obj in parts(rig, "SHAPE") if record_of(obj).is_ground]
    standing = other_rig_on_ground(scene, [rig])
    if standing is not None:
        for ground in grounds:
            transfer_ground(scene, ground, standing)
        grounds = []
    shapes = [child for each in collision_children(rig).values() for child in each]
    proxies, motors = inertia_proxies(rig), [*listed_motors(rig), *unlisted_motors(scene, rig), *proxy_welds(rig)]
    anchor = own_anchor(rig)
    helpers = [*grounds, *proxies] if anchor is None else [*grounds, *proxies, anchor]
    motors += filter_constraints(rig, world)
    remove_from_world(scene, bodies + shapes + helpers, joints + motors)
    clear_motor_lists(rig)
    for record in map(record_of, bodies):
        record.property_unset("inertia_proxy_share")
        record.inertia_proxy = record.inertia_proxy_constraint = None
    settings(rig).anchor = None
    bpy.data.batch_remove([*motors, *helpers, *(helper.data for helper in helpers)])
    others = list(simulated_rigs(scene))
    if not keep_world:
        clear_world(scene, rig, successor)
        refit_world(scene, others)
    for other in others:
        if settings(other).drive != "KEYS":
            hold_on_bones(other)  # the simulation was rebuilt while they were not at their simulated poses
    clear_message(settings(rig).world_backup, "requirements")
    settings(rig).property_unset("contact_friction")
    cached_frames.invalidate_run(scene)


# ---------------------------------------------------------------- removal of objects


def remove_from_world(scene: bpy.types.Scene, bodies: ObjectSequence, empties: ObjectSequence) -> None:
    """Remove objects from a scene's world: bodies with their rigid bodies, empties without."""
    detach_from_simulation(scene, empties)
    if scene.frame_current > first_frame(scene):
        _interrupt_run(scene)
    unlink_from_world(scene, bodies, empties)


def _interrupt_run(scene: bpy.types.Scene) -> None:
    """End a simulation that was emptied; bodies follow their bones until the next one."""
    cached_frames.invalidate_run(scene)
    for rig in simulated_rigs(scene):
        mark_unsimulated(rig)
        if settings(rig).drive != "KEYS":
            hold_on_bones(rig)


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


def find_leftovers(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the armatures of deleted mechanisms that left a ground, motors or world settings in the scene.

    Empty without a rigid-body world.
    """
    if scene.rigidbody_world is None:
        return []
    rigs = (armature_settings(data).rig for data in bpy.data.armatures)
    lost = [rig for rig in rigs if rig is not None and not rig.users_scene and rig.data is not None]
    return [rig for rig in lost if not settings(rig).original_uid]


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
    successor = other_rig_on_ground(scene, lost)
    if successor is not None:
        for ground in [obj for obj in mine if record_of(obj).is_ground]:
            mine.remove(ground)
            transfer_ground(scene, ground, successor)
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


# ---------------------------------------------------------------- ground

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
    share_collections(scene, [ground])


def other_rig_on_ground(scene: bpy.types.Scene, but: Collection[bpy.types.Object]) -> bpy.types.Object | None:
    """Return a mechanism on the scene's ground that is not among ``but``, or None."""
    return next((rig for rig in simulated_rigs(scene) if rig not in but and settings(rig).has_ground), None)


def transfer_ground(scene: bpy.types.Scene, ground: bpy.types.Object, successor: bpy.types.Object) -> None:
    """Make another mechanism the owner of a ground."""
    for folder in ground.users_collection:
        if folder != world_of(scene).collection:
            folder.objects.unlink(ground)
    child_collection(successor, "Collision").objects.link(ground)
    record_of(ground).model = successor


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
