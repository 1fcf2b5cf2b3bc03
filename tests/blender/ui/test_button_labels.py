"""No two buttons of the sidebar have one label: all panels are drawn in the states that they have, and what each
layout was given is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import panels_helpers
from tests.support.loops import crank_rocker
from tests.support.operator_cases import duo, hexapod, pick, rig
from tests.support.operators_helpers import operators
from tests.support.panels_helpers import Layout

#: Begins the label of a choice: it is read together with the others, and has to be the only one of its panel.
CHOICE = "choice "


class RecordingLayout(Layout):
    """Records each button that has a label: what it says, and what it does. What is drawn untranslated is no label:
    names, and switches that count."""

    def _record(self, label: str, does: str, translate: bool = True) -> None:
        if label and translate:
            self.drawn.append(("button", (label, does)))

    def operator(self, idname: str, icon: str = "NONE", text: Any = None, translate: bool = True, **_: Any) -> Any:
        label = text
        if text is None:
            label = operators()[idname].get_rna_type().name if idname in operators() else idname
        self._record(label, idname, translate)
        return super().operator(idname, icon)

    def operator_menu_enum(self, idname: str, prop: str, icon: str = "NONE", text: str = "", **_: Any) -> Any:
        self._record(text, f"{idname}.{prop}")
        return Layout(self.drawn).operator_menu_enum(idname, prop, icon)

    def menu(self, idname: str, icon: str = "NONE", text: str = "", **_: Any) -> None:
        super().menu(idname, icon)
        self._record(text, idname)

    def popover(self, panel: str, icon: str = "NONE", text: str = "", **_: Any) -> None:
        super().popover(panel, icon)
        self._record(text, panel)

    def prop(self, data: Any, name: str, icon: str = "NONE", text: Any = None, **more: Any) -> None:
        super().prop(data, name, icon)
        own = data.bl_rna.properties[name]
        if more.get("expand") or (own.type == "ENUM" and own.is_enum_flag):
            for item in own.enum_items:
                self._record(f"{CHOICE}{item.name}", f"{name}={item.identifier}")
        elif own.type == "BOOLEAN" and not own.is_array:
            self._record(own.name if text is None else text, name, more.get("translate", True))

    def row(self, **_: Any) -> RecordingLayout:
        return RecordingLayout(self.drawn)

    column = split = box = row


def labels() -> dict[str, list[str]]:
    """What each label of a button does, with the panel that it is in."""
    out: dict[str, list[str]] = {}
    for panel, drawn in panels_helpers.draw_all().items():
        for kind, what in drawn:
            if kind == "button":
                label = what[0].replace(CHOICE, f"{panel} > ")
                out.setdefault(label, []).append(f"{panel}: {what[1]}")
    return out


def nothing(_folder: Path) -> None:
    """No mechanism."""


def walker(folder: Path) -> None:
    hexapod(folder)
    _work()


def of_two(folder: Path) -> None:
    duo(folder)
    pick("Left Hip")
    _work()


def loop(_folder: Path) -> None:
    import bpy

    from addon.blender.data.queries import parts, rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    made = rig_in(build(crank_rocker(), options=BuildOptions(gait=False, physics=False)))
    follower = next(empty for empty in parts(made, "JOINT") if empty.knuckle.joint.is_dependent)
    bpy.context.view_layer.objects.active = follower


def _work() -> None:
    """Leave something to show in every panel."""
    import bpy

    bpy.ops.knuckle.store_pose(name="Stand")
    for step in ("check_symmetry", "find_twins", "check_model"):
        getattr(bpy.ops.knuckle, step)()
    rig().data.knuckle.drive = "SERVO"
    bpy.ops.knuckle.bake_physics(frame_end=3, all_bodies=True)
    rig().data.knuckle.law = "PD"


@pytest.mark.parametrize("state", [nothing, of_two, loop, walker], ids=lambda state: state.__name__)
@pytest.mark.parametrize("columns", ["VALUES", "RANGE"])
def test_no_two_buttons_have_one_label(
    blank: Any, tmp_path: Path, monkeypatch: Any, state: Callable[[Path], None], columns: str
) -> None:
    import bpy

    monkeypatch.setattr(panels_helpers, "Layout", RecordingLayout)
    state(tmp_path)
    bpy.context.window_manager.knuckle_joint_list.columns = columns
    for drive in ("KEYS", "SERVO", "LIMP"):
        if state is not nothing:
            rig().data.knuckle.drive = drive
        found = labels()
        assert len(found) >= (2 if state is nothing else 30), "the buttons are recorded"
        assert {label: does for label, does in found.items() if len(does) > 1} == {}
