"""The scene's rigid-body world is off while nothing in it is simulated.

Blender's transform tools (G, R, S) write the world matrix of a rigid body into its own location and rotation while a
simulation runs: while the world is on and the present frame is behind the first of its cache. A kinematic body that
follows a bone is then displaced by the pose of that bone (measured on 4.2 to 5.2; ``transform_convert_object.cc``).
As long as every mechanism follows its bones and no other active body takes part, there is nothing to simulate.
"""

from __future__ import annotations

import bpy

from ...animation.gait import settings_curves
from ...data.access import settings
from .membership import simulated_in


def is_driven(rig: bpy.types.Object) -> bool:
    """Return whether physics moves a mechanism, now or at some keyed frame."""
    return settings(rig).drive != "KEYS" or ("knuckle.drive", 0) in settings_curves(rig)


def rest_world(scene: bpy.types.Scene) -> None:
    """Switch the scene's world off if it has a mechanism and nothing in it is simulated; ``wake_world`` switches it on
    again. A world that the user switched on meanwhile is the user's until then."""
    world = scene.rigidbody_world
    if world is None or not world.enabled:
        return
    note_switched_on(scene)
    has_mechanism = any(True for _rig in simulated_in(scene))
    if has_mechanism and not world.point_cache.is_baked and not _is_needed(scene):
        world.enabled = False
        scene.knuckle_idle = True  # type: ignore[attr-defined]


def note_switched_on(scene: bpy.types.Scene) -> None:
    """Leave a world that the user switched on to the user."""
    if scene.knuckle_idle:  # type: ignore[attr-defined]
        scene.property_unset("knuckle_idle")


def wake_world(scene: bpy.types.Scene, anyway: bool = False) -> bool:
    """Switch the scene's world on if ``rest_world`` switched it off and something is simulated, or ``anyway``.

    Returns:
        Whether it was switched on.
    """
    world = scene.rigidbody_world
    if world is None or world.enabled:
        note_switched_on(scene)
        return False
    if not scene.knuckle_idle or not (anyway or _is_needed(scene)):  # type: ignore[attr-defined]
        return False
    scene.property_unset("knuckle_idle")
    world.enabled = True
    return True


def resume(scene: bpy.types.Scene) -> bool:
    """Have a simulation go on from the present frame, to which the scene was played while its world was off.

    Blender steps only from the frame at which it stepped last. A cache that begins one frame earlier gets there by one
    step, in which every body still follows its bone.

    Returns:
        Whether it does: not at the first frame, where each simulation begins.
    """
    frame, cache = scene.frame_current, scene.rigidbody_world.point_cache
    start = cache.frame_start
    if frame <= start:
        return False
    cache.frame_start = frame - 1
    for number in (frame - 1, frame):
        scene.frame_set(number)
    cache.frame_start = start
    return True


def _is_needed(scene: bpy.types.Scene) -> bool:
    """Return whether anything in the scene's world is simulated: a mechanism, or an active body that is not, or not at
    each frame, led by animation."""
    if any(map(is_driven, simulated_in(scene))):
        return True
    held = scene.rigidbody_world.collection
    return any(
        obj.rigid_body is not None
        and obj.rigid_body.type == "ACTIVE"
        and (not obj.rigid_body.kinematic or obj.animation_data is not None)
        for obj in (held.objects if held is not None else ())
    )
