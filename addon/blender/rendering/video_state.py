"""State of a video, stored with its stage's scene, so that another process can continue from the saved file alone."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import bpy
import numpy as np

from ..compat import active_nodes, all_curves
from .options import Burn
from .playback import DofRecording

_STATE_KEY, _RECORDING_KEY, _BESIDE_KEY = "knuckle_reel", "knuckle_readings", "knuckle_beside"
#: Increased where frames are drawn otherwise than before: an older video is then not resumed.
_RENDER_VERSION = 1


@dataclass
class VideoState:
    """State of a video: number of ``frames`` of the stage's scene, rate ``fps``, ``size`` of a picture (pixels).

    The scene's frames count from 1. ``start`` (s) is the time shown in the first frame, ``label`` the text over the
    stage, ``poster`` the frame that is the poster, with ``poster_samples`` per pixel. ``look`` are all options that
    affect what is seen, as plain values.
    """

    frames: int
    fps: float
    size: tuple[int, int]
    start: float = 0.0
    name: str = ""
    label: str = ""
    burn: list[Burn] = field(default_factory=list)
    poster: int = 1
    poster_samples: int = 1
    look: dict[str, Any] = field(default_factory=dict)


def write_video_state(
    scene: bpy.types.Scene, video: VideoState, readings: DofRecording | None, beside: bpy.types.Scene | None = None
) -> None:
    """Store the state of a video with a stage's scene; ``beside`` is the stage that is shown at its right."""
    scene[_STATE_KEY] = json.dumps(asdict(video))
    if beside is not None:
        scene[_BESIDE_KEY] = beside
    if readings is not None:
        store = io.BytesIO()
        np.savez_compressed(store, **readings.arrays())
        scene[_RECORDING_KEY] = store.getvalue()


def read_video_state(scene: bpy.types.Scene) -> VideoState:
    """Return the state of a video that a stage's scene has.

    Raises:
        ValueError: If it is no stage.
    """
    if not is_stage(scene):
        raise ValueError(f"Scene {scene.name!r} is not a stage")
    facts = json.loads(scene[_STATE_KEY])
    return VideoState(**facts | {"size": tuple(facts["size"])})


def linked_stages(scene: bpy.types.Scene) -> list[bpy.types.Scene]:
    """Return a stage and those that are shown beside it."""
    out = [scene]
    while (beside := out[-1].get(_BESIDE_KEY)) is not None:
        out.append(beside)
    return out


def is_stage(scene: bpy.types.Scene) -> bool:
    """Return whether a scene is a stage, of which a video can be rendered."""
    return scene.get(_STATE_KEY) is not None


def read_recording(scene: bpy.types.Scene) -> DofRecording | None:
    """Return the recording of the mechanism's joints; None where none of it is burned in."""
    store = scene.get(_RECORDING_KEY)
    if store is None:
        return None
    with np.load(io.BytesIO(store), allow_pickle=False) as arrays:
        return DofRecording.read(arrays)


def scene_fingerprint(scenes: Iterable[bpy.types.Scene]) -> str:
    """Return a hash of a video by all that is seen in its stages: shapes, colors, motion and options."""
    hasher = hashlib.sha256(f"{_RENDER_VERSION} {bpy.app.version_string}".encode())
    for scene in scenes:
        hasher.update(str(scene[_STATE_KEY]).encode())
        readings = read_recording(scene)
        for part in readings.arrays().values() if readings is not None else ():
            hasher.update(np.ascontiguousarray(part).tobytes())
        meshes: dict[bpy.types.Mesh, None] = {}
        for thing in scene.objects:
            hasher.update(f"{thing.name} {tuple(thing.color)}".encode())
            _hash_keys(hasher, thing)
            if isinstance(thing.data, bpy.types.Mesh):
                meshes.setdefault(thing.data)
            for slot in thing.material_slots:
                _hash_material(hasher, slot.material)
        for mesh in meshes:
            _hash_mesh(hasher, mesh)
    return hasher.hexdigest()


def _hash_keys(hasher: Any, thing: bpy.types.Object) -> None:
    data = thing.animation_data
    for curve in all_curves(data.action) if data is not None and data.action is not None else ():
        keys = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
        curve.keyframe_points.foreach_get("co", keys)
        hasher.update(keys.tobytes())
    hasher.update(np.array(thing.matrix_basis, dtype=np.float32).tobytes())


def _hash_mesh(hasher: Any, mesh: bpy.types.Mesh) -> None:
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    loops = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", loops)
    paints = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("material_index", paints)
    hasher.update(points.tobytes() + loops.tobytes() + paints.tobytes())
    for layer in mesh.uv_layers:
        places = np.empty(2 * len(layer.uv), dtype=np.float32)
        layer.uv.foreach_get("vector", places)
        hasher.update(places.tobytes())


def _texture_state(image: bpy.types.Image | None) -> list[Any]:
    """Return what distinguishes a texture from others, and from itself before it was painted on."""
    if image is None:
        return []
    packed = image.packed_file
    if packed is not None:
        return [image.filepath, hashlib.sha256(packed.data).hexdigest()]
    try:
        status = os.stat(bpy.path.abspath(image.filepath, library=image.library))
    except OSError:
        return [image.filepath]
    return [image.filepath, status.st_size, status.st_mtime_ns]


def _hash_material(hasher: Any, material: bpy.types.Material | None) -> None:
    if material is None:
        return
    words = [material.name, *material.diffuse_color, material.roughness, material.metallic]
    for node in active_nodes(material):
        words += [node.type, *_texture_state(getattr(node, "image", None))]
        for socket in node.inputs:
            value = getattr(socket, "default_value", None)
            words.append(value if isinstance(value, (int, float, str, type(None))) else tuple(value))
    hasher.update(repr(words).encode())
