"""Display of 3D views while physics moves bodies.

Bones and empties, which would stay behind, and relationship lines are hidden, and the view can be locked to the root
body. Only changes in the interface change views. With drive Keyframes the views are restored.

Note:
    Bones are hidden in the view and not by their bone collection, because Timeline and Dope Sheet leave out hidden
    bones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, PointerProperty

from ...data.access import settings
from ...data.queries import parts
from ...events.handlers import Handlers, connect, disconnect
from ...events.signals import Signal
from ...physics.world.membership import simulated_rigs
from ..base.operators import ModelOperator, Result, polled_model
from .view import frame_around, root_body


def _bones_changed(choices: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    screen: Any = choices.id_data
    update_views(screen)


class KnuckleKeptView(bpy.types.PropertyGroup):
    """Stored display of a 3D view, as the user had it."""

    area: IntProperty(description="Index of its area in the screen")
    lines: BoolProperty(description="It showed relationship lines")
    bones: BoolProperty(description="It showed bones")
    empties: BoolProperty(description="It showed empties")
    lock: PointerProperty(type=bpy.types.Object, description="The object that it was locked to")


class KnucklePhysicsView(bpy.types.PropertyGroup):
    """Display of a screen's 3D views while physics moves bodies: ``Screen.knuckle_view``."""

    bones: EnumProperty(
        name="Bones",
        description="Display of the bones while physics moves the bodies",
        items=[
            ("HIDE", "Hidden", "Bones are hidden while physics moves the bodies"),
            ("SHOW", "Target Pose", "Bones show the pose that the servos track"),
        ],
        update=_bones_changed,
    )
    follows_drive: BoolProperty(description="The drive was changed in the interface")
    kept: CollectionProperty(type=KnuckleKeptView)


def view_settings(screen: bpy.types.Screen) -> Any:
    """Return a screen's settings of the display."""
    return screen.knuckle_view  # type: ignore[attr-defined]


def _simulated_models(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the mechanisms of a scene that physics moves."""
    return [rig for rig in simulated_rigs(scene) if settings(rig).drive != "KEYS"]


def _views(screen: bpy.types.Screen) -> Iterator[tuple[int, Any]]:
    """Yield the 3D views of a screen with the indices of their areas."""
    for index, area in enumerate(screen.areas):
        if area.type == "VIEW_3D":
            yield index, area.spaces.active


def update_views(screen: bpy.types.Screen) -> None:
    """Update the 3D views of a screen in a window to the drives of its scene."""
    scene = next((each.scene for each in _windows() if each.screen == screen), None)
    if scene is None:
        return
    if not _simulated_models(scene):
        _restore_views(screen)
        return
    choices = view_settings(screen)
    if not choices.kept:
        _save_views(screen)
    for index, space in _views(screen):
        space.overlay.show_relationship_lines = False
        space.overlay.show_bones = choices.bones == "SHOW" and _saved_view(screen, index).bones
        space.show_object_viewport_empty = False  # joint empties stay with the bones


def _save_views(screen: bpy.types.Screen) -> None:
    for index, space in _views(screen):
        kept = view_settings(screen).kept.add()
        kept.area, kept.lock = index, space.lock_object
        kept.lines, kept.bones = space.overlay.show_relationship_lines, space.overlay.show_bones
        kept.empties = space.show_object_viewport_empty


def _saved_view(screen: bpy.types.Screen, index: int) -> KnuckleKeptView:
    """Return the stored display of a view; that of the first view for one that was split off."""
    kept = view_settings(screen).kept
    return next((each for each in kept if each.area == index), kept[0])


def _restore_views(screen: bpy.types.Screen) -> None:
    """Restore the stored display of a screen's views."""
    kept = view_settings(screen).kept
    for index, space in _views(screen) if kept else ():
        before = _saved_view(screen, index)
        space.overlay.show_relationship_lines, space.overlay.show_bones = before.lines, before.bones
        space.show_object_viewport_empty = before.empties
        if space.lock_object != before.lock:
            space.lock_object = before.lock
    kept.clear()


def _windows() -> list[bpy.types.Window]:
    manager = bpy.context.window_manager
    return [] if manager is None else [*manager.windows]


def is_from_panel(context: bpy.types.Context) -> bool:
    """Return whether a property was changed in a panel or header, and not by a script."""
    area, region = context.area, context.region
    return area is not None and region is not None and (area.type == "PROPERTIES" or region.type != "WINDOW")


def follow_drive(context: bpy.types.Context) -> None:
    """Update the 3D views of the context's screen after the drive was changed in the interface."""
    if context.screen is not None and context.window is not None:
        view_settings(context.screen).follows_drive = True
        update_views(context.screen)


def _drive_changed(_armature: bpy.types.Armature) -> None:
    context = bpy.context
    if is_from_panel(context):
        follow_drive(context)
        return
    for window in _windows():  # changed by a script or the end of a bake: only restore
        if view_settings(window.screen).kept and not _simulated_models(window.scene):
            update_views(window.screen)


@persistent
def _on_undo(*_args: Any) -> None:
    for window in _windows():
        if view_settings(window.screen).follows_drive:
            update_views(window.screen)


class KNUCKLE_OT_follow_in_view(ModelOperator):
    """Operator: lock the 3D views to the root body, or unlock them."""

    bl_idname = "knuckle.follow_in_view"
    bl_label = "Follow in View"
    bl_description = "Lock the 3D views to the root body of the mechanism, or unlock them"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Lock the views to the root body and frame the mechanism; unlock them if they are locked."""
        root = None if is_followed(context, rig) else root_body(rig)
        for _, space in _views(context.screen) if context.screen is not None else ():
            space.lock_object = root
        if root is not None:
            frame_around(context, root, parts(rig, "BODY"))
        return {"FINISHED"}


def is_followed(context: bpy.types.Context, rig: bpy.types.Object) -> bool:
    """Return whether the views of the context's screen are locked to the root body of a mechanism."""
    root = root_body(rig)
    views = [] if context.screen is None or root is None else [*_views(context.screen)]
    return bool(views) and all(space.lock_object == root for _, space in views)


def draw_physics_view(context: bpy.types.Context, layout: bpy.types.UILayout) -> None:
    """Draw the settings of the 3D views under physics."""
    rig = polled_model(context)
    if context.screen is not None:
        layout.prop(view_settings(context.screen), "bones")
        layout.operator("knuckle.follow_in_view", icon="VIEW_PAN", depress=is_followed(context, rig))


CLASSES = (KnuckleKeptView, KnucklePhysicsView, KNUCKLE_OT_follow_in_view)
_HANDLERS: Handlers = (("undo_post", _on_undo), ("redo_post", _on_undo), (Signal.DRIVE, _drive_changed))


def register() -> None:
    """Register the settings of screens, and connect the handlers."""
    bpy.types.Screen.knuckle_view = PointerProperty(type=KnucklePhysicsView)  # type: ignore[attr-defined]
    connect(_HANDLERS)


def unregister() -> None:
    """Disconnect the handlers and unregister the settings."""
    disconnect(_HANDLERS)
    del bpy.types.Screen.knuckle_view  # type: ignore[attr-defined]
