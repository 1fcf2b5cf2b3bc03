"""One small mechanism in each format, written by hand: a trunk, two arms that are exact mirror images across X = 0,
hands, and a mast, so that every property occurs. ``PARTS`` says what the matrix edits.

Sides are ``s`` = -1 (left) and 1 (right). A mirrored pose is M P M, with M = diag(-1, 1, 1)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .readers import X, Y, Z, turn

SIDES = {"left": -1.0, "right": 1.0}


@dataclass(frozen=True)
class Scene:
    """A format's mechanism. ``sign``: what the twin's joint value is, of this one's. ``values`` are the joints' values
    where the file begins, and ``posed`` where the matrix poses them."""

    text: str
    suffix: str
    sign: float
    format: str
    arm: tuple[str, str] = ("left arm", "right arm")
    hip: tuple[str, str] = ("left hip", "right hip")
    trunk: str = "trunk"
    lift: str = "lift"
    initial: dict[str, float | list[float]] = field(default_factory=dict)
    meshes: dict[str, str] = field(default_factory=dict)
    #: Where joints are posed, if not at 0.25, -0.15 and 0.1.
    pose: dict[str, float] = field(default_factory=dict)
    #: Whether a gait moves its joints, which the import turns into keyframes.
    has_gait: bool = False
    #: The joint that closes the loop, where there is one, and a body between two joints of it, with these.
    chord: str = ""
    link: tuple[str, ...] = ()

    @property
    def posed(self) -> dict[str, float]:
        """A pose within the stops, not a symmetric one."""
        return self.pose or {self.hip[0]: 0.25, self.hip[1]: -0.15, self.lift: 0.1}

    def write(self, folder: Path) -> Path:
        """The file, in a folder."""
        for name, text in self.meshes.items():
            (folder / name).write_text(text)
        path = folder / f"duo{self.suffix}"
        path.write_text(self.text)
        return path


def _both(text: Any) -> str:
    return "".join(text(side, s, "right" if side == "left" else "left") for side, s in SIDES.items())


# ---------------------------------------------------------------- Juice


def _xyz(tag: str, names: str, *values: float) -> str:
    return f"<{tag}>" + "".join(f"<{n}>{v:g}</{n}>" for n, v in zip(names, values, strict=True)) + f"</{tag}>"


def _juice_body(number: int, name: str, twin: int, place: tuple[float, ...], shape: int, size: Any, mass: float) -> str:
    box = size if shape == 1 else (1, 1, 1)
    length, diameter = size if shape in {2, 4} else (1, 1)
    return (
        f"<Body><ID>{number}</ID><Name>{name}</Name>{_xyz('Position', 'XYZ', *place[:3])}"
        f"{_xyz('Rotation', 'YPR', *place[3:])}<Twin>{twin}</Twin>{_xyz('BoxDimensions', 'XYZ', *box)}"
        f"<TubeLength>{length:g}</TubeLength><TubeDiameter>{diameter:g}</TubeDiameter>"
        f"<BallDiameter>{size if shape == 3 else 1:g}</BallDiameter><Shape>{shape}</Shape><Mass>{mass:g}</Mass>"
        "</Body>\n"
    )


def _juice_joint(
    tag: str, number: int, name: str, twin: int, ends: tuple[int, int], place: Any, stops: Any = None, force: float = 90
) -> str:
    low, high = stops or (0, 0)
    return (
        f"<{tag}><ID>{number}</ID><Name>{name}</Name>{_xyz('Position', 'XYZ', *place[:3])}"
        f"{_xyz('Rotation', 'YPR', *place[3:])}<Twin>{twin}</Twin><Body1>{ends[0]}</Body1><Body2>{ends[1]}</Body2>"
        f"<Gain>12</Gain><MaxForce>{force:g}</MaxForce><LoStopValue>{low:g}</LoStopValue>"
        f"<HiStopValue>{high:g}</HiStopValue><LoStopFlag>{int(stops is not None)}</LoStopFlag>"
        f"<HiStopFlag>{int(stops is not None)}</HiStopFlag></{tag}>\n"
    )


def _juice() -> str:
    arms = [
        _juice_body(n, f"{side} arm", 5 - n, (s * 0.8, 0.1, 2.2, -s * 30, 10, -s * 20), 2, (0.5, 0.2), 1.5)
        for n, (side, s) in zip((2, 3), SIDES.items(), strict=True)
    ]
    hands = [
        _juice_body(n, f"{side} hand", 9 - n, (s * 1.4, 0.2, 1.9, 0, 0, 0), 3, 0.3, 0.4)
        for n, (side, s) in zip((4, 5), SIDES.items(), strict=True)
    ]
    hips = [
        _juice_joint("RevoluteJoint", n, f"{side} hip", 23 - n, (1, m), (s * 0.4, 0.1, 2.2, 0, 0, s * 90), stops)
        for n, m, (side, s), stops in zip((11, 12), (2, 3), SIDES.items(), ((-45, 30), (-30, 45)), strict=True)
    ]
    wrists = [
        _juice_joint("SphericalJoint", n, f"{side} wrist", 27 - n, (m, m + 2), (s * 1.15, 0.15, 2.05, 0, 0, 0))
        for n, m, (side, s) in zip((13, 14), (2, 3), SIDES.items(), strict=True)
    ]
    trunk = _juice_body(1, "trunk", 0, (0, 0, 2, 0, 0, 0), 1, (0.6, 0.4, 0.8), 4)
    mast = _juice_body(6, "mast", 0, (0, 0, 2.9, 0, 0, 0), 4, (0.6, 0.2), 0.8)
    lift = _juice_joint("PrismaticJoint", 15, "lift", 0, (1, 6), (0, 0, 2.4, 0, 0, 0), (-0.1, 0.3))
    return (
        '<Model FileVersion="1"><Gravity>9.81</Gravity><Friction>12</Friction><ERP>0.5</ERP><CFM>0.01</CFM>'
        "<StandardSpeed>20</StandardSpeed><SpeedFactor>1</SpeedFactor><PoseDelay>0.25</PoseDelay>"
        f"<PosePhase>0</PosePhase>\n<Bodies>{trunk}{''.join(arms + hands)}{mast}</Bodies>\n<RevoluteJoints>"
        f"{''.join(hips)}</RevoluteJoints>\n<PrismaticJoints>{lift}</PrismaticJoints>\n<SphericalJoints>"
        f"{''.join(wrists)}</SphericalJoints>\n<Behaviors></Behaviors></Model>\n"
    )


# ---------------------------------------------------------------- SKEL


def _skel() -> str:
    def limb(side: str, s: float, other: str) -> str:
        del other
        return f"""<body name="{side} arm"><transformation>{s * 0.8} 0.1 2.2 0.2 {-s * 0.3} {-s * 0.4}</transformation>
    <inertia><mass>1.5</mass><offset>{s * 0.05} 0.02 -0.03</offset><moment_of_inertia><ixx>0.05</ixx><iyy>0.06</iyy>
    <izz>0.04</izz><ixy>{-s * 0.004}</ixy><ixz>{-s * 0.003}</ixz><iyz>0.002</iyz></moment_of_inertia></inertia>
    <visualization_shape><transformation>{s * 0.05} 0 0 0.1 {-s * 0.2} 0</transformation>
        <geometry><box><size>0.5 0.2 0.15</size></box></geometry><color>0.2 0.5 0.8</color></visualization_shape>
    <visualization_shape><transformation>{s * 0.1} 0 0.1 0 0 0</transformation>
        <geometry><sphere><radius>0.1</radius></sphere></geometry><color>0.2 0.5 0.8</color></visualization_shape>
    <collision_shape><transformation>{s * 0.04} 0.01 0 0 {-s * 0.1} 0</transformation>
        <geometry><capsule><height>0.4</height><radius>0.1</radius></capsule></geometry></collision_shape>
    <marker name="{side} tip"><offset>{s * 0.3} 0 0.05</offset></marker>
