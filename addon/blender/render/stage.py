"""The studio: a checkered floor that fades into the backdrop, and light.

Workbench knows neither node materials nor skies, so the floor is real geometry whose colours come from a
small palette texture: one axis is the fade from floor to horizon, the other what is painted. All three
engines draw the same."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from .engines import WORKBENCH
from .framing import Array, Shot
from .options import Engine
from .studio import Studio

Color = tuple[float, float, float]
LIGHT_TILE: Color = (0.86, 0.87, 0.88)  # sRGB
DARK_TILE: Color = (0.76, 0.78, 0.80)
HORIZON: Color = (0.88, 0.91, 0.94)
ZENITH: Color = (0.55, 0.68, 0.82)

FADE_FROM, FADE_TO = 0.7, 2.8  # in camera distances from the path
TILE_SHARE = 0.22  # of the model's size: a step of a walker is one or two tiles
MOST_CELLS = 4_000_000
FADES, ROWS = 128, 12
DARK_ROW, LIGHT_ROW, SKY_ROW = (0.5 + 1) / ROWS, (0.5 + 4) / ROWS, (0.5 + 8) / ROWS  # v in the middle of a band


def build_stage(studio: Studio, shot: Shot, size: float, ground: float, engine: Engine) -> None:
    """Set the stage for a model of about ``size`` that moves along ``shot.aims`` above the height ``ground``."""
    palette = make_palette(studio)
    material = floor_material(studio, palette)
    add_floor(studio, material, shot, size, ground)
    if engine == WORKBENCH:
        add_backdrop(studio, material, shot, ground)
        set_world(studio, HORIZON)
    else:
        add_lights(studio, shot, size)
        set_sky(studio)


def floor_height(lowest: float, size: float) -> float:
    """The floor is at 0, where formats and scenes have it; under or up at the model's lowest point where
    that is clearly elsewhere."""
    return 0.0 if abs(lowest) <= 0.25 * size else lowest


def nice(value: float) -> float:
    """The number 1, 2 or 5 times a power of ten that is nearest to ``value`` by ratio."""
    steps = np.array([1.0, 2.0, 5.0, 10.0]) * 10.0 ** np.floor(np.log10(value))
    return float(steps[np.abs(np.log(steps / value)).argmin()])


def make_palette(studio: Studio) -> bpy.types.Image:
    """Bands of dark tiles, light tiles and sky; the first two fade to the horizon's colour along u."""
    fade = np.linspace(0.0, 1.0, FADES)[:, None]
    fade = fade * fade * (3.0 - 2.0 * fade)
    bands = [mix(DARK_TILE, HORIZON, fade)] * 3 + [mix(LIGHT_TILE, HORIZON, fade)] * 3
    bands += [mix(HORIZON, ZENITH, fade)] * (ROWS - len(bands))
    pixels = np.ones((ROWS, FADES, 4), dtype=np.float32)
    pixels[..., :3] = bands
    image = studio.own(bpy.data.images.new("Film palette", FADES, ROWS))
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
    material.use_nodes = True
    material.roughness, material.specular_intensity = 1.0, 0.0
    nodes, links = material.node_tree.nodes, material.node_tree.links
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


def add_floor(studio: Studio, material: bpy.types.Material, shot: Shot, size: float, ground: float) -> None:
    """Tiles on a fixed grid of the world all along the path, and a plain floor below out to the horizon."""
    corners, faces, fades, light = tiles_along(shot.aims[:, :2], shot.distance, nice(TILE_SHARE * size))
    points = np.column_stack([corners, np.full(len(corners), ground)])
    coordinates = np.column_stack([fades[faces.ravel()], np.repeat(np.where(light, LIGHT_ROW, DARK_ROW), 4)])
    floor = studio.place("Film floor", quads(studio, "Film floor", points, faces, coordinates))
    far = 60.0 * shot.distance
    middle = shot.aims[:, :2].mean(axis=0)
    reach = far + float(np.abs(shot.aims[:, :2] - middle).max())
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * reach + middle
    skirt_points = np.column_stack([square, np.full(4, ground - 2e-3 * shot.distance)])
    skirt_coordinates = np.tile([1.0, LIGHT_ROW], (4, 1))
    skirt = studio.place(
        "Film far floor", quads(studio, "Film far floor", skirt_points, np.arange(4).reshape(1, 4), skirt_coordinates)
    )
    for thing in (floor, skirt):
        thing.data.materials.append(material)
        thing.display.show_shadows = False  # open surfaces throw false shadows in Workbench


