"""x_xy is read as imt-ring reads it, and what it would not take but can only mean one thing is read too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import spanning_tree
from addon.core.model import Array, Mechanism
from addon.core.report import FormatError


def read(inside: str, before: str = "") -> Mechanism:
    """A model with these bodies, and with what comes before its worldbody."""
    return formats.loads(f'<x_xy model="m">{before}<worldbody>{inside}</worldbody></x_xy>'.encode(), "m.xml")


def codes(mechanism: Mechanism) -> list[str]:
    """What the report of the reading says, in short."""
    return [entry.code for entry in mechanism.report.entries]


def about(axis: str, degrees: float) -> Array:
    """A right-handed turn about a coordinate axis, (3, 3)."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = -s, s
    return turn


def moved(mechanism: Mechanism, coordinates: list[float]) -> Array:
    """The pose of the last body when the last joint stands at coordinates."""
    tree = spanning_tree(mechanism)
    return tree.forward({mechanism.joints[-1].id: np.array([coordinates])})[0, -1]


def test_gravity_is_what_an_accelerometer_reads() -> None:
    body = '<body name="a" joint="free"/>'
    assert read(body).world.gravity.tolist() == [0.0, 0.0, -9.81]
    mechanism = read(body, '<options gravity="1 0 -9.81" dt="0.005"/>')
    assert mechanism.world.gravity.tolist() == [-1.0, 0.0, 9.81]
    assert mechanism.world.time_step == 0.005
    assert "gravity-upwards" in codes(mechanism)


def test_euler_is_active_and_quat_is_passive() -> None:
    by_euler = read('<body name="a" joint="frozen" euler="10 20 30" pos="1 2 3"/>').bodies[0].pose
    assert np.abs(by_euler[:3, :3] - about("z", 30) @ about("y", 20) @ about("x", 10)).max() < 1e-15
    assert by_euler[:3, 3].tolist() == [1.0, 2.0, 3.0]
    half = math.sqrt(0.5)
    by_quat = read(f'<body name="a" joint="frozen" quat="{half} 0 0 {half}"/>').bodies[0].pose
    assert np.abs(by_quat[:3, :3] - about("z", -90)).max() < 1e-15


def test_children_of_a_quaternion_that_is_not_unit_are_stretched_as_in_imt_ring() -> None:
    inside = '<body name="a" joint="frozen" quat="2 0 0 0"><body name="b" joint="frozen" pos="1 0 0"/></body>'
    mechanism = read(inside)
    assert mechanism.bodies[1].pose[:3, 3].tolist() == [4.0, 0.0, 0.0]
    assert "quat-length" in codes(mechanism)


def test_poses_are_relative_to_the_parent_body() -> None:
    inside = (
        '<body name="a" joint="rx" pos="1 0 0" euler="0 0 90"><body name="b" joint="rx" pos="1 0 0"/></body>'
        '<body name="c" joint="px" pos="0 0 2"/>'
    )
    mechanism = read(inside)
    assert [joint.parent for joint in mechanism.joints] == [None, "a", None]
    assert np.abs(mechanism.bodies[1].pose[:3, 3] - [1.0, 1.0, 0.0]).max() < 1e-15
    assert mechanism.bodies[2].pose[:3, 3].tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("joint", "coordinates", "turn", "place"),
    [
        ("frozen", [], np.eye(3), [0, 0, 0]),
        ("rx", [0.5], about("x", math.degrees(0.5)), [0, 0, 0]),
        ("ry", [0.5], about("y", math.degrees(0.5)), [0, 0, 0]),
        ("rz", [0.5], about("z", math.degrees(0.5)), [0, 0, 0]),
        ("px", [2], np.eye(3), [2, 0, 0]),
        ("py", [2], np.eye(3), [0, 2, 0]),
        ("pz", [2], np.eye(3), [0, 0, 2]),
        ("p3d", [1, 2, 3], np.eye(3), [1, 2, 3]),
        ("saddle", [math.radians(10), math.radians(20)], about("y", 10) @ about("z", 20), [0, 0, 0]),
        ("free_2d", [2, 3, math.radians(40)], about("x", 40), [0, 2, 3]),
        ("spherical", [0, math.pi / 2, 0], about("y", 90), [0, 0, 0]),
        ("free", [0, 0, math.pi / 2, 4, 5, 6], about("z", 90), [4, 5, 6]),
        ("cor", [0, 0, math.pi / 2, 4, 5, 6, 1, 0, 0], about("z", 90), [4, 6, 6]),
        ("rr", [0.5], about("y", math.degrees(0.5)), [0, 0, 0]),
        ("rr_imp", [math.radians(10), math.radians(20)], about("y", 10) @ about("z", 20), [0, 0, 0]),
        ("rsaddle", [math.radians(10), math.radians(20)], about("y", 10) @ about("z", 20), [0, 0, 0]),
    ],
)
def test_joints_move_as_they_are_called(joint: str, coordinates: list[float], turn: Array, place: list[float]) -> None:
    mechanism = read(f'<body name="a" joint="{joint}"/>')
    pose = moved(mechanism, coordinates)
    assert np.abs(pose[:3, :3] - turn).max() < 1e-15
    assert np.abs(pose[:3, 3] - place).max() < 1e-15
    assert sum(dof.initial.size for dof in mechanism.joints[0].dofs) == len(coordinates)


