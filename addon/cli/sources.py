"""Which files are meant by names, patterns and folders, and what is made of them is called."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import formats
from ..core.report import FormatError


def model_endings() -> frozenset[str]:
    """The endings of models, by which they are found in folders."""
    return frozenset(ending for row in formats.FORMATS.values() for ending in row.extensions)


def all_endings() -> frozenset[str]:
    """Those of models and motions."""
    return model_endings().union(*(row.extensions for row in formats.MOTION_FORMATS.values()))


@dataclass(frozen=True)
class Input:
    """A file that is meant; ``below`` is its folder as counted from the folder that was named, where one was, and
    ``named`` whether the file was meant itself, not the folder."""

    path: Path
    below: Path = Path()
    named: bool = True


def expand(words: Iterable[Path], endings: Iterable[str] | None = None, without: Path | None = None) -> list[Input]:
    """The files that are meant, each once and in order: names, patterns such as ``models/**/*.skel`` where the shell
    has left them, and folders, of which all files of such endings are taken, in the folders below too.

    ``without``: a folder that is passed over, as what is made must not be taken in again. FormatError where a pattern
    or a folder holds nothing."""
    found: dict[str, Input] = {}
    for word in words:
        for each in _meant(word, all_endings() if endings is None else frozenset(endings), without):
            found.setdefault(os.path.realpath(each.path), each)
    return list(found.values())


def _meant(word: Path, endings: frozenset[str], without: Path | None) -> list[Input]:
    if word.is_dir():
        return _in_folder(word, endings, without)
    if word.exists() or not glob.has_magic(str(word)):
        return [Input(word)]
    matches = [Path(match) for match in sorted(glob.glob(str(word), recursive=True))]
    files = [Input(match) for match in matches if match.is_file()]
    if not files:
        raise FormatError("no file is called so", path=str(word), remedy="Check the pattern.")
    return files


def _in_folder(folder: Path, endings: frozenset[str], without: Path | None) -> list[Input]:
    passed = None if without is None else os.path.realpath(without)
    out = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(place, name)) != passed
        )  # fmt: skip
        paths = (Path(place, name) for name in sorted(names) if not name.startswith("."))
        out += [Input(path, Path(place).relative_to(folder), False) for path in paths if path.suffix.lower() in endings]
    if not out:
        raise FormatError("there is nothing in this folder that could be read", path=str(folder))
    return out


def outputs(inputs: Sequence[Input], endings: Sequence[str], folder: Path) -> list[Path]:
    """Return what is made of each input, by its ending, in ``folder``: named like the input, in the same folders below.

    Inputs that would go onto one file keep their own ending in its name (``walker.jm.json``, ``walker.skel.json``),
    and where that does not tell them apart, those that come later are numbered. Letters' case tells nothing apart, as
    on many disks. FormatError where an input would be written over."""
    plain = [folder / each.below / f"{each.path.stem}{ending}" for each, ending in zip(inputs, endings, strict=True)]
    often = Counter(map(_key, plain))
    whole = [
        path if often[_key(path)] == 1 else path.with_name(f"{each.path.name}{ending}")
        for path, each, ending in zip(plain, inputs, endings, strict=True)
    ]
    taken: set[str] = set()
    out = []
    for path, ending in zip(whole, endings, strict=True):
        number, name = 2, path
        while _key(name) in taken:
            name, number = path.with_name(f"{path.name.removesuffix(ending)}-{number}{ending}"), number + 1
        taken.add(_key(name))
        out.append(name)
    _must_spare([each.path for each in inputs], out)
    return out


def _key(path: Path) -> str:
    return os.path.realpath(path).casefold()


def _must_spare(inputs: Sequence[Path], out: Sequence[Path]) -> None:
    """Refuse to write over what is read, be it by another name of the same file."""
    names = {_key(path): path for path in inputs}
    there = {(status.st_dev, status.st_ino) for status in (_status(path) for path in inputs) if status is not None}
    for path in out:
        status = _status(path)
        if _key(path) in names or (status is not None and (status.st_dev, status.st_ino) in there):
            raise FormatError("this would be written over an input", path=str(path), remedy="Give another --out-dir.")


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def picked(inputs: Sequence[Input], pick: tuple[int, int] | None) -> slice:
    """The place of those that ``--pick FIRST+COUNT`` asks for; all without it."""
    return slice(len(inputs)) if pick is None else slice(pick[0] - 1, pick[0] - 1 + pick[1])
