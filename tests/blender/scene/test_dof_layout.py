"""Joints of any number of degrees of freedom on bones: every coordinate is a channel, and moves the bodies as the
model's own kinematics says.

Blender's side is measured on evaluated objects, from how they stand when every channel is zero; where they should be
comes from ``Tree.forward``, which the formats' tests hold against the programs that the formats belong to.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import DOF_SIZE, Array, Dof, Mechanism
from tests.conftest import CORPUS
from tests.support.degrees_helpers import (
    CHAINS,
    X,
    Y,
    Z,
    axis,
    both_ways,
    chain,
    linked,
    pose,
    pose_of,
    put,
    release_stops,
    rotations,
    size_of,
    slides,
    turned,
    worst,
    zero,
)
from tests.support.mechanisms import curves_of, objects_of, world_of

WITHIN = 1e-5  # of the model's size
NO_FILES = [pytest.param(None, marks=pytest.mark.skip(reason="real files are not here"))]
FILES = [
    path
    for folder, ending in (("skel", ".skel"), ("x_xy", ".xml"), ("shift", ".json"))
    for path in sorted((CORPUS / folder).rglob(f"*{ending}"))
]

# ---------------------------------------------------------------- models


def skel(kind: str, inside: str = "") -> Mechanism:
    """A SKEL document with a joint of a type between the ground's child and another body, all set askew."""

    def part(name: str, place: str, own: str = "") -> str:
        return (
            f'<body name="{name}"><transformation>{place}</transformation><inertia><mass>1</mass></inertia>{own}</body>'
        )

    text = (
        '<skel version="1.0"><world><skeleton name="s">'
        + part("a", "0.1 0.2 0.3 0.3 -0.2 0.9")
        + part("b", "1 0.2 0.8 -0.5 0.4 0.3")
        + part("c", "1.5 0.2 1.8 0 0 0")
        + '<joint name="g" type="weld"><parent>world</parent><child>a</child></joint>'
        + f'<joint name="j" type="{kind}"><parent>a</parent><child>b</child>'
        + f"<transformation>0.1 0.2 -0.3 0.5 0.2 0.1</transformation>{inside}</joint>"
        + '<joint name="h" type="revolute"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis></joint>'
        + "</skeleton></world></skel>"
    )
    return formats.loads(text.encode(), "m.skel")


def x_xy(kind: str) -> Mechanism:
    """An x_xy document with two joints of a type, one of them at the world."""
    text = (
        '<x_xy model="m"><worldbody>'
        f'<body name="a" joint="{kind}" pos="1 2 3" euler="10 20 30"><geom type="box" dim="1 1 1" mass="1"/>'
        f'<body name="b" joint="{kind}" pos="0.5 0 0.5" euler="-40 5 60"><geom type="box" dim="1 1 1" mass="1"/></body>'
        "</body></worldbody></x_xy>"
    )
    return formats.loads(text.encode(), "m.xml")


def shift(kind: str) -> Mechanism:
    """A Shift document with two joints of a type, one of them at the fixed frame."""
    axis = {"axis": [1, 2, -2]} if kind in {"revolute", "prismatic"} else {}
    one, two = pose_of((0.3, -0.2, 0.9), (0.5, 0, 0.2)), pose_of((1.5, 0.4, 0), (0, 1, 0))
    frames = [
        {"name": name, "T": list(pose[:3, 3]), "R": pose[:3, :3].tolist()}
        for name, pose in (("one", one), ("two", two))
    ]
    pairs = [["fixed", "origin"], ["a", "one"]], [["a", "two"], ["b", "one"]]
    document = {
        "bodies": [{"name": "a", "frames": frames}, {"name": "b", "frames": frames}],
        "joints": [
            {"name": f"j{number}", "type": kind, "body_frame_pairs": ends, **axis} for number, ends in enumerate(pairs)
        ],
    }
    return formats.loads(json.dumps(document).encode(), "m.json")


