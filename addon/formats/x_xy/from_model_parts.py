"""Geoms and joint steps of x_xy bodies.

The masses of a body's geoms add up to the body's. Where they cannot give its mass, center of mass and inertia, an
additional transparent box has them all, and the other geoms have no mass. A joint without an equivalent becomes several
bodies, called steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.kinematics import Link, spanning_tree
from ...core.mass_properties import body_inertia, shape_volume
from ...core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, Shape, identity
from ...core.report import Message, Report
from ...core.transforms import inverse, make_pose, rotation_with_z
from . import values as geometry
from .comments import ExtensionData, changed_fields, non_default_fields
from .schema import (
    COLORS,
    DOF_ATTRIBUTES,
    GEOM_OF_SHAPE,
    GEOMS,
    JOINTS,
    WORLD_BODY,
    GeomColor,
    JointKind,
    Vector,
    joint_kind,
)
from .values import (
    EQUAL_TOLERANCE,
    GeomRow,
    LinkRow,
    ReportCollector,
    format_x_xy_numbers,
    is_close,
    rest_numbers,
    shape_from_row,
)

TRANSPARENT = "0 0 0 0"
#: Relative tolerance of equal masses.
MASS_TOLERANCE = 1e-9
#: Relative tolerance of centers of mass and moments that are equal in Blender's 32-bit floats.
SINGLE_PRECISION_TOLERANCE = 3e-7
#: The loader rejects lengths that are not positive.
MIN_SIZE = 1e-9


@dataclass
class GeomSet:
    """Geoms of a body, their extension data, and which of them only carry mass."""

    rows: list[GeomRow] = field(default_factory=list)
    noted: list[ExtensionData] = field(default_factory=list)  # one for each shape
    carriers: list[int] = field(default_factory=list)
    follows: bool = False  # the center of mass and inertia follow the geoms

    def note(self) -> ExtensionData:
        """Return the part of the body's extension data about its shapes."""
        straight = [{"geom": k} for k in range(len(self.rows) - len(self.carriers))]
        out: ExtensionData = {} if self.noted == straight else {"shapes": self.noted}
        return out | ({"mass_geoms": self.carriers} if self.carriers else {})


def body_geoms(body: Body, remarks: ReportCollector, before: Body | None = None) -> GeomSet:
    """Return the geoms of a body.

    ``before`` is the body in its document: if its center of mass and inertia are unedited, they follow the geoms.
    """
    out = GeomSet()
    masses: list[float | None] = []
    for shape in body.shapes:
        row = _geom_row(shape, body.name, remarks)
        if row is None:
            out.noted.append(non_default_fields(shape))
            continue
        mass = shape.extra.get("mass")
        masses.append(float(mass) if isinstance(mass, int | float) else None)
        row.mass = masses[-1] or 0.0
        back = shape_from_row(row)
        apart = changed_fields(shape, back, frozenset({"pose"} if row.pose is shape.pose else ()))
        changed = apart.get("extra", {})
        changed.pop("mass", None)
        changed.pop("color", None)
        if not changed:
            apart.pop("extra", None)
        out.noted.append({"geom": len(out.rows), **apart})
        out.rows.append(row)
    _distribute_mass(body, out, masses, remarks, before)
    return out


def _geom_row(shape: Shape, name: str, remarks: ReportCollector) -> GeomRow | None:
    """Return the geom of a shape, without its mass; None where it has no equivalent."""
    lowered = _supported_shape(shape, name, remarks)
    if lowered is None:
        return None
    kind = GEOM_OF_SHAPE[lowered.type]
    dim = tuple(max(abs(float(lowered.size[size])), MIN_SIZE) for size in kind.sizes)
    if kind.name == "xyz":
        if not geometry.is_close(shape.pose, np.eye(4)):
            remarks.warn(
                "moved-axes",
                Message("Axes: drawn at the origin of their body instead of their own position ('{}')", name),
            )
        return GeomRow("xyz", dim)
    edge = shape.extra.get("edge_color", "")
    return GeomRow(kind.name, dim, 0.0, shape.pose, _color(shape), edge if isinstance(edge, str) else "")


