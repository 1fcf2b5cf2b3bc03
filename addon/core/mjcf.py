"""MJCF of a mechanism, the model format of MuJoCo: bodies, joints, closed loops, stops, springs and contacts.

Element and attribute names are those of MuJoCo's XML reference (mujoco.readthedocs.io).
The model's reference configuration is the initial one: bodies stand at their ``pose``, and ``ref`` is the initial
position of a degree of freedom. What MuJoCo cannot take is named and not approximated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from .kinematics import Link, Tree, joint_motion, spanning_tree
from .model import Array, Body, Dof, Joint, Mechanism, Shape, body_by_id
from .report import Message
from .transforms import inverse, rotation_vector

#: Least mass and moment of inertia of a moving body that MuJoCo accepts (mjMINVAL).
_MIN_INERTIA = 1e-15
#: Time constants (s) and damping ratio of stops, of loops and of contacts: twice the time step, the stiffest allowed.
_SOLVER_REFERENCE = "{} 1"
#: Distance between the two points that hold a hinge of a closed loop, as a share of the largest distance of two bodies.
_HINGE_SHARE = 0.1


@dataclass(frozen=True)
class Mjcf:
    """A model for MuJoCo.

    Attributes:
        text: The XML document.
        bodies: Name of each moving body in it, by id.
        joints: Names of the joints in it by joint id and index of the degree of freedom; a screw has its rotation's.
        actuators: Names of the actuators, by the same.
    """

    text: str
    bodies: dict[str, str] = field(default_factory=dict)
    joints: dict[tuple[str, int], str] = field(default_factory=dict)
    actuators: dict[tuple[str, int], str] = field(default_factory=dict)


def mujoco_obstacles(mechanism: Mechanism) -> list[str]:
    """Return the reasons why MuJoCo cannot simulate a mechanism; empty if it can.

    Args:
        mechanism: The mechanism, with ``inertia`` of all bodies.
    """
    out: list[str] = []
    for body in mechanism.bodies:
        if not body.immobile and not _is_solid(body):
            out.append(Message("Body {} has no mass or no moment of inertia", repr(body.name)))
    loops = _tree(mechanism).loop_joints
    for joint in mechanism.joints:
        if joint.active:
            out += _joint_obstacles(joint, joint.id in loops)
    if mechanism.restraints:
        out.append(Message("The mechanism has springs, dampers or friction between two points, or with a force law"))
    return out


def _joint_obstacles(joint: Joint, closes_loop: bool) -> Iterable[str]:
    name = repr(joint.name)
    if closes_loop and not can_close_loop(joint):
        has_force = any(_has_force(dof) for dof in joint.dofs)
        yield (
            Message("Joint {} closes a loop and has stops, a spring, damping or friction", name)
            if has_force
            else Message("Joint {} closes a loop and is neither a hinge nor a ball joint", name)
        )
    for dof in joint.dofs:
        has_stop = dof.lower is not None or dof.upper is not None
        if dof.kind in {"ball", "free"} and (has_stop or any(_has_force(part) for part in dof.parts)):
            yield Message("Joint {} has stops, springs, damping or friction for single axes", name)
        if dof.kind == "ball" and dof.stiffness and any(dof.start):
            yield Message("Joint {} is a ball joint with a spring and an initial rotation", name)
        if dof.kind == "free" and (len(joint.dofs) > 1 or joint.parent is not None or _has_force(dof)):
            yield Message("Joint {} is free between two bodies, or has forces", name)


def can_close_loop(joint: Joint) -> bool:
    """Return whether MuJoCo can close a loop with a joint: a rigid one, a hinge or a ball joint, without forces."""
    kinds = [dof.kind for dof in joint.dofs]
    return kinds in ([], ["rotation"], ["ball"]) and not any(_has_force(dof) for dof in joint.dofs)


def _has_force(dof: Dof) -> bool:
    return any((dof.lower is not None, dof.upper is not None, dof.stiffness, dof.damping, dof.friction))


def _is_solid(body: Body) -> bool:
    tensor = np.zeros((3, 3)) if body.inertia is None else body.inertia
    return body.mass > _MIN_INERTIA and float(np.linalg.eigvalsh(tensor)[0]) > _MIN_INERTIA


def to_mjcf(
    mechanism: Mechanism,
    time_step: float = 0.002,
    servos: Collection[tuple[str, int]] = (),
    pairs: Collection[tuple[str, str]] = (),
    friction: Mapping[str, float] | None = None,
) -> Mjcf:
    """Convert a mechanism to MJCF.

    Args:
        mechanism: The mechanism. Poses of bodies and positions of degrees of freedom are the initial ones, joints fit
            them, and lengths are in meters. Immobile bodies stand in the world.
        time_step: Time step (s).
        servos: Joint id and index of the degrees of freedom with an actuator, whose gains and force limit the caller
            sets.
        pairs: Pairs of bodies (ids) that may collide, with their collision shapes; the ground has an empty id.
        friction: Friction coefficients of bodies by id, empty for the ground; those of a pair are multiplied.

    Raises:
        ValueError: MuJoCo cannot simulate the mechanism.
    """
    obstacles = mujoco_obstacles(mechanism)
    if obstacles:
        raise ValueError(Message("MuJoCo cannot simulate this mechanism: {}", obstacles[0]))
    return _Writer(mechanism, time_step, servos, pairs, friction or {}).write()


def _tree(mechanism: Mechanism) -> Tree:
    return spanning_tree(_without_immobile(mechanism))


def _without_immobile(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism whose immobile bodies are the world, to which their joints lead."""
    standing = {own: body.pose for own, body in body_by_id(mechanism).items() if body.immobile}
    joints = []
    for joint in mechanism.joints:
        parent, child, frames = joint.parent, joint.child, [joint.frame_parent, joint.frame_child]
        if parent in standing:
            parent, frames[0] = None, standing[parent] @ frames[0]  # type: ignore[index]
        if child in standing:
            child, frames[1] = None, standing[child] @ frames[1]  # type: ignore[index]
        if joint.active and not (parent is None and child is None):
            joints.append(
                Joint(
                    joint.id, joint.name, joint.type, parent, child, frames[0], frames[1], joint.dofs, extra=joint.extra
                )
            )
    bodies = [body for body in mechanism.bodies if not body.immobile]
    return Mechanism(mechanism.name, mechanism.world, bodies, joints)


