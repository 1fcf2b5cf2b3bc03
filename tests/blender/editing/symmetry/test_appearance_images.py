"""A twin is the mirror image of its mate in every respect. What it is held against comes from elsewhere: corners of
meshes as they are seen, reflected here, and the numbers of the exported text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Vector

from addon import formats
from addon.blender.compat import select_bone
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.conversion import mirror_plane_of, set_mirror_plane
from addon.blender.data.queries import parts, servo_bones, twin_of, twins_by_part
from addon.blender.rig.pose_channels import write_pose
from addon.core.editing.mirroring import motion_mirror
from addon.core.kinematics import joint_frame_world
from addon.core.model import Plane
from tests.support.mirror_images_helpers import exported, find_and_link, furthest, reopened
from tests.support.scenes import body, found, imported, joint_of, now, pick, the_rig

FLIP = np.diag([-1.0, 1.0, 1.0, 1.0])
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def in_model(obj: Any, rig: Any) -> np.ndarray:
    """Where an object is seen, (4, 4), in the axes of its model."""
    return np.array(rig.matrix_world.inverted() @ obj.matrix_world, dtype=np.float64)


def corners(obj: Any, rig: Any) -> np.ndarray:
    """The corners (n, 3) of a mesh as it is seen, in the axes of its model."""
    points = np.array([corner.co[:] for corner in obj.data.vertices]).reshape(-1, 3)
    pose = in_model(obj, rig)
    return points @ pose[:3, :3].T + pose[:3, 3]


def off_the_image(obj: Any, twin: Any, rig: Any, flip: np.ndarray = FLIP) -> float:
    """How far a mesh as it is seen is from the reflection of another."""
    mine, its = corners(obj, rig) @ flip[:3, :3].T + flip[:3, 3], corners(twin, rig)
    return max(furthest(mine, its), furthest(its, mine))


def children(obj: Any, role: str = "SHAPE") -> list[Any]:
    return sorted((c for c in obj.children if record_of(c).role == role), key=lambda c: (record_of(c).shape, c.name))


def left_parts(rig: Any) -> dict[Any, Any]:
    """The parts behind the mirror plane that have a twin, with these."""
    plane = mirror_plane_of(rig)
    return {
        o: twin for o, twin in twins_by_part(rig).items() if plane.height(np.array(o.matrix_basis.translation)) < 0.0
    }


def zeroed(rig: Any) -> None:
    for own in servo_channels(rig).values():
        write_pose(rig, own, np.zeros(len(own)))
    bpy.context.view_layer.update()


# ---------------------------------------------------------------- mass


@pytest.mark.parametrize("typed", ["Physics tab", "panel"])
@pytest.mark.parametrize("way", ["mirrored", "symmetrical"])
def test_the_mass_is_that_of_the_twin_wherever_it_is_read(blank: Any, tmp_path: Path, typed: str, way: str) -> None:
    rig = imported("hexapod.jm")
    settings(rig).symmetric = way == "symmetrical"
    left, right = body(rig, "Left Front Tibia"), body(rig, "Right Front Tibia")
    assert left.rigid_body is not None, "imported as users import"
    mass = 3.0 * record_of(left).mass
    pick(left)
    if typed == "panel":
        record_of(left).mass = mass
    else:
        left.rigid_body.mass = mass
        left.update_tag()
    bpy.context.view_layer.update()
    if way == "mirrored":
        pick(left)
        assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    text = exported(rig, tmp_path).read_text()
    for obj in (left, right):
        told = re.search(rf'<Object Name="{obj.name}".*?<Mass>(.*?)</Mass>|<Name>{obj.name}</Name>', text, re.DOTALL)
        assert told is not None
        assert record_of(obj).mass == pytest.approx(mass, rel=1e-6)
        assert obj.rigid_body.mass == pytest.approx(mass, rel=1e-6)
    masses = {each.name: each.mass for each in formats.load(tmp_path / "out.jm").bodies}
    assert masses[left.name] == masses[right.name] == pytest.approx(mass, rel=1e-6)
    rig = reopened(tmp_path)
    assert record_of(body(rig, "Right Front Tibia")).mass == pytest.approx(mass, rel=1e-6)


def test_a_typed_friction_is_that_of_the_twin_and_outlives_the_edit(blank: Any) -> None:
    rig = imported("hexapod.jm")
    left, right = body(rig, "Left Front Tibia"), body(rig, "Right Front Tibia")
    usual = right.rigid_body.friction
    left.rigid_body.friction = 0.123
    pick(left)
    bpy.ops.knuckle.mirror_to_twin()
    assert [round(obj.rigid_body.friction, 6) for obj in (left, right)] == [0.123, 0.123]
    assert body(rig, "Left Rear Tibia").rigid_body.friction == pytest.approx(usual)


# ---------------------------------------------------------------- the plane


def test_the_plane_does_not_follow_what_was_edited(blank: Any) -> None:
    rig = imported("hexapod.jm")
    pairs = left_parts(rig)
    assert len(pairs) > 10
    before = {obj: obj.matrix_basis.translation.copy() for obj in pairs}
    for obj in pairs:
        obj.location.x -= 0.05
    bpy.context.view_layer.update()
    pick(*pairs)
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    for obj, twin in pairs.items():
        x, y, z = before[obj]
        assert obj.matrix_basis.translation[:] == pytest.approx((x - 0.05, y, z), abs=1e-6)
        assert twin.matrix_basis.translation[:] == pytest.approx((0.05 - x, y, z), abs=1e-6)


def test_the_plane_is_the_mechanisms_and_can_be_changed(blank: Any, tmp_path: Path) -> None:
    rig = imported("hexapod.jm")
    mirror = settings(rig).mirror
    assert (mirror.axis, mirror.offset) == ("X", 0.0)
    obj = body(rig, "Left Front Femur")
    mirror.offset = 0.5
    rig = reopened(tmp_path)
    obj = body(rig, "Left Front Femur")
    pick(obj)
    bpy.ops.knuckle.mirror_to_twin()
    assert twin_of(obj).location.x == pytest.approx(1.0 - obj.location.x, abs=1e-6)
    mirror = settings(rig).mirror
    for axis, normal in (("Y", (0, 1, 0)), ("Z", (0, 0, 1)), ("X", (1, 0, 0))):
        mirror.axis = axis
        assert tuple(mirror.normal) == normal and mirror.axis == axis
    mirror.axis = "OTHER"
    assert mirror.axis == "OTHER" and np.linalg.norm(mirror_plane_of(rig).normal) == pytest.approx(1.0)
    mirror.axis = "NONE"
    assert mirror_plane_of(rig) is None and mirror.offset == 0.0
    with_ids = formats.load(found("hexapod.jm"))
    assert with_ids.mirror_plane is None, "files know no plane"


def test_a_plane_is_asked_for_where_there_is_none(blank: Any) -> None:
    rig = imported("desk_lamp.skel")
    assert settings(rig).mirror.axis == "NONE"
    pick(body(rig, "shade"))
    count = len(parts(rig, "BODY"))
    with pytest.raises(RuntimeError, match="no mirror plane"):
        bpy.ops.knuckle.create_twin()
    assert len(parts(rig, "BODY")) == count
    assert bpy.ops.knuckle.create_twin(plane="Y") == {"FINISHED"}
    assert settings(rig).mirror.axis == "Y", "which is the mechanism's from now on"
    with pytest.raises(RuntimeError, match="all parts have a twin. Use Mirror to Twin"):
        bpy.ops.knuckle.create_twin()


def test_a_mechanism_of_1_0_finds_its_plane_in_its_document(blank: Any, tmp_path: Path) -> None:
    """Also where all of one half was moved before it was saved."""
    rig = imported("hexapod.jm")
    for obj in left_parts(rig):
        obj.location.x -= 0.2
    set_mirror_plane(rig, None)
    settings(rig).version = 4
    rig = reopened(tmp_path)
    assert settings(rig).version >= 5
    plane = mirror_plane_of(rig)
    assert plane is not None and plane.normal.tolist() == [1.0, 0.0, 0.0] and plane.offset == 0.0


@pytest.mark.parametrize(
    ("call", "why"), [("create_twin", "all parts have a twin. Use Mirror to Twin"), ("mirror_to_twin", "stops")]
)
def test_what_fails_chooses_no_plane(blank: Any, monkeypatch: pytest.MonkeyPatch, call: str, why: str) -> None:
    rig = imported("hexapod.jm")
    set_mirror_plane(rig, None)
    pick(body(rig, "Left Front Tibia"))

    def stop(*_args: Any, **_named: Any) -> None:
        raise ValueError("it stops")

    monkeypatch.setattr("addon.blender.editing.symmetry.twins.dress_image", stop)
    with pytest.raises(RuntimeError, match=why):
        getattr(bpy.ops.knuckle, call)(plane="Y")
    assert settings(rig).mirror.axis == "NONE"


def test_to_find_twins_chooses_no_plane(blank: Any) -> None:
    rig = imported("desk_lamp.skel")
    assert settings(rig).mirror.axis == "NONE"
    pick(rig)
    assert bpy.ops.knuckle.find_twins(plane="Z") == {"FINISHED"}
    assert settings(rig).mirror.axis == "NONE"


# ---------------------------------------------------------------- both of a pair


@pytest.mark.parametrize("way", ["mirrored", "symmetrical"])
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_the_active_ones_half_leads(blank: Any, side: str, way: str) -> None:
    """With both halves selected: the joints as well, none of which is active."""
    rig = imported("hexapod.jm")
    settings(rig).symmetric = way == "symmetrical"
    bodies = {each: body(rig, f"{each} Front Tibia") for each in ("Left", "Right")}
    other = {"Left": "Right", "Right": "Left"}[side]
    joints = {each: joint_of(rig, obj) for each, obj in bodies.items()}
    was = {obj: obj.matrix_basis.translation.copy() for obj in (*bodies.values(), *joints.values())}
    pick(*joints.values(), bodies[other], bodies[side])
    for held in (bodies, joints):
        held[side].location.z += 0.07
        if way == "symmetrical":
            held[other].location.z -= 0.03
    bpy.context.view_layer.update()
    if way == "mirrored":
        assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    for held in (bodies, joints):
        for obj in held.values():
            assert obj.matrix_basis.translation[:] == pytest.approx(was[obj] + Vector((0, 0, 0.07)), abs=1e-6)


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_the_active_bones_joint_leads(blank: Any, side: str) -> None:
    rig = imported("hexapod.jm")
    bodies = {each: body(rig, f"{each} Front Tibia") for each in ("Left", "Right")}
    joints = {each: joint_of(rig, obj) for each, obj in bodies.items()}
    bones = {name: key for key, name in servo_bones(rig).items()}
    named = {each: next(b for b, key in bones.items() if key == record_of(e).source_id) for each, e in joints.items()}
    lower = record_of(joints[side]).joint.dofs[0].lower = record_of(joints[side]).joint.dofs[0].lower / 2.0
    pick(rig)
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        select_bone(bone, bone.name in named.values())
    rig.data.bones.active = rig.data.bones[named[side]]
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    assert record_of(joints[side]).joint.dofs[0].lower == pytest.approx(lower)


# ---------------------------------------------------------------- shapes and meshes


def changed_humanoid(folder: Path) -> Path:
    """The humanoid with another left shank: its center of mass, one ellipsoid and its inertia."""
    tree = ET.parse(found("humanoid.skel"))
    shank = next(each for each in tree.iter("body") if each.get("name") == "left shank")
    inertia = shank.find("inertia")
    offset = inertia.find("offset")
    old = [float(x) for x in offset.text.split()] if offset is not None else [0.0, 0.0, 0.0]
    if offset is None:
        offset = ET.SubElement(inertia, "offset")
    offset.text = " ".join(str(a + b) for a, b in zip(old, (0.01, 0.02, -0.02), strict=True))
    moment = inertia.find("moment_of_inertia")
    if moment is None:
        moment = ET.SubElement(inertia, "moment_of_inertia")
    moment.clear()
    for name, value in zip(
        ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (0.05, 0.06, 0.02, 0.001, 0.002, 0.003), strict=True
    ):
        ET.SubElement(moment, name).text = str(value)
    size = next(each for each in shank.iter("ellipsoid")).find("size")
    size.text = "0.2 0.3 0.4"
    path = folder / "changed.skel"
    tree.write(path)
    return path


def test_center_of_mass_inertia_and_shapes_of_a_file_are_mirrored(blank: Any, tmp_path: Path) -> None:
    path = changed_humanoid(tmp_path)
    bpy.ops.import_scene.mechanism(filepath=str(path))
    rig = the_rig()
    find_and_link(rig)
    left = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "left shank")
    right = twin_of(left)
    assert right is not None and right.name == "right shank"
    pick(left)
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    zeroed(rig)
    flip = mirror_plane_of(rig).reflection
    assert mirror_plane_of(rig).normal.tolist() == [0.0, 1.0, 0.0]
    assert off_the_image(left, right, rig, flip) < 1e-5
    assert all(off_the_image(a, b, rig, flip) < 1e-5 for a, b in zip(children(left), children(right), strict=True))
    rig = reopened(tmp_path)
    out = ET.parse(exported(rig, tmp_path))
    rows = {}
    for each in out.iter("body"):
        if each.get("name") in {"left shank", "right shank"}:
            tensor = {
                k: float(each.find(f"inertia/moment_of_inertia/{k}").text)
                for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            }
            com = [float(x) for x in each.find("inertia/offset").text.split()]
            pose = [float(x) for x in each.find("transformation").text.split()]
            sizes = [s.text.split() for s in each.iter("size")]
            rows[each.get("name")] = tensor, com, pose, sizes
    (tensor, com, pose, sizes), (its, com2, pose2, sizes2) = rows["left shank"], rows["right shank"]
    assert tensor["ixx"] == 0.05 and com2 == pytest.approx([com[0], -com[1], com[2]], abs=1e-9)
    signs = {"ixy": -1.0, "iyz": -1.0}
    assert its == pytest.approx({k: signs.get(k, 1.0) * v for k, v in tensor.items()}, rel=1e-6)
    assert pose2[:3] == pytest.approx([pose[0], -pose[1], pose[2]], abs=1e-7)
    assert [[float(x) for x in row] for row in sizes2] == [[float(x) for x in row] for row in sizes]


CAPSULES = """<?xml version="1.0" ?>
<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics>
<skeleton name="s">
 <body name="base"><transformation>0 0 0 0 0 0</transformation><inertia><mass>5</mass></inertia>
  <visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>
 </body>
 <body name="arm_L"><transformation>-1 0.5 0 0.2 0.3 0.4</transformation>
  <inertia><mass>2</mass><offset>0.1 0.2 0.3</offset></inertia>
  <visualization_shape><transformation>0 0.1 0 0.3 0 0</transformation>
   <geometry><{kind}>{size}</{kind}></geometry></visualization_shape>
  <visualization_shape><transformation>0.2 0 0.3 0 0 0</transformation>
   <geometry><cone><height>0.5</height><radius>0.2</radius></cone></geometry></visualization_shape>
  <collision_shape><transformation>0.1 0.2 0 0 0.5 0.2</transformation><geometry><multi_sphere>
   <sphere><radius>0.2</radius><position>0.1 0.2 0.3</position></sphere>
   <sphere><radius>0.1</radius><position>-0.3 0 0.1</position></sphere>
  </multi_sphere></geometry></collision_shape>
 </body>
 <body name="arm_R"><transformation>1 0.5 0 {turn}</transformation><inertia><mass>2</mass></inertia>
  {twin}</body>
 <joint type="free" name="root"><parent>world</parent><child>base</child></joint>
 <joint type="{joint}" name="joint_L"><parent>base</parent><child>arm_L</child>{axes}</joint>
 <joint type="{joint}" name="joint_R"><parent>base</parent><child>arm_R</child>{axes}</joint>
