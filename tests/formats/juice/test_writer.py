"""A Juice document is kept: what nobody edited comes back as it was, what somebody edited changes there alone.

A model without a document is written whole, and read again as the same."""

from __future__ import annotations

import copy
import difflib
import io
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.gait.behaviors import Clockwork, ClockworkMotor, GaitBehaviors, Network, NetworkEdge, NetworkNode
from addon.core.model import Body, Dof, Frame, Joint, Light, Mechanism, Restraint, Shape, Source
from addon.formats.juice.conventions import angles_from_rotation, rotations_from_angles
from tests.support.references import CORPUS

JUICE = CORPUS / "juice"
FILES = [path for path in sorted(JUICE.glob("*/*.j*m")) if path.name != "simpleant2.jp.jm"]
each_file = pytest.mark.parametrize(
    "path",
    FILES or [pytest.param(None, marks=pytest.mark.skip(reason="real Juice files are not here"))],
    ids=lambda path: path.name if path else "none",
)

DOCUMENT = """<?xml version="1.0"?>
<!-- made by hand -->
<Model FileVersion="1" author='me'>
	<Gravity>20.0</Gravity>
	<Friction>7.5e+001</Friction>
	<Unknown kind="kept"><Deep/></Unknown>
	<Bodies>
		<Body>
			<ID>11</ID>
			<Name>Hip &amp; thigh</Name>
			<Position><X>1.50</X><Y>0</Y><Z> 2 </Z></Position>
			<Rotation><Y>10</Y><P>370</P><R>0</R></Rotation>
			<Twin>12</Twin>
			<Dimensions><X>1</X><Y>2</Y><Z>3</Z></Dimensions>
			<Mass>0.250</Mass>
			<!-- a body's comment -->
		</Body>
		<Body>
			<ID>12</ID>
			<Name>Shin</Name>
			<Twin>11</Twin>
			<BoxDimensions><X>1</X><Y>2</Y><Z>3</Z></BoxDimensions>
			<Shape>3</Shape>
		</Body>
		<Body>
			<ID>13</ID>
			<Name/>
		</Body>
	</Bodies>
	<RevoluteJoints>
		<RevoluteJoint>
			<ID>21</ID>
			<Name>Knee</Name>
			<Position><X>0</X><Y>0</Y><Z>1</Z></Position>
			<Rotation><Y>0</Y><P>0</P><R>90</R></Rotation>
			<Body1>0000000B</Body1>
			<Body2>12</Body2>
			<Gain>10</Gain>
			<LoStopValue>-030</LoStopValue>
			<HiStopValue>45</HiStopValue>
			<LoStopFlag>1</LoStopFlag>
			<HiStopFlag>0</HiStopFlag>
		</RevoluteJoint>
	</RevoluteJoints>
	<PrismaticJoints/>
	<Behaviors>
		<Clockwork>
			<Name>Walk</Name>
			<Enabled>1</Enabled>
			<ClockworkMotors>
				<ClockworkMotor><JointID>21</JointID><Amplitude>30</Amplitude></ClockworkMotor>
			</ClockworkMotors>
			<FeedbackSource>12</FeedbackSource>
		</Clockwork>
		<NetworkBehavior>
			<Name>Turn</Name>
			<MotorNodes>
				<MotorNode><ID>31</ID><X>309</X><Y>237</Y><JointID>21</JointID><MotorType>2</MotorType></MotorNode>
			</MotorNodes>
			<FunctionNodes><ConstantNode><ID>32</ID><Value>5</Value></ConstantNode></FunctionNodes>
			<Edges><Edge><Source>32</Source><Destination>31</Destination><Factor>1.0</Factor></Edge></Edges>
		</NetworkBehavior>
	</Behaviors>
</Model>
"""


@pytest.fixture(params=["\n", "\r\n"], ids=["LF", "CRLF"])
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    """The small document above, read."""
    return formats.loads(DOCUMENT.replace("\n", request.param).encode())


def read_again(mechanism: Mechanism) -> Mechanism:
    """Written and read."""
    return formats.loads(formats.dumps(mechanism)[0].encode())


