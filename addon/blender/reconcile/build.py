"""Construction of a mechanism in a scene: one collection with an armature, bodies, joints and physics.

First decides a plan, then runs named passes that fill collections which are linked to the scene once at the end.

Note:
    Blender evaluates the whole scene at every link, mode switch and operator.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy

from ...core.editing.sides import find_mirror_plane
from ...core.model import Mechanism
from ...core.report import Message, Report, count_with_noun
from ...core.stops import starts_outside_stops
from ...formats import complete_masses
from ...formats.text.file_io import gc_paused
from ..animation import renamed_bones, rotation_stops
from ..animation.gait import set_up_gait
from ..animation.loops import live_solver
from ..data import copied_mechanisms, preferences
from ..data.access import record_of, settings
from ..data.caching import memoized_reads
from ..data.conversion import set_mirror_plane, store_report
from ..data.datablocks import newest_session_uid, remove_datablocks_since
from ..data.documents import store_document
from ..data.facts import ENGINE_PROPERTIES, WORLD_PROPERTIES, push
from ..data.properties import model as properties
from ..data.queries import linked_scene_message, prime_parts, rigs_in, simulates_here
from ..events.signals import writing_records
from ..physics.bodies.collision import FILTERED_FORMATS
from ..physics.bodies.inertia import report_inertia
from ..physics.simulation import handler_table
from ..physics.simulation.setup import build_physics
from ..physics.simulation.unsupported import report_weightless
from ..physics.world.rigidbody_world import FRAME_RATE, frame_rate
from ..rig.bone_limits import ChannelStops
from ..scene.armature import BoneParenting, bone_task, create_armature, set_up_pose_bones
from ..scene.attachments import store_restraints
from ..scene.collections import ModelCollections
from ..scene.parts import create_parts
from ..scene.placement import BuildPlan, UpAxis, make_plan

if TYPE_CHECKING:
    from ...core.gait.behaviors import GaitBehaviors

__all__ = ["BuildOptions", "build"]


@dataclass
class BuildOptions:
    """Options of an import.

    Attributes:
        physics: Create rigid bodies and constraints.
        gait: Create an Action of the file's gait.
        gait_seconds: Duration of that Action (s).
        adapt_scene: Set a frame range that holds the gait, never shorter than before; where the scene simulates in its
            own world also 60 frames per second, since servos are then controlled once per frame.
        ground: Create the ground that the file asks for.
        up_axis: The file's axis that points up in Blender.
        assemble: Where the file's joint values leave a loop open, start from the nearest ones that close it.
        mesh_folders: Absolute folders searched for meshes besides that of the model file; None for those of the
            preferences.
        sine_without_type: Whether motors of a gait whose file states no motion type play a sine.

    >>> from addon import formats
    >>> bare = build(formats.load("sample_models/rover/rover.jm"), options=BuildOptions(physics=False, gait=False))
    >>> [obj.name for obj in bare.all_objects if obj.rigid_body]
    []
    """

    physics: bool = True
    gait: bool = True
    gait_seconds: float = 10.0
    adapt_scene: bool = True
    ground: bool = True
    up_axis: UpAxis = "AUTO"
    assemble: bool = True
    mesh_folders: tuple[str, ...] | None = None
    sine_without_type: bool = True


@gc_paused()
def build(
    mechanism: Mechanism, context: bpy.types.Context | None = None, options: BuildOptions | None = None
) -> bpy.types.Collection:
    """Create a mechanism in the context's scene and return its collection.

    What was approximated is added to ``mechanism.report`` and kept with the mechanism. On an error everything
    created so far is removed again.

    Raises:
        ValueError: The scene is linked from another file.

    >>> from addon import formats
    >>> collection = build(formats.load("sample_models/hexapod/hexapod.jm"))
    >>> sum(obj.knuckle.role == "BODY" for obj in collection.all_objects)
    23
    """
    context = context or bpy.context
    options = options or BuildOptions()
    properties.register()
    handler_table.register()
    report = mechanism.report = mechanism.report or Report()
    scene = context.scene
    if why := linked_scene_message(scene):
        raise ValueError(why)
    allowed = preferences.mesh_folders() if options.mesh_folders is None else options.mesh_folders
    complete_masses(mechanism, report, allowed, preferences.ignore_collada_units(), tell_missing=False)
    decided = make_plan(mechanism, options.up_axis, options.assemble)
    if mechanism.behaviours is not None:
        mechanism.behaviours.sine_without_type = options.sine_without_type
    before, kept = newest_session_uid(BUILT_KINDS), _scene_state(scene)
    try:
        with writing_records(), memoized_reads():
            _choose_simulation_scene(scene)
            rig, folders, bone_names, made = _make_objects(decided, options)
            collection = folders.top
            _store_settings(rig, collection, mechanism, options)
            prime_parts(rig, made)
            _prime_caches(rig, bone_names, decided)
            has_gait = options.gait and mechanism.behaviours is not None
            if options.adapt_scene:
                _adapt_scene(scene, options.gait_seconds if has_gait else 0.0, report)
            if options.physics:
                report.extend(build_physics(scene, rig, is_new=True))
                report.extend(report_inertia(rig, mechanism))
                report.extend(report_weightless(mechanism))
            scene.collection.children.link(collection)
            folders.exclude_off(scene)
            stops = set_up_pose_bones(rig, bone_names, decided, decided.starts)
            _report_inexact_stops(stops, report)
            if not any(starts_outside_stops(dof) for joint in decided.mechanism.joints for dof in joint.dofs):
                rotation_stops.mark_limits_plain(rig)
        if options.gait and mechanism.behaviours is not None:
            set_up_gait(scene, rig, mechanism, options.gait_seconds, report)
        _report_changes(kept, _scene_state(scene), report)
        store_report(rig, report)
        context.view_layer.update()
    except BaseException:
        remove_datablocks_since(before, BUILT_KINDS)
        _restore_scene_state(scene, kept)
        raise
    return collection


_MadeObjects = Mapping[str, Collection[bpy.types.Object]]


def _make_objects(
    decided: BuildPlan, options: BuildOptions
) -> tuple[bpy.types.Object, ModelCollections, list[str], _MadeObjects]:
    """Create the objects; return the armature, the collections, the bones' names, and bodies and joints by role."""
    mechanism = decided.mechanism
    rig, bone_names = create_armature(decided)
    folders, parenting = ModelCollections(mechanism.name, mechanism.assemblies), BoneParenting(decided, rig, bone_names)
    made = create_parts(decided, parenting, folders, mechanism.report, options.mesh_folders)
    store_restraints(rig, mechanism, made["BODY"], made["JOINT"])
    folders.top.objects.link(rig)
    return rig, folders, bone_names, {role: objects.values() for role, objects in made.items()}


