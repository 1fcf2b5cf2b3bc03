"""Models beside others: copies that share nothing of what holds them, models of other files, models on slopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in, rigs_in
from addon.blender.reconcile.build import build
from addon.core.model import Body, Dof, Joint, Mechanism, Shape, World
from tests.support.emptied import empty_file


def pendulum() -> Mechanism:
    """A rod on a hinge at the world, with moments that its box does not have."""
    rod = Body("rod", "Rod", shapes=[Shape("box", {"x": 0.1, "y": 0.1, "z": 1.0})], mass=2.0)
    rod.pose = np.eye(4)
    rod.pose[:3, 3] = [0.5, 0.0, 0.0]
    rod.inertia = np.diag([0.4, 0.5, 0.3])
    place = np.eye(4)
    place[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]
    child = place.copy()
    child[:3, 3] = [-0.5, 0.0, 0.0]
    joint = Joint("pivot", "Pivot", "revolute", None, "rod", place, child, [Dof("rotation")])
    return Mechanism("pendulum", World(gravity=np.array([0.0, 0.0, -9.81])), [rod], [joint])


def step_to(scene: Any, last: int) -> None:
    for frame in range(1, last + 1):
        scene.frame_set(frame)


def limp() -> Any:
    rig = rig_in(build(pendulum()))
    settings(rig).drive = "LIMP"
    return rig


def swing(rig: Any) -> np.ndarray:
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    rod = parts(rig, "BODY")[0]
    return np.array(rod.evaluated_get(depsgraph).matrix_world)[:3, 3] - np.array(rig.matrix_world)[:3, 3]


def test_a_copied_model_has_its_own_anchor_and_inertia_proxies(blank: Any) -> None:
    rig = limp()
    blank.scene.frame_set(1)
    before = set(bpy.data.objects)
    for obj in blank.scene.objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.duplicate()
    copy = next(obj for obj in set(bpy.data.objects) - before if record_of(obj).role == "MODEL")
    copy.location.y = 5.0
    step_to(blank.scene, 30)
    own, other = swing(rig), swing(copy)
    assert own[2] < -0.1 and other == pytest.approx(own, abs=1e-3)
    assert settings(copy).anchor != settings(rig).anchor
    wheels = [record_of(parts(each, "BODY")[0]).inertia_proxy for each in (rig, copy)]
    assert None not in wheels and wheels[0] != wheels[1]
    blank.scene.frame_set(1)
    bpy.context.view_layer.objects.active = copy
    bpy.ops.knuckle.clear_physics()
    assert record_of(parts(copy, "BODY")[0]).mass == pytest.approx(2.0)
    step_to(blank.scene, 30)
    assert swing(rig) == pytest.approx(own, abs=1e-3), "the original hangs as it did"


def test_a_model_may_stand_on_a_slope(blank: Any) -> None:
    """However the user turns it, the scene's gravity is the file's as the model was stood upright."""
    rig = rig_in(build(pendulum()))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.clear_physics()
    rig.rotation_mode = "XYZ"
    rig.rotation_euler[0] = 0.5
    bpy.ops.knuckle.build_physics()
    assert blank.scene.gravity[:] == pytest.approx((0.0, 0.0, -9.81), abs=1e-5)
    settings(rig).gravity = (0.0, 0.0, -5.0)
    assert blank.scene.gravity[:] == pytest.approx((0.0, 0.0, -5.0), abs=1e-5)


def test_models_of_other_files_are_left_alone(blank: Any, tmp_path: Path) -> None:
    rig = limp()
    name = settings(rig).collection.name
    library = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    empty_file()
    with bpy.data.libraries.load(library, link=True) as (_there, here):
        here.collections = [name]
    scene = bpy.context.scene
    scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.update()
    assert list(rigs_in(scene)) == []
    step_to(scene, 5)
    linked = next(obj for obj in scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = linked
    with pytest.raises(RuntimeError, match="linked from another file"):
        bpy.ops.knuckle.set_drive(drive="SERVO")
