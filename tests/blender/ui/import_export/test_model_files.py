"""Mechanisms in and out through the operators: what is made, what is left behind when it fails, what undo takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.emptied import empty_file
from tests.support.small import BROKEN, FLAPPER, MOTION, datablocks, models, put


def ops() -> Any:
    import bpy

    return bpy.ops


def test_import_makes_the_model_selected_and_active_in_object_mode(blank: Any, model_file: Path) -> None:
    import bpy

    bpy.ops.object.armature_add(enter_editmode=True)
    bystander = bpy.context.object
    assert ops().import_scene.mechanism(filepath=str(model_file)) == {"FINISHED"}
    (rig,) = models()
    assert bpy.context.mode == "OBJECT"
    assert bpy.context.view_layer.objects.active == rig
    assert [obj.name for obj in bpy.context.selected_objects] == [rig.name]
    assert not bystander.select_get()


def test_import_reports_in_one_line_what_was_imported(blank: Any, model_file: Path, capfd: Any) -> None:
    ops().import_scene.mechanism(filepath=str(model_file))
    said = [line for line in capfd.readouterr().out.splitlines() if "Imported" in line]
    assert said == ["Info: Imported flapper: 3 bodies, 2 joints, 0 loops, 0 warnings"]


def test_import_options_reach_the_build(blank: Any, model_file: Path) -> None:
    import bpy

    fps = bpy.context.scene.render.fps
    ops().import_scene.mechanism(
        filepath=str(model_file), physics=False, gait=False, adapt_scene=False, up_axis="Y", ground=False
    )
    (rig,) = models()
    assert bpy.context.scene.rigidbody_world is None
    assert rig.animation_data is None or rig.animation_data.action is None
    assert bpy.context.scene.render.fps == fps
    assert not rig.data.knuckle.has_ground
    assert (rig.matrix_world @ bpy.data.objects["Trunk"].matrix_basis.translation).y == pytest.approx(-2.0, abs=1e-6)


def test_a_second_import_is_a_second_model(blank: Any, model_file: Path) -> None:
    for _ in range(2):
        ops().import_scene.mechanism(filepath=str(model_file))
    first, second = models()
    assert first.data != second.data
    assert first.data.knuckle.collection != second.data.knuckle.collection


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BROKEN, ["bad.jm", "11"]),
        ("<Model><Bodies>", ["bad.jm"]),
        (MOTION, ["bad.jm", "servo motion", "File > Import > Servo Motion"]),
        ("<robot name='r'/>", ["bad.jm", "URDF"]),
        ("", ["bad.jm", "empty"]),
    ],
    ids=["one id twice", "cut off", "a motion", "another program's", "empty"],
)
def test_a_bad_file_is_rejected_with_nothing_left_behind(
    blank: Any, tmp_path: Path, text: str, words: list[str]
) -> None:
    import bpy

    bpy.ops.mesh.primitive_cube_add()
    before = datablocks(), bpy.context.object.name, bpy.context.scene.render.fps
    with pytest.raises(RuntimeError) as refused:
        ops().import_scene.mechanism(filepath=str(put(tmp_path / "bad.jm", text)))
    for word in words:
        assert word in str(refused.value)
    assert "Traceback" not in str(refused.value)
    assert (datablocks(), bpy.context.object.name, bpy.context.scene.render.fps) == before


def test_of_several_files_the_good_ones_come_in(blank: Any, tmp_path: Path) -> None:
    import bpy

    for name, text in (("one.jm", FLAPPER), ("bad.jm", "<Model>"), ("two.jm", FLAPPER)):
        put(tmp_path / name, text)
    files = [{"name": name} for name in ("one.jm", "bad.jm", "two.jm")]
    with pytest.raises(RuntimeError, match=r"bad\.jm"):
        ops().import_scene.mechanism(directory=str(tmp_path), files=files)
    assert [rig.name for rig in models()] == ["one", "two"]
    assert bpy.context.view_layer.objects.active == models()[1]
    assert {obj.name for obj in bpy.context.selected_objects} == {"one", "two"}


def test_no_file_is_an_error(blank: Any) -> None:
    with pytest.raises(RuntimeError, match="No file was chosen"):
        ops().import_scene.mechanism()


def test_undo_takes_the_whole_import_back_and_redo_brings_it(blank: Any, model_file: Path) -> None:
    import bpy

    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.ed.undo_push(message="before")
    before = datablocks()
    ops().import_scene.mechanism(filepath=str(model_file))
    bpy.ops.ed.undo_push(message="import")  # the window manager does that after an operator with UNDO
    after = datablocks()
    assert after != before
    bpy.ops.ed.undo()
    assert datablocks() == before
    assert models() == []
    bpy.ops.ed.redo()
    assert datablocks() == after
    assert len(models()) == 1


def test_export_without_a_mechanism_is_rejected(blank: Any, tmp_path: Path) -> None:
    import bpy

    with pytest.raises(RuntimeError, match="There is no mechanism in the scene: import one"):
        ops().export_scene.mechanism(filepath=str(tmp_path / "x.jm"))
    assert not bpy.ops.export_scene.mechanism.poll()
    assert list(tmp_path.iterdir()) == []


def test_of_two_models_the_one_meant_must_be_selected(blank: Any, model_file: Path, tmp_path: Path) -> None:
    import bpy

    for _ in range(2):
        ops().import_scene.mechanism(filepath=str(model_file))
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = None
    with pytest.raises(RuntimeError, match="The scene has 2 mechanisms"):
        ops().export_scene.mechanism(filepath=str(tmp_path / "x.jm"))
    flap = next(obj for obj in bpy.data.objects if obj.knuckle.role == "BODY" and obj.knuckle.model == models()[1])
    flap.knuckle.mass = 7.0
    bpy.context.view_layer.objects.active = flap
    assert ops().export_scene.mechanism(filepath=str(tmp_path / "x.jm")) == {"FINISHED"}
    assert "<Mass>7</Mass>" in (tmp_path / "x.jm").read_text()


def test_unedited_export_equals_the_file(rig: Any, tmp_path: Path) -> None:
    assert ops().export_scene.mechanism(filepath=str(tmp_path / "again")) == {"FINISHED"}
    assert (tmp_path / "again.jm").read_bytes() == FLAPPER.encode(), "the extension is added, the text is the same"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("arm.jm", "arm.skel"),
        ("arm.JSON", "arm.skel"),
        ("arm.skel", "arm.skel"),
        ("arm.v1.2", "arm.v1.2.skel"),
        ("my.jm.folder/arm", "my.jm.folder/arm.skel"),
    ],
)
def test_extension_of_another_format_is_replaced(rig: Any, tmp_path: Path, name: str, written: str) -> None:
    (tmp_path / "my.jm.folder").mkdir()
    assert ops().export_scene.mechanism(filepath=str(tmp_path / name), format="skel") == {"FINISHED"}
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("arm*") if path.is_file()}
    assert files == {written}


def test_saved_and_reopened_it_exports_the_original_text(rig: Any, tmp_path: Path) -> None:
    import bpy

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    empty_file()
    assert models() == []
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    assert ops().export_scene.mechanism(filepath=str(tmp_path / "again.jm")) == {"FINISHED"}
    assert (tmp_path / "again.jm").read_bytes() == FLAPPER.encode()


def test_export_reports_what_it_wrote_and_changes_nothing(rig: Any, tmp_path: Path, capfd: Any) -> None:
    before = datablocks(), [obj.matrix_world.copy() for obj in rig.users_scene[0].objects]
    capfd.readouterr()
    ops().export_scene.mechanism(filepath=str(tmp_path / "x.xml"))
    assert "Exported x.xml: 3 bodies, 2 joints" in capfd.readouterr().out
    assert (datablocks(), [obj.matrix_world for obj in rig.users_scene[0].objects]) == before


def test_export_into_no_folder_is_an_error(rig: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the folder '.*' does not exist"):
        ops().export_scene.mechanism(filepath=str(tmp_path / "nowhere" / "x.jm"))


def test_a_collection_exports_its_model(rig: Any, tmp_path: Path) -> None:
    """The exporters of a collection call the operator with the collection's name, whatever is active."""
    import bpy

    collection = rig.data.knuckle.collection
    bpy.context.view_layer.active_layer_collection = next(
        child for child in bpy.context.view_layer.layer_collection.children if child.collection == collection
    )
    bpy.ops.collection.exporter_add(name="IO_FH_mechanism")
    collection.exporters[0].export_properties.filepath = str(tmp_path / "from_collection.jm")
    bpy.context.view_layer.objects.active = None
    assert bpy.ops.collection.export_all() == {"FINISHED"}
    assert (tmp_path / "from_collection.jm").read_bytes() == FLAPPER.encode()


