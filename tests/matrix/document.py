"""What exported model files say, for comparison: nothing here imports the extension.

``raw`` is everything in a file as one dictionary, path -> value, so that "exactly this change and nothing else" is a
difference of two dictionaries. ``facts`` is what it means, in one vocabulary for all formats (``body/arm/mass``):
world poses at the design pose, angles in rad, a joint's values about its frame's axes. ``readers`` fills both.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Raw = dict[str, Any]
X, Y, Z = np.eye(3)
_NOTE = re.compile(r"knuckle (\{.*)", re.DOTALL)


@dataclass
class Document:
    """An exported file. ``origin``: the raw paths (as beginnings) that each fact is read from."""

    raw: Raw = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    origin: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: The frames (4, 4) of joints on their child bodies, where these are elsewhere at the design pose: of closed loops.
    inner: dict[str, np.ndarray] = field(default_factory=dict)
    #: Bodies that look like more than their shapes: axes are drawn on them.
    decorated: set[str] = field(default_factory=set)
    #: Joints of one dof are written with their frame turned about its axis, which means the same.
    spins: bool = False

    def put(self, fact: str, value: Any, *origin: str) -> None:
        """Keep a fact and where it is from."""
        self.facts[fact], self.origin[fact] = value, origin

    def names(self, kind: str) -> list[str]:
        """The names of all parts of a kind, in the order of the file."""
        return list(dict.fromkeys(fact.split("/")[1] for fact in self.facts if fact.startswith(f"{kind}/")))

    def world_poses(self, values: dict[str, list[float]]) -> dict[str, np.ndarray]:
        """Forward kinematics: the poses (4, 4) of bodies, by name, with joints at values (those not named: 0)."""
        below: dict[str | None, list[str]] = {}
        for joint in self.names("joint"):
            if self.facts[f"joint/{joint}/active"]:
                below.setdefault(self.facts[f"joint/{joint}/parent"], []).append(joint)
        children = {self.facts[f"joint/{joint}/child"] for joints in below.values() for joint in joints}
        moved: dict[str | None, np.ndarray] = {None: np.eye(4)}
        moved |= {body: np.eye(4) for body in self.names("body") if body not in children}
        waiting = list(moved)
        while waiting:
            parent = waiting.pop()
            for joint in below.get(parent, ()):
                child, frame = self.facts[f"joint/{joint}/child"], self.facts[f"joint/{joint}/frame"]
                if child not in moved:
                    motion = self.motion(joint, values.get(joint, []))
                    moved[child] = moved[parent] @ frame @ motion @ np.linalg.inv(frame)
                    waiting.append(child)
        return {body: moved[body] @ self.facts[f"body/{body}/pose"] for body in self.names("body") if body in moved}

    def chain(self, parent: str | None, child: str) -> list[str]:
        """The joints that lead from a body, or the world, to another one: several where one is written as several."""
        below: dict[str | None, list[str]] = {}
        for joint in self.names("joint"):
            below.setdefault(self.facts[f"joint/{joint}/parent"], []).append(joint)
        waiting: list[list[str]] = [[joint] for joint in below.get(parent, ())]
        for chain in waiting:
            at = self.facts[f"joint/{chain[-1]}/child"]
            if at == child:
                return chain
            waiting += [[*chain, joint] for joint in below.get(at, ()) if joint not in chain]
        return []

    def fitted(self, chain: list[str], motion: np.ndarray) -> tuple[dict[str, list[float]], float]:
        """The values of joints, one after the other, that come nearest to moving the last body by a motion (4, 4)
        against the first, both from where they are designed (Gauss-Newton, from 0); and how far off that is."""
        sizes = [sum({"ball": 3, "free": 6}.get(k, 1) for k, _a in self.facts[f"joint/{j}/motions"]) for j in chain]
        frames = [self.facts[f"joint/{joint}/frame"] for joint in chain]
        inner = [self.inner.get(joint, frame) for joint, frame in zip(chain, frames, strict=True)]
        ends = np.cumsum([0, *sizes])

        def apart(numbers: np.ndarray) -> dict[str, list[float]]:
            return {joint: numbers[a:b].tolist() for joint, a, b in zip(chain, ends, ends[1:], strict=False)}

        def reached(numbers: np.ndarray) -> np.ndarray:
            pose, values = np.eye(4), apart(numbers)
            for joint, frame, end in zip(chain, frames, inner, strict=True):
                pose = pose @ frame @ self.motion(joint, values[joint]) @ np.linalg.inv(end)
            return pose[:3].ravel()

        found, step = np.zeros(int(ends[-1])), 1e-6
        for _turn in range(12 if len(found) else 0):
            slopes = np.array([reached(found + step * e) - reached(found - step * e) for e in np.eye(len(found))])
            change = np.linalg.lstsq(slopes.T / (2 * step), motion[:3].ravel() - reached(found), rcond=None)[0]
            found = found + change
            if np.abs(change).max() < 1e-12:
                break
        return apart(found), float(np.abs(motion[:3].ravel() - reached(found)).max())

    def motion(self, joint: str, values: list[float]) -> np.ndarray:
        """What a joint's values make of its frame (4, 4): its dofs one after the other."""
        motion, left = np.eye(4), list(values)
        for kind, axis in self.facts[f"joint/{joint}/motions"]:
            size = {"ball": 3, "free": 6}.get(kind, 1)
            taken, left = (left[:size] if len(left) >= size else [0.0] * size), left[size:]
            step = np.eye(4)
            if kind == "translation":
                step[:3, 3] = np.asarray(axis) * taken[0]
            elif kind == "rotation":
                step[:3, :3] = turn(np.asarray(axis) * taken[0])
            else:
                step[:3, :3] = turn(np.asarray(taken[:3]))
                step[:3, 3] = taken[3:] or 0.0
            motion = motion @ step
        return motion


