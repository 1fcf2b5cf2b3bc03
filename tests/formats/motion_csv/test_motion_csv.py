"""CSV tables of motion: units, delimiters and empty cells as spreadsheets write them, and saving that keeps them."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon import formats
from addon.core.model import Motion, Source, Trajectory
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

TEXT = "time [s],Hip [rad],Lift [mm]\n0,.10,\n0.50,-7e-1,20\n# half way\n\n1,0.25,\n"


def read(text: str | bytes) -> Motion:
    """The motion of a text."""
    (motion,), _ = formats.loads_motions(text if isinstance(text, bytes) else text.encode(), "walk.csv")
    return motion


def write(motion: Motion) -> str:
    return formats.dumps_motions(motion, "csv")


def cells(text: str, delimiter: str = ",") -> list[str]:
    """Every cell of a table as the standard library reads it."""
    return [cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row]


# ------------------------------------------------------------------ reading


def test_columns_become_servos_in_rad_and_metres() -> None:
    motion = read(TEXT)
    hip, lift = motion.trajectories
    assert (motion.name, motion.source.format, motion.index) == ("walk", "csv", 0)
    assert (hip.name, hip.unit, hip.times.tolist(), hip.values.tolist()) == (
        "Hip",
        "rad",
        [0, 0.5, 1],
        [0.1, -0.7, 0.25],
    )
    assert (lift.name, lift.unit, lift.times.tolist(), lift.values.tolist()) == ("Lift", "m", [0.5], [0.02])


@pytest.mark.parametrize(
    ("heading", "name", "unit", "cell", "value"),
    [
        ("Hip", "Hip", "", "0.5", 0.5),
        ("Hip [rad]", "Hip", "rad", "0.5", 0.5),
        ("Hip[deg]", "Hip", "rad", "180", math.pi),
        ("Hip (°)", "Hip", "rad", "90", math.pi / 2),
        ("Hip (deg)", "Hip", "rad", "-60", -math.pi / 3),
        ("Lift [m]", "Lift", "m", "2", 2.0),
        ("Lift (mm)", "Lift", "m", "2", 0.002),
        ("Hip (left)", "Hip (left)", "", "1", 1.0),
        ("Hip [rad] []", "Hip [rad]", "", "1", 1.0),
        ('"Hip, ""left"" [rad]"', 'Hip, "left"', "rad", "1", 1.0),
        ('" Hip "', " Hip ", "", " 1 ", 1.0),
    ],
)
def test_headings_of_a_table_name_its_units(heading: str, name: str, unit: str, cell: str, value: float) -> None:
    (servo,) = read(f"time,{heading}\n0,{cell}\n").trajectories
    assert (servo.name, servo.unit) == (name, unit)
    assert servo.values[0] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("time [ms],a\n250,1\n", [0.25]),
        ("t (s),a\n0.25,1\n", [0.25]),
        ("a,Time,b\n1,0.25,2\n", [0.25]),
        ("\ufefftime;a\r\n0,25;1,5\r\n", [0.25]),
        ("time\ta\n0,25\t1\n", [0.25]),
        ("# made by hand\n\ntime,a,\n0.25,1,\n,,\n", [0.25]),
        ('"time";"a"\n"0,25";"1"\n', [0.25]),
        ('time,"a;b;time;c"\n0.25,1\n', [0.25]),
        ('time;"a,b\n,,,"\n0.25;1\n', [0.25]),
    ],
)  # fmt: skip
def test_delimiters_units_and_order_are_found(text: str, times: list[float]) -> None:
    assert read(text).trajectories[0].times.tolist() == times


def test_decimal_commas_where_they_cannot_part_cells() -> None:
    motion = read("time;a [deg]\n0;1,5\n0,5;-3\n")
    np.testing.assert_allclose(motion.trajectories[0].values, np.deg2rad([1.5, -3]), rtol=1e-15)
    assert motion.trajectories[0].times.tolist() == [0, 0.5]


def test_a_value_repeated_at_the_next_keys_time_is_held() -> None:
    (servo,) = read("time,a\n0,1\n1,1\n1,2\n2,3\n").trajectories
    assert (servo.times.tolist(), servo.values.tolist()) == ([0, 1, 2], [1, 2, 3])
    assert servo.holds().tolist() == [True, False, False]
    assert servo.at(np.array([0.999, 1.0, 1.5])).tolist() == [1, 2, 2.5]


@pytest.mark.parametrize(
    ("text", "line", "where", "what"),
    [
        ("a,b\n1,2\n", 1, "", "no time column"),
        ("time [h],a\n0,1\n", 1, "time", "'h'"),
        ("time [rad],a\n0,1\n", 1, "time", "not in seconds"),
        ("time,a [Nm]\n0,1\n", 1, "a", "'Nm' is not a unit"),
        ("time,a [s]\n0,1\n", 1, "a", "cannot be seconds"),
        ("time,\n0,\n", 1, "", "has no servo"),
        ("time,a\n", 1, "", "no rows"),
        ("#\ntime,a\n0,1\n# x\n1,one\n", 5, "a", "'one' is not a number"),
        ("time,a\n0,nan\n", 2, "a", "not a number"),
        ("time,a\n0,1e999\n", 2, "a", "not a number"),
        ("time,a\n0,1_0\n", 2, "a", "not a number"),
        ("time;a\n0;1.000,5\n", 2, "a", "not a number"),
        ("time,a\nx,1\n", 2, "time", "'x' is not a number"),
        ("time,a\n,1\n", 2, "time", "no time"),
        ("time,a,b\n0,1\n", 2, "b", "2 cells for 3 columns"),
        ("time,a\n0,1,5\n", 2, "a", "3 cells for 2 columns"),
        ("time,a\n1,1\n0,1\n", 3, "time", "after a later one"),
        ("time,a\n0,1\n0,2\n", 3, "a", "two values at 0 s"),
        ("time,a\n0,1\n1,2\n1,3\n", 4, "a", "two values at 1 s"),
        ("time,a\n0,1\n1,1\n1,1\n1,1\n", 5, "a", "two values at 1 s"),
        ('time,"a\nb"\n0,1\n1,x\n', 4, "a\nb", "not a number"),
    ],
)
def test_refusals_name_line_and_column(text: str, line: int, where: str, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(text)
    assert what in caught.value.message
    assert (caught.value.path, caught.value.line, caught.value.where) == ("walk.csv", line, where)
    assert caught.value.remedy


def test_text_that_is_no_table_is_not_called_one() -> None:
    with pytest.raises(FormatError, match="not XML"):
        read("hello, world\nhow are you\n")


def test_a_table_loaded_as_model_is_rejected_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "walk.xml"
    path.write_text(TEXT)
    assert formats.is_motion(path)
    with pytest.raises(FormatError, match=r"servo motion \(CSV table of motion\), not a model. .*Servo Motion"):
        formats.load(path)


# ------------------------------------------------------------------ writing


def test_a_new_table_has_units_and_empty_cells() -> None:
    hip = keyed([0, 0.5], [0, 0.1 + 0.2], "Hip", unit="rad", held=np.array([True, False]))
    motion = Motion("m", [hip, keyed([0.25], [2], 'a, "b"', unit="m"), keyed([0.5], [1], "c [x]")], {"author": "me"})
    report = Report()
    assert formats.dumps_motions(motion, "csv", report) == (
        'time [s],Hip [rad],"a, ""b"" [m]",c [x] []\n0,0,,\n0.25,,2,\n0.5,0,,\n0.5,0.30000000000000004,,1\n'
    )
    assert [entry.code for entry in report.entries] == ["attributes", "held-keys"]


@pytest.mark.parametrize(
    ("motion", "what"),
    [
        (Motion("m"), "no servos"),
        (Motion("m", [keyed([], [])]), "no keyframes"),
        (Motion("m", [keyed([0], [math.inf])]), "finite"),
        (Motion("m", [keyed([1, 0], [0, 0])]), "sorted"),
        (Motion("m", [keyed([0, 0], [0, 0])]), "sorted"),
        (Motion("m", [keyed([0], [0], "a\0")]), "name"),
    ],
)
def test_content_that_csv_cannot_hold_is_rejected_with_a_remedy(motion: Motion, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(motion)
    assert what in caught.value.message
    assert caught.value.remedy


def test_several_motions_are_rejected() -> None:
    with pytest.raises(FormatError, match=r"holds one motion, not 2"):
        formats.dumps_motions([read(TEXT), read(TEXT)], "csv")


names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    times = sorted(draw(st.sets(finite, max_size=5)))
    values = draw(st.lists(finite, min_size=len(times), max_size=len(times)))
    held = np.array(draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times))), bool)
    return keyed(times, values, draw(names), held=held, unit=draw(st.sampled_from(["", "rad", "m"])))


motions = st.lists(trajectories(), min_size=1, max_size=4).filter(lambda each: any(len(one.times) for one in each))


@given(motions)
def test_any_motion_survives_a_new_table(content: list[Trajectory]) -> None:
    text = write(Motion("m", content))
    again = read(text)
    assert same(again, Motion("m", content))
    assert [each.unit for each in again.trajectories] == [each.unit for each in content]
    assert write(again) == text


@given(motions)
def test_the_standard_library_reads_the_same_cells(content: list[Trajectory]) -> None:
    rows = list(csv.reader(io.StringIO(write(Motion("m", content)), newline="")))
    for column, trajectory in enumerate(content, 1):
        assert rows[0][column].startswith(trajectory.name)
        pairs = [(float(row[0]), float(row[column])) for row in rows[1:] if row[column]]
        assert set(zip(trajectory.times.tolist(), trajectory.values.tolist(), strict=True)) <= set(pairs)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str]:
    """A table as somebody might have written it, and what parts its cells."""
    delimiter = draw(st.sampled_from([",", ";", "\t"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    comma = delimiter != "," and draw(st.booleans())
    width = draw(st.integers(1, 3))
    units = draw(st.lists(st.sampled_from(["", " [rad]", "[deg]", " (m)", " [mm]"]), min_size=width, max_size=width))
    times = sorted(draw(st.sets(st.integers(-(10**6), 10**6), min_size=1, max_size=6)))
    number = finite.map(repr) | finite.map("{:.3f}".format) | finite.map("{:+.2E}".format)
    cell = st.just("") | number
    scale, at = draw(st.sampled_from([("time [ms]", 1), ("time", 1000)])), draw(st.integers(0, width))
    lines = [[f"servo {k}{unit}" for k, unit in enumerate(units)]]
    lines[0].insert(at, scale[0])
    for time in times:
        row = draw(st.lists(cell, min_size=width, max_size=width))
        row.insert(at, f"{time / scale[1]:.3f}")
        lines.append([word.replace(".", ",") for word in row] if comma else row)
    texts = [delimiter.join(line) for line in lines]
    if draw(st.booleans()):
        texts.insert(draw(st.integers(0, len(texts))), "# note; to, self")
    return newline.join(texts) + draw(st.sampled_from(["", newline, newline * 2])), delimiter


def parts(text: str, delimiter: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\n", delimiter).split(delimiter)


@given(documents())
def test_any_document_survives_unedited(document: tuple[str, str]) -> None:
    motion = read(document[0])
    assert write(motion) == document[0]
    motion.source = Source("csv", "", "", document[0])  # not the one that was read just now
    assert write(motion) == document[0]
    if len(motion.trajectories[0].times):
        motion.trajectories[0].values[0] += 1.0
        write(motion)
        motion.trajectories[0].values[0] = read(document[0]).trajectories[0].values[0]
        assert write(motion) == document[0]


@given(documents(), st.data())
def test_an_edited_key_changes_one_cell(document: tuple[str, str], data: st.DataObject) -> None:
    text, delimiter = document
    motion = read(text)
    keyed_ones = [each for each in motion.trajectories if len(each.times)]
    if not keyed_ones:
        return
    trajectory = data.draw(st.sampled_from(keyed_ones))
    key = data.draw(st.integers(0, len(trajectory.times) - 1))
    trajectory.values[key] += 1.5
    after = write(motion)
    assert len(changed_tokens(text, after, lambda each: parts(each, delimiter))) == 1
    for found, wanted in zip(read(after).trajectories, motion.trajectories, strict=True):
        assert found.times.tolist() == wanted.times.tolist()
        np.testing.assert_array_max_ulp(found.values, wanted.values, 1)  # not every value is some number of degrees


def nearly_same(one: Trajectory, other: Trajectory) -> bool:
    """Whether two trajectories have the same keys, but for what no number of degrees is."""
    return (
        one.name == other.name
        and len(one.times) == len(other.times)
        and np.allclose(one.times, other.times, rtol=1e-15, atol=0)
        and np.allclose(one.values, other.values, rtol=1e-15, atol=0)
        and one.holds()[:-1].tolist() == other.holds()[:-1].tolist()
    )


@given(documents(), motions)
def test_whatever_else_takes_a_documents_place_reads_back(document: tuple[str, str], content: list[Trajectory]) -> None:
    motion = read(document[0])
    content = [*content, *motion.trajectories[1:]]
    again = read(write(Motion("m", content, source=motion.source)))
    left = list(again.trajectories)
    for wanted in content:
        places = [place for place, each in enumerate(left) if nearly_same(each, wanted)]
        assert places, wanted
        del left[places[0]]
    assert not left


def test_edits_of_keys_touch_their_cells_only() -> None:
    motion = read(TEXT)
    hip, lift = motion.trajectories
    lift.times, lift.values = np.append(lift.times, 1.0), np.append(lift.values, 0.03)
    assert write(motion) == TEXT.replace("1,0.25,", "1,0.25,30")
    hip.times, hip.values = np.delete(hip.times, 1), np.delete(hip.values, 1)
    assert write(motion) == TEXT.replace("1,0.25,", "1,0.25,30").replace("-7e-1", "")
    lift.times, lift.values = lift.times[1:], lift.values[1:]
    gone = TEXT.replace("1,0.25,", "1,0.25,30").replace("0.50,-7e-1,20\n", "")
    assert write(motion) == gone  # a row without any value left goes
    hip.times, hip.values = np.insert(hip.times, 1, 0.75), np.insert(hip.values, 1, 9.0)
    assert write(motion) == gone.replace("0,.10,\n", "0,.10,\n0.75,9,\n")


def test_a_retimed_row_changes_its_time_only() -> None:
    motion = read(TEXT)
    for trajectory in motion.trajectories:
        trajectory.times[trajectory.times == 0.5] = 0.625
    assert write(motion) == TEXT.replace("0.50,", "0.625,")


def test_a_row_does_not_move_past_one_without_keys() -> None:
    text = "time,a,b\n0,1,\n1,,\n2,3,\n"
    motion = read(text)
    motion.trajectories[0].times[1] = 0.5
    motion.trajectories[0].held = None
    after = write(motion)
    assert after == "time,a,b\n0,1,\n0.5,3,\n1,,\n"
    motion.trajectories[0].times, motion.trajectories[0].values = np.empty(0), np.empty(0)
    with pytest.raises(FormatError, match="no keyframes"):
        write(motion)


def test_a_key_that_becomes_held_gets_a_row_of_its_own() -> None:
    motion = read(TEXT)
    motion.trajectories[0].held = np.array([False, True, False])
    text = write(motion)
    assert text == TEXT.replace("0.50,-7e-1,20\n", "0.50,-7e-1,20\n1,-0.7,\n")
    assert same_keys(read(text).trajectories[0], motion.trajectories[0])


def test_servos_are_renamed_removed_and_added() -> None:
    motion = read(TEXT)
    motion.trajectories[0].name = "Hip, left"
    assert write(motion) == TEXT.replace("Hip [rad]", '"Hip, left [rad]"')
    motion = read(TEXT)
    del motion.trajectories[0]
    motion.trajectories.append(keyed([0.5], [7], "Knee", unit="rad"))
    motion.trajectories.insert(0, keyed([2.0], [1], "Toe"))
    assert write(motion) == ("time [s],Lift [mm],Toe,Knee [rad]\n0.50,20,,7\n2,,1,\n# half way\n\n")


def test_degrees_and_decimal_commas_stay() -> None:
    text = "time [ms];a [deg]\r\n0;1,50\r\n40,0;-3\r\n"
    motion = read(text)
    motion.trajectories[0].values[1] = math.pi / 8
    assert write(motion) == text.replace("-3", "22,5")


def test_files_keep_their_encoding(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    for data in (TEXT.encode("utf-8-sig"), "time;Hüfte\n0;1\n".encode("utf-16"), b"time,H\xfcfte\n0,1\n"):
        path.write_bytes(data)
        formats.save_motion(formats.load_motion(path), path)
        assert path.read_bytes() == data


def test_a_name_that_the_encoding_lacks_changes_the_file_to_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_bytes(b"time,H\xfcfte\n0,1\n")
    motion = formats.load_motion(path)
    motion.trajectories[0].name = "足"
    report = formats.save_motion(motion, path)
    assert path.read_bytes() == "time,足\n0,1\n".encode()
    assert "encoding" in [entry.code for entry in report.entries]


@given(documents(), st.data())
def test_a_damaged_document_is_read_or_rejected(document: tuple[str, str], data: st.DataObject) -> None:
    text = mangled(data, document[0])
    is_refused_or_read(lambda: formats.loads_motions(text.encode("utf-8", "replace"), "walk.csv"))


@pytest.mark.parametrize("text", ["shoulder\n0\n1\n", "\nservo 1\r\n-0.5\r\n", '"a b"\n1e3\n'])
def test_a_table_of_one_column_is_rejected_for_its_missing_times(text: str) -> None:
    with pytest.raises(formats.FormatError, match="no time column"):
        formats.loads_motions(text.encode(), "a.csv")
