"""Stages: scenes with floor, horizon, light, camera and stand-ins for the objects, with keyframes, in several styles.

The lines of a grid are numbered on the floor, along the two sides of the motion that are nearest to the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...core.model import Array
from ..animation.keying import fill_curve
from ..compat import action_curves, active_nodes, ensure_node_tree, new_curve, use_action
from ..data.datablocks import mesh_points
from .burn_in import TABLE_SHARE, has_room_beside
from .camera import LENS, SENSOR, CameraShot, Margins, half_angle_tangents, make_shot, plan_shot
from .engines import WORKBENCH, set_up_engine, set_up_picture
from .floor import (
    FADE_TO,
    HORIZON_DISTANCE,
    MAX_CLOUD_COVER,
    add_floor,
    checker_tiles,
    horizon_floor,
    sky_dome,
    tile_size,
)
from .options import BURNS, STAGE_STYLES, Burn, FilmOptions, RenderEngine, StageStyle, srgb_to_linear
from .playback import RecordedTake, is_deformed
from .temporary_studio import Studio
from .video_state import VideoState, write_video_state

BEVEL_SHARE = 0.035  # of a mesh's smallest side
BEVEL_ANGLE = np.radians(40.0)
BEVEL_FACES = 400  # meshes with more are detailed already


def create_stand_ins(
    studio: Studio, take: RecordedTake, graph: bpy.types.Depsgraph, shader_nodes: bool
) -> list[bpy.types.Object]:
    """Create a stand-in for every object of the take, in its order, in the studio's scene."""
    meshes: dict[tuple[object, ...], bpy.types.Mesh] = {}
    dressed: dict[bpy.types.Material, bpy.types.Material] = {}
    actors = []
    for index, source in enumerate(take.objects):
        matrix: Any = Matrix(take.poses[0, index])
        scale = tuple(round(side, 6) for side in matrix.to_scale())
        deformed = is_deformed(source)
        key = (source if deformed else source.data, scale)
        if key not in meshes:
            meshes[key] = studio.own(stand_in_mesh(source, graph, scale, deformed))
        kind = "Film" if index < take.cast else "Film scenery"
        actor = studio.place(f"{kind} {source.name}", meshes[key])
        actor.color = source.color
        actor.rotation_mode = "QUATERNION"
        for slot, original in zip(actor.material_slots, source.material_slots, strict=False):
            slot.link = "OBJECT"
            slot.material = original.material
            if shader_nodes and original.material is not None:
                slot.material = shading_material(studio, original.material, dressed)
        actors.append(actor)
    return actors


def stand_in_mesh(
    source: bpy.types.Object, graph: bpy.types.Depsgraph, scale: tuple[float, ...], deformed: bool
) -> bpy.types.Mesh:
    """Create a mesh in the object's true size, with beveled edges unless it is deformed: real edges catch light."""
    data: Any = source.data
    mesh: Any = (
        bpy.data.meshes.new_from_object(source.evaluated_get(graph), depsgraph=graph) if deformed else data.copy()
    )
    mesh.transform(Matrix.Diagonal((*scale, 1.0)))
    if np.prod(scale) < 0.0:
        mesh.flip_normals()
    if not deformed and 0 < len(mesh.polygons) <= BEVEL_FACES:
        bevel_edges(mesh)
    return mesh


def bevel_edges(mesh: bpy.types.Mesh) -> None:
    """Bevel the sharp edges of a closed mesh a little."""
    sides = np.ptp(mesh_points(mesh), axis=0)
    width = BEVEL_SHARE * float(sides.min())
    shape = bmesh.new()
    shape.from_mesh(mesh)
    sharp = [edge for edge in shape.edges if edge.is_manifold and edge.calc_face_angle(0.0) > BEVEL_ANGLE]
    if sharp and width > 0.0:
        bmesh.ops.bevel(
            shape,
            geom=sharp,
            offset=width,
            offset_type="OFFSET",
            segments=2,
            profile=0.5,
            affect="EDGES",
            clamp_overlap=True,
        )
        shape.to_mesh(mesh)
    shape.free()


