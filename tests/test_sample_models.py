"""Our own sample models: sound files, and machines that do what their stories say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.gait.behaviors import Clockwork, Network
from addon.core.gait.engine import Gait
from addon.core.model import Array, Body, Mechanism, Source

FRAME_RATE = 60
MODELS = ("hexapod", "rover")  # those of Juice
OTHERS = (
    "pumpjack/pumpjack.json",
    "desk_lamp/desk_lamp.skel",
    "sensor_leg/sensor_leg.xml",
    "humanoid/humanoid.skel",
)
OBJECTS = ("Bodies/Body", "RevoluteJoints/RevoluteJoint", "PrismaticJoints/PrismaticJoint")
MIRRORED = {"Position/X", "Rotation/Y", "Rotation/R"}
OWN = {"ID", "Name", "Twin", "Body1", "Body2"}


@pytest.fixture(scope="module", params=MODELS)
def path(request: pytest.FixtureRequest, sample_models: Path) -> Path:
    return sample_models / request.param / f"{request.param}.jm"


@pytest.fixture(scope="module")
def model(path: Path) -> Mechanism:
    return formats.load(path)


# ---- the files


def test_every_model_has_a_folder_a_story_and_a_line_in_the_list(sample_models: Path) -> None:
    folders = sorted(entry.name for entry in sample_models.iterdir() if entry.is_dir())
    assert folders == sorted([*MODELS, *(other.partition("/")[0] for other in OTHERS)])
    contents = (sample_models / "README.md").read_text()
    for name in folders:
        assert f"[{name}]({name}/)" in contents


def test_a_model_is_read_without_a_word_and_comes_back_as_it_was(path: Path, model: Mechanism) -> None:
    assert model.report.entries == []
    assert formats.dumps(model)[0] == path.read_text()


@pytest.mark.parametrize("name", OTHERS)
def test_models_of_the_other_formats_go_through_blender_and_come_back_as_they_were(
    blank: Any, sample_models: Path, name: str
) -> None:
    from addon.blender.reconcile.build import BuildOptions, build
    from addon.blender.scene.read.mechanism import extract

    mechanism = formats.load(sample_models / name)
    collection = build(mechanism, blank, BuildOptions())
    assert not [entry for entry in mechanism.report.entries if entry.code.startswith("mesh-")]
    assert all(obj.data.vertices for obj in collection.all_objects if obj.knuckle.role == "BODY")
    assert formats.dumps(extract(collection))[0] == (sample_models / name).read_text()
    story = (sample_models / name).with_name("README.md").read_text()
    joints = {joint.name for joint in mechanism.joints}
    named = {word.partition("/")[0] for word in re.findall(r"`([^`]+)`", story)}
    assert named <= joints, "the story speaks of joints that are there"


def test_the_pumpjack_nods_as_its_motor_rotates(sample_models: Path) -> None:
    """One full turn of the crank, closed at each step: the beam goes to and fro between what the cosine rule says."""
    from addon.core.loops.closure import close_loops, loop_openings

    crank, pitman, arm, base = 0.5, 2.2, 2.0, float(np.hypot(2.0, 2.2))
    mechanism = formats.load(sample_models / "pumpjack" / "pumpjack.json")
    joints = {joint.name: joint for joint in mechanism.joints}
    swings = []
    for angle in np.linspace(0.6, 0.6 + 2 * np.pi, 40):
        joints["motor"].dofs[0].position = float(angle)
        positions, _before, after = close_loops(mechanism)
        assert max(map(max, after.values())) < 1e-9
        assert max(map(max, loop_openings(mechanism, positions).values())) < 1e-9
        for name in ("saddle_bearing", "crank_pin", "tail_bearing"):  # go on from here
            joints[name].dofs[0].position = float(positions[joints[name].id][0])
        swings.append(joints["saddle_bearing"].dofs[0].position)

    def corner(far: float) -> float:
        return float(np.arccos((arm**2 + base**2 - far**2) / (2 * arm * base)))

    assert np.ptp(swings) == pytest.approx(corner(pitman + crank) - corner(pitman - crank), rel=0.01)


def test_a_model_is_laid_out_as_the_program_lays_it_out(path: Path, model: Mechanism) -> None:
    fresh, _ = formats.dumps(replace(model, source=Source()), "juice")
    assert [e.tag for e in ET.fromstring(fresh).iter()] == [e.tag for e in ET.parse(path).iter()]
    text = path.read_text()
    assert text.startswith('<Model FileVersion="1">\n\t<Gravity>')
    assert not re.search(r"^\t* ", text, re.MULTILINE)  # tabs only


@pytest.mark.parametrize(
    ("name", "bodies", "hinges", "slides", "networks", "clockworks"),
    [("hexapod", 23, 22, 0, 2, 4), ("rover", 12, 10, 1, 3, 4)],
)
def test_what_a_model_holds(
    sample_models: Path, name: str, bodies: int, hinges: int, slides: int, networks: int, clockworks: int
) -> None:
    model = formats.load(sample_models / name / f"{name}.jm")
    kinds = [joint.type for joint in model.joints]
    assert (len(model.bodies), kinds.count("revolute"), kinds.count("prismatic")) == (bodies, hinges, slides)
    assert all(joint.active for joint in model.joints)
    items = model.behaviours.items
    assert all(item.enabled for item in items)
    assert [sum(isinstance(item, kind) for item in items) for kind in (Network, Clockwork)] == [networks, clockworks]


def test_the_readme_names_the_controls_that_the_model_reads(path: Path, model: Mechanism) -> None:
    told = re.findall(r"^\| `([^`]+)` \|", (path.parent / "README.md").read_text(), re.MULTILINE)
    assert sorted(told) == sorted(Gait(model).controls)


# ---- twins and stops


def test_twins_mirror_each_other_exactly(path: Path) -> None:
    root = ET.parse(path).getroot()
    for place in OBJECTS:
        rows = {element.findtext("ID"): _row(element) for element in root.findall(place)}
        for own, row in rows.items():
            left, right = row["Name"].startswith("Left "), row["Name"].startswith("Right ")
            assert (row["Twin"] != "0") == (left or right)
            if not (left or right):
                continue
            twin = rows[row["Twin"]]
            assert twin["Twin"] == own
            assert twin["Name"] == re.sub("^(Left|Right)", "Right" if left else "Left", row["Name"])
            assert float(row["Position/X"]) < 0 if left else float(row["Position/X"]) > 0
            for key in row.keys() - OWN:
                sign = -1 if key in MIRRORED else 1
                assert float(row[key]) == sign * float(twin[key]), (row["Name"], key)


def _row(element: ET.Element) -> dict[str, str]:
    leaves = {child.tag: child.text or "" for child in element if not len(child)}
    return leaves | {f"{group.tag}/{child.tag}": child.text or "" for group in element for child in group}


def test_twin_joints_join_twin_bodies(model: Mechanism) -> None:
    bodies = {body.id: body.twin or body.id for body in model.bodies}
    joints = {joint.id: joint for joint in model.joints}
    for joint in model.joints:
        if joint.twin:
            twin = joints[joint.twin]
            assert (bodies[joint.parent or ""], bodies[joint.child or ""]) == (twin.parent, twin.child)


def test_all_but_wheels_have_stops_on_both_sides_of_the_design_pose(model: Mechanism) -> None:
    for joint in model.joints:
        dof = joint.dofs[0]
        if joint.name.endswith("Drive"):
            assert dof.lower is None and dof.upper is None
        else:
            assert dof.lower is not None and dof.upper is not None
            assert dof.lower <= 0.0 <= dof.upper
            assert 0.1 < dof.upper - dof.lower < np.radians(270.0)


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("control", ["joystick 1 x", "joystick 1 y", "joystick 1 r"])
def test_a_single_control_never_drives_a_joint_into_its_stops(model: Mechanism, control: str, value: float) -> None:
    gait = Gait(model)
    commands = gait.evaluate(np.linspace(0.0, 2.0 * np.pi, 181)[1:], {control: value}).position
    dofs = {joint.id: joint.dofs[0] for joint in model.joints if joint.type == "revolute"}
    for joint in commands.keys() & dofs.keys():
        assert dofs[joint].lower < commands[joint].min() and commands[joint].max() < dofs[joint].upper


def test_left_legs_walk_as_the_right_legs_half_a_cycle_later(sample_models: Path) -> None:
    model = formats.load(sample_models / "hexapod" / "hexapod.jm")
    gait, ahead = Gait(model), {"joystick 1 y": -1.0}
    phase = np.linspace(0.1, 3.0, 40)
    now, later = (gait.evaluate(phase + turn, ahead).position for turn in (0.0, np.pi))
    legs = [joint for joint in model.joints if re.match("Left .* (Swing|Lift|Knee)$", joint.name)]
    assert len(legs) == 9
    for joint in legs:
        assert np.ptp(now[joint.id]) > np.radians(3.0)
        # mirrored frames turn the sense of an angle round
        np.testing.assert_allclose(now[joint.id], -later[joint.twin or ""], atol=1e-9)


NOSE_UP = [0.0, 5.0, 0.0]  # yaw, pitch, roll in degrees


def test_a_hexapod_with_raised_nose_lifts_its_front_feet_and_lowers_its_rear_feet(sample_models: Path) -> None:
    model = formats.load(sample_models / "hexapod" / "hexapod.jm")
    rises = {name: _foot_rise(model, name) for name in ("Left Front", "Right Front", "Left Rear", "Right Rear")}
    # part of what the nose's rise makes at the feet, which are about two units from the middle
    for name, rise in rises.items():
        assert 0.02 < (rise if "Front" in name else -rise) < 2.0 * np.sin(np.radians(NOSE_UP[1]))
    assert rises["Left Front"] == pytest.approx(rises["Right Front"], abs=1e-6)
    assert _foot_rise(model, "Right Middle") == pytest.approx(0.0, abs=1e-9)


def _foot_rise(model: Mechanism, leg: str) -> float:
    """By how much the commands for ``NOSE_UP`` raise a leg's foot, from its two hinges as drawn."""
    named: dict[str, Any] = {body.name: body for body in model.bodies} | {joint.name: joint for joint in model.joints}
    still, tilted = (
        Gait(model).evaluate([1.0], feedback=felt).position for felt in ({}, {named["Chassis"].id: NOSE_UP})
    )
    points, _ = _surface(named[f"{leg} Tibia"])
    foot = start = points[np.argmin(points[:, 2])]
    for name in ("Knee", "Lift"):
        joint = named[f"{leg} {name}"]
        angle = float((tilted[joint.id] - still[joint.id])[0])
        frame = next(body.pose for body in model.bodies if body.id == joint.parent) @ joint.frame_parent
        foot = frame[:3, 3] + _turned(foot - frame[:3, 3], frame[:3, 2], angle)
    return float(foot[2] - start[2])


