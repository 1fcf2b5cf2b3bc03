"""Files that release 1.0 saved open with everything working, and say what release 1.0 read from them.

They and what release 1.0 wrote of them are in ``tests/data/blends``; ``tests/data/make_blends.py`` made them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.release_1_0_helpers import BLENDS, open_file, why_unreadable

FILES = sorted(path.stem for path in BLENDS.glob("*.blend"))
SUFFIXES = {"juice": ".jm", "skel": ".skel", "x_xy": ".xml", "shift": ".json"}
#: What each file is there for: a model's format, whether its run was baked, and how it was saved.
NAMES = {"hexapod", "humanoid", "own", "pumpjack", "sensor_leg"}
#: World positions of bodies after other releases' arithmetic in single precision (length units).
NEAR = 2e-4

Opened = tuple[str, dict[str, Any]]


@pytest.fixture(params=FILES)
def opened(request: pytest.FixtureRequest, blank: Any) -> Opened:
    """The name of a file, which is open, and what release 1.0 found in it."""
    stem = request.param
    told = json.loads((BLENDS / f"{stem}.json").read_text(encoding="utf-8"))
    why = why_unreadable(BLENDS / f"{stem}.blend", told["blender"])
    if why:
        pytest.skip(why)
    return stem, told


def models() -> dict[str, Any]:
    import bpy

    return {obj.name: obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"}


def parts(rig: Any, role: str) -> list[Any]:
    import bpy

    return [obj for obj in bpy.data.objects if obj.knuckle.model == rig and obj.knuckle.role == role]


def activate(rig: Any) -> None:
    import bpy

    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj == rig)
    bpy.context.view_layer.objects.active = rig
    bpy.context.view_layer.update()


def positions(rig: Any) -> dict[str, np.ndarray]:
    return {obj.name: np.array(obj.matrix_world.translation) for obj in parts(rig, "BODY")}


def switch(rig: Any, drive: str) -> None:
    import bpy

    activate(rig)
    assert bpy.ops.knuckle.set_drive(drive=drive) == {"FINISHED"}
    assert rig.data.knuckle.drive == drive


def exported(rig: Any, folder: Path) -> bytes:
    import bpy

    activate(rig)
    format_ = rig.data.knuckle.format or "juice"
    target = folder / f"out{SUFFIXES[format_]}"
    options = {"format": format_, "meshes": "REFER"}
    assert bpy.ops.export_scene.mechanism(filepath=str(target), **options) == {"FINISHED"}
    return target.read_bytes()


def expected(stem: str, name: str, told: dict[str, Any]) -> bytes:
    """What release 1.0 exported of a model."""
    return (BLENDS / f"{stem}.{name}{SUFFIXES[told['models'][name]['format'] or 'juice']}").read_bytes()


def masses(rig: Any, text: bytes) -> dict[str, float]:
    from addon import formats

    mechanism = formats.loads(text, f"out{SUFFIXES[rig.data.knuckle.format or 'juice']}")
    return {body.name: body.mass for body in mechanism.bodies}


def is_edited_along(obj: Any, other: Any, rig: Any) -> bool:
    return rig.data.knuckle.symmetric and obj.knuckle.twin == other.knuckle.source_id


def test_each_format_is_there_from_the_oldest_and_the_newest_blender() -> None:
    assert {stem.rpartition("-")[0] for stem in FILES} == NAMES
    assert {stem.rpartition("-")[2] for stem in FILES} == {"4.2", "5.2"}
    told = [json.loads((BLENDS / f"{stem}.json").read_text(encoding="utf-8")) for stem in FILES]
    found = [model for each in told for model in each["models"].values()]
    assert {model["format"] for model in found} == {"juice", "skel", "x_xy", "shift", ""}
    assert {"KEYS", "SERVO"} == {model["drive"] for model in found}
    assert sum(path.stat().st_size for path in BLENDS.iterdir()) < 3e6


def test_every_part_is_there(opened: Opened) -> None:
    import bpy

    from addon.blender.data.properties.model import DATA_VERSION

    _stem, told = opened
    assert set(models()) == set(told["models"])
    assert set(told["actions"]) <= {action.name for action in bpy.data.actions}
    for name, rig in models().items():
        was = told["models"][name]
        model = rig.data.knuckle
        assert (model.format, model.drive, model.symmetric) == (was["format"], was["drive"], was["symmetric"])
        assert model.version == DATA_VERSION
        for role, lines in was["parts"].items():
            known = [(obj.name, obj.knuckle) for obj in parts(rig, role)]
            assert sorted([n, k.source_name, k.source_id, k.twin] for n, k in known) == sorted(lines), role
        action = rig.animation_data.action if rig.animation_data else None
        assert (action.name if action else "") == was["action"]


def test_models_go_out_as_the_very_bytes_that_release_1_0_wrote(opened: Opened, tmp_path: Path) -> None:
    stem, told = opened
    for name, rig in models().items():
        assert exported(rig, tmp_path) == expected(stem, name, told), name


def test_files_of_release_1_0_saved_again_export_the_same(opened: Opened, tmp_path: Path) -> None:
    import bpy

    stem, told = opened
    assert bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "again.blend")) == {"FINISHED"}
    open_file(tmp_path / "again.blend")
    for name, rig in models().items():
        assert exported(rig, tmp_path) == expected(stem, name, told), name


def test_files_of_release_1_0_play_as_they_did(opened: Opened) -> None:
    import bpy

    _stem, told = opened
    for rig in models().values():
        rig.data.knuckle.drive = "KEYS"
    for frame, number in zip((1, 10, 20), range(3), strict=True):
        bpy.context.scene.frame_set(frame)
        for name, rig in models().items():
            was = told["models"][name]["positions"][number]
            now = positions(rig)
            assert {body: now[body] for body in was} == {
                body: pytest.approx(np.array(place), abs=NEAR) for body, place in was.items()
            }, (name, frame)


def test_motions_go_out_as_they_did(opened: Opened, tmp_path: Path) -> None:
    import bpy

    from addon import formats

    stem, told = opened
    out = tmp_path / "motion.csv"
    for rig in models().values():
        rig.data.knuckle.drive = "KEYS"
    compared = 0
    for name, rig in models().items():
        kept = BLENDS / f"{stem}.{name}.csv"
        if not told["models"][name]["action"]:
            assert not kept.exists()
            continue
        activate(rig)
        step = 1000.0 * 4 / bpy.context.scene.render.fps
        options = {"servos": "ALL", "keys": "SAMPLED", "use_range": True, "frame_start": 1, "frame_end": 20}
        assert bpy.ops.export_anim.servo_motion(filepath=str(out), step=step, **options) == {"FINISHED"}
        was, now = (
            {track.name: track for track in formats.load_motion(path).trajectories} for path in (kept, out)
        )  # fmt: skip
        assert was.keys() <= now.keys()
        for servo, track in was.items():
            assert np.asarray(now[servo].times) == pytest.approx(np.asarray(track.times), abs=1e-6), servo
            assert np.asarray(now[servo].values) == pytest.approx(np.asarray(track.values), abs=1e-4), servo
        compared += 1
    assert compared


def test_servos_move_the_bodies_and_the_run_is_baked(opened: Opened) -> None:
    import bpy

    from addon.blender.physics.recording.bake import record

    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    for rig in models().values():
        rig.data.knuckle.drive = "KEYS"
    for name, rig in models().items():
        switch(rig, "SERVO")
        run = record(scene, rig, scene.frame_start + 12)
        assert np.isfinite(run.poses).all()
        moved = np.linalg.norm(run.poses[-1, :, :3, 3] - run.poses[0, :, :3, 3], axis=1).max()
        extent = np.ptp(run.poses[0, :-1, :3, 3], axis=0).max()
        assert 1e-4 * extent < moved < 3.0 * extent, name
        assert run.max_joint_separation() < 0.15 * extent, name
        assert bpy.ops.knuckle.bake_physics(frame_end=scene.frame_start + 12) == {"FINISHED"}
        switch(rig, "KEYS")


def test_the_drive_goes_round_and_comes_back(opened: Opened) -> None:
    import bpy

    scene = bpy.context.scene
    for name, rig in models().items():
        switch(rig, "KEYS")
        scene.frame_set(scene.frame_start)
        before = positions(rig)
        for drive in ("SERVO", "LIMP"):
            switch(rig, drive)
            for frame in range(scene.frame_start, scene.frame_start + 4):
                scene.frame_set(frame)
        switch(rig, "KEYS")
        scene.frame_set(scene.frame_start)
        assert positions(rig) == {body: pytest.approx(place, abs=NEAR) for body, place in before.items()}, name


def _heavier(body: Any) -> None:
    body.knuckle.mass *= 2.0


def _renamed(body: Any) -> None:
    body.name = "another name"


def _moved(body: Any) -> None:
    body.location.x += 0.25


@pytest.mark.parametrize("edit", [_heavier, _renamed, _moved], ids=["heavier", "renamed", "moved"])
def test_an_edit_goes_out_and_undo_takes_it_back(opened: Opened, edit: Callable[[Any], None], tmp_path: Path) -> None:
    import bpy

    stem, told = opened
    for name in list(models()):
        rig = models()[name]
        rig.data.knuckle.drive = "KEYS"
        bpy.context.scene.frame_set(1)
        body = max(parts(rig, "BODY"), key=lambda obj: obj.knuckle.mass)
        changed = {obj.name for obj in parts(rig, "BODY") if obj == body or is_edited_along(obj, body, rig)}
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="before")
        edit(body)
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="edit")
        text = exported(models()[name], tmp_path)
        was = expected(stem, name, told)
        assert text != was, name
        if edit is _heavier:
            before, after = masses(rig, was), masses(rig, text)
            factors = {key: 2.0 if key in changed else 1.0 for key in before}
            assert after == {key: pytest.approx(before[key] * factors[key], rel=1e-6) for key in before}, name
        if edit is _renamed:
            assert b"another name" in text
        bpy.ops.ed.undo()
        assert exported(models()[name], tmp_path) == was, name


def test_files_of_release_1_0_have_no_errors(opened: Opened) -> None:
    import bpy

    for name, rig in models().items():
        activate(rig)
        assert bpy.ops.knuckle.check_model() == {"FINISHED"}
        found = [(each.severity, each.message) for each in rig.data.knuckle.findings]
        assert [each for each in found if each[0].lower() == "error"] == [], name


def edited(rig: Any) -> None:
    """Edit parts that are chosen by their names in the file: mass, place, stops, type, and a body's twin."""
    import bpy

    from addon.blender.data.queries import file_name

    name, settings = rig.name, rig.data.knuckle
    settings.drive, settings.symmetric = "KEYS", False
    rig.animation_data_clear()
    activate(rig)
    bpy.ops.knuckle.zero_servos()

    def named(role: str) -> list[Any]:
        return sorted(parts(models()[name], role), key=file_name)

    body = named("BODY")[0]
    body.knuckle.mass, body.location.x = 2.625, body.location.x + 0.125
    for dof in named("JOINT")[0].knuckle.joint.dofs:
        dof.use_lower = dof.use_upper = True
        dof.lower, dof.upper = -0.25, 0.5
    activate(named("JOINT")[1])
    assert bpy.ops.knuckle.set_joint_type(type="prismatic") == {"FINISHED"}
    twins = [obj for obj in named("BODY") if obj.knuckle.twin]
    for obj in twins[:1]:
        obj.location.z += 0.0625
        activate(obj)
        assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}


