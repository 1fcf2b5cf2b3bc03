"""``build.py bench physics_clear``: whether clearing physics leaves the file as it was before it was built.

Compared are all properties of the scene, its world, every object and model, and which datablocks there are.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator

from addon.blender.physics.simulation.setup import build_physics, clear_physics
from benchmarks import physics
from benchmarks.physics_servos import Row, fresh
from tests.support.clear_helpers import FORCES, a_users_rigid_body, differences, everything, left_after
from tests.support.mechanisms import JUICE, play, put

_MODELS = ("SimpleHex", "bird1", "Dihno2")


def clear() -> Iterator[Row]:
    """Real models: built, run and cleared, in every drive, with and without a world of the user's."""
    for name, drive, users in itertools.product(_MODELS, ("KEYS", "SERVO", "LIMP"), (False, True)):
        scene = fresh()
        if users:
            a_users_rigid_body(scene)
        rig = put(JUICE / "models" / f"{name}.jm", physics=False)
        scene.frame_set(1)
        before = everything(scene)
        build_physics(scene, rig)
        rig.data.knuckle.drive = drive
        play(scene, 20, lambda: None)
        clear_physics(scene, rig)
        scene.frame_set(1)
        left = len(differences(before, everything(scene)))
        world = "the user's own world" if users else "no world before"
        yield f"{name}, {drive}, {world}: datablocks that differ after clearing", left, 0, not left


def forces() -> Iterator[Row]:
    """A model for each kind of force that has motors, under servos and limp."""
    for name, drive in itertools.product(FORCES, ("SERVO", "LIMP")):
        left, motors = left_after(fresh(), FORCES[name](), drive)
        yield f"{name}, {drive}, {motors} motors: what differs after clearing", len(left), 0, not left and motors > 0


PARTS: dict[str, Callable[[], Iterator[Row]]] = {"clear": clear, "forces": forces}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return physics.main(["--only", "physics_clear", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
