"""What all tests share.

There is one Blender per process: ``bpy`` is a module with one global state. A test that touches it asks
for the fixture ``blank`` and gets an empty scene with the extension registered, whatever the test before
left behind; never rely on objects from another test, and never run Blender tests in threads.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.core_suite import CORE
from tests.slow_suite import SLOW
from tests.support.references import CORPUS

ROOT = Path(__file__).resolve().parents[1]

# How long a machine that does other work takes to draw an example tells nothing of us.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


# The thousands of tests and their modules stay to the end. To search them for garbage again and again, while they are
# collected and after each thousand objects of a test, takes a tenth of the whole time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # Blender puts its threads to rest when its module is freed: 4.5, kept, waits for them for ever


@pytest.hookimpl(tryfirst=True)  # before pytest looks which tests have the marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        if path in CORE:
            item.add_marker("core")
        if path.removeprefix("tests/") in SLOW:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real files from other programs. They are not ours to publish: tests skip without them."""
    if not CORPUS.is_dir():
        pytest.skip(f"real files are not here: {CORPUS}")
    return CORPUS


@pytest.fixture(scope="session")
def sample_models() -> Path:
    """The folder of our own models."""
    return ROOT / "sample_models"


@pytest.fixture
def blank() -> Iterator[Any]:
    """Blender's context with an empty scene and the extension registered. The registration stays."""
    bpy = pytest.importorskip("bpy", reason="Blender is not here")
    import addon
    from tests.support.emptied import empty_file, simulate_in_own_world

    empty_file()  # unregisters nothing that was registered from a script

    if not addon.is_registered():
        addon.register()
    simulate_in_own_world(bpy.context.scene)
    yield bpy.context


@pytest.fixture
def startup(blank: Any) -> Any:
    """Blender's factory scene with the extension registered."""
    import bpy

    bpy.ops.wm.read_factory_settings()
    import addon

    if not addon.is_registered():
        addon.register()
    return bpy.context


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no samples are asked for, films of this process have one for each pixel. Workbench draws five in five times
    the time, and what a film shows, how long and how large it is, is the same."""
    pytest.importorskip("bpy", reason="Blender is not here")
    from addon.blender.rendering import options

    for defaults in (options.VIDEO_SAMPLES, options.POSTER_SAMPLES):
        for engine in defaults:
            monkeypatch.setitem(defaults, engine, 1)
