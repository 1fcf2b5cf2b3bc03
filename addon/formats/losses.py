"""What a format cannot hold, gathered while a mechanism is written."""

from __future__ import annotations

from collections import Counter

from ..model.report import Report


class Losses:
    """Counts what is lost, so that it is said once per kind and not once per joint."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], str] = {}

    def add(self, code: str, message: str, name: str) -> None:
        """Something of the object of this name is lost."""
        self.counts[code, message] += 1
        self.first.setdefault((code, message), name)

    def take(self, other: Losses) -> None:
        """Add what others have lost."""
        self.counts.update(other.counts)
        for what, name in other.first.items():
            self.first.setdefault(what, name)

    def tell(self, report: Report) -> None:
        """Say everything."""
        for (code, message), count in self.counts.items():
            more = f" and {count - 1} more" if count > 1 else ""
            report.warn(code, f"{message} ('{self.first[code, message]}'{more})")
