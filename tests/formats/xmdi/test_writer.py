"""XMDI written back: an unedited document is its own text, and an edit changes its own words."""

from __future__ import annotations

import copy
import gc
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from addon import formats
from addon.core.model import Motion, Source
from addon.core.report import FormatError, Report
from addon.formats.document import cache as remembered
from addon.formats.xmdi import FRAME_SECONDS, dumps, loads
from tests.support.motion_strategies import is_refused_or_read, keyed, mangled, same, same_keys
from tests.support.xmdi_schema import assert_valid

TEXT = """<?xml version='1.0' encoding="UTF-8"?>
<!-- two motions -->
<xmdi>
  <motions>
    <motion author='me'  name="wave">
      <servo name="left shoulder">
        <position>0 -.7 <!-- up -->
          2e-1</position>
        <frames> 0 10 40 </frames>
      </servo>
      <!-- the other arm -->
      <servo name="left elbow"><position>1</position><frames>2.50</frames></servo>
    </motion>
    <motion name="bow">
      <servo name="hip">
        <position>+1 2.0 3</position>
        <frames>00 1 2</frames>
      </servo>
    </motion>
  </motions>
</xmdi>
"""


def read(text: str) -> list[Motion]:
    return loads(text.encode())[0]


def words(text: str) -> list[str]:
    """Its tags and words."""
    return re.findall(r"<[^>]*>|[^\s<]+", text)


def only_change(before: str, after: str) -> tuple[str, str]:
    """The one token in which two texts differ."""
    ((old, new),) = [pair for pair in zip(words(before), words(after), strict=True) if pair[0] != pair[1]]
    return old, new


