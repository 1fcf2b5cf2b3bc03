"""Runs parts of ``build.py bench --against`` with the package of one tree: ``python -P one_tree.py TREE FOLDER``.

Reads names of parts, one a line, and answers each with a line of JSON: what was timed, and its processor seconds. Uses
public names alone, so that the package may be that of any release."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

Took = Iterator[tuple[str, float]]
#: Frames that are played, poses that are taken and changes that are made, for one time.
FRAMES, POSES, EDITS = 60, 40, 10
EXTENSIONS = {"juice": ".jm", "skel": ".skel", "x_xy": ".xml", "shift": ".json"}


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def fresh() -> None:
    """An empty file, at the frame rate of the models."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 60


def imported(path: Path, **options: Any) -> float:
    import bpy

    return seconds(lambda: bpy.ops.import_scene.mechanism(filepath=str(path), **options))


def the_rig() -> Any:
    import bpy

    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    bpy.context.view_layer.objects.active = rig
    return rig


def played(step: int = 1) -> float:
    """Seconds of ``FRAMES`` frames: in a row, or scrubbed with a ``step`` that has no factor in common with them."""
    import bpy

    scene = bpy.context.scene
    scene.frame_set(1)

    def frames() -> None:
        for number in range(1, 1 + FRAMES):
            scene.frame_set(1 + number * step % (1 + FRAMES))

    return seconds(frames)


def posed(rig: Any, names: list[str]) -> float:
    """Seconds of ``POSES`` poses of some hinges' bones."""
    import bpy

    bones = [rig.pose.bones[name] for name in names]

    def poses() -> None:
        for number in range(POSES):
            for bone in bones:
                bone.rotation_euler.z += 0.001 * (-1) ** number
            bpy.context.view_layer.update()

    poses()
    return seconds(poses)


def edited_and_exported(folder: Path, format_: str) -> Took:
    """A model of a format in, and out: unedited, with a body moved, and once more."""
    import bpy

    fresh()
    yield f"import, {format_}", imported(folder / f"star{EXTENSIONS[format_]}", gait=False)
    the_rig()
    out = folder / f"out-{os.getpid()}{EXTENSIONS[format_]}"

    def export() -> object:
        return bpy.ops.export_scene.mechanism(filepath=str(out), format=format_)

    yield f"export, {format_}, unedited", seconds(export)
    next(obj for obj in bpy.data.objects if obj.knuckle.role == "BODY").location.x += 0.125
    yield f"export, {format_}, a body moved", seconds(export)
    yield f"export, {format_}, once more", seconds(export)


def motion(folder: Path) -> Took:
    """A motion on a model without and with rigid bodies: in, played, posed, out."""
    import bpy

    for physics, told in ((False, "no physics"), (True, "rigid bodies")):
        fresh()
        imported(folder / "star.jm", gait=False, physics=physics)
        rig = the_rig()
        yield (
            f"import, motion, {told}",
            seconds(lambda: bpy.ops.import_anim.servo_motion(filepath=str(folder / "motion.csv"))),
        )
        yield f"play, keys, {told}", played()
        yield f"scrub, keys, {told}", played(23)
        out = str(folder / f"out-{os.getpid()}.csv")
        for keys in ("KEYS", "SAMPLED"):
            options = {"servos": "ALL", "keys": keys, "step": 1000.0 / 60, "use_range": True, "frame_end": 1 + FRAMES}
            export = partial(bpy.ops.export_anim.servo_motion, filepath=out, frame_start=1, **options)
            yield f"export, motion, {keys.lower()}, {told}", seconds(export)
        rig.animation_data.action = None
        yield f"pose, one hinge, {told}", posed(rig, ["Hinge 1"])
        yield f"pose, every hinge, {told}", posed(rig, [bone.name for bone in rig.pose.bones if "Hinge" in bone.name])


