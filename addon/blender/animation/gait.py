"""Gait of a mechanism in Blender: its inputs as properties, Live Input values, input presets, and baking to keyframes.

Values that Live Input sets override what is set or keyed while there are any.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import bpy
import numpy as np

from ...core.gait.behaviors import Engine, GaitBehaviors
from ...core.gait.engine import Gait, find_gait
from ...core.gait.presets import InputValues, find_input_presets
from ...core.model import Array, Body, Joint, Mechanism
from ...core.report import Message, Report, count_with_noun
from ...formats import loads_cached
from ...formats.document.cache import MAX_DOCUMENT_CACHE_BYTES, ContentLRU
from ..compat import action_curves
from ..data.access import action_record, armature_of, bone_record, record_of, settings
from ..data.baseline import baseline_pose
from ..data.channels import settings_curves
from ..data.conversion import read_dofs
from ..data.documents import document_bytes
from ..data.properties.model import input_property_name
from ..data.queries import parts
from ..events.runtime_state import Lifetime, RuntimeState, end_state, state_of
from .keying import LINEAR, key_bone_paths, key_servos


@dataclass(frozen=True)
class LiveValues:
    """Values of Live Input: inputs by name, servos by joint id.

    Servos have two values: at the previous and at the present frame.
    """

    inputs: Mapping[str, float] = field(default_factory=dict)
    servos: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass
class _LiveInput(RuntimeState):
    """Live Input values of a mechanism."""

    lifetime: ClassVar = Lifetime.FILE
    values: LiveValues = field(default_factory=LiveValues)


def live_values(rig: bpy.types.Object) -> LiveValues:
    """Return the Live Input values of a mechanism."""
    return state_of(_LiveInput, rig).values


def set_live_values(uid: int, values: LiveValues) -> None:
    """Set the Live Input values of the mechanism with a ``session_uid``, overriding its inputs and servos."""
    state_of(_LiveInput, uid).values = values


def clear_live_values(uid: int) -> None:
    """Remove the Live Input values of the mechanism with a ``session_uid``."""
    end_state(_LiveInput, uid)


#: Behaviors of documents in a list, which is empty for a document without. Read-only.
_behaviours_cache: ContentLRU[list[GaitBehaviors]] = ContentLRU(MAX_DOCUMENT_CACHE_BYTES)


def set_up_gait(
    scene: bpy.types.Scene, rig: bpy.types.Object, mechanism: Mechanism, seconds: float, report: Report
) -> None:
    """Set up the gait of an imported mechanism: store its input names, and bake it to an Action if it moves anything.

    Args:
        scene: Scene with the frame rate and first frame.
        rig: Armature of the mechanism.
        mechanism: The imported mechanism.
        seconds: Length of the baked motion (s).
        report: Gets an entry about the gait.
    """
    gait = find_gait(mechanism)
    if gait is None:
        return
    settings(rig).gait_inputs = ",".join(gait.controls)
    rate = scene.render.fps / scene.render.fps_base
    last = scene.frame_start + int(np.ceil(seconds * rate))
    action = bake_gait(scene, rig, scene.frame_start, last, gait=gait)
    assert action is not None  # there is a gait
    inputs = Message("; inputs: {}", ", ".join(gait.controls)) if gait.controls else ""
    report.info(
        "gait",
        Message(
            "Gait: moves {}, as Action {}{}", count_with_noun(len(gait.joints), "servo"), repr(action.name), inputs
        ),
    )


def bake_gait(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    first: int,
    last: int,
    name: str | None = None,
    gait: Gait | None = None,
) -> bpy.types.Action | None:
    """Bake the gait's servo values to keyframes, one per frame, for the inputs as they are set or keyed.

    Bodies that the gait senses are taken at their design poses. The new Action becomes the mechanism's; the previous
    one stays in the .blend.

    Args:
        scene: Scene with the frame rate; time 0 is its first frame.
        rig: Armature of the mechanism.
        first: First frame.
        last: Last frame.
        name: Name of the Action; default: from the mechanism's.
        gait: The gait; default: the mechanism's present one.

    Returns:
        The Action; None if the mechanism has no gait.
    """
    gait = gait or current_gait(rig)
    if gait is None:
        return None
    frames = np.arange(first, last + 1, dtype=np.float64)
    times = seconds_since_start(scene, frames)
    commands = gait.evaluate(engine_phase(gait, rig, scene, frames), gait_input_values(gait, rig, frames))
    tracks = {
        joint: (*_thin_keys(frames, values), LINEAR) for joint, values in gait.servo_values(commands, times).items()
    }
    action = key_servos(rig, name or f"{record_of(rig).source_name} Gait", tracks)
    _key_roots_at_design(rig, action, first)
    action_record(action).kind = "GAIT"
    action_record(action).checksum = action_checksum(rig, action)
    return action


def _key_roots_at_design(rig: bpy.types.Object, action: bpy.types.Action, frame: float) -> None:
    """Key each root at its design pose: a gait starts there, also after another bake has moved the mechanism away."""
    roots = [bone.name for bone in armature_of(rig).bones if bone_record(bone).root]
    rest = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
    key_bone_paths(rig, action, np.array([float(frame)]), dict.fromkeys(roots, rest))


def _thin_keys(frames: Array, values: Array) -> tuple[Array, Array]:
    """Keep only the first key of a servo that never moves."""
    return (frames[:1], values[:1]) if np.ptp(values) == 0.0 else (frames, values)


def current_gait(rig: bpy.types.Object) -> Gait | None:
    """Return the gait of a mechanism: its document's behaviors with the present engine settings and stops, or None."""
    behaviours = document_behaviours(rig)
    if behaviours is None:
        return None
    model = settings(rig)
    engine = Engine(model.standard_speed, model.speed_factor, model.pose_delay, model.pose_phase)
    mechanism = Mechanism(rig.name, behaviours=GaitBehaviors(engine, behaviours.items, model.sine_without_type))
    mechanism.bodies = [
        Body(record_of(obj).source_id, record_of(obj).source_name, baseline_pose(obj)) for obj in parts(rig, "BODY")
    ]
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        joint = Joint(record.source_id, record.source_name, record.joint.type, None, None)
        joint.active = record.joint.active
        joint.dofs = read_dofs(record.joint)
        mechanism.joints.append(joint)
    return find_gait(mechanism)


