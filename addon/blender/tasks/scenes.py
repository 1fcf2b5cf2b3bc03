"""Scene tasks: models and motions loaded into empty scenes, .blend files of them, and progress on standard error."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import bpy

from ... import formats
from ...core.gait.engine import report_inputs
from ...core.model import Mechanism, Motion
from ...core.report import FormatError, Report
from ...formats.text.file_io import disk_full_error, replacement_file
from ..animation import Units, apply
from ..animation.gait import bake_gait, current_gait
from ..data import preferences
from ..data.access import settings
from ..data.properties import model as properties
from ..data.properties.model import input_property_name
from ..data.queries import rig_in
from ..physics.world.rigidbody_world import FRAME_RATE, frame_rate
from ..reconcile.build import BuildOptions, build
from ..rendering.encoding import is_complete_blend
from ..rendering.temporary_studio import stdout_silenced


class ConsoleProgress:
    """Progress on standard error: a single updated line on a terminal, a line per tenth in a log."""

    #: Suppress all progress: with ``--quiet``, and in worker processes.
    quiet = False
    #: Ctrl-C was pressed. Blender swallows the exception where it calls a handler of ours, so the next step raises it.
    stopped = False

    def __init__(self, what: str) -> None:
        self._what = what
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        """Print the progress, unless quiet.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if ConsoleProgress.stopped:
            raise KeyboardInterrupt
        if ConsoleProgress.quiet:
            return
        tenth = 10 * done // max(total, 1)
        if sys.stderr.isatty():
            print(f"\r{self._what} {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif tenth != self._last:
            self._last = tenth
            print(f"{self._what} {done}/{total}", file=sys.stderr, flush=True)


#: Constant values of a gait's inputs, by name.
InputMapping = Mapping[str, float]


def open_empty_scene() -> bpy.types.Scene:
    """Open an empty file and return its scene.

    It simulates in its own world, with as many frames per second as servos are controlled: no user works in it.
    """
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)  # keeps add-ons enabled, including Knuckle
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FRAME_RATE, 1.0
    properties.register()
    scene.knuckle_simulate_here = True  # type: ignore[attr-defined]
    return scene


def all_mesh_folders(given: Sequence[str]) -> tuple[str, ...]:
    """Return the folders in which meshes are searched: those of the preferences and those given."""
    return (*preferences.mesh_folders(), *given)


def import_model_file(
    scene: bpy.types.Scene, path: Path, gait_seconds: float = 10.0, mesh_folders: Sequence[str] = ()
) -> tuple[bpy.types.Object, Report]:
    """Import a model file.

    Args:
        scene: The scene.
        path: The model file.
        gait_seconds: Duration (s) of the gait that is baked.
        mesh_folders: Mesh folders besides those of the preferences.

    Returns:
        Its armature and its report.
    """
    mechanism = formats.load(path)
    options = BuildOptions(gait_seconds=gait_seconds, mesh_folders=all_mesh_folders(mesh_folders))
    collection = build(mechanism, bpy.context, options)
    rig = rig_in(collection)
    assert rig is not None
    return rig, mechanism.report


def apply_gait_inputs(rig: bpy.types.Object, inputs: InputMapping, report: Report) -> None:
    """Set inputs of a model's gait to constant values; the report warns of those that it does not read."""
    for name, value in inputs.items():
        setattr(settings(rig).controls, input_property_name(name), value)
    report_inputs(current_gait(rig), inputs, report)


def key_motion(rig: bpy.types.Object, path: Path, scene: bpy.types.Scene) -> Report:
    """Load a motion file and apply it to a model: each of its motions as an Action, of which the first plays."""
    motions, report = formats.read_motions(path)
    key_motions(rig, motions, scene, report)
    return report


def key_motions(
    rig: bpy.types.Object,
    motions: Sequence[Motion],
    scene: bpy.types.Scene,
    report: Report,
    units: Units | None = None,
    mapping: Mapping[str, str] | None = None,
) -> None:
    """Apply motions to a model, each as an Action, of which the first plays."""
    for motion in reversed(motions):
        report.extend(apply(motion, rig, scene, units=units, mapping=mapping)[1])


def save_blend(path: Path) -> None:
    """Save a copy of the open file as a .blend, which replaces an old one only once it is complete.

    Raises:
        FormatError: There is no such folder, Blender cannot save it, or it is incomplete.
    """
    path = path.resolve()
    if not path.parent.is_dir():
        raise FormatError("the folder does not exist", path=str(path.parent), remedy="Create it, or choose another.")
    try:
        with stdout_silenced(), replacement_file(path, ".blend") as beside:
            os.remove(beside)  # Blender would keep a backup of an existing file
            bpy.ops.wm.save_as_mainfile(filepath=beside, check_existing=False, copy=True)
            if not is_complete_blend(beside):
                raise disk_full_error()
    except RuntimeError as error:  # Blender's own message
        raise FormatError(f"Blender could not save it: {error}".strip(), path=str(path)) from error


def import_to_blend(
    files: Sequence[Path], blend: Path, motion: Path | None, mesh_folders: Sequence[str] = ()
) -> list[Report]:
    """Import model files into one new .blend; return the reports."""
    mechanisms = [formats.load(path) for path in files]  # a bad file raises before anything is built
    scene = open_empty_scene()
    options = BuildOptions(mesh_folders=all_mesh_folders(mesh_folders))
    collections = [build(mechanism, bpy.context, options) for mechanism in mechanisms]
    reports = [mechanism.report for mechanism in mechanisms]
    if motion is not None:
        rig = rig_in(collections[0])
        assert rig is not None
        reports.append(key_motion(rig, motion, scene))
    save_blend(blend)
    return reports


def animate_to_blend(
    mechanism: Mechanism,
    blend: Path,
    motions: Sequence[Motion],
    seconds: float,
    inputs: InputMapping,
    mesh_folders: Sequence[str] = (),
    units: Units | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Report:
    """Build a model in a new .blend that plays motions, the first of several, or its own gait without any.

    ``units`` and ``mapping`` of the motions are as in ``animation.apply``.

    Returns:
        What building and keyframing add to the report of reading.
    """
    scene = open_empty_scene()
    entry_count = len(mechanism.report.entries)
    options = BuildOptions(gait_seconds=seconds, mesh_folders=all_mesh_folders(mesh_folders))
    rig = rig_in(build(mechanism, bpy.context, options))
    assert rig is not None
    report = Report(mechanism.report.entries[entry_count:])
    key_motions(rig, motions, scene, report, units, mapping)
    if not motions:
        scene.frame_end = scene.frame_start + math.ceil(seconds * frame_rate(scene) - 1e-6)
        for name, value in inputs.items():
            setattr(settings(rig).controls, input_property_name(name), value)
        if inputs:
            data = rig.animation_data
            if data is not None and data.action is not None:
                bpy.data.actions.remove(data.action)  # the gait with all inputs at 0
            bake_gait(scene, rig, scene.frame_start, scene.frame_end)
    settings(rig).drive = "KEYS"
    save_blend(blend)
    return report
