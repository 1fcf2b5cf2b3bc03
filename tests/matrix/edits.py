"""Edits of the matrix: a property, and what the file is to have once it was changed. Here: values that panels have.

``facts`` are reckoned from the file as it was exported before the edit, never with the code under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from . import names
from .cells import ANY, GONE, Cell, Expected, Freed, M, pick


class Edit:
    """A property of a part, changed in one way. Subclasses say how, and which facts it makes."""

    #: The role of the part that is edited.
    role = "BODY"
    #: A code that the report of the export has to have.
    told = ""

    def part(self, cell: Cell, side: int = 0) -> str:
        """The name of the part that is edited, or of its twin."""
        return cell.scene.hip[side] if self.role == "JOINT" else cell.scene.arm[side]

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

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        """The objects that have to stand where they stood at the frame of the edit alone."""
        del cell, side
        return set()

    def freed(self, cell: Cell, side: int = 0) -> dict[str, Freed]:
        """The joints that have other degrees of freedom then."""
        del cell, side
        return {}

    def renamed(self, cell: Cell, side: int = 0) -> dict[str, str]:
        """The names that are others then."""
        del cell, side
        return {}

    def expected(self, cell: Cell) -> Expected:
        """What is to come of it."""
        held, freed = self.held(cell), self.freed(cell)
        return Expected(
            self.facts(cell), self.moved(cell), self.renamed(cell), told=self.told, held=held, freed=freed
        )  # fmt: skip

    def image(self, cell: Cell) -> dict[str, Any]:
        """The same facts of the twin, as its mirror image has them."""
        return dict(mirrored(cell, fact, value) for fact, value in self.facts(cell).items())

    def facts_of_both(self, cell: Cell) -> dict[str, Any]:
        """The facts of it and of its mirror image."""
        return self.facts(cell) | self.image(cell)


def other_side(name: str, side: int) -> str:
    """A name of the left half, or that of its mirror image."""
    return name.replace("left", "right") if side else name


def mirrored(cell: Cell, fact: str, value: Any) -> tuple[str, Any]:
    """A fact of the left half as the right half has it. The scenes' halves are exact mirror images (``scenes``)."""
    last = fact.rsplit("/", 1)[-1]
    kind, name, *more = fact.split("/")
    pairs = dict(zip(cell.scene.arm + cell.scene.hip, (cell.scene.arm + cell.scene.hip)[::-1], strict=True))
    pairs |= {cell.scene.arm[0]: cell.scene.arm[1], cell.scene.hip[0]: cell.scene.hip[1]}
    other = pairs.get(name, name.replace("left", "right"))
    sign = cell.scene.sign
    if isinstance(value, str):  # it is gone, or may be anything
        return "/".join((kind, other, *more[:-1], last)), value
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


class SeveralValues(Edit):
    """Several numbers of a degree of freedom."""

    role = "JOINT"

    def __init__(self, **values: float) -> None:
        self.values = values

    def apply(self, cell: Cell, side: int = 0) -> None:
        for field, value in self.values.items():
            DofValue(field, value).apply(cell, side)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {f"dof/{self.part(cell, side)}/0/{field}": value for field, value in self.values.items()}


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
        elif cell.format == "skel":  # programs derive them in more than one way
            facts[f"{key}/inertia"] = ANY
        return facts

    def expected(self, cell: Cell) -> Expected:
        expected, key = super().expected(cell), f"body/{self.part(cell)}"
        if expected.facts.get(f"{key}/inertia") is ANY:
            (path,) = cell.before.document.origin[f"{key}/mass"]
            expected.besides = (path.removesuffix("/mass"),)
        return expected


class BodyFlag(Edit):
    """A switch of a body."""

    def __init__(self, field: str, value: bool) -> None:
        self.field, self.value = field, value

    def apply(self, cell: Cell, side: int = 0) -> None:
        setattr(names.body_record(self.target(cell, side)), names.BODY[self.field], self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {f"body/{self.part(cell, side)}/{self.field}": self.value}


class PhysicsFriction(Edit):
    """The friction of a body in the Physics tab."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.target(cell, side).rigid_body.friction = 0.123

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}


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


class LightValue(Edit):
    """The color or the kind of a light."""

    role = "LIGHT"

    def __init__(self, name: str, fact: str, value: Any, wanted: Any) -> None:
        self.name, self.fact, self.value, self.wanted = name, fact, value, wanted

    def part(self, cell: Cell, side: int = 0) -> str:
        return other_side(self.name, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        setattr(self.target(cell, side).data, "color" if self.fact == "diffuse" else self.fact, self.value)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {f"light/{self.part(cell, side)}/{self.fact}": self.wanted}


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


class SwitchAssembly(Edit):
    """An assembly switched off."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(names.the_rig())
        names.run("switch assembly", path="duo")

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {"assembly/duo/active": False}

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return set(cell.before.seen)  # its joints hold nothing

    def expected(self, cell: Cell) -> Expected:
        expected = super().expected(cell)
        expected.is_shown = expected.has_motion = False
        return expected


class Unlink(Edit):
    """*Unlink Twins*."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        pick(self.target(cell))
        names.run("unlink twins")

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {f"body/{name}/twin": None for name in cell.scene.arm}


def nothing(_cell: Cell, _edit: Edit) -> dict[str, Any]:
    """No fact: the file is as before."""
    return {}


class MirrorWhole(Edit):
    """*Mirror to Twin* of a body whose twin is not alike: that has the shapes of its image, and no others."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        twin = self.target(cell, 1)
        self.objects = {(obj.knuckle.role, obj.name) for obj in (twin, *twin.children_recursive)}
        pick(self.target(cell))
        names.run("mirror to twin")

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        before, (own, other) = cell.before.document.facts, cell.scene.arm
        keys = [
            key for key in before if key.startswith((f"body/{own}/", f"shape/{own}/")) and not key.endswith("/twin")
        ]
        image = dict(mirrored(cell, key, before[key]) for key in keys)
        image |= {key: ANY for key in image if key.endswith("/color")}  # written with numbers, and with an opacity
        return {key: GONE for key in before if key.startswith(f"shape/{other}/")} | image

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.objects


class Fixed(Edit):
    """An edit that the check finds fault with, and its remedy: the ``other`` one where it has two."""

    def __init__(
        self, edit: Edit, code: str, facts: Callable[[Cell, Edit], dict[str, Any]] = nothing, other: bool = False
    ) -> None:
        self.edit, self.code, self.result, self.other, self.role = edit, code, facts, other, edit.role

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.edit.part(cell, side)

    def target(self, cell: Cell, side: int = 0) -> Any:
        return self.edit.target(cell, side)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.edit.apply(cell, side)
        bpy.context.view_layer.update()
        names.run("check")
        found = [code for code, _fix, _other in names.findings()]
        assert self.code in found, f"the check found {found}"
        names.run("fix", index=found.index(self.code), other=self.other)
        names.run("check")
        assert self.code not in [code for code, _fix, _other in names.findings()], "the fix has not helped"

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return self.result(cell, self.edit)

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.edit.moved(cell, side)
