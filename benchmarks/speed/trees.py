"""Large models that are trees, short chains about a middle body: in SKEL, and with more bodies in Juice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.at_work import worked_with
from benchmarks.mechanisms import written
from benchmarks.table import Row

#: Links in SKEL.
SIZES, QUICK = (200, 700, 2000), (4, 8, 16)
#: Bodies in Juice for each link.
MORE = 2.5


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Work with each, up to 2,000 and to 5,000 bodies."""
    for links in sizes:
        for name, told, bodies in (("skel", "SKEL tree", links), ("juice", "Juice tree", round(MORE * links))):
            yield from worked_with(written(folder, bodies, only=[name])[name], told, bodies, "bodies")
