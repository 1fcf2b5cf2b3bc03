"""Helpers for tests with small Juice files: writing, building and playing them, and measuring them independently."""

# Nothing here asks the extension for the pose of a body or the direction of a joint: poses come from the file's numbers
# by elementary rotations, and coordinates are measured on Blender's evaluated objects.

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.conftest import CORPUS

JUICE = CORPUS / "juice"
BROKEN = "simpleant2.jp.jm"  # not well-formed
FILES = [path for path in sorted(JUICE.glob("*/*.j*m")) if path.name != BROKEN]
JOINT_TAGS = {"RevoluteJoint": "revolute", "PrismaticJoint": "prismatic", "SphericalJoint": "ball"}
NO_FILES = [pytest.param(None, marks=pytest.mark.skip(reason="real Juice files are not here"))]
X, Y, Z = np.eye(3)

each_file = pytest.mark.parametrize("path", FILES or NO_FILES, ids=lambda path: path.name if path else "none")

# ----------------------------------------------------------------------------- elementary geometry


def turn(axis: Iterable[float], radians: float) -> np.ndarray:
    """Rodrigues' rotation about a unit vector."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(radians) * cross + (1 - math.cos(radians)) * cross @ cross


def pose(position: Iterable[float] = (0, 0, 0), ypr: Iterable[float] = (0, 0, 0)) -> np.ndarray:
    """A pose as Juice has it: yaw about z, pitch about the turned x, roll about the twice turned y (degrees)."""
    yaw, pitch, roll = (math.radians(angle) for angle in ypr)
    out = np.eye(4)
    out[:3, :3] = turn(Z, yaw) @ turn(X, pitch) @ turn(Y, roll)
    out[:3, 3] = tuple(position)
    return out


def hinge_line(ypr: Iterable[float]) -> np.ndarray:
    """The axis that the Juice program hands to ODE for a hinge. ODE counts how the first body turns about it
    relative to the second, so at a file angle of a, the second body has turned by -a."""
    yaw, pitch, roll = (math.radians(angle) for angle in ypr)
    return turn(Z, yaw) @ turn(X, pitch) @ turn(Y, -roll) @ Z


def slider_line(ypr: Iterable[float]) -> np.ndarray:
    """The same for a slider: at a file position of d, the second body has moved by -d along it."""
    yaw, pitch, roll = (math.radians(angle) for angle in ypr)
    return turn(Z, -yaw) @ turn(X, pitch) @ turn(Y, roll) @ -Z


def angle_about(axis: np.ndarray, rotation: np.ndarray) -> float:
    """The angle (rad) of the turn about an axis that comes nearest to a rotation."""
    across = np.cross(axis, X if abs(axis[0]) < 0.6 else Y)
    across /= np.linalg.norm(across)
    there = rotation @ across
    return math.atan2(float(np.cross(across, there) @ axis), float(across @ there))


# ----------------------------------------------------------------------------- what a file says


def number(element: ET.Element, *paths: str, default: float = 0.0) -> float:
    """The first of several descendants, as a number."""
    for path in paths:
        found = element.find(path)
        if found is not None:
            return float(found.text)
    return default


def angles_in(element: ET.Element) -> tuple[float, float, float]:
    """Yaw, pitch and roll of an object in degrees, of either dialect."""
    places = [f".//{name}/" for name in ("Rotation", "Orientation")]
    yaw = number(element, *(place + letter for place in places for letter in "YH"))
    return yaw, number(element, *(place + "P" for place in places)), number(element, *(place + "R" for place in places))


def pose_in(element: ET.Element) -> np.ndarray:
    """The pose of an object of a file."""
    return pose([number(element, f".//Position/{axis}") for axis in "XYZ"], angles_in(element))


def id_of(element: ET.Element) -> str:
    """An object's own ID modulo 2**32."""
    return str(int(element.find(".//ID").text) % 2**32)


def reference(element: ET.Element, tag: str, known: Iterable[str]) -> str | None:
    """What a reference means, in the decimal or the hexadecimal of some files."""
    text = element.find(f".//{tag}").text.strip()
    meanings = [str(int(text, base) % 2**32) for base in (10, 16) if base == 16 or text.lstrip("-").isdigit()]
    return next((meaning for meaning in meanings if meaning in known), None)


