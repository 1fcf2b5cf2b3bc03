"""What bodies look like that were made in Blender: their meshes go out beside the model, their colours with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.materials import plain_material, was_built_with
from addon.blender.scene.read.mechanism import extract
from addon.formats.meshes.copy import IS_WRITTEN
from tests.support.full_disk import full


def paint(obj: Any, color: tuple[float, float, float]) -> None:
    material = bpy.data.materials.new("Paint")
    if bpy.app.version < (5, 0):
        material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (*color, 1.0)
    obj.data.materials.clear()
    obj.data.materials.append(material)


def pair() -> Any:
    """A model of a monkey and its twin, which no primitive is like, and a red box."""
    bpy.ops.knuckle.new_model(name="Zoo")
    rig = bpy.context.object
    bpy.ops.mesh.primitive_monkey_add(location=(1.5, 0.2, 1.0), rotation=(0.1, 0.2, 0.3), scale=(1.0, 1.0, 2.0))
    monkey = bpy.context.object
    monkey.name = "Left Ape"
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, 1), size=0.5)
    box = bpy.context.object
    paint(box, (1.0, 0.0, 0.0))
    for obj in (monkey, box, rig):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    for obj in (box, rig):
        obj.select_set(False)
    bpy.context.view_layer.objects.active = monkey
    assert bpy.ops.knuckle.create_twin(plane="X") == {"FINISHED"}
    bpy.context.view_layer.update()
    return rig


def surface(obj: Any) -> np.ndarray:
    """Middle and spread of an object's points in the world, which tell its place, pose and hand."""
    points = np.array([obj.matrix_world @ vertex.co for vertex in obj.data.vertices])
    return np.concatenate([points.mean(axis=0), np.cov(points.T).ravel(), points.min(axis=0), points.max(axis=0)])


@pytest.mark.parametrize("format_", list(formats.FORMATS))
def test_meshes_go_out_and_come_back_with_every_format(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = pair()
    before = {record_of(obj).source_name: surface(obj) for obj in parts(rig, "BODY")}
    path = tmp_path / f"zoo{formats.FORMATS[format_].extensions[0]}"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
    meshes = sorted(each.name for each in (tmp_path / "zoo_meshes").glob("*")) if format_ != "juice" else []
    assert meshes == ([] if format_ == "juice" else ["Left_Ape.obj", "Right_Ape.obj"])
    assert all(not record.mesh for obj in parts(rig, "BODY") for record in record_of(obj).shapes), "nothing is changed"
    bpy.ops.wm.read_homefile(use_empty=True)
    again = rig_in(build(formats.load(path), options=BuildOptions(physics=False)))
    bpy.context.view_layer.update()
    for obj in parts(again, "BODY"):
        wanted = before[record_of(obj).source_name]
        if format_ != "juice":
            assert surface(obj) == pytest.approx(wanted, abs=1e-4), obj.name
        else:
            box = np.array(obj.dimensions)
            assert box.max() > 1.0 or obj.name == "Cube", "as large as the mesh"


@pytest.mark.parametrize("format_", ["skel", "x_xy", "shift"])
def test_a_painted_body_keeps_its_colour(blank: Any, tmp_path: Path, format_: str) -> None:
    pair()
    path = tmp_path / f"zoo{formats.FORMATS[format_].extensions[0]}"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
    colors = {body.name: body.shapes[0].color for body in formats.load(path).bodies}
    assert colors["Cube"] == pytest.approx((1.0, 0.0, 0.0, 1.0))
    assert colors["Left Ape"] is None


def test_only_what_was_painted_over_changes_in_a_document(blank: Any, sample_models: Path) -> None:
    rig = rig_in(build(formats.load(sample_models / "humanoid/humanoid.skel"), options=BuildOptions(physics=False)))
    text = formats.dumps(extract(settings(rig).collection))[0]
    assert text == (sample_models / "humanoid/humanoid.skel").read_text(), "colours that we chose are no edit"
    obj = parts(rig, "BODY")[2]
    paint(obj, (0.0, 0.0, 1.0))
    mechanism = extract(settings(rig).collection)
    painted = [body.name for body in mechanism.bodies if (0.0, 0.0, 1.0, 1.0) in [s.color for s in body.shapes]]
    assert painted == [obj.name]
    back = formats.loads(formats.dumps(mechanism)[0].encode())
    assert [b.name for b in back.bodies if b.shapes and b.shapes[0].color == (0.0, 0.0, 1.0, 1.0)] == [obj.name]


@pytest.mark.parametrize("meshes", ["", "COPY", "REFER"])
def test_meshes_go_along_into_another_folder(blank: Any, tmp_path: Path, meshes: str) -> None:
    """By default, as other exporters have it; what was not edited is the same text."""
    pair()
    first = tmp_path / "first" / "zoo.skel"
    first.parent.mkdir()
    assert bpy.ops.export_scene.mechanism(filepath=str(first), format="skel") == {"FINISHED"}
    bpy.ops.wm.read_homefile(use_empty=True)
    assert bpy.ops.import_scene.mechanism(filepath=str(first)) == {"FINISHED"}
    second = tmp_path / "second" / "zoo.skel"
    second.parent.mkdir()
    options = {"meshes": meshes} if meshes else {}
    assert bpy.ops.export_scene.mechanism(filepath=str(second), **options) == {"FINISHED"}
    assert second.read_bytes() == first.read_bytes()
    copied = {path.name: path.read_bytes() for path in second.parent.glob("zoo_meshes/*")}
    wanted = {path.name: path.read_bytes() for path in first.parent.glob("zoo_meshes/*")}
    assert len(wanted) == 2 and copied == ({} if meshes == "REFER" else wanted)


def test_a_mesh_of_a_file_is_not_overwritten_by_one_of_ours(blank: Any, tmp_path: Path) -> None:
    """The model is exported over the file that it came from, with a body more whose mesh has a name that is taken."""
    pair()
    path = tmp_path / "zoo.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel") == {"FINISHED"}
    taken = (tmp_path / "zoo_meshes/Left_Ape.obj").read_bytes()
    bpy.ops.wm.read_homefile(use_empty=True)
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    bpy.ops.mesh.primitive_torus_add(location=(0, 4, 0))
    bpy.context.object.name = "Left_Ape"
    bpy.context.object.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel") == {"FINISHED"}
    assert (tmp_path / "zoo_meshes/Left_Ape.obj").read_bytes() == taken
    assert sorted(body.shapes[0].mesh or "" for body in formats.load(path).bodies) == [
        "", "zoo_meshes/Left_Ape.obj", "zoo_meshes/Left_Ape_2.obj", "zoo_meshes/Right_Ape.obj",
    ]  # fmt: skip


