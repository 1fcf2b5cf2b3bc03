"""Restraints go to the twins of what they are on, as mirror images: judged by the forces that the exported text means,
which are worked out here, while the two halves move as mirror images."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, twin_of
from addon.core.transforms import rotation_matrix
from tests.support.mirror_images_helpers import exported, find_and_link, reopened
from tests.support.scenes import body, joint_of, pick, the_rig
from tests.support.shift_helpers import placed, pose

FLIP = np.diag([-1.0, 1.0, 1.0, 1.0])
LAWS = {"knot_points": [-0.2, 0.1], "coefficients": [[1.0, 0.5, -2.0], [3.0, 0.0, 0.7, 0.1], [4.0]]}


def frame(name: str, place: list[float], turn: list[float]) -> dict[str, Any]:
    return {"name": name, "T": place, "R": rotation_matrix(np.array(turn)).tolist()}


def document(right: list[dict[str, Any]] = [], joint: str = "Ry") -> dict[str, Any]:  # noqa: B006
    """A base with two legs of two bodies. The left ones have all kinds of restraints, the right ones those that are
    told."""
    rng = np.random.default_rng(4)
    base = {"name": "base", "mass": 5.0, "frames": [frame("hook", [0.0, 0.1, 0.4], [0.0, 0.0, 0.0])]}
    bodies, joints = (
        [base],
        [
            {
                "name": "root",
                "type": "rigid",
                "initial_displacement": 0,
                "body_frame_pairs": [["fixed", "origin"], ["base", "origin"]],
            }
        ],
    )
    for side, sign in (("left", -1.0), ("right", 1.0)):
        base["frames"].append(frame(f"{side}_hip", [0.5 * sign, 0.2, -0.1], [0.0, 0.0, 0.0]))
        for part in ("thigh", "shin"):
            turns = rng.normal(size=3).tolist()
            frames = [
                frame("knee", [0.1 * sign, 0.0, -0.6], [0.0, 0.0, 0.0]),
                frame("pin", [0.07 * sign, 0.2, 0.3], turns),
            ]
            bodies.append(
                {"name": f"{side}_{part}", "mass": 1.0, "center_of_mass": [0.02 * sign, 0.1, 0.2], "frames": frames}
            )
        ends = (
            [["base", f"{side}_hip"], [f"{side}_thigh", "origin"]],
            [[f"{side}_thigh", "knee"], [f"{side}_shin", "origin"]],
        )
        joints += [
            {"name": f"{side}_{name}", "type": joint, "initial_displacement": 0.2, "body_frame_pairs": pair}
            for name, pair in zip(("hip", "kneecap"), ends, strict=True)
        ]
    pins = [["left_thigh", "pin"], ["left_shin", "pin"]]
    parenting, ground = ["base", "hook"], ["fixed", "origin"]
    own = [
        {"name": "left_muscle", "type": "spring", "body_frame_pair": pins, **LAWS},
        {"name": "left_rail", "type": "spring", "distance_type": "Tx", "body_frame_pair": pins, **LAWS},
        {"name": "guide", "type": "damper", "distance_type": "Tz", "body_frame_pair": [parenting, pins[1]], **LAWS},
        {"name": "tether", "type": "spring", "distance_type": "Ty", "body_frame_pair": [ground, pins[0]], **LAWS},
        {"name": "left_stop", "type": "spring", "joint": "left_hip", **LAWS},
        {"name": "between", "type": "spring", "body_frame_pair": [pins[0], ["right_thigh", "pin"]], **LAWS},
    ]  # fmt: skip
    top = {"name": "walker", "bodies": bodies, "joints": joints, "restraints": [*own, *right]}
    return {"model_parameters": {"version": "0.2"}, "assemblies": [top]}


RIGHT = [
    {"name": "rope", "type": "damper", "distance_type": "Ty", "knot_points": [], "coefficients": [[9.0, 9.0]],
     "body_frame_pair": [["base", "hook"], ["right_shin", "pin"]]},
    {"name": "right_rail", "type": "spring", "knot_points": [], "coefficients": [[7.0, 0.0]],
     "body_frame_pair": [["right_thigh", "origin"], ["right_shin", "knee"]]},
    {"name": "right_muscle", "type": "spring", "knot_points": [], "coefficients": [[5.0, 0.0]],
     "body_frame_pair": [["right_thigh", "pin"], ["right_shin", "pin"]]},
]  # fmt: skip


def opened(folder: Path, told: dict[str, Any]) -> Any:
    (folder / "walker.json").write_text(json.dumps(told))
    assert bpy.ops.import_scene.mechanism(filepath=str(folder / "walker.json")) == {"FINISHED"}
    rig = the_rig()
    settings(rig).mirror.axis = "X"
    find_and_link(rig)
    assert twin_of(body(rig, "left_shin")).name == "right_shin"
    return rig


def mirror(rig: Any, side: str) -> None:
    pick(*(obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.name.startswith(side)))
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}


def law(row: dict[str, Any], value: float) -> float:
    piece = row["coefficients"][bisect_left(row["knot_points"], value)]
    return float(np.polyval(piece, value))


def force(told: dict[str, Any], row: dict[str, Any], world: dict[str, np.ndarray]) -> np.ndarray:
    """What a restraint does to its second body: the force, and where it is, (2, 3)."""
    frames = {(b["name"], f["name"]): pose(f) for b in told["assemblies"][0]["bodies"] for f in b.get("frames") or []}
    one, other = (world[b] @ frames.get((b, f), np.eye(4)) for b, f in row["body_frame_pair"])
    apart = other[:3, 3] - one[:3, 3]
    kind = row.get("distance_type", "")
    along = one[:3, "xyz".index(kind[1])] if kind[:1] == "T" else apart / np.linalg.norm(apart)
    return np.array([-law(row, float(along @ apart)) * along, other[:3, 3]])


def posed(world: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Bodies moved at will, those of the right side as the mirror image of those of the left."""
    out = dict(world)
    for name in ("thigh", "shin"):
        move = np.eye(4)
        move[:3, :3], move[:3, 3] = rotation_matrix(rng.normal(size=3)), rng.normal(size=3) * 0.3
        out[f"left_{name}"] = move @ world[f"left_{name}"]
        out[f"right_{name}"] = FLIP @ move @ FLIP @ world[f"right_{name}"]
    return out


