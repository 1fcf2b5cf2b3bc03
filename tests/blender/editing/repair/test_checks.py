"""Checks of a mechanism and their fixes: what users do with Blender's own tools is found, a click selects it, Fix
repairs it in one step, and the export warns of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.editing.repair import fixes
from addon.blender.editing.symmetry import twins
from addon.blender.reconcile.build import build
from addon.blender.scene.read.mechanism import extract
from addon.core.model import Body, Shape
from addon.core.primitive_fit import is_mesh_of_shapes, surface_distance
from tests.support import mechanisms
from tests.support.emptied import empty_file
from tests.support.scenes import pick
from tests.support.validate_helpers import sound


@pytest.fixture
def rig(blank: Any) -> Any:
    made = rig_in(build(sound()))
    bpy.context.view_layer.objects.active = made
    return made


def codes(rig: Any) -> list[str]:
    bpy.ops.knuckle.check_model()
    return [row.code for row in settings(rig).findings]


def joints(rig: Any) -> list[Any]:
    return [record_of(empty).joint.dofs[0] for empty in parts(rig, "JOINT")]


def weightless(rig: Any) -> None:
    record_of(parts(rig, "BODY")[0]).mass = 0.0


def inverted(rig: Any) -> None:
    for dof in joints(rig):
        dof.lower, dof.upper = 0.7, -0.5


def beyond(rig: Any) -> None:
    for dof in joints(rig):
        dof.position = 0.9


def one_sided(rig: Any) -> None:
    record_of(parts(rig, "BODY")[0]).twin = "Left arm"


def alike(rig: Any) -> None:
    for empty in parts(rig, "JOINT"):
        record_of(empty).source_name, record_of(empty).baseline_name = "Shoulder", empty.name
        record_of(empty).twin = ""
    for obj in parts(rig, "BODY"):
        record_of(obj).twin = ""


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (weightless, "no-mass"),
        (inverted, "stops-inverted"),
        (beyond, "start-beyond-stop"),
        (one_sided, "twin-one-sided"),
        (alike, "name-twice"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_finding_with_a_safe_remedy_is_fixed(rig: Any, damage: Callable[[Any], None], code: str) -> None:
    assert codes(rig) == []
    damage(rig)
    for _ in range(4):
        found = codes(rig)
        if not found:
            break
        assert set(found) - {"twins-differ"} == {code}
        assert settings(rig).findings[0].fix
        assert bpy.ops.knuckle.fix_finding(index=0) == {"FINISHED"}
    assert codes(rig) == []


def test_scales_are_reported_and_not_fixed(rig: Any) -> None:
    rig.scale = (2.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    assert codes(rig) == ["model-scaled"]
    with pytest.raises(RuntimeError, match="No automatic fix: "):
        bpy.ops.knuckle.fix_finding(index=0)


def test_a_check_comes_first(rig: Any) -> None:
    with pytest.raises(RuntimeError, match="Check Mechanism first"):
        bpy.ops.knuckle.fix_finding()


def test_bodies_that_begin_in_one_another_are_reported(blank: Any) -> None:
    """Of bodies without a joint between them; what touches is not in one another."""
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})]
    mechanism.bodies[1].shapes = [Shape("capsule", {"length": 4.0, "radius": 0.5})]  # jointed: it may be in the trunk
    rig = rig_in(build(mechanism))
    bpy.context.view_layer.objects.active = rig
    assert "bodies-overlap" not in codes(rig)
    rock = Body("rock", "Rock", mass=1.0)
    rock.pose[2, 3] = 0.9
    rock.shapes = [Shape("sphere", {"radius": 0.5})]
    mechanism.bodies.append(rock)
    rig = rig_in(build(mechanism))
    bpy.context.view_layer.objects.active = rig
    assert "bodies-overlap" in codes(rig)
    row = next(row for row in settings(rig).findings if row.code == "bodies-overlap")
    assert "'Trunk', 'Rock'" in row.message and row.message.endswith("(0.1 m)")
    stone = next(obj for obj in parts(rig, "BODY") if obj.name.startswith("Rock"))
    stone.location.z = 1.0
    assert "bodies-overlap" not in codes(rig), "it lies on the trunk"


BOX = {"x": 1.0, "y": 0.5, "z": 0.25}


def boxed() -> Any:
    """The trunk with its arms, each a box."""
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", dict(BOX))]
    made = rig_in(build(mechanism))
    bpy.context.view_layer.objects.active = made
    assert found(made) == []
    return made


def found(rig: Any) -> list[str]:
    bpy.context.view_layer.objects.active = rig if rig.name in bpy.context.view_layer.objects else None
    bpy.ops.knuckle.check_model()
    return [row.code for row in settings(rig).findings]


def row_of(rig: Any, code: str) -> int:
    return [row.code for row in settings(rig).findings].index(code)


def arm(rig: Any) -> Any:
    return next(obj for obj in parts(rig, "BODY") if obj.name == "Left arm")


def shoulder(rig: Any) -> Any:
    return next(obj for obj in parts(rig, "JOINT") if obj.name == "Left shoulder")


def mechanism_of(rig: Any) -> dict[str, Any]:
    """Poses and masses of bodies, and places of joints, as a file would have them."""
    now = extract(settings(rig).collection)
    return {body.id: np.round(body.pose, 5).tolist() for body in now.bodies} | {
        joint.id: (joint.parent, joint.child, np.round(joint.frame_parent, 5).tolist()) for joint in now.joints
    }


# ---------------------------------------------------------------- hung elsewhere, deleted


def cleared(rig: Any) -> None:
    pick(arm(rig))
    bpy.ops.object.parent_clear(type="CLEAR")


def cleared_in_place(rig: Any) -> None:
    pick(arm(rig))
    bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM")


def reparented(rig: Any) -> None:
    trunk = next(obj for obj in parts(rig, "BODY") if obj.name == "Trunk")
    pick(arm(rig), trunk)
    bpy.ops.object.parent_set(type="OBJECT", keep_transform=True)


def joint_cleared(rig: Any) -> None:
    pick(shoulder(rig))
    bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM")


def bone_deleted(rig: Any) -> None:
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones["Left shoulder"])
    bpy.ops.object.mode_set(mode="OBJECT")


def armature_deleted(rig: Any) -> None:
    pick(rig)
    bpy.ops.object.delete()
    pick(arm(rig))


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (cleared, "off-bone"),
        (cleared_in_place, "off-bone"),
        (reparented, "off-bone"),
        (joint_cleared, "off-bone"),
        (bone_deleted, "bones-gone"),
        (armature_deleted, "armature-gone"),
    ],
)
@pytest.mark.parametrize("turn", [0.0, 0.4], ids=["at-rest", "posed"])
def test_a_part_with_a_wrong_parent_is_fixed(blank: Any, damage: Callable[[Any], None], code: str, turn: float) -> None:
    rig = boxed()
    before = mechanism_of(rig)
    rig.pose.bones["Left shoulder"].rotation_euler.z = turn
    bpy.context.view_layer.update()
    stood = np.array(arm(rig).matrix_world)
    damage(rig)
    bpy.ops.ed.undo_push(message="damaged")
    assert found(rig)[0] == code
    bpy.ops.ed.undo_push(message="checked")
    assert settings(rig).findings[0].fix
    assert bpy.ops.knuckle.fix_finding(index=0) == {"FINISHED"}
    assert found(rig) == []
    assert mechanism_of(rig) == before, "nothing of the model is another"
    bpy.context.view_layer.update()
    if code != "bones-gone":  # the new bone is not posed
        assert np.abs(np.array(arm(rig).matrix_world) - stood).max() < 1e-5
    rig.pose.bones["Left shoulder"].rotation_euler.z = turn + 0.3
    bpy.context.view_layer.update()
    assert np.abs(np.array(arm(rig).matrix_world) - stood).max() > 0.05, "its bone moves it again"


def test_mending_is_one_step(blank: Any) -> None:
    rig = boxed()
    reparented(rig)
    found(rig)
    bpy.ops.ed.undo_push(message="checked")
    assert bpy.ops.knuckle.fix_finding(index=0) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="fixed")
    bpy.ops.ed.undo()
    rig = bpy.data.objects["sound"]
    assert arm(rig).parent == bpy.data.objects["Trunk"] and settings(rig).findings[0].code == "off-bone"
    bpy.ops.ed.redo()
    rig = bpy.data.objects["sound"]
    assert arm(rig).parent == rig and found(rig) == []


def test_a_joint_whose_body_was_deleted_goes_or_the_body_comes_back(blank: Any) -> None:
    for other in (False, True):
        empty_file()
        rig = boxed()
        before = mechanism_of(rig)
        pick(arm(rig))
        bpy.ops.object.delete()
        assert "joint-lost" in found(rig)
        row = settings(rig).findings[row_of(rig, "joint-lost")]
        assert "'Left shoulder'" in row.message and "'Left arm' was deleted" in row.message
        assert (row.fix, row.or_fix) == ("Delete joint", "Restore 'Left arm'")
        assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "joint-lost"), other=other) == {"FINISHED"}
        if other:
            assert mechanism_of(rig) == before and found(rig) == []
        else:
            assert {"joint-lost", "bones-left", "bones-gone"}.isdisjoint(found(rig))
            assert set(mechanism_of(rig)) == {"trunk", "Right", "Right arm"}


def test_a_joint_deleted_by_hand_leaves_bones_that_are_taken_away(blank: Any) -> None:
    rig = boxed()
    pick(shoulder(rig))
    bpy.ops.object.delete()
    codes = found(rig)
    assert "bones-gone" in codes and "bones-left" not in codes
    stood = np.array(arm(rig).matrix_world)
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "bones-gone")) == {"FINISHED"}
    assert {"bones-left", "bones-gone", "off-bone"}.isdisjoint(found(rig))
    assert "Left shoulder" not in rig.data.bones and "Left arm" in rig.data.bones
    bpy.context.view_layer.update()
    assert np.abs(np.array(arm(rig).matrix_world) - stood).max() < 1e-5


def test_a_joint_moved_by_hand_is_reported_until_its_bone_is_there(blank: Any) -> None:
    rig = boxed()
    shoulder(rig).location.y += 0.1
    assert found(rig) == ["twins-differ", "joint-moved"] or "joint-moved" in found(rig)
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "joint-moved")) == {"FINISHED"}
    assert "joint-moved" not in found(rig)
    assert rig.data.bones["Left shoulder"].head_local.y == pytest.approx(0.1)


@pytest.mark.parametrize("where", ["nowhere", "another body", "an empty"])
def test_a_collision_shape_taken_off_its_body_is_attached_to_it_again(blank: Any, where: str) -> None:
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", dict(BOX), collision=False), Shape("sphere", {"radius": 0.4}, visual=False)]
    rig = rig_in(build(mechanism))
    assert found(rig) == []
    ball = next(obj for obj in arm(rig).children if record_of(obj).role == "SHAPE")
    other = bpy.data.objects.new("Mine", None)
    bpy.context.scene.collection.objects.link(other)
    other = parts(rig, "BODY")[0] if where == "another body" else other
    assert other != arm(rig)
    if where != "nowhere":
        ball.parent, ball.matrix_parent_inverse = other, other.matrix_world.inverted() @ arm(rig).matrix_world
    else:
        ball.parent = None
    assert found(rig) == ["shape-loose"], "files have it, in its place"
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "shape-loose")) == {"FINISHED"}
    assert found(rig) == [] and ball.parent == arm(rig)


def test_a_stray_copy_of_a_collision_shape_is_deleted(blank: Any) -> None:
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", dict(BOX), collision=False), Shape("sphere", {"radius": 0.4}, visual=False)]
    rig = rig_in(build(mechanism))
    ball = next(obj for obj in arm(rig).children if record_of(obj).role == "SHAPE")
    copy = ball.copy()
    ball.users_collection[0].objects.link(copy)
    assert found(rig) == ["stranger"]
    assert bpy.ops.knuckle.fix_finding(index=0) == {"FINISHED"}
    assert found(rig) == [] and ball.name in bpy.data.objects


# ---------------------------------------------------------------- meshes edited by hand


def edit_mesh(obj: Any, work: Callable[[], Any]) -> None:
    obj.data = obj.data.copy()
    pick(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    work()
    bpy.ops.object.mode_set(mode="OBJECT")


def corner_cut() -> None:
    """Nothing sticks out, and the box's extent stays."""
    bpy.ops.mesh.bisect(plane_co=(-1.6, 0.2, 0.1), plane_no=(1, 1, 1), use_fill=True, clear_outer=True)


