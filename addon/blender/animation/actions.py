"""Actions of a mechanism: which of them are its motions, which plays, and playing one temporarily."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import bpy
import numpy as np

from ...core.model import Array
from ...core.report import Message, Report
from ..compat import (
    action_curves,
    action_slot,
    all_curves,
    copy_strip_slot,
    is_muted,
    nla_strips,
    played_action,
    restore_action,
    set_action_copy,
    strip_curves,
    use_action,
)
from ..data.access import action_record, armature_of, record_of, settings
from ..data.channels import bone_of_path, servo_channels


def motion_actions(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """Return the Actions that key servos of a mechanism, by name, without those made for another mechanism."""
    own = [action for action in bpy.data.actions if may_belong_to(rig, action)]
    if not own:
        return []  # collecting all servos would be slow
    posing = {place for channels in servo_channels(rig).values() for c in channels for place in c.curves()}
    return [
        action
        for action in own
        if any((c.data_path, c.array_index) in posing for c in action_curves(rig, action, create=False) or ())
    ]


def may_belong_to(rig: bpy.types.Object, action: bpy.types.Action) -> bool:
    """Return whether an Action is a motion and does not belong to another mechanism.

    Bones of two mechanisms of one model file have the same names, so that data paths alone do not tell.
    """
    if action in played_actions(rig):
        return True
    return action_record(action).model in {"", settings(rig).uid} and not is_pose_action(action)


def action_users(rig: bpy.types.Object, action: bpy.types.Action) -> list[bpy.types.Object]:
    """Return the other armature objects that an Action of a mechanism may move: an edit of it would change them too.

    They play it; or nothing plays it, it was made for no mechanism, and they are mechanisms as well. Copies that are
    simulated do not count.
    """
    others = [
        other for other in bpy.data.objects if other.type == "ARMATURE" and other != rig and other.data is not None
    ]
    others = [other for other in others if not settings(other).original_uid]
    playing = [other for other in others if action in played_actions(other)]
    if playing or action_record(action).model or action in played_actions(rig):
        return playing
    return [other for other in others if record_of(other).role == "MODEL"]


def is_pose_action(action: bpy.types.Action) -> bool:
    """Return whether an Action is a stored pose (ours or one of Blender's pose library) and no motion."""
    return action_record(action).kind == "POSE" or (
        action.asset_data is not None and all(len(curve.keyframe_points) == 1 for curve in all_curves(action))
    )


def played_actions(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """Return the Actions of an armature object: the active one and those of its NLA strips, muted or not."""
    data = rig.animation_data
    if data is None:
        return []
    every = (data.action, *(strip.action for strip in nla_strips(data)))
    return list(dict.fromkeys(action for action in every if action is not None))


def is_linked_action(action: bpy.types.Action) -> bool:
    """Return whether an Action is from another file, so that Blender keeps no edits of its curves."""
    return action.library is not None or action.override_library is not None


def mechanism_actions(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """Return every Action that an edit of a mechanism has to follow, by name.

    These are all that it plays, and those that key one of its bones and were not made for another mechanism: motions,
    root motions and stored poses. Linked Actions cannot be edited and are left out.
    """
    played, bones = played_actions(rig), armature_of(rig).bones
    return [
        action
        for action in bpy.data.actions
        if not is_linked_action(action)
        and (
            action in played
            or (
                action_record(action).model in {"", settings(rig).uid}
                and any(bone_of_path(c.data_path) in bones for c in action_curves(rig, action, create=False) or ())
            )
        )
    ]


def sole_action(rig: bpy.types.Object) -> bpy.types.Action | None:
    """Return the Action that alone and unchanged determines the pose; None if there is none.

    It is the active Action, or that of the only effective NLA strip where the strip plays it unchanged.
    """
    data = rig.animation_data
    if data is None:
        return None
    strips = [] if not data.use_nla else _effective_strips(data)
    if played_action(data) is not None:
        whole = data.action_influence >= 1.0 and data.action_blend_type == "REPLACE"
        return data.action if whole and not strips else None
    return strips[0].action if len(strips) == 1 and _plays_unchanged(strips[0]) else None


def active_action(rig: bpy.types.Object) -> bpy.types.Action | None:
    """Return the Action that an edit of the motion applies to; None if there is none.

    It is the active Action, else that of the only effective NLA strip, however the strip plays it.
    """
    data = rig.animation_data
    if data is None or played_action(data) is not None:
        return data.action if data is not None else None
    strips = _effective_strips(data) if data.use_nla else []
    return strips[0].action if len(strips) == 1 else None


def fit_strips(rig: bpy.types.Object, action: bpy.types.Action) -> None:
    """Fit the unscaled NLA strips of an Action to its range of keyframes after an edit.

    Strips of an Action that repeats (Cycles modifier) cover at least the scene's range.
    """
    data = rig.animation_data
    tracks = data.nla_tracks if data is not None else ()
    strips = [s for t in tracks for s in t.strips if s.action == action and _is_unscaled(s)]
    if not strips:
        return
    curves = action_curves(rig, action, create=False) or ()
    first, last = (float(x) for x in action.frame_range)  # type: ignore[attr-defined]
    if any(each.type == "CYCLES" and not each.mute for curve in curves for each in curve.modifiers):
        first, last = (
            min([first, *(s.frame_start for s in rig.users_scene)]),
            max([last, *(s.frame_end for s in rig.users_scene)]),
        )
    last = max(last, first + 1.0)
    for strip in strips:
        strip.action_frame_start, strip.action_frame_end = first, last
        strip.frame_start, strip.frame_end = first, last


def _is_unscaled(strip: bpy.types.NlaStrip) -> bool:
    straight = strip.scale == 1.0 and strip.repeat == 1.0 and not strip.use_reverse and not strip.use_animated_time
    return strip.type == "CLIP" and straight and strip.frame_start == strip.action_frame_start


def _effective_strips(data: bpy.types.AnimData) -> list[bpy.types.NlaStrip]:
    """Return the NLA strips that contribute to the pose."""
    solo = [track for track in data.nla_tracks if track.is_solo]
    tracks = solo or [track for track in data.nla_tracks if not track.mute]
    strips = [strip for track in tracks for strip in track.strips if not strip.mute]
    return [strip for strip in strips if strip.type != "CLIP" or strip.action is not None]  # it may have been removed


def strip_curve_ids(rig: bpy.types.Object) -> set[tuple[str, int]]:
    """Return data path and index of each F-curve that NLA strips play on a rig, without muted and empty curves."""
    data = rig.animation_data
    strips = list(_effective_strips(data)) if data is not None and data.use_nla else []
    out: set[tuple[str, int]] = set()
    while strips:
        strip = strips.pop()
        strips += [inner for inner in strip.strips if not inner.mute]  # of a meta strip
        found = (curve for curve in strip_curves(strip) if not is_muted(curve) and not curve.is_empty)
        out.update((curve.data_path, curve.array_index) for curve in found)
    return out


def animated_curve_ids(rig: bpy.types.Object) -> set[tuple[str, int]]:
    """Return data path and index of each channel that the active Action, NLA strips or drivers of a rig animate."""
    data = rig.animation_data
    curves = [] if data is None else [*data.drivers]
    if data is not None and data.action is not None:
        curves += action_curves(rig, data.action, create=False) or ()
    return {(curve.data_path, curve.array_index) for curve in curves} | strip_curve_ids(rig)


def _plays_unchanged(strip: bpy.types.NlaStrip) -> bool:
    action = strip.action
    if action is None:  # a meta strip
        return False
    whole = not strip.use_animated_influence and strip.blend_type in {"REPLACE", "COMBINE"}
    first, last = (float(x) for x in action.frame_range)  # type: ignore[attr-defined]
    complete = strip.action_frame_start <= first and strip.action_frame_end >= last
    blends = strip.blend_in > 0.0 or strip.blend_out > 0.0 or strip.use_auto_blend or len(strip.modifiers) > 0
    return whole and _is_unscaled(strip) and complete and not blends


def has_mixed_actions(rig: bpy.types.Object) -> bool:
    """Return whether the pose comes from more than one Action, or from one that does not play as it is."""
    data = rig.animation_data
    if data is None or sole_action(rig) is not None:
        return False
    return played_action(data) is not None or (data.use_nla and bool(_effective_strips(data)))


def layered_actions(rig: bpy.types.Object) -> dict[bpy.types.Action, str]:
    """Return the Actions that play, from the lowest layer to the highest, with how each is blended with those below.

    ``REPLACE`` for the lowest one, and for one that any of its strips plays so.
    """
    data = rig.animation_data
    if data is None:
        return {}
    every = [(strip.action, strip.blend_type) for strip in (_effective_strips(data) if data.use_nla else ())]
    out = dict[bpy.types.Action, str]()
    for action, blend in (*every, (data.action, data.action_blend_type)):
        if action is not None:
            out[action] = blend if out and out.get(action) != "REPLACE" else "REPLACE"
    return out


def activate_action(rig: bpy.types.Object, action: bpy.types.Action) -> None:
    """Make an Action the only motion that plays on a mechanism: by its NLA track, if it has one to itself.

    Raises:
        ValueError: An NLA strip is in tweak mode.
    """
    require_no_tweak_mode(rig)
    data = rig.animation_data_create()
    ours = {each.name for each in motion_actions(rig)}
    own = None
    for track in data.nla_tracks if data.use_nla else ():
        names = {strip.action.name for strip in track.strips if strip.action is not None}
        if names & ours:
            track.is_solo = False
        if names == {action.name} and own is None:
            own = track
        elif names & ours:
            track.mute = True
    if own is not None:
        own.mute = False
        for strip in own.strips:
            strip.mute = False
    use_action(rig, None if own is not None else action)


def require_no_tweak_mode(rig: bpy.types.Object) -> None:
    """Raise ValueError if an NLA strip is in tweak mode, in which Blender does not let the Action be exchanged."""
    if rig.animation_data is not None and rig.animation_data.use_tweak_mode:
        raise ValueError("Action: locked while an NLA strip is in tweak mode. Leave tweak mode (Tab)")


@contextmanager
def temporary_action(rig: bpy.types.Object, action: bpy.types.Action) -> Iterator[None]:
    """Context manager that plays one Action alone on a rig, then restores Action, slot, NLA and pose."""
    require_no_tweak_mode(rig)
    data = rig.animation_data_create()
    before, nla = data.action, data.use_nla
    slot = action_slot(data)
    pose = bone_properties(rig)
    try:
        data.use_nla = False
        use_action(rig, action)
        yield
    finally:
        restore_action(data, before, slot)
        data.use_nla = nla
        set_bone_properties(rig, pose)


def set_bone_properties(rig: bpy.types.Object, numbers: dict[str, Array]) -> None:
    """Pose all bones by the values from ``bone_properties``."""
    for name, values in numbers.items():
        rig.pose.bones.foreach_set(name, values)
    rig.update_tag()


def bone_properties(rig: bpy.types.Object) -> dict[str, Array]:
    """Return the values that pose all bones: flat float32 arrays in the order of the bones, by property."""
    sizes = {"location": 3, "rotation_quaternion": 4, "rotation_euler": 3, "rotation_axis_angle": 4, "scale": 3}
    out: dict[str, Array] = {}
    for name, size in sizes.items():
        out[name] = np.empty(size * len(rig.pose.bones), dtype=np.float32)
        rig.pose.bones.foreach_get(name, out[name])
    return out


def stored_poses(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """Return the named poses of a mechanism, by name: pose Actions of this .blend that pose its servos."""
    every = (action for action in bpy.data.actions if is_pose_action(action))
    own = [action for action in every if action_record(action).model in {"", settings(rig).uid}]
    if not own:
        return []  # called at every redraw: collecting all servos would be slow
    paths = {path for channels in servo_channels(rig).values() for c in channels for path, _index in c.curves()}
    return [a for a in own if any(curve.data_path in paths for curve in action_curves(rig, a, create=False) or ())]


#: Properties of an NLA strip that are copied, in an order in which they can be set.
_STRIP_PROPERTIES = (
    *("action_frame_start", "action_frame_end", "scale", "repeat", "frame_end_raw", "frame_start_raw", "use_reverse"),
    *("blend_type", "extrapolation", "use_auto_blend", "blend_in", "blend_out", "mute", "use_sync_length"),
)


def play_merged(
    rig: bpy.types.Object, other: bpy.types.Object, joined: Mapping[bpy.types.Action, bpy.types.Action]
) -> Report:
    """Let a mechanism play what a merged one played: its Action, if it has none itself, and the strips of its NLA.

    Args:
        rig: The armature.
        other: That of the merged mechanism.
        joined: Actions that became a part of another one, with that one.

    Returns:
        The NLA tracks with content that could not be copied.
    """
    report, data = Report(), other.animation_data
    if data is None:
        return report
    own = rig.animation_data_create()
    playing = own.action
    if data.action is not None and data.action not in joined and playing is None:
        restore_action(own, data.action, action_slot(data))
    elif data.action is not None and data.action not in joined and playing is not None:
        report.warn(
            "linked-action",
            Message(
                "Action {}: linked, the keyframes of {} are not added to it. Make it local before merging",
                repr(playing.name),
                repr(data.action.name),
            ),
            where=data.action.name,
        )
    left = set[str]()
    for track in data.nla_tracks:
        strips = [strip for strip in track.strips if strip.type != "CLIP" or strip.action not in joined]
        copied = [strip for strip in strips if strip.type == "CLIP" and strip.action is not None]
        left |= {track.name for strip in strips if strip.type != "CLIP" or strip.use_animated_influence}
        if not copied:
            continue
        made = rig.animation_data_create().nla_tracks.new()
        made.name, made.mute = track.name, track.mute
        for strip in copied:
            action = cast(bpy.types.Action, strip.action)
            new = made.strips.new(strip.name, int(strip.frame_start), action)
            copy_strip_slot(strip, new)
            for name in _STRIP_PROPERTIES:
                setattr(new, name, getattr(strip, name))
    if left:
        report.warn(
            "strips-lost",
            Message(
                "NLA tracks {}: meta strips, transitions and animated influence are not merged",
                ", ".join(map(repr, sorted(left))),
            ),
        )
    return report


def play_copy(rig: bpy.types.Object, action: bpy.types.Action, copy: bpy.types.Action) -> None:
    """Let an armature object play the copy of an Action in its place, with the same slots."""
    data = rig.animation_data
    if data is not None and data.action == action:
        set_action_copy(data, copy)
    for strip in nla_strips(data) if data is not None else ():
        if strip.action == action:
            set_action_copy(strip, copy)


def playing_role(rig: bpy.types.Object, action: bpy.types.Action) -> str:
    """Return how an armature object plays an Action: ``active``, ``strip`` or not at all (empty)."""
    data = rig.animation_data
    if data is None or action not in played_actions(rig):
        return ""
    return "active" if data.action == action else "strip"
