"""Forward kinematics over many poses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from addon import formats
from addon.model.kinematics import spanning_tree
from tests.bench.measuring import in_turn, nothing
from tests.bench.mechanisms import star
from tests.bench.table import Row

SIZES, QUICK = (31, 310, 1000), (3, 6, 9)
#: Poses times joints, and poses.
WORK, MOST_POSES = 310_000, 10_000


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """A chain against one 4x4 product per joint over all poses."""
    for joints in sizes:
        mechanism = formats.loads(star(joints + 1, depth=joints).encode(), "chain.jm")
        tree = spanning_tree(mechanism)
        poses = min(MOST_POSES, WORK // joints)
        values = {joint.id: np.random.default_rng(0).uniform(-0.5, 0.5, poses) for joint in mechanism.joints}
        frames = [(it.frame_parent, np.linalg.inv(it.frame_child), values[it.id]) for it in mechanism.joints]

        def floor(poses: int = poses, frames: list = frames) -> None:
            pose = np.broadcast_to(np.eye(4), (poses, 4, 4))
            for before, after, value in frames:
                turn = np.zeros((poses, 4, 4))
                turn[:, 0, 0] = turn[:, 1, 1] = np.cos(value)
                turn[:, 1, 0] = np.sin(value)
                turn[:, 0, 1] = -turn[:, 1, 0]
                turn[:, 2, 2] = turn[:, 3, 3] = 1.0
                pose = pose @ before @ turn @ after

        ours, slow = in_turn(
            lambda tree=tree, values=values, poses=poses: tree.forward(values, poses), floor, before=nothing
        )
        yield Row("forward kinematics of a chain", joints, "joints", ours, slow, "4x4 products in numpy", bar=1.0)
