"""Mesh files in Blender: each is read once and as it is, what is good of a faulty one is read and the rest reported,
and no unwanted datablock is left."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Body, Mechanism, Source
from addon.core.report import Report
from addon.formats.meshes.bounds import mesh_bounds
from addon.formats.meshes.locate import MeshError
from tests.support import mesh_samples as samples
from tests.support.mesh_files_helpers import BODY, files_of, points_of, shape

KINDS = ("scenes", "objects", "meshes", "materials", "images", "collections", "node_groups", "curves", "textures")


def counts() -> dict[str, int]:
    import bpy

    return {kind: len(getattr(bpy.data, kind)) for kind in KINDS}


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
def test_a_broken_file_is_reported_and_leaves_nothing(blank: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(samples.BROKEN[name])
    before, report = counts(), Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape(name), BODY) is None
    assert [(entry.severity, entry.code) for entry in report.entries] == [("warning", "mesh-unreadable")]
    assert name in report.entries[0].message
    assert "Foot" in report.entries[0].message
    assert counts() == before


@pytest.mark.parametrize("name", ["a.obj", "a.stl", "a.ply", "a.dae"])
def test_a_file_that_is_too_large_is_not_read(
    blank: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(samples.SAMPLES[name])
    monkeypatch.setattr("addon.formats.text.file_io.MAX_FILE_SIZE", 50)
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape(name), BODY) is None
    assert "larger than" in report.entries[0].message


def test_a_missing_mesh_is_reported_once_with_all_its_bodies_and_places(blank: Any, tmp_path: Path) -> None:
    report = Report()
    with files_of(tmp_path, report, [str(tmp_path / "library")]) as files:
        for body in (BODY, Body("hand", "Hand"), BODY):
            assert files.mesh(shape("../gone.obj"), body) is None
        assert files.mesh(shape("http://x.org/a.obj"), BODY) is None
    assert [entry.code for entry in report.entries] == ["mesh-missing", "mesh-address"]
    message = report.entries[0].message
    assert message.startswith("Mesh of Foot, Hand: shown as a box; file ../gone.obj not found")
    for place in (tmp_path / "gone.obj", tmp_path / "library/gone.obj", tmp_path.parent / "gone.obj"):
        assert str(place) in message
    assert "Edit > Preferences > Add-ons > Knuckle > Mesh Folders" in message


def test_a_line_of_the_report_names_a_few_bodies(blank: Any, tmp_path: Path) -> None:
    report = Report()
    with files_of(tmp_path, report) as files:
        for number in range(7):
            files.mesh(shape("gone.obj"), Body(f"b{number}", f"B{number}"))
    assert report.entries[0].message.startswith("Mesh of B0, B1, B2 and 4 more: shown as a box; file gone.obj")


def test_many_files_are_read_in_one_scene(blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scene made, and datablocks removed, cost as much as there are datablocks."""
    from addon.blender.scene import mesh_files

    made = []
    monkeypatch.setattr(mesh_files, "scratch_scene", lambda real=mesh_files.scratch_scene: made.append(1) or real())
    with files_of(tmp_path, Report()) as files:
        for number in range(4):
            (tmp_path / f"{number}.stl").write_bytes(samples.stl())
            (tmp_path / f"broken {number}.stl").write_bytes(samples.BROKEN["short.stl"])
            assert files.mesh(shape(f"{number}.stl"), BODY) is not None
            assert files.mesh(shape(f"broken {number}.stl"), BODY) is None
    assert made == [1]


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
        assert bpy.context.scene == scene
        assert [*scene.objects] == [obj]
        assert bpy.data.objects.new("mesh", None).name == "mesh"  # no name is taken meanwhile
        bpy.data.objects.remove(bpy.data.objects["mesh"])
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
    from addon.blender.scene.mesh_files import MeshFiles

    files = MeshFiles(Mechanism(source=Source(path=str(folder / "model.skel"))), Report(), extra.pop("folders", ()))
    return list(files.mesh(shape("a.obj", **extra), BODY).materials)


def put_picture(path: Path) -> None:
    import bpy

    path.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.new("x", 2, 2)
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.pixels = [0.0, 1.0, 0.0, 1.0] * 4
    image.save()
    bpy.data.images.remove(image)


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
        put_picture(folder / f"{folder.name}.png")
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


