"""``animate``: figures in the files against formulas written out here, and what is told, refused and drawn."""

from __future__ import annotations

import csv
import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from addon import formats
from addon.cli import main
from addon.cli.animate import motion_extensions
from tests.support.mechanisms import XmlModel, body, clockwork, clockwork_motor, curves_of, joint, model, spinner

ROOT = Path(__file__).resolve().parents[2]
FRAME = 0.032

#: A trunk that swings two legs and lifts a tray as far as the stick says, and has a wheel that turns on its own.
WALKER = model(
    body(1, (0, 0, 1.9), (2, 1, 0.5), mass=4, name="Trunk"),
    body(2, (-1.2, 0, 1.3), (0.3, 0.3, 1.6), name="Left Leg", twin=3),
    body(3, (1.2, 0, 1.3), (0.3, 0.3, 1.6), name="Right Leg", twin=2),
    body(4, (0, 0, 2.3), (0.5, 0.5, 0.2), name="Tray"),
    body(5, (0, 1, 1.9), (0.5, 0.5, 0.5), name="Wheel"),
    joint(21, 1, 2, (-1.2, 0, 1.9), (0, 90, 0), stops=(-20, 60), name="Left Hip"),
    joint(22, 1, 3, (1.2, 0, 1.9), (0, 90, 0), name="Right Hip"),
    joint(23, 1, 4, (0, 0, 2.2), stops=(-0.2, 0.1), name="Lift", tag="PrismaticJoint"),
    joint(24, 1, 5, (0, 1, 1.9), (0, 90, 0), name="Wheel Axle"),
    gravity=9.81, speed=50, delay=0.4, phase=30,
    behaviours=clockwork(
        clockwork_motor(21, amplitude=40), clockwork_motor(22, amplitude=25, offset=3, phase=90),
        clockwork_motor(23, amplitude=0.3), amp_mod=2, gain=80,
    ) + spinner(24, 2.5),
)  # fmt: skip
PUSHED = ["--input", "joystick 1 y=-0.5"]

MOTION = """<?xml version="1.0"?>
<xmdi><motions>
<motion name="wave">
<servo name="left_hip"><position>0 0.5 -0.25</position><frames>0 10 25</frames></servo>
<servo name="Lift"><position>0 1</position><frames>0 10</frames></servo>
<servo name="Tail"><position>0 1</position><frames>0 1</frames></servo>
</motion>
<motion name="rest"><servo name="Right Hip"><position>0.1</position><frames>0</frames></servo></motion>
</motions></xmdi>
"""


@pytest.fixture
def walker(tmp_path: Path) -> Path:
    path = tmp_path / "walker.jm"
    path.write_text(WALKER, encoding="utf-8")
    return path


@pytest.fixture
def wave(tmp_path: Path) -> Path:
    path = tmp_path / "wave.xmdi"
    path.write_text(MOTION, encoding="utf-8")
    return path


def run(*words: Any) -> int:
    return main(["animate", *map(str, words)])


