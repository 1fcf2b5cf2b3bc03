"""Shift documents are read as their author's program reads them.

The oracle for the kinematics is written here, from the author's description: joints that touch the ground are queued,
a joint that reaches a body which is there already becomes a chord. It shares nothing with the code under test.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import initial_joint_values, spanning_tree
from addon.core.loops.closure import close_loops, loop_openings
from addon.core.model import Mechanism
from addon.core.summary import describe_mechanism
from tests.support.shift_helpers import pair, placed

CLOSED = [  # file, loops, and the largest opening of the chords in metres and radians
    ("slider_crank/slider_crank.json", 1, 3e-6, 5e-6),
    ("slider_crank/slider_crank_extra_dof.json", 1, 3e-6, 5e-6),
    ("slider_crank/slider_crank_rotating_base.json", 1, 3e-6, 5e-6),
    ("brake/brake.json", 3, 7e-5, 1e-12),
    ("brake/brake_abbreviated_joint_names.json", 3, 7e-5, 1e-12),
]
APPROXIMATE = [  # the same of those that start from rough values
    ("excavator/excavator.json", 5, 0.0651, 0.2),
    ("excavator/excavator_no_base.json", 5, 0.0651, 0.2),
    ("excavator/excavator_no_logging.json", 5, 0.0651, 0.2),
    ("slider_crank/slider_crank_2substructures.json", 2, 0.85, 1.62),
    ("slider_crank/slider_crank_2substructures_2.json", 2, 0.85, 1.62),
    ("slider_crank/slider_crank_2substructures_3.json", 2, 0.85, 1.62),
    ("slider_crank/slider_crank_3substructures.json", 3, 0.85, 1.62),
    ("slider_crank/slider_crank_3substructures_2.json", 3, 0.85, 1.62),
    ("slider_crank/slider_crank_3substructures_3.json", 4, 0.85, 1.62),
]


def files(corpus: Path) -> list[Path]:
    found = sorted((corpus / "shift").rglob("*.json"))
    if not found:
        pytest.skip("real Shift files are not here")
    return found


def plain(path: Path) -> Any:
    """The document by the standard library, comments and hanging commas taken out first."""
    text = re.sub(
        r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or " ", path.read_text(), flags=re.S
    )
    return json.loads(re.sub(r",(\s*[\]}])", r"\1", text))


def test_every_real_file_is_read_with_all_that_is_in_it(corpus: Path) -> None:
    paths = files(corpus)
    assert len(paths) == 39
    for path in paths:
        mechanism, document = formats.load(path), plain(path)
        assert mechanism.source.format == "shift", path
        bodies = [body for assembly in document["assemblies"] for body in assembly["bodies"]]
        joints = [joint for assembly in document["assemblies"] for joint in assembly["joints"]]
        assert [body.name for body in mechanism.bodies] == [body["name"] for body in bodies]
        assert [joint.name for joint in mechanism.joints] == [joint["name"] for joint in joints]
        assert all(joint.active for joint in mechanism.joints), path
        assert mechanism.world.gravity.tolist() == document["model_parameters"]["gravity"]
        for body, element in zip(mechanism.bodies, bodies, strict=True):
            groups = [element, element.get("inertia", {}), element.get("moment_of_inertia", {})]
            assert body.mass == next((group["mass"] for group in groups if "mass" in group), 0.0)
            assert body.com.tolist() == element.get("center_of_mass", [0, 0, 0])
            moments = element.get("moment_of_inertia") or element.get("inertia", {})
            assert body.inertia is not None
            assert np.diag(body.inertia).tolist() == [moments.get(name, 0.0) for name in ("Ixx", "Iyy", "Izz")]
            geometry = element.get("geometry", [])
            listed = geometry if isinstance(geometry, list) else [geometry]
            names = element.get("definition") or [name for item in listed for name in item["filename"]]
            assert [shape.mesh for shape in body.shapes] == [name for name in names if name.endswith(".obj")]
        assert len({body.id for body in mechanism.bodies}) == len(bodies)
        assert len({joint.id for joint in mechanism.joints}) == len(joints)
        assert len(mechanism.lights) == len({**document, **document.get("fixed", {})}.get("lights", []))


def test_bodies_stand_where_the_authors_algorithm_puts_them(corpus: Path) -> None:
    worst = 0.0
    for path in files(corpus):
        mechanism = formats.load(path)
        world, _ = placed(plain(path))
        poses = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0]
        for body, found in zip(mechanism.bodies, poses, strict=True):
            worst = max(worst, float(np.abs(found - world[body.name]).max()))
    assert worst < 1e-9


def test_the_design_pose_is_that_with_every_joint_at_zero(corpus: Path) -> None:
    for path in files(corpus):
        mechanism = formats.load(path)
        poses = spanning_tree(mechanism).forward({})[0]
        for body, found in zip(mechanism.bodies, poses, strict=True):
            assert np.array_equal(body.pose, found)


@pytest.mark.parametrize(("name", "loops", "distance", "angle"), CLOSED + APPROXIMATE)
def test_loops_are_counted_and_open_as_measured(
    name: str, loops: int, distance: float, angle: float, corpus: Path
) -> None:
    files(corpus)
    path = corpus / "shift" / name
    mechanism = formats.load(path)
    openings = list(loop_openings(mechanism).values())
    _, chords = placed(plain(path))
    assert len(openings) == len(chords) == loops
    measured, expected = (sorted(np.round(found, 9).tolist()) for found in (openings, chords))
    assert np.array(measured) == pytest.approx(np.array(expected), abs=2e-9)
    worst = np.max(openings, axis=0)
    assert worst[0] <= distance
    assert worst[1] <= angle
    assert worst[0] >= distance / 2.5, "the figure above is not an upper bound that holds for anything"
    told = [entry for entry in mechanism.report.entries if entry.code == "loop"]
    assert len(told) == loops
    assert all(entry.line and entry.where.startswith("assemblies[0].joints[") for entry in told)


@pytest.mark.parametrize("name", [row[0] for row in CLOSED + APPROXIMATE])
def test_every_loop_closes_when_it_is_assembled(name: str, corpus: Path) -> None:
    files(corpus)
    mechanism = formats.load(corpus / "shift" / name)
    positions, _, after = close_loops(mechanism)
    assert max(map(max, after.values())) < 1e-9
    world = spanning_tree(mechanism).forward({key: value[None] for key, value in positions.items()})[0]
    index = {body.id: number for number, body in enumerate(mechanism.bodies)}
    for joint in mechanism.joints:  # every joint holds, the chords too: what is off its one axis does not move
        sides = [
            (np.eye(4) if body is None else world[index[body]]) @ frame
            for body, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child))
        ]
        apart = np.linalg.inv(sides[0]) @ sides[1]
        if joint.dofs and joint.dofs[0].kind == "rotation":
            assert np.abs(apart[:3, 3]).max() < 1e-9
            assert np.abs(apart[:3, :3] @ joint.dofs[0].axis - joint.dofs[0].axis).max() < 1e-9


def test_what_is_nearly_closed_hardly_moves(corpus: Path) -> None:
    files(corpus)
    for name, _, distance, _ in CLOSED:
        mechanism = formats.load(corpus / "shift" / name)
        positions, _, _ = close_loops(mechanism)
        for joint in mechanism.joints:
            if joint.dofs:
                assert np.abs(positions[joint.id] - joint.dofs[0].initial).max() < 10 * distance


def test_the_double_pendulum_of_the_format_document(corpus: Path) -> None:
    files(corpus)
    mechanism = formats.load(corpus / "shift/pendulum/double_pendulum.json")
    assert (mechanism.source.dialect, mechanism.name) == ("pairs", "double_pendulum")
    assert [body.id for body in mechanism.bodies] == ["pendulum:link1", "pendulum:link2"]
    assert [joint.id for joint in mechanism.joints] == ["pendulum:A_fixed_link1", "pendulum:A_fixed_link1#2"]
    assert [joint.parent for joint in mechanism.joints] == [None, "pendulum:link1"]
    first = mechanism.joints[0]
    assert (first.type, first.dofs[0].axis.tolist()) == ("revolute", [1, 0, 0])
    assert (first.dofs[0].position, first.dofs[0].velocity) == (1.5707963267948966, 1000.0)
    assert mechanism.bodies[0].pose[:3, 3].tolist() == [0, 0, -3]
    # a quarter turn about x swings the pendulum's z to -y: its end goes from -z to +y
    end = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0][1][:3, 3]
    assert end == pytest.approx([0.1, 1.0, -3.0])
    assert [(frame.name, frame.body) for frame in mechanism.frames][:2] == [("attachment", None), ("overhead_1", None)]
    light = mechanism.lights[1]
    assert (light.type, light.body, light.pose[:3, 3].tolist()) == ("point", None, [36, 36, -12])
    assert (light.ambient, light.diffuse, light.specular) == ((0.6, 0.6, 0.6), (0.6, 0.6, 0.6), (0.2, 0.2, 0.2))
    shape = mechanism.bodies[0].shapes[0]
    assert (shape.type, shape.mesh, shape.extra["files"]) == ("mesh", "link.obj", ["link.obj", "link.mtl"])
    assert shape.extra["include"] == ["models/pendulum/", "examples/"]
    codes = [entry.code for entry in mechanism.report.entries]
    assert "shared-name" in codes


def test_floats_start_where_the_file_puts_them(corpus: Path) -> None:
    files(corpus)
    mechanism = formats.load(corpus / "shift/collision/collision_test_2.json")
    assert [joint.type for joint in mechanism.joints] == ["free", "free"]
    assert mechanism.joints[0].dofs[0].initial.tolist() == [0, 0, 0, 0.1, 0, 0]
    assert mechanism.bodies[0].shapes[0].collision
    assert mechanism.bodies[0].extra["collision_geometry"] == "ellipsoid"


def test_what_programs_read_of_a_model_is_plain_json(corpus: Path) -> None:
    for path in files(corpus):
        described = json.loads(json.dumps(describe_mechanism(formats.load(path)), allow_nan=False))
        assert described["format"] == "shift"
        loops = sum(joint["loop"] for joint in described["joints"])
        assert loops == len(placed(plain(path))[1])


# --------------------------------------------------------------------------------- what no real file has


def load(document: Any) -> Mechanism:
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    return formats.loads(text.encode(), "robot.json")


def codes(mechanism: Mechanism) -> list[str]:
    return [entry.code for entry in mechanism.report.entries]


def test_assemblies_nest_to_any_depth_and_paths_lead_through_them() -> None:
    arm = {"name": "arm", "bodies": [{"name": "link", "frames": [{"name": "tip", "T": [0, 0, 1]}]}], "joints": []}
    robots = [{"name": f"robot{n}", "bodies": [{"name": "base"}], "assemblies": [arm], "joints": []} for n in (1, 2)]
    robots[0]["joints"] = [
        pair("fixed", "base"),
        {"name": "a", "type": "Tz", "body_frame_pairs": [["base", "origin"], ["factory:robot1:arm:link", "tip"]]},
        {"name": "b", "type": "Rz",
         "body_frame_pair": ["factory:robot1:arm:link:tip", ["factory:robot2:base", "origin"]]},
        {"name": "c", "type": "revolute", "axis": "-y", "parent": [["factory", "robot2", "base"], "origin"],
         "child": [["factory", "robot2", "arm", "link"], "tip"]},
    ]  # fmt: skip
    mechanism = load({"assemblies": [{"name": "factory", "assemblies": robots}]})
    assert [item.path for item in mechanism.assemblies] == [
        "factory", "factory:robot1", "factory:robot1:arm", "factory:robot2", "factory:robot2:arm",
    ]  # fmt: skip
    ends = [(joint.parent, joint.child) for joint in mechanism.joints]
    assert ends == [
        (None, "factory:robot1:base"),
        ("factory:robot1:base", "factory:robot1:arm:link"),
        ("factory:robot1:arm:link", "factory:robot2:base"),
        ("factory:robot2:base", "factory:robot2:arm:link"),
    ]
    assert mechanism.joints[1].frame_child[:3, 3].tolist() == [0, 0, 1]
    assert mechanism.joints[2].frame_parent[:3, 3].tolist() == [0, 0, 1]
    assert mechanism.joints[3].dofs[0].axis.tolist() == [0, -1, 0]
    assert all(joint.active for joint in mechanism.joints)
    assert {body.id: body.assembly for body in mechanism.bodies}["factory:robot2:arm:link"] == "factory:robot2:arm"


def test_a_name_is_looked_for_in_its_own_assembly_only_else_that_is_said() -> None:
    twice = [{"name": n, "bodies": [{"name": "link"}], "joints": [pair("fixed", "link")]} for n in "ab"]
    mechanism = load({"assemblies": twice})
    assert [joint.child for joint in mechanism.joints] == ["a:link", "b:link"]
    lone = [{"name": "a", "bodies": [{"name": "link"}]}, {"name": "b", "bodies": [], "joints": [pair("fixed", "link")]}]
    mechanism = load({"assemblies": lone})
    assert mechanism.joints[0].child == "a:link"
    assert "repaired-path" in codes(mechanism)


def test_what_is_switched_off_is_kept_and_does_nothing() -> None:
    inner = {"name": "gripper", "bodies": [{"name": "finger"}], "joints": [pair("fixed", "finger")]}
    mechanism = load(
        {
            "assemblies": [
                {"name": "off", "active": False, "bodies": [{"name": "a"}], "joints": [pair("fixed", "a")],
                 "assemblies": [inner]},
                {"name": "on", "bodies": [{"name": "b", "active": False}, {"name": "c"}],
                 "joints": [pair("fixed", "b"), pair("fixed", "c", active=False), pair("fixed", "c", kind="Tz")]},
            ]
        }
    )  # fmt: skip
    assert [item.active for item in mechanism.assemblies] == [False, True, True]
    assert {body.name: body.active for body in mechanism.bodies} == {"a": False, "finger": False, "b": False, "c": True}
    assert [joint.active for joint in mechanism.joints] == [False, False, False, False, True]


def test_bodies_and_joints_may_stand_at_the_top() -> None:
    mechanism = load({"bodies": [{"name": "link"}], "joints": [pair("fixed", "link")]})
    assert (mechanism.bodies[0].id, mechanism.bodies[0].assembly) == ("link", "")
    assert mechanism.joints[0].child == "link"


DISPLACED = {"R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "T": [1, 2, 3]}


def test_every_joint_type_moves_as_its_name_implies() -> None:
    q = 0.3
    cos, sin = math.cos(q), math.sin(q)
    cases: dict[str, Any] = {
        "Rx": [[1, 0, 0, 0], [0, cos, -sin, 0], [0, sin, cos, 0]],
        "Ry": [[cos, 0, sin, 0], [0, 1, 0, 0], [-sin, 0, cos, 0]],
        "Rz": [[cos, -sin, 0, 0], [sin, cos, 0, 0], [0, 0, 1, 0]],
        "Tx": [[1, 0, 0, q], [0, 1, 0, 0], [0, 0, 1, 0]],
        "Ty": [[1, 0, 0, 0], [0, 1, 0, q], [0, 0, 1, 0]],
        "Tz": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, q]],
    }
    for kind, expected in cases.items():
        mechanism = load({"bodies": [{"name": "a"}], "joints": [pair("fixed", "a", kind=kind, initial_displacement=q)]})
        found = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0][0]
        assert found[:3] == pytest.approx(np.array(expected)), kind
    for kind, shift in (("rigid", [1, 2, 3]), ("float", [1, 2, 3]), ("spherical", [0, 0, 0])):
        joint = pair("fixed", "a", kind=kind, initial_displacement=DISPLACED)
        mechanism = load({"bodies": [{"name": "a"}], "joints": [joint]})
        found = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0][0]
        assert found[:3, :3] == pytest.approx(np.array(DISPLACED["R"])), kind
        assert found[:3, 3] == pytest.approx(shift), kind
    assert [len(load({"bodies": [{"name": "a"}], "joints": [pair("fixed", "a", kind=kind)]}).joints[0].dofs)
            for kind in ("rigid", "float", "spherical")] == [0, 1, 1]  # fmt: skip


def test_an_axis_may_be_a_letter_or_a_vector_of_any_length() -> None:
    for axis, expected in (("y", [0, 1, 0]), ("-z", [0, 0, -1]), ([0, 3, 4], [0, 0.6, 0.8])):
        joint = {**pair("fixed", "a", kind="prismatic"), "axis": axis}
        assert load({"bodies": [{"name": "a"}], "joints": [joint]}).joints[0].dofs[0].axis == pytest.approx(expected)
    for axis in ([0, 0, 0], None):
        mechanism = load({"bodies": [{"name": "a"}], "joints": [{**pair("fixed", "a", kind="revolute"), "axis": axis}]})
        assert mechanism.joints[0].dofs[0].axis.tolist() == [0, 0, 1]
        assert "repaired-axis" in codes(mechanism)


def test_stiffness_and_damping_ascend_and_pull_back() -> None:
    """The author's vehicle: -(-42953 + 117039 q) vanishes at q = 0.367, near its initial 0.3618."""
    joint = pair("fixed", "a", kind="Tz", stiffness=[-42953.0, 117039.0], damping=[0, 12125.0])
    dof = load({"bodies": [{"name": "a"}], "joints": [joint]}).joints[0].dofs[0]
    assert (dof.stiffness, dof.damping) == (117039.0, 12125.0)
    assert dof.rest == pytest.approx(0.36700, abs=1e-5)
    mechanism = load({"bodies": [{"name": "a"}], "joints": [pair("fixed", "a", kind="Tz", stiffness=[-3000])]})
    assert mechanism.joints[0].dofs[0].stiffness == 0.0
    assert "partial-force" in codes(mechanism)
    older = pair("fixed", "a", kind="Tz", damping_coefficients=[0.0, 2.0])
    assert load({"bodies": [{"name": "a"}], "joints": [older]}).joints[0].dofs[0].damping == 2.0


