"""The first pass of filming: play the user's scene once and note where everything is in each frame.

Physics and drives live in the user's scene and only step from its start, one frame after the other. So
that scene is played once and nothing is added to it; what it did is then shown by stand-ins elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.report import FormatError, Report
from .options import FilmOptions
from .readings import Reader, Readings

Array = NDArray[np.float64]
SOLID_TYPES = {"MESH", "CURVE", "SURFACE", "FONT"}
#: Towards the faces, edges and corners of a cube: in each of them a surface has an outermost point.
DIRECTIONS = np.array([step for step in np.ndindex(3, 3, 3) if step != (1, 1, 1)], dtype=np.float32) - 1.0
#: Of more objects than this the bounds do: their outlines in every frame would take too much memory.
OUTLINED = 200


@dataclass
class Take:
    """``frames`` are the n filmed frames of the scene, ``poses`` (n, k, 4, 4) the world matrices of the k
    ``objects``, ``boxes`` (k, 8, 3) their local bounds, ``outlines`` (k, m, 3) points of their surfaces, ``cast`` how
    many of the objects (the first) are the model; the others are scenery. ``fps`` is the rate of the filmed frames,
    ``readings`` what the joints were at where that is noted, ``front`` (rad about Z) where the model looks while it
    does not travel, ``bending`` the objects whose shape changes."""

    frames: list[int] = field(default_factory=list)
    objects: list[bpy.types.Object] = field(default_factory=list)
    cast: int = 0
    poses: Array = field(default_factory=lambda: np.empty((0, 0, 4, 4)))
    boxes: Array = field(default_factory=lambda: np.empty((0, 8, 3)))
    outlines: Array = field(default_factory=lambda: np.empty((0, 8, 3)))
    fps: float = 0.0
    readings: Readings | None = None
    front: float = -0.5 * np.pi
    bending: list[bpy.types.Object] = field(default_factory=list)

    def moves(self) -> bool:
        """Return whether anything of the model is moved by more than a thousandth of its size."""
        corners = self.corners()
        size = float(np.ptp(corners[0], axis=0).max())
        return bool(np.ptp(corners, axis=0).max() > 1e-3 * size)

    def corners(self, scenery: bool = False) -> Array:
        """World points (n, m x cast, 3) of the outlines of the model, or of the ``scenery``, in each frame."""
        which = slice(self.cast, None) if scenery else slice(self.cast)
        poses, outlines = self.poses[:, which], self.outlines[which]
        points = np.einsum("nkij,kcj->nkci", poses[..., :3, :3], outlines) + poses[:, :, None, :3, 3]
        return points.reshape(len(self.frames), outlines.shape[1] * len(outlines), 3)


@dataclass(frozen=True)
class Schedule:
    """Which frames to play (``first`` to ``last``, one by one) and which of them to film."""

    first: int
    filmed: range
    fps: float

    @property
    def last(self) -> int:
        return self.filmed[-1]

    @property
    def played(self) -> int:
        """Return how many frames are played."""
        return self.last - self.first + 1


def schedule(scene: bpy.types.Scene, options: FilmOptions, poster: bool) -> Schedule:
    """The frames of a video, or the one of a poster. Playing begins at the scene's (and the physics
    cache's) first frame, wherever filming begins."""
    rate = scene.render.fps / scene.render.fps_base
    start = scene.frame_start if options.frame_start is None else options.frame_start
    end = scene.frame_end if options.frame_end is None else options.frame_end
    if options.seconds is not None:
        end = start + max(1, round(options.seconds * rate)) - 1
    if end < start:
        raise FormatError(f"frames {start} to {end} are none", remedy="Let the last frame be after the first.")
    step = max(1, round(rate / options.fps))
    filmed = range(start, end + 1, step)
    if poster:
        frame = (start + end) // 2 if options.poster_frame is None else options.poster_frame
        filmed = range(frame, frame + 1)
    first = min(filmed[0], scene.frame_start)
    if scene.rigidbody_world is not None:
        first = min(first, scene.rigidbody_world.point_cache.frame_start)
    return Schedule(first, filmed, rate / step)


