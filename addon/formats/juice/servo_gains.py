"""Gains and forces of servos for Juice, for models of other formats that do not give them.

In Juice a servo moves at ``Gain / 10`` times its error (degrees, or lengths) per second with at most ``MaxForce``; 0 is
no force. Other formats have no gain, and a missing force means no limit. The values chosen for them:

* Gain: 10 for a hinge, Juice's default, which corrects 0.57 of an error in one of Juice's steps; 573 for a slider,
  which is the same fraction of a length.
* MaxForce: three times the torque (hinge) or force (slider) that holds what the joint carries against gravity, fully
  stretched out; for a model that stands only on its own limbs at least what carries its whole weight at the end of that
  limb. Without gravity: as on Earth.

Juice's joints are springs, with CFM and ERP as softness. If the source has none, they are Juice's defaults, but the CFM
is reduced so that the model's whole weight opens a joint by at most 1/200 of its size.

The source's values are kept beside the chosen ones (``SourceGain``, ``SourceMaxForce``, which Juice ignores), and are
restored for other formats unless the chosen value is edited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.bounds import mechanism_bounds, shape_radius
from ...core.kinematics import Link, Tree, joint_frames_world, spanning_tree
from ...core.model import Array, Body, Dof, Joint, Mechanism, by_id
from ..document.conversion_losses import ConversionLosses
from .schema import TIME_STEP, Row

HINGE_GAIN = 10.0
SLIDER_GAIN = HINGE_GAIN * 180.0 / math.pi
_FORCE_MARGIN = 3.0
_EARTH_GRAVITY = 9.81
_SAG = 0.005
#: Elements that keep the source's values, by field of a ``Dof``, and the key in its ``extra`` for them:
#: field -> (chosen value, source value).
SOURCE_ELEMENTS = {"gain": "SourceGain", "max_force": "SourceMaxForce"}
CHOSEN_KEY = "chosen"


def assign_servo_gains(
    mechanism: Mechanism, bodies: Iterable[Body], joints: Iterable[Joint], losses: ConversionLosses
) -> list[Joint]:
    """Return joints whose servos all have a gain and a force.

    Args:
        mechanism: the original mechanism.
        bodies: bodies converted for Juice, with masses at the centers of their shapes.
        joints: joints converted for Juice.
        losses: receives the choices.
    """
    needs = _required_forces(mechanism, by_id(bodies))
    return [_with_gains(joint, needs.get(joint.id, 0.0), losses) for joint in joints]


def choose_cfm(mechanism: Mechanism, erp: float, usual: float) -> float:
    """Return the CFM for a model with rigid joints: ``usual``, or less if its weight would open a joint too far.

    The weight of the whole model on one joint may open it by at most ``_SAG`` times the model's size. Such a joint is a
    spring of stiffness ``erp / (0.01 cfm)``.
    """
    mass = sum(body.mass for body in mechanism.bodies if not body.immobile)
    gravity = math.hypot(*mechanism.world.gravity.tolist()) or _EARTH_GRAVITY
    found = mechanism_bounds(mechanism)
    size = float(np.linalg.norm(found[1] - found[0])) if found is not None else 0.0
    if not TIME_STEP * mass * gravity * size > 0.0 or not TIME_STEP * mass * gravity > 0.0:
        return usual
    return min(usual, float(f"{erp * _SAG * size / (TIME_STEP * mass * gravity):.2g}"))


def _with_gains(joint: Joint, need: float, losses: ConversionLosses) -> Joint:
    dof = joint.dofs[0] if len(joint.dofs) == 1 else None
    if dof is None or dof.kind not in {"rotation", "translation"} or not joint.active:
        return joint
    if dof.actuator == "passive" or dof.lower == dof.upper == 0.0:
        return joint
    chosen: dict[str, tuple[float, float]] = {}
    if not dof.gain > 0.0:
        chosen["gain"] = (HINGE_GAIN if dof.kind == "rotation" else round(SLIDER_GAIN, 1), dof.gain)
    if not 0.0 < dof.max_force < math.inf:
        if not need > 0.0:
            losses.add("no-force", "Servo without a load: MaxForce is written as 0", joint)
        else:
            chosen["max_force"] = (float(f"{need:.3g}"), dof.max_force if math.isfinite(dof.max_force) else 0.0)
    if not chosen:
        return joint
    losses.add(
        "approximated-servo", "Gain or max force of a servo: not in the model, chosen by its load",
        joint,
    )  # fmt: skip
    values: dict[str, Any] = {name: value for name, (value, _source) in chosen.items()}
    return replace(joint, dofs=[replace(dof, extra=dof.extra | {CHOSEN_KEY: chosen}, **values)])


def _required_forces(mechanism: Mechanism, bodies: Mapping[str, Body]) -> dict[str, float]:
    """Return the torque or force of each joint's servo, by joint id."""
    tree, frames = spanning_tree(mechanism), joint_frames_world(mechanism)
    gravity = float(np.linalg.norm(mechanism.world.gravity)) or _EARTH_GRAVITY
    total = sum(body.mass for body in mechanism.bodies if not body.immobile)
    held = _suspended_bodies(tree)
    below: dict[str | None, list[tuple[float, float, float, Array]]] = {}
    out: dict[str, float] = {}
    for link in reversed(tree.links):
        at = frames[link.joint.id][:3, 3]
        mass, torque, reach = _supported_load(bodies[link.body], at, below.pop(link.body, []))
        below.setdefault(link.carrier, []).append((mass, torque, reach, at))
        slides = bool(link.joint.dofs) and link.joint.dofs[0].kind == "translation"
        alone = 0.0 if link.body in held else total * (1.0 if slides else reach)
        out[link.joint.id] = gravity * max(_FORCE_MARGIN * (mass if slides else torque), alone)
    for joint in mechanism.joints:
        if joint.id in tree.loop_joints:  # it shares the load of the others
            out[joint.id] = max(out.values(), default=0.0)
    return out