</skeleton></world></skel>
"""
SIZES = {
    "capsule": "<height>0.8</height><radius>0.1</radius>",
    "cylinder": "<height>0.8</height><radius>0.1</radius>",
    "box": "<size>0.2 0.4 0.8</size>",
    "ellipsoid": "<size>0.2 0.4 0.8</size>",
    "sphere": "<radius>0.3</radius>",
}
_AXIS = (
    "<axis><xyz>{0}</xyz><limit><lower>-0.4</lower><upper>0.9</upper></limit>"
    "<dynamics><damping>0.2</damping></dynamics></axis>"
)
AXES = {
    "revolute": _AXIS.format("0 0.6 0.8"),
    "prismatic": _AXIS.format("0.6 0.8 0"),
    "ball": "",
    "free": "",
    "weld": "",
    "universal": _AXIS.format("1 0 0") + _AXIS.format("0 1 0").replace("axis>", "axis2>"),
    "screw": "<axis><xyz>0 0 1</xyz><pitch>0.3</pitch></axis>",
    "euler": "<axis_order>xyz</axis_order>",
    "translational": "",
    "planar": '<plane type="xy" />',
}
TURNS = ("0 0 0", "0 1.5707963267948966 0", "1.5707963267948966 0 3.141592653589793", "0.3 0.2 1.2")


def armed(folder: Path, kind: str = "capsule", joint: str = "revolute", turn: str = "0 0 0", twin: str = "") -> Any:
    """A base with two arms: the right one stands and looks in ways of its own."""
    other = twin or f"<visualization_shape><geometry><{kind}>{SIZES[kind]}</{kind}></geometry></visualization_shape>"
    text = CAPSULES.format(
        kind=kind,
        size=SIZES[kind],
        joint=joint,
        axes=AXES[joint],
        turn=turn,
        twin=other,
        left="-1 0.5 0",
        right="1 0.5 0",
    )
    path = folder / "armed.skel"
    path.write_text(text)
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    rig = the_rig()
    pick(*[obj for obj in parts(rig, "BODY") if obj.name.startswith("arm")])
    bpy.ops.knuckle.link_twins()
    pick(*[obj for obj in parts(rig, "JOINT") if record_of(obj).source_name.startswith("joint")])
    bpy.ops.knuckle.link_twins()
    return rig


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("kind", SIZES)
def test_every_shape_keeps_its_axes_however_the_twin_stands(blank: Any, tmp_path: Path, kind: str, turn: str) -> None:
    rig = armed(tmp_path, kind, turn=turn)
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    left.scale = (1.3, 1.3, 1.3)
    children(left)[0].location.x += 0.05
    bpy.context.view_layer.update()
    pick(left, joint_of(rig, left))
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    zeroed(rig)
    assert off_the_image(left, right, rig) < 1e-5
    (own,), (its,) = children(left), children(right)
    for each in (own, its):
        each.hide_viewport = False
    bpy.context.view_layer.update()
    assert off_the_image(own, its, rig) < 1e-5
    tree = ET.parse(exported(rig, tmp_path))
    told = {}
    for each in tree.iter("body"):
        shape = each.find("visualization_shape")
        told[each.get("name")] = sorted(float(x) for x in " ".join(shape.find("geometry").itertext()).split())
        if each.get("name") != "base":
            balls = [[float(x) for x in e.text.split()] for e in each.iter("position")]
            assert len(balls) == 2, "the balls of the collision shape"
    assert told["arm_L"] == pytest.approx(told["arm_R"], rel=1e-6)
    back = {each.name: each for each in formats.load(tmp_path / "out.skel").bodies}
    one, other = back["arm_L"], back["arm_R"]
    for shape, image in zip(one.shapes, other.shapes, strict=True):
        own_pose, its_pose = one.pose @ shape.pose, other.pose @ image.pose
        reflected = FLIP @ own_pose
        assert its_pose[:3, 3] == pytest.approx(reflected[:3, 3], abs=1e-5)
        if shape.type in {"capsule", "cylinder", "cone"}:
            along = float(its_pose[:3, 2] @ reflected[:3, 2])
            assert along == pytest.approx(1.0 if shape.type == "cone" else np.sign(along), abs=1e-5)
        centers = [
            np.array([pose @ [x, y, z, 1.0] for _radius, x, y, z in balls.spheres])
            for pose, balls in ((reflected, shape), (its_pose, image))
        ]
        assert centers[0] == pytest.approx(centers[1], abs=1e-5)


@pytest.mark.parametrize("joint", AXES)
@pytest.mark.parametrize("other", ["alike", "of another shape"])
def test_a_mirrored_limb_poses_as_the_mirror_image(blank: Any, tmp_path: Path, joint: str, other: str) -> None:
    """At 20 random poses: the corners of its mesh are the reflections of its mate's."""
    rig = armed(tmp_path, "box", joint, TURNS[2], "" if other == "alike" else "<!-- bare -->")
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    empty = joint_of(rig, left)
    left.location += Vector((-0.1, 0.05, 0.2))
    empty.location += Vector((0.02, 0.1, 0.0))
    bpy.context.view_layer.update()
    pick(left, empty)
    bpy.ops.knuckle.mirror_to_twin()
    channels, mirror = servo_channels(rig), motion_mirror(now(rig))
    keys = record_of(empty).source_id, record_of(twin_of(empty)).source_id
    rng = np.random.default_rng(7)
    zeroed(rig)
    assert off_the_image(left, right, rig) < 2e-5
    for _ in range(20 if joint != "weld" else 0):
        values = rng.uniform(-0.35, 0.35, len(channels[keys[0]]))
        write_pose(rig, channels[keys[0]], values)
        write_pose(rig, channels[keys[1]], mirror.values({keys[0]: values[None]})[keys[1]][0])
        bpy.context.view_layer.update()
        assert off_the_image(left, right, rig) < 3e-5


