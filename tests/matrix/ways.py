"""The ways to change a mechanism: each does an edit to a cell and says what is to come of it.

A ``Row`` knows its property, a ``Way`` how it is changed. ``expected`` is reckoned here from the file as it was
exported before, and, where something was moved by hand, from how far Blender says that it moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from . import names
from .cells import GONE, Cell, Expected, M, pick, renamed, rigid
from .document import Document, placed

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

    def renamed(self, cell: Cell, side: int = 0) -> dict[str, str]:
        """The names that are others then."""
        del cell, side
        return {}

    def expected(self, cell: Cell) -> Expected:
        """What is to come of it."""
        return Expected(self.facts(cell), self.moved(cell), self.renamed(cell), told=self.told)

    def image(self, cell: Cell) -> dict[str, Any]:
        """The same facts of the twin, as its mirror image has them."""
        return dict(mirrored(cell, fact, value) for fact, value in self.facts(cell).items())

    def facts_of_both(self, cell: Cell) -> dict[str, Any]:
        """The facts of it and of its mirror image."""
        return self.facts(cell) | self.image(cell)


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
    expected.facts = edit.facts_of_both(cell)
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
    expected.facts = edit.facts_of_both(cell)
    expected.moved |= edit.moved(cell, 1)
    expected.renamed |= edit.renamed(cell, 1)
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


#: How far the tools move and turn.
SHIFT, TURN = (0.05, -0.03, 0.08), 0.3


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
        return self.old or super().part(cell, side)

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

    def __init__(self, tool: Callable[[Any, Any], None]) -> None:
        self.tool = tool

    def part(self, cell: Cell, side: int = 0) -> str:
        return cell.scene.trunk

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.tool(self.target(cell), [*(linear(part) for part in self.color), 1.0])

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        own = f"shape/{self.part(cell)}/"
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
    made.use_nodes = True
    obj.material_slots[0].material = made
    paint_shader(obj, color)


class ModelValue(Edit):
    """A number of the mechanism, in our panel."""

    role = "MODEL"

    def __init__(self, field: str, value: Any, fact: str) -> None:
        self.field, self.value, self.fact = field, value, fact

    def target(self, cell: Cell, side: int = 0) -> Any:
        return names.the_rig()

    def apply(self, cell: Cell, side: int = 0) -> None:
        setattr(names.settings(), names.MODEL[self.field], self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        value = self.value if cell.format != "juice" or self.field != "gravity" else -self.value[2]
        return {self.fact: np.array(value) if isinstance(value, tuple) else value}


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


class LightValue(Edit):
    """The color or the kind of a light."""

    role = "LIGHT"

    def __init__(self, name: str, fact: str, value: Any, wanted: Any) -> None:
        self.name, self.fact, self.value, self.wanted = name, fact, value, wanted

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.name

    def apply(self, cell: Cell, side: int = 0) -> None:
        setattr(self.target(cell).data, "color" if self.fact == "diffuse" else self.fact, self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {f"light/{self.name}/{self.fact}": self.wanted}


class Unheld(Edit):
    """What no file of the format can hold: nothing in it changes."""

    def __init__(self, edit: Edit, told: str = "") -> None:
        self.edit, self.told, self.role = edit, told, edit.role

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.edit.part(cell, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.edit.apply(cell, side)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}


class PhysicsFriction(Edit):
    """The friction of a body in the Physics tab."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.target(cell, side).rigid_body.friction = 0.123

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}
