"""Conversion of a mechanism to Juice's rows; what the format cannot hold is approximated or left out, and reported."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...core.gait.behaviors import Engine
from ...core.model import Array, Body, Dof, Joint, Mechanism, Shape, World, identity
from ...core.report import FormatError, Message, Report
from ...core.transforms import make_pose, rotation_with_z
from ..document.conversion_losses import (
    INITIAL_POSE_DIFFERS,
    MOTION_DIFFERS,
    ORGANIZATION_ONLY,
    SIMULATION_DIFFERS,
    ConversionLosses,
)
from . import conventions
from .conventions import same_pose
from .schema import BODY, JOINTS, MODEL, REFERENCE, TIME_STEP, WORLD_PATHS, Row, Table
from .servo_gains import assign_servo_gains, source_gain_values
from .to_model import BOX, CAPSULE, CYLINDER, INVALID, SPHERE, shape_from_row

SUPPORTED_SHAPES = frozenset({"box", "capsule", "sphere", "cylinder"})
_ZERO_TOLERANCE = 1e-12


def convert_for_juice(mechanism: Mechanism, report: Report) -> tuple[list[Body], list[Joint]]:
    """Convert bodies and joints to what Juice can hold.

    Bodies become their one shape about their center of mass; joints become hinges along z, sliders along z or balls.
    Records that already are so are returned unchanged. Frames of joints are only rotated to bring the axis onto z, and
    are still relative to the bodies of ``mechanism``.
    """
    losses = ConversionLosses()
    bodies = [_convert_body(body, losses) for body in mechanism.bodies]
    joints = [made for joint in mechanism.joints if (made := _convert_joint(joint, losses)) is not None]
    if mechanism.source.format != "juice" and mechanism.behaviours is None:  # gaits exist in Juice only
        joints = assign_servo_gains(mechanism, bodies, joints, losses)
    _convert_world(mechanism, losses)
    losses.report_all(report)
    return bodies, joints


def _convert_world(mechanism: Mechanism, losses: ConversionLosses) -> None:
    if np.abs(mechanism.world.gravity[:2]).max() > _ZERO_TOLERANCE:
        x, y, z = mechanism.world.gravity
        message = Message(
            "Gravity ({} {} {}): only {} along Z is written, Juice has no other. Rotate the model upright",
            f"{x:g}",
            f"{y:g}",
            f"{z:g}",
            f"{z:g}",
        )
        losses.add("approximated-gravity", message, mechanism)
    if mechanism.motions:
        losses.add("dropped-motion", "Motions: not written. Export them as servo motion", mechanism.motions[0])
    if mechanism.world.time_step not in (None, TIME_STEP):
        losses.add("dropped-world", Message("Time step: not written, Juice's is {} s", f"{TIME_STEP:g}"), mechanism)
    for frame in mechanism.frames:
        losses.add("dropped-frame", "Reference frames: not written", frame)
    for light in mechanism.lights:
        losses.add("dropped-light", "Lights: not written", light)
    for restraint in mechanism.restraints:
        losses.add("dropped-restraint", "Restraints: not written", restraint)


def _convert_body(body: Body, losses: ConversionLosses) -> Body:
    if body.inertia is not None:
        losses.add("dropped-inertia", "Moments of inertia: not written, Juice computes them from the shape", body)
    flags = {"no gravity": not body.gravity, "no collision": not body.collidable, "fixed": body.immobile}
    for lost, is_set in flags.items():
        if is_set:
            losses.add("dropped-flag", Message("Body setting '{}': not written", lost), body)
    if body.assembly:
        losses.add("dropped-assembly", "Assemblies: not written", body)
    shapes = _by_preference(body.shapes)
    if len(body.shapes) > 1:
        losses.add("dropped-shape", "Shapes of a body: only the first solid one is written", body)
    if any(shape.color is not None for shape in shapes):
        losses.add("dropped-color", "Colors: not written", body)
    shape = _convert_shape(shapes[0], body, losses) if shapes else None
    if shape and not (shape.visual and shape.collision):
        losses.add("dropped-shape-use", "Shape: written as visual and collision shape, Juice has no other", body)
    local = shape.pose if shape else make_pose(position=body.com)
    if shape and not np.allclose(local[:3, 3], body.com, rtol=0, atol=1e-9):
        losses.add("moved-com", "Center of mass: written at the center of the shape", body)
    if same_pose(local, identity()) and shape is (body.shapes[0] if body.shapes else None):
        return body
    if not same_pose(local, identity()):
        losses.add("moved-frame", "Origin of a body: written at the center of its shape, along its edges", body)
    return replace(
        body,
        pose=body.pose @ local,
        com=np.zeros(3),
        shapes=[replace(shape, pose=identity())] if shape else [],
    )


def _by_preference(shapes: Iterable[Shape]) -> list[Shape]:
    """Sort shapes: those that Juice supports and that collide first."""
    return sorted(shapes, key=lambda shape: (shape.type not in SUPPORTED_SHAPES, not shape.collision))


def _convert_shape(shape: Shape, body: Body, losses: ConversionLosses) -> Shape | None:
    if shape.type in SUPPORTED_SHAPES:
        return shape
    size = shape.size
    if shape.type == "cone" and {"length", "radius"} <= size.keys():
        losses.add("approximated-shape", "Cone: written as a cylinder", body)
        return replace(shape, type="cylinder")
    if {"x", "y", "z"} <= size.keys():
        what = "mesh, assumed to be 1 along each edge before its scale" if shape.mesh else shape.type
        losses.add("approximated-shape", Message("Shape: written as its bounding box ({})", what), body)
        return replace(shape, type="box", size={axis: size[axis] for axis in "xyz"})
    if shape.type != "none":
        losses.add("dropped-shape", Message("Shape of type {}: not written, Juice has none", shape.type), body)
    return None


def _convert_joint(joint: Joint, losses: ConversionLosses) -> Joint | None:
    kinds = [dof.kind for dof in joint.dofs]
    if joint.assembly:
        losses.add("dropped-assembly", "Assemblies: not written", joint)
    if kinds == ["rotation"]:
        made = _align_axis_to_z(joint, "revolute")
    elif kinds == ["translation"]:
        made = _align_axis_to_z(joint, "prismatic")
    elif kinds == ["ball"]:
        made = joint if joint.type == "ball" else replace(joint, type="ball")
    elif not kinds:
        losses.add("approximated-joint", "Weld: written as a hinge with both stops at 0", joint, SIMULATION_DIFFERS)
        made = replace(joint, type="revolute", dofs=[Dof("rotation", lower=0.0, upper=0.0, max_force=0.0)])
    elif len(kinds) > 1 and set(kinds) == {"rotation"}:
        losses.add("approximated-joint", Message("Joint of type {}: written as a ball joint", joint.type), joint)
        made = replace(joint, type="ball", dofs=[Dof("ball", gain=joint.dofs[0].gain)])
    elif kinds == ["free"]:
        losses.add(
            "dropped-joint",
            "Free joint: not written, bodies of Juice are free without one",
            joint,
            ORGANIZATION_ONLY,
        )
        _report_dof_losses(joint, losses)
        return None
    else:
        losses.add("dropped-joint", Message("Joint of type {}: not written, Juice has none", joint.type), joint)
        return None
    if joint.active and (joint.parent is None or joint.child is None):
        losses.add("joint-to-world", "Joint to the world: written, but Juice does not simulate it", joint)
    _report_dof_losses(joint, losses)
    return made


#: Numbers of a degree of freedom that Juice has no place for. The others are written, or are no number of a file.
_UNWRITTEN_NUMBERS = tuple(
    each.name
    for each in fields(Dof)
    if each.default == 0.0
    and each.name not in {"gain", "max_force", "rest", "pitch", "servo_stiffness", "servo_damping"}
)


def _report_dof_losses(joint: Joint, losses: ConversionLosses) -> None:
    for dof in joint.dofs:
        for attribute in _UNWRITTEN_NUMBERS:
            if abs(float(getattr(dof, attribute))) > _ZERO_TOLERANCE:
                name = "rotor inertia" if attribute == "armature" else attribute
                losses.add("dropped-joint-property", Message("Joint {}: not written", name), joint)
        if len(joint.dofs) == 1 and dof.name not in {"", joint.name}:
            losses.add("dropped-joint-property", "Servo name: not written, it is the joint's", joint)
        for attribute, start, effect in (
            ("position", dof.start, INITIAL_POSE_DIFFERS),
            ("velocity", dof.start_rates, SIMULATION_DIFFERS),
        ):
            if np.abs(start).max(initial=0.0) > _ZERO_TOLERANCE:
                losses.add("dropped-joint-property", Message("Joint {}: not written", attribute), joint, effect)
        if dof.kind == "ball" and (dof.lower is not None or dof.upper is not None):
            losses.add("dropped-limit", "Stops of a ball joint: not written", joint, MOTION_DIFFERS)


def _align_axis_to_z(joint: Joint, kind: str) -> Joint:
    """Rotate a joint's frames so that its axis is their z; the motion stays the same."""
    axis = joint.dofs[0].axis
    if axis[2] > 0 and abs(axis[0]) + abs(axis[1]) < _ZERO_TOLERANCE:
        return joint if joint.type == kind else replace(joint, type=kind)
    turn = make_pose(rotation_with_z(axis))
    return replace(
        joint,
        type=kind,
        frame_parent=joint.frame_parent @ turn,
        frame_child=joint.frame_child @ turn,
        dofs=[replace(joint.dofs[0], axis=np.array([0.0, 0.0, 1.0]))],
    )


