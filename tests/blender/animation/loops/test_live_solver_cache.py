"""What loops are at frames is known until something changes, whatever that is: judged by trigonometry and by the
distance between the two sides of every pivot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.loops.linkage_solver import LinkageSolver
from tests.support import loops
from tests.support.emptied import empty_file
from tests.support.live_loops_helpers import (
    WITHIN,
    Pivots,
    codes,
    driver,
    key_driver,
    live,
    off,
    pose_driver,
    put,
    rocker,
)

FRAMES = range(1, 42)
#: Where the crank is drawn, and how far it turns by then.
DRAWN, TURN = 0.8, 2.5


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many positions were asked for at once, of all times."""
    calls: list[int] = []
    one, many = LinkageSolver.follow, LinkageSolver.solve_many

    def count_many(self: LinkageSolver, given: Any, **how: Any) -> Any:
        calls.append(max(map(len, given.values())))
        return many(self, given, **how)

    monkeypatch.setattr(LinkageSolver, "follow", lambda self, given, **how: calls.append(1) or one(self, given, **how))
    monkeypatch.setattr(LinkageSolver, "solve_many", count_many)
    return calls


def keyed(turn: float = TURN) -> tuple[Any, Pivots]:
    """A crank-rocker that is keyed, played through, and known at all frames."""
    mechanism = loops.crank_rocker(DRAWN)
    rig = put(mechanism)
    key_driver(rig, {1.0: 0.0, 41.0: turn})
    play()
    return rig, Pivots(mechanism, rig)


def play() -> None:
    import bpy

    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)


def is_at(rig: Any, pivots: Pivots, turned: float) -> bool:
    """Whether the loop is closed with its crank turned so far; which way turns count is the file's."""
    ways = [off(rocker(rig), loops.rocker_angle(DRAWN + way * turned)) for way in (1, -1)]
    return pivots.gap() < WITHIN and min(ways) < 1e-5


def curve_of(rig: Any) -> Any:
    from addon.blender.compat import action_curves

    (curve,) = action_curves(rig, rig.animation_data.action, create=False)
    return curve


def test_frames_are_solved_together_and_once(blank: Any, solved: list[int]) -> None:
    rig, pivots = keyed()
    assert sum(solved) <= len(FRAMES) + 32
    assert len(solved) < 8
    solved.clear()
    for frame in (*FRAMES, 30, 3, 41, *reversed(FRAMES)):
        blank.scene.frame_set(frame)
        assert is_at(rig, pivots, TURN * (frame - 1) / 40.0)
    assert not solved


def moved_key(rig: Any) -> float:
    curve = curve_of(rig)
    curve.keyframe_points[1].co.y += 0.5
    curve.update()
    return TURN + 0.5


def script_moved_key(rig: Any) -> float:
    """As scripts do, which tell Blender nothing before they go to a frame."""
    curve_of(rig).keyframe_points[1].co.y += 0.25
    return TURN + 0.25


def other_action(rig: Any) -> float:
    key_driver(rig, {1.0: 0.0, 41.0: 1.0})
    return 1.0


def driven(rig: Any) -> float:
    rig.animation_data_clear()
    channel = driver(rig)
    curve = rig.pose.bones[channel.bone].driver_add(channel.prop, channel.index)
    curve.driver.expression = "(frame - 1) * 0.04"
    return 1.6


def strip(rig: Any) -> float:
    action = rig.animation_data.action
    curve_of(rig).keyframe_points[1].co.y = 2.0
    track = rig.animation_data.nla_tracks.new()
    track.strips.new("strip", 1, action)
    rig.animation_data.action = None
    return 2.0


def constrained(rig: Any) -> float:
    """Which the user put on a body has nothing to do with loops."""
    rig.pose.bones[driver(rig).bone].constraints.new("LIMIT_SCALE")
    return TURN


