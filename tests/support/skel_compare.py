"""Helpers for tests of SKEL: our reading compared with DART's own (``skel_dart.py``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import initial_joint_values, spanning_tree
from addon.core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, Shape
from tests.support.references import CORPUS, DARTPY, NO_DARTPY, answered

FILES = sorted(path for path in (CORPUS / "skel").rglob("*.skel") if "not_skel" not in path.parts)
FORKS = hasattr(os, "fork")  # skel_dart.py reads each file in a process of its own
needs_dart = pytest.mark.skipif(not (DARTPY and FORKS), reason=NO_DARTPY if FORKS else "this system has no fork")
needs_files = pytest.mark.skipif(not FILES, reason=f"real SKEL files are not here: {CORPUS / 'skel'}")

_DART_TYPES = {
    "box": "BoxShape",
    "sphere": "SphereShape",
    "ellipsoid": "EllipsoidShape",
    "cylinder": "CylinderShape",
    "capsule": "CapsuleShape",
    "cone": "ConeShape",
    "pyramid": "PyramidShape",
    "plane": "PlaneShape",
    "multi_sphere": "MultiSphereConvexHullShape",
    "mesh": "MeshShape",
}


def dart_of(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """What DART makes of files, one object per file."""
    asked = {str(path): str(path) for path in paths}
    content = {name: read_by_dart(Path(name)) for name in asked}
    found = answered(DARTPY, Path(__file__).with_name("skel_dart.py"), asked, content)
    return [found[name] for name in asked]


def read_by_dart(path: Path) -> bytes:
    """What is in a file and in the meshes that it names, which are beside it."""
    text = path.read_bytes()
    named = {name.decode(errors="replace") for name in re.findall(rb"<file_name>\s*(.*?)\s*</file_name>", text)}
    meshes = {name: mesh for name in named if (mesh := path.parent / name).is_file()}
    return b"\0".join([text, *(name.encode() + b"\0" + meshes[name].read_bytes() for name in sorted(meshes))])


def numbers(value: Any) -> Array:
    """An array as ``skel_dart`` writes it."""
    return np.array(value, dtype=np.float64)


def same_as_dart(mechanism: Mechanism, dart: dict[str, Any], left_out: Sequence[str] = ()) -> list[str]:
    """Bodies that only one of DART and us has. All else must be the same: poses where joints begin and at three
    random sets of coordinates, masses, limits, springs, shapes.
    ``left_out`` may name ``shapes``."""
    assert dart["skeletons"] is not None, dart.get("error")
    index = {body.id: number for number, body in enumerate(mechanism.bodies)}
    seen = {f"{skeleton['name']}/{body['name']}" for skeleton in dart["skeletons"] for body in skeleton["bodies"]}
    tree = spanning_tree(mechanism)
    carried = {link.body: link.joint for link in tree.links}
    assert not any(link.is_reversed for link in tree.links)
    for number in range(4):
        given, roots = _coordinates(dart, number, carried, {root.id: root.pose for root in tree.roots})
        if number == 0:
            mine = initial_joint_values(mechanism)
            for joint, value in given.items():
                assert np.abs(mine[joint] - value).max(initial=0.0) < 1e-12, joint
        poses = tree.forward(given, 1, np.array([roots[root.id] for root in tree.roots]).reshape(-1, 4, 4))[0]
        for skeleton in dart["skeletons"]:
            for body, pose in zip(skeleton["bodies"], skeleton["poses"][number], strict=True):
                id_ = f"{skeleton['name']}/{body['name']}"
                if id_ in index:
                    _near("pose", float(np.abs(poses[index[id_]] - numbers(pose)).max()), 1e-9, id_)
    for skeleton in dart["skeletons"]:
        for theirs in skeleton["bodies"]:
            id_ = f"{skeleton['name']}/{theirs['name']}"
            if id_ not in index:
                continue
            ours = mechanism.bodies[index[id_]]
            _same_body(ours, theirs)
            if id_ in carried:
                _same_dofs(carried[id_], theirs["joint"]["dofs"])
            if "shapes" not in left_out:
                _same_shapes(ours, theirs["shapes"])
    if dart["world"] is not None:
        assert np.allclose(mechanism.world.gravity, numbers(dart["world"]["gravity"]), rtol=1e-12, atol=0)
        assert mechanism.world.time_step == pytest.approx(dart["world"]["time_step"], rel=1e-12)
    return sorted(seen ^ index.keys())


def coordinates_of(joint: Joint) -> list[Dof]:
    """One record per coordinate of a joint."""
    return [single for dof in joint.dofs for single in (dof.parts or [dof] * DOF_SIZE[dof.kind])]


def _coordinates(
    dart: dict[str, Any], number: int, carried: dict[str, Joint], roots: dict[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """DART's coordinates as ours: of joints, and of the free joint that it invents for a root as the root's pose."""
    given: dict[str, Array] = {}
    for skeleton in dart["skeletons"]:
        for body, value in zip(skeleton["bodies"], skeleton["coordinates"][number], strict=True):
            id_ = f"{skeleton['name']}/{body['name']}"
            if id_ in carried:
                given[carried[id_].id] = numbers(value)[None]
            elif id_ in roots and len(value) == 6:
                vector, place = numbers(value[:3]), numbers(value[3:])
                motion = np.eye(4)
                motion[:3, :3], motion[:3, 3] = turn(vector), place
                roots[id_] = roots[id_] @ motion
    return given, roots


def turn(vector: Array) -> Array:
    """Rodrigues' rotation, written here so that it is not ours that is compared with."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def _near(what: str, error: float, most: float, where: str) -> None:
    assert error <= most, f"{what} of {where} differs by {error:.3g}"