def edited(folder: Path, physics: bool) -> Took:
    """Edits of one joint and of one body in a mechanism of many bodies with twins; undo; its .blend opened."""
    import bpy

    told = "rigid bodies" if physics else "no physics"
    fresh()
    yield f"import, twins, {told}", imported(folder / "twins.jm", gait=False, physics=physics)
    rig, ops = the_rig(), bpy.ops.knuckle
    bone = rig.pose.bones["Hinge 5"]
    bpy.ops.ed.undo_push(message="imported")
    picked("Hinge 5")
    yield f"edit, joint type, {told}", repeated(ops.set_joint_type, {"type": "prismatic"}, {"type": "revolute"})
    bpy.context.scene.cursor.location = part("Hinge 5").matrix_world.translation
    yield f"edit, joint moved, {told}", repeated(ops.move_joint, {"where": "CURSOR"}, {"where": "CURSOR"})
    yield f"edit, stops from pose, {told}", repeated(ops.set_stops, {"to": "LOWER"})
    (dof,) = part("Hinge 5").knuckle.joint.dofs
    yield f"edit, a stop typed, {told}", changed(lambda by: setattr(dof, "lower", by - 0.5))
    body = part("Link 5").knuckle
    yield f"edit, a mass typed, {told}", changed(lambda by: setattr(body, "mass", by + 1.0))
    picked("Link 5", "Hinge 5")
    yield f"edit, mirror to twin, {told}", repeated(ops.mirror_to_twin, {}, {})
    for symmetric in (False, True):
        rig.data.knuckle.symmetric = symmetric
        how = f"symmetric editing {'on' if symmetric else 'off'}, {told}"
        for what, name in (("body", "Link 5"), ("joint", "Hinge 5")):
            picked(name)
            yield f"edit, a {what} moved, {how}", changed(partial(setattr, part(name).location, "z"))
        yield f"pose, one hinge, {how}", changed(partial(setattr, bone.rotation_euler, "z"))
    bpy.ops.ed.undo_push(message="moved")
    yield f"undo and redo, {told}", seconds(lambda: (bpy.ops.ed.undo(), bpy.ops.ed.redo()))
    path = str(folder / f"out-{os.getpid()}.blend")
    yield f"save, .blend, {told}", seconds(lambda: bpy.ops.wm.save_as_mainfile(filepath=path))
    yield f"open, .blend, {told}", seconds(lambda: bpy.ops.wm.open_mainfile(filepath=path))


def part(name: str) -> Any:
    """Return the body or joint that its file calls so: with rigid bodies, edits replace joints by new objects."""
    import bpy

    return next(obj for obj in bpy.context.view_layer.objects if obj.knuckle.source_name == name)


def picked(*names: str) -> None:
    """Select some bodies and joints alone, the last one active."""
    import bpy

    bpy.ops.object.select_all(action="DESELECT")
    for obj in map(part, names):
        obj.select_set(True)
        bpy.context.view_layer.objects.active = obj


def repeated(operator: Callable[..., object], *options: dict[str, Any]) -> float:
    """Seconds of an operator with some options, one after the other."""
    return seconds(lambda: [operator(**each) for each in options])


def changed(change: Callable[[float], object]) -> float:
    """Seconds of ``EDITS`` changes of one value, each with the update that follows it."""
    import bpy

    def changes() -> None:
        for number in range(EDITS):
            change(0.001 * (number + 1))
            bpy.context.view_layer.update()

    changes()
    return seconds(changes)


def samples(folder: Path) -> Took:
    """Our own models: a gait, a run with servos, a motion file, a closed loop."""
    import bpy

    fresh()
    yield "import, hexapod with its gait", imported(folder / "samples/hexapod/hexapod.jm")
    rig = the_rig()
    yield "play, hexapod, gait", played()
    rig.data.knuckle.drive = "SERVO"
    bpy.context.view_layer.update()
    yield "play, hexapod, servos", played()
    fresh()
    yield "import, humanoid", imported(folder / "samples/humanoid/humanoid.skel")
    the_rig()
    bpy.ops.import_anim.servo_motion(filepath=str(folder / "samples/humanoid/squat.xmdi"))
    yield "play, humanoid, motion file", played()
    fresh()
    yield "import, pumpjack", imported(folder / "samples/pumpjack/pumpjack.json")
    yield "pose, pumpjack, closed loop", posed(the_rig(), ["motor"])


PARTS: dict[str, Callable[[Path], Took]] = {
    **{format_: partial(edited_and_exported, format_=format_) for format_ in EXTENSIONS},
    "motion": motion,
    "editing": partial(edited, physics=False),
    "editing_physics": partial(edited, physics=True),
    "samples": samples,
}


def main(tree: Path, folder: Path) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Blender prints is no answer
    sys.path.insert(0, str(tree))
    import bpy  # noqa: F401 - before Knuckle, as always

    import addon

    if not Path(addon.__file__).resolve().is_relative_to(tree):
        raise SystemExit(f"{tree} has no package addon of its own")
    addon.register()
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):
            took = dict(PARTS[line.strip()](folder))
        answers.write(json.dumps(took) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