def divided_and_resized() -> None:
    """Another box, of other vertices: a mesh that is merely resized goes out as it is."""
    bpy.ops.mesh.subdivide()
    bpy.ops.transform.resize(value=(1.0, 1.5, 1.0))


EDITS: list[Callable[[], Any]] = [
    corner_cut,
    divided_and_resized,
    lambda: bpy.ops.mesh.bevel(offset=0.1),
    lambda: bpy.ops.mesh.inset(thickness=0.05, depth=0.1, use_individual=True),
    lambda: bpy.ops.mesh.delete(type="FACE"),
    lambda: bpy.ops.mesh.delete(type="VERT"),
]


@pytest.mark.parametrize("work", EDITS, ids=["cut", "resized", "bevelled", "inset", "faceless", "empty"])
def test_an_edited_mesh_is_found_and_taken_back(blank: Any, work: Callable[[], Any]) -> None:
    rig = boxed()
    whole = sorted(tuple(vertex.co) for vertex in arm(rig).data.vertices)
    color = arm(rig).data.materials[0]
    edit_mesh(arm(rig), work)
    assert [code for code in found(rig) if code != "twins-differ"] == ["mesh-edited"]
    row = settings(rig).findings[row_of(rig, "mesh-edited")]
    assert "edited by hand, files keep its previous shape" in row.message and row.parts == "Left arm"
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "mesh-edited"), other=True) == {"FINISHED"}
    assert found(rig) == []
    assert sorted(tuple(vertex.co) for vertex in arm(rig).data.vertices) == whole
    assert arm(rig).data.materials[0] == color


