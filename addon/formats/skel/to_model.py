"""Conversion of a SKEL document's rows to a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.kinematics import CLOSES_LOOP
from ...core.model import Array, Assembly, Body, Dof, Frame, Joint, Mechanism, World
from ...core.record_utils import UNIT_TENSOR, ZERO_VECTOR, FrozenDict
from ...core.report import Message
from ...core.transforms import inverse, make_pose
from . import to_model_chains
from .reader import Reader, Skeleton, SourceElement
from .schema import (
    ACTUATORS,
    AXES,
    AXIS_NUMBERS,
    DOF,
    DOF_NUMBERS,
    EXTENSION_NUMBERS,
    EXTENSION_TAG,
    INACTIVE_JOINT,
    LOOP_JOINT,
    MARKER,
    MOMENT,
    PLANES,
    SHAPES,
    WORLD,
    DartNames,
    Row,
    X,
    Y,
    Z,
    pose_from_transformation,
)
from .to_model_chains import ResolvedEnds, resolve_joint_ends
from .to_model_shapes import DERIVED_MOMENT, moment_of_shapes, shape_for_mass, shape_from_row

MOMENT_NAMES = (("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz"))

_IS_DERIVED = FrozenDict({DERIVED_MOMENT: True})


def build(world: SourceElement | None, skeletons: list[Skeleton], reader: Reader) -> Mechanism:
    """Build the mechanism of a document's rows.

    Sets the id of every object that is read; bodies and joints that are not read are removed from the lists of their
    skeletons.
    """
    result = Mechanism(world=_world(world))
    paths, body_ids, joint_ids = DartNames(), DartNames(), DartNames()
    known: set[str] = set()
    for skeleton in skeletons:
        placed = skeleton.placed
        own = placed.row["@name"]
        if not own:
            reader.note("warning", "no-name", "a skeleton has no name", placed.element)
        path = placed.id = paths(own or "skeleton")
        if own and path != own:
            reader.note(
                "warning",
                "repaired-name",
                f"a second skeleton is named '{own}'; it is renamed '{path}'",
                placed.element,
            )
        mobile = placed.row["mobile"] and not placed.row["immobile"]
        result.assemblies.append(Assembly(path, path, extra={} if mobile else {"mobile": False}))
        known.add(path)
        if not skeleton.bodies and not skeleton.joints:
            continue
        _assign_body_ids(skeleton, body_ids, reader)
        frame = pose_from_transformation(placed.row["transformation"])
        bodies = [_body(item, path, frame, mobile, reader) for item in skeleton.bodies]
        joints = _joints(skeleton, bodies, joint_ids, reader)
        bodies, joints = to_model_chains.merge_chains(skeleton, bodies, joints)
        result.bodies += bodies
        result.joints += joints
        _resolve_twins(skeleton, bodies, joints)
        kept = dict.fromkeys(body.assembly for body in bodies if body.assembly not in known)
        result.assemblies += [Assembly(each, each.rpartition(":")[2]) for each in kept]
        known.update(kept)
        result.frames += [frame for item in skeleton.bodies for frame in _frames(item, path)]
    return result


def root_joint_key(body: str) -> str:
    """Return the id in a plan of the joint of a body that no joint carries."""
    return f"{body}\nloose"


def _world(placed: SourceElement | None) -> World:
    row = WORLD.defaults if placed is None else placed.row
    return World(gravity=np.array(row["physics/gravity"]), time_step=row["physics/time_step"])


def _assign_body_ids(skeleton: Skeleton, ids: DartNames, reader: Reader) -> None:
    """Assign ids to bodies; of two with one name only the first is read, as by DART."""
    seen: set[str] = set()
    bodies, skeleton.bodies = skeleton.bodies, []
    for item in bodies:
        name = item.row["@name"]
        if name in seen:
            message = Message("a second body is named '{}'; it is ignored, names are unique in a skeleton", name)
            reader.note("warning", "second-body", message, item.element)
            continue
        if not name:
            reader.note("warning", "no-name", "a body has no name", item.element)
        seen.add(name)
        skeleton.bodies.append(item)
        item.id = ids(f"{skeleton.placed.id}/{name}")


def _body(item: SourceElement, path: str, frame: Array, mobile: bool, reader: Reader) -> Body:
    row = item.row
    body = Body(
        item.id,
        row[f"{EXTENSION_TAG}/@name"] or row["@name"],
        pose=frame @ pose_from_transformation(row["transformation"]),
        gravity=row["gravity"],
        immobile=not mobile,
        assembly=row[f"{EXTENSION_TAG}/@assembly"] or path,
        line=item.line,
    )
    body.shapes = [shape_from_row(part.row, part.table.tag) for part in item.parts if part.table.tag in SHAPES]
    touching = [shape for shape in body.shapes if shape.collision]
    body.collidable = not touching or any(shape.extra.get("collidable", True) for shape in touching)
    _mass(item, body, reader)
    return body


def _mass(item: SourceElement, body: Body, reader: Reader) -> None:
    """Set mass, center of mass and inertia: the file's, or DART's values for missing ones."""
    row = item.row
    offset = row["inertia/offset"]
    body.mass, body.com = row["inertia/mass"], np.array(offset) if any(offset) else ZERO_VECTOR
    if not item.has("inertia"):
        reader.note(
            "info",
            "no-inertia",
            "a body has no <inertia>; mass 1 and the unit tensor are used, as in DART",
            item.element,
        )
        body.inertia, body.extra = UNIT_TENSOR, _IS_DERIVED
        return
    turn = None
    if row.is_set("inertia/transformation") and not row.is_set("inertia/offset"):
        message = "<transformation> in <inertia> is applied, as the format's documentation says; DART ignores it"
        reader.note("warning", "old-spelling", message, item.element)
        turn = pose_from_transformation(row["inertia/transformation"])
        body.com = turn[:3, 3].copy()
    if item.has(MOMENT.rstrip("/")):
        tensor = np.array([[row[MOMENT + name] for name in names] for names in MOMENT_NAMES])
        body.inertia = tensor if turn is None else turn[:3, :3] @ tensor @ turn[:3, :3].T
        return
    solid = [shape_for_mass(part.row, part.table.tag) for part in item.parts if part.table.tag in SHAPES]
    body.inertia = moment_of_shapes(solid, body.mass, body.com)
    body.extra = _IS_DERIVED
    if body.inertia is None:
        message = "moments of inertia of a body are computed from its mesh when they are needed"
        reader.note("info", "moment-of-mesh", message, item.element)
    else:
        message = (
            "the file has no moments of inertia; they are computed from all shapes, as in DART 6.20 "
            "(DART 6.13 and older used only the first)"
        )
        reader.note("info", "moment-of-shapes", message, item.element)


def _joints(skeleton: Skeleton, bodies: list[Body], ids: DartNames, reader: Reader) -> list[Joint]:
    by_name = {item.row["@name"]: body for item, body in zip(skeleton.bodies, bodies, strict=True)}
    ends = resolve_joint_ends(skeleton, reader)
    joints: list[Joint] = []
    placed, skeleton.joints = skeleton.joints, []
    for item in placed:
        found = ends[id(item)]
        if item.row[f"{EXTENSION_TAG}/@loose"] is not None and item.row["init_pos"] is None and found.active:
            # written by us: DART requires a joint for every body
            item.id = root_joint_key(by_name[found.child or ""].id)
            skeleton.implied.append(item)
            continue
        name = item.row["@name"]
        item.id = ids(f"{skeleton.placed.id}/{name or found.child or 'joint'}")
        skeleton.joints.append(item)
        joints.append(_joint(item, found, by_name, skeleton.placed.id, reader))
    return joints


def _joint(item: SourceElement, ends: ResolvedEnds, by_name: dict[str, Body], path: str, reader: Reader) -> Joint:
    row = item.row
    type_ = parse_joint_type(item, reader)
    dofs = parse_dofs(item, type_, reader)
    parent = by_name[ends.parent] if ends.parent is not None else None
    child = by_name[ends.child] if ends.child is not None else None
    own = pose_from_transformation(row["transformation"])
    at_child = child.pose @ own if child is not None else own
    if row["parent_transformation"] is not None:
        at_parent = pose_from_transformation(row["parent_transformation"])
    else:
        at_parent = at_child if parent is None else inverse(parent.pose) @ at_child
    joint = Joint(
        item.id,
        row[f"{EXTENSION_TAG}/@name"] or row["@name"],
        row[f"{EXTENSION_TAG}/@type"] or type_,
        parent.id if parent is not None else None,
        child.id if child is not None else None,
        at_parent,
        own,
        dofs,
        active=ends.active and item.element.tag != INACTIVE_JOINT,
        assembly=row[f"{EXTENSION_TAG}/@assembly"] or path,
        extra={"actuator": row["@actuator"]} if row.is_set("@actuator") else {},
        line=item.line,
    )
    if item.element.tag == LOOP_JOINT or ends.closes:
        joint.extra[CLOSES_LOOP] = True
    if item.element.tag == LOOP_JOINT:
        reader.note(
            "info", "loop-joint", f"closed loop at joint '{joint.name}': DART does not build this joint", item.element
        )
    return joint


def _resolve_twins(skeleton: Skeleton, bodies: list[Body], joints: list[Joint]) -> None:
    for records, items in ((bodies, skeleton.bodies), (joints, skeleton.joints)):
        by_id = {item.id: item for item in items}
        of_name = {item.row["@name"]: item.id for item in items}
        for record in records:  # type: ignore[attr-defined]
            twin = by_id[record.id].row[f"{EXTENSION_TAG}/@twin"]
            record.twin = of_name.get(twin) if twin is not None else None


def _frames(item: SourceElement, path: str) -> list[Frame]:
    frames = []
    for part in item.parts:
        if part.table is MARKER:
            pose = make_pose(position=part.row["offset"])
            frames.append(Frame(part.row["@name"], item.id, pose, path, {"kind": "marker"}))
    return frames


#: Spellings of joint types from other formats.
TYPE_ALIASES = {
    "hinge": "revolute",
    "continuous": "revolute",
    "slider": "prismatic",
    "fixed": "weld",
    "spherical": "ball",
    "floating": "free",
    "eulerxyz": "euler",
    "universal_joint": "universal",
}
#: Number of coordinates of each joint type.
DOF_COUNTS = {
    "weld": 0, "revolute": 1, "prismatic": 1, "screw": 1, "universal": 2, "translational2d": 2, "ball": 3, "euler": 3,
    "translational": 3, "planar": 3, "free": 6,
}  # fmt: skip
_EULER = {"xyz": (X, Y, Z), "zyx": (Z, Y, X)}
_COORDINATE_SUFFIXES = {
    "universal": ("_1", "_2"),
    "ball": ("_x", "_y", "_z"),
    "translational": ("_x", "_y", "_z"),
    "free": ("_rot_x", "_rot_y", "_rot_z", "_pos_x", "_pos_y", "_pos_z"),
}
_BLOCKS = {"ball", "free"}
#: Paths of the numbers of each axis with the attributes of the record; and those of the extension data.
_AXIS_FIELDS = [[(f"{axis}/{path}", attribute) for path, attribute, _, _ in AXIS_NUMBERS] for axis in AXES]
_EXTENSION_FIELDS = {f"{EXTENSION_TAG}/@{name}": attribute for name, attribute in EXTENSION_NUMBERS.items()}
_UNSUPPORTED_BY_DART = {"screw", "translational2d"}


def parse_joint_type(placed: SourceElement, reader: Reader) -> str:
    """Return the joint's SKEL type; an unknown one becomes a weld, which keeps its bodies together."""
    own = placed.row["@type"]
    if own in DOF_COUNTS:
        if own in _UNSUPPORTED_BY_DART:
            message = Message("{}: DART cannot build a {} joint and stops", placed.label, own)
            reader.note("warning", "not-in-dart", message, placed.element)
        return own
    low = own.strip().lower().replace("-", "_")
    found = low if low in DOF_COUNTS else TYPE_ALIASES.get(low, "weld")
    message = Message("{}: '{}' is not a joint type of DART, which stops there; {} is used", placed.label, own, found)
    reader.note("warning", "unknown-joint-type", message, placed.element)
    return found


