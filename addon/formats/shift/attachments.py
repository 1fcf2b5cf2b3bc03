"""What hangs on the bodies and joints of a document: lights and restraints."""

from __future__ import annotations

from collections.abc import Collection

from ...core.model import Light, Restraint
from .read import Placed, Reader
from .resolve import Resolver
from .table import ORIGIN, SEPARATOR

_LIGHTS = {"point", "spot", "directional"}


def light_of(placed: Placed, resolver: Resolver, reader: Reader) -> Light:
    """The light of an element."""
    row = placed.row
    light = Light(str(row["name"]), "point")
    if row["type"] in _LIGHTS:
        light.type = row["type"]
    else:
        reader.warn("unknown-light", f"{placed.label} is a '{row['type']}'; a point is taken", placed.node)
    light.ambient, light.diffuse, light.specular = (tuple(map(float, row[key])) for key in ("Ka", "Kd", "Ks"))  # type: ignore[assignment]
    light.extra = {"type": row["type"], "frame": ORIGIN}
    parent = placed.node.get("parent")
    if parent is not None and parent.plain() is not None:
        placed.ends = [reader.end(parent)]
        end = resolver.place(placed.ends[0], "", placed)
        light.extra["frame"] = placed.ends[0].frame
        if end is None:
            reader.warn("missing-body", f"{placed.label} hangs on a body that is not there", parent)
        else:
            light.body, light.pose = end
    return light


def restraint_of(placed: Placed, resolver: Resolver, joints: Collection[str], reader: Reader) -> Restraint:
    """The restraint of an element; ``joints`` are the ids of all. FormatError where its knots and pieces do not fit."""
    row = placed.row
    made = Restraint(str(row["name"]), row["type"], distance=row["distance_type"], assembly=placed.assembly)
    made.knots = [float(x) for x in row["knot_points"]]
    made.coefficients = [[float(x) for x in piece] for piece in row["coefficients"]]
    if len(made.coefficients) != len(made.knots) + 1:
        place = placed.at("coefficients") or placed.node
        message = f"{placed.label} has {len(made.knots)} knots and {len(made.coefficients)} pieces"
        raise reader.error(place, message, "Give one piece more than there are knots.")
    if any(a >= b for a, b in zip(made.knots, made.knots[1:], strict=False)):
        raise reader.error(placed.at("knot_points"), "the knots do not ascend", "Sort them.")
    if not row["active"]:
        made.extra["active"] = False
    if row["joint"]:
        made.joint = _joint_named(row["joint"], placed, joints, reader)
    if placed.ends:
        ends = [resolver.place(end, placed.assembly, placed) for end in placed.ends]
        if None in ends:
            reader.warn("missing-body", f"{placed.label} acts on a body that is not there", placed.node)
        else:
            (one, at_one), (other, at_other) = ends  # type: ignore[assignment]
            made.bodies, made.frames = (one, other), (at_one, at_other)
        made.extra["frames"] = [end.frame for end in placed.ends]
    return made


def _joint_named(name: str, placed: Placed, joints: Collection[str], reader: Reader) -> str | None:
    wanted = name if SEPARATOR in name or not placed.assembly else f"{placed.assembly}{SEPARATOR}{name}"
    if wanted in joints:
        return wanted
    reader.warn("missing-joint", f"{placed.label} acts on the joint '{name}', which is not there", placed.node)
    return None
