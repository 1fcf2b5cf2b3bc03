"""Shared parts of operators: the active mechanism, poll messages, reports, file names and local views."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import BoolProperty
from bpy_extras import io_utils

from ....core.report import Entry, FormatError, Message, Report, count_with_noun, join_messages
from ...data.access import record_of
from ...data.datablocks import datablocks_since, newest_session_uid
from ...data.queries import (
    active_rig,
    deleted_armature_message,
    is_foreign,
    is_from_newer_release,
    is_orphan_part,
    is_simulation_scene,
    linked_original,
    parts,
    rigs_in,
)
from ...editing.repair.missing_parts import find_model_collection, models_without_armature, orphan_parts
from ...locale import translated

_OBJECT_COLLECTIONS = ("objects",)


@contextmanager
def shown_in_local_views(context: bpy.types.Context) -> Iterator[None]:
    """Add objects created in this context to local view, in all windows that show their view layer.

    Note:
        Blender shows no new objects in local view.
    """
    views = list(_local_views(context))
    if not views:
        yield
        return
    before = newest_session_uid(_OBJECT_COLLECTIONS)
    yield
    made = datablocks_since(before, _OBJECT_COLLECTIONS)
    known = {layer: set(layer.objects) for layer, _space in views}  # membership in a layer's objects is a linear search
    for layer, space in views:
        for obj in made:
            if obj in known[layer]:
                obj.local_view_set(space, True)


def _local_views(context: bpy.types.Context) -> Iterator[tuple[bpy.types.ViewLayer, Any]]:
    manager = context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            space: Any = area.spaces.active
            if area.type == "VIEW_3D" and space.local_view is not None:
                yield window.view_layer, space


#: Errors caused by files, settings or disks. Any other exception is a defect of the add-on and shows its traceback.
ERRORS = (FormatError, ValueError, OSError)
_MAX_WARNINGS = 5

# Any, as Blender's stubs declare no return values for these
ImportHelper: Any = io_utils.ImportHelper
ExportHelper: Any = io_utils.ExportHelper
poll_file_object_drop: Any = io_utils.poll_file_object_drop

Result = set[Any]  # of operators; Blender's stubs want a literal set of its own for each


def active_model(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the armature of the active mechanism; None without one or for a half-deleted one."""
    rig = active_rig(context)
    return rig if rig is not None and rig.type == "ARMATURE" else None


def polled_model(context: bpy.types.Context) -> bpy.types.Object:
    """Return the armature of the active mechanism, for what runs only after a ``poll`` has found one."""
    return cast(bpy.types.Object, active_model(context))


def no_model_message(context: bpy.types.Context) -> str:
    """Return the poll message for a context without an active mechanism: the reason and what to do."""
    active = context.view_layer.objects.active
    if is_orphan_part(active) and orphan_parts(context.scene, active):
        return orphans_message(context.scene, active)
    count = len(list(rigs_in(context.scene)))
    if count:
        return Message("The scene has {}: select a part of one", count_with_noun(count, "mechanism"))
    gone = next(iter(models_without_armature(context.scene)), None)
    if gone is not None:
        return deleted_armature_message(gone)
    if orphan_parts(context.scene):
        return orphans_message(context.scene)
    shown = next((obj for obj in (active, *context.scene.objects) if _shows_model(obj)), None)
    if shown is not None:
        return instance_message(shown)
    for scene in bpy.data.scenes:
        if not is_simulation_scene(scene) and (rig := next(rigs_in(scene), None)) is not None:
            return Message(
                "There is no mechanism in scene {}: {} is in scene {}",
                repr(context.scene.name),
                repr(rig.name),
                repr(scene.name),
            )
    return "There is no mechanism in the scene: import one with File > Import > Mechanism"


def orphans_message(scene: bpy.types.Scene, active: bpy.types.Object | None = None) -> str:
    """Return the message for parts of a mechanism whose armature is gone from the file."""
    first = orphan_parts(scene, active)[0]
    return deleted_armature_message(find_model_collection(first, scene) or first)


def _shows_model(obj: bpy.types.Object | None) -> bool:
    """Return whether an object is an instance of a collection with a mechanism, as Blender's Link creates."""
    shown = obj.instance_collection if obj is not None and obj.instance_type == "COLLECTION" else None
    return shown is not None and any(record_of(each).role == "MODEL" for each in shown.all_objects)


def instance_message(obj: bpy.types.Object) -> str:
    """Return the message for a collection instance of a mechanism."""
    return Message(
        "{} is a collection instance, which cannot be edited: use File > Append, or File > Link with "
        "Instance Collections off",
        repr(obj.name),
    )


def newer_release_message(rig: bpy.types.Object) -> str:
    """Return the message for a mechanism that a newer release has saved; empty for others."""
    if not is_from_newer_release(rig):
        return ""
    return Message("{}: saved by a newer release of Knuckle. Update Knuckle", repr(rig.name))


def linked_model_message(rig: bpy.types.Object) -> str:
    """Return the message for a mechanism linked from another file or saved by a newer release; else empty."""
    if is_from_newer_release(rig):
        return newer_release_message(rig)
    if not is_foreign(rig):
        return ""
    return Message(
        "{} is linked from another file: make it local first (Object > Relations > Make Local > All)", repr(rig.name)
    )


def linked_copy_message(rig: bpy.types.Object) -> str:
    """Return the message for a linked copy, which shares its armature data with its original; else empty."""
    original = linked_original(rig)
    if original is None:
        return ""
    return Message(
        "{} is a linked copy (Alt+D), which shares its settings with {}. Delete it and duplicate the "
        "whole mechanism with Shift+D",
        repr(rig.name),
        repr(original.name),
    )


