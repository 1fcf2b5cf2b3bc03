"""Helpers for tests of walkers: gaits run and compared with the reference program's velocities and yaw rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from addon import formats
from addon.core.gait.engine import GaitCommands, feedback_angles, find_gait, parse_input
from tests.support.mechanisms import JUICE, objects_of, put

SETTLED = 1.5
TURNS_FROM = 10.0  # degrees per second: what turns this fast is judged by how it turns
STANDS = 0.5  # length units


@dataclass(frozen=True)
class Case:
    """A model with its inputs, and what it does in the reference: speeds forward and to the right, and yaw rate
    (degrees per second)."""

    model: str
    inputs: str
    verdict: str
    forward: float
    lateral: float
    yaw: float
    seconds: float = 10.0  # that are run here

    def __str__(self) -> str:
        return f"{self.model} {self.inputs}"


CASES = [
    Case("SimpleHex", "joystick 1 y=-1", "walks", 3.34, 0.08, -1.3),
    Case("SimpleHex", "joystick 1 x=1", "walks", 0.00, 3.06, 0),
    Case("SimpleHex", "joystick 1 r=1", "turns", 1.32, -0.80, -27.2),
    Case("simpleant2", "none", "walks", 4.31, 0.11, 0.3, 20.0),  # it is slow to set off
    Case("Quadrapod3_bak", "none", "walks", -3.00, 0.00, 0.2),
    Case("Dihno2", "none", "walks", 3.82, 0.23, 5.8),
    Case("Dihno2", "joystick 1 y=-1", "walks", 3.85, 0.05, 5.4),
    Case("puppeteer", "none", "walks slowly", -0.35, 0.17, -1.4, 15.0),  # and not straight
    Case("SnakeSpheres", "joystick 1 x=1", "crawls", -0.54, 0.68, -17.1),
    Case("bigsixpack", "joystick 1 y=-1", "drives", 50.1, 0.00, 0),
    Case("sixpack_notoys", "joystick 1 y=-1", "drives", 9.86, 0.00, 0),
    Case("Segwack1", "none", "stands", 0, 0, 0, 20.0),
]


@dataclass
class Run:
    """What a model did here, in the same terms, with how far it went once it had settled and how well its servos and
    pivots kept to what they should."""

    forward: float
    lateral: float
    yaw: float
    moved: float
    upright: float
    servo_error: float  # mean over hinges that are told a position, degrees; nan where there are none
    gap: float


def run(case: Case, multiple: float = 0.0) -> Run:
    """Import, drive and record a model: with nothing but the defaults, or with a multiple of a bake's solver steps."""
    import bpy

    from addon.blender.data.properties.model import input_property_name
    from addon.blender.physics.recording.bake import record
    from addon.blender.physics.world.solver_settings import chosen_solver_settings

    bpy.context.scene.knuckle_simulate_here = False
    rig = put(JUICE / "models" / f"{case.model}.jm")
    model = rig.data.knuckle
    controls = dict([parse_input(case.inputs)] if case.inputs != "none" else [])
    for name, value in controls.items():
        setattr(model.controls, input_property_name(name), value)
    model.drive = "SERVO"
    rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    if multiple:
        steps = chosen_solver_settings(rig, "BAKE").steps
        bpy.context.scene.rigidbody_world.substeps_per_frame = math.ceil(multiple * steps / rate - 1e-6)
    recording = record(bpy.context.scene, rig, bpy.context.scene.frame_start + round(case.seconds * rate))
    poses = recording.poses[:, trunk(rig, list(objects_of(rig, "BODY").values()))]
    begin = round(SETTLED * rate)
    ahead = poses[:, :3, :3] @ poses[0, :3, :3].T @ [0, 1, 0]
    heading = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    ways = np.stack([np.cos(heading), np.sin(heading)], axis=1)[begin:-1]
    speeds = np.diff(poses[begin:, :2, 3], axis=0) * rate
    return Run(
        forward=float((speeds * ways).sum(axis=1).mean()),
        lateral=float((speeds[:, 0] * ways[:, 1] - speeds[:, 1] * ways[:, 0]).mean()),
        yaw=math.degrees(heading[-1] - heading[begin]) / (case.seconds - SETTLED),
        moved=float(np.linalg.norm(poses[begin:, :3, 3] - poses[begin, :3, 3], axis=1).max()),
        upright=float(poses[-1, :3, :3][2] @ poses[0, :3, :3].T[:, 2]),
        servo_error=servo_error(case, controls, recording, rate, begin),
        gap=recording.max_joint_separation(),
    )


def trunk(rig: Any, bodies: list[Any]) -> int:
    """The place of the body that stands for the whole."""
    joints = [empty.knuckle.joint for empty in objects_of(rig, "JOINT").values()]
    held = [sum(obj in (joint.parent, joint.child) for joint in joints) for obj in bodies]
    weight = [(round(obj.rigid_body.mass, 6), number) for obj, number in zip(bodies, held, strict=True)]
    return weight.index(max(weight))


def servo_error(case: Case, controls: dict[str, float], recording: Any, rate: float, begin: int) -> float:
    """Mean of |wanted - actual| over the hinges that the file's gait tells a position, and over frames (degrees)."""
    mechanism = formats.load(JUICE / "models" / f"{case.model}.jm")
    gait = find_gait(mechanism)
    if gait is None:
        return math.nan
    ids = list(objects_of(recording.joint_state.rig, "BODY"))
    # what a servo is told for a frame, it is told from how bodies lay in the frame before
    felt = np.concatenate([recording.poses[:1], recording.poses[:-1]])
    feedback = {body: feedback_angles(felt[:, ids.index(body), :3, :3]) for body in gait.feedback_bodies}
    told: GaitCommands = gait.evaluate(gait.phase(np.arange(len(felt)) / rate), controls, feedback)
    hinges = {joint.id for joint in mechanism.joints if joint.type == "revolute"}
    errors = [
        (told.position[joint] - recording.values[:, number] + math.pi) % (2 * math.pi) - math.pi
        for number, joint in enumerate(recording.joint_state.joints)
        if joint in told.position and joint in hinges
    ]
    return math.degrees(np.abs(np.array(errors)[:, begin:]).mean()) if errors else math.nan


def ratio(case: Case, found: Run) -> float:
    """How fast it goes, of the reference's speed; how fast it turns, of one that turns."""
    if case.verdict == "stands":
        return math.nan
    if abs(case.yaw) > TURNS_FROM:
        return found.yaw / case.yaw
    return math.hypot(found.forward, found.lateral) / math.hypot(case.forward, case.lateral)


def astray(case: Case, found: Run) -> float:
    """The angle between the directions of travel, in the mechanism's own heading (degrees)."""
    there, here = complex(case.forward, case.lateral), complex(found.forward, found.lateral)
    return abs(math.degrees(math.atan2((here / there).imag, (here / there).real)))


def fault(case: Case, found: Run) -> str:
    """What it does otherwise than in the reference; nothing where it does the same."""
    if case.verdict == "stands":
        return f"it moved by {found.moved:.2f}" if found.moved >= STANDS else ""
    if not 0.5 <= ratio(case, found) <= 2.0:
        return f"it is {ratio(case, found):.2f} times as fast"
    if abs(case.yaw) <= TURNS_FROM and astray(case, found) > 45.0:
        return f"it goes {astray(case, found):.0f} degrees astray"
    return ""
