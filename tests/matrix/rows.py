"""The matrix's own list: every property, the formats that hold it, and the ways that it is changed by.

It is written by hand and not taken from the code: ``test_completeness`` sees that no property is forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from . import names, structure, tools, ways
from .cells import STATES, VIAS, Cell, Expected
from .edits import (
    BodyFlag,
    DofValue,
    Edit,
    Fixed,
    LightValue,
    Mass,
    ModelValue,
    PhysicsFriction,
    SeveralValues,
    SwitchAssembly,
    Unheld,
    Unlink,
)  # fmt: skip
from .structure import Cut, Delete, Duplicate, MoveJoint
from .tools import Applied, AppliedScale, Mesh, Paint, Placing, Rename, Scale

ALL = ("juice", "skel", "x_xy", "shift")
Way = Callable[[Any, Cell], Expected]

#: What is done with every edit.
AFTER: dict[str, Way] = {"undo": ways.undone, "redo": ways.redone}
TWINS: dict[str, Way] = {"mirror": ways.mirrored_to_twin, "symmetric": ways.edited_symmetrically}
TABLE: dict[str, Way] = {"ticked": ways.ticked, "copy": ways.copied, "copy to twin": ways.copied_to_twin}


@dataclass(frozen=True)
class Row:
    """A property. ``edits`` are the tools that change it, by name; with the first of them ``more`` is done."""

    name: str
    formats: tuple[str, ...]
    edits: dict[str, Edit]
    more: dict[str, Way]

    def ways(self) -> Iterator[tuple[str, Edit, Way]]:
        """Every way: its name, the edit, and what is done with it."""
        for name, edit in self.edits.items():
            yield name, edit, ways.directly
        first = next(iter(self.edits.values()))
        for name, way in self.more.items():
            yield name, first, way


def _dof(field: str, value: float, formats: tuple[str, ...], angle: bool = False) -> Row:
    edits: dict[str, Edit] = {"panel": DofValue(field, value)}
    if angle:
        edits["panel in degrees"] = DofValue(field, value, "angle")
    together: dict[str, Way] = {"alt": ways.edited_together}
    table = TABLE if field in names.DOF_OF_EACH else {k: v for k, v in TABLE.items() if k != "ticked"}
    return Row(f"dof {field}", formats, edits, {**together, **table, **TWINS, **AFTER})


def _trunk_sizes(cell: Cell, _edit: Edit) -> dict[str, Any]:
    """The trunk's shape, as large as its mesh was made."""
    return AppliedScale().facts(cell)


def _nothing(_cell: Cell, _edit: Edit) -> dict[str, Any]:
    return {}


