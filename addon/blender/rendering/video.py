"""Videos, posters and previews of any scene with a mechanism, and encoding of numbered pictures."""

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

from ...core.report import FormatError, Message, Report, count_with_noun
from ...formats.text.file_io import check_writable, write_error
from ..compat import render_path, sequencer_strips
from ..data.access import record_of
from ..data.properties.model import are_properties_registered
from ..progress import WorkStep
from .encoding import file_ending, is_poster_path, move_index_to_front, move_into_place
from .engines import set_standard_colors, set_up_video
from .frames import FrameFolder, iter_rendered_frames, render_poster
from .images import LOOP_FORMATS, png_size, require_loop_rate, save_loop, save_sheet
from .options import VIDEO_ENDINGS, FilmOptions
from .playback import Schedule, make_schedule, play_takes, requested_takes, rigs_of_objects
from .stage import build_stages, ordered_burns
from .temporary_studio import Studio
from .video_state import VideoState, linked_stages, scene_fingerprint


def encode(folder: str, out: str, fps: float, frames: int | None = None) -> int:
    """Encode the pictures in ``folder`` (000001.png and so on, see ``render_frames``) as a video; return their count.

    Args:
        folder: Folder with the pictures.
        out: Path of the video: H.264 in .mp4, VP9 in .webm, or a .webp or .gif that repeats.
        fps: Frames per second.
        frames: Number of frames; frames after it, such as those of an earlier video, are ignored. None: all.

    Raises:
        FormatError: If there are no frames, some in between are missing, or the extension is another.
    """
    pictures = frame_pictures(folder, frames)
    ending = file_ending(out)
    if ending not in VIDEO_ENDINGS:
        raise FormatError(
            "a video cannot be written as one image", path=out, remedy="Name it .mp4, .webm, .webp or .gif."
        )
    with tempfile.TemporaryDirectory(prefix="knuckle-film-") as room:
        result = os.path.join(room, f"film{ending}")
        try:
            if ending in LOOP_FORMATS:
                save_loop(pictures, result, fps)
            else:
                join_pictures(pictures, result, fps)
            if ending == ".mp4":
                move_index_to_front(result)
        except OSError as error:
            raise write_error(error, out) from error
        move_into_place(result, out)
    return len(pictures)


def frame_pictures(folder: str, frames: int | None = None) -> list[str]:
    """Return the paths of the frames in a folder, in order: the first ``frames``, or all.

    Raises:
        FormatError: If there are none, or one is missing.
    """
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d{6}\.png", name))
    names = [name for name in names if frames is None or int(name[:6]) <= frames]
    if not names:
        raise FormatError("there are no frames", path=folder, remedy="Render some first.")
    missing = sorted(set(range(1, (frames or int(names[-1][:6])) + 1)) - {int(name[:6]) for name in names})
    if missing:
        raise FormatError(f"frame {missing[0]} is missing", path=folder, remedy="Render it, then encode again.")
    return [os.path.join(folder, name) for name in names]


def join_pictures(pictures: Sequence[str], path: str, fps: float) -> None:
    """Encode ``pictures``, all of one size, as a video at ``path``."""
    with Studio("Knuckle Cutting Room") as room:
        scene = room.scene
        scene.render.resolution_x, scene.render.resolution_y = png_size(pictures[0])
        scene.render.resolution_percentage = 100
        scene.render.pixel_aspect_x = scene.render.pixel_aspect_y = 1.0
        scene.render.use_sequencer = True
        scene.render.use_compositing = False
        scene.render.use_file_extension = False
        scene.render.use_overwrite = True
        scene.frame_start, scene.frame_end = 1, len(pictures)
        set_video_rate(scene, fps)
        set_standard_colors(scene)
        set_up_video(scene, file_ending(path))
        strip = sequencer_strips(scene.sequence_editor_create()).new_image("Pictures", pictures[0], 1, 1)
        for picture in pictures[1:]:
            strip.elements.append(os.path.basename(picture))
        scene.render.filepath = render_path(path)
        room.render_animation()
        scene.sequence_editor_clear()


