"""A long rope is read, posed and built from every format: nothing in the way recurses link by link."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import spanning_tree
from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape

pytestmark = pytest.mark.slow

#: So many functions may call each other here; Python otherwise lets a thousand, and shorter ropes show the same.
DEEPEST = 500
#: Of SKEL, models of two thousand links are promised.
LINKS = {"juice": 600, "skel": 2000, "x_xy": 600, "shift": 600}
EXTENSIONS = {"juice": ".jm", "skel": ".skel", "x_xy": ".xml", "shift": ".json"}


def rope(links: int) -> Mechanism:
    """Boxes in a row along x, a unit long, each with a hinge along z where it meets the one before."""
    out = Mechanism("rope")
    for number in range(links):
        pose = np.eye(4)
        pose[0, 3] = number
        shape = Shape("box", {"x": 1.0, "y": 0.1, "z": 0.1})
        out.bodies.append(Body(f"b{number}", f"link {number}", pose, shapes=[shape]))
    for number in range(1, links):
        joint = Joint(f"j{number}", f"hinge {number}", "revolute", f"b{number - 1}", f"b{number}")
        joint.dofs = [Dof("rotation")]
        joint.frame_parent[0, 3], joint.frame_child[0, 3] = 0.5, -0.5
        out.joints.append(joint)
    return out


@pytest.fixture(autouse=True)
def shallow() -> Iterator[None]:
    was = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    yield
    sys.setrecursionlimit(was)


@pytest.fixture(scope="module", params=EXTENSIONS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rope in a file of each format."""
    path = tmp_path_factory.mktemp("rope") / f"rope{EXTENSIONS[request.param]}"
    formats.save(rope(LINKS[request.param]), path, request.param)
    return path


@pytest.fixture(scope="module")
def mechanism(path: Path) -> Mechanism:
    """What is read of it; no test leaves it changed."""
    was = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    try:
        return formats.load(path)
    finally:
        sys.setrecursionlimit(was)


def arc(step: float, links: int) -> Array:
    """Where the middles of the links are (n, 3) when every hinge turns by ``step`` radians."""
    angles = np.arange(links) * step
    along = np.stack([np.cos(angles), np.sin(angles), np.zeros(links)], axis=1)
    halves = 0.5 * (along[:-1] + along[1:])
    return np.concatenate([np.zeros((1, 3)), np.cumsum(halves, axis=0)])


def test_a_rope_is_read_and_holds_together(mechanism: Mechanism) -> None:
    links = LINKS[mechanism.source.format]
    assert [body.name for body in mechanism.bodies] == [f"link {number}" for number in range(links)]
    tree = spanning_tree(mechanism, [mechanism.bodies[0].id])
    poses = tree.forward({joint.id: np.array([0.002]) for joint in mechanism.joints})[0]
    assert np.abs(poses[:, :3, 3] - arc(0.002, links)).max() < 1e-9


def test_a_rope_is_saved_again(mechanism: Mechanism, path: Path) -> None:
    assert formats.dumps(mechanism)[0] == mechanism.source.text
    middle = mechanism.bodies[len(mechanism.bodies) // 2]
    was, middle.mass = middle.mass, 2.0
    again = formats.loads(formats.dumps(mechanism)[0].encode(), str(path))
    middle.mass = was
    assert [body.mass for body in again.bodies].count(2.0) == 1


def test_a_rope_is_built(mechanism: Mechanism, blank: Any) -> None:
    from addon.blender.reconcile.build import build

    links = LINKS[mechanism.source.format]
    collection = build(mechanism)
    bodies = [it for it in collection.all_objects if it.knuckle.role == "BODY"]
    (rig,) = [it for it in collection.all_objects if it.type == "ARMATURE"]
    assert len(bodies) == links
    assert len(rig.data.bones) >= links - 1
    last = next(it for it in bodies if it.knuckle.source_name == f"link {links - 1}")
    assert np.abs(np.array(last.matrix_world.translation) - [links - 1, 0, 0]).max() < 0.5  # Blender's 32-bit floats