CHANGES: dict[str, Callable[[Any], float]] = {
    each.__name__: each for each in (moved_key, script_moved_key, other_action, driven, strip, constrained)
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("told", [True, False])
def test_what_changes_drivers_is_followed(blank: Any, name: str, told: bool) -> None:
    rig, pivots = keyed()
    turn = CHANGES[name](rig)
    if told:
        blank.view_layer.update()
    for frame in (41, 21, *FRAMES, 7, 40, *reversed(FRAMES)):
        blank.scene.frame_set(frame)
        assert is_at(rig, pivots, turn * (frame - 1) / 40.0), frame


def test_a_stop_that_is_set_holds_and_one_that_is_taken_away_does_not(blank: Any) -> None:
    from tests.support.mechanisms import objects_of

    rig, pivots = keyed()
    dof = objects_of(rig, "JOINT")["A"].knuckle.joint.dofs[0]
    for stop, reached in ((1.0, 1.0), (1.5, 1.5), (None, TURN)):
        if stop is None:
            dof.use_upper = False
        else:
            dof.upper, dof.use_upper = stop, True
        for _ in range(2):
            play()
            assert abs(rig.pose.bones["A"].rotation_euler.z) == pytest.approx(reached, abs=1e-4)
            assert is_at(rig, pivots, reached)
            assert (codes(rig) == {"loop-held"}) == (stop is not None)
            blank.scene.frame_set(5)
            assert is_at(rig, pivots, TURN * 0.1)
            assert not codes(rig)


def test_a_stop_that_is_muted_holds_nothing(blank: Any) -> None:
    mechanism = loops.crank_rocker(DRAWN)
    mechanism.joints[3].dofs[0].lower, mechanism.joints[3].dofs[0].upper = -0.01, 0.01
    rig = put(mechanism)
    key_driver(rig, {1.0: 0.0, 41.0: TURN})
    play()
    pivots = Pivots(mechanism, rig)
    assert not is_at(rig, pivots, TURN)
    for limit in rig.pose.bones["D"].constraints:
        limit.mute = True
    blank.view_layer.update()
    play()
    assert is_at(rig, pivots, TURN)


def test_a_joint_that_is_edited_drives_another_loop(blank: Any) -> None:
    import bpy

    rig, pivots = keyed()
    assert bpy.ops.knuckle.drive_loop(joint="D") == {"FINISHED"}
    before = rocker(rig)
    key_driver(rig, {1.0: 0.0, 41.0: 0.2})
    for frame in (*FRAMES, 13, 40, 41):
        blank.scene.frame_set(frame)
        assert pivots.gap() < WITHIN
    assert rig.pose.bones["D"].rotation_euler.z == pytest.approx(0.2, abs=1e-6)
    assert off(rocker(rig), before) > 0.01


def test_undo_and_posing_in_between(blank: Any) -> None:
    import bpy

    rig, pivots = keyed()
    blank.scene.frame_set(11)
    bpy.ops.ed.undo_push(message="one")
    curve_of(rig).keyframe_points[1].co.y = 1.0
    blank.view_layer.update()
    blank.scene.frame_set(31)
    assert is_at(rig, pivots, 0.75)
    bpy.ops.ed.undo_push(message="two")
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    pivots = Pivots(loops.crank_rocker(DRAWN), rig)
    for frame in (12, 31, *FRAMES):
        bpy.context.scene.frame_set(frame)
        assert is_at(rig, pivots, TURN * (frame - 1) / 40.0), frame
    pose_driver(rig, 0.3)
    assert is_at(rig, pivots, 0.3)
    bpy.context.scene.frame_set(11)
    assert is_at(rig, pivots, 0.25 * TURN)


def test_a_file_that_is_opened_again(blank: Any, tmp_path: Path) -> None:
    import bpy

    rig, _ = keyed()
    path = str(tmp_path / "known.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    moved_key(rig)
    blank.view_layer.update()
    play()
    bpy.ops.wm.open_mainfile(filepath=path)
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    pivots = Pivots(loops.crank_rocker(DRAWN), rig)
    for frame in (20, 33, *FRAMES):
        bpy.context.scene.frame_set(frame)
        assert is_at(rig, pivots, TURN * (frame - 1) / 40.0), frame


def test_what_a_script_poses_beside_the_loop_stays(blank: Any) -> None:
    """Also where it tells Blender nothing before it goes to a frame that is known."""
    rig, pivots = keyed()
    rig.pose.bones["D"].location = (0.0, 0.0, 0.1)
    rig.pose.bones["B"].scale = (1.0, 1.0, 2.0)
    blank.scene.frame_set(9)
    assert tuple(rig.pose.bones["D"].location) == pytest.approx((0.0, 0.0, 0.1))
    assert rig.pose.bones["B"].scale.z == 2.0


def test_known_frames_are_the_same_in_renders(blank: Any, tmp_path: Path) -> None:
    """Whose evaluated copies cannot be posed before the frame: beside pictures of the same poses as keys."""
    import bpy

    rig, _ = keyed()
    scene = blank.scene
    camera = scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.data.type, camera.data.ortho_scale = "ORTHO", 10.0
    camera.location, camera.rotation_euler = (2.0, -20.0, 1.0), (math.pi / 2.0, 0.0, 0.0)
    scene.world = bpy.data.worlds.new("white")
    scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 1, False
    scene.render.resolution_x = scene.render.resolution_y = 48
    scene.render.image_settings.file_format = "PNG"
    scene.frame_start, scene.frame_end, scene.frame_step = 3, 39, 12
    play()
    poses = {}
    for frame in (3, 15, 27, 39):
        scene.frame_set(frame)
        poses[frame] = {bone.name: bone.rotation_euler.z for bone in rig.pose.bones}
    pictures = [rendered(tmp_path / "known"), rendered(tmp_path / "again")]
    with without_handlers():
        for frame, values in poses.items():
            for name, value in values.items():
                rig.pose.bones[name].rotation_euler.z = value
                rig.pose.bones[name].keyframe_insert("rotation_euler", index=2, frame=frame)
        wanted = rendered(tmp_path / "keys")
    assert np.abs(wanted[0] - wanted[3]).max() > 0.05
    for picture in pictures:
        assert np.abs(picture - wanted).max() < 0.02


def test_known_frames_are_the_same_in_exports(blank: Any, tmp_path: Path) -> None:
    """Exporters have a graph of their own, which stays from frame to frame."""
    import bpy

    from tests.support.mechanisms import objects_of, world_of

    rig, _ = keyed()
    wanted = {}
    for frame in (1, 11, 21, 41):
        blank.scene.frame_set(frame)
        wanted[frame] = world_of(objects_of(rig, "BODY")["rocker"]).copy()
    path, rate = str(tmp_path / "known.abc"), blank.scene.render.fps
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=41)
    empty_file()
    bpy.context.scene.render.fps = rate
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    found = next(obj for obj in bpy.data.objects if obj.name == "rocker")
    for frame, pose in wanted.items():
        bpy.context.scene.frame_set(frame)
        assert world_of(found) == pytest.approx(pose, abs=1e-5)
    assert np.abs(wanted[41] - wanted[1]).max() > 0.1


def rendered(path: Path) -> np.ndarray:
    """The pictures of the scene's frames."""
    import bpy

    bpy.context.scene.render.filepath = f"{path}-"
    bpy.ops.render.render(animation=True)
    out = []
    for file in sorted(path.parent.glob(f"{path.name}-*.png")):
        image = bpy.data.images.load(str(file))
        out.append(np.array(image.pixels[:]))
    return np.array(out)


@contextmanager
def without_handlers() -> Iterator[None]:
    import bpy

    lists = [getattr(bpy.app.handlers, f"frame_change_{when}") for when in ("pre", "post")]
    kept = [list(each) for each in lists]
    for each in lists:
        each.clear()
    try:
        yield
    finally:
        for each, before in zip(lists, kept, strict=True):
            each[:] = before


def test_a_bone_that_is_deleted_as_a_key_is_added(blank: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """In one change: nothing is known any more, and the driver goes by the keys that there are now."""
    import bpy

    rig, _pivots = keyed()
    channel = driver(rig)
    bones = {each.bone for own in live(rig)[0].channels.values() for each in own} - {channel.bone}
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones[min(bones)])
    bpy.ops.object.mode_set(mode="OBJECT")
    curve_of(rig).keyframe_points.insert(21.0, 0.3)
    capfd.readouterr()
    play()
    bpy.context.scene.frame_set(21)
    assert getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] == pytest.approx(0.3)
    assert not live(rig), "nothing can be followed until the bone is made again"
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["NEW", "FULL_COPY", "LINK_COPY"])
def test_a_scene_that_is_shown_again_has_its_loops_at_once(
    blank: Any, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blender may visit its frame before it has made the evaluated copies."""
    import bpy

    rig, _pivots = keyed()
    play()
    own = bpy.context.scene
    scene, armature = own.name, rig.name
    for _ in range(3):
        bpy.ops.scene.new(type=kind)
        bpy.context.window.scene = own
        bpy.context.view_layer.update()
        capfd.readouterr()
        bpy.context.scene.frame_set(3)
        assert live(rig)
        bpy.ops.ed.undo_push(message="shown")
        bpy.ops.scene.new(type=kind)
        bpy.ops.ed.undo_push(message="another")
        bpy.ops.ed.undo()
        own, rig = bpy.data.scenes[scene], bpy.data.objects[armature]
        bpy.context.window.scene = bpy.data.scenes[-1]
        bpy.context.window.scene = own
        bpy.context.scene.frame_set(5)
    assert "Traceback" not in capfd.readouterr().err
