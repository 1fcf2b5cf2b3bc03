"""Mechanisms simulated in a scene of their own: what is shown, baked and saved, and that the user's scene stays."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.build import build
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in, rigs_in, simulation_scene_of
from addon.blender.physics.bodies import collision
from addon.blender.physics.recording.accuracy import accuracy_of_recording
from addon.blender.physics.recording.bake import bake, record
from addon.blender.physics.simulation import cached_frames, simulation_scene
from addon.blender.physics.simulation.cached_frames import frame_note
from addon.blender.physics.simulation.session import all_sessions, session_of
from addon.blender.physics.simulation.setup import clear_physics
from addon.blender.physics.workarounds.constraint_removal import is_emptying_simulation
from addon.blender.scene.read.mechanism import extract
from addon.core.accuracy import accuracy_rows
from addon.core.model import Body, Dof, Joint, Mechanism, Shape
from tests.conftest import ROOT
from tests.support.bake_helpers import CRAWLER
from tests.support.emptied import empty_file
from tests.support.mechanisms import curves_of, put, world_of
from tests.support.scenes import OWN

RATES = (24, 25, 30, 60)
OWN_MODELS = sorted(path for path in OWN.glob("*/*") if path.suffix in {".jm", ".skel", ".xml", ".json"})


@pytest.fixture
def scene(blank: Any) -> Any:
    """An empty scene whose mechanisms are simulated in a scene of their own."""
    blank.scene.knuckle_simulate_here = False
    return blank.scene


def crawler(drive: str = "LIMP") -> Any:
    rig = put(CRAWLER)
    settings(rig).drive = drive
    return rig


def places(rig: Any) -> np.ndarray:
    return np.array([world_of(obj)[:3, 3] for obj in parts(rig, "BODY")])


def shown(scene: Any, rig: Any, last: int) -> np.ndarray:
    """Positions of all bodies at each frame as the scene is played from its first."""
    seen = []
    for frame in range(scene.frame_start, last + 1):
        scene.frame_set(frame)
        seen.append(places(rig))
    return np.array(seen)


def recorded(scene: Any, rig: Any, last: int) -> np.ndarray:
    return record(scene, rig, last).poses[:, :-1, :3, 3]


def count_steps(act: Callable[[], Any]) -> Counter[str]:
    """Substeps of all frames that each scene's world is stepped to meanwhile."""
    steps: Counter[str] = Counter()

    def count(scene: Any, _depsgraph: Any) -> None:
        world = scene.rigidbody_world
        if world is not None and world.enabled and scene.frame_current > world.point_cache.frame_start:
            steps[scene.name] += world.substeps_per_frame

    bpy.app.handlers.frame_change_post.append(count)
    try:
        act()
    finally:
        bpy.app.handlers.frame_change_post.remove(count)
    return steps


def user_settings(scene: Any) -> dict[str, Any]:
    return {
        "rate": (scene.render.fps, scene.render.fps_base),
        "start": scene.frame_start,
        "gravity": tuple(scene.gravity),
        "range": (scene.frame_start, scene.frame_end),
    }


# ---------------------------------------------------------------- the user's scene


def test_scene_keeps_its_settings_and_gets_no_helper_objects(scene: Any) -> None:
    """Compared with the same file imported without physics."""
    scene.gravity = (0.0, 0.0, -1.0)
    before = user_settings(scene)
    plain = put(CRAWLER, physics=False)
    wanted = Counter(obj.name.split(".")[0] for obj in scene.objects)
    bpy.data.batch_remove([*settings(plain).collection.all_objects])
    rig = crawler("SERVO")
    shown(scene, rig, 5)
    bake(scene, rig, 5)
    assert user_settings(scene) == before
    assert Counter(obj.name.split(".")[0] for obj in scene.objects) == wanted
    assert not scene.rigidbody_world.enabled, "it holds the rigid bodies, and is never stepped"
    scene.frame_set(1)
    settings(rig).drive = "LIMP"
    simulation = simulation_scene_of(scene)
    assert simulation.name.startswith("."), "Blender leaves such names out of its lists"
    assert tuple(simulation.gravity) == pytest.approx((0.0, 0.0, -9.81))


def test_world_is_not_stepped_while_all_mechanisms_follow_their_bones(scene: Any) -> None:
    rig = crawler("KEYS")
    assert not count_steps(lambda: shown(scene, rig, 10))
    settings(rig).drive = "LIMP"
    assert count_steps(lambda: shown(scene, rig, 10))
    settings(rig).drive = "KEYS"
    assert not count_steps(lambda: shown(scene, rig, 10))


