"""Check of other Blender versions, as a script: save a file with all that a mechanism may have."""

# ``python saved_elsewhere.py OUT.blend``, in whichever Blender runs it. Prints one line of JSON: what the file has to
# do in every other Blender.

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEXAPOD = ROOT / "sample_models/hexapod/hexapod.jm"
HUMANOID = ROOT / "sample_models/humanoid/humanoid.skel"
SQUAT = ROOT / "sample_models/humanoid/squat.xmdi"


def poses(rig: Any, frames: list[int]) -> list[list[float]]:
    """Where the bodies of a model are in the world at some frames."""
    import bpy

    bodies = sorted((o for o in bpy.data.objects if o.knuckle.model == rig and o.knuckle.role == "BODY"), key=str)
    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append([x for body in bodies for row in body.matrix_world for x in row])
    return out


def rigs() -> dict[str, Any]:
    import bpy

    return {obj.knuckle.source_name: obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"}


def main(out: str) -> None:
    import bpy

    import addon

    bpy.ops.wm.read_factory_settings(use_empty=True)
    addon.register()
    bpy.ops.import_scene.mechanism(filepath=str(HEXAPOD))
    bpy.ops.import_scene.mechanism(filepath=str(HUMANOID))
    man = next(rig for rig in rigs().values() if rig.data.knuckle.format == "skel")
    bpy.context.view_layer.objects.active = man
    bpy.ops.import_anim.servo_motion(filepath=str(SQUAT))
    (beast,) = (rig for rig in rigs().values() if rig != man)
    beast.data.knuckle.symmetric = True
    bpy.context.view_layer.objects.active = beast
    bpy.ops.knuckle.build_physics()
    told = {name: poses(rig, [1, 20, 40]) for name, rig in rigs().items()}
    bpy.context.scene.frame_set(1)
    bpy.ops.wm.save_as_mainfile(filepath=out)
    print("TOLD " + json.dumps({"blender": list(bpy.app.version), "poses": told}))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1])
