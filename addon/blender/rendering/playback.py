"""Playback: the scene is played once, or once on keyframes and once under physics, and recorded frame by frame.

Physics and drives live in the user's scene and only step from its start, one frame after the other. So nothing is added
to that scene; stand-ins elsewhere show what was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.overlay_geometry import DofGlyphs
from ...core.report import FormatError, Message, Report
from ..compat import all_curves
from ..data.access import record_of, settings
from ..data.datablocks import still_exists
from ..data.properties.model import are_properties_registered
from ..overlay import mechanism_snapshot
from ..physics.simulation.setup import clear_physics, motors_in, remove_other_motors
from ..physics.world.membership import is_simulated
from ..progress import WorkStep
from .options import FilmOptions

_CONSTANT_ARRAYS = ("turns", "scale", "lower", "upper")
_PER_FRAME_ARRAYS = ("origin", "axis", "zero", "radius", "value")


@dataclass
class DofRecording:
    """Recording of the dofs with one coordinate, m of them by their servos' ``names``, in n frames.

    ``steady`` has the constant values, (m,), and ``moving`` the others, (n, m) or (n, m, 3), by the names of
    ``DofGlyphs``; ``balls`` (n, k, 4, 4) are the frames of ball and free joints, ``reach`` (n, k) their radii as drawn.
    """

    names: list[str]
    steady: dict[str, Array]
    moving: dict[str, Array]
    balls: Array
    reach: Array

    def at(self, index: int) -> DofGlyphs:
        """Return the dofs in one frame, counted from 0."""
        now: dict[str, Any] = {name: part[index].astype(np.float64) for name, part in self.moving.items()}
        steady: dict[str, Any] = self.steady  # some are booleans
        return DofGlyphs(**now, **steady)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return everything as arrays, for saving."""
        parts: dict[str, NDArray[np.generic]] = {"names": np.array(self.names, dtype=np.str_)}
        return parts | self.steady | self.moving | {"balls": self.balls, "reach": self.reach}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[np.generic]]) -> DofRecording:
        """Create a recording from what ``arrays`` returned."""
        return cls(
            [str(name) for name in arrays["names"]],
            {name: np.asarray(arrays[name]) for name in _CONSTANT_ARRAYS},
            {name: np.asarray(arrays[name], dtype=np.float32) for name in _PER_FRAME_ARRAYS},
            np.asarray(arrays["balls"], dtype=np.float32),
            np.asarray(arrays["reach"], dtype=np.float32),
        )


class DofRecorder:
    """Recorder of the dofs of mechanisms, frame by frame."""

    def __init__(self, rigs: Sequence[bpy.types.Object]) -> None:
        self._rigs = rigs
        self._seen: list[tuple[DofGlyphs, Array, Array]] = []
        self._names: list[str] = []

    def note(self) -> None:
        """Record the scene's current frame."""
        if not self._rigs:
            return
        stands = [mechanism_snapshot(rig) for rig in self._rigs]
        if not self._seen:
            self._names = [name for stand in stands for name in stand.servo_names()]
        each = [stand.degrees(hidden=True) for stand in stands]
        joined = DofGlyphs(
            *(np.concatenate([getattr(row, name) for row, *_ in each]) for name in DofGlyphs.__dataclass_fields__)
        )
        balls, reach = (np.concatenate([row[part] for row in each]) for part in (1, 2))
        self._seen.append((joined, balls, reach))

    def readings(self) -> DofRecording | None:
        """Return the recording; None where nothing was recorded."""
        if not self._seen:
            return None
        first = self._seen[0][0]
        return DofRecording(
            self._names,
            {name: getattr(first, name) for name in _CONSTANT_ARRAYS},
            {
                name: np.array([getattr(row, name) for row, *_ in self._seen], dtype=np.float32)
                for name in _PER_FRAME_ARRAYS
            },
            np.array([balls for _, balls, _ in self._seen], dtype=np.float32),
            np.array([reach for *_, reach in self._seen], dtype=np.float32),
        )


SOLID_TYPES = {"MESH", "CURVE", "SURFACE", "FONT"}
#: Directions to the faces, edges and corners of a cube: a surface has an outermost point in each of them.
DIRECTIONS = np.array([step for step in np.ndindex(3, 3, 3) if step != (1, 1, 1)], dtype=np.float32) - 1.0
#: Number of objects above which bounds replace outlines: these would take too much memory in every frame.
MAX_OUTLINED = 200


