"""Joints of loops that get another type, and loops that are cut: bodies stay where they are seen at the present frame,
the file closes where it did, and what the motion loses is told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.compat import use_action
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.conversion import set_mirror_plane
from addon.blender.data.queries import parts, rig_in, twin_of
from addon.blender.editing.joints import delete_objects, place_joint, set_joint_type
from addon.blender.editing.split_merge import split_model
from addon.blender.editing.symmetry.twins import create_twins, mirror_to_twins
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.rig.pose_channels import write_pose
from addon.blender.scene.read.mechanism import extract
from addon.core.editing.mirroring import motion_mirror
from addon.core.model import Assembly, Plane
from tests.support import holding
from tests.support.emptied import empty_file
from tests.support.holding import SAME, Seen
from tests.support.scenes import body, found, made, pick

HELD = "slider_crank_2substructures_2.json"
KEYS = (1, 21)


def the_joint(rig: Any, name: str) -> Any:
    return next(each for each in parts(rig, "JOINT") if record_of(each).source_name == name)


def by_name(rig: Any) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {record_of(obj).source_name: np.array(obj.matrix_world.normalized()) for obj in parts(rig, "BODY")}


@pytest.mark.parametrize("type_", ["translational", "free", "planar", "ball"])
def test_a_file_whose_loops_are_assembled_has_them_there_when_a_joint_moves_otherwise(blank: Any, type_: str) -> None:
    """Loops with more freedom than before would close elsewhere from where the file has them."""
    rig = made("excavator_no_base.json")
    before, size = by_name(rig), Seen.of(rig).size
    set_joint_type(the_joint(rig, "J_boom_to_stick_cylinder"), type_)
    text, _report = formats.dumps(extract(rig), "shift")
    path = settings(rig).path
    empty_file()
    again = by_name(rig_in(build(formats.loads(text.encode(), path), options=BuildOptions(gait=False, physics=False))))
    assert max(holding.off(again[name], pose, size) for name, pose in before.items()) < SAME


def test_a_keyed_loop_stays_when_a_cylinder_joint_becomes_prismatic(blank: Any) -> None:
    rig = made("excavator_no_base.json")
    holding.keyed(rig)
    before = Seen.of(rig)
    set_joint_type(the_joint(rig, "J_boom_to_stick_cylinder"), "translational")
    assert before.apart(Seen.of(rig))[0] < SAME


def _split(rig: Any, name: str) -> Any:
    made_, _names, report = split_model(rig, [body(rig, name)])
    return made_, report


def _split_to_world(rig: Any, name: str) -> Any:
    made_, _names, report = split_model(rig, [body(rig, name)], to_world=True)
    return made_, report


def _delete(rig: Any, name: str) -> Any:
    return rig, delete_objects(rig, [the_joint(rig, name)])[2]


def _free(rig: Any, name: str) -> Any:
    return rig, set_joint_type(the_joint(rig, name), "free")


@pytest.mark.parametrize(
    ("cut", "name"),
    [
        (_split, "crank"), (_split, "piston"), (_split_to_world, "piston"), (_delete, "A_fixed_crank"),
        (_free, "C_connecting_rod_piston"),
    ],
)  # fmt: skip
def test_a_loop_held_short_of_its_keys_stays_there_when_it_is_cut(
    blank: Any, cut: Callable[[Any, str], Any], name: str
) -> None:
    """Its keys say where they led it to: without the loop nothing holds its joints short of them."""
    rig = made(HELD)
    holding.keyed(rig)
    bpy.context.view_layer.update()
    assert "loop-held" in {line.code for line in settings(rig).report}
    before = Seen.of(rig)
    other, _report = cut(rig, name)
    for _again in range(2):
        after = Seen.of(rig)
        after.bodies |= Seen.of(other).bodies
        assert before.apart(after)[0] < SAME
        bpy.context.scene.frame_set(holding.FRAME)


def test_a_split_keeps_the_motion_of_a_keyed_loop(blank: Any) -> None:
    rig = made("pumpjack.json")
    holding.keyed(rig)
    then = {}
    for frame in KEYS:
        bpy.context.scene.frame_set(frame)
        then[frame] = Seen.of(rig)
    bpy.context.scene.frame_set(holding.FRAME)
    other, _names, report = split_model(rig, [body(rig, "beam")])
    worst = 0.0
    for frame, seen in then.items():
        bpy.context.scene.frame_set(frame)
        now = Seen.of(rig)
        now.bodies |= Seen.of(other).bodies
        off = (np.linalg.norm(pose[:3, 3] - now.bodies[own][:3, 3]) for own, pose in seen.bodies.items())
        worst = max(worst, *map(float, off))
    assert worst < 1e-4
    assert not [each for each in report.entries if each.code == "motion-changed"]


def test_all_bodies_of_a_keyed_loop_are_deleted(blank: Any) -> None:
    rig = made("pumpjack.json")
    holding.keyed(rig)
    assert delete_objects(rig, parts(rig, "BODY"))[0] == 4


@pytest.mark.parametrize("type_", ["ball", "prismatic", "weld"])
@pytest.mark.parametrize("name", ["saddle_bearing", "crank_pin"])
def test_a_loop_that_keyframes_hold_open_stays_so_when_a_joint_gets_another_type(
    blank: Any, name: str, type_: str
) -> None:
    """With a keyframe less it would follow the others, and close."""
    rig = made("pumpjack.json")
    random = np.random.default_rng(5)
    for frame in KEYS:
        for own in servo_channels(rig).values():
            for channel in own:
                write_pose(rig, [channel], random.uniform(-0.3, 0.3, 1))
                for path, index in channel.curves():
                    rig.keyframe_insert(path, index=index, frame=frame)
    bpy.context.scene.frame_set(holding.FRAME)
    before = Seen.of(rig)
    set_joint_type(the_joint(rig, name), type_)
    for frame in (*KEYS, holding.FRAME):
        bpy.context.scene.frame_set(frame)
    assert before.apart(Seen.of(rig))[0] < SAME


def inputs(rig: Any) -> set[str]:
    return {
        each.name
        for each in parts(rig, "JOINT")
        if not (record_of(each).joint.is_dependent or record_of(each).joint.loop)
    }


def _delete_by_hand(rig: Any, empty: Any) -> None:
    bpy.data.objects.remove(empty)
    bpy.context.view_layer.update()
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}


@pytest.mark.parametrize(
    "delete", [lambda rig, empty: delete_objects(rig, [empty]), _delete_by_hand], ids=["ours", "hand"]
)
@pytest.mark.parametrize("name", ["pumpjack.json", "excavator_no_base.json", "slider_crank_2substructures_2.json"])
def test_what_is_left_of_loops_has_as_many_inputs_as_its_file(blank: Any, name: str, delete: Any) -> None:
    """Without a joint a loop may have more degrees of freedom, or a joint lie on no loop any more."""
    joints = [record_of(each).source_name for each in parts(made(name), "JOINT")]
    for joint in joints:
        empty_file()
        rig = made(name)
        delete(rig, the_joint(rig, joint))
        left, path = inputs(rig), settings(rig).path
        text, _report = formats.dumps(extract(rig), "shift")
        empty_file()
        again = rig_in(build(formats.loads(text.encode(), path), options=BuildOptions(gait=False, physics=False)))
        assert len(left) == len(inputs(again)), joint


@pytest.mark.parametrize("name", ["D_boom_to_stick", "E_stick_to_bucket", "R_stick_rod_to_stick", "C_cabin_to_boom"])
def test_a_joint_of_a_posed_loop_gets_an_axis_about_which_the_loop_cannot_move(blank: Any, name: str) -> None:
    """It closes where it is seen, within what 32 bits tell, and nowhere else."""
    rig = made("excavator_no_logging.json")
    holding.posed(rig)
    before, empty = Seen.of(rig), the_joint(rig, name)
    place = empty.matrix_world.normalized().translation
    place_joint(empty, Matrix.Translation((place.x, place.y, place.z + 0.07)))
    bpy.context.view_layer.update()
    assert before.apart(Seen.of(rig))[0] < SAME


def key_values(rig: Any, joint: Any, values: dict[int, float]) -> None:
    (channel,) = servo_channels(rig)[record_of(joint).source_id]
    for frame, value in values.items():
        write_pose(rig, [channel], np.array([value]))
        for path, index in channel.curves():
            rig.keyframe_insert(path, index=index, frame=frame)


def places(rig: Any, bodies: Collection[str]) -> dict[int, dict[str, np.ndarray]]:
    """The world positions of bodies at frames at which there are keyframes, and between them."""
    out = {}
    for frame in (1, 6, 11, 17, 21):
        bpy.context.scene.frame_set(frame)
        out[frame] = {own: pose[:3, 3] for own, pose in by_name(rig).items() if own in bodies}
    return out


def farthest(one: dict[int, dict[str, np.ndarray]], other: dict[int, dict[str, np.ndarray]]) -> float:
    return max(float(np.abs(one[f][own] - other[f][own]).max()) for f in one for own in one[f])


def test_bodies_outside_of_an_assembly_that_is_switched_off_move_on(blank: Any, tmp_path: Path) -> None:
    """The beam follows a loop through the rod, which is switched off: it keeps its motion, and the file its stops."""
    mechanism = formats.load(found("pumpjack.json"))
    mechanism.assemblies.append(Assembly("rod", "rod"))
    next(each for each in mechanism.bodies if each.name == "pitman").assembly = "rod"
    text, _report = formats.dumps(mechanism, "shift")
    rig = rig_in(build(formats.loads(text.encode(), "jack.json"), options=BuildOptions(gait=False, physics=False)))
    key_values(rig, the_joint(rig, "motor"), {1: 0.0, 11: 0.5, 21: 0.9})
    outside = {"post", "beam", "crank"}
    before = places(rig, outside)
    assert farthest(before, {frame: before[1] for frame in before}) > 0.1
    pick(rig)
    for _switch in ("off", "on"):
        assert bpy.ops.knuckle.switch_assembly(path="rod") == {"FINISHED"}
        assert farthest(before, places(rig, outside)) < 1e-3
    assert not [line for line in settings(rig).report if line.code == "motion-changed"]


@pytest.mark.parametrize("type_", ["ball", "free", "planar"])
@pytest.mark.parametrize("name", ["crank_pin", "tail_bearing", "saddle_bearing"])
def test_followers_of_a_twin_that_is_mirrored_with_another_type_move_on(blank: Any, name: str, type_: str) -> None:
    """As those of a joint whose type is set: the twin's loop has the freedom to follow otherwise."""
    rig = made("pumpjack.json")
    moving = [each for each in parts(rig, "BODY") if record_of(each).source_name != "post"]
    axis = int(np.abs(np.array(the_joint(rig, "motor").matrix_basis)[:3, 2]).argmax())
    set_mirror_plane(rig, Plane(np.eye(3)[axis], 3.0))
    create_twins(moving)
    twins = [twin_of(each) for each in moving]
    motor, pin = (the_joint(rig, each) for each in ("motor", name))
    sign = np.sign(mirrored_value(rig, motor))
    for empty, factor in ((motor, 1.0), (twin_of(motor), sign)):
        key_values(rig, empty, {1: 0.0, 11: factor * 0.5, 21: factor * 0.9})
    names = {record_of(each).source_name for each in twins}
    before = places(rig, names)
    assert farthest(before, {frame: before[1] for frame in before}) > 0.1
    set_joint_type(pin, type_)
    pick(pin)
    mirror_to_twins([pin])
    bpy.context.view_layer.update()
    assert record_of(twin_of(pin)).joint.type == type_
    assert farthest(before, places(rig, names)) < 1e-3


def mirrored_value(rig: Any, empty: Any) -> float:
    """The value of a joint's twin that is the image of 1."""
    mirror = motion_mirror(extract(rig)).joints[record_of(empty).source_id]
    return float(mirror.parts[0].matrix[0, 0])


@pytest.mark.parametrize("cut", [_delete, _free])
def test_a_motion_that_does_not_play_stays_where_its_loop_holds_it_when_that_is_cut(blank: Any, cut: Any) -> None:
    rig = made(HELD)
    holding.keyed(rig)
    other = rig.animation_data.action
    bpy.context.view_layer.update()
    before = {}
    for frame in KEYS:
        bpy.context.scene.frame_set(frame)
        before[frame] = Seen.of(rig)
    playing = bpy.data.actions.new("still")
    use_action(rig, playing)
    joint = "A_fixed_crank" if cut is _delete else "C_connecting_rod_piston"
    cut(rig, joint)
    use_action(rig, other)
    for frame in KEYS:
        bpy.context.scene.frame_set(frame)
        assert before[frame].apart(Seen.of(rig))[0] < 1e-3
