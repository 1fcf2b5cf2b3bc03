"""Farm jobs: prepare a stage, render chunks of its frames and encode them, each in any process or on any machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy

from ...core.report import FormatError, Message, Report
from ...formats.text.file_io import disk_full_error, write_error
from ..data.queries import parts, rig_in
from .encoding import is_complete_blend, move_into_place
from .options import FilmOptions
from .playback import make_schedule, play_takes, run_to_completion
from .stage import build_stages
from .video import even_size, make_video_state, separate_scenery
from .video_state import VideoState, is_stage, linked_stages


def prepare(
    model: bpy.types.Collection | bpy.types.Object,
    context: bpy.types.Context,
    options: FilmOptions,
    blend: str,
    report: Report | None = None,
) -> VideoState:
    """Play the scene in context, build the stage for a mechanism and save that alone to the file ``blend``.

    ``open_stage`` loads it, ``render_frames(scene, first, last, folder)`` renders some of its frames and
    ``encode(folder, out, fps)`` makes the video. The open file stays as it was.

    Returns:
        State of the video: how many ``frames``, ``fps``, ``size``.

    Raises:
        FormatError: If there is nothing to render.
    """
    options.check()
    report = Report() if report is None else report
    rig = model if isinstance(model, bpy.types.Object) else rig_in(model)
    if rig is None:
        raise FormatError(f"collection {model.name!r} has no mechanism", remedy="Import one.")
    objects, options = separate_scenery(parts(rig, "BODY"), options)
    size = even_size(options.size, report)
    plan = make_schedule(context.scene, options, poster=False)
    with ExitStack() as stack:
        takes = run_to_completion(play_takes(context, objects, plan, options, report))
        video = make_video_state(context, objects, plan, size, options)
        scenes = build_stages(stack, context, takes, video, options, poster=False)
        save_stage(scenes, blend, report)
        return video


def save_stage(scenes: Sequence[bpy.types.Scene], blend: str, report: Report) -> None:
    """Save stages with their textures, and nothing else of the open file, to the file ``blend``."""
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as room, images_packed(stage_textures(scenes), report):
        result = os.path.join(room, "stage.blend")
        bpy.data.libraries.write(result, set(scenes), path_remap="ABSOLUTE", compress=True)
        if not is_complete_blend(result):
            raise write_error(disk_full_error(), blend)
        move_into_place(result, blend)


def stage_textures(scenes: Sequence[bpy.types.Scene]) -> list[bpy.types.Image]:
    """Return the images that the materials of stages show, each once."""
    materials = {slot.material for scene in scenes for thing in scene.objects for slot in thing.material_slots}
    trees = [material.node_tree for material in materials if material is not None and material.node_tree is not None]
    found: dict[bpy.types.Image, None] = {}
    seen = set(trees)
    while trees:
        for node in trees.pop().nodes:
            image, inner = getattr(node, "image", None), getattr(node, "node_tree", None)
            if image is not None:
                found[image] = None
            if inner is not None and inner not in seen:
                seen.add(inner)
                trees.append(inner)
    return sorted(found, key=lambda image: image.name)


@contextmanager
def images_packed(images: Sequence[bpy.types.Image], report: Report) -> Iterator[None]:
    """Pack images into the file while it is saved: other machines do not have theirs.

    The report warns of those that stay outside.
    """
    done: list[bpy.types.Image] = []
    try:
        for image in images:
            if image.source == "GENERATED" or image.packed_file is not None:
                continue
            try:
                if image.library is not None or image.is_dirty or image.source not in ("FILE", "TILED"):
                    raise RuntimeError
                image.pack()
            except RuntimeError:
                report.warn(
                    "film-texture",
                    Message("Image {}: not packed into the stage, it is missing on other machines", repr(image.name)),
                )
            else:
                done.append(image)
        yield
    finally:
        for image in done:
            image.unpack(method="REMOVE")


def open_stage(blend: str) -> bpy.types.Scene:
    """Load the stage that ``prepare`` saved into the open file.

    Raises:
        FormatError: If there is no such file, Blender cannot read it, or it has no stage.
    """
    if not os.path.isfile(blend):
        raise FormatError("the file does not exist", path=blend, remedy="Check the name.")
    try:
        library: Any = bpy.data.libraries.load(blend)
        with library as (there, here):
            here.scenes = list(there.scenes)
    except OSError as error:
        raise FormatError("Blender cannot read it", path=blend) from error
    stages = [scene for scene in here.scenes if scene is not None and is_stage(scene)]
    shown = {beside for scene in stages for beside in linked_stages(scene)[1:]}
    first = next((scene for scene in stages if scene not in shown), None)
    if first is None:
        raise FormatError("the file has no stage", path=blend, remedy="Prepare the video again.")
    return first
