"""Simulation of a mechanism in MuJoCo, as a reference for Blender's rigid bodies.

The mechanism is as Blender simulates it: the same bodies, masses, moments of inertia, joints, stops, springs, friction
and collision shapes, from the same initial poses, with the same control laws at the same control rate. Different are
the solver, contacts (which MuJoCo makes soft), and joints, which it makes rigid also where the file has them soft.

MuJoCo is no part of the add-on: its Python package ``mujoco-core`` needs only numpy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import bpy
import numpy as np

from ....core.kinematics import CLOSES_LOOP, joint_values_from_transform
from ....core.mjcf import Mjcf, can_close_loop, to_mjcf
from ....core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World, dof_slices
from ....core.report import Message
from ....core.run_metrics import BodyDifference, SimulationRecord, body_differences
from ....core.transforms import inverse, nearest_angle
from ...data.access import record_of, rigid_body_of, settings
from ...data.channels import settings_curves
from ...data.queries import file_name, parts
from ...data.rigid_bodies import collision_children
from ..actuators.actuator import SimulationState
from ..actuators.control_laws import UNLIMITED_FORCE
from ..actuators.dof_servos import ServoGroup, SingleDofServos, multi_dof_servos
from ..actuators.initial_velocity import initial_velocity_impulses
from ..actuators.joint_state import JointStateArrays
from ..actuators.servo_targets import ServoTargets, control_law, has_other_animation
from ..bodies.penetration import ConvexShape, PlacedShape, PointsByMesh, collidable_pairs, placed_shapes
from ..simulation.recording import Recording, SimulationError
from ..world.membership import simulated_rigs
from ..world.rigidbody_world import first_frame, frame_rate, steps_applied
from .accuracy import as_simulated, recorded_run
from .bake import StepGenerator, record_steps, steps_per_frame
from .step_trials import as_before_bake, counted_steps

#: Time step (s) of MuJoCo.
_TIME_STEP = 0.002
#: Time steps in which a motor reaches its velocity: with a force limit, where fewer would overshoot, and without one.
_LIMITED_STEPS, _UNLIMITED_STEPS = 0.5, 0.05


def mujoco_missing_message() -> str:
    """Return the reason why MuJoCo cannot be used; empty if it is installed."""
    try:
        import_module("mujoco")
    except ImportError:
        return "MuJoCo is not installed: see Reference Engine in the preferences of Knuckle"
    return ""


def install_command() -> str:
    """Return the command that installs MuJoCo for this Blender, into the user's folder of Python modules."""
    modules = bpy.utils.user_resource("SCRIPTS", path="modules")
    return f'"{sys.executable}" -m pip install --no-deps --target "{modules}" mujoco-core'


@dataclass
class ReferenceModel:
    """A mechanism for MuJoCo, as Blender simulates it.

    Attributes:
        mechanism: Bodies have their indices as ids, and poses at the first frame.
        mjcf: The model.
        start: Recording of the first frame.
    """

    mechanism: Mechanism
    mjcf: Mjcf
    start: Recording


def reference_model(scene: bpy.types.Scene, rig: bpy.types.Object, time_step: float = _TIME_STEP) -> ReferenceModel:
    """Convert a mechanism to MuJoCo's format, with its physics at the first frame.

    Raises:
        ValueError: MuJoCo cannot simulate it as Blender does.
    """
    steps = record_steps(scene, rig, first_frame(scene))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            start: Recording = end.value
            break
    _require_convertible(scene, rig, start)
    run = recorded_run(scene, start)
    mechanism = _simulated_mechanism(start, run)
    pairs, friction = _contacts(scene, rig, start, mechanism)
    servos = [(joint, 0) for joint in start.joint_state.joints]
    return ReferenceModel(mechanism, to_mjcf(mechanism, time_step, servos, pairs, friction), start)