def test_simulation_scene_goes_with_the_last_mechanism(scene: Any) -> None:
    one, two = crawler(), crawler()
    clear_physics(scene, one)
    assert simulation_scene_of(scene) is not None
    assert np.abs(np.diff(shown(scene, two, 20), axis=0)).max() > 0.01
    clear_physics(scene, two)
    assert list(bpy.data.scenes) == [scene]
    ours = [obj for obj in bpy.data.objects if record_of(obj).model is not None]
    assert not [obj.name for obj in ours if obj.name not in scene.objects]


# ---------------------------------------------------------------- frame rates


def test_bakes_solve_the_same_count_of_substeps_at_every_frame_rate(scene: Any) -> None:
    """And controls at least 60 times per second; in the air the paths are the same, before contacts part them."""
    rig, paths, solved = crawler(), {}, {}
    for rate in RATES:
        scene.render.fps = rate
        found: list[np.ndarray] = []
        steps = count_steps(lambda found=found, last=1 + rate: found.append(recorded(scene, rig, last)))
        paths[rate], solved[rate] = found[0][rate // 6], sum(steps.values())
    for rate in RATES:
        assert rate % 6 or np.abs(paths[rate] - paths[60]).max() < 2e-3, rate
        assert solved[60] * 0.94 < solved[rate] < solved[60] * 1.1, rate


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
@pytest.mark.parametrize("rate", RATES)
def test_played_path_is_the_baked_one(scene: Any, rate: int, drive: str) -> None:
    scene.render.fps = rate
    rig = crawler(drive)
    scene.render.fps = rate
    path = shown(scene, rig, rate // 2)
    assert np.abs(path - recorded(scene, rig, rate // 2)).max() < 1e-3
    assert np.abs(path[-1] - path[0]).max() > 0.1


def test_free_fall_between_the_steps(scene: Any) -> None:
    """The trunk's and all bodies' common center falls g t²/2 before anything touches the ground."""
    scene.render.fps = 25
    rig = crawler()
    masses = np.array([record_of(obj).mass for obj in parts(rig, "BODY")])
    height = shown(scene, rig, 9)[..., 2] @ masses / masses.sum()
    time = np.arange(9) / 25.0
    assert height - height[0] == pytest.approx(-9.81 * time**2 / 2, abs=9.81 * time[-1] / 600)


# ---------------------------------------------------------------- frames


def test_earlier_frames_are_shown_again_and_the_simulation_goes_on(scene: Any) -> None:
    scene.render.fps = 24
    rig = crawler()
    scene.render.fps = 24
    through = shown(scene, rig, 20)
    for frame in range(1, 13):
        scene.frame_set(frame)
    for frame in (5, 9, 3, 12):
        scene.frame_set(frame)
        assert places(rig) == pytest.approx(through[frame - 1], abs=1e-5), frame
        assert not frame_note(scene)
    for frame in range(13, 21):
        scene.frame_set(frame)
    assert places(rig) == pytest.approx(through[19], abs=1e-3)


def test_frame_that_was_jumped_to_is_not_simulated_and_says_so(scene: Any) -> None:
    rig = crawler()
    rig.animation_data.action = None  # else its gait moves the bones
    scene.frame_set(1)
    start = places(rig)
    scene.frame_set(15)
    assert places(rig) == pytest.approx(start, abs=1e-6)
    assert "not simulated" in frame_note(scene)
    shown(scene, rig, 6)
    assert not frame_note(scene)
    scene.frame_set(30)
    assert "up to frame 6" in frame_note(scene)


def test_edited_mechanism_is_simulated_again(scene: Any) -> None:
    rig = crawler()
    shown(scene, rig, 10)
    body = parts(rig, "BODY")[1]
    record_of(body).mass *= 5.0
    scene.frame_set(8)
    assert "present settings" in frame_note(scene)
    shown(scene, rig, 10)
    assert not frame_note(scene)


def test_keyed_drive_hands_over_at_its_frame(scene: Any) -> None:
    """On its animated bones until frame 10, then falling, then on its bones again."""
    rig = crawler("KEYS")
    keyed = shown(scene, rig, 25)
    for frame, drive in ((1, "KEYS"), (10, "LIMP"), (20, "KEYS")):
        settings(rig).drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    path = shown(scene, rig, 25)
    assert path[:9] == pytest.approx(keyed[:9], abs=1e-4)
    assert np.abs(path[18] - keyed[18]).max() > 0.05
    assert path[20:] == pytest.approx(keyed[20:], abs=1e-4)


def test_a_drive_that_is_switched_later_begins_at_that_frame(scene: Any) -> None:
    """It falls from the pose of its bones there. Played from the first frame, all is as usual."""
    scene.render.fps = 24
    rig = crawler("KEYS")
    for frame in range(1, 11):
        scene.frame_set(frame)
    at = places(rig)
    settings(rig).drive = "LIMP"
    assert places(rig) == pytest.approx(at, abs=1e-5)
    masses = np.array([record_of(obj).mass for obj in parts(rig, "BODY")])
    heights = [float(at[:, 2] @ masses / masses.sum())]
    for frame in range(11, 15):
        scene.frame_set(frame)
        heights.append(float(places(rig)[:, 2] @ masses / masses.sum()))
    time = np.arange(5) / 24.0
    assert np.array(heights) - heights[0] == pytest.approx(-9.81 * time**2 / 2, abs=9.81 * time[-1] / 600)
    scene.frame_set(12)
    assert float(places(rig)[:, 2] @ masses / masses.sum()) == pytest.approx(heights[2], abs=1e-5)
    through = shown(scene, rig, 12)
    assert through[-1] == pytest.approx(recorded(scene, rig, 12)[-1], abs=1e-3)


@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "animated"])
def test_chosen_objects_of_the_user_are_collided_with(scene: Any, moving: bool) -> None:
    """On a slab whose top is at 1, no part of the mechanism comes to rest below; the slab stays, or follows its
    keyframes."""
    mesh = bpy.data.meshes.new("slab")
    corners = [(x, y, z) for x in (-9.0, 9.0) for y in (-9.0, 9.0) for z in (0.5, 1.0)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    slab = bpy.data.objects.new("slab", mesh)
    chosen = bpy.data.collections.new("chosen")
    chosen.objects.link(slab)
    scene.collection.children.link(chosen)
    if moving:
        for frame, height in ((1, 0.0), (60, 0.5)):
            slab.location.z = height
            slab.keyframe_insert("location", frame=frame)
    rig = crawler()
    rig.location.z = 1.5
    low = shown(scene, rig, 60)[-1, :, 2].min()
    scene.frame_set(1)
    scene.knuckle_obstacles = chosen
    high = shown(scene, rig, 60)[-1, :, 2].min()
    assert low < 0.9, "without it, it falls to the ground"
    assert high > 1.0 + (0.45 if moving else 0.0)
    assert slab.rigid_body is None and [obj for obj in scene.objects if obj.type == "MESH"].count(slab) == 1


# ---------------------------------------------------------------- no traces


def test_simulated_poses_are_no_edits_and_leave_no_trace(scene: Any) -> None:
    rig = crawler()
    parent_inverses = {obj: obj.matrix_parent_inverse.copy() for obj in parts(rig, "BODY")}
    before = extract(rig)
    shown(scene, rig, 20)
    after = extract(rig)
    for one, two in zip(before.bodies, after.bodies, strict=True):
        assert (one.pose == two.pose).all(), one.name
    settings(rig).drive = "KEYS"
    assert {obj: obj.matrix_parent_inverse.copy() for obj in parts(rig, "BODY")} == parent_inverses
    assert not any(record_of(obj).is_at_simulated_pose for obj in scene.objects)


def test_saved_file_has_no_simulated_pose_and_simulates_the_same(scene: Any, tmp_path: Path) -> None:
    rig = crawler()
    path = shown(scene, rig, 20)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "run.blend"))
    bpy.context.view_layer.update()
    assert places(rig) == pytest.approx(path[-1], abs=1e-5), "it is still shown after saving"
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "run.blend"))
    opened = bpy.context.scene
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    bpy.context.view_layer.update()
    assert opened.frame_current == 1
    assert places(rig) == pytest.approx(path[0], abs=1e-5)
    assert shown(opened, rig, 20) == pytest.approx(path, abs=1e-3)


