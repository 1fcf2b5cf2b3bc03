"""Harm check without the extension, as a script: which harms crash Blender alone, and how often."""

# ``python -m tests.support.plain TRIALS [HARM…]`` tries each harm so many times, every time in a process of its own,
# and prints how many of these crashed. Three boxes on two hinges fall for two frames; then the harm is done, it is
# undone and redone, played again, saved, opened and played, as ``harmed.py`` does with a mechanism.

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What Blender prints after everything was done, and Python is about to end.
DONE = "DONE"


def build() -> None:
    """What the harms find by its names."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("RigidBodyWorld")
    world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    bodies = bpy.data.collections.new("Bodies")
    scene.collection.children.link(bodies)
    made = {}
    for name, x in (("Trunk", 0.0), ("Left Flap", -1.25), ("Right Slide", 1.25)):
        mesh = bpy.data.meshes.new(name)
        points = [(a, b, c) for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.1, 0.1)]
        mesh.from_pydata(
            points, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        )
        made[name] = bpy.data.objects.new(name, mesh)
        made[name].location.x = x
        bodies.objects.link(made[name])
        world.collection.objects.link(made[name])
    for name, child, x in (("Left Joint", "Left Flap", -0.6), ("Right Joint", "Right Slide", 0.6)):
        empty = bpy.data.objects.new(name, None)
        empty.location.x = x
        scene.collection.objects.link(empty)
        world.constraints.objects.link(empty)
        held = empty.rigid_body_constraint
        held.type, held.object1, held.object2 = "HINGE", made["Trunk"], made[child]
    bpy.context.view_layer.update()


def once(harm: str) -> None:
    """One trial."""
    import bpy

    from tests.support.harms import HARMS, back_and_forth

    build()
    scene = bpy.context.scene
    for frame in (1, 2):
        scene.frame_set(frame)
    bpy.ops.ed.undo_push(message="before")
    HARMS[harm]()
    bpy.ops.ed.undo_push(message="harm")
    for frame in range(3, 13):
        bpy.context.scene.frame_set(frame)
    back_and_forth()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    print(DONE, flush=True)


def crashes(harm: str, trials: int) -> int:
    """How many of some trials Blender did not survive."""
    line = [sys.executable, "-m", __spec__.name, "once", harm]
    ends = [subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False) for _ in range(trials)]
    return sum(DONE not in end.stdout for end in ends)


def main(words: list[str]) -> None:
    """Try all that are named, or those that are left out of the tests of harms."""
    import bpy

    from tests.support.harmed_helpers import FATAL

    trials = int(words[0])
    for harm in words[1:] or sorted(FATAL):
        print(f"Blender {bpy.app.version_string}  {harm:32} {crashes(harm, trials)} of {trials} crashed", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "once":
        once(sys.argv[2])
    else:
        main(sys.argv[1:])
