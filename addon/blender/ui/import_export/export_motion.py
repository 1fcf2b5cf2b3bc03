"""Export of servo motion to a motion file: File > Export > Servo Motion."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from .... import formats
from ....core.model import Motion
from ....core.report import Entry, Message, Report, count_with_noun
from ....formats.xmdi import FRAME_SECONDS
from ...animation import SampleOptions, Units, read_motion
from ...animation.actions import active_action, motion_actions, temporary_action
from ...animation.fcurves import joints_of_bones
from ...animation.sample_motion import PhysicsTracks, bodies_follow_keys
from ...data import preferences
from ...data.access import action_record, record_of
from ...data.channels import root_channels
from ...data.conversion import add_to_report
from ...data.properties.action import ANGLE_UNITS, LENGTH_UNITS
from ...data.queries import is_foreign
from ...physics.recording.bake import record, recorded_coordinates
from ...physics.simulation.cached_frames import shown_frames
from ..base.operators import (
    ExportHelper,
    ModelOperator,
    Result,
    active_model,
    extension_glob,
    keep_extension,
    report_result,
    with_extension,
)
from ..base.selection import selected_bones
from .import_motion import MOTION_EXTENSIONS, menu_label

#: Report codes of motion exports; the next export replaces them.
EXPORT_CODES = (
    "servos-taken", "values-beyond-stops", "curve-sampled", "keys-reduced", "off-grid", "left-over-times",
    "left-over-unit", "joints-missing", "rate-changed", "armature-moves", "bone-turn", "bone-slide", "bone-scale",
    "root-motion-left", "origin-lost", "document-kept", "document-patched", "document-lost", "written", "encoding",
    "held-keys",
)  # fmt: skip
_AS_IMPORTED = (
    "AS_READ",
    "As Imported",
    "Unit of the file that the Action came from; else radians and the mechanism's unit",
)
#: Time grid (s) of the keyframes of formats; other formats allow any time.
TIME_GRIDS = {"xmdi": FRAME_SECONDS, "webots": 0.001}


class EXPORT_ANIM_OT_servo_motion(ModelOperator, ExportHelper):
    """Operator: export the motion of the servos to a motion file."""

    bl_idname = "export_anim.servo_motion"
    bl_label = "Export Servo Motion"
    bl_description = "Write the motion of the active mechanism's servos to a motion file"
    bl_options = {"PRESET"}
    only_reads = True

    filename_ext = MOTION_EXTENSIONS[0]
    check_extension = None
    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default=extension_glob(MOTION_EXTENSIONS), options={"HIDDEN"})
    motions: EnumProperty(
        name="Motions",
        description="Motions to write",
        items=[
            ("ACTIVE", "Active Motion", "Motion that plays: the active Action and all else that acts on the pose"),
            ("ALL", "All Actions", "Every Action that keys servos of this mechanism, each as a motion of its own"),
        ],
    )
    servos: EnumProperty(
        name="Servos",
        description="Servos to write",
        items=[
            (
                "KEYED",
                "Moved",
                "Servos that the Action, drivers or constraints move; all servos if there are none",
            ),
            ("ALL", "All", "All servos, including those that do not move"),
            ("SELECTED", "Selected", "Servos whose bone, joint or body is selected"),
        ],
    )
    keys: EnumProperty(
        name="Keyframes",
        description="Source of the keyframes in the file",
        items=[
            (
                "AUTO",
                "Automatic",
                "Keyframes of the servo where the format can hold them exactly; else samples of the pose",
            ),
            ("KEYS", "Unchanged", "Keyframes of the servo at any time, if their interpolation is linear; else samples"),
            ("SAMPLED", "Sampled", "Samples of the pose at every step"),
        ],
    )
    step: FloatProperty(
        name="Step",
        description="Time between samples (ms); always 32 ms for XMDI",
        default=1000.0 * FRAME_SECONDS,
        min=1.0,
        soft_max=1000.0,
        precision=3,
    )
    use_range: BoolProperty(
        name="Limit to Range",
        description="Write a part of the motion, whose first frame is time 0",
        options={"SKIP_SAVE"},
    )
    frame_start: IntProperty(
        name="Start Frame", description="First frame to write, which is time 0 of the motion", options={"SKIP_SAVE"}
    )
    frame_end: IntProperty(name="End Frame", description="Last frame to write", options={"SKIP_SAVE"})
    tolerance: FloatProperty(
        name="Tolerance",
        description="Largest error when samples are left out (rad or length units); 0 keeps all samples",
        default=0.0,
        min=0.0,
        soft_max=0.1,
        precision=5,
    )
    stops: EnumProperty(
        name="Past Stops",
        description="Treatment of values past a servo's stops",
        items=[
            ("KEEP", "Keep", "Write the values unchanged, and count them"),
            ("CLAMP", "Clamp", "Set the values to the stop, and count them"),
            ("REFUSE", "Reject", "Write no file, and report the values"),
        ],
    )
    angle_unit: EnumProperty(
        name="Angles", description="Unit of angles in the file", items=[_AS_IMPORTED, *ANGLE_UNITS]
    )
    length_unit: EnumProperty(
        name="Lengths", description="Unit of lengths in the file", items=[_AS_IMPORTED, *LENGTH_UNITS]
    )

    _asked = False  # whether invoke ran: it sets properties, which then do not show who set them

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set frame range and file name, then open the file browser."""
        given = self.properties.is_property_set
        self.use_range = self.use_range or given("frame_start") or given("frame_end")
        if not given("frame_start"):
            self.frame_start = context.scene.frame_start
        if not given("frame_end"):
            self.frame_end = context.scene.frame_end
        self._asked = True
        rig = active_model(context)
        if rig is not None and not self.filepath:
            self.filepath = bpy.path.clean_name(_motion_name(rig)) + _action_extension(rig)
        return ExportHelper.invoke(self, context, event)

    def check(self, context: bpy.types.Context) -> bool:
        """Give the file an extension of a motion format; return whether its path changed."""
        return keep_extension(self, MOTION_EXTENSIONS)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "motions")
        layout.prop(self, "servos")
        column = layout.column(align=True)
        column.prop(self, "keys")
        column.prop(self, "step", text="Step (ms)")
        column.prop(self, "tolerance")
        layout.prop(self, "stops")
        layout.prop(self, "use_range")
        column = layout.column(align=True)
        column.active = self.use_range
        column.prop(self, "frame_start")
        column.prop(self, "frame_end", text="End")
        column = layout.column(align=True)
        column.prop(self, "angle_unit")
        column.prop(self, "length_unit")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Write the motions to the file, and report the result."""
        path = with_extension(bpy.path.abspath(self.filepath), MOTION_EXTENSIONS)
        report = Report()
        motions = self._taken(context, rig, self._options(context, rig, path), report)
        report.extend(formats.save_motion(motions, path, xmdi_tags=preferences.xmdi_tags()))
        if not is_foreign(rig):
            add_to_report(rig, report, EXPORT_CODES)
        name = Path(path).name
        if len(motions) == 1:
            servos = count_with_noun(len(motions[0].trajectories), "servo")
            how = next((entry.message for entry in report.entries if entry.code == "servos-taken"), "")
            report_result(
                self, Message("Exported {}: {}, {} s ({})", name, servos, f"{motions[0].duration:g}", how), report
            )
        else:
            report_result(self, Message("Exported {}: {} motions", name, len(motions)), report)
        return {"FINISHED"}

    def _options(self, context: bpy.types.Context, rig: bpy.types.Object, path: str) -> SampleOptions:
        format_id = formats.motion_format_id(path)
        first = self.frame_start if self._has("frame_start") else None
        last = self.frame_end if self._has("frame_end") else None
        if first is not None and last is not None and last < first:
            raise ValueError(Message("The range ends (frame {}) before it begins (frame {})", last, first))
        joints = _selected_ids(rig, selected_bones(context, rig)) if self.servos == "SELECTED" else set()
        if self.servos == "SELECTED" and not joints:
            raise ValueError("No servo is selected: select bones, joints or bodies, or choose All")
        return SampleOptions(
            servos=self.servos,
            selected=frozenset(joints),
            keys=self.keys,
            step=FRAME_SECONDS if format_id == "xmdi" else round(self.step, 6) / 1000.0,
            grid=TIME_GRIDS.get(format_id),
            first=first,
            last=last,
            stops=self.stops,
            tolerance=self.tolerance,
            units=self._units(rig),
            format=format_id,
        )

    def _has(self, end: str) -> bool:
        """Return whether an end of the range is set: by the checkbox, or by a script through the property."""
        return self.use_range or (not self._asked and self.properties.is_property_set(end))

    def _units(self, rig: bpy.types.Object) -> Units | None:
        """Return the chosen units; None for those of the source file, which also replace a single one not chosen."""
        if self.angle_unit == self.length_unit == "AS_READ":
            return None
        read = file_units(rig) or Units()
        return Units(
            read.angle if self.angle_unit == "AS_READ" else self.angle_unit,
            read.length if self.length_unit == "AS_READ" else self.length_unit,
        )

    def _taken(
        self, context: bpy.types.Context, rig: bpy.types.Object, options: SampleOptions, report: Report
    ) -> list[Motion]:
        motions: list[Motion] = []
        if self.motions == "ALL":
            actions = motion_actions(rig)
            if not actions:
                raise ValueError("No Action keys a servo of this mechanism")
            if len({_action_units(action) for action in actions}) > 1 and options.units is None:
                options = replace(options, units=Units())  # one file, one unit
            for action in actions:
                with temporary_action(rig, action):
                    motion, taken = read_motion(rig, context.scene, replace(options, by_keys=True))
                if motion.name in {each.name for each in motions} and not _is_own_name(action, motion, actions):
                    motion.name = action.name  # unique in the .blend
                motions.append(motion)
                report.entries += [_entry_of_motion(motion, entry) for entry in taken.entries]
            return motions
        motion, taken = read_motion(rig, context.scene, options, self._physical(context, rig))
        report.extend(taken)
        return [motion]

    def _physical(self, context: bpy.types.Context, rig: bpy.types.Object) -> PhysicsTracks | None:
        """Simulate the mechanism and return its recorded joint values; None if the bodies follow keyframes.

        Frames that the user had simulated before are simulated again afterwards.

        Raises:
            ValueError: If the mechanism is linked from another file.
        """
        if bodies_follow_keys(rig):
            return None
        if is_foreign(rig):
            raise ValueError(
                Message(
                    "{} is linked from another file, where Drive is not Keyframes: physics cannot run here. Make it "
                    "local first (Object > Relations > Make Local > All)",
                    repr(rig.name),
                )
            )
        last = self.frame_end if self._has("frame_end") else None
        shown = shown_frames(context.scene)
        windows = context.window_manager

        def came_to(done: int, total: int) -> None:
            windows.progress_update(100 * done // max(total + len(shown), 1))

        windows.progress_begin(0, 100)
        try:
            recording = record(context.scene, rig, last, came_to)
            for done, frame in enumerate(shown, 1):  # recording discarded the user's simulation
                context.scene.frame_set(frame)
                came_to(len(recording.frames) + done, len(recording.frames))
        finally:
            windows.progress_end()
        return recorded_coordinates(rig, recording)


def _selected_ids(rig: bpy.types.Object, bones: Collection[str]) -> set[str]:
    """Return the ids of the joints, and the keys of the roots, that the given bones pose."""
    return joints_of_bones(rig, bones) | {root for root, own in root_channels(rig).items() if own[0].bone in bones}


def _is_own_name(action: bpy.types.Action, motion: Motion, actions: Sequence[bpy.types.Action]) -> bool:
    """Return whether a motion keeps a name that others have too, because they share it in their file.

    True if all Actions with this name come from the same file, each from a different motion of it.
    """
    places = [_file_index(each) for each in actions if action_record(each).motion == motion.name]
    own = _file_index(action)
    return own is not None and len({place[0] for place in places if place}) == 1 and len(set(places)) == len(places)


def _file_index(action: bpy.types.Action) -> tuple[str, int] | None:
    """Return the path of an Action's source file and the index of its motion in it; None without a source."""
    origins = action_record(action).origins
    return (origins[0].path, origins[0].index) if len(origins) else None