def _require_convertible(scene: bpy.types.Scene, rig: bpy.types.Object, start: Recording) -> None:
    """Raise ValueError where the scene has what only Blender simulates."""
    joint_state, drive = start.joint_state, settings(rig).drive
    why = ""
    if abs(start.size - 1.0) > 1e-6 or start.scales is not None and np.abs(start.scales - 1.0).max() > 1e-5:
        why = "The mechanism or a body is scaled"
    elif ("knuckle.drive", 0) in settings_curves(rig) or drive == "KEYS":
        why = "Its drive is Keyframes, or keyed"
    elif has_other_animation(scene, rig):
        why = "Strips, drivers or other animated objects act on it"
    elif drive == "SERVO" and any(item.joint.dofs for item in joint_state.multi_dof_joints):
        targets = ServoTargets(scene, joint_state, 1)
        several = multi_dof_servos(joint_state, targets)
        why = (
            Message("Joint {} has servos for several axes", repr(_name(several[0].joints[0].empty))) if several else ""
        )
    if why:
        raise ValueError(Message("MuJoCo cannot simulate this mechanism: {}", why))


def _simulated_mechanism(start: Recording, run: SimulationRecord) -> Mechanism:
    rig, objects = start.joint_state.rig, start.joint_state.bodies
    poses, count = run.poses[0], len(run.masses)
    bodies = [
        Body(str(number), _name(objects[number]), poses[number], float(mass), inertia=tensor, immobile=mass <= 0.0)
        for number, (mass, tensor) in enumerate(zip(run.masses, run.tensors, strict=True))
    ]
    records = map(record_of, parts(rig, "JOINT"))
    dependent = {record.source_id for record in records if record.joint.is_dependent}
    joints = []
    for held in run.joints:
        ends = [None if place == count else str(place) for place in (held.parent, held.child)]
        frames = [
            poses[place] @ frame if place == count else frame
            for place, frame in ((held.parent, held.on_parent), (held.child, held.on_child))
        ]
        apart = inverse(poses[held.parent] @ held.on_parent) @ poses[held.child] @ held.on_child
        values = joint_values_from_transform(held.joint, apart[None])[0]
        dofs = _initial_dofs(held.joint, values, held.begun)
        made = Joint(held.joint.id, held.joint.name, held.joint.type, ends[0], ends[1], frames[0], frames[1], dofs)
        if made.id in dependent and can_close_loop(made):
            made.extra[CLOSES_LOOP] = True  # so that a slider of the loop does not have to
        joints.append(made)
    world = World(gravity=run.gravity, ground=0.0)
    restraints = [Restraint(kept.name) for kept in settings(rig).restraints]
    return Mechanism(rig.name, world, bodies, joints, restraints)


def _name(obj: bpy.types.Object) -> str:
    return file_name(obj) or obj.name


def _initial_dofs(joint: Joint, values: Array, begun: Array | None) -> list[Dof]:
    """Return the degrees of freedom of a joint with measured values (size,) as their initial ones."""
    out = []
    for dof, part in dof_slices(joint.dofs):
        own = values[part]
        if len(own) > 1:
            out.append(replace(dof, start=tuple(own.tolist())))
        else:
            value = float(own[0])
            if dof.kind == "rotation" and begun is not None:
                value = nearest_angle(value, float(begun[part.start]))
            out.append(replace(dof, position=value))
    return out


# ------------------------------------------------------------------ contacts


def _contacts(
    scene: bpy.types.Scene, rig: bpy.types.Object, start: Recording, mechanism: Mechanism
) -> tuple[list[tuple[str, str]], dict[str, float]]:
    """Give bodies their collision shapes; return the pairs that may collide, and friction coefficients, by body id."""
    scene, start = as_simulated(scene, start)
    world, bodies = scene.rigidbody_world, start.joint_state.bodies
    assert world is not None and world.collection is not None  # it was simulated
    pieces, measured = collision_children(rig), PointsByMesh()
    placed = [placed_shapes(obj, pieces.get(obj, ()), measured) for obj in bodies]
    poses = start.with_body_scale(start.poses)[0]
    for number, body in enumerate(mechanism.bodies):
        scale = np.linalg.norm(poses[number][:3, :3], axis=0)
        body.shapes = [_shape(each, scale) for each in placed[number]]
    pairs = [(str(first), str(second)) for first, second in collidable_pairs(world, bodies, placed)]
    friction = {str(number): _friction(obj) for number, obj in enumerate(bodies) if obj.rigid_body is not None}
    ground = next((obj for obj in world.collection.objects if record_of(obj).is_ground), None)
    if ground is not None:
        friction[""] = _friction(ground)
        shared = np.array(rigid_body_of(ground).collision_collections)
        pairs += [
            ("", str(number))
            for number, obj in enumerate(bodies)
            if placed[number] and (shared & np.array(rigid_body_of(obj).collision_collections)).any()
            if not mechanism.bodies[number].immobile
        ]
    return pairs, friction


