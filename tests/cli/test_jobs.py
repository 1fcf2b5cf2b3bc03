"""Jobs for farms: templates that openjd takes, whose steps do together what one command does."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats, plot
from addon.cli import main
from addon.core.run_metrics import SimulationRecord, measure_accuracy, simulation_figures
from benchmarks.farm import media

ROOT = Path(__file__).resolve().parents[2]
LAMP = ROOT / "sample_models/desk_lamp/desk_lamp.skel"
HEXAPOD = ROOT / "sample_models/hexapod/hexapod.jm"
WAVE = ROOT / "sample_models/humanoid/wave.motion"
HUMANOID = ROOT / "sample_models/humanoid/humanoid.skel"
TINY = ("--size", "32x18", "--engine", "workbench", "--seconds", "0.2")


def run(*words: Any) -> int:
    return main([str(word) for word in words])


def openjd(*words: Any) -> str:
    """Run openjd; what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which("openjd", path=path)
    if program is None:
        pytest.skip("openjd is not here: pip install openjd-cli")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The steps of a template and the words of each of their tasks, behind what calls Knuckle."""
    job = json.loads((folder / "template.json").read_text(encoding="utf-8"))
    told = {}
    for each in job["parameterDefinitions"]:
        value = each["default"]
        told[f"Param.{each['name']}"] = str(folder / value) if each["type"] == "PATH" else str(value)

    def filled(text: str, values: dict[str, str]) -> str:
        return re.sub(r"\{\{(.+?)\}\}", lambda match: values[match[1]], text)

    for step in job["steps"]:
        spaces = []
        for each in step.get("parameterSpace", {}).get("taskParameterDefinitions", ()):
            values = each["range"]
            if isinstance(values, str):
                first, last, by = map(int, re.fullmatch(r"(\d+)-(\d+):(\d+)", filled(values, told)).groups())
                values = range(first, last + 1, by)
            spaces.append([(f"Task.Param.{each['name']}", str(value)) for value in values])
        args = step["script"]["actions"]["onRun"]["args"]
        for task in itertools.product(*spaces):
            yield step["name"], [filled(word, {**told, **dict(task)}) for word in args][2:]


# ---------------------------------------------------------------- templates


@pytest.mark.usefixtures("coarse")
def test_a_video_in_chunks_is_the_video_of_one_command(blank: Any, tmp_path: Path, capsys: Any) -> None:
    job, whole = tmp_path / "job", tmp_path / "whole"
    assert run("job", LAMP, *TINY, "--chunk", 2, "--out", job, "--json") == 0
    frames = json.loads(capsys.readouterr().out)["frames"]
    done = list(commands(job))
    chunks = -(-frames // 2)
    assert chunks >= 3
    assert [name for name, _ in done] == ["Prepare", *["Render"] * chunks, "Encode"]
    (job / "out/frames").mkdir(parents=True)
    (job / "out/frames" / f"{frames + 1:06d}.png").write_bytes(b"of a longer film")
    for _, words in [done[0], *reversed(done[1:-1]), done[-1]]:
        assert run(*words, "-q") == 0
    assert run("render", LAMP, *TINY, "--prepare", tmp_path / "stage.blend", "-q") == 0
    assert run("render", tmp_path / "stage.blend", "--frames", f"1+{frames}", "--out", whole, "-q") == 0
    (job / "out/frames" / f"{frames + 1:06d}.png").unlink()
    pictures = sorted((job / "out/frames").iterdir())
    assert [path.name for path in pictures] == sorted(path.name for path in whole.iterdir())
    assert len(pictures) == frames
    assert all(path.read_bytes() == (whole / path.name).read_bytes() for path in pictures)
    assert run("render", LAMP, *TINY, "--out", tmp_path / "one.mp4", "--keep-frames", "-q") == 0
    (kept,) = (folder for folder in tmp_path.iterdir() if folder.is_dir() and folder.name.startswith("one"))
    direct = sorted(kept.glob("*.png"))
    assert [path.read_bytes() for path in direct] == [path.read_bytes() for path in pictures]
    chunked, whole_film = (units(media(path)) for path in (job / "out/desk_lamp.mp4", tmp_path / "one.mp4"))
    assert chunked[:2] == whole_film[:2], "the encoder's settings and the first picture"
    # x264 may say in more than one way that the same picture goes on: once it took 9 bytes more for the second
    assert len(chunked) == len(whole_film) == frames + 1


def units(data: bytes) -> list[bytes]:
    """The units of an H.264 stream in an mdat box, each behind its length: the settings, then the pictures."""
    found, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def test_a_sweep_makes_a_row_of_every_point_and_a_plot(blank: Any, tmp_path: Path, capsys: Any) -> None:
    job = tmp_path / "job"
    axes = ("--sweep", "joystick 1 y=-1..1:2", "--sweep", "gain=0.1,1")
    assert run("job", HEXAPOD, *axes, "--seconds", 0.25, "--out", job, "-q") == 0
    for _, words in commands(job):
        assert run(*words, "-q") == 0
    rows = list(csv.DictReader((job / "out/sweep.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["joystick 1 y"], row["gain"]) for row in rows] == [
        ("-1", "0.1"),
        ("-1", "1"),
        ("1", "0.1"),
        ("1", "1"),
    ]
    assert {row["seconds"] for row in rows} == {"0.25"}
    errors = [float(row["tracking_error"]) for row in rows]
    assert errors[0] > 1.2 * errors[1], "a tenth of the gain follows less closely"
    assert errors[2] > 1.2 * errors[3]
    assert (job / "out/sweep.png").read_bytes().startswith(b"\x89PNG")


def test_openjd_takes_all_templates_and_runs_a_conversion(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "in").mkdir()
    for path in (LAMP, HEXAPOD, WAVE):
        shutil.copy(path, tmp_path / "in" / path.name)
    assert run("job", tmp_path / "in", "--convert", "shift", "--chunk", 2, "--out", tmp_path / "convert", "-q") == 0
    assert run("job", HUMANOID, "--motion", WAVE, "--frames", 40, *TINY, "--out", tmp_path / "film", "-q") == 0
    sweep = ("--sweep", "friction=0.1..1:4", "--runner", "blender")
    assert run("job", HEXAPOD, *sweep, "--out", tmp_path / "sweep", "-q") == 0
    for name in ("convert", "film", "sweep"):
        assert "passes validation" in openjd("check", tmp_path / name / "template.json")
    openjd("run", tmp_path / "convert/template.json")
    made = sorted(path.name for path in (tmp_path / "convert/out").iterdir())
    assert made == ["desk_lamp.json", "hexapod.json"]
    assert formats.load(tmp_path / "convert/out/desk_lamp.json").source.format == "shift"


def test_a_job_takes_along_what_it_needs(tmp_path: Path) -> None:
    from tests.support import mesh_samples

    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.stl").write_bytes(mesh_samples.stl())
    model = tmp_path / "there/m.skel"
    model.write_text(
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><visualization_shape><geometry><mesh>'
        "<file_name>a.stl</file_name><scale>1 1 1</scale></mesh></geometry></visualization_shape></body></skeleton>"
        "</world></skel>"
    )
    job = tmp_path / "job"
    assert run("job", model, "--motion", WAVE, "--frames", 4, "--out", job, "-q") == 0
    assert sorted(path.name for path in (job / "models").iterdir()) == ["a.stl", "m.skel", "wave.motion"]
    text = (job / "template.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in text, "nothing in it is of the place where it was written"
    (_, prepare), *_ = commands(job)
    assert prepare[1] == str(job / "models/m.skel")
    bad = tmp_path / "bad.motion"
    bad.write_text("nothing")
    assert run("job", model, "--motion", bad, "--frames", 4, "--out", tmp_path / "other") == 1
    assert not (tmp_path / "other/template.json").exists()


def test_a_job_takes_materials_and_pictures_of_meshes_along(tmp_path: Path) -> None:
    far, home = tmp_path / "far [1]", tmp_path / "home"
    far.mkdir()
    home.mkdir()
    (far / "a [1].obj").write_text("mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    (far / "paint.mtl").write_text("newmtl red\nmap_Kd red.png\n")
    (far / "red.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    model = home / "m.skel"
    model.write_text(
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><visualization_shape><geometry><mesh>'
        "<file_name>a [1].obj</file_name><scale>1 1 1</scale></mesh></geometry></visualization_shape></body></skeleton>"
        "</world></skel>"
    )
    assert run("job", model, "--meshes", far, "--frames", 4, "--out", tmp_path / "job", "-q") == 0
    names = {path.name for path in (tmp_path / "job/models").rglob("*") if path.is_file()}
    assert {"m.skel", "a [1].obj", "paint.mtl", "red.png"} <= names


def test_a_title_is_written_as_it_was_given(tmp_path: Path) -> None:
    title = '{{Param.Nothing}} "ü" $HOME -x'
    assert run("job", LAMP, "--title", title, "--frames", 4, "--out", tmp_path / "j b", "-q") == 0
    openjd("check", tmp_path / "j b/template.json")
    (_, prepare), *_ = commands(tmp_path / "j b")
    assert f"--title={title}" in prepare


# ---------------------------------------------------------------- figures


def initial_velocity(seconds: float = 1.0, rate: float = 200.0) -> SimulationRecord:
    """A ball of 2 kg, thrown level at 3 m/s along x from a height, and another that stands still."""
    times = np.arange(0.0, seconds + 1e-9, 1.0 / rate)
    poses = np.tile(np.eye(4), (len(times), 3, 1, 1))
    poses[:, 0, 0, 3] = 3.0 * times
    poses[:, 0, 2, 3] = 10.0 - 4.905 * times**2
    masses, tensors = np.array([2.0, 1.0]), np.tile(0.1 * np.eye(3), (2, 1, 1))
    return SimulationRecord(poses, rate, [], masses, tensors, np.array([0.0, 0.0, -9.81]), True)


def test_distance_is_level_and_a_fall_takes_no_energy() -> None:
    run_ = initial_velocity()
    figures = simulation_figures(run_, measure_accuracy(run_))
    assert figures.distance == pytest.approx(3.0)
    assert figures.energy == pytest.approx(0.0, abs=1e-6)
    assert math.isnan(figures.tracking_error)
    assert figures.plain()["tracking_error"] is None


def test_what_is_lifted_takes_its_weight_times_its_height() -> None:
    lifted = initial_velocity()
    times = np.arange(len(lifted.poses)) / lifted.rate
    lifted.poses[:, 0, 2, 3] = 10.0 + 2.0 * times
    until = times[-3]
    assert simulation_figures(lifted, measure_accuracy(lifted)).energy == pytest.approx(2.0 * 9.81 * 2.0 * until)


# ---------------------------------------------------------------- collect


def rows_in(folder: Path, points: dict[tuple[float, ...], float], names: tuple[str, ...]) -> None:
    folder.mkdir()
    for number, (point, far) in enumerate(points.items()):
        figures = {"distance": far, "energy": None, "tracking_error": 0.1, "worst_error": 0.2, "pivot_gap": 0.01}
        row = {"settings": dict(zip(names, point, strict=True)), "figures": figures}
        (folder / f"{number}.json").write_text(json.dumps(row), encoding="utf-8")


def test_collect_sorts_by_settings_and_leaves_blank_what_is_not_known(tmp_path: Path, capsys: Any) -> None:
    points = {(8.0, 1.0, 2.0): 4.0, (8.0, 0.5, 2.0): 2.0, (8.0, 1.0, -2.0): 3.0, (8.0, 0.5, -2.0): 1.0}
    rows_in(tmp_path / "rows", points, ("seconds", "gain", "joystick 1 y"))
    assert run("collect", tmp_path / "rows", "--out", "-") == 0
    told = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert list(told[0])[:3] == ["gain", "joystick 1 y", "seconds"]
    assert [row["distance"] for row in told] == ["1", "2", "3", "4"]
    assert {row["energy"] for row in told} == {""}


def test_collect_rejects_files_that_are_no_simulation(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.json").write_text('{"settings": {"gain": "much"}, "figures": {}}', encoding="utf-8")
    assert run("collect", tmp_path / "a.json", "--out", tmp_path / "t.csv") == 1
    assert "a.json: the file has no figures of a simulation" in capsys.readouterr().err
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("others", [1, 3, 20])
def test_a_plot_has_a_line_for_every_combination(others: int) -> None:
    names = ["distance", "energy", "tracking_error", "worst_error", "pivot_gap"]
    table = [
        {"gain": float(x), "friction": 0.1 * y, **dict.fromkeys(names, float(x * y))}
        for x in range(3)
        for y in range(others)
    ]
    drawn = plot.plot_sweep(["gain", "friction"], table, ".svg").decode()
    for name in ("distance", "energy", "tracking_error"):
        assert drawn.count(f'id="{name}"') == others
    assert plot.plot_sweep(["gain", "friction"], table).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("axis", "says"),
    [
        ("weight=1,2", "'weight' is neither gain, nor friction, nor one of joystick 1 x"),
        ("gain=1,nan", "not all are numbers"),
        ("joystick 1 y=0,inf", "not all are numbers"),
    ],
)
def test_a_sweep_of_an_unknown_parameter_is_rejected(tmp_path: Path, capsys: Any, axis: str, says: str) -> None:
    assert run("job", HEXAPOD, "--sweep", axis, "--out", tmp_path / "sweep") == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "sweep").exists()
