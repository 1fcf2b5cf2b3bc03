"""Hostile and odd input: none of it hangs, fills the memory, leads outside or comes back as other bytes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from addon import formats
from addon.core.naming import UniqueNamer
from addon.core.report import MAX_ENTRIES_PER_CODE, FormatError, Report
from addon.core.summary import describe_mechanism
from addon.core.validation import validate
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.locate import MeshError, find_mesh
from addon.formats.text.csv_table import MAX_COLUMNS
from addon.formats.text.file_io import MAX_FILE_SIZE, read_bytes
from benchmarks.mechanisms import written
from tests.fuzz import properties
from tests.fuzz.grown import GROWN
from tests.support import mesh_samples
from tests.support.hostile_helpers import FIELDS, juice

FOUND = sorted((Path(__file__).parent / "hostile").iterdir())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_files_found_by_fuzzing_stay_readable(path: Path) -> None:
    """Written by hand, each as small as shows what was wrong. The part of the name before the first dot is the reader
    whose promises it broke."""
    reader = path.name.partition(".")[0]
    assert properties.PROPERTIES[reader](path.read_bytes()), "it is read, not refused"


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """What is called inside, and how many times: of Python and of C. Unlike its time it is the same on every day."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event in ("call", "c_call"):
            calls[frame.f_code.co_qualname if event == "call" else function.__qualname__] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


# ------------------------------------------------------------ encodings


def named(name: bytes, declared: str = "") -> bytes:
    head = f'<?xml version="1.0" encoding="{declared}"?>\n'.encode() if declared else b""
    return head + juice("<Body><ID>1</ID><Name>@</Name></Body>").encode().replace(b"@", name)


@pytest.mark.parametrize("codec", ["cp1250", "cp1251", "cp1252", "cp1253", "cp932", "gbk", "big5", "euc-kr", "koi8-r"])
def test_a_declared_code_page_is_read_right_and_comes_back(codec: str) -> None:
    latin = {"cp1250": "Čłověk", "cp1252": "Füße €", "cp1253": "Πόδι"}
    name = {**latin, "cp932": "左足ソ表", "gbk": "左腿", "big5": "左腿功", "euc-kr": "다리"}.get(codec, "Нога")
    data = named(name.encode(codec), codec)
    mechanism = properties.read(data)
    assert mechanism is not None
    assert mechanism.bodies[0].name == name


@pytest.mark.parametrize("codec", ["cp1250", "cp1251", "cp932", "gbk"])
def test_an_undeclared_code_page_is_taken_for_1252_and_comes_back(codec: str) -> None:
    name = {"cp1251": "Нога", "cp1250": "Čłověk"}.get(codec, "左足表")
    mechanism = properties.read(named(name.encode(codec)))
    assert mechanism is not None
    assert "decoded-8-bit" in [entry.code for entry in mechanism.report.entries]


@pytest.mark.parametrize(
    "codec",
    ["UTF-8", "ascii", "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "hz",
     "iso2022_jp", "rot13", "zip", "hex", "utf-16", "cp037", "cp65001", "mbcs", "x" * 1000],
)  # fmt: skip
@pytest.mark.parametrize("name", [b"F\xfc\xdfe", b"+ADw-", b"\\u003cx", b"\x87\x9c", b"~{<:Ky~}", b"a." + b"b" * 70])
def test_a_declaration_that_is_not_true_changes_no_byte(codec: str, name: bytes) -> None:
    """Codecs that are no encodings, that know escapes, or in which the bytes cannot be."""
    properties.read(named(name, codec))


def test_a_false_declaration_is_kept_with_the_bytes_by_save(tmp_path: Path) -> None:
    data = named("Füße".encode("cp1252"), "UTF-8")
    source, target = tmp_path / "a.jm", tmp_path / "b.jm"
    source.write_bytes(data)
    mechanism = formats.load(source)
    assert mechanism.bodies[0].name == "Füße"
    formats.save(mechanism, target)
    assert target.read_bytes() == data
    mechanism.bodies[0].mass = 7.0
    formats.save(mechanism, target)
    again = formats.load(target)
    assert (again.bodies[0].name, again.bodies[0].mass) == ("Füße", 7.0)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_wide_text_without_a_mark_is_rejected_in_words(codec: str) -> None:
    with pytest.raises(FormatError, match="binary file"):
        formats.loads(juice("<Body><ID>1</ID></Body>").encode(codec), "a.jm")
    marked = ("\ufeff" + juice("<Body><ID>1</ID></Body>")).encode(codec)
    assert properties.read(marked) is not None


