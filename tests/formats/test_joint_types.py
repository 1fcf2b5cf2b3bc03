"""A joint of a file that is changed to another type comes back as that from the file's own format, wherever it is."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.editing.joints import change_type
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import CLOSES_LOOP, initial_joint_values, joint_motion, spanning_tree
from addon.core.model import Body, Joint, Mechanism
from addon.core.transforms import make_pose, rotation_matrix, rotation_with_z
from tests.support.references import CORPUS

SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"
FILES = {
    "pumpjack": SAMPLES / "pumpjack/pumpjack.json",
    "kuka": CORPUS / "shift/kuka_lbr_iiwa_14_r820/kuka_iiwa.json",
    "double pendulum": CORPUS / "shift/pendulum/double_pendulum.json",
    "slider crank": CORPUS / "shift/slider_crank/slider_crank_2substructures.json",
    "brake": CORPUS / "shift/brake/brake.json",
    "desk lamp": SAMPLES / "desk_lamp/desk_lamp.skel",
    "humanoid": SAMPLES / "humanoid/humanoid.skel",
    "sensor leg": SAMPLES / "sensor_leg/sensor_leg.xml",
    "branched": CORPUS / "x_xy/imt-ring-1.7.1/ring/io/examples/branched.xml",
    "rover": SAMPLES / "rover/rover.jm",
}
NOT_IN_JUICE = {"cylindrical", "planar", "screw", "translational", "free"}
#: Types of Juice files that are written as another one, and said to be.
APPROXIMATED_IN_JUICE = {"universal", "euler", "weld"}


def load(name: str) -> Mechanism:
    if not FILES[name].is_file():
        pytest.skip(f"{FILES[name].name} is not here")
    return formats.load(FILES[name])


def changed(mechanism: Mechanism, joint: Joint, type_: str) -> Mechanism:
    return change_type(mechanism, joint.id, type_, np.zeros(joint.size)).after


def saved_and_read(mechanism: Mechanism, name: str) -> tuple[str, Mechanism, set[str]]:
    """The file's text, what it is read as, and the codes of the report."""
    text, report = formats.dumps(mechanism, mechanism.source.format)
    return text, formats.loads(text.encode(), str(FILES[name])), {entry.code for entry in report.entries}


def facts(joint: Joint) -> tuple[Any, ...]:
    """Return the properties of a part, except poses, that an edit of another joint does not change."""
    kinds = [(dof.kind, dof.lower, dof.upper) for dof in joint.dofs]
    return joint.name, joint.type, joint.parent, joint.child, joint.active, kinds


def differences(wanted: Mechanism, found: Mechanism) -> list[Any]:
    """Return the differences of two mechanisms with the same ids: parts, types, stops, values, and poses when moved."""
    ids = [[[part.id for part in parts] for parts in (each.bodies, each.joints)] for each in (wanted, found)]
    if ids[0] != ids[1]:
        return ids
    out = [pair for pair in zip(map(facts, wanted.joints), map(facts, found.joints), strict=True) if pair[0] != pair[1]]
    if out:
        return out
    values = initial_joint_values(wanted)
    out += [key for key, value in initial_joint_values(found).items() if not np.allclose(value, values[key], atol=1e-9)]
    rng = np.random.default_rng(5)
    moved = {key: rng.normal(scale=0.5, size=value.shape) for key, value in values.items()}
    poses = [spanning_tree(each).forward(moved)[0] for each in (wanted, found)]
    off = np.abs(np.subtract(*poses)).max(axis=(1, 2))
    return out + [body.name for body, by in zip(wanted.bodies, off, strict=True) if by > 1e-6]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "humanoid" else name for name in FILES]
)
def test_every_joint_comes_back_as_every_type(name: str) -> None:
    original, tested = load(name), 0
    for joint in original.joints:
        for type_ in JOINT_TYPES:
            wanted = changed(load(name), joint, type_)
            _text, found, codes = saved_and_read(wanted, name)
            if original.source.format == "juice":
                told = {"dropped-joint"} if type_ in NOT_IN_JUICE else set()
                told |= {"approximated-joint"} if type_ in APPROXIMATED_IN_JUICE else set()
                assert told <= codes, (joint.name, type_)
                if told:
                    continue
                order = [each.id for each in wanted.joints]
                found.joints.sort(key=lambda each: order.index(each.id))  # the file lists them by type
            assert not differences(wanted, found), (joint.name, type_)
            tested += 1
    assert tested >= 3 * len(original.joints)


