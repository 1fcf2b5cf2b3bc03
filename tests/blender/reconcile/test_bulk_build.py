"""What is done at once for speed comes to the same as one by one: what is known of joints without being read, what is
set on new rigid bodies and constraints, and where objects and limits of bones are put."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.support.clear_helpers import values

MODELS = sorted(path for path in Path("sample_models").glob("*/*") if path.suffix in {".jm", ".skel", ".json"})
MODELS += [Path("sample_models/sensor_leg/sensor_leg.xml")]
WITH_STOPS = [path for path in MODELS if path.suffix in {".jm", ".skel"}]
JOINT = ("at_world", "active", "loop", "is_open", "is_dependent", "is_reversed", "parent", "child")


def built(path: Path) -> Any:
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(formats.load(path), options=BuildOptions(gait=False)))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_records_are_set_in_one_go_as_one_by_one(blank: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a Blender that takes no groups, the same comes of it: values, order, and who uses whom."""
    import bpy

    from addon.blender import compat
    from tests.support.emptied import empty_file
    from tests.support.snapshot import differences, snapshot

    found = []
    for at_once in (True, False):
        monkeypatch.setattr(compat, "TAKES_GROUP_DICTS", at_once)
        empty_file()
        built(path)
        users = {f"{each.name_full} is used": each.users for each in (*bpy.data.objects, *bpy.data.texts)}
        found.append(snapshot() | users)
    assert differences(*found) == []
    assert any(place.endswith("source_id") for place in found[0])


def in_physics(scene: Any) -> dict[str, Any]:
    """All settings of all rigid bodies and constraints, by object."""
    out = {obj.name: values(obj.rigid_body) for obj in scene.rigidbody_world.collection.objects}
    return out | {obj.name: values(obj.rigid_body_constraint) for obj in scene.rigidbody_world.constraints.objects}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_new_bodies_and_constraints_have_what_is_set_on_old_ones(blank: Any, path: Path) -> None:
    """What stands in the world already is told everything, whatever it is."""
    from addon.blender.physics.simulation.setup import build_physics

    rig = built(path)
    new = in_physics(blank.scene)
    build_physics(blank.scene, rig)
    assert len(new) > 2 and in_physics(blank.scene) == new


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_joints_are_foreseen_as_their_records_are(blank: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.data.access import record_of
    from addon.blender.data.caching import RecordSnapshot, joint_record
    from addon.blender.data.facts import DOF_PROPERTIES, stored_fields
    from addon.blender.data.queries import parts
    from addon.blender.reconcile import build
    from addon.core.report import Report

    told = (
        *stored_fields(DOF_PROPERTIES),
        "parts",
        "step",
        "assembled_start",
    )
    seen: list[tuple[Any, Any]] = []

    def look(_scene: Any, rig: Any, is_new: bool) -> Report:
        seen.extend((joint_record(empty), record_of(empty).joint) for empty in parts(rig, "JOINT"))
        for glimpse, record in seen:
            assert isinstance(glimpse, RecordSnapshot) and is_new
            assert [getattr(glimpse, name) for name in JOINT] == [getattr(record, name) for name in JOINT]
            assert len(glimpse.limit_constraints) == len(record.limit_constraints)
            for ours, kept in ((glimpse.dofs, record.dofs), (glimpse.parts, record.parts)):
                assert len(ours) == len(kept)
                assert [plain(a, told) for a in ours] == [plain(b, told) for b in kept]
        return Report()

    monkeypatch.setattr(build, "build_physics", look)
    built(path)
    assert len(seen) > 1


def plain(dof: Any, names: tuple[str, ...]) -> list[Any]:
    """Fields as Blender keeps their numbers, in 32 bits."""
    every = (getattr(dof, name) for name in names)
    return [each if isinstance(each, (str, bool, int)) else np.float32(each).ravel().tolist() for each in every]


def test_a_record_snapshot_is_read_once_and_never_written() -> None:
    from addon.blender.data.caching import RecordSnapshot

    class Record:
        asked = 0

        @property
        def mass(self) -> float:
            self.asked += 1
            return 2.0

    record = Record()
    glimpse = RecordSnapshot(lambda: record)
    assert (glimpse.mass, glimpse.mass, record.asked) == (2.0, 2.0, 1)
    with pytest.raises(AttributeError, match="mass"):
        glimpse.mass = 3.0


@pytest.mark.parametrize("path", WITH_STOPS, ids=lambda path: path.stem)
def test_bones_have_the_same_limits_for_ik_as_one_by_one(blank: Any, path: Path) -> None:
    from addon.blender.data.queries import parts
    from addon.blender.rig.bone_limits import update_joint_bone_limits

    rig = built(path)
    names = [f"{kind}_{axis}" for kind in ("use_ik_limit", "ik_min", "ik_max") for axis in "xyz"]

    def limits() -> list[list[Any]]:
        # what a limit that is switched off would be does not matter
        rows = [[getattr(pose, name) for name in names] for pose in rig.pose.bones]
        return [[on and row[at + k] for k, on in enumerate(row[:3]) for at in (0, 3, 6)] for row in rows]

    at_once = limits()
    for empty in parts(rig, "JOINT"):
        update_joint_bone_limits(empty)
    assert limits() == at_once and any(any(row) for row in at_once)