def test_undo_leaves_a_simulation_that_plays_again(scene: Any) -> None:
    rig = crawler()
    bpy.ops.ed.undo_push(message="imported")
    path = shown(scene, rig, 10)
    bpy.ops.ed.undo_push(message="played")
    bpy.ops.mesh.primitive_cube_add(location=(9.0, 9.0, 9.0))
    bpy.ops.ed.undo_push(message="cube")
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    assert shown(bpy.context.scene, rig, 10) == pytest.approx(path, abs=1e-3)
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    assert shown(bpy.context.scene, rig, 10) == pytest.approx(path, abs=1e-3)


# ---------------------------------------------------------------- deleted parts


def delete(*objects: Any) -> None:
    """Delete objects as the user does, in the scene of the window."""
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]
    assert bpy.ops.object.delete() == {"FINISHED"}


def check_deleted_body(frame: int) -> None:
    """Delete a body at a frame: the rest goes on without it, also from the first frame."""
    scene = bpy.context.scene
    scene.knuckle_simulate_here = False
    rig = crawler()
    for number in range(1, frame + 1):
        scene.frame_set(number)
    body = parts(rig, "BODY")[1]
    delete(body)
    for number in range(frame + 1, frame + 6):
        scene.frame_set(number)
    simulation = simulation_scene_of(scene)
    assert body.name not in simulation.objects
    assert body.name not in simulation.rigidbody_world.collection.objects
    constraints = [empty.rigid_body_constraint for empty in simulation.rigidbody_world.constraints.objects]
    assert body not in {end for each in constraints for end in (each.object1, each.object2)}
    path = shown(scene, rig, 20)
    assert np.abs(path[-1] - path[0]).max() > 0.05
    assert np.abs(np.diff(path, axis=0)).max() < 0.4, "it falls, and nothing flies away"


