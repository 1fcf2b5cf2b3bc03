"""Many files with one command: which are meant, what they become, and what is told of them."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from addon import formats
from addon.cli import batch, main
from addon.cli.batch import expand_inputs, output_paths
from addon.core.report import Entry, FormatError, Report

ROOT = Path(__file__).resolve().parents[2]
LAMP = ROOT / "sample_models/desk_lamp/desk_lamp.skel"
HEXAPOD = ROOT / "sample_models/hexapod/hexapod.jm"
WAVE = ROOT / "sample_models/humanoid/wave.motion"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Two models of one name, one below, a motion, one that is broken, and what is nobody's."""
    folder = tmp_path / "models"
    (folder / "below").mkdir(parents=True)
    shutil.copy(LAMP, folder / "a.skel")
    shutil.copy(HEXAPOD, folder / "a.jm")
    shutil.copy(LAMP, folder / "below/b.skel")
    shutil.copy(WAVE, folder / "wave.motion")
    (folder / "bad.skel").write_text("<skel version='1.0'>\n<world>", encoding="utf-8")
    (folder / "notes.txt").write_text("nothing")
    return folder


def run(*words: Any) -> int:
    return main([str(word) for word in words])


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------- which files are meant


def test_folders_patterns_and_names_give_each_file_once(models: Path) -> None:
    found = expand_inputs([models / "a.skel", models, models / "**" / "*.skel"])
    assert [each.path.name for each in found] == ["a.skel", "a.jm", "bad.skel", "wave.motion", "b.skel"]
    assert [each.below.as_posix() for each in found] == [".", ".", ".", ".", "below"]
    assert [each.named for each in found] == [True, False, False, False, False]


def test_an_input_pattern_without_files_is_rejected(models: Path) -> None:
    for word in (models / "*.xmdi", models.parent / "empty"):
        (models.parent / "empty").mkdir(exist_ok=True)
        with pytest.raises(FormatError):
            expand_inputs([word])


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(tmp_path: Path) -> None:
    odd = tmp_path / "lamp[1].skel"
    shutil.copy(LAMP, odd)
    assert [each.path for each in expand_inputs([odd])] == [odd]


