"""SKEL of joints whose child is the world, which carries and is never carried: their inverses are written."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import spanning_tree
from addon.core.model import Array, Body, Dof, Joint, Mechanism
from addon.core.transforms import inverse
from tests.support.references import CORPUS, DARTPY, NO_DARTPY
from tests.support.skel_compare import dart_of, numbers
from tests.support.skel_write_helpers import KINDS, R, pose

needs_dart = pytest.mark.skipif(not DARTPY, reason=NO_DARTPY)
#: Files of the other formats in which something is joined to the ground.
FILES = [*sorted((CORPUS / "shift").rglob("*.json")), *sorted((CORPUS / "skel").rglob("*.skel"))]


def turned_round(mechanism: Mechanism) -> int:
    """Swap the ends of every joint to the world, and have its axes turn the other way: the mechanism stays the same.
    How many there are."""
    count = 0
    for joint in mechanism.joints:
        plain = all(dof.kind in ("rotation", "translation") for dof in joint.dofs)
        if joint.parent is None and joint.child is not None and joint.active and plain:
            joint.parent, joint.child = joint.child, None
            joint.frame_parent, joint.frame_child = joint.frame_child, joint.frame_parent
            for dof in joint.dofs:
                dof.axis = -dof.axis
            joint.dofs.reverse()
            count += 1
    return count


def placed_in(skeleton: dict[str, Any]) -> dict[str, tuple[str, Array]]:
    """The type of the joint that carries each body, and where the body is at first."""
    bodies = zip(skeleton["bodies"], skeleton["poses"][0], strict=True)
    return {body["name"]: (body["joint"]["type"], numbers(world)) for body, world in bodies}


@needs_dart
def test_dart_moves_joints_of_every_make_to_the_world_as_we_do(tmp_path: Path) -> None:
    models = []
    for number, (type_, made) in enumerate(KINDS.items()):
        frame, other = pose(1, 2, 3, (0.3, 0.2, 0.1)), pose(-1, 0.5, 0, (0.5, 0, 0.7))
        arm = Body("b", "arm", other @ inverse(frame), inertia=np.eye(3))
        joint = Joint("j", "hinge", type_, "b", None, frame, other, copy.deepcopy(made))
        models.append((tmp_path / f"{number}.skel", Mechanism("arm", bodies=[arm], joints=[joint])))
        models[-1][0].write_text(formats.dumps(models[-1][1], "skel")[0])
    for (_path, mechanism), dart in zip(models, dart_of([path for path, _ in models]), strict=True):
        skeleton, dofs = dart["skeletons"][0], mechanism.joints[0].dofs
        for coordinates, poses in zip(skeleton["coordinates"], skeleton["poses"], strict=True):
            if {dof.kind for dof in dofs} & {"ball", "free"}:
                continue  # their coordinates change, which is reported
            value = np.concatenate([np.zeros(0), *map(numbers, coordinates)])[::-1]
            expected = spanning_tree(mechanism).forward({"j": value[None]})[0]
            names = {each["name"]: numbers(world) for each, world in zip(skeleton["bodies"], poses, strict=True)}
            assert np.abs(names["arm"] - expected[0]).max() < 1e-12, mechanism.joints[0].type


@needs_dart
@pytest.mark.skipif(not FILES, reason="the corpus is not here")
def test_dart_reads_real_files_whose_joints_to_the_world_are_turned_round_as_the_same(tmp_path: Path) -> None:
    pairs = []
    for number, path in enumerate(FILES):
        try:
            made = [formats.load(path) for _ in range(2)]
        except formats.FormatError:
            continue
        if not turned_round(made[1]):
            continue
        paths = tmp_path / f"{number} as it is.skel", tmp_path / f"{number} turned round.skel"
        for mechanism, each in zip(made, paths, strict=True):
            mechanism.source.text = ""
            each.write_text(formats.dumps(mechanism, "skel", [str(path.parent)])[0])
        pairs.append((path, *paths))
    assert len(pairs) >= 30
    answers = dart_of([path for pair in pairs for path in pair[1:]])
    for (path, *_), one, other in zip(pairs, answers[::2], answers[1::2], strict=True):
        assert (one["skeletons"] is None) == (other["skeletons"] is None), path
        for mine, theirs in zip(one["skeletons"] or (), other["skeletons"] or (), strict=True):
            placed = [placed_in(each) for each in (mine, theirs)]
            assert placed[0].keys() == placed[1].keys(), path
            for name, (type_, world) in placed[0].items():
                assert placed[1][name][0] == type_, (path, name)
                assert np.abs(placed[1][name][1] - world).max() < 1e-9, (path, name)


def test_a_loop_through_the_world_is_kept_from_either_end() -> None:
    links = [Body(str(i), f"link {i}", pose(i), inertia=np.eye(3)) for i in range(3)]
    joints = [Joint("0", "first", "revolute", None, "0", pose(), pose(), [Dof(R)])]
    joints += [
        Joint(str(i), f"hinge {i}", "revolute", str(i - 1), str(i), pose(1), pose(), [Dof(R)]) for i in range(1, 3)
    ]
    joints.append(Joint("3", "last", "revolute", "2", None, pose(1), pose(3), [Dof(R)]))
    text, report = formats.dumps(Mechanism("chain", bodies=links, joints=joints), "skel")
    assert "cut-loop" in [entry.code for entry in report.entries]
    assert "reversed-joint" in [entry.code for entry in report.entries]
    again = formats.loads(text.encode(), "loop.skel")
    assert [joint.active for joint in again.joints] == [True] * 4
    assert len(spanning_tree(again).loop_joints) == 1
    assert "<inactive_joint" not in text
    assert formats.dumps(again)[0] == text