def axis_of(told: dict[str, Any], name: str, world: dict[str, np.ndarray]) -> np.ndarray:
    (joint,) = (each for each in told["assemblies"][0]["joints"] if each["name"] == name)
    return world[name.replace("hip", "thigh")][:3, "xyz".index(joint["type"][1])]


def are_mirror_images(told: dict[str, Any], pairs: list[tuple[str, str]]) -> None:
    rows = {row["name"]: row for row in told["assemblies"][0]["restraints"]}
    world = placed(told)[0]
    rng = np.random.default_rng(9)
    for _ in range(20):
        now = posed(world, rng)
        for first, second in pairs:
            one, other = rows[first], rows[second]
            if one.get("joint"):
                value = float(rng.normal())
                axes = [axis_of(told, row["joint"], now) for row in (one, other)]
                image = -FLIP[:3, :3] @ axes[0]
                sign = float(np.sign(image @ axes[1]))
                assert law(other, sign * value) * axes[1] == pytest.approx(law(one, value) * image, abs=1e-4)
            else:
                wanted = force(told, one, now) @ FLIP[:3, :3]
                assert force(told, other, now) == pytest.approx(wanted, abs=1e-4 * (1.0 + np.abs(wanted).max())), first


def text_of(rig: Any, folder: Path) -> dict[str, Any]:
    return json.loads(exported(rig, folder).read_text())


NEW = [("left_muscle", "right_muscle"), ("left_rail", "right_rail"), ("guide", "guide twin"), ("tether", "tether twin"),
       ("left_stop", "right_stop")]  # fmt: skip
OLD = [*NEW[:2], ("guide", "rope"), *NEW[3:]]


@pytest.mark.parametrize("joint", ["Ry", "Rx"])
@pytest.mark.parametrize(("right", "pairs"), [([], NEW), (RIGHT, OLD)], ids=["made", "set"])
def test_restraints_of_twins_pull_as_mirror_images(
    blank: Any, tmp_path: Path, right: Any, pairs: Any, joint: str
) -> None:
    """There and back leaves both as after the first; a saved file too. What joins the halves stays as it is."""
    before = document(right, joint)
    rig = opened(tmp_path, before)
    mirror(rig, "left")
    text = exported(rig, tmp_path).read_text()
    told = json.loads(text)
    rows = {row["name"]: row for row in told["assemblies"][0]["restraints"]}
    assert set(rows) == {each for pair in pairs for each in pair} | {"between"}
    assert [rows[row["name"]] for row in before["assemblies"][0]["restraints"][:6]] == before["assemblies"][0][
        "restraints"
    ][:6]
    are_mirror_images(told, pairs)
    frames = {b["name"]: {f["name"] for f in b["frames"]} for b in told["assemblies"][0]["bodies"]}
    assert frames == {b["name"]: {f["name"] for f in b["frames"]} for b in before["assemblies"][0]["bodies"]}
    for side in ("right", "left"):
        mirror(rig, side)
        assert exported(rig, tmp_path).read_text() == text
    rig = reopened(tmp_path)
    assert exported(rig, tmp_path).read_text() == text


def test_twins_that_are_made_have_them_and_physics_knows(blank: Any, tmp_path: Path) -> None:
    told = document()
    top = told["assemblies"][0]
    for key in ("bodies", "joints"):
        top[key] = [each for each in top[key] if not each["name"].startswith("right")]
    top["restraints"] = [each for each in top["restraints"] if each["name"] != "between"]
    (tmp_path / "walker.json").write_text(json.dumps(told))
    assert bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "walker.json")) == {"FINISHED"}
    rig = the_rig()
    count = len(settings(rig).restraints)
    pick(body(rig, "left_thigh"), body(rig, "left_shin"))
    assert bpy.ops.knuckle.create_twin(plane="X") == {"FINISHED"}
    are_mirror_images(text_of(rig, tmp_path), NEW)
    assert len(settings(rig).restraints) == 2 * count
    made = next(each for each in settings(rig).restraints if each.name == "right_stop")
    assert made.joint == twin_of(joint_of(rig, body(rig, "left_thigh")))
    ends = next(each for each in settings(rig).restraints if each.name == "right_rail")
    assert (record_of(ends.body_a).source_name, record_of(ends.body_b).source_name) == ("right_thigh", "right_shin")
    knots, _pieces = json.loads(made.law)
    assert knots in ([-0.1, 0.2], [-0.2, 0.1])


def test_a_part_of_a_limb_takes_its_own_along_and_a_deleted_one_none(blank: Any, tmp_path: Path) -> None:
    rig = opened(tmp_path, document(RIGHT))
    mirror(rig, "left_shin")
    rows = {row["name"]: row for row in text_of(rig, tmp_path)["assemblies"][0]["restraints"]}
    assert "tether twin" not in rows and "right_stop" not in rows
    assert rows["right_muscle"]["coefficients"] == LAWS["coefficients"]
    pick(body(rig, "right_shin"))
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    mirror(rig, "left_thigh")
    rows = {row["name"]: row for row in text_of(rig, tmp_path)["assemblies"][0]["restraints"]}
    assert "right_muscle" not in rows and "tether twin" in rows
