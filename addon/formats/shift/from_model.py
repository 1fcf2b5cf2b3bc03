"""Conversion of a mechanism to Shift's rows of bodies, frames, joints, lights and restraints.

The mechanism as it was read and the current one are converted in the same way, so that the differences are the edits.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ...core.kinematics import spanning_tree
from ...core.mass_properties import body_inertia
from ...core.model import Array, Body, Joint, Mechanism, Shape, identity
from ...core.record_utils import records_equal
from ...core.transforms import affine_inverse
from ..document.conversion_losses import ConversionLosses
from . import conventions, extension_keys
from .conventions import POSE_ROUNDING, same_pose
from .from_model_joints import AssemblyTree, SafeNames, axis_rotation, default_joint_type, joint_row, path_safe_name
from .reader import PLACEMENT, Key, intermediate_body_id
from .schema import ENDS, EXTENSION_KEY, FIXED, MOMENTS, ORIGIN, SEPARATOR, Row
from .to_model import mesh_file_groups, pick_mesh_file


class ShiftConverter:
    """Converter of one mechanism to rows.

    Args:
        mechanism: the mechanism.
        dialect: ``pairs`` or ``ends``.
        top: name of an assembly for the parts that are in none.
        placed: bodies with a placement joint in the document, by which floating parts are held.
    """

    def __init__(self, mechanism: Mechanism, dialect: str, top: str = "", placed: Collection[str] = ()) -> None:
        self.mechanism, self.dialect, self.placed = mechanism, dialect, placed
        self.own = mechanism.source.format == "shift"
        self.losses = ConversionLosses()
        tree = AssemblyTree(mechanism, top)
        self.out = ShiftRows(tree, {}, {}, {}, {}, [], [], {None: {}}, {})
        self.active = {body.id for body in mechanism.bodies if body.active}
        self.used_names: dict[str, SafeNames] = {}
        self.joint_names: dict[str, SafeNames] = {}
        self.joint_of: dict[str, tuple[str, str]] = {}  # assembly and name by joint id
        self.frames: dict[str | None, FrameIndex] = {None: FrameIndex()}
        self.wanted: dict[tuple[str | None, str], list[Array]] = {}  # joints' poses, by owner and name of a frame

    def lowered(self, before: ShiftConverter | None = None) -> ShiftRows:
        """Convert everything.

        ``before`` is the converter of the document's mechanism, from which edits of frames are detected.
        """
        self._settings()
        for path, item in self.out.tree.assemblies.items():
            self.out.assemblies[path] = {"name": path_safe_name(item.name), "active": item.active, EXTENSION_KEY: None}
        for body in self.mechanism.bodies:
            self._name(body)
        rows = {} if before is None else before.body_rows()
        for body in self.mechanism.bodies:
            self._body(body, rows)
        self._document_frames()
        self._joint_frames(before)
        for joint in self.mechanism.joints:
            self._name_joint(joint)
        for joint in self.mechanism.joints:
            self._joint(joint)
        self._placements(before)
        self._lights()
        self._restraints()
        for owner, frames in self.frames.items():
            for name, pose in frames.poses.items():
                turn, shift = conventions.rt_from_pose(pose)
                self.out.frames.setdefault(owner, {})[name] = {"name": name, "T": shift, "R": turn, EXTENSION_KEY: None}
        self._report_unrepresented()
        return self.out

    def _settings(self) -> None:
        world = self.mechanism.world
        mark = extension_keys.world_extension(world)
        self.out.settings = {"gravity": conventions.to_nested_lists(world.gravity), EXTENSION_KEY: mark or None}
        if mark:
            self.losses.add(
                "kept-aside",
                "Friction, softness, ground and time step of the world: kept as extension data",
                self.mechanism,
            )

    def _name(self, body: Body) -> None:
        assembly = self.out.tree.assembly_of(body.assembly)
        names = get_or_make(self.used_names, assembly, SafeNames)
        # names that a document repeats stay repeated
        repeated = self.own and SEPARATOR not in body.name and body.name not in ("", FIXED)
        name = body.name if repeated else names.of(body.name, "body")
        names.add(name)
        self.out.names[body.id] = assembly, name

    def body_rows(self) -> dict[str, tuple[Body, str, Row]]:
        """Return body, name and row by id, for bodies whose rows depend on nothing else."""
        rows = self.out.bodies
        return {
            body.id: (body, self.out.names[body.id][1], rows[body.id, 0].row)
            for body in self.mechanism.bodies
            if body.twin is None
        }

    def _body(self, body: Body, rows: Mapping[str, tuple[Body, str, Row]]) -> None:
        """Convert a body; if it is unchanged, the row in ``rows`` is reused."""
        assembly, name = self.out.names[body.id]
        before = rows.get(body.id)
        if before is not None and before[1] == name and records_equal(before[0], body):
            row = before[2]
        else:
            row = self._body_row(body, name)
        if "shapes" in (row[EXTENSION_KEY] or ()):
            self.losses.add(
                "kept-aside",
                "Shapes other than a plain mesh file: kept as extension data, Shift does not show them",
                body,
            )
        self.out.bodies[body.id, 0] = OutputElement((body.id, 0), assembly, row)

    def _body_row(self, body: Body, name: str) -> Row:
        row: Row = {
            "name": name,
            "active": bool(body.extra.get("active", True)) if not body.active else True,
            "center_of_mass": conventions.to_nested_lists(body.com),
            "mass": float(body.mass),
            "collision_geometry": body.extra.get("collision_geometry", "") if self.own else "",
        }
        tensor = body_inertia(body)
        row |= {key: float(tensor[i, j]) + 0.0 for key, (i, j) in zip(MOMENTS, _MOMENT_INDICES, strict=True)}
        plain = [shape for shape in body.shapes if self._is_plain(shape, body)]
        row |= self._geometry(body, plain)
        beyond = body.shapes if len(plain) < len(body.shapes) else []
        mark = extension_keys.body_extension(body, beyond)
        if body.twin in self.out.names:
            mark["twin"] = self._path(body.twin)
        if name != body.name:
            mark["name"] = body.name
        row[EXTENSION_KEY] = mark or None
        return row

    def _path(self, body: str) -> str:
        """Return the path of a body from the top, by which it is known when the file is read."""
        assembly, name = self.out.names[body]
        return SEPARATOR.join(filter(None, (self.out.tree.written(assembly), name)))

    def _is_plain(self, shape: Shape, body: Body) -> bool:
        """Return whether a shape is fully expressed by the file's mesh entry."""
        return (
            shape.type == "mesh"
            and bool(shape.mesh)
            and shape.visual
            and shape.collision == bool(body.extra.get("collision_geometry") if self.own else False)
            and not shape.soft
            and shape.color is None
            and all(shape.size.get(axis, 1.0) == 1.0 for axis in "xyz")
            and np.array_equal(shape.pose, identity())
        )

    def _geometry(self, body: Body, meshes: list[Shape]) -> Row:
        raw = {key: body.extra.get(key) for key in ("definition", "geometry")} if self.own else {}
        written = [pick_mesh_file(files) for key in raw for files in mesh_file_groups(raw[key])]
        if raw and written == [shape.mesh for shape in meshes]:
            return raw
        groups = [[str(shape.mesh), *_material_files(shape)] for shape in meshes]
        if len(groups) == 1 and not (self.dialect == ENDS and raw.get("definition") is None):
            return {"definition": groups[0], "geometry": None}
        listed = [{"type": "mesh", "filename": group} for group in groups]
        return {"definition": None, "geometry": listed or None}

    def _document_frames(self) -> None:
        for frame in self.mechanism.frames:
            if frame.body is None or frame.body in self.out.names:
                frames = get_or_make(self.frames, frame.body, FrameIndex)
                frames.put(frames.names.of(frame.name, "frame"), frame.pose)

    def _joint_frames(self, before: ShiftConverter | None) -> None:
        """Move the document's frames that joints use to the poses that the joints want.

        A frame is moved if a joint wants it elsewhere than before, all its joints agree, and it was not moved itself. A
        difference between frame and joint that the document already has is no edit: the joint may name no body.
        """
        for joint in self.mechanism.joints if self.own else ():
            if len(joint.dofs) > 1:
                continue
            turn = axis_rotation(joint, joint.extra, self.dialect)
            sides = ((joint.parent, self._parent_frame(joint)), (joint.child, joint.frame_child))
            for (owner, pose), name in zip(sides, joint.extra.get("frames", ()), strict=False):
                if name != ORIGIN and (owner is None or owner in self.out.names):
                    self.wanted.setdefault((owner, name), []).append(pose @ turn)
        for (owner, name), poses in self.wanted.items():
            here = self._frame(owner, name)
            agree = all(conventions.same_pose(pose, poses[0]) for pose in poses)
            was = None if before is None else before._frame(owner, name)
            unmoved = here is None or (was is not None and conventions.same_pose(here, was))
            earlier = () if before is None else before.wanted.get((owner, name), ())
            edited = here is None or not any(conventions.same_pose(pose, poses[0]) for pose in earlier)
            if unmoved and agree and edited:
                get_or_make(self.frames, owner, FrameIndex).put(name, poses[0])

    def _frame(self, owner: str | None, name: str) -> Array | None:
        """Return the pose of a frame; None if there is none of this name."""
        return self.frames[owner].poses.get(name) if owner in self.frames else None

    def _parent_frame(self, joint: Joint) -> Array:
        """Return a joint's frame on its parent, without the fixed displacement that a rigid joint includes in it."""
        if joint.type == "weld" and self.own and not joint.dofs:
            return joint.frame_parent @ affine_inverse(
                conventions.displacement_pose(joint.extra.get("initial_displacement"))
            )
        return joint.frame_parent

    def frame_name(self, owner: str | None, pose: Array, hint: str) -> str:
        """Return the name of a frame at a pose on a body: ``hint`` if that is one, else another one, else a new one."""
        owner = owner if owner in self.out.names else None
        if hint == ORIGIN and conventions.same_pose(pose, identity()):
            return ORIGIN
        there = get_or_make(self.frames, owner, FrameIndex)
        if hint in there.poses and conventions.same_pose(there.poses[hint], pose):
            return hint
        if conventions.same_pose(pose, identity()):
            return ORIGIN
        found = there.at(pose)
        if found is None:
            found = there.names.of(hint if hint != ORIGIN else "frame", "part")
            there.put(found, pose)
        return found

    def _name_joint(self, joint: Joint) -> None:
        assembly = self.out.tree.assembly_of(joint.assembly)
        if joint.assembly == "" and self.out.tree.top and not self.own:
            known = (end for end in (joint.child, joint.parent) if end in self.out.names)
            assembly = next((self.out.names[end][0] for end in known), assembly)
        names = get_or_make(self.joint_names, assembly, SafeNames)
        keeps = self.own and SEPARATOR not in joint.name and joint.name
        name = joint.name if keeps else names.of(joint.name, "joint")
        names.add(name)
        self.joint_of[joint.id] = assembly, name

    def _joint(self, joint: Joint) -> None:
        assembly, name = self.joint_of[joint.id]
        if len(joint.dofs) > 1:
            self._chain(joint, assembly, name)
            return
        mark = self._joint_mark(joint, name, default_joint_type(joint))
        frames = joint.frame_parent, joint.frame_child
        if not joint.dofs and self.own:  # a rigid joint includes its displacement
            frames = self._parent_frame(joint), joint.frame_child
        part = OutputElement((joint.id, 0), assembly, {"name": name, EXTENSION_KEY: mark or None})
        self._piece(part, joint, frames, self._frame_hints(joint, name))

    def _piece(self, part: OutputElement, joint: Joint, frames: tuple[Array, Array], hints: tuple[str, str]) -> None:
        """Convert a joint with at most one degree of freedom to one element."""
        raw = joint.extra if self.own else {}
        turn = axis_rotation(joint, raw, self.dialect)
        part.row |= {**joint_row(joint, raw, self.dialect, self._degrees), "active": self._is_joint_active(joint)}
        for body, frame, hint in zip(joint.ends, frames, hints, strict=True):
            part.ends.append((body, self.frame_name(body, frame @ turn, hint)))
            if body is not None and body not in self.out.names:
                self.losses.add("dangling-reference", "Joint to a missing body: written as inactive", joint)
                part.row["active"] = False
        self.out.joints[part.key] = part

    def _joint_mark(self, joint: Joint, name: str, usual: str) -> Row:
        mark = extension_keys.joint_extension(joint, usual)
        if joint.twin in self.joint_of:  # by the id that it will have when read
            assembly, twin = self.joint_of[joint.twin]
            mark["twin"] = SEPARATOR.join(filter(None, (self.out.tree.written(assembly), twin)))
        if "dofs" in mark or "twin" in mark:
            self.losses.add("kept-aside", "Stops, motors, friction and twins of joints: kept as extension data", joint)
        if any(dof.kind == "screw" for dof in joint.dofs):
            self.losses.add(
                "approximated-joint", "Screw joint: written as a hinge, its pitch kept as extension data", joint
            )
        return mark | ({"name": joint.name} if name != joint.name else {})

    def _frame_hints(self, joint: Joint, name: str) -> tuple[str, str]:
        frames = joint.extra.get("frames") if self.own else None
        return (frames[0], frames[1]) if isinstance(frames, list) and len(frames) == 2 else (name, name)

    @property
    def _degrees(self) -> bool:
        entries = getattr(self.mechanism.report, "entries", ())
        return self.own and any(entry.code == "degrees" for entry in entries)

    def _is_joint_active(self, joint: Joint) -> bool:
        """Return a joint's own switch: it may be on although its assembly or its bodies are off."""
        if joint.active:
            return True
        own = bool(joint.extra.get("active", True)) if self.own else True
        path, on = joint.assembly, True
        while path:
            item = self.out.tree.assemblies.get(path)
            on = on and (item is None or item.active)
            path = self.out.tree.outer(path)
        ends = [end for end in joint.ends if end is not None]
        excused = bool(joint.extra.get("broken")) or any(end not in self.active for end in ends)
        return own if not on or (self.own and excused) else False

    def _chain(self, joint: Joint, assembly: str, name: str) -> None:
        """Convert a joint with several degrees of freedom to a chain of elementary joints and massless bodies."""
        self.losses.add(
            "split-joint", "Joint with several degrees of freedom: written as a marked chain of joints", joint
        )
        count, hints = len(joint.dofs), self._frame_hints(joint, name)
        names = get_or_make(self.used_names, assembly, SafeNames)
        before = joint.parent
        for part, dof in enumerate(joint.dofs):
            last = part == count - 1
            mark: Row = {"joint": name, "part": part + 1, "parts": count}
            if not part:
                mark |= self._joint_mark(joint, name, "")
            after = joint.child if last else intermediate_body_id(joint.id, part + 1)
            if not last:
                helper = names.of(f"{name}_{part + 1}", "part")
                self.out.names[str(after)] = assembly, helper
                row = {"name": helper, "active": True, EXTENSION_KEY: {"part_of": name}, **_MASSLESS_BODY}
                self.out.bodies[joint.id, part + 1] = OutputElement((joint.id, part + 1), assembly, row)
            frames = (identity() if part else joint.frame_parent), (joint.frame_child if last else identity())
            piece = replace(joint, parent=before, child=after, dofs=[dof], extra={})
            written = OutputElement((joint.id, part), assembly, {"name": f"{name}_{part + 1}", EXTENSION_KEY: mark})
            self._piece(written, piece, frames, ("in" if part else hints[0], hints[1] if last else "out"))
            before = after

    def _placements(self, before: ShiftConverter | None) -> None:
        """Place each part of the mechanism that is not connected to the ground by a joint of its own.

        A part held by a joint of the document that is only switched off is not placed, unless it was moved from its
        pose in ``before``.
        """
        ends = [joint.ends for joint in self.mechanism.joints if self.own and not joint.active]
        held = {body for pair in ends for body in pair}
        stood = {} if before is None else {body.id: body.pose for body in before.mechanism.bodies}
        for root in spanning_tree(self.mechanism, self.placed).roots:
            stays = conventions.same_pose(root.pose, stood.get(root.id, root.pose))
            if root.id in held and root.id not in self.placed and stays:
                continue
            assembly, name = self.out.names[root.id]
            fixed = root.immobile
            row: Row = {
                "name": get_or_make(self.joint_names, assembly, SafeNames).of(f"{name}_place", "part"),
                "active": root.active,
                "type": "rigid" if fixed else "float",
                "axis": None,
                "initial_displacement": conventions.format_displacement(root.pose),
                "initial_velocity": 0.0,
                "stiffness": [],
                "damping": [],
                EXTENSION_KEY: {"placement": True},
            }
            self.out.joints[root.id, PLACEMENT] = OutputElement(
                (root.id, PLACEMENT), assembly, row, [(None, ORIGIN), (root.id, ORIGIN)]
            )

    def _lights(self) -> None:
        for number, light in enumerate(self.mechanism.lights):
            hint = str(light.extra.get("frame", path_safe_name(light.name) or "light"))
            kind = light.extra.get("type", light.type) if self.own else light.type
            row: Row = {"name": light.name, "type": kind}
            row |= dict(zip(("Ka", "Kd", "Ks"), map(list, (light.ambient, light.diffuse, light.specular)), strict=True))
            owner = light.body if light.body in self.out.names else None
            ends = [(owner, self.frame_name(owner, light.pose, hint))]
            self.out.lights.append(OutputElement((light.name, number), "", row, ends))

    def _restraints(self) -> None:
        for number, item in enumerate(self.mechanism.restraints):
            assembly = self.out.tree.assembly_of(item.assembly)
            row: Row = {
                "name": item.name,
                "active": bool(item.extra.get("active", True)),
                "type": item.type,
                "joint": self._joint_reference(item.joint, assembly),
                "distance_type": item.distance,
                "knot_points": list(item.knots),
                "coefficients": [list(piece) for piece in item.coefficients],
                EXTENSION_KEY: None,
            }
            ends = []
            hints = item.extra.get("frames", [item.name] * 2) if self.own else [path_safe_name(item.name)] * 2
            if item.bodies is not None and item.frames is not None:
                triples = zip(item.bodies, item.frames, hints, strict=False)
                ends = [(body, self.frame_name(body, pose, str(hint))) for body, pose, hint in triples]
            self.out.restraints.append(OutputElement((item.name, number), assembly, row, ends))

    def _joint_reference(self, joint: str | None, assembly: str) -> str:
        part = self.out.joints.get((joint or "", 0))
        if part is None:
            return ""
        name = str(part.row["name"])
        return name if part.assembly == assembly else SEPARATOR.join((self.out.tree.written(part.assembly), name))

    def _report_unrepresented(self) -> None:
        if self.mechanism.motions:
            self.losses.add("dropped-motion", "Motions: not written. Export them as servo motion", self.mechanism)
        if getattr(self.mechanism.behaviours, "items", None):
            self.losses.add("dropped-behaviours", "Behaviors: not written", self.mechanism)