def document_behaviours(rig: bpy.types.Object) -> GaitBehaviors | None:
    """Return the behaviors in a mechanism's document, read once per text; None if there are none."""
    data = document_bytes(rig)
    if data is None:
        return None
    path = settings(rig).path
    found = _behaviours_cache.get(data, path)
    if found is None:
        behaviours = loads_cached(data, path).behaviours
        found = [] if behaviours is None else [behaviours]
        _behaviours_cache.keep(data, path, found)
    return found[0] if found else None


def seconds_since_start(scene: bpy.types.Scene, frames: Array) -> Array:
    """Return the times (s) of frames; 0 is the scene's first frame, where a gait starts."""
    return (frames - scene.frame_start) * scene.render.fps_base / scene.render.fps


def engine_phase(gait: Gait, rig: bpy.types.Object, scene: bpy.types.Scene, frames: Array) -> Array:
    """Return the engine phase (rad) at frames; a keyed speed factor is integrated frame by frame (trapezoidal rule)."""
    curve = settings_curves(rig).get(("knuckle.speed_factor", 0))
    if curve is None:
        return gait.phase(seconds_since_start(scene, frames), settings(rig).speed_factor)
    steps = np.arange(scene.frame_start, int(np.ceil(frames.max(initial=scene.frame_start))) + 1, dtype=np.float64)
    factor = np.array([curve.evaluate(frame) for frame in steps])
    moving = np.maximum(seconds_since_start(scene, steps) - gait.engine.pose_delay, 0.0)
    run = np.concatenate([[0.0], np.cumsum(np.diff(moving) * (factor[1:] + factor[:-1]) / 2.0)])
    # the engine's clock at speed 1, at the integrated time
    return gait.phase(gait.engine.pose_delay + np.interp(frames, steps, run), 1.0)


def gait_input_values(gait: Gait, rig: bpy.types.Object, frames: Array) -> dict[str, Array | float]:
    """Return the inputs that a gait reads at frames: Live Input values, else F-curves, else the set values."""
    live = live_values(rig).inputs
    return {
        control: live[control]
        if control in live
        else setting_values(rig, f"controls.{input_property_name(control)}", frames)
        for control in gait.controls
    }


