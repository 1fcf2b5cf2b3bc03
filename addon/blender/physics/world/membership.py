"""Scene in which a mechanism is simulated (one only, however many scenes show it), and idle rigid-body worlds.

The rigid bodies and constraints of a mechanism are in the world of that scene. With *Simulate in This Scene* that world
is stepped too. Otherwise it is never switched on for mechanisms, and copies of them are simulated in a hidden
*simulation scene*, which has a world, a gravity and a control rate of its own.

The scene's rigid-body world is off while nothing in it is simulated: as long as every mechanism follows its bones and
no other active body takes part.

Note:
    Blender's transform tools (G, R, S) write the world matrix of a rigid body into its own location and rotation while
    a simulation runs: while the world is on and the present frame is after the first of its cache. A kinematic body
    that follows a bone is then displaced by the pose of that bone (measured on 4.2 to 5.2;
    ``transform_convert_object.cc``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import bpy

from ....core.report import Message
from ...data.access import original_of, record_of, settings, world_of
from ...data.channels import settings_curves
from ...data.queries import is_in_scene, is_part, rigs_in, simulates_here


def is_simulated(rig: bpy.types.Object, scene: bpy.types.Scene | None = None) -> bool:
    """Return whether a mechanism's physics was built, in a scene or in any.

    Objects that were removed from a world keep their rigid body, unused. A linked copy of a scene shares the
    collections of its world and has no mechanism's physics.
    """
    own_scene = simulating_scene(rig)
    return own_scene == scene if scene is not None else own_scene is not None


def simulating_scene(rig: bpy.types.Object) -> bpy.types.Scene | None:
    """Return the scene in which a mechanism's physics was built, or None."""
    return next((scene for scene in bpy.data.scenes if _has_rigid_bodies(scene, rig)), None)


