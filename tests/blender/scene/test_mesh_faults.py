"""Meshes with faults: what is good of them is read, in Blender as for their size, and what is not is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.report import Report
from addon.formats.meshes.bounds import mesh_bounds
from addon.formats.meshes.locate import MeshError
from tests.support import mesh_samples as samples
from tests.support.mesh_files_helpers import BODY, files_of, points_of, shape

SOUND = samples.obj().decode()
LAST = len(SOUND.splitlines())
#: Faces that are none, with how many.
FACES = {
    "beyond": ("f 1 2 99\n", 1), "zero": ("f 0 1 2\n", 1), "backwards": ("f -1 -2 -9\n", 1),
    "letters": ("f a b c\n", 1), "line": ("f 1 2\n", 1), "several": ("f 1 2 99\nf 1 2 98\nf 1\n", 3),
}  # fmt: skip


@pytest.mark.parametrize("what", FACES)
def test_bad_faces_beside_good_ones_are_left_out_and_told(what: str, blank: Any, tmp_path: Path) -> None:
    text, count = FACES[what]
    (tmp_path / "a.obj").write_text(SOUND + text)
    report, sizes = Report(), Report()
    with files_of(tmp_path, report) as files:
        mesh = files.mesh(shape("a.obj"), BODY)
        assert mesh is not None
        assert {tuple(point) for point in points_of(mesh).tolist()} == set(samples.POINTS)
    low, high = mesh_bounds(tmp_path / "a.obj", report=sizes)
    assert np.array_equal([low, high], [np.min(samples.POINTS, axis=0), np.max(samples.POINTS, axis=0)])
    those = "polygon is" if count == 1 else "polygons are"
    for each in (report, sizes):
        assert f"a.obj: {count} {those} skipped" in str(each) and f"(first on line {LAST + 1})" in str(each)


@pytest.mark.parametrize("point", ["v 0,5 0 0", "v 0 0,5 0", "v 0 0 -1,5e3", "v\t,5 0 0"])
def test_decimal_commas_are_refused_with_their_line(point: str, blank: Any, tmp_path: Path) -> None:
    """Blender makes other points of them."""
    (tmp_path / "a.obj").write_text(f"{point}\n{SOUND}")
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape("a.obj"), BODY) is None
    assert "line 1 of the mesh has a decimal comma" in str(report) and "decimal points" in str(report)
    with pytest.raises(MeshError):
        mesh_bounds(tmp_path / "a.obj")


@pytest.mark.parametrize("comment", ["# 0,5 0 0", "o a,5", "# v 1,5", "v 0 0 0 # 1,5"])
def test_commas_elsewhere_are_none(comment: str, blank: Any, tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(f"{SOUND}{comment}\n")
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape("a.obj"), BODY) is not None
    assert report.entries == []


def test_what_is_repaired_of_a_collada_file_is_told(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_bytes(samples.dae().replace(b'target="#red"', b'target="#blue"'))
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape("a.dae"), BODY) is not None
    assert "a.dae: an element is ignored" in str(report) and "blue" in str(report)
