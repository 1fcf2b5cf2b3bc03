"""Settings of a video, as the scene stores them and as the operators take them."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, IntVectorProperty, StringProperty

from ...rendering.options import VIDEO_FORMATS, FilmOptions

_ENGINE_ITEMS = [
    ("WORKBENCH", "Workbench", "Plain and quick: some seconds for a short video"),
    ("EEVEE", "EEVEE", "Soft light and shadows; needs a graphics card to be quick"),
    ("CYCLES", "Cycles", "Path traced, the finest and the slowest"),
]
_STAGE_ITEMS = [
    ("STUDIO", "Studio", "A bright checkered floor that fades into the backdrop"),
    ("OUTDOOR", "Outdoor", "Open ground in the sun, under a blue sky"),
    ("BLUEPRINT", "Blueprint", "Pale lines on blue"),
    ("SCIENTIFIC", "Scientific", "White ground with a grid and its scale"),
]
_CAMERA_ITEMS = [
    ("FOLLOW", "Follow", "Three-quarter view that smoothly follows the mechanism"),
    ("FIXED", "Fixed", "Three-quarter view that shows the whole path without moving"),
    ("THREE_QUARTER", "Three-Quarter", "Three-quarter view that follows over long distances only"),
    ("SIDE", "Side", "Side view that follows over long distances only"),
    ("FRONT", "Front", "Front view that follows over long distances only"),
    ("TURNTABLE", "Turntable", "One orbit around the mechanism"),
]
_FORMAT_ITEMS = [
    ("SMALL", "Small", "960 x 540: quick to render and to send"),
    ("HD", "HD", "1280 x 720: sharp enough for most"),
    ("FULL_HD", "Full HD", "1920 x 1080: for large screens"),
    ("SQUARE", "Square", "1080 x 1080: for feeds"),
    ("VERTICAL", "Vertical", "1080 x 1920: for phones"),
    ("LOOP", "GIF", "480 x 480: a .gif that repeats endlessly"),
    ("OWN", "Custom Size", "Any size in pixels"),
]
_LENGTH_ITEMS = [
    ("SCENE", "Scene Range", "From the scene's first frame to its last"),
    ("4", "4 Seconds", "From the scene's first frame on"),
    ("8", "8 Seconds", "From the scene's first frame on"),
    ("15", "15 Seconds", "From the scene's first frame on"),
    ("OWN", "Custom Length", "Seconds from the scene's first frame on"),
]
_BURN_ITEMS = [
    ("NAME", "Name", "The mechanism's name"),
    ("TIME", "Time", "The time since the scene's start"),
    ("SERVOS", "Servos", "Table of the servo values"),
    ("AXES", "Axes", "Arrow along each joint's axis"),
    ("STOPS", "Stops", "Dial or bar from stop to stop with the present value"),
]
#: In the order of the panel.
PROPERTY_NAMES = (
    "filepath", "stage", "camera", "engine", "samples", "format", "size", "length", "seconds", "title", "burn",
    "side_by_side", "sheet", "poster", "keep_frames",
)  # fmt: skip


def file_property(**more: Any) -> Any:
    """Return the property of the video's file."""
    return StringProperty(
        name="File",
        description="Video (.mp4, .webm, .webp, .gif) or picture (.png); a video beside the .blend if empty",
        subtype="FILE_PATH",
        **more,
    )


def format_property(default: str) -> Any:
    """Return the property of the video's format, its size and frame rate."""
    return EnumProperty(name="Format", description="Size and rate of the video", items=_FORMAT_ITEMS, default=default)


class VideoProperties:
    """Settings of a video: mixin of a property group and of operators. ``size`` applies to the custom size only."""

    filepath: file_property()
    stage: EnumProperty(name="Stage", description="Ground, sky and light", items=_STAGE_ITEMS)
    camera: EnumProperty(name="Camera", description="Viewpoint and movement of the camera", items=_CAMERA_ITEMS)
    engine: EnumProperty(name="Engine", description="Render engine of the video", items=_ENGINE_ITEMS)
    samples: IntProperty(
        name="Samples",
        description="Samples per pixel; 0 for a number that suits the engine",
        default=0,
        min=0,
        max=4096,
    )
    size: IntVectorProperty(
        name="Size",
        description="Width and height in pixels",
        size=2,
        default=FilmOptions().size,
        min=16,
        max=8192,
    )
    length: EnumProperty(name="Length", description="Length of the video", items=_LENGTH_ITEMS)
    seconds: FloatProperty(
        name="Seconds", description="Length of the video (s)", default=10.0, min=0.01, soft_max=600.0, max=36000.0
    )
    title: StringProperty(name="Title", description="Title at the upper left of the video")
    burn: EnumProperty(
        name="Overlays", description="Data written and drawn over the video", items=_BURN_ITEMS, options={"ENUM_FLAG"}
    )
    side_by_side: BoolProperty(
        name="Keyframes Beside Physics",
        description="Show the mechanism on its keyframes at the left and under physics at the right",
    )
    sheet: BoolProperty(
        name="Contact Sheet", description="Also write an overview of the frames, a .png beside the video"
    )
    poster: BoolProperty(
        name="Poster", description="Also render a fine picture of the middle frame, a .png beside the video"
    )
    keep_frames: BoolProperty(name="Keep Frames", description="Keep the rendered frames in a folder beside the video")


def video_render_options(options: Any) -> FilmOptions:
    """Return the render options of the settings, except for ``sheet`` and ``poster``, which need the file's path."""
    row = VIDEO_FORMATS.get(options.format)
    seconds = {"SCENE": None, "OWN": options.seconds}.get(options.length, 0.0)
    return FilmOptions(
        engine=options.engine,
        stage=options.stage,
        camera=options.camera,
        size=tuple(options.size) if row is None else row.size,
        fps=FilmOptions.fps if row is None else row.fps,
        samples=options.samples or None,
        seconds=float(options.length) if seconds == 0.0 else seconds,
        title=options.title,
        burn=sorted(options.burn),
        side_by_side=options.side_by_side,
        keep_frames=options.keep_frames,
        resume=True,
    )


def video_ending(options: Any) -> str:
    """Return the extension of a video whose path has none."""
    row = VIDEO_FORMATS.get(options.format)
    return ".mp4" if row is None else row.ending


def copy_video_settings(options: Any, operator: Any) -> None:
    """Copy the scene's settings to the operator of a button."""
    for name in ("format", *PROPERTY_NAMES):
        setattr(operator, name, getattr(options, name))


def video_settings(scene: bpy.types.Scene) -> Any:
    """Return the video settings of a scene."""
    return scene.knuckle_film  # type: ignore[attr-defined]