def changed_lines(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """The lines that a dump took away and those it brought, without their indentation."""
    before = mechanism.source.text.splitlines(keepends=True)
    after = formats.dumps(mechanism)[0].splitlines(keepends=True)
    assert {line.endswith("\r\n") for line in after} == {"\r\n" in mechanism.source.text}
    lines = list(difflib.unified_diff(before, after, n=0))[2:]
    gone = [line[1:].strip() for line in lines if line.startswith("-")]
    new = [line[1:].strip() for line in lines if line.startswith("+")]
    return gone, new


def canonical(data: bytes) -> str:
    """The canonical form of an XML document, comments and white space included."""
    return ET.canonicalize(io.BytesIO(data).read().decode("latin-1"), with_comments=True)


@each_file
def test_an_unedited_file_comes_back_to_the_byte(path: Path, tmp_path: Path) -> None:
    mechanism = formats.load(path)
    report = formats.save(mechanism, tmp_path / path.name)
    data = (tmp_path / path.name).read_bytes()
    assert canonical(data) == canonical(path.read_bytes())
    assert data == path.read_bytes()
    assert [entry.code for entry in report.entries] == ["document-kept"]


def test_an_unedited_document_comes_back(mechanism: Mechanism) -> None:
    assert formats.dumps(mechanism)[0] == mechanism.source.text


@each_file
def test_an_edited_mass_changes_one_line(path: Path) -> None:
    mechanism = formats.load(path)
    holder, attribute, tag = (
        (mechanism.bodies[-1], "mass", "Mass") if mechanism.bodies else (mechanism.world, "cfm", "CFM")
    )
    setattr(holder, attribute, 3.25)
    gone, new = changed_lines(mechanism)
    assert len(gone) == len(new) == 1
    assert f"<{tag}>3.25</{tag}>" in new[0]


def test_a_new_text_stands_in_the_old_tags(mechanism: Mechanism) -> None:
    mechanism.bodies[0].name = "A & B\n<C>"
    mechanism.bodies[2].name = "Foot"
    gone, new = changed_lines(mechanism)
    assert gone == ["<Name>Hip &amp; thigh</Name>", "<Name/>"]
    assert new == ["<Name>A &amp; B", "&lt;C&gt;</Name>", "<Name>Foot</Name>"]
    assert read_again(mechanism).bodies[0].name == "A & B\n<C>"


def test_only_the_moved_component_changes(mechanism: Mechanism) -> None:
    mechanism.bodies[0].pose[0, 3] = 1.25
    mechanism.joints = []  # the joint would move along
    gone, new = changed_lines(mechanism)
    assert gone[0] == "<Position><X>1.50</X><Y>0</Y><Z> 2 </Z></Position>"
    assert new[0] == "<Position><X>1.25</X><Y>0</Y><Z> 2 </Z></Position>"
    assert not any("Rotation" in line for line in new)


def test_a_rotated_body_keeps_its_angles_near_the_old_ones(mechanism: Mechanism) -> None:
    body = mechanism.bodies[0]
    tilt = math.radians(5)
    turn = np.eye(4)
    turn[:2, :2] = [[math.cos(tilt), -math.sin(tilt)], [math.sin(tilt), math.cos(tilt)]]
    body.pose = turn @ body.pose
    _, new = changed_lines(mechanism)
    assert "<Rotation><Y>15</Y><P>370</P><R>0</R></Rotation>" in new
    assert np.abs(read_again(mechanism).bodies[0].pose - body.pose).max() < 1e-8


def test_a_joint_follows_its_parent(mechanism: Mechanism) -> None:
    mechanism.bodies[0].pose[2, 3] += 1
    mechanism.bodies[1].pose[2, 3] += 1
    gone, new = changed_lines(mechanism)
    assert "<Position><X>0</X><Y>0</Y><Z>2</Z></Position>" in new
    again = read_again(mechanism).joints[0]
    assert np.abs(again.frame_parent - mechanism.joints[0].frame_parent).max() < 1e-8
    assert np.abs(again.frame_child - mechanism.joints[0].frame_child).max() < 1e-8


def test_a_joint_whose_bodies_disagree_is_reported(mechanism: Mechanism) -> None:
    mechanism.bodies[1].pose[2, 3] += 1
    assert "joint-apart" in [entry.code for entry in formats.dumps(mechanism)[1].entries]


def test_stops_change_in_the_files_own_sense(mechanism: Mechanism) -> None:
    dof = mechanism.joints[0].dofs[0]
    assert (dof.file_sign, dof.lower, dof.upper) == (1.0, pytest.approx(math.radians(-30)), None)
    dof.upper = math.radians(60)
    assert changed_lines(mechanism) == (
        ["<HiStopValue>45</HiStopValue>", "<HiStopFlag>0</HiStopFlag>"],
        ["<HiStopValue>60</HiStopValue>", "<HiStopFlag>1</HiStopFlag>"],
    )
    dof.lower = dof.upper = None
    assert changed_lines(mechanism) == (["<LoStopFlag>1</LoStopFlag>"], ["<LoStopFlag>0</LoStopFlag>"])


def test_a_hinge_turned_into_the_other_sense_keeps_its_stops_and_its_gait(mechanism: Mechanism) -> None:
    joint = mechanism.joints[0]
    joint.dofs[0].upper = math.radians(60)
    pose = np.eye(4)
    pose[2, 3] = 1
    joint.frame_parent = np.linalg.inv(mechanism.bodies[0].pose) @ pose  # roll 0: ODE counts the other way round
    joint.frame_child = np.linalg.inv(mechanism.bodies[1].pose) @ pose
    again = read_again(mechanism)
    dof = again.joints[0].dofs[0]
    assert dof.file_sign == -1.0
    assert (dof.lower, dof.upper) == pytest.approx((math.radians(-30), math.radians(60)))
    clockwork, network = again.behaviours.items
    assert clockwork.motors[0].amplitude * dof.file_sign == 30
    assert network.edges[0].factor * dof.file_sign == 1


def test_another_shape_is_written_beside_the_dimensions_of_the_old(mechanism: Mechanism) -> None:
    mechanism.bodies[1].shapes = [Shape("cylinder", {"length": 2.0, "radius": 0.125})]
    gone, new = changed_lines(mechanism)
    assert gone == ["<Shape>3</Shape>"]
    assert new == ["<TubeLength>2</TubeLength>", "<TubeDiameter>0.25</TubeDiameter>", "<Shape>4</Shape>"]
    again = read_again(mechanism).bodies[1]
    assert again.shapes[0].size == {"length": 2.0, "radius": 0.125}
    assert again.extra["BoxDimensions/Z"] == 3


def test_elements_that_were_missing_are_put_in_their_place(mechanism: Mechanism) -> None:
    mechanism.bodies[2].pose[0, 3] = -4
    mechanism.bodies[2].mass = 9
    mechanism.world.erp = 0.75
    gone, new = changed_lines(mechanism)
    assert gone == []
    position = ["<Position>", "<X>-4</X>", "<Y>0</Y>", "<Z>0</Z>", "</Position>"]
    assert new == ["<ERP>0.75</ERP>", *position, "<Mass>9</Mass>"]
    assert "\t\t\t<Name/>" in formats.dumps(mechanism)[0]
    assert read_again(mechanism).bodies[2].pose[0, 3] == -4


def test_a_deleted_body_leaves_nothing_behind(mechanism: Mechanism) -> None:
    del mechanism.bodies[1]
    gone, new = changed_lines(mechanism)
    assert new == ["<Twin>0</Twin>", "<Body2>0</Body2>", "<FeedbackSource>0</FeedbackSource>"]
    body = mechanism.source.text.split("<Body>")[2].partition("</Body>")[0].split("\n")[1:-1]
    references = ["<Twin>12</Twin>", "<Body2>12</Body2>", "<FeedbackSource>12</FeedbackSource>"]
    assert sorted(gone) == sorted(["<Body>", *map(str.strip, body), "</Body>", *references])
    again = read_again(mechanism)
    assert [body.id for body in again.bodies] == ["11", "13"]
    assert not again.joints[0].active
    assert again.behaviours.items[0].feedback_body is None


def test_a_deleted_joint_is_nobodys_motor(mechanism: Mechanism) -> None:
    mechanism.joints = []
    _, new = changed_lines(mechanism)
    assert all("<JointID>0</JointID>" in line for line in new)
    assert len(new) == 2
    text = formats.dumps(mechanism)[0]
    assert "<RevoluteJoints>" in text
    assert "RevoluteJoint>" not in text.replace("RevoluteJoints>", "")


def test_added_objects_stand_behind_the_others_of_their_kind(mechanism: Mechanism) -> None:
    newline = "\r\n" if "\r\n" in mechanism.source.text else "\n"
    mechanism.bodies.append(Body("new foot", "Foot", shapes=[Shape("sphere", {"radius": 0.5})], twin="13"))
    mechanism.joints.append(
        Joint("slide", "Slide", "prismatic", "13", "new foot", dofs=[Dof("translation", upper=2.0)])
    )
    mechanism.joints.append(Joint("ball", "Ball", "ball", "new foot", "12", dofs=[Dof("ball", gain=3.0)]))
    gone, new = changed_lines(mechanism)
    assert gone == ["<PrismaticJoints/>"]
    text = formats.dumps(mechanism)[0]
    assert f"{newline}\t\t<Body>{newline}\t\t\t<ID>1</ID>{newline}\t\t\t<Name>Foot</Name>{newline}" in text
    assert f"\t\t</PrismaticJoint>{newline}\t</PrismaticJoints>" in text
    assert f"{newline}\t<SphericalJoints>{newline}\t\t<SphericalJoint>" in text
    again = read_again(mechanism)
    assert [body.name for body in again.bodies] == ["Hip & thigh", "Shin", "", "Foot"]
    assert again.bodies[3].shapes[0].size == {"radius": 0.5}
    assert again.bodies[3].twin == "13"
    slide = next(joint for joint in again.joints if joint.name == "Slide")
    assert (slide.parent, slide.child, slide.dofs[0].lower, slide.dofs[0].upper) == ("13", again.bodies[3].id, None, 2)
    assert next(joint for joint in again.joints if joint.name == "Ball").dofs[0].gain == 3.0


def test_a_joint_of_another_kind_moves_to_the_other_list(mechanism: Mechanism) -> None:
    joint = mechanism.joints[0]
    joint.type, joint.dofs = "ball", [Dof("ball", gain=10.0, max_force=5.0)]
    (again,) = read_again(mechanism).joints
    assert (again.id, again.type, again.parent, again.child) == ("21", "ball", "11", "12")
    assert np.abs(again.frame_child - joint.frame_child).max() < 1e-8


def test_a_behaviour_is_edited_added_and_removed_in_place(mechanism: Mechanism) -> None:
    clockwork, network = mechanism.behaviours.items
    clockwork.motors[0].amplitude = 12
    network.edges[0].factor = 0.5
    network.enabled = False
    gone, new = changed_lines(mechanism)
    assert new == [
        "<ClockworkMotor><JointID>21</JointID><Amplitude>12</Amplitude></ClockworkMotor>",
        "<Enabled>0</Enabled>",
        "<Edges><Edge><Source>32</Source><Destination>31</Destination><Factor>0.5</Factor></Edge></Edges>",
    ]
    network.nodes.append(NetworkNode("mine", "limit", minimum=-2.0))
    network.edges.append(NetworkEdge("32", "mine", 4.0))
    mechanism.behaviours.items.append(Clockwork("Second", motors=[ClockworkMotor("21", amplitude=1.0)]))
    again = read_again(mechanism).behaviours.items
    assert [item.name for item in again] == ["Walk", "Turn", "Second"]
    assert (again[1].nodes[-1].kind, again[1].nodes[-1].minimum) == ("limit", -2.0)
    assert again[1].edges[1].destination == again[1].nodes[-1].id
    assert "<X>309</X>" in formats.dumps(mechanism)[0]
    mechanism.behaviours.items = [network]
    text = formats.dumps(mechanism)[0]
    assert "Clockwork" not in text
    assert text.count("<NetworkBehavior>") == 1


def test_comments_and_unknown_elements_survive_an_edit(mechanism: Mechanism) -> None:
    for body in mechanism.bodies:
        body.mass = 77.0
    text = formats.dumps(mechanism)[0]
    kept = (
        "<!-- made by hand -->",
        "<!-- a body's comment -->",
        '<Unknown kind="kept"><Deep/></Unknown>',
        "author='me'",
    )
    assert all(piece in text for piece in kept)
    assert "<Friction>7.5e+001</Friction>" in text


def test_an_older_file_is_edited_and_extended_in_its_own_way() -> None:
    text = """<Model>
<Body>
	<Component>
		<ID>1</ID>
		<Name>Hip</Name>
		<Position><X>0</X><Y>0</Y><Z>0</Z></Position>
		<Rotation><H>0</H><P>0</P><R>0</R></Rotation>
	</Component>
	<Mass>1</Mass>
</Body>
</Model>
"""
    mechanism = formats.loads(text.encode())
    turn = np.eye(4)
    turn[:2, :2] = [[0, -1], [1, 0]]
    mechanism.bodies[0].pose = turn
    mechanism.bodies.append(Body("2", "Thigh", pose=turn.copy()))
    mechanism.joints.append(Joint("3", "Pin", "revolute", "1", "2", dofs=[Dof("rotation")]))
    written = formats.dumps(mechanism)[0]
    assert "<Rotation><H>90</H><P>0</P><R>0</R></Rotation>" in written
    assert written.count("<Component>") == 3
    assert "<Bodies>" not in written
    again = formats.loads(written.encode())
    assert again.source.dialect == "jpm"
    assert np.abs(again.bodies[1].pose - turn).max() < 1e-9
    assert (again.joints[0].parent, again.joints[0].child) == ("1", "2")


def test_an_older_file_saved_as_jm_is_a_jm(tmp_path: Path) -> None:
    mechanism = formats.loads(b"<Model><Body><Component><ID>1</ID><Name>Hip</Name></Component></Body></Model>")
    report = formats.save(mechanism, tmp_path / "new.jm")
    assert "new-dialect" in [entry.code for entry in report.entries]
    again = formats.load(tmp_path / "new.jm")
    assert (again.source.dialect, again.bodies[0].name) == ("jm", "Hip")


# A model without a document


def assert_same(a: Mechanism, b: Mechanism) -> None:
    """Equal in all that Juice holds. A joint may be spun about its own axis, which changes nothing of it."""
    name = {body.id: other.id for body, other in zip(a.bodies, b.bodies, strict=True)}
    name[None] = None
    for mine, other in zip(a.bodies, b.bodies, strict=True):
        assert (mine.name, name[mine.twin]) == (other.name, other.twin)
        assert [(s.type, s.size) for s in mine.shapes] == [(s.type, pytest.approx(s.size)) for s in other.shapes]
        assert mine.mass == pytest.approx(other.mass)
        assert np.abs(mine.pose - other.pose).max() < 1e-6
        assert mine.extra == other.extra
    for mine, other in zip(a.joints, b.joints, strict=True):
        assert (mine.name, mine.type, mine.active) == (other.name, other.type, other.active)
        assert (name[mine.parent], name[mine.child]) == (other.parent, other.child)
        for frame, there in ((mine.frame_parent, other.frame_parent), (mine.frame_child, other.frame_child)):
            assert np.abs(frame[:, 2:] - there[:, 2:]).max() < 1e-6
        spin = mine.frame_parent[:3, :3].T @ other.frame_parent[:3, :3]
        assert np.abs(spin - mine.frame_child[:3, :3].T @ other.frame_child[:3, :3]).max() < 1e-6
        for dof, there in zip(mine.dofs, other.dofs, strict=True):
            assert (dof.kind, dof.gain, dof.max_force) == (there.kind, there.gain, there.max_force)
            assert [dof.lower, dof.upper] == pytest.approx([there.lower, there.upper])
    assert a.world.gravity == pytest.approx(b.world.gravity)
    assert (a.world.friction, a.world.erp, a.world.cfm) == (b.world.friction, b.world.erp, b.world.cfm)


def shape_of_gait(mechanism: Mechanism) -> list:
    """A mechanism's behaviours, whatever its objects are called and however the file counts its joints."""
    place = {joint.id: i for i, joint in enumerate(mechanism.joints)} | {None: None}
    sign = {joint.id: joint.dofs[0].file_sign for joint in mechanism.joints} | {None: 1.0}
    body = {body.id: i for i, body in enumerate(mechanism.bodies)} | {None: None}
    found = [mechanism.behaviours.engine]
    for item in mechanism.behaviours.items:
        if isinstance(item, Clockwork):
            motors = [
                (place[m.joint], m.enabled, m.motion, m.phase, m.amplitude * sign[m.joint], m.offset * sign[m.joint])
                for m in item.motors
            ]
            found.append(
                (item.name, item.enabled, item.gain, item.source, item.amp_mod, body[item.feedback_body], motors)
            )
            continue
        joint = {node.id: node.joint for node in item.nodes}
        order = {node.id: i for i, node in enumerate(item.nodes)} | {None: None}
        edges = [(order[e.source], order[e.destination], e.factor * sign[joint.get(e.destination)]) for e in item.edges]
        nodes = []
        for node in item.nodes:
            plain = vars(copy.copy(node)) | {"id": "", "joint": place[node.joint], "body": body[node.body]}
            nodes.append(plain)
        found.append((item.name, item.enabled, item.gain, nodes, edges))
    return found


@each_file
def test_a_model_that_lost_its_document_is_written_whole(path: Path) -> None:
    mechanism = formats.load(path)
    mechanism.source = Source()
    text, _ = formats.dumps(mechanism, "juice")
    again = formats.loads(text.encode())
    assert_same(mechanism, again)
    for node_list in (mechanism, again):
        for item in node_list.behaviours.items:
            if isinstance(item, Network):
                item.nodes.sort(key=lambda node: (node.kind != "motor", node.kind == "source"))
    assert shape_of_gait(mechanism) == shape_of_gait(again)


def pendulum() -> Mechanism:
    """A model from nowhere, with ids and an axis that are none of Juice's."""
    hub = Body("frame/hub", "Hub & axle", mass=2.0, shapes=[Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0})])
    arm = Body(
        "frame/arm", "Arm", mass=0.5, shapes=[Shape("capsule", {"length": 1.0, "radius": 0.25})], twin="frame/hub"
    )
    arm.pose[0, 3] = 2.0
    joint = Joint("pin", "Pin", "revolute", "frame/hub", "frame/arm", dofs=[Dof("rotation", np.array([0.6, 0.0, 0.8]))])
    joint.frame_child[0, 3] = -2.0
    joint.dofs[0].lower, joint.dofs[0].upper = -0.5, 1.0
    return Mechanism("Pendulum", bodies=[hub, arm], joints=[joint])


