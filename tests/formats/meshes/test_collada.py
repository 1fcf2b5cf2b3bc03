"""Collada: geometry is read whatever else is wrong with a file, and what is left out is told."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from addon.core.report import Report
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.collada import Surface, read_collada
from addon.formats.meshes.locate import MeshError
from tests.support.mesh_samples import dae

SOUND = dae().decode()
MORE = '<source id="{0}"><float_array id="{0}a" count="6">{1}</float_array><technique_common>'
MORE += '<accessor source="#{0}a" count="2" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>'
MORE += '<param name="Z" type="float"/></accessor></technique_common></source><vertices id'
INPUT = '<input semantic="VERTEX" source="#points" offset="0"/>'
TEXTURED = """<profile_COMMON><newparam sid="f"><surface type="2D"><init_from>nowhere</init_from></surface></newparam>
<newparam sid="p"><sampler2D><source>f</source></sampler2D></newparam><technique sid="t"><lambert><diffuse>
<texture texture="p" texcoord="u"/></diffuse></lambert></technique></profile_COMMON>"""


def read(text: str, folder: Path) -> tuple[list[Surface], str]:
    """The surfaces of a text, and the report."""
    path, report = folder / "a.dae", Report()
    path.write_text(text)
    surfaces = read_collada(path, report=report)
    assert all(entry.severity == "warning" and "a.dae" in entry.message for entry in report.entries)
    return surfaces, str(report)


def widened(text: str, semantic: str, source: str) -> str:
    """The same with a second number behind each corner's, of an input that leads to a source."""
    text = text.replace(INPUT, f'{INPUT}<input semantic="{semantic}" source="#{source}" offset="1"/>')
    return re.sub("<p>(.*?)</p>", lambda match: "<p>" + re.sub(r"(\d+)", r"\1 0", match[1]) + "</p>", text)


