"""Labels and tooltips keep the measurable rules of the style guide, read from what Blender has registered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.support.operators_helpers import operators

MAX_LENGTH = 100
#: Words with which no tooltip begins.
QUESTION_WORDS = {"what", "which", "how", "who", "whose", "where", "whether", "why", "if"}
#: Words that a label in title case may have in lower case, unless they are the first or the last one.
SMALL_WORDS = {
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "of", "off", "on", "or", "per", "the", "to",
    "with", "without",
}  # fmt: skip
#: Tooltips that break a rule, by their places. Each has to be needed.
TOOLTIPS: dict[str, str] = {}
#: Labels that are not in title case, by their texts.
LABELS: dict[str, str] = {"x_xy (ring)": "the name of a format"}
#: Properties that Blender's own base classes define with their texts.
_INHERITED = {"rna_type", "bl_idname", "name"}


def registered_groups() -> list[Any]:
    """Return our property groups, preferences, panels and menus that are registered."""
    import bpy

    from addon.blender import ui

    groups = [cls for cls in bpy.types.PropertyGroup.__subclasses__() if cls.__module__.startswith("addon")]
    return [*dict.fromkeys([*groups, *(cls for cls in ui._CLASSES if not issubclass(cls, bpy.types.Operator))])]


def own_properties(cls: Any) -> Iterator[Any]:
    """Yield the properties that a class and its bases of ours define."""
    import bpy

    if not issubclass(cls, (bpy.types.PropertyGroup, bpy.types.AddonPreferences)):
        return
    for base in cls.__mro__:
        if base.__module__.startswith("addon"):
            for name in vars(base).get("__annotations__", {}):
                prop = cls.bl_rna.properties.get(name)
                if prop is not None:
                    yield prop


def properties() -> Iterator[tuple[str, Any]]:
    """Yield all properties of ours with their places: of operators, groups and Blender's data-blocks."""
    import bpy

    for name, run in operators().items():
        for prop in run.get_rna_type().properties:
            if prop.identifier not in _INHERITED and not prop.is_hidden:
                yield f"{name}.{prop.identifier}", prop
    for cls in registered_groups():
        yield from ((f"{cls.__name__}.{prop.identifier}", prop) for prop in own_properties(cls))
    for owner in (bpy.types.Scene, bpy.types.WindowManager, bpy.types.Armature):
        for prop in owner.bl_rna.properties:
            if prop.identifier.startswith("knuckle_"):
                yield f"{owner.__name__}.{prop.identifier}", prop


def tooltips() -> dict[str, str]:
    """Return all tooltips by their places."""
    found = {name: run.get_rna_type().description for name, run in operators().items()}
    found |= {cls.__name__: getattr(cls, "bl_description", "") for cls in registered_groups()}
    for place, prop in properties():
        found[place] = prop.description
        if prop.type == "ENUM":
            found |= {f"{place}: {item.identifier}": item.description for item in prop.enum_items}
    return {place: text for place, text in found.items() if text}


def labels() -> dict[str, str]:
    """Return all labels by their places. A property without a label has its identifier as name and is shown nowhere."""
    found = {name: run.get_rna_type().name for name, run in operators().items()}
    found |= {cls.__name__: cls.bl_label for cls in registered_groups() if getattr(cls, "bl_label", "")}
    for place, prop in properties():
        if prop.name == prop.identifier:
            continue
        found[place] = prop.name
        if prop.type == "ENUM":
            found |= {f"{place}: {item.identifier}": item.name for item in prop.enum_items}
    return {place: text for place, text in found.items() if text}


def tooltip_fault(text: str) -> str:
    """Return the rule that a tooltip breaks; empty if none."""
    first = re.split(r"[^a-z]", text.lower(), maxsplit=1)[0]
    if len(text) > MAX_LENGTH:
        return f"{len(text)} characters"
    if first in QUESTION_WORDS:
        return f"begins with {first!r}"
    if text.endswith("."):
        return "ends with a period"
    return "begins in lower case" if first and text[0].islower() else ""


def is_title_case(label: str) -> bool:
    """Return whether all words of a label begin with a capital, besides small words in its middle."""
    words = [word for word in re.split(r"[\s/]+", label.rstrip("…")) if word[:1].isalpha()]
    inner = set(range(1, len(words) - 1))
    return all(word[0].isupper() or (k in inner and word in SMALL_WORDS) for k, word in enumerate(words))


def test_tooltips_keep_the_rules(blank: Any) -> None:
    texts = tooltips()
    assert len(texts) > 600
    found = {place: f"{fault}: {text}" for place, text in texts.items() if (fault := tooltip_fault(text))}
    assert {place: text for place, text in found.items() if place not in TOOLTIPS} == {}
    assert TOOLTIPS.keys() - found.keys() == set(), "not needed any more"


def test_labels_are_in_title_case(blank: Any) -> None:
    texts = labels()
    assert len(texts) > 400
    found = {place: text for place, text in texts.items() if not is_title_case(text) or text.endswith((".", "?", ":"))}
    assert {place: text for place, text in found.items() if text not in LABELS} == {}
    assert LABELS.keys() - set(found.values()) == set(), "not needed any more"


def test_what_breaks_a_rule_is_found() -> None:
    assert tooltip_fault("How large it is") == "begins with 'how'"
    assert tooltip_fault("Size of dials.") == "ends with a period"
    assert tooltip_fault("x" * 101) == "101 characters"
    assert tooltip_fault("size of dials") == "begins in lower case"
    assert tooltip_fault("However large") == tooltip_fault("-1 is forward") == ""
    assert is_title_case("Stack in NLA") and is_title_case("3D Cursor") and is_title_case("Up/W, Down/S")
    assert not is_title_case("All joints") and not is_title_case("Turn it On Or off")
