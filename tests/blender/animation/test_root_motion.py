"""The paths of roots where what servos do is retimed or mirrored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import body, bone_of, curves_of, joint, model, objects_of, put, world_of
from tests.support.retimed import FLIP, KEYS, OPEN, displacements, keyed, legged, looks


@pytest.fixture
def rig(blank: Any) -> Any:
    return put(legged())


def walked(rig: Any, turn: float = 0.0) -> Any:
    """A servo that ends where it began, while the root goes 2 along Y and ``turn`` about Z: its bone."""
    keyed(rig, 11, KEYS)
    root = next(bone for bone in rig.pose.bones if bone.bone.knuckle.root)
    for frame, share in ((1, 0.0), (31, 1.0)):
        root.location = (0.0, 2.0 * share, 0.0)
        root.rotation_quaternion = (math.cos(turn * share / 2), 0.0, 0.0, math.sin(turn * share / 2))
        root.keyframe_insert("location", frame=frame)
        root.keyframe_insert("rotation_quaternion", frame=frame)
    for curve in (curve for curve in curves_of(rig) if f'"{root.name}"' in curve.data_path):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    return root


def places(rig: Any, root: Any, frames: list[int]) -> list[float]:
    import bpy

    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append(root.location[1])
    return out


@pytest.mark.parametrize("way", ["KEYS", "CYCLES"])
@pytest.mark.parametrize("seam", ["REPEAT", "BLEND", "CLIMB"])
def test_a_looped_walk_goes_on_from_where_it_ended(rig: Any, way: str, seam: str) -> None:
    import bpy

    root = walked(rig)
    first = places(rig, root, [1, 11, 16, 31])
    assert bpy.ops.knuckle.loop_motion(way=way, seam=seam, rounds=3) == {"FINISHED"}
    assert places(rig, root, [1, 11, 16, 31]) == pytest.approx(first, abs=1e-5)
    assert places(rig, root, [41, 46, 61]) == pytest.approx([2.0 + x for x in first[1:]], abs=1e-5)
    assert places(rig, root, [71, 76, 91]) == pytest.approx([4.0 + x for x in first[1:]], abs=1e-5)
    if way == "CYCLES":
        assert bpy.ops.knuckle.stop_looping() == {"FINISHED"}
        assert places(rig, root, [91]) == pytest.approx([2.0], abs=1e-5)


def test_a_path_waits_while_servos_go_back(rig: Any) -> None:
    import bpy

    root = walked(rig)
    keyed(rig, 12, OPEN)
    assert bpy.ops.knuckle.loop_motion(way="KEYS", seam="REPEAT", rounds=2) == {"FINISHED"}
    assert rig.animation_data.action.frame_range[1] == 62, "no key ends the last round"
    assert places(rig, root, [31, 32, 62]) == pytest.approx([2.0, 2.0, 4.0], abs=1e-4)


def test_a_path_that_rotates_stays_and_is_reported(rig: Any, capsys: Any) -> None:
    import bpy

    root = walked(rig, turn=math.radians(40))
    assert bpy.ops.knuckle.loop_motion(way="KEYS", rounds=2) == {"FINISHED"}
    assert "unchanged, its direction differs at start and end" in capsys.readouterr().out
    assert places(rig, root, [31, 46, 61]) == pytest.approx([2.0] * 3, abs=1e-5)
    for act in (
        lambda: bpy.ops.knuckle.offset_motion(frames=10, wrap=True),
        lambda: bpy.ops.knuckle.mirror_motion(phase=0.5),
    ):
        assert act() == {"FINISHED"}
        assert "unchanged, its direction differs at start and end" in capsys.readouterr().out
        assert places(rig, root, [1, 11, 31]) == pytest.approx([0.0, 2.0 / 3.0, 2.0], abs=1e-5)


def test_only_selected_servos_leave_the_path_alone(rig: Any) -> None:
    from addon.blender.animation.retiming import repeat_keys

    root = walked(rig)
    repeat_keys(rig, 2, bones={bone_of(rig, 11).name})
    assert places(rig, root, [61]) == pytest.approx([2.0], abs=1e-5)


def wander(rig: Any, root: Any, seed: int = 1) -> None:
    """Keys of a path in all directions, with turns about all axes."""
    rng = np.random.default_rng(seed)
    for frame in (1, 8, 19, 31):
        root.location = rng.uniform(-1.0, 1.0, 3)
        root.rotation_quaternion = [1.0, *rng.uniform(-0.4, 0.4, 3)]
        root.keyframe_insert("location", frame=frame)
        root.keyframe_insert("rotation_quaternion", frame=frame)


@pytest.mark.parametrize("only", [None, "location", "rotation_quaternion"])
def test_the_mirrored_path_is_the_mirror_image(rig: Any, only: str | None) -> None:
    """All bodies move as the mirror images of their counterparts, wherever the root goes; twice is as before."""
    import bpy

    scene = bpy.context.scene
    rest = {name: world_of(obj) for name, obj in objects_of(rig, "BODY").items()}
    keyed(rig, 11, KEYS)
    root = next(bone for bone in rig.pose.bones if bone.bone.knuckle.root)
    wander(rig, root)
    for curve in list(curves_of(rig)) if only else ():
        if f'"{root.name}"' in curve.data_path and not curve.data_path.endswith(only):
            curve.mute = True
    if only:
        root.location, root.rotation_quaternion = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    frames, before = [1, 5, 8, 13, 19, 31], []
    for frame in frames:
        scene.frame_set(frame)
        before.append(displacements(rig, rest))
    kept = {(c.data_path, c.array_index): looks(c) for c in curves_of(rig) if root.name in c.data_path and not c.mute}
    assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
    twin = {"1": "1", "2": "3", "3": "2", "4": "4"}
    for frame, then in zip(frames, before, strict=True):
        scene.frame_set(frame)
        now = displacements(rig, rest)
        for name in then:
            assert now[twin[name]] == pytest.approx(FLIP @ then[name] @ FLIP, abs=2e-4), (frame, name)
    assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
    for curve in curves_of(rig):
        if (curve.data_path, curve.array_index) in kept:
            for now, then in zip(looks(curve), kept[curve.data_path, curve.array_index], strict=True):
                assert np.concatenate(now[:3]) == pytest.approx(np.concatenate(then[:3]), abs=1e-6)


def test_mirroring_one_side_alone_leaves_the_root_path(rig: Any) -> None:
    import bpy

    root = walked(rig)
    wander(rig, root)
    before = {c.data_path: looks(c) for c in curves_of(rig) if root.name in c.data_path}
    assert bpy.ops.knuckle.mirror_motion(side="NEGATIVE") == {"FINISHED"}
    assert {c.data_path: looks(c) for c in curves_of(rig) if root.name in c.data_path} == before


@pytest.mark.parametrize("how", ["mirrored", "moved"])
def test_a_path_that_comes_later_goes_on_as_the_walk_does(rig: Any, how: str) -> None:
    """Half a round later the root is where it was half a round before; before that, one round's way further back."""
    import bpy

    root = walked(rig)
    for frame, way in ((11, 0.3), (16, 1.4)):
        root.location = (0.0, way, 0.0)
        root.keyframe_insert("location", frame=frame)
    first = places(rig, root, [6, 11, 16, 21, 26, 31])
    if how == "mirrored":
        assert bpy.ops.knuckle.mirror_motion(phase=0.5) == {"FINISHED"}
    else:
        assert bpy.ops.knuckle.offset_motion(frames=15, wrap=True) == {"FINISHED"}
    assert places(rig, root, [21, 26, 31]) == pytest.approx(first[:3], abs=1e-4)
    assert places(rig, root, [6, 11, 16]) == pytest.approx([x - 2.0 for x in first[3:]], abs=1e-4)


