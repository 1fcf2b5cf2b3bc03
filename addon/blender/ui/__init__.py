"""The interface: thin operators and panels, each calling one function of another room."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty

from . import (
    add_menu,
    bake,
    checks,
    context_menus,
    drive,
    edit_making,
    edit_models,
    edit_parts,
    edit_stops,
    edit_twins,
    export_model,
    export_motion,
    film,
    film_panel,
    ground_display,
    import_model,
    import_motion,
    input_presets,
    joint_list,
    joint_panel,
    joint_table,
    keying_set,
    live_input,
    live_properties,
    manual_pages,
    mechanism_menu,
    motion_panel,
    motion_rows,
    motion_tools,
    overlay,
    overlay_picture,
    panels,
    physics_panel,
    physics_view,
    poses,
    preferences,
    rebuilding,
    report_panel,
    selection,
    self_check,
    servo_names,
    servos,
    sliders,
    stop_handles,
    twins_panel,
    under_way,
)

_CLASSES: tuple[Any, ...] = (
    *self_check.CLASSES,
    *preferences.CLASSES,
    *import_model.CLASSES,
    *export_model.CLASSES,
    *import_motion.CLASSES,
    *export_motion.CLASSES,
    *drive.CLASSES,
    *bake.CLASSES,
    *film.CLASSES,
    *input_presets.CLASSES,
    *live_properties.CLASSES,
    *live_input.CLASSES,
    *servos.CLASSES,
    *joint_list.CLASSES,
    *joint_panel.CLASSES,
    *poses.CLASSES,
    *panels.CLASSES,
    *film_panel.CLASSES,
    *physics_panel.CLASSES,
    *physics_view.CLASSES,
    *motion_tools.CLASSES,
    *motion_rows.CLASSES,
    *motion_panel.CLASSES,
    *servo_names.CLASSES,
    *edit_making.CLASSES,
    *edit_parts.CLASSES,
    *report_panel.CLASSES,
    *checks.CLASSES,
    *rebuilding.CLASSES,
    *edit_twins.CLASSES,
    *twins_panel.CLASSES,
    *edit_stops.CLASSES,
    *joint_table.CLASSES,
    *overlay.CLASSES,
    *overlay_picture.CLASSES,
    *stop_handles.CLASSES,
    *edit_models.CLASSES,
    *add_menu.CLASSES,
    *context_menus.CLASSES,
    *mechanism_menu.CLASSES,
    *keying_set.CLASSES,
)
_MENUS = (
    ("VIEW3D_MT_editor_menus", mechanism_menu.menu),
    ("VIEW3D_MT_add", add_menu.menu),
    ("VIEW3D_MT_object_context_menu", context_menus.menu),
    ("VIEW3D_MT_pose_context_menu", context_menus.menu),
    ("TOPBAR_MT_file_import", import_model.menu),
    ("TOPBAR_MT_file_import", import_motion.menu),
    ("TOPBAR_MT_file_export", export_model.menu),
    ("TOPBAR_MT_file_export", export_motion.menu),
)


def register() -> None:
    """Register operators, file handlers, panels and menu entries."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    film.register()
    live_properties.register()
    live_input.register()
    physics_view.register()
    ground_display.register()
    overlay.register()
    motion_panel.register()
    joint_list.register()
    manual_pages.register()
    poses.register()
    checks.register()
    report_panel.register()
    bpy.types.Armature.knuckle_row = IntProperty(  # type: ignore[attr-defined]
        name="Joint",
        description="The joint that is shown; click one to select it",
        get=selection.row_of_active,
        set=selection.click_row,
        options={"SKIP_SAVE"},
    )
    for menu, draw in _MENUS:
        getattr(bpy.types, menu).append(draw)


def unregister() -> None:
    """Unregister them, in reverse. What is under way ends first, while all that it needs is there."""
    under_way.leave_all()
    stop_handles.unregister()
    for menu, draw in reversed(_MENUS):
        getattr(bpy.types, menu).remove(draw)
    del bpy.types.Armature.knuckle_row  # type: ignore[attr-defined]
    report_panel.unregister()
    checks.unregister()
    poses.unregister()
    manual_pages.unregister()
    joint_list.unregister()
    sliders.unregister()
    motion_panel.unregister()
    overlay.unregister()
    ground_display.unregister()
    physics_view.unregister()
    live_input.unregister()
    live_properties.unregister()
    film.unregister()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
