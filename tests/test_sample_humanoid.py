"""The sample humanoid and its motions: built alike on both sides, and doing what its story and real files say.

Where its limbs are is worked out here from the file's own numbers, by elementary rotations."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.motion.fitting import FitOptions, fit_motion
from addon.core.report import Report
from tests.support.mechanisms import turn
from tests.support.references import CORPUS

REAL = CORPUS / "motion"
UP = np.array([0.0, 0.0, 1.0])
MIRROR = np.diag([1.0, -1.0, 1.0])
READS_WEBOTS = "webots" in formats.MOTION_FORMATS

Keys = dict[str, tuple[np.ndarray, np.ndarray]]  # servo -> seconds, radians


class Figure:
    """The file's bodies and hinges, and where the bodies are for servo angles, the torso standing still."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        self.elements = {element.get("name"): element for element in root.iter("body")}
        self.at = {name: _numbers(element, "transformation")[:3] for name, element in self.elements.items()}
        self.hinges = {
            element.get("name"): (
                element.findtext("parent"),
                element.findtext("child"),
                _numbers(element, "axis/xyz"),
                float(element.findtext("axis/limit/lower")),
                float(element.findtext("axis/limit/upper")),
            )
            for element in root.iter("joint")
            if element.get("type") == "revolute"
        }

    def poses(self, angles: dict[str, float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Rotation and place of every body. The file has parents before children, and no turned body at zero."""
        out = {"torso": (np.eye(3), self.at["torso"])}
        for name, (parent, child, axis, _low, _high) in self.hinges.items():
            rotation, place = out[parent]
            place = place + rotation @ (self.at[child] - self.at[parent])
            out[child] = rotation @ turn(axis, angles.get(name, 0.0)), place
        return out

    def hand(self, side: str, angles: dict[str, float]) -> np.ndarray:
        """Where the end of an arm is."""
        rotation, place = self.poses(angles)[f"{side} forearm"]
        return place + rotation @ (0.1, 0.0, 0.0)

    def tilt(self, side: str, angles: dict[str, float]) -> float:
        """By how much (rad) a sole is not level."""
        rotation, _ = self.poses(angles)[f"{side} foot"]
        return math.acos(min(1.0, float(rotation[:, 2] @ UP)))


def _numbers(element: ET.Element, path: str) -> np.ndarray:
    return np.array([float(word) for word in element.findtext(path).split()])


def webots(path: Path) -> Keys:
    """What is commanded in a .motion file, by a reading of its own."""
    rows = [row for row in csv.reader(path.read_text().splitlines()) if row]
    assert rows[0][:2] == ["#WEBOTS_MOTION", "V1.0"]
    seconds = [sum(float(part) * scale for part, scale in zip(row[0].split(":")[::-1], (1e-3, 1, 60), strict=False))
               for row in rows[1:]]  # fmt: skip
    out = {}
    for column, name in enumerate(rows[0][2:], 2):
        told = [(at, float(row[column])) for at, row in zip(seconds, rows[1:], strict=True) if row[column] != "*"]
        out[name] = np.array([at for at, _ in told]), np.array([value for _, value in told])
    return out


def xmdi(path: Path) -> Keys:
    return {
        servo.get("name"): (_numbers(servo, "frames") * 0.032, _numbers(servo, "position"))
        for servo in ET.parse(path).getroot().iter("servo")
    }


def played(keys: Keys, count: int = 60) -> list[dict[str, float]]:
    """Angles at times over the whole motion."""
    end = max(times[-1] for times, _ in keys.values())
    return [{name: float(np.interp(at, *both)) for name, both in keys.items()} for at in np.linspace(0.0, end, count)]


@pytest.fixture(scope="module")
def folder(sample_models: Path) -> Path:
    return sample_models / "humanoid"


@pytest.fixture(scope="module")
def figure(folder: Path) -> Figure:
    return Figure(folder / "humanoid.skel")


def real(name: str) -> Keys:
    if not (REAL / name).is_file():
        pytest.skip(f"real motion files are not here: {REAL}")
    return webots(REAL / name)


# ---- how it is built


def test_its_sides_are_mirror_images(figure: Figure) -> None:
    lefts = [name for name in figure.elements if name.startswith("left ")]
    assert len(lefts) == 10
    for left in lefts:
        right = left.replace("left", "right")
        assert figure.at[right] == pytest.approx(MIRROR @ figure.at[left])
        for own, twin in zip(figure.elements[left].iter(), figure.elements[right].iter(), strict=True):
            assert own.tag == twin.tag
            if own.tag == "transformation":
                a, b = (np.array([float(word) for word in each.text.split()]) for each in (own, twin))
                assert b[:3] == pytest.approx(MIRROR @ a[:3])
                assert np.abs(b[3:]) == pytest.approx(np.abs(a[3:])), "of shapes that look alike both ways round"
            elif own.tag == "offset":
                assert _numbers_of(twin) == pytest.approx(MIRROR @ _numbers_of(own))
            else:
                assert (own.text or "").strip() == (twin.text or "").strip()


def _numbers_of(element: ET.Element) -> np.ndarray:
    return np.array([float(word) for word in element.text.split()])


def test_mirrored_servos_have_mirrored_stops(figure: Figure) -> None:
    lefts = [name for name in figure.hinges if name.startswith("L")]
    assert len(lefts) == 10
    assert len(figure.hinges) == 22
    for left in lefts:
        *_, axis, low, high = figure.hinges[left]
        *_, other, other_low, other_high = figure.hinges[f"R{left[1:]}"]
        mirrored = -(MIRROR @ axis)  # a turn's axis is reflected like the turn, not like an arrow
        sign = float(np.sign(mirrored @ other))
        assert other == pytest.approx(sign * mirrored)
        assert sorted((sign * other_low, sign * other_high)) == pytest.approx([low, high])


def test_signs_are_those_of_motion_files(figure: Figure) -> None:
    """Pitch about y, to the left; yaw about z, up; roll about x, ahead. At zero the arms point ahead."""
    hand = figure.hand("left", {})
    assert hand[0] > figure.at["torso"][0] + 0.2
    assert figure.hand("left", {"LShoulderPitch": math.pi / 2})[2] < hand[2] - 0.15
    assert figure.hand("left", {"LShoulderRoll": 0.5})[1] > hand[1] + 0.08
    assert figure.hand("right", {"RShoulderRoll": -0.5})[1] < figure.hand("right", {})[1] - 0.08
    assert figure.poses({"LKneePitch": 1.0})["left foot"][1][0] < figure.at["left foot"][0] - 0.08, "the heel goes back"
    assert figure.poses({"LHipPitch": -1.0})["left foot"][1][0] > figure.at["left foot"][0] + 0.1, "the leg goes ahead"
    assert figure.poses({"LHipRoll": 0.4})["left foot"][1][1] > figure.at["left foot"][1] + 0.05
    assert figure.poses({"HeadYaw": 0.5})["head"][0][1, 0] > 0.4
    ahead = figure.poses({"LHipYawPitch": -0.5})
    assert ahead["left foot"][0][1, 0] > 0.2, "it turns the toes out and"
    assert ahead["left foot"][1][0] > figure.at["left foot"][0] + 0.05, "brings the leg ahead"


def test_the_humanoid_stands_on_its_mat_and_is_as_tall_as_a_toy(figure: Figure) -> None:
    mechanism = formats.load(Path(__file__).resolve().parents[1] / "sample_models/humanoid/humanoid.skel")
    assert mechanism.report.count("warning") == 0
    for side in ("left", "right"):
        box = next(e for e in figure.elements[f"{side} foot"].iter("collision_shape"))
        size = _numbers(box, "geometry/box/size")
        lowest = figure.at[f"{side} foot"][2] + _numbers(box, "transformation")[2] - size[2] / 2
        assert lowest == pytest.approx(0.0, abs=1e-9)
    assert 4.0 < sum(body.mass for body in mechanism.bodies if body.name != "mat") < 6.0


# ---- its own motions


@pytest.mark.parametrize("name", ["wave.motion", "squat.xmdi"])
def test_its_motions_move_its_servos_within_their_stops(folder: Path, figure: Figure, name: str) -> None:
    keys = webots(folder / name) if name.endswith(".motion") else xmdi(folder / name)
    assert keys.keys() <= figure.hinges.keys()
    for servo, (times, values) in keys.items():
        *_, low, high = figure.hinges[servo]
        assert low <= values.min() <= values.max() <= high, servo
        assert (np.diff(times) > 0).all()


def test_the_humanoid_waves_with_its_hand_above_its_head(folder: Path, figure: Figure) -> None:
    keys = webots(folder / "wave.motion")
    assert "*" in (folder / "wave.motion").read_text()
    assert len(keys["LShoulderPitch"][0]) == 1, "the left arm is told once"
    hands = np.array([figure.hand("right", angles) for angles in played(keys, 81)])
    raised = hands[25:58]
    assert (raised[:, 2] > figure.at["head"][2]).all()
    sideways = raised[:, 1] - raised[:, 1].mean()
    assert np.ptp(sideways) > 0.05
    assert np.count_nonzero(np.diff(np.sign(sideways))) >= 4, "to and fro"
    assert hands[0] == pytest.approx(hands[-1], abs=1e-3), "it ends as it began"
    assert (hands[:, 1] < 0).all()


def test_its_feet_stay_level_and_together_as_it_squats(folder: Path, figure: Figure) -> None:
    down = []
    for angles in played(xmdi(folder / "squat.xmdi"), 151):
        poses = figure.poses(angles)
        assert max(figure.tilt(side, angles) for side in ("left", "right")) < 1e-7
        left, right = (poses[f"{side} foot"][1] for side in ("left", "right"))
        assert left == pytest.approx(MIRROR @ right, abs=1e-12)
        assert abs(left[0]) < 1e-6, "below the hips"
        down.append(left[2] - figure.at["left foot"][2])
    assert max(down) > 0.06
    assert min(down) == pytest.approx(0.0, abs=1e-9)


# ---- real motion files


@pytest.mark.parametrize("name", ["HandWave", "Forwards50", "StandUpFromFront", "TurnLeft60"])
def test_real_files_move_only_servos_that_it_has_within_their_stops(figure: Figure, name: str) -> None:
    for servo, (_, values) in real(f"{name}.motion").items():
        *_, low, high = figure.hinges[servo]
        assert low <= values.min() <= values.max() <= high, servo


def test_a_real_wave_is_above_the_head_and_the_other_arm_points_down(figure: Figure) -> None:
    keys = real("HandWave.motion")
    first = played(keys)[0]
    assert figure.hand("right", first)[2] > figure.at["head"][2] + 0.1
    assert figure.hand("left", first)[2] < figure.at["left shoulder"][2] - 0.15
    assert np.ptp([figure.hand("right", angles)[1] for angles in played(keys)[:20]]) > 0.05


@pytest.mark.parametrize(("name", "steps"), [("Forwards50", 4), ("TurnLeft60", 3)])
def test_real_walks_step_with_level_feet(figure: Figure, name: str, steps: int) -> None:
    """Right signs and proportions show in soles that stay level while the feet are lifted in turn; with a hip or an
    ankle that turned the other way they would lean by a radian."""
    keys = real(f"{name}.motion")
    angles = played(keys, 170)
    assert max(figure.tilt(side, each) for side in ("left", "right") for each in angles) < 0.1
    lift = [figure.poses(each)["left foot"][1][2] - figure.poses(each)["right foot"][1][2] for each in angles]
    swings = np.sign([each for each in lift if abs(each) > 0.01])
    assert np.count_nonzero(np.diff(swings)) >= steps, "one foot is up and then the other"


def test_a_real_rotation_moves_the_feet_and_a_real_rise_ends_upright(figure: Figure) -> None:
    turned = [figure.poses(each)["left foot"][0] for each in played(real("TurnLeft60.motion"))]
    assert max(abs(math.atan2(r[1, 0], r[0, 0])) for r in turned) > 0.2
    walked = [figure.poses(each)["left foot"][0] for each in played(real("Forwards50.motion"))]
    assert max(abs(math.atan2(r[1, 0], r[0, 0])) for r in walked) < 0.05
    last = played(real("StandUpFromFront.motion"))[-1]
    assert max(figure.tilt(side, last) for side in ("left", "right")) < 0.1
    assert max(figure.hand(side, last)[2] for side in ("left", "right")) < figure.at["left shoulder"][2] - 0.1


@pytest.mark.skipif(not READS_WEBOTS, reason="this version reads no .motion files")
@pytest.mark.parametrize("name", ["wave.motion", *(path.name for path in sorted(REAL.glob("*.motion")))])
def test_motion_files_are_read_as_they_stand_and_fit(folder: Path, name: str) -> None:
    path = folder / name if name == "wave.motion" else REAL / name
    report = Report()
    motion = fit_motion(formats.load_motion(path), formats.load(folder / "humanoid.skel"), FitOptions(), report)
    assert report.count("warning") == 0
    keys = webots(path)
    assert {each.name for each in motion.trajectories} == keys.keys()
    for each in motion.trajectories:
        times, values = keys[each.name]
        assert each.at(times) == pytest.approx(values, abs=1e-12), each.name
