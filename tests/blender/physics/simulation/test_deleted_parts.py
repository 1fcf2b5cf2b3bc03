"""What the user deletes, in the middle of a run or before it: nothing that is left points at what is gone, nothing
falls unseen, and what can be put back is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.conftest import ROOT
from tests.support.degrees_helpers import put
from tests.support.losses_helpers import delete
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.world_joints_helpers import anchors, begin, gaps, skel

BALL = "<geometry><sphere><radius>0.2</radius></sphere></geometry>"
HULL = "<geometry><box><size>0.4 0.4 0.4</size></box></geometry>"


def compound() -> Any:
    """Two bodies on hinges at the world and on each other that collide with other shapes than are seen."""

    def link(name: str, y: float) -> str:
        return (
            f'<body name="{name}"><transformation>0 {y} 5 0 0 0</transformation><inertia><mass>1</mass></inertia>'
            f"<visualization_shape>{BALL}</visualization_shape><collision_shape>{HULL}</collision_shape></body>"
        )

    def hinge(name: str, parent: str, child: str) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
            "<axis><xyz>1 0 0</xyz></axis></joint>"
        )

    text = (
        '<skel version="1.0"><world><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="s">'
        + link("one", 0)
        + link("two", 0.05)
        + hinge("a", "world", "one")
        + hinge("b", "one", "two")
        + "</skeleton></world></skel>"
    )
    return formats.loads(text.encode(), "m.skel")


def named(rig: Any, name: str) -> Any:
    """The body that the file calls so."""
    return next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_name == name)


def selectable(rig: Any) -> list[Any]:
    """What A selects of a model."""
    found = rig.data.knuckle.collection.all_objects
    return [obj for obj in found if not obj.hide_select and not obj.hide_viewport]


def dangling(scene: Any) -> list[str]:
    """Constraints in the world without two rigid bodies."""
    constraints = [(obj.name, obj.rigid_body_constraint) for obj in scene.rigidbody_world.constraints.objects]
    return [
        name
        for name, held in constraints
        if any(end is None or end.rigid_body is None for end in (held.object1, held.object2))
    ]


def test_a_model_that_is_selected_and_deleted_in_a_run_leaves_no_constraint(blank: Any) -> None:
    rig = put(compound(), physics=True)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 10, lambda: None)
    assert len(blank.scene.rigidbody_world.constraints.objects) == 6, "two joints, two motors, two welds of flywheels"
    delete(selectable(rig))
    assert not blank.scene.rigidbody_world.constraints.objects[:]
    for frame in [*range(11, 15), *range(1, 8)]:
        blank.scene.frame_set(frame)


#: Blender itself frees some of this twice when it closes: the process ends before that.
DELETIONS = """
import os, sys
import bpy
import addon
from tests.blender.physics.simulation import test_deleted_parts as losses
what = sys.argv[1]
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
bpy.context.scene.knuckle_simulate_here = True
rig = losses.put(losses.compound(), physics=True)
rig.data.knuckle.drive = "SERVO"
scene = bpy.context.scene
for frame in range(1, 11):
    scene.frame_set(frame)
(anchor,) = losses.anchors()
anchor.hide_viewport = anchor.hide_select = False
bpy.context.view_layer.update()
losses.delete([anchor] if what == "anchor" else list(losses.objects_of(rig, "BODY").values()))
print(bool(losses.dangling(scene)))
for frame in [*range(11, 15), *range(1, 8)]:
    scene.frame_set(frame)
    if losses.dangling(scene):
        print("dangling at", frame)
print(*[line.where for line in rig.data.knuckle.report if line.code == "constraint-lost"], flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(("what", "told"), [("anchor", "a"), ("bodies", "")])
def test_a_run_takes_no_step_with_what_points_at_deleted_bodies(what: str, told: str) -> None:
    pytest.importorskip("bpy", reason="Blender is not here")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", DELETIONS, what]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["True", told]


#: What is freed is overwritten, so that whoever still looks at it crashes, and at every time.
REMOVALS = """
import bpy
import addon
from tests.blender.physics.simulation import test_deleted_parts as losses
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
bpy.context.scene.knuckle_simulate_here = True
rig = losses.put(losses.compound(), physics=True)
rig.data.knuckle.self_collide = False
rig.data.knuckle.drive = "SERVO"
scene = bpy.context.scene
for what in ("motor", "weld", "joint"):
    losses.play(scene, 6, lambda: None)
    joint = losses.objects_of(rig, "JOINT")["s/b"]
    weld = losses.named(rig, "one").knuckle.inertia_proxy_constraint
    held = {"motor": joint.knuckle.joint.motor, "joint": joint, "weld": weld}
    bpy.data.objects.remove(held[what])
    for frame in range(7, 10):
        scene.frame_set(frame)
    print(what, flush=True)
losses.play(scene, 6, lambda: None)
bpy.ops.wm.read_factory_settings(use_empty=True)
"""


def test_a_script_may_remove_constraints_in_a_run() -> None:
    """Blender alone takes its next step with a constraint that is gone."""
    bpy = pytest.importorskip("bpy", reason="Blender is not here")
    if bpy.app.version < (5, 0):
        pytest.skip("Blender 4 frees a constraint that its bodies still point at")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_PERTURB_": "165"}
    command = [sys.executable, "-c", REMOVALS]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-3:]) == (0, ["motor", "weld", "joint"]), done.stderr