def check_deleted_body_beside_own(drive: str) -> None:
    """Delete a body beside a rigid body of the user's, whose world has the mechanism's bodies and constraints too."""
    scene = bpy.context.scene
    scene.knuckle_simulate_here = False
    bpy.ops.mesh.primitive_cube_add(location=(3.0, 3.0, 50.0))
    cube = bpy.context.object
    bpy.ops.rigidbody.object_add()
    rig = crawler(drive)
    shown(scene, rig, 12)
    delete(parts(rig, "BODY")[1])
    for frame in (*range(13, 25), *range(1, 25)):
        scene.frame_set(frame)
    world = scene.rigidbody_world
    ends = {(each.object1, each.object2) for each in (obj.rigid_body_constraint for obj in world.constraints.objects)}
    assert ends and all(None not in pair for pair in ends)
    assert cube.matrix_world.translation.z < 49.5


def check_deleted_mechanisms(folder: str) -> None:
    """Delete one mechanism of two, which does not change the other, and then that: no simulation scene is saved."""
    scene = bpy.context.scene
    scene.knuckle_simulate_here = False
    rig, other = crawler(), crawler()
    other.location.x = 20.0
    path = shown(scene, other, 8)
    delete(*settings(rig).collection.all_objects)
    for frame in range(1, 9):
        scene.frame_set(frame)
    assert places(other) == pytest.approx(path[-1], abs=1e-3)
    delete(*settings(other).collection.all_objects)
    for frame in range(1, 9):
        scene.frame_set(frame)
    bpy.ops.wm.save_as_mainfile(filepath=str(Path(folder) / "empty.blend"), copy=True)
    with bpy.data.libraries.load(str(Path(folder) / "empty.blend")) as (kept, _):
        assert len(kept.scenes) == 1


def check_removed_physics(_folder: str) -> None:
    """Remove the physics of one of two mechanisms, which does not step their scene's world, and open a new file."""
    scene = bpy.context.scene
    scene.knuckle_simulate_here = False
    for name, options in (("sensor_leg/sensor_leg.xml", {}), ("desk_lamp/desk_lamp.skel", {"up_axis": "-X"})):
        bpy.ops.import_scene.mechanism(filepath=str(ROOT / "sample_models" / name), physics=True, **options)
    lamp, leg = sorted(rigs_in(scene), key=lambda rig: rig.name)
    lamp.data.knuckle.drive = "SERVO"
    stepped = []
    bpy.app.handlers.frame_change_pre.append(lambda each, _depsgraph=None: stepped.append(each.name))
    clear_physics(scene, leg)
    assert scene.name not in stepped
    bpy.ops.wm.read_homefile(use_empty=True)


def check_own_rigid_bodies(_folder: str) -> None:
    """Choose and unchoose what is collided with beside a rigid body of the user's, which its world simulates."""
    scene = bpy.context.scene
    scene.knuckle_simulate_here = False
    bpy.ops.mesh.primitive_cube_add(location=(3.0, 3.0, 5.0))
    cube = bpy.context.object
    bpy.ops.rigidbody.object_add()
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 6.0, 1.0))
    chosen = bpy.data.collections.new("Obstacles")
    scene.collection.children.link(chosen)
    chosen.objects.link(bpy.context.object)
    rig = crawler("SERVO")
    for collection in (None, chosen, None):
        scene.knuckle_obstacles = collection
        shown(scene, rig, 20)
    assert cube.matrix_world.translation.z < 4.5, "its own world goes on"
    scene.rigidbody_world.enabled = False
    clear_physics(scene, rig)
    bpy.ops.wm.read_homefile(use_empty=True)


