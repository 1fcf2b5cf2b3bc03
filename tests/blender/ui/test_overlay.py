"""Overlays as users switch them: nothing is hung in while they are off, they are kept in files, and pictures show them
only where they were asked for. Drawn without a window, where this machine can draw at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.small import FLAPPER, models, put

SIZE = (160, 120)
#: A slide with stops, in place of the one without.
STOPPED = FLAPPER.replace("<LoStopFlag>0</LoStopFlag><HiStopFlag>0</HiStopFlag>",
                          "<LoStopFlag>1</LoStopFlag><HiStopFlag>1</HiStopFlag>").replace(
    "<HiStopValue>0</HiStopValue>", "<HiStopValue>0.8</HiStopValue>")  # fmt: skip


@pytest.fixture
def scene(blank: Any, tmp_path: Path) -> Iterator[Any]:
    """A scene with a 3D view and a small model in it, seen from the front by its camera."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=False)
    bpy.data.batch_remove([*bpy.data.objects])
    bpy.ops.import_scene.mechanism(filepath=str(put(tmp_path / "flapper.jm", STOPPED)), gait=False)
    scene = bpy.context.scene
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.location, camera.rotation_euler = (0.0, -6.0, 2.0), (np.pi / 2.0, 0.0, 0.0)
    camera.data.type, camera.data.ortho_scale = "ORTHO", 5.0
    scene.camera = camera
    view().region_3d.view_perspective = "CAMERA"
    bpy.context.view_layer.update()
    yield scene
    off(bpy.context.scene)


def view() -> Any:
    import bpy

    areas = bpy.context.window_manager.windows[0].screen.areas
    return next(area.spaces.active for area in areas if area.type == "VIEW_3D")


def off(scene: Any) -> None:
    for kind in ("axes", "stops", "twins", "centres", "inertia"):
        setattr(scene.knuckle_overlay, kind, False)


def overlay_handlers() -> list[Any]:
    import bpy

    from addon.blender.events.signals import Signal, signal_handlers

    lists = (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.frame_change_post, signal_handlers(Signal.VALUE))
    return [act for calls in lists for act in calls if act.__module__.endswith("ui.overlay")]


def picture() -> Any:
    """What the view shows, (height, width, 3), from above."""
    import bpy

    from addon.blender.ui.overlay import render_view_pixels

    try:
        return render_view_pixels(bpy.context, SIZE)[::-1, :, :3]
    except ValueError as error:
        pytest.skip(str(error))


def pixel(x: float, z: float) -> tuple[int, int]:
    """The row and column of the picture at which the camera sees a place."""
    scale = SIZE[0] / 5.0
    return round(SIZE[1] / 2.0 - (z - 2.0) * scale), round(SIZE[0] / 2.0 + x * scale)


def like(pixels: Any, colour: tuple[float, ...]) -> Any:
    return np.abs(pixels - colour[:3]).max(axis=-1) < 0.2


def test_no_handler_is_registered_while_all_overlays_are_off(scene: Any) -> None:
    from addon.blender.ui import overlay

    assert not overlay.is_overlay_drawn()
    assert overlay_handlers() == []
    scene.knuckle_overlay.axes = True
    assert overlay.is_overlay_drawn()
    assert len(overlay_handlers()) == 3
    scene.knuckle_overlay.stops = True
    scene.knuckle_overlay.axes = False
    assert overlay.is_overlay_drawn()
    assert len(overlay_handlers()) == 3
    scene.knuckle_overlay.stops = False
    assert not overlay.is_overlay_drawn()
    assert overlay_handlers() == []


def test_switches_are_kept_in_the_file(scene: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui import overlay

    scene.knuckle_overlay.twins, scene.knuckle_overlay.size = True, 2.0
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "on.blend"))
    empty_file()
    assert not overlay.is_overlay_drawn()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "on.blend"))
    assert overlay.is_overlay_drawn()
    assert (bpy.context.scene.knuckle_overlay.twins, bpy.context.scene.knuckle_overlay.size) == (True, 2.0)


