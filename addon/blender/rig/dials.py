"""Dials: custom bone shapes made from the axes and stops of joints, fixed to the bone that carries the joint."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import bpy
from mathutils import Matrix

from ...core.editing.sides import side_signs
from ...core.model import Array
from ..data.access import armature_of, bone_record, record_of
from ..data.conversion import PosedDofs, dofs_of_bones, mirror_plane_of, read_stops
from ..data.datablocks import set_bone_property
from ..data.queries import chain_bones

#: Bone collection of the bones that move joints or carry root bodies.
BONE_COLLECTION_NAME = "Mechanism"
#: Name prefix of the shape objects, in the manner of Blender's own rigs.
_PREFIX = "WGT-Knuckle "
#: Maximum length of an object's name.
_MAX_NAME_LENGTH = 63
#: Themes of bones by their side of the mirror plane: blue on the left, red on the right, yellow between.
_SIDE_THEMES = {1: "THEME04", -1: "THEME01", 0: "THEME09"}
#: Width (pixels) of the lines.
_LINE_WIDTH = 2.0
#: Radius of a dial, as a share of the middle dimension of the thinner body, so that it projects from it.
_RADIUS_SHARE = 1.3
#: Limits of this radius, as shares of the mechanism's size.
_MIN_RADIUS_SHARE, _MAX_RADIUS_SHARE = 0.04, 0.15
#: Steps per radius to which the stops of sliders are rounded. Those of hinges are in whole degrees.
_STEPS_PER_RADIUS = 20
#: Directions at 0° and 90°, by the axis of rotation.
_PERPENDICULAR_AXES = (((0, 1, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0)), ((0, 1, 0), (-1, 0, 0)))
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
_DEGREES = math.degrees(1.0)
#: Angle (degrees) of one segment of an arc.
_ARC_STEP = 9.0
#: Radius of a hinge's ring, where that of its range is 1.
_INNER_RADIUS = 0.85
#: Display of a joint's empty: without the letters of axes, which would cover small mechanisms.
EMPTY_TYPE: Literal["PLAIN_AXES"] = "PLAIN_AXES"
#: Its size, as a share of the radius of the joint's dial.
EMPTY_SIZE_SHARE = 0.4

#: Degree of freedom as a shape shows it: kind, axis (0 to 2), lower and upper stop in steps.
_DialPart = tuple[str, int, int | None, int | None]
_ROOT_PART: _DialPart = ("root", 2, None, None)
_Polyline = list[tuple[float, ...]]
#: Angles (degrees) around an axis and distances from it.
_PolarLine = list[tuple[float, float]]


# ---------------------------------------------------------------- size and color


def joint_radius(ends: Iterable[bpy.types.Object | None], size: float) -> float:
    """Return the radius of a joint's dial, in length units.

    Args:
        ends: The bodies that the joint connects.
        size: Size of the mechanism.
    """
    sections = (float(sorted(obj.dimensions[:])[1]) for obj in ends if obj is not None)
    thinnest = min((section for section in sections if section > 0.0), default=0.0)
    if not thinnest:
        return 0.06 * size
    return min(max(_RADIUS_SHARE * thinnest, _MIN_RADIUS_SHARE * size), _MAX_RADIUS_SHARE * size)


def color_bones(rig: bpy.types.Object, names: Sequence[str], places: Array) -> None:
    """Color bones by their side of the mirror plane.

    Args:
        rig: The armature object.
        names: Names of the bones.
        places: Their positions (n, 3) at the design pose.
    """
    plane, bones = mirror_plane_of(rig), armature_of(rig).bones
    signs = [0] * len(names) if plane is None else side_signs(plane, places, names)
    for name, sign in zip(names, signs, strict=True):
        bones[name].color.palette = _SIDE_THEMES[sign]  # type: ignore[assignment]


def bone_collection(armature: bpy.types.Armature) -> bpy.types.BoneCollection:
    """Return the bone collection of our bones; create it if missing."""
    return armature.collections.get(BONE_COLLECTION_NAME) or armature.collections.new(BONE_COLLECTION_NAME)


# ---------------------------------------------------------------- shapes


def show_dials(
    rig: bpy.types.Object,
    dofs: Mapping[str, PosedDofs],
    radii: Mapping[str, float],
) -> None:
    """Assign dials to bones.

    Args:
        rig: The armature.
        dofs: Degrees of freedom of bones by name, each with the property and index that poses it.
        radii: Radii of the dials by the names of the bones, of all in ``dofs``.
    """
    turns, moves, sizes = [], [], []
    shapes: dict[tuple[_DialPart, ...], bpy.types.Object] = {}  # Blender searches all objects for a name
    for name, own in dofs.items():
        pose = rig.pose.bones[name]
        carrier = pose.parent if _is_fixed_to_carrier(own) else None
        record = bone_record(pose.bone)
        is_root = bool(record.root) and not record.joint
        parts = (_ROOT_PART,) if is_root else (*_dial_parts(own, radii[name], carrier is not None),)
        shape = shapes.get(parts) or shapes.setdefault(parts, _shape_object(parts))
        if pose.custom_shape != shape:
            pose.custom_shape = shape
        if pose.custom_shape_transform != carrier:
            pose.custom_shape_transform = carrier
        matrix = Matrix()
        if carrier is not None:
            matrix = carrier.bone.matrix_local.inverted_safe() @ pose.bone.matrix_local
        moves.append(matrix.translation[:])
        turns.append(matrix.to_euler()[:])
        sizes.append([radii[name]] * 3)
    for prop, values in (
        ("custom_shape_translation", moves),
        ("custom_shape_rotation_euler", turns),
        ("custom_shape_scale_xyz", sizes),
        ("use_custom_shape_bone_size", [False] * len(dofs)),
        ("custom_shape_wire_width", [_LINE_WIDTH] * len(dofs)),
    ):
        set_bone_property(rig, prop, dict(zip(dofs, values, strict=True)))


def _is_fixed_to_carrier(dofs: PosedDofs) -> bool:
    """Return whether a dial is fixed to the bone that carries the joint, so that its stops do not move with it."""
    return bool(dofs) and all(dof.kind not in {"ball", "free"} for dof, _, _ in dofs)


def has_dial(pose: bpy.types.PoseBone) -> bool:
    """Return whether a bone shows a shape of ours, rather than one of the user's or none."""
    return pose.custom_shape is not None and pose.custom_shape.name.startswith(_PREFIX)


