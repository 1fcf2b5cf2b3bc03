"""Reports on files and edits: entries with severity and code, the error of formats, and formatting for messages.

Nothing is dropped in silence: what was read, kept, approximated, repaired or dropped has an entry.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

#: Values of at least this size are formatted with a power of ten.
_EXPONENT_THRESHOLD = 1e9


def format_number(value: float, digits: int = 0) -> str:
    """Format a number with a fixed number of decimals, without a power of ten.

    Values of 1e9 and more, as a damaged file may have them, get two digits and a power of ten: 2.5e300.
    """
    return f"{value:.{digits}f}" if abs(value) < _EXPONENT_THRESHOLD else f"{value:.2g}".replace("e+", "e")


class Message(str):
    """English text that keeps the template and the parameters it was made from, so that it can be translated.

    Args:
        template: Text with ``{}`` for each parameter; ``{{`` and ``}}`` stand for braces.
        parameters: Numbers, names in quotes (``repr``), words or other messages, in the order of the template.
    """

    __slots__ = ("parameters", "template")
    template: str
    parameters: tuple[str, ...]

    def __new__(cls, template: str, *parameters: object) -> Message:
        """Format the text."""
        texts = tuple(each if isinstance(each, str) else str(each) for each in parameters)
        self = super().__new__(cls, template.format(*texts))
        self.template, self.parameters = template, texts
        return self

    def __str__(self) -> str:
        """Return the message itself: an error that is raised with it tells it whole."""
        return self

    def __getnewargs__(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return what copies and other processes make it from again."""
        return self.template, *self.parameters


def message_parts(text: str) -> str:
    """Return the template and the parameters of a message as JSON, to be stored with it; empty for a plain text."""
    return json.dumps(_nested_parts(text), ensure_ascii=False) if isinstance(text, Message) else ""


def _nested_parts(text: str) -> Any:
    return [text.template, *map(_nested_parts, text.parameters)] if isinstance(text, Message) else text


def message_from_parts(text: str, parts: str) -> str:
    """Return a text as the message that it was, of stored parts; the text itself where they are empty or unreadable."""
    try:
        return _from_nested_parts(json.loads(parts)) if parts else text
    except (ValueError, IndexError):
        return text


def _from_nested_parts(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    if not (isinstance(parts, list) and parts and isinstance(parts[0], str)):
        raise ValueError(parts)
    return Message(parts[0], *map(_from_nested_parts, parts[1:]))


def join_messages(separator: str, messages: Iterable[str]) -> str:
    """Join texts to one message that is translated part by part."""
    every = list(messages)
    return Message(separator.join(["{}"] * len(every)), *every)


def count_with_noun(number: float, one: str, many: str = "") -> Message:
    """Return a number with its noun, such as ``1 body``, ``13 bodies`` or ``2.5 frames``."""
    noun = one if number == 1 else many or one + "s"
    return Message("{} {}", f"{number:g}" if isinstance(number, float) else number, noun)


Severity = Literal["error", "warning", "info"]
#: Result of converting something to another format: kept as extension data, approximated as reported, or lost.
Outcome = Literal["kept", "approximated", "lost"]

#: Outcomes by the beginning of an entry's code. Repairs and choices made while reading a file have none.
_OUTCOME_BY_PREFIX: dict[str, Outcome] = {
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
    """Entry of a report.

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
        """Return the outcome where something was converted to another format; None for other entries."""
        return next((outcome for start, outcome in _OUTCOME_BY_PREFIX.items() if self.code.startswith(start)), None)

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        where = f" [{self.where}]" if self.where else ""
        return f"{self.severity}: {place}{self.message}{where}"


#: Most entries of one code and severity that are listed: a file may cause a million, which nobody reads.
MAX_ENTRIES_PER_CODE = 1000
#: Most of these with their element's path: to find a path takes a walk over all siblings of the element.
MAX_LOCATED_ENTRIES = 100

#: An element's path, or a function that finds it.
EntryLocation = str | Callable[[], str]


@dataclass
class Report:
    """Entries in the order in which they were added. Every load, save, build and extract returns one."""

    entries: list[Entry] = field(default_factory=list)
    _counts: Counter[tuple[Severity, str]] = field(default_factory=Counter, repr=False, compare=False)
    _rests: dict[tuple[Severity, str], tuple[int, Entry]] = field(default_factory=dict, repr=False, compare=False)

    def add(
        self, severity: Severity, code: str, message: str, line: int | None = None, where: EntryLocation = ""
    ) -> None:
        """Append one entry; beyond ``MAX_ENTRIES_PER_CODE`` of one kind, count the rest in a single last entry.

        Args:
            severity: ``error``, ``warning`` or ``info``.
            code: Short stable word.
            message: Sentence for users.
            line: Line in the file, from 1.
            where: The element's path. A function is called only for the first ``MAX_LOCATED_ENTRIES`` entries of a
                kind.
        """
        kind = severity, code
        self._counts[kind] += 1
        left = self._counts[kind] - MAX_ENTRIES_PER_CODE
        if left <= 0:
            if callable(where):
                where = where() if self._counts[kind] <= MAX_LOCATED_ENTRIES else ""
            self.entries.append(Entry(severity, code, message, line, where))
            return
        rest = Entry(severity, code, Message("{} more of this kind ({}) are not listed", left, code))
        place, last = self._rests.get(kind, (-1, rest))
        if place < 0 or place >= len(self.entries) or self.entries[place] is not last:  # or entries were removed
            place = len(self.entries)
        self.entries[place : place + 1] = [rest]
        self._rests[kind] = place, rest

    def info(self, code: str, message: str, line: int | None = None, where: EntryLocation = "") -> None:
        """Add an entry on something read, kept or chosen."""
        self.add("info", code, message, line, where)

    def warn(self, code: str, message: str, line: int | None = None, where: EntryLocation = "") -> None:
        """Add an entry on something repaired, approximated or dropped."""
        self.add("warning", code, message, line, where)

    def extend(self, other: Report | None) -> None:
        """Append another report's entries."""
        if other is not None:
            self.entries.extend(other.entries)

    def count(self, severity: Severity) -> int:
        """Return the number of entries of this severity."""
        return sum(entry.severity == severity for entry in self.entries)

    def outcomes(self) -> dict[str, int]:
        """Return the numbers of entries of each outcome: kept, approximated and lost."""
        counts = Counter(entry.outcome for entry in self.entries)
        return {"kept": counts["kept"], "approximated": counts["approximated"], "lost": counts["lost"]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


class FormatError(ValueError):
    """Error of a file that cannot be read or written: the problem, where it is, and the remedy.

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


def abbreviate_names(names: Iterable[str], most: int = 8) -> str:
    """Format names for a message: the first few, and the count of the rest."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(map(repr, every[:most])) + more