def test_a_twin_of_another_type_becomes_one_of_its_twin(blank: Any, tmp_path: Path) -> None:
    rig = armed(tmp_path)
    empty = joint_of(rig, body(rig, "arm_L"))
    bpy.context.view_layer.objects.active = twin_of(empty)
    pick(twin_of(empty))
    bpy.ops.knuckle.set_joint_type(type="universal")
    assert len(record_of(twin_of(empty)).joint.dofs) == 2
    pick(empty)
    bpy.ops.knuckle.mirror_to_twin()
    record = record_of(twin_of(empty)).joint
    assert [dof.kind for dof in record.dofs] == ["rotation"] and record.type == record_of(empty).joint.type
    mechanism = now(rig)
    bodies = {each.id: each for each in mechanism.bodies}
    left, right = (next(j for j in mechanism.joints if j.name == name) for name in ("joint_L", "joint_R"))
    one, other = (joint_frame_world(j, bodies)[:3, :3] @ j.dofs[0].axis for j in (left, right))
    assert abs(float(other @ FLIP[:3, :3] @ one)) == pytest.approx(1.0, abs=1e-5)


# ---------------------------------------------------------------- what else there is to a part


def test_all_of_a_servo_is_mirrored(blank: Any) -> None:
    rig = imported("hexapod.jm")
    empty = joint_of(rig, body(rig, "Left Front Tibia"))
    own, its = (record_of(each).joint.dofs[0] for each in (empty, twin_of(empty)))
    names = ("servo_stiffness", "servo_damping", "gain", "max_force", "damping", "friction", "stiffness", "armature")
    for number, name in enumerate(names):
        setattr(own, name, 1.5 + number)
    own.position, own.velocity, own.rest = 0.1, 0.2, 0.3
    pick(empty)
    bpy.ops.knuckle.mirror_to_twin()
    assert {name: getattr(its, name) for name in names} == {name: 1.5 + number for number, name in enumerate(names)}
    (part,) = motion_mirror(now(rig)).joints[record_of(empty).source_id].parts
    sign = float(part.matrix[0, 0])
    assert (its.position, its.velocity, its.rest) == pytest.approx((0.1 * sign, 0.2 * sign, 0.3 * sign))


