"""Operators, panels, menus and properties of the user interface."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty

from . import overlay, preferences, twins
from .base import manual_pages, modal_tasks, selection
from .editing import checks, create, parts
from .import_export import export_motion, import_motion, model_files
from .joints import joint_list, stop_gizmos, stops
from .joints import operators as joint_operators
from .joints import panel as joint_panel
from .mechanism import menus, panels
from .motion import operators as motion_operators
from .motion import panel as motion_panel
from .servos import names as servo_names
from .servos import operators as servo_operators
from .servos import poses, sliders
from .simulation import live_input, physics_view
from .simulation import operators as simulation_operators
from .simulation import panel as simulation_panel
from .video import operators as video_operators
from .video import panel as video_panel

#: Modules in order of registration, which is also the order of the panels in their tab. A module has ``CLASSES``, and
#: ``register`` or ``unregister`` if it needs more than those.
_MODULES: tuple[Any, ...] = (
    preferences,
    model_files,
    import_motion,
    export_motion,
    simulation_operators,
    video_operators,
    live_input,
    servo_operators,
    joint_list,
    joint_panel,
    poses,
    panels,
    video_panel,
    simulation_panel,
    physics_view,
    motion_operators,
    motion_panel,
    servo_names,
    create,
    parts,
    checks,
    twins,
    stops,
    joint_operators,
    overlay,
    stop_gizmos,
    sliders,
    menus,
    manual_pages,
)
_CLASSES = [cls for module in _MODULES for cls in getattr(module, "CLASSES", ())]
_MENUS = (
    ("VIEW3D_MT_editor_menus", menus.menu),
    ("VIEW3D_MT_add", menus.add_menu_entries),
    ("VIEW3D_MT_object_context_menu", menus.context_menu_entries),
    ("VIEW3D_MT_pose_context_menu", menus.context_menu_entries),
    ("TOPBAR_MT_file_import", model_files.import_menu),
    ("TOPBAR_MT_file_import", import_motion.menu),
    ("TOPBAR_MT_file_export", model_files.export_menu),
    ("TOPBAR_MT_file_export", export_motion.menu),
)


def register() -> None:
    """Register operators, file handlers, panels and menu entries."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    for module in _MODULES:
        if hasattr(module, "register"):
            module.register()
    bpy.types.Armature.knuckle_row = IntProperty(  # type: ignore[attr-defined]
        name="Joint",
        description="Active joint; click a row to select its joint",
        get=selection.active_joint_row,
        set=selection.select_joint_row,
        options={"SKIP_SAVE"},
    )
    for menu, draw in _MENUS:
        getattr(bpy.types, menu).append(draw)
    bpy.types.PHYSICS_PT_rigid_body.prepend(parts.draw_whole_mass)


def unregister() -> None:
    """Stop every modal operator, then unregister all in reverse order."""
    modal_tasks.stop_all_tasks()
    bpy.types.PHYSICS_PT_rigid_body.remove(parts.draw_whole_mass)
    for menu, draw in reversed(_MENUS):
        getattr(bpy.types, menu).remove(draw)
    del bpy.types.Armature.knuckle_row  # type: ignore[attr-defined]
    for module in reversed(_MODULES):
        if hasattr(module, "unregister"):
            module.unregister()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
