"""What views show under physics: without a window, that scripts change none and that bones come back."""

import bpy
import pytest

from addon.blender.data.access import settings
from addon.blender.ui.simulation import physics_view


@pytest.fixture
def screen():
    return next(each for each in bpy.data.screens if any(area.type == "VIEW_3D" for area in each.areas))


def test_script_changes_no_view(rig, screen):
    space = next(area for area in screen.areas if area.type == "VIEW_3D").spaces.active
    settings(rig).drive = "SERVO"
    assert space.overlay.show_relationship_lines and space.overlay.show_bones
    assert not physics_view.view_settings(screen).kept


@pytest.mark.parametrize("bones", [True, False])
def test_views_are_given_back(rig, screen, monkeypatch, bones):
    scene = bpy.context.scene
    window = type("Window", (), {"screen": screen, "scene": scene})()
    monkeypatch.setattr(physics_view, "_windows", lambda: [window])
    space = next(area for area in screen.areas if area.type == "VIEW_3D").spaces.active
    space.overlay.show_bones = bones
    settings(rig).drive = "SERVO"
    physics_view.update_views(screen)
    assert not space.overlay.show_relationship_lines and not space.overlay.show_bones
    assert not space.show_object_viewport_empty, "joints' empties stay where bones are"
    physics_view.view_settings(screen).bones = "SHOW"
    assert space.overlay.show_bones == bones, "bones that the user hides stay hidden"
    physics_view.view_settings(screen).bones = "HIDE"
    space.lock_object = rig
    settings(rig).drive = "KEYS"  # also a script gives back what the interface changed
    assert space.overlay.show_relationship_lines and space.overlay.show_bones == bones
    assert space.show_object_viewport_empty
    assert space.lock_object is None and not physics_view.view_settings(screen).kept


def test_following_locks_views_and_unlocks_them(rig, screen):
    space = next(area for area in screen.areas if area.type == "VIEW_3D").spaces.active
    bpy.context.view_layer.objects.active = rig
    with bpy.context.temp_override(screen=screen):
        assert bpy.ops.knuckle.follow_in_view() == {"FINISHED"}
        root = space.lock_object
        assert root.knuckle.role == "BODY"
        assert bpy.ops.knuckle.follow_in_view() == {"FINISHED"}
    assert space.lock_object is None