@pytest.mark.parametrize("materials", [True, False])
def test_meshes_are_mirrored_and_materials_where_they_are_wanted(blank: Any, materials: bool, tmp_path: Path) -> None:
    rig = imported("hexapod.jm")
    rig.animation_data_clear()
    zeroed(rig)
    left, right = body(rig, "Left Front Tibia"), body(rig, "Right Front Tibia")
    others = {obj: corners(obj, rig) for obj in parts(rig, "BODY") if obj not in (left, right)}
    red = bpy.data.materials.new("red")
    red.diffuse_color = (1.0, 0.0, 0.0, 1.0)
    left.data = left.data.copy()
    left.data.materials.clear()
    left.data.materials.append(red)
    left.data.vertices[0].co.x += 0.3
    left.data.vertices[1].co.y -= 0.2
    had = right.data.materials[0]
    bpy.context.view_layer.update()
    pick(left)
    bpy.ops.knuckle.mirror_to_twin(materials=materials)
    zeroed(rig)
    assert off_the_image(left, right, rig) < 1e-5
    assert right.data.materials[0] == (red if materials else had) and len(right.data.materials) == 1
    sides = [np.linalg.det(np.array(obj.matrix_world)[:3, :3]) for obj in (left, right)]
    assert min(sides) > 0.0, "no object is turned inside out"
    outwards = sum(polygon.normal.dot(polygon.center) > 0 for polygon in right.data.polygons)
    assert outwards == sum(polygon.normal.dot(polygon.center) > 0 for polygon in left.data.polygons)
    assert all(corners(obj, rig) == pytest.approx(before, abs=1e-6) for obj, before in others.items())


