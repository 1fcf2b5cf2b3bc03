"""Helpers for tests of assemblies, reference frames and lights: a robot with an inactive hand, and its collections."""

from __future__ import annotations

import json
from typing import Any

from addon import formats

QUARTER = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]  # a right angle about Z, as the columns of a frame's axes


def body(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "mass": 1.0, "center_of_mass": [0, 0, 0.5], **more}


def joint(name: str, parent: list[str], child: list[str], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "Rz", "body_frame_pairs": [parent, child], **more}


def document(arm_on: bool = True) -> str:
    """A robot with an arm in it, whose hand is switched off, and a lamp on the arm."""
    hand_frames = [{"name": "grip", "T": [0, 0, 0.2]}]
    arm = {
        "name": "arm",
        "bodies": [
            body("upper", frames=[{"name": "elbow", "R": QUARTER, "T": [1, 0, 0]}]),
            body("hand", active=False, frames=hand_frames),
        ],
        "joints": [joint("wrist", ["upper", "elbow"], ["hand", "origin"])],
        "active": arm_on,
    }
    robot = {
        "name": "robot",
        "bodies": [body("base")],
        "joints": [
            joint("foot", ["fixed", "pad"], ["base", "origin"], initial_displacement=0.5),
            joint("shoulder", ["base", "origin"], ["robot:arm:upper", "origin"]),
        ],
        "assemblies": [arm],
    }
    lights = [
        {"name": "sun", "type": "directional", "parent": ["fixed", "pad"], "Kd": [1, 1, 1]},
        {"name": "lamp", "type": "spot", "parent": ["robot:arm:upper", "elbow"], "Kd": [0.5, 0.25, 0]},
    ]
    fixed = {"frames": [{"name": "pad", "T": [2, 0, 0]}], "lights": lights}
    settings = {"version": "0.2", "gravity": [0, 0, -9.81]}
    return json.dumps({"model_parameters": settings, "fixed": fixed, "assemblies": [robot]}, indent=1)


def put(text: str) -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    mechanism = formats.loads(text.encode(), "robot.json")
    rig = rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))
    bpy.context.view_layer.update()
    return rig


def folders(collection: Any) -> dict[str, Any]:
    """The tree below a collection by names; None for an object."""
    inside: dict[str, Any] = {child.name.partition(".")[0]: folders(child) for child in collection.children}
    return inside | {obj.knuckle.source_name: None for obj in collection.objects}
