"""Preferences: import defaults, overlays, mesh folders, Collada units, XMDI names, MuJoCo, and the self-check."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ...formats.xmdi import DEFAULT_TAGS
from ...installation import ROW_STATES, CheckRow, rows_as_text, summarize_rows
from ..data.preferences import ADDON, is_absolute
from ..diagnostics import run_self_check
from ..events.runtime_state import Lifetime, RuntimeState, state_of
from ..locale import translated
from ..physics.recording.reference_engine import install_command, mujoco_missing_message
from .base.operators import Result, report_message
from .base.panels import draw_paragraph
from .import_export.options import ImportOptions, draw_options

_ICONS = {"error": "CANCEL", "warning": "ERROR", "note": "INFO", "ok": "COLORSET_03_VEC"}  # the last is green


@dataclass
class _LastCheck(RuntimeState):
    """Rows of the last self-check."""

    lifetime: ClassVar = Lifetime.PROGRAM
    rows: list[CheckRow] = field(default_factory=list)


class KNUCKLE_OT_self_check(bpy.types.Operator):
    """Operator: check this installation."""

    bl_idname = "knuckle.self_check"
    bl_label = "Self-Check"
    bl_description = "Check versions, modules and folders of this installation, and a file of each format"

    def execute(self, _context: bpy.types.Context) -> Result:
        """Run the self-check and report its summary."""
        rows = state_of(_LastCheck).rows
        rows[:] = run_self_check()
        sound = _worst_state() in {"note", "ok"}
        report_message(self, {"INFO" if sound else "WARNING"}, summarize_rows(rows))  # an ERROR would raise in scripts
        return {"FINISHED"}


class KNUCKLE_OT_copy_check(bpy.types.Operator):
    """Operator: copy the self-check's report to the clipboard."""

    bl_idname = "knuckle.copy_check"
    bl_label = "Copy Report"
    bl_description = "Copy the result of the self-check as text, for a bug report"

    def execute(self, context: bpy.types.Context) -> Result:
        """Copy the rows of the last self-check; run it first if there are none."""
        rows = state_of(_LastCheck).rows
        rows[:] = rows or run_self_check()
        context.window_manager.clipboard = rows_as_text(rows)
        report_message(self, {"INFO"}, "The report is on the clipboard")
        return {"FINISHED"}


class KNUCKLE_OT_copy_install_command(bpy.types.Operator):
    """Operator: copy the command that installs MuJoCo to the clipboard."""

    bl_idname = "knuckle.copy_install_command"
    bl_label = "Copy Command"
    bl_description = (
        "Copy the command that installs MuJoCo for this Blender. Run it in a terminal, then restart Blender"
    )

    def execute(self, context: bpy.types.Context) -> Result:
        """Copy the command."""
        context.window_manager.clipboard = install_command()
        report_message(self, {"INFO"}, "The command is on the clipboard")
        return {"FINISHED"}


def draw_reference_engine(context: bpy.types.Context, layout: Any) -> None:
    """Draw whether MuJoCo is installed, and the command that installs it."""
    layout.label(text="Reference Engine")
    box = layout.box().column()
    if not mujoco_missing_message():
        box.label(text="MuJoCo is installed", icon=_ICONS["ok"])
        return
    draw_paragraph(
        context, box, "Compare with MuJoCo needs MuJoCo, a physics engine that is no part of Knuckle", "INFO"
    )
    row = box.row()
    row.label(text=install_command(), translate=False)
    row.operator(KNUCKLE_OT_copy_install_command.bl_idname, icon="COPYDOWN")


def draw_check(context: bpy.types.Context, layout: Any) -> None:
    """Draw the buttons of the self-check, and its rows, the worst first."""
    row = layout.row()
    row.operator(KNUCKLE_OT_self_check.bl_idname, icon="CHECKMARK")
    row.operator(KNUCKLE_OT_copy_check.bl_idname, icon="COPYDOWN")
    rows = state_of(_LastCheck).rows
    if not rows:
        return
    box = layout.box().column(align=True)
    box.label(text=translated(summarize_rows(rows)), icon=_ICONS[_worst_state()], translate=False)
    for found in sorted(rows, key=lambda row: ROW_STATES.index(row.state)):
        line = box.row(align=True)
        line.alert = found.state == "error"
        line.label(
            text=f"{translated(found.part)}: {translated(found.text)}", icon=_ICONS[found.state], translate=False
        )
        if found.remedy:
            draw_paragraph(context, box, found.remedy)


def _worst_state() -> str:
    return next(state for state in ROW_STATES if any(row.state == state for row in state_of(_LastCheck).rows))


def _make_absolute(self: KnuckleMeshFolder, _context: bpy.types.Context) -> None:
    """Make the folder's path absolute.

    Note:
        The file browser gives paths relative to the .blend, but a folder in the preferences is meant for all files.
    """
    path = bpy.path.abspath(self.path)
    if is_absolute(path) and os.path.normpath(path) != self.path:
        self.path = os.path.normpath(path)


