"""Step selection against errors that follow a known law: it suffices, and costs little more than it must."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.core.accuracy import QUALITIES, Quality, StepSelection, StepSetting, StepTrial, candidate_settings, climb

MOST = StepSetting(24000, 100)


def chosen(separation: float, quality: Quality, budget: float = 1e9, least: int = 600) -> tuple[StepSelection, int]:
    """The selection for a joint separation that falls with the square of the step, and how many trials it took."""
    climbing = climb(candidate_settings(least, MOST), MOST, quality, budget)
    setting, count = next(climbing), 0
    while True:
        count += 1
        now = separation * (600.0 / setting.steps) ** 2
        try:
            setting = climbing.send(StepTrial(now, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
        except StopIteration as end:
            selection: StepSelection = end.value
            return selection, count


@given(st.floats(1e-6, 0.3), st.sampled_from(sorted(QUALITIES)))
def test_what_is_selected_suffices_and_is_near_the_least(separation: float, name: str) -> None:
    quality = QUALITIES[name]
    found, count = chosen(separation, quality)
    assert separation * (600.0 / found.setting.steps) ** 2 <= quality.separation or found.setting == MOST
    needed = max(600.0, 600.0 * math.sqrt(separation / quality.separation))
    assert found.setting.steps <= 3.0 * needed or found.setting == MOST
    assert count <= 4


def test_the_candidates_grow_and_stay_between_what_springs_need_and_the_bound() -> None:
    settings = candidate_settings(2000, StepSetting(9000, 50))
    assert all(setting.steps >= 2000.0 and setting.cost < StepSetting(9000, 50).cost for setting in settings)
    assert all(a.cost < b.cost for a, b in pairwise(settings))
    assert candidate_settings(600, StepSetting(600, 10)) == []


def test_a_spent_budget_ends_the_trials_with_the_rung_that_they_point_to() -> None:
    found, count = chosen(0.1, QUALITIES["PREVIEW"], budget=0.5)
    assert count == 1 and found.trial is None
    assert 0.1 * (600.0 / found.setting.steps) ** 2 <= QUALITIES["PREVIEW"].separation


def test_a_servo_at_the_limit_of_its_force_asks_for_no_more_steps() -> None:
    """Its tracking error stays whatever the steps are."""
    quality = QUALITIES["BAKE"]
    weak = StepTrial(0.0, 0.0, 0.4, 0.0, 0.0, 1.0, 1.0)
    assert weak.excess(quality, None) > 1.0
    assert weak.excess(quality, weak) <= 1.0
    assert StepTrial(0.0, 0.0, 0.2, 0.0, 0.0, 1.0, 1.0).excess(quality, weak) > 1.0


@pytest.mark.parametrize(("spin", "enough"), [(0.05, True), (0.4, False)])
def test_fast_wheels_need_short_steps(spin: float, enough: bool) -> None:
    assert (StepTrial(0.0, 0.0, 0.0, spin, 0.0, 1.0, 1.0).excess(QUALITIES["BAKE"], None) <= 1.0) == enough


def test_a_simulation_that_diverges_takes_the_bound() -> None:
    climbing = climb(candidate_settings(600, MOST), MOST, QUALITIES["PREVIEW"], 1e9)
    next(climbing)
    with pytest.raises(StopIteration) as end:
        climbing.send(StepTrial(math.inf, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
    assert end.value.value.setting == MOST
