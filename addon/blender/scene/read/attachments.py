"""Reading of reference frames and lights from their objects, which are identified by their index in the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeVar

import bpy
import numpy as np

from ....core.model import Array, Frame, Light, Mechanism
from ....core.report import Message, Report
from ....core.transforms import inverse
from ...data.access import is_renamed, record_of
from ...data.baseline import baseline_pose
from ...data.facts import COLOR_TOLERANCE, shortest_float
from ...data.queries import file_name
from ..attachments import LIGHT_KINDS, energy_and_color, pose_from_com
from .applied_transforms import report_cleared_transform
from .design_poses import DesignPoses
from .edit_detection import edited_pose, was_moved

P = TypeVar("P", Frame, Light)
#: Report code of a deleted frame that is still in use.
FRAME_KEPT_CODE = "frame-kept"
#: Centers of mass, in the document and now, for parts of the world.
_WORLD = (np.zeros(3),) * 2
#: Tolerance within which a scale is 1.
_SCALE_TOLERANCE = 1e-6


@dataclass
class AttachmentReader:
    """Reader of the objects of reference frames, and then of lights, over the document's.

    ``coms`` are the centers of mass of the document's bodies, in the document and now; body objects are there.
    ``bodies`` are their objects by id, and new ones: parts of other bodies were removed with them.
    """

    coms: Mapping[str, tuple[Array, Array]]
    bodies: Mapping[str, bpy.types.Object]
    designs: DesignPoses
    report: Report
    #: New names of frames by body (None for the world) and old name.
    renamed: dict[tuple[str | None, str], str] = field(default_factory=dict)
    #: Previous pose on the body and present frame, by frame object.
    frames: dict[bpy.types.Object, tuple[Array, Frame]] = field(default_factory=dict)
    #: Objects of the document's frames by body and old name; the first of several, to which lights refer.
    named: dict[tuple[str | None, str], bpy.types.Object] = field(default_factory=dict)
    #: Frames of the document whose objects were deleted.
    gone: list[Frame] = field(default_factory=list)
    #: Scales (3,) of bodies that were asked for.
    _scales: dict[bpy.types.Object, Array] = field(default_factory=dict)

    def read(self, objects: list[bpy.types.Object], base: list[P]) -> list[P]:
        """Return the frames, or the lights, that objects stand for now; ``base`` are the document's."""
        for obj in [obj for obj in objects if not record_of(obj).source_id.isdigit()]:
            self.report.warn("stranger", Message("{}: not exported, it is not a part of the mechanism", repr(obj.name)))
        objects = [obj for obj in objects if record_of(obj).source_id.isdigit()]
        holders: dict[int, bpy.types.Object] = {}
        for obj in sorted(objects, key=is_renamed):
            if not record_of(obj).copy_of:
                holders.setdefault(_document_index(obj), obj)
        new = [obj for obj in objects if holders.get(_document_index(obj)) != obj and _document_index(obj) < len(base)]
        originals = [deepcopy(base[_document_index(obj)]) for obj in new]
        out = []
        for number, part in enumerate(base):
            if not self.is_carried(part):
                continue
            if number in holders:
                name = file_name(holders[number])
                if isinstance(part, Frame):
                    self.named.setdefault((part.body, part.name), holders[number])
                    if name != part.name:
                        self.renamed[part.body, part.name] = name
                out.append(self._now(holders[number], part, name))
            elif isinstance(part, Frame):
                self.gone.append(part)
            else:
                self._report_deleted(part)
        for obj, original in zip(new, originals, strict=True):
            made = self._on_other_body(obj, original) if record_of(obj).copy_of else None
            if made is not None or self.is_carried(original):
                self.report.info(
                    "added",
                    Message("{} {} is new{}", type(original).__name__, repr(obj.name), ""),
                    where=original.body or "",
                )
                out.append(made or self._now(obj, original, obj.name))
        return out

    def is_carried(self, part: Frame | Light) -> bool:
        """Return whether the body of a frame or light still exists; the world does."""
        return part.body is None or part.body in self.bodies

    def _now(self, obj: bpy.types.Object, part: P, name: str) -> P:
        part.name, before = name, part.pose
        frame = self._frame_of(obj, part) if isinstance(part, Light) else None
        part.pose = self._pose(obj, part) if frame is None else self._pose_on_frame(obj, before, frame)
        if isinstance(part, Light):
            _read_light_edits(obj.data, part)
        else:
            self.frames[obj] = before, part
        return part

    def _on_other_body(self, obj: bpy.types.Object, part: P) -> P | None:
        """Return a copied frame or light on the body or frame that it is a child of; None if it is of neither."""
        parent = obj.parent
        if parent is None:
            return None
        pose = edited_pose(obj, None, self.designs.on(obj, parent))[0]
        if isinstance(part, Light) and parent in self.frames:
            frame = self.frames[parent][1]
            part.body, part.extra = frame.body, part.extra | {"frame": frame.name}
            pose = frame.pose @ pose
        elif self.bodies.get(record_of(parent).source_id) == parent:
            part.body = record_of(parent).source_id
            scale, com = self._scale_of(parent), np.array(record_of(parent).com)
            pose[:3, 3] = [shortest_float(x) for x in scale * pose[:3, 3] + com]
        else:
            return None
        part.name, part.pose = file_name(obj), pose
        if isinstance(part, Light):
            _read_light_edits(obj.data, part)
        else:
            self.frames[obj] = pose, part
        return part

    def _pose(self, obj: bpy.types.Object, part: Frame | Light) -> Array:
        """Return the pose (4, 4) of a part created as a child of its body, or of the armature for the world."""
        holder = self.designs.rig if part.body is None else self.bodies[part.body]
        design = self.designs.on(obj, _copied_holder(obj, holder))
        scale = np.ones(3) if part.body is None else self._scale_of(holder)
        before, com = self.coms.get(part.body or "", _WORLD)
        if com is before and not was_moved(obj, design) and (scale == 1.0).all():
            return part.pose
        report_cleared_transform(obj, design, self.report)
        exact = pose_from_com(part.pose, before)
        pose = edited_pose(obj, exact if _was_built_at(obj, exact) else None, design)[0]
        pose[:3, 3] = [shortest_float(x) for x in scale * pose[:3, 3] + com]  # a scaled body moves its attachments
        kept = np.abs(pose - part.pose).max() <= 1e-6 * max(1.0, float(np.abs(part.pose[:3, 3]).max()))
        return part.pose if com is not before and kept else pose

    def _scale_of(self, body: bpy.types.Object) -> Array:
        """Return the scale (3,) of a body, exactly 1 where it has none."""
        if body not in self._scales:
            scale = self.designs.of(body).to_scale()
            is_unscaled = max(abs(part - 1.0) for part in scale[:]) <= _SCALE_TOLERANCE
            self._scales[body] = np.ones(3) if is_unscaled else np.array([shortest_float(x) for x in scale[:]])
        return self._scales[body]

    def _frame_of(self, obj: bpy.types.Object, light: Light) -> bpy.types.Object | None:
        """Return the frame object of a light: the one that it was created as a child of, or the copy that it is on now.

        It is None where the light was moved elsewhere.
        """
        frame = self.named.get((light.body, str(light.extra.get("frame"))))
        if frame is None:
            return None
        before, _frame = self.frames[frame]
        if obj.parent != frame and not _was_built_at(obj, inverse(before) @ light.pose):
            return None
        copied = (
            obj.parent if obj.parent in self.frames and _document_index(obj.parent) == _document_index(frame) else None
        )
        return copied or frame

    def _pose_on_frame(self, obj: bpy.types.Object, before: Array, on: bpy.types.Object) -> Array:
        """Return the pose (4, 4) on its body of a light whose object is the child of a frame's object."""
        frame_before, frame = self.frames[on]
        design = self.designs.on(obj, on)
        if not was_moved(obj, design) and frame.pose is frame_before:
            return before
        local = inverse(frame_before) @ before
        pose: Array = frame.pose @ (edited_pose(obj, local, design)[0] if was_moved(obj, design) else local)
        return pose

    def report_removed_frames(self, mechanism: Mechanism) -> None:
        """Report each deleted frame; with a warning those that files keep because a part still uses them."""
        users = frame_users(mechanism) if self.gone else {}
        for frame in self.gone:
            user = users.get((frame.body, frame.name))
            if user is None:
                self._report_deleted(frame)
            else:
                message = Message(
                    "Reference frame {}: deleted, but kept in Shift files because {} uses it",
                    repr(frame.name),
                    repr(user),
                )
                self.report.warn(FRAME_KEPT_CODE, message, where=frame.body or "")

    def _report_deleted(self, part: Frame | Light) -> None:
        self.report.info(
            "deleted", Message("{} {} was deleted{}", type(part).__name__, repr(part.name), ""), where=part.body or ""
        )

    def rename_references(self, mechanism: Mechanism) -> None:
        """Update joints, lights and restraints to the new names of the frames that they use."""
        for joint in mechanism.joints if self.renamed else ():
            self._rename(joint.extra, (joint.parent, joint.child))
        for item in mechanism.restraints if self.renamed else ():
            self._rename(item.extra, item.bodies or (None, None))
        for light in mechanism.lights:
            if "frame" in light.extra:
                light.extra["frame"] = self.renamed.get((light.body, light.extra["frame"]), light.extra["frame"])

    def _rename(self, extra: dict[str, Any], bodies: Sequence[str | None]) -> None:
        frames = extra.get("frames")
        if isinstance(frames, list) and len(frames) == len(bodies):
            extra["frames"] = [self.renamed.get((b, f), f) for b, f in zip(bodies, frames, strict=True)]


