"""The parts of bodies and joints written into their document: shapes, markers and coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.transforms import inverse
from .changes import Changes
from .joints import coordinate_name
from .markup import AXIS_PATH, BLOCKS, DOF_PATH, INITIAL, Node, initial_row, shape_node, spelt, written
from .plan import PlannedJoint
from .read import Placed
from .rows import COORDINATE, same_value
from .shapes import inner_pose
from .table import AXES, DOF, MARKER, SHAPES, SIX, Row, spell_number, spell_numbers

Shapes = Sequence[tuple[str, Row]]


def shapes_patched(changes: Changes, body: Placed, old: Shapes, new: Shapes) -> bool:
    """Write the shapes of a body that differ; whether there were any."""
    placed = [part for part in body.parts if part.table.tag in SHAPES]
    pairs = _paired(old, new)
    altered = False
    last: Placed | None = None
    for before, after in pairs:
        if before is not None and after is not None:
            altered |= _shape(changes, placed[before], old[before], new[after])
        elif before is not None:
            altered = True
            changes.delete(placed[before].element)
        elif after is not None and new[after][1]["type"] is not None:
            altered = True
            changes.add(body.element, shape_node(*new[after]), last.element if last is not None else None)
        last = placed[before] if before is not None else last
    return altered


def markers_patched(changes: Changes, body: Placed, old: Sequence[Row], new: Sequence[Row]) -> bool:
    """Write the markers of a body anew where any of them differs; whether one did."""
    if len(old) == len(new) and all(same_value(a[path], b[path]) for a, b in zip(old, new, strict=True) for path in a):
        return False
    for part in body.parts:
        if part.table is MARKER:
            changes.delete(part.element)
    for row in new:
        changes.add(body.element, written("marker", MARKER, row))
    return True


def coordinates_patched(changes: Changes, item: Placed, old: PlannedJoint, new: PlannedJoint) -> bool:
    """Write the numbers of a joint's coordinates that differ, each where the document has it: in its <dof>, under its
    axis, or with where the joint begins; and the names of those that are others in this order. Whether there were
    any."""
    block = new.row["@type"] in BLOCKS
    dofs = _dof_elements(item)
    made: dict[int, Node] = {}
    initial: set[str] = set()
    altered = False
    for i, (before, after) in enumerate(zip(old.coordinates, new.coordinates, strict=True)):
        values: dict[str, Any] = {
            path: after["extra"].get(path) for path in before["extra"].keys() | after["extra"].keys()
        }
        was = {path: before["extra"].get(path) for path in values}
        values |= {DOF_PATH[name]: after[name] for name in COORDINATE}
        was |= {DOF_PATH[name]: before[name] for name in COORDINATE}
        of_path = {path: name for name, path in DOF_PATH.items()}
        for path, value in values.items():
            if path not in DOF or same_value(was[path], value):
                continue
            altered = True
            name = of_path.get(path, "")
            text = None if value is None else spell_number(value)
            if i in dofs and dofs[i].row.says(path):
                changes.set(dofs[i], path, text)
            elif name in INITIAL.values():
                initial.add(next(field for field, attribute in INITIAL.items() if attribute == name))
            elif name and not block and i < len(AXES):
                changes.set(item, f"{AXES[i]}/{AXIS_PATH[name]}", text)
            elif i in dofs:
                changes.set(dofs[i], path, text)
            elif text is not None:
                made.setdefault(i, Node("dof", {"local_index": str(i)})).put(path, text)
    for i, name in _names_changed(old, new):
        if i not in dofs:
            made.setdefault(i, Node("dof", {"local_index": str(i)})).attributes["name"] = name
        elif dofs[i].row["@name"] != name:
            changes.set(dofs[i], "@name", name)
        altered = True
    whole = initial_row(new)
    for field in initial:
        values_now = whole[field] or (0.0,) * len(new.coordinates)
        changes.set(item, field, spell_numbers(values_now))
    for node in made.values():
        changes.add(item.element, node)
    return altered


def _names_changed(old: PlannedJoint, new: PlannedJoint) -> list[tuple[int, str]]:
    """Coordinates that are not called as at this place before, though the joint is called the same: index and name."""
    row = new.row | {"@name": old.row["@name"]}
    out = []
    for i, (before, after) in enumerate(zip(old.coordinates, new.coordinates, strict=True)):
        was, now = (coordinate_name(each, each["@type"], i) for each in (old.row, row))
        kept = before["name"] == after["name"]
        if after["name"] and not (kept and was == now) and (after["name"] != now or before["name"] != was):
            out.append((i, after["name"]))
    return out


def _dof_elements(item: Placed) -> dict[int, Placed]:
    found: dict[int, Placed] = {}
    for part in item.parts:
        index = part.row["@local_index"]
        found[0 if index is None else int(index)] = part
    return found


def _shape(changes: Changes, placed: Placed, old: tuple[str, Row], new: tuple[str, Row]) -> bool:
    if old[0] != new[0] or old[1]["type"] != new[1]["type"] or not _same_balls(old[1], new[1]):
        if new[1]["type"] is None:
            return False
        changes.replace(placed.element, shape_node(*new))
        return True
    altered = False
    for path in (*new[1], *(path for path in old[1] if path not in new[1])):
        if path not in placed.table or same_value(old[1].get(path), new[1].get(path)):
            continue
        altered = True
        value = new[1].get(path)
        item = placed.table[path]
        if path == "color" and value is not None and len(placed.row[path] or ()) == 3 and value[3:] == (1.0,):
            value = value[:3]  # as the document has it
        if item.kind is SIX:
            value = value @ inverse(inner_pose(placed.row))  # a plane's own place is in its normal and offset
        near = placed.row[path] if item.kind is SIX else None
        changes.set(placed, path, None if value is None else spelt(item, value, near))
    return altered


def _same_balls(old: Row, new: Row) -> bool:
    return same_value(old.get("spheres", ()), new.get("spheres", ()))


def _paired(old: Shapes, new: Shapes) -> list[tuple[int | None, int | None]]:
    """Which shape of the document is which of now: one by one where they are as many, else those that are the same in
    order, and between them what is left."""
    if len(old) == len(new):
        return [(i, i) for i in range(len(old))]
    common = _longest_common(old, new)
    pairs: list[tuple[int | None, int | None]] = []
    a = b = 0
    for i, k in [*common, (len(old), len(new))]:
        pairs += [(x, None) for x in range(a, i)]
        pairs += [(None, y) for y in range(b, k)]
        if i < len(old):
            pairs.append((i, k))
        a, b = i + 1, k + 1
    return pairs


def _longest_common(old: Shapes, new: Shapes) -> list[tuple[int, int]]:
    same = [[_equal(a, b) for b in new] for a in old]
    best = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for k in reversed(range(len(new))):
            best[i][k] = best[i + 1][k + 1] + 1 if same[i][k] else max(best[i + 1][k], best[i][k + 1])
    found, i, k = [], 0, 0
    while i < len(old) and k < len(new):
        if same[i][k]:
            found.append((i, k))
            i, k = i + 1, k + 1
        elif best[i + 1][k] >= best[i][k + 1]:
            i += 1
        else:
            k += 1
    return found


def _equal(a: tuple[str, Row], b: tuple[str, Row]) -> bool:
    return a[0] == b[0] and all(same_value(a[1].get(path), b[1].get(path)) for path in a[1].keys() | b[1].keys())