def visible_solids(objects: Sequence[bpy.types.Object], scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The objects that have a surface, with the visuals parented to them, each once, those left out that hide from
    renders, be it in a collection that does."""
    hidden = hidden_in(scene)
    found: dict[bpy.types.Object, None] = {}
    children: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for candidate in bpy.data.objects:  # Object.children scans all objects for each call
        if candidate.parent is not None and candidate.parent_type == "OBJECT":
            children.setdefault(candidate.parent, []).append(candidate)
    waiting = list(reversed(objects))
    while waiting:
        candidate = waiting.pop()
        if candidate in found:
            continue
        if (
            candidate.type in SOLID_TYPES
            and _has_surface(candidate)
            and not candidate.hide_render
            and candidate not in hidden
            and candidate.display_type not in ("WIRE", "BOUNDS")
        ):
            found[candidate] = None
        waiting.extend(reversed(children.get(candidate, ())))
    return list(found)


def hidden_in(scene: bpy.types.Scene) -> set[bpy.types.Object]:
    """The objects of a scene that are only in collections that hide from renders."""
    hidden: set[bpy.types.Object] = set()
    shown: set[bpy.types.Object] = set()
    waiting = [(scene.collection, False)]
    while waiting:
        collection, hides = waiting.pop()
        hides = hides or collection.hide_render
        (hidden if hides else shown).update(collection.objects)
        waiting.extend((child, hides) for child in collection.children)
    return hidden - shown


def is_deformed(source: bpy.types.Object) -> bool:
    """Return whether the object's surface is not simply its mesh."""
    data: Any = source.data
    return source.type != "MESH" or bool(source.modifiers) or data.shape_keys is not None


def _has_surface(obj: bpy.types.Object) -> bool:
    """Return whether there may be anything to see: bodies without shapes have a mesh without vertices."""
    data: Any = obj.data
    return obj.type != "MESH" or bool(data.vertices) or bool(obj.modifiers)


def record(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    scenery: Sequence[bpy.types.Object],
    plan: Schedule,
    take: Take,
    report: Report,
    rigs: Sequence[bpy.types.Object] = (),
) -> Generator[None, None, None]:
    """Play the scene into ``take``, pausing after every frame; what the joints of ``rigs`` are at is noted too. The
    scene's frame and the range of its physics cache are put back, also when closed half-way."""
    scene = context.scene
    cast = visible_solids(objects, scene)
    if not cast:
        raise FormatError("there is nothing to film", remedy="Choose objects that have a surface and are not hidden.")
    take.frames, take.fps, take.cast = list(plan.filmed), plan.fps, len(cast)
    take.objects = list(dict.fromkeys([*cast, *visible_solids(scenery, scene)]))
    take.poses = np.empty((len(take.frames), len(take.objects), 4, 4))
    reader = Reader(rigs)
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        with long_enough_cache(scene, plan.last, report):
            for current in range(plan.first, plan.last + 1):
                scene.frame_set(current)
                if current in plan.filmed:
                    look(context, take, plan.filmed.index(current))
                    reader.note()
                yield
    finally:
        scene.frame_set(frame, subframe=subframe)
    if not np.isfinite(take.poses).all():
        raise FormatError("the simulation went out of all bounds", remedy="Render less or steady the simulation.")
    take.readings = reader.readings()
    if take.bending:
        names = ", ".join(obj.name for obj in take.bending)
        report.warn("film-rigid", f"Filmed in the shape of the present frame throughout, though it changes: {names}")


def look(context: bpy.types.Context, take: Take, index: int) -> None:
    """Note where everything is now, as filmed frame ``index``."""
    graph = context.evaluated_depsgraph_get()
    evaluated = [item.evaluated_get(graph) for item in take.objects]
    take.poses[index] = [item.matrix_world for item in evaluated]
    if index == 0:
        take.boxes = np.array([[tuple(corner) for corner in item.bound_box] for item in evaluated])
        few = len(evaluated) <= OUTLINED
        take.outlines = np.array([outline(item) for item in evaluated]) if few else take.boxes
        return
    for number, (source, item) in enumerate(zip(take.objects, evaluated, strict=True)):
        if source not in take.bending and is_deformed(source):
            box = np.array([tuple(corner) for corner in item.bound_box])
            if not np.allclose(box, take.boxes[number], atol=1e-4 * max(float(np.ptp(box)), 1e-9)):
                take.bending.append(source)


def outline(item: bpy.types.Object) -> Array:
    """The outermost points, (26, 3), of an evaluated object's surface; those of its bounds where it is no mesh."""
    data: Any = item.data
    points = np.array([tuple(corner) for corner in item.bound_box], dtype=np.float32)
    if isinstance(data, bpy.types.Mesh) and len(data.vertices):
        points = np.empty(3 * len(data.vertices), dtype=np.float32)
        data.vertices.foreach_get("co", points)
        points = points.reshape(-1, 3)
    return np.array([points[int((points @ direction).argmax())] for direction in DIRECTIONS], dtype=np.float64)


@contextmanager
def long_enough_cache(scene: bpy.types.Scene, last: int, report: Report) -> Iterator[None]:
    """Let rigid bodies move until ``last``: Blender stops them at the end of their cache."""
    world = scene.rigidbody_world
    cache = None if world is None else world.point_cache
    if cache is None or cache.frame_end >= last:
        yield
        return
    if cache.is_baked:
        report.warn("film-cache-short", f"physics is baked to frame {cache.frame_end} only; it stands still from there")
        yield
        return
    end = cache.frame_end
    cache.frame_end = last
    try:
        yield
    finally:
        if scene.rigidbody_world is not None:  # somebody may have removed it meanwhile
            scene.rigidbody_world.point_cache.frame_end = end
