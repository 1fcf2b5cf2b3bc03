"""Helpers for tests of panels: a substitute for UILayout that records what is drawn."""

from __future__ import annotations

from typing import Any


class Layout:
    """Stands in for a UILayout, and for its rows and columns; keeps all that is drawn."""

    def __init__(self, drawn: list[tuple[str, Any]]) -> None:
        self.drawn = drawn

    def _icon(self, icon: str) -> None:
        import bpy

        icons = bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items
        assert icon in icons, f"there is no icon {icon}"

    def label(self, text: str = "", icon: str = "NONE", **_: Any) -> None:
        self._icon(icon)
        self.drawn.append(("label", text))

    def prop(self, data: Any, name: str, icon: str = "NONE", **_: Any) -> None:
        self._icon(icon)
        assert name in data.bl_rna.properties, f"{data!r} has no {name}"
        self.drawn.append(("prop", name))

    prop_decorator = prop

    def operator(self, idname: str, icon: str = "NONE", **_: Any) -> Any:
        import bpy

        self._icon(icon)
        module, name = idname.split(".")
        known = getattr(getattr(bpy.ops, module), name).get_rna_type().properties
        self.drawn.append(("operator", idname))

        class Properties:
            def __setattr__(self, key: str, value: Any) -> None:
                assert key in known, f"{idname} has no {key}"

        return Properties()

    def operator_menu_enum(self, idname: str, prop: str, icon: str = "NONE", **_: Any) -> Any:
        import bpy

        module, name = idname.split(".")
        assert prop in getattr(getattr(bpy.ops, module), name).get_rna_type().properties
        if not getattr(self, "enabled", True):
            self.drawn.append(("disabled", idname))
        return self.operator(idname, icon)

    def menu(self, idname: str, icon: str = "NONE", **_: Any) -> None:
        import bpy

        self._icon(icon)
        assert hasattr(bpy.types, idname)
        self.drawn.append(("menu", idname))

    def separator(self, **_: Any) -> None:
        pass

    def template_list(self, kind: str, _id: str, data: Any, name: str, active: Any, index: str, **_: Any) -> None:
        import bpy

        assert hasattr(bpy.types, kind)
        assert name in data.bl_rna.properties
        assert isinstance(getattr(active, index), int)
        self.drawn.append(("list", kind))

    def popover(self, panel: str, icon: str = "NONE", **_: Any) -> None:
        import bpy

        self._icon(icon)
        assert hasattr(bpy.types, panel), f"there is no panel {panel}"
        self.drawn.append(("popover", panel))

    def row(self, **_: Any) -> Layout:
        return Layout(self.drawn)

    column = split = box = row


def panels_of_tab() -> list[Any]:
    """All panels of the tab as Blender sorts them: one inside another follows that one."""
    from addon.blender import ui

    classes = {cls.__name__: cls for cls in ui._CLASSES if getattr(cls, "bl_category", "") == "Knuckle"}

    def place(cls: Any) -> int:
        return getattr(classes.get(getattr(cls, "bl_parent_id", ""), cls), "bl_order", 0)

    return sorted(classes.values(), key=lambda cls: (place(cls), hasattr(cls, "bl_parent_id")))


def draw_all() -> dict[str, list[tuple[str, Any]]]:
    """What every panel draws whose poll lets it, by label."""
    import bpy

    out = {}
    every = {cls.__name__: cls for cls in panels_of_tab()}
    for cls in every.values():
        polls = [getattr(each, "poll", None) for each in (cls, every.get(getattr(cls, "bl_parent_id", "")))]
        if not all(poll is None or poll(bpy.context) for poll in polls):
            continue
        drawn: list[tuple[str, Any]] = []
        stand_in = type("Panel", (), {"layout": Layout(drawn)})()
        if hasattr(cls, "draw_header"):
            cls.draw_header(stand_in, bpy.context)
        cls.draw(stand_in, bpy.context)
        out[cls.bl_label] = drawn
    return out