def _supported_shape(shape: Shape, name: str, remarks: ReportCollector) -> Shape | None:
    """Return a shape as one that x_xy has, approximated if needed; None where that is impossible."""
    if shape.type in GEOM_OF_SHAPE:
        return shape if shape.type != "axes" else replace(shape, size={"length": shape.size.get("length", 1.0)})
    if shape.type == "cone":
        remarks.warn("approximated-shape", Message("Cone: written as a cylinder ('{}')", name))
        return replace(shape, type="cylinder")
    if shape.type == "hemisphere":
        remarks.warn("approximated-shape", Message("Hemisphere: written as a sphere ('{}')", name))
        return replace(shape, type="sphere")
    if shape.type == "ellipsoid":
        x, y, z = (shape.size[axis] for axis in "xyz")
        if x == y == z:
            return replace(shape, type="sphere", size={"radius": x / 2.0})
    if shape.type == "pyramid":
        size = {"x": shape.size["x"], "y": shape.size["y"], "z": shape.size["length"]}
        remarks.warn("approximated-shape", Message("Pyramid: written as its bounding box ('{}')", name))
        return replace(shape, type="box", size=size)
    if shape.type == "ellipsoid":
        remarks.warn("approximated-shape", Message("Ellipsoid: written as its bounding box ('{}')", name))
        return replace(shape, type="box")
    if shape.type == "multi_sphere" and shape.spheres:
        balls = np.array(shape.spheres)
        low, high = (balls[:, 1:] - balls[:, :1]).min(axis=0), (balls[:, 1:] + balls[:, :1]).max(axis=0)
        remarks.warn(
            "approximated-shape", Message("Shape of several spheres: written as its bounding box ('{}')", name)
        )
        middle = shape.pose @ make_pose(position=(low + high) / 2.0)
        return replace(shape, type="box", size=dict(zip("xyz", (high - low).tolist(), strict=True)), pose=middle)
    if shape.type != "none":
        remarks.warn(
            "undrawn-shape", Message("Shape of type {}: not in x_xy, kept as a comment ('{}')", shape.type, name)
        )
    return None


def _color(shape: Shape) -> str:
    """Return a color as the file spells it: by its name if it still has that color."""
    name = shape.extra.get("color")
    if isinstance(name, str) and (shape.color is None if name not in COLORS else _same_color(shape, COLORS[name])):
        return name
    if shape.color is None:
        return ""
    return format_x_xy_numbers(shape.color if shape.color[3] != 1.0 else shape.color[:3])


def _same_color(shape: Shape, color: GeomColor) -> bool:
    return shape.color is not None and bool(np.allclose(shape.color, color, atol=1e-6))


def _distribute_mass(
    body: Body, out: GeomSet, masses: list[float | None], remarks: ReportCollector, before: Body | None
) -> None:
    """Set the masses of the geoms, or add a carrier for the whole mass."""
    choices = _mass_distributions(body, out.rows, masses)
    chosen = next((choice for choice in choices if _matches_mass(body, out.rows, choice)), None)
    if chosen is None and before is not None and _is_mass_unedited(body, before):
        scaled = _mass_distributions(body, out.rows, masses)
        chosen = next(
            (choice for choice in scaled if abs(sum(choice) - body.mass) <= MASS_TOLERANCE * abs(body.mass)), None
        )
        out.follows = chosen is not None
    if chosen is not None:
        for row, mass in zip(out.rows, chosen, strict=True):
            row.mass = mass
        return
    for row in out.rows:
        row.mass = 0.0
    out.carriers.append(len(out.rows))
    out.rows.append(_mass_carrier(body, remarks))


def _is_mass_unedited(body: Body, before: Body) -> bool:
    """Return whether center of mass and inertia are still those of the document."""
    if body.inertia is None or before.inertia is None:
        return body.inertia is None
    same_inertia = _is_near(body.inertia, before.inertia, float(np.abs(before.inertia).max()))
    return same_inertia and _is_near(body.com, before.com)


def _mass_distributions(body: Body, rows: Sequence[GeomRow], masses: list[float | None]) -> Iterator[list[float]]:
    """Yield distributions of a body's mass over its geoms, the most likely first."""
    own = [mass or 0.0 for mass in masses]
    if body.mass == 0.0 or any(mass is not None for mass in masses):
        yield own
    if total := sum(own):
        yield [mass * (body.mass / total) for mass in own]
    volumes = [shape_volume(shape_from_row(row)) if GEOMS[row.kind].shape != "axes" else 0.0 for row in rows]
    if volume := sum(volumes):
        yield [body.mass * part / volume for part in volumes]


