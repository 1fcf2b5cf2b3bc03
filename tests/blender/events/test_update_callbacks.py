"""Every property of a mechanism's records can be typed: its update callback finds what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.scenes import made


def groups(group: Any, path: str) -> Iterator[tuple[Any, str]]:
    """A property group and all groups within it, with their paths."""
    import bpy

    yield group, path
    for prop in (each for each in group.bl_rna.properties if each.identifier != "rna_type"):
        value = getattr(group, prop.identifier)
        if prop.type == "POINTER" and isinstance(value, bpy.types.PropertyGroup):
            yield from groups(value, f"{path}.{prop.identifier}")
        elif prop.type == "COLLECTION":
            for number, each in enumerate(value):
                if isinstance(each, bpy.types.PropertyGroup):
                    yield from groups(each, f"{path}.{prop.identifier}[{number}]")


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", ["hexapod.jm", "pumpjack.json", "humanoid.skel"])
def test_every_property_can_be_set_to_what_it_is(blank: Any, name: str, symmetric: bool, capfd: Any) -> None:
    import bpy

    from addon.blender.data.access import record_of, settings
    from addon.blender.data.queries import parts

    rig = made(name)
    settings(rig).symmetric = symmetric
    bpy.context.view_layer.update()
    capfd.readouterr()
    count = 0
    owners = [settings(rig), *(record_of(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role)[:4])]
    every = [
        (owner.id_data, path, prop.identifier)
        for owner in owners
        for group, path in groups(owner, "knuckle")
        for prop in group.bl_rna.properties
        if not prop.is_readonly and prop.type not in {"POINTER", "COLLECTION"}
    ]
    for datablock, path, identifier in every:
        try:
            group = datablock.path_resolve(path)  # each anew: callbacks may have made it again
            value = getattr(group, identifier)
            is_array = getattr(group.bl_rna.properties[identifier], "is_array", False)
            setattr(group, identifier, value[:] if is_array else value)
        except (TypeError, ValueError):
            continue  # a list of choices that is empty at present, or a group that is gone
        count += 1
    bpy.context.view_layer.update()
    assert count > 300
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err and "Error" not in err
