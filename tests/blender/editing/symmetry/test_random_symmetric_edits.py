"""Random edits while editing is symmetric: after each the halves are mirror images, and undo and redo are exact."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, parts_by_id
from addon.blender.editing.symmetry.twins import adopt_linked_plane, link_twins, twin_candidates
from addon.blender.scene.read.mechanism import extract
from addon.core.kinematics import joint_frame_world
from addon.core.model import Body, Joint, Mechanism
from tests.sequences.run import state
from tests.support.scenes import made, pick, the_rig

#: Files, steps with each and seeds: 500 edits in all.
MODELS = ("hexapod.jm", "humanoid.skel", "Dihno2.jm", "fullbody1.skel", "rover.jm")
STEPS, SEEDS = 25, (1, 2, 3, 4)
#: Largest difference of positions and lengths, as a share of the mechanism's size, and of other numbers.
TOLERANCE = 2e-5

Edit = Callable[[random.Random, Any], Any]


def chosen(rng: random.Random, rig: Any, role: str) -> Any:
    """A part that has a twin, made active and selected alone."""
    obj = rng.choice(sorted((each for each in parts(rig, role) if record_of(each).twin), key=lambda each: each.name))
    pick(obj)
    return obj


def single_dofs(empty: Any) -> list[Any]:
    """The degrees of freedom that have stops: not balls and free joints."""
    return [dof for dof in record_of(empty).joint.dofs if dof.kind in {"rotation", "translation"}]


def moved(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, rng.choice(["BODY", "JOINT"]))
    obj.location = [x + rng.uniform(-0.1, 0.1) for x in obj.location]


def rotated(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, rng.choice(["BODY", "JOINT"]))
    turn = Euler([rng.uniform(-0.4, 0.4) for _ in range(3)]).to_matrix().to_4x4()
    obj.matrix_basis = obj.matrix_basis @ turn


def scaled(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, "BODY")
    obj.scale = [x * rng.uniform(0.7, 1.4) for x in obj.scale] if rng.random() < 0.5 else obj.scale * 1.2


def renamed(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, rng.choice(["BODY", "JOINT"]))
    obj.name = f"{obj.name.split(' ')[0]} part {rng.randrange(10**6)}"


def weighed(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, "BODY")
    record_of(obj).mass = rng.uniform(0.1, 5.0)


def weighed_in_physics_tab(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, "BODY")
    if obj.rigid_body is not None:
        obj.rigid_body.mass = rng.uniform(0.1, 5.0)


def fixed(rng: random.Random, rig: Any) -> None:
    obj = chosen(rng, rig, "BODY")
    record_of(obj).immobile = not record_of(obj).immobile


def stopped(rng: random.Random, rig: Any) -> None:
    empty = chosen(rng, rig, "JOINT")
    for dof in single_dofs(empty):
        dof.use_lower = dof.use_upper = True
        dof.lower, dof.upper = -rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)


def freed(rng: random.Random, rig: Any) -> None:
    empty = chosen(rng, rig, "JOINT")
    for dof in single_dofs(empty):
        setattr(dof, rng.choice(["use_lower", "use_upper"]), False)


def tuned(rng: random.Random, rig: Any) -> None:
    empty = chosen(rng, rig, "JOINT")
    name = rng.choice(["damping", "friction", "stiffness", "gain", "max_force", "rest", "velocity", "servo_stiffness"])
    for dof in record_of(empty).joint.dofs:
        setattr(dof, name, rng.uniform(0.1, 3.0))


def retyped(rng: random.Random, rig: Any) -> Any:
    chosen(rng, rig, "JOINT")
    return lambda: bpy.ops.knuckle.set_joint_type(
        type=rng.choice(["revolute", "prismatic", "universal", "ball", "weld"])
    )


def swapped(rng: random.Random, rig: Any) -> Any:
    chosen(rng, rig, "JOINT")
    return bpy.ops.knuckle.swap_joint


def mirrored(rng: random.Random, rig: Any) -> Any:
    chosen(rng, rig, rng.choice(["BODY", "JOINT"]))
    return bpy.ops.knuckle.mirror_to_twin


EDITS: list[Edit] = [
    moved, moved, rotated, scaled, renamed, weighed, weighed_in_physics_tab, fixed, stopped, freed, tuned, retyped,
    swapped, mirrored,
]  # fmt: skip


def differences(mechanism: Mechanism) -> list[str]:
    """Return the differences of twins from mirror images, measured without the package's own mirroring."""
    plane = mechanism.mirror_plane
    assert plane is not None
    flip = plane.reflection
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.id: joint for joint in mechanism.joints}
    size = max(float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies)
    out: list[str] = []
    for body in mechanism.bodies:
        if body.twin in bodies:
            out += [f"{body.name}: {what}" for what in body_differences(body, bodies[body.twin], flip, size)]
    for joint in mechanism.joints:
        if joint.twin in joints:
            out += [
                f"{joint.name}: {what}" for what in joint_differences(joint, joints[joint.twin], bodies, flip, size)
            ]
    return out


