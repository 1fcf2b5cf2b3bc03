"""Edits of models of the other formats: what goes out is what was seen. Judged on the meshes that Blender shows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Array, Mechanism
from tests.support.mechanisms import objects_of


def skel(shape: str, extra: str = "", offset: str = "0 0 1") -> str:
    return f"""<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="s">
    <body name="b"><transformation>1 2 3 0 0 0</transformation>
        <inertia><mass>2</mass><offset>{offset}</offset><moment_of_inertia><ixx>1</ixx><iyy>2</iyy><izz>3</izz>
        <ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></moment_of_inertia></inertia>
        {extra}<visualization_shape><transformation>0.25 0 2 0 0 0</transformation>
            <geometry>{shape}</geometry></visualization_shape>
    </body>
    <joint type="free" name="j"><parent>world</parent><child>b</child></joint>
</skeleton></world></skel>
"""


BOX = "<box><size>1 0.5 2</size></box>"
CONE = "<cone><radius>0.5</radius><height>1</height></cone>"
HALF = "<hemisphere><radius>0.5</radius></hemisphere>"
PYRAMID = "<pyramid><base_width>1</base_width><base_depth>0.5</base_depth><height>2</height></pyramid>"
BALLS = (
    "<multi_sphere><sphere><radius>0.5</radius><position>0 0 1</position></sphere>"
    "<sphere><radius>0.25</radius><position>0.5 0 0</position></sphere></multi_sphere>"
)


def put(text: str, name: str = "b.skel") -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    rig = rig_in(build(formats.loads(text.encode(), name), bpy.context, BuildOptions(physics=False, gait=False)))
    bpy.context.view_layer.update()
    return rig


def out(rig: Any) -> tuple[str, Mechanism]:
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(rig.data.knuckle.collection)
    return formats.dumps(mechanism)[0], mechanism


def seen(rig: Any, name: str = "b") -> Array:
    """Lowest and highest corner of a body as it is shown, in the file's axes."""
    import bpy

    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    obj = next(each for each in objects_of(rig, "BODY").values() if each.knuckle.source_name == name)
    shown = obj.evaluated_get(graph)
    world = np.linalg.inv(np.array(rig.matrix_world)) @ np.array(shown.matrix_world)
    points = np.array([[*vertex.co, 1.0] for vertex in shown.data.vertices]) @ world.T
    return np.array([points[:, :3].min(axis=0), points[:, :3].max(axis=0)])


@pytest.mark.parametrize("shape", [BOX, CONE, HALF, PYRAMID, BALLS], ids=["box", "cone", "half", "pyramid", "balls"])
@pytest.mark.parametrize("scale", [(2, 2, 2), (-1, -1, -1), (1, 1, -1), (-1, 1, 1)])
def test_a_scaled_or_mirrored_body_comes_back_as_it_was_seen(blank: Any, shape: str, scale: Any) -> None:
    """About its centre of mass, which is where its object stands, and not about the body's own origin."""
    rig = put(skel(shape))
    assert out(rig)[0] == skel(shape)
    (obj,) = objects_of(rig, "BODY").values()
    obj.scale = scale
    shown = seen(rig)
    text, mechanism = out(rig)
    assert mechanism.bodies[0].com.tolist() == [0, 0, 1]
    back = seen(put(text))
    assert np.abs(back - shown).max() < 1e-5
    codes = [entry.code for entry in mechanism.report.entries]
    assert "mesh-edited" not in codes


def test_round_shapes_under_an_uneven_scale_are_reported(blank: Any) -> None:
    rig = put(skel("<sphere><radius>0.5</radius></sphere>"))
    (obj,) = objects_of(rig, "BODY").values()
    obj.scale = (1, 2, 1)
    mechanism = out(rig)[1]
    assert "uneven-scale" in [entry.code for entry in mechanism.report.entries]
    assert mechanism.bodies[0].shapes[0].size == {"radius": 1.0}


