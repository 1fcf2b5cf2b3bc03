"""Helpers for tests of joints to the world: two boxes on hinges, and their joint separations."""

from __future__ import annotations

from typing import Any

import numpy as np

from addon import formats
from addon.core.model import Mechanism
from tests.support.mechanisms import key, objects_of, world_of

G, LENGTH, THICK = 9.81, 1.0, 0.1
START = 0.7, -0.4  # of the two hinges, rad


def skel() -> Mechanism:
    """Two boxes that hang on the world and on each other, hinges about X."""

    def link(name: str, height: float) -> str:
        box = f"<geometry><box><size>{THICK} {THICK} {LENGTH}</size></box></geometry>"
        shapes = f"<visualization_shape>{box}</visualization_shape><collision_shape>{box}</collision_shape>"
        return (
            f'<body name="{name}"><transformation>0.3 -0.2 {height} 0 0 0</transformation>'
            f"<inertia><mass>1</mass></inertia>{shapes}</body>"
        )

    def hinge(name: str, parent: str, child: str) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
            f"<transformation>0 0 {LENGTH / 2} 0 0 0</transformation><axis><xyz>1 0 0</xyz></axis></joint>"
        )

    text = (
        '<skel version="1.0"><world><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="s">'
        + link("upper", -0.5)
        + link("lower", -1.5)
        + hinge("one", "world", "upper")
        + hinge("two", "upper", "lower")
        + "</skeleton></world></skel>"
    )
    return formats.loads(text.encode(), "m.skel")


def begin(rig: Any, mechanism: Mechanism, start: tuple[float, float] = START) -> None:
    """Key both hinges to where the run begins."""
    for joint, value in zip(mechanism.joints, start, strict=False):
        key(rig, joint.id, [(1, value)])


def links(rig: Any) -> list[Any]:
    bodies = objects_of(rig, "BODY")
    return [next(obj for obj in bodies.values() if obj.knuckle.source_name == name) for name in ("upper", "lower")]


def gaps(rig: Any) -> list[float]:
    """How far the two pivots are from where they belong."""
    upper, lower = (world_of(link) for link in links(rig))
    top, bottom = [0, 0, LENGTH / 2, 1], [0, 0, -LENGTH / 2, 1]
    parenting = world_of(rig) @ [0.3, -0.2, 0, 1]
    return [float(np.linalg.norm(upper @ top - parenting)), float(np.linalg.norm(lower @ top - upper @ bottom))]


def anchors() -> list[Any]:
    import bpy

    return [obj for obj in bpy.data.objects if obj.knuckle.model and obj.knuckle.model.data.knuckle.anchor == obj]
