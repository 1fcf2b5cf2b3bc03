"""How each render engine is set up, and what differs between Blender's versions."""

from __future__ import annotations

from typing import Any

import bpy

from .options import Engine

#: The engine that is rasterised without node materials, the one that needs no lamps of ours.
WORKBENCH: Engine = "WORKBENCH"


def engine_id(engine: Engine) -> str:
    """Blender's name of the engine: EEVEE was called "next" from 4.2 until 5.0."""
    if engine == "EEVEE":
        return "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
    return {"WORKBENCH": "BLENDER_WORKBENCH", "CYCLES": "CYCLES"}[engine]


def set_up_engine(scene: bpy.types.Scene, engine: Engine, samples: int, size: float) -> None:
    """Choose the engine and its quality for a model of about ``size`` (length)."""
    scene.render.engine = engine_id(engine)  # type: ignore[assignment]
    {"WORKBENCH": set_up_workbench, "EEVEE": set_up_eevee, "CYCLES": set_up_cycles}[engine](scene, samples, size)


def set_up_workbench(scene: bpy.types.Scene, samples: int, size: float) -> None:
    """Studio light, cavities, outlines and shadows, in the materials' viewport colours."""
    display: Any = scene.display
    steps = [5, 8, 11, 16, 32]
    display.render_aa = "FXAA" if samples == 1 else str(next((step for step in steps if step >= samples), steps[-1]))
    display.light_direction = (-0.42, -0.32, 0.85)  # in the view: from the upper left, a little from the front
    display.shadow_shift = 0.1
    display.shadow_focus = 0.25
    display.matcap_ssao_distance = 0.12 * size
    display.matcap_ssao_attenuation = 1.0
    display.matcap_ssao_samples = 24
    shading: Any = display.shading
    shading.light = "STUDIO"
    shading.color_type = "TEXTURE"  # the ground's palette; what has no texture keeps its material's colour
    shading.show_shadows = True
    shading.shadow_intensity = 0.42
    shading.show_cavity = True
    shading.cavity_type = "BOTH"
    shading.cavity_ridge_factor = 0.6
    shading.cavity_valley_factor = 1.1
    shading.curvature_ridge_factor = 0.7
    shading.curvature_valley_factor = 0.8
    shading.show_object_outline = True
    shading.object_outline_color = (0.09, 0.10, 0.13)
    shading.show_specular_highlight = True


def set_up_eevee(scene: bpy.types.Scene, samples: int, size: float) -> None:
    """Few samples with soft shadows; no ray tracing, which costs several times the picture."""
    eevee: Any = scene.eevee
    eevee.taa_render_samples = samples
    eevee.use_shadows = True
    eevee.use_raytracing = False
    eevee.shadow_ray_count = 2
    eevee.shadow_step_count = 6


def set_up_cycles(scene: bpy.types.Scene, samples: int, size: float) -> None:
    """Denoised, few bounces: everything here is matt and in the open."""
    cycles: Any = scene.cycles
    cycles.samples = samples
    cycles.use_adaptive_sampling = False
    cycles.use_denoising = True
    cycles.max_bounces = 3
    scene.render.use_persistent_data = True


def set_up_picture(scene: bpy.types.Scene, size: tuple[int, int]) -> None:
    """Whole frames of ``size`` as PNG, colours as they are."""
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
    settings: Any = render.image_settings
    settings.file_format = "PNG"
    settings.color_mode = "RGB"
    settings.color_depth = "8"
    settings.compression = 15
    plain_colours(scene)


def plain_colours(scene: bpy.types.Scene) -> None:
    """sRGB in, sRGB out: a new scene would come with a film-like curve."""
    scene.display_settings.display_device = "sRGB"
    scene.view_settings.view_transform = "Standard"
    scene.view_settings.look = "None"
    scene.view_settings.exposure = 0.0
    scene.view_settings.gamma = 1.0


def set_up_video(scene: bpy.types.Scene) -> None:
    """H.264 in MP4, 8 bits, 4:2:0, no sound: what every browser plays."""
    settings: Any = scene.render.image_settings
    if hasattr(settings, "media_type"):  # from 5.0 a choice of its own that comes first
        settings.media_type = "VIDEO"
    settings.file_format = "FFMPEG"
    settings.color_mode = "RGB"
    ffmpeg: Any = scene.render.ffmpeg
    ffmpeg.format = "MPEG4"
    ffmpeg.codec = "H264"
    ffmpeg.constant_rate_factor = "HIGH"
    ffmpeg.ffmpeg_preset = "GOOD"
    ffmpeg.gopsize = 12
    ffmpeg.audio_codec = "NONE"
    ffmpeg.use_autosplit = False


def strips_of(editor: Any) -> Any:
    """The sequencer's strips: called sequences until 4.4."""
    return editor.strips if hasattr(editor, "strips") else editor.sequences