MESH = (
    "<transformation>{0}</transformation>"
    "<geometry><mesh><file_name>{1}.obj</file_name><scale>{2}</scale></mesh></geometry>"
)


def test_meshes_of_files_are_mirrored_by_the_sign_of_their_scale(blank: Any, tmp_path: Path) -> None:
    """Seen, collided with, and in the file that is read again; a twin's own file that is a mirror image stays."""
    faces = "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    (tmp_path / "odd.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 0.5 0\nv 0.2 0.3 0.9\n" + faces)
    (tmp_path / "other.obj").write_text("v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\n" + faces)
    shape = "<visualization_shape>" + MESH.format("0.1 0 0 0 0 0", "other", "1 1 1") + "</visualization_shape>"
    armed(tmp_path, "box", turn=TURNS[3], twin=shape)
    path = tmp_path / "armed.skel"
    touch = "<collision_shape>" + MESH.format("0 0.3 0 0.1 0 0", "odd", "1 1 1") + "</collision_shape>"
    seen = MESH.format("0.1 0.2 0.3 0.4 0.5 0.6", "odd", "1 1.5 0.7")
    seen = f"<visualization_shape>{seen}</visualization_shape>"
    text = path.read_text()
    at = text.index("<visualization_shape>", text.index("arm_L"))
    path.write_text(text[:at] + seen + touch + text[text.index("</body>", at) :])
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.mechanism(filepath=str(path))
    rig = the_rig()
    pick(body(rig, "arm_L"), body(rig, "arm_R"))
    bpy.ops.knuckle.link_twins()
    texts = []
    for first in ("arm_L", "arm_R"):
        pick(body(rig, first))
        bpy.ops.knuckle.mirror_to_twin()
        assert off_the_image(body(rig, "arm_L"), body(rig, "arm_R"), rig) < 1e-5
        texts.append(exported(rig, tmp_path).read_text())
    assert texts[0] == texts[1]
    right = next(each for each in ET.fromstring(texts[0]).iter("body") if each.get("name") == "arm_R")
    scales = [float(x) for x in right.findtext("visualization_shape/geometry/mesh/scale").split()]
    assert [abs(x) for x in scales] == [1.0, 1.5, 0.7] and np.prod(scales) < 0.0
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "out.skel"))
    rig = the_rig()
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    assert off_the_image(left, right, rig) < 1e-5
    (own,), (its,) = children(left), children(right)
    own.hide_viewport = its.hide_viewport = False
    bpy.context.view_layer.update()
    assert off_the_image(own, its, rig) < 1e-5


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("off", [0.0, 1e-7, 1e-5, 0.1])
def test_a_twins_own_file_stays_whatever_its_center_of_mass_was(
    blank: Any, tmp_path: Path, size: float, off: float
) -> None:
    """It is the mirror image where it is on its body. ``off``: how far the center is, as a share of the size."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.2, 0.3, 0.9]]) * size
    for name, flip, faces in (
        ("odd", 1.0, "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"),
        ("even", -1.0, "f 1 2 3\nf 1 4 2\n"),
    ):
        rows = "".join(f"v {x * flip:.9g} {y:.9g} {z:.9g}\n" for x, y, z in points)
        (tmp_path / f"{name}.obj").write_text(rows + faces)
    text = '<?xml version="1.0"?><skel version="1.0"><world name="w"><skeleton name="s">'
    for name, side, file, com in (("base", 0, "", 0.0), ("arm_L", -1, "odd", 0.3), ("arm_R", 1, "even", off - 0.3)):
        mesh = f"<visualization_shape>{MESH.format('0 0 0 0 0 0', file, '1 1 1')}</visualization_shape>" if file else ""
        text += f'<body name="{name}"><transformation>{2 * side * size} 0 0 0 0 0</transformation><inertia><mass>1'
        text += f"</mass><offset>{com * size:.12g} 0 0</offset></inertia>{mesh}</body>"
    text += '<joint type="free" name="root"><parent>world</parent><child>base</child></joint>'
    for name in ("arm_L", "arm_R"):
        text += f'<joint type="weld" name="at_{name}"><parent>base</parent><child>{name}</child></joint>'
    (tmp_path / "arms.skel").write_text(text + "</skeleton></world></skel>")
    assert bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "arms.skel")) == {"FINISHED"}
    rig = the_rig()
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    pick(left, right)
    bpy.ops.knuckle.link_twins()
    pick(left)
    assert bpy.ops.knuckle.mirror_to_twin(plane="X") == {"FINISHED"}
    told = {each.get("name"): each for each in ET.parse(exported(rig, tmp_path)).iter("body")}
    assert {name: each.findtext(".//file_name") for name, each in told.items()} == {
        "base": None, "arm_L": "odd.obj", "arm_R": "even.obj",
    }  # fmt: skip
    assert float(told["arm_R"].findtext("inertia/offset").split()[0]) == pytest.approx(-0.3 * size, rel=1e-6)
    bpy.context.view_layer.update()
    assert off_the_image(left, right, rig) < 3e-5 * size


@pytest.mark.parametrize(
    ("name", "first", "other", "across"),
    [("hexapod.jm", "Left Front Tibia", "Right Front Tibia", 0), ("humanoid.skel", "left foot", "right foot", 1)],
)
def test_a_twin_of_another_color_stands_as_the_image_after_each_edit(
    blank: Any, name: str, first: str, other: str, across: int
) -> None:
    """It has its mate's mesh then, whose points come in another order: that is no edit of it."""
    rig = imported(name)
    rig.animation_data_clear()
    zeroed(rig)
    left, right = body(rig, first), body(rig, other)
    if twin_of(left) is None:
        find_and_link(rig)
    flip = np.eye(4)
    flip[across, across] = -1.0
    left.data = left.data.copy()
    left.data.materials.clear()
    left.data.materials.append(bpy.data.materials.new("red"))
    size, shapes = list(right.scale), [list(shape.size) for shape in record_of(right).shapes]
    pick(left)
    bpy.ops.knuckle.mirror_to_twin()
    for _ in range(2):
        left.matrix_basis = left.matrix_basis @ Euler((0.1, 0.2, 0.3)).to_matrix().to_4x4()
        bpy.context.view_layer.update()
        pick(left)
        bpy.ops.knuckle.mirror_to_twin()
        zeroed(rig)
        assert off_the_image(left, right, rig, flip) < 1e-5
        assert list(right.scale) == pytest.approx(size, abs=1e-6)
        assert np.linalg.det(np.array(right.matrix_basis)[:3, :3]) > 0.0
        held = {each.id: each for each in now(rig).bodies}[record_of(right).source_id]
        assert np.abs(held.pose[:3, :3] - in_model(right, rig)[:3, :3]).max() < 1e-5
    assert [list(shape.size) for shape in record_of(right).shapes] == shapes


