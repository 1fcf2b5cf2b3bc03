"""The motions of the model in the sidebar: which there are, what the one that plays asks of the servos, retiming it."""

from __future__ import annotations

import math
from typing import Any

import bpy
from bpy.props import BoolProperty, IntProperty

from ...model.spelling import plain
from ..access import armature_of, armature_settings
from ..animation import check
from ..animation.actions import active_action, let_play
from ..animation.check import Row, seen_motions, seen_rows
from ..animation.clock import Clock
from ..animation.origins import keyed_rate
from ..animation.take_checks import is_rate
from ..translations import told
from .common import counted, model_in
from .sidebar import ModelPanel, paragraph

_MOST_ROWS, _MOST_EXCESSES = 8, 6


class KNUCKLE_UL_motions(bpy.types.UIList):
    """The Actions that key the model's servos; a click lets one play."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        rig = model_in(context)
        found = next((each for each in seen_motions(rig, context.scene) if each.name == item.name), None)
        row = layout.split(factor=0.58)
        row.prop(item, "name", text="", emboss=False, icon="ACTION", translate=False)
        if found is not None:
            numbers = row.row()
            numbers.alignment = "RIGHT"
            numbers.label(text=told(f"{found.duration:.1f} s"))
            numbers.label(text=str(found.servos), icon="BONE_DATA")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        rig = model_in(context)
        own = {each.name for each in seen_motions(rig, context.scene)} if rig is not None else set()
        wanted = self.filter_name.lower()
        shown = [
            self.bitflag_filter_item if action.name in own and wanted in action.name.lower() else 0
            for action in getattr(data, propname)
        ]
        return shown, []


class _MotionPanel(ModelPanel):
    bl_parent_id = "VIEW3D_PT_knuckle_motion"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and bool(seen_motions(model_in(context), context.scene))


class VIEW3D_PT_knuckle_motions(_MotionPanel, bpy.types.Panel):
    bl_label = "Motions"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        rig = model_in(context)
        motions = seen_motions(rig, context.scene)
        layout.template_list(
            "KNUCKLE_UL_motions", "", bpy.data, "actions", rig.data, "knuckle_motion_row", rows=min(len(motions), 5)
        )
        active = active_action(rig)
        found = next((each for each in motions if active is not None and each.name == active.name), None)
        if found is None:
            layout.label(text="Click a motion to let it play")
            return
        layout.label(text=told(f"Frames {found.first:.6g} to {found.last:.6g}, {counted(found.servos, 'servo')}"))
        rate, now = keyed_rate(active), Clock.of(context.scene).rate
        if rate is not None and not is_rate(rate, now):
            keyed = told(f"Keyed at {rate:.4g} frames per second: it plays at {now / rate:.3g} times its speed")
            paragraph(context, layout, keyed, "ERROR", translate=False)
        column = layout.column(align=True)
        row = column.row(align=True)
        row.operator("knuckle.loop_motion", text="Loop…", icon="FILE_REFRESH")
        if found.cycles:
            row.operator("knuckle.stop_looping", text="", icon="X")
        row.operator("knuckle.mirror_motion", text="Mirror…", icon="MOD_MIRROR")
        row = column.row(align=True)
        row.operator("knuckle.offset_motion", text="Offset…", icon="NEXT_KEYFRAME")
        row.operator("knuckle.scale_motion", text="Speed…", icon="TIME")


class VIEW3D_PT_knuckle_motion_stops(_MotionPanel, bpy.types.Panel):
    bl_label = "Range and Stops"

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        rig = model_in(context)
        rows = seen_rows(rig, context.scene)
        beyond = [row for row in rows if row.found.outside]
        if not rows:
            layout.label(text="No motion plays")
            return
        if beyond:
            leaving = told(f"{counted(len(beyond), 'servo leaves its', 'servos leave their')} stops")
            paragraph(context, layout, leaving, "ERROR")
        elif any(not (row.found.lower is None and row.found.upper is None) for row in rows):
            paragraph(context, layout, "All servos keep within their stops", "CHECKMARK")
        else:
            layout.label(text="None of its servos has stops")
        table = layout.column(align=True)
        _header(table, told("Servo"), told("Range"), told("Stops"))
        for row in _shown(context, rows):
            worst = row.found.worst
            line = _line(context, table, row, row.found.first if worst is None else worst.worst)
            line.alert = bool(row.found.outside)
            line.label(text=_range(row, row.found.low, row.found.high), translate=False)
            line.label(text=_range(row, row.found.lower, row.found.upper), translate=False)
        _toggle(context, layout, rows)
        if beyond:
            bone = armature_of(rig).bones.active
            chosen = next((row for row in beyond if bone is not None and row.bone == bone.name), beyond[0])
            _excesses(context, layout.box().column(align=True), chosen)


class VIEW3D_PT_knuckle_motion_speeds(_MotionPanel, bpy.types.Panel):
    bl_label = "Velocity and Acceleration"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        rows = sorted(seen_rows(model_in(context), context.scene), key=_fastest, reverse=True)
        if not rows:
            layout.label(text="No motion plays")
            return
        table = layout.column(align=True)
        _header(table, told("Servo"), told("Speed"), told("Accel."))
        for row in _shown(context, rows):
            found = row.found
            line = _line(context, table, row, found.jump_at if found.jump else found.velocity_at)
            if found.jump:
                line.label(text=told(f"jumps {_number(row, found.jump)}"), translate=False)
            else:
                line.label(text=_rate(row, found.velocity, "s"), translate=False)
            line.label(text=_rate(row, found.acceleration, "s²"), translate=False)
        _toggle(context, layout, rows)


def _fastest(row: Row) -> tuple[float, float]:
    return row.found.jump, row.found.velocity or 0.0


def _shown(context: bpy.types.Context, rows: list[Row]) -> list[Row]:
    """All rows, or the first few."""
    every = context.window_manager.knuckle_every_servo  # type: ignore[attr-defined]
    return rows if every else rows[:_MOST_ROWS]


def _toggle(context: bpy.types.Context, layout: Any, rows: list[Row]) -> None:
    if len(rows) > _MOST_ROWS:
        layout.prop(context.window_manager, "knuckle_every_servo", text=told(f"All {len(rows)} Servos"), toggle=True)


def _header(table: Any, *titles: str) -> None:
    first, rest = _columns(table)
    first.label(text=titles[0], translate=False)
    for title in titles[1:]:  # translated by us: Blender's own words are too long for a column
        rest.label(text=title, translate=False)


def _columns(table: Any) -> tuple[Any, Any]:
    split = table.split(factor=0.52, align=True)
    return split.row(align=True), split.row(align=True)


def _line(context: bpy.types.Context, table: Any, row: Row, seconds: float) -> Any:
    """A row that begins with a button to the servo; gives the room for its numbers."""
    first, rest = _columns(table)
    show = first.operator("knuckle.show_servo", text="", icon="RESTRICT_SELECT_OFF", emboss=False)
    show.servo, show.frame = row.found.name, frame_at(context.scene, seconds)
    first.label(text=row.found.name, translate=False)
    return rest


def _excesses(context: bpy.types.Context, box: Any, row: Row) -> None:
    """A servo that leaves its stops, and each stretch in which it does as a button to where it is worst."""
    box.label(text=told(f"{row.found.name} leaves its stops"), translate=False)
    for each in row.found.outside[:_MOST_EXCESSES]:
        first, last = (frame_at(context.scene, time) for time in (each.start, each.end))
        side = "above" if each.side == "upper" else "below"
        stretch = f"Frames {first:.4g} to {last:.4g}: {_number(row, each.by)} {side}"
        show = box.operator("knuckle.show_servo", text=told(stretch), translate=False)
        show.servo, show.frame = row.found.name, frame_at(context.scene, each.worst)
    more = len(row.found.outside) - _MOST_EXCESSES
    if more > 0:
        box.label(text=told(f"and {counted(more, 'more time')}"))


def frame_at(scene: bpy.types.Scene, seconds: float) -> float:
    """The frame of a time since the scene's first, without the dust of 32 bits."""
    return round(float(Clock.of(scene).frames(seconds)), 3)


