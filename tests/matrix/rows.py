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

from . import damages, names, structure, tools, ways
from .cells import STATES, VIAS, Cell, Expected
from .damages import BoneAgain, Damage, Refitted, clear_parent
from .edits import (
    BodyFlag,
    DofValue,
    Edit,
    Fixed,
    LightValue,
    Mass,
    MirrorWhole,
    ModelValue,
    PhysicsFriction,
    SeveralValues,
    SwitchAssembly,
    Unheld,
    Unlink,
)  # fmt: skip
from .scenes import SCENES
from .structure import TYPES, Cut, CutLoop, Delete, DeleteLink, Duplicate, MoveJoint, Retype, delete
from .tools import Applied, AppliedScale, Mesh, Paint, Placing, Rename, Scale

ALL = ("juice", "skel", "x_xy", "shift")
UNLIKE = ("juice unlike", "skel unlike", "x_xy unlike")
LOOPS = ("juice loop", "pumpjack")
SAMPLES = ("desk lamp", "humanoid", "sensor leg")
WALKERS = ("rover", "hexapod")
Way = Callable[[Any, Cell], Expected]

#: What is done with every edit.
AFTER: dict[str, Way] = {"undo": ways.undone, "redo": ways.redone}
SYMMETRIC: dict[str, Way] = {"symmetric": ways.edited_symmetrically}
MIRROR: dict[str, Way] = {"mirror": ways.mirrored_to_twin}
TWINS: dict[str, Way] = {**MIRROR, **SYMMETRIC}
TABLE: dict[str, Way] = {"ticked": ways.ticked, "copy": ways.copied, "copy to twin": ways.copied_to_twin}


@dataclass(frozen=True)
class Row:
    """A property. ``edits`` are the tools that change it, by name; with the first of them ``more`` is done."""

    name: str
    #: What is edited: mechanisms of ``SCENES``, which are called as their formats where there is one of each.
    formats: tuple[str, ...]
    edits: dict[str, Edit]
    more: dict[str, Way]
    states: tuple[str, ...] = STATES

    @property
    def is_rare(self) -> bool:
        """Whether the fast suite has each way once, for all formats, and not once for each."""
        return self.name.endswith((" fixed", " type", " several", " keyframes")) or "juice" not in self.formats

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


def _as_edited(cell: Cell, edit: Edit) -> dict[str, Any]:
    """What the edit itself makes."""
    return edit.facts(cell)


def _as_it_was(cell: Cell, edit: Edit) -> dict[str, Any]:
    """The place of the collision shape, which Blender's numbers may have rounded."""
    every, own = cell.before.document.facts, f"shape/{edit.part(cell)}/c0/"
    return {key: value for key, value in every.items() if key.startswith(own)}


HANDLESS = Delete("BODY", "left hand", ("left hand", "left wrist"), delete)
WEIGHTLESS = damages.Weightless()

#: What is done to the sample models.
OF_SAMPLES: dict[str, Edit] = {
    "mass": Mass(), "move": Placing("BODY", tools.move), "rotate": Placing("BODY", tools.rotate),
    "stop": DofValue("lower", -0.9), "rename": Rename("BODY"), "move joint": MoveJoint(),
    "weld": Retype("weld"), "slider": Retype("prismatic"), "cut": Cut(structure.delete_parts),
    "applied": Applied("rotation"),
}  # fmt: skip


