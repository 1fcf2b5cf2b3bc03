"""The first pass of filming: a scene played once, or once on keys and once under physics."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar, cast

import bpy

from ...core.report import FormatError, Report
from ..compat import all_curves
from ..data.access import record_of, settings
from ..data.datablocks import is_there
from ..data.properties.model import registered
from ..physics.simulation.setup import clear_physics
from ..physics.simulation.shedding import motors_in, shed_motors
from ..physics.world.membership import is_simulated
from ..progress import Step
from .options import FilmOptions
from .take import Schedule, Take, record

T = TypeVar("T")
#: The phase of the work, for who waits.
PLAYING = "playing"
#: A take and what is written over it.
Labelled = tuple[str, Take]
#: Where walkers of a format look that says so by custom: Juice's along +Y, DART's along +X.
_STILL = 1e-6
_FRONTS = {"juice": 0.5 * math.pi, "skel": 0.0}


def play(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    plan: Schedule,
    options: FilmOptions,
    report: Report,
    total: int = 0,
) -> Generator[Step, None, list[Labelled]]:
    """Play the scene for each take that is wanted and return the takes, pausing after each frame of ``total`` steps:
    nothing of what is to be rendered is done by then."""
    done, takes = 0, []
    played = plan.played * len(takes_wanted(options))
    rigs = models_of(objects)
    noted = rigs if options.burn else []
    for label, physics in takes_wanted(options):
        take = Take(front=front_of(rigs))
        with (
            driven(context.scene, rigs, physics, plan.first),
            closing(record(context, objects, options.scenery, plan, take, report, noted)) as frames,
        ):
            for _ in frames:
                done += 1
                yield Step(done, total, PLAYING, done, played, 0.0)
        takes.append((label, take))
    return takes


def at_once(steps: Generator[Any, None, T]) -> T:
    """Return what steps come to, without a pause between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(T, end.value)


def takes_wanted(options: FilmOptions) -> list[tuple[str, bool | None]]:
    """Return what is written over each take, and whether physics is to drive the models: None leaves that to them."""
    return [("Keys", False), ("Physics", True)] if options.side_by_side else [("", None)]


def may_move(rig: bpy.types.Object) -> bool:
    """Return whether anything could move a mechanism while its scene plays: physics, a driver, an NLA strip, a
    constraint, a parent, or an F-curve that is not constant."""
    if settings(rig).drive != "KEYS" or rig.parent is not None or rig.constraints:
        return True
    data = rig.animation_data
    held = (constraint for bone in rig.pose.bones for constraint in bone.constraints)
    if any("target" in constraint.bl_rna.properties for constraint in held):
        return True
    if data is None:
        return False
    if data.drivers or any(track.strips for track in data.nla_tracks):
        return True
    return data.action is not None and any(map(_varies, all_curves(data.action)))


def _varies(curve: Any) -> bool:
    points = curve.keyframe_points
    return bool(curve.modifiers) or any(abs(point.co[1] - points[0].co[1]) > _STILL for point in points)


def front_of(rigs: Sequence[bpy.types.Object]) -> float:
    """Return where models that do not travel look (rad about Z): as those of their format do, or to Blender's front,
    -Y."""
    return _FRONTS.get(settings(rigs[0]).format, -0.5 * math.pi) if rigs else -0.5 * math.pi


def models_of(objects: Sequence[bpy.types.Object]) -> list[bpy.types.Object]:
    """The armatures of the models that objects belong to, each once."""
    if not registered():
        return []
    found = (record_of(obj).model for obj in objects)
    return list(dict.fromkeys(rig for rig in found if rig is not None))


@contextmanager
def driven(
    scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], physics: bool | None, first: int
) -> Iterator[None]:
    """Have models driven by their keys, or by physics, while the scene is played; then as they were before."""
    if physics is None:
        yield
        return
    if not rigs:
        raise FormatError("only mechanisms can be shown on their keys and under physics side by side")
    before = [(rig, settings(rig).drive, is_simulated(rig), motors_in(scene, rig)) for rig in rigs]
    frame, subframe = scene.frame_current, scene.frame_subframe
    scene.frame_set(first)
    try:
        for rig, drive, *_ in before:
            wanted = ("SERVO" if drive == "KEYS" else drive) if physics else "KEYS"
            if drive != wanted:
                settings(rig).drive = wanted
        yield
    finally:
        scene.frame_set(first)
        for rig, drive, simulated, motors in before:
            if not is_there(rig):
                continue
            if settings(rig).drive != drive:
                settings(rig).drive = drive
            if is_simulated(rig) and not simulated:
                clear_physics(scene, rig)
            elif drive == "KEYS":
                shed_motors(scene, rig, motors)
        scene.frame_set(frame, subframe=subframe)
