"""Helpers for tests of SKEL: documents from their parts, reading them, and random ones of every joint type."""

from __future__ import annotations

import numpy as np

from addon import formats
from addon.core.model import Mechanism

#: DART 6.20 wants <frags> in a soft box.
NO_FRAGS = {"test_double_pendulum.skel", "test_single_body.skel", "test_single_pendulum.skel"}
BOX = "<geometry><box><size>1 2 3</size></box></geometry>"


def skel(inside: str, physics: str = "") -> bytes:
    """A document with these skeletons."""
    return f'<skel version="1.0">\n<world name="w">\n{physics}{inside}</world>\n</skel>'.encode()


def skeleton(inside: str, name: str = "s") -> str:
    return f'<skeleton name="{name}">\n{inside}\n</skeleton>\n'


def body(name: str, inside: str = "") -> str:
    return f'<body name="{name}">{inside}</body>\n'


def joint(type_: str, inside: str = "", parent: str = "world", child: str = "b", name: str = "j") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint type="{type_}" name="{name}">{ends}{inside}</joint>\n'


def read(inside: str, physics: str = "") -> Mechanism:
    return formats.loads(skel(skeleton(inside), physics), "test.skel")


def only(joint_text: str, place: str = "0 0 0 0 0 0") -> Mechanism:
    """One body on one joint."""
    return read(body("b", f"<transformation>{place}</transformation>") + joint_text)


def shown(geometry: str, place: str = "0 0 0 0 0 0") -> str:
    return f"<visualization_shape><transformation>{place}</transformation>{geometry}</visualization_shape>"


def random_shapes(random: np.random.Generator) -> str:
    a, b, c = random.uniform(0.1, 2.0, 3)
    tube = f"<radius>{a}</radius><height>{b}</height>"
    choices = [
        f"<box><size>{a} {b} {c}</size></box>",
        f"<sphere><radius>{a}</radius></sphere>",
        f"<ellipsoid><size>{a} {b} {c}</size></ellipsoid>",
        f"<cylinder>{tube}</cylinder>",
        f"<capsule>{tube}</capsule>",
        f"<cone>{tube}</cone>",
        f"<pyramid><base_width>{a}</base_width><base_depth>{b}</base_depth><height>{c}</height></pyramid>",
        f"<plane><normal>{a} {b} {c}</normal><offset>{a}</offset></plane>",
        f"<multi_sphere><sphere><radius>{a}</radius><position>{b} 0 {c}</position></sphere>"
        f"<sphere><radius>{b}</radius><position>0 {a} 0</position></sphere></multi_sphere>",
    ]
    found = ""
    for _ in range(random.integers(1, 5)):
        place = " ".join(f"{x:.6f}" for x in random.uniform(-2, 2, 6))
        kind = random.choice(["visualization_shape", "collision_shape"])
        geometry = random.choice(choices)
        extra = "<color>.1 .2 .3</color>" if kind == "visualization_shape" else "<collidable>0</collidable>"
        found += f"<{kind}><transformation>{place}</transformation><geometry>{geometry}</geometry>{extra}</{kind}>"
    return found


def random_place(random: np.random.Generator) -> str:
    return "<transformation>" + " ".join(f"{x:.9f}" for x in random.uniform(-2, 2, 6)) + "</transformation>"


def random_axes(random: np.random.Generator) -> str:
    found = ""
    for name in ("axis", "axis2", "axis3"):
        axis = random.normal(size=3)
        axis = axis / np.linalg.norm(axis)
        xyz = " ".join(f"{x:.17g}" for x in axis)
        numbers_of = "".join(
            f"<{each}>{random.uniform(0, 2):.6f}</{each}>"
            for each in ("damping", "friction", "spring_rest_position", "spring_stiffness")
        )
        limit = f"<limit><lower>{-random.uniform(1, 2):.6f}</lower><upper>{random.uniform(1, 2):.6f}</upper></limit>"
        found += f"<{name}><xyz>{xyz}</xyz><dynamics>{numbers_of}</dynamics>{limit}</{name}>"
    return found


def everything(seed: int) -> bytes:
    """A tree of every joint type that DART builds, with frames, shapes and numbers by chance."""
    random = np.random.default_rng(seed)
    plane = '<plane type="{}"/>'
    square = (
        "<translation_axis1><xyz>1 2 0</xyz></translation_axis1><translation_axis2><xyz>0 1 3</xyz></translation_axis2>"
    )
    kinds = [
        ("weld", "", 0),
        ("revolute", "", 1),
        ("prismatic", "", 1),
        ("universal", "", 2),
        ("ball", "", 3),
        ("euler", "<axis_order>xyz</axis_order>", 3),
        ("euler", "<axis_order>zyx</axis_order>", 3),
        ("translational", "", 3),
        *(("planar", plane.format(name), 3) for name in ("xy", "yz", "zx")),
        ("planar", f'<plane type="arbitrary">{square}</plane>', 3),
        ("free", "", 6),
    ]
    text = ""
    names = ["world"]
    for number in random.permutation(len(kinds)):
        type_, inside, size = kinds[number]
        name = f"{type_}{number}"
        mass = f"<mass>{random.uniform(0.1, 3):.6f}</mass><offset>{random.uniform(-1, 1):.6f} 0 1</offset>"
        mass = f"<inertia>{mass}</inertia>"
        text += body(name, random_place(random) + mass + random_shapes(random))
        start = " ".join(f"{x:.6f}" for x in random.uniform(-1, 1, size))
        inside += random_place(random) + random_axes(random) + (f"<init_pos>{start}</init_pos>" if size else "")
        text += joint(type_, inside, parent=str(random.choice(names)), child=name, name=f"j{number}")
        names.append(name)
    frame = random_place(random)
    physics = "<physics><time_step>0.002</time_step><gravity>1 -9.81 .5</gravity></physics>"
    return skel(skeleton(frame + text) + skeleton(body("b", shown(BOX)) + joint("free"), "s"), physics)