def _friction(obj: bpy.types.Object) -> float:
    return float(rigid_body_of(obj).friction)


def _shape(placed: PlacedShape, scale: Array) -> Shape:
    """Return a collision shape of Blender's as that of a body with a scale (3,)."""
    solid: ConvexShape = placed.solid
    pose = np.diag([*scale, 1.0]) @ placed.place
    sides = np.linalg.norm(pose[:3, :3], axis=0)
    pose[:3, :3] /= sides
    half = solid.half * sides
    radius = float(max(half[0], half[1]))
    if solid.kind == "BOX":
        return Shape("box", dict(zip("xyz", (2.0 * half).tolist(), strict=True)), pose)
    if solid.kind == "SPHERE":
        return Shape("sphere", {"radius": float(half.max())}, pose)
    if solid.kind == "CAPSULE":
        return Shape("capsule", {"radius": radius, "length": 2.0 * max(float(half[2]) - radius, 1e-6)}, pose)
    if solid.kind == "CYLINDER":
        return Shape("cylinder", {"radius": radius, "length": 2.0 * float(half[2])}, pose)
    return Shape("mesh", pose=pose, extra={"vertices": solid.points * sides})


# ------------------------------------------------------------------ simulation


class _MotorCommands(SingleDofServos):
    """Servos whose commands go to MuJoCo's actuators instead of Blender's motors.

    Attributes:
        velocity: Target velocities (n,) for the next step of the control.
        force: Force limits (n,).
    """

    def __init__(self, joint_state: JointStateArrays, targets: ServoTargets) -> None:
        super().__init__(joint_state, targets, has_motors=False)
        self._motors = [empty.rigid_body_constraint for empty in joint_state.empties]  # any, so that all are commanded
        self.velocity = self.force = np.zeros(len(joint_state.joints))

    def _write(self, velocity: Array, force: Array) -> None:
        self.velocity, self.force = velocity, force


