"""How large meshes are, and the moments of inertia that DART makes of them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.model import Mechanism
from addon.core.report import Report
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.collada import read_collada
from addon.formats.meshes.locate import MeshError
from addon.formats.meshes.obj import sanitize_obj
from tests.support import mesh_samples as samples
from tests.support.skel_compare import dart_of, needs_dart, same_as_dart

ROOT = Path(__file__).resolve().parents[3]
KIMA = "skel/dart-6.13.1/data/skel/kima"


def put(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def model_of(folder: Path, *meshes: str, scale: str = "1 1 1") -> Path:
    """A SKEL file with a loose body for each mesh, which states its mass only."""
    bodies = "".join(
        f'<body name="b{k}"><transformation>0 0 {k} 0 0 0</transformation><inertia><mass>{k + 1.5}</mass>'
        f"<offset>0.1 0.2 {k}</offset></inertia><visualization_shape><transformation>0.3 {k} 0 0.1 0.2 0.3"
        f"</transformation><geometry><mesh><file_name>{mesh}</file_name><scale>{scale}</scale></mesh></geometry>"
        "</visualization_shape><collision_shape><transformation>0 0 0 0 0 0</transformation><geometry><box>"
        "<size>0.5 0.6 0.7</size></box></geometry></collision_shape></body>"
        f'<joint type="free" name="j{k}"><parent>world</parent><child>b{k}</child></joint>'
        for k, mesh in enumerate(meshes)
    )
    text = (
        '<?xml version="1.0"?><skel version="1.0"><world name="w"><physics><time_step>0.001</time_step>'
        f'<gravity>0 -9.81 0</gravity></physics><skeleton name="s">{bodies}</skeleton></world></skel>'
    )
    return put(folder, "model.skel", text.encode())


def completed(path: Path, folders: tuple[str, ...] = (), ignore_unit: bool = True) -> Mechanism:
    mechanism = formats.load(path)
    formats.complete_masses(mechanism, mechanism.report, folders, ignore_unit)
    return mechanism


# ---- sizes


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_the_box_of_each_kind_of_file_is_the_one_it_was_written_with(tmp_path: Path, name: str) -> None:
    assert mesh_box(put(tmp_path, name, samples.SAMPLES[name])).tolist() == [*samples.EDGES]


@pytest.mark.parametrize("name", samples.BROKEN)
def test_a_file_that_cannot_be_read_is_a_trouble_and_nothing_else(tmp_path: Path, name: str) -> None:
    if name in {"lying.ply", "greedy.ply", "loose.ply", "negative.ply", "points.obj", "wild.obj", "short.ply"}:
        pytest.skip("Blender's readers are kept from it; how trimesh takes it does not matter")
    start = time.process_time()
    with pytest.raises(MeshError) as caught:
        mesh_box(put(tmp_path, name, samples.BROKEN[name]))
    assert str(caught.value)
    assert time.process_time() - start < 5.0


def test_nodes_of_a_collada_file_count_and_its_axis_does_not(tmp_path: Path) -> None:
    turned = "<translate>5 6 7</translate><rotate>0 0 1 90</rotate><scale>2 3 4</scale>"
    x, y, z = samples.EDGES
    for up in ("X_UP", "Y_UP", "Z_UP"):
        path = put(tmp_path, "turned.dae", samples.dae(up=up, node=turned))
        assert mesh_box(path) == pytest.approx([3 * y, 2 * x, 4 * z], rel=1e-6)
    path = put(tmp_path, "matrix.dae", samples.dae(node="<matrix>0 0 2 9 1 0 0 9 0 1 0 9 0 0 0 1</matrix>"))
    assert mesh_box(path).tolist() == [2 * z, x, y]
    surface = read_collada(path)[0]
    assert surface.points.min(axis=0).tolist() == [2 * 1.0 + 9, 0.25 + 9, -0.5 + 9]


def test_the_unit_of_a_collada_file_counts_where_it_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "cm.dae", samples.dae(unit=0.01))
    assert mesh_box(path).tolist() == [*samples.EDGES]
    assert mesh_box(path, ignore_unit=False) == pytest.approx(np.array(samples.EDGES) / 100, rel=1e-6)


def test_a_collada_file_gives_its_material(tmp_path: Path) -> None:
    surface = read_collada(put(tmp_path, "a.dae", samples.dae()))[0]
    assert (surface.material, surface.color) == ("Red", (1.0, 0.0, 0.0, 1.0))
    assert surface.counts.tolist() == [3, 3, 3, 3]


def test_files_that_a_mesh_names_are_not_opened(tmp_path: Path) -> None:
    outside = '<library_images><image id="i"><init_from>/etc/passwd</init_from></image></library_images>'
    put(tmp_path, "out.dae", samples.dae(extra=outside))
    put(tmp_path, "out.obj", samples.obj("mtllib ../out.mtl\n"))
    put(tmp_path, "out.ply", samples.ply_text().replace(b"comment by hand", b"comment TextureFile /etc/hostname"))
    watch = (
        "import sys\nfrom pathlib import Path\nfrom addon.formats.meshes.bounds import mesh_box\n"
        f"folder = Path({str(tmp_path)!r})\nmesh_box(folder / 'out.dae'), mesh_box(folder / 'out.ply')\nseen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, args)) if event.startswith(('open', 'socket')) "
        "else None)\nfor name in ('out.dae', 'out.obj', 'out.ply'):\n    mesh_box(folder / name)\n"
        "print(sorted({Path(str(args[0])).name for event, args in seen if not str(args[0]).endswith(('.py', '.pyc'))}))"
    )
    done = subprocess.run([sys.executable, "-c", watch], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['out.dae', 'out.obj', 'out.ply']"


def test_nodes_that_multiply_are_stopped(tmp_path: Path) -> None:
    """Thirty nodes, each of which is the one before twice over, are a thousand million places."""
    nodes = "".join(
        f'<node id="n{k}"><instance_node url="#n{k - 1}"/><instance_node url="#n{k - 1}"/></node>' for k in range(1, 31)
    )
    library = f'<library_nodes><node id="n0"/>{nodes}</library_nodes>'
    data = samples.dae(node='<instance_node url="#n30"/>', extra="").replace(
        b"<library_visual", library.encode() + b"<library_visual", 1
    )
    start = time.process_time()
    with pytest.raises(MeshError, match="nodes"):
        mesh_box(put(tmp_path, "many.dae", data))
    assert time.process_time() - start < 5.0


def test_points_that_no_polygon_uses_are_not_multiplied(tmp_path: Path) -> None:
    """A long list of points in a thousand places."""
    unused = 50_000
    nodes = "".join(
        f'<node id="n{k}"><instance_node url="#n{k - 1}"/><instance_node url="#n{k - 1}"/></node>' for k in range(1, 11)
    )
    text = samples.dae(node='<instance_node url="#n10"/>').decode()
    library = f'<library_nodes><node id="n0"><instance_geometry url="#g"/></node>{nodes}</library_nodes>'
    text = text.replace("<library_visual", library + "<library_visual", 1).replace("</float_array>", " 9" * 3 * unused)
    text = text.replace('count="12">', f'count="{12 + 3 * unused}">').replace(" 9<tech", " 9</float_array><tech")
    text = text.replace('source="#a" count="4"', f'source="#a" count="{4 + unused}"')
    surfaces = read_collada(put(tmp_path, "many.dae", text.encode()))
    assert len(surfaces) == 1025
    assert {len(surface.points) for surface in surfaces} == {4}
    assert mesh_box(tmp_path / "many.dae").tolist() == [*samples.EDGES]


def test_places_of_many_pieces_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.dae", samples.dae())
    for limit in ("_MAX_CORNERS", "_MAX_VISITS"):
        with monkeypatch.context() as patch, pytest.raises(MeshError, match="more than 0"):
            patch.setattr(f"addon.formats.meshes.collada.{limit}", 0)
            read_collada(path)


# ---- materials of .obj files


def test_an_mtl_with_many_names_is_read_once(tmp_path: Path) -> None:
    names = ["paint.mtl", "./paint.mtl", "PAINT.mtl", *(f"{'x/../' * k}paint.mtl" for k in range(1, 50))]
    put(tmp_path, "paint.mtl", b"newmtl a\nKd 1 0 0\n")
    made = sanitize_obj(put(tmp_path, "a.obj", "".join(f"mtllib {name}\n" for name in names).encode()), [], (), {})
    assert made.materials.count(b"newmtl") == 1


def test_the_mtl_files_of_an_obj_are_limited_in_size_and_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        put(tmp_path, f"{number}.mtl", b"newmtl a\nKd 1 0 0\n")
    path = put(tmp_path, "a.obj", b"".join(b"mtllib %d.mtl\n" % number for number in range(9)))
    monkeypatch.setattr("addon.formats.meshes.obj._MAX_BYTES", 60)
    assert sanitize_obj(path, [], (), {}).materials.count(b"newmtl") == 3
    monkeypatch.setattr("addon.formats.meshes.obj._MAX_LIBRARIES", 2)
    assert sanitize_obj(path, [], (), {}).materials.count(b"newmtl") == 2


def test_pictures_have_names_of_ours_and_options_all_their_numbers(tmp_path: Path) -> None:
    put(tmp_path, "my look.png", b"x")
    lines = [
        "map_Kd -s 2 -o 1 2 -t 5 -clamp on my look.png",
        "map_Ks -t 1 0 x my look.png",
        "norm -bm 0.5 ./MY LOOK.png",
        "map_Ke -bm x -mm 0 1 my look.png \\",
        "map_d gone.png",
        "Kd 1 0 0 \\ ",
    ]
    put(tmp_path, "a.mtl", "\n".join(lines).encode())
    names: dict[Path, str] = {}
    made = sanitize_obj(put(tmp_path, "a.obj", samples.obj()), [], (), names)
    assert made.materials.decode().splitlines() == [
        "map_Kd -s 2 1 1 -o 1 2 0 0.png",
        "norm -bm 0.5 0.png",
        "map_Ke -bm 1 0.png",
        "Kd 1 0 0",
    ]
    assert names == {(tmp_path / "my look.png").resolve(): "0.png"}
    assert made.pictures == [*names]


def test_the_libraries_are_not_imported_before_they_are_needed() -> None:
    code = "import sys\nimport addon.cli\nprint([name for name in ('trimesh', 'collada') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "library"), [("a.stl", "trimesh"), ("a.dae", "collada")])
def test_a_missing_library_is_a_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MeshError, match="Install Knuckle again"):
        mesh_box(put(tmp_path, name, samples.SAMPLES[name]))


def test_real_meshes_have_the_sizes_of_what_they_show(corpus: Path) -> None:
    """kima's pelvis is 0.24 m wide at the scale of 1.4 that its model gives it; Shift's link is 1.2 long."""
    assert mesh_box(corpus / KIMA / "pelvis.dae")[0] * 1.4 == pytest.approx(0.24, abs=0.005)
    assert mesh_box(corpus / KIMA / "pelvis.dae", ignore_unit=False)[0] * 1.4 == pytest.approx(0.0024, abs=5e-5)
    assert mesh_box(corpus / "shift/pendulum/link.obj")[2] == pytest.approx(1.2, rel=1e-6)
    for path in (corpus / KIMA).glob("*.dae"):
        text = path.read_text()
        arrays = re.findall(r'<float_array id="[^"]*POSITION-array"[^>]*>([^<]*)<', text)
        if len(arrays) > 1:  # under nodes of their own
            continue
        points = np.array(arrays[0].split(), dtype=np.float64).reshape(-1, 3)
        edges = np.sort(np.ptp(points, axis=0)) / 1000  # the node makes metres of them, and turns
        assert np.sort(mesh_box(path)) == pytest.approx(edges, rel=1e-6), path.name


# ---- moments


@needs_dart
def test_moments_from_meshes_are_darts(tmp_path: Path) -> None:
    for name, data in samples.SAMPLES.items():
        put(tmp_path, name, data)
    put(tmp_path, "turned.dae", samples.dae(node="<matrix>0 0 2 9 1 0 0 9 0 1 0 9 0 0 0 1</matrix>"))
    path = model_of(tmp_path, *samples.SAMPLES, "turned.dae", scale="0.5 -2 1.25")
    mechanism = completed(path)
    assert all(body.inertia is not None for body in mechanism.bodies)
    assert same_as_dart(mechanism, dart_of([path])[0]) == []


@needs_dart
def test_moments_from_real_collada_files_are_darts_where_the_unit_counts(corpus: Path, tmp_path: Path) -> None:
    """DART 6.20 applies the unit, 6.13 did not: with the unit taken to be 1 they are one."""
    names = sorted(path.name for path in (corpus / KIMA).glob("*.dae"))
    for name in names:
        text = (corpus / KIMA / name).read_text()
        assert 'meter="0.010000"' in text
        put(tmp_path, name, text.replace('meter="0.010000"', 'meter="1"').encode())
    path = model_of(tmp_path, *names, scale="1.4 1.4 1.4")
    assert same_as_dart(completed(path), dart_of([path])[0]) == []
    for name in names:
        put(tmp_path, name, (corpus / KIMA / name).read_bytes())
    dart = dart_of([path])[0]
    with pytest.raises(AssertionError, match="moment of s/b0"):
        same_as_dart(completed(path), dart)
    metres = completed(path, ignore_unit=False)
    theirs = {body["name"]: np.array(body["moment"]) for body in dart["skeletons"][0]["bodies"]}
    for body in metres.bodies:
        size = np.abs(theirs[body.name]).max()
        assert np.abs(body.inertia - theirs[body.name]).max() < 1e-9 * size, body.name


@needs_dart
def test_the_feet_of_real_models_weigh_as_in_dart(corpus: Path) -> None:
    data = corpus / "skel/dart-6.13.1/data"
    paths = [path for path in data.rglob("*.skel") if "foot.obj" in path.read_text(errors="replace")]
    assert len(paths) >= 3
    for path, dart in zip(paths, dart_of(paths), strict=True):
        alone = completed(path)
        assert any(body.inertia is None for body in alone.bodies)
        assert "Looked for" in str(alone.report)
        mechanism = completed(path, (str(data),))
        assert all(body.inertia is not None for body in mechanism.bodies)
        assert same_as_dart(mechanism, dart) == []
        assert formats.dumps(mechanism)[0] == mechanism.source.text


def test_the_report_has_the_source_of_the_moments_of_inertia(tmp_path: Path) -> None:
    put(tmp_path, "cm.dae", samples.dae(unit=0.01))
    mechanism = completed(model_of(tmp_path, "cm.dae", "gone.stl", "http://x.org/a.obj"))
    entries = {entry.code: entry for entry in mechanism.report.entries}
    assert "the unit of its Collada file is not applied" in entries["moment-from-mesh"].message
    told = [entry for entry in mechanism.report.entries if entry.code == "moment-without-mesh"]
    assert [entry.severity for entry in told] == ["warning", "warning"]
    assert f"{tmp_path}/gone.stl" in told[0].message
    assert "does not download files" in told[1].message
    assert formats.complete_masses(mechanism, Report()) == []


def test_saving_in_another_format_reads_the_meshes(tmp_path: Path) -> None:
    put(tmp_path, "a.stl", samples.stl())
    path = model_of(tmp_path, "a.stl")
    mechanism = formats.load(path)
    assert mechanism.bodies[0].inertia is None
    formats.save(mechanism, tmp_path / "again.skel")
    assert mechanism.bodies[0].inertia is None
    assert (tmp_path / "again.skel").read_bytes() == path.read_bytes()
    report = formats.save(mechanism, tmp_path / "other.json", "shift")
    assert "moment-from-mesh" in {entry.code for entry in report.entries}
    again = formats.load(tmp_path / "other.json")
    assert again.bodies[0].inertia == pytest.approx(completed(path).bodies[0].inertia, rel=1e-12)