def ape_beside(kind: str, folder: Path, name: str, format_: str = "skel") -> Path:
    """A model of one body, whose mesh is of this kind and whose name is always the same, exported."""
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.knuckle.new_model(name="Zoo")
    rig = bpy.context.object
    add_ape(kind, rig, 1.0)
    path = folder / f"{name}{formats.FORMATS[format_].extensions[0]}"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
    return path


def add_ape(kind: str, rig: Any, height: float) -> None:
    getattr(bpy.ops.mesh, f"primitive_{kind}_add")(location=(0, 0, height))
    bpy.context.object.name = "Ape"
    bpy.context.object.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.make_body(as_mesh=True) == {"FINISHED"}


def meshes_of(path: Path) -> list[bytes]:
    names = [shape.mesh for body in formats.load(path).bodies for shape in body.shapes if shape.mesh]
    return [(path.parent / name).read_bytes() for name in names]


def test_another_model_of_that_name_keeps_its_meshes(blank: Any, tmp_path: Path) -> None:
    """In another format: both name the same folder."""
    first = ape_beside("monkey", tmp_path, "zoo")
    was = meshes_of(first)
    second = ape_beside("torus", tmp_path, "zoo", "x_xy")
    assert meshes_of(first) == was and meshes_of(second)[0] != was[0]
    assert IS_WRITTEN not in second.read_text() + first.read_text(), "that is no file's concern"
    third = ape_beside("ico_sphere", tmp_path, "zoo")  # over the first: its mesh is written anew
    assert meshes_of(third) != was
    assert sorted(path.name for path in (tmp_path / "zoo_meshes").iterdir()) == ["Ape.obj", "Ape_2.obj"]


def test_a_model_that_cannot_be_written_keeps_its_meshes(blank: Any, tmp_path: Path) -> None:
    """A limit on the size of files, which is more than the mesh needs and less than the model, is as a full disk."""
    first = ape_beside("cube", tmp_path, "zoo")
    was = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    mesh = bpy.data.objects["Ape"].data
    mesh.transform(Matrix.Diagonal((1.0, 2.0, 3.0, 1.0)))
    sizes = sorted(map(len, was.values()))
    assert len(was) == 2 and sizes[0] + 100 < sizes[1]
    with full(sizes[1] - 50):
        for path in (first, tmp_path / "new.skel"):
            with pytest.raises(RuntimeError, match="cannot be written"):
                bpy.ops.export_scene.mechanism(filepath=str(path), format="skel")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == was
    assert not (tmp_path / "new_meshes").exists()
    assert bpy.ops.export_scene.mechanism(filepath=str(first), format="skel") == {"FINISHED"}
    assert meshes_of(first)[0] not in was.values()


