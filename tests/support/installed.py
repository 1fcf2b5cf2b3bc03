"""Installation check, as a script: the zip installed, enabled, disabled and uninstalled as by a user."""

# ``installed.py FOLDER OLD.zip NEW.zip``; run in a process of its own, with ``BLENDER_USER_RESOURCES`` in that folder.
# The zip is installed over an older release while physics runs, disabled and enabled in the midst of a simulation, a
# file is opened while it is disabled, and it is uninstalled. Errors are on standard error.

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bpy

# isort: split
import addon_utils

from tests.support.small import FLAPPER, models, put

NAME = "bl_ext.user_default.knuckle"
LAST = 8


def install(package: Path) -> str:
    """Install a zip, over what is there; the version that is enabled then."""
    done = bpy.ops.extensions.package_install_files(
        filepath=str(package), repo="user_default", enable_on_install=True, overwrite=True
    )
    assert done == {"FINISHED"}
    assert addon_utils.check(NAME) == (True, True), "it is enabled"
    return sys.modules[f"{NAME}.installation"].package_version()  # type: ignore[no-any-return]


def connected_handlers() -> list[str]:
    """What of it Blender would call."""
    lists = {
        name: calls for name in dir(bpy.app.handlers) if isinstance(calls := getattr(bpy.app.handlers, name), list)
    }
    return [f"{name}: {act.__module__}" for name, calls in lists.items() for act in calls if NAME in act.__module__]


def classes() -> list[str]:
    """What of it is registered."""
    return [name for name in dir(bpy.types) if "knuckle" in name.lower()]


def run() -> list[tuple[float, ...]]:
    """Where the left flap is in each frame of a run."""
    flap, places = bpy.data.objects["Left Flap"], []
    for frame in range(1, LAST + 1):
        bpy.context.scene.frame_set(frame)
        places.append(tuple(round(value, 5) for row in flap.matrix_world for value in row))
    return places


def works(folder: Path, wanted: list[tuple[float, ...]]) -> None:
    """The open model runs as ever and goes out to the byte."""
    assert run() == wanted, "it runs as before"
    bpy.context.view_layer.objects.active = models()[0]
    out = folder / "again.jm"
    out.unlink(missing_ok=True)
    assert bpy.ops.export_scene.mechanism(filepath=str(out), format="juice") == {"FINISHED"}
    assert out.read_bytes() == FLAPPER.encode()


def off() -> None:
    """As by the tick in the preferences."""
    assert bpy.ops.preferences.addon_disable(module=NAME) == {"FINISHED"}
    assert connected_handlers() == [] and classes() == []
    assert not hasattr(bpy.types.Object, "knuckle")


def on() -> None:
    """The same."""
    assert bpy.ops.preferences.addon_enable(module=NAME) == {"FINISHED"}
    assert addon_utils.check(NAME) == (True, True)
    bpy.context.view_layer.update()


def overlaid() -> bool:
    """Whether the marks over the model are drawn."""
    return bool(sys.modules[f"{NAME}.blender.ui.overlay"].is_overlay_drawn())


def main(folder: Path, old: Path, new: Path) -> None:
    """All of it, one after the other."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    before = classes()
    assert install(old) == "0.9.0"
    model = put(folder / "flapper.jm")
    bpy.ops.import_scene.mechanism(filepath=str(model), gait_seconds=0.5)
    models()[0].data.knuckle.drive = "SERVO"
    bpy.context.scene.knuckle_overlay.stops = True
    bpy.context.view_layer.update()
    wanted = run()
    assert wanted[0] != wanted[-1], "physics moves it"

    step("upgraded in the midst of a run")
    bpy.context.scene.frame_set(4)
    assert install(new) != "0.9.0"
    bpy.context.view_layer.update()
    assert overlaid()
    works(folder, wanted)

    step("off and on in the midst of a run")
    for frame in range(1, 5):
        bpy.context.scene.frame_set(frame)
    off()
    for frame in range(5, LAST):
        bpy.context.scene.frame_set(frame)
    on()
    assert overlaid()
    works(folder, wanted)

    step("opened while it is off")
    models()[0].data.knuckle.symmetric = True
    for frame in range(1, 5):
        bpy.context.scene.frame_set(frame)
    path = str(folder / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    off()
    bpy.ops.wm.open_mainfile(filepath=path)
    for frame in range(5, LAST):
        bpy.context.scene.frame_set(frame)
    on()
    assert overlaid(), "what the file wants is drawn"
    assert symmetric(), "and its halves are edited together"
    works(folder, wanted)

    step("saved while it is off")
    off()
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    on()
    works(folder, wanted)

    step("uninstalled")
    repos = [repo.module for repo in bpy.context.preferences.extensions.repos]
    bpy.ops.extensions.package_uninstall(repo_index=repos.index("user_default"), pkg_id="knuckle")
    assert addon_utils.check(NAME) == (False, False)
    assert connected_handlers() == [] and classes() == before
    assert not list((folder / "user").rglob("knuckle/__init__.py"))
    run()
    bpy.ops.wm.save_as_mainfile(filepath=path)
    step("DONE")


def symmetric() -> Any:
    """Whether edits of halves are followed."""
    mirror = sys.modules[f"{NAME}.blender.editing.symmetry.live_mirror"]
    return bool(mirror._symmetric_models(bpy.context.scene))


def step(name: str) -> None:
    """Tell what is next."""
    print(name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