@pytest.mark.parametrize(
    "call",
    [
        "check_own_rigid_bodies({folder!r})",
        "check_deleted_body_beside_own('SERVO')",
        "check_deleted_body_beside_own('KEYS')",
        "check_deleted_body(1)",
        "check_deleted_body(8)",
        "check_deleted_mechanisms({folder!r})",
        "check_removed_physics({folder!r})",
    ],
)
def test_what_is_deleted_leaves_the_simulation(blank: Any, call: str, tmp_path: Path) -> None:
    """In a process of its own, which is ended at once: Blender may crash as it frees constraints of deleted bodies."""
    code = (
        "import os, addon; addon.register()\n"
        "from tests.support.emptied import empty_file; empty_file()\n"
        "from tests.blender.physics.simulation.test_simulation_scene import *\n"
        f"{call.format(folder=str(tmp_path))}\nprint('done', flush=True)\nos._exit(0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "done" in ended.stdout, ended.stderr[-2000:]


@pytest.mark.parametrize(("before", "after"), [("LIMP", "SERVO"), ("SERVO", "LIMP")])
def test_a_drive_that_is_changed_where_nothing_is_simulated_begins_there(scene: Any, before: str, after: str) -> None:
    """At a frame that was jumped to the old simulation says that it ends earlier; the new drive begins one."""
    rig = crawler(before)
    scene.frame_end = 200
    shown(scene, rig, 15)
    scene.frame_set(100)
    assert frame_note(scene)
    rig.data.knuckle.drive = after
    assert not frame_note(scene)
    begun = places(rig)
    for frame in range(101, 110):
        scene.frame_set(frame)
    assert not frame_note(scene)
    assert np.abs(places(rig) - begun).max() > 0.1


# ---------------------------------------------------------------- scenes


def test_deleted_simulation_scene_is_made_again(scene: Any) -> None:
    rig = crawler()
    path = shown(scene, rig, 15)
    bpy.data.scenes.remove(simulation_scene_of(scene))
    assert shown(scene, rig, 15) == pytest.approx(path, abs=1e-3)
    assert simulation_scene_of(scene) is not None


def test_two_scenes_simulate_their_own_mechanisms(scene: Any) -> None:
    one = crawler()
    alone = shown(scene, one, 15)
    scene.frame_set(1)
    other = bpy.data.scenes.new("Other")
    other.knuckle_simulate_here = False
    with bpy.context.temp_override(scene=other, view_layer=other.view_layers[0]):
        two = crawler()
    assert simulation_scene_of(other) != simulation_scene_of(scene)
    for frame in range(1, 16):
        other.frame_set(frame)
    depsgraph = other.view_layers[0].depsgraph
    there = np.array([obj.evaluated_get(depsgraph).matrix_world.translation for obj in parts(two, "BODY")])
    assert there == pytest.approx(alone[-1], abs=1e-3)
    assert shown(scene, one, 15) == pytest.approx(alone, abs=1e-3)


def test_choice_of_the_scene_moves_the_physics(scene: Any) -> None:
    rig = crawler()
    path = shown(scene, rig, 10)
    scene.frame_set(1)
    scene.render.fps = 60
    scene.knuckle_simulate_here = True
    assert simulation_scene_of(scene) is None
    assert scene.rigidbody_world is not None
    assert settings(rig).drive == "LIMP"
    here = shown(scene, rig, 10)
    scene.frame_set(1)
    scene.knuckle_simulate_here = False
    again = shown(scene, rig, 10)
    assert again == pytest.approx(here, abs=1e-3)
    assert len(path) == len(again)


def test_rendered_frames_show_the_simulation(scene: Any, tmp_path: Path) -> None:
    """The center of what a camera at the side sees sinks as far as the bodies fall, in an animation and in a still."""
    rig = crawler()
    path = shown(scene, rig, 12)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.type, camera.data.ortho_scale = "ORTHO", 8.0
    camera.location, camera.rotation_euler = (0.0, -20.0, 2.0), (np.pi / 2, 0.0, 0.0)
    scene.collection.objects.link(camera)
    scene.camera, scene.frame_start, scene.frame_end = camera, 1, 12
    scene.render.engine, scene.cycles.samples = "CYCLES", 4
    scene.render.film_transparent = True
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.filepath = str(tmp_path / "frame")
    bpy.ops.render.render(animation=True)
    fall = (path[0] - path[-1])[:, 2].mean()
    assert fall > 0.1
    assert height(tmp_path / "frame0001.png") - height(tmp_path / "frame0012.png") == pytest.approx(fall, rel=0.2)
    scene.render.filepath = str(tmp_path / "still.png")
    bpy.ops.render.render(write_still=True)
    assert height(tmp_path / "still.png") == pytest.approx(height(tmp_path / "frame0012.png"), abs=0.02)


def height(picture: Path) -> float:
    """Height (length units) of the center of a picture's opaque part, 8 units high."""
    image = bpy.data.images.load(str(picture))
    rows, columns = image.size[1], image.size[0]
    pixels = np.empty(rows * columns * 4, dtype=np.float32)
    image.pixels.foreach_get(pixels)
    opaque = pixels.reshape(rows, columns, 4)[..., 3]
    return float((opaque.sum(axis=1) @ np.arange(rows)) / opaque.sum() / rows * 8.0)


def test_bake_leaves_the_drive_on_keyframes(scene: Any) -> None:
    rig = crawler()
    action, recording = bake(scene, rig, 12)
    assert settings(rig).drive == "KEYS"
    assert rig.animation_data.action == action
    assert len(curves_of(rig)) > 0
    scene.frame_set(12)
    assert places(rig)[0] == pytest.approx(recording.poses[-1, 0, :3, 3], abs=1e-3)


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
@pytest.mark.parametrize("path", OWN_MODELS, ids=lambda path: path.stem)
def test_copies_are_simulated_like_the_mechanism_itself(
    blank: Any, monkeypatch: pytest.MonkeyPatch, path: Path, drive: str
) -> None:
    """Bit for bit as in the scene's own world, at the rate of its control; and so are the figures of the accuracy.

    Collision filters are constraints in both: they are collections in the simulation scene, and Bullet's order of
    constraints depends on the count of these.
    """
    monkeypatch.setattr(collision, "_assign_collections", lambda *_: False)
    scene, found, texts = blank.scene, [], []
    for here in (True, False):
        empty_file()
        scene = bpy.context.scene
        scene.knuckle_simulate_here, scene.render.fps, scene.knuckle_control_rate = here, 60, 60
        made = build(formats.load(path))
        rig = next(obj for obj in made.all_objects if record_of(obj).role == "MODEL")
        settings(rig).drive, settings(rig).law = drive, "TRACK"  # Juice's has at least 100 control steps per second
        recording = record(scene, rig, 31)
        found.append(recording.poses)
        texts.append([str(row) for row in accuracy_rows(accuracy_of_recording(scene, recording), {})])
        texts[-1] += sorted(line.message for line in settings(rig).report if "Scene:" not in line.message)
    assert np.abs(found[0] - found[1]).max() < 1e-4
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("rate", "control", "steps"), [(60, 60, 1), (60, 120, 2), (24, 100, 5), (30, 10, 1)])
def test_servos_are_controlled_at_the_rate_of_the_scene(scene: Any, rate: int, control: int, steps: int) -> None:
    scene.render.fps, scene.knuckle_control_rate = rate, control
    rig = crawler("SERVO")
    settings(rig).law = "TRACK"
    recording = record(scene, rig, 7)
    poses = recording.poses if recording.steps is None else recording.steps
    assert len(poses) == 6 * steps + 1
    assert recording.rate == pytest.approx(rate * steps)


