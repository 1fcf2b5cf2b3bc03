"""Helpers for tests of clearing physics: comparable values of a whole scene, and mechanisms with physics to clear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from addon.core.model import Dof, Mechanism, Restraint
from tests.support.degrees_helpers import X, Y, Z, rotations, slides
from tests.support.degrees_helpers import put as put_mechanism
from tests.support.mechanisms import body, joint, model, play
from tests.support.restraints_helpers import floating
from tests.support.springs_helpers import FRAME, cube_on_joint

ARM = model(
    body(1, (0, 0, 4), (2, 2, 8), mass=1e5),
    body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5),
    joint(3, 1, 2, (2, 0, 6), (0, 90, 0), force=200),
    gravity=3.7,
)
NOT_COMPARED = {"rna_type", "is_evaluated", "session_uid", "id_data", "bl_rna"}


def values(struct: Any, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """All plain properties of a Blender struct, with pointers by name."""
    out = {}
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in NOT_COMPARED | skip or prop.type == "COLLECTION":
            continue
        found = getattr(struct, name)
        if prop.type == "POINTER":
            out[name] = None if found is None else getattr(found, "name_full", type(found).__name__)
        else:
            out[name] = tuple(found) if getattr(prop, "is_array", False) else found
    return out


def deep(struct: Any, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """All that is in a property group of ours, with its lists and the groups within it, objects by name."""
    import bpy

    out = values(struct, skip)
    for prop in struct.bl_rna.properties:
        found = None if prop.identifier in NOT_COMPARED | skip else getattr(struct, prop.identifier)
        if prop.type == "COLLECTION" and found is not None:
            out[prop.identifier] = [deep(each) for each in found]
        elif prop.type == "POINTER" and isinstance(found, bpy.types.PropertyGroup):
            out[prop.identifier] = deep(found)
    return out


def everything(scene: Any) -> dict[str, Any]:
    """The scene with its world, every datablock by name, and what every object is and where."""
    import bpy

    out: dict[str, Any] = {"scene": values(scene), "render": values(scene.render)}
    world = scene.rigidbody_world
    out["world"] = None if world is None else values(world) | {"cache": values(world.point_cache, frozenset({"info"}))}
    for prop in bpy.data.bl_rna.properties:
        if prop.type == "COLLECTION":
            out[prop.identifier] = sorted(block.name_full for block in getattr(bpy.data, prop.identifier))
    for folder in bpy.data.collections:
        parts = folder.objects, folder.children
        out[f"collection {folder.name}"] = [sorted(part.name for part in each) for each in parts]
    for obj in bpy.data.objects:
        # an empty that was in a world keeps its constraint when it leaves; it does nothing there
        out[f"object {obj.name}"] = values(obj, frozenset({"rigid_body_constraint"}))
        out[f"physics {obj.name}"] = values(obj.rigid_body) if in_world(scene, obj) and obj.rigid_body else None
        out[f"place {obj.name}"] = np.round(np.array(obj.matrix_world), 5).tolist()
        out[f"record {obj.name}"] = deep(obj.knuckle)
        if obj.animation_data is not None and obj.animation_data.action is not None:
            out[f"action {obj.name}"] = obj.animation_data.action.name
    for armature in bpy.data.armatures:
        out[f"model {armature.name}"] = deep(armature.knuckle, frozenset({"report"}))
    return out


def in_world(scene: Any, obj: Any) -> bool:
    """Whether physics takes any notice of an object."""
    world = scene.rigidbody_world
    held = [] if world is None else [each for each in (world.collection, world.constraints) if each is not None]
    return any(obj.name in each.objects for each in held)


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {k: (before.get(k), after.get(k)) for k in {*before, *after} if before.get(k) != after.get(k)}


def a_users_rigid_body(scene: Any) -> Any:
    """A ball of the user's, in a rigid-body world with the user's settings."""
    import bpy

    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("My Bodies")
    world.substeps_per_frame, world.solver_iterations = 7, 13
    world.point_cache.frame_start, world.point_cache.frame_end = 1, 44
    scene.gravity = (0, 0, -2)
    mesh = bpy.data.meshes.new("Ball")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [], [(0, 1, 2), (0, 1, 3)])
    ball = bpy.data.objects.new("Ball", mesh)
    scene.collection.objects.link(ball)
    world.collection.objects.link(ball)
    ball.location = (20, 0, 30)
    ball.rigid_body.mass = 3.5
    return ball


def pair() -> Mechanism:
    """Two cubes on a spring between their middles."""
    mechanism = floating(np.zeros(3), np.array([1.2, 1.6, 0]))
    ends = (np.eye(4), np.eye(4))
    mechanism.restraints = [Restraint("s", "spring", bodies=("c0", "c1"), frames=ends, coefficients=[[40.0, -60.0]])]
    return mechanism


def with_stop() -> Mechanism:
    """A hinge with one stop, which begins with a speed."""
    (dof,) = dofs = rotations(Z)
    dof.upper, dof.velocity = 1.0, 3.0
    return cube_on_joint(*dofs)


def with_losses() -> Mechanism:
    """A universal joint with a spring away from its rest and a damper."""
    first, second = dofs = rotations(X, Y)
    first.stiffness, first.rest, second.damping = 5.0, 0.5, 0.2
    return cube_on_joint(*dofs)


def by_formula() -> Mechanism:
    """A slide with a spring and a damper by formula."""
    mechanism = cube_on_joint(*slides(Z))
    mechanism.restraints = [
        Restraint("d", "damper", "j", coefficients=[[2.0, 0.0]]),
        Restraint("s", "spring", "j", coefficients=[[20.0, -3.0]]),
    ]
    return mechanism


#: A model for each kind of force that Blender has no constraint for.
FORCES: dict[str, Callable[[], Mechanism]] = {
    "pair": pair,
    "stop and throw": with_stop,
    "losses": with_losses,
    "formulas": by_formula,
    "ball": lambda: cube_on_joint(Dof("ball", stiffness=4.0, damping=0.1)),
    "screw": lambda: cube_on_joint(Dof("screw", Z, pitch=0.1), gravity=5.0 * FRAME[:3, 2]),
}


def left_after(scene: Any, mechanism: Mechanism, drive: str) -> tuple[dict[str, Any], int]:
    """What differs after a model's physics was built, run and cleared, and how many motors it had."""
    from addon.blender.physics.actuators.motors import listed_motors
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put_mechanism(mechanism, physics=False)
    scene.frame_set(1)
    before = everything(scene)
    build_physics(scene, rig)
    rig.data.knuckle.drive = drive
    play(scene, 6, lambda: None)
    motors = len(listed_motors(rig))
    clear_physics(scene, rig)
    scene.frame_set(1)
    return differences(before, everything(scene)), motors
