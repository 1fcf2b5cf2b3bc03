#!/usr/bin/env python3
"""A model from file to film, in one script: it is imported, posed, keyed, run under physics, written out and filmed.

    python examples/walk.py sample_models/hexapod/hexapod.jm --out out/walk

Run it with a Python that has Blender's module; it finds Knuckle's package in the folder above its own. Inside
Blender, ``addon`` is called ``bl_ext.user_default.knuckle``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of ``addon``

import addon
from addon import formats
from addon.blender.animation import apply, sample
from addon.blender.build import build
from addon.blender.extract import extract
from addon.blender.physics.bake import bake, recorded_motion
from addon.blender.render import FilmOptions, film
from addon.model.records import Motion, Trajectory


def main(model: Path, folder: Path, seconds: float, size: tuple[int, int]) -> None:
    """Take a model the whole way. ``size``: of the picture, in pixels."""
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    addon.register()
    scene = bpy.context.scene

    # Import. The report says what was read, repaired and left out.
    mechanism = formats.load(model)
    collection = build(mechanism)
    print(mechanism.report)
    rig = next(obj for obj in collection.all_objects if obj.type == "ARMATURE")
    bodies = [obj for obj in collection.all_objects if obj.knuckle.role == "BODY"]

    # Pose and key. A motion is servos by name, with times (s) and values (rad or m).
    gait = rig.animation_data.action if rig.animation_data else None
    servo = sample(collection, frames=[scene.frame_start]).trajectories[0].name
    nod = Motion("nod", [Trajectory(servo, [0.0, seconds / 2, seconds], [0.0, 0.3, 0.0])])
    action, _ = apply(nod, collection)
    middle = scene.frame_start + seconds / 2 * scene.render.fps
    posed = sample(collection, frames=[middle]).trajectories[0]  # as it is seen, stops and all
    print(f"Action {action.name!r} has {posed.name} at {posed.values[0]:.2f} rad")
    if gait is not None:
        rig.animation_data.action = gait  # both stay in the file; this one plays

    # Simulate: servos chase the gait, or the keys; what happened becomes keys of a new Action.
    rig.data.knuckle.drive = "SERVO"
    if gait is not None:
        rig.data.knuckle.controls.joystick_1_y = -1.0
    last = scene.frame_start + round(seconds * scene.render.fps)
    scene.frame_end = last
    baked, run = bake(scene, rig, last)
    heaviest = max(bodies, key=lambda obj: obj.knuckle.mass)
    scene.frame_set(last)
    end = heaviest.matrix_world.translation.copy()
    scene.frame_set(scene.frame_start)
    way = (end - heaviest.matrix_world.translation).length
    print(f"{heaviest.name} travelled {way:.2f} in {seconds:g} s, which plays as Action {baked.name!r}")

    # Write: servo motion, the scene, a picture.
    formats.save_motion(recorded_motion(scene, run, f"{model.stem} run", 0.032), folder / f"{model.stem}.xmdi")
    print(extract(collection).report)
    bpy.ops.wm.save_as_mainfile(filepath=str((folder / f"{model.stem}.blend").resolve()))
    film(bpy.context, bodies, str(folder / f"{model.stem}.png"), FilmOptions(size=size))


def pixels(text: str) -> tuple[int, int]:
    """Of ``640x360``, both numbers."""
    width, height = text.split("x")
    return int(width), int(height)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--size", type=pixels, default=(960, 540), metavar="WxH")
    parser.add_argument("--out", type=Path, default=Path("out/walk"), metavar="DIR")
    given = parser.parse_args()
    main(given.model, given.out, given.seconds, given.size)
