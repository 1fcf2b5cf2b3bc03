"""Symmetrical editing: while it is on, what is done to one half of a model is done to the other, with Blender's own
tools.

Each part remembers the local matrix (and name) up to which its twin was made alike (``seen``); after every change of
the scene the parts that changed are compared with that. It is kept in the file, and so in every step of undo: whichever
step is gone back to, it tells which of the two halves was the one that was edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from mathutils import Matrix

from ...model.sides import Plane, counterpart_names
from ...model.twins import flip_between, image_of
from .. import listeners
from ..access import armature_settings, record_of, settings
from ..hooks import Handlers, Listeners, hang, take_down
from ..listeners import quiet
from ..model_parts import parts, rigs_in
from ..records import flat, unflat
from .places import rigid
from .twins import mirror_values, plane_of

_PARTS = ("BODY", "JOINT")
#: Twins of the parts of models that are edited symmetrically, by the model's ``session_uid`` and the part's; and the
#: planes between their halves. Gathered when needed, dropped when a part is not found.
_mates: dict[int, dict[int, bpy.types.Object]] = {}
_planes: dict[int, Plane] = {}
#: Whether any model of the file is edited symmetrically: what all other files pay is this look. And whether the changes
#: that are told are our own.
_state = {"on": False, "busy": False}


def _gather(rig: bpy.types.Object) -> dict[int, bpy.types.Object]:
    found = _mates.get(rig.session_uid)
    if found is None:
        found = _mates[rig.session_uid] = {}
        for role in _PARTS:
            every = parts(rig, role)
            by_id = {record_of(obj).source_id: obj for obj in every}
            for obj in every:
                mate = by_id.get(record_of(obj).twin)
                if mate is not None and record_of(mate).twin == record_of(obj).source_id:
                    found[obj.session_uid] = mate
        _planes[rig.session_uid] = plane_of(rig)
    return found


def begin(rig: bpy.types.Object) -> None:
    """From now on the model's halves are edited together: they are taken as they stand."""
    drop()
    for obj in (obj for role in _PARTS for obj in parts(rig, role)):
        note(obj)


def note(obj: bpy.types.Object) -> None:
    """A part and its twin are alike, as far as they are to be, as they stand now."""
    record = record_of(obj)
    record.seen, record.seen_name = flat(obj.matrix_basis), obj.name


def drop(*_args: Any) -> None:
    """Forget what was gathered: it is gathered anew when it is needed."""
    _mates.clear()
    _planes.clear()


def follow(rig: bpy.types.Object, changed: Iterable[bpy.types.Object]) -> int:
    """Make the twins of parts alike that were edited since; returns how many there were."""
    mates, done = _gather(rig), 0
    plane = _planes[rig.session_uid]
    active = bpy.context.view_layer.objects.active
    edited = {obj: mates[obj.session_uid] for obj in changed if obj.session_uid in mates and was_edited(obj)}
    for obj, mate in edited.items():
        if mate in edited and (
            mate == active or (obj != active and list(edited).index(mate) < list(edited).index(obj))
        ):
            continue  # both were moved: the active one leads
        _make_alike(obj, mate, plane)
        done += 1
    for obj in (each for pair in edited.items() for each in pair):
        note(obj)
    return done


def was_edited(obj: bpy.types.Object) -> bool:
    """Whether a part was moved, turned, resized or renamed since its twin was made alike."""
    record = record_of(obj)
    return obj.name != record.seen_name or flat(obj.matrix_basis) != list(record.seen)