# ------------------------------------------------------------ XML and JSON


BOMBS = {
    "laughs": "<!DOCTYPE Model [<!ENTITY a 'lol'>" + "".join(
        f"<!ENTITY a{i} '{'&a;' if not i else f'&a{i - 1};' * 10}'>" for i in range(10)) + "]>",
    "quadratic": f"<!DOCTYPE Model [<!ENTITY a9 '{'x' * 100_000}'>]>",
    "external": "<!DOCTYPE Model [<!ENTITY a9 SYSTEM 'file:///etc/hostname'>]>",
    "parameter": "<!DOCTYPE Model [<!ENTITY % p SYSTEM 'http://127.0.0.1:9/x'> %p;]>",
    "attributes": "<!DOCTYPE Model [<!ATTLIST Model a CDATA 'x'>]>",
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("root", ["Model", "skel", "x_xy", "Motions"])
def test_definitions_are_rejected_by_every_reader_of_xml(bomb: str, root: str, tmp_path: Path) -> None:
    data = f"{bomb.replace('Model', root)}<{root}>{'&a9;' * 100}</{root}>".encode()
    for read in (formats.loads, formats.loads_motions):
        with pytest.raises(FormatError, match="entities, which are not supported"):
            read(data, "a.xml")
    (tmp_path / "a.dae").write_bytes(data)
    with pytest.raises(MeshError):
        mesh_box(tmp_path / "a.dae")


def test_xinclude_elements_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.xml").write_text("<Body><ID>7</ID></Body>")
    link = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{(tmp_path / "secret.xml").as_uri()}"/>'
    mechanism = formats.loads(juice("<Body><ID>1</ID></Body>" + link).encode())
    assert [body.id for body in mechanism.bodies] == ["1"]


@pytest.mark.parametrize("opener", ["[", '{"a":'])
def test_json_nested_without_end(opener: str) -> None:
    """It goes down no further than it has to, to know."""
    with counted() as calls, pytest.raises(FormatError, match="nested deeper"):
        formats.loads((opener * 100_000).encode(), "a.json")
    assert calls.total() < 5_000


# ------------------------------------------------------------ numbers and ids

WILD = ["nan", "inf", "-inf", "1e999", "-1e308", "1e308", "1e200", "5e-324", "-0", "9" * 400, "0" * 5000 + "1"]


@pytest.mark.parametrize("reader", FIELDS)
def test_each_number_may_be_any(reader: str) -> None:
    """Read or refused; what is read is finite, is JSON, can be written in every format, and comes back."""
    pieces = FIELDS[reader].split("@")
    refused = 0
    for place in range(1, len(pieces)):
        for wild in WILD:
            text = "".join(("1" if at != place else wild) + piece if at else piece for at, piece in enumerate(pieces))
            refused += properties.PROPERTIES[reader](text.encode()) is None
    assert refused >= 4 * (len(pieces) - 1) * (reader != "skel"), "what is no number or none that is finite"


@pytest.mark.parametrize("number", ["9223372036854775808", "1" + "0" * 60, "-1", "-9223372036854775809", "1.5", "٣"])
def test_ids_of_any_size_are_read(number: str) -> None:
    joint = f"<RevoluteJoint><ID>{number}</ID><Body1>{number}</Body1><Body2>2</Body2></RevoluteJoint>"
    properties.model(juice(f"<Body><ID>{number}</ID></Body><Body><ID>2</ID></Body>", joint).encode())


# ------------------------------------------------------------ what we wrote ourselves, and somebody changed

LIES = [
    '{"body":{"mass":"heavy"}}', '{"body":{"twin":5}}', '{"body":{"extra":5}}', '{"body":{"pose":[[1]]}}',
    '{"body":{"extra":{"pos_min":"abc"}}}', '{"body":{"mass":NaN}}', '{"dofs":[{"lower":NaN}]}', '{"dofs":5}',
    '{"joint":{"parent":7}}', '{"joint":{"extra":{"numbers":{"damping":["x"]}}}}', '{"shapes":[{"geom":"x"}]}',
    '{"shapes":[{"type":"box","size":{"x":"1"}}]}', '{"shapes":[{"geom":0,"color":[1,1,1]}]}', '{"mass_geoms":[[1]]}',
    '{"mass_geoms":5}', '{"id":5}', '{"id":[]}', '{"frame":5}', '{"joint_frame":5}', "5",
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_note_of_wrong_kinds_is_left_out_and_kept(lie: str) -> None:
    """Of our own comments in x_xy nothing was taken for granted but the kinds of their values."""
    body = '<body name="a" joint="rx"><!--knuckle @--><geom type="box" mass="1" dim="1 1 1"/></body>'
    data = f'<x_xy model="m"><worldbody>{body}</worldbody></x_xy>'.replace("@", lie).encode()
    mechanism = properties.model(data)
    assert mechanism is not None
    assert [(each.id, each.mass) for each in mechanism.bodies] == [("a", 1.0)]
    assert lie == "5" or "bad-note" in [entry.code for entry in mechanism.report.entries]


_FRAMES = "[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"
OTHER_KINDS = [
    '"body":{"extra":{"TubeLength":""}}', '"body":{"extra":{"Shape":1%s}}' % ("0" * 400),
    '"body":{"extra":{"derived_moment":[null]}}', '"body":{"extra":{"derived_moment":[[1]]}}',
    '"body":{"extra":{"pos_min":null}}', '"joint":{"extra":{"stiffness":{"a":1}}}', '"dofs":[[]]',
    '"dofs":[{"extra":{"force/@lower":""}}]', '"dofs":[{"extra":{"force/@upper":1%s}}]' % ("0" * 400),
    '"dofs":[{"extra":{"chosen":{"x":[1,2]}}}]', '"dofs":[{"kind":"ball","start":[1]}]',
    '"shapes":[{"geom":0,"type":"sphere"}]', '"shapes":[{"geom":0,"size":{}}]',
    '"shapes":[{"geom":0,"soft":true,"extra":{"soft":[]}}]',
    '"shapes":[{"geom":0,"soft":true,"extra":{"soft":{"total_mass":"","geometry/box/frags":[null]}}}]',
    '"shapes":[{"geom":0,"type":"mesh","mesh":"a.obj","size":{},"extra":{"files":[null],"include":[2]}}]',
    f'"frame":{{"body":"a","pose":{_FRAMES},"extra":{{"pos_marker":null}}}}',
]  # fmt: skip


@pytest.mark.parametrize("other", OTHER_KINDS)
def test_what_a_note_has_besides_may_be_of_any_kind(other: str) -> None:
    """Nothing that reads, edits or writes it in another format takes more for granted."""
    body = '<body name="a" joint="rx"><!--knuckle {@}--><geom type="box" mass="1" dim="1 1 1"/></body>'
    data = f'<x_xy model="m"><worldbody>{body}</worldbody></x_xy>'.replace("@", other).encode()
    assert properties.model(data) is not None


def test_letters_that_only_escapes_can_write_are_reported_and_kept() -> None:
    """Nuls and halves of letters, of which Blender would make other names, or none."""
    name = r"a\u0000b\ud800\ud83e\udd80"
    bodies = f'[{{"name":"{name}"}}]'
    joint = f'{{"name":"j","type":"Rx","body_frame_pairs":[["fixed","origin"],["{name}","origin"]]}}'
    data = f'{{"fixed":{{}},"assemblies":[{{"name":"m","bodies":{bodies},"joints":[{joint}]}}]}}'.encode()
    mechanism = properties.model(data)
    assert mechanism is not None
    assert [body.name for body in mechanism.bodies] == ["a\ufffdb\ufffd\U0001f980"]
    assert mechanism.joints[0].child == mechanism.bodies[0].id
    assert [entry.code for entry in mechanism.report.entries].count("letters-replaced") == 2


# ------------------------------------------------------------ mechanisms that bite their tails


def skel(bodies: str, joints: str) -> bytes:
    return f'<skel version="1.0"><world name="w"><skeleton name="s">{bodies}{joints}</skeleton></world></skel>'.encode()


def body(name: str) -> str:
    return f'<body name="{name}"><inertia><mass>1</mass></inertia></body>'


def joint(name: str, parent: str, child: str) -> str:
    return f'<joint type="revolute" name="{name}"><parent>{parent}</parent><child>{child}</child></joint>'


CIRCLES = {
    "itself": skel(body("a"), joint("j", "a", "a")),
    "each other": skel(body("a") + body("b"), joint("j", "a", "b") + joint("k", "b", "a")),
    "one name": skel(body("a") * 100, joint("j", "world", "a") * 100),
    "juice itself": juice(
        "<Body><ID>1</ID></Body>",
        "<RevoluteJoint><ID>2</ID><Body1>1</Body1><Body2>1</Body2></RevoluteJoint>",
    ).encode(),
}


@pytest.mark.parametrize("data", CIRCLES.values(), ids=CIRCLES)
def test_cyclic_references_are_read_and_reported(data: bytes) -> None:
    mechanism = properties.model(data)
    assert mechanism is not None
    assert mechanism.report.count("warning") or validate(mechanism)


def star(count: int) -> bytes:
    """So many joints on one body."""
    bodies = "".join(f"<Body><ID>{i}</ID></Body>" for i in range(1, count + 2))
    joints = "".join(
        f"<RevoluteJoint><ID>{i}</ID><Body1>1</Body1><Body2>{i + 1}</Body2></RevoluteJoint>"
        for i in range(1, count + 1)
    )
    return juice(bodies, joints).encode()


def test_thousands_of_joints_on_one_body() -> None:
    count = 2_500
    mechanism = formats.loads(star(count))
    assert (len(mechanism.bodies), len(mechanism.joints)) == (count + 1, count)
    assert not describe_mechanism(mechanism)["joints"][count - 1]["loop"]


def test_joints_on_one_body_do_not_look_at_each_other() -> None:
    with counted() as few:
        describe_mechanism(formats.loads(star(50)))
    with counted() as many:
        describe_mechanism(formats.loads(star(500)))
    assert many.total() < 11 * few.total()


# ------------------------------------------------------------ files that are none


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_devices_are_rejected_at_once(tmp_path: Path) -> None:
    """In a process of its own: reading from a pipe nobody writes to waits for ever."""
    os.mkfifo(tmp_path / "pipe.obj")
    paths = [str(tmp_path / "pipe.obj"), "/dev/zero"]
    code = (
        "from addon.formats.text.file_io import FormatError, read_bytes\n"
        f"for path in {paths!r}:\n    try:\n        read_bytes(path)\n    except FormatError as error:\n"
        "        print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    what = "this is a pipe or a device, not a file. Save its content to a file first."
    assert done.stdout.splitlines() == [f"{path}: {what}" for path in paths]
    with pytest.raises(MeshError, match="not found"):
        find_mesh("pipe.obj", tmp_path / "model.skel")
    with pytest.raises(MeshError):
        mesh_box(tmp_path / "pipe.obj")


ENDINGS = [".jm", ".skel", ".json", ".xmdi", ".motion", ".csv", ".obj", ".ply", ".stl", ".dae"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_above_the_size_limit_is_rejected_at_once(tmp_path: Path, ending: str) -> None:
    """It has no more than a length on the disk, and nothing of it is read."""
    path = tmp_path / f"large{ending}"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_SIZE + 1)
    tracemalloc.start()
    try:
        for read in (formats.load, formats.load_motions, mesh_box):
            with pytest.raises(FormatError, match=r"larger than 256 MB. Split it"):
                read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6


@pytest.mark.skipif(os.name == "nt", reason="links want rights there")
def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.obj").symlink_to(tmp_path / "b.obj")
    (tmp_path / "b.obj").symlink_to(tmp_path / "a.obj")
    (tmp_path / "round").symlink_to(tmp_path)
    with pytest.raises(FormatError):
        find_mesh("a.obj", tmp_path / "model.skel")
    with pytest.raises(FormatError):
        find_mesh("round/" * 200 + "x.obj", tmp_path / "model.skel")
    with pytest.raises(FormatError, match="cannot be read"):
        read_bytes(tmp_path / "a.obj")


MESHES: dict[str, Callable[[], bytes]] = {
    "far.obj": lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 1000000000\n",
    "negative.obj": lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -99999999999999999999\n",
    "none.obj": lambda: b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 /2 /3\n",
    "many.stl": lambda: b"x" * 80 + b"\xff\xff\xff\xff" + b"\0" * 50,
    "huge.ply": lambda: (
        b"ply\nformat ascii 1.0\nelement vertex 1000000000000\nproperty float x\nproperty float y\n"
        b"property float z\nend_header\n0 0 0\n"
    ),
    "list.ply": lambda: (
        b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        b"property float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n"
        + b"\0" * 12
        + b"\xff" * 4
    ),
    "colon.dae": lambda: b'<http: xmlns="http/a"></http:>',  # a name that the parser takes and lxml's QName does not
    "deep.dae": lambda: b"<COLLADA>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</COLLADA>",
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_that_promise_more_than_they_hold(name: str, tmp_path: Path) -> None:
    path, sound = tmp_path / name, f"sound{Path(name).suffix}"
    path.write_bytes(MESHES[name]())
    (tmp_path / sound).write_bytes(mesh_samples.SAMPLES[f"a{path.suffix}"])
    mesh_box(tmp_path / sound)  # what is loaded but once
    tracemalloc.start()
    try:
        with counted() as calls:
            mesh_box(path)
    except MeshError as trouble:
        assert str(path) in str(trouble)  # noqa: PT017 - some are read in part, as other programs do
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 50e6
    assert calls.total() < 500_000


@pytest.mark.parametrize("number", ["1e39", "-1e308"])
def test_a_mesh_outside_single_precision_has_no_box(number: str, tmp_path: Path) -> None:
    """Its edges were infinity minus infinity."""
    (tmp_path / "far.obj").write_text(f"v {number} 0 0\nv {number} 1 0\nv {number} 0 1\nf 1 2 3\n")
    with pytest.raises(MeshError, match="single precision|no mesh"):
        mesh_box(tmp_path / "far.obj")


def test_a_zipped_collada_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zae", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.dae", b"\0" * 10_000_000)
    with pytest.raises(MeshError, match="is not supported"):
        mesh_box(tmp_path / "bomb.zae")
    (tmp_path / "bomb.dae").write_bytes((tmp_path / "bomb.zae").read_bytes())
    with pytest.raises(MeshError):
        mesh_box(tmp_path / "bomb.dae")


@pytest.mark.parametrize("reader", ["juice", "skel", "x_xy", "shift"])
def test_more_elements_than_any_model_has_are_rejected(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take a hundred times the room that it takes in the file."""
    monkeypatch.setattr("addon.formats.text.file_io.MAX_ELEMENTS", 30)
    monkeypatch.setattr("addon.formats.text.file_io.MAX_VALUES", 30)
    formats.loads(GROWN[reader]["bodies"](250), "few")
    with pytest.raises(FormatError, match="at most 30 are supported") as refused:
        formats.loads(GROWN[reader]["bodies"](2000), "many")
    assert refused.value.path == "many" and "Split" in refused.value.remedy


@pytest.mark.parametrize(("reader", "shape"), [("skel", "bodies"), ("x_xy", "bodies"), ("x_xy", "shapes")])
def test_more_bodies_and_shapes_than_any_model_has_are_rejected(
    reader: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that say nothing else are elements of the most room."""
    monkeypatch.setattr("addon.formats.text.file_io.MAX_RECORDS", 30)
    formats.loads(GROWN[reader][shape](250), "few")
    with pytest.raises(FormatError, match="bodies and shapes; at most 30 are supported"):
        formats.loads(GROWN[reader][shape](3000), "many")


def test_equal_names_are_numbered_in_few_tries() -> None:
    """One by one from the start, the last of ten thousand equal names took ten thousand."""
    tries: list[int] = []

    def numbered(name: str, number: int) -> str:
        tries.append(number)
        return f"{name} {number}"

    unique = UniqueNamer(numbered, 2, taken=["a 3"])
    found = [unique("a") for _ in range(10_000)]
    assert found[:4] == ["a", "a 2", "a 4", "a 5"] and found[-1] == "a 10001"
    assert len(set(found)) == 10_000 and len(tries) < 30_000
    assert unique.free("b") == "b" and unique("b") == "b" and unique("b") == "b 2"


#: What took the square of the time, or many times the memory, of its size.
DEAR = [
    ("skel", "skeletons"), ("shift", "one name"), ("x_xy", "one name"), ("csv", "one name"),
    ("csv", "two at once"), ("csv", "no headings"),
    ("xmdi", "one name"), ("xmdi", "empty lines"), ("webots", "short frames"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "shape"), DEAR)
def test_ten_times_the_file_takes_no_squared_time(reader: str, shape: str) -> None:
    small, large = (GROWN[reader][shape](size) for size in (4_000, 40_000))
    with counted() as few:
        read_either(reader, small)
    with counted() as many:
        read_either(reader, large)
    assert many.total() < 11 * few.total()


@pytest.mark.parametrize(
    ("reader", "shape"),
    [("csv", "rows"), ("csv", "short rows"), ("webots", "short frames"), ("webots", "frames"), ("xmdi", "keys")],
)
def test_a_long_motion_takes_little_memory(reader: str, shape: str) -> None:
    """Objects for every line or word took a hundred times the file."""
    data = GROWN[reader][shape](60_000)
    tracemalloc.start()
    try:
        read_either(reader, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(data) + 1e6, peak / len(data)  # what the words take that are read at once


#: How many times its size a file takes at most while it is read, without what the parser of XML takes, of which Python
#: knows nothing (17 to 22 times): of nothing but bodies that say nothing, and with joints.
MEMORY = {
    ("juice", "bodies"): 55, ("juice", "chain"): 42, ("skel", "bodies"): 88, ("skel", "chain"): 32,
    ("x_xy", "bodies"): 75, ("shift", "bodies"): 125, ("shift", "chain"): 74,
}  # fmt: skip


@pytest.mark.parametrize(("reader", "shape"), MEMORY)
def test_bodies_that_say_nothing_take_little_memory(reader: str, shape: str) -> None:
    """Each took more than three thousand bytes: a dictionary for every record, arrays that all were alike, and every
    element kept beside its value."""
    formats.loads(GROWN[reader][shape](1_000), "few")  # what is loaded but once
    data = GROWN[reader][shape](60_000)
    peak = peak_of_reading(data)
    assert peak < MEMORY[reader, shape] * len(data), peak / len(data)


def test_an_ordinary_file_takes_no_twenty_times_its_size(tmp_path: Path) -> None:
    """The parser of XML takes 1 to 5 times beside that."""
    for reader, path in written(tmp_path, 40).items():
        data = path.read_bytes()
        formats.loads(data, "first")
        peak = peak_of_reading(data)
        assert peak < 15 * len(data), (reader, peak / len(data))


def peak_of_reading(data: bytes) -> int:
    """The most bytes that Python holds at once while a model is read; lxml's own are not among them."""
    tracemalloc.start()
    try:
        formats.loads(data, "model")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_either(reader: str, data: bytes) -> None:
    """Read a model or a motion, or have it refused."""
    with contextlib.suppress(FormatError):
        (formats.loads_motions if reader in formats.MOTION_FORMATS else formats.loads)(data, "a")


def test_a_table_of_too_many_columns_is_rejected_in_words() -> None:
    width = MAX_COLUMNS + 1
    data = f"time{',a' * (width - 1)}\n0{',0' * (width - 1)}\n".encode()
    with pytest.raises(FormatError, match=f"{width} columns; at most {MAX_COLUMNS} are supported"):
        formats.loads_motions(data, "a.csv")


def test_of_a_million_entries_a_thousand_are_listed() -> None:
    report = Report()
    for number in range(MAX_ENTRIES_PER_CODE + 500):
        report.warn("odd", f"number {number}")
        report.info("odd", f"number {number}")
    assert [entry.message for entry in report.entries if entry.severity == "warning"] == [
        *(f"number {number}" for number in range(MAX_ENTRIES_PER_CODE)), "500 more of this kind (odd) are not listed",
    ]  # fmt: skip
    assert report.count("info") == MAX_ENTRIES_PER_CODE + 1
    del report.entries[:10]
    report.warn("odd", "one more")
    assert report.entries[-1].message == "501 more of this kind (odd) are not listed"


def test_where_lines_are_not_counted_any_more_some_are_searched() -> None:
    """libxml2 stops at line 65535; each place behind that took a walk over the whole file."""
    lines = "<a/>\n" * 66_000
    data = f'<xmdi><motions><motion name="m">\n{lines}<servo name="s"><b/></servo></motion></motions></xmdi>'.encode()
    with counted() as calls, pytest.raises(FormatError, match="no <position>") as caught:
        formats.loads_motions(data, "a.xmdi")
    assert caught.value.line == 66_002
    assert calls.total() < 20 * 66_000
