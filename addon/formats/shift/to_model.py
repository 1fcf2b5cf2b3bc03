"""Conversion of a Shift document's elements to a mechanism."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from ...core.kinematics import spanning_tree
from ...core.loops.closure import loop_openings
from ...core.model import Array, Assembly, Body, Dof, Frame, Joint, Light, Mechanism, Restraint, Shape, Source, World
from ...core.record_utils import ZERO_TENSOR, ZERO_VECTOR
from ...core.report import FormatError, Message, Report
from ...core.transforms import IDENTITY_POSE, affine_inverse, inverse
from ..meshes.locate import is_network
from ..text.json_reader import JsonNode, parse
from . import conventions, extension_keys
from .reader import (
    PLACEMENT,
    Chain,
    Document,
    Elements,
    EndResolver,
    Reader,
    SourceElement,
    collect_elements,
    group_chains,
    intermediate_body_id,
    is_shift,
    read_extension,
    report_rotation_error,
    unique_paths,
)
from .schema import (
    ELEMENTARY,
    EXTENSION_KEY,
    FIXED,
    MOMENTS,
    ORIGIN,
    SEPARATOR,
    TYPES,
)

#: A loop open by more than this (length units or radians) is a warning.
LOOP_TOLERANCE = 1e-3
#: Fields of a body with mesh files.
_GEOMETRY_FIELDS = ("definition", "geometry")


def build(text: str, root: JsonNode, elements: Elements, reader: Reader) -> Document:
    """Build the document of its elements, with the mechanism that they describe."""
    return _Builder(text, root, elements, reader).document()


class _Builder:
    def __init__(self, text: str, root: JsonNode, elements: Elements, reader: Reader) -> None:
        self.elements, self.reader = elements, reader
        self.result = Mechanism(name=PurePath(reader.path).stem or "Mechanism", report=reader.report)
        self.made = Document(text, root, elements.dialect, elements, {}, {}, {}, self.result)
        self.result.source = Source("shift", elements.dialect, reader.path, text)
        self.id_of: dict[int, str] = {}  # id of the record by ``id`` of an element's node
        self.resolver = EndResolver(reader, self.result.bodies)
        self.off: set[str] = set()  # bodies that are switched off
        self.placed_roots: set[str] = set()  # bodies with a joint to the ground that only places them
        self.turn = 1.0

    def document(self) -> Document:
        """Build everything, in the order of dependencies."""
        self._world()
        self._assemblies()
        chains = group_chains(self.elements)
        between = {id(helper.node) for chain in chains for helper in chain.helpers}
        self._bodies(between)
        self._frames(between)
        self._joints(chains)
        self._place()
        reader, result = self.reader, self.result
        result.lights += [read_light(placed, self.resolver, reader) for placed in self.elements.lights]
        joints = {joint.id for joint in result.joints}
        result.restraints += [
            read_restraint(placed, self.resolver, joints, reader) for placed in self.elements.restraints
        ]
        self._report_renamed()
        return self.made

    def _world(self) -> None:
        row = self.elements.settings.row
        world = World(gravity=np.array(row["gravity"], dtype=np.float64))
        extension_keys.restore_world_extension(world, row[EXTENSION_KEY])
        self.result.world = world
        if str(row["angle"]).lower().startswith("deg"):
            self.turn = math.radians(1.0)
            self.reader.report.info("degrees", "angles of the file are in degrees and are converted to radians")

    def _assemblies(self) -> None:
        for path, placed in self.elements.assemblies.items():
            self.result.assemblies.append(Assembly(path, placed.name, bool(placed.row["active"])))

    def _is_on(self, assembly: str) -> bool:
        """Return whether an assembly and all those that contain it are active."""
        known = self.elements.assemblies
        while assembly:
            if assembly in known and not known[assembly].row["active"]:
                return False
            assembly = known[assembly].assembly if assembly in known else ""
        return True

    def _bodies(self, between: set[int]) -> None:
        """Create the bodies, except those between the pieces of a joint, which get temporary ids."""
        paths = unique_paths()
        for number, placed in enumerate(self.elements.bodies):
            name = self._named(placed, f"body {number + 1}")
            if id(placed.node) in between:
                self.id_of[id(placed.node)] = f"\0{number}"
                self.resolver.bodies.setdefault(placed.assembly, {}).setdefault(name, f"\0{number}")
                continue
            if name == FIXED:
                self.reader.warn(
                    "reserved-name", "'fixed' is the ground, so no joint can refer to this body", placed.node
                )
            own = paths(_join_path(placed.assembly, name))
            self.id_of[id(placed.node)] = own
            self.resolver.bodies.setdefault(placed.assembly, {}).setdefault(name, own)
            self.made.bodies[own, 0] = placed
            self.result.bodies.append(self._body(placed, own))

    def _body(self, placed: SourceElement, own: str) -> Body:
        row, said = placed.row, placed.places.keys()
        com = row["center_of_mass"]
        body = Body(
            own,
            str(read_extension(placed).get("name", placed.name)),
            mass=float(row["mass"]),
            pose=IDENTITY_POSE,  # until poses are computed
            com=np.array(com, dtype=np.float64) if any(com) else ZERO_VECTOR,
            shapes=[] if said.isdisjoint(_GEOMETRY_FIELDS) else self._shapes(placed),
            assembly=placed.assembly,
            line=placed.line,
        )
        if said.isdisjoint(MOMENTS):
            body.inertia = None if body.mass else ZERO_TENSOR
        else:
            xx, yy, zz, xy, yz, zx = (float(row[name]) for name in MOMENTS)
            has_some = any((xx, yy, zz, xy, yz, zx))
            body.inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) if has_some else ZERO_TENSOR
            self._report_inertia(np.linalg.eigvalsh(body.inertia).tolist() if xy or yz or zx else [xx, yy, zz], placed)
        kept = ((key, row[key]) for key in (*_GEOMETRY_FIELDS, "collision_geometry") if key in said)
        body.extra = {key: value for key, value in kept if value not in (None, "")}
        if not row["active"]:
            body.extra["active"] = False
        body.active = bool(row["active"]) and self._is_on(placed.assembly)
        if not body.active:
            self.off.add(own)
        extension_keys.restore_body_extension(body, row[EXTENSION_KEY])
        return body

    def _report_inertia(self, principal: list[float], placed: SourceElement) -> None:
        moments = sorted(principal)
        if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6) - 1e-12 or moments[0] < -1e-12:
            message = Message(
                "{}: moments of inertia are not physically possible; they are kept unchanged", placed.label
            )
            self.reader.warn("impossible-inertia", message, placed.node_of(*MOMENTS))

    def _shapes(self, placed: SourceElement) -> list[Shape]:
        collides = bool(placed.row["collision_geometry"])
        shapes = []
        for key in _GEOMETRY_FIELDS:
            try:
                groups = mesh_file_groups(placed.row[key])
            except ValueError as error:
                raise self.reader.error(
                    placed.node_of(key), str(error), 'Write [{"type": "mesh", "filename": ["link.obj"]}].'
                ) from None
            for files in groups:
                name = pick_mesh_file(files)
                if is_network(name):
                    message = Message(
                        "{} is a network address; Knuckle does not download files, and the mesh is skipped", name
                    )
                    self.reader.warn("mesh-address", message, placed.node_of(key))
                    continue
                extra = {"files": files, "include": _list_names(self.elements.settings.row["include"])}
                size = {"x": 1.0, "y": 1.0, "z": 1.0}
                shapes.append(Shape("mesh", size, mesh=name, collision=collides, extra=extra))
        return shapes

    def _frames(self, between: set[int]) -> None:
        for owner, placed in self.elements.frames:
            body = None if owner is None else self.id_of[id(owner.node)]
            name = self._named(placed, "frame")
            if name == ORIGIN:
                self.reader.warn(
                    "reserved-name", "'origin' is the body's own frame; this frame is not used", placed.node
                )
                continue
            if (body, name) in self.resolver.poses:
                self.reader.warn(
                    "repeated-name", Message("{} occurs twice; the first is used", placed.label), placed.node
                )
                continue
            turn = placed.row["R"] if "R" in placed.places else None
            report_rotation_error(self.reader, turn, placed.at("R"), placed.label)
            self.resolver.poses[body, name] = conventions.pose_from_rt(turn, placed.row["T"])
            self.made.frames[body, name] = placed
            if owner is None or id(owner.node) not in between:
                self.result.frames.append(Frame(name, body, self.resolver.poses[body, name], placed.assembly))

    def _joints(self, chains: list[Chain]) -> None:
        paths = unique_paths()
        maker = JointBuilder(self.resolver, self.reader, self.turn)
        for number, chain in enumerate(chains):
            first = chain.pieces[0]
            name = self._named(first, f"joint {number + 1}")
            if read_extension(first).get("placement"):
                end = self.resolver.place(first.ends[1], first.assembly, first)
                if end is not None and end[0] is not None:
                    self.made.joints[end[0], PLACEMENT] = first
                    self._root_pose(end[0], end[1], first)
                    continue
            on = self._is_on(first.assembly)
            pieces = [maker.joint(placed, self.off, on) for placed in chain.pieces]
            joint = pieces[0] if len(pieces) == 1 else merge_chain(pieces)
            joint.name = str(read_extension(first).get("name", chain.name if len(pieces) > 1 else name))
            joint.id = paths(_join_path(first.assembly, chain.name if len(pieces) > 1 else name))
            extension_keys.restore_joint_extension(joint, read_extension(first))
            for part, placed in enumerate(chain.pieces):
                self.made.joints[joint.id, part] = placed
            for part, helper in enumerate(chain.helpers, 1):
                self.made.bodies[joint.id, part] = helper
                token = self.id_of[id(helper.node)]
                for owner, frame in [key for key in self.made.frames if key[0] == token]:
                    self.made.frames[intermediate_body_id(joint.id, part), frame] = self.made.frames.pop((owner, frame))
            self.result.joints.append(joint)

    def _root_pose(self, body: str, frame: Array, placed: SourceElement) -> None:
        pose = conventions.displacement_pose(placed.row["initial_displacement"]) @ affine_inverse(frame)
        next(item for item in self.result.bodies if item.id == body).pose = pose
        self.placed_roots.add(body)

    def _place(self) -> None:
        """Compute the design poses along the tree, with every joint at zero, and report the openings of loops."""
        tree = spanning_tree(self.result, self.placed_roots)
        poses = tree.forward({})[0]
        for body, pose in zip(self.result.bodies, poses, strict=True):
            body.pose = pose
        joints = {joint.id: joint for joint in self.result.joints}
        errors = (
            loop_openings(self.result, tree=tree) if tree.loop_joints else {}
        )  # without loops there is nothing to pose
        for chord, (distance, angle) in errors.items():
            joint = joints[chord]
            severity = "warning" if max(distance, angle) > LOOP_TOLERANCE else "info"
            wide = f"{distance:.3g} m and {angle:.3g} rad"
            message = Message("closed loop at joint '{}': open by {} in the file", joint.name, wide)
            self.reader.report.add(severity, "loop", message, joint.line, self.made.joints[chord, 0].where)  # type: ignore[arg-type]
        if any(link.carrier is None for link in tree.links) or not self.result.bodies:
            return
        self.reader.report.info("floating", "no joint connects to the ground; a body is placed at its origin")

    def _named(self, placed: SourceElement, otherwise: str) -> str:
        if not placed.name:
            placed.row["name"] = otherwise
            self.reader.warn(
                "repaired-name", Message("the {} has no name; '{}' is used", placed.table.what, otherwise), placed.node
            )
        elif SEPARATOR in placed.name:
            self.reader.warn(
                "reserved-name",
                Message("{} has a ':' in its name, so no path can refer to it", placed.label),
                placed.node,
            )
        return placed.name

    def _report_renamed(self) -> None:
        for what, ids in (("bodies", self.result.bodies), ("joints", self.result.joints)):
            shared = sum(n for n in Counter((item.assembly, item.name) for item in ids).values() if n > 1)
            if shared:
                message = Message(
                    "{} {} share a name within their assembly; their order distinguishes them", shared, what
                )
                self.reader.report.info("shared-name", message)


def _join_path(assembly: str, name: str) -> str:
    return f"{assembly}{SEPARATOR}{name}" if assembly else name


def _list_names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])


_LIGHTS = {"point", "spot", "directional"}


def read_light(placed: SourceElement, resolver: EndResolver, reader: Reader) -> Light:
    """Convert an element to a light."""
    row = placed.row
    light = Light(str(row["name"]), "point")
    if row["type"] in _LIGHTS:
        light.type = row["type"]
    else:
        reader.warn(
            "unknown-light",
            Message("{} has the unknown type '{}'; a point light is used", placed.label, row["type"]),
            placed.node,
        )
    light.ambient, light.diffuse, light.specular = (tuple(map(float, row[key])) for key in ("Ka", "Kd", "Ks"))  # type: ignore[assignment]
    light.extra = {"type": row["type"], "frame": ORIGIN}
    parent = placed.node.get("parent")
    if parent is not None and parent.plain() is not None:
        placed.ends = [reader.end(parent)]
        end = resolver.place(placed.ends[0], "", placed)
        light.extra["frame"] = placed.ends[0].frame
        if end is None:
            reader.warn("missing-body", Message("{} is on a missing body", placed.label), parent)
        else:
            light.body, light.pose = end
    return light


def read_restraint(placed: SourceElement, resolver: EndResolver, joints: Collection[str], reader: Reader) -> Restraint:
    """Convert an element to a restraint; ``joints`` are the ids of all joints.

    Raises:
        FormatError: its knots and pieces do not match.
    """
    row = placed.row
    made = Restraint(str(row["name"]), row["type"], distance=row["distance_type"], assembly=placed.assembly)
    made.knots = [float(x) for x in row["knot_points"]]
    made.coefficients = [[float(x) for x in piece] for piece in row["coefficients"]]
    if len(made.coefficients) != len(made.knots) + 1:
        message = Message("{} has {} knots and {} pieces", placed.label, len(made.knots), len(made.coefficients))
        raise reader.error(placed.node_of("coefficients"), message, "Write one piece more than knots.")
    if any(a >= b for a, b in zip(made.knots, made.knots[1:], strict=False)):
        raise reader.error(placed.node_of("knot_points"), "the knots are not ascending", "Sort them.")
    if not row["active"]:
        made.extra["active"] = False
    if row["joint"]:
        made.joint = _find_joint(row["joint"], placed, joints, reader)
    if placed.ends:
        ends = [resolver.place(end, placed.assembly, placed) for end in placed.ends]
        if None in ends:
            reader.warn("missing-body", Message("{} acts on a missing body", placed.label), placed.node)
        else:
            (one, at_one), (other, at_other) = ends  # type: ignore[assignment]
            made.bodies, made.frames = (one, other), (at_one, at_other)
        made.extra["frames"] = [end.frame for end in placed.ends]
    return made


def _find_joint(name: str, placed: SourceElement, joints: Collection[str], reader: Reader) -> str | None:
    wanted = name if SEPARATOR in name or not placed.assembly else f"{placed.assembly}{SEPARATOR}{name}"
    if wanted in joints:
        return wanted
    reader.warn("missing-joint", Message("{} acts on the missing joint '{}'", placed.label, name), placed.node)
    return None


def merge_chain(pieces: list[Joint]) -> Joint:
    """Merge the pieces of a chain, whose axes all pass through one point, into one joint."""
    joint = replace(pieces[0], type="", child=pieces[-1].child, dofs=[])
    turned: Array = np.eye(4)
    for number, piece in enumerate(pieces):
        if number:
            turned = turned @ inverse(pieces[number - 1].frame_child) @ piece.frame_parent
        joint.dofs += [replace(dof, axis=_snap_axis(turned[:3, :3] @ dof.axis)) for dof in piece.dofs]
    joint.frame_child = pieces[-1].frame_child @ inverse(turned)
    joint.active = all(piece.active for piece in pieces)
    joint.extra = {"frames": [pieces[0].extra["frames"][0], pieces[-1].extra["frames"][1]]}
    joint.type = _joint_type([dof.kind for dof in joint.dofs])
    return joint


def _snap_axis(axis: Array) -> Array:
    """Return a unit vector without the rounding errors of rotations where it is a coordinate axis."""
    whole = np.round(axis)
    return whole if np.abs(axis - whole).max() < 1e-14 else axis


def _joint_type(kinds: list[str]) -> str:
    if set(kinds) == {"rotation"}:
        return "universal" if len(kinds) == 2 else "euler"
    return "translational" if set(kinds) == {"translation"} else "planar"


_RAW_FIELDS = ("axis", "initial_displacement", "initial_velocity", "stiffness", "damping")


class JointBuilder:
    """Builder of joints, without ids; ``turn`` is the file's unit of angle in radians."""

    def __init__(self, resolver: EndResolver, reader: Reader, turn: float) -> None:
        self.resolver, self.reader, self.turn = resolver, reader, turn

    def joint(self, placed: SourceElement, off: set[str], assembly_is_on: bool) -> Joint:
        """Convert an element to a joint.

        Args:
            placed: the element.
            off: ids of inactive bodies.
            assembly_is_on: whether its assembly is active.
        """
        row = placed.row
        kind = TYPES.get(str(row["type"]))
        ends = [self.resolver.place(end, placed.assembly, placed) for end in placed.ends]
        (parent, at_parent), (child, at_child) = (end or (None, np.eye(4)) for end in ends)
        joint = Joint("", placed.name, kind or str(row["type"]), parent, child, at_parent, at_child, line=placed.line)
        joint.assembly = placed.assembly
        joint.extra = {
            "type": row["type"],
            "frames": [end.frame for end in placed.ends],
            **{name: row[name] for name in _RAW_FIELDS if name in placed.places},
        }
        if not row["active"]:
            joint.extra["active"] = False
        self._freedom(joint, placed, kind)
        joint.active = bool(row["active"]) and assembly_is_on and not {parent, child} & off
        problem = self._problem(placed, kind, ends)
        if problem:
            joint.active = False
            joint.extra["broken"] = True
            self.reader.warn(
                "inactive-joint", Message("{} {}; it is kept inactive", placed.label, problem), placed.node
            )
        return joint

    def _problem(self, placed: SourceElement, kind: str | None, ends: list[Any]) -> str:
        if kind is None:
            return f"has the unknown type '{placed.row['type']}'"
        if None in ends:
            lost = placed.ends[ends.index(None)]
            return f"refers to the missing body '{SEPARATOR.join(lost.path)}'"
        return "has the same body as parent and child" if ends[0][0] == ends[1][0] else ""

    def _freedom(self, joint: Joint, placed: SourceElement, kind: str | None) -> None:
        """Set the degrees of freedom with their initial values and passive forces."""
        row = placed.row
        displacement, velocity = row["initial_displacement"], row["initial_velocity"]
        if isinstance(displacement, dict):
            report_rotation_error(self.reader, displacement.get("R"), placed.at("initial_displacement"), placed.label)
        if kind == "weld":
            joint.frame_parent = joint.frame_parent @ conventions.displacement_pose(displacement)
        elif kind == "ball":
            joint.dofs = [Dof("ball", start=_none_if_zero(conventions.ball_displacement(displacement)))]
        elif kind == "free":
            rates = conventions.free_velocity(velocity)
            start = conventions.free_displacement(displacement)
            joint.dofs = [Dof("free", start=_none_if_zero(start), start_rates=_none_if_zero(rates))]
        elif kind is not None:
            motion, axis = ELEMENTARY.get(str(row["type"]), ("rotation" if kind == "revolute" else "translation", None))
            unit = self.turn if motion == "rotation" else 1.0
            dof = Dof(motion, np.array(axis) if axis else self._axis(placed))  # type: ignore[arg-type]
            dof.position = float(displacement) * unit if isinstance(displacement, (int, float)) else 0.0
            dof.velocity = float(velocity) * unit if isinstance(velocity, (int, float)) else 0.0
            joint.dofs = [dof]
            self._forces(dof, placed, unit)

    def _axis(self, placed: SourceElement) -> Array:
        written = placed.row["axis"]
        axis = None if written is None else conventions.read_axis(written)
        if axis is None:
            message = Message("{} has no axis; z is used", placed.label)
            self.reader.warn("repaired-axis", message, placed.at("axis") or placed.node)
            return np.array([0.0, 0.0, 1.0])
        return axis

    def _forces(self, dof: Dof, placed: SourceElement, unit: float) -> None:
        stiffness, damping = placed.row["stiffness"], placed.row["damping"]
        spring, rest = conventions.spring_from_terms(stiffness)
        dof.stiffness, dof.rest, dof.damping = (
            spring / unit,
            rest * unit,
            conventions.damping_from_terms(damping) / unit,
        )
        beyond = any(stiffness[2:]) or (stiffness[:1] not in ([], [0]) and not spring)
        for name, lost in (("stiffness", beyond), ("damping", any(damping[2:]) or damping[:1] not in ([], [0]))):
            if lost:
                message = Message("{} of {}: only the linear part is simulated; the rest is kept", name, placed.label)
                self.reader.warn("partial-force", message, placed.node_of(name))