def update_dial(empty: bpy.types.Object, bones: Sequence[str] | None = None) -> None:
    """Update the dials of a joint's bones from its record; bones without a dial get none."""
    rig = record_of(empty).model
    names = chain_bones(empty) if bones is None else bones
    shown = [name for name in names if has_dial(rig.pose.bones[name])]
    if shown:
        own = dofs_of_bones(empty, names)
        radii = {name: rig.pose.bones[name].custom_shape_scale_xyz[0] for name in shown}
        show_dials(rig, {name: own[name] for name in shown}, radii)


def _shape_object(parts: Sequence[_DialPart]) -> bpy.types.Object:
    """Return the object that shows degrees of freedom, shared by bones that look alike; for none a fixed joint's."""
    name = _PREFIX + (" ".join(map(_part_name, parts)) or "weld")
    if len(name) > _MAX_NAME_LENGTH:
        name = _PREFIX + " ".join(_part_name(part)[0] + _part_name(part).partition(" ")[2] for part in parts)
    every: Any = bpy.data.objects
    found = every.get((name, None))
    return found if found is not None and found.type == "MESH" else every.new(name, _dial_mesh(name, parts))


def _dial_parts(dofs: PosedDofs, radius: float, carried: bool) -> list[_DialPart]:
    """Return the degrees of freedom that a dial of a given radius shows.

    Stops are left out where no bone carries the dial: they would rotate with the bone.
    """
    out: list[_DialPart] = []
    for dof, prop, index in dofs:
        if dof.kind in {"ball", "free"}:
            return [("ball", 0, None, None)]
        factor = _STEPS_PER_RADIUS / radius if prop == "location" else _DEGREES
        low, high = (None if stop is None or not carried else round(factor * stop) for stop in read_stops(dof))
        out.append(("slide" if prop == "location" else "hinge", index, low, high))
    return out