def _make_alike(obj: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> None:
    before, twin = Matrix(unflat(record_of(obj).seen).tolist()), mate.matrix_basis
    if obj.matrix_basis != before:
        flip = flip_between(rigid(before), rigid(twin), plane)
        grown = np.array(obj.matrix_basis.to_scale()) / np.array(before.to_scale())
        size = np.array(twin.to_scale()) * (np.abs(flip).T @ grown)
        image = Matrix(image_of(rigid(obj.matrix_basis), plane, flip).tolist())
        mate.matrix_basis = image @ Matrix.Diagonal((*size.tolist(), 1.0))
    if obj.name != record_of(obj).seen_name:
        _rename(obj, mate, plane)


def _rename(obj: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> None:
    """Name the twin for the other side. ``LR`` in a name that was typed becomes Left or Right, as in Juice."""
    if "LR" in obj.name:
        right = plane.height(np.array(obj.matrix_basis.translation)) > 0.0
        words = ("Right", "Left") if right else ("Left", "Right")
        own, other = (obj.name.replace("LR", word) for word in words)
        obj.name, mate.name = own, other
        return
    for name in counterpart_names(obj.name)[:1]:
        mate.name = name


# ---------------------------------------------------------------- what Blender calls


@persistent
def after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """After every change of the scene: see whether a half of a model was edited."""
    if not _state["on"] or _state["busy"]:
        return
    changed = [update.id.original for update in depsgraph.updates if isinstance(update.id, bpy.types.Object)]
    _follow_all(scene, changed)


def _follow_all(scene: bpy.types.Scene, changed: list[bpy.types.Object]) -> None:
    posed = {obj for obj in changed if obj.type == "ARMATURE"}
    for rig in _symmetric(scene):
        mine: Iterator[bpy.types.Object] = (obj for obj in changed if record_of(obj).model == rig)
        if rig in posed:  # then all that it carries is told of: only what is selected can have been edited
            mine = (obj for obj in bpy.context.view_layer.objects.selected if record_of(obj).model == rig)
        with _at_it():
            follow(rig, list(mine))


def _symmetric(scene: bpy.types.Scene) -> Iterator[bpy.types.Object]:
    return (rig for rig in rigs_in(scene) if settings(rig).symmetric)


class _at_it:
    """Within it the changes that are told are our own."""

    def __enter__(self) -> None:
        _state["busy"] = True
        self._quiet = quiet()
        self._quiet.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._quiet.__exit__(*error)
        _state["busy"] = False


def value_changed(empty: bpy.types.Object) -> None:
    """A value of a joint was edited: its twin gets it as well, and what is derived from the twin's follows."""
    mate = _mate_of(empty)
    if mate is None:
        return
    with _at_it():
        mirror_values(empty, mate, _planes[record_of(empty).model.session_uid])
    for act in listeners.on_joint_change:
        act(mate)


def mass_changed(obj: bpy.types.Object) -> None:
    """A body's mass was edited."""
    mate = _mate_of(obj)
    if mate is None or record_of(mate).mass == record_of(obj).mass:
        return
    with _at_it():
        record_of(mate).mass = record_of(obj).mass
    for act in listeners.on_body_change:
        act(mate)


def _mate_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    rig = record_of(obj).model
    if not _state["on"] or _state["busy"] or rig is None or not settings(rig).symmetric:
        return None
    return _gather(rig).get(obj.session_uid)


def symmetry_changed(armature: bpy.types.Armature) -> None:
    """The switch was thrown."""
    rig = armature_settings(armature).rig
    if rig is not None and armature_settings(armature).symmetric:
        begin(rig)
    look()


@persistent
def look(*_args: Any) -> None:
    """After undo, redo or another file: see whether any model is edited symmetrically."""
    drop()
    every = getattr(bpy.data, "armatures", ())  # there are no data yet while Blender installs or starts extensions
    _state["on"] = any(armature_settings(data).symmetric for data in every)


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_update),
    ("load_post", look),
    ("undo_post", look),
    ("redo_post", look),
)
_LISTENERS: Listeners = (
    (listeners.on_value_change, value_changed),
    (listeners.on_body_change, mass_changed),
    (listeners.on_symmetry_change, symmetry_changed),
)


def register() -> None:
    """Hang in what follows edits."""
    hang(_HANDLERS, _LISTENERS)
    look()  # while Blender enables an extension it shows no data; the file that it then opens is looked at


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS, _LISTENERS)
    drop()