@dataclass
class RecordedTake:
    """Recorded playback of k ``objects`` in the n rendered ``frames`` of the scene.

    ``poses`` (n, k, 4, 4) are world matrices, ``boxes`` (k, 8, 3) local bounds and ``outlines`` (k, m, 3) local points
    of surfaces. The first ``cast`` objects are the mechanism, the others scenery. ``fps`` is the rate of the rendered
    frames, ``readings`` the recording of the joints if there is one, ``front`` (rad about Z) the heading while the
    mechanism does not travel, ``bending`` the objects whose shape changes.
    """

    frames: list[int] = field(default_factory=list)
    objects: list[bpy.types.Object] = field(default_factory=list)
    cast: int = 0
    poses: Array = field(default_factory=lambda: np.empty((0, 0, 4, 4)))
    boxes: Array = field(default_factory=lambda: np.empty((0, 8, 3)))
    outlines: Array = field(default_factory=lambda: np.empty((0, 8, 3)))
    fps: float = 0.0
    readings: DofRecording | None = None
    front: float = -0.5 * np.pi
    bending: list[bpy.types.Object] = field(default_factory=list)

    def moves(self) -> bool:
        """Return whether anything of the mechanism is moved by more than a thousandth of its size."""
        corners = self.corners()
        size = float(np.ptp(corners[0], axis=0).max())
        return bool(np.ptp(corners, axis=0).max() > 1e-3 * size)

    def corners(self, scenery: bool = False) -> Array:
        """Return world points (n, m x cast, 3) of the outlines of the mechanism, or the ``scenery``, in each frame."""
        which = slice(self.cast, None) if scenery else slice(self.cast)
        poses, outlines = self.poses[:, which], self.outlines[which]
        points = np.einsum("nkij,kcj->nkci", poses[..., :3, :3], outlines) + poses[:, :, None, :3, 3]
        return points.reshape(len(self.frames), outlines.shape[1] * len(outlines), 3)


@dataclass(frozen=True)
class Schedule:
    """Frames to play (``first`` to ``last``, one by one), and those of them to render."""

    first: int
    rendered: range
    fps: float

    @property
    def last(self) -> int:
        """Return the last frame that is played."""
        return self.rendered[-1]

    @property
    def played(self) -> int:
        """Return the number of frames that are played."""
        return self.last - self.first + 1


def make_schedule(scene: bpy.types.Scene, options: FilmOptions, poster: bool) -> Schedule:
    """Plan the frames of a video, or the one of a poster.

    Playback begins at the first frame of the scene and of the physics cache, wherever rendering begins.

    Raises:
        FormatError: If the range has no frames.
    """
    rate = scene.render.fps / scene.render.fps_base
    start = scene.frame_start if options.frame_start is None else options.frame_start
    end = scene.frame_end if options.frame_end is None else options.frame_end
    if options.seconds is not None:
        end = start + max(1, round(options.seconds * rate)) - 1
    if end < start:
        raise FormatError(f"there are no frames from {start} to {end}", remedy="Choose a last frame after the first.")
    step = max(1, round(rate / options.fps))
    rendered = range(start, end + 1, step)
    if poster:
        frame = (start + end) // 2 if options.poster_frame is None else options.poster_frame
        rendered = range(frame, frame + 1)
    first = min(rendered[0], scene.frame_start)
    if scene.rigidbody_world is not None:
        first = min(first, scene.rigidbody_world.point_cache.frame_start)
    return Schedule(first, rendered, rate / step)


