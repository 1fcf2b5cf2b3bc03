"""What users find who delete things by hand: the check, the export and every refusal say what is missing and what takes
it back, and what comes back is as an import made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.harms import delete, delete_with_data, drop_all
from tests.support.libraries import saved
from tests.support.needed_helpers import activate, lacks, named
from tests.support.rebuild_helpers import exported, imported
from tests.support.scenes import found, the_rig
from tests.support.small import put


def findings() -> dict[str, Any]:
    """What a check finds now, by its codes."""
    import bpy

    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    return {row.code: row for row in the_rig().data.knuckle.findings}


def fitted() -> tuple[Any, ...]:
    """What of the scene's physics is fitted to the model."""
    import bpy

    scene = bpy.context.scene
    world = scene.rigidbody_world
    return world.substeps_per_frame, world.solver_iterations, *scene.gravity


def test_a_lost_text_is_reported_by_the_check_and_by_the_export(blank: Any, tmp_path: Path, capfd: Any) -> None:
    import bpy

    path = put(tmp_path / "flapper.jm")
    imported(path, physics=False)
    drop_all("texts")()
    activate()
    row = findings()["text-gone"]
    assert [row.message] == lacks()
    assert (row.severity, row.fix) == ("warning", "Rebuild Missing Parts")
    capfd.readouterr()
    assert exported(tmp_path / "less.jm") != path.read_bytes()
    assert "Warning: Document: the text of its file was deleted" in capfd.readouterr().out
    number = [each.code for each in the_rig().data.knuckle.findings].index("text-gone")
    assert bpy.ops.knuckle.fix_finding(index=number) == {"FINISHED"}
    assert "text-gone" not in findings()
    assert exported(tmp_path / "again.jm") == path.read_bytes()


@pytest.mark.parametrize("again", ["rebuild", "build_physics"])
def test_a_world_made_again_is_fitted_as_on_import(blank: Any, capfd: Any, again: str) -> None:
    import bpy

    imported(found("desk_lamp.skel"))
    before = fitted()
    bpy.ops.rigidbody.world_remove()
    activate()
    assert "world-gone" in findings()
    assert [row.message for row in the_rig().data.knuckle.findings if row.code == "world-gone"] == lacks()
    capfd.readouterr()
    assert getattr(bpy.ops.knuckle, again)() == {"FINISHED"}
    assert "keeps its" not in capfd.readouterr().out
    assert fitted() == before
    assert "world-gone" not in findings()
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert bpy.context.scene.rigidbody_world is None


def test_a_world_made_again_by_the_second_model_is_put_back_by_it(blank: Any, tmp_path: Path) -> None:
    import bpy

    scene = bpy.context.scene
    scene.gravity = (0.0, 0.0, -1.5)
    first = imported(put(tmp_path / "flapper.jm"))
    assert bpy.ops.import_scene.mechanism(filepath=str(found("desk_lamp.skel")), physics=True) == {"FINISHED"}
    second = next(obj for obj in scene.objects if obj.type == "ARMATURE" and obj != first)
    bpy.ops.rigidbody.world_remove()
    activate(second)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert scene.rigidbody_world.substeps_per_frame > 10
    activate(first)
    assert "world-gone" in {row.code for row in checked(first)}
    activate(second)
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert scene.rigidbody_world is None
    assert scene.gravity[2] == -1.5


def checked(rig: Any) -> Any:
    import bpy

    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    return rig.data.knuckle.findings


def test_a_world_that_came_by_appending_is_not_the_users(blank: Any, tmp_path: Path, capfd: Any) -> None:
    """Blender makes one for the bodies that it appends, as it is when new."""
    import bpy

    wanted: list[Any] = []

    def ready() -> None:
        imported(found("hexapod.jm"))
        wanted.append(fitted())

    path = saved(tmp_path, ready=ready)
    bpy.context.scene.render.fps = 60
    bpy.ops.wm.append(filepath=f"{path}/Object/Head", directory=f"{path}/Object/", filename="Head")
    assert bpy.context.scene.rigidbody_world is not None
    activate()
    capfd.readouterr()
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "already" not in said
    assert "keeps" not in said
    assert fitted() == wanted[0]
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert bpy.context.scene.rigidbody_world is None
    assert bpy.context.scene.gravity[2] == pytest.approx(-9.81)


