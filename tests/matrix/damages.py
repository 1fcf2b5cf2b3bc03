"""What users do to a mechanism by hand that the check finds fault with. Once it was fixed nothing else has come of it:
the file, and where everything stands, are as before, but for what the fix is of (``Fixed``)."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import bpy
import numpy as np

from . import names
from .cells import Cell, Expected, Freed, pick
from .edits import Edit, Fixed, Mass
from .structure import Cut, MoveJoint, delete, limb

#: The density that bodies are weighed with, kg/m³.
DENSITY = 1000.0


class Damage(Edit):
    """Something done by hand. ``name``: the part that it is done to, empty for the one that the scene has for it."""

    def __init__(self, do: Callable[[Any], None], role: str = "BODY", name: str = "") -> None:
        self.do, self.role, self.name = do, role, name

    def part(self, cell: Cell, side: int = 0) -> str:
        return self.name or super().part(cell, side)

    def target(self, cell: Cell, side: int = 0) -> Any:
        if self.role == "MODEL":
            return names.the_rig()
        if self.role == "SHAPE":
            return names.collision_child(super(Damage, self._of_body()).target(cell, side))
        return super().target(cell, side)

    def _of_body(self) -> Damage:
        return Damage(self.do, "BODY", self.name)

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.do(self.target(cell, side))

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return {}


# ---------------------------------------------------------------- parts


def clear_parent(obj: Any) -> None:
    """Alt+P, Keep Transform."""
    pick(obj)
    assert bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM") == {"FINISHED"}


def put_elsewhere(obj: Any) -> None:
    """M: into the scene's own collection."""
    for collection in list(obj.users_collection):
        collection.objects.unlink(obj)
    bpy.context.scene.collection.objects.link(obj)


def copy_collision(body: Any) -> None:
    """A copy of a body's collision shape, by Shift+D."""
    pick(names.collision_child(body))
    assert bpy.ops.object.duplicate() == {"FINISHED"}


def forget_twin(body: Any) -> None:
    """The other one's twin mark cleared, as scripts do it."""
    names.clear_twin(names.twin(body))


def delete_plainly(obj: Any) -> None:
    """Deleted, as the Outliner does it."""
    bpy.data.objects.remove(obj)


# ---------------------------------------------------------------- bones


