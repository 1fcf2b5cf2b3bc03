"""Property groups of reports, check findings, twin pairs and the accuracy of the last baked simulation."""

from __future__ import annotations

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
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
    message_parts: StringProperty(description="Template and parameters of the message, as JSON, for translation")
    line: IntProperty()
    where: StringProperty()


class KnuckleFinding(bpy.types.PropertyGroup):
    """Finding of a check; parts by the names of their objects, and by their ids, one per line."""

    code: StringProperty()
    severity: StringProperty()
    message: StringProperty()
    message_parts: StringProperty(description="Template and parameters of the message, as JSON, for translation")
    kind: StringProperty()
    parts: StringProperty()
    ids: StringProperty()
    fix: StringProperty(description="Code of its safe fix")
    or_fix: StringProperty(description="Code of an alternative fix")


class KnuckleTwinPair(bpy.types.PropertyGroup):
    """Two parts that may be twins, or twins that differ."""

    first: StringProperty(description="Name of the first part's object")
    second: StringProperty(description="Name of the second part's object")
    what: StringProperty(description="Reason why they may be twins, or the difference and its amount")
    what_parts: StringProperty(description="Template and parameters of 'what', as JSON, for translation")
    use: BoolProperty(name="Link", description="Link this pair as twins", default=True)


class KnuckleJointAccuracy(bpy.types.PropertyGroup):
    """Simulation accuracy of one joint, as ``core.run_metrics`` computes it. -1 means no value."""

    id: StringProperty()
    name: StringProperty()
    empty: PointerProperty(type=bpy.types.Object)
    length: FloatProperty()
    separation: FloatProperty()
    mean_separation: FloatProperty()
    tilt: FloatProperty()
    is_revolute: BoolProperty()
    tracking_error: FloatProperty()
    mean_tracking_error: FloatProperty()
    stop_overrun: FloatProperty()


class KnuckleBodyDifference(bpy.types.PropertyGroup):
    """Difference between a body's paths in Blender and in MuJoCo."""

    name: StringProperty()
    largest: FloatProperty(description="Largest distance")
    times: FloatVectorProperty(size=4, description="Times (s) at which the distances are")
    distances: FloatVectorProperty(size=4)


class KnuckleAccuracy(bpy.types.PropertyGroup):
    """Simulation accuracy of one simulation, as ``core.run_metrics`` computes it. -1 means no value."""

    run: StringProperty(description="Drive and frames of the simulation; empty if there was none")
    run_parts: StringProperty(description="Template and parameters of 'run', as JSON, for translation")
    joints: CollectionProperty(type=KnuckleJointAccuracy)
    energy_gained: FloatProperty()
    penetration: FloatProperty()
    deepest_pair: IntVectorProperty(size=2)
    deepest_names: StringProperty(description="Names of the bodies with the largest penetration, one per line")
    deepest_frame: FloatProperty(description="Frame of the largest penetration")
    drive: StringProperty(description="Drive of the simulation; empty where it was keyed and changed")
    source: PointerProperty(type=bpy.types.Action, description="Action that was assigned when it began")
    path_shift: FloatProperty(description="Path shift as a share of the mechanism's size")
    path_seconds: FloatProperty(description="Time (s) over which it was measured")
    path_contacts: BoolProperty(description="There were contacts in that time")
    last_frame: IntProperty(description="Last frame of the simulation")
    differences: CollectionProperty(type=KnuckleBodyDifference, description="Differences from MuJoCo")


CLASSES = (
    KnuckleReportLine,
    KnuckleFinding,
    KnuckleTwinPair,
    KnuckleJointAccuracy,
    KnuckleBodyDifference,
    KnuckleAccuracy,
)