def test_an_unedited_document_is_its_own_text() -> None:
    assert dumps(read(TEXT)) == TEXT
    assert dumps(copy.deepcopy(read(TEXT))) == TEXT  # read anew: nobody knows that document


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.replace("UTF-8", "UTF-16").encode("utf-16-le").join([b"\xff\xfe", b""]),
        TEXT.replace("UTF-8", "UTF-16").encode("utf-16-be").join([b"\xfe\xff", b""]),
        TEXT.replace("UTF-8", "ISO-8859-1").replace("elbow", "épaule").encode("latin-1"),
        TEXT.replace("elbow", "épaule \x81").encode("latin-1"),  # which is no UTF-8
        TEXT.encode().replace(b"elbow", bytes(range(128, 256))),
        TEXT.replace("wave", "wave & bow").encode(),
        TEXT.replace("0 10 40", "40 10 0").replace("<servo ", '<servo gain="1" ').encode(),
        TEXT.replace("<position>1</position>", "<position>&#49;<![CDATA[]]></position>").encode(),
    ],
)
def test_files_come_back_byte_for_byte(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "wave.xmdi"
    path.write_bytes(data)
    formats.save_motion(formats.load_motions(path), path)
    assert path.read_bytes() == data


def test_letters_that_an_encoding_lacks_become_references(tmp_path: Path) -> None:
    path = tmp_path / "wave.xmdi"
    path.write_bytes(TEXT.replace("UTF-8", "windows-1251").encode())
    motions = formats.load_motions(path)
    motions[0].trajectories[0].name = "плечо \x81 足"
    formats.save_motion(motions, path)
    assert path.read_bytes().count("плечо".encode("cp1251")) == 1
    assert formats.load_motions(path)[0].trajectories[0].name == "плечо \x81 足"


def test_a_damaged_letter_after_a_byte_order_mark_is_reported() -> None:
    _, report = loads(b"\xef\xbb\xbf" + TEXT.encode().replace(b"elbow", b"\xff"))
    assert [(entry.code, entry.line) for entry in report.entries] == [("decoded-damaged", 12)]


def test_the_report_has_whether_the_document_was_edited(tmp_path: Path) -> None:
    path = tmp_path / "wave.xmdi"
    path.write_text(TEXT)
    motions = formats.load_motions(path)
    assert [each.code for each in formats.save_motion(motions, path).entries] == ["document-kept", "written"]
    motions[0].name = "nod"
    assert [each.code for each in formats.save_motion(motions, path).entries] == ["document-patched", "written"]
    assert path.read_text() == TEXT.replace("wave", "nod")
    motions[0].trajectories[0].values[0] = np.nan
    with pytest.raises(FormatError, match=r"wave\.xmdi: .*finite"):
        formats.save_motion(motions, path)
    assert path.read_text() == TEXT.replace("wave", "nod")


def test_a_document_of_another_format_is_no_source(tmp_path: Path) -> None:
    motions = read(TEXT)
    formats.save_motion(motions[1], tmp_path / "bow.csv")
    (table,) = formats.load_motions(tmp_path / "bow.csv")
    after = formats.dumps_motions(table, "xmdi")
    assert same(read(after)[0], motions[1])
    assert_valid(after)
    formats.save_motion(table, tmp_path / "bow")  # no ending: as it was read
    assert (tmp_path / "bow").read_bytes() == (tmp_path / "bow.csv").read_bytes()


def test_a_lost_document_takes_its_encoding_along(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><motion name="é"/>'
    path = tmp_path / "wave.xmdi"
    path.write_bytes(text.encode("utf-16"))
    motions = formats.load_motions(path) if formats.is_motion(path) else loads(path.read_bytes())[0]
    formats.save_motion([*motions, Motion("ü", [keyed([0], [1])])], path)
    assert [each.name for each in loads(path.read_bytes())[0]] == ["é", "ü"]


def test_a_changed_value_changes_its_word() -> None:
    motions = read(TEXT)
    motions[0].trajectories[0].values[2] = 0.25
    assert only_change(TEXT, dumps(motions)) == ("2e-1", "0.25")
    assert dumps(motions) == TEXT.replace("2e-1", "0.25")


def test_a_changed_time_changes_its_word() -> None:
    motions = read(TEXT)
    motions[1].trajectories[0].times[2] = 7 * FRAME_SECONDS
    assert dumps(motions) == TEXT.replace("00 1 2<", "00 1 7<")


def test_a_motion_that_begins_later_keeps_its_positions() -> None:
    motions = read(TEXT)
    motions[1].trajectories[0].times += FRAME_SECONDS  # now at times that were those of other keys
    assert dumps(motions) == TEXT.replace("00 1 2<", "1 2 3<")
    motions[1].trajectories[0].times = np.array([0, 0.5, 1.0]) * FRAME_SECONDS
    assert dumps(motions) == TEXT.replace("00 1 2<", "00 0.5 1<")


def test_an_inserted_key_inserts_its_words() -> None:
    motions = read(TEXT)
    shoulder = motions[0].trajectories[0]
    shoulder.times, shoulder.values = np.insert(shoulder.times, 1, 5 * FRAME_SECONDS), np.insert(shoulder.values, 1, 9)
    assert dumps(motions) == TEXT.replace("0 -.7", "0 9 -.7").replace("0 10 40", "0 5 10 40")
    hip = motions[1].trajectories[0]
    hip.times, hip.values = np.append(hip.times, 3 * FRAME_SECONDS), np.append(hip.values, 4)
    hip.times, hip.values = np.insert(hip.times, 0, -FRAME_SECONDS), np.insert(hip.values, 0, 0.5)
    assert "<position>0.5 +1 2.0 3 4</position>\n        <frames>-1 00 1 2 3</frames>" in dumps(motions)


def test_a_removed_key_removes_its_words() -> None:
    motions = read(TEXT)
    for place, (position, frames) in enumerate((("2.0 3", "1 2"), ("+1 3", "00 2"), ("+1 2.0", "00 1"))):
        hip = read(TEXT)[1].trajectories[0]
        hip.times, hip.values = np.delete(hip.times, place), np.delete(hip.values, place)
        motions[1].trajectories = [hip]
        assert dumps(motions) == TEXT.replace("+1 2.0 3", position).replace("00 1 2<", f"{frames}<")
    hip.times, hip.values = hip.times[:0], hip.values[:0]
    assert "<position></position>\n        <frames></frames>" in dumps(motions)


def test_a_comment_among_the_numbers_stays() -> None:
    motions = read(TEXT)
    shoulder = motions[0].trajectories[0]
    shoulder.times, shoulder.values = shoulder.times[:2], shoulder.values[:2]
    after = dumps(motions)
    assert "0 -.7 <!-- up --></position>" in after
    assert same(read(after)[0], motions[0])


def test_names_and_attributes_change_in_place() -> None:
    motions = read(TEXT)
    wave = motions[0]
    wave.name, wave.attributes = 'wave "<&>"', {"author": "you", "speed": "2"}
    wave.trajectories[1].name = "right elbow"
    after = dumps(motions)
    assert after == TEXT.replace(
        """<motion author='me'  name="wave">""",
        '<motion author="you"  name="wave &quot;&lt;&amp;&gt;&quot;" speed="2">',
    ).replace("left elbow", "right elbow")
    wave.attributes = {}
    assert '<motion  name="wave &quot;' in dumps(motions)


def test_attributes_in_namespaces_are_kept_and_edited() -> None:
    text = TEXT.replace("<motion name", '<motion xmlns:q="urn:q" q:speed="1" name')
    motions = read(text)
    assert motions[1].attributes == {"{urn:q}speed": "1"}
    motions[1].attributes = {"{urn:q}speed": "2", "{urn:new}x": "3", "{http://www.w3.org/XML/1998/namespace}lang": "de"}
    after = dumps(motions)
    assert read(after)[1].attributes == motions[1].attributes
    assert 'q:speed="2"' in after
    motions.append(Motion("third", [], motions[1].attributes))
    assert read(dumps(motions))[2].attributes == motions[1].attributes


def test_servos_and_motions_that_are_gone_are_taken_out() -> None:
    motions = read(TEXT)
    del motions[0].trajectories[1]
    elbow = '\n      <servo name="left elbow"><position>1</position><frames>2.50</frames></servo>'
    assert dumps(motions) == TEXT.replace(elbow, "")
    bow = TEXT[TEXT.index('\n    <motion name="bow">') : TEXT.index("\n  </motions>")]
    assert dumps(motions[:1]) == TEXT.replace(elbow, "").replace(bow, "")
    after = dumps(motions[1:])
    assert [each.name for each in read(after)] == ["bow"]
    assert bow in after


def test_new_servos_and_motions_come_last_with_their_neighbours_indentation() -> None:
    motions = read(TEXT)
    toe = keyed([0, FRAME_SECONDS], [1, 2.5], "toe")
    motions[1].trajectories.append(toe)
    end = "        <frames>00 1 2</frames>\n      </servo>\n"
    added = (
        '      <servo name="toe">\n        <position>1 2.5</position>\n        <frames>0 1</frames>\n      </servo>\n'
    )
    assert dumps(motions) == TEXT.replace(end, end + added)
    new = Motion("new", [toe], {"by": "<me>"})
    after = dumps([*motions, new])
    markup = f'    <motion name="new" by="&lt;me&gt;">\n{added}    </motion>\n'
    assert after == TEXT.replace(end, end + added).replace("  </motions>", markup + "  </motions>")
    assert_valid(after)


@pytest.mark.parametrize(
    "text",
    [
        '<xmdi><motions><motion name="a"/></motions></xmdi>',
        '<xmdi>\n <motions>\n  <motion name="a">\n  </motion>\n </motions>\n</xmdi>',
        '<xmdi>\n <motions>\n  <motion name="a"></motion>\n </motions>\n</xmdi>',
        '<q:xmdi xmlns:q="urn:q"><q:motion name="a"><note/></q:motion></q:xmdi>',
        '<xmdi xmlns="urn:q"><motion name="a"><servo name="s"><frames/><positions/></servo></motion></xmdi>',
    ],
)
def test_servos_find_their_place_in_empty_motions(text: str) -> None:
    motions = read(text)
    motions[0].trajectories = [keyed([0], [1], "s"), keyed([FRAME_SECONDS], [2], "t")]
    motions.append(Motion("b", [keyed([0], [1], "s")]))
    after = dumps(motions)
    again = read(after)
    assert all(same(*pair) for pair in zip(again, motions, strict=True))
    tags = [etree.QName(each) for each in etree.fromstring(after).iter("{*}servo", "{*}position")]
    assert len({tag.namespace for tag in tags}) == 1  # new elements are of the same namespace
    assert "\n" not in text or '\n  <motion name="b">' in after


def test_motions_inside_of_motions() -> None:
    inner = '<motion name="in"><servo name="s"><position>1</position><frames>0</frames></servo></motion>'
    text = (
        f'<a>\n<motion name="out"><servo name="t"><position>2</position><frames>0</frames></servo>{inner}</motion></a>'
    )
    outside, inside = read(text)
    assert (outside.name, inside.name) == ("out", "in")
    inside.trajectories[0].values[0] = 5
    assert dumps([outside, inside]) == text.replace(">1<", ">5<")
    assert dumps([inside]) == f"<a>\n{inner}</a>".replace(">1<", ">5<")
    assert dumps([outside]) == text.replace(inner, "")


def test_a_motion_that_is_the_root_has_no_neighbours() -> None:
    text = '<motion name="m"><servo name="s"><position>1</position><frames>0</frames></servo></motion>'
    (motion,) = read(text)
    assert dumps([motion]) == text
    report = Report()
    assert not report.entries
    after = formats.dumps_motions([motion, Motion("n", motion.trajectories)], "xmdi", report)
    assert [each.name for each in read(after)] == ["m", "n"]
    assert [entry.code for entry in report.entries] == ["document-lost"]
    assert_valid(after)


def test_what_the_reader_repaired_stays_until_it_is_edited() -> None:
    text = TEXT.replace("+1 2.0 3<", "3.0 +1 7 2<").replace("00 1 2<", "2.0 00 1 1<")
    motions = read(text)
    hip = motions[1].trajectories[0]
    assert hip.values.tolist() == [1, 2, 3]
    motions[0].trajectories[1].values[0] = 4
    assert dumps(motions) == text.replace(">1<", ">4<")
    hip.values[2] = 8  # a value: its word, where it stands
    assert dumps(motions) == text.replace(">1<", ">4<").replace("3.0 +1", "8 +1")
    hip.times[2] = 9 * FRAME_SECONDS  # a time: the keys in their order, with their words
    after = dumps(motions)
    assert "<position>+1 2 8</position>\n        <frames>00 1 9</frames>" in after
    assert same(read(after)[1], motions[1])


def test_a_document_without_servos_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "wave.xmdi"
    formats.save_motion(Motion("still", attributes={"speed": "0"}), path)
    motions, report = formats.read_motions(path)
    assert [(each.name, each.attributes) for each in motions] == [("still", {"speed": "0"})]
    assert [entry.code for entry in report.entries] == ["empty-motion"]
    formats.save_motion([], path)
    assert_valid(path.read_text())
    with pytest.raises(FormatError, match=r"wave\.xmdi:2: <xmdi>: .*no motion"):
        formats.read_motions(path)


def test_motions_of_several_documents_become_one() -> None:
    one, other = read(TEXT), read(TEXT.replace("wave", "nod"))
    after = dumps([*one, other[0]])
    assert after.startswith(TEXT[: TEXT.index("\n  </motions>")])
    assert [each.name for each in read(after)] == ["wave", "bow", "nod"]
    twice = dumps([one[0], one[0], one[1]])
    assert [each.name for each in read(twice)] == ["wave", "bow", "wave"]


def test_an_unreadable_document_is_replaced_by_a_new_one() -> None:
    (motion, _) = read(TEXT)
    motion.source = Source("xmdi", "", "", TEXT[:100])
    report = Report()
    assert same(read(formats.dumps_motions(motion, "xmdi", report))[0], motion)
    assert [entry.code for entry in report.entries] == ["document-lost"]


def test_cached_documents_are_freed_with_their_motions() -> None:
    gc.collect()
    before = len(remembered._attached)
    motions = read(TEXT)
    assert len(remembered._attached) == before + 1
    motions[0].source.text = TEXT.replace("two motions", "2")  # another text is another document
    assert dumps(motions) == TEXT.replace("two motions", "2")
    del motions
    gc.collect()
    assert len(remembered._attached) == before


# ------------------------------------------------------------------ constant values


@pytest.mark.parametrize("word", ["constant", "STEP", " Hold "])
def test_the_interpolation_attribute_holds_values(word: str) -> None:
    text = TEXT.replace("<motion name", f'<motion interpolation="{word}" name')
    wave, bow = read(text)
    assert [each.interpolation for each in (*wave.trajectories, *bow.trajectories)] == ["linear", "linear", "constant"]
    assert bow.trajectories[0].at(np.array([0.5, 1.5]) * FRAME_SECONDS).tolist() == [1, 2]
    assert dumps([wave, bow]) == text


def test_constant_motions_say_so() -> None:
    held = keyed([0, 0.32, 0.64], [1, 2, 3], "a", interpolation="constant")
    by_key = keyed([0, 0.32], [1, 2], "b", held=np.array([True, False]))
    motion = Motion("m", [held, by_key, keyed([0], [5], "c")])
    text = dumps([motion])
    assert 'interpolation="constant"' in text
    (again,) = read(text)
    times = np.linspace(0, 1, 60)
    for old, new in zip(motion.trajectories, again.trajectories, strict=True):
        assert old.at(times).tolist() == new.at(times).tolist()
    again.trajectories[0].interpolation = "linear"
    report = Report()
    assert 'interpolation="constant"' not in formats.dumps_motions(again, "xmdi", report)
    assert "interpolation" in [entry.code for entry in report.entries]
    assert_valid(text)


@given(st.data())
def test_constant_among_linear_is_exact_at_every_step(data: st.DataObject) -> None:
    frames = sorted(data.draw(st.sets(st.integers(0, 40), min_size=2, max_size=6)))
    part = data.draw(st.sampled_from([0.0, 0.25, 0.5]))
    times = np.array([frame + part for frame in frames]) * FRAME_SECONDS
    values = data.draw(st.lists(st.integers(-9, 9), min_size=len(times), max_size=len(times)))
    held = np.array(data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times))))
    motion = Motion("m", [keyed([0, 1], [0, 1], "straight"), keyed(times.tolist(), values, "mixed", held=held)])
    report = Report()
    text = formats.dumps_motions(motion, "xmdi", report)
    (again,) = read(text)
    grid = np.arange(50) * FRAME_SECONDS
    np.testing.assert_allclose(again.trajectories[1].at(grid), motion.trajectories[1].at(grid), rtol=0, atol=1e-12)
    assert "interpolation" not in again.attributes
    assert_valid(text)


