"""What was deleted and is needed comes back; what was deleted to make a model smaller stays away until it is asked for.
The sidebar, the check and Rebuild Missing Parts say the same of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.harms import HARMS, Harm, delete, drop, drop_hierarchy
from tests.support.needed_helpers import activate, lacks, named
from tests.support.panels_helpers import draw_all
from tests.support.rebuild_helpers import exported, imported, places, same
from tests.support.scenes import found, the_rig
from tests.support.small import put
from tests.support.snapshot import differences, snapshot

OTHERS = ["desk_lamp.skel", "sensor_leg.xml", "pumpjack.json"]


def model(name: str, folder: Path) -> Path:
    """A model's file: the small one, or one of ours."""
    return put(folder / name) if name == "flapper.jm" else found(name)


def offered() -> bool:
    """Whether the sidebar offers to rebuild."""
    return ("operator", "knuckle.rebuild") in draw_all()["Mechanism"]


# ---------------------------------------------------------------- made smaller


@pytest.mark.parametrize("physics", [False, True])
def test_a_part_deleted_with_what_held_it_stays_away_until_it_is_asked_for(
    blank: Any, tmp_path: Path, physics: bool
) -> None:
    import bpy

    path = put(tmp_path / "flapper.jm")
    imported(path, physics=False)
    before = places()
    delete("Left Flap", "Left Joint")()
    activate()
    if physics:
        bpy.ops.knuckle.build_physics()
    assert lacks() == []
    assert not offered()
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    assert "Rebuild" not in " ".join(finding.fix for finding in the_rig().data.knuckle.findings)
    first = snapshot()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert differences(first, snapshot()) == []
    assert b"Left" not in exported(tmp_path / "smaller.jm")
    activate()
    assert bpy.ops.knuckle.rebuild(everything=True) == {"FINISHED"}
    same(places(), {key: value for key, value in before.items() if not key.startswith("SHAPE")})
    assert exported(tmp_path / "again.jm") == path.read_bytes()


def test_a_body_comes_back_with_what_held_it(blank: Any, tmp_path: Path) -> None:
    """Of an arm the upper part and its elbow are deleted: the neck still holds the upper part, which the elbow held."""
    import bpy

    path = found("desk_lamp.skel")
    imported(path, physics=False)
    before = places()
    delete("upper arm", "elbow")()
    activate()
    assert any("Bodies deleted, but still connected by joints" in line for line in lacks())
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert lacks() == []
    same(places(), before)
    assert exported(tmp_path / "again.skel") == path.read_bytes()


def joints_of(rig: Any) -> list[Any]:
    import bpy

    return [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.knuckle.model == rig]


def test_what_is_left_of_a_limb_gets_bones_and_not_its_joint(blank: Any, tmp_path: Path) -> None:
    """The trunk goes with both joints: nothing holds it, and the flaps need bones of their own."""
    import bpy

    imported(put(tmp_path / "flapper.jm"), physics=False)
    delete("Trunk", "Left Joint", "Right Joint")()
    activate()
    assert any("no bone for" in line for line in lacks())
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert lacks() == []
    roles = {obj.knuckle.role: obj.name for obj in bpy.context.scene.objects}
    assert roles.keys() & {"BODY", "JOINT"} == {"BODY"}
    assert {bone.knuckle.root for bone in the_rig().data.bones} == {"12", "13"}


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_joint_that_closed_a_loop_comes_back_unless_its_followers_were_keyframed(
    blank: Any, tmp_path: Path, is_wanted: bool
) -> None:
    import bpy

    path = found("pumpjack.json")
    rig = imported(path, physics=False)
    loops = [obj.name for obj in joints_of(rig) if obj.knuckle.joint.loop]
    assert loops
    delete(*loops)()
    activate()
    (told,) = lacks()
    assert "closed loop" in told
    if not is_wanted:
        assert bpy.ops.knuckle.refit() == {"FINISHED"}
        assert lacks() == []
    bpy.ops.knuckle.rebuild()
    assert lacks() == []
    assert len([obj for obj in joints_of(rig) if obj.knuckle.joint.loop]) == (len(loops) if is_wanted else 0)
    if is_wanted:
        assert exported(tmp_path / "again.json") == path.read_bytes()