def _matches_mass(body: Body, rows: Sequence[GeomRow], masses: Sequence[float]) -> bool:
    """Return whether geoms with given masses have the body's mass properties."""
    weights = [(row.kind, row.dim, mass, row.pose) for row, mass in zip(rows, masses, strict=True)]
    mass, com, tensor = geometry.geom_mass_properties(weights)
    if abs(mass - body.mass) > MASS_TOLERANCE * (abs(body.mass) or 1.0):
        return False
    if mass == 0.0:
        return body.inertia is None or _is_near(tensor, body.inertia) or not np.any(tensor)
    if not _is_near(com, body.com, np.abs(body.com).max(), SINGLE_PRECISION_TOLERANCE):
        return False
    wanted = body_inertia(body)
    return _is_near(tensor, wanted, np.abs(wanted).max(), SINGLE_PRECISION_TOLERANCE)


def _is_near(a: Array, b: Array, size: float = 1.0, share: float = MASS_TOLERANCE) -> bool:
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max() <= share * (size or 1.0))


def _mass_carrier(body: Body, remarks: ReportCollector) -> GeomRow:
    """Return a transparent box with the body's mass properties."""
    wanted = body_inertia(body)
    edges, turn = geometry.equivalent_box(body.mass, wanted) if body.mass else (np.zeros(3), np.eye(3))
    row = GeomRow(
        "box",
        tuple(float(max(edge, MIN_SIZE)) for edge in edges),
        body.mass,
        make_pose(turn, body.com),
        TRANSPARENT,
    )
    _, _, got = geometry.geom_mass_properties([(row.kind, row.dim, row.mass, row.pose)])
    size = float(np.abs(wanted).max())
    apart = float(np.abs(got - wanted).max())
    if apart > 1e-6 * size and apart > 1e-12:
        share = apart / (size or apart)
        message = Message(
            "Inertia of '{}': no box has it, the nearest one ({} % off) is written", body.name, f"{100 * share:.2g}"
        )
        remarks.warn("approximated-inertia", message)
    return row


@dataclass
class CachedLink:
    """Rows of a body and its joint, with their inputs.

    ``row`` is the body's own, ``noted`` the other inputs of its extension data.
    """

    body: Body
    joint: Joint
    steps: list[JointStep]
    geoms: GeomSet
    note: ExtensionData
    remarks: ReportCollector
    row: LinkRow | None = None
    noted: tuple[Any, ...] = ()


#: Cached links of a mechanism, by id of the body.
LinkCache = dict[str, CachedLink]


def warn_unattached_joints(left: Iterable[Joint], loops: Collection[str], remarks: ReportCollector) -> None:
    """Warn of joints outside the tree of bodies; those with ids in ``loops`` close a loop."""
    for joint in left:
        if joint.id in loops:
            message = Message(
                "Closed loop at joint '{}' ({}) between '{}' and '{}': not in x_xy, cut there. The joint is kept "
                "as a comment and restored on import",
                joint.name,
                joint.type,
                joint.parent,
                joint.child,
            )
            remarks.warn("cut-loop", message)
        else:
            remarks.warn("left-joint", Message("Joint '{}': has no effect, kept as a comment", joint.name))


def warn_kept_as_comment(mechanism: Mechanism, remarks: ReportCollector) -> None:
    """Warn of what is neither body nor joint and is kept in a comment."""
    for what in ("assemblies", "restraints", "lights"):
        if count := len(getattr(mechanism, what)):
            message = Message("Not in x_xy, kept as comments: {} {}", count, what)
            remarks.warn("kept-as-comment", message)


def warn_dropped(mechanism: Mechanism, remarks: ReportCollector) -> None:
    """Warn of what is not written at all."""
    for joint in mechanism.joints:
        for dof in joint.dofs:
            if dof.kind == "screw":
                message = Message(
                    "Screw joint: written as a hinge, without the lead of {} m per revolution ('{}')",
                    f"{2 * np.pi * dof.pitch:.4g}",
                    joint.name,
                )
                remarks.warn("approximated-joint", message)
    if mechanism.behaviours is not None:
        remarks.warn("dropped-behaviours", "Gait: not written")
    if mechanism.motions:
        remarks.warn("dropped-motion", "Motions: not written. Export them as servo motion")


