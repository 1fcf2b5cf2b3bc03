"""What a model keeps of its last run under physics, so that it can be read again when the file is."""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
)


class KnuckleJointTruth(bpy.types.PropertyGroup):
    """How a joint fared; see ``model.truth.JointTruth``. -1 is no number."""

    id: StringProperty()
    name: StringProperty()
    empty: PointerProperty(type=bpy.types.Object)
    length: FloatProperty()
    gap: FloatProperty()
    mean_gap: FloatProperty()
    tilt: FloatProperty()
    turns: BoolProperty()
    error: FloatProperty()
    mean_error: FloatProperty()
    beyond: FloatProperty()


class KnuckleTruth(bpy.types.PropertyGroup):
    """How a run fared; see ``model.truth.Truth``. -1 is no number."""

    run: StringProperty(description="Which run it was: drive and frames; empty where there was none")
    joints: CollectionProperty(type=KnuckleJointTruth)
    energy_gained: FloatProperty()
    depth: FloatProperty()
    deep: IntVectorProperty(size=2)
    deep_names: StringProperty(description="Names of the bodies that were deepest in one another, by lines")
    deep_at: FloatProperty(description="The frame of that")


CLASSES = (KnuckleJointTruth, KnuckleTruth)
