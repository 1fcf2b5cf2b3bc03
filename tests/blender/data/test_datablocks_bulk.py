"""Bulk writes: records and new objects that are set at once read as if set one by one, now, after an edit, in a copy
and in a file opened again."""

import math
import random
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of
from addon.blender.data.datablocks import changed_properties, write_properties
from addon.blender.data.properties.joint import KnuckleDof, KnuckleJoint, KnuckleShape
from addon.blender.data.properties.model import ROLES, KnuckleObject
from addon.blender.events import signals as listeners

#: What Blender does not take as it is: beyond 32 bits, beyond a property's own bounds, no number, with a nul.
NUMBERS = [0.0, -0.0, 1.0, -2.5, 0.1, 1e-50, 1e300, -1e300, math.inf, -math.inf, math.nan]
TEXTS = ["", "a", "ä€😀", "a\0b", "x" * 3000]


def values_of(kind, chance: random.Random, rig: bpy.types.Object) -> dict:
    """Values for all properties of a group but its parts, most of them unlike the usual ones."""
    out = {}
    for each in kind.bl_rna.properties:
        if each.is_readonly or each.identifier in {"rna_type", "name"} or each.identifier.startswith("each_"):
            continue
        if each.identifier.endswith("_angle"):
            continue  # another view of the same number
        if each.type == "FLOAT":
            flat = [chance.choice(NUMBERS) for _ in range(each.array_length or 1)]
            out[each.identifier] = flat if each.is_array else flat[0]
        elif each.type == "STRING":
            out[each.identifier] = chance.choice(TEXTS)
        elif each.type == "BOOLEAN":
            out[each.identifier] = chance.random() < 0.5
        elif each.type == "INT":
            out[each.identifier] = chance.choice([0, -1, 7, 2**31 - 1])
        elif each.type == "ENUM":
            out[each.identifier] = chance.choice(ROLES)
        elif each.type == "POINTER" and each.fixed_type.identifier == "Object":
            out[each.identifier] = chance.choice([None, rig])
    out.pop("mirrored_pose", None), out.pop("mirrored_twin_pose", None)  # 4x4: never set when a part is made
    return out


def told(record) -> dict:
    """All that a record says, parts included, as text: no number is itself."""
    out = {}
    for each in (each for each in record.bl_rna.properties if each.identifier != "rna_type"):
        name = each.identifier
        value = getattr(record, name)
        if each.type == "COLLECTION":
            out[name] = [told(part) for part in value]
        elif each.type == "POINTER" and isinstance(value, bpy.types.PropertyGroup):
            out[name] = told(value)
        elif each.type == "POINTER":
            out[name] = getattr(value, "name", None)
        else:
            out[name] = repr(value if isinstance(value, (str, int, float)) else [*map(str, value)])
    return out


def one_by_one(record, values: dict) -> None:
    for name, value in values.items():
        setattr(record, name, value)


