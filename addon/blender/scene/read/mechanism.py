"""Mechanism from the scene, edits included: the inverse of ``build``.

The document that travels with the mechanism is the base: values that are as built keep its 64-bit numbers, edited ones
come from Blender. Of several objects with one id one is the document's part and the others are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import bpy
import numpy as np
from mathutils import Matrix

from ....core.kinematics import design_openings, joint_frames_world
from ....core.model import Array, Body, Dof, Joint, Mechanism, Shape, body_by_id, by_id
from ....core.report import Message, Report
from ....core.transforms import inverse
from ....formats.text.file_io import gc_paused
from ...data.access import is_renamed, record_of, settings
from ...data.baseline import has_color_baseline
from ...data.conversion import (
    assembled_values,
    dofs_with_parts,
    mirror_plane_of,
    read_dofs,
    unflatten_pose,
    with_mirrored_restraints,
)
from ...data.documents import read_document
from ...data.facts import BODY_PROPERTIES, DOF_PROPERTIES, ENGINE_PROPERTIES, WORLD_PROPERTIES, pull, shortest_float
from ...data.properties.joint import KnuckleDof, KnuckleJoint
from ...data.queries import (
    all_parts_by_role,
    collection_of,
    file_name,
    is_from_newer_release,
    renamed_bones,
    require_rig,
)
from ...rig.joint_frames import constraint_rotation, read_body
from ..bodies import com_pose
from ..materials import PaintedColors, painted_colors, used_materials, was_built_with
from .applied_transforms import report_cleared_transform
from .attachments import AttachmentReader
from .design_poses import DesignPoses, design_as_seen
from .edit_detection import DocumentFacts, edited_pose, was_moved
from .shapes import (
    CollisionChildren,
    are_reshaped,
    derive_inertia,
    derived_masses,
    edited_shapes,
    has_inertia_of_shapes,
    is_uneven,
    read_body_shapes,
    read_collision_children,
    read_inertia,
    read_mass_edit,
    scale_shape,
    shape_masses,
    with_shape_masses,
    without_rounding,
)

T = TypeVar("T", Body, Joint)
Ids = Mapping[bpy.types.Object, str]


def own_ids(objects: list[bpy.types.Object], base: Iterable[Body | Joint] = ()) -> dict[bpy.types.Object, str]:
    """Assign an id to each object.

    Objects with the same id are copies of each other: the one that still has the name it was built with keeps the id
    (else the first), the others get their object's name.
    """
    holders: dict[str, bpy.types.Object] = {}
    for obj in sorted(objects, key=is_renamed):
        holders.setdefault(record_of(obj).source_id, obj)
    taken = {*holders, *(part.id for part in base)}
    own: dict[bpy.types.Object, str] = {}
    for obj in objects:
        own[obj] = record_of(obj).source_id
        if holders[own[obj]] != obj:
            own[obj] = obj.name
            while own[obj] in taken:
                own[obj] += " copy"
            taken.add(own[obj])
    return own


def merge_parts(base: Iterable[T], ids: Ids, read: Callable[[bpy.types.Object, str, T | None, T | None], T]) -> list[T]:
    """Merge parts in the document's order, then new ones in order of creation; twins that no longer exist are cleared.

    ``read`` gets an object, its id, the document's part of this id, and for a copy of one a copy of the part.
    """
    object_of = {own: obj for obj, own in ids.items()}
    known = by_id(base)
    new = {obj: deepcopy(known.get(_original_id(obj))) for obj, own in ids.items() if own not in known}
    twins: set[str | None] = {part.twin for part in known.values() if part.twin not in known}  # a file may name none
    twins |= object_of.keys()
    out = [read(object_of[own], own, part, None) for own, part in known.items() if own in object_of]
    out += [read(obj, ids[obj], None, original) for obj, original in new.items()]
    for part in out:
        part.twin = part.twin if part.twin in twins else None
    return out


def _original_id(obj: bpy.types.Object) -> str:
    return record_of(obj).copy_of or record_of(obj).source_id


__all__ = ["document_ids", "extract", "extract_design", "own_ids"]

#: Tolerance of joint openings in 32 bits, relative to their size.
_OPENING_TOLERANCE = 1e-6
#: Deviation of a body's scale from 1 by the rounding of a chain of 32-bit matrices.
_SCALE_TOLERANCE = 1e-5


@gc_paused()
def extract(model: bpy.types.Collection | bpy.types.Object | None) -> Mechanism:
    """Read a mechanism from the scene, in the file's own axes and with its document.

    Poses, physics and animation do not matter: the design is read. Parts that no joint carries any more, because it was
    deleted, are designed where they are seen, and so are copies of bodies. ``report`` lists what was edited, added and
    deleted; a copy of a body or joint is a new one.

    Args:
        model: The mechanism's collection, or its armature where copies of it may be in the same collection.

    Raises:
        ValueError: If there is no mechanism, or a newer release saved it.

    >>> from addon import formats
    >>> from addon.blender.build import build
    >>> collection = build(formats.load("sample_models/rover/rover.jm"))
    >>> next(obj for obj in collection.all_objects if obj.knuckle.source_name == "Chassis").name = "Hull"
    >>> rover = extract(collection)
    >>> [body.name for body in rover.bodies][:2]
    ['Hull', 'Left Knuckle']
    >>> print(formats.save(rover, "out/rover.jm"))
    info: Document: objects 1 changed. All else is written as it was read
    """
    mechanism, designs, bodies, document = _read_mechanism(model)
    document.adopt_assembled(mechanism)
    design_as_seen(designs, mechanism, bodies)
    document.remove_orphans(mechanism)
    return mechanism


def extract_design(rig: bpy.types.Object) -> Mechanism:
    """Read a mechanism for an edit: every body where its object is designed, whatever carries it.

    It has all restraints that document and edits describe, also those of deleted parts, which ``extract`` leaves out.
    """
    return _read_mechanism(rig)[0]


def _read_mechanism(
    model: bpy.types.Collection | bpy.types.Object | None,
) -> tuple[Mechanism, DesignPoses, Ids, DocumentFacts]:
    """Read a mechanism as it is designed.

    Returns:
        The mechanism, the design poses of its parts, the ids of its bodies, and what the document has.
    """
    rig = require_rig(model)
    collection = model if isinstance(model, bpy.types.Collection) else collection_of(rig)
    if is_from_newer_release(rig):
        raise ValueError(Message("{}: saved by a newer release of Knuckle. Update Knuckle", repr(rig.name)))
    base = _document_mechanism(rig)
    mechanism = replace(base, name=record_of(rig).source_name, report=Report())  # parts without objects stay
    mechanism.restraints = with_mirrored_restraints(rig, base.restraints)
    _report_foreign_objects(rig, collection, mechanism.report)
    by_role, present = all_parts_by_role(rig, collection)
    for obj in present:
        if obj.mode == "EDIT" and obj.type == "MESH":
            obj.update_from_editmode()  # read the present edits without leaving edit mode
    designs = DesignPoses(rig)
    reading = _PartReader(
        mechanism.report, designs, joint_frames_world(base), design_openings(base), renamed_bones(rig)
    )
    reading.derived, reading.shape_masses = derived_masses(base.bodies), shape_masses(base.bodies)
    reading.colored, reading.flagged = settings(rig).version >= 3, settings(rig).version >= 5
    reading.switched = _switch_assemblies(rig, mechanism)
    mechanism.mirror_plane = mirror_plane_of(rig)
    bodies = own_ids(by_role.get("BODY", []), base.bodies)
    joints = own_ids(by_role.get("JOINT", []), base.joints)
    reading.ids = bodies
    body_of = {own: obj for obj, own in bodies.items()}
    reading.children = read_collision_children(present, body_of, designs, mechanism.report)
    before = DocumentFacts.of(base, assembled_values({own: obj for obj, own in joints.items()}))
    coms = {body.id: (body.com, _present_com(body_of[body.id], body)) for body in base.bodies if body.id in body_of}
    reader = AttachmentReader(coms, body_of, designs, mechanism.report)
    if settings(rig).version >= 2:  # earlier releases created no objects for them
        frames, lights = by_role.get("FRAME", []), by_role.get("LIGHT", [])
        mechanism.frames, mechanism.lights = reader.read(frames, base.frames), reader.read(lights, base.lights)
    else:
        mechanism.frames = [frame for frame in base.frames if reader.is_carried(frame)]
        mechanism.lights = [light for light in base.lights if reader.is_carried(light)]
    mechanism.bodies = merge_parts(base.bodies, bodies, reading.body)
    reading.poses = {own: body.pose for own, body in body_by_id(mechanism).items()}
    mechanism.joints = merge_parts(base.joints, joints, reading.joint)
    before.settle(mechanism)
    reader.report_removed_frames(mechanism)
    reader.rename_references(mechanism)
    pull(settings(rig), WORLD_PROPERTIES, mechanism.world)
    if mechanism.behaviours is not None:
        pull(settings(rig), ENGINE_PROPERTIES, mechanism.behaviours.engine)
    return mechanism, designs, bodies, before


def _present_com(obj: bpy.types.Object, body: Body) -> Array:
    """Return the center of mass (3,) of a document's body as its object has it."""
    now = replace(body)
    pull(record_of(obj), BODY_PROPERTIES, now, {"com"})
    return now.com


