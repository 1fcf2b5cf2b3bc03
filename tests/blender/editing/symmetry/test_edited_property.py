"""Symmetric editing of one property of a part: its image alone is written to the twin, which differs in all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.compat import ensure_node_tree
from addon.blender.data.access import record_of, settings
from addon.blender.data.facts import PROPERTY_TABLES, PartProperty, PropertyFlow, ValueProperty
from addon.blender.data.queries import parts, twin_of
from addon.blender.editing.symmetry import live_mirror
from addon.blender.editing.symmetry.twins import adopt_linked_plane, link_twins
from addon.blender.reconcile.build import BuildOptions, build
from tests.matrix.scenes import SCENES
from tests.support.scenes import pick, the_rig

FLIP = np.diag([-1.0, 1.0, 1.0, 1.0])
#: Mechanisms and parts on the left that have the properties of a class. Colors are those of the body's material.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Body": (("shift", "left arm"),),
    "Shape": (("skel", "left arm"),),
    "Joint": (("shift", "left hip"),),
    "Dof": (("skel", "left hip"), ("juice", "left hip")),  # of the second, a joint value is minus that of the twin
    "Frame": (("shift", "left tip"),),
    "Light": (("shift", "left lamp"),),
}
#: Properties that say which parts belong together: no twin is to change, except by operators.
LINKS = {"Body.twin", "Joint.twin", "Joint.parent", "Joint.child", "Frame.body", "Light.body"}
#: Properties that symmetric editing leaves to *Mirror to Twin*.
LEFT = {"Body.shapes"}
#: Properties that an operator sets, with those that come with them.
SET_BY_OPERATOR = {"Joint.type", "Joint.dofs"}
OPPOSITE = {"lower": "upper", "upper": "lower", "use_lower": "use_upper", "use_upper": "use_lower"}


def edits() -> Iterator[Any]:
    """Each way to edit a property of the table: its class, name, and the record's field or Blender's property."""
    for cls, places in PARTS.items():
        for each in PROPERTY_TABLES[cls]:
            label = f"{cls}.{each.name}"
            if each.flow is PropertyFlow.OPERATOR or label in LINKS | LEFT | SET_BY_OPERATOR:
                continue
            for scene, part in places:
                for path in paths(each):
                    yield pytest.param(scene, part, cls, each, path, id=f"{label}-{scene}-{path}")


def paths(each: PartProperty) -> Iterator[str]:
    """Yield RNA paths from a part's record or object, which tell where users edit a property."""
    if each.flow is not PropertyFlow.BLENDER:
        assert isinstance(each, ValueProperty)
        yield from (f"record.{field}" for field in each.fields)
    if each.flow is not PropertyFlow.PANEL:
        moves = {"matrix_basis": ("location", "rotation_euler")}
        yield from moves.get(each.shown, (each.shown,))


def test_each_property_that_users_edit_is_edited_here_or_a_link() -> None:
    every = {
        f"{cls}.{each.name}" for cls in PARTS for each in PROPERTY_TABLES[cls] if each.flow is not PropertyFlow.OPERATOR
    }
    done = {f"{case.values[2]}.{case.values[3].name}" for case in edits()}
    assert every - done == LINKS | LEFT | SET_BY_OPERATOR
    assert len(done) > 25 and "Shape.color" in done


# ---------------------------------------------------------------- the mechanism


def unlike_twins(folder: Path, scene: str, physics: bool = False) -> Any:
    """A mechanism of the edit matrix, edited symmetrically, whose halves differ in all properties."""
    build(formats.load(SCENES[scene].write(folder)), options=BuildOptions(gait=False, physics=physics))
    rig = the_rig()
    for part in ("arm", "hip"):
        if twin_of(bpy.data.objects[f"left {part}"]) is None:
            link_twins((bpy.data.objects[f"left {part}"], bpy.data.objects[f"right {part}"]))
    adopt_linked_plane(rig)
    bpy.context.view_layer.update()
    for name in ("right arm", "right hip", "right tip", "right lamp"):
        if name in bpy.data.objects:
            make_unlike(bpy.data.objects[name])
    for obj in list(bpy.data.objects):
        if record_of(obj).role == "SHAPE" and obj.parent == bpy.data.objects.get("odd arm"):
            make_unlike(obj)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    return rig


