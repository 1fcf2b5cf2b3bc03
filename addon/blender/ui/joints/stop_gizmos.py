"""Gizmos that drag the stops of the active joint in the 3D View. Esc or a right click restores the stop."""

from __future__ import annotations

import math
from typing import Any

import blf
import bpy
import numpy as np
from bpy_extras import view3d_utils
from mathutils import Matrix, Vector

from ....core.overlay_geometry import (
    RANGE_COLOR,
    VIOLATION_COLOR,
    DofGlyphs,
    OverlayDrawing,
    clamp_to_other_stop,
    draw_axes,
    draw_stops,
    format_dof_value,
    snap_increment,
    value_at_ray,
)
from ...data.access import record_of
from ...data.properties.model import KnuckleObject
from ...data.queries import is_foreign, rig_of
from ...locale import translated
from ...overlay import joint_dials
from ..base.operators import Result
from ..base.selection import active_joint
from ..overlay import Batches, active_kinds, draw_batches, make_batches, overlay_settings

_ENDS = ("lower", "upper")
_MAX_DOFS = 6  # degrees of freedom of a joint that get handles
_RADIAL_POSITION, _LATERAL_POSITION = 1.12, 0.0  # of a handle: just beyond a dial's rim, on a prismatic joint's line
_HANDLE_SIZE = 0.085  # relative to Blender's gizmo size
_STOP_LABELS = {"lower": "Lower Stop", "upper": "Upper Stop"}


class GizmoState:
    """Shared state of the gizmos: the active joint as last drawn, the same in all views."""

    degrees: DofGlyphs | None = None
    numbers: list[int] = []  # noqa: RUF012 - replaced as a whole, never changed
    batches: Batches = []  # noqa: RUF012
    label: tuple[str, Vector] | None = None
    drawn: Any = None  # the label's draw handler, while there is one