def set_video_rate(scene: bpy.types.Scene, fps: float) -> None:
    """Set a scene's frames per second as Blender stores them: a whole number over a base."""
    ratio = Fraction(fps).limit_denominator(1001)
    whole = max(1, round(float(ratio)))
    scene.render.fps = whole
    scene.render.fps_base = whole / float(ratio)


VideoSteps = Generator[WorkStep, None, Report]


def film(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions | None = None
) -> Report:
    """Render ``objects`` of the context's scene to a video of the frame range, or a poster of one frame.

    The scene is played from its first frame, with physics and drives, and is not edited.

    Args:
        context: Context with the scene.
        objects: Objects to show, with visible children; those hidden in renders are left out.
        path: .mp4, .webm, .webp or .gif for a video, .png for a poster.
        options: Options; None: their defaults.

    Raises:
        FormatError: If it cannot be rendered. Exceptions of ``options.progress`` are passed on.
    """
    options = options or FilmOptions()
    filming = video_steps(context, objects, path, options)
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


def video_steps(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions
) -> VideoSteps:
    """Render as ``film`` does, yielding after every step, for callers that keep the interface responsive meanwhile.

    ``close()`` cancels and restores everything, except for the finished frames of a video: they stay beside it in a
    folder, and the same video with ``resume`` continues with them.
    """
    options.check()
    poster = is_poster_path(path)
    for each in filter(None, (path, options.sheet, options.poster)):
        check_writable(each)
    objects, options = separate_scenery(objects, options)
    report = Report()
    size = options.size if poster else even_size(options.size, report)
    plan = make_schedule(context.scene, options, poster)
    if file_ending(path) in LOOP_FORMATS:
        require_loop_rate(path, plan.fps)
    began = time.perf_counter()
    played = plan.played * len(requested_takes(options))
    extras = bool(options.sheet) + bool(options.poster) if not poster else 0
    done, total = played, played + len(plan.rendered) + (1 + extras if not poster else 0)
    with ExitStack() as stack:
        takes = yield from play_takes(context, objects, plan, options, report, total)
        if not poster and not any(take.moves() for _, take in takes):
            report.warn("film-still", "Video: nothing moves in these frames. Import a motion, or use physics")
        video = make_video_state(context, objects, plan, size, options)
        scene = build_stages(stack, context, takes, video, options, poster)[0]
        if poster:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="knuckle-film-"))
            move_into_place(next(iter_rendered_frames(scene, range(1, 2), folder)), path)
            yield WorkStep(total, total)
        else:
            frames = FrameFolder(path)
            there = frames.begin(scene_fingerprint(linked_stages(scene)), video.frames, size, video.fps, options.resume)
            if there:
                report.info("film-resumed", Message("Frames: {} of {} were rendered before", len(there), video.frames))
            done += len(there)
            for frame in range(1, video.frames + 1):
                if frame not in there:
                    with closing(iter_rendered_frames(scene, range(frame, frame + 1), str(frames.path))) as shots:
                        next(shots)
                    done += 1
                    yield WorkStep(done, total, "", frame, video.frames, (done - played) / (total - played))
            for step in finish_video(scene, frames, path, video, options):
                done += step
                yield WorkStep(done, total, "", video.frames, video.frames, (done - played) / (total - played))
    report_video(report, path, size, plan, options, time.perf_counter() - began)
    return report


def finish_video(
    scene: bpy.types.Scene, frames: FrameFolder, path: str, video: VideoState, options: FilmOptions
) -> Generator[int, None, None]:
    """Create contact sheet, poster and video from the frames, as far as requested; yields 1 after each."""
    pictures = frame_pictures(str(frames.path), video.frames)
    if options.sheet:
        save_sheet(pictures, options.sheet)
        yield 1
    if options.poster:
        render_poster(scene, options.poster)
        yield 1
    encode(str(frames.path), path, video.fps, video.frames)
    if not options.keep_frames:
        frames.empty()
    yield 1


