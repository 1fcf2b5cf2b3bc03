"""Models as earlier releases kept them, brought up to date when they come; models of newer ones left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "sample_models"
BLENDS = ROOT / "tests/data/blends"


def import_model(path: Path) -> Any:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return the_rig()


def the_rig() -> Any:
    import bpy

    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    return rig


def parts_of(rig: Any, role: str) -> list[Any]:
    import bpy

    return [obj for obj in bpy.data.objects if obj.knuckle.model == rig and obj.knuckle.role == role]


def export(rig: Any, path: Path, format_: str) -> bytes:
    import bpy

    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
    return path.read_bytes()


def make_old(rig: Any, version: int) -> None:
    """Take from a model what its release had not: read off the .blend files that each version wrote."""
    import bpy

    model = rig.data.knuckle
    if version < 5:
        model.property_unset("contact_friction")
    if version < 4:
        model.property_unset("upright")
        for bone in rig.data.bones:
            bone.knuckle.property_unset("baseline_name")
            bone.knuckle.property_unset("followed_name")
        for empty in parts_of(rig, "JOINT"):
            empty.knuckle.property_unset("baseline_bone_pose")
            empty.knuckle.joint.property_unset("bone_kinds")
            for dof in empty.knuckle.joint.dofs:
                for name in ("step", "channel", "channel_index"):
                    dof.property_unset(name)
        for obj in parts_of(rig, "SHAPE"):
            obj.knuckle.property_unset("is_ground")
    if version < 3:
        for material in bpy.data.materials:
            material.knuckle.property_unset("baseline_color")
    if version < 2:
        bpy.data.batch_remove([*parts_of(rig, "FRAME"), *parts_of(rig, "LIGHT")])
        model.property_unset("uid")
        model.property_unset("version")  # nobody wrote one
        assert model.version == 1
    else:
        model.version = version


def kept(rig: Any) -> dict[str, Any]:
    """What a model's joints, bones, frames and materials of plain colours have to say, by their names."""
    import bpy

    joints = {
        empty.name: (
            empty.knuckle.joint.bone_kinds,
            [(dof.step, dof.channel, dof.channel_index) for dof in empty.knuckle.joint.dofs],
            list(empty.knuckle.baseline_bone_pose),
            empty.knuckle.joint.is_reversed,
            list(empty.knuckle.joint.opening),
        )
        for empty in parts_of(rig, "JOINT")
    }
    frames = {
        (obj.knuckle.role, obj.name): (obj.parent.name, [round(x, 5) for row in obj.matrix_basis for x in row])
        for role in ("FRAME", "LIGHT")
        for obj in parts_of(rig, role)
    }
    return {
        "joints": joints,
        "frames": frames,
        "bones": {bone.name: bone.knuckle.baseline_name for bone in rig.data.bones},
        "grounds": sorted(obj.name for obj in bpy.data.objects if obj.knuckle.is_ground),
        "upright": [round(x, 5) for x in rig.data.knuckle.upright],
        "materials": {m.name: [round(x, 5) for x in m.knuckle.baseline_color] for m in bpy.data.materials},
    }


def reopen(path: Path) -> Any:
    import bpy

    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return the_rig()


MODELS = ["hexapod/hexapod.jm", "desk_lamp/desk_lamp.skel", "sensor_leg/sensor_leg.xml", "pumpjack/pumpjack.json"]


@pytest.mark.parametrize(("name", "version"), [*((name, 1) for name in MODELS), (MODELS[0], 2), (MODELS[0], 3)])
def test_a_model_of_before_is_as_one_of_now(blank: Any, tmp_path: Path, name: str, version: int) -> None:
    import bpy

    from addon.blender.data.properties.model import DATA_VERSION

    path = SAMPLES / name
    rig = import_model(path)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    format_, before = rig.data.knuckle.format, kept(rig)
    plain = {name for name, color in before["materials"].items() if color[3] >= 0.0}  # others are of mesh files
    make_old(rig, version)
    assert kept(rig) != before
    rig = reopen(tmp_path / "old.blend")
    assert rig.data.knuckle.version == DATA_VERSION
    after = kept(rig)
    for each in (before, after):
        each["materials"] = {name: each["materials"][name] for name in plain}
    assert after == before
    assert export(rig, tmp_path / f"out{path.suffix}", format_) == path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_friction_typed_for_a_model_of_before_is_kept(blank: Any, tmp_path: Path, name: str) -> None:
    import bpy

    rig = import_model(SAMPLES / name)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    make_old(rig, 4)
    rig = reopen(tmp_path / "old.blend")
    first, *others = (obj for obj in parts_of(rig, "BODY") if obj.rigid_body is not None)
    first.rigid_body.friction = 0.0625
    usual = {obj.name: obj.rigid_body.friction for obj in others}
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert first.rigid_body.friction == 0.0625
    assert {obj.name: obj.rigid_body.friction for obj in others} == usual
    bpy.ops.knuckle.clear_physics()
    assert rig.data.knuckle.contact_friction < 0.0, "nothing was typed where there is no physics"


