"""An x_xy document is kept: what nobody edited comes back as it was, what somebody edited changes there alone. A model
without a document is written whole, and read again as the same."""

from __future__ import annotations

import difflib
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.kinematics import spanning_tree
from addon.core.model import Array, Assembly, Body, Dof, Frame, Joint, Light, Mechanism, Motion, Shape, Source
from addon.core.transforms import inverse, rotation_matrix
from addon.formats.x_xy.schema import ATTRIBUTES
from addon.formats.x_xy.to_model import reverse_joint

DOCUMENT = """<?xml version="1.0"?>
<!-- made by hand -->
<x_xy model='arm'>
    <options gravity="0 0 9.81" dt="0.010"/>
    <defaults>
        <geom color="white" edge_color="black"/>
    </defaults>
    <worldbody>
        <body name="base" joint="free" pos="0.5 0 1.00" damping="5 5 5 25 25 25">
            <omc name="seg" pos_marker="4" pos="0 0 -.02"/>
            <geom type="box" mass="1" pos="0.10 0 0" dim="0.2 .05 0.05"/>
            <geom type="sphere" mass="3" pos="-0.1 0 0" dim="0.1" color="1 0 0"/>
            <body name="elbow" joint="ry" pos="0.2 0 0" euler="0 -90 370" damping="3" unknown="kept"> <!-- the elbow -->
                <geom type="capsule" mass="1" pos="0 0 0.1" dim="0.02 0.2"/>
                <strange kind="kept"/>
                <body name="hand" joint="rr" quat="0 0 -2 0" pos="0 0 1"/>
            </body>
        </body>
        <body joint="px" name="cart">
        </body>
    </worldbody>
</x_xy>
"""


@pytest.fixture(params=["\n", "\r\n"], ids=["LF", "CRLF"])
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    """The small document above, read."""
    return formats.loads(DOCUMENT.replace("\n", request.param).encode())


def read_again(mechanism: Mechanism) -> Mechanism:
    """Written and read."""
    return formats.loads(formats.dumps(mechanism)[0].encode())


def anew(mechanism: Mechanism) -> str:
    """The text of a mechanism without its document."""
    mechanism.source = Source()
    return formats.dumps(mechanism, "x_xy")[0]


