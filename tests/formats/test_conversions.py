"""Real files are the same mechanism in every format, and the same again in their own; what is not is reported. What was
written is kept when it is saved again.

``build.py bench conversions`` takes every file through every format, and prints the figures."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.model import Body, Dof, Joint, Mechanism, Shape
from benchmarks.conversions import FORMATS, corpus_files, trip
from benchmarks.returned import differences
from benchmarks.standing import compare, motion, standing

FILES = list(corpus_files())


def turns(corpus: Path, source: str) -> dict[str, list[Path]]:
    """Which files of a format go through which: each through its own and through one of the others in turn, so that
    each pair of formats is seen by a third of the files."""
    files = [path for path in FILES if path.is_relative_to(corpus / source)]
    others = [name for name in FORMATS if name != source]
    return {source: files} | {name: files[at :: len(others)] for at, name in enumerate(others)}


@pytest.mark.slow
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_real_files_survive_every_format(source: str, target: str, tmp_path: Path, corpus: Path) -> None:
    files = turns(corpus, source)[target]
    assert files
    moved = 0
    for path in files:
        made = trip(path, target, tmp_path)
        assert made.trouble == [], path.name
        moved += made.stand.moved if made.stand else 0
    assert moved > len(files) / 2  # joints that took part in the random pose


@pytest.mark.parametrize("source", FORMATS)
def test_each_real_file_is_converted(source: str, corpus: Path) -> None:
    """Through its own format and one other."""
    shares = turns(corpus, source)
    own = shares.pop(source)
    assert sorted(own) == sorted(path for share in shares.values() for path in share)
    assert len(own) > 10


def test_all_real_files_are_tried(corpus: Path) -> None:
    assert len(FILES) > 170


def arm() -> Mechanism:
    """A body and two limbs on oblique hinges, one of them joined from its other end."""
    out = Mechanism("arm", bodies=[Body(str(i), f"limb {i}", mass=i + 1.0) for i in range(3)])
    for i, body in enumerate(out.bodies):
        body.pose[:3, 3] = (0.5 * i, 0.25 * i, 0.0)
        body.com, body.inertia = np.array([0.1, 0.0, 0.0]), np.diag([1.0, 2.0, 2.5])
        body.shapes = [Shape("box", {"x": 0.5, "y": 0.1, "z": 0.2}, color=(1.0, 0.5, 0.0, 1.0))]
    axis = np.array([0.48, 0.6, 0.64])
    for number, (parent, child) in enumerate((("0", "1"), ("2", "1"))):
        joint = Joint(f"j{number}", f"joint {number}", "revolute", parent, child, dofs=[Dof("rotation", axis)])
        joint.dofs[0].lower, joint.dofs[0].upper = -0.5, 1.0
        bodies = {body.id: body for body in out.bodies}
        joint.frame_child[:3, 3] = (-0.2, 0.0, 0.0)
        joint.frame_parent = np.linalg.inv(bodies[parent].pose) @ bodies[child].pose @ joint.frame_child
        out.joints.append(joint)
    return out


def test_the_comparison_sees_what_is_wrong() -> None:
    one = arm()
    assert compare(one, copy.deepcopy(one)).posed < 1e-15
    assert differences(one, copy.deepcopy(one)) == []
    for change in (
        lambda it: it.joints[0].dofs[0].axis.__setitem__(0, 0.49),
        lambda it: setattr(it.joints[1].dofs[0], "axis", -it.joints[1].dofs[0].axis),
        lambda it: it.joints[1].frame_child.__setitem__((0, 3), -0.201),
    ):
        other = copy.deepcopy(one)
        change(other)
        assert compare(one, other).posed > 1e-4
        assert "joint frame" in [difference.what for difference in differences(one, other)]
    other = copy.deepcopy(one)
    other.joints[1].dofs[0].upper = 1.0 + 1e-8
    other.bodies[2].mass *= 1.0 + 1e-8
    other.bodies[1].shapes[0].color = None
    assert sorted(difference.what for difference in differences(one, other)) == ["colour", "limits", "mass"]


def test_the_kinematics_that_compares_is_right() -> None:
    one = arm()
    bent = motion([Dof("rotation", np.array([0.0, 0.0, 1.0]))], np.array([np.pi / 2]))
    assert np.abs(bent[:3, 0] - [0, 1, 0]).max() < 1e-15
    one.joints[0].dofs[0].axis = np.array([0.0, 0.0, 1.0])
    poses = standing(one, one.joints, ["0"], {"j0": np.array([np.pi / 2])})
    hinge = one.joints[0].frame_parent[:3, 3]
    assert np.abs(poses["1"][:3, 3] - (hinge + [0.0, 0.2, 0.0])).max() < 1e-15


@pytest.mark.parametrize("target", FORMATS)
def test_a_twin_is_the_same_joint_again(target: str) -> None:
    one = arm()
    for joint in one.joints:
        joint.name = "hip"  # of which no two have the same in SKEL and Shift
    one.joints[0].twin, one.joints[1].twin = "j1", "j0"
    again = formats.loads(formats.dumps(one, target)[0].encode(), "arm")
    ids = [joint.id for joint in again.joints]
    assert [joint.twin for joint in again.joints] == ids[::-1]


@pytest.mark.parametrize("target", ["skel", "x_xy", "shift"])
def test_a_balls_own_damper_and_spring_come_back(target: str) -> None:
    one = arm()
    one.joints[0].type = "ball"
    one.joints[0].dofs = [Dof("ball", damping=2.0, stiffness=20.0, friction=0.5)]
    again = formats.loads(formats.dumps(one, target)[0].encode(), "arm")
    kept = {"damping", "spring", "friction"} & {difference.what for difference in differences(one, again)}
    assert kept == set()


def test_a_body_that_a_shift_file_places_stays_placed() -> None:
    one = arm()
    one.directed, one.bodies[1].mass = False, 9.0  # its root is in the middle, and directed it would be the first
    chord = one.joints[1]
    chord.parent, chord.child = chord.child, chord.parent
    chord.frame_parent, chord.frame_child = chord.frame_child, chord.frame_parent
    for body in one.bodies:
        body.pose[2, 3] = 5.0
    text = formats.dumps(one, "shift")[0]
    again = formats.loads(text.encode())
    assert formats.dumps(again)[0] == text
    again.bodies[0].mass = 2.0
    once_more = formats.loads(formats.dumps(again)[0].encode())
    assert [body.pose.tolist() for body in once_more.bodies] == [body.pose.tolist() for body in again.bodies]


def test_a_joint_that_is_written_the_other_way_round_is_reported() -> None:
    told = [entry.code for entry in formats.dumps(arm(), "skel")[1].entries]
    assert "reversed-joint" in told


@pytest.mark.parametrize("target", ["skel", "shift"])
def test_the_assembly_that_a_format_needs_is_reported(target: str) -> None:
    report = formats.dumps(arm(), target)[1]
    assert [entry.severity for entry in report.entries if entry.code == "invented-assembly"] == ["info"]


def test_a_twin_of_another_skeleton_is_reported() -> None:
    one = arm()
    del one.joints[1]
    one.bodies[2].assembly, one.bodies[2].twin = "elsewhere", "0"
    assert "dropped-twin" in [entry.code for entry in formats.dumps(one, "skel")[1].entries]