def test_no_option_eats_a_part_of_a_pictures_path(blank: Any, tmp_path: Path) -> None:
    """Where a file gives fewer numbers than Blender skips, words of the path would be skipped instead."""
    import bpy

    model, outside = tmp_path / "model", tmp_path / "outside/secret.png"
    put_picture(outside)
    for head in ("x ", "x y ", "3 x "):
        put_picture(Path(f"{model / head}{outside}"))
    options = ("-t 1 0", "-t 1", "-o 1 0", "-s 1", "-t", "-bm", "-mm 1", "-clamp", "-boost 1 -t 2", "-t 1 0 -s 1")
    for option in options:
        for head in ("x ", "x y ", "3 x "):
            (model / "in.mtl").write_text(f"newmtl Paint\nmap_Kd {option} {head}{outside}\n")
            painted(model, "in.mtl")
    found = {Path(bpy.path.abspath(image.filepath)) for image in bpy.data.images}
    assert found
    assert all(path.is_relative_to(model) for path in found)


def test_pictures_are_shown_where_they_lie_and_once_each(blank: Any, tmp_path: Path) -> None:
    import bpy

    put_picture(tmp_path / "my look.png")
    (tmp_path / "in.mtl").write_text("newmtl Paint\nmap_Kd -s 2 my look.png\nmap_Ks -o 0.5 0.25 my look.png\n")
    users = []
    with files_of(tmp_path, Report()) as files:
        for name in ("a.obj", "b.obj"):
            (tmp_path / name).write_bytes(samples.obj("mtllib in.mtl\nvt 0 0\nusemtl Paint\n"))
            users.append(bpy.data.objects.new(name, files.mesh(shape(name), BODY)))
    image = bpy.data.images["my look.png"]
    assert [*bpy.data.images] == [image]
    assert Path(bpy.path.abspath(image.filepath)) == (tmp_path / "my look.png").resolve()
    assert image.pixels[:4] == (0.0, 1.0, 0.0, 1.0)
    for user in users:
        nodes = user.data.materials[0].node_tree.nodes
        assert {node.image for node in nodes if node.type == "TEX_IMAGE"} == {image}
        scales = {tuple(node.inputs["Scale"].default_value) for node in nodes if node.type == "MAPPING"}
        assert (2.0, 1.0, 1.0) in scales


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux which files are read")
def test_an_obj_makes_blender_read_no_file_outside_its_folder(blank: Any, tmp_path: Path) -> None:
    """Blender opens by itself; a pipe outside, which nobody feeds, would hold it for ever."""
    import os

    from addon.formats.meshes.obj import sanitize_obj

    model = tmp_path / "model"
    model.mkdir()
    os.mkfifo(tmp_path / "trap.mtl")
    os.mkfifo(tmp_path / "trap.png")
    heads = [b"mtllib ../trap.mtl", b"\x80mtllib ../trap.mtl", b"\\\nmtllib ../trap.mtl", b"\tmtllib\t../trap.mtl",
             b"v 0 0 0\\\n mtllib ../trap.mtl", b"mtllib \\\n../trap.mtl", b"\rmtllib ../trap.mtl"]  # fmt: skip
    (model / "in.mtl").write_bytes(b"newmtl x\nmap_Kd ../trap.png\nmap_Bump " + str(tmp_path).encode() + b"/trap.png\n")
    for head in [*heads, b"mtllib in.mtl"]:
        (model / "a.obj").write_bytes(head + b"\n" + samples.obj())
        made = sanitize_obj(model / "a.obj", [model], (), {})
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


#: Two normals, and a corner for each: indices of points and normals.
NORMALS = (
    '<source id="n"><float_array id="na" count="6">0 0 1 1 0 0</float_array><technique_common><accessor source="#na" '
    'count="2" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>'
    '</accessor></technique_common></source><vertices id="points">'
)


def with_normals(counts: str, corners: str) -> bytes:
    text = samples.dae(faces="polylist").decode().replace('<vertices id="points">', NORMALS)
    start, end = text.index("<vcount>"), text.index("</polylist>")
    normals = '<input semantic="NORMAL" source="#n" offset="1"/>'
    text = f"{text[:start]}{normals}<vcount>{counts}</vcount><p>{corners}</p>{text[end:]}"
    return text.replace('polylist count="4"', f'polylist count="{len(counts.split())}"').encode()