def test_a_shape_is_taken_back_without_a_look_at_all_bodies_for_each(
    blank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, the model is looked through as often."""
    looks: list[int] = []

    def counted(rig: Any, role: str) -> Any:
        looks[-1] += 1
        return parts(rig, role)

    for module in (twins, fixes):
        if hasattr(module, "parts"):
            monkeypatch.setattr(module, "parts", counted)
    for count in (3, 12):
        bodies = [mechanisms.body(number, (3 * number, 0, 4), (1, 1, 1)) for number in range(1, count + 1)]
        rig = mechanisms.put(mechanisms.model(*bodies), physics=False, gait=False)
        looks.append(0)
        fixes.restore_shape_mesh(rig, parts(rig, "BODY")[-1])
    assert looks[0] == looks[1]


def test_harmless_edits_are_none(blank: Any) -> None:
    rig = boxed()
    edit_mesh(arm(rig), lambda: bpy.ops.mesh.subdivide(number_cuts=3))
    edit_mesh(arm(rig), bpy.ops.mesh.quads_convert_to_tris)
    assert found(rig) == []


def a_face_less() -> None:
    bpy.context.object.data.update()
    bpy.ops.mesh.select_all(action="DESELECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.object.data.polygons[0].select = True
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.delete(type="ONLY_FACE")


def halves() -> None:
    bpy.ops.mesh.subdivide(number_cuts=3)


TWIN_EDITS: dict[str, tuple[Callable[[], Any], bool]] = {
    "subdivided": (halves, False),
    "triangles": (bpy.ops.mesh.quads_convert_to_tris, False),
    "bevelled": (EDITS[2], True),
    "inset": (EDITS[3], True),
    "a-hole": (a_face_less, True),
}


@pytest.mark.parametrize(("work", "differs"), TWIN_EDITS.values(), ids=list(TWIN_EDITS))
@pytest.mark.parametrize("which", ["Left arm", "Right arm"])
def test_meshes_of_twins_are_compared_by_their_surfaces(blank: Any, which: str, work: Any, differs: bool) -> None:
    """Bodies whose shapes are meshes themselves, so that no other finding tells of the edit."""
    rig = boxed()
    for obj in parts(rig, "BODY"):
        record_of(obj).shapes[0].type = "mesh"
    assert "twin-meshes" not in found(rig)
    edit_mesh(next(obj for obj in parts(rig, "BODY") if obj.name == which), work)
    assert ("twin-meshes" in found(rig)) == differs and "mesh-edited" not in found(rig)


@pytest.mark.parametrize("work", EDITS[:2], ids=["a-mesh", "another-box"])
@pytest.mark.parametrize("format_", ["skel", "juice"])
def test_an_edited_mesh_becomes_the_shape(blank: Any, tmp_path: Path, work: Callable[[], Any], format_: str) -> None:
    """Through a file: what the mesh encloses has the size and place in the file that it has in Blender."""
    rig = boxed()
    edit_mesh(arm(rig), work)
    stood = corners_in_world(arm(rig))
    found(rig)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "mesh-edited")) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="taken")
    assert {*found(rig)} <= {"twins-differ", "twin-meshes"}, "the other arm is what it was"
    assert np.abs(corners_in_world(arm(rig)) - stood).max() < 1e-5, "it stands where it stood"
    kind = "box" if work is EDITS[1] else "mesh"
    assert [shape.type for shape in record_of(arm(rig)).shapes] == [kind]
    path = tmp_path / f"out{formats.FORMATS[format_].extensions[0]}"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
    again = rig_in(build(formats.load(path)))
    back = next(obj for obj in parts(again, "BODY") if record_of(obj).source_name == "Left arm")
    bpy.context.view_layer.update()
    shown = corners_in_world(back)
    box = (stood.min(axis=0), stood.max(axis=0))
    assert np.abs(np.array([shown.min(axis=0), shown.max(axis=0)]) - box).max() < 1e-4
    bpy.ops.ed.undo()
    assert [shape.type for shape in record_of(bpy.data.objects["Left arm"]).shapes] == ["box"]


def corners_in_world(obj: Any) -> np.ndarray:
    bpy.context.view_layer.update()
    return np.array(sorted(tuple(round(x, 6) for x in obj.matrix_world @ vertex.co) for vertex in obj.data.vertices))


def test_an_edited_body_keeps_its_own_collision_shapes(blank: Any) -> None:
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", dict(BOX), collision=False), Shape("sphere", {"radius": 0.4}, visual=False)]
    rig = rig_in(build(mechanism))
    edit_mesh(arm(rig), EDITS[1])
    found(rig)
    assert bpy.ops.knuckle.fix_finding(index=row_of(rig, "mesh-edited")) == {"FINISHED"}
    now = next(body for body in extract(settings(rig).collection).bodies if body.name == "Left arm")
    uses = [(shape.type, shape.visual, shape.collision) for shape in now.shapes]
    assert uses == [("box", True, False), ("sphere", False, True)]
    assert now.shapes[0].size == {"x": 1.0, "y": 0.75, "z": 0.25}
    assert now.shapes[1].size == {"radius": 0.4} and np.abs(now.shapes[1].pose[:3, 3]).max() < 1e-6
    assert {"shape-loose", "stranger"}.isdisjoint(found(rig))


def test_distances_from_surfaces_are_those_of_points_put_at_known_ones() -> None:
    from addon.blender.scene.meshes import primitive_mesh

    shapes = [
        Shape("box", dict(BOX)),
        Shape("sphere", {"radius": 0.7}),
        Shape("cylinder", {"length": 1.2, "radius": 0.3}),
        Shape("capsule", {"length": 1.2, "radius": 0.3}),
        Shape("cone", {"length": 1.2, "radius": 0.5}),
        Shape("ellipsoid", {"x": 1.0, "y": 0.5, "z": 0.8}),
        Shape("pyramid", {"x": 1.0, "y": 0.5, "length": 0.8}),
    ]
    for shape in shapes:
        shape.pose[:3, 3] = (0.1, 0.2, 0.3)
        surface = primitive_mesh(shape)
        on = surface.vertices + shape.pose[:3, 3]
        middles = np.array([on[list(polygon)].mean(axis=0) for polygon in surface.polygons])
        assert surface_distance(shape, on).max() < 1e-6, shape.type
        assert is_mesh_of_shapes([shape], on, middles), shape.type
        assert not is_mesh_of_shapes([shape], on + 0.05, middles), shape.type
        assert surface_distance(shape, np.array([[0.1, 0.2, 0.3]]))[0] > 0.1, "its middle"
    ball = shapes[1]
    assert surface_distance(ball, np.array([[1.8, 0.2, 0.3], [0.1, 0.2, 0.7]])) == pytest.approx([1.0, 0.3])
    assert surface_distance(shapes[2], np.array([[0.9, 0.2, 0.3], [0.1, 0.2, 1.0]])) == pytest.approx([0.5, 0.1])


# ---------------------------------------------------------------- the list, and the export


def test_a_click_on_a_finding_selects_its_part(blank: Any) -> None:
    rig = boxed()
    record_of(arm(rig)).mass = 0.0
    pick(rig)
    assert "no-mass" in found(rig)
    rig.data.knuckle_finding = row_of(rig, "no-mass")
    assert settings(rig).finding_index == row_of(rig, "no-mass")
    assert [obj.name for obj in bpy.context.view_layer.objects.selected] == ["Left arm"]
    assert bpy.context.view_layer.objects.active == arm(rig)


def test_the_export_warns_of_the_same(blank: Any, tmp_path: Path, capfd: Any) -> None:
    rig = boxed()
    record_of(arm(rig)).mass = 0.0
    edit_mesh(arm(rig), EDITS[1])
    cleared(rig)
    pick(rig)
    wrong = [row.message for row in settings(rig).findings if row.severity != "info"] if found(rig) else []
    assert len(wrong) >= 3
    capfd.readouterr()
    assert bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "out.skel"), format="skel") == {"FINISHED"}
    said = "".join(capfd.readouterr())
    assert [message for message in wrong if said.count(message) != 1] == []


def test_without_its_armature_no_file_is_written(blank: Any, tmp_path: Path) -> None:
    rig = boxed()
    armature_deleted(rig)
    with pytest.raises(RuntimeError, match="armature of .* was deleted"):
        bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "out.skel"), format="skel")


def test_most_findings_have_no_second_fix(blank: Any) -> None:
    rig = boxed()
    record_of(arm(rig)).mass = 0.0
    found(rig)
    with pytest.raises(RuntimeError, match="No automatic fix: "):
        bpy.ops.knuckle.fix_finding(index=0, other=True)
