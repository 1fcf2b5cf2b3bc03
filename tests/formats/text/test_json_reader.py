"""JSON is read leniently, refused in words where it is none, and changed in its own text."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.core.report import FormatError, Report
from addon.formats.text import json_editor as jsonedits
from addon.formats.text import json_reader as jsontext
from addon.formats.text.json_reader import JsonNode


def parse(text: str) -> JsonNode:
    return jsontext.parse(text, "a.json", Report())


#: A nul is read as a replacement character, see test_hostile.py.
TEXTS = st.text().map(lambda text: text.replace("\0", "?"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.integers().map(lambda n: n % 10**9 / 1000) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_strict_json_is_read_as_the_standard_library_reads_it(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse(text).plain() == json.loads(text)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.booleans())
def test_what_is_written_is_strict_json(value: Any, ascii_only: bool) -> None:
    text = jsonedits.format_json(value, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert text.isascii() or not ascii_only


@settings(max_examples=300, deadline=None)
@given(VALUES, VALUES, st.sampled_from([None, 2]))
def test_any_value_can_be_made_of_any_other(before: Any, after: Any, indent: Any) -> None:
    document = {"kept": [1, {"x": 1.50}], "value": before, "also": None}
    text = json.dumps(document, indent=indent)
    root = parse(text)
    edits = jsonedits.JsonEdits(text)
    edits.update(root, document, {**document, "value": after})
    assert json.loads(edits.result()) == {
        **document,
        "value": pytest.approx(after) if isinstance(after, float) else after,
    }


def test_lists_survive_any_mixture_of_deletions_and_additions() -> None:
    rng = random.Random(11)
    shapes = [
        "[{}]",
        "[ {} ]",
        "[\n  {}\n]",
        "[\n  {},\n]",
        "[/* a */ {} /* b */]",
        "[\n  {} // end\n]",
        "[\n  {}, // end\n]",
    ]
    joins = [", ", ",\n  ", " , ", ", // note\n  ", " /* n */, "]
    for _ in range(3000):
        count = rng.randrange(6)
        values: list[Any] = [f"item {k}" for k in range(count)]
        inner = "".join((rng.choice(joins) if k else "") + json.dumps(item) for k, item in enumerate(values))
        text = '{"before": [1.50], "list": ' + (rng.choice(shapes).format(inner) if count else "[]") + ', "after": 2e0}'
        gone = [k for k in range(count) if rng.random() < 0.4]
        new = [f"new {k}" for k in range(rng.randrange(3))]
        root = parse(text)
        edits = jsonedits.JsonEdits(text)
        for k in gone:
            edits.delete(root["list"].value[k])
        for item in new:
            edits.add(root["list"], item)
        out = edits.result()
        expected = [item for k, item in enumerate(values) if k not in gone] + new
        assert parse(out)["list"].plain() == expected, (text, gone, new, out)
        assert out.startswith('{"before": [1.50], "list": [')
        assert out.endswith('], "after": 2e0}')


def test_an_edit_leaves_all_else_as_it_is() -> None:
    text = '{ // top\n\t"a" : 1.50,\n\t"b": {"c": [1e0, 2 ,3]}, /* , } */\n}\n'
    root = parse(text)
    edits = jsonedits.JsonEdits(text)
    edits.merge(root, {"a": 1.5, "b": {"c": [1, 2.0, 4]}})
    assert edits.result() == text.replace(" ,3]", " ,4]")
    edits = jsonedits.JsonEdits(text)
    edits.add(root["b"], True, "d")
    edits.delete(root["a"])
    assert edits.result() == '{ // top\n\t"b": {"c": [1e0, 2 ,3], "d": true}, /* , } */\n}\n'


def test_nodes_know_where_they_stand() -> None:
    text = '{"a": [1, {"b": "x"}]}'
    node = parse(text)["a"].value[1]["b"]
    assert (node.where, text[node.start : node.end], text[node.before : node.end]) == ("a[1].b", '"x"', '"b": "x"')


def test_numbers_are_spelt_shortly_and_read_back_the_same() -> None:
    for value in (0.1, -0.0, 1e-9, 1e300, 123456789.123456789, 3, 10**17):
        assert json.loads(jsonedits.format_json_number(value)) == value
    assert jsonedits.format_json_number(-0.0) == "0.0"
    assert jsonedits.format_json_number(0.30000000000000004) == "0.30000000000000004"


def test_what_is_lenient_is_said() -> None:
    report = Report()
    jsontext.parse('{"a": 1, /* x */ "a": [2,], }', "", report)
    assert [entry.code for entry in report.entries] == ["repeated-key", "comments", "trailing-commas"]
    text = '{"a": 1, "b": 2, "a": 3}'
    assert parse(text).plain() == {"b": 2, "a": 3}
    root = parse(text)
    edits = jsonedits.JsonEdits(text)
    edits.delete(root["a"])
    assert edits.result() == '{"b": 2}'


BROKEN = [  # text, line, path, and a word of what is wrong
    ('{"a": 1', 1, "", "truncated"),
    ('{\n"a": [1, 2', 2, "a", "truncated"),
    ('{\n"a": {\n"b": tru}}', 3, "a.b", "no number, text, list or object"),
    ('{"a": 1 "b": 2}', 1, "", "comma"),
    ('{"a" 1}', 1, "", "colon"),
    ("{a: 1}", 1, "", "quotation marks"),
    ('{"a": "x\n"}', 1, "a", "no end"),
    ('{"a": "\\q"}', 1, "a", "backslash"),
    ('{"a": }', 1, "a", "a value is expected"),
    ('{"a": [1,, 2]}', 1, "a[1]", "a value is expected"),
    ('{"a": 01}', 1, "a", "no number"),
    ('{"a": 1.}', 1, "a", "no number"),
    ('{"a": NaN}', 1, "a", "no number"),
    ('{"a": Infinity}', 1, "a", "no number"),
    ('{"a": 1e999}', 1, "a", "too large"),
    ('{"a": 1} x', 1, "", "behind the end"),
    ('{"a": 1 /* x }', 1, "", "no end"),
    ("[", 1, "", "truncated"),
]


@pytest.mark.parametrize(("text", "line", "where", "said"), BROKEN)
def test_broken_json_is_rejected_with_its_place(text: str, line: int, where: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(text)
    assert (caught.value.path, caught.value.line, caught.value.where) == ("a.json", line, where)
    assert said in caught.value.message
    assert caught.value.remedy


def test_json_nested_too_deep_is_rejected() -> None:
    for depth in (101, 100_000):
        with pytest.raises(FormatError, match="nested deeper than 100"):
            parse("[" * depth + "]" * depth)
    assert parse("[" * 100 + "]" * 100).value


STRICT = (
    ' {"a": 1, "b\\"c": [ ],  "d" : {"e": [1.5e3 , -0, true, null, "x\\u00e4\\n"]}, "": {} }\n',
    '[[1, 2], [], [{"k": [0.25]}, "}]"], 123456789012345678901]',
    '"only a text"',
    '{"a": {"b": {"c": [[[{"d": "e"}]]]}},\r\n\t"f": false}',
)


@pytest.mark.parametrize("text", STRICT)
def test_strict_json_is_what_it_is_word_by_word(text: str) -> None:
    """Python's own reader takes it, and where things stand is looked up afterwards: value by value and place by place
    it is what the reader gives that goes word by word."""
    quick, slow = jsontext._parse_strict(text), jsontext._Parser(text, "a.json", Report()).document()
    assert quick is not None and quick.plain() == slow.plain()
    pairs = [(quick, slow)]
    for one, other in pairs:
        assert (one.start, one.end, one.before, one.after) == (other.start, other.end, other.before, other.after)
        assert (one.where, one.kind, one.plain()) == (other.where, other.kind, other.plain())
        assert isinstance(one.value, (dict, list)) or repr(one.value) == repr(other.value)
        pairs += zip(one.children, other.children, strict=True)


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "[1,]", "[1e999]", "[NaN]", "[1] // x", "[" * 101 + "]" * 101, '["\t"]', "[01]", ""]
)
def test_what_is_out_of_the_ordinary_is_read_word_by_word(text: str) -> None:
    assert jsontext._parse_strict(text) is None
