"""The ways to change a mechanism: each does an edit to a cell and says what is to come of it.

A ``Row`` knows its property and the tools that change it; what is done with such an edit, or how it comes to be made,
is the same for all of them: undone, redone, mirrored to the twin, done symmetrically, together, copied."""

from __future__ import annotations

import bpy

from . import names
from .cells import GONE, Cell, Expected, pick
from .edits import DofValue, Edit
from .structure import MoveJoint
from .tools import Placing

#: Fields of a joint that *Copy to Selected* gives to others.
COPIED = (
    "lower", "upper", "gain", "max_force", "stiffness", "rest", "damping", "friction", "armature",
)  # fmt: skip


def directly(edit: Edit, cell: Cell) -> Expected:
    """As it is."""
    pick(edit.target(cell))
    edit.apply(cell)
    bpy.context.view_layer.update()
    return edit.expected(cell)


def undone(edit: Edit, cell: Cell) -> Expected:
    """And taken back: nothing has changed."""
    for _step in range(_step_by_step(edit, cell)[1]):
        bpy.ops.ed.undo()
    return Expected()


def redone(edit: Edit, cell: Cell) -> Expected:
    """And taken back, and done again."""
    expected, steps = _step_by_step(edit, cell)
    for go in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        for _step in range(steps):
            go()
    return expected


def _step_by_step(edit: Edit, cell: Cell) -> tuple[Expected, int]:
    """What is to come of an edit, after it was made, and how many steps of undo it takes back."""
    pick(edit.target(cell))
    bpy.ops.ed.undo_push(message="before")
    count = len(names.STEPS)
    edit.apply(cell)
    bpy.context.view_layer.update()
    steps = len(names.STEPS) - count
    if not steps:
        bpy.ops.ed.undo_push(message="after")
    return edit.expected(cell), steps or 1


def mirrored_to_twin(edit: Edit, cell: Cell) -> Expected:
    """And *Mirror to Twin*: the twin is its mirror image."""
    pick(edit.target(cell))
    edit.apply(cell)
    bpy.context.view_layer.update()
    expected = edit.expected(cell)
    expected.facts = edit.facts_of_both(cell)
    expected.moved |= edit.moved(cell, 1)
    expected.freed |= edit.freed(cell, 1)
    if edit.role not in {"BODY", "JOINT"}:  # what is on a body goes with it
        pick(names.part("BODY", cell.scene.arm[0]))
    names.run("mirror to twin")
    if edit.role == "JOINT":  # bones are where joints are now
        limbs = {key for key in cell.before.seen if key[1].startswith(("left", "right"))}
        expected.moved |= limbs if isinstance(edit, (Placing, MoveJoint)) else set()
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
    expected.held |= edit.held(cell, 1)
    expected.freed |= edit.freed(cell, 1)
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