class _Writer:
    """Writer of one model."""

    def __init__(
        self,
        mechanism: Mechanism,
        time_step: float,
        servos: Collection[tuple[str, int]],
        pairs: Collection[tuple[str, str]],
        friction: Mapping[str, float],
    ) -> None:
        self.mechanism, self.time_step, self.pairs, self.friction = mechanism, time_step, pairs, friction
        self.servos, self.tree = {*servos}, _tree(mechanism)
        self.bodies = body_by_id(mechanism)
        self.poses: dict[str | None, Array] = {own: body.pose for own, body in self.bodies.items()}
        self.poses[None] = np.eye(4)
        self.out = Mjcf("")
        self.assets: list[str] = []
        self.equalities: list[str] = []
        self.actuators: list[str] = []
        self.geoms: dict[str, list[str]] = {}
        self.reference = _SOLVER_REFERENCE.format(repr(2.0 * time_step))
        places = np.array([pose[:3, 3] for pose in self.poses.values()])
        self.reach = _HINGE_SHARE * max(float(np.linalg.norm(np.ptp(places, axis=0))), 1e-3)

    def write(self) -> Mjcf:
        """Return the model."""
        names = {body.id: f"body{number}" for number, body in enumerate(self.tree.mechanism.bodies)}
        self.out.bodies.update(names)
        inside: dict[str | None, list[tuple[str, Link | None]]] = {}
        for link in self.tree.links:
            inside.setdefault(link.carrier, []).append((link.body, link))
        for root in self.tree.roots:
            inside.setdefault(None, []).append((root.id, None))
        collided = {body_id for pair in self.pairs for body_id in pair}
        fixed = [body for body in self.mechanism.bodies if body.immobile and body.id in collided]
        tree = "".join(self._geoms(body, body.pose) for body in fixed)
        if "" in collided:
            ground = self.mechanism.world.ground or 0.0
            tree += f'<geom name="ground" type="plane" pos="0 0 {ground!r}" size="0 0 1"/>'
            self.geoms[""] = ["ground"]
        tree += "".join(self._body(*each, inside, collided) for each in inside.get(None, ()))
        for joint in self.tree.mechanism.joints:
            if joint.id in self.tree.loop_joints:
                self._close_loop(joint)
        text = (
            f"<mujoco model={quoteattr(self.mechanism.name)}>"
            '<compiler angle="radian" autolimits="true" inertiafromgeom="false"/>'
            f'<option timestep="{self.time_step!r}" gravity="{_numbers(self.mechanism.world.gravity)}"'
            ' integrator="implicitfast"><flag autoreset="disable"/></option>'
            f'<default><joint solreflimit="{self.reference}"/><equality solref="{self.reference}"/>'
            '<geom contype="0" conaffinity="0"/></default>'
            f"<asset>{''.join(self.assets)}</asset><worldbody>{tree}</worldbody>"
            f"<contact>{''.join(self._pairs())}</contact><equality>{''.join(self.equalities)}</equality>"
            f"<actuator>{''.join(self.actuators)}</actuator></mujoco>\n"
        )
        return Mjcf(text, self.out.bodies, self.out.joints, self.out.actuators)

    def _body(
        self,
        body_id: str,
        link: Link | None,
        inside: Mapping[str | None, list[tuple[str, Link | None]]],
        collided: Collection[str],
    ) -> str:
        body, carrier = self.bodies[body_id], None if link is None else link.carrier
        pose, tensor = inverse(self.poses[carrier]) @ body.pose, body.inertia
        assert tensor is not None
        joints = "<freejoint/>" if link is None else self._joints(link)
        entries = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        geoms = self._geoms(body, np.eye(4)) if body_id in collided else ""
        children = "".join(self._body(*each, inside, collided) for each in inside.get(body_id, ()))
        weightless = "" if body.gravity else ' gravcomp="1"'
        return (
            f'<body name="{self.out.bodies[body_id]}" {_placed(pose)}{weightless}>'
            f'<inertial pos="{_numbers(body.com)}" mass="{float(body.mass)!r}" fullinertia="{_numbers(entries)}"/>'
            f"{joints}{geoms}{children}</body>"
        )

    def _joints(self, link: Link) -> str:
        """Return the joints by which a body moves against its carrier, in MuJoCo's order: the carrier's first."""
        joint, to_body = link.joint, inverse(self.poses[link.body])
        at = self.poses[joint.parent] @ joint.frame_parent
        steps = []  # of the parent's side: frame at which the degree of freedom acts
        for number, dof in enumerate(joint.dofs):
            steps.append((number, dof, to_body @ at))
            single = Joint("", "", "", None, None, dofs=[dof])
            at = at @ joint_motion(single, dof.initial[None])[0]
        if link.is_reversed:
            steps.reverse()
        return "".join(self._dof(joint, number, dof, frame, link.is_reversed) for number, dof, frame in steps)

    def _dof(self, joint: Joint, number: int, dof: Dof, frame: Array, reverse: bool) -> str:
        name = self.out.joints[joint.id, number] = f"joint{len(self.out.joints)}"
        if dof.kind == "free":
            return f'<freejoint name="{name}"/>'
        place = f'pos="{_numbers(frame[:3, 3])}"'
        if dof.kind == "ball":
            return f'<joint name="{name}" type="ball" {place}{_forces(dof)}/>'
        axis = frame[:3, :3] @ dof.axis * (-1.0 if reverse else 1.0)
        placed = f'{place} axis="{_numbers(axis)}"'
        if (joint.id, number) in self.servos:
            actuator = self.out.actuators[joint.id, number] = f"servo{len(self.out.actuators)}"
            self.actuators.append(
                f'<general name="{actuator}" joint="{name}" biastype="affine" gainprm="1" forcerange="-1 1"/>'
            )
        kind = "slide" if dof.kind == "translation" else "hinge"
        initial = float(dof.position)
        text = f'<joint name="{name}" type="{kind}" {placed} ref="{initial!r}"{_forces(dof)}/>'
        if dof.kind == "screw":
            slide = f"{name}slide"
            text += f'<joint name="{slide}" type="slide" {placed} ref="{initial * dof.pitch!r}"/>'
            self.equalities.append(f'<joint joint1="{slide}" joint2="{name}" polycoef="0 {float(dof.pitch)!r} 0 0 0"/>')
        return text

    def _close_loop(self, joint: Joint) -> None:
        """Add the constraints of a joint that closes a loop: a weld, one point, or two points on a hinge's axis."""
        ends = [None if end is None else self.out.bodies[end] for end in (joint.child, joint.parent)]
        frame = inverse(self.poses[joint.child]) @ self.poses[joint.parent] @ joint.frame_parent
        if ends[0] is None:
            ends, frame = [ends[1], None], joint.frame_parent
        other = "" if ends[1] is None else f' body2="{ends[1]}"'
        if not joint.dofs:
            self.equalities.append(f'<weld body1="{ends[0]}"{other}/>')
            return
        along = self.reach * (frame[:3, :3] @ joint.dofs[0].axis) if joint.dofs[0].kind == "rotation" else np.zeros(3)
        for point in (frame[:3, 3] - along, frame[:3, 3] + along) if along.any() else (frame[:3, 3],):
            self.equalities.append(f'<connect body1="{ends[0]}"{other} anchor="{_numbers(point)}"/>')

    # ------------------------------------------------------------------ contacts

    def _geoms(self, body: Body, pose: Array) -> str:
        out = []
        for shape in body.shapes:
            form = self._form(shape) if shape.collision else ""
            if form:
                name = f"geom{sum(map(len, self.geoms.values()))}"
                self.geoms.setdefault(body.id, []).append(name)
                out.append(f'<geom name="{name}" {form} {_placed(pose @ shape.pose)}/>')
        return "".join(out)

    def _form(self, shape: Shape) -> str:
        """Return type and size of a shape; empty where it has no counterpart."""
        size = shape.size
        if shape.type in {"box", "ellipsoid"}:
            return f'type="{shape.type}" size="{_numbers([size[axis] / 2.0 for axis in "xyz"])}"'
        if shape.type == "sphere":
            return f'type="sphere" size="{float(size["radius"])!r}"'
        if shape.type in {"capsule", "cylinder"}:
            return f'type="{shape.type}" size="{_numbers([size["radius"], size["length"] / 2.0])}"'
        if "vertices" not in shape.extra:
            return ""
        name = f"mesh{len(self.assets)}"
        vertices = np.asarray(shape.extra["vertices"], dtype=np.float64)
        self.assets.append(f'<mesh name="{name}" vertex="{_numbers(vertices.ravel())}"/>')
        return f'type="mesh" mesh="{name}"'

    def _pairs(self) -> Iterable[str]:
        for first, second in self.pairs:
            slide = self.friction.get(first, 1.0) * self.friction.get(second, 1.0)
            for one in self.geoms.get(first, ()):
                for other in self.geoms.get(second, ()):
                    yield (
                        f'<pair geom1="{one}" geom2="{other}" friction="{_numbers([slide, slide, 0.005, 1e-4, 1e-4])}"'
                        f' solref="{self.reference}"/>'
                    )


def _forces(dof: Dof) -> str:
    """Return the attributes of stops, spring, damping and friction that are not at their defaults."""
    out = ""
    if dof.lower is not None or dof.upper is not None:
        out += (
            f' range="{_numbers([-1e6 if dof.lower is None else dof.lower, 1e6 if dof.upper is None else dof.upper])}"'
        )
    if dof.stiffness:
        out += f' stiffness="{float(dof.stiffness)!r}"'
        out += "" if dof.kind == "ball" else f' springref="{float(dof.rest)!r}"'  # a ball's is its reference pose
    if dof.damping:
        out += f' damping="{float(dof.damping)!r}"'
    if dof.friction:
        out += f' frictionloss="{float(dof.friction)!r}"'
    return out


def _placed(pose: Array) -> str:
    turn = rotation_vector(pose[None, :3, :3])[0]
    angle = float(np.linalg.norm(turn))
    axis = turn / angle if angle else np.array([1.0, 0.0, 0.0])
    quaternion = [np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)]
    return f'pos="{_numbers(pose[:3, 3])}" quat="{_numbers(quaternion)}"'


def _numbers(values: object) -> str:
    return " ".join(repr(float(value)) for value in np.asarray(values).ravel())
