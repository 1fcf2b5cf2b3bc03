"""An assembly that is switched off is as one that its file has switched off."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.editing.repair.checks import check_model
from addon.blender.physics.simulation.setup import build_physics
from addon.blender.scene.read.mechanism import extract
from tests.support.attachments_helpers import document, folders, put
from tests.support.scenes import imported


def state(rig: Any) -> dict[str, Any]:
    """What is on, shown and posed of a model."""
    bpy.context.view_layer.update()
    shown = {obj.name.split(".")[0] for obj in settings(rig).collection.all_objects if obj.visible_get()}
    active = {obj.name.split(".")[0]: record_of(obj).active for obj in parts(rig, "BODY")}
    active |= {obj.name.split(".")[0]: record_of(obj).joint.active for obj in parts(rig, "JOINT")}
    return {
        "shown": shown,
        "active": active,
        "bones": sorted(bone.name for bone in rig.data.bones),
        "carriers": {obj.name.split(".")[0]: obj.parent_bone for obj in parts(rig, "BODY")},
        "places": {
            obj.name.split(".")[0]: np.array(obj.matrix_world).round(4).tolist()
            for obj in parts(rig, "BODY")
            if obj.visible_get()
        },
    }


def made(text: str) -> Any:
    rig = put(text)
    return next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL") if rig is None else rig


def test_off_is_what_the_file_means_by_off_and_on_again_undoes_it(blank: Any) -> None:
    off = made(document(arm_on=False))
    wanted, text = state(off), formats.dumps(extract(settings(off).collection))[0]
    bpy.ops.wm.read_homefile(use_empty=True)
    rig = made(document())
    before, original = state(rig), formats.dumps(extract(settings(rig).collection))[0]
    build_physics(bpy.context.scene, rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.ed.undo_push(message="before")
    name = rig.name
    assert bpy.ops.knuckle.switch_assembly(path="robot:arm") == {"FINISHED"}
    world = bpy.context.scene.rigidbody_world
    assert {obj.name for obj in world.collection.objects if record_of(obj).role == "BODY"} == {"base"}
    assert state(rig) == wanted
    assert formats.dumps(extract(settings(rig).collection))[0] == text
    bpy.ops.ed.undo_push(message="off")
    bpy.ops.ed.undo()
    rig = bpy.data.objects[name]
    assert state(rig) == before
    for _ in range(2):
        bpy.ops.knuckle.switch_assembly(path="robot:arm")
    assert state(rig) == before
    assert formats.dumps(extract(settings(rig).collection))[0] == original


def test_what_is_around_switches_what_is_inside(blank: Any) -> None:
    rig = made(document())
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.switch_assembly(path="robot")
    assert not any(record_of(obj).active for obj in parts(rig, "BODY"))
    back = formats.loads(formats.dumps(extract(settings(rig).collection))[0].encode())
    assert [(each.path, each.active) for each in back.assemblies] == [("robot", False), ("robot:arm", True)]
    bpy.ops.knuckle.switch_assembly(path="robot")
    assert {obj.name for obj in parts(rig, "BODY") if not record_of(obj).active} == {"hand"}, "off by itself"
    assert folders(settings(rig).collection)


def test_a_mechanism_without_assemblies_is_reported(blank: Any) -> None:
    bpy.ops.knuckle.new_model()
    with pytest.raises(RuntimeError, match="has no assemblies"):
        bpy.ops.knuckle.switch_assembly(path="arm")
    rig = made(document())
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match="no assembly 'leg'"):
        bpy.ops.knuckle.switch_assembly(path="leg")


def test_physics_is_back_when_all_of_a_mechanism_was_off(blank: Any) -> None:
    """The world was not deleted while nothing of the mechanism was in it."""
    rig = imported("pumpjack.json")
    build_physics(bpy.context.scene, rig)
    bpy.context.view_layer.objects.active = rig

    def members() -> set[str]:
        return {obj.name for obj in parts(rig, "BODY") if obj.rigid_body is not None}

    before = members()
    assert before
    for is_on in (False, True):
        assert bpy.ops.knuckle.switch_assembly(path="pumpjack") == {"FINISHED"}
        assert members() == (before if is_on else set())
        assert "world-gone" not in {finding.code for finding in check_model(rig)}
