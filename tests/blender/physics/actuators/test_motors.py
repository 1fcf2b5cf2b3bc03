"""Motors are somebody's: what nothing needs any more pushes nothing, and is gone with the next run."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.physics.actuators.motors import listed_motors
from addon.blender.physics.simulation import cached_frames as progress
from addon.blender.physics.simulation import frame_handlers as handlers
from addon.blender.physics.simulation import session
from addon.blender.physics.simulation.setup import build_physics, clear_physics
from addon.core.model import Array, Dof, Mechanism, Restraint
from tests.conftest import ROOT
from tests.support.degrees_helpers import X, Y, Z, put, rotations, slides
from tests.support.losses_helpers import delete
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.restraints_helpers import floating
from tests.support.several_servos_helpers import beside, motion
from tests.support.springs_helpers import FRAME, MASS, angle, cube_on_joint, moved
from tests.support.swings import chain, put_world


def limp(mechanism: Mechanism) -> Any:
    rig = put(mechanism, physics=True)
    settings(rig).drive = "LIMP"
    return rig


def pushing(scene: Any) -> list[str]:
    """The motors in the world that push with anything."""
    held = [(obj.name, obj.rigid_body_constraint) for obj in scene.rigidbody_world.constraints.objects]
    motors = [(name, motor) for name, motor in held if motor.type == "MOTOR"]
    return [name for name, motor in motors if motor.motor_lin_max_impulse or motor.motor_ang_max_impulse]


def nobodys(scene: Any, rig: Any) -> list[str]:
    """The motors in the world that nothing needs."""
    held = scene.rigidbody_world.constraints.objects if scene.rigidbody_world is not None else scene.objects
    known = listed_motors(rig)
    return [obj.name for obj in held if record_of(obj).role == "NONE" and obj.type == "EMPTY" and obj not in known]


def three_cubes(forced: str) -> Mechanism:
    """Cubes that float, two of them on a spring, or all thrown along their X."""
    mechanism = floating(np.zeros(3), np.array([1.2, 1.6, 0]), np.array([0, 3.0, 0]))
    if forced == "spring":
        ends = (np.eye(4), np.eye(4))
        mechanism.restraints = [
            Restraint("s", "spring", bodies=("c0", "c1"), frames=ends, coefficients=[[40.0, -60.0]])
        ]
        return mechanism
    for cube, joint in zip(mechanism.bodies, mechanism.joints, strict=True):
        joint.frame_parent, joint.frame_child = cube.pose, np.eye(4)
        joint.dofs[0].start_rates = (0.0, 0.0, 0.0, 0.5, 0.0, 0.0)
    return mechanism


def cube(rig: Any, name: str) -> Array:
    return world_of(objects_of(rig, "BODY")[name])[:3, 3]


# ---------------------------------------------------------------- bodies that are gone, or stay now


def after_a_deletion(scene: Any, forced: str, by: str) -> None:
    """The middle one of three cubes is deleted in a run: the others go where they would without it."""
    mechanism = three_cubes(forced)
    rig = limp(mechanism)
    play(scene, 2, lambda: None)
    lost = objects_of(rig, "BODY")["c1"]
    if by == "script":
        bpy.data.objects.remove(lost)
    else:
        delete([lost])
    scene.frame_set(3)
    assert {motor.name for motor in listed_motors(rig)} <= {
        obj.name for obj in scene.rigidbody_world.constraints.objects
    }
    assert len(settings(rig).velocity_motors) == (6 if forced == "throw" else 0)
    ends = play(scene, 31, lambda: [cube(rig, "c0"), cube(rig, "c2")])[-1]
    for body, end in zip((mechanism.bodies[0], mechanism.bodies[2]), ends, strict=True):
        way = body.pose[:3, 0] * (0.25 if forced == "throw" else 0.0)
        assert end == pytest.approx(body.pose[:3, 3] + way, abs=2e-3)
    assert nobodys(scene, rig) == []
    clear_physics(scene, rig)
    assert [obj.name for obj in scene.objects if obj.name.split(".")[0].endswith(("Push", "Throw"))] == []


def own_process(script: str, *words: str, **more: str) -> None:
    """Run a script in a Blender of its own, which may not crash."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | more
    start = """
import os, sys
import bpy
import addon
from tests.blender.physics.actuators import test_motors as motors
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
scene = bpy.context.scene
scene.render.fps, scene.knuckle_simulate_here = 60, True
"""
    command = [sys.executable, "-c", start + script, *words]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("forced", "by"), [("spring", "user"), ("throw", "script")])
def test_the_others_are_not_pushed_on_for_a_body_that_was_deleted(forced: str, by: str) -> None:
    """Blender itself frees some of this twice when it closes: the process ends before that."""
    own_process("motors.after_a_deletion(scene, *sys.argv[1:])\nos._exit(0)", forced, by)


