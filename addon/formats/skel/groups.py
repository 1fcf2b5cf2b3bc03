"""Which bodies go into one skeleton: those of an assembly, and all that joints join, for SKEL joins no skeletons."""

from __future__ import annotations

import os.path
from collections.abc import Iterable

from ...core.model import Body, Joint, Mechanism
from .names import Unique, plain


def grouped(mechanism: Mechanism, bodies: list[Body], joints: Iterable[Joint]) -> tuple[dict[str, str], dict[str, str]]:
    """For every body (by id) the key of its skeleton, and for every key the skeleton's name, in the order of the
    mechanism. A skeleton of one assembly has that assembly's path as its key."""
    assembly = {body.id: body.assembly for body in bodies}
    leader: dict[str, str] = {}

    def find(path: str) -> str:
        while leader.get(path, path) != path:
            path = leader[path]
        return path

    for joint in joints:
        ends = [assembly[end] for end in (joint.parent, joint.child) if end in assembly]
        if len(ends) == 2 and find(ends[0]) != find(ends[1]):
            leader[find(ends[1])] = find(ends[0])
    paths = dict.fromkeys([*(each.path for each in mechanism.assemblies), *assembly.values()])
    members: dict[str, list[str]] = {}
    for path in paths:
        members.setdefault(find(path), []).append(path)
    used = set(assembly.values())
    unique = Unique()
    names: dict[str, str] = {}
    key_of: dict[str, str] = {}
    for group in members.values():
        filled = [path for path in group if path in used]
        if not filled and mechanism.source.format != "skel":
            continue  # an assembly that only holds others
        key = (filled or group)[0]
        name = key if len(filled) < 2 else os.path.commonprefix(filled).rstrip(":")
        names[key] = unique(plain(name, plain(mechanism.name, "skeleton")))
        key_of |= dict.fromkeys(group, key)
    return {body.id: key_of[body.assembly] for body in bodies}, names
