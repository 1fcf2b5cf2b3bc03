"""Records of a mechanism: bodies, joints and their degrees of freedom, in one neutral vocabulary.

Units are the file's own for length, mass and time; angles are radians. Poses are 4x4 float64
matrices acting on column vectors, in the file's own axes. Every joint, whatever its format, obeys

    X_child = X_parent @ joint.frame_parent @ J(q) @ inverse(joint.frame_child)

where ``J`` is the product of its degrees of freedom in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .report import Message

Array = NDArray[np.float64]

ShapeType = Literal[
    "box",
    "sphere",
    "ellipsoid",
    "cylinder",
    "capsule",
    "cone",
    "pyramid",
    "hemisphere",
    "plane",
    "mesh",
    "multi_sphere",
    "axes",
    "none",
]
DofKind = Literal["rotation", "translation", "screw", "ball", "free"]

#: Number of coordinates of a degree-of-freedom block of each kind in a joint's coordinate vector.
#: A ball is a rotation vector (rad), a free block a rotation vector followed by a translation. A screw
#: rotates about its axis and translates along it by its ``pitch`` per radian.
DOF_SIZE: dict[str, int] = {"rotation": 1, "translation": 1, "screw": 1, "ball": 3, "free": 6}


class HasKind(Protocol):
    """Degree of freedom: a ``Dof``, or the property group of one."""

    @property
    def kind(self) -> str:
        """Return the kind."""
        ...


_AnyDof = TypeVar("_AnyDof", bound=HasKind)


def first_indices(dofs: Iterable[HasKind]) -> list[int]:
    """Return the index of the first value of each degree of freedom of a joint, and the number of all values."""
    return [*accumulate((DOF_SIZE[dof.kind] for dof in dofs), initial=0)]


def dof_slices(dofs: Iterable[_AnyDof]) -> Iterator[tuple[_AnyDof, slice]]:
    """Yield each degree of freedom of a joint with the slice of its values among the joint's."""
    first = 0
    for dof in dofs:
        end = first + DOF_SIZE[dof.kind]
        yield dof, slice(first, end)
        first = end


def are_angles(dofs: Iterable[HasKind]) -> list[bool]:
    """Return for each value of a joint whether it is an angle (rad) and not a length."""
    return [dof.kind != "translation" and number < 3 for dof in dofs for number in range(DOF_SIZE[dof.kind])]


_IDENTITY, _ORIGIN, _Z = np.eye(4), np.zeros(3), np.array([0.0, 0.0, 1.0])


def identity() -> Array:
    """Return a new 4x4 identity pose."""
    return _IDENTITY.copy()


@dataclass(frozen=True)
class Plane:
    """Plane in the world: all points ``p`` with ``normal @ p == offset``; ``normal`` (3,) is a unit vector."""

    normal: Array
    offset: float = 0.0

    @property
    def reflection(self) -> Array:
        """Return the reflection of poses and points in the plane, (4, 4); it is its own inverse."""
        out = np.eye(4)
        out[:3, :3] -= 2.0 * np.outer(self.normal, self.normal)
        out[:3, 3] = 2.0 * self.offset * self.normal
        return out

    def mirror_points(self, points: Array) -> Array:
        """Return the mirror images of points (..., 3)."""
        image: Array = points @ self.reflection[:3, :3] + self.reflection[:3, 3]
        return image

    def height(self, point: Array) -> float:
        """Return the signed distance of a point (3,) from the plane, positive on the side of the normal."""
        return float(self.normal @ point - self.offset)


@dataclass(slots=True)
class Shape:
    """Geometry of a body: visual, collision or both.

    ``size`` by type: box and ellipsoid ``x y z`` (full lengths), sphere and hemisphere ``radius``, cylinder, capsule
    and cone ``length radius`` (along local Z; a capsule's length excludes its caps, a cone's origin is at half its
    height with the tip at +Z), pyramid ``x y length`` (base, and height along Z, origin at half height), mesh ``x y z``
    (scale of the file's coordinates), plane none (its normal is local Z). ``spheres`` holds a multi-sphere's balls,
    each ``(radius, x, y, z)``. ``soft`` marks a deformable shape that is represented by its undeformed primitive.
    """

    type: ShapeType
    size: dict[str, float] = field(default_factory=dict)
    pose: Array = field(default_factory=identity)  # in the body
    visual: bool = True
    collision: bool = True
    color: tuple[float, float, float, float] | None = None
    mesh: str | None = None
    spheres: list[tuple[float, float, float, float]] = field(default_factory=list)
    soft: bool = False
    name: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Body:
    """Rigid body.

    ``pose`` is its frame in the world at the design pose; ``com`` and ``inertia`` are in that frame (inertia about the
    center of mass). ``inertia`` None: computed from the shapes.
    """

    id: str
    name: str
    pose: Array = field(default_factory=identity)
    mass: float = 1.0
    com: Array = field(default_factory=_ORIGIN.copy)
    inertia: Array | None = None
    shapes: list[Shape] = field(default_factory=list)
    twin: str | None = None
    gravity: bool = True
    collidable: bool = True
    immobile: bool = False
    active: bool = True  # False: kept, but switched off in the file, itself or with its assembly
    assembly: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # fields of the format without an attribute here
    line: int | None = None