# ------------------------------------------------------------------ any document

number = st.one_of(
    st.floats(-1e6, 1e6).map(repr), st.floats(-9, 9).map("{:+.3f}".format), st.integers(-99, 99).map("{:.2e}".format)
)
space = st.sampled_from([" ", "\n", "\t ", "\r\n", " <!-- x --> ", "  "])
letters = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters='<&"\ufffe\uffff')
name = st.text(letters, max_size=5)


@st.composite
def servos(draw: st.DrawFn) -> str:
    """A servo, its frames in ascending order."""
    frames = sorted(draw(st.sets(st.integers(-(10**6), 10**6), max_size=6)))
    scale = draw(st.sampled_from([1, 8, 100]))
    counts = [f"{frame / scale:g}" if scale == 8 else repr(frame / scale) for frame in frames]
    if len({float(count) for count in counts}) < len(counts):
        counts = [str(frame) for frame in frames]
    values = [draw(number) for _ in frames]
    texts = [draw(space) + "".join(each + draw(space) for each in words) for words in (values, counts)]
    inside = f"{draw(space)}<position>{texts[0]}</position><frames >{texts[1]}</frames>"
    return f'{draw(space)}<servo name="{draw(name)}">{inside}</servo>'


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document as somebody might have written it."""
    motions = []
    for _ in range(draw(st.integers(1, 3))):
        tag = f'<motion a="{draw(name)}" name="{draw(name)}">'
        motions.append(draw(space) + tag + "".join(draw(st.lists(servos(), max_size=3))) + draw(space) + "</motion>")
    return f'<?xml version="1.0"?><xmdi><motions>{"".join(motions)}</motions></xmdi>{draw(space)}'


@given(documents())
def test_any_document_survives_unedited(text: str) -> None:
    motions = read(text)
    assert dumps(motions) == text
    assert dumps(copy.deepcopy(motions)) == text


@given(documents(), st.data())
def test_an_edited_key_changes_one_word(text: str, data: st.DataObject) -> None:
    motions = read(text)
    keyed_ones = [each for motion in motions for each in motion.trajectories if len(each.times)]
    if not keyed_ones:
        return
    trajectory = data.draw(st.sampled_from(keyed_ones))
    trajectory.values[data.draw(st.integers(0, len(trajectory.times) - 1))] += 1.5
    after = dumps(motions)
    only_change(text, after)
    assert all(same(*pair) for pair in zip(read(after), motions, strict=True))
    assert_valid(after)


@given(documents(), documents(), st.data())
def test_whatever_else_takes_a_documents_place_reads_back(one: str, other: str, data: st.DataObject) -> None:
    motions, new = read(one), read(other)
    places = data.draw(st.permutations(range(len(motions))))
    for motion, place in zip(new, places, strict=False):
        motion.source, motion.index = motions[0].source, place
    after = dumps(new)
    assert_valid(after)
    again = read(after)
    count = min(len(new), len(motions))
    order = sorted(new[:count], key=lambda each: each.index) + new[count:]
    assert [each.name for each in again] == [each.name for each in order]
    for found, wanted in zip(again, order, strict=True):
        assert found.attributes == wanted.attributes
        left = list(found.trajectories)
        for trajectory in wanted.trajectories:  # servos keep the document's order
            del left[next(place for place, each in enumerate(left) if same_keys(each, trajectory))]
        assert not left


@given(documents(), st.data())
def test_a_damaged_document_is_read_or_rejected(text: str, data: st.DataObject) -> None:
    damaged = mangled(data, text)
    is_refused_or_read(lambda: formats.loads_motions(damaged.encode("utf-8", "replace"), "wave.xmdi"))


@given(documents(), st.data())
def test_a_dropped_number_or_name_is_rejected_at_its_line(text: str, data: st.DataObject) -> None:
    numbers = list(re.finditer(r"(?<=[\s>])[+-]?\d[^\s<>\"?]*(?=[\s<])", text))
    numbers = [
        each for each in numbers if text.rfind("<", 0, each.start()) < text.rfind(">", 0, each.start())
    ]  # no names
    pieces = numbers + list(re.finditer(r' name="[^"]*"', text))
    dropped = data.draw(st.sampled_from(pieces))
    with pytest.raises(FormatError) as caught:
        loads((text[: dropped.start()] + text[dropped.end() :]).encode(), "wave.xmdi")
    assert caught.value.line <= text.count("\n", 0, dropped.start()) + 2
    assert "servo" in caught.value.where or "motion" in caught.value.where
