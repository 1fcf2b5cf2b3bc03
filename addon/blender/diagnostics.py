"""Self-check of the installation: versions, modules, build options, writable folders, and a test run per format.

Each test run imports a sample model, adds keyframes, simulates and exports it, in a scene of its own: the open file
stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from .. import formats
from ..core.model import Array, Motion, Trajectory
from ..core.report import Message, join_messages
from ..installation import CheckRow, dependency_rows, package_version, repair_advice, sample_path
from .animation import apply
from .animation import sample as sampled
from .compat import init_gpu
from .data.access import settings
from .data.channels import servo_channels, servo_names_by_joint
from .data.datablocks import newest_session_uid, remove_datablocks_since
from .data.queries import require_rig
from .physics.recording.bake import record
from .physics.world.rigidbody_world import frame_rate
from .reconcile.build import BuildOptions, build
from .rendering.temporary_studio import stdout_silenced
from .scene.read.mechanism import extract
from .scene.temporary_scene import operator_context, scratch_scene

_OFFICIAL_BUILD_ADVICE = "Install Blender from blender.org: some distributions omit this part"
#: Optional parts of Blender: the build option, the part, the state and the effect where it is missing.
_BUILD_OPTIONS = (
    ("bullet", "Physics engine", "error", "only the drive Keyframes works"),
    ("codec_ffmpeg", "Video encoder", "warning", "videos can only be written as images"),
    ("io_wavefront_obj", "OBJ reader", "warning", "bodies with .obj meshes are shown as boxes"),
    ("io_stl", "STL reader", "warning", "bodies with .stl meshes are shown as boxes"),
    ("io_ply", "PLY reader", "warning", "bodies with .ply meshes are shown as boxes"),
)


def version_rows() -> list[CheckRow]:
    """Return the versions that a bug report begins with."""
    build = bpy.app.build_hash
    commit = build.decode() if isinstance(build, bytes) else str(build)
    how = "without a window" if bpy.app.background else "in a window"
    return [
        CheckRow("Knuckle", "ok", package_version()),
        CheckRow("Blender", "ok", f"{bpy.app.version_string} ({commit}), {how}"),
        CheckRow("Python", "ok", f"{platform.python_version()}, {platform.python_compiler()}"),
        CheckRow("System", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}"),
    ]


def machine_rows() -> list[CheckRow]:
    """Check Blender's build options, drawing, and writable folders."""
    rows = [_build_option_row(*row) for row in _BUILD_OPTIONS]
    rows.append(
        _attempt_row(
            "Graphics", _test_gpu, "warning", "Overlays cannot be drawn into images. Update the graphics driver"
        )
    )
    free = "Free disk space, set write permission, or choose another folder: Preferences > File Paths > Temporary Files"
    rows.append(_attempt_row("Temporary files", lambda: _test_writing(tempfile.gettempdir()), "error", free))
    rows.append(_attempt_row("Blender's session", lambda: _test_writing(bpy.app.tempdir), "error", free))
    return rows


def _build_option_row(option: str, part: str, state: str, lost: str) -> CheckRow:
    has = getattr(bpy.app.build_options, option, None)
    if has is None:
        return CheckRow(part, "note", "unknown in this Blender")
    return (
        CheckRow(part, "ok", "is available")
        if has
        else CheckRow(part, state, Message("is missing: {}", lost), _OFFICIAL_BUILD_ADVICE)
    )


def _attempt_row(part: str, work: Callable[[], str], state: str, remedy: str) -> CheckRow:
    try:
        return CheckRow(part, "ok", work())
    except (OSError, ValueError, RuntimeError) as error:
        return CheckRow(part, state, str(error), remedy)


def _test_gpu() -> str:
    """Clear an off-screen buffer of four by four pixels and read it back.

    Raises:
        ValueError: Nothing can be drawn, or the color is wrong.
    """
    import gpu

    init_gpu()
    drawing: Any = gpu  # its stubs lack arguments and results
    picture = drawing.types.GPUOffScreen(4, 4)
    try:
        with picture.bind():
            buffer = drawing.state.active_framebuffer_get()
            buffer.clear(color=(1.0, 0.0, 1.0, 1.0))
            pixel = buffer.read_color(0, 0, 1, 1, 4, 0, "FLOAT").to_list()
    finally:
        picture.free()
    if pixel[0][0] != [1.0, 0.0, 1.0, 1.0]:
        raise ValueError(Message("Image read back with the wrong color: {}", pixel[0][0]))
    return f"{gpu.platform.backend_type_get()}, {gpu.platform.renderer_get()}"


def _test_writing(folder: str) -> str:
    """Write a temporary file and read it back.

    Raises:
        OSError: That fails.
    """
    try:
        with tempfile.NamedTemporaryFile(prefix="knuckle-check-", dir=folder) as file:
            file.write(b"knuckle")
            file.flush()
            file.seek(0)
            was_kept = file.read() == b"knuckle"
    except OSError as error:
        raise OSError(Message("{} is not writable: {}", folder, error.strerror or error)) from error
    if not was_kept:
        raise OSError(Message("{}: a written file cannot be read back", folder))
    return Message("{} is writable", folder)


