"""The world of x_xy has no name: a renamed one is told of."""

from __future__ import annotations

import pytest

from addon import formats
from tests.support.scenes import OWN


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("format_id", ["x_xy", "skel"])
def test_a_renamed_world_is_reported_where_it_cannot_be_written(edited: bool, format_id: str) -> None:
    mechanism = formats.load(OWN / "sensor_leg" / "sensor_leg.xml")
    world = next(body for body in mechanism.bodies if body.immobile)
    world.name = "floor"
    if edited:
        next(body for body in mechanism.bodies if body.name == "foot").name = "left foot"
    text, report = formats.dumps(mechanism, format_id)
    told = [entry for entry in report.entries if "'floor'" in entry.message and "'worldbody'" in entry.message]
    assert ("floor" in text) != bool(told), "it is written or reported"
    assert not any("floor" in entry.message for entry in formats.dumps(formats.loads(text.encode()))[1].entries)
