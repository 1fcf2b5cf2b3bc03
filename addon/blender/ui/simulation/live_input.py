"""Live Input: keys move the inputs of a gait, or servos, while the animation plays.

Its settings, its operators and panel, and the overlay of the 3D View with the keys, what they move, and how far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import blf
import bpy
import gpu
from bpy.app.handlers import persistent
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from gpu_extras.batch import batch_for_shader

from ....core.gait.live_input import KEY_AXES, SMOOTHING, InputBinding, LiveInput, ServoBinding, bind_inputs
from ....core.overlay_geometry import format_dof_value
from ....core.report import FormatError, Message
from ...animation.gait import document_presets, input_names
from ...data.access import record_of, settings
from ...data.channels import Channel, servo_channels
from ...data.properties.model import input_property_name
from ...data.queries import parts
from ...events.handlers import Handlers, connect, disconnect
from ...events.runtime_state import Lifetime, RuntimeState, end_state, state_of
from ...locale import translated
from ...physics.simulation.live_input import EndReason, LiveSession, RecordingResult, live_session_of
from ...physics.world.membership import simulated_elsewhere_message, stopped_world_message
from ..base.modal_tasks import RunningTask, is_interactive, is_playing, stop_playback
from ..base.operators import ERRORS, ModelOperator, Result, cancel_with_error, polled_model, report_message
from ..base.panels import ModelPanel, draw_fact, property_layout
from ..base.selection import active_joint, polled_joint
from .view import ViewFollower, root_body

LIVE_AXIS_ITEMS: list[Any] = [
    ("UP_DOWN", "Up/W, Down/S", "Arrow keys up and down, or W and S"),
    ("RIGHT_LEFT", "Right/D, Left/A", "Arrow keys right and left, or D and A"),
    ("E_Q", "E, Q", "Keys E and Q"),
    ("I_K", "I, K", "Keys I and K"),
    ("L_J", "L, J", "Keys L and J"),
    ("O_U", "O, U", "Keys O and U"),
]
AXIS_LABELS = {item[0]: item[1] for item in LIVE_AXIS_ITEMS}


class KnuckleLiveServo(bpy.types.PropertyGroup):
    """Servo that a pair of keys moves."""

    joint: StringProperty(description="ID of its joint")
    axis: EnumProperty(name="Keys", description="Pair of keys that moves the servo", items=LIVE_AXIS_ITEMS)
    speed: FloatProperty(
        name="Speed", description="Speed while a key is held, in rad or length units per second", default=1.0
    )


class KnuckleLiveInput(bpy.types.PropertyGroup):
    """Settings of Live Input on a mechanism: ``Armature.knuckle_live``."""

    record: BoolProperty(
        name="Record", description="Write the inputs as keyframes, one per frame, from the first frame on"
    )
    record_joints: BoolProperty(
        name="Servo Values", description="Write the values of the servos as well, as an Action that does not play yet"
    )
    follow: BoolProperty(name="Follow in View", description="Move the view along with the root body", default=True)
    smoothing: FloatProperty(
        name="Smoothing",
        description="Time in which an input reaches most of its value",
        default=SMOOTHING,
        min=0.0,
        soft_max=1.0,
        unit="TIME_ABSOLUTE",
    )
    servos: CollectionProperty(type=KnuckleLiveServo)


def live_settings(rig: bpy.types.Object) -> KnuckleLiveInput:
    """Return a mechanism's settings of Live Input."""
    settings: KnuckleLiveInput = rig.data.knuckle_live  # type: ignore[union-attr]
    return settings


_SIZE, _PAD, _GAP = 13.0, 12.0, 8.0  # pixels at a scale of 1
_BACKGROUND, _TRACK = (0.05, 0.05, 0.05, 0.75), (1.0, 1.0, 1.0, 0.18)
_TEXT, _DIM_TEXT, _FILL, _RED = (0.95, 0.95, 0.95), (0.7, 0.7, 0.7), (0.33, 0.66, 1.0, 1.0), (1.0, 0.35, 0.3)
_BAR_WIDTH = 90.0


class LiveControl(NamedTuple):
    """Input or servo that keys move, as the overlay and the panels show it.

    Attributes:
        keys: Name of its pair of keys.
        name: Its name.
        value: Its present value in words.
        share: Position of the value in its range, -1 to 1; None without a range.
        servo: ID of the servo's joint; empty for an input.
    """

    keys: str
    name: str
    value: str
    share: float | None
    servo: str = ""


