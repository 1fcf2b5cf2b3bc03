"""Reading takes time in proportion to the file, whatever there is much of in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from addon import formats
from benchmarks.growth import MESHES, MOST, growth, shapes

#: Bytes of the smaller file.
SIZE = 15_000
#: How often a ratio is measured again that was too large: a machine has other work as well.
AGAIN = 4


@pytest.mark.parametrize("reader", shapes())
def test_four_times_the_file_takes_about_four_times_as_long(reader: str, tmp_path: Path) -> None:
    ratios: dict[str, float] = {}
    for shape in shapes()[reader]:
        for _ in range(AGAIN):
            small, large = growth(reader, shape, SIZE, tmp_path, times=1)
            ratios[shape] = min(large / small, ratios.get(shape, large / small))
            if ratios[shape] <= MOST:
                break
    assert {shape: round(ratio, 1) for shape, ratio in ratios.items() if ratio > MOST} == {}


def test_every_reader_has_shapes_of_growing_files() -> None:
    assert {*formats.FORMATS, *formats.MOTION_FORMATS, *MESHES} <= {*shapes()}
    assert sum(map(len, shapes().values())) > 350
