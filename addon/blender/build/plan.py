"""From a mechanism to what has to be created, as plain numbers: bones, colours, upright turn. No bpy."""

from __future__ import annotations

import colorsys
import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...model.kinematics import Link, Tree, joint_frame_world, spanning_tree
from ...model.records import Array, Body, Joint, Mechanism, Shape

UpAxis = Literal["AUTO", "Z", "Y", "-Z"]

#: A turn about X (rad) that brings each up axis to Blender's Z.
_TURN = {"Z": 0.0, "Y": math.pi / 2, "-Z": math.pi}


@dataclass
class BonePlan:
    """A bone: its rest matrix (4x4: Y along the bone, Z the joint axis), length, and the bone that carries it.

    ``link`` is None for a root's bone. ``body`` is the body that follows it."""

    name: str
    matrix: Array
    length: float
    parent: int | None
    link: Link | None
    body: Body


@dataclass
class Plan:
    """Everything that ``build`` creates, decided."""

    mechanism: Mechanism
    tree: Tree
    bones: list[BonePlan]
    bone_of_body: dict[str, int]
    frames: dict[str, Array]  # joint id -> design pose of its frame
    colors: dict[str, tuple[float, float, float, float]]  # body id -> colour of what has none of its own
    upright: Array  # 4x4 turn of the whole model
    size: float  # length of the diagonal of the bodies' bounding box
    bodies: dict[str, Body] = field(default_factory=dict)


def plan(mechanism: Mechanism, up_axis: UpAxis = "AUTO") -> Plan:
    """Decide bones, colours and the upright turn for a mechanism."""
    bodies = {body.id: body for body in reversed(mechanism.bodies)}
    tree = spanning_tree(mechanism)
    frames = {joint.id: joint_frame_world(joint, bodies) for joint in mechanism.joints}
    size = _size(mechanism)
    bones, bone_of_body = _bones(tree, frames, bodies, size)
    return Plan(mechanism, tree, bones, bone_of_body, frames, _colors(tree), upright_turn(mechanism, up_axis), size, bodies)


def upright_turn(mechanism: Mechanism, up_axis: UpAxis) -> Array:
    """The turn that stands the model up: by its gravity when ``AUTO``, as (4, 4)."""
    if up_axis == "AUTO":
        down = np.asarray(mechanism.world.gravity)
        along = int(np.argmax(np.abs(down)))
        up_axis = "Z"
        if along == 1 and down[1] < 0:
            up_axis = "Y"
        elif along == 2 and down[2] > 0:
            up_axis = "-Z"
    angle = _TURN[up_axis]
    out = np.eye(4)
    if angle:
        cos, sin = round(math.cos(angle), 15), round(math.sin(angle), 15)
        out[1:3, 1:3] = [[cos, -sin], [sin, cos]]
    return out


def shape_radius(shape: Shape) -> float:
    """Radius of a sphere around a shape's own origin that contains it (length units)."""
    size = shape.size
    if shape.type in {"box", "ellipsoid"}:
        return 0.5 * math.sqrt(sum(size.get(key, 0.0) ** 2 for key in "xyz"))
    if shape.type == "capsule":
        return size.get("length", 0.0) / 2 + size.get("radius", 0.0)
    return math.hypot(size.get("length", 0.0) / 2, size.get("radius", 0.0))


def _size(mechanism: Mechanism) -> float:
    if not mechanism.bodies:
        return 1.0
    at = np.array([body.pose[:3, 3] for body in mechanism.bodies])
    reach = np.array([max((shape_radius(shape) for shape in body.shapes), default=0.0) for body in mechanism.bodies])
    span = (at + reach[:, None]).max(axis=0) - (at - reach[:, None]).min(axis=0)
    return float(np.linalg.norm(span)) or 1.0