def parse_dofs(placed: SourceElement, type_: str, reader: Reader) -> list[Dof]:
    """Return the degrees of freedom of a joint, with their stops, springs, dampers and initial values."""
    row = placed.row
    kinds = _coordinate_axes(placed, type_, reader)
    size = DOF_COUNTS[type_]
    if not kinds:
        return []
    numbers = [_read_coordinate(placed, type_, index, reader) for index in range(size)]
    for path, attribute in (("init_pos", "position"), ("init_vel", "velocity")):
        given = row[path]
        if given is not None:
            for dof, value in zip(numbers, reader.counted(given, size, path, placed.places()[path]), strict=True):
                setattr(dof, attribute, value)
    _apply_dof_elements(placed, numbers, reader)
    _apply_extension(row, numbers)
    for dof in numbers:
        if dof.lower is not None and dof.upper is not None and dof.lower > dof.upper:
            reader.note(
                "warning", "crossed-limits", f"{placed.label}: the lower limit is above the upper limit", placed.element
            )
    if type_ in _BLOCKS:
        return [_block(row, type_, numbers)]
    for dof, (kind, axis) in zip(numbers, kinds, strict=True):
        dof.kind, dof.axis = kind, np.array(axis, dtype=np.float64)
        if kind == "screw":
            dof.pitch = (row["axis/pitch"] or 0.0) / (2.0 * math.pi)
        elif kind == "rotation" and row[f"{EXTENSION_TAG}/@pitch"]:
            dof.kind, dof.pitch = "screw", row[f"{EXTENSION_TAG}/@pitch"]
    return numbers


