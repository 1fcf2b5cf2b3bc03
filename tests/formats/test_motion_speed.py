"""Reading a long XMDI document takes at most twice as long as the shortest script that could, and writing it unedited
no longer than reading it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from addon import formats
from addon.formats.xmdi import FRAME_SECONDS

SERVOS, KEYS = 30, 20_000


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A document of 30 servos with 20,000 keys each."""
    rng = np.random.default_rng(1)
    frames = " ".join(map(str, range(KEYS)))
    servos = "".join(
        f'<servo name="s{number}">\n<position>{" ".join(map(repr, rng.standard_normal(KEYS).round(6).tolist()))}'
        f"</position>\n<frames>{frames}</frames>\n</servo>\n"
        for number in range(SERVOS)
    )
    path = tmp_path / "long.xmdi"
    path.write_text(f'<xmdi>\n<motions>\n<motion name="m">\n{servos}</motion>\n</motions>\n</xmdi>\n')
    return path


def script(path: Path) -> list[tuple[str, Any, Any]]:
    """What a program would do that knows the file to be sound, and that servos share their frames."""
    known: dict[str, Any] = {}
    found = []
    for servo in etree.parse(path).getroot().iter("servo"):
        frames = servo.findtext("frames")
        if frames not in known:
            known[frames] = np.fromstring(frames, sep=" ") * FRAME_SECONDS
        found.append((servo.get("name"), known[frames], np.fromstring(servo.findtext("position"), sep=" ")))
    return found


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.slow
def test_reading_and_writing_are_fast(document: Path) -> None:
    (motion,) = formats.load_motions(document)
    for (name, times, values), trajectory in zip(script(document), motion.trajectories, strict=True):
        assert name == trajectory.name
        assert (times == trajectory.times).all()
        assert (values == trajectory.values).all()
    taken = [
        (
            seconds(lambda: script(document)),
            seconds(lambda: formats.read_motions(document)),
            seconds(lambda: formats.dumps_motions(motion, "xmdi")),
        )
        for _ in range(7)
    ]
    shortest, reading, writing = map(min, zip(*taken, strict=True))
    assert reading <= 2 * shortest
    assert writing <= reading
