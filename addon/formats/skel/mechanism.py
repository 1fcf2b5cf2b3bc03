"""Rows of a SKEL document to the records of a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.kinematics import CLOSES_LOOP
from ...core.model import Array, Assembly, Body, Frame, Joint, Mechanism, World, identity
from ...core.record_utils import MIDDLE, UNIT, Shared
from ...core.transforms import inverse
from . import chains
from .geometry import pose_of
from .joints import dofs_of, type_of
from .mass import DERIVED, moment_of_shapes
from .names import Unique
from .read import Placed, Reader
from .shapes import shape_of, weighed_shape_of
from .table import INACTIVE_JOINT, KEPT, LOOP_JOINT, MARKER, MOMENT, SHAPES, WORLD
from .wiring import Ends, wired

if TYPE_CHECKING:
    from .document import Skeleton

MOMENT_NAMES = (("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz"))

_IS_DERIVED = Shared({DERIVED: True})


def build(world: Placed | None, skeletons: list[Skeleton], reader: Reader) -> Mechanism:
    """The mechanism that a document's rows describe. Gives every placed object that is read its id; bodies and joints
    that are not read are taken off the lists of their skeletons."""
    result = Mechanism(world=_world(world))
    paths, body_ids, joint_ids = Unique(), Unique(), Unique()
    known: set[str] = set()
    for skeleton in skeletons:
        placed = skeleton.placed
        own = placed.row["@name"]
        if not own:
            reader.note("warning", "no-name", "a skeleton has no name", placed.element)
        path = placed.id = paths(own or "skeleton")
        if own and path != own:
            reader.note("warning", "repaired-name", f"the second skeleton '{own}' is called '{path}'", placed.element)
        mobile = placed.row["mobile"] and not placed.row["immobile"]
        result.assemblies.append(Assembly(path, path, extra={} if mobile else {"mobile": False}))
        known.add(path)
        if not skeleton.bodies and not skeleton.joints:
            continue
        _name_bodies(skeleton, body_ids, reader)
        frame = pose_of(placed.row["transformation"])
        bodies = [_body(item, path, frame, mobile, reader) for item in skeleton.bodies]
        joints = _joints(skeleton, bodies, joint_ids, reader)
        bodies, joints = chains.joined(skeleton, bodies, joints)
        result.bodies += bodies
        result.joints += joints
        _resolve_twins(skeleton, bodies, joints)
        kept = dict.fromkeys(body.assembly for body in bodies if body.assembly not in known)
        result.assemblies += [Assembly(each, each.rpartition(":")[2]) for each in kept]
        known.update(kept)
        result.frames += [frame for item in skeleton.bodies for frame in _frames(item, path)]
    return result


def loose_key(body: str) -> str:
    """Return what the joint of a body that hangs on nothing is called in a plan."""
    return f"{body}\nloose"


def _world(placed: Placed | None) -> World:
    row = WORLD.defaults if placed is None else placed.row
    return World(gravity=np.array(row["physics/gravity"]), time_step=row["physics/time_step"])


def _name_bodies(skeleton: Skeleton, ids: Unique, reader: Reader) -> None:
    """Give bodies their ids. Of two with one name DART reads the first."""
    seen: set[str] = set()
    bodies, skeleton.bodies = skeleton.bodies, []
    for item in bodies:
        name = item.row["@name"]
        if name in seen:
            message = f"a second body '{name}' is not read: names are unique in a skeleton"
            reader.note("warning", "second-body", message, item.element)
            continue
        if not name:
            reader.note("warning", "no-name", "a body has no name", item.element)
        seen.add(name)
        skeleton.bodies.append(item)
        item.id = ids(f"{skeleton.placed.id}/{name}")


def _body(item: Placed, path: str, frame: Array, mobile: bool, reader: Reader) -> Body:
    row = item.row
    body = Body(
        item.id,
        row[f"{KEPT}/@name"] or row["@name"],
        pose=frame @ pose_of(row["transformation"]),
        gravity=row["gravity"],
        immobile=not mobile,
        assembly=row[f"{KEPT}/@assembly"] or path,
        line=item.line,
    )
    body.shapes = [shape_of(part.row, part.table.tag) for part in item.parts if part.table.tag in SHAPES]
    touching = [shape for shape in body.shapes if shape.collision]
    body.collidable = not touching or any(shape.extra.get("collidable", True) for shape in touching)
    _mass(item, body, reader)
    return body


def _mass(item: Placed, body: Body, reader: Reader) -> None:
    """Mass, centre and moment: the file's, or what DART makes of what it leaves out."""
    row = item.row
    offset = row["inertia/offset"]
    body.mass, body.com = row["inertia/mass"], np.array(offset) if any(offset) else MIDDLE
    if not item.has("inertia"):
        reader.note(
            "info", "no-inertia", "a body has no <inertia>; DART gives it mass 1 and the unit tensor", item.element
        )
        body.inertia, body.extra = UNIT, _IS_DERIVED
        return
    turn = None
    if row.says("inertia/transformation") and not row.says("inertia/offset"):
        message = "<transformation> in <inertia> is read as the document of the format says; DART itself ignores it"
        reader.note("warning", "old-spelling", message, item.element)
        turn = pose_of(row["inertia/transformation"])
        body.com = turn[:3, 3].copy()
    if item.has(MOMENT.rstrip("/")):
        tensor = np.array([[row[MOMENT + name] for name in names] for names in MOMENT_NAMES])
        body.inertia = tensor if turn is None else turn[:3, :3] @ tensor @ turn[:3, :3].T
        return
    solid = [weighed_shape_of(part.row, part.table.tag) for part in item.parts if part.table.tag in SHAPES]
    body.inertia = moment_of_shapes(solid, body.mass, body.com)
    body.extra = _IS_DERIVED
    if body.inertia is None:
        message = "the moment of inertia of a body depends on its mesh, which is read where the moment is needed"
        reader.note("info", "moment-of-mesh", message, item.element)
    else:
        message = (
            "the file has no moment of inertia; it is computed from the shapes as DART 6.20 does "
            "(DART 6.13 and older took the first shape alone)"
        )
        reader.note("info", "moment-of-shapes", message, item.element)