def _document_mechanism(rig: bpy.types.Object) -> Mechanism:
    """Return the mechanism as its document has it; an empty one without a document."""
    return read_document(rig) or Mechanism(record_of(rig).source_name)


def _switch_assemblies(rig: bpy.types.Object, mechanism: Mechanism) -> bool:
    """Activate assemblies by the mechanism's settings; return False where these have none."""
    switches = {kept.path: kept.active for kept in settings(rig).assemblies}
    for assembly in mechanism.assemblies:
        assembly.active = switches.get(assembly.path, assembly.active)
    return bool(switches)


def document_ids(rig: bpy.types.Object) -> set[str]:
    """Return the ids of all parts in a mechanism's document, deleted ones included."""
    base = _document_mechanism(rig)
    return {body.id for body in base.bodies} | {joint.id for joint in base.joints}


def _report_foreign_objects(rig: bpy.types.Object, collection: bpy.types.Collection, report: Report) -> None:
    """Report objects of the collection that are not part of the mechanism, and a scale of the whole mechanism.

    Such objects are meshes and lights that the user put there, and mechanisms copied inside the collection.
    """
    scale = rig.matrix_world.to_scale()
    if max(abs(part - 1.0) for part in scale[:]) > 1e-5:
        message = Message("{}: scaled as a whole, the file keeps its own size. Clear the scale (Alt+S)", repr(rig.name))
        report.warn("scaled-model", message)
    for obj in collection.all_objects:
        if obj.type in {"MESH", "LIGHT"} and record_of(obj).role == "NONE":
            report.warn(
                "stranger",
                Message("{}: not exported, it is not a part of the mechanism", repr(obj.name)),
                where=obj.name,
            )
        if record_of(obj).role == "MODEL" and obj != rig:
            message = Message(
                "{}: another mechanism in the collection of {}, exported separately", repr(obj.name), repr(rig.name)
            )
            report.info("copied-model", message, where=obj.name)