def _none_if_zero(numbers: Array) -> tuple[float, ...]:
    """Return numbers as a record holds them: an empty tuple if all are zero."""
    return tuple(float(x) for x in numbers) if np.any(numbers) else ()


MATERIALS = {".mtl"}


def mesh_file_groups(written: Any) -> list[list[str]]:
    """Return the groups of files of a ``definition`` or a ``geometry``.

    A ``definition`` has the names of one mesh and its materials, a ``geometry`` is an object ``{"type": "mesh",
    "filename": names}`` or a list of them.

    Raises:
        ValueError: it is neither.
    """
    if written is None:
        return []
    if isinstance(written, str):
        return [[written]]
    if isinstance(written, list) and all(isinstance(item, str) for item in written):
        return [written] if written else []
    groups = []
    for item in [written] if isinstance(written, dict) else written if isinstance(written, list) else [None]:
        if not isinstance(item, dict):
            raise ValueError("this is not a geometry")
        if item.get("type", "mesh") != "mesh":
            continue
        names = item.get("filename")
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("filename is not a list of names")
        if names:
            groups.append(list(names))
    return groups


def pick_mesh_file(files: list[str]) -> str:
    """Return the mesh of a group of files: the first that is not a material."""
    return next((name for name in files if os.path.splitext(name)[1].lower() not in MATERIALS), files[0])


def read(text: str, path: str = "", report: Report | None = None, root: JsonNode | None = None) -> Document:
    """Read a document; ``root`` is its parsed text, if available.

    Repairs and what was kept or left out are in the mechanism's report.

    Raises:
        FormatError: naming line and path, where it cannot be read.
    """
    report = Report() if report is None else report
    root = parse(text, path, report) if root is None else root
    if not is_shift(root):
        raise FormatError("this JSON is not a Shift model", path=path, line=1, remedy='Add "assemblies".')
    reader = Reader(text, path, report)
    elements = collect_elements(root, reader)
    reader.report_unknown_keys()
    return build(text, root, elements, reader)