@pytest.mark.parametrize("path", sorted(BLENDS.glob("*.blend")), ids=lambda path: path.stem)
def test_files_of_release_1_0_have_no_typed_friction(blank: Any, path: Path) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import typed_frictions
    from tests.support.release_1_0_helpers import why_unreadable

    if why := why_unreadable(path, path.stem.rpartition("-")[2]):
        pytest.skip(why)
    for rig in [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]:
        assert typed_frictions(rig) == {}
        held = any(obj.rigid_body is not None for obj in parts_of(rig, "BODY"))
        assert (rig.data.knuckle.contact_friction > 0.0) == held


def test_what_a_model_of_before_was_edited_to_goes_out(blank: Any, tmp_path: Path) -> None:
    """A bone that its user renamed before names nothing, one renamed since names its joint; a pose is no edit."""
    import bpy

    rig = import_model(SAMPLES / "hexapod/hexapod.jm")
    make_old(rig, 1)
    joint = next(bone.knuckle.joint for bone in rig.data.bones if bone.knuckle.joint)
    rig = reopen(tmp_path / "old.blend")
    next(bone for bone in rig.data.bones if bone.knuckle.joint == joint).name = "Renamed since"
    bpy.context.view_layer.update()
    parts_of(rig, "BODY")[0].knuckle.mass = 3.25
    out = export(rig, tmp_path / "out.jm", "juice").decode()
    assert "Renamed since" in out and "3.25" in out


def test_servos_of_a_model_of_before_pose_and_play(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data.channels import servo_channels

    rig = import_model(SAMPLES / "hexapod/hexapod.jm")
    servos = {joint: [(c.bone, c.prop, c.index) for c in own] for joint, own in servo_channels(rig).items()}
    make_old(rig, 1)
    assert servo_channels(rig) == {}, "the old model has to lack them, or this shows nothing"
    rig = reopen(tmp_path / "old.blend")
    assert {j: [(c.bone, c.prop, c.index) for c in own] for j, own in servo_channels(rig).items()} == servos
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}


@pytest.mark.parametrize("link", [False, True], ids=["appended", "linked"])
def test_an_old_model_that_is_appended_is_brought_up_to_date_and_a_linked_one_is_left(
    blank: Any, tmp_path: Path, link: bool
) -> None:
    import bpy

    from addon.blender.data.properties.model import DATA_VERSION

    rig = import_model(SAMPLES / "rover/rover.jm")
    name = rig.data.knuckle.collection.name
    make_old(rig, 1)
    path = tmp_path / "theirs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    empty_file()
    with bpy.data.libraries.load(str(path), link=link) as (_there, here):
        here.collections = [name]
    bpy.context.scene.collection.children.link(bpy.data.collections[name])
    bpy.context.view_layer.update()
    rig = the_rig()
    assert rig.data.knuckle.version == (1 if link else DATA_VERSION)
    from addon import formats
    from addon.blender.scene.read.mechanism import extract

    formats.save(extract(rig.data.knuckle.collection), tmp_path / "out.jm")
    assert (tmp_path / "out.jm").read_bytes() == (SAMPLES / "rover/rover.jm").read_bytes()