def _new_body(own: str, obj: bpy.types.Object) -> Body:
    """Create a body that is in no document: it was created from a mesh, or came from another mechanism."""
    body = read_body(obj)
    body.id, body.com, body.shapes = own, np.array([shortest_float(x) for x in body.com]), []
    known = body.inertia if record_of(obj).has_tensor else None
    body.inertia = None if known is None else known * body.mass
    return body


@dataclass
class _PartReader:
    """Reader of objects over the document's parts, which become the present ones.

    ``frames``: joint frames in the document, by id; ``openings``: for joints of open loops the other side relative to
    that; ``bones``: renamed bones, by joint id; ``derived``: see ``read_mass_edit``; ``shape_masses``: those of the
    document. ``switched``: the records have what is active, not the document; ``flagged``: bodies have flags for
    gravity and collision; ``colored``: materials have their original colors.
    """

    report: Report
    designs: DesignPoses
    frames: dict[str, Array]
    openings: dict[str, Array]
    bones: dict[str, str] = field(default_factory=dict)
    ids: Ids = field(default_factory=dict)
    poses: dict[str, Array] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    children: CollisionChildren = field(default_factory=dict)
    switched: bool = False
    flagged: bool = False
    colored: bool = False
    painted: PaintedColors = field(default_factory=dict)
    derived: Mapping[str, float] = field(default_factory=dict)
    shape_masses: Mapping[str, list[Any]] = field(default_factory=dict)

    def body(self, obj: bpy.types.Object, own: str, old: Body | None, original: Body | None) -> Body:
        """Return a body in its present state."""
        record = record_of(obj)
        body = old or original or _new_body(own, obj)
        if old is None:
            self._report_new_part("Body", obj, own, original)
        known = old or original
        exact = com_pose(body) if known else None
        before = body.pose, body.com
        recorded = {"immobile"}  # records of earlier releases lack the others
        recorded |= {"gravity", "collidable"} if self.flagged else set()
        recorded |= {"active"} if self.switched else set()
        if known:
            body.inertia = read_inertia(record, body)
            recorded.add("com")
        pull(record, BODY_PROPERTIES, body, recorded)
        body.name = file_name(obj)
        follows = known is not None and known.id in self.derived
        stated = edited_shapes(record.shapes, body.shapes) if follows else []
        shapes = read_body_shapes(obj, own, body.shapes, body.com, self.children, self.report)
        body.shapes = with_shape_masses(shapes, self.shape_masses.get(record.moment_of))
        if self.colored:
            self._paint(obj, body)
        design = self.designs.of(obj)
        if exact is None or was_moved(obj, design) or body.com is not before[1]:
            body.pose, scale = edited_pose(obj, exact, design)
            scale = np.where(np.abs(scale - 1.0) > _SCALE_TOLERANCE, scale, 1.0)
            body.pose[:3, 3] -= body.pose[:3, :3] @ body.com
            if known and body.com is not before[1]:
                body.pose = without_rounding(body, before[0])
            if (scale != 1.0).any():
                self._report_uneven_scale(obj, body, scale)
                body.shapes = [scale_shape(shape, scale, body.com) for shape in body.shapes]
            if body.pose is not before[0]:
                self.moved.add(own)
        if follows and are_reshaped(stated, body.shapes) and has_inertia_of_shapes(body, stated):
            derive_inertia(body)
        if self.designs.applied(obj) is not None:
            self.report.info(
                "transform-applied",
                "Transform: applied to the mesh (Ctrl+A), the file has both where they are shown. Physics uses "
                "the origin as center of mass. Press Update Armature to restore it",
                where=obj.name,
            )
        elif obj.type == "MESH" and self.designs.is_mesh_edited(obj):
            self.report.warn(
                "mesh-edited",
                Message("Mesh of {}: edited by hand, files keep its previous shape", repr(file_name(obj))),
                where=own,
            )
        read_mass_edit(obj, body, self.derived, self.report)
        body.twin = _twin_id(record.twin, body.twin, copied=original is not None)
        body.id = own
        return body

    def joint(self, obj: bpy.types.Object, own: str, old: Joint | None, original: Joint | None) -> Joint:
        """Return a joint in its present state. The poses of all bodies must be known."""
        record = record_of(obj)
        part = record.joint
        parent, child = self.ids.get(part.parent), self.ids.get(part.child)
        joint = old or original or Joint(own, record.source_name, part.type, parent, child)
        if old is None:
            self._report_new_part("Joint", obj, own, original)
        exact = self.frames.get(joint.id)
        joint.name = file_name(obj, self.bones)
        rewired = (parent, child) != (joint.parent, joint.child)
        opening, reopened = _read_opening(part, None if rewired else self.openings.get(joint.id))
        design = self.designs.of(obj)
        if was_moved(obj, design):
            report_cleared_transform(obj, design, self.report)
        moved = was_moved(obj, design) or bool({joint.parent, joint.child} & self.moved)
        if exact is None or rewired or reopened or moved:
            known = (old or original) is not None  # an end that the file leaves open is the world
            at_world = part.at_world and (parent is None) != (child is None)
            lost = not at_world and any(
                now is None and not (known and before is None)
                for now, before in ((parent, joint.parent), (child, joint.child))
            )
            joint.parent, joint.child = parent, child
            joint.active = part.active and not lost and parent != child
            frame = _edited_frame(obj, exact, design)
            joint.frame_parent = inverse(self.poses[parent]) @ frame if parent is not None else frame
            frame = frame if opening is None else frame @ opening
            joint.frame_child = inverse(self.poses[child]) @ frame if child is not None else frame
        elif self.switched:
            joint.active = part.active
        joint.type = (
            part.type if joint.type != part.type and _dof_kinds(joint.dofs) != _dof_kinds(part.dofs) else joint.type
        )
        if _dof_kinds(joint.dofs) == _dof_kinds(part.dofs):
            _read_dof_edits(part, joint)
        else:
            joint.dofs = read_dofs(part)
        joint.twin = _twin_id(record.twin, joint.twin, copied=original is not None)
        joint.id = own
        return joint

    def _paint(self, obj: bpy.types.Object, body: Body) -> None:
        """Apply the changed colors of a body's materials to its shapes. Mesh files have their own colors.

        A body of one color is painted as a whole; of several, the shapes that were built with a material's color are.
        """
        seen = [shape for shape in body.shapes if shape.visual]
        painted = painted_colors(obj, self.painted) if seen and obj.type == "MESH" else []
        if any(shape.type == "mesh" and shape.mesh for shape in seen):
            self._report_unwritten_colors(obj, [material for material, _color in painted])
            return
        is_whole, changed = bool(painted) and len(used_materials(obj)) == 1, dict[int, Shape]()
        for material, color in painted:
            built = seen if is_whole else _built_shapes(material, seen)
            if not built:
                self._report_unwritten_colors(obj, [material])
            changed |= {id(shape): replace(shape, color=color) for shape in built if shape.color != color}
        if changed:
            body.shapes = [changed.get(id(shape), shape) for shape in body.shapes]

    def _report_unwritten_colors(self, obj: bpy.types.Object, materials: Iterable[bpy.types.Material]) -> None:
        for material in filter(has_color_baseline, materials):
            self.report.warn(
                "color-not-written",
                Message(
                    "Material {} of {}: its color is not written, no shape in the file has that color alone",
                    repr(material.name),
                    repr(file_name(obj)),
                ),
                where=obj.name,
            )

    def _report_uneven_scale(self, obj: bpy.types.Object, body: Body, scale: Array) -> None:
        if any(is_uneven(shape, scale) for shape in body.shapes):
            self.report.warn("uneven-scale", "Round shape: scaled unevenly, the larger side is written", where=obj.name)

    def _report_new_part(self, kind: str, obj: bpy.types.Object, own: str, original: Body | Joint | None) -> None:
        copy = Message(", a copy of {}", repr(original.name)) if original is not None else ""
        self.report.info("added", Message("{} {} is new{}", kind, repr(file_name(obj)), copy), where=own)