def make_unlike(obj: Any) -> None:
    """Give a part on the right other values of all properties."""
    obj.rotation_mode = "XYZ"
    obj.location = obj.location + Matrix.Translation((0.03, -0.02, 0.01)).translation
    obj.rotation_euler.y += 0.1
    if record_of(obj).role != "JOINT":
        obj.scale = [1.1 * number for number in obj.scale]
    obj.name = obj.name.replace("right", "odd")
    record = record_of(obj)
    if record.role == "BODY":
        record.mass += 0.7
        record.immobile = not record.immobile
    for dof in record.joint.dofs:
        for each in PROPERTY_TABLES["Dof"]:
            if each.flow is not PropertyFlow.OPERATOR:
                for field in each.fields:
                    setattr(dof, field, other(getattr(dof, field), 0.21))
        dof.lower, dof.upper = sorted((dof.lower, dof.upper))
    if obj.type == "LIGHT":
        obj.data.type, obj.data.color, obj.data.energy = "SUN", (0.3, 0.2, 0.1), obj.data.energy + 2.0
    for slot in obj.material_slots:
        slot.link = "OBJECT"
        slot.material = slot.material.copy() if slot.material else bpy.data.materials.new("odd")
        ensure_node_tree(slot.material)
        slot.material.diffuse_color = (0.9, 0.1, 0.4, 1.0)


def other(value: Any, step: float = 0.13) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    return value + step if isinstance(value, float) else f"{value}x"


def state() -> dict[tuple[int, str], Any]:
    """Everything that the parts of the mechanism have, by their number and a path."""
    out: dict[tuple[int, str], Any] = {}
    for role in ("BODY", "JOINT", "SHAPE", "FRAME", "LIGHT"):
        for obj in parts(the_rig(), role):
            own = {
                "name": obj.name,
                "parent": obj.parent and obj.parent.session_uid,
                "data": obj.data and obj.data.name,
            }
            for name in ("location", "rotation_euler", "scale"):
                own[name] = tuple(getattr(obj, name))
            own |= dict(fields_of(obj.knuckle, "record"))
            if obj.rigid_body is not None:
                own["rigid_body.mass"], own["rigid_body.type"] = obj.rigid_body.mass, obj.rigid_body.type
            if obj.type == "LIGHT":
                own |= {"data.type": obj.data.type, "data.color": tuple(obj.data.color), "energy": obj.data.energy}
            for slot in obj.material_slots:
                own["active_material.diffuse_color"] = tuple(slot.material.diffuse_color)
                own["shader"] = tuple(shader_of(slot.material)["Base Color"].default_value)
            out |= {(obj.session_uid, path): value for path, value in own.items()}
    return out


