"""Workaround: constraints of a rigid-body world that was removed after it was simulated crash Blender.

Bug of Blender 4.2, 4.5, 5.0 and 5.2: *Remove Rigid Body World* frees the bodies of the simulation and keeps the
constraints, which point at them. As such a constraint is put into another world, Bullet reads the freed bodies
(``btRigidBody::removeConstraintRef``) and Blender crashes at the next step.

Measured with a chain of 12 cubes and 11 hinges, 5 frames, world removed and made anew, 5 frames; crashes of 8 runs:

====================================================== === === === ===
what is done before the world is made anew             4.2 4.5 5.0 5.2
====================================================== === === === ===
nothing                                                8   5   6   8
*Remove Rigid Body Constraint*, added again            0   2   8   8
empties replaced by copies of theirs, the old ones kept 0   0   0   0
====================================================== === === === ===

A copy of an empty has its constraint without what that had in a simulation. What frees the old ones crashes all the
same: undo (7 to 8 of 8 runs, with the copies and without), and the end of Blender 5.0 and 5.2 (6 and 8 of 8 without
anything of ours).

Remove this when Blender frees the constraints of a world with it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

import bpy
import numpy as np

from ....core.report import Report
from ...data.access import record_of, settings
from ...data.caching import glimpsing, joint_of
from ...data.datablocks import is_there, linked_objects
from ...data.properties.joint import KnuckleJoint
from ...data.properties.model import KnuckleObject
from ...data.queries import parts
from ...data.rigid_bodies import LEAST_MASS, keep_mass
from ..actuators.initial_velocity import is_thrown
from ..actuators.motors import forget_motors, listed, unlisted
from ..bodies.collision import apart_of, collision_children, keep_apart, put_collision
from ..bodies.inertia import Placed, drop_unused, flywheels, own_flywheel, put_flywheels, tell_of_light, welds
from ..constraints.constraints import put_constraint
from ..constraints.restraints import pairs, tell_of_restraints
from ..world import undo_guard as undoing
from ..world.anchor import ensure_anchor, floats, is_held, own_anchor, welded_to_world
from ..world.membership import rest_world, simulated_in, wake_world, why_elsewhere
from ..world.rigidbody_world import clear_world, ensure_world, refit_world, reset_cache
from ..world.scale import Fresh, tell_of_distortion
from . import cached_frames as progress
from . import session as runs
from .removal import ensure_ground, grounds_in, hand_down, heir_of_ground, is_spent, part_with_lost, strip_physics
from .unsupported import tell_of_limits


def renew_constraints() -> None:
    """Replace the empties of models whose constraints a removed world left by copies of theirs."""
    worlds = [scene.rigidbody_world for scene in bpy.data.scenes]
    held = {obj for world in worlds if world and world.constraints for obj in world.constraints.objects}
    for obj in [obj for obj in bpy.data.objects if _is_left(obj, obj in held)]:
        _renew(obj)


def _is_left(obj: bpy.types.Object, is_held: bool) -> bool:
    """Return whether a constraint is of ours and points at bodies (what *Clear Physics* leaves points at none), but is
    in no world; or, where scenes share the collections of a world, at what is no rigid body any more."""
    constraint = obj.rigid_body_constraint
    if constraint is None or record_of(obj).model is None or obj.library or obj.override_library:
        return False
    ends = [end for end in (constraint.object1, constraint.object2) if end is not None]
    return any(end.rigid_body is None for end in ends) if is_held else bool(ends)


def _renew(obj: bpy.types.Object) -> None:
    """Put a copy of an object in its place everywhere, under its name; the object stays, in no file."""
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


#: Juice's friction is a force limit per contact, not a coefficient: this many times its share of the
#: weight, within these bounds, made real walkers walk as in ODE.
FRICTION_SHARE = 2.5
FRICTION_BOUNDS = (0.3, 1.0)
#: What DART gives every body; files of the other formats have no friction. Blender multiplies the two of a contact.
DART_FRICTION = 1.0


def build_physics(scene: bpy.types.Scene, rig: bpy.types.Object, is_new: bool = False) -> Report:
    """Give a model's bodies and joints their rigid bodies and constraints, driven as the model's switch says.

    What has them already is set up anew from the records, so that it also mends a model after an edit. ``is_new``: the
    model was made just now, and nobody moved anything of it. ValueError where another scene has its physics.
    """
    report = Report()
    elsewhere = why_elsewhere(scene, rig)
    if elsewhere:
        raise ValueError(elsewhere)
    others = [other for other in simulated_in(scene) if other != rig]
    runs.drop(rig)
    undoing.expect()
    if scene.rigidbody_world is None and not is_new:
        renew_constraints()
    with glimpsing():
        world = ensure_world(scene, rig, report, others)
        part_with_lost(scene)
        _unlink_bare(world)
        # what was in a world before keeps its rigid body and its constraint: only being linked counts
        linked = {*world.collection.objects[:], *world.constraints.objects[:]}
        joints = parts(rig, "JOINT")
        welded = welded_to_world(map(joint_of, joints))
        _put_bodies(scene, rig, world, linked, welded, report)
        if not is_new:
            tell_of_distortion(rig, report)
        tell_of_limits(joints, report)
        tell_of_restraints(rig, report)
        held = [empty for empty in joints if _needs_constraint(joint_of(empty), welded)]
        _put_constraints(rig, world, linked, held, report)
        keep_apart(rig, world, report)
        if settings(rig).has_ground and any(record_of(obj).active for obj in parts(rig, "BODY")):
            ensure_ground(scene, rig, world)
    reset_cache(scene)
    wake_world(scene)
    rest_world(scene)
    return report


def _unlink_bare(world: bpy.types.RigidBodyWorld) -> None:
    """Take parts of models out of a world's collections that have no rigid body or constraint there: Blender took it
    as the world of another scene that has the same collections was removed. Linked again they get a new one."""
    for held, name in ((world.collection, "rigid_body"), (world.constraints, "rigid_body_constraint")):
        for obj in held.objects[:]:
            if getattr(obj, name) is None and record_of(obj).model is not None:
                held.objects.unlink(obj)


def _put_bodies(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
    welded: Container[bpy.types.Object],
    report: Report,
) -> None:
    """Give a model's bodies their rigid bodies, and flywheels where they need some."""
    bodies = [obj for obj in parts(rig, "BODY") if record_of(obj).active]
    children, friction = collision_children(rig), know_friction(rig)
    kinematic = settings(rig).drive == "KEYS"
    fresh, held = Fresh(), world.collection.objects
    if any(obj not in linked for obj in bodies):
        runs.lose(rig)
        progress.end(scene)
    for obj in bodies:
        is_new = False
        if obj in linked:
            keep_mass(obj)
        else:
            is_new = obj.rigid_body is None
            held.link(obj)
        values = put_collision(obj, children.get(obj, ()), world, linked)
        values |= _as_body(record_of(obj), friction, kinematic, obj in welded)
        fresh.put(obj.rigid_body, values, is_new)
    put_flywheels(bodies, children, Placed(world, linked, linked_objects()), kinematic)
    _remove_flywheels(scene, *drop_unused(rig))
    tell_of_light(bodies, report)