def _bones(
    tree: Tree, frames: dict[str, Array], bodies: dict[str, Body], size: float
) -> tuple[list[BonePlan], dict[str, int]]:
    bones: list[BonePlan] = []
    bone_of_body: dict[str, int] = {}
    next_joint: dict[str, list[Array]] = {}
    for link in tree.links:
        if link.carrier is not None:
            next_joint.setdefault(link.carrier, []).append(frames[link.joint.id][:3, 3])
    shortest = 0.02 * size

    for root in tree.roots:
        matrix = np.eye(4)
        matrix[:3, 3] = (root.pose @ np.append(root.com, 1.0))[:3]
        bone_of_body[root.id] = len(bones)
        reach = max((shape_radius(shape) for shape in root.shapes), default=0.1 * size)
        bones.append(BonePlan(root.name or root.id, matrix, max(reach, shortest), None, None, root))
    for link in tree.links:
        body = bodies[link.body]
        frame = frames[link.joint.id]
        axis = frame[:3, :3] @ joint_axis(link.joint)
        axis = -axis if link.against else axis
        targets = next_joint.get(body.id, [])
        aim = targets[0] if len(targets) == 1 else (body.pose @ np.append(body.com, 1.0))[:3]
        matrix, length = _bone_frame(frame[:3, 3], axis, aim, frame, shortest)
        bone_of_body[body.id] = len(bones)
        parent = bone_of_body[link.carrier] if link.carrier is not None else None
        bones.append(BonePlan(link.joint.name or link.joint.id, matrix, length, parent, link, body))
    return bones, bone_of_body


def joint_axis(joint: Joint) -> Array:
    """The axis of a joint's first axial degree of freedom in its frame, Z where it has none."""
    for dof in joint.dofs:
        if dof.kind in {"rotation", "translation"}:
            return dof.axis / np.linalg.norm(dof.axis)
    return np.array([0.0, 0.0, 1.0])


def _bone_frame(head: Array, axis: Array, aim: Array, frame: Array, shortest: float) -> tuple[Array, float]:
    """Rest matrix and length of a bone: Z on the axis, Y towards ``aim`` as far as that is across the axis."""
    along = aim - head
    across = along - axis * (along @ axis)
    length = float(np.linalg.norm(across))
    if length < shortest:
        across = frame[:3, 1] - axis * (frame[:3, 1] @ axis)
        if np.linalg.norm(across) < 0.5:
            across = frame[:3, 0] - axis * (frame[:3, 0] @ axis)
        length = max(float(np.linalg.norm(along)), shortest)
    y = across / np.linalg.norm(across)
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2], matrix[:3, 3] = np.cross(y, axis), y, axis, head
    return matrix, length


def _colors(tree: Tree) -> dict[str, tuple[float, float, float, float]]:
    """Roots pale, each limb its own hue; twins share theirs, the mirror side a shade lighter."""
    colors: dict[str, tuple[float, float, float, float]] = {}
    limb_of: dict[str, int] = {}
    depth: dict[str, int] = {}
    twin_of = {body.id: body.twin for body in tree.mechanism.bodies}
    limbs = 0
    mirrored: set[int] = set()
    hue_of: dict[int, int] = {}
    for root in tree.roots:
        colors[root.id] = (0.78, 0.78, 0.74, 1.0)
        depth[root.id] = 0
    root_ids = {root.id for root in tree.roots}
    for link in tree.links:
        carrier = link.carrier
        if carrier is None or carrier in root_ids:
            limb = limbs
            limbs += 1
            twin = limb_of.get(twin_of.get(link.body) or "")
            if twin is not None:
                hue_of[limb] = hue_of[twin]
                mirrored.add(limb)
            else:
                hue_of[limb] = len(set(hue_of.values()))
        else:
            limb = limb_of[carrier]
        limb_of[link.body] = limb
        depth[link.body] = depth.get(carrier or "", 0) + 1
        colors[link.body] = _limb_color(hue_of[limb], depth[link.body], limb in mirrored)
    return colors


def _limb_color(hue: int, depth: int, mirrored: bool) -> tuple[float, float, float, float]:
    red, green, blue = colorsys.hsv_to_rgb(
        (0.06 + hue * 0.381966) % 1.0,  # the golden angle keeps neighbours apart
        (0.5 if mirrored else 0.72) - 0.04 * (depth % 3),
        (0.86, 0.7, 0.56)[(depth - 1) % 3] + (0.1 if mirrored else 0.0),
    )
    return (red, green, blue, 1.0)
