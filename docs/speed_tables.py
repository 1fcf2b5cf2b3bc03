"""The manual's tables of the last run of ``build.py bench``: every row with its threshold, and interactive rates of
large models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from in_markdown import rows

HEAD = ("case", "size", "value", "reference", "ratio", "scales as", "threshold")
#: The run that the tables show. ``build.py bench --page`` writes it.
KEPT = Path(__file__).resolve().parent / "figures/speed.json"
#: Headings of the parts, in the order of the manual.
PARTS = {
    "imports": "Import",
    "exports": "Export",
    "parsing": "Reading files",
    "converting": "Converting files",
    "chains": "Serial chains",
    "scene": "Scene and .blend file",
    "memory": "Memory",
    "motion": "Import and export of motion",
    "sampling": "Sampling of the evaluated pose",
    "long_motion": "A million keyframes",
    "gait": "Gaits",
    "playback": "Playback",
    "loops": "Closed loops",
    "kinematics": "Forward kinematics",
    "servos": "Servos under physics",
    "symmetry": "Symmetric editing",
    "handlers": "Cost of Knuckle's handlers",
    "overlays": "Overlays",
    "panels": "Panels",
    "film": "Videos",
    "large": "Factory of robots in nested assemblies, with closed loops",
    "trees": "Large trees",
    "hostile": "Files designed to be expensive",
    "unusual": "Scaling with four times the file size",
}
#: Rows whose largest size is shown as a rate: seconds of a frame or an update.
RATES = {
    "a bone posed": "a bone posed",
    "a pose with overlays on": "a bone posed, all overlays on",
    "a frame of keys": "a frame with keyframes on every bone, without physics",
    "a frame of keys and physics": "a frame with keyframes on every bone, with rigid bodies",
    "redraw: all panels after a change": "the whole tab drawn after a change",
    "redraw: all panels of the tab": "the whole tab drawn without a change",
    "overlays, drawn again, with what draws them": "all overlays drawn (by software, without a graphics card)",
}
AT_WORK = ("large", "trees")
#: Reference of rows in which Blender does the same work without Knuckle.
ALONE = "without Knuckle's handlers"
#: Parts with many rows, of which only the worst of each measure is shown.
MANY = {"hostile", "unusual"}


def speed() -> str:
    """Return the tables of all parts; rows of one name share a line.

    Raises:
        ValueError: A part has no heading.
    """
    run = _run()
    lost = run["parts"].keys() - PARTS.keys()
    if lost:
        raise ValueError(f"docs/speed_tables.py has no heading for: {sorted(lost)}")
    found = [(part, heading) for part, heading in PARTS.items() if part in run["parts"]]
    shown = [_worst(heading, run["parts"][part]) if part in MANY else _section(heading, run["parts"][part])
            for part, heading in found]  # fmt: skip
    return "\n".join([_summary(run), *shown])


def rates() -> str:
    """Return the table of updates per second of the largest models."""
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
    return rows(("model", "case", "per second", "Blender without Knuckle"), lines)


def _run() -> Any:
    return json.loads(KEPT.read_text(encoding="utf-8"))


def _summary(run: Mapping[str, Any]) -> str:
    """Return the machine of a run, the count of thresholds that it meets, and those that it misses."""
    judged, missed = [], []
    for part in run["parts"].values():
        judged += [each for each in (*part["rows"], *part["growth"]) if each["verdict"]]
        missed += [f"{each['what']}, {each['size']:,} {each['unit']}" for each in part["rows"] if _misses(each)]
        missed += [f"growth of {each['what']}" for each in part["growth"] if _misses(each)]
    wrong = [name for name, part in run["parts"].items() if part["wrong"]]
    if run["extent"] == "quick":
        lines = [f"{run['with']}, {run['date']}. This was a run of small sizes, which has no thresholds."]
    else:
        lines = [f"{run['with']}, {run['date']}. {len(judged) - len(missed)} of {len(judged)} thresholds are met."]
        lines += [f"Missed: {'; '.join(missed)}."] if missed else []
    lines += [f"Incomplete: {', '.join(wrong)}."] if wrong else []
    return "\n\n".join(lines) + "\n"


def _misses(row: Mapping[str, Any]) -> bool:
    return bool(row["verdict"] == "misses")


def _worst(heading: str, part: Mapping[str, Any]) -> str:
    """Return the row of each measure that is nearest to its threshold, or exceeds it most."""
    judged = [row for row in part["rows"] if row["bar"] is not None]
    worst = []
    for measure in dict.fromkeys(row["measure"] for row in judged):
        same = [row for row in judged if row["measure"] == measure]
        worst.append(max(same, key=lambda row: (row["value"] if row["ratio"] is None else row["ratio"]) / row["bar"]))
    intro = f"Worst of {len(judged)} results with a threshold:\n\n" if judged else ""
    return intro and f"### {heading}\n\n{intro}{rows(HEAD, [_line(row['what'], [row], None) for row in worst])}"


def _section(heading: str, part: Mapping[str, Any]) -> str:
    grown = {(each["what"], each["unit"]): each for each in part["growth"]}
    lines = [_line(what, own, grown.get((what, own[0]["unit"]))) for what, own in _by_name(part["rows"]).items()]
    return f"### {heading}\n\n{rows(HEAD, lines)}"


def _line(what: str, own: Sequence[Mapping[str, Any]], grown: Mapping[str, Any] | None) -> list[str]:
    """Return a line: sizes, values and ratios in the order of the sizes."""
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
    """Return the thresholds of rows of one name, with the sizes that they apply to and the sizes that miss them."""
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
    """Return a value with its unit; seconds are scaled to s, ms or µs."""
    value, unit = row["value"], row["measure"]
    if unit == "s":
        value, unit = next(
            ((value * many, name) for many, name in ((1.0, "s"), (1e3, "ms")) if value * many >= 1.0),
            (value * 1e6, "µs"),
        )
    return f"{_number(value)} {unit}"


def _number(value: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _in_order(words: Iterable[str]) -> str:
    return " · ".join(words)
