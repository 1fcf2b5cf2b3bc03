"""The matrix's own list: every property, the formats that hold it, and the ways that it is changed by.

It is written by hand and not taken from the code: ``test_completeness`` sees that no property is forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from . import ways
from .cells import STATES, VIAS, Cell, Expected
from .ways import DofValue, Edit, Mass, Placing

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
    table = TABLE if field in ways.names.DOF_OF_EACH else {k: v for k, v in TABLE.items() if k != "ticked"}
    return Row(f"dof {field}", formats, edits, {**together, **table, **TWINS, **AFTER})


ROWS: tuple[Row, ...] = (
    Row(
        "body mass", ALL, {"panel": Mass(), "physics tab": Mass("physics tab")},
        {"alt": ways.edited_together, **TWINS, **AFTER},
    ),
    Row(
        "body pose", ALL,
        {
            "move": Placing("BODY", ways.move), "rotate": Placing("BODY", ways.rotate),
            "sidebar": Placing("BODY", ways.type_location),
            "parent": Placing("BODY", ways.hang_on_an_empty),
            "clear parent": Placing("BODY", ways.clear_parent_and_move),
        },
        {**TWINS, **AFTER},
    ),
    Row(
        "joint frame", ALL, {"move": Placing("JOINT", ways.move), "rotate": Placing("JOINT", ways.rotate)},
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


def every_cell(format_: str) -> Callable[[Case, Path], None]:
    """The test of the cells of a format that ``KNUCKLE_MATRIX`` chooses."""
    chosen = [case for case in cases() if case.format == format_]
    if os.environ.get("KNUCKLE_MATRIX") == "tenth":
        chosen = [case for case in chosen if case.is_of_tenth]

    @pytest.mark.slow
    @pytest.mark.parametrize("case", chosen, ids=str)
    def test_cell(case: Case, folder: Path) -> None:
        case.check(folder)

    return test_cell


def fast_cells() -> list[Case]:
    """One cell for each way and format, in one state after the other."""
    found: dict[tuple[str, str], Case] = {}
    for case in cases():
        number = len(found)
        if (case.way, case.format) not in found and case.state == STATES[number % 3] and case.via == VIAS[number % 2]:
            found[case.way, case.format] = case
    return list(found.values())