def test_a_file_that_no_model_names_is_not_overwritten(blank: Any, tmp_path: Path) -> None:
    (tmp_path / "zoo_meshes").mkdir()
    (tmp_path / "zoo_meshes/Ape.obj").write_text("mine")
    path = ape_beside("monkey", tmp_path, "zoo")
    assert (tmp_path / "zoo_meshes/Ape.obj").read_text() == "mine"
    assert {data.splitlines()[0] for data in meshes_of(path)} == {b"# knuckle"}
    ape_beside("torus", tmp_path, "zoo")
    assert sorted(path.name for path in (tmp_path / "zoo_meshes").iterdir()) == ["Ape.obj", "Ape_2.obj"]


@pytest.mark.parametrize("meshes", ["COPY", "REFER"])
def test_what_was_made_in_blender_is_not_looked_for_where_the_model_came_from(
    blank: Any, tmp_path: Path, capfd: Any, meshes: str
) -> None:
    """There another file may have that name."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    ape_beside("ico_sphere", tmp_path / "first", "new")
    first = ape_beside("monkey", tmp_path / "first", "zoo")
    bpy.ops.wm.read_homefile(use_empty=True)
    assert bpy.ops.import_scene.mechanism(filepath=str(first)) == {"FINISHED"}
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    for obj in parts(rig, "BODY"):
        obj.name = "Old"
    add_ape("torus", rig, 4.0)
    capfd.readouterr()
    path = tmp_path / "second/new.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel", meshes=meshes) == {"FINISHED"}
    said = "".join(capfd.readouterr())
    assert "Mesh not copied" not in said and "new_meshes" not in said
    body = next(body for body in formats.load(path).bodies if body.name == "Ape")
    torus = (path.parent / str(body.shapes[0].mesh)).read_text()
    assert sum(line.startswith("v ") for line in torus.splitlines()) == 48 * 12, "a torus of Blender's"


def test_each_color_of_a_body_with_several_can_be_changed(blank: Any, sample_models: Path) -> None:
    """A material that bodies share changes the shapes that were built with its color, in all of them, and no others."""
    before = formats.load(sample_models / "desk_lamp/desk_lamp.skel")
    rig = rig_in(build(formats.load(sample_models / "desk_lamp/desk_lamp.skel"), options=BuildOptions(physics=False)))
    several = [body for body in before.bodies if len({shape.color for shape in body.shapes if shape.visual}) > 1]
    assert several
    colors = Counter(shape.color for body in before.bodies for shape in body.shapes if shape.visual)
    red = max(
        colors, key=lambda color: (any(color in [s.color for s in body.shapes] for body in several), colors[color])
    )
    material = next(
        slot.material for obj in parts(rig, "BODY") for slot in obj.material_slots if was_built_with(slot.material, red)
    )
    material.diffuse_color = (0.0, 0.0, 1.0, 1.0)
    mechanism = extract(settings(rig).collection)
    back = formats.loads(formats.dumps(mechanism)[0].encode(), "lamp.skel")
    count = 0
    for was, now in zip(before.bodies, back.bodies, strict=True):
        for one, other in zip(was.shapes, now.shapes, strict=True):
            is_red = one.visual and one.color == red
            count += is_red
            assert other.color == ((0.0, 0.0, 1.0, 1.0) if is_red else one.color), was.name
    assert count > 1


def test_a_changed_color_that_the_file_has_with_a_mesh_is_reported(blank: Any, tmp_path: Path) -> None:
    pair()
    path = tmp_path / "zoo.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel") == {"FINISHED"}
    rig = rig_in(build(formats.load(path), options=BuildOptions(physics=False)))
    obj = next(obj for obj in parts(rig, "BODY") if "Left" in obj.name)
    assert not [e for e in extract(settings(rig).collection).report.entries if e.code == "color-not-written"]
    obj.active_material = plain_material("ours", (1.0, 0.0, 0.0, 1.0))
    obj.active_material.diffuse_color = (0.0, 1.0, 0.0, 1.0)
    (entry,) = [e for e in extract(settings(rig).collection).report.entries if e.code == "color-not-written"]
    assert "'ours'" in str(entry.message)
