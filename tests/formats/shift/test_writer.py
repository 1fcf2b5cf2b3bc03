"""A Shift document that is saved keeps its very text but for what was edited; others are written whole."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import initial_joint_values, spanning_tree
from addon.core.mass_properties import body_inertia
from addon.core.model import Array, Assembly, Body, Dof, Frame, Joint, Light, Mechanism, Motion, Restraint, Shape, World
from addon.formats import FormatError


def files(corpus: Path) -> list[Path]:
    found = sorted((corpus / "shift").rglob("*.json"))
    if not found:
        pytest.skip("real Shift files are not here")
    return found


def loads(text: str) -> Mechanism:
    return formats.loads(text.encode(), "robot.json")


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, where none was added or removed."""
    one, other = before.splitlines(), after.splitlines()
    assert len(one) == len(other)
    return [(a.strip(), b.strip()) for a, b in zip(one, other, strict=True) if a != b]


def lenient(text: str) -> Any:
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or " ", text, flags=re.S)
    return json.loads(re.sub(r",(\s*[\]}])", r"\1", text))


def world(mechanism: Mechanism, values: dict | None = None) -> Array:
    return spanning_tree(mechanism).forward(initial_joint_values(mechanism) if values is None else values)[0]


def random_values(mechanism: Mechanism, seed: int = 3) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {key: rng.normal(scale=0.7, size=value.shape) for key, value in initial_joint_values(mechanism).items()}


# ------------------------------------------------------------------------------------------- kept documents


def test_what_was_not_edited_is_saved_byte_for_byte(corpus: Path, tmp_path: Path) -> None:
    for path in files(corpus):
        target = tmp_path / path.name
        report = formats.save(formats.load(path), target)
        assert target.read_bytes() == path.read_bytes(), path
        assert [entry.code for entry in report.entries if entry.code != "meshes-stay"] == ["document-kept"]


