"""Inertia of solids against sums over a fine grid of points that knows only which points are inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from addon.core.mass_properties import body_inertia, inertia_of_shapes, parallel_axis, shape_centroid, shape_volume
from addon.core.model import Body, Shape
from addon.core.transforms import rotation_matrix

Inside = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

SOLIDS: dict[str, tuple[dict[str, float], Inside]] = {
    "box": ({"x": 1.0, "y": 2.0, "z": 0.5}, lambda x, y, z: (abs(x) < 0.5) & (abs(y) < 1) & (abs(z) < 0.25)),
    "sphere": ({"radius": 0.7}, lambda x, y, z: x**2 + y**2 + z**2 < 0.49),
    "ellipsoid": (
        {"x": 1.0, "y": 2.0, "z": 0.6},
        lambda x, y, z: (x / 0.5) ** 2 + y**2 + (z / 0.3) ** 2 < 1,
    ),
    "cylinder": ({"radius": 0.4, "length": 1.8}, lambda x, y, z: (x**2 + y**2 < 0.16) & (abs(z) < 0.9)),
    "capsule": (
        {"radius": 0.4, "length": 1.1},
        lambda x, y, z: x**2 + y**2 + np.maximum(abs(z) - 0.55, 0) ** 2 < 0.16,
    ),
    # the tip up, the frame at half the height
    "cone": ({"radius": 0.9, "length": 1.6}, lambda x, y, z: (abs(z) < 0.8) & (np.hypot(x, y) < 0.9 * (0.8 - z) / 1.6)),
}


def by_points(inside: Callable[[np.ndarray], np.ndarray], low: float = -3, high: float = 3, count: int = 150) -> tuple:
    """Volume, centroid and inertia about it for mass 1, from the points (n, 3) that are inside."""
    line = (np.arange(count) + 0.5) / count * (high - low) + low
    points = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[inside(points)]
    away = points - points.mean(axis=0)
    tensor = np.mean((away**2).sum(axis=1)) * np.eye(3) - away.T @ away / len(away)
    return len(points) * (line[1] - line[0]) ** 3, points.mean(axis=0), tensor


def contains(shape: Shape, points: np.ndarray) -> np.ndarray:
    local = (points - shape.pose[:3, 3]) @ shape.pose[:3, :3]
    return SOLIDS[shape.type][1](*local.T)


def solid(kind: str, at: tuple[float, float, float] = (0, 0, 0), turn: tuple[float, float, float] = (0, 0, 0)) -> Shape:
    shape = Shape(kind, dict(SOLIDS[kind][0]))  # type: ignore[arg-type]
    shape.pose[:3, :3] = rotation_matrix(np.array(turn, dtype=float))
    shape.pose[:3, 3] = at
    return shape


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_solid_is_the_sum_of_its_points(kind: str) -> None:
    shape = solid(kind)
    volume, centre, tensor = by_points(lambda points: contains(shape, points), -1.05, 1.05, 168)  # faces on cells
    assert shape_volume(shape) == pytest.approx(volume, rel=5e-3)
    np.testing.assert_allclose(shape_centroid(shape), centre, atol=2e-3)
    np.testing.assert_allclose(inertia_of_shapes([shape], 1.0), tensor, atol=5e-3 * tensor.max())


def test_turned_shapes_share_the_mass_by_volume() -> None:
    shapes = [
        solid("box", (0.9, -0.7, 0.6), (0.4, 0.9, -0.3)),
        solid("capsule", (-1.0, 0.6, -0.5), (1.2, 0.1, 0.5)),
        solid("cone", (-0.2, -1.0, -1.2), (0.2, -0.7, 2.0)),
    ]
    for shape in shapes:  # they must not overlap, or the points would be counted once only
        others = [other for other in shapes if other is not shape]
        line = np.linspace(-3, 3, 60)
        points = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
        inside = points[contains(shape, points)]
        assert not any(contains(other, inside).any() for other in others)
    _, _, tensor = by_points(
        lambda points: np.any([contains(shape, points) for shape in shapes], axis=0), -2.4, 2.4, 200
    )
    np.testing.assert_allclose(inertia_of_shapes(shapes, 3.0), 3.0 * tensor, atol=1e-2 * tensor.max())


def test_moments_of_inertia_of_solids_are_those_of_textbooks() -> None:
    """Textbook values for mass 12 and 20, where the sums above are only near."""
    np.testing.assert_allclose(inertia_of_shapes([Shape("box", {"x": 1, "y": 2, "z": 3})], 12.0), np.diag([13, 10, 5]))
    np.testing.assert_allclose(inertia_of_shapes([Shape("sphere", {"radius": 2})], 20.0), np.diag([32, 32, 32]))
    rod = Shape("cylinder", {"radius": 2.0, "length": 3.0})
    np.testing.assert_allclose(inertia_of_shapes([rod], 12.0), np.diag([21, 21, 24]))
    # a capsule without a tube is a ball, a very long one a rod
    np.testing.assert_allclose(
        inertia_of_shapes([Shape("capsule", {"radius": 2, "length": 0})], 5.0), np.diag([8, 8, 8])
    )
    long = inertia_of_shapes([Shape("capsule", {"radius": 1e-3, "length": 6})], 1.0)
    assert long[0, 0] == pytest.approx(3.0, rel=2e-3)


def test_the_parallel_axis_theorem() -> None:
    np.testing.assert_allclose(parallel_axis(np.array([0.0, 3.0, 0.0])), np.diag([9, 0, 9]))


def test_a_bodys_own_tensor_wins_then_collision_shapes_then_visuals() -> None:
    box, ball = Shape("box", {"x": 1, "y": 2, "z": 3}, collision=False), Shape("sphere", {"radius": 2})
    body = Body("b", "b", mass=20.0, shapes=[box, ball, Shape("mesh", mesh="x.obj"), Shape("none")])
    np.testing.assert_allclose(body_inertia(body), np.diag([32, 32, 32]))
    body.shapes = [box]
    np.testing.assert_allclose(body_inertia(body), np.diag([13, 10, 5]) * 20 / 12)
    body.inertia = np.diag([1.0, 2.0, 3.0])
    np.testing.assert_allclose(body_inertia(body), np.diag([1, 2, 3]))


@pytest.mark.parametrize(
    "shapes", [[], [Shape("none")], [Shape("mesh", mesh="a.obj")], [Shape("box", {"x": 1, "y": 0, "z": 1})]]
)
def test_without_volume_a_body_is_a_point(shapes: list[Shape]) -> None:
    np.testing.assert_array_equal(body_inertia(Body("b", "b", shapes=shapes)), np.zeros((3, 3)))