def turn(vector: np.ndarray) -> np.ndarray:
    """The rotation (3, 3) of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-15:
        return np.eye(3)
    x, y, z = np.asarray(vector) / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)


def placed(position: Any, rotation: np.ndarray | None = None) -> np.ndarray:
    """A pose (4, 4)."""
    pose = np.eye(4)
    pose[:3, 3] = position
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


# ---------------------------------------------------------------- everything in a file


def value_of(text: str | None) -> Any:
    """Numbers as a tuple, all else as text."""
    words = (text or "").split()
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        return " ".join(words)
    return numbers if words else ""


def flat_json(value: Any, path: str, raw: Raw) -> None:
    if isinstance(value, dict):
        raw[f"{path}/#"] = tuple(f"/{key}" for key in value)
        for key, item in value.items():
            flat_json(item, f"{path}/{key}", raw)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        keys = [
            str(item["name"]) if isinstance(item, dict) and "name" in item else str(i) for i, item in enumerate(value)
        ]
        keys = [f"[{key}]" for key in keys]
        raw[f"{path}/#"] = tuple(keys)
        for key, item in zip(keys, value, strict=True):
            flat_json(item, path + key, raw)
    else:
        raw[path] = tuple(value) if isinstance(value, list) else value


def flat_xml(text: str, key: Callable[[ET.Element], str]) -> tuple[ET.Element, Raw, dict[ET.Element, str]]:
    """The root, everything in it, and the path of each element. ``key`` names an element among its siblings."""
    root = ET.fromstring(text.encode(), ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    raw: Raw = {}
    paths: dict[ET.Element, str] = {}

    def walk(element: ET.Element, path: str) -> None:
        paths[element] = path
        for name, value in element.attrib.items():
            raw[f"{path}/@{name}"] = value_of(value)
        raw[path] = value_of(element.text)
        keys, seen = [], {}
        for child in element:
            tag = child.tag if isinstance(child.tag, str) else "comment()"
            name = key(child) if isinstance(child.tag, str) else ""
            seen[tag, name] = seen.get((tag, name), 0) + 1
            number = f"#{seen[tag, name]}" if seen[tag, name] > 1 else ""
            keys.append(f"/{tag}[{name}{number}]" if name or number else f"/{tag}")
            if isinstance(child.tag, str):
                walk(child, path + keys[-1])
            elif note := _NOTE.match(child.text or ""):
                keys[-1] = "/knuckle"
                flat_json(json.loads(note[1]), f"{path}/knuckle", raw)
            else:
                raw[path + keys[-1]] = child.text
        raw[f"{path}/#"] = tuple(keys)

    walk(root, "")
    return root, raw, paths


# ---------------------------------------------------------------- differences


def same(one: Any, other: Any, tolerance: float = 0.0) -> bool:
    """Whether two values of files are the same: numbers as near as the tolerance, in their own size and absolutely."""
    if any(item is None or isinstance(item, (bool, str)) for item in (one, other)):
        return type(one) is type(other) and one == other
    if isinstance(one, (list, tuple)) and any(not isinstance(item, (int, float)) for item in one):
        return (
            isinstance(other, (list, tuple))
            and len(one) == len(other)
            and all(same(mine, its, tolerance) for mine, its in zip(one, other, strict=True))
        )
    try:
        mine, its = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    except (TypeError, ValueError):
        return one == other
    if mine.shape != its.shape:
        return False
    return bool((np.abs(mine - its) <= tolerance * np.maximum(1.0, np.abs(its))).all())


def differences(before: dict[str, Any], after: dict[str, Any], tolerance: float = 0.0) -> Iterator[str]:
    """The keys whose values differ, or that only one of two dictionaries has."""
    for key in {**before, **after}:
        if (key in before) != (key in after) or not same(before[key], after[key], tolerance):
            yield key
