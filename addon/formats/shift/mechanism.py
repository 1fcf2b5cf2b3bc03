"""Elements of a Shift document to the records of a mechanism."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import PurePath
from typing import Any

import numpy as np

from ...core.kinematics import spanning_tree
from ...core.loops.closure import chord_errors
from ...core.model import Array, Assembly, Body, Frame, Mechanism, Shape, Source, World
from ...core.record_utils import HERE, MIDDLE, NOTHING
from ...core.transforms import affine_inverse
from ..jsontext import Node
from ..mesh_files import is_network
from . import keep, values
from .attachments import light_of, restraint_of
from .chains import Chain, chained, merged
from .document import PLACEMENT, Document, Elements, between_id, mark_of, own_paths
from .joint_records import JointMaker
from .meshes import files_of, mesh_of
from .read import Placed, Reader
from .resolve import Resolver, tell_loose
from .table import FIXED, MARK, MOMENTS, ORIGIN, SEPARATOR

#: A loop open by more than this (length units or radians) is worth a warning.
OPEN = 1e-3
#: Where a body's mesh files stand.
_LOOKS = ("definition", "geometry")


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
        self.resolver = Resolver(reader, self.result.bodies)
        self.off: set[str] = set()  # bodies that are switched off
        self.placed_roots: set[str] = set()  # bodies that a joint to the ground does no more than place
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
        reader, result = self.reader, self.result
        result.lights += [light_of(placed, self.resolver, reader) for placed in self.elements.lights]
        joints = {joint.id for joint in result.joints}
        result.restraints += [
            restraint_of(placed, self.resolver, joints, reader) for placed in self.elements.restraints
        ]
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
        """Return whether an assembly is active, and all those that it is in."""
        known = self.elements.assemblies
        while assembly:
            if assembly in known and not known[assembly].row["active"]:
                return False
            assembly = known[assembly].assembly if assembly in known else ""
        return True

    def _bodies(self, between: set[int]) -> None:
        """Records of all bodies but those between the pieces of a joint, which get ids of their own for now."""
        paths = own_paths()
        for number, placed in enumerate(self.elements.bodies):
            name = self._named(placed, f"body {number + 1}")
            if id(placed.node) in between:
                self.id_of[id(placed.node)] = f"\0{number}"
                self.resolver.bodies.setdefault(placed.assembly, {}).setdefault(name, f"\0{number}")
                continue
            if name == FIXED:
                self.reader.warn("reserved-name", "'fixed' is the ground; no joint can mean this body", placed.node)
            own = paths(_joined(placed.assembly, name))
            self.id_of[id(placed.node)] = own
            self.resolver.bodies.setdefault(placed.assembly, {}).setdefault(name, own)
            self.made.bodies[own, 0] = placed
            self.result.bodies.append(self._body(placed, own))

    def _body(self, placed: Placed, own: str) -> Body:
        row, said = placed.row, placed.places.keys()
        com = row["center_of_mass"]
        body = Body(
            own,
            str(mark_of(placed).get("name", placed.name)),
            mass=float(row["mass"]),
            pose=HERE,  # until all are placed
            com=np.array(com, dtype=np.float64) if any(com) else MIDDLE,
            shapes=[] if said.isdisjoint(_LOOKS) else self._shapes(placed),
            assembly=placed.assembly,
            line=placed.line,
        )
        if said.isdisjoint(MOMENTS):
            body.inertia = None if body.mass else NOTHING
        else:
            xx, yy, zz, xy, yz, zx = (float(row[name]) for name in MOMENTS)
            has_some = any((xx, yy, zz, xy, yz, zx))
            body.inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) if has_some else NOTHING
            self._tell_inertia(np.linalg.eigvalsh(body.inertia).tolist() if xy or yz or zx else [xx, yy, zz], placed)
        kept = ((key, row[key]) for key in (*_LOOKS, "collision_geometry") if key in said)
        body.extra = {key: value for key, value in kept if value not in (None, "")}
        if not row["active"]:
            body.extra["active"] = False
        body.active = bool(row["active"]) and self._is_on(placed.assembly)
        if not body.active:
            self.off.add(own)
        keep.take_body(body, row[MARK])
        return body

    def _tell_inertia(self, principal: list[float], placed: Placed) -> None:
        moments = sorted(principal)
        if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6) - 1e-12 or moments[0] < -1e-12:
            message = f"no real body has the moments of inertia of {placed.label}; they are kept as they are"
            place = next(placed.at(name) for name in MOMENTS if name in placed.places)
            self.reader.warn("impossible-inertia", message, place)

    def _shapes(self, placed: Placed) -> list[Shape]:
        collides = bool(placed.row["collision_geometry"])
        shapes = []
        for key in _LOOKS:
            try:
                groups = files_of(placed.row[key])
            except ValueError as error:
                raise self.reader.error(
                    placed.at(key), str(error), 'Write [{"type": "mesh", "filename": ["link.obj"]}].'
                ) from None
            for files in groups:
                name = mesh_of(files)
                if is_network(name):
                    message = f"{name} is an address in a network; nothing is ever fetched, and the mesh is left out"
                    self.reader.warn("mesh-address", message, placed.at(key))
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
                self.reader.warn("reserved-name", "'origin' is every body's own; this frame is never used", placed.node)
                continue
            if (body, name) in self.resolver.poses:
                self.reader.warn("repeated-name", f"{placed.label} is there twice; the first counts", placed.node)
                continue
            turn = placed.row["R"] if "R" in placed.places else None
            tell_loose(self.reader, turn, placed.at("R"), placed.label)
            self.resolver.poses[body, name] = values.pose_of(turn, placed.row["T"])
            self.made.frames[body, name] = placed
            if owner is None or id(owner.node) not in between:
                self.result.frames.append(Frame(name, body, self.resolver.poses[body, name], placed.assembly))

    def _joints(self, chains: list[Chain]) -> None:
        paths = own_paths()
        maker = JointMaker(self.resolver, self.reader, self.turn)
        for number, chain in enumerate(chains):
            first = chain.pieces[0]
            name = self._named(first, f"joint {number + 1}")
            if mark_of(first).get("placement"):
                end = self.resolver.place(first.ends[1], first.assembly, first)
                if end is not None and end[0] is not None:
                    self.made.joints[end[0], PLACEMENT] = first
                    self._root_pose(end[0], end[1], first)
                    continue
            on = self._is_on(first.assembly)
            pieces = [maker.joint(placed, self.off, on) for placed in chain.pieces]
            joint = pieces[0] if len(pieces) == 1 else merged(pieces)
            joint.name = str(mark_of(first).get("name", chain.name if len(pieces) > 1 else name))
            joint.id = paths(_joined(first.assembly, chain.name if len(pieces) > 1 else name))
            keep.take_joint(joint, mark_of(first))
            for part, placed in enumerate(chain.pieces):
                self.made.joints[joint.id, part] = placed
            for part, helper in enumerate(chain.helpers, 1):
                self.made.bodies[joint.id, part] = helper
                token = self.id_of[id(helper.node)]
                for owner, frame in [key for key in self.made.frames if key[0] == token]:
                    self.made.frames[between_id(joint.id, part), frame] = self.made.frames.pop((owner, frame))
            self.result.joints.append(joint)

    def _root_pose(self, body: str, frame: Array, placed: Placed) -> None:
        pose = values.displaced(placed.row["initial_displacement"]) @ affine_inverse(frame)
        next(item for item in self.result.bodies if item.id == body).pose = pose
        self.placed_roots.add(body)

    def _place(self) -> None:
        """Design poses: along the tree with every joint at zero; then what the loops say at their positions."""
        tree = spanning_tree(self.result, self.placed_roots)
        poses = tree.forward({})[0]
        for body, pose in zip(self.result.bodies, poses, strict=True):
            body.pose = pose
        joints = {joint.id: joint for joint in self.result.joints}
        errors = chord_errors(self.result, tree=tree) if tree.loop_joints else {}  # else all would be posed for nothing
        for chord, (distance, angle) in errors.items():
            joint = joints[chord]
            severity = "warning" if max(distance, angle) > OPEN else "info"
            wide = f"{distance:.3g} (length) and {angle:.3g} rad"
            message = f"joint '{joint.name}' closes a loop, which the file leaves open by {wide} there"
            self.reader.report.add(severity, "loop", message, joint.line, self.made.joints[chord, 0].where)  # type: ignore[arg-type]
        if any(link.carrier is None for link in tree.links) or not self.result.bodies:
            return
        self.reader.report.info("floating", "nothing is joined to the ground; a body stands at its origin")

    def _named(self, placed: Placed, otherwise: str) -> str:
        if not placed.name:
            placed.row["name"] = otherwise
            self.reader.warn("repaired-name", f"the {placed.table.what} has no name; it is '{otherwise}'", placed.node)
        elif SEPARATOR in placed.name:
            self.reader.warn("reserved-name", f"{placed.label} has a ':' in its name; no path leads there", placed.node)
        return placed.name

    def _tell_names(self) -> None:
        for what, ids in (("bodies", self.result.bodies), ("joints", self.result.joints)):
            shared = sum(n for n in Counter((item.assembly, item.name) for item in ids).values() if n > 1)
            if shared:
                message = f"{shared} {what} share their name with another of their assembly; order tells them apart"
                self.reader.report.info("shared-name", message)


def _joined(assembly: str, name: str) -> str:
    return f"{assembly}{SEPARATOR}{name}" if assembly else name


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])
