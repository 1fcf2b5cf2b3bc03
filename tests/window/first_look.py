"""The first minute: what an import shows in the default scene, and what Blender's search finds."""

import bpy
from driving import done, drop, expect, key, move, point, region, shot, step, text

FILES = ("sample_models/hexapod/hexapod.jm",)
SIZE = "1920x1080"

#: What is typed into the search, and the operator that Return then runs.
SEARCHES = {
    "check mech": "KNUCKLE_OT_check_model",
    "zero serv": "KNUCKLE_OT_zero_servos",
    "key servos": "KNUCKLE_OT_key_servos",
    "measure again": "KNUCKLE_OT_fit_world",
    "find twins": "KNUCKLE_OT_find_twins",
    "check symm": "KNUCKLE_OT_check_symmetry",
    "mirror to tw": "KNUCKLE_OT_mirror_to_twin",
    "unlink twins": "KNUCKLE_OT_unlink_twins",
    "duplicate limb": "KNUCKLE_OT_duplicate_limb",
    "update arm": "KNUCKLE_OT_refit",
}


@step()
def dropped():
    shot("startup")
    drop("hexapod.jm")
    shot("popup")
    key("RET")


@step(after=2)
def framed():
    shot("imported")
    expect("Cube" not in bpy.data.objects, "the default cube was replaced")
    expect("Camera" in bpy.data.objects, "the camera stays")


@step()
def searched():
    tibia = bpy.data.objects["Left Front Tibia"]
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    tibia.select_set(True)
    bpy.context.view_layer.objects.active = tibia
    move(*point(region("WINDOW"), 700, 500))
    yield
    for number, (words, idname) in enumerate(SEARCHES.items()):
        key("F3")
        yield
        text(words)
        yield
        shot(f"search_{number}")
        key("RET")
        yield
        done_last = bpy.context.window_manager.operators[-1].bl_idname
        expect(done_last == idname, f"the search for {words!r} runs {idname} (here: {done_last})")
    done()
