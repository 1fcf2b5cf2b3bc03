"""Update of a mechanism's objects to an edited one: what an edit adds is created as an import of the result has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.editing.edits import Edit, JointEdit, with_bodies, with_joints
from addon.core.joint_types import make_dofs
from addon.core.model import Body, Joint, Mechanism, Shape
from tests.support.scenes import OWN

MODELS = sorted(path for path in Path("sample_models").glob("*/*") if path.suffix in {".jm", ".skel", ".json"})
MODELS += [Path("sample_models/sensor_leg/sensor_leg.xml")]


def at(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def box(size: float) -> Shape:
    return Shape("box", dict.fromkeys("xyz", size), np.eye(4))


def lidded(mechanism: Mechanism) -> Mechanism:
    """A lid on the chest, shown as a box that collides as a ball, with its center of mass elsewhere."""
    ball = Shape("sphere", {"radius": 0.3}, at(0.0, 0.1, 0.0))
    ball.visual = False
    shown = box(0.5)
    shown.collision = False
    lid = Body("lid", "Lid", at(0.0, 0.0, 1.0), mass=2.0, com=np.array([0.0, 0.25, 0.0]), shapes=[shown, ball])
    hinge = Joint("hinge", "Hinge", "revolute", "chest", "lid", at(0.0, -0.5, 0.5), at(0.0, -0.5, -0.5))
    hinge.dofs = make_dofs("revolute")
    return with_joints(with_bodies(mechanism, [lid]), [hinge])


def built(mechanism: Mechanism, physics: bool = True) -> Any:
    import bpy

    from addon.blender.data.queries import require_rig
    from addon.blender.reconcile.build import BuildOptions, build

    rig = require_rig(build(mechanism, bpy.context, BuildOptions(physics=physics, gait=False)))
    bpy.context.view_layer.update()
    return rig


def seen(rig: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Of each part where it stands, what it is made of, what it hangs on and what physics makes of it."""
    from addon.blender.data.access import record_of

    out = {}
    for obj in rig.data.knuckle.collection.all_objects:
        record, points = record_of(obj), np.zeros(0)
        if record.role not in {"BODY", "JOINT", "SHAPE"} or record.is_ground:
            continue
        if obj.type == "MESH":
            points = np.empty(3 * len(obj.data.vertices))
            obj.data.vertices.foreach_get("co", points)
        physics = obj.rigid_body and (obj.rigid_body.type, obj.rigid_body.collision_shape, obj.rigid_body.mass)
        constraint = obj.rigid_body_constraint and obj.rigid_body_constraint.type
        placement = obj.name, obj.parent.name, obj.parent_bone, sorted(each.name for each in obj.users_collection)
        numbers = np.concatenate([np.array(obj.matrix_world).ravel(), points])
        out[record.role, record.source_id] = numbers, (placement, record.mass, physics, constraint, obj.hide_viewport)
    return out


def chest() -> Mechanism:
    return Mechanism("Chest", bodies=[Body("chest", "Chest", np.eye(4), mass=1.0, shapes=[box(1.0)])])


def test_a_new_body_is_created_as_an_import_has_it(blank: Any) -> None:
    import bpy

    from addon.blender.reconcile.rig_update import begin_edit
    from addon.blender.reconcile.update import update
    from addon.blender.scene.read.mechanism import extract_design

    wanted = seen(built(lidded(chest())))
    assert {("BODY", "lid"), ("JOINT", "hinge"), ("SHAPE", "lid/1")} <= wanted.keys()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = built(chest())
    present, now = begin_edit(rig), extract_design(rig)
    update(rig, Edit(now, lidded(now), {"hinge": JointEdit(np.zeros(1))}), present)
    bpy.context.view_layer.update()
    found = seen(rig)
    assert found.keys() == wanted.keys()
    for part, (numbers, about) in wanted.items():
        assert np.abs(found[part][0] - numbers).max() < 1e-6, part
        assert found[part][1] == about, part
    assert rig.data.knuckle.has_collision


#: What an import alone sets: its report, settings of the document's engine, and names that handlers follow. A joint
#: whose bones were made for its present matrix may have that recorded or not (``bone_baseline``).
_OF_AN_IMPORT = (
    "/knuckle/report/", "/knuckle/standard_speed", "/knuckle/pose_", "/followed_name", "/baseline_bone_pose",
)  # fmt: skip


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_an_import_is_an_update_from_an_empty_mechanism(blank: Any, path: Path) -> None:
    """All that Blender has of either is the same, up to rounding: datablocks, records, bones, materials, settings."""
    import bpy

    from addon.blender.reconcile.rig_update import begin_edit
    from addon.blender.reconcile.update import EditObjects, update
    from addon.core.editing.sides import find_mirror_plane
    from tests.support.emptied import empty_file
    from tests.support.snapshot import changed, snapshot

    empty_file()
    built(formats.load(path), physics=False)
    imported = snapshot()
    empty_file()
    whole = formats.load(path)
    empty = replace(whole, bodies=[], joints=[], frames=[], lights=[], restraints=[], behaviours=None)
    empty.mirror_plane = whole.mirror_plane or find_mirror_plane(whole)
    rig = built(replace(empty), physics=False)
    update(rig, Edit(empty, whole), begin_edit(rig), EditObjects(document=whole))
    bpy.context.view_layer.update()
    found = snapshot()
    different = [each for each in changed(imported, found) if not any(part in each for part in _OF_AN_IMPORT)]
    different = [each for each in different if not is_rounded(imported.get(each), found.get(each))]
    assert len(imported) > 5000
    assert not different, "\n".join(f"{each}: {imported.get(each)!r} -> {found.get(each)!r}" for each in different[:12])


