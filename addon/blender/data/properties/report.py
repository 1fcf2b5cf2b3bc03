"""Property groups of reports, check findings, twin pairs and the accuracy of the last baked simulation."""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
)


class KnuckleReportLine(bpy.types.PropertyGroup):
    """Entry of the mechanism's report."""

    severity: StringProperty()
    code: StringProperty()
    message: StringProperty()
    line: IntProperty()
    where: StringProperty()


class KnuckleFinding(bpy.types.PropertyGroup):
    """Finding of a check; parts by the names of their objects, and by their ids, one per line."""

    code: StringProperty()
    severity: StringProperty()
    message: StringProperty()
    kind: StringProperty()
    parts: StringProperty()
    ids: StringProperty()
    fix: StringProperty(description="What would mend it safely")
    or_fix: StringProperty(description="Another way, where there are two")


class KnuckleTwinPair(bpy.types.PropertyGroup):
    """Two parts that may be twins, or twins that differ."""

    first: StringProperty(description="Name of the first part's object")
    second: StringProperty(description="Name of the second's")
    what: StringProperty(description="How they were found, or what differs and by how much")
    use: BoolProperty(name="Link", description="Make these two twins", default=True)


class KnuckleJointAccuracy(bpy.types.PropertyGroup):
    """Simulation accuracy of one joint, as ``core.run_metrics`` computes it. -1 means no value."""

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


class KnuckleAccuracy(bpy.types.PropertyGroup):
    """Simulation accuracy of one simulation, as ``core.run_metrics`` computes it. -1 means no value."""

    run: StringProperty(description="Which run it was: drive and frames; empty where there was none")
    joints: CollectionProperty(type=KnuckleJointAccuracy)
    energy_gained: FloatProperty()
    depth: FloatProperty()
    deep: IntVectorProperty(size=2)
    deep_names: StringProperty(description="Names of the bodies that were deepest in one another, by lines")
    deep_at: FloatProperty(description="The frame of that")


CLASSES = (KnuckleReportLine, KnuckleFinding, KnuckleTwinPair, KnuckleJointAccuracy, KnuckleAccuracy)