def test_each_kind_is_drawn_where_it_belongs(scene: Any) -> None:
    """The trunk is seen 1 wide and 0.5 high about (0, 2), the hinge's dial about (-0.6, 2)."""
    import bpy

    from addon.blender.overlay import joint_dials
    from addon.core.overlay_geometry import (
        CENTER_OF_MASS_COLORS,
        INERTIA_COLOR,
        RANGE_COLOR,
        VALUE_COLOR,
        VIOLATION_COLOR,
    )

    choices = scene.knuckle_overlay
    bare = picture()
    choices.centres = True
    signed = picture()
    changed = np.argwhere(np.abs(signed - bare).max(axis=-1) > 0.05)
    for x in (-1.25, 0.0, 1.25):
        assert np.abs(changed - pixel(x, 2.0)).max(axis=1).min() <= 1
    assert like(signed, CENTER_OF_MASS_COLORS[0]).any()
    choices.centres, choices.inertia = False, True
    row, column = pixel(0.5, 2.1)
    boxed = picture()
    assert like(boxed[row, column - 1 : column + 2], INERTIA_COLOR).any()
    assert not like(bare[row, column - 1 : column + 2], INERTIA_COLOR).any()
    choices.inertia, choices.stops = False, True
    stops = picture()
    assert not like(stops, VIOLATION_COLOR).any()
    dial = joint_dials(bpy.data.objects["Left Joint"])[0]
    for angle, colour in ((-45.0, RANGE_COLOR), (-20.0, RANGE_COLOR), (0.0, VALUE_COLOR), (30.0, RANGE_COLOR)):
        x, _, z = dial.at(np.radians([angle]))[0]
        row, column = pixel(x, z)
        assert like(stops[row - 1 : row + 2, column - 1 : column + 2], colour).any(), f"the dial's rim at {angle}"
    slide = next(obj for obj in models()[0].data.knuckle.collection.all_objects if obj.name == "Right Joint")
    slide.knuckle.joint.dofs[0].lower = slide.knuckle.joint.dofs[0].upper = -0.3
    assert like(picture(), VIOLATION_COLOR).any(), "what is beyond is red, as soon as the stop was set"
    choices.stops = False
    assert (picture() == bare).all(), "and off leaves no trace"


def test_depth_hides_what_is_behind(scene: Any) -> None:
    from addon.core.overlay_geometry import CENTER_OF_MASS_COLORS

    scene.knuckle_overlay.centres = True
    assert like(picture(), CENTER_OF_MASS_COLORS[0]).any()
    scene.knuckle_overlay.in_front = False
    assert not like(picture(), CENTER_OF_MASS_COLORS[0]).any(), "centres of mass lie inside their bodies"


def test_renders_do_not_show_them(scene: Any, tmp_path: Path) -> None:
    import bpy

    def rendered(name: str) -> Any:
        scene.render.engine, scene.render.filepath = "BLENDER_WORKBENCH", str(tmp_path / name)
        scene.render.resolution_x, scene.render.resolution_y = SIZE
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(str(tmp_path / name) + ".png")
        return np.array(image.pixels[:])

    rendered("first")  # Workbench's first picture is not quite like its others
    bare = rendered("bare")
    scene.knuckle_overlay.axes = scene.knuckle_overlay.stops = True
    assert (rendered("on") == bare).all()


def test_a_picture_is_saved_through_the_operator(scene: Any, tmp_path: Path) -> None:
    import bpy

    from addon.core.overlay_geometry import RANGE_COLOR

    picture()  # skips where nothing can be drawn
    scene.knuckle_overlay.stops = True
    before = len(bpy.data.images)
    path = tmp_path / "new folder" / "stops"
    assert bpy.ops.knuckle.overlay_picture(filepath=str(path), size=SIZE) == {"FINISHED"}
    assert len(bpy.data.images) == before
    image = bpy.data.images.load(str(path) + ".png")
    assert tuple(image.size) == SIZE
    pixels = np.array(image.pixels[:]).reshape(SIZE[1], SIZE[0], 4)
    assert like(pixels[..., :3], RANGE_COLOR).any()
    assert pixels[::-1, :, :3] == pytest.approx(picture(), abs=0.01)


