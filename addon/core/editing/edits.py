"""Results of edits: the edited mechanism, and what becomes of the values of its joints.

An edit is a function from a mechanism to an ``Edit``. It never changes the mechanism that it gets: parts that it leaves
alone are the same objects in both mechanisms, and parts that it changes are new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from ..model import Array, Body, Joint, Mechanism


class HasId(Protocol):
    """Part of a mechanism."""

    id: str


Part = TypeVar("Part", bound=HasId)


@dataclass(frozen=True)
class JointEdit:
    """Change of a joint's values by an edit.

    Attributes:
        held: Values (size,) of the changed joint at which its bodies are seen; None if they stay anyway.
        values: New channel values (size,); None: unchanged.
        numbers: New index and factor by previous index of its values; None: unchanged.
        convert: Returns the new values (n, size) of previous ones (n, previous size), where none of them continues.
    """

    held: Array | None = None
    values: Array | None = None
    numbers: Mapping[int, tuple[int, float]] | None = None
    convert: Callable[[Array], Array] | None = None


@dataclass(frozen=True)
class Edit:
    """An edited mechanism.

    Attributes:
        before: The mechanism that was edited.
        after: The edited one.
        joints: Changes of joint values, by joint id.
        copies: Ids of the parts that new parts are copies of, by the id of the new part. They are placed by their
            joints; other new bodies stand where they are designed.
    """

    before: Mechanism
    after: Mechanism
    joints: Mapping[str, JointEdit] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def deleted_joints(self) -> set[str]:
        """Return the ids of the joints that the edited mechanism lacks."""
        return {joint.id for joint in self.before.joints} - {joint.id for joint in self.after.joints}

    @property
    def deleted_bodies(self) -> set[str]:
        """Return the ids of the bodies that the edited mechanism lacks."""
        return {body.id for body in self.before.bodies} - {body.id for body in self.after.bodies}

    def then(self, other: Edit) -> Edit:
        """Return the edit that does this one and then ``other``, an edit of ``after`` that changes other joints."""
        return Edit(self.before, other.after, {**self.joints, **other.joints}, {**self.copies, **other.copies})


def body_by_id(mechanism: Mechanism) -> dict[str, Body]:
    """Return the bodies of a mechanism by id; of several with the same id the first."""
    return {body.id: body for body in reversed(mechanism.bodies)}


def joint_by_id(mechanism: Mechanism) -> dict[str, Joint]:
    """Return the joints of a mechanism by id; of several with the same id the first."""
    return {joint.id: joint for joint in reversed(mechanism.joints)}


def with_joints(mechanism: Mechanism, joints: Iterable[Joint]) -> Mechanism:
    """Return a mechanism in which these joints replace those with the same ids; others are added at the end."""
    return replace(mechanism, joints=_replaced(mechanism.joints, joints))


def with_bodies(mechanism: Mechanism, bodies: Iterable[Body]) -> Mechanism:
    """Return a mechanism in which these bodies replace those with the same ids; others are added at the end."""
    return replace(mechanism, bodies=_replaced(mechanism.bodies, bodies))


def _replaced(present: Collection[Part], changed: Iterable[Part]) -> list[Part]:
    new: dict[str, Part] = {part.id: part for part in changed}
    return [*(new.pop(part.id, part) for part in present), *new.values()]