def is_rounded(one: Any, other: Any) -> bool:
    """Comparison of two numbers, or arrays of them: true if they differ by the rounding of 32 bits alone."""
    if isinstance(one, (float, tuple)) and isinstance(other, type(one)):
        return bool(np.allclose(one, other, rtol=1e-6, atol=1e-6))
    return False


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("physics", [True, False])
@pytest.mark.parametrize(
    ("operator", "options", "gone"),
    [
        ("set_joint_type", {"type": "prismatic"}, 0),
        ("set_stops", {"to": "LOWER"}, 0),
        ("move_joint", {"where": "CURSOR"}, 0),
        ("mirror_to_twin", {}, 0),
        ("switch_stops", {}, 0),
        ("swap_joint", {}, 0),
        ("duplicate_limb", {}, 0),
        ("delete_parts", {}, 1),
    ],
)
def test_an_edit_keeps_all_objects_that_it_does_not_delete(
    blank: Any, operator: str, options: dict[str, Any], gone: int, physics: bool, here: bool
) -> None:
    """Whatever holds references to them, such as undo, an add-on or a script, still finds them."""
    import bpy

    from addon import formats
    from addon.blender.data.access import record_of
    from addon.blender.data.queries import parts, require_rig
    from addon.blender.reconcile.build import BuildOptions, build

    blank.scene.knuckle_simulate_here = here
    options_of_build = BuildOptions(gait=False, physics=physics)
    rig = require_rig(build(formats.load(OWN / "hexapod/hexapod.jm"), bpy.context, options_of_build))
    bpy.context.view_layer.update()

    def present() -> dict[int, str]:
        found = [obj for role in ("BODY", "JOINT", "SHAPE") for obj in parts(rig, role)]
        return {obj.session_uid: obj.name for obj in found if not record_of(obj).is_ground}

    before = present()
    empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_name == "Left Front Knee")
    bpy.ops.object.select_all(action="DESELECT")
    empty.select_set(True)
    bpy.context.view_layer.objects.active = empty
    assert getattr(bpy.ops.knuckle, operator)(**options) == {"FINISHED"}
    lost = [name for uid, name in before.items() if uid not in present()]
    assert len(lost) == gone, lost


@pytest.mark.parametrize(
    ("operator", "options", "fields"),
    [
        ("set_stops", {"to": "UPPER"}, {"upper", "use_upper"}),
        ("switch_stops", {"on": False}, {"use_lower", "use_upper"}),
        ("copy_joint", {"to": "SELECTED"}, {"lower", "upper", "use_lower", "use_upper", "gain", "max_force"}),
        ("copy_joint", {"to": "TWINS"}, {"lower", "upper", "use_lower", "use_upper", "gain", "max_force", "position"}),
    ],
)
def test_an_edit_of_values_changes_nothing_else(
    blank: Any, operator: str, options: dict[str, Any], fields: set[str]
) -> None:
    """No other property of any record, such as the twin."""
    import bpy

    from addon.blender.data.access import record_of
    from addon.blender.data.queries import parts
    from tests.support.scenes import made, pick
    from tests.support.snapshot import changed, snapshot

    rig = made("hexapod.jm")
    for bone in rig.pose.bones:
        bone.rotation_euler.z = 0.11
    empties = [obj for obj in parts(rig, "JOINT") if "Knee" in obj.name and len(record_of(obj).joint.dofs) == 1]
    record_of(empties[-1]).joint.dofs[0].upper = 0.9
    bpy.context.view_layer.update()
    pick(*empties)
    before = snapshot()
    assert getattr(bpy.ops.knuckle, operator)(**options) == {"FINISHED"}
    names = {obj.name for role in ("BODY", "JOINT", "SHAPE") for obj in parts(rig, role)}
    paths = [path.split("/") for path in changed(before, snapshot())]
    of_records = [path for path in paths if path[0] == "objects" and path[1] in names and path[2] == "knuckle"]
    assert of_records
    shown = {
        path[-1].removeprefix("each_").removesuffix("_angle") for path in of_records
    }  # what panels display of them
    assert shown <= fields
