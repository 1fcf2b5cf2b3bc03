"""Build plan of a mechanism as plain numbers: initial joint values, dependent joints, rest matrices, colors. No bpy."""

from __future__ import annotations

import colorsys
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ...core.bounds import body_radius, scenery_bodies
from ...core.kinematics import Link, Tree, joint_frames_world, spanning_tree
from ...core.loops.closure import (
    LoopSystem,
    close_loops,
    initial_joint_positions,
    input_joint_order,
    loop_openings,
)
from ...core.loops.linkage_solver import Linkage, find_linkages
from ...core.loops.newton import CLOSURE_TOLERANCE
from ...core.mass_properties import body_center
from ...core.model import Array, Body, Mechanism, body_by_id, first_indices, joint_by_id
from ...core.report import FormatError, Message, Report
from ...core.transforms import make_pose, rotation_with_z
from ...core.up_axis import UpAxis, upright_transform
from ..rig.joint_frames import main_axis
from .dof_layout import AxisLayout, BoneChains, BoneDofs, DofPlacement

#: Opening (length units or rad) up to which a loop is taken as closed.
OPEN_LOOP_TOLERANCE = 1e-6


def closed_loop_coordinates(mechanism: Mechanism, tree: Tree) -> dict[str, Array]:
    """Find the joint coordinates nearest to the file's at which every loop closes, by joint id.

    It is empty where all loops are closed at the file's. The result is added to the mechanism's report.
    """
    if not tree.loop_joints:
        return {}
    if max(map(max, loop_openings(mechanism, tree=tree).values()), default=0.0) <= OPEN_LOOP_TOLERANCE:
        return {}
    system = LoopSystem(mechanism, tree)
    if np.abs(system.residual(system.vector(system.file_positions))).max() <= CLOSURE_TOLERANCE:
        return {}  # as closed as loops that are followed: numbers of a file may be rounded
    positions, before, after = close_loops(mechanism, tree)
    joints = joint_by_id(mechanism)
    moved = sum(
        np.abs(start - joints[own].initial).max(initial=0.0) > OPEN_LOOP_TOLERANCE for own, start in positions.items()
    )
    worst = max(before, key=lambda chord: max(before[chord]))
    left = max(map(max, after.values()))
    distance, angle = before[worst]
    wide = sum(max(opening) > OPEN_LOOP_TOLERANCE for opening in before.values())
    end = "closes all" if left <= OPEN_LOOP_TOLERANCE else Message("leaves {} open", f"{left:.3g}")
    message = Message(
        "Closed loops: {} of {} are open at the file's joint values, the most by {} m and {}°. Changing "
        "{} initial joint values {}",
        wide,
        len(before),
        f"{distance:.3g}",
        f"{math.degrees(angle):.3g}",
        moved,
        end,
    )
    report = mechanism.report
    if left <= OPEN_LOOP_TOLERANCE:  # the reader's warning is no longer true: one entry replaces it
        report.entries[:] = [each for each in report.entries if (each.severity, each.code) != ("warning", "loop")]
    severity = "info" if left <= OPEN_LOOP_TOLERANCE else "warning"
    report.add(severity, "assembled", message, joints[worst].line, joints[worst].name)
    return positions


def find_dependent_joints(
    mechanism: Mechanism,
    tree: Tree,
    starts: Mapping[str, Array],
    report: Report | None = None,
    preferred: Sequence[str] = (),
) -> set[str]:
    """Find the dependent joints with bones, which follow the input joints of their closed loops.

    Loops that are open at the initial values have none. In a loop without a degree of freedom all joints are dependent:
    they stay where the loop is closed, and ``report`` gets an entry.

    Args:
        mechanism: The mechanism.
        tree: Its spanning tree.
        starts: Joint values (size,) at which the loops are closed, by id, where they are not the initial ones.
        report: Gets an entry for each loop without a degree of freedom.
        preferred: Ids of the joints that become inputs where possible, before those that the file's order suggests.

    Returns:
        Ids of joints.
    """
    if not tree.loop_joints:
        return set()
    positions = {**initial_joint_positions(mechanism), **starts}
    every = dict.fromkeys([*preferred, *input_joint_order(mechanism, tree)])
    order = [joint for joint in every if joint not in tree.loop_joints]
    found: set[str] = set()
    for linkage in find_linkages(mechanism, tree):
        system = linkage.system
        if np.abs(system.residual(system.vector(positions))).max(initial=0.0) > CLOSURE_TOLERANCE:
            continue
        drivers = linkage.drivers(positions, order)
        rigid = not drivers and linkage.is_rigid(positions)
        if drivers or rigid:
            found |= set(linkage.joints) - tree.loop_joints - set(drivers)
        if rigid and report is not None:
            report_rigid_joints(linkage, report)
    return found