def test_a_model_from_elsewhere_has_every_field_in_order() -> None:
    text, report = formats.dumps(pendulum(), "juice")
    assert [entry.code for entry in report.entries] == ["approximated-servo"]
    assert text.startswith('<Model FileVersion="1">\n\t<Gravity>9.81</Gravity>\n\t<Friction>10</Friction>\n')
    body = ET.fromstring(text).find("Bodies/Body")
    component = ["ID", "Name", "Position", "Rotation", "Twin"]
    tube = ["TubeLength", "TubeDiameter", "BallDiameter"]
    assert [child.tag for child in body] == [*component, "BoxDimensions", *tube, "Shape", "Mass"]
    joint = ET.fromstring(text).find("RevoluteJoints/RevoluteJoint")
    stops = ["LoStopValue", "HiStopValue", "LoStopFlag", "HiStopFlag"]
    ends = ["Body1", "Body2", "Gain", "MaxForce"]
    sources = ["SourceGain", "SourceMaxForce"]
    assert [child.tag for child in joint] == [*component, *ends, *stops, *sources, "Length", "Diameter"]
    lists = [child.tag for child in ET.fromstring(text)][8:]
    assert lists == ["Bodies", "RevoluteJoints", "PrismaticJoints", "SphericalJoints", "Behaviors"]
    assert [element.tag for element in ET.fromstring(text).iter("ID")] == ["ID"] * 3


