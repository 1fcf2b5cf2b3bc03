"""Which bodies the mirror image of a joint joins, where not every body has a twin."""

from __future__ import annotations

import numpy as np
import pytest

from addon.core.editing.mirroring import mirror_joint_ends
from addon.core.model import Body, Joint, Plane

PLANE = Plane(np.array([1.0, 0.0, 0.0]), 0.0)


def body(name: str, x: float, z: float = 0.0) -> Body:
    pose = np.eye(4)
    pose[:3, 3] = x, 0.0, z
    return Body(name, name, pose)


BODIES = {
    each.id: each
    for each in (
        body("trunk", 0.0), body("spine", 0.0, 1.0), body("left arm", -1.0), body("right arm", 1.0),
        body("left hand", -2.0), body("right hand", 2.0),
    )
}  # fmt: skip
ARMS = {"left arm": "right arm", "right arm": "left arm"}


def joint(parent: str | None, child: str | None) -> Joint:
    return Joint("j", "j", "revolute", parent, child)


@pytest.mark.parametrize(
    ("own", "twin", "ends", "swapped"),
    [
        pytest.param(("trunk", "left arm"), ("trunk", "right arm"), ("trunk", "right arm"), False, id="shared"),
        pytest.param(("trunk", "left arm"), ("right arm", "trunk"), ("trunk", "right arm"), True, id="shared-swapped"),
        pytest.param(("left arm", "left hand"), ("right arm", "right hand"), ("right arm", "right hand"), False,
                     id="hand-without-twin"),
        pytest.param(("left arm", "left hand"), ("right hand", "right arm"), ("right arm", "right hand"), True,
                     id="hand-without-twin-swapped"),
        pytest.param(("trunk", "left hand"), ("spine", "right hand"), ("trunk", "right hand"), False, id="no-twins"),
        pytest.param(("trunk", "left hand"), ("right hand", "spine"), ("trunk", "right hand"), True,
                     id="no-twins-swapped"),
        pytest.param(("trunk", "left arm"), ("left arm", "right arm"), ("trunk", "right arm"), False, id="elsewhere"),
        pytest.param((None, "left arm"), (None, "right arm"), (None, "right arm"), False, id="world"),
        pytest.param(("left hand", "left arm"), None, ("left hand", "right arm"), False, id="no-twin-yet"),
    ],
)  # fmt: skip
def test_the_image_joins_the_twins_of_bodies_or_what_is_in_their_place(
    own: tuple[str | None, str], twin: tuple[str | None, str] | None, ends: tuple[str | None, str], swapped: bool
) -> None:
    other = joint(*twin) if twin else None
    assert mirror_joint_ends(joint(*own), other, ARMS, BODIES, PLANE) == (ends, swapped)