def report_rigid_joints(linkage: Linkage, report: Report) -> None:
    """Report the joints of a closed loop without a degree of freedom."""
    joints = linkage.system.moving
    names = ", ".join(repr(joint.name) for joint in joints[:6]) + (", …" if len(joints) > 6 else "")
    report.info(
        "loop-rigid",
        Message("Closed loop of {} joints ({}): no degree of freedom, its bones are locked", len(joints), names),
        joints[0].line,
        joints[0].name,
    )


_EXACT_ANGLE = 2e-6  # rad; nearer, being taken for the opposite does no harm
_BLIND_ANGLE = 0.34
_NEAR_COSINE = -0.94  # axes with a larger cosine are in no blind spot
_ARMATURE_Y = (0.0, 1.0, 0.0)
#: Rotations (rad) about a bone's Z to try for getting out of a blind spot, the smallest first.
_CANDIDATE_ANGLES = [sign * turn for turn in np.arange(0.02, 0.8, 0.02).tolist() for sign in (1.0, -1.0)]


Direction = Sequence[float]


def is_rest_axis_safe(y: Direction, above: Direction | None) -> bool:
    """Return whether Blender stores a rest matrix accurately that has the Y axis ``y`` (3,).

    ``above`` is the Y axis of the parent bone; None at the root.

    Note:
        Blender stores a bone as head, tail and roll, in 32 bits. For a bone whose Y is nearly but not quite opposite to
        its
        armature's Y, or its parent's, the rest matrix read back is off (measured, 4.2 to 5.2): by up to 5e-5 where the
        two
        are 0.05 to 0.3 apart, by 1e-3 and more below 0.003 where the bone is short for its distance from the origin.
        The
        exact opposite is stored well.
    """
    return _is_safe_from(y, _ARMATURE_Y) and (above is None or _is_safe_from(y, above))


def _is_safe_from(y: Direction, other: Direction) -> bool:
    # plain numbers: numpy would take ten times as long for one bone at a time
    (a, b, c), (u, v, w) = y, other
    return a * u + b * v + c * w > _NEAR_COSINE or not _EXACT_ANGLE < math.hypot(a + u, b + v, c + w) < _BLIND_ANGLE


def y_axis(matrix: Array) -> Direction:
    """Return the Y axis of a rest matrix (4, 4) as plain numbers."""
    y: Direction = matrix[:3, 1].tolist()
    return y


def safe_rest_matrix(matrix: Array, above: Direction | None) -> Array:
    """Rotate a rest matrix (4, 4) about its Z by as little as makes it safe; return it as it is where nothing does."""
    x, y = matrix[:3, 0].tolist(), y_axis(matrix)
    if is_rest_axis_safe(y, above):
        return matrix
    angles = sorted((*_opposite_angles(x, y, above), *_CANDIDATE_ANGLES), key=lambda angle: -math.cos(angle))
    angle = next((angle for angle in angles if is_rest_axis_safe(_rotate_about_z(x, y, angle), above)), None)
    if angle is None:
        return matrix
    turned = matrix.copy()
    cos, sin = math.cos(angle), math.sin(angle)
    turned[:3, 0] = cos * matrix[:3, 0] + sin * matrix[:3, 1]
    turned[:3, 1] = cos * matrix[:3, 1] - sin * matrix[:3, 0]
    return turned


