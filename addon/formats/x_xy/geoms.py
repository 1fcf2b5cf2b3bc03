"""The shapes of a body in the vocabulary of x_xy: its geoms, with masses that add up to the body's.

Where the masses of the geoms cannot give the body its mass, centre of mass and inertia, one more geom does: a box that
is wholly transparent and has them all, while the others weigh nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.mass_properties import body_inertia, shape_volume
from ...core.model import Array, Body, Shape
from . import geometry
from .mechanism import shape_of
from .notes import Note, difference, plain
from .rows import GeomRow
from .table import COLORS, GEOM_OF_SHAPE, GEOMS, Color
from .values import Remarks, spell_all

TRANSPARENT = "0 0 0 0"
#: Masses that agree this well, relative to what is to be reached, are the same.
SAME_MASS = 1e-9
#: Shares of their size by which centers of mass and moments differ that are the same in Blender's 32 bits.
SAME_IN_32_BITS = 3e-7
#: The loader takes no length that is not positive.
LEAST = 1e-9


@dataclass
class Geoms:
    """The geoms of a body, what its note has to say of them, and which of them carry only mass."""

    rows: list[GeomRow] = field(default_factory=list)
    noted: list[Note] = field(default_factory=list)  # one for each shape
    carriers: list[int] = field(default_factory=list)
    follows: bool = False  # the centre of mass and inertia follow the geoms

    def note(self) -> Note:
        """The part of the body's note that is about its shapes."""
        straight = [{"geom": k} for k in range(len(self.rows) - len(self.carriers))]
        out: Note = {} if self.noted == straight else {"shapes": self.noted}
        return out | ({"mass_geoms": self.carriers} if self.carriers else {})


def geoms_of(body: Body, remarks: Remarks, before: Body | None = None) -> Geoms:
    """The geoms of a body. ``before`` is the body as its document has it: where nobody edited its centre of mass and
    inertia since, they follow the geoms."""
    out = Geoms()
    masses: list[float | None] = []
    for shape in body.shapes:
        row = _row(shape, body.name, remarks)
        if row is None:
            out.noted.append(plain(shape))
            continue
        mass = shape.extra.get("mass")
        masses.append(float(mass) if isinstance(mass, int | float) else None)
        row.mass = masses[-1] or 0.0
        back = shape_of(row)
        apart = difference(shape, back, frozenset({"pose"} if row.pose is shape.pose else ()))
        changed = apart.get("extra", {})
        changed.pop("mass", None)
        changed.pop("color", None)
        if not changed:
            apart.pop("extra", None)
        out.noted.append({"geom": len(out.rows), **apart})
        out.rows.append(row)
    _give_mass(body, out, masses, remarks, before)
    return out


def _row(shape: Shape, name: str, remarks: Remarks) -> GeomRow | None:
    """The geom of a shape, without its mass; None where there is none such."""
    lowered = _lowered(shape, name, remarks)
    if lowered is None:
        return None
    kind = GEOM_OF_SHAPE[lowered.type]
    dim = tuple(max(abs(float(lowered.size[size])), LEAST) for size in kind.sizes)
    if kind.name == "xyz":
        if not geometry.same(shape.pose, np.eye(4)):
            remarks.warn("moved-axes", f"axes are drawn at their body's frame, not where they stand ('{name}')")
        return GeomRow("xyz", dim)
    edge = shape.extra.get("edge_color", "")
    return GeomRow(kind.name, dim, 0.0, shape.pose, _color(shape), edge if isinstance(edge, str) else "")


def _lowered(shape: Shape, name: str, remarks: Remarks) -> Shape | None:
    """A shape as one that x_xy has."""
    if shape.type in GEOM_OF_SHAPE:
        return shape if shape.type != "axes" else replace(shape, size={"length": shape.size.get("length", 1.0)})
    if shape.type == "cone":
        remarks.warn("approximated-shape", f"a cone is written as a cylinder ('{name}')")
        return replace(shape, type="cylinder")
    if shape.type == "hemisphere":
        remarks.warn("approximated-shape", f"a hemisphere is written as a sphere ('{name}')")
        return replace(shape, type="sphere")
    if shape.type == "ellipsoid":
        x, y, z = (shape.size[axis] for axis in "xyz")
        if x == y == z:
            return replace(shape, type="sphere", size={"radius": x / 2.0})
    if shape.type == "pyramid":
        size = {"x": shape.size["x"], "y": shape.size["y"], "z": shape.size["length"]}
        remarks.warn("approximated-shape", f"a pyramid is written as its bounding box ('{name}')")
        return replace(shape, type="box", size=size)
    if shape.type == "ellipsoid":
        remarks.warn("approximated-shape", f"an ellipsoid is written as its bounding box ('{name}')")
        return replace(shape, type="box")
    if shape.type == "multi_sphere" and shape.spheres:
        balls = np.array(shape.spheres)
        low, high = (balls[:, 1:] - balls[:, :1]).min(axis=0), (balls[:, 1:] + balls[:, :1]).max(axis=0)
        remarks.warn("approximated-shape", f"a shape of several spheres is written as its bounding box ('{name}')")
        middle = shape.pose @ geometry.pose_of((low + high) / 2.0, np.eye(3))
        return replace(shape, type="box", size=dict(zip("xyz", (high - low).tolist(), strict=True)), pose=middle)
    if shape.type != "none":
        remarks.warn("undrawn-shape", f"a shape cannot be drawn: {shape.type} ('{name}'); it is kept in a comment")
    return None