@dataclass(slots=True)
class Dof:
    """Degree of freedom of a joint; its axis is in the joint frame.

    ``lower`` and ``upper`` are None where there is no stop. ``file_sign`` relates the joint value to the file's: ``file
    = file_sign * value`` (Juice turns some hinges in the opposite sense). ``parts`` are the single coordinates of a
    ball (3) or free (6) block, where a format gives each its own stops, spring, damper and friction; those of the block
    are then ignored.
    """

    kind: DofKind
    axis: Array = field(default_factory=_Z.copy)
    lower: float | None = None
    upper: float | None = None
    position: float = 0.0
    velocity: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    gain: float = 0.0
    max_force: float = 0.0
    actuator: str = "servo"
    servo_stiffness: float = 0.0  # gains of the PD control law, which no format has
    servo_damping: float = 0.0
    file_sign: float = 1.0
    pitch: float = 0.0
    name: str = ""
    start: tuple[float, ...] = ()  # initial position of a ball (3) or free block (6), where it is not zero
    start_rates: tuple[float, ...] = ()  # its initial velocity
    parts: list[Dof] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def initial(self) -> Array:
        """Return the initial coordinates, (size of the kind,), in rad or length units."""
        size = DOF_SIZE[self.kind]
        return np.array([self.position] if size == 1 else self.start or [0.0] * size, dtype=np.float64)


@dataclass(slots=True)
class Joint:
    """Joint between two bodies (ids): ``parent``, which stays, and ``child``, which a positive coordinate moves.

    None is the world. An inactive joint is kept, drawn and written but neither poses nor simulates; where it lacks a
    body, the frame on that side is in the world.
    """

    id: str
    name: str
    type: str
    parent: str | None
    child: str | None
    frame_parent: Array = field(default_factory=identity)
    frame_child: Array = field(default_factory=identity)
    dofs: list[Dof] = field(default_factory=list)
    active: bool = True
    twin: str | None = None
    assembly: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    line: int | None = None

    @property
    def ends(self) -> tuple[str | None, str | None]:
        """Return parent and child."""
        return self.parent, self.child

    @property
    def size(self) -> int:
        """Return the number of the joint's values."""
        return first_indices(self.dofs)[-1]

    @property
    def initial(self) -> Array:
        """Return the initial values, (size,), in rad or length units."""
        return np.concatenate([dof.initial for dof in self.dofs]) if self.dofs else np.zeros(0)


@dataclass
class World:
    """Environment of the mechanism.

    ``erp`` and ``cfm`` are ODE's joint softness (error reduction parameter: share of the error removed per step;
    constraint force mixing: compliance), None where the format has none.
    """

    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    friction: float | None = None
    erp: float | None = None
    cfm: float | None = None
    time_step: float | None = None
    ground: float | None = None  # height of a ground plane, None for none


@dataclass(slots=True)
class Frame:
    """Reference frame: a named frame on a body (its id), or in the world where ``body`` is None."""

    name: str
    body: str | None
    pose: Array = field(default_factory=identity)
    assembly: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Light:
    """Light attached to a body, or in the world where ``body`` is None. Colors are RGB, 0 to 1."""

    name: str
    type: Literal["point", "spot", "directional"] = "point"
    body: str | None = None
    pose: Array = field(default_factory=identity)
    ambient: tuple[float, float, float] = (0.0, 0.0, 0.0)
    diffuse: tuple[float, float, float] = (1.0, 1.0, 1.0)
    specular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Restraint:
    """Spring, damper or friction between two frames or along a joint: a piecewise polynomial.

    ``coefficients`` has one row more than there are ``knots``, each in descending powers.
    """

    name: str
    type: str = "spring"
    joint: str | None = None
    bodies: tuple[str | None, str | None] | None = None
    frames: tuple[Array, Array] | None = None
    distance: str = ""
    knots: list[float] = field(default_factory=list)
    coefficients: list[list[float]] = field(default_factory=list)
    assembly: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Assembly:
    """Group of parts.

    ``path`` names it from the top (``robot:arm``). Parts of an assembly that is not ``active`` are kept but have no
    effect.
    """

    path: str
    name: str
    active: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Source:
    """Origin of a mechanism: format, dialect, path and the document.

    ``text`` is the whole document as read: saving without edits writes it back.
    """

    format: str = ""
    dialect: str = ""
    path: str = ""
    text: str = ""
    encoding: str = ""  # of the file; empty: UTF-8


