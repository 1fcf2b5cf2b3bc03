"""Pictures of motions: what is in them, however many servos there are and whatever they are called."""

from __future__ import annotations

import html
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from addon import plot
from addon import plot as canvas
from addon import plot as motions
from addon.core.model import Motion, Trajectory
from addon.core.motion.servo_matching import Servo
from addon.core.report import FormatError

ROOT = Path(__file__).resolve().parents[1]
TIMES = np.linspace(0.0, 5.0, 200)


def motion(count: int, name: str = "Servo") -> Motion:
    tracks = [Trajectory(f"{name} {k}", TIMES, np.sin(TIMES * (1 + k / 9))) for k in range(count)]
    return Motion("walk", tracks)


def image(data: bytes) -> np.ndarray:
    """The pixels (height, width, 3) of a PNG."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


def words(data: bytes) -> list[str]:
    """All that is written in an SVG."""
    return [html.unescape(str(each.text)).strip() for each in etree.fromstring(data).iter(etree.Comment)]


def share_of(picture: np.ndarray, colour: str) -> float:
    """Which part of a picture's pixels have nearly a colour."""
    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return float((np.abs(picture - wanted).max(axis=2) < 30).mean())


@pytest.mark.parametrize("count", [1, 2, 6, 7, 30])
def test_a_plot_of_1_to_30_servos_has_all_names_and_units(count: int) -> None:
    servos = {f"Servo {k}": Servo(f"Servo {k}", "", k % 3 == 2, -1.2, 1.3) for k in range(count)}
    found = words(plot.plot_motion(motion(count), servos, ".svg"))
    for name in servos:
        assert [each for each in found if each == name or each.startswith(f"{name}  (")], name
    assert "walk" in found
    assert "time (s)" in found
    assert "stop" in found
    assert "outside its stops" not in found
    assert ("position (m)" in found or any("  (m)" in each for each in found)) == (count > 2)


def test_values_past_a_stop_are_red_and_stops_are_dashed() -> None:
    within = image(plot.plot_motion(motion(1), {"Servo 0": Servo("Servo 0", "", False, -1.2, 1.2)}))
    beyond = image(plot.plot_motion(motion(1), {"Servo 0": Servo("Servo 0", "", False, -0.5, 0.5)}))
    assert share_of(within, motions.VIOLATION_LINE_COLOR) == 0.0
    assert share_of(beyond, motions.VIOLATION_LINE_COLOR) > 1e-3
    row = np.abs(within - 255).max(axis=2) > 40
    dashed = [line for line in row if np.count_nonzero(np.diff(line.astype(int)) > 0) >= 10]
    assert dashed, "a row of the picture with many short strokes"


def test_keys_that_hold_are_drawn_as_steps() -> None:
    held = Trajectory("a", np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]), held=np.array([True, False, False]))
    times, values = motions._polyline(held)
    assert list(zip(times.tolist(), values.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1), (2, 0)]
    constant = Trajectory("a", np.array([0.0, 1.0]), np.array([0.0, 1.0]), "constant")
    times, values = motions._polyline(constant)
    assert list(zip(times.tolist(), values.tolist(), strict=True)) == [(0, 0), (1, 0), (1, 1)]


def test_many_keys_are_drawn_by_their_lowest_and_highest() -> None:
    rng = np.random.default_rng(3)
    times, values = np.arange(100_000) / 1000, rng.normal(size=100_000)
    values[43_210] = 99.0
    at, thin = motions._polyline(Trajectory("a", times, values))
    assert len(at) <= motions.MAX_POINTS + 2
    assert (np.diff(at) > 0).all()
    assert (thin.min(), thin.max()) == (values.min(), 99.0)
    assert (at[0], at[-1]) == (times[0], times[-1])
    assert set(zip(at, thin, strict=True)) <= set(zip(times, values, strict=True))


#: Which matplotlib takes for orders: not to show, to set as mathematics, and to fail at.
NAMES = ["_hidden", "$x$ $", "50% & <b>", "腰", r"\frac{"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_may_be_drawn(name: str) -> None:
    """In the legend of few servos."""
    assert plot.plot_motion(motion(1, name), {}).startswith(b"\x89PNG")
    assert f"{name} 0" in words(plot.plot_motion(motion(1, name), {}, ".svg"))


def test_many_servos_of_any_names_may_be_drawn() -> None:
    """Above axes of their own."""
    tracks = [Trajectory(f"{name} {k}", TIMES, np.sin(TIMES)) for k, name in enumerate([*NAMES, *NAMES[:2]])]
    many = Motion("walk", tracks)
    assert plot.plot_motion(many, {}).startswith(b"\x89PNG")
    found = words(plot.plot_motion(many, {}, ".svg"))
    assert all(f"{track.name}  (°)" in found for track in tracks)


def test_a_long_name_leaves_room_for_its_curve() -> None:
    long = Motion("walk", [Trajectory(f"left{'-very' * 20}-hip", TIMES, np.sin(TIMES))])
    (name,) = (each for each in words(plot.plot_motion(long, {}, ".svg")) if each.startswith("left"))
    assert len(name) == 32
    assert name.endswith("-very-hip")
    columns = np.flatnonzero((np.abs(image(plot.plot_motion(long, {})) - (50, 100, 168)).max(axis=2) < 30).any(axis=0))
    assert np.ptp(columns) > 600, "pixels from the curve's left end to its legend's"


def test_a_motion_of_one_key_or_of_none() -> None:
    one = Motion("pose", [Trajectory("a", np.array([1.0]), np.array([0.5])), Trajectory("b", np.empty(0), np.empty(0))])
    assert share_of(image(plot.plot_motion(one, {})), canvas.LINE_COLORS[0]) > 0
    with pytest.raises(FormatError, match="motion 'rest' has no keyframes to plot"):
        plot.plot_motion(Motion("rest", []), {})


def test_nothing_is_written_into_the_users_settings(tmp_path: Path) -> None:
    code = (
        "from addon.plot import plot_motion; from addon.core.model import *; import numpy as np\n"
        "plot_motion(Motion('m', [Trajectory('a', np.arange(3.0), np.arange(3.0))]), {})\n"
        "import sys; assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "MPL"))}
    environ |= {"HOME": str(home), "USERPROFILE": str(home), "TMPDIR": str(temporary), "TEMP": str(temporary)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=True)
    assert list(home.rglob("*")) == []