def _color(shape: Shape) -> str:
    """A colour as the file spells it: by its name where it has one and is still that colour."""
    name = shape.extra.get("color")
    if isinstance(name, str) and (shape.color is None if name not in COLORS else _same_color(shape, COLORS[name])):
        return name
    if shape.color is None:
        return ""
    return spell_all(shape.color if shape.color[3] != 1.0 else shape.color[:3])


def _same_color(shape: Shape, color: Color) -> bool:
    return shape.color is not None and bool(np.allclose(shape.color, color, atol=1e-6))


def _give_mass(body: Body, out: Geoms, masses: list[float | None], remarks: Remarks, before: Body | None) -> None:
    """Masses for the geoms, or a carrier for all of it."""
    choices = _choices(body, out.rows, masses)
    chosen = next((choice for choice in choices if _agrees(body, out.rows, choice)), None)
    if chosen is None and before is not None and _untouched(body, before):
        scaled = _choices(body, out.rows, masses)
        chosen = next((choice for choice in scaled if abs(sum(choice) - body.mass) <= SAME_MASS * abs(body.mass)), None)
        out.follows = chosen is not None
    if chosen is not None:
        for row, mass in zip(out.rows, chosen, strict=True):
            row.mass = mass
        return
    for row in out.rows:
        row.mass = 0.0
    out.carriers.append(len(out.rows))
    out.rows.append(_carrier(body, remarks))


def _untouched(body: Body, before: Body) -> bool:
    """Return whether the centre of mass and the inertia are still those of the document."""
    if body.inertia is None or before.inertia is None:
        return body.inertia is None
    same_inertia = _near(body.inertia, before.inertia, float(np.abs(before.inertia).max()))
    return same_inertia and _near(body.com, before.com)


def _choices(body: Body, rows: Sequence[GeomRow], masses: list[float | None]) -> Iterator[list[float]]:
    """Ways to spread the mass of a body over its geoms, the likeliest first."""
    own = [mass or 0.0 for mass in masses]
    if body.mass == 0.0 or any(mass is not None for mass in masses):
        yield own
    if total := sum(own):
        yield [mass * (body.mass / total) for mass in own]
    volumes = [shape_volume(shape_of(row)) if GEOMS[row.kind].shape != "axes" else 0.0 for row in rows]
    if volume := sum(volumes):
        yield [body.mass * part / volume for part in volumes]


def _agrees(body: Body, rows: Sequence[GeomRow], masses: Sequence[float]) -> bool:
    """Return whether geoms with such masses weigh what the body does."""
    weights = [(row.kind, row.dim, mass, row.pose) for row, mass in zip(rows, masses, strict=True)]
    mass, com, tensor = geometry.weigh(weights)
    if abs(mass - body.mass) > SAME_MASS * (abs(body.mass) or 1.0):
        return False
    if mass == 0.0:
        return body.inertia is None or _near(tensor, body.inertia) or not np.any(tensor)
    if not _near(com, body.com, np.abs(body.com).max(), SAME_IN_32_BITS):
        return False
    wanted = body_inertia(body)
    return _near(tensor, wanted, np.abs(wanted).max(), SAME_IN_32_BITS)


def _near(a: Array, b: Array, size: float = 1.0, share: float = SAME_MASS) -> bool:
    return bool(np.abs(np.asarray(a) - np.asarray(b)).max() <= share * (size or 1.0))


def _carrier(body: Body, remarks: Remarks) -> GeomRow:
    """A transparent box that weighs what the body does."""
    wanted = body_inertia(body)
    edges, turn = geometry.equivalent_box(body.mass, wanted) if body.mass else (np.zeros(3), np.eye(3))
    row = GeomRow(
        "box",
        tuple(float(max(edge, LEAST)) for edge in edges),
        body.mass,
        geometry.pose_of(body.com, turn),
        TRANSPARENT,
    )
    _, _, got = geometry.weigh([(row.kind, row.dim, row.mass, row.pose)])
    size = float(np.abs(wanted).max())
    apart = float(np.abs(got - wanted).max())
    if apart > 1e-6 * size and apart > 1e-12:
        share = apart / (size or apart)
        message = f"the inertia of '{body.name}' is one that no solid has; it is written {share:.2g} of it away"
        remarks.warn("approximated-inertia", message)
    return row
