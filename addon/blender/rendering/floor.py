"""Floor and sky of a stage: geometry with colors from a small palette texture, which all engines draw equally.

Workbench has neither node materials nor skies. One axis of the palette is the fade from floor to horizon, the other
the shades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ..compat import ensure_node_tree
from .camera import CameraShot
from .options import RgbColor, StageStyle
from .temporary_studio import Studio

FADE_FROM, FADE_TO = 0.7, 2.8  # in camera distances from the path
HORIZON_DISTANCE = 14.0  # in camera distances; farther there is no depth left to shade by
MAX_CELLS = 4_000_000
FADES, BAND = 128, 3  # texels of the palette: along the fade, and across each shade
THIN_LINE, THICK_LINE = 0.011, 0.022  # half the width of a grid's lines, in tiles
THICK_LINE_INTERVAL = 5
LINE_FADE = 1.8  # ratio of the fades of lines and ground: far away lines would sparkle
MAX_CLOUD_COVER = 0.75  # how much of the sky the thickest cloud covers
_DOME_RINGS, _DOME_SEGMENTS = 96, 288  # rings of the sky's dome, and faces in each
_GROUND_RINGS = 24  # of open ground beyond the tiles
_HAZE_POWER = 0.55  # power by which open ground fades towards the horizon


@dataclass
class Quads:
    """Quadrilaterals: ``points`` (v, 3), ``faces`` (f, 4), palette ``coordinates`` (4 f, 2) per corner."""

    points: Array
    faces: NDArray[np.int64]
    coordinates: Array


def add_floor(studio: Studio, look: StageStyle, parts: Sequence[Quads]) -> None:
    """Create one floor object of all parts: Workbench would outline several against each other.

    All its faces are lit as if they looked upwards, so that a sky among them meets the floor without an edge.
    """
    points = np.vstack([part.points for part in parts])
    first = np.cumsum([0] + [len(part.points) for part in parts])
    faces = np.vstack([part.faces + start for part, start in zip(parts, first, strict=False)])
    mesh = studio.own(bpy.data.meshes.new("Film floor"))
    fill_mesh(mesh, Quads(points, faces, np.vstack([part.coordinates for part in parts])))
    mesh.materials.append(floor_material(studio, make_palette(studio, look)))
    studio.place("Film floor", mesh).display.show_shadows = False  # open surfaces throw false shadows in Workbench


def make_palette(studio: Studio, look: StageStyle) -> bpy.types.Image:
    """Create the palette: a band for each shade, fading to the horizon's color along u, then bands for sky and clouds.

    The band of the sky goes from the horizon's color up to the zenith's, that of the clouds from the horizon's to
    white.
    """
    fade = np.linspace(0.0, 1.0, FADES)[:, None]
    rise = fade**0.6
    fade = fade * fade * (3.0 - 2.0 * fade)
    bands = [mix_colors(color, look.horizon, fade) for color in look.shades] + [
        mix_colors(look.horizon, look.zenith, rise)
    ]
    bands.append(mix_colors(look.horizon, (1.0, 1.0, 1.0), np.minimum(4.0 * fade, 1.0)))
    pixels = np.ones((BAND * len(bands), FADES, 4), dtype=np.float32)
    pixels[..., :3] = np.repeat(bands, BAND, axis=0)
    image: Any = studio.own(bpy.data.images.new("Film palette", FADES, len(pixels)))
    image.pixels.foreach_set(pixels.ravel())
    image.update()
    image.pack()  # else the pixels are generated again, blank, for the render
    return image


def mix_colors(first: RgbColor, second: RgbColor, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate between two colors: (n, 3) for shares (n, 1)."""
    return (1.0 - share) * np.asarray(first) + share * np.asarray(second)


def palette_row(look: StageStyle, shade: NDArray[np.int64] | int) -> Any:
    """Return the center of a shade in the palette, from 0 to 1; after the shades come the sky and its clouds."""
    return (np.asarray(shade) + 0.5) / (len(look.shades) + 2)