def test_moments_go_with_an_edited_mass(blank: Any) -> None:
    rig = put(skel(BOX))
    (obj,) = objects_of(rig, "BODY").values()
    obj.knuckle.mass = 4.0
    mechanism = out(rig)[1]
    assert np.allclose(mechanism.bodies[0].inertia, np.diag([2, 4, 6]))


def test_a_body_and_its_frame_move_together_once(blank: Any) -> None:
    base = {"name": "base", "mass": 1.0, "center_of_mass": [0, 0, 1], "frames": [{"name": "tip", "T": [1, 0, 0]}]}
    joint = {"name": "slide", "type": "Tx", "body_frame_pairs": [["fixed", "origin"], ["base", "origin"]]}
    model = {"model_parameters": {"version": "0.2", "gravity": [0, 0, -9.81]}}
    document = json.dumps({**model, "assemblies": [{"name": "a", "bodies": [base], "joints": [joint]}]})
    rig = put(document, "a.json")
    (obj,) = objects_of(rig, "BODY").values()
    frame = next(each for each in rig.data.knuckle.collection.all_objects if each.knuckle.role == "FRAME")
    obj.location.x += 2
    import bpy

    bpy.context.view_layer.update()
    assert frame.matrix_world.translation.x == pytest.approx(3)
    mechanism = out(rig)[1]
    body, tip = mechanism.bodies[0], mechanism.frames[0]
    assert (body.pose @ tip.pose)[0, 3] == pytest.approx(3)
    frame.location.z += 0.5
    assert np.allclose(out(rig)[1].frames[0].pose[:3, 3], (1, 0, 0.5))


def test_a_joint_whose_child_is_the_world_survives_a_moved_body(blank: Any) -> None:
    base = {"name": "base", "mass": 1.0}
    joint = {"name": "j", "type": "Rz", "body_frame_pairs": [["base", "origin"], ["fixed", "origin"]]}
    model = {"model_parameters": {"version": "0.2", "gravity": [0, 0, -9.81]}}
    document = json.dumps({**model, "assemblies": [{"name": "a", "bodies": [base], "joints": [joint]}]})
    rig = put(document, "a.json")
    (obj,) = objects_of(rig, "BODY").values()
    obj.location.x += 1
    text, mechanism = out(rig)
    assert mechanism.joints[0].active and '"active"' not in text


LAMPS = {
    "model_parameters": {"version": "0.2"},
    "fixed": {"lights": [{"name": "lamp", "type": "point", "parent": ["a:base", "tip"]}], "frames": []},
    "assemblies": [
        {
            "name": "a",
            "bodies": [
                {
                    "name": "base",
                    "mass": 1.0,
                    "center_of_mass": [0, 0, 1],
                    "T": [3, 0, 0],
                    "frames": [{"name": "tip", "T": [1, 0, 0], "Q": [0.6, 0, 0, 0.8]}],
                }
            ],
            "joints": [{"name": "slide", "type": "Tx", "body_frame_pairs": [["fixed", "origin"], ["base", "origin"]]}],
        }
    ],
}


