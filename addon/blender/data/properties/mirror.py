"""The mirror plane of a mechanism as its settings keep it."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty, FloatProperty, FloatVectorProperty

from ...events.signals import twin_changed

#: Of a mirror plane: what its normal lies along.
AXIS_ITEMS = [
    ("NONE", "None", "No mirror plane: twins cannot be made or mirrored"),
    ("X", "X", "The plane square to the X axis of the mechanism"),
    ("Y", "Y", "The plane square to the Y axis of the mechanism"),
    ("Z", "Z", "The plane square to the Z axis of the mechanism"),
    ("OTHER", "Other", "A plane with any normal"),
]


def _axis_of(self: Any) -> int:
    """Number of the item of ``AXIS_ITEMS`` that the normal is."""
    normal = [abs(part) for part in self.normal]
    length = max(normal)
    if not length:
        return 0
    return normal.index(length) + 1 if sum(normal) - length <= 1e-6 * length else 4


def _set_axis(self: Any, value: int) -> None:
    if value != _axis_of(self):
        self.normal = [float(value == axis) for axis in (1, 2, 3)] if value < 4 else (1.0, 1.0, 0.0)
    if not value:
        self.offset = 0.0


class KnuckleMirrorPlane(bpy.types.PropertyGroup):
    """The plane between a mechanism's halves, in the axes of its design: where its normal times a point is the offset.
    A normal of zeros: there is none."""

    axis: EnumProperty(
        name="Mirror Plane",
        description="Axis to which the plane between the mechanism's halves is square",
        items=AXIS_ITEMS,
        get=_axis_of,
        set=_set_axis,
    )
    normal: FloatVectorProperty(
        name="Normal",
        description="Direction to which the mirror plane is square, in the mechanism's axes",
        size=3,
        subtype="XYZ",
        update=twin_changed,
    )
    offset: FloatProperty(
        name="Offset",
        description="Distance of the mirror plane from the mechanism's origin, along its normal",
        unit="LENGTH",
        update=twin_changed,
    )
