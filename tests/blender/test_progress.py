"""Progress of long work: what is said to be done is done, and the time left is what it will take."""

from __future__ import annotations

import pytest

pytest.importorskip("bpy", reason="Blender is not here")


def test_a_step_reports_how_much_of_the_work_is_done() -> None:
    from addon.blender.progress import WorkStep
    from addon.blender.ui.base.modal_tasks import progress_text as words

    assert words(WorkStep(3, 9), None) == "3 of 9 (33 %)"
    assert WorkStep(0, 0).portion == 0.0 and WorkStep(9, 9).portion == 1.0
    assert words(WorkStep(69, 230, "playing", 69, 154, 0.0), None) == "69 of 154 (0 %)"
    assert words(WorkStep(155, 230, "", 1, 76, 1 / 76), 80.0) == "1 of 76 (1 %, 80 s left)"
    assert words(WorkStep(229, 230, "", 75, 76, 75 / 76), 0.2) == "75 of 76 (98 %, 1 s left)"


@pytest.mark.parametrize("seconds_per_frame", [0.4, 3.0])
def test_the_time_left_is_what_the_rest_takes(seconds_per_frame: float) -> None:
    from addon.blender.progress import TimeEstimate

    pace, now, frames = TimeEstimate(), 100.0, 76
    for _ in range(150):  # preparing costs time, and nothing is done by it
        now += 0.02
        assert pace.left(0.0, now) is None
    now += 7.0  # the stage is set in the time of the first frame
    for frame in range(1, frames + 1):
        now += seconds_per_frame
        left = pace.left(frame / frames, now)
        if frame == 1:
            assert left is None
            continue
        assert left == pytest.approx((frames - frame) * seconds_per_frame, abs=1e-6)


def test_the_time_left_follows_work_that_slows_down() -> None:
    from addon.blender.progress import TimeEstimate

    pace, now = TimeEstimate(), 0.0
    for frame in range(1, 60):
        now += 0.1 if frame < 30 else 1.0
        left = pace.left(frame / 100, now)
    assert left == pytest.approx(41.0, rel=0.01)


def test_durations_are_written_in_seconds_or_minutes() -> None:
    from addon.blender.progress import format_duration

    assert [format_duration(seconds) for seconds in (0.1, 45.4, 89.0, 100.0, 3600.0)] == [
        "1 s", "45 s", "89 s", "2 min", "60 min",
    ]  # fmt: skip
