"""Random edits while editing is symmetric: after each the halves are mirror images, the mechanism is valid and its file
says the same, undo and redo are exact, and a .blend that was saved and opened goes on as before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, parts_by_id
from addon.blender.editing.symmetry.twins import adopt_linked_plane, link_twins, twin_candidates
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from addon.core.kinematics import joint_frame_world
from addon.core.model import Body, Frame, Joint, Light, Mechanism, Shape
from addon.core.validation import validate
from tests.matrix.scenes import SCENES
from tests.sequences.run import state
from tests.support.scenes import made, pick, the_rig

#: Files, steps with each and seeds: 700 edits in all, and 56 of a first seed in the fast suite. Two are mechanisms of
#: the edit matrix: on their twins are collision shapes and markers, or reference frames and lights.
MODELS = ("hexapod.jm", "humanoid.skel", "Dihno2.jm", "fullbody1.skel", "rover.jm", "skel", "shift")
STEPS, SEEDS, FEW = 25, (1, 2, 3, 4), 8
#: Every so many steps the file is compared, an edit is undone and redone, one is undone for good, and the .blend is
#: saved and opened.
EACH = 5
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
    for dof in single_dofs(empty) if name in {"rest", "velocity"} else record_of(empty).joint.dofs:
        setattr(dof, name, rng.uniform(0.1, 3.0))


def colored(rng: random.Random, rig: Any) -> None:
    """Change a material: twins of one color share theirs."""
    obj = chosen(rng, rig, "BODY")
    if obj.active_material is not None:
        obj.active_material.diffuse_color = [*(rng.random() for _ in range(3)), 1.0]


def posed(rng: random.Random, rig: Any) -> None:
    """Pose a bone: no edit of the mechanism."""
    bone = rng.choice(list(rig.pose.bones))
    if not bone.lock_rotation[2]:
        bone.rotation_euler.z += rng.uniform(-0.3, 0.3)


def attached(rng: random.Random, rig: Any, *roles: str) -> Any:
    """Something on a twin that is on the other one too, or a twin if there is none."""
    every = [obj for role in roles for obj in parts(rig, role) if other_name(obj.name) != obj.name]
    every = [obj for obj in every if on_twin(obj) and (record_of(obj).role != "SHAPE" or record_of(obj).shape >= 0)]
    if not every:
        return chosen(rng, rig, "BODY")
    obj = rng.choice(sorted(every, key=lambda each: each.name))
    pick(obj)
    return obj


def on_twin(obj: Any) -> bool:
    while obj is not None and record_of(obj).role != "BODY":
        obj = obj.parent
    return obj is not None and bool(record_of(obj).twin)


def other_name(name: str) -> str:
    """The name of a part of the matrix on the other side."""
    return name.replace("left", "Right").replace("right", "Left").lower()


def attached_placed(rng: random.Random, rig: Any) -> None:
    """Move, turn or scale a collision shape, a reference frame or a light on a twin."""
    obj = attached(rng, rig, "SHAPE", "FRAME", "LIGHT")
    how = rng.choice(["move", "turn", "scale"] if record_of(obj).role == "SHAPE" else ["move", "turn"])
    if how == "move":
        obj.location = [x + rng.uniform(-0.1, 0.1) for x in obj.location]
    elif how == "turn":
        obj.matrix_basis = obj.matrix_basis @ Euler([rng.uniform(-0.4, 0.4) for _ in range(3)]).to_matrix().to_4x4()
    else:
        obj.scale *= rng.uniform(0.7, 1.4)


def attached_renamed(rng: random.Random, rig: Any) -> None:
    obj = attached(rng, rig, "FRAME", "LIGHT")
    if record_of(obj).role != "BODY":
        obj.name = f"{obj.name.split(' ')[0]} thing {rng.randrange(10**6)}"


def lit(rng: random.Random, rig: Any) -> None:
    obj = attached(rng, rig, "LIGHT")
    if obj.type == "LIGHT":
        obj.data.color = [rng.random() for _ in range(3)]
        if rng.random() < 0.3:
            obj.data.type = rng.choice(["POINT", "SPOT", "SUN"])


def bone_renamed(rng: random.Random, rig: Any) -> None:
    bone = rng.choice(list(rig.data.bones))
    bone.name = f"{rng.choice(['Left', 'Right', 'Front'])} bone {rng.randrange(10**6)}"


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
    moved, moved, rotated, scaled, renamed, weighed, weighed_in_physics_tab, fixed, stopped, freed, tuned, colored,
    posed, bone_renamed, retyped, swapped, mirrored, attached_placed, attached_placed, attached_renamed, lit,
]  # fmt: skip


def differences(mechanism: Mechanism) -> dict[tuple[str, str], str]:
    """Return the differences of twins from mirror images, measured without the package's own mirroring.

    They are found by the part's id and what differs: those of a file that is not symmetric may stay.
    """
    plane = mechanism.mirror_plane
    assert plane is not None
    flip = plane.reflection
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.id: joint for joint in mechanism.joints}
    size = max(float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies)
    out: dict[tuple[str, str], str] = {}
    for body in mechanism.bodies:
        for what in body_differences(body, bodies[body.twin], flip, size) if body.twin in bodies else ():
            out[f"body {body.id}", subject(what)] = f"{body.name}: {what}"
    for joint in mechanism.joints:
        twin = joints.get(joint.twin or "")
        for what in joint_differences(joint, twin, bodies, flip, size) if twin is not None else ():
            out[f"joint {joint.id}", subject(what)] = f"{joint.name}: {what}"
    for found in attachment_differences(mechanism, flip, size):
        out[" ".join(found[:2]), found[2]] = " ".join(found)
    return out


def attachment_differences(mechanism: Mechanism, flip: Any, size: float) -> Iterator[tuple[str, str, str]]:
    """Yield kind and name of each frame and light on a twin that is no mirror image of that of the other name."""
    bodies = {body.id: body for body in mechanism.bodies}
    for kind, every in (("frame", mechanism.frames), ("light", mechanism.lights)):
        known: dict[str, Frame | Light] = {part.name: part for part in every}
        for part in known.values():
            body = bodies.get(part.body or "")
            its = known.get(other_name(part.name))
            if body is None or body.twin not in bodies or its is None or its is part:
                continue
            if its.body != body.twin:
                yield kind, part.name, "body"
                continue
            at, there = flip @ body.pose @ part.pose, bodies[body.twin].pose @ its.pose
            if not near(at[:3, 3], there[:3, 3], size):
                yield kind, part.name, f"place {at[:3, 3]} {there[:3, 3]}"
            if not near(np.cross(at[:3, :3].T, there[:3, :3].T), np.zeros((3, 3))):
                yield kind, part.name, f"axes {at[:3, :3]} {there[:3, :3]}"
            if isinstance(part, Light) and isinstance(its, Light):
                yield from ((kind, part.name, name) for name in ("type", "diffuse") if lit_otherwise(part, its, name))


def lit_otherwise(light: Light, other: Light, name: str) -> bool:
    one, two = getattr(light, name), getattr(other, name)
    return bool(one != two) if isinstance(one, str) else not near(one, two)


def subject(difference: str) -> str:
    """Return what a difference is about: bodies whose centers are no mirror images are rotated about other points."""
    word = difference.split(" ", maxsplit=1)[0]
    return "placement" if word in {"center", "inertia", "shape", "turn", "place", "axis"} else word


def file_differences(mechanism: Mechanism, path: Path) -> list[str]:
    """Return what a mechanism's file says otherwise than it: where bodies and joints are, masses and stops."""
    formats.save(mechanism, path, mechanism.source.format)
    back = formats.load(path)
    size, out = max(float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies), []
    bodies, joints = ({part.name: part for part in some} for some in (back.bodies, back.joints))
    known = [{body.id: body for body in whole.bodies} for whole in (mechanism, back)]
    for body in mechanism.bodies:
        its = bodies.get(body.name)
        if its is None or not near(body.pose @ [*body.com, 1.0], its.pose @ [*its.com, 1.0], size):
            out.append(f"file: center of {body.name}")
        elif not near(body.mass, its.mass, max(body.mass, 1.0)):
            out.append(f"file: mass of {body.name}, {body.mass} {its.mass}")
    for joint in mechanism.joints:
        read = joints.get(joint.name)
        frames = [joint_frame_world(each, some)[:3, 3] for each, some in zip((joint, read), known, strict=True) if each]
        if read is None or not near(*frames, size):
            out.append(f"file: place of {joint.name}, {frames}")
            continue
        for one, other in zip(joint.dofs, read.dofs, strict=True) if len(joint.dofs) == 1 else ():
            if not same_ends([one.lower, one.upper], [other.lower, other.upper]):
                out.append(f"file: stops of {joint.name}, {one.lower} {one.upper}, {other.lower} {other.upper}")
    return out


