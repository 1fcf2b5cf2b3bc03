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
from .bulk_write import usual_of
from .conversion import DOF_FIELDS, DOF_VECTORS
from .properties.joint import KnuckleDof, KnuckleJoint

Answer = TypeVar("Answer")
_NOTHING: Mapping[str, Any] = {}


class Glimpse:
    """Read-only view of a property group that reads each property once, at its first access.

    Later writes to the property group are not seen.
    """

    def __init__(self, find: Callable[[], Any], known: Mapping[str, Any] = _NOTHING) -> None:
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
            value = [Glimpse(partial(_itself, each)) for each in value]
        elif isinstance(value, bpy.types.bpy_prop_array):
            value = tuple(value)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} is to be set on the record itself")


def _itself(record: Any) -> Any:
    return record


class _Seen:
    """Cache of the outermost open context, by function and arguments; None outside of one."""

    answers: dict[tuple[Any, ...], Any] | None = None


@contextmanager
def glimpsing() -> Iterator[None]:
    """Memoize reads of records until the outermost context ends.

    For work that creates or removes no bodies and joints and writes no joint's record once it has read one.
    """
    outer = _Seen.answers
    _Seen.answers = {} if outer is None else outer
    try:
        yield
    finally:
        _Seen.answers = outer


def is_glimpsing() -> bool:
    """Return whether reads are memoized at present."""
    return _Seen.answers is not None


def once(ask: Callable[..., Answer], *about: Any) -> Answer:
    """Return the result of a function, memoized by its arguments within ``glimpsing``."""
    answers = _Seen.answers
    if answers is None:
        return ask(*about)
    question = ask, *about
    if question not in answers:
        answers[question] = ask(*about)
    return cast(Answer, answers[question])


def know(answer: Answer, ask: Callable[..., Answer], *about: Any) -> None:
    """Enter a result into the cache of ``glimpsing``: for the creator of what would be read."""
    if _Seen.answers is not None:
        _Seen.answers[ask, *about] = answer


def joint_of(empty: bpy.types.Object) -> KnuckleJoint:
    """Return the record of a joint for reading, memoized within ``glimpsing``."""
    answers = _Seen.answers
    if answers is None:
        return record_of(empty).joint
    found: KnuckleJoint | None = answers.get((_glimpse, empty))  # asked more often than anything else
    return once(_glimpse, empty) if found is None else found


def _glimpse(empty: bpy.types.Object) -> KnuckleJoint:
    return cast(KnuckleJoint, Glimpse(partial(_itself, record_of(empty).joint)))


_Told = Sequence[Mapping[str, Any]]


def foresee(empty: bpy.types.Object, joint: Mapping[str, Any], dofs: _Told, parts: _Told) -> None:
    """Enter the record of a joint that was just written into the cache.

    Args:
        empty: The joint's empty.
        joint: Values of the joint's properties.
        dofs: Values of each of its degrees of freedom.
        parts: Values of each single rotation or translation of its balls and free joints. Absent values are defaults.
    """
    answers = _Seen.answers
    if answers is None:
        return

    def record() -> KnuckleJoint:
        return record_of(empty).joint

    # stops get constraints of their own in simulations only
    known: dict[str, Any] = {**_pick(KnuckleJoint, _OF_JOINT), "far_stops": (), **joint}
    usual = _pick(KnuckleDof, _OF_DOF)
    for name, every in (("dofs", dofs), ("parts", parts)):
        known[name] = [
            Glimpse(partial(_member, record, name, number), {**usual, **told}) for number, told in enumerate(every)
        ]
    answers[_glimpse, empty] = Glimpse(record, known)


def _member(record: Callable[[], Any], name: str, number: int) -> Any:
    return getattr(record(), name)[number]


#: Properties that are entered with their defaults where no value is given.
_OF_JOINT = ("at_world", "active", "loop", "is_open", "follows", "against", "parent", "child")
_OF_DOF = (
    *DOF_FIELDS,
    *DOF_VECTORS,
    "axis",
    "use_lower",
    "lower",
    "use_upper",
    "upper",
    "parts",
    "assembled",
    "begins",
)


@cache
def _pick(kind: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    usual = usual_of(kind)
    return {name: usual[name] for name in names}
