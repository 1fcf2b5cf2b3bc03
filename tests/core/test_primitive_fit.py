"""Primitives told from their meshes: made from the analytic surface, turned and moved at random, and told again; and
mass in meshes against the formulas of solids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.mass_properties import shape_volume, unit_inertia
from addon.core.model import Shape
from addon.core.primitive_fit import fit_primitive, mesh_mass_properties
from tests.support.mirror_helpers import some_pose

RINGS = 24


def ring(radius: float, z: float, count: int = RINGS) -> np.ndarray:
    angles = np.arange(count) * 2 * math.pi / count
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(count, z)])


def surface(kind: str, size: dict[str, float]) -> np.ndarray:
    """Points on a primitive's surface, as a modelling program lays them."""
    if kind == "box":
        half = np.array([size["x"], size["y"], size["z"]]) / 2
        return np.array(np.meshgrid(*[(-h, h) for h in half])).reshape(3, -1).T
    if kind in {"sphere", "ellipsoid"}:
        balls = [ring(math.sin(t), math.cos(t)) for t in np.linspace(0, math.pi, 13)[1:-1]]
        unit = np.vstack([*balls, [[0, 0, 1], [0, 0, -1]]])
        return unit * (size["radius"] if kind == "sphere" else np.array([size["x"], size["y"], size["z"]]) / 2)
    length, radius = size["length"], size["radius"]
    if kind == "cylinder":
        return np.vstack([ring(radius, -length / 2), ring(radius, length / 2), [[0, 0, length / 2]]])
    if kind == "cone":
        return np.vstack([ring(radius, -length / 2), [[0, 0, length / 2]]])
    caps = [ring(radius * math.cos(t), length / 2 + radius * math.sin(t)) for t in np.linspace(0, math.pi / 2, 7)[:-1]]
    upper = np.vstack([*caps, [[0, 0, length / 2 + radius]]])
    return np.vstack([upper, upper * [1, 1, -1]])


