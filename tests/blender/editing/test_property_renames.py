"""Properties of release 1.0 that have new names: values, data paths of F-curves and drivers, linked data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.emptied import empty_file

pytest.importorskip("bpy")

import bpy

import addon
from addon.blender.compat import stored_property_group
from addon.blender.data.properties.model import CLASSES
from addon.blender.editing.migration import RENAMED_PROPERTIES, rename_stored_properties, renamed_path

BLENDS = Path(__file__).resolve().parents[2] / "data/blends"
OLD_NAMES = {old for names in RENAMED_PROPERTIES.values() for old in names}
OWNERS = {
    "Object": "KnuckleObject", "Armature": "KnuckleModel", "Bone": "KnuckleBone", "Material": "KnuckleMaterial",
    "Action": "KnuckleAction",
}  # fmt: skip


def owners() -> Iterator[tuple[str, Any]]:
    """All data with property groups of ours, and the type of the group."""
    for data in bpy.data.armatures:
        yield "KnuckleModel", data
        yield from (("KnuckleBone", bone) for bone in data.bones)
    yield from (("KnuckleObject", obj) for obj in bpy.data.objects)
    yield from (("KnuckleMaterial", material) for material in bpy.data.materials)
    yield from (("KnuckleAction", action) for action in bpy.data.actions)


def plain(value: Any) -> Any:
    """A stored value as plain Python: names of datablocks, numbers of Blender's 32 bits."""
    if isinstance(value, bpy.types.ID):
        return value.name
    if hasattr(value, "keys"):
        return {key: plain(each) for key, each in value.items()}
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    if isinstance(value, list):
        return [plain(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value


def stored(path: Path) -> dict[tuple[str, str], Any]:
    """Read the groups of ours that a .blend stores, by type and name of the owner, without the add-on."""
    addon.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path))
        every = {(kind, owner.name): stored_property_group(owner, "knuckle") for kind, owner in owners()}
        return {key: plain(group) for key, group in every.items() if group is not None}
    finally:
        addon.register()


#: Groups within groups, with the names of release 1.0.
INNER_GROUPS = {
    ("KnuckleObject", "joint"): "KnuckleJoint",
    ("KnuckleJoint", "dofs"): "KnuckleDof",
    ("KnuckleJoint", "parts"): "KnuckleDof",
    **{("KnuckleJoint", name): "KnuckleMotor" for name in ("motors", "losses", "far_stops", "pushes")},
    ("KnuckleModel", "throws"): "KnuckleMotor",
    ("KnuckleModel", "before"): "KnuckleWorldBackup",
    ("KnuckleModel", "truth"): "KnuckleAccuracy",
    ("KnuckleAccuracy", "joints"): "KnuckleJointAccuracy",
    ("KnuckleModel", "restraints"): "KnuckleRestraint",
    ("KnuckleRestraint", "motors"): "KnuckleMotor",
    ("KnuckleModel", "servo_names"): "KnuckleServoName",
    ("KnuckleAction", "origins"): "KnuckleOrigin",
    ("KnuckleOrigin", "servos"): "KnuckleOriginServo",
}


def renamed(value: Any, kind: str) -> Any:
    """A stored group with the present names, by the types that release 1.0 declared."""
    if isinstance(value, list):
        return [renamed(each, kind) for each in value]
    names = RENAMED_PROPERTIES.get(kind, {})
    return {
        names.get(key, key): renamed(each, INNER_GROUPS[kind, key]) if (kind, key) in INNER_GROUPS else each
        for key, each in value.items()
    }