def _turned(vector: Array, axis: Array, angle: float) -> Array:
    across = np.cross(axis, vector)
    return vector + np.sin(angle) * across + (1.0 - np.cos(angle)) * np.cross(axis, across)


def test_a_rover_whose_nose_is_up_looks_down_by_as_much(sample_models: Path) -> None:
    model = formats.load(sample_models / "rover" / "rover.jm")
    chassis = next(body.id for body in model.bodies if body.name == "Chassis")
    tilt = next(joint for joint in model.joints if joint.name == "Camera Tilt")
    angle = float(Gait(model).evaluate([1.0], feedback={chassis: NOSE_UP}).position[tilt.id][0])
    frame = next(body.pose for body in model.bodies if body.id == tilt.parent) @ tilt.frame_parent
    assert angle * frame[:3, 2] == pytest.approx([-np.radians(NOSE_UP[1]), 0.0, 0.0])


# ---- as drawn


def test_a_sample_stands_on_the_ground_as_drawn(path: Path, model: Mechanism) -> None:
    lowest = {body.name: float(_surface(body)[0][:, 2].min() - _surface(body)[1]) for body in model.bodies}
    stands_on = "Tibia" if path.stem == "hexapod" else "Wheel"
    for name, height in lowest.items():
        if name.endswith(stands_on):
            assert height == pytest.approx(0.0, abs=1e-3), name
        else:
            assert height > 0.1, name