</body>
<body name="{side} hand"><transformation>{s * 1.4} 0.2 1.9 0 0 0</transformation><inertia><mass>0.4</mass></inertia>
    <visualization_shape><geometry><ellipsoid><size>0.3 0.2 0.1</size></ellipsoid></geometry></visualization_shape>
</body>
<joint type="revolute" name="{side} hip"><parent>trunk</parent><child>{side} arm</child>
    <transformation>{-s * 0.35} 0.02 -0.1 0.2 {-s * 0.1} {-s * 0.3}</transformation>
    <axis><xyz>0 {-s * 0.6} {-s * 0.8}</xyz><limit><lower>-0.7</lower><upper>0.9</upper></limit>
    <dynamics><damping>0.5</damping><friction>0.1</friction><spring_rest_position>0.2</spring_rest_position>
    <spring_stiffness>3</spring_stiffness></dynamics></axis><init_pos>0.3</init_pos><init_vel>0.4</init_vel></joint>
<joint type="ball" name="{side} wrist"><parent>{side} arm</parent><child>{side} hand</child>
    <transformation>{-s * 0.2} 0 0.1 0 0 0</transformation></joint>
"""

    return f"""<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity>
</physics><skeleton name="duo">
<body name="trunk"><transformation>0 0 2 0 0 0</transformation><inertia><mass>4</mass></inertia>
    <visualization_shape><geometry><box><size>0.6 0.4 0.8</size></box></geometry><color>0.8 0.3 0.1</color>
    </visualization_shape></body>