SMOKE_SAMPLES = ("rover/rover.jm", "desk_lamp/desk_lamp.skel", "pumpjack/pumpjack.json", "sensor_leg/sensor_leg.xml")
#: Number of simulated frames, and largest joint separation in them, as a share of the model's size.
SMOKE_FRAMES, MAX_SEPARATION = 10, 0.02
#: Distance that a servo is keyframed to move (rad or length units), and tolerance: Blender's floats have 24 bits.
KEY_TARGET, KEY_TOLERANCE = 0.05, 1e-6


class SmokeError(Exception):
    """Error of a test run whose result is not the expected one."""


def smoke_rows() -> list[CheckRow]:
    """Run the test of each format; one row each."""
    return [_smoke_row(name) for name in SMOKE_SAMPLES]


def _smoke_row(name: str) -> CheckRow:
    path, start = sample_path(name), time.perf_counter()
    part = Message("Test of {}", path.name)
    if not path.is_file():
        return CheckRow(
            part, "error", Message("{} is missing", path), repair_advice("Restore the folder sample_models")
        )
    try:
        failure = smoke_test_sample(path)
    except Exception as error:  # any failure belongs in the report
        return CheckRow(part, "error", f"{type(error).__name__}: {error}", "Copy the report and open an issue")
    return CheckRow(part, "ok", Message("{}, {} s", failure, f"{time.perf_counter() - start:.1f}"))


def smoke_test_sample(path: Path) -> str:
    """Import, keyframe, simulate and export a model, and remove everything again.

    Returns:
        A description of what was done.

    Raises:
        SmokeError: A result is not the expected one.
    """
    kinds = [each.identifier for each in bpy.data.bl_rna.properties if each.type == "COLLECTION"]
    before = newest_session_uid(kinds)
    with contextlib.ExitStack() as stack:
        stack.callback(remove_datablocks_since, before, kinds)  # runs last: the scene has been removed by then
        scene = stack.enter_context(scratch_scene())
        stack.enter_context(operator_context(scene))
        stack.enter_context(stdout_silenced())
        return _run_all_steps(scene, path)


def _run_all_steps(scene: bpy.types.Scene, path: Path) -> str:
    mechanism = formats.load(path)
    physics = bool(bpy.app.build_options.bullet)
    collection = build(mechanism, bpy.context, BuildOptions(physics=physics, gait=False, mesh_folders=()))
    done = ["imported", *_key_and_read(scene, collection)]
    if physics:
        done.append(_simulate_sample(scene, collection))
    settings(require_rig(collection)).drive = "KEYS"
    if formats.dumps(extract(collection))[0].encode() != path.read_bytes():
        raise SmokeError("export differs from the imported file")
    return join_messages(", ", [*done, "exported identically"])


def _key_and_read(scene: bpy.types.Scene, collection: bpy.types.Collection) -> list[str]:
    """Keyframe the first servo with a single coordinate, and sample it again."""
    rig = require_rig(collection)
    names = servo_names_by_joint(rig)
    single = [joint for joint, channels in servo_channels(rig).items() if len(channels) == 1 and channels[0].is_single]
    if not single:
        return []
    servo = names[single[0]][0]
    start = float(_joint_value(scene, collection, single[0])[0])
    times = np.arange(SMOKE_FRAMES + 1) / frame_rate(scene)
    wanted = start + KEY_TARGET * np.arange(SMOKE_FRAMES + 1) / SMOKE_FRAMES
    apply(Motion("Knuckle check", [Trajectory(servo, times, wanted)]), collection, scene)
    found = _joint_value(scene, collection, single[0])
    if np.abs(found - wanted).max() > KEY_TOLERANCE * max(1.0, np.abs(wanted).max()):
        raise SmokeError(
            Message("servo {}: keyframe {}, sampled {}", repr(servo), f"{wanted[-1]:.6g}", f"{found[-1]:.6g}")
        )
    return ["keyframed"]


def _joint_value(scene: bpy.types.Scene, collection: bpy.types.Collection, joint: str) -> Array:
    frames = [scene.frame_start + number for number in range(SMOKE_FRAMES + 1)]
    return sampled(collection, scene, frames, [joint]).trajectories[0].values


def _simulate_sample(scene: bpy.types.Scene, collection: bpy.types.Collection) -> str:
    """Simulate some frames with servos on, and check that bodies move and joints hold."""
    rig = require_rig(collection)
    settings(rig).drive = "SERVO"
    recording = record(scene, rig, scene.frame_start + SMOKE_FRAMES)
    places = recording.poses[:, :-1, :3, 3]
    size = max(float(np.ptp(places[0], axis=0).max()), 1e-3)
    if not np.abs(recording.poses[-1] - recording.poses[0]).max() > 0.0:
        raise SmokeError("simulation: no body moves")
    if recording.max_joint_separation() > MAX_SEPARATION * size:
        raise SmokeError(
            Message(
                "joint separation {} m, above {} of the size",
                f"{recording.max_joint_separation():.3g}",
                f"{MAX_SEPARATION:.0%}",
            )
        )
    return Message("{} frames simulated", SMOKE_FRAMES)


__all__ = ["run_self_check"]


def run_self_check() -> list[CheckRow]:
    """Run all checks; takes about two seconds. The open file is not changed."""
    places: Any = bpy.utils  # its stubs lack one of these functions
    extensions = os.path.normpath(places.user_resource("EXTENSIONS"))
    blender = [places.resource_path("LOCAL"), places.system_resource("SCRIPTS"), os.path.dirname(bpy.__file__)]
    return [*version_rows(), *dependency_rows(extensions, blender), *machine_rows(), *smoke_rows()]
