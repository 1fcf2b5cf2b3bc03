"""A mechanism in the vocabulary of Juice: what it cannot hold is approximated or left out, and reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ...core.model import Array, Body, Dof, Joint, Mechanism, Shape, identity
from ...core.report import Report
from ..losses import MOTION, ORGANIZATION, SIMULATION, START, Losses
from .geometry import same_pose
from .strength import strengthened
from .table import TIME_STEP

HELD_SHAPES = frozenset({"box", "capsule", "sphere", "cylinder"})
_NOTHING = 1e-12


def lowered(mechanism: Mechanism, report: Report) -> tuple[list[Body], list[Joint]]:
    """Bodies that are their one shape about their centre of mass, and joints that are hinges along z, sliders along
    z or balls. What is already so is returned as it is; frames of joints are untouched but for the spin of their axis
    onto z, and are still those of the bodies of ``mechanism``."""
    losses = Losses()
    bodies = [_body(body, losses) for body in mechanism.bodies]
    joints = [made for joint in mechanism.joints if (made := _joint(joint, losses)) is not None]
    if mechanism.source.format != "juice" and mechanism.behaviours is None:  # which nothing but Juice has
        joints = strengthened(mechanism, bodies, joints, losses)
    _world(mechanism, losses)
    losses.tell(report)
    return bodies, joints


def _world(mechanism: Mechanism, losses: Losses) -> None:
    if np.abs(mechanism.world.gravity[:2]).max() > _NOTHING:
        x, y, z = mechanism.world.gravity
        message = f"Juice's gravity is along -Z: of ({x:g} {y:g} {z:g}) only {z:g} is written; turn the model upright"
        losses.add("approximated-gravity", message, mechanism)
    if mechanism.motions:
        losses.add("dropped-motion", "motions are not written; save them as servo motion", mechanism.motions[0])
    if mechanism.world.time_step not in (None, TIME_STEP):
        losses.add("dropped-world", f"the world's time step is not written; Juice's is {TIME_STEP:g}", mechanism)
    for frame in mechanism.frames:
        losses.add("dropped-frame", "frames are not written", frame)
    for light in mechanism.lights:
        losses.add("dropped-light", "lights are not written", light)
    for restraint in mechanism.restraints:
        losses.add("dropped-restraint", "restraints are not written", restraint)


def _body(body: Body, losses: Losses) -> Body:
    if body.inertia is not None:
        losses.add("dropped-inertia", "inertia is not written; Juice takes it from the shape", body)
    flags = {"no gravity": not body.gravity, "no collision": not body.collidable, "fixed": body.immobile}
    for lost, is_set in flags.items():
        if is_set:
            losses.add("dropped-flag", f"a body's flag is not written: {lost}", body)
    if body.assembly:
        losses.add("dropped-assembly", "assemblies are not written", body)
    shapes = _chosen(body.shapes)
    if len(body.shapes) > 1:
        losses.add("dropped-shape", "only the first solid shape of a body is written", body)
    if any(shape.color is not None for shape in shapes):
        losses.add("dropped-color", "colours are not written", body)
    shape = _shape(shapes[0], body, losses) if shapes else None
    if shape and not (shape.visual and shape.collision):
        losses.add("dropped-shape-use", "a shape is written, and in Juice it both shows and collides", body)
    local = shape.pose if shape else _at(body.com)
    if shape and not np.allclose(local[:3, 3], body.com, rtol=0, atol=1e-9):
        losses.add("moved-com", "the centre of mass is written at the middle of the shape", body)
    if same_pose(local, identity()) and shape is (body.shapes[0] if body.shapes else None):
        return body
    if not same_pose(local, identity()):
        losses.add("moved-frame", "a body's frame is written at the middle of its shape, along its edges", body)
    return replace(
        body,
        pose=body.pose @ local,
        com=np.zeros(3),
        shapes=[replace(shape, pose=identity())] if shape else [],
    )


def _chosen(shapes: Iterable[Shape]) -> list[Shape]:
    """The shapes, those that Juice holds and that are solid first."""
    return sorted(shapes, key=lambda shape: (shape.type not in HELD_SHAPES, not shape.collision))


def _shape(shape: Shape, body: Body, losses: Losses) -> Shape | None:
    if shape.type in HELD_SHAPES:
        return shape
    size = shape.size
    if shape.type == "cone" and {"length", "radius"} <= size.keys():
        losses.add("approximated-shape", "a cone is written as a cylinder", body)
        return replace(shape, type="cylinder")
    if {"x", "y", "z"} <= size.keys():
        what = "mesh, which is taken for 1 along each edge before its scale" if shape.mesh else shape.type
        losses.add("approximated-shape", f"a shape is written as its bounding box: {what}", body)
        return replace(shape, type="box", size={axis: size[axis] for axis in "xyz"})
    if shape.type != "none":
        losses.add("dropped-shape", f"a shape cannot be written: {shape.type}", body)
    return None


def _joint(joint: Joint, losses: Losses) -> Joint | None:
    kinds = [dof.kind for dof in joint.dofs]
    if joint.assembly:
        losses.add("dropped-assembly", "assemblies are not written", joint)
    if kinds == ["rotation"]:
        made = _along_z(joint, "revolute")
    elif kinds == ["translation"]:
        made = _along_z(joint, "prismatic")
    elif kinds == ["ball"]:
        made = joint if joint.type == "ball" else replace(joint, type="ball")
    elif not kinds:
        losses.add("approximated-joint", "a weld is written as a hinge between two stops at 0", joint, SIMULATION)
        made = replace(joint, type="revolute", dofs=[Dof("rotation", lower=0.0, upper=0.0, max_force=0.0)])
    elif len(kinds) > 1 and set(kinds) == {"rotation"}:
        losses.add("approximated-joint", f"a joint is written as a ball joint: {joint.type}", joint)
        made = replace(joint, type="ball", dofs=[Dof("ball", gain=joint.dofs[0].gain)])
    elif kinds == ["free"]:
        losses.add(
            "dropped-joint", "a free joint is not written: bodies of Juice are free without one", joint, ORGANIZATION
        )
        _tell_dof(joint, losses)
        return None
    else:
        losses.add("dropped-joint", f"a joint cannot be written: {joint.type}", joint)
        return None
    if joint.active and (joint.parent is None or joint.child is None):
        losses.add("joint-to-world", "a joint to the world is written, but Juice will not simulate it", joint)
    _tell_dof(joint, losses)
    return made


def _tell_dof(joint: Joint, losses: Losses) -> None:
    for dof in joint.dofs:
        for attribute in ("damping", "friction", "stiffness", "armature", "position", "velocity"):
            if abs(float(getattr(dof, attribute))) > _NOTHING:
                losses.add("dropped-joint-property", f"a joint's {attribute} is not written", joint)
        for attribute, start, effect in (("position", dof.start, START), ("velocity", dof.start_rates, SIMULATION)):
            if np.abs(start).max(initial=0.0) > _NOTHING:
                losses.add("dropped-joint-property", f"a joint's {attribute} is not written", joint, effect)
        if dof.kind == "ball" and (dof.lower is not None or dof.upper is not None):
            losses.add("dropped-limit", "a ball joint's limits are not written", joint, MOTION)


def _along_z(joint: Joint, kind: str) -> Joint:
    """The joint with its axis turned onto the z of its frames, in which it then is all the same."""
    axis = joint.dofs[0].axis
    if axis[2] > 0 and abs(axis[0]) + abs(axis[1]) < _NOTHING:
        return joint if joint.type == kind else replace(joint, type=kind)
    turn = identity()
    turn[:3, :3] = _z_onto(axis / np.linalg.norm(axis))
    return replace(
        joint,
        type=kind,
        frame_parent=joint.frame_parent @ turn,
        frame_child=joint.frame_child @ turn,
        dofs=[replace(joint.dofs[0], axis=np.array([0.0, 0.0, 1.0]))],
    )


def _z_onto(axis: Array) -> Array:
    """A rotation matrix whose third column is a unit vector."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _at(position: Array) -> Array:
    pose = identity()
    pose[:3, 3] = position
    return pose
