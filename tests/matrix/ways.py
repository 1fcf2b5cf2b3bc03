"""The ways to change a mechanism: each does an edit to a cell and says what is to come of it.

A ``Row`` knows its property, a ``Way`` how it is changed. ``expected`` is reckoned here from the file as it was
exported before, and, where something was moved by hand, from how far Blender says that it moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from . import names
from .cells import GONE, Cell, Expected, M, pick, rigid

#: Fields of a joint that *Copy to Selected* gives to others.
COPIED = (
    "lower", "upper", "gain", "max_force", "stiffness", "rest", "damping", "friction", "armature",
)  # fmt: skip


class Edit:
    """A property of a part, changed in one way. Subclasses say how, and which facts it makes."""

    #: The role of the part that is edited.
    role = "BODY"
    #: A code that the report of the export has to have.
    told = ""

    def part(self, cell: Cell, side: int = 0) -> str:
        """The name of the part that is edited, or of its twin."""
        return cell.scene.arm[side] if self.role == "BODY" else cell.scene.hip[side]

    def target(self, cell: Cell, side: int = 0) -> Any:
        """The object that is edited, or its twin's."""
        return names.part(self.role, self.part(cell, side))

    def apply(self, cell: Cell, side: int = 0) -> None:
        """Change it."""
        raise NotImplementedError

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        """What the file has then, after ``apply``."""
        raise NotImplementedError

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        """The objects that may stand elsewhere then."""
        del cell, side
        return set()

    def expected(self, cell: Cell) -> Expected:
        """What is to come of it."""
        return Expected(self.facts(cell), self.moved(cell), told=self.told)

    def image(self, cell: Cell) -> dict[str, Any]:
        """The same facts of the twin, as its mirror image has them."""
        return dict(mirrored(cell, fact, value) for fact, value in self.facts(cell).items())


def mirrored(cell: Cell, fact: str, value: Any) -> tuple[str, Any]:
    """A fact of the left half as the right half has it. The scenes' halves are exact mirror images (``scenes``)."""
    last = fact.rsplit("/", 1)[-1]
    kind, name, *more = fact.split("/")
    pairs = dict(zip(cell.scene.arm + cell.scene.hip, (cell.scene.arm + cell.scene.hip)[::-1], strict=True))
    pairs |= {cell.scene.arm[0]: cell.scene.arm[1], cell.scene.hip[0]: cell.scene.hip[1]}
    other = pairs.get(name, name.replace("left", "right"))
    sign = cell.scene.sign
    if kind == "dof" and last in {"lower", "upper"} and sign < 0:
        last = "upper" if last == "lower" else "lower"
        value = None if value is None else -value
    elif kind == "dof" and last in {"position", "velocity", "rest"}:
        value = value if value is None else sign * value
    elif last in {"pose", "frame"}:
        value = M @ value @ M
    elif last == "com":
        value = M[:3, :3] @ value
    elif last == "inertia":
        value = M[:3, :3] @ value @ M[:3, :3]
    return "/".join((kind, other, *more[:-1], last)), value


# ---------------------------------------------------------------- ways for every property


def directly(edit: Edit, cell: Cell) -> Expected:
    """As it is."""
    pick(edit.target(cell))
    edit.apply(cell)
    bpy.context.view_layer.update()
    return edit.expected(cell)


def undone(edit: Edit, cell: Cell) -> Expected:
    """And taken back: nothing has changed."""
    pick(edit.target(cell))
    bpy.ops.ed.undo_push(message="before")
    edit.apply(cell)
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    return Expected()


def redone(edit: Edit, cell: Cell) -> Expected:
    """And taken back, and done again."""
    pick(edit.target(cell))
    bpy.ops.ed.undo_push(message="before")
    edit.apply(cell)
    bpy.context.view_layer.update()
    expected = edit.expected(cell)
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    bpy.ops.ed.redo()
    return expected


def mirrored_to_twin(edit: Edit, cell: Cell) -> Expected:
    """And *Mirror to Twin*: the twin is its mirror image."""
    pick(edit.target(cell))
    edit.apply(cell)
    bpy.context.view_layer.update()
    expected = edit.expected(cell)
    expected.facts |= edit.image(cell)
    expected.moved |= edit.moved(cell, 1)
    names.run("mirror to twin")
    if edit.role == "JOINT":  # bones are where joints are now
        limbs = {key for key in cell.before.seen if key[1].startswith(("left", "right"))}
        expected.moved |= limbs if isinstance(edit, Placing) else set()
        expected.is_shown = True
    return expected


def edited_symmetrically(edit: Edit, cell: Cell) -> Expected:
    """While symmetric editing is on."""
    names.set_symmetric(True)
    bpy.context.view_layer.update()
    pick(edit.target(cell))
    edit.apply(cell)
    bpy.context.view_layer.update()
    expected = edit.expected(cell)
    expected.facts |= edit.image(cell)
    expected.moved |= edit.moved(cell, 1)
    return expected


def edited_together(edit: Edit, cell: Cell) -> Expected:
    """With several selected, as Blender does it with Alt: each gets the value."""
    expected = Expected()
    pick(edit.target(cell, 1), edit.target(cell))
    for side in (0, 1):
        edit.apply(cell, side)
        expected.facts |= edit.facts(cell, side)
    bpy.context.view_layer.update()
    return expected


# ---------------------------------------------------------------- properties of our panels


