"""``build.py bench``: how fast Knuckle is, as ratios to floors measured in the same process, or in turn with it.

The floor of the import is the fastest correct script that makes the same scene: bodies sharing one mesh,
hinge constraints, an armature, keys on every bone, and nothing that makes them a model.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import bpy
import numpy as np

import addon
from addon import formats
from addon.blender import compat
from addon.blender.build import BuildOptions, build
from addon.blender.extract import extract
from addon.model.kinematics import spanning_tree
from addon.model.records import Source
from tests.bench import conversions, motion, overlays, physics, reading, symmetry

KEYS = 20
PARTS = ("import", "reading", "kinematics", "motion", "overlays", "symmetry")


def star(count: int, depth: int = 8) -> str:
    """A Juice file of ``count`` boxes and one hinge less: chains of at most ``depth`` links about a middle body."""
    bodies, joints, motors = [], [], []
    for number in range(count):
        arm, place = divmod(number - 1, depth) if number else (0, -1)
        angle = 0.7 * arm
        reach = 0.0 if not number else 0.6 + 0.5 * place
        x, y = reach * math.cos(angle), reach * math.sin(angle)
        bodies.append(
            f"<Body><ID>{10 + number}</ID><Name>Link {number}</Name>{_place(x, y, 2 + 0.01 * arm)}<Twin>0</Twin>"
            f"<BoxDimensions><X>0.4</X><Y>0.1</Y><Z>0.1</Z></BoxDimensions><TubeLength>1</TubeLength>"
            f"<TubeDiameter>1</TubeDiameter><BallDiameter>1</BallDiameter><Shape>1</Shape><Mass>1</Mass></Body>"
        )
        if number:
            parent = 10 if place == 0 else 10 + number - 1
            joints.append(
                f"<RevoluteJoint><ID>{1000000 + number}</ID><Name>Hinge {number}</Name>{_place(x, y, 2)}<Twin>0</Twin>"
                f"<Body1>{parent}</Body1><Body2>{10 + number}</Body2><Gain>10</Gain><MaxForce>100</MaxForce>"
                f"<LoStopValue>-40</LoStopValue><HiStopValue>40</HiStopValue><LoStopFlag>1</LoStopFlag>"
                f"<HiStopFlag>1</HiStopFlag><Length>0.5</Length><Diameter>0.25</Diameter></RevoluteJoint>"
            )
            motors.append(
                f"<ClockworkMotor><JointID>{1000000 + number}</JointID><Enabled>1</Enabled><Offset>0</Offset>"
                f"<MotionType>1</MotionType><Phase>{number % 360}</Phase><Amplitude>20</Amplitude></ClockworkMotor>"
            )
    clockwork = (
        "<Clockwork><Name>Swing</Name><Enabled>1</Enabled><Gain>100</Gain><ClockworkMotors>"
        f"{''.join(motors)}</ClockworkMotors><MotionSource>1</MotionSource><AmpModSource>0</AmpModSource>"
        "<AbsoluteValue>0</AbsoluteValue><FeedbackSource>0</FeedbackSource></Clockwork>"
    )
    return (
        '<Model FileVersion="1"><Gravity>10</Gravity><Friction>100</Friction><ERP>1</ERP><CFM>0.001</CFM>'
        "<StandardSpeed>30</StandardSpeed><SpeedFactor>1</SpeedFactor><PoseDelay>0</PoseDelay><PosePhase>0</PosePhase>"
        f"<Bodies>{''.join(bodies)}</Bodies><RevoluteJoints>{''.join(joints)}</RevoluteJoints>"
        "<PrismaticJoints></PrismaticJoints><SphericalJoints></SphericalJoints><Behaviors>"
        f"{clockwork}</Behaviors></Model>".replace("><", ">\n<")
    )


def _place(x: float, y: float, z: float) -> str:
    rotation = "<Rotation><Y>0</Y><P>0</P><R>0</R></Rotation>"
    return f"<Position><X>{x:.6g}</X><Y>{y:.6g}</Y><Z>{z:.6g}</Z></Position>{rotation}"


def knuckle_import(path: str) -> None:
    """What a user's import does: parse, build, and bake the gait to an Action of ``KEYS`` keys per joint."""
    build(formats.load(path), bpy.context, BuildOptions(gait_seconds=(KEYS - 1) / 60.0))