class LiveOverlay:
    """Overlay of the 3D Views during Live Input, drawn until ``hide`` is called.

    Attributes:
        title: First line.
        alert: Whether the first line is red.
        rows: One row per input and servo.
        hint: Last line.
    """

    def __init__(self) -> None:
        self.title, self.hint, self.alert = "", "", False
        self.rows: Sequence[LiveControl] = ()
        self._handle: Any = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_PIXEL")

    def hide(self) -> None:
        """Remove the draw handler; later calls do nothing."""
        if self._handle is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")
            self._handle = None

    def _draw(self) -> None:
        scale = bpy.context.preferences.system.ui_scale or 1.0
        size, pad, gap, bar = (value * scale for value in (_SIZE, _PAD, _GAP, _BAR_WIDTH))
        blf.size(0, size)
        keys = max((blf.dimensions(0, row.keys)[0] for row in self.rows), default=0.0)
        names = max((blf.dimensions(0, row.name)[0] for row in self.rows), default=0.0)
        values = max((blf.dimensions(0, row.value)[0] for row in self.rows), default=0.0)
        texts = max(blf.dimensions(0, text)[0] for text in (self.title, self.hint))
        width = max(keys + names + bar + values + 3.0 * pad, texts)
        line = size + gap
        height = line * (len(self.rows) + 2)
        left, bottom = 20.0 * scale, 50.0 * scale  # above the panel of the last operator
        _draw_rectangle(left, bottom, width + 2.0 * pad, height + 2.0 * pad - gap, _BACKGROUND)
        x, y = left + pad, bottom + pad
        _draw_text(self.hint, x, y, _DIM_TEXT)
        for row in reversed(self.rows):
            y += line
            _draw_text(row.keys, x, y, _TEXT)
            _draw_text(row.name, x + keys + pad, y, _DIM_TEXT)
            start = x + keys + names + 2.0 * pad
            _draw_text(row.value, start + bar + pad, y, _TEXT)
            if row.share is None:
                continue
            middle, share = start + bar / 2.0, max(-1.0, min(row.share, 1.0)) * bar / 2.0
            _draw_rectangle(start, y, bar, size * 0.7, _TRACK)
            _draw_rectangle(min(middle, middle + share), y, abs(share), size * 0.7, _FILL)
            _draw_rectangle(middle - 0.5 * scale, y, scale, size * 0.7, (1.0, 1.0, 1.0, 0.6))
        _draw_text(self.title, x, y + line, _RED if self.alert else _TEXT)


def _draw_rectangle(x: float, y: float, width: float, height: float, color: Sequence[float]) -> None:
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    batch = batch_for_shader(shader, "TRIS", {"pos": corners}, indices=[(0, 1, 2), (0, 2, 3)])
    shader.uniform_float("color", color)
    gpu.state.blend_set("ALPHA")  # text switches it off
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def _draw_text(text: str, x: float, y: float, color: tuple[float, float, float]) -> None:
    blf.color(0, color[0], color[1], color[2], 1.0)
    blf.position(0, x, y, 0.0)
    blf.draw(0, text)


_TIMER_INTERVAL = 0.05
#: Beginnings of event types that are no keyboard keys, or that navigate the view: they are passed on.
_PASSED_EVENTS = (
    "MOUSE", "LEFTMOUSE", "MIDDLEMOUSE", "RIGHTMOUSE", "BUTTON", "WHEEL", "TRACKPAD", "PEN", "ERASER", "TIMER",
    "INBETWEEN", "WINDOW", "NDOF", "NUMPAD", "NONE", "ACTIONZONE", "HOME",
)  # fmt: skip