def test_six_velocities_are_linear_first() -> None:
    joint = pair("fixed", "a", kind="float", initial_velocity=[1, 2, 3, 4, 5, 6])
    dof = load({"bodies": [{"name": "a"}], "joints": [joint]}).joints[0].dofs[0]
    assert dof.start_rates == (4, 5, 6, 1, 2, 3)


def test_the_restraint_of_the_format_document() -> None:
    restraint = {
        "type": "spring",
        "body_frame_pair": [["body1", "1h_plus"], ["body2", "origin"]],
        "distance_type": "Tz",
        "knot_points": [0],
        "coefficients": [[2, 0.5, 0], [0]],
    }
    bodies = [{"name": "body1", "frames": [{"name": "1h_plus", "T": [0, 0, 2]}]}, {"name": "body2"}]
    joints = [pair("fixed", "body1"), pair("body1", "body2", name="knee")]
    for key, value in (("restraint", restraint), ("restraints", [restraint])):
        mechanism = load({"assemblies": [{"name": "m", "bodies": bodies, "joints": joints, key: value}]})
        found = mechanism.restraints[0]
        assert (found.type, found.distance, found.bodies) == ("spring", "Tz", ("m:body1", "m:body2"))
        assert (found.knots, found.coefficients) == ([0.0], [[2.0, 0.5, 0.0], [0.0]])
        assert found.frames is not None
        assert found.frames[0][:3, 3].tolist() == [0, 0, 2]
    along = {"name": "k", "type": "damper", "joint": "knee", "knot_points": [], "coefficients": [[1, 0]]}
    mechanism = load({"assemblies": [{"name": "m", "bodies": bodies, "joints": joints, "restraints": [along]}]})
    assert mechanism.restraints[0].joint == "m:knee"


