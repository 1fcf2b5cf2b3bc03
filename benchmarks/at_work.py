"""What it is to work with a large model: import, pose, play, look, check, save, export. Beside each figure of work
stands what Blender takes for the same change with our handlers switched off, or the model's import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from addon import formats
from addon.blender.data.access import record_of
from addon.blender.data.queries import parts, rig_in
from addon.blender.editing.repair.checks import check_model
from addon.blender.physics.simulation.setup import clear_physics
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from benchmarks.measuring import again, fresh, seconds
from benchmarks.speed.overlays import marked
from benchmarks.speed.panels import redrawn
from benchmarks.table import Row

#: The most that an import may grow, and what reads or writes a file.
GROWTH, FILE_GROWTH = 1.5, 1.25
_HANDLERS = ("frame_change_pre", "frame_change_post", "depsgraph_update_pre", "depsgraph_update_post")
_PLAIN = "without Knuckle's handlers"


def worked_with(path: Path, whose: str, size: int, unit: str) -> Iterator[Row]:
    """The rows of a model file, from its reading to the .blend that it was saved in."""

    def row(what: str, value: float, floor: float | None = None, name: str = "", growth: float | None = None) -> Row:
        return Row(f"{whose}: {what}", size, unit, value, floor, name, growth_bar=growth)

    out = path.with_name("out" + path.suffix)
    fresh()
    made: list[bpy.types.Collection] = []
    yield row("read", seconds(lambda: formats.load(path)), growth=FILE_GROWTH)
    took = seconds(lambda: made.append(build(formats.load(path), bpy.context, BuildOptions(gait=False))))
    yield row("import", took, growth=GROWTH)

    def exported() -> None:
        formats.save(extract(made[0]), out)

    yield row("export, unedited", seconds(exported), took, "its import", FILE_GROWTH)
    assert out.read_bytes() == path.read_bytes(), "what was not edited is written as it was"
    rig, scene = rig_in(made[0]), bpy.context.scene
    assert rig is not None
    hinge = next(bone for bone in rig.pose.bones if not bone.lock_rotation[2] and bone.parent is not None)

    def posed() -> None:
        hinge.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    def played() -> None:
        scene.frame_set(scene.frame_current + 1)

    yield row("a bone posed", *_with_and_without(posed), _PLAIN)
    for bone in rig.pose.bones:
        bone.keyframe_insert("rotation_euler", index=2, frame=1)
    yield row("a frame of keys and physics", *_with_and_without(played), _PLAIN)
    yield from redrawn(rig, size, unit, f"{whose}: ")
    yield from marked(hinge, size, unit, f"{whose}: ")
    yield row("Check Mechanism", seconds(lambda: check_model(rig)), took, "its import", FILE_GROWTH)
    blend = str(path.with_name("saved.blend"))
    yield row("save .blend", seconds(lambda: bpy.ops.wm.save_as_mainfile(filepath=blend, copy=True)))
    yield row("physics cleared", seconds(lambda: clear_physics(scene, rig)), took, "its import", GROWTH)
    yield row("a frame of keys", *_with_and_without(played), _PLAIN)
    body = next(obj for obj in parts(rig, "BODY") if record_of(obj).role == "BODY")
    body.location.x += 0.125
    yield row("export, a body moved", seconds(exported), took, "its import", FILE_GROWTH)
    assert out.read_bytes() != path.read_bytes(), "the edit is written"
    yield row("open .blend", seconds(lambda: bpy.ops.wm.open_mainfile(filepath=blend)))


def _with_and_without(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds of an act, and the same without our handlers."""
    ours = again(act, 5)
    with unhandled():
        return ours, again(act, 5)


@contextmanager
def unhandled() -> Iterator[None]:
    """Within it nobody is told of changes and of frames."""
    lists = {name: getattr(bpy.app.handlers, name) for name in _HANDLERS}
    kept = {name: list(handlers) for name, handlers in lists.items()}
    for handlers in lists.values():
        handlers.clear()
    try:
        yield
    finally:
        for name, handlers in lists.items():
            handlers[:] = kept[name]
