"""No edit changes the mechanism that it gets: its arrays are read-only here, and it is compared before and after."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.editing import joints, limbs, split_merge, symmetry
from addon.core.editing.edits import switch_assembly
from addon.core.editing.sides import find_mirror_plane
from addon.core.joint_types import JOINT_TYPES
from addon.core.kinematics import joint_frame_world, spanning_tree
from addon.core.model import DOF_SIZE, Joint, Mechanism, Plane, body_by_id

MODELS = [
    "hexapod/hexapod.jm", "desk_lamp/desk_lamp.skel", "sensor_leg/sensor_leg.xml", "pumpjack/pumpjack.json",
    "humanoid/humanoid.skel", "rover/rover.jm",
]  # fmt: skip


def arrays(part: Any) -> Iterator[np.ndarray]:
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, dict):
        for each in part.values():
            yield from arrays(each)
    elif isinstance(part, (list, tuple)):
        for each in part:
            yield from arrays(each)
    elif is_dataclass(part):
        for each in fields(part):
            yield from arrays(getattr(part, each.name))


def seen(joint: Joint) -> np.ndarray:
    return np.full(sum(DOF_SIZE[dof.kind] for dof in joint.dofs), 0.1)


def for_joints(edit: Callable[[Mechanism, Joint], object]) -> Callable[[Mechanism], None]:
    def work(mechanism: Mechanism) -> None:
        for joint in mechanism.joints:
            with contextlib.suppress(ValueError):  # a joint that the edit does not apply to
                edit(mechanism, joint)

    return work


def types(mechanism: Mechanism, joint: Joint) -> None:
    for type_ in JOINT_TYPES:
        joints.change_type(mechanism, joint.id, type_, seen(joint))


def moved(mechanism: Mechanism, joint: Joint) -> None:
    frame = joint_frame_world(joint, body_by_id(mechanism)) @ np.diag([-1.0, -1.0, 1.0, 1.0])
    joints.move_joint(mechanism, joint.id, frame, seen(joint))


def duplicated(mechanism: Mechanism) -> None:
    tree = spanning_tree(mechanism)
    for body in mechanism.bodies:
        limb = limbs.find_limb(mechanism, tree, [body.id], [])
        pose = {joint.id: seen(joint) for joint in mechanism.joints}
        limbs.duplicate_limb(mechanism, limb, limbs.equal_offsets(limb, np.array([0.0, 1.0, 0.0])), pose, True)


def plane_of(mechanism: Mechanism) -> Plane:
    return find_mirror_plane(mechanism) or Plane(np.array([0.0, 1.0, 0.0]))


def mirrored(mechanism: Mechanism) -> None:
    for each in symmetry.find_twins(mechanism, plane_of(mechanism)):
        assert each  # candidates
    bodies = [body.id for body in mechanism.bodies if body.twin]
    paired = [joint.id for joint in mechanism.joints if joint.twin]
    symmetry.mirror_twins(mechanism, bodies, paired, plane_of(mechanism))
    symmetry.copy_values_to_twins(mechanism, paired, plane_of(mechanism))
    for own in bodies:
        symmetry.copy_body_values(mechanism, own, ("mass", "immobile"))


def given_twins(mechanism: Mechanism) -> None:
    for body in mechanism.bodies:
        with contextlib.suppress(ValueError):
            symmetry.add_twins(mechanism, spanning_tree(mechanism), [body.id], [], plane_of(mechanism), {})


def parted(mechanism: Mechanism) -> None:
    for body in mechanism.bodies[1:]:
        split_merge.split(mechanism, {body.id}, True, {}, seen)
        joints.delete_parts(mechanism, {body.id}, ())
    pose = {joint.id: seen(joint) for joint in mechanism.joints}
    split_merge.merge(mechanism, mechanism, np.eye(4), pose, (), plane_of(mechanism))


def valued(mechanism: Mechanism) -> None:
    every = [joint.id for joint in mechanism.joints]
    joints.swap_stops(mechanism, every)
    joints.limit_positions(mechanism, every)
    joints.estimate_masses(mechanism, [body.id for body in mechanism.bodies], 1000.0)
    joints.copy_dof_values(mechanism, every[0], every[1:], list(joints.COPIED_FIELDS))
    keys = {(joint.id, 0): (-0.1, 0.2) for joint in mechanism.joints if joint.dofs}
    joints.set_stops(mechanism, keys, {key: key[0] for key in keys})
    joints.switch_joint_stops(mechanism, keys, dict.fromkeys(keys, 1.0), ("lower", "upper"), True)
    joints.number_names(mechanism, "body", [body.id for body in mechanism.bodies])
    for assembly in mechanism.assemblies:
        switch_assembly(mechanism, assembly.path, not assembly.active)


EDITS: dict[str, Callable[[Mechanism], None]] = {
    "type": for_joints(types),
    "ends": for_joints(lambda mechanism, joint: joints.swap_ends(mechanism, joint.id, seen(joint))),
    "place": for_joints(moved),
    "duplicate": duplicated,
    "mirror": mirrored,
    "create twin": given_twins,
    "split, merge, delete": parted,
    "values": valued,
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("model", MODELS)
def test_an_edit_leaves_the_mechanism_that_it_gets(sample_models: Path, model: str, edit: str) -> None:
    mechanism = formats.load(sample_models / model)
    if edit == "duplicate":  # of what hangs on the world too
        mechanism.joints.append(Joint("at the world", "at the world", "weld", None, mechanism.bodies[-1].id))
    for array in arrays(mechanism):
        array.flags.writeable = False
    before = pickle.dumps(mechanism.bodies), pickle.dumps(mechanism.joints), pickle.dumps(mechanism.restraints)
    EDITS[edit](mechanism)
    after = pickle.dumps(mechanism.bodies), pickle.dumps(mechanism.joints), pickle.dumps(mechanism.restraints)
    assert after == before