class KnuckleMeshFolder(bpy.types.PropertyGroup):
    """Folder in which meshes of model files are searched for."""

    path: StringProperty(
        name="Folder",
        description="Folder in which meshes of model files are searched, with its subfolders",
        subtype="DIR_PATH",
        update=_make_absolute,
    )


class KnucklePreferences(bpy.types.AddonPreferences, ImportOptions):
    """Preferences of the add-on, which apply to all files."""

    bl_idname = ADDON

    mesh_folders: CollectionProperty(type=KnuckleMeshFolder)
    ignore_collada_units: BoolProperty(
        name="Ignore Collada Units",
        description="Read .dae files without their unit, as SKEL files expect and DART did up to 6.13",
        default=True,
    )

    overlays: EnumProperty(
        name="Overlays",
        description="Overlays that are on after the first import into a scene",
        options={"ENUM_FLAG"},
        items=[
            ("axes", "Axes", "The axis of each joint"),
            ("stops", "Stops", "The stops of each joint, with the present value"),
            ("twins", "Twins", "Lines between twins"),
            ("centres", "Centers of Mass", "Center of mass of each body"),
            ("inertia", "Inertia", "The box with the body's moments of inertia"),
        ],
    )

    xmdi_root: StringProperty(
        name="XMDI Root",
        description="Name of the root element in new XMDI files, which the specification leaves open",
        default=DEFAULT_TAGS[0],
    )
    xmdi_container: StringProperty(
        name="Container",
        description="Name of the element that contains the motions in new XMDI files",
        default=DEFAULT_TAGS[1],
    )

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the preferences."""
        layout = self.layout
        layout.label(text="Import Defaults")
        box = layout.box()
        box.use_property_split = True
        draw_options(box, self, folding=False)
        layout.label(text="Overlays of New Scenes")
        layout.column(align=True).prop(self, "overlays")
        layout.prop(self, "ignore_collada_units")
        column = layout.column(align=True)
        column.prop(self, "xmdi_root")
        column.prop(self, "xmdi_container", text="XMDI Container")
        header = layout.row()
        header.label(text="Mesh Folders")
        header.operator(KNUCKLE_OT_mesh_folder_add.bl_idname, text="", icon="ADD")
        if not self.mesh_folders:
            layout.label(text="Meshes are read only from the folder of the model file", icon="INFO")
        for index, folder in enumerate(self.mesh_folders):
            row = layout.row(align=True)
            row.alert = bool(folder.path) and not (is_absolute(folder.path) and os.path.isdir(folder.path))
            row.prop(folder, "path", text="")
            row.operator(KNUCKLE_OT_mesh_folder_remove.bl_idname, text="", icon="REMOVE").index = index
        draw_reference_engine(context, layout)
        draw_check(context, layout)


class _PreferencesOperator(bpy.types.Operator):
    """Base of operators that change the add-on's preferences. Not registered itself."""

    bl_idname = "knuckle.needs_preferences"
    bl_label = "Needs Preferences"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the add-on is enabled; set the poll message if not."""
        if ADDON in context.preferences.addons:
            return True
        cls.poll_message_set(translated("Enable Knuckle under Add-ons of the preferences first"))
        return False


class KNUCKLE_OT_mesh_folder_add(_PreferencesOperator):
    """Operator: add a mesh folder."""

    bl_idname = "knuckle.mesh_folder_add"
    bl_label = "Add Mesh Folder"
    bl_description = "Add a folder in which meshes of model files are searched"
    bl_options = {"INTERNAL"}

    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Open the file browser."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> Result:
        """Add the chosen folder."""
        _preferences(context).mesh_folders.add().path = self.directory
        _mark_dirty(context)
        return {"FINISHED"}


class KNUCKLE_OT_mesh_folder_remove(_PreferencesOperator):
    """Operator: remove a mesh folder."""

    bl_idname = "knuckle.mesh_folder_remove"
    bl_label = "Remove Mesh Folder"
    bl_description = "Stop searching this folder for meshes"
    bl_options = {"INTERNAL"}

    index: IntProperty(min=0, options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> Result:
        """Remove the folder at the index."""
        folders = _preferences(context).mesh_folders
        if self.index >= len(folders):
            return {"CANCELLED"}
        folders.remove(self.index)
        _mark_dirty(context)
        return {"FINISHED"}


def _preferences(context: bpy.types.Context) -> KnucklePreferences:
    return cast(KnucklePreferences, context.preferences.addons[ADDON].preferences)


def _mark_dirty(context: bpy.types.Context) -> None:
    """Mark the preferences as changed.

    Note:
        Blender saves preferences at exit only if they are marked, and not if the user saves them by hand.
    """
    context.preferences.is_dirty = True


CLASSES = (
    KNUCKLE_OT_self_check,
    KNUCKLE_OT_copy_check,
    KNUCKLE_OT_copy_install_command,
    KnuckleMeshFolder,
    KNUCKLE_OT_mesh_folder_add,
    KNUCKLE_OT_mesh_folder_remove,
    KnucklePreferences,
)
