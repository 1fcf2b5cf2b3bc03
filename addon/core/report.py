"""Formatting of numbers and lists of names for messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

#: From here on digits tell nobody anything.
_LONG = 1e9


def plain(value: float, digits: int = 0) -> str:
    """A number with so many digits behind the point, without a power of ten.

    What is too large for that, as a strange file may have it, has two digits and that power: 2.5e300.
    """
    return f"{value:.{digits}f}" if abs(value) < _LONG else f"{value:.2g}".replace("e+", "e")


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


Severity = Literal["error", "warning", "info"]
#: What became of something in another format: kept aside, changed as told, or gone.
Outcome = Literal["kept", "approximated", "lost"]

#: By how the codes of entries begin. What is repaired or chosen while a file is read is none of these.
_OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(("kept", "document-kept", "document-patched", "left-joint", "undrawn", "cut-loop"), "kept"),
    **dict.fromkeys(
        ("approximated", "moved-", "reversed-", "mended-", "renamed", "split-", "invented-", "joint-apart", "joint-to-",
         "no-force", "held-keys", "sampled", "document-lost", "encoding"),
        "approximated",
    ),
    **dict.fromkeys(("dropped-", "ignored-", "dangling-joint", "bad-note", "attributes", "empty-servo",
         "root-motion-left"), "lost"),
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One thing worth saying.

    ``code`` is a short stable word (``repaired-name``), ``where`` the element's path, ``line`` the line in the file (1
    is the first).
    """

    severity: Severity
    code: str
    message: str
    line: int | None = None
    where: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """Return what became of it where a file was written; None where it tells of something else."""
        return next((outcome for start, outcome in _OUTCOMES.items() if self.code.startswith(start)), None)

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        where = f" [{self.where}]" if self.where else ""
        return f"{self.severity}: {place}{self.message}{where}"


#: So many entries of one code and severity are listed. A file may give rise to a million, which nobody reads.
MOST_OF_A_KIND = 1000
#: So many of them tell their element's path, which takes a walk over all that stand beside it.
MOST_PLACED = 100

#: An element's path, or how it is found.
Where = str | Callable[[], str]


@dataclass
class Report:
    """Entries in the order in which they happened. Every load, save, build and extract returns one."""

    entries: list[Entry] = field(default_factory=list)
    _counts: Counter[tuple[Severity, str]] = field(default_factory=Counter, repr=False, compare=False)
    _rests: dict[tuple[Severity, str], tuple[int, Entry]] = field(default_factory=dict, repr=False, compare=False)

    def add(self, severity: Severity, code: str, message: str, line: int | None = None, where: Where = "") -> None:
        """Append one entry; of very many of one kind, one says in the end how many are not listed.

        A ``where`` that has to be found is left out for all but the first ``MOST_PLACED`` of a kind.
        """
        kind = severity, code
        self._counts[kind] += 1
        left = self._counts[kind] - MOST_OF_A_KIND
        if left <= 0:
            if callable(where):
                where = where() if self._counts[kind] <= MOST_PLACED else ""
            self.entries.append(Entry(severity, code, message, line, where))
            return
        rest = Entry(severity, code, f"{left} more of this kind ({code}) are not listed")
        place, last = self._rests.get(kind, (-1, rest))
        if place < 0 or place >= len(self.entries) or self.entries[place] is not last:  # or entries were taken out
            place = len(self.entries)
        self.entries[place : place + 1] = [rest]
        self._rests[kind] = place, rest

    def info(self, code: str, message: str, line: int | None = None, where: Where = "") -> None:
        """Something was read, kept or chosen."""
        self.add("info", code, message, line, where)

    def warn(self, code: str, message: str, line: int | None = None, where: Where = "") -> None:
        """Something was repaired, approximated or dropped."""
        self.add("warning", code, message, line, where)

    def extend(self, other: Report | None) -> None:
        """Append another report's entries."""
        if other is not None:
            self.entries.extend(other.entries)

    def count(self, severity: Severity) -> int:
        """Return how many entries have this severity."""
        return sum(entry.severity == severity for entry in self.entries)

    def outcomes(self) -> dict[str, int]:
        """Return how many entries tell of something kept aside, approximated and lost."""
        told = Counter(entry.outcome for entry in self.entries)
        return {"kept": told["kept"], "approximated": told["approximated"], "lost": told["lost"]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


class FormatError(ValueError):
    """A file that cannot be read or written: what is wrong, where, and what to do.

    ``str(error)`` reads ``path:line: <where>: message. remedy`` with the parts that are known.
    """

    def __init__(
        self, message: str, *, path: str = "", line: int | None = None, where: str = "", remedy: str = ""
    ) -> None:
        self.message, self.path, self.line, self.where, self.remedy = message, path, line, where, remedy
        super().__init__(message)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part)
        parts = [part for part in (place, f"<{self.where}>" if self.where else "", self.message) if part]
        text = ": ".join(parts)
        return f"{text.rstrip('.')}. {self.remedy}" if self.remedy else text