def setting_values(rig: bpy.types.Object, name: str, frames: Array, curves: Mapping | None = None) -> Array | float:
    """Return a setting of the mechanism at frames (n,): the values (n,) of its F-curve, or its constant value."""
    curve = (settings_curves(rig) if curves is None else curves).get((f"knuckle.{name}", 0))
    if curve is not None:
        return np.array([curve.evaluate(frame) for frame in frames])
    return settings(rig).path_resolve(name)


def action_checksum(rig: bpy.types.Object, action: bpy.types.Action) -> str:
    """Return a digest (SHA-1) of an Action's keys on bones, by which an edited bake of a gait is recognized."""
    digest = hashlib.sha1(usedforsecurity=False)
    for curve in action_curves(rig, action, create=False) or ():
        if curve.data_path.startswith("pose.bones"):
            points = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
            curve.keyframe_points.foreach_get("co", points)
            channel = curve.data_path.rsplit(".", 1)[-1]  # and not the bone's name, which may change
            digest.update(f"{channel}[{curve.array_index}]".encode())
            digest.update(points.tobytes())
    return digest.hexdigest()


def tracks_gait(rig: bpy.types.Object) -> bool:
    """Return whether servos track the mechanism's gait instead of its bones."""
    target = settings(rig).target
    return bool(live_values(rig).inputs) or target == "GAIT" or (target == "AUTO" and plays_baked_gait(rig))


def tracked_source(rig: bpy.types.Object) -> str:
    """Return a description of what the servos track."""
    data = rig.animation_data
    if tracks_gait(rig):
        return "the gait"
    if data is not None and data.use_nla and any(not track.mute and len(track.strips) for track in data.nla_tracks):
        return "the bones, as strips have them"
    if data is not None and data.action is not None:
        return repr(data.action.name)
    return "the bones, as they are set"


def plays_baked_gait(rig: bpy.types.Object) -> bool:
    """Return whether the rig plays its unedited baked gait, or has no Action while its document has a gait."""
    data = rig.animation_data
    action = data.action if data is not None else None
    if action is None:
        return document_behaviours(rig) is not None
    return action_record(action).kind == "GAIT" and action_record(action).checksum == action_checksum(rig, action)


#: Input presets of documents: finding them requires evaluating the gait.
_preset_cache: ContentLRU[dict[str, InputValues]] = ContentLRU(MAX_DOCUMENT_CACHE_BYTES)


def document_presets(rig: bpy.types.Object) -> dict[str, InputValues]:
    """Return the presets of the gait in a mechanism's document and the inputs of each, computed once per text.

    Raises:
        FormatError: The document cannot be read, for example while its text is being edited.
    """
    if not settings(rig).gait_inputs:
        return {}
    data, path = document_bytes(rig), settings(rig).path
    if data is None:
        return {}
    found = _preset_cache.get(data, path)
    if found is None:
        found = find_input_presets(loads_cached(data, path))
        _preset_cache.keep(data, path, found)
    return found


def input_names(rig: bpy.types.Object) -> list[str]:
    """Return the names of the inputs that a mechanism's gait reads, in its order."""
    return [name for name in settings(rig).gait_inputs.split(",") if name]


def set_inputs(scene: bpy.types.Scene, rig: bpy.types.Object, inputs: Mapping[str, float]) -> bool:
    """Set all inputs that a mechanism's gait reads, those not in ``inputs`` to 0, and bake its own Action again.

    Returns:
        Whether it was baked, see ``rebake_gait``.
    """
    for name in input_names(rig):
        setattr(settings(rig).controls, input_property_name(name), inputs.get(name, 0.0))
    return rebake_gait(scene, rig)


def rebake_gait(scene: bpy.types.Scene, rig: bpy.types.Object, until: int | None = None) -> bool:
    """Bake the gait again, with its inputs as they are set or keyed, if its own unedited Action plays.

    Args:
        scene: Scene with the frame rate.
        rig: Armature of the mechanism.
        until: Frame up to which the Action has to extend, besides its present range.

    Returns:
        Whether it was baked.
    """
    data = rig.animation_data
    before = data.action if data is not None and not data.use_tweak_mode else None
    if before is None or action_record(before).kind != "GAIT" or not plays_baked_gait(rig):
        return False
    first, last = (round(frame) for frame in before.frame_range[:])
    name = before.name
    baked = bake_gait(scene, rig, first, max(last, until or last))
    if baked is None:
        return False
    if before.users == int(before.use_fake_user):  # Blender may have put keyframes of inputs into the same Action
        bpy.data.actions.remove(before)
        baked.name = name
    return True