def test_bodies_of_a_sample_do_not_overlap_unless_joined(model: Mechanism) -> None:
    joined = {frozenset((joint.parent, joint.child)) for joint in model.joints}
    for a, b in combinations(model.bodies, 2):
        if frozenset((a.id, b.id)) not in joined:
            assert min(_clearance(a, b), _clearance(b, a)) > 0.0, (a.name, b.name)


def _surface(body: Body) -> tuple[Array, float]:
    """Points in the world (n, 3), and the radius of the balls about them that make up the body."""
    shape = body.shapes[0]
    size, steps = shape.size, np.linspace(-0.5, 0.5, 21)
    radius = size.get("radius", 0.0)
    if shape.type == "sphere":
        points, around = np.zeros((1, 3)), radius
    elif shape.type == "capsule":
        points, around = np.array([(0.0, 0.0, size["length"] * s) for s in steps]), radius
    elif shape.type == "cylinder":
        turn = np.linspace(0.0, 2.0 * np.pi, 73)
        rim = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        points = np.array([(*(radius * r * p), size["length"] * s) for p in rim for r in (0.5, 1.0) for s in steps])
        around = 0.0
    else:
        grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        points = grid[np.abs(grid).max(axis=1) > 0.49] * [size["x"], size["y"], size["z"]]
        around = 0.0
    return points @ body.pose[:3, :3].T + body.pose[:3, 3], around