@pytest.mark.parametrize(
    ("counts", "corners"),
    [
        ("3", "0 1 0 1 0 1"),
        ("3", "0 1 0 1 1 1"),
        ("4", "0 1 1 1 0 1 1 1"),
        ("3 3 3", "0 1 0 1 0 1 0 1 1 1 2 1 3 0 3 1 3 0"),
        ("3 3 3", "0 1 1 1 2 1 0 0 1 0 2 0 0 1 1 0 3 1"),
        ("2 3 4", "0 1 1 1 0 1 1 0 2 1 0 0 1 0 1 0 3 0"),
        ("5 3", "0 1 0 1 1 1 2 1 3 1 0 0 1 0 3 0"),
    ],
)  # fmt: skip
def test_polygons_that_are_none_cost_neither_the_rest_nor_blenders_life(
    blank: Any, tmp_path: Path, counts: str, corners: str
) -> None:
    (tmp_path / "odd.dae").write_bytes(with_normals(counts, corners))
    numbers = np.array(corners.split(), dtype=int).reshape(-1, 2)
    parts = np.split(numbers, np.cumsum([int(count) for count in counts.split()])[:-1])
    sound = [part for part in parts if len(part) >= 3 and len(set(part[:, 0])) == len(part)]
    report = Report()
    with files_of(tmp_path, report) as files:
        mesh = files.mesh(shape("odd.dae"), BODY)
        assert (mesh is None) == (not sound)
        if mesh is not None:
            points, normals = points_of(mesh).tolist(), np.array([(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])
            known = {frozenset(samples.POINTS[i] for i in part[:, 0]): normals[part[:, 1]] for part in sound[::-1]}
            assert len(mesh.polygons) == len(known)
            for polygon in mesh.polygons:
                given = known[frozenset(tuple(points[index]) for index in polygon.vertices)]
                found = [mesh.corner_normals[loop].vector[:] for loop in polygon.loop_indices]
                assert np.abs(np.array(found) - given).max() < 1e-3
            assert not mesh.attributes.get("knuckle normal")
    assert [entry.code for entry in report.entries] == ([] if sound else ["mesh-unreadable"])


def test_the_unit_of_collada_files_is_ignored_unless_it_is_wanted(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "cm.dae").write_bytes(samples.dae(unit=0.01))
    for ignore, factor in ((None, 1.0), (True, 1.0), (False, 0.01)):
        with files_of(tmp_path, Report(), ignore_unit=ignore) as files:
            edges = np.ptp(points_of(files.mesh(shape("cm.dae"), BODY)), axis=0)
            assert edges == pytest.approx(np.array(samples.EDGES) * factor, rel=1e-6)


def test_real_models_find_all_their_meshes(blank: Any, corpus: Path) -> None:
    from addon.blender.scene.mesh_files import MeshFiles
    from addon.formats.meshes.bounds import mesh_box
    from addon.formats.meshes.locate import find_mesh

    folders = [str(corpus / "skel/dart-6.13.1/data")]
    seen = set()
    start = time.process_time()
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
    assert time.process_time() - start < 60.0


SOUND = samples.obj().decode()
LAST = len(SOUND.splitlines())
#: Faces that are none, with how many.
FACES = {
    "beyond": ("f 1 2 99\n", 1), "zero": ("f 0 1 2\n", 1), "backwards": ("f -1 -2 -9\n", 1),
    "letters": ("f a b c\n", 1), "line": ("f 1 2\n", 1), "several": ("f 1 2 99\nf 1 2 98\nf 1\n", 3),
}  # fmt: skip


@pytest.mark.parametrize("what", FACES)
def test_bad_faces_beside_good_ones_are_left_out_and_reported(what: str, blank: Any, tmp_path: Path) -> None:
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
def test_decimal_commas_are_rejected_with_their_line(point: str, blank: Any, tmp_path: Path) -> None:
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


def test_what_is_repaired_of_a_collada_file_is_reported(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_bytes(samples.dae().replace(b'target="#red"', b'target="#blue"'))
    report = Report()
    with files_of(tmp_path, report) as files:
        assert files.mesh(shape("a.dae"), BODY) is not None
    assert "a.dae: an element is ignored" in str(report) and "blue" in str(report)