def _number(row: Row, value: float | None) -> str:
    """An angle in degrees or a length, in as few digits as tell it."""
    if value is None:
        return "–"
    if not row.turns:
        return f"{value:.3g}"
    degrees = math.degrees(value)
    if abs(degrees) >= 1e4:
        return f"{plain(degrees / 1e3)}k°"
    return f"{degrees:.{0 if abs(degrees) >= 100 else 1}f}°"


def _rate(row: Row, value: float | None, per: str) -> str:
    """A speed or an acceleration; a dash alone where there is none."""
    return _number(row, value) if value is None else f"{_number(row, value)}/{per}"


def _range(row: Row, low: float | None, high: float | None) -> str:
    """From where to where, short enough for a column: whole degrees, or three digits."""
    if low is None and high is None:
        return "none"
    low_text, high_text = ("" if end is None else _short(row, end) for end in (low, high))
    if low_text == high_text:
        return f"{low_text}{'°' if row.turns else ''}"
    if low_text == f"-{high_text}":
        return f"±{high_text}{'°' if row.turns else ''}"
    return f"{low_text}…{high_text}{'°' if row.turns else ''}"


def _short(row: Row, value: float) -> str:
    return f"{round(math.degrees(value)) + 0:d}" if row.turns else f"{value:.3g}"


def row_of_motion(armature: bpy.types.Armature) -> int:
    """Row of the Action that plays in the list of all, -1 for none."""
    rig = armature_settings(armature).rig
    action = active_action(rig) if rig is not None and rig.data == armature else None
    return bpy.data.actions.find(action.name) if action is not None else -1


def click_motion(armature: bpy.types.Armature, row: int) -> None:
    """A row of the list was clicked: let that Action play."""
    rig = armature_settings(armature).rig
    if rig is not None and rig.data == armature and 0 <= row < len(bpy.data.actions):
        let_play(rig, bpy.data.actions[row])


CLASSES = (
    KNUCKLE_UL_motions,
    VIEW3D_PT_knuckle_motions,
    VIEW3D_PT_knuckle_motion_stops,
    VIEW3D_PT_knuckle_motion_speeds,
)


def register() -> None:
    """What the lists need, and the listening to changes. The classes are registered before."""
    bpy.types.Armature.knuckle_motion_row = IntProperty(  # type: ignore[attr-defined]
        name="Motion",
        description="The motion that plays; click one to let it play",
        get=row_of_motion,
        set=click_motion,
        options={"SKIP_SAVE"},
    )
    bpy.types.WindowManager.knuckle_every_servo = BoolProperty(  # type: ignore[attr-defined]
        name="All Servos", description="List all servos of the motion, and not only the worst", options={"SKIP_SAVE"}
    )
    check.register()


def unregister() -> None:
    """Undo ``register``."""
    check.unregister()
    del bpy.types.WindowManager.knuckle_every_servo  # type: ignore[attr-defined]
    del bpy.types.Armature.knuckle_motion_row  # type: ignore[attr-defined]
