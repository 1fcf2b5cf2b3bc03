"""From any scene with a model to a picture or a video that one would show to somebody."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace

import bpy
import numpy as np

from ...model.report import FormatError, Report
from ..access import record_of
from ..properties import registered
from .cast import hire, pose
from .engines import WORKBENCH, set_up_engine, set_up_picture
from .framing import Shot, plan_shot
from .options import FilmOptions
from .stage import add_camera, build_stage, floor_height, key_direction
from .studio import Studio
from .take import Schedule, Take, record, schedule
from .video import encode

#: A model without any size is filmed as if it had this.
LEAST_EXTENT = 1e-3


def film(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions | None = None
) -> Report:
    """Film ``objects`` (what hides from renders is left out, visible children come along) of the context's
    scene into ``path``: .mp4 for a video of the frame range, .png for a poster of one frame.

    The scene is played from its start, so physics and drives do what they do; it is otherwise only read.
    Raises FormatError for what cannot be filmed; whatever ``options.progress`` raises passes through."""
    options = options or FilmOptions()
    filming = film_steps(context, objects, path, options)
    while True:
        try:
            done, total = next(filming)
        except StopIteration as end:
            return end.value
        if options.progress is None:
            continue
        try:
            options.progress(done, total)
        except BaseException:
            filming.close()
            raise


def film_steps(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions
) -> Generator[tuple[int, int], None, Report]:
    """The same as a generator that pauses after every step with (done, total), for callers that want to
    look after the user meanwhile. ``close()`` cancels it and leaves everything as it was."""
    options.check()
    objects, options = _set_aside(objects, options)
    report = Report()
    poster = wants_poster(path)
    size = options.size if poster else even(options.size, report)
    plan = schedule(context.scene, options.frame_start, options.frame_end, options.fps, poster, options.poster_frame)
    began = time.perf_counter()
    done, total = 0, plan.played + len(plan.filmed) + (not poster)
    take = Take()
    with closing(record(context, objects, options.scenery, plan, take, report)) as frames:
        for _ in frames:
            done += 1
            yield done, total
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as folder:
        pictures = []
        with closing(shoot(context, take, size, options, folder)) as shots:
            for picture in shots:
                pictures.append(picture)
                done += 1
                yield done, total
        result = pictures[0]
        if not poster:
            result = os.path.join(folder, "film.mp4")
            encode(pictures, size, plan.fps, result)
        deliver(result, path)
    if not poster:
        yield total, total
    tell(report, path, size, plan, options, time.perf_counter() - began)
    return report


def _set_aside(
    objects: Sequence[bpy.types.Object], options: FilmOptions
) -> tuple[Sequence[bpy.types.Object], FilmOptions]:
    """Count the floors and walls of a model with the scenery, unless it is nothing else."""
    if not registered():  # then they are nobody's model
        return objects, options
    cast = [obj for obj in objects if not record_of(obj).scenery]
    aside = [obj for obj in objects if record_of(obj).scenery]
    if not cast or not aside:
        return objects, options
    return cast, replace(options, scenery=[*options.scenery, *aside])


def shoot(
    context: bpy.types.Context, take: Take, size: tuple[int, int], options: FilmOptions, folder: str
) -> Generator[str, None, None]:
    """The second pass: render the take with stand-ins on a stage; yields the picture files in order."""
    shot = direct(take, size, options)
    corners = take.corners()
    extent = max(float(np.linalg.norm(np.ptp(corners, axis=1), axis=1).max()), LEAST_EXTENT)
    ground = options.ground
    if ground is None:
        ground = floor_height(float(corners[..., 2].min()), extent)
        floors = take.corners(scenery=True)[..., 2]
        if floors.size:  # a model's own floor is not to flicker in ours
            ground = min(ground, float(floors.min())) - 0.002 * extent
    with Studio() as studio:
        set_up_picture(studio.scene, size)
        set_up_engine(
            studio.scene, options.engine, options.samples_for(len(take.frames) == 1), extent, key_direction(shot)
        )
        build_stage(studio, shot, extent, ground, options.engine)
        camera = add_camera(studio, shot)
        actors = hire(studio, take, context.evaluated_depsgraph_get(), options.engine != WORKBENCH)
        for index in range(len(take.frames)):
            camera.location = shot.positions[index]
            pose(actors, take.poses[index])
            picture = os.path.join(folder, f"{index:06d}.png")
            studio.render(picture)
            yield picture


def direct(take: Take, size: tuple[int, int], options: FilmOptions) -> Shot:
    """The camera work for a take."""
    corners = take.corners()
    lows, highs = corners.min(axis=1), corners.max(axis=1)
    return plan_shot(lows, highs, corners, size, take.fps, options.heading, options.camera == "FOLLOW")


def wants_poster(path: str) -> bool:
    """Whether the path asks for one picture."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".png", ".mp4"):
        raise FormatError(
            f"a film cannot be written as {suffix or 'a file without ending'}",
            path=path,
            remedy="Name it .mp4 for a video or .png for a poster.",
        )
    return suffix == ".png"


def even(size: tuple[int, int], report: Report) -> tuple[int, int]:
    """The size that H.264 can hold: both sides even."""
    width, height = size
    if width % 2 or height % 2:
        report.info("film-size", f"{width}x{height} made even for the video")
    return width - width % 2, height - height % 2


def deliver(result: str, path: str) -> None:
    """Move the finished file to its place, making the folder if needed: half a film is never seen there."""
    if not os.path.isfile(result) or os.path.getsize(result) == 0:
        raise FormatError("Blender wrote no picture", path=path, remedy="Look at its messages on the terminal.")
    target = os.path.abspath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(result, target + ".part")
        os.replace(target + ".part", target)
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror}", path=path, remedy="Choose another place.") from error


def tell(
    report: Report, path: str, size: tuple[int, int], plan: Schedule, options: FilmOptions, seconds: float
) -> None:
    """Say what was made."""
    count = len(plan.filmed)
    what = "a poster" if path.lower().endswith(".png") else f"{count} frames at {plan.fps:g} per second"
    report.info("film", f"{what}, {size[0]}x{size[1]}, {options.engine.capitalize()}, in {seconds:.1f} s", where=path)
