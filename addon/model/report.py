"""Public names of release 1.0 for ``core.report``."""

from ..core.report import Entry, FormatError, Outcome, Report, Severity

__all__ = ["Entry", "FormatError", "Outcome", "Report", "Severity"]