SKEL_JOINTS = {
    "weld": ("weld", ""),
    "revolute": ("revolute", axis("1 2 3")),
    "prismatic": ("prismatic", axis("1 2 3")),
    "screw": ("screw", axis("1 2 3", extra="<pitch>0.7</pitch>")),
    "universal": ("universal", axis("0 1 0") + axis("1 0 0", "2")),
    "universal, skew": ("universal", axis("0 1 0") + axis("1 1 0", "2")),
    "universal, one axis twice": ("universal", axis("0 1 0") + axis("0 1 0", "2")),
    "universal, opposite axes": ("universal", axis("0 1 0") + axis("0 -1 0", "2")),
    "euler xyz": ("euler", "<axis_order>xyz</axis_order>"),
    "euler zyx": ("euler", "<axis_order>zyx</axis_order>"),
    "ball": ("ball", ""),
    "free": ("free", ""),
    "translational": ("translational", ""),
    "translational2d": ("translational2d", '<plane type="yz"/>'),
    "planar xy": ("planar", '<plane type="xy"/>'),
    "planar yz": ("planar", '<plane type="yz"/>'),
    "planar zx": ("planar", '<plane type="zx"/>'),
    "planar": (
        "planar",
        '<plane type="arbitrary"><translation_axis1><xyz>0 2 0</xyz></translation_axis1>'
        "<translation_axis2><xyz>0 1 1</xyz></translation_axis2></plane>",
    ),
}
X_XY_JOINTS = [
    "free", "cor", "free_2d", "frozen", "spherical", "px", "py", "pz", "rx", "ry", "rz", "saddle", "p3d", "rr",
    "rr_imp", "rsaddle",
]  # fmt: skip
SHIFT_JOINTS = ["Rx", "Ry", "Rz", "Tx", "Ty", "Tz", "rigid", "float", "revolute", "prismatic", "spherical"]

SQUARE = [X, Y, Z, -X, -Y, -Z]


def tilted(one: Array, other: Array, angle: float) -> Array:
    return math.cos(angle) * one + math.sin(angle) * other


# ---------------------------------------------------------------- in Blender


def random_values(mechanism: Mechanism, rng: np.random.Generator, reach: float = 0.6) -> dict[str, Array]:
    sizes = {joint.id: sum(DOF_SIZE[dof.kind] for dof in joint.dofs) for joint in mechanism.joints if joint.active}
    return {key: rng.uniform(-reach, reach, (1, size)) for key, size in sizes.items()}


def check(mechanism: Mechanism, seed: int = 1, times: int = 2) -> Any:
    """Build, pose at random coordinates, compare. Returns the armature."""
    rig = put(mechanism)
    release_stops(rig)
    rest, rng = zero(rig), np.random.default_rng(seed)
    for _ in range(times):
        values = random_values(mechanism, rng)
        pose(rig, values)
        assert worst(rig, mechanism, rest, values) < WITHIN
    return rig


# ---------------------------------------------------------------- every type of joint, both ways round


@both_ways
@pytest.mark.parametrize("name", SKEL_JOINTS)
def test_skel_joints_move_on_bones_as_in_their_kinematics(blank: Any, name: str, is_reversed: bool) -> None:
    mechanism = skel(*SKEL_JOINTS[name])
    check(turned(mechanism) if is_reversed else mechanism)


@both_ways
@pytest.mark.parametrize("kind", X_XY_JOINTS)
def test_joints_of_x_xy(blank: Any, kind: str, is_reversed: bool) -> None:
    mechanism = x_xy(kind)
    check(turned(mechanism) if is_reversed else mechanism)


@both_ways
@pytest.mark.parametrize("kind", SHIFT_JOINTS)
def test_shift_joints_move_on_bones_as_in_their_kinematics(blank: Any, kind: str, is_reversed: bool) -> None:
    mechanism = shift(kind)
    assert [joint.active for joint in mechanism.joints] == [True, True]
    check(turned(mechanism) if is_reversed else mechanism)


