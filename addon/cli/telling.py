"""What the verbs print, and how they come by Blender."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..model.report import FormatError, Report


def say(text: str = "") -> None:
    print(text, flush=True)


def say_report(report: Report | None) -> None:
    for entry in report.entries if report is not None else ():
        say(str(entry))


def blender_jobs() -> ModuleType:
    """What needs Blender, which the other verbs can do without."""
    try:
        import_module("bpy")
    except ImportError:
        raise FormatError(
            "this needs Blender", remedy="Install it as a Python module (pip install bpy), or use `blender --command`."
        ) from None
    from .. import register
    from ..blender import jobs

    register()
    return jobs