class KNUCKLE_OT_live_input(ModelOperator):
    """Operator: play the animation and let keys move inputs or servos."""

    bl_idname = "knuckle.live_input"
    bl_label = "Live Input"
    bl_description = "Play, and move the inputs of the gait, or servos, with arrow keys, WASD, Q and E"
    bl_options = {"REGISTER", "UNDO"}

    _session: LiveSession
    _running_task: RunningTask

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if live_session_of(rig) is not None:
            return "Live Input is on: Esc ends it"
        if not input_names(rig) and not mapped_servos(rig):
            return "The mechanism has no gait with inputs: map servos to keys first"
        drive = settings(rig).drive
        if drive == "LIMP":
            return "Ragdoll: the servos are off. Set the drive to Keyframes or Servos"
        if drive == "KEYS" and settings(rig).body_keys is not None:
            return "The bodies have keyframes of their own: Remove Body Keyframes first"
        return (
            ""
            if drive == "KEYS"
            else simulated_elsewhere_message(context.scene, rig) or stopped_world_message(context.scene)
        )

    def execute(self, context: bpy.types.Context) -> Result:
        """Report an error: Live Input needs a window."""
        return cancel_with_error(self, "Live Input needs a window: call it from a 3D View")

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Start a session and its overlay, and play the animation."""
        area, screen = context.area, context.screen
        if not is_interactive(context) or area is None or area.type != "VIEW_3D" or screen is None:
            return self.execute(context)
        rig = polled_model(context)
        choices = live_settings(rig)
        try:
            session = LiveSession(context.scene, rig, mapped_live_input(rig), choices.record, choices.record_joints)
        except ERRORS as error:
            return cancel_with_error(self, error)
        stop_playback(context)
        overlay = LiveOverlay()
        _displays()[session.uid] = _SessionDisplay(
            session, overlay, screen, _make_follower(rig) if choices.follow else None
        )
        connect(_ACTIVE_HANDLERS)

        def close() -> None:
            overlay.hide()
            _displays().pop(session.uid, None)
            if not _displays():
                disconnect(_ACTIVE_HANDLERS)
            session.end()

        self._session, self._running_task = session, RunningTask(context, _TIMER_INTERVAL, close)
        self._running_task.show_status(_hint(session))
        if choices.record or settings(rig).drive == "SERVO" or context.scene.frame_current >= context.scene.frame_end:
            session.restart()
        bpy.ops.screen.animation_play(sync=False)
        _displays()[session.uid].look(True)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Pass keys to the session.

        Space pauses, R restarts, Esc ends. Mouse, timer and other events of ``_PASSED_EVENTS`` go on to Blender.
        """
        session = self._session
        if session.is_over or not session.is_there:
            return self._finish(context)
        if event.type == "WINDOW_DEACTIVATE":
            session.live.release_all()
        if event.type.startswith(_PASSED_EVENTS):
            if event.type == "TIMER" and session.uid in _displays():
                _displays()[session.uid].look(is_playing(context))
            return {"PASS_THROUGH"}
        if event.value == "RELEASE":
            session.live.release(event.type)
        elif event.value == "PRESS" and not (event.ctrl or event.alt or event.oskey or event.is_repeat):
            if event.type == "ESC":
                return self._finish(context)
            if event.type == "SPACE":
                bpy.ops.screen.animation_play(sync=False)
            elif event.type == "R":
                session.restart()
            else:
                session.live.press(event.type)
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """End the session when Blender closes its window or opens another file."""
        self._running_task.leave()

    def _finish(self, context: bpy.types.Context) -> Result:
        if context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)
        self._running_task.leave()
        written = self._session.write()
        if self._session.end_reason is EndReason.DELETED:
            report_message(self, {"WARNING"}, "Live Input ended: the mechanism was deleted")
        if self._session.end_reason is EndReason.UNDONE:
            report_message(self, {"WARNING"}, "Live Input ended by Undo")
        if written is None:
            if self._session.end_reason is EndReason.NONE and not self._session.records:
                report_message(self, {"INFO"}, "Live Input ended, without a recording")
            return {"CANCELLED"}
        report_message(self, {"INFO"}, ". ".join(_recording_messages(written)))
        return {"FINISHED"}


def _hint(session: LiveSession) -> str:
    """Return the overlay's last line: the other keys, and advice if the gait moves a mechanism in place."""
    words = [translated("Space pauses, R restarts, Esc ends")]
    if session.live.inputs and settings(session.rig).drive == "KEYS":
        words.append(translated("Keyframes play in place: with drive Servos it walks"))
    return ". ".join(words)


def _recording_messages(written: RecordingResult) -> list[str]:
    """Return translated messages about a recording."""
    out = [translated(Message("Recorded frames {} to {}", written.first, written.last))]
    if written.is_unbaked:
        out.append(translated("Bake Gait writes the motion"))
    if written.is_target_changed:
        out.append(translated("Target set to Gait"))
    if written.is_played:
        out.append(translated(Message("Action {} plays the servo values", repr(written.action))))
    elif written.action:
        out.append(translated(Message("Servo values are in Action {}", repr(written.action))))
    return out


class _SessionDisplay:
    """Display of a session: its overlay, and the 3D views that follow its mechanism."""

    def __init__(
        self, session: LiveSession, overlay: LiveOverlay, screen: bpy.types.Screen, follower: ViewFollower | None
    ) -> None:
        self._session, self._overlay, self._screen, self._follower = session, overlay, screen, follower

    def look(self, playing: bool) -> None:
        """Update the overlay to the present values and state, and redraw the 3D views."""
        session = self._session
        frame = session.scene.frame_current
        self._overlay.alert = session.records and playing
        state = (
            (translated("Recording") if session.records else translated("Playing")) if playing else translated("Paused")
        )
        title = f"{translated('Live Input')}: {state}"
        self._overlay.title = f"{title}, {translated('frame')} {frame}"
        self._overlay.hint = _hint(session)
        self._overlay.rows = live_controls(session.live, session.rig)
        for area in self._screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()

    def follow(self) -> None:
        """Move the 3D views along with the mechanism."""
        if self._follower is not None:
            self._follower.update(self._screen)


