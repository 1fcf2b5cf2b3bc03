"""Forward kinematics over many poses: beside plain products in numpy, and beside programs that pose one by one.

What they find is compared before anything is timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from addon import formats
from addon.core.kinematics import Tree, spanning_tree
from addon.core.mjcf import to_mjcf
from addon.core.model import Array, Mechanism
from addon.core.transforms import inverse
from benchmarks.measuring import in_turn, nothing, seconds
from benchmarks.mechanisms import star, written
from benchmarks.peers import asking
from benchmarks.table import NOTE, Row
from tests.support.references import DARTPY, MUJOCO, NO_DARTPY, NO_MUJOCO

SIZES, QUICK = (31, 310, 1000), (3, 6, 9)
#: Poses times joints, and poses.
WORK, MOST_POSES = 310_000, 10_000
ROUNDS = 5
#: How many times as many poses in a second as another program, by its name, with as many joints.
BARS, JUDGED = {"dartpy": 40.0, "mujoco": 1.0}, 31
#: DART reads a large tree in N^3.
MOST_JOINTS = {"dartpy": 500, "mujoco": 5000}
TOLD = {"dartpy": "DART from Python", "mujoco": "MuJoCo with reading"}


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Microseconds per pose, all bodies' transforms in it."""
    for joints in sizes:
        yield _of_chain(joints)
        yield from _beside_others(joints, folder)


def _values(mechanism: Mechanism, poses: int) -> dict[str, Array]:
    random = np.random.default_rng(0)
    hinges = [joint for joint in mechanism.joints if [dof.kind for dof in joint.dofs] == ["rotation"]]
    return {joint.id: random.uniform(-0.5, 0.5, poses) for joint in hinges}


def _poses(joints: int) -> int:
    return min(MOST_POSES, WORK // joints)


def _of_chain(joints: int) -> Row:
    """A chain against one 4x4 product per joint over all poses."""
    mechanism = formats.loads(star(joints + 1, depth=joints).encode(), "chain.jm")
    tree, poses = spanning_tree(mechanism), _poses(joints)
    values = _values(mechanism, poses)
    frames = [(it.frame_parent, np.linalg.inv(it.frame_child), values[it.id]) for it in mechanism.joints]

    def floor() -> None:
        pose = np.broadcast_to(np.eye(4), (poses, 4, 4))
        for before, after, value in frames:
            turn = np.zeros((poses, 4, 4))
            turn[:, 0, 0] = turn[:, 1, 1] = np.cos(value)
            turn[:, 1, 0] = np.sin(value)
            turn[:, 0, 1] = -turn[:, 1, 0]
            turn[:, 2, 2] = turn[:, 3, 3] = 1.0
            pose = pose @ before @ turn @ after

    ours, slow = (1e6 * each / poses for each in in_turn(lambda: tree.forward(values, poses), floor, before=nothing))
    return Row("a pose of a chain", joints, "joints", ours, slow, "4x4 products in numpy", bar=1.0, measure="us")


def _beside_others(joints: int, folder: Path) -> Iterator[Row]:
    """A tree from one SKEL file, as other programs pose it."""
    path = written(folder, joints + 1, only=["skel"])["skel"]
    mechanism = formats.load(path)
    tree, poses = spanning_tree(mechanism), _poses(joints)
    values, bodies = _values(mechanism, poses), [body.name for body in mechanism.bodies]
    turned = [joint for joint in mechanism.joints if joint.id in values]
    assert len(turned) == joints
    angles, other = folder / f"angles{joints}.npz", folder / f"star{joints}.mjcf"
    table = np.array([values[joint.id] for joint in turned]).T
    made = to_mjcf(mechanism)
    np.savez(
        angles, values=table,
        dartpy_names=[joint.name for joint in turned], dartpy_bodies=bodies,
        mujoco_names=[made.joints[joint.id, 0] for joint in turned],
        mujoco_bodies=[made.bodies[body.id] for body in mechanism.bodies],
    )  # fmt: skip
    other.write_text(made.text, encoding="utf-8")
    for program, python, missing, model in (
        ("dartpy", DARTPY, NO_DARTPY, path),
        ("mujoco", MUJOCO, NO_MUJOCO, other),
    ):
        if not python:
            print(f"{NOTE}forward kinematics, {missing}")
            continue
        if joints > MOST_JOINTS[program]:
            continue
        ours, theirs = _timed(program, python, (model, angles, folder / f"{program}.npy"), tree, values, poses)
        bar = BARS[program] if joints == JUDGED else None
        yield Row(
            f"a pose of a tree, over {TOLD[program]}", joints, "joints", 1e6 * ours / poses, 1e6 * theirs / poses,
            TOLD[program], bar, at_least=True, measure="us",
        )  # fmt: skip


def _timed(
    program: str, python: str, files: tuple[Path, Path, Path], tree: Tree, values: dict[str, Array], poses: int
) -> tuple[float, float]:
    """Seconds of ours and theirs, medians, taken in turn. AssertionError where they find other poses than we."""
    line = "\t".join(str(each.absolute()) for each in files)
    with asking(python, "peer_kinematics.py", program) as ask:
        ask(line)
        found, ours = np.load(files[2]), tree.forward(values, poses)
        seen, known = (inverse(each[:, :1]) @ each for each in (found, ours[: len(found)]))
        assert np.abs(seen - known).max() < 1e-6, f"{program} finds other poses"
        took = [(seconds(lambda: tree.forward(values, poses)), ask(line)) for _ in range(ROUNDS)]
    mine, theirs = np.median(took, axis=0).tolist()
    return mine, theirs