def _entry_of_motion(motion: Motion, entry: Entry) -> Entry:
    """Return a copy of a report entry that names its motion in message and location."""
    return replace(entry, message=f"{motion.name}: {entry.message}", where=f"{motion.name}/{entry.where}".rstrip("/"))


def _action_units(action: bpy.types.Action) -> Units:
    origins = action_record(action).origins
    return Units(origins[0].angle, origins[0].length) if len(origins) else Units()


def file_units(rig: bpy.types.Object) -> Units | None:
    """Return the units of the source file of the active Action; None without an Action."""
    action = active_action(rig)
    return _action_units(action) if action is not None else None


def _action_source(rig: bpy.types.Object) -> Any:
    """Return the active Action's record of its source file; None without one."""
    action = active_action(rig)
    origins = action_record(action).origins if action is not None else ()
    return origins[0] if len(origins) else None


def _action_extension(rig: bpy.types.Object) -> str:
    """Return the extension of the active Action's source file; that of the first motion format without one."""
    origin = _action_source(rig)
    suffix = Path(origin.path).suffix.lower() if origin is not None else ""
    return suffix if suffix in MOTION_EXTENSIONS else MOTION_EXTENSIONS[0]


def _motion_name(rig: bpy.types.Object) -> str:
    action = active_action(rig)
    return action.name if action is not None else record_of(rig).source_name or rig.name


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entry of File > Export."""
    self.layout.operator(EXPORT_ANIM_OT_servo_motion.bl_idname, text=menu_label())


CLASSES = (EXPORT_ANIM_OT_servo_motion,)