@pytest.mark.parametrize("name", CHAINS)
def test_any_degrees_of_freedom_along_the_tree(blank: Any, name: str) -> None:
    dofs, bones, _ = CHAINS[name]
    rig = check(linked(*dofs))
    assert len(chain(rig)) == bones


@pytest.mark.parametrize("name", CHAINS)
def test_any_degrees_of_freedom_against_the_tree(blank: Any, name: str) -> None:
    dofs, _, bones = CHAINS[name]
    rig = check(linked(*dofs, is_reversed=True))
    assert len(chain(rig)) == bones


@both_ways
@pytest.mark.parametrize("count", [2, 3])
def test_square_axes_always_fit_on_one_bone(blank: Any, count: int, is_reversed: bool) -> None:
    """All orders and senses of two and three square axes: no chain, whatever their handedness."""
    for axes in itertools.permutations(SQUARE, count):
        if all(abs(float(a @ b)) < 0.5 for a, b in itertools.combinations(axes, 2)):
            mechanism = linked(*rotations(*axes), frame=pose_of((0.3, 0.2, -0.5), (0, 0, 1)), is_reversed=is_reversed)
            rig = check(mechanism, times=1)
            assert len(chain(rig)) == 1
            first = axes[-1] if is_reversed else axes[0]  # the outermost turn, which is on Z
            assert chain(rig)[0].rotation_mode.endswith("Z")
            frame = (
                mechanism.joints[1].frame_child if is_reversed else mechanism.joints[1].frame_parent
            )  # the post's side
            rest = np.array(chain(rig)[0].bone.matrix_local)[:3, 2]
            assert np.abs(rest - frame[:3, :3] @ first * (-1 if is_reversed else 1)).max() < 1e-5
            remove(rig)


def remove(rig: Any) -> None:
    import bpy

    bpy.data.batch_remove(list(rig.data.knuckle.collection.all_objects))


@pytest.mark.parametrize("angle", [0.0, 1e-7, 1e-5, 1e-4, 2e-4, 1e-3, 0.05, 0.11, 0.12, 0.15, 0.2, 0.3])
@pytest.mark.parametrize("about", [X, Z], ids=["about x", "about z"])
@pytest.mark.parametrize(
    "dofs",
    [rotations(Z), rotations(X), rotations(Z, X), rotations(Z, Y), rotations(Z, X, Y), [Dof("ball")]],
    ids=["z", "x", "zx", "zy", "zxy", "ball"],
)
def test_frames_that_blender_keeps_badly_are_avoided(blank: Any, dofs: list[Dof], about: Array, angle: float) -> None:
    """Blender gives bones near the opposite of its own or their parent's Y back with frames that are 2e-4 off."""
    frame = pose_of(about * angle, (0, 0, 1)) @ pose_of((math.pi, 0, 0), (0, 0, 0))
    rig = check(linked(*dofs, frame=frame, body=frame @ pose_of((0, 0, 0), (0, 1, 0))))
    for bone in rig.data.bones:
        rest = np.array(bone.matrix_local)[:3, :3]
        assert np.abs(rest.T @ rest - np.eye(3)).max() < 8e-6


# ---------------------------------------------------------------- what a bone is like


