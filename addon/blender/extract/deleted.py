"""What goes with the bodies and joints that were deleted, and where what they carried stands then."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.kinematics import initial_coordinates, spanning_tree
from ...model.records import Array, Joint, Mechanism
from ...model.report import Report
from ...model.rotations import inverse


@dataclass
class Before:
    """What a document had, kept before its parts become those of now: the ends of joints by id, the bodies that
    nothing carried, and by body what takes it from its design to where it begins."""

    names: dict[str, str]
    ends: dict[str, tuple[str | None, str | None]]
    joints: dict[str, str]
    roots: set[str]
    moves: dict[str, Array]

    @classmethod
    def of(cls, base: Mechanism) -> Before:
        """The same of a document's mechanism."""
        tree = spanning_tree(base)
        poses = tree.forward(initial_coordinates(base))[0]
        return cls(
            {body.id: body.name for body in base.bodies},
            {joint.id: (joint.parent, joint.child) for joint in base.joints},
            {joint.id: joint.name for joint in base.joints},
            {root.id for root in tree.roots},
            {body.id: pose @ inverse(body.pose) for body, pose in zip(base.bodies, poses, strict=True)},
        )

    def settle(self, mechanism: Mechanism, moved: set[str]) -> None:
        """Take out what hung on deleted parts, with a word on each, and have what a deleted part carried stand where
        it began, not where all coordinates are 0. ``moved`` bodies stand where they were put."""
        report: Report = mechanism.report
        lost = self.names.keys() - {body.id for body in mechanism.bodies}
        present = {joint.id for joint in mechanism.joints}
        for kind, names, gone in (("Body", self.names, lost), ("Joint", self.joints, self.joints.keys() - present)):
            for part_id in sorted(gone):
                report.info("deleted", f"{kind} {names[part_id]!r} was deleted", where=part_id)
        if mechanism.source.format != "juice":  # which keeps joints that lack a body, and lets them do nothing
            mechanism.joints = [joint for joint in mechanism.joints if not self._is_loose(joint, lost, report)]
        self._drop_orphans(mechanism, lost, self.joints.keys() - {joint.id for joint in mechanism.joints}, report)
        tree = spanning_tree(mechanism)
        fallen = self.moves.keys() - self.roots - moved
        moves = {root.id: self.moves[root.id] for root in tree.roots if root.id in fallen}
        for link in tree.links:
            if link.carrier in moves:
                moves[link.body] = moves[link.carrier]
        for body in mechanism.bodies:
            if body.id in moves:
                body.pose = moves[body.id] @ body.pose

    def _is_loose(self, joint: Joint, lost: set[str], report: Report) -> bool:
        """Whether a joint of the document lost a body, and nobody put another, or the world, in its place."""
        if joint.active or not lost & {*self.ends.get(joint.id, ())}:
            return False
        report.info("deleted", f"Joint {joint.name!r} went with its body", where=joint.id)
        return True

    @staticmethod
    def _drop_orphans(mechanism: Mechanism, lost: set[str], joints: set[str], report: Report) -> None:
        """Leave out the restraints of what is gone. (Frames and lights were left out when they were read.)"""
        kept = []
        for item in mechanism.restraints:
            if item.joint in joints or lost & {*(item.bodies or ())}:
                report.info("deleted", f"Restraint {item.name!r} went with what it acts on", where=item.name)
            else:
                kept.append(item)
        mechanism.restraints = kept
