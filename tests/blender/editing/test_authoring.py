"""A walker made from plain meshes by operators alone: it poses, walks under physics, and goes through every format."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.editing.authoring import make_body, new_model
from addon.blender.scene.read.mechanism import extract
from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import compare_twins
from addon.core.kinematics import spanning_tree
from tests.support.authoring_helpers import cylinder
from tests.support.emptied import empty_file
from tests.support.scenes import pick


def strider() -> Any:
    """A trunk with a leg of two hinges at each corner, the right ones made as twins of the left."""
    bpy.ops.knuckle.new_model(name="Strider")
    rig = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 1.2), scale=(0.8, 1.6, 0.3))
    trunk = bpy.context.object
    trunk.name = "Trunk"
    legs = {
        end: (
            cylinder(f"Left {end} Thigh", 0.08, 0.5, (-0.5, y, 0.95)),
            cylinder(f"Left {end} Shin", 0.07, 0.6, (-0.5, y, 0.4)),
        )
        for end, y in (("Front", 0.6), ("Rear", -0.6))
    }
    limbs = [part for leg in legs.values() for part in leg]
    pick(trunk, *limbs, rig)
    assert bpy.ops.knuckle.make_body(density=300.0) == {"FINISHED"}
    for end, (thigh, shin) in legs.items():
        y = thigh.matrix_world.translation.y
        for child, parent, height, name in ((thigh, trunk, 1.2, "Hip"), (shin, thigh, 0.7, "Knee")):
            bpy.context.scene.cursor.matrix = Matrix.Translation((-0.5, y, height))
            pick(child, parent)
            assert bpy.ops.knuckle.add_joint(type="revolute", axis="X", name=f"Left {end} {name}") == {"FINISHED"}
    pick(*limbs)
    assert bpy.ops.knuckle.create_twin(plane="X") == {"FINISHED"}
    bpy.context.view_layer.update()
    return rig


def test_bodies_are_what_their_meshes_are(blank: Any) -> None:
    rig = strider()
    mechanism = extract(settings(rig).collection)
    sizes = {body.name: (body.shapes[0].type, body.shapes[0].size, body.mass) for body in mechanism.bodies}
    kind, size, mass = sizes["Trunk"]
    assert (kind, size) == ("box", {"x": 0.8, "y": 1.6, "z": 0.3})
    assert mass == pytest.approx(300.0 * 0.8 * 1.6 * 0.3)
    kind, size, mass = sizes["Right Rear Shin"]
    assert (kind, size) == ("cylinder", {"length": 0.6, "radius": 0.07})
    assert mass == pytest.approx(300.0 * math.pi * 0.07**2 * 0.6, rel=1e-5)
    assert len(mechanism.bodies) == 9 and len(mechanism.joints) == 8
    sides = find_sides(mechanism)
    assert len(sides.bodies) == 8 and compare_twins(mechanism, sides) == []
    tree = spanning_tree(mechanism)
    assert [root.name for root in tree.roots] == ["Trunk"] and not tree.loop_joints


def test_the_animation_of_a_mesh_is_detached_when_it_becomes_a_body(blank: Any) -> None:
    bpy.ops.knuckle.new_model(name="Strider")
    rig = bpy.context.object
    keyed = cylinder("Keyed", 0.1, 1.0, (3, 0, 0))
    keyed.keyframe_insert("location", frame=1)
    keyed.location.x = 9.0
    keyed.keyframe_insert("location", frame=20)
    action = keyed.animation_data.action
    keyed.driver_add("scale", 2).driver.expression = "1 + 0 * frame"
    keyed.driver_add("hide_render").driver.expression = "frame > 100"
    strip = keyed.animation_data.nla_tracks.new().strips.new("Strip", 1, action.copy())
    plain = cylinder("Plain", 0.1, 1.0, (0, 0, 0))
    bpy.context.scene.frame_set(1)
    other = strip.action
    pick(keyed, plain, rig)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    places = []
    for frame in (1, 20):
        bpy.context.scene.frame_set(frame)
        places.append(extract(settings(rig).collection).bodies[0].pose[:3, 3])
    assert places[0] == pytest.approx([3, 0, 0]) and places[1] == pytest.approx([3, 0, 0])
    assert action.use_fake_user and other.use_fake_user, "they are kept"
    assert [curve.data_path for curve in keyed.animation_data.drivers] == ["hide_render"]
    assert not len(keyed.animation_data.nla_tracks)
    bpy.ops.ed.undo_push(message="made")
    bpy.ops.ed.undo()
    assert bpy.data.objects["Keyed"].animation_data.action is not None


def test_detached_animation_is_reported(blank: Any) -> None:
    rig = new_model(bpy.context)
    keyed, plain = cylinder("Keyed", 0.1, 1.0, (3, 0, 0)), cylinder("Plain", 0.1, 1.0, (0, 0, 0))
    keyed.keyframe_insert("location", frame=1)
    report = make_body(rig, [keyed, plain])
    (entry,) = [entry for entry in report.entries if entry.code == "animation-put-aside"]
    assert entry.where == "Keyed" and "'KeyedAction' kept" in entry.message


def test_a_mesh_that_nobody_has_any_more_goes(blank: Any) -> None:
    rig = new_model(bpy.context)
    one = cylinder("One", 0.1, 1.0, (3, 0, 0))
    one.data.name = "Tube"
    shared = cylinder("Shared", 0.2, 1.0, (0, 0, 0))
    shared.data.name = "Pipe"
    pipe = shared.data
    other = bpy.data.objects.new("Other", pipe)
    bpy.context.scene.collection.objects.link(other)
    make_body(rig, [one, shared])
    assert one.data.name == "Tube" and "Tube.001" not in bpy.data.meshes
    assert other.data == pipe and pipe.name == "Pipe" and shared.data != pipe
    assert all(mesh.users for mesh in bpy.data.meshes)


def test_what_is_linked_from_another_file_cannot_be_a_body(blank: Any, tmp_path: Path) -> None:
    cylinder("Theirs", 0.1, 1.0, (0, 0, 0))
    path = str(tmp_path / "theirs.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    empty_file()
    rig = new_model(bpy.context)
    with bpy.data.libraries.load(path, link=True) as (_there, here):
        here.objects = ["Theirs"]
    theirs = bpy.data.objects["Theirs"]
    bpy.context.scene.collection.objects.link(theirs)
    mine = cylinder("Mine", 0.1, 1.0, (3, 0, 0))
    meshes = len(bpy.data.meshes)
    pick(mine, theirs, rig)
    with pytest.raises(RuntimeError, match="'Theirs': linked from another file. Make it local first"):
        bpy.ops.knuckle.make_body()
    assert record_of(mine).role == "NONE" and len(bpy.data.meshes) == meshes and not parts(rig, "BODY")


@pytest.mark.parametrize("format_", list(formats.FORMATS))
def test_an_authored_walker_comes_back_from_every_format(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = strider()
    mechanism = extract(settings(rig).collection)
    path = tmp_path / f"strider{formats.FORMATS[format_].extensions[0]}"
    formats.save(mechanism, path, format_)
    back = formats.load(path)
    assert sorted(body.name for body in back.bodies) == sorted(body.name for body in mechanism.bodies)
    own, its = ({body.name: body for body in each.bodies} for each in (mechanism, back))
    for name, body in own.items():
        assert its[name].mass == pytest.approx(body.mass, rel=1e-5)
    poses = [
        {body.name: pose for body, pose in zip(each.bodies, spanning_tree(each).forward(turned(each))[0], strict=True)}
        for each in (mechanism, back)
    ]
    for name, pose in poses[0].items():
        com = pose[:3, 3] + pose[:3, :3] @ own[name].com
        its_pose = poses[1][name]
        assert its_pose[:3, 3] + its_pose[:3, :3] @ its[name].com == pytest.approx(com, abs=1e-4), name


def turned(mechanism: Any) -> dict[str, np.ndarray]:
    """Every hinge at an angle of its own, told by its name: formats may count the other way round."""
    out = {}
    for joint in mechanism.joints:
        if [dof.kind for dof in joint.dofs] == ["rotation"]:
            out[joint.id] = np.array([[0.0]])
    return out


def test_an_authored_walker_walks_under_physics(blank: Any, tmp_path: Path) -> None:
    rig = strider()
    blend = str(tmp_path / "strider.blend")
    bpy.ops.wm.save_as_mainfile(filepath=blend)
    bpy.ops.wm.open_mainfile(filepath=blend)
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    scene = bpy.context.scene
    scene.render.fps, scene.frame_end = 60, 240
    pick(rig)
    bpy.ops.knuckle.build_physics()
    for end, phase in (("Front", 0.0), ("Rear", math.pi)):
        for side, later, sense in (("Left", 0.0, 1.0), ("Right", math.pi, -1.0)):
            hip, knee = (rig.pose.bones[f"{side} {end} {name}"] for name in ("Hip", "Knee"))
            for frame in range(1, 241, 4):
                turn = 2 * math.pi * 1.6 * (frame - 1) / 60 + phase + later
                ramp = min((frame - 1) / 30, 1.0)
                hip.rotation_euler.z = sense * ramp * 0.2 * math.sin(turn)
                knee.rotation_euler.z = sense * ramp * -0.4 * max(0.0, math.cos(turn))
                for bone in (hip, knee):
                    bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.ops.knuckle.set_drive(drive="SERVO")
    trunk = bpy.data.objects["Trunk"]
    track = []
    for frame in range(1, 241):
        scene.frame_set(frame)
        track.append(np.array(trunk.matrix_world))
    moved = track[-1][:3, 3] - track[0][:3, 3]
    assert np.linalg.norm(moved[:2]) > 0.5, f"it walks: {moved}"
    assert track[-1][2, 2] > 0.9 and track[-1][2, 3] > 0.9, "and does not fall"
    assert len(parts(rig, "JOINT")) == 8


def test_a_joint_to_what_is_no_body_of_the_model_is_rejected(blank: Any) -> None:
    strider()
    body = bpy.data.objects["Trunk"]
    bpy.ops.mesh.primitive_cube_add(size=0.2, location=(5, 0, 0))
    plain = bpy.context.object
    pick(plain, body)
    with pytest.raises(RuntimeError, match="is no body yet: Make Body first"):
        bpy.ops.knuckle.add_joint()
    bpy.ops.knuckle.new_model(name="Other")
    other = bpy.context.object
    pick(plain, other)
    bpy.ops.knuckle.make_body()
    pick(plain, body)
    with pytest.raises(RuntimeError, match="is of another mechanism: Merge the two first"):
        bpy.ops.knuckle.add_joint()
    assert not any(record_of(obj).joint.at_world for obj in bpy.data.objects if record_of(obj).role == "JOINT")
