"""The evaluated pose read at every frame and written, over the shortest script that does the same, and over Blender's
own writer of BVH: of keys, of drivers, and of IK."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

from addon import formats
from addon.blender.animation import apply, sample
from benchmarks.bvh import export_seconds
from benchmarks.measuring import fresh_model, nothing, seconds
from benchmarks.mechanisms import star
from benchmarks.motion_files import FRAME, KINDS, SERVOS, Array, angles
from benchmarks.table import Row

SIZES, QUICK = (1000, 3000, 10_000), (20, 40, 80)
ROUNDS, LARGE, LARGE_ROUNDS = 3, 5000, 2
#: Frames per second, of which each is a step that milliseconds tell exactly.
RATE = 25
#: Hinges of an arm, which IK poses together.
ARM = 10
#: Times the floor, from so many frames on.
BAR, JUDGED = 1.5, 10_000
FLOOR = "frame_set, one foreach_get, text"


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Reading alone, and whole exports."""
    for frames in sizes:
        yield _read(frames)
        for what, posed in (("drivers", _drivers), ("IK", _ik)):
            yield from _exported(what, posed, frames, folder)


def _model(frames: int) -> bpy.types.Object:
    rig, scene = fresh_model(star(SERVOS + 1, ARM)), bpy.context.scene
    scene.render.fps, scene.render.fps_base = RATE, 1.0
    scene.frame_start, scene.frame_end = 1, frames
    return rig


def _rounds(frames: int) -> int:
    return ROUNDS if frames <= LARGE else LARGE_ROUNDS


def _read(frames: int) -> Row:
    """What a script gets of keys, beside the same without a text."""
    rig, scene = _model(frames), bpy.context.scene
    collection = rig.data.knuckle.collection
    apply(formats.loads_motions(KINDS["XMDI"].text(angles(frames)).encode())[0][0], collection, scene)
    times, found = list(range(1, 1 + frames)), {}

    def ours() -> None:
        found["ours"] = sample(collection, scene, times)

    def floor() -> None:
        found["floor"] = _floor(rig, scene, frames)

    took = [(seconds(ours, nothing), seconds(floor, nothing)) for _ in range(_rounds(frames))]
    read = {each.name: each.values for each in found["ours"].trajectories}
    assert np.abs(np.array([read[bone.name] for bone in _hinges(rig)]).T - found["floor"]).max() < 1e-4
    mine, least = (statistics.median(column) for column in zip(*took, strict=True))
    told, bar = f"motion sampled, {SERVOS} servos", BAR if frames >= JUDGED else None
    return Row(told, frames, "frames", mine, least, FLOOR, bar, growth_bar=1.25)


def _exported(what: str, posed: Callable[[bpy.types.Object], None], frames: int, folder: Path) -> Iterator[Row]:
    rig, scene = _model(frames), bpy.context.scene
    posed(rig)
    target, plain, found = folder / "sampled.csv", folder / "plain.csv", {}

    def ours() -> None:
        bpy.ops.export_anim.servo_motion(filepath=str(target), servos="ALL", keys="SAMPLED", step=1000.0 / RATE)

    def floor() -> None:
        found["floor"] = _floor(rig, scene, frames)
        lines = (",".join(["%.7g"] * SERVOS) % tuple(row) for row in found["floor"].tolist())
        plain.write_text("\n".join(f"{number / RATE:g},{line}" for number, line in enumerate(lines)) + "\n")

    took = [
        (seconds(ours, nothing), seconds(floor, nothing), export_seconds(folder / "blender.bvh", rig, frames))
        for _ in range(_rounds(frames))
    ]
    read = {name.partition(" [")[0]: values for name, _times, values in KINDS["CSV"].read(target)}  # without units
    written = np.array([read[bone.name] for bone in _hinges(rig)]).T
    assert written.shape == found["floor"].shape, "every frame is written"
    assert np.abs(np.angle(np.exp(1j * (written - found["floor"])))).max() < 1e-3
    mine, least, blenders = (statistics.median(column) for column in zip(*took, strict=True))
    told = f"motion of {what} out, {SERVOS} servos"
    bar = BAR if frames >= JUDGED else None
    yield Row(told, frames, "frames", mine, least, FLOOR, bar, growth_bar=1.25)
    yield Row(f"{told}, over Blender's", frames, "frames", mine, blenders, "Blender's BVH export")


def _drivers(rig: bpy.types.Object) -> None:
    for number, bone in enumerate(_hinges(rig)):
        curve = rig.driver_add(f'pose.bones["{bone.name}"].rotation_euler', 2)
        curve.driver.expression = f"0.5*sin(frame*{FRAME}+{number})"


def _ik(rig: bpy.types.Object) -> None:
    """The tip of each arm reaches for an empty that drivers move."""
    for number in range(SERVOS // ARM):
        tip = rig.pose.bones[f"Hinge {ARM * (number + 1)}"]
        goal = bpy.data.objects.new(f"goal {number}", None)
        bpy.context.scene.collection.objects.link(goal)
        goal.location = 0.8 * (rig.matrix_world @ tip.tail)
        goal.driver_add("location", 2).driver.expression = f"2+0.4*sin(frame*{FRAME})"
        reach = tip.constraints.new("IK")
        reach.target, reach.chain_count, reach.iterations = goal, ARM, 20
    bpy.context.view_layer.update()


def _hinges(rig: bpy.types.Object) -> list[bpy.types.PoseBone]:
    return [bone for bone in rig.pose.bones if bone.name.startswith("Hinge")]


def _floor(rig: bpy.types.Object, scene: bpy.types.Scene, frames: int) -> Array:
    """The angle about each hinge bone's own Z at every frame, (frames, hinges)."""
    bones = list(rig.pose.bones)
    place = {bone.name: number for number, bone in enumerate(bones)}
    hinges = [place[bone.name] for bone in _hinges(rig)]
    carriers = [place[bones[number].parent.name] for number in hinges]
    rest = np.array([np.array(bone.bone.matrix_local) for bone in bones])
    between = np.linalg.inv(rest[hinges]) @ rest[carriers]
    poses = np.empty((frames, len(bones), 4, 4), dtype=np.float32)
    buffer = np.empty(16 * len(bones), dtype=np.float32)
    for number in range(frames):
        scene.frame_set(number + 1)
        rig.pose.bones.foreach_get("matrix", buffer)
        poses[number] = buffer.reshape(-1, 4, 4).swapaxes(1, 2)
    turned = between @ np.linalg.inv(poses[:, carriers]) @ poses[:, hinges]
    return np.unwrap(np.arctan2(turned[..., 1, 0], turned[..., 0, 0]), axis=0)