def keyed_path(rig: Any, keys: Any, prop: str = "location") -> Any:
    """A root with straight keys, (frame, value): its bone."""
    root = next(bone for bone in rig.pose.bones if bone.bone.knuckle.root)
    for frame, value in keys:
        setattr(root, prop, value)
        root.keyframe_insert(prop, frame=frame)
    for curve in (curve for curve in curves_of(rig) if f'"{root.name}"' in curve.data_path):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    return root


RETIMED = {
    "loop_motion": {"way": "KEYS", "rounds": 3},
    "offset_motion": {"frames": 15.0, "wrap": True},
    "mirror_motion": {"phase": 0.5},
}


@pytest.mark.parametrize("name", RETIMED)
@pytest.mark.parametrize("way", [[(-19, (0, 0, 0))], [(1, (0, 0, 0)), (301, (0, 20, 0))]], ids=["rests", "goes far"])
def test_the_round_is_that_of_the_servos(rig: Any, capsys: Any, name: str, way: Any) -> None:
    """Servos go as they do in a model that nothing keys as a whole, and a path that reaches beyond them stays."""
    import bpy

    keyed(rig, 11, KEYS)
    copy = {place: looks(curve) for place, curve in curves_by_place(rig).items()}
    assert getattr(bpy.ops.knuckle, name)(**RETIMED[name]) == {"FINISHED"}
    alone = {place: looks(curve) for place, curve in curves_by_place(rig).items()}
    assert alone != copy
    bpy.data.actions.remove(rig.animation_data.action)
    keyed(rig, 11, KEYS)
    root = keyed_path(rig, way)
    path = {place: looks(curve) for place, curve in curves_by_place(rig).items() if root.name in place[0]}
    capsys.readouterr()
    assert getattr(bpy.ops.knuckle, name)(**RETIMED[name]) == {"FINISHED"}
    told = "unchanged, it has keyframes before or after those of the servos"
    assert (told in capsys.readouterr().out) == (len(way) > 1)
    now = {place: looks(curve) for place, curve in curves_by_place(rig).items()}
    assert {place: now.pop(place) for place in path} == path
    assert now == alone