def test_an_axis_from_elsewhere_is_the_one_that_juice_simulates() -> None:
    for kind in ("rotation", "translation"):
        mechanism = pendulum()
        mechanism.joints[0].dofs[0].kind = kind
        again = formats.loads(formats.dumps(mechanism, "juice")[0].encode())
        joint = again.joints[0]
        axis = (again.bodies[0].pose @ joint.frame_parent)[:3, 2]
        assert axis == pytest.approx([0.6, 0.0, 0.8])
        assert (joint.dofs[0].lower, joint.dofs[0].upper) == pytest.approx((-0.5, 1.0))
        assert "axis-differs" not in [entry.code for entry in again.report.entries]


@pytest.mark.parametrize("kind", ["RevoluteJoint", "PrismaticJoint"])
@pytest.mark.parametrize("file_angles", [(10.0, 370.0, 0.0), (0.0, 20.0, 90.0), (30.0, 20.0, 40.0)])
def test_a_joint_that_is_turned_is_simulated_about_the_axis_that_is_drawn(
    kind: str, file_angles: tuple[float, float, float]
) -> None:
    """Its stops count the same way then. One of which the file has it otherwise all along stays so."""
    text = DOCUMENT.replace("RevoluteJoint", kind)
    yaw, pitch, roll = file_angles
    at = text.index(f"<{kind}>")
    turned = f"<Rotation><Y>{yaw:g}</Y><P>{pitch:g}</P><R>{roll:g}</R></Rotation>"
    text = text[:at] + re.sub("<Rotation>.*?</Rotation>", turned, text[at:], count=1, flags=re.DOTALL)
    mechanism = formats.loads(text.encode())
    was_otherwise = "axis-differs" in [entry.code for entry in mechanism.report.entries]
    joint = mechanism.joints[0]
    world = pose((20.0, 30.0, 40.0), (1.0, 2.0, 3.0))
    joint.frame_parent = np.linalg.inv(mechanism.bodies[0].pose) @ world
    joint.frame_child = np.linalg.inv(mechanism.bodies[1].pose) @ world
    again = read_again(mechanism)
    assert ("axis-differs" in [entry.code for entry in again.report.entries]) == was_otherwise
    (made,) = again.joints
    np.testing.assert_allclose((again.bodies[0].pose @ made.frame_parent)[:, 2:], world[:, 2:], atol=1e-9)
    stops = [joint.dofs[0].lower, joint.dofs[0].upper]
    assert [made.dofs[0].lower, made.dofs[0].upper] == pytest.approx(stops, abs=1e-9)


