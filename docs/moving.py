"""The README's moving picture: a walker under physics, a robot arm and a linkage, rendered by Knuckle itself."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from PIL import Image

from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import build
from addon.blender.render import FilmOptions, film
from addon.core.joint_types import make_dofs
from addon.core.mass_properties import shape_volume
from addon.core.model import Array, Body, Joint, Mechanism, Shape, World
from addon.core.transforms import inverse, rotation_with_z

SECONDS, RATE = 4, 15
#: Bytes of the picture at most.
MOST = 1_450_000
GAP = 4
WALKER, BESIDE = (536, 404), (264, 200)
_ORANGE, _DARK, _PALE = (0.9, 0.33, 0.03, 1.0), (0.05, 0.055, 0.065, 1.0), (0.6, 0.62, 0.64, 1.0)
_Y, _Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])

Size = tuple[int, int]


def moving(walked: Callable[[int], Any], scene_with: Callable[[str], Any]) -> list[Image.Image]:
    """The frames: the walker at the left, arm and linkage at the right."""
    walker = frames(walked(SECONDS), WALKER)
    arm = frames(working_arm(scene_with), BESIDE)
    linkage = frames(turning_pumpjack(scene_with), BESIDE)
    out = []
    for large, upper, lower in zip(walker, arm, linkage, strict=True):
        whole = Image.new("RGB", (WALKER[0] + GAP + BESIDE[0], WALKER[1]), "white")
        whole.paste(large, (0, 0))
        whole.paste(upper, (WALKER[0] + GAP, 0))
        whole.paste(lower, (WALKER[0] + GAP, BESIDE[1] + GAP))
        out.append(whole)
    return out


def frames(rig: Any, size: Size) -> list[Image.Image]:
    """What a video of a mechanism shows, frame by frame."""
    options = FilmOptions(size=size, fps=RATE, seconds=SECONDS, keep_frames=True, camera="FOLLOW")
    with tempfile.TemporaryDirectory() as folder:
        film(bpy.context, parts(rig, "BODY"), str(Path(folder) / "shot.webp"), options)
        names = sorted((Path(folder) / "shot_frames").glob("*.png"))
        return [Image.open(name).convert("RGB") for name in names]


def save_moving(pictures: list[Image.Image], path: Path) -> None:
    """Write an animated WebP, as fine as it may be."""
    for quality in (85, 75, 65, 50):
        first, *rest = pictures
        time = round(1000 / RATE)
        first.save(path, save_all=True, append_images=rest, duration=time, loop=0, quality=quality, method=6)
        if path.stat().st_size < MOST:
            return


# ---- What moves ----------------------------------------------------------------------------------------


def turning_pumpjack(scene_with: Callable[[str], Any]) -> Any:
    """The pumpjack, whose crank turns twice: its armature."""
    rig = scene_with("pumpjack/pumpjack.json")
    swing(rig, {"motor": lambda phase: 2.0 * phase})
    return rig


def working_arm(scene_with: Callable[[str], Any]) -> Any:
    """An arm that takes something from one side to the other: its armature."""
    rig = scene_with("")
    rig = rig_in(build(arm()))
    swing(
        rig,
        {
            "Turret": lambda phase: 0.9 * math.sin(phase),
            "Shoulder": lambda phase: 0.45 + 0.25 * math.cos(2.0 * phase),
            "Elbow": lambda phase: 1.0 - 0.35 * math.cos(2.0 * phase),
            "Wrist": lambda phase: 0.9 - 0.2 * math.cos(2.0 * phase),
            "Hand": lambda phase: 1.2 * math.sin(phase),
            "Left Finger": lambda phase: 0.25 * math.cos(2.0 * phase),
            "Right Finger": lambda phase: -0.25 * math.cos(2.0 * phase),
        },
    )
    return rig


def swing(rig: Any, motions: dict[str, Callable[[float], float]]) -> None:
    """Key servos over the loop's length: angles (rad) of a phase from 0 to a full turn."""
    scene = bpy.context.scene
    last = round(SECONDS * scene.render.fps / scene.render.fps_base)
    scene.frame_end = scene.frame_start + last
    rig.animation_data_clear()
    for name, motion in motions.items():
        bone = next(each for each in rig.pose.bones if each.name.casefold() == name.casefold())
        for frame in range(0, last + 1, 2):
            bone.rotation_euler.z = motion(2.0 * math.pi * frame / last)
            bone.keyframe_insert("rotation_euler", index=2, frame=scene.frame_start + frame)


def arm() -> Mechanism:
    """A robot arm of five joints and two fingers, upright (m)."""
    made = Mechanism("Robot Arm", World(ground=0.0))
    base = part(made, "Base", Shape("cylinder", {"radius": 0.24, "length": 0.16}, color=_DARK), 0.08)
    turret = part(made, "Turret", Shape("cylinder", {"radius": 0.17, "length": 0.24}, color=_ORANGE), 0.28)
    upper = part(made, "Upper Arm", Shape("box", {"x": 0.15, "y": 0.17, "z": 0.74}, color=_ORANGE), 0.72)
    fore = part(made, "Forearm", Shape("box", {"x": 0.11, "y": 0.12, "z": 0.58}, color=_ORANGE), 1.31)
    wrist = part(made, "Wrist", Shape("cylinder", {"radius": 0.055, "length": 0.14}, color=_DARK), 1.66)
    hand = part(made, "Hand", Shape("box", {"x": 0.22, "y": 0.09, "z": 0.06}, color=_PALE), 1.76)
    for side, x in (("Left", -0.085), ("Right", 0.085)):
        shape = Shape("box", {"x": 0.025, "y": 0.06, "z": 0.15}, color=_DARK)
        hinge(made, f"{side} Finger", hand, part(made, f"{side} Finger", shape, 1.86, x), _Y, 1.79, x)
    for name, parent, child, axis, z in (
        ("Turret", base, turret, _Z, 0.16), ("Shoulder", turret, upper, _Y, 0.38), ("Elbow", upper, fore, _Y, 1.06),
        ("Wrist", fore, wrist, _Y, 1.59), ("Hand", wrist, hand, _Z, 1.73),
    ):  # fmt: skip
        hinge(made, name, parent, child, axis, z)
    return made


def part(made: Mechanism, name: str, shape: Shape, z: float, x: float = 0.0) -> Body:
    """A new body at a height."""
    body = Body(name, name, at(z, x), mass=1000.0 * shape_volume(shape), shapes=[shape])
    made.bodies.append(body)
    return body


def hinge(made: Mechanism, name: str, parent: Body, child: Body, axis: Array, z: float, x: float = 0.0) -> None:
    """A new hinge at a height."""
    frame = at(z, x)
    frame[:3, :3] = rotation_with_z(axis)
    joint = Joint(
        name, name, "revolute", parent.id, child.id, inverse(parent.pose) @ frame, inverse(child.pose) @ frame
    )
    joint.dofs = make_dofs("revolute")
    made.joints.append(joint)


def at(z: float, x: float = 0.0) -> Array:
    """An upright pose (4, 4)."""
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, z
    return pose