def _put_constraints(
    rig: bpy.types.Object,
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
    held: list[bpy.types.Object],
    report: Report,
) -> None:
    """Give joints that hold something, by their empties, their constraints."""
    for empty in filter(is_spent, held):
        report.warn(
            "constraint-lost",
            "What this joint held to was deleted during a run: physics leaves it out until the file is saved and "
            "opened again",
            where=empty.name,
        )
    held = [empty for empty in held if not is_spent(empty)]
    if any(joint_of(empty).at_world for empty in held) or pairs(rig) or is_thrown(rig):
        ensure_anchor(rig, world)
    model, fresh = settings(rig), Fresh()
    for empty in held:
        is_new = empty not in linked and empty.rigid_body_constraint is None
        if empty not in linked:
            world.constraints.objects.link(empty)
        put_constraint(empty, model, fresh if is_new else None)


def _remove_flywheels(scene: bpy.types.Scene, wheels: list[bpy.types.Object], held: list[bpy.types.Object]) -> None:
    if wheels or held:
        strip_physics(scene, wheels, held)
        bpy.data.batch_remove([*held, *wheels, *(wheel.data for wheel in wheels)])


def _needs_constraint(joint: KnuckleJoint, welded: set[bpy.types.Object]) -> bool:
    """Return whether there is anything for Blender to hold: not between what stands anyway, nor where a body floats."""
    if not is_held(joint) or floats(joint):
        return False
    return any(end is not None and end not in welded for end in (joint.parent, joint.child))


