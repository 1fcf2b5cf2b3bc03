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

Remove this when Blender frees the constraints of a world with it."""

from __future__ import annotations

import bpy

from ...data.access import record_of


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