def fields_of(record: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a property group and the groups in it, except what symmetric editing compares with."""
    for item in record.bl_rna.properties:
        name = item.identifier
        if name in {"rna_type", "session_tag"} or name.startswith(("mirrored", "each_")) or name.endswith("_angle"):
            continue
        value = getattr(record, name)
        if isinstance(value, bpy.types.PropertyGroup):
            yield from fields_of(value, f"{path}.{name}")
        elif item.type == "COLLECTION":
            for number, each in enumerate(value):
                yield from fields_of(each, f"{path}.{name}[{number}]")
        elif item.type == "POINTER":
            yield f"{path}.{name}", value and value.session_uid
        else:
            yield f"{path}.{name}", tuple(value) if getattr(item, "is_array", False) else value


def changes(before: dict[tuple[int, str], Any], after: dict[tuple[int, str], Any]) -> dict[int, dict[str, Any]]:
    """The values that changed, by the number of the object."""
    out: dict[int, dict[str, Any]] = {}
    for (uid, path), value in after.items():
        was = before.get((uid, path))
        if not is_same(value, was):
            out.setdefault(uid, {})[path] = value
    return out


def is_same(one: Any, two: Any) -> bool:
    """Return whether two values are equal, numbers up to rounding."""
    if isinstance(one, (float, tuple)) and isinstance(two, (float, tuple)):
        return bool(np.shape(one) == np.shape(two) and np.allclose(one, two, rtol=1e-6, atol=1e-6))
    return bool(one == two)


def own_part(cls: str, name: str, path: str) -> tuple[Any, Any, Any]:
    """The object on the left that is edited, that on the right, and the owner of the property."""
    obj = bpy.data.objects[name]
    twin = bpy.data.objects[name.replace("left", "odd")]
    if cls == "Shape" and not path.startswith("active_material"):
        obj, twin = (
            next(each for each in bpy.data.objects if each.parent == body and record_of(each).role == "SHAPE")
            for body in (obj, twin)
        )
    obj.rotation_mode = "XYZ"
    return obj, twin, record_of(obj).joint.dofs[0] if cls == "Dof" else record_of(obj)


def edit(obj: Any, record: Any, path: str) -> None:
    """Give a property another value."""
    owner, path = (record, path.removeprefix("record.")) if path.startswith("record.") else (obj, path)
    group, _dot, name = path.rpartition(".")
    owner = owner.path_resolve(group) if group else owner
    value = getattr(owner, name)
    if path in {"location", "rotation_euler"}:
        value[2] += 0.25
    elif path == "scale":
        value[0] *= 1.5
    elif path.endswith("color"):
        setattr(owner, name, [0.1, 0.6, 0.3, 1.0][: len(value)])
    else:
        named = {"name": "left thing", "type": "SPOT"}
        setattr(owner, name, named[name] if name in named else other(value))


def expected_image(scene: str, cls: str, path: str, obj: Any, twin: Any, was: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the twin gets: the mirror image of the property."""
    field = path.removeprefix("record.")
    if cls == "Dof":
        return expected_dof(scene, field, record_of(obj).joint.dofs[0])
    if field == "name":
        return {"name": "right thing"}
    if field == "scale":  # it is as much larger as the part, along the same axis
        return {"scale": (1.5 * was["scale"][0], *was["scale"][1:])}
    if field in {"location", "rotation_euler"}:
        own, now = (np.array(each.matrix_parent_inverse @ each.matrix_basis) for each in (obj, twin))
        if field == "location":
            assert now[:3, 3] == pytest.approx((FLIP @ own)[:3, 3], abs=1e-5)
        else:  # its axes are those of the image, in either direction
            turned, image = (each[:3, :3] / np.linalg.norm(each[:3, :3], axis=0) for each in (now, FLIP @ own))
            assert np.abs(turned) == pytest.approx(np.abs(image), abs=1e-5)
        return {field: tuple(getattr(twin, field))}
    if field in {"mass", "rigid_body.mass"}:
        shown = {} if twin.rigid_body is None else {"rigid_body.mass": obj.rigid_body.mass}
        return {"record.mass": record_of(obj).mass} | shown
    value = obj.path_resolve(field) if field == path else getattr(record_of(obj), field)
    return {path: tuple(value) if not isinstance(value, (str, bool, int, float)) else value}


def expected_dof(scene: str, field: str, dof: Any) -> dict[str, Any]:
    """Return the values of the twin's degree of freedom, whose joint value is ``sign`` times that of this one."""
    sign = SCENES[scene].sign
    its = OPPOSITE.get(field, field) if sign < 0.0 else field
    place = "record.joint.dofs[0]."
    if field in {"use_lower", "use_upper"} and not getattr(dof, field):
        return {place + its: False}
    if field in OPPOSITE:
        flag, number = f"use_{field.removeprefix('use_')}", field.removeprefix("use_")
        if not getattr(dof, flag):
            return {}  # the number of a stop that is off
        image = OPPOSITE[number] if sign < 0.0 else number
        return {f"{place}use_{image}": True, place + image: sign * getattr(dof, number)}
    signed = sign if field in {"position", "velocity", "rest"} else 1.0
    return {place + its: signed * getattr(dof, field)}


# ---------------------------------------------------------------- the edits


@pytest.mark.parametrize("is_stored_first", [False, True], ids=["", "stored first"])
@pytest.mark.parametrize(("scene", "name", "cls", "each", "path"), list(edits()))
def test_the_image_of_an_edited_property_alone_is_written_to_the_twin(
    blank: Any, tmp_path: Path, scene: str, name: str, cls: str, each: PartProperty, path: str, is_stored_first: bool
) -> None:
    """Undo reverts both. With a window, Blender stores the step before it calls our handler (``is_stored_first``)."""
    unlike_twins(tmp_path, scene, physics=path == "rigid_body.mass")
    obj, twin, record = own_part(cls, name, path)
    pick(obj)
    bpy.context.view_layer.update()
    for _ in range(3):  # parts that are tagged for an update count as changed
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="before")
    before, handlers = state(), bpy.app.handlers.depsgraph_update_post
    own, its = obj.session_uid, twin.session_uid
    edit(obj, record, path)
    if is_stored_first:
        handlers.remove(live_mirror.after_update)
        bpy.ops.ed.undo_push(message="edit")
        handlers.append(live_mirror.after_update)
        touch(obj)
        bpy.context.view_layer.update()
    else:
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="edit")
    bpy.context.view_layer.update()
    done = state()
    found = changes(before, done)
    assert found.pop(own, {}), "the edit has done nothing"
    was, now = ({place: value for (uid, place), value in each.items() if uid == its} for each in (before, done))
    image = expected_image(scene, cls, path, obj, twin, was)
    assert not {place: (now[place], value) for place, value in image.items() if not is_same(now[place], value)}
    assert found.pop(its, {}).keys() == {place for place, value in image.items() if not is_same(was[place], value)}
    assert not found, "other parts have changed"
    bpy.ops.ed.undo()
    bpy.context.view_layer.update()
    assert not changes(before, state())
    bpy.ops.ed.redo()
    bpy.context.view_layer.update()
    assert not changes(done, state())


