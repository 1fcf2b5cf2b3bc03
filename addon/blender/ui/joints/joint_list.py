"""List of joints: values and keyframes of servos, stops, and the ranges and speeds that the motion demands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, PointerProperty

from ....core.model import DOF_SIZE
from ....core.report import Message, format_number
from ....core.stops import StopPair
from ...animation.frame_time import Clock
from ...animation.motion_checks import ServoRow, cached_rows
from ...animation.pose_library import key_state
from ...data.access import record_of
from ...data.conversion import dofs_with_parts, is_angle
from ...data.queries import chain_bones, file_name, is_part
from ...locale import CONTEXT, translated
from ..base.operators import active_model
from ..base.panels import sidebar_width
from ..servos.sliders import Slider, servo_sliders
from .stops import selected_joints

#: Share of a row's width for the name beside the columns.
_NAME_SHARE = 0.46
#: Sidebar width (pixels at UI scale 1) from which names and columns fit into one line.
_MIN_WIDE_WIDTH = 380
_COLUMN_ITEMS = [
    ("VALUES", "Values", "Value of each servo between its stops, with a button for its keyframe"),
    ("STOPS", "Stops", "Lower and upper stop (joint limits) of each joint"),
    ("RANGE", "Range", "Range that the motion asks of each servo, beside its stops"),
    ("SPEED", "Speed", "Largest velocity and acceleration of each servo in the motion"),
]
_ORDER_ITEMS = [
    ("FILE", "File Order", "Joints as their file lists them"),
    ("NAME", "By Name", "Joints in alphabetical order"),
    (
        "CRITICAL",
        "Critical First",
        "Servos nearest to a stop or past it first; in the column Speed, the fastest",
    ),
]
KIND_ITEMS = [
    ("ALL", "All Joints", "Joints of every type"),
    ("TURN", "Revolute", "Joints with one rotation"),
    ("SLIDE", "Prismatic", "Joints with one translation"),
    ("SEVERAL", "Several DOFs", "Joints with several degrees of freedom"),
    ("BALL", "Ball", "Joints that rotate about every axis"),
    ("LOOP", "Closed Loops", "Joints that close a loop, and joints that depend on one"),
    ("SELECTED", "Selected", "The selected joints"),
]
#: Blender's decorators: a dot, a diamond for an animated property, a filled diamond on a keyframe.
_KEY_ICONS: dict[str, Any] = {"none": "DECORATE", "elsewhere": "DECORATE_ANIMATE", "here": "DECORATE_KEYFRAME"}


class KnuckleJointList(bpy.types.PropertyGroup):
    """State of the list of joints: ``WindowManager.knuckle_joint_list``."""

    columns: EnumProperty(
        name="Columns", description="Columns of the list of joints", items=_COLUMN_ITEMS, translation_context=CONTEXT
    )
    kind: EnumProperty(name="Show", description="Joints that are listed", items=KIND_ITEMS)
    order: EnumProperty(name="Order", description="Order of the list of joints", items=_ORDER_ITEMS)


def joint_list_settings(context: bpy.types.Context) -> KnuckleJointList:
    """Return the state of the list of joints."""
    return cast(KnuckleJointList, context.window_manager.knuckle_joint_list)  # type: ignore[attr-defined]


def matches_kind(empty: bpy.types.Object, kind: str, selected: set[bpy.types.Object]) -> bool:
    """Return whether a joint passes the list's filter by kind."""
    joint = record_of(empty).joint
    kinds = [dof.kind for dof in joint.dofs]
    return {
        "ALL": True,
        "TURN": kinds in (["rotation"], ["screw"]),
        "SLIDE": kinds == ["translation"],
        "SEVERAL": len(kinds) > 1,
        "BALL": "ball" in kinds or "free" in kinds,
        "LOOP": joint.loop or joint.is_dependent,
        "SELECTED": empty in selected,
    }[kind]


