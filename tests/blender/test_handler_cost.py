"""What Blender calls at every frame and change asks little of scenes in which there is much: counts, not times."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.emptied import empty_file
from tests.support.loops import crank_rocker
from tests.support.mechanisms import put
from tests.support.operator_cases import DUO


class Counted:
    """Stands in for a function and counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **words: Any) -> Any:
        self.calls += 1
        return self.function(*args, **words)


def test_a_change_of_plain_objects_is_not_looked_through(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.blender.animation.loops import live_solver

    put(DUO)
    objects = [bpy.data.objects.new(f"plain {number}", None) for number in range(50)]
    for obj in objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    asked = Counted(live_solver.record_of)
    monkeypatch.setattr(live_solver, "record_of", asked)
    for obj in objects:
        obj.location.x += 1.0
    bpy.context.view_layer.update()
    assert asked.calls == 0


def test_a_loop_follows_its_crank_that_another_object_drives(blank: Any) -> None:
    import bpy

    from addon.blender.animation.loops import live_solver
    from tests.support.degrees_helpers import put as put_mechanism

    rig = put_mechanism(crank_rocker(), physics=False)
    (loop,) = live_solver.live_loops(rig)
    (driver,) = loop.drivers
    channel = loop.channels[driver][0]
    handle = bpy.data.objects.new("handle", None)
    bpy.context.scene.collection.objects.link(handle)
    curve = rig.pose.bones[channel.bone].driver_add(channel.prop, channel.index)
    variable = curve.driver.variables.new()
    variable.type, variable.name = "SINGLE_PROP", "turn"
    variable.targets[0].id, variable.targets[0].data_path = handle, "location.x"
    curve.driver.expression = "turn"
    bpy.context.view_layer.update()
    followers = [cs[0] for joint, cs in loop.channels.items() if joint != driver]
    stood = [getattr(rig.pose.bones[c.bone], c.prop)[c.index] for c in followers]
    handle.location.x += 0.3
    bpy.context.view_layer.update()
    moved = [getattr(rig.pose.bones[c.bone], c.prop)[c.index] for c in followers]
    assert max(abs(a - b) for a, b in zip(stood, moved, strict=True)) > 0.01


@pytest.mark.parametrize("hidden", ["shown", "hidden", "excluded"])
def test_a_scene_knows_its_models_however_they_are_hidden(blank: Any, hidden: str) -> None:
    import bpy

    from addon.blender.data.queries import is_in_scene

    rig = put(DUO)
    scene, other = bpy.context.scene, bpy.data.scenes.new("other")
    if hidden == "hidden":
        rig.hide_set(True)
    if hidden == "excluded":
        for child in bpy.context.view_layer.layer_collection.children:
            child.exclude = True
    assert is_in_scene(scene, rig) and not is_in_scene(other, rig)


def test_models_in_a_rigidbody_world_are_distinguished_from_others(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one body each, although a model's joints come before its bodies."""
    import bpy

    from addon.blender.physics.world import membership as homes

    inside, outside = put(DUO), put(DUO, physics=False)
    asked = Counted(homes.is_part)
    monkeypatch.setattr(homes, "is_part", asked)
    scene = bpy.context.scene
    assert homes.is_simulated(inside, scene) and asked.calls <= 3
    assert not homes.is_simulated(outside, scene)
    taken = next(obj for obj in scene.rigidbody_world.collection.objects if obj.knuckle.model == inside)
    scene.rigidbody_world.collection.objects.unlink(taken)
    assert homes.is_simulated(inside, scene), "the others are still there"


def test_twins_are_made_with_a_few_looks_at_all_bones(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.blender.data import queries as model_parts
    from benchmarks.mechanisms import star

    looks = {}
    for count in (5, 25):
        empty_file()
        rig = put(star(count), gait=False, physics=False)
        bodies = model_parts.parts(rig, "BODY")
        for obj in bodies[1:]:
            obj.select_set(True)
        bpy.context.view_layer.objects.active = bodies[1]
        with monkeypatch.context() as patch:
            asked = Counted(model_parts._bones_by_task)
            patch.setattr(model_parts, "_bones_by_task", asked)
            assert bpy.ops.knuckle.create_twin(plane="Y") == {"FINISHED"}
        assert len(model_parts.parts(rig, "BODY")) == 2 * count - 1
        looks[count] = asked.calls
    assert looks[25] <= looks[5] + 2