def edit_bone(joint: Any, change: Callable[[Any], None]) -> None:
    """Edit mode of the armature."""
    rig, name = names.the_rig(), names.bone(joint).name
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    change(rig.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()


def roll_bone(joint: Any) -> None:
    """Ctrl+R."""

    def roll(bone: Any) -> None:
        bone.roll += 0.7

    edit_bone(joint, roll)


def delete_bone(joint: Any) -> None:
    """X in edit mode."""
    edit_bone(joint, lambda bone: bone.id_data.edit_bones.remove(bone))


def apply_pose(rig: Any) -> None:
    """Apply Pose as Rest Pose."""
    pick(rig)
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.pose.armature_apply(selected=False) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()


# ---------------------------------------------------------------- the mechanism as a whole


def delete_armature(rig: Any) -> None:
    """X."""
    body = next(names.parts("BODY"))
    delete(rig)
    pick(body)


def delete_collection(rig: Any) -> None:
    """As the Outliner deletes it: what it held moves up."""
    top, scene = names.settings().collection, bpy.context.scene.collection
    for child in list(top.children):
        scene.children.link(child)
    scene.objects.link(rig)
    bpy.data.collections.remove(top)
    pick(rig)


def delete_folder(name: str) -> Callable[[Any], None]:
    """What deletes a collection of the mechanism with all that is in it, as the Outliner's *Delete Hierarchy* does:
    Blender keeps the objects that records point at, in no collection."""

    def do(rig: Any) -> None:
        (folder,) = (each for each in names.settings().collection.children if each.name.split(".")[0] == name)
        for obj in list(folder.all_objects):
            for collection in obj.users_collection:
                collection.objects.unlink(obj)
        bpy.data.collections.remove(folder)
        pick(rig)

    return do


def call_alike(hand: Any) -> None:
    """Called as the arm that has it, as files may have it."""
    names.call(hand, hand.knuckle.source_name.replace("hand", "arm"))


def delete_text(rig: Any) -> None:
    """The text of the file."""
    bpy.data.texts.remove(names.settings().document)
    pick(rig)


def delete_world(rig: Any) -> None:
    """The rigid body world of the scene."""
    assert bpy.ops.rigidbody.world_remove() == {"FINISHED"}
    pick(rig)


class BoneAgain(Fixed):
    """A bone deleted and made again: the pose went with it, keyframes have not."""

    def __init__(self) -> None:
        super().__init__(Damage(delete_bone, "JOINT"), "bones-gone")

    @staticmethod
    def _is_lost(cell: Cell) -> bool:
        """Whether the joint stood where no key has it, and not where its file begins."""
        return cell.state == "posed" or (cell.state == "initial" and bool(cell.scene.chord))

    def moved(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return {*cell.before.seen} if self._is_lost(cell) else set()

    def freed(self, cell: Cell, side: int = 0) -> dict[str, Freed]:
        before, joint = cell.before.document.facts, self.part(cell)
        if not self._is_lost(cell):
            return {}
        kinds = tuple(kind for kind, _axis in before[f"joint/{joint}/motions"])
        return {joint: Freed(before[f"joint/{joint}/parent"], before[f"joint/{joint}/child"], kinds)}


class Refitted(Fixed):
    """A joint moved by hand, and the armature fitted to it: the bodies stay where they are, as with *Move Joint*."""

    def apply(self, cell: Cell, side: int = 0) -> None:
        self.like = MoveJoint()
        self.like.limbs = [limb(cell, self.part(cell, each)) for each in (0, 1) if self.part(cell, each)]
        super().apply(cell, side)

    def facts(self, cell: Cell, side: int = 0) -> dict[str, Any]:
        return self.like.facts(cell, side) | ({} if cell.scene.chord else super().facts(cell, side))

    def held(self, cell: Cell, side: int = 0) -> set[tuple[str, str]]:
        return self.like.held(cell, side)

    def expected(self, cell: Cell) -> Expected:
        return self.like.loosened(cell, super().expected(cell))


class CutOff(Fixed):
    """A joint deleted with X, and its bones taken away."""

    def __init__(self) -> None:
        super().__init__(Cut(delete), "bones-gone", other=True)

    def expected(self, cell: Cell) -> Expected:
        return self.edit.expected(cell)


class Numbered(Fixed):
    """Two bodies of one name, of which the second gets a number."""

    def __init__(self) -> None:
        super().__init__(Damage(call_alike, "BODY", "left hand"), "name-twice")

    def renamed(self, cell: Cell, side: int = 0) -> dict[str, str]:
        return {"left hand": "left arm 2"}


class Weightless(Mass):
    """A mass of nothing, which the check has weighed again: by the volume of what collides, else of what is seen."""

    def __init__(self) -> None:
        super().__init__(value=0.0)

    def weighed(self, cell: Cell, _edit: Edit) -> dict[str, Any]:
        """The body as heavy as its volume is large."""
        before, name = cell.before.document.facts, self.part(cell)
        own = [key.rpartition("/")[0] for key in before if key.startswith(f"shape/{name}/") and key.endswith("/type")]
        solid = [shape for shape in own if shape.split("/")[2].startswith("c")] or own
        mass = DENSITY * sum(volume(before[f"{shape}/type"], before[f"{shape}/size"]) for shape in solid)
        facts: dict[str, Any] = {f"body/{name}/mass": mass or 1.0}
        if f"body/{name}/inertia" in before:
            facts[f"body/{name}/inertia"] = before[f"body/{name}/inertia"] * (mass or 1.0) / before[f"body/{name}/mass"]
        return facts


def volume(kind: str, size: np.ndarray) -> float:
    """The volume of a solid."""
    if kind == "box":
        return float(np.prod(size))
    if kind == "ellipsoid":
        return float(4 / 3 * pi * np.prod(size / 2))
    if kind == "sphere":
        return float(4 / 3 * pi * size[0] ** 3)
    return float(pi * size[1] ** 2 * size[0] + (4 / 3 * pi * size[1] ** 3 if kind == "capsule" else 0.0))