def test_windows_line_ends_and_a_byte_order_mark_stay(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + DOCUMENT.replace("\n", "\r\n").encode()
    (tmp_path / "a.json").write_bytes(data)
    mechanism = formats.load(tmp_path / "a.json")
    formats.save(mechanism, tmp_path / "b.json")
    assert (tmp_path / "b.json").read_bytes() == data
    mechanism.bodies.append(Body("new", "tool", assembly="arm"))
    formats.save(mechanism, tmp_path / "b.json")
    saved = (tmp_path / "b.json").read_bytes()
    assert saved.startswith(b"\xef\xbb\xbf")
    assert saved.count(b"\n") == saved.count(b"\r\n") > data.count(b"\n")


def with_one(array: Any, at: Any, value: float) -> Any:
    """A copy of an array, which several records may share, with one number changed."""
    out = array.copy()
    out[at] = value
    return out


def test_an_edit_of_a_real_file_changes_one_number(corpus: Path) -> None:
    edits: list[Callable[[Mechanism], None]] = [
        lambda m: setattr(m.bodies[-1], "mass", 7.25),
        lambda m: setattr(m.bodies[0], "com", with_one(m.bodies[0].com, 1, 7.25)),
        lambda m: setattr(m.bodies[0], "inertia", with_one(m.bodies[0].inertia, (2, 2), 7.25)),
        lambda m: m.world.gravity.__setitem__(2, 7.25),
        lambda m: setattr(m.lights[1], "diffuse", (m.lights[1].diffuse[0], 7.25, m.lights[1].diffuse[2])),
        lambda m: setattr(m.joints[-1].dofs[0], "position", 7.25),
    ]
    count = 0
    for path in files(corpus):
        for number, edit in enumerate(edits[:1] if "collision" in str(path) else edits):
            mechanism = formats.load(path)
            massless = not mechanism.bodies[0].mass or not mechanism.bodies[-1].mass
            if massless or (number == 4 and not mechanism.lights):
                continue
            edit(mechanism)
            text, _ = formats.dumps(mechanism)
            ((old, new),) = changed_lines(mechanism.source.text, text)
            before, after = new.split("7.25")
            assert old.startswith(before)
            assert old.endswith(after)
            assert re.fullmatch(r"-?[0-9.e+-]+", old[len(before) : len(old) - len(after)])
            count += 1
    assert count > 80


DOCUMENT = """{ // a small arm
  "model_parameters": {"version": "0.2", "units": {"angle": "radians"}, "gravity": [0, 0, 9.810]},
  "fixed": {
    "frames": [ {"name": "wall", "T": [1e0, 0.50, 0]}, {"name": "lamp", "T": [0, 0, -24.0]} ],
    "lights": [{"name": "sun", "type": "point", "parent": ["fixed", "lamp"], "Kd": [0.6, 0.6, 0.6]}]
  },
  "terrain": [{"name": "floor", "type": "flat"}],
  "assemblies": [
    {
      "name": "arm",
      "comment": "kept",
      "active": true,
      "bodies": [
        {"name": "upper", "definition": ["upper.obj", "upper.mtl"], "mass": 2.50, "frames": [
          {"name": "elbow", "T": [0, 0, 1.0]}, /* two joints */
          {"name": "spare"}
        ]},
        {"name": "fore", "mass": 1, "moment_of_inertia": {"Ixx": 1.0, "Iyy": 1.0, "Izz": 0.1}}, // last
        {"name": "hand"}
      ],
      "joints": [
        {"name": "shoulder", "type": "Ry", "initial_displacement": 0.30, "body_frame_pairs": [["fixed", "wall"], ["upper", "origin"]]},
        {"name": "elbow", "type": "Rx", "initial_displacement": 0.1, "stiffness": [-1.0, 4.0, 0.5], "body_frame_pairs": [["upper", "elbow"], ["fore", "origin"]]},
        {"name": "wrist", "type": "spherical", "body_frame_pairs": [["upper", "elbow"], ["hand", "origin"]]},
      ],
      "restraint": {"name": "k", "type": "spring", "joint": "elbow", "knot_points": [0], "coefficients": [[2, 0.5, 0], [0]]}
    },
  ]
}
"""  # fmt: skip  # noqa: E501


def edited(change: Callable[[Mechanism], Any], text: str = DOCUMENT, moves: bool = True) -> str:
    """The document after a change; it is read back, is then kept as it is, and moves as the mechanism does."""
    mechanism = loads(text)
    change(mechanism)
    out, _ = formats.dumps(mechanism)
    again = loads(out)
    assert formats.dumps(again)[0] == out
    assert len(again.bodies) == len(mechanism.bodies)
    assert len(again.joints) == len(mechanism.joints)
    if not moves:
        return out
    values = random_values(mechanism)
    renamed = dict(zip(values, [joint.id for joint in again.joints], strict=True))
    found = world(again, {renamed[key]: value for key, value in values.items()})
    assert np.abs(found - world(mechanism, values)).max(initial=0.0) < 1e-12
    return out


def test_the_document_is_read_as_it_stands() -> None:
    mechanism = loads(DOCUMENT)
    assert (len(mechanism.bodies), len(mechanism.joints), len(mechanism.frames)) == (3, 3, 4)
    assert edited(lambda m: None) == DOCUMENT


def test_a_renamed_body_is_renamed_wherever_it_is_named() -> None:
    out = edited(lambda m: setattr(m.bodies[0], "name", "humerus"))
    assert out == DOCUMENT.replace('"upper"', '"humerus"')


def test_a_number_is_spelt_shortly_and_its_neighbours_not_at_all() -> None:
    out = edited(lambda m: setattr(m.joints[0].dofs[0], "position", 1e-7))
    assert out == DOCUMENT.replace("0.30", "1e-07")
    out = edited(lambda m: m.world.gravity.__setitem__(0, 0.1))
    assert out == DOCUMENT.replace("[0, 0, 9.810]", "[0.1, 0, 9.810]")


def test_a_missing_value_is_written_where_it_belongs() -> None:
    out = edited(lambda m: setattr(m.joints[0].dofs[0], "velocity", 2.0))
    assert out == DOCUMENT.replace('"origin"]]},', '"origin"]], "initial_velocity": 2.0},', 1)
    out = edited(lambda m: setattr(m.bodies[2], "mass", 0.5))
    assert out == DOCUMENT.replace('{"name": "hand"}', '{"name": "hand", "mass": 0.5}')
    out = edited(lambda m: m.bodies[1].inertia.__setitem__(([0, 1], [1, 0]), 0.01))
    assert out == DOCUMENT.replace('"Izz": 0.1}', '"Izz": 0.1, "Ixy": 0.01}')
    out = edited(lambda m: setattr(m.bodies[2], "inertia", np.diag([1.0, 2.0, 3.0])))
    moments = lenient(out)["assemblies"][0]["bodies"][2]["moment_of_inertia"]
    assert [moments[name] for name in ("Ixx", "Iyy", "Izz")] == [1, 2, 3]


def test_a_spring_keeps_the_terms_that_it_does_not_know() -> None:
    out = edited(lambda m: setattr(m.joints[1].dofs[0], "stiffness", 8.0))
    assert out == DOCUMENT.replace("[-1.0, 4.0, 0.5]", "[-2.0, 8.0, 0.5]")


def test_a_ball_gets_the_displacement_that_it_is_given() -> None:
    out = edited(lambda m: setattr(m.joints[2].dofs[0], "start", (0.0, 0.0, math.pi / 2)))
    turn = lenient(out)["assemblies"][0]["joints"][2]["initial_displacement"]["R"]
    assert np.array(turn) == pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    assert loads(out).joints[2].dofs[0].start == pytest.approx((0, 0, math.pi / 2))


def test_a_joint_that_moves_alone_takes_its_frame_along() -> None:
    def move(mechanism: Mechanism) -> None:
        mechanism.joints[0].frame_parent = mechanism.joints[0].frame_parent.copy()
        mechanism.joints[0].frame_parent[2, 3] = 0.75

    assert edited(move) == DOCUMENT.replace("[1e0, 0.50, 0]", "[1e0, 0.50, 0.75]")


def test_a_joint_that_shares_its_frame_gets_one_of_its_own() -> None:
    def move(mechanism: Mechanism) -> None:
        mechanism.joints[1].frame_parent = mechanism.joints[1].frame_parent.copy()
        mechanism.joints[1].frame_parent[0, 3] = 0.2

    frames = lenient(edited(move))["assemblies"][0]["bodies"][0]["frames"]
    assert [frame["name"] for frame in frames] == ["elbow", "spare", "elbow_2"]
    assert frames[0]["T"] == [0, 0, 1.0]
    assert frames[2]["T"] == [0.2, 0, 1.0]

    def both(mechanism: Mechanism) -> None:
        move(mechanism)
        mechanism.joints[2].frame_parent = mechanism.joints[1].frame_parent

    assert edited(both) == DOCUMENT.replace("[0, 0, 1.0]}, /*", "[0.2, 0, 1.0]}, /*")


def test_a_joint_at_the_origin_needs_a_frame_when_it_leaves_it() -> None:
    def move(mechanism: Mechanism) -> None:
        mechanism.joints[0].frame_child = np.eye(4)
        mechanism.joints[0].frame_child[2, 3] = 0.5

    document = lenient(edited(move))
    name = document["assemblies"][0]["joints"][0]["body_frame_pairs"][1][1]
    assert name != "origin"
    frames = {frame["name"]: frame for frame in document["assemblies"][0]["bodies"][0]["frames"]}
    assert frames[name]["T"] == [0, 0, 0.5]


def test_parts_are_added_and_taken_away_and_comments_stay() -> None:
    def change(mechanism: Mechanism) -> None:
        mechanism.bodies.append(Body("x", "finger", assembly="arm", mass=0.1, com=np.array([0.0, 0.0, 0.1])))
        joint = Joint("y", "curl", "revolute", "arm:hand", "x", dofs=[Dof("rotation", np.array([1.0, 0.0, 0.0]))])
        joint.frame_parent[2, 3] = 0.2
        joint.assembly = "arm"
        mechanism.joints.append(joint)
        del mechanism.joints[1]
        del mechanism.bodies[1]
        mechanism.restraints.clear()

    out = edited(change)
    assert out.startswith('{ // a small arm\n  "model_parameters"')
    assert "/* two joints */" in out
    assembly = lenient(out)["assemblies"][0]
    assert [body["name"] for body in assembly["bodies"]] == ["upper", "hand", "finger"]
    assert [joint["name"] for joint in assembly["joints"]] == ["shoulder", "wrist", "curl"]
    assert assembly["joints"][2]["body_frame_pairs"] == [["hand", "curl"], ["finger", "origin"]]
    assert assembly["bodies"][1]["frames"] == [{"name": "curl", "T": [0.0, 0.0, 0.2]}]
    assert "restraint" not in assembly or not assembly["restraint"]


def test_a_document_without_any_part_keeps_its_terrain() -> None:
    def clear(mechanism: Mechanism) -> None:
        for parts in (mechanism.bodies, mechanism.joints, mechanism.frames, mechanism.lights, mechanism.restraints):
            parts.clear()

    document = lenient(edited(clear))
    assert document["assemblies"][0]["bodies"] == document["assemblies"][0]["joints"] == []
    assert document["terrain"] == [{"name": "floor", "type": "flat"}]
    assert document["fixed"] == {"frames": [], "lights": []}


def test_switching_off_writes_just_that() -> None:
    off = DOCUMENT.replace('"active": true', '"active": false')
    assert edited(lambda m: setattr(m.assemblies[0], "active", False), moves=False) == off
    out = edited(lambda m: setattr(m.joints[0], "active", False), moves=False)
    assert out == DOCUMENT.replace('"origin"]]},', '"origin"]], "active": false},', 1)
    assert edited(lambda m: None, off) == off
    assert loads(off).joints[0].active is False


def test_a_new_assembly_is_written_with_what_is_in_it() -> None:
    def change(mechanism: Mechanism) -> None:
        mechanism.assemblies.append(Assembly("arm:tool", "tool"))
        mechanism.bodies.append(Body("x", "drill", assembly="arm:tool"))
        mechanism.joints.append(Joint("y", "chuck", "weld", "arm:hand", "x", assembly="arm:tool"))

    inner = lenient(edited(change))["assemblies"][0]["assemblies"]
    assert [item["name"] for item in inner] == ["tool"]
    assert inner[0]["joints"][0]["body_frame_pairs"] == [["arm:hand", "origin"], ["drill", "origin"]]
    assert inner[0]["joints"][0]["type"] == "rigid"


def test_a_second_restraint_makes_a_list_of_the_one() -> None:
    extra = Restraint("d", "damper", joint="arm:shoulder", coefficients=[[1.0, 0.0]], assembly="arm")
    found = lenient(edited(lambda m: m.restraints.append(extra)))["assemblies"][0]["restraint"]
    assert [item["name"] for item in found] == ["k", "d"]
    assert found[1]["joint"] == "shoulder"
    assert edited(lambda m: m.restraints[0].coefficients[0].__setitem__(1, 0.75)) == DOCUMENT.replace(
        "[2, 0.5, 0]", "[2, 0.75, 0]"
    )


def test_letters_of_any_alphabet_are_written() -> None:
    out = edited(lambda m: setattr(m.bodies[2], "name", "Händchen 手"))
    assert '"Händchen 手"' in out
    latin = DOCUMENT.replace("a small arm", "ein kleiner Ärm").encode("cp1252")
    mechanism = formats.loads(latin, "arm.json")
    mechanism.bodies[2].name = "手"
    text, _ = formats.dumps(mechanism)
    assert '"\\u624b"' in text
    assert text.encode("cp1252").count(b"\xc4rm") == 1


def test_a_name_with_a_colon_is_made_safe_and_comes_back() -> None:
    mechanism = loads(DOCUMENT)
    mechanism.bodies[2].name = "hand:left"
    text, _ = formats.dumps(mechanism)
    assert '"hand_left"' in text
    assert loads(text).bodies[2].name == "hand:left"


LATER = """{
  "model_parameters": {"gravity": [0, 0, 9.81], "include_directories": ["."]},
  "frames": [],
  "assemblies": [{"name": "m", "bodies": [
    {"name": "a", "geometry": {"type": "mesh", "filename": ["a.obj"]}, "inertia": {"mass": 1, "Ixx": 1, "Iyy": 1, "Izz": 1}},
    {"name": "b"}],
    "joints": [{"name": "j", "parent": [["fixed"], "origin"], "child": [["a"], "origin"], "type": "revolute", "axis": [0, 3, 4]}]
  }]
}
"""  # noqa: E501


def test_the_later_dialect_stays_what_it_is() -> None:
    assert edited(lambda m: None, LATER) == LATER
    out = edited(lambda m: setattr(m.joints[0].dofs[0], "axis", np.array([0.0, 1.0, 0.0])), LATER)
    assert out == LATER.replace("[0, 3, 4]", "[0, 1.0, 0.0]")
    out = edited(lambda m: setattr(m.bodies[0], "mass", 2.5), LATER)
    assert out == LATER.replace('"mass": 1,', '"mass": 2.5,')

    def add(mechanism: Mechanism) -> None:
        axis = np.array([0.6, 0.0, 0.8])
        joint = Joint("y", "k", "prismatic", "m:a", "m:b", dofs=[Dof("translation", axis)], assembly="m")
        joint.frame_parent[0, 3] = 1.0
        mechanism.joints.append(joint)
        mechanism.bodies[1].mass = 3.0

    document = json.loads(edited(add, LATER))
    joint = document["assemblies"][0]["joints"][1]
    assert (joint["type"], joint["axis"]) == ("prismatic", [0.6, 0.0, 0.8])
    assert (joint["parent"], joint["child"]) == ([["a"], "k"], [["b"], "origin"])
    assert document["assemblies"][0]["bodies"][1]["inertia"]["mass"] == 3.0


def test_an_unreadable_document_is_replaced_by_a_new_one() -> None:
    mechanism = loads(DOCUMENT)
    mechanism.source.text = "{"
    text, report = formats.dumps(mechanism)
    assert [entry.code for entry in report.entries][0] == "document-lost"
    again = loads(text)
    assert np.abs(world(again) - world(mechanism)).max() < 1e-12


# ---------------------------------------------------------------------------------------------- new documents


def test_a_model_written_without_its_document_is_the_same_model(corpus: Path) -> None:
    for path in files(corpus):
        mechanism = formats.load(path)
        fresh = copy.deepcopy(mechanism)
        fresh.source.text = ""
        text, _ = formats.dumps(fresh, "shift")
        json.loads(text)
        again = formats.loads(text.encode(), str(path))
        assert [(b.id, b.mass) for b in again.bodies] == [(b.id, b.mass) for b in mechanism.bodies]
        for values in ({}, None, random_values(mechanism)):
            assert np.abs(world(again, values) - world(mechanism, values)).max() < 1e-12
        assert spanning_tree(again).loop_joints == spanning_tree(mechanism).loop_joints
        assert [frame.pose.tolist() for frame in again.frames] == [
            pytest.approx(frame.pose.tolist(), abs=1e-12) if False else frame.pose.tolist()
            for frame in mechanism.frames
        ] or np.allclose([f.pose for f in again.frames], [f.pose for f in mechanism.frames], atol=1e-12)


def everything() -> Mechanism:
    """A mechanism of what Shift has and of what it has not, in no document."""
    rng = np.random.default_rng(7)

    def pose() -> Array:
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        out = np.eye(4)
        out[:3, :3] = turn * np.sign(np.linalg.det(turn))
        out[:3, 3] = rng.normal(size=3)
        return out

    x, y, z = np.eye(3)
    skew = np.array([0.48, 0.6, 0.64])
    kinds: dict[str, list[Dof]] = {
        "revolute": [Dof("rotation", skew, position=0.3, velocity=0.1, lower=-1.0, upper=2.0, damping=0.5)],
        "prismatic": [Dof("translation", y, position=-0.2, stiffness=3.0, rest=0.5, friction=0.1)],
        "screw": [Dof("screw", z, pitch=0.25, position=0.4)],
        "ball": [Dof("ball", start=(0.1, 0.2, -0.3))],
        "free": [Dof("free", start=(0.1, 0.2, -0.3, 1.0, 2.0, 3.0), start_rates=(1.0, 0, 0, 0, 2.0, 0))],
        "weld": [],
        "universal": [Dof("rotation", x, position=0.2, lower=-0.5), Dof("rotation", skew, gain=10.0)],
        "euler": [Dof("rotation", z), Dof("rotation", y, armature=0.1), Dof("rotation", x)],
        "planar": [Dof("translation", skew), Dof("translation", y, position=1.0), Dof("rotation", z)],
    }
    shapes = [
        Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}, pose(), color=(1.0, 0.5, 0.0, 1.0)),
        Shape("capsule", {"length": 1.0, "radius": 0.2}, visual=False),
        Shape("mesh", {"x": 1.0, "y": 1.0, "z": 2.0}, mesh="leg.obj"),
    ]
    bodies = [Body("b0", "torso", mass=2.0, shapes=shapes, twin="b1")]
    joints: list[Joint] = []
    for number, (kind, dofs) in enumerate(kinds.items(), 1):
        parent = bodies[-1].id if number % 3 else "b0"
        bodies.append(Body(f"b{number}", "limb:" + kind, mass=0.5 * number, com=rng.normal(size=3), twin="b0"))
        bodies[-1].inertia = np.diag(rng.uniform(1.0, 1.5, size=3))
        joints.append(Joint(f"j{number}", kind, kind, parent, bodies[-1].id, pose(), pose(), dofs=dofs))
    bodies += [Body("lone", "fixed", immobile=True), Body("last", "origin", gravity=False, collidable=False)]
    joints.append(Joint("ground", "to ground", "revolute", None, "last", pose(), pose(), dofs=[Dof("rotation", x)]))
    joints.append(Joint("off", "", "weld", "b1", "b2", active=False))
    bodies[0].pose, bodies[-2].pose = pose(), pose()
    mechanism = Mechanism("every: thing", World(np.array([0.0, -9.81, 0.0]), friction=0.5), bodies, joints)
    poses = world(mechanism, {})
    for body, found in zip(bodies, poses, strict=True):
        body.pose = found
    mechanism.frames = [Frame("tip", "b1", pose()), Frame("tip", None, pose())]
    mechanism.lights = [Light("sun", "directional", "b2", pose(), diffuse=(0.25, 0.5, 0.75))]
    mechanism.restraints = [
        Restraint("k", "spring", joint="j2", knots=[0.0], coefficients=[[1.0, 0.0], [0.0]]),
        Restraint("d", "damper", bodies=("b0", None), frames=(pose(), pose()), coefficients=[[3.0]], distance="Tz"),
    ]
    mechanism.motions = [Motion("wave")]
    return mechanism


