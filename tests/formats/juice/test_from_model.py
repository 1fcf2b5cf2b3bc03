"""What Juice, which has no mesh files, gets of models that name some: boxes as large as the meshes, where these are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.model import Array, Mechanism
from addon.formats.text.file_io import read_bytes

PUMPJACK = Path("sample_models/pumpjack/pumpjack.json")


def converted(mechanism: Mechanism, folder: Path) -> tuple[Mechanism, list[str]]:
    report = formats.save(mechanism, folder / "out.jm")
    return formats.load(folder / "out.jm"), [str(entry) for entry in report.entries]


def vertices(path: Path) -> Array:
    rows = [line.split()[1:4] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("v ")]
    return np.array(rows, dtype=np.float64)


def test_a_mesh_becomes_the_box_that_holds_it_where_it_is_drawn(tmp_path: Path) -> None:
    source = formats.load(PUMPJACK)
    back, told = converted(source, tmp_path)
    assert any("Mesh: written as its bounding box" in line for line in told)
    boxes, checked = {body.name: body for body in back.bodies}, 0
    for body in source.bodies:
        meshes = [shape for shape in body.shapes if shape.mesh]
        if not meshes:
            continue
        shape, box = meshes[0], boxes[body.name].shapes[0]
        points = vertices(PUMPJACK.parent / Path(str(shape.mesh)).name) * [shape.size[axis] for axis in "xyz"]
        world = np.c_[points, np.ones(len(points))] @ (body.pose @ shape.pose).T
        own = world @ np.linalg.inv(boxes[body.name].pose @ box.pose).T
        half = np.array([box.size[axis] for axis in "xyz"]) / 2.0
        assert own[:, :3].max(axis=0) == pytest.approx(half, abs=1e-5)
        assert own[:, :3].min(axis=0) == pytest.approx(-half, abs=1e-5)
        checked += 1
    assert checked >= 4


def test_a_mesh_that_is_missing_is_reported(tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    alone.write_bytes(read_bytes(PUMPJACK))
    _, told = converted(formats.load(alone), tmp_path)
    assert sum("size of a mesh is unknown" in line for line in told) >= 4
    assert any("assumed to be 1 along each edge" in line for line in told)


def test_a_flat_mesh_gets_some_thickness(tmp_path: Path) -> None:
    (tmp_path / "flat.obj").write_text("v 0 0 1\nv 2 0 1\nv 2 4 1\nv 0 4 1\nf 1 2 3 4\n", encoding="utf-8")
    source = formats.loads(read_bytes(PUMPJACK), str(tmp_path / "model.json"))
    for body in source.bodies:
        for shape in body.shapes:
            shape.mesh = "flat.obj"
    back, _ = converted(source, tmp_path)
    size = next(body.shapes[0].size for body in back.bodies if body.name == "post")
    assert [size[axis] for axis in "xyz"] == pytest.approx([2.0, 4.0, 0.004])
