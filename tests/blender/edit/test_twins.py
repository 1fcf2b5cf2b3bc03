"""Twins through the operators that users call: halves that were lost are made again, strays are brought back, and what
is done to one half is done to the other."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.access import record_of, settings
from addon.blender.build import BuildOptions, build
from addon.blender.edit.twins import differences, twin_of
from addon.blender.extract import extract
from addon.blender.model_parts import parts, rig_in
from addon.model.mirror import mirror_of
from addon.model.sides import sides_of
from addon.model.symmetry import asymmetries
from tests.model.test_mirror import misses
from tests.references import CORPUS

OWN = Path(__file__).resolve().parents[3] / "sample_models"


def found(name: str) -> Path:
    path = next((path for folder in (OWN, CORPUS) for path in sorted(folder.rglob(name))), None)
    if path is None:
        pytest.skip(f"{name} is not here: {CORPUS}")
    return path


def made(name: str) -> Any:
    rig = rig_in(build(formats.load(found(name)), options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.update()
    return rig


def pick(*objects: Any) -> None:
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[-1]


def now(rig: Any) -> Any:
    return extract(settings(rig).collection)


@pytest.mark.parametrize("name", ["hexapod.jm", "Dihno2.jm", "fullbody1.skel", "humanoid2.jm"])
def test_a_half_that_was_deleted_is_made_again(blank: Any, name: str, tmp_path: Path) -> None:
    """Deleted and made anew, the other half poses as the reflection of the first, also in the file."""
    rig = made(name)
    whole = now(rig)
    sides, mirror = sides_of(whole), mirror_of(whole)
    right = {mirror.joints[key].source for key in mirror.on_side(True)}
    heights = {b.id: sides.plane.height(b.pose[:3, 3] + b.pose[:3, :3] @ b.com) for b in whole.bodies}
    right |= {key for key in sides.bodies if heights[key] > 1e-6}
    objects = {record_of(obj).source_id: obj for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    left = [objects[sides.bodies.get(key) or sides.joints[key]] for key in right]
    pick(*[objects[key] for key in right])
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert len(now(rig).bodies) < len(whole.bodies)
    pick(*left)
    assert bpy.ops.knuckle.create_twin(plane="XYZ"[int(np.abs(sides.plane.normal).argmax())]) == {"FINISHED"}
    bpy.context.view_layer.update()
    again = now(rig)
    assert sorted(body.name for body in again.bodies) == sorted(body.name for body in whole.bodies)
    assert sorted(joint.name for joint in again.joints) == sorted(joint.name for joint in whole.joints)
    path = tmp_path / name
    formats.save(again, path, settings(rig).format)
    for mechanism in (again, formats.load(path)):
        assert asymmetries(mechanism, sides_of(mechanism)) == []
        theirs = mirror_of(mechanism)
        assert np.abs(misses(mechanism, theirs, theirs.sides.plane.reflection, 1)).max() < 1e-4


def test_a_stray_is_brought_back(blank: Any) -> None:
    rig = made("hexapod.jm")
    before = formats.dumps(now(rig))
    body = next(obj for obj in parts(rig, "BODY") if obj.name == "Right Rear Femur")
    joint = next(obj for obj in parts(rig, "JOINT") if obj.name.startswith("Right Rear Knee"))
    body.location.z += 0.3
    record_of(body).mass *= 2.0
    record_of(joint).joint.dofs[0].upper += 0.2
    assert bpy.ops.knuckle.check_symmetry() == {"FINISHED"}
    rows = {(row.second, row.what.split(" by ")[0]) for row in settings(rig).differences}
    assert {(body.name, "place"), (body.name, "mass")} <= rows and len(rows) >= 3
    pick(twin_of(body), twin_of(joint))
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    assert differences(rig) == []
    bpy.ops.knuckle.check_symmetry()
    assert len(settings(rig).differences) == 0
    assert formats.dumps(now(rig)) == before


def test_twins_are_unlinked_found_and_linked(blank: Any) -> None:
    rig = made("hexapod.jm")
    twins = {obj.name: twin_of(obj).name for role in ("BODY", "JOINT") for obj in parts(rig, role) if twin_of(obj)}
    pick(*[bpy.data.objects[name] for name in twins])
    assert bpy.ops.knuckle.unlink_twins() == {"FINISHED"}
    assert not any(record_of(obj).twin for role in ("BODY", "JOINT") for obj in parts(rig, role))
    with pytest.raises(RuntimeError, match="has a twin"):
        bpy.ops.knuckle.unlink_twins()
    assert bpy.ops.knuckle.find_twins() == {"FINISHED"}
    rows = settings(rig).found_twins
    assert {(row.first, row.second) for row in rows} == {
        (a, b) for a, b in twins.items() if (a, b) in {(row.first, row.second) for row in rows}
    }
    assert len(rows) == len(twins) // 2 and all("place" in row.what for row in rows)
    assert bpy.ops.knuckle.link_found_twins() == {"FINISHED"}
    again = {obj.name: twin_of(obj).name for role in ("BODY", "JOINT") for obj in parts(rig, role) if twin_of(obj)}
    assert again == twins


def places() -> dict[str, tuple[float, ...]]:
    return {
        record_of(obj).source_id: (obj.name, *np.array(obj.matrix_basis).ravel().tolist())
        for obj in bpy.data.objects
        if record_of(obj).role in {"BODY", "JOINT"}
    }


def test_symmetrical_editing_with_blenders_own_tools(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.ops.import_scene.mechanism(filepath=str(found("hexapod.jm")))
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    monkeypatch.setattr(bpy.context.preferences.edit, "undo_steps", 256)
    bpy.ops.ed.undo_push(message="start")
    start, rng = places(), random.Random(3)
    edits = 500
    for edit in range(edits):
        obj = rng.choice([obj for obj in bpy.data.objects if record_of(obj).role in {"BODY", "JOINT"} and twin_of(obj)])
        pick(obj)
        kind = rng.choice(["move", "turn", "size", "name"])
        if kind == "move":
            bpy.ops.transform.translate(value=[rng.uniform(-0.3, 0.3) for _ in range(3)])
        elif kind == "turn":
            bpy.ops.transform.rotate(value=rng.uniform(-1, 1), orient_axis=rng.choice("XYZ"))
        elif kind == "size" and record_of(obj).role == "BODY":
            bpy.ops.transform.resize(value=(rng.uniform(0.8, 1.2), 1.0, rng.uniform(0.8, 1.2)))
        elif kind == "name":
            number = rng.randrange(1000)
            obj.name = re.sub(r"(Left|Right)( \d+)?", rf"\1 {number}", obj.name)
        bpy.context.view_layer.update()
        if edit % 2:
            bpy.ops.ed.undo_push(message=str(edit))
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    assert places() != start and differences(rig) == []
    names = {obj.name for obj in bpy.data.objects}
    assert all(name.replace("Left", "Right") in names for name in names if "Left" in name)
    for _ in range(edits // 2):
        bpy.ops.ed.undo()
    assert places() == start


def test_symmetrical_values(blank: Any) -> None:
    rig = made("hexapod.jm")
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    joint = next(obj for obj in parts(rig, "JOINT") if twin_of(obj) and record_of(obj).joint.dofs[0].use_upper)
    mate, dof = twin_of(joint), record_of(joint).joint.dofs[0]
    dof.upper, dof.gain, dof.max_force = 0.9, 7.0, 55.0
    body = next(obj for obj in parts(rig, "BODY") if twin_of(obj))
    record_of(body).mass = 4.5
    theirs = record_of(mate).joint.dofs[0]
    assert (theirs.gain, theirs.max_force, record_of(twin_of(body)).mass) == (7.0, 55.0, 4.5)
    assert differences(rig) == []
    settings(rig).symmetric = False
    dof.gain = 3.0
    assert theirs.gain == 7.0


def test_what_is_deleted_is_nobodys_twin(blank: Any) -> None:
    rig = made("hexapod.jm")
    gone = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "Right Front Femur")
    mate = twin_of(gone)
    assert mate is not None
    pick(gone)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert record_of(mate).twin == ""
    mechanism = now(rig)
    for some in (mechanism.bodies, mechanism.joints):
        assert {part.twin for part in some if part.twin} <= {part.id for part in some}
    assert any(part.twin for part in mechanism.bodies), "the others are still twins"