def tiles_along(
    path: Array, distance: float, tile: float
) -> tuple[Array, NDArray[np.int64], Array, NDArray[np.bool_]]:
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


def quads(studio: Studio, name: str, points: Array, faces: NDArray[np.int64], coordinates: Array) -> bpy.types.Mesh:
    """A mesh of quadrilaterals with texture coordinates (4 per face), quickly."""
    mesh = studio.own(bpy.data.meshes.new(name))
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.astype(np.float32).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.astype(np.int32).ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4, dtype=np.int32))
    layer: Any = mesh.uv_layers.new(name="UVMap")
    layer.data.foreach_set("uv", coordinates.astype(np.float32).ravel())
    mesh.update(calc_edges=True)
    return mesh


def add_backdrop(studio: Studio, material: bpy.types.Material, shot: Shot, ground: float) -> None:
    """The sky for Workbench: a drum around the stage, from the horizon's colour up. Its normals all
    point up as the floor's do, so the same studio light falls on both and they meet without an edge."""
    middle = shot.aims.mean(axis=0)
    radius = 30.0 * shot.distance + float(np.linalg.norm(shot.aims - middle, axis=1).max())
    sides, heights, fades = 64, np.array([-0.02, 0.01, 0.25, 0.6, 2.0]), np.array([0.0, 0.0, 0.35, 0.8, 1.0])
    angle = np.arange(sides) * (2.0 * np.pi / sides)
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sides)])
    points = np.vstack([radius * (ring + [0.0, 0.0, height]) for height in heights]) + [*middle[:2], ground]
    step = np.arange(sides)
    after = (step + 1) % sides
    faces = np.vstack(
        [
            np.column_stack([k * sides + after, k * sides + step, (k + 1) * sides + step, (k + 1) * sides + after])
            for k in range(len(heights) - 1)
        ]
    )
    coordinates = np.column_stack([fades[faces.ravel() // sides], np.full(faces.size, SKY_ROW)])
    mesh = quads(studio, "Film backdrop", points, faces, coordinates)
    mesh.materials.append(material)
    mesh.normals_split_custom_set([(0.0, 0.0, 1.0)] * faces.size)
    studio.place("Film backdrop", mesh).display.show_shadows = False


def add_lights(studio: Studio, shot: Shot, size: float) -> None:
    """A warm soft key from the left and behind the camera, a cool fill from the right, fixed to the view's direction."""
    for name, energy, angle, color, direction in (
        ("Film key", 3.2, 9.0, (1.0, 0.95, 0.88), (-0.75, 0.85, 0.75)),
        ("Film fill", 0.5, 60.0, (0.82, 0.9, 1.0), (0.9, 0.35, 0.5)),
    ):
        lamp: Any = studio.own(bpy.data.lights.new(name, "SUN"))
        lamp.energy, lamp.angle, lamp.color = energy, np.radians(angle), color
        away = shot.rotation @ np.asarray(direction)
        post = studio.place(name, lamp)
        post.rotation_mode = "QUATERNION"
        post.rotation_quaternion = Vector(away).to_track_quat("Z", "Y")
        post.location = shot.aims[0] + size * away


def set_world(studio: Studio, color: Color) -> None:
    """A plain background."""
    world = studio.own(bpy.data.worlds.new("Film world"))
    world.color = color
    studio.scene.world = world


def set_sky(studio: Studio) -> None:
    """A sky from the horizon's colour up to the zenith's: what is seen and what lights the shadows."""
    set_world(studio, HORIZON)
    world = studio.scene.world
    world.use_nodes = True
    nodes, links = world.node_tree.nodes, world.node_tree.links
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
    links.new(glow.outputs[0], out.inputs[0])


def linear(value: float) -> float:
    """sRGB to linear light."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def add_camera(studio: Studio, shot: Shot, lens: float, sensor: float) -> bpy.types.Object:
    """The camera of the shot, to be put at its positions frame by frame."""
    data = studio.own(bpy.data.cameras.new("Film camera"))
    data.lens, data.sensor_width, data.sensor_fit = lens, sensor, "AUTO"
    data.clip_start, data.clip_end = 0.02 * shot.distance, 400.0 * shot.distance
    camera = studio.place("Film camera", data)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = Matrix(shot.rotation).to_quaternion()
    studio.scene.camera = camera
    return camera