#: Units of a motion's values; empty where unknown.
MotionUnit = Literal["", "rad", "m", "deg", "mm"]


@dataclass
class Trajectory:
    """Keyframes of one servo: times in seconds, ascending, and values in rad or length units, both of shape (n,).

    ``held`` (n,) is True where a key's value holds until the next key instead of changing linearly; None: all or none,
    by ``interpolation``. ``unit`` is the unit of the values, where known. ``root``: the values are a coordinate of the
    root motion and no servo's (see ``motion.root_motion``).
    """

    name: str
    times: Array
    values: Array
    interpolation: Literal["linear", "constant"] = "linear"
    held: NDArray[np.bool_] | None = None
    unit: MotionUnit = ""
    root: bool = False

    @property
    def has_constant_keys(self) -> bool:
        """Return whether any key's value may be held."""
        return self.held is not None or self.interpolation == "constant"

    def holds(self) -> NDArray[np.bool_]:
        """Return whether each key's value holds until the next, (n,)."""
        if self.held is not None:
            return self.held
        return np.full(len(self.times), self.interpolation == "constant")

    def at(self, times: Array) -> Array:
        """Interpolate the values at times (m,): linear or held between keys, constant outside the range of keys.

        Raises:
            ValueError: There are no keys.
        """
        if not len(self.times):
            raise ValueError(Message("Servo {} has no keyframes", repr(self.name)))
        straight = np.interp(times, self.times, self.values)
        before = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 1)
        return np.where(self.holds()[before], np.asarray(self.values)[before], straight)


@dataclass
class Motion:
    """Motion: a named set of trajectories with the attributes from its file.

    It is number ``index``, from 0, of the ``count`` motions in the document ``source``, which is None where it was not
    read from one. Saving it in that format again changes in the document only what differs. ``as_read`` are the
    document's trajectories, in its order.
    """

    name: str
    trajectories: list[Trajectory] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    source: Source | None = None
    index: int = 0
    count: int = 1
    as_read: tuple[Trajectory, ...] = ()

    @property
    def duration(self) -> float:
        """Return the time of the last key (s); 0 for an empty motion."""
        return max((float(t.times[-1]) for t in self.trajectories if len(t.times)), default=0.0)


@dataclass
class Mechanism:
    """Mechanism: bodies, joints and everything else that its model file says about them and what moves them.

    ``directed``: each joint's parent is nearer to the root than its child; Juice lists the two bodies in either order.
    ``mirror_plane`` is the plane of symmetry at the design pose; None: not chosen, and derived from the twins (see
    ``editing.sides``).
    """

    name: str = "Mechanism"
    world: World = field(default_factory=World)
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    restraints: list[Restraint] = field(default_factory=list)
    assemblies: list[Assembly] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    motions: list[Motion] = field(default_factory=list)
    directed: bool = True
    mirror_plane: Plane | None = None
    behaviours: Any = None  # gait.behaviors.Behaviours, where the file has a gait
    source: Source = field(default_factory=Source)
    report: Any = None  # core.report.Report of reading the file


class HasId(Protocol):
    """Part of a mechanism."""

    id: str


_Part = TypeVar("_Part", bound=HasId)


def by_id(parts: Iterable[_Part]) -> dict[str, _Part]:
    """Return bodies or joints by id, in their order; of several with the same id the first, as readers of files do."""
    out: dict[str, _Part] = {}
    for part in parts:
        out.setdefault(part.id, part)
    return out


def body_by_id(mechanism: Mechanism) -> dict[str, Body]:
    """Return the bodies of a mechanism by id."""
    return by_id(mechanism.bodies)


def joint_by_id(mechanism: Mechanism) -> dict[str, Joint]:
    """Return the joints of a mechanism by id."""
    return by_id(mechanism.joints)
