"""How large imported models stand in the view: each model of the home folder is imported by the menu into the default
scene, and its bodies are measured in a picture.

The part of the view that no panel covers is 1. The larger of the bodies' width and height is between 0.4 and 0.9 of
it, and none is cut off. Other models than these samples are measured by laying them into the folder ``models``.
"""

import bpy
import numpy as np
from driving import HERE, OUT, area, done, expect, log, menu_import, pause, shot, step

FILES = (
    "sample_models/hexapod/hexapod.jm",
    "sample_models/humanoid",
    "sample_models/pumpjack",
    "sample_models/sensor_leg/sensor_leg.xml",
    "sample_models/desk_lamp/desk_lamp.skel",
)
SIZE = "1920x1080"
SUFFIXES = {".jm", ".jpm", ".json", ".skel", ".xml"}
#: Regions that cover a view from one of its sides.
COVERS = {"UI": "right", "TOOLS": "left", "HEADER": "top", "TOOL_HEADER": "top", "ASSET_SHELF": "bottom"}


def models():
    """The model files of the home folder."""
    found = (path for path in HERE.rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(HERE).parts))


def free_part():
    """Left, bottom, right and top of the part of the view that no panel covers, in pixels of the window."""
    view = next(region for region in area().regions if region.type == "WINDOW")
    ends = {"left": view.x, "bottom": view.y, "right": view.x + view.width, "top": view.y + view.height}
    for region in area().regions:
        side = COVERS.get(region.type)
        if side is None or min(region.width, region.height) <= 1:
            continue
        if side == "right":
            ends["right"] = min(ends["right"], region.x)
        elif side == "left":
            ends["left"] = max(ends["left"], region.x + region.width)
        elif side == "top":
            ends["top"] = min(ends["top"], region.y)
        else:
            ends["bottom"] = max(ends["bottom"], region.y + region.height)
    return [ends[name] for name in ("left", "bottom", "right", "top")]


def pixels(name):
    """A picture, (rows from the bottom, columns, 3)."""
    image = bpy.data.images.load(str(OUT / f"{name}.png"))
    width, height = image.size
    values = np.empty(width * height * 4, dtype=np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values.reshape(height, width, 4)[:, :, :3]


@step()
def measured():
    paths = models()
    expect(bool(paths), "there are models")
    for number, path in enumerate(paths):
        bpy.ops.wm.read_homefile()
        yield 0.5
        name = f"{number:02}_{path.stem}"
        menu_import("import_scene.mechanism", path.relative_to(HERE))
        yield
        pause(0.5)
        yield
        shot(f"{name}_seen")
        yield
        space = area().spaces.active
        space.overlay.show_overlays = space.show_gizmo = False
        shot(f"{name}_with")
        yield
        for obj in bpy.context.scene.objects:
            if obj.type == "MESH":
                obj.hide_set(True)
        shot(f"{name}_without")
        yield
        left, bottom, right, top = (int(end) for end in free_part())
        log(f"{name}: free from {left}, {bottom} to {right}, {top}")
        differs = np.abs(pixels(f"{name}_with") - pixels(f"{name}_without")).max(axis=2) > 0.02
        inside = differs[bottom:top, left:right]
        rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
        if not len(rows):
            log(f"{name}: nothing to see")
            expect(not any(obj.type == "MESH" for obj in bpy.context.scene.objects), f"{name} has bodies to see")
            continue
        share = max(np.ptp(columns) / (right - left), np.ptp(rows) / (top - bottom))
        whole = min(columns[0], rows[0]) > 0 and columns[-1] < right - left - 1 and rows[-1] < top - bottom - 1
        expect(0.4 <= share <= 0.9 and whole, f"{name}: {share:.2f} of the view, {'whole' if whole else 'cut off'}")
    done()
