"""The names that are public since release 1.0 are there, and as they were: ``tests/data/public_api.json`` has them.

What was added since is no matter. What was removed or changed fails here, and fails those who use it."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_models"
API: dict[str, Any] = json.loads((ROOT / "tests/data/public_api.json").read_text(encoding="utf-8"))
#: Roles of objects, and how many of each a sample has: as many as its file has bodies, joints, frames and lights, and
#: shapes that collide and look otherwise.
ROLES = {
    "hexapod/hexapod.jm": {"MODEL": 1, "BODY": 23, "JOINT": 22},
    "pumpjack/pumpjack.json": {"MODEL": 1, "BODY": 4, "JOINT": 5, "FRAME": 6, "LIGHT": 1},
    "desk_lamp/desk_lamp.skel": {"MODEL": 1, "BODY": 4, "JOINT": 4},
    "sensor_leg/sensor_leg.xml": {"MODEL": 1, "BODY": 8, "JOINT": 7},
}


# ---- the command line


class _Parser(BaseException):
    """Carries a parser out of the command line."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs of ``python -m addon``, wherever they are made."""

    def stop(self: argparse.ArgumentParser, *_args: Any, **_kwargs: Any) -> None:
        raise _Parser(self)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", ["addon", "info", "nothing"])
    with pytest.raises(_Parser) as caught:
        runpy.run_module("addon", run_name="__main__", alter_sys=True)
    (found,) = (each for each in caught.value.parser._actions if isinstance(each, argparse._SubParsersAction))
    return dict(found.choices)