def gizmo_joint(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the joint that gets handles: the active one if it is editable and handles are on, else None."""
    if not overlay_settings(context.scene).handles or context.mode not in {"OBJECT", "POSE"}:
        return None
    rig = rig_of(context.view_layer.objects.active)
    if rig is None or rig.type != "ARMATURE" or is_foreign(rig):
        return None
    playing = context.screen is not None and context.screen.is_animation_playing
    joint = None if playing else active_joint(context, rig)
    return joint if joint is not None and record_of(joint).joint.active and has_stops(joint) else None


def has_stops(joint: bpy.types.Object) -> bool:
    """Return whether a joint has an enabled stop."""
    return any(dof.use_lower or dof.use_upper for dof in record_of(joint).joint.dofs)


def set_stop(joint: bpy.types.Object, number: int, end: str, value: float) -> None:
    """Set a stop, ``lower`` or ``upper``, of a joint's degree of freedom, but not beyond the other stop."""
    dof: Any = record_of(joint).joint.dofs[number]
    other = _ENDS[1 - _ENDS.index(end)]
    setattr(
        dof,
        end,
        clamp_to_other_stop(value, getattr(dof, other) if getattr(dof, f"use_{other}") else None, end == "upper"),
    )


class KNUCKLE_GT_dial(bpy.types.Gizmo):
    """Gizmo: dials of the active joint where the overlay does not draw them. Not interactive."""

    bl_idname = "KNUCKLE_GT_dial"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the dials."""
        region = context.region
        if region is not None:
            draw_batches(GizmoState.batches, (region.width, region.height))


class KNUCKLE_GT_stop(bpy.types.Gizmo):
    """Gizmo: handle at a stop of a degree of freedom."""

    bl_idname = "KNUCKLE_GT_stop"
    __slots__ = ("before", "drag", "end", "number", "shape")
    end: str  # of the range: lower or upper
    number: int  # index of the degree of freedom in the joint's record

    def setup(self) -> None:
        """Create the handle's shape, a sphere."""
        self.shape = self.new_custom_shape("TRIS", _sphere_triangles())

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the handle."""
        self.draw_custom_shape(self.shape)

    def draw_select(self, context: bpy.types.Context, select_id: int | None = 0) -> None:
        """Draw the handle for selection."""
        self.draw_custom_shape(self.shape, select_id=select_id)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Start to drag the stop."""
        joint, degree = gizmo_joint(context), self.degree()
        if joint is None or degree is None:
            return {"CANCELLED"}
        self.before = float(getattr(self.dof(joint), self.end))
        # value of the stop, and value under the pointer
        held = value_at_ray(degree, *_pointer_ray(context, event), self.before)
        self.drag = [self.before, held]
        _show_label()
        self.show_value(context, joint)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event, _tweak: Any) -> Result:
        """Drag the stop with the pointer: Shift is ten times finer, Ctrl snaps."""
        joint, degree = gizmo_joint(context), self.degree()
        if joint is None or degree is None:
            return {"CANCELLED"}
        value, held = self.drag
        here = value_at_ray(degree, *_pointer_ray(context, event), held)
        value += (here - held) * (0.1 if event.shift else 1.0)
        self.drag = [value, here]
        if event.ctrl:
            step = snap_increment(degree, event.shift)
            value = round(value / step) * step
        set_stop(joint, self.number, self.end, value)
        self.show_value(context, joint)
        return {"RUNNING_MODAL"}

    def exit(self, context: bpy.types.Context, cancel: bool | None) -> None:
        """End the drag: restore the stop if it was canceled, else push an undo step."""
        _hide_label()
        if context.area is not None:
            context.area.header_text_set(None)
        joint = gizmo_joint(context)
        if joint is None:
            return
        if cancel:
            setattr(self.dof(joint), self.end, self.before)
        elif getattr(self.dof(joint), self.end) != self.before:
            bpy.ops.ed.undo_push(message=_STOP_LABELS[self.end])

    def dof(self, joint: bpy.types.Object) -> Any:
        """Return the record of the handle's degree of freedom."""
        return record_of(joint).joint.dofs[self.number]

    def degree(self) -> DofGlyphs | None:
        """Return the glyph of the handle's degree of freedom; None if it is not drawn."""
        if GizmoState.degrees is None or self.number not in GizmoState.numbers:
            return None
        return GizmoState.degrees.some(np.array(GizmoState.numbers) == self.number)

    def show_value(self, context: bpy.types.Context, joint: bpy.types.Object) -> None:
        """Show the value of the stop in the header and beside the handle."""
        dof = self.dof(joint)
        text = format_dof_value(getattr(dof, self.end), dof.kind != "translation")
        GizmoState.label = text, self.matrix_basis.translation.copy()
        area = context.area
        if area is not None:
            area.header_text_set(f"{translated(_STOP_LABELS[self.end])}: {text}")
            area.tag_redraw()


