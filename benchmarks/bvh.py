"""Blender's own reader and writer of motions, BVH, which has three channels to a joint."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import bpy
import numpy as np

from benchmarks.measuring import nothing, seconds
from benchmarks.motion_files import FRAME, SERVOS, Array, curves_of


def _enable() -> None:
    import addon_utils  # Blender's own, like the reader

    addon_utils.enable("io_anim_bvh")


def import_seconds(path: Path, values: Array) -> float:
    """Seconds per key that Blender takes for angles (servos, keys) as BVH."""
    path.write_text(_text(values), encoding="utf-8")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _enable()
    with contextlib.redirect_stdout(io.StringIO()):  # it tells of its progress
        took = seconds(lambda: bpy.ops.import_anim.bvh(filepath=str(path), update_scene_duration=True))
    curves = curves_of(bpy.context.object)
    keys = sum(len(curve.keyframe_points) for curve in curves)
    assert len(curves) >= 3 * SERVOS
    assert keys >= 3 * values.size
    return took / keys


def export_seconds(path: Path, rig: bpy.types.Object, frames: int) -> float:
    """Seconds that Blender takes to write the pose of an armature at so many frames."""
    _enable()
    bpy.context.view_layer.objects.active = rig
    with contextlib.redirect_stdout(io.StringIO()):
        took = seconds(lambda: bpy.ops.export_anim.bvh(filepath=str(path), frame_start=1, frame_end=frames), nothing)
    assert f"Frames: {frames}" in path.read_text(encoding="utf-8")
    return took


def _text(values: Array) -> str:
    """A chain of joints; the first carries all, as BVH wants it."""
    lines = ["HIERARCHY"]
    for number in range(SERVOS):
        inner = "  " * number
        lines += [f"{inner}{'JOINT' if number else 'ROOT'} J{number}", f"{inner}{{", f"{inner}  OFFSET 0 1 0"]
        lines += [
            f"{inner}  CHANNELS {3 if number else 6} {'' if number else 'Xposition Yposition Zposition '}"
            "Zrotation Xrotation Yrotation"
        ]
    deepest = "  " * SERVOS
    lines += [f"{deepest}End Site", f"{deepest}{{", f"{deepest}  OFFSET 0 1 0", f"{deepest}}}"]
    lines += ["  " * number + "}" for number in reversed(range(SERVOS))]
    lines += ["MOTION", f"Frames: {values.shape[1]}", f"Frame Time: {FRAME}"]
    for row in np.degrees(values).T.tolist():
        lines.append("0 0 0 " + " ".join(f"{value:.6g} 0 0" for value in row))
    return "\n".join(lines) + "\n"
