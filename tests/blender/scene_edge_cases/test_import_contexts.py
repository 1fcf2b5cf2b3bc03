"""Importing from elsewhere than a window with one scene: other scenes, libraries, local view, scripts, no window."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bpy
import pytest

from addon.blender.data.access import settings
from addon.blender.data.queries import parts
from addon.blender.ui.base import operators
from tests.support.emptied import simulate_in_own_world
from tests.support.exam import DUO, assert_works, bring, clean, exported, model_file, rigs
from tests.support.libraries import load, saved
from tests.support.scenes import pick
from tests.support.snapshot import changed, snapshot

ROOT = Path(__file__).resolve().parents[3]


def view() -> tuple[Any, Any]:
    """A 3D view of the window that Blender has also in the background, and its region."""
    area = next(each for each in bpy.context.window.screen.areas if each.type == "VIEW_3D")
    return area, next(region for region in area.regions if region.type == "WINDOW")


def a_cube() -> Any:
    bpy.ops.mesh.primitive_cube_add(location=(0, 30, 0))
    return bpy.context.object


def test_what_comes_in_is_seen_in_local_view(blank: Any, tmp_path: Path) -> None:
    clean()
    other = bring(tmp_path, "other.jm")
    block = a_cube()
    area, region = view()
    with bpy.context.temp_override(area=area, region=region):
        bpy.ops.view3d.localview(frame_selected=False)
    space = area.spaces.active
    if not block.local_view_get(space):
        pytest.skip("without a window Blender 4.2 does not even have the active object in its local view")
    assert space.local_view is not None and not other.local_view_get(space)
    rig = bring(tmp_path)
    assert all(obj.local_view_get(space) for obj in settings(rig).collection.all_objects if not obj.hide_viewport)
    assert bpy.ops.knuckle.new_model(name="Bare") == {"FINISHED"}
    assert bpy.ops.knuckle.add_mechanism() == {"FINISHED"}
    assert all(each.local_view_get(space) for each in rigs() if each != other)
    pick(next(obj for obj in parts(rig, "BODY") if obj.name.startswith("Left Leg")))
    known = set(bpy.data.objects)
    assert bpy.ops.knuckle.duplicate_limb() == {"FINISHED"}
    made = [obj for obj in set(bpy.data.objects) - known if obj.name in bpy.context.view_layer.objects]
    assert made and all(obj.local_view_get(space) for obj in made)
    assert not other.local_view_get(space), "what was out of sight stays there"


def test_a_layer_is_looked_through_once_for_all_that_comes(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask it for each object by name takes as long as there are objects, each time."""
    looks = []

    class Objects(list[Any]):
        def __iter__(self) -> Any:
            looks.append("all")
            return super().__iter__()

        def get(self, name: str) -> Any:
            looks.append(name)

    class Layer:
        objects = Objects([a_cube()])

    monkeypatch.setattr(operators, "_local_views", lambda _context: [(Layer(), None)])
    with operators.shown_in_local_views(blank):
        for number in range(20):
            bpy.data.objects.new(f"New {number}", None)
    assert looks == ["all"]


def test_into_another_scene_than_the_window_shows(blank: Any, tmp_path: Path) -> None:
    clean()
    shown, other = blank.scene, bpy.data.scenes.new("Other")
    simulate_in_own_world(other)
    block = a_cube()
    bpy.context.view_layer.update()
    before = snapshot()
    with bpy.context.temp_override(scene=other):
        rig = bring(tmp_path)
    assert rig.users_scene == (other,)
    assert other.view_layers[0].objects.active == rig and rig.select_get(view_layer=other.view_layers[0])
    assert bpy.context.scene == shown and bpy.context.object == block and block.select_get()
    touched = [path for path in changed(before, snapshot()) if path in before and not path.startswith("scenes/Other/")]
    assert touched == []
    bpy.context.window.scene = other
    assert_works(rig, tmp_path)


@pytest.mark.parametrize("shown", [0, 1])
def test_all_view_layers_have_the_model(blank: Any, tmp_path: Path, shown: int) -> None:
    """Blender evaluates a frame for each layer that was ever shown, in their order, and each builds the simulation."""
    clean()
    blank.scene.view_layers.new("Second")
    rig = bring(tmp_path)
    layers = [*blank.scene.view_layers]
    assert all(rig.name in layer.objects for layer in layers)
    for layer in layers:
        bpy.context.window.view_layer = layer
        bpy.context.scene.frame_set(2)
    bpy.context.window.view_layer = layers[shown]
    layers[1 - shown].layer_collection.children[settings(rig).collection.name].exclude = True
    assert all(layer.depsgraph is not None for layer in layers)
    assert_works(rig, tmp_path)


