"""A model written into another folder with its meshes: it loads there on its own, its text is changed no more than it
has to be, and nothing is written outside or over another file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.locate import find_mesh
from addon.formats.meshes.obj import sanitize_obj
from tests.support.references import CORPUS

OBJ = "mtllib {}\nv 0 0 0\nv {} 0 0\nv 0 2 0\nv 0 0 3\nusemtl red\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MTL = "newmtl red\nKd 1 0 0\nmap_Kd -s 2 2 1 {}\n"
SKEL = """<?xml version="1.0" ?>
<skel version="1.0"><world name="w"><skeleton name="s"><!-- kept -->
{}</skeleton></world></skel>
"""
BODY = """<body name="b{}"><inertia><mass>1</mass></inertia>
<visualization_shape><geometry>
<mesh><file_name>{}</file_name><scale>1 1 1</scale></mesh>
</geometry></visualization_shape></body>
"""


def model(folder: Path, *names: str) -> Path:
    """A SKEL file of bodies with these meshes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.skel"
    path.write_text(SKEL.format("".join(BODY.format(n, name) for n, name in enumerate(names))))
    return path


def put(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def painted(folder: Path, mesh: str, library: str, picture: str, size: float = 1.0) -> None:
    """An .obj with its .mtl and its picture; the last two named from where the first and second lie."""
    put(folder / mesh, OBJ.format(library, size))
    put((folder / mesh).parent / library, MTL.format(picture))
    put(((folder / mesh).parent / library).parent / picture, b"\x89PNG of " + mesh.encode())


def moved(source: Path, target: Path, **more: object) -> formats.Mechanism:
    """The model written elsewhere, its own folder taken away, and read again."""
    target.parent.mkdir(parents=True, exist_ok=True)
    report = formats.save(formats.load(source), target, with_meshes=True, **more)  # type: ignore[arg-type]
    source.parent.rename(source.parent.with_name("gone"))
    mechanism = formats.load(target)
    mechanism.report = report
    return mechanism


def meshes_of(mechanism: formats.Mechanism) -> list[Path]:
    return [find_mesh(s.mesh, mechanism.source.path) for b in mechanism.bodies for s in b.shapes if s.mesh]


def pictures_of(mesh: Path, folder: Path) -> list[bytes]:
    return [picture.read_bytes() for picture in sanitize_obj(mesh, [folder], [], {}).pictures]


def test_what_lies_beside_keeps_its_name_and_the_text_every_letter(tmp_path: Path) -> None:
    source = model(tmp_path / "from", "meshes/link.obj", "arm.obj")
    painted(source.parent, "meshes/link.obj", "../colours/red.mtl", "tiles.png")
    painted(source.parent, "arm.obj", "arm.mtl", "arm.png", 4.0)
    text = source.read_bytes()
    target = tmp_path / "to" / "new.skel"
    back = moved(source, target)
    assert target.read_bytes() == text
    meshes = meshes_of(back)
    assert meshes == [target.parent / "meshes/link.obj", target.parent / "arm.obj"]
    assert [mesh_box(mesh).tolist() for mesh in meshes] == [[1, 2, 3], [4, 2, 3]]
    assert pictures_of(meshes[0], target.parent) == [b"\x89PNG of meshes/link.obj"]
    assert pictures_of(meshes[1], target.parent) == [b"\x89PNG of arm.obj"]
    assert {entry.code for entry in back.report.entries} >= {"meshes-copied"}
    assert "meshes-stay" not in {entry.code for entry in back.report.entries}


def test_what_lies_elsewhere_goes_into_a_folder_of_meshes(tmp_path: Path) -> None:
    """By ``..``, absolutely, and in a collection; two of one name stay two."""
    shared = tmp_path / "shared"
    painted(shared, "link.obj", "../paint/link.mtl", "../pictures/link.png")
    painted(shared, "other/link.obj", "link.mtl", "link.png", 7.0)
    painted(tmp_path / "robot", "deep/arm.obj", "arm.mtl", "arm.png", 9.0)
    names = ["../shared/link.obj", str(shared / "other/link.obj"), "package://robot/deep/arm.obj"]
    source = model(tmp_path / "from", *names)
    target = tmp_path / "to" / "new.skel"
    back = moved(
        source,
        target,
        mesh_folders=[str(tmp_path)],
    )
    shutil.rmtree(shared)
    shutil.rmtree(tmp_path / "robot")
    folder = target.parent / "new_meshes"
    assert [mesh_box(mesh).tolist() for mesh in meshes_of(back)] == [[1, 2, 3], [7, 2, 3], [9, 2, 3]]
    assert all(mesh.parent == folder for mesh in meshes_of(back))
    wanted = [b"\x89PNG of " + name for name in (b"link.obj", b"other/link.obj", b"deep/arm.obj")]
    assert [pictures_of(mesh, target.parent) for mesh in meshes_of(back)] == [[each] for each in wanted]
    assert "<!-- kept -->" in target.read_text()
    assert sum(entry.code == "mesh-renamed" for entry in back.report.entries) == 3


def test_no_other_file_is_overwritten(tmp_path: Path) -> None:
    source = model(tmp_path / "from", "link.obj")
    painted(source.parent, "link.obj", "link.mtl", "link.png")
    theirs = put(tmp_path / "to" / "link.obj", "# somebody else's\n")
    also = put(tmp_path / "to" / "new_meshes" / "link.mtl", "# and this\n")
    target = tmp_path / "to" / "new.skel"
    back = moved(source, target)
    assert theirs.read_text() == "# somebody else's\n" and also.read_text() == "# and this\n"
    (mesh,) = meshes_of(back)
    assert mesh == target.parent / "new_meshes/link.obj" and mesh_box(mesh).tolist() == [1, 2, 3]
    assert pictures_of(mesh, target.parent) == [b"\x89PNG of link.obj"], "through link_2.mtl"


def test_a_second_writing_makes_nothing_more(tmp_path: Path) -> None:
    source = model(tmp_path / "from", "link.obj", "../shared/link.obj")
    painted(source.parent, "link.obj", "link.mtl", "link.png")
    painted(tmp_path / "shared", "link.obj", "link.mtl", "link.png", 5.0)
    target = put(tmp_path / "to" / "new.skel", "")
    made = []
    for _ in range(2):
        formats.save(formats.load(source), target, mesh_folders=[str(tmp_path)], with_meshes=True)
        made.append({path: path.read_bytes() for path in target.parent.rglob("*") if path.is_file()})
    assert made[0] == made[1] and len(made[0]) == 7


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    """Of the new folder: what a link there leads to is not written; of the old one: it is not read."""
    source = model(tmp_path / "from", "meshes/link.obj", "secret.obj")
    put(source.parent / "meshes/link.obj", OBJ.format("none.mtl", 1.0))
    secret = put(tmp_path / "private" / "secret.obj", OBJ.format("none.mtl", 2.0))
    (source.parent / "secret.obj").symlink_to(secret)
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "to" / "new.skel"
    target.parent.mkdir()
    (target.parent / "meshes").symlink_to(outside)
    report = formats.save(formats.load(source), target, with_meshes=True)
    assert not any(outside.iterdir())
    first, second = (body.shapes[0].mesh for body in formats.load(target).bodies)
    assert (first, second) == ("new_meshes/link.obj", "secret.obj")
    assert [entry.code for entry in report.entries if entry.severity == "warning"].count("mesh-missing") == 1
    (target.parent / "new_meshes/link.obj").unlink()
    (target.parent / "new_meshes").rmdir()
    (target.parent / "new_meshes").symlink_to(outside)
    with pytest.raises(formats.FormatError):
        formats.save(formats.load(source), target, with_meshes=True)
    assert not any(outside.iterdir())


@pytest.mark.parametrize("name", [".bashrc", "start.desktop", "run.exe"])
def test_only_meshes_are_copied(tmp_path: Path, name: str) -> None:
    source = model(tmp_path / "from", name)
    put(source.parent / name, "echo gotcha\n")
    report = formats.save(formats.load(source), put(tmp_path / "to/new.skel", ""), with_meshes=True)
    assert sorted(os.listdir(tmp_path / "to")) == ["new.skel"]
    assert "mesh-unreadable" in {entry.code for entry in report.entries}


def test_addresses_and_missing_meshes_are_reported_and_stay(tmp_path: Path) -> None:
    source = model(tmp_path / "from", "https://example.org/a.obj", "nowhere.obj")
    target = put(tmp_path / "to/new.skel", "")
    report = formats.save(formats.load(source), target, with_meshes=True)
    assert target.read_bytes() == source.read_bytes()
    assert {"mesh-address", "mesh-missing"} <= {entry.code for entry in report.entries}


def test_pictures_of_collada_go_along(tmp_path: Path) -> None:
    dae = "<COLLADA><library_images><image id='i'><init_from>{}</init_from></image></library_images></COLLADA>"
    source = model(tmp_path / "from", "../shared/arm.dae")
    put(tmp_path / "shared/arm.dae", dae.format("../pictures/arm.jpg"))
    put(tmp_path / "pictures/arm.jpg", b"\xff\xd8")
    target = put(tmp_path / "to/new.skel", "")
    formats.save(formats.load(source), target, mesh_folders=[str(tmp_path)], with_meshes=True)
    made = target.parent / "new_meshes"
    assert (made / "arm.dae").read_text() == dae.format("arm.jpg")
    assert (made / "arm.jpg").read_bytes() == b"\xff\xd8"


def test_in_its_own_folder_nothing_is_copied(tmp_path: Path) -> None:
    source = model(tmp_path / "from", str(tmp_path / "shared/link.obj"))
    painted(tmp_path / "shared", "link.obj", "link.mtl", "link.png")
    formats.save(formats.load(source), source.parent / "again.skel", mesh_folders=[str(tmp_path)], with_meshes=True)
    assert sorted(os.listdir(source.parent)) == ["again.skel", "model.skel"]
    assert (source.parent / "again.skel").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("format_", ["shift", "x_xy", "skel"])
@pytest.mark.parametrize("name", ["shift/slider_crank/slider_crank.json", "shift/pendulum/double_pendulum.json"])
def test_real_models_load_where_they_are_written(corpus: Path, tmp_path: Path, name: str, format_: str) -> None:
    mechanism = formats.load(CORPUS / name)
    before = [mesh_box(mesh) for mesh in meshes_of(mechanism)]
    assert before
    target = tmp_path / f"new{formats.FORMATS[format_].extensions[0]}"
    formats.save(mechanism, target, format_, with_meshes=True)
    back = formats.load(target)
    after = meshes_of(back)
    assert np.allclose([mesh_box(mesh) for mesh in after], before)
    assert all(mesh.is_relative_to(tmp_path) for mesh in after)
    if format_ == "shift":
        assert target.read_bytes() == (CORPUS / name).read_bytes()
        assert {path.suffix for path in tmp_path.rglob("*.*")} == {".json", ".obj", ".mtl"}
