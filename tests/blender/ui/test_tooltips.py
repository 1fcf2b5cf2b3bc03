"""Everything that can be pointed at says what it is, in a person's words."""

from __future__ import annotations

from typing import Any

from tests.support.operators_helpers import operators

#: Options that nobody sees: the file browser's own.
_BROWSER = {"filepath", "filter_glob", "files", "directory", "index"}
#: Choices that are words of the field, and in no panel.
_PLAIN = {"KnuckleObject.role"}


def untold(owner: str, properties: Any) -> list[str]:
    """The properties without a description, and those with choices that have none."""
    found = []
    for prop in properties:
        if prop.identifier == "rna_type" or (prop.is_hidden and prop.identifier in _BROWSER):
            continue
        if not prop.description.strip():
            found.append(f"{owner}.{prop.identifier}")
        elif prop.type == "ENUM" and f"{owner}.{prop.identifier}" not in _PLAIN:
            found += [
                f"{owner}.{prop.identifier}: {item.identifier}" for item in prop.enum_items if not item.description
            ]
    return found


def test_operators_and_their_options(blank: Any) -> None:
    for name, run in operators().items():
        kind = run.get_rna_type()
        assert len(kind.description) > 10, name
        assert not kind.description.endswith("."), f"{name}: Blender ends it"
        assert untold(name, kind.properties) == []


def test_properties_of_models_joints_and_scenes(blank: Any) -> None:
    import bpy

    from addon.blender import ui

    shown = [
        cls
        for cls in {*bpy.types.PropertyGroup.__subclasses__(), *ui._CLASSES}
        if cls.__module__.startswith("addon") and issubclass(cls, (bpy.types.PropertyGroup, bpy.types.AddonPreferences))
    ]
    assert len(shown) > 15
    found: list[str] = []
    for cls in shown:
        own = [prop for prop in cls.bl_rna.properties if prop.identifier in _annotated(cls) and _has_name(prop)]
        found += untold(cls.__name__, own)
    assert sorted(found) == []


def _has_name(prop: Any) -> bool:
    """Whether a property may be shown: one without a name of its own is a record and nothing else."""
    return bool(prop.name != prop.identifier)


def _annotated(cls: Any) -> set[str]:
    """The properties that a class and its bases of ours define. One that has no name of its own is shown nowhere."""
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("addon")
        for name in vars(base).get("__annotations__", {})
    }


def test_panels_say_what_numbers_are_in(blank: Any) -> None:
    """What Blender shows no unit for says it itself."""
    import bpy

    units = {"max_force", "servo_damping", "stiffness", "damping", "mass"}
    told = {
        f"{cls.__name__}.{prop.identifier}": prop.description
        for cls in bpy.types.PropertyGroup.__subclasses__()
        if cls.__module__.startswith("addon")
        for prop in cls.bl_rna.properties
        if prop.identifier in units and prop.identifier in _annotated(cls) and prop.name != prop.identifier
    }
    assert told
    lacking = [name for name, text in told.items() if "(" not in text]
    assert lacking == []