def plane_axes(row: Row) -> tuple[tuple[float, ...], ...] | None:
    """Return the orthonormal axes of translation of a planar joint's row; None where the plane is invalid."""
    type_ = row["plane/@type"]
    if type_ in PLANES:
        return PLANES[type_]
    first, second = (row[f"plane/translation_axis{number}/xyz"] for number in (1, 2))
    if type_ != "arbitrary" or first is None or second is None:
        return None
    a = _unit(first)
    if a is None:
        return None
    along = sum(x * y for x, y in zip(a, second, strict=True))
    across = _unit([y - x * along for x, y in zip(a, second, strict=True)])
    return (a, across) if across is not None else None


def _coordinate_axes(placed: SourceElement, type_: str, reader: Reader) -> list[tuple]:
    """Return kind and axis of every coordinate; one block for a ball or free joint, empty for an immovable one."""
    row = placed.row
    if type_ in _BLOCKS:
        return [(type_, Z)]
    if type_ in ("revolute", "prismatic", "screw"):
        axis = _axis(placed, "axis", Z, reader)
        kind = {"revolute": "rotation", "prismatic": "translation", "screw": "screw"}[type_]
        return [(kind, axis)] if axis is not None else []
    if type_ == "universal":
        pair = [_axis(placed, name, default, reader) for name, default in (("axis", X), ("axis2", Y))]
        return [("rotation", axis) for axis in pair if axis is not None] if None not in pair else []
    if type_ == "euler":
        order = row["axis_order"]
        if order not in _EULER:
            said = f"the unknown axis order '{order}'" if order else "no axis order"
            found = order.lower() if order and order.lower() in _EULER else "xyz"
            message = Message("an euler joint has {}; {} is used. DART supports xyz and zyx", said, found)
            reader.note("warning", "unknown-axis-order", message, placed.element)
            order = found
        return [("rotation", axis) for axis in _EULER[order]]
    if type_ == "translational":
        return [("translation", axis) for axis in (X, Y, Z)]
    if type_ in ("planar", "translational2d"):
        plane = plane_axes(row)
        if plane is None:
            reader.note("warning", "unknown-plane", f"a {type_} joint has no known plane; xy is used", placed.element)
            plane = PLANES["xy"]
        turn = [("rotation", tuple(np.cross(plane[0], plane[1])))] if type_ == "planar" else []
        return [*(("translation", axis) for axis in plane), *turn]
    return []