def _supported_load(
    body: Body, at: Array, below: Iterable[tuple[float, float, float, Array]]
) -> tuple[float, float, float]:
    """Return mass, moment of mass and reach of the load on a joint, with everything beyond it stretched out.

    A wheel, whose mass is on its axle, counts as if it were halfway out.

    Args:
        body: the body on the joint.
        at: position (3,) of the joint in the world.
        below: load and position of the joints on the body.
    """
    place = body.pose[:3, :3] @ body.com + body.pose[:3, 3]
    away, radius = float(np.linalg.norm(place - at)), max(map(shape_radius, body.shapes), default=0.0)
    mass, moment, reach = body.mass, body.mass * max(away, 0.5 * radius), away + radius
    for its_mass, its_moment, its_reach, its_place in below:
        away = float(np.linalg.norm(its_place - at))
        mass, moment = mass + its_mass, moment + its_moment + its_mass * away
        reach = max(reach, away + its_reach)
    return mass, moment, reach


def _suspended_bodies(tree: Tree) -> set[str]:
    """Return the bodies connected, through any chain, to the world or to an immobile body."""
    held = {body.id for body in tree.roots if body.immobile}
    for link in tree.links:
        if link.carrier in held or (link.carrier is None and not _is_free(link)):
            held.add(link.body)
    return held


def _is_free(link: Link) -> bool:
    return any(dof.kind == "free" for dof in link.joint.dofs)


# ---------------------------------------------------------------- values of the source


def source_gain_values(dof: Dof) -> Row:
    """Return the elements that keep the source's values; a value edited since then replaces the source's."""
    out: Row = {}
    for name, pair in dof.extra.get(CHOSEN_KEY, {}).items():
        if name not in SOURCE_ELEMENTS or len(pair) != 2:
            continue  # a file of another format may contain anything
        (value, source), now = pair, getattr(dof, name)
        out[SOURCE_ELEMENTS[name]] = source if now == value else now
    return out


def attach_source_gains(dof: Dof, row: Row) -> Dof:
    """Return a degree of freedom that was read, with the source's values of its row in ``extra``."""
    chosen = {
        name: (getattr(dof, name), row[path]) for name, path in SOURCE_ELEMENTS.items() if row.get(path) is not None
    }  # fmt: skip
    return replace(dof, extra=dof.extra | {CHOSEN_KEY: chosen}) if chosen else dof


def restore_source_gains(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism for another format, with the source's gains and forces instead of those chosen for Juice.

    A servo without force becomes passive, as a missing value means no limit there.
    """
    joints = [replace(joint, dofs=[_restore_dof_gains(dof) for dof in joint.dofs]) for joint in mechanism.joints]
    return replace(mechanism, joints=joints)


def _restore_dof_gains(dof: Dof) -> Dof:
    chosen = dof.extra.get(CHOSEN_KEY, {})
    back = {
        name: source for name, (value, source) in chosen.items() if np.float32(getattr(dof, name)) == np.float32(value)
    }
    if back:
        return replace(dof, **back)
    is_servo = dof.kind in {"rotation", "translation"} and not dof.lower == dof.upper == 0.0
    return (
        replace(dof, actuator="passive") if is_servo and dof.max_force == 0.0 and CHOSEN_KEY not in dof.extra else dof
    )