def floor_material(studio: Studio, palette: bpy.types.Image) -> bpy.types.Material:
    """Create the floor's material: the palette as a matt surface, which its fade blends into emission.

    Far away the floor therefore has the sky's color whatever the light.
    """
    material = studio.own(bpy.data.materials.new("Film floor"))
    material.roughness, material.specular_intensity = 1.0, 0.0
    tree = ensure_node_tree(material)
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


def nice_number(value: float) -> float:
    """Return the number 1, 2 or 5 times a power of ten that is nearest to ``value`` by ratio."""
    steps = np.array([1.0, 2.0, 5.0, 10.0]) * 10.0 ** np.floor(np.log10(value))
    return float(steps[np.abs(np.log(steps / value)).argmin()])


def tile_size(look: StageStyle, shot: CameraShot, size: float) -> float:
    """Return the length of a tile for a mechanism's size: a step of a walker is one or two in the studio."""
    return limit_tile_count(shot.aims[:, :2], shot.distance, nice_number(look.tile * size))


def checker_tiles(look: StageStyle, shot: CameraShot, tile: float, ground: float) -> Quads:
    """Create the floor's pattern, on a fixed grid of the world all along the path."""
    grid = tile_grid(shot.aims[:, :2], shot.distance, tile)
    if look.pattern == "GRID":
        return grid_tiles(look, grid, ground)
    column, row = np.moveaxis(grid.cells, 1, 0)
    shade = (column + row) % 2
    if look.pattern == "GROUND":
        return ground_tiles(look, grid, ground)
    points = np.column_stack([grid.points, np.full(len(grid.points), ground)])
    height = np.repeat(palette_row(look, shade), 4)
    return Quads(points, grid.faces, np.column_stack([grid.fade[grid.faces.ravel()], height]))


def ground_tiles(look: StageStyle, grid: TileGrid, ground: float) -> Quads:
    """Create open ground: shades that blend in patches of several sizes, as of sand and dry earth, always equal.

    Towards the last tile they become the middle shade, which the ground beyond has.
    """
    shade = np.zeros(len(grid.points))
    for number, (size, height) in enumerate(((31.0, 0.30), (11.0, 0.27), (4.3, 0.25), (1.7, 0.18))):
        shade += height * smooth_noise(grid.points / (size * grid.tile), number)
    spread = 0.5 + 1.6 * (shade - 0.5) * (1.0 - grid.fade**3)
    low, high = palette_row(look, 0), palette_row(look, len(look.shades) - 1)
    height = low + (high - low) * np.clip(spread, 0.0, 1.0)
    points = np.column_stack([grid.points, np.full(len(grid.points), ground)])
    coordinates = np.column_stack([haze_share(grid.fade * (FADE_TO - FADE_FROM) + FADE_FROM), height])
    return Quads(points, grid.faces, coordinates[grid.faces.ravel()])


def haze_share(distance: Array) -> Array:
    """Return the fade, 0 to 1, of ground at a distance (in camera distances) to the horizon's color."""
    faded: Array = np.clip((distance - FADE_FROM) / (HORIZON_DISTANCE - FADE_FROM), 0.0, 1.0) ** _HAZE_POWER
    return faded


def smooth_noise(points: Array, seed: int) -> Array:
    """Return value noise from 0 to 1 at ``points`` (n, 2), smooth from each cell of the unit grid to the next."""
    cell = np.floor(points).astype(np.int64)
    share = points - cell
    share = share * share * (3.0 - 2.0 * share)
    corners = [hash_noise(cell + np.array(step), seed) for step in ((0, 0), (1, 0), (0, 1), (1, 1))]
    near, far = (corners[i] + (corners[i + 1] - corners[i]) * share[:, 0] for i in (0, 2))
    value: Array = near + (far - near) * share[:, 1]
    return value


def hash_noise(cell: NDArray[np.int64], seed: int) -> Array:
    """Return a pseudo-random number from 0 to 1 for each cell (n, 2), always the same."""
    mixed = cell[:, 0] * 374761393 + cell[:, 1] * 668265263 + seed * 974634777
    mixed = (mixed ^ (mixed >> 13)) * 1274126177 & 0xFFFFFFFF
    value: Array = ((mixed ^ (mixed >> 16)) & 0xFFFF) / 65535.0
    return value


