"""Whether rows of an x_xy document say the same."""

from __future__ import annotations

from ...core.transforms import identical
from . import notes
from .rows import LinkRow
from .write import geom_text, link_attributes, omc_text


def written_alike(old: LinkRow | None, new: LinkRow) -> bool:
    """Return whether two links are written alike, apart from what hangs on them."""
    if old is not None and _identical(old, new):
        return True
    if old is None or notes.spelt(old.note) != notes.spelt(new.note) or link_attributes(old) != link_attributes(new):
        return False
    parts = [([geom_text(row) for row in link.geoms], [omc_text(row) for row in link.omcs]) for link in (old, new)]
    return parts[0] == parts[1]


def _identical(old: LinkRow, new: LinkRow) -> bool:
    """Return whether two links are the same to the last digit, so that they need not be written to be compared."""
    return (
        (old.name, old.joint, old.numbers, old.note) == (new.name, new.joint, new.numbers, new.note)
        and identical(old.pose, new.pose)
        and len(old.geoms) == len(new.geoms)
        and old.omcs == new.omcs
        and all(
            (one.kind, one.dim, one.mass, one.color, one.edge_color)
            == (two.kind, two.dim, two.mass, two.color, two.edge_color)
            and identical(one.pose, two.pose)
            for one, two in zip(old.geoms, new.geoms, strict=True)
        )
    )