class MujocoRun:
    """A simulation in MuJoCo from the first frame on.

    Args:
        scene: The scene.
        rig: The mechanism.
        rate: Control steps per second.
        per_frame: Control steps per frame of the scene.
        time_step: Time step (s), shortened so that steps fit into a control step.
    """

    def __init__(
        self, scene: bpy.types.Scene, rig: bpy.types.Object, rate: float, per_frame: int, time_step: float = _TIME_STEP
    ) -> None:
        self._mujoco: Any = import_module("mujoco")
        self._mujoco.set_mju_user_warning(lambda _text: None)  # else it writes a log file into the working directory
        self._substeps = max(math.ceil(1.0 / rate / time_step - 1e-9), 1)
        made = reference_model(scene, rig, 1.0 / rate / self._substeps)
        self.start, self._rate, self._rig = made.start, rate, rig
        self.model, self.data = self._load(made.mjcf)
        names = self._mujoco.mj_name2id
        kind = self._mujoco.mjtObj
        self._bodies = {
            int(number): names(self.model, kind.mjOBJ_BODY, name) for number, name in made.mjcf.bodies.items()
        }
        joint_state = made.start.joint_state
        keys = [(joint, 0) for joint in joint_state.joints]
        found = [(at, made.mjcf.actuators[key]) for at, key in enumerate(keys) if key in made.mjcf.actuators]
        self._servos = np.array([at for at, _name in found], dtype=np.intp)
        self._actuators = np.array([names(self.model, kind.mjOBJ_ACTUATOR, name) for _, name in found], dtype=np.intp)
        self._targets = ServoTargets(scene, joint_state, per_frame)
        self._law = control_law(rig, self._targets.gait is not None)
        self.commands = _MotorCommands(joint_state, self._targets)
        self._group = ServoGroup(scene, [self.commands])
        self.drive = settings(rig).drive
        self._impulses = initial_velocity_impulses(as_simulated(scene, made.start)[1].joint_state)
        self._begin(made)
        self._number = self._targets.first
        state = self._state(self._number)
        state.velocities = {joint: speeds for each in self._impulses for joint, speeds in each.speeds(state).items()}
        self._group.start(state)

    def _load(self, mjcf: Mjcf) -> tuple[Any, Any]:
        try:
            model = self._mujoco.MjModel.from_xml_string(mjcf.text)
        except ValueError as error:
            raise ValueError(Message("MuJoCo cannot simulate this mechanism: {}", str(error).split("\n")[0])) from error
        data = self._mujoco.MjData(model)
        self._mujoco.mj_forward(model, data)
        return model, data

    def _begin(self, made: ReferenceModel) -> None:
        """Set initial velocities and the gains of the motors."""
        model, data, joint_state = self.model, self.data, made.start.joint_state
        address = {
            key: int(model.jnt_dofadr[self._mujoco.mj_name2id(model, self._mujoco.mjtObj.mjOBJ_JOINT, name)])
            for key, name in made.mjcf.joints.items()
        }
        for impulse in self._impulses:
            state = self._state(self._targets.first)
            rates = impulse.speeds(state)
            for joint in made.mechanism.joints:
                for number, (_dof, own) in enumerate(dof_slices(joint.dofs) if joint.id in rates else ()):
                    if (joint.id, number) in address:
                        data.qvel[address[joint.id, number]] = rates[joint.id][own][-1]
            self._set_block_velocities(impulse.body_speeds(state))
        self._mujoco.mj_forward(model, data)
        identity, out = np.eye(model.nv), np.zeros((model.nv, model.nv))
        if model.nv:
            self._mujoco.mj_solveM(model, data, out, identity)
        limited = (joint_state.servos.limit < UNLIMITED_FORCE) | (self._law == "PD")
        for at, actuator in zip(self._servos, self._actuators, strict=True):
            place = address[joint_state.joints[at], 0]
            steps = _LIMITED_STEPS if limited[at] else _UNLIMITED_STEPS
            gain = 1.0 / out[place, place] / (steps * model.opt.timestep)
            model.actuator_gainprm[actuator, 0], model.actuator_biasprm[actuator, 2] = gain, -gain

    def _set_block_velocities(self, bodies: Sequence[tuple[Array, Array]]) -> None:
        """Set the initial velocities of balls and free bodies, from those of bodies in world axes."""
        model, velocity = self.model, self.data.qvel
        places = {body: number for number, body in self._bodies.items()}
        turns = self.start.poses[0, :, :3, :3]
        kinds = self._mujoco.mjtJoint
        for index in range(model.njnt):
            kind, place = model.jnt_type[index], int(model.jnt_dofadr[index])
            body = places[int(model.jnt_bodyid[index])]
            carrier = places.get(int(model.body_parentid[model.jnt_bodyid[index]]))
            spin = bodies[body][1] - (np.zeros(3) if carrier is None else bodies[carrier][1])
            if kind == kinds.mjJNT_FREE:
                velocity[place : place + 3], velocity[place + 3 : place + 6] = bodies[body][0], turns[body].T @ spin
            elif kind == kinds.mjJNT_BALL:
                velocity[place : place + 3] = turns[body].T @ spin

    def poses(self) -> Array:
        """Return the poses (bodies + 1, 4, 4), as ``JointStateArrays.poses`` does."""
        out = self.start.poses[0].copy()
        for number, body in self._bodies.items():
            out[number, :3, :3] = self.data.xmat[body].reshape(3, 3)
            out[number, :3, 3] = self.data.xpos[body]
        return out

    def _state(self, frame: int) -> SimulationState:
        return SimulationState(self.start.joint_state, self.poses(), self._rate, frame, self.drive, self._law)

    def command(self) -> None:
        """Set the commands of the servos for the next step of the control."""
        self._number += 1
        self._targets.look(self._number)
        self._group.update(self._state(self._number))
        velocity, force = self.commands.velocity[self._servos], self.commands.force[self._servos]
        limit = np.clip(force, 1e-12, UNLIMITED_FORCE)
        self.model.actuator_forcerange[self._actuators] = np.stack([-limit, limit], axis=1)
        self.data.ctrl[self._actuators] = velocity

    def advance(self) -> None:
        """Simulate a step of the control.

        Raises:
            SimulationError: The simulation diverged.
        """
        self._mujoco.mj_step(self.model, self.data, self._substeps)
        self._mujoco.mj_kinematics(self.model, self.data)
        if not np.isfinite(self.data.qpos).all():
            raise SimulationError(
                "The simulation in MuJoCo diverged", remedy="Look for overlapping bodies and very unequal masses"
            )


