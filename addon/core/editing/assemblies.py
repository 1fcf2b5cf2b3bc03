"""Switching of assemblies, like the flag in their file: parts that are off are kept, but not posed or simulated."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeVar

from ..model import Assembly, Body, Joint, Mechanism
from ..report import Message
from .edits import Edit, body_by_id

ASSEMBLY_SEPARATOR = ":"


def parent_assembly_path(path: str, known: Collection[str]) -> str:
    """Return the path of the assembly around one, ``""`` at the top."""
    outer = path.rpartition(ASSEMBLY_SEPARATOR)[0]
    return outer if outer in known else ""


def active_paths(assemblies: Iterable[Assembly]) -> set[str]:
    """Return the paths of the assemblies that are on and inside of assemblies that are on; "" is the top level."""
    known = {assembly.path: assembly for assembly in assemblies}

    def is_on(path: str) -> bool:
        return path not in known or (known[path].active and is_on(parent_assembly_path(path, known)))

    return {path for path in known if is_on(path)} | {""}


def switch_assembly(mechanism: Mechanism, path: str, on: bool) -> Edit:
    """Switch an assembly and everything in it on or off.

    Parts that the file switches off by themselves, and joints that lack a body, stay off. A joint is off with either of
    its bodies.

    Args:
        mechanism: The mechanism.
        path: Path of the assembly.
        on: Whether it is on.

    Raises:
        ValueError: The mechanism has no assembly with this path.
    """
    if all(assembly.path != path for assembly in mechanism.assemblies):
        raise ValueError(Message("The mechanism has no assembly {}", repr(path)))
    assemblies = [replace(each, active=on) if each.path == path else each for each in mechanism.assemblies]
    running = active_paths(assemblies)
    after = replace(mechanism, assemblies=assemblies)
    after.bodies = [
        _switched(body, body.assembly in running and body.extra.get("active", True) is not False)
        for body in mechanism.bodies
    ]
    bodies = body_by_id(after)
    after.joints = [
        _switched(
            joint,
            joint.assembly in running
            and _is_functional(joint)
            and all(bodies[end].active for end in (joint.parent, joint.child) if end is not None),
        )
        for joint in mechanism.joints
    ]
    return Edit(mechanism, after)


_Part = TypeVar("_Part", Body, Joint)


def _switched(part: _Part, on: bool) -> _Part:
    return part if part.active == on else replace(part, active=on)


def lacks_body(joint: Joint) -> bool:
    """Return whether a joint has not two different ends, of which one may be the world."""
    return joint.parent == joint.child


def _is_functional(joint: Joint) -> bool:
    """Return whether a joint is active while its assembly and its bodies are on."""
    own = joint.extra.get("active", True) is not False and not joint.extra.get("broken")
    return own and not lacks_body(joint)