def _prime_caches(rig: bpy.types.Object, bone_names: list[str], decided: BuildPlan) -> None:
    """Mark a new mechanism as processed, so that the handlers that run after every change do not search it."""
    copied_mechanisms.mark_as_adopted(rig)
    renamed_bones.record_bone_names(rig, dict(zip(bone_names, map(bone_task, decided.bones), strict=True)))
    if not decided.followers:
        live_solver.mark_without_loops(rig)


def _report_inexact_stops(stops: Mapping[str, Sequence[ChannelStops]], report: Report) -> None:
    """Report the bones whose stops inverse kinematics respects only approximately."""
    inexact = [name for name, here in stops.items() if not all(stop.is_exact_for_ik for stop in here)]
    if inexact:
        few = ", ".join(map(repr, inexact[:3])) + (", …" if len(inexact) > 3 else "")
        report.info(
            "ik-stops-inexact",
            Message(
                "Inverse kinematics: stops of {} are approximate ({}), Blender's IK limits must include 0 "
                "and lie within ±180°. Pose without inverse kinematics",
                count_with_noun(len(inexact), "bone"),
                few,
            ),
            where=inexact[0],
        )


def _store_settings(
    rig: bpy.types.Object, collection: bpy.types.Collection, mechanism: Mechanism, options: BuildOptions
) -> None:
    record_of(rig).role = "MODEL"
    record_of(rig).source_name = mechanism.name
    record_of(rig).model = rig
    model, source = settings(rig), mechanism.source
    model.path = os.path.abspath(source.path) if source.path else ""  # meshes beside it are found from anywhere
    if source.text:
        name = source.path.replace("\\", "/").rsplit("/", 1)[-1] or mechanism.name
        store_document(rig, name, source.text, source.encoding)
    store_mechanism_facts(rig, collection, mechanism)
    model.sine_without_type = options.sine_without_type
    model.has_ground = options.ground and mechanism.world.ground is not None


def store_mechanism_facts(rig: bpy.types.Object, collection: bpy.types.Collection, mechanism: Mechanism) -> None:
    """Store in the settings what the document says about the mechanism as a whole."""
    model, source, world = settings(rig), mechanism.source, mechanism.world
    model.collection, model.rig, model.version = collection, rig, properties.DATA_VERSION
    model.upright = rig.matrix_basis.to_quaternion()
    model.format, model.dialect = source.format, source.dialect
    model.assemblies.clear()
    for assembly in mechanism.assemblies:
        kept = model.assemblies.add()
        kept.name, kept.path, kept.active = assembly.name or assembly.path, assembly.path, assembly.active
    push(model, WORLD_PROPERTIES, world)
    model.time_step = world.time_step or 0.0
    model.self_collide = source.format not in FILTERED_FORMATS
    model.has_ground = world.ground is not None
    set_mirror_plane(rig, mechanism.mirror_plane or find_mirror_plane(mechanism))
    behaviours: GaitBehaviors | None = mechanism.behaviours
    if behaviours is not None:
        push(model, ENGINE_PROPERTIES, behaviours.engine)