_MOMENT_INDICES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
_MASSLESS_BODY: Row = {
    "center_of_mass": [0.0, 0.0, 0.0],
    "mass": 0.0,
    "collision_geometry": "",
    "definition": None,
    "geometry": None,
    **dict.fromkeys(MOMENTS, 0.0),
}


def _material_files(shape: Shape) -> list[str]:
    files = shape.extra.get("files")
    return [name for name in files if name != pick_mesh_file(files)] if isinstance(files, list) and files else []


#: Weights of a pose's twelve numbers in its hash, so that few poses share one.
_HASH_WEIGHTS = np.sqrt([[2.0, 3.0, 5.0, 7.0], [11.0, 13.0, 17.0, 19.0], [23.0, 29.0, 31.0, 37.0]])
_TOTAL_HASH_WEIGHT = float(_HASH_WEIGHTS.sum())


class FrameIndex:
    """Frames of a body by name and by pose.

    A body with a thousand joints has as many frames: the search by pose compares only those with nearly the same
    weighted sum of their numbers.
    """

    def __init__(self) -> None:
        self.poses: dict[str, Array] = {}
        self.names = SafeNames()
        self._order: dict[str, int] = {}
        self._sums: list[tuple[float, int, str]] = []  # ascending: sum, index of insertion, name

    def put(self, name: str, pose: Array) -> None:
        """Set the pose of a new or existing name."""
        order = self._order.setdefault(name, len(self._order))
        if name in self.poses:
            del self._sums[bisect_left(self._sums, (_pose_hash(self.poses[name]), order))]
        self.names.add(name)
        self.poses[name] = pose
        insort(self._sums, (_pose_hash(pose), order, name))

    def at(self, pose: Array) -> str | None:
        """Return the name of the first frame at a pose up to rounding; None if there is none."""
        middle = _pose_hash(pose)
        reach = 2.0 * POSE_ROUNDING * (1.0 + float(np.abs(pose[:3, 3]).max())) * _TOTAL_HASH_WEIGHT
        near: list[tuple[int, str]] = []
        for number in range(bisect_left(self._sums, (middle - reach,)), len(self._sums)):
            found, order, name = self._sums[number]
            if found > middle + reach:
                break
            if same_pose(self.poses[name], pose):
                near.append((order, name))
        return min(near)[1] if near else None


