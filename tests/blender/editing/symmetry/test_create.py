"""Symmetric editing by operators: what is done to one side, or created there, is done to its twin in one step of
undo; and the option that leaves the twin alone does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, twin_of
from addon.blender.editing.symmetry.appearance import all_differences
from addon.blender.rig.pose_channels import read_pose, write_pose
from addon.core.editing.mirroring import motion_mirror
from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import compare_twins
from tests.support.authoring_helpers import cylinder
from tests.support.mirror_helpers import misses, twin_differences
from tests.support.scenes import body, imported, joint_of, now, pick, the_rig
from tests.support.snapshot import differences, snapshot

LEG = "Left Front Femur"


def symmetrical(name: str = "hexapod.jm") -> Any:
    rig = imported(name)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="start")
    return rig


def knee(rig: Any) -> Any:
    return joint_of(rig, body(rig, "Left Front Tibia"))


def names(rig: Any) -> list[str]:
    return sorted(obj.name for role in ("BODY", "JOINT") for obj in parts(rig, role))


def moves_as_its_image(rig: Any) -> bool:
    mechanism = now(rig)
    mirror = motion_mirror(mechanism)
    return bool(np.abs(misses(mechanism, mirror, mirror.sides.plane.reflection, 1)).max() < 1e-4)


TYPES = ["prismatic", "cylindrical", "screw", "universal", "euler", "ball", "planar", "translational", "weld", "free"]


@pytest.mark.parametrize("type_", TYPES)
def test_the_twin_of_a_joint_gets_its_type_mirrored(blank: Any, type_: str) -> None:
    rig = symmetrical()
    joint = knee(rig)
    twin = twin_of(joint)
    pick(joint)
    assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}
    assert [record_of(each).joint.type for each in (joint, twin)] == [type_, type_]
    assert twin_differences(rig) == [] and moves_as_its_image(rig)
    bpy.context.view_layer.update()
    assert twin_differences(rig) == [], "nothing follows what was done to both"
    dof = next(iter(record_of(joint).joint.dofs), None)
    if dof is not None:
        dof.damping = 0.25
        assert record_of(twin).joint.dofs[0].damping == 0.25, "what is edited afterwards is followed"


@pytest.mark.parametrize("name", ["fullbody1.skel", "humanoid2.jm", "hexapod.jm"])
def test_types_of_real_humanoids_joints(blank: Any, name: str) -> None:
    rig = symmetrical(name)
    if bpy.ops.knuckle.find_twins() and len(settings(rig).found_twins):
        bpy.ops.knuckle.link_found_twins()
    found = twin_differences(rig)
    joint = next(
        obj
        for obj in parts(rig, "JOINT")
        if twin_of(obj) and record_of(obj).joint.child and not record_of(obj).joint.loop
    )
    pick(joint)
    assert bpy.ops.knuckle.set_joint_type(type="universal") == {"FINISHED"}
    mine = {record_of(each).source_id for each in (joint, twin_of(joint))}
    assert [each for each in twin_differences(rig) if {each.first, each.second} == mine] == []
    assert len(twin_differences(rig)) <= len(found)


def test_the_twin_of_a_swapped_or_moved_joint_is_edited_too(blank: Any) -> None:
    rig = symmetrical()
    joint = knee(rig)
    twin = twin_of(joint)
    before = [(record_of(each).joint.parent, record_of(each).joint.child) for each in (joint, twin)]
    pick(joint)
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}
    after = [(record_of(each).joint.child, record_of(each).joint.parent) for each in (joint, twin)]
    assert after == before and twin_differences(rig) == [] and moves_as_its_image(rig)
    bpy.context.scene.cursor.location = joint.matrix_world.translation + body(rig, LEG).matrix_world.col[1].xyz * 0.1
    places = {obj.name: obj.matrix_world.copy() for obj in parts(rig, "BODY")}
    assert bpy.ops.knuckle.move_joint(where="CURSOR") == {"FINISHED"}
    bpy.context.view_layer.update()
    assert (joint.matrix_world.translation - bpy.context.scene.cursor.location).length < 1e-5
    assert twin_differences(rig) == [] and moves_as_its_image(rig)
    for obj in parts(rig, "BODY"):
        assert np.array(obj.matrix_world) == pytest.approx(np.array(places[obj.name]), abs=1e-5), obj.name


def test_what_the_twin_cannot_do_is_done_to_neither(blank: Any) -> None:
    rig = symmetrical()
    joint = knee(rig)
    twin = twin_of(joint)
    record_of(twin).joint.parent = None  # its body was deleted by hand
    ends = record_of(joint).joint.parent, record_of(joint).joint.child
    stops = record_of(joint).joint.dofs[0].lower, record_of(joint).joint.dofs[0].upper
    pick(joint)
    with pytest.raises(RuntimeError, match=f"{twin.name!r}: it lost a body"):
        bpy.ops.knuckle.swap_joint()
    assert (record_of(joint).joint.parent, record_of(joint).joint.child) == ends
    assert (record_of(joint).joint.dofs[0].lower, record_of(joint).joint.dofs[0].upper) == stops
    assert bpy.ops.knuckle.swap_joint(twins=False) == {"FINISHED"}


def test_a_posed_joint_is_moved_and_the_twins_bodies_stay(blank: Any) -> None:
    rig = symmetrical()
    rig.animation_data.action = None
    joint = knee(rig)
    write_pose(rig, servo_channels(rig)[record_of(joint).source_id], np.array([0.4]))
    bpy.context.view_layer.update()
    places = {obj.name: obj.matrix_world.copy() for obj in parts(rig, "BODY")}
    bpy.context.scene.cursor.location = joint.matrix_world.translation + body(rig, LEG).matrix_world.col[2].xyz * 0.05
    pick(joint)
    assert bpy.ops.knuckle.move_joint(where="CURSOR") == {"FINISHED"}
    bpy.context.view_layer.update()
    for obj in parts(rig, "BODY"):
        assert np.array(obj.matrix_world) == pytest.approx(np.array(places[obj.name]), abs=1e-4), obj.name
    kept = {each.what for each in twin_differences(rig)}
    assert kept <= {"position", "orientation"}, "only the design of what was posed on one side alone"


def test_what_is_deleted_goes_on_both_sides(blank: Any) -> None:
    rig = symmetrical()
    gone = {obj.name for obj in (body(rig, LEG), twin_of(body(rig, LEG)))}
    every = names(rig)
    pick(body(rig, LEG))
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert gone.isdisjoint(names(rig)) and twin_differences(rig) == []
    bpy.ops.ed.undo_push(message="deleted")
    bpy.ops.ed.undo()
    assert names(the_rig()) == every
    pick(body(the_rig(), LEG))
    assert bpy.ops.knuckle.delete_parts(twins=False) == {"FINISHED"}
    assert len(gone & set(names(the_rig()))) == 1


def test_a_limb_is_duplicated_on_both_sides(blank: Any) -> None:
    rig = symmetrical()
    before = set(names(rig))
    pick(body(rig, LEG))
    assert bpy.ops.knuckle.duplicate_limb(place="OFFSET", offset=(0.2, 0.3, 0.1)) == {"FINISHED"}
    fresh = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.name not in before]
    assert len(fresh) == 8 and all(twin_of(obj) in fresh for obj in fresh)
    assert {"Left" in obj.name for obj in fresh} == {True, False}
    assert twin_differences(rig) == [] and moves_as_its_image(rig)
    copy = next(obj for obj in fresh if record_of(obj).role == "BODY" and "Left" in obj.name)
    twin = twin_of(copy)
    pick(copy)
    stood = twin.matrix_basis.translation.copy()
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.25))
    bpy.context.view_layer.update()
    assert (twin.matrix_basis.translation - stood).length == pytest.approx(0.25, abs=1e-5)


def test_both_legs_are_split_off_and_remain_twins(blank: Any) -> None:
    rig = symmetrical()
    pick(body(rig, LEG))
    assert bpy.ops.knuckle.split_model(whole=True) == {"FINISHED"}
    legs = bpy.context.view_layer.objects.active
    assert len(parts(legs, "BODY")) == 4 and all(twin_of(obj) for obj in parts(legs, "BODY"))
    for each in (rig, legs):
        bpy.context.view_layer.update()
        assert settings(each).symmetric and twin_differences(each) == []
    one = parts(legs, "BODY")[0]
    pick(one)
    bpy.ops.transform.translate(value=(0.1, 0.0, 0.25))
    bpy.context.view_layer.update()
    assert twin_differences(legs) == []


def other_beside(rig: Any, along: tuple[float, float, float]) -> Any:
    other = next(each for each in (imported_again(),) if each != rig)
    other.location = along
    bpy.context.view_layer.update()
    return other


def imported_again() -> Any:
    known = {obj for obj in bpy.data.objects if record_of(obj).role == "MODEL"}
    imported("hexapod.jm")
    return next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL" and obj not in known)


@pytest.mark.parametrize(("along", "stay"), [((0.0, 4.0, 0.0), True), ((4.0, 0.0, 0.0), False)])
def test_a_model_is_merged_in(blank: Any, along: tuple[float, float, float], stay: bool) -> None:
    """One that stands behind has its halves on the same plane; one beside has not, and its parts are nobody's twins."""
    rig = symmetrical()
    other = other_beside(rig, along)
    settings(other).symmetric = True
    bpy.context.view_layer.update()
    own = set(parts(rig, "BODY"))
    bodies = [*parts(other, "BODY")]
    where = {obj: obj.matrix_world.copy() for obj in (*own, *bodies)}
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    for _ in range(3):
        bpy.context.view_layer.update()
    for obj, place in where.items():
        assert np.array(obj.matrix_world) == pytest.approx(np.array(place), abs=1e-4), obj.name
    assert any(twin_of(obj) for obj in bodies) == stay and all(twin_of(obj) for obj in own if "Left" in obj.name)
    moved = next(obj for obj in bodies if "Left" in obj.name)
    pick(moved)
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.25))
    bpy.context.view_layer.update()
    went = {obj for obj in where if np.abs(np.array(obj.matrix_world) - np.array(where[obj])).max() > 1e-3}
    assert went == ({moved, twin_of(moved)} if stay else {moved})


