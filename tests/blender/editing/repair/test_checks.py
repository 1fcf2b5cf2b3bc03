"""The check and its mends, as users call them: what is broken in Blender is told, and Fix leaves nothing to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import build
from addon.core.model import Body, Shape
from tests.support.validate_helpers import sound


@pytest.fixture
def rig(blank: Any) -> Any:
    made = rig_in(build(sound()))
    bpy.context.view_layer.objects.active = made
    return made


def codes(rig: Any) -> list[str]:
    bpy.ops.knuckle.check_model()
    return [row.code for row in settings(rig).findings]


def joints(rig: Any) -> list[Any]:
    return [record_of(empty).joint.dofs[0] for empty in parts(rig, "JOINT")]


def weightless(rig: Any) -> None:
    record_of(parts(rig, "BODY")[0]).mass = 0.0


def inverted(rig: Any) -> None:
    for dof in joints(rig):
        dof.lower, dof.upper = 0.7, -0.5


def beyond(rig: Any) -> None:
    for dof in joints(rig):
        dof.position = 0.9


def one_sided(rig: Any) -> None:
    record_of(parts(rig, "BODY")[0]).twin = "Left arm"


def alike(rig: Any) -> None:
    for empty in parts(rig, "JOINT"):
        record_of(empty).source_name, record_of(empty).built_name = "Shoulder", empty.name
        record_of(empty).twin = ""
    for obj in parts(rig, "BODY"):
        record_of(obj).twin = ""


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (weightless, "no-mass"),
        (inverted, "stops-inverted"),
        (beyond, "start-beyond-stop"),
        (one_sided, "twin-one-sided"),
        (alike, "name-twice"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_can_be_mended_is(rig: Any, damage: Callable[[Any], None], code: str) -> None:
    assert codes(rig) == []
    damage(rig)
    for _ in range(4):
        found = codes(rig)
        if not found:
            break
        assert set(found) - {"twins-differ"} == {code}
        assert settings(rig).findings[0].fix
        assert bpy.ops.knuckle.fix_finding(index=0) == {"FINISHED"}
    assert codes(rig) == []


def test_scales_are_told_and_not_mended(rig: Any) -> None:
    rig.scale = (2.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    assert codes(rig) == ["model-scaled"]
    with pytest.raises(RuntimeError, match="No automatic fix: "):
        bpy.ops.knuckle.fix_finding(index=0)


def test_a_check_comes_first(rig: Any) -> None:
    with pytest.raises(RuntimeError, match="Check Mechanism first"):
        bpy.ops.knuckle.fix_finding()


def test_bodies_that_begin_in_one_another_are_told_of(blank: Any) -> None:
    """Of bodies without a joint between them; what touches is not in one another."""
    mechanism = sound()
    for body in mechanism.bodies:
        body.shapes = [Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})]
    mechanism.bodies[1].shapes = [Shape("capsule", {"length": 4.0, "radius": 0.5})]  # jointed: it may be in the trunk
    rig = rig_in(build(mechanism))
    bpy.context.view_layer.objects.active = rig
    assert "bodies-overlap" not in codes(rig)
    rock = Body("rock", "Rock", mass=1.0)
    rock.pose[2, 3] = 0.9
    rock.shapes = [Shape("sphere", {"radius": 0.5})]
    mechanism.bodies.append(rock)
    rig = rig_in(build(mechanism))
    bpy.context.view_layer.objects.active = rig
    assert "bodies-overlap" in codes(rig)
    row = next(row for row in settings(rig).findings if row.code == "bodies-overlap")
    assert "'Trunk', 'Rock'" in row.message and row.message.endswith("(0.1 m)")
    stone = next(obj for obj in parts(rig, "BODY") if obj.name.startswith("Rock"))
    stone.location.z = 1.0
    assert "bodies-overlap" not in codes(rig), "it lies on the trunk"