@pytest.mark.parametrize("role", ["FRAME", "LIGHT"])
@pytest.mark.parametrize("where", ["nowhere", "dropped", "on an empty", "on its body"])
def test_objects_attached_to_a_body_are_exported_where_they_are_seen(blank: Any, role: str, where: str) -> None:
    """Whatever it hangs on by now, and whatever stands elsewhere by now: hung there it is no edit, moved there it is
    one by as much."""
    import bpy

    rig = put(json.dumps(LAMPS), "a.json")
    obj = next(each for each in rig.data.knuckle.collection.all_objects if each.knuckle.role == role)
    (holder,) = objects_of(rig, "BODY").values()
    before = out(rig)[1]
    if where in {"nowhere", "dropped"}:
        clear_parent(obj, where == "nowhere")
    else:
        other = bpy.data.objects.new("Mine", None)
        bpy.context.scene.collection.objects.link(other)
        other.location, other.rotation_euler = (4, -2, 1), (0.3, 0.2, 0.1)
        other = holder if where == "on its body" else other
        bpy.context.view_layer.update()
        for each in (obj, other):
            each.select_set(True)
        bpy.context.view_layer.objects.active = other
        assert bpy.ops.object.parent_set(type="OBJECT", keep_transform=True) == {"FINISHED"}
    bpy.context.view_layer.update()

    def read() -> tuple[Array, Array]:
        found = out(rig)[1]
        part = (found.frames if role == "FRAME" else found.lights)[0]
        return (before.frames if role == "FRAME" else before.lights)[0].pose, part.pose

    was, pose = read()
    assert pose == pytest.approx(was, abs=1e-5)
    if where == "dropped":
        return
    place = obj.matrix_world.copy()
    place.translation.z += 0.5
    obj.matrix_world = place
    bpy.context.view_layer.update()
    was, pose = read()
    assert pose[:3, 3] - was[:3, 3] == pytest.approx(0.5 * np.array(holder.matrix_world)[2, :3], abs=1e-5)
    assert pose[:3, :3] == pytest.approx(was[:3, :3], abs=1e-5)


def test_a_frame_that_stands_free_is_no_edit_of_a_real_model(blank: Any, sample_models: Path) -> None:
    """In the pose in which the model begins, which is not that of its design."""
    path = sample_models / "pumpjack/pumpjack.json"
    rig = put(path.read_text(), str(path))
    for obj in [each for each in rig.data.knuckle.collection.all_objects if each.knuckle.role == "FRAME"]:
        clear_parent(obj)
    assert out(rig)[0] == path.read_text()


# ---------------------------------------------------------------- collision shapes

HULL = """<collision_shape><transformation>0 0 1 0 0 0</transformation>
            <geometry><box><size>2 2 2</size></box></geometry></collision_shape>"""


def children(rig: Any) -> list[Any]:
    return [obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.shape >= 0]


def test_a_copy_that_takes_its_originals_place_keeps_its_collision_shapes(blank: Any) -> None:
    import bpy

    rig = put(skel(BOX, HULL))
    (obj,) = objects_of(rig, "BODY").values()
    copy = obj.copy()
    obj.users_collection[0].objects.link(copy)
    bpy.data.objects.remove(obj)
    mechanism = out(rig)[1]
    assert sorted(shape.collision for shape in mechanism.bodies[0].shapes) == [False, True]


@pytest.mark.parametrize("with_children", [False, True])
def test_a_copy_keeps_its_collision_shapes_under_whatever_name(blank: Any, with_children: bool) -> None:
    """Given an id of its own or not, renamed, and its original renamed as well. What is deleted of it is deleted."""
    import bpy

    from addon.blender.reconcile.rig_update import assign_ids

    rig = put(skel(BOX, HULL))
    (obj,) = objects_of(rig, "BODY").values()
    for each in [obj, *(children(rig) if with_children else [])]:
        each.hide_viewport = False
        each.select_set(True)
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    copy = next(each for each in bpy.context.selected_objects if each.knuckle.role == "BODY")
    copy.location.x += 5

    def solid() -> list[int]:
        return [sum(shape.collision for shape in body.shapes) for body in out(rig)[1].bodies]

    assert solid() == [1, 1]
    assign_ids(rig)
    assert solid() == [1, 1] and copy.knuckle.source_id != obj.knuckle.source_id
    copy.name = copy.knuckle.baseline_name = "whatever"
    obj.name = "something else"
    assert solid() == [1, 1]
    own = [child for child in children(rig) if child.parent == copy]
    bpy.data.batch_remove(own)
    assert solid() == [1, 0 if with_children else 1]
    bpy.data.batch_remove(children(rig))
    assert solid()[0] == 0, "also of one that was renamed"


