"""The one table of physics: how rows of its benches are judged, and that a part which dies is not passed over."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("bpy")

from benchmarks import physics


def test_rows_are_judged_by_themselves_or_by_their_bar() -> None:
    within, beyond = (physics.figure_of(("a gap", value, 0.1)) for value in (0.1, 0.2))
    assert within.holds and not beyond.holds
    assert physics.figure_of(("frames", 7.0, None)).holds
    assert not physics.figure_of(("a share that is held", 0.9, 0.97, False)).holds
    assert physics.figure_of(("a share that is held", 1.0, 0.97, True)).holds
    own = SimpleNamespace(what="a gap", value=-0.2, unit="%", bar=0.1, holds=False)
    assert physics.figure_of(own) == physics.Figure("a gap", -0.2, "%", 0.1, False)


def test_every_bench_of_physics_is_in_the_table() -> None:
    folder = Path(physics.__file__).parent
    assert {f"{name}.py" for name in physics.modules()} == {path.name for path in folder.glob("physics_*.py")}
    for name in physics.modules():
        assert physics.parts_of(name), name


def run(monkeypatch: pytest.MonkeyPatch, script: str) -> int:
    """The exit code of a table of one part, whose process runs a script in its stead."""
    spawn = physics.subprocess.run

    def instead(words: list[str], **options: object) -> object:
        return spawn([words[0], "-c", script, words[-1]], **options)

    monkeypatch.setattr(physics, "modules", lambda: ["physics_pendulum"])
    monkeypatch.setattr(physics.subprocess, "run", instead)
    return physics.main([])


@pytest.mark.parametrize(
    ("value", "ends", "code"), [(0.01, "", 0), (0.03, "", 1), (0.01, "sys.exit(3)", 1), (0.01, "os.abort()", 1)]
)
def test_a_figure_that_does_not_hold_and_a_part_that_dies_are_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: float, ends: str, code: int
) -> None:
    row = f'["an angle", {value}, "rad", 0.02, {str(value < 0.02).lower()}]\n'
    assert run(monkeypatch, f"import os, sys\nopen(sys.argv[1], 'w').write({row!r})\n{ends}") == code
    judged = 1 + bool(ends)
    assert f"{judged - code} of {judged} hold" in capsys.readouterr().out


def test_what_could_not_be_measured_is_counted() -> None:
    found = [
        physics.figure_of(row) for row in (("a", 0.1, 0.2), ("b", 3.0, None), ("against DART", float("nan"), None))
    ]
    told = physics.closing(found)
    assert "1 of 1 hold; 1 more figures have no bar; 1 were not measured" in told
    assert "not measured: against DART" in told
