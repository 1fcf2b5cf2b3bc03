"""Typed access to our property groups, which Blender's type stubs do not know, and to physics data that exist."""

from __future__ import annotations

import re
import uuid
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from .properties.action import KnuckleAction
from .properties.model import KnuckleBone, KnuckleModel, KnuckleObject

#: Suffix that Blender adds to a name in use.
NUMBER_SUFFIX = re.compile(r"\.\d{3,}$")


def record_of(obj: bpy.types.Object) -> KnuckleObject:
    """Return the property group of an object: its role and its record in the mechanism."""
    return obj.knuckle  # type: ignore[attr-defined, no-any-return]


def is_renamed(obj: bpy.types.Object) -> bool:
    """Return whether an object was renamed since its name was pushed (``baseline``)."""
    return bool(obj.name != record_of(obj).baseline_name)


def armature_of(rig: bpy.types.Object) -> bpy.types.Armature:
    """Return the armature data of a mechanism's armature object."""
    return cast(bpy.types.Armature, rig.data)


def rigid_body_of(obj: bpy.types.Object) -> bpy.types.RigidBodyObject:
    """Return the rigid body of an object that has one."""
    return cast(bpy.types.RigidBodyObject, obj.rigid_body)


def constraint_of(empty: bpy.types.Object) -> bpy.types.RigidBodyConstraint:
    """Return the rigid-body constraint of an empty that has one."""
    return cast(bpy.types.RigidBodyConstraint, empty.rigid_body_constraint)


def world_of(scene: bpy.types.Scene) -> bpy.types.RigidBodyWorld:
    """Return the rigid-body world of a scene that has one."""
    return cast(bpy.types.RigidBodyWorld, scene.rigidbody_world)


def original_of(rig: bpy.types.Object) -> bpy.types.Object:
    """Return the mechanism that a simulated copy belongs to; any other mechanism itself."""
    uid = settings(rig).original_uid
    known = map(armature_settings, bpy.data.armatures if uid else ())
    return next((each.rig for each in known if each.rig is not None and each.rig.session_uid == uid), rig)


def rest_parent_inverse(obj: bpy.types.Object) -> Matrix:
    """Return an object's parent inverse matrix without the effect of a simulation that shows it elsewhere."""
    record = record_of(obj)
    if not record.is_at_simulated_pose:
        return obj.matrix_parent_inverse
    return Matrix(np.reshape(record.rest_parent_inverse[:], (4, 4)).tolist())


def bodies_of(world: bpy.types.RigidBodyWorld) -> bpy.types.Collection:
    """Return the collection of the bodies of a world that has one."""
    return cast(bpy.types.Collection, world.collection)


def constraints_of(world: bpy.types.RigidBodyWorld) -> bpy.types.Collection:
    """Return the collection of a world's constraints; create it where the user deleted it."""
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    return world.constraints


def settings(rig: bpy.types.Object) -> KnuckleModel:
    """Return the settings of a mechanism, by its armature object."""
    return armature_settings(armature_of(rig))


def model_uid(rig: bpy.types.Object) -> str:
    """Return the unique id (32 hex digits) of a mechanism within its file; create it at the first call."""
    model = settings(rig)
    if not model.uid:
        model.uid = uuid.uuid4().hex
    return model.uid


def armature_settings(data: bpy.types.Armature) -> KnuckleModel:
    """Return the settings of the mechanism that uses this armature data."""
    return cast(KnuckleModel, data.knuckle)  # type: ignore[attr-defined]


def bone_record(bone: bpy.types.Bone) -> KnuckleBone:
    """Return the property group of a bone: the joint or the root body that it moves."""
    return cast(KnuckleBone, bone.knuckle)  # type: ignore[attr-defined]


def action_record(action: bpy.types.Action) -> KnuckleAction:
    """Return the property group of an Action: its kind, its mechanism and the files that it came from."""
    return cast(KnuckleAction, action.knuckle)  # type: ignore[attr-defined]


def has_base_name(named: bpy.types.ID | bpy.types.Constraint, name: str) -> bool:
    """Return whether a data-block or constraint has a given name, apart from a number that Blender may have added."""
    return named.name == name or NUMBER_SUFFIX.sub("", named.name) == name


def find_child_collection(parent: bpy.types.Collection | None, name: str) -> bpy.types.Collection | None:
    """Return the child of a collection with this name, which Blender may have numbered; None without one."""
    children = parent.children if parent is not None else ()
    return next((child for child in children if has_base_name(child, name)), None)
