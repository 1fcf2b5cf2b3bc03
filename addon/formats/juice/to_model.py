"""Conversion of a Juice document's rows to a mechanism."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from ...core.model import Array, Body, Dof, Joint, Mechanism, Shape, World, identity
from ...core.record_utils import ZERO_VECTOR, FrozenDict
from ...core.report import Message, Report
from ...core.transforms import IDENTITY_POSE
from ..text.xml_reader import report_element
from . import conventions
from .reader import ReferenceResolver, SourceElement
from .schema import BODY, GROUND, JOINT_TYPE, TIME_STEP, WORLD_PATHS, Row
from .servo_gains import attach_source_gains

#: Codes of shapes in the file.
INVALID, BOX, CAPSULE, SPHERE, CYLINDER = range(5)

_BODY_EXTRA = (
    "Shape",
    *(item.path for item in BODY if item.path.split("/")[0].endswith(("Dimensions", "Length", "Diameter"))),
)
_STOPS = ("LoStopValue", "HiStopValue", "LoStopFlag", "HiStopFlag")
_JOINT_EXTRA = (*_STOPS, "Length", "Diameter")


def build(
    settings: SourceElement,
    bodies: list[SourceElement],
    joints: list[SourceElement],
    body_of: ReferenceResolver,
    joint_of: ReferenceResolver,
    strengths: Mapping[str, tuple[float, float]],
    path: str,
    report: Report,
) -> Mechanism:
    """Build the mechanism of a document's rows, without its behaviors.

    ``strengths`` gives gain and maximum force, by id, of joints that have none themselves, as in .jpm files.
    """
    result = Mechanism(name=PurePath(path).stem or "Mechanism", world=_world(settings.row))
    result.bodies = _bodies(bodies, body_of, report)
    result.joints = _joints(joints, result.bodies, body_of, joint_of, report)
    for what, named in (("bodies", result.bodies), ("joints", result.joints)):
        shared = sum(count for count in Counter(item.name for item in named).values() if count > 1)
        if shared:
            report.info(
                "shared-name", Message("{} {} share a name with another; their IDs distinguish them", shared, what)
            )
    for joint, placed in zip(result.joints, joints, strict=True):
        if joint.id in strengths:
            gain, force = strengths[joint.id]
            dof = joint.dofs[0]
            dof.gain = dof.gain if placed.row.is_set("Gain") else gain
            dof.max_force = dof.max_force if placed.row.is_set("MaxForce") else force
    return result


def shape_from_row(row: Row) -> Shape | None:
    """Return the shape of a body's row; None for the invalid or an unknown one."""
    number = row["Shape"]
    if number == BOX:
        return Shape("box", {axis: row[f"BoxDimensions/{axis.upper()}"] for axis in "xyz"}, IDENTITY_POSE)
    if number == SPHERE:
        return Shape("sphere", {"radius": row["BallDiameter"] / 2}, IDENTITY_POSE)
    if number in {CAPSULE, CYLINDER}:
        size = {"length": row["TubeLength"], "radius": row["TubeDiameter"] / 2}
        return Shape("capsule" if number == CAPSULE else "cylinder", size, IDENTITY_POSE)
    return None


def _intern_equal(values: dict[str, Any], known: dict[tuple[Any, ...], FrozenDict]) -> FrozenDict:
    """Return the first of equal dictionaries with the same keys, to share memory."""
    key = tuple(values.values())
    found = known.get(key)
    if found is None or any(map(_differs, found.values(), key)):
        found = known[key] = FrozenDict(values)
    return found


def _differs(one: Any, other: Any) -> bool:
    """Return whether two equal values are distinguishable: by the sign of zero, or as int, float or bool."""
    return type(one) is not type(other) or (one == 0.0 and math.copysign(1.0, one) != math.copysign(1.0, other))


def stops_from_row(row: Row, kind: str, sense: float) -> tuple[float | None, float | None]:
    """Return lower and upper stop (rad or length units) with our sign; None where there is none."""
    unit = math.radians(1.0) if kind == "revolute" else 1.0
    low = row["LoStopValue"] * unit if row["LoStopFlag"] else None
    high = row["HiStopValue"] * unit if row["HiStopFlag"] else None
    if sense > 0:
        return low, high
    return (None if high is None else -high), (None if low is None else -low)


def _world(row: Row) -> World:
    return World(
        gravity=np.array([0.0, 0.0, -row["Gravity"] + 0.0]),
        time_step=TIME_STEP,
        ground=GROUND,
        **{path.lower(): row[path] for path in WORLD_PATHS},
    )


def _positions(placed: list[SourceElement]) -> Array:
    return np.array([[item.row[f"Position/{axis}"] for axis in "XYZ"] for item in placed]).reshape(-1, 3)


def _angles(placed: list[SourceElement]) -> Array:
    return np.array([[item.row[f"Rotation/{angle}"] for angle in "YPR"] for item in placed]).reshape(-1, 3)


