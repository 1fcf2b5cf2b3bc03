"""Validity of simulated frames: how far a scene's simulation came, and whether a frame shows its result.

The conditions at its start (keyframes, stops, masses, settings) are compared by a fingerprint; an outdated cache is
discarded, and poses shown are compared with those of the simulation.

Note:
    Blender caches the simulated frames and shows them when one goes back. But when a frame is read from a cache that
    was written to since its second frame, as servos do at every step, Blender discards all later frames. So the cache
    is protected while it is read. Blender does not detect edits of keyframes, stops or gains either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import bpy
import numpy as np

from ....core.model import Array
from ....core.report import Message
from ...compat import action_curves
from ...data.access import armature_of, record_of, settings, world_of
from ...data.channels import settings_curves
from ...data.queries import parts
from ..workarounds.initial_state import evaluate_frame
from ..world.rigidbody_world import first_frame, last_frame, reset_cache
from .session import CachedRun, mark_unsimulated, session_of

_PLAIN_TYPES = {"FLOAT", "INT", "BOOLEAN", "ENUM", "STRING"}
#: Settings of a mechanism that change by themselves, or have no effect.
_IGNORED_SETTINGS = {
    "name",
    "ground_offset",
    "report_index",
    "show_collision",
    "servo_name_index",
    "key_bodies",
    "rna_type",
}
#: Properties of rigid bodies that a simulation itself writes.
_IGNORED_BODY_PROPERTIES = {"kinematic", "rna_type"}
_TRANSFORM_PROPERTIES = (
    "location",
    "rotation_euler",
    "rotation_quaternion",
    "rotation_axis_angle",
    "rotation_mode",
    "scale",
)
_WORLD_PROPERTIES = ("substeps_per_frame", "solver_iterations", "use_split_impulse", "time_scale")


def fingerprint(scene: bpy.types.Scene, rigs: Iterable[bpy.types.Object], with_steps: bool = True) -> bytes:
    """Return a hash that differs after a change of anything that a simulation of these mechanisms depends on.

    Animated properties count by their F-curves, whatever the frame.

    Args:
        scene: The scene.
        rigs: The mechanisms.
        with_steps: Include the frame rate, the substeps and what else the world has of its own.
    """
    digest = hashlib.blake2b(digest_size=16)
    world = world_of(scene)
    if with_steps:
        rate = scene.render.fps, scene.render.fps_base
        _hash_values(digest, [getattr(world, name) for name in _WORLD_PROPERTIES], *rate)
    _hash_values(digest, scene.gravity[:], scene.use_gravity, *_plain_values(world.effector_weights, set()))
    for held in (world.collection, world.constraints):
        for obj in held.objects if held is not None else ():
            _hash_object(digest, obj)
    for rig in rigs:
        _hash_mechanism(digest, rig)
    return digest.digest()


def _hash_values(digest: Any, *facts: object) -> None:
    digest.update(repr(facts).encode())


def _hash_object(digest: Any, obj: bpy.types.Object) -> None:
    _hash_values(digest, obj.name)
    if obj.rigid_body is not None:
        _hash_values(digest, *_plain_values(obj.rigid_body, _IGNORED_BODY_PROPERTIES))
    if obj.animation_data is None and not obj.constraints:
        _hash_values(digest, _rounded_matrix(obj))
    elif record_of(obj).model is None:  # an obstacle of the user's
        for each in (obj, obj.parent):
            if each is not None:
                _hash_animation(digest, each)


def _hash_mechanism(digest: Any, rig: bpy.types.Object) -> None:
    model, keyed = settings(rig), settings_curves(rig)
    _hash_values(
        digest, *_plain_values(model, _IGNORED_SETTINGS | {path.removeprefix("knuckle.") for path, _ in keyed})
    )
    controls = {path.removeprefix("knuckle.controls.") for path, _ in keyed}
    _hash_values(digest, *_plain_values(model.controls, {"rna_type", *controls}))
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        for dof in (*joint.dofs, *joint.parts):
            _hash_values(digest, joint.active, *_plain_values(dof, {"rna_type"}))
    for body in parts(rig, "BODY"):
        _hash_values(digest, record_of(body).mass)
    curves = [*keyed.values(), *_pose_curves(digest, rig)]
    moved = {curve.data_path for curve in curves}
    for name in _TRANSFORM_PROPERTIES:
        if name not in moved:
            _hash_values(digest, getattr(rig, name)[:])
    _hash_values(
        digest, (*rig.delta_location[:2], round(rig.delta_location[2] - model.ground_offset, 6)), rig.delta_scale[:]
    )
    _hash_values(digest, rig.delta_rotation_euler[:], rig.delta_rotation_quaternion[:])
    parent = rig.parent
    _hash_values(
        digest, "" if parent is None else (parent.name, rig.parent_type, rig.parent_bone, *rig.matrix_parent_inverse)
    )
    if parent is not None:
        _hash_values(digest, _rounded_matrix(parent))
        _hash_animation(digest, parent)
    for curve in curves:
        _hash_curve(digest, curve)
    for bone in armature_of(rig).bones:
        pose = rig.pose.bones[bone.name]
        for name in ("rotation_quaternion" if pose.rotation_mode == "QUATERNION" else "rotation_euler", "location"):
            if pose.path_from_id(name) not in moved:
                _hash_values(digest, tuple(getattr(pose, name)))


def _hash_animation(digest: Any, obj: bpy.types.Object) -> None:
    """Add the F-curves and constraints of an object to the hash."""
    for curve in _pose_curves(digest, obj):
        _hash_curve(digest, curve)
    for constraint in obj.constraints:
        _hash_values(digest, *_plain_values(constraint, {"rna_type", "error_location", "error_rotation", "is_valid"}))


def _pose_curves(digest: Any, rig: bpy.types.Object) -> list[bpy.types.FCurve]:
    """Return the F-curves that pose an armature, those of its NLA included."""
    data = rig.animation_data
    if data is None:
        return []
    strips = [strip for track in data.nla_tracks if data.use_nla and not track.mute for strip in track.strips]
    _hash_values(
        digest, [(strip.frame_start, strip.frame_end, strip.scale, strip.influence, strip.mute) for strip in strips]
    )
    actions = [action for action in (data.action, *(strip.action for strip in strips)) if action is not None]
    _hash_values(digest, [action.name for action in actions])
    return [curve for action in actions for curve in action_curves(rig, action, create=False) or ()]


def _hash_curve(digest: Any, curve: bpy.types.FCurve) -> None:
    points = curve.keyframe_points
    pairs = np.empty(2 * len(points), dtype=np.float32)
    points.foreach_get("co", pairs)
    _hash_values(digest, curve.data_path, curve.array_index, curve.mute, curve.extrapolation)
    for modifier in curve.modifiers:
        _hash_values(digest, *_plain_values(modifier, {"rna_type", "is_valid", "active", "show_expanded", "name"}))
    digest.update(pairs.tobytes())
    if any(point.interpolation == "BEZIER" for point in points):
        for side in ("handle_left", "handle_right"):
            points.foreach_get(side, pairs)
            digest.update(pairs.tobytes())
    ways = np.empty(len(points), dtype=np.int32)
    points.foreach_get("interpolation", ways)
    digest.update(ways.tobytes())


def _rounded_matrix(obj: bpy.types.Object) -> list[float]:
    return [round(float(x), 6) for x in np.array(obj.matrix_basis).ravel()]


def _plain_values(struct: Any, skip: set[str]) -> list[object]:
    """Return the plain values of a Blender struct."""
    out: list[object] = []
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if prop.type in _PLAIN_TYPES and name not in skip:
            value = getattr(struct, name)
            out.append(tuple(value) if getattr(prop, "is_array", False) else value)
    return out


def begin_cached_run(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """Start the progress of a new simulation."""
    session_of(scene).run = CachedRun(fingerprint(scene, rigs), now=first_frame(scene))


def cached_run_of(scene: bpy.types.Scene) -> CachedRun | None:
    """Return the progress of the scene's present simulation, or None."""
    return session_of(scene).run