def test_a_bone_shows_the_channels_of_its_joint_and_locks_the_others(blank: Any) -> None:
    (planar,) = chain(put(linked(*slides(X, Y), *rotations(Z))))
    assert (list(planar.lock_location), list(planar.lock_rotation)) == ([False, False, True], [True, True, False])
    assert (planar.lock_ik_x, planar.lock_ik_y, planar.lock_ik_z) == (True, True, False)
    (universal,) = chain(put(linked(*rotations(Y, X))))
    assert list(universal.lock_location) == [True] * 3
    assert sorted(universal.lock_rotation) == [False, False, True]
    assert not universal.lock_rotation[2], "the first turn is on Z"
    (ball,) = chain(put(linked(Dof("ball"))))
    assert (list(ball.lock_rotation), ball.lock_rotation_w, list(ball.lock_location)) == (
        [False] * 3,
        False,
        [True] * 3,
    )
    (free,) = chain(put(linked(Dof("free"))))
    assert (list(free.lock_rotation), list(free.lock_location)) == ([False] * 3, [False] * 3)
    (weld,) = chain(put(linked()))
    assert list(weld.lock_location) == list(weld.lock_rotation) == [True] * 3
    assert weld.lock_ik_x and weld.lock_ik_y and weld.lock_ik_z
    for bone in (planar, universal, ball, free, weld):
        assert list(bone.lock_scale) == [True] * 3


def test_inner_bones_of_a_chain_are_small_and_carry_no_body(blank: Any) -> None:
    rig = put(linked(*rotations(X, X, X)))
    bones = chain(rig)
    assert [bone.name for bone in bones] == ["Hip/2", "Hip/3", "Hip"]
    assert [bone.parent for bone in bones[1:]] == bones[:-1]
    assert [bone.bone.length < 0.9 * bones[-1].bone.length for bone in bones] == [True, True, False]
    used = {obj.parent_bone for obj in rig.data.knuckle.collection.all_objects if obj.parent_type == "BONE"}
    assert used.isdisjoint({"Hip/2", "Hip/3"}) and "Hip" in used


def test_stops_are_on_the_channel_that_they_stop(blank: Any) -> None:
    dofs = [Dof("translation", X, lower=-0.5), *rotations(Z, X, Y)]
    dofs[1].lower, dofs[1].upper = -0.1, 0.2
    dofs[3].upper = 0.3
    rig = put(linked(*dofs))
    (bone,) = chain(rig)
    by_type = {limit.type: limit for limit in bone.constraints}
    slide, turn = by_type.pop("LIMIT_LOCATION"), by_type.pop("LIMIT_ROTATION")
    assert not by_type
    assert (slide.use_min_x, slide.use_max_x, slide.use_min_z) == (True, False, False)
    assert slide.min_x == -0.5
    assert (turn.use_limit_z, turn.use_limit_x, turn.use_limit_y) == (True, False, True)
    assert (turn.min_z, turn.max_z, turn.max_y) == pytest.approx((-0.1, 0.2, 0.3))
    assert (bone.use_ik_limit_z, bone.use_ik_limit_x, bone.use_ik_limit_y) == (True, False, True)
    assert (bone.ik_min_z, bone.ik_max_z, bone.ik_max_y) == pytest.approx((-0.1, 0.2, 0.3))
    pose(rig, {"j": np.array([-2.0, 1.0, 0.5, 0.1])})
    at_stops = {"j": np.array([[-0.5, 0.2, 0.5, 0.1]])}
    there = {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}
    release_stops(rig)
    pose(rig, at_stops)
    assert all(np.abs(world_of(obj) - there[key]).max() < 1e-5 for key, obj in objects_of(rig, "BODY").items())


def test_an_edited_stop_moves_the_limits_of_its_channel_only(blank: Any) -> None:
    dofs = [*rotations(Z), *slides(X), *rotations(X)]
    for dof in dofs:
        dof.lower = -0.25
    rig = put(linked(*dofs))

    def shown() -> list[list[tuple]]:
        return [
            [(limit.type, limit.min_x, limit.min_y, limit.min_z) for limit in bone.constraints] for bone in chain(rig)
        ]

    before = shown()
    record = objects_of(rig, "JOINT")["j"].knuckle.joint.dofs
    assert [len(limits) for limits in before] == [1, 2]
    record[0].lower = -0.5
    after = shown()
    assert after[1] == before[1]
    assert (before[0][0][3], after[0][0][3]) == (-0.25, -0.5)
    record[0].use_lower = record[1].use_lower = False
    assert [[limit[0] for limit in limits] for limits in shown()] == [[], ["LIMIT_ROTATION"]]
    assert [bone.use_ik_limit_z for bone in chain(rig)] == [False, True]