def clear_parent(obj: Any, keep: bool = True) -> None:
    """As Alt+P does, with Keep Transform or without."""
    import bpy

    hidden, obj.hide_viewport = obj.hide_viewport, False
    bpy.context.view_layer.update()
    for each in bpy.context.selected_objects:
        each.select_set(False)
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM" if keep else "CLEAR") == {"FINISHED"}
    bpy.context.view_layer.update()
    obj.hide_viewport = hidden


@pytest.mark.parametrize("keep", [True, False])
def test_a_reparented_collision_shape_is_exported_where_it_is_seen(blank: Any, keep: bool) -> None:
    rig = put(skel(BOX, HULL))
    (child,) = children(rig)
    clear_parent(child, keep)
    assert out(rig)[0] == skel(BOX, HULL)
    if keep:
        child.location.z += 0.5  # hidden, so that Blender does not reckon where it is
        hull = next(shape for shape in out(rig)[1].bodies[0].shapes if shape.collision)
        assert hull.pose[:3, 3] == pytest.approx((0, 0, 1.5), abs=1e-5)


def test_a_deleted_collision_shape_collides_with_nothing_and_is_reported(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics

    rig = put(skel(BOX, HULL))
    bpy.data.objects.remove(children(rig)[0])
    build_physics(blank.scene, rig)
    (obj,) = objects_of(rig, "BODY").values()
    assert not any(obj.rigid_body.collision_collections)
    assert "deleted" in [entry.code for entry in out(rig)[1].report.entries]


def test_a_copied_collision_shape_is_reported_and_left_out(blank: Any) -> None:
    rig = put(skel(BOX, HULL))
    (child,) = children(rig)
    copy = child.copy()
    copy.location.x += 5
    child.users_collection[0].objects.link(copy)
    text, mechanism = out(rig)
    assert text == skel(BOX, HULL)
    assert "stranger" in [entry.code for entry in mechanism.report.entries]


def test_a_collision_shape_scales_with_its_body(blank: Any) -> None:
    rig = put(skel(BOX, HULL))
    (obj,) = objects_of(rig, "BODY").values()
    obj.scale = (1, 1, 3)
    touched = next(shape for shape in out(rig)[1].bodies[0].shapes if shape.collision)
    assert touched.size == {"x": 2.0, "y": 2.0, "z": 6.0} and np.allclose(touched.pose[:3, 3], (0, 0, 1))


# ---------------------------------------------------------------- deleted bodies

ARM = """<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="s">
{}
{}
</skeleton></world></skel>
"""


def link(name: str, at: float, parent: str, start: float) -> tuple[str, str]:
    body = (
        f'<body name="{name}"><transformation>{at} 0 0 0 0 0</transformation><inertia><mass>1</mass></inertia>'
        f"<visualization_shape><transformation>0.5 0 0 0 0 0</transformation><geometry><box><size>1 0.1 0.1</size>"
        f"</box></geometry></visualization_shape></body>"
    )
    joint = (
        f'<joint type="revolute" name="to {name}"><parent>{parent}</parent><child>{name}</child>'
        f"<axis><xyz>0 1 0</xyz></axis><init_pos>{start}</init_pos></joint>"
    )
    return body, joint


@pytest.mark.parametrize("through_a_file", [False, True])
def test_what_a_deleted_body_carried_stays_where_it_is_seen(blank: Any, tmp_path: Path, through_a_file: bool) -> None:
    import bpy

    links = [link("a", 0, "world", 0.3), link("b", 1, "a", 0.4), link("c", 2, "b", 0.5)]
    rig = put(ARM.format("".join(body for body, _ in links), "".join(joint for _, joint in links)), "arm.skel")
    before = seen(rig, "c")
    bpy.data.objects.remove(next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_name == "b"))
    text, mechanism = out(rig)
    assert {joint.name for joint in mechanism.joints} == {"to a"}
    told = [entry.message for entry in mechanism.report.entries if entry.code == "deleted"]
    assert len(told) == 3, "the body and its two joints"
    if through_a_file:
        (tmp_path / "less.skel").write_text(text)
        text = (tmp_path / "less.skel").read_text()
    assert np.abs(seen(put(text, "less.skel"), "c") - before).max() < 1e-5