def _bodies(placed: list[SourceElement], body_of: ReferenceResolver, report: Report) -> list[Body]:
    bodies = []
    extras: dict[tuple[Any, ...], FrozenDict] = {}
    sizes: dict[str, dict[tuple[Any, ...], FrozenDict]] = {}
    for item, pose in zip(placed, conventions.poses_from_angles(_positions(placed), _angles(placed)), strict=True):
        row = item.row
        shape = shape_from_row(row)
        if shape is None and row["Shape"] != INVALID:
            message = Message("{} has the unknown shape {}; it is imported without a shape", item.label, row["Shape"])
            report_element(report, "warning", "unknown-shape", message, item.element)
        if shape is not None:
            shape.size = _intern_equal(shape.size, sizes.setdefault(shape.type, {}))
        bodies.append(
            Body(
                row["ID"],
                row["Name"],
                pose=pose,
                mass=row["Mass"],
                com=ZERO_VECTOR,
                shapes=[shape] if shape else [],
                twin=body_of(row["Twin"]),
                extra=_intern_equal({path: row[path] for path in _BODY_EXTRA}, extras),
                line=item.line,
            )
        )
    _report_twins(placed, {body.id: body.twin for body in bodies}, body_of, report)
    return bodies


def _joints(
    placed: list[SourceElement],
    bodies: list[Body],
    body_of: ReferenceResolver,
    joint_of: ReferenceResolver,
    report: Report,
) -> list[Joint]:
    pose_of: dict[str | None, Array] = {body.id: body.pose for body in bodies}
    angles = _angles(placed)
    frames = conventions.poses_from_angles(_positions(placed), angles)
    senses = _joint_signs(placed, angles, report)
    ends = [[_joint_end(item, path, body_of, report) for path in ("Body1", "Body2")] for item in placed]
    parents, children = (
        conventions.inverse_poses(np.array([pose_of.get(end[i], identity()) for end in ends]).reshape(-1, 4, 4))
        @ frames
        for i in range(2)
    )
    joints = []
    for i, (item, (parent, child)) in enumerate(zip(placed, ends, strict=True)):
        row, kind = item.row, JOINT_TYPE[item.table.tag]
        joints.append(
            Joint(
                row["ID"],
                row["Name"],
                kind,
                parent,
                child,
                parents[i],
                children[i],
                dofs=[attach_source_gains(_dof(row, kind, float(senses[i])), row)],
                active=_is_active(item, parent, child, report),
                twin=joint_of(row["Twin"]),
                extra={path: row[path] for path in _JOINT_EXTRA if path in row},
                line=item.line,
            )
        )
    _report_twins(placed, {joint.id: joint.twin for joint in joints}, joint_of, report)
    return joints


def _dof(row: Row, kind: str, sense: float) -> Dof:
    strength = {"gain": row["Gain"], "max_force": row["MaxForce"]}
    if kind == "ball":
        return Dof("ball", **strength)  # its stops are stored but never used by the program
    lower, upper = stops_from_row(row, kind, sense)
    return Dof(
        "rotation" if kind == "revolute" else "translation", lower=lower, upper=upper, file_sign=sense, **strength
    )


def _joint_signs(placed: list[SourceElement], angles: Array, report: Report) -> Array:
    """Return the factor from our joint value to the file's for every joint.

    Reports joints that the program simulates about another axis than it draws.
    """
    result = np.ones(len(placed))
    tags = np.array([JOINT_TYPE[item.table.tag] for item in placed], dtype=object)
    for kind in ("revolute", "prismatic"):
        mine = np.flatnonzero(tags == kind)
        result[mine], same_line = conventions.joint_signs(angles[mine], kind)
        for i in mine[~same_line]:
            message = Message("{}: Juice draws its axis along one line and simulates it along another", placed[i].label)
            report_element(report, "warning", "axis-differs", f"{message}; the drawn one is taken", placed[i].element)
    return result


def _joint_end(item: SourceElement, path: str, body_of: ReferenceResolver, report: Report) -> str | None:
    raw = item.row[path]
    found = body_of(raw)
    if found is None and not body_of.is_none(raw):
        message = Message("{} of {} refers to {}, which no body has as its ID", path, item.label, raw.strip())
        report_element(report, "warning", "dangling-reference", message, item.element)
    return found


def _is_active(item: SourceElement, parent: str | None, child: str | None, report: Report) -> bool:
    if parent is not None and child is not None and parent != child:
        return True
    count = (parent is not None) + (child is not None)
    reason = (
        "parent and child are the same body"
        if count == 2
        else "it has no body"
        if count == 0
        else "it has only one body"
    )
    report_element(report, "warning", "inactive-joint", f"{item.label} joins nothing: {reason}", item.element)
    return False


def _report_twins(
    placed: list[SourceElement], twins: dict[str, str | None], resolve: ReferenceResolver, report: Report
) -> None:
    for item in placed:
        own, raw = item.row["ID"], item.row["Twin"]
        twin = twins[own]
        if twin is None:
            if not resolve.is_none(raw):
                message = Message("{} has the twin {}, which is not in the file", item.label, raw.strip())
                report_element(report, "warning", "dangling-reference", message, item.element)
        elif twins.get(twin) != own:
            report_element(report, "info", "twin-not-mutual", f"{item.label} is not the twin of its twin", item.element)
        elif own < twin and not _is_mirrored(item.row, resolve.by_id[twin].row):
            report_element(
                report, "info", "twin-not-mirrored", f"{item.label} and its twin are not mirrored", item.element
            )


def _is_mirrored(row: Row, twin: Row) -> bool:
    """Return whether two positions mirror each other across X = 0."""
    return (
        math.isclose(row["Position/X"], -twin["Position/X"], abs_tol=1e-6)
        and math.isclose(row["Position/Y"], twin["Position/Y"], abs_tol=1e-6)
        and math.isclose(row["Position/Z"], twin["Position/Z"], abs_tol=1e-6)
    )
