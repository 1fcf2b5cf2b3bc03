"""Helpers for tests of the drive: keyframes that switch it."""

from __future__ import annotations

from typing import Any

from tests.support.mechanisms import (
    curves_of,
)


def key_drive(rig: Any, *switches: tuple[int, str]) -> None:
    for frame, drive in switches:
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    for curve in curves_of(rig.data):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