class VIEW3D_GGT_knuckle_stops(bpy.types.GizmoGroup):
    """Gizmo group: dials and stop handles of the active joint."""

    bl_idname = "VIEW3D_GGT_knuckle_stops"
    bl_label = "Stop Handles"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT"}  # noqa: RUF012

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether there is a joint that gets handles."""
        return gizmo_joint(context) is not None

    def setup(self, _context: bpy.types.Context) -> None:
        """Create the dial and two handles per degree of freedom."""
        dial = self.gizmos.new(KNUCKLE_GT_dial.bl_idname)
        dial.hide_select = True
        dial.use_draw_modal = True
        for _ in range(_MAX_DOFS):
            for end in _ENDS:
                knob: Any = self.gizmos.new(KNUCKLE_GT_stop.bl_idname)
                knob.end, knob.number = end, -1
                knob.scale_basis = _HANDLE_SIZE
                knob.use_draw_modal = True
                knob.color, knob.alpha = RANGE_COLOR[:3], 1.0
                knob.color_highlight, knob.alpha_highlight = (1.0, 1.0, 1.0), 1.0

    def draw_prepare(self, context: bpy.types.Context) -> None:
        """Update the dials, and place the handles at the stops."""
        joint = gizmo_joint(context)
        if joint is None:
            return
        degrees = _update_joint(context, joint)
        knobs = list(self.gizmos)[1:]  # without the dial
        for place, (low, high) in enumerate(zip(knobs[::2], knobs[1::2], strict=True)):
            for knob in (low, high):
                _place_handle(knob, record_of(joint), degrees, place)


def _update_joint(context: bpy.types.Context, joint: bpy.types.Object) -> DofGlyphs:
    """Update the glyphs and batches of the active joint; return the glyphs."""
    degrees, GizmoState.numbers = joint_dials(joint, overlay_settings(context.scene).size)
    GizmoState.degrees = degrees
    kinds, drawing = active_kinds(context.scene), OverlayDrawing()
    if "axes" not in kinds:
        draw_axes(drawing, degrees.some(degrees.stopped))
    if "stops" not in kinds:
        draw_stops(drawing, degrees)
    GizmoState.batches = make_batches(drawing)
    return degrees


def _place_handle(knob: Any, record: KnuckleObject, degrees: DofGlyphs, place: int) -> None:
    """Place a handle at its stop, or hide it without one."""
    knob.number = GizmoState.numbers[place] if place < len(GizmoState.numbers) else -1
    dof: Any = record.joint.dofs[knob.number] if knob.number >= 0 else None
    knob.hide = dof is None or not getattr(dof, f"use_{knob.end}")
    if knob.hide:
        return
    values = np.full(len(degrees), getattr(dof, knob.end))
    knob.matrix_basis = Matrix.Translation(degrees.at(values, _RADIAL_POSITION, _LATERAL_POSITION)[place].tolist())
    crossed = dof.use_lower and dof.use_upper and dof.lower > dof.upper
    knob.color = VIOLATION_COLOR[:3] if crossed else RANGE_COLOR[:3]


def _pointer_ray(context: bpy.types.Context, event: bpy.types.Event) -> tuple[np.ndarray, np.ndarray]:
    """Return origin (3,) and direction (3,) of the ray under the pointer."""
    region: Any = context.region
    seen: Any = context.region_data
    point = event.mouse_region_x, event.mouse_region_y
    start = view3d_utils.region_2d_to_origin_3d(region, seen, point)
    return np.array(start, dtype=np.float64), np.array(
        view3d_utils.region_2d_to_vector_3d(region, seen, point), dtype=np.float64
    )


def _show_label() -> None:
    """Add the label's draw handler, unless a drag that never ended has left it, as when a file was opened."""
    if GizmoState.drawn is None:
        GizmoState.drawn = bpy.types.SpaceView3D.draw_handler_add(_draw_label, (), "WINDOW", "POST_PIXEL")


def unregister() -> None:
    """Remove the label of a handle that is being dragged: Blender then calls no ``exit``."""
    _hide_label()


def _hide_label() -> None:
    GizmoState.label = None
    if GizmoState.drawn is not None:
        bpy.types.SpaceView3D.draw_handler_remove(GizmoState.drawn, "WINDOW")
        GizmoState.drawn = None


def _draw_label() -> None:
    """Draw the value beside the handle that is dragged."""
    context = bpy.context
    if GizmoState.label is None or context.region is None or context.region_data is None:
        return
    text, place = GizmoState.label
    at = view3d_utils.location_3d_to_region_2d(context.region, context.region_data, place)
    if at is None:
        return
    scale = context.preferences.system.ui_scale or 1.0
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 5, 0.0, 0.0, 0.0, 0.9)
    blf.size(0, 15.0 * scale)
    blf.color(0, 1.0, 1.0, 1.0, 1.0)
    blf.position(0, at.x + 14.0 * scale, at.y + 10.0 * scale, 0.0)
    blf.draw(0, text)
    blf.disable(0, blf.SHADOW)


def _sphere_triangles(rings: int = 6, sides: int = 12) -> list[tuple[float, float, float]]:
    """Return the triangles of a unit sphere, three corners each."""
    across = [math.pi * k / rings for k in range(rings + 1)]
    around = [2.0 * math.pi * k / sides for k in range(sides + 1)]

    def point(ring: int, side: int) -> tuple[float, float, float]:
        a, b = across[ring], around[side]
        return math.sin(a) * math.cos(b), math.sin(a) * math.sin(b), math.cos(a)

    out = []
    for ring in range(rings):
        for side in range(sides):
            corners = [point(ring, side), point(ring + 1, side), point(ring + 1, side + 1), point(ring, side + 1)]
            out += [corners[k] for k in (0, 1, 2, 0, 2, 3)]
    return out


CLASSES = (KNUCKLE_GT_dial, KNUCKLE_GT_stop, VIEW3D_GGT_knuckle_stops)
