"""However a run begins and whatever was edited before it, it is the run that the model asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.mechanisms import body, joint, key, model, objects_of, put, world_of

ARM = model(
    body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
    body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5),
    joint(3, 1, 2, (2, 0, 6), (0, 90, 0), force=200, stops=(-60, 60)),
    gravity=3.7,
)


def trail(scene: Any, obj: Any, frames: range) -> list[Any]:
    """World matrices of an object while the scene goes through frames."""
    out = []
    for frame in frames:
        scene.frame_set(frame)
        out.append(world_of(obj))
    return out


@pytest.mark.parametrize("reopened", [False, True], ids=["as imported", "saved and reopened"])
def test_space_at_the_first_frame_is_a_run_like_any(blank: Any, tmp_path: Path, reopened: bool) -> None:
    """Nobody has come to the first frame, the scene just stands there: Blender then begins at the second."""
    import bpy

    def arm() -> Any:
        return next(obj for obj in bpy.data.objects if obj.knuckle.source_id == "2" and obj.knuckle.role == "BODY")

    rig = put(ARM)
    key(rig, 3, [(1, 0.5), (60, -0.5)])
    rig.data.knuckle.drive = "SERVO"
    bpy.context.scene.frame_set(1)
    wanted = trail(bpy.context.scene, arm(), range(1, 50))
    bpy.context.scene.frame_set(1)
    if reopened:
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "run.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "run.blend"))
    else:
        from addon.blender.physics.simulation import frame_handlers as handlers

        handlers.clear_controllers()
        bpy.context.view_layer.update()
    found = trail(bpy.context.scene, arm(), range(2, 50))
    assert np.abs(np.array(found) - np.array(wanted[1:])).max() < 1e-4


def test_whatever_blender_reads_when_a_run_begins_it_reads_the_pose(blank: Any) -> None:
    """Blender takes a body or a joint into its simulation before it is evaluated, when no more than its own channels
    are, or when its parent is there too, as its threads happen to go."""
    import bpy

    rig = put(ARM)
    key(rig, 3, [(1, 0.5), (60, -0.5)])
    rig.data.knuckle.drive = "SERVO"
    scene = blank.scene
    scene.frame_set(1)
    before = {obj.name: world_of(obj) for obj in bpy.data.objects}
    channels = {obj.name: np.array(obj.matrix_basis) for obj in bpy.data.objects}
    seen: dict[str, tuple[Any, Any]] = {}

    def look(scene: Any, _graph: Any = None) -> None:
        world = scene.rigidbody_world
        if scene.frame_current == 2:
            for obj in [*world.collection.objects, *world.constraints.objects]:
                seen[obj.name] = np.array(obj.matrix_basis), np.array(obj.matrix_world)

    bpy.app.handlers.frame_change_pre.append(look)
    try:
        scene.frame_set(2)
    finally:
        bpy.app.handlers.frame_change_pre.remove(look)
    assert len(seen) >= 4  # two bodies, the joint, its motor
    for name, (alone, evaluated) in seen.items():
        assert alone == pytest.approx(before[name], abs=1e-5), name
        assert evaluated == pytest.approx(before[name], abs=1e-5), name
    assert {name: np.array(bpy.data.objects[name].matrix_basis).tolist() for name in channels} == {
        name: matrix.tolist() for name, matrix in channels.items()
    }


def test_switching_the_drive_keeps_the_current_frame(blank: Any) -> None:
    rig = put(ARM)
    blank.scene.frame_set(30)
    rig.data.knuckle.drive = "SERVO"
    assert blank.scene.frame_current == 30


def test_the_ground_goes_on(blank: Any) -> None:
    """A thing far out rests on the ground as one in the middle does."""
    far = put(model(body(1, (4000, -3000, 1), (2, 2, 2)), gravity=10))
    far.data.knuckle.drive = "LIMP"
    end = trail(blank.scene, objects_of(far, "BODY")["1"], range(1, 90))[-1]
    assert end[2, 3] == pytest.approx(1.0, abs=0.02)


def test_a_ball_that_touches_the_ground_is_not_lifted(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 1), 2.0, ypr=(0, 45, 30), shape=3), gravity=0))
    ball = objects_of(rig, "BODY")["1"]
    diameter = max(ball.dimensions)
    rig.data.knuckle.drive = "LIMP"
    ball.location[2] = diameter / 2
    trail(blank.scene, ball, range(1, 4))
    assert rig.data.knuckle.ground_offset == pytest.approx(0.0, abs=1e-3)


def test_softness_reaches_the_joints_at_once(blank: Any) -> None:
    rig = put(ARM)
    held = objects_of(rig, "JOINT")["3"].rigid_body_constraint
    settings = rig.data.knuckle
    settings.cfm = 0.0
    assert not held.use_spring_x
    settings.erp, settings.cfm, settings.time_step = 0.5, 0.002, 0.02
    assert held.type == "GENERIC_SPRING"
    assert held.spring_stiffness_x == pytest.approx(0.5 / (0.02 * 0.002), rel=1e-5)
    assert held.spring_damping_x == pytest.approx(1 / 0.002, rel=1e-5)


def test_a_mass_typed_into_blenders_panel_is_kept(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics
    from addon.blender.scene.read.mechanism import extract

    rig = put(ARM)
    arm = objects_of(rig, "BODY")["2"]
    arm.rigid_body.mass = 7.5
    build_physics(blank.scene, rig)
    assert arm.rigid_body.mass == 7.5
    clear_physics(blank.scene, rig)
    masses = {part.id: part.mass for part in extract(rig.data.knuckle.collection).bodies}
    assert masses["2"] == 7.5
    arm.knuckle.mass = 2.25
    build_physics(blank.scene, rig)
    assert arm.rigid_body.mass == 2.25


def test_servos_do_not_need_the_names_of_collections(blank: Any) -> None:
    import bpy

    rig = put(ARM)
    key(rig, 3, [(1, 0.0), (30, 0.5)])
    folders = len(bpy.data.collections)
    next(c for c in bpy.data.collections if c.name == "Bodies").name = "Steel"
    rig.data.knuckle.drive = "SERVO"
    arm = objects_of(rig, "BODY")["2"]
    path = trail(blank.scene, arm, range(1, 40))
    assert np.abs(path[-1][:3, :3] - path[0][:3, :3]).max() > 0.3
    assert len(bpy.data.collections) == folders


def test_a_motor_that_is_gone_stops_nothing(blank: Any) -> None:
    import bpy

    rig = put(ARM)
    rig.data.knuckle.drive = "SERVO"
    joint_empty = objects_of(rig, "JOINT")["3"]
    blank.scene.frame_set(1)
    assert joint_empty.knuckle.joint.motor is not None
    rig.data.knuckle.drive = "LIMP"
    bpy.data.objects.remove(joint_empty.knuckle.joint.motor)
    arm = objects_of(rig, "BODY")["2"]
    path = trail(blank.scene, arm, range(1, 20))
    assert path[-1][2, 3] < path[0][2, 3]


def test_what_a_deleted_model_leaves_can_be_cleaned_up(blank: Any) -> None:
    import bpy

    gravity = tuple(blank.scene.gravity)
    rig = put(ARM)
    rig.data.knuckle.drive = "SERVO"
    for frame in range(1, 5):
        blank.scene.frame_set(frame)
    bpy.ops.object.select_all(action="SELECT")  # all but the ground, which cannot be selected
    bpy.ops.object.delete()
    assert bpy.ops.knuckle.clean_up.poll()
    assert bpy.ops.knuckle.clean_up() == {"FINISHED"}
    assert not [obj for obj in blank.scene.objects if obj.knuckle.is_ground]
    assert blank.scene.rigidbody_world is None
    assert tuple(blank.scene.gravity) == pytest.approx(gravity)
    assert not bpy.ops.knuckle.clean_up.poll()


def test_a_file_saved_in_the_middle_of_a_run_opens_at_its_beginning(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig = put(ARM)
    rig.data.knuckle.drive = "SERVO"
    for frame in range(1, 30):
        blank.scene.frame_set(frame)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "run.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "run.blend"))
    arm = next(obj for obj in bpy.data.objects if obj.knuckle.source_id == "2" and obj.knuckle.role == "BODY")
    bpy.context.view_layer.update()
    assert bpy.context.scene.frame_current == 1
    assert world_of(arm)[:3, 3] == pytest.approx([3, 0, 6], abs=1e-4)


def test_a_bone_may_be_renamed(blank: Any) -> None:
    """It then names the joint, and a gait on it is still the gait."""
    from addon.blender.animation.gait import plays_baked_gait
    from addon.blender.data.channels import servo_names_by_joint
    from addon.blender.scene.read.mechanism import extract
    from tests.support.mechanisms import spinner

    spun = model(body(1, (0, 0, 4)), body(2, (1, 0, 4)), joint(3, 1, 2, (0.5, 0, 4)), behaviours=spinner(3, 1.0))
    rig = put(spun)
    assert plays_baked_gait(rig)
    joint_id, bone = next((b.knuckle.joint, b) for b in rig.data.bones if b.knuckle.joint)
    bone.name = "Axle"
    assert plays_baked_gait(rig)
    assert servo_names_by_joint(rig)[joint_id] == ("Axle",)
    assert {part.id: part.name for part in extract(rig.data.knuckle.collection).joints}[joint_id] == "Axle"


# ---------------------------------------------------------------- how low it begins


def standing(*shapes: Any, pose: Any = None) -> Any:
    """The armature of a model of one body with these shapes, on a ground at height 0, limp at its first frame."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build
    from addon.core.model import Body, Mechanism, World

    thing = Body("one", "One", pose=np.eye(4) if pose is None else pose, shapes=list(shapes))
    mechanism = Mechanism("Stand", World(ground=0.0), [thing])
    return rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))


