"""Symmetric editing of what is on twins: collision shapes, reference frames and lights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, twin_of
from addon.blender.editing.symmetry import live_mirror
from addon.blender.editing.symmetry.twins import adopt_linked_plane, link_twins, unlink_twins
from addon.blender.reconcile.build import BuildOptions, build
from tests.matrix.scenes import SCENES
from tests.support.mirror_helpers import twin_differences
from tests.support.scenes import made, pick, the_rig

FLIP = np.diag([-1.0, 1.0, 1.0, 1.0])


def symmetrical(folder: Path, name: str = "shift") -> Any:
    """A mechanism of the edit matrix, whose arms are mirror images across X = 0, edited symmetrically."""
    build(formats.load(SCENES[name].write(folder)), options=BuildOptions(gait=False, physics=False))
    rig = the_rig()
    if twin_of(part("left arm")) is None:
        link_twins((part("left arm"), part("right arm")))
    adopt_linked_plane(rig)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    return rig


def part(name: str) -> Any:
    return bpy.data.objects[name]


def place(name: str) -> Any:
    """The pose (4, 4) of an object in the mechanism as seen."""
    return np.linalg.inv(np.array(the_rig().matrix_world)) @ np.array(part(name).matrix_world)


def off(name: str) -> float:
    """The distance of an object on the left from the mirror image of the one on the right."""
    one, other = (FLIP @ place(name))[:3, 3], place(name.replace("left", "right"))[:3, 3]
    return float(np.abs(one - other).max())


def update() -> None:
    bpy.context.view_layer.update()


def test_of_two_that_are_selected_the_active_one_leads(blank: Any, tmp_path: Path) -> None:
    symmetrical(tmp_path)
    for side in ("left", "right"):
        one, other = part(f"{side} tip"), part("right tip" if side == "left" else "left tip")
        pick(other, one)
        before = one.location.x
        one.location.x += 0.1
        other.location.x += 0.3
        update()
        assert one.location.x == pytest.approx(before + 0.1) and off("left tip") < 1e-5


def test_a_body_and_what_is_on_it_are_edited_at_once(blank: Any, tmp_path: Path) -> None:
    symmetrical(tmp_path)
    pick(part("left tip"), part("left arm"))
    part("left arm").rotation_mode = "XYZ"
    part("left tip").location.y += 0.2
    part("left arm").location.z += 0.1
    part("left arm").rotation_euler.x += 2.0
    update()
    update()
    assert off("left tip") < 1e-5 and off("left arm") < 1e-5


def test_what_is_put_elsewhere_is_left_until_it_is_back(blank: Any, tmp_path: Path) -> None:
    symmetrical(tmp_path)
    tip, twin = part("left tip"), part("right tip")
    stood, arm, inverse = twin.matrix_basis.copy(), tip.parent, tip.matrix_parent_inverse.copy()
    tip.parent = part("trunk")
    tip.location.x += 0.2
    update()
    assert twin.matrix_basis == stood
    tip.parent, tip.matrix_parent_inverse = arm, inverse
    update()
    assert twin.matrix_basis != stood and off("left tip") < 1e-5


def test_a_light_follows_while_a_bone_is_posed(blank: Any, tmp_path: Path) -> None:
    rig = symmetrical(tmp_path)
    lamp, twin = part("left lamp").data, part("right lamp").data
    bone = rig.pose.bones[0]
    pick(part("left lamp"))
    for energy in (5.0, 6.0, 7.0):
        bone.rotation_euler.z += 0.1
        update()
        bone.rotation_euler.z += 0.1
        lamp.energy = energy
        lamp.color = (1.0, energy / 10.0, 0.0)
        update()
        assert twin.energy == energy and tuple(twin.color) == pytest.approx((1.0, energy / 10.0, 0.0))


def test_a_color_that_was_not_edited_stays(blank: Any, tmp_path: Path) -> None:
    """Lights that differ do so after another value of theirs was edited, and after undo."""
    rig = symmetrical(tmp_path)
    settings(rig).symmetric = False
    part("right lamp").data.color = (0.0, 1.0, 0.0)
    settings(rig).symmetric = True
    update()
    for number in range(3):
        bpy.ops.ed.undo_push(message=str(number))
    part("left lamp").data.energy = 3.0
    part("left lamp").location.x += 0.1
    update()
    bpy.ops.ed.undo_push(message="lit")
    assert part("right lamp").data.energy == 3.0
    for go in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        go()
        update()
        assert tuple(part("right lamp").data.color) == (0.0, 1.0, 0.0)
        assert part("right lamp").data.energy == part("left lamp").data.energy
    assert part("right lamp").data.energy == 3.0


def test_twins_that_are_linked_again_begin_as_they_are(blank: Any, tmp_path: Path) -> None:
    symmetrical(tmp_path)
    tip, twin = part("left tip"), part("right tip")
    unlink_twins([part("left arm")])
    update()
    tip.location.y += 0.2
    update()
    stood = twin.matrix_basis.copy()
    link_twins((part("left arm"), part("right arm")))
    update()
    tip.update_tag()
    update()
    assert twin.matrix_basis == stood
    tip.location.y += 0.1
    update()
    assert twin.matrix_basis != stood and off("left tip") < 1e-5


@pytest.mark.parametrize("edit", ["color", "place", "both"])
def test_steps_that_are_kept_before_the_twin_followed(blank: Any, tmp_path: Path, edit: str) -> None:
    """With a window Blender stores a step, and then calls the handlers."""
    symmetrical(tmp_path)
    for number in range(3):
        update()
        bpy.ops.ed.undo_push(message=str(number))
    handlers = bpy.app.handlers.depsgraph_update_post

    def seen() -> list[Any]:
        both = [part(f"{side} {what}") for side in ("left", "right") for what in ("lamp", "eye")]
        return [each.matrix_basis.copy() for each in both] + [tuple(x.data.color) for x in both if x.type == "LIGHT"]

    states = [seen()]
    for number in range(1, 5):
        if edit != "place":
            part("left lamp" if number % 2 else "right lamp").data.color = (number / 5.0, 0.5, 0.25)
        if edit != "color":
            part("left eye" if number % 2 else "right lamp").location.x += 0.1
        handlers.remove(live_mirror.after_update)
        bpy.ops.ed.undo_push(message=str(number))
        handlers.append(live_mirror.after_update)
        for name in ("left lamp", "right lamp", "left eye"):
            part(name).update_tag()
        update()
        states.append(seen())
    assert all(one != other for one, other in zip(states, states[1:], strict=False))
    for go, wanted in ((bpy.ops.ed.undo, states[-2::-1]), (bpy.ops.ed.redo, states[1:])):
        for state in wanted:
            go()
            update()
            assert seen() == state


# ---------------------------------------------------------------- Apply (Ctrl+A)


def apply(**what: bool) -> None:
    chosen = {"location": False, "rotation": False, "scale": False} | what
    assert bpy.ops.object.transform_apply(**chosen, isolate_users=True) == {"FINISHED"}
    update()


@pytest.mark.parametrize("name", ["shift", "skel"])
def test_what_was_applied_is_not_followed_and_later_edits_are(blank: Any, tmp_path: Path, name: str) -> None:
    rig = symmetrical(tmp_path, name)
    twin = part("right arm")
    stood = [each.matrix_basis.copy() for each in (twin, *twin.children_recursive)]
    pick(part("left arm"))
    apply(rotation=True)
    apply(location=True)
    assert [each.matrix_basis.copy() for each in (twin, *twin.children_recursive)] == stood
    assert twin_differences(rig) == []
    for edit in (_move, _turn, _swing):
        edit(part("left arm"))
        update()
        assert twin_differences(rig) == [] and off("left tip") < 1e-5
        edit(part("left tip"))
        update()
        assert off("left tip") < 1e-5
    edit(twin)
    update()
    assert twin_differences(rig) == [] and off("left tip") < 1e-5


def _move(obj: Any) -> None:
    obj.location.z += 0.2


def _turn(obj: Any) -> None:
    obj.rotation_mode = "XYZ"
    obj.rotation_euler.y += 0.4


def _swing(obj: Any) -> None:
    obj.location.x += 0.1
    obj.rotation_euler.x -= 0.3


def test_undo_and_redo_of_what_was_applied(blank: Any) -> None:
    """Blender stores the step before it calls the handlers."""
    rig = made("hexapod.jm")
    settings(rig).symmetric = True
    body = next(obj for obj in parts(rig, "BODY") if twin_of(obj) is not None)
    name, twin = body.name, twin_of(body).name
    stood = twin_of(body).matrix_basis.copy()
    for number in range(3):
        update()
        bpy.ops.ed.undo_push(message=str(number))
    pick(body)
    handlers = bpy.app.handlers.depsgraph_update_post
    handlers.remove(live_mirror.after_update)
    apply(location=True, rotation=True)
    bpy.ops.ed.undo_push(message="applied")
    handlers.append(live_mirror.after_update)
    body.update_tag()
    update()
    for go in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        go()
        update()
        assert part(twin).matrix_basis == stood and twin_differences(the_rig()) == []
    assert part(name).matrix_basis.is_identity and record_of(part(name)).mirrored_pose.is_identity
