"""``build.py bench physics_pace``: what servos of several degrees, loops and restraints cost of a frame. (What
plain servos cost is in the table of ``build.py bench``.)

Ratios are of CPU seconds per frame, in one process and in turn, so that what else the machine does is in both.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import bpy
import numpy as np

from addon.blender.animation.gait import bake_gait
from addon.blender.animation.keying import LINEAR, key_servos
from addon.blender.animation.loops.live_solver import live_loops, solver_suspended
from addon.blender.physics.simulation.controller import ModelController
from addon.core.kinematics import spanning_tree
from addon.core.loops.closure import input_joint_order
from addon.core.loops.linkage_solver import LinkageSolver, find_linkages
from addon.core.model import Body, Joint, Mechanism, Restraint, Shape, World
from benchmarks import physics
from benchmarks.mechanisms import star
from benchmarks.physics_servos import Row, fresh
from tests.support.degrees_helpers import put as put_mechanism
from tests.support.loops import crank_rocker
from tests.support.mechanisms import put
from tests.support.several_servos_helpers import kinds
from tests.support.swings import put_world

_FRAMES, _PAIRS = 40, 7


def stepped(rig: Any, drive: str, frames: int = _FRAMES) -> tuple[float, float]:
    """Medians of a frame's CPU seconds and of its seconds, from the fourth frame of a run on."""
    rig.data.knuckle.drive = drive
    spent, took = [], []
    for frame in range(1, 4 + frames):
        start, clock = time.process_time(), time.perf_counter()
        bpy.context.scene.frame_set(frame)
        spent.append(time.process_time() - start)
        took.append(time.perf_counter() - clock)
    return statistics.median(spent[3:]), statistics.median(took[3:])


def model(count: int, keyed: bool = False) -> Any:
    """A star with hinges on ``count`` bodies and one more, that swings by its own gait or by keys."""
    scene = fresh()
    rig = put(star(count + 1), gait=False)
    if keyed:
        bake_gait(scene, rig, 1, 4 + _FRAMES)
        rig.data.knuckle.target = "KEYS"
    return rig


def idle(rig: Any) -> float:
    """A frame's CPU seconds with all motors in Blender's world and nobody who commands them."""
    kept = ModelController.step
    ModelController.step = lambda *_: None  # type: ignore[method-assign]
    try:
        return stepped(rig, "SERVO")[0]
    finally:
        ModelController.step = kept  # type: ignore[method-assign]


def several() -> Iterator[tuple[str, float, None, bool]]:
    """The same with servos on joints of several degrees, told and not judged: bodies that hang from the world, far
    from each other."""
    for kind, count in (("universal", 50), ("ball", 33)):
        over = []
        for _ in range(_PAIRS):
            fresh()
            servo = stepped(put_world(hanging(kind, count), "LIMP", 1.0), "SERVO")[0]
            fresh()
            over.append(servo / idle(put_world(hanging(kind, count), "LIMP", 1.0)))
        ratio = statistics.median(over)
        what = f"a frame with servos on {count} joints ({kind}), over the same scene with nobody commanding the motors"
        yield f"{what}: ratio", ratio, None, True


def hanging(kind: str, count: int) -> Mechanism:
    """Boxes that hang from the world by joints of a kind each."""
    bodies, joints = [], []
    for number in range(count):
        place = np.eye(4)
        place[:3, 3] = 3.0 * (number % 10), 3.0 * (number // 10), 5.0
        box = Shape("box", {"x": 0.4, "y": 0.5, "z": 0.6})
        bodies.append(Body(f"box {number}", f"box {number}", place, mass=1.0, shapes=[box]))
        dofs = deepcopy(kinds()[kind])
        joints.append(Joint(f"{number}", f"{number}", kind, None, f"box {number}", place.copy(), np.eye(4), dofs=dofs))
    return Mechanism("hanging", World(gravity=np.array([0.0, 0.0, -9.81])), bodies=bodies, joints=joints)


def loops() -> Iterator[Row]:
    """Cost of a loop that follows its keyed driver, per frame: the difference with its solver and without."""
    scene = fresh()
    rig = put_mechanism(crank_rocker(), physics=False)
    loop = live_loops(rig)[0]
    key_servos(rig, "turn", {loop.drivers[0]: (np.array([1.0, 301.0]), np.array([0.0, 6.0]), LINEAR)})

    def milliseconds() -> float:
        took = []
        for frame in range(1, 301):
            start = time.process_time()
            scene.frame_set(frame)
            took.append(1000.0 * (time.process_time() - start))
        return statistics.fmean(took)  # several frames are solved at once

    spent = milliseconds()
    with solver_suspended():
        spent -= milliseconds()
    yield "a frame of a four-bar that follows its keyed crank: ms", spent, 1.0, spent <= 1.0


def restraints() -> Iterator[tuple[str, float, float]]:
    """What restraints between bodies and the world cost in a frame: of 80, each over each of 20."""
    each = {}
    for count in (20, 80):
        costs = []
        for _ in range(3):
            fresh()
            bare = stepped(put_world(hanging("universal", count), "LIMP", 1.0), "LIMP")[0]
            fresh()
            costs.append(stepped(put_world(restrained(count), "LIMP", 1.0), "LIMP")[0] - bare)
        each[count] = statistics.median(costs) / count
        yield f"a frame with {count} restraints between bodies and the world: ms for each", 1e3 * each[count], 1.5
    yield "a restraint among 80, over one among 20: ratio of their time", each[80] / each[20], 2.0


def restrained(count: int) -> Mechanism:
    """Boxes that hang from the world, each on a spring as well."""
    mechanism = hanging("universal", count)
    far = np.eye(4)
    far[:3, 3] = 0.0, 5.0, 0.0
    mechanism.restraints = [
        Restraint(
            body.id, "spring", bodies=(None, body.id), frames=(body.pose @ far, np.eye(4)), coefficients=[[5, -20]]
        )
        for body in mechanism.bodies
    ]
    return mechanism


def held() -> Iterator[tuple[str, float, float]]:
    """A crank that turns twice in two seconds while its rocker is at a stop for most of it, over one that is free."""
    took = {}
    for stopped in (False, True):
        mechanism = crank_rocker(0.8)
        start = {joint.id: joint.initial for joint in mechanism.joints}
        if stopped:
            rocker = next(joint.dofs[0] for joint in mechanism.joints if joint.id == "D")
            rocker.lower, rocker.upper = -0.15, 0.15
        (linkage,) = find_linkages(mechanism)
        (driver,) = linkage.drivers(start, input_joint_order(mechanism, spanning_tree(mechanism)))
        follower, spent = LinkageSolver(linkage, start), []
        for number in range(1, 121):
            told = {driver: start[driver] + number * np.pi / 30.0}
            begun = time.process_time()
            follower.follow(told, hold=True)
            spent.append(time.process_time() - begun)
        took[stopped] = statistics.median(spent)
    yield "a loop that is held at a stop, over a free one: ratio of their time", took[True] / took[False], 6.0


PARTS: dict[str, Callable[[], Iterator[Any]]] = {
    "several": several,
    "loops": loops,
    "restraints at work": restraints,
    "held": held,
}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return physics.main(["--only", "physics_pace", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
