"""Juice files are read as the program means them: every object, its place, its axis and its stops.

What is expected is computed here from the XML alone, with the standard library's parser and elementary rotations."""

from __future__ import annotations

import math
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.gait.behaviors import Clockwork, Network
from tests.support.mechanisms import angles_in, number
from tests.support.references import CORPUS

JUICE = CORPUS / "juice"
BROKEN = "simpleant2.jp.jm"
FILES = [path for path in sorted(JUICE.glob("*/*.j*m")) if path.name != BROKEN]
JOINT_TAGS = {"RevoluteJoint": "revolute", "PrismaticJoint": "prismatic", "SphericalJoint": "ball"}

pytestmark = pytest.mark.filterwarnings("error")
each_file = pytest.mark.parametrize(
    "path",
    FILES or [pytest.param(None, marks=pytest.mark.skip(reason="real Juice files are not here"))],
    ids=lambda path: path.name if path else "none",
)


def turn(axis: np.ndarray, degrees: float) -> np.ndarray:
    """Rodrigues' rotation about a unit vector."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = math.radians(degrees)
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


X, Y, Z = np.eye(3)


def matrix(element: ET.Element) -> np.ndarray:
    """The pose of an object: yaw about z, then pitch about the turned x, then roll about the twice turned y."""
    yaw, pitch, roll = angles_in(element)
    pose = np.eye(4)
    x = turn(Z, yaw) @ X
    y = turn(x, pitch) @ turn(Z, yaw) @ Y
    pose[:3, :3] = turn(y, roll) @ turn(x, pitch) @ turn(Z, yaw)
    pose[:3, 3] = [number(element, f".//Position/{axis}") for axis in "XYZ"]
    return pose


def identity_of(element: ET.Element) -> str:
    """An object's own ID modulo 2**32."""
    return str(int(element.find(".//ID").text) % 2**32)


def reference(element: ET.Element, tag: str, known: set[str]) -> str | None:
    """What a reference means, in the decimal or the hexadecimal of some files."""
    text = element.find(f".//{tag}").text.strip()
    meanings = [str(int(text, base) % 2**32) for base in (10, 16) if base == 16 or text.lstrip("-").isdigit()]
    return next((meaning for meaning in meanings if meaning in known), None)


@each_file
def test_every_body_and_joint_is_there(path: Path) -> None:
    tree = ET.parse(path).getroot()
    mechanism = formats.load(path)
    assert [body.id for body in mechanism.bodies] == [identity_of(element) for element in tree.iter("Body")]
    for tag, kind in JOINT_TAGS.items():
        mine = [joint.id for joint in mechanism.joints if joint.type == kind]
        assert mine == [identity_of(element) for element in tree.iter(tag)]
    assert mechanism.source.format == "juice"
    assert mechanism.source.dialect == path.suffix[1:]


@each_file
def test_bodies_stand_where_the_file_has_them(path: Path) -> None:
    tree = ET.parse(path).getroot()
    for body, element in zip(formats.load(path).bodies, tree.iter("Body"), strict=True):
        assert np.abs(body.pose - matrix(element)).max() < 1e-6
        assert body.name == (element.find(".//Name").text or "")
        assert body.mass == number(element, "Mass", default=1.0)
        assert not body.com.any()


@each_file
def test_shapes_are_those_of_the_file(path: Path) -> None:
    tree = ET.parse(path).getroot()
    for body, element in zip(formats.load(path).bodies, tree.iter("Body"), strict=True):
        shape = int(number(element, "Shape", default=1))
        tube = {"length": number(element, "TubeLength"), "radius": number(element, "TubeDiameter") / 2}
        expected = {
            1: ("box", {a.lower(): number(element, f"BoxDimensions/{a}", f"Dimensions/{a}") for a in "XYZ"}),
            2: ("capsule", tube),
            3: ("sphere", {"radius": number(element, "BallDiameter") / 2}),
            4: ("cylinder", tube),
        }
        assert [(found.type, found.size) for found in body.shapes] == [expected[shape]]


@each_file
def test_both_frames_of_a_joint_meet_where_the_file_has_them(path: Path) -> None:
    tree = ET.parse(path).getroot()
    mechanism = formats.load(path)
    pose = {body.id: body.pose for body in mechanism.bodies}
    elements = {identity_of(element): element for tag in JOINT_TAGS for element in tree.iter(tag)}
    for joint in mechanism.joints:
        element = elements[joint.id]
        assert joint.parent == reference(element, "Body1", set(pose))
        assert joint.child == reference(element, "Body2", set(pose))
        assert joint.active == (None not in (joint.parent, joint.child) and joint.parent != joint.child)
        for end, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child)):
            assert np.abs(pose.get(end, np.eye(4)) @ frame - matrix(element)).max() < 1e-6


