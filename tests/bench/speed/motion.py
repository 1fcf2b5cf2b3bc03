"""How fast motions come in and go out, over the shortest scripts that do the same to the same files, in turn with them.

The model has one hinge more than there are numbers below; the motion moves each in many keys of the format's 32 ms.
Whatever is timed is checked too: a script that reads wrongly is no floor."""

from __future__ import annotations

import contextlib
import io
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np
from lxml import etree

from addon import formats
from addon.blender import compat
from addon.blender.animation import apply, sample
from addon.blender.build import BuildOptions, build
from addon.blender.model_parts import rig_in
from tests.bench import measuring
from tests.bench.measuring import seconds
from tests.bench.mechanisms import star
from tests.bench.table import Row

SIZES, QUICK = (1000, 10_000, 100_000), (20, 40, 80)
SERVOS = 30
FRAME = 0.032
ROUNDS = 3
LINEAR = 1
#: Blender's own reader of motions is slow: it gets so many frames of the same data, and is compared by key.
BVH_FRAMES, SAMPLED_FRAMES = 5000, 10_000


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Motion in and out, unedited and edited, the reading by key against Blender's of BVH, and sampling."""
    for keys in sizes:
        yield from _of(keys, folder)


def _of(keys: int, folder: Path) -> Iterator[Row]:
    model = star(SERVOS + 1)
    values = angles(keys)
    source = folder / "motion.xmdi"
    source.write_text(document(values), encoding="utf-8")
    took: dict[str, list[float]] = {name: [] for name in ("floor", "in", "out", "edited")}
    for _ in range(ROUNDS):
        took["floor"].append(_floor_in(source, values))
        for name, each in _ours(model, source, folder / "out.xmdi", values).items():
            took[name].append(each)
    median = {name: statistics.median(found) for name, found in took.items()}
    per_key = median["in"] / values.size * 1e6
    bvh = statistics.median(_bvh(folder / "motion.bvh", values[:, :BVH_FRAMES]) for _ in range(ROUNDS)) * 1e6
    yield _row("motion in", keys, median["in"], median["floor"], "floor with parsing", 2.0)
    yield _row("motion in, per million keys", keys, per_key, bvh, "Blender's BVH", 1 / 8)
    yield _row("motion out, unedited", keys, median["out"], median["in"], "its reading", 1.0)
    yield _row("motion out, one key edited", keys, median["edited"], median["in"], "its reading", 1.0)
    yield _sampled(model, values[:, : min(SAMPLED_FRAMES, keys)])


def _row(what: str, keys: int, value: float, floor: float, floor_name: str, bar: float) -> Row:
    return Row(f"{what}, {SERVOS} servos", keys, "keys", value, floor, floor_name, bar)


def angles(keys: int) -> np.ndarray:
    """What servos do (rad), (servos, keys): slow swings with a little of everything, within 40 degrees."""
    times = np.arange(keys) * FRAME
    noise = np.random.default_rng(0).uniform(-0.05, 0.05, (SERVOS, keys))
    return 0.5 * np.sin(times + np.arange(SERVOS)[:, None]) + noise


def document(values: np.ndarray) -> str:
    """The motion as XMDI, numbers as programs write them: six digits."""
    frames = " ".join(map(str, range(values.shape[1])))
    servos = "\n".join(
        f'<servo name="Hinge {number}">\n<position>{" ".join(f"{value:.6g}" for value in row)}</position>\n'
        f"<frames>{frames}</frames>\n</servo>"
        for number, row in enumerate(values.tolist(), 1)
    )
    return f'<?xml version="1.0"?>\n<xmdi>\n<motions>\n<motion name="long">\n{servos}\n</motion>\n</motions>\n</xmdi>\n'


def fresh(model: str) -> bpy.types.Object:
    """A file with nothing but the model in it: its armature, active."""
    measuring.fresh()
    rig = rig_in(build(formats.loads(model.encode(), "star.jm"), bpy.context, BuildOptions(gait=False)))
    bpy.context.view_layer.objects.active = rig
    return rig


# ------------------------------------------------------------------ in and out


def _ours(model: str, source: Path, target: Path, values: np.ndarray) -> dict[str, float]:
    """A user's import, an export at once, and one after a key was moved."""
    rig = fresh(model)
    took = {"in": seconds(lambda: bpy.ops.import_anim.servo_motion(filepath=str(source)))}
    curves = _curves(rig)
    assert len(curves) == SERVOS
    assert all(len(curve.keyframe_points) == values.shape[1] for curve in curves)
    first = next(curve for curve in curves if '"Hinge 1"' in curve.data_path)
    assert abs(first.keyframe_points[-1].co[1] - values[0, -1]) < 1e-5
    took["out"] = seconds(lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)))
    assert _positions(target)[0].shape == values[0].shape, "every key is written"
    middle = values.shape[1] // 2
    first.keyframe_points[middle].co[1] += 0.125
    first.update()
    took["edited"] = seconds(lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)))
    assert abs(_positions(target)[0][middle] - values[0, middle] - 0.125) < 1e-5, "the edit is written"
    return took


