"""From Blender back to the file: what nobody edited is the very text, what somebody edited changes there alone."""

from __future__ import annotations

import difflib
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.support.emptied import empty_file
from tests.support.mechanisms import XmlModel, bone_of, each_file, objects_of, play, put, turn, world_of


def component(
    number: int, name: str, at: tuple[str, str, str], twin: int, ypr: tuple[str, str, str] = ("0", "0", "0")
) -> str:
    """What bodies and joints have in common, one number to a line."""
    places = "\n".join(f"<{axis}>{value}</{axis}>" for axis, value in zip("XYZ", at, strict=True))
    angles = "\n".join(f"<{axis}>{value}</{axis}>" for axis, value in zip("YPR", ypr, strict=True))
    return (
        f"<ID>{number}</ID>\n<Name>{name}</Name>\n<Position>\n{places}\n</Position>\n"
        f"<Rotation>\n{angles}\n</Rotation>\n<Twin>{twin}</Twin>\n"
    )


def body(number: int, name: str, at: tuple[str, str, str], shape: int, twin: int = 0) -> str:
    return (
        f"<Body>\n{component(number, name, at, twin)}<BoxDimensions>\n<X>1.10</X>\n<Y>2</Y>\n<Z>0.5</Z>\n"
        "</BoxDimensions>\n<TubeLength>0.90</TubeLength>\n<TubeDiameter>0.3</TubeDiameter>\n"
        f"<BallDiameter>0.7</BallDiameter>\n<Shape>{shape}</Shape>\n<Mass>2.30</Mass>\n<Wings>{number}</Wings>\n</Body>\n"
    )


def joint(tag: str, number: int, name: str, ends: tuple[int, int], at: tuple[str, str, str], *ypr: str) -> str:
    twin = {21: 22, 22: 21}.get(number, 0)
    return (
        f"<{tag}>\n{component(number, name, at, twin, ypr or ('0', '0', '0'))}"
        f"<Body1>{ends[0]}</Body1>\n<Body2>{ends[1]}</Body2>\n<Gain>10.0</Gain>\n<MaxForce>5e+002</MaxForce>\n"
        "<LoStopValue>-33.3</LoStopValue>\n<HiStopValue>47.7</HiStopValue>\n<LoStopFlag>1</LoStopFlag>\n"
        f"<HiStopFlag>1</HiStopFlag>\n</{tag}>\n"
    )


#: A trunk with two legs on hinges, a foot on a slide and a head on a ball; no number is a nice one for 32 bits.
DOCUMENT = (
    '<?xml version="1.0"?>\n<!-- made by hand -->\n<Model FileVersion="1" author=\'me\'>\n<Gravity>9.810</Gravity>\n'
    "<Friction>7.5e+001</Friction>\n<ERP>0.8</ERP>\n<CFM>1e-006</CFM>\n<StandardSpeed>23.1</StandardSpeed>\n"
    '<SpeedFactor>1</SpeedFactor>\n<PoseDelay>0.30</PoseDelay>\n<PosePhase>12</PosePhase>\n<Unknown><Deep a="1"/>'
    "</Unknown>\n<Bodies>\n"
    + body(11, "Trunk &amp; tail", ("0.10", "0.2", "3.30"), 1)
    + body(12, "Left Leg", ("-0.9", "0.2", "2.1"), 2, twin=13)
    + body(13, "Right Leg", ("1.1", "0.2", "2.1"), 4, twin=12)
    + body(14, "Foot", ("-0.9", "0.2", "1.2"), 3)
    + body(15, "Head", ("0.1", "1.7", "3.3"), 3)
    + "</Bodies>\n<RevoluteJoints>\n"
    + joint("RevoluteJoint", 21, "Left Hip", (11, 12), ("-0.6", "0.2", "2.7"), "0", "-90", "0")
    + joint("RevoluteJoint", 22, "Right Hip", (11, 13), ("0.8", "0.2", "2.7"), "90", "37.3", "0")
    + "</RevoluteJoints>\n<PrismaticJoints>\n"
    + joint("PrismaticJoint", 23, "Ankle", (12, 14), ("-0.9", "0.2", "1.6"), "0", "11.1", "0")
    + "</PrismaticJoints>\n<SphericalJoints>\n"
    + joint("SphericalJoint", 24, "Neck", (11, 15), ("0.1", "1.3", "3.3"))
    + "</SphericalJoints>\n<Behaviors>\n<Clockwork>\n<Name>Walk</Name>\n<Enabled>1</Enabled>\n<Gain>100</Gain>\n"
    "<ClockworkMotors>\n<ClockworkMotor>\n<JointID>21</JointID>\n<Enabled>1</Enabled>\n<Offset>0</Offset>\n"
    "<MotionType>1</MotionType>\n<Phase>0</Phase>\n<Amplitude>20.0</Amplitude>\n</ClockworkMotor>\n"
    "</ClockworkMotors>\n<MotionSource>1</MotionSource>\n<AmpModSource>0</AmpModSource>\n"
    "<FeedbackSource>0</FeedbackSource>\n</Clockwork>\n</Behaviors>\n</Model>\n"
)


