"""Each requirement of the XMDI text has its test, and what is written is valid by the schema that comes with it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from addon.core.model import Motion, Trajectory
from addon.formats.xmdi import dumps
from tests.support.motion_strategies import finite, keyed
from tests.support.xmdi_schema import SCHEMA, assert_valid, errors

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "addon/formats/xmdi/REQUIREMENTS.md"
KEYWORDS = ("MUST", "SHOULD", "MAY")


def rows() -> list[list[str]]:
    """The table's rows below its heading."""
    lines = [line for line in REQUIREMENTS.read_text("utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_requirement_has_a_test_that_exists() -> None:
    named = {row[-1].strip("`") for row in rows()}
    assert all(re.fullmatch(r"tests/\S+\.py::test_\w+", name) for name in named)
    paths = sorted({name.partition("::")[0] for name in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120).stdout
    collected = {line.partition("[")[0] for line in listed.splitlines()}
    assert named <= collected, named - collected


def test_the_table_is_whole() -> None:
    table = rows()
    assert [row[0] for row in table] == [str(number) for number in range(1, len(table) + 1)]
    assert all(len(row) == 7 and all(row) for row in table)
    assert {row[2] for row in table} == set(KEYWORDS)
    sections = {section for row in table for section in re.findall(r"[\d.]+", row[1])}
    assert sections == {"1.1", "1.2", "1.3", "1.4", "2", "2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.2.4", "3"}


def test_schema_and_requirements_are_in_the_extensions_zip() -> None:
    from tools.build_zip import packaged_files

    packed = packaged_files(ROOT)
    assert packed[str(SCHEMA.relative_to(ROOT / "addon").as_posix())].read_bytes() == SCHEMA.read_bytes()
    assert "formats/xmdi/REQUIREMENTS.md" in packed


VALID = (
    '<xmdi><motions><motion name="m" author="me" speed="1">'
    '<servo name="s"><position>0 -.7 .2</position><frames>0 10 40</frames></servo></motion></motions></xmdi>'
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (' name="m"', ""),  # 2.2.3
        (' name="s"', ""),  # 2.2.4
        ("<servo ", "<note/><servo "),
        ("<frames>0 10 40</frames>", ""),
        ("<position>0 -.7 .2</position>", ""),
        ("<frames>0 10 40</frames>", "<frames>0</frames><frames>0</frames>"),
        ("<position>0 -.7 .2</position><frames>0 10 40</frames>", "<frames>0</frames><position>0</position>"),
        ('<servo name="s">', '<servo name="s" gain="1">'),
        ("<position>", '<position unit="rad">'),  # 2.1
        ("0 10 40", "0 ten 40"),
        ("0 10 40", "0 INF 40"),
        ("0 10 40", "0 NaN 40"),
        ("0 10 40", "0 <b>10</b> 40"),
        ("<motions>", "<motions>text"),
        ("<xmdi><motions>", "<xmdi><servo/><motions>"),
    ],
)
def test_the_schema_is_as_strict_as_the_text(old: str, new: str) -> None:
    assert_valid(VALID)
    changed = VALID.replace(old, new)
    assert changed != VALID
    assert errors(changed)


def test_the_schema_is_a_schema() -> None:
    assert etree.parse(SCHEMA).getroot().tag == "{http://www.w3.org/2001/XMLSchema}schema"
    for bare in ("<xmdi/>", "<xmdi><motions/></xmdi>", '<xmdi><motions><motion name=""/></motions></xmdi>'):
        assert_valid(bare)


letters = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
names = st.text(letters, max_size=8)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    times = sorted(draw(st.sets(finite, max_size=4)))
    values = [draw(finite) for _ in times]
    return keyed(times, values, draw(names), interpolation=draw(st.sampled_from(["linear", "constant"])))


@given(
    st.lists(
        st.builds(
            Motion,
            names,
            st.lists(trajectories(), max_size=3),
            st.dictionaries(st.sampled_from(["a", "b-1", "{urn:q}c", "interpolation"]), names),
        ),
        max_size=3,
    )
)
def test_any_new_document_is_valid(motions: list[Motion]) -> None:
    assert_valid(dumps(motions))
