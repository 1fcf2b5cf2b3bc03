"""The records of a mechanism to rows of a Juice file: the inverse of ``mechanism``.

Numbers that an edit did not touch come out exactly as the row that they were read from has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...core.gait.behaviors import Engine
from ...core.model import Array, Body, Joint, Shape, World
from ...core.report import FormatError
from . import geometry
from .mechanism import BOX, CAPSULE, CYLINDER, INVALID, SPHERE, shape_of
from .strength import source_values
from .table import BODY, JOINTS, MODEL, REFERENCE, WORLD_PATHS, Row, Table

Number = Callable[[str | None], str | None]


class Numbers:
    """The 32-bit IDs by which a file names things: their own where they have one, a new one otherwise."""

    def __init__(self, ids: Iterable[str], taken: Iterable[str] = ()) -> None:
        ids = list(ids)
        self._taken = {*taken, "0", *filter(_is_number, ids)}
        self._next = 1
        self._number: dict[str, str] = {}
        for own in ids:
            if own in self._number:
                raise FormatError(f"two objects of one kind have the id {own}", remedy="Give one of them another id.")
            self._number[own] = own if _is_number(own) else self._new()

    def __call__(self, own: str | None) -> str | None:
        """The ID of something that is there; None for nothing and for what is not."""
        return None if own is None else self._number.get(own)

    def values(self) -> Iterable[str]:
        """The IDs in use."""
        return self._number.values()

    def _new(self) -> str:
        while str(self._next) in self._taken:
            self._next += 1
        self._taken.add(str(self._next))
        return str(self._next)


def settings_row(world: World, engine: Engine | None, near: Row) -> Row:
    """The world's and the engine's numbers; those that are None stay as they are in ``near``."""
    row = dict(near)
    row["Gravity"] = -float(world.gravity[2]) + 0.0
    for item in MODEL:
        holder = world if item.path in WORLD_PATHS else engine
        value = getattr(holder, item.attr, None) if item.attr else None
        if value is not None:
            row[item.path] = value
    return row


def body_row(body: Body, body_number: Number, near: Row | None = None, near_pose: Array | None = None) -> Row:
    """A body's row. ``near`` is the row that it was read from and ``near_pose`` the pose that this row gave."""
    row = _base(BODY, body.extra, near)
    row |= {"ID": body_number(body.id), "Name": body.name, "Twin": body_number(body.twin), "Mass": body.mass}
    row |= _shape_values(body.shapes[0] if body.shapes else None, row)
    if near is None or near_pose is None:
        row |= _place(body.pose, geometry.angles_of(body.pose), None)
    elif not geometry.same_pose(body.pose, near_pose):
        row |= _place(body.pose, geometry.angles_of(body.pose, _angles(near)), near)
    return row


def joint_row(
    joint: Joint,
    frame: Array,
    body_number: Number,
    joint_number: Number,
    near: Row | None = None,
    near_frame: Array | None = None,
) -> tuple[Row, float]:
    """A joint's row, and the factor from our coordinate to the file's that it means. ``frame`` is the joint's frame in
    the world (4, 4)."""
    row = _base(JOINTS[joint.type], joint.extra, near)
    row |= {"ID": joint_number(joint.id), "Name": joint.name, "Twin": joint_number(joint.twin)}
    row |= {"Body1": body_number(joint.parent), "Body2": body_number(joint.child)}
    if near is None or near_frame is None:
        row |= _place(frame, _faithful_angles(frame, joint.type), None)
    elif not geometry.same_pose(frame, near_frame):
        row |= _place(frame, _faithful_angles(frame, joint.type, _angles(near)), near)
    sense = sense_of(row, joint.type)
    if joint.dofs:
        dof = joint.dofs[0]
        row |= {"Gain": dof.gain, "MaxForce": dof.max_force} | source_values(dof)
        if joint.type != "ball":
            row |= _stop_values(dof.lower, dof.upper, sense, joint.type)
    return row, sense


def sense_of(row: Row, kind: str) -> float:
    """The factor from our coordinate to the file's for a joint of a row."""
    if kind not in {"revolute", "prismatic"}:
        return 1.0
    return _sense(_angles(row), kind)


@lru_cache(maxsize=4096)
def _sense(angles: geometry.Angles, kind: str) -> float:
    """Return the factor from our coordinate to the file's for a joint at angles. It is asked for a joint before and
    after an edit, and most joints are alike."""
    return float(geometry.senses(np.array([angles]), kind)[0][0])  # type: ignore[arg-type]