def _opposite_angles(x: Direction, y: Direction, above: Direction | None) -> list[float]:
    """Return the angles (rad) about Z that bring Y exactly opposite to the armature's Y, or the parent bone's."""
    others = [_ARMATURE_Y] if above is None else [_ARMATURE_Y, above]
    return [math.atan2(_dot(other, x), -_dot(other, y)) for other in others]


def _dot(one: Direction, other: Direction) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _rotate_about_z(x: Direction, y: Direction, angle: float) -> Direction:
    """Return the Y axis ``y``, rotated about Z by ``angle`` (rad)."""
    cos, sin = math.cos(angle), math.sin(angle)
    return [cos * b - sin * a for a, b in zip(x, y, strict=True)]


def aim_rest_matrix(frame: Array, axis: Array, towards: Array) -> Array:
    """Return a rest matrix (4, 4) at a joint's frame, with Z on an axis of it and Y as near to ``towards`` as can be.

    Where ``towards`` is along the axis, Y is arbitrary.
    """
    out = frame.copy()
    z = frame[:3, :3] @ (axis / np.linalg.norm(axis))
    y = towards - z * (towards @ z)
    if np.linalg.norm(y) < 1e-3:
        y = rotation_with_z(z)[:, 1]
    y = y / np.linalg.norm(y)
    out[:3, 0], out[:3, 1], out[:3, 2] = np.cross(y, z), y, z
    return out


def layout_rest_matrix(frame: Array, layout: AxisLayout) -> Array:
    """Return the rest matrix (4, 4) at a joint's frame of a bone whose axes are all determined by its layout."""
    assert layout.axes is not None
    out = frame.copy()
    out[:3, :3] = frame[:3, :3] @ layout.axes
    return out


#: Limit of positions and angles: products of larger ones exceed 32-bit numbers.
_MAX_COORDINATE = 1e15
_HUE_COUNT = 13  # more would be indistinguishable


@dataclass
class BonePlan:
    """Plan of a bone: its rest matrix (4, 4; Y along the bone, Z the joint axis), length and parent bone.

    ``link`` is None for a root's bone. ``body`` is the body that follows the bone, None for the inner bones of a
    joint's chain, in which the bone has index ``step``. ``degrees`` and ``layout`` are the dofs of the joint that it
    carries and their axes, ``frame`` is the joint's design frame.
    """

    name: str
    matrix: Array
    length: float
    parent: int | None
    link: Link | None
    body: Body | None
    step: int = 0
    degrees: BoneDofs = field(default_factory=BoneDofs)
    layout: AxisLayout = field(default_factory=lambda: AxisLayout((), None))
    frame: Array | None = None


@dataclass
class ExistingBones:
    """Axes of existing bones, for a plan in which the channels of their joints keep their meaning.

    ``columns``: axis (0 to 2 for X to Z) of a joint's coordinate, by joint id and coordinate index. ``turns``: rotation
    (3, 3) from the bone's axes to the joint's frame, by joint id and index of the first coordinate of a ball or free
    dof. ``roots``: rest matrices (4, 4) of roots, by body id.
    """

    columns: dict[tuple[str, int], int] = field(default_factory=dict)
    turns: dict[tuple[str, int], Array] = field(default_factory=dict)
    roots: dict[str, Array] = field(default_factory=dict)


@dataclass
class BuildPlan:
    """Plan of everything that ``build`` creates."""

    mechanism: Mechanism
    tree: Tree
    bones: list[BonePlan]
    bone_of_body: dict[str, int]
    frames: dict[str, Array]  # joint id -> design pose of its frame
    colors: dict[str, tuple[float, float, float, float]]  # body id -> color of shapes without their own
    upright: Array  # (4, 4) rotation of the whole mechanism
    size: float  # length of the diagonal of the bodies' bounding box
    bodies: dict[str, Body] = field(default_factory=dict)
    starts: dict[str, Array] = field(default_factory=dict)  # joint id -> initial coordinates, where not the file's
    followers: set[str] = field(default_factory=set)  # ids of dependent joints

    def places(self) -> dict[str, dict[int, DofPlacement]]:
        """Return the placement of each joint's dofs: joint id -> dof index -> placement."""
        out: dict[str, dict[int, DofPlacement]] = {}
        for bone in self.bones:
            if bone.link is not None:
                out.setdefault(bone.link.joint.id, {}).update(bone.degrees.places(bone.layout, bone.step))
        return out


