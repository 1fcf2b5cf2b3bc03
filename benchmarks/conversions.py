"""``build.py bench conversions``: every real file through every format, and back.

Says how far bodies stand from where they were, in the default pose and in a random one; how many files lose something,
which the report of saving has to say; and how far what comes back into the first format is from what it was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from addon import formats
from addon.core.model import Mechanism
from addon.core.report import Entry, FormatError, Report
from benchmarks.returned import CLOSE, Difference, differences, is_announced
from benchmarks.standing import Stand, compare
from tests.support.references import CORPUS

EXTENSIONS = {"juice": ".jm", "skel": ".skel", "x_xy": ".xml", "shift": ".json"}
FORMATS = tuple(EXTENSIONS)
#: What a joint or body that is not there any more may be told as.
TOLD_BODIES = frozenset({"dropped-inactive"})
TOLD_JOINTS = frozenset({"dropped-joint", "joint-to-world", "dropped-inactive", "left-joint"})


@dataclass
class Trip:
    """One file through one format. ``back`` is what does not come back as it was, with whether it was told;
    ``rounding`` the largest difference of what does, ``trouble`` what nobody told or what failed."""

    file: Path
    source: str
    target: str
    stand: Stand | None = None
    warned: bool = False
    back: list[tuple[Difference, bool]] = field(default_factory=list)
    rounding: float = 0.0
    trouble: list[str] = field(default_factory=list)

    @property
    def loses(self) -> bool:
        """Whether something is gone for good."""
        return bool(self.back)


def corpus_files(corpus: Path = CORPUS) -> Iterator[Path]:
    """The real files that can be read as models, by format and name."""
    for name in FORMATS:
        for path in sorted(path for path in (corpus / name).rglob("*") if path.is_file()):
            try:
                formats.load(path)
            except FormatError:
                continue
            yield path


def trip(path: Path, target: str, folder: Path) -> Trip:
    """Save a file's model in a format, read that, and save and read it in the first format again; everything is
    written anew, but that what was written once is kept when it is saved as it is."""
    original = formats.load(path)
    formats.complete_masses(original, Report())  # as the conversion does: what meshes weigh is written
    made = Trip(path, original.source.format, target)
    try:
        there, entries = _through(formats.load(path), target, folder / path.stem)
        made.warned = any(entry.severity == "warning" for entry in entries)
        _tell_unkept(made, _named(folder / path.stem, target).read_bytes())
        made.stand = compare(original, there)
        _tell_standing(made, entries)
        told = [*entries, *there.report.entries]
        there.source.text = ""
        again, entries = _through(there, original.source.format, folder / f"back of {path.stem}")
        _tell_back(made, differences(original, again), [*told, *entries, *again.report.entries])
    except FormatError as error:
        made.trouble.append(f"cannot be converted: {error}")
    return made


def _named(place: Path, target: str) -> Path:
    return place.with_name(place.name + EXTENSIONS[target])


def _through(mechanism: Mechanism, target: str, place: Path) -> tuple[Mechanism, list[Entry]]:
    """A mechanism saved and read, and what saving said."""
    mechanism.source.text = ""
    name = _named(place, target)
    report: Report = formats.save(mechanism, name, target)
    return formats.load(name), report.entries


def _tell_unkept(made: Trip, written: bytes) -> None:
    """Whoever saves again what he did not touch has the same file; where the original is, with its meshes."""
    if formats.dumps(formats.loads(written, str(made.file)))[0].encode() != written:
        made.trouble.append("saved again, it is another file")


def _tell_standing(made: Trip, entries: list[Entry]) -> None:
    stand, codes = made.stand, {entry.code for entry in entries}
    assert stand is not None
    for what, error in (("default", stand.default), ("random", stand.posed)):
        if not error <= CLOSE:
            made.trouble.append(f"in the {what} pose a body is off by {error:.3g} of the model's size")
    if stand.lost_bodies and not codes & TOLD_BODIES:
        made.trouble.append(f"bodies are gone, and nobody told: {', '.join(stand.lost_bodies)}")
    if stand.lost_joints and not codes & TOLD_JOINTS:
        made.trouble.append(f"joints are gone, and nobody told: {', '.join(stand.lost_joints)}")


def _tell_back(made: Trip, found: Iterable[Difference], told: list[Entry]) -> None:
    for difference in found:
        if difference.amount <= CLOSE:
            made.rounding = max(made.rounding, difference.amount)
            continue
        announced = is_announced(difference, told)
        made.back.append((difference, announced))
        if not announced:
            made.trouble.append(f"there and back, and nobody told: {difference}")


def trips(files: Iterable[Path], targets: Iterable[str] = FORMATS) -> Iterator[Trip]:
    """All files through all formats."""
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            for target in targets:
                yield trip(path, target, Path(folder))


def tables(made: list[Trip]) -> str:
    """The three matrices: a row per source, a column per target."""

    def cells(what: str, of: object) -> str:
        lines = [what, f"  {'from / to':9}" + "".join(f"{target:>20}" for target in FORMATS)]
        for source in FORMATS:
            row = [[each for each in made if (each.source, each.target) == (source, target)] for target in FORMATS]
            if any(row):
                lines.append(f"  {source:9}" + "".join(f"{of(cell):>20}" for cell in row))  # type: ignore[operator]
        return "\n".join(lines)

    def standing(cell: list[Trip]) -> str:
        stands = [each.stand for each in cell if each.stand is not None]
        return "{:.0e} / {:.0e}".format(*(max(getattr(it, pose) for it in stands) for pose in ("default", "posed")))

    def losing(cell: list[Trip]) -> str:
        return f"{sum(it.warned for it in cell)} / {sum(it.loses for it in cell)} of {len(cell)}"

    def returning(cell: list[Trip]) -> str:
        kinds = {difference.what for each in cell for difference, _ in each.back}
        return f"{max(each.rounding for each in cell):.0e}, not {len(kinds)} kinds"

    return "\n\n".join(
        (
            cells("Worst error of a body in the default pose / in a random one, by the model's size:", standing),
            cells("Files whose report warns / that do not come back whole:", losing),
            cells("Worst error of what comes back, and how many kinds of things do not (all of them told):", returning),
        )
    )


def kinds_lost(made: list[Trip]) -> str:
    """What does not come back, by pair."""
    lines = []
    for source in FORMATS:
        for target in FORMATS:
            cell = [each for each in made if (each.source, each.target) == (source, target)]
            kinds = sorted({difference.what for each in cell for difference, _ in each.back})
            if kinds:
                lines.append(f"  {source} by {target}: {', '.join(kinds)}")
    return "\n".join(("What does not come back:", *lines))


def main(arguments: list[str]) -> int:
    """Print the tables and whatever is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(prog="build.py bench conversions", description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", help="instead of the real files")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    files = options.files or list(corpus_files())
    if not files:
        print(f"real files are not here: {CORPUS}", file=sys.stderr)
        return 1
    made = list(trips(files))
    print(f"{len(files)} files, {len(made)} conversions there and back, {time.perf_counter() - start:.0f} s\n")
    print(tables(made), kinds_lost(made), sep="\n\n")
    wrong = [(each, text) for each in made for text in each.trouble]
    for each, text in wrong:
        print(f"WRONG: {each.file} as {each.target}: {text}")
    return 1 if wrong else 0