def curves_by_place(rig: Any) -> dict[tuple[str, int], Any]:
    return {(curve.data_path, curve.array_index): curve for curve in curves_of(rig)}


@pytest.mark.parametrize("way", ["KEYS", "CYCLES"])
def test_a_path_that_rotates_through_a_full_revolution_stays(rig: Any, capsys: Any, way: str) -> None:
    """A whole turn ends with the quaternion's other sign: led to the first numbers it would spin within the seam."""
    import bpy

    keyed(rig, 11, KEYS)
    steps = [(frame, 2.0 * math.pi * (frame - 1) / 30.0) for frame in range(1, 32, 5)]
    keyed_path(rig, [(f, (math.cos(a) - 1.0, math.sin(a), 0)) for f, a in steps])
    root = keyed_path(rig, [(f, (math.cos(a / 2), 0, 0, math.sin(a / 2))) for f, a in steps], "rotation_quaternion")
    path = {place: looks(curve) for place, curve in curves_by_place(rig).items() if root.name in place[0]}
    assert bpy.ops.knuckle.loop_motion(way=way, seam="BLEND", rounds=2, blend=10) == {"FINISHED"}
    assert "unchanged, it makes a full revolution" in capsys.readouterr().out
    assert {place: looks(curve) for place, curve in curves_by_place(rig).items() if place in path} == path
    assert not any(curves_by_place(rig)[place].modifiers for place in path)


@pytest.mark.parametrize("name", RETIMED)
def test_a_path_turned_by_euler_angles_stays(rig: Any, capsys: Any, name: str) -> None:
    import bpy

    keyed(rig, 11, KEYS)
    root = keyed_path(rig, [(1, (0, 0, 0)), (31, (0, 2, 0))])
    root.rotation_mode = "XYZ"
    keyed_path(rig, [(1, (0, 0, 0)), (31, (0, 0, 1.5))], "rotation_euler")
    path = {place: looks(curve) for place, curve in curves_by_place(rig).items() if root.name in place[0]}
    assert getattr(bpy.ops.knuckle, name)(**RETIMED[name]) == {"FINISHED"}
    assert "unchanged, its bone does not use quaternions" in capsys.readouterr().out
    assert {place: looks(curve) for place, curve in curves_by_place(rig).items() if place in path} == path