<body name="mast"><transformation>0 0 2.9 0 0 0</transformation><inertia><mass>0.8</mass></inertia>
    <visualization_shape><geometry><cylinder><radius>0.1</radius><height>0.6</height></cylinder></geometry>
    <color>0.3 0.3 0.3</color></visualization_shape></body>
<joint type="free" name="root"><parent>world</parent><child>trunk</child></joint>
<joint type="prismatic" name="lift"><parent>trunk</parent><child>mast</child>
    <axis><xyz>0 0 1</xyz><limit><lower>-0.1</lower><upper>0.3</upper></limit></axis></joint>
{_both(limb)}</skeleton></world></skel>
"""


# ---------------------------------------------------------------- x_xy


def _x_xy() -> str:
    def limb(side: str, s: float, other: str) -> str:
        del other
        return f"""
            <body name="{side} arm" joint="ry" pos="{s * 0.4} 0.1 0.2" euler="10 {-s * 15} {-s * 20}" damping="0.5"
                spring_stiff="3" spring_zero="{-s * 0.2}" armature="0.01">
                <geom type="capsule" mass="1.2" pos="{s * 0.4} 0.02 0" euler="0 {s * 90} 0" dim="0.1 0.5" color="blue"/>
                <geom type="box" mass="0.3" pos="{s * 0.5} 0 0.1" dim="0.2 0.1 0.1" color="blue"/>
                <omc name="{side} tip" pos_marker="2" pos="{s * 0.3} 0 0.05"/>
                <body name="{side} hand" joint="spherical" pos="{s * 0.7} 0 0" damping="0.2 0.2 0.2">
                    <geom type="sphere" mass="0.4" pos="{s * 0.1} 0 0" dim="0.12" color="0.9 0.4 0.2"/>
                </body>
            </body>"""

    return f"""<x_xy model="duo">
    <options gravity="0 0 9.81" dt="0.01"/>
    <worldbody>
        <body name="trunk" joint="free" pos="0 0 2">
            <geom type="box" mass="4" dim="0.6 0.4 0.8" color="0.8 0.3 0.1"/>
            <body name="mast" joint="pz" pos="0 0 0.9">
                <geom type="cylinder" mass="0.8" dim="0.1 0.6" color="gray"/>
            </body>{_both(limb)}
        </body>
    </worldbody>