@pytest.mark.parametrize("switch", ["before", "after"])
def test_an_anchor_that_was_deleted_comes_back_with_the_run(blank: Any, switch: str) -> None:
    """Nobody builds physics again, and no frame was simulated yet."""
    mechanism = skel()
    rig = put(mechanism, physics=True)
    if switch == "before":
        rig.data.knuckle.drive = "LIMP"
    (anchor,) = anchors()
    anchor.hide_viewport = anchor.hide_select = False
    blank.view_layer.update()
    delete([anchor])
    begin(rig, mechanism)
    rig.data.knuckle.drive = "LIMP"
    assert max(max(each) for each in play(blank.scene, 30, lambda: gaps(rig))) < 0.002


def test_a_deleted_body_leaves_nothing_that_falls_or_is_in_the_way(blank: Any) -> None:
    import bpy

    rig = put(compound(), physics=True)
    rig.data.knuckle.drive = "LIMP"
    shapes = {obj.parent.name: obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.shape >= 0}
    assert {shape.rigid_body.type for shape in shapes.values()} == {"PASSIVE"}
    assert not any(any(shape.rigid_body.collision_collections) for shape in shapes.values())
    left = shapes["two"]
    bpy.data.objects.remove(named(rig, "two"))
    blank.view_layer.update()
    height = world_of(left)[2, 3]
    play(blank.scene, 30, lambda: None)
    assert world_of(left)[2, 3] == pytest.approx(height, abs=1e-5)
    assert left.name not in blank.scene.rigidbody_world.collection.objects
    assert shapes["one"].name in blank.scene.rigidbody_world.collection.objects


def test_clean_up_takes_hidden_shapes_and_their_meshes(blank: Any) -> None:
    import bpy

    rig = put(compound(), physics=True)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 5, lambda: None)
    shapes = [obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.shape >= 0]
    names, meshes = {obj.name for obj in shapes}, {obj.data.name for obj in shapes}
    delete(selectable(rig))
    assert names <= set(bpy.data.objects.keys())
    assert bpy.ops.knuckle.clean_up() == {"FINISHED"}
    assert not names & set(bpy.data.objects.keys())
    assert not meshes & set(bpy.data.meshes.keys())
    assert not [obj for obj in blank.scene.objects if obj.type in {"MESH", "EMPTY"}]
    assert blank.scene.rigidbody_world is None


def test_clean_up_leaves_the_bodies_that_the_user_kept_whole(blank: Any) -> None:
    import bpy

    rig = put(compound(), physics=True)
    rig.data.knuckle.drive = "SERVO"
    play(blank.scene, 5, lambda: None)
    kept = named(rig, "one")
    delete([obj for obj in selectable(rig) if obj != kept])
    assert bpy.ops.knuckle.clean_up() == {"FINISHED"}
    (child,) = kept.children
    assert child.knuckle.shape >= 0 and len(child.data.vertices) == 8
    assert kept.rigid_body is None and len(kept.data.vertices) > 8


def test_a_floating_joint_that_is_given_a_damper_has_it_in_the_next_run(blank: Any) -> None:
    """Falling against a damper: m v' = m g - c v."""
    mechanism = skel()
    mechanism.bodies, mechanism.joints = mechanism.bodies[:1], mechanism.joints[:1]
    mechanism.joints[0].type = mechanism.joints[0].dofs[0].kind = "free"
    rig = put(mechanism, physics=True)
    (upper,) = objects_of(rig, "BODY").values()
    (empty,) = objects_of(rig, "JOINT").values()
    rig.data.knuckle.drive = "LIMP"
    assert empty.rigid_body_constraint is None
    empty.knuckle.joint.dofs[0].damping = 5.0
    heights = play(blank.scene, 61, lambda: world_of(upper)[2, 3])
    fallen = 9.81 / 5.0 * (1.0 - (1.0 - np.exp(-5.0)) / 5.0)
    assert heights[0] - heights[-1] == pytest.approx(fallen, rel=0.05)