def _floor_in(source: Path, values: np.ndarray) -> float:
    """Parse the same file and key as many curves, by the shortest way."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = bpy.data.objects.new("floor", bpy.data.armatures.new("floor"))
    bpy.context.scene.collection.objects.link(rig)
    took = seconds(lambda: _key_floor(rig, source, bpy.context.scene))
    first = _curves(rig)[0]
    assert abs(first.keyframe_points[-1].co[1] - values[0, -1]) < 1e-5
    return took


def _key_floor(rig: bpy.types.Object, source: Path, scene: bpy.types.Scene) -> None:
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    rate = scene.render.fps / scene.render.fps_base
    spelled, frames = None, np.empty(0)
    for servo in etree.parse(str(source)).iter("servo"):
        if servo.findtext("frames") != spelled:
            spelled = servo.findtext("frames")
            frames = scene.frame_start + np.fromstring(spelled, sep=" ") * (FRAME * rate)
        positions = np.fromstring(servo.findtext("position"), sep=" ")
        pairs = np.empty((len(frames), 2), dtype=np.float32)
        pairs[:, 0], pairs[:, 1] = frames, positions
        points = curves.new(f'pose.bones["{servo.get("name")}"].rotation_euler', index=2)
        points.keyframe_points.add(len(frames))
        points.keyframe_points.foreach_set("co", pairs.ravel())
        points.keyframe_points.foreach_set("interpolation", np.full(len(frames), LINEAR, dtype=np.int32))
        points.update()


def _positions(path: Path) -> list[np.ndarray]:
    return [np.fromstring(each.text, sep=" ") for each in etree.parse(str(path)).iter("position")]


def _curves(rig: bpy.types.Object) -> list[bpy.types.FCurve]:
    return list(compat.action_curves(rig, rig.animation_data.action, create=False) or ())


# ------------------------------------------------------------------ Blender's reader of BVH


def _bvh(path: Path, values: np.ndarray) -> float:
    """Seconds per key that Blender takes for the same angles as BVH, which has three per joint."""
    path.write_text(_bvh_text(values), encoding="utf-8")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    import addon_utils  # Blender's own, like the reader

    addon_utils.enable("io_anim_bvh")
    with contextlib.redirect_stdout(io.StringIO()):  # it tells of its progress
        took = seconds(lambda: bpy.ops.import_anim.bvh(filepath=str(path), update_scene_duration=True))
    rig = bpy.context.object
    curves = _curves(rig)
    keys = sum(len(curve.keyframe_points) for curve in curves)
    assert len(curves) >= 3 * SERVOS
    assert keys >= 3 * values.size
    return took / keys


def _bvh_text(values: np.ndarray) -> str:
    """A chain of joints; the first carries all, as BVH wants it."""
    lines = ["HIERARCHY"]
    for number in range(SERVOS):
        inner = "  " * number
        lines += [f"{inner}{'JOINT' if number else 'ROOT'} J{number}", f"{inner}{{", f"{inner}  OFFSET 0 1 0"]
        lines += [
            f"{inner}  CHANNELS {3 if number else 6} {'' if number else 'Xposition Yposition Zposition '}"
            "Zrotation Xrotation Yrotation"
        ]
    deepest = "  " * SERVOS
    lines += [f"{deepest}End Site", f"{deepest}{{", f"{deepest}  OFFSET 0 1 0", f"{deepest}}}"]
    lines += ["  " * number + "}" for number in reversed(range(SERVOS))]
    lines += ["MOTION", f"Frames: {values.shape[1]}", f"Frame Time: {FRAME}"]
    for row in np.degrees(values).T.tolist():
        lines.append("0 0 0 " + " ".join(f"{value:.6g} 0 0" for value in row))
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------ sampling


def _sampled(model: str, values: np.ndarray) -> Row:
    """Read every frame off the evaluated pose, against a loop of frame_set and one foreach_get."""
    rig = fresh(model)
    scene = bpy.context.scene
    path = Path(bpy.app.tempdir or ".") / "sampled.xmdi"
    path.write_text(document(values), encoding="utf-8")
    collection = rig.data.knuckle.collection
    apply(formats.load_motion(path), collection, scene)
    path.unlink()
    frames = list(range(1, 1 + values.shape[1]))
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        motion = sample(collection, scene, frames)
        found["ours"] = np.array([each.values for each in motion.trajectories]).T
        found["names"] = np.array([each.name for each in motion.trajectories])

    def floor() -> None:
        found["floor"] = _sample_floor(rig, scene, frames)

    ours_took, floor_took = [], []
    for _ in range(ROUNDS):
        floor_took.append(seconds(floor))
        ours_took.append(seconds(ours))
    order = [list(found["names"]).index(bone.name) for bone in _hinges(rig)]
    assert np.abs(found["ours"][:, order] - found["floor"]).max() < 1e-4
    ours_median, floor_median = statistics.median(ours_took), statistics.median(floor_took)
    return _row("motion sampled", len(frames), ours_median, floor_median, "frame_set and one foreach_get", 1.5)


def _hinges(rig: bpy.types.Object) -> list[bpy.types.PoseBone]:
    return [bone for bone in rig.pose.bones if bone.name.startswith("Hinge")]


def _sample_floor(rig: bpy.types.Object, scene: bpy.types.Scene, frames: list[int]) -> np.ndarray:
    """The angle about each hinge bone's own Z at every frame, (frames, hinges)."""
    bones = list(rig.pose.bones)
    place = {bone.name: number for number, bone in enumerate(bones)}
    hinges = [place[bone.name] for bone in _hinges(rig)]
    carriers = [place[bones[number].parent.name] for number in hinges]
    rest = np.array([np.array(bone.bone.matrix_local) for bone in bones])
    between = np.linalg.inv(rest[hinges]) @ rest[carriers]
    poses = np.empty((len(frames), len(bones), 4, 4), dtype=np.float32)
    buffer = np.empty(16 * len(bones), dtype=np.float32)
    for number, frame in enumerate(frames):
        scene.frame_set(frame)
        rig.pose.bones.foreach_get("matrix", buffer)
        poses[number] = buffer.reshape(-1, 4, 4).swapaxes(1, 2)
    turned = between @ np.linalg.inv(poses[:, carriers]) @ poses[:, hinges]
    return np.unwrap(np.arctan2(turned[..., 1, 0], turned[..., 0, 0]), axis=0)