def test_a_collection_with_two_models_is_rejected(blank: Any, model_file: Path, tmp_path: Path) -> None:
    import bpy

    for _ in range(2):
        ops().import_scene.mechanism(filepath=str(model_file))
    both = bpy.data.collections.new("Both")
    bpy.context.scene.collection.children.link(both)
    for rig in models():
        both.children.link(rig.data.knuckle.collection)
    with pytest.raises(RuntimeError, match="holds 2 mechanisms"):
        ops().export_scene.mechanism(filepath=str(tmp_path / "x.jm"), collection="Both")


def test_the_menus_offer_every_format(blank: Any) -> None:
    import bpy

    from addon import formats
    from addon.blender.ui.import_export import export_motion, import_motion, model_files

    class Layout:
        def __init__(self) -> None:
            self.entries: list[Any] = []

        def operator(self, idname: str, text: str = "") -> Any:
            self.entries.append(type("Entry", (), {"idname": idname, "text": text})())
            return self.entries[-1]

    class Menu:
        layout = Layout()

    for draw in (model_files.import_menu, model_files.export_menu, import_motion.menu, export_motion.menu):
        draw(Menu, bpy.context)
    texts = [entry.text for entry in Menu.layout.entries]
    assert texts[0].startswith("Mechanism (.jm ")
    assert ".jpm" in texts[0]
    assert "Juice (.jm)" in texts
    assert texts.count("Servo Motion (.xmdi .motion .csv)") == 2
    assert [e.format for e in Menu.layout.entries if e.idname == "export_scene.mechanism"] == list(formats.FORMATS)


