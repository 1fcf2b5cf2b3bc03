"""Which points the polygons of .obj and .ply files have, read for the boxes around them: no more of a file than that, a
part at a time, whatever else is in it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from ..core.model import Array
from .mesh_files import MeshTrouble
from .numbers import read_many
from .ply import Head, List

_STATEMENT = rb"^[ \t]*%s[ \t]+([^\n]*)"
_POINT, _FACE = (re.compile(_STATEMENT % letter, re.MULTILINE) for letter in (b"v", b"f"))
#: Of a corner all but its point.
_MORE = re.compile(rb"/\S*")
#: Lines that are held while they become numbers.
_AT_ONCE = 5000


#: A decimal comma in a coordinate of a point.
_COMMA = re.compile(rb"^[ \t]*v[ \t](?:[^\n#]*[ \t])?[+-]?[0-9]*,[0-9]", re.MULTILINE)


def obj_faults(data: bytes, polygons: int) -> str:
    """Describe what other programs pass over in an .obj in silence; empty for nothing. ``polygons``: how many they
    found. MeshTrouble for points with decimal commas, of which they make other points."""
    if b"," in data and (comma := _COMMA.search(data)):
        line = data.count(b"\n", 0, comma.end()) + 1
        raise MeshTrouble(
            f"line {line} of this mesh has a decimal comma", remedy="Write its coordinates with decimal points."
        )
    if polygons == data.count(b"\nf ") + data.startswith(b"f "):
        return ""
    faults = Faults()
    with suppress(MeshTrouble):
        obj_points(data, faults)
    return faults.told


@dataclass
class Faults:
    """Polygons of an .obj that are none: how many, and the line of the first, where that is known."""

    count: int = 0
    line: int = 0

    @property
    def told(self) -> str:
        """Say in words how many polygons are none, and where; empty where all are."""
        if not self.count:
            return ""
        those = "polygon is" if self.count == 1 else "polygons are"
        what = "too few corners or points that are not there"
        where = f" (first on line {self.line})" if self.line else ""
        return f"{self.count} {those} left out, with {what}{where}"


def obj_points(data: bytes, faults: Faults | None = None) -> Array:
    """The points (n, 3) that polygons of an .obj name, without the polygons that are none (see ``Faults``). MeshTrouble
    where there are no others."""
    faults = Faults() if faults is None else faults
    whole = data
    if b"\\" in data:  # at the end of a line that goes on in the next
        data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    starts, parts = array("q"), []
    for lines in _statements(_POINT, data):
        starts.extend(start for start, _ in lines)
        parts.append(_coordinates([line for _, line in lines]))
    points = np.concatenate(parts) if parts else np.empty((0, 3))
    used, before = np.zeros(len(points), bool), np.array(starts, np.int64)
    for lines in _statements(_FACE, data):
        try:
            if any(len(line.split(None, 2)) != 3 for _, line in lines):
                raise MeshTrouble("a polygon has no three corners")
            _use_faces(used, before, lines)
        except MeshTrouble:
            for start, line in lines:
                try:
                    if len(line.split(None, 2)) != 3:
                        raise MeshTrouble("a polygon has no three corners")
                    _use_faces(used, before, [(start, line)])
                except MeshTrouble:
                    if not faults.count and whole is data:
                        faults.line = data.count(b"\n", 0, start) + 1
                    faults.count += 1
    return _used(points, used)


def _use_faces(used: np.ndarray, before: np.ndarray, faces: Sequence[tuple[int, bytes]]) -> None:
    """Mark the points of polygons, of which each is given by where its line begins and what it says."""
    text = b" ".join(line for _, line in faces)
    numbers = _numbers(_MORE.sub(b"", text) if b"/" in text else text)
    if (numbers < 0).any():  # counted from the line backwards
        there = np.searchsorted(before, [start for start, _ in faces])
        counts = [len(line.split()) for _, line in faces]
        if sum(counts) != len(numbers):
            raise MeshTrouble("a corner of this mesh has no point")
        numbers += (numbers < 0) * (1.0 + np.repeat(there, counts))
    _use(used, numbers - 1.0)


def _statements(kind: re.Pattern[bytes], data: bytes) -> Iterator[list[tuple[int, bytes]]]:
    """Yield where statements of a kind begin and what they say, some at a time, comments left out."""
    found = ((match.start(), match[1].partition(b"#")[0]) for match in kind.finditer(data))
    while some := list(islice(found, _AT_ONCE)):
        yield some


def _coordinates(lines: Sequence[bytes]) -> Array:
    """The first three numbers (n, 3) of each line; some have a weight or a colour behind them."""
    numbers = _numbers(b" ".join(lines))
    if len(numbers) != 3 * len(lines) or any(len(line.split(None, 3)) != 3 for line in lines):
        numbers = _numbers(b" ".join(chain.from_iterable(line.split(None, 3)[:3] for line in lines)))
        if len(numbers) != 3 * len(lines):
            raise MeshTrouble("a point of this mesh has no three coordinates")
    return numbers.reshape(-1, 3)


def _numbers(text: bytes) -> Array:
    found = read_many(text.decode("latin-1"))
    if found is None:
        raise MeshTrouble("this mesh has numbers that are none")
    return found


def _use(used: np.ndarray, places: Array) -> None:
    """Mark points by their places, counted from 0."""
    if len(places) and (places.min() < 0 or places.max() >= len(used) or (places % 1.0).any()):
        raise MeshTrouble("polygons of this mesh name points that are not there")
    used[places.astype(np.int64)] = True


def _used(points: Array, used: np.ndarray) -> Array:
    if not used.any():
        raise MeshTrouble("this file holds no mesh")
    return points[used]


def ply_points(data: bytes, head: Head) -> Array:
    """The points (n, 3) that polygons of a .ply name; the same."""
    body = _Words(data[head.end :]) if head.order is None else _Bytes(data, head.end, head.order)
    points, faces = np.empty((0, 3)), list[Array]()
    for name, count, properties in head.elements:
        rows = body.rows(count, properties)
        if name == b"vertex":
            points = np.stack([np.asarray(rows[axis], np.float64) for axis in (b"x", b"y", b"z")], axis=1)
        elif name == b"face":
            named = (each for each in (b"vertex_indices", b"vertex_index") if each in rows)
            faces = [np.asarray(rows[each], np.float64) for each in named]
    used = np.zeros(len(points), bool)
    for corners in faces:
        _use(used, corners)
    return _used(points, used)


Properties = Sequence[tuple[bytes, str | List]]


class _Words:
    """The numbers of a .ply in plain text, taken one element after the other."""

    def __init__(self, body: bytes) -> None:
        self.left = _numbers(body)

    def rows(self, count: int, properties: Properties) -> dict[bytes, Array]:
        """The values of each property of some rows; of a list, those of all rows that have three or more."""
        lists = [place for place, (_, kind) in enumerate(properties) if isinstance(kind, List)]
        if not lists:
            return self._table(count, [name for name, _ in properties])
        if len(lists) == 1 and (found := self._alike(count, properties, lists[0])) is not None:
            return found
        out: dict[bytes, list[Array]] = {name: [] for name, _ in properties}
        at, left = 0, self.left
        for _ in range(count):
            for name, kind in properties:
                length = 1
                if isinstance(kind, List):
                    _enough(left, at + 1)
                    length, at = int(left[at]), at + 1
                _enough(left, at + length if length >= 0 else -1)
                if not isinstance(kind, List) or length >= 3:
                    out[name].append(left[at : at + length])
                at += length
        self.left = left[at:]
        return {name: np.concatenate(each) if each else np.empty(0) for name, each in out.items()}

    def _table(self, count: int, names: Sequence[bytes]) -> dict[bytes, Array]:
        size = count * len(names)
        _enough(self.left, size)
        table, self.left = self.left[:size].reshape(count, len(names)), self.left[size:]
        return {name: table[:, place] for place, name in enumerate(names)}

    def _alike(self, count: int, properties: Properties, place: int) -> dict[bytes, Array] | None:
        """Read the rows of a table whose lists are as long as the first; None where they are not."""
        if not count or place >= len(self.left) or not 0 <= self.left[place] < len(self.left):
            return None
        length = int(self.left[place])
        width = len(properties) + length
        if count * width > len(self.left) or (self.left[place : count * width : width] != length).any():
            return None
        table, self.left = self.left[: count * width].reshape(count, width), self.left[count * width :]
        names = [name for name, _ in properties]
        out = {name: table[:, at if at < place else at + length] for at, name in enumerate(names) if at != place}
        return out | {names[place]: table[:, place + 1 : place + 1 + length].ravel() if length >= 3 else np.empty(0)}


class _Bytes:
    """The same of a binary .ply."""

    def __init__(self, data: bytes, start: int, order: str) -> None:
        self.data, self.at, self.order = data, start, order

    def rows(self, count: int, properties: Properties) -> dict[bytes, Array]:
        """As of ``_Words``."""
        lists = [place for place, (_, kind) in enumerate(properties) if isinstance(kind, List)]
        if not lists:
            return self._table(count, [(name, np.dtype(self.order + str(kind))) for name, kind in properties])
        if len(lists) == 1 and (found := self._alike(count, properties, lists[0])) is not None:
            return found
        steps: list[tuple[bytes, np.dtype | None, np.dtype]] = []
        for name, kind in properties:
            if isinstance(kind, List):
                steps.append((name, np.dtype(self.order + kind.count), np.dtype(self.order + kind.item)))
            else:
                steps.append((name, None, np.dtype(self.order + kind)))
        out: dict[bytes, list[Array]] = {name: [] for name, _ in properties}
        data, at = self.data, self.at
        take: Callable[..., Array] = np.frombuffer
        for _ in range(count):
            for name, before, item in steps:
                length = 1
                if before is not None:
                    _enough(data, at + before.itemsize)
                    length, at = int(take(data, before, 1, at)[0]), at + before.itemsize
                _enough(data, at + length * item.itemsize if length >= 0 else -1)
                if before is None or length >= 3:
                    out[name].append(take(data, item, length, at))
                at += length * item.itemsize
        self.at = at
        return {name: np.concatenate(each) if each else np.empty(0) for name, each in out.items()}

    def _table(self, count: int, fields: list[tuple[bytes, np.dtype]]) -> dict[bytes, Array]:
        kind = np.dtype([(str(place), each) for place, (_, each) in enumerate(fields)])
        _enough(self.data, self.at + count * kind.itemsize)
        table = np.frombuffer(self.data, kind, count, self.at) if count else np.empty(0, kind)
        self.at += count * kind.itemsize
        return {name: table[str(place)] for place, (name, _) in enumerate(fields)}

    def _alike(self, count: int, properties: Properties, place: int) -> dict[bytes, Array] | None:
        listed = properties[place][1]
        assert isinstance(listed, List)
        before = [np.dtype(self.order + str(kind)) for _, kind in properties[:place]]
        length_at, length_kind = self.at + sum(each.itemsize for each in before), np.dtype(self.order + listed.count)
        if not count or length_at + length_kind.itemsize > len(self.data):
            return None
        length = int(np.frombuffer(self.data, length_kind, 1, length_at)[0])
        if not 0 <= length < len(self.data):
            return None
        fields: list[tuple] = [(str(at), each) for at, each in enumerate(before)]
        fields += [("length", length_kind), ("items", np.dtype(self.order + listed.item), (length,))]
        fields += [
            (str(at), np.dtype(self.order + str(kind)))
            for at, (_, kind) in enumerate(properties[place + 1 :], place + 1)
        ]
        row = np.dtype(fields)
        if self.at + count * row.itemsize > len(self.data):
            return None
        table = np.frombuffer(self.data, row, count, self.at)
        if (table["length"] != length).any():
            return None
        self.at += count * row.itemsize
        out = {name: table[str(at)] for at, (name, _) in enumerate(properties) if at != place}
        return out | {properties[place][0]: table["items"].ravel() if length >= 3 else np.empty(0)}


def _enough(data: Sequence | Array | bytes, wanted: int) -> None:
    if wanted < 0 or wanted > len(data):
        raise MeshTrouble("this mesh ends before all that it promises")