def test_a_twin_with_more_collision_shapes_loses_them(blank: Any, tmp_path: Path) -> None:
    """With their objects, also in the file."""
    shape = (
        "<{0}_shape><transformation>{1}</transformation><geometry><box><size>1 1 1</size></box></geometry></{0}_shape>"
    )
    more = [shape.format(kind, f"0 {at} 0 0 0 0") for kind, at in (("visualization", 0), ("collision", 1))]
    more += [shape.format("collision", f"0 {at} 0 0 0 0") for at in (2, 3, 4)]
    rig = armed(tmp_path, twin="".join(more))
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    wanted = len(children(left))
    assert len(children(right)) == 4 > wanted
    pick(left)
    assert bpy.ops.knuckle.mirror_to_twin(plane="X") == {"FINISHED"}
    assert len(children(right)) == wanted
    tree = ET.parse(exported(rig, tmp_path))
    counts = {each.get("name"): len(each.findall("collision_shape")) for each in tree.iter("body")}
    assert counts["arm_L"] == counts["arm_R"]


def test_body_and_joint_flags_are_mirrored_to_the_twin(blank: Any, tmp_path: Path) -> None:
    rig = armed(tmp_path)
    left = body(rig, "arm_L")
    record_of(left).gravity = record_of(left).collidable = False
    for shape in record_of(left).shapes:
        shape.collidable = False
    pick(left)
    bpy.ops.knuckle.mirror_to_twin()
    tree = ET.parse(exported(reopened(tmp_path), tmp_path))
    told = {each.get("name"): each.findtext("gravity") for each in tree.iter("body")}
    assert told["arm_L"] == told["arm_R"] and told["arm_R"] != told["base"]
    touch = {each.get("name"): each.findtext("collision_shape/collidable") for each in tree.iter("body")}
    assert touch["arm_L"] == touch["arm_R"] and touch["arm_R"] is not None


