"""Helpers for tests of export from unusual scenes: mechanisms of four formats, and the poses of bodies in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import all_parts
from tests.support.scenes import OWN, the_rig

MODELS = {
    "juice": OWN / "rover/rover.jm",
    "skel": OWN / "desk_lamp/desk_lamp.skel",
    "shift": OWN / "pumpjack/pumpjack.json",
    "x_xy": OWN / "sensor_leg/sensor_leg.xml",
}


def crossed(acts: Sequence[Callable[[Any], None]]) -> Any:
    """Parametrizes a test with acts, each on models of two formats; all formats come up."""
    names = list(MODELS)
    pairs = [(act, names[(number + more) % len(names)]) for number, act in enumerate(acts) for more in (0, 2)]
    return pytest.mark.parametrize(("act", "format_"), pairs)


def brought(format_: str) -> Any:
    """A model of a format, imported by the operator: its armature."""
    assert bpy.ops.import_scene.mechanism(filepath=str(MODELS[format_])) == {"FINISHED"}
    bpy.context.view_layer.update()
    return the_rig()


def reopened(folder: Path) -> Any:
    """The scene as it is after it was saved and opened again: its armature."""
    path = str(folder / "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    bpy.context.view_layer.update()
    return the_rig()


def export(folder: Path, format_: str, **options: Any) -> Path:
    """The model of the scene, exported by the operator."""
    path = folder / MODELS[format_].name
    assert bpy.ops.export_scene.mechanism(filepath=str(path), **options) == {"FINISHED"}
    return path


def is_whole(path: Path, format_: str) -> bool:
    """Whether a file is the very one that was imported."""
    return path.read_bytes() == MODELS[format_].read_bytes()


def last(rig: Any) -> Any:
    """A body at the end of a model, which moves, and carries nothing."""
    return all_parts(rig, "BODY")[-1]


def empty(place: Any = (0, 0, 0), turn: Any = (0, 0, 0), scale: Any = (1, 1, 1)) -> Any:
    """An empty of the user's."""
    made = bpy.data.objects.new("Mine", None)
    bpy.context.scene.collection.objects.link(made)
    made.location, made.rotation_euler, made.scale = place, turn, scale
    bpy.context.view_layer.update()
    return made


def rest(rig: Any) -> None:
    """Show the model at rest, where its bodies stand as files have them."""
    rig.data.pose_position = "REST"
    bpy.context.view_layer.update()


def seen(obj: Any) -> np.ndarray:
    """Where an object is in the evaluated scene."""
    return np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world, dtype=np.float64)


def in_file(path: Path) -> dict[str, np.ndarray]:
    """The poses (4, 4) of bodies with their centres of mass as origins, by their ids, as a file has them at rest."""
    out = {}
    for body in formats.load(path).bodies:
        out[body.id] = body.pose.copy()
        out[body.id][:3, 3] += body.pose[:3, :3] @ body.com
    return out


def stray(rig: Any, path: Path) -> float:
    """How far what a file has at rest is from what is seen, the model's own place and the bodies' scale left aside."""
    bpy.context.view_layer.update()
    back, poses, worst = np.linalg.inv(seen(rig)), in_file(path), 0.0
    for obj in all_parts(rig, "BODY"):
        pose = poses.get(record_of(obj).source_id)
        if pose is None:
            continue
        there = back @ seen(obj)
        there[:3, :3] /= np.linalg.norm(there[:3, :3], axis=0)
        worst = max(worst, float(np.abs(pose - there).max()))
    return worst


def told(rig: Any) -> dict[str, str]:
    """What an export has to say of a model: messages by their codes."""
    from addon.blender.editing.repair.checks import report_findings
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(settings(rig).collection)
    entries = [*mechanism.report.entries, *report_findings(rig, mechanism).entries]
    return {entry.code: entry.message for entry in entries}
