"""Helpers for tests of Shift files: poses, joint motions and placed bodies by the format's own rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def pose(element: dict | None) -> np.ndarray:
    out = np.eye(4)
    if isinstance(element, dict):
        out[:3, :3] = element.get("R", np.eye(3))
        out[:3, 3] = element.get("T", np.zeros(3))
    return out


def motion(joint: dict) -> np.ndarray:
    """J(q) at the initial displacement."""
    q, kind, axis = joint["initial_displacement"], joint["type"], joint.get("axis", [0, 0, 0])
    if kind in ("rigid", "float"):
        return pose(q)
    if kind[0] in "RT" and len(kind) == 2:
        axis = ["xyz".index(kind[1]) == i for i in range(3)]
        kind = "revolute" if kind[0] == "R" else "prismatic"
    x, y, z = axis
    out = np.eye(4)
    if kind == "prismatic":
        out[:3, 3] = np.array([x, y, z]) * q
        return out
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=float)
    out[:3, :3] = np.eye(3) + math.sin(q) * cross + (1 - math.cos(q)) * cross @ cross
    return out


def placed(document: dict) -> tuple[dict[str, np.ndarray], list[tuple[float, float]]]:
    """World poses by body name, and the opening of each chord, by the author's algorithm."""
    ground = {**document.get("fixed", {}), **{k: document[k] for k in ("frames",) if k in document}}
    frames = {("fixed", frame["name"]): pose(frame) for frame in ground.get("frames", [])}
    joints = []
    for assembly in document["assemblies"]:
        for body in assembly["bodies"]:
            frames |= {(body["name"], frame["name"]): pose(frame) for frame in body.get("frames") or []}
        for joint in assembly["joints"]:
            if "body_frame_pairs" in joint:
                ends = [tuple(pair) for pair in joint["body_frame_pairs"]]
            else:
                ends = [(joint[end][0][-1], joint[end][1]) for end in ("parent", "child")]
            joints.append((joint, ends))
    world = {"fixed": np.eye(4)}
    chords = []

    def touching(body: str) -> list:
        mine = [item for item in joints if body in (item[1][0][0], item[1][1][0])]
        for item in mine:
            joints.remove(item)
        return [(joint, ends, 1 if ends[0][0] == body else -1) for joint, ends in mine]

    queue = touching("fixed")
    if not queue:  # a float is put where nothing is joined to the ground
        first = document["assemblies"][0]["bodies"][0]["name"]
        world[first] = np.eye(4)
        queue = touching(first)
    while queue:
        joint, ends, sense = queue.pop(0)
        sides = [frames.get(end, np.eye(4)) for end in ends]
        step = sides[0] @ motion(joint) @ np.linalg.inv(sides[1])
        start, body = (ends[0][0], ends[1][0]) if sense > 0 else (ends[1][0], ends[0][0])
        there = world[start] @ (step if sense > 0 else np.linalg.inv(step))
        if body in world:
            apart = np.linalg.inv(there) @ world[body]
            sine = np.linalg.norm([apart[2, 1] - apart[1, 2], apart[0, 2] - apart[2, 0], apart[1, 0] - apart[0, 1]]) / 2
            angle = math.atan2(sine, (np.trace(apart[:3, :3]) - 1) / 2)
            chords.append((float(np.linalg.norm(apart[:3, 3])), angle))
        else:
            world[body] = there
        queue += touching(body)
    return world, chords


def pair(*ends: str, name: str = "hip", kind: str = "Rx", **more: Any) -> dict:
    return {"name": name, "body_frame_pairs": [[end, "origin"] for end in ends], "type": kind, **more}
