"""Filming in parts that may run in different processes, one after another or on many machines: prepare a stage, render
ranges of its frames, encode them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

import bpy

from ...model.report import FormatError, Report
from ..model_parts import parts, rig_in
from .delivery import deliver
from .filming import even, reel_for, set_aside
from .options import FilmOptions
from .playing import play
from .reel import Reel, is_stage, stages_of
from .setting import set_stage
from .take import schedule


def prepare(
    collection: bpy.types.Collection,
    context: bpy.types.Context,
    options: FilmOptions,
    blend: str,
    report: Report | None = None,
) -> Reel:
    """Play the scene in context, set the stage for the model of ``collection`` and save that stage alone to the file
    ``blend``; what it knows of its film: how many ``frames``, ``fps``, ``size``. The open file stays as it was.

    ``open_stage`` brings it back, ``render_frames(scene, first, last, folder)`` renders some of its frames and
    ``encode(folder, out, fps)`` makes the video. FormatError where there is nothing to film."""
    options.check()
    report = Report() if report is None else report
    rig = rig_in(collection)
    if rig is None:
        raise FormatError(f"the collection {collection.name!r} holds no mechanism", remedy="Import one.")
    objects, options = set_aside(parts(rig, "BODY"), options)
    size = even(options.size, report)
    plan = schedule(context.scene, options, poster=False)
    with ExitStack() as stack:
        with closing(play(context, objects, plan, options, report)) as playing:
            takes = [take for take in playing if take is not None]
        reel = reel_for(context, objects, plan, size, options)
        scenes = set_stage(stack, context, takes, reel, options, poster=False)
        save_stage(scenes, blend)
        return reel


def save_stage(scenes: Sequence[bpy.types.Scene], blend: str) -> None:
    """Save stages, and nothing else of the open file, to the file ``blend``."""
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as room:
        result = os.path.join(room, "stage.blend")
        bpy.data.libraries.write(result, set(scenes), path_remap="ABSOLUTE", compress=True)
        deliver(result, blend)


def open_stage(blend: str) -> bpy.types.Scene:
    """The stage that ``prepare`` saved, brought into the open file. FormatError where the file holds none."""
    if not os.path.isfile(blend):
        raise FormatError("there is no such file", path=blend, remedy="Check the name.")
    try:
        library: Any = bpy.data.libraries.load(blend)
        with library as (there, here):
            here.scenes = list(there.scenes)
    except OSError as error:
        raise FormatError("Blender cannot read it", path=blend) from error
    stages = [scene for scene in here.scenes if scene is not None and is_stage(scene)]
    shown = {beside for scene in stages for beside in stages_of(scene)[1:]}
    first = next((scene for scene in stages if scene not in shown), None)
    if first is None:
        raise FormatError("there is no stage in it", path=blend, remedy="Prepare the film anew.")
    return first
