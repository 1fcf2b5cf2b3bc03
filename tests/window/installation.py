"""The installation as a user has it: the self-check finds all modules where the zip's wheels went, its rows are in the
preferences, and its report is on the clipboard. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import expect, log, pause, shot, step

sys.path.append(str(Path.home()))
from finding import away_with_the_usual

FILES = ("tests/window/finding.py",)
SIZE = "1280x1400"

#: What Debian's Blenders may lack.
MAY_LACK = {"Video encoder", "Graphics"}


def preferences():
    """The editor of preferences in place of the 3D view, with our add-on's opened."""
    view = next(area for area in bpy.context.window_manager.windows[0].screen.areas if area.type == "VIEW_3D")
    view.type = "PREFERENCES"
    bpy.context.preferences.active_section = "ADDONS"
    bpy.context.window_manager.addon_search = "Knuckle"


@step()
def checked():
    away_with_the_usual()
    before = {block.name for block in bpy.data.objects} | {scene.name for scene in bpy.data.scenes}
    bpy.ops.knuckle.self_check()
    bpy.ops.knuckle.copy_check()
    told = bpy.context.window_manager.clipboard
    log(told)
    rows = [line for line in told.splitlines() if not line.startswith(" ")]
    wrong = [row for row in rows if row[:8].strip() in {"error", "warning"} and row[8:].split(":")[0] not in MAY_LACK]
    expect(not wrong, f"nothing is wrong: {wrong}")
    expect(sum("Test of " in row and row.startswith("ok") for row in rows) == 4, "four models went the whole way")
    wheel = next(row for row in rows if row[8:].startswith("lxml:"))
    expect("from Blender's extensions" in wheel, f"lxml is that of our zip: {wheel}")
    after = {block.name for block in bpy.data.objects} | {scene.name for scene in bpy.data.scenes}
    expect(before == after, "the open file was not touched")


@step(after=1)
def shown():
    preferences()
    pause(1)
    modules = [entry.module for entry in bpy.context.preferences.addons]
    name = next(name for name in modules if name.endswith(".knuckle"))
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
        bpy.ops.preferences.addon_expand(module=name)
    yield 1
    shot("01_rows")
