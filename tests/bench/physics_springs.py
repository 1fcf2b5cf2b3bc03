"""``build.py bench physics_springs``: what springs, restraints and screws do under physics, against mechanics.

Every row is a run in Blender's own world at the settings that an import chooses: what, value, bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.bench.physics_servos import Row, fresh, table
from tests.blender.physics import test_spring_rest


def springs() -> Iterator[Row]:
    """A spring on each coordinate of each kind of joint, at rest away from where the run begins, 4 s: by how much its
    time and the width of its swing are off (shares)."""
    rest, start = 0.3, 0.1
    for name, number in test_spring_rest.all_springs():
        for frequency in (5.0, 20.0, 60.0):
            mechanism = test_spring_rest.sprung(name, number, frequency, rest, start)
            values = test_spring_rest.coordinates(fresh(), mechanism, 241)
            late, wide = test_spring_rest.off(values, number, frequency, rest, start)
            what = f"spring, {name} axis {number}, {frequency:g} rad/s"
            yield f"{what}: period off (share)", abs(late), 0.01, abs(late) < 0.01
            yield f"{what}: swing off (share)", abs(wide), 0.05, abs(wide) < 0.05


PARTS: dict[str, Callable[[], Iterator[Row]]] = {"springs": springs}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return table("physics_springs", "Springs under physics.", PARTS, arguments)