@each_file
def test_stops_hold_the_second_body_where_the_program_does(path: Path) -> None:
    """ODE counts what the first body does along the axis that Juice gives it; at a stop, the second body is where this
    puts it, whatever the sense in which we count."""
    tree = ET.parse(path).getroot()
    elements = {identity_of(element): element for tag in JOINT_TAGS for element in tree.iter(tag)}
    mechanism = formats.load(path)
    warned = {entry.line for entry in mechanism.report.entries if entry.code == "axis-differs"}
    for joint in mechanism.joints:
        element, dof = elements[joint.id], joint.dofs[0]
        assert dof.gain == number(element, ".//Gain", default=dof.gain)
        assert dof.max_force == number(element, ".//MaxForce", default=dof.max_force)
        if joint.type == "ball":
            assert (dof.kind, dof.lower, dof.upper) == ("ball", None, None)
            continue
        yaw, pitch, roll = angles_in(element)
        drawn = matrix(element)[:3, 2]
        if joint.type == "revolute":
            given = turn(Z, yaw) @ turn(X, pitch) @ turn(Y, -roll) @ Z
        else:
            given = turn(Z, -yaw) @ turn(X, pitch) @ turn(Y, roll) @ -Z
        differs = np.linalg.norm(np.cross(given, drawn)) > 1e-3
        assert differs == (joint.line in warned)
        stops = {tag: number(element, f"{tag}StopValue") for tag in ("Lo", "Hi") if number(element, f"{tag}StopFlag")}
        ours = [value for value in (dof.lower, dof.upper) if value is not None]
        assert len(ours) == len(stops)
        if differs:
            continue
        if joint.type == "revolute":
            theirs = [turn(given, -value) for value in stops.values()]
            mine = [turn(drawn, math.degrees(value)) for value in ours]
        else:
            theirs = [-value * given for value in stops.values()]
            mine = [value * drawn for value in ours]
        for place in theirs:
            assert min(np.abs(place - other).max() for other in mine) < 1e-6
        for tag, value in stops.items():
            low_in_file = tag == "Lo"
            low_in_ours = low_in_file == (dof.file_sign > 0)
            ours_value = dof.lower if low_in_ours else dof.upper
            unit = math.radians(1) if joint.type == "revolute" else 1.0
            assert ours_value * dof.file_sign == pytest.approx(value * unit, abs=1e-9)


@each_file
def test_world_and_engine_have_the_values_of_the_file(path: Path) -> None:
    tree = ET.parse(path).getroot()
    mechanism = formats.load(path)
    assert mechanism.world.gravity == pytest.approx([0, 0, -number(tree, "Gravity", default=9.81)])
    assert mechanism.world.friction == number(tree, "Friction", default=10)
    assert mechanism.world.erp == number(tree, "ERP", default=0.5)
    assert mechanism.world.cfm == number(tree, "CFM", default=0.01)
    engine = mechanism.behaviours.engine
    assert engine.standard_speed == number(tree, "StandardSpeed")
    assert engine.speed_factor == number(tree, "SpeedFactor", default=1)
    assert engine.pose_delay == number(tree, "PoseDelay", default=1)
    assert engine.pose_phase == number(tree, "PosePhase", default=0)


@each_file
def test_every_behaviour_is_there(path: Path) -> None:
    tree = ET.parse(path).getroot()
    items = formats.load(path).behaviours.items
    known = {identity_of(element) for tag in JOINT_TAGS for element in tree.iter(tag)}
    clockworks = [item for item in items if isinstance(item, Clockwork)]
    networks = [item for item in items if isinstance(item, Network)]
    elements = [element for element in tree.iter() if element.tag in {"Clockwork", "Behavior"}]
    assert len(clockworks) == len(elements)
    for item, element in zip(clockworks, elements, strict=True):
        motors = [motor for motor in element.iter() if motor.tag in {"ClockworkMotor", "MotionLink"}]
        assert [motor.joint for motor in item.motors] == [reference(motor, "JointID", known) for motor in motors]
        assert [motor.amplitude for motor in item.motors] == [number(motor, "Amplitude") for motor in motors]
        assert [motor.motion for motor in item.motors] == [int(number(motor, "MotionType")) for motor in motors]
        assert item.gain == number(element, "Gain", default=100.0)
    for item, element in zip(networks, tree.iter("NetworkBehavior"), strict=True):
        lists = ("MotorNodes", "FunctionNodes", "MotionSourceNodes")
        nodes = [node for name in lists for node in (element.find(name) if element.find(name) is not None else [])]
        assert sorted(node.id for node in item.nodes) == sorted(identity_of(node) for node in nodes)
        ids = {node.id for node in item.nodes}
        edges = [(reference(e, "Source", ids), reference(e, "Destination", ids)) for e in element.iter("Edge")]
        assert [(edge.source, edge.destination) for edge in item.edges] == edges
        assert item.enabled == bool(number(element, "Enabled"))


