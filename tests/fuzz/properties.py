"""What must hold for any bytes at all that a reader is given.

Each function takes bytes and comes back, or raises what is a finding: any exception but our own FormatError, or
``Broken`` where a promise is not kept. They need neither Blender nor a fuzzer, so that tests use them as well.
"""

from __future__ import annotations

import copy
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from addon import formats
from addon.core.bounds import mechanism_bounds
from addon.core.editing.mirroring import motion_mirror
from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import compare_twins, find_twins
from addon.core.gait.engine import find_gait, sample_gait
from addon.core.kinematics import design_openings, initial_joint_values, joint_values_from_poses
from addon.core.loops.closure import close_loops
from addon.core.loops.linkage_solver import find_linkages
from addon.core.model import Mechanism, Motion
from addon.core.motion.checks import check_motion
from addon.core.motion.servo_matching import match_servos, mechanism_servos
from addon.core.report import FormatError, Report
from addon.core.summary import describe_mechanism, describe_report, summarize_mechanism
from addon.core.up_axis import rotate_mechanism, upright_transform
from addon.core.validation import validate
from addon.formats.meshes import copy as mesh_copies
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.collada import read_collada
from addon.formats.meshes.locate import AllowedFolders, find_mesh
from addon.formats.meshes.obj import MATERIAL_LIBRARY, sanitize_obj
from addon.formats.meshes.ply import check_ply
from addon.formats.text.file_io import encode_text

#: Loops of more joints than this are not closed for each of a million inputs.
_MOST_CLOSED = 40
#: The name of a model that was edited.
_EDITED = "edited"


class Broken(AssertionError):
    """A promise that was not kept; its first words say which."""


def plain_json(value: object) -> None:
    """Broken where a value is none that JSON has."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise Broken(f"no JSON: {error}") from error


def model(data: bytes) -> Mechanism | None:
    """Read a model and do with it all that can be done without Blender. None where it is refused."""
    try:
        mechanism = formats.loads(data, "fuzz.jm")
    except FormatError as error:
        told(error)
        return None
    described(mechanism)
    unedited(mechanism, data)
    converted(mechanism)
    moved(mechanism)
    converted(edited(mechanism))
    return mechanism


def read(data: bytes) -> Mechanism | None:
    """Read a model and save it as it is: what costs little."""
    try:
        mechanism = formats.loads(data, "fuzz.jm")
    except FormatError as error:
        told(error)
        return None
    unedited(mechanism, data)
    return mechanism


def told(error: FormatError) -> None:
    """A refusal says something, on one screen, about a line that may be there."""
    text = str(error)
    if not error.message or len(text) > 4000 or (error.line is not None and error.line < 1):
        raise Broken(f"a refusal that says little: {text[:100]!r}, line {error.line}, {len(text)} letters")


def described(mechanism: Mechanism) -> None:
    """As JSON and in words."""
    plain_json(describe_mechanism(mechanism))
    summarize_mechanism(mechanism)
    validate(mechanism)
    for name, numbers in (("pose", "pose"), ("centre of mass", "com")):
        if not all(np.isfinite(getattr(body, numbers)).all() for body in mechanism.bodies):
            raise Broken(f"a body's {name} is not finite")
    if not all(math.isfinite(body.mass) for body in mechanism.bodies):
        raise Broken("a body's mass is not finite")


def unedited(mechanism: Mechanism, data: bytes) -> None:
    """Saved in its own format as it is: the very bytes."""
    own = mechanism.source.format
    if formats.encode_model(*_dumped(mechanism, own)) != data and not repaired(mechanism.report):
        raise Broken(f"saved as {own}, it is other bytes")


def _dumped(mechanism: Mechanism, row: str) -> tuple[str, Mechanism, str, Report]:
    text, report = formats.dumps(mechanism, row)
    return text, mechanism, row, report


def converted(mechanism: Mechanism) -> None:
    """Saved in the other formats: what can be read again."""
    own = mechanism.source.format
    for row in formats.FORMATS:
        if row == own and mechanism.name != _EDITED:
            continue
        try:
            written, report = formats.dumps(mechanism, row)
            plain_json(describe_report(report))
        except FormatError as error:
            told(error)
            continue
        try:
            again = formats.loads(encode_text(written, ""), "written")
        except FormatError as error:
            if error.message.endswith(" is not finite"):
                continue  # sizes near the largest number, of which another format's rule of weighing makes more
            raise Broken(f"written as {row}, it is refused: {error}") from error
        if again.source.format != row:
            raise Broken(f"written as {row}, it is taken for {again.source.format}")


def edited(mechanism: Mechanism) -> Mechanism:
    """The same with something of every kind edited, so that it is written into its document anew."""
    now = copy.deepcopy(mechanism)
    now.name = _EDITED
    for body in now.bodies:
        body.mass, body.pose[:3, 3] = 0.5 * body.mass + 1.0, 0.5 * body.pose[:3, 3] + 1.0
        body.shapes = body.shapes[1:]
    for joint in now.joints:
        joint.name += "x"
        joint.dofs = [replace(dof, damping=(dof.damping or 0.0) + 1.0) for dof in joint.dofs]
    now.bodies, now.frames = now.bodies[:1] + now.bodies[1:][::-1], now.frames[1:]
    return now


def repaired(report: Report | None) -> bool:
    """Whether a document's letters had to be mended, which its file has in another way then."""
    return any(entry.code == "decoded-damaged" for entry in report.entries)


