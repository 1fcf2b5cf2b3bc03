"""What pulls on a model besides its joints' own springs, kept on Blender's data: the restraints of its file."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, FloatVectorProperty, PointerProperty, StringProperty

from .joint import KnuckleMotor


class KnuckleRestraint(bpy.types.PropertyGroup):
    """A spring, damper or friction by formula, along a joint or between two places on bodies."""

    kind: StringProperty(description="spring, damper or friction")
    joint: PointerProperty(type=bpy.types.Object, description="The joint whose coordinate it is of")
    law: StringProperty(description="Knots, and a row of coefficients in descending powers for each piece, as JSON")
    one: PointerProperty(type=bpy.types.Object, description="The body of its first place")
    other: PointerProperty(type=bpy.types.Object, description="The body of its second place")
    one_stays: BoolProperty(description="Its first place is in the world, and on no body that was deleted")
    other_stays: BoolProperty(description="Its second place is")
    at_one: FloatVectorProperty(size=16, description="Its first place as its body's object has it, or the model")
    at_other: FloatVectorProperty(size=16, description="Its second place")
    distance: StringProperty(description="Along which axis of the first place it counts; none: as the crow flies")
    motors: CollectionProperty(type=KnuckleMotor, description="What pushes its bodies: three motors for each")


CLASSES = (KnuckleRestraint,)