def test_what_juice_cannot_hold_is_approximated_or_left_out_and_reported() -> None:
    mechanism = pendulum()
    hub, arm = mechanism.bodies
    hub.shapes = [Shape("mesh", {"x": 1.0, "y": 2.0, "z": 4.0}, mesh="hub.obj"), Shape("axes")]
    arm.shapes[0].pose[2, 3] = 0.5
    hub.inertia = np.eye(3)
    mechanism.joints += [
        Joint("weld", "Weld", "weld", "frame/hub", "frame/arm"),
        Joint("cardan", "Cardan", "universal", "frame/hub", "frame/arm", dofs=[Dof("rotation"), Dof("rotation")]),
        Joint("free", "Free", "free", None, "frame/hub", dofs=[Dof("free")]),
        Joint("base", "Base", "revolute", None, "frame/hub", dofs=[Dof("rotation", damping=2.0, stiffness=1.0)]),
    ]
    for joint in mechanism.joints[1:3]:
        joint.frame_child[0, 3] = -2.0
    text, report = formats.dumps(mechanism, "juice")
    again = formats.loads(text.encode())
    assert again.bodies[0].shapes[0].size == {"x": 1.0, "y": 2.0, "z": 4.0}
    assert again.bodies[1].pose[:3, 3] == pytest.approx([2.0, 0.0, 0.5])
    assert [(joint.name, joint.type) for joint in again.joints] == [
        ("Pin", "revolute"), ("Weld", "revolute"), ("Base", "revolute"), ("Cardan", "ball")
    ]  # fmt: skip
    assert (again.joints[1].dofs[0].lower, again.joints[1].dofs[0].upper) == (0.0, 0.0)
    assert {entry.code for entry in report.entries} == {
        "approximated-shape", "dropped-shape", "moved-com", "dropped-inertia", "approximated-joint", "dropped-joint",
        "dropped-joint-property", "joint-to-world", "moved-frame", "approximated-servo", "box-without-mesh",
    }  # fmt: skip


