"""A Blender that crashes while tests run in several: the test that met it runs once more in another; where that ends
well it is no failure but told at the end, with where it crashed. What crashes twice has failed and is left, and so has
a run in which more than ``ALLOWED`` crashed or not all tests came to run. A test that does not end within ``LIMIT``
counts as a crash.

Blender evaluates in threads: a test that met a crash in 4.2 passed the next 2,000 times. A plugin of pytest, for runs
with pytest-xdist by files (``--dist loadfile``); `build.py test` names it.
"""

from __future__ import annotations

import faulthandler
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

#: So many Blenders may crash in a run. More are no chance.
ALLOWED = 2
#: Seconds after which a test's process is ended. The longest take two minutes on a slow machine.
LIMIT = 900.0
#: The outcome of a test whose Blender crashed and that is to run again.
CRASHED = "crashed"
#: What tests run in is not of interest.
AROUND = ("pluggy", "_pytest", "xdist", "execnet", "<string>")


class Crashes:
    """The crashes of a run: of each test that met one where it was, and how it ended afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.where: dict[str, str] = {}
        self.outside: dict[str, str] = {}  # by the process: crashes while no test ran
        self.wanted: set[str] = set()
        self.ended: set[str] = set()
        self.twice: set[str] = set()

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["crashes"] = str(self.folder / f"{node.gateway.id}.txt")

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from xdist.scheduler import LoadFileScheduling

        class UnfinishedFiles(LoadFileScheduling):
            """Gives only files with tests that have not run to another process when one has crashed.

            pytest-xdist 3.8 gives all files of the crashed process again. A process that runs its last test when it
            knows the next one gets an empty list, and the whole run waits for ever.
            """

            def remove_node(self, node: Any) -> Any:
                work = self.assigned_work[node]
                for scope in [scope for scope, unit in work.items() if all(unit.values())]:
                    del work[scope]
                return super().remove_node(node)

        return UnfinishedFiles(config, log) if config.getvalue("dist") == "loadfile" else None

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.wanted.update(ids)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error is not None:
            self.outside[node.gateway.id] = _told(Path(node.workerinput["crashes"]))

    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        again = crashitem in self.where
        self.where[crashitem] = self.outside.pop(report.node.gateway.id, "")
        if not again:
            report.outcome = CRASHED
            return
        self.twice.add(crashitem)
        for scope, unit in list(getattr(sched, "workqueue", {}).items()):
            if crashitem in unit:
                unit[crashitem] = True
                if all(unit.values()):
                    del sched.workqueue[scope]

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return (CRASHED, "C", "CRASHED") if report.outcome == CRASHED else None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "teardown":
            self.ended.add(report.nodeid)

    def faults(self) -> list[str]:
        """Why the run has failed although no test did."""
        crashed, missing = len(self.where) + len(self.outside), self.wanted - self.ended - self.twice
        out = [f"{crashed} crashed, {ALLOWED} may"] if crashed > ALLOWED else []
        return [*out, f"{len(missing)} tests did not run to their end, {min(missing)} among them"] if missing else out

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        if session.exitstatus == pytest.ExitCode.OK and self.faults():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for test, where in self.where.items():
            again = "it ended" if test in self.ended else "it did not end"
            terminalreporter.section(f"a Blender crashed: {again} when it was run again")
            terminalreporter.line(f"CRASHED {test}")
            terminalreporter.line(where or "it does not say where")
        for process, where in self.outside.items():
            terminalreporter.section(f"a Blender crashed while no test ran: {process}")
            terminalreporter.line(where or "it does not say where")
        for fault in self.faults() if self.where or self.outside else ():
            terminalreporter.section("the run has failed")
            terminalreporter.line(fault)


class TimeLimit:
    """Ends a process whose test takes too long, with where it was in the file of its crashes."""

    def __init__(self, file: TextIO, seconds: float) -> None:
        self.file, self.seconds = file, seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        faulthandler.dump_traceback_later(self.seconds, exit=True, file=self.file)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _told(written: Path) -> str:
    lines = written.read_text(encoding="utf-8", errors="replace").splitlines() if written.is_file() else []
    return "\n".join(line for line in lines if not any(word in line for word in AROUND))


@pytest.hookimpl(trylast=True)  # pytest itself has crashes written to the screen
def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is None:
        if config.pluginmanager.hasplugin("dsession") or config.getoption("numprocesses", None):
            place = tempfile.TemporaryDirectory(prefix="crashes")
            config.add_cleanup(place.cleanup)
            config.pluginmanager.register(Crashes(Path(place.name)))
    elif "crashes" in worker:  # the file is open as long as the process lives
        file = Path(worker["crashes"]).open("w", encoding="utf-8")  # noqa: SIM115
        faulthandler.enable(file=file)
        config.pluginmanager.register(TimeLimit(file, float(config.getini("crashes_limit"))))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("crashes_limit", "Seconds after which a test's process is ended.", default=str(LIMIT))