def _axis(placed: SourceElement, name: str, default: tuple[float, ...], reader: Reader) -> tuple[float, ...] | None:
    """Return a joint's axis as a unit vector; None for a zero one, about which nothing moves."""
    given = placed.row[f"{name}/xyz"]
    if given is None:
        used = " ".join(f"{part:g}" for part in default)
        message = Message("a joint of type {} has no <{}> with <xyz>; {} is used", placed.row["@type"], name, used)
        reader.note("warning", "default-used", message, placed.element)
        return default
    unit = _unit(given)
    if unit is None:
        reader.note("warning", "zero-axis", f"{placed.label}: the axis is 0 0 0, so it does not move", placed.element)
        return None
    if placed.row["@type"] == "universal" and abs(np.linalg.norm(given) - 1.0) > 1e-6:
        long = "an axis of a universal joint is not a unit vector; it is normalized here, but not in DART"
        reader.note("warning", "long-axis", long, placed.element)
    return unit


def _read_coordinate(placed: SourceElement, type_: str, index: int, reader: Reader) -> Dof:
    """Return a coordinate with the values of its axis; DART reads none for blocks, and none beyond the third."""
    row = placed.row
    dof = Dof("rotation", name=coordinate_name(placed.row, type_, index), actuator=_actuator(placed, reader))
    if index >= len(AXES):
        return dof
    if type_ in _BLOCKS:
        if any(placed.has(f"{AXES[index]}/{part}") for part in ("dynamics", "limit", "damping")):
            message = Message("<{}> of a {} joint is ignored; its values belong in <dof>", AXES[index], type_)
            reader.note("info", "ignored-element", message, placed.element)
        return dof
    for path, attribute in _AXIS_FIELDS[index]:
        value = row[path]
        if attribute in ("lower", "upper"):
            value = None if math.isinf(value) else value
        setattr(dof, attribute, value)
    return dof