def test_rigid_loops_of_a_model_of_before_are_locked_and_others_stay_as_they_are(blank: Any, tmp_path: Path) -> None:
    """Releases before 5 left the bones of loops without a degree of freedom free."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build
    from addon.blender.rig.pose_channels import set_dependent
    from tests.support import loops

    def locked(name: str) -> set[str]:
        return {pose.name for pose in bpy.data.objects[name].pose.bones if all(pose.lock_rotation)}

    ends: dict[str, tuple[str | None, str | None]] = {"A": (None, "one"), "B": ("one", "two"), "C": ("two", None)}
    rigid = loops.planar(
        "triangle", ends, {name: np.array(at) for name, at in zip("ABC", [(0, 0), (1, 2), (3, 0)], strict=True)}
    )
    for mechanism in (rigid, loops.crank_rocker()):
        rig = rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))
        assert rig is not None
        for empty in parts_of(rig, "JOINT"):
            if mechanism is rigid:
                set_dependent(empty, False)
        make_old(rig, 4)
    moving = locked("crank-rocker")
    assert moving and not locked("triangle")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "old.blend"))
    rig = bpy.data.objects["triangle"]
    assert locked("triangle") == {pose.name for pose in rig.pose.bones if pose.bone.knuckle.joint}
    assert [line.where for line in rig.data.knuckle.report if line.code == "loop-rigid"] == ["A"]
    assert locked("crank-rocker") == moving
    turned = next(pose for pose in rig.pose.bones if pose.bone.knuckle.joint)
    turned.rotation_euler.z = 0.5
    bpy.context.view_layer.update()
    assert turned.rotation_euler.z == 0.0


def test_a_linked_model_of_before_that_is_made_local_is_up_to_date(blank: Any, tmp_path: Path) -> None:
    """Its library stays as it is, also where it is linked anew."""
    import bpy

    from addon.blender.data.properties.model import DATA_VERSION

    rig = import_model(SAMPLES / "hexapod/hexapod.jm")
    name = rig.data.knuckle.collection.name
    before = kept(rig)
    make_old(rig, 4)
    path = tmp_path / "theirs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    text = path.read_bytes()
    empty_file()
    with bpy.data.libraries.load(str(path), link=True) as (_there, here):
        here.collections = [name]
    bpy.context.scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.update()
    assert the_rig().data.knuckle.version == DATA_VERSION
    assert kept(the_rig()) == before
    assert path.read_bytes() == text
    for obj in bpy.context.scene.objects:
        obj.hide_select = False
        obj.select_set(True)
    assert bpy.ops.object.make_local(type="ALL") == {"FINISHED"}
    rig = reopen(tmp_path / "mine.blend")
    assert rig.library is None and rig.data.knuckle.version == DATA_VERSION
    assert kept(rig) == before
    assert export(rig, tmp_path / "out.jm", "juice") == (SAMPLES / "hexapod/hexapod.jm").read_bytes()


def test_a_model_of_a_newer_release_is_reported_and_left_alone(
    blank: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import bpy

    rig = import_model(SAMPLES / "hexapod/hexapod.jm")
    bpy.ops.knuckle.build_physics()
    rig.data.knuckle.version = 1000
    before = kept(rig)
    rig = reopen(tmp_path / "newer.blend")
    assert "'hexapod' was saved by a newer release" in capsys.readouterr().out
    bpy.context.view_layer.objects.active = rig
    for operator in (bpy.ops.knuckle.build_physics, bpy.ops.knuckle.clear_physics, bpy.ops.knuckle.refit):
        with pytest.raises(RuntimeError, match="saved by a newer release of Knuckle. Update Knuckle"):
            operator()
    with pytest.raises(RuntimeError, match="saved by a newer release of Knuckle. Update Knuckle"):
        bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "out.jm"), format="juice")
    assert not (tmp_path / "out.jm").exists()
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
    assert rig.data.knuckle.version == 1000
    assert kept(rig) == before


def test_a_model_that_cannot_be_brought_up_to_date_keeps_no_other_from_it(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step fails in an unforeseen way after half of its work: it is told of, and the next opening does it once."""
    import bpy

    from addon.blender.data.properties.model import DATA_VERSION
    from addon.blender.editing import migration

    for name in ("pumpjack/pumpjack.json", "sensor_leg/sensor_leg.xml"):
        assert bpy.ops.import_scene.mechanism(filepath=str(SAMPLES / name), physics=False) == {"FINISHED"}
    one, other = (obj.name for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    frames = sorted(obj.name for obj in bpy.data.objects if obj.knuckle.role in {"FRAME", "LIGHT"})
    assert any(obj.parent for obj in parts_of(bpy.data.objects[one], "FRAME"))
    for each in (one, other):
        make_old(bpy.data.objects[each], 1)
    path = tmp_path / "old.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))

    step = migration._MIGRATIONS[1]

    def fails(rig: Any) -> None:
        step(rig)
        if rig.name == one:
            raise KeyError("what nobody thought of")

    with monkeypatch.context() as patch:
        patch.setitem(migration._MIGRATIONS, 1, fails)
        bpy.ops.wm.open_mainfile(filepath=str(path))
    assert [bpy.data.objects[each].data.knuckle.version for each in (one, other)] == [1, DATA_VERSION]
    assert "'pumpjack' was saved by an earlier release and cannot be updated" in capsys.readouterr().out
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert [bpy.data.objects[each].data.knuckle.version for each in (one, other)] == [DATA_VERSION, DATA_VERSION]
    assert sorted(obj.name for obj in bpy.data.objects if obj.knuckle.role in {"FRAME", "LIGHT"}) == frames


def test_an_old_copy_in_the_collection_of_its_original_is_read_itself(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.scene.read.mechanism import extract

    first = import_model(SAMPLES / "pumpjack/pumpjack.json")
    bpy.ops.object.select_all(action="SELECT")
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    (second,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL" and obj != first)
    assert second.data.knuckle.collection == first.data.knuckle.collection
    count = len(extract(second).frames)
    assert count
    bpy.data.batch_remove([*parts_of(first, "BODY"), *parts_of(first, "JOINT")])
    make_old(second, 1)
    assert not parts_of(second, "FRAME")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "old.blend"))
    (second,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL" and parts_of(obj, "BODY"))
    assert len(parts_of(second, "FRAME")) == count