def errors(mechanism: Mechanism) -> set[tuple[str, ...]]:
    """Return code and parts of each error that a check finds."""
    return {(found.code, *found.parts) for found in validate(mechanism) if found.severity == "error"}


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
        one, other = (turned(each.inertia, each.pose) for each in (body, twin))
        if not near(turned(one, flip), other, max(float(np.abs(one).max()), 1e-3)):
            out.append(f"inertia {turned(one, flip)} {other}")
    kinds = [
        [(shape.type, *sorted(abs(x) for x in shape.size.values())) for shape in each.shapes] for each in (body, twin)
    ]
    if [kind[0] for kind in kinds[0]] != [kind[0] for kind in kinds[1]]:
        out.append(f"shapes {kinds}")
    elif not all(near(one[1:], other[1:], size) for one, other in zip(*kinds, strict=True)):
        out.append(f"sizes {kinds}")
    else:
        for shape, its in zip(body.shapes, twin.shapes, strict=True):
            at, there = body.pose @ shape.pose, twin.pose @ its.pose
            if not near(flip @ at[:, 3], there[:, 3], size):
                out.append(f"shape {flip @ at[:, 3]} {there[:, 3]}")
            spread, its_spread = (turned(extent(each), pose) for each, pose in ((shape, at), (its, there)))
            if not near(turned(spread, flip), its_spread, max(float(np.abs(spread).max()), 1e-3)):
                out.append(f"turn {shape.type} {turned(spread, flip)} {its_spread}")
    return out


