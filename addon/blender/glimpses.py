"""Looking at a model's records once: a pass over a model asks the same of each joint many times, and each time that
Blender is asked costs as much as ten looks at what it said before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import bpy

from .access import record_of
from .joint_properties import KnuckleJoint

Answer = TypeVar("Answer")


class Glimpse:
    """A record as it is when it is looked at: each of its properties is read when it is first asked for. It is not for
    writing, and sees nothing that is written after."""

    def __init__(self, record: Any) -> None:
        self.__dict__["_record"] = record

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._record, name)
        if isinstance(value, bpy.types.bpy_prop_collection):
            value = [Glimpse(each) for each in value]
        elif isinstance(value, bpy.types.bpy_prop_array):
            value = tuple(value)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} is to be set on the record itself")


class _Seen:
    """What was looked at since the outermost ``glimpsing`` began, by what was asked; None outside."""

    answers: dict[tuple[Any, ...], Any] | None = None


@contextmanager
def glimpsing() -> Iterator[None]:
    """Within it ``once`` asks everything once. For work that makes or removes no bodies and joints of a model and
    changes no joint's record."""
    outer = _Seen.answers
    _Seen.answers = {} if outer is None else outer
    try:
        yield
    finally:
        _Seen.answers = outer


def once(ask: Callable[..., Answer], *about: Any) -> Answer:
    """What ``ask`` says about something; within ``glimpsing`` it is asked that once."""
    answers = _Seen.answers
    if answers is None:
        return ask(*about)
    question = ask, *about
    if question not in answers:
        answers[question] = ask(*about)
    return cast(Answer, answers[question])


def joint_of(empty: bpy.types.Object) -> KnuckleJoint:
    """The record of a joint, to be read."""
    if _Seen.answers is None:
        return record_of(empty).joint
    return once(_glimpse, empty)


def _glimpse(empty: bpy.types.Object) -> KnuckleJoint:
    return cast(KnuckleJoint, Glimpse(record_of(empty).joint))
