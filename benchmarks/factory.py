"""A Shift file of a factory: robots in cells in a factory, assemblies within assemblies, all of them of one mesh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINKS = 6
#: Robots of a cell, and which of them have a rod beside their arm, which closes a loop.
PER_CELL, WITH_ROD = 20, 5
BOX = "link.obj"


def factory(robots: int) -> str:
    """The text: robots of a base and six links, each fifth with a parallel rod; seven bodies and seven joints, or one
    body and two joints more. Joints have dampers and the first of each robot turns to begin with."""
    cells: dict[int, list[dict[str, Any]]] = {}
    places = []
    for number in range(robots):
        cell, seat = divmod(number, PER_CELL)
        places.append({"name": f"place {number}", "T": [3.0 * seat, 4.0 * cell, 0.0]})
        cells.setdefault(cell, []).append(_robot(number, seat))
    lines = [
        {"name": f"cell {cell}", "active": True, "bodies": [], "joints": [], "assemblies": inside}
        for cell, inside in cells.items()
    ]
    document = {
        "model_parameters": {
            "version": "0.2",
            "units": {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"},
            "gravity": [0.0, 0.0, -9.81],
            "include_dir": ["."],
        },
        "fixed": {"frames": places},
        "assemblies": [{"name": "factory", "active": True, "bodies": [], "joints": [], "assemblies": lines}],
    }
    return json.dumps(document, indent=1) + "\n"


def bodies_in(robots: int) -> int:
    """How many bodies such a factory has."""
    return robots * (LINKS + 1) + _rods(robots)


def loops_in(robots: int) -> int:
    """How many loops."""
    return _rods(robots)


def _rods(robots: int) -> int:
    return sum(_has_rod(number % PER_CELL) for number in range(robots))


def _has_rod(seat: int) -> bool:
    return seat % WITH_ROD == 0


def written(folder: Path, robots: int) -> Path:
    """The file with its mesh beside it."""
    corners = [(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (0.0, 0.4)]
    faces = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (2, 6, 8, 4), (1, 3, 7, 5))
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {' '.join(map(str, face))}" for face in faces]
    (folder / BOX).write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / f"factory{robots}.json"
    path.write_text(factory(robots), encoding="utf-8")
    return path


def _robot(number: int, seat: int) -> dict[str, Any]:
    bodies = [_body("base", 20.0, {"top": [0.0, 0.0, 0.4]})]
    joints = [_joint("foot", "rigid", ("fixed", f"place {number}"), ("base", "origin"))]
    for link in range(LINKS):
        frames = {"top": [0.0, 0.0, 0.4]} | ({"rod head": [0.3, 0.0, 0.0]} if link == 2 else {})
        bodies.append(_body(f"link {link}", 5.0 - 0.5 * link, frames))
        before = "base" if link == 0 else f"link {link - 1}"
        axis = "Rz" if link % 3 == 0 else "Ry"
        ends = (before, "top"), (f"link {link}", "origin")
        joints.append(_joint(f"joint {link}", axis, *ends, damping=[0, 2], initial_velocity=0.5 if link == 0 else 0.0))
    if _has_rod(seat):  # beside link 1, as long as it: with links 0 and 2 a parallelogram
        bodies[1]["frames"].append({"name": "rod foot", "T": [0.3, 0.0, 0.4]})
        bodies.append(_body("rod", 1.0, {"top": [0.0, 0.0, 0.4]}))
        joints.append(_joint("rod foot", "Ry", ("link 0", "rod foot"), ("rod", "origin")))
        joints.append(_joint("rod head", "Ry", ("rod", "top"), ("link 2", "rod head")))
    return {"name": f"robot {number}", "active": True, "bodies": bodies, "joints": joints}


def _body(name: str, mass: float, frames: dict[str, list[float]]) -> dict[str, Any]:
    small = round(0.002 * mass, 6)
    return {
        "name": name,
        "definition": [BOX],
        "mass": mass,
        "center_of_mass": [0.0, 0.0, 0.2],
        "moment_of_inertia": {"Ixx": 5 * small, "Ixy": 0, "Izx": 0, "Iyy": 5 * small, "Iyz": 0, "Izz": small},
        "frames": [{"name": frame, "T": place} for frame, place in frames.items()],
    }


def _joint(name: str, kind: str, parent: tuple[str, str], child: tuple[str, str], **more: Any) -> dict[str, Any]:
    values = {"initial_displacement": 0.0, "initial_velocity": 0.0} | more
    return {"name": name, "type": kind, **values, "body_frame_pairs": [list(parent), list(child)]}
