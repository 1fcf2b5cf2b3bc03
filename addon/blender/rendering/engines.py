"""Set-up of render engines, colors, and picture and video output."""

from __future__ import annotations

from typing import Any

import bpy

from ..compat import EEVEE, set_video_output
from .camera import Array
from .options import RenderEngine

#: The engine that rasterizes without node materials and needs no lights of ours.
WORKBENCH: RenderEngine = "WORKBENCH"


def engine_id(engine: RenderEngine) -> str:
    """Return Blender's identifier of an engine."""
    return {"EEVEE": EEVEE, "WORKBENCH": "BLENDER_WORKBENCH", "CYCLES": "CYCLES"}[engine]


def set_up_engine(
    scene: bpy.types.Scene, engine: RenderEngine, samples: int, size: float, key: Array, shadow: float
) -> None:
    """Set a scene's engine and its quality for a mechanism of about ``size`` (length).

    ``key`` is the direction in the world (3,) towards the main light, ``shadow`` how dark Workbench's shadows are (0 to
    1).
    """
    scene.render.engine = engine_id(engine)  # type: ignore[assignment]
    if engine == "WORKBENCH":
        set_up_workbench(scene, samples, size, key, shadow)
    elif engine == "EEVEE":
        set_up_eevee(scene, samples)
    else:
        set_up_cycles(scene, samples)


def set_up_workbench(scene: bpy.types.Scene, samples: int, size: float, key: Array, shadow: float) -> None:
    """Set up Workbench: studio light, cavities and shadows, in the materials' viewport colors."""
    display: Any = scene.display
    set_samples(scene, samples)
    display.light_direction = (key[0], key[2], -key[1])  # Blender keeps it with Y up
    display.shadow_shift = 0.1
    display.shadow_focus = 0.25
    display.matcap_ssao_distance = 0.12 * size
    display.matcap_ssao_attenuation = 1.0
    display.matcap_ssao_samples = 16
    shading: Any = display.shading
    shading.light = "STUDIO"
    shading.studio_light = "paint.sl"  # the one of Blender's own that is neutral and bright from above
    shading.use_world_space_lighting = False
    shading.color_type = "TEXTURE"  # the floor's palette; objects without a texture keep their material's color
    shading.show_shadows = True
    shading.shadow_intensity = shadow
    shading.show_cavity = True
    shading.cavity_type = "SCREEN" if samples == 1 else "BOTH"  # a quarter of the time of one sample
    shading.cavity_ridge_factor = 0.6
    shading.cavity_valley_factor = 1.1
    shading.curvature_ridge_factor = 0.7
    shading.curvature_valley_factor = 0.8
    shading.show_object_outline = False  # it would draw the horizon
    shading.show_specular_highlight = True
    scene.view_settings.exposure = 0.22


def set_up_eevee(scene: bpy.types.Scene, samples: int) -> None:
    """Set up EEVEE: few samples with soft shadows; no ray tracing, which costs several times the picture."""
    eevee: Any = scene.eevee
    set_samples(scene, samples)
    eevee.use_shadows = True
    eevee.use_raytracing = False
    eevee.shadow_ray_count = 2
    eevee.shadow_step_count = 6


def set_up_cycles(scene: bpy.types.Scene, samples: int) -> None:
    """Set up Cycles: denoised, few bounces, since everything here is matt and in the open."""
    cycles: Any = scene.cycles
    set_samples(scene, samples)
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = True
    cycles.max_bounces = 3
    scene.render.use_persistent_data = True


def set_samples(scene: bpy.types.Scene, samples: int) -> int:
    """Set the samples per pixel, or the next number that the engine has; return the previous number."""
    display: Any = scene.display
    eevee: Any = scene.eevee
    cycles: Any = getattr(scene, "cycles", None)  # an add-on
    if scene.render.engine == "BLENDER_WORKBENCH":
        steps = {"FXAA": 1, "5": 5, "8": 8, "11": 11, "16": 16, "32": 32}
        was = steps.get(display.render_aa, 1)
        display.render_aa = next((name for name, step in steps.items() if step >= samples), "32")
    elif scene.render.engine == "CYCLES":
        was, cycles.samples = cycles.samples, samples
    else:
        was, eevee.taa_render_samples = eevee.taa_render_samples, samples
    return int(was)


def set_up_picture(scene: bpy.types.Scene, size: tuple[int, int]) -> None:
    """Set up output of whole frames of ``size`` (pixels) as PNG, with unchanged colors."""
    render = scene.render
    render.resolution_x, render.resolution_y = size
    render.resolution_percentage = 100
    render.pixel_aspect_x = render.pixel_aspect_y = 1.0
    render.use_file_extension = False
    render.use_overwrite = True
    render.use_compositing = False
    render.use_sequencer = False
    render.film_transparent = False
    render.dither_intensity = 1.0
    for prop in render.bl_rna.properties:  # metadata (date, file, render time) would differ in equal pictures
        if prop.identifier.startswith("use_stamp"):
            setattr(render, prop.identifier, False)
    settings: Any = render.image_settings
    settings.file_format = "PNG"
    settings.color_mode = "RGB"
    settings.color_depth = "8"
    settings.compression = 15
    set_standard_colors(scene)


def set_standard_colors(scene: bpy.types.Scene) -> None:
    """Set up color management from sRGB to sRGB: a new scene would come with a film-like curve."""
    display: Any = scene.display_settings
    display.display_device = "sRGB"
    view: Any = scene.view_settings
    view.view_transform = "Standard"
    view.look = "None"
    view.exposure = 0.0
    view.gamma = 1.0


def set_up_video(scene: bpy.types.Scene, ending: str) -> None:
    """Set up video output: H.264 in MP4, 8 bits, 4:2:0, no sound, or VP9 in WebM.

    Every browser plays the former, all new ones the latter.
    """
    settings: Any = scene.render.image_settings
    set_video_output(settings)
    settings.color_mode = "RGB"
    ffmpeg: Any = scene.render.ffmpeg
    ffmpeg.format, ffmpeg.codec = ("WEBM", "WEBM") if ending == ".webm" else ("MPEG4", "H264")
    ffmpeg.constant_rate_factor = "HIGH"
    ffmpeg.ffmpeg_preset = "GOOD"
    ffmpeg.gopsize = 12
    ffmpeg.audio_codec = "NONE"
    ffmpeg.use_autosplit = False
