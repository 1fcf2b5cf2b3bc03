"""What records share cannot be changed by mistake, and what is copied from it can."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core import record_utils as shared
from addon.core.record_utils import FrozenDict
from addon.core.transforms import IDENTITY_POSE

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
