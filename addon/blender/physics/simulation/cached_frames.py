"""Whether what a run began with is still so: keys, stops, masses, settings. What is not makes its frames old."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ....core.model import Array
from ...compat import action_curves
from ...data.access import armature_of, record_of, settings
from ...data.channels import settings_curves
from ...data.queries import parts
from ..world.rigidbody_world import first_frame, last_frame, reset_cache
from . import session as runs
from .initial_state import evaluate_at

_NUMBERS = {"FLOAT", "INT", "BOOLEAN", "ENUM", "STRING"}
#: What of a model's settings changes by itself, or changes nothing.
_ASIDE = {"name", "lift", "report_index", "show_collision", "servo_name_index", "key_bodies", "rna_type"}
#: What a run itself writes to rigid bodies.
_WRITTEN = {"kinematic", "rna_type"}
_PLACE = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "rotation_mode", "scale")
_WORLD = ("substeps_per_frame", "solver_iterations", "use_split_impulse", "time_scale")


def fingerprint(scene: bpy.types.Scene, rigs: Iterable[bpy.types.Object]) -> bytes:
    """Changes when anything does that a run of these models starts from or is led by.

    What is animated counts by its curves, whatever the frame.
    """
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


#: Places (length units) that differ by less are the same: what is shown is a frame of the run.
_SAME = 1e-4
_NOWHERE = -(2**31)


@dataclass
class Progress:
    """A run: what it began with, the last frame that it came to, the frame at which Blender has it now, and where
    bodies were at each frame."""

    mark: bytes
    reach: int = _NOWHERE
    now: int = _NOWHERE
    places: dict[int, Array] = field(default_factory=dict)
    is_broken: bool = False

    @property
    def has_frames(self) -> bool:
        """Return whether the run has come to any frame."""
        return self.reach != _NOWHERE

    def came_to(self, frame: int, places: Array) -> None:
        """The run took a step."""
        self.reach = self.now = frame
        self.places[frame] = places.astype(np.float32)

    def shows(self, frame: int, places: Array) -> bool:
        """Return whether bodies are where the run had them at a frame."""
        then = self.places.get(frame)
        return then is not None and then.shape == places.shape and bool(np.abs(then - places).max(initial=0.0) < _SAME)


#: By the scene's ``session_uid``, which a new name does not change.
_progress: dict[int, Progress] = {}
_notes: dict[int, str] = {}
_read: list[bpy.types.Scene] = []


def begin(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """A run starts anew."""
    _progress[scene.session_uid] = Progress(fingerprint(scene, rigs), now=first_frame(scene))


def progress_of(scene: bpy.types.Scene) -> Progress | None:
    """The scene's present run."""
    return _progress.get(scene.session_uid)


def shown_of_run(scene: bpy.types.Scene) -> range:
    """The frames from the first to the scene's present one, which come to the same again, where a run had come to it;
    none where what is shown is none of a run's."""
    run = progress_of(scene)
    reached = run is not None and scene.frame_current <= run.reach
    return range(first_frame(scene), scene.frame_current + 1) if reached else range(0)


def end(scene: bpy.types.Scene) -> None:
    """What the scene's cache holds, and its simulation, is nothing that can be gone on from."""
    _progress[scene.session_uid] = Progress(b"")


def break_off() -> None:
    """After undo: what was known of the runs of all scenes, speeds, turns and forces, is gone.

    What they did can still be shown; but nothing goes on from there.
    """
    for run in _progress.values():
        run.is_broken, run.now = True, _NOWHERE


def end_broken(scene: bpy.types.Scene) -> None:
    """Before a frame that the present run did not have: it has ended where it was broken off."""
    run = _progress.get(scene.session_uid)
    if run is not None and run.is_broken:
        end(scene)


def rewound(scene: bpy.types.Scene) -> None:
    """Blender has gone back to the first frame, from where it goes on."""
    run = _progress.get(scene.session_uid)
    if run is not None:
        run.now = first_frame(scene)


def part_with_old(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int, led: bool) -> None:
    """Before a frame that is gone to, and not ``led`` to by a step: have Blender forget a run that is old."""
    run = _progress.get(scene.session_uid)
    if run is None or not run.has_frames or (frame > run.reach and (led or run.now == frame - 1)):
        return
    if run.mark != fingerprint(scene, rigs):
        reset_cache(scene)
        evaluate_at(scene, first_frame(scene) + 1)  # Blender throws away what comes after
        end(scene)
        for rig in rigs:
            runs.lose(rig)


def replay(scene: bpy.types.Scene, frame: int) -> bool:
    """Before a frame that the present run had: have Blender show it from its cache. Whether it was one."""
    run = _progress.get(scene.session_uid)
    if run is None or frame > run.reach:
        return False
    run.now = frame
    scene.frame_current = run.reach  # to call an operator evaluates the scene: at that frame nothing is thrown away
    try:
        _protect(scene, True)
    finally:
        scene.frame_current = frame
    _read.append(scene)
    return True


def release() -> None:
    """After a frame was shown from a cache: runs may write to it again."""
    while _read:
        _protect(_read.pop(), False)


def _protect(scene: bpy.types.Scene, on: bool) -> None:
    """Have Blender take a cache for baked: it then throws nothing away."""
    cache = scene.rigidbody_world.point_cache
    if cache.is_baked != on:
        with bpy.context.temp_override(scene=scene, point_cache=cache):
            (bpy.ops.ptcache.bake_from_cache if on else bpy.ops.ptcache.free_bake)()


def hush() -> None:
    """Take back what the status bar says: nobody is there any more to know better."""
    for scene in getattr(bpy.data, "scenes", ()):
        tell(scene, "")


def forget() -> None:
    """Another file was opened."""
    _progress.clear()
    _notes.clear()
    _read.clear()


# ------------------------------------------------------------------------------------ told


def note(scene: bpy.types.Scene) -> str:
    """Return why what is shown is not what physics does at this frame; empty where it is."""
    return _notes.get(scene.session_uid, "")


def judge_frame(scene: bpy.types.Scene, places: Array, stepped: bool) -> None:
    """After a frame: ``stepped``, the run came to it, with bodies at these places (n, 3); else tell whether they show
    what it did there."""
    frame, run = scene.frame_current, _progress.get(scene.session_uid)
    if run is not None and stepped and frame <= last_frame(scene):
        run.came_to(frame, places)
    tell(scene, "" if run is not None and run.shows(frame, places) else _why(scene, run))


def tell_why(scene: bpy.types.Scene) -> None:
    """At a frame that no run has come to: say so."""
    tell(scene, _why(scene, _progress.get(scene.session_uid)))


def _why(scene: bpy.types.Scene, run: Progress | None) -> str:
    if scene.frame_current > last_frame(scene):
        return (
            f"Physics ends at frame {last_frame(scene)}: bring the scene's end beyond it and play from the first frame"
        )
    if run is None or not run.has_frames:
        return "Bake first, or play from the first frame: physics has not run to this frame as things are now"
    return f"Bake first, or play from the first frame: physics has run to frame {run.reach} only"


def tell(scene: bpy.types.Scene, text: str) -> None:
    """Keep a note for the panel, and show it in the status bar."""
    if _notes.get(scene.session_uid, "") == text:
        return
    _notes[scene.session_uid] = text
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        if window.scene == scene:
            window.workspace.status_text_set(text or None)
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()  # the sidebar has room for the note, or none