def frame_users(mechanism: Mechanism) -> dict[tuple[str | None, str], str]:
    """Return the frames that joints, lights and restraints use, with the name of the first user.

    Frames are given by their body (None for the world) and name.
    """
    users: dict[tuple[str | None, str], str] = {}
    for joint in mechanism.joints:
        for place in zip((joint.parent, joint.child), _names(joint.extra), strict=False):
            users.setdefault(place, joint.name)
    for item in mechanism.restraints:
        for place in zip(item.bodies or (), _names(item.extra), strict=False):
            users.setdefault(place, item.name)
    for light in mechanism.lights:
        users.setdefault((light.body, str(light.extra.get("frame"))), light.name)
    return users


def _names(extra: dict[str, Any]) -> list[str]:
    frames = extra.get("frames")
    return frames if isinstance(frames, list) else []


def _document_index(obj: bpy.types.Object) -> int:
    return int(record_of(obj).source_id)


def _copied_holder(obj: bpy.types.Object, holder: bpy.types.Object) -> bpy.types.Object:
    """Return the parent of an object if it is a copy of ``holder`` that was copied with the object, else ``holder``."""
    parent = obj.parent
    if parent is None or record_of(parent).role != "BODY":
        return holder
    own = record_of(holder).source_id
    return parent if own and own in (record_of(parent).source_id, record_of(parent).copy_of) else holder


def _was_built_at(obj: bpy.types.Object, local: Array) -> bool:
    """Return whether an object was built with this local matrix (4, 4)."""
    return bool(np.allclose(baseline_pose(obj), local, rtol=1e-5, atol=1e-6))


def _read_light_edits(lamp: Any, light: Light) -> None:
    """Apply edits of a light's type and color. Files state no power of a light."""
    kind = LIGHT_KINDS.get(lamp.type, light.type)
    if kind != light.type:
        light.type = light.extra["type"] = kind
    brightest, color = energy_and_color(light)
    if np.abs(np.subtract(lamp.color[:], color)).max() > COLOR_TOLERANCE:
        red, green, blue = (shortest_float(part * brightest) for part in lamp.color[:])
        light.diffuse = (red, green, blue)