def kind_of(difference: str) -> str:
    """The kind of a difference, whatever the part: those of a file that is not symmetric stay."""
    return difference.partition(": ")[2].split(" ")[0]


def near(one: Any, other: Any, scale: float = 1.0) -> bool:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return one.shape == other.shape and bool(np.abs(one - other).max(initial=0.0) <= TOLERANCE * scale)


def body_differences(body: Body, twin: Body, flip: Any, size: float) -> list[str]:
    center, its = (each.pose @ [*each.com, 1.0] for each in (body, twin))
    out = [] if near(flip @ center, its, size) else [f"center {flip @ center} {its}"]
    out += [
        name for name in ("immobile", "collidable", "gravity", "active") if getattr(body, name) != getattr(twin, name)
    ]
    if not near(body.mass, twin.mass, max(body.mass, 1.0)):
        out.append(f"mass {body.mass} {twin.mass}")
    if (body.inertia is None) != (twin.inertia is None):
        out.append("inertia on one side")
    elif body.inertia is not None and twin.inertia is not None:
        moments = [np.linalg.eigvalsh(each) for each in (body.inertia, twin.inertia)]
        if not near(*moments, max(moments[0].max(), 1e-3)):
            out.append(f"inertia {moments}")
    kinds = [
        [(shape.type, *sorted(abs(x) for x in shape.size.values())) for shape in each.shapes] for each in (body, twin)
    ]
    if [kind[0] for kind in kinds[0]] != [kind[0] for kind in kinds[1]]:
        out.append(f"shapes {kinds}")
    elif not all(near(one[1:], other[1:], size) for one, other in zip(*kinds, strict=True)):
        out.append(f"sizes {kinds}")
    return out


def joint_differences(joint: Joint, twin: Joint, bodies: dict[str, Body], flip: Any, size: float) -> list[str]:
    at, there = (joint_frame_world(each, bodies)[:, 3] for each in (joint, twin))
    out = [] if near(flip @ at, there, size) else [f"place {flip @ at} {there}"]
    if sorted(dof.kind for dof in joint.dofs) != sorted(dof.kind for dof in twin.dofs):
        return [*out, "kinds"]
    for one, other in zip(joint.dofs, twin.dofs, strict=True) if len(joint.dofs) == 1 else ():
        out += [
            f"{name} {getattr(one, name)} {getattr(other, name)}"
            for name in ("damping", "friction", "stiffness", "gain", "max_force", "servo_stiffness")
            if not near(getattr(one, name), getattr(other, name))
        ]
        out += [name for name in ("rest", "velocity") if not near(abs(getattr(one, name)), abs(getattr(other, name)))]
        ends = [[each.lower, each.upper] for each in (one, other)]
        image = [None if end is None else -end for end in reversed(ends[0])]
        if not any(same_ends(found, ends[1]) for found in (ends[0], image)):
            out.append(f"stops {ends}")
    return out


def same_ends(one: list[float | None], other: list[float | None]) -> bool:
    return all((a is None) == (b is None) and (a is None or near(a, b)) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("model", MODELS)
def test_halves_stay_mirror_images(blank: Any, model: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{model} {seed}")
    rig = made(model, physics=seed % 2 == 0)
    for found in twin_candidates(rig):  # files of SKEL name none
        known = parts_by_id(rig, found.kind.upper())
        link_twins((known[found.first], known[found.second]))
    adopt_linked_plane(rig)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    usual = set(map(kind_of, differences(extract(the_rig()))))
    bpy.ops.ed.undo_push(message="begun")
    history: list[str] = []
    for number in range(STEPS):
        edit, before = rng.choice(EDITS), state()
        did = edit(rng, the_rig())
        if did is not None:
            did()
        bpy.ops.ed.undo_push(message=edit.__name__)  # before the handlers, as Blender does
        bpy.context.view_layer.update()
        after = state()
        history.append(f"{edit.__name__} {bpy.context.view_layer.objects.active.name}")
        told = f"step {number}: {edit.__name__}, {bpy.context.view_layer.objects.active.name}"
        found = [what for what in differences(extract(the_rig())) if kind_of(what) not in usual]
        assert not found, "\n".join([*history, *found[:5]])
        if number % 5 == 0:
            bpy.ops.ed.undo()
            assert changed(state(), before) == [], told
            bpy.ops.ed.redo()
            assert changed(state(), after) == [], told


def changed(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Return the differences between two states of the file."""
    keys = [key for key in {*found, *wanted} if found.get(key) != wanted.get(key)]
    return sorted(f"{key}: {wanted.get(key)!r} -> {found.get(key)!r}" for key in keys)[:5]