def test_a_model_from_elsewhere_comes_back_whole() -> None:
    mechanism = everything()
    text, report = formats.dumps(mechanism, "shift")
    document = json.loads(text)
    assert list(document) == ["model_parameters", "fixed", "assemblies"]
    again = loads(text)
    assert [body.name for body in again.bodies] == [body.name for body in mechanism.bodies]
    assert [(joint.name, joint.type) for joint in again.joints][:-1] == [
        (joint.name, joint.type) for joint in mechanism.joints
    ][:-1]
    assert again.world.gravity.tolist() == [0.0, -9.81, 0.0]
    assert again.world.friction == 0.5
    new = dict(zip([joint.id for joint in mechanism.joints], [joint.id for joint in again.joints], strict=True))
    for values in ({}, initial_joint_values(mechanism), random_values(mechanism)):
        there = world(again, {new[key]: value for key, value in values.items()})
        assert np.abs(there - world(mechanism, values)).max() < 1e-9
    for joint, back in zip(mechanism.joints, again.joints, strict=True):
        assert joint.active == back.active
        for dof, other in zip(joint.dofs, back.dofs, strict=True):
            assert other.kind == dof.kind
            assert other.initial == pytest.approx(dof.initial)
            for name in (
                "lower",
                "upper",
                "velocity",
                "damping",
                "stiffness",
                "rest",
                "friction",
                "armature",
                "gain",
                "pitch",
            ):  # noqa: E501
                assert getattr(other, name) == pytest.approx(getattr(dof, name)), name
            assert other.start_rates == dof.start_rates
    ids = dict(zip([body.id for body in mechanism.bodies], [body.id for body in again.bodies], strict=True))
    for body, other in zip(mechanism.bodies, again.bodies, strict=True):
        assert (other.mass, other.gravity, other.collidable, other.immobile) == (
            body.mass, body.gravity, body.collidable, body.immobile,
        )  # fmt: skip
        assert other.com.tolist() == body.com.tolist()
        assert np.abs(body_inertia(other) - body_inertia(body)).max() < 1e-12
        assert other.twin == (ids[body.twin] if body.twin else None)
        assert [shape.type for shape in other.shapes] == [shape.type for shape in body.shapes]
    assert again.bodies[0].shapes[0].color == (1.0, 0.5, 0.0, 1.0)
    assert np.array_equal(again.bodies[0].shapes[0].pose, mechanism.bodies[0].shapes[0].pose)
    assert again.lights[0].diffuse == (0.25, 0.5, 0.75)
    assert np.abs(again.lights[0].pose - mechanism.lights[0].pose).max() < 1e-12
    assert again.restraints[0].joint == new["j2"]
    assert again.restraints[1].bodies == (ids["b0"], None)
    assert again.restraints[1].frames is not None
    assert np.abs(again.restraints[1].frames[1] - mechanism.restraints[1].frames[1]).max() < 1e-12
    codes = {entry.code for entry in report.entries}
    assert {"kept-aside", "approximated-joint", "split-joint", "dropped-motion"} <= codes
    assert formats.dumps(again)[0] == text