def grid_tiles(look: StageStyle, grid: TileGrid, ground: float) -> Quads:
    """Create tiles with lines between them, nine faces per tile: lines upon the floor would flicker."""
    count = len(grid.cells)
    lines = grid.cells[:, None, :] + np.array([0, 1])[None, :, None]  # (n, 2 sides, 2 axes)
    bold = lines % THICK_LINE_INTERVAL == 0
    half = np.where(bold, THICK_LINE, THIN_LINE)
    breaks = (
        np.stack([lines[:, 0], lines[:, 0] + half[:, 0], lines[:, 1] - half[:, 1], lines[:, 1]], axis=1) * grid.tile
    )
    x, y = np.broadcast_arrays(breaks[:, :, None, 0], breaks[:, None, :, 1])
    points = np.stack([x, y, np.full(x.shape, ground)], axis=-1).reshape(-1, 3)
    corner = np.array([[0, 0, 3, 3], [0, 0, 3, 3], [1, 1, 2, 2], [1, 1, 2, 2]])  # nearest corner of the tile
    fade = grid.fade[grid.faces][:, corner].reshape(-1)
    own = np.arange(16).reshape(4, 4)
    one = np.stack([own[:-1, :-1], own[1:, :-1], own[1:, 1:], own[:-1, 1:]], axis=-1).reshape(9, 4)
    faces = (16 * np.arange(count)[:, None, None] + one).reshape(-1, 4)
    along = np.stack([1 + bold[:, 0], np.zeros_like(bold[:, 0], dtype=np.int64), 1 + bold[:, 1]], axis=1)  # (n, 3, 2)
    shade = np.maximum(along[:, :, None, 0], along[:, None, :, 1]).reshape(-1)
    fades = fade[faces.ravel()] * np.repeat(np.where(shade > 0, LINE_FADE, 1.0), 4)
    return Quads(points, faces, np.column_stack([np.minimum(fades, 1.0), np.repeat(palette_row(look, shade), 4)]))


def horizon_floor(look: StageStyle, shot: CameraShot, ground: float) -> Quads:
    """Create the floor just below the tiles, out to the horizon."""
    if look.pattern == "GROUND":
        return horizon_ground(look, shot, ground)
    middle = shot.aims[:, :2].mean(axis=0)
    reach = HORIZON_DISTANCE * shot.distance + float(np.abs(shot.aims[:, :2] - middle).max())
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * reach + middle
    points = np.column_stack([square, np.full(4, ground - 2e-3 * shot.distance)])
    return Quads(points, np.arange(4).reshape(1, 4), np.tile([1.0, palette_row(look, 0)], (4, 1)))


def horizon_ground(look: StageStyle, shot: CameraShot, ground: float) -> Quads:
    """Create rings of open ground from beneath the tiles to the horizon, whose fade continues that of the tiles."""
    middle = shot.aims[:, :2].mean(axis=0)
    spread = float(np.hypot(*(shot.aims[:, :2] - middle).T).max())
    reach = np.geomspace(FADE_FROM, HORIZON_DISTANCE, _GROUND_RINGS)
    turn = np.linspace(0.0, 2.0 * np.pi, 4 * _GROUND_RINGS + 1)
    around = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    points = np.full((_GROUND_RINGS + 1, len(turn), 3), ground - 2e-3 * shot.distance)
    points[0, :, :2] = middle
    points[1:, :, :2] = middle + (spread + reach * shot.distance)[:, None, None] * around
    faded = np.concatenate([[0.0], haze_share(reach)])
    index = np.arange(points[..., 0].size).reshape(points.shape[:2])
    faces = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
    along = np.broadcast_to(faded[:, None], points.shape[:2]).reshape(-1)[faces.ravel()]
    height = 0.5 * (palette_row(look, 0) + palette_row(look, len(look.shades) - 1))
    return Quads(points.reshape(-1, 3), faces, np.column_stack([along, np.full(len(along), height)]))


