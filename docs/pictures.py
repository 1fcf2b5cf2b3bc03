#!/usr/bin/env python3
"""Makes the pictures of the manual anew: ``python3 build.py docs --pictures``, some minutes.

Knuckle films its own samples, and draws its overlays. What only a window shows comes from a run of
``tests/window/manual.py``, whose folder ``--window DIR`` names; without it those pictures stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import bpy
from mathutils import Euler
from PIL import Image, ImageChops

import addon
from addon import formats
from addon.blender.compat import init_gpu
from addon.blender.data.queries import parts, rig_in
from addon.blender.physics.recording.bake import bake
from addon.blender.reconcile.build import build
from addon.blender.render import FilmOptions, film
from addon.blender.ui.overlay import render_view_pixels, save_picture
from docs.moving import moving, save_moving

OUT = HERE / "pictures"
SAMPLES = ROOT / "sample_models"
#: Bytes of a picture at most, and how wide it is at most.
MOST, WIDE = 150_000, 1280
GAP = 6


# ---- Scenes --------------------------------------------------------------------------------------------


def scene_with(sample: str) -> Any:
    """A fresh scene with a sample in it, or with nothing: the sample's armature."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)  # with a window's layout, which the overlays are drawn in
    addon.register()
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    return rig_in(build(formats.load(SAMPLES / sample))) if sample else None


def shot(rig: Any, **wishes: Any) -> Image.Image:
    """One frame as Knuckle films it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shot.png"
        film(bpy.context, parts(rig, "BODY"), str(path), FilmOptions(**{"size": (960, 540), **wishes}))
        return Image.open(path).convert("RGB").copy()


def walked(seconds: int) -> Any:
    """The hexapod, and what it did under physics as keys."""
    rig = scene_with("hexapod/hexapod.jm")
    scene = bpy.context.scene
    rig.data.knuckle.drive, rig.data.knuckle.controls.joystick_1_y = "SERVO", -1.0
    scene.frame_end = scene.frame_start + seconds * scene.render.fps
    bake(scene, rig)
    return rig


def grid(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """Pictures of one size side by side."""
    wide, high = pictures[0].size
    lines = -(-len(pictures) // columns)
    out = Image.new("RGB", (columns * (wide + GAP) - GAP, lines * (high + GAP) - GAP), "white")
    for number, picture in enumerate(pictures):
        out.paste(picture, ((number % columns) * (wide + GAP), (number // columns) * (high + GAP)))
    return out


# ---- The pictures --------------------------------------------------------------------------------------


def imported() -> Image.Image:
    rig = scene_with("hexapod/hexapod.jm")
    return shot(rig, engine="EEVEE", poster_frame=1, heading=1.57)


def walking() -> Image.Image:
    rig = walked(3)
    frames = [round(1 + k * 20) for k in (3, 4, 5, 6)]
    return grid([shot(rig, size=(640, 360), poster_frame=frame, camera="SIDE") for frame in frames], 2)


def stages() -> Image.Image:
    rig = walked(2)
    names = ("STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC")
    return grid([shot(rig, size=(640, 360), stage=stage, poster_frame=80) for stage in names], 2)


def burnt() -> Image.Image:
    rig = scene_with("desk_lamp/desk_lamp.skel")
    burn = ("NAME", "TIME", "SERVOS", "AXES", "STOPS")
    return shot(rig, stage="SCIENTIFIC", burn=burn, title="A desk lamp", poster_frame=1, camera="THREE_QUARTER")


def overlays() -> Image.Image:
    rig = scene_with("hexapod/hexapod.jm")
    for kind in ("axes", "stops", "twins", "centres"):
        setattr(bpy.context.scene.knuckle_overlay, kind, True)
    bpy.context.scene.frame_set(20)
    area = next(area for area in bpy.context.window_manager.windows[0].screen.areas if area.type == "VIEW_3D")
    view = area.spaces.active.region_3d
    view.view_rotation = Euler((1.1, 0.0, 0.6)).to_quaternion()
    view.view_location, view.view_distance = (0.0, 0.2, 1.0), 6.4
    init_gpu()
    view.update()
    rig.hide_set(True)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "overlays.png")
        save_picture(render_view_pixels(bpy.context, (1100, 700)), path)
        return Image.open(path).convert("RGB").copy()


RENDERED: dict[str, Callable[[], Image.Image]] = {
    "imported": imported,
    "walking": walking,
    "stages": stages,
    "burnt": burnt,
    "overlays": overlays,
}
#: The README's, which moves.
MOVING = "moving"
#: From the window: the picture's name there, and what is kept of it (left, upper, right, lower, in shares).
WINDOW: dict[str, tuple[str, tuple[float, float, float, float]]] = {
    "window": ("window", (0.0, 0.0, 1.0, 1.0)),
    "import": ("import", (0.0, 0.0, 0.8, 0.9)),
    "model": ("panel_model", (0.0, 0.0, 1.0, 1.0)),
    "servos": ("panel_servos", (0.0, 0.0, 1.0, 0.475)),
    "joints": ("panel_servos", (0.0, 0.48, 1.0, 0.885)),
    "twins": ("panel_twins", (0.0, 0.0, 1.0, 1.0)),
    "motion": ("panel_motion", (0.0, 0.0, 1.0, 1.0)),
    "truth": ("panel_truth", (0.0, 0.0, 1.0, 1.0)),
    "film": ("panel_film", (0.0, 0.0, 1.0, 1.0)),
    "report": ("panel_report", (0.0, 0.0, 1.0, 1.0)),
    "stops": ("stops", (0.06, 0.25, 0.72, 0.85)),
}


def from_window(folder: Path, name: str) -> Image.Image:
    """A picture of a driver's run, cut to its region, and below where nothing is any more."""
    source, share = WINDOW[name]
    within = json.loads((folder / "cuts.json").read_text(encoding="utf-8"))[source]
    whole = Image.open(folder / f"{source}.png").convert("RGB")
    if within is not None:
        left, upper, wide, high = within
        whole = whole.crop((left, upper, left + wide, upper + high))
    sides = [round(part * side) for part, side in zip(share, (*whole.size, *whole.size), strict=True)]
    cut = whole.crop((sides[0], sides[1], sides[2], sides[3]))
    return trimmed(cut) if source.startswith("panel") else cut