def test_the_program_finds_only_what_it_knows() -> None:
    """Types, names and references of a new document, without our marks, are those of the format document."""
    document = json.loads(formats.dumps(everything(), "shift")[0])
    frames = {("fixed", frame["name"]) for frame in document["fixed"]["frames"]}
    (assembly,) = document["assemblies"]
    names = [body["name"] for body in assembly["bodies"]]
    assert len(set(names)) == len(names)
    assert not {"fixed", "origin"} & set(names)
    assert not any(":" in name for name in names)
    for body in assembly["bodies"]:
        frames |= {(body["name"], frame["name"]) for frame in body.get("frames", [])}
        for frame in body.get("frames", []):
            turn = np.array(frame.get("R", np.eye(3)))
            assert np.abs(turn @ turn.T - np.eye(3)).max() < 1e-12
    elementary = {"Rx", "Ry", "Rz", "Tx", "Ty", "Tz", "rigid", "float", "spherical"}
    for joint in assembly["joints"]:
        assert joint["type"] in elementary
        assert isinstance(joint["initial_displacement"], dict) or math.isfinite(joint["initial_displacement"])
        for end in joint["body_frame_pairs"]:
            assert end[0] in [*names, "fixed"]
            assert end[1] == "origin" or tuple(end) in frames
    for restraint in assembly["restraints"]:
        assert len(restraint["coefficients"]) == len(restraint["knot_points"]) + 1
    assert "b1" not in json.dumps(document["fixed"]["lights"])