def _choose_simulation_scene(scene: bpy.types.Scene) -> None:
    """Let the first mechanism of a scene be simulated in a scene of its own, unless the user chose otherwise."""
    if next(rigs_in(scene), None) is None and not scene.is_property_set("knuckle_simulate_here"):
        scene.knuckle_simulate_here = False  # type: ignore[attr-defined]


def _adapt_scene(scene: bpy.types.Scene, seconds: float, report: Report) -> None:
    """Set a frame range that holds the gait.

    Where the scene simulates in its own world, also the frame rate that servos need, unless anything is animated.
    """
    if not simulates_here(scene):
        pass
    elif frame_rate(scene) != FRAME_RATE and _is_animated(scene):
        report.warn(
            "frame-rate-kept",
            Message(
                "Frame rate: unchanged at {} fps, the scene is animated. Servos are controlled once per frame in "
                "physics, use {} fps or more. Bake Simulation does so automatically",
                f"{frame_rate(scene):g}",
                FRAME_RATE,
            ),
        )
    elif frame_rate(scene) != FRAME_RATE:
        scene.render.fps, scene.render.fps_base = FRAME_RATE, 1.0
    scene.frame_end = max(scene.frame_end, scene.frame_start + round(seconds * frame_rate(scene)))


def _is_animated(scene: bpy.types.Scene) -> bool:
    """Return whether anything in the scene has keyframes, whose timing would change with the frame rate."""
    owners = [scene, *scene.objects, *(obj.data for obj in scene.objects if obj.data is not None)]
    data = (owner.animation_data for owner in owners)
    return any(each is not None and (each.action is not None or len(each.nla_tracks) > 0) for each in data)


#: Lists in ``bpy.data`` of the datablocks that an import creates.
BUILT_KINDS = ("objects", "meshes", "armatures", "lights", "collections", "materials", "images", "texts", "actions")


@dataclass
class _SceneState:
    """Settings of a scene that an import changes.

    ``span`` (frame range of the cache), ``substeps`` and ``iterations`` are those of its rigid-body world, if any.
    """

    rate: tuple[int, float]
    frame_end: int
    gravity: tuple[float, ...]
    use_gravity: bool
    span: tuple[int, int] | None = None
    substeps: int = 0
    iterations: int = 0


def _scene_state(scene: bpy.types.Scene) -> _SceneState:
    world, rate = scene.rigidbody_world, (scene.render.fps, scene.render.fps_base)
    state = _SceneState(rate, scene.frame_end, (*scene.gravity[:],), scene.use_gravity)
    if world is not None:
        state.span = world.point_cache.frame_start, world.point_cache.frame_end
        state.substeps, state.iterations = world.substeps_per_frame, world.solver_iterations
    return state


def _restore_scene_state(scene: bpy.types.Scene, state: _SceneState) -> None:
    scene.render.fps, scene.render.fps_base = state.rate
    scene.frame_end, scene.gravity, scene.use_gravity = state.frame_end, state.gravity, state.use_gravity
    world = scene.rigidbody_world
    if world is not None and state.span is None:
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            bpy.ops.rigidbody.world_remove()
    elif world is not None:
        world.point_cache.frame_start, world.point_cache.frame_end = state.span


def _report_changes(before: _SceneState, after: _SceneState, report: Report) -> None:
    """Report each setting of the scene that an import changed, with its new and old value."""
    old, new = (f"{state.rate[0] / state.rate[1]:g}" for state in (before, after))
    if new != old:
        report.info("frame-rate", Message("Scene: frame rate changed from {} to {} fps", old, new))
    if after.frame_end != before.frame_end:
        report.info(
            "frame-range", Message("Scene: last frame changed from {} to {}", before.frame_end, after.frame_end)
        )
    old, new = _gravity_text(before), _gravity_text(after)
    if new != old:
        report.info("gravity", Message("Scene: gravity changed from {} to {} m/s²", old, new))
    if before.span is None:
        return
    old, new = str(before.substeps), str(after.substeps)
    if new != old:
        report.info("substeps", Message("Rigid-body world: substeps per frame changed from {} to {}", old, new))
    old, new = str(before.iterations), str(after.iterations)
    if new != old:
        report.info("iterations", Message("Rigid-body world: solver iterations changed from {} to {}", old, new))


def _gravity_text(state: _SceneState) -> str:
    return "({})".format(", ".join(f"{part:.4g}" for part in state.gravity)) if state.use_gravity else "off"