def document(bodies: str = "", joints: str = "", behaviours: str = "") -> bytes:
    """A small model."""
    return (
        f'<Model FileVersion="1"><Bodies>{bodies}</Bodies><RevoluteJoints>{joints}</RevoluteJoints>'
        f"<Behaviors>{behaviours}</Behaviors></Model>"
    ).encode()


def codes(mechanism: object) -> list[str]:
    """The codes in a mechanism's report."""
    return [entry.code for entry in mechanism.report.entries]


def test_ids_are_compared_modulo_two_to_the_32() -> None:
    bodies = "<Body><ID>-16</ID></Body><Body><ID>7</ID><Twin>4294967280</Twin></Body>"
    joint = "<RevoluteJoint><ID>1</ID><Body1>4294967280</Body1><Body2>7</Body2></RevoluteJoint>"
    mechanism = formats.loads(document(bodies, joint))
    assert mechanism.bodies[0].id == "4294967280" == mechanism.bodies[1].twin == mechanism.joints[0].parent


def test_hexadecimal_references_are_found_even_without_a_letter() -> None:
    bodies = f"<Body><ID>{0x016B2F50}</ID></Body><Body><ID>{0x07120988}</ID></Body>"
    joint = "<RevoluteJoint><ID>1</ID><Body1>016B2F50</Body1><Body2>07120988</Body2></RevoluteJoint>"
    (made,) = formats.loads(document(bodies, joint)).joints
    assert (made.parent, made.child) == (str(0x016B2F50), str(0x07120988))


def test_a_serialization_id_stands_in_for_a_missing_id_and_is_a_second_name() -> None:
    bodies = (
        "<Body><SerializationID>0x0A</SerializationID></Body>"
        "<Body><SerializationID>016B2F70</SerializationID><ID>5</ID></Body>"
    )
    joint = "<RevoluteJoint><ID>1</ID><Body1>10</Body1><Body2>016B2F70</Body2></RevoluteJoint>"
    (made,) = formats.loads(document(bodies, joint)).joints
    assert (made.parent, made.child) == ("10", "5")


def test_missing_elements_take_the_programs_defaults_and_are_reported_once() -> None:
    mechanism = formats.loads(document("<Body><ID>1</ID></Body><Body><ID>2</ID></Body>"))
    assert mechanism.world.gravity[2] == -9.81
    assert mechanism.bodies[1].mass == 1.0
    assert (mechanism.bodies[1].shapes[0].type, mechanism.behaviours.engine.pose_delay) == ("box", 1.0)
    told = [entry.message for entry in mechanism.report.entries if "Mass" in entry.message]
    assert told == ["Body has no Mass in 2 elements; Juice's default is used"]


def test_an_unknown_shape_is_kept_as_none_and_reported() -> None:
    mechanism = formats.loads(
        document("<Body><ID>1</ID><Shape>9</Shape></Body><Body><ID>2</ID><Shape>0</Shape></Body>")
    )
    assert [body.shapes for body in mechanism.bodies] == [[], []]
    assert codes(mechanism).count("unknown-shape") == 1
    assert mechanism.bodies[0].extra["Shape"] == 9


def test_dangling_references_become_nothing_and_are_reported() -> None:
    motor = "<Clockwork><ClockworkMotors><ClockworkMotor><JointID>99</JointID></ClockworkMotor></ClockworkMotors>"
    joint = "<RevoluteJoint><ID>1</ID><Body1>7</Body1><Body2>1</Body2></RevoluteJoint>"
    mechanism = formats.loads(document("<Body><ID>1</ID><Twin>8</Twin></Body>", joint, motor + "</Clockwork>"))
    assert mechanism.bodies[0].twin is None
    assert (mechanism.joints[0].parent, mechanism.joints[0].child, mechanism.joints[0].active) == (None, "1", False)
    assert mechanism.behaviours.items[0].motors[0].joint is None
    assert codes(mechanism).count("dangling-reference") == 3
    assert "inactive-joint" in codes(mechanism)


def test_uninitialised_integers_do_no_harm() -> None:
    clockwork = "<Clockwork><AmpModSource>-842150451</AmpModSource></Clockwork>"
    (item,) = formats.loads(document(behaviours=clockwork)).behaviours.items
    assert item.amp_mod == -842150451


def test_a_jm3_has_its_world_beside_its_model() -> None:
    text = (
        '<JuiceFile FileVersion="1"><DynamicsConstants><ODE.Standard><Gravity>3</Gravity><ERP>.25</ERP></ODE.Standard>'
        "</DynamicsConstants><Model><PoseDelay>4</PoseDelay><Bodies><Body><ID>1</ID></Body></Bodies></Model></JuiceFile>"
    )
    mechanism = formats.loads(text.encode())
    assert mechanism.source.dialect == "jm3"
    assert (mechanism.world.gravity[2], mechanism.world.erp, mechanism.behaviours.engine.pose_delay) == (-3, 0.25, 4)
    assert len(mechanism.bodies) == 1