def _has_rigid_bodies(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    world = scene.rigidbody_world
    if world is None or world.collection is None or not is_in_scene(scene, rig):
        return False
    # called in every frame, and mostly one body decides: a scene may hold many of other mechanisms
    held, body = world.collection.objects, _first_body(rig)
    if body is not None and body.rigid_body is not None and held.get(body.name) == body:
        return True
    return any(is_part(obj, rig, "BODY") and obj.rigid_body is not None for obj in held)


def _first_body(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return a body of a mechanism, the first found.

    Joints, of which there may be a thousand before the first body, lead to one too.
    """
    own = settings(rig).collection
    for obj in () if own is None else own.all_objects:
        joint = record_of(obj).joint
        for body in (obj, joint.child, joint.parent):
            if body is not None and is_part(body, rig, "BODY"):
                return body
    return None


def scene_to_simulate_in(rig: bpy.types.Object) -> bpy.types.Scene | None:
    """Return the scene in which a mechanism's physics is, or is to be built: the context's, else the first with it."""
    own_scene, here = simulating_scene(rig), bpy.context.scene
    if own_scene is not None:
        return own_scene
    return here if here is not None and is_in_scene(here, rig) else next(iter(rig.users_scene), None)


#: Name of simulation scenes: Blender leaves names with a leading dot out of its lists.
_SCENE_NAME = ".Knuckle Simulation"
#: Frames of a simulation scene, more than anyone waits for: its simulation does not end with the range of the other.
SIMULATED_FRAMES = 100_000


def create_simulation_scene(scene: bpy.types.Scene) -> bpy.types.Scene:
    """Create the simulation scene of a scene, with the same frame rate and first frame."""
    made = bpy.data.scenes.new(_SCENE_NAME)
    made.knuckle_shown_uid = scene.session_uid  # type: ignore[attr-defined]
    made.frame_start = max(scene.frame_start, 0)  # Blender's physics has no frames below 0
    made.frame_end = made.frame_start + SIMULATED_FRAMES
    made.render.fps, made.render.fps_base = scene.render.fps, scene.render.fps_base
    made.unit_settings.scale_length = scene.unit_settings.scale_length
    return made


def simulated_rigs(scene: bpy.types.Scene) -> Iterator[bpy.types.Object]:
    """Yield the mechanisms of a scene whose physics is in it."""
    return (rig for rig in rigs_in(scene) if is_simulated(rig, scene))


def simulated_elsewhere_message(scene: bpy.types.Scene, rig: bpy.types.Object) -> str:
    """Return a message for a scene that shows a mechanism whose physics is in another scene; empty otherwise."""
    own_scene = simulating_scene(rig)
    if own_scene is None or own_scene == scene:
        return ""
    return Message(
        "Physics of {}: it is in scene {}. Switch to that scene, or remove it there first",
        repr(rig.name),
        repr(own_scene.name),
    )


def stopped_world_message(scene: bpy.types.Scene) -> str:
    """Return a message if the scene's world is switched off or baked, so that Blender takes no steps; else empty."""
    world = scene.rigidbody_world
    if world is None or not simulates_here(scene):
        return ""
    if not world.enabled and not scene.knuckle_idle:  # type: ignore[attr-defined]
        return "Rigid-body world: disabled. Enable it (Scene properties, Rigid Body World)"
    if world.point_cache.is_baked:
        return "Rigid-body world: its cache is baked. Delete the bake first (Rigid Body World, Cache)"
    return ""


def is_moved_by_physics(rig: bpy.types.Object) -> bool:
    """Return whether physics moves a mechanism, now or at some keyed frame; a copy moves as its original does."""
    rig = original_of(rig)
    return settings(rig).drive != "KEYS" or ("knuckle.drive", 0) in settings_curves(rig)


def moved_by_physics(rigs: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Return those of some mechanisms that physics moves, now or at some keyed frame."""
    return [rig for rig in rigs if is_moved_by_physics(rig)]


def switch_world_off(scene: bpy.types.Scene) -> None:
    """Switch the scene's world off if it has a mechanism and nothing in it is simulated.

    ``switch_world_on`` switches it on again. A world that the user switched on meanwhile is the user's until then.
    """
    world = scene.rigidbody_world
    if world is None or not world.enabled:
        return
    release_switched_on_world(scene)
    has_mechanism = any(True for _rig in simulated_rigs(scene))
    if has_mechanism and not world.point_cache.is_baked and not _is_needed(scene):
        world.enabled = False
        scene.knuckle_idle = True  # type: ignore[attr-defined]


def release_switched_on_world(scene: bpy.types.Scene) -> None:
    """Clear our mark on a world that the user switched on."""
    if scene.knuckle_idle:  # type: ignore[attr-defined]
        scene.property_unset("knuckle_idle")


def switch_world_on(scene: bpy.types.Scene, anyway: bool = False) -> bool:
    """Switch the scene's world on if ``switch_world_off`` switched it off and something is simulated, or ``anyway``.

    Returns:
        Whether it was switched on.
    """
    world = scene.rigidbody_world
    if world is None or world.enabled:
        release_switched_on_world(scene)
        return False
    if not scene.knuckle_idle or not (anyway or _is_needed(scene)):  # type: ignore[attr-defined]
        return False
    scene.property_unset("knuckle_idle")
    world.enabled = True
    return True


def resume_simulation(scene: bpy.types.Scene) -> bool:
    """Continue a simulation from the present frame, to which the scene was played while its world was off.

    A cache that begins one frame earlier gets there by one step, in which every body still follows its bone.

    Returns:
        Whether it continues: not at the first frame, where each simulation begins.

    Note:
        Blender steps only from the frame at which it stepped last.
    """
    frame, cache = scene.frame_current, world_of(scene).point_cache
    start = cache.frame_start
    if frame <= start:
        return False
    cache.frame_start = frame - 1
    for number in (frame - 1, frame):
        scene.frame_set(number)
    cache.frame_start = start
    return True


def _is_needed(scene: bpy.types.Scene) -> bool:
    """Return whether anything in the scene's world is simulated.

    That is a mechanism, or another active body that is not kinematic or whose animation may change that.
    """
    if simulates_here(scene) and any(map(is_moved_by_physics, simulated_rigs(scene))):
        return True
    held = world_of(scene).collection
    return any(
        obj.rigid_body is not None
        and obj.rigid_body.type == "ACTIVE"
        and (not obj.rigid_body.kinematic or obj.animation_data is not None)
        for obj in (held.objects if held is not None else ())
    )
