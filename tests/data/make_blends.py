"""Make the .blend files of release 1.0 in ``blends/``, and beside each what release 1.0 itself reads from it.

    git worktree add /tmp/knuckle-1.0 1db990d
    PYTHONPATH=/tmp/knuckle-1.0 PYTHON_OF_BLENDER_4.2 tests/data/make_blends.py /tmp/knuckle-1.0 [NAME ...]

and the same with a Python of Blender 5.2. The script uses operators and properties of release 1.0 only: it is a record
of how the files were made, and is not adapted to later releases. ``NAME``: only these files.

For each file ``NAME-SERIES.blend`` (SERIES is Blender's version):

* ``NAME-SERIES.MODEL.FORMAT``: the model as release 1.0 exports it from the saved and reopened file.
* ``NAME-SERIES.MODEL.csv``: its motion, sampled at every frame.
* ``NAME-SERIES.json``: its parts by role, its Actions, its drive, and world positions of its bodies at some frames.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

BLENDS = Path(__file__).resolve().parent / "blends"
FORMATS = {"juice": ".jm", "skel": ".skel", "x_xy": ".xml", "shift": ".json"}
FRAMES = (1, 10, 20)
LAST = 20


# ---- A user's steps


def models() -> dict[str, Any]:
    return {obj.name: obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"}


def activate(obj: Any, *others: Any) -> None:
    """Select some objects; the first becomes the active one."""
    for each in bpy.context.view_layer.objects:
        each.select_set(each in (obj, *others))
    bpy.context.view_layer.objects.active = obj
    bpy.context.view_layer.update()


def import_model(path: Path, **options: Any) -> Any:
    before = set(models())
    assert bpy.ops.import_scene.mechanism(filepath=str(path), **options) == {"FINISHED"}
    (rig,) = (obj for name, obj in models().items() if name not in before)
    return rig


def part(rig: Any, role: str, name: str) -> Any:
    (found,) = (
        obj
        for obj in bpy.data.objects
        if obj.knuckle.model == rig and obj.knuckle.role == role and obj.knuckle.source_name == name
    )
    return found


def done(operator: Callable[..., set[str]], **options: Any) -> None:
    assert operator(**options) == {"FINISHED"}, operator


def changed() -> None:
    """Let Blender evaluate, and Knuckle see, the last change."""
    bpy.context.view_layer.update()


def bone_of(rig: Any, joint: str) -> Any:
    identifier = part(rig, "JOINT", joint).knuckle.source_id
    return next(rig.pose.bones[bone.name] for bone in rig.data.bones if bone.knuckle.joint == identifier)


def bake(rig: Any, last: int = LAST) -> None:
    """Simulate with servos and write the run as an Action, which plays from then on with the bodies on their bones."""
    activate(rig)
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    rig.data.knuckle.drive = "SERVO"
    done(bpy.ops.knuckle.bake_physics, frame_end=last)
    rig.data.knuckle.drive = "KEYS"
    scene.frame_set(scene.frame_start)
    changed()


# ---- The files


def hexapod(samples: Path) -> None:
    """Juice: gait, baked walk, symmetric editing; renamed, moved, heavier and retyped parts."""
    rig = import_model(samples / "hexapod/hexapod.jm", gait_seconds=2.0)
    rig.data.knuckle.symmetric = True
    changed()
    part(rig, "BODY", "Left Front Tibia").knuckle.mass = 1.25
    changed()
    rig.data.knuckle.symmetric = False
    part(rig, "BODY", "Head").name = "Skull"
    changed()
    part(rig, "BODY", "Abdomen").location.z += 0.0625
    changed()
    activate(part(rig, "JOINT", "Waist"))
    done(bpy.ops.knuckle.set_joint_type, type="prismatic")
    joint = part(rig, "JOINT", "Neck").knuckle.joint.dofs[0]
    joint.lower, joint.upper = -0.5, 0.625
    changed()
    activate(part(rig, "BODY", "Left Antenna"))
    done(bpy.ops.knuckle.unlink_twins)
    rig.data.knuckle.symmetric = True
    rig.data.knuckle.controls.joystick_1_y = -1.0
    done(bpy.ops.knuckle.build_physics)
    bake(rig)


def humanoid(samples: Path) -> None:
    """SKEL: a motion file on a humanoid with linked twins, and a lamp with edited joints, keyed by hand."""
    man = import_model(samples / "humanoid/humanoid.skel")
    activate(man)
    done(bpy.ops.import_anim.servo_motion, filepath=str(samples / "humanoid/squat.xmdi"))
    activate(part(man, "BODY", "left forearm"), part(man, "BODY", "right forearm"))
    done(bpy.ops.knuckle.link_twins)
    part(man, "BODY", "head").knuckle.mass = 0.75
    part(man, "BODY", "torso").name = "trunk"
    changed()
    bone_of(man, "LKneePitch").name = "left knee"
    changed()
    lamp = import_model(samples / "desk_lamp/desk_lamp.skel")
    lamp.location.x = 1.5
    changed()
    activate(part(lamp, "JOINT", "neck"))
    done(bpy.ops.knuckle.set_joint_type, type="revolute")
    part(lamp, "BODY", "shade").location.z += 0.03125
    part(lamp, "JOINT", "shoulder").knuckle.joint.dofs[0].upper = 1.0
    changed()
    for frame, value in ((1, 0.5), (LAST, -0.25)):
        bone = bone_of(lamp, "shoulder")
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(1)
    bpy.context.scene.frame_end = LAST


def sensor_leg(samples: Path) -> None:
    """x_xy: keyed by hand, simulated and baked; renamed, moved, painted and heavier parts."""
    leg = import_model(samples / "sensor_leg/sensor_leg.xml")
    foot = part(leg, "BODY", "foot")
    foot.knuckle.mass = 1.5
    nodes = foot.material_slots[0].material.node_tree.nodes
    nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.25, 0.5, 0.75, 1.0)
    part(leg, "BODY", "shank_sensor").name = "imu"
    part(leg, "BODY", "thigh_sensor").location.x += 0.015625
    changed()
    bone = bone_of(leg, "shank")
    for frame, value in ((1, 0.0), (LAST, -0.5)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_end = LAST
    bake(leg)


def pumpjack(samples: Path) -> None:
    """Shift: a closed loop with meshes of files, turned by keys of its motor; renamed and heavier parts, a frame
    that was moved."""
    jack = import_model(samples / "pumpjack/pumpjack.json")
    part(jack, "BODY", "pitman").knuckle.mass = 175.0
    part(jack, "BODY", "beam").name = "walking beam"
    changed()
    part(jack, "JOINT", "crank_pin").name = "crank joint"
    changed()
    part(jack, "FRAME", "sky").location.x += 0.125
    changed()
    bone = bone_of(jack, "motor")
    first = bone.rotation_euler.z
    for frame, value in ((1, first), (LAST, first + 1.5)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_end = LAST
    done(bpy.ops.knuckle.build_physics)
    bpy.context.scene.frame_set(1)


def own(samples: Path) -> None:
    """A walker of ours that no file has, its own simulation baked, beside an unedited rover that was saved in Servos,
    in the middle of a simulation."""
    done(bpy.ops.knuckle.add_mechanism, kind="walker")
    (walker,) = models().values()
    rover = import_model(samples / "rover/rover.jm", gait_seconds=1.0)
    rover.location.y = 3.0
    changed()
    done(bpy.ops.knuckle.build_physics)
    for frame, value in ((1, 0.0), (LAST, 0.75)):
        bone = bone_of(walker, "Left Front Knee")
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    activate(walker)
    done(bpy.ops.knuckle.build_physics)
    bake(walker)
    rover.data.knuckle.drive = "SERVO"
    changed()
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)


FILES = (hexapod, humanoid, sensor_leg, pumpjack, own)


# ---- What release 1.0 reads


def positions(rig: Any) -> list[dict[str, list[float]]]:
    """World positions of the bodies at ``FRAMES``, by their names in the file."""
    out = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bodies = (obj for obj in bpy.data.objects if obj.knuckle.model == rig and obj.knuckle.role == "BODY")
        out.append({obj.name: [round(x, 6) for x in obj.matrix_world.translation] for obj in bodies})
    return out


def parts(rig: Any) -> dict[str, list[list[str]]]:
    """Name, name in the file, id and twin of every part, by role."""
    out: dict[str, list[list[str]]] = {}
    for obj in sorted((obj for obj in bpy.data.objects if obj.knuckle.model == rig), key=lambda obj: obj.name):
        known = obj.knuckle
        if known.role not in ("NONE", "LABEL"):
            out.setdefault(known.role, []).append([obj.name, known.source_name, known.source_id, known.twin])
    return out


def read_back(stem: str) -> None:
    """Export what is in the file that is open, and note what else there is."""
    told: dict[str, Any] = {"blender": bpy.app.version_string, "frame": bpy.context.scene.frame_current, "models": {}}
    for name, rig in models().items():
        known = rig.data.knuckle
        told["models"][name] = {
            "format": known.format,
            "drive": known.drive,
            "symmetric": known.symmetric,
            "physics": sum(obj.rigid_body is not None for obj in bpy.data.objects if obj.knuckle.model == rig),
            "action": rig.animation_data.action.name if rig.animation_data and rig.animation_data.action else "",
            "parts": parts(rig),
        }
        activate(rig)
        format_ = known.format or "juice"
        target = BLENDS / f"{stem}.{name}{FORMATS[format_]}"
        done(bpy.ops.export_scene.mechanism, filepath=str(target), format=format_, meshes="REFER")
    told["actions"] = sorted(action.name for action in bpy.data.actions)
    for name, rig in models().items():
        rig.data.knuckle.drive = "KEYS"
        changed()
        activate(rig)
        if told["models"][name]["action"]:
            target = BLENDS / f"{stem}.{name}.csv"
            done(bpy.ops.export_anim.servo_motion, filepath=str(target), servos="ALL", keys="SAMPLED", use_range=True,
                 frame_start=1, frame_end=LAST, step=1000.0 * 4 / bpy.context.scene.render.fps)  # fmt: skip
        told["models"][name]["positions"] = positions(rig)
    text = json.dumps(told, indent=1, sort_keys=True)
    (BLENDS / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def main(release: Path, names: list[str]) -> None:
    import addon

    assert Path(addon.__file__).is_relative_to(release), f"this is not the package of {release}: {addon.__file__}"
    series = "{}.{}".format(*bpy.app.version)
    for make in FILES:
        if names and make.__name__ not in names:
            continue
        bpy.ops.wm.read_factory_settings(use_empty=True)
        if not addon.is_registered():
            addon.register()
        stem = f"{make.__name__}-{series}"
        path = str(BLENDS / f"{stem}.blend")
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(shutil.copytree(release / "sample_models", Path(folder, "models")))
            make(samples)
        bpy.ops.wm.save_as_mainfile(filepath=path, compress=True)
        bpy.ops.wm.open_mainfile(filepath=path)
        read_back(stem)
        bpy.ops.wm.read_factory_settings(use_empty=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