def coordinate_name(row: Row, type_: str, index: int) -> str:
    """Return a coordinate's name as DART gives it (except for the rotation of a plane, DART's ``default``)."""
    name = row["@name"]
    if DOF_COUNTS[type_] == 1:
        return name
    if type_ == "euler":
        order = row.get("axis_order")
        return f"{name}_{(order if order in _EULER else 'xyz')[index]}"
    if type_ in ("planar", "translational2d"):
        plane = row.get("plane/@type")
        plane = plane if plane in PLANES or plane == "arbitrary" else "xy"
        ends = "12" if plane == "arbitrary" else plane
        return f"{name}_{ends[index]}" if index < 2 else f"{name}_turn"
    return name + _COORDINATE_SUFFIXES[type_][index]


def _actuator(placed: SourceElement, reader: Reader) -> str:
    given = placed.row["@actuator"]
    if given in ACTUATORS:
        return given
    if given != "torque":
        reader.note(
            "warning", "unknown-actuator", f"actuator '{given}' is unknown in DART; force is used", placed.element
        )
    return "force"


def _apply_dof_elements(placed: SourceElement, numbers: list[Dof], reader: Reader) -> None:
    """Apply the values of <dof> elements, which take precedence."""
    for part in placed.parts:
        index = 0 if part.row["@local_index"] is None and len(numbers) == 1 else part.row["@local_index"]
        if index is None or not 0 <= int(index) < len(numbers):
            has = f"a <dof> of {placed.label} has {'no' if index is None else 'the'} local_index"
            reader.note(
                "warning", "unknown-dof", f"{has}{'' if index is None else f' {index:g}'}; it is ignored", part.element
            )
            continue
        dof = numbers[int(index)]
        if part.row["@name"]:
            dof.name = part.row["@name"]
        for item in DOF:
            value = part.row[item.path]
            if value is None or item.path.startswith("@"):
                continue
            attribute = DOF_NUMBERS.get(item.path)
            if attribute is None:
                dof.extra[item.path] = value
            else:
                endless = attribute in ("lower", "upper") and math.isinf(value)
                setattr(dof, attribute, None if endless else value)
        bounds = [abs(dof.extra[f"force/@{end}"]) for end in ("lower", "upper") if f"force/@{end}" in dof.extra]
        if bounds and not any(map(math.isinf, bounds)):
            dof.max_force = max(bounds)


def _apply_extension(row: Row, numbers: list[Dof]) -> None:
    """Apply the extension data of each coordinate."""
    for path in row:  # only the fields that the document has: rarely any of these
        if path in _EXTENSION_FIELDS:
            for dof, value in zip(numbers, row[path] or (), strict=False):
                setattr(dof, _EXTENSION_FIELDS[path], value)


def _block(row: Row, type_: str, numbers: list[Dof]) -> Dof:
    """Merge three or six coordinates into a ball or free block."""
    first = numbers[0]
    block = Dof(type_, name=row["@name"])  # type: ignore[arg-type]
    for attribute in ("actuator", *EXTENSION_NUMBERS.values()):
        setattr(block, attribute, getattr(first, attribute))
    for attribute, own in (("start", "position"), ("start_rates", "velocity")):
        values = tuple(float(getattr(dof, own)) for dof in numbers)
        setattr(block, attribute, values if any(values) else ())
    plain = Dof("rotation")
    parts = [
        replace(dof, kind="rotation" if i < 3 else "translation", position=0.0, velocity=0.0)
        for i, dof in enumerate(numbers)
    ]
    for i, part in enumerate(parts):
        part.axis = np.eye(3)[i % 3]
    for i, part in enumerate(parts):
        part.name = "" if part.name == coordinate_name(row, type_, i) else part.name
    fields = ("name", "lower", "upper", "damping", "friction", "stiffness", "rest", "extra")
    if any(getattr(part, name) != getattr(plain, name) for part in parts for name in fields):
        block.parts = parts
    return block


def _unit(vector: Sequence[float]) -> tuple[float, ...] | None:
    length = math.sqrt(sum(x * x for x in vector))
    if math.isinf(length):  # the squares overflow
        length = math.hypot(*vector)
    return tuple(x / length for x in vector) if length > 1e-12 else None
