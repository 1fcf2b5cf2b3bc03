"""Elements of a Shift document to the records of a mechanism."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import PurePath
from typing import Any

import numpy as np

from ...model.kinematics import spanning_tree
from ...model.loops import chord_errors
from ...model.records import Array, Assembly, Body, Dof, Frame, Joint, Light, Mechanism, Restraint, Shape, Source, World
from ...model.report import FormatError
from ..jsontext import Node
from . import keep, values
from .chains import Chain, chained, merged
from .document import Document, Elements, between_id, mark_of, own_path
from .meshes import files_of, is_address, mesh_of
from .read import End, Placed, Reader, is_ground
from .table import ELEMENTARY, FIXED, MARK, MOMENTS, ORIGIN, SEPARATOR, TYPES

#: A loop open by more than this (length units or radians) is worth a warning.
OPEN = 1e-3
_LIGHTS = {"point", "spot", "directional"}


def build(text: str, root: Node, elements: Elements, reader: Reader) -> Document:
    """The document of its elements, with the mechanism that they describe."""
    return _Builder(text, root, elements, reader).document()


class _Builder:
    def __init__(self, text: str, root: Node, elements: Elements, reader: Reader) -> None:
        self.elements, self.reader = elements, reader
        self.result = Mechanism(name=PurePath(reader.path).stem or "Mechanism", report=reader.report)
        self.made = Document(text, root, elements.dialect, elements, {}, {}, {}, self.result)
        self.result.source = Source("shift", elements.dialect, reader.path, text)
        self.id_of: dict[int, str] = {}  # of an element's node
        self.bodies: dict[str, dict[str, str]] = {}  # assembly -> name -> id
        self.poses: dict[tuple[str | None, str], Array] = {}  # of frames
        self.off: set[str] = set()  # bodies that are switched off
        self.turn = 1.0

    def document(self) -> Document:
        """Everything, in the order in which one thing needs the other."""
        self._world()
        self._assemblies()
        chains = chained(self.elements)
        between = {id(helper.node) for chain in chains for helper in chain.helpers}
        self._bodies(between)
        self._frames(between)
        self._joints(chains)
        self._place()
        self._lights()
        self._restraints()
        self._tell_names()
        return self.made

    def _world(self) -> None:
        row = self.elements.settings.row
        world = World(gravity=np.array(row["gravity"], dtype=np.float64))
        keep.take_world(world, row[MARK])
        self.result.world = world
        if str(row["angle"]).lower().startswith("deg"):
            self.turn = math.radians(1.0)
            self.reader.report.info("degrees", "angles are in degrees in the file and in radians here")

    def _assemblies(self) -> None:
        for path, placed in self.elements.assemblies.items():
            self.result.assemblies.append(Assembly(path, placed.name, bool(placed.row["active"])))

    def _is_on(self, assembly: str) -> bool:
        """Whether an assembly is active, and all those that it is in."""
        known = self.elements.assemblies
        while assembly:
            if assembly in known and not known[assembly].row["active"]:
                return False
            assembly = known[assembly].assembly if assembly in known else ""
        return True

    def _bodies(self, between: set[int]) -> None:
        """Records of all bodies but those between the pieces of a joint, which get ids of their own for now."""
        taken: set[str] = set()
        for number, placed in enumerate(self.elements.bodies):
            name = self._named(placed, f"body {number + 1}")
            if id(placed.node) in between:
                self.id_of[id(placed.node)] = f"\0{number}"
                self.bodies.setdefault(placed.assembly, {}).setdefault(name, f"\0{number}")
                continue
            if name == FIXED:
                self.reader.warn("reserved-name", "'fixed' is the ground; no joint can mean this body", placed.node)
            own = own_path(_joined(placed.assembly, name), taken)
            taken.add(own)
            self.id_of[id(placed.node)] = own
            self.bodies.setdefault(placed.assembly, {}).setdefault(name, own)
            self.made.bodies[own, 0] = placed
            self.result.bodies.append(self._body(placed, own))

    def _body(self, placed: Placed, own: str) -> Body:
        row = placed.row
        body = Body(
            own,
            str(mark_of(placed).get("name", placed.name)),
            mass=float(row["mass"]),
            com=np.array(row["center_of_mass"], dtype=np.float64),
            shapes=self._shapes(placed),
            assembly=placed.assembly,
            line=placed.line,
        )
        if any(name in placed.places for name in MOMENTS) or not body.mass:
            xx, yy, zz, xy, yz, zx = (float(row[name]) for name in MOMENTS)
            body.inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
            self._tell_inertia(body, placed)
        if body.mass < 0:
            self.reader.warn("negative-mass", f"{placed.label} has a negative mass", placed.places["mass"])
        body.extra = {
            key: row[key] for key in ("definition", "geometry", "collision_geometry") if row[key] not in (None, "")
        }
        if not row["active"]:
            body.extra["active"] = False
        body.active = bool(row["active"]) and self._is_on(placed.assembly)
        if not body.active:
            self.off.add(own)
        keep.take_body(body, row[MARK])
        return body

    def _tell_inertia(self, body: Body, placed: Placed) -> None:
        moments = np.linalg.eigvalsh(body.inertia)
        if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6) - 1e-12 or moments[0] < -1e-12:
            message = f"no real body has the moments of inertia of {placed.label}; they are kept as they are"
            place = next(placed.places[name] for name in MOMENTS if name in placed.places)
            self.reader.warn("impossible-inertia", message, place)

    def _shapes(self, placed: Placed) -> list[Shape]:
        collides = bool(placed.row["collision_geometry"])
        shapes = []
        for key in ("definition", "geometry"):
            try:
                groups = files_of(placed.row[key])
            except ValueError as error:
                raise self.reader.error(
                    placed.places[key], str(error), 'Write [{"type": "mesh", "filename": ["link.obj"]}].'
                ) from None
            for files in groups:
                name = mesh_of(files)
                if is_address(name):
                    message = f"{name} is an address in a network; nothing is ever fetched, and the mesh is left out"
                    self.reader.warn("mesh-address", message, placed.places[key])
                    continue
                extra = {"files": files, "include": _listed(self.elements.settings.row["include"])}
                size = {"x": 1.0, "y": 1.0, "z": 1.0}
                shapes.append(Shape("mesh", size, mesh=name, collision=collides, extra=extra))
        return shapes

    def _frames(self, between: set[int]) -> None:
        for owner, placed in self.elements.frames:
            body = None if owner is None else self.id_of[id(owner.node)]
            name = self._named(placed, "frame")
            if name == ORIGIN:
                self.reader.warn("reserved-name", "'origin' is the body's own frame; this one is never used", placed.node)
                continue
            if (body, name) in self.poses:
                self.reader.warn("repeated-name", f"{placed.label} is there twice; the first counts", placed.node)
                continue
            turn = placed.row["R"] if "R" in placed.places else None
            self._tell_loose(turn, placed.places.get("R"), placed.label)
            self.poses[body, name] = values.pose_of(turn, placed.row["T"])
            self.made.frames[body, name] = placed
            if owner is None or id(owner.node) not in between:
                self.result.frames.append(Frame(name, body, self.poses[body, name], placed.assembly))

    def _tell_loose(self, turn: Any, node: Node | None, label: str) -> None:
        if turn is None or node is None:
            return
        if np.linalg.det(np.array(turn, dtype=np.float64)) < 0:
            self.reader.warn("mirrored-rotation", f"R of {label} mirrors; the nearest rotation is taken", node)
        elif (loose := values.looseness(turn)) > values.LOOSE:
            message = f"R of {label} is no rotation, by {loose:.2g}; the nearest one is taken"
            self.reader.warn("repaired-rotation", message, node)

    def _joints(self, chains: list[Chain]) -> None:
        taken: set[str] = set()
        for number, chain in enumerate(chains):
            first = chain.pieces[0]
            name = self._named(first, f"joint {number + 1}")
            if mark_of(first).get("placement"):
                end = self._end(first.ends[1], first.assembly, first)
                if end is not None and end[0] is not None:
                    self.made.joints[end[0], -1] = first
                    self._root_pose(end[0], end[1], first)
                    continue
            pieces = [self._joint(placed) for placed in chain.pieces]
            joint = pieces[0] if len(pieces) == 1 else merged(pieces)
            joint.name = str(mark_of(first).get("name", chain.name if len(pieces) > 1 else name))
            joint.id = own_path(_joined(first.assembly, chain.name if len(pieces) > 1 else name), taken)
            taken.add(joint.id)
            keep.take_joint(joint, mark_of(first))
            for part, placed in enumerate(chain.pieces):
                self.made.joints[joint.id, part] = placed
            for part, helper in enumerate(chain.helpers, 1):
                self.made.bodies[joint.id, part] = helper
                token = self.id_of[id(helper.node)]
                for owner, frame in [key for key in self.made.frames if key[0] == token]:
                    self.made.frames[between_id(joint.id, part), frame] = self.made.frames.pop((owner, frame))
            self.result.joints.append(joint)

    def _joint(self, placed: Placed) -> Joint:
        row = placed.row
        kind = TYPES.get(str(row["type"]))
        ends = [self._end(end, placed.assembly, placed) for end in placed.ends]
        (parent, at_parent), (child, at_child) = (end or (None, np.eye(4)) for end in ends)
        joint = Joint(
            "", placed.name, kind or str(row["type"]), parent, child, at_parent, at_child, line=placed.line
        )
        joint.assembly = placed.assembly
        joint.extra = {
            "type": row["type"],
            "frames": [end.frame for end in placed.ends],
            **{name: row[name] for name in _RAW if name in placed.places},
        }
        if not row["active"]:
            joint.extra["active"] = False
        self._freedom(joint, placed, kind)
        joint.active = bool(row["active"]) and self._is_on(placed.assembly) and not {parent, child} & self.off
        problem = self._problem(placed, kind, ends)
        if problem:
            joint.active = False
            self.reader.warn("inactive-joint", f"{placed.label} {problem}; it is kept and does nothing", placed.node)
        return joint

    def _problem(self, placed: Placed, kind: str | None, ends: list[Any]) -> str:
        if kind is None:
            return f"has the type '{placed.row['type']}', which is not known"
        if None in ends:
            lost = placed.ends[ends.index(None)]
            return f"joins the body '{SEPARATOR.join(lost.path)}', which is not there"
        return "joins a body to itself" if ends[0][0] == ends[1][0] else ""

    def _freedom(self, joint: Joint, placed: Placed, kind: str | None) -> None:
        """Degrees of freedom, with where they are and what pulls on them."""
        row = placed.row
        displacement, velocity = row["initial_displacement"], row["initial_velocity"]
        if isinstance(displacement, dict):
            self._tell_loose(displacement.get("R"), placed.places.get("initial_displacement"), placed.label)
        if kind == "weld":
            joint.frame_parent = joint.frame_parent @ values.displaced(displacement)
        elif kind == "ball":
            joint.dofs = [Dof("ball", start=_told(values.ball_start(displacement)))]
        elif kind == "free":
            rates = values.free_rates(velocity)
            start = values.free_start(displacement)
            joint.dofs = [Dof("free", start=_told(start), start_rates=_told(rates))]
        elif kind is not None:
            motion, axis = ELEMENTARY.get(str(row["type"]), ("rotation" if kind == "revolute" else "translation", None))
            unit = self.turn if motion == "rotation" else 1.0
            dof = Dof(motion, np.array(axis) if axis else self._axis(placed))  # type: ignore[arg-type]
            dof.position = float(displacement) * unit if isinstance(displacement, (int, float)) else 0.0
            dof.velocity = float(velocity) * unit if isinstance(velocity, (int, float)) else 0.0
            joint.dofs = [dof]
            self._forces(dof, placed, unit)

    def _axis(self, placed: Placed) -> Array:
        written = placed.row["axis"]
        axis = None if written is None else values.axis_of(written)
        if axis is None:
            message = f"{placed.label} has no axis; z is taken"
            self.reader.warn("repaired-axis", message, placed.places.get("axis", placed.node))
            return np.array([0.0, 0.0, 1.0])
        return axis

    def _forces(self, dof: Dof, placed: Placed, unit: float) -> None:
        stiffness, damping = placed.row["stiffness"], placed.row["damping"]
        spring, rest = values.spring_of(stiffness)
        dof.stiffness, dof.rest, dof.damping = spring / unit, rest * unit, values.damper_of(damping) / unit
        beyond = any(stiffness[2:]) or (stiffness[:1] not in ([], [0]) and not spring)
        for name, lost in (("stiffness", beyond), ("damping", any(damping[2:]) or damping[:1] not in ([], [0]))):
            if lost:
                message = f"of the {name} of {placed.label} only the part that grows with it acts here; the rest is kept"
                self.reader.warn("partial-force", message, placed.places[name])

    def _root_pose(self, body: str, frame: Array, placed: Placed) -> None:
        pose = values.displaced(placed.row["initial_displacement"]) @ np.linalg.inv(frame)
        next(item for item in self.result.bodies if item.id == body).pose = pose

    def _end(self, end: End, assembly: str, placed: Placed) -> tuple[str | None, Array] | None:
        """The body (None for the ground) and frame of an end; None where there is no such body."""
        if is_ground(end.path):
            body: str | None = None
        else:
            found = self._body_of(end.path, assembly, placed)
            if found is None:
                return None
            body = found
        if end.frame == ORIGIN:
            return body, np.eye(4)
        pose = self.poses.get((body, end.frame))
        if pose is None:
            message = f"{placed.label} names the frame '{end.frame}', which '{SEPARATOR.join(end.path)}' does not have"
            self.reader.warn("missing-frame", f"{message}; its origin is taken", end.frame_node or end.whole)
            return body, np.eye(4)
        return body, pose

    def _body_of(self, path: tuple[str, ...], assembly: str, placed: Placed) -> str | None:
        """A name is looked for in its own assembly, a longer path from the top."""
        if len(path) == 1:
            own = self.bodies.get(assembly, {}).get(path[0])
        else:
            own = self.bodies.get(SEPARATOR.join(path[:-1]), {}).get(path[-1])
        if own is not None:
            return own
        ending = SEPARATOR.join(path)
        found = [body.id for body in self.result.bodies if body.id.endswith(SEPARATOR + ending) or body.id == ending]
        if len(found) != 1:
            return None
        message = f"{placed.label} names '{ending}', which is in another assembly; '{found[0]}' is taken"
        self.reader.warn("repaired-path", message, placed.node)
        return found[0]

    def _place(self) -> None:
        """Design poses: along the tree with every joint at zero; then what the loops say at their positions."""
        tree = spanning_tree(self.result)
        poses = tree.forward({})[0]
        for body, pose in zip(self.result.bodies, poses, strict=True):
            body.pose = pose
        joints = {joint.id: joint for joint in self.result.joints}
        for chord, (distance, angle) in chord_errors(self.result, tree=tree).items():
            joint = joints[chord]
            severity = "warning" if max(distance, angle) > OPEN else "info"
            message = f"joint '{joint.name}' closes a loop, which is open by {distance:.3g} and {angle:.3g} rad there"
            self.reader.report.add(severity, "loop", message, joint.line, self.made.joints[chord, 0].where)  # type: ignore[arg-type]
        if any(link.carrier is None for link in tree.links) or not self.result.bodies:
            return
        self.reader.report.info("floating", "nothing is joined to the ground; the first body stands where the ground is")

    def _lights(self) -> None:
        for placed in self.elements.lights:
            row = placed.row
            light = Light(str(row["name"]), "point")
            if row["type"] in _LIGHTS:
                light.type = row["type"]
            else:
                self.reader.warn("unknown-light", f"{placed.label} is a '{row['type']}'; a point is taken", placed.node)
            light.ambient, light.diffuse, light.specular = (tuple(map(float, row[key])) for key in ("Ka", "Kd", "Ks"))  # type: ignore[misc]
            light.extra = {"type": row["type"], "frame": ORIGIN}
            parent = placed.node.get("parent")
            if parent is not None and parent.value is not None:
                placed.ends = [self.reader._end(parent)]
                end = self._end(placed.ends[0], "", placed)
                light.extra["frame"] = placed.ends[0].frame
                if end is None:
                    self.reader.warn("missing-body", f"{placed.label} hangs on a body that is not there", parent)
                else:
                    light.body, light.pose = end
            self.result.lights.append(light)

    def _restraints(self) -> None:
        for placed in self.elements.restraints:
            row = placed.row
            made = Restraint(str(row["name"]), row["type"], distance=row["distance_type"], assembly=placed.assembly)
            made.knots = [float(x) for x in row["knot_points"]]
            made.coefficients = [[float(x) for x in piece] for piece in row["coefficients"]]
            if len(made.coefficients) != len(made.knots) + 1:
                place = placed.places.get("coefficients", placed.node)
                message = f"{placed.label} has {len(made.knots)} knots and {len(made.coefficients)} pieces"
                raise self.reader.error(place, message, "Give one piece more than there are knots.")
            if any(a >= b for a, b in zip(made.knots, made.knots[1:], strict=False)):
                raise self.reader.error(placed.places["knot_points"], "the knots do not ascend", "Sort them.")
            if not row["active"]:
                made.extra["active"] = False
            if row["joint"]:
                made.joint = self._joint_named(row["joint"], placed)
            if placed.ends:
                ends = [self._end(end, placed.assembly, placed) for end in placed.ends]
                if None in ends:
                    self.reader.warn("missing-body", f"{placed.label} acts on a body that is not there", placed.node)
                else:
                    (one, at_one), (other, at_other) = ends  # type: ignore[misc]
                    made.bodies, made.frames = (one, other), (at_one, at_other)
                made.extra["frames"] = [end.frame for end in placed.ends]
            self.result.restraints.append(made)

    def _joint_named(self, name: str, placed: Placed) -> str | None:
        wanted = _joined(placed.assembly, name) if SEPARATOR not in name else name
        if any(joint.id == wanted for joint in self.result.joints):
            return wanted
        self.reader.warn("missing-joint", f"{placed.label} acts on the joint '{name}', which is not there", placed.node)
        return None

    def _named(self, placed: Placed, otherwise: str) -> str:
        if not placed.name:
            placed.row["name"] = otherwise
            self.reader.warn("repaired-name", f"the {placed.table.what} has no name; it is '{otherwise}'", placed.node)
        elif SEPARATOR in placed.name:
            self.reader.warn("reserved-name", f"{placed.label} has a ':' in its name; no path can lead there", placed.node)
        return placed.name

    def _tell_names(self) -> None:
        for what, ids in (("bodies", self.result.bodies), ("joints", self.result.joints)):
            shared = sum(n for n in Counter((item.assembly, item.name) for item in ids).values() if n > 1)
            if shared:
                message = f"{shared} {what} share their name with another of their assembly; they are told apart by order"
                self.reader.report.info("shared-name", message)


_RAW = ("axis", "initial_displacement", "initial_velocity", "stiffness", "damping")


def _joined(assembly: str, name: str) -> str:
    return f"{assembly}{SEPARATOR}{name}" if assembly else name


def _told(numbers: Array) -> tuple[float, ...]:
    """Numbers as a record has them: none where they are all zero."""
    return tuple(float(x) for x in numbers) if np.any(numbers) else ()


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])
