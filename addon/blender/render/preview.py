"""One frame of a film as it will be, and what the film will be in numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack

import bpy

from ...core.report import Report
from ..progress import Step
from .delivery import deliver
from .filming import reel_for, set_aside
from .options import FilmOptions
from .playing import play, takes_wanted
from .setting import set_stage
from .shooting import shoot
from .take import schedule


def preview_steps(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], path: str, options: FilmOptions
) -> Generator[Step, None, Report]:
    """Render the frame of a film that is nearest to the scene's present one to the .png ``path``, pausing at each step.

    The whole film is played for it, since the camera is to see all of that."""
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
