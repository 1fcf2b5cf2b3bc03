"""Helpers for tests of editing: a mechanism in the scene, and parts of it selected as by a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from tests.support.references import CORPUS

OWN = Path(__file__).resolve().parents[2] / "sample_models"


def found(name: str) -> Path:
    """A model's file, of ours or of the real ones; without these the test is skipped."""
    path = next((path for folder in (OWN, CORPUS) for path in sorted(folder.rglob(name))), None)
    if path is None:
        pytest.skip(f"{name} is not here: {CORPUS}")
    return path


def made(name: str, physics: bool = False) -> Any:
    """The armature of a model that was built from its file."""
    rig = rig_in(build(formats.load(found(name)), options=BuildOptions(gait=False, physics=physics)))
    bpy.context.view_layer.update()
    return rig


def imported(name: str) -> Any:
    """The armature of a model that was imported by the operator: with what can be undone."""
    bpy.ops.import_scene.mechanism(filepath=str(found(name)))
    bpy.context.view_layer.update()
    return the_rig()


def the_rig() -> Any:
    """The first model of the file, also after an undo."""
    return next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")


def pick(*objects: Any) -> None:
    """Select these alone, the last one active."""
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[-1]


def body(rig: Any, name: str) -> Any:
    """The body that its file calls so."""
    return next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == name)


def joint_of(rig: Any, child: Any) -> Any:
    """The joint that moves a body."""
    return next(empty for empty in parts(rig, "JOINT") if record_of(empty).joint.child == child)


def now(rig: Any) -> Any:
    """The mechanism that a model is as it stands."""
    return extract(settings(rig).collection)