def test_a_picture_needs_an_overlay_and_a_model(scene: Any) -> None:
    import bpy

    with pytest.raises(RuntimeError, match="No overlay is on"):
        bpy.ops.knuckle.overlay_picture(filepath="//x.png")
    scene.knuckle_overlay.axes = True
    bpy.data.batch_remove([*bpy.data.objects])
    with pytest.raises(RuntimeError, match="no mechanism in the scene"):
        bpy.ops.knuckle.overlay_picture(filepath="//x.png")


def test_undo_draws_what_is_there_then(scene: Any) -> None:
    import bpy

    from addon.blender.overlay import joint_dials

    bpy.ops.ed.undo_push(message="before")
    scene.knuckle_overlay.stops = True
    joint = bpy.data.objects["Left Joint"]
    joint.knuckle.joint.dofs[0].upper = 0.1
    bpy.ops.ed.undo_push(message="edited")
    edited = picture()
    bpy.ops.ed.undo()
    assert joint_dials(bpy.data.objects["Left Joint"])[0].upper == pytest.approx([np.radians(45.0)], abs=1e-6)
    bpy.context.scene.knuckle_overlay.stops = True
    assert (picture() != edited).any()


def test_handles_are_for_the_active_joint_with_stops(scene: Any) -> None:
    import bpy

    from addon.blender.ui.joints.stop_gizmos import gizmo_joint

    left, right = bpy.data.objects["Left Joint"], bpy.data.objects["Right Joint"]
    layer = bpy.context.view_layer
    layer.objects.active = left
    assert gizmo_joint(bpy.context) == left
    layer.objects.active = bpy.data.objects["Right Slide"]  # of a body the joint that moves it
    assert gizmo_joint(bpy.context) == right
    dof = right.knuckle.joint.dofs[0]
    dof.use_lower = dof.use_upper = False
    assert gizmo_joint(bpy.context) is None
    layer.objects.active = scene.camera
    assert gizmo_joint(bpy.context) is None
    layer.objects.active = left
    scene.knuckle_overlay.handles = False
    assert gizmo_joint(bpy.context) is None


def test_a_dragged_stop_stops_at_the_other(scene: Any) -> None:
    import bpy

    from addon.blender.ui.joints.stop_gizmos import set_stop

    joint = bpy.data.objects["Left Joint"]
    dof = joint.knuckle.joint.dofs[0]
    set_stop(joint, 0, "upper", 0.3)
    assert dof.upper == pytest.approx(0.3)
    bone = models()[0].pose.bones["Left Joint"]
    assert bone.constraints[0].max_z == pytest.approx(0.3), "bones follow the one record"
    set_stop(joint, 0, "upper", -3.0)
    assert dof.upper == pytest.approx(dof.lower)
    dof.use_lower = False
    set_stop(joint, 0, "upper", -3.0)
    assert dof.upper == pytest.approx(-3.0)


@pytest.mark.parametrize("name", ["flapper", "Trunk", "Left Joint", "Right Slide", "Bodies", "Joints"])
def test_models_in_pieces_are_drawn_as_far_as_they_go(scene: Any, name: str) -> None:
    import bpy

    from addon.blender.overlay import OVERLAY_KINDS, draw_models

    whole = len(draw_models(scene, OVERLAY_KINDS).fine.arrays()[0])
    if name in ("Bodies", "Joints"):
        bpy.data.collections.remove(bpy.data.collections[name])
    else:
        bpy.data.objects.remove(bpy.data.objects[name])
    bpy.context.view_layer.update()
    points = draw_models(scene, OVERLAY_KINDS).fine.arrays()[0]
    assert np.isfinite(points).all()
    assert len(points) < whole
