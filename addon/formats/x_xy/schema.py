"""Schema of x_xy files: every element and attribute, the joints and geoms, and the named colors.

Reading, defaults, comparing and writing follow these tables. Names and widths are those of imt-ring's loader;
``OLD_ATTRIBUTES`` are spellings of the format's documentation, which the loader rejects.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.model import DOF_SIZE, ShapeType

ROOT = "x_xy"

#: Attributes of each element that the loader accepts, in the order of writing.
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "x_xy": ("model",),
    "options": ("gravity", "dt"),
    "defaults": (),
    "worldbody": (),
    "body": (
        "name",
        "joint",
        "pos",
        "quat",
        "euler",
        "pos_min",
        "pos_max",
        "damping",
        "armature",
        "spring_stiff",
        "spring_zero",
    ),
    "geom": ("type", "mass", "pos", "quat", "euler", "dim", "color", "edge_color"),
    "omc": ("name", "pos_marker", "pos"),
}
#: Other spellings of an attribute in documents, by element.
OLD_ATTRIBUTES: dict[str, dict[str, str]] = {"x_xy": {"name": "model"}, "geom": {"size": "dim", "colour": "color"}}
#: Parents that an element may have.
PARENTS: dict[str, frozenset[str]] = {
    "options": frozenset({ROOT}),
    "defaults": frozenset({ROOT}),
    "worldbody": frozenset({ROOT}),
    "body": frozenset({"worldbody", "body", "defaults"}),
    "geom": frozenset({"worldbody", "body", "defaults"}),
    "omc": frozenset({"body"}),
}

#: Reading of an accelerometer at rest (m/s2): the acceleration of free fall is its opposite.
DEFAULT_GRAVITY = (0.0, 0.0, 9.81)
DEFAULT_DT = 0.01

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Block:
    """Degree of freedom of a joint: its kind, and its axis in the body's frame.

    ``rate`` is the index of its first number among the joint's velocities (damping, armature, spring_stiff), ``place``
    that among its coordinates (spring_zero).
    """

    kind: str
    axis: Vector = Z
    rate: int = 0
    place: int = 0

    @property
    def rates(self) -> slice:
        """Slice of its numbers among the joint's velocities."""
        return slice(self.rate, self.rate + DOF_SIZE[self.kind])

    @property
    def places(self) -> slice:
        """Slice of its numbers among the joint's coordinates, in which a spatial rotation is a quaternion."""
        return slice(self.place, self.place + DOF_SIZE[self.kind] + (self.kind in {"ball", "free"}))


@dataclass(frozen=True)
class JointKind:
    """Joint of the file: our type, and its degrees of freedom in the order in which they act.

    ``chosen`` if the axes are not in the file (the program draws them at random); ``refused`` if the loader rejects it.
    """

    name: str
    type: str
    blocks: tuple[Block, ...] = ()
    chosen: bool = False
    refused: bool = False

    @property
    def velocities(self) -> int:
        """Count of numbers in damping, armature and spring_stiff."""
        return sum(DOF_SIZE[block.kind] for block in self.blocks)

    @property
    def coordinates(self) -> int:
        """Count of numbers in spring_zero."""
        return sum(block.places.stop - block.places.start for block in self.blocks)


def _single_axis(kind: str, letter: str, axis: Vector) -> JointKind:
    return JointKind(letter, "revolute" if kind == "rotation" else "prismatic", (Block(kind, axis),))


def _translations(rate: int = 0, place: int = 0) -> tuple[Block, ...]:
    return tuple(Block("translation", axis, rate + i, place + i) for i, axis in enumerate((X, Y, Z)))


# rr, rr_imp and rsaddle replace ry and saddle in other versions of the same models, from which their axes are taken.
_KINDS = (
    JointKind("frozen", "weld"),
    _single_axis("rotation", "rx", X),
    _single_axis("rotation", "ry", Y),
    _single_axis("rotation", "rz", Z),
    _single_axis("translation", "px", X),
    _single_axis("translation", "py", Y),
    _single_axis("translation", "pz", Z),
    JointKind("p3d", "translational", _translations()),
    JointKind("saddle", "universal", (Block("rotation", Y, 0, 0), Block("rotation", Z, 1, 1))),
    JointKind(
        "free_2d",
        "planar",
        (Block("translation", Y, 1, 1), Block("translation", Z, 2, 2), Block("rotation", X, 0, 0)),
    ),
    JointKind("spherical", "ball", (Block("ball"),)),
    JointKind("free", "free", (Block("free"),)),
    JointKind("cor", "cor", (Block("free"), *_translations(6, 7)), refused=True),
    JointKind("rr", "revolute", (Block("rotation", Y),), chosen=True),
    JointKind("rr_imp", "universal", (Block("rotation", Y, 0, 0), Block("rotation", Z, 1, 1)), chosen=True),
    JointKind("rsaddle", "universal", (Block("rotation", Y, 0, 0), Block("rotation", Z, 1, 1)), chosen=True),
)
JOINTS: dict[str, JointKind] = {kind.name: kind for kind in _KINDS}