class XmlJoint:
    """A joint as a file has it: its bodies' ids, its design frame, and where ODE stops its second body."""

    def __init__(self, element: ET.Element, bodies: Iterable[str]) -> None:
        self.id = id_of(element)
        self.name = element.find(".//Name").text or ""
        self.kind = JOINT_TAGS[element.tag]
        self.first, self.second = reference(element, "Body1", bodies), reference(element, "Body2", bodies)
        self.active = None not in (self.first, self.second) and self.first != self.second
        self.frame = pose_in(element)
        self.axis = self.frame[:3, 2]
        angles = angles_in(element)
        self.line = hinge_line(angles) if self.kind == "revolute" else slider_line(angles)
        self.same_line = float(np.linalg.norm(np.cross(self.line, self.axis))) < 1e-6
        flags = {tag: bool(number(element, f".//{tag}StopFlag")) for tag in ("Lo", "Hi")}
        unit = math.radians(1) if self.kind == "revolute" else 1.0
        self.stops = {tag: number(element, f".//{tag}StopValue") * unit for tag, on in flags.items() if on}

    def limits(self) -> tuple[float | None, float | None]:
        """Lowest and highest value of the second body's motion about (along) the design axis."""
        sense = -1.0 if self.line @ self.axis > 0 else 1.0  # the second body moves against ODE's line
        low, high = self.stops.get("Lo"), self.stops.get("Hi")
        if sense < 0:
            low, high = (None if high is None else -high), (None if low is None else -low)
        return low, high


class XmlModel:
    """Bodies and joints of a file, by id."""

    def __init__(self, path: Path | str) -> None:
        root = ET.fromstring(path) if isinstance(path, str) else ET.parse(path).getroot()
        self.elements = {id_of(element): element for element in root.iter("Body")}
        self.poses = {key: pose_in(element) for key, element in self.elements.items()}
        joints = (XmlJoint(element, self.poses) for tag in JOINT_TAGS for element in root.iter(tag))
        self.joints = {joint.id: joint for joint in joints}


# ----------------------------------------------------------------------------- writing small models


def vector(tag: str, names: str, values: Iterable[float]) -> str:
    return f"<{tag}>" + "".join(f"<{n}>{float(v)!r}</{n}>" for n, v in zip(names, values, strict=True)) + f"</{tag}>"


def body(
    number: int,
    at: Iterable[float],
    size: Any = (1, 1, 1),
    mass: float = 1.0,
    ypr: Iterable[float] = (0, 0, 0),
    name: str = "",
    shape: int = 1,
    twin: int = 0,
) -> str:
    """A body: a box of full sizes, else a capsule (2) or cylinder (4) of (length, diameter), a sphere (3) of a
    diameter, or nothing (0)."""  # fmt: skip
    length, diameter = size if shape in {2, 4} else (1, 1)
    return (
        f"<Body><ID>{number}</ID><Name>{name or f'Body {number}'}</Name>{vector('Position', 'XYZ', at)}"
        f"{vector('Rotation', 'YPR', ypr)}<Twin>{twin}</Twin>"
        f"{vector('BoxDimensions', 'XYZ', size if shape == 1 else (1, 1, 1))}"
        f"<TubeLength>{length}</TubeLength><TubeDiameter>{diameter}</TubeDiameter>"
        f"<BallDiameter>{size if shape == 3 else 1}</BallDiameter><Shape>{shape}</Shape><Mass>{mass}</Mass></Body>"
    )


def joint(
    number: int,
    first: int,
    second: int,
    at: Iterable[float],
    ypr: Iterable[float] = (0, 0, 0),
    stops: tuple[float | None, float | None] = (None, None),
    gain: float = 10,
    force: float = 1e5,
    name: str = "",
    tag: str = "RevoluteJoint",
) -> str:
    """A joint with stops in the file's own count (degrees or length units)."""  # fmt: skip
    low, high = stops
    return (
        f"<{tag}><ID>{number}</ID><Name>{name or f'Joint {number}'}</Name>{vector('Position', 'XYZ', at)}"
        f"{vector('Rotation', 'YPR', ypr)}<Twin>0</Twin><Body1>{first}</Body1><Body2>{second}</Body2>"
        f"<Gain>{gain}</Gain><MaxForce>{force}</MaxForce><LoStopValue>{low or 0}</LoStopValue>"
        f"<HiStopValue>{high or 0}</HiStopValue><LoStopFlag>{int(low is not None)}</LoStopFlag>"
        f"<HiStopFlag>{int(high is not None)}</HiStopFlag></{tag}>"
    )