def touch(obj: Any) -> None:
    """Have Blender report an object, and what it shows, as updated."""
    obj.update_tag()
    if obj.type == "LIGHT":
        obj.data.color = obj.data.color
    for slot in obj.material_slots:
        slot.material.diffuse_color = slot.material.diffuse_color


@pytest.mark.parametrize("scene", ["juice", "shift"])
@pytest.mark.parametrize("type_", ["universal", "cylindrical", "euler", "prismatic", "weld"])
def test_a_twin_of_another_type_keeps_what_is_its_own(blank: Any, tmp_path: Path, scene: str, type_: str) -> None:
    """The type alone is mirrored: what continues keeps the stops, springs and motor of the twin."""
    unlike_twins(tmp_path, scene)
    obj, twin, record = own_part("Dof", "left hip", "record.type")
    its = record_of(twin).joint
    settings(the_rig()).symmetric = False
    its.dofs[0].use_lower = its.dofs[0].use_upper = True
    settings(the_rig()).symmetric = True
    fields = [field for each in PROPERTY_TABLES["Dof"] if each.flow is PropertyFlow.PANEL for field in each.fields]
    was, place = {field: getattr(its.dofs[0], field) for field in fields}, np.array(twin.matrix_world)[:3, 3]
    pick(obj)
    assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert record_of(obj).joint.type == record_of(twin).joint.type == type_
    kinds = [[dof.kind for dof in record_of(each).joint.dofs] for each in (obj, twin)]
    assert sorted(kinds[0]) == sorted(kinds[1])
    assert np.array(twin.matrix_world)[:3, 3] == pytest.approx(place, abs=1e-6) and twin.name == "odd hip"
    continuing = [dof for dof in record_of(twin).joint.dofs if dof.kind == "rotation"]
    if type_ not in {"prismatic", "weld"}:
        ours = [[getattr(dof, field) for field in fields] for dof in continuing]
        assert any(is_same(tuple(each), tuple(was.values())) for each in map(tuple, ours))


# ---------------------------------------------------------------- materials


def shader_of(material: Any) -> Any:
    return material.node_tree.nodes["Principled BSDF"].inputs


def painted(folder: Path) -> tuple[Any, Any]:
    """Materials of the left and right arm, which differ, in a mechanism that is edited symmetrically."""
    unlike_twins(folder, "skel")
    return tuple(bpy.data.objects[name].active_material for name in ("left arm", "odd arm"))


@pytest.mark.parametrize("name", ["Base Color", "Alpha"])
def test_a_color_of_the_shader_alone_is_set_in_the_material_of_the_twin(blank: Any, tmp_path: Path, name: str) -> None:
    mine, its = painted(tmp_path)
    before = {each: tuple(np.atleast_1d(shader_of(its)[each].default_value)) for each in ("Base Color", "Alpha")}
    shown, roughness = tuple(its.diffuse_color), shader_of(its)["Roughness"].default_value
    shader_of(mine)["Roughness"].default_value = 0.123
    bpy.context.view_layer.update()
    assert shader_of(its)["Roughness"].default_value == roughness
    assert all(tuple(np.atleast_1d(shader_of(its)[each].default_value)) == value for each, value in before.items())
    shader_of(mine)[name].default_value = 0.4 if name == "Alpha" else (0.2, 0.7, 0.1, 1.0)
    bpy.context.view_layer.update()
    for each, value in before.items():
        now = tuple(np.atleast_1d(shader_of(its)[each].default_value))
        assert now == (tuple(np.atleast_1d(shader_of(mine)[each].default_value)) if each == name else value)
    assert tuple(its.diffuse_color) == shown


