"""Mechanisms of any size for the benches: the same one in every format."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path

from addon import formats
from addon.core.model import Mechanism, Source
from benchmarks.conversions import EXTENSIONS


def star(count: int, depth: int = 8, twins: bool = False) -> str:
    """A Juice file of ``count`` boxes and one hinge less: chains of at most ``depth`` links about a middle body.

    With ``twins`` each second chain is the mirror image of the one before, and linked with it as far as both go."""
    bodies, joints, motors = [], [], []
    for number in range(count):
        arm, place = divmod(number - 1, depth) if number else (0, -1)
        angle, other, level = 0.7 * arm, 0, arm
        if twins and number:
            angle, other, level = 0.7 * (arm // 2 + 0.5) * (-1) ** arm, number + depth * (-1) ** arm, arm // 2
            other *= other < count
        twin, twin_joint = (other and first + other for first in (10, 1000000))
        reach = 0.0 if not number else 0.6 + 0.5 * place
        x, y = reach * math.cos(angle), reach * math.sin(angle)
        bodies.append(
            f"<Body><ID>{10 + number}</ID><Name>Link {number}</Name>{_place(x, y, 2 + 0.01 * level)}<Twin>{twin}</Twin>"
            f"<BoxDimensions><X>0.4</X><Y>0.1</Y><Z>0.1</Z></BoxDimensions><TubeLength>1</TubeLength>"
            f"<TubeDiameter>1</TubeDiameter><BallDiameter>1</BallDiameter><Shape>1</Shape><Mass>1</Mass></Body>"
        )
        if number:
            parent = 10 if place == 0 else 10 + number - 1
            joints.append(
                f"<RevoluteJoint><ID>{1000000 + number}</ID><Name>Hinge {number}</Name>{_place(x, y, 2)}"
                f"<Twin>{twin_joint}</Twin>"
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


def bare(count: int, depth: int = 8) -> Mechanism:
    """The star's mechanism, without its gait and without a document."""
    mechanism = formats.loads(star(count, depth).encode(), "star.jm")
    mechanism.behaviours, mechanism.source = None, Source()
    return mechanism


def written(folder: Path, count: int, depth: int = 8, only: Collection[str] = EXTENSIONS) -> dict[str, Path]:
    """The star of ``count`` bodies in every format, or some ``only``, without its gait."""
    mechanism = bare(count, depth)
    paths = {name: folder / f"star{count}_{depth}{EXTENSIONS[name]}" for name in only}
    for name, path in paths.items():
        formats.save(mechanism, path, name)
    return paths
