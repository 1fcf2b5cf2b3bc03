"""What only one format can say is told when a model goes to another."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from addon import formats
from addon.formats.document.conversion_losses import EFFECTS

ADDON = Path(__file__).resolve().parents[3] / "addon"

SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="a"><inertia><mass>1</mass></inertia></body><body name="b"><inertia><mass>1</mass></inertia></body>
<joint type="weld" name="j0"><parent>world</parent><child>a</child></joint>
<joint type="revolute" name="j1"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>
<dof local_index="0"><velocity lower="-2" upper="3"/><acceleration upper="9"/></dof></joint>
</skeleton></world></skel>"""
X_XY = """<x_xy model="m"><worldbody>
<body name="a" joint="rz" pos_min="-1 0 0" pos_max="1 0 0"><geom type="box" mass="1" dim="1 1 1" edge_color="red"/>
<body name="b" joint="rx" pos="0 0 1"><geom type="box" mass="1" dim="1 1 1"/></body></body></worldbody></x_xy>"""

SIMULATION = "Poses stay the same, a simulation differs"
ORGANIZATION = "Motion, simulation and appearance stay the same"


def told(text: str, format: str) -> list[str]:
    mechanism = formats.loads(text.encode(), "model")
    assert mechanism.source.format in {"skel", "x_xy"}
    return [entry.message for entry in formats.dumps(mechanism, format)[1].entries]


def test_every_loss_has_its_effect() -> None:
    """Each code that any writer adds, found in their source, has an effect."""
    codes = set()
    for path in ADDON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_add = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("losses.add", "_LossKind"))
            if is_add and isinstance(node.args[0], ast.Constant):
                codes.add(node.args[0].value)
    assert len(codes) > 30
    assert codes == set(EFFECTS)


@pytest.mark.parametrize("format", ["juice", "shift"])
def test_limits_of_speeds_that_only_skel_has_are_reported(format: str) -> None:
    found = told(SKEL, format)
    assert f"Limits of a joint's velocity: not written (joint 'j1'). {SIMULATION}" in found
    assert f"Limits of a joint's acceleration: not written (joint 'j1'). {SIMULATION}" in found
    assert not any("Limits of a joint's force" in message for message in found)


def test_limits_that_x_xy_keeps_in_its_comments_are_reported_when_they_go_on_from_there() -> None:
    assert not any("Limits of a joint's" in message for message in told(SKEL, "x_xy"))
    between = formats.dumps(formats.loads(SKEL.encode(), "model"), "x_xy")[0]
    assert f"Limits of a joint's velocity: not written (joint 'j1'). {SIMULATION}" in told(between, "juice")
    back = formats.dumps(formats.loads(between.encode(), "model"), "skel")[0]
    again = formats.loads(back.encode(), "model")
    assert next(joint for joint in again.joints if joint.name == "j1").dofs[0].extra["velocity/@upper"] == 3.0


@pytest.mark.parametrize("kind", ["velocity", "locked"])
def test_an_actuator_that_is_no_servo_is_reported_by_juice_and_kept_by_others(kind: str) -> None:
    text = SKEL.replace('name="j1">', f'name="j1" actuator="{kind}">')
    assert f"Actuator type '{kind}' of a joint: not written (joint 'j1'). {SIMULATION}" in told(text, "juice")
    for format in ("x_xy", "shift"):
        assert not any("actuator" in message and "not written" in message for message in told(text, format))
        between = formats.dumps(formats.loads(text.encode(), "model"), format)[0]
        joints = {joint.name: joint for joint in formats.loads(between.encode(), "model").joints}
        assert joints["j1"].dofs[0].actuator == kind
    assert not any("actuator" in message for message in told(SKEL, "juice")), "a force is what a servo gives"


@pytest.mark.parametrize("limits", ['<velocity lower="-inf" upper="inf"/>', '<force lower="-7" upper="7"/>'])
def test_limits_that_bound_nothing_or_are_the_servos_force_are_no_loss(limits: str) -> None:
    text = SKEL.replace('<velocity lower="-2" upper="3"/><acceleration upper="9"/>', limits)
    assert not any("limits" in message for message in told(text, "juice"))


@pytest.mark.parametrize("format", ["juice", "skel", "shift"])
def test_ranges_and_edges_that_only_x_xy_has_are_reported_once(format: str) -> None:
    found = told(X_XY, format)
    assert (
        sum("(pos_min, pos_max)" in message and message.endswith(f"(body 'a'). {ORGANIZATION}") for message in found)
        == 1
    )
    assert "Edge colors: not written (body 'a'). Only the appearance differs" in found


@pytest.mark.parametrize("text", [SKEL, X_XY])
def test_losses_are_not_reported_where_the_format_has_the_value(text: str) -> None:
    mechanism = formats.loads(text.encode(), "model")
    assert not any("not written" in message for message in told(text, mechanism.source.format))


FREE = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="a"><inertia><mass>1</mass></inertia></body>
<joint type="free" name="j0"><parent>world</parent><child>a</child>{}</joint></skeleton></world></skel>"""


def test_a_joint_that_holds_nothing_is_none_in_juice_and_where_it_began_is_reported() -> None:
    found = [message for message in told(FREE.format(""), "juice") if "'j0'" in message]
    assert found == [f"Free joint: not written, bodies of Juice are free without one (joint 'j0'). {ORGANIZATION}"]
    start = "<init_pos>0 0 0 1 2 3</init_pos><init_vel>0 0 1 0 0 0</init_vel>"
    found = told(FREE.format(start), "juice")
    assert "Joint position: not written (joint 'j0'). The initial pose differs" in found
    assert f"Joint velocity: not written (joint 'j0'). {SIMULATION}" in found
