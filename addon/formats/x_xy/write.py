"""Rows to the text of an x_xy document, as imt-ring's loader takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.model import Array, Mechanism
from ...core.report import Report
from ..xml import escape_attribute
from . import geometry, notes
from .links import rows_of
from .rows import GeomRow, LinkRow, ModelRow, OmcRow
from .table import ATTRIBUTES, DEFAULT_DT, DOF_ATTRIBUTES, joint_kind
from .values import spell, spell_all

INDENT = "    "
#: Levels that are indented: a rope of thousands of links would be nothing but blanks.
INDENTED = 100
Attributes = dict[str, str]
Defaults = Mapping[str, Mapping[str, str]]

_ZERO = 1e-14
#: What an attribute is where neither an element nor the defaults give it.
_NEUTRAL = {"pos": "0 0 0", "euler": "0 0 0", "quat": "1 0 0 0", "mass": "0", "color": "self", "edge_color": "black"}


def new_document(mechanism: Mechanism, report: Report) -> str:
    """The text of a file with everything of a mechanism that x_xy can hold, and the rest in comments."""
    return document_text(rows_of(mechanism, report))


def document_text(model: ModelRow) -> str:
    """A whole document."""
    root = {} if model.model is None else {"model": model.model}
    lines = [_tag("x_xy", root, False)]
    if model.note:
        lines.append(INDENT + notes.spelt(model.note))
    lines += [INDENT + _tag("options", option_attributes(model)), f"{INDENT}<worldbody>"]
    lines += [INDENT * 2 + _tag("geom", geom_attributes(geom)) for geom in model.geoms]
    below: dict[int | None, list[int]] = {}
    for number, row in enumerate(model.links):
        below.setdefault(row.parent, []).append(number)
    lines += [link_text(model.links, number, below, INDENT * 2) for number in below.get(None, [])]
    return "\n".join((*lines, f"{INDENT}</worldbody>", "</x_xy>", ""))


def link_text(
    links: Sequence[LinkRow],
    number: int,
    below: Mapping[int | None, Sequence[int]],
    indent: str,
    newline: str = "\n",
    defaults: Defaults | None = None,
    step: str = INDENT,
) -> str:
    """A body with all that hangs on it, every line indented. ``below`` are the numbers of what hangs on each link."""
    lines: list[str] = []
    waiting: list[tuple[int | None, str]] = [(number, indent)]
    while waiting:
        own, margin = waiting.pop()
        if own is None:
            lines.append(f"{margin}</body>")
            continue
        row = links[own]
        inside = []
        if row.note:
            inside.append(notes.spelt(row.note))
        inside += [_tag("geom", _fitted("geom", geom_attributes(geom), defaults)) for geom in row.geoms]
        inside += [_tag("omc", omc_attributes(marker)) for marker in row.omcs]
        children = below.get(own, ())
        closed = not inside and not children
        lines.append(margin + _tag("body", _fitted("body", link_attributes(row), defaults, row), closed))
        within = margin + step if len(margin) < INDENTED * len(step) else margin
        lines += [within + line for line in inside]
        if not closed:
            waiting.append((None, margin))
            waiting += [(child, within) for child in reversed(children)]
    return newline.join(lines)


def geom_text(row: GeomRow, defaults: Defaults | None = None) -> str:
    """A geom."""
    return _tag("geom", _fitted("geom", geom_attributes(row), defaults))


def omc_text(row: OmcRow) -> str:
    """A marker."""
    return _tag("omc", omc_attributes(row))


def option_attributes(model: ModelRow) -> Attributes:
    """The attributes of ``options``."""
    return {"gravity": spell_all(model.gravity), "dt": spell(DEFAULT_DT if model.dt is None else model.dt)}


def link_attributes(row: LinkRow) -> Attributes:
    """The attributes of a body; what is zero is left out."""
    out = {"name": row.name, "joint": row.joint, **pose_attributes(row.pose)}
    return out | {name: spell_all(row.numbers[name]) for name in ATTRIBUTES["body"] if name in row.numbers}


def geom_attributes(row: GeomRow) -> Attributes:
    """The attributes of a geom."""
    if row.kind == "xyz":
        return {"type": "xyz", "dim": spell_all(row.dim)}
    out = {"type": row.kind, "mass": spell(row.mass), **pose_attributes(row.pose), "dim": spell_all(row.dim)}
    return out | {name: text for name, text in (("color", row.color), ("edge_color", row.edge_color)) if text}


def omc_attributes(row: OmcRow) -> Attributes:
    """The attributes of a marker."""
    out = {"name": row.name, "pos_marker": row.pos_marker}
    return out | ({"pos": spell_all(row.pos)} if any(row.pos) else {})


def pose_attributes(pose: Array) -> Attributes:
    """Place and angles of a pose; what is zero is left out."""
    out = {}
    position = tidied(pose[:3, 3])
    if any(position):
        out["pos"] = spell_all(position)
    angles = tidied(geometry.euler_of(pose[:3, :3]), 100.0)
    if any(angles):
        out["euler"] = spell_all(angles)
    return out


def tidied(values: Sequence[float] | Array, size: float = 1.0) -> tuple[float, ...]:
    """Numbers without what only rounding left of zeros."""
    return tuple(0.0 if abs(x) < _ZERO * size else float(x) for x in values)


def explicit(name: str, row: LinkRow | None) -> str:
    """Return what an attribute is where it says nothing, spelt out."""
    if name in _NEUTRAL:
        return _NEUTRAL[name]
    kind = joint_kind(row.joint) if row is not None else None
    if kind is not None and name in DOF_ATTRIBUTES:
        values = [0.0] * (kind.coordinates if name == "spring_zero" else kind.velocities)
        for block in kind.blocks:
            if name == "spring_zero" and block.kind in {"ball", "free"}:
                values[block.place] = 1.0
        return spell_all(values)
    if row is not None and name in {"pos_min", "pos_max"}:
        position = row.pose[:3, 3] + (1e-6 if name == "pos_max" else 0.0)  # the loader wants them to differ
        return spell_all(position)
    return ""


def _fitted(tag: str, found: Attributes, defaults: Defaults | None, row: LinkRow | None = None) -> Attributes:
    """The attributes of a new element, those spelt out that the document's defaults would otherwise give it."""
    given = (defaults or {}).get(tag, {})
    if not given:
        return found
    out = dict(found)
    if "quat" in given and "euler" in out:
        angles = [float(x) for x in out.pop("euler").split()]
        out["quat"] = spell_all(tidied(geometry.quat_of(geometry.turn_of_euler(angles))))
    for name in given:
        text = explicit(name, row) if name not in out else ""
        if text and not (tag == "geom" and out.get("type") == "xyz"):
            out[name] = text
    order = ATTRIBUTES[tag]
    return dict(sorted(out.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def _tag(tag: str, found: Attributes, closed: bool = True) -> str:
    inside = "".join(f' {name}="{escape_attribute(text)}"' for name, text in found.items())
    return f"<{tag}{inside}{'/' if closed else ''}>"