def test_frames_and_lights_on_a_body_are_mirrored_and_made(blank: Any, tmp_path: Path) -> None:
    rig = imported("brake_abbreviated_joint_names.json")
    find_and_link(rig)
    left = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "left arm")
    right = twin_of(left)
    pick(left)
    bpy.ops.knuckle.mirror_to_twin()
    flip = mirror_plane_of(rig).reflection
    bpy.context.view_layer.update()
    assert len(children(left, "FRAME")) == len(children(right, "FRAME")) == 3
    for frame in children(left, "FRAME"):
        place = (flip @ in_model(frame, rig))[:3, 3]
        off = min(np.linalg.norm(place - in_model(each, rig)[:3, 3]) for each in children(right, "FRAME"))
        assert off < 2e-4, "as far as bones are exact at this size"
    told = json.loads(exported(rig, tmp_path).read_text())
    assert told


def test_twins_that_are_made_have_the_frames_of_their_originals(blank: Any, tmp_path: Path) -> None:
    rig = imported("pumpjack.json")
    obj = next(each for each in parts(rig, "BODY") if children(each, "FRAME"))
    count = len(now(rig).frames)
    pick(obj)
    bpy.ops.knuckle.create_twin(plane="X")
    made = twin_of(obj)
    assert len(children(made, "FRAME")) == len(children(obj, "FRAME"))
    frames = [frame for frame in now(rig).frames if frame.body == record_of(made).source_id]
    assert len(frames) == len(children(obj, "FRAME")) and len(now(rig).frames) == count + len(frames)
    own = {frame.name: frame for frame in now(rig).frames if frame.body == record_of(obj).source_id}
    bodies = {each.id: each for each in now(rig).bodies}
    places = [bodies[record_of(made).source_id].pose @ frame.pose for frame in frames]
    for frame in own.values():
        place = FLIP @ bodies[record_of(obj).source_id].pose @ frame.pose
        assert min(np.abs(place[:3, 3] - each[:3, 3]).max() for each in places) < 1e-6
    back = formats.load(exported(rig, tmp_path))
    assert {each.body for each in back.frames} >= {"beam", "beam twin"} or len(back.frames) > count


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("name", ["hexapod.jm", "humanoid.skel", "rover.jm"])
@pytest.mark.parametrize("state", ["initial pose", "posed", "animated"])
def test_mirroring_there_and_back_changes_nothing_more(blank: Any, name: str, state: str, tmp_path: Path) -> None:
    rig = imported(name)
    if not twins_by_part(rig):
        find_and_link(rig)
    rng = np.random.default_rng(5)
    if state != "initial pose":
        for own in servo_channels(rig).values():
            write_pose(rig, own, rng.uniform(-0.2, 0.2, len(own)))
    if state == "animated":
        bpy.context.scene.frame_set(25)
    bpy.context.view_layer.update()
    pairs = left_parts(rig)
    for obj in pairs:
        obj.location += Vector(rng.uniform(-0.01, 0.01, 3).tolist())
        if record_of(obj).role == "BODY":
            obj.matrix_basis = obj.matrix_basis @ Euler(rng.uniform(-0.1, 0.1, 3).tolist()).to_matrix().to_4x4()
            record_of(obj).mass *= 0.9
    bpy.context.view_layer.update()
    pick(*pairs)
    bpy.ops.knuckle.mirror_to_twin()
    first = {obj: obj.matrix_basis.copy() for pair in pairs.items() for obj in pair}
    text = exported(rig, tmp_path).read_text()
    pick(*pairs.values())
    bpy.ops.knuckle.mirror_to_twin()
    assert all(obj.matrix_basis == before for obj, before in first.items())
    assert exported(rig, tmp_path).read_text() == text


