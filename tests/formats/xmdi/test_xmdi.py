"""XMDI: what is read, what is refused, and that what is written reads back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import formats
from addon.core.model import Motion, Trajectory
from addon.core.report import FormatError
from addon.formats.xmdi import FRAME_SECONDS, dumps, loads

etree = pytest.importorskip("lxml.etree")

DOCUMENT = b"""<?xml version="1.0"?>
<xmdi>
  <motions>
    <!-- a wave -->
    <motion name="wave" author="me" speed="1">
      <servo name="left shoulder">
        <position>0 -.7 .2</position>
        <frames>0 10 40</frames>
      </servo>
      <servo name="left elbow"><position>1e-1</position><frames>2.5</frames></servo>
    </motion>
    <motion name="bow"><servo name="hip"><positions>1 2</positions><frame>0 1</frame></servo></motion>
  </motions>
</xmdi>
"""


def servo(position: str = "0 1", frames: str = "0 1", name: str = 'name="knee"') -> bytes:
    """A document of one servo; its position list stands on line 4."""
    return (
        f'<xmdi><motions>\n<motion name="m">\n<servo {name}>\n'
        f"<position>{position}</position>\n<frames>{frames}</frames>\n</servo></motion></motions></xmdi>"
    ).encode()


def test_the_documents_own_example() -> None:
    motions, report = loads(DOCUMENT)
    wave, bow = motions
    assert (wave.name, wave.attributes) == ("wave", {"author": "me", "speed": "1"})
    shoulder, elbow = wave.trajectories
    assert shoulder.name == "left shoulder"
    np.testing.assert_array_equal(shoulder.values, [0, -0.7, 0.2])
    np.testing.assert_allclose(shoulder.times, [0, 0.32, 1.28], rtol=1e-15)  # a frame is 32 ms
    np.testing.assert_allclose(elbow.times, [0.08])
    assert [t.name for t in bow.trajectories] == ["hip"]
    assert bow.duration == FRAME_SECONDS == 0.032
    assert report.entries == []


BARE = b'<motion name="m"><servo name="s"><position>1</position><frames>2</frames></servo></motion>'
ONE = b"<position>1</position>"


@pytest.mark.parametrize(
    "document",
    [
        BARE,
        b"<a><b><c>" + BARE + b"</c></b></a>",
        b'<x:a xmlns:x="urn:q"><x:motion name="m"><x:servo name="s"><x:position>1</x:position>'
        b"<x:frames>2</x:frames></x:servo></x:motion></x:a>",
        b'<a xmlns="urn:q">' + BARE.replace(b">1<", b">\n1\n<").replace(b">2<", b">\t2 <") + b"</a>",
        f'<?xml version="1.0" encoding="UTF-16"?>{BARE.decode()}'.encode("utf-16"),
    ],
)
def test_motions_are_found_by_structure(document: bytes) -> None:
    (motion,), _ = loads(document)
    assert (motion.name, motion.trajectories[0].name) == ("m", "s")
    assert motion.trajectories[0].values.tolist() == [1]
    assert motion.trajectories[0].times.tolist() == [2 * FRAME_SECONDS]


@pytest.mark.parametrize(
    ("document", "line", "words"),
    [
        (servo(position="0 1 2"), 3, "3 positions but 2 frames"),
        (servo(name=""), 3, "servo has no name"),
        (servo().replace(b' name="m"', b""), 2, "motion has no name"),
        (servo(position="0 one"), 4, "'one' is not a number"),
        (servo(position="0\n1,5"), 5, "'1,5' is not a number"),
        (servo(position="0 nan"), 4, "'nan' is not a number"),
        (servo(position="0 1e999"), 4, "'1e999' is not a number"),
        (servo(position="0 1_0"), 4, "'1_0' is not a number"),
        (servo(frames="0 inf"), 5, "'inf' is not a number"),
        (servo(position="0 <b>1</b>"), 4, "<position> holds <b>"),
        (servo().replace(b"<frames>0 1</frames>", b""), 3, "has no <frames>"),
        (servo().replace(b"<position>0 1</position>", b""), 3, "has no <position>"),
        (servo().replace(b"</position>\n", b"</position>\n<positions>1</positions>\n"), 5, "more than one <position>"),
        (servo().replace(b"</frames>\n", b"</frames>\n<frame>1</frame>\n"), 6, "more than one <frames>"),
        (b"<Model>\n<Bodies/></Model>", 1, "not XMDI"),
    ],
)
def test_refusals_name_file_line_and_element(document: bytes, line: int, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        loads(document, "walk.xmdi")
    assert words in caught.value.message
    assert (caught.value.path, caught.value.line) == ("walk.xmdi", line)
    assert caught.value.where
    assert caught.value.remedy


@pytest.mark.parametrize(
    "document", [b"", b"  \n", b"hello", b"#WEBOTS_MOTION,V1.0,a\n", DOCUMENT[:200], b"\0\1\2\xff"]
)
def test_a_file_that_is_no_xml_is_rejected(document: bytes) -> None:
    with pytest.raises(FormatError, match=r"walk\.xmdi"):
        loads(document, "walk.xmdi")


def test_entities_are_never_resolved() -> None:
    secret = b'<!DOCTYPE xmdi [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + servo(position="&e; 1")
    with pytest.raises(FormatError, match="entities"):
        loads(secret)
    laughs = b'<!DOCTYPE x [<!ENTITY a "1 1 1"><!ENTITY b "&a;&a;&a;&a;">]>' + servo(position="&b;")
    with pytest.raises(FormatError, match="entities"):
        loads(laughs)


def test_frames_out_of_order_are_sorted_and_of_equal_ones_the_last_holds() -> None:
    (motion,), report = loads(servo("1 2 3 4 5", "30 10 10 0 30"))
    assert (motion.trajectories[0].times / FRAME_SECONDS).round(9).tolist() == [0, 10, 30]
    assert motion.trajectories[0].values.tolist() == [4, 3, 5]
    (entry,) = report.entries
    assert (entry.severity, entry.code, entry.line) == ("warning", "sorted-frames", 5)


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (BARE.replace(ONE, b"").replace(b"</frames>", b"</frames>" + ONE), "order"),
        (servo().replace(b"<position>", b'<position unit="deg">'), "ignored-attribute"),
        (servo(name='name="knee" gain="3"'), "ignored-attribute"),
        (servo().replace(b"</servo>", b"<note/></servo>"), "ignored-element"),
        (servo().replace(b"</servo>", b"</servo><note/>"), "ignored-element"),
        (servo("", ""), "empty-servo"),
        (b'<xmdi><motion name="m"/></xmdi>', "empty-motion"),
        (BARE.replace(b"</motion>", BARE[17:]), "repeated-servo"),
    ],
)  # fmt: skip
def test_all_ignored_content_is_reported(document: bytes, code: str) -> None:
    _, report = loads(document)
    assert [(e.severity, e.code) for e in report.entries] == [("warning", code)]
    assert report.entries[0].line


def test_a_new_xmdi_document_has_the_expected_text() -> None:
    times = np.array([0, 10, 40]) * FRAME_SECONDS
    motion = Motion("wave <1>", [Trajectory("a & b", times, np.array([0.0, -0.7, 0.1 + 0.2]))], {"author": 'me"'})
    text = dumps([motion])
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<xmdi>\n\t<motions>\n"
        '\t\t<motion name="wave &lt;1&gt;" author="me&quot;">\n'
        '\t\t\t<servo name="a &amp; b">\n'
        "\t\t\t\t<position>0 -0.7 0.30000000000000004</position>\n"
        "\t\t\t\t<frames>0 10 40</frames>\n"
        "\t\t\t</servo>\n\t\t</motion>\n\t</motions>\n</xmdi>\n"
    )
    assert etree.fromstring(text.encode()).tag == "xmdi"


def test_frames_are_whole_only_where_they_nearly_are() -> None:
    times = np.array([1 + 5e-7, 2 + 1e-4, 3 - 5e-7, 4.5]) * FRAME_SECONDS
    text = dumps([Motion("m", [Trajectory("s", times, np.zeros(4))])])
    assert etree.fromstring(text.encode()).findtext(".//frames") == "1 2.0001 3 4.5"


def test_long_runs_and_long_files() -> None:
    count = 1_100_000
    (motion,), _ = loads(servo(" ".join(["-0.12345678"] * count), " ".join(map(str, range(count)))))
    assert motion.trajectories[0].times[-1] == (count - 1) * FRAME_SECONDS
    deep = servo("1 " * 6_000_000, "1 " * 6_000_000)
    with pytest.raises(FormatError, match=r"walk.xmdi:1: .*nested deeper than 256 levels"):
        loads(b"<a>" * 300 + deep + b"</a>" * 300, "walk.xmdi")


def test_lines_are_counted_above_65535() -> None:
    far = b"\n" * 70_000
    with pytest.raises(FormatError) as caught:
        loads(b"<xmdi>" + far + servo("1 x", "1 2") + b"</xmdi>")
    assert caught.value.line == 70_004
    with pytest.raises(FormatError) as caught:
        loads(b"<xmdi>" + far + servo(name="") + b"</xmdi>")
    assert caught.value.line == 70_003


finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=8
)
keys = st.lists(st.tuples(st.integers(-(2**40), 2**40), finite), unique_by=lambda key: key[0], max_size=6).map(sorted)


@given(st.lists(st.tuples(names, st.lists(st.tuples(names, keys), max_size=3)), min_size=1, max_size=3))
def test_what_is_written_reads_back(content: list) -> None:
    motions = [
        Motion(name, [_trajectory(servo_name, pairs) for servo_name, pairs in servos], {"n": "1"})
        for name, servos in content
    ]
    again, _ = loads(dumps(motions).encode())
    for old, new in zip(motions, again, strict=True):
        assert (old.name, old.attributes) == (new.name, new.attributes)
        for before, after in zip(old.trajectories, new.trajectories, strict=True):
            assert before.name == after.name
            assert before.values.tolist() == after.values.tolist()
            assert before.times.tolist() == after.times.tolist()
    assert dumps(again) == dumps(motions)


def _trajectory(name: str, pairs: list) -> Trajectory:
    frames = np.array([frame for frame, _ in pairs], dtype=np.float64)
    return Trajectory(name, frames * FRAME_SECONDS, np.array([value for _, value in pairs], dtype=np.float64))


@given(st.floats(0, 1e5))
def test_times_that_are_no_frames_come_back_to_the_last_digit(seconds: float) -> None:
    motion = Motion("m", [Trajectory("s", np.array([seconds]), np.zeros(1))])
    (again,), _ = loads(dumps([motion]).encode())
    frame = seconds / FRAME_SECONDS
    if abs(frame - round(frame)) > 2e-6:
        assert math.isclose(again.trajectories[0].times[0], seconds, rel_tol=3e-16)
    else:
        assert again.trajectories[0].times[0] == pytest.approx(seconds, abs=1e-7)


@pytest.mark.parametrize(
    "motion",
    [
        Motion("m", [Trajectory("s", np.array([0.0]), np.array([math.nan]))]),
        Motion("m", [Trajectory("s", np.array([math.inf]), np.array([0.0]))]),
        Motion("m", [Trajectory("s", np.array([0.0, 1.0]), np.array([0.0]))]),
        Motion("m\0"),
        Motion("m", attributes={"two words": "x"}),
        Motion("m", [Trajectory("s\x07", np.zeros(1), np.zeros(1))]),
    ],
)
def test_content_that_xmdi_cannot_hold_is_rejected(motion: Motion) -> None:
    with pytest.raises(FormatError) as caught:
        dumps([motion])
    assert "motion" in caught.value.where
    assert caught.value.remedy


def test_the_outer_tags_can_be_chosen() -> None:
    """The text has lost their names: nobody can say that ours are right."""
    motion = Motion("m", [Trajectory("s", np.array([0.0]), np.array([1.0]))])
    text = formats.dumps_motions(motion, "xmdi", xmdi_tags=("judo", "throws"))
    assert [element.tag for element in etree.fromstring(text.encode()).iter()][:3] == ["judo", "throws", "motion"]
    (back,), _report = formats.loads_motions(text.encode())
    assert back.trajectories[0].values.tolist() == [1.0]
    for bad in ("two words", "motion", "", "1st"):
        with pytest.raises(FormatError, match="is not a valid name of an XMDI container"):
            formats.dumps_motions(motion, "xmdi", xmdi_tags=("judo", bad))