def turned(tensor: Any, pose: Any) -> Any:
    """Return a tensor (3, 3) of a frame in the axes that this one has by its pose."""
    return pose[:3, :3] @ tensor @ pose[:3, :3].T


def extent(shape: Shape) -> Any:
    """Return squared sizes along a shape's axes as a tensor (3, 3), by which its rotation is compared."""
    size = shape.size
    if "length" in size:
        across = size.get("radius", 1.0) ** 2
        return np.diag([size.get("x", 0.0) ** 2 or across, size.get("y", 0.0) ** 2 or across, size["length"] ** 2])
    return np.diag([size.get(key, 1.0) ** 2 for key in "xyz"]) if shape.type in {"box", "ellipsoid"} else np.eye(3)


def joint_differences(joint: Joint, twin: Joint, bodies: dict[str, Body], flip: Any, size: float) -> list[str]:
    at, there = (joint_frame_world(each, bodies)[:, 3] for each in (joint, twin))
    out = [] if near(flip @ at, there, size) else [f"place {flip @ at} {there}"]
    if sorted(dof.kind for dof in joint.dofs) != sorted(dof.kind for dof in twin.dofs):
        return [*out, "kinds"]
    for one, other in zip(joint.dofs, twin.dofs, strict=True) if len(joint.dofs) == 1 else ():
        axis, its = (joint_frame_world(each, bodies)[:3, :3] @ dof.axis for each, dof in ((joint, one), (twin, other)))
        if one.kind not in {"ball", "free"} and not near(np.cross(flip[:3, :3] @ axis, its), np.zeros(3)):
            out.append(f"axis {flip[:3, :3] @ axis} {its}")
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


@pytest.mark.parametrize("model", MODELS)
def test_halves_stay_mirror_images(blank: Any, model: str, tmp_path: Path) -> None:
    edit_at_random(model, 0, FEW, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("model", MODELS)
def test_halves_stay_mirror_images_for_long(blank: Any, model: str, seed: int, tmp_path: Path) -> None:
    edit_at_random(model, seed, STEPS, tmp_path)


def edit_at_random(model: str, seed: int, steps: int, folder: Path) -> None:
    """Make random edits of a model, and check it after each."""
    rng = random.Random(f"{model} {seed}")
    rig = placed(model, folder, physics=seed % 2 == 0)
    for found in twin_candidates(rig):  # files of SKEL name none
        known = parts_by_id(rig, found.kind.upper())
        link_twins((known[found.first], known[found.second]))
    adopt_linked_plane(rig)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    usual, known_errors = differences(extract(rig)).keys(), errors(extract(rig))
    bpy.ops.ed.undo_push(message="begun")
    history: list[str] = []

    def check() -> None:
        mechanism = extract(the_rig())
        found = [told for what, told in differences(mechanism).items() if what not in usual]
        found += [" ".join(error) for error in errors(mechanism) - known_errors]
        if len(history) % EACH == 2:
            found += file_differences(mechanism, folder / f"written{Path(model).suffix}")
        assert not found, "\n".join([*history, *found[:5]])

    for number in range(steps):
        edit, before = rng.choice(EDITS), whole_state()
        did = edit(rng, the_rig())
        if did is not None:
            did()
        bpy.ops.ed.undo_push(message=edit.__name__)  # before the handlers, as Blender does
        bpy.context.view_layer.update()
        after = whole_state()
        history.append(f"{number}: {edit.__name__} {bpy.context.object and bpy.context.object.name}")
        check()
        if number % EACH in {0, 3}:
            bpy.ops.ed.undo()
            assert changed(whole_state(), before) == [], history
            history.append("undone")
            check()
        if number % EACH == 0:
            bpy.ops.ed.redo()
            assert changed(whole_state(), after) == [], history
            history.append("redone")
        if number % EACH == 4:
            before, path = whole_state(), str(folder / "edited.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path, compress=False)
            bpy.ops.wm.open_mainfile(filepath=path)
            bpy.context.view_layer.update()
            assert changed(whole_state(), before) == [], history
            bpy.ops.ed.undo_push(message="opened")
            history.append("opened")
            check()


def placed(model: str, folder: Path, physics: bool) -> Any:
    """The armature of a model, or of a mechanism of the edit matrix."""
    if model not in SCENES:
        return made(model, physics=physics)
    build(formats.load(SCENES[model].write(folder)), options=BuildOptions(gait=False, physics=physics))
    bpy.context.view_layer.update()
    return the_rig()


def whole_state() -> dict[str, Any]:
    """The state of the file with its lights."""
    lights = {f"lights/{light.name}": (light.type, tuple(light.color), light.energy) for light in bpy.data.lights}
    return state() | lights


def changed(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Return the differences between two states of the file, but for shapes of bones that are not in use."""
    keys = [key for key in {*found, *wanted} if found.get(key) != wanted.get(key) and "/WGT-" not in key]
    return sorted(f"{key}: {wanted.get(key)!r} -> {found.get(key)!r}" for key in keys)[:5]