def test_export_takes_the_format_of_the_ending_or_the_models_own(blank: Any, tmp_path: Path) -> None:
    import bpy

    text = '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"/></skeleton></world></skel>\n'
    (tmp_path / "a.skel").write_text(text)
    bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "a.skel"))
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "b.skel"))
    assert (tmp_path / "b.skel").read_text() == text
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "c.json"))
    assert formats_of(tmp_path / "c.json") == "shift"
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "d.jm"))
    assert formats_of(tmp_path / "d.jm") == "juice"
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "e.x_xy"), format="x_xy")
    assert formats_of(tmp_path / "e.x_xy.xml") == "x_xy"


def test_a_y_up_model_can_be_exported_upright(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon import formats

    world = "<physics><gravity>0 -9.81 0</gravity></physics>"
    (tmp_path / "a.skel").write_text(
        f'<skel version="1.0"><world name="w">{world}<skeleton name="s"><body name="b"><transformation>1 2 3 0 0 0'
        "</transformation></body></skeleton></world></skel>"
    )
    bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "a.skel"))
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "b.jm"), upright=True)
    made = formats.load(tmp_path / "b.jm")
    assert made.world.gravity.tolist() == [0, 0, -9.81]
    assert made.bodies[0].pose[:3, 3] == pytest.approx((1, -3, 2))


def formats_of(path: Path) -> str:
    from addon import formats

    return formats.load(path).source.format


def test_an_import_says_that_it_overlaps_another_mechanism(
    rig: Any, model_file: Path, tmp_path: Path, capfd: Any
) -> None:
    import bpy

    assert "overlaps" not in capfd.readouterr().out, "it is the only one"
    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    second = bpy.context.view_layer.objects.active
    assert f"It overlaps {rig.name!r}: press G to move it" in capfd.readouterr().out
    bpy.ops.transform.translate(value=(10.0, 0.0, 0.0))
    assert second.location.x == 10.0, "it is selected"
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "moved.jm"), format="juice")
    assert (tmp_path / "moved.jm").read_bytes() == model_file.read_bytes(), "the file's coordinates stay"
    rig.location.x = -10.0
    bpy.context.view_layer.update()
    capfd.readouterr()
    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    assert "overlaps" not in capfd.readouterr().out
