"""Parts that go with the bodies and joints that were deleted."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.model import Joint, Mechanism
from ...core.report import Report


@dataclass
class Before:
    """Facts of a document, kept before its parts become those of now: names of bodies and joints, and the ends of
    joints, by id."""

    names: dict[str, str]
    ends: dict[str, tuple[str | None, str | None]]
    joints: dict[str, str]

    @classmethod
    def of(cls, base: Mechanism) -> Before:
        """Read the facts of a document's mechanism."""
        return cls(
            {body.id: body.name for body in base.bodies},
            {joint.id: (joint.parent, joint.child) for joint in base.joints},
            {joint.id: joint.name for joint in base.joints},
        )

    def settle(self, mechanism: Mechanism) -> None:
        """Take out what hung on deleted parts, with a word on each."""
        report: Report = mechanism.report
        lost = self.names.keys() - {body.id for body in mechanism.bodies}
        present = {joint.id for joint in mechanism.joints}
        for kind, names, gone in (("Body", self.names, lost), ("Joint", self.joints, self.joints.keys() - present)):
            for part_id in sorted(gone):
                report.info("deleted", f"{kind} {names[part_id]!r} was deleted", where=part_id)
        if mechanism.source.format != "juice":  # which keeps joints that lack a body, and lets them do nothing
            mechanism.joints = [joint for joint in mechanism.joints if not self._is_loose(joint, lost, report)]
        self._drop_orphans(mechanism, lost, self.joints.keys() - {joint.id for joint in mechanism.joints}, report)

    def _is_loose(self, joint: Joint, lost: set[str], report: Report) -> bool:
        """Return whether a joint of the document lost a body, and nobody put another, or the world, in its place."""
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
