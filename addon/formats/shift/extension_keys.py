"""Extension data: values that Shift cannot hold, kept under a key of our own and restored on import.

Only values that differ from a record's defaults are kept. Values are validated when read; invalid ones are ignored.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, get_args

import numpy as np

from ...core.model import DOF_SIZE, Body, Dof, DofKind, Joint, Shape, ShapeType, World, identity
from .schema import is_number

_SHAPE_FIELDS = ("visual", "collision", "soft", "name")
_DOF_FIELDS = ("lower", "upper", "friction", "armature", "gain", "max_force", "actuator", "pitch", "name")
_SPRING_FIELDS = ("stiffness", "rest", "damping")
_BODY_FIELDS = ("twin", "gravity", "collidable", "immobile")
_WORLD_FIELDS = ("friction", "erp", "cfm", "time_step", "ground")


def _defaults(record: type) -> dict[str, Any]:
    return {item.name: item.default for item in fields(record)}


_DEFAULTS = {record: _defaults(record) for record in (Shape, Dof, Body, World)}


def _non_default(record: Any, names: tuple[str, ...]) -> dict[str, Any]:
    defaults = _DEFAULTS[type(record)]
    return {name: value for name in names if (value := getattr(record, name)) != defaults[name]}


def _restore_attributes(record: Any, kept: dict[str, Any], names: tuple[str, ...]) -> None:
    """Set the attributes that were kept, if they have the type of the default."""
    for name in names:
        value, default = kept.get(name), _DEFAULTS[type(record)][name]
        if isinstance(default, bool):
            fits = isinstance(value, bool)
        elif isinstance(default, str) or name == "twin":
            fits = isinstance(value, str)
        else:
            fits = is_number(value)
        if fits:
            setattr(record, name, value)


def world_extension(world: World) -> dict[str, Any]:
    """Return the extension data of a world."""
    return _non_default(world, _WORLD_FIELDS)


def restore_world_extension(world: World, kept: Any) -> None:
    """Restore a world from its extension data."""
    if isinstance(kept, dict):
        _restore_attributes(world, kept, _WORLD_FIELDS)


def body_extension(body: Body, shapes: list[Shape]) -> dict[str, Any]:
    """Return the extension data of a body.

    ``shapes`` are all of its shapes if the format cannot hold one of them, else empty.
    """
    mark = _non_default(body, _BODY_FIELDS)
    if body.inertia is None and body.mass:
        mark["inertia"] = "shapes"
    if shapes:
        mark["shapes"] = [_shape_extension(shape) for shape in shapes]
    return mark


def _shape_extension(shape: Shape) -> dict[str, Any]:
    mark: dict[str, Any] = {"type": shape.type, "size": dict(shape.size), **_non_default(shape, _SHAPE_FIELDS)}
    if not np.array_equal(shape.pose, identity()):
        mark["pose"] = shape.pose[:3].tolist()
    if shape.color is not None:
        mark["color"] = list(shape.color)
    if shape.mesh is not None:
        mark["mesh"] = shape.mesh
    if shape.spheres:
        mark["spheres"] = [list(sphere) for sphere in shape.spheres]
    return mark


def restore_body_extension(body: Body, kept: Any) -> None:
    """Restore a body from its extension data."""
    if not isinstance(kept, dict):
        return
    _restore_attributes(body, kept, _BODY_FIELDS)
    if kept.get("inertia") == "shapes":
        body.inertia = None
    marks = kept.get("shapes")
    if isinstance(marks, list):
        shapes = [_restore_shape(mark) for mark in marks]
        if None not in shapes:
            body.shapes = [shape for shape in shapes if shape is not None]


def _restore_shape(mark: Any) -> Shape | None:
    if not isinstance(mark, dict) or mark.get("type") not in get_args(ShapeType):
        return None
    size, pose = mark.get("size"), mark.get("pose")
    if (
        not isinstance(size, dict)
        or not all(map(is_number, size.values()))
        or not _REQUIRED_SIZES[mark["type"]] <= size.keys()
    ):
        return None
    shape = Shape(mark["type"], {str(key): float(value) for key, value in size.items()})
    _restore_attributes(shape, mark, _SHAPE_FIELDS)
    if isinstance(pose, list) and len(pose) == 3 and all(_is_number_list(row, 4) for row in pose):
        shape.pose = np.array([*pose, [0.0, 0.0, 0.0, 1.0]])
    if _is_number_list(mark.get("color"), 4):
        shape.color = tuple(float(x) for x in mark["color"])  # type: ignore[assignment]
    if isinstance(mark.get("mesh"), str):
        shape.mesh = mark["mesh"]
    spheres = mark.get("spheres")
    if isinstance(spheres, list) and all(_is_number_list(sphere, 4) for sphere in spheres):
        shape.spheres = [tuple(float(x) for x in sphere) for sphere in spheres]  # type: ignore[misc]
    return shape


_REQUIRED_SIZES: dict[str, set[str]] = {
    **dict.fromkeys(get_args(ShapeType), set()),
    "box": {"x", "y", "z"},
    "ellipsoid": {"x", "y", "z"},
    "sphere": {"radius"},
    "hemisphere": {"radius"},
    "cylinder": {"length", "radius"},
    "capsule": {"length", "radius"},
    "cone": {"length", "radius"},
    "pyramid": {"x", "y", "length"},
}


def _is_number_list(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(map(is_number, value))


def joint_extension(joint: Joint, usual: str) -> dict[str, Any]:
    """Return the extension data of a joint; ``usual`` is the type as which it would be read."""
    mark: dict[str, Any] = {"type": joint.type} if joint.type != usual else {}
    if joint.twin is not None:
        mark["twin"] = joint.twin
    dofs = [_dof_extension(dof) for dof in joint.dofs]
    if any(dofs):
        mark["dofs"] = dofs
    return mark


def _dof_extension(dof: Dof) -> dict[str, Any]:
    mark = _non_default(dof, _DOF_FIELDS)
    if DOF_SIZE[dof.kind] > 1:
        mark |= _non_default(dof, _SPRING_FIELDS)
    elif dof.rest and not dof.stiffness:
        mark["rest"] = dof.rest
    if dof.kind == "screw":
        mark["kind"] = "screw"
    if dof.parts:
        mark["parts"] = [
            {"kind": part.kind, **_non_default(part, (*_DOF_FIELDS, *_SPRING_FIELDS))} for part in dof.parts
        ]
    return {key: value for key, value in mark.items() if not isinstance(value, float) or math.isfinite(value)}


def restore_joint_extension(joint: Joint, kept: Any) -> None:
    """Restore a joint from its extension data."""
    if not isinstance(kept, dict):
        return
    if isinstance(kept.get("type"), str):
        joint.type = kept["type"]
    if isinstance(kept.get("twin"), str):
        joint.twin = kept["twin"]
    marks = kept.get("dofs")
    if isinstance(marks, list) and len(marks) == len(joint.dofs):
        for dof, mark in zip(joint.dofs, marks, strict=True):
            if isinstance(mark, dict):
                _restore_dof_extension(dof, mark)


def _restore_dof_extension(dof: Dof, mark: dict[str, Any]) -> None:
    _restore_attributes(dof, mark, (*_DOF_FIELDS, *_SPRING_FIELDS))
    if mark.get("kind") == "screw" and dof.kind == "rotation":
        dof.kind = "screw"
    parts = mark.get("parts")
    kinds = get_args(DofKind)
    if isinstance(parts, list) and all(isinstance(part, dict) and part.get("kind") in kinds for part in parts):
        for part in parts:
            made = Dof(part["kind"])
            _restore_attributes(made, part, (*_DOF_FIELDS, *_SPRING_FIELDS))
            dof.parts.append(made)