def visible_surfaces(objects: Sequence[bpy.types.Object], scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the objects that have a surface, with the visuals parented to them, each once.

    Those hidden in renders are left out, be it by their collections.
    """
    hidden = render_hidden_objects(scene)
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


def render_hidden_objects(scene: bpy.types.Scene) -> set[bpy.types.Object]:
    """Return the objects of a scene that are only in collections hidden in renders."""
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
    """Return whether an object's surface may differ from its mesh: by modifiers, shape keys, or being no mesh."""
    data: Any = source.data
    return source.type != "MESH" or bool(source.modifiers) or data.shape_keys is not None


def _has_surface(obj: bpy.types.Object) -> bool:
    """Return whether there may be anything to see: bodies without shapes have a mesh without vertices."""
    data: Any = obj.data
    return obj.type != "MESH" or bool(data.vertices) or bool(obj.modifiers)


def record_playback(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    scenery: Sequence[bpy.types.Object],
    plan: Schedule,
    take: RecordedTake,
    report: Report,
    rigs: Sequence[bpy.types.Object] = (),
) -> Generator[None, None, None]:
    """Play the scene into ``take``, yielding after every frame; the joints of ``rigs`` are recorded too.

    The scene's frame and the range of its physics cache are restored, also when closed half-way.

    Raises:
        FormatError: If there is nothing to render, or the simulation diverged.
    """
    scene = context.scene
    cast = visible_surfaces(objects, scene)
    if not cast:
        raise FormatError("there is nothing to render", remedy="Choose objects with a surface that are not hidden.")
    take.frames, take.fps, take.cast = list(plan.rendered), plan.fps, len(cast)
    take.objects = list(dict.fromkeys([*cast, *visible_surfaces(scenery, scene)]))
    take.poses = np.empty((len(take.frames), len(take.objects), 4, 4))
    reader = DofRecorder(rigs)
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        with extended_physics_cache(scene, plan.last, report):
            for current in range(plan.first, plan.last + 1):
                scene.frame_set(current)
                if current in plan.rendered:
                    record_frame(context, take, plan.rendered.index(current))
                    reader.note()
                yield
    finally:
        scene.frame_set(frame, subframe=subframe)
    if not np.isfinite(take.poses).all():
        raise FormatError("the simulation diverged", remedy="Render fewer frames, or use more substeps.")
    take.readings = reader.readings()
    if take.bending:
        names = ", ".join(obj.name for obj in take.bending)
        report.warn("film-rigid", Message("Changing shapes: rendered as in the present frame: {}", names))


def record_frame(context: bpy.types.Context, take: RecordedTake, index: int) -> None:
    """Record the present world matrices as rendered frame ``index``; in the first also bounds and outlines."""
    graph = context.evaluated_depsgraph_get()
    evaluated = [item.evaluated_get(graph) for item in take.objects]
    take.poses[index] = [item.matrix_world for item in evaluated]
    if index == 0:
        take.boxes = np.array([[tuple(corner) for corner in item.bound_box] for item in evaluated])
        few = len(evaluated) <= MAX_OUTLINED
        take.outlines = np.array([outline_points(item) for item in evaluated]) if few else take.boxes
        return
    for number, (source, item) in enumerate(zip(take.objects, evaluated, strict=True)):
        if source not in take.bending and is_deformed(source):
            box = np.array([tuple(corner) for corner in item.bound_box])
            if not np.allclose(box, take.boxes[number], atol=1e-4 * max(float(np.ptp(box)), 1e-9)):
                take.bending.append(source)


def outline_points(item: bpy.types.Object) -> Array:
    """Return the outermost points (26, 3) of an evaluated object's surface; those of its bounds if it is no mesh."""
    data: Any = item.data
    points = np.array([tuple(corner) for corner in item.bound_box], dtype=np.float32)
    if isinstance(data, bpy.types.Mesh) and len(data.vertices):
        points = np.empty(3 * len(data.vertices), dtype=np.float32)
        data.vertices.foreach_get("co", points)
        points = points.reshape(-1, 3)
    return np.array([points[int((points @ direction).argmax())] for direction in DIRECTIONS], dtype=np.float64)


@contextmanager
def extended_physics_cache(scene: bpy.types.Scene, last: int, report: Report) -> Iterator[None]:
    """Extend the rigid-body cache until ``last``: Blender stops bodies at its end."""
    world = scene.rigidbody_world
    cache = None if world is None else world.point_cache
    if cache is None or cache.frame_end >= last:
        yield
        return
    if cache.is_baked:
        report.warn(
            "film-cache-short", Message("Physics: baked to frame {} only, later frames show no motion", cache.frame_end)
        )
        yield
        return
    end = cache.frame_end
    cache.frame_end = last
    try:
        yield
    finally:
        if scene.rigidbody_world is not None:  # somebody may have removed it meanwhile
            scene.rigidbody_world.point_cache.frame_end = end


T = TypeVar("T")
#: Phase of the work, for progress displays.
PLAYING = "playing"
#: Label and take.
LabeledTake = tuple[str, RecordedTake]
#: Difference of keyframes up to which an F-curve is constant.
_CONSTANT_TOLERANCE = 1e-6
#: Heading (rad about Z) of walkers by custom of their format: Juice's along +Y, DART's (SKEL) along +X.
_FORMAT_FRONTS = {"juice": 0.5 * math.pi, "skel": 0.0}


def play_takes(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    plan: Schedule,
    options: FilmOptions,
    report: Report,
    total: int = 0,
) -> Generator[WorkStep, None, list[LabeledTake]]:
    """Play the scene for each requested take and return the takes, yielding after each frame.

    ``total`` is the number of all steps; those of rendering are still to be done after these.
    """
    done, takes = 0, []
    played = plan.played * len(requested_takes(options))
    rigs = rigs_of_objects(objects)
    noted = rigs if options.burn else []
    for label, physics in requested_takes(options):
        take = RecordedTake(front=model_front(rigs))
        with (
            temporary_drive(context.scene, rigs, physics, plan.first),
            closing(record_playback(context, objects, options.scenery, plan, take, report, noted)) as frames,
        ):
            for _ in frames:
                done += 1
                yield WorkStep(done, total, PLAYING, done, played, 0.0)
        takes.append((label, take))
    return takes


def run_to_completion(steps: Generator[Any, None, T]) -> T:
    """Run a generator without pauses, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(T, end.value)


def requested_takes(options: FilmOptions) -> list[tuple[str, bool | None]]:
    """Return each take's label, and whether physics is to drive the mechanisms; None keeps their drives."""
    return [("Keys", False), ("Physics", True)] if options.side_by_side else [("", None)]


def may_move(rig: bpy.types.Object) -> bool:
    """Return whether anything could move a mechanism while its scene plays.

    That is physics, a driver, an NLA strip, a constraint, a parent, or an F-curve that is not constant.
    """
    if settings(rig).drive != "KEYS" or rig.parent is not None or rig.constraints:
        return True
    data = rig.animation_data
    held = (constraint for bone in rig.pose.bones for constraint in bone.constraints)
    if any("target" in constraint.bl_rna.properties for constraint in held):
        return True
    if data is None:
        return False
    if data.drivers or any(track.strips for track in data.nla_tracks):
        return True
    return data.action is not None and any(map(_is_varying, all_curves(data.action)))


def _is_varying(curve: Any) -> bool:
    points = curve.keyframe_points
    return bool(curve.modifiers) or any(abs(point.co[1] - points[0].co[1]) > _CONSTANT_TOLERANCE for point in points)


def model_front(rigs: Sequence[bpy.types.Object]) -> float:
    """Return the heading (rad about Z) of mechanisms that do not travel: by their format, else Blender's front, -Y."""
    return _FORMAT_FRONTS.get(settings(rigs[0]).format, -0.5 * math.pi) if rigs else -0.5 * math.pi


def rigs_of_objects(objects: Sequence[bpy.types.Object]) -> list[bpy.types.Object]:
    """Return the armatures of the mechanisms that objects belong to, each once."""
    if not are_properties_registered():
        return []
    found = (record_of(obj).model for obj in objects)
    return list(dict.fromkeys(rig for rig in found if rig is not None))


@contextmanager
def temporary_drive(
    scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], physics: bool | None, first: int
) -> Iterator[None]:
    """Drive mechanisms by keyframes, or by physics, meanwhile; then restore drives and simulation.

    Raises:
        FormatError: If there is no mechanism.
    """
    if physics is None:
        yield
        return
    if not rigs:
        raise FormatError("side by side is only possible for mechanisms (keyframes at the left, physics at the right)")
    before = [(rig, settings(rig).drive, is_simulated(rig), motors_in(scene, rig)) for rig in rigs]
    frame, subframe = scene.frame_current, scene.frame_subframe
    scene.frame_set(first)
    try:
        for rig, drive, *_ in before:
            wanted = ("SERVO" if drive == "KEYS" else drive) if physics else "KEYS"
            if drive != wanted:
                settings(rig).drive = wanted
        yield
    finally:
        scene.frame_set(first)
        for rig, drive, simulated, motors in before:
            if not still_exists(rig):
                continue
            if settings(rig).drive != drive:
                settings(rig).drive = drive
            if is_simulated(rig) and not simulated:
                clear_physics(scene, rig)
            elif drive == "KEYS":
                remove_other_motors(scene, rig, motors)
        scene.frame_set(frame, subframe=subframe)