</x_xy>
"""


# ---------------------------------------------------------------- Shift

_BOX_OBJ = """v -0.3 -0.1 -0.1\nv 0.3 -0.1 -0.1\nv 0.3 0.1 -0.1\nv -0.3 0.1 -0.1
v -0.3 -0.1 0.1\nv 0.3 -0.1 0.1\nv 0.3 0.1 0.1\nv -0.3 0.1 0.1
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""


def _frame(name: str, place: Any, rotation: np.ndarray | None = None) -> dict[str, Any]:
    rows = {} if rotation is None else {"R": rotation.tolist()}
    return {"name": name, "T": [float(x) for x in place], **rows}


def _shift() -> str:
    bodies: list[dict[str, Any]] = [
        {"name": "trunk", "definition": ["box.obj"], "mass": 4, "center_of_mass": [0, 0, 0.1], "frames": []},
        {"name": "mast", "definition": ["box.obj"], "mass": 0.8, "center_of_mass": [0, 0, 0], "frames": []},
    ]
    for body in bodies:
        body["moment_of_inertia"] = {"Ixx": 0.2, "Ixy": 0, "Izx": 0, "Iyy": 0.3, "Iyz": 0, "Izz": 0.25}
    trunk, mast = bodies
    trunk["frames"] = [_frame("chest", (0, 0.3, 0.2)), _frame("top", (0, 0, 0.5))]
    joints: list[dict[str, Any]] = [
        {"name": "anchor", "type": "rigid", "body_frame_pairs": [["fixed", "origin"], ["trunk", "origin"]]},
        {"name": "lift", "type": "Tz", "body_frame_pairs": [["trunk", "top"], ["mast", "origin"]]},
    ]
    joints[1]["knuckle"] = {"dofs": [{"lower": -0.1, "upper": 0.3}]}
    del mast
    for side, s in SIDES.items():
        other = "right" if side == "left" else "left"
        shoulder = turn(X * 0.2) @ turn(Y * -s * 0.3) @ turn(Z * -s * 0.4)
        inside = turn(X * -0.1) @ turn(Z * s * 0.25)
        trunk["frames"].append(_frame(f"{side} shoulder", (s * 0.4, 0.1, 0.2), shoulder))
        arm = {
            "name": f"{side} arm", "definition": ["box.obj"], "mass": 1.5, "center_of_mass": [s * 0.05, 0.02, -0.03],
            "moment_of_inertia": {
                "Ixx": 0.05, "Ixy": -s * 0.004, "Izx": -s * 0.003, "Iyy": 0.06, "Iyz": 0.002, "Izz": 0.04
            },
            "frames": [
                _frame(f"{side} inner", (-s * 0.35, 0.02, 0.0), inside), _frame(f"{side} outer", (s * 0.4, 0, 0)),
                _frame(f"{side} eye", (s * 0.2, 0.1, 0.1), inside @ shoulder),
                _frame(f"{side} tip", (s * 0.3, 0, 0.05)),
            ],
            "knuckle": {"twin": f"duo:{other} arm"},
        }  # fmt: skip
        hand = {"name": f"{side} hand", "definition": ["box.obj"], "mass": 0.4, "center_of_mass": [0, 0, 0]}
        hand |= {"frames": [_frame(f"{side} palm", (-s * 0.3, 0, 0))]}
        low, high = (-0.7, 0.5) if s < 0 else (-0.5, 0.7)
        joints += [
            {
                "name": f"{side} hip", "type": "Rz", "initial_displacement": -s * 0.2, "initial_velocity": -s * 0.5,
                "stiffness": [s * 0.6, 3.0], "damping": [0, 0.5],
                "body_frame_pairs": [["trunk", f"{side} shoulder"], [f"{side} arm", f"{side} inner"]],
                "knuckle": {"twin": f"duo:{other} hip", "dofs": [{"lower": low, "upper": high}]},
            },
            {
                "name": f"{side} wrist", "type": "spherical",
                "body_frame_pairs": [[f"{side} arm", f"{side} outer"], [f"{side} hand", f"{side} palm"]],
            },
        ]  # fmt: skip
        bodies += [arm, hand]
    lights = [
        {"name": "sun", "type": "directional", "parent": ["fixed", "sky"], "Ka": [0.1, 0.1, 0.1], "Kd": [1, 0.9, 0.8]},
        {
            "name": "lamp",
            "type": "point",
            "parent": ["duo:trunk", "chest"],
            "Kd": [0.5, 0.6, 0.7],
            "Ks": [0.2, 0.2, 0.2],
        },
    ]
    lights += [
        {"name": f"{side} lamp", "type": "point", "parent": [f"duo:{side} arm", f"{side} eye"], "Kd": [0.5, 0.6, 0.7]}
        for side in SIDES
    ]
    return json.dumps(
        {
            "model_parameters": {"version": "0.2", "gravity": [0.0, 0.0, 9.81]},
            "fixed": {"frames": [_frame("sky", (0, 0, -5))], "lights": lights},
            "assemblies": [{"name": "duo", "active": True, "bodies": bodies, "joints": joints}],
        },
        indent=1,
    )