def floor_import(count: int, keys: int) -> None:
    """The same scene by the shortest way: world and armature first, one mesh, everything linked once."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("floor bodies")
    world.constraints = bpy.data.collections.new("floor constraints")
    armature = bpy.data.armatures.new("floor")
    rig = bpy.data.objects.new("floor", armature)
    scene.collection.objects.link(rig)
    layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    previous = None
    for number in range(count):
        bone = armature.edit_bones.new(f"bone {number}")
        bone.head, bone.tail = (0.1 * number, 0.0, 0.0), (0.1 * number, 0.1, 0.0)
        bone.parent = previous if number % 8 else None
        previous = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    mesh = bpy.data.meshes.new("floor")
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    holder = bpy.data.collections.new("floor")
    bodies, empties = [], []
    for number in range(count):
        body = bpy.data.objects.new(f"body {number}", mesh)
        body.location = (0.1 * number, 0.0, 2.0)
        holder.objects.link(body)
        bodies.append(body)
    for number in range(count - 1):
        empty = bpy.data.objects.new(f"hinge {number}", None)
        empty.location = (0.1 * number + 0.05, 0.0, 2.0)
        holder.objects.link(empty)
        empties.append(empty)
    for body in bodies:
        world.collection.objects.link(body)
        rigid = body.rigid_body
        rigid.type, rigid.collision_shape, rigid.mass = "ACTIVE", "BOX", 1.0
    for number, empty in enumerate(empties):
        world.constraints.objects.link(empty)
        hinge = empty.rigid_body_constraint
        hinge.type, hinge.object1, hinge.object2 = "HINGE", bodies[number], bodies[number + 1]
        hinge.use_limit_ang_z, hinge.limit_ang_z_lower, hinge.limit_ang_z_upper = True, -0.5, 0.5
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    pairs = np.zeros((keys, 2), dtype=np.float32)
    pairs[:, 0] = np.arange(keys)
    linear = np.full(keys, 1, dtype=np.int32)
    for number in range(count if keys else 0):
        for index in range(4):
            curve = curves.new(f'pose.bones["bone {number}"].rotation_quaternion', index=index)
            curve.keyframe_points.add(keys)
            curve.keyframe_points.foreach_set("co", pairs.ravel())
            curve.keyframe_points.foreach_set("interpolation", linear)
            curve.update()
    scene.collection.children.link(holder)
    layer.update()


def fresh() -> None:
    """An empty file with Knuckle registered."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    gc.collect()


def timed(work: Callable[[], object], before: Callable[[], object] = fresh, times: int = 3) -> float:
    """Median CPU seconds of some runs, each from an empty file."""
    took = []
    for _ in range(times):
        before()
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return statistics.median(took)


def bench_import(sizes: list[int], folder: Path) -> list[dict[str, float | str]]:
    """Import, unedited export, and the floor of the import."""
    rows: list[dict[str, float | str]] = []
    for count in sizes:
        path = str(folder / f"star{count}.jm")
        Path(path).write_text(star(count), encoding="utf-8")
        times = 3 if count <= 1000 else 1
        floor = timed(lambda count=count: floor_import(count, KEYS), times=times)
        ours = timed(lambda path=path: knuckle_import(path), times=times)
        parse = timed(lambda path=path: formats.load(path), times=times)
        fresh()
        collection = build(formats.load(path), bpy.context, BuildOptions(gait=False))
        start = time.process_time()
        formats.save(extract(collection), folder / "out.jm")
        export = time.process_time() - start
        rows.append(
            {
                "what": "import",
                "bodies": count,
                "seconds": ours,
                "floor": floor + parse,
                "ratio": ours / (floor + parse),
            }
        )
        rows.append(
            {"what": "import, parse alone", "bodies": count, "seconds": parse, "floor": floor, "ratio": parse / floor}
        )
        rows.append({"what": "export", "bodies": count, "seconds": export, "floor": ours, "ratio": export / ours})
    return rows


def written(folder: Path, count: int) -> dict[str, Path]:
    """The star of ``count`` bodies in every format, without its gait."""
    mechanism = formats.loads(star(count).encode(), "star.jm")
    mechanism.behaviours, mechanism.source = None, Source()
    paths = {name: folder / f"star{count}{extension}" for name, extension in conversions.EXTENSIONS.items()}
    for name, path in paths.items():
        formats.save(mechanism, path, name)
    return paths


