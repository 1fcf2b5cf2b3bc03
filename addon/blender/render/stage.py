"""The studio: a checkered floor that fades into the backdrop, and light.

Workbench knows neither node materials nor skies, so the floor is real geometry whose colours come from a
small palette texture: one axis is the fade from floor to horizon, the other dark and light tiles. All
three engines draw the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from .cast import key_places
from .engines import WORKBENCH, give_nodes
from .framing import LENS, SENSOR, Array, Shot
from .presets import Engine
from .studio import Studio

Color = tuple[float, float, float]
LIGHT_TILE: Color = (0.85, 0.87, 0.89)  # sRGB
DARK_TILE: Color = (0.75, 0.78, 0.82)
HORIZON: Color = (0.88, 0.91, 0.94)
ZENITH: Color = (0.62, 0.73, 0.85)

KEY = (-0.75, 0.85, 0.75)  # towards the lights, in the view: right, up, back
FILL = (0.9, 0.35, 0.5)
SKY_LIGHT = 0.55  # how bright the sky shines, beside how bright it is seen

FADE_FROM, FADE_TO = 0.7, 2.8  # in camera distances from the path
TILE_SHARE = 0.22  # of the model's size: a step of a walker is one or two tiles
MOST_CELLS = 4_000_000
FADES, ROWS = 128, 6
DARK_ROW, LIGHT_ROW = 0.25, 0.75  # v in the middle of a band


@dataclass
class Quads:
    """Quadrilaterals: ``points`` (v, 3), ``faces`` (f, 4), palette ``coordinates`` (4 f, 2) per corner."""

    points: Array
    faces: NDArray[np.int64]
    coordinates: Array


def build_stage(studio: Studio, shot: Shot, size: float, ground: float, engine: Engine) -> None:
    """Set the stage for a model of about ``size`` that moves along ``shot.aims`` above the height ``ground``."""
    add_floor(studio, [tiles(shot, size, ground), far_floor(shot, ground)])
    set_world(studio)
    if engine == WORKBENCH:
        match_backdrop(studio, shot, ground)
    else:
        add_lights(studio, shot, size)
        add_sky(studio)


def floor_height(lowest: float, size: float) -> float:
    """The floor is at 0, where formats and scenes have it; under or up at the model's lowest point where
    that is clearly elsewhere. What sinks in a little still stands on it; what lies deeper would be hidden."""
    return 0.0 if -0.05 * size <= lowest <= 0.25 * size else lowest


def nice(value: float) -> float:
    """The number 1, 2 or 5 times a power of ten that is nearest to ``value`` by ratio."""
    steps = np.array([1.0, 2.0, 5.0, 10.0]) * 10.0 ** np.floor(np.log10(value))
    return float(steps[np.abs(np.log(steps / value)).argmin()])


def make_palette(studio: Studio) -> bpy.types.Image:
    """A band of dark and a band of light tiles, both fading to the horizon's colour along u."""
    fade = np.linspace(0.0, 1.0, FADES)[:, None]
    fade = fade * fade * (3.0 - 2.0 * fade)
    bands = [mix(color, HORIZON, fade) for color in (DARK_TILE, LIGHT_TILE) for _ in range(ROWS // 2)]
    pixels = np.ones((ROWS, FADES, 4), dtype=np.float32)
    pixels[..., :3] = bands
    image: Any = studio.own(bpy.data.images.new("Film palette", FADES, ROWS))
    image.pixels.foreach_set(pixels.ravel())
    image.update()
    image.pack()  # otherwise the pixels are generated anew, blank, for the render
    return image


def mix(first: Color, second: Color, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Colours (n, 3) between two."""
    return (1.0 - share) * np.asarray(first) + share * np.asarray(second)


def floor_material(studio: Studio, palette: bpy.types.Image) -> bpy.types.Material:
    """The palette as a matt surface; by its fade it turns into light of its own, so that the far floor
    has the sky's colour whatever the light."""
    material = studio.own(bpy.data.materials.new("Film floor"))
    material.roughness, material.specular_intensity = 1.0, 0.0
    tree = give_nodes(material)
    nodes, links = tree.nodes, tree.links
    nodes.clear()
    texture: Any = nodes.new("ShaderNodeTexImage")
    texture.image, texture.extension = palette, "EXTEND"
    nodes.active = texture
    matt, glow, blend, out = (
        nodes.new(f"ShaderNode{kind}") for kind in ("BsdfDiffuse", "Emission", "MixShader", "OutputMaterial")
    )
    place, split = nodes.new("ShaderNodeTexCoord"), nodes.new("ShaderNodeSeparateXYZ")
    links.new(texture.outputs["Color"], matt.inputs["Color"])
    links.new(texture.outputs["Color"], glow.inputs["Color"])
    links.new(place.outputs["UV"], split.inputs[0])
    links.new(split.outputs["X"], blend.inputs[0])
    links.new(matt.outputs[0], blend.inputs[1])
    links.new(glow.outputs[0], blend.inputs[2])
    links.new(blend.outputs[0], out.inputs["Surface"])
    return material


def add_floor(studio: Studio, parts: Sequence[Quads]) -> None:
    """One object of all parts: Workbench would outline several against each other."""
    points = np.vstack([part.points for part in parts])
    first = np.cumsum([0] + [len(part.points) for part in parts])
    faces = np.vstack([part.faces + start for part, start in zip(parts, first, strict=False)])
    mesh = studio.own(bpy.data.meshes.new("Film floor"))
    fill_mesh(mesh, Quads(points, faces, np.vstack([part.coordinates for part in parts])))
    mesh.materials.append(floor_material(studio, make_palette(studio)))
    studio.place("Film floor", mesh).display.show_shadows = False  # open surfaces throw false shadows in Workbench


def tiles(shot: Shot, size: float, ground: float) -> Quads:
    """The checkered floor, on a fixed grid of the world all along the path."""
    corners, faces, fades, light = tiles_along(shot.aims[:, :2], shot.distance, nice(TILE_SHARE * size))
    points = np.column_stack([corners, np.full(len(corners), ground)])
    rows = np.repeat(np.where(light, LIGHT_ROW, DARK_ROW), 4)
    return Quads(points, faces, np.column_stack([fades[faces.ravel()], rows]))


def far_floor(shot: Shot, ground: float) -> Quads:
    """A plain floor just below the tiles, out to the horizon."""
    middle = shot.aims[:, :2].mean(axis=0)
    reach = 60.0 * shot.distance + float(np.abs(shot.aims[:, :2] - middle).max())
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * reach + middle
    points = np.column_stack([square, np.full(4, ground - 2e-3 * shot.distance)])
    return Quads(points, np.arange(4).reshape(1, 4), np.tile([1.0, LIGHT_ROW], (4, 1)))


def tiles_along(path: Array, distance: float, tile: float) -> tuple[Array, NDArray[np.int64], Array, NDArray[np.bool_]]:
    """Square tiles near ``path`` (n, 2): corner points (v, 2), faces (f, 4), fade (v,) from 0 near the
    path to 1 at the last tile, and which faces are light ones."""
    reach = FADE_TO * distance
    low, high = path.min(axis=0) - reach, path.max(axis=0) + reach
    while np.prod(np.ceil((high - low) / tile) + 2.0) > MOST_CELLS:
        tile *= 2.0
    first = np.floor(low / tile).astype(np.int64)
    count = np.ceil(high / tile).astype(np.int64) - first + 1
    squared = np.full(tuple(count), np.inf)
    window = int(np.ceil(reach / tile)) + 1
    for point in thinned(path, 0.1 * distance):
        centre = np.round(point / tile).astype(np.int64) - first
        start, stop = np.maximum(centre - window, 0), np.minimum(centre + window + 1, count)
        x, y = ((np.arange(start[i], stop[i]) + first[i]) * tile - point[i] for i in (0, 1))
        part = squared[start[0] : stop[0], start[1] : stop[1]]
        np.minimum(part, x[:, None] ** 2 + y[None, :] ** 2, out=part)
    fade = np.clip((np.sqrt(squared) / distance - FADE_FROM) / (FADE_TO - FADE_FROM), 0.0, 1.0)
    near = fade < 1.0
    column, row = np.nonzero(near[:-1, :-1] | near[1:, :-1] | near[1:, 1:] | near[:-1, 1:])
    index = np.arange(fade.size).reshape(fade.shape)
    faces = np.column_stack(
        [index[column, row], index[column + 1, row], index[column + 1, row + 1], index[column, row + 1]]
    )
    used, faces = np.unique(faces, return_inverse=True)
    points = (np.column_stack(np.unravel_index(used, fade.shape)) + first) * tile
    return points, faces.reshape(-1, 4), fade.ravel()[used], (column + row + first.sum()) % 2 == 0


def thinned(path: Array, spacing: float) -> Array:
    """Points of ``path`` that lie at least ``spacing`` apart, the first and the last among them."""
    kept = [path[0]]
    for point in path[1:]:
        if np.hypot(*(point - kept[-1])) >= spacing:
            kept.append(point)
    return np.array([*kept, path[-1]])


def fill_mesh(mesh: bpy.types.Mesh, quads: Quads) -> None:
    """Give a mesh its quadrilaterals and their texture coordinates, quickly."""
    faces = quads.faces
    mesh.vertices.add(len(quads.points))
    mesh.vertices.foreach_set("co", quads.points.astype(np.float32).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.astype(np.int32).ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4, dtype=np.int32))
    layer: Any = mesh.uv_layers.new(name="UVMap")
    layer.data.foreach_set("uv", quads.coordinates.astype(np.float32).ravel())
    mesh.update(calc_edges=True)


def key_direction(shot: Shot) -> Array:
    """Where the main light comes from, in the world (3,): always the left of the picture, high, in front."""
    key = shot.rotation @ np.asarray(KEY)
    return key / np.linalg.norm(key)


def add_lights(studio: Studio, shot: Shot, size: float) -> None:
    """A warm soft key from the left, a cool fill from the right, fixed to the view's direction."""
    for name, energy, angle, color, direction in (
        ("Film key", 3.0, 7.0, (1.0, 0.95, 0.89), KEY),
        ("Film fill", 0.25, 60.0, (0.82, 0.9, 1.0), FILL),
    ):
        lamp: Any = studio.own(bpy.data.lights.new(name, "SUN"))
        lamp.use_shadow = name == "Film key"
        lamp.energy, lamp.angle, lamp.color = energy, np.radians(angle), color
        away = shot.rotation @ np.asarray(direction)
        post = studio.place(name, lamp)
        post.rotation_mode = "QUATERNION"
        post.rotation_quaternion = Vector(away).to_track_quat("Z", "Y")
        post.location = shot.aims[0] + size * away


def set_world(studio: Studio) -> None:
    """A plain background in the horizon's colour."""
    world = studio.own(bpy.data.worlds.new("Film world"))
    world.color = [linear(value) for value in HORIZON]
    studio.scene.world = world


def match_backdrop(studio: Studio, shot: Shot, ground: float) -> None:
    """Workbench lights the floor but not the background: look at the far floor and paint the background
    like it, so that there is no edge at the horizon."""
    scene = studio.scene
    size = scene.render.resolution_x, scene.render.resolution_y
    camera: Any = add_camera(studio, shot)
    camera.location = shot.aims[0] + 2.0 * FADE_TO * shot.distance * shot.rotation[:, 0]
    camera.location[2] = ground + shot.distance
    camera.data.lens = 10.0 * LENS  # nothing but floor
    camera.data.shift_x = camera.data.shift_y = 0.0
    scene.render.resolution_x = scene.render.resolution_y = 16
    seen = studio.look()[..., :3].reshape(-1, 3).mean(axis=0)
    scene.render.resolution_x, scene.render.resolution_y = size
    scene.world.color = [linear(value) / 2.0**scene.view_settings.exposure for value in seen]


def add_sky(studio: Studio) -> None:
    """A sky from the horizon's colour up to the zenith's: what is seen and what lights the shadows."""
    tree = give_nodes(studio.scene.world)
    nodes, links = tree.nodes, tree.links
    nodes.clear()
    place, split = nodes.new("ShaderNodeTexCoord"), nodes.new("ShaderNodeSeparateXYZ")
    ramp: Any = nodes.new("ShaderNodeValToRGB")
    glow, out = nodes.new("ShaderNodeBackground"), nodes.new("ShaderNodeOutputWorld")
    ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.0, 0.6
    for element, color in zip(ramp.color_ramp.elements, (HORIZON, ZENITH), strict=True):
        element.color = (*(linear(value) for value in color), 1.0)
    links.new(place.outputs["Generated"], split.inputs[0])
    links.new(split.outputs["Z"], ramp.inputs[0])
    links.new(ramp.outputs[0], glow.inputs[0])
    seen: Any = nodes.new("ShaderNodeMapRange")
    seen.inputs["To Min"].default_value = SKY_LIGHT
    links.new(nodes.new("ShaderNodeLightPath").outputs["Is Camera Ray"], seen.inputs["Value"])
    links.new(seen.outputs[0], glow.inputs["Strength"])
    links.new(glow.outputs[0], out.inputs[0])


def linear(value: float) -> float:
    """sRGB to linear light."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def add_camera(studio: Studio, shot: Shot) -> bpy.types.Object:
    """The camera of the shot, as it is in the first frame."""
    data: Any = studio.own(bpy.data.cameras.new("Film camera"))
    data.lens, data.sensor_width, data.sensor_fit = LENS, SENSOR, "AUTO"
    data.shift_x, data.shift_y = shot.shift
    data.clip_start, data.clip_end = 0.02 * shot.distance, 400.0 * shot.distance
    camera = studio.place("Film camera", data)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = Matrix(shot.rotation.tolist()).to_quaternion()
    camera.location = shot.positions[0]
    studio.scene.camera = camera
    return camera


def key_camera(studio: Studio, camera: bpy.types.Object, shot: Shot) -> None:
    """Have the camera go through the whole shot, from frame 1 on."""
    turns = [Matrix(rotation.tolist()).to_quaternion() for rotation in shot.rotations]
    key_places(studio, camera, shot.positions, turns)