def record_row(record: Any, table: Table, number: Mapping[str, Number]) -> Row:
    """The row of a behaviour's record; ``number`` gives the IDs that each reference attribute leads to."""
    return {
        item.path: number[item.attr](getattr(record, item.attr))
        if item.kind is REFERENCE
        else getattr(record, item.attr)
        for item in table
        if item.attr and item.attr != "id"
    }


def joint_frame(joint: Joint, pose_of: Mapping[str, Array]) -> tuple[Array, float]:
    """A joint's frame in the world as its parent has it (its child, where it has none), and the distance
    to where its child has it."""
    frames = [
        pose_of[end] @ frame
        for end, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child))
        if end is not None and end in pose_of
    ]
    if not frames:
        return joint.frame_parent, 0.0
    return frames[0], float(np.abs(frames[0] - frames[-1]).max())


def _base(table: Table, extra: Mapping[str, Any], near: Row | None) -> Row:
    """Return what a row has of what a record says besides: any other format's file may say anything there."""
    kept = {path: value for path, value in extra.items() if path in table and table[path].kind.has(value)}
    return (near or table.defaults) | kept


def _angles(row: Row) -> geometry.Angles:
    return row["Rotation/Y"], row["Rotation/P"], row["Rotation/R"]


def _place(pose: Array, angles: geometry.Angles, near: Row | None) -> Row:
    """Position and rotation; a component that hardly differs from ``near``'s is ``near``'s."""
    row: Row = {}
    for axis, value in zip("XYZ", pose[:3, 3], strict=True):
        path, number = f"Position/{axis}", round(float(value), 12)
        same = near is not None and abs(number - near[path]) <= geometry.SAME_POSE * (1 + abs(near[path]))
        row[path] = near[path] if near is not None and same else number
    for name, angle in zip("YPR", angles, strict=True):
        row[f"Rotation/{name}"] = round(angle, 10) if near is None or angle != near[f"Rotation/{name}"] else angle
    return row


def _faithful_angles(frame: Array, kind: str, near: geometry.Angles | None = None) -> geometry.Angles:
    """Angles for a joint that is new, or was turned: its own where Juice simulates the axis that it draws, otherwise
    with the frame spun about its axis, which changes nothing of the joint. One that Juice simulated otherwise all
    along, at the angles ``near``, stays so."""
    angles = geometry.angles_of(frame, near or (0.0, 0.0, 0.0))
    if kind == "ball" or _is_faithful(angles, kind) or (near is not None and not _is_faithful(near, kind)):
        return angles
    return geometry.hinge_angles(frame[:3, 2]) if kind == "revolute" else geometry.slider_angles(frame[:3, 2])


def _is_faithful(angles: geometry.Angles, kind: str) -> bool:
    """Return whether Juice simulates a hinge or slider at angles about the line that it draws."""
    return bool(geometry.senses(np.array([angles]), kind)[1][0])  # type: ignore[arg-type]


def _shape_values(shape: Shape | None, row: Row) -> Row:
    if shape is None:
        return {} if shape_of(row) is None else {"Shape": INVALID}
    size = shape.size
    if shape.type == "box":
        return {"Shape": BOX, **{f"BoxDimensions/{axis.upper()}": size[axis] for axis in "xyz"}}
    if shape.type == "sphere":
        return {"Shape": SPHERE, "BallDiameter": size["radius"] * 2}
    number = CAPSULE if shape.type == "capsule" else CYLINDER
    return {"Shape": number, "TubeLength": size["length"], "TubeDiameter": size["radius"] * 2}


def _stop_values(lower: float | None, upper: float | None, sense: float, kind: str) -> Row:
    """Stops in the file's sense; the value of one that is off stays what it was."""
    low, high = (lower, upper) if sense > 0 else (None if upper is None else -upper, None if lower is None else -lower)
    unit = math.degrees(1.0) if kind == "revolute" else 1.0
    row: Row = {"LoStopFlag": low is not None, "HiStopFlag": high is not None}
    if low is not None:
        row["LoStopValue"] = low * unit + 0.0
    if high is not None:
        row["HiStopValue"] = high * unit + 0.0
    return row


def _is_number(own: str) -> bool:
    return own.isascii() and own.isdecimal() and str(int(own[:20])) == own and 0 < int(own) < 2**32
