"""A Blender that crashes while tests run in several: what ran in it runs once more in another, and what ends well there
is no failure but told at the end, with where it crashed. Whatever crashes twice has failed.

Blender evaluates in threads: a test that met a crash in 4.2 passed the next 2,000 times. A plugin of pytest, for runs
with pytest-xdist; `build.py test` names it.
"""

from __future__ import annotations

import faulthandler
import tempfile
from pathlib import Path
from typing import Any

import pytest

#: The outcome of a test whose Blender crashed and that is to run again.
CRASHED = "crashed"
#: What tests run in is not of interest.
AROUND = ("pluggy", "_pytest", "xdist", "execnet", "<string>")


class Crashes:
    """The crashes of a run: of each test that met one where it was, and how it ended afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where: dict[str, str] = {}
        self.ended: set[str] = set()

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["crashes"] = str(self.folder / f"{node.gateway.id}.txt")

    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        written = Path(report.node.workerinput["crashes"])
        lines = written.read_text(encoding="utf-8", errors="replace").splitlines() if written.is_file() else []
        first = crashitem not in self.where
        told = [line for line in lines if not any(word in line for word in AROUND)]
        self.where[crashitem] = "\n".join(told) or "it does not say where"
        if first:
            report.outcome = CRASHED

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return (CRASHED, "C", "CRASHED") if report.outcome == CRASHED else None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.nodeid in self.where and report.when == "teardown":
            self.ended.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        """A test that was not run again is one of which nothing is known."""
        if self.where.keys() - self.ended:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for test, where in self.where.items():
            again = "it ended when it was run again" if test in self.ended else "it did not end when it was run again"
            terminalreporter.section(f"a Blender crashed: {again}")
            terminalreporter.line(f"CRASHED {test}")
            terminalreporter.line(where)


@pytest.hookimpl(trylast=True)  # pytest itself has crashes written to the screen
def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is None:
        if config.pluginmanager.hasplugin("dsession") or config.getoption("numprocesses", None):
            place = tempfile.TemporaryDirectory(prefix="crashes")
            config.add_cleanup(place.cleanup)
            config.pluginmanager.register(Crashes(Path(place.name)))
    elif "crashes" in worker:
        file = Path(worker["crashes"]).open("w", encoding="utf-8")  # noqa: SIM115: open as long as the process lives
        faulthandler.enable(file=file)