def test_an_axis_that_is_not_in_the_file_is_chosen_once_and_reported() -> None:
    inside = "".join(f'<body name="{joint}" joint="{joint}"/>' for joint in ("rr", "rr_imp", "rsaddle"))
    mechanism = read(inside)
    assert codes(mechanism).count("axis-chosen") == 3
    axes = [[dof.axis.tolist() for dof in joint.dofs] for joint in mechanism.joints]
    assert axes == [[[0, 1, 0]], [[0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1]]]


def test_a_joint_registered_at_run_time_is_kept_as_frozen() -> None:
    mechanism = read('<body name="a" joint="suntay" damping="3"/>')
    assert mechanism.joints[0].dofs == []
    assert "unknown-joint" in codes(mechanism)
    mechanism.source.text = ""
    assert '<body name="a" joint="suntay" damping="3"/>' in formats.dumps(mechanism, "x_xy")[0]
    variant = read('<body name="a" joint="free_leg"/>').joints[0]
    assert (variant.type, [dof.kind for dof in variant.dofs]) == ("free", ["free"])


def test_joint_numbers_go_to_their_degrees_of_freedom() -> None:
    hinge = read('<body name="a" joint="ry" damping="2" armature="3" spring_stiff="4" spring_zero="0.5"/>').joints[0]
    dof = hinge.dofs[0]
    assert (dof.damping, dof.armature, dof.stiffness, dof.rest) == (2.0, 3.0, 4.0, 0.5)
    planar = read('<body name="a" joint="free_2d" damping="1 2 3"/>').joints[0]
    assert [(dof.kind, dof.damping) for dof in planar.dofs] == [
        ("translation", 2.0),
        ("translation", 3.0),
        ("rotation", 1.0),
    ]
    ball = read('<body name="a" joint="spherical" damping="2 2 2"/>').joints[0].dofs[0]
    assert (ball.damping, ball.parts) == (2.0, [])
    half = math.sqrt(0.5)
    zero = f"{half} {half} 0 0 1 2 3"
    free = read(f'<body name="a" joint="free" damping="5 5 5 25 25 25" spring_zero="{zero}"/>').joints[0].dofs[0]
    assert [part.damping for part in free.parts] == [5, 5, 5, 25, 25, 25]
    assert [part.rest for part in free.parts] == pytest.approx([-math.pi / 2, 0, 0, 1, 2, 3])


def test_geoms_stand_in_their_body_with_mass_and_colour() -> None:
    mechanism = read(
        '<body name="a" joint="free">'
        '<geom type="box" mass="2" dim="1 2 3" pos="1 0 0" euler="0 0 90" color="0.1 0.2 0.3"/>'
        '<geom type="sphere" mass="1" dim="0.5" color="dustin_exp_white" edge_color="black"/>'
        '<geom type="capsule" mass="1" dim="0.05 0.4" color="1 0 0 0.5"/>'
        '<geom type="cylinder" mass="0" dim="0.1 0.2"/>'
        '<geom type="xyz" dim="0.3" pos="9 9 9" mass="7"/></body>'
    )
    (body,) = mechanism.bodies
    box, sphere, capsule, cylinder, axes = body.shapes
    assert (box.type, box.size, box.color) == ("box", {"x": 1, "y": 2, "z": 3}, (0.1, 0.2, 0.3, 1.0))
    assert np.abs(box.pose[:3, :3] - about("z", 90)).max() < 1e-15
    assert sphere.color == (241 / 255, 239 / 255, 208 / 255, 1.0)
    assert (sphere.size, sphere.extra["edge_color"]) == ({"radius": 0.5}, "black")
    assert (capsule.size, capsule.color) == ({"radius": 0.05, "length": 0.4}, (1.0, 0.0, 0.0, 0.5))
    assert (cylinder.type, cylinder.color) == ("cylinder", None)
    assert (axes.type, axes.size, axes.pose.tolist()) == ("axes", {"length": 0.3}, np.eye(4).tolist())
    assert body.mass == 4.0
    assert body.com.tolist() == [0.5, 0.0, 0.0]


