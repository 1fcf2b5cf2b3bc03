"""Edits of how a mechanism hangs together: parts deleted, joints deleted, welded and moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from . import names
from .cells import ANY, GONE, Cell, Expected, Freed, pick
from .document import value_of
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
            for end in ("parent", "child"):
                if before.get(f"joint/{joint}/{end}") == gone[0]:
                    facts |= {f"joint/{joint}/{end}": None, f"joint/{joint}/active": False}
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
        now = dict(cell.places())
        motion = now["BODY", self.copy] @ np.linalg.inv(now["BODY", own])
        facts.setdefault(f"body/{self.copy}/inertia", ANY)  # of a new body it may be written out
        return facts | {f"body/{self.copy}/pose": motion @ cell.went_before(own) @ before[f"body/{own}/pose"]}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.free, expected.is_carried = {self.copy}, False
        return expected


class Cut(Edit):
    """A joint deleted: what it carried stays where it is seen."""

    role = "JOINT"

    def __init__(self, tool: Callable[[Any], None]) -> None:
        self.tool = tool

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.limb = limb(cell, self.part(cell))
        self.objects = {(obj.knuckle.role, obj.name) for obj in (self.target(cell), *self.limb[1])}
        self.id = value_of(names.part_id(self.target(cell)))
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
                facts[key] = GONE
        twins = {key: None for key, value in before.items() if key.endswith("/twin") and key.startswith("joint/")}
        twins = {key: None for key in twins if (before[key] or "").rpartition(":")[2] == joint}
        if cell.format == "x_xy":  # its element stands elsewhere then
            facts[f"body/{bodies[0]}/is"] = True
        return twins | facts

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.objects

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_carried = False  # no key moves it any more
        expected.free = {self.limb[0][0]}
        expected.has_motion = {*cell.scene.posed} != {self.part(cell)}
        expected.besides = tuple(  # what a gait has for the joint is for none now
            path for path, value in cell.before.document.raw.items() if path.endswith("/JointID") and value == self.id
        )
        return expected


def joint_of(cell: Cell, which: str, side: int = 0) -> str:
    """The name of a joint by what the scene calls it."""
    found = getattr(cell.scene, which)
    return found if isinstance(found, str) else found[side]


def limb(cell: Cell, joint: str) -> tuple[list[str], list[Any], np.ndarray]:
    """The bodies beyond a joint, their objects and those of the joints and frames on them, and how far (4, 4) the first
    of them is, at the frame of the edit, from where it is designed."""
    facts, joints = cell.before.document.facts, cell.before.document.names("joint")
    bodies = [facts[f"joint/{joint}/child"]]
    for body in bodies:
        bodies += [facts[f"joint/{each}/child"] for each in joints if facts[f"joint/{each}/parent"] == body]
    found = [obj for obj in names.visible_parts() if names.carrier_name(obj) in bodies]
    return bodies, found, cell.went_before(bodies[0])


#: Joint types as *Joint Type* offers them, and the kinds of their degrees of freedom in files (Juice and SKEL below).
TYPES: dict[str, tuple[str, ...]] = {
    "revolute": ("rotation",),
    "prismatic": ("translation",),
    "cylindrical": ("translation", "rotation"),
    "screw": ("rotation",),  # no file holds that it advances
    "universal": ("rotation",) * 2,
    "euler": ("rotation",) * 3,
    "ball": ("ball",),
    "planar": ("translation", "translation", "rotation"),
    "translational": ("translation",) * 3,
    "weld": (),
    "free": ("free",),
}
#: Values of a degree of freedom that goes on which it keeps.
KEPT = ("lower", "upper", "damping", "stiffness", "gain", "max_force")


class Retype(Edit):
    """*Joint Type*: the bodies stay where they are seen, at every frame where the new type has the old motion. What
    goes on in it keeps its stops, spring and motor.

    Args:
        type_: the new type.
        motion: whether the motion is to be that of before at every frame.
        which: what the scene calls the joint.
    """

    role = "JOINT"

    def __init__(self, type_: str, motion: bool = False, which: str = "hip") -> None:
        self.type, self.motion, self.which = type_, motion, which
        self.told = "approximated-joint" if type_ == "screw" else ""

    def part(self, cell: Cell, side: int = 0) -> str:
        return joint_of(cell, self.which, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell, side))
        names.run("set type", type=self.type)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, joint, bodies = cell.before.document.facts, self.part(cell, side), limb(cell, self.part(cell, side))[0]
        facts: dict[str, Any] = {}
        for key in before:
            kind, name, *more = key.split("/")
            if (kind == "body" and name in bodies and more[-1] == "pose") or (
                kind == "joint" and before[f"joint/{name}/parent"] in bodies and more[-1] == "frame"
            ):
                facts[key] = ANY  # it is shown where it was: that is looked at
            elif name == joint and kind in {"joint", "dof"}:
                facts[key] = ANY
        if cell.scene.chord:  # bodies of a loop hang otherwise now
            facts |= placed_anyhow(before)
        if cell.format == "x_xy":  # its element may stand in others
            facts[f"body/{bodies[0]}/is"] = True
        return facts

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {("JOINT", self.target(cell, side).name)}

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        if cell.scene.chord:
            return {*cell.before.seen}
        found = limb(cell, self.part(cell, side))[1]
        return set() if self.motion else {(obj.knuckle.role, obj.name) for obj in found}

    def freed(self, cell: Cell, side: int = 0) -> dict[str, Freed]:
        before, joint = cell.before.document.facts, self.part(cell, side)
        kinds, old = TYPES[self.type], before[f"joint/{joint}/motions"][0][0]
        if cell.format == "juice" and self.type == "weld":
            kinds = ("rotation",)  # between two stops at 0
        kept = {key: before[f"dof/{joint}/0/{key}"] for key in KEPT if f"dof/{joint}/0/{key}" in before}
        goes_on = old in kinds and self.type not in {"weld", "screw"}
        own = before[f"joint/{joint}/parent"], before[f"joint/{joint}/child"]
        return {joint: Freed(*own, kinds, kept if goes_on else {})}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.made = rf"{self.part(cell).split()[0]} .*\d|.*_\d"
        expected.is_shown = self.type != "screw"
        expected.has_motion = not cell.scene.chord and {*cell.scene.posed} != {self.part(cell)}
        expected.is_carried = not (cell.scene.chord and self.type == "weld")  # it moves no more
        expected.is_counted_anew = bool(cell.scene.chord) and self.type == "weld" and cell.state != "initial"
        return expected


def placed_anyhow(before: dict[str, Any]) -> dict[str, Any]:
    """All bodies and joints of an edited loop may be designed anywhere, and joints begin where it closes.

    Where bodies are shown is looked at, in the scene and of the file."""
    last = {"body": "/pose", "joint": "/frame", "dof": "/position"}
    return {key: ANY for key in before if key.endswith(last.get(key.split("/")[0], "\0"))}


class CutLoop(Edit):
    """A joint of a closed loop deleted: its bodies stay where they are seen, held by the others."""

    role = "JOINT"

    def __init__(self, tool: Callable[[Any], None], which: str = "hip") -> None:
        self.tool, self.which = tool, which

    def part(self, cell: Cell, side: int = 0) -> str:
        return joint_of(cell, self.which)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.own = {("JOINT", self.target(cell).name)}
        self.tool(self.target(cell))

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, joint = cell.before.document.facts, self.part(cell)
        gone = {key: GONE for key in before if key.split("/")[1] == joint}
        return placed_anyhow(before) | gone

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.own

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {*cell.before.seen}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_carried = False
        expected.made, expected.has_motion = "gearbox", False  # the frame of a joint is then one of nothing
        return expected


class DeleteLink(Delete):
    """A body of a closed loop deleted, with its joints: the others stay where they are seen."""

    def __init__(self, tool: Callable[[Any], None]) -> None:
        super().__init__("BODY", "", (), tool)

    def part(self, cell: Cell, side: int = 0) -> str:
        return cell.scene.link[0]

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.gone = cell.scene.link
        super().apply(cell, side)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before = cell.before.document.facts
        return {key: ANY for key in before if key.startswith("dof/") and key.endswith("/position")} | super().facts(
            cell
        )

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {*cell.before.seen}

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_carried = expected.has_motion = False
        return expected


class MoveJoint(Edit):
    """*Move Joint* to the cursor: the bodies stay where they are."""

    role = "JOINT"

    def __init__(self, which: str = "hip") -> None:
        self.which = which

    def part(self, cell: Cell, side: int = 0) -> str:
        return joint_of(cell, self.which, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell))
        self.limbs = [limb(cell, self.part(cell, side)) for side in (0, 1) if self.part(cell, side)]
        bpy.context.scene.cursor.location = self.target(cell).matrix_world.translation
        bpy.context.scene.cursor.location.z += 0.1
        names.run("move joint", where="CURSOR")

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, joint, bodies = cell.before.document.facts, self.part(cell), self.limbs[0][0]
        facts = {f"body/{body}/pose": ANY for body in bodies}  # it is shown where it was: that is looked at
        joints = cell.before.document.names("joint")
        facts |= {f"joint/{each}/frame": ANY for each in joints if before[f"joint/{each}/parent"] in bodies}
        if cell.scene.chord:
            return placed_anyhow(before)
        went = before[f"joint/{joint}/frame"].copy()
        parent = before[f"joint/{joint}/parent"]
        stood = cell.went_before(parent)[:3, :3] if parent is not None else np.eye(3)
        went[:3, 3] += stood.T @ cell.upright()[:3, :3] @ (0.0, 0.0, 0.1)
        return facts | {f"joint/{joint}/frame": went}

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {("JOINT", self.target(cell, side).name)}

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        limb_of = {(obj.knuckle.role, obj.name) for obj in self.limbs[side][1]}
        if not cell.scene.chord:
            return limb_of
        led = cell.before.document.facts[f"joint/{cell.scene.hip[0]}/child"]  # as before at every frame
        return {*cell.before.seen} - ({("BODY", led)} if self.which != "hip" else set())

    def expected(self, cell: Cell) -> Expected:
        return self.loosened(cell, super().expected(cell))

    @staticmethod
    def loosened(cell: Cell, expected: Expected) -> Expected:
        """Expectations where the moved joint is one of a loop."""
        if cell.scene.chord:  # what follows does so otherwise
            expected.has_motion, expected.goes_on = False, tuple(cell.scene.posed)
            expected.is_counted_anew, expected.counts_on = cell.state != "initial", tuple(cell.scene.posed)
        return expected
