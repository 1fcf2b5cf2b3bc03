"""A test run: one of our models of each format is brought in, keyed, moved by physics and taken out again.

All in a scene of its own: the open file stays as it is."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import bpy
import numpy as np

from ... import formats
from ...about import sample
from ...about.rows import Row
from ...about.wheels import how_to_repair
from ...core.model import Array, Motion, Trajectory
from ..animation import apply
from ..animation import sample as sampled
from ..build import BuildOptions, build
from ..data.access import settings
from ..data.channels import servo_channels, servo_names
from ..data.datablocks import latest, remove_since
from ..data.queries import require_rig
from ..extract import extract
from ..physics.recording.bake import record
from ..physics.world.rigidbody_world import frame_rate
from ..render.studio import hushed
from ..scene.temporary_scene import at_work, workshop

SAMPLES = ("rover/rover.jm", "desk_lamp/desk_lamp.skel", "pumpjack/pumpjack.json", "sensor_leg/sensor_leg.xml")
#: How long physics runs, and how far joints may come apart in it, as a share of the model's size.
FRAMES, GAP = 10, 0.02
#: How far a servo is keyed (rad or length units), and how exactly keys have to say so: Blender's numbers have 24 bits.
TARGET, EXACT = 0.05, 1e-6


class SmokeError(Exception):
    """A step that did something else than it should."""


def smoke_rows() -> list[Row]:
    """A row for each format."""
    return [_row(name) for name in SAMPLES]


def _row(name: str) -> Row:
    path, start = sample(name), time.perf_counter()
    part = f"Test run of {path.name}"
    if not path.is_file():
        return Row(part, "error", f"{path} is missing", how_to_repair("Check out the folder sample_models again"))
    try:
        told = try_sample(path)
    except Exception as error:  # whatever fails here is what the report is for
        return Row(part, "error", f"{type(error).__name__}: {error}", "Copy the report and send it to the developers")
    return Row(part, "ok", f"{told}, {time.perf_counter() - start:.1f} s")


def try_sample(path: Path) -> str:
    """Take a model the whole way and leave nothing behind; what was done. SmokeError where something is not as it
    was."""
    kinds = [each.identifier for each in bpy.data.bl_rna.properties if each.type == "COLLECTION"]
    before = latest(kinds)
    with contextlib.ExitStack() as stack:
        stack.callback(remove_since, before, kinds)  # last: the scene has gone by then
        scene = stack.enter_context(workshop())
        stack.enter_context(at_work(scene))
        stack.enter_context(hushed())
        return _whole_way(scene, path)


def _whole_way(scene: bpy.types.Scene, path: Path) -> str:
    mechanism = formats.load(path)
    physics = bool(bpy.app.build_options.bullet)
    collection = build(mechanism, bpy.context, BuildOptions(physics=physics, gait=False, mesh_folders=()))
    done = ["read", *_keyed(scene, collection)]
    if physics:
        done.append(_run(scene, collection))
    settings(require_rig(collection)).drive = "KEYS"
    if formats.dumps(extract(collection))[0].encode() != path.read_bytes():
        raise SmokeError("the file that would be written is not the one that was read")
    return ", ".join([*done, "written to the byte"])


def _keyed(scene: bpy.types.Scene, collection: bpy.types.Collection) -> list[str]:
    """Key the first servo of one degree, and read it off again."""
    rig = require_rig(collection)
    names = servo_names(rig)
    single = [joint for joint, channels in servo_channels(rig).items() if len(channels) == 1 and channels[0].is_single]
    if not single:
        return []
    servo = names[single[0]][0]
    start = float(_values(scene, collection, single[0])[0])
    times = np.arange(FRAMES + 1) / frame_rate(scene)
    wanted = start + TARGET * np.arange(FRAMES + 1) / FRAMES
    apply(Motion("Knuckle check", [Trajectory(servo, times, wanted)]), collection, scene)
    found = _values(scene, collection, single[0])
    if np.abs(found - wanted).max() > EXACT * max(1.0, np.abs(wanted).max()):
        raise SmokeError(f"servo {servo!r} was keyed to {wanted[-1]:.6g} and is at {found[-1]:.6g}")
    return ["keyed"]


def _values(scene: bpy.types.Scene, collection: bpy.types.Collection, joint: str) -> Array:
    frames = [scene.frame_start + number for number in range(FRAMES + 1)]
    return sampled(collection, scene, frames, [joint]).trajectories[0].values


def _run(scene: bpy.types.Scene, collection: bpy.types.Collection) -> str:
    """Some frames under physics, servos on: bodies move, joints hold."""
    rig = require_rig(collection)
    settings(rig).drive = "SERVO"
    recording = record(scene, rig, scene.frame_start + FRAMES)
    places = recording.poses[:, :-1, :3, 3]
    size = max(float(np.ptp(places[0], axis=0).max()), 1e-3)
    if not np.abs(recording.poses[-1] - recording.poses[0]).max() > 0.0:
        raise SmokeError("physics moves nothing")
    if recording.worst_gap() > GAP * size:
        raise SmokeError(f"joints come apart by {recording.worst_gap():.3g} under physics")
    return f"{FRAMES} frames simulated"
