"""One fuzzing process for one reader: ``python -m tests.fuzz.one READER FOLDER [words of libFuzzer]``.

A finding does not end it: the first and the smallest input of each is kept, with its traceback, in ``findings/``, and
the count of executions, in all and by what the readers' code was, in ``counts.json``. What runs for minutes or takes
all memory ends it; libFuzzer keeps that.
"""

from __future__ import annotations

import sys
import warnings

import atheris

with atheris.instrument_imports(include=["addon.formats"]):
    from tests.fuzz import properties

import faulthandler
import json
import random
import signal
import time
import traceback
import zlib
from pathlib import Path
from types import FrameType

from tests.fuzz.mutate import CUTS, Pool, mutated, mutated_binary
from tests.fuzz.run import code

#: Seconds of processor time, of the instrumented reader, after which an input counts as slow, and is stopped.
SLOW, STOP = 2.0, 10.0
#: Of so many models one is converted, moved and described as well.
SHARE = 50


class Endless(BaseException):
    """An input that is still at work after ``STOP`` seconds."""


def _stop(_number: int, frame: FrameType | None) -> None:
    raise Endless(f"still at work after {STOP} s")


class Fuzzed:
    """A reader under test, with what was found so far."""

    def __init__(self, reader: str, folder: Path) -> None:
        self.reader, self.folder = reader, folder
        self.property = properties.PROPERTIES[reader]
        self.reading = properties.READING.get(reader, self.property)
        self.findings = folder / "findings"
        self.findings.mkdir(parents=True, exist_ok=True)
        self.count, self.taken, self.began, self.told = 0, 0, time.time(), 0.0
        self.code = code()
        self.start = self._counts()
        self.known: dict[str, int] = {}
        self.pool = Pool()
        self.cut = CUTS.get(reader)
        for path in sorted((folder / "seeds").iterdir()):
            if self.cut is not None:
                self.pool.add(path.read_bytes(), self.cut)

    def _counts(self) -> dict[str, float]:
        try:
            return dict(json.loads((self.folder / "counts.json").read_text()))
        except (OSError, ValueError):
            return {"executions": 0, "seconds": 0.0}

    def tell(self) -> None:
        counts = {"executions": self.count, "seconds": time.time() - self.began, self.code: self.count}
        kept = self.start | {key: self.start.get(key, 0) + value for key, value in counts.items()}
        (self.folder / "counts.json").write_text(json.dumps(kept))

    def run(self, data: bytes) -> None:
        """The entry that libFuzzer calls."""
        self.count += 1
        if time.time() - self.told > 5.0:
            self.told = time.time()
            self.tell()
        signal.setitimer(signal.ITIMER_VIRTUAL, STOP)
        start = time.process_time()
        try:
            # by the data, so that an input that is tried again does the same again
            (self.reading if zlib.crc32(data) % SHARE else self.property)(data)
        except (Exception, Endless) as error:
            self.keep(data, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if time.process_time() - start > SLOW:
            self.keep(data, None, f"slow: {time.process_time() - start:.1f} s")

    def keep(self, data: bytes, error: BaseException | None, why: str = "") -> None:
        """Keep an input under a name that equal findings share, unless a smaller one is kept."""
        frames = traceback.extract_tb(error.__traceback__) if error is not None else []
        ours = [each for each in frames if "/addon/" in each.filename] or frames
        at = f"{Path(ours[-1].filename).parent.name}.{Path(ours[-1].filename).stem}:{ours[-1].name}" if ours else "slow"
        kind = type(error).__name__ if error is not None else "Slow"
        first = str(error).split(":")[0][:50] if isinstance(error, properties.Broken) else ""
        key = "".join(c if c.isalnum() or c in "._-" else "_" for c in f"{kind}-{at}-{first}")[:120]
        if self.known.get(key, 1 << 40) <= len(data):
            return
        path = self.findings / f"{key}.bin"
        if key not in self.known and path.exists() and path.stat().st_size <= len(data):
            self.known[key] = path.stat().st_size
            return
        self.known[key] = len(data)
        path.write_bytes(data)
        text = why or "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(text[-6000:], encoding="utf-8", errors="replace")

    def mutate(self, data: bytes, largest: int, seed: int) -> bytes:
        """The mutator that libFuzzer calls."""
        rng = random.Random(seed)
        if rng.random() < 0.15 or not data:
            return bytes(atheris.Mutate(data, largest))
        made = mutated(data, rng, self.cut, self.pool) if self.cut is not None else mutated_binary(data, rng)
        return made if 0 < len(made) <= largest else bytes(atheris.Mutate(data, largest))


def main() -> None:
    reader, folder, words = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    warnings.simplefilter("ignore")
    faulthandler.enable()
    (folder / "corpus").mkdir(exist_ok=True)
    fuzzed = Fuzzed(reader, folder)
    signal.signal(signal.SIGVTALRM, _stop)
    command = [sys.argv[0], str(folder / "corpus"), str(folder / "seeds"), *words]
    atheris.Setup(command, fuzzed.run, custom_mutator=fuzzed.mutate)
    try:
        atheris.Fuzz()
    finally:
        fuzzed.tell()


if __name__ == "__main__":
    main()