@pytest.mark.parametrize(
    ("rate", "law", "here", "steps"),
    [
        (60, "AUTO", False, 2),
        (24, "JUICE", False, 5),
        (25, "AUTO", False, 4),
        (60, "TRACK", False, 1),
        (60, "AUTO", True, 1),
    ],
)
def test_juices_law_is_computed_once_per_step_of_juice(scene: Any, rate: int, law: str, here: bool, steps: int) -> None:
    """A hundred times per second at least, as the file says, where the mechanism is not in the scene's own world."""
    scene.render.fps, scene.knuckle_simulate_here, scene.knuckle_control_rate = rate, here, 60
    rig = next(obj for obj in build(formats.load(OWN / "hexapod/hexapod.jm")).all_objects if obj.type == "ARMATURE")
    settings(rig).drive, settings(rig).law, settings(rig).target = "SERVO", law, "GAIT"
    assert record(scene, rig, 4).rate == pytest.approx(rate * steps)


# ---------------------------------------------------------------- what carries, obstacles, copies within a mechanism


@pytest.mark.parametrize("carrier", ["parent", "location", "bone"])
def test_a_mechanism_on_a_moving_base_goes_with_it_at_any_frame_rate(scene: Any, carrier: str) -> None:
    """A base that is keyed to go 1 m in a second is there after a second, whatever moves it."""
    scene.render.fps = 24
    rig = crawler("KEYS")
    rig.animation_data.action = None
    root = parts(rig, "BODY")[0]
    record_of(root).immobile = True
    moved, path = rig, "location"
    if carrier == "parent":
        moved = bpy.data.objects.new("cart", None)
        scene.collection.objects.link(moved)
        rig.parent = moved
    elif carrier == "bone":
        moved = rig.pose.bones[root.parent_bone]
        for number in range(3):
            moved.lock_location[number] = False
    for frame, way in ((1, 0.0), (25, 1.0), (49, 2.0)):
        moved.location[0] = way
        moved.keyframe_insert(path, frame=frame)
    action = (rig.parent or rig).animation_data.action
    for curve in curves_of(rig) if carrier != "parent" else ():
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    assert action is not None
    keyed = shown(scene, rig, 25)[-1, 0]
    settings(rig).drive = "SERVO"
    assert shown(scene, rig, 25)[-1, 0] == pytest.approx(keyed, abs=1e-3)


def test_a_duplicated_body_does_not_take_the_place_of_its_original(scene: Any) -> None:
    rig = crawler("KEYS")
    body = parts(rig, "BODY")[1]
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj == body)
    bpy.context.view_layer.objects.active = body
    bpy.ops.object.duplicate()
    twin = bpy.context.active_object
    twin.matrix_world.translation.x -= 6.0
    twin.location.x -= 6.0
    settings(rig).drive = "LIMP"
    shown(scene, rig, 10)
    assert abs(world_of(body)[0, 3]) < 3.0


