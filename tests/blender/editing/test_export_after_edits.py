"""Exports right after an edit: the pose that is shown, also of loops that the file left open, and no message
that says the user did what the edit did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import file_name, parts, rig_in
from addon.blender.editing.joints import swap_joint_ends
from addon.blender.editing.repair.checks import check_model, find_overlaps
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.scene.read.mechanism import extract
from addon.core.validation import validate
from tests.support import holding
from tests.support.emptied import empty_file
from tests.support.scenes import made, pick

#: Mechanisms whose loops a file leaves open, with every how manyeth edit is made of them.
LOOPS = {
    "pumpjack.json": 1,
    "slider_crank.json": 2,
    "slider_crank_2substructures_2.json": 2,
    "excavator_no_base.json": 3,
    "brake.json": 5,
}
#: The sample models.
MODELS = ["pumpjack.json", "desk_lamp.skel", "sensor_leg.xml", "rover.jm", "hexapod.jm", "humanoid.skel"]
#: Largest distance (length units) and difference of rotation entries of bodies between the scene and a file. Some edits
#: of the excavator leave hinges that are not parallel: its loops amplify the rounded angles of other formats.
SAME, AMPLIFIED = 1e-4, 1e-3


def bodies(rig: Any) -> dict[str, np.ndarray]:
    """World poses of bodies by name."""
    bpy.context.view_layer.update()
    return {file_name(obj): np.array(obj.matrix_world.normalized()) for obj in parts(rig, "BODY")}


def edits_of(rig: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The structural edits, and some that follow what a user does with Blender's tools."""
    yield from ((label, act) for label, act, _keeps in holding.edits_of(rig))
    for number, empty in enumerate(holding.chosen_joints(rig)):
        yield f"swap twice {number}", partial(_swap_twice, empty)
    yield "apply location", partial(_apply_location, rig)


def _swap_twice(empty: Any) -> None:
    swap_joint_ends(empty)
    swap_joint_ends(empty)


def _apply_location(rig: Any) -> None:
    rig.location = (1.0, 2.0, 3.0)
    bpy.context.view_layer.update()
    pick(rig)
    bpy.ops.object.transform_apply(location=True, rotation=False, scale=False)
    update_armature(rig)


def edited(name: str, every: int = 1) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """A new mechanism for each edit, its name and what does it."""
    labels = [label for label, _act in edits_of(made(name))]
    for label in labels[::every]:
        empty_file()
        rig = made(name)
        yield label, rig, next(act for each, act in edits_of(rig) if each == label)


@pytest.mark.parametrize("format_", ["shift", "skel", "x_xy"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_file_exported_after_an_edit_shows_what_the_scene_showed(blank: Any, name: str, format_: str) -> None:
    """Wherever the loops were open in the file that was imported."""
    wrong, count = {}, 0
    for label, rig, act in edited(name, LOOPS[name] * (1 if format_ == "shift" else 4)):
        try:
            act()
        except ValueError:  # there is no such edit of this
            continue
        shown, path = bodies(rig), settings(rig).path
        text, _report = formats.dumps(extract(rig), format_)
        empty_file()
        again = bodies(
            rig_in(build(formats.loads(text.encode(), path), options=BuildOptions(gait=False, physics=False)))
        )
        count += 1
        off = {own: float(np.abs(again[own] - pose).max()) for own, pose in shown.items() if own in again}
        tolerance = AMPLIFIED if name.startswith("excavator") and format_ != "shift" else SAME
        if max(off.values(), default=0.0) > tolerance or shown.keys() - again.keys():
            wrong[label] = max(off.items(), key=lambda each: each[1])
    assert count > 2
    assert not wrong


@pytest.mark.parametrize("name", ["pumpjack.json", "slider_crank.json"])
def test_loops_that_no_edit_concerns_keep_the_values_of_their_file(blank: Any, name: str) -> None:
    """Also after an edit that another one undid."""
    rig = made(name)
    text = settings(rig).document.as_string()
    assert formats.dumps(extract(rig))[0] == text
    empty = holding.chosen_joints(rig)[0]
    _swap_twice(empty)
    joints = {joint.id: joint.initial.tolist() for joint in extract(rig).joints}
    assert joints == {joint.id: joint.initial.tolist() for joint in formats.loads(text.encode(), rig.name).joints}


def test_a_typed_initial_value_is_exported_after_an_edit_of_its_loop(blank: Any) -> None:
    """It was typed after the loop was assembled."""
    rig = made("pumpjack.json")
    joints = {record_of(each).source_name: each for each in parts(rig, "JOINT")}
    record_of(joints["motor"]).joint.dofs[0].position = 0.75
    swap_joint_ends(joints["crank_pin"])
    values = {joint.name: joint.initial.tolist() for joint in extract(rig).joints}
    assert values["motor"] == [0.75]
    assert values["crank_pin"] != [0.6], "that of its file, with the opposite sign"


def said(rig: Any) -> set[str]:
    """Messages of an export and the check about the scene, without those about the mechanism as such."""
    mechanism = extract(rig)
    own = {str(finding.message) for finding in (*validate(mechanism), *find_overlaps(mechanism))}
    report = [str(entry.message) for entry in mechanism.report.entries if entry.code not in {"added", "deleted"}]
    return {*report, *(str(finding.message) for finding in check_model(rig))} - own


@pytest.mark.parametrize("state", ["initial", "posed"])
@pytest.mark.parametrize("name", [*MODELS, "slider_crank.json"])
def test_an_export_after_an_edit_says_nothing_new_of_the_scene(blank: Any, name: str, state: str) -> None:
    wrong = {}
    for label, rig, act in edited(name, 1 if name in {"pumpjack.json", "sensor_leg.xml"} else 3):
        holding.STATES[state](rig)
        before = said(rig)
        try:
            out = act()
        except ValueError:  # there is no such edit of this
            continue
        reports = [each for each in (out if isinstance(out, tuple) else (out,)) if hasattr(each, "entries")]
        announced = {str(entry.message) for report in reports for entry in report.entries}
        bpy.context.view_layer.update()
        new = said(rig) - before - announced
        if new:
            wrong[label] = new
    assert not wrong
