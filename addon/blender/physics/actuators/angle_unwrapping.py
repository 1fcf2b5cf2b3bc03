"""Whole turns: a hinge that begins at 4 rad does so, and not at -2.28, which is all that two poses can tell."""

from __future__ import annotations

import math

import bpy
import numpy as np
from numpy.typing import NDArray

from ....core.model import DOF_SIZE, Array
from ...data.access import record_of
from ...data.channels import Channel, servo_channels
from ...data.conversion import start_of
from .joint_state import Plant, Undriven

_TURN = 2.0 * math.pi


def posed(plant: Plant) -> Array:
    """The coordinates (n,) that the bones of the plant's joints have now; of joints without bones, those of their
    records."""
    channels = servo_channels(plant.rig)
    return np.array(
        [
            _value(plant.rig, channels[joint][0]) if joint in channels else start_of(record_of(empty).joint.dofs[0])[0]
            for joint, empty in zip(plant.joints, plant.empties, strict=True)
        ],
        dtype=np.float64,
    )


def several_posed(plant: Plant) -> dict[str, Array]:
    """Return the coordinates (size,) that bones have now of the joints of several degrees, by their ids; 0 for what no
    one channel has."""
    channels = servo_channels(plant.rig)
    return {
        item.joint.id: np.array([_value(plant.rig, channel) for channel in channels[item.joint.id]])
        for item in plant.undriven
        if item.joint.id in channels
    }


def as_begun(plant: Plant, turned: Array) -> dict[str, Array]:
    """Return the coordinates (size,) of all joints, by their ids, of which those of one degree are at ``turned``
    (n,)."""
    return several_posed(plant) | {joint: np.array([value]) for joint, value in zip(plant.joints, turned, strict=True)}


def begun_at(joint: Undriven, poses: Array, about: Array | None) -> Array:
    """A joint's coordinates (size,) of poses (bodies + 1, 4, 4), turns the nearest to others (size,), if any."""
    values = joint.now(poses)
    if about is None or len(about) != len(values):
        return values
    kinds = [dof.kind for dof in joint.joint.dofs for _ in range(DOF_SIZE[dof.kind])]
    return with_turns(values, about, np.array(kinds) == "rotation")


def _value(rig: bpy.types.Object, channel: Channel) -> float:
    if not channel.is_single:
        return 0.0
    value: float = getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index]
    return value


def with_turns(measured: Array, about: Array, turns: NDArray[np.bool_]) -> Array:
    """Measured coordinates with the whole turns that bring those that are angles (``turns``) nearest to ``about``."""
    whole = np.round((about - measured) / _TURN)
    return measured + _TURN * np.where(turns & np.isfinite(whole), whole, 0.0)