def test_an_edited_chain_is_edited_in_its_pieces() -> None:
    text, _ = formats.dumps(everything(), "shift")
    mechanism = loads(text)
    joint = next(joint for joint in mechanism.joints if joint.type == "universal")
    joint.dofs[1].position = 0.625
    out, _ = formats.dumps(mechanism)
    (change,) = changed_lines(text, out)
    assert "0.625" in change[1]
    mechanism.joints.remove(joint)
    out, _ = formats.dumps(mechanism)
    assert "universal" not in [item.type for item in loads(out).joints]
    assert '"universal_1"' not in out


def test_juice_models_come_back_from_shift(corpus: Path) -> None:
    paths = sorted((corpus / "juice").rglob("*.jm"))
    if not paths:
        pytest.skip("real Juice files are not here")
    count = 0
    for path in paths:
        try:
            mechanism = formats.load(path)
        except FormatError:
            continue
        again = formats.loads(formats.dumps(mechanism, "shift")[0].encode(), str(path))
        count += 1
        assert [body.name for body in again.bodies] == [body.name for body in mechanism.bodies]
        if mechanism.bodies:
            assert (
                max(np.abs(a.pose - b.pose).max() for a, b in zip(again.bodies, mechanism.bodies, strict=True)) < 1e-9
            )
        stops = [[(dof.lower, dof.upper, dof.gain, dof.max_force) for joint in m.joints for dof in joint.dofs]
                 for m in (again, mechanism)]  # fmt: skip
        assert stops[0] == stops[1]
    assert count > 30


