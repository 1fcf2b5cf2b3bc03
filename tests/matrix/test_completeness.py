"""Every property of the extension and every field of a mechanism's records is in a row of the matrix, or said not to be
edited, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from fnmatch import fnmatch
from typing import Any

import pytest

from . import names
from .rows import ROWS, cases


def forgotten(every: Iterable[str], rows: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """What is in no row and in no list, and what is in both."""
    patterns = " ".join(others.values()).split()
    listed = {name: any(fnmatch(name, pattern) for pattern in patterns) for name in every}
    return [name for name, is_listed in listed.items() if is_listed == (name in rows)]


def stale(every: set[str], rows: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    """What is listed and is not there any more."""
    patterns = [*rows, *" ".join(others.values()).split()]
    return [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in every)]


def test_every_property_has_a_row_or_a_reason(blank: Any) -> None:
    every = {
        f"{group}.{item.identifier}"
        for group, cls in names.property_groups().items()
        for item in cls.bl_rna.properties
        if item.identifier not in {"rna_type", "name"}
    }
    assert len(every) > 200
    assert not forgotten(every, names.EDITED, names.NOT_EDITED), "add a row, or a reason in names.py"
    assert not stale(every, names.EDITED, names.NOT_EDITED)


def test_every_field_of_a_record_has_a_row_or_a_reason(blank: Any) -> None:
    every = {f"{name}.{item.name}" for name, cls in names.record_classes().items() for item in fields(cls)}
    assert len(every) > 80
    assert not forgotten(every, names.RECORDS, names.RECORDS_NOT_EDITED), "add a row, or a reason in names.py"
    assert not stale(every, names.RECORDS, names.RECORDS_NOT_EDITED)


def test_the_table_of_properties_and_the_rows_agree() -> None:
    """Every property that users edit by the extension's table has a row, and every row is in the table."""
    from addon.blender.data.facts import PROPERTY_TABLES, PropertyFlow

    records = {name: table for name, table in PROPERTY_TABLES.items() if name != "Engine"}
    every = {f"{name}.{each.name}": each for name, table in records.items() for each in table}
    edited = {name for name, each in every.items() if each.flow is not PropertyFlow.OPERATOR}
    assert len(edited) > 30
    assert edited <= names.RECORDS.keys()
    assert names.RECORDS.keys() <= every.keys()
    engine = {each.name for each in PROPERTY_TABLES["Engine"]}
    assert engine == {each for each in engine if f"KnuckleModel.{each}" in names.EDITED}


def test_the_rows_that_are_named_are_there() -> None:
    known = {row.name for row in ROWS}
    assert not {*names.EDITED.values(), *names.RECORDS.values()} - known
    assert len({str(case) for case in cases()}) == sum(1 for _case in cases()), "two cells of one name"


@pytest.mark.parametrize(("share", "about"), [("tenth", 0.1), ("all", 1.0)])
def test_a_share_is_about_that_of_every_format(share: str, about: float) -> None:
    for format_ in ("juice", "skel", "x_xy", "shift"):
        of_format = [case for case in cases() if case.format == format_]
        assert sum(case.is_of(share) for case in of_format) / len(of_format) == pytest.approx(about, rel=0.45)
