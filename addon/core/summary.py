"""Contents of a mechanism, for programs (``describe_mechanism``) and for people (``summarize_mechanism``)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .bounds import mechanism_bounds
from .gait.behaviors import GaitBehaviors
from .gait.engine import Gait
from .kinematics import joint_frame_world, spanning_tree
from .mass_properties import body_inertia
from .model import Array, Body, Dof, Joint, Mechanism, Motion, Shape, body_by_id
from .motion.root_motion import root_body_name
from .report import Report


def describe_mechanism(mechanism: Mechanism, motions: Iterable[Motion] = ()) -> dict[str, Any]:
    """Describe a mechanism as ``info --json`` prints it: plain lists, dicts, strings and finite numbers.

    Matrices are row-major in the file's own axes, lengths in the file's units, angles in radians, all at the design
    pose. ``controls`` names the inputs of its gait, and ``engine`` is the clock of that gait, or None.

    Args:
        mechanism: The mechanism.
        motions: Motions listed after the mechanism's own; one with root motion has ``root_motion`` beside its
            ``servos``, in the same form.
    """
    bodies = body_by_id(mechanism)
    loops = spanning_tree(mechanism).loop_joints
    behaviours = mechanism.behaviours if isinstance(mechanism.behaviours, GaitBehaviors) else None
    return {
        "format": mechanism.source.format,
        "dialect": mechanism.source.dialect,
        "name": mechanism.name,
        "gravity": _json_list(mechanism.world.gravity),
        "bodies": [_describe_body(body) for body in mechanism.bodies],
        "joints": [_describe_joint(joint, bodies, joint.id in loops) for joint in mechanism.joints],
        "motions": [_describe_motion(motion) for motion in (*mechanism.motions, *motions)],
        "controls": Gait(mechanism).controls,
        "engine": None if behaviours is None else {key: _json_number(x) for key, x in vars(behaviours.engine).items()},
        "report": describe_report(mechanism.report),
    }


def summarize_mechanism(mechanism: Mechanism) -> str:
    """Summarize a mechanism in some lines of text, the report last."""
    source, report = mechanism.source, mechanism.report or Report()
    origin = " ".join(part for part in (source.format, source.dialect) if part)
    lines = [f"{mechanism.name} ({origin})" if origin else mechanism.name]
    if not is_motion_only(mechanism):
        mass = sum(body.mass for body in mechanism.bodies)
        lines += [
            f"bodies   {len(mechanism.bodies)}, total mass {mass:.6g}{_size_text(mechanism)}",
            f"joints   {_joints_text(mechanism)}",
            f"gravity  {' '.join(f'{x:.6g}' for x in mechanism.world.gravity)}",
        ]
    gait = Gait(mechanism)
    if gait.joints:
        lines.append(f"gait     moves {_quantity_text(len(gait.joints), 'joint')}")
    if gait.controls:
        lines.append(f"inputs   {', '.join(gait.controls)}")
    for motion in mechanism.motions:
        servos = _quantity_text(sum(not track.root for track in motion.trajectories), "servo")
        roots = dict.fromkeys(root_body_name(track.name) for track in motion.trajectories if track.root)
        moved = f", root motion of {', '.join(map(repr, roots))}" if roots else ""
        lines.append(f"motion   {motion.name}: {servos}{moved}, {motion.duration:.6g} s")
    lines.append(
        f"report   {_quantity_text(report.count('error'), 'error')}, "
        f"{_quantity_text(report.count('warning'), 'warning')}"
    )
    lines += [f"  {entry}" for entry in report.entries]
    return "\n".join(lines)


def is_motion_only(mechanism: Mechanism) -> bool:
    """Return whether there is only motion and no mechanism, as ``info`` and ``check`` have it for a motion file."""
    return bool(mechanism.motions) and not (mechanism.bodies or mechanism.joints)


def _describe_body(body: Body) -> dict[str, Any]:
    turn = body.pose[:3, :3]
    return {
        "id": body.id,
        "name": body.name,
        "assembly": body.assembly,
        "mass": _json_number(body.mass),
        "com_world": _json_list(turn @ body.com + body.pose[:3, 3]),
        "inertia_world": _json_list(turn @ body_inertia(body) @ turn.T),
        "matrix_world": _json_list(body.pose),
        "twin": body.twin,
        "shapes": [_describe_shape(shape, body.pose) for shape in body.shapes],
    }


def _describe_shape(shape: Shape, pose: Array) -> dict[str, Any]:
    return {
        "type": shape.type,
        "size": {key: _json_number(x) for key, x in shape.size.items()},
        "matrix_world": _json_list(pose @ shape.pose),
        "visual": shape.visual,
        "collision": shape.collision,
        "color": None if shape.color is None else [_json_number(x) for x in shape.color],
        "mesh": shape.mesh,
    }


def _describe_joint(joint: Joint, bodies: Mapping[str, Body], loop: bool) -> dict[str, Any]:
    frame = joint_frame_world(joint, bodies)
    return {
        "id": joint.id,
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        "active": joint.active,
        "loop": loop,
        "twin": joint.twin,
        "frame_world": _json_list(frame),
        "dofs": [_describe_dof(dof, frame) for dof in joint.dofs],
    }


def _describe_dof(dof: Dof, frame: Array) -> dict[str, Any]:
    names = (item.name for item in fields(dof) if item.name not in ("axis", "extra", "parts"))
    plain = {name: _json_value(getattr(dof, name)) for name in names}
    return {"kind": plain.pop("kind"), "axis_world": _json_list(frame[:3, :3] @ dof.axis), **plain}


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json_number(x) for x in value]
    return value if isinstance(value, str) else _json_number(value)


def _describe_motion(motion: Motion) -> dict[str, Any]:
    servos, roots = (
        [
            {"name": track.name, "times": _json_list(track.times), "values": _json_list(track.values)}
            for track in motion.trajectories
            if track.root == root
        ]
        for root in (False, True)
    )
    description = {"name": motion.name, "attributes": dict(motion.attributes), "servos": servos}
    return {**description, "root_motion": roots} if roots else description


def describe_report(report: Report | None) -> list[dict[str, Any]]:
    """Return the entries of a report as plain values."""
    keys = ("severity", "code", "message", "line", "where")
    return [{key: getattr(entry, key) for key in keys} for entry in (report.entries if report else ())]


def _json_number(value: float | None) -> float | None:
    """Convert a number for JSON: infinite and undefined ones are None."""
    return None if value is None or not math.isfinite(value) else float(value)


def _json_list(values: Array) -> Any:
    """Convert an array to nested lists of numbers for JSON."""
    array = np.asarray(values, dtype=np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    return [_json_list(row) for row in array] if array.ndim > 1 else [_json_number(x) for x in array]


def _size_text(mechanism: Mechanism) -> str:
    corners = mechanism_bounds(mechanism)
    if corners is None:
        return ""
    return ", size " + " x ".join(f"{x:.4g}" for x in corners[1] - corners[0])


def _joints_text(mechanism: Mechanism) -> str:
    joints = mechanism.joints
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(joint.type for joint in joints).most_common())
    notes = [f"{len(joints)} ({kinds})" if joints else "0"]
    loops = len(spanning_tree(mechanism).loop_joints)
    if loops:
        notes.append(f"{loops} closing a loop")
    inactive = sum(not joint.active for joint in joints)
    if inactive:
        notes.append(f"{inactive} inactive")
    return ", ".join(notes)


def _quantity_text(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