def shown_frames(scene: bpy.types.Scene) -> range:
    """Return the frames from the first to the present one, if the simulation has reached it; else an empty range.

    Simulated again, these frames have the same result.
    """
    run = cached_run_of(scene)
    reached = run is not None and scene.frame_current <= run.reach
    return range(first_frame(scene), scene.frame_current + 1) if reached else range(0)


def invalidate_run(scene: bpy.types.Scene) -> None:
    """End the simulation: neither the scene's cache nor its simulation can be continued."""
    session_of(scene).run = CachedRun(b"")


def invalidate_interrupted_run(scene: bpy.types.Scene) -> None:
    """End an interrupted simulation before a frame that it had not reached."""
    run = session_of(scene).run
    if run is not None and run.is_interrupted:
        invalidate_run(scene)


def note_rewind(scene: bpy.types.Scene) -> None:
    """Note that Blender is at the first frame again, from which it continues."""
    run = session_of(scene).run
    if run is not None:
        run.now = first_frame(scene)


def drop_outdated_run(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int, is_jump: bool) -> None:
    """Discard an outdated simulation before a frame that is reached by a jump rather than a step (``is_jump``)."""
    run = session_of(scene).run
    if run is None or not run.has_frames or (frame > run.reach and (is_jump or run.now == frame - 1)):
        return
    if run.mark != fingerprint(scene, rigs):
        reset_cache(scene)
        evaluate_frame(scene, first_frame(scene) + 1)  # Blender discards later frames
        invalidate_run(scene)
        for rig in rigs:
            mark_unsimulated(rig)


