"""What runs here, what this Blender was built with, and where it may write."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable
from typing import Any

import bpy

from ...about import version
from ...about.rows import Row
from ..compat import ready_gpu

_OFFICIAL = "Use a Blender from blender.org: distributions build some without it"
#: What Blender may be built without: its name among the build options, what it is, and what is lost without it.
_BUILT_WITH = (
    ("bullet", "Physics engine", "error", "no drive but Keys works"),
    ("codec_ffmpeg", "Video encoder", "warning", "videos can be written as pictures only"),
    ("io_wavefront_obj", "OBJ reader", "warning", "bodies of .obj files become boxes"),
    ("io_stl", "STL reader", "warning", "bodies of .stl files become boxes"),
    ("io_ply", "PLY reader", "warning", "bodies of .ply files become boxes"),
)


def version_rows() -> list[Row]:
    """Return what a report of a defect has to begin with."""
    build = bpy.app.build_hash
    commit = build.decode() if isinstance(build, bytes) else str(build)
    how = "without a window" if bpy.app.background else "in a window"
    return [
        Row("Knuckle", "ok", version()),
        Row("Blender", "ok", f"{bpy.app.version_string} ({commit}), {how}"),
        Row("Python", "ok", f"{platform.python_version()}, {platform.python_compiler()}"),
        Row("System", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}"),
    ]


def machine_rows() -> list[Row]:
    """Return what Blender was built with, what can be drawn, where can be written."""
    rows = [_built_with(*row) for row in _BUILT_WITH]
    rows.append(_tried("Graphics", _draw, "warning", "Overlays cannot be drawn into pictures; update the driver"))
    free = "Make room, or let yourself write there; Preferences > File Paths > Temporary Files names another folder"
    rows.append(_tried("Temporary files", lambda: _write_in(tempfile.gettempdir()), "error", free))
    rows.append(_tried("Blender's session", lambda: _write_in(bpy.app.tempdir), "error", free))
    return rows


def _built_with(option: str, part: str, state: str, lost: str) -> Row:
    has = getattr(bpy.app.build_options, option, None)
    if has is None:
        return Row(part, "note", "this Blender does not say whether it has it")
    return Row(part, "ok", "is there") if has else Row(part, state, f"is missing: {lost}", _OFFICIAL)


def _tried(part: str, work: Callable[[], str], state: str, remedy: str) -> Row:
    try:
        return Row(part, "ok", work())
    except (OSError, ValueError, RuntimeError) as error:
        return Row(part, state, str(error), remedy)


def _draw() -> str:
    """Four by four pixels, filled and read back."""
    import gpu

    ready_gpu()
    drawing: Any = gpu  # whose stubs know neither arguments nor results
    picture = drawing.types.GPUOffScreen(4, 4)
    try:
        with picture.bind():
            buffer = drawing.state.active_framebuffer_get()
            buffer.clear(color=(1.0, 0.0, 1.0, 1.0))
            pixel = buffer.read_color(0, 0, 1, 1, 4, 0, "FLOAT").to_list()
    finally:
        picture.free()
    if pixel[0][0] != [1.0, 0.0, 1.0, 1.0]:
        raise ValueError(f"A picture came back in the wrong colour: {pixel[0][0]}")
    return f"{gpu.platform.backend_type_get()}, {gpu.platform.renderer_get()}"


def _write_in(folder: str) -> str:
    """Write a file and read it back; it goes at once."""
    try:
        with tempfile.NamedTemporaryFile(prefix="knuckle-check-", dir=folder) as file:
            file.write(b"knuckle")
            file.flush()
            file.seek(0)
            was_kept = file.read() == b"knuckle"
    except OSError as error:
        raise OSError(f"{folder} cannot be written: {error.strerror or error}") from error
    if not was_kept:
        raise OSError(f"What was written into {folder} is not there")
    return f"{folder} can be written"