@dataclass
class _Displays(RuntimeState):
    """Displays of sessions, by their armatures' ``session_uid``."""

    lifetime: ClassVar = Lifetime.PROGRAM
    shown: dict[int, _SessionDisplay] = field(default_factory=dict)


def _displays() -> dict[int, _SessionDisplay]:
    return state_of(_Displays).shown


@persistent
def _after_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    for shown in tuple(_displays().values()):
        try:
            shown.follow()
            shown.look(True)
        except ReferenceError:  # deleted, which its operator reports
            continue


_ACTIVE_HANDLERS: Handlers = (("frame_change_post", _after_frame),)


def _make_follower(rig: bpy.types.Object) -> ViewFollower | None:
    """Return a follower of a mechanism's root body; None without a body."""
    root = root_body(rig)
    return None if root is None else ViewFollower(root, max(root.dimensions[:]) or 1.0)


def live_controls(live: LiveInput, rig: bpy.types.Object) -> list[LiveControl]:
    """Return what keys move, in the order of the keys: the one source of the overlay and the panels."""
    controls, channels = settings(rig).controls, servo_channels(rig)
    values = live.input_values
    out: list[tuple[str, LiveControl]] = []
    for binding in live.inputs:
        name, value = controls.bl_rna.properties[input_property_name(binding.input)].name, values[binding.input]
        keys = translated(AXIS_LABELS[binding.axis])
        out.append((binding.axis, LiveControl(keys, translated(name), input_value_text(value), value)))
    for servo in (each for each in live.servos if each.servo in channels):
        channel, at = channels[servo.servo][0], live.servo_values[servo.servo]
        half = 0.5 * (servo.upper - servo.lower)
        share = (at - servo.lower) / half - 1.0 if 0.0 < half < math.inf else None
        text = format_dof_value(at, channel.is_angle)
        out.append(
            (servo.axis, LiveControl(translated(AXIS_LABELS[servo.axis]), channel.name, text, share, servo.servo))
        )
    order = list(KEY_AXES)
    return [control for _axis, control in sorted(out, key=lambda row: order.index(row[0]))]


def input_value_text(value: float) -> str:
    """Format the value of an input as its slider does."""
    return f"{value + 0.0:.3f}"


def live_input_values(rig: bpy.types.Object) -> dict[str, float]:
    """Return the inputs that Live Input moves at present, by name; empty while it is off."""
    session = live_session_of(rig)
    return {} if session is None else session.live.input_values


def mapped_live_input(rig: bpy.types.Object) -> LiveInput:
    """Return a mechanism's mapping of keys; a pair of keys that moves a servo moves no input."""
    servos = [_servo_binding(rig, row, channel) for row, channel in mapped_servos(rig)]
    used = {binding.axis for binding in servos}
    presets = document_presets(rig)
    inputs: list[InputBinding] = [
        binding for binding in bind_inputs(input_names(rig), presets) if binding.axis not in used
    ]
    return LiveInput(inputs, servos, presets.get("STAND", {}), live_settings(rig).smoothing)


def mapped_servos(rig: bpy.types.Object) -> list[tuple[Any, Channel]]:
    """Return the servos that keys move: their rows in the settings, and their channels."""
    channels = servo_channels(rig)
    rows = [row for row in live_settings(rig).servos if row.joint in channels]
    return [(row, channels[row.joint][0]) for row in rows]


def _servo_binding(rig: bpy.types.Object, row: Any, channel: Channel) -> ServoBinding:
    empty = next(empty for empty in parts(rig, "JOINT") if record_of(empty).source_id == row.joint)
    dof = record_of(empty).joint.dofs[0]
    start = getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index]
    stops = {end: getattr(dof, end) for end in ("lower", "upper") if getattr(dof, f"use_{end}")}
    return ServoBinding(row.joint, row.axis, row.speed, start, **stops)