def replay_frame(scene: bpy.types.Scene, frame: int) -> bool:
    """Show a frame that the present simulation has reached from Blender's cache.

    Returns:
        Whether it had reached it.
    """
    run = session_of(scene).run
    if run is None or frame > run.reach:
        return False
    run.now = frame
    scene.frame_current = run.reach  # an operator evaluates the scene: at that frame nothing is discarded
    try:
        _set_cache_protected(scene, True)
    finally:
        scene.frame_current = frame
    session_of(scene).is_protected = True
    return True


def unprotect_cache(scene: bpy.types.Scene) -> None:
    """End the protection of a cache after a frame was shown, so that the simulation may write to it again."""
    session = session_of(scene)
    if session.is_protected:
        session.is_protected = False
        _set_cache_protected(scene, False)


def _set_cache_protected(scene: bpy.types.Scene, on: bool) -> None:
    """Mark a cache as baked, or not: Blender then discards nothing."""
    cache = world_of(scene).point_cache
    if cache.is_baked != on:
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0], point_cache=cache):
            (bpy.ops.ptcache.bake_from_cache if on else bpy.ops.ptcache.free_bake)()


def clear_status_text() -> None:
    """Clear the notes in the status bar, when the add-on is disabled."""
    for scene in getattr(bpy.data, "scenes", ()):
        set_frame_note(scene, "")


# ------------------------------------------------------------------------------------ notes


def frame_note(scene: bpy.types.Scene) -> str:
    """Return the reason why the frame shown is not the simulation's; empty if it is."""
    return session_of(scene).note


def check_frame(scene: bpy.types.Scene, places: Array, stepped: bool) -> None:
    """Update the note after a frame.

    Args:
        scene: The scene.
        places: Positions (n, 3) of the bodies.
        stepped: Whether the simulation took a step to this frame; else the positions are compared with its result.
    """
    frame, run = scene.frame_current, session_of(scene).run
    if run is not None and stepped and frame <= last_frame(scene):
        run.came_to(frame, places)
    set_frame_note(scene, "" if run is not None and run.shows(frame, places) else _frame_problem(scene, run))


def note_missing_frame(scene: bpy.types.Scene) -> None:
    """Set the note at a frame that no simulation has reached."""
    set_frame_note(scene, _frame_problem(scene, session_of(scene).run))


def _frame_problem(scene: bpy.types.Scene, run: CachedRun | None) -> str:
    if scene.frame_current > last_frame(scene):
        last = last_frame(scene)
        return Message(
            "Physics: it ends at frame {}. Set the scene's end after it, and play from the first frame", last
        )
    if run is None or not run.has_frames or scene.frame_current <= run.reach:
        return "Physics: this frame is not simulated with the present settings. Bake, or play from the first frame"
    reach = first_frame(scene) + (run.reach - first_frame(scene)) // session_of(scene).stretch
    return Message("Physics: simulated up to frame {} only. Bake, or play from the first frame", reach)


def set_frame_note(scene: bpy.types.Scene, text: str) -> None:
    """Store a note for the panel, and show it in the status bar."""
    session = session_of(scene)
    if session.note == text:
        return
    session.note = text
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        if window.scene == scene:
            window.workspace.status_text_set(text or None)
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()  # the sidebar shows or hides the note