def command_line(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options of a verb by each of their spellings; FILE is what goes without one."""
    return {name: action for action in parser._actions for name in action.option_strings or ["FILE"]}


def takes(action: argparse.Action) -> set[str]:
    """What an option asks for, in the data's words."""
    plain = {0: "flag", None: "one value", "+": "one or more"}[action.nargs]  # type: ignore[index]
    several = isinstance(action, argparse._AppendAction)
    return {plain} | ({"repeatable"} if several else set()) | ({"required"} if action.required else set())


def unlike_option(expected: Mapping[str, Any], action: argparse.Action | None) -> list[str]:
    """How an option differs from what it was. That it is no longer required is no difference."""
    if action is None:
        return ["is missing"]
    wrong = []
    was, now = set(expected["takes"].split(", ")), takes(action)
    if now not in (was, was - {"required"}):
        wrong.append(f"takes {sorted(now)}, not {sorted(was)}")
    default = action.default if action.default not in (None, False, []) else None
    if "default" in expected and default != expected["default"]:
        wrong.append(f"has the default {default!r}, not {expected['default']!r}")
    lost = set(expected.get("choices", ())) - set(map(str, action.choices or ()))
    if lost:
        wrong.append(f"lost the choices {sorted(lost)}")
    if action.choices is not None and "choices" not in expected:
        wrong.append("takes some values only")
    return wrong


@pytest.mark.parametrize("verb", API["command line"])
def test_every_verb_has_its_options(verbs: dict[str, argparse.ArgumentParser], verb: str) -> None:
    assert verb in verbs
    there = command_line(verbs[verb])
    options: Mapping[str, Any] = API["command line"][verb]
    found = {name: unlike_option(expected, there.get(name)) for name, expected in options.items()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    new = {name for name, action in there.items() if action.required and name not in options}
    assert new == set(), "an option that is required from now on breaks every command of before"


def test_exit_codes_distinguish_a_bad_file_from_a_wrong_command(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jm"
    bad.write_text("<JuiceModel><Body></JuiceModel>", encoding="utf-8")
    for words, code in (
        (["info", str(SAMPLES / "rover/rover.jm")], 0),
        (["info", str(bad)], 1),
        (["info", "--no-such-option", str(bad)], 2),
        (["dance"], 2),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "addon", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert bool(done.stderr.strip()) == (code != 0), "what went wrong is told on standard error"


# ---- info --json


def paths(value: Any, before: str = "") -> Iterable[str]:
    """The keys in a JSON value, with their place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{before}.{key}" if before else key
            yield path
            yield from paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{before}[]")


def info(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    from addon.cli import main

    assert main(["info", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def missing(answer: Any, keys: Iterable[str]) -> set[str]:
    """Keys that some object of the answer lacks. Of what is not there, as an engine or a report's lines, none is."""
    lost = set()
    for key in keys:
        holder, _, name = key.rpartition(".")
        objects = [answer]
        for step in filter(None, holder.replace("[]", "").split(".")):
            objects = [obj[step] for obj in objects if step in obj]
            objects = [inner for obj in objects for inner in (obj if isinstance(obj, list) else [obj])]
        if any(name not in obj for obj in objects if obj is not None):
            lost.add(key)
    return lost


FILES = [*ROLES, "humanoid/humanoid.skel", "humanoid/squat.xmdi"]


@pytest.mark.parametrize("name", FILES)
def test_info_has_its_keys(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert missing(info(capsys, SAMPLES / name), API["info --json"]) == set()


def test_every_key_of_info_is_in_some_sample(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = tmp_path / "report.jm"
    text = (SAMPLES / "hexapod/hexapod.jm").read_text(encoding="utf-8")
    lines.write_text(text.replace("<Mass>2.5</Mass>", "", 1), encoding="utf-8")
    seen = {path for name in FILES for path in paths(info(capsys, SAMPLES / name))} | set(paths(info(capsys, lines)))
    assert set(API["info --json"]) <= seen


def test_matrices_of_info_are_by_rows_at_the_design_pose(capsys: pytest.CaptureFixture[str]) -> None:
    answer = info(capsys, SAMPLES / "desk_lamp/desk_lamp.skel")
    bodies = {body["name"]: np.array(body["matrix_world"]) for body in answer["bodies"]}
    assert bodies["foot"].shape == (4, 4)
    assert bodies["shade"][3].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert bodies["shade"][:3, 3] == pytest.approx([0.0, 0.85, 0.0]), "<transformation> of the file"
    dofs = {joint["name"]: joint["dofs"] for joint in answer["joints"]}
    assert [dof["position"] for dof in dofs["shoulder"]] == [0.5]
    assert [dof["position"] for dof in dofs["neck"]] == [-1.4, 0.0]


# ---- Python


def named(name: str) -> Any:
    """What a dotted name means, imported as a script would."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def unlike_signature(expected: inspect.Signature, found: inspect.Signature) -> list[str]:
    """How a function can no longer be called as before: by position, by name, or with fewer arguments."""
    wrong, now = [], list(found.parameters.values())
    for index, was in enumerate(expected.parameters.values()):
        by_name = found.parameters.get(was.name)
        if by_name is None:
            wrong.append(f"{was.name} is missing")
            continue
        if was.kind is was.POSITIONAL_OR_KEYWORD and (by_name.kind is not was.kind or now[index] != by_name):
            wrong.append(f"{was.name} is not argument {index + 1}")
        if was.default is ...:  # made anew at every call
            wrong += [] if by_name.default is not by_name.empty else [f"{was.name} is required"]
        elif was.default is was.empty:
            continue  # what needed an argument may have a default now
        elif by_name.default != was.default or type(by_name.default) is not type(was.default):
            wrong.append(f"{was.name} is {by_name.default!r} by default, not {was.default!r}")
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wrong += [
        f"{each.name} is required"
        for each in now
        if each.name not in expected.parameters and each.default is each.empty and each.kind not in variadic
    ]
    return wrong


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("name", API["python"])
def test_every_function_can_be_called_as_before(name: str) -> None:
    text = API["python"][name][1:-1]
    expected = inspect.signature(eval(f"lambda {text}: None"))  # noqa: S307 - our own data
    assert unlike_signature(expected, inspect.signature(named(name))) == []


@pytest.mark.parametrize("name", API["fields"])
def test_every_record_has_its_fields(name: str) -> None:
    there = [field.name for field in dataclasses.fields(named(name))]
    assert [field for field in API["fields"][name] if field not in there] == []


def test_a_format_error_is_a_value_error_with_its_place() -> None:
    from addon.core.report import FormatError

    error = FormatError("the mass is 'heavy'", path="a.jm", line=3, where="Body", remedy="Write a number.")
    assert isinstance(error, ValueError)
    assert str(error) == "a.jm:3: <Body>: the mass is 'heavy'. Write a number."


# ---- operators


def properties(name: str) -> dict[str, Any]:
    """The properties of an operator, as Blender knows them."""
    import bpy

    module, _, verb = name.partition(".")
    made = getattr(getattr(bpy.ops, module), verb).get_rna_type()
    return {each.identifier: each for each in made.properties}


def unlike_property(expected: Mapping[str, Any], found: Any) -> list[str]:
    """How a property of an operator differs from what it was."""
    if found is None:
        return ["is missing"]
    several = found.type == "ENUM" and found.is_enum_flag
    kind = "enum of several" if several else found.type.lower()
    if kind != expected["type"]:
        return [f"is of type {kind}, not {expected['type']}"]
    wrong = []
    if "default" in expected:
        if several:
            default: Any = sorted(found.default_flag)
        else:
            default = list(found.default_array) if getattr(found, "is_array", False) else found.default
        if default != expected["default"]:
            wrong.append(f"is {default!r} by default, not {expected['default']!r}")
    lost = set(expected.get("items", ())) - {item.identifier for item in getattr(found, "enum_items", ())}
    return wrong + ([f"lost the items {sorted(lost)}"] if lost else [])


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("name", API["operators"])
def test_every_operator_takes_what_it_took(name: str) -> None:
    import bpy

    module, _, verb = name.partition(".")
    assert verb in dir(getattr(bpy.ops, module)), "there is no such operator"
    there = properties(name)
    rows: Mapping[str, Any] = API["operators"][name]
    found = {prop: unlike_property(expected, there.get(prop)) for prop, expected in rows.items()}
    assert {prop: wrong for prop, wrong in found.items() if wrong} == {}


# ---- what objects say of themselves


@pytest.mark.parametrize("name", ROLES)
def test_every_object_has_its_role_and_its_name_in_the_file(blank: Any, name: str) -> None:
    import bpy

    from addon import formats

    assert bpy.ops.import_scene.mechanism(filepath=str(SAMPLES / name)) == {"FINISHED"}
    objects = [obj for obj in bpy.data.objects if obj.knuckle.role != "NONE"]
    counts = Counter(obj.knuckle.role for obj in objects)
    assert {role: counts[role] for role in ROLES[name]} == ROLES[name]
    mechanism = formats.load(SAMPLES / name)
    for role, records in (("BODY", mechanism.bodies), ("JOINT", mechanism.joints)):
        known = sorted((obj.knuckle.source_id, obj.knuckle.source_name) for obj in objects if obj.knuckle.role == role)
        assert known == sorted((record.id, record.name) for record in records)


def test_roles_and_drives_are_called_as_before(blank: Any) -> None:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(SAMPLES / "hexapod/hexapod.jm")) == {"FINISHED"}
    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    roles = {item.identifier for item in rig.knuckle.bl_rna.properties["role"].enum_items}
    assert {"NONE", "MODEL", "BODY", "JOINT", "FRAME", "SHAPE", "LIGHT", "LABEL"} <= roles
    drives = [item.identifier for item in rig.data.knuckle.bl_rna.properties["drive"].enum_items]
    assert drives[:3] == ["KEYS", "SERVO", "LIMP"], "curves have them by number"
    assert rig.data.knuckle.drive == "KEYS"
    controls = {f"joystick_{stick}_{axis}" for stick in (1, 2) for axis in "xyzr"} | {"key_up_down", "key_left_right"}
    assert {name: getattr(rig.data.knuckle.controls, name) for name in controls} == dict.fromkeys(controls, 0.0)


# ---- that the comparisons see


def test_a_changed_option_is_seen() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--new", required=True)
    parser.add_argument("--stage", choices=["studio"], default="studio")
    stage = command_line(parser)["--stage"]
    assert unlike_option({"takes": "one value", "default": "studio", "choices": ["studio"]}, stage) == []
    assert unlike_option({"takes": "one value", "default": "outdoor", "choices": ["studio", "moon"]}, stage) == [
        "has the default 'studio', not 'outdoor'",
        "lost the choices ['moon']",
    ]
    assert unlike_option({"takes": "flag"}, stage)[0].startswith("takes ['one value']")
    assert unlike_option({"takes": "one value"}, None) == ["is missing"]
    assert missing({"bodies": [{"id": 1}, {}]}, ["bodies", "bodies[].id", "joints"]) == {"bodies[].id", "joints"}


def test_a_changed_signature_is_seen() -> None:
    was = inspect.signature(lambda path, format=None, *, step=1.0: None)
    now = (
        (lambda path, format=None, *, step=1.0, more=0: None, []),
        (lambda path, format=None, step=1.0: None, []),
        (lambda path, kind=None, *, step=1.0: None, ["format is missing"]),
        (lambda format=None, path="", *, step=1.0: None, ["path is not argument 1", "format is not argument 2"]),
        (lambda path, format="", *, step=1: None, ["format is '' by default, not None", "step is 1 by default"]),
        (lambda path, format=None, *, step=1.0, more: None, ["more is required"]),
    )
    for function, expected in now:
        found = unlike_signature(was, inspect.signature(function))
        assert len(found) == len(expected)
        assert all(line.startswith(start) for line, start in zip(found, expected, strict=True)), found