def joint_kind(name: str) -> JointKind | None:
    """Return the kind of a joint by its name; None for one registered at run time, whose motion is unknown.

    The program's variants of ``free``, ``cor`` and ``spherical`` (such as ``free_leg``) move like these.
    """
    if name in JOINTS:
        return JOINTS[name]
    return next((JOINTS[base] for base in ("free", "cor", "spherical") if name.startswith(base)), None)


@dataclass(frozen=True)
class GeomKind:
    """Geom of the file: our type of shape, and our sizes in the order of its ``dim``."""

    name: str
    shape: ShapeType
    sizes: tuple[str, ...]
    default: tuple[float, ...] = ()


GEOMS: dict[str, GeomKind] = {
    kind.name: kind
    for kind in (
        GeomKind("box", "box", ("x", "y", "z")),
        GeomKind("sphere", "sphere", ("radius",)),
        GeomKind("cylinder", "cylinder", ("radius", "length")),
        GeomKind("capsule", "capsule", ("radius", "length")),
        GeomKind("xyz", "axes", ("length",), (1.0,)),
    )
}
GEOM_OF_SHAPE = {kind.shape: kind for kind in GEOMS.values()}

#: Names of a joint's four lists of numbers in the file, with the attributes of a dof.
DOF_ATTRIBUTES = {"damping": "damping", "armature": "armature", "spring_stiff": "stiffness", "spring_zero": "rest"}

GeomColor = tuple[float, float, float, float]


def _opaque(red: float, green: float, blue: float) -> GeomColor:
    return red, green, blue, 1.0


def _from_bytes(red: int, green: int, blue: int) -> GeomColor:
    return red / 255, green / 255, blue / 255, 1.0


#: Named colors of imt-ring's renderers.
COLORS: dict[str, GeomColor] = {
    "self": _opaque(0.7, 0.5, 0.1),
    "effector": _opaque(0.7, 0.4, 0.1),
    "decoration": _opaque(0.3, 0.5, 0.7),
    "eye": _opaque(0.0, 0.2, 1.0),
    "target": _opaque(0.6, 0.3, 0.3),
    "site": (0.5, 0.5, 0.5, 0.3),
    "red": _opaque(0.8, 0.2, 0.2),
    "green": _opaque(0.2, 0.8, 0.2),
    "blue": _opaque(0.2, 0.2, 0.8),
    "yellow": _opaque(0.8, 0.8, 0.2),
    "cyan": _opaque(0.2, 0.8, 0.8),
    "magenta": _opaque(0.8, 0.2, 0.8),
    "white": _opaque(0.8, 0.8, 0.8),
    "gray": _opaque(0.5, 0.5, 0.5),
    "brown": _opaque(0.6, 0.3, 0.1),
    "orange": _opaque(0.8, 0.5, 0.2),
    "pink": _opaque(0.8, 0.75, 0.8),
    "purple": _opaque(0.5, 0.2, 0.5),
    "lime": _opaque(0.5, 0.8, 0.2),
    "gold": _opaque(0.8, 0.84, 0.2),
    "black": _opaque(0.1, 0.1, 0.1),
    "matplotlib_green": _opaque(0.0, 0.502, 0.0),
    "matplotlib_blue": _opaque(0.012, 0.263, 0.8745),
    "matplotlib_lightblue": _opaque(0.482, 0.784, 0.9647),
    "matplotlib_salmon": _opaque(0.98, 0.502, 0.447),
    "dustin_exp_blue": _from_bytes(75, 93, 208),
    "dustin_exp_white": _from_bytes(241, 239, 208),
    "dustin_exp_orange": _from_bytes(227, 139, 61),
}
WORLD_BODY = "worldbody"