def test_obstacles_at_rest_leave_the_rate_of_the_control(scene: Any) -> None:
    scene.render.fps = 24
    cube = bpy.data.objects.new("cube", bpy.data.meshes.new("cube"))
    cube.data.from_pydata([(8.0, 0.0, 0.0), (9.0, 0.0, 0.0), (8.0, 1.0, 0.0)], [], [(0, 1, 2)])
    chosen = bpy.data.collections.new("chosen")
    chosen.objects.link(cube)
    scene.collection.children.link(chosen)
    scene.knuckle_obstacles = chosen
    settings(crawler("SERVO")).law = "TRACK"
    scene.frame_set(1)
    assert session_of(simulation_scene_of(scene)).stretch == 5
    cube.keyframe_insert("location", frame=1)
    bpy.context.view_layer.update()
    scene.frame_set(1)
    assert session_of(simulation_scene_of(scene)).stretch == 1


def test_subframes_are_between_the_frames(scene: Any) -> None:
    scene.render.fps = 24
    rig = crawler()
    path = shown(scene, rig, 10)[:, 0, 2]
    scene.frame_set(9, subframe=0.5)
    assert path[9] < places(rig)[0, 2] < path[8]


def test_live_input_records_the_simulated_values(scene: Any) -> None:
    """At every frame the recorded values are those of the poses that the scene shows."""
    from addon.blender.physics.actuators.joint_state import gather_joint_state
    from addon.blender.physics.simulation.live_input import LiveSession

    rig = crawler("SERVO")
    recorder = LiveSession.__new__(LiveSession)
    recorder.scene, recorder.rig = scene, rig
    recorder._joint_state = seen = gather_joint_state(rig)
    for frame in range(1, 12):
        scene.frame_set(frame)
        if frame > 1:
            assert [*recorder._simulated().values()] == pytest.approx(seen.coordinates(seen.poses()), abs=1e-4)


# ---------------------------------------------------------------- what stays, and how often it is copied


def test_a_recording_leaves_a_simulation_that_began_later(scene: Any) -> None:
    rig = crawler("KEYS")
    for frame in range(1, 11):
        scene.frame_set(frame)
    settings(rig).drive = "LIMP"
    height = places(rig)[0, 2]
    record(scene, rig, 5)
    for frame in range(11, 15):
        scene.frame_set(frame)
    assert places(rig)[0, 2] < height - 0.005
    assert not frame_note(scene)


@pytest.mark.parametrize("way", ["moved to another collection", "without its armature", "opened without handlers"])
def test_no_body_stays_at_a_simulated_pose(scene: Any, way: str, tmp_path: Path) -> None:
    rig = crawler()
    body = parts(rig, "BODY")[1]
    shown(scene, rig, 15)
    if way == "moved to another collection":
        for folder in body.users_collection:
            if folder != scene.rigidbody_world.collection:
                folder.objects.unlink(body)
        scene.collection.objects.link(body)
        settings(rig).drive = "KEYS"
        scene.frame_set(1)
    elif way == "without its armature":
        delete(rig)
        bpy.context.view_layer.update()
    else:
        handlers = [*bpy.app.handlers.save_pre], [*bpy.app.handlers.save_post]
        bpy.app.handlers.save_pre.clear()
        bpy.app.handlers.save_post.clear()
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "auto.blend"))
        bpy.app.handlers.save_pre.extend(handlers[0])
        bpy.app.handlers.save_post.extend(handlers[1])
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "auto.blend"))
    assert not [obj.name for obj in bpy.context.scene.objects if record_of(obj).is_at_simulated_pose]


def test_the_only_scene_of_the_user_is_deleted(scene: Any) -> None:
    crawler()
    other = bpy.data.scenes.new("other")
    bpy.data.scenes.remove(scene)
    bpy.context.view_layer.update()
    other.view_layers[0].update()
    bpy.data.objects.new("any", None)
    other.collection.objects.link(bpy.data.objects["any"])
    other.view_layers[0].update()
    assert [each.name for each in bpy.data.scenes] == ["other"]


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
def test_mechanisms_are_copied_once_while_nothing_changes(scene: Any, drive: str) -> None:
    """And states of removed copies do not pile up."""
    rig = crawler(drive)
    shown(scene, rig, 4)
    first = simulation_scene_of(scene).session_uid
    for _ in range(3):
        shown(scene, rig, 4)
        assert simulation_scene_of(scene).session_uid == first
    for _ in range(3):
        rig.location.x += 1.0
        shown(scene, rig, 4)
    assert simulation_scene_of(scene).session_uid != first
    assert len(all_sessions()) <= 3