def test_motors_of_a_jpm_give_their_max_force_to_joints_without_one() -> None:
    text = """<Model><Body><Component><ID>1</ID></Component></Body>
      <RevoluteJoint><Joint><Component><ID>2</ID></Component><Body1>1</Body1></Joint></RevoluteJoint>
      <RevoluteJoint><Joint><Component><ID>3</ID></Component><Gain>1</Gain></Joint></RevoluteJoint>
      <Behavior><MotionLink><JointID>2</JointID><Gain>4</Gain><MaxForce>150</MaxForce></MotionLink>
        <MotionLink><JointID>2</JointID><Gain>6</Gain><MaxForce>50</MaxForce></MotionLink>
        <MotionLink><JointID>3</JointID><Gain>6</Gain><MaxForce>50</MaxForce></MotionLink></Behavior></Model>"""
    mechanism = formats.loads(text.encode())
    strengths = [(joint.dofs[0].gain, joint.dofs[0].max_force) for joint in mechanism.joints]
    assert strengths == [(6, 150), (1, 50)]


def test_names_keep_their_white_space_and_bare_letters_are_repaired() -> None:
    text = "<Model>\n<Bodies><Body><ID>1</ID><Name>Nuts & bolts &amp; a < b\n <i> &foo; </Name></Body></Bodies></Model>"
    mechanism = formats.loads(text.encode())
    assert mechanism.bodies[0].name == "Nuts & bolts & a < b\n <i> &foo; "
    told = [(entry.line, entry.message) for entry in mechanism.report.entries if entry.code == "repaired-text"]
    assert told == [(2, f"an unescaped {letter} was read as the character {letter}, 2 times") for letter in "&<"]
    assert formats.loads(formats.dumps(mechanism)[0].encode()).bodies[0].name == mechanism.bodies[0].name


def test_a_name_that_looks_like_an_element_is_a_name() -> None:
    text = b"<Model><Bodies><Body><ID>1</ID><Name>Left <b>hip</b></Name></Body></Bodies></Model>"
    assert formats.loads(text).bodies[0].name == "Left <b>hip</b>"


def test_shared_names_are_reported() -> None:
    text = document("<Body><ID>1</ID><Name>Leg</Name></Body><Body><ID>2</ID><Name>Leg</Name></Body>")
    assert "shared-name" in codes(formats.loads(text))


def test_eight_bit_names_are_read_in_the_code_page_and_saved_in_it(tmp_path: Path) -> None:
    data = "<Model><Bodies><Body><ID>1</ID><Name>Hüfte €</Name></Body></Bodies></Model>".encode("cp1252")
    mechanism = formats.loads(data)
    assert mechanism.bodies[0].name == "Hüfte €"
    assert "decoded-8-bit" in codes(mechanism)
    formats.save(mechanism, tmp_path / "a.jm")
    assert (tmp_path / "a.jm").read_bytes() == data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_other_encodings_come_back_as_they_were(encoding: str, tmp_path: Path) -> None:
    text = "<Model><Bodies><Body><ID>1</ID><Name>Hüfte</Name></Body></Bodies></Model>"
    if encoding == "iso-8859-1":
        text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + text
    mechanism = formats.loads(text.encode(encoding))
    assert mechanism.bodies[0].name == "Hüfte"
    formats.save(mechanism, tmp_path / "a.jm")
    assert (tmp_path / "a.jm").read_bytes() == text.encode(encoding)


def test_five_thousand_links_take_about_a_second() -> None:
    count = 5000
    vector = "<{0}><{1}>1</{1}><{2}>2</{2}><{3}>3</{3}></{0}>".format
    common = vector("Position", *"XYZ") + vector("Rotation", *"YPR") + "<Twin>0</Twin>"
    bodies = "".join(
        f"<Body><ID>{i + 1}</ID><Name>b</Name>{common}<Shape>1</Shape><Mass>1</Mass></Body>\n" for i in range(count)
    )
    joints = "".join(
        f"<RevoluteJoint><ID>{i}</ID><Name>j</Name>{common}<Body1>{i}</Body1><Body2>{i + 1}</Body2></RevoluteJoint>\n"
        for i in range(1, count)
    )
    data = document(bodies, joints)
    start = time.process_time()
    mechanism = formats.loads(data)
    taken = time.process_time() - start
    assert len(mechanism.joints) == count - 1
    assert mechanism.joints[-1].line == data[: data.rindex(b"<RevoluteJoint>")].count(b"\n") + 1
    assert taken < 3.0, f"{taken:.2f} s"  # 0.5 s on a quiet machine; quadratic work would take minutes