def separate_scenery(
    objects: Sequence[bpy.types.Object], options: FilmOptions
) -> tuple[Sequence[bpy.types.Object], FilmOptions]:
    """Count the floors and walls of a mechanism as scenery, unless it has nothing else."""
    if not are_properties_registered():  # without them no object is a mechanism's
        return objects, options
    cast = [obj for obj in objects if not record_of(obj).scenery]
    scenery = [obj for obj in objects if record_of(obj).scenery]
    if not cast or not scenery:
        return objects, options
    return cast, replace(options, scenery=[*options.scenery, *scenery])


def make_video_state(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    plan: Schedule,
    size: tuple[int, int],
    options: FilmOptions,
) -> VideoState:
    """Create the state of a video for its stages."""
    scene = context.scene
    rate = scene.render.fps / scene.render.fps_base
    names = [record_of(rig).source_name or rig.name for rig in rigs_of_objects(objects)]
    middle = (plan.rendered[0] + plan.rendered[-1]) // 2 if options.poster_frame is None else options.poster_frame
    nearest = min(range(len(plan.rendered)), key=lambda index: abs(plan.rendered[index] - middle))
    return VideoState(
        frames=len(plan.rendered),
        fps=plan.fps,
        size=size,
        start=(plan.rendered[0] - scene.frame_start) / rate,
        name=", ".join(names),
        burn=ordered_burns(options),
        poster=nearest + 1,
        poster_samples=options.samples_for(poster=True),
        look=options.look(),
    )


def even_size(size: tuple[int, int], report: Report) -> tuple[int, int]:
    """Return the next smaller size with even sides, as H.264 requires."""
    width, height = size
    if width % 2 or height % 2:
        report.info("film-size", Message("Video size: {}x{} was rounded to even numbers", width, height))
    return width - width % 2, height - height % 2


def report_video(
    report: Report, path: str, size: tuple[int, int], plan: Schedule, options: FilmOptions, seconds: float
) -> None:
    """Report what was rendered."""
    count = len(plan.rendered)
    what = (
        "a poster" if path.lower().endswith(".png") else f"{count_with_noun(count, 'frame')} at {plan.fps:g} per second"
    )
    report.info(
        "film",
        Message("{}, {}x{}, {}, in {} s", what, size[0], size[1], options.engine.capitalize(), f"{seconds:.1f}"),
        where=path,
    )


def preview_steps(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions
) -> Generator[WorkStep, None, Report]:
    """Render the frame of a video that is nearest to the scene's current one to a .png, yielding at each step.

    The whole video is played for it, since the camera has to see all of that.
    """
    options.check()
    report = Report()
    objects, options = separate_scenery(objects, options)
    plan = make_schedule(context.scene, options, poster=False)
    now = context.scene.frame_current
    total = plan.played * len(requested_takes(options)) + 1
    with ExitStack() as stack:
        takes = yield from play_takes(context, objects, plan, options, report, total)
        video = make_video_state(context, objects, plan, options.size, options)
        scene = build_stages(stack, context, takes, video, options, poster=False)[0]
        frame = 1 + min(range(video.frames), key=lambda index: abs(plan.rendered[index] - now))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="knuckle-film-"))
        move_into_place(next(iter_rendered_frames(scene, range(frame, frame + 1), folder)), path)
    yield WorkStep(total, total)
    return report


def planned_frame_count(scene: bpy.types.Scene, options: FilmOptions) -> tuple[int, float]:
    """Return the number of frames of a scene's video, and its rate (frames per second).

    Raises:
        FormatError: If it cannot be rendered.
    """
    options.check()
    plan = make_schedule(scene, options, poster=False)
    return len(plan.rendered), plan.fps