def collection_of(rig: Any) -> Any:
    return rig.data.knuckle.collection


def exported(rig: Any) -> str:
    from addon.blender.scene.read.mechanism import extract

    return formats.dumps(extract(collection_of(rig)))[0]


def said(rig: Any) -> list[str]:
    """What the extraction has to say."""
    from addon.blender.scene.read.mechanism import extract

    return [entry.message for entry in extract(collection_of(rig)).report.entries]


def reopened(folder: Path) -> Any:
    """Save the .blend, open it again: the armature of its model."""
    import bpy

    path = str(folder / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=path)
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def leaves(text: str) -> dict[str, str]:
    """Every number and word of a document by its place: objects are named by their ID."""
    out: dict[str, str] = {}

    def visit(element: ET.Element, place: str) -> None:
        for child in element:
            own = child.findtext("ID") or child.findtext("JointID")
            here = f"{place}/{child.tag}[{own}]" if own else f"{place}/{child.tag}"
            if len(child):
                visit(child, here)
            else:
                out[here.removeprefix("/")] = child.text or ""

    visit(ET.fromstring(text), "")
    return out


def edits(before: str, after: str) -> dict[str, str]:
    """What a value-changing edit wrote, by place. Fails where any line besides those of these values differs."""
    old, new = before.split("\n"), after.split("\n")
    assert len(old) == len(new), "\n".join(difflib.unified_diff(old, new, n=0))
    values = leaves(after)
    changed = {place: values[place] for place, value in leaves(before).items() if values[place] != value}
    assert sum(a != b for a, b in zip(old, new, strict=True)) == len(changed)
    return changed


