"""What Juice gets of models whose formats have mesh files and joint positions: boxes as large as the meshes, where
these are drawn, and loops that are closed."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.formats.files import read_bytes
from addon.model import starters
from addon.model.kinematics import joint_motion, spanning_tree
from addon.model.loops import assemble, chord_errors
from addon.model.records import Array, Mechanism

PUMPJACK = Path("sample_models/pumpjack/pumpjack.json")


def converted(mechanism: Mechanism, folder: Path) -> tuple[Mechanism, list[str]]:
    report = formats.save(mechanism, folder / "out.jm")
    return formats.load(folder / "out.jm"), [str(entry) for entry in report.entries]


def vertices(path: Path) -> Array:
    rows = [line.split()[1:4] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("v ")]
    return np.array(rows, dtype=np.float64)


def starts(mechanism: Mechanism) -> dict[str, Array]:
    """Where the loops close, and so where a model begins."""
    return assemble(mechanism, spanning_tree(mechanism))[0]


def poses(mechanism: Mechanism, positions: dict[str, Array]) -> dict[str, Array]:
    coordinates = {own: at[None] for own, at in positions.items()}
    placed = spanning_tree(mechanism).forward(coordinates)[0]
    return {body.name: pose for body, pose in zip(mechanism.bodies, placed, strict=True)}


def test_a_mesh_becomes_the_box_that_holds_it_where_it_is_drawn(tmp_path: Path) -> None:
    source = formats.load(PUMPJACK)
    begun = poses(source, starts(source))
    back, told = converted(source, tmp_path)
    assert any("a mesh is written as the box that holds it" in line for line in told)
    boxes, checked = {body.name: body for body in back.bodies}, 0
    for body in source.bodies:
        meshes = [shape for shape in body.shapes if shape.mesh]
        if not meshes:
            continue
        shape, box = meshes[0], boxes[body.name].shapes[0]
        points = vertices(PUMPJACK.parent / Path(str(shape.mesh)).name) * [shape.size[axis] for axis in "xyz"]
        world = np.c_[points, np.ones(len(points))] @ (begun[body.name] @ shape.pose).T
        own = world @ np.linalg.inv(boxes[body.name].pose @ box.pose).T
        half = np.array([box.size[axis] for axis in "xyz"]) / 2.0
        assert own[:, :3].max(axis=0) == pytest.approx(half, abs=1e-5)
        assert own[:, :3].min(axis=0) == pytest.approx(-half, abs=1e-5)
        checked += 1
    assert checked >= 4


def test_a_mesh_that_is_missing_is_told(tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    alone.write_bytes(read_bytes(PUMPJACK))
    _, told = converted(formats.load(alone), tmp_path)
    assert sum("how large a mesh is is not known" in line for line in told) >= 4
    assert any("taken for 1 along each edge" in line for line in told)


def test_a_flat_mesh_gets_some_thickness(tmp_path: Path) -> None:
    (tmp_path / "flat.obj").write_text("v 0 0 1\nv 2 0 1\nv 2 4 1\nv 0 4 1\nf 1 2 3 4\n", encoding="utf-8")
    source = formats.loads(read_bytes(PUMPJACK), str(tmp_path / "model.json"))
    for body in source.bodies:
        for shape in body.shapes:
            shape.mesh = "flat.obj"
    back, _ = converted(source, tmp_path)
    size = next(body.shapes[0].size for body in back.bodies if body.name == "post")
    assert [size[axis] for axis in "xyz"] == pytest.approx([2.0, 4.0, 0.004])


def unclosed(mechanism: Mechanism, seed: int) -> Mechanism:
    """The same mechanism, which begins as it did, but whose joints have other zeros, at which loops are open."""
    rng = np.random.default_rng(seed)
    out = deepcopy(mechanism)
    for joint in out.joints:
        for dof in joint.dofs:
            zero = float(rng.uniform(-1.0, 1.0))
            joint.frame_parent = joint.frame_parent @ joint_motion(joint, np.array([[-zero]]))[0]
            dof.position = zero
            dof.lower, dof.upper = (None if stop is None else stop + zero for stop in (dof.lower, dof.upper))
    for body, pose in zip(out.bodies, spanning_tree(out).forward({})[0], strict=True):
        body.pose = pose
    return out


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_zeros_of_joints_make_no_other_file(seed: int, tmp_path: Path) -> None:
    bar = starters.four_bar()
    bar.joints[1].dofs[0].lower, bar.joints[1].dofs[0].upper = -0.5, 0.75
    other = unclosed(bar, seed)
    tree = spanning_tree(other)
    zeros = {joint.id: np.zeros(len(joint.dofs)) for joint in other.joints}
    assert tree.loop_joints and max(map(max, chord_errors(other, zeros, tree).values())) > 0.05
    one, told = converted(bar, tmp_path)
    two, told_of_other = converted(other, tmp_path)
    assert not any("as it begins" in line for line in told)
    assert any("as it begins" in line for line in told_of_other) and not any("apart" in line for line in told_of_other)
    for first, second in zip(one.bodies, two.bodies, strict=True):
        assert first.pose == pytest.approx(second.pose, abs=1e-6)
    for mine, its in zip(one.joints, two.joints, strict=True):
        assert mine.frame_parent == pytest.approx(its.frame_parent, abs=1e-6)
        assert mine.frame_child == pytest.approx(its.frame_child, abs=1e-6)
        stops = [[getattr(dof, name) for dof in joint.dofs for name in ("lower", "upper")] for joint in (mine, its)]
        assert stops[0] == pytest.approx(stops[1], abs=1e-6)


def test_a_loop_through_the_world_is_drawn_closed(tmp_path: Path) -> None:
    source = formats.load(PUMPJACK)
    begun = poses(source, starts(source))
    report = formats.save(source, tmp_path / "out.jm")
    assert not any("apart" in str(entry) for entry in report.entries)
    back = formats.load(tmp_path / "out.jm")
    sides = {body.id: body.pose for body in back.bodies}
    for joint in back.joints:
        if joint.parent is not None and joint.child is not None:
            apart = sides[joint.parent] @ joint.frame_parent - sides[joint.child] @ joint.frame_child
            assert np.abs(apart[:3, 3]).max() < 1e-6, joint.name
    heavy = next(body for body in back.bodies if body.name == "post")
    assert heavy.pose[:3, :3] == pytest.approx(begun["post"][:3, :3], abs=1e-6)


def test_stops_count_from_where_the_model_begins(tmp_path: Path) -> None:
    source = formats.load(PUMPJACK)
    motor = next(joint for joint in source.joints if joint.name == "motor")
    motor.dofs[0].lower, motor.dofs[0].upper = -1.0, 2.0
    begun = float(starts(source)[motor.id][0])
    back, _ = converted(source, tmp_path)
    dof = next(joint for joint in back.joints if joint.name == "motor").dofs[0]
    assert (dof.lower, dof.upper) == pytest.approx((-1.0 - begun, 2.0 - begun), abs=1e-6)


def test_a_model_whose_loops_are_closed_at_zero_is_written_there(tmp_path: Path) -> None:
    source = formats.load("sample_models/desk_lamp/desk_lamp.skel")
    _, told = converted(source, tmp_path)
    assert not any("as it begins" in line for line in told)