def test_no_two_inputs_go_onto_one_output(tmp_path: Path) -> None:
    for name in ("x/a.skel", "x/a.jm", "x/A.jpm", "y/a.jm", "y/b.jm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = expand_inputs([tmp_path / name for name in ("x/a.skel", "x/a.jm", "x/A.jpm", "y/a.jm", "y/b.jm")])
    made = output_paths(found, [".json"] * 5, tmp_path / "out")
    names = [path.name for path in made]
    assert names == ["a.skel.json", "a.jm.json", "A.jpm.json", "a.jm-2.json", "b.json"]
    assert len({name.casefold() for name in names}) == 5


def test_an_input_is_never_written_over(models: Path, capsys: Any) -> None:
    before = {name: (models / name).read_bytes() for name in files(models)}
    assert run("convert", models, "--out-dir", models) == 1
    assert "would overwrite an input" in capsys.readouterr().err
    linked = models.parent / "linked"
    linked.mkdir()
    os.link(models / "a.skel", linked / "a.json")
    assert run("convert", models / "a.skel", "--to", "shift", "--out-dir", linked) == 1
    assert {name: (models / name).read_bytes() for name in files(models)} == before


# ---------------------------------------------------------------- convert


@pytest.mark.parametrize("processes", [1, 2])
def test_convert_carries_on_past_a_bad_file(models: Path, tmp_path: Path, capsys: Any, processes: int) -> None:
    out = tmp_path / "out"
    assert run("convert", models, "--to", "shift", "--out-dir", out, "--parallel", processes) == 1
    told = capsys.readouterr()
    assert files(out) == ["a.jm.json", "a.skel.json", "below/b.json"]
    for name, of in (("a.jm.json", HEXAPOD), ("a.skel.json", LAMP)):
        made = formats.load(out / name)
        assert made.source.format == "shift"
        assert len(made.bodies) >= len(formats.load(of).bodies)
    lines = told.out.splitlines()
    assert lines[0].split() == ["file", "result", "kept", "approximated", "lost", "seconds", "out"]
    assert [line.split()[:2] for line in lines[1:6]] == [
        [str(models / name), result]
        for name, result in (("a.jm", "done"), ("a.skel", "done"), ("bad.skel", "failed"), ("wave.motion", "passed"),
                             ("below/b.skel", "done"))
    ]  # fmt: skip
    assert "5 files: 3 done, 1 failed, 1 passed over" in lines[6]
    wrong = [line for line in told.err.splitlines() if line.startswith("knuckle: ")]
    assert wrong == [next(line for line in wrong if "bad.skel:2" in line)]
    assert "[5/5]" in told.err


def test_convert_to_all_formats_prints_its_reports_as_json(models: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    assert run("convert", models / "a.skel", models / "wave.motion", "--to", "all", "--out-dir", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert files(out) == ["a.jm", "a.json", "a.skel", "a.xml", "wave.csv", "wave.motion", "wave.xmdi"]
    assert (out / "a.skel").read_bytes() == LAMP.read_bytes()
    for row in told["files"]:
        entries = [Entry(**entry) for entry in row["report"]]
        assert Report(entries).outcomes() == {name: row[name] for name in ("kept", "approximated", "lost")}
    (juice,) = (row for row in told["files"] if row["out"].endswith(".jm"))
    assert juice["lost"] == sum(entry["code"].startswith("dropped-") for entry in juice["report"]) > 0


def test_some_of_all_files_are_picked_with_the_names_that_all_have(models: Path, tmp_path: Path, capsys: Any) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run("convert", models, "--to", "shift", "--out-dir", whole, "-q") == 1
    codes = [run("convert", models, "--to", "shift", "--out-dir", parts, "-q", "--pick", f"{at}+2") for at in (1, 3, 5)]
    assert codes == [0, 1, 0]
    assert files(whole) == files(parts)


def test_what_one_file_does_to_us_does_not_stop_the_others(tmp_path: Path, monkeypatch: Any) -> None:
    def work(args: Any) -> list[batch.BatchRow]:
        if args.number == 1:
            raise RecursionError("too deep")
        return [batch.BatchRow(Path("x"))]

    tasks = [batch.BatchTask(Path(f"{n}.jm"), batch.argparse.Namespace(number=n)) for n in range(3)]
    rows = batch.run_tasks(work, tasks, 1)
    assert [row.result for row in rows] == ["done", "failed", "done"]
    assert "1.jm: RecursionError: too deep" in rows[1].message


def dies_at_two(args: Any) -> list[batch.BatchRow]:
    if args.number == 2:
        os._exit(11)
    return [batch.BatchRow(Path("x"))]


def test_only_the_file_fails_that_kills_its_process() -> None:
    tasks = [batch.BatchTask(Path(f"{n}.jm"), batch.argparse.Namespace(number=n)) for n in range(5)]
    rows = batch.run_tasks(dies_at_two, tasks, 2)
    assert [row.result for row in rows] == ["done", "done", "failed", "done", "done"]
    assert "2.jm: its process ended unexpectedly" in rows[2].message


def never_ends(_args: Any) -> list[batch.BatchRow]:
    with contextlib.suppress(KeyboardInterrupt):  # as Blender does while it calls handlers
        time.sleep(600.0)
    time.sleep(600.0)
    return []


def test_ctrl_c_ends_all_processes(monkeypatch: Any) -> None:
    def stop(*_: Any) -> list[batch.BatchRow]:
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "_rows_of_future", stop)
    tasks = [batch.BatchTask(Path(f"{n}.jm"), batch.argparse.Namespace()) for n in range(3)]
    with pytest.raises(KeyboardInterrupt):
        batch.run_tasks(never_ends, tasks, 2)
    assert not multiprocessing.active_children()


def test_processes_find_a_package_that_has_blenders_name(models: Path, tmp_path: Path) -> None:
    """As an extension we are called bl_ext.user_default.knuckle, which no new process could import."""
    code = (
        "import importlib.util, sys, types\n"
        "if __name__ == '__main__':\n"
        "    for name in ('bl_ext', 'bl_ext.user_default'):\n"
        "        sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = []\n"
        f"    name, folder = 'bl_ext.user_default.knuckle', {str(ROOT / 'addon')!r}\n"
        "    spec = importlib.util.spec_from_file_location(name, folder + '/__init__.py',\n"
        "                                                  submodule_search_locations=[folder])\n"
        "    sys.modules[name] = package = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(package)\n"
        "    cli = importlib.import_module(name + '.cli')\n"
        f"    sys.exit(cli.main(['convert', {str(models / 'a.*')!r}, '--to', 'x_xy', '--out-dir',\n"
        f"                       {str(tmp_path / 'out')!r}, '--parallel', '2']))\n"
    )
    (tmp_path / "as_blender.py").write_text(code)
    done = subprocess.run([sys.executable, "as_blender.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "out") == ["a.jm.xml", "a.skel.xml"]


# ---------------------------------------------------------------- standard output, quiet


def test_a_file_on_standard_output_is_the_file(tmp_path: Path, capfdbinary: Any) -> None:
    assert run("convert", LAMP, tmp_path / "lamp.xml", "--to", "x_xy", "-q") == 0
    capfdbinary.readouterr()
    assert run("convert", LAMP, "-", "--to", "x_xy") == 0
    told = capfdbinary.readouterr()
    assert told.out == (tmp_path / "lamp.xml").read_bytes()
    assert b"info: " in told.err
    assert run("convert", WAVE, "-") == 0
    assert capfdbinary.readouterr().out == WAVE.read_bytes()
    assert run("animate", HEXAPOD, "--gait", "--seconds", 1, "--out", "-", "--quiet") == 0
    told = capfdbinary.readouterr()
    assert run("animate", HEXAPOD, "--gait", "--seconds", 1, "--out", tmp_path / "gait.csv", "--quiet") == 0
    assert told.out == (tmp_path / "gait.csv").read_bytes()
    assert told.err == b""


def test_quiet_prints_nothing_but_errors(models: Path, tmp_path: Path, capsys: Any) -> None:
    assert run("convert", LAMP, tmp_path / "lamp.json", "--quiet") == 0
    assert tuple(capsys.readouterr()) == ("", "")
    assert run("convert", models, "--to", "shift", "--out-dir", tmp_path / "out", "--quiet") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines()] == ["knuckle"]


def test_one_conversion_as_json(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "lamp.json"
    assert run("convert", LAMP, out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["made"] == [{"out": str(out), "bytes": out.stat().st_size}]
    assert told["format"] == "shift"


# ---------------------------------------------------------------- info, check


def test_info_of_many_is_a_list_past_the_bad_one(models: Path, capsys: Any) -> None:
    assert run("info", models, "--json") == 1
    told = capsys.readouterr()
    each = json.loads(told.out)
    assert len(each) == 5
    assert all(Path(record["file"]).is_relative_to(models) for record in each)
    assert sorted(record["format"] for record in each if "format" in record) == ["juice", "skel", "skel", "webots"]
    (bad,) = [record for record in each if "format" not in record]
    assert "bad.skel:2" in bad["message"]
    assert "bad.skel:2" in told.err


def test_check_finds_what_is_wrong(models: Path, capsys: Any) -> None:
    assert run("check", LAMP, WAVE) == 0
    capsys.readouterr()
    text = HEXAPOD.read_text(encoding="utf-8")
    heavy = models / "light.jm"
    heavy.write_text(text.replace("<Mass>", "<Mass>0<!--", 1).replace("</Mass>", "--></Mass>", 1), encoding="utf-8")
    assert run("check", LAMP, heavy, models / "bad.skel", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["bad"] == 2
    sound, light, bad = told["files"]
    assert (sound["errors"], bad["result"]) == (0, "failed")
    assert light["errors"] == 1
    assert "no mass" in light["findings"][0]["message"]
    assert run("check", heavy) == 1
    told = capsys.readouterr()
    assert f"{heavy}: error: line 11: Body " in told.out
    assert (len(told.out.splitlines()), told.err) == (1, "")  # of one file the messages alone
    assert run("check", models / "bad.skel") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1


def test_check_reports_impossible_numbers_in_few_words(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "odd.jm"
    for mass, words in (
        ("-3", "line 11: Body 'Chassis': the mass -3 kg is negative"),
        ("1e300", "the worst 1:2.5e300 at joint"),
    ):
        text = HEXAPOD.read_text(encoding="utf-8").replace("<Mass>2.5<", f"<Mass>{mass}<", 1)
        path.write_text(text, encoding="utf-8")
        run("check", path)
        (line,) = capsys.readouterr().out.splitlines()
        assert words in line


def test_missing_meshes_and_an_open_loop_are_reported_once_each(tmp_path: Path, capsys: Any) -> None:
    pumpjack = HEXAPOD.parent.parent / "pumpjack" / "pumpjack.json"
    alone = tmp_path / "pumpjack.json"
    alone.write_bytes(pumpjack.read_bytes())
    assert run("check", alone) == 0
    told = capsys.readouterr().out
    for name in ("post", "beam", "crank", "pitman"):
        assert told.count(f"file {name}.obj not found") == 1
    assert told.count("tail_bearing") == 1
    assert "line 277" in told
    run("info", alone)
    assert "file post.obj not found" in capsys.readouterr().out
    run("check", alone, "--meshes", pumpjack.parent)
    assert "not found" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["info", "check"])
def test_a_missing_mesh_that_an_inertia_depends_on_is_reported_once(verb: str, tmp_path: Path, capsys: Any) -> None:
    mesh = "<geometry><mesh><file_name>gone.obj</file_name></mesh></geometry>"
    body = f'<body name="b"><inertia><mass>2</mass></inertia><visualization_shape>{mesh}</visualization_shape></body>'
    joint = '<joint type="free" name="j"><parent>world</parent><child>b</child></joint>'
    path = tmp_path / "model.skel"
    path.write_text(f'<skel version="1.0"><world name="w"><skeleton name="s">{body}{joint}</skeleton></world></skel>')
    assert run(verb, path) == 0
    assert capsys.readouterr().out.count("file gone.obj not found") == 1


@pytest.mark.parametrize("line", [["info", "BAD"], ["convert", "BAD", "OUT"]], ids=lambda line: line[0])
def test_a_failure_is_json_too(line: list[str], models: Path, tmp_path: Path, capsys: Any) -> None:
    bad = models / "bad.skel"
    places = {"BAD": bad, "OUT": tmp_path / "out.jm"}
    assert run(*(places.get(word, word) for word in line), "--json") == 1
    told = capsys.readouterr()
    record = json.loads(told.out)
    assert record["file"] == str(bad)
    assert told.err == f"knuckle: {record['message']}\n"


# ---------------------------------------------------------------- wrong usage, help


@pytest.mark.parametrize(
    "line",
    [
        ["convert", "a.jm", "b.jm", "c.jm"],
        ["convert", "a.jm", "b.jm", "--to", "skel,shift"],
        ["convert", "a.jm", "b.jm", "--parallel", "2"],
        ["convert", "a.jm", "--out-dir", "x", "--parallel", "0"],
        ["convert", "a.jm", "--out-dir", "x", "--pick", "0+3"],
        ["simulate", "a.jm", "--seconds", "1"],
        ["simulate", "a.jm", "b.jm", "--seconds", "1", "--out", "x.xmdi"],
        ["simulate", "a.jm", "--seconds", "1", "--out", "x.xmdi", "--gain", "-1"],
        ["render", "a.jm", "b.jm", "--out", "x.mp4"],
        ["render", "a.jm"],
        ["render", "a.blend", "--frames", "5..3", "--out", "x"],
        ["encode", "x", "--out", "x.mp4"],
        ["job", "a.jm", "--out", "x", "--sweep", "gain"],
        ["job", "a.jm", "--out", "x", "--sweep", "mood=1,2"],
        ["job", "a.jm", "b.jm", "--out", "x"],
    ],
    ids=" ".join,
)
def test_wrong_usage_of_many_is_exit_2(line: list[str], capsys: Any) -> None:
    assert run(*line) == 2
    assert capsys.readouterr().err.startswith("usage: python -m addon")


@pytest.mark.parametrize(
    "verb",
    ["info", "check", "convert", "import", "animate", "simulate", "collect", "render", "encode", "job", "demo"],
)
def test_every_verb_has_examples_and_can_be_quiet(verb: str, capsys: Any) -> None:
    assert run(verb, "--help") == 0
    said = capsys.readouterr().out
    assert f"\n  python -m addon {verb} " in said
    assert "--quiet" in said


def test_a_format_that_is_added_while_we_run_is_one_to_convert_to(tmp_path: Path, monkeypatch: Any) -> None:
    from dataclasses import replace

    from addon import formats

    monkeypatch.setitem(formats.FORMATS, "added", replace(formats.FORMATS["x_xy"], id="added", extensions=(".added",)))
    assert run("convert", LAMP, "--to", "added", "--out-dir", tmp_path / "out", "-q") == 0
    assert files(tmp_path / "out") == ["desk_lamp.added"]
