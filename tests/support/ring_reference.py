"""Reference for tests of x_xy, as a script: what imt-ring itself makes of x_xy texts."""

# Runs in a Python of its own that has imt-ring, and imports nothing of ours. Standard input: a JSON object of ``[seed,
# text]`` by name. Standard output: by the same names what the program loaded, or ``{"error": ...}``. Rotations are
# active: ``world = place + turn @ local``. Everything in 64 bits.

# Runs in a Python of its own that has imt-ring, and imports nothing of ours. Standard input: a JSON object of
# ``[seed, text]`` by name. Standard output: by the same names what the program loaded, or ``{"error": ...}``. Rotations
# are active: ``world = place + turn @ local``. Everything in 64 bits.

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_jit", True)  # nothing runs often enough to be worth compiling

import numpy as np  # noqa: E402
import ring  # noqa: E402
from ring import base  # noqa: E402
from ring.algorithms.kinematics import forward_kinematics_transforms  # noqa: E402


def active(quat: Any) -> np.ndarray:
    """Rotation matrix of one of the program's quaternions, which are passive."""
    w, x, y, z = np.asarray(quat) / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
            [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
            [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def worlds(system: Any, several: np.ndarray) -> list[list[list[list[float]]]]:
    """World pose of every link for each of several vectors of coordinates."""
    transforms = jax.vmap(lambda q: forward_kinematics_transforms(system, q)[0])(jax.numpy.asarray(several))
    out = []
    for places, quats in zip(np.asarray(transforms.pos), np.asarray(transforms.rot), strict=True):
        poses = np.tile(np.eye(4), (len(places), 1, 1))
        poses[:, :3, :3], poses[:, :3, 3] = [active(quat) for quat in quats], places
        out.append(poses.tolist())
    return out


def described(text: str, seed: int) -> dict[str, Any]:
    """One model: its links, their default poses, and their poses for coordinates drawn at random."""
    system = ring.System.create(text)
    rest = np.asarray(ring.State.create(system).q, dtype=float)
    random = np.random.default_rng(seed)
    q = random.uniform(-1.5, 1.5, len(rest))
    where = system.idx_map("q")
    rates = system.idx_map("d")
    links = []
    all_links = jax.tree.map(np.asarray, system.links)
    lists = {
        "damping": np.asarray(system.link_damping),
        "armature": np.asarray(system.link_armature),
        "spring_stiff": np.asarray(system.link_spring_stiffness),
    }
    zeros = np.asarray(system.link_spring_zeropoint)
    for number, (name, kind) in enumerate(zip(system.link_names, system.link_types, strict=True)):
        mine = where[name]
        if base.System.joint_type_is_free_or_cor_or_spherical(kind):
            quat = random.normal(size=4)
            q[mine.start : mine.start + 4] = quat / np.linalg.norm(quat)
        params = {
            key: np.asarray(value[number]).tolist()
            for own, values in all_links.joint_params.items()
            if own == kind
            for key, value in values.items()
        }
        links.append(
            {
                "name": name,
                "joint": kind,
                "parent": None if system.link_parents[number] == -1 else system.link_names[system.link_parents[number]],
                "q": q[mine].tolist(),
                "mass": float(np.ravel(all_links.inertia.mass[number])[0]),
                "moment": all_links.inertia.h[number].tolist(),
                "inertia_about_origin": all_links.inertia.it_3x3[number].tolist(),
                **{key: values[rates[name]].tolist() for key, values in lists.items()},
                "spring_zero": zeros[mine].tolist(),
                "pos_min": all_links.pos_min[number].tolist(),
                "pos_max": all_links.pos_max[number].tolist(),
                "params": params,
                "marker": None if system.omc[number] is None else str(system.omc[number].coordinate_system_name),
            }
        )
    at_rest, posed = worlds(system, np.stack([rest, q]))
    return {
        "model": None if system.model_name is None else str(system.model_name),
        "gravity": np.asarray(system.gravity).tolist(),
        "dt": float(system.dt),
        "links": links,
        "geoms": len(system.geoms),
        "rest": at_rest,
        "posed": posed,
    }


def main() -> None:
    """Answer for all texts."""
    answers: dict[str, Any] = {}
    for name, (seed, text) in json.load(sys.stdin).items():
        try:
            answers[name] = described(text, seed)
        except Exception as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
