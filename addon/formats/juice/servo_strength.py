"""How strong the servos are of a model that another program made, where it does not say.

In Juice a servo goes for ``Gain / 10`` times its error (degrees, or lengths) per second with ``MaxForce`` at most, and
0 is no force. Other formats have no gain, and no limit where they give none. What is chosen for them:

* Gain: 10 for a hinge, Juice's own default, with which it makes up for 0.57 of an error in one of Juice's steps; for a
  slider 573, which is the same share of a length.
* MaxForce: three times the torque (about a hinge) or the force (along a slider) that holds what the joint carries
  against gravity, stretched out as far as it reaches; of a model that stands on nothing but its own limbs no less than
  what carries its whole weight at the end of that limb. Without gravity: as on Earth.

Its joints are springs: CFM and ERP say how soft. Where the source has none, they are Juice's own, but that CFM is no
more than lets the model's whole weight open a joint by 1/200 of its size.

What the source has is kept beside it (``SourceGain``, ``SourceMaxForce``, which Juice ignores), and goes back into
other formats as long as nobody edits the chosen value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.bounds import mechanism_bounds, shape_radius
from ...core.kinematics import Link, Tree, joint_frames_world, spanning_tree
from ...core.model import Array, Body, Dof, Joint, Mechanism
from ..document.conversion_losses import ConversionLosses
from .schema import TIME_STEP, Row

HINGE_GAIN = 10.0
SLIDER_GAIN = HINGE_GAIN * 180.0 / math.pi
_FORCE_MARGIN = 3.0
_EARTH_GRAVITY = 9.81
_SAG = 0.005
#: The elements that keep the source's values, by the fields of a ``Dof``, and the key in its ``extra`` for them:
#: field -> (chosen value, the source's).
SOURCE_ELEMENTS = {"gain": "SourceGain", "max_force": "SourceMaxForce"}
CHOSEN_KEY = "chosen"


def assign_servo_gains(
    mechanism: Mechanism, bodies: Iterable[Body], joints: Iterable[Joint], losses: ConversionLosses
) -> list[Joint]:
    """Joints in Juice's vocabulary, each servo with a gain and a force.

    ``mechanism`` is the model as it was and ``bodies`` those of Juice, whose masses are in the middles of their shapes.
    """
    needs = _required_forces(mechanism, {body.id: body for body in bodies})
    return [_with_gains(joint, needs.get(joint.id, 0.0), losses) for joint in joints]


def choose_cfm(mechanism: Mechanism, erp: float, usual: float) -> float:
    """The CFM of a model whose program has rigid joints: Juice's ``usual`` one, or so much less that the weight of the
    whole model on one joint opens it by no more than a share of the model's size. Such a joint is a spring of
    ``erp / (0.01 cfm)``."""
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
            losses.add("no-force", "a servo that carries nothing has no force: MaxForce is 0", joint)
        else:
            chosen["max_force"] = (float(f"{need:.3g}"), dof.max_force if math.isfinite(dof.max_force) else 0.0)
    if not chosen:
        return joint
    losses.add(
        "approximated-servo", "a servo's gain or force, which the model does not give, is chosen by what it carries",
        joint,
    )  # fmt: skip
    values: dict[str, Any] = {name: value for name, (value, _source) in chosen.items()}
    return replace(joint, dofs=[replace(dof, extra=dof.extra | {CHOSEN_KEY: chosen}, **values)])


def _required_forces(mechanism: Mechanism, bodies: Mapping[str, Body]) -> dict[str, float]:
    """The torque or force that each joint's servo is given, by the joint's id."""
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
        if joint.id in tree.loop_joints:  # it helps to carry what others do
            out[joint.id] = max(out.values(), default=0.0)
    return out


def _supported_load(
    body: Body, at: Array, below: Iterable[tuple[float, float, float, Array]]
) -> tuple[float, float, float]:
    """Of what a joint at a place carries: its mass, the moment of that mass with everything stretched out, and how far
    it reaches. A wheel, whose mass is on its axle, counts as if it were halfway out. ``below``: the same of the joints
    on its body, with their places."""
    place = body.pose[:3, :3] @ body.com + body.pose[:3, 3]
    away, radius = float(np.linalg.norm(place - at)), max(map(shape_radius, body.shapes), default=0.0)
    mass, moment, reach = body.mass, body.mass * max(away, 0.5 * radius), away + radius
    for its_mass, its_moment, its_reach, its_place in below:
        away = float(np.linalg.norm(its_place - at))
        mass, moment = mass + its_mass, moment + its_moment + its_mass * away
        reach = max(reach, away + its_reach)
    return mass, moment, reach


def _suspended_bodies(tree: Tree) -> set[str]:
    """The bodies that hang, through whatever chain, on the world or on what does not move."""
    held = {body.id for body in tree.roots if body.immobile}
    for link in tree.links:
        if link.carrier in held or (link.carrier is None and not _is_free(link)):
            held.add(link.body)
    return held


def _is_free(link: Link) -> bool:
    return any(dof.kind == "free" for dof in link.joint.dofs)


# ---------------------------------------------------------------- what the source had


def source_gain_values(dof: Dof) -> Row:
    """The elements that keep what the source had; what was edited since is its own source."""
    out: Row = {}
    for name, pair in dof.extra.get(CHOSEN_KEY, {}).items():
        if name not in SOURCE_ELEMENTS or len(pair) != 2:
            continue  # a file of another format may say anything
        (value, source), now = pair, getattr(dof, name)
        out[SOURCE_ELEMENTS[name]] = source if now == value else now
    return out


def attach_source_gains(dof: Dof, row: Row) -> Dof:
    """A degree of freedom as it was read, which knows what its values were chosen for."""
    chosen = {
        name: (getattr(dof, name), row[path]) for name, path in SOURCE_ELEMENTS.items() if row.get(path) is not None
    }  # fmt: skip
    return replace(dof, extra=dof.extra | {CHOSEN_KEY: chosen}) if chosen else dof


def restore_source_gains(mechanism: Mechanism) -> Mechanism:
    """A model for another format: servos whose gain and force were chosen for Juice have again what they had.

    One without force is passive there, where no number for it means no limit.
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
