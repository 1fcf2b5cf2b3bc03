"""Webots .motion: what its own reader takes is read, what it refuses is refused, and saving touches what was edited."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import formats
from addon.core.model import Motion, Source
from addon.core.report import FormatError, Report
from tests.support.motion_strategies import (
    changed_tokens,
    finite,
    is_refused_or_read,
    keyed,
    mangled,
    same,
    same_keys,
)
from tests.support.references import CORPUS

HEAD = "#WEBOTS_MOTION,V1.0"
TEXT = HEAD + ",hip,knee\n00:00:000,Start,0,-.70\n00:00:500,bend,1e-1,*\n00:01:000,bend,0.25,+0.5\n"


def read(text: str) -> Motion:
    """The motion of a text."""
    (motion,), _ = formats.loads_motions(text.encode(), "walk.motion")
    return motion


def write(motion: Motion) -> str:
    return formats.dumps_motions(motion, "webots")


def refusal(text: str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        formats.loads_motions(text.encode("utf-8", "surrogatepass"), "walk.motion")
    assert caught.value.path == "walk.motion"
    return caught.value


def tokens(text: str) -> list[str]:
    return text.replace("\n", ",").split(",")


# ------------------------------------------------------------------ reading


def test_webots_poses_become_keys() -> None:
    motion = read(TEXT)
    hip, knee = motion.trajectories
    assert (motion.name, motion.index, motion.source.format) == ("walk", 0, "webots")
    assert (hip.name, hip.times.tolist(), hip.values.tolist()) == ("hip", [0, 0.5, 1], [0, 0.1, 0.25])
    assert (knee.times.tolist(), knee.values.tolist()) == ([0, 1], [-0.7, 0.5])


def test_a_star_leaves_the_motor_where_it_was() -> None:
    knee = read(TEXT).trajectories[1]
    assert knee.holds().tolist() == [True, False]
    assert knee.at(np.array([0.0, 0.25, 0.75, 0.999, 1.0])).tolist() == [-0.7, -0.7, -0.7, -0.7, 0.5]


def test_stars_before_the_first_value_are_no_keys() -> None:
    (motion,), report = formats.loads_motions(f"{HEAD},a,b\n0,P,1,*\n10,P,2,*\n20,P,3,4\n".encode())
    assert motion.trajectories[1].times.tolist() == [0.02]
    assert [entry.code for entry in report.entries] == ["not-commanded"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 0.007),
        ("1:7", 1.007),
        ("2:1:7", 121.007),
        ("00:00:1500", 1.5),
        ("0:90:0", 90),
        ("2147483647", 2147483.647),
    ],
)
def test_times_are_minutes_seconds_milliseconds(text: str, seconds: float) -> None:
    assert read(f"{HEAD},a\n{text},P,0\n").trajectories[0].times.tolist() == [seconds]


@pytest.mark.parametrize(
    ("text", "value"),
    [("-.5", -0.5), ("5.", 5.0), ("1E-2", 0.01), (" \t3", 3.0), ("0x1p3", 8.0), ("-0X.8", -0.5), ("+1", 1.0)],
)
def test_values_are_those_of_c(text: str, value: float) -> None:
    assert read(f"{HEAD},a\n0,P,{text}\n").trajectories[0].values.tolist() == [value]


def test_a_number_with_a_tail_is_read_as_webots_does_and_reported() -> None:
    (motion,), report = formats.loads_motions(f"{HEAD},a\n0,P,1.5 rad\n".encode())
    assert motion.trajectories[0].values.tolist() == [1.5]
    assert [(entry.code, entry.line, entry.where) for entry in report.entries] == [("half-a-number", 2, "a")]


def test_empty_fields_are_none_and_carriage_returns_end_fields() -> None:
    motion = read(f"{HEAD},,a,\r\n0,,P,,1,\r\n")
    assert [(each.name, each.values.tolist()) for each in motion.trajectories] == [("a", [1])]


def test_reading_stops_at_the_first_empty_line() -> None:
    (motion,), report = formats.loads_motions(f"{TEXT},\r\nnonsense\n\nmore\n".encode())
    assert motion.duration == 1.0
    assert [(entry.code, entry.line) for entry in report.entries] == [("after-the-end", 5)]
    assert "2 lines" in report.entries[0].message


def test_names_on_a_line_of_their_own_are_read_and_reported() -> None:
    (motion,), report = formats.loads_motions(f"{HEAD}\nhip,knee\n00:00:000,P,1,2\n".encode())
    assert [each.name for each in motion.trajectories] == ["hip", "knee"]
    assert [(entry.code, entry.line) for entry in report.entries] == [("names-below", 2)]


@pytest.mark.parametrize(
    ("text", "line", "where", "what"),
    [
        (f"{HEAD}\n", 1, "", "has no servo"),
        (f"{HEAD},a\n", 2, "", "no poses"),
        (f"{HEAD},a\n\n0,P,1\n", 2, "", "no poses"),
        ("#WEBOTS_MOTION,V1.1,a\n0,P,1\n", 1, "", "'V1.1'"),
        ("#WEBOTS_MOTIONS,V1.0,a\n0,P,1\n", 1, "", "does not begin"),
        (f"\n{TEXT}", 1, "", "does not begin"),
        (f"{HEAD},a\n0\n", 2, "", "no name"),
        (f"{HEAD},a,b\n0,P,1\n", 2, "b", "1 values for 2 servos"),
        (f"{HEAD},a,b\n0,P,1,2,3\n", 2, "3", "3 values for 2 servos"),
        (f"{HEAD},a\n0,P,1\n0,P,1\n", 3, "time", "not after"),
        (f"{HEAD},a\n0,P,1\n0:1:0,P,2\n999,P,1\n", 4, "time", "not after"),
        (f"{HEAD},a\n-1,P,1\n", 2, "time", "'-1' is not a time"),
        (f"{HEAD},a\n1:2:3:4,P,1\n", 2, "time", "not a time"),
        (f"{HEAD},a\n1:,P,1\n", 2, "time", "not a time"),
        (f"{HEAD},a\n 1,P,1\n", 2, "time", "not a time"),
        (f"{HEAD},a\n2147483648,P,1\n", 2, "time", "exceeds"),
        (f"{HEAD},a\n{'9' * 5000},P,1\n", 2, "", "line exceeds"),
        (f"{HEAD},a\n{'9' * 4000},P,1\n", 2, "time", "exceeds"),
        (f"{HEAD},a\n0,P,one\n", 2, "a", "'one' is not a number"),
        (f"{HEAD},a\n0,P, *\n", 2, "a", "' *' is not a number"),
        (f"{HEAD},a\n0,P,nan\n", 2, "a", "not a number"),
        (f"{HEAD},a\n0,P,-inf\n", 2, "a", "not a number"),
        (f"{HEAD},a\n0,P,1e999\n", 2, "a", "not a number"),
        (f"{HEAD},a\n0,P,0x1p99999\n", 2, "a", "not a number"),
        (f"{HEAD},{'a' * 4096}\n0,P,1\n", 1, "", "exceeds 4095 bytes"),
    ],
)
def test_files_that_webots_rejects_are_rejected_with_the_line(text: str, line: int, where: str, what: str) -> None:
    error = refusal(text)
    assert what in error.message
    assert (error.line, error.where) == (line, where)
    assert error.remedy


def test_the_longest_line_is_the_programs_buffer() -> None:
    name = "a" * (4095 - len(HEAD) - 2)
    assert read(f"{HEAD},{name}\n0,P,1\n").trajectories[0].name == name
    assert "line exceeds" in refusal(f"{HEAD},{name}a\n0,P,1\n").message
    with pytest.raises(FormatError, match="4095 bytes"):
        write(Motion("m", [keyed([0.0], [1.0], name + "a")]))
    assert read(write(Motion("m", [keyed([0.0], [1.0], name)]))).trajectories[0].name == name


def test_a_webots_motion_loaded_as_model_is_rejected_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "walk.jm"
    path.write_text(TEXT)
    assert formats.is_motion(path)
    with pytest.raises(FormatError, match=r"servo motion \(Webots motion\), not a model. .*Import > Servo Motion"):
        formats.load(path)


# ------------------------------------------------------------------ writing


def test_a_new_webots_document_has_poses_at_all_key_times() -> None:
    motion = Motion("walk", [keyed([0, 0.5, 61.25], [0, 0.1 + 0.2, -1], "hip"), keyed([0.5], [2], "lift")])
    assert write(motion) == (
        "#WEBOTS_MOTION,V1.0,hip,lift\n"
        "00:00:000,Pose1,0,2\n00:00:500,Pose2,0.30000000000000004,2\n01:01:250,Pose3,-1,2\n"
    )


def test_a_held_value_without_a_pose_inside_gets_one() -> None:
    held = keyed([0, 1], [3, 4], "a", held=np.array([True, False]))
    again = read(write(Motion("m", [held, keyed([0, 1], [0, 1], "b")])))
    assert same_keys(again.trajectories[0], held)
    assert again.trajectories[1].at(np.array([0.25, 0.5, 0.75])) == pytest.approx([0.25, 0.5, 0.75], abs=1e-15)


@pytest.mark.parametrize(
    ("motion", "what"),
    [
        (Motion("m", [keyed([-0.1], [0])]), "-0.1 s"),
        (Motion("m", [keyed([3e6], [0])]), "3e"),
        (Motion("m", [keyed([0], [0], "a,b")]), "a,b"),
        (Motion("m", [keyed([0], [0], "")]), "''"),
        (Motion("m", [keyed([0], [np.nan])]), "finite"),
        (Motion("m", [keyed([0, 1], [0, -9999999.9])]), "-9999999.9"),
        (Motion("m", [keyed([0.0001, 0.0002], [0, 1])]), "one millisecond"),
        (Motion("m", [keyed([0.0101], [0], "a"), keyed([0.0099], [0], "b")]), "one millisecond"),
        (Motion("m", [keyed([], [])]), "no keyframes"),
        (Motion("m"), "no servos"),
    ],
)
def test_content_that_webots_cannot_hold_is_rejected_with_a_remedy(motion: Motion, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(motion)
    assert what in caught.value.message
    assert caught.value.remedy
    assert caught.value.where == "motion 'm'"


def test_attributes_are_left_out_and_reported() -> None:
    report = Report()
    held = keyed([0, 1], [3, 4], "a", interpolation="constant")
    attributes = {"speed": "2", "author": "me", "interpolation": "constant"}
    again = read(formats.dumps_motions(Motion("m", [held], attributes), "webots", report))
    assert same_keys(again.trajectories[0], held)
    assert [(entry.severity, entry.code) for entry in report.entries] == [("info", "attributes")]
    assert report.entries[0].message.endswith("has none: author, speed")


def test_several_motions_are_rejected() -> None:
    with pytest.raises(FormatError, match=r"holds one motion, not 2\. .*XMDI"):
        formats.dumps_motions([read(TEXT), read(TEXT)], "webots")


def test_times_between_milliseconds_are_rounded_and_reported() -> None:
    report = Report()
    text = formats.dumps_motions(Motion("m", [keyed([0, 1 / 24, 0.0850000001], [0, 1, 2])]), "webots", report)
    assert read(text).trajectories[0].times.tolist() == [0, 0.042, 0.085]
    (entry,) = report.entries
    assert (entry.severity, entry.code) == ("warning", "rounded-times")
    assert entry.message.startswith("Times of keyframes: 1 rounded")
    assert "0.333 ms" in entry.message  # 1/24 s is 41.667 ms


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[list[float | None]], list[str]]:
    """Times (ms), rows of values (None for ``*``; the first row has none), names."""
    times = sorted(draw(st.sets(st.integers(0, 10**7), min_size=1, max_size=6)))
    width = draw(st.integers(1, 3))
    letters = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters=",")
    names = draw(st.lists(st.text(letters, min_size=1, max_size=6), min_size=width, max_size=width))
    kinds = [finite] + [st.none() | finite] * (len(times) - 1)
    cells = [draw(st.lists(kind, min_size=width, max_size=width)) for kind in kinds]
    return times, cells, names


def spelt(table: tuple[list[int], list[list[float | None]], list[str]], newline: str = "\n") -> str:
    times, rows, names = table
    lines = [",".join([HEAD, *names])]
    for number, (time, row) in enumerate(zip(times, rows, strict=True)):
        cells = ("*" if cell is None else f"{cell!r}" if number % 2 else f"{cell:+.17e}" for cell in row)
        when = str(time) if number % 3 else f"{time // 60000}:{time // 1000 % 60}:{time % 1000}"
        lines.append(",".join([when, f"P {number % 2}", *cells]))
    return newline.join(lines) + newline


@given(tables())
def test_any_motion_of_the_grammar_survives_a_new_document(table: tuple) -> None:
    motion = read(spelt(table))
    motion.source = None
    assert same(read(write(motion)), motion)


@given(tables(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_document_survives_unedited(table: tuple, newline: str, ended: bool) -> None:
    text = spelt(table, newline) if ended else spelt(table, newline).rstrip("\r\n")
    motion = read(text)
    assert write(motion) == text
    motion.source = Source("webots", "", "", text)  # not the one that was read just now
    assert write(motion) == text


@given(tables(), st.data())
def test_an_edited_key_changes_one_token(table: tuple, data: st.DataObject) -> None:
    text = spelt(table)
    motion = read(text)
    trajectory = data.draw(st.sampled_from(motion.trajectories))
    key = data.draw(st.integers(0, len(trajectory.times) - 1))
    trajectory.values[key] += 1.5
    after = write(motion)
    ((_, new),) = changed_tokens(text, after, tokens)
    assert float(new) == trajectory.values[key]
    assert same(read(after), motion)


@given(tables(), st.data())
def test_a_retimed_pose_changes_one_token(table: tuple, data: st.DataObject) -> None:
    times, rows, names = table
    rows = [[0.5 if cell is None else cell for cell in row] for row in rows]
    text = spelt((times, rows, names))
    motion = read(text)
    row = data.draw(st.integers(0, len(times) - 1))
    later = data.draw(st.integers(times[row] + 1, times[row + 1] if row + 1 < len(times) else times[row] + 9))
    if later in times:
        return
    for trajectory in motion.trajectories:
        trajectory.times[row] = later / 1000.0
    after = write(motion)
    assert len(changed_tokens(text, after, tokens)) == 1
    assert same(read(after), motion)


@given(tables(), st.data())
def test_a_removed_pose_takes_its_line(table: tuple, data: st.DataObject) -> None:
    times, rows, names = table
    rows = [[0.5 if cell is None else cell for cell in row] for row in rows]
    if len(times) < 2:
        return
    text = spelt((times, rows, names))
    motion = read(text)
    row = data.draw(st.integers(0, len(times) - 1))
    for trajectory in motion.trajectories:
        trajectory.times, trajectory.values = np.delete(trajectory.times, row), np.delete(trajectory.values, row)
    lines = text.splitlines(keepends=True)
    assert write(motion) == "".join(lines[: row + 1] + lines[row + 2 :])


@given(tables(), tables())
def test_whatever_else_takes_a_documents_place_reads_back(one: tuple, other: tuple) -> None:
    motion, new = read(spelt(one)), read(spelt(other))
    new.source = motion.source
    again = read(write(new))
    times = np.array(sorted({*one[0], *other[0]})) / 1000.0
    by_name = sorted(again.trajectories, key=lambda each: (each.name, each.values.tolist()))
    wanted = sorted(new.trajectories, key=lambda each: (each.name, each.values.tolist()))
    assert [each.name for each in by_name] == [each.name for each in wanted]
    if len({each.name for each in wanted}) == len(wanted):
        for found, want in zip(by_name, wanted, strict=True):
            np.testing.assert_allclose(found.at(times), want.at(times), rtol=1e-9, atol=1e-9)


def test_an_inserted_key_gets_a_line_and_others_their_straight_values() -> None:
    motion = read(TEXT)
    hip = motion.trajectories[0]
    hip.times, hip.values = np.insert(hip.times, 2, 0.75), np.insert(hip.values, 2, 9.0)
    lines = TEXT.splitlines(keepends=True)
    assert write(motion) == "".join([*lines[:3], "00:00:750,Pose3,9,*\n", lines[3]])


def test_a_moved_pose_keeps_its_name_beside_a_new_one() -> None:
    text = f"{HEAD},a\n0,Start,0\n10,Bend,1\n20,Rest,2\n30,End,3\n"
    motion = read(text)
    motion.trajectories = [keyed([0, 0.012, 0.02, 0.025, 0.03], [0, 1.5, 2, 2.5, 3], "a")]
    assert write(motion) == f"{HEAD},a\n0,Start,0\n12,Bend,1.5\n20,Rest,2\n25,Pose4,2.5\n30,End,3\n"


def test_stars_where_a_servo_has_no_keys_yet_stay() -> None:
    text = f"{HEAD},a,b\n0,P,1,*\n10,P,2,*\n20,P,3,4\n"
    motion = read(text)
    assert write(motion) == text
    motion.trajectories[0].values[1] = 7.0
    assert write(motion) == text.replace("P,2,*", "P,7,*")
    motion.trajectories[1] = keyed([0.01, 0.02], [0, 4], "b")
    assert write(motion) == text.replace("P,2,*", "P,7,0")


def test_servos_are_renamed_removed_and_added_in_place() -> None:
    motion = read(TEXT)
    motion.trajectories[0].name = "left hip"
    assert write(motion) == TEXT.replace(",hip", ",left hip")
    motion = read(TEXT)
    del motion.trajectories[1]
    one = HEAD + ",hip\n00:00:000,Start,0\n00:00:500,bend,1e-1\n00:01:000,bend,0.25\n"
    assert write(motion) == one
    motion = read(TEXT)
    motion.trajectories[1] = keyed([0, 1], [5, 7], "knee")
    assert write(motion) == TEXT.replace("-.70", "5").replace("*", "6").replace("+0.5", "7")
    motion = read(one)
    motion.trajectories.append(keyed([0, 1], [5, 7], "lift"))
    two = HEAD + ",hip,lift\n00:00:000,Start,0,5\n00:00:500,bend,1e-1,6\n00:01:000,bend,0.25,7\n"
    assert write(motion) == two


def test_what_follows_the_empty_line_stays() -> None:
    text = TEXT + "\nnotes of somebody\n"
    motion = read(text)
    motion.trajectories[0].values[0] = 8.0
    assert write(motion) == text.replace("Start,0,", "Start,8,")


@given(tables(), st.data())
def test_a_damaged_document_is_read_or_rejected(table: tuple, data: st.DataObject) -> None:
    text = mangled(data, spelt(table))
    is_refused_or_read(lambda: formats.loads_motions(text.encode("utf-8", "replace"), "walk.motion"))


REAL = sorted((CORPUS / "motion").glob("*.motion"))


@pytest.mark.parametrize("path", REAL or [None], ids=lambda path: path.name if path else "none")
def test_real_files_come_back_byte_for_byte(path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip(f"real files are not here: {CORPUS / 'motion'}")
    motions, _ = formats.read_motions(path)
    formats.save_motion(motions, tmp_path / "again.motion")
    assert (tmp_path / "again.motion").read_bytes() == path.read_bytes()
    new = Motion(motions[0].name, motions[0].trajectories)
    assert same(read(formats.dumps_motions(new, "webots")), new)


@pytest.mark.parametrize("target", ["csv", "xmdi"])
def test_names_of_poses_that_go_nowhere_are_reported(target: str) -> None:
    plain = "#WEBOTS_MOTION,V1.0,Hip\n0,Pose1,0\n80,Pose2,1\n"
    named = plain.replace("Pose2", "Crouch").replace("Pose1", "Stand")
    for text, count in ((plain, 0), (named, 1)):
        report = Report()
        formats.dumps_motions(formats.loads_motions(text.encode(), "a.motion")[0], target, report)
        told = [entry.message for entry in report.entries if entry.code == "pose-names"]
        assert told == ["Pose names: not written ('Stand' and 1 more)"] * count
    report = Report()
    formats.dumps_motions(formats.loads_motions(named.encode(), "a.motion")[0], "webots", report)
    assert not any(entry.code == "pose-names" for entry in report.entries)