def test_unsupported_content_beside_bodies_and_joints_is_reported_too() -> None:
    mechanism = pendulum()
    mechanism.bodies[0].shapes = [
        Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0}, collision=False, color=(1.0, 0.0, 0.0, 1.0))
    ]
    mechanism.frames, mechanism.lights = [Frame("tip", "frame/hub")], [Light("lamp")]
    mechanism.restraints, mechanism.world.time_step = [Restraint("spring")], 0.001
    told = {entry.code for entry in formats.dumps(mechanism, "juice")[1].entries}
    assert {
        "dropped-frame", "dropped-light", "dropped-restraint", "dropped-world", "dropped-color", "dropped-shape-use"
    } <= told  # fmt: skip


@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-11, 3e-9, 1e-8, 1e-6])
def test_angles_are_exact_also_where_a_frame_looks_nearly_straight_up(off: float) -> None:
    turn = rotations_from_angles(np.array([[30.0, 90.0 - math.degrees(off), -50.0]]))[0]
    for near in ((0.0, 0.0, 0.0), (12.0, 90.0, 40.0)):
        again = rotations_from_angles(np.array([angles_from_rotation(turn, near)]))[0]
        assert np.abs(again - turn).max() < 1e-11


def test_two_objects_with_one_id_are_not_written() -> None:
    mechanism = pendulum()
    mechanism.bodies[1].id = mechanism.bodies[0].id
    with pytest.raises(formats.FormatError, match="ID frame/hub"):
        formats.dumps(mechanism, "juice")


