"""The manual's tables of the last run of ``build.py bench``: every row with its bar, and the rates at which one works
with large models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from in_markdown import rows

HEAD = ("what", "of", "takes", "beside", "ratio", "grows", "bar")
#: The run that is told of: ``build.py bench --page`` writes it.
KEPT = Path(__file__).resolve().parent / "figures/speed.json"
#: What the parts are of, in the order of the manual.
PARTS = {
    "imports": "Import",
    "exports": "Export",
    "parsing": "Reading files",
    "converting": "Converting files",
    "chains": "Chains as deep as they are long",
    "scene": "In a scene, and its file",
    "memory": "Memory",
    "motion": "Motion in and out",
    "sampling": "The evaluated pose as a motion",
    "long_motion": "A million keys",
    "gait": "Gaits",
    "playback": "Playback",
    "loops": "Closed loops",
    "kinematics": "Forward kinematics",
    "servos": "Servos under physics",
    "symmetry": "Symmetrical editing",
    "handlers": "What others pay",
    "overlays": "Overlays",
    "panels": "Panels",
    "film": "Films",
    "large": "Factories of robots in nested assemblies, with loops",
    "trees": "Large trees",
    "hostile": "Files made to be dear",
    "unusual": "Four times the file, of whatever there is much of",
}
#: Parts and rows of which the largest size is told as a rate; seconds of a frame or an update.
RATES = {
    "a bone posed": "a bone posed",
    "a pose with overlays on": "a bone posed, all overlays on",
    "a frame of keys": "a frame of keys on every bone, physics cleared",
    "a frame of keys and physics": "the same with bodies in Blender's world",
    "redraw: all panels after a change": "the whole tab drawn after a change",
    "redraw: all panels of the tab": "the whole tab drawn again",
    "overlays, drawn again, with what draws them": "all overlays drawn again (by software, without a graphics card)",
}
AT_WORK = ("large", "trees")
#: What rows are measured beside where Blender does the same work by itself.
ALONE = "without our handlers"
#: Parts of very many rows, of which the worst of each measure is told.
MANY = {"hostile", "unusual"}


def speed() -> str:
    """All rows, those of a name in a line. ValueError where a part has no heading here."""
    run = _run()
    lost = run["parts"].keys() - PARTS.keys()
    if lost:
        raise ValueError(f"docs/speed_tables.py has no heading for: {sorted(lost)}")
    found = [(part, heading) for part, heading in PARTS.items() if part in run["parts"]]
    told = [_worst(heading, run["parts"][part]) if part in MANY else _section(heading, run["parts"][part])
            for part, heading in found]  # fmt: skip
    return "\n".join([_told_of(run), *told])


def rates() -> str:
    """How often in a second the largest models are posed, played and drawn."""
    lines = []
    for part in AT_WORK:
        found = _by_name(_run()["parts"].get(part, {"rows": []})["rows"])
        for what, own in found.items():
            whose, _, act = what.partition(": ")
            row = max(own, key=lambda each: each["size"])
            if act in RATES and row["value"] > 0.0:
                model = f"{whose} of {row['size']:,} {row['unit']}"
                alone = _number(1.0 / row["floor"]) if row["floor_name"] == ALONE else ""
                lines.append([model, RATES[act], _number(1.0 / row["value"]), alone])
    return rows(("model", "what", "per second", "Blender by itself"), lines)


def _run() -> Any:
    return json.loads(KEPT.read_text(encoding="utf-8"))


def _told_of(run: Mapping[str, Any]) -> str:
    """What was measured with, how many bars hold, and which do not."""
    judged, missed = [], []
    for part in run["parts"].values():
        judged += [each for each in (*part["rows"], *part["growth"]) if each["verdict"]]
        missed += [f"{each['what']}, {each['size']:,} {each['unit']}" for each in part["rows"] if _misses(each)]
        missed += [f"growth of {each['what']}" for each in part["growth"] if _misses(each)]
    wrong = [name for name, part in run["parts"].items() if part["wrong"]]
    if run["extent"] == "quick":
        lines = [f"{run['with']}, {run['date']}. This was a run of small sizes, of which bars say nothing."]
    else:
        lines = [f"{run['with']}, {run['date']}. {len(judged) - len(missed)} of {len(judged)} bars hold."]
        lines += [f"Missed: {'; '.join(missed)}."] if missed else []
    lines += [f"Not measured to the end: {', '.join(wrong)}."] if wrong else []
    return "\n\n".join(lines) + "\n"


def _misses(row: Mapping[str, Any]) -> bool:
    return bool(row["verdict"] == "misses")


def _worst(heading: str, part: Mapping[str, Any]) -> str:
    """Of each measure the row that is nearest to its bar, or beyond it."""
    judged = [row for row in part["rows"] if row["bar"] is not None]
    worst = []
    for measure in dict.fromkeys(row["measure"] for row in judged):
        alike = [row for row in judged if row["measure"] == measure]
        worst.append(max(alike, key=lambda row: (row["value"] if row["ratio"] is None else row["ratio"]) / row["bar"]))
    told = f"The worst of {len(judged)} with a bar:\n\n" if judged else ""
    return told and f"### {heading}\n\n{told}{rows(HEAD, [_line(row['what'], [row], None) for row in worst])}"


def _section(heading: str, part: Mapping[str, Any]) -> str:
    grown = {(each["what"], each["unit"]): each for each in part["growth"]}
    lines = [_line(what, own, grown.get((what, own[0]["unit"]))) for what, own in _by_name(part["rows"]).items()]
    return f"### {heading}\n\n{rows(HEAD, lines)}"


def _line(what: str, own: Sequence[Mapping[str, Any]], grown: Mapping[str, Any] | None) -> list[str]:
    """A line: sizes, values and ratios in the order of the sizes."""
    own = sorted(own, key=lambda row: row["size"])
    floors = list(dict.fromkeys(row["floor_name"] for row in own if row["floor_name"]))
    ratios = [row["ratio"] for row in own if row["ratio"] is not None]
    bars = _bars(own)
    growth = "" if grown is None else f"N^{grown['last']:.2f}"
    if grown is not None and grown["bar"] is not None:
        bars.append(f"N^{grown['bar']:g}{' missed' if _misses(grown) else ''}")
    return [
        what,
        f"{_in_order(format(row['size'], ',') for row in own)} {own[0]['unit']}",
        _in_order(_value(row) for row in own),
        ", ".join(floors),
        _in_order(_number(ratio) for ratio in ratios),
        growth,
        ", ".join(bars),
    ]


def _by_name(found: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    out: dict[str, list[Mapping[str, Any]]] = {}
    for row in found:
        out.setdefault(row["what"], []).append(row)
    return out


def _bars(own: Sequence[Mapping[str, Any]]) -> list[str]:
    """The bars of rows of a name, each with the sizes that it is for, if not for all, and those where it is missed."""
    out = []
    for limit in dict.fromkeys(_limit(row) for row in own if row["bar"] is not None):
        judged = [row for row in own if row["bar"] is not None and _limit(row) == limit]
        where = "" if len(judged) == len(own) else f" at {_in_order(format(row['size'], ',') for row in judged)}"
        missed = _in_order(format(row["size"], ",") for row in judged if _misses(row))
        out.append(f"{limit}{where}{f', missed at {missed}' if missed else ''}")
    return out


def _limit(row: Mapping[str, Any]) -> str:
    limit = _number(row["bar"]) if row["ratio"] is not None else _value({**row, "value": row["bar"]})
    return f"{'≥' if row['at_least'] else '≤'} {limit}"


def _value(row: Mapping[str, Any]) -> str:
    """A value with its unit; seconds in the unit that is read most easily."""
    value, unit = row["value"], row["measure"]
    if unit == "s":
        value, unit = next(
            ((value * many, name) for many, name in ((1.0, "s"), (1e3, "ms")) if value * many >= 1.0),
            (value * 1e6, "µs"),
        )
    return f"{_number(value)} {unit}"


def _number(value: float) -> str:
    """Three digits that count, never with an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _in_order(words: Iterable[str]) -> str:
    return " · ".join(words)