def _clearance(a: Body, b: Body) -> float:
    """Distance between two bodies, from the points of the first."""
    points, around = _surface(a)
    local = (points - b.pose[:3, 3]) @ b.pose[:3, :3]
    shape, size = b.shapes[0], b.shapes[0].size
    if shape.type == "box":
        out = np.abs(local) - np.array([size["x"], size["y"], size["z"]]) / 2.0
    elif shape.type == "cylinder":
        out = np.stack(
            [np.hypot(local[:, 0], local[:, 1]) - size["radius"], np.abs(local[:, 2]) - size["length"] / 2.0], axis=1
        )
    else:
        half = size.get("length", 0.0) / 2.0
        local[:, 2] -= np.clip(local[:, 2], -half, half)
        return float((np.linalg.norm(local, axis=1) - size["radius"] - around).min())
    distance = np.linalg.norm(np.maximum(out, 0.0), axis=1) + np.minimum(out.max(axis=1), 0.0)
    return float((distance - around).min())


# ---- under physics


@dataclass
class Ride:
    """What the chassis did: positions (n, 3), its ahead and up directions (n, 3), heading (n,) in degrees;
    ``gap`` is the worst of all pivots, ``error`` the servos' mean error (degrees)."""

    at: Array
    ahead: Array
    up: Array
    heading: Array
    gap: float
    error: float

    def speed(self) -> tuple[float, float]:
        """Mean speeds ahead and to the right from the second second on (length units/s)."""
        move = np.diff(self.at[FRAME_RATE:, :2], axis=0) * FRAME_RATE
        ahead = self.ahead[FRAME_RATE:-1, :2]
        right = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)
        return float((move * ahead).sum(axis=1).mean()), float((move * right).sum(axis=1).mean())

    def turning(self) -> float:
        """Mean rate of turning left, from the second second on (degrees/s)."""
        return float(self.heading[-1] - self.heading[FRAME_RATE]) * FRAME_RATE / (len(self.heading) - 1 - FRAME_RATE)

    def wandered(self) -> float:
        """The farthest that it ever was from where it began."""
        return float(np.linalg.norm(self.at[:, :2] - self.at[0, :2], axis=1).max())


def ride(context: Any, path: Path, controls: dict[str, float], seconds: float) -> Ride:
    from addon.blender.data.properties.model import input_property_name
    from addon.blender.data.queries import rig_in
    from addon.blender.physics.recording.bake import record
    from addon.blender.reconcile.build import BuildOptions, build

    mechanism = formats.load(path)
    rig: Any = rig_in(build(mechanism, context, BuildOptions(gait_seconds=1)))
    settings = rig.data.knuckle
    for name, value in controls.items():
        setattr(settings.controls, input_property_name(name), value)
    settings.drive = "SERVO"
    assert context.scene.render.fps == FRAME_RATE
    recording = record(context.scene, rig, 1 + round(seconds * FRAME_RATE))
    assert np.isfinite(recording.poses).all()

    bodies: list[Any] = list(recording.joint_state.bodies)
    number = next(n for n, obj in enumerate(bodies) if obj.knuckle.source_name == "Chassis")
    poses = recording.poses[:, number]
    heading = np.degrees(np.unwrap(np.arctan2(poses[:, 1, 1], poses[:, 0, 1])))
    gait = Gait(mechanism)
    told = gait.evaluate(gait.phase((recording.frames - 1) / FRAME_RATE), controls).position
    hinges = [
        n for n, joint in enumerate(recording.joint_state.joints) if joint in told and recording.joint_state.turns[n]
    ]
    errors = [
        np.abs(recording.values[:, n] - told[recording.joint_state.joints[n]])[FRAME_RATE:].mean() for n in hinges
    ]
    error = float(np.degrees(np.mean(errors)))
    return Ride(poses[:, :3, 3], poses[:, :3, 1], poses[:, :3, 2], heading, recording.max_joint_separation(), error)


