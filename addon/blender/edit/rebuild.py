"""What is missing of a model made anew: from the objects that Blender keeps though they were deleted, from the records
of those that remain, and from the document. What remains keeps its place, keys, pose and edits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import bpy
from mathutils import Matrix, Quaternion

from ... import formats
from ...formats.files import no_garbage_hunts
from ...model.gait import gait_of
from ...model.records import Mechanism
from ...model.report import FormatError, Report
from ...model.sides import name_list
from .. import properties, settling
from ..access import armature_of, armature_settings, record_of, settings
from ..build import PLANE, PROXY, keep_facts
from ..build.bodies import make_bodies
from ..build.collision import make_collision
from ..build.folders import Folders
from ..build.frames import make_frames
from ..build.joints import make_joints
from ..build.mesh_files import MeshFiles
from ..build.meshes import MeshShelf
from ..build.plan import Plan, plan
from ..build.restraints import keep_restraints
from ..build.rig import Hook
from ..document import keep_document, read_document
from ..extract import extract
from ..listeners import quiet
from ..model_parts import child_collection, file_name, parts
from ..physics.homes import scene_for
from ..physics.simulation import build_physics
from .fitting import FOLDERS, misfit
from .missing import FILED, has_lost_physics, orphans, top_of
from .refit import refit
from .twins import by_id

_MOST_NAMES = 4


@dataclass
class Rebuilt:
    """What was made anew or taken back, in words, and what is to be said besides."""

    done: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)


def adopt(scene: bpy.types.Scene) -> bpy.types.Object:
    """An armature for bodies and joints whose own is gone for good, without bones yet. ValueError where the scene has
    no such."""
    lost = orphans(scene)
    if not lost:
        raise ValueError("Nothing is missing: every part in the scene has its mechanism")
    top = top_of(lost[0], scene)
    name = top.name if top is not None else "Mechanism"
    data = next((data for data in bpy.data.armatures if not data.users and _was_of(data, top)), None)
    rig = bpy.data.objects.new(name, data or bpy.data.armatures.new(name))
    rig.show_in_front = True
    armature_of(rig).display_type = "STICK"
    settings(rig).collection = top
    if data is not None:
        rig.matrix_basis = Quaternion(settings(rig).upright).to_matrix().to_4x4()
    (top or scene.collection).objects.link(rig)
    for obj in lost:
        record_of(obj).model = rig
        if record_of(obj).role in ("BODY", "JOINT"):
            obj.parent, obj.parent_type, obj.matrix_parent_inverse = rig, "OBJECT", Matrix()
    return rig


def _was_of(data: bpy.types.Armature, top: bpy.types.Collection | None) -> bool:
    """Whether an armature that no object has any more is that of the model of a collection."""
    return top is not None and armature_settings(data).collection == top and armature_settings(data).rig is None


@no_garbage_hunts()
def rebuild(rig: bpy.types.Object, scene: bpy.types.Scene) -> Rebuilt:
    """Make anew what is missing of a model. A model that is whole stays as it is."""
    out = Rebuilt()
    fresh = settings(rig).collection is None or settings(rig).rig is None or record_of(rig).role != "MODEL"
    with quiet():
        _collections(rig, scene, out)
        _take_back(rig, out)
        base = _document(rig, out)
        if fresh:
            _facts(rig, base, out)
        made = _parts(rig, base, out) if base is not None else False
        if made and scene_for(rig) is not None:
            bpy.context.view_layer.update()
    mechanism = _reading(rig)
    wrong = misfit(rig, mechanism)
    misfits = made or wrong.missing or wrong.left or wrong.elsewhere
    if misfits or out.done:
        refit(rig)  # which also hangs on its bones again what stands elsewhere
    if misfits:
        out.done.append("the bones of the armature")
    _physics(rig, out)
    return out


def _reading(rig: bpy.types.Object) -> Mechanism:
    return extract(settings(rig).collection)


# ---------------------------------------------------------------- collections and objects


def _collections(rig: bpy.types.Object, scene: bpy.types.Scene, out: Rebuilt) -> None:
    """See that the model has its collection, in the scene, with its armature in it."""
    model = settings(rig)
    model.rig = rig
    if model.collection is None:
        kept = next((obj for obj in _own(rig) if obj.users_scene), None)
        model.collection = top_of(kept, scene) if kept is not None else None
        if model.collection is None or model.collection.name.split(".")[0] in FOLDERS.values():
            model.collection = _new_top(rig, scene)
        out.done.append("its collection")
    top = model.collection
    if scene_of(top) is None:
        scene.collection.children.link(top)
        if "its collection" not in out.done:
            out.done.append("its collection")
    if top.all_objects.get(rig.name) != rig:
        top.objects.link(rig)
        if rig.name in scene.collection.objects:
            scene.collection.objects.unlink(rig)
        else:
            out.done.append("its armature")


def scene_of(top: bpy.types.Collection) -> bpy.types.Scene | None:
    """A scene that has a collection."""
    return next((scene for scene in bpy.data.scenes if top in scene.collection.children_recursive), None)


def _own(rig: bpy.types.Object) -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if record_of(obj).model == rig and record_of(obj).role in FILED]


def _new_top(rig: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection:
    """A new collection, with those within that still hold parts of the model."""
    top = bpy.data.collections.new(record_of(rig).source_name or rig.name)
    scene.collection.children.link(top)
    holding = {folder for obj in _own(rig) for folder in obj.users_collection}
    inner = {child for folder in bpy.data.collections for child in folder.children}
    for folder in bpy.data.collections:
        is_kind = folder.name.split(".")[0] in FOLDERS.values()
        loose = folder not in inner or folder.name in scene.collection.children
        if is_kind and loose and ({folder, *folder.children_recursive} & holding or not folder.all_objects):
            top.children.link(folder)
            if folder.name in scene.collection.children:
                scene.collection.children.unlink(folder)
    return top


def _take_back(rig: bpy.types.Object, out: Rebuilt) -> None:
    """Put parts of the model that are in none of its collections back: Blender keeps what something points at."""
    top = settings(rig).collection
    present = set(top.all_objects)
    names = []
    for obj in _own(rig):
        if obj in present or record_of(obj).is_ground or record_of(obj).is_flywheel:
            continue
        child_collection(rig, FOLDERS[record_of(obj).role]).objects.link(obj)
        if record_of(obj).role in ("BODY", "JOINT"):
            names.append(file_name(obj))
    if names:
        out.done.append(name_list(names, _MOST_NAMES))


# ---------------------------------------------------------------- the document


def _document(rig: bpy.types.Object, out: Rebuilt) -> Mechanism | None:
    """The mechanism of the model's document. Where that is gone, or no longer one, it is looked for: among the Texts of
    the file, and where it was read from."""
    model = settings(rig)
    ids = {record_of(obj).source_id for obj in _own(rig) if record_of(obj).role in ("BODY", "JOINT")}
    if model.document is not None:
        try:
            return read_document(rig)
        except FormatError as error:
            out.report.warn("document-damaged", f"The text of its file cannot be read any more: {error}")
    elif not model.format and settings(rig).collection is not None and model.version > 1 and not _is_cleared(rig):
        return None  # it never had one
    for text in bpy.data.texts:
        found = _read(text.as_string().encode(), model.path, ids)
        if found is not None and text not in _documents():
            model.document, model.encoding = text, "utf-8"
            out.done.append("the text of its file")
            return found
    path = Path(model.path) if model.path else None
    if path is not None and path.is_file():
        try:
            found = formats.load(path)
        except FormatError:
            found = None
        if found is not None and _fits(found, ids):
            keep_document(rig, path.name, found.source.text, found.source.encoding)
            out.done.append("the text of its file")
            return found
    out.report.warn(
        "document-lost",
        "The text of its file was found neither in the .blend nor where it was read from: exports write a new one, "
        "without what only the text knew",
    )
    model.document = None
    return None


def _is_cleared(rig: bpy.types.Object) -> bool:
    return not settings(rig).uid and settings(rig).rig is None


def _documents() -> set[bpy.types.Text]:
    known = map(armature_settings, bpy.data.armatures)
    return {model.document for model in known if model.rig is not None and model.document is not None}


def _read(data: bytes, path: str, ids: set[str]) -> Mechanism | None:
    try:
        found = formats.loads(data, path)
    except FormatError:
        return None
    return found if _fits(found, ids) else None


def _fits(mechanism: Mechanism, ids: set[str]) -> bool:
    """Whether most parts are of this mechanism."""
    known = {body.id for body in mechanism.bodies} | {joint.id for joint in mechanism.joints}
    return bool(known) and 2 * len(ids & known) >= len(ids)


def _facts(rig: bpy.types.Object, base: Mechanism | None, out: Rebuilt) -> None:
    """What is known of the model as a whole, from its document."""
    record, model = record_of(rig), settings(rig)
    record.role, record.model = "MODEL", rig
    settling.is_settled(rig)  # its parts did not come, it was taken from them
    if base is not None and not model.format:
        rig.matrix_basis = Matrix(plan(base, closed=False).upright.tolist())
        keep_facts(rig, model.collection, base)
        gait = gait_of(base)
        model.listens_to = ",".join(gait.controls) if gait is not None else ""
    record.source_name = record.source_name or (base.name if base is not None else rig.name)
    model.version = properties.VERSION
    out.done.append("what is known of it as a whole")


# ---------------------------------------------------------------- parts of the document


def _parts(rig: bpy.types.Object, base: Mechanism, out: Rebuilt) -> bool:
    """Make the bodies and joints of the document that are gone, but for those that were let go. Whether there are
    such."""
    let_go = set(settings(rig).let_go.split("\n"))
    bodies, joints = by_id(rig, "BODY"), by_id(rig, "JOINT")
    new_bodies = {body.id for body in base.bodies} - bodies.keys() - let_go
    new_joints = {joint.id for joint in base.joints} - joints.keys() - let_go
    if new_bodies or new_joints:
        formats.complete_masses(base, out.report, tell_missing=False)
        decided = plan(base)
        hook = Hook(decided, rig, [])
        hook.let_loose()
        folders = Folders(base.name, base.assemblies, settings(rig).collection)
        with MeshFiles(base, out.report) as files:
            shelf = MeshShelf(base.name, files.mesh, PROXY * decided.size, PLANE * decided.size)
            bodies |= make_bodies(decided, hook, folders, shelf, new_bodies)
            _shapes(rig, decided, bodies, new_bodies, shelf, folders)
        joints |= make_joints(decided, hook, bodies, folders, new_joints)
        _frames(rig, decided, bodies, new_bodies, hook, folders)
        for scene in bpy.data.scenes:
            folders.exclude_off(scene)
        names = [file_name(obj) for known, new in ((bodies, new_bodies), (joints, new_joints))
                 for own, obj in known.items() if own in new]  # fmt: skip
        out.done.append(name_list(names, _MOST_NAMES))
    joined = _join_again(base, bodies, joints)
    if new_bodies or new_joints or joined:
        settings(rig).restraints.clear()
        keep_restraints(rig, base, bodies, joints)
    return bool(new_bodies or new_joints or joined)


def _shapes(
    rig: bpy.types.Object, decided: Plan, bodies: dict[str, bpy.types.Object], new: set[str], shelf: MeshShelf,
    folders: Folders,
) -> None:  # fmt: skip
    """Hang the collision shapes that new bodies have left on them, and make the others."""
    left = set()
    for child in parts(rig, "SHAPE"):
        own = record_of(child).source_id.rpartition("/")[0]
        if own in new and record_of(child).shape >= 0:
            child.parent, child.parent_type, child.matrix_parent_inverse = bodies[own], "OBJECT", Matrix()
            record_of(bodies[own]).shapes[record_of(child).shape].has_child = True
            left.add(own)
    if make_collision(decided, bodies, shelf, folders, new - left):
        settings(rig).has_collision = True


def _frames(
    rig: bpy.types.Object, decided: Plan, bodies: dict[str, bpy.types.Object], new: set[str], hook: Hook,
    folders: Folders,
) -> None:  # fmt: skip
    """The same for frames and lights."""
    for role, made in (("FRAME", decided.mechanism.frames), ("LIGHT", decided.mechanism.lights)):
        for obj in parts(rig, role):
            number = int(record_of(obj).source_id) if record_of(obj).source_id.isdigit() else len(made)
            body = made[number].body if number < len(made) else None
            if obj.parent is None and body in new:
                obj.parent, obj.parent_type, obj.matrix_parent_inverse = bodies[body], "OBJECT", Matrix()
    known = {(record_of(obj).role, record_of(obj).source_id) for role in ("FRAME", "LIGHT") for obj in parts(rig, role)}
    make_frames(decided, hook, folders, bodies, new, known)


def _join_again(base: Mechanism, bodies: dict[str, bpy.types.Object], joints: dict[str, bpy.types.Object]) -> bool:
    """Have joints of the document that lack a body be between those of the document again."""
    joined = False
    for joint in base.joints:
        empty = joints.get(joint.id)
        if empty is None:
            continue
        record = record_of(empty).joint
        for end, own in (("parent", joint.parent), ("child", joint.child)):
            held = getattr(record, end)
            if own in bodies and (held is None or held not in bodies.values()) and not record.at_world:
                setattr(record, end, bodies[own])
                joined = True
    return joined


def _physics(rig: bpy.types.Object, out: Rebuilt) -> None:
    """Build the physics anew whose world was deleted."""
    scene = scene_for(rig)
    if scene is not None and has_lost_physics(rig, parts(rig, "BODY")):
        drive = settings(rig).drive
        out.report.extend(build_physics(scene, rig))
        if settings(rig).drive != drive:
            settings(rig).drive = drive
        out.done.append("its physics")