def test_inertia_takes_long_shapes_as_lying_along_x() -> None:
    capsule = read(
        '<body name="a" joint="free"><geom type="capsule" mass="1" dim=".05 .4" pos=".2 0 0" euler="0 90 0"/></body>'
    )
    # what imt-ring 1.7.1 gave for this geom, about the body's origin
    about_origin = capsule.bodies[0].inertia + np.diag([0.0, 0.04, 0.04])
    assert np.abs(np.diag(about_origin) - [0.018893, 0.058893, 0.041214]).max() < 1e-6
    assert "long-axis" in codes(capsule)
    cylinder = read('<body name="a" joint="free"><geom type="cylinder" mass="12" dim="1 2"/></body>').bodies[0]
    assert np.diag(cylinder.inertia) == pytest.approx([6.0, 7.0, 7.0])


def test_defaults_reach_all_that_lacks_them() -> None:
    mechanism = read(
        '<geom dim="1 1 1"/><body name="a"><geom/><body name="b" joint="rx" pos="0 0 1"><geom mass="5"/></body></body>',
        '<defaults><geom type="box" mass="2" dim="1 2 3" color="red"/><body joint="rz" pos="1 0 0"/></defaults>',
    )
    world, a, b = mechanism.bodies
    assert (world.name, world.immobile, world.shapes[0].size) == ("worldbody", True, {"x": 1, "y": 1, "z": 1})
    assert (a.mass, b.mass, a.shapes[0].color) == (2.0, 5.0, (0.8, 0.2, 0.2, 1.0))
    assert [joint.extra["joint"] for joint in mechanism.joints] == ["rz", "rx"]
    assert b.pose[:3, 3].tolist() == [1.0, 0.0, 1.0]


def test_an_own_rotation_beats_a_default_of_the_other_kind() -> None:
    mechanism = read(
        '<body name="a" joint="frozen" quat="1 0 0 0"/><body name="b" joint="frozen"/>',
        '<defaults><body euler="0 0 90"/></defaults>',
    )
    assert mechanism.bodies[0].pose.tolist() == np.eye(4).tolist()
    assert np.abs(mechanism.bodies[1].pose[:3, :3] - about("z", 90)).max() < 1e-15
    assert "two-rotations" in codes(mechanism)


def test_x_xy_markers_become_reference_frames() -> None:
    mechanism = read('<body name="a" joint="free"><omc name="seg1" pos_marker="2" pos="0 0 -.02"/></body>')
    (frame,) = mechanism.frames
    assert (frame.name, frame.body, frame.extra["pos_marker"]) == ("seg1", "a", "2")
    assert frame.pose[:3, 3].tolist() == [0.0, 0.0, -0.02]


def test_the_range_of_a_place_is_kept_with_its_body() -> None:
    mechanism = read('<body name="a" joint="frozen" pos="9 0 0" pos_min="0 0 0" pos_max="1 1 1"/>')
    assert mechanism.bodies[0].extra == {"pos_min": [0, 0, 0], "pos_max": [1, 1, 1]}
    assert mechanism.bodies[0].pose[0, 3] == 9.0