def key_poses(studio: Studio, actors: list[bpy.types.Object], poses: Array) -> None:
    """Keyframe the stand-ins at the poses of their originals: world matrices (n, k, 4, 4) of the frames from 1 on.

    Scale is in their meshes.
    """
    for number, actor in enumerate(actors):
        parts = [Matrix(matrix).decompose() for matrix in poses[:, number]]
        key_transforms(studio, actor, np.array([place for place, _, _ in parts]), [turn for _, turn, _ in parts])


def key_transforms(studio: Studio, thing: bpy.types.Object, places: Array, turns: Sequence[Quaternion]) -> None:
    """Keyframe the location (n, 3) and rotation of an object in the frames from 1 on.

    Channels that do not change get no keyframes.
    """
    thing.rotation_mode = "QUATERNION"
    thing.location, thing.rotation_quaternion = places[0], turns[0]
    tracks = {"location": places, "rotation_quaternion": np.array(turns, dtype=np.float64)}
    moving = [(path, index) for path, part in tracks.items() for index in np.flatnonzero(np.ptp(part, axis=0)).tolist()]
    if not moving:
        return
    action = studio.own(bpy.data.actions.new(thing.name))
    use_action(thing, action)
    curves, frames = action_curves(thing, action), np.arange(1.0, len(places) + 1.0)
    for path, index in moving:
        fill_curve(new_curve(curves, path, index, thing.name), frames, tracks[path][:, index])


def shading_material(
    studio: Studio, material: bpy.types.Material, dressed: dict[bpy.types.Material, bpy.types.Material]
) -> bpy.types.Material:
    """Return the material for engines that shade by nodes.

    One with only a viewport color, its nodes as Blender created them, is replaced by a paint of that color.
    """
    if material not in dressed:
        dressed[material] = viewport_paint(studio, material) if has_only_viewport_color(material) else material
    return dressed[material]


def has_only_viewport_color(material: bpy.types.Material) -> bool:
    """Return whether there are no nodes, or only an untouched Principled shader beside a viewport color."""
    nodes = active_nodes(material)
    shader = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    if shader is None:
        return len(nodes) <= 1
    base = shader.inputs["Base Color"]
    untouched = len(nodes) == 2 and not base.is_linked
    return untouched and bool(np.allclose(tuple(base.default_value)[:3], 0.8, atol=1e-3))


def viewport_paint(studio: Studio, material: bpy.types.Material) -> bpy.types.Material:
    """Create a paint of a material's viewport color."""
    return make_paint(studio, f"Film {material.name}", tuple(material.diffuse_color[:3]))


def make_paint(studio: Studio, name: str, color: Sequence[float]) -> bpy.types.Material:
    """Create a satin paint of a color (linear), for every engine."""
    material = studio.own(bpy.data.materials.new(name))
    material.diffuse_color = (*color, 1.0)
    shader: Any = next(node for node in ensure_node_tree(material).nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*color, 1.0)
    shader.inputs["Roughness"].default_value = 0.32
    shader.inputs["Specular IOR Level"].default_value = 0.5
    return material


_MAX_LABELS = 60  # numbers along a side
_LETTER_HEIGHT = 0.042  # of a letter, as a share of the picture's height where the camera aims
_LABEL_WIDTH = 5.0  # width of a number with its space, in letters
_LETTER_WEIGHT, _HALO = 0.018, 0.085  # thickening of strokes and of the halo behind them, in letters
_LABEL_OFFSET = 2e-3  # above the floor, in camera distances: as far as the floor is above the far one