def _same_body(ours: Body, theirs: dict[str, Any]) -> None:
    _near("mass", abs(ours.mass - theirs["mass"]) / max(abs(theirs["mass"]), 1e-300), 1e-9, ours.id)
    com = numbers(theirs["com"])
    _near("com", float(np.abs(ours.com - com).max()) / max(float(np.abs(com).max()), 1.0), 1e-9, ours.id)
    assert ours.gravity == theirs["gravity"], ours.id
    if ours.inertia is not None:
        moment = numbers(theirs["moment"])
        size = max(float(np.abs(moment).max()), 1e-300)
        _near("moment", float(np.abs(ours.inertia - moment).max()) / size, 1e-9, ours.id)


def _same_dofs(joint: Joint, theirs: list[dict[str, Any]]) -> None:
    singles = coordinates_of(joint)
    assert len(singles) == len(theirs), joint.id
    for ours, dart in zip(singles, theirs, strict=True):
        mine = {
            "lower": -np.inf if ours.lower is None else ours.lower,
            "upper": np.inf if ours.upper is None else ours.upper,
            "damping": ours.damping,
            "friction": ours.friction,
            "rest": ours.rest,
            "stiffness": ours.stiffness,
        }
        for name, value in mine.items():
            assert value == pytest.approx(float(dart[name]), rel=1e-12), (joint.id, name)
        if len(joint.dofs) == len(singles) and not dart["name"].startswith("default"):  # a slip of DART's, for planes
            assert ours.name == dart["name"]


def _same_shapes(body: Body, theirs: list[dict[str, Any]]) -> None:
    # DART lists what is seen first, then what collides; soft meshes apart
    mine = [shape for shape in body.shapes if not shape.soft and shape.type != "none"]
    mine = [shape for shape in mine if shape.visual] + [shape for shape in mine if not shape.visual]
    others = [shape for shape in theirs if shape["type"] not in (None, "SoftMeshShape")]
    others = [shape for shape in others if shape["visual"]] + [shape for shape in others if not shape["visual"]]
    assert len(mine) == len(others), body.id
    for ours, dart in zip(mine, others, strict=True):
        _same_shape(ours, dart, body.id)


def _same_shape(ours: Shape, dart: dict[str, Any], where: str) -> None:
    assert _DART_TYPES[ours.type] == dart["type"], where
    assert (ours.visual, ours.collision) == (dart["visual"], dart["collision"]), where
    if ours.visual:
        color = ours.color or (0.5, 0.5, 1.0, 1.0)
        assert np.allclose(color, numbers(dart["color"]), rtol=0, atol=1e-12), where
    if ours.collision:
        assert ours.extra.get("collidable", True) == dart["collidable"], where
    pose, size = numbers(dart["pose"]), dart["size"]
    if ours.type == "plane":
        normal = pose[:3, :3] @ numbers(size["Normal"])
        assert np.allclose(ours.pose[:3, 2], normal, rtol=0, atol=1e-12), where
        away = (ours.pose[:3, 3] - pose[:3, 3]) @ normal
        assert away == pytest.approx(float(size["Offset"]), abs=1e-12), where
        return
    assert np.allclose(ours.pose, pose, rtol=0, atol=1e-12), where
    names = {"Radius": "radius", "Height": "length"}
    for name, key in names.items():
        if name in size and ours.type != "pyramid":
            assert ours.size[key] == pytest.approx(float(size[name]), rel=1e-12), where
    whole = size.get({"box": "Size", "ellipsoid": "Diameters", "mesh": "Scale"}.get(ours.type, ""))
    if whole is not None:
        assert np.allclose([ours.size[axis] for axis in "xyz"], numbers(whole), rtol=1e-12), where
    if ours.type == "multi_sphere":
        assert len(ours.spheres) == size["NumSpheres"], where
