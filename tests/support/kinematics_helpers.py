"""Helpers for tests of kinematics: random mechanisms, poses and values, and the matrix exponential."""

from __future__ import annotations

import numpy as np

from addon.core.model import DOF_SIZE, Body, Dof, Joint, Mechanism

KINDS: dict[str, list[str]] = {
    "weld": [],
    "revolute": ["rotation"],
    "prismatic": ["translation"],
    "ball": ["ball"],
    "free": ["free"],
    "universal": ["rotation", "rotation"],
    "cylindrical": ["rotation", "translation"],
    "planar": ["translation", "translation", "rotation"],
    "slide on a ball": ["ball", "translation"],
}


def exponential(matrix: np.ndarray) -> np.ndarray:
    """The matrix exponential by its series, halved and squared."""
    small, out, term = matrix / 64.0, np.eye(4), np.eye(4)
    for k in range(1, 16):
        term = term @ small / k
        out = out + term
    for _ in range(6):
        out = out @ out
    return out


def turning(vector: np.ndarray) -> np.ndarray:
    x, y, z = vector
    return exponential(np.array([[0, -z, y, 0], [z, 0, -x, 0], [-y, x, 0, 0], [0, 0, 0, 0.0]]))


def sliding(vector: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 3] = vector
    return out


def some_pose(rng: np.random.Generator) -> np.ndarray:
    return sliding(rng.normal(size=3) * 2) @ turning(rng.normal(size=3))


def some_joint(name: str, rng: np.random.Generator, parent: str | None, child: str | None, kind: str = "") -> Joint:
    kind = kind or str(rng.choice(list(KINDS)))
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    dofs = [Dof(each, axis=axes[k]) for k, each in enumerate(KINDS[kind])]
    return Joint(name, name, kind, parent, child, some_pose(rng), some_pose(rng), dofs)


def bodies(count: int, rng: np.random.Generator) -> list[Body]:
    return [Body(f"b{k}", f"b{k}", some_pose(rng), mass=float(rng.uniform(1, 2))) for k in range(count)]


def size_of(joint: Joint) -> int:
    return sum(DOF_SIZE[dof.kind] for dof in joint.dofs)


def some_values(mechanism: Mechanism, rng: np.random.Generator, poses: int) -> dict[str, np.ndarray]:
    """Coordinates within 0.8 of zero, so that no block of several turns has a second solution nearer."""
    return {joint.id: rng.uniform(-0.8, 0.8, (poses, size_of(joint))) for joint in mechanism.joints}


def random_mechanism(seed: int) -> Mechanism:
    """Chains, trees, reversed joints, several roots, joints to the world, loops."""
    rng = np.random.default_rng(seed)
    made = bodies(int(rng.integers(2, 12)), rng)
    joints = []
    for number in range(1, len(made)):
        kind = rng.random()
        if kind < 0.15:
            continue  # begins another part
        other: str | None = None if kind < 0.25 else f"b{number - 1 if rng.random() < 0.5 else rng.integers(number)}"
        ends = [other, f"b{number}"]
        if rng.random() < 0.5:
            ends.reverse()
        joints.append(some_joint(f"j{number}", rng, ends[0], ends[1]))
    for extra in range(int(rng.integers(0, 4))):
        one, two = rng.choice(len(made), 2, replace=False)
        joints.append(some_joint(f"loop{extra}", rng, f"b{one}", f"b{two}"))
    rng.shuffle(joints)  # type: ignore[arg-type]
    return Mechanism(bodies=made, joints=joints)