def changed_lines(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """The lines that a dump took away and those it brought, without their indentation."""
    before = mechanism.source.text.splitlines(keepends=True)
    after = formats.dumps(mechanism)[0].splitlines(keepends=True)
    assert {line.endswith("\r\n") for line in after} == {"\r\n" in mechanism.source.text}
    lines = list(difflib.unified_diff(before, after, n=0))[2:]
    gone = [line[1:].strip() for line in lines if line.startswith("-")]
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    return gone, new


def body(mechanism: Mechanism, name: str) -> Body:
    """A body by its name."""
    return next(body for body in mechanism.bodies if body.name == name)


def joint(mechanism: Mechanism, name: str) -> Joint:
    """The joint that a body hangs by."""
    return next(joint for joint in mechanism.joints if joint.child == name)


def moved(pose: Array, *place: float) -> Array:
    """A pose moved along its own axes."""
    out = np.eye(4)
    out[:3, 3] = place
    return pose @ out


def shapes_in_world(mechanism: Mechanism) -> list[Array]:
    """Where all shapes stand."""
    return [body.pose @ shape.pose for body in mechanism.bodies for shape in body.shapes]


def as_loader_takes_it(text: str) -> None:
    """The rules of imt-ring's loader: known elements and attributes only, one blank between numbers, names that are no
    numbers and of which no two are the same, never both rotations, one marker a body."""
    root = ET.fromstring(text)
    assert root.tag == "x_xy"
    names = [element.get("name", "") for element in root.iter("body")]
    assert len(set(names)) == len(names)
    for name in names:
        with pytest.raises(ValueError, match="float"):
            [float(piece) for piece in name.split(" ")]
    for element in root.iter():
        assert set(element.attrib) <= set(ATTRIBUTES[element.tag])
        assert not {"quat", "euler"} <= set(element.attrib)
        assert len(element.findall("omc")) <= 1
        for name in set(element.attrib) - {"name", "joint", "type", "color", "edge_color", "model"}:
            [float(piece) for piece in element.attrib[name].split(" ")]


def test_every_file_of_the_corpus_comes_back_to_the_byte(corpus: Path, tmp_path: Path) -> None:
    paths = sorted(corpus.glob("x_xy/**/*.xml"))
    assert paths
    for path in paths:
        report = formats.save(formats.load(path), tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        assert [entry.code for entry in report.entries] == ["document-kept"]


def test_every_file_of_the_corpus_is_the_same_as_a_new_document(corpus: Path) -> None:
    for path in sorted(corpus.glob("x_xy/**/*.xml")):
        before, again = formats.load(path), formats.load(path)
        text = anew(again)
        as_loader_takes_it(text)
        assert "<!--" not in text
        after = formats.loads(text.encode())
        for old, new in zip(before.bodies, after.bodies, strict=True):
            assert (old.name, old.mass, old.extra) == (new.name, pytest.approx(new.mass), new.extra)
            assert np.abs(old.pose - new.pose).max() < 1e-12
            assert np.abs(old.inertia - new.inertia).max() < 1e-12
            assert [(s.type, s.size, s.color, s.extra) for s in old.shapes] == [
                (s.type, s.size, s.color, s.extra) for s in new.shapes
            ]
        assert [(j.type, j.extra, j.parent) for j in before.joints] == [
            (j.type, j.extra, j.parent) for j in after.joints
        ]


def test_an_unedited_document_comes_back(mechanism: Mechanism) -> None:
    text, report = formats.dumps(mechanism)
    assert text == mechanism.source.text
    assert [entry.code for entry in report.entries] == ["document-kept"]


def test_a_new_mass_is_spread_as_the_old(mechanism: Mechanism) -> None:
    body(mechanism, "base").mass = 2.0
    gone, new = changed_lines(mechanism)
    assert [line.replace('mass="1"', 'mass="0.5"').replace('mass="3"', 'mass="1.5"') for line in gone] == new
    assert len(new) == 2
    assert read_again(mechanism).bodies[0].com.tolist() == mechanism.bodies[0].com.tolist()


def test_an_inertia_that_the_geoms_cannot_give_is_carried_by_a_transparent_one(mechanism: Mechanism) -> None:
    base = body(mechanism, "base")
    base.inertia = np.array([[2.0, 0.1, 0], [0.1, 2.5, 0], [0, 0, 3.0]])
    base.com = np.array([0.0, 0.5, 0.0])
    text = formats.dumps(mechanism)[0]
    assert 'color="0 0 0 0"' in text
    plain = ET.fromstring(text)  # comments are gone: this is what the program sees
    after = formats.loads(ET.tostring(plain)).bodies[0]
    assert after.mass == pytest.approx(4.0)
    assert np.abs(after.com - base.com).max() < 1e-12
    assert np.abs(after.inertia - base.inertia).max() < 1e-9
    assert [shape.visual for shape in after.shapes] == [True, True, False]
    assert len(read_again(mechanism).bodies[0].shapes) == 2


def test_only_the_moved_number_changes(mechanism: Mechanism) -> None:
    elbow = joint(mechanism, "elbow")
    elbow.frame_parent = elbow.frame_parent.copy()
    elbow.frame_parent[1, 3] = 0.125
    gone, new = changed_lines(mechanism)
    assert len(gone) == len(new) == 1
    assert new[0] == gone[0].replace('pos="0.2 0 0"', 'pos="0.2 0.125 0"')


def test_a_rotation_is_written_near_the_old_one_and_in_its_form(mechanism: Mechanism) -> None:
    elbow, hand = joint(mechanism, "elbow"), joint(mechanism, "hand")
    turn = np.eye(4)
    turn[:3, :3] = rotation_matrix(np.array([0.0, 0.0, np.radians(5)]))
    elbow.frame_parent = turn @ elbow.frame_parent
    hand.frame_parent = turn @ hand.frame_parent
    gone, new = changed_lines(mechanism)
    assert 'euler="5 -90 370"' in new[0]  # upright, x and z turn about one line
    quat = np.array([float(x) for x in new[1].split('quat="')[1].split('"')[0].split(" ")])
    assert np.linalg.norm(quat) == pytest.approx(2.0)
    assert quat[2] < -1.9
    again = read_again(mechanism)
    for name in ("elbow", "hand"):
        assert np.abs(joint(again, name).frame_parent - joint(mechanism, name).frame_parent).max() < 1e-12


def test_rounding_in_32_bits_beside_an_edit_is_no_edit(mechanism: Mechanism) -> None:
    base = joint(mechanism, "base")
    base.frame_parent = np.float64(np.float32(base.frame_parent))
    base.frame_parent[:3, 3] = np.float32([0.50000001, 0.25, 1.0])
    assert 'pos="0.5 0.25 1"' in changed_lines(mechanism)[1][0]


def test_a_body_moved_off_its_joint_moves_its_geoms(mechanism: Mechanism) -> None:
    base, elbow = body(mechanism, "base"), joint(mechanism, "elbow")
    before = mechanism.source.text
    shift = moved(np.eye(4), 0, 0.5, 0)
    base.pose = base.pose @ shift
    joint(mechanism, "base").frame_child = inverse(shift)  # the joint stays where it was
    elbow.frame_parent = inverse(shift) @ elbow.frame_parent
    wanted = shapes_in_world(mechanism)
    gone, new = changed_lines(mechanism)
    assert len(new) == 3  # two geoms and the marker
    assert all("<body" not in line for line in new)
    text = formats.dumps(mechanism)[0]
    assert text.count("<body") == before.count("<body")
    assert np.abs(np.array(shapes_in_world(read_again(mechanism))) - wanted).max() < 1e-12


def test_numbers_of_a_joint_change_in_place(mechanism: Mechanism) -> None:
    dof = joint(mechanism, "elbow").dofs[0]
    dof.damping, dof.stiffness, dof.rest = 4.0, 7.0, 0.25
    _, new = changed_lines(mechanism)
    assert new[0].split(" ", 1)[1].startswith('name="elbow" joint="ry" pos="0.2 0 0" euler="0 -90 370" damping="4"')
    assert 'unknown="kept" spring_stiff="7" spring_zero="0.25"> <!-- the elbow -->' in new[0]
    dof.damping = dof.stiffness = dof.rest = 0.0
    _, new = changed_lines(mechanism)
    assert "damping" not in new[0]
    parts = joint(mechanism, "base").dofs[0].parts
    parts[1].damping = 6.0
    assert 'damping="5 6 5 25 25 25"' in changed_lines(mechanism)[1][0]


def test_what_the_program_lacks_is_kept_in_a_comment_that_follows_edits(mechanism: Mechanism) -> None:
    dof = joint(mechanism, "elbow").dofs[0]
    dof.lower, dof.upper = -1.0, 0.5
    text, report = formats.dumps(mechanism)
    gone, new = changed_lines(mechanism)
    assert gone == []
    assert new == ['<!--knuckle {"dofs":[{"lower":-1.0,"upper":0.5}]}-->']
    assert "kept-as-comment" in [entry.code for entry in report.entries]
    again = formats.loads(text.encode())
    dof = joint(again, "elbow").dofs[0]
    assert (dof.lower, dof.upper) == (-1.0, 0.5)
    assert formats.dumps(again)[0] == text
    dof.upper = None
    assert changed_lines(again)[1] == ['<!--knuckle {"dofs":[{"lower":-1.0}]}-->']
    dof.lower = None
    assert "knuckle" not in formats.dumps(again)[0]


@pytest.mark.parametrize("name", ["elbow", "hand", "plate", "shoulder"])
def test_the_ends_of_a_joint_are_exchanged(name: str) -> None:
    """What turns no way of its own stands the same either way round: a comment keeps which end was the parent."""
    more = '<body name="plate" joint="frozen" pos="0 0 1"/><body name="shoulder" joint="spherical"/>'
    read = formats.loads(DOCUMENT.replace("<strange", f"{more}<strange").encode())
    read.joints = [reverse_joint(each) if each.id == name else each for each in read.joints]
    again = formats.loads(formats.dumps(read)[0].encode())
    ends = {each.id: (each.parent, each.child) for each in again.joints}
    assert ends == {each.id: (each.parent, each.child) for each in read.joints}
    assert ends[name][0] == name


def test_an_axis_of_ones_own_is_kept_and_the_joint_stays_what_it_is(mechanism: Mechanism) -> None:
    hand = joint(mechanism, "hand")
    assert hand.dofs[0].axis.tolist() == [0, 1, 0]
    hand.dofs[0].axis = np.array([0.6, 0.0, 0.8])
    again = read_again(mechanism)
    assert joint(again, "hand").dofs[0].axis.tolist() == [0.6, 0.0, 0.8]
    assert 'joint="rr"' in formats.dumps(mechanism)[0]


def test_a_joint_of_another_kind_is_written_in_place(mechanism: Mechanism) -> None:
    elbow = joint(mechanism, "elbow")
    elbow.type, elbow.dofs = "ball", [Dof("ball", damping=2.0)]
    _, new = changed_lines(mechanism)
    assert 'name="elbow" joint="spherical" pos="0.2 0 0" euler="0 -90 370" damping="2 2 2"' in new[0]
    elbow.type, elbow.dofs = "revolute", [Dof("rotation", np.array([0.6, 0.0, 0.8]))]
    again = read_again(mechanism)
    assert [body.name for body in again.bodies] == ["base", "elbow", "hand", "cart"]
    tree, after = spanning_tree(mechanism), spanning_tree(again)
    poses = [each.forward({"elbow": np.array([0.7])})[0] for each in (tree, after)]
    assert np.abs(poses[0][1] - poses[1][1]).max() < 1e-12


def test_geoms_are_edited_added_and_removed(mechanism: Mechanism) -> None:
    base = body(mechanism, "base")
    base.shapes[0].color = (0.2, 0.2, 0.8, 0.5)
    base.shapes[1].size = {"radius": 0.25}
    base.shapes[1].color = None
    _, new = changed_lines(mechanism)
    assert new[0].endswith('dim="0.2 .05 0.05" color="0.2 0.2 0.8 0.5"/>')
    assert 'dim="0.25"' in new[1]
    assert 'color="self"' in new[1]  # without, it would be the white of the defaults
    del base.shapes[0]
    base.mass = 3.0
    assert formats.dumps(mechanism)[0].count("<geom type") == 2
    base.shapes.append(Shape("box", {"x": 1, "y": 1, "z": 1}, extra={"mass": 0.0}))
    base.shapes[0].extra["mass"] = 3.0
    gone, new = changed_lines(mechanism)
    assert len(new) == 2
    after = read_again(mechanism).bodies[0].shapes
    assert [(shape.type, shape.size, shape.extra["mass"]) for shape in after] == [
        ("sphere", {"radius": 0.25}, 3.0),
        ("box", {"x": 1, "y": 1, "z": 1}, 0.0),
    ]


def test_names_and_the_world_are_edited(mechanism: Mechanism) -> None:
    mechanism.name = "3"
    mechanism.world.gravity = np.array([0.0, 0.0, -1.62])
    body(mechanism, "cart").name = "1e3"
    _, new = changed_lines(mechanism)
    assert new[:2] == ['<x_xy model="_3">', '<options gravity="0 0 1.62" dt="0.010"/>']
    assert new[2:] == ['<body joint="px" name="_1e3">']
    again = read_again(mechanism)
    assert (again.name, again.bodies[3].name, again.joints[3].name) == ("3", "1e3", "1e3")


def test_options_are_made_where_there_are_none() -> None:
    mechanism = formats.loads(b'<x_xy><worldbody><body name="a" joint="rx"/></worldbody></x_xy>')
    mechanism.world.time_step = 0.5
    assert '<options dt="0.5"/>' in formats.dumps(mechanism)[0]
    assert read_again(mechanism).world.time_step == 0.5


def test_a_deleted_body_is_removed_and_its_children_become_free(mechanism: Mechanism) -> None:
    mechanism.bodies = [item for item in mechanism.bodies if item.name != "elbow"]
    mechanism.joints = [item for item in mechanism.joints if "elbow" not in {item.parent, item.child}]
    text = formats.dumps(mechanism)[0]
    assert '"elbow"' not in text
    assert "made by hand" in text
    again = formats.loads(text.encode())
    assert [item.name for item in again.bodies] == ["base", "cart", "hand"]
    assert np.abs(body(again, "hand").pose - body(mechanism, "hand").pose).max() < 1e-12
    assert [item.child for item in again.joints] == ["base", "cart"]


def test_a_body_is_added_to_its_parent(mechanism: Mechanism) -> None:
    newline = "\r\n" if "\r\n" in mechanism.source.text else "\n"
    pose = moved(body(mechanism, "hand").pose, 0, 0, 1)
    finger = Body(
        "f", "finger", pose, 0.25, inertia=np.diag([0.1, 0.1, 0.1]) * 0.25, shapes=[Shape("sphere", {"radius": 0.5})]
    )
    hang = Joint("f", "finger", "revolute", "hand", "f", moved(np.eye(4), 0, 0, 1), dofs=[Dof("rotation")])
    mechanism.bodies.append(finger)
    mechanism.joints.append(hang)
    gone, new = changed_lines(mechanism)
    assert gone == ['<body name="hand" joint="rr" quat="0 0 -2 0" pos="0 0 1"/>']
    assert new[0] == '<body name="hand" joint="rr" quat="0 0 -2 0" pos="0 0 1">'
    text = formats.dumps(mechanism)[0]
    assert f'{newline}                    <body name="finger" joint="rz" pos="0 0 0.25">{newline}' in text
    again = formats.loads(text.encode())
    assert np.abs(body(again, "finger").pose - pose).max() < 1e-12  # although the hand's quat is two long
    assert joint(again, "f").parent == "hand"


def test_a_reparented_body_moves_with_its_children(mechanism: Mechanism) -> None:
    elbow, cart = joint(mechanism, "elbow"), body(mechanism, "cart")
    elbow.parent, elbow.frame_parent = "cart", inverse(cart.pose) @ body(mechanism, "elbow").pose
    again = read_again(mechanism)
    assert [(item.parent, item.child) for item in again.joints] == [
        (None, "base"),
        (None, "cart"),
        ("cart", "elbow"),
        ("elbow", "hand"),
    ]
    for old in mechanism.bodies:
        assert np.abs(body(again, old.name).pose - old.pose).max() < 1e-12


def test_defaults_do_not_reach_what_is_added() -> None:
    text = (
        '<x_xy model="m"><defaults><geom type="box" mass="2" dim="1 2 3" pos="1 0 0" quat="0.6 0 0 0.8" color="red"/>'
        '<body joint="rz" pos="1 0 0" euler="0 0 90" damping="3"/></defaults>'
        '<worldbody><body name="a"/></worldbody></x_xy>'
    )
    mechanism = formats.loads(text.encode())
    sphere = Shape("sphere", {"radius": 1.0}, extra={"mass": 0.0})
    mechanism.bodies.append(Body("b", "b", mass=0.0, inertia=np.zeros((3, 3)), shapes=[sphere]))
    mechanism.joints.append(Joint("b", "b", "revolute", None, "b", dofs=[Dof("rotation")]))
    written = formats.dumps(mechanism)[0]
    as_loader_takes_it(written)
    again = formats.loads(written.encode())
    assert body(again, "b").pose.tolist() == np.eye(4).tolist()
    assert joint(again, "b").dofs[0].damping == 0.0
    (shape,) = body(again, "b").shapes
    assert (shape.pose.tolist(), shape.color) == (np.eye(4).tolist(), (0.7, 0.5, 0.1, 1.0))
    assert body(again, "b").mass == 0.0
    joint(again, "a").dofs[0].damping = 0.0
    assert 'damping="0"' in formats.dumps(again)[0].split('name="a"')[1].split(">")[0]


def test_a_spelling_of_the_documentation_becomes_the_programs_when_edited() -> None:
    geom = '<geom type="sphere" mass="1" size="1"/>'
    text = f'<x_xy name="m"><worldbody><body name="a" joint="rx">{geom}</body></worldbody></x_xy>'
    mechanism = formats.loads(text.encode())
    mechanism.bodies[0].shapes[0].size = {"radius": 2.0}
    assert '<geom type="sphere" mass="1" dim="2"/>' in formats.dumps(mechanism)[0]
    mechanism.name = "n"
    assert '<x_xy model="n">' in formats.dumps(mechanism)[0]


def test_what_the_program_cannot_hold_comes_back_from_the_comments() -> None:
    bodies = [
        Body("11", "leg", twin="12"),
        Body("12", "leg", moved(np.eye(4), 0, 0, 1), gravity=False, collidable=False),
    ]
    hinge = Dof(
        "rotation", lower=-1.0, upper=2.0, friction=0.5, gain=10.0, max_force=100.0, position=0.25, velocity=1.0
    )
    joints = [
        Joint("21", "knee -- left", "revolute", "11", "12", moved(np.eye(4), 0, 0, 1), np.eye(4), [hinge], twin="21"),
        Joint("22", "off", "revolute", "11", "12", active=False, dofs=[Dof("rotation")]),
        Joint(
            "23",
            "chord",
            "ball",
            "12",
            "11",
            np.eye(4),
            moved(np.eye(4), 0, 0, 1),
            [Dof("ball", start=(0.1, 0.2, 0.3))],
        ),
    ]
    mechanism = Mechanism("walker", bodies=bodies, joints=joints)
    mechanism.world.erp, mechanism.world.ground = 0.5, 0.0
    mechanism.assemblies = [Assembly("all:legs", "legs", False)]
    mechanism.lights = [Light("sun", "directional", "12", diffuse=(1.0, 0.5, 0.0))]
    mechanism.frames = [Frame("tip", "12", moved(np.eye(4), 0, 0, 2), extra={"color": "red"}), Frame("home", None)]
    mechanism.motions = [Motion("walk")]
    text, report = formats.dumps(mechanism, "x_xy")
    as_loader_takes_it(text)
    codes = [entry.code for entry in report.entries]
    assert {"cut-loop", "left-joint", "kept-as-comment", "dropped-motion"} <= set(codes)
    assert any("'chord'" in entry.message for entry in report.entries if entry.code == "cut-loop")
    again = formats.loads(text.encode())
    assert [(item.id, item.name, item.twin) for item in again.bodies] == [("11", "leg", "12"), ("12", "leg", None)]
    assert (again.bodies[1].gravity, again.bodies[1].collidable) == (False, False)
    by_id = {item.id: item for item in again.joints}
    assert sorted(by_id) == ["21", "22", "23"]
    knee = by_id["21"]
    assert (knee.name, knee.twin, knee.parent, knee.child) == ("knee -- left", "21", "11", "12")
    for name in ("lower", "upper", "friction", "gain", "max_force", "position", "velocity"):
        assert getattr(knee.dofs[0], name) == getattr(hinge, name)
    assert (by_id["22"].active, by_id["23"].dofs[0].start) == (False, (0.1, 0.2, 0.3))
    assert spanning_tree(again).loop_joints == {"23"}
    assert (again.world.erp, again.world.ground) == (0.5, 0.0)
    assert again.assemblies == mechanism.assemblies
    assert again.lights[0].diffuse == (1.0, 0.5, 0.0)
    assert {(frame.name, frame.body) for frame in again.frames} == {("tip", "12"), ("home", None)}
    assert formats.dumps(again)[0] == text


def test_damaged_extension_data_is_reported_and_left_out() -> None:
    inside = '<!--knuckle {"dofs":[{"lower":1,"strange":2}]}--><!--knuckle {"dofs":1}-->'
    text = f'<x_xy model="m"><worldbody><body name="a" joint="rx">{inside}</body></worldbody></x_xy>'
    mechanism = formats.loads(text.encode())
    assert [entry.code for entry in mechanism.report.entries] == ["bad-note"]
    for spoilt in ("{not json}", '{"dofs":[{},{}]}', '{"joint":{"axis":3}}', '{"shapes":[{"geom":7}]}', '{"body":[1]}'):
        mechanism = formats.loads(text.replace(inside, f"<!--knuckle {spoilt}-->").encode())
        assert [entry.code for entry in mechanism.report.entries] == ["bad-note"], spoilt
        assert len(mechanism.bodies) == 1


def test_shapes_that_x_xy_lacks_are_approximated_and_kept_as_extension_data() -> None:
    shapes = [
        Shape("cone", {"radius": 1.0, "length": 2.0}),
        Shape("ellipsoid", {"x": 1.0, "y": 2.0, "z": 3.0}),
        Shape("ellipsoid", {"x": 1.0, "y": 1.0, "z": 1.0}),
        Shape("multi_sphere", spheres=[(1.0, 0.0, 0.0, 0.0), (0.5, 2.0, 0.0, 0.0)]),
        Shape("pyramid", {"x": 1.0, "y": 2.0, "length": 3.0}),
        Shape("hemisphere", {"radius": 1.0}),
        Shape("plane"),
        Shape("mesh", {"x": 1.0, "y": 1.0, "z": 1.0}, mesh="leg.stl"),
        Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0}, collision=False, soft=True, name="skin"),
    ]
    mechanism = Mechanism(bodies=[Body("a", "a", shapes=shapes)])
    text, report = formats.dumps(mechanism, "x_xy")
    as_loader_takes_it(text)
    kinds = [element.get("type") for element in ET.fromstring(text).iter("geom")]
    assert kinds == ["cylinder", "box", "sphere", "box", "box", "sphere", "box", "box"]  # the last carries the mass
    codes = [entry.code for entry in report.entries]
    assert codes.count("approximated-shape") == 5
    assert codes.count("undrawn-shape") == 2
    again = formats.loads(text.encode()).bodies[0].shapes
    for old, new in zip(shapes, again, strict=True):
        assert (old.type, old.size, old.mesh, old.spheres) == (new.type, new.size, new.mesh, new.spheres)
        assert (old.collision, old.soft, old.name) == (new.collision, new.soft, new.name)
        assert np.abs(old.pose - new.pose).max() < 1e-12