def mujoco_steps(scene: bpy.types.Scene, rig: bpy.types.Object, last: int | None = None) -> StepGenerator[Recording]:
    """Simulate in MuJoCo and record as ``bake.record_steps`` does, pausing after every frame.

    Raises:
        ValueError: MuJoCo is not installed, or cannot simulate the mechanism.
        SimulationError: The simulation diverged.
    """
    if why := mujoco_missing_message():
        raise ValueError(why)
    first, per_frame = first_frame(scene), steps_per_frame(scene, rig)
    last = scene.frame_end if last is None else last
    frames = np.arange(first, max(last, first) + 1, dtype=np.float64)
    run = MujocoRun(scene, rig, frame_rate(scene) * per_frame, per_frame)
    start, joint_state = run.start, run.start.joint_state
    poses, targets = [run.poses()], [start.servo_targets[0]]
    for frame in range(1, len(frames)):
        for _ in range(per_frame):
            run.command()
            run.advance()
            poses.append(run.poses())
        targets.append(run.commands.last_targets)
        yield frame + 1, len(frames)
    every = np.array(poses)
    values = np.array([joint_state.coordinates(pose) for pose in every]).reshape(len(every), len(joint_state.joints))
    values[0] = start.values[0]
    values[:, joint_state.turns] = np.unwrap(values[:, joint_state.turns], axis=0)
    return Recording(
        joint_state,
        frames,
        every[::per_frame],
        values[::per_frame],
        np.repeat(start.lifts, len(frames)),
        np.array(targets),
        [run.drive] * len(frames),
        begun=start.begun,
        steps=every if per_frame > 1 else None,
        rate=frame_rate(scene) * per_frame,
    )


def compare_steps(scene: bpy.types.Scene, rig: bpy.types.Object) -> StepGenerator[list[BodyDifference]]:
    """Simulate what was baked last in MuJoCo and in Blender, and store the differences of the bodies' paths.

    The drive, the Action and the frame are as before at the end, also when it is closed before.
    """
    rigs, last = list(simulated_rigs(scene)), int(settings(rig).accuracy.last_frame)
    with as_before_bake(scene, rig):
        reference = yield from counted_steps(mujoco_steps(scene, rig, last), 2)
        with steps_applied(scene, rigs, "BAKE"):
            recording = yield from counted_steps(record_steps(scene, rig, last), 2, 1)
        found = recording_differences(recording, reference)
    store_differences(rig, found)
    return found


def recording_differences(recording: Recording, reference: Recording) -> list[BodyDifference]:
    """Return the differences between the paths of the bodies that move in two recordings, the largest first."""
    names = [_name(obj) for obj in recording.joint_state.bodies]
    return body_differences(recording.poses[:, :-1], reference.poses[:, :-1], names, recording.frame_rate)


def store_differences(rig: bpy.types.Object, differences: Sequence[BodyDifference]) -> None:
    """Store the differences from MuJoCo with the other figures of the last bake."""
    kept = settings(rig).accuracy.differences
    kept.clear()
    for difference in differences:
        row = kept.add()
        row.name, row.largest = difference.name, difference.largest
        row.times, row.distances = zip(*difference.at_times(len(row.times)), strict=True)