def moved(mechanism: Mechanism) -> None:
    """Its kinematics, loops, gait, sides and twins."""
    initial_joint_values(mechanism)
    design_openings(mechanism)
    joint_values_from_poses(mechanism, np.array([[body.pose for body in mechanism.bodies]]).reshape(1, -1, 4, 4))
    if len(mechanism.joints) <= _MOST_CLOSED:
        close_loops(mechanism)
        find_linkages(mechanism)
    mechanism_bounds(mechanism)
    describe_mechanism(rotate_mechanism(mechanism, upright_transform(mechanism)))
    sides = find_sides(mechanism)
    find_twins(mechanism, sides.plane)
    compare_twins(mechanism, sides)
    motion_mirror(mechanism)
    if find_gait(mechanism) is not None:
        motion = sample_gait(mechanism, {}, 0.1, 0.02)
        stops = {name: servo.stops for name, servo in mechanism_servos(mechanism).items()}
        check_motion(motion, stops)
        match_servos([track.name for track in motion.trajectories], [*stops])


def motions(data: bytes) -> list[Motion] | None:
    """Read motions, and write them in every format. None where they are refused."""
    try:
        found, report = formats.loads_motions(data, "fuzz.motion")
    except FormatError as error:
        told(error)
        return None
    plain_json(describe_report(report))
    plain_json(describe_mechanism(Mechanism(), found))
    for motion in found:
        check_motion(motion, {})
        for track in motion.trajectories:
            times, values = np.asarray(track.times), np.asarray(track.values)
            if times.shape != values.shape or not np.isfinite(times).all() or not np.isfinite(values).all():
                raise Broken(f"a servo has {times.shape} times and {values.shape} values, or some are not finite")
    own = found[0].source.format
    for row in formats.MOTION_FORMATS:
        progress_text = Report()
        try:
            text = formats.dumps_motions(found, row, progress_text)
        except FormatError as error:
            told(error)
            if row == own:
                raise Broken(f"unedited, it cannot be saved: {error}") from error
            continue
        if row == own:
            if formats._encode_motion(
                text, found[0].source, formats.MOTION_FORMATS[row], progress_text
            ) != data and not repaired(report):
                raise Broken(f"saved as {row}, it is other bytes")
            continue
        try:
            formats.loads_motions(encode_text(text, ""), "written")
        except FormatError as error:
            raise Broken(f"written as {row}, it is refused: {error}") from error
    return found


def whatever(data: bytes) -> None:
    """Read bytes of which nothing is known."""
    model(data)
    motions(data)