def add_labels(studio: Studio, look: StageStyle, shot: CameraShot, size: float, tile: float, ground: float) -> None:
    """Write the coordinates of a grid's lines along them, in the scene's unit; ``tile`` is their distance.

    The numbers face the camera, as high in pictures of every size, with a halo that no line of the grid crosses. Those
    for a camera that goes around lie on the floor.
    """
    ink, halo = (
        make_paint(studio, "Film ink", look.ink),
        make_paint(studio, "Film halo", [srgb_to_linear(part) for part in look.shades[0]]),
    )
    stands = bool(np.allclose(shot.rotations, shot.rotations[:1]))
    letter = letter_height(studio.scene, shot)
    across, towards = nearest_floor_axis(shot.rotation[:2, 0]), nearest_floor_axis(shot.rotation[:2, 2])
    low, high = label_bounds(shot, size, tile)
    for axis in (0, 1):
        runs_across = abs(across[axis]) > 0.5
        # on the side towards the camera; the other side's numbers are at the right of the picture
        side = towards if runs_across else across
        other = 1 - axis
        edge = high[other] if side[other] > 0.0 else low[other]
        apart = _LABEL_WIDTH * letter if runs_across else 1.6 * letter / max(float(shot.rotation[2, 2]), 0.1)
        for step in labeled_lines(int(low[axis]), int(high[axis]), apart / tile):
            place = np.zeros(2)
            place[axis], place[other] = step * tile, (edge + 0.15 * side[other]) * tile
            turn = np.eye(4)
            if stands:
                turn[:3, :3] = shot.rotation
                rise = letter * (0.3 + float(shot.rotation[2, 1]))
            else:
                turn[:2, 0], turn[:2, 1] = across, (-across[1], across[0])
                rise = _LABEL_OFFSET * 0.5 * shot.distance
            turn[:3, 3] = *place, ground + rise
            for material, offset, behind in ((ink, _LETTER_WEIGHT, 0.0), (halo, _HALO, 0.02)):
                text = add_label(studio, label_text(step * tile, tile), material)
                text.data.size, text.data.offset = letter, offset * letter
                text.data.align_x = "CENTER" if runs_across else "LEFT"
                text.data.align_y = "TOP" if runs_across else "CENTER"
                text.matrix_world = Matrix(turn.tolist()) @ Matrix.Translation((0.0, 0.0, -behind * letter))
                text.display.show_shadows = text.visible_shadow = False


def letter_height(scene: bpy.types.Scene, shot: CameraShot) -> float:
    """Return the height of a letter, in the scene's unit."""
    size = scene.render.resolution_x, scene.render.resolution_y
    return _LETTER_HEIGHT * 2.0 * half_angle_tangents(size)[1] * shot.distance * max(1.0, size[0] / size[1] / 2.0)


def label_bounds(shot: CameraShot, size: float, tile: float) -> tuple[Array, Array]:
    """Return the lowest and highest lines, (2,) each, around the camera's aims, with room for the mechanism."""
    room = 0.42 * size
    low = np.floor((shot.aims[:, :2].min(axis=0) - room) / tile)
    return low, np.ceil((shot.aims[:, :2].max(axis=0) + room) / tile)