def model(
    *objects: str,
    gravity: float = 0.0,
    cfm: float = 1e-6,
    erp: float = 0.8,
    friction: float = 10.0,
    behaviours: str = "",
    speed: float = 60.0,
    delay: float = 0.0,
    phase: float = 0.0,
) -> str:
    """A whole document. CFM so small is a rigid joint, 0.01 a soft one."""  # fmt: skip

    def those(tag: str) -> str:
        return "".join(each for each in objects if each.startswith(f"<{tag}>"))

    return (
        f'<Model FileVersion="1"><Gravity>{gravity}</Gravity><Friction>{friction}</Friction><ERP>{erp}</ERP>'
        f"<CFM>{cfm}</CFM><StandardSpeed>{speed}</StandardSpeed><SpeedFactor>1</SpeedFactor>"
        f"<PoseDelay>{delay}</PoseDelay><PosePhase>{phase}</PosePhase><Bodies>{those('Body')}</Bodies>"
        f"<RevoluteJoints>{those('RevoluteJoint')}</RevoluteJoints>"
        f"<PrismaticJoints>{those('PrismaticJoint')}</PrismaticJoints>"
        f"<SphericalJoints>{those('SphericalJoint')}</SphericalJoints><Behaviors>{behaviours}</Behaviors></Model>\n"
    )


def clockwork(*motors: str, source: int = 1, amp_mod: int = 0, gain: float = 100, feedback: int = 0) -> str:
    """A Clockwork behaviour of ``clockwork_motor``s."""
    return (
        f"<Clockwork><Name>Clockwork</Name><Enabled>1</Enabled><Gain>{gain}</Gain>"
        f"<ClockworkMotors>{''.join(motors)}</ClockworkMotors><MotionSource>{source}</MotionSource>"
        f"<AmpModSource>{amp_mod}</AmpModSource><FeedbackSource>{feedback}</FeedbackSource></Clockwork>"
    )


def clockwork_motor(joint: int, amplitude: float = 0, offset: float = 0, phase: float = 0, kind: int = 1) -> str:
    """A motor of a clockwork: offset and amplitude in degrees, kind 1 a sine."""
    return (
        f"<ClockworkMotor><JointID>{joint}</JointID><Enabled>1</Enabled><Offset>{offset}</Offset>"
        f"<MotionType>{kind}</MotionType><Phase>{phase}</Phase><Amplitude>{amplitude}</Amplitude></ClockworkMotor>"
    )


def spinner(joint: int, value: float) -> str:
    """A network that turns a joint at a constant velocity."""
    return (
        "<NetworkBehavior><Name>Spin</Name><Enabled>1</Enabled><Gain>100</Gain>"
        f"<MotorNodes><MotorNode><ID>901</ID><Name>Motor</Name><X>0</X><Y>0</Y><JointID>{joint}</JointID>"
        "<MotorType>2</MotorType></MotorNode></MotorNodes><FunctionNodes><ConstantNode><ID>902</ID>"
        f"<Name>Speed</Name><X>0</X><Y>0</Y><Value>{value}</Value></ConstantNode></FunctionNodes>"
        "<MotionSourceNodes></MotionSourceNodes><Edges><Edge><Source>902</Source><Destination>901</Destination>"
        "<Factor>1</Factor></Edge></Edges></NetworkBehavior>"
    )


# ----------------------------------------------------------------------------- in Blender


