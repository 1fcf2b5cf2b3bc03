"""Mesh folders in the preferences: added, kept, removed, and obeyed by what is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from addon import formats
from tests.support import mesh_samples as samples

NAME = "addon"


@pytest.fixture
def enabled(blank: Any) -> Iterator[Any]:
    """Our preferences, as Blender has them for an add-on that is enabled."""
    entry = blank.preferences.addons.new()
    entry.module = NAME
    yield entry.preferences
    blank.preferences.addons.remove(entry)


def test_a_disabled_extension_has_default_preferences(blank: Any) -> None:
    import bpy

    from addon.blender.data import preferences

    assert NAME not in blank.preferences.addons
    assert preferences.mesh_folders() == ()
    assert preferences.ignore_collada_units() is True
    assert not bpy.ops.knuckle.mesh_folder_add.poll()


def test_folders_come_and_go(enabled: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data import preferences

    assert preferences.mesh_folders() == ()
    for name in ("one", "two", "one"):
        bpy.ops.knuckle.mesh_folder_add(directory=f"{tmp_path}/{name}/")
    assert preferences.mesh_folders() == (str(tmp_path / "one"), str(tmp_path / "two"))
    bpy.ops.knuckle.mesh_folder_remove(index=0)
    bpy.ops.knuckle.mesh_folder_remove(index=1)
    assert preferences.mesh_folders() == (str(tmp_path / "two"),)
    assert bpy.ops.knuckle.mesh_folder_remove(index=7) == {"CANCELLED"}


@pytest.mark.filterwarnings("ignore:.*blend relative")
def test_only_absolute_folders_count(enabled: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data import preferences

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"), check_existing=False)
    row = enabled.mesh_folders.add()
    row.path = "relative/folder"
    assert preferences.mesh_folders() == ()
    row.path = "//meshes/"  # as the file browser gives it: the folder beside this .blend, whichever is open next
    assert row.path == str(tmp_path / "meshes")
    assert preferences.mesh_folders() == (str(tmp_path / "meshes"),)


@pytest.mark.filterwarnings("ignore:.*blend relative")
def test_the_folder_of_an_unknown_blend_is_not_allowed(enabled: Any, tmp_path: Path) -> None:
    """A row kept from when there was no .blend that it could be relative to."""
    import bpy

    from addon.blender.data import preferences

    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    for path in ("//", "//meshes"):
        bpy.context.preferences.addons[NAME].preferences.mesh_folders.add()["path"] = path
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "stranger.blend"), check_existing=False)
    assert [row.path for row in bpy.context.preferences.addons[NAME].preferences.mesh_folders] == ["//", "//meshes"]
    assert preferences.mesh_folders() == ()


def test_a_model_gets_the_moments_of_meshes_in_these_folders(enabled: Any, blank: Any, tmp_path: Path) -> None:
    from addon.blender.reconcile.build import BuildOptions, build

    (tmp_path / "model").mkdir()
    (tmp_path / "library").mkdir()
    (tmp_path / "library/a.dae").write_bytes(samples.dae(unit=0.01))
    text = (
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>12</mass></inertia>'
        "<visualization_shape><geometry><mesh><file_name>a.dae</file_name><scale>1 1 1</scale></mesh></geometry>"
        '</visualization_shape></body><joint type="free" name="j"><parent>world</parent><child>b</child></joint>'
        "</skeleton></world></skel>"
    )
    (tmp_path / "model/m.skel").write_text(text)

    def moment(options: BuildOptions) -> Any:
        mechanism = formats.load(tmp_path / "model/m.skel")
        build(mechanism, blank, options)
        return mechanism.bodies[0].inertia

    x, y, z = samples.EDGES
    assert moment(BuildOptions()) is None
    given = moment(BuildOptions(mesh_folders=(str(tmp_path / "library"),)))
    assert given.diagonal() == pytest.approx([y * y + z * z, x * x + z * z, x * x + y * y])
    enabled.mesh_folders.add().path = str(tmp_path / "library")
    assert moment(BuildOptions()) == pytest.approx(given)
    assert moment(BuildOptions(mesh_folders=())) is None
    enabled.ignore_collada_units = False
    assert moment(BuildOptions()) == pytest.approx(given * 1e-4)


def test_the_panel_shows_every_folder_and_marks_those_that_are_not_there(enabled: Any, tmp_path: Path) -> None:
    from types import SimpleNamespace
    from unittest.mock import MagicMock

    import bpy

    from addon.blender.ui.preferences import KnucklePreferences

    enabled.mesh_folders.add().path = str(tmp_path)
    enabled.mesh_folders.add().path = str(tmp_path / "gone")
    rows = [MagicMock() for _ in range(4)]  # heading, two folders, buttons of the self-check
    layout = MagicMock()
    layout.row.side_effect = rows
    drawn = SimpleNamespace(layout=layout, mesh_folders=enabled.mesh_folders, gait=True)
    KnucklePreferences.draw(drawn, bpy.context)
    assert [row.alert for row in rows[1:3]] == [False, True]
    assert [row.operator.return_value.index for row in rows[1:3]] == [0, 1]
    rows[0].operator.assert_called_once_with("knuckle.mesh_folder_add", text="", icon="ADD")


def test_new_xmdi_files_call_their_containers_as_the_preferences_say(enabled: Any, tmp_path: Path) -> None:
    import bpy

    from tests.support.mechanisms import body, joint, key, model, put

    rig = put(model(body(1, (0, 0, 0)), body(2, (2, 0, 0)), joint(3, 1, 2, (1, 0, 0))), gait=False)
    key(rig, 3, [(1, 0.0), (2, 1.0)])
    enabled.xmdi_root, enabled.xmdi_container = "judo", "throws"
    bpy.ops.export_anim.servo_motion(filepath=str(tmp_path / "a.xmdi"))
    text = (tmp_path / "a.xmdi").read_text()
    assert "<judo>" in text and "<throws>" in text


def test_imports_begin_with_what_the_preferences_say(enabled: Any, tmp_path: Path) -> None:
    from addon.blender.ui.import_export.model_files import IMPORT_SCENE_OT_mechanism as operator
    from addon.blender.ui.import_export.options import ImportOptions, apply_preferences

    names = set(ImportOptions.__annotations__)
    assert (
        {"up_axis", "physics", "gait_seconds", "frame_view"} <= names <= set(operator.bl_rna.properties.keys()) | names
    )
    enabled.physics, enabled.gait_seconds, enabled.up_axis = False, 3.0, "Y"

    class Chosen:
        """Stands in for an operator in which the user has chosen ``up_axis`` already."""

        up_axis = "Z"
        properties = type("Set", (), {"is_property_set": staticmethod(lambda name: name == "up_axis")})()

    chosen: Any = Chosen()
    apply_preferences(chosen)
    assert (chosen.physics, chosen.gait_seconds, chosen.up_axis) == (False, 3.0, "Z")


def test_the_first_mechanism_of_a_scene_switches_the_wished_overlays_on(enabled: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender import overlay
    from addon.blender.ui.overlay import active_kinds
    from tests.support.small import put

    choices = enabled.bl_rna.properties["overlays"].enum_items.keys()
    assert choices == list(overlay.OVERLAY_KINDS)
    enabled.overlays = {"axes", "centres"}
    path = put(tmp_path / "flapper.jm")
    scene = bpy.context.scene
    assert active_kinds(scene) == []
    bpy.ops.import_scene.mechanism(filepath=str(path))
    assert active_kinds(scene) == ["axes", "centres"]
    scene.knuckle_overlay.axes = False
    bpy.ops.import_scene.mechanism(filepath=str(path))
    assert active_kinds(scene) == ["centres"], "what the user switched off stays off"
    scene.knuckle_overlay.centres = False


def test_dialogs_have_presets_and_take_several_files_and_drops(blank: Any) -> None:
    import bpy

    for module, name in (("import_scene", "mechanism"), ("import_anim", "servo_motion")):
        kind = getattr(getattr(bpy.ops, module), name).get_rna_type()
        assert {"files", "directory"} <= set(kind.properties.keys())
    for module, name in (("IMPORT_SCENE", "mechanism"), ("EXPORT_SCENE", "mechanism")):
        assert "PRESET" in getattr(bpy.types, f"{module}_OT_{name}").bl_options
    for module in ("IMPORT_ANIM", "EXPORT_ANIM"):
        assert "PRESET" in getattr(bpy.types, f"{module}_OT_servo_motion").bl_options
    models, motions = bpy.types.IO_FH_mechanism, bpy.types.IO_FH_servo_motion
    assert models.bl_import_operator == "import_scene.mechanism"
    assert models.bl_export_operator == "export_scene.mechanism", "so that collections can export it"
    assert motions.bl_import_operator == "import_anim.servo_motion"


def test_several_files_become_several_mechanisms(blank: Any, tmp_path: Path) -> None:
    import bpy

    from tests.support.small import models, put

    names = [put(tmp_path / f"{name}.jm").name for name in ("one", "two")]
    files = [{"name": name} for name in names]
    assert bpy.ops.import_scene.mechanism(directory=str(tmp_path), files=files) == {"FINISHED"}
    assert [rig.name for rig in models()] == ["one", "two"]


def test_the_command_that_installs_mujoco_is_shown_and_copied(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the Python of this Blender, into a folder that it searches; where it is installed there is nothing to do."""
    import sys

    import bpy

    from addon.blender.ui import preferences
    from tests.support.panels_helpers import Layout

    command = preferences.install_command()
    assert command.startswith(f'"{sys.executable}" -m pip install') and command.endswith(" mujoco-core")
    assert f'"{bpy.utils.user_resource("SCRIPTS", path="modules")}"' in command
    for missing in ("MuJoCo is not installed", ""):
        monkeypatch.setattr(preferences, "mujoco_missing_message", lambda missing=missing: missing)
        drawn: list[tuple[str, Any]] = []
        preferences.draw_reference_engine(bpy.context, Layout(drawn))
        texts = [text for _kind, text in drawn]
        assert (command in texts) == bool(missing)
        assert ("MuJoCo is installed" in texts) != bool(missing)
    assert bpy.ops.knuckle.copy_install_command() == {"FINISHED"}