def faces(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outward triangles of the convex hull of few points, by brute force over planes: no library knows our code."""
    middle = points.mean(axis=0)
    out = []
    seen = set()
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            cross = np.cross(points[j] - points[i], points - points[i])
            for k in range(j + 1, len(points)):
                normal = cross[k]
                length = np.linalg.norm(normal)
                if length < 1e-9:
                    continue
                normal = normal / length
                heights = (points - points[i]) @ normal
                if heights.max() > 1e-9 and heights.min() < -1e-9:
                    continue
                on = frozenset(np.flatnonzero(np.abs(heights) < 1e-9).tolist())
                if on in seen:
                    continue
                seen.add(on)
                if normal @ (points[i] - middle) < 0:
                    normal = -normal
                rows = sorted(on)
                center = points[rows].mean(axis=0)
                x = points[rows[0]] - center
                x /= np.linalg.norm(x)
                y = np.cross(normal, x)
                rows.sort(key=lambda n: math.atan2((points[n] - center) @ y, (points[n] - center) @ x))  # noqa: B023
                out += [(rows[0], rows[n], rows[n + 1]) for n in range(1, len(rows) - 1)]
    triangles = np.array(out)
    a, b, c = (points[triangles[:, n]] for n in range(3))
    cross = np.cross(b - a, c - a)
    areas = np.linalg.norm(cross, axis=1) / 2
    return triangles, cross / (2 * areas[:, None]), areas


lengths = st.floats(0.1, 10.0)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["box", "sphere", "ellipsoid", "cylinder", "cone", "capsule"]),
    st.tuples(lengths, lengths, lengths),
    st.integers(0, 10**6),
)
def test_primitives_are_recognized_at_any_pose(kind: str, numbers: tuple[float, float, float], seed: int) -> None:
    a, b, c = numbers
    if kind == "ellipsoid" and min(abs(a - b), abs(b - c), abs(a - c)) < 0.1 * max(numbers):
        return  # nearly round: its axes are anybody's guess
    size = {
        "box": {"x": a, "y": b, "z": c},
        "ellipsoid": {"x": a, "y": b, "z": c},
        "sphere": {"radius": a},
    }.get(kind, {"length": a, "radius": b})
    if max(size.values()) > 8 * min(size.values()):
        return
    local = surface(kind, size)
    pose = some_pose(np.random.default_rng(seed))
    points = local @ pose[:3, :3].T + pose[:3, 3]
    axis, planes = pose[:3, 2], np.zeros((0, 3))
    if kind == "box":
        planes = pose[:3, :3].T
    elif kind in {"cylinder", "cone"}:
        planes = axis[None]
    found = fit_primitive(points, planes, np.ones(len(planes)))
    assert found is not None
    assert found.type == kind
    if kind in {"box", "ellipsoid"}:
        assert sorted(found.size.values()) == pytest.approx(sorted(size.values()), rel=1e-3)
    else:
        assert found.size == pytest.approx(size, rel=1e-3)
    assert np.linalg.det(found.pose[:3, :3]) == pytest.approx(1.0)
    # the surface that was told is the surface that was given
    again = surface(kind, found.size) @ found.pose[:3, :3].T + found.pose[:3, 3]
    low, high = points.min(axis=0), points.max(axis=0)
    slack = 0.03 * float(np.linalg.norm(high - low))  # its corners may be turned about its own axis
    assert np.abs(again.min(axis=0) - low).max() < slack and np.abs(again.max(axis=0) - high).max() < slack
    if kind == "cone":
        assert found.pose[:3, 2] == pytest.approx(axis, abs=1e-3), "its tip is where it was"


def test_other_meshes_are_no_primitives() -> None:
    rng = np.random.default_rng(1)
    assert fit_primitive(rng.normal(size=(40, 3)), np.zeros((0, 3)), np.zeros(0)) is None
    box = surface("box", {"x": 1.0, "y": 2.0, "z": 3.0})
    assert fit_primitive(np.vstack([box, [[0.1, 0.2, 0.3]]]), np.zeros((0, 3)), np.zeros(0)) is None, "a point inside"
    assert fit_primitive(box[:-1], np.zeros((0, 3)), np.zeros(0)) is None, "a corner is missing"
    prism = np.vstack([ring(1.0, 0.0, 6), ring(1.0, 2.0, 6)])
    assert fit_primitive(prism, np.array([[0.0, 0.0, 1.0]]), np.ones(1)) is None, "six sides are no circle"
    assert fit_primitive(np.zeros((3, 3)), np.zeros((0, 3)), np.zeros(0)) is None


@pytest.mark.parametrize(
    "shape",
    [
        Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}),
        Shape("cone", {"length": 1.0, "radius": 0.7}),
        Shape("cylinder", {"length": 1.5, "radius": 0.4}),
    ],
    ids=lambda shape: shape.type,
)
def test_mass_in_a_mesh_is_that_of_the_solid(shape: Shape) -> None:
    pose = some_pose(np.random.default_rng(7))
    local = surface(shape.type, shape.size)
    if shape.type == "cylinder":
        local = local[:-1]  # the middle of its cap
    triangles, _normals, _areas = faces(local)
    points = local @ pose[:3, :3].T + pose[:3, 3]
    volume, centre, tensor = mesh_mass_properties(points, triangles)
    rough = 1e-9 if shape.type == "box" else 0.03  # 24 corners for a circle
    assert volume == pytest.approx(shape_volume(shape), rel=rough)
    down = -shape.size["length"] / 4 if shape.type == "cone" else 0.0
    assert centre == pytest.approx(pose[:3, :3] @ [0, 0, down] + pose[:3, 3], abs=1e-6)
    own = pose[:3, :3].T @ tensor @ pose[:3, :3]
    expected = shape_volume(shape) * unit_inertia(shape)
    assert own == pytest.approx(expected, abs=0.05 * np.abs(expected).max() if rough > 1e-6 else 1e-9)
    inside_out = mesh_mass_properties(points, triangles[:, ::-1])
    assert inside_out[0] == pytest.approx(volume) and inside_out[2] == pytest.approx(tensor)
