"""Helpers for tests in unusual scenes: an examination of a mechanism, compared with the same in an empty scene."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of
from addon.blender.data.queries import parts
from addon.core.model import Array
from tests.support import operator_cases
from tests.support.emptied import empty_file
from tests.support.scenes import pick

#: A trunk on two legs with a gait, and a tool that lies beside it.
DUO = operator_cases.DUO.replace("<Gravity>0.0<", "<Gravity>9.81<")
#: How many frames are played on keys and under physics.
PLAYED, FALLEN = 12, 8
_SECONDS = 0.5
#: Metres within which two runs of one simulation are alike: which order Bullet has the bodies in tells at this level.
_ALIKE, _FELL = 1e-5, 2e-3

Places = dict[tuple[str, str], Array]


def model_file(folder: Path, name: str = "duo.jm") -> Path:
    """The model as a file: a trunk on two legs with a gait, and a tool that lies beside it."""
    path = folder / name
    path.write_text(DUO)
    return path


def bring(folder: Path, name: str = "duo.jm", **options: Any) -> Any:
    """Import the model by its operator, as a step that can be undone; its armature."""
    before = set(rigs())
    options = {"filepath": str(model_file(folder, name)), "gait_seconds": _SECONDS, **options}
    assert bpy.ops.import_scene.mechanism("EXEC_DEFAULT", True, **options) == {"FINISHED"}
    (rig,) = set(rigs()) - before
    return rig


def rigs() -> list[Any]:
    """All models of the file, also those of other scenes."""
    return [obj for obj in bpy.data.objects if record_of(obj).role == "MODEL"]


def places(rig: Any, roles: tuple[str, ...] = ("BODY", "JOINT")) -> Places:
    """Where a model's parts are (4, 4), by role and id, from where the armature would be without the user's moves."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    depsgraph.update()
    return {
        (role, record_of(obj).source_id): np.array(obj.evaluated_get(depsgraph).matrix_world)
        for role in roles
        for obj in parts(rig, role)
    }


def played(rig: Any, count: int = PLAYED, scene: Any = None) -> list[Places]:
    """The bodies at each of the first frames of the scene, one after the other."""
    scene = scene or bpy.context.scene
    out = []
    for frame in range(scene.frame_start, scene.frame_start + count):
        scene.frame_set(frame)
        out.append(places(rig, ("BODY",)))
    scene.frame_set(scene.frame_start)
    return out


def fallen(rig: Any, drive: str = "LIMP") -> list[Places]:
    """The bodies at each of the first frames of physics, with the drive switched by its operator and then back."""
    pick(rig)
    assert bpy.ops.knuckle.set_drive(drive=drive) == {"FINISHED"}
    scene = bpy.context.scene
    start = scene.rigidbody_world.point_cache.frame_start
    scene.frame_set(start)
    out = []
    for frame in range(start, start + FALLEN):
        scene.frame_set(frame)
        out.append(places(rig, ("BODY",)))
    scene.frame_set(start)
    pick(rig)
    assert bpy.ops.knuckle.set_drive(drive="KEYS") == {"FINISHED"}
    scene.frame_set(start)
    return out


def exported(rig: Any, folder: Path) -> str:
    """What the exporter writes of a model."""
    pick(rig)
    path = folder / "out" / "again.jm"
    path.parent.mkdir(exist_ok=True)
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return path.read_text()


@functools.cache
def clean() -> dict[str, Any]:
    """How the model stands, plays and falls in an empty scene: asked for before an odd one is made."""
    with tempfile.TemporaryDirectory() as folder:
        rig = bring(Path(folder))
        found = {"stood": places(rig), "played": played(rig), "fell": fallen(rig)}
    empty_file()
    return found


def assert_alike(found: Places, wanted: Places, within: float = _ALIKE, moved: Any = None) -> None:
    """The same parts in the same places, or all of them moved by one matrix."""
    assert found.keys() == wanted.keys()
    for key, place in wanted.items():
        there = place if moved is None else np.array(moved) @ place
        assert found[key] == pytest.approx(there, abs=within), (key, np.abs(found[key] - there).max())


def assert_works(
    rig: Any, folder: Path, *, plays: bool = True, falls: bool = True, still: bool = False, moved: Any = None
) -> None:
    """The whole examination. ``plays`` and ``falls`` are off where the scene's own rate or world makes that another,
    ``still`` is on where it takes no steps; ``moved``: by what (4, 4) the user moved the model."""
    wanted = clean()
    bpy.context.scene.frame_set(bpy.context.scene.frame_start)
    assert_alike(places(rig), wanted["stood"], moved=moved)
    seen = played(rig)
    if plays:
        for found, there in zip(seen, wanted["played"], strict=True):
            assert_alike(found, there, moved=moved)
    assert max(np.abs(seen[-1][key] - seen[0][key]).max() for key in seen[0]) > 1e-2, "the gait moves something"
    if bpy.context.scene.rigidbody_world is not None:
        dropped = fallen(rig)
        if falls and not still:
            for found, there in zip(dropped, wanted["fell"], strict=True):
                assert_alike(found, there, _FELL, moved=moved)
        fall = dropped[0]["BODY", "4"][2, 3] - dropped[-1]["BODY", "4"][2, 3]
        assert fall == pytest.approx(0.0, abs=_ALIKE) if still else fall > 1e-3, "the tool falls"
    assert exported(rig, folder) == DUO
