"""Bodies that are flattened: scaled to zero along an axis, or along all. Physics runs and servos start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from addon.core.transforms import restore_zero_axes
from tests.support.scenes import OWN, imported, pick

_MODELS = sorted(path.name for ending in ("jm", "skel", "json", "xml") for path in OWN.rglob(f"*.{ending}"))
_SCALES = [(0, 1, 1), (0, 0, 1), (0, 0, 0)]


@pytest.mark.parametrize(
    ("drive", "scale"),
    [("SERVO", (1, 1, 0)), *(pytest.param("SERVO", scale, marks=pytest.mark.slow) for scale in _SCALES)]
    + [pytest.param("LIMP", (1, 1, 0), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", _MODELS)
def test_handlers_accept_bodies_scaled_to_zero(
    blank: Any, capfd: Any, name: str, scale: tuple[int, ...], drive: str
) -> None:
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.physics.simulation import session

    rig = imported(name)
    bodies = parts(rig, "BODY")
    for obj in bodies[:: max(1, len(bodies) // 3)]:
        obj.scale = scale
    pick(rig)
    assert bpy.ops.knuckle.set_drive(drive=drive) == {"FINISHED"}
    for frame in range(1, 5):
        bpy.context.scene.frame_set(frame)
    controlled = session.session_of(bpy.context.scene).controller_of(rig)
    assert controlled is not None and controlled.commanded_frame == 4, "its servos are controlled"
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    heard = capfd.readouterr()
    assert "Traceback" not in heard.err + heard.out


def test_flat_axes_are_filled_in_as_a_rotation_has_them() -> None:
    rng = np.random.default_rng(7)
    for flat in ([0], [1], [2], [0, 1], [1, 2]):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turn *= np.linalg.det(turn)
        pose = np.eye(4)
        pose[:3, :3] = turn * [2.0, 3.0, 0.5]
        pose[:3, flat] = 0.0
        out = restore_zero_axes(pose[None])[0]
        kept = [axis for axis in range(3) if axis not in flat]
        assert (out[:3, kept] == pose[:3, kept]).all()
        axes = out[:3, :3] / np.linalg.norm(out[:3, :3], axis=0)
        assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1.0)
    assert restore_zero_axes(np.zeros((2, 4, 4)))[:, :3, :3] == pytest.approx(np.array([np.eye(3)] * 2))
    straight = np.eye(4)[None]
    assert restore_zero_axes(straight) is straight


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_poses_that_are_no_numbers_stay_so(number: float) -> None:
    """Also beside flat ones, and where an axis of their own is flat."""
    poses = np.array([np.diag([1.0, 1.0, 0.0, 1.0])] * 3)
    poses[0, :3, :3], poses[1, 0, 0] = number, number
    out = restore_zero_axes(poses)
    assert (out[:2] == poses[:2]).all() or np.isnan(number)
    assert not np.isfinite(out[0, :3, :3]).any()
    assert not np.isfinite(out[1, 0, 0])
    assert out[2] == pytest.approx(np.eye(4))