def test_a_path_of_which_some_is_muted_stays(rig: Any, capsys: Any) -> None:
    """Walking on the spot: one axis is muted, and its keys are the walk's way."""
    import bpy

    keyed(rig, 11, KEYS)
    root = keyed_path(rig, [(1, (0, 0, 0)), (31, (0.1, 2, 0))])
    curves_by_place(rig)[f'pose.bones["{root.name}"].location', 1].mute = True
    path = {place: (looks(curve), curve.mute) for place, curve in curves_by_place(rig).items() if root.name in place[0]}
    assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
    assert "unchanged, some of its F-Curves are muted" in capsys.readouterr().out
    now = {place: (looks(curve), curve.mute) for place, curve in curves_by_place(rig).items() if place in path}
    assert now == path


@pytest.fixture
def carts(blank: Any) -> Any:
    """Two trees that nothing joins, each other's mirror image."""
    bodies = (("Left Cart", (-1, 0, 2)), ("Left Arm", (-1, 0, 1)), ("Right Cart", (1, 0, 2)), ("Right Arm", (1, 0, 1)))
    rig = put(
        model(
            *(body(number, at, name=name) for number, (name, at) in enumerate(bodies, 1)),
            joint(11, 1, 2, (-1, 0, 1.5), (0, 90, 0), name="Left Hip"),
            joint(12, 3, 4, (1, 0, 1.5), (0, 90, 0), name="Right Hip"),
        )
    )
    keyed(rig, 11, KEYS)
    return rig


def cart(rig: Any, body_id: str) -> Any:
    return next(bone for bone in rig.pose.bones if bone.bone.knuckle.root == body_id)


def go(bone: Any, way: float, turn: float = 0.0) -> None:
    for frame, share in ((1, 0.0), (31, 1.0)):
        bone.location = (0.0, way * share, 0.0)
        bone.rotation_quaternion = (math.cos(turn * share / 2), 0.0, 0.0, math.sin(turn * share / 2))
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("rotation_quaternion", frame=frame)


@pytest.mark.parametrize("ways", [(2.0, None), (None, 2.0), (2.0, 0.0), (2.0, 7.0)])
def test_twin_roots_exchange_their_paths(carts: Any, ways: tuple[float | None, float | None]) -> None:
    import bpy

    left, right = cart(carts, "1"), cart(carts, "3")
    for bone, way in zip((left, right), ways, strict=True):
        if way is not None:
            go(bone, way)
    told = [way or 0.0 for way in ways]
    for wanted in (told[::-1], told):
        assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
        bpy.context.scene.frame_set(1)
        bpy.context.scene.frame_set(31)
        assert [left.location[1], right.location[1]] == pytest.approx(wanted, abs=1e-5)


def test_twin_roots_of_which_one_stays_both_stay(carts: Any, capsys: Any) -> None:
    import bpy

    left, right = cart(carts, "1"), cart(carts, "3")
    go(left, 2.0, turn=1.0)
    go(right, 7.0)
    before = {p: looks(c) for p, c in curves_by_place(carts).items() if "Cart" in p[0]}
    assert before
    assert bpy.ops.knuckle.mirror_motion(phase=0.5) == {"FINISHED"}
    told = capsys.readouterr().out
    assert f"Root motion of {left.name!r}: unchanged, its direction differs at start and end" in told
    assert f"Root motion of {right.name!r}: unchanged, as that of {left.name!r}" in told
    assert {p: looks(c) for p, c in curves_by_place(carts).items() if "Cart" in p[0]} == before


def test_a_root_beside_the_mechanism_keeps_its_path_and_is_reported(blank: Any, capsys: Any) -> None:
    """A body of its own beside the model mirrors nothing; one that stands where it was built is not spoken of."""
    import bpy

    rig = put(legged(body(9, (5, 0, 2))))
    ball = next(b for b in rig.pose.bones if b.bone.knuckle.root == "9")
    keyed(rig, 11, KEYS)
    ball.keyframe_insert("location", frame=1)
    assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
    assert "stays as it was" not in capsys.readouterr().out
    ball.location = (0.0, 1.0, 0.0)
    ball.keyframe_insert("location", frame=31)
    assert bpy.ops.knuckle.mirror_motion() == {"FINISHED"}
    assert "unchanged, its root body has no mirror image" in capsys.readouterr().out
    bpy.context.scene.frame_set(31)
    assert ball.location[1] == pytest.approx(1.0)
