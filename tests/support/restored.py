"""Helpers for tests of what the check's fixes restore: a posed mechanism, where all of it stands, and its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from addon.blender.data.access import bone_record, settings
from addon.blender.data.queries import parts
from tests.support.scenes import found, pick, the_rig

MODELS = ["hexapod.jm", "rover.jm", "humanoid.skel", "desk_lamp.skel", "sensor_leg.xml", "pumpjack.json"]
FRAMES = (1, 10, 20)


def brought(name: str, props: bool = True) -> Any:
    """The armature of an imported model, with objects of the user's on its bones (``props``)."""
    assert bpy.ops.import_scene.mechanism(filepath=str(found(name)), gait=False) == {"FINISHED"}
    rig = the_rig()
    for bone in rig.data.bones if props else ():
        prop = bpy.data.objects.new(f"prop on {bone.name}", None)
        bpy.context.scene.collection.objects.link(prop)
        prop.parent, prop.parent_type, prop.parent_bone, prop.location = rig, "BONE", bone.name, (0.1, 0.2, 0.3)
    rig.location = (0.5, -2.0, 0.25)
    bpy.context.view_layer.update()
    return rig


def stood(rig: Any) -> dict[tuple[str, int], Any]:
    """World matrices of bodies, joints and what is on bones, by name and frame."""
    out = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        out |= {(obj.name, frame): np.array(obj.matrix_world) for obj in [*parts(rig, "BODY"), *parts(rig, "JOINT")]}
        props = (obj for obj in rig.children if obj.name.startswith("prop on"))
        out |= {(obj.name, frame): np.array(obj.matrix_world) for obj in props}
    bpy.context.scene.frame_set(10)
    return out


def saved(rig: Any, path: Path) -> bytes:
    pick(rig)
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return path.read_bytes()


def findings(rig: Any) -> dict[str, int]:
    pick(rig)
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    return {row.code: number for number, row in enumerate(settings(rig).findings)}


def axes(bone: Any) -> list[tuple[str, int]]:
    """The channels of a joint's bone that pose it."""
    out = [("location", axis) for axis in range(3) if not bone.lock_location[axis]]
    if bone.rotation_mode != "QUATERNION":
        out += [("rotation_euler", axis) for axis in range(3) if not bone.lock_rotation[axis]]
    return out


def joint_bones(rig: Any) -> list[Any]:
    return [bone for bone in rig.pose.bones if bone_record(bone.bone).joint]


def pose_joints(rig: Any, keyed: Callable[[int], bool] = lambda _number: False) -> None:
    """Pose each joint by another amount, and key some."""
    random = np.random.default_rng(7)
    for number, bone in enumerate(
        bone for bone in joint_bones(rig) if axes(bone) or bone.rotation_mode == "QUATERNION"
    ):
        for prop, axis in axes(bone):
            values = random.uniform(-0.3, 0.3, len(FRAMES)) * (0.1 if prop == "location" else 1.0)
            getattr(bone, prop)[axis] += values[0]
            for frame, value in zip(FRAMES, values, strict=True) if keyed(number) else ():
                getattr(bone, prop)[axis] = value
                bone.keyframe_insert(prop, index=axis, frame=frame)
        if bone.rotation_mode == "QUATERNION":
            for frame in FRAMES if keyed(number) else FRAMES[:1]:
                turn = np.array([1.0, *random.uniform(-0.3, 0.3, 3)])
                bone.rotation_quaternion = turn / np.linalg.norm(turn)
                if keyed(number):
                    bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(10)