def bench_formats(files: dict[str, Path], count: int) -> list[dict[str, float | str]]:
    """Import from each format, without a gait, as ratio to one floor: the scene by the shortest way, and our reading
    of the same mechanism from a Juice file."""
    floor = timed(lambda: floor_import(count, 0)) + timed(lambda: formats.load(files["juice"]))
    out: list[dict[str, float | str]] = []
    for name, path in files.items():
        ours = timed(lambda path=path: build(formats.load(path), bpy.context, BuildOptions(gait=False)))
        row = {"what": f"import from {name}", "bodies": count, "seconds": ours, "floor": floor, "ratio": ours / floor}
        out.append({**row, "bar": 1.5 if name == "juice" else 1.7})
    return out


def bench_kinematics() -> dict[str, float | str]:
    """Forward kinematics of 31 joints over 10,000 poses, against one 4x4 product per joint over all poses."""
    mechanism = formats.loads(star(32, depth=31).encode(), "chain.jm")
    tree = spanning_tree(mechanism)
    poses = 10_000
    values = {joint.id: np.random.default_rng(0).uniform(-0.5, 0.5, poses) for joint in mechanism.joints}
    frames = [(joint.frame_parent, np.linalg.inv(joint.frame_child), values[joint.id]) for joint in mechanism.joints]

    def floor() -> None:
        pose = np.broadcast_to(np.eye(4), (poses, 4, 4))
        for before, after, value in frames:
            turn = np.zeros((poses, 4, 4))
            turn[:, 0, 0] = turn[:, 1, 1] = np.cos(value)
            turn[:, 1, 0] = np.sin(value)
            turn[:, 0, 1] = -turn[:, 1, 0]
            turn[:, 2, 2] = turn[:, 3, 3] = 1.0
            pose = pose @ before @ turn @ after

    nothing = lambda: None  # noqa: E731
    slow = timed(floor, nothing)
    ours = timed(lambda: tree.forward(values, poses), nothing)
    return {"what": "forward kinematics, poses/s", "bodies": 32, "seconds": ours, "floor": slow, "ratio": ours / slow}


def growth(rows: list[dict[str, float | str]], what: str) -> float | None:
    """Exponent with which the time of the largest two sizes grows."""
    found = [row for row in rows if row["what"] == what]
    if len(found) < 2:
        return None
    small, large = found[-2], found[-1]
    return math.log(float(large["seconds"]) / float(small["seconds"])) / math.log(
        float(large["bodies"]) / float(small["bodies"])
    )


#: Parts with words of their own.
OWN_WORDS = ("batch", "conversions", "contact_sheet", "farm", "films", "physics", *physics.modules())


def main(arguments: list[str]) -> int:
    """Print the table; write it as JSON too when asked. Some parts, with words of their own, run for themselves."""
    if arguments and arguments[0] in OWN_WORDS:
        part = import_module(f"tests.bench.{arguments[0]}")
        return int(part.main(arguments[1:]))
    parser = argparse.ArgumentParser(prog="build.py bench", description="Ratios to floors measured in the same run.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 5000], metavar="BODIES")
    parser.add_argument("--keys", type=int, default=100_000, metavar="N", help="of each servo of the motion")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="default: everything")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table here as well")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder), 1000)
        rows: list[dict[str, float | str]] = []
        if "reading" in options.only:
            rows += reading.rows(files)
        if "import" in options.only:
            rows += [*bench_import(options.sizes, Path(folder)), *bench_formats(files, 1000)]
        if "kinematics" in options.only:
            rows.append(bench_kinematics())
        if "motion" in options.only:
            rows += motion.rows(Path(folder), star(motion.SERVOS + 1), options.keys)
        if "overlays" in options.only:
            rows += overlays.rows(star(1001), 1001)
        if "symmetry" in options.only:
            rows += symmetry.rows(star(1001), 1001)
    print(f"Blender {bpy.app.version_string}, {os.cpu_count()} cores, CPU seconds, medians")
    print(f"{'what':48} {'bodies':>6} {'seconds':>9} {'floor':>9} {'ratio':>7} {'bar':>5}")
    for row in rows:
        numbers = f"{row['bodies']:6} {row['seconds']:9.4f} {row['floor']:9.4f} {row['ratio']:7.3f}"
        print(f"{row['what']:48} {numbers} {row.get('bar', ''):>5}")
    for what in ("import", "export"):
        exponent = growth(rows, what)
        if exponent is not None:
            print(f"growth of {what}, largest two sizes: N^{exponent:.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