LINES = f'<lines count="1" material="paint">{INPUT}<p>0 1</p></lines>'
STRIPS = f'<linestrips count="1">{INPUT}<p>0 1 2</p></linestrips><triangles'
#: A text, what is said of it, and whether its colour is lost.
BROKEN = {
    "lines": (SOUND.replace("<triangles", f"{LINES}<triangles"), "lines and points are left out", False),
    "line strips": (SOUND.replace("<triangles", STRIPS), "lines and points are left out", False),
    "no material": (SOUND.replace('target="#red"', 'target="#blue"'), "blue", True),
    "no effect": (SOUND.replace('url="#look"', 'url="#gone"'), "gone", True),
    "no image": (re.sub("<profile_COMMON>.*</profile_COMMON>", TEXTURED, SOUND, flags=re.S), "nowhere", True),
    "no surface": (
        re.sub("<profile_COMMON>.*</profile_COMMON>", TEXTURED.replace("<source>f", "<source>g"), SOUND, flags=re.S),
        "an element is ignored", True,
    ),
    "no texture coordinates": (widened(SOUND, "TEXCOORD", "gone"), "TEXCOORD refers to #gone", False),
    "no normals": (widened(SOUND, "NORMAL", "gone"), "NORMAL refers to #gone", False),
    "no normals of points": (
        SOUND.replace("</vertices>", '<input semantic="NORMAL" source="#gone"/></vertices>'), "normals are missing",
        False,
    ),
    "normals that are none": (
        widened(SOUND.replace("<vertices id", MORE.format("n", "NaN 0 1 0 0 1")), "NORMAL", "n"), "normals are missing",
        False,
    ),
    "texture coordinates that are none": (
        widened(SOUND.replace("<vertices id", MORE.format("n", "NaN 0 1 0 0 1")), "TEXCOORD", "n"), "", False
    ),
    "normals beyond the last": (
        re.sub("(<p>.*?)0</p>", r"\g<1>7</p>",
               widened(SOUND.replace("<vertices id", MORE.format("n", "0 0 1 0 0 1")), "NORMAL", "n")),
        "normals of a mesh", False,
    ),
    "a geometry that is not there": (
        SOUND.replace("<instance_geometry", '<instance_geometry url="#gone"/><instance_geometry'), "gone", False
    ),
    "polygons without points": (
        SOUND.replace("<triangles", '<triangles count="1"><input semantic="VERTEX" source="#gone" offset="0"/>'
                      "<p>0 1 2</p></triangles><triangles"), "no points", False,
    ),
    "a mesh of something else": (SOUND.replace("<triangles", "<spline/><triangles"), "<spline> is left out", False),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_geometry_is_read_and_what_is_broken_beside_it_is_reported(what: str, tmp_path: Path) -> None:
    text, told, colorless = BROKEN[what]
    ((sound,), said), ((found,), report) = read(SOUND, tmp_path), read(text, tmp_path)
    assert said == "" and told in report and bool(report) == bool(told)
    assert np.array_equal(found.points[found.corners], sound.points[sound.corners])
    assert np.array_equal(found.counts, sound.counts)
    assert found.color == (None if colorless else sound.color)
    assert mesh_box(tmp_path / "a.dae") == pytest.approx(np.ptp(sound.points, axis=0), rel=1e-6)


def test_a_file_of_nothing_but_lines_is_rejected_with_the_reason(tmp_path: Path) -> None:
    text = re.sub("<triangles.*</triangles>", LINES, SOUND)
    with pytest.raises(MeshError, match=r"contains no polygons: lines and points are left out"):
        read(text, tmp_path)


@pytest.mark.parametrize("word", ["NaN", "nan", "INF", "-INF", "inf"])
def test_points_that_are_no_numbers_are_rejected(word: str, tmp_path: Path) -> None:
    number = re.search(r"<float_array[^>]*>(\S+)", SOUND)
    assert number is not None
    text = SOUND.replace(number[0], number[0][: -len(number[1])] + word)
    with pytest.raises(MeshError, match="coordinates that are not finite"):
        read(text, tmp_path)


def test_a_skew_moves_points_along_its_second_axis(tmp_path: Path) -> None:
    """The example of the specification: by 45 degrees, y towards x."""
    (plain,), _ = read(SOUND, tmp_path)
    (skewed,), report = read(dae(node="<skew>45 0 1 0 1 0 0</skew>").decode(), tmp_path)
    assert skewed.points - plain.points == pytest.approx(np.outer(plain.points[:, 1], (1, 0, 0)), abs=1e-6)
    assert report == ""


@pytest.mark.parametrize("seed", range(5))
def test_a_skew_rotates_its_first_axis_by_its_angle(seed: int, tmp_path: Path) -> None:
    """And leaves the second, and what is across to both, where they are."""
    chance = np.random.default_rng(seed)
    turned, along = (axis / np.linalg.norm(axis) for axis in chance.normal(size=(2, 3)))
    apart = math.acos(turned @ along)
    angle = float(chance.uniform(-0.4 * (math.pi - apart), 0.4 * apart))
    node = f"<skew>{math.degrees(angle)} {' '.join(map(str, (*turned, *along)))}</skew>"
    ((plain,), _), ((skewed,), _) = read(SOUND, tmp_path), read(dae(node=node).decode(), tmp_path)
    matrix = np.linalg.lstsq(plain.points - plain.points[0], skewed.points - skewed.points[0], rcond=None)[0].T
    assert matrix @ along == pytest.approx(along, abs=1e-5)
    assert matrix @ np.cross(turned, along) == pytest.approx(np.cross(turned, along), abs=1e-5)
    image = matrix @ turned
    assert math.acos(image @ turned / np.linalg.norm(image)) == pytest.approx(abs(angle), abs=1e-4)
    assert math.acos(image @ along / np.linalg.norm(image)) == pytest.approx(
        math.acos(turned @ along) - angle, abs=1e-4
    )


def holed(loops: list[np.ndarray]) -> str:
    """A plain triangle and a polygon with holes."""
    points = np.concatenate([np.eye(3), *loops])
    starts = np.cumsum([3, *map(len, loops)])
    words = [" ".join(map(str, range(start, start + len(loop)))) for start, loop in zip(starts, loops, strict=False)]
    inside = "".join(f"<h>{each}</h>" for each in words[1:])
    numbers = " ".join(map(str, points.ravel().tolist()))
    text = re.sub(r'(<float_array id="a" count=")12(">).*?<', rf"\g<1>{points.size}\g<2>{numbers}<", SOUND)
    text = text.replace('count="4" stride', f'count="{len(points)}" stride')
    polygons = f'<polygons count="2" material="paint">{INPUT}<p>0 1 2</p><ph><p>{words[0]}</p>{inside}</ph></polygons>'
    return re.sub("<triangles.*</triangles>", polygons, text)


#: Inputs of polygons with a hole from which nobody knows the points of a corner, and what is said.
NO_INPUTS = {
    "none": ("", "have no points"),
    "no points": (INPUT.replace("VERTEX", "TEXCOORD"), "have no points"),
    "a word": (INPUT.replace('offset="0"', 'offset="x"'), "the offset x"),
    "below 0": (INPUT.replace('offset="0"', 'offset="-1"'), "the offset -1"),
    "a word beside points": (
        INPUT + INPUT.replace("VERTEX", "COLOR").replace('offset="0"', 'offset="1.5"'),
        "offset 1.5",
    ),
    "beyond all": (INPUT.replace('offset="0"', f'offset="{10**30}"'), "the offset 1000"),
    "of too many digits": (INPUT.replace('offset="0"', f'offset="{"1" * 5000}"'), "the offset 1111"),
}
#: What is between <ph> and its end where no surface is, of the points of a square and one on its edge; what is said.
NO_OUTLINE = {
    "none": ("<h>0 1 2</h>", "without an area"),
    "empty": ("<p/><h>0 1 2</h>", "without an area"),
    "two corners": ("<p>0 1</p><h>0 1 2</h>", "without an area"),
    "one point": ("<p>0 0 0</p><h>0 1 2</h>", "without an area"),
    "a line": ("<p>0 1 0 1</p><h>0 1 2</h>", "without an area"),
    "no number": ("<p>0 nan 2 3</p><h>0 1 2</h>", "not there"),
    "no end": ("<p>0 inf 2 3</p><h>0 1 2</h>", "not there"),
    "beyond integers": ("<p>0 1e30 2 3</p><h>0 1 2</h>", "not there"),
    "a word": ("<p>0 x 2 3</p><h>0 1 2</h>", "not there"),
    "a hole of no number": ("<p>0 1 2 3</p><h>0 nan 2</h>", "not there"),
    "a hole of a word": ("<p>0 1 2 3</p><h>0 x 2</h>", "not there"),
}


@pytest.mark.parametrize("what", NO_INPUTS)
@pytest.mark.parametrize("polygon", ["<ph><p>0 1 2 3</p><h>0 1 2</h></ph>", "<p>0 1 2 3</p>"])
def test_polygons_without_sound_inputs_are_left_out(what: str, polygon: str, tmp_path: Path) -> None:
    inputs, told = NO_INPUTS[what]
    (sound,), _ = read(SOUND, tmp_path)
    (found,), report = read(SOUND.replace("<triangles", f"<polygons>{inputs}{polygon}</polygons><triangles"), tmp_path)
    assert told in report and "left out" in report
    assert np.array_equal(found.points[found.corners], sound.points[sound.corners])


@pytest.mark.parametrize("what", NO_OUTLINE)
def test_a_hole_without_an_outline_is_no_surface(what: str, tmp_path: Path) -> None:
    inside, told = NO_OUTLINE[what]
    (sound,), _ = read(SOUND, tmp_path)
    piece = f"<polygons>{INPUT}<ph>{inside}</ph></polygons>"
    (found,), report = read(SOUND.replace("<triangles", f"{piece}<triangles"), tmp_path)
    assert told in report and "left out" in report
    assert np.array_equal(found.points[found.corners], sound.points[sound.corners])


def test_an_exception_in_a_repair_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("addon.formats.meshes.collada.repair_collada", fail)
    with pytest.raises(MeshError, match="cannot be read: by zero"):
        read(SOUND, tmp_path)


def area_of(loop: np.ndarray) -> float:
    """The area of a plane polygon."""
    return float(np.linalg.norm(np.cross(loop, np.roll(loop, -1, axis=0)).sum(axis=0))) / 2.0


@pytest.mark.parametrize("seed", range(20))
def test_a_polygon_with_holes_covers_its_area_and_no_more(seed: int, tmp_path: Path) -> None:
    """Holes in a star of random points, in any plane, either way round: no triangle of it covers another."""
    chance = np.random.default_rng(seed)
    around = np.sort(chance.uniform(0, 2 * np.pi, 14))
    outline = np.stack([np.cos(around), np.sin(around)], axis=1) * chance.uniform(2.5, 6.0, (14, 1))
    places = [(-0.9, 0.0), (0.9, 0.1), (0.1, 1.0), (0.0, -1.1)][: 1 + seed % 4]
    corner = np.linspace(0, 2 * np.pi, 7)[:-1]
    holes = [
        np.stack([np.cos(corner), np.sin(corner)], axis=1)[:: 1 if chance.random() < 0.5 else -1] * 0.3 + place
        for place in places
    ]
    turn, _ = np.linalg.qr(chance.normal(size=(3, 3)))
    loops = [np.pad(loop, ((0, 0), (0, 1))) @ turn.T + 3.0 for loop in (outline, *holes)]
    (surface,), report = read(holed(loops), tmp_path)
    assert "holes" in report
    assert surface.counts.tolist() == [3, 14 + sum(len(hole) + 2 for hole in holes)]
    whole = surface.points[surface.corners[3:]]
    expected = area_of(loops[0]) - sum(map(area_of, loops[1:]))
    assert area_of(whole - whole[0]) == pytest.approx(expected, rel=1e-5)
    flat = ((whole - 3.0) @ turn)[:, :2]
    ends = np.roll(flat, -1, axis=0)
    for place in chance.uniform(-4.0, 4.0, (200, 2)):
        inside, *out = (round(abs(winding(loop, place))) for loop in (outline, *holes))
        assert round(abs(winding(flat, place))) == inside - sum(out)
    for a, b in zip(flat, ends, strict=True):
        assert not (crossed(a, b, flat, ends) & crossed_by(a, b, flat, ends)).any()


def winding(loop: np.ndarray, point: np.ndarray) -> float:
    """How often a loop runs round a point."""
    angles = np.arctan2(*(loop - point).T[::-1])
    turns = np.diff(np.append(angles, angles[0]))
    return float(((turns + np.pi) % (2 * np.pi) - np.pi).sum()) / (2 * np.pi)


def crossed(a: np.ndarray, b: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which lines have their two ends on two sides of the line through a and b, by more than rounding."""
    sides = [np.cross(np.append(b - a, 0.0), np.pad(each - a, ((0, 0), (0, 1))))[:, 2] for each in (starts, ends)]
    return np.asarray((np.minimum(*sides) < -1e-5) & (np.maximum(*sides) > 1e-5))


def crossed_by(a: np.ndarray, b: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which lines have a and b on two sides."""
    return np.array([crossed(one, other, a[None], b[None])[0] for one, other in zip(starts, ends, strict=True)])
