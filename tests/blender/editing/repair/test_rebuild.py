"""Rebuild Missing Parts: deleted parts come back as they were, and a whole mechanism stays as it is. A lost document
is found again in its encoding, and no other one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.harms import HARMS, clear_settings, delete
from tests.support.panels_helpers import draw_all
from tests.support.rebuild_helpers import exported, imported, places, same
from tests.support.scenes import found, the_rig
from tests.support.small import FLAPPER, put
from tests.support.snapshot import differences, snapshot

#: What takes bodies away from under the constraints that hold them. Blender then crashes now and then, without us as
#: well, when it frees those: these are done to models without physics.
OF_BODIES = {
    "root body", "body", "body for good", "bodies", "collection of bodies and all", "meshes", "values of a joint",
}  # fmt: skip


@pytest.mark.parametrize("name", ["hexapod.jm", "desk_lamp.skel", "sensor_leg.xml"])
def test_a_whole_model_stays_as_it_is(blank: Any, name: str) -> None:
    import bpy

    imported(found(name))
    before = snapshot()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert differences(before, snapshot()) == []
    assert ("operator", "knuckle.rebuild") not in draw_all()["Mechanism"]


@pytest.mark.parametrize("harm", [name for name in HARMS if name not in {"actions", "materials"}])
def test_what_was_deleted_comes_back_as_it_was(blank: Any, tmp_path: Path, harm: str) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"), physics=harm not in OF_BODIES)
    before = places()
    HARMS[harm]()
    bpy.context.view_layer.objects.active = next(
        (obj for obj in bpy.context.scene.objects if obj.knuckle.role in {"MODEL", "BODY", "JOINT"}), None
    )
    if harm in {"collection and all"}:
        assert not bpy.ops.knuckle.rebuild.poll(), "nothing of it remains"
        return
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    same(places(), before)
    assert exported(tmp_path / "again.jm") == FLAPPER.encode()
    first = snapshot()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert differences(first, snapshot()) == [], "there is nothing more to do"
    bpy.context.view_layer.objects.active = the_rig()
    assert ("operator", "knuckle.rebuild") not in draw_all()["Mechanism"]


def test_what_was_deleted_on_purpose_stays_away(blank: Any, tmp_path: Path) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"))
    bpy.ops.object.select_all(action="DESELECT")
    bpy.data.objects["Right Slide"].select_set(True)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    delete("flapper")()
    bpy.context.view_layer.objects.active = bpy.data.objects["Trunk"]
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    left = {obj.knuckle.source_name for obj in bpy.context.scene.objects if obj.knuckle.role in {"BODY", "JOINT"}}
    assert left == {"Trunk", "Left Flap", "Left Joint"}


def test_what_remains_keeps_its_keys_pose_and_edits(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = imported(put(tmp_path / "flapper.jm"), physics=False)
    bpy.data.objects["Left Joint"].knuckle.joint.dofs[0].gain = 33.0
    bpy.data.objects["Right Slide"].knuckle.mass = 2.0
    action = rig.animation_data.action
    bpy.context.scene.frame_set(9)
    rig.pose.bones["Right Joint"].location.z = 0.125
    bpy.context.view_layer.update()
    pose = {bone.name: np.array(bone.matrix) for bone in rig.pose.bones}
    delete("Left Flap")()
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    rig = the_rig()
    assert rig.animation_data.action == action
    assert rig.pose.bones["Right Joint"].location.z == 0.125
    bpy.context.view_layer.update()
    assert pose.keys() == {bone.name for bone in rig.pose.bones}
    assert max(np.abs(np.array(bone.matrix) - pose[bone.name]).max() for bone in rig.pose.bones) < 1e-6
    assert bpy.data.objects["Left Joint"].knuckle.joint.dofs[0].gain == 33.0
    assert bpy.data.objects["Right Slide"].knuckle.mass == 2.0


def test_the_panel_reports_what_is_missing_and_offers_to_rebuild(blank: Any, tmp_path: Path) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"))
    delete("flapper")()
    drawn = draw_all()["Mechanism"]
    assert ("operator", "knuckle.rebuild") in drawn
    assert "armature was deleted" in " ".join(text for kind, text in drawn if kind == "label")
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert the_rig().name in bpy.context.scene.objects


DECLARED = FLAPPER.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="windows-1252"?>')


def activate() -> None:
    import bpy

    bpy.context.view_layer.objects.active = the_rig()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(FLAPPER, "cp1252"), (DECLARED, "cp1252"), (FLAPPER, "utf-16"), (FLAPPER, "utf-8-sig")],
    ids=["undeclared", "declared", "of 16 bits", "with a mark"],
)
def test_a_text_found_again_is_in_the_encoding_of_its_file(
    blank: Any, tmp_path: Path, text: str, encoding: str
) -> None:
    import bpy

    data = text.replace("Left Flap", "Füße").encode(encoding)
    path = tmp_path / "flapper.jm"
    path.write_bytes(data)
    imported(path, physics=False)
    path.unlink()
    clear_settings()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert exported(tmp_path / "again.jm") == data


def test_a_folded_text_is_found_again(blank: Any, tmp_path: Path) -> None:
    """A JSON on one line is longer than what Blender takes as a line of a Text."""
    import bpy

    data = json.dumps(json.loads(found("pumpjack.json").read_text())).encode()
    data = data.replace(b"{", b"{" + b" " * 800)
    path = tmp_path / "line.json"
    path.write_bytes(data)
    rig = imported(path, physics=False)
    assert rig.data.knuckle.fold
    path.unlink()
    clear_settings()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert the_rig().data.knuckle.fold
    assert exported(tmp_path / "again.json") == data


def test_no_text_of_another_mechanism_is_taken(blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no part left that could tell, none fits; and of a text that is another model's nobody asks."""
    import bpy

    from addon.blender.data.documents import mechanism_from_text
    from addon.blender.editing.repair import rebuild as module

    path = put(tmp_path / "flapper.jm")
    rig = imported(path, physics=False)
    other = put(tmp_path / "other.jm")
    assert bpy.ops.import_scene.mechanism(filepath=str(other), physics=False) == {"FINISHED"}
    mine = bpy.data.texts.new("what the user keeps")
    mine.from_string(FLAPPER)
    kept = rig.data.knuckle.document
    bpy.data.batch_remove([obj for obj in bpy.data.objects if obj.knuckle.model == rig and obj != rig])
    bpy.data.texts.remove(kept)
    path.unlink()
    bpy.context.view_layer.objects.active = rig
    read: list[str] = []

    def noted(text: Any, where: str) -> Any:
        read.append(text.name)
        return mechanism_from_text(text, where)

    monkeypatch.setattr(module, "mechanism_from_text", noted)
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert read == [mine.name], "the other's was not even looked at"
    assert rig.data.knuckle.document is None


