"""Copies of records: equal, safe to change, and sharing nothing with their original that can be changed by mistake."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core import record_utils as shared
from addon.core.gait.behaviors import GaitBehaviors
from addon.core.model import (  # fmt: skip
    Assembly,
    Body,
    Dof,
    Frame,
    Joint,
    Light,
    Mechanism,
    Motion,
    Restraint,
    Shape,
    Source,
    Trajectory,
)
from addon.core.record_utils import FrozenDict, copy_mechanism, records_equal
from addon.core.transforms import IDENTITY_POSE

_SAMPLES = sorted(path for path in Path("sample_models").rglob("*") if path.suffix in {".jm", ".skel", ".json", ".xml"})


def _spoil(value: Any) -> int:
    """Change all that can be changed, in place; how much that was."""
    done = 0
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value[...] = ~value if value.dtype == bool else value + 1.0
            done += 1
    elif isinstance(value, list):
        done += sum(map(_spoil, value))
        value.append("spoilt")
        done += 1
    elif isinstance(value, dict) and not isinstance(value, FrozenDict):
        done += sum(map(_spoil, value.values()))
        value["spoilt"] = True
        done += 1
    elif isinstance(value, tuple):
        done += sum(map(_spoil, value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            done += _spoil(getattr(value, field.name))
            if not type(value).__dataclass_params__.frozen:  # type: ignore[attr-defined]
                setattr(value, field.name, None)
    return done


@pytest.mark.parametrize("path", _SAMPLES, ids=lambda path: path.name)
def test_a_copied_record_is_equal_and_independent(path: Path) -> None:
    read = formats.load(path)
    before = pickle.dumps(read)
    copy = copy_mechanism(read)
    assert records_equal(copy, read)
    assert _spoil(copy) > 10 * len(read.bodies)
    assert pickle.dumps(read) == before


def _full() -> Mechanism:
    """A mechanism with a record of every kind, and in each of them something in every field that can be changed."""
    wide: dict[str, Any] = {"numbers": np.arange(4.0), "deep": [{"of": [np.eye(2)]}, ({"pair": [1]}, 2)]}

    def more() -> dict[str, Any]:
        return copy.deepcopy(wide)

    part = Dof("revolute", lower=-1.0, extra=more())
    dof = Dof("revolute", parts=[part], extra=more())
    line, inverse_mass = np.linspace(0.0, 1.0, 3), np.array([True, False, True])
    keys = Trajectory("servo", line.copy(), line.copy(), held=inverse_mass)
    return Mechanism(
        "full",
        bodies=[Body("b", "b", inertia=np.eye(3), shapes=[Shape("box", {"x": 1.0}, extra=more())], extra=more())],
        joints=[Joint("j", "j", "revolute", None, "b", dofs=[dof], extra=more())],
        restraints=[
            Restraint("r", bodies=(None, "b"), frames=(np.eye(4), np.eye(4)), knots=[0.0], coefficients=[[1.0]])
        ],
        assemblies=[Assembly("a", "a", extra=more())],
        frames=[Frame("f", "b", extra=more())],
        lights=[Light("l", extra=more())],
        motions=[Motion("m", [keys], {"by": "hand"}, Source("xmdi"), as_read=(keys,))],
        behaviours=GaitBehaviors(),
        source=Source("juice", text="text"),
    )


def test_every_field_is_copied() -> None:
    assert records_equal(copy_mechanism(Mechanism("none")), Mechanism("none"))
    whole = _full()
    before = pickle.dumps(whole)
    copy_of_it = copy_mechanism(whole)
    assert pickle.dumps(copy_mechanism(whole)) == pickle.dumps(copy_of_it)
    motion = copy_of_it.motions[0]
    assert motion.as_read[0] is motion.trajectories[0]
    assert _spoil(copy_of_it) > 40
    assert pickle.dumps(whole) == before


TWO = b"<Model><Bodies><Body><ID>1</ID></Body><Body><ID>2</ID></Body></Bodies></Model>"


@pytest.mark.parametrize("array", [IDENTITY_POSE, shared.ZERO_VECTOR, shared.UNIT_TENSOR, shared.ZERO_TENSOR])
def test_a_shared_array_is_not_written_to(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
    assert copy.deepcopy(array).flags.writeable and array.copy().flags.writeable


def change(values: dict[str, Any], how: str) -> None:
    match how:
        case "set":
            values["a"] = 2
        case "delete":
            del values["a"]
        case "or":
            values |= {"b": 1}
        case "pop":
            values.pop("a")
        case "clear":
            values.clear()
        case "update":
            values.update(b=1)
        case _:
            values.setdefault("b", 1)


@pytest.mark.parametrize("how", ["set", "delete", "or", "pop", "clear", "update", "default"])
def test_a_shared_dictionary_is_not_changed(how: str) -> None:
    values = FrozenDict({"a": 1})
    with pytest.raises(TypeError, match="shared by many"):
        change(values, how)
    assert values == {"a": 1} and json.dumps(values) == '{"a": 1}'


def test_copies_of_a_shared_dictionary_can_be_changed() -> None:
    values = FrozenDict({"a": 1})
    copies = [values.copy(), copy.copy(values), copy.deepcopy(values), values | {}]
    for each in copies:
        each["a"] = 2
        assert type(each) is dict
    assert values == {"a": 1}


def test_a_shared_dictionary_that_was_pickled_is_shared_again() -> None:
    values = FrozenDict({"a": 1})
    one, other = pickle.loads(pickle.dumps([values, values]))
    assert one is other and one == values
    with pytest.raises(TypeError, match="shared by many"):
        one["a"] = 2


def test_bodies_that_say_the_same_share_it_and_no_more() -> None:
    first, second = formats.loads(TWO, "two").bodies
    assert first.shapes[0].size is second.shapes[0].size and first.extra is second.extra
    first.pose[0, 3] = 1.0
    assert np.array_equal(second.pose, np.eye(4))
    told = TWO.replace(b"<ID>2</ID>", b"<ID>2</ID><BoxDimensions><X>-0.0</X></BoxDimensions>")
    zero = TWO.replace(b"<ID>2</ID>", b"<ID>2</ID><BoxDimensions><X>0</X></BoxDimensions>")
    sizes = [formats.loads(data, "two").bodies[1].shapes[0].size["x"] for data in (told, zero)]
    assert [np.signbit(size) for size in sizes] == [True, False]