def joint_icon(joint: Any, kinds: list[str]) -> str:
    """Return the icon of a joint's type."""
    if not joint.active:
        return "UNLINKED"
    return {"rotation": "DRIVER_ROTATIONAL_DIFFERENCE", "translation": "EMPTY_SINGLE_ARROW"}.get(
        kinds[0] if len(kinds) == 1 else "", "EMPTY_AXIS" if kinds else "LOCKED"
    )


def joint_label(empty: bpy.types.Object) -> str:
    """Return the name of a joint in the interface."""
    return file_name(empty) or empty.name


def dof_rows(empty: bpy.types.Object) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, record, and whether it is one coordinate of a ball, of the degrees of freedom of a joint.

    A ball or free block comes first as a whole, which has no stops of its own, and then by coordinate.
    """
    joint, name = record_of(empty).joint, joint_label(empty)
    for number, (dof, axes) in enumerate(dofs_with_parts(joint)):
        own = name if len(joint.dofs) == 1 else f"{name}/{dof.name or number + 1}"
        yield own, dof, False
        if dof.kind in {"ball", "free"} and len(axes) == DOF_SIZE[dof.kind]:
            for at, part in enumerate(axes):
                yield f"{own}/{part.name or 'xyz'[at % 3]}", part, True


class KNUCKLE_UL_joints(bpy.types.UIList):
    """List of joints, with a line for each servo. A click selects the joint."""

    opened: BoolProperty(description="The filter was shown once")

    def draw_filter(self, context: Any, layout: Any) -> None:
        """Draw the filter: name, kind and order."""
        shown, column = joint_list_settings(context), layout.column(align=True)
        row = column.row(align=True)
        row.prop(self, "filter_name", text="", icon="VIEWZOOM")
        row.prop(self, "use_filter_invert", text="", icon="ARROW_LEFTRIGHT")
        row = column.row(align=True)
        row.prop(shown, "kind", text="")
        row.prop(shown, "order", text="")

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows and their order; show the filter the first time."""
        if not self.opened:
            self.use_filter_show = self.opened = True
        shown, rig, objects = joint_list_settings(context), active_model(context), list(getattr(data, propname))
        selected = set(selected_joints(context, rig)) if rig is not None and shown.kind == "SELECTED" else set()
        wanted = self.filter_name.lower()
        flags = [
            self.bitflag_filter_item
            if rig is not None
            and is_part(obj, rig, "JOINT")
            and wanted in joint_label(obj).lower()
            and matches_kind(obj, shown.kind, selected)
            else 0
            for obj in objects
        ]
        return flags, list_order(context, rig, objects, shown)

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw the lines of a joint in the chosen columns."""
        column = layout.column(align=True)
        columns = joint_list_settings(context).columns
        rows = servo_rows(item)
        if columns == "STOPS" and len(record_of(item).joint.dofs):
            _draw_stops(context, column, item)
        elif not rows or columns == "STOPS":
            _draw_name(column, item)
        elif columns == "VALUES":
            for row in rows:
                _draw_value(context, column, record_of(item).model, row)
        else:
            asked = {row.found.name: row for row in cached_rows(record_of(item).model, context.scene)}
            for row in rows:
                _draw_demand(context, column, row.channel.name, asked.get(row.channel.name), columns)


def servo_rows(empty: bpy.types.Object) -> list[Slider]:
    """Return the sliders of a joint's servos; empty for a joint without a bone."""
    rig = record_of(empty).model
    if rig is None:
        return []
    sliders = servo_sliders(rig)
    return [row for bone in chain_bones(empty) for row in sliders.get(bone, ())]


def list_order(
    context: bpy.types.Context, rig: bpy.types.Object | None, objects: list[bpy.types.Object], shown: KnuckleJointList
) -> list[int]:
    """Return the position of each object in the list; empty for file order."""
    if rig is None or shown.order == "FILE":
        return []
    joints = [obj if is_part(obj, rig, "JOINT") else None for obj in objects]
    if shown.order == "NAME":
        keys: list[Any] = ["" if obj is None else joint_label(obj).lower() for obj in joints]
    else:
        asked = {row.found.name: row for row in cached_rows(rig, context.scene)} if shown.columns != "VALUES" else {}
        keys = [math.inf if obj is None else -_urgency(rig, obj, shown.columns, asked) for obj in joints]
    positions = [0] * len(objects)
    for position, index in enumerate(sorted(range(len(objects)), key=keys.__getitem__)):
        positions[index] = position
    return positions


