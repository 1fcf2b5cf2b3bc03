"""Whether what a run began with is still so: keys, stops, masses, settings. What is not makes its frames old."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np

from ...animation.gait import settings_curves
from ...compat import action_curves
from ...data.access import armature_of, record_of, settings
from ...data.queries import parts

_NUMBERS = {"FLOAT", "INT", "BOOLEAN", "ENUM", "STRING"}
#: What of a model's settings changes by itself, or changes nothing.
_ASIDE = {"name", "lift", "report_index", "show_collision", "servo_name_index", "key_bodies", "rna_type"}
#: What a run itself writes to rigid bodies.
_WRITTEN = {"kinematic", "rna_type"}
_PLACE = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "rotation_mode", "scale")
_WORLD = ("substeps_per_frame", "solver_iterations", "use_split_impulse", "time_scale")


def fingerprint(scene: bpy.types.Scene, rigs: Iterable[bpy.types.Object]) -> bytes:
    """Changes when anything does that a run of these models starts from or is led by. What is animated counts by its
    curves, whatever the frame."""
    told = hashlib.blake2b(digest_size=16)
    world = scene.rigidbody_world
    _tell(told, [getattr(world, name) for name in _WORLD], scene.render.fps, scene.render.fps_base)
    _tell(told, scene.gravity[:], scene.use_gravity, *_plain(world.effector_weights, set()))
    for held in (world.collection, world.constraints):
        for obj in held.objects if held is not None else ():
            _tell_object(told, obj)
    for rig in rigs:
        _tell_model(told, rig)
    return told.digest()


def _tell(told: Any, *facts: object) -> None:
    told.update(repr(facts).encode())


def _tell_object(told: Any, obj: bpy.types.Object) -> None:
    _tell(told, obj.name)
    if obj.rigid_body is not None:
        _tell(told, *_plain(obj.rigid_body, _WRITTEN))
    if obj.animation_data is None and not obj.constraints:
        _tell(told, _rounded(obj))
    elif record_of(obj).model is None:  # an obstacle of the user's
        for each in (obj, obj.parent):
            if each is not None:
                _course_of(told, each)


def _tell_model(told: Any, rig: bpy.types.Object) -> None:
    model, keyed = settings(rig), settings_curves(rig)
    _tell(told, *_plain(model, _ASIDE | {path.removeprefix("knuckle.") for path, _ in keyed}))
    controls = {path.removeprefix("knuckle.controls.") for path, _ in keyed}
    _tell(told, *_plain(model.controls, {"rna_type", *controls}))
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        for dof in joint.dofs:
            _tell(told, joint.active, *_plain(dof, {"rna_type"}))
    for body in parts(rig, "BODY"):
        _tell(told, record_of(body).mass)
    curves = [*keyed.values(), *_pose_curves(told, rig)]
    moved = {curve.data_path for curve in curves}
    for name in _PLACE:
        if name not in moved:
            _tell(told, getattr(rig, name)[:])
    _tell(told, (*rig.delta_location[:2], round(rig.delta_location[2] - model.lift, 6)), rig.delta_scale[:])
    _tell(told, rig.delta_rotation_euler[:], rig.delta_rotation_quaternion[:])
    parent = rig.parent
    _tell(told, "" if parent is None else (parent.name, rig.parent_type, rig.parent_bone, *rig.matrix_parent_inverse))
    if parent is not None:
        _tell(told, _rounded(parent))
        _course_of(told, parent)
    for curve in curves:
        _tell_curve(told, curve)
    for bone in armature_of(rig).bones:
        pose = rig.pose.bones[bone.name]
        for name in ("rotation_quaternion" if pose.rotation_mode == "QUATERNION" else "rotation_euler", "location"):
            if pose.path_from_id(name) not in moved:
                _tell(told, tuple(getattr(pose, name)))


def _course_of(told: Any, obj: bpy.types.Object) -> None:
    """Tell of the curves that move an object, and of what it is held by."""
    for curve in _pose_curves(told, obj):
        _tell_curve(told, curve)
    for constraint in obj.constraints:
        _tell(told, *_plain(constraint, {"rna_type", "error_location", "error_rotation", "is_valid"}))


def _pose_curves(told: Any, rig: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The curves that pose a rig, those of its NLA too."""
    data = rig.animation_data
    if data is None:
        return []
    strips = [strip for track in data.nla_tracks if data.use_nla and not track.mute for strip in track.strips]
    _tell(told, [(strip.frame_start, strip.frame_end, strip.scale, strip.influence, strip.mute) for strip in strips])
    actions = [action for action in (data.action, *(strip.action for strip in strips)) if action is not None]
    _tell(told, [action.name for action in actions])
    return [curve for action in actions for curve in action_curves(rig, action, create=False) or ()]


def _tell_curve(told: Any, curve: bpy.types.FCurve) -> None:
    points = curve.keyframe_points
    pairs = np.empty(2 * len(points), dtype=np.float32)
    points.foreach_get("co", pairs)
    _tell(told, curve.data_path, curve.array_index, curve.mute, curve.extrapolation)
    for modifier in curve.modifiers:
        _tell(told, *_plain(modifier, {"rna_type", "is_valid", "active", "show_expanded", "name"}))
    told.update(pairs.tobytes())
    if any(point.interpolation == "BEZIER" for point in points):
        for side in ("handle_left", "handle_right"):
            points.foreach_get(side, pairs)
            told.update(pairs.tobytes())
    ways = np.empty(len(points), dtype=np.int32)
    points.foreach_get("interpolation", ways)
    told.update(ways.tobytes())


def _rounded(obj: bpy.types.Object) -> list[float]:
    return [round(float(x), 6) for x in np.array(obj.matrix_basis).ravel()]


def _plain(struct: Any, skip: set[str]) -> list[object]:
    """The plain values of a Blender struct."""
    out: list[object] = []
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if prop.type in _NUMBERS and name not in skip:
            value = getattr(struct, name)
            out.append(tuple(value) if getattr(prop, "is_array", False) else value)
    return out