# ---------------------------------------------------------------- closed loops


def _juice_loop() -> str:
    """A base, and on it a crank, a coupler and a rocker, whose joint to the base closes the loop."""
    quarter = (0, 0, 90)
    bodies = [
        _juice_body(1, "base", 0, (0, 0, 1, 0, 0, 0), 1, (0.3, 1.6, 0.2), 4),
        _juice_body(2, "crank", 0, (0.3, -0.5, 1.25, 0, 0, 0), 1, (0.1, 0.1, 0.5), 0.8),
        _juice_body(3, "coupler", 0, (0.3, 0.05, 1.6, 0, 10, 0), 1, (0.1, 1.2, 0.1), 1.1),
        _juice_body(4, "rocker", 0, (0.3, 0.6, 1.4, 0, 0, 0), 1, (0.1, 0.1, 0.8), 0.9),
    ]
    places = {
        "drive": (1, 2, -0.5, 1.1),
        "elbow": (2, 3, -0.5, 1.5),
        "knee": (3, 4, 0.6, 1.7),
        "foot": (1, 4, 0.6, 1.1),
    }
    joints = [
        _juice_joint("RevoluteJoint", 11 + n, name, 0, (one, other), (0.3, y, z, *quarter), (-60, 70))
        for n, (name, (one, other, y, z)) in enumerate(places.items())
    ]
    return (
        '<Model FileVersion="1"><Gravity>9.81</Gravity><Friction>12</Friction><ERP>0.5</ERP><CFM>0.01</CFM>'
        f"\n<Bodies>{''.join(bodies)}</Bodies>\n<RevoluteJoints>{''.join(joints)}</RevoluteJoints>\n"
        "<Behaviors></Behaviors></Model>\n"
    )


# ---------------------------------------------------------------- twins that are not alike


def _last(text: str, old: str, new: str) -> str:
    """A text with another one in place of the last of these."""
    before, found, after = text.rpartition(old)
    assert found, old
    return before + new + after


def _unlike_skel() -> str:
    """The right arm has one shape less to see, and collides as a box."""
    text = _skel()
    sphere = """    <visualization_shape><transformation>0.1 0 0.1 0 0 0</transformation>
        <geometry><sphere><radius>0.1</radius></sphere></geometry><color>0.2 0.5 0.8</color></visualization_shape>
"""
    capsule = "<capsule><height>0.4</height><radius>0.1</radius></capsule>"
    return _last(_last(text, sphere, ""), capsule, "<box><size>0.3 0.2 0.1</size></box>")


# ---------------------------------------------------------------- models for users

_MODELS = Path(__file__).resolve().parents[2] / "sample_models"


