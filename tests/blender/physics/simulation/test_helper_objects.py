"""Objects that the simulation needs and users do not: they lie in a collection of their own, which the eye may
hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.physics.actuators.motors import listed_motors
from addon.blender.physics.simulation.setup import build_physics
from addon.blender.reconcile.build import BuildOptions, build
from tests.support.clear_helpers import ARM, FORCES
from tests.support.emptied import empty_file
from tests.support.mechanisms import play, put, world_of
from tests.support.release_1_0_helpers import BLENDS, why_unreadable

FRAMES = 12


def helpers_layer(scene: Any, rig: Any) -> Any:
    top = scene.view_layers[0].layer_collection.children[settings(rig).collection.name]
    return next(child for child in top.children if child.name.startswith("Helpers"))


def run(scene: Any, name: str, drive: str, hidden: bool) -> tuple[np.ndarray, int]:
    """The poses of all bodies frame by frame, and how many motors pushed them."""
    rig = put(ARM) if name == "arm" else rig_in(build(FORCES[name](), options=BuildOptions(gait=False)))
    layer = helpers_layer(scene, rig)
    assert not layer.hide_viewport, "what is hidden is not deleted with the model, which crashes Blender"
    layer.hide_viewport = hidden
    rig.data.knuckle.drive = drive
    bodies = parts(rig, "BODY")
    poses = play(scene, FRAMES, lambda: np.array([world_of(body) for body in bodies]))
    motors = listed_motors(rig)
    held = set(layer.collection.objects)
    assert set(motors) <= held
    assert all(motor.empty_display_size < 1e-3 for motor in motors), "as small as Blender can have it"
    assert not [obj for obj in held if record_of(obj).role in {"BODY", "JOINT", "FRAME", "LIGHT"}]
    return np.array(poses), len(motors)


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
@pytest.mark.parametrize("name", ["arm", *FORCES])
def test_motors_push_while_the_eye_hides_them(blank: Any, name: str, drive: str) -> None:
    hidden, motors = run(blank.scene, name, drive, True)
    empty_file()
    shown, _ = run(blank.scene, name, drive, False)
    assert np.array_equal(hidden, shown)
    assert motors > 0 or (name, drive) == ("arm", "LIMP")
    if drive == "LIMP" and name != "ball":  # servos hold still, and the ball hangs where it stays
        assert np.ptp(hidden, axis=0).max() > 1e-4


@pytest.mark.parametrize("path", sorted(BLENDS.glob("*.blend")), ids=lambda path: path.stem)
def test_in_files_of_release_1_0_helpers_stay_in_one_collection(blank: Any, path: Path) -> None:
    if why := why_unreadable(path, path.stem.rpartition("-")[2]):
        pytest.skip(why)
    scene = bpy.context.scene
    for rig in [obj for obj in scene.objects if record_of(obj).role == "MODEL"]:
        build_physics(scene, rig)
        rig.data.knuckle.drive = "SERVO"
        play(scene, 3, lambda: None)
        top = settings(rig).collection
        folders = {top, *top.children_recursive}
        placed = [
            folders.intersection(obj.users_collection) for obj in [*listed_motors(rig), settings(rig).anchor] if obj
        ]
        assert all(len(each) == 1 for each in placed)