def _urgency(rig: bpy.types.Object, empty: bpy.types.Object, columns: str, asked: dict[str, ServoRow]) -> float:
    """Return how critical a joint's most critical servo is.

    For values and ranges, 1 is on a stop and more is beyond it. For speeds, it is the largest velocity, and infinite
    for a jump. -1 without a value.
    """
    out = -1.0
    for row in servo_rows(empty):
        found = asked.get(row.channel.name)
        if columns == "SPEED":
            each = -1.0 if found is None else math.inf if found.found.jump else found.found.velocity or 0.0
        elif columns == "RANGE":
            each = (
                -1.0
                if found is None
                else max(_stop_proximity(end, row.stops) for end in (found.found.low, found.found.high))
            )
        else:
            pose: bpy.types.PoseBone | None = rig.pose.bones.get(row.channel.bone)
            each = _stop_proximity(getattr(pose, row.prop), row.stops) if pose is not None and row.prop else -1.0
        out = max(out, each)
    return out


def _stop_proximity(value: float, stops: StopPair) -> float:
    """Return how near a value is to its stops: 0 midway, 1 on a stop, more beyond; -1 without two stops."""
    lower, upper = stops
    if lower is None or upper is None:
        return -1.0
    half = max(0.5 * (upper - lower), 1e-9)
    return abs(value - 0.5 * (lower + upper)) / half


# ---------------------------------------------------------------- the columns


def _draw_name(layout: Any, empty: bpy.types.Object) -> None:
    """Draw a joint without servos or stops: a weld, or one that closes a loop."""
    joint = record_of(empty).joint
    row = layout.row(align=True)
    row.active = joint.active
    row.label(text=joint_label(empty), icon=joint_icon(joint, [dof.kind for dof in joint.dofs]), translate=False)
    if joint.loop or joint.is_dependent:
        row.label(text="", icon="LINKED")


def _draw_value(context: bpy.types.Context, layout: Any, rig: bpy.types.Object, row: Slider) -> None:
    """Draw a servo's slider with the button for its keyframe."""
    pose = rig.pose.bones[row.channel.bone]
    line = layout.row(align=True)
    line.enabled = not row.follows
    value = line.row(align=True)
    value.alert = row.is_outside_stops(pose)
    name = row.channel.name
    if row.prop:
        value.prop(pose, row.prop, text=name, slider=row.is_slider, translate=False)
    elif row.channel.is_single:
        value.prop(pose, row.channel.prop, index=row.channel.index, text=name, translate=False)
    else:
        value.label(text=name, translate=False)
    if row.follows:
        line.label(text="", icon="LINKED")
        return
    state = key_state(rig, row.channel, context.scene.frame_current)
    button = line.operator("knuckle.key_servo", text="", icon=_KEY_ICONS[state], emboss=False)
    button.servo = name


def _draw_stops(context: bpy.types.Context, layout: Any, empty: bpy.types.Object) -> None:
    """Draw lower and upper stop of each degree of freedom; gray where the stop is off."""
    for name, dof, _is_part in dof_rows(empty):
        left, right = _cells(context, layout)
        left.label(text=name, translate=False)
        if dof.kind in {"ball", "free"}:
            continue
        for end in ("lower", "upper"):
            value = right.row(align=True)
            value.active = getattr(dof, f"use_{end}")
            value.prop(dof, f"{end}_angle" if is_angle(dof) else end, text="")