def report_world_name(mechanism: Mechanism, report: Report) -> None:
    """Warn of a renamed world body: the element ``worldbody`` has no name."""
    scenery = scenery_body(mechanism)
    if scenery is not None and scenery.name != WORLD_BODY:
        report.warn(
            "world-name",
            Message(
                "World body {}: its name is not written and becomes {} on import", repr(scenery.name), repr(WORLD_BODY)
            ),
            where=scenery.id,
        )


def scenery_body(mechanism: Mechanism) -> Body | None:
    """Return the body that holds the geoms of the world; None if there is none."""
    return next((body for body in mechanism.bodies if _is_scenery(body, mechanism)), None)


def _is_scenery(body: Body, mechanism: Mechanism) -> bool:
    """Return whether a body holds the geoms of the world: it is at the world frame, without joints."""
    return bool(
        body.extra.get(WORLD_BODY)
        and geometry.is_close(body.pose, identity())
        and not any(body.id in {joint.parent, joint.child} for joint in mechanism.joints)
    )


_NEW_KINDS = tuple(kind for kind in JOINTS.values() if not kind.chosen and not kind.refused)


@dataclass
class JointStep:
    """Body of the file: its pose in the previous one, and its joint."""

    pose: Array
    joint: str
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)


def joint_steps(joint: Joint, kept: bool = False) -> list[JointStep]:
    """Return the bodies in the file that represent a joint, from its parent to its child.

    ``kept`` allows joints of a document that the loader rejects. A screw loses its pitch.
    """
    wanted = joint.extra.get("joint", "")
    kind = joint_kind(wanted) if wanted else None
    if wanted and kind is None and not joint.dofs:  # a joint registered at run time
        numbers = {name: tuple(values) for name, values in joint.extra.get("numbers", {}).items()}
        return [JointStep(joint.frame_parent @ inverse(joint.frame_child), wanted, numbers)]
    if kind is not None and kind.refused and not kept:
        kind = None
    dofs = [_normalized_dof(dof) for dof in joint.dofs]
    return _split_steps(joint.frame_parent, dofs, joint.frame_child, kind, wanted)


def _split_steps(
    start: Array, dofs: list[Dof], leave: Array, wanted: JointKind | None, name: str = ""
) -> list[JointStep]:
    """Return bodies for the pose ``start``, the dofs, and the pose ``leave`` from joint frame to body frame."""
    seen = _dofs_in_body(dofs, leave)
    if seen is not None:
        kind = _find_joint_kind(seen, wanted)
        if kind is not None:
            return [
                JointStep(start @ inverse(leave), name if kind is wanted else kind.name, _joint_numbers(kind, seen))
            ]
    for count in range(len(dofs), 0, -1):
        kind = _find_joint_kind(dofs[:count], wanted)
        if kind is not None:
            here = JointStep(start, name if kind is wanted else kind.name, _joint_numbers(kind, dofs[:count]))
            return [here, *_split_steps(identity(), dofs[count:], leave, None)]
    turn = make_pose(rotation_with_z(dofs[0].axis))
    kind = JOINTS["pz" if dofs[0].kind == "translation" else "rz"]
    return [
        JointStep(start @ turn, kind.name, _joint_numbers(kind, dofs[:1])),
        *_split_steps(inverse(turn), dofs[1:], leave, None),
    ]


def _normalized_dof(dof: Dof) -> Dof:
    copy = replace(dof)
    if DOF_SIZE[dof.kind] == 1:
        copy.axis = dof.axis / (np.linalg.norm(dof.axis) or 1.0)
    if dof.kind == "screw":
        copy.kind = "rotation"
    return copy


def _dofs_in_body(dofs: Sequence[Dof], leave: Array) -> list[Dof] | None:
    """Return the dofs in the body's own frame, in which the joint's is at ``leave``.

    None where they do not act through the body's origin.
    """
    out = []
    for dof in dofs:
        if DOF_SIZE[dof.kind] > 1:
            if not is_close(leave, identity()):
                return None
            out.append(dof)
            continue
        copy = replace(dof)
        copy.axis = leave[:3, :3] @ dof.axis
        (x, y, z), (a, b, c) = leave[:3, 3].tolist(), copy.axis.tolist()
        beside = max(abs(y * c - z * b), abs(z * a - x * c), abs(x * b - y * a))
        if dof.kind == "rotation" and beside > EQUAL_TOLERANCE:
            return None
        out.append(copy)
    return out


