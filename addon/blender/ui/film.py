"""The film: its settings on the scene, and the button."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import EnumProperty, IntVectorProperty, PointerProperty, StringProperty

from ..access import record_of
from ..model_parts import parts
from ..render import FilmOptions, film_steps
from .common import tell, with_extension
from .long_work import LongWork, Steps

_ENGINES = [
    ("WORKBENCH", "Workbench", "Plain and quick: some seconds for a short film"),
    ("EEVEE", "EEVEE", "Soft light and shadows; needs a graphics card to be quick"),
    ("CYCLES", "Cycles", "Path traced, the finest and the slowest"),
]
_SIZE = FilmOptions().size


def _engine() -> Any:
    return EnumProperty(name="Engine", description="What draws the film", items=_ENGINES)


def _size() -> Any:
    return IntVectorProperty(
        name="Size", description="Width and height in pixels", size=2, default=_SIZE, min=16, max=8192
    )


class KnuckleFilm(bpy.types.PropertyGroup):
    """How to film. Kept on the scene, ``Scene.knuckle_film``."""

    filepath: StringProperty(
        name="File",
        description="A .mp4 for a video of the frame range, a .png for one picture. "
        "Empty: a video named after the mechanism, beside the .blend",
        subtype="FILE_PATH",
    )
    engine: _engine()
    size: _size()


class KNUCKLE_OT_render_film(LongWork):
    bl_idname = "knuckle.render_film"
    bl_label = "Film"
    bl_description = "Film the mechanism over the scene's frame range, on a stage and with a camera of its own"
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File",
        description="A .mp4 for a video, a .png for one picture",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    engine: _engine()
    size: _size()

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if parts(rig, "BODY") else "The mechanism has no bodies to film"

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> Steps:
        self.filepath = film_path(rig, self.filepath)
        options = FilmOptions(engine=self.engine, size=tuple(self.size))
        return film_steps(context, parts(rig, "BODY"), self.filepath, options)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        tell(self, f"Film made: {self.filepath}", result)


def film_path(rig: bpy.types.Object, wanted: str) -> str:
    """Where the film goes: as wished, else beside the .blend. ValueError where neither says."""
    if not wanted:
        if not bpy.data.filepath:
            raise ValueError("Choose a file for the film, or save the .blend first: the film then goes beside it")
        wanted = "//" + bpy.path.clean_name(record_of(rig).source_name or rig.name)
    if wanted.startswith("//") and not bpy.data.filepath:
        raise ValueError("The film's file is beside the .blend, which was never saved: save it, or choose another file")
    path = bpy.path.abspath(wanted)
    if Path(path).is_dir():
        path = str(Path(path) / bpy.path.clean_name(record_of(rig).source_name or rig.name))
    return path if Path(path).suffix else with_extension(path, (".mp4", ".png"))


def register() -> None:
    """Hang the settings on scenes."""
    bpy.types.Scene.knuckle_film = PointerProperty(type=KnuckleFilm)  # type: ignore[attr-defined]


def unregister() -> None:
    """Take them away."""
    del bpy.types.Scene.knuckle_film  # type: ignore[attr-defined]


CLASSES = (KnuckleFilm, KNUCKLE_OT_render_film)
