"""SKEL files are read as DART reads them, and those that DART crashes on are mended.

The reference is DART itself where a Python with dartpy is named (KNUCKLE_DARTPY); the numbers that stand here were
measured with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import initial_joint_values, spanning_tree
from addon.core.model import Array, Body, Joint, Mechanism
from addon.core.report import FormatError
from addon.formats.skel import complete_moments as skel_complete
from tests.support.skel_compare import CORPUS, FILES, dart_of, needs_dart, needs_files, same_as_dart, turn
from tests.support.skel_helpers import BOX, NO_FRAGS, body, everything, joint, only, read, shown, skel, skeleton

pytestmark = pytest.mark.filterwarnings("error")
each_file = pytest.mark.parametrize(
    "path",
    FILES or [pytest.param(None, marks=needs_files)],
    ids=lambda path: "-".join(path.parts[-2:]) if path else "none",
)
#: DART takes 1 1 1 for a size below zero, where we draw its amount.
NEGATIVE_SIZE = "kima_human_left_leg.skel"


def codes(mechanism: Mechanism, severity: str = "warning") -> list[str]:
    return [entry.code for entry in mechanism.report.entries if entry.severity == severity]


def placed(mechanism: Mechanism, **values: list[float] | float) -> dict[str, Array]:
    """World poses of all bodies by name, with joints (by name) at these coordinates."""
    ids = {each.name: each.id for each in mechanism.joints}
    given = {ids[name]: np.atleast_1d(np.array(value, dtype=float))[None] for name, value in values.items()}
    poses = spanning_tree(mechanism).forward(given)[0]
    return {each.name: pose for each, pose in zip(mechanism.bodies, poses, strict=True)}


@cache
def dart_of_corpus() -> dict[Path, Any]:
    return dict(zip(FILES, dart_of(FILES), strict=True))


# ---- Real files -----------------------------------------------------------------------------------------


@needs_files
def test_the_corpus_is_whole() -> None:
    assert len(FILES) >= 79


@each_file
def test_a_real_file_stands_where_its_elements_say(path: Path) -> None:
    mechanism = formats.load(path)
    assert mechanism.source.format == "skel"
    assert not any(entry.severity == "error" for entry in mechanism.report.entries)
    poses = spanning_tree(mechanism).forward({})[0]
    for each, pose in zip(mechanism.bodies, poses, strict=True):
        assert np.abs(pose - each.pose).max() < 1e-12
    assert len({each.id for each in mechanism.bodies}) == len(mechanism.bodies)
    assert len({each.id for each in mechanism.joints}) == len(mechanism.joints)


@needs_dart
@each_file
def test_a_real_file_is_to_us_what_it_is_to_dart(path: Path) -> None:
    dart = dart_of_corpus()[path]
    if path.name in NO_FRAGS and "data/skel/test" in path.as_posix():
        assert dart["skeletons"] is None
        assert "frags" in dart["error"]
        return
    left_out = ("shapes",) if path.name == NEGATIVE_SIZE else ()
    assert same_as_dart(formats.load(path), dart, left_out) == []


def box_of_obj(path: Path) -> Array:
    """The edges of the box around a Wavefront mesh, in the single precision in which DART keeps it."""
    corners = [line.split()[1:4] for line in path.read_text().splitlines() if line.startswith("v ")]
    points = np.array(corners, dtype=np.float32).astype(np.float64)
    return points.max(axis=0) - points.min(axis=0)


@needs_dart
@needs_files
def test_an_inertia_from_a_mesh_is_that_of_dart_once_the_mesh_is_known() -> None:
    found = 0
    for path in FILES:
        mechanism = formats.load(path)
        meshes = {shape.mesh for each in mechanism.bodies for shape in each.shapes if shape.mesh}
        if any(each.inertia is None for each in mechanism.bodies) and all(mesh.endswith(".obj") for mesh in meshes):
            found += len(skel_complete(mechanism.bodies, lambda mesh, at=path: box_of_obj(at.parent / mesh)))
            assert all(each.inertia is not None for each in mechanism.bodies)
            assert same_as_dart(mechanism, dart_of_corpus()[path]) == []
            assert formats.dumps(mechanism)[0] == mechanism.source.text
    assert found >= 3


@needs_files
def test_files_of_the_text_format_are_named_for_what_they_are() -> None:
    paths = sorted((CORPUS / "skel" / "not_skel").glob("*.skel"))
    assert paths
    for path in paths:
        with pytest.raises(FormatError, match="text format that DART had until 2012"):
            formats.load(path)


# ---- Where things are -----------------------------------------------------------------------------------


def test_six_numbers_are_a_position_and_three_rotations_about_rotated_axes() -> None:
    pose = only(joint("free"), "1 2 3 .1 .2 .3").bodies[0].pose
    assert np.allclose(pose[:3, 3], [1, 2, 3])
    expected = [[0.93629, -0.28963, 0.19867], [0.31299, 0.9447, -0.09784], [-0.15935, 0.15379, 0.97517]]
    assert np.allclose(pose[:3, :3], expected, atol=5e-6)


def test_a_joint_rotates_its_child_about_its_own_frame() -> None:
    text = body("a", "<transformation>0 0 1 0 0 0</transformation>")
    text += body("c", "<transformation>0 0 2 0 0 0</transformation>")
    text += joint("weld", child="a") + joint(
        "revolute",
        "<transformation>0 0 -0.5 0 0 0</transformation><axis><xyz>1 0 0</xyz></axis>",
        parent="a",
        child="c",
        name="hinge",
    )
    mechanism = read(text)
    assert np.allclose(placed(mechanism)["c"][:3, 3], [0, 0, 2])
    assert np.allclose(placed(mechanism, hinge=np.pi / 2)["c"][:3, 3], [0, -0.5, 1.5])


def test_the_skeletons_own_frame_moves_all_its_bodies() -> None:
    mechanism = read(
        "<transformation>1 0 0 0 0 1.5707963267948966</transformation>"
        + body("b", "<transformation>2 0 0 0 0 0</transformation>")
        + joint("weld")
    )
    assert np.allclose(mechanism.bodies[0].pose[:3, 3], [1, 2, 0])


def test_a_ball_counts_in_a_rotation_vector() -> None:
    expected = [[0.93575, -0.28316, 0.21019], [0.30293, 0.95058, -0.06803], [-0.18054, 0.12733, 0.97529]]
    assert np.allclose(placed(only(joint("ball")), j=[0.1, 0.2, 0.3])["b"][:3, :3], expected, atol=5e-6)


def test_a_free_joint_rotates_first_and_moves_in_the_frame_of_the_body() -> None:
    mechanism = only(joint("free", "<init_pos>0 0 1.5707963267948966 4 5 6</init_pos>"), "1 2 3 0 0 1.5707963267948966")
    pose = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0, 0]
    assert np.allclose(pose[:3, 3], [-4, 6, 9])
    assert np.allclose(pose[:3, :3], np.diag([-1, -1, 1]))


@pytest.mark.parametrize(
    ("plane", "place", "axis"),
    [("xy", [1, 2, 0], [0, 0, 1]), ("yz", [0, 1, 2], [1, 0, 0]), ("zx", [2, 0, 1], [0, 1, 0])],
)
def test_a_planar_joint_moves_in_its_plane(plane: str, place: list[float], axis: list[float]) -> None:
    pose = placed(only(joint("planar", f'<plane type="{plane}"/>')), j=[1, 2, 0.5])["b"]
    assert np.allclose(pose[:3, 3], place)
    assert np.allclose(pose[:3, :3], turn(np.array(axis) * 0.5))


def test_an_arbitrary_plane_is_made_square() -> None:
    axes = "".join(
        f"<translation_axis{i}><xyz>{xyz}</xyz></translation_axis{i}>" for i, xyz in ((1, "0 2 0"), (2, "0 1 1"))
    )
    mechanism = only(joint("planar", f'<plane type="arbitrary">{axes}</plane>'))
    assert np.allclose([dof.axis for dof in mechanism.joints[0].dofs], [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_a_screw_advances_by_its_pitch_in_every_revolution() -> None:
    mechanism = only(joint("screw", "<axis><xyz>0 0 2</xyz><pitch>0.5</pitch></axis>"))
    pose = placed(mechanism, j=np.pi)["b"]
    assert np.allclose(pose[:3, 3], [0, 0, 0.25])
    assert np.allclose(pose[:3, :3], np.diag([-1, -1, 1]))


def test_two_translations_move_in_their_plane() -> None:
    mechanism = only(joint("translational2d", '<plane type="zx"/>'))
    assert np.allclose(placed(mechanism, j=[1, 2])["b"][:3, 3], [2, 0, 1])


# ---- The numbers of joints ------------------------------------------------------------------------------


def test_axes_hold_limits_springs_and_dampers() -> None:
    numbers_of = (
        "<dynamics><damping>1</damping><friction>2</friction>{}<spring_stiffness>4</spring_stiffness></dynamics>"
    )
    axis = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper></limit>"
        + numbers_of.format("<spring_rest_position>3</spring_rest_position>")
        + "</axis>"
    )
    dof = only(joint("revolute", axis)).joints[0].dofs[0]
    assert (dof.lower, dof.upper, dof.damping, dof.friction, dof.rest, dof.stiffness) == (-1, 2, 1, 2, 3, 4)


def test_what_the_document_of_the_format_spells_otherwise_is_read_too() -> None:
    axis = (
        "<axis><xyz>0 0 1</xyz><dynamics><sprint_rest_position>3</sprint_rest_position>"
        "<sprint_stiffness>4</sprint_stiffness></dynamics></axis>"
    )
    text = "<immobile>1</immobile>" + body(
        "b",
        "<inertia><mass>2</mass><transformation>1 2 3 0 0 1.5707963267948966</transformation><moment_of_inertia>"
        "<ixx>1</ixx><iyy>2</iyy><izz>3</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></moment_of_inertia></inertia>"
        "<collision_shape><geometry><cylinder><radius>1</radius><length>5</length></cylinder></geometry></collision_shape>",
    )
    mechanism = read(text + joint("revolute", axis))
    dof, found = mechanism.joints[0].dofs[0], mechanism.bodies[0]
    assert (dof.rest, dof.stiffness) == (3, 4)
    assert found.immobile
    assert found.shapes[0].size == {"radius": 1, "length": 5}
    assert np.allclose(found.com, [1, 2, 3])
    assert np.allclose(np.diag(found.inertia), [2, 1, 3])
    assert "old-spelling" in codes(mechanism, "info")


def test_a_dof_element_has_the_last_word() -> None:
    text = (
        "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
        '<dof local_index="0" name="knee"><position lower="-2" upper="inf" initial="0.5"/>'
        '<velocity upper="9" initial="3"/>'
        "<damping>7</damping></dof><init_pos>0.1</init_pos><init_vel>0.2</init_vel>"
    )
    dof = only(joint("revolute", text)).joints[0].dofs[0]
    assert (dof.lower, dof.upper, dof.position, dof.velocity, dof.damping) == (-2, None, 0.5, 3, 7)
    assert (dof.name, dof.extra) == ("knee", {"velocity/@upper": 9})


def test_single_coordinates_of_a_ball_have_their_own_numbers() -> None:
    text = '<init_pos>1 2 3</init_pos><dof local_index="2"><position lower="-1"/></dof>'
    dof = only(joint("ball", text)).joints[0].dofs[0]
    assert dof.start == (1, 2, 3)
    assert [part.lower for part in dof.parts] == [None, None, -1]
    plain = only(joint("ball", "<axis><dynamics><damping>1</damping></dynamics></axis>"))
    assert plain.joints[0].dofs[0].parts == []
    assert "ignored-element" in codes(plain, "info")


# ---- Mass -----------------------------------------------------------------------------------------------


def tensor(text: str) -> Array:
    return read(body("b", text) + joint("free")).bodies[0].inertia


def cube(edge: float) -> str:
    return f"<geometry><box><size>{edge} {edge} {edge}</size></box></geometry>"


def test_without_inertia_a_body_weighs_one() -> None:
    mechanism = read(body("b", shown(BOX)) + joint("free"))
    assert mechanism.bodies[0].mass == 1.0
    assert np.allclose(mechanism.bodies[0].inertia, np.eye(3))


def test_a_mass_alone_is_spread_over_all_shapes() -> None:
    assert np.allclose(tensor("<inertia><mass>12</mass></inertia>" + shown(BOX)), np.diag([13, 10, 5]))
    away = "<inertia><mass>12</mass><offset>1 0 0</offset></inertia>"
    assert np.allclose(tensor(away + shown(BOX)), np.diag([13, 22, 17]))
    two = "<inertia><mass>12</mass></inertia>" + shown(cube(1), "1 0 0 0 0 0") + shown(cube(2), "0 2 0 0 0 0")
    assert np.allclose(tensor(two), np.diag([50, 26 / 3, 154 / 3]))


def test_a_tensor_is_the_files_own() -> None:
    names = {"ixx": 3, "iyy": 4, "izz": 5, "ixy": 0.1, "ixz": 0.2, "iyz": 0.3}
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in names.items())
    found = tensor(f"<inertia><mass>1</mass><moment_of_inertia>{inside}</moment_of_inertia></inertia>")
    assert np.array_equal(found, [[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]])


def test_a_mesh_leaves_the_tensor_open() -> None:
    mesh = "<geometry><mesh><file_name>leg.obj</file_name><scale>1 -1 2</scale></mesh></geometry>"
    mechanism = read(body("b", "<inertia><mass>2</mass></inertia>" + shown(mesh)) + joint("free"))
    found = mechanism.bodies[0]
    assert found.inertia is None
    assert (found.shapes[0].mesh, found.shapes[0].size) == ("leg.obj", {"x": 1, "y": -1, "z": 2})
    assert "moment-of-mesh" in {entry.code for entry in mechanism.report.entries}


@needs_dart
def test_every_joint_type_and_shape_is_to_us_what_it_is_to_dart(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.skel" for seed in range(12)]
    for seed, path in enumerate(paths):
        path.write_bytes(everything(seed))
    for path, dart in zip(paths, dart_of(paths), strict=True):
        mechanism = formats.load(path)
        assert same_as_dart(mechanism, dart) == []
        assert [each.path for each in mechanism.assemblies] == ["s", "s(1)"]


@needs_dart
def test_a_size_that_dart_rejects_counts_as_one_for_the_mass(tmp_path: Path) -> None:
    sizes = (
        "<box><size>-1 2 3</size></box>",
        "<sphere><radius>-2</radius></sphere>",
        "<cylinder><radius>2</radius><height>0</height></cylinder>",
    )
    paths = [tmp_path / f"{number}.skel" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(
            skel(
                skeleton(
                    body("b", "<inertia><mass>2</mass></inertia>" + shown(f"<geometry>{size}</geometry>"))
                    + joint("free")
                )
            )
        )
    for path, dart in zip(paths, dart_of(paths), strict=True):
        mechanism = formats.load(path)
        assert same_as_dart(mechanism, dart, ("shapes",)) == []
        assert min(mechanism.bodies[0].shapes[0].size.values()) >= 0
        assert "refused-size" in codes(mechanism)


# ---- Shapes and the rest --------------------------------------------------------------------------------


def test_visible_and_collision_shapes_are_kept_separate() -> None:
    text = (
        shown(BOX + "<color>.1 .2 .3</color>")
        + f"<collision_shape>{cube(2)}<collidable>0</collidable></collision_shape>"
    )
    found = read(body("b", text) + joint("free")).bodies[0]
    assert [(shape.visual, shape.collision) for shape in found.shapes] == [(True, False), (False, True)]
    assert found.shapes[0].color == (0.1, 0.2, 0.3, 1.0)
    assert found.shapes[1].color is None
    assert not found.collidable


def test_a_plane_lies_along_its_normal() -> None:
    for text in ("<offset>3</offset>", "<point>0 3 7</point>"):
        plane = f"<geometry><plane><normal>0 2 0</normal>{text}</plane></geometry>"
        shape = read(body("b", shown(plane)) + joint("weld")).bodies[0].shapes[0]
        assert np.allclose(shape.pose[:3, 2], [0, 1, 0])
        assert shape.pose[1, 3] == pytest.approx(3)


def test_a_soft_shape_is_its_primitive_and_adds_nothing_to_the_tensor() -> None:
    soft = (
        "<inertia><mass>1</mass></inertia><soft_shape><total_mass>2</total_mass><geometry><box><size>1 1 1</size>"
        "<frags>3 4 5</frags></box></geometry><kv>10</kv><ke>20</ke><damp>.1</damp></soft_shape>"
    )
    found = read(body("b", soft) + joint("free")).bodies[0]
    shape = found.shapes[0]
    assert (shape.type, shape.soft, shape.size) == ("box", True, {"x": 1, "y": 1, "z": 1})
    kept = {"total_mass": 2, "geometry/box/frags": (3, 4, 5), "kv": 10, "ke": 20, "damp": 0.1}
    assert shape.extra["soft"] == kept
    assert np.allclose(found.inertia, np.eye(3))


def test_skel_markers_become_reference_frames() -> None:
    mechanism = read(body("b", '<marker name="heel"><offset>1 2 3</offset></marker>') + joint("free"))
    assert [(frame.name, frame.body) for frame in mechanism.frames] == [("heel", "s/b")]
    assert np.allclose(mechanism.frames[0].pose[:3, 3], [1, 2, 3])


def test_a_file_without_a_world_or_without_physics() -> None:
    text = '<skel version="1.0"><skeleton name="s"><body name="b"/>' + joint("weld") + "</skeleton></skel>"
    mechanism = formats.loads(text.encode(), "alone.skel")
    assert (mechanism.source.dialect, mechanism.name) == ("skeleton", "alone")
    assert np.allclose(mechanism.world.gravity, [0, 0, -9.81])
    assert mechanism.world.time_step == 0.001
    other = read(body("b") + joint("weld"), "<physics><gravity>0 -9.81 0</gravity></physics>")
    assert np.allclose(other.world.gravity, [0, -9.81, 0])
    with pytest.raises(FormatError, match="neither <world> nor <skeleton>"):
        formats.loads(b"<skel/>", "empty.skel")


def test_several_skeletons_of_one_name_are_distinguished() -> None:
    one = skeleton(body("b") + joint("weld"))
    mechanism = formats.loads(skel(one + one), "two.skel")
    assert [each.id for each in mechanism.bodies] == ["s/b", "s(1)/b"]
    assert [each.assembly for each in mechanism.bodies] == ["s", "s(1)"]
    assert "repaired-name" in codes(mechanism)


# ---- What DART crashes on -------------------------------------------------------------------------------


def test_bodies_that_nothing_carries_stand_where_they_were_put() -> None:
    place = "<transformation>1 2 3 0 0 0</transformation>"
    mechanism = read(body("b", place) + body("lonely", place) + joint("weld"))
    assert "orphan-body" in codes(mechanism)
    assert np.allclose(placed(mechanism)["lonely"][:3, 3], [1, 2, 3])


def test_a_root_that_only_carries_is_free() -> None:
    mechanism = read(body("b") + body("c") + joint("revolute", "<axis><xyz>0 0 1</xyz></axis>", parent="b", child="c"))
    assert [root.name for root in spanning_tree(mechanism).roots] == ["b"]
    assert codes(mechanism) == []
    assert "loose-body" in codes(mechanism, "info")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (joint("weld", parent="nobody"), "dangling-reference"),
        (joint("weld", child="nobody"), "dangling-reference"),
        (joint("weld", parent="World"), "dangling-reference"),
        (joint("weld", parent="b"), "inactive-joint"),
    ],
)
def test_joints_that_join_nothing_are_inactive_and_said_to_be(text: str, code: str) -> None:
    mechanism = only(text)
    assert [each.active for each in mechanism.joints] == [False]
    assert code in codes(mechanism)
    assert "'j'" in next(entry.message for entry in mechanism.report.entries if entry.code == code)


def test_white_space_around_a_name_means_nothing() -> None:
    mechanism = only(joint("weld", parent=" world ", child=" b\n"))
    assert mechanism.joints[0].active
    assert "repaired-reference" in codes(mechanism)


def test_the_second_joint_of_a_body_is_inactive() -> None:
    mechanism = only(joint("weld") + joint("free", name="again"))
    assert [each.active for each in mechanism.joints] == [True, False]
    assert "second-joint" in codes(mechanism)


def test_the_second_body_of_a_name_is_left_out() -> None:
    mechanism = read(body("b") + body("b", "<gravity>0</gravity>") + joint("weld"))
    assert [each.gravity for each in mechanism.bodies] == [True]
    assert "second-body" in codes(mechanism)


def test_a_ring_of_joints_is_a_loop() -> None:
    text = body("a") + body("b") + body("c")
    hinge = "<axis><xyz>0 0 1</xyz></axis>"
    for number, (parent, child) in enumerate((("a", "b"), ("b", "c"), ("c", "a"))):
        text += joint("revolute", hinge, parent, child, f"j{number}")
    mechanism = read(text)
    assert "joint-cycle" in codes(mechanism)
    assert len(spanning_tree(mechanism).loop_joints) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (joint("ball", "<init_pos>1</init_pos>"), "wrong-count"),
        (joint("free", "<init_vel>1 2 3 4 5 6 7</init_vel>"), "wrong-count"),
        (joint("revolute"), "default-used"),
        (joint("revolute", "<axis><xyz>0 0 0</xyz></axis>"), "zero-axis"),
        (joint("universal", "<axis><xyz>2 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"), "long-axis"),
        (joint("euler", "<axis_order>xzy</axis_order>"), "unknown-axis-order"),
        (joint("planar"), "unknown-plane"),
        (joint("hinge", "<axis><xyz>0 0 1</xyz></axis>"), "unknown-joint-type"),
        (joint("revolute", '<axis><xyz>0 0 1</xyz></axis><dof local_index="3"/>'), "unknown-dof"),
        (joint("weld", "<transformation>1 2 3</transformation>"), "wrong-count"),
        (joint("weld", "<transformation>1 2 nan 0 0 0</transformation>"), "not-finite"),
        (joint("weld", "<transformation>1, 2, 3, 0, 0, 0</transformation>"), "repaired-numbers"),
    ],
)
def test_faults_of_a_joint_are_fixed_and_reported(text: str, code: str) -> None:
    mechanism = only(text)
    assert code in codes(mechanism)
    assert all(entry.line for entry in mechanism.report.entries)
    assert mechanism.joints[0].active
    assert all(np.isfinite(dof.axis).all() and np.linalg.norm(dof.axis) > 0 for dof in mechanism.joints[0].dofs)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<visualization_shape/>", "unknown-shape"),
        ("<visualization_shape><geometry><torus/></geometry></visualization_shape>", "unknown-shape"),
        (shown("<geometry><box/></geometry>"), "default-used"),
        (shown("<geometry><box><size>1 2</size></box></geometry>"), "wrong-count"),
        (shown(BOX + "<color>1 2</color>"), "wrong-count"),
        ("<inertia/>", "default-used"),
        ("<inertia><mass>1</mass><moment_of_inertia><ixx>1</ixx></moment_of_inertia></inertia>", "default-used"),
        ("<gravity>perhaps</gravity>", "not-a-flag"),
    ],
)
def test_faults_of_a_body_are_fixed_and_reported(text: str, code: str) -> None:
    mechanism = read(body("b", text) + joint("free"))
    assert code in codes(mechanism)
    found: Body = mechanism.bodies[0]
    assert np.isfinite(found.inertia).all()


def test_what_is_no_number_is_named_with_its_line() -> None:
    with pytest.raises(FormatError, match=r"'wide' is not a number") as caught:
        read(body("b", "\n<transformation>1 wide 3 0 0 0</transformation>") + joint("weld"))
    assert caught.value.line == 5
    assert caught.value.where.endswith("body/transformation")
    assert "6 decimal numbers" in caught.value.remedy


def test_broken_xml_is_reported_with_its_line() -> None:
    with pytest.raises(FormatError) as caught:
        formats.loads(b'<skel version="1.0">\n<world>\n<skeleton name="s">\n<body name="b">\n', "cut.skel")
    assert caught.value.line
    assert "truncated" in caught.value.message


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"# made by hand\ndofs {\n root { 0, -1, 1 }\n}\n", "until 2012"),
        (b"balljoint root {\n offset 0 0 0\n}\n", "CSE 169"),
        (b"\x1bhash\x00\x00\x01bones", "Spine"),
        (b'<robot name="r"/>', "URDF"),
    ],
)
def test_other_programs_skel_files_are_named(data: bytes, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        formats.loads(data, "other.skel")


def test_unknown_elements_are_kept_in_the_document_and_named() -> None:
    mechanism = read(body("b", "<aura><glow>1</glow></aura>") + joint("weld"))
    told = [entry.message for entry in mechanism.report.entries if entry.code == "ignored-element"]
    assert len(told) == 1
    assert "aura" in told[0]


def test_a_joint_is_described_by_the_bodies_ids() -> None:
    found: Joint = only(joint("revolute", "<axis><xyz>0 0 2</xyz></axis>")).joints[0]
    assert (found.id, found.parent, found.child, found.type, found.assembly) == ("s/j", None, "s/b", "revolute", "s")
    assert np.array_equal(found.dofs[0].axis, [0, 0, 1])