def test_a_deleted_frame_comes_back_when_it_is_asked_for(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.scene.read.mechanism import extract

    path = found("pumpjack.json")
    rig = imported(path, physics=False)
    count = len(extract(rig).frames)
    frame = next(obj for obj in bpy.data.objects if obj.knuckle.role == "FRAME" and obj.knuckle.model == rig)
    delete(frame.name)()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert len(extract(rig).frames) == count - 1
    assert bpy.ops.knuckle.rebuild(everything=True) == {"FINISHED"}
    assert len(extract(rig).frames) == count
    assert exported(tmp_path / "again.json") == path.read_bytes()


def test_frames_of_bodies_that_were_let_go_stay_away(blank: Any) -> None:
    """The crank was removed with *Delete Parts*; what is on it cannot come back, and all else does."""
    import bpy

    imported(found("pumpjack.json"), physics=False)
    activate(bpy.data.objects["crank"])
    bpy.data.objects["crank"].select_set(True)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    delete("rear")()
    activate()
    assert bpy.ops.knuckle.rebuild(everything=True) == {"FINISHED"}
    frames = {obj.name for obj in bpy.context.scene.objects if obj.knuckle.role == "FRAME"}
    assert "rear" in frames
    assert "pin" not in frames
    assert not named("crank")


def test_a_deleted_frame_that_is_in_use_is_kept_and_reported(blank: Any, tmp_path: Path, capsys: Any) -> None:
    """The file has it all the same, and says so; the check makes its empty anew, and that alone."""
    import bpy

    from addon.blender.editing.repair.checks import check_model

    path = found("pumpjack.json")
    rig = imported(path, physics=False)
    frames = {obj.name for obj in bpy.data.objects if obj.knuckle.role == "FRAME"}
    joint = next(obj.name for obj in joints_of(rig) if obj.knuckle.joint.loop)
    assert {"pin", "sky"} <= frames
    delete("pin", "sky")()
    activate()
    told = [finding for finding in check_model(rig) if finding.code == "frame-kept"]
    assert len(told) == 2
    assert any(
        finding.message.startswith("Reference frame 'pin': deleted, but kept in Shift files because ")
        for finding in told
    )
    capsys.readouterr()
    assert exported(tmp_path / "again.json") == path.read_bytes()
    said = capsys.readouterr().out
    assert "added or deleted:" not in said
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    rows = [row.code for row in rig.data.knuckle.findings]
    assert bpy.ops.knuckle.fix_finding(index=rows.index("frame-kept")) == {"FINISHED"}
    assert {obj.name for obj in bpy.data.objects if obj.knuckle.role == "FRAME"} == frames
    assert joint in bpy.data.objects
    assert not [finding for finding in check_model(rig) if finding.code == "frame-kept"]
    assert exported(tmp_path / "again.json") == path.read_bytes()


def test_deleted_collision_shapes_come_back_when_they_are_asked_for(blank: Any, tmp_path: Path) -> None:
    """Also where Blender has forgotten them: their body's record and the document know what they were."""
    import bpy

    from addon.blender.scene.read.mechanism import extract

    path = found("desk_lamp.skel")
    rig = imported(path, physics=False)
    shapes = {obj.name for obj in bpy.data.objects if obj.knuckle.role == "SHAPE"}
    assert shapes
    before = places()
    delete(*sorted(shapes))()
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    activate()
    assert not [obj for obj in bpy.data.objects if obj.knuckle.role == "SHAPE"]
    assert any(entry.code == "deleted" for entry in extract(rig).report.entries)
    assert bpy.ops.knuckle.rebuild(everything=True) == {"FINISHED"}
    same(places(), before)
    assert not any(entry.code == "deleted" for entry in extract(rig).report.entries)
    assert exported(tmp_path / "again.skel") == path.read_bytes()


# ---------------------------------------------------------------- collections


def dissolve() -> None:
    """What the outliner does with a collection that is deleted: what is in it goes up."""
    import bpy

    top = the_rig().data.knuckle.collection
    root = bpy.context.scene.collection
    for child in list(top.children):
        root.children.link(child)
    for obj in list(top.objects):
        root.objects.link(obj)
    bpy.data.collections.remove(top)


def unlink() -> None:
    """Take the model's collection out of the scene."""
    import bpy

    bpy.context.scene.collection.children.unlink(the_rig().data.knuckle.collection)


def drop_top() -> None:
    """Delete the model's collection from the list of all data."""
    import bpy

    bpy.data.collections.remove(the_rig().data.knuckle.collection)


COLLECTIONS: dict[str, Harm] = {
    "dissolved": dissolve,
    "unlinked": unlink,
    "dropped": drop_top,
    "joints": drop("collections", "Joints"),
    "bodies": drop("collections", "Bodies"),
    "joints and all": drop_hierarchy("Joints"),
    "bodies and all": drop_hierarchy("Bodies"),
}


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *(("flapper.jm", harm) for harm in COLLECTIONS),
        *((name, harm) for name in OTHERS for harm in ("dropped", "joints and all", "bodies and all")),
        ("pumpjack.json", "joints"),  # with one that only closes a loop
    ],
)
def test_a_collection_that_was_deleted_comes_back_with_all(blank: Any, tmp_path: Path, name: str, harm: str) -> None:
    import bpy

    path = model(name, tmp_path)
    imported(path, physics=False)
    before = places()
    COLLECTIONS[harm]()
    bpy.context.view_layer.update()
    if the_rig().name in bpy.context.view_layer.objects:
        activate()
    assert lacks()
    assert offered()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert lacks() == []
    assert not offered()
    same(places(), before)
    assert exported(tmp_path / f"again{path.suffix}") == path.read_bytes()