def make_plan(
    mechanism: Mechanism,
    up_axis: UpAxis = "AUTO",
    closed: bool = True,
    tree: Tree | None = None,
    kept: ExistingBones | None = None,
) -> BuildPlan:
    """Plan bones, colors and upright rotation of a mechanism.

    Args:
        mechanism: The mechanism.
        up_axis: Its up axis.
        closed: Find initial joint values that close every loop, and the dependent joints.
        tree: Its spanning tree if known.
        kept: Axes of its existing bones.

    Raises:
        FormatError: If positions or angles exceed Blender's range.
    """
    bodies = body_by_id(mechanism)
    _check_numbers(mechanism)
    tree = tree or spanning_tree(mechanism)
    frames = joint_frames_world(mechanism)
    size = _mechanism_size(mechanism)
    bones, bone_of_body = _plan_bones(tree, frames, bodies, size, kept or ExistingBones())
    starts = closed_loop_coordinates(mechanism, tree) if closed else {}
    follow = find_dependent_joints(mechanism, tree, starts, mechanism.report) if closed else set()
    upright = upright_transform(mechanism, up_axis)
    return BuildPlan(
        mechanism, tree, bones, bone_of_body, frames, _body_colors(tree), upright, size, bodies, starts, follow
    )


def _check_numbers(mechanism: Mechanism) -> None:
    """Raise FormatError for positions and angles that exceed Blender's range, or whose products do."""
    dofs = [dof for joint in mechanism.joints for dof in joint.dofs]
    poses = [body.pose for body in mechanism.bodies]
    poses += [shape.pose for body in mechanism.bodies for shape in body.shapes]
    poses += [frame for joint in mechanism.joints for frame in (joint.frame_parent, joint.frame_child)]
    coms = [body.com for body in mechanism.bodies]
    starts = [dof.position for dof in dofs] + [number for dof in dofs for number in dof.start]
    if all(_is_in_range(np.array(numbers, dtype=np.float64)) for numbers in (poses, coms, starts)):
        return
    bodies = [(body, [body.pose, body.com, *(shape.pose for shape in body.shapes)]) for body in mechanism.bodies]
    joints = [
        (joint, [joint.frame_parent, joint.frame_child, *(dof.initial for dof in joint.dofs)])
        for joint in mechanism.joints
    ]
    for body, numbers in bodies:
        _require_in_range(f"body '{body.name}'", body.line, mechanism, numbers)
    for joint, numbers in joints:
        _require_in_range(f"joint '{joint.name}'", joint.line, mechanism, numbers)


def _is_in_range(numbers: Array) -> bool:
    return bool(np.abs(numbers).max(initial=0.0) < _MAX_COORDINATE)


def _require_in_range(where: str, line: int | None, mechanism: Mechanism, numbers: list[Array]) -> None:
    if not all(map(_is_in_range, numbers)):
        raise FormatError(
            Message(
                "{}: coordinates are too large for Blender (above {}) or not finite", where, f"{_MAX_COORDINATE:g}"
            ),
            path=mechanism.source.path,
            line=line,
            remedy="Correct them in the file.",
        )


def _mechanism_size(mechanism: Mechanism) -> float:
    """Return the length of the diagonal of a box that holds the bodies, without floors and walls; 1 without bodies."""
    scenery = scenery_bodies(mechanism)
    bodies = [body for body in mechanism.bodies if body.id not in scenery]
    if not bodies:
        return 1.0
    at = np.array([body.pose[:3, 3] for body in bodies])
    reach = np.array([body_radius(body) for body in bodies])
    span = (at + reach[:, None]).max(axis=0) - (at - reach[:, None]).min(axis=0)
    return float(np.linalg.norm(span)) or 1.0


