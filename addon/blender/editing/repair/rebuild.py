"""What a rebuild tells of what it made, and of what it left; and the motion of a new armature."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import bpy
from mathutils import Matrix, Quaternion

from .... import formats
from ....core.editing.sides import name_list
from ....core.gait.engine import gait_of
from ....core.model import Mechanism
from ....core.report import FormatError, Report
from ....formats.text.file_io import no_garbage_hunts
from ...animation.actions import let_play, motions_of
from ...data import copied_mechanisms as settling
from ...data.access import action_record, armature_of, armature_settings, record_of, settings
from ...data.bulk_write import make
from ...data.datablocks import latest
from ...data.documents import adopt_document, keep_document, read_document, read_text
from ...data.properties import model as properties
from ...data.queries import child_collection, every_part, file_name, parts
from ...events.signals import quiet
from ...physics.simulation.setup import build_physics
from ...physics.world.membership import scene_for
from ...reconcile.build import PLANE, PROXY, keep_facts
from ...scene.armature import Hook
from ...scene.attachments import make_frames
from ...scene.bodies import make_bodies, make_collision
from ...scene.collections import Folders, is_called
from ...scene.joints import make_joints
from ...scene.mesh_files import MeshFiles
from ...scene.meshes import MeshShelf
from ...scene.placement import Plan, plan
from ...scene.read.design_poses import Designs
from ...scene.read.mechanism import extract
from ..restraints import renew_restraints
from ..rig_update import refit
from ..symmetry.links import by_id
from .missing_parts import (
    FILED,
    FOLDERS,
    Needed,
    deleted,
    has_lost_physics,
    is_armature_gone,
    lacks_end,
    lost_shapes,
    missing,
    needed,
    orphans,
    scene_of,
    top_of,
)
from .rig_mismatch import misfit

_MOST_NAMES_ = 4


@dataclass
class Rebuilt:
    """What was made anew or taken back, in words, and what is to be said besides."""

    done: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)


def tell_of_left(rig: bpy.types.Object, base: Mechanism | None, out: Rebuilt) -> None:
    """Say what was deleted and stays away, being needed by nothing. ``base`` is the mechanism of the document."""
    left = needed(rig, base, everything=True)
    away = left.bodies | left.joints
    if not away:
        return
    names: dict[str, str] = {}
    if base is not None:
        names |= {body.id: body.name for body in base.bodies} | {joint.id: joint.name for joint in base.joints}
    names |= {record_of(obj).source_id: file_name(obj) for obj in deleted(rig)}
    told = name_list(sorted(names.get(own) or own for own in away), _MOST_NAMES_)
    out.report.warn(
        "left-away", f"Deleted, and left away since nothing needs it: {told}. Deleted Parts Too takes it back"
    )


def give_motion(rig: bpy.types.Object, out: Rebuilt) -> None:
    """Have the motion play on a new armature that played on the one that is gone, where it can be told: of those that
    nobody plays the only one, or the only one that was made for this model or has its name."""
    if rig.animation_data is not None:
        return
    played = {data.action for obj in bpy.data.objects if (data := obj.animation_data) is not None}
    free = [action for action in motions_of(rig) if action not in played]
    name, uid = record_of(rig).source_name or rig.name, settings(rig).uid
    own = [action for action in free if action_record(action).model == uid != ""]
    named = [action for action in free if action.name.startswith(f"{name} ")]
    for some in (free, own, named):
        if len(some) == 1:
            let_play(rig, some[0])
            out.done.append(f"its motion {some[0].name!r}")
            return
    if free:
        told = name_list(sorted(action.name for action in free), _MOST_NAMES_)
        out.report.warn("motion-unknown", f"Which motion it played cannot be told: choose one of {told}")


_MOST_NAMES = 4
#: What is taken back first: what hangs on it comes with it.
_ORDER = ("BODY", "JOINT", "SHAPE", "FRAME", "LIGHT", "LABEL")


def adopt(scene: bpy.types.Scene, active: bpy.types.Object | None = None) -> bpy.types.Object:
    """An armature for bodies and joints whose own is gone for good, without bones yet: for those beside the ``active``
    one, if it is such a part. ValueError where the scene has no such."""
    lost = orphans(scene, active)
    if not lost:
        raise ValueError("Nothing is missing: every part in the scene has its mechanism")
    top = top_of(lost[0], scene)
    name = top.name if top is not None else "Mechanism"
    data = next((data for data in bpy.data.armatures if not data.users and _was_of(data, top)), None)
    rig = bpy.data.objects.new(name, data or bpy.data.armatures.new(name))
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
def rebuild(rig: bpy.types.Object, scene: bpy.types.Scene, everything: bool = False) -> Rebuilt:
    """Make anew what is missing of a model.

    A model that is whole stays as it is. ``everything``: also the parts that were deleted and that nothing needs. On an
    error the caller takes back what was begun (``as_before``).
    """
    out = Rebuilt()
    fresh = settings(rig).collection is None or settings(rig).rig is None or record_of(rig).role != "MODEL"
    lacks = fresh or everything or bool(missing(rig))
    with quiet():
        is_new = _collections(rig, scene, out)
        _require_numbers(rig)
        base = _document(rig, out)
        if not lacks:
            tell_of_left(rig, base, out)
            return out
        if fresh:
            _facts(rig, base, out)
        want, before = needed(rig, base, everything), {role: by_id(rig, role) for role in ("BODY", "JOINT")}
        _take_back(rig, want, is_new or everything, out)
        made = base is not None and _parts(rig, base, want, everything, out)
        _link_again(rig, before)
        if made and scene_for(rig) is not None:
            bpy.context.view_layer.update()
    if rig.pose is None:  # an armature that was made just now has none until Blender has looked at it
        bpy.context.view_layer.update()
    wrong = misfit(rig, extract(rig))
    misfits = made or wrong.missing or wrong.left or wrong.elsewhere
    if misfits or out.done:
        new = [obj for own, obj in by_id(rig, "BODY").items() if own not in before["BODY"]]
        refit(rig, made=new)  # which also hangs on its bones again what stands elsewhere
    if misfits:
        out.done.append("the bones of the armature")
    if fresh:
        give_motion(rig, out)
    _physics(rig, out)
    tell_of_left(rig, base, out)
    return out


def _link_again(rig: bpy.types.Object, before: dict[str, dict[str, bpy.types.Object]]) -> None:
    """Link parts made anew to the twins that name them: a document knows no twins that were linked since."""
    for role, old in before.items():
        known = by_id(rig, role)
        for own, obj in known.items():
            mate = known.get(record_of(obj).twin)
            if mate is not None and record_of(obj).twin not in old and not record_of(mate).twin:
                record_of(mate).twin = own


def _require_numbers(rig: bpy.types.Object) -> None:
    """ValueError where a part stands at no number: said before anything is made."""
    designs = Designs(rig)
    for role in ("BODY", "JOINT"):
        for obj in every_part(rig, role):
            designs.of(obj)


# ---------------------------------------------------------------- collections and objects


def _collections(rig: bpy.types.Object, scene: bpy.types.Scene, out: Rebuilt) -> bool:
    """See that the model has its collection, in the scene, with its armature in it.

    Whether it has another than before.
    """
    model = settings(rig)
    model.rig = rig
    is_new = model.collection is None
    if model.collection is None:
        kept = next((obj for obj in _own(rig) if obj.users_scene), None)
        model.collection = top_of(kept, scene) if kept is not None else None
        if model.collection is None or _is_folder(model.collection):
            model.collection = _new_top(rig, scene)
        out.done.append("its collection")
    top = model.collection
    if scene_of(top) is None:
        scene.collection.children.link(top)
        if "its collection" not in out.done:
            out.done.append("its collection")
    if (is_new or is_armature_gone(rig)) and top.all_objects.get(rig.name) != rig:
        top.objects.link(rig)
        if rig.name in scene.collection.objects:
            scene.collection.objects.unlink(rig)
        else:
            out.done.append("its armature")
    return is_new


def _is_folder(collection: bpy.types.Collection) -> bool:
    """Whether a collection is called as those of a model are that hold one kind of its parts."""
    return any(is_called(collection, name) for name in FOLDERS.values())


def _own(rig: bpy.types.Object) -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if record_of(obj).model == rig and record_of(obj).role in FILED]


def _new_top(rig: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection:
    """A new collection, with those within that still hold parts of the model."""
    top = bpy.data.collections.new(record_of(rig).source_name or rig.name)
    scene.collection.children.link(top)
    holding = {folder for obj in _own(rig) for folder in obj.users_collection}
    inner = {child for folder in bpy.data.collections for child in folder.children}
    for folder in bpy.data.collections:
        loose = folder not in inner or folder.name in scene.collection.children
        if _is_folder(folder) and loose and {folder, *folder.children_recursive} & holding:
            top.children.link(folder)
            if folder.name in scene.collection.children:
                scene.collection.children.unlink(folder)
    return top


def _take_back(rig: bpy.types.Object, want: Needed, every: bool, out: Rebuilt) -> None:
    """Put parts of the model that are wanted, and what hangs on them, back into its collections: Blender keeps what
    something points at. ``every``: also what stands in a scene without being in these."""
    present, taken = set(settings(rig).collection.all_objects), set[bpy.types.Object]()
    scenes = [scene.collection for scene in bpy.data.scenes]
    away = [obj for obj in _own(rig) if obj not in present and not _is_of_physics(obj)]
    for obj in sorted(away, key=lambda obj: _ORDER.index(record_of(obj).role)):
        record = record_of(obj)
        ids = {"BODY": want.bodies, "JOINT": want.joints}.get(record.role)
        if obj.users_scene:
            wanted = every
        elif ids is not None:
            wanted = record.source_id in ids
        else:
            wanted = every or record.role in want.roles or obj.parent in taken
        if not wanted:
            continue
        taken.add(obj)
        child_collection(rig, FOLDERS[record.role]).objects.link(obj)
        for root in scenes:
            if root.objects.get(obj.name) == obj:
                root.objects.unlink(obj)
    names = [file_name(obj) for obj in taken if record_of(obj).role in ("BODY", "JOINT")]
    if names:
        out.done.append(name_list(sorted(names), _MOST_NAMES))
    elif taken:
        out.done.append(name_list(sorted({FOLDERS[record_of(obj).role] for obj in taken})))


def _is_of_physics(obj: bpy.types.Object) -> bool:
    return record_of(obj).is_ground or record_of(obj).is_flywheel


# ---------------------------------------------------------------- the document


def _document(rig: bpy.types.Object, out: Rebuilt) -> Mechanism | None:
    """The mechanism of the model's document.

    Where that is gone, or no longer one, it is looked for: among the Texts of the file, and where it was read from.
    """
    model = settings(rig)
    ids = {record_of(obj).source_id for obj in _own(rig) if record_of(obj).role in ("BODY", "JOINT")}
    if model.document is not None:
        try:
            return read_document(rig)
        except FormatError as error:
            out.report.warn("document-damaged", f"The text of its file cannot be read any more: {error}")
    elif not model.format and settings(rig).collection is not None and model.version > 1 and not _is_cleared(rig):
        return None  # it never had one
    owned = _documents()
    for text in bpy.data.texts:
        if text in owned:
            continue
        try:
            found = read_text(text, model.path)
        except FormatError:
            continue
        if _fits(found, ids):
            adopt_document(rig, text)
            out.done.append("the text of its file")
            return found
    path = Path(model.path) if model.path else None
    if path is not None and path.is_file():
        try:
            read = formats.load(path)
        except FormatError:
            read = None
        if read is not None and (_fits(read, ids) or not ids):  # with no parts left nothing speaks against its own file
            keep_document(rig, path.name, read.source.text, read.source.encoding)
            out.done.append("the text of its file")
            return read
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


def _fits(mechanism: Mechanism, ids: set[str]) -> bool:
    """Whether most parts are of this mechanism. Of no parts none is."""
    known = {body.id for body in mechanism.bodies} | {joint.id for joint in mechanism.joints}
    return bool(ids & known) and 2 * len(ids & known) >= len(ids)


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


def _parts(rig: bpy.types.Object, base: Mechanism, want: Needed, everything: bool, out: Rebuilt) -> bool:
    """Make the wanted bodies and joints of the document that are not kept, with what is on them; with ``everything``
    also frames and lights on others. Whether there are such."""
    bodies, joints = by_id(rig, "BODY"), by_id(rig, "JOINT")
    new_bodies = {body.id for body in base.bodies if body.id in want.bodies} - bodies.keys()
    new_joints = {joint.id for joint in base.joints if joint.id in want.joints} - joints.keys()
    if new_bodies or new_joints or everything:
        formats.complete_masses(base, out.report, tell_missing=False)
        decided = plan(base)
        hook = Hook(decided, rig, [])
        hook.let_loose()
        folders = Folders(base.name, base.assemblies, settings(rig).collection)
        with MeshFiles(base, out.report) as files:
            shelf = MeshShelf(base.name, files.mesh, PROXY * decided.size, PLANE * decided.size)
            make(make_bodies(decided, hook, folders, shelf, bodies, new_bodies))
            _shapes(rig, decided, bodies, new_bodies, shelf, folders)
            lost = lost_shapes(rig, decided.bodies, bodies, new_bodies) if everything else {}
            if lost and make_collision(decided, bodies, shelf, folders, {*lost.values()}, lost):
                settings(rig).has_collision = True
                out.done.append("Collision")
        joints |= make(make_joints(decided, hook, bodies, folders, new_joints))
        frames = _frames(rig, decided, bodies, new_bodies, everything, hook, folders)
        for scene in bpy.data.scenes:
            folders.exclude_off(scene)
        if frames and everything:
            out.done.append("Frames")
        names = [file_name(obj) for known, new in ((bodies, new_bodies), (joints, new_joints))
                 for own, obj in known.items() if own in new]  # fmt: skip
        if names:
            out.done.append(name_list(names, _MOST_NAMES))
    joined = _join_again(base, bodies, joints)
    if new_bodies or new_joints or joined:
        renew_restraints(rig, base, bodies, joints)
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
    rig: bpy.types.Object, decided: Plan, bodies: dict[str, bpy.types.Object], new: set[str], everything: bool,
    hook: Hook, folders: Folders,
) -> bool:  # fmt: skip
    """The same for frames and lights; ``everything``: those on other bodies are made too. Whether any were."""
    for role, made in (("FRAME", decided.mechanism.frames), ("LIGHT", decided.mechanism.lights)):
        for obj in parts(rig, role):
            number = int(record_of(obj).source_id) if record_of(obj).source_id.isdigit() else len(made)
            body = made[number].body if number < len(made) else None
            if obj.parent is None and body in new:
                obj.parent, obj.parent_type, obj.matrix_parent_inverse = bodies[body], "OBJECT", Matrix()
    known = {(record_of(obj).role, record_of(obj).source_id) for role in ("FRAME", "LIGHT") for obj in parts(rig, role)}
    before = latest(("objects",))
    make(make_frames(decided, hook, folders, bodies, None if everything else new, known))
    return latest(("objects",)) > before


def _join_again(base: Mechanism, bodies: dict[str, bpy.types.Object], joints: dict[str, bpy.types.Object]) -> bool:
    """Have joints of the document that lack a body be between those of the document again."""
    joined, present = False, set(bodies.values())
    for joint in base.joints:
        empty = joints.get(joint.id)
        if empty is None:
            continue
        record = record_of(empty).joint
        lacks = lacks_end(record)
        for end, own in (("parent", joint.parent), ("child", joint.child)):
            held = getattr(record, end)
            if own in bodies and (lacks if held is None else held not in present):
                setattr(record, end, bodies[own])
                joined = True
    return joined


def _physics(rig: bpy.types.Object, out: Rebuilt) -> None:
    """Build the physics anew whose world was deleted."""
    scene = scene_for(rig)
    if scene is not None and has_lost_physics(rig, parts(rig, "BODY")):
        drive = settings(rig).drive
        try:
            out.report.extend(build_physics(scene, rig))
        except ValueError as error:  # the world is another's: all else is as it was
            out.report.warn("physics-not-built", str(error))
            return
        if settings(rig).drive != drive:
            settings(rig).drive = drive
        out.done.append("its physics")