def _in_file(suffix: str, use: Callable[[Path], None]) -> Callable[[bytes], None]:
    """A property of a file's bytes made of one of a file."""

    def run(data: bytes) -> None:
        path = Path(_folder()) / f"mesh{suffix}"
        path.write_bytes(data)
        try:
            use(path)
        except FormatError as error:
            told(error)

    return run


@cache
def _folder() -> str:
    """A folder for the file at hand, in memory where there is such a place."""
    shared = "/dev/shm"
    path = os.path.join(shared if os.path.isdir(shared) else tempfile.gettempdir(), f"knuckle-fuzz-{os.getpid()}")
    os.makedirs(path, exist_ok=True)
    return path


def _box(path: Path) -> None:
    edges = mesh_box(path)
    if edges.shape != (3,) or not np.isfinite(edges).all() or (edges < 0).any():
        raise Broken(f"a mesh's box is {edges}")


def _obj(path: Path) -> None:
    made = sanitize_obj(path, (), (), {})
    if made.data.count(b"mtllib") != 1 or MATERIAL_LIBRARY.encode() not in made.data.splitlines()[0]:
        raise Broken("a harmless .obj names a library of its own")
    if made.pictures:
        raise Broken(f"a picture that is not there is found: {made.pictures}")
    _named(path)
    _box(path)


def _ply(path: Path) -> None:
    check_ply(path)
    _box(path)


def _collada(path: Path) -> None:
    _named(path)
    for surface in read_collada(path):
        if surface.corners.size and surface.corners.max() >= len(surface.points):
            raise Broken("a corner of a Collada file's polygon is no point")
        if surface.counts.sum() != len(surface.corners):
            raise Broken("polygons of a Collada file have other corners than are there")
    _box(path)


def _named(path: Path) -> None:
    """What a file names is found; it stays the same where nothing is called otherwise."""
    data = path.read_bytes()
    names, renamed = mesh_copies._FILE_HANDLERS[path.suffix]
    found = names(path, data)
    if renamed(data, {}) != data:
        raise Broken("a mesh file whose files keep their names is other bytes")
    renamed(data, {name: f"{at}.png" for at, name in enumerate(found)})


def _mtl(data: bytes) -> None:
    folder = Path(_folder())
    (folder / "mesh.mtl").write_bytes(data)
    (folder / "mesh.obj").write_bytes(b"mtllib mesh.mtl\n")
    made = sanitize_obj(folder / "mesh.obj", (), (), {})
    if b"mtllib" in made.materials or any(not path.is_relative_to(folder.resolve()) for path in made.pictures):
        raise Broken("a harmless .mtl names what it must not")
    _named(folder / "mesh.mtl")


def mesh_name(data: bytes) -> None:
    """A mesh's name never leads out of the rooms that may be read."""
    folder = Path(_folder()) / "room"
    if not folder.is_dir():
        folder.mkdir()
        (folder / "a.obj").write_bytes(b"v 0 0 0\n")
        (folder.parent / "secret.obj").write_bytes(b"v 0 0 0\n")
    name = data.decode("utf-8", "surrogateescape")
    try:
        found = find_mesh(name, folder / "model.skel", (name,), ())
    except FormatError as error:
        told(error)
        return
    if not AllowedFolders(folder / "model.skel", ()).contains_resolved(found):
        raise Broken(f"a mesh is found outside: {found}")


#: By reader: what must hold of its bytes.
PROPERTIES: Mapping[str, Callable[[bytes], object]] = {
    "juice": model,
    "skel": model,
    "x_xy": model,
    "shift": model,
    "xmdi": motions,
    "webots": motions,
    "csv": motions,
    "any": whatever,
    "obj": _in_file(".obj", _obj),
    "mtl": _mtl,
    "stl": _in_file(".stl", _box),
    "ply": _in_file(".ply", _ply),
    "collada": _in_file(".dae", _collada),
    "names": mesh_name,
}
#: The same where a model is only read, which takes a tenth of the time.
READING: Mapping[str, Callable[[bytes], object]] = dict.fromkeys(("juice", "skel", "x_xy", "shift"), read)