def _without_hand(cell: Cell, _edit: Edit) -> dict[str, Any]:
    return Delete("BODY", "left hand", ("left hand", "left wrist"), structure.delete_parts).facts(cell)


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
    _dof("rest", 0.15, ("skel", "x_xy", "shift"), angle=True),
    _dof("armature", 0.05, ("skel", "x_xy", "shift")),
    _dof("position", 0.12, ("skel", "shift"), angle=True),
    _dof("velocity", 0.9, ("skel", "shift"), angle=True),
    Row("body name", ALL, {"rename": Rename("BODY")}, {**SYMMETRIC, **AFTER}),
    Row(
        "joint name", ("juice", "skel", "shift"), {"rename": Rename("JOINT"), "rename bone": Rename("JOINT", "", True)},
        {**SYMMETRIC, **AFTER},
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
    Row("frame name", ("skel", "x_xy", "shift"), {"rename": Rename("FRAME", "left tip")}, {**SYMMETRIC, **AFTER}),
    Row(
        "frame pose", ("skel", "x_xy", "shift"),
        {
            "move": Placing("FRAME", tools.move, "left tip"),
            "sidebar": Placing("FRAME", tools.type_location, "left tip"),
            "parent": Placing("FRAME", tools.hang_on_an_empty, "left tip"),
            "clear parent": Placing("FRAME", tools.clear_parent_and_move, "left tip"),
        },
        {**TWINS, **AFTER},
    ),
    Row("frame turn", ("x_xy", "shift"), {"rotate": Placing("FRAME", tools.rotate, "left tip")}, {**TWINS, **AFTER}),
    Row(
        "frame", ("skel", "x_xy", "shift"),
        {"delete": Delete("FRAME", "left tip", ("left tip",), delete)}, AFTER,
    ),
    Row("light name", ("shift",), {"rename": Rename("LIGHT", "left lamp")}, {**SYMMETRIC, **AFTER}),
    Row(
        "light color", ("shift",),
        {"data": LightValue("left lamp", "diffuse", (1.0, 0.5, 0.25), np.array([0.7, 0.35, 0.175]))},
        {**TWINS, **AFTER},
    ),
    Row("light type", ("shift",), {"data": LightValue("left lamp", "type", "SPOT", "spot")}, {**TWINS, **AFTER}),
    Row("light", ("shift",), {"delete": Delete("LIGHT", "lamp", ("lamp",), delete)}, AFTER),
    Row(
        "body", ALL,
        {
            "delete": Delete("BODY", "left hand", ("left hand", "left wrist"), delete),
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
        {**TWINS, **AFTER},
    ),
    Row(
        "light pose", ("shift",),
        {
            "move": Placing("LIGHT", tools.move, "left lamp"), "rotate": Placing("LIGHT", tools.rotate, "left lamp"),
            "on the trunk": Placing("LIGHT", tools.move, "lamp"),
        },
        {**TWINS, **AFTER},
    ),
    Row("body copy", ALL, {"duplicate": Duplicate()}, AFTER),
    Row("joint", ALL, {"delete": Cut(delete), "delete parts": Cut(structure.delete_parts)}, AFTER),
    Row("joint type", ALL, {name: Retype(name) for name in ("prismatic", "ball", "weld")}, {**SYMMETRIC, **AFTER}),
    Row(
        "joint type of several", ("skel", "x_xy", "shift"),
        {name: Retype(name) for name in TYPES if name not in {"revolute", "prismatic", "ball", "weld"}},
        {},
    ),
    Row(
        "slider type", ("skel", "x_xy", "shift"),
        {name: Retype(name, which="lift") for name in TYPES if name not in {"prismatic", "screw"}}, {},
    ),
    Row(
        "joint keyframes", ("skel", "x_xy", "shift"),
        {name: Retype(name, motion=True) for name in ("ball", "free", "cylindrical", "universal", "euler", "planar")},
        {}, ("animated",),
    ),
    Row(
        "slider keyframes", ("skel", "x_xy", "shift"),
        {name: Retype(name, motion=True, which="lift") for name in ("free", "cylindrical", "translational")},
        {}, ("animated",),
    ),
    Row("joint place", ALL, {"operator": MoveJoint()}, {**TWINS, **AFTER}),
    Row("loop mass", LOOPS, {"panel": Mass(), "physics tab": Mass("physics tab")}, AFTER),
    Row("loop body pose", LOOPS, {"move": Placing("BODY", tools.move), "rotate": Placing("BODY", tools.rotate)}, AFTER),
    Row("loop stop", LOOPS, {"panel": DofValue("lower", -0.9)}, AFTER),
    Row("loop names", LOOPS, {"rename": Rename("BODY"), "rename joint": Rename("JOINT")}, AFTER),
    Row("loop size", ("juice loop",), {"scale": Scale((1.5, 1.5, 1.5))}, AFTER),
    Row("loop applied", LOOPS, {what: Applied(what) for what in ("location", "rotation")}, AFTER),
    Row("loop body", LOOPS, {"delete": DeleteLink(delete), "delete parts": DeleteLink(structure.delete_parts)}, AFTER),
    Row(
        "loop joint", LOOPS,
        {
            f"{name} {which}": CutLoop(tool, which)
            for name, tool in (("delete", delete), ("delete parts", structure.delete_parts))
            for which in ("hip", "lift", "chord")
        },
        AFTER,
    ),
    Row("loop joint place", LOOPS, {f"move {which}": MoveJoint(which) for which in ("hip", "lift", "chord")}, AFTER),
    Row(
        "loop joint type", LOOPS,
        {f"{at} {name}": Retype(name, which=at) for name in ("ball", "weld") for at in ("hip", "lift", "chord")},
        AFTER,
    ),
    Row(
        "loop fixed", LOOPS,
        {
            "body": Fixed(Damage(clear_parent), "off-bone"),
            "bone": BoneAgain(),
        },
        AFTER,
    ),
    Row("sample", SAMPLES, OF_SAMPLES, AFTER),
    Row("sample twin", ("humanoid",), {"panel": DofValue("lower", -0.4)}, TWINS),
    Row("walker", WALKERS, OF_SAMPLES, AFTER, ("animated",)),
    Row("walker twin", WALKERS, {"panel": DofValue("lower", -0.4)}, TWINS, ("animated",)),
    Row("twin color", ("skel", "x_xy"), {"material": Paint(tools.paint_anew, True)}, {**MIRROR, **AFTER}),
    Row("twin mesh", ("juice", "skel", "x_xy"), {"edit": Mesh(True)}, {**MIRROR, **AFTER}),
    Row("twin shapes", UNLIKE, {"mirror all": MirrorWhole()}, AFTER),
    Row("twin", ALL, {"unlink": Unlink()}, AFTER),
    Row("assembly", ("shift",), {"operator": SwitchAssembly()}, AFTER),
    Row("body immobile", ("shift",), {"panel": BodyFlag("immobile", True)}, {**TWINS, **AFTER}),
    Row("mesh", ("juice", "skel", "x_xy"), {"edit": Mesh(), "apply scale": AppliedScale()}, AFTER),
    Row(
        "mesh fixed", ("juice", "skel", "x_xy"),
        {
            "take mesh": Fixed(Mesh(), "mesh-edited", _trunk_sizes),
            "take shape": Fixed(Mesh(), "mesh-edited", other=True),
        },
        AFTER,
    ),
    Row(
        "applied", ALL, {what: Applied(what) for what in ("location", "rotation")}, {**SYMMETRIC, **AFTER},
    ),
    Row("applied rotation", ALL, {"rotation": Applied("rotation")}, TWINS),
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
        "off bone fixed", ALL,
        {
            "body": Fixed(Damage(clear_parent), "off-bone"), "joint": Fixed(Damage(clear_parent, "JOINT"), "off-bone"),
            "moved": Fixed(Placing("BODY", tools.clear_parent_and_move), "off-bone", _as_edited),
        },
        AFTER,
    ),
    Row("elsewhere fixed", ALL, {"body": Fixed(Damage(damages.put_elsewhere), "part-elsewhere")}, AFTER),
    Row("shape fixed", ("skel",), {"loose": Fixed(Damage(clear_parent, "SHAPE"), "shape-loose", _as_it_was)}, AFTER),
    Row("stranger fixed", ("skel",), {"shape": Fixed(Damage(damages.copy_collision), "stranger")}, AFTER),
    Row(
        "bones fixed", ALL,
        {
            "edited": Fixed(Damage(damages.roll_bone, "JOINT"), "bones-edited"),
            "made again": BoneAgain(),
            "rebuilt": Fixed(Damage(delete, "JOINT"), "bones-gone"),
            "taken away": damages.CutOff(),
        },
        AFTER,
    ),
    Row(
        "rest fixed", ALL, {"applied": Fixed(Damage(damages.apply_pose, "MODEL"), "rest-applied")}, AFTER,
        ("animated",),
    ),
    Row(
        "joint moved fixed", ALL,
        {"move": Refitted(Placing("JOINT", tools.move), "joint-moved", _as_edited)}, AFTER,
    ),
    Row(
        "mechanism fixed", ALL,
        {
            "armature": Fixed(Damage(damages.delete_armature, "MODEL"), "armature-gone"),
            "collection": Fixed(Damage(damages.delete_collection, "MODEL"), "collection-gone"),
            "text": Fixed(Damage(damages.delete_text, "MODEL"), "text-gone"),
            "world": Fixed(Damage(damages.delete_world, "MODEL"), "world-gone"),
        },
        AFTER,
    ),
    Row(
        "folder fixed", ALL,
        {
            name.lower(): Fixed(Damage(damages.delete_folder(name), "MODEL"), "folder-gone")
            for name in ("Bodies", "Joints")
        },
        AFTER,
    ),
    Row("names fixed", ("juice", "skel", "shift"), {"number": damages.Numbered()}, AFTER),
    Row("mass fixed", ALL, {"weigh": Fixed(WEIGHTLESS, "no-mass", WEIGHTLESS.weighed)}, AFTER),
    Row(
        "twin fixed", ALL,
        {"unlink": Fixed(Damage(damages.forget_twin), "twin-one-sided", lambda cell, edit: Unlink().facts(cell))},
        AFTER,
    ),
    Row(
        "lost joint fixed", ALL,
        {
            "delete": Fixed(HANDLESS, "joint-lost", _without_hand),
            "take back": Fixed(HANDLESS, "joint-lost", other=True),
        },
        AFTER,
    ),
    Row(
        "frame fixed", ("shift",),
        {"make": Fixed(Damage(delete, "FRAME", "left shoulder"), "frame-kept")}, AFTER,
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


#: Shares of all cells, by the 256ths that are of them.
SHARES = {"tenth": 26, "all": 256}


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

    def is_of(self, share: str) -> bool:
        """Return whether it is of a fixed share of all."""
        return sha256(str(self).encode()).digest()[0] < SHARES[share]


def cases(rows: tuple[Row, ...] = ROWS) -> Iterator[Case]:
    """All cells of some rows."""
    for row in rows:
        for name, edit, do in row.ways():
            for format_ in row.formats:
                for state in row.states:
                    for via in VIAS:
                        yield Case(row, name, edit, do, format_, state, via)


def chosen_cells(format_: str) -> list[str]:
    """The names of the cells of a format that ``KNUCKLE_MATRIX`` chooses."""
    share = os.environ.get("KNUCKLE_MATRIX") or "all"
    return [str(case) for case in cases() if SCENES[case.format].format == format_ and case.is_of(share)]


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
        key = case.way, "" if case.row.is_rare else case.format
        if (
            key not in found
            and case.state == case.row.states[number % len(case.row.states)]
            and case.via == VIAS[number % 2]
        ):
            found[key] = case
    return list(map(str, found.values()))
