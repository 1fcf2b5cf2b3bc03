"""From numbered pictures to a video file."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction

import bpy

from ...core.report import FormatError, Report
from ...formats.text.file_io import cannot_write, must_be_writable
from ..compat import render_path, strips_of
from ..data.access import record_of
from ..data.properties.model import registered
from ..progress import Step
from .encoding import deliver, ending_of, put_index_first, wants_poster
from .engines import plain_colours, set_up_video
from .frames import FrameFolder, shoot, shoot_poster
from .images import LOOPS, must_suit_loop, picture_size, save_loop, save_sheet
from .options import VIDEOS, FilmOptions
from .playback import Schedule, models_of, play, schedule, takes_wanted
from .stage import burns, set_stage
from .temporary_studio import Studio
from .video_state import Reel, print_of, stages_of


def encode(folder: str, out: str, fps: float, frames: int | None = None) -> int:
    """Make a video of ``fps`` frames per second of the pictures in ``folder`` (000001.png and so on, as
    ``render_frames`` names them): H.264 in .mp4, VP9 in .webm, or a .webp or .gif that repeats; how many frames it has.
    ``frames``: so many of them, whatever else an earlier film left behind; all without it.

    FormatError where there are none or some between are missing, and for another ending."""
    pictures = pictures_in(folder, frames)
    ending = ending_of(out)
    if ending not in VIDEOS:
        raise FormatError(
            "a video cannot be written as one picture", path=out, remedy="Name it .mp4, .webm, .webp or .gif."
        )
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as room:
        result = os.path.join(room, f"film{ending}")
        try:
            if ending in LOOPS:
                save_loop(pictures, result, fps)
            else:
                splice(pictures, result, fps)
            if ending == ".mp4":
                put_index_first(result)
        except OSError as error:
            raise cannot_write(error, out) from error
        deliver(result, out)
    return len(pictures)


def pictures_in(folder: str, frames: int | None = None) -> list[str]:
    """The frames in a folder, in order, without gaps: the first so many, or all."""
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d{6}\.png", name))
    names = [name for name in names if frames is None or int(name[:6]) <= frames]
    if not names:
        raise FormatError("there are no frames", path=folder, remedy="Render some first.")
    missing = sorted(set(range(1, (frames or int(names[-1][:6])) + 1)) - {int(name[:6]) for name in names})
    if missing:
        raise FormatError(f"frame {missing[0]} is missing", path=folder, remedy="Render it, then encode again.")
    return [os.path.join(folder, name) for name in names]


def splice(pictures: Sequence[str], path: str, fps: float) -> None:
    """Write ``pictures``, all of one size, as a video to ``path``."""
    with Studio("Knuckle Cutting Room") as room:
        scene = room.scene
        scene.render.resolution_x, scene.render.resolution_y = picture_size(pictures[0])
        scene.render.resolution_percentage = 100
        scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0
        scene.render.use_sequencer = True
        scene.render.use_compositing = False
        scene.render.use_file_extension = False
        scene.render.use_overwrite = True
        scene.frame_start, scene.frame_end = 1, len(pictures)
        set_rate(scene, fps)
        plain_colours(scene)
        set_up_video(scene, ending_of(path))
        strip = strips_of(scene.sequence_editor_create()).new_image("Pictures", pictures[0], 1, 1)
        for picture in pictures[1:]:
            strip.elements.append(os.path.basename(picture))
        scene.render.filepath = render_path(path)
        room.render_animation()
        scene.sequence_editor_clear()


def set_rate(scene: bpy.types.Scene, fps: float) -> None:
    """Frames per second as Blender keeps them: a whole number over a base."""
    ratio = Fraction(fps).limit_denominator(1001)
    whole = max(1, round(float(ratio)))
    scene.render.fps = whole
    scene.render.fps_base = whole / float(ratio)


Steps = Generator[Step, None, Report]


def film(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions | None = None
) -> Report:
    """Film ``objects`` (what hides from renders is left out, visible children come along) of the context's
    scene into ``path``: .mp4, .webm, .webp or .gif for a video of the frame range, .png for a poster of one frame.

    The scene is played from its start, so physics and drives do what they do; it is otherwise only read.
    Raises FormatError for what cannot be filmed; whatever ``options.progress`` raises passes through."""
    options = options or FilmOptions()
    filming = film_steps(context, objects, path, options)
    while True:
        try:
            done, total = next(filming)[:2]
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
) -> Steps:
    """Film as ``film`` does, pausing after every step, for callers that want to look after the user meanwhile.

    ``close()`` cancels it and leaves everything as it was, save the frames of a video that are done: they stay beside
    it in a folder, and the same film with ``resume`` goes on with them.
    """
    options.check()
    poster = wants_poster(path)
    for each in filter(None, (path, options.sheet, options.poster)):
        must_be_writable(each)
    objects, options = set_aside(objects, options)
    report = Report()
    size = options.size if poster else even(options.size, report)
    plan = schedule(context.scene, options, poster)
    if ending_of(path) in LOOPS:
        must_suit_loop(path, plan.fps)
    began = time.perf_counter()
    played = plan.played * len(takes_wanted(options))
    extras = bool(options.sheet) + bool(options.poster) if not poster else 0
    done, total = played, played + len(plan.filmed) + (1 + extras if not poster else 0)
    with ExitStack() as stack:
        takes = yield from play(context, objects, plan, options, report, total)
        if not poster and not any(take.moves() for _, take in takes):
            report.warn("film-still", "Nothing moves in these frames: give the mechanism a motion, or physics")
        reel = reel_for(context, objects, plan, size, options)
        scene = set_stage(stack, context, takes, reel, options, poster)[0]
        if poster:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="knuckle-film-"))
            deliver(next(shoot(scene, range(1, 2), folder)), path)
            yield Step(total, total)
        else:
            frames = FrameFolder(path)
            there = frames.begin(print_of(stages_of(scene)), reel.frames, size, reel.fps, options.resume)
            if there:
                report.info("film-resumed", f"{len(there)} of {reel.frames} frames were there already")
            done += len(there)
            for frame in range(1, reel.frames + 1):
                if frame not in there:
                    with closing(shoot(scene, range(frame, frame + 1), str(frames.path))) as shots:
                        next(shots)
                    done += 1
                    yield Step(done, total, "", frame, reel.frames, (done - played) / (total - played))
            for step in finish(scene, frames, path, reel, options):
                done += step
                yield Step(done, total, "", reel.frames, reel.frames, (done - played) / (total - played))
    tell(report, path, size, plan, options, time.perf_counter() - began)
    return report


def finish(
    scene: bpy.types.Scene, frames: FrameFolder, path: str, reel: Reel, options: FilmOptions
) -> Generator[int, None, None]:
    """Make of the frames all that is wished for; yields 1 after each thing that is done."""
    pictures = pictures_in(str(frames.path), reel.frames)
    if options.sheet:
        save_sheet(pictures, options.sheet)
        yield 1
    if options.poster:
        shoot_poster(scene, options.poster)
        yield 1
    encode(str(frames.path), path, reel.fps, reel.frames)
    if not options.keep_frames:
        frames.empty()
    yield 1


def set_aside(
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


def reel_for(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    plan: Schedule,
    size: tuple[int, int],
    options: FilmOptions,
) -> Reel:
    """Return what the stage is to know of the film."""
    scene = context.scene
    rate = scene.render.fps / scene.render.fps_base
    names = [record_of(rig).source_name or rig.name for rig in models_of(objects)]
    middle = (plan.filmed[0] + plan.filmed[-1]) // 2 if options.poster_frame is None else options.poster_frame
    nearest = min(range(len(plan.filmed)), key=lambda index: abs(plan.filmed[index] - middle))
    return Reel(
        frames=len(plan.filmed),
        fps=plan.fps,
        size=size,
        start=(plan.filmed[0] - scene.frame_start) / rate,
        name=", ".join(names),
        burn=burns(options),
        poster=nearest + 1,
        poster_samples=options.samples_for(poster=True),
        look=options.look(),
    )


def even(size: tuple[int, int], report: Report) -> tuple[int, int]:
    """The size that H.264 can hold: both sides even."""
    width, height = size
    if width % 2 or height % 2:
        report.info("film-size", f"{width}x{height} made even for the video")
    return width - width % 2, height - height % 2


def tell(
    report: Report, path: str, size: tuple[int, int], plan: Schedule, options: FilmOptions, seconds: float
) -> None:
    """Say what was made."""
    count = len(plan.filmed)
    what = "a poster" if path.lower().endswith(".png") else f"{count} frames at {plan.fps:g} per second"
    report.info("film", f"{what}, {size[0]}x{size[1]}, {options.engine.capitalize()}, in {seconds:.1f} s", where=path)


def preview_steps(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions
) -> Generator[Step, None, Report]:
    """Render the frame of a film that is nearest to the scene's present one to the .png ``path``, pausing at each step.

    The whole film is played for it, since the camera is to see all of that.
    """
    options.check()
    report = Report()
    objects, options = set_aside(objects, options)
    plan = schedule(context.scene, options, poster=False)
    now = context.scene.frame_current
    total = plan.played * len(takes_wanted(options)) + 1
    with ExitStack() as stack:
        takes = yield from play(context, objects, plan, options, report, total)
        reel = reel_for(context, objects, plan, options.size, options)
        scene = set_stage(stack, context, takes, reel, options, poster=False)[0]
        frame = 1 + min(range(reel.frames), key=lambda index: abs(plan.filmed[index] - now))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="knuckle-film-"))
        deliver(next(shoot(scene, range(frame, frame + 1), folder)), path)
    yield Step(total, total)
    return report


def frames_of(scene: bpy.types.Scene, options: FilmOptions) -> tuple[int, float]:
    """Return how many frames a video of a scene has, and its rate. FormatError for what cannot be filmed."""
    options.check()
    plan = schedule(scene, options, poster=False)
    return len(plan.filmed), plan.fps