def _pose_hash(pose: Array) -> float:
    with np.errstate(over="ignore"):  # it may be infinite
        return float((pose[:3] * _HASH_WEIGHTS).sum())


Cached = TypeVar("Cached")


def get_or_make(made: dict[Any, Cached], key: Any, make: Callable[[], Cached]) -> Cached:
    """Return the value of a key, created on first access."""
    if key not in made:
        made[key] = make()
    return made[key]


@dataclass
class OutputElement:
    """Element to be written.

    Attributes:
        key: what it makes.
        assembly: path of its assembly.
        row: its values.
        ends: the ends that it connects: the body (None for the ground) and the name of a frame.
    """

    key: Key
    assembly: str
    row: Row
    ends: list[tuple[str | None, str]] = field(default_factory=list)


@dataclass
class AssemblyContents:
    """Contents of an assembly, except for other assemblies."""

    bodies: list[OutputElement] = field(default_factory=list)
    joints: list[OutputElement] = field(default_factory=list)
    restraints: list[OutputElement] = field(default_factory=list)


@dataclass
class ShiftRows:
    """Rows of everything to be written; ``frames`` are by owner (None for the ground) and name."""

    tree: AssemblyTree
    settings: Row
    assemblies: dict[str, Row]
    bodies: dict[Key, OutputElement]
    joints: dict[Key, OutputElement]
    lights: list[OutputElement]
    restraints: list[OutputElement]
    frames: dict[str | None, dict[str, Row]]
    names: dict[str, tuple[str, str]]  # assembly and name of bodies

    @cached_property
    def held(self) -> dict[str, AssemblyContents]:
        """Contents of each assembly; valid once all rows are present."""
        found: dict[str, AssemblyContents] = {}
        for kind, parts in (("bodies", self.bodies.values()), ("joints", self.joints.values())):
            for part in parts:
                getattr(get_or_make(found, part.assembly, AssemblyContents), kind).append(part)
        for part in self.restraints:
            get_or_make(found, part.assembly, AssemblyContents).restraints.append(part)
        return found

    def reference(self, body: str | None, assembly: str) -> str:
        """Return the name or path of a body as seen from an assembly."""
        if body is None or body not in self.names:
            return FIXED
        own, name = self.names[body]
        return name if own == assembly else SEPARATOR.join(filter(None, (self.tree.written(own), name)))
