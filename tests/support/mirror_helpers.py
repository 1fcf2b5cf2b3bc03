"""Helpers for tests of mirroring: random symmetric mechanisms, reflections, and the errors of mirrored poses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from addon.core.editing.mirroring import MotionMirror
from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import TwinDifference, compare_twins
from addon.core.kinematics import spanning_tree
from addon.core.model import DOF_SIZE, Body, Dof, Joint, Mechanism

KINDS: dict[str, list[str]] = {
    "revolute": ["rotation"],
    "prismatic": ["translation"],
    "universal": ["rotation", "rotation"],
    "cylindrical": ["rotation", "translation"],
    "three turns": ["rotation", "rotation", "rotation"],
    "ball": ["ball"],
    "free": ["free"],
}


def turning(vector: np.ndarray) -> np.ndarray:
    """The pose of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    out = np.eye(4)
    out[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return out


def some_pose(rng: np.random.Generator) -> np.ndarray:
    out = turning(rng.normal(size=3))
    out[:3, 3] = rng.normal(size=3) * 2
    return out


def image_of(pose: np.ndarray, flip: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A pose whose frame is a mirror image of another's: reflected, then with one or all of its axes turned round, so
    that it is right-handed. Each exporter chooses its own."""
    return (
        flip
        @ pose
        @ np.diag(
            [
                *(-1.0 if rng.random() < 0.5 else np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]][rng.integers(3)]))
                * np.ones(3),
                1,
            ]
        )
    )


def reflection(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A plane's reflection and its normal: often X = 0, sometimes any plane."""
    normal = np.eye(3)[0] if rng.random() < 0.5 else rng.normal(size=3)
    normal = normal / np.linalg.norm(normal)
    out = np.eye(4)
    out[:3, :3] -= 2 * np.outer(normal, normal)
    # a plane that all but goes through the origin is taken for one that does
    out[:3, 3] = 0 if rng.random() < 0.5 else rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0) * normal
    return out, normal


def symmetric(seed: int, kind: str, named: bool = False) -> tuple[Mechanism, np.ndarray]:
    """A trunk with a limb of two bodies on either side, whose joints and bodies are mirror images of each other, and
    the reflection. Frames, senses of axes and which body a joint names first are chosen for each side by itself."""
    rng = np.random.default_rng(seed)
    flip, _normal = reflection(rng)
    word = {1: "Left", 2: "Right"}
    bodies = [Body("trunk", "Trunk", np.eye(4), mass=9.0)]
    joints = []
    for part, carrier in (("thigh", "trunk"), ("shin", "thigh")):
        body_pose, frame = some_pose(rng), some_pose(rng)
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for side in (1, 2):
            twin = None if named else f"{part}{3 - side}"
            pose = body_pose if side == 1 else image_of(body_pose, flip, rng)
            place = frame if side == 1 else image_of(frame, flip, rng)
            bodies.append(Body(f"{part}{side}", f"{word[side]} {part}", pose, twin=twin))
            dofs = []
            for k, each in enumerate(KINDS[kind]):
                world = frame[:3, :3] @ axes[k]
                own = world if side == 1 else flip[:3, :3] @ world * rng.choice([-1.0, 1.0])
                dofs.append(Dof(each, axis=place[:3, :3].T @ own))
            on = "trunk" if carrier == "trunk" else f"{carrier}{side}"
            ends = [on, f"{part}{side}"]
            crossed = kind != "free" and rng.random() < 0.4
            if crossed:
                ends.reverse()
                dofs.reverse()
            poses = {body.id: body.pose for body in bodies}
            sides = [np.linalg.inv(poses[end]) @ place for end in ends]
            twin = None if named else f"j{part}{3 - side}"
            joints.append(Joint(f"j{part}{side}", f"{word[side]} {part} joint", kind, *ends, *sides, dofs, twin=twin))
    return Mechanism("walker", bodies=bodies, joints=joints, directed=False), flip


def sizes(mechanism: Mechanism) -> dict[str, int]:
    return {j.id: sum(DOF_SIZE[dof.kind] for dof in j.dofs) for j in mechanism.joints if j.dofs and j.active}


def displacements(mechanism: Mechanism, coordinates: dict[str, np.ndarray], poses: int, root: str = "") -> np.ndarray:
    """How each body has moved from where all coordinates are zero: (poses, bodies, 4, 4)."""
    tree = spanning_tree(mechanism, [root] if root else [])
    return tree.forward(coordinates, poses) @ np.linalg.inv(tree.forward({})[0])


def misses(mechanism: Mechanism, mirror: MotionMirror, flip: np.ndarray, seed: int, root: str = "") -> np.ndarray:
    """By how much the mirrored poses miss the reflections of the poses: (poses, bodies, 4, 4)."""
    rng = np.random.default_rng(seed)
    poses = 6
    given = {
        key: rng.uniform(-0.9, 0.9, (poses, size)) for key, size in sizes(mechanism).items() if key in mirror.joints
    }
    moved = displacements(mechanism, given, poses, root)
    image = displacements(mechanism, mirror.values(given), poses, root)
    place = {body.id: k for k, body in enumerate(mechanism.bodies)}
    twin = [place[mirror.sides.bodies.get(body.id, body.id)] for body in mechanism.bodies]
    return flip @ moved @ flip - image[:, twin]


OWN = Path(__file__).resolve().parents[2] / "sample_models"


def twin_differences(rig: Any) -> list[TwinDifference]:
    """Return the differences between the twins of a mechanism, as an export has them."""
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(rig)
    return compare_twins(mechanism, find_sides(mechanism))
