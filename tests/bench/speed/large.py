"""Large models: a factory of robots in nested assemblies with loops, and how it is to work with. Beside each figure of
work stands what Blender takes for the same change with our handlers switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import bpy

from addon import formats
from addon.blender.access import record_of
from addon.blender.build import BuildOptions, build
from addon.blender.extract import extract
from addon.blender.model_parts import rig_in
from addon.blender.physics.simulation import clear_physics
from tests.bench import factory
from tests.bench.measuring import again, fresh, seconds
from tests.bench.table import Row

SIZES, QUICK = (20, 80, 200), (2, 4, 6)
GROWTH = 1.5
_HANDLERS = ("frame_change_pre", "frame_change_post", "depsgraph_update_pre", "depsgraph_update_post")


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Import, pose, play, save and export of factories."""
    for robots in sizes:
        yield from _of(robots, folder)


def _of(robots: int, folder: Path) -> Iterator[Row]:
    def row(what: str, value: float, floor: float | None = None, name: str = "", growth: float | None = None) -> Row:
        return Row(f"factory: {what}", robots, "robots", value, floor, name, growth_bar=growth)

    path, out = factory.written(folder, robots), folder / "out.json"
    fresh()
    made: list[bpy.types.Collection] = []
    read = seconds(lambda: formats.load(path))
    took = seconds(lambda: made.append(build(formats.load(path), bpy.context, BuildOptions())))
    yield row("read", read, growth=1.25)
    yield row("import", took, growth=GROWTH)

    def exported() -> None:
        formats.save(extract(made[0]), out)

    yield row("export, unedited", seconds(exported), took, "its import", 1.25)
    assert out.read_bytes() == path.read_bytes(), "what was not edited is written as it was"
    rig, scene = rig_in(made[0]), bpy.context.scene
    assert rig is not None
    hinge = next(bone for bone in rig.pose.bones if not bone.lock_rotation[2] and bone.parent is not None)

    def posed() -> None:
        hinge.rotation_euler[2] += 0.01
        bpy.context.view_layer.update()

    def played() -> None:
        scene.frame_set(scene.frame_current + 1)

    yield row("a bone posed", *_with_and_without(posed), "without our handlers")
    for bone in rig.pose.bones:
        bone.keyframe_insert("rotation_euler", index=2, frame=1)
    yield row("a frame of keys and physics", *_with_and_without(played), "without our handlers")
    yield row("physics cleared", seconds(lambda: clear_physics(scene, rig)), took, "its import", GROWTH)
    yield row("a frame of keys", *_with_and_without(played), "without our handlers")
    body = next(obj for obj in made[0].all_objects if record_of(obj).role == "BODY")
    body.location.x += 0.125
    yield row("export, a body moved", seconds(exported), took, "its import", 1.25)
    blend = str(folder / "factory.blend")
    yield row("save .blend", seconds(lambda: bpy.ops.wm.save_as_mainfile(filepath=blend, check_existing=False)))
    yield row("open .blend", seconds(lambda: bpy.ops.wm.open_mainfile(filepath=blend)))


def _with_and_without(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds of an act, and the same without our handlers."""
    ours = again(act, 5)
    with _unhandled():
        return ours, again(act, 5)


@contextmanager
def _unhandled() -> Iterator[None]:
    lists = {name: getattr(bpy.app.handlers, name) for name in _HANDLERS}
    kept = {name: list(handlers) for name, handlers in lists.items()}
    for handlers in lists.values():
        handlers.clear()
    try:
        yield
    finally:
        for name, handlers in lists.items():
            handlers[:] = kept[name]
