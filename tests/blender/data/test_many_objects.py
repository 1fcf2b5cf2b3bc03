"""Making, setting and reading many new objects at once: as one after the other, whatever they are called and wherever
they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

#: Names as files have them: numbers that do not sort, letters of both cases and other scripts, and none at all.
NAMES = [f"Link {number}" for number in range(40)] + ["äther", "Zahn", "link 3", "ÄTHER", "a" * 60, "関節", "_"]


@pytest.mark.parametrize("others", [[], ["Link 5", "A", "zz", "Link 5.001"]])
def test_new_objects_are_called_what_they_are_to_be(blank: Any, others: list[str]) -> None:
    import bpy

    from addon.blender.data.bulk_write import create_objects

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
    from addon.blender.data import bulk_write as many
    from addon.blender.data.bulk_write import create_objects

    monkeypatch.setattr(many, "_MAX_NAMED_LOOKUPS", few)
    made = create_objects([(name, None) for name in ("leg", "arm", "leg", "leg.001", "leg")])
    assert [obj.name for obj in made] == ["leg", "arm", "leg.002", "leg.001", "leg.003"]
    assert [obj.name for obj in create_objects([("leg.004", None), ("leg", None)])] == ["leg.004", "leg.005"]


def test_new_objects_have_their_data(blank: Any) -> None:
    import bpy

    from addon.blender.data.bulk_write import create_objects

    data = [bpy.data.meshes.new("b"), None, bpy.data.meshes.new("a")]
    assert [obj.data for obj in create_objects(list(zip("xyz", data, strict=True)))] == data
    assert create_objects([]) == []


def test_what_is_put_at_once_is_as_if_put_one_by_one(blank: Any) -> None:
    """Into a collection with others, which stay as they were, and into one without."""
    import bpy

    from addon.blender.data.bulk_write import bulk_objects, create_objects

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
