"""Where the marks of real models go: what bones are posed at is what is measured on the bodies, and what is drawn
follows each edit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender import overlay
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, rig_in
from addon.blender.editing.joints import set_joint_type
from addon.blender.overlay import MechanismSnapshot, draw_models, joint_dials
from addon.blender.reconcile.build import BuildOptions, build

OWN = Path(__file__).resolve().parents[2] / "sample_models"
MODELS = ("hexapod.jm", "humanoid.skel", "pumpjack.json", "sensor_leg.xml")


def made(name: str) -> Any:
    overlay.clear_mechanism_indices()
    path = next(OWN.rglob(name))
    rig = rig_in(build(formats.load(path), options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.update()
    return rig


def stand(rig: Any) -> MechanismSnapshot:
    return MechanismSnapshot(rig, settings(rig).collection.all_objects, overlay.mechanism_index(rig))


def pose(rig: Any) -> None:
    """Turn and slide every servo a little, out of its stops' reach."""
    rng = np.random.default_rng(0)
    for bone in rig.pose.bones:
        for constraint in bone.constraints:
            constraint.enabled = False
    for channel in (channel for chain in servo_channels(rig).values() for channel in chain if channel.is_single):
        getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = rng.uniform(-0.4, 0.4)
    bpy.context.view_layer.update()


@pytest.mark.parametrize("name", MODELS)
def test_posed_values_are_those_measured_on_the_bodies(blank: Any, name: str) -> None:
    rig = made(name)
    rig.matrix_world = (
        Matrix.Translation((1.0, -2.0, 0.5)) @ Matrix.Rotation(0.7, 4, (1.0, 2.0, 3.0)) @ Matrix.Scale(2, 4)
    )
    pose(rig)
    posed = stand(rig).degrees()[0]
    settings(rig).drive = "LIMP"  # now the bodies are what tells
    measured = stand(rig).degrees()[0]
    assert len(posed) >= 3
    assert np.abs(posed.value).max() > 0.2
    assert measured.value == pytest.approx(posed.value, abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_dials_stand_about_their_joints_and_their_hands_point_at_the_bodies(blank: Any, name: str) -> None:
    rig = made(name)
    pose(rig)
    for empty in hinges(rig):
        assert joint_dials(empty)[0].origin[0] == pytest.approx(empty.matrix_world.translation, abs=1e-5)
    assert max(misses(rig)) < 1e-3


def test_under_physics_hands_point_at_bodies_and_not_where_bones_are(blank: Any) -> None:
    rig = made("hexapod.jm")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.build_physics()
    settings(rig).drive = "LIMP"
    for frame in range(1, 25):
        bpy.context.scene.frame_set(frame)
    fallen = stand(rig).degrees()[0].value
    assert np.abs(fallen).max() > 0.3
    assert max(misses(rig)) < 0.05  # pivots give a little


def hinges(rig: Any) -> list[Any]:
    """Joints with one axis and both bodies."""
    joints = [empty for empty in parts(rig, "JOINT") if record_of(empty).joint.active]
    return [each for each in joints if len(joint_dials(each)[0]) == 1 and record_of(each).joint.parent is not None]


def misses(rig: Any) -> Iterator[float]:
    """By how much the hands of dials miss the bodies that they move, as chords of a circle of radius 1."""
    for empty in hinges(rig):
        found, _ = joint_dials(empty)
        child = record_of(empty).joint.child
        away = np.array(child.matrix_world.translation) - found.origin[0]
        if (child.matrix_basis.translation - empty.matrix_basis.translation).length < 0.01:
            continue  # its centre of mass is in the joint
        flat = away - (away @ found.axis[0]) * found.axis[0]
        if found.turns[0] and np.linalg.norm(flat) > 0.1 * np.linalg.norm(away):
            hand = found.at(found.value)[0] - found.origin[0]
            yield float(np.linalg.norm(hand / np.linalg.norm(hand) - flat / np.linalg.norm(flat)))


def test_one_joint_alone_is_placed_as_among_all(blank: Any) -> None:
    rig = made("humanoid.skel")
    pose(rig)
    every = stand(rig).degrees()[0]
    rows = [(*row[0], *row[1], row[2]) for row in zip(every.origin, every.axis, every.value, strict=True)]
    alone = []
    for empty in (each for each in parts(rig, "JOINT") if record_of(each).joint.active):
        found, _ = joint_dials(empty)
        alone += [(*row[0], *row[1], row[2]) for row in zip(found.origin, found.axis, found.value, strict=True)]
    assert np.array(sorted(alone)) == pytest.approx(np.array(sorted(rows)), abs=1e-6)


def count(rig: Any, *kinds: str) -> int:
    drawing = draw_models(bpy.context.scene, kinds)
    strokes = (drawing.fine, drawing.bold, drawing.faces, drawing.solids)
    return sum(len(each.arrays()[0]) for each in strokes)


def test_what_is_drawn_follows_edits(blank: Any) -> None:
    rig = made("hexapod.jm")
    knee = next(obj for obj in parts(rig, "JOINT") if obj.name == "Left Front Knee")
    dof = record_of(knee).joint.dofs[0]
    row = int(np.argmin(np.linalg.norm(stand(rig).degrees()[0].origin - knee.matrix_world.translation, axis=1)))
    dof.upper = 0.25
    assert stand(rig).degrees()[0].upper[row] != pytest.approx(0.25), "records are kept until somebody tells"
    overlay.update_joint_index(knee)
    assert stand(rig).degrees()[0].upper[row] == pytest.approx(0.25)
    dof.use_upper = False
    overlay.update_joint_index(knee)
    assert np.isnan(stand(rig).degrees()[0].upper[row])
    set_joint_type(knee, "prismatic")
    overlay.update_joint_index(knee)
    assert (~stand(rig).degrees()[0].turns).sum() == 1
    before = count(rig, "centres")
    bpy.data.objects.remove(parts(rig, "BODY")[-1])
    assert before - count(rig, "centres") == 24  # one sign of eight faces, and nobody had to tell


def test_hidden_bodies_take_their_marks_with_them(blank: Any) -> None:
    rig = made("hexapod.jm")
    every = {kind: count(rig, kind) for kind in ("axes", "stops", "twins", "centres", "inertia")}
    assert all(every.values())
    for body in parts(rig, "BODY")[:-3]:
        body.hide_set(True)
    few = {kind: count(rig, kind) for kind in every}
    assert few["centres"] == 3 * 24
    assert few["inertia"] == 3 * 24
    assert 0 < few["axes"] < every["axes"]
    for body in parts(rig, "BODY"):
        body.hide_set(True)
    assert count(rig, "axes", "stops", "centres", "inertia") == 0


def test_a_floor_has_no_box_of_inertia(blank: Any) -> None:
    rig = made("humanoid.skel")
    fixed = sum(record_of(body).immobile for body in parts(rig, "BODY"))
    assert fixed
    assert count(rig, "inertia") == 24 * (len(parts(rig, "BODY")) - fixed)


def test_an_empty_scene_has_no_marks(blank: Any) -> None:
    assert count(None, "axes", "stops", "twins", "centres", "inertia") == 0
