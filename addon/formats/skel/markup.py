"""Markup of a SKEL file from planned objects, and new documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.model import Array
from ...core.transforms import affine_inverse
from ..text.xml_reader import escape_attribute, escape_text
from .from_model_rows import COORDINATE_DEFAULTS, PlannedBody, PlannedJoint
from .schema import (
    AXES,
    AXIS_NUMBERS,
    BODY,
    DOF,
    DOF_NUMBERS,
    GEOMETRY_FIELDS,
    JOINT,
    LIMIT,
    MARKER,
    SHAPES,
    SIX,
    SPHERE_ITEM,
    Field,
    Row,
    Table,
    format_skel_number,
    transformation_from_pose,
)
from .to_model import coordinate_name

INDENT = "    "
BLOCKS = frozenset({"ball", "free"})
#: Paths of a coordinate's attributes under an axis, and in a <dof>.
AXIS_PATH = {attribute: path for path, attribute, _, _ in AXIS_NUMBERS}
DOF_PATH = {attribute: path for path, attribute in DOF_NUMBERS.items()}
INITIAL = {"init_pos": "position", "init_vel": "velocity"}
#: Values equivalent to the absence of the field, which are left out.
_IMPLIED_VALUES: Mapping[str, Any] = {"gravity": True, "mobile": True, "@actuator": "force", "collidable": True}


@dataclass
class XmlNode:
    """Element to be written: its attributes, and its text or its children."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[XmlNode] = field(default_factory=list)

    def put(self, path: str, text: str) -> None:
        """Set the text at a path below this element, creating elements along the way."""
        here = self
        *way, last = path.split("/")
        for tag in way if last.startswith("@") else [*way, last]:
            found = next((child for child in here.children if child.tag == tag), None)
            if found is None:
                found = XmlNode(tag)
                here.children.append(found)
            here = found
        if last.startswith("@"):
            here.attributes[last[1:]] = text
        else:
            here.text = text

    def markup(self, indent: str = "", newline: str = "\n", step: str = INDENT) -> str:
        """Return the element as text, without white space around it."""
        attributes = "".join(f' {name}="{escape_attribute(value)}"' for name, value in self.attributes.items())
        if self.children:
            inside = "".join(
                f"{newline}{indent}{step}{child.markup(indent + step, newline, step)}" for child in self.children
            )
            return f"<{self.tag}{attributes}>{inside}{newline}{indent}</{self.tag}>"
        return (
            f"<{self.tag}{attributes}>{escape_text(self.text)}</{self.tag}>"
            if self.text
            else f"<{self.tag}{attributes}/>"
        )


def format_field(item: Field, value: Any, near: Any = None) -> str:
    """Format a value, not yet escaped; a pose as six numbers, those of ``near`` where they are still correct."""
    if item.kind is SIX:
        return item.kind.spell(transformation_from_pose(value, near) if isinstance(value, np.ndarray) else value)
    return item.kind.spell(value)


def element_node(tag: str, table: Table, row: Row, always: Iterable[str] = ()) -> XmlNode:
    """Return an object's element with the fields of its row that are not implied by their absence.

    Fields in ``always`` are always written.
    """
    node = XmlNode(tag)
    for item in table:
        value = row.get(item.path)
        if value is None or (item.path in _IMPLIED_VALUES and value == _IMPLIED_VALUES[item.path]):
            continue
        if item.path not in always and _is_implied(item, value):
            continue
        node.put(item.path, format_field(item, value))
    return node


def body_node(body: PlannedBody, skeleton_pose: Array | None = None) -> XmlNode:
    """Return a body's element with its shapes and markers; ``skeleton_pose`` is the skeleton's frame (4, 4)."""
    row = body.row
    if skeleton_pose is not None:
        row = row | {"transformation": affine_inverse(skeleton_pose) @ row["transformation"]}
    node = element_node("body", BODY, row, always=("transformation",))
    node.children += [shape_node(tag, shape) for tag, shape in body.shapes if shape["type"] is not None]
    node.children += [element_node("marker", MARKER, marker) for marker in body.markers]
    return node


def shape_node(tag: str, row: Row) -> XmlNode:
    """Return a shape's element."""
    type_ = row["type"]
    fields = GEOMETRY_FIELDS.get(type_, ())
    own = {item.path for item in fields}
    table = SHAPES[tag]
    chosen = tuple(item for item in table if not item.path.startswith("geometry/") or item.path in own)
    node = element_node(tag, Table(tag, chosen), row, always=own)
    if type_ == "multi_sphere":
        node.put("geometry/multi_sphere", "")
        balls = next(child for child in node.children if child.tag == "geometry").children[-1]
        balls.children = [
            element_node("sphere", SPHERE_ITEM, {"radius": ball[0], "position": ball[1:]}, always=("position",))
            for ball in row["spheres"]
        ]
    return node


def joint_node(joint: PlannedJoint) -> XmlNode:
    """Return a joint's element with its coordinates."""
    row = joint.row | initial_row(joint)
    if joint.row["@type"] not in BLOCKS:
        for i, one in enumerate(joint.coordinates[: len(AXES)]):
            row |= {f"{AXES[i]}/{path}": one[attribute] for attribute, path in AXIS_PATH.items()}
    node = element_node(joint.tag, JOINT, row)
    for i, one in enumerate(joint.coordinates):
        dof = dof_node(i, one, joint.row["@type"] in BLOCKS or i >= len(AXES))
        if one["name"] not in ("", coordinate_name(joint.row, joint.row["@type"], i)):
            dof.attributes["name"] = one["name"]
        if dof.children or len(dof.attributes) > 1:
            node.children.append(dof)
    return node


def dof_node(index: int, one: Mapping[str, Any], whole: bool) -> XmlNode:
    """Return the <dof> of a coordinate: only what no other element can hold, or (``whole``) all but initial values."""
    node = XmlNode("dof", {"local_index": str(index)})
    for attribute, default in COORDINATE_DEFAULTS.items():
        if whole and attribute not in INITIAL.values() and one[attribute] != default:
            node.put(DOF_PATH[attribute], format_skel_number(one[attribute]))
    for path, value in one["extra"].items():
        if path in DOF and DOF[path].kind.has(value):
            node.put(path, format_skel_number(value))
    return node


def initial_row(joint: PlannedJoint) -> Row:
    """Return initial values and velocities of the coordinates; None where all are zero."""
    return {
        path: tuple(values) if any(values := [one[attribute] for one in joint.coordinates]) else None
        for path, attribute in INITIAL.items()
    }


def _is_implied(item: Field, value: Any) -> bool:
    if item.kind is SIX:
        return item.default is not None and bool(np.abs(value - np.eye(4)).max() == 0.0)
    if item.needed or item.path.startswith("physics/"):
        return False
    return item.kind is not LIMIT and value == item.default and item.default is not None
