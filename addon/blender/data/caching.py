"""Memoized reads of RNA properties.

Within the context manager each property of a joint is read from Blender at most once; it is valid only while no
body or joint is created, removed or written.

Note:
    A read from Blender costs as much as ten reads from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeVar, cast

import bpy

from .access import record_of
from .datablocks import property_defaults
from .facts import DOF_PROPERTIES, stored_fields
from .properties.joint import KnuckleDof, KnuckleJoint

CachedT = TypeVar("CachedT")
_EMPTY: Mapping[str, Any] = {}


class RecordSnapshot:
    """Read-only view of a property group that reads each property once, at its first access.

    Later writes to the property group are not seen.
    """

    def __init__(self, find: Callable[[], Any], known: Mapping[str, Any] = _EMPTY) -> None:
        """Keep the source of the property group.

        Args:
            find: Returns the property group; called only where a property is not among ``known``.
            known: Values known beforehand, by the name of the property.
        """
        self.__dict__.update(known)
        self.__dict__["_find"] = find

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._find(), name)
        if isinstance(value, bpy.types.bpy_prop_collection):
            value = [RecordSnapshot(partial(_plain_or_snapshot, each)) for each in value]
        elif isinstance(value, bpy.types.bpy_prop_array):
            value = tuple(value)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} is to be set on the record itself")


def _plain_or_snapshot(record: Any) -> Any:
    return record


class _ReadCache:
    """Cache of the outermost open context, by function and arguments; None outside of one."""

    answers: dict[tuple[Any, ...], Any] | None = None


@contextmanager
def memoized_reads() -> Iterator[None]:
    """Memoize reads of records until the outermost context ends.

    For work that creates or removes no bodies and joints and writes no joint's record once it has read one.
    """
    outer = _ReadCache.answers
    _ReadCache.answers = {} if outer is None else outer
    try:
        yield
    finally:
        _ReadCache.answers = outer


def is_memoizing() -> bool:
    """Return whether reads are memoized at present."""
    return _ReadCache.answers is not None


def memoized(ask: Callable[..., CachedT], *about: Any) -> CachedT:
    """Return the result of a function, memoized by its arguments within ``memoized_reads``."""
    answers = _ReadCache.answers
    if answers is None:
        return ask(*about)
    question = ask, *about
    if question not in answers:
        answers[question] = ask(*about)
    return cast(CachedT, answers[question])


def prime_memo(answer: CachedT, ask: Callable[..., CachedT], *about: Any) -> None:
    """Enter a result into the cache of ``memoized_reads``: for the creator of what would be read."""
    if _ReadCache.answers is not None:
        _ReadCache.answers[ask, *about] = answer


def joint_record(empty: bpy.types.Object) -> KnuckleJoint:
    """Return the record of a joint for reading, memoized within ``memoized_reads``."""
    answers = _ReadCache.answers
    if answers is None:
        return record_of(empty).joint
    found: KnuckleJoint | None = answers.get((_joint_snapshot, empty))  # asked more often than anything else
    return memoized(_joint_snapshot, empty) if found is None else found


def _joint_snapshot(empty: bpy.types.Object) -> KnuckleJoint:
    return cast(KnuckleJoint, RecordSnapshot(partial(_plain_or_snapshot, record_of(empty).joint)))


_FieldValues = Sequence[Mapping[str, Any]]


def prime_joint(empty: bpy.types.Object, joint: Mapping[str, Any], dofs: _FieldValues, parts: _FieldValues) -> None:
    """Enter the record of a joint that was just written into the cache.

    Args:
        empty: The joint's empty.
        joint: Values of the joint's properties.
        dofs: Values of each of its degrees of freedom.
        parts: Values of each single rotation or translation of its balls and free joints. Absent values are defaults.
    """
    answers = _ReadCache.answers
    if answers is None:
        return

    def record() -> KnuckleJoint:
        return record_of(empty).joint

    # stops get constraints of their own in simulations only
    known: dict[str, Any] = {**_select_defaults(KnuckleJoint, _PRIMED_JOINT_FIELDS), "limit_constraints": (), **joint}
    usual = _select_defaults(KnuckleDof, _PRIMED_DOF_FIELDS)
    for name, every in (("dofs", dofs), ("parts", parts)):
        known[name] = [
            RecordSnapshot(partial(_collection_item, record, name, number), {**usual, **values})
            for number, values in enumerate(every)
        ]
    answers[_joint_snapshot, empty] = RecordSnapshot(record, known)


def _collection_item(record: Callable[[], Any], name: str, number: int) -> Any:
    return getattr(record(), name)[number]


#: Properties that are entered with their defaults where no value is given.
_PRIMED_JOINT_FIELDS = ("at_world", "active", "loop", "is_open", "is_dependent", "is_reversed", "parent", "child")
_PRIMED_DOF_FIELDS = (
    *stored_fields(DOF_PROPERTIES),
    "parts",
    "assembled",
    "assembled_start",
)


@cache
def _select_defaults(kind: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    usual = property_defaults(kind)
    return {name: usual[name] for name in names}