def test_a_material_of_other_bodies_keeps_its_color(blank: Any, tmp_path: Path) -> None:
    """The trunk has the material of the right arm; of the left arm painted, it is not to change, and so they differ."""
    mine, its = painted(tmp_path)
    trunk = bpy.data.objects["trunk"]
    trunk.data = trunk.data.copy()
    trunk.data.materials.clear()
    trunk.data.materials.append(its)
    bpy.context.view_layer.update()
    before = tuple(its.diffuse_color)
    mine.diffuse_color = (0.2, 0.7, 0.1, 1.0)
    bpy.context.view_layer.update()
    assert tuple(its.diffuse_color) == before
    trunk.data.materials.clear()
    bpy.context.view_layer.update()
    assert tuple(its.diffuse_color) == before, "the edit is over"
    mine.diffuse_color = (0.1, 0.6, 0.3, 1.0)
    bpy.context.view_layer.update()
    assert tuple(its.diffuse_color) == pytest.approx((0.1, 0.6, 0.3, 1.0))


def test_a_body_with_another_material_begins_as_it_is(blank: Any, tmp_path: Path) -> None:
    """A material that is given to a twin is not painted for that; later edits are mirrored, in either direction."""
    mine, its = painted(tmp_path)
    new = its.copy()
    new.diffuse_color = (0.0, 0.0, 0.9, 1.0)
    bpy.data.objects["odd arm"].material_slots[0].material = new
    bpy.context.view_layer.update()
    assert tuple(new.diffuse_color) == pytest.approx((0.0, 0.0, 0.9, 1.0))
    new.diffuse_color = (0.5, 0.0, 0.9, 1.0)
    bpy.context.view_layer.update()
    assert tuple(mine.diffuse_color) == pytest.approx((0.5, 0.0, 0.9, 1.0))
    assert tuple(its.diffuse_color) == pytest.approx((0.9, 0.1, 0.4, 1.0))


def test_a_material_of_several_bodies_whose_twins_have_different_ones_is_not_mirrored(
    blank: Any, tmp_path: Path
) -> None:
    mine, its = painted(tmp_path)
    hands = [bpy.data.objects[f"{side} hand"] for side in ("left", "right")]
    settings(the_rig()).symmetric = False
    link_twins((hands[0], hands[1]))
    for hand, material in zip(hands, (mine, its.copy()), strict=True):
        hand.data = hand.data.copy()
        hand.data.materials.clear()
        hand.data.materials.append(material)
    settings(the_rig()).symmetric = True
    bpy.context.view_layer.update()
    before = [tuple(hands[1].active_material.diffuse_color), tuple(its.diffuse_color)]
    mine.diffuse_color = (0.2, 0.7, 0.1, 1.0)
    bpy.context.view_layer.update()
    assert [tuple(hands[1].active_material.diffuse_color), tuple(its.diffuse_color)] == before
    counts = set()
    for _ in range(3):  # what our handler wrote in each update would be reported as a change by the next
        bpy.context.view_layer.update()
        counts.add((mine.knuckle.mirrored.count, its.knuckle.mirrored.count))
    assert len(counts) == 1


def test_a_color_is_mirrored_in_a_file_that_was_opened(blank: Any, tmp_path: Path) -> None:
    painted(tmp_path)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "saved.blend"))
    bpy.context.view_layer.update()
    mine, its = (bpy.data.objects[name].active_material for name in ("left arm", "odd arm"))
    assert tuple(mine.diffuse_color) != tuple(its.diffuse_color)
    mine.diffuse_color = (0.2, 0.7, 0.1, 1.0)
    bpy.context.view_layer.update()
    assert tuple(its.diffuse_color) == pytest.approx((0.2, 0.7, 0.1, 1.0))