def lost_and_new(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came."""
    lines = list(difflib.ndiff(before.split("\n"), after.split("\n")))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


# ---------------------------------------------------------------- nothing edited


@each_file
def test_an_unedited_file_comes_back_byte_for_byte(blank: Any, path: Path, tmp_path: Path) -> None:
    from addon.blender.scene.read.mechanism import extract

    text = formats.load(path).source.text
    rig = put(path)
    assert exported(rig) == text
    target = tmp_path / f"again{path.suffix}"
    formats.save(extract(collection_of(rig)), target)
    assert target.read_bytes() == path.read_bytes()


@each_file
def test_an_unedited_model_is_exported_byte_for_byte_from_a_saved_blend(blank: Any, path: Path, tmp_path: Path) -> None:
    from addon.blender.scene.read.mechanism import extract

    put(path)
    rig = reopened(tmp_path)
    target = tmp_path / f"again{path.suffix}"
    formats.save(extract(collection_of(rig)), target)
    assert target.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        DOCUMENT.encode(),
        DOCUMENT.replace("\n", "\r\n").encode(),
        DOCUMENT.replace("\n", "\r").encode(),
        DOCUMENT.removesuffix("\n").encode(),
        (DOCUMENT + "\n\n").encode(),
        DOCUMENT.replace("Left Leg", "Füße €").encode("cp1252"),
        DOCUMENT.replace("Left Leg", "Füße 脚").encode("utf-8-sig"),
        DOCUMENT.replace("Left Leg", "Füße 脚").encode("utf-16"),
        DOCUMENT.replace('"1.0"', '"1.0" encoding="ISO-8859-15"').replace("Left Leg", "Füße €").encode("iso-8859-15"),
        DOCUMENT.replace("\n", "").encode(),
        DOCUMENT.replace("made by hand", "long " * 7000).encode(),
        DOCUMENT.replace("made by hand", "x" * 10_000 + "\n" + "y" * 20_001 + "\ue000\ue001").encode(),
        DOCUMENT.replace("made by hand", "tabs\t and \x85 \u2028 odd \u00a0 spaces ").encode(),
    ],
    ids=[
        "LF", "CRLF", "CR", "no end of line", "empty lines", "code page 1252", "UTF-8 with a mark", "UTF-16",
        "a declared code page", "one line", "a line of 35,000", "lines about the limit", "odd white space",
    ],
)  # fmt: skip
def test_every_way_to_write_a_file_is_kept(blank: Any, data: bytes, tmp_path: Path) -> None:
    from addon.blender.scene.read.mechanism import extract

    path, target = tmp_path / "model.jm", tmp_path / "again.jm"
    path.write_bytes(data)
    rig = put(path)
    for _ in range(2):
        formats.save(extract(collection_of(rig)), target)
        assert target.read_bytes() == data
        rig = reopened(tmp_path)


def test_names_that_blender_cannot_hold_are_kept(blank: Any, tmp_path: Path) -> None:
    long = "a very long name, longer than Blender lets any object's be, which ends at sixty-three bytes " + "脚" * 70
    text = DOCUMENT.replace("Left Leg", long).replace("Head", "Left Hip").replace("Foot", "")
    put(text)
    assert exported(reopened(tmp_path)) == text


def test_two_models_of_one_file_are_each_that_file(blank: Any) -> None:
    first, second = put(DOCUMENT), put(DOCUMENT)
    objects_of(second, "BODY")["11"].location.x = 0.75
    assert exported(first) == DOCUMENT
    assert edits(DOCUMENT, exported(second)) == {"Bodies/Body[11]/Position/X": "0.75"}


# ---------------------------------------------------------------- what is no edit of the design


def pose_bones(rig: Any) -> None:
    for number, bone in enumerate(rig.pose.bones):
        bone.rotation_euler[2], bone.location[2] = 0.1 * number, 0.05
        bone.rotation_quaternion = (0.8, 0.6, 0, 0)


def move_the_armature(rig: Any) -> None:
    rig.location, rig.rotation_euler, rig.scale = (3, 1, 7), (0.3, 0.2, 1), (2, 2, 2)
    rig.name = rig.data.name = "Other"


def play_keys(rig: Any) -> None:
    import bpy

    play(bpy.context.scene, 20, lambda: None)


def simulate(rig: Any) -> None:
    rig.data.knuckle.drive = "SERVO"
    play_keys(rig)
    rig.data.knuckle.drive = "LIMP"
    play_keys(rig)


def simulate_and_return(rig: Any) -> None:
    simulate(rig)
    rig.data.knuckle.drive = "KEYS"


def bake(rig: Any) -> None:
    import bpy

    from addon.blender.physics.recording.bake import bake

    rig.data.knuckle.drive = "SERVO"
    bake(bpy.context.scene, rig, 20)


def clear(rig: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    clear_physics(bpy.context.scene, rig)


def drive_by_controls(rig: Any) -> None:
    rig.data.knuckle.controls.joystick_1_y = -1.0
    rig.data.knuckle.target, rig.data.knuckle.law = "GAIT", "JUICE"


def look_different(rig: Any) -> None:
    for obj in objects_of(rig, "BODY").values():
        obj.color, obj.display_type, obj.hide_render = (1, 0, 0, 1), "WIRE", True
        obj.data = obj.data.copy()
        obj.data.materials.clear()
    collection_of(rig).name = "Else"


@pytest.mark.parametrize(
    "act",
    [
        pose_bones, move_the_armature, play_keys, simulate, simulate_and_return, bake, clear, drive_by_controls,
        look_different,
    ],
)  # fmt: skip
def test_what_is_posed_or_played_is_not_exported(blank: Any, act: Callable[[Any], None], tmp_path: Path) -> None:
    import bpy

    rig = put(DOCUMENT)
    act(rig)
    bpy.context.view_layer.update()
    assert exported(rig) == DOCUMENT
    assert exported(reopened(tmp_path)) == DOCUMENT


def test_editing_and_putting_back_is_no_edit(blank: Any) -> None:
    rig = put(DOCUMENT)
    trunk, hip = objects_of(rig, "BODY")["11"], objects_of(rig, "JOINT")["21"]
    upper = hip.knuckle.joint.dofs[0].upper
    trunk.location.x, trunk.name, trunk.knuckle.mass, hip.knuckle.joint.dofs[0].upper = 5, "Else", 9, 1.0
    assert exported(rig) != DOCUMENT
    trunk.matrix_basis = np.array(trunk.knuckle.baseline_pose).reshape(4, 4).T
    trunk.name, trunk.knuckle.mass, hip.knuckle.joint.dofs[0].upper = trunk.knuckle.baseline_name, 2.3, upper
    assert exported(rig) == DOCUMENT


# ---------------------------------------------------------------- edits


def model_of(act: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda rig: act(rig.data.knuckle)


def on_body(key: str, act: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda rig: act(objects_of(rig, "BODY")[key])


def on_joint(key: str, act: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda rig: act(objects_of(rig, "JOINT")[key])


def setting(path: str, value: Any) -> Callable[[Any], None]:
    """Sets what a dotted path leads to."""

    def act(owner: Any) -> None:
        *way, last = path.split(".")
        for step in way:
            owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
        if last.isdigit():
            owner[int(last)] = value
        else:
            setattr(owner, last, value)

    return act


TRUNK, LEG, OTHER_LEG, FOOT = (f"Bodies/Body[{key}]" for key in (11, 12, 13, 14))
HIP = "RevoluteJoints/RevoluteJoint[21]"
DOF = "knuckle.joint.dofs.0"

VALUES: list[tuple[Callable[[Any], None], dict[str, str]]] = [
    (on_body("11", setting("location.0", 0.35)), {f"{TRUNK}/Position/X": "0.35"}),
    (on_body("12", setting("location", (-0.8, 0.2, 2.15))), {f"{LEG}/Position/X": "-0.8", f"{LEG}/Position/Z": "2.15"}),
    (on_body("11", setting("scale.0", 2.0)), {f"{TRUNK}/BoxDimensions/X": "2.2"}),
    (on_body("12", setting("scale.2", 1.5)), {f"{LEG}/TubeLength": "1.35"}),
    (on_body("13", setting("scale", (3, 3, 1))), {f"{OTHER_LEG}/TubeDiameter": "0.9"}),
    (on_body("14", setting("scale", (1.1, 1.1, 1.1))), {f"{FOOT}/BallDiameter": "0.77"}),
    (on_body("11", setting("knuckle.shapes.0.size.1", 2.6)), {f"{TRUNK}/BoxDimensions/Y": "2.6"}),
    (on_body("12", setting("name", "Links & <rechts>")), {f"{LEG}/Name": "Links & <rechts>"}),
    (on_body("12", setting("knuckle.source_name", "Bein")), {f"{LEG}/Name": "Bein"}),
    (on_body("12", setting("knuckle.mass", 4.7)), {f"{LEG}/Mass": "4.7"}),
    (on_body("12", setting("rigid_body.mass", 5.1)), {f"{LEG}/Mass": "5.1"}),
    (on_body("14", setting("knuckle.twin", "15")), {f"{FOOT}/Twin": "15"}),
    (on_body("12", setting("knuckle.twin", "")), {f"{LEG}/Twin": "0"}),
    (on_joint("21", setting("location.2", 2.8)), {f"{HIP}/Position/Z": "2.8"}),
    (on_joint("21", setting("name", "Hüfte")), {f"{HIP}/Name": "Hüfte"}),
    (on_joint("21", setting(f"{DOF}.gain", 12.6)), {f"{HIP}/Gain": "12.6"}),
    (on_joint("21", setting(f"{DOF}.max_force", 0.1)), {f"{HIP}/MaxForce": "0.1"}),
    (
        on_joint("23", setting("location.1", 0.3)),
        {"PrismaticJoints/PrismaticJoint[23]/Position/Y": "0.3"},
    ),
    (on_joint("24", setting("location.1", 1.4)), {"SphericalJoints/SphericalJoint[24]/Position/Y": "1.4"}),
    (model_of(setting("gravity", (0, 0, -3.7))), {"Gravity": "3.7"}),
    (model_of(setting("friction", 12.3)), {"Friction": "12.3"}),
    (model_of(setting("erp", 0.35)), {"ERP": "0.35"}),
    (model_of(setting("cfm", 0.02)), {"CFM": "0.02"}),
    (model_of(setting("standard_speed", 31.7)), {"StandardSpeed": "31.7"}),
    (model_of(setting("speed_factor", -0.7)), {"SpeedFactor": "-0.7"}),
    (model_of(setting("pose_delay", 1.2)), {"PoseDelay": "1.2"}),
    (model_of(setting("pose_phase", 45.6)), {"PosePhase": "45.6"}),
]


@pytest.mark.parametrize(("act", "expected"), VALUES, ids=lambda each: "+".join(each) if isinstance(each, dict) else "")
def test_an_edit_changes_its_own_number_and_no_other(blank: Any, act: Any, expected: dict[str, str]) -> None:
    """As Blender shows the number, not as 32 bits have it."""
    rig = put(DOCUMENT)
    act(rig)
    assert edits(DOCUMENT, exported(rig)) == expected


def test_an_edit_survives_the_blend(blank: Any, tmp_path: Path) -> None:
    rig = put(DOCUMENT)
    expected: dict[str, str] = {}
    for act, change in (VALUES[0], VALUES[3], VALUES[9], VALUES[13], VALUES[15], VALUES[20], VALUES[23]):
        act(rig)
        expected |= change
    assert edits(DOCUMENT, exported(rig)) == expected
    assert edits(DOCUMENT, exported(reopened(tmp_path))) == expected


@pytest.mark.parametrize("joint", ["21", "22", "23"])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_a_stop_is_written_in_the_files_own_count(blank: Any, joint: str, end: str) -> None:
    """Which of the file's two stops it is, and its sign, is judged from ODE's rule in the test's own reading."""
    rig = put(DOCUMENT)
    place = XmlModel(DOCUMENT).joints[joint]
    turns = place.kind == "revolute"
    value = (20.5 if end == "upper" else -15.5) * (math.radians(1) if turns else 0.1)
    setattr(objects_of(rig, "JOINT")[joint].knuckle.joint.dofs[0], end, value)
    text = exported(rig)
    (change,) = edits(DOCUMENT, text)
    assert change.endswith(("LoStopValue", "HiStopValue"))
    kept = place.limits()[0 if end == "upper" else 1]
    limits = (kept, value) if end == "upper" else (value, kept)
    assert XmlModel(text).joints[joint].limits() == pytest.approx(limits, rel=1e-9, abs=1e-9)
    spelt = leaves(text)[change].lstrip("-")
    assert spelt in {"20.5", "15.5", "2.05", "1.55"}


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_a_stop_that_is_taken_off_clears_its_flag(blank: Any, end: str) -> None:
    rig = put(DOCUMENT)
    setattr(objects_of(rig, "JOINT")["21"].knuckle.joint.dofs[0], f"use_{end}", False)
    text = exported(rig)
    (change,) = edits(DOCUMENT, text).items()
    assert change in {(f"{HIP}/LoStopFlag", "0"), (f"{HIP}/HiStopFlag", "0")}
    low, high = XmlModel(text).joints["21"].limits()
    assert (low is None, high is None) == (end == "lower", end == "upper")


@pytest.mark.parametrize("key", ["11", "12", "14"])
def test_a_turned_body_is_written_turned(blank: Any, key: str) -> None:
    from mathutils import Quaternion

    rig = put(DOCUMENT)
    by = Quaternion((0.3, -0.5, 0.8), 0.7)
    obj = objects_of(rig, "BODY")[key]
    obj.rotation_quaternion = by @ obj.rotation_quaternion
    text = exported(rig)
    assert set(edits(DOCUMENT, text)) == {f"Bodies/Body[{key}]/Rotation/{axis}" for axis in "YPR"}
    wanted = np.array(by.to_matrix()) @ XmlModel(DOCUMENT).poses[key][:3, :3]
    assert np.abs(XmlModel(text).poses[key][:3, :3] - wanted).max() < 1e-6


def test_a_turned_joint_is_written_turned(blank: Any) -> None:
    from mathutils import Quaternion

    rig = put(DOCUMENT)
    hip = objects_of(rig, "JOINT")["22"]
    hip.rotation_quaternion = Quaternion((0, 0, 1), math.radians(-20)) @ hip.rotation_quaternion
    text = exported(rig)
    changed = edits(DOCUMENT, text)
    place = "RevoluteJoints/RevoluteJoint[22]"
    assert float(changed.pop(f"{place}/Rotation/Y")) == pytest.approx(70, abs=1e-4)
    assert all(field.startswith(f"{place}/Rotation/") for field in changed)
    wanted = turn((0, 0, 1), math.radians(-20)) @ XmlModel(DOCUMENT).joints["22"].axis
    assert np.abs(XmlModel(text).joints["22"].axis - wanted).max() < 1e-6


def test_a_mirrored_body_keeps_its_size(blank: Any) -> None:
    rig = put(DOCUMENT)
    objects_of(rig, "BODY")["11"].scale.x = -1.0
    changed = edits(DOCUMENT, exported(rig))
    assert {place.split("/")[2] for place in changed} <= {"Rotation"}


def test_a_body_moved_while_the_model_is_posed_moves_in_its_design(blank: Any) -> None:
    """The foot of a leg that is swung is dragged along the world: the design takes that turned back."""
    import bpy

    rig = put(DOCUMENT)
    rig.animation_data_clear()
    bone_of(rig, 21).rotation_euler[2] = 0.5
    bpy.context.view_layer.update()
    foot = objects_of(rig, "BODY")["14"]
    there = foot.matrix_world.copy()
    there.translation.z += 0.25
    foot.matrix_world = there
    text = exported(rig)
    assert {place.split("/")[1] for place in edits(DOCUMENT, text)} == {"Body[14]"}
    axis = XmlModel(DOCUMENT).joints["21"].axis
    moved = XmlModel(text).poses["14"][:3, 3] - XmlModel(DOCUMENT).poses["14"][:3, 3]
    assert turn(axis, 0.5) @ moved == pytest.approx([0, 0, 0.25], abs=1e-5)


# ---------------------------------------------------------------- deleted, copied


def at_rest(document: str) -> Any:
    """A model that is seen where it is designed: what is cut off and copied goes out where it is seen."""
    import bpy

    rig = put(document)
    rig.data.pose_position = "REST"
    bpy.context.view_layer.update()
    return rig


def delete(rig: Any, role: str, key: str) -> None:
    import bpy

    bpy.data.objects.remove(objects_of(rig, role)[key])


def element(tag: str, number: int) -> list[str]:
    """The lines of an object in the document."""
    start = DOCUMENT.index(f"<{tag}>\n<ID>{number}</ID>")
    return DOCUMENT[start : DOCUMENT.index(f"</{tag}>", start)].rstrip("\n").split("\n") + [f"</{tag}>"]


def test_a_deleted_body_leaves_the_file_and_its_references_lead_nowhere(blank: Any, tmp_path: Path) -> None:
    rig = at_rest(DOCUMENT)
    delete(rig, "BODY", "12")
    for standing in (rig, None):
        text = exported(standing or reopened(tmp_path))
        rest = DOCUMENT.replace("\n".join(element("Body", 12)) + "\n", "")
        assert edits(rest, text) == {
            f"{OTHER_LEG}/Twin": "0",
            f"{HIP}/Body2": "0",
            "PrismaticJoints/PrismaticJoint[23]/Body1": "0",
        }
        formats.loads(text.encode(), "again.jm")
    assert "Body 'Left Leg' was deleted" in said(next(iter(models())))


def models() -> list[Any]:
    import bpy

    return [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]


def test_a_deleted_joint_leaves_the_file_and_its_motor_nothing_to_move(blank: Any) -> None:
    rig = at_rest(DOCUMENT)
    delete(rig, "JOINT", "21")
    text = exported(rig)
    gone, came = lost_and_new(DOCUMENT, text)
    assert sorted(gone) == sorted([*element("RevoluteJoint", 21), "<Twin>21</Twin>", "<JointID>21</JointID>"])
    assert came == ["<Twin>0</Twin>", "<JointID>0</JointID>"]
    assert "Joint 'Left Hip' was deleted" in said(rig)


@pytest.mark.parametrize(
    ("role", "key", "cut"), [("JOINT", "21", "12 14"), ("BODY", "12", "14"), ("JOINT", "23", "14"), ("BODY", "11", "")]
)
def test_what_is_cut_off_goes_out_where_it_is_seen(blank: Any, role: str, key: str, cut: str, tmp_path: Path) -> None:
    """And so does the joint on it, whose other body may be gone; the rest keeps its numbers."""
    rig = put(DOCUMENT)
    rig.animation_data_clear()
    for joint, value in (("21", 0.4), ("22", -0.3)):
        bone_of(rig, joint).rotation_euler[2] = value
    bone_of(rig, "24").rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    blank.view_layer.update()
    back, before = np.linalg.inv(world_of(rig)), XmlModel(DOCUMENT)
    seen = {own: back @ world_of(obj) for own, obj in objects_of(rig, "BODY").items()}
    loose = cut.split() or ["12", "13", "14", "15"]
    delete(rig, role, key)
    for standing in (rig, None):
        after = XmlModel(exported(standing or reopened(tmp_path)))
        for own, pose in after.poses.items():
            if own in loose:
                assert np.abs(pose - before.poses[own]).max() > 0.05
                assert pose == pytest.approx(seen[own], abs=2e-6), own
            else:
                assert np.array_equal(pose, before.poses[own]), own
        if "23" in after.joints:
            went, old, new = seen["14"] @ np.linalg.inv(before.poses["14"]), before.joints["23"], after.joints["23"]
            assert new.frame[:, 3] == pytest.approx(went @ old.frame[:, 3], abs=2e-6)
            assert new.axis == pytest.approx(went[:3, :3] @ old.axis, abs=2e-6)


def duplicate(*objects: Any, linked: bool = False) -> list[Any]:
    """Shift+D, or Alt+D."""
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[0]
    assert bpy.ops.object.duplicate(linked=linked) == {"FINISHED"}
    return list(bpy.context.selected_objects)


def copied_by_script(obj: Any) -> Any:
    made = obj.copy()
    obj.users_collection[0].objects.link(made)
    return made


@pytest.mark.parametrize("how", ["Shift D", "Alt D", "script"])
def test_a_copied_body_is_a_new_one_and_the_original_stays(blank: Any, how: str, tmp_path: Path) -> None:
    rig = at_rest(DOCUMENT)
    leg = objects_of(rig, "BODY")["12"]
    (made,) = [copied_by_script(leg)] if how == "script" else duplicate(leg, linked=how == "Alt D")
    made.location.y = 4.5
    made.knuckle.mass = 6.5
    for standing in (rig, None):
        text = exported(standing or reopened(tmp_path))
        gone, came = lost_and_new(DOCUMENT, text)
        assert gone == []
        (new,) = set(XmlModel(text).elements) - set(XmlModel(DOCUMENT).elements)
        values = leaves(text)
        place = f"Bodies/Body[{new}]"
        assert [line.strip() for line in came[:3]] == ["<Body>", f"<ID>{new}</ID>", "<Name>Left Leg.001</Name>"]
        assert values[f"{place}/Twin"] == "0", "two cannot be the twin of one"
        copied = ("Position/X", "Position/Z", "TubeLength", "TubeDiameter", "Shape")
        numbers = [float(values[f"{place}/{field}"]) for field in copied]
        assert numbers == [float(values[f"{LEG}/{field}"]) for field in copied]
        assert (values[f"{place}/Position/Y"], values[f"{place}/Mass"]) == ("4.5", "6.5")
    assert "Body 'Left Leg.001' is new, a copy of 'Left Leg'" in said(models()[0])


def test_a_copied_leg_is_attached_to_a_copied_joint(blank: Any) -> None:
    rig = put(DOCUMENT)
    duplicate(objects_of(rig, "BODY")["12"], objects_of(rig, "JOINT")["21"])
    text = exported(rig)
    assert lost_and_new(DOCUMENT, text)[0] == []
    document = XmlModel(text)
    (joint,) = set(document.joints) - set(XmlModel(DOCUMENT).joints)
    (leg,) = set(document.poses) - set(XmlModel(DOCUMENT).poses)
    assert (document.joints[joint].first, document.joints[joint].second) == ("11", leg)
    assert document.joints[joint].limits() == document.joints["21"].limits()
    assert np.array_equal(document.joints[joint].frame, document.joints["21"].frame)
    assert len({*document.joints, *document.poses}) == len(document.joints) + len(document.poses)


def test_several_copies_are_several_bodies(blank: Any) -> None:
    rig = put(DOCUMENT)
    foot = objects_of(rig, "BODY")["14"]
    for _ in range(3):
        (foot,) = duplicate(foot)
    text = exported(rig)
    names = [leaves(text)[f"Bodies/Body[{key}]/Name"] for key in XmlModel(text).elements]
    assert names[5:] == ["Foot.001", "Foot.002", "Foot.003"]
    assert lost_and_new(DOCUMENT, text)[0] == []


def test_a_copy_whose_original_is_deleted_takes_its_place(blank: Any) -> None:
    rig = at_rest(DOCUMENT)
    foot = objects_of(rig, "BODY")["14"]
    duplicate(foot)
    import bpy

    bpy.data.objects.remove(foot)
    changed = edits(DOCUMENT, exported(rig))
    assert changed.pop(f"{FOOT}/Name") == "Foot.001"
    assert set(changed) <= {"PrismaticJoints/PrismaticJoint[23]/Body2"}, "the joint held the body that is gone"


def test_a_model_copied_whole_within_its_collection_is_reported(blank: Any) -> None:
    rig = put(DOCUMENT)
    duplicate(*collection_of(rig).all_objects)
    assert exported(rig) == DOCUMENT
    assert any(
        "another mechanism in the collection of" in message and "exported separately" in message
        for message in said(rig)
    )


def test_a_collection_without_a_mechanism_is_rejected(blank: Any) -> None:
    import bpy

    from addon.blender.scene.read.mechanism import extract

    with pytest.raises(ValueError, match="'Plain' has no mechanism"):
        extract(bpy.data.collections.new("Plain"))


def test_what_cannot_be_written_is_said(blank: Any) -> None:
    """An edited mesh, a mesh of the user's among the bodies, a scaled model: none is written, none is kept quiet."""
    import bpy

    from addon.blender.scene.read.mechanism import extract
    from tests.support.mechanisms import body, joint, model, put

    rig = put(model(body(1, (0, 0, 4), (2, 2, 8)), body(2, (3, 0, 6)), joint(3, 1, 2, (2, 0, 6))))
    collection = rig.data.knuckle.collection
    assert not extract(collection).report.entries
    first = next(obj for obj in collection.all_objects if obj.knuckle.source_id == "1")
    first.data = first.data.copy()
    for vertex in first.data.vertices:
        vertex.co.x *= 1.5 if vertex.co.y > 0.0 else 1.0
    cube = bpy.data.objects.new("Cube", bpy.data.meshes.new("Cube"))
    first.users_collection[0].objects.link(cube)
    rig.scale = (2, 2, 2)
    blank.view_layer.update()
    assert {entry.code for entry in extract(collection).report.entries} == {"mesh-edited", "stranger", "scaled-model"}