def test_motors_are_removed_without_anything_looking_at_them_again() -> None:
    """What is freed is overwritten, so that whoever still looked at it crashed."""
    script = """
rig = motors.limp(motors.three_cubes("throw"))
motors.play(scene, 6, lambda: None)
for joint in motors.objects_of(rig, "JOINT").values():
    joint.knuckle.joint.dofs[0].start_rates = [0.0] * 6
motors.play(scene, 6, lambda: None)
assert not [obj for obj in bpy.data.objects if "Throw" in obj.name]
bpy.ops.wm.read_factory_settings(use_empty=True)
"""
    own_process(script, MALLOC_PERTURB_="165")


def test_a_body_that_stays_from_now_on_loses_its_motors(blank: Any) -> None:
    mechanism = three_cubes("throw")
    mechanism.restraints = three_cubes("spring").restraints
    rig = limp(mechanism)
    play(blank.scene, 3, lambda: None)
    assert len(listed_motors(rig)) == 9 + 6
    record_of(objects_of(rig, "BODY")["c1"]).immobile = True
    build_physics(blank.scene, rig)
    place = play(blank.scene, 5, lambda: cube(rig, "c1"))
    assert np.abs(place[-1] - place[1]).max() < 1e-6
    assert len(listed_motors(rig)) == 6 + 3 and nobodys(blank.scene, rig) == []


def test_what_was_left_by_whoever_is_cleared(blank: Any) -> None:
    """A motor that is on no list, as versions before left them."""
    rig = limp(three_cubes("spring"))
    play(blank.scene, 3, lambda: None)
    settings(rig).restraints[0].motors.clear()
    clear_physics(blank.scene, rig)
    assert [obj.name for obj in bpy.data.objects if "Push" in obj.name] == []


# ---------------------------------------------------------------- forces that are edited away


def edited(scene: Any, dofs: Sequence[Dof], change: Callable[[Any], None], gravity: Array | None = None) -> Array:
    """By how much a cube moves in half a second after a run and a change of its joint at the first frame."""
    rig = limp(cube_on_joint(*dofs, gravity=gravity))
    play(scene, 4, lambda: None)
    scene.frame_set(1)
    change(record_of(objects_of(rig, "JOINT")["j"]).joint.dofs[0])
    found = [moved(rig)]
    for frame in range(2, 32):
        scene.frame_set(frame)
        found.append(moved(rig))
    assert pushing(scene) == [] and listed_motors(rig) == []
    scene.frame_set(1)
    assert nobodys(scene, rig) == []
    return found[-1] - found[0]


@pytest.mark.parametrize("kind", ["universal", "planar"])
def test_a_spring_that_was_taken_away_does_not_push(blank: Any, kind: str) -> None:
    dofs = rotations(X, Y) if kind == "universal" else [*slides(X, Y), *rotations(Z)]
    dofs[0].stiffness, dofs[0].rest = 5.0, 0.5
    gone = edited(blank.scene, dofs, lambda dof: setattr(dof, "stiffness", 0.0))
    assert np.abs(gone).max() < 1e-4


def test_friction_that_was_taken_away_does_not_hold(blank: Any) -> None:
    (dof,) = dofs = slides(Z)
    dof.friction = 100.0
    gone = edited(blank.scene, dofs, lambda dof: setattr(dof, "friction", 0.0), -9.81 * FRAME[:3, 2])
    assert gone[2, 3] == pytest.approx(-9.81 * 0.5**2 / 2, rel=0.04)


def test_a_removed_initial_velocity_moves_nothing(blank: Any) -> None:
    (dof,) = dofs = slides(Y)
    dof.velocity = 2.0
    gone = edited(blank.scene, dofs, lambda dof: setattr(dof, "velocity", 0.0))
    assert np.abs(gone).max() < 1e-4


@pytest.mark.parametrize("dofs", [rotations(Y, Z), [Dof("ball")]], ids=["universal", "ball"])
def test_ragdoll_drive_after_servos_drive_has_no_force(blank: Any, dofs: list[Dof]) -> None:
    arm = np.array([0.8, 0.0, 0.0])
    for dof in dofs:
        dof.max_force = 500.0
    rig = put(beside(dofs, arm, np.array([0.0, -9.81, 0.0])), physics=True)
    ends = {}
    for drive in ("LIMP", "SERVO", "LIMP again"):
        settings(rig).drive = drive.split()[0]
        ends[drive] = play(blank.scene, 21, lambda: motion(rig, arm))[-1]
    assert ends["LIMP again"] == pytest.approx(ends["LIMP"], abs=1e-3)
    assert np.abs(ends["SERVO"] - ends["LIMP"]).max() > 0.2