def servos(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Seconds and positions of every servo of an XMDI file, as any XML reader sees them."""
    numbers = lambda servo, tag: np.array([float(word) for word in servo.findtext(tag).split()])  # noqa: E731
    return {
        servo.get("name"): (numbers(servo, "frames") * FRAME, numbers(servo, "position"))
        for servo in etree.parse(str(path)).iter("servo")
    }


def told_by_formula(times: np.ndarray, stick: float = -0.5) -> dict[str, np.ndarray]:
    """What the file says: offset + amplitude * gain * modulation * sin(phase + engine) in degrees, within the stops, in
    the file's count; the wheel by its constant speed. Turned into the second body's motion about the drawn axis."""
    document = XmlModel(WALKER)
    engine = math.radians(30) + 2 * math.pi * 50 / 60 * np.maximum(times - 0.4, 0)
    out = {}
    for number, name, amplitude, offset, phase, low, high in (
        ("21", "Left Hip", 40, 0, 0, -20, 60),
        ("22", "Right Hip", 25, 3, 90, -math.inf, math.inf),
        ("23", "Lift", 0.3, 0, 0, -0.2, 0.1),
    ):
        place = document.joints[number]
        sense = -1.0 if place.line @ place.axis > 0 else 1.0
        wanted = np.clip(offset + amplitude * 0.8 * stick * np.sin(engine + math.radians(phase)), low, high)
        out[name] = sense * wanted * (math.radians(1) if number != "23" else 1.0)
    place = document.joints["24"]
    out["Wheel Axle"] = (-1.0 if place.line @ place.axis > 0 else 1.0) * 2.5 * times
    return out


# ---------------------------------------------------------------- a gait


@pytest.mark.parametrize(("step", "seconds", "count"), [(None, 2.0, 63), (10, 1.0, 101), (0.5, 0.01, 21)])
def test_a_gait_is_that_of_the_formula_on_any_grid(
    walker: Path, tmp_path: Path, capsys: Any, step: float | None, seconds: float, count: int
) -> None:
    out = tmp_path / "walk.xmdi"
    grid = ["--step", step] if step else []
    assert run(walker, "--gait", *PUSHED, "--seconds", seconds, *grid, "--out", out) == 0
    found = servos(out)
    times = np.arange(count) * (step or 32) / 1000
    wanted = told_by_formula(times)
    assert found.keys() == wanted.keys()
    for name, (at, values) in found.items():
        assert at == pytest.approx(times, abs=1e-9), name
        assert values == pytest.approx(wanted[name], abs=1e-9), name
    assert f"{out}: {out.stat().st_size} bytes" in capsys.readouterr().out


def test_a_gait_needs_neither_blender_nor_a_plot_matplotlib(walker: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['bpy'] = None\n"
        "from addon.cli import main\n"
        "file, folder = sys.argv[1:]\n"
        "done = [main(['animate', file, '--gait', '--out', folder + '/a.xmdi'])]\n"
        "assert 'matplotlib' not in sys.modules\n"
        "done += [main(['animate', file, '--gait', '--out', folder + '/a.blend'])]\n"
        "sys.modules['matplotlib'] = None\n"
        "done += [main(['animate', file, '--gait', '--out', folder + '/b.xmdi', '--plot', folder + '/a.png'])]\n"
        "print(done, file=sys.stderr)\n"
    )
    line = [sys.executable, "-c", code, str(walker), str(tmp_path)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[0, 1, 1]"
    assert "this command needs Blender" in done.stderr
    assert "a plot needs matplotlib" in done.stderr
    assert "pip install matplotlib" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xmdi", "walker.jm"], "nothing half made"


def test_a_gait_in_a_blend_plays_with_the_stick_held(blank: Any, walker: Path, tmp_path: Path, capsys: Any) -> None:
    import bpy

    blend = tmp_path / "walk.blend"
    assert run(walker, "--gait", *PUSHED, "--seconds", 2, "--out", blend) == 0
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    scene = bpy.context.scene
    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert [action.name for action in bpy.data.actions] == ["walker Gait"]
    assert (scene.frame_start, scene.frame_end) == (1, 1 + 2 * scene.render.fps)
    frames = np.arange(scene.frame_start, scene.frame_end + 1)
    wanted = told_by_formula((frames - 1) / scene.render.fps)
    for name, values in wanted.items():
        path = "location" if name == "Lift" else "rotation_euler"
        (curve,) = (each for each in curves_of(rig) if f'["{name}"].{path}' in each.data_path)
        assert [curve.evaluate(frame) for frame in frames] == pytest.approx(values, abs=3e-6), name


def test_a_motion_in_a_blend_is_keyed_as_it_was_fitted(
    blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any
) -> None:
    import bpy

    blend = tmp_path / "wave.blend"
    assert run(walker, "--motion", wave, "--degrees", "--map", "Tail=Wheel Axle", "--out", blend) == 0
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert rig.animation_data.action.name == "wave"
    assert {"wave", "rest"} <= {action.name for action in bpy.data.actions}
    rate = bpy.context.scene.render.fps
    for name, frame, value in (("Left Hip", 10, math.radians(0.5)), ("Wheel Axle", 1, math.radians(1))):
        (curve,) = (each for each in curves_of(rig) if f'["{name}"].rotation_euler' in each.data_path)
        assert curve.evaluate(1 + frame * FRAME * rate) == pytest.approx(value, abs=1e-6), name


def test_an_unused_input_is_reported_and_a_model_without_a_gait_rejected(
    walker: Path, sample_models: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "a.xmdi"
    assert run(walker, "--gait", "--input", "joystick 2 z=3", "--out", out) == 0
    said = capsys.readouterr().out
    assert "'joystick 2 z' has no effect: the gait does not read it; it reads joystick 1 y" in said
    assert "outside the range of an input (-1 to 1)" in said
    out.unlink()
    assert run(sample_models / "desk_lamp" / "desk_lamp.skel", "--gait", "--out", out) == 1
    assert "has no gait." in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("ending", [".motion", ".csv"])
def test_a_gait_in_tables_is_the_same(walker: Path, tmp_path: Path, ending: str) -> None:
    if ending not in motion_extensions():
        pytest.skip(f"this version writes no {ending} files")
    out = tmp_path / f"walk{ending}"
    assert run(walker, "--gait", *PUSHED, "--seconds", 2, "--out", out) == 0
    head, *rows = [row for row in csv.reader(out.read_text().splitlines()) if row]
    if ending == ".motion":
        assert head[:2] == ["#WEBOTS_MOTION", "V1.0"]
        times = [sum(int(part) * scale for part, scale in zip(row[0].split(":")[::-1], (1, 1000, 60000), strict=False))
                 for row in rows]  # fmt: skip
        seconds = np.array(times) / 1000
    else:
        assert head[0] == "time [s]"
        assert "Lift [m]" in head
        assert "Left Hip [rad]" in head
        seconds = np.array([float(row[0]) for row in rows])
    assert seconds == pytest.approx(np.arange(63) * FRAME, abs=1e-12)
    for name, wanted in told_by_formula(seconds).items():
        column = next(number for number, title in enumerate(head) if title.partition(" [")[0] == name)
        assert [float(row[column]) for row in rows] == pytest.approx(wanted, abs=1e-9), name


# ---------------------------------------------------------------- a motion


def test_a_motion_is_fitted_to_the_model(walker: Path, wave: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "fitted.xmdi"
    assert run(walker, "--motion", wave, "--only", "wave", "--degrees", "--millimetres", "--out", out) == 0
    found = servos(out)
    assert sorted(found) == ["Left Hip", "Lift", "Tail"], "what the model lacks is kept"
    assert found["Left Hip"][1] == pytest.approx(np.radians([0, 0.5, -0.25]), abs=1e-15)
    assert found["Lift"][1] == pytest.approx([0, 0.001], abs=1e-15)
    assert found["Left Hip"][0] == pytest.approx([0, 0.32, 0.8])
    said = capsys.readouterr().out
    assert "Servos matched by name: 2 of 3" in said
    assert "'left_hip' was matched with 'Left Hip'" in said
    assert "warning: Servo 'Tail' has no effect: no joint has this name" in said


def test_a_motion_that_already_fits_is_written_unchanged(walker: Path, wave: Path, tmp_path: Path) -> None:
    out = tmp_path / "same.xmdi"
    assert run(walker, "--motion", wave, "--map", "Tail=", "--out", out) == 0
    before, after = servos(wave), servos(out)
    assert sorted(after) == ["Left Hip", "Lift", "Right Hip"], "both motions, without what the mapping leaves out"
    for name, old in (("Left Hip", "left_hip"), ("Lift", "Lift"), ("Right Hip", "Right Hip")):
        assert [column.tolist() for column in after[name]] == [column.tolist() for column in before[old]]


def test_reports_of_several_motions_name_them(walker: Path, wave: Path, tmp_path: Path, capsys: Any) -> None:
    assert run(walker, "--motion", wave, "--map", "Tail=", "--out", tmp_path / "a.xmdi") == 0
    said = capsys.readouterr().out
    assert "wave: Servos matched by name: 2 of 3" in said
    assert "rest: Servos matched by name: 1 of 1" in said
    assert "is not in the file" not in said, "of a servo that one of them has"


def test_stops_are_kept_held_or_rejected(walker: Path, wave: Path, tmp_path: Path, capsys: Any) -> None:
    place = XmlModel(WALKER).joints["23"]
    low, high = place.limits()
    out = tmp_path / "out.xmdi"
    assert run(walker, "--motion", wave, "--out", out) == 0
    assert servos(out)["Lift"][1].tolist() == [0, 1]
    said = capsys.readouterr().out
    assert (
        f"Servo 'Lift': 1 of 2 keyframes outside its stops ({low:g} m to {high:g} m), by up to {1 - high:g} m. Kept"
        in said
    )
    assert "'Left Hip': " in said, "0.5 rad is beyond 20 degrees"
    assert run(walker, "--motion", wave, "--stops", "clamp", "--out", out) == 0
    assert servos(out)["Lift"][1] == pytest.approx([0, high], abs=1e-12)
    left = XmlModel(WALKER).joints["21"].limits()
    assert servos(out)["Left Hip"][1] == pytest.approx(np.clip([0, 0.5, -0.25], *left), abs=1e-12)
    assert ". Clamped" in capsys.readouterr().out
    out.unlink()
    assert run(walker, "--motion", wave, "--stops", "refuse", "--out", out) == 1
    told = capsys.readouterr().err
    assert "'Lift'" in told
    assert "1 of 2 keyframes" in told
    assert not out.exists()


def test_a_motion_is_read_off_on_a_grid(walker: Path, wave: Path, tmp_path: Path) -> None:
    out = tmp_path / "grid.xmdi"
    assert run(walker, "--motion", wave, "--step", 100, "--out", out) == 0
    at, values = servos(out)["Left Hip"]
    assert at == pytest.approx(np.arange(9) / 10)
    assert values == pytest.approx(np.interp(at, [0, 0.32, 0.8], [0, 0.5, -0.25]))
    at, values = servos(out)["Lift"]
    assert at == pytest.approx([0, 0.1, 0.2, 0.3, 0.4]), "no less than to its last key"
    assert values[-1] == 1


def test_a_mapping_that_nothing_answers_to_and_a_foreign_model_are_rejected(
    walker: Path, wave: Path, sample_models: Path, tmp_path: Path, capsys: Any
) -> None:
    """In a script nobody would see a warning, and the wrong servo would move."""
    out = tmp_path / "out.xmdi"
    assert run(walker, "--motion", wave, "--map", "Tale=Lift", "--out", out) == 1
    assert "servo 'Tale' is not in the file" in capsys.readouterr().err
    assert run(walker, "--motion", wave, "--map", "Tail=Tray", "--out", out) == 1
    assert "servo 'Tray', which is not in the model" in capsys.readouterr().err
    assert run(sample_models / "hexapod" / "hexapod.jm", "--motion", wave, "--out", out) == 1
    assert "no servo of motion 'wave' ('left_hip', 'Lift', 'Tail') is in " in capsys.readouterr().err
    assert run(walker, "--motion", wave, "--only", "waves", "--out", out) == 1
    assert "It holds 'wave', 'rest'" in capsys.readouterr().err
    assert not out.exists()


def test_one_motion_of_several_is_converted(wave: Path, walker: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "rest.xmdi"
    assert main(["convert", str(wave), str(out), "--only", "rest"]) == 0
    assert [motion.get("name") for motion in etree.parse(str(out)).iter("motion")] == ["rest"]
    assert main(["convert", str(walker), str(tmp_path / "w.jm"), "--only", "rest"]) == 1
    assert "this is a model" in capsys.readouterr().err


@pytest.mark.parametrize(("first", "second"), list(itertools.product(motion_extensions(), repeat=2)))
def test_every_motion_format_becomes_every_other(
    walker: Path, tmp_path: Path, capsys: Any, first: str, second: str
) -> None:
    """A gait on the 32 ms grid is a motion that every format can hold, but for the last bits of its seconds."""
    one, two = tmp_path / f"one{first}", tmp_path / f"two{second}"
    assert run(walker, "--gait", *PUSHED, "--seconds", 1, "--out", one) == 0
    assert main(["convert", str(one), str(two)]) == 0
    assert f"{two}: " in capsys.readouterr().out
    wanted = told_by_formula(np.arange(32) * FRAME)
    found = {each.name: each for each in formats.load_motion(two).trajectories}
    assert found.keys() == wanted.keys()
    for name, each in found.items():
        assert each.times == pytest.approx(np.arange(32) * FRAME, abs=1e-12), name
        assert each.values == pytest.approx(wanted[name], abs=1e-12), name


# ---------------------------------------------------------------- plots


def drawn(path: Path) -> dict[str, np.ndarray]:
    """The points (n, 2) of every line of an SVG that has a name, y upwards."""
    out = {}
    for group in etree.parse(str(path)).iter("{http://www.w3.org/2000/svg}g"):
        if (group.get("id") or "").startswith(("servo ", "stop of ")):
            words = group[0].get("d").replace("M", " ").replace("L", " ").split()
            out.setdefault(group.get("id"), np.array([float(word) for word in words]).reshape(-1, 2) * (1, -1))
    return out


def test_a_plot_shows_the_servos_and_their_stops_to_scale(walker: Path, tmp_path: Path, capsys: Any) -> None:
    picture, out = tmp_path / "walk.svg", tmp_path / "walk.xmdi"
    line = [walker, "--gait", *PUSHED, "--seconds", 1, "--servo", "left hip", "--servo", "Right Hip"]
    assert run(*line, "--plot", picture, "--out", out) == 0
    assert f"{picture}: {picture.stat().st_size} bytes" in capsys.readouterr().out
    lines = drawn(picture)
    assert {name for name in lines if name.startswith("servo")} == {"servo Left Hip", "servo Right Hip"}
    wanted = told_by_formula(np.linspace(0, 1, 20001))
    left, right = (np.degrees(wanted[name]) for name in ("Left Hip", "Right Hip"))
    corners = {name: (points[:, 0].min(), np.ptp(points[:, 0])) for name, points in lines.items()}
    begin, width = corners["servo Right Hip"]
    points = lines["servo Right Hip"]
    times = (points[:, 0] - begin) / width * (31 * FRAME)
    values = np.interp(times, np.linspace(0, 1, 20001), right)
    slope, base = np.polyfit(values, points[:, 1], 1)
    assert slope > 0
    assert np.abs(slope * values + base - points[:, 1]).max() < 0.5, "half a point of the picture"
    own = lines["servo Left Hip"]
    assert (own[:, 1].max() - base) / slope == pytest.approx(left.max(), abs=0.2)
    low, high = np.degrees(XmlModel(WALKER).joints["21"].limits())
    assert (lines["stop of Left Hip"][0, 1] - base) / slope == pytest.approx(low, abs=0.2) or (
        lines["stop of Left Hip"][0, 1] - base
    ) / slope == pytest.approx(high, abs=0.2)
    text = picture.read_text()
    for word in ("angle (°)", "time (s)", "Left Hip", "Right Hip", "stop"):
        assert f"<!-- {word} -->" in text, word


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG\r\n\x1a\n"), (".pdf", b"%PDF-"), (".svg", b"<?xml")])
def test_a_plot_has_the_type_of_its_ending_and_is_the_same_each_time(
    walker: Path, wave: Path, tmp_path: Path, ending: str, start: bytes
) -> None:
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for picture in (one, two):
        assert run(walker, "--motion", wave, "--only", "wave", "--plot", picture) == 0
    assert one.read_bytes().startswith(start)
    assert one.read_bytes() == two.read_bytes()


def test_many_servos_get_axes_of_their_own(sample_models: Path, tmp_path: Path) -> None:
    picture = tmp_path / "many.svg"
    assert run(sample_models / "hexapod" / "hexapod.jm", "--gait", "--seconds", 1, "--plot", picture) == 0
    names = [name for name in drawn(picture) if name.startswith("servo ")]
    assert len(names) == 22
    text = picture.read_text()
    assert all(f"<!-- {name.removeprefix('servo ')}  (°) -->" in text for name in names)
    assert text.count("<!-- time (s) -->") == 4, "one per column"


def test_what_cannot_be_plotted_is_exit_1(walker: Path, wave: Path, tmp_path: Path, capsys: Any) -> None:
    picture = tmp_path / "a.png"
    for line, words in (
        (["--motion", wave, "--plot", picture], ["--only", "'wave', 'rest'"]),
        (["--gait", "--plot", tmp_path / "a.gif"], [".gif", ".png, .svg, .pdf"]),
        (["--gait", "--plot", picture, "--servo", "Nose"], ["'Nose'", "'Left Hip'"]),
        (["--gait", "--out", tmp_path / "a.mp4"], [".mp4", ".xmdi", ".blend"]),
        (["--gait", "--out", tmp_path / "nowhere" / "a.xmdi", "--plot", picture], ["nowhere"]),
    ):
        assert run(walker, *line) == 1, line
        err = capsys.readouterr().err
        assert all(word in err for word in words), err
    assert not picture.exists()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["--gait"], "--out"),
        (["--out", "a.xmdi"], "--motion"),
        (["--gait", "--motion", "m.xmdi", "--out", "a.xmdi"], "not allowed"),
        (["--gait", "--out", "a.xmdi", "--servo", "Hip"], "--plot"),
        (["--gait", "--out", "a.xmdi", "--degrees"], "--degrees goes with --motion"),
        (["--gait", "--out", "a.xmdi", "--map", "a=b"], "--map goes with --motion"),
        (["--motion", "m.xmdi", "--out", "a.xmdi", "--seconds", "3"], "--seconds goes with --gait"),
        (["--motion", "m.xmdi", "--out", "a.xmdi", "--map", "hip"], "FILE=SERVO"),
        (["--motion", "m.xmdi", "--out", "a.xmdi", "--step", "0"], "milliseconds"),
        (["--motion", "m.xmdi", "--out", "a.xmdi", "--stops", "bend"], "bend"),
        (["--gait", "--out", "a.blend", "--step", "20"], "--step"),
        (["--gait", "--out", "a.xmdi", "--input", "pedal=1"], "joystick 1 y"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_wrong_usage_is_exit_2(capsys: Any, line: list[str], word: str) -> None:
    assert run("walker.jm", *line) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("usage: python -m addon animate")
    assert word in told.err


def test_animate_as_a_program_of_its_own(walker: Path, tmp_path: Path) -> None:
    out = tmp_path / "walk.xmdi"
    line = [
        sys.executable,
        "-m",
        "addon",
        "animate",
        str(walker),
        "--gait",
        *PUSHED,
        "--seconds",
        "1",
        "--out",
        str(out),
    ]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert servos(out)["Lift"][1] == pytest.approx(told_by_formula(np.arange(32) * FRAME)["Lift"], abs=1e-9)


def test_a_motion_without_end_is_rejected(walker: Path, tmp_path: Path, capsys: Any) -> None:
    text = (
        '<x><y><motion name="m"><servo name="Lift"><position>0 1</position><frames>0 1e12</frames></servo></motion></y>'
        "</x>"
    )
    (tmp_path / "far.xmdi").write_text(text)
    assert run(walker, "--motion", tmp_path / "far.xmdi", "--step", 20, "--out", tmp_path / "out.csv") == 1
    assert "--step 20 ms would create 1.6e+12 keyframes" in capsys.readouterr().err


def test_a_blend_gives_the_file_back(blank: Any, walker: Path, wave: Path, tmp_path: Path) -> None:
    """Left out, renamed, in degrees: what was keyed knows where it came from."""
    import bpy

    blend = tmp_path / "out.blend"
    assert run(walker, "--motion", wave, "--only", "wave", "--degrees", "--map", "Tail=", "--out", blend) == 0
    bpy.ops.wm.open_mainfile(filepath=str(blend))
    bpy.ops.export_anim.servo_motion(filepath=str(tmp_path / "back.xmdi"))
    before, after = servos(wave), servos(tmp_path / "back.xmdi")
    for name in ("left_hip", "Lift", "Tail"):
        assert [column.tolist() for column in after[name]] == [column.tolist() for column in before[name]]
