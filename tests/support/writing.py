"""Kill check, as a script: write every kind of output over the one before until the process is killed."""

# ``writing.py FOLDER SEED``. There are two of each output, A and B, which follow each other in no order. As soon as
# both were written once, and are in ``FOLDER/whole`` to be compared with, it prints READY.

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import bpy

import addon
from addon.blender.rendering.video import encode
from addon.blender.tasks.scenes import save_blend
from addon.cli import main as knuckle
from tests.support.small import FLAPPER, MOTION, put

#: How many models a batch converts.
MANY = 4


def variant(which: int) -> str:
    """The model A or B: long enough that writing it takes a while."""
    return FLAPPER.replace("<Mass>4</Mass>", f"<Mass>{4 + which}</Mass>") + "<!-- " + "AB"[which] * 400_000 + " -->\n"


def prepare(folder: Path) -> None:
    """The models, motions and frames that everything is made of."""
    for name in ("in", "out", "whole"):
        (folder / name).mkdir()
    for which in (0, 1):
        (folder / "in" / f"batch{which}").mkdir()
        for number in range(MANY):
            put(folder / "in" / f"batch{which}" / f"{number}.jm", variant(which))
        put(folder / "in" / f"{which}.xmdi", MOTION.replace("0.25", "0.25 " * 2 if which else "0.125 0.25"))
        frames = folder / "in" / f"frames{which}"
        frames.mkdir()
        for number in range(1, 4):
            image = bpy.data.images.new("frame", 64, 64)
            image.pixels.foreach_set([float(which), number / 4.0, 0.5, 1.0] * (64 * 64))
            image.file_format, image.filepath_raw = "PNG", str(frames / f"{number:06d}.png")
            image.save()
            bpy.data.images.remove(image)
    addon.register()


def load(folder: Path, which: int) -> None:
    """Have the open file hold the model A or B alone, with a motion."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    model = folder / "in" / f"batch{which}" / "0.jm"
    bpy.ops.import_scene.mechanism(filepath=str(model), gait_seconds=0.2 + which)
    bpy.context.scene.name = "AB"[which]


def writers(folder: Path) -> dict[str, Callable[[int], None]]:
    """What writes each output, for A or B."""
    out = folder / "out"

    def batch(which: int) -> None:
        with redirect_stdout(StringIO()):
            knuckle(
                [
                    "convert",
                    str(folder / "in" / f"batch{which}"),
                    "--out-dir",
                    str(out / "batch"),
                    "--to",
                    "juice",
                    "--quiet",
                ]
            )

    return {
        "model.jm": lambda _which: bpy.ops.export_scene.mechanism(filepath=str(out / "model.jm"), format="juice"),
        "motion.csv": lambda _which: bpy.ops.export_anim.servo_motion(filepath=str(out / "motion.csv")),
        "scene.blend": lambda _which: save_blend(out / "scene.blend"),
        "film.mp4": lambda which: encode(str(folder / "in" / f"frames{which}"), str(out / "film.mp4"), 25.0),
        "film.gif": lambda which: encode(str(folder / "in" / f"frames{which}"), str(out / "film.gif"), 25.0),
        "film.webp": lambda which: encode(str(folder / "in" / f"frames{which}"), str(out / "film.webp"), 25.0),
        "batch": batch,
    }  # fmt: skip


def main(folder: Path, seed: int) -> None:
    """Write until killed."""
    prepare(folder)
    ways = writers(folder)
    (folder / "out" / "batch").mkdir()
    for which in (0, 1):
        load(folder, which)
        for name, write in ways.items():
            write(which)
            made = folder / "out" / name
            kept = folder / "whole" / f"{'AB'[which]} {name}"
            (shutil.copytree if made.is_dir() else shutil.copyfile)(made, kept)
    print("READY", flush=True)
    dice = random.Random(seed)
    while True:
        which = dice.randrange(2)
        load(folder, which)
        for name in dice.sample(sorted(ways), 4):
            ways[name](which)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