def test_a_copy_in_the_collection_of_its_original_is_read_itself(blank: Any, tmp_path: Path) -> None:
    """The first has a flap less: the copy has all its bones, and only its text is found again."""
    import bpy

    from addon.blender.editing.repair.rebuild import rebuild

    first = imported(put(tmp_path / "flapper.jm"), physics=False)
    bpy.ops.object.select_all(action="SELECT")
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    (second,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL" and obj != first)
    bpy.ops.object.select_all(action="DESELECT")
    next(obj for obj in bpy.data.objects if obj.knuckle.source_name == "Left Flap").select_set(True)
    bpy.context.view_layer.objects.active = first
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    second.data.knuckle.document = None
    assert rebuild(second, bpy.context.scene).done == ["the text of its file"]


@pytest.mark.parametrize("name", ["desk_lamp.skel", "hexapod.jm", "humanoid.skel", "pumpjack.json"])
def test_a_bone_that_was_deleted_comes_back_where_its_mechanism_is_posed(blank: Any, name: str) -> None:
    """Bodies behind a deleted bone are not seen where they are posed: neither they nor the design may follow that."""
    import bpy

    from addon.blender.data.queries import joint_bones, parts
    from addon.blender.scene.read.mechanism import extract
    from tests.support.scenes import made

    rig = made(name)
    bones = sorted({bone for own in joint_bones(rig).values() for bone in own})
    for bone in bones:
        rig.pose.bones[bone].rotation_euler.x += 0.2
    bpy.context.view_layer.update()
    for bone in bones[::4]:
        pose = rig.pose.bones[bone]
        for prop, usual in (("rotation_euler", (0.0, 0.0, 0.0)), ("location", (0.0, 0.0, 0.0))):
            setattr(pose, prop, usual)  # the value of a deleted bone is lost
        pose.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        bpy.context.view_layer.update()
        before = {obj: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
        design = {body.id: body.pose for body in extract(rig).bodies}
        own = next(joint for joint, chain in joint_bones(rig).items() if bone in chain)
        joint = next(joint for joint in extract(rig).joints if joint.id == own)
        if len(joint_bones(rig)[own]) > 1 or any(dof.initial.any() for dof in joint.dofs):
            continue  # it comes back at its initial value
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
        rig.data.edit_bones.remove(rig.data.edit_bones[bone])
        bpy.ops.object.mode_set(mode="OBJECT")
        assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
        bpy.context.view_layer.update()
        assert bone in rig.data.bones
        for obj, place in before.items():
            np.testing.assert_allclose(np.array(obj.matrix_world), place, atol=2e-6, err_msg=f"{bone}: {obj.name}")
        for body in extract(rig).bodies:
            np.testing.assert_allclose(body.pose, design[body.id], atol=1e-9, err_msg=f"{bone}: {body.name}")