def test_an_unkeyed_bone_is_followed_as_soon_as_it_is_posed(blank: Any) -> None:
    """Servos of any law look a frame ahead: what they saw there is not what the user does next."""
    (dof,) = dofs = rotations(Z)
    dof.max_force = 1000.0
    rig = put(cube_on_joint(*dofs), physics=True)
    settings(rig).drive, settings(rig).law = "SERVO", "PD"
    play(blank.scene, 5, lambda: None)
    rig.pose.bones[0].rotation_euler.z = 0.3
    blank.scene.frame_set(6)
    run = session.controller_at(bpy.context.scene, rig, 6)
    assert run is not None and run.servo_targets == pytest.approx([0.3])


# ---------------------------------------------------------------- undo


@pytest.mark.parametrize("kind", ["stop", "formula"])
def test_a_run_has_ended_with_an_undo(blank: Any, kind: str) -> None:
    """What it counted is gone: it is said so, and nothing swings without its spring or goes through its stop."""
    (dof,) = dofs = rotations(Z)
    if kind == "stop":
        dof.upper, dof.velocity = 0.3, 3.0
    else:
        dof.position = 0.2
    mechanism = cube_on_joint(*dofs)
    if kind == "formula":
        mechanism.restraints = [Restraint("s", "spring", "j", coefficients=[[9.0, 0.0]])]
    rig = limp(mechanism)
    found = play(blank.scene, 6, lambda: angle(2)(moved(rig)))
    handlers.clear_controllers()  # what undo calls
    for frame in range(7, 40):
        blank.scene.frame_set(frame)
        found.append(angle(2)(moved(rig)))
        assert progress.frame_note(blank.scene).startswith("Physics: this frame is not simulated")
    assert np.abs(found).max() < 0.3 + 1e-3
    play(blank.scene, 10, lambda: None)
    assert progress.frame_note(blank.scene) == ""


# ---------------------------------------------------------------- throws


@pytest.mark.parametrize(("speed", "share"), [(6.0, 0.3), (6.0, 0.7), (30.0, 1.0)])
@pytest.mark.parametrize("name", ["hinge", "slide", "cylindrical"])
def test_an_initial_velocity_towards_a_near_stop_ends_at_the_stop(
    blank: Any, speed: float, share: float, name: str
) -> None:
    """The stop is as far as a share of what it goes in its first frame."""
    dofs = {"hinge": rotations(Z), "slide": slides(Z), "cylindrical": [*rotations(Z), *slides(Z)]}[name]
    for dof in dofs:
        dof.velocity, dof.lower, dof.upper = speed, -2.0, share * speed / 60
    look = angle(2) if name == "hinge" else lambda motion: float(motion[2, 3])
    rig = limp(cube_on_joint(*dofs))
    found = np.array(play(blank.scene, 21, lambda: look(moved(rig))))
    assert found.max() < dofs[0].upper + 0.002
    assert found[-1] == pytest.approx(dofs[0].upper, abs=0.002)


def thrown_slide(scene: Any, **own: float) -> tuple[Array, Any]:
    """Where a cube is in a second, thrown at 3 m/s along a slide that has a spring or damper; and its model."""
    rig = limp(cube_on_joint(Dof("translation", Z, velocity=3.0, **own)))
    return np.array(play(scene, 61, lambda: float(moved(rig)[2, 3]))), rig


@pytest.mark.parametrize("damping", [2.0, 5.0])
def test_an_initial_velocity_against_a_damper_goes_as_far_as_in_the_formula(blank: Any, damping: float) -> None:
    found, _ = thrown_slide(blank.scene, damping=damping)
    slow = MASS / damping
    true = 3.0 * slow * (1.0 - np.exp(-np.arange(61) / 60 / slow))
    assert np.abs(found - true)[2:].max() < 0.01 * true[-1]


@pytest.mark.parametrize("stiffness", [10.0, 100.0])
def test_an_initial_velocity_against_a_spring_swings_as_far_as_it_should(blank: Any, stiffness: float) -> None:
    found, _ = thrown_slide(blank.scene, stiffness=stiffness)
    time = np.arange(61) / 60
    frequency = math.sqrt(stiffness / MASS)
    assert found == pytest.approx(3.0 / frequency * np.sin(frequency * time), abs=0.01 * 3.0 / frequency)


def test_only_moving_joints_get_an_initial_velocity_and_only_before_the_first_frame(blank: Any) -> None:
    """Of four links the third has a speed: it and the one that it carries are thrown. Its arrows are of its size."""
    mechanism = chain(0.02, 1, links=4)
    mechanism.joints[2].dofs[0].velocity = 2.0
    rig = put_world(mechanism, "LIMP", 2)
    play(blank.scene, 2, lambda: None)
    motors = [motor.empty for motor in settings(rig).velocity_motors]
    assert len(motors) == 6
    assert not any(motor.rigid_body_constraint.enabled for motor in motors)
    bodies = {motor.rigid_body_constraint.object2 for motor in motors}
    assert len(bodies) == 2 and all(motor.name.startswith(motor.rigid_body_constraint.object2.name) for motor in motors)
    assert max(motor.empty_display_size for motor in motors) < 0.05