def put(document: str | Path, name: str = "small.jm", **options: Any) -> Any:
    """Build a document, given as text or as a file, into the scene: its armature."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    mechanism = formats.loads(document.encode(), name) if isinstance(document, str) else formats.load(document)
    return rig_in(build(mechanism, bpy.context, BuildOptions(**{"gait_seconds": 1.0, **options})))


def objects_of(rig: Any, role: str) -> dict[str, Any]:
    """The model's objects of a role by source id."""
    collection = rig.data.knuckle.collection
    if rig.override_library is not None:  # its data, which are linked, know the linked collection
        collection = next(each for each in rig.users_collection if each.override_library.reference == collection)
    return {obj.knuckle.source_id: obj for obj in collection.all_objects if obj.knuckle.role == role}


def world_of(obj: Any) -> np.ndarray:
    """Where an object is in the evaluated scene."""
    import bpy

    return np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)


def bone_of(rig: Any, joint: str | int) -> Any:
    """The pose bone of a joint."""
    return next(rig.pose.bones[bone.name] for bone in rig.data.bones if bone.knuckle.joint == str(joint))


def curves_of(owner: Any) -> list[Any]:
    """The F-curves of what an ID's Action animates, on every version of Blender."""
    data = owner.animation_data
    if data is None or data.action is None:
        return []
    if not hasattr(data.action, "layers"):  # 4.5 has both, and there the Action's own are those of its first slot
        return list(data.action.fcurves)
    bags = [bag for layer in data.action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags if bag.slot == data.action_slot for curve in bag.fcurves]


def key(rig: Any, joint: str | int, keys: Iterable[tuple[float, float]], interpolation: str = "LINEAR") -> None:
    """Key a servo's bone as a user would: (frame, value) pairs."""
    bone = bone_of(rig, joint)
    path = "location" if bone.lock_rotation[2] else "rotation_euler"
    for frame, value in keys:
        getattr(bone, path)[2] = value
        bone.keyframe_insert(path, index=2, frame=frame)
    for curve in curves_of(rig):
        for point in curve.keyframe_points:
            point.interpolation = interpolation


def four_bar() -> str:
    """A crank, a coupler and a rocker on a heavy base; hinge 11 is driven, 14 closes the loop."""
    return model(
        body(1, (0, 0, 2), (2, 0.2, 0.2), mass=1e4),
        body(2, (-1, 0, 2.5), (0.2, 0.2, 1)),
        body(3, (0, 0, 3), (2, 0.2, 0.2)),
        body(4, (1, 0, 2.5), (0.2, 0.2, 1)),
        joint(11, 1, 2, (-1, 0, 2), (0, 90, 0), force=100),
        joint(12, 2, 3, (-1, 0, 3), (0, 90, 0), force=0),
        joint(13, 4, 3, (1, 0, 3), (0, 90, 0), force=0),
        joint(14, 1, 4, (1, 0, 2), (0, 90, 0), force=0),
    )


def play(scene: Any, frames: int, look: Callable[[], Any], start: int = 1) -> list[Any]:
    """Step the scene frame by frame from its start and look at each frame."""
    seen = []
    for frame in range(start, start + frames):
        scene.frame_set(frame)
        seen.append(look())
    return seen


def relative(rig: Any, first: str | int, second: str | int, document: XmlModel) -> np.ndarray:
    """How the second body has moved relative to the first since design, as a motion in the world's axes at design."""
    bodies = objects_of(rig, "BODY")
    now = [world_of(bodies[str(key)]) for key in (first, second)]
    then = [document.poses[str(key)] for key in (first, second)]
    return then[0] @ np.linalg.inv(now[0]) @ now[1] @ np.linalg.inv(then[1])


def coordinate(rig: Any, joint: str | int, document: XmlModel) -> float:
    """A joint's value as measured on the bodies: the second body's turn about, or slide along, the design axis."""
    place = document.joints[str(joint)]
    moved = relative(rig, place.first, place.second, document)
    if place.kind == "revolute":
        return angle_about(place.axis, moved[:3, :3])
    origin = np.append(place.frame[:3, 3], 1.0)
    return float((moved @ origin - origin)[:3] @ place.axis)


def gap(rig: Any, joint: str | int, document: XmlModel) -> float:
    """How far a hinge's or ball's two sides are apart."""
    place = document.joints[str(joint)]
    origin = np.append(place.frame[:3, 3], 1.0)
    moved = relative(rig, place.first, place.second, document)
    return float(np.linalg.norm((moved @ origin - origin)[:3]))
