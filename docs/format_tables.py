"""The manual's tables of formats: fields, joints and shapes, from the formats' own tables."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import meanings
from in_markdown import code, rows

from addon import formats
from addon.formats.juice import gait as gait_table
from addon.formats.juice import schema as juice
from addon.formats.shift import schema as shift
from addon.formats.skel import schema as skel
from addon.formats.skel import to_model as skel_joints
from addon.formats.x_xy import schema as x_xy


def format_list() -> str:
    pages = {"motion_csv": "csv"}
    lines = []
    for kind, table in (("model", formats.FORMATS), ("servo motion", formats.MOTION_FORMATS)):
        for row in table.values():
            page = pages.get(row.id, row.id)
            lines.append([f"[{row.label}]({page}.md)", kind, code([row.id]), code(row.extensions)])
    return rows(("format", "content", "`--to`", "extensions"), lines)


# ---- Fields ---------------------------------------------------------------------------------------


def expanded(pattern: str) -> list[str]:
    """``a/{b,c}`` as ``a/b`` and ``a/c``."""
    parts = [part.split(",") for part in re.split(r"\{|\}", pattern)]
    return ["".join(words) for words in itertools.product(*parts)]


def field_rows(known: Mapping[str, tuple[str, str]], meaning: meanings.Meanings, where: str) -> Iterator[list[str]]:
    """Yield a row for each meaning.

    Args:
        known: Unit and default of every field.
        meaning: Meanings of the fields.
        where: Name of the object, for messages.

    Raises:
        ValueError: A field has no meaning, or a meaning no field.
    """
    left = list(known)
    for pattern, words in meaning.items():
        asked = expanded(pattern)
        found = [name for name in left if any(fnmatch.fnmatchcase(name, one) for one in asked)]
        if not words:  # it is not there in this kind of object
            continue
        lost = [one for one in asked if not any(fnmatch.fnmatchcase(name, one) for name in known)]
        if lost:
            raise ValueError(f"{where} has no field {', '.join(lost)}")
        left = [name for name in left if name not in found]
        units, defaults = (dict.fromkeys(known[name][k] for name in found) for k in (0, 1))
        yield [
            code(found if len(found) <= 3 else [pattern]),
            ", ".join(filter(None, units)),
            " or ".join(filter(None, defaults)),
            words,
        ]
    if left:
        raise ValueError(f"docs/meanings.py has no meaning for these fields of {where}: {', '.join(left)}")


def spelt(value: Any) -> str:
    """Return the text of a default."""
    if value is None or value in ("", []):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        flat = [str(spelt(item)) for item in value]
        return " ".join(flat) if len(flat) < 7 and not isinstance(value[0], list) else "none"
    return str(value)


def fields_of(table: Iterable[Any], name: str = "path") -> dict[str, tuple[str, str]]:
    """Return unit and default of the fields of a table."""
    return {getattr(field, name): (field.unit, spelt(field.default)) for field in table}


def sections(parts: Mapping[str, Mapping[str, tuple[str, str]]], meaning: dict[str, meanings.Meanings]) -> str:
    if parts.keys() != meaning.keys():
        raise ValueError(f"docs/meanings.py: {parts.keys() ^ meaning.keys()}")
    head = ("in the file", "unit", "default", "in Blender")
    return "\n".join(
        f"**{part}**\n\n{rows(head, field_rows(known, meaning[part], part))}" for part, known in parts.items()
    )


def juice_fields() -> str:
    joints = {field.path: field for table in juice.JOINTS.values() for field in table}
    tables: dict[str, Iterable[Any]] = {
        "Model": juice.MODEL,
        "Body": juice.BODY,
        "RevoluteJoint, PrismaticJoint, SphericalJoint": joints.values(),
        "Clockwork": gait_table.CLOCKWORK,
        "ClockworkMotor": gait_table.CLOCKWORK_MOTOR,
    }
    return sections({name: fields_of(table) for name, table in tables.items()}, meanings.JUICE)


def shift_fields() -> str:
    tables = (shift.SETTINGS, shift.ASSEMBLY, shift.FRAME, shift.BODY, shift.JOINT, shift.LIGHT, shift.RESTRAINT)
    return sections({table.what: fields_of(table, "name") for table in tables}, meanings.SHIFT)


def skel_fields() -> str:
    tables = (skel.WORLD, skel.SKELETON, skel.BODY, skel.VISUAL, skel.COLLISION, skel.SOFT, skel.JOINT, skel.DOF)
    return sections({table.tag: fields_of(table) for table in tables}, meanings.SKEL)


def x_xy_fields() -> str:
    defaults = {"gravity": spelt(x_xy.DEFAULT_GRAVITY), "dt": spelt(x_xy.DEFAULT_DT)}
    known = {
        tag: {name: ("", defaults.get(name, "")) for name in names} for tag, names in x_xy.ATTRIBUTES.items() if names
    }
    return sections(known, meanings.X_XY)


# ---- Joints and shapes ----------------------------------------------------------------------------


def shift_joints() -> str:
    by_type: dict[str, list[str]] = {}
    for name, type_ in shift.TYPES.items():
        by_type.setdefault(type_, []).append(name)
    return rows(("in the file", "joint in Blender"), ([code(names), type_] for type_, names in by_type.items()))


def skel_joint_types() -> str:
    names = {
        type_: [type_, *(alias for alias, of in skel_joints.TYPE_ALIASES.items() if of == type_)]
        for type_ in skel_joints.DOF_COUNTS
    }
    dart = {type_: "no" if type_ in skel_joints._UNSUPPORTED_BY_DART else "yes" for type_ in names}
    lines = ([code(words), str(skel_joints.DOF_COUNTS[type_]), dart[type_]] for type_, words in names.items())
    return rows(("in the file", "degrees of freedom", "supported by DART"), lines)


def skel_geometries() -> str:
    lines = []
    for type_, fields in skel.GEOMETRIES.items():
        lines.append([code([type_]), code(field.path for field in fields) or "its spheres, `sphere`"])
    return rows(("geometry", "sizes"), lines)


def x_xy_joints() -> str:
    lines = ([code([kind.name]), kind.type, str(kind.velocities)] for kind in x_xy.JOINTS.values())
    return rows(("in the file", "joint in Blender", "degrees of freedom"), lines)


def x_xy_geoms() -> str:
    lines = ([code([kind.name]), kind.shape, " ".join(kind.sizes)] for kind in x_xy.GEOMS.values())
    return rows(("geom", "shape in Blender", "`dim`"), lines)