IdLookup = Callable[[str | None], str | None]


class IdAllocator:
    """Allocator of the 32-bit IDs of a file: an object's own id if valid, a new one otherwise.

    Args:
        ids: ids of the objects.
        taken: IDs that may not be given.

    Raises:
        FormatError: two objects have the same id.
    """

    def __init__(self, ids: Iterable[str], taken: Iterable[str] = ()) -> None:
        ids = list(ids)
        self._taken = {*taken, "0", *filter(_is_file_id, ids)}
        self._next = 1
        self._number: dict[str, str] = {}
        for own in ids:
            if own in self._number:
                raise FormatError(f"two objects of one kind have the ID {own}", remedy="Give one of them another ID.")
            self._number[own] = own if _is_file_id(own) else self._new()

    def __call__(self, own: str | None) -> str | None:
        """Return the ID of an object; None for None and for unknown objects."""
        return None if own is None else self._number.get(own)

    def values(self) -> Iterable[str]:
        """Return the IDs in use."""
        return self._number.values()

    def _new(self) -> str:
        while str(self._next) in self._taken:
            self._next += 1
        self._taken.add(str(self._next))
        return str(self._next)


def settings_row(world: World, engine: Engine | None, near: Row) -> Row:
    """Return the row of world and engine; values that are None are taken from ``near``."""
    row = dict(near)
    row["Gravity"] = -float(world.gravity[2]) + 0.0
    for item in MODEL:
        holder = world if item.path in WORLD_PATHS else engine
        value = getattr(holder, item.attr, None) if item.attr else None
        if value is not None:
            row[item.path] = value
    return row