def _plan_bones(
    tree: Tree, frames: dict[str, Array], bodies: dict[str, Body], size: float, kept: ExistingBones
) -> tuple[list[BonePlan], dict[str, int]]:
    bones: list[BonePlan] = []
    bone_of_body: dict[str, int] = {}
    shortest = 0.02 * size
    for root in tree.roots:
        matrix = kept.roots.get(root.id)
        if matrix is None:
            matrix = make_pose(position=body_center(root))
        bone_of_body[root.id] = len(bones)
        reach = min(body_radius(root) if root.shapes else 0.1 * size, size)
        bones.append(BonePlan(root.name or root.id, matrix, max(reach, shortest), None, None, root))
    matrices, lengths = _bone_frames(tree, frames, bodies, shortest)
    chains = BoneChains()
    for number, link in enumerate(tree.links):
        parent = bone_of_body[link.carrier] if link.carrier is not None else None
        above = y_axis(bones[parent].matrix) if parent is not None else None
        chain = chains.of(link.joint, link.is_reversed)
        for bone in _plan_chain(link, chain, frames[link.joint.id], matrices[number], above, kept):
            bone.parent, bone.length = parent, shortest
            parent = len(bones)
            bones.append(bone)
        bones[-1].length, bones[-1].body = lengths[number], bodies[link.body]
        bone_of_body[link.body] = len(bones) - 1
    return bones, bone_of_body


def _plan_chain(
    link: Link, chain: Sequence[BoneDofs], frame: Array, main: Array, above: Direction | None, kept: ExistingBones
) -> list[BonePlan]:
    """Plan the bones of a joint, without parents yet; ``above`` is the Y axis of the carrier's rest matrix.

    ``main`` is the rest matrix of a bone for the whole joint where nothing determines its X and Y. Rest matrices that
    Blender would store inaccurately are avoided.
    """
    name = link.joint.name or link.joint.id
    made: list[BonePlan] = []
    firsts = first_indices(link.joint.dofs)
    for degrees in chain:
        step = len(made)
        turn = None if degrees.block is None else kept.turns.get((link.joint.id, firsts[degrees.block]))
        if not degrees.bound:
            matrix = main if len(chain) == 1 else aim_rest_matrix(frame, degrees.axis, main[:3, 1])
            if turn is not None:
                matrix = frame.copy()
                matrix[:3, :3] = frame[:3, :3] @ turn
            found = safe_rest_matrix(matrix, above), degrees.layouts()[0]
        else:
            ways = [(layout_rest_matrix(frame, layout), layout) for layout in degrees.layouts()]
            # Prefer unchanged channels, then Z on the first axis where possible, then Y where the bone should point
            ways.sort(
                key=lambda way: (
                    _count_moved_axes(degrees.places(way[1], step), link.joint.id, firsts, kept),
                    way[1].columns[degrees.first] != 2,
                    -float(way[0][:3, 1] @ main[:3, 1]),
                )
            )
            found = next((way for way in ways if is_rest_axis_safe(y_axis(way[0]), above)), ways[0])
        made.append(BonePlan(name, found[0], 0.0, None, link, None, step, degrees, found[1], frame))
        above = y_axis(found[0])
    for bone in made[:-1]:
        bone.name = f"{name}/{bone.step + 2}"
    return made


def _count_moved_axes(
    places: Mapping[int, DofPlacement], joint: str, firsts: Sequence[int], kept: ExistingBones
) -> int:
    """Return the number of a joint's coordinates that would be on other axes than those in ``kept``."""
    axes = {number: kept.columns.get((joint, firsts[number]), place.index) for number, place in places.items()}
    return sum(axes[number] != place.index for number, place in places.items())


def _body_centers(bodies: Sequence[Body]) -> Array:
    """Return the design positions (n, 3) of the centers of mass of several bodies in the world."""
    poses = np.array([body.pose for body in bodies]).reshape(-1, 4, 4)
    coms = np.array([body.com for body in bodies]).reshape(-1, 3)
    return np.einsum("nij,nj->ni", poses[:, :3, :3], coms) + poses[:, :3, 3]