def test_collections_of_the_user_stay_the_users(blank: Any, tmp_path: Path) -> None:
    """An empty collection of the user's has the name of one of ours."""
    import bpy

    mine = bpy.data.collections.new("Bodies")
    bpy.context.scene.collection.children.link(mine)
    imported(put(tmp_path / "flapper.jm"), physics=False)
    dissolve()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert mine.name in bpy.context.scene.collection.children
    assert mine.name not in the_rig().data.knuckle.collection.children


def test_an_armature_in_another_collection_is_not_deleted(blank: Any, tmp_path: Path) -> None:
    import bpy

    path = put(tmp_path / "flapper.jm")
    rig = imported(path)
    mine = bpy.data.collections.new("Mine")
    bpy.context.scene.collection.children.link(mine)
    for each in rig.users_collection:
        each.objects.unlink(rig)
    mine.objects.link(rig)
    bpy.context.view_layer.update()
    activate(rig)
    assert lacks() == []
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    codes = {finding.code for finding in rig.data.knuckle.findings}
    assert not codes & {"armature-gone", "collection-gone"}
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert list(rig.users_collection) == [mine]
    assert exported(tmp_path / "again.jm") == path.read_bytes()


# ---------------------------------------------------------------- which model is meant, and nothing half made


def two(tmp_path: Path) -> list[Any]:
    """The bodies of the first of two models, whose armature is gone for good."""
    import bpy

    first = imported(put(tmp_path / "one.jm"), physics=False)
    assert bpy.ops.import_scene.mechanism(filepath=str(put(tmp_path / "other.jm")), physics=False) == {"FINISHED"}
    bodies = [obj for obj in bpy.data.objects if obj.knuckle.role == "BODY" and obj.knuckle.model == first]
    bpy.data.objects.remove(first)
    return bodies


