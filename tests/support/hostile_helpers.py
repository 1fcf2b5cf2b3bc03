"""Helpers for tests of hostile and damaged files: small files of each format with numbers to replace."""

from __future__ import annotations


def juice(bodies: str = "", joints: str = "", name: str = "m") -> str:
    return f"<Model><Name>{name}</Name><Bodies>{bodies}</Bodies><RevoluteJoints>{joints}</RevoluteJoints></Model>"


#: Where a number stands in a small model of each format, as @.
FIELDS = {
    "juice": juice(
        "<Body><ID>1</ID><Mass>@</Mass><Position><X>@</X></Position><BoxDimensions><X>@</X></BoxDimensions></Body><Body><ID>2</ID></Body>",
        "<RevoluteJoint><ID>3</ID><Body1>1</Body1><Body2>2</Body2><LoStopValue>@</LoStopValue></RevoluteJoint>",
    ),
    "skel": '<skel version="1.0"><world name="w"><physics><time_step>@</time_step><gravity>0 0 @</gravity></physics>'
    '<skeleton name="s"><body name="a"><transformation>@ 0 0 0 0 @</transformation><inertia><mass>@</mass>'
    "<offset>@ 0 0</offset></inertia><visualization_shape><geometry><box><size>@ 1 1</size></box></geometry>"
    '</visualization_shape></body><joint type="revolute" name="j"><parent>world</parent><child>a</child>'
    "<axis><xyz>0 @ 1</xyz><limit><lower>@</lower></limit></axis><init_pos>@</init_pos></joint></skeleton>"
    "</world></skel>",
    "x_xy": '<x_xy model="m"><options gravity="0 0 @" dt="@"/><worldbody><body name="a" joint="rx" pos="@ 0 0" '
    'euler="0 @ 0" damping="@"><geom type="box" mass="@" dim="@ 1 1"/></body></worldbody></x_xy>',
    "csv": "time [s],hip [rad]\n@,@\n@,1\n",
    "webots": "#WEBOTS_MOTION,V1.0,hip\n00:00:000,Pose1,@\n00:00:040,Pose2,0\n",
}