@pytest.mark.parametrize("name", [name for name, path in FILES.items() if path.suffix != ".jm"])
@pytest.mark.parametrize("type_", ["universal", "planar", "ball"])
def test_all_joints_come_back_as_one_type(name: str, type_: str) -> None:
    wanted = load(name)
    for joint in load(name).joints:
        wanted = changed(wanted, joint, type_)
    _text, found, _codes = saved_and_read(wanted, name)
    assert not differences(wanted, found)


@pytest.mark.parametrize("name", [name for name, path in FILES.items() if path.suffix == ".json"])
def test_a_shift_file_keeps_all_other_lines(name: str) -> None:
    original = load(name)
    lines = original.source.text.splitlines()
    for joint in original.joints:
        text, _found, _codes = saved_and_read(changed(load(name), joint, "euler"), name)
        now = text.splitlines()
        for tag, start, end, there, _to in difflib.SequenceMatcher(None, lines, now, autojunk=False).get_opcodes():
            for number in range(start, end) if tag in ("delete", "replace") else ():
                own = _own_lines(lines, joint)
                same = now[there + number - start].rstrip(", ") == lines[number].rstrip(", ")
                assert number in own or same, (joint.name, lines[number])


@pytest.mark.parametrize("format_", ["juice", "skel", "x_xy", "shift"])
@pytest.mark.parametrize("type_", JOINT_TYPES)
def test_joint_frames_of_32_bits_are_written_and_come_back(type_: str, format_: str) -> None:
    """As Blender and scripts give them: their rotations are not exact."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frames = [
            make_pose(rotation_matrix(rng.normal(size=3)), rng.normal(size=3)).astype(np.float32).astype(np.float64)
            for _side in range(2)
        ]
        bodies = [Body("a", "a", mass=1.0), Body("b", "b", mass=1.0, pose=frames[0] @ np.linalg.inv(frames[1]))]
        dofs = make_dofs(type_)
        joints = [Joint("w", "w", "weld", None, "a"), Joint("j", "j", type_, "a", "b", frames[0], frames[1], dofs)]
        text, report = formats.dumps(Mechanism("m", bodies=bodies, joints=joints), format_)
        again = formats.loads(text.encode(), f"m{formats.FORMATS[format_].extensions[0]}")
        if format_ == "juice":
            codes = {entry.code for entry in report.entries}
            assert type_ not in NOT_IN_JUICE or "dropped-joint" in codes
            continue
        assert [body.name for body in again.bodies] == ["a", "b"]
        joint = next(joint for joint in again.joints if joint.child == again.bodies[1].id)
        assert (joint.type, [dof.kind for dof in joint.dofs]) == (type_, [dof.kind for dof in dofs])
        values = rng.normal(scale=0.5, size=joint.size)
        places = [
            each.frame_parent @ joint_motion(each, values[None])[0] @ np.linalg.inv(each.frame_child)
            for each in (joint, joints[1])
        ]
        assert np.abs(np.subtract(*places)).max() < 1e-6


@pytest.mark.parametrize("type_", sorted(set(JOINT_TYPES) - {"cylindrical"}))
@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, -0.8)])
def test_a_skel_file_has_closed_loops_of_every_type_and_axis(type_: str, axis: tuple[float, ...]) -> None:
    mechanism = Mechanism("m", bodies=[Body(name, name, mass=1.0) for name in "abc"])
    turn = make_pose(rotation_with_z(np.array(axis)), (0.3, 0.1, 0.2))
    dofs = make_dofs(type_)
    for dof in dofs:
        dof.axis = turn[:3, :3] @ dof.axis
    for number, ends in enumerate([(None, "a"), ("a", "b"), ("b", "c")]):
        mechanism.joints.append(Joint(str(number), f"j{number}", "revolute", *ends, dofs=make_dofs("revolute")))
    mechanism.joints.append(Joint("loop", "loop", type_, "a", "c", turn, turn, dofs, extra={CLOSES_LOOP: True}))
    text, _report = formats.dumps(mechanism, "skel")
    found = next(joint for joint in formats.loads(text.encode(), "m.skel").joints if joint.name == "loop")
    assert found.type == type_
    assert [dof.kind for dof in found.dofs] == [dof.kind for dof in dofs]
    values = np.random.default_rng(2).normal(scale=0.4, size=(1, found.size))
    places = [
        each.frame_parent @ joint_motion(each, values)[0] @ np.linalg.inv(each.frame_child)
        for each in (mechanism.joints[-1], found)
    ]
    assert np.abs(np.subtract(*places)).max() < 1e-9


def _own_lines(lines: list[str], joint: Joint) -> range:
    """The lines of a joint's element, which begins at its brace."""
    first = joint.line - 1
    depth = 0
    for number in range(first, len(lines)):
        depth += lines[number].count("{") - lines[number].count("}")
        if depth <= 0:
            return range(first, number + 1)
    raise AssertionError(joint.name)