def labeled_lines(low: int, high: int, apart: float = 0.0) -> range:
    """Return the lines from ``low`` to ``high`` that are numbered.

    These are all, or every second, fifth, tenth and so on where they are many or would be fewer than ``apart`` lines
    apart.
    """
    strides = (1, 2, 5, 10, 20, 50, 100, 10**9)
    stride = next(stride for stride in strides if (high - low) / stride <= _MAX_LABELS and stride >= apart)
    return range(-(-low // stride) * stride, high + 1, stride)


def label_text(value: float, tile: float) -> str:
    """Format a coordinate with as many decimals as the grid needs."""
    places = max(0, -int(np.floor(np.log10(tile) + 1e-9)))
    return f"{value + 0.0:.{places}f} m"


def nearest_floor_axis(direction: Array) -> Array:
    """Return the axis, (2,) with its sign, that is nearest to a direction (2,) of the floor."""
    out = np.zeros(2)
    largest = int(np.abs(direction).argmax())
    out[largest] = np.sign(direction[largest]) or 1.0
    return out


def add_label(studio: Studio, words: str, material: bpy.types.Material) -> Any:
    """Create a text object."""
    data: Any = studio.own(bpy.data.curves.new("Film label", "FONT"))
    data.body = words
    data.materials.append(material)
    return studio.place("Film label", data)


_EXPOSURE = (-0.5, 0.5)  # limits of the correction of the exposure, in stops

KEY_LIGHT = (-0.75, 0.85, 0.75)  # towards the lights, in the view: right, up, back
FILL_LIGHT = (0.9, 0.35, 0.5)


def build_stage(
    studio: Studio, look: StageStyle, shot: CameraShot, size: float, ground: float, engine: RenderEngine
) -> None:
    """Build the stage for a mechanism of about ``size`` that moves along ``shot.aims`` above the height ``ground``."""
    tile = tile_size(look, shot, size)
    parts = [checker_tiles(look, shot, tile, ground), horizon_floor(look, shot, ground)]
    if engine == WORKBENCH and look.pattern == "GROUND":
        parts.append(sky_dome(look, shot, ground))
        shading: Any = studio.scene.display.shading
        shading.cavity_type = "SCREEN"  # the other kind would take the sky for a wall
    add_floor(studio, look, parts)
    if look.labels:
        add_labels(studio, look, shot, size, tile, ground)
    world = set_world(studio, look)
    if engine == WORKBENCH:
        match_backdrop(studio, world, look, shot, ground)
    else:
        add_lights(studio, look, shot, size)
        add_sky(world, look)


def floor_height(lowest: float, size: float) -> float:
    """Return the floor's height: 0, as in formats and scenes, or the mechanism's lowest point if clearly elsewhere.

    A mechanism that sinks in a little still stands on 0; what lies deeper would be hidden.
    """
    return 0.0 if -0.05 * size <= lowest <= 0.25 * size else lowest


def key_direction(shot: CameraShot) -> Array:
    """Return the direction in the world (3,) towards the main light: always left of the picture, high, in front."""
    key = shot.rotation @ np.asarray(KEY_LIGHT)
    return key / np.linalg.norm(key)


def add_lights(studio: Studio, look: StageStyle, shot: CameraShot, size: float) -> None:
    """Add a warm soft key light from the left and a cool fill light from the right, fixed to the view's direction."""
    for name, energy, angle, color, direction in (
        ("Film key", look.key, look.softness, look.warmth, KEY_LIGHT),
        ("Film fill", look.fill, 60.0, (0.82, 0.9, 1.0), FILL_LIGHT),
    ):
        lamp: Any = studio.own(bpy.data.lights.new(name, "SUN"))
        lamp.use_shadow = name == "Film key"
        lamp.energy, lamp.angle, lamp.color = energy, np.radians(angle), color
        away = shot.rotation @ np.asarray(direction)
        post = studio.place(name, lamp)
        post.rotation_mode = "QUATERNION"
        post.rotation_quaternion = Vector(away).to_track_quat("Z", "Y")
        post.location = shot.aims[0] + size * away


def set_world(studio: Studio, look: StageStyle) -> bpy.types.World:
    """Set a plain background in the horizon's color, and return it."""
    world = studio.own(bpy.data.worlds.new("Film world"))
    world.color = [srgb_to_linear(value) for value in look.horizon]
    studio.scene.world = world
    return world


def match_backdrop(studio: Studio, world: bpy.types.World, look: StageStyle, shot: CameraShot, ground: float) -> None:
    """Set the background to the rendered color of the far floor, so that there is no edge at the horizon.

    Workbench lights the floor but not the background. Where the view leaves the floor dark or bright, the exposure is
    corrected.
    """
    scene = studio.scene
    size = scene.render.resolution_x, scene.render.resolution_y
    camera: Any = add_camera(studio, shot)
    camera.location = shot.aims[0] + 2.0 * FADE_TO * shot.distance * shot.rotation[:, 0]
    camera.location[2] = ground + shot.distance
    camera.data.lens = 10.0 * LENS  # nothing but floor
    camera.data.shift_x = camera.data.shift_y = 0.0
    scene.render.resolution_x = scene.render.resolution_y = 16
    shading: Any = scene.display.shading
    cavities, shading.show_cavity = shading.show_cavity, False  # their shades are no part of a plain floor
    seen = studio.look()[..., :3].reshape(-1, 3).mean(axis=0)
    shading.show_cavity = cavities
    scene.render.resolution_x, scene.render.resolution_y = size
    lit = np.array([srgb_to_linear(value) for value in seen])
    wanted = sum(srgb_to_linear(value) for value in look.horizon) / max(float(lit.sum()), 1e-6)
    world.color = (lit / 2.0**scene.view_settings.exposure).tolist()
    scene.view_settings.exposure += float(np.clip(np.log2(wanted), *_EXPOSURE))


def add_sky(world: bpy.types.World, look: StageStyle) -> None:
    """Create a sky from the horizon's color up to the zenith's, which is seen and lights the shadows."""
    tree = ensure_node_tree(world)
    nodes, links = tree.nodes, tree.links
    nodes.clear()
    place, split = nodes.new("ShaderNodeTexCoord"), nodes.new("ShaderNodeSeparateXYZ")
    ramp: Any = nodes.new("ShaderNodeValToRGB")
    glow, out = nodes.new("ShaderNodeBackground"), nodes.new("ShaderNodeOutputWorld")
    ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.0, 0.6
    for element, color in zip(ramp.color_ramp.elements, (look.horizon, look.zenith), strict=True):
        element.color = (*(srgb_to_linear(value) for value in color), 1.0)
    links.new(place.outputs["Generated"], split.inputs[0])
    links.new(split.outputs["Z"], ramp.inputs[0])
    if look.pattern == "GROUND":
        add_clouds(tree, place.outputs["Generated"], ramp.outputs[0], glow.inputs[0])
    else:
        links.new(ramp.outputs[0], glow.inputs[0])
    seen: Any = nodes.new("ShaderNodeMapRange")
    seen.inputs["To Min"].default_value = look.sky
    links.new(nodes.new("ShaderNodeLightPath").outputs["Is Camera Ray"], seen.inputs["Value"])
    links.new(seen.outputs[0], glow.inputs["Strength"])
    links.new(glow.outputs[0], out.inputs[0])


def add_clouds(tree: Any, direction: Any, sky: Any, glow: Any) -> None:
    """Add soft clouds over a sky's color, flattened towards the horizon."""
    nodes, links = tree.nodes, tree.links
    flat: Any = nodes.new("ShaderNodeMapping")
    flat.inputs["Scale"].default_value = (2.0, 2.0, 9.0)
    noise: Any = nodes.new("ShaderNodeTexNoise")
    noise.inputs["Scale"].default_value, noise.inputs["Detail"].default_value = 1.6, 5.0
    cover: Any = nodes.new("ShaderNodeMapRange")
    cover.inputs["From Min"].default_value, cover.inputs["From Max"].default_value = 0.5, 0.75
    cover.inputs["To Max"].default_value = MAX_CLOUD_COVER
    mixed: Any = nodes.new("ShaderNodeMixRGB")
    share, below, above = mixed.inputs  # their names differ between versions
    above.default_value = (1.0, 1.0, 1.0, 1.0)
    links.new(direction, flat.inputs["Vector"])
    links.new(flat.outputs["Vector"], noise.inputs["Vector"])
    links.new(noise.outputs[0], cover.inputs["Value"])
    links.new(cover.outputs[0], share)
    links.new(sky, below)
    links.new(mixed.outputs["Color"], glow)


def add_camera(studio: Studio, shot: CameraShot) -> bpy.types.Object:
    """Create the camera of a shot, as it is in the first frame."""
    data: Any = studio.own(bpy.data.cameras.new("Film camera"))
    data.lens, data.sensor_width, data.sensor_fit = LENS, SENSOR, "AUTO"
    data.shift_x, data.shift_y = shot.shift
    path = float(np.linalg.norm(np.ptp(shot.aims, axis=0)))
    data.clip_start, data.clip_end = 0.15 * shot.distance, 3.0 * HORIZON_DISTANCE * shot.distance + 2.0 * path
    camera = studio.place("Film camera", data)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = Matrix(shot.rotation.tolist()).to_quaternion()
    camera.location = shot.positions[0]
    studio.scene.camera = camera
    return camera


def key_camera(studio: Studio, camera: bpy.types.Object, shot: CameraShot) -> None:
    """Keyframe the camera through the whole shot, from frame 1 on."""
    turns = [Matrix(rotation.tolist()).to_quaternion() for rotation in shot.rotations]
    key_transforms(studio, camera, shot.positions, turns)


#: A mechanism without any size is rendered as if it had this.
MIN_EXTENT = 1e-3


def build_stages(
    stack: ExitStack,
    context: bpy.types.Context,
    takes: Sequence[tuple[str, RecordedTake]],
    video: VideoState,
    options: FilmOptions,
    poster: bool,
) -> list[bpy.types.Scene]:
    """Build a stage for each of the labeled ``takes``, and store the state ``video`` with it.

    The first stage shows the others beside it. On leaving ``stack`` the scenes and all that is in them are removed.
    """
    size = video.size[0] // len(takes), video.size[1]
    shots = align_shots([plan_camera(take, size, options) for _, take in takes])
    extent = max(model_extent(take) for _, take in takes)
    ground = min(ground_height(take, extent) for _, take in takes) if options.ground is None else options.ground
    scenes: list[bpy.types.Scene] = []
    for (label, take), shot in zip(reversed(takes), reversed(shots), strict=True):
        studio = stack.enter_context(Studio())
        furnish_stage(studio, context, take, shot, (size, extent, ground), options, poster)
        write_video_state(studio.scene, replace(video, label=label), take.readings, scenes[0] if scenes else None)
        scenes.insert(0, studio.scene)
    return scenes


def furnish_stage(
    studio: Studio,
    context: bpy.types.Context,
    take: RecordedTake,
    shot: CameraShot,
    measures: tuple[tuple[int, int], float, float],
    options: FilmOptions,
    poster: bool,
) -> None:
    """Fill a studio: engine, floor, light, camera and stand-ins, with keyframes from frame 1 on.

    ``measures`` are the picture's size (pixels), the mechanism's size and the floor's height, which stages beside each
    other have in common.
    """
    scene, look = studio.scene, STAGE_STYLES[options.stage]
    size, extent, ground = measures
    scene.frame_start, scene.frame_end = 1, len(take.frames)
    set_up_picture(scene, size)
    set_up_engine(scene, options.engine, options.samples_for(poster), extent, key_direction(shot), look.shadow)
    build_stage(studio, look, shot, extent, ground, options.engine)
    key_camera(studio, add_camera(studio, shot), shot)
    actors = create_stand_ins(studio, take, context.evaluated_depsgraph_get(), options.engine != WORKBENCH)
    key_poses(studio, actors, take.poses)


def model_extent(take: RecordedTake) -> float:
    """Return the mechanism's size: the largest diagonal of its bounding box in any frame."""
    return max(float(np.linalg.norm(np.ptp(take.corners(), axis=1), axis=1).max()), MIN_EXTENT)


def ground_height(take: RecordedTake, extent: float) -> float:
    """Return the height of the floor."""
    ground = floor_height(float(take.corners()[..., 2].min()), extent)
    floors = take.corners(scenery=True)[..., 2]
    if floors.size:  # the mechanism's own floor must not flicker in ours
        ground = min(ground, float(floors.min())) - 0.002 * extent
    return ground


def plan_camera(take: RecordedTake, size: tuple[int, int], options: FilmOptions) -> CameraShot:
    """Plan the camera's shot of a take."""
    corners = take.corners()
    lows, highs = corners.min(axis=1), corners.max(axis=1)
    room = table_margins(size, options)
    pitch = float(np.radians(STAGE_STYLES[options.stage].pitch))
    return plan_shot(lows, highs, corners, size, take.fps, options.heading, options.camera, room, take.front, pitch)


def table_margins(size: tuple[int, int], options: FilmOptions) -> Margins:
    """Return the margins kept free for the table of servos: right, or foot in a portrait picture."""
    if "SERVOS" not in options.burn:
        return Margins()
    return Margins(right=TABLE_SHARE) if has_room_beside(size) else Margins(foot=TABLE_SHARE)


def align_shots(shots: Sequence[CameraShot]) -> list[CameraShot]:
    """Give shots that are seen side by side the same rotations and distance.

    Rotations are those of the last shot, which is that of physics, whose motion decides; the distance is
    the largest.
    """
    distance = max(shot.distance for shot in shots)
    return [make_shot(shots[-1].rotations, shot.aims, distance, shot.shift) for shot in shots]


def ordered_burns(options: FilmOptions) -> list[Burn]:
    """Return what is burned in, in the order in which it is offered."""
    return [burn for burn in BURNS if burn in options.burn]
