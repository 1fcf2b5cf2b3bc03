"""Authoring of mechanisms from meshes: an empty mechanism, bodies from the user's objects, joints between bodies.

The results equal those of an import, but without a document: they can be posed, simulated and exported.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing import joints as edits
from ...core.joint_types import make_dofs
from ...core.model import Array, Joint, Mechanism, Plane, World, body_by_id
from ...core.naming import unique_name
from ...core.primitive_fit import FittedSolid, fit_surface
from ...core.report import Message, Report
from ...core.transforms import inverse
from ..data.access import record_of
from ..data.datablocks import mesh_points, newest_session_uid, remove_datablocks_since
from ..data.queries import part_ids, parts_by_id, require_rig, rig_of
from ..reconcile.build import BuildOptions, build
from ..reconcile.foreign_objects import AdoptedMesh, replace_mesh
from ..reconcile.rig_state import rigid_matrix, world_to_design
from ..reconcile.rig_update import begin_edit
from ..reconcile.update import EditObjects, update
from ..scene.read.mechanism import extract_design

__all__ = ["DEFAULT_DENSITY", "fit_solid", "join_bodies", "make_body", "new_model", "replace_mesh"]

#: Default density of bodies (kg/m³): water.
DEFAULT_DENSITY = 1000.0


def new_model(context: bpy.types.Context, name: str = "Mechanism", ground: bool = True) -> bpy.types.Object:
    """Create an empty mechanism in the context's scene, with Blender's gravity; return its armature."""
    scene = context.scene
    gravity = np.array(scene.gravity, dtype=np.float64) if scene.use_gravity else np.zeros(3)
    mechanism = Mechanism(name, World(gravity=gravity, ground=0.0 if ground else None))
    mechanism.mirror_plane = Plane(np.eye(3)[0])  # the plane of symmetric editing
    return require_rig(build(mechanism, context, BuildOptions(physics=False, gait=False, up_axis="Z")))


# ---------------------------------------------------------------- bodies


def fit_solid(mesh: bpy.types.Mesh, scale: Array, as_mesh: bool = False) -> FittedSolid:
    """Fit a body to a mesh: a primitive if the mesh is one and ``as_mesh`` is off, else the mesh itself.

    Args:
        mesh: The mesh.
        scale: Scale (3,) of its object.
        as_mesh: Never fit a primitive.
    """
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)  # type: ignore[arg-type]
    return fit_surface(mesh_points(mesh) * scale, triangles.reshape(-1, 3), as_mesh)


def make_body(
    rig: bpy.types.Object,
    objects: Sequence[bpy.types.Object],
    mass: float | None = None,
    density: float = DEFAULT_DENSITY,
    as_mesh: bool = False,
) -> Report:
    """Make mesh objects bodies of a mechanism, where they are.

    Each gets its own mesh, with scale and modifiers applied and the origin at the center of mass, in the axes of its
    primitive; its children keep their place. Animation of its transform is removed and reported, since the design of a
    body does not depend on time.

    Args:
        rig: Armature of the mechanism.
        objects: The mesh objects.
        mass: Mass of each; None: volume times ``density``.
        density: Mass per volume.
        as_mesh: Never fit primitives.

    Returns:
        The report.

    Raises:
        ValueError: An object is no mesh, is linked, is part of a mechanism, or encloses no volume and has no mass;
            nothing was changed.
    """
    for obj in objects:
        if obj.type != "MESH":
            raise ValueError(Message("{}: not a mesh, only meshes can be bodies", repr(obj.name)))
        if obj.library is not None or obj.override_library is not None:
            raise ValueError(
                Message(
                    "{}: linked from another file. Make it local first (Object > Relations > Make Local)",
                    repr(obj.name),
                )
            )
        if rig_of(obj) is not None:
            raise ValueError(Message("{}: already in mechanism {}", repr(obj.name), repr(_model_name(rig_of(obj)))))
    before = newest_session_uid(("meshes",))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = []
    for obj in objects:
        mesh = bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph), depsgraph=depsgraph)
        solid = fit_solid(mesh, np.array(obj.matrix_world.to_scale()), as_mesh)
        if not (solid.volume > 0.0 or mass):
            remove_datablocks_since(before, ("meshes",))
            raise ValueError(
                Message("{}: its mesh encloses no volume. Enter a mass, or close the mesh", repr(obj.name))
            )
        found.append((obj, mesh, solid))
    report, present = Report(), begin_edit(rig)
    for obj, _mesh, _solid in found:
        _detach_animation(obj, report)
    back = rig.matrix_world.inverted_safe()
    solids = [(obj.name, rigid_matrix(back @ obj.matrix_world), solid) for obj, _mesh, solid in found]
    edit, bodies = edits.add_bodies(extract_design(rig), solids, mass, density)
    adopted = {
        body.id: AdoptedMesh(obj, mesh, solid.frame) for body, (obj, mesh, solid) in zip(bodies, found, strict=True)
    }
    report.extend(update(rig, edit, present, EditObjects(adopted=adopted)))
    return report


#: Prefixes of the data paths of an object's transform.
_TRANSFORM_PATHS = ("location", "rotation", "scale", "delta_")


def _detach_animation(obj: bpy.types.Object, report: Report) -> None:
    """Remove Actions, NLA strips and drivers that move an object. The Actions stay in the .blend."""
    data = obj.animation_data
    if data is None:
        return
    strips = [strip for track in data.nla_tracks for strip in track.strips]
    actions = {action for action in (data.action, *(strip.action for strip in strips)) if action is not None}
    driven = [curve for curve in data.drivers if curve.data_path.startswith(_TRANSFORM_PATHS)]
    for action in actions:
        if action.library is None:
            action.use_fake_user = True
    data.action = None
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    for curve in driven:
        data.drivers.remove(curve)
    if actions or driven:
        kept = Message(
            ". {} kept", ", ".join(repr(action.name) for action in sorted(actions, key=lambda each: each.name))
        )
        report.warn(
            "animation-put-aside",
            Message(
                "{}: its animation was unlinked, it now follows its bone{}", repr(obj.name), kept if actions else ""
            ),
            where=obj.name,
        )


def _model_name(rig: bpy.types.Object | None) -> str:
    return "" if rig is None else record_of(rig).source_name


# ---------------------------------------------------------------- joints


def join_bodies(
    rig: bpy.types.Object,
    parent: bpy.types.Object | None,
    child: bpy.types.Object,
    place: Matrix,
    type_: str = "revolute",
    name: str = "",
) -> tuple[bpy.types.Object, Report]:
    """Create a joint between two bodies as they stand, with joint values 0 there.

    If the bodies were not connected, the child's limb is designed where it stands now; else the joint closes a loop.

    Args:
        rig: Armature of the mechanism.
        parent: Parent body; None: the world.
        child: Child body.
        place: Frame of the joint in the world; Z is its axis.
        type_: Joint type.
        name: Name; default: from the names of the bodies.

    Returns:
        The joint's empty and the report.

    Raises:
        ValueError: The bodies are the same, or not of this mechanism.
    """
    for end in (parent, child):
        if end is not None and (record_of(end).role != "BODY" or record_of(end).model != rig):
            raise ValueError(Message("{}: not a body of {}", repr(end.name), repr(_model_name(rig))))
    name = name or (Message("{} to {}", parent.name, child.name) if parent is not None else f"{child.name} to World")
    present = begin_edit(rig)
    mechanism = extract_design(rig)
    frame = world_to_design(rig, parent, place)
    joint = Joint(unique_name(name, part_ids(rig)), name, type_, None, record_of(child).source_id, frame)
    bodies = body_by_id(mechanism)
    if parent is not None:
        joint.parent = record_of(parent).source_id
        joint.frame_parent = inverse(bodies[joint.parent].pose) @ frame
    joint.frame_child = inverse(bodies[record_of(child).source_id].pose) @ frame
    joint.dofs = make_dofs(type_)
    report = update(rig, edits.add_joint(mechanism, joint), present)
    return parts_by_id(rig, "JOINT")[joint.id], report
