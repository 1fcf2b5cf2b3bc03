"""The wave forms of a gait, and networks of nodes made ready to run.

A network is worked out once: which of its nodes ever get all their inputs, how deep they lie, and then
batches of equal nodes at equal depth, each of which is a handful of array operations whatever its size.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ..model import Array
from .behaviors import Network, Node

TURN = 2.0 * math.pi


def trapezoid(angle: Array, ramp: Array | float, width: Array | float) -> Array:
    """A square wave with sine ramps: ``angle`` (rad) up to one turn, sines run through in ``ramp`` of their
    length, reaching ``width`` (rad) from each zero. Negative angles are on the first ramp for ever."""
    centre = np.where(angle < math.pi - width, 0.0, np.where(angle < TURN - width, math.pi, TURN))
    away = angle - centre
    return np.where(away < width, np.sin(away / ramp + centre), np.where(centre == 0.0, 1.0, -1.0))


def one_turn(angle: Array) -> Array:
    """Whole turns taken off; negative angles are left as they are."""
    return np.where(angle >= TURN, np.mod(angle, TURN), angle)


def step(angle: Array) -> Array:
    return trapezoid(one_turn(np.where(angle < 0.0, angle + TURN, angle)), 0.5, math.pi / 4.0)


def _wave(degrees: Array, ramp: Array, width: Array, output_range: Array, offset: Array) -> Array:
    # At exactly one turn the program lets its input through, a spike of 360 times the range for one step;
    # here a full turn is no turn.
    return trapezoid(one_turn(np.radians(degrees)), ramp, width) * output_range + offset


def _wave_shape(node: Node) -> tuple[float, ...]:
    ramp = min(node.duty_cycle / 100.0, 1.0)
    width = max(math.pi / 2.0 * ramp, 0.01)
    return ramp or width / (math.pi / 2.0), width, node.output_range, node.output_offset


def _arithmetic_shape(node: Node) -> tuple[float, ...]:
    return (node.add, node.multiply, 0.0) if node.add_first else (0.0, node.multiply, node.add)


#: What a node does to the sum (or product) of its inputs, and the parameters of that.
NODE_FUNCTIONS: dict[str, tuple[Callable[..., Array] | None, Callable[[Node], tuple[float, ...]]]] = {
    "source": (None, lambda node: ()),
    "motor": (None, lambda node: ()),
    "multiply": (None, lambda node: ()),
    "constant": (np.add, lambda node: (node.value,)),
    "absolute": (np.abs, lambda node: ()),
    "limit": (lambda x, low, high: np.minimum(np.maximum(x, low), high), lambda node: (node.minimum, node.maximum)),
    "arithmetic": (lambda x, before, factor, after: (x + before) * factor + after, _arithmetic_shape),
    "wave": (_wave, _wave_shape),
}


@dataclass
class Batch:
    """Nodes of one kind at one depth: rows of the state that they write, edges that feed them."""

    kind: str
    rows: list[int] = field(default_factory=list)
    first_edges: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    parameters: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, row: int, edges: Iterable[tuple[int, float]], parameters: tuple[float, ...]) -> None:
        self.rows.append(row)
        self.first_edges.append(len(self.sources))
        for source, factor in edges:
            self.sources.append(source)
            self.factors.append(factor)
        self.parameters.append(parameters)

    def compiled(self) -> Callable[[Array], None]:
        """A function that advances the state, (rows, n), by these nodes."""
        rows, firsts, sources = (np.array(x, dtype=np.intp) for x in (self.rows, self.first_edges, self.sources))
        factors = np.array(self.factors)[:, None]
        function = NODE_FUNCTIONS[self.kind][0]
        columns = [np.array(column)[:, None] for column in zip(*self.parameters, strict=True)]
        gather = np.multiply.reduceat if self.kind == "multiply" else np.add.reduceat

        def run(state: Array) -> None:
            value = gather(state[sources] * factors, firsts, axis=0)
            state[rows] = value if function is None else function(value, *columns)

        return run


class Wiring:
    """Which nodes of a network ever get all their inputs, and how deep they lie.

    An edge whose source does not exist still counts as an input, so what hangs on it never happens; nor
    do cycles. A node that nothing leads to keeps the value that it begins with."""

    def __init__(self, network: Network) -> None:
        self.nodes: dict[str, Node] = {}
        for node in network.nodes:
            self.nodes.setdefault(node.id, node)
        self.inputs: dict[str, list[tuple[str, float]]] = {key: [] for key in self.nodes}
        outputs: dict[str, list[str]] = {key: [] for key in self.nodes}
        waiting: Counter[str] = Counter()
        for edge in network.edges:
            if edge.destination is None or edge.destination not in self.nodes:
                continue
            waiting[edge.destination] += 1
            if edge.source is not None and edge.source in self.nodes:
                self.inputs[edge.destination].append((edge.source, edge.factor))
                outputs[edge.source].append(edge.destination)
        self.depth = {key: 0 for key in self.nodes if not waiting[key]}
        reached = list(self.depth)
        for key in reached:
            for follower in outputs[key]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    self.depth[follower] = 1 + max(self.depth[source] for source, _ in self.inputs[follower])
                    reached.append(follower)

    def needed_for(self, key: str) -> set[str]:
        """A node and everything that it depends on."""
        found = {key}
        stack = [key]
        while stack:
            for source, _ in self.inputs[stack.pop()]:
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return found