def body_row(body: Body, body_id_of: IdLookup, near: Row | None = None, near_pose: Array | None = None) -> Row:
    """Return a body's row.

    Args:
        body: the body.
        body_id_of: the file's ID of a body.
        near: the row that it was read from.
        near_pose: the pose (4, 4) of that row.
    """
    row = _row_with_extra(BODY, body.extra, near)
    row |= {"ID": body_id_of(body.id), "Name": body.name, "Twin": body_id_of(body.twin), "Mass": body.mass}
    row |= _shape_values(body.shapes[0] if body.shapes else None, row)
    if near is None or near_pose is None:
        row |= _pose_values(body.pose, conventions.angles_from_rotation(body.pose), None)
    elif not conventions.same_pose(body.pose, near_pose):
        row |= _pose_values(body.pose, conventions.angles_from_rotation(body.pose, _row_angles(near)), near)
    return row


def joint_row(
    joint: Joint,
    frame: Array,
    body_id_of: IdLookup,
    joint_id_of: IdLookup,
    near: Row | None = None,
    near_frame: Array | None = None,
) -> tuple[Row, float]:
    """Return a joint's row, and the factor from our joint value to the file's.

    Args:
        joint: the joint.
        frame: the joint's world frame (4, 4).
        body_id_of: the file's ID of a body.
        joint_id_of: the file's ID of a joint.
        near: the row that it was read from.
        near_frame: the world frame (4, 4) of that row.
    """
    row = _row_with_extra(JOINTS[joint.type], joint.extra, near)
    row |= {"ID": joint_id_of(joint.id), "Name": joint.name, "Twin": joint_id_of(joint.twin)}
    row |= {"Body1": body_id_of(joint.parent), "Body2": body_id_of(joint.child)}
    if near is None or near_frame is None:
        row |= _pose_values(frame, _simulated_angles(frame, joint.type), None)
    elif not conventions.same_pose(frame, near_frame):
        row |= _pose_values(frame, _simulated_angles(frame, joint.type, _row_angles(near)), near)
    sense = row_sign(row, joint.type)
    if joint.dofs:
        dof = joint.dofs[0]
        row |= {"Gain": dof.gain, "MaxForce": dof.max_force} | source_gain_values(dof)
        if joint.type != "ball":
            row |= _stop_values(dof.lower, dof.upper, sense, joint.type)
    return row, sense


def row_sign(row: Row, kind: str) -> float:
    """Return the factor from our joint value to the file's for a joint's row."""
    if kind not in {"revolute", "prismatic"}:
        return 1.0
    return _joint_sign(_row_angles(row), kind)


@lru_cache(maxsize=4096)
def _joint_sign(angles: conventions.Angles, kind: str) -> float:
    """Return the factor from our joint value to the file's for a joint at angles.

    Cached: it is needed before and after an edit, and most joints have equal angles.
    """
    return float(conventions.joint_signs(np.array([angles]), kind)[0][0])  # type: ignore[arg-type]


