"""Typed ways to our property groups: Blender's classes do not know that they carry them."""

from __future__ import annotations

import uuid
from typing import cast

import bpy

from .properties.action import KnuckleAction
from .properties.model import KnuckleBone, KnuckleModel, KnuckleObject


def record_of(obj: bpy.types.Object) -> KnuckleObject:
    """Return what an object is to its model."""
    return obj.knuckle  # type: ignore[attr-defined, no-any-return]


def armature_of(rig: bpy.types.Object) -> bpy.types.Armature:
    """The data of a model's armature."""
    return cast(bpy.types.Armature, rig.data)


def settings(rig: bpy.types.Object) -> KnuckleModel:
    """A model's settings."""
    return armature_settings(armature_of(rig))


def model_uid(rig: bpy.types.Object) -> str:
    """Return what tells a model from others of the same file."""
    model = settings(rig)
    if not model.uid:
        model.uid = uuid.uuid4().hex
    return model.uid


def armature_settings(data: bpy.types.Armature) -> KnuckleModel:
    """The settings of the model whose armature has this data."""
    return cast(KnuckleModel, data.knuckle)  # type: ignore[attr-defined]


def bone_record(bone: bpy.types.Bone) -> KnuckleBone:
    """Return which joint or root a bone is for."""
    return cast(KnuckleBone, bone.knuckle)  # type: ignore[attr-defined]


def action_record(action: bpy.types.Action) -> KnuckleAction:
    """Return what an Action is to its model."""
    return cast(KnuckleAction, action.knuckle)  # type: ignore[attr-defined]
