"""What documents were read to is kept while there is room, and documents of models are not changed by what is done with
them."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from addon import formats
from addon.core.model import Body, Mechanism
from addon.core.record_utils import FrozenDict, records_equal
from addon.formats.document import cache as documents
from addon.formats.document import cache as recent_force
from addon.formats.document.cache import ContentLRU


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    recent_force.clear_content_caches()
    yield
    recent_force.clear_content_caches()


def _samples() -> list[Path]:
    kept = Path("sample_models")
    return sorted(path for path in kept.rglob("*") if path.suffix in {".jm", ".skel", ".json", ".xml"})


def _models(paths: list[Path]) -> Iterator[tuple[str, bytes, Mechanism]]:
    for path in paths:
        data = path.read_bytes()
        try:
            yield str(path), data, formats.loads(data, str(path))
        except formats.FormatError:
            continue


def _moved(mechanism: Mechanism) -> Mechanism:
    """Every body moved, weighed and named anew, every stop wider: in place, as the callers do it."""
    for number, body in enumerate(mechanism.bodies):
        body.mass *= 1.25
        body.pose = body.pose.copy()
        body.pose[0, 3] += 0.25
        body.name += f" {number}"
    for joint in mechanism.joints:
        for dof in joint.dofs:
            dof.upper = None if dof.upper is None else dof.upper + 0.25
    return mechanism


def _thinned(mechanism: Mechanism) -> Mechanism:
    """The last joint gone, and a body that is alone added."""
    del mechanism.joints[-1:]
    mechanism.bodies.append(Body("new", "New", mass=2.0))
    return mechanism


def _as_it_was(mechanism: Mechanism) -> Mechanism:
    return mechanism


_EDITS = (_moved, _as_it_was, _thinned, _moved)


def _text(mechanism: Mechanism) -> tuple[str, list[str]]:
    try:
        text, report = formats.dumps(mechanism)
    except formats.FormatError as error:
        return str(error), []
    return text, [str(entry) for entry in report.entries]


def _check(paths: list[Path]) -> int:
    """Edits, one after the other, each as of a document that nobody had before."""
    tried = 0
    for name, data, read in _models(paths):
        expected = {edit: _text(edit(formats.loads(data, name))) for edit in _EDITS[:3]}
        for edit in _EDITS:
            assert _text(edit(formats.loads_cached(data, name))) == expected[edit], (name, edit)
        again, twin = formats.loads_cached(data, name), formats.loads(data, name)
        assert records_equal(again, read) or not records_equal(twin, read), (
            name
        )  # numbers that are none are never the same
        tried += 1
    return tried


def test_exports_and_edits_of_a_kept_document_are_those_of_one_read_again() -> None:
    assert _check(_samples()) >= 6


def test_the_same_with_every_file_of_the_corpus(corpus: Path) -> None:
    kinds = {".jm", ".jm3", ".jpm", ".skel", ".json", ".xml"}
    paths = sorted(path for path in corpus.rglob("*") if path.suffix in kinds and path.stat().st_size < 20_000)
    assert _check(paths) > 100


def test_a_document_is_parsed_once_for_an_edit_and_its_export(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(real: Any, text: str, path: str = "", *more: Any) -> Any:
        read.append(path)
        return real(text, path, *more)

    for name in formats.FORMATS:
        module = importlib.import_module(f"addon.formats.{name}")
        monkeypatch.setattr(module, "read", partial(counted, module.read))
    for name, data, _ in _models(_samples()):
        read.clear()
        for edit in _EDITS:
            formats.dumps(edit(formats.loads_cached(data, name)))
        assert len(read) == 1, name


def test_who_changed_the_text_writes_into_that_text() -> None:
    path = Path("sample_models/rover/rover.jm")
    kept = formats.loads_cached(path.read_bytes(), str(path))
    kept.source.text = kept.source.text.replace("</Model>", "<!-- mine --></Model>")
    kept.bodies[0].mass *= 2.0
    assert "<!-- mine -->" in formats.dumps(kept)[0]
    again = formats.loads_cached(path.read_bytes(), str(path))
    again.bodies[0].mass *= 2.0
    assert "<!-- mine -->" not in formats.dumps(again)[0]


def test_a_name_takes_the_encoding_that_its_mechanism_has(tmp_path: Path) -> None:
    """One text in two encodings is two documents, and a letter that one of them lacks is spelled in it."""
    text = Path("sample_models/pumpjack/pumpjack.json").read_text(encoding="utf-8")
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / "same.json"
        path.write_bytes(text.encode(encoding))
        for load in (formats.loads, formats.loads_cached, formats.loads_cached):
            mechanism = load(path.read_bytes(), str(path))
            mechanism.bodies[0].name = "Übertragung"
            formats.save(mechanism, path.with_name("out.json"))
            back = formats.load(path.with_name("out.json"))
            assert back.bodies[0].name == "Übertragung"
            assert (back.source.encoding == "utf-8") == (encoding == "utf-8")


def test_a_document_that_is_too_large_is_read_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("sample_models/rover/rover.jm")
    monkeypatch.setattr(documents._document_cache, "most", 100)
    monkeypatch.setattr(pickle, "dumps", None)
    one, other = (_moved(formats.loads_cached(path.read_bytes(), str(path))) for _ in range(2))
    assert _text(one) == _text(other) == _text(_moved(formats.load(path)))


def test_an_export_does_not_need_its_document_to_be_kept_still() -> None:
    path = Path("sample_models/rover/rover.jm")
    mine = _moved(formats.loads_cached(path.read_bytes(), str(path)))
    recent_force.clear_content_caches()
    assert _text(mine) == _text(_moved(formats.load(path)))


def test_what_records_share_is_shared_and_safe_in_a_copy() -> None:
    path = Path("sample_models/humanoid/humanoid.skel")
    copy = formats.loads_cached(path.read_bytes(), str(path))
    shared = [body.extra for body in copy.bodies if isinstance(body.extra, FrozenDict)]
    assert len(shared) > 1 and shared[0] is shared[1]
    with pytest.raises(TypeError, match="shared by many"):
        shared[0]["immobile"] = 1


def test_no_more_is_kept_than_there_is_room_for() -> None:
    kept: ContentLRU[int] = ContentLRU(10)
    for number, data in enumerate((b"first", b"next", b"last one")):
        kept.keep(data, "a.csv", number)
    assert kept.get(b"first", "a.csv") is None
    assert kept.get(b"last one", "a.csv") == 2
    assert kept.get(b"last one", "b.csv") is None
    kept.keep(b"more than there is room for", "a.csv", 3)
    assert kept.get(b"more than there is room for", "a.csv") is None
    assert kept.get(b"last one", "a.csv") == 2