def facts(text: bytes, format_: str) -> dict[str, list[Any]]:
    """Masses and centers of bodies, places, kinds and stops of joints, by role and name."""
    from addon import formats
    from addon.core.kinematics import joint_frame_world

    mechanism = formats.loads(text, f"out{SUFFIXES[format_]}")
    bodies = {body.id: body for body in mechanism.bodies}
    out = {f"body {body.name}": [body.mass, *(body.pose @ [*body.com, 1.0])] for body in mechanism.bodies}
    for joint in mechanism.joints:
        stops = [math.nan if end is None else end for dof in joint.dofs for end in (dof.lower, dof.upper)]
        out[f"joint {joint.name} {joint.type}"] = [*joint_frame_world(joint, bodies)[:3, 3], *stops]
    return out


def test_edits_do_what_they_do_to_a_model_that_is_imported(opened: Opened, tmp_path: Path) -> None:
    """Edits of the opened file, and of the file that release 1.0 exported from it, give the same model."""
    import bpy

    stem, told = opened
    for name in list(models()):
        open_file(BLENDS / f"{stem}.blend")
        rig = models()[name]
        format_ = rig.data.knuckle.format or "juice"
        bpy.context.scene.frame_set(1)
        edited(rig)
        found = facts(exported(models()[name], tmp_path), format_)
        path = tmp_path / f"{name}{SUFFIXES[format_]}"
        path.write_bytes(expected(stem, name, told))
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.import_scene.mechanism(filepath=str(path), gait=False)
        (fresh,) = models().values()
        edited(fresh)
        (fresh,) = models().values()
        wanted = facts(exported(fresh, tmp_path), format_)
        near = {key: pytest.approx(values, abs=NEAR, nan_ok=True) for key, values in wanted.items()}
        assert found == near, name
