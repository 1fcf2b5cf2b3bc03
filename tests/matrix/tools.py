"""Edits by Blender's own tools: parts moved, turned, scaled, hung elsewhere, renamed, painted, meshes edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bmesh
import bpy
import numpy as np

from . import names
from .cells import ANY, Cell, Expected, pick, renamed, rigid
from .document import Document, placed
from .edits import Edit, other_side

#: How far the tools move and turn.
SHIFT, TURN = (0.05, -0.03, 0.08), 0.3


class Placing(Edit):
    """A part put elsewhere by a tool of Blender's. How far is what Blender says; what the file is to have follows."""

    fact = "pose"

    def __init__(self, role: str, tool: Callable[[Any], None], name: str = "") -> None:
        self.role, self.tool, self.name = role, tool, name
        self.fact = "frame" if role == "JOINT" else "pose"

    def part(self, cell: Cell, side: int = 0) -> str:
        return other_side(self.name, side) or super().part(cell, side)

    def target(self, cell: Cell, side: int = 0) -> Any:
        if self.role == "SHAPE":
            return names.collision_child(names.part("BODY", cell.scene.arm[side]))
        return super().target(cell, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.tool(self.target(cell, side))

    def motion(self, cell: Cell, side: int = 0) -> np.ndarray:
        """How far (4, 4) it was moved where it is seen, in the file's axes, without a scale."""
        before, now = self.places(cell, side)
        return rigid(now) @ np.linalg.inv(rigid(before))

    def places(self, cell: Cell, side: int) -> tuple[np.ndarray, np.ndarray]:
        """Where it was seen, at the frame at which it is edited, and where it is."""
        key = self.role, self.target(cell, side).name
        return cell.before.seen[key][1 if cell.state == "animated" else 0], dict(cell.places())[key]

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        document, name = cell.before.document, self.part(cell, side)
        motion = self.motion(cell, side)
        self.see_that_it_went_as_told(cell, motion, side)
        kind = {"BODY": "body", "JOINT": "joint", "FRAME": "frame", "LIGHT": "light", "SHAPE": "shape"}[self.role]
        fact = f"{kind}/{name}/{'c0/' if self.role == 'SHAPE' else ''}{self.fact}"
        carrier = name
        if self.role == "JOINT":
            carrier = document.facts[f"{kind}/{name}/parent"]
        elif self.role in {"FRAME", "LIGHT"}:
            carrier = document.facts[f"{kind}/{name}/body"]
        design = document.facts[f"body/{carrier}/pose"]
        went = cell.went_before(carrier)
        moved = np.linalg.inv(went) @ motion @ went
        if self.role in {"FRAME", "LIGHT", "SHAPE"}:
            return {fact: np.linalg.inv(design) @ moved @ design @ document.facts[fact]}
        facts: dict[str, Any] = {fact: moved @ document.facts[fact]}
        if cell.scene.chord:  # joints of an edited loop begin where it closes, as is looked at
            facts |= {key: ANY for key in document.facts if key.startswith("dof/") and key.endswith("/position")}
        return facts

    def see_that_it_went_as_told(self, cell: Cell, motion: np.ndarray, side: int) -> None:
        """The tool has moved, or turned, it by what it was told to and not otherwise."""
        world = np.linalg.inv(cell.upright()) @ motion @ cell.upright()
        if self.tool is rotate:
            angle = np.arccos(np.clip((np.trace(world[:3, :3]) - 1) / 2, -1, 1))
            before, now = self.places(cell, side)
            slid = now[:3, 3] - before[:3, 3]
            assert abs(angle - TURN) < 1e-4 and np.abs(slid).max() < 1e-5, f"turned by {angle}, moved by {slid}"
        elif self.tool in {move, clear_parent_and_move}:
            assert np.abs(world - placed(SHIFT)).max() < 1e-4, f"moved by {world} instead of {SHIFT}"
        else:
            assert np.abs(motion - np.eye(4)).max() > 0.01, "the tool has moved nothing"

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return with_children(self.target(cell, side))

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_shown = self.role != "JOINT"  # bones stay until Update Armature
        expected.is_carried = self.tool not in {hang_on_an_empty, clear_parent_and_move}
        return expected


def with_children(obj: Any) -> set[tuple[str, str]]:
    """An object and all that hangs on it."""
    every = [obj, *obj.children_recursive]
    return {(each.knuckle.role, each.name) for each in every}


def move(obj: Any) -> None:
    """G."""
    pick(obj)
    assert bpy.ops.transform.translate(value=SHIFT) == {"FINISHED"}


def rotate(obj: Any) -> None:
    """R."""
    pick(obj)
    assert bpy.ops.transform.rotate(value=TURN, orient_axis="Y") == {"FINISHED"}


def type_location(obj: Any) -> None:
    """The location typed in the sidebar."""
    obj.location.x += 0.07
    bpy.context.view_layer.update()


def hang_on_an_empty(obj: Any) -> None:
    """Made the child of an empty (Keep Transform), which is then moved."""
    empty = bpy.data.objects.new("handle", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = (0.3, -0.2, 0.4)
    bpy.context.view_layer.update()
    pick(obj, empty)
    assert bpy.ops.object.parent_set(type="OBJECT", keep_transform=True) == {"FINISHED"}
    empty.location.z += 0.1
    bpy.context.view_layer.update()


def clear_parent_and_move(obj: Any) -> None:
    """Alt+P (Keep Transform), then G."""
    pick(obj)
    assert bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM") == {"FINISHED"}
    move(obj)


class Rename(Edit):
    """Another name, of an object or of a joint's bone."""

    def __init__(self, role: str, old: str = "", is_bone: bool = False) -> None:
        self.role, self.old, self.is_bone = role, old, is_bone

    def part(self, cell: Cell, side: int = 0) -> str:
        return other_side(self.old, side) or super().part(cell, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        obj = self.target(cell, side)
        new = self.renamed(cell, side)[self.part(cell, side)]
        (names.bone(obj) if self.is_bone else obj).name = new

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        if cell.format != "x_xy":
            return {}
        document = renamed(cell.before.document, self.renamed(cell))  # notes keep ids, by which twins know each other
        return {key: value for key, value in document.facts.items() if key.endswith("/twin") and value is not None}

    def facts_of_both(self, cell: Cell) -> dict[str, Any]:
        new = self.renamed(cell) | self.renamed(cell, 1)
        document = renamed(cell.before.document, new) if cell.format == "x_xy" else Document()
        return {key: value for key, value in document.facts.items() if key.endswith("/twin") and value is not None}

    def renamed(self, cell: Cell, side: int = 0) -> dict[str, str]:
        old = self.part(cell, side)
        return {old: old.split()[0] + " thing"}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.keeps_object_names = self.is_bone
        expected.keeps_servo_names = self.role != "JOINT"
        return expected


class Scale(Edit):
    """S: a body's shapes and what hangs on it grow about its center of mass."""

    def __init__(self, factors: tuple[float, float, float], tool: Callable[[Any, Any], None] | None = None) -> None:
        self.factors, self.tool = np.array(factors), tool or resize

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.tool(self.target(cell, side), self.factors)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, name = cell.before.document.facts, self.part(cell, side)
        center, scale = before[f"body/{name}/com"], float(self.factors[0])
        first = cell.format == "x_xy"  # where a body is is where its first geom is
        facts: dict[str, Any] = {}
        for key, value in before.items():
            kind, own, *_more = key.split("/")
            if kind == "shape" and own == name and key.endswith("/size"):
                facts[key] = value * scale
            elif (kind == "shape" and own == name and key.endswith("/pose")) or (
                kind == "frame" and key.endswith("/pose") and before[f"frame/{own}/body"] == name
            ):
                facts[key] = value.copy()
                facts[key][:3, 3] = scale * value[:3, 3] if first else center + scale * (value[:3, 3] - center)
        if first:
            facts[f"body/{name}/com"] = scale * center
            facts[f"body/{name}/pose"] = before[f"body/{name}/pose"] @ placed((1 - scale) * center)
        return facts

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return with_children(self.target(cell, side))


def resize(obj: Any, factors: np.ndarray) -> None:
    """S."""
    pick(obj)
    assert bpy.ops.transform.resize(value=factors.tolist()) == {"FINISHED"}


class Paint(Edit):
    """The color of a material, which all have that use it."""

    color = (0.1, 0.6, 0.3)

    def __init__(self, tool: Callable[[Any, Any], None], arm: bool = False) -> None:
        self.tool, self.arm = tool, arm

    def part(self, cell: Cell, side: int = 0) -> str:
        return cell.scene.arm[side] if self.arm else cell.scene.trunk

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.tool(self.target(cell, side), [*(linear(part) for part in self.color), 1.0])

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        own = f"shape/{self.part(cell, side)}/"
        every = cell.before.document.facts
        return {key: self.color for key in every if key.startswith(own) and key.endswith("/color")}


def linear(part: float) -> float:
    """A value of sRGB as Blender has it (IEC 61966-2-1)."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def paint_shader(obj: Any, color: Any) -> None:
    """The base color of the material's shader."""
    nodes = obj.material_slots[0].material.node_tree.nodes
    next(node for node in nodes if node.type == "BSDF_PRINCIPLED").inputs["Base Color"].default_value = color


def paint_viewport(obj: Any, color: Any) -> None:
    """The color in the viewport."""
    obj.material_slots[0].material.diffuse_color = color


def paint_anew(obj: Any, color: Any) -> None:
    """Another material."""
    made = bpy.data.materials.new("paint")
    if made.node_tree is None:  # since 5.0 there is one
        made.use_nodes = True
    obj.material_slots[0].material = made
    paint_shader(obj, color)


class Mesh(Edit):
    """The mesh of a box edited by hand: the file keeps the shape, and the report says so."""

    told = "mesh-edited"

    def __init__(self, arm: bool = False) -> None:
        self.arm = arm

    def part(self, cell: Cell, side: int = 0) -> str:
        return cell.scene.arm[side] if self.arm else cell.scene.trunk

    def apply(self, cell: Cell, side: int = 0) -> None:
        obj = self.target(cell)
        made = bmesh.new()
        made.from_mesh(obj.data)
        bmesh.ops.subdivide_edges(made, edges=made.edges[:], cuts=1, use_grid_fill=True)
        bmesh.ops.scale(made, vec=(1.2, 1.2, 1.2), verts=made.verts[:])
        made.to_mesh(obj.data)
        made.free()
        obj.data.update()

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}


class AppliedScale(Mesh):
    """S, and then Ctrl+A: the file has the shape as it is seen."""

    told = "transform-applied"

    def apply(self, cell: Cell, side: int = 0) -> None:
        resize(self.target(cell), np.full(3, 1.2))
        assert bpy.ops.object.transform_apply(location=False, rotation=False, scale=True) == {"FINISHED"}

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before = cell.before.document.facts
        return {k: v * 1.2 for k, v in before.items() if k.startswith("shape/trunk/") and k.endswith("/size")}


class Applied(Edit):
    """Ctrl+A: what is seen stays, and so does the file."""

    def __init__(self, what: str) -> None:
        self.what = what

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell))
        chosen = {name: name == self.what for name in ("location", "rotation", "scale")}
        assert bpy.ops.object.transform_apply(**chosen, isolate_users=True) == {"FINISHED"}

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {("BODY", self.target(cell).name)} if side == 0 else set()  # its origin

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_shown = False
        return expected
