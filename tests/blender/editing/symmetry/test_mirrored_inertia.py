"""The moments of inertia of twins in SKEL files that leave them to be worked out from shapes. What they are to be is
worked out here, from the numbers of the exported text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.queries import parts
from addon.blender.editing.symmetry.twins import unlink_twins
from tests.support.mirror_images_helpers import exported
from tests.support.scenes import body, joint_of, pick, the_rig

#: Two arms whose boxes, masses and centers of mass differ.
ARMS = """<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="s">
<body name="base"><transformation>0 0 0 0 0 0</transformation><inertia><mass>5</mass></inertia>
 <visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape></body>
<body name="arm_L"><transformation>-1 0.5 0 0 0 0</transformation>
 <inertia><mass>2</mass><offset>0.1 0.2 0.3</offset></inertia>
 <visualization_shape><transformation>0 0.1 0 0 0 0</transformation>
 <geometry><box><size>0.2 0.4 0.8</size></box></geometry></visualization_shape></body>
<body name="arm_R"><transformation>1 0.5 0 0 0 0</transformation><inertia><mass>3</mass></inertia>
 <visualization_shape><geometry><box><size>0.3 0.3 0.9</size></box></geometry></visualization_shape></body>
<joint type="free" name="root"><parent>world</parent><child>base</child></joint>
<joint type="weld" name="joint_L"><parent>base</parent><child>arm_L</child></joint>
<joint type="weld" name="joint_R"><parent>base</parent><child>arm_R</child></joint>
</skeleton></world></skel>
"""


def armed(folder: Path) -> Any:
    path = folder / "arms.skel"
    path.write_text(ARMS)
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    rig = the_rig()
    for names in (("arm_L", "arm_R"), ("joint_L", "joint_R")):
        pick(*[obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.name.startswith(names)])
        bpy.ops.knuckle.link_twins()
    return rig


def numbers(element: Any, tag: str, count: int) -> np.ndarray:
    text = element.findtext(tag)
    return np.array([float(x) for x in text.split()]) if text else np.zeros(count)


def moments(path: Path, name: str) -> tuple[float, np.ndarray]:
    """The mass and the tensor about the center of mass of a body of one box: stated, or the box's own and what the way
    from its middle to the center of mass adds."""
    element = next(each for each in ET.parse(path).iter("body") if each.get("name") == name)
    mass, com = float(element.findtext("inertia/mass")), numbers(element, "inertia/offset", 3)
    stated = element.find("inertia/moment_of_inertia")
    if stated is not None:
        xx, yy, zz, xy, xz, yz = (float(stated.findtext(tag)) for tag in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
        return mass, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    shape = element.find("visualization_shape")
    x, y, z = numbers(shape, "geometry/box/size", 3) ** 2
    away = numbers(shape, "transformation", 6)[:3] - com
    own = np.diag([y + z, x + z, x + y]) / 12.0
    return mass, mass * (own + away @ away * np.eye(3) - np.outer(away, away))


@pytest.mark.parametrize("way", ["mirrored", "new", "there and back"])
@pytest.mark.parametrize("edit", ["nothing", "mass", "size", "size after", "mass and size after"])
def test_moments_of_shapes_stay_those_of_the_shapes_on_both_sides(
    blank: Any, tmp_path: Path, way: str, edit: str
) -> None:
    rig = armed(tmp_path)
    left, right = body(rig, "arm_L"), body(rig, "arm_R")
    if way == "new":
        pick(right, joint_of(rig, right))
        bpy.ops.knuckle.delete_parts()
        unlink_twins([left, joint_of(rig, left)])

    def mirrored() -> None:
        pick(left, joint_of(rig, left))
        if way == "new" and not any(obj.name == "arm_R" for obj in parts(rig, "BODY")):
            assert bpy.ops.knuckle.create_twin(plane="X") == {"FINISHED"}
        else:
            assert bpy.ops.knuckle.mirror_to_twin(plane="X") == {"FINISHED"}
        if way == "there and back":
            pick(right, joint_of(rig, right))
            assert bpy.ops.knuckle.mirror_to_twin(plane="X") == {"FINISHED"}

    if "after" in edit:
        mirrored()
    if "mass" in edit:
        left.knuckle.mass = 2.5
    if "size" in edit:
        left.scale = (1.5, 1.2, 0.7)
    bpy.context.view_layer.update()
    mirrored()
    path = exported(rig, tmp_path)
    (mass, tensor), (its_mass, its) = moments(path, "arm_L"), moments(path, "arm_R")
    flip = np.diag([-1.0, 1.0, 1.0])
    assert mass == pytest.approx(2.5 if "mass" in edit else 2.0, rel=1e-6)
    assert its_mass == pytest.approx(mass, rel=1e-6)
    assert flip @ its @ flip == pytest.approx(tensor, rel=1e-5, abs=1e-6)
