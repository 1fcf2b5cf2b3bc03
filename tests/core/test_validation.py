"""Each defect, put into a mechanism that has none, is told: by its code, of the right part, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.model import Body, Dof, Joint, Mechanism
from addon.core.validation import validate
from tests.support.validate_helpers import sound

OWN = Path(__file__).resolve().parents[2] / "sample_models"


def weightless(m: Mechanism) -> None:
    m.bodies[0].mass = 0.0


def heavy(m: Mechanism) -> None:
    m.bodies[0].mass = 150.0


def impossible(m: Mechanism) -> None:
    m.bodies[0].inertia = np.diag([1.0, 1.0, -1.0])


def curled(m: Mechanism) -> None:
    m.joints.append(Joint("curl", "Curl", "revolute", "trunk", "trunk", dofs=[Dof("rotation")]))


def dangling(m: Mechanism) -> None:
    m.joints.append(Joint("gone", "Gone", "revolute", "trunk", "nobody", dofs=[Dof("rotation")], active=False))


def lonely(m: Mechanism) -> None:
    m.bodies.append(Body("rock", "Rock"))


def inverted(m: Mechanism) -> None:
    for joint in m.joints:
        joint.dofs[0].lower, joint.dofs[0].upper = 0.7, -0.5


def beyond(m: Mechanism) -> None:
    for joint in m.joints:
        joint.dofs[0].position = 0.9


def alike(m: Mechanism) -> None:
    m.bodies.append(Body("twice", "Trunk", immobile=True))


def one_sided(m: Mechanism) -> None:
    m.bodies[0].twin = "Left arm"


def uneven(m: Mechanism) -> None:
    m.joints[0].dofs[0].gain = 3.0


def opened(m: Mechanism) -> None:
    brace = Joint("brace", "Brace", "weld", "Left arm", "Right arm", np.eye(4), np.eye(4))
    m.joints.append(brace)


DEFECTS: list[tuple[Callable[[Mechanism], None], str, str]] = [
    (weightless, "no-mass", "trunk"),
    (heavy, "mass-ratio", "Left"),
    (impossible, "bad-inertia", "trunk"),
    (curled, "joint-to-itself", "curl"),
    (dangling, "joint-lost", "gone"),
    (lonely, "unjointed", "rock"),
    (inverted, "stops-inverted", "Left"),
    (beyond, "start-beyond-stop", "Left"),
    (alike, "name-twice", "trunk"),
    (one_sided, "twin-one-sided", "trunk"),
    (uneven, "twins-differ", "Left"),
    (opened, "loop-open", "brace"),
]


def test_a_sound_mechanism_has_no_findings() -> None:
    assert validate(sound()) == []


@pytest.mark.parametrize(("defect", "code", "part"), DEFECTS, ids=[each[1] for each in DEFECTS])
def test_a_defect_is_reported(defect: Callable[[Mechanism], None], code: str, part: str) -> None:
    mechanism = sound()
    defect(mechanism)
    found = validate(mechanism)
    assert {finding.code for finding in found} == {code}
    assert part in found[0].parts
    assert found[0].message.strip() and not found[0].message.endswith(".")


@pytest.mark.parametrize("path", sorted(OWN.glob("*/*.jm")), ids=lambda path: path.name)
def test_the_samples_have_no_errors(path: Path) -> None:
    found = validate(formats.load(path))
    assert [finding for finding in found if finding.severity == "error"] == []


def test_two_joints_between_two_bodies_are_reported() -> None:
    mechanism = sound()
    first = mechanism.joints[0]
    again = Joint("again", "Again", "revolute", first.child, first.parent, first.frame_child, first.frame_parent)
    again.dofs = [Dof("rotation", np.array([1.0, 0.0, 0.0]))]
    mechanism.joints.append(again)
    found = [finding for finding in validate(mechanism) if finding.code == "joints-double"]
    assert len(found) == 1 and set(found[0].parts) == {first.id, "again"}