def lift_of(rig: Any) -> float:
    import bpy

    rig.data.knuckle.drive = "LIMP"
    bpy.context.scene.frame_set(1)
    return rig.data.knuckle.ground_offset


def tilted(angle: float, height: float = 0.0) -> Any:
    out = np.eye(4)
    cos, sin = np.cos(angle), np.sin(angle)
    out[1:3, 1:3] = [[cos, -sin], [sin, cos]]
    out[2, 3] = height
    return out


def test_a_model_is_raised_by_what_its_shapes_reach_into_the_ground(blank: Any) -> None:
    """By formulas; what is drawn with corners is not rounder than that."""

    from addon.core.model import Shape

    slant = 0.5
    wheel = Shape("cylinder", {"radius": 1.0, "length": 0.4})
    for shape, pose, reach, near in (
        (Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}), tilted(slant), np.sin(slant) + 1.5 * np.cos(slant), 1e-4),
        (wheel, tilted(slant), np.sin(slant) + 0.2 * np.cos(slant), 1e-3),
        (wheel, tilted(np.pi / 2), 1.0, 1e-3),
        (Shape("sphere", {"radius": 0.7}), tilted(slant), 0.7, 1e-3),
        (Shape("capsule", {"radius": 0.5, "length": 2.0}), tilted(slant), 0.5 + np.cos(slant), 1e-3),
        (Shape("cone", {"radius": 0.5, "length": 2.0}), tilted(np.pi), 1.0, 1e-3),
        (Shape("cone", {"radius": 0.5, "length": 2.0}), tilted(np.pi / 2), 0.5, 1e-3),
        (Shape("multi_sphere", spheres=[(0.25, 0.0, 0.0, 1.0), (0.5, 0.0, 0.0, -1.0)]), tilted(0.0), 1.5, 5e-3),
        (Shape("pyramid", {"x": 2.0, "y": 2.0, "length": 1.0}), tilted(0.0), 0.5, 1e-4),
    ):
        assert lift_of(standing(shape, pose=pose)) == pytest.approx(reach, abs=near), shape.type
        empty_file()


def test_a_collision_shape_is_measured_where_the_user_has_moved_it(blank: Any) -> None:
    from addon.core.model import Shape

    seen = Shape("sphere", {"radius": 3.0}, collision=False)
    rig = standing(seen, Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0}, visual=False), pose=tilted(0.0, 0.2))
    (child,) = [obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.shape >= 0]
    child.location.z -= 2.0
    child.scale.z = 3.0
    assert lift_of(rig) == pytest.approx(2.0 + 1.5 - 0.2, abs=1e-4)
