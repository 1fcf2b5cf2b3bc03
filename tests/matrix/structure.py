"""Edits of how a mechanism hangs together: parts deleted, joints deleted, welded and moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import bpy
import numpy as np

from . import names
from .cells import ANY, GONE, Cell, Expected, pick
from .edits import Edit
from .tools import with_children


class Delete(Edit):
    """A part deleted, and what is nothing without it."""

    def __init__(self, role: str, name: str, gone: tuple[str, ...], tool: Callable[[Any], None]) -> None:
        self.role, self.name, self.gone, self.tool = role, name, gone, tool

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.name

    def apply(self, cell: Cell, side: int = 0) -> None:
        every = (obj for obj in names.visible_parts() if obj.knuckle.source_name in self.gone)
        self.objects = {key for obj in every for key in with_children(obj)}
        self.tool(self.target(cell))

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, gone = cell.before.document.facts, self.gone
        if cell.format == "juice" and self.tool is delete:  # its joints stay, and join nothing
            gone = self.gone[:1]
        facts = {key: GONE for key in before if key.split("/")[1] in gone}
        twins = {key: None for key, value in before.items() if key.endswith("/twin") and value in gone}
        for joint in self.gone if gone != self.gone else ():
            if f"joint/{joint}/is" in before:
                facts |= {f"joint/{joint}/child": None, f"joint/{joint}/active": False}
        return twins | facts

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.objects


def delete(obj: Any) -> None:
    """X."""
    pick(obj)
    assert bpy.ops.object.delete() == {"FINISHED"}


def delete_parts(obj: Any) -> None:
    """*Delete Parts*."""
    pick(obj)
    names.run("delete parts")


class Duplicate(Edit):
    """Shift+D of a body, moved aside: a new one, held by nothing, where it is seen."""

    def part(self, cell: Cell, side: int = 0) -> str:
        return "left hand"

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell))
        assert bpy.ops.object.duplicate() == {"FINISHED"}
        (copy,) = bpy.context.view_layer.objects.selected
        self.copy = copy.name
        copy.location.x += 0.6
        bpy.context.view_layer.update()

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, own = cell.before.document.facts, self.part(cell)
        facts = {}
        for key, value in before.items():
            kind, name, *more = key.split("/")
            if name == own and kind in {"body", "shape"}:
                facts["/".join((kind, self.copy, *more))] = None if more[-1] == "twin" else value
        frame = cell.frames[min(1, len(cell.frames) - 1)]
        poses = cell.before.document.world_poses({name: [v] for name, v in cell.values_at(frame).items()})
        now = dict(cell.places())
        motion = now["BODY", self.copy] @ np.linalg.inv(now["BODY", own])
        facts.setdefault(f"body/{self.copy}/inertia", ANY)  # of a new body it may be written out
        return facts | {f"body/{self.copy}/pose": motion @ poses[own]}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.free, expected.is_carried = {self.copy}, False
        return expected


class Cut(Edit):
    """A joint deleted, or welded: what it carried stays where it is seen."""

    role = "JOINT"

    of_weld: ClassVar = {"frame": ANY, "type": ANY, "motions": ANY}

    def __init__(self, tool: Callable[[Any], None], welds: bool = False) -> None:
        self.tool, self.welds = tool, welds

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.limb = limb(cell, self.part(cell))
        self.objects = {(obj.knuckle.role, obj.name) for obj in (self.target(cell), *self.limb[1])}
        self.tool(self.target(cell))

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, joint = cell.before.document.facts, self.part(cell)
        bodies, _objects, went = self.limb
        facts: dict[str, Any] = {}
        for key, value in before.items():
            kind, name, *more = key.split("/")
            if (kind == "body" and name in bodies and more[-1] == "pose") or (
                kind == "joint" and before[f"joint/{name}/parent"] in bodies and more[-1] == "frame"
            ):
                facts[key] = went @ value
            elif name == joint and kind in {"joint", "dof"}:
                facts[key] = GONE if kind == "dof" or not self.welds else self.of_weld.get(more[-1], value)
        twins = {key: None for key, value in before.items() if key.endswith("/twin") and key.startswith("joint/")}
        twins = {key: None for key in twins if (before[key] or "").rpartition(":")[2] == joint}
        if cell.format == "x_xy" and not self.welds:  # its element stands elsewhere then
            facts[f"body/{bodies[0]}/is"] = True
        return facts if self.welds else twins | facts

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.objects

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_carried = False  # no key moves it any more
        expected.free = set() if self.welds else {self.limb[0][0]}
        return expected


def limb(cell: Cell, joint: str) -> tuple[list[str], list[Any], np.ndarray]:
    """The bodies beyond a joint, their objects and those of the joints and frames on them, and how far (4, 4) the first
    of them is, at the frame of the edit, from where it is designed."""
    facts, joints = cell.before.document.facts, cell.before.document.names("joint")
    bodies = [facts[f"joint/{joint}/child"]]
    for body in bodies:
        bodies += [facts[f"joint/{each}/child"] for each in joints if facts[f"joint/{each}/parent"] == body]
    found = [obj for obj in names.visible_parts() if names.carrier_name(obj) in bodies]
    frame = cell.frames[min(1, len(cell.frames) - 1)]
    poses = cell.before.document.world_poses({name: [value] for name, value in cell.values_at(frame).items()})
    return bodies, found, poses[bodies[0]] @ np.linalg.inv(facts[f"body/{bodies[0]}/pose"])


def weld(obj: Any) -> None:
    """*Joint Type*."""
    pick(obj)
    names.run("set type", type="weld")


class MoveJoint(Edit):
    """*Move Joint* to the cursor: the bodies stay where they are."""

    role = "JOINT"

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell))
        self.limb = limb(cell, self.part(cell))
        bpy.context.scene.cursor.location = self.target(cell).matrix_world.translation
        bpy.context.scene.cursor.location.z += 0.1
        names.run("move joint", where="CURSOR")

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, joint, bodies = cell.before.document.facts, self.part(cell), self.limb[0]
        facts = {f"body/{body}/pose": ANY for body in bodies}  # it is shown where it was: that is looked at
        joints = cell.before.document.names("joint")
        facts |= {f"joint/{each}/frame": ANY for each in joints if before[f"joint/{each}/parent"] in bodies}
        went = before[f"joint/{joint}/frame"].copy()
        went[:3, 3] += cell.upright()[:3, :3] @ (0.0, 0.0, 0.1)
        return facts | {f"joint/{joint}/frame": went}

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {("JOINT", self.target(cell).name)}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.stands_at_present = True
        return expected