def test_spellings_of_the_documentation_are_read() -> None:
    text = (
        '<x_xy name="doc"><worldbody><body name="a" joint="free">'
        '<geom type="box" mass="1" size="0.5 0.25 0.125" color="0.8 0.2 0.2"/></body></worldbody></x_xy>'
    )
    mechanism = formats.loads(text.encode())
    assert mechanism.name == "doc"
    assert mechanism.bodies[0].shapes[0].size == {"x": 0.5, "y": 0.25, "z": 0.125}
    assert codes(mechanism).count("other-spelling") == 2


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ('<body joint="rx"/>', "no-name"),
        ('<body name="a"/>', "no-joint"),
        ('<body name="a" joint="rx"/><body name="a" joint="ry"/>', "repeated-name"),
        ('<body name="007" joint="rx"/>', "numeric-name"),
        ('<body name="a" joint="rx" pos="1 2"/>', "repaired-count"),
        ('<body name="a" joint="rx" pos="1,2,3"/>', "separators"),
        ('<body name="a" joint="rx" damping="1 2"/>', "repaired-count"),
        ('<body name="a" joint="rx" quat="1 0 0 0" euler="0 0 0"/>', "two-rotations"),
        ('<body name="a" joint="rx" quat="0 0 0 0"/>', "zero-quat"),
        ('<body name="a" joint="rx" pos_min="0 0 0"/>', "half-range"),
        ('<body name="a" joint="rx" pos_min="0 0 0" pos_max="0 0 0"/>', "empty-range"),
        ('<body name="a" joint="rx" limit="1"/>', "unknown-attribute"),
        ('<body name="a" joint="rx"><sensor/></body>', "unknown-element"),
        ('<body name="a" joint="cor"/>', "refused-joint"),
        ('<body name="a" joint="rx"><geom type="box" dim="1 1 1"/></body>', "no-mass"),
        ('<body name="a" joint="rx"><geom type="box" mass="1" dim="1 -1 1"/></body>', "negative-size"),
        ('<body name="a" joint="rx"><geom type="box" mass="1" dim="1 1 1" color="#ff0000"/></body>', "unknown-color"),
        ('<body name="a" joint="rx"><omc name="a" pos_marker="1"/><omc name="b" pos_marker="2"/></body>', "markers"),
        ('<body name="a" joint="rx"><omc name="a" pos_marker="one"/></body>', "marker-number"),
        ('<body name="a" joint="rx"><geom type="sphere" mass="1" dim="1" color="1 0"/></body>', "unknown-color"),
        ('<body name="a" joint="rx"><geom type="sphere" mass="1" dim="1" color="1st"/></body>', "unknown-color"),
        ("", "no-bodies"),
    ],
)
def test_content_that_imt_ring_rejects_is_fixed_and_reported_with_its_line(inside: str, code: str) -> None:
    mechanism = read("\n" + inside)
    (entry,) = (entry for entry in mechanism.report.entries if entry.code == code)
    assert entry.severity == "warning"
    if code not in {"repeated-name", "refused-joint", "markers", "no-bodies"}:
        assert entry.line == 2


def test_bodies_of_one_name_stay_two() -> None:
    mechanism = read('<body name="a" joint="rx"/><body name="a" joint="ry"><body name="b" joint="rz"/></body>')
    assert [body.id for body in mechanism.bodies] == ["a", "a (2)", "b"]
    assert mechanism.joints[2].parent == "a (2)"


@pytest.mark.parametrize(
    ("inside", "where", "says"),
    [
        ('<body name="a" joint="rx" pos="1 two 3"/>', "x_xy/worldbody/body", "finite numbers"),
        ('<body name="a" joint="rx" pos="1 nan 3"/>', "x_xy/worldbody/body", "finite numbers"),
        ('<body name="a" joint="rx"><geom mass="1" dim="1"/></body>', "x_xy/worldbody/body/geom", "no type"),
        ('<body name="a" joint="rx"><geom type="cone" dim="1"/></body>', "x_xy/worldbody/body/geom", "'cone'"),
        ('<body name="a" joint="rx"><geom type="box" mass="1"/></body>', "x_xy/worldbody/body/geom", "no dim"),
    ],
)
def test_what_cannot_be_read_is_named(inside: str, where: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        read("\n\n" + inside)
    error = caught.value
    assert (error.path, error.line, error.where) == ("m.xml", 3, where)
    assert says in error.message
    assert error.remedy


@pytest.mark.parametrize("count", [80, 800])
def test_a_long_chain_is_read_and_written(count: int) -> None:
    inside = "".join(f'<body name="b{i}" joint="rz" pos="1 0 0">' for i in range(count)) + "</body>" * count
    mechanism = read(inside)
    assert mechanism.bodies[-1].pose[0, 3] == count
    mechanism.source.text = ""
    again = formats.loads(formats.dumps(mechanism, "x_xy")[0].encode())
    assert [body.pose.tolist() for body in again.bodies] == [body.pose.tolist() for body in mechanism.bodies]


@pytest.mark.parametrize("levels", [9_999, 100_000])
def test_x_xy_nested_too_deep_is_rejected(levels: int) -> None:
    with pytest.raises(FormatError, match="nested deeper than 10000"):
        read('<body name="a" joint="rz">' * levels + "</body>" * levels)
