"""Cubic Hermite interpolation between closed positions of a linkage, along one of its input coordinates at a time."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model import Array

#: Least distance of nodes (rad or characteristic lengths); nearer ones are dropped.
_NEAREST = 2e-4
#: Largest number of nodes, at which all are dropped.
_MOST = 256


@dataclass
class Cubic:
    """Cubic Hermite polynomial of the dependent coordinates between two nodes.

    Attributes:
        start: Input coordinate of the first node.
        width: Distance of the second node's input coordinate.
        terms: Value and slope times width, of the first node and then of the second, (4, dependent).
        opening: Opening of the loops at the middle, where the error of a cubic is greatest; infinite where it must not
            be interpolated, None while it is unknown.
    """

    start: float
    width: float
    terms: Array
    opening: float | None = None

    def at(self, share: float) -> Array:
        """Evaluate the dependent coordinates (dependent,) at a share of the width: 0 and 1 are the nodes."""
        back = share - 1.0
        one, other = back * back, share * share
        weights = np.array(((1.0 + 2.0 * share) * one, share * one, (1.0 - 2.0 * back) * other, back * other))
        values: Array = weights @ self.terms
        return values


@dataclass
class _Line:
    """Nodes that differ in one input coordinate only, sorted by it, and the cubics between them."""

    inputs: list[float] = field(default_factory=list)
    nodes: list[tuple[Array, Array]] = field(default_factory=list)
    cubics: list[Cubic] = field(default_factory=list)

    def add(self, value: float, node: tuple[Array, Array]) -> None:
        """Insert a node (values, slopes) at an input coordinate, unless another is nearer than ``_NEAREST``."""
        place = bisect(self.inputs, value)
        if any(abs(value - other) < _NEAREST for other in self.inputs[max(place - 1, 0) : place + 1]):
            return
        self.inputs.insert(place, value)
        self.nodes.insert(place, node)
        first = max(place - 1, 0)
        self.cubics[first:place] = [self._cubic(number) for number in range(first, min(place + 1, len(self.nodes) - 1))]

    def _cubic(self, number: int) -> Cubic:
        (one, slope), (other, other_slope) = self.nodes[number : number + 2]
        start, end = self.inputs[number : number + 2]
        width = end - start
        return Cubic(start, width, np.array((one, width * slope, other, width * other_slope)))


class HermiteTable:
    """Closed positions of a linkage with their slopes, as nodes of cubics along each input coordinate."""

    def __init__(self) -> None:
        #: By the index of an input coordinate and the values of all others.
        self._lines: dict[tuple[int, tuple[float, ...]], _Line] = {}
        self._count = 0

    def add(self, inputs: Sequence[float], dependent: Array, slopes: Array) -> None:
        """Add a node: dependent coordinates (dependent,) and their ``slopes`` (inputs, dependent) at some inputs."""
        if self._count >= _MOST:
            self._lines, self._count = {}, 0
        self._count += 1
        for number, value in enumerate(inputs):
            line = self._lines.setdefault((number, (*inputs[:number], *inputs[number + 1 :])), _Line())
            line.add(value, (dependent, slopes[number]))

    def cubic(self, inputs: Sequence[float]) -> tuple[Cubic, int, float] | None:
        """Find the cubic between the nodes around some inputs, or the nearest one.

        Returns:
            The cubic, the index of the input along which it is, and the share of its width at the inputs; None where no
            two nodes are on a line with them.
        """
        for number, value in enumerate(inputs):
            line = self._lines.get((number, (*inputs[:number], *inputs[number + 1 :])))
            if line is not None and line.cubics:
                place = bisect_left(line.inputs, value) - 1
                cubic = line.cubics[min(max(place, 0), len(line.cubics) - 1)]
                return cubic, number, (value - cubic.start) / cubic.width
        return None