def _model(path: str, sign: float, format_: str, **parts: Any) -> Scene:
    """A sample model of the repository, with what is in files beside it."""
    source = _MODELS / path
    beside = [each for each in source.parent.iterdir() if each.suffix in {".obj", ".mtl"}]
    meshes = {each.name: each.read_text() for each in beside}
    return Scene(source.read_text(), source.suffix, sign, format_, meshes=meshes, **parts)


SCENES: dict[str, Scene] = {
    "juice": Scene(_juice(), ".jm", -1.0, "juice"),
    "skel": Scene(_skel(), ".skel", 1.0, "skel", initial={"left hip": 0.3, "right hip": 0.3}),
    "x_xy": Scene(_x_xy(), ".xml", -1.0, "x_xy", hip=("left arm", "right arm"), lift="mast"),
    "shift": Scene(
        _shift(), ".json", -1.0, "shift", initial={"left hip": 0.2, "right hip": -0.2}, meshes={"box.obj": _BOX_OBJ}
    ),
    "juice unlike": Scene(_last(_juice(), "<Shape>2</Shape>", "<Shape>1</Shape>"), ".jm", -1.0, "juice"),
    "skel unlike": Scene(_unlike_skel(), ".skel", 1.0, "skel", initial={"left hip": 0.3, "right hip": 0.3}),
    "x_xy unlike": Scene(
        _last(_x_xy(), '<geom type="box" mass="0.3" pos="0.5 0 0.1" dim="0.2 0.1 0.1" color="blue"/>', ""),
        ".xml", -1.0, "x_xy", hip=("left arm", "right arm"), lift="mast",
    ),
    "juice loop": Scene(
        _juice_loop(), ".jm", -1.0, "juice", ("coupler", ""), ("drive", ""), "crank", "elbow", pose={"drive": 0.25},
        chord="foot", link=("coupler", "elbow", "knee"),
    ),
    "pumpjack": _model(
        "pumpjack/pumpjack.json", 1.0, "shift", arm=("pitman", ""), hip=("motor", ""), trunk="crank", lift="crank_pin",
        pose={"motor": 0.85}, chord="tail_bearing",
        link=("pitman", "crank_pin", "tail_bearing"),
    ),
    "desk lamp": _model(
        "desk_lamp/desk_lamp.skel", 1.0, "skel", arm=("upper arm", ""), hip=("elbow", ""), trunk="lower arm",
        lift="shoulder", initial={"shoulder": 0.5, "elbow": -1.3, "neck": [-1.4, 0.0]},
        pose={"shoulder": 0.2, "elbow": -0.7},
    ),
    "humanoid": _model(
        "humanoid/humanoid.skel", -1.0, "skel", arm=("left thigh", "right thigh"), hip=("LHipRoll", "RHipRoll"),
        trunk="torso", lift="HeadPitch", pose={"LHipRoll": 0.3, "RHipRoll": -0.2, "HeadPitch": 0.15},
        initial={
            "LShoulderPitch": 1.4, "LShoulderRoll": 0.2, "LElbowYaw": -1.2, "LElbowRoll": -0.5,
            "RShoulderPitch": 1.4, "RShoulderRoll": -0.2, "RElbowYaw": 1.2, "RElbowRoll": 0.5,
        },
    ),
    "sensor leg": _model(
        "sensor_leg/sensor_leg.xml", 1.0, "x_xy", arm=("shank", ""), hip=("shank", ""), trunk="pelvis",
        lift="shank", pose={"shank": 0.4},
    ),
    "rover": _model(
        "rover/rover.jm", -1.0, "juice", arm=("Left Knuckle", "Right Knuckle"), hip=("Left Steering", "Right Steering"),
        trunk="Chassis", lift="Mast Lift", has_gait=True,
    ),
    "hexapod": _model(
        "hexapod/hexapod.jm", -1.0, "juice", arm=("Left Front Femur", "Right Front Femur"),
        hip=("Left Front Lift", "Right Front Lift"), trunk="Chassis", lift="Neck", has_gait=True,
    ),
}  # fmt: skip
