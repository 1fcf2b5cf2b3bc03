"""Conversion of a mechanism to a plan for SKEL: skeletons that are trees, bodies by name, joints of DART's types.

What DART does not support is approximated or left out, and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.kinematics import CLOSES_LOOP, Tree, spanning_tree
from ...core.model import Array, Body, Dof, Frame, Joint, Mechanism, by_id
from ...core.record_utils import records_equal
from ...core.report import Message, Report
from ...core.spatial import SinglePoseKinematics
from ..document.conversion_losses import ORGANIZATION_ONLY, SIMULATION_DIFFERS, ConversionLosses
from .from_model_rows import (
    CachedBody,
    ExistingElements,
    JointMatch,
    PlannedBody,
    PlannedJoint,
    actuator_name,
    coordinate_rows,
    extension_numbers,
    group_by_skeleton,
    mass_row,
    match_joint_types,
    reverse_dofs,
    shape_rows,
)
from .schema import EXTENSION_TAG, INACTIVE_JOINT, LOOP_JOINT, DartNames, Row, dart_name, same_pose
from .to_model import DOF_COUNTS, root_joint_key
from .to_model_chains import WORLD_NAME, link_key, piece_key

#: Mass and moment of a body between the joints of a chain: negligible, but not zero.
ZERO_TOLERANCE = 1e-9


@dataclass
class SkelPlan:
    """Objects to be written, by id in the mechanism, in order."""

    world: Row
    skeletons: dict[str, Row]
    bodies: dict[str, PlannedBody]
    joints: dict[str, PlannedJoint]
    made: dict[str, CachedBody] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        report: Report,
        standing: ExistingElements | None = None,
        before: SkelPlan | None = None,
    ) -> SkelPlan:
        """Plan a mechanism.

        Args:
            mechanism: the mechanism.
            report: receives the losses.
            standing: bodies and joints that keep the names that they have in a document.
            before: an earlier plan, whose planned bodies are reused where they are unchanged.
        """
        made = {} if before is None else before.made
        return _Planner(mechanism, report, standing or ExistingElements(), made).plan()


class _Planner:
    def __init__(
        self, mechanism: Mechanism, report: Report, standing: ExistingElements, made: Mapping[str, CachedBody]
    ) -> None:
        self.report, self.standing, self.made = report, standing, made
        self.frames_of: dict[str | None, list[Frame]] = {}
        for frame in mechanism.frames:
            self.frames_of.setdefault(frame.body, []).append(frame)
        self.losses = ConversionLosses()
        self.bodies = [body for body in mechanism.bodies if self._is_there(body)]
        known = {body.id for body in self.bodies}
        self.body_of = by_id(self.bodies)
        joints = [
            self._reversed(joint) if joint.active and joint.child is None and joint.parent in known else joint
            for joint in mechanism.joints  # DART's world is always a parent
        ]
        mechanism = self.mechanism = replace(mechanism, joints=joints)
        self.live = [
            joint
            for joint in mechanism.joints
            if joint.active and joint.child in known and (joint.parent is None or joint.parent in known)
        ]
        self.tree = self._tree()
        self.pose = self._poses()
        self.skeleton_of, self.skeletons = group_by_skeleton(mechanism, self.bodies, self.live)
        self.name_of = self._body_names()
        own_names = (standing.joints[joint.id].name for joint in mechanism.joints if joint.id in standing.joints)
        taken = frozenset(name for name in own_names if name)
        self.joint_names = {key: DartNames(taken) for key in self.skeletons}
        self.plan_of = SkelPlan({}, {}, {}, {})

    def plan(self) -> SkelPlan:
        """Plan everything, and report the losses."""
        world = self.mechanism.world
        plan = self.plan_of
        plan.world = {"physics/gravity": tuple(float(x) for x in world.gravity), "physics/time_step": world.time_step}
        bodies_of: dict[str, list[Body]] = {}
        for body in self.bodies:
            bodies_of.setdefault(self.skeleton_of[body.id], []).append(body)
        extras = {each.path: each.extra for each in reversed(self.mechanism.assemblies)}
        for key, name in self.skeletons.items():
            inside = bodies_of.get(key, [])
            still = bool(inside) and all(body.immobile for body in inside)
            empty = not inside and extras.get(key, {}).get("mobile") is False
            plan.skeletons[key] = {"@name": name, "mobile": not (still or empty)}
        for body in self.bodies:
            plan.bodies[body.id] = self._body(body)
        links = {link.joint.id: link.is_reversed for link in self.tree.links}
        roots = {body.id for body in self.tree.roots}
        for joint in self.mechanism.joints:
            if joint.id in links:
                self._tree_joint(joint, links[joint.id])
            else:
                self._other_joint(joint)
        self._joint_twins()
        for body in self.bodies:
            if body.id in roots:
                self._loose(body)
        self._report_remaining()
        self.losses.report_all(self.report)
        loose = next((body.id for body in self.bodies if not body.assembly), None)
        if self.mechanism.source.format != "skel" and loose is not None:
            name = self.skeletons[self.skeleton_of[loose]]  # its own, or that of a connected assembly
            self.report.info("invented-assembly", Message("Parts without an assembly: written as '{}'", name))
        return plan

    def _own_name(self, record: Body | Joint) -> str | None:
        """Return the name that a body or joint keeps from its document, if any."""
        own = (self.standing.bodies if isinstance(record, Body) else self.standing.joints).get(record.id)
        return own.name if own is not None else None

    def _is_there(self, body: Body) -> bool:
        if not body.active:
            self.losses.add(
                "dropped-inactive",
                "Inactive body: not written, SKEL cannot switch parts off. Switch its assembly on to keep it",
                body,
            )
        return body.active

    def _tree(self) -> Tree:
        """Return the spanning tree of the joints that DART builds, without those known to close a loop."""
        joints = [joint for joint in self.live if not joint.extra.get(CLOSES_LOOP)]
        return spanning_tree(replace(self.mechanism, bodies=self.bodies, joints=joints))

    def _poses(self) -> dict[str, Array]:
        """Return the poses of bodies with every joint at zero; reported where a body was elsewhere."""
        zero = SinglePoseKinematics(self.tree).forward({})
        found: dict[str, Array] = {}
        for body, pose in zip(self.bodies, zero, strict=True):
            same = same_pose(pose, body.pose)
            found[body.id] = body.pose if same else pose
            if not same:
                message = "Body: written where its joint places it, not where it was"
                self.losses.add("moved-body", message, body)
        return found

    def _body_names(self) -> dict[str, str]:
        """Return the names by which DART finds bodies: unique in a skeleton, and not the name of the world."""
        unique = {key: DartNames((WORLD_NAME,)) for key in self.skeletons}
        found: dict[str, str] = {}
        for body in sorted(self.bodies, key=lambda body: self._own_name(body) is None):
            own = self._own_name(body)
            name = unique[self.skeleton_of[body.id]](dart_name(body.name, "body") if own is None else own)
            found[body.id] = name if own is None else own
            if own is None and name != body.name:
                self.losses.add("renamed", "Body name: taken or invalid in DART, written as another", body)
        return found

    def _body(self, body: Body) -> PlannedBody:
        key = self.skeleton_of[body.id]
        name = self.name_of[body.id]
        row: Row = {
            "@name": name,
            f"{EXTENSION_TAG}/@name": body.name if body.name != name else None,
            f"{EXTENSION_TAG}/@assembly": body.assembly if body.assembly not in ("", self.skeletons[key]) else None,
            f"{EXTENSION_TAG}/@twin": self._twin(body, key),
            "gravity": body.gravity,
            "transformation": self.pose[body.id],
        }
        frames, old = self.frames_of.get(body.id, []), self.made.get(body.id)
        same = old is not None and old.planned.skeleton == key
        if old is None or not same or not records_equal((row, body, frames), (old.row, old.body, old.frames)):
            losses = ConversionLosses()
            old = CachedBody(body, frames, row, _plan_body(key, row, body, frames, losses), losses)
        self.plan_of.made[body.id] = old
        self.losses.take(old.losses)
        return old.planned

    def _twin(self, body: Body, key: str) -> str | None:
        if body.twin is None:
            return None
        if self.skeleton_of.get(body.twin) == key:
            return self.name_of[body.twin]
        self.losses.add("dropped-twin", "Twin in another skeleton: not written", body)
        return None

    def _joint_name(self, joint: Joint, key: str) -> str:
        own = self._own_name(joint)
        return own if own is not None else self.joint_names[key](dart_name(joint.name, "joint"))

    def _tree_joint(self, joint: Joint, is_reversed: bool) -> None:
        """Plan a joint that DART builds, directed outward from the root; several where DART has no such type."""
        if is_reversed:
            joint = self._reversed(joint)
        child = joint.child
        assert child is not None
        key = self.skeleton_of[child]
        found = self._matched(joint)
        if len(found) > 1:
            message = Message(
                "Joint of type {}: written as {} joints with almost massless bodies between", joint.type, len(found)
            )
            self.losses.add("approximated-joint", message, joint, SIMULATION_DIFFERS)
        at_zero = self.pose[child] @ joint.frame_child
        parent = WORLD_NAME if joint.parent is None else self.name_of[joint.parent]
        name = self._joint_name(joint, key)
        for number, match in enumerate(found[:-1]):
            link = self._link(joint, number, name, key, at_zero)
            row: Row = {
                "@name": self.joint_names[key](f"{name}_{number}"),
                f"{EXTENSION_TAG}/@link_of": name,
                "parent": parent,
            }
            row |= {"child": link, "transformation": match.turn} | self._type_row(match, joint)
            self._add(piece_key(joint.id, number), key, "joint", row, match.dofs)
            parent = link
        last = found[-1]
        row = {"parent": parent, "child": self.name_of[child], "transformation": joint.frame_child @ last.turn}
        self._add(joint.id, key, "joint", self._final_joint_row(joint, name, key, found) | row, last.dofs)

    def _reversed(self, joint: Joint) -> Joint:
        """Return a joint with parent and child exchanged."""
        return replace(
            joint,
            parent=joint.child,
            child=joint.parent,
            frame_parent=joint.frame_child,
            frame_child=joint.frame_parent,
            dofs=reverse_dofs(joint, self.losses),
        )

    def _matched(self, joint: Joint) -> list[JointMatch]:
        """Match a joint's degrees of freedom to DART's types."""
        there = self.standing.joints[joint.id].type if joint.id in self.standing.joints else ""
        kinds = [dof.kind for dof in joint.dofs]
        if there == "translational2d" and kinds == ["translation", "translation"]:
            row = {
                f"plane/translation_axis{i + 1}/xyz": tuple(map(float, dof.axis)) for i, dof in enumerate(joint.dofs)
            }
            return [JointMatch(there, joint.dofs, row={"plane/@type": "arbitrary", **row})]
        if there == "screw" and kinds == ["screw"]:
            match = match_joint_types(joint.dofs)[0]
            match.row["axis/pitch"] = joint.dofs[0].pitch * 2.0 * np.pi
            return [replace(match, type=there)]
        if any(part.armature not in (0.0, dof.armature) for dof in joint.dofs for part in dof.parts):
            message = "Rotor inertia of one degree of freedom of several: not written"
            self.losses.add("dropped-joint-property", message, joint)
        if any(dof.kind == "screw" for dof in joint.dofs):
            self.losses.add("approximated-joint", "Screw joint: written as a hinge, which does not advance", joint)
        return match_joint_types(joint.dofs)

    def _link(self, joint: Joint, number: int, name: str, key: str, pose: Array) -> str:
        """Plan a body between two joints of a chain; returns its name."""
        unique = DartNames(tuple(item.row["@name"] for item in self.plan_of.bodies.values() if item.skeleton == key))
        own = unique(f"{name}_link_{number}")
        body = Body("", own, mass=ZERO_TOLERANCE, inertia=np.eye(3) * ZERO_TOLERANCE)
        row: Row = {"@name": own, f"{EXTENSION_TAG}/@link_of": name, "gravity": True, "transformation": pose}
        self.plan_of.bodies[link_key(joint.id, number)] = PlannedBody(key, row | mass_row(body, self.losses))
        return own

    def _final_joint_row(self, joint: Joint, name: str, key: str, found: list[JointMatch]) -> Row:
        """Return the row of a joint's last or only element, without its ends."""
        match = found[-1]
        changed = len(found) > 1 or (joint.type != match.type and not (joint.type in DOF_COUNTS and not joint.dofs))
        return {
            "@name": name,
            "@actuator": actuator_name(joint.dofs, joint.extra.get("actuator")),
            f"{EXTENSION_TAG}/@name": joint.name if joint.name != name else None,
            f"{EXTENSION_TAG}/@assembly": joint.assembly if joint.assembly not in ("", self.skeletons[key]) else None,
            f"{EXTENSION_TAG}/@type": joint.type if changed else None,
            f"{EXTENSION_TAG}/@link_of": name if len(found) > 1 else None,
            **self._type_row(match, joint),
        }

    def _joint_twins(self) -> None:
        """Set every joint's twin, once all joints have their final names."""
        for joint in self.mechanism.joints:
            own, twin = self.plan_of.joints.get(joint.id), self.plan_of.joints.get(joint.twin or "")
            if own is not None and twin is not None and own.skeleton == twin.skeleton:
                own.row[f"{EXTENSION_TAG}/@twin"] = twin.row["@name"]
            elif own is not None and joint.twin is not None:
                self.losses.add("dropped-twin", "Twin in another skeleton: not written", joint)

    @staticmethod
    def _type_row(match: JointMatch, joint: Joint) -> Row:
        pitch = next((dof.pitch for dof in match.dofs if dof.kind == "screw"), None)
        kept = {f"{EXTENSION_TAG}/@pitch": pitch} if pitch is not None and match.type != "screw" else {}
        return {"@type": match.type, **match.row, **kept, **extension_numbers(match.dofs)}

    def _other_joint(self, joint: Joint) -> None:
        """Plan a joint that closes a loop or is inactive, under a tag that DART ignores."""
        ends = [end for end in (joint.child, joint.parent) if end in self.skeleton_of]
        is_loop = any(each is joint for each in self.live)
        if not ends:
            self.losses.add("dropped-joint", "Joint without a body: not written", joint, ORGANIZATION_ONLY)
            return
        key = self.skeleton_of[ends[0]]
        if any(self.skeleton_of[end] != key for end in ends):
            self.losses.add(
                "dropped-joint",
                "Inactive joint between two skeletons: not written",
                joint,
                ORGANIZATION_ONLY,
            )
            return
        found = self._matched(joint)
        if len(found) > 1:
            self.losses.add(
                "dropped-joint", Message("Joint of type {}, which DART does not build: not written", joint.type), joint
            )
            return
        name = self._joint_name(joint, key)
        row = self._final_joint_row(joint, name, key, found)
        parent, child = (self.name_of.get(end) if end is not None else None for end in joint.ends)
        row |= {"parent": WORLD_NAME if joint.parent is None else parent, "child": child}
        turn = found[0].turn
        row |= {"transformation": joint.frame_child @ turn, "parent_transformation": joint.frame_parent @ turn}
        if is_loop:
            here = self.pose[joint.parent] if joint.parent in self.pose else np.eye(4)
            gap = np.abs(here @ joint.frame_parent - self.pose[joint.child or ""] @ joint.frame_child)[:3, 3].max()
            message = Message(
                "Closed loop at joint '{}': cut there (joint separation {}) and kept as <{}>, which DART ignores",
                joint.name,
                f"{gap:.3g}",
                LOOP_JOINT,
            )
            self.report.warn("cut-loop", message)
        self._add(joint.id, key, LOOP_JOINT if is_loop else INACTIVE_JOINT, row, found[0].dofs)

    def _loose(self, body: Body) -> None:
        """Plan the joint that DART requires for a body without one: free, or a weld if the body is immobile."""
        key = self.skeleton_of[body.id]
        still = body.immobile
        row: Row = {
            "@name": self.joint_names[key]("root"),
            "@type": "weld" if still else "free",
            f"{EXTENSION_TAG}/@loose": "1",
            "parent": WORLD_NAME,
            "child": self.name_of[body.id],
            "transformation": np.eye(4),
        }
        self._add(root_joint_key(body.id), key, "joint", row, [] if still else [Dof("free")])

    def _add(self, id_: str, key: str, tag: str, row: Row, dofs: list[Dof]) -> None:
        self.plan_of.joints[id_] = PlannedJoint(key, tag, row, coordinate_rows(dofs))

    def _report_remaining(self) -> None:
        mechanism, losses = self.mechanism, self.losses
        for motion in mechanism.motions:
            losses.add("dropped-motion", "Motions: not written. Export them as servo motion", motion)
        if mechanism.behaviours is not None:
            losses.add("dropped-behaviours", "Behaviors: not written", mechanism)
        for light in mechanism.lights:
            losses.add("dropped-light", "Lights: not written", light)
        for restraint in mechanism.restraints:
            losses.add("dropped-restraint", "Restraints: not written", restraint)
        for frame in mechanism.frames:
            if frame.body not in self.body_of:
                losses.add("dropped-frame", "Reference frame without a body: not written", frame)
        world = mechanism.world
        for name in ("friction", "erp", "cfm", "ground"):
            if getattr(world, name) is not None:
                losses.add("dropped-world", Message("World setting '{}': not written", name), mechanism)
        moved = {body.id for body in self.bodies if body.immobile} - {body.id for body in self.tree.roots}
        for body in self.bodies:
            if body.id in moved and self.plan_of.skeletons[self.skeleton_of[body.id]]["mobile"]:
                losses.add("dropped-flag", "Body that is fixed: written as one that its joint moves", body)


def _plan_body(key: str, row: Row, body: Body, frames: list[Frame], losses: ConversionLosses) -> PlannedBody:
    """Plan a body with its shapes and markers."""
    planned = PlannedBody(key, row | mass_row(body, losses))
    for shape in body.shapes:
        planned.shapes += shape_rows(shape, body, losses)
    for frame in frames:
        planned.markers.append({"@name": frame.name, "offset": tuple(float(x) for x in frame.pose[:3, 3])})
        if np.abs(frame.pose[:3, :3] - np.eye(3)).max() > 1e-9:
            losses.add("dropped-rotation", "Reference frame: written as a marker, without its rotation", frame)
    return planned