class ModelOperator(bpy.types.Operator):
    """Base of the operators that work on the active mechanism. Not registered itself."""

    bl_idname = "knuckle.needs_model"
    bl_label = "Needs a Model"
    #: Whether the mechanism is only read, so that it may be linked from another file or overridden.
    only_reads = False

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the operator can run on the active mechanism; set the poll message if not."""
        rig = active_model(context)
        reason = (
            no_model_message(context)
            if rig is None
            else (newer_release_message(rig) if cls.only_reads else linked_model_message(rig))
            or linked_copy_message(rig)
            or cls.poll_message(context, rig)
        )
        if reason:
            cls.poll_message_set(translated(reason))
        return not reason

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run on this mechanism now; empty if it can."""
        return ""

    def execute(self, context: bpy.types.Context) -> Result:
        """Run ``work`` on the active mechanism; report its errors."""
        try:
            with shown_in_local_views(context):
                return self.work(context, polled_model(context))
        except ERRORS as error:
            return cancel_with_error(self, error)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Do the operator's work on a mechanism; exceptions of ``ERRORS`` become its error message."""
        raise NotImplementedError


class AddModelOperator(bpy.types.Operator):
    """Base of the operators that add a mechanism. Not registered itself."""

    bl_idname = "knuckle.adds_model"
    bl_label = "Adds Mechanism"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether Blender is in object mode; set the poll message if not."""
        if context.mode == "OBJECT":
            return True
        cls.poll_message_set(translated("Go to object mode to add a mechanism"))
        return False


class TwinsOption:
    """Option of operators that, during symmetric editing, also change the twins of the selected parts."""

    twins: BoolProperty(
        name="Include Twins",
        description="During symmetric editing, apply this to the twins of the selected parts too",
        default=True,
    )


def report_message(operator: bpy.types.Operator, kind: set[Any], text: str) -> None:
    """Report a message, translated into the user's language."""
    operator.report(kind, translated(text))


def cancel_with_error(operator: bpy.types.Operator, error: object) -> Result:
    """Report an error and return ``CANCELLED``."""
    report_message(operator, {"ERROR"}, str(error))
    return {"CANCELLED"}


def report_result(operator: bpy.types.Operator, line: str, report: Report | None = None) -> None:
    """Report the warnings and errors of a report as warnings, then a summary line.

    Only the first entry of each code is shown, with the number of the others, for at most ``_MAX_WARNINGS`` codes.
    """
    warnings = [entry for entry in report.entries if entry.severity != "info"] if report is not None else []
    kinds: dict[str, list[Entry]] = {}
    for entry in warnings:
        kinds.setdefault(entry.code, []).append(entry)
    for entry, *more in list(kinds.values())[:_MAX_WARNINGS]:
        message = translated(Message("Line {}: {}", entry.line, entry.message) if entry.line else entry.message)
        like_it = translated(Message("{} more of this kind", len(more)))
        report_message(operator, {"WARNING"}, f"{message} (+ {like_it})" if more else message)
    hidden = sum(map(len, list(kinds.values())[_MAX_WARNINGS:]))
    if hidden:
        report_message(operator, {"WARNING"}, Message("… and {}", count_with_noun(hidden, "more warning")))
    report_message(operator, {"WARNING" if warnings else "INFO"}, line)


def model_summary(rig: bpy.types.Object) -> str:
    """Return the counts of a mechanism's parts, such as ``13 bodies, 12 joints, 0 loops``."""
    joints = parts(rig, "JOINT")
    loops = sum(record_of(empty).joint.loop for empty in joints)
    return join_messages(
        ", ",
        (
            count_with_noun(len(parts(rig, "BODY")), "body", "bodies"),
            count_with_noun(len(joints), "joint"),
            count_with_noun(loops, "loop"),
        ),
    )


def selected_files(operator: Any) -> list[str]:
    """Return the paths of the files picked in the file browser, dropped, or given as ``filepath``."""
    names = [entry.name for entry in operator.files if entry.name]
    if names and operator.directory:
        return [str(Path(operator.directory) / name) for name in names]
    return [operator.filepath] if operator.filepath else []


def extension_glob(extensions: Iterable[str]) -> str:
    """Return the file browser's filter for extensions, such as ``*.jm;*.xml``."""
    return ";".join(f"*{extension}" for extension in extensions)


def with_extension(path: str, extensions: Sequence[str], known: Collection[str] = ()) -> str:
    """Return a path that ends in one of a format's extensions.

    Args:
        path: The path; one without a file name is returned unchanged.
        extensions: Extensions of the format; the first is added to a path that ends in none of them.
        known: Extensions of other formats: such an ending is replaced.
    """
    stem, ending = os.path.splitext(path)
    if ending.lower() in extensions or not os.path.basename(path):
        return path
    return (stem if ending.lower() in known else path) + extensions[0]


def keep_extension(operator: Any, extensions: Sequence[str], known: Collection[str] = ()) -> bool:
    """Give the chosen file of an export an extension of its format; return whether it changed."""
    path = with_extension(operator.filepath, extensions, known)
    changed = path != operator.filepath
    if changed:
        operator.filepath = path
    return bool(changed)


def unique_extensions(rows: Iterable[Iterable[str]]) -> list[str]:
    """Return all extensions of several formats, each once, in order."""
    return list(dict.fromkeys(extension for row in rows for extension in row))