ROWS: tuple[Row, ...] = (
    Row(
        "body mass", ALL, {"panel": Mass(), "physics tab": Mass("physics tab")},
        {"alt": ways.edited_together, **TWINS, **AFTER},
    ),
    Row(
        "body pose", ALL,
        {
            "move": Placing("BODY", tools.move), "rotate": Placing("BODY", tools.rotate),
            "sidebar": Placing("BODY", tools.type_location),
            "parent": Placing("BODY", tools.hang_on_an_empty),
            "clear parent": Placing("BODY", tools.clear_parent_and_move),
        },
        {**TWINS, **AFTER},
    ),
    Row(
        "joint frame", ALL, {"move": Placing("JOINT", tools.move), "rotate": Placing("JOINT", tools.rotate)},
        {**TWINS, **AFTER},
    ),
    _dof("lower", -0.6, ALL, angle=True),
    _dof("upper", 0.45, ALL, angle=True),
    _dof("gain", 25.0, ALL),
    _dof("max_force", 70.0, ALL),
    _dof("damping", 0.8, ("skel", "x_xy", "shift")),
    _dof("friction", 0.3, ("skel", "x_xy", "shift")),
    _dof("stiffness", 4.5, ("skel", "x_xy", "shift")),
    _dof("rest", 0.15, ("skel", "x_xy", "shift")),
    _dof("armature", 0.05, ("skel", "x_xy", "shift")),
    _dof("position", 0.12, ("skel", "shift")),
    _dof("velocity", 0.9, ("skel", "shift")),
    Row("body name", ALL, {"rename": Rename("BODY")}, {"symmetric": TWINS["symmetric"], **AFTER}),
    Row(
        "joint name", ("juice", "skel", "shift"), {"rename": Rename("JOINT"), "rename bone": Rename("JOINT", "", True)},
        {"symmetric": TWINS["symmetric"], **AFTER},
    ),
    Row("shape size", ("juice", "skel", "x_xy"), {"scale": Scale((1.5, 1.5, 1.5))}, {**TWINS, **AFTER}),
    Row(
        "shape color", ("skel", "x_xy"),
        {
            "shader": Paint(tools.paint_shader), "viewport": Paint(tools.paint_viewport),
            "material": Paint(tools.paint_anew),
        },
        AFTER,
    ),
    Row("frame name", ("skel", "x_xy", "shift"), {"rename": Rename("FRAME", "left tip")}, AFTER),
    Row(
        "frame pose", ("skel", "x_xy", "shift"),
        {
            "move": Placing("FRAME", tools.move, "left tip"),
            "sidebar": Placing("FRAME", tools.type_location, "left tip"),
            "parent": Placing("FRAME", tools.hang_on_an_empty, "left tip"),
            "clear parent": Placing("FRAME", tools.clear_parent_and_move, "left tip"),
        },
        AFTER,
    ),
    Row("frame turn", ("x_xy", "shift"), {"rotate": Placing("FRAME", tools.rotate, "left tip")}, AFTER),
    Row(
        "frame", ("skel", "x_xy", "shift"),
        {"delete": Delete("FRAME", "left tip", ("left tip",), structure.delete)}, AFTER,
    ),
    Row("light name", ("shift",), {"rename": Rename("LIGHT", "lamp")}, AFTER),
    Row(
        "light color", ("shift",),
        {"data": LightValue("lamp", "diffuse", (1.0, 0.5, 0.25), np.array([0.7, 0.35, 0.175]))}, AFTER,
    ),
    Row("light type", ("shift",), {"data": LightValue("lamp", "type", "SPOT", "spot")}, AFTER),
    Row("light", ("shift",), {"delete": Delete("LIGHT", "lamp", ("lamp",), structure.delete)}, AFTER),
    Row(
        "body", ALL,
        {
            "delete": Delete("BODY", "left hand", ("left hand", "left wrist"), structure.delete),
            "delete parts": Delete("BODY", "left hand", ("left hand", "left wrist"), structure.delete_parts),
        },
        AFTER,
    ),
    Row("gravity", ALL, {"panel": ModelValue("gravity", (0.0, 0.0, -3.7), "world/Gravity")}, AFTER),
    Row("friction", ("juice",), {"panel": ModelValue("friction", 33.0, "world/Friction")}, AFTER),
    Row("erp", ("juice",), {"panel": ModelValue("erp", 0.7, "world/ERP")}, AFTER),
    Row("cfm", ("juice",), {"panel": ModelValue("cfm", 0.002, "world/CFM")}, AFTER),
    Row("speed factor", ("juice",), {"panel": ModelValue("speed factor", 1.3, "world/SpeedFactor")}, AFTER),
    Row("standard speed", ("juice",), {"panel": ModelValue("standard speed", 31.0, "world/StandardSpeed")}, AFTER),
    Row("pose delay", ("juice",), {"panel": ModelValue("pose delay", 0.8, "world/PoseDelay")}, AFTER),
    Row("pose phase", ("juice",), {"panel": ModelValue("pose phase", 30.0, "world/PosePhase")}, AFTER),
    Row("lower stop off", ALL, {"panel": DofValue("has lower", False)}, {**TABLE, **TWINS, **AFTER}),
    Row("upper stop off", ALL, {"panel": DofValue("has upper", False)}, {**TABLE, **TWINS, **AFTER}),
    Row("body friction", ALL, {"physics tab": PhysicsFriction()}, AFTER),
    Row(
        "not held", ("juice",),
        {name: Unheld(DofValue(name, 0.6)) for name in ("damping", "friction", "stiffness")}, {},
    ),
    Row(
        "servo", ALL, {name: Unheld(DofValue(name, 40.0)) for name in ("servo stiffness", "servo damping")},
        {"alt": ways.edited_together, **TWINS, **AFTER},
    ),
    Row(
        "shape pose", ("skel",),
        {
            "move": Placing("SHAPE", tools.move), "rotate": Placing("SHAPE", tools.rotate),
            "sidebar": Placing("SHAPE", tools.type_location),
        },
        AFTER,
    ),
    Row("light pose", ("shift",), {"move": Placing("LIGHT", tools.move, "lamp")}, AFTER),
    Row("body copy", ALL, {"duplicate": Duplicate()}, AFTER),
    Row("joint", ALL, {"delete": Cut(structure.delete), "delete parts": Cut(structure.delete_parts)}, AFTER),
    Row("joint type", ("skel", "x_xy", "shift"), {"weld": Cut(structure.weld, welds=True)}, AFTER),
    Row("joint place", ALL, {"operator": MoveJoint()}, AFTER),
    Row("twin", ALL, {"unlink": Unlink()}, AFTER),
    Row("assembly", ("shift",), {"operator": SwitchAssembly()}, AFTER),
    Row("body immobile", ("shift",), {"panel": BodyFlag("immobile", True)}, {**TWINS, **AFTER}),
    Row("mesh", ("juice", "skel", "x_xy"), {"edit": Mesh(), "apply scale": AppliedScale()}, AFTER),
    Row(
        "mesh fixed", ("juice", "skel", "x_xy"),
        {
            "take mesh": Fixed(Mesh(), "mesh-edited", _trunk_sizes),
            "take shape": Fixed(Mesh(), "mesh-edited", _nothing, True),
        },
        AFTER,
    ),
    Row(
        "applied", ALL, {what: Applied(what) for what in ("location", "rotation")}, AFTER,
    ),
    Row(
        "stops fixed", ALL,
        {
            "exchange": Fixed(
                SeveralValues(lower=0.5, upper=-0.4), "stops-inverted",
                lambda cell, edit: SeveralValues(lower=-0.4, upper=0.5).facts(cell),
            ),
        },
        AFTER,
    ),
    Row(
        "position fixed", ("skel", "shift"),
        {
            "at stop": Fixed(
                SeveralValues(upper=0.4, position=0.8), "start-beyond-stop",
                lambda cell, edit: SeveralValues(upper=0.4, position=0.4).facts(cell),
            ),
        },
        AFTER,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A cell of the matrix."""

    row: Row
    way: str
    edit: Edit
    do: Way
    format: str
    state: str
    via: str

    def __str__(self) -> str:
        return "-".join((self.row.name, self.way, self.format, self.state, self.via)).replace(" ", "_")

    def check(self, folder: Path) -> None:
        """Do it and see that nothing else has come of it."""
        cell = Cell(self.format, self.state, self.via, folder)
        found = cell.check(self.do(self.edit, cell))
        assert not found, "\n".join([str(self), *found])

    @property
    def is_of_tenth(self) -> bool:
        """Whether it is of the fixed tenth of all."""
        return sha256(str(self).encode()).digest()[0] < 26


def cases(rows: tuple[Row, ...] = ROWS) -> Iterator[Case]:
    """All cells of some rows."""
    for row in rows:
        for name, edit, do in row.ways():
            for format_ in row.formats:
                for state in STATES:
                    for via in VIAS:
                        yield Case(row, name, edit, do, format_, state, via)


def chosen_cells(format_: str) -> list[str]:
    """The names of the cells of a format that ``KNUCKLE_MATRIX`` chooses."""
    tenth = os.environ.get("KNUCKLE_MATRIX") == "tenth"
    return [str(case) for case in cases() if case.format == format_ and (case.is_of_tenth or not tenth)]


def check_cell(name: str, folder: Path) -> None:
    """Do what a cell says and see that nothing else has come of it.

    Tests know cells by name alone: what pytest holds to the very end keeps modules alive, and Blender 4.2 crashes as it
    is freed after them."""
    next(case for case in cases() if str(case) == name).check(folder)


def fast_cells() -> list[str]:
    """One cell for each way and format, in one state after the other."""
    found: dict[tuple[str, str], Case] = {}
    for case in cases():
        number = len(found)
        if (case.way, case.format) not in found and case.state == STATES[number % 3] and case.via == VIAS[number % 2]:
            found[case.way, case.format] = case
    return list(map(str, found.values()))
