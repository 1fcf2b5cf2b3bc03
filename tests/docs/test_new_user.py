"""What a new user does first, in the manual's order and with its words: each step by the operator behind the button
that the page names, and by nothing that it does not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.book import DOCS, folder_like_ours


def labelled(idname: str) -> str:
    """What is written on an operator's button, where the page does not name another text."""
    import bpy

    module, name = idname.split(".")
    return str(getattr(getattr(bpy.ops, module), name).get_rna_type().name)


@pytest.mark.usefixtures("coarse")
def test_the_steps_of_the_pages_lead_from_import_to_video(blank: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import bpy

    here = folder_like_ours(tmp_path / "knuckle")
    monkeypatch.chdir(here)
    said = {page.stem: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}

    # import.md: File > Import > Mechanism
    assert bpy.ops.import_scene.mechanism(filepath=str(here / "sample_models/hexapod/hexapod.jm")) == {"FINISHED"}
    scene = bpy.context.scene
    rig = bpy.context.view_layer.objects.active
    assert rig.type == "ARMATURE", "all that follows works from what an import selects"

    # pose.md: a servo is its bone's Z rotation, and a click on Key All keys it
    knee = rig.pose.bones["Left Front Knee"]
    rig.animation_data.action = None
    knee.rotation_euler.z = math.radians(50.0)
    assert bpy.ops.knuckle.key_servos(only_selected=False) == {"FINISHED"}
    assert "*Key All*" in said["pose"]

    # stops.md: select a joint, pose it, Upper from Pose
    joint = next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.name == "Left Front Knee")
    bpy.ops.object.select_all(action="DESELECT")
    joint.select_set(True)
    bpy.context.view_layer.objects.active = joint
    assert bpy.ops.knuckle.set_stops(to="UPPER") == {"FINISHED"}
    assert abs(joint.knuckle.joint.dofs[0].upper - math.radians(50.0)) < 1e-5
    assert "*Upper from Pose*" in said["stops"]

    # twins.md: Mirror to Twin
    other = next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.name == "Right Front Knee")
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    stops = other.knuckle.joint.dofs[0]
    assert abs(stops.upper - math.radians(50.0)) < 1e-5 or abs(stops.lower + math.radians(50.0)) < 1e-5
    assert f"*{labelled('knuckle.mirror_to_twin')}*" in said["twins"]

    # gait.md: Bake Gait, with the controls as they are now
    rig.data.knuckle.controls.joystick_1_y = -1.0
    scene.frame_end = 60
    assert bpy.ops.knuckle.bake_gait() == {"FINISHED"}
    assert f"*{labelled('knuckle.bake_gait')}*" in said["gait"]
    assert rig.animation_data.action is not None

    # walk.md: Servo, and Bake Physics keeps what happened
    chassis = next(obj for obj in bpy.data.objects if obj.name == "Chassis")
    scene.frame_set(1)
    began = chassis.matrix_world.translation.copy()
    assert bpy.ops.knuckle.set_drive(drive="SERVO") == {"FINISHED"}
    assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
    assert f"*{labelled('knuckle.bake_physics')}*" in said["walk"]
    assert rig.data.knuckle.drive == "KEYS", "as the page says, the drive is back on Keys"
    scene.frame_set(60)
    way = chassis.matrix_world.translation - began
    assert way.y > 1.0 and way.y > 4.0 * abs(way.x), f"forward, which is +Y: {way}"

    # film.md: choose a file, Render Video
    film = scene.knuckle_film
    film.filepath, film.format, film.size = str(here / "out/walk.png"), "OWN", (96, 64)
    options = {name: getattr(film, name) for name in ("filepath", "format", "size")}
    assert bpy.ops.knuckle.render_film(**options) == {"FINISHED"}
    assert (here / "out/walk.png").stat().st_size > 1000
    assert "*Render Video*" in said["film"]

    # import.md: File > Export; what was not changed is as it was
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.export_scene.mechanism(filepath=str(here / "out/hexapod.jm"), format="juice") == {"FINISHED"}
    before = (here / "sample_models/hexapod/hexapod.jm").read_text(encoding="utf-8").splitlines()
    after = (here / "out/hexapod.jm").read_text(encoding="utf-8").splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert 1 <= len(changed) <= 2, "the stops of two knees"
    assert all("StopValue" in old and "50" in new for old, new in changed)
