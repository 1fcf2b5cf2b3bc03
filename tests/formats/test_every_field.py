"""No value of a joint is dropped in silence: a format gives it back, or its report has an entry."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import pytest

from addon import formats
from addon.core.model import Body, Dof, Joint, Mechanism

FORMATS = ("juice", "skel", "x_xy", "shift")
#: Fields that are no single value of a revolute joint, or that a file has another way.
LEFT_OUT = {
    "kind": "the type of the joint",
    "axis": "part of the joint's frame",
    "file_sign": "the sense in which the file counts",
    "pitch": "of screws alone",
    "start": "of balls and free joints",
    "start_rates": "of balls and free joints",
    "parts": "of balls and free joints",
    "extra": "what one format keeps for itself",
    "servo_stiffness": "a setting of the simulation in Blender",
    "servo_damping": "a setting of the simulation in Blender",
    "rest": "of a spring: tested with its stiffness",
}
VALUES: dict[str, dict[str, Any]] = {
    "lower": {"lower": -0.3, "upper": 0.4},
    "upper": {"lower": -0.3, "upper": 0.4},
    "stiffness": {"stiffness": 2.5, "rest": 0.1},
    "actuator": {"actuator": "velocity"},
    "name": {"name": "hinge_servo"},
}


def swing(**values: Any) -> Mechanism:
    bodies = [Body("a", "a", mass=2.0), Body("b", "b", mass=1.0)]
    return Mechanism(
        "m", bodies=bodies, joints=[Joint("j", "j", "revolute", "a", "b", dofs=[Dof("rotation", **values)])]
    )


def values_of(field: str) -> dict[str, Any]:
    """Values of a degree of freedom in which a field has none that is its default."""
    return VALUES.get(field, {field: 0.125})


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("field", [each.name for each in fields(Dof) if each.name not in LEFT_OUT])
def test_a_value_comes_back_or_is_reported(field: str, format_: str) -> None:
    values = values_of(field)
    (default,) = (each.default for each in fields(Dof) if each.name == field)
    assert default is MISSING or values[field] != default
    mechanism, plain = swing(**values), swing()
    (text, report), (_plain, usual) = formats.dumps(mechanism, format_), formats.dumps(plain, format_)
    (joint,) = formats.loads(text.encode(), f"m{formats.FORMATS[format_].extensions[0]}").joints
    again = getattr(joint.dofs[0], field)
    more = {(entry.code, entry.message) for entry in report.entries}
    more -= {(entry.code, entry.message) for entry in usual.entries}
    kept = again == (pytest.approx(values[field]) if isinstance(values[field], float) else values[field])
    assert kept or more, f"{field} came back as {again!r}, and nothing is reported"


def test_what_is_left_out_exists() -> None:
    assert {*LEFT_OUT, *VALUES} <= {each.name for each in fields(Dof)}
