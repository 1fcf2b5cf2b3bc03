"""Models that an earlier release kept in a .blend, brought up to date step by step when they come: with a file that is
opened, appended or linked. Of what is linked its own file stays as it is, and so does what a newer release kept.

``_STEPS`` is the one place that knows what changed; each step leads from one version of a model to the next, and only
fills in what that version had not.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...core.editing.sides import found_plane
from ...core.model import Plane
from ...core.report import FormatError, Report
from ..animation.loops.drivers import lock_rigid_loops
from ..data.access import armature_of, armature_settings, bone_record, record_of, settings
from ..data.bulk_write import make
from ..data.conversion import add_to_report, keep_plane, kept_plane, kinds_of
from ..data.documents import read_document
from ..data.properties.model import VERSION
from ..data.queries import child_collection, is_foreign, is_newer, parts, rigs_of
from ..events.signals import Handlers, hang, quiet, take_down
from ..physics.simulation.setup import know_friction
from ..rig.bone_limits import limit_every_bone
from ..scene.armature import Hook
from ..scene.attachments import make_frames
from ..scene.collections import Folders
from ..scene.materials import keep_color
from ..scene.placement import plan, tell_of_rigid
from ..scene.read.applied_transforms import keep_rests
from ..scene.read.mechanism import extract
from .rig_update import present_bones, record_joints
from .symmetry.twins import document_plane


def bring_up_to_date(rig: bpy.types.Object) -> list[int]:
    """Bring a model up to date, with its library overrides; the versions that it went through, none where it was up to
    date, or cannot be changed.

    A linked model is changed in memory, until its library is loaded again. A library has no room for new objects, so
    that one of before ``_WITHOUT_OBJECTS`` stays as it is."""
    model = settings(rig)
    passed: list[int] = []
    if is_foreign(rig) and model.version < _WITHOUT_OBJECTS:
        return passed
    every = list(rigs_of(armature_of(rig)))
    with quiet():
        while model.version < VERSION:
            for each in every:  # an override stores no difference to what its library has in memory
                _STEPS[model.version](each)
            model.version += 1
            passed.append(model.version)
    return passed


# ---------------------------------------------------------------- the steps


def _give_frames_objects(rig: bpy.types.Object) -> None:
    """To 2. Frames and lights were in the document alone. (Some are there where this was begun before, and failed.)"""
    decided = plan(extract(rig), closed=False)
    if decided.mechanism.frames or decided.mechanism.lights:
        names = [name or "" for name in present_bones(rig, decided)]
        bodies = {record_of(obj).source_id: obj for obj in parts(rig, "BODY")}
        there = {(role, record_of(obj).source_id) for role in ("FRAME", "LIGHT") for obj in parts(rig, role)}
        make(make_frames(decided, Hook(decided, rig, names), _Folders(rig), bodies, there=there))


class _Folders(Folders):
    """The collections of a model that stands, as ``build.frames`` asks for them: none is made anew."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self._rig = rig

    def __getitem__(self, kind: str) -> bpy.types.Collection:
        return child_collection(self._rig, kind)

    def beside(self, kind: str, _assembly: str, _active: bool) -> bpy.types.Collection:
        return self[kind]


def _know_colors(rig: bpy.types.Object) -> None:
    """To 3. Materials did not know the colour that they were made with. Paint of before was never written."""
    for obj in (*parts(rig, "BODY"), *parts(rig, "SHAPE")):
        for slot in obj.material_slots:
            if slot.material is not None and slot.material.library is None:
                keep_color(slot.material)


def _know_bones(rig: bpy.types.Object) -> None:
    """To 4.

    Joints did not know on which channels of which bones they are posed, and for which degrees of freedom these were
    made; bones not how they were named; a model not how it was stood upright; a ground not that it is.
    """
    joints = [record_of(empty).joint for empty in parts(rig, "JOINT")]
    if any(dof.step < 0 for joint in joints if not joint.loop for dof in joint.dofs):
        record_joints(rig, plan(extract(rig), closed=False))
    for joint in joints:
        joint.boned = joint.boned or kinds_of(joint)
    for bone in armature_of(rig).bones:
        known = bone_record(bone)
        if known.joint or known.root:
            known.built_name = known.built_name or bone.name
    if not any(settings(rig).upright):
        settings(rig).upright = rig.matrix_basis.to_quaternion()
    for obj in parts(rig, "SHAPE"):
        record = record_of(obj)
        if obj.name.startswith(_GROUND) and not record.source_id and record.shape < 0 and obj.parent is None:
            record.is_ground = True


