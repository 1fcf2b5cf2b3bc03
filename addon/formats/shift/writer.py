"""Rows as elements of a document, and a mechanism as a whole new one."""

from __future__ import annotations

from typing import Any

from ...core.model import Mechanism
from ...core.report import FormatError, Report
from ..text.json_editor import same, spelt
from .from_model import Held, Lowered, Lowering, Part
from .schema import ASSEMBLY, BODY, ENDS, FIXED, FRAME, JOINT, LIGHT, MARK, PAIRS, RESTRAINT, SEPARATOR, Row, Table

#: What is always written of an element, whether it says anything or not.
_ALWAYS = {
    "body": {"name", "center_of_mass", "mass", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Izx"},
    "frame": {"name", "T"},
    "joint": {"name", "type", "initial_displacement", "initial_velocity"},
    "light": {"name", "type", "Ka", "Kd", "Ks"},
    "restraint": {"name", "type", "knot_points", "coefficients"},
    "assembly": {"name", "active"},
}
_NOTHING = Held()
_UNITS = {"angle": "radians", "length": "meters", "mass": "kilograms", "time": "seconds"}
_VERSIONS = {PAIRS: "0.2", ENDS: "2.0.0"}


def new_document(mechanism: Mechanism, report: Report, dialect: str = PAIRS) -> str:
    """The text of a Shift file with everything of a mechanism that Shift can hold, and the rest kept aside in it."""
    _refuse_repeated(mechanism)
    lowering = Lowering(mechanism, dialect, top=mechanism.name or "model")
    lowered = lowering.lowered()
    lowering.losses.tell(report)
    if lowered.tree.top:
        report.info("invented-assembly", f"what is in no assembly is written in one called '{lowered.tree.top}'")
    include = "include_directories" if dialect == ENDS else "include_dir"
    settings: dict[str, Any] = {
        "version": _VERSIONS[dialect],
        "units": _UNITS,
        "gravity": lowered.settings["gravity"],
        include: ["."],
    }
    if lowered.settings[MARK]:
        settings[MARK] = lowered.settings[MARK]
    ground = {"frames": frames_of(lowered, None), "lights": [light(part, lowered) for part in lowered.lights]}
    top = contents("", lowered, dialect)
    document = {"model_parameters": settings, FIXED: {key: value for key, value in ground.items() if value}, **top}
    own = mechanism.source.format == "shift"
    return spelt(document, ascii_only=own and not speaks_unicode(mechanism.source.encoding)) + "\n"


def speaks_unicode(encoding: str) -> bool:
    """Return whether any letter can be written in an encoding; else letters beyond ASCII are written as their
    numbers."""
    return encoding == "" or encoding.lower().startswith("utf")


def _refuse_repeated(mechanism: Mechanism) -> None:
    for what, records in (("bodies", mechanism.bodies), ("joints", mechanism.joints)):
        seen: set[str] = set()
        for record in records:
            if record.id in seen:
                raise FormatError(
                    f"two {what} have the id {record.id}",
                    path=mechanism.source.path,
                    remedy="Give one of them another id.",
                )
            seen.add(record.id)


def contents(path: str, lowered: Lowered, dialect: str) -> dict[str, Any]:
    """Return what stands in an assembly, or at the top: its bodies, joints, restraints and assemblies."""
    held = lowered.held.get(path, _NOTHING)
    lists = {
        "bodies": [body(part, lowered, dialect) for part in held.bodies],
        "joints": [joint(part, lowered, dialect) for part in held.joints],
        "restraints": [restraint(part, lowered) for part in held.restraints],
        "assemblies": [assembly(inner, lowered, dialect) for inner in lowered.tree.inner(path)],
    }
    wanted = ("assemblies",) if not path else ("bodies", "joints")
    return {key: value for key, value in lists.items() if value or key in wanted}


def assembly(path: str, lowered: Lowered, dialect: str) -> dict[str, Any]:
    """An assembly with all that is in it."""
    return {**element(ASSEMBLY, lowered.assemblies[path], dialect), **contents(path, lowered, dialect)}


def body(part: Part, lowered: Lowered, dialect: str) -> dict[str, Any]:
    """A body with its frames."""
    made = element(BODY, part.row, dialect)
    if part.key[1] and not part.row["mass"]:
        made = {"name": part.row["name"], MARK: part.row[MARK]}  # between the pieces of a joint: it has nothing
    owner = part.key[0] if not part.key[1] else f"{part.key[0]}\0{part.key[1]}"
    frames = frames_of(lowered, owner)
    return {**made, "frames": frames} if frames else made


def frames_of(lowered: Lowered, owner: str | None) -> list[dict[str, Any]]:
    """The frames on a body, None for the ground."""
    return [element(FRAME, row, PAIRS) for row in lowered.frames.get(owner, {}).values()]


def joint(part: Part, lowered: Lowered, dialect: str) -> dict[str, Any]:
    """A joint."""
    made = element(JOINT, part.row, dialect)
    name = made.pop("name")
    return {"name": name, **ends(part, lowered, dialect), **made}


def ends(part: Part, lowered: Lowered, dialect: str) -> dict[str, Any]:
    """The two ends of a joint, as a dialect has them."""
    pairs = [(lowered.reference(owner, part.assembly), frame) for owner, frame in part.ends]
    if dialect == PAIRS:
        return {"body_frame_pairs": [list(pair) for pair in pairs]}
    (parent, at_parent), (child, at_child) = pairs
    return {"parent": [parent.split(SEPARATOR), at_parent], "child": [child.split(SEPARATOR), at_child]}


def light(part: Part, lowered: Lowered) -> dict[str, Any]:
    """A light on its frame."""
    made = element(LIGHT, part.row, PAIRS)
    name, kind = made.pop("name"), made.pop("type")
    ((owner, frame),) = part.ends
    return {"name": name, "type": kind, "parent": [lowered.reference(owner, ""), frame], **made}


def restraint(part: Part, lowered: Lowered) -> dict[str, Any]:
    """A restraint, along a joint or between two frames."""
    made = element(RESTRAINT, part.row, PAIRS)
    name, kind = made.pop("name"), made.pop("type")
    pairs = [[lowered.reference(owner, part.assembly), frame] for owner, frame in part.ends]
    return {"name": name, "type": kind, **({"body_frame_pair": pairs} if pairs else {}), **made}


def element(table: Table, row: Row, dialect: str) -> dict[str, Any]:
    """The values of a row that say something, where a dialect has them."""
    made: dict[str, Any] = {}
    for item in table:
        if item.name not in row:
            continue
        value = row[item.name]
        if value is None or (same(value, item.default) and item.name not in _ALWAYS[table.what]):
            continue
        holder = made
        *groups, last = item.path_in(dialect)
        for group in groups:
            holder = holder.setdefault(group, {})
        holder[last] = value
    return made