def _joints(skeleton: Skeleton, bodies: list[Body], ids: Unique, reader: Reader) -> list[Joint]:
    by_name = {item.row["@name"]: body for item, body in zip(skeleton.bodies, bodies, strict=True)}
    ends = wired(skeleton, reader)
    joints: list[Joint] = []
    placed, skeleton.joints = skeleton.joints, []
    for item in placed:
        found = ends[id(item)]
        if item.row[f"{KEPT}/@loose"] is not None and item.row["init_pos"] is None and found.active:
            # ours: DART wants a joint for a body that hangs on nothing
            item.id = loose_key(by_name[found.child or ""].id)
            skeleton.implied.append(item)
            continue
        name = item.row["@name"]
        item.id = ids(f"{skeleton.placed.id}/{name or found.child or 'joint'}")
        skeleton.joints.append(item)
        joints.append(_joint(item, found, by_name, skeleton.placed.id, reader))
    return joints


def _joint(item: Placed, ends: Ends, by_name: dict[str, Body], path: str, reader: Reader) -> Joint:
    row = item.row
    type_ = type_of(item, reader)
    dofs = dofs_of(item, type_, reader)
    parent = by_name[ends.parent] if ends.parent is not None else None
    child = by_name[ends.child] if ends.child is not None else None
    own = pose_of(row["transformation"])
    at_child = child.pose @ own if child is not None else own
    if row["parent_transformation"] is not None:
        at_parent = pose_of(row["parent_transformation"])
    else:
        at_parent = at_child if parent is None else inverse(parent.pose) @ at_child
    joint = Joint(
        item.id,
        row[f"{KEPT}/@name"] or row["@name"],
        row[f"{KEPT}/@type"] or type_,
        parent.id if parent is not None else None,
        child.id if child is not None else None,
        at_parent,
        own,
        dofs,
        active=ends.active and item.element.tag != INACTIVE_JOINT,
        assembly=row[f"{KEPT}/@assembly"] or path,
        extra={"actuator": row["@actuator"]} if row.says("@actuator") else {},
        line=item.line,
    )
    if item.element.tag == LOOP_JOINT or ends.closes:
        joint.extra[CLOSES_LOOP] = True
    if item.element.tag == LOOP_JOINT:
        reader.note("info", "loop-joint", f"'{joint.name}' closes a loop; DART itself does not build it", item.element)
    return joint


def _resolve_twins(skeleton: Skeleton, bodies: list[Body], joints: list[Joint]) -> None:
    for records, items in ((bodies, skeleton.bodies), (joints, skeleton.joints)):
        by_id = {item.id: item for item in items}
        of_name = {item.row["@name"]: item.id for item in items}
        for record in records:  # type: ignore[attr-defined]
            twin = by_id[record.id].row[f"{KEPT}/@twin"]
            record.twin = of_name.get(twin) if twin is not None else None


def _frames(item: Placed, path: str) -> list[Frame]:
    frames = []
    for part in item.parts:
        if part.table is MARKER:
            pose: Array = identity()
            pose[:3, 3] = part.row["offset"]
            frames.append(Frame(part.row["@name"], item.id, pose, path, {"kind": "marker"}))
    return frames