def _bone_frames(
    tree: Tree, frames: dict[str, Array], bodies: dict[str, Body], shortest: float
) -> tuple[Array, list[float]]:
    """Return rest matrices (n, 4, 4) and lengths of the bones of links with one axis.

    Z is on the axis, Y points as far as possible towards the body's next joint, or its center of mass where there is
    none or several.
    """
    count = len(tree.links)
    frame = np.array([frames[link.joint.id] for link in tree.links]).reshape(count, 4, 4)
    local = np.array([main_axis(link.joint.dofs) for link in tree.links]).reshape(count, 3)
    centers = _body_centers([bodies[link.body] for link in tree.links])
    sign = np.array([-1.0 if link.is_reversed else 1.0 for link in tree.links])
    axis = np.einsum("nij,nj->ni", frame[:, :3, :3], local) * sign[:, None]
    head = frame[:, :3, 3]
    following: dict[str, list[int]] = {}
    for number, link in enumerate(tree.links):
        if link.carrier is not None:
            following.setdefault(link.carrier, []).append(number)
    along = np.empty((count, 3))
    for number, link in enumerate(tree.links):
        after = following.get(link.body, ())
        along[number] = head[after[0]] if len(after) == 1 else centers[number]
    along -= head

    def across(vectors: Array) -> Array:
        return vectors - axis * np.einsum("ni,ni->n", vectors, axis)[:, None]

    y = across(along)
    length = np.linalg.norm(y, axis=1)
    short = length < shortest
    for column in (1, 0):  # no aim along the axis: the frame's own Y, or X where Y is the axis
        spare = across(frame[:, :3, column])
        weak = short & (np.linalg.norm(y, axis=1) < 0.5 * (1.0 if column == 0 else np.inf))
        y[weak] = spare[weak]
    length[short] = np.maximum(np.linalg.norm(along[short], axis=1), shortest)
    y /= np.linalg.norm(y, axis=1)[:, None]
    matrices = np.zeros((count, 4, 4))
    matrices[:, :3, 0], matrices[:, :3, 1], matrices[:, :3, 2] = np.cross(y, axis), y, axis
    matrices[:, :3, 3], matrices[:, 3, 3] = head, 1.0
    return matrices, length.tolist()


def _body_colors(tree: Tree) -> dict[str, tuple[float, float, float, float]]:
    """Assign colors to bodies: roots pale, each limb its own hue; twins share theirs, the mirror side a shade lighter.

    Limbs begin at roots and wherever a body carries several joints: the root of a walker may be one of its feet.
    """
    colors: dict[str, tuple[float, float, float, float]] = {}
    limb_of: dict[str, int] = {}
    depth: dict[str, int] = {}
    twin_of = {body.id: body.twin for body in tree.mechanism.bodies}
    limbs = hues = 0
    mirrored: set[int] = set()
    hue_of: dict[int, int] = {}
    for root in tree.roots:
        colors[root.id] = (0.78, 0.78, 0.74, 1.0)
        depth[root.id] = 0
    forks = {root.id for root in tree.roots}
    forks |= {body for body, count in Counter(link.carrier for link in tree.links).items() if count > 1 and body}
    for link in tree.links:
        carrier = link.carrier
        if carrier is None or carrier in forks:
            limb = limbs
            limbs += 1
            twin = limb_of.get(twin_of.get(link.body) or "")
            if twin is not None:
                hue_of[limb] = hue_of[twin]
                mirrored.add(limb)
            else:
                hue_of[limb] = hues % _HUE_COUNT
                hues += 1
        else:
            limb = limb_of[carrier]
        limb_of[link.body] = limb
        depth[link.body] = depth.get(carrier or "", 0) + 1
        colors[link.body] = _limb_color(hue_of[limb], depth[link.body], limb in mirrored)
    return colors


@cache
def _limb_color(hue: int, depth: int, mirrored: bool) -> tuple[float, float, float, float]:
    red, green, blue = colorsys.hsv_to_rgb(
        (0.06 + hue * 0.381966) % 1.0,  # the golden angle keeps neighbors apart
        (0.5 if mirrored else 0.72) - 0.04 * (depth % 3),
        (0.86, 0.7, 0.56)[(depth - 1) % 3] + (0.1 if mirrored else 0.0),
    )
    return (red, green, blue, 1.0)