def record_row(record: Any, table: Table, number: Mapping[str, IdLookup]) -> Row:
    """Return the row of a behavior's record; ``number`` maps each reference attribute to its lookup of IDs."""
    return {
        item.path: number[item.attr](getattr(record, item.attr))
        if item.kind is REFERENCE
        else getattr(record, item.attr)
        for item in table
        if item.attr and item.attr != "id"
    }


def joint_frame(joint: Joint, pose_of: Mapping[str, Array]) -> tuple[Array, float]:
    """Return a joint's world frame, and the distance between its frames on the parent and on the child.

    The frame is the parent's, or the child's if there is no parent. The distance is the largest difference of matrix
    elements.
    """
    frames = [
        pose_of[end] @ frame
        for end, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child))
        if end is not None and end in pose_of
    ]
    if not frames:
        return joint.frame_parent, 0.0
    return frames[0], float(np.abs(frames[0] - frames[-1]).max())


def _row_with_extra(table: Table, extra: Mapping[str, Any], near: Row | None) -> Row:
    """Return ``near`` or the defaults, with the valid values of a record's ``extra``.

    Values are checked, as other formats may put anything into ``extra``.
    """
    kept = {path: value for path, value in extra.items() if path in table and table[path].kind.has(value)}
    return (near or table.defaults) | kept


def _row_angles(row: Row) -> conventions.Angles:
    return row["Rotation/Y"], row["Rotation/P"], row["Rotation/R"]


def _pose_values(pose: Array, angles: conventions.Angles, near: Row | None) -> Row:
    """Return position and rotation of a row; components equal to ``near``'s up to rounding are exactly those."""
    row: Row = {}
    for axis, value in zip("XYZ", pose[:3, 3], strict=True):
        path, number = f"Position/{axis}", round(float(value), 12)
        same = near is not None and abs(number - near[path]) <= conventions.POSE_ROUNDING * (1 + abs(near[path]))
        row[path] = near[path] if near is not None and same else number
    for name, angle in zip("YPR", angles, strict=True):
        row[f"Rotation/{name}"] = round(angle, 10) if near is None or angle != near[f"Rotation/{name}"] else angle
    return row


def _simulated_angles(frame: Array, kind: str, near: conventions.Angles | None = None) -> conventions.Angles:
    """Return angles of a new or rotated joint that Juice simulates about the axis it draws.

    If its own angles do not, the frame is spun about the axis, which does not change the joint. A joint that was
    simulated about another axis at the angles ``near`` stays so.
    """
    angles = conventions.angles_from_rotation(frame, near or (0.0, 0.0, 0.0))
    if (
        kind == "ball"
        or _is_simulated_as_drawn(angles, kind)
        or (near is not None and not _is_simulated_as_drawn(near, kind))
    ):
        return angles
    return conventions.hinge_angles(frame[:3, 2]) if kind == "revolute" else conventions.slider_angles(frame[:3, 2])


def _is_simulated_as_drawn(angles: conventions.Angles, kind: str) -> bool:
    """Return whether Juice simulates a hinge or slider at angles about the axis that it draws."""
    return bool(conventions.joint_signs(np.array([angles]), kind)[1][0])  # type: ignore[arg-type]


def _shape_values(shape: Shape | None, row: Row) -> Row:
    if shape is None:
        return {} if shape_from_row(row) is None else {"Shape": INVALID}
    size = shape.size
    if shape.type == "box":
        return {"Shape": BOX, **{f"BoxDimensions/{axis.upper()}": size[axis] for axis in "xyz"}}
    if shape.type == "sphere":
        return {"Shape": SPHERE, "BallDiameter": size["radius"] * 2}
    number = CAPSULE if shape.type == "capsule" else CYLINDER
    return {"Shape": number, "TubeLength": size["length"], "TubeDiameter": size["radius"] * 2}


def _stop_values(lower: float | None, upper: float | None, sense: float, kind: str) -> Row:
    """Return stops with the file's sign; the value of an absent one stays as it was."""
    low, high = (lower, upper) if sense > 0 else (None if upper is None else -upper, None if lower is None else -lower)
    unit = math.degrees(1.0) if kind == "revolute" else 1.0
    row: Row = {"LoStopFlag": low is not None, "HiStopFlag": high is not None}
    if low is not None:
        row["LoStopValue"] = low * unit + 0.0
    if high is not None:
        row["HiStopValue"] = high * unit + 0.0
    return row


def _is_file_id(own: str) -> bool:
    return own.isascii() and own.isdecimal() and str(int(own[:20])) == own and 0 < int(own) < 2**32
