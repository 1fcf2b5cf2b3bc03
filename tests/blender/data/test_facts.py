"""The table of properties: it names what exists, covers every attribute, and keeps 64-bit numbers through records."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scenes import OWN

#: Where the records of each class are.
GROUPS = {
    "Body": "KnuckleObject", "Shape": "KnuckleShape", "Joint": "KnuckleJoint", "Dof": "KnuckleDof",
    "World": "KnuckleModel", "Engine": "KnuckleModel", "Frame": "KnuckleObject", "Light": "KnuckleObject",
    "Assembly": "KnuckleAssembly",
}  # fmt: skip
#: Attributes that have no place in Blender: documents and formats alone have them.
WITHOUT_RECORD = {
    "Body": "id extra line assembly", "Shape": "soft name extra", "Joint": "id extra line assembly",
    "Dof": "parts extra", "World": "time_step ground", "Frame": "assembly extra",
    "Light": "ambient specular extra", "Assembly": "path name extra",
    "Engine": "",
}  # fmt: skip


def classes() -> dict[str, Any]:
    from addon.core import model

    return {name: getattr(model, name) for name in GROUPS if name != "Engine"}


def test_every_attribute_is_in_the_table_or_has_no_record() -> None:
    from addon.blender.data.facts import PROPERTY_TABLES

    assert PROPERTY_TABLES.keys() == GROUPS.keys()
    for name, cls in classes().items():
        listed = [each.name for each in PROPERTY_TABLES[name]]
        assert len(listed) == len(set(listed)), f"{name}: an attribute twice"
        assert {*listed, *WITHOUT_RECORD[name].split()} == {each.name for each in fields(cls)}, name
        assert not {*listed} & {*WITHOUT_RECORD[name].split()}, name


def test_the_table_names_properties_that_exist(blank: Any) -> None:
    """Of records, and of Blender's own types."""
    import bpy

    from addon.blender.data.facts import PROPERTY_TABLES
    from addon.blender.data.properties import joint, model

    for name, table in PROPERTY_TABLES.items():
        group: Any = getattr(model, GROUPS[name], None) or getattr(joint, GROUPS[name])
        known = set(group.bl_rna.properties.keys()) | set(
            bpy.types.Object.bl_rna.properties["knuckle"].fixed_type.properties.keys()
        )
        for each in table:
            assert {*each.fields} <= known, (name, each.name)
            if each.shown:
                owner: Any = bpy.types.LayerCollection if name == "Assembly" else bpy.types.Object
                rna = owner.bl_rna
                for step in each.shown.split("."):
                    if step in rna.properties:
                        rna = getattr(rna.properties[step], "fixed_type", None)
                        continue
                    assert rna.identifier == "ID", (name, each.shown)  # data: a mesh or a light
                    rna = None
                    assert step in bpy.types.Light.bl_rna.properties, (name, each.shown)


numbers = st.floats(-1e6, 1e6, allow_nan=False, width=64)


@given(st.lists(numbers, min_size=9, max_size=9), st.sampled_from(["rotation", "translation"]))
def test_an_unedited_value_keeps_its_digits_and_an_edited_one_is_short(values: list[float], kind: Any) -> None:
    """With a plain object of 32-bit numbers as the record."""
    from types import SimpleNamespace

    from addon.blender.data.facts import DOF_PROPERTIES, pull, push
    from addon.core.model import Dof

    names = ("lower", "upper", "position", "velocity", "damping", "friction", "stiffness", "rest", "armature")
    dof = Dof(kind, **dict(zip(names, values, strict=True)))
    record = SimpleNamespace()
    push(record, DOF_PROPERTIES, dof)
    for name in names:
        setattr(record, name, float(np.float32(getattr(record, name))))
    kept = deepcopy(dof)
    pull(record, DOF_PROPERTIES, kept)
    assert [getattr(kept, name) for name in names] == values
    record.damping = float(np.float32(0.15))
    record.use_lower = False
    pull(record, DOF_PROPERTIES, kept)
    assert kept.lower is None
    assert kept.damping in (0.15, values[4])
    assert [getattr(kept, name) for name in names[1:4]] == values[1:4]


@pytest.mark.parametrize("sample", ["rover/rover.jm", "humanoid/humanoid.skel", "sensor_leg/sensor_leg.xml"])
def test_a_record_holds_what_was_pushed(blank: Any, sample: str) -> None:
    """All values of the file in 32 bits, whatever created the record."""
    from addon import formats
    from addon.blender.build import build
    from addon.blender.data.facts import BODY_PROPERTIES, DOF_PROPERTIES, SHAPE_PROPERTIES, read_properties
    from addon.blender.data.queries import parts

    mechanism = formats.load(OWN / sample)
    rig = next(obj for obj in build(mechanism).all_objects if obj.knuckle.role == "MODEL")
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.id: joint for joint in mechanism.joints}

    def compare(record: Any, table: Any, part: Any) -> None:
        for name, now in read_properties(record, table).items():
            before = getattr(part, name)
            if isinstance(before, (float, np.ndarray, tuple)) and name != "color":
                assert np.allclose(np.float32(now), np.float32(before), rtol=1e-6, atol=1e-12), name
            elif isinstance(before, (bool, str)):
                assert now == before, name

    seen = 0
    for obj in parts(rig, "BODY"):
        body = bodies[obj.knuckle.source_id]
        compare(obj.knuckle, BODY_PROPERTIES, body)
        for kept, shape in zip(obj.knuckle.shapes, body.shapes, strict=True):
            compare(kept, SHAPE_PROPERTIES, shape)
            seen += 1
    for empty in parts(rig, "JOINT"):
        for kept, dof in zip(empty.knuckle.joint.dofs, joints[empty.knuckle.source_id].dofs, strict=True):
            compare(kept, DOF_PROPERTIES, dof)
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("kept", [-0.8, 0.0, 0.3])
@pytest.mark.parametrize("new", [None, -0.5, 0.0, 0.7])
@pytest.mark.parametrize("old", [None, -0.5, 0.0, 0.7])
def test_a_stop_gets_its_value_whatever_number_the_record_kept_while_it_was_off(
    blank: Any, old: float | None, new: float | None, kept: float
) -> None:
    import bpy

    from addon.blender.data.access import record_of
    from addon.blender.data.facts import DOF_PROPERTIES, push, read_properties
    from addon.core.model import Dof

    record = record_of(bpy.data.objects.new("joint", None)).joint.dofs.add()
    record.lower = kept
    before, after = Dof("rotation", lower=old), Dof("rotation", lower=new)
    push(record, DOF_PROPERTIES, before)
    push(record, DOF_PROPERTIES, after, before)
    assert read_properties(record, DOF_PROPERTIES)["lower"] == (None if new is None else pytest.approx(new))
    if new is None:  # for when it is switched on again
        assert record.lower == pytest.approx(kept if old is None else old)