def names_in(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    return {*value, *set().union(*map(names_in, value.values()))} if isinstance(value, dict) else set()


def assert_holds(now: Any, was: Any, where: str) -> None:
    """All that was stored under a renamed property is there. The steps of migration may change and add other values."""
    for key, value in was.items():
        if isinstance(value, dict):
            assert_holds(now[key], value, f"{where}.{key}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for index, (one, other) in enumerate(zip(now[key], value, strict=True)):
                assert_holds(one, other, f"{where}.{key}[{index}]")
        elif key in PRESENT_NAMES:
            assert now[key] == value, f"{where}.{key}"


PRESENT_NAMES = {new for names in RENAMED_PROPERTIES.values() for new in names.values()}


def test_the_table_names_properties_that_exist_and_no_old_one_does() -> None:
    kinds = {cls.__name__: set(cls.__annotations__) for cls in CLASSES}
    for kind, names in RENAMED_PROPERTIES.items():
        assert set(names.values()) <= kinds[kind], kind
        assert not set(names) & kinds[kind], kind


@pytest.mark.parametrize("path", sorted(BLENDS.glob("*.blend")), ids=lambda path: path.stem)
def test_values_of_a_file_of_release_1_0_are_under_the_present_names(blank: Any, path: Path) -> None:
    try:
        was = stored(path)
    except RuntimeError as error:
        pytest.skip(f"this Blender cannot open it: {error}")
    old = {key: renamed(value, key[0]) for key, value in was.items()}
    assert set().union(*map(names_in, was.values())) & OLD_NAMES, "the file has old names"
    empty_file()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    now = {(kind, owner.name): stored_property_group(owner, "knuckle") for kind, owner in owners()}
    for key, value in old.items():
        assert_holds(plain(now[key]), value, " ".join(key))
    assert not {name for group in now.values() if group is not None for name in names_in(plain(group)) & OLD_NAMES}


def filled(group: Any, kind: Any, level: int) -> None:
    """Set every renamed property of a group, and of those within it, to a value that no default is."""
    for prop in kind.properties:
        name = prop.identifier
        if prop.type == "COLLECTION" and prop.fixed_type.identifier in KINDS and level:
            filled(getattr(group, name).add(), prop.fixed_type, level - 1)
        elif prop.type == "POINTER" and prop.fixed_type.identifier in KINDS:
            filled(getattr(group, name), prop.fixed_type, level)
        elif name in RENAMED_PROPERTIES.get(kind.identifier, {}).values():
            setattr(group, name, a_value_for(prop))


def a_value_for(prop: Any) -> Any:
    if prop.type == "POINTER":
        return bpy.data.objects["Target"]
    single = {"BOOLEAN": True, "INT": 3, "FLOAT": 0.625, "STRING": "something"}[prop.type]
    if not getattr(prop, "is_array", False):
        return single
    rows, columns = prop.array_dimensions[:2]
    return [[single] * columns] * rows if columns else [single] * rows


def old_names(value: Any, kind: str, found: set[tuple[str, str]]) -> None:
    """Store a group under the names of release 1.0 again."""
    for old, new in RENAMED_PROPERTIES.get(kind, {}).items():
        if new in value:
            found.add((kind, old))
            value[old] = value[new]
            del value[new]
    for (parent, name), inner in INNER_GROUPS.items():
        if parent == kind and name in value:
            for each in value[name] if isinstance(value[name], list) else [value[name]]:
                old_names(each, inner, found)


KINDS = {cls.__name__ for cls in CLASSES}


def test_every_renamed_property_keeps_its_value(blank: Any) -> None:
    """Stored under its old name and renamed: nothing differs from what was set under the present names."""
    bpy.ops.knuckle.add_mechanism(kind="pendulum")
    bpy.data.objects.new("Target", None).use_fake_user = True
    bpy.data.actions.new("Old").use_fake_user = True
    (joint,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT")
    data = joint.knuckle.model.data
    chosen = {
        "KnuckleObject": joint, "KnuckleModel": data, "KnuckleBone": data.bones[0],
        "KnuckleMaterial": bpy.data.materials[0], "KnuckleAction": bpy.data.actions["Old"],
    }  # fmt: skip
    from addon.blender.events.signals import writing_records

    with writing_records():
        for owner in chosen.values():
            filled(owner.knuckle, owner.bl_rna.properties["knuckle"].fixed_type, 3)
    wanted = {kind: plain(stored_property_group(owner, "knuckle")) for kind, owner in chosen.items()}
    found: set[tuple[str, str]] = set()
    for kind, owner in chosen.items():
        old_names(stored_property_group(owner, "knuckle"), kind, found)
    assert found == {(kind, old) for kind, names in RENAMED_PROPERTIES.items() for old in names}
    assert any(plain(stored_property_group(owner, "knuckle")) != wanted[kind] for kind, owner in chosen.items())
    rename_stored_properties()
    assert {kind: plain(stored_property_group(owner, "knuckle")) for kind, owner in chosen.items()} == wanted
    assert joint.knuckle.inertia_proxy == bpy.data.objects["Target"] and data.knuckle.ground_offset == 0.625
    assert joint.knuckle.joint.loss_motors[0].dof_index == 3
    assert list(data.knuckle.restraints[0].frame_a) == [0.625] * 16


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("knuckle.joint.dofs[2].ticked", "knuckle.joint.dofs[2].is_marked"),
        ("knuckle.joint.parts[0].begins", "knuckle.joint.parts[0].assembled_start"),
        ("knuckle.joint.losses[1].number", "knuckle.joint.loss_motors[1].dof_index"),
        ("knuckle.lift", "knuckle.ground_offset"),
        ("knuckle.restraints[0].at_one", "knuckle.restraints[0].frame_a"),
        ('bones["A.knuckle.x"].knuckle.turn', 'bones["A.knuckle.x"].knuckle.joint_rotation'),
        ("knuckle.flywheel_share", "knuckle.inertia_proxy_share"),
        ("knuckle.mass", "knuckle.mass"),
        ("knuckle.joint.dofs[0].stiffness", "knuckle.joint.dofs[0].stiffness"),
        ('pose.bones["lift"].rotation_euler', 'pose.bones["lift"].rotation_euler'),
        ('["ticked"]', '["ticked"]'),
    ],
)
def test_data_paths_lead_to_the_present_names(path: str, expected: str) -> None:
    assert renamed_path(path) == expected
    assert renamed_path(expected) == expected


def test_curves_strips_and_drivers_follow(blank: Any) -> None:
    bpy.ops.knuckle.add_mechanism(kind="pendulum")
    (joint,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT")
    rig = joint.knuckle.model
    joint.knuckle.joint.dofs[0].keyframe_insert("is_marked", frame=3)
    rig.data.knuckle.keyframe_insert("ground_offset", frame=5)
    track = rig.data.animation_data.nla_tracks.new()
    track.strips.new("raised", 1, rig.data.animation_data.action)
    rig.data.animation_data.action = None
    driver = joint.driver_add("knuckle.inertia_proxy_share").driver
    variable = driver.variables.new()
    variable.targets[0].id_type, variable.targets[0].id = "ARMATURE", rig.data
    variable.targets[0].data_path = "knuckle.ground_offset"
    holders = [
        next(iter(every))
        for every in (
            [curve for action in bpy.data.actions for curve in curves(action) if "is_marked" in curve.data_path],
            [curve for action in bpy.data.actions for curve in curves(action) if "ground_offset" in curve.data_path],
            joint.animation_data.drivers,
            variable.targets,
        )
    ]
    present = [holder.data_path for holder in holders]
    for holder, path in zip(
        holders,
        ("knuckle.joint.dofs[0].ticked", "knuckle.lift", "knuckle.flywheel_share", "knuckle.lift"),
        strict=True,
    ):
        holder.data_path = path
    rename_stored_properties()
    assert [holder.data_path for holder in holders] == present


def curves(action: Any) -> list[Any]:
    from addon.blender.compat import all_curves

    return list(all_curves(action))


def test_linked_data_of_release_1_0_is_renamed_in_memory(blank: Any, tmp_path: Path) -> None:
    path = BLENDS / "pumpjack-4.2.blend"
    before = path.read_bytes()
    with bpy.data.libraries.load(str(path), link=True) as (source, target):
        target.collections = [name for name in source.collections if "pumpjack" in name][:1]
    bpy.context.scene.collection.children.link(target.collections[0])
    bpy.context.view_layer.update()
    joints = [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT"]
    assert joints and all(obj.library is not None for obj in joints)
    assert any(obj.knuckle.joint.is_dependent for obj in joints), "the pumpjack has a closed loop"
    assert all(obj.knuckle.joint.bone_kinds for obj in joints if not obj.knuckle.joint.loop)
    assert path.read_bytes() == before