@pytest.mark.parametrize("seed", range(2))
def test_a_record_set_at_once_reads_as_one_set_piece_by_piece(blank, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    rig = bpy.data.objects.new("rig", None)
    about, joint = values_of(KnuckleObject, chance, rig), values_of(KnuckleJoint, chance, rig)
    shapes = [values_of(KnuckleShape, chance, rig) for _ in range(3)]
    dofs = [values_of(KnuckleDof, chance, rig) for _ in range(2)]
    assert len(about) > 25
    assert len(joint) > 10
    assert len(dofs[0]) > 20

    pieces, whole = bpy.data.objects.new("pieces", None), bpy.data.objects.new("whole", None)
    with listeners.writing_records():
        record = record_of(pieces)
        one_by_one(record, about)
        one_by_one(record.joint, joint)
        for every, values in ((record.shapes, shapes), (record.joint.dofs, dofs)):
            for each in values:
                one_by_one(every.add(), each)
    part = {**changed_properties(KnuckleJoint, joint), "dofs": [changed_properties(KnuckleDof, each) for each in dofs]}
    group = {**changed_properties(KnuckleObject, about), "joint": part}
    write_properties(whole, {**group, "shapes": [changed_properties(KnuckleShape, each) for each in shapes]})
    assert told(record_of(whole)) == told(record_of(pieces))

    copy = whole.copy()
    with listeners.writing_records():
        for obj in (copy, pieces):  # it can be edited as any other
            record = record_of(obj)
            record.mass, record.role, record.source_name = 3.25, "JOINT", "edited"
            record.baseline_pose[3] = 0.5
            record.joint.dofs[1].lower = -0.25
            record.joint.dofs.add().gain = 7.0
    assert told(record_of(copy)) == told(record_of(pieces)) != told(record_of(whole))

    for obj in (rig, pieces, copy):
        obj.use_fake_user = True
    before, names = told(record_of(pieces)), (pieces.name, copy.name)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    assert all(told(record_of(bpy.data.objects[name])) == before for name in names)


def test_a_value_that_is_no_text_is_rejected(blank) -> None:
    with pytest.raises(UnicodeEncodeError):
        changed_properties(KnuckleObject, {"source_name": "a\udcffb"})


def test_what_is_as_usual_takes_no_room(blank) -> None:
    usual = {"role": "NONE", "mass": 0.0, "source_name": "", "model": None, "active": True}
    assert changed_properties(KnuckleObject, usual) == {}
    assert math.copysign(1.0, changed_properties(KnuckleObject, {"mass": -0.0})["mass"]) == -1.0
    assert changed_properties(KnuckleObject, {"mass": 0, "com": [0, 0.0, 0]}) == {}, "whole numbers too"
    assert list(changed_properties(KnuckleObject, {"com": [1e300, -math.inf, 0.5]})["com"]) == [
        pytest.approx(3.4028235e38), pytest.approx(-3.4028235e38), 0.5,
    ]  # fmt: skip


#: Names as files have them: numbers that do not sort, letters of both cases and other scripts, and none at all.
NAMES = [f"Link {number}" for number in range(40)] + ["äther", "Zahn", "link 3", "ÄTHER", "a" * 60, "関節", "_"]


@pytest.mark.parametrize("others", [[], ["Link 5", "A", "zz", "Link 5.001"]])
def test_new_objects_are_called_what_they_are_to_be(blank: Any, others: list[str]) -> None:
    import bpy

    from addon.blender.data.datablocks import create_objects

    for name in others:
        bpy.data.objects.new(name, None)
    made = create_objects([(name, None) for name in NAMES])
    free = [name for name in NAMES if name not in others]
    assert [obj.name for obj, name in zip(made, NAMES, strict=True) if name in free] == free
    assert len(bpy.data.objects) == len(NAMES) + len(others)


@pytest.mark.parametrize("few", [0, 4000])
def test_of_several_with_one_name_the_first_gets_it_and_none_gets_anothers(
    blank: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.blender.data import datablocks as many
    from addon.blender.data.datablocks import create_objects

    monkeypatch.setattr(many, "_MAX_NAMED_LOOKUPS", few)
    made = create_objects([(name, None) for name in ("leg", "arm", "leg", "leg.001", "leg")])
    assert [obj.name for obj in made] == ["leg", "arm", "leg.002", "leg.001", "leg.003"]
    assert [obj.name for obj in create_objects([("leg.004", None), ("leg", None)])] == ["leg.004", "leg.005"]


def test_new_objects_have_their_data(blank: Any) -> None:
    import bpy

    from addon.blender.data.datablocks import create_objects

    data = [bpy.data.meshes.new("b"), None, bpy.data.meshes.new("a")]
    assert [obj.data for obj in create_objects(list(zip("xyz", data, strict=True)))] == data
    assert create_objects([]) == []


def test_what_is_put_at_once_is_as_if_put_one_by_one(blank: Any) -> None:
    """Into a collection with others, which stay as they were, and into one without."""
    import bpy

    from addon.blender.data.datablocks import bulk_objects, create_objects

    rng = np.random.default_rng(3)
    held, empty = (bpy.data.collections.new(name) for name in ("held", "empty"))
    other = bpy.data.objects.new("other", None)
    other.location, other.empty_display_type = (1.0, 2.0, 3.0), "CUBE"
    held.objects.link(other)
    objects = create_objects([(f"n{number}", None) for number in range(12)])
    like = create_objects([(f"o{number}", None) for number in range(12)])
    matrices, sizes = rng.normal(size=(12, 16)).astype(np.float32), rng.uniform(0.1, 1.0, 12)
    matrices.reshape(12, 4, 4)[:, :, 3] = (0.0, 0.0, 0.0, 1.0)  # by columns
    count = len(bpy.data.collections)
    with bulk_objects(objects, [(held, empty)[number % 2] for number in range(12)]) as new:
        new.put("empty_display_type", "ARROWS")
        new.put("rotation_mode", "QUATERNION")
        new.put("empty_display_size", sizes)
        new.put("matrix_basis", matrices)
        read = new.get("matrix_basis", 16)
    for obj, matrix, size in zip(like, matrices, sizes, strict=True):
        obj.empty_display_type, obj.rotation_mode, obj.empty_display_size = "ARROWS", "QUATERNION", size
        obj.matrix_basis = matrix.reshape(4, 4).tolist()
    for number, (obj, one) in enumerate(zip(objects, like, strict=True)):
        assert obj.matrix_basis == one.matrix_basis
        assert (obj.empty_display_type, obj.rotation_mode) == ("ARROWS", "QUATERNION")
        assert obj.empty_display_size == one.empty_display_size
        assert read[number].tolist() == [x for column in obj.matrix_basis.transposed() for x in column]
        assert obj.users_collection == ((held, empty)[number % 2],)
    assert (tuple(other.location), other.empty_display_type) == ((1.0, 2.0, 3.0), "CUBE")
    assert len(bpy.data.collections) == count


@pytest.mark.parametrize("longest", [9_999, 10_000, 10_001])
@pytest.mark.parametrize("before", ["", "short\n", "x" * 9_990 + "\n", "\n" * 20_000])
@pytest.mark.parametrize("after", ["", "\n", "\nshort", "\n" + "y" * 9_000])
def test_long_lines_are_found(blank: Any, longest: int, before: str, after: str) -> None:
    """Those for which a document is folded: of more than 10,000 characters."""
    import bpy

    from addon.blender.data.access import settings
    from addon.blender.data.documents import source_document_text, store_document

    rig = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    text = before + "z" * longest + after
    store_document(rig, "text", text, "utf-8")
    assert bool(settings(rig).fold) == (longest > 10_000)
    assert source_document_text(rig) == text