def sky_dome(look: StageStyle, shot: CameraShot, ground: float) -> Quads:
    """Create the sky as seen from the path, from the horizon up, for Workbench, which has no skies."""
    middle = shot.aims.mean(axis=0)
    reach = HORIZON_DISTANCE * shot.distance
    rise = np.linspace(0.0, 0.5 * np.pi, _DOME_RINGS + 1)
    turn = np.linspace(0.0, 2.0 * np.pi, _DOME_SEGMENTS + 1)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    points = np.empty((_DOME_RINGS + 1, _DOME_SEGMENTS + 1, 3))
    points[..., :2] = middle[:2] + reach * np.cos(rise)[:, None, None] * ring
    points[..., 2] = ground - 0.01 * shot.distance + reach * np.sin(rise)[:, None]
    index = np.arange(points[..., 0].size).reshape(points.shape[:2])
    # counterclockwise as seen from inside
    faces = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 4)
    up = np.broadcast_to((np.sin(rise))[:, None], points.shape[:2]).reshape(-1)[faces.ravel()]
    clear, white = palette_row(look, len(look.shades)), palette_row(look, len(look.shades) + 1)
    cover = cloud_cover(*np.meshgrid(rise, turn, indexing="ij")).reshape(-1)[faces.ravel()]
    return Quads(points.reshape(-1, 3), faces, np.column_stack([up, clear + (white - clear) * cover]))


def cloud_cover(rise: Array, turn: Array) -> Array:
    """Return the clouds' cover, 0 to ``MAX_CLOUD_COVER``, at angles (rad) above the horizon and around."""
    # flat layers seen from below: long near the horizon, closed around the sky
    places = np.stack([2.0 * np.cos(turn) + 7.0 * rise, 2.0 * np.sin(turn) - 11.0 * rise], axis=-1).reshape(-1, 2)
    value = sum(
        height * smooth_noise(float(size) * places, 7 + size) for size, height in ((2, 0.5), (5, 0.3), (11, 0.2))
    )
    cover: Array = MAX_CLOUD_COVER * np.clip((np.asarray(value) - 0.5) / 0.25, 0.0, 1.0)
    return cover.reshape(rise.shape)


@dataclass
class TileGrid:
    """Square tiles: corner ``points`` (v, 2), ``faces`` (f, 4), ``fade`` (v,) and ``cells`` (f, 2) of the world's grid.

    ``fade`` is 0 near the path and 1 at the last tile; ``cells`` are counted in tiles of length ``tile``.
    """

    points: Array
    faces: NDArray[np.int64]
    fade: Array
    cells: NDArray[np.int64]
    tile: float


def tile_grid(path: Array, distance: float, tile: float) -> TileGrid:
    """Create square tiles near ``path`` (n, 2), larger than ``tile`` where they would be too many."""
    tile = limit_tile_count(path, distance, tile)
    reach = FADE_TO * distance
    low, high = path.min(axis=0) - reach, path.max(axis=0) + reach
    first = np.floor(low / tile).astype(np.int64)
    count = np.ceil(high / tile).astype(np.int64) - first + 1
    squared = np.full(tuple(count), np.inf)
    window = int(np.ceil(reach / tile)) + 1
    for point in thin_path(path, 0.1 * distance):
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
    cells = np.column_stack([column, row]) + first
    return TileGrid(points, faces.reshape(-1, 4), fade.ravel()[used], cells, tile)


def limit_tile_count(path: Array, distance: float, tile: float) -> float:
    """Return the length of a tile, doubled until those along a path are at most ``MAX_CELLS``."""
    wide, high = np.ptp(path, axis=0) + 2.0 * FADE_TO * distance
    while (np.ceil(wide / tile) + 2.0) * (np.ceil(high / tile) + 2.0) > MAX_CELLS:
        tile *= 2.0
    return tile


def thin_path(path: Array, spacing: float) -> Array:
    """Return points of ``path`` that are at least ``spacing`` apart, and its first and last."""
    kept = [path[0]]
    for point in path[1:]:
        if np.hypot(*(point - kept[-1])) >= spacing:
            kept.append(point)
    return np.array([*kept, path[-1]])


def fill_mesh(mesh: bpy.types.Mesh, quads: Quads) -> None:
    """Fill a mesh with quadrilaterals and texture coordinates at once, with all normals upwards."""
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
    mesh.normals_split_custom_set_from_vertices(np.tile((0.0, 0.0, 1.0), (len(quads.points), 1)).tolist())
