"""The reference integrator of the benches, and the model files of IFToMM's benchmarks, against published values.

Andrews' mechanism: Test Set for Initial Value Problem Solvers, solution at 0.03 s. A02: Exudyn's result for the point
B0 after 10 s, at its smallest steps, which converge with the second order.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("bpy")

from addon.core.model import Body, Dof, Joint, Mechanism, World
from benchmarks import physics_iftomm, physics_starts
from benchmarks.multibody import Multibody, rotations
from benchmarks.physics_iftomm import FAST_RATE, MODELS, RATE, crank_angle, four_bar_angles, governor_heights, model
from tests.support.swings import GRAVITY, chain, period
from tests.support.tops import freely, leaning_tensor

#: Of each model: bodies, joints, mass (kg), gravity (m/s2), sum of moments of inertia (kg m2).
FACTS = {
    "a01": (1, 1, 1.0, [0.0, -9.81, 0.0], 1.2e-4),
    "a02": (5, 7, 5.0, [0.0, -9.81, 0.0], None),
    "a03": (7, 10, 0.21023, [0.0, 0.0, 0.0], 2e-6 * (2.194 + 0.441 + 5.255 + 0.5667 + 11.69 + 0.5667 + 19.12)),
    "a04": (5, 6, 5.0, [0.0, -9.81, 0.0], 5 * (0.02 + 1.01 + 1.01) / 12),
    "a05": (4, 4, 0.3 + 3.0 + 2 * 5.3, [0.0, 0.0, -9.81], None),
}
#: Andrews' mechanism at 0.03 s: beta; gamma of the triangle; delta and epsilon of the two levers at A.
BETA, GAMMA, DELTA, EPSILON = 15.81077119629904, 0.04082224013073101, 0.5244099658805304, 1.048080741042263


@pytest.mark.parametrize("name", FACTS)
def test_a_model_has_the_masses_of_its_benchmark(name: str) -> None:
    bodies, joints, mass, gravity, moments = FACTS[name]
    mechanism = model(name)
    assert (len(mechanism.bodies), len(mechanism.joints)) == (bodies, joints)
    assert sum(body.mass for body in mechanism.bodies) == pytest.approx(mass)
    assert mechanism.world.gravity == pytest.approx(gravity)
    if moments is not None:
        assert sum(np.trace(body.inertia) for body in mechanism.bodies) == pytest.approx(moments)
    system = Multibody(mechanism)
    assert np.abs(system._constraints(system.state)[0]).max() < 1e-12, "its loops are closed"  # noqa: SLF001


def test_every_model_has_its_rows_in_the_bench() -> None:
    assert {path.name[:3] for path in MODELS.glob("*.json")} == set(FACTS)
    assert len(physics_iftomm.PARTS) == len(FACTS)


def turned(system: Multibody, states: np.ndarray, body: str) -> np.ndarray:
    """By how much a body has turned about Z, for each state."""
    turns = rotations(states[:, system.names[body], 3:7])
    since = turns @ turns[0].T
    return np.unwrap(np.arctan2(since[:, 1, 0], since[:, 0, 0]))


def test_andrews_mechanism_ends_where_the_test_set_has_it() -> None:
    system, off = Multibody(model("a03")), []
    tip = 0.007 * np.array([math.cos(-0.0617138900142764496), math.sin(-0.0617138900142764496), 0.0])
    for steps in (2, 4):
        states = system.run(0.03, FAST_RATE, steps)
        off.append(abs(crank_angle(system.point(states, "K1", tip))[-1] - BETA))
    assert off[1] < 1e-4
    assert off[0] > 8.0 * off[1], "fourth order"
    begun = {"K3": 0.455279819163070380, "K5": 0.487364979543842550, "K7": 1.23054744454982119}
    for (body, start), end in zip(begun.items(), (GAMMA, DELTA, EPSILON), strict=True):
        assert start + turned(system, states, body)[-1] == pytest.approx(end, abs=1e-4), body


def test_the_four_bar_ends_where_exudyn_has_it() -> None:
    angle = four_bar_angles(10.0, 1.0)[-1]
    found = np.array([(0.3284465114, 0.9445225721), (0.3284552113, 0.9445195467), (0.3284573768, 0.9445187937)])
    limit = found[2] + (found[2] - found[1]) / 3.0
    assert [math.sin(angle), math.cos(angle)] == pytest.approx(limit, abs=2e-6)


def test_the_integrator_agrees_with_the_four_bars_equation_of_motion() -> None:
    system, angles = Multibody(model("a02")), four_bar_angles(0.9, 1.0)
    there = np.stack([np.sin(angles), np.cos(angles), np.zeros(len(angles))], axis=1)
    found = system.point(system.run(0.9, RATE, 4), "crank 0", [0.0, 1.0, 0.0])
    assert np.abs(found - there).max() < 1e-5


def test_the_integrator_agrees_with_the_governors_equations_of_motion() -> None:
    system = Multibody(model("a05"))
    found = system.point(system.run(1 / RATE, RATE, 400), "slider", [0.0, 0.0, 0.0])
    there = governor_heights(1 / RATE)
    assert abs(there[-1]) > 5e-4
    assert found[-1] == pytest.approx([0.0, 0.0, there[-1]], abs=1e-7)


@pytest.mark.parametrize("amplitude", [0.5, 2.0])
def test_a_pendulum_has_its_period(amplitude: float) -> None:
    mechanism = chain(links=1, lean=amplitude)
    (body,) = mechanism.bodies
    body.inertia = np.diag([0.02, 1.01, 1.01]) / 12.0
    system, swing = Multibody(mechanism), period(1.0, amplitude)
    states = system.run(swing, 100.0 / swing, 10)
    assert states[50, 0, 0] == pytest.approx(-states[0, 0, 0], abs=1e-6)
    assert states[100] == pytest.approx(states[0], abs=2e-5)


def test_bricards_mechanism_keeps_its_energy() -> None:
    system, off = Multibody(model("a04")), []
    for steps in (2, 4):
        states = system.run(1.0, RATE, steps)
        off.append(max(abs(system.energy(state) - system.energy(states[0])) for state in states))
    assert off[1] < 2e-3
    assert off[0] > 8.0 * off[1]


def test_a_free_body_turns_as_its_momentum_says() -> None:
    tensor, spin = leaning_tensor(), np.array([0.3, 5.0, 0.2])
    dof = Dof("free", start_rates=(*spin.tolist(), 1.0, 2.0, 3.0))
    joint = Joint("f", "f", "free", None, "b", dofs=[dof])
    system = Multibody(
        Mechanism("free", World(gravity=np.zeros(3)), [Body("b", "b", mass=2.0, inertia=tensor)], [joint])
    )
    states = system.run(1.0, RATE, 10)
    assert states[-1, 0, :3] == pytest.approx([1.0, 2.0, 3.0])
    assert rotations(states[-1, :, 3:7])[0] == pytest.approx(freely(tensor, np.eye(3), spin, RATE)[-1], abs=2e-4)


def test_a_top_keeps_energy_and_both_momenta() -> None:
    system = Multibody(physics_starts.top(30.0))
    states = system.run(1.0, RATE, 10)
    turns, spins = rotations(states[:, 0, 3:7]), states[:, 0, 10:]
    about = np.einsum("nij,jk,nlk,nl->ni", turns, system.tensors[0], turns, spins)
    about += np.cross(states[:, 0, :3], states[:, 0, 7:10])
    energy = np.array([system.energy(state) for state in states])
    assert np.abs(energy - energy[0]).max() < 1e-4 * abs(energy[0])
    assert about[:, 2] == pytest.approx(about[0, 2], rel=1e-5)
    assert np.einsum("ni,ni->n", spins, turns[:, :, 2]) == pytest.approx(30.0, rel=1e-6)


def test_a_free_chain_keeps_momentum_and_energy() -> None:
    system = Multibody(physics_starts.free_chain())
    states = system.run(1.0, RATE, 10)
    for one, other in zip(
        physics_starts.momentum(system, states[0]), physics_starts.momentum(system, states[-1]), strict=True
    ):
        assert other == pytest.approx(one, rel=1e-5, abs=1e-5)
    assert system.energy(states[-1]) == pytest.approx(system.energy(states[0]), rel=1e-5)


def test_the_arm_is_in_balance_under_its_pd_torques() -> None:
    angles = physics_starts.balance(np.array([0.6, -0.8, 0.5]))
    tip = angles.sum()
    torque = 2.0 * (0.5 - angles[2])
    assert torque == pytest.approx(0.3 * GRAVITY * 0.15 * math.cos(tip))