@pytest.mark.parametrize("touch", ["object", "steps", "frames"])
def test_a_world_that_the_user_has_touched_is_not_taken_for_one(
    blank: Any, tmp_path: Path, capfd: Any, touch: str
) -> None:
    import bpy

    path = saved(tmp_path, ready=lambda: imported(found("hexapod.jm")))
    assert bpy.ops.rigidbody.world_add() == {"FINISHED"}
    world = bpy.context.scene.rigidbody_world
    if touch == "object":
        bpy.ops.mesh.primitive_cube_add()
        bpy.ops.rigidbody.object_add()
    elif touch == "steps":
        world.substeps_per_frame = 11
    else:
        world.point_cache.frame_end = 77
    bpy.ops.wm.append(filepath=f"{path}/Object/Head", directory=f"{path}/Object/", filename="Head")
    activate()
    capfd.readouterr()
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "unchanged (0, 0, -9.81), the mechanism has (0, 0, -20). Set it in Scene properties, Gravity" in said
    assert "Press Measure Again" in said
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert bpy.context.scene.rigidbody_world is not None


def test_an_armature_that_is_gone_for_good_is_named_and_comes_back_with_its_motion(
    blank: Any, tmp_path: Path, capfd: Any
) -> None:
    import bpy

    rig = imported(found("hexapod.jm"), physics=False)
    action = rig.animation_data.action
    delete_with_data("hexapod")()
    activate(bpy.data.objects["Chassis"])
    for refused in (bpy.ops.export_scene.mechanism, bpy.ops.knuckle.check_model, bpy.ops.knuckle.set_drive):
        with pytest.raises(RuntimeError, match="armature of 'hexapod' was deleted: restore it with Rebuild Missing"):
            refused()
    capfd.readouterr()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    said = capfd.readouterr().out
    assert "Rebuilt or restored: its armature;" in said
    assert f"its motion {action.name!r}" in said
    assert the_rig().animation_data.action == action
    exported(tmp_path / "hexapod.jm")


def test_of_several_motions_none_is_chosen(blank: Any, tmp_path: Path, capfd: Any) -> None:
    import bpy

    rig = imported(put(tmp_path / "flapper.jm"), physics=False)
    for name in ("flapper Two", "flapper Three"):
        rig.animation_data.action.copy().name = name
    delete_with_data("flapper")()
    activate(bpy.data.objects["Trunk"])
    capfd.readouterr()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert the_rig().animation_data is None or the_rig().animation_data.action is None
    assert "Motion: the played Action is unknown. Choose one of" in capfd.readouterr().out


def test_an_instance_of_a_linked_model_is_named(blank: Any, tmp_path: Path) -> None:
    import bpy

    path = saved(tmp_path, ready=lambda: imported(put(tmp_path / "flapper.jm")))
    arguments = {"filepath": f"{path}/Collection/flapper", "directory": f"{path}/Collection/", "filename": "flapper"}
    assert bpy.ops.wm.link(**arguments) == {"FINISHED"}
    for refused in (bpy.ops.export_scene.mechanism, bpy.ops.knuckle.rebuild, bpy.ops.knuckle.set_drive):
        with pytest.raises(RuntimeError, match="'flapper' is a collection instance.*Instance Collections off"):
            refused()
    assert bpy.ops.wm.link(**arguments, instance_collections=False) == {"FINISHED"}
    activate(next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"))
    exported(tmp_path / "linked.jm")
    assert (tmp_path / "linked.jm").read_bytes() == (tmp_path / "flapper.jm").read_bytes()


def test_a_rebuild_names_what_it_leaves_away(blank: Any, capfd: Any) -> None:
    import bpy

    imported(found("pumpjack.json"), physics=False)
    every = {obj.name for obj in bpy.context.scene.objects if obj.knuckle.role == "JOINT"}
    delete(*sorted(every))()
    activate()
    capfd.readouterr()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    said = capfd.readouterr().out
    (left,) = every - {obj.name for obj in named(*every)}
    assert f"not restored, nothing needs them: {left!r}. Enable Include Deleted Parts" in said
    assert bpy.ops.knuckle.rebuild(everything=True) == {"FINISHED"}
    assert "not restored" not in capfd.readouterr().out
    assert {obj.name for obj in named(*every)} == every


def test_a_deleted_joint_is_named(blank: Any, tmp_path: Path, capfd: Any) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"), physics=False)
    delete("Left Joint")()
    activate()
    told = "Joint 'Left Joint': deleted, so nothing connects 'Left Flap'. Rebuild it"
    assert lacks() == [told]
    assert findings()["bones-gone"].message == told
    capfd.readouterr()
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert f"Warning: {told}" in capfd.readouterr().out