def length_of(path: Path) -> float:
    """From the foremost to the rearmost of the trunk as drawn: no legs, wheels or antennae."""
    limbs = re.compile("Left |Right |Aerial")
    bodies = [body for body in formats.load(path).bodies if not limbs.match(body.name)]
    ends = [(points[:, 1].min() - around, points[:, 1].max() + around) for points, around in map(_surface, bodies)]
    return float(max(end[1] for end in ends) - min(end[0] for end in ends))


def sound(result: Ride, length: float) -> None:
    """It stays upright and in one piece, and its servos do as told."""
    assert result.up[FRAME_RATE:, 2].min() > 0.97
    assert result.gap < 0.03 * length
    assert result.error < 3.0


def test_left_alone_it_stays_where_it_is(blank: Any, path: Path) -> None:
    result, length = ride(blank, path, {}, 4.0), length_of(path)
    sound(result, length)
    assert result.wandered() < 0.02 * length
    assert abs(result.heading[-1] - result.heading[0]) < 3.0


@pytest.mark.parametrize(("value", "sense", "seconds"), [(-1.0, 1.0, 5.0), (1.0, -1.0, 3.0)])
def test_the_joystick_sends_it_ahead_and_back(
    blank: Any, path: Path, value: float, sense: float, seconds: float
) -> None:
    result, length = ride(blank, path, {"joystick 1 y": value}, seconds), length_of(path)
    sound(result, length)
    ahead, aside = result.speed()
    assert sense * ahead > length  # a body length per second
    assert abs(aside) < 0.05 * abs(ahead)
    assert abs(result.heading[-1] - result.heading[0]) < 10.0
    went = result.at[-1, :2] - result.at[0, :2]
    assert sense * went[1] > 0 and abs(went[0]) < np.tan(np.radians(10.0)) * abs(went[1])


@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_the_hexapod_rotates_in_place(blank: Any, sample_models: Path, value: float) -> None:
    path = sample_models / "hexapod" / "hexapod.jm"
    result, length = ride(blank, path, {"joystick 1 x": value}, 3.0), length_of(path)
    sound(result, length)
    assert -value * result.turning() > 15.0  # right is clockwise from above
    assert result.wandered() < 0.1 * length


def test_the_hexapod_walks_sideways(blank: Any, sample_models: Path) -> None:
    path = sample_models / "hexapod" / "hexapod.jm"
    result, length = ride(blank, path, {"joystick 1 r": 1.0}, 3.0), length_of(path)
    sound(result, length)
    ahead, right = result.speed()
    assert right > 0.5 * length and abs(ahead) < 0.1 * right
    assert abs(result.turning()) < 3.0


def test_the_hexapod_walks_curves(blank: Any, sample_models: Path) -> None:
    path = sample_models / "hexapod" / "hexapod.jm"
    result, length = ride(blank, path, {"joystick 1 y": -1.0, "joystick 1 x": 1.0}, 3.0), length_of(path)
    sound(result, length)
    assert result.turning() < -15.0
    assert result.speed()[0] > 0.5 * length


@pytest.mark.parametrize("throttle", [-1.0, 1.0])
@pytest.mark.parametrize("wheel", [-1.0, 1.0])
def test_the_rover_drives_curves(blank: Any, sample_models: Path, throttle: float, wheel: float) -> None:
    path = sample_models / "rover" / "rover.jm"
    result = ride(blank, path, {"joystick 1 y": throttle, "joystick 1 x": wheel}, 3.0)
    sound(result, length_of(path))
    assert throttle * wheel * result.turning() > 15.0
    assert -throttle * result.speed()[0] > 2.0


def test_the_rover_raises_its_mast(blank: Any, sample_models: Path) -> None:
    from addon.blender.data.properties.model import input_property_name
    from addon.blender.data.queries import rig_in
    from addon.blender.physics.recording.bake import record
    from addon.blender.reconcile.build import BuildOptions, build

    rover = formats.load(sample_models / "rover" / "rover.jm")
    rig: Any = rig_in(build(rover, blank, BuildOptions(gait_seconds=1)))
    setattr(rig.data.knuckle.controls, input_property_name("joystick 1 z"), 1.0)
    rig.data.knuckle.drive = "SERVO"
    recording = record(blank.scene, rig, 2 * FRAME_RATE)
    bodies: list[Any] = list(recording.joint_state.bodies)
    place = {obj.knuckle.source_name: n for n, obj in enumerate(bodies)}
    above = recording.poses[:, place["Mast"], 2, 3] - recording.poses[:, place["Chassis"], 2, 3]
    assert above[-1] - above[0] == pytest.approx(0.6, abs=0.02)