# ---------------------------------------------------------------- twins that are made


def test_a_twin_is_posed_and_keyed_as_its_original(blank: Any) -> None:
    rig = imported("rover.jm")
    empty = next(each for each in parts(rig, "JOINT") if record_of(each).source_name == "Aerial Base")
    obj = record_of(empty).joint.child
    bone = rig.pose.bones[servo_channels(rig)[record_of(empty).source_id][0].bone]
    for frame, value in ((1, 0.4), (20, -0.2)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(7)
    bpy.context.view_layer.update()
    pick(obj)
    assert bpy.ops.knuckle.create_twin() == {"FINISHED"}
    bpy.context.view_layer.update()
    flip = mirror_plane_of(rig).reflection
    for frame in (None, 1, 13, 20):
        if frame is not None:
            bpy.context.scene.frame_set(frame)
        assert off_the_image(obj, twin_of(obj), rig, flip) < 1e-4, frame
    rest = in_model(obj, rig)[:3, :3] @ np.array(obj.matrix_basis.to_3x3()).T
    assert np.abs(rest - np.eye(3)).max() > 0.1, "it is posed"


@pytest.mark.parametrize("how", ["excluded", "hidden", "inactive"])
def test_twins_are_made_of_what_cannot_be_selected(blank: Any, how: str) -> None:
    rig = imported("rover.jm")
    obj = body(rig, "Aerial")
    empty = joint_of(rig, obj)
    pick(obj)
    if how == "excluded":
        layer = bpy.context.view_layer.layer_collection
        top = layer.children[settings(rig).collection.name]
        next(each for each in top.children if each.collection in empty.users_collection).exclude = True
    elif how == "hidden":
        empty.hide_set(True)
    else:
        empty.hide_viewport = True
    assert bpy.ops.knuckle.create_twin() == {"FINISHED"}
    made = twin_of(obj)
    assert made is not None and twin_of(empty) is not None
    assert bpy.context.view_layer.objects.active == made and made.select_get() and not obj.select_get()


def test_symmetric_editing_uses_the_plane_of_the_mechanism(blank: Any) -> None:
    rig = imported("hexapod.jm")
    set_mirror_plane(rig, Plane(np.eye(3)[0], 0.25))
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    obj = body(rig, "Left Front Femur")
    pick(obj)
    obj.location.z += 0.1
    bpy.context.view_layer.update()
    assert twin_of(obj).location.x == pytest.approx(0.5 - obj.location.x, abs=1e-6)
