"""Mesh files in Blender: each once and as it is, and nothing left behind that is not wanted."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.model.records import Body, Mechanism, Shape, Source
from addon.model.report import Report
from tests import mesh_samples as samples

KINDS = ("scenes", "objects", "meshes", "materials", "images", "collections", "node_groups", "curves", "textures")


def counts() -> dict[str, int]:
    import bpy

    return {kind: len(getattr(bpy.data, kind)) for kind in KINDS}


def files_of(folder: Path, report: Report, folders: Sequence[str] = (), ignore_unit: bool | None = None) -> Any:
    from addon.blender.build.mesh_files import MeshFiles

    mechanism = Mechanism(source=Source(path=str(folder / "model.skel")))
    return MeshFiles(mechanism, report, folders, ignore_unit)


def shape(name: str, **extra: Any) -> Shape:
    return Shape("mesh", {"x": 1.0, "y": 1.0, "z": 1.0}, mesh=name, extra=extra)


BODY = Body("foot", "Foot")


def points_of(mesh: Any) -> np.ndarray:
    found = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_a_file_is_read_in_its_own_coordinates(blank: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(samples.SAMPLES[name])
    report = Report()
    with files_of(tmp_path, report) as files:
        mesh = files.mesh(shape(name), BODY)
        assert {tuple(point) for point in points_of(mesh).tolist()} == set(samples.POINTS)
        assert len(mesh.polygons) == 4
        assert not any(polygon.use_smooth for polygon in mesh.polygons)
        assert mesh.name == Path(name).stem
        normal, centre = mesh.polygons[0].normal, mesh.polygons[0].center
        middle = np.mean(samples.POINTS, axis=0)
        assert np.dot(normal, np.array(centre) - middle) > 0.0  # outwards, as it was written
    assert report.entries == []


def test_a_file_is_read_once_for_all_that_name_it(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/a.stl").write_bytes(samples.stl())
    with files_of(tmp_path, Report()) as files:
        first = files.mesh(shape("meshes/a.stl"), BODY)
        assert files.mesh(shape("MESHES\\a.STL"), BODY) is first
        assert files.mesh(shape("a.stl", include=["meshes"]), BODY) is first
        assert counts()["meshes"] == 1


def test_what_is_used_stays_and_the_rest_goes(blank: Any, tmp_path: Path) -> None:
    import bpy

    (tmp_path / "a.dae").write_bytes(samples.dae())
    (tmp_path / "b.dae").write_bytes(samples.dae())
    (tmp_path / "c.obj").write_bytes(samples.obj())
    before = counts()
    with files_of(tmp_path, Report()) as files:
        kept, copied, _unused = (files.mesh(shape(name), BODY) for name in ("a.dae", "b.dae", "c.obj"))
        obj = bpy.data.objects.new("user", kept)
        copy = copied.copy()
        other = bpy.data.objects.new("other", copy)
        del copied, _unused
    after = counts()
    assert {kind: after[kind] - before[kind] for kind in ("meshes", "materials", "scenes")} == {
        "meshes": 2,
        "materials": 2,
        "scenes": 0,
    }
    assert obj.data.materials[0].name.startswith("Red")
    assert other.data.materials[0].diffuse_color[:] == (1.0, 0.0, 0.0, 1.0)


def test_after_an_error_nothing_is_left(blank: Any, tmp_path: Path) -> None:
    for name, data in samples.SAMPLES.items():
        (tmp_path / name).write_bytes(data)
    before = counts()

    def fail() -> None:
        with files_of(tmp_path, Report()) as files:
            for name in samples.SAMPLES:
                assert files.mesh(shape(name), BODY) is not None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert counts() == before


@pytest.mark.parametrize(
    "name", sorted(samples.BROKEN.keys() - {"nan.obj"})
)  # Blender reads a zero for what is no number
def test_a_broken_file_is_told_and_leaves_nothing(blank: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(samples.BROKEN[name])
    before, report = counts(), Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape(name), BODY) is None
        assert counts() == before
    assert [(entry.severity, entry.code) for entry in report.entries] == [("warning", "mesh-unreadable")]
    assert name in report.entries[0].message
    assert "Foot" in report.entries[0].message
    assert counts() == before


@pytest.mark.parametrize("name", ["a.obj", "a.stl", "a.ply", "a.dae"])
def test_a_file_that_is_too_large_is_not_read(
    blank: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(samples.SAMPLES[name])
    monkeypatch.setattr("addon.formats.files.LARGEST_FILE", 50)
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape(name), BODY) is None
    assert "larger than" in report.entries[0].message


def test_a_missing_mesh_is_told_once_with_all_its_bodies_and_places(blank: Any, tmp_path: Path) -> None:
    report = Report()
    with files_of(tmp_path, report, [str(tmp_path / "library")]) as files:
        for body in (BODY, Body("hand", "Hand"), BODY):
            assert files.mesh(shape("../gone.obj"), body) is None
        assert files.mesh(shape("http://x.org/a.obj"), BODY) is None
    assert [entry.code for entry in report.entries] == ["mesh-missing", "mesh-address"]
    message = report.entries[0].message
    assert message.startswith("a box stands for the mesh of Foot, Hand: ../gone.obj is not found")
    for place in (tmp_path / "gone.obj", tmp_path / "library/gone.obj", tmp_path.parent / "gone.obj"):
        assert str(place) in message
    assert "Edit > Preferences > Add-ons > Knuckle > Mesh Folders" in message


def test_the_users_scene_stays_as_it_was(blank: Any, tmp_path: Path) -> None:
    import bpy

    for name, data in samples.SAMPLES.items():
        (tmp_path / name).write_bytes(data)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    obj = bpy.data.objects.new("mine", None)
    scene.collection.objects.link(obj)
    obj.select_set(True)
    layer.objects.active = obj
    with files_of(tmp_path, Report()) as files:
        for name in samples.SAMPLES:
            files.mesh(shape(name), BODY)
        assert [each.name for each in bpy.data.objects] == ["mine"]
    assert bpy.context.scene == scene
    assert bpy.context.view_layer == layer
    assert layer.objects.active == obj
    assert obj.select_get()
    assert [*scene.objects] == [obj]
    assert [*bpy.data.scenes] == [scene]


def test_several_objects_in_a_file_are_one_mesh(blank: Any, tmp_path: Path) -> None:
    second = b"".join(b"v %d 0 9\n" % k for k in range(3)) + b"o two\nf 5 6 7\n"
    (tmp_path / "two.obj").write_bytes(b"o one\n" + samples.obj() + second)
    with files_of(tmp_path, Report()) as files:
        mesh = files.mesh(shape("two.obj"), BODY)
        assert (len(mesh.vertices), len(mesh.polygons)) == (7, 5)


# ---- materials of .obj files

RED = b"newmtl Paint\nKd 1 0 0\n"


def painted(folder: Path, library: str, **extra: Any) -> list[Any]:
    """The materials that an .obj has which names this library."""
    (folder / "a.obj").write_bytes(samples.obj(f"mtllib {library}\nusemtl Paint\n" if library else "usemtl Paint\n"))
    from addon.blender.build.mesh_files import MeshFiles

    files = MeshFiles(Mechanism(source=Source(path=str(folder / "model.skel"))), Report(), extra.pop("folders", ()))
    return list(files.mesh(shape("a.obj", **extra), BODY).materials)


def color(material: Any) -> tuple[float, ...]:
    shader = material.node_tree.nodes["Principled BSDF"]
    return tuple(round(part, 3) for part in shader.inputs["Base Color"].default_value)[:3]


def test_an_obj_has_the_materials_beside_it(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "my paints.mtl").write_bytes(RED)
    (tmp_path / "a.mtl").write_bytes(RED.replace(b"1 0 0", b"0 1 0"))
    assert color(painted(tmp_path, "my paints.mtl")[0]) == (1.0, 0.0, 0.0)
    assert color(painted(tmp_path, "")[0]) == (0.0, 1.0, 0.0)  # the one of its own name
    (tmp_path / "a.mtl").unlink()
    assert color(painted(tmp_path, "", files=["a.obj", "my paints.mtl"])[0]) == (1.0, 0.0, 0.0)


def test_an_obj_reads_no_material_and_no_picture_outside(blank: Any, tmp_path: Path) -> None:
    import bpy

    model, outside = tmp_path / "model", tmp_path / "outside"
    for folder in (model, outside):
        folder.mkdir()
        (folder / "paint.mtl").write_bytes(RED)
        image = bpy.data.images.new("x", 2, 2)
        image.filepath_raw, image.file_format = str(folder / f"{folder.name}.png"), "PNG"
        image.save()
        bpy.data.images.remove(image)
    (model / "paint.mtl").unlink()
    for spelled in ("../outside/paint.mtl", str(outside / "paint.mtl"), "..\\outside\\paint.mtl"):
        assert not any(color(each) == (1.0, 0.0, 0.0) for each in painted(model, spelled) if each is not None)
    allowed = painted(model, "../outside/paint.mtl", folders=[str(outside)])
    assert color(allowed[0]) == (1.0, 0.0, 0.0)
    lines = [b"map_Kd ../outside/outside.png", b"map_Ke " + str(outside / "outside.png").encode(),
             b"\x80map_Ks ../outside/outside.png", b"map_d -s 1 1 1 model.png", b"bump //host/x.png"]  # fmt: skip
    (model / "in.mtl").write_bytes(RED + b"\n".join(lines))
    painted(model, "in.mtl")
    assert [Path(bpy.path.abspath(image.filepath)).resolve() for image in bpy.data.images] == [
        (model / "model.png").resolve()
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux which files are read")
def test_whatever_an_obj_says_blender_reads_nothing_outside(blank: Any, tmp_path: Path) -> None:
    """Blender opens by itself; a pipe outside, which nobody feeds, would hold it for ever."""
    import os

    from addon.formats.wavefront import harmless

    model = tmp_path / "model"
    model.mkdir()
    os.mkfifo(tmp_path / "trap.mtl")
    os.mkfifo(tmp_path / "trap.png")
    heads = [b"mtllib ../trap.mtl", b"\x80mtllib ../trap.mtl", b"\\\nmtllib ../trap.mtl", b"\tmtllib\t../trap.mtl",
             b"v 0 0 0\\\n mtllib ../trap.mtl", b"mtllib \\\n../trap.mtl", b"\rmtllib ../trap.mtl"]  # fmt: skip
    (model / "in.mtl").write_bytes(b"newmtl x\nmap_Kd ../trap.png\nmap_Bump " + str(tmp_path).encode() + b"/trap.png\n")
    for head in [*heads, b"mtllib in.mtl"]:
        (model / "a.obj").write_bytes(head + b"\n" + samples.obj())
        made = harmless(model / "a.obj", [model], (), {})
        assert made.data.count(b"mtllib") == 1
        assert b"trap" not in made.materials
        with files_of(model, Report()) as files:
            assert files.mesh(shape("a.obj"), BODY) is not None


# ---- Collada


def test_a_collada_file_keeps_its_normals_and_materials(blank: Any, tmp_path: Path) -> None:
    source = (
        '<source id="n"><float_array id="na" count="3">0 0 1</float_array><technique_common>'
        '<accessor source="#na" count="1" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>'
        '<param name="Z" type="float"/></accessor></technique_common></source><vertices id="points">'
    )
    indices = " ".join(f"{i} 0" for face in samples.FACES for i in face)
    flat = " ".join(str(i) for face in samples.FACES for i in face)
    text = samples.dae(node="<scale>1 1 2</scale>").decode().replace('<vertices id="points">', source)
    text = text.replace("<p>" + flat, '<input semantic="NORMAL" source="#n" offset="1"/><p>' + indices)
    (tmp_path / "smooth.dae").write_text(text)
    with files_of(tmp_path, Report()) as files:
        mesh = files.mesh(shape("smooth.dae"), BODY)
        assert any(polygon.use_smooth for polygon in mesh.polygons)
        normals = np.array([corner.vector[:] for corner in mesh.corner_normals])
        assert np.abs(normals - (0, 0, 1)).max() < 1e-3
        assert mesh.materials[0].name == "Red"


def test_the_unit_of_collada_files_is_ignored_unless_it_is_wanted(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "cm.dae").write_bytes(samples.dae(unit=0.01))
    for ignore, factor in ((None, 1.0), (True, 1.0), (False, 0.01)):
        with files_of(tmp_path, Report(), ignore_unit=ignore) as files:
            edges = np.ptp(points_of(files.mesh(shape("cm.dae"), BODY)), axis=0)
            assert edges == pytest.approx(np.array(samples.EDGES) * factor, rel=1e-6)


def test_real_models_find_all_their_meshes(blank: Any, corpus: Path) -> None:
    from addon.blender.build.mesh_files import MeshFiles
    from addon.formats.mesh_boxes import mesh_box
    from addon.formats.mesh_files import find_mesh

    folders = [str(corpus / "skel/dart-6.13.1/data")]
    seen = set()
    start = time.monotonic()
    for path in [*(corpus / "skel").rglob("*.skel"), *(corpus / "shift").glob("[ps]*/*.json")]:
        if "not_skel" in path.parts:
            continue
        mechanism, report = formats.load(path), Report()
        with MeshFiles(mechanism, report, folders) as files:
            for body in mechanism.bodies:
                for each in body.shapes:
                    if each.mesh is None:
                        continue
                    mesh = files.mesh(each, body)
                    assert mesh is not None, str(report)
                    place = find_mesh(each.mesh, path, each.extra.get("include", ()), folders)
                    assert np.ptp(points_of(mesh), axis=0) == pytest.approx(mesh_box(place), rel=1e-5)
                    seen.add(place.name)
        assert report.entries == []
    assert {"pelvis.dae", "foot.obj", "link.obj", "piston.obj"} <= seen
    assert time.monotonic() - start < 60.0
