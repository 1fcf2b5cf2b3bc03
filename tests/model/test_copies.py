"""A copy says the same, and nothing that is done to it shows in what it was taken of."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.model.copies import copied
from addon.model.records import Mechanism
from addon.model.sameness import same_record
from addon.model.shared import Shared

_SAMPLES = sorted(path for path in Path("sample_models").rglob("*") if path.suffix in {".jm", ".skel", ".json", ".xml"})


def _spoil(value: Any) -> int:
    """Change all that can be changed, in place; how much that was."""
    done = 0
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value += 1.0
            done += 1
    elif isinstance(value, list):
        done += sum(map(_spoil, value))
        value.append("spoilt")
        done += 1
    elif isinstance(value, dict) and not isinstance(value, Shared):
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
def test_a_copy_says_the_same_and_is_its_own(path: Path) -> None:
    read = formats.load(path)
    before = pickle.dumps(read)
    copy = copied(read)
    assert same_record(copy, read)
    assert _spoil(copy) > 10 * len(read.bodies)
    assert pickle.dumps(read) == before


def test_every_field_is_copied() -> None:
    assert same_record(copied(Mechanism("none")), Mechanism("none"))