def test_what_is_selected_of_a_lost_model_means_no_other(blank: Any, tmp_path: Path) -> None:
    import bpy

    bodies = two(tmp_path)
    (other,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    activate(bodies[0])
    assert not bpy.ops.knuckle.check_model.poll()
    assert offered()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    mine = bodies[0].knuckle.model
    assert mine is not None
    assert mine != other
    assert {obj.knuckle.model for obj in bodies} == {mine}
    activate(mine)
    path = tmp_path / "again.jm"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="juice") == {"FINISHED"}
    assert path.read_bytes() == (tmp_path / "one.jm").read_bytes()


def test_of_two_lost_models_the_active_one_is_meant(blank: Any, tmp_path: Path) -> None:
    import bpy

    bodies = two(tmp_path)
    (other,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    others = [obj for obj in bpy.data.objects if obj.knuckle.role == "BODY" and obj.knuckle.model == other]
    bpy.data.objects.remove(other)
    activate(others[0])
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert all(obj.knuckle.model is not None for obj in others)
    assert all(obj.knuckle.model is None for obj in bodies)


@pytest.mark.parametrize("harm", ["armature for good", "collection", "body for good"])
def test_a_rebuild_that_is_rejected_leaves_nothing_half_made(blank: Any, tmp_path: Path, harm: str) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"), physics=False)
    bpy.data.objects["Trunk"].location.x = 1e30
    HARMS[harm]()
    if harm != "collection":
        activate(bpy.data.objects["Trunk"])
    before = snapshot()
    with pytest.raises(RuntimeError, match="its transform is not finite"):
        bpy.ops.knuckle.rebuild()
    changed = differences(before, snapshot())
    if harm == "armature for good":  # how a thing hung on what is gone: Blender keeps it, and nobody can set it
        changed = [each for each in changed if "/parent_bone:" not in each and "/parent_type:" not in each]
    assert changed == []


def test_physics_that_cannot_be_built_does_not_keep_the_rest_away(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bpy

    from addon.blender.editing.repair import rebuild

    imported(put(tmp_path / "flapper.jm"))
    HARMS["world"]()
    HARMS["joint"]()
    activate()

    def refuse(*_args: Any) -> None:
        raise ValueError("the world is another file's")

    monkeypatch.setattr(rebuild, "build_physics", refuse)
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert named("Left Joint")


def test_a_joint_and_its_body_that_were_duplicated_lack_a_bone(blank: Any) -> None:
    """The panel says so at once, as the check does."""
    import bpy

    from addon.blender.data.access import record_of
    from addon.blender.data.queries import parts
    from tests.support.scenes import made, pick

    rig = made("hexapod.jm")
    knee = next(obj for obj in parts(rig, "JOINT") if obj.name == "Left Front Knee")
    pick(knee, record_of(knee).joint.child)
    assert lacks() == []
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    (told,) = lacks()
    assert "no bone for 'Left Front Tibia.001'" in told
    assert offered()
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert lacks() == []


# ---------------------------------------------------------------- physics


def test_physics_of_another_file_is_not_called_deleted(blank: Any, tmp_path: Path) -> None:
    import bpy

    imported(put(tmp_path / "flapper.jm"))
    blend = str(tmp_path / "with.blend")
    bpy.ops.wm.save_as_mainfile(filepath=blend)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(blend) as (_there, wanted):
        wanted.collections = ["flapper"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    bpy.context.view_layer.update()
    activate()
    (told,) = lacks()
    assert "built in another file" in told
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert lacks() == []
    bpy.ops.rigidbody.world_remove()
    (told,) = lacks()
    assert "Rigid-body world: deleted" in told


def test_a_deleted_world_of_the_user_is_not_restored(blank: Any, tmp_path: Path) -> None:
    import bpy

    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    scene.gravity = (0.0, 0.0, -1.0)
    imported(put(tmp_path / "flapper.jm"))
    bpy.ops.rigidbody.world_remove()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert scene.gravity[2] == pytest.approx(-9.81)
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert scene.rigidbody_world is None
    assert scene.gravity[2] == -1.0