def state() -> dict[str, Any]:
    rig = the_rig()
    return {
        "names": names(rig),
        "bones": sorted(rig.data.bones.keys()),
        "file": formats.dumps(now(rig), settings(rig).format),
        "seen": [tuple(record_of(obj).mirrored_name for obj in parts(rig, role)) for role in ("BODY", "JOINT")],
    }


EDITS: dict[str, Callable[[Any], Any]] = {
    "type": lambda rig: bpy.ops.knuckle.set_joint_type(type="universal"),
    "swap": lambda rig: bpy.ops.knuckle.swap_joint(),
    "move": lambda rig: bpy.ops.knuckle.move_joint(where="CURSOR"),
    "delete": lambda rig: bpy.ops.knuckle.delete_parts(),
    "duplicate": lambda rig: bpy.ops.knuckle.duplicate_limb(),
    "split": lambda rig: bpy.ops.knuckle.split_model(whole=True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_both_twins_is_one_step_of_undo_and_redo(blank: Any, edit: str) -> None:
    rig = symmetrical()
    start = state()
    pick(knee(rig) if edit in {"type", "swap", "move"} else body(rig, LEG))
    assert EDITS[edit](rig) == {"FINISHED"}
    bpy.context.view_layer.update()
    done = state()
    assert done != start
    bpy.ops.ed.undo_push(message=edit)
    for _ in range(2):
        bpy.ops.ed.undo()
        bpy.context.view_layer.update()
        assert state() == start
        bpy.ops.ed.redo()
        bpy.context.view_layer.update()
        assert state() == done


def test_an_edit_without_symmetric_editing_leaves_the_twin(blank: Any) -> None:
    """Without symmetrical editing, and with the option off, the twin is left as it is."""
    rig = symmetrical()
    joint = knee(rig)
    twin = twin_of(joint)
    pick(joint)
    bpy.ops.knuckle.set_joint_type(type="ball", twins=False)
    assert (record_of(joint).joint.type, record_of(twin).joint.type) == ("ball", "revolute")
    settings(rig).symmetric = False
    bpy.ops.knuckle.set_joint_type(type="weld")
    assert record_of(twin).joint.type == "revolute"
    assert compare_twins(now(rig), find_sides(now(rig)))
    assert read_pose(rig, servo_channels(rig)[record_of(twin).source_id]).shape == (1,)


def places(rig: Any) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {
        obj.name: np.array([obj.matrix_world @ vertex.co for vertex in obj.data.vertices]) for obj in parts(rig, "BODY")
    }


def moved(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> list[str]:
    return sorted(name for name in before if np.abs(before[name] - after[name]).max() > 1e-4)


def test_a_mesh_taken_as_the_shape_leaves_the_twin_where_it_is(blank: Any) -> None:
    """The origin goes to where the centre of mass is then."""
    rig = symmetrical()
    coxa = body(rig, "Left Front Coxa")
    pick(coxa)
    bpy.ops.object.make_single_user(object=True, obdata=True)
    for vertex in coxa.data.vertices:
        wider = 1.4 if vertex.co.x > 0.0 else 1.2  # uneven: no scale of the body says it
        vertex.co = (vertex.co.x, wider * vertex.co.y, vertex.co.z + 0.1)
    coxa.data.update()
    before, origin = places(rig), coxa.matrix_basis.translation.copy()
    bpy.ops.knuckle.check_model()
    row = [row.code for row in settings(rig).findings].index("mesh-edited")
    assert bpy.ops.knuckle.fix_finding(index=row) == {"FINISHED"}
    assert (coxa.matrix_basis.translation - origin).length > 0.05
    assert moved(before, places(rig)) == []
    coxa.location.z += 0.1
    assert moved(before, places(rig)) == ["Left Front Coxa", "Right Front Coxa"], "afterwards it is followed"


@pytest.mark.parametrize("clear", ["CLEAR", "CLEAR_KEEP_TRANSFORM"])
def test_what_is_taken_off_its_bone_takes_its_twin_nowhere(blank: Any, clear: str) -> None:
    rig = symmetrical()
    rig.location = (2.0, 1.0, 0.0)
    rig.rotation_euler.z = 0.4
    femur = body(rig, "Left Front Femur")
    before = places(rig)
    pick(femur)
    assert bpy.ops.object.parent_clear(type=clear) == {"FINISHED"}
    assert moved(before, places(rig)) == (["Left Front Femur"] if clear == "CLEAR" else [])
    bpy.ops.knuckle.check_model()
    row = [row.code for row in settings(rig).findings].index("off-bone")
    assert bpy.ops.knuckle.fix_finding(index=row) == {"FINISHED"}
    assert moved(before, places(rig)) == []


JOINTS = ["Left Thigh to Left Shin", "Right Thigh to Right Shin", "Trunk to Left Thigh", "Trunk to Right Thigh"]


def trunk(symmetric: bool = True) -> Any:
    """A model of a trunk in the middle."""
    bpy.ops.knuckle.new_model(name="Strider")
    rig = bpy.context.object
    settings(rig).symmetric = symmetric
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 1.2), scale=(0.8, 1.6, 0.3))
    bpy.context.object.name = "Trunk"
    pick(bpy.context.object, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    return rig


def leg(rig: Any, **options: Any) -> None:
    """A leg of two hinges on the left."""
    thigh = cylinder("Left Thigh", 0.08, 0.5, (-0.5, 0.2, 0.95))
    shin = cylinder("Left Shin", 0.07, 0.6, (-0.5, 0.2, 0.4))
    shin.rotation_euler.x = 0.1
    pick(thigh, shin, rig)
    assert bpy.ops.knuckle.make_body(**options) == {"FINISHED"}
    for child, parent, height in ((thigh, bpy.data.objects["Trunk"], 1.2), (shin, thigh, 0.7)):
        turn = Matrix.Rotation(0.3, 4, "Y")
        bpy.context.scene.cursor.matrix = Matrix.Translation((-0.5, 0.2, height)) @ turn
        pick(child, parent)
        assert bpy.ops.knuckle.add_joint(axis="X", **options) == {"FINISHED"}


def names_with_role(role: str) -> list[str]:
    return sorted(obj.name for obj in parts(the_rig(), role))


def test_a_leg_created_on_the_left_is_created_on_the_right(blank: Any) -> None:
    rig = trunk()
    leg(rig)
    assert names_with_role("BODY") == ["Left Shin", "Left Thigh", "Right Shin", "Right Thigh", "Trunk"]
    assert names_with_role("JOINT") == JOINTS
    assert all(twin_of(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.name != "Trunk")
    assert all_differences(rig) == []
    mechanism = now(rig)
    mirror = motion_mirror(mechanism)
    assert np.abs(misses(mechanism, mirror, mirror.sides.plane.reflection, 3)).max() < 1e-5
    left = bpy.data.objects["Left Thigh"]
    left.location.z += 0.1
    bpy.context.view_layer.update()
    assert bpy.data.objects["Right Thigh"].location.z == pytest.approx(left.location.z), "and is edited with it"
    for format_ in formats.FORMATS:
        back = formats.loads(formats.dumps(now(rig), format_)[0].encode())
        assert sum(body.name.startswith("Right") for body in back.bodies) == 2, format_


@pytest.mark.parametrize("switched_off", ["twins", "symmetric"])
def test_a_leg_is_created_on_one_side_without_symmetric_editing(blank: Any, switched_off: str) -> None:
    rig = trunk(symmetric=switched_off != "symmetric")
    leg(rig, **({"twins": False} if switched_off == "twins" else {}))
    assert names_with_role("BODY") == ["Left Shin", "Left Thigh", "Trunk"] and len(names_with_role("JOINT")) == 2


def test_meshes_of_both_sides_become_each_others_twins(blank: Any) -> None:
    rig = trunk()
    left, right = (cylinder(f"Pin {x}", 0.08, 0.5, (x, 0.2, 0.95)) for x in (-0.5, 0.5))
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    assert len(names_with_role("BODY")) == 3 and twin_of(left) == right
    middle = bpy.data.objects["Trunk"]
    pick(left, middle)
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert len(names_with_role("JOINT")) == 2
    pick(left, right)
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert len(names_with_role("JOINT")) == 3, "it is between the two, and so is its image"


def test_copies_of_one_mesh_on_both_sides_are_mirror_images(blank: Any) -> None:
    """A monkey is one itself, but its bent polygons are not, cut into triangles."""
    rig = trunk()
    bpy.ops.mesh.primitive_monkey_add(location=(3, 0, 0))
    left = bpy.context.object
    right = bpy.data.objects.new("Other", left.data)
    bpy.context.collection.objects.link(right)
    right.location.x = -3
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    assert twin_of(left) == right and all_differences(rig) == []


def test_a_leg_may_carry_a_body_heavier_than_the_rest(blank: Any) -> None:
    """The tree of the bones begins with it then; the halves are mirror images all the same."""
    rig = trunk()
    leg(rig)
    weight = cylinder("Left Weight", 2.0, 2.0, (-4.0, 0.2, 0.4))
    pick(weight, rig)
    assert bpy.ops.knuckle.make_body(density=9000.0) == {"FINISHED"}
    pick(weight, bpy.data.objects["Left Shin"])
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert "Right Weight" in names_with_role("BODY") and all_differences(rig) == []
    pick(bpy.data.objects["Right Weight"])
    bpy.ops.knuckle.delete_parts(twins=False)
    assert "number of joints" in {each.what for each in all_differences(rig)}


def test_a_joint_that_is_there_already_becomes_the_twin(blank: Any) -> None:
    rig = trunk()
    left, right = (cylinder(f"Pin {x}", 0.08, 0.5, (x, 0.2, 0.95)) for x in (-0.5, 0.5))
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    for child in (left, right):
        pick(child, bpy.data.objects["Trunk"])
        assert bpy.ops.knuckle.add_joint(where="CHILD", twins=child == right) == {"FINISHED"}
    first, second = parts(rig, "JOINT")
    assert twin_of(first) == second and len(names_with_role("JOINT")) == 2


def test_creation_of_both_twins_is_one_step_of_undo(blank: Any) -> None:
    rig = trunk()
    thigh = cylinder("Left Thigh", 0.08, 0.5, (-0.5, 0.2, 0.95))
    pick(thigh, rig)
    for run, options, role, made in (
        (bpy.ops.knuckle.make_body, {}, "BODY", 2),
        (bpy.ops.knuckle.add_joint, {"where": "CHILD"}, "JOINT", 2),
    ):
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="before")
        before, count = snapshot(), len(names_with_role(role))
        assert run("EXEC_DEFAULT", True, **options) == {"FINISHED"}
        after = snapshot()
        assert len(names_with_role(role)) == count + made
        bpy.ops.ed.undo()
        assert differences(before, snapshot()) == []
        bpy.ops.ed.redo()
        assert differences(after, snapshot()) == []
        pick(bpy.data.objects["Left Thigh"], bpy.data.objects["Trunk"])
        assert record_of(bpy.data.objects["Left Thigh"]).twin