def test_a_screw_translates_as_its_bone_rotates(blank: Any) -> None:
    """Also while it is keyed, and whether or not scripts may run: Blender works the expression out by itself."""
    rig = put(linked(Dof("screw", Z, pitch=0.25), frame=pose_of((0, 0, 0), (0, 0, 1))))
    slide, bone = chain(rig)
    (driver,) = rig.animation_data.drivers
    assert driver.driver.is_simple_expression
    assert driver.data_path == f'pose.bones["{slide.name}"].location'
    assert list(slide.lock_location) == list(slide.lock_rotation) == list(bone.lock_location) == [True] * 3
    assert list(bone.lock_rotation) == [True, True, False]
    rest = zero(rig)
    for frame, angle in ((1, 0.0), (11, 4.0)):
        bone.rotation_euler.z = angle
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    for point in (point for curve in curves_of(rig) for point in curve.keyframe_points):
        point.interpolation = "LINEAR"
    blank.scene.frame_set(6)
    moved = world_of(objects_of(rig, "BODY")["arm"]) @ np.linalg.inv(rest["arm"])
    axis_foot = moved @ np.array([0, 0, 1, 1])
    assert axis_foot[:3] == pytest.approx([0, 0, 1.5], abs=1e-6)
    assert math.atan2(moved[1, 0], moved[0, 0]) == pytest.approx(2.0, abs=1e-6)


def test_a_joint_at_the_world_has_a_bone_without_parent(blank: Any) -> None:
    mechanism = x_xy("saddle")
    rig = put(mechanism)
    (bone,) = chain(rig, mechanism.joints[0].id)
    assert bone.parent is None
    assert not any(bone.knuckle.root for bone in rig.data.bones)
    assert np.abs(np.array(bone.bone.matrix_local)[:3, 3] - (1, 2, 3)).max() < 1e-6


# ---------------------------------------------------------------- where the file begins


@both_ways
@pytest.mark.parametrize("name", [name for name, (dofs, _, _) in CHAINS.items() if dofs])
def test_an_import_stands_where_the_file_begins(blank: Any, name: str, is_reversed: bool) -> None:
    dofs = [replace(dof) for dof in CHAINS[name][0]]
    rng = np.random.default_rng(5)
    for dof in dofs:
        if DOF_SIZE[dof.kind] == 1:
            dof.position = float(rng.uniform(-1, 1))
            dof.lower, dof.upper = dof.position + 0.1, dof.position + 0.3  # even where that is outside its stops
        else:
            dof.start = tuple(rng.uniform(-1, 1, DOF_SIZE[dof.kind]))
    mechanism = linked(*dofs, is_reversed=is_reversed)
    rig = put(mechanism)
    blank.view_layer.update()
    now = {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}
    release_stops(rig)
    rest = zero(rig)
    begins = {"j": np.concatenate([dof.initial for dof in dofs])[None]}
    pose(rig, begins)
    assert worst(rig, mechanism, rest, begins) < WITHIN
    for key, obj in objects_of(rig, "BODY").items():
        assert np.abs(world_of(obj) - now[key]).max() < WITHIN


# ---------------------------------------------------------------- through Blender and back


