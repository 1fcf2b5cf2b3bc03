"""What reports and checks said of a model, line by line."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty


class KnuckleReportLine(bpy.types.PropertyGroup):
    """One entry of the model's report."""

    severity: StringProperty()
    code: StringProperty()
    message: StringProperty()
    line: IntProperty()
    where: StringProperty()


class KnuckleFinding(bpy.types.PropertyGroup):
    """What a check found; parts by the names of their objects, and by their ids, line by line."""

    code: StringProperty()
    severity: StringProperty()
    message: StringProperty()
    kind: StringProperty()
    parts: StringProperty()
    ids: StringProperty()
    fix: StringProperty(description="What would mend it safely")
    or_fix: StringProperty(description="Another way, where there are two")


class KnuckleTwinPair(bpy.types.PropertyGroup):
    """Two parts that may be twins, or that are and differ."""

    first: StringProperty(description="Name of the first part's object")
    second: StringProperty(description="Name of the second's")
    what: StringProperty(description="How they were found, or what differs and by how much")
    use: BoolProperty(name="Link", description="Make these two twins", default=True)


CLASSES = (KnuckleReportLine, KnuckleFinding, KnuckleTwinPair)
