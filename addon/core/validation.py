"""Validation of a mechanism: the checks behind the panel, the export and the command line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .editing.sides import find_sides
from .editing.symmetry import find_asymmetries
from .kinematics import spanning_tree
from .loops.closure import loop_openings
from .mass_properties import min_principal_moment
from .model import Body, Dof, Joint, Mechanism, Shape, body_by_id, by_id, joint_by_id
from .report import Message, abbreviate_names, format_number, join_messages
from .stops import value_dofs

FindingKind = Literal["body", "joint", "model", "object"]
#: Mass ratio of jointed bodies beyond which solvers converge poorly.
_MASS_RATIO = 100.0
#: Opening (length units, rad) up to which a loop counts as closed.
_LOOP_TOLERANCE = 1e-4
_MIN_MASS = 1e-9


@dataclass(frozen=True)
class Finding:
    """Finding of a check: its code, severity and message, and the parts (kind and ids) that it is about.

    ``fix`` is the label of a safe remedy, empty where there is none; ``or_fix`` is an alternative. Parts of the kind
    ``object`` are Blender objects, by name.
    """

    code: str
    severity: Literal["error", "warning", "info"]
    message: str
    kind: FindingKind
    parts: tuple[str, ...] = ()
    fix: str = ""
    or_fix: str = ""


def validate(mechanism: Mechanism) -> list[Finding]:
    """Run all checks on a mechanism.

    Returns:
        The findings, errors first.
    """
    found = [finding for check in _CHECKS for finding in check(mechanism)]
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _check_masses(mechanism: Mechanism) -> Iterator[Finding]:
    for body in mechanism.bodies:
        if body.active and not body.immobile and not body.mass > _MIN_MASS:
            message = Message("Body {}: no mass, so physics cannot move it. Enter a mass", repr(body.name))
            if body.mass < -_MIN_MASS:
                message = Message(
                    "Body {}: the mass {} kg is negative. Enter a mass above 0", repr(body.name), f"{body.mass:g}"
                )
            yield Finding("no-mass", "error", message, "body", (body.id,), "Set mass by volume")
        elif body.inertia is not None and min_principal_moment(body.inertia) < -1e-9 * np.abs(body.inertia).max():
            yield Finding(
                "bad-inertia",
                "error",
                Message("Body {}: a principal moment of inertia is negative. Correct it", repr(body.name)),
                "body",
                (body.id,),
            )


def _check_mass_ratios(mechanism: Mechanism) -> Iterator[Finding]:
    mass = {own: body.mass for own, body in body_by_id(mechanism).items() if not body.immobile}
    worst: tuple[float, Joint] | None = None
    count = 0
    for joint in mechanism.joints:
        light, heavy = sorted((mass.get(joint.parent or "", 0.0), mass.get(joint.child or "", 0.0)))
        if joint.active and light > _MIN_MASS and heavy > _MASS_RATIO * light:
            count += 1
            worst = max(worst or (0.0, joint), (heavy / light, joint), key=lambda each: each[0])
    if worst is not None:
        yield Finding(
            "mass-ratio",
            "warning",
            Message(
                "Mass ratio: above 1:{} between the bodies of a joint, the worst 1:{} at joint {} (joints: {}). "
                "Make the masses more similar",
                f"{_MASS_RATIO:.0f}",
                format_number(worst[0]),
                repr(worst[1].name),
                count,
            ),
            "joint",
            (worst[1].id,),
        )


def _check_collision_shapes(mechanism: Mechanism) -> Iterator[Finding]:
    """Find bodies without collision shapes, where others have them: they fall through the ground."""
    can = {body.id for body in mechanism.bodies if any(map(_is_solid, body.shapes))}
    none = [
        body for body in mechanism.bodies
        if body.active and body.collidable and not body.immobile and body.id not in can
    ]  # fmt: skip
    if can and none:
        names = abbreviate_names(body.name for body in none)
        yield Finding(
            "no-collision",
            "info",
            Message("No collision shape, so nothing can touch {}", names),
            "body",
            tuple(body.id for body in none),
        )


def _is_solid(shape: Shape) -> bool:
    return shape.collision and bool(shape.extra.get("collidable", True)) and shape.type not in {"axes", "none"}


def _check_joint_ends(mechanism: Mechanism) -> Iterator[Finding]:
    bodies = {body.id for body in mechanism.bodies}
    for joint in mechanism.joints:
        ends = joint.ends
        if joint.parent is not None and joint.parent == joint.child:
            yield Finding(
                "joint-to-itself",
                "error",
                Message("Joint {}: parent and child are the same body. Choose another", repr(joint.name)),
                "joint",
                (joint.id,),
            )
        elif any(end is not None and end not in bodies for end in ends) or ends == (None, None):
            yield Finding(
                "joint-lost",
                "error",
                Message("Joint {}: a body is missing, so it has no effect. Delete it", repr(joint.name)),
                "joint",
                (joint.id,),
                "Delete joint",
            )


def _check_duplicate_joints(mechanism: Mechanism) -> Iterator[Finding]:
    """Find bodies that several joints connect: the second joint closes a degenerate loop."""
    between: dict[frozenset[str | None], list[Joint]] = {}
    for joint in mechanism.joints:
        if joint.active and joint.dofs and joint.parent != joint.child:
            between.setdefault(frozenset(joint.ends), []).append(joint)
    for joints in between.values():
        if len(joints) > 1:
            names = abbreviate_names(joint.name for joint in joints)
            message = Message("{} joints connect the same two bodies: {}. Keep one", len(joints), names)
            yield Finding("joints-double", "warning", message, "joint", tuple(joint.id for joint in joints))


def _check_unjointed_bodies(mechanism: Mechanism) -> Iterator[Finding]:
    """Find bodies that no joint connects to anything, where others are connected."""
    jointed = {end for joint in mechanism.joints if joint.active for end in joint.ends if end}
    alone = [body for body in mechanism.bodies if body.active and body.id not in jointed and not body.immobile]
    if not jointed or not alone:
        return
    names = abbreviate_names(body.name for body in alone)
    yield Finding("unjointed", "info", Message("No joint connects {}", names), "body", tuple(body.id for body in alone))


def _format_value(value: float, dof: Dof) -> str:
    return f"{value:.3g} m" if dof.kind == "translation" else f"{math.degrees(value):.3g}°"


def _values_with_stops(mechanism: Mechanism) -> Iterator[tuple[Joint, Dof, float]]:
    """Yield joints with what has the stops of each of their values, and the initial value."""
    for joint in mechanism.joints:
        for dof, value in zip(value_dofs(joint.dofs), joint.initial.tolist(), strict=True):
            if dof is not None:
                yield joint, dof, value


def _check_stops(mechanism: Mechanism) -> Iterator[Finding]:
    for joint, dof, begins in _values_with_stops(mechanism):
        low, high = dof.lower, dof.upper
        if low is not None and high is not None and low > high:
            yield Finding(
                "stops-inverted",
                "error",
                Message(
                    "Joint {}: lower stop {} is above upper stop {}. Swap them",
                    repr(joint.name),
                    _format_value(low, dof),
                    _format_value(high, dof),
                ),
                "joint",
                (joint.id,),
                "Swap the stops",
            )
        elif (low is not None and begins < low - 1e-6) or (high is not None and begins > high + 1e-6):
            yield Finding(
                "start-beyond-stop",
                "warning",
                Message(
                    "Joint {}: initial value {} is outside its stops",
                    repr(joint.name),
                    _format_value(begins, dof),
                ),
                "joint",
                (joint.id,),
                "Move to the stop",
            )


def _check_names(mechanism: Mechanism) -> Iterator[Finding]:
    for kind, parts in _parts_by_kind(mechanism):
        counts = Counter(part.name for part in parts)
        for name, count in counts.items():
            if count < 2 or not name:
                continue
            ids = tuple(part.id for part in parts if part.name == name)
            message = Message(
                "{} joints are named {}, so motions cannot distinguish them. Rename them", count, repr(name)
            )
            if kind == "body":
                message = Message("{} bodies are named {}. Rename them", count, repr(name))
            yield Finding("name-twice", "warning", message, kind, ids, "Number the names")


def _parts_by_kind(
    mechanism: Mechanism,
) -> tuple[tuple[FindingKind, Sequence[Body | Joint]], tuple[FindingKind, Sequence[Body | Joint]]]:
    return ("body", mechanism.bodies), ("joint", mechanism.joints)


def _check_twins(mechanism: Mechanism) -> Iterator[Finding]:
    known = {kind: by_id(parts) for kind, parts in _parts_by_kind(mechanism)}
    for kind, parts in _parts_by_kind(mechanism):
        for part in parts:
            twin = known[kind].get(part.twin or "")
            if part.twin and (twin is None or twin.twin != part.id):
                message = Message("{}: its twin is missing. Unlink it", repr(part.name))
                if twin is not None:
                    message = Message("{}: its twin {} has another twin. Unlink one", repr(part.name), repr(twin.name))
                yield Finding("twin-one-sided", "warning", message, kind, (part.id,), "Unlink twin")
    sides = find_sides(mechanism)
    differing: dict[tuple[FindingKind, str, str], list[str]] = {}
    for each in find_asymmetries(mechanism, sides):
        if not each.second:
            message = Message("{} is on one side only: {}", repr(known[each.kind][each.first].name), each.what)
            yield Finding("twin-missing", "info", message, each.kind, (each.first,))
            continue
        differing.setdefault((each.kind, each.first, each.second), []).append(each.what)
    for (kind, first, second), what in differing.items():
        names = [repr(known[kind][own].name) for own in (first, second)]
        yield Finding(
            "twins-differ",
            "info",
            Message("Twins {} and {} differ: {}", *names, join_messages(", ", what)),
            kind,
            (first, second),
        )


def _check_loops(mechanism: Mechanism) -> Iterator[Finding]:
    tree = spanning_tree(mechanism)
    if not tree.loop_joints:
        return
    joints = joint_by_id(mechanism)
    for key, (distance, angle) in loop_openings(mechanism, tree=tree).items():
        if max(distance, angle) > _LOOP_TOLERANCE:
            yield Finding(
                "loop-open",
                "warning",
                Message(
                    "Closed loop at joint {}: open by {} m and {}° in the initial pose",
                    repr(joints[key].name),
                    f"{distance:.3g}",
                    f"{np.degrees(angle):.3g}",
                ),
                "joint",
                (key,),
            )


_CHECKS: tuple[Callable[[Mechanism], Iterator[Finding]], ...] = (
    _check_masses, _check_mass_ratios, _check_collision_shapes, _check_joint_ends, _check_duplicate_joints,
    _check_unjointed_bodies, _check_stops, _check_names, _check_twins, _check_loops,
)  # fmt: skip