def test_no_copies_are_made_while_a_simulation_releases_its_constraints(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Physics of one mechanism is removed while it moves another: copies made meanwhile crash Blender (4.2 to 5.2)."""
    first, second = put(CRAWLER), crawler("SERVO")
    settings(first).drive = "SERVO"
    settings(first).drive = "KEYS"
    bpy.context.view_layer.update()
    assert simulation_scene_of(scene) is not None
    during: list[bool] = []
    copy = simulation_scene.copy_for_simulation

    def copy_and_note(*args: Any) -> Any:
        during.append(is_emptying_simulation(scene))
        return copy(*args)

    monkeypatch.setattr(simulation_scene, "copy_for_simulation", copy_and_note)
    clear_physics(scene, first)
    assert not any(during)
    clear_physics(scene, second)
    assert simulation_scene_of(scene) is None and not any(during)
    assert not any(obj.rigid_body for rig in (first, second) for obj in parts(rig, "BODY"))


def test_what_is_typed_in_blenders_panels_is_simulated(scene: Any) -> None:
    """Settings of a rigid body and of a constraint reach the copies, and stay where nothing was typed."""
    rig = put(CRAWLER)
    body, joint = parts(rig, "BODY")[1], parts(rig, "JOINT")[1]
    typed = {
        "mass": 50.0, "friction": 0.125, "restitution": 0.375, "linear_damping": 0.25, "angular_damping": 0.5,
        "collision_margin": 0.015625, "collision_shape": "SPHERE", "use_deactivation": True,
    }  # fmt: skip
    typed_joint = {"use_breaking": True, "breaking_threshold": 123.0, "disable_collisions": False}

    def copied() -> tuple[dict[str, Any], dict[str, Any]]:
        shown(scene, rig, 3)
        simulation = simulation_scene_of(scene)
        one, other = (next(obj for obj in simulation.objects if obj.name == f".{each.name}") for each in (body, joint))
        return (
            {name: getattr(one.rigid_body, name) for name in typed},
            {name: getattr(other.rigid_body_constraint, name) for name in typed_joint},
        )

    settings(rig).drive = "LIMP"
    before = copied()
    assert before[0] == {name: getattr(body.rigid_body, name) for name in typed}
    assert before[1] == {name: getattr(joint.rigid_body_constraint, name) for name in typed_joint}
    scene.frame_set(1)
    for owner, values in ((body.rigid_body, typed), (joint.rigid_body_constraint, typed_joint)):
        for name, value in values.items():
            setattr(owner, name, value)
    bpy.context.view_layer.update()
    assert copied() == (typed, typed_joint)
    assert record_of(body).mass == 50.0


# ---------------------------------------------------------------- edits of records


@pytest.mark.parametrize("here", [False, True], ids=["own scene", "this scene"])
def test_a_body_that_is_made_immobile_stays_and_moves_again(scene: Any, here: bool) -> None:
    scene.knuckle_simulate_here = here
    rig = put(CRAWLER)
    settings(rig).has_ground = False
    settings(rig).drive = "LIMP"
    body = parts(rig, "BODY")[0]

    def fall() -> float:
        way = shown(scene, rig, 12)
        return float(np.abs(way[-1, 0] - way[0, 0]).max())

    assert fall() > 0.01
    for is_immobile in (True, False):
        record_of(body).immobile = is_immobile  # in the middle of a run
        assert (fall() < 1e-6) == is_immobile
        assert (
            next(each for each in extract(rig).bodies if each.id == record_of(body).source_id).immobile == is_immobile
        )


def test_world_settings_typed_during_a_run_reach_the_copy(scene: Any) -> None:
    rig = crawler()
    shown(scene, rig, 4)
    settings(rig).self_collide = not settings(rig).self_collide
    settings(rig).time_step = 0.005
    copy = next(each for each in rigs_in(simulation_scene_of(scene)))
    assert settings(copy).self_collide == settings(rig).self_collide
    assert settings(copy).time_step == pytest.approx(0.005)


def test_import_beside_a_world_of_the_user_does_not_ask_for_steps_that_it_does_not_use(scene: Any) -> None:
    bpy.ops.rigidbody.world_add()
    scene.rigidbody_world.substeps_per_frame = 1
    rig = next(obj for obj in build(formats.load(OWN / "sensor_leg/sensor_leg.xml")).all_objects
               if record_of(obj).role == "MODEL")  # fmt: skip
    assert "world-kept" not in [line.code for line in settings(rig).report]


def test_frames_are_outdated_by_a_stop_of_one_axis_of_a_ball(scene: Any) -> None:
    dof = Dof("ball", parts=[Dof("rotation", np.eye(3)[axis], lower=-1.0, upper=1.0) for axis in range(3)])
    body = Body("b", "b", np.eye(4), shapes=[Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})])
    rig = rig_in(build(Mechanism(bodies=[body], joints=[Joint("j", "j", "ball", None, "b", dofs=[dof])])))
    (joint,) = (record_of(empty).joint for empty in parts(rig, "JOINT"))
    before = cached_frames.fingerprint(scene, [rig])
    joint.parts[1].upper += 0.25
    assert cached_frames.fingerprint(scene, [rig]) != before
