"""Models written from scenes in the middle of something: the file is the one that was read, whatever plays or runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from tests.support.exam import DUO, bring, exported
from tests.support.exporting import told
from tests.support.scenes import pick

State = Callable[[Any, Path], Any]


def at_another_frame(rig: Any, _folder: Path) -> None:
    bpy.context.scene.frame_set(17, subframe=0.5)


def fallen(rig: Any, _folder: Path) -> None:
    _run(rig, "LIMP")


def driven(rig: Any, _folder: Path) -> None:
    _run(rig, "SERVO")


def _run(rig: Any, drive: str) -> None:
    scene = bpy.context.scene
    pick(rig)
    assert bpy.ops.knuckle.set_drive(drive=drive) == {"FINISHED"}
    for frame in range(scene.frame_start, 21):
        scene.frame_set(frame)
    tool = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_id == "4")
    seen = tool.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.z
    assert seen < tool.matrix_basis.translation.z - 0.1 or drive == "SERVO", "it fell"


def baked(rig: Any, _folder: Path) -> None:
    scene = bpy.context.scene
    scene.frame_end = 12
    pick(rig)
    assert bpy.ops.knuckle.set_drive(drive="LIMP") == {"FINISHED"}
    assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
    scene.frame_set(10)


def in_strips(rig: Any, _folder: Path) -> None:
    data = rig.animation_data
    data.nla_tracks.new().strips.new("Strip", 1, data.action).scale = 0.5
    data.action = None
    bpy.context.scene.frame_set(9)


def in_feet(rig: Any, _folder: Path) -> None:
    units = bpy.context.scene.unit_settings
    units.system, units.scale_length, units.length_unit = "IMPERIAL", 0.3048, "FEET"


def in_two_scenes(rig: Any, _folder: Path) -> None:
    other = bpy.data.scenes.new("Other")
    other.collection.children.link(settings(rig).collection)
    bpy.context.window.scene = other
    other.frame_set(5)


def undone(rig: Any, _folder: Path) -> None:
    """What was done to it and taken back."""
    bpy.ops.ed.undo_push(message="before")
    rig.location.x = 3.0
    next(iter(parts(rig, "BODY"))).knuckle.mass = 77.0
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()


def saved_as_copy(rig: Any, folder: Path) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "own.blend"))
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "copy.blend"), copy=True)
    bpy.ops.wm.open_mainfile(filepath=str(folder / "copy.blend"))


def with_nodes(rig: Any, _folder: Path) -> None:
    tree = bpy.data.node_groups.new("Nodes", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    link, grow = tree.links.new, tree.nodes.new("GeometryNodeTransform")
    grow.inputs["Scale"].default_value = (2.0, 2.0, 2.0)
    link(tree.nodes.new("NodeGroupInput").outputs[0], grow.inputs[0])
    link(grow.outputs[0], tree.nodes.new("NodeGroupOutput").inputs[0])
    _leg(rig).modifiers.new("Grow", "NODES").node_group = tree
    bpy.context.view_layer.update()
    assert "mesh-modified" in told(rig)


def with_normals(rig: Any, _folder: Path) -> None:
    mesh = _leg(rig).data
    mesh.normals_split_custom_set([(0.0, 0.0, 1.0)] * len(mesh.loops))


def _leg(rig: Any) -> Any:
    return next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "Left Leg")


STATES: list[State] = [
    at_another_frame, fallen, driven, baked, in_strips, in_feet, in_two_scenes, undone, saved_as_copy, with_nodes,
    with_normals,
]  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_the_file_is_the_one_that_was_read(blank: Any, tmp_path: Path, state: State) -> None:
    rig = bring(tmp_path)
    name = rig.name
    state(rig, tmp_path)
    frame = bpy.context.scene.frame_current
    assert exported(bpy.data.objects[name], tmp_path) == DUO
    assert bpy.context.scene.frame_current == frame


# ---------------------------------------------------------------- meshes made over


def remeshed(rig: Any) -> None:
    pick(_leg(rig))
    _leg(rig).data.remesh_voxel_size = 0.05
    bpy.ops.object.voxel_remesh()


def converted(rig: Any) -> None:
    _leg(rig).modifiers.new("Round", "SUBSURF")
    pick(_leg(rig))
    bpy.ops.object.convert(target="MESH")


def joined(rig: Any) -> None:
    tool = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_id == "4")
    pick(_leg(rig), tool)
    bpy.ops.object.join()


def separated(rig: Any) -> None:
    pick(_leg(rig))
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    _leg(rig).data.polygons[0].select = True
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.separate(type="SELECTED")
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize(
    ("act", "code", "bodies"),
    [(remeshed, "", 4), (converted, "mesh-edited", 4), (joined, "deleted", 3), (separated, "added", 5)],
)
def test_a_mesh_made_over_is_reported_and_the_rest_goes_out(
    blank: Any, tmp_path: Path, act: Callable[[Any], None], code: str, bodies: int
) -> None:
    """A box of more faces is still that box."""
    rig = bring(tmp_path)
    act(rig)
    assert code in {"", *told(rig)}
    text = exported(rig, tmp_path)
    assert len(formats.loads(text.encode(), "again.jm").bodies) == bodies
    assert (text == DUO) == (bodies == 4)