def _limit_bones_plainly(rig: bpy.types.Object) -> None:
    """To 5.

    Limits of bones took angles to the nearer stop around the circle, and stops beyond half a turn had none; bones did
    not know the rests that they were made with.
    """
    keep_rests(rig)
    limit_every_bone(rig)


def _know_mirror_plane(rig: bpy.types.Object) -> None:
    """To 5.

    Models did not know their mirror plane, bodies not whether they fall and collide, and shapes not the balls that they
    are of: all of it was in the document alone.
    """
    base = read_document(rig)
    if kept_plane(rig) is None:
        made_here = base is None  # and mirrored across X = 0 where it has no twins
        keep_plane(rig, (found_plane(extract(rig)) or Plane(np.eye(3)[0])) if made_here else document_plane(rig))
    known = {body.id: body for body in base.bodies} if base is not None else {}
    for obj in parts(rig, "BODY"):
        record = record_of(obj)
        body = known.get(record.source_id) or known.get(record.copy_of)
        if body is None:
            continue
        record.gravity, record.collidable = body.gravity, body.collidable
        for kept, shape in zip(record.shapes, body.shapes, strict=False):
            if kept.type == shape.type and shape.spheres:
                kept.spheres = json.dumps(shape.spheres)


def _know_contact_friction(rig: bpy.types.Object) -> None:
    """To 5. Models did not know the friction that physics gave their bodies, and so not what was typed instead."""
    if any(obj.rigid_body is not None for obj in parts(rig, "BODY")):
        know_friction(rig)


def _lock_rigid_loops(rig: bpy.types.Object) -> None:
    """To 5. Bones of loops without a degree of freedom were free."""
    report = Report()
    for linkage in lock_rigid_loops(rig):
        tell_of_rigid(linkage, report)
    add_to_report(rig, report)


def _to_five(rig: bpy.types.Object) -> None:
    _limit_bones_plainly(rig)
    _lock_rigid_loops(rig)
    _know_mirror_plane(rig)
    _know_contact_friction(rig)


#: How the ground of a scene was named before it was told by its record.
_GROUND = "Knuckle Ground"
#: From each version of a model the step to the next.
_STEPS: dict[int, Callable[[bpy.types.Object], None]] = {
    1: _give_frames_objects,
    2: _know_colors,
    3: _know_bones,
    4: _to_five,
}
#: From this version on no step makes objects.
_WITHOUT_OBJECTS = 4


# ---------------------------------------------------------------- when models come

#: Models that were looked at, by the ``session_uid`` of their data: the rest is one look at a number.
_seen: set[int] = set()


@persistent
def after_load(*_args: Any) -> None:
    """After a file was opened."""
    _seen.clear()
    _look()


@persistent
def after_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """After every change of the scene: models may have been appended."""
    if depsgraph.id_type_updated("ARMATURE"):
        _look()


def _look() -> None:
    for data in bpy.data.armatures:
        if data.session_uid in _seen or data.is_editmode:
            continue
        _seen.add(data.session_uid)
        rig = armature_settings(data).rig
        if rig is None or rig.data != data:
            continue
        if is_newer(rig):
            print(f"Knuckle: {rig.name!r} was saved by a newer release of Knuckle and is left as it is")
            continue
        try:
            passed = bring_up_to_date(rig)
        except Exception as error:  # whatever is wrong with one model is not to keep the others from it
            if not isinstance(error, (FormatError, ValueError, OSError)):
                traceback.print_exc()
            print(f"Knuckle: {rig.name!r}, which an earlier release saved, cannot be brought up to date: {error}")
            continue
        if passed:
            kept = " in memory: its own file stays as it is" if is_foreign(rig) else ""
            print(f"Knuckle: {rig.name!r}, which an earlier release saved, was brought up to date{kept}")


_HANDLERS: Handlers = (
    ("load_post", after_load),
    ("undo_post", after_load),  # an undo may bring the model of before back
    ("redo_post", after_load),
    ("depsgraph_update_post", after_update),
)


def register() -> None:
    """Look at every model that comes from now on."""
    hang(_HANDLERS)


def unregister() -> None:
    """Look at none any more."""
    take_down(_HANDLERS)
    _seen.clear()