def test_a_scene_of_a_library_is_rejected(blank: Any, tmp_path: Path) -> None:
    path = saved(tmp_path, ready=lambda: setattr(bpy.context.scene, "name", "There"))
    bpy.context.window.scene = load(path, "scenes", "There")
    before = snapshot()
    for act in (lambda: bring(tmp_path), bpy.ops.knuckle.new_model, bpy.ops.knuckle.add_mechanism):
        with pytest.raises(RuntimeError, match="Scene 'There': linked from another file"):
            act()
        assert changed(before, snapshot()) == []


@pytest.mark.parametrize("override", [False, True])
def test_the_active_collection_is_of_a_library(blank: Any, tmp_path: Path, override: bool) -> None:
    clean()

    def there() -> None:
        made = bpy.data.collections.new("There")
        bpy.context.scene.collection.children.link(made)
        made.objects.link(bpy.data.objects.new("Stone", None))

    linked = load(saved(tmp_path, ready=there), "collections", "There")
    if override:
        linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    else:
        bpy.context.scene.collection.children.link(linked)
    layer = bpy.context.view_layer.layer_collection.children["There"]
    bpy.context.view_layer.active_layer_collection = layer
    bpy.context.view_layer.objects.active = layer.collection.objects[0]
    rig = bring(tmp_path)
    assert len(layer.collection.all_objects) == 1
    assert_works(rig, tmp_path)


def test_a_world_whose_objects_are_of_a_library_is_rejected(blank: Any, tmp_path: Path) -> None:
    def there() -> None:
        a_cube()
        bpy.ops.rigidbody.object_add()
        bpy.context.scene.rigidbody_world.collection.name = "Bodies There"

    linked = load(saved(tmp_path, ready=there), "collections", "Bodies There")
    bpy.ops.rigidbody.world_add()
    blank.scene.rigidbody_world.collection = linked
    bpy.context.view_layer.update()
    before = snapshot()
    with pytest.raises(RuntimeError, match="its collection 'Bodies There' is linked from another file"):
        bring(tmp_path)
    assert changed(before, snapshot()) == []
    rig = bring(tmp_path, physics=False)
    assert exported(rig, tmp_path) == DUO
    with pytest.raises(RuntimeError, match="so nothing can be added. Choose another"):
        bpy.ops.knuckle.build_physics()


def test_names_as_long_as_blender_takes_any(blank: Any, tmp_path: Path) -> None:
    text = DUO.replace("Trunk", "T" * 80).replace("Left Leg", "T" * 79 + "U").replace("Left Hip", "é" * 40)
    path = tmp_path / f"{'ö' * 40}.jm"
    path.write_text(text)
    for count in (1, 2):
        bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.5)
        assert len(rigs()) == count
    for rig in rigs():
        assert exported(rig, tmp_path) == text


def test_among_many_objects_an_import_costs_what_blender_needs(blank: Any, tmp_path: Path) -> None:
    """Blender builds its relations anew four times at most, and the import looks through nothing by itself."""
    clean()
    start = time.process_time()
    bring(tmp_path, "alone.jm")
    alone = time.process_time() - start
    mesh = bpy.data.meshes.new("Stone")
    for number in range(600):
        stone = bpy.data.objects.new("Stone", mesh)
        stone.location = (number % 100, number // 100, -5)
        blank.scene.collection.objects.link(stone)
    blank.view_layer.update()
    floor = 0.0
    for _ in range(3):
        blank.scene.collection.objects.link(bpy.data.objects.new("One More", None))
        start = time.process_time()
        blank.view_layer.update()
        floor = max(floor, time.process_time() - start)
    start = time.process_time()
    bring(tmp_path)
    assert time.process_time() - start < 8.0 * floor + 3.0 * alone + 0.2


def test_while_blender_keeps_its_data_from_addons(blank: Any, tmp_path: Path) -> None:
    """As when one imports at the moment at which it is enabled."""
    name = "_bpy_restrict_state" if bpy.app.version >= (5, 0) else "bpy_restrict_state"
    clean()
    path = model_file(tmp_path)
    with importlib.import_module(name).RestrictBlend():
        assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.5) == {"FINISHED"}
    assert_works(rigs()[0], tmp_path)


_SCRIPT = """
import sys, bpy
sys.path.insert(0, {root!r})
import addon
addon.register()
assert bpy.ops.import_scene.mechanism(filepath={path!r}, gait_seconds=0.5) == {{"FINISHED"}}
for frame in range(1, 5):
    bpy.context.scene.frame_set(frame)
assert bpy.ops.export_scene.mechanism(filepath={out!r}) == {{"FINISHED"}}
"""


def test_from_a_script_in_the_background(tmp_path: Path) -> None:
    path, out = model_file(tmp_path), tmp_path / "again.jm"
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(root=str(ROOT), path=str(path), out=str(out)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert out.read_text() == DUO