def _draw_demand(context: bpy.types.Context, layout: Any, name: str, row: ServoRow | None, columns: str) -> None:
    """Draw the range or speed that the motion demands of a servo, and a button that goes to its extreme."""
    left, right = _cells(context, layout)
    if row is None:
        left.label(text=name, translate=False)
        right.label(text="not keyed")
        return
    found = row.found
    if columns == "RANGE":
        worst = found.worst
        seconds = found.first if worst is None else worst.worst
        left.alert = right.alert = bool(found.outside)
        texts = value_range(row, found.low, found.high), value_range(row, found.lower, found.upper)
    else:
        seconds = found.jump_at if found.jump else found.velocity_at
        speed = (
            translated(Message("jumps {}", number_text(row, found.jump)))
            if found.jump
            else _rate_text(row, found.velocity, "s")
        )
        texts = speed, _rate_text(row, found.acceleration, "s²")
    left.label(text=name, translate=False)
    for text in texts:
        right.label(text=text, translate=False)
    show = right.operator("knuckle.show_servo", text="", icon="FRAME_NEXT", emboss=False)
    show.servo, show.frame = name, frame_at_time(context.scene, seconds)


def _cells(context: bpy.types.Context, layout: Any) -> tuple[Any, Any]:
    """Return layouts for a name and its values: side by side, or one below the other in a narrow sidebar."""
    if sidebar_width(context) < _MIN_WIDE_WIDTH:
        return layout.row(align=True), layout.row(align=True)
    split = layout.split(factor=_NAME_SHARE, align=True)
    return split.row(align=True), split.row(align=True)


def draw_header(context: bpy.types.Context, layout: Any, columns: str) -> None:
    """Draw the titles of the columns."""
    titles = {  # translated by us: Blender's own words are too long for a column
        "STOPS": (translated("Lower Stop"), translated("Upper Stop")),
        "RANGE": (translated("Range"), translated("Stops")),
        "SPEED": (translated("Speed"), translated("Accel.")),
    }
    if columns not in titles:
        return
    if sidebar_width(context) < _MIN_WIDE_WIDTH:
        right = layout.row(align=True)
    else:
        left, right = _cells(context, layout)
        left.label(text="Joint" if columns == "STOPS" else "Servo")
    for title in titles[columns]:
        right.label(text=title, translate=False)


# ---------------------------------------------------------------- numbers


def frame_at_time(scene: bpy.types.Scene, seconds: float) -> float:
    """Return the frame of a time (s) since the scene's first, rounded to 0.001 against single-precision errors."""
    return round(float(Clock.of(scene).frames(seconds)), 3)


def number_text(row: ServoRow, value: float | None) -> str:
    """Format an angle in degrees, or a length, in few digits; a dash for None."""
    if value is None:
        return "–"
    if not row.turns:
        return f"{value:.3g}"
    degrees = math.degrees(value)
    if abs(degrees) >= 1e4:
        return f"{format_number(degrees / 1e3)}k°"
    return f"{degrees:.{0 if abs(degrees) >= 100 else 1}f}°"


def _rate_text(row: ServoRow, value: float | None, per: str) -> str:
    """Format a velocity or an acceleration; a dash for None."""
    return number_text(row, value) if value is None else f"{number_text(row, value)}/{per}"


def value_range(row: ServoRow, low: float | None, high: float | None) -> str:
    """Format a range, short enough for a column: whole degrees, or three digits."""
    if low is None and high is None:
        return translated("none")
    low_text, high_text = ("" if end is None else _short_text(row, end) for end in (low, high))
    if low_text == high_text:
        return f"{low_text}{'°' if row.turns else ''}"
    if low_text == f"-{high_text}":
        return f"±{high_text}{'°' if row.turns else ''}"
    return f"{low_text}…{high_text}{'°' if row.turns else ''}"


def _short_text(row: ServoRow, value: float) -> str:
    return f"{round(math.degrees(value)) + 0:d}" if row.turns else f"{value:.3g}"


CLASSES = (KnuckleJointList, KNUCKLE_UL_joints)


def register() -> None:
    """Register the state of the list, after its classes."""
    bpy.types.WindowManager.knuckle_joint_list = PointerProperty(type=KnuckleJointList)  # type: ignore[attr-defined]


def unregister() -> None:
    """Unregister the state of the list."""
    del bpy.types.WindowManager.knuckle_joint_list  # type: ignore[attr-defined]
