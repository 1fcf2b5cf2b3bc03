"""From what was played to a stage on which it can be shot: scenes of our own in which everything has its keys."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import bpy
import numpy as np

from .burn_in import TABLE_SHARE, is_wide
from .camera import Room, Shot, plan_shot, shot_from
from .engines import WORKBENCH, set_up_engine, set_up_picture
from .options import BURNS, Burn, FilmOptions
from .playback import Take
from .stage import add_camera, build_stage, floor_height, key_camera, key_direction
from .stage_styles import LOOKS
from .stand_ins import hire, key_poses
from .temporary_studio import Studio
from .video_state import Reel, keep

#: A model without any size is filmed as if it had this.
LEAST_EXTENT = 1e-3


def set_stage(
    stack: ExitStack,
    context: bpy.types.Context,
    takes: Sequence[tuple[str, Take]],
    reel: Reel,
    options: FilmOptions,
    poster: bool,
) -> list[bpy.types.Scene]:
    """Set a stage for each of ``takes``, with what is written over it: the scenes, of which the first knows ``reel``
    and shows the others beside it. On leaving ``stack`` they and all that is in them are gone."""
    size = reel.size[0] // len(takes), reel.size[1]
    shots = in_step([direct(take, size, options) for _, take in takes])
    extent = max(extent_of(take) for _, take in takes)
    ground = min(ground_of(take, extent) for _, take in takes) if options.ground is None else options.ground
    scenes: list[bpy.types.Scene] = []
    for (label, take), shot in zip(reversed(takes), reversed(shots), strict=True):
        studio = stack.enter_context(Studio())
        dress_stage(studio, context, take, shot, (size, extent, ground), options, poster)
        keep(studio.scene, replace(reel, label=label), take.readings, scenes[0] if scenes else None)
        scenes.insert(0, studio.scene)
    return scenes


def dress_stage(
    studio: Studio,
    context: bpy.types.Context,
    take: Take,
    shot: Shot,
    measures: tuple[tuple[int, int], float, float],
    options: FilmOptions,
    poster: bool,
) -> None:
    """Fill a studio: engine, floor, light, camera and stand-ins, keyed from frame 1 on. ``measures`` are the picture's
    size, that of the model and the height of the floor: stages beside each other have them in common."""
    scene, look = studio.scene, LOOKS[options.stage]
    size, extent, ground = measures
    scene.frame_start, scene.frame_end = 1, len(take.frames)
    set_up_picture(scene, size)
    set_up_engine(scene, options.engine, options.samples_for(poster), extent, key_direction(shot), look.shadow)
    build_stage(studio, look, shot, extent, ground, options.engine)
    key_camera(studio, add_camera(studio, shot), shot)
    actors = hire(studio, take, context.evaluated_depsgraph_get(), options.engine != WORKBENCH)
    key_poses(studio, actors, take.poses)


def extent_of(take: Take) -> float:
    """Return how large the model is."""
    return max(float(np.linalg.norm(np.ptp(take.corners(), axis=1), axis=1).max()), LEAST_EXTENT)


def ground_of(take: Take, extent: float) -> float:
    """Return how high the floor is."""
    ground = floor_height(float(take.corners()[..., 2].min()), extent)
    floors = take.corners(scenery=True)[..., 2]
    if floors.size:  # a model's own floor is not to flicker in ours
        ground = min(ground, float(floors.min())) - 0.002 * extent
    return ground


def direct(take: Take, size: tuple[int, int], options: FilmOptions) -> Shot:
    """The camera work for a take."""
    corners = take.corners()
    lows, highs = corners.min(axis=1), corners.max(axis=1)
    room = room_for(size, options)
    pitch = float(np.radians(LOOKS[options.stage].pitch))
    return plan_shot(lows, highs, corners, size, take.fps, options.heading, options.camera, room, take.front, pitch)


def room_for(size: tuple[int, int], options: FilmOptions) -> Room:
    """Return what of a picture is kept free for the table of servos: its right, or its foot where it is high."""
    if "SERVOS" not in options.burn:
        return Room()
    return Room(right=TABLE_SHARE) if is_wide(size) else Room(foot=TABLE_SHARE)


def in_step(shots: Sequence[Shot]) -> list[Shot]:
    """Shots that are seen beside each other look the same way from the same distance: as the last does, which is that
    of physics and knows where the model goes."""
    distance = max(shot.distance for shot in shots)
    return [shot_from(shots[-1].rotations, shot.aims, distance, shot.shift) for shot in shots]


def burns(options: FilmOptions) -> list[Burn]:
    """Return what is burnt in, in the order in which it is offered."""
    return [burn for burn in BURNS if burn in options.burn]
