"""Looking at a model's records once: a pass over a model asks the same of each joint many times, and each time that
Blender is asked costs as much as ten looks at what it said before."""

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
    """A record as it is when it is looked at: each of its properties is read when it is first asked for.

    It is not for writing, and sees nothing that is written after.
    """

    def __init__(self, find: Callable[[], Any], known: Mapping[str, Any] = _NOTHING) -> None:
        """``find`` gives the record, ``known`` is what is known of it anyway: where that is all that is asked for,
        Blender is not asked for the record itself."""
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
    """What was looked at since the outermost ``glimpsing`` began, by what was asked; None outside."""

    answers: dict[tuple[Any, ...], Any] | None = None


@contextmanager
def glimpsing() -> Iterator[None]:
    """Within it ``once`` asks everything once.

    For work that, once it has asked, makes or removes no bodies and joints of a model and changes no joint's record.
    """
    outer = _Seen.answers
    _Seen.answers = {} if outer is None else outer
    try:
        yield
    finally:
        _Seen.answers = outer


def is_glimpsing() -> bool:
    """Return whether work goes on for which everything is asked once."""
    return _Seen.answers is not None


def once(ask: Callable[..., Answer], *about: Any) -> Answer:
    """Return what ``ask`` says about something; within ``glimpsing`` it is asked that once."""
    answers = _Seen.answers
    if answers is None:
        return ask(*about)
    question = ask, *about
    if question not in answers:
        answers[question] = ask(*about)
    return cast(Answer, answers[question])


def know(answer: Answer, ask: Callable[..., Answer], *about: Any) -> None:
    """Within ``glimpsing``, have ``once`` know an answer without asking: by who made what is asked about."""
    if _Seen.answers is not None:
        _Seen.answers[ask, *about] = answer


def joint_of(empty: bpy.types.Object) -> KnuckleJoint:
    """The record of a joint, to be read."""
    answers = _Seen.answers
    if answers is None:
        return record_of(empty).joint
    found: KnuckleJoint | None = answers.get((_glimpse, empty))  # asked more often than anything else
    return once(_glimpse, empty) if found is None else found


def _glimpse(empty: bpy.types.Object) -> KnuckleJoint:
    return cast(KnuckleJoint, Glimpse(partial(_itself, record_of(empty).joint)))


_Told = Sequence[Mapping[str, Any]]


def foresee(empty: bpy.types.Object, joint: Mapping[str, Any], dofs: _Told, parts: _Told) -> None:
    """Have ``joint_of`` know the record of a joint that was written just now, by what was: of the joint, of its degrees
    of freedom, and of the parts of balls and free blocks. What is not told is as in every new record."""
    answers = _Seen.answers
    if answers is None:
        return

    def record() -> KnuckleJoint:
        return record_of(empty).joint

    # stops get constraints of their own in runs alone
    known: dict[str, Any] = {**_pick(KnuckleJoint, _OF_JOINT), "far_stops": (), **joint}
    usual = _pick(KnuckleDof, _OF_DOF)
    for name, every in (("dofs", dofs), ("parts", parts)):
        known[name] = [
            Glimpse(partial(_member, record, name, number), {**usual, **told}) for number, told in enumerate(every)
        ]
    answers[_glimpse, empty] = Glimpse(record, known)


def _member(record: Callable[[], Any], name: str, number: int) -> Any:
    return getattr(record(), name)[number]


#: What is foreseen where it is not told.
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