def test_a_failed_save_leaves_the_old_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "model.jm"
    target.write_text("what was there")
    mechanism = pendulum()
    mechanism.bodies[1].id = mechanism.bodies[0].id
    with pytest.raises(formats.FormatError):
        formats.save(mechanism, target)
    with pytest.raises(formats.FormatError, match="model format 'nonsense' does not exist"):
        formats.save(pendulum(), target, format="nonsense")
    with pytest.raises(formats.FormatError, match="the folder '.*' does not exist"):
        formats.save(pendulum(), tmp_path / "nowhere" / "model.jm")
    assert target.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["model.jm"]


def test_a_kept_document_that_is_spoilt_is_rewritten() -> None:
    mechanism = formats.loads(DOCUMENT.encode())
    mechanism.source.text = mechanism.source.text[:500]
    text, report = formats.dumps(mechanism)
    assert [entry.code for entry in report.entries] == ["document-lost"]
    assert_same(mechanism, formats.loads(text.encode()))


# Any edit comes back

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: float(f"{value:.9g}"))
sizes = st.floats(1e-3, 1e3).map(lambda value: float(f"{value:.9g}"))
EDITS = ("name", "mass", "pose", "shape", "twin", "frame", "limits", "motor", "world", "gait")
turns = st.floats(-400, 400)
names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=20)


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edited_field_survives(data: st.DataObject) -> None:
    mechanism = formats.loads(DOCUMENT.encode())
    body, joint = data.draw(st.sampled_from(mechanism.bodies)), mechanism.joints[0]
    edits = data.draw(st.sets(st.sampled_from(EDITS), min_size=1))
    if "name" in edits:
        body.name, joint.name = data.draw(names), data.draw(names)
    if "mass" in edits:
        body.mass = data.draw(numbers)
    if "pose" in edits:
        body.pose = pose(data.draw(st.tuples(turns, turns, turns)), data.draw(st.tuples(numbers, numbers, numbers)))
    if "shape" in edits:
        length, radius = data.draw(sizes), data.draw(sizes)
        box = {"x": length, "y": radius, "z": data.draw(sizes)}
        tube = {"length": length, "radius": radius}
        shapes = [("box", box), ("sphere", {"radius": radius}), ("capsule", tube), ("cylinder", tube)]
        body.shapes = [Shape(*data.draw(st.sampled_from(shapes)))] if data.draw(st.booleans()) else []
    if "twin" in edits:
        body.twin = data.draw(st.sampled_from([None, "11", "12", "13"]))
    if "frame" in edits or "pose" in edits:
        world = pose(data.draw(st.tuples(turns, turns, turns)), (1.0, 2.0, 3.0))
        joint.frame_parent = np.linalg.inv(mechanism.bodies[0].pose) @ world
        joint.frame_child = np.linalg.inv(mechanism.bodies[1].pose) @ world
    if "limits" in edits:
        joint.dofs[0].lower = data.draw(st.none() | st.floats(-3, 0))
        joint.dofs[0].upper = data.draw(st.none() | st.floats(0, 3))
    if "motor" in edits:
        joint.dofs[0].gain, joint.dofs[0].max_force = data.draw(numbers), data.draw(numbers)
    if "world" in edits:
        mechanism.world.gravity = np.array([0, 0, data.draw(numbers)])
        mechanism.world.cfm = data.draw(numbers)
        mechanism.behaviours.engine.pose_phase = data.draw(numbers)
    if "gait" in edits:
        mechanism.behaviours.items[0].motors[0].phase = data.draw(numbers)
        mechanism.behaviours.items[1].nodes[1].value = data.draw(numbers)
    again = read_again(mechanism)
    for mine, other in zip(mechanism.bodies, again.bodies, strict=True):
        assert (mine.name, mine.twin, mine.mass) == (other.name, other.twin, pytest.approx(other.mass, rel=1e-8))
        assert np.abs(mine.pose - other.pose).max() <= 1e-7 * max(1.0, np.abs(mine.pose).max())
        assert [s.type for s in mine.shapes] == [s.type for s in other.shapes]
        assert all(a.size == pytest.approx(b.size, rel=1e-8) for a, b in zip(mine.shapes, other.shapes, strict=True))
    (made,) = again.joints
    scale = max(1.0, *(np.abs(body.pose).max() for body in mechanism.bodies))
    # axis and place; about its axis a frame may be spun, so that Juice simulates the axis that it draws
    assert np.abs(made.frame_parent - joint.frame_parent)[:, 2:].max() <= 1e-7 * scale
    assert "axis-differs" not in [entry.code for entry in again.report.entries]
    assert [made.dofs[0].lower, made.dofs[0].upper] == pytest.approx(
        [joint.dofs[0].lower, joint.dofs[0].upper], abs=1e-8
    )
    assert made.dofs[0].gain == pytest.approx(joint.dofs[0].gain, rel=1e-8)
    assert again.world.gravity == pytest.approx(mechanism.world.gravity, rel=1e-8)
    assert again.world.cfm == pytest.approx(mechanism.world.cfm, rel=1e-8)
    assert shape_of_gait(again) == shape_of_gait(mechanism)