class DofValue(Edit):
    """A number of a degree of freedom. ``switch``: the box that goes with a stop."""

    role = "JOINT"

    def __init__(self, field: str, value: float, through: str = "panel") -> None:
        self.field, self.value, self.through = field, value, through

    def apply(self, cell: Cell, side: int = 0) -> None:
        dof = names.dofs(self.target(cell, side))[0]
        stop = self.field in {"lower", "upper"}
        if self.through == "ticked":
            if stop:
                setattr(dof, names.DOF_OF_EACH[f"has {self.field}"], True)
            setattr(dof, names.DOF_OF_EACH[self.field], self.value)
            return
        if stop:
            setattr(dof, names.DOF[f"has {self.field}"], True)
        setattr(dof, (names.DOF_ANGLES if self.through == "angle" else names.DOF)[self.field], self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        fact = f"dof/{self.part(cell, side)}/0/{self.field.removeprefix('has ')}"
        if fact not in cell.before.document.facts:
            return {}
        return {fact: None if self.field.startswith("has ") else self.value}


def ticked(edit: DofValue, cell: Cell) -> Expected:
    """In the table of joints, where a value goes to all that are ticked."""
    joints = [edit.target(cell, side) for side in (0, 1)]
    names.tick(*joints)
    DofValue(edit.field, edit.value, "ticked").apply(cell)
    return Expected(edit.facts(cell) | edit.facts(cell, 1))


def copied(edit: DofValue, cell: Cell) -> Expected:
    """*Copy to Selected*: the other joint has all that the table copies."""
    pick(edit.target(cell, 1), edit.target(cell))
    edit.apply(cell)
    names.run("copy values", to="SELECTED")
    own, other = (f"dof/{edit.part(cell, side)}/0" for side in (0, 1))
    before, facts = cell.before.document.facts, edit.facts(cell)
    given = {field: facts.get(f"{own}/{field}", before.get(f"{own}/{field}", GONE)) for field in COPIED}
    facts |= {f"{other}/{field}": value for field, value in given.items() if value is not GONE}
    return Expected(facts)


def copied_to_twin(edit: DofValue, cell: Cell) -> Expected:
    """*Copy to Twins*: mirrored."""
    pick(edit.target(cell))
    edit.apply(cell)
    names.run("copy values", to="TWINS")
    return Expected(edit.facts(cell) | edit.image(cell))


class Mass(Edit):
    """The mass of a body; moments of inertia that the file states go with it."""

    def __init__(self, through: str = "panel", value: float = 2.5) -> None:
        self.through, self.value = through, value

    def apply(self, cell: Cell, side: int = 0) -> None:
        obj = self.target(cell, side)
        if self.through == "physics tab":
            obj.rigid_body.mass = self.value
        else:
            setattr(names.body_record(obj), names.BODY["mass"], self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, key = cell.before.document.facts, f"body/{self.part(cell, side)}"
        facts: dict[str, Any] = {f"{key}/mass": self.value}
        if f"{key}/inertia" in before:
            facts[f"{key}/inertia"] = before[f"{key}/inertia"] * (self.value / before[f"{key}/mass"])
        return facts


# ---------------------------------------------------------------- Blender's own tools


def _select_only(obj: Any) -> None:
    pick(obj)


class Placing(Edit):
    """A part put elsewhere by a tool of Blender's. How far is what Blender says; what the file is to have follows."""

    fact = "pose"

    def __init__(self, role: str, tool: Callable[[Any], None], name: str = "") -> None:
        self.role, self.tool, self.name = role, tool, name
        self.fact = "frame" if role == "JOINT" else "pose"

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.name or super().part(cell, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.tool(self.target(cell, side))

    def motion(self, cell: Cell, side: int = 0) -> np.ndarray:
        """How far (4, 4) it was moved where it is seen, in the file's axes, without a scale."""
        obj = self.target(cell, side)
        number = 1 if cell.state == "animated" else 0
        before = cell.before.seen[self.role, obj.name][number]
        now = dict(cell._seen())[self.role, obj.name]
        return rigid(now) @ np.linalg.inv(rigid(before))

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        document, name = cell.before.document, self.part(cell, side)
        motion = self.motion(cell, side)
        assert np.abs(motion - np.eye(4)).max() > 0.01, "the tool has moved nothing"
        kind = {"BODY": "body", "JOINT": "joint", "FRAME": "frame"}[self.role]
        fact = f"{kind}/{name}/{self.fact}"
        carrier = name
        if self.role == "JOINT":
            carrier = document.facts[f"{kind}/{name}/parent"]
        elif self.role == "FRAME":
            carrier = document.facts[f"{kind}/{name}/body"]
        frame = cell.frames[min(1, len(cell.frames) - 1)]
        poses = document.world_poses({joint: [value] for joint, value in cell.values_at(frame).items()})
        design = document.facts[f"body/{carrier}/pose"]
        went = poses[carrier] @ np.linalg.inv(design)  # where the design pose has gone in this state
        moved = np.linalg.inv(went) @ motion @ went
        if self.role == "FRAME":
            return {fact: np.linalg.inv(design) @ moved @ design @ document.facts[fact]}
        return {fact: moved @ document.facts[fact]}

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
    _select_only(obj)
    assert bpy.ops.transform.translate(value=(0.05, -0.03, 0.08)) == {"FINISHED"}


def rotate(obj: Any) -> None:
    """R."""
    _select_only(obj)
    assert bpy.ops.transform.rotate(value=0.3, orient_axis="Y") == {"FINISHED"}


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
    _select_only(obj)
    assert bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM") == {"FINISHED"}
    move(obj)