def trimmed(panel: Image.Image) -> Image.Image:
    """A panel without the tabs at its right, and without the empty sidebar below."""
    panel = panel.crop((0, 0, panel.width - 26, panel.height - 4))  # what is below is the region's own edge
    strip = panel.crop((20, 0, panel.width - 20, panel.height))
    empty = Image.new("RGB", strip.size, strip.getpixel((strip.width // 2, strip.height - 1)))
    box = ImageChops.difference(strip, empty).convert("L").point(lambda value: 255 * (value > 8)).getbbox()
    return panel.crop((0, 0, panel.width, min(box[3] + 8 if box else panel.height, panel.height)))


def keep(name: str, picture: Image.Image) -> None:
    """Write a picture, as fine as it may be."""
    OUT.mkdir(exist_ok=True)
    if picture.width > WIDE:
        picture = picture.resize((WIDE, round(picture.height * WIDE / picture.width)), Image.Resampling.LANCZOS)
    path = OUT / f"{name}.webp"
    for quality in (90, 80, 70, 55, 40):
        picture.save(path, quality=quality, method=6)
        if path.stat().st_size < MOST:
            break
    print(f"{path.stat().st_size:9} bytes  {picture.width} x {picture.height}  {path.relative_to(ROOT)}")


def main(words: Sequence[str] | None = None) -> int:
    """Make them all, or those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help=f"only these of {', '.join((*RENDERED, MOVING, *WINDOW))}")
    parser.add_argument("--window", type=Path, metavar="DIR", help="what a run of tests/window/manual.py left")
    given = parser.parse_args(words)
    for name, make in RENDERED.items():
        if not given.names or name in given.names:
            keep(name, make())
    if not given.names or MOVING in given.names:
        save_moving(moving(walked, scene_with), OUT / f"{MOVING}.webp")
    for name in WINDOW:
        if given.window is not None and (not given.names or name in given.names):
            keep(name, from_window(given.window, name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