numbers = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))
vectors = st.tuples(numbers, numbers, numbers)


@st.composite
def poses(draw: st.DrawFn) -> Array:
    """A pose, often no turn or no shift."""
    pose = np.eye(4)
    if draw(st.booleans()):
        pose[:3, :3] = rotation_matrix(np.array(draw(vectors)))
    if draw(st.booleans()):
        pose[:3, 3] = draw(vectors)
    return pose


@st.composite
def dofs(draw: st.DrawFn) -> Dof:
    """A degree of freedom about any axis."""
    kind = draw(st.sampled_from(["rotation", "translation", "ball", "free"]))
    axis = np.array(draw(st.one_of(st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1)]), vectors)), float)
    length = np.linalg.norm(axis)
    return Dof(kind, axis / length if length > 0.1 else np.array([0.0, 0.0, 1.0]), damping=abs(draw(numbers)))


@st.composite
def trees(draw: st.DrawFn) -> Mechanism:
    """Bodies that hang on each other by any joint, some of which point to the root."""
    out = Mechanism("m")
    for number in range(draw(st.integers(1, 5))):
        own = f"b{number}"
        carrier = draw(st.sampled_from([None, *(item.id for item in out.bodies)]))
        made = Joint(f"j{number}", f"j{number}", "any", carrier, own, draw(poses()), draw(poses()))
        made.dofs = draw(st.lists(dofs(), max_size=3))
        start = np.eye(4) if carrier is None else next(item.pose for item in out.bodies if item.id == carrier)
        out.bodies.append(Body(own, own, start @ made.frame_parent @ inverse(made.frame_child)))
        if carrier is not None and draw(st.booleans()):
            made.parent, made.child = made.child, made.parent
            made.frame_parent, made.frame_child = made.frame_child, made.frame_parent
        out.joints.append(made)
    return out