class KNUCKLE_OT_map_live_servo(ModelOperator):
    """Operator: map the active servo to a pair of keys."""

    bl_idname = "knuckle.map_live_servo"
    bl_label = "Map Servo to Keys"
    bl_description = "Let a pair of keys move the active servo during Live Input"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        empty = active_joint(context, rig)
        own = servo_channels(rig).get(record_of(empty).source_id, []) if empty is not None else []
        return "" if len(own) == 1 else "Select a joint with one servo"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Map the servo to the first free pair of keys."""
        rows, joint = live_settings(rig).servos, record_of(polled_joint(context, rig)).source_id
        if any(row.joint == joint for row in rows):
            raise ValueError("The servo is mapped already")
        live = mapped_live_input(rig)
        used = {each.axis for each in live.inputs} | {each.axis for each in live.servos}
        row = rows.add()
        row.joint, row.axis = joint, next((axis for axis in KEY_AXES if axis not in used), "E_Q")
        return {"FINISHED"}


class KNUCKLE_OT_unmap_live_servo(ModelOperator):
    """Operator: remove a servo's mapping to keys."""

    bl_idname = "knuckle.unmap_live_servo"
    bl_label = "Unmap Servo"
    bl_description = "Let no key move the servo during Live Input"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Index", description="Position in the list of mapped servos", min=0)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if live_settings(rig).servos else "No servo is mapped to keys"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Remove the row at the index."""
        rows = live_settings(rig).servos
        if self.index >= len(rows):
            raise ValueError(Message("Index {}: no servo is mapped there", self.index))
        rows.remove(self.index)
        return {"FINISHED"}


def draw_live_input(layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw the button of Live Input and its switches, if there is something to move."""
    if not input_names(rig) and not mapped_servos(rig):
        return
    choices: Any = live_settings(rig)
    row = layout.row(align=True)
    row.operator("knuckle.live_input", icon="EVENT_W")
    row.prop(choices, "record", text="", icon="REC")
    row.prop(choices, "follow", text="", icon="VIEW_PAN")


class VIEW3D_PT_knuckle_live(ModelPanel, bpy.types.Panel):
    """Panel: keys of Live Input."""

    bl_label = "Live Input Keys"
    help_page = "walk#live-input"
    bl_parent_id = "VIEW3D_PT_knuckle_drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout: Any = property_layout(self.layout)
        rig = polled_model(context)
        choices: Any = live_settings(rig)
        layout.prop(choices, "smoothing")
        layout.prop(choices, "record_joints")
        session = live_session_of(rig)
        controls: list[LiveControl] = []
        with suppress(FormatError):  # shown by the panel above
            controls = live_controls(mapped_live_input(rig) if session is None else session.live, rig)
        for control in controls:
            if not control.servo:
                draw_fact(layout, control.keys, control.name if session is None else f"{control.name}: {control.value}")
        values = {control.servo: control.value for control in controls}
        for number, (mapped, channel) in enumerate(mapped_servos(rig)):
            rows = layout.column(align=True)
            rows.use_property_split = False
            line = rows.row(align=True)
            now = values.get(mapped.joint, "") if session is not None else ""
            line.label(text=f"{channel.name}: {now}" if now else channel.name, translate=False)
            line.operator("knuckle.unmap_live_servo", text="", icon="X").index = number
            line = rows.row(align=True)
            line.prop(mapped, "axis", text="")
            line.prop(mapped, "speed")
        layout.operator("knuckle.map_live_servo", icon="ADD")


#: Without the panel, which is registered in its place among those of the simulation.
CLASSES = (
    KnuckleLiveServo,
    KnuckleLiveInput,
    KNUCKLE_OT_live_input,
    KNUCKLE_OT_map_live_servo,
    KNUCKLE_OT_unmap_live_servo,
)


@dataclass
class _Shortcuts(RuntimeState):
    """Our shortcuts, as pairs of their keymap and item."""

    lifetime: ClassVar = Lifetime.PROGRAM
    items: list[tuple[Any, Any]] = field(default_factory=list)


def register() -> None:
    """Register the settings, and add the shortcut of the 3D View."""
    bpy.types.Armature.knuckle_live = PointerProperty(type=KnuckleLiveInput)  # type: ignore[attr-defined]
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    if keyconfig is not None:
        keymap = keyconfig.keymaps.new(name="3D View", space_type="VIEW_3D")
        item = keymap.keymap_items.new("knuckle.live_input", "SPACE", "PRESS", shift=True, alt=True)
        state_of(_Shortcuts).items.append((keymap, item))


def unregister() -> None:
    """Remove the shortcut and the settings."""
    del bpy.types.Armature.knuckle_live  # type: ignore[attr-defined]
    for keymap, item in state_of(_Shortcuts).items:
        keymap.keymap_items.remove(item)
    end_state(_Shortcuts)