def _built_shapes(material: bpy.types.Material, shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes of a body that were built with a material: those of its color, else those without one."""
    if not has_color_baseline(material):
        return []
    named = [shape for shape in shapes if shape.color is not None and was_built_with(material, shape.color)]
    return named or [shape for shape in shapes if shape.color is None]


def _read_opening(part: KnuckleJoint, exact: Array | None) -> tuple[Array | None, bool]:
    """Return a joint's other side relative to its frame (4, 4), None where they coincide, and whether it was edited.

    ``exact`` is the document's.
    """
    if not (part.is_open or any(part.opening)):
        return exact, False  # not recorded
    opening = unflatten_pose(part.opening) if part.is_open else np.eye(4)
    turn = constraint_rotation(part)
    opening = opening if turn is None else turn @ opening @ inverse(turn)
    before = np.eye(4) if exact is None else exact
    if np.abs(opening - before).max() <= _OPENING_TOLERANCE * max(1.0, float(np.abs(before).max())):
        return exact, False
    return opening, True


def _edited_frame(obj: bpy.types.Object, exact: Array | None, design: Matrix) -> Array:
    """Return a joint's frame (4, 4) in the mechanism's axes from its empty, whose axes suit Blender's constraint."""
    turn = constraint_rotation(record_of(obj).joint)
    if exact is not None and not was_moved(obj, design):
        return exact
    if turn is None:
        return edited_pose(obj, exact, design)[0]
    return edited_pose(obj, None if exact is None else exact @ turn, design)[0] @ inverse(turn)


def _dof_kinds(dofs: Iterable[Dof | KnuckleDof]) -> list[str]:
    return [dof.kind for dof in dofs]


def _read_dof_edits(record: KnuckleJoint, joint: Joint) -> None:
    for mine, (kept, parts) in zip(joint.dofs, dofs_with_parts(record), strict=False):
        pull(kept, DOF_PROPERTIES, mine)
        for part, kept_part in zip(mine.parts, parts, strict=False):
            pull(kept_part, DOF_PROPERTIES, part)


def _twin_id(now: str, before: str | None, copied: bool) -> str | None:
    """Return the twin's id. A copy is not the twin of its original's twin."""
    if now == (before or ""):
        return None if copied else before
    return now or None