@given(trees(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree_comes_back_and_moves_the_same(mechanism: Mechanism, seed: int) -> None:
    text = formats.dumps(mechanism, "x_xy")[0]
    as_loader_takes_it(text)
    again = formats.loads(text.encode())
    random = np.random.default_rng(seed)
    at = {item.id: random.uniform(-2, 2, (1, sum(dof.initial.size for dof in item.dofs))) for item in mechanism.joints}
    before = dict(zip([item.id for item in mechanism.bodies], spanning_tree(mechanism).forward(at)[0], strict=True))
    after = dict(zip([item.id for item in again.bodies], spanning_tree(again).forward(at)[0], strict=True))
    assert before.keys() == after.keys()
    for own, pose in before.items():
        assert np.abs(pose - after[own]).max() < 1e-9
    for old in mechanism.joints:
        new = next(item for item in again.joints if item.id == old.id)
        assert (old.parent, old.child, old.type) == (new.parent, new.child, new.type)
        assert [dof.damping for dof in old.dofs] == pytest.approx([dof.damping for dof in new.dofs])
    assert formats.dumps(again)[0] == text


def test_the_helper_rejects_what_the_loader_of_imt_ring_rejects() -> None:
    for text in (
        '<x_xy><worldbody><body name="1" joint="rx"/></worldbody></x_xy>',
        '<x_xy><worldbody><body name="a" joint="rx"/><body name="a" joint="rx"/></worldbody></x_xy>',
        '<x_xy name="m"/>',
        '<x_xy><worldbody><body name="a" joint="rx" pos="1  2 3"/></worldbody></x_xy>',
    ):
        with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
            as_loader_takes_it(text)
    assert io.StringIO(DOCUMENT).readline().startswith("<?xml")


def test_a_second_marker_of_a_body_becomes_a_body_of_its_own_in_a_new_file() -> None:
    markers = '<omc name="a" pos_marker="1"/><omc name="b" pos_marker="2" pos="0 0 1"/>'
    mechanism = formats.loads(
        f'<x_xy><worldbody><body name="a" joint="rx">{markers}</body></worldbody></x_xy>'.encode()
    )
    assert formats.dumps(mechanism)[0] == mechanism.source.text
    mechanism.bodies[0].name = "c"
    assert formats.dumps(mechanism)[0] == mechanism.source.text.replace('<body name="a"', '<body name="c"')
    text = anew(mechanism)
    as_loader_takes_it(text)
    assert [(frame.name, frame.extra) for frame in formats.loads(text.encode()).frames] == [
        ("a", {"pos_marker": "1"}),
        ("b", {"pos_marker": "2"}),
    ]


@pytest.mark.parametrize("sample", ["rover/rover.jm", "hexapod/hexapod.jm", "humanoid/humanoid.skel"])
def test_what_is_written_in_another_place_keeps_its_comment(sample: str) -> None:
    """Bodies that nobody edited are written anew where what they hung on is gone; the document need not be fresh."""
    text, _ = formats.dumps(formats.load(f"sample_models/{sample}"), "x_xy")
    data = text.encode()
    joints = [item.id for item in formats.loads(data).joints]
    for gone in joints:
        edited = formats.loads_cached(data, "kept")
        edited.joints = [item for item in edited.joints if item.id != gone]
        again = formats.loads(formats.dumps(edited)[0].encode())
        there = {item.id: _kept_of(item) for item in again.bodies}  # in the order of the file
        assert there == {item.id: _kept_of(item) for item in edited.bodies}, gone
        by_id = {item.id: item for item in again.joints}
        for item in edited.joints:
            assert _kept_of(item) == _kept_of(by_id[item.id]), (gone, item.name)
            for mine, theirs in zip(item.dofs, by_id[item.id].dofs, strict=True):
                assert (mine.lower, mine.upper, mine.gain) == (theirs.lower, theirs.upper, theirs.gain)


def _kept_of(part: Body | Joint) -> tuple[object, ...]:
    """What nothing but a comment of the file holds."""
    return part.id, part.name, part.twin, part.assembly, {key for key in part.extra if key not in {"numbers", "joint"}}


def test_only_edits_are_reported(mechanism: Mechanism) -> None:
    """What the document keeps of others in comments was told when these were written."""
    mechanism.joints[-1].dofs[0].lower = -1.0
    first = formats.loads(formats.dumps(mechanism)[0].encode())
    first.bodies[0].mass *= 2.0
    assert "kept-as-comment" not in [entry.code for entry in formats.dumps(first)[1].entries]
    second = formats.loads(first.source.text.encode())
    second.joints[-1].dofs[0].lower = -0.5
    assert "kept-as-comment" in [entry.code for entry in formats.dumps(second)[1].entries]
