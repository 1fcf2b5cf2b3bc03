"""A Shift file that cannot be read is refused with file, line and path; what can be mended is, and is said."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Mechanism
from addon.formats import FormatError

GOOD: dict[str, Any] = {
    "model_parameters": {"gravity": [0, 0, 9.81]},
    "fixed": {"frames": [{"name": "wall"}], "lights": [{"name": "l", "parent": ["fixed", "wall"]}]},
    "assemblies": [
        {
            "name": "m",
            "bodies": [{"name": "a", "mass": 1, "frames": [{"name": "tip", "T": [0, 0, 1]}]}, {"name": "b"}],
            "joints": [
                {"name": "j", "type": "Rx", "body_frame_pairs": [["fixed", "wall"], ["a", "origin"]]},
                {"name": "k", "type": "revolute", "axis": "x", "body_frame_pairs": [["a", "tip"], ["b", "origin"]]},
            ],
            "restraints": [{"name": "r", "joint": "j", "knot_points": [0], "coefficients": [[1], [2]]}],
        }
    ],
}


def with_value(path: str, value: Any) -> str:
    """The good document with one value changed."""
    document = json.loads(json.dumps(GOOD))
    holder = document
    *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in way:
        holder = holder[step]
    holder[last] = value
    return json.dumps(document, indent=1)


def dotted(path: str, up: int = 0) -> str:
    """A path as errors have it, without its last steps."""
    steps = path.split("/")
    found = "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps[: len(steps) - up])
    return found.lstrip(".")


def load(text: str) -> Mechanism:
    return formats.loads(text.encode(), "bad.json")


WRONG = [  # path, value, words of what is wanted there
    ("assemblies/0/bodies", 5, "a list"),
    ("assemblies/0/bodies/1", "b", "an object"),
    ("assemblies/0/bodies/0/mass", "heavy", "a number"),
    ("assemblies/0/bodies/0/mass", [1], "a number"),
    ("assemblies/0/bodies/0/mass", True, "a number"),
    ("assemblies/0/bodies/0/name", ["a"], "a name"),
    ("assemblies/0/bodies/0/center_of_mass", [1, 2], "three numbers"),
    ("assemblies/0/bodies/0/frames/0/T", [1, 2, None], "three numbers"),
    ("assemblies/0/bodies/0/frames/0/R", [[1, 0, 0]], "three rows"),
    ("assemblies/0/bodies/0/geometry", 7, "geometry"),
    ("assemblies/0/bodies/0/geometry", [{"filename": 7}], "list of names"),
    ("assemblies/0/bodies/0/definition", {"a": 1}, "names"),
    ("assemblies/0/active", "yes", "true or false"),
    ("assemblies/0/joints/0/type", 7, "a text"),
    ("assemblies/0/joints/1/axis", "w", "an axis"),
    ("assemblies/0/joints/0/initial_displacement", "x", "a number"),
    ("assemblies/0/joints/0/initial_displacement", {"R": 1}, "R"),
    ("assemblies/0/joints/0/initial_velocity", {}, "a number"),
    ("assemblies/0/joints/0/stiffness", [1, "x"], "list of numbers"),
    ("assemblies/0/joints/0/body_frame_pairs", [["fixed", "wall"]], "pairs"),
    ("assemblies/0/joints/0/body_frame_pairs/1", [1, 2], "body and a frame"),
    ("assemblies/0/joints/0/body_frame_pairs", None, "pairs"),
    ("assemblies/0/restraints/0/coefficients", [[1]], "1 knots and 1 pieces"),
    ("assemblies/0/restraints/0/coefficients", [1], "lists of numbers"),
    ("model_parameters/gravity", 9.81, "three numbers"),
    ("fixed", [], "object"),
    ("fixed/lights/0/Kd", [1], "three numbers"),
    ("fixed/lights/0/parent", 3, "body and a frame"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "wanted"), WRONG)
def test_a_value_of_the_wrong_kind_is_rejected(path: str, value: Any, wanted: str) -> None:
    text = with_value(path, value)
    with pytest.raises(FormatError) as caught:
        load(text)
    error = caught.value
    assert (error.path, error.where) == ("bad.json", dotted(path))
    assert error.remedy
    assert wanted in error.message
    key = path.rsplit("/", maxsplit=1)[-1]
    line = text.splitlines()[error.line - 1]
    assert f'"{key}"' in line or key.isdigit()


def test_assemblies_are_a_list() -> None:
    with pytest.raises(FormatError):
        load(with_value("assemblies", {"m": 1}))


def test_joints_without_ends_are_rejected() -> None:
    document = json.loads(json.dumps(GOOD))
    del document["assemblies"][0]["joints"][0]["body_frame_pairs"]
    with pytest.raises(FormatError, match=r"assemblies\[0\].joints\[0\]>: the joint has no bodies"):
        load(json.dumps(document))
    document["assemblies"][0]["joints"][0]["parent"] = [["fixed"], "wall"]
    with pytest.raises(FormatError, match="the joint has no child"):
        load(json.dumps(document))


MENDED = [  # path, value, the code of the entry that says so, how many steps up it says so
    ("assemblies/0/joints/0/body_frame_pairs/1/0", "ghost", "inactive-joint", 3),
    ("assemblies/0/joints/0/body_frame_pairs/1/0", "fixed", "inactive-joint", 3),
    ("assemblies/0/joints/0/type", "planar", "inactive-joint", 1),
    ("assemblies/0/joints/1/body_frame_pairs/0/1", "ghost", "missing-frame", 0),
    ("assemblies/0/joints/1/axis", [0, 0, 0], "repaired-axis", 0),
    ("assemblies/0/bodies/0/name", "", "repaired-name", 1),
    ("assemblies/0/bodies/1/name", "x:y", "reserved-name", 1),
    ("assemblies/0/bodies/1/name", "fixed", "reserved-name", 1),
    ("assemblies/0/bodies/0/frames/0/name", "origin", "reserved-name", 1),
    ("assemblies/0/bodies/0/frames/0/R", [[1, 0, 0], [0, 1, 0], [0, 0.01, 1]], "repaired-rotation", 0),
    ("assemblies/0/bodies/0/frames/0/R", [[1, 0, 0], [0, 1, 0], [0, 0, -1]], "mirrored-rotation", 0),
    ("assemblies/0/bodies/0/frames/0/R", [[0, 0, 0], [0, 0, 0], [0, 0, 0]], "repaired-rotation", 0),
    ("assemblies/0/bodies/0/definition", ["http://x.org/a.obj"], "mesh-address", 0),
    ("assemblies/0/bodies/0/definition", ["\\\\host\\a.obj"], "mesh-address", 0),
    ("assemblies/0/restraints/0/joint", "ghost", "missing-joint", 1),
    ("fixed/lights/0/type", "neon", "unknown-light", 1),
    ("fixed/lights/0/parent", ["ghost", "origin"], "missing-body", 0),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "code", "up"), MENDED)
def test_repairable_values_are_fixed_and_reported(path: str, value: Any, code: str, up: int) -> None:
    text = with_value(path, value)
    mechanism = load(text)
    entry = next(entry for entry in mechanism.report.entries if entry.code == code)
    assert (entry.severity, entry.where) == ("warning", dotted(path, up))
    assert entry.line
    for pose in [body.pose for body in mechanism.bodies] + [frame.pose for frame in mechanism.frames]:
        assert np.isfinite(pose).all()
        assert np.abs(pose[:3, :3] @ pose[:3, :3].T - np.eye(3)).max() < 1e-12
        assert np.linalg.det(pose[:3, :3]) > 0
    assert formats.dumps(mechanism)[0] == text


def test_null_stands_for_nothing() -> None:
    inside = [f"assemblies/0/{key}" for key in ("bodies/0/frames", "bodies/0/mass", "restraints", "active")]
    for path in (*inside, "fixed/lights", "model_parameters/gravity"):
        text = with_value(path, None)
        assert formats.dumps(load(text))[0] == text


def test_our_own_marks_are_not_taken_on_trust() -> None:
    marks: list[Any] = [
        5,
        {"shapes": 3},
        {"shapes": [{"type": "box", "size": {"x": "wide"}}]},
        {"shapes": [{"type": "torus", "size": {}}]},
        {"gravity": "no", "twin": 4, "name": "n"},
        {"dofs": [{"lower": "x", "gain": [1], "parts": [{"kind": "soft"}]}], "type": 7},
        {"joint": "j", "part": 1, "parts": 2},
        {"joint": "j", "part": 1, "parts": 10**9},
        {"placement": True},
        {"part_of": "j"},
    ]
    for mark in marks:
        for path in ("assemblies/0/bodies/0/knuckle", "assemblies/0/joints/0/knuckle", "model_parameters/knuckle"):
            text = with_value(path, mark)
            mechanism = load(text)
            assert len(mechanism.bodies) == 2
            assert all(isinstance(body.gravity, bool) for body in mechanism.bodies)
            if "placement" not in str(mark):
                assert formats.dumps(mechanism)[0] == text


OTHERS = {
    '{"asset": {"version": "2.0"}, "scenes": [], "nodes": []}': "glTF",
    '{"name": "x", "version": "1.0.0", "scripts": {}}': "package.json",
    '{"links": [], "joints": []}': "LinkForge",
    '{"type": "FeatureCollection", "features": []}': "GeoJSON",
    '{"cells": [], "nbformat": 4}': "Jupyter",
    '{"bodies": 3}': "unknown kind of JSON",
    '{"bodies": [{"planet": "Mars"}], "joints": []}': "unknown kind of JSON",
    '{"assemblies": [{"parts": []}]}': "unknown kind of JSON",
    "[1, 2]": "JSON without an object at its top",
    "{}": "unknown kind of JSON",
    '// notes\n{"a": 1}': "unknown kind of JSON",
}


@pytest.mark.parametrize(("text", "what"), OTHERS.items(), ids=OTHERS.values())
def test_other_programs_json_is_called_by_its_name(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="which is not supported") as caught:
        load(text)
    assert what in caught.value.message
    assert "Shift (.json)" in caught.value.remedy
    path = tmp_path / "scene.json"
    path.write_text(text)
    with pytest.raises(FormatError):
        formats.load_motion(path)


def test_a_shift_model_is_no_motion(tmp_path: Path) -> None:
    path = tmp_path / "arm.json"
    path.write_text(json.dumps(GOOD))
    assert not formats.is_motion(path)
    with pytest.raises(FormatError, match=r"this is a model \(Shift\), not a servo motion"):
        formats.load_motion(path)


def test_any_cut_of_a_file_is_rejected() -> None:
    text = json.dumps(GOOD)
    for end in range(1, len(text), 7):
        with pytest.raises(FormatError) as caught:
            load(text[:end])
        assert caught.value.line == 1


def test_a_large_file_is_read_in_moments() -> None:
    bodies = [{"name": f"b{k}", "mass": 1.0, "frames": [{"name": "tip", "T": [0, 0, 1]}]} for k in range(1000)]
    joints = [
        {"name": f"j{k}", "type": "Rx", "body_frame_pairs": [["fixed", "origin"] if not k else [f"b{k - 1}", "tip"],
                                                             [f"b{k}", "origin"]]} for k in range(1000)
    ]  # fmt: skip
    text = json.dumps({"assemblies": [{"name": "chain", "bodies": bodies, "joints": joints}]}, indent=2)
    start = time.process_time()
    mechanism = load(text)
    assert time.process_time() - start < 5.0
    assert mechanism.bodies[-1].pose[2, 3] == pytest.approx(999.0)
