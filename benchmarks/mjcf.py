"""A tree of hinges as MuJoCo's MJCF, for comparison alone: where bodies are and how they turn, and nothing else."""

from __future__ import annotations

import numpy as np

from addon.core.kinematics import Tree
from addon.core.model import Array, Joint
from addon.core.transforms import inverse, rotation_vector


def mjcf(tree: Tree) -> str:
    """The text. Roots stand still; a body stands as it does where all coordinates are zero."""
    bodies, world = tree.mechanism.bodies, tree.forward({}, 1)[0]
    inside: dict[str | None, list[str]] = {}
    hinge: dict[str, Joint] = {}
    for link in tree.links:
        inside.setdefault(link.carrier, []).append(link.body)
        hinge[link.body] = link.joint
    inside.setdefault(None, []).extend(root.id for root in tree.roots)

    def element(body_id: str, carrier: Array) -> str:
        at = tree.index[body_id]
        pose = inverse(carrier) @ world[at]
        joint = hinge.get(body_id)
        return (
            f'<body name="{bodies[at].name}" {_placed(pose)}><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
            f"{_hinge(joint) if joint is not None and joint.parent is not None else ''}"
            f"{''.join(element(each, world[at]) for each in inside.get(body_id, ()))}</body>"
        )

    return f"<mujoco><worldbody>{''.join(element(each, np.eye(4)) for each in inside[None])}</worldbody></mujoco>\n"


def _placed(pose: Array) -> str:
    turn = rotation_vector(pose[None, :3, :3])[0]
    angle = float(np.linalg.norm(turn))
    axis = turn / angle if angle else np.array([1.0, 0.0, 0.0])
    quaternion = [np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)]
    return f'pos="{_numbers(pose[:3, 3])}" quat="{_numbers(quaternion)}"'


def _hinge(joint: Joint) -> str:
    axis = joint.frame_child[:3, :3] @ joint.dofs[0].axis
    return f'<joint name="{joint.name}" pos="{_numbers(joint.frame_child[:3, 3])}" axis="{_numbers(axis)}"/>'


def _numbers(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.asarray(values))