def test_records_hold_everything_of_a_degree_of_freedom(blank: Any) -> None:
    from addon.blender.scene.read.mechanism import extract

    part = [
        Dof("rotation", axis, lower=-0.5 - k, damping=0.25 * k, name=f"part {k}") for k, axis in enumerate((X, Y, Z))
    ]
    dofs = [
        Dof("translation", X, position=0.5, velocity=2.0, name="along"),
        Dof("screw", Y, lower=-1.0, pitch=0.125, stiffness=3.0, rest=0.5, name="bolt"),
        Dof("ball", start=(0.5, 0.25, -0.5), start_rates=(1.0, 0.0, 2.0), parts=part),
        Dof("free", start=(0.5, 0.25, -0.5, 1.0, 2.0, 3.0)),
        Dof("rotation", Z, upper=1.0, friction=0.5, armature=0.25),
    ]
    mechanism = linked(*dofs)
    found = extract(put(mechanism).data.knuckle.collection)
    (joint,) = [joint for joint in found.joints if joint.id == "j"]
    assert described(joint.dofs) == described(dofs)


def described(dofs: Iterable[Dof]) -> list[Any]:
    """Degrees of freedom as plain data."""
    return [
        {
            **{item.name: getattr(dof, item.name) for item in fields(dof)},
            "axis": list(dof.axis),
            "parts": described(dof.parts),
        }
        for dof in dofs
    ]


def test_an_edited_number_of_one_coordinate_changes_that_alone(blank: Any) -> None:
    from addon.blender.scene.read.mechanism import extract

    mechanism = skel("universal", axis("0 1 0") + axis("1 0 0", "2"))
    rig = put(mechanism)
    record = objects_of(rig, "JOINT")[mechanism.joints[1].id].knuckle.joint
    record.dofs[1].use_upper, record.dofs[1].upper = True, math.radians(30)
    found = extract(rig.data.knuckle.collection)
    expected = described(skel(*SKEL_JOINTS["universal"]).joints[1].dofs)
    expected[1]["upper"] = math.radians(30)
    now = described(found.joints[1].dofs)
    assert now[1].pop("upper") == pytest.approx(expected[1].pop("upper"), abs=1e-15)
    assert now == expected


@pytest.mark.parametrize("name", ["universal", "euler zyx", "planar zx", "ball", "screw", "free"])
def test_posing_and_a_saved_blend_edit_nothing(blank: Any, tmp_path: Path, name: str) -> None:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.scene.read.mechanism import extract

    mechanism = skel(*SKEL_JOINTS[name])
    rig = put(mechanism)
    values = random_values(mechanism, np.random.default_rng(2))
    pose(rig, values)
    placed = {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}
    collection = rig.data.knuckle.collection.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    rig = rig_in(bpy.data.collections[collection])
    found = extract(bpy.data.collections[collection])
    for mine, theirs in zip(found.joints, skel(*SKEL_JOINTS[name]).joints, strict=True):
        assert described(mine.dofs) == described(theirs.dofs)
        assert np.array_equal(mine.frame_parent, theirs.frame_parent)
        assert np.array_equal(mine.frame_child, theirs.frame_child)
    for key, obj in objects_of(rig, "BODY").items():
        assert np.abs(world_of(obj) - placed[key]).max() < 1e-6


# ---------------------------------------------------------------- real files


@pytest.mark.parametrize("path", FILES or NO_FILES, ids=lambda path: f"{path.parent.name}/{path.name}" if path else "")
def test_real_files_begin_and_move_as_in_their_model(blank: Any, path: Path) -> None:
    from addon.core.kinematics import initial_joint_values
    from addon.core.report import FormatError

    try:
        mechanism = formats.load(path)
    except FormatError as error:
        pytest.skip(f"not read: {error}")
    rig = put(mechanism, assemble=False)
    blank.view_layer.update()
    begun = {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}
    release_stops(rig)
    rest = zero(rig)
    begins = {key: value for key, value in initial_joint_values(mechanism).items()}
    pose(rig, {key: value for key, value in begins.items()})
    assert worst(rig, mechanism, rest, begins) < WITHIN
    size = size_of(mechanism)
    for key, obj in objects_of(rig, "BODY").items():
        assert np.abs(world_of(obj) - begun[key]).max() < WITHIN * size
    values = random_values(mechanism, np.random.default_rng(3))
    pose(rig, values)
    assert worst(rig, mechanism, rest, values) < WITHIN
