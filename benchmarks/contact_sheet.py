"""``build.py bench contact_sheet``: one picture of every model file under some folders, on sheets to look at.

What is drawn wrong shows at a glance: bodies apart, meshes missing, models lying on their backs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy  # first: the two modules below are inside it

# isort: split
import blf
import imbuf
import numpy as np

import addon
from addon import formats
from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.rendering.options import FilmOptions
from addon.blender.rendering.video import film
from addon.core.report import FormatError
from tests.support.references import CORPUS

ENDINGS = {extension for row in formats.FORMATS.values() for extension in row.extensions}
COLUMNS, ROWS = 6, 5
WIDTH, HEIGHT, CAPTION = 300, 225, 22


def models(folders: Sequence[Path]) -> Iterator[Path]:
    """Every file under folders that may be a model, by its name's ending."""
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        yield from (path for path in files if path.suffix.lower() in ENDINGS and path.is_file())


def thumbnail(path: Path, meshes: Sequence[str], picture: Path) -> str:
    """Film one model where its file has it; what to write under the picture."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mechanism = formats.load(path)
    rig = rig_in(build(mechanism, bpy.context, BuildOptions(physics=False, gait=False, mesh_folders=tuple(meshes))))
    bodies = parts(rig, "BODY")
    if not bodies:
        raise FormatError("it has no bodies to show")
    film(bpy.context, bodies, str(picture), FilmOptions(size=(WIDTH, HEIGHT), samples=8, poster_frame=1))
    warnings = mechanism.report.count("warning")
    return f"{path.parent.name}/{path.name}" + (f"  ({warnings} warnings)" if warnings else "")


def sheet(pictures: Sequence[tuple[Path | None, str]], path: Path) -> None:
    """Lay pictures out on a sheet, a line of text under each."""
    height = HEIGHT + CAPTION
    whole = np.ones((ROWS * height, COLUMNS * WIDTH, 4), dtype=np.float32)
    for number, (picture, _) in enumerate(pictures):
        row, column = divmod(number, COLUMNS)
        top = (ROWS - row) * height
        if picture is not None:
            image = bpy.data.images.load(str(picture))
            pixels = np.empty(HEIGHT * WIDTH * 4, dtype=np.float32)
            image.pixels.foreach_get(pixels)
            whole[top - HEIGHT : top, column * WIDTH : (column + 1) * WIDTH] = pixels.reshape(HEIGHT, WIDTH, 4)
            bpy.data.images.remove(image)
    image = bpy.data.images.new("sheet", COLUMNS * WIDTH, ROWS * height)
    image.pixels.foreach_set(whole.ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)
    buffer = imbuf.load(str(path))
    with blf.bind_imbuf(0, buffer):
        blf.size(0, 12)
        blf.color(0, 0.1, 0.1, 0.1, 1.0)
        for number, (_, text) in enumerate(pictures):
            row, column = divmod(number, COLUMNS)
            blf.position(0, column * WIDTH + 4, (ROWS - 1 - row) * height + 6, 0)
            blf.draw_buffer(0, text[:46])
    imbuf.write(buffer, filepath=str(path))


def main(words: Sequence[str]) -> int:
    """Make the sheets and say what could not be shown."""
    parser = argparse.ArgumentParser(prog="build.py bench contact_sheet", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=[CORPUS])
    parser.add_argument("--out", type=Path, default=Path("out/contact"))
    parser.add_argument("--meshes", action="append", default=[], metavar="DIR", help="a folder where meshes may lie")
    options = parser.parse_args(words)
    addon.register()
    options.out.mkdir(parents=True, exist_ok=True)
    start, done = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(models(options.folders)):
            picture: Path | None = Path(folder) / f"{number}.png"
            try:
                text = thumbnail(path, options.meshes, picture)
            except FormatError as error:
                print(f"{path}: {error}", flush=True)
                picture, text = None, f"refused: {path.name}"
            done.append((picture, text))
        for first in range(0, len(done), COLUMNS * ROWS):
            made = options.out / f"sheet_{first // (COLUMNS * ROWS) + 1}.png"
            sheet(done[first : first + COLUMNS * ROWS], made)
            print(made)
    print(
        f"{sum(picture is not None for picture, _ in done)} of {len(done)} files shown, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 0