def is_whole(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether a scene's world has all constraints of a model, and the anchor where they need it: the user may
    have deleted that, or given a floating joint a spring."""
    world = scene.rigidbody_world
    if world is None or world.collection is None or world.constraints is None:
        return False
    records = {empty: record_of(empty).joint for empty in parts(rig, "JOINT")}
    welded = welded_to_world(records.values())
    needed = [empty for empty, joint in records.items() if _needs_constraint(joint, welded)]
    linked, anchor = set(world.constraints.objects), own_anchor(rig)
    anchored = anchor is not None and anchor.name in world.collection.objects
    if any(record_of(obj).flywheel_share and own_flywheel(obj) is None for obj in parts(rig, "BODY")):
        return False  # a copy, whose bodies are welded to its original's flywheels
    if settings(rig).has_ground and not grounds_in(world):
        return False
    return (anchored or not (pairs(rig) or is_thrown(rig))) and all(
        empty in linked and (anchored or not records[empty].at_world) for empty in needed
    )


def contact_friction(rig: bpy.types.Object, bodies: list[bpy.types.Object]) -> float:
    """Coulomb coefficient for the model's bodies: from Juice's friction and the model's weight; of other formats what
    was set, and where nothing was, DART's."""
    model = settings(rig)
    if model.format not in {"juice", ""}:
        return model.friction or DART_FRICTION
    weight = sum(record_of(obj).mass for obj in bodies) * sum(part * part for part in model.gravity) ** 0.5
    low, high = FRICTION_BOUNDS
    return min(max(FRICTION_SHARE * model.friction / weight, low), high) if weight > 0 else high


def know_friction(rig: bpy.types.Object) -> float:
    """Have a model know the friction of its bodies, which this returns: another one was typed."""
    friction = contact_friction(rig, [obj for obj in parts(rig, "BODY") if record_of(obj).active])
    settings(rig).contact_friction = friction
    return friction


def put_friction(rig: bpy.types.Object) -> None:
    """Give the model's bodies their friction anew, after an edit of friction or gravity."""
    friction = know_friction(rig)
    for obj in parts(rig, "BODY"):
        if obj.rigid_body is not None:
            obj.rigid_body.friction = friction


def typed_frictions(rig: bpy.types.Object) -> dict[bpy.types.Object, float]:
    """The frictions of bodies that are others than was set: the user has typed them into Blender's Physics tab."""
    usual = np.float32(settings(rig).contact_friction)
    told = {obj: obj.rigid_body.friction for obj in parts(rig, "BODY") if obj.rigid_body is not None}
    return {obj: friction for obj, friction in told.items() if usual >= 0.0 and np.float32(friction) != usual}


def put_typed_frictions(frictions: Mapping[bpy.types.Object, float]) -> None:
    """Have bodies that are still there the frictions that were typed for them."""
    for obj, friction in frictions.items():
        if is_there(obj) and obj.rigid_body is not None:
            obj.rigid_body.friction = friction


def _as_body(record: KnuckleObject, friction: float, kinematic: bool, welded: bool) -> dict[str, Any]:
    """Return what a body's rigid body has to be told, but for what it collides as."""
    return {
        "type": "PASSIVE" if record.immobile or welded else "ACTIVE",
        "kinematic": kinematic or (welded and not record.immobile),
        "mass": max(record.mass, LEAST_MASS),
        "friction": friction,
        # A ball of restitution 0.8 that falls 3 m comes up again by 2 cm where it should by 1.9 m: at as many steps per
        # second as mechanisms need, Blender's contacts brake it before it touches. And no format has any
        "restitution": 0.0,
        "linear_damping": 0.0,
        "angular_damping": 0.0,
        "use_deactivation": False,
    }


def clear_physics(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Take a model's physics away; the scene is as it was before it was built.

    ValueError where it is another scene's.
    """
    elsewhere = why_elsewhere(scene, rig)
    if elsewhere:
        raise ValueError(elsewhere)
    settings(rig).drive = "KEYS"
    world = scene.rigidbody_world
    if world is None:
        return
    part_with_lost(scene)
    runs.drop(rig)
    runs.lose(rig)
    heir = next((other for other in simulated_in(scene) if other != rig), None)
    bodies, joints = parts(rig, "BODY"), parts(rig, "JOINT")
    for obj in bodies:
        keep_mass(obj)
    grounds = [obj for obj in parts(rig, "SHAPE") if record_of(obj).is_ground]
    standing = heir_of_ground(scene, [rig])
    for ground in grounds if standing is not None else ():
        hand_down(scene, ground, standing)
    grounds = grounds if standing is None else []
    shapes = [child for each in collision_children(rig).values() for child in each]
    wheels, motors = flywheels(rig), [*listed(rig), *unlisted(scene, rig), *welds(rig)]
    anchor = own_anchor(rig)
    helpers = [*grounds, *wheels] if anchor is None else [*grounds, *wheels, anchor]
    motors += apart_of(rig, world)
    strip_physics(scene, bodies + shapes + helpers, joints + motors)
    forget_motors(rig)
    for record in map(record_of, bodies):
        record.property_unset("flywheel_share")
        record.flywheel = record.weld = None
    settings(rig).anchor = None
    bpy.data.batch_remove([*motors, *helpers, *(helper.data for helper in helpers)])
    clear_world(scene, rig, heir)
    others = list(simulated_in(scene))
    refit_world(scene, others)
    for other in others:
        if settings(other).drive != "KEYS":
            runs.hold(other)  # the simulation was built anew without them being where they were
    settings(rig).before.property_unset("why")
    settings(rig).property_unset("contact_friction")
    progress.end(scene)