def test_a_restraint_of_a_deleted_body_is_reported(blank: Any) -> None:
    import bpy

    bodies = [{"name": name, "mass": 1.0} for name in ("a", "b")]
    joints = [{"name": f"to {n}", "type": "Tx", "body_frame_pairs": [["fixed", "origin"], [n, "origin"]]} for n in "ab"]
    ends = [["a", "origin"], ["b", "origin"]]
    spring = {"name": "rope", "type": "spring", "knot_points": [], "coefficients": [[1, 0]], "body_frame_pair": ends}
    assembly = {"name": "x", "bodies": bodies, "joints": joints, "restraints": [spring]}
    document = json.dumps({"model_parameters": {"version": "0.2"}, "assemblies": [assembly]})
    rig = put(document, "x.json")
    assert len(out(rig)[1].restraints) == 1
    bpy.data.objects.remove(next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_name == "b"))
    mechanism = out(rig)[1]
    assert not mechanism.restraints
    assert any("rope" in entry.message for entry in mechanism.report.entries if entry.code == "deleted")


def test_a_renamed_frame_is_renamed_wherever_it_is_named(blank: Any) -> None:
    base = {"name": "base", "mass": 1.0, "frames": [{"name": "tip", "T": [1, 0, 0]}]}
    joints = [
        {"name": "j", "type": "Rz", "body_frame_pairs": [["fixed", "origin"], ["base", "tip"]]},
    ]
    lights = [{"name": "lamp", "type": "point", "parent": ["a:base", "tip"]}]
    document = {"model_parameters": {"version": "0.2"}, "fixed": {"lights": lights, "frames": []}}
    text = json.dumps({**document, "assemblies": [{"name": "a", "bodies": [base], "joints": joints}]})
    rig = put(text, "a.json")
    frame = next(obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.role == "FRAME")
    frame.name = "nose"
    written = out(rig)[0]
    assert '"tip"' not in written and written.count('"nose"') == 3
    copy = frame.copy()
    copy.name = "ear"
    frame.users_collection[0].objects.link(copy)
    written = out(rig)[0]
    assert written.count('"ear"') == 1 and written.count('"nose"') == 3, "nobody is at the copy"


# ---------------------------------------------------------------- what Blender cannot hold


@pytest.mark.parametrize("number", ["1e300", "1e20"])
def test_a_body_outside_blenders_number_range_is_rejected_by_name(blank: Any, number: str) -> None:
    import bpy

    from addon.core.report import FormatError

    text = skel(BOX).replace("1 2 3 0 0 0", f"{number} 2 3 0 0 0")
    before = {obj.name for obj in bpy.data.objects}
    with pytest.raises(FormatError, match="body 'b': coordinates are too large for Blender"):
        put(text)
    assert {obj.name for obj in bpy.data.objects} == before


def test_a_stop_in_plain_radians_is_written_so(blank: Any) -> None:
    body, joint = link("a", 0, "world", 0)
    joint = joint.replace("</axis>", "<limit><lower>-1</lower><upper>1</upper></limit></axis>")
    rig = put(ARM.format(body, joint), "arm.skel")
    empty = next(obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.role == "JOINT")
    empty.knuckle.joint.dofs[0].upper = 0.9
    assert "<upper>0.9</upper>" in out(rig)[0]
    empty.knuckle.joint.dofs[0].upper = math.radians(40)
    assert f"<upper>{math.radians(40)!r}</upper>" in out(rig)[0]