def _find_joint_kind(dofs: Sequence[Dof], wanted: JointKind | None) -> JointKind | None:
    """Return the file's joint with these dofs, the wanted one first; axes that are not in the file need not match."""
    kinds = (wanted, *_NEW_KINDS) if wanted is not None else _NEW_KINDS
    return next((kind for kind in kinds if _fits(kind, dofs)), None)


def _fits(kind: JointKind, dofs: Sequence[Dof]) -> bool:
    return len(kind.blocks) == len(dofs) and all(
        block.kind == dof.kind and (kind.chosen or DOF_SIZE[dof.kind] > 1 or _is_along(dof.axis, block.axis))
        for block, dof in zip(kind.blocks, dofs, strict=True)
    )


def _is_along(axis: Array, wanted: Vector) -> bool:
    """Return whether an axis equals the wanted one up to rounding."""
    return all(abs(a - b) <= EQUAL_TOLERANCE * (1.0 + abs(b)) for a, b in zip(axis.tolist(), wanted, strict=True))


def _joint_numbers(kind: JointKind, dofs: Sequence[Dof]) -> dict[str, tuple[float, ...]]:
    """Return the four lists of a joint, without those that are all zero."""
    out: dict[str, tuple[float, ...]] = {}
    for name, attribute in DOF_ATTRIBUTES.items():
        spring_zero = name == "spring_zero"
        values = [0.0] * (kind.coordinates if spring_zero else kind.velocities)
        says = False
        for block, dof in zip(kind.blocks, dofs, strict=True):
            own = _dof_values(dof, attribute)
            says = says or any(own)
            values[block.places if spring_zero else block.rates] = rest_numbers(block, own) if spring_zero else own
        if says:
            out[name] = tuple(float(x) for x in values)
    return out


def _dof_values(dof: Dof, attribute: str) -> tuple[float, ...]:
    """Return one attribute of a dof for each of its coordinates."""
    if dof.parts:
        return tuple(float(getattr(part, attribute)) for part in dof.parts)
    return (float(getattr(dof, attribute)),) * DOF_SIZE[dof.kind]


def align_body_frames(mechanism: Mechanism, before: Mechanism) -> tuple[Mechanism, Mechanism]:
    """Align the frames of bodies with those of their joints where they coincided before.

    Nothing moves: shapes, centers of mass and child bodies keep their world poses.

    Args:
        mechanism: the current mechanism.
        before: that of the document.

    Returns:
        Both mechanisms, with the frames of the same bodies shifted.
    """
    there = {link.body: link.joint.id for link in spanning_tree(before).links if _lies_on_joint(link)}
    shift: dict[str | None, Array] = {
        link.body: link.joint.frame_child
        for link in spanning_tree(mechanism).links
        if there.get(link.body) == link.joint.id and not link.is_reversed and not _lies_on_joint(link)
    }
    return (_shift_frames(mechanism, shift), _shift_frames(before, shift)) if shift else (mechanism, before)


def _shift_frames(mechanism: Mechanism, shift: Mapping[str | None, Array]) -> Mechanism:
    out = replace(mechanism)
    out.bodies = [_shift_body(body, shift[body.id]) if body.id in shift else body for body in mechanism.bodies]
    out.joints = [_shift_joint(joint, shift) for joint in mechanism.joints]
    out.frames = [
        replace(frame, pose=inverse(shift[frame.body]) @ frame.pose) if frame.body in shift else frame
        for frame in mechanism.frames
    ]
    return out


def _shift_body(body: Body, shift: Array) -> Body:
    back = inverse(shift)
    copy = replace(body)
    copy.pose = body.pose @ shift
    copy.com = back[:3, :3] @ body.com + back[:3, 3]
    if body.inertia is not None:
        copy.inertia = back[:3, :3] @ body.inertia @ shift[:3, :3]
    copy.shapes = [replace(shape, pose=back @ shape.pose) for shape in body.shapes]
    return copy


def _lies_on_joint(link: Link) -> bool:
    return not link.is_reversed and geometry.is_close(link.joint.frame_child, identity())


def _shift_joint(joint: Joint, shift: Mapping[str | None, Array]) -> Joint:
    copy = replace(joint)
    if joint.parent in shift:
        copy.frame_parent = inverse(shift[joint.parent]) @ joint.frame_parent
    if joint.child in shift:
        copy.frame_child = inverse(shift[joint.child]) @ joint.frame_child
        if geometry.is_close(copy.frame_child, identity(), 1e-9):
            copy.frame_child = identity()
    return copy
