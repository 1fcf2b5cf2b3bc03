"""Default solver settings: small links and unlike masses stay together, pendulums keep their period, and settings of
others are left alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import softness_helpers
from tests.support.clear_helpers import ARM, a_users_rigid_body
from tests.support.mechanisms import play
from tests.support.mechanisms import put as put_text
from tests.support.swings import chain, lean_of, period, put_world, swings


def plant_of(rig: Any) -> Any:
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    return gather_joint_state(rig)


@pytest.mark.parametrize(("long", "ratio", "bar"), [(1.0, 100.0, 1e-3), (0.1, 10.0, 1e-3), (0.02, 1000.0, 1e-2)])
def test_fitted_chains_keep_their_joints_together_as_they_fall(
    blank: Any, long: float, ratio: float, bar: float
) -> None:
    rig = put_world(chain(long, ratio), "LIMP", 1.0)
    joint_state = plant_of(rig)
    seen = play(
        blank.scene,
        60,
        lambda: (float(joint_state.separations(joint_state.poses()).max()), float(joint_state.poses()[-2][2, 3])),
    )
    gaps, heights = zip(*seen, strict=True)
    assert max(gaps) < bar * long
    assert min(heights) < -3.0 * long  # it has fallen


@pytest.mark.parametrize(("long", "ratio", "bar"), [(1.0, 10.0, 1e-3)])
def test_chains_that_fall_into_their_stops_hold_together(blank: Any, long: float, ratio: float, bar: float) -> None:
    mechanism = chain(long, ratio)
    for joint in mechanism.joints:
        joint.dofs[0].lower, joint.dofs[0].upper = -0.3, 0.3
    joint_state = plant_of(put_world(mechanism, "LIMP", 1.0))

    def look() -> tuple[float, float]:
        poses = joint_state.poses()
        return float(joint_state.separations(poses).max()), float(np.abs(joint_state.coordinates(poses)).max())

    gaps, turns = zip(*play(blank.scene, 60, look), strict=True)
    assert max(gaps) < bar * long
    assert max(turns) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("ratio", [10.0, 100.0])
def test_servos_hold_small_chains_together(blank: Any, ratio: float) -> None:
    """Links of 2 cm that swing by their keys."""
    from addon.blender.animation.keying import LINEAR, key_servos

    rig = put_world(chain(0.02, ratio), "SERVO", 0.5)
    joint_state, frames = plant_of(rig), np.arange(1.0, 32.0)
    tracks = {
        joint: (frames, 0.4 * np.sin(math.pi * (frames - 1) / 15 + k), LINEAR)
        for k, joint in enumerate(joint_state.joints)
    }
    key_servos(rig, "swing", tracks)
    gaps = play(blank.scene, 31, lambda: float(joint_state.separations(joint_state.poses()).max()))
    assert max(gaps) < 1e-3 * 0.02


@pytest.mark.parametrize(("long", "amplitude"), [(1.0, 2.0), (0.1, 1.0)])
def test_a_pendulum_keeps_its_period_and_its_amplitude(blank: Any, long: float, amplitude: float) -> None:
    rig = put_world(chain(long, links=1, lean=amplitude), "LIMP", 10.0)
    joint_state = plant_of(rig)
    found, last = swings(np.array(play(blank.scene, 600, lambda: lean_of(joint_state.poses()[0]))), 60.0)
    assert found == pytest.approx(period(long, amplitude), rel=2e-3)
    assert last == pytest.approx(amplitude, rel=5e-3)


def fit(mechanism: Any) -> Any:
    from addon.blender.physics.world.solver_settings import required_solver_settings

    return required_solver_settings(put_world(mechanism, "KEYS", 1.0))


def test_smaller_links_get_shorter_steps_and_unlike_masses_more_iterations(blank: Any) -> None:
    one, other, heavy = fit(chain(0.4)), fit(chain(0.1)), fit(chain(0.4, 500.0))
    assert other.steps == pytest.approx(2.0 * one.steps)
    assert heavy.steps == one.steps
    assert heavy.iterations > 2 * one.iterations
    assert "0.1 m long" in other.why
    assert "1:500" in heavy.why


def test_a_stiff_spring_is_resolved(blank: Any) -> None:
    mechanism = chain(1.0, links=1)
    mechanism.joints[0].dofs[0].stiffness = 1e6
    found = fit(mechanism)
    assert found.steps == pytest.approx(4.0 * math.sqrt(1e6 / (1.0 / 3.0)), rel=1e-3)
    assert "spring" in found.why


def test_soft_joints_play_with_the_least_steps(blank: Any) -> None:
    mechanism = chain(0.02)
    mechanism.world.cfm, mechanism.world.erp, mechanism.world.time_step = 1e-3, 1.0, 0.01
    found = fit(mechanism)
    assert (found.steps, found.iterations) == (600, 50)


@pytest.mark.parametrize(("cfm", "erp", "mass", "gravity"), softness_helpers.CASES)
def test_a_bake_resolves_the_softness_of_joints(
    blank: Any, cfm: float, erp: float, mass: float, gravity: float
) -> None:
    """A constraint of ODE under a steady force gives by force * step * CFM / ERP."""
    assert softness_helpers.sag_ratio(blank.scene, cfm, erp, mass, gravity) == pytest.approx(1.0, abs=0.1)


def test_joints_that_play_softer_than_in_the_file_are_reported(blank: Any) -> None:
    from addon.blender.physics.recording.step_trials import selection_lines
    from addon.blender.physics.world.solver_settings import softness_rate

    mechanism = chain(0.02, links=2)
    mechanism.world.cfm, mechanism.world.erp, mechanism.world.time_step = 1e-3, 1.0, 0.01
    rig = put_world(mechanism, "KEYS", 1.0)
    masses = [body.mass for body in mechanism.bodies]
    exact = 4.0 * math.sqrt(1.0 / (0.01 * 1e-3) * sum(1.0 / mass for mass in masses))
    assert softness_rate(rig) == pytest.approx(exact, rel=1e-3)
    (line,) = selection_lines(rig)
    assert f"{(exact / 600.0) ** 2:.2g} times softer" in line
    mechanism.world.cfm = 0.1
    assert not selection_lines(put_world(mechanism, "KEYS", 1.0))


def test_steps_are_per_second_whatever_the_frame_rate(blank: Any) -> None:
    from addon.blender.physics.world.rigidbody_world import fit_world

    rig = put_world(chain(0.1), "KEYS", 1.0)
    world = blank.scene.rigidbody_world
    before = world.substeps_per_frame
    blank.scene.render.fps = 30
    fit_world(blank.scene, [rig])
    assert world.substeps_per_frame == pytest.approx(2 * before, abs=1)


def test_a_second_model_may_only_ask_for_more(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    world = lambda: blank.scene.rigidbody_world  # noqa: E731
    put_world(chain(1.0), "KEYS", 1.0)
    alone = world().substeps_per_frame, world().solver_iterations
    small = put_world(chain(0.1), "KEYS", 1.0)
    both = world().substeps_per_frame, world().solver_iterations
    assert both > alone
    put_world(chain(2.0), "KEYS", 1.0)
    assert (world().substeps_per_frame, world().solver_iterations) == both
    clear_physics(blank.scene, small)
    assert (world().substeps_per_frame, world().solver_iterations) == alone


def test_what_the_user_set_in_a_world_of_ours_stays(blank: Any) -> None:
    put_world(chain(1.0), "KEYS", 1.0)
    blank.scene.rigidbody_world.substeps_per_frame = 77
    rig = put_world(chain(0.1), "KEYS", 1.0)
    assert blank.scene.rigidbody_world.substeps_per_frame == 77
    assert "world-kept" in {line.code for line in rig.data.knuckle.report}


def test_a_users_world_is_fitted_on_request_and_has_its_own_again_after_clearing(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    a_users_rigid_body(blank.scene)
    rig = put_text(ARM)
    world = blank.scene.rigidbody_world
    assert (world.substeps_per_frame, world.solver_iterations) == (7, 13)
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.fit_world() == {"FINISHED"}
    assert world.substeps_per_frame >= 10
    assert world.solver_iterations == 10
    clear_physics(blank.scene, rig)
    assert (world.substeps_per_frame, world.solver_iterations) == (7, 13)