def about(axis: int, angle: float) -> Array:
    """A rotation (3, 3) about a main axis."""
    turn, i, j = np.eye(3), (axis + 1) % 3, (axis + 2) % 3
    turn[i, i] = turn[j, j] = math.cos(angle)
    turn[j, i] = math.sin(angle)
    turn[i, j] = -turn[j, i]
    return turn


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("angle", [0.2, 1.2345, *map(math.radians, (20, -135, 90)), math.pi, -1e-4])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("before", ["0 0 0", "0.3 -0.7 1.1"])
def test_a_body_turned_by_a_plain_angle_is_turned_by_it_to_the_last_digit(
    blank: Any, axis: int, angle: float, own: bool, before: str
) -> None:
    """As R Y 20 does, or R Y Y 20: Blender's own rotations are of 32 bits."""
    from mathutils import Matrix, Quaternion

    rig = put(skel(BOX).replace("1 2 3 0 0 0", f"1 2 3 {before}"))
    was = out(rig)[1].bodies[0].pose[:3, :3]
    box, turn = objects_of(rig, "BODY")["s/b"], Quaternion([0.0, 0.0, 1.0][2 - axis :] + [0.0] * (2 - axis), angle)
    box.rotation_quaternion = box.rotation_quaternion @ turn if own else turn @ box.rotation_quaternion
    wanted = was @ about(axis, angle) if own else about(axis, angle) @ was
    assert np.abs(np.array(Matrix(wanted.tolist()) - box.matrix_basis.to_3x3())).max() < 1e-6, "turned as meant"
    assert out(rig)[1].bodies[0].pose[:3, :3] == pytest.approx(wanted, abs=4e-16)


def test_of_an_angle_in_degrees_and_one_in_radians_the_nearer_is_meant(blank: Any) -> None:
    """1.74533 has a digit less than 100.0001 degrees, and is 1e-6 rad off."""
    from mathutils import Quaternion

    rig, angle = put(skel(BOX)), math.radians(100.0001)
    was, box = out(rig)[1].bodies[0].pose[:3, :3], objects_of(rig, "BODY")["s/b"]
    box.rotation_quaternion = Quaternion((0.0, 0.0, 1.0), angle) @ box.rotation_quaternion
    assert out(rig)[1].bodies[0].pose[:3, :3] == pytest.approx(about(2, angle) @ was, abs=4e-16)


def test_a_body_turned_somehow_is_turned_as_blender_has_it(blank: Any) -> None:
    from mathutils import Euler

    rig = put(skel(BOX))
    box = objects_of(rig, "BODY")["s/b"]
    box.rotation_quaternion = Euler((0.2, 0.3, 0.4)).to_quaternion()
    found = out(rig)[1].bodies[0].pose[:3, :3]
    assert found == pytest.approx(np.array(box.matrix_basis.to_3x3()), abs=3e-7)
    assert found @ found.T == pytest.approx(np.eye(3), abs=1e-15)


@pytest.mark.parametrize("factor", [(1.3, 1.3, 1.3), (1.4, 0.8, 1.1)])
@pytest.mark.parametrize("name", ["humanoid.skel", "desk_lamp.skel", "fullbody1.skel", "hexapod.jm"])
def test_a_scaled_body_is_read_as_its_file_is(blank: Any, name: str, factor: tuple[float, float, float]) -> None:
    """Also the moments of inertia that a file of SKEL leaves to the shapes."""
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.scene.read.mechanism import extract
    from tests.support.scenes import made

    rig = made(name)
    for obj in parts(rig, "BODY"):
        obj.scale = [a * b for a, b in zip(obj.scale, factor, strict=True)]
    bpy.context.view_layer.update()
    mechanism = extract(rig)
    text, _report = formats.dumps(mechanism)
    again = {body.id: body for body in formats.loads(text.encode(), name).bodies}
    for body in mechanism.bodies:
        mine, its = body.inertia, again[body.id].inertia
        assert (mine is None) == (its is None), body.name
        if mine is not None:
            assert mine == pytest.approx(its, rel=1e-5, abs=1e-9 * float(np.abs(its).max())), body.name
