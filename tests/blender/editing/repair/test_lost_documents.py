"""A document that a model has lost is found again for what it was: in its encoding, unfolded, and none of another's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.harms import clear_settings
from tests.support.rebuild_helpers import exported, imported
from tests.support.scenes import found, the_rig
from tests.support.small import FLAPPER, put

DECLARED = FLAPPER.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="windows-1252"?>')


def activate() -> None:
    import bpy

    bpy.context.view_layer.objects.active = the_rig()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(FLAPPER, "cp1252"), (DECLARED, "cp1252"), (FLAPPER, "utf-16"), (FLAPPER, "utf-8-sig")],
    ids=["undeclared", "declared", "of 16 bits", "with a mark"],
)
def test_a_text_found_again_is_in_the_encoding_of_its_file(
    blank: Any, tmp_path: Path, text: str, encoding: str
) -> None:
    import bpy

    data = text.replace("Left Flap", "Füße").encode(encoding)
    path = tmp_path / "flapper.jm"
    path.write_bytes(data)
    imported(path, physics=False)
    path.unlink()
    clear_settings()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert exported(tmp_path / "again.jm") == data


def test_a_folded_text_is_found_again(blank: Any, tmp_path: Path) -> None:
    """A JSON on one line is longer than what Blender takes as a line of a Text."""
    import bpy

    data = json.dumps(json.loads(found("pumpjack.json").read_text())).encode()
    data = data.replace(b"{", b"{" + b" " * 800)
    path = tmp_path / "line.json"
    path.write_bytes(data)
    rig = imported(path, physics=False)
    assert rig.data.knuckle.fold
    path.unlink()
    clear_settings()
    activate()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert the_rig().data.knuckle.fold
    assert exported(tmp_path / "again.json") == data


def test_no_text_of_another_mechanism_is_taken(blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no part left that could tell, none fits; and of a text that is another model's nobody asks."""
    import bpy

    from addon.blender.data.documents import mechanism_from_text
    from addon.blender.editing.repair import rebuild as module

    path = put(tmp_path / "flapper.jm")
    rig = imported(path, physics=False)
    other = put(tmp_path / "other.jm")
    assert bpy.ops.import_scene.mechanism(filepath=str(other), physics=False) == {"FINISHED"}
    mine = bpy.data.texts.new("what the user keeps")
    mine.from_string(FLAPPER)
    kept = rig.data.knuckle.document
    bpy.data.batch_remove([obj for obj in bpy.data.objects if obj.knuckle.model == rig and obj != rig])
    bpy.data.texts.remove(kept)
    path.unlink()
    bpy.context.view_layer.objects.active = rig
    read: list[str] = []

    def noted(text: Any, where: str) -> Any:
        read.append(text.name)
        return mechanism_from_text(text, where)

    monkeypatch.setattr(module, "mechanism_from_text", noted)
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert read == [mine.name], "the other's was not even looked at"
    assert rig.data.knuckle.document is None


def test_a_copy_in_the_collection_of_its_original_is_read_itself(blank: Any, tmp_path: Path) -> None:
    """The first has a flap less: the copy has all its bones, and only its text is found again."""
    import bpy

    from addon.blender.editing.repair.rebuild import rebuild

    first = imported(put(tmp_path / "flapper.jm"), physics=False)
    bpy.ops.object.select_all(action="SELECT")
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    (second,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL" and obj != first)
    bpy.ops.object.select_all(action="DESELECT")
    next(obj for obj in bpy.data.objects if obj.knuckle.source_name == "Left Flap").select_set(True)
    bpy.context.view_layer.objects.active = first
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    second.data.knuckle.document = None
    assert rebuild(second, bpy.context.scene).done == ["the text of its file"]