def _part_name(part: _DialPart) -> str:
    kind, axis, low, high = part
    ends = "" if low is None and high is None else f" {'' if low is None else low}..{'' if high is None else high}"
    return f"{kind} {'XYZ'[axis]}{ends}"


def _dial_mesh(name: str, parts: Sequence[_DialPart]) -> bpy.types.Mesh:
    """Create the lines that show degrees of freedom, at radius 1."""
    lines = [line for part in parts for line in _part_lines(part)] or [
        [(*(0.35 * sign * axis for axis in _AXES[each]),) for each, sign in ((i, 1), (j, 1), (i, -1), (j, -1), (i, 1))]
        for i, j in ((0, 1), (1, 2), (2, 0))
    ]
    points = [number for line in lines for point in line for number in point]
    edges, first = list[int](), 0
    for line in lines:
        edges += [number for k in range(first, first + len(line) - 1) for number in (k, k + 1)]
        first += len(line)
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(first)
    mesh.vertices.foreach_set("co", points)
    mesh.edges.add(len(edges) // 2)
    mesh.edges.foreach_set("vertices", edges)
    return mesh


def _part_lines(part: _DialPart) -> list[_Polyline]:
    kind, axis, low, high = part
    if kind == "ball":
        return [_on_circle(each, _arc(0, 360)) for each in range(3)]
    if kind == "root":
        arrows: list[_PolarLine] = [[(angle - 8, 1.1), (angle, 1.3), (angle + 8, 1.1)] for angle in range(0, 360, 90)]
        return [_on_circle(axis, line) for line in (_arc(0, 360), *arrows)]
    if kind == "slide":
        return _rail(axis, *(None if stop is None else stop / _STEPS_PER_RADIUS for stop in (low, high)))
    return [_on_circle(axis, line) for line in _sector(low, high)]


def _on_circle(axis: int, line: _PolarLine) -> _Polyline:
    """Return points at angles (degrees) around an axis and distances from it."""
    zero, quarter = _PERPENDICULAR_AXES[axis]
    turned = [(radius * math.cos(angle / _DEGREES), radius * math.sin(angle / _DEGREES)) for angle, radius in line]
    return [(*(x * a + y * b for a, b in zip(zero, quarter, strict=True)),) for x, y in turned]


def _arc(first: int, last: int, radius: float = 1.0) -> _PolarLine:
    count = max(math.ceil((last - first) / _ARC_STEP), 1)
    return [(first + (last - first) * k / count, radius) for k in range(count + 1)]


def _sector(low: int | None, high: int | None) -> list[_PolarLine]:
    """Return a ring, a band for the range of a hinge or a bar for its only stop, and a mark at 0."""
    ring: _PolarLine = _arc(0, 360, _INNER_RADIUS)
    mark: _PolarLine = [(-7, 1.2), (0, 1.0), (7, 1.2), (-7, 1.2)]
    bars: list[_PolarLine] = [[(stop, 0.7), (stop, 1.0)] for stop in (low, high) if stop is not None]
    if low is None or high is None:
        return [ring, mark, *bars]
    return [ring, mark, _arc(0, 360)] if high - low >= 360 else [ring, mark, _arc(low, high), *bars]


def _rail(axis: int, low: float | None, high: float | None) -> list[_Polyline]:
    """Return the range of a slider, with a bar at each stop, an arrow where there is none, and a mark at 0."""

    def at(along: float, first: float, second: float) -> tuple[float, ...]:
        return (
            *(
                along * a + first * b + second * c
                for a, b, c in zip(_AXES[axis], *_PERPENDICULAR_AXES[axis], strict=True)
            ),
        )

    lines, ends = [], (-1.5 if low is None else low, 1.5 if high is None else high)
    for end, back in zip(ends, (0.0 if low is not None else 0.4, 0.0 if high is not None else -0.4), strict=True):
        lines.append([at(end + back, -0.5, 0), at(end, 0, 0), at(end + back, 0.5, 0)])
        lines.append([at(end + back, 0, -0.5), at(end, 0, 0), at(end + back, 0, 0.5)])
    square = [at(0, 0.35, 0), at(0, 0, 0.35), at(0, -0.35, 0), at(0, 0, -0.35), at(0, 0.35, 0)]
    return [[at(ends[0], 0, 0), at(ends[1], 0, 0)], square, *lines]
