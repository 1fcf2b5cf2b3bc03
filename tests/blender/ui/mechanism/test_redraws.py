"""The panels are drawn far more often than anything changes: a look at all parts is taken once between two changes,
and anew after each that Blender or a script makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.harms import delete
from tests.support.panels_helpers import draw_all
from tests.support.scenes import the_rig


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one whenever the panel of the model looks at all parts."""
    from addon.blender.ui.mechanism import panels

    counted: list[Any] = []
    whole = panels.parts_by_role

    def counting(rig: Any) -> Any:
        counted.append(rig)
        return whole(rig)

    monkeypatch.setattr(panels, "parts_by_role", counting)
    return counted


def labels() -> list[str]:
    return [text for kind, text in draw_all()["Mechanism"] if kind == "label"]


def sentences() -> str:
    """What the panel tells in its boxes, put together again: it is broken into lines."""
    return " ".join(labels())


def test_drawn_again_nothing_is_looked_at_again(rig: Any, looks: list[Any]) -> None:
    first = draw_all()
    assert len(looks) == 1
    assert [draw_all() for _ in range(3)] == [first] * 3
    assert len(looks) == 1


def test_a_look_keeps_nothing_that_blender_may_free(rig: Any) -> None:
    import bpy

    from addon.blender.ui.mechanism import panels

    seen = panels._model_status(rig)
    for each in (*seen[:-1], *seen.lacks):
        assert isinstance(each, (int, str)) and not isinstance(each, bpy.types.bpy_struct)


def _delete_body() -> None:
    delete("Left Flap")()


def _remove_text() -> None:
    import bpy

    bpy.data.texts.remove(the_rig().data.knuckle.document)


def _remove_body_by_script() -> None:
    import bpy

    bpy.data.objects.remove(bpy.data.objects["Left Flap"])


def _remove_world() -> None:
    import bpy

    assert bpy.ops.rigidbody.world_remove() == {"FINISHED"}


def _move_joint() -> None:
    import bpy

    bpy.data.objects["Left Joint"].location.x += 0.1
    bpy.context.view_layer.update()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (_delete_body, "Bodies deleted, but still connected by joints: 'Left Flap'. Rebuild them"),
        (_remove_body_by_script, "Bodies deleted, but still connected by joints: 'a body of Left Joint'. Rebuild them"),
        (_remove_text, "Document: the text of its file was deleted"),
        (_remove_world, "Rigid-body world: deleted, with the mechanism's physics. Rebuild it"),
        (_move_joint, "1 joint was moved: the bones do not match. Update the armature"),
    ],
)
def test_each_change_is_told_at_the_next_redraw(
    rig: Any, looks: list[Any], harm: Callable[[], None], told: str
) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig
    if harm is _remove_world:
        assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert told not in sentences()
    before = len(looks)
    harm()
    assert told in sentences()
    assert len(looks) == before + 1


def test_taken_back_by_undo_it_is_told_no_more(rig: Any, looks: list[Any]) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig
    bpy.ops.ed.undo_push(message="before")
    whole = labels()
    _move_joint()
    bpy.ops.ed.undo_push(message="moved")
    assert labels() != whole
    assert bpy.ops.ed.undo() == {"FINISHED"}
    bpy.context.view_layer.objects.active = the_rig()
    assert labels() == whole
    assert bpy.ops.ed.redo() == {"FINISHED"}
    bpy.context.view_layer.objects.active = the_rig()
    assert "1 joint was moved" in sentences()


def test_two_models_are_looked_at_by_themselves(rig: Any, model_file: Any, looks: list[Any]) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    second = bpy.context.view_layer.objects.active
    delete("Left Flap.001")()
    for model, lacks in ((rig, False), (second, True), (rig, False)):
        bpy.context.view_layer.objects.active = model
        assert ("Left Flap" in sentences()) == lacks
