"""Marks as numbers: dials and bars show the values that they are given, and what is dragged comes back from a ray."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import joint_motion
from addon.core.model import Dof, Joint
from addon.core.overlay_geometry import (
    RANGE_COLOR,
    VIOLATION_COLOR,
    DofGlyphs,
    OverlayDrawing,
    VertexBuffer,
    clamp_to_other_stop,
    draw_axes,
    draw_centers_of_mass,
    draw_stops,
    draw_twins,
    format_dof_value,
    frames_in_world,
    inertia_box,
    measure_axis_values,
    perpendicular,
    snap_increment,
    value_at_ray,
)
from addon.core.transforms import rotation_matrix

NAN = math.nan


def degrees(
    turns: bool, value: float, lower: float = NAN, upper: float = NAN, seed: int = 0, scale: float = 1.0
) -> Any:
    rng = np.random.default_rng(seed)
    turn = rotation_matrix(rng.normal(size=3))
    one = lambda x: np.array([x])  # noqa: E731
    return DofGlyphs(one(rng.normal(size=3)), one(turn[:, 2]), one(turn[:, 0]), one(0.4), one(turns), one(scale),
                   one(value), one(lower), one(upper))  # fmt: skip


def drawn(degree: DofGlyphs) -> OverlayDrawing:
    drawing = OverlayDrawing()
    draw_stops(drawing, degree)
    return drawing


def in_colour(strokes: VertexBuffer, colour: tuple[float, ...]) -> Any:
    points, colours = strokes.arrays()
    return points[np.abs(colours[:, :3] - colour[:3]).max(axis=1) < 1e-6]


def angles(degree: DofGlyphs, points: Any) -> Any:
    """The angles at which points stand about the axis, those on it left out."""
    away = points - degree.origin[0]
    away = away[np.linalg.norm(away, axis=1) > 1e-3]
    return np.arctan2(away @ np.cross(degree.axis[0], degree.zero[0]), away @ degree.zero[0])


def test_a_dial_goes_from_stop_to_stop() -> None:
    degree = degrees(True, 0.2, -0.5, 1.1)
    rim = in_colour(drawn(degree).bold, RANGE_COLOR)
    assert angles(degree, rim).min() == pytest.approx(-0.5, abs=1e-5)
    assert angles(degree, rim).max() == pytest.approx(1.1, abs=1e-5)
    assert np.abs((rim - degree.origin[0]) @ degree.axis[0]).max() < 1e-6  # all of it in the plane that it turns in
    hand = in_colour(drawn(degree).bold, (1.0, 1.0, 1.0))
    assert angles(degree, hand) == pytest.approx([0.2], abs=1e-5)
    assert not len(in_colour(drawn(degree).bold, VIOLATION_COLOR))


@pytest.mark.parametrize(("value", "beyond"), [(1.4, 0.3), (-0.9, -0.4), (1.1, 0.0), (1.10001, 0.0)])
def test_a_value_past_a_stop_is_red(value: float, beyond: float) -> None:
    degree = degrees(True, value, -0.5, 1.1)
    assert degree.outside == pytest.approx([beyond], abs=1e-9)
    red = angles(degree, in_colour(drawn(degree).faces, VIOLATION_COLOR))
    assert (len(red) > 0) == (beyond != 0.0)
    if beyond:
        assert sorted((red.min(), red.max())) == pytest.approx(sorted((value, value - beyond)), abs=1e-5)


def test_a_bar_goes_from_stop_to_stop() -> None:
    degree = degrees(False, 0.3, -0.2, 0.5, scale=2.0)
    drawing = drawn(degree)
    along = (in_colour(drawing.bold, RANGE_COLOR) - degree.origin[0]) @ degree.axis[0]
    assert (along.min(), along.max()) == pytest.approx((-0.4, 1.0), abs=1e-6)
    sign = drawing.solids.arrays()[0].mean(axis=0) - degree.origin[0]
    assert sign == pytest.approx(degree.axis[0] * 0.6, abs=1e-6)
    assert len(in_colour(drawn(degrees(False, 0.7, -0.2, 0.5)).solids, VIOLATION_COLOR))


def test_a_single_stop_is_drawn_and_none_is_not() -> None:
    for lower, upper in ((-0.5, NAN), (NAN, 1.1)):
        degree = degrees(True, 0.0, lower, upper)
        points, _ = drawn(degree).bold.arrays()
        assert np.isfinite(points).all()
        ticks = np.abs(angles(degree, points) - np.nanmax([lower, upper]))
        assert ticks.min() < 1e-5
        assert degree.outside == [0.0]
    assert not len(drawn(degrees(True, 0.0)).bold.arrays()[0])


def test_stops_the_wrong_way_round_are_red() -> None:
    assert len(in_colour(drawn(degrees(True, 0.0, 0.5, -0.5)).bold, VIOLATION_COLOR))
    assert not len(in_colour(drawn(degrees(True, 0.0, 0.5, -0.5)).bold, RANGE_COLOR))


def test_an_unknown_value_has_no_hand() -> None:
    points, _ = drawn(degrees(True, NAN, -0.5, 1.1)).bold.arrays()
    assert np.isfinite(points).all()
    assert not len(in_colour(drawn(degrees(True, NAN, -0.5, 1.1)).bold, (1.0, 1.0, 1.0)))


def test_arrows_point_the_way_of_the_axis() -> None:
    degree, drawing = degrees(True, 0.0), OverlayDrawing()
    draw_axes(drawing, degree)
    points, _ = drawing.fine.arrays()
    along = (points - degree.origin[0]) @ degree.axis[0]
    assert along[1] == pytest.approx(0.36)
    assert along[[3, 5]] == pytest.approx([0.27, 0.27])  # the head's barbs lie behind its tip


def test_signs_of_centres_of_mass_show_their_outside() -> None:
    drawing = OverlayDrawing()
    draw_centers_of_mass(drawing, np.array([[1.0, 2.0, 3.0]]), np.array([0.5]))
    points, _ = drawing.solids.arrays()
    faces = points.reshape(-1, 3, 3) - (1.0, 2.0, 3.0)
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    assert len(faces) == 8
    assert (np.einsum("ni,ni->n", normals, faces.mean(axis=1)) > 0.0).all()


def test_the_line_between_twins_is_broken_and_reaches_both() -> None:
    drawing = OverlayDrawing()
    draw_twins(drawing, np.array([[0.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]]))
    points, _ = drawing.fine.arrays()
    dashes = points[:, 0].reshape(-1, 2)
    assert (dashes.min(), dashes.max()) == pytest.approx((0.0, 1.0))
    assert 0.4 < (dashes[:, 1] - dashes[:, 0]).sum() < 0.6


def test_the_box_of_inertia_of_a_box_is_that_box() -> None:
    edges, turn = np.array([0.3, 0.5, 0.9]), rotation_matrix(np.array([0.3, -0.7, 0.2]))
    tensor = turn @ np.diag([(edges**2).sum() - x**2 for x in edges]) @ turn.T / 12.0
    axes, found = inertia_box(tensor)
    assert np.sort(found) == pytest.approx(edges)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    again = axes @ np.diag([(found**2).sum() - x**2 for x in found]) @ axes.T / 12.0
    assert again == pytest.approx(tensor)
    assert inertia_box(np.zeros((3, 3)))[1] == pytest.approx(0.0)


def test_coordinates_are_measured_on_motions() -> None:
    rng = np.random.default_rng(3)
    axis = perpendicular(rng.normal(size=(40, 3)))
    turns = rng.random(40) < 0.5
    value = rng.uniform(-3.0, 3.0, 40)
    motion = np.concatenate(
        [
            joint_motion(Joint("", "", "", None, None, dofs=[Dof("rotation" if t else "translation", a)]), v[None])
            for t, a, v in zip(turns, axis, value, strict=True)
        ]
    )
    assert measure_axis_values(motion, axis, turns) == pytest.approx(value)


def test_frames_go_with_their_bodies() -> None:
    """A frame of the design keeps its place on a body that moved, also in a model that is twice as large."""
    rng = np.random.default_rng(4)
    basis, frame, carry = (np.eye(4)[None].repeat(5, axis=0) for _ in range(3))
    for poses in (basis, frame, carry):
        poses[:, :3, :3], poses[:, :3, 3] = rotation_matrix(rng.normal(size=(5, 3))), rng.normal(size=(5, 3))
    assert frames_in_world(carry @ basis, basis, frame, 1.0) == pytest.approx(carry @ frame)
    large = np.diag([2.0, 2.0, 2.0, 1.0]) @ carry
    wanted = large @ frame
    wanted[:, :3, :3] /= 2.0
    assert frames_in_world(large @ basis, basis, frame, 2.0) == pytest.approx(wanted)


@pytest.mark.parametrize("turns", [True, False])
def test_a_ray_through_a_handle_gives_its_value(turns: bool) -> None:
    rng = np.random.default_rng(5)
    for seed in range(50):
        degree = degrees(turns, 0.0, seed=seed, scale=1.0 if turns else 3.0)
        wanted = rng.uniform(-7.0, 7.0) if turns else rng.uniform(-1.0, 1.0)
        place = degree.at(np.array([wanted]), 1.12)[0]
        eye = place + 5.0 * rng.normal(size=3)
        if abs((place - eye) @ degree.axis[0]) < 0.2 * np.linalg.norm(place - eye):
            continue  # edge on
        near = wanted + rng.uniform(-2.5, 2.5) * turns
        assert value_at_ray(degree, eye, place - eye, near) == pytest.approx(wanted, abs=1e-6)


def test_a_dial_seen_from_its_edge_is_dragged_along_its_rim() -> None:
    degree = degrees(True, 0.0)
    rim = degree.at(np.array([0.6]))[0]
    tangent = np.cross(degree.axis[0], rim - degree.origin[0]) / 0.4
    eye = rim + 3.0 * (rim - degree.origin[0])
    assert value_at_ray(degree, eye, rim + 0.04 * tangent - eye, 0.6) == pytest.approx(0.7, abs=1e-6)


def test_a_translation_seen_along_its_axis_stays() -> None:
    degree = degrees(False, 0.0)
    assert value_at_ray(degree, degree.origin[0] - degree.axis[0], degree.axis[0], 0.25) == 0.25


def test_stops_snap_and_do_not_pass_each_other() -> None:
    assert snap_increment(degrees(True, 0.0)) == pytest.approx(math.radians(5.0))
    assert snap_increment(degrees(True, 0.0), fine=True) == pytest.approx(math.radians(1.0))
    assert snap_increment(degrees(False, 0.0)) == pytest.approx(0.1)  # of a dial of 0.4
    assert snap_increment(degrees(False, 0.0, scale=10.0), fine=True) == pytest.approx(0.001)
    assert clamp_to_other_stop(0.4, 0.3, is_upper=False) == 0.3
    assert clamp_to_other_stop(0.2, 0.3, is_upper=True) == 0.3
    assert clamp_to_other_stop(0.2, None, is_upper=True) == 0.2
    assert format_dof_value(math.radians(32.04), True) == "32.0°"
    assert format_dof_value(0.12346, False) == "0.1235"