def pose(angles: tuple[float, float, float], position: tuple[float, float, float]) -> np.ndarray:
    """Some rigid transform."""
    result = np.eye(4)
    for i, angle in enumerate(angles):
        turn = np.eye(4)
        cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turn[(i + 1) % 3, (i + 1) % 3] = turn[(i + 2) % 3, (i + 2) % 3] = cosine
        turn[(i + 2) % 3, (i + 1) % 3], turn[(i + 1) % 3, (i + 2) % 3] = sine, -sine
        result = result @ turn
    result[:3, 3] = position
    return result


def test_behaviours_may_be_absent() -> None:
    mechanism = formats.loads(DOCUMENT.encode())
    mechanism.behaviours = None
    assert formats.dumps(mechanism)[0] == DOCUMENT
    mechanism.behaviours = GaitBehaviors()
    assert "Clockwork" not in formats.dumps(mechanism)[0]


def arm(*dofs: Dof, base: bool = True) -> Mechanism:
    """Links of 1 m and 2 kg from a joint at the origin outwards, their masses in their middles; held by a base."""
    bodies, joints = [Body("base", "base", mass=10.0, immobile=base)], []
    for k, dof in enumerate(dofs):
        place, middle, back = np.eye(4), np.eye(4), np.eye(4)
        place[0, 3] = 0.0 if k == 0 else 0.5
        middle[0, 3], back[0, 3] = k + 0.5, -0.5
        bodies.append(Body(f"b{k}", f"b{k}", middle, mass=2.0))
        joints.append(Joint(f"j{k}", f"j{k}", "revolute", bodies[k].id, f"b{k}", place, back, [dof]))
    return Mechanism("m", bodies=bodies, joints=joints)


def strengths(mechanism: Mechanism) -> list[tuple[float, float]]:
    back = formats.loads(formats.dumps(mechanism, "juice")[0].encode())
    return [(joint.dofs[0].gain, joint.dofs[0].max_force) for joint in back.joints]


def test_servos_without_max_force_get_one_that_holds_their_load() -> None:
    """Three times the weight's torque with everything stretched out: at the shoulder 2 kg at 0.5 m and at 1.5 m."""
    g = 9.81
    shoulder, elbow = (10, pytest.approx(12 * g, 5e-3)), (10, pytest.approx(3 * g, 5e-3))
    assert strengths(arm(Dof("rotation"), Dof("rotation"))) == [shoulder, elbow]
    slider = (573, pytest.approx(12 * g, 5e-3))
    assert sorted(strengths(arm(Dof("translation"), Dof("rotation")))) == [elbow, slider]
    standing = strengths(arm(Dof("rotation"), Dof("rotation"), base=False))
    assert [force for _gain, force in standing] == pytest.approx([14 * g * 1.5, 14 * g * 0.5], rel=5e-3)
    weightless = arm(Dof("rotation"))
    weightless.world.gravity[:] = 0.0
    assert strengths(weightless) == [(10, pytest.approx(3 * g, 5e-3))]


def test_strengths_that_are_given_stay() -> None:
    given = arm(Dof("rotation", gain=3.0, max_force=7.0), Dof("rotation", max_force=5.0), Dof("rotation", gain=4.0))
    assert strengths(given)[:2] == [(3, 7), (10, 5)] and strengths(given)[2][0] == 4
    passive = arm(Dof("rotation", actuator="passive"))
    assert strengths(passive) == [(0, 0)]
    report = formats.dumps(given, "juice")[1]
    (told,) = [entry for entry in report.entries if entry.code == "approximated-servo"]
    assert "'j1' and 1 more" in told.message


def test_what_the_source_had_goes_back_unless_it_was_edited() -> None:
    """Through a Juice file, saved again, and into another format; an edited gain or force is the user's own."""
    text = formats.dumps(arm(Dof("rotation"), Dof("rotation", max_force=5.0)), "juice")[0]
    again = formats.loads(text.encode())
    assert formats.dumps(again)[0] == text
    dofs = [joint.dofs[0] for joint in formats.loads(formats.dumps(again, "shift")[0].encode()).joints]
    assert [(dof.gain, dof.max_force) for dof in dofs] == [(0, 0), (0, 5)]
    again.joints[0].dofs[0].max_force = 77.0
    edited = formats.loads(formats.dumps(again)[0].encode())
    for each in (again, edited, formats.loads(formats.dumps(edited)[0].encode())):
        dofs = [joint.dofs[0] for joint in formats.loads(formats.dumps(each, "shift")[0].encode()).joints]
        assert [(dof.gain, dof.max_force) for dof in dofs] == [(0, 77), (0, 5)]