def test_two_bodies_with_one_id_are_rejected() -> None:
    with pytest.raises(FormatError, match="two bodies have the ID b"):
        formats.dumps(Mechanism(bodies=[Body("b", "one"), Body("b", "two")]), "shift")


def test_a_number_that_json_does_not_support_is_rejected() -> None:
    with pytest.raises(FormatError, match="finite"):
        formats.dumps(Mechanism(bodies=[Body("b", "one", mass=math.inf)]), "shift")


def test_a_lost_document_of_the_later_dialect_is_written_in_it() -> None:
    mechanism = loads(LATER)
    mechanism.source.text = "{"
    document = json.loads(formats.dumps(mechanism)[0])
    assert "include_directories" in document["model_parameters"]
    joint = document["assemblies"][0]["joints"][0]
    assert (joint["parent"], joint["type"], joint["axis"]) == ([["fixed"], "origin"], "revolute", [0, 3, 4])
    body = document["assemblies"][0]["bodies"][0]
    assert body["inertia"]["mass"] == 1
    assert np.abs(world(loads(json.dumps(document))) - world(mechanism)).max() < 1e-12


def test_another_formats_code_page_is_not_taken_over(tmp_path: Path) -> None:
    mechanism = everything()
    mechanism.source.format, mechanism.source.encoding = "juice", "cp1252"
    mechanism.bodies[0].name = "Fuß 足"
    formats.save(mechanism, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_bytes().decode("utf-8"))
    assert formats.load(tmp_path / "a.json").bodies[0].name == "Fuß 足"


def test_a_model_written_elsewhere_reports_the_meshes_it_needs_there(tmp_path: Path) -> None:
    body = {"name": "b", "mass": 1.0, "definition": ["rod.obj", "rod.mtl"]}
    document = {"model_parameters": {"version": "0.2"}, "assemblies": [{"name": "a", "bodies": [body], "joints": []}]}
    (tmp_path / "a.json").write_text(json.dumps(document))
    (tmp_path / "there").mkdir()
    mechanism = formats.load(tmp_path / "a.json")
    (entry,) = [e for e in formats.save(mechanism, tmp_path / "there/b.json").entries if e.code == "meshes-stay"]
    assert "rod.obj" in entry.message and str(tmp_path) in entry.message
    beside = formats.save(mechanism, tmp_path / "b.json")
    assert not [e for e in beside.entries if e.code == "meshes-stay"]