def test_products_of_inertia_are_elements_of_the_tensor() -> None:
    """The author's mathematics library turns and moves them as such."""
    moments = {"Ixx": 3, "Iyy": 4, "Izz": 5, "Ixy": 0.1, "Iyz": 0.2, "Izx": 0.3}
    mechanism = load({"bodies": [{"name": "a", "mass": 1, "moment_of_inertia": moments}], "joints": []})
    assert mechanism.bodies[0].inertia.tolist() == [[3, 0.1, 0.3], [0.1, 4, 0.2], [0.3, 0.2, 5]]
    mechanism = load({"bodies": [{"name": "a", "inertia": {"mass": 1, "Ixx": 1, "Iyy": 1, "Izz": 9}}], "joints": []})
    assert "impossible-inertia" in codes(mechanism)


def test_a_body_with_nothing_but_a_name_has_no_mass() -> None:
    body = load({"bodies": [{"name": "1"}], "joints": []}).bodies[0]
    assert body.mass == 0.0
    assert not body.inertia.any()
    assert load({"bodies": [{"name": "1", "mass": 2}], "joints": []}).bodies[0].inertia is None


def test_angles_in_degrees_become_radians() -> None:
    joint = pair("fixed", "a", initial_displacement=90.0, initial_velocity=180.0, stiffness=[0, math.pi])
    units = {"units": {"angle": "degrees"}}
    dof = load({"model_parameters": units, "bodies": [{"name": "a"}], "joints": [joint]}).joints[0].dofs[0]
    assert (dof.position, dof.velocity, dof.stiffness) == pytest.approx((math.pi / 2, math.pi, 180.0))


def test_what_has_no_counterpart_is_said_to_stay() -> None:
    document = {
        "terrain": [{"name": "ground", "type": "flat"}],
        "assemblies": [
            {
                "name": "m",
                "bodies": [{"name": "a", "paint": "red"}],
                "force_modules": [{"type": "tire"}, {"type": "pid"}],
            }
        ],
    }
    messages = [entry.message for entry in load(document).report.entries if entry.code == "kept"]
    assert any("terrain (1)" in message for message in messages)
    assert any("force_modules (2)" in message for message in messages)
    assert any('"paint"' in message for message in messages)
