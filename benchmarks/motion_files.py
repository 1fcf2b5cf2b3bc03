"""Files of a long motion in every format, and the shortest scripts that read them and key them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
from lxml import etree
from numpy.typing import NDArray

from addon.blender import compat

Array = NDArray[np.float64]
SERVOS = 30
#: Seconds between keys: XMDI's own steps.
FRAME = 0.032
LINEAR = 1


@dataclass(frozen=True)
class Kind:
    """A format: its extension, the text of a motion (servos, keys), and the shortest reading: for each servo its name,
    times (s) and values."""

    suffix: str
    text: Callable[[Array], str]
    read: Callable[[Path], Iterator[tuple[str, Array, Array]]]


def angles(keys: int) -> Array:
    """What servos do (rad), (servos, keys): slow swings with a little of everything, within 40 degrees."""
    times = np.arange(keys) * FRAME
    noise = np.random.default_rng(0).uniform(-0.05, 0.05, (SERVOS, keys))
    return np.asarray(0.5 * np.sin(times + np.arange(SERVOS)[:, None]) + noise)


def _spelt(values: Array) -> list[str]:
    """A line of numbers for each key, as programs write them: six digits."""
    return [",".join([f"{value:.6g}" for value in row]) for row in values.T.tolist()]


def _names() -> str:
    return ",".join(f"Hinge {number}" for number in range(1, SERVOS + 1))


def xmdi(values: Array) -> str:
    """The motion as XMDI."""
    frames = " ".join(map(str, range(values.shape[1])))
    servos = "\n".join(
        f'<servo name="Hinge {number}">\n<position>{" ".join(f"{value:.6g}" for value in row)}</position>\n'
        f"<frames>{frames}</frames>\n</servo>"
        for number, row in enumerate(values.tolist(), 1)
    )
    return f'<?xml version="1.0"?>\n<xmdi>\n<motions>\n<motion name="long">\n{servos}\n</motion>\n</motions>\n</xmdi>\n'


def _read_xmdi(path: Path) -> Iterator[tuple[str, Array, Array]]:
    spelled, times = None, np.empty(0)
    for servo in etree.parse(str(path)).iter("servo"):
        if servo.findtext("frames") != spelled:
            spelled = servo.findtext("frames")
            times = np.fromstring(spelled, sep=" ") * FRAME
        yield servo.get("name"), times, np.fromstring(servo.findtext("position"), sep=" ")


def csv(values: Array) -> str:
    """The motion as CSV, times in its first column."""
    lines = [f"{number * FRAME:.6g},{line}" for number, line in enumerate(_spelt(values))]
    return "\n".join([f"time,{_names()}", *lines]) + "\n"


def _read_csv(path: Path) -> Iterator[tuple[str, Array, Array]]:
    head, _, body = path.read_text(encoding="utf-8").partition("\n")
    names = head.split(",")
    table = np.fromstring(body.replace("\n", ","), sep=",").reshape(-1, len(names)).T
    for name, row in zip(names[1:], table[1:], strict=True):
        yield name, table[0], row


def webots(values: Array) -> str:
    """The motion as Webots has it."""
    lines = []
    for number, line in enumerate(_spelt(values)):
        seconds, milliseconds = divmod(round(1000 * number * FRAME), 1000)
        clock = "{:02d}:{:02d}:{:03d}".format(*divmod(seconds, 60), milliseconds)
        lines.append(f"{clock},Pose{number + 1},{line}")
    return "\n".join([f"#WEBOTS_MOTION,V1.0,{_names()}", *lines]) + "\n"


def _read_webots(path: Path) -> Iterator[tuple[str, Array, Array]]:
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    names = head.split(",")[2:]
    clocks, _poses, cells = zip(*(line.split(",", 2) for line in lines), strict=True)
    times = np.fromstring(" ".join(clocks).replace(":", " "), sep=" ").reshape(-1, 3) @ (60.0, 1.0, 0.001)
    table = np.fromstring(",".join(cells), sep=",").reshape(-1, len(names)).T
    for name, row in zip(names, table, strict=True):
        yield name, times, row


KINDS = {
    "XMDI": Kind(".xmdi", xmdi, _read_xmdi),
    "CSV": Kind(".csv", csv, _read_csv),
    ".motion": Kind(".motion", webots, _read_webots),
}


def key_floor(rig: bpy.types.Object, path: Path, kind: Kind, scene: bpy.types.Scene) -> None:
    """Read a file and key as many curves, by the shortest way."""
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    assert curves is not None
    rate = scene.render.fps / scene.render.fps_base
    for name, times, values in kind.read(path):
        pairs = np.empty((len(times), 2), dtype=np.float32)
        pairs[:, 0], pairs[:, 1] = scene.frame_start + times * rate, values
        curve = curves.new(f'pose.bones["{name}"].rotation_euler', index=2)
        curve.keyframe_points.add(len(times))
        curve.keyframe_points.foreach_set("co", pairs.ravel())
        curve.keyframe_points.foreach_set("interpolation", np.full(len(times), LINEAR, dtype=np.int32))
        curve.update()


def curves_of(rig: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The curves that an armature's Action has for it."""
    return list(compat.action_curves(rig, rig.animation_data.action, create=False) or ())
