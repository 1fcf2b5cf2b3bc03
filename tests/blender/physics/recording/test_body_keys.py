"""Keys for every body: the model plays what physics did to the last gap, on any machine, and only while it shall."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.bake_helpers import CRAWLER, stand, state
from tests.support.mechanisms import key, objects_of, play, put, world_of
from tests.support.truth_helpers import SOFT

#: Reads where bodies are at every frame in a Blender that has never heard of us.
ALONE = """
import json, sys
import bpy

bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
scene, seen = bpy.context.scene, []
assert not hasattr(bpy.types.Object, "knuckle") and scene.rigidbody_world is None
for frame in json.loads(sys.argv[3]):
    scene.frame_set(frame)
    seen.append([[list(row) for row in bpy.data.objects[name].matrix_world] for name in json.loads(sys.argv[4])])
open(sys.argv[2], "w").write(json.dumps(seen))
"""


def run(rig: Any, frames: int) -> np.ndarray:
    """World poses (frames, bodies, 4, 4) of a run from the start."""
    import bpy

    bodies = objects_of(rig, "BODY").values()
    return np.array(play(bpy.context.scene, frames, lambda: [world_of(obj) for obj in bodies]))


def bake(rig: Any, last: int, **options: Any) -> Any:
    import bpy

    from addon.blender.physics.recording.bake import bake

    return bake(bpy.context.scene, rig, last, all_bodies=True, **options)[0]


@pytest.mark.parametrize("how", ["as designed", "elsewhere", "in the ground"])
def test_every_body_is_where_it_was_at_every_frame(blank: Any, how: str) -> None:
    rig = put(CRAWLER.replace("<CFM>1e-06</CFM>", "<CFM>0.01</CFM>"))
    stand(rig, how)
    rig.data.knuckle.drive = "SERVO"
    seen = run(rig, 80)
    bake(rig, 80)
    assert np.abs(run(rig, 80) - seen).max() < 1e-4
    with_bodies = rig.data.knuckle.body_keys
    rig.animation_data.action.knuckle.bodies = None
    assert np.abs(run(rig, 80) - seen).max() > 1e-3, "bones alone would not have it so"
    assert with_bodies.hide_viewport


def test_without_the_extension_and_the_world_it_plays_the_same(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    rig = put(SOFT)
    key(rig, 11, [(1, 0.0), (40, 0.7)])
    rig.data.knuckle.drive = "SERVO"
    seen = run(rig, 40)
    bake(rig, 40)
    clear_physics(blank.scene, rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "plays.blend"))
    names = [obj.name for obj in objects_of(rig, "BODY").values()]
    frames = [40, 1, 17, *range(2, 40)]  # in any order
    words = [str(tmp_path / "plays.blend"), str(tmp_path / "seen.json"), json.dumps(frames), json.dumps(names)]
    subprocess.run([sys.executable, "-c", ALONE, *words], check=True, cwd=tmp_path, env={}, capture_output=True)
    alone = np.array(json.loads((tmp_path / "seen.json").read_text()))
    assert np.abs(alone - seen[np.array(frames) - 1]).max() < 1e-4


def test_bodies_leave_their_keys_for_another_action_and_for_physics(blank: Any) -> None:
    rig = put(CRAWLER, gait=False)
    key(rig, 21, [(1, 0.0), (40, 0.6)])
    mine = rig.animation_data.action
    on_keys = run(rig, 40)
    rig.data.knuckle.drive = "LIMP"
    limp = run(rig, 40)
    baked = bake(rig, 40)
    assert np.abs(run(rig, 40) - limp).max() < 1e-4
    use(rig, mine)
    for bone in rig.pose.bones:  # what that Action does not key is where the other left it
        if bone.name != objects_of(rig, "BODY")["2"].parent_bone:
            bone.matrix_basis.identity()
    assert np.abs(run(rig, 40) - on_keys).max() < 1e-4
    rig.data.knuckle.drive = "LIMP"
    assert np.abs(run(rig, 40) - limp).max() < 1e-3, "physics begins where the bones are"
    rig.data.knuckle.drive = "KEYS"
    use(rig, baked)
    assert np.abs(run(rig, 40) - limp).max() < 1e-4


def use(rig: Any, action: Any) -> None:
    from addon.blender.compat import use_action

    use_action(rig, action)


def test_a_second_bake_has_its_own_keys_and_the_first_keeps_its(blank: Any) -> None:
    import bpy

    rig = put(CRAWLER)
    runs, actions = [], []
    for drive in ("LIMP", "SERVO"):
        rig.data.knuckle.drive = drive
        runs.append(run(rig, 30))
        actions.append(bake(rig, 30))
    assert len(bpy.data.armatures) == 2
    for action, seen in zip(actions, runs, strict=True):
        use(rig, action)
        assert np.abs(run(rig, 30) - seen).max() < 1e-4


def test_taken_away_nothing_is_left_but_actions(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.recording import remove_body_keys

    rig = put(CRAWLER)
    rig.data.knuckle.drive = "LIMP"
    before = sorted(obj.name for obj in bpy.data.objects)
    bake(rig, 10)
    assert sorted(obj.name for obj in bpy.data.objects) != before
    remove_body_keys(rig)
    assert sorted(obj.name for obj in bpy.data.objects) == before
    assert not any(len(obj.constraints) for obj in objects_of(rig, "BODY").values())
    assert len(bpy.data.armatures) == 1


def test_stopped_half_way_it_leaves_everything_as_it_was(blank: Any) -> None:
    from addon.blender.physics.recording.bake import bake_steps

    blank.scene.frame_end = 40
    rig = put(CRAWLER)
    rig.data.knuckle.drive = "LIMP"
    blank.scene.frame_set(7)
    before = state(rig)
    steps = bake_steps(blank.scene, rig, 300, all_bodies=True)
    for _ in range(5):
        next(steps)
    steps.close()
    assert state(rig) == before
    assert rig.data.knuckle.body_keys is None
    assert not any(len(obj.constraints) for obj in objects_of(rig, "BODY").values())


def test_the_model_goes_out_of_blender_as_it_came(blank: Any) -> None:
    from addon.blender.scene.read.mechanism import extract

    rig = put(CRAWLER)
    rig.data.knuckle.drive = "SERVO"
    before = [body.pose.tolist() for body in extract(rig.data.knuckle.collection).bodies]
    bake(rig, 30)
    blank.scene.frame_set(30)
    assert [body.pose.tolist() for body in extract(rig.data.knuckle.collection).bodies] == before
