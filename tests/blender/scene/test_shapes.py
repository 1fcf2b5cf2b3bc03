"""Shapes: what each kind looks like, what it collides as, and that both come out of Blender again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Array, Body, Mechanism, Shape, World
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, world_of

ROUND = 0.012  # what 32 sides lose of a round body's volume and width
EMPTY = (math.nan,) * 3


def put(*shapes: Shape, physics: bool = False, **body: Any) -> Any:
    """One body with these shapes: its model's armature."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    mechanism = Mechanism("Shapes", World(), [Body("one", "One", shapes=list(shapes), **body)])
    return rig_in(build(mechanism, bpy.context, BuildOptions(physics=physics, gait=False)))


def volume_and_box(mesh: Any) -> tuple[float, Array]:
    """The volume of a closed mesh by its triangles' tetrahedra, and the edges of its bounding box."""
    mesh.calc_loop_triangles()
    points = np.array([vertex.co[:] for vertex in mesh.vertices], dtype=np.float64)
    corners = points[[triangle.vertices[:] for triangle in mesh.loop_triangles]]
    volume = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    return float(volume), np.ptp(points, axis=0)


SOLIDS = {
    "box": (Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}), 6.0, (1, 2, 3)),
    "sphere": (Shape("sphere", {"radius": 2.0}), 4 / 3 * math.pi * 8, (4, 4, 4)),
    "ellipsoid": (Shape("ellipsoid", {"x": 1.0, "y": 2.0, "z": 3.0}), math.pi, (1, 2, 3)),
    "cylinder": (Shape("cylinder", {"radius": 1.0, "length": 3.0}), 3 * math.pi, (2, 2, 3)),
    "capsule": (Shape("capsule", {"radius": 1.0, "length": 3.0}), (3 + 4 / 3) * math.pi, (2, 2, 5)),
    "cone": (Shape("cone", {"radius": 1.0, "length": 3.0}), math.pi, (2, 2, 3)),
    "pyramid": (Shape("pyramid", {"x": 1.0, "y": 2.0, "length": 3.0}), 2.0, (1, 2, 3)),
    "hemisphere": (Shape("hemisphere", {"radius": 2.0}), 2 / 3 * math.pi * 8, (4, 4, 2)),
    "multi_sphere": (  # two balls and the tube about them
        Shape("multi_sphere", spheres=[(1.0, -1.5, 0.0, 0.0), (1.0, 1.5, 0.0, 0.0)]),
        (3 + 4 / 3) * math.pi,
        (5, 2, 2),
    ),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_every_kind_of_shape_has_its_volume_and_size(blank: Any, kind: str) -> None:
    """Against the formulas of solid geometry; outward faces, as the volume is positive."""
    shape, volume, box = SOLIDS[kind]
    (obj,) = objects_of(put(shape), "BODY").values()
    found, edges = volume_and_box(obj.data)
    flat = kind in {"box", "pyramid"}
    assert found == pytest.approx(volume, rel=1e-6 if flat else 3 * ROUND)
    assert edges == pytest.approx(box, rel=1e-6 if flat else ROUND)
    assert not obj.data.validate(), "Blender found nothing to mend"


def test_the_tips_of_cones_and_pyramids_point_up_and_a_hemisphere_lies_on_its_flat_side(blank: Any) -> None:
    for kind, top, bottom in (("cone", 1.5, -1.5), ("pyramid", 1.5, -1.5), ("hemisphere", 2.0, 0.0)):
        (obj,) = objects_of(put(SOLIDS[kind][0]), "BODY").values()
        points = np.array([vertex.co[:] for vertex in obj.data.vertices])
        assert points[:, 2].max() == pytest.approx(top) and points[:, 2].min() == pytest.approx(bottom)
        assert (points[:, 2] > top - 1e-6).sum() == 1, "a tip, or a pole"

        empty_file()


def test_axes_are_three_bars_in_the_colours_of_theirs(blank: Any) -> None:
    (obj,) = objects_of(put(Shape("axes", {"length": 2.0}, collision=False)), "BODY").values()
    for number in range(3):
        faces = [face for face in obj.data.polygons if face.material_index == number]
        points = np.array([obj.data.vertices[v].co[:] for face in faces for v in face.vertices])
        assert int(np.argmax(np.ptp(points, axis=0))) == number
        assert points[:, number].max() == pytest.approx(2.0)
        assert int(np.argmax(obj.data.materials[number].diffuse_color[:3])) == number


def test_a_plane_is_drawn_where_it_is(blank: Any) -> None:
    pose = np.eye(4)
    pose[2, 3] = 0.5
    (obj,) = objects_of(put(Shape("plane", pose=pose), immobile=True), "BODY").values()
    points = np.array([vertex.co[:] for vertex in obj.data.vertices])
    assert len(points) == 4 and np.allclose(points[:, 2], 0.5)


# ---------------------------------------------------------------- what collides


def at(x: float, y: float, z: float) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def children_of(rig: Any) -> list[Any]:
    return [obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.shape >= 0]


def test_a_shape_that_is_both_seen_and_touched_needs_no_child(blank: Any) -> None:
    box = Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})
    assert not children_of(put(box))
    twice = [Shape("box", dict(box.size), collision=False), Shape("box", dict(box.size), visual=False)]
    assert not children_of(put(*twice))


def test_collision_shapes_that_differ_are_hidden_wire_children(blank: Any) -> None:
    rig = put(
        Shape("sphere", {"radius": 0.2}, collision=False),
        Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}, at(1, 2, 3), visual=False, name="hull"),
        com=np.array([0.5, 0.0, 0.0]),
        pose=at(0, 0, 10),
    )
    (child,) = children_of(rig)
    (body,) = objects_of(rig, "BODY").values()
    assert child.parent == body and child.knuckle.role == "SHAPE" and child.knuckle.source_name == "hull"
    assert child.display_type == "WIRE" and child.hide_render and child.hide_viewport and not child.visible_get()
    assert child.users_collection[0].name.startswith("Collision")
    assert np.allclose(world_of(child), at(1, 2, 13)), "where the file has it, whatever the centre of mass"
    assert np.allclose(volume_and_box(child.data)[1], (1, 2, 3))
    assert len(body.data.vertices) > 100, "the body shows the sphere alone"


def whole(mechanism: Mechanism) -> Any:
    """A model with its physics: its armature."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))


def drop(rig: Any, frames: int = 240) -> Array:
    """Where the body comes to rest."""
    import bpy

    rig.data.knuckle.drive = "LIMP"
    for frame in range(1, frames):
        bpy.context.scene.frame_set(frame)
    (body,) = [obj for obj in objects_of(rig, "BODY").values() if not obj.knuckle.immobile]
    return world_of(body)


@pytest.mark.parametrize(
    ("shapes", "height"),
    [
        ([Shape("box", {"x": 1.0, "y": 1.0, "z": 0.5})], 0.25),
        (
            [
                Shape("sphere", {"radius": 0.1}, collision=False),
                Shape("box", {"x": 2.0, "y": 2.0, "z": 1.0}, visual=False),
            ],
            0.5,
        ),
        ([Shape("box", {"x": 1.0, "y": 1.0, "z": 0.2}, at(0, 0, -0.7))], 0.8),
        (  # a table stands on its legs
            [
                Shape("box", {"x": 2.0, "y": 2.0, "z": 0.1}),
                *(
                    Shape("cylinder", {"radius": 0.1, "length": 1.0}, at(x, y, -0.5))
                    for x in (-0.9, 0.9)
                    for y in (-0.9, 0.9)
                ),
            ],
            1.0,
        ),
        ([Shape("ellipsoid", {"x": 2.0, "y": 2.0, "z": 1.0})], 0.5),
        ([Shape("pyramid", {"x": 2.0, "y": 2.0, "length": 1.0})], 0.5),
        ([Shape("multi_sphere", spheres=[(0.2, x, y, 0.0) for x in (-1, 1) for y in (-1, 1)])], 0.2),
    ],
    ids=["own mesh", "other shape", "off centre", "table", "ellipsoid", "pyramid", "balls"],
)
def test_bodies_rest_on_what_they_collide_with(blank: Any, shapes: list[Shape], height: float) -> None:
    """Dropped on a plane at height 0: the centre of mass ends where the shapes hold it."""
    floor = Body("floor", "Floor", shapes=[Shape("plane")], immobile=True)
    thing = Body("one", "One", pose=at(0.3, 0.2, height + 0.3), shapes=shapes)
    rest = drop(whole(Mechanism("Drop", World(), [floor, thing])))
    assert rest[2, 3] == pytest.approx(height, abs=0.03)
    assert rest[2, 2] > 0.99, "it did not tip over"


@pytest.mark.parametrize("how", ["object", "eye", "collection"])
def test_hidden_bodies_collide_as_others_do(blank: Any, how: str) -> None:
    floor = Body("floor", "Floor", shapes=[Shape("box", {"x": 9.0, "y": 9.0, "z": 1.0}, at(0, 0, -0.5))], immobile=True)
    thing = Body("one", "One", pose=at(0, 0, 1), shapes=[Shape("ellipsoid", {"x": 2.0, "y": 2.0, "z": 1.0})])
    rig = whole(Mechanism("Drop", World(), [floor, thing]))
    for obj in objects_of(rig, "BODY").values():
        if how == "object":
            obj.hide_viewport = True
        elif how == "eye":
            obj.hide_set(True)
    if how == "collection":
        next(iter(objects_of(rig, "BODY").values())).users_collection[0].hide_viewport = True
    assert drop(rig)[2, 3] == pytest.approx(0.5, abs=0.03)


def test_clearing_physics_takes_it_from_the_children_too(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put(
        Shape("sphere", {"radius": 0.2}, collision=False), Shape("cone", {"radius": 1.0, "length": 1.0}, visual=False)
    )
    (child,) = children_of(rig)
    build_physics(blank.scene, rig)
    assert child.rigid_body.collision_shape == "CONE"
    (body,) = objects_of(rig, "BODY").values()
    assert body.rigid_body.collision_shape == "COMPOUND"
    clear_physics(blank.scene, rig)
    assert child.rigid_body is None and body.rigid_body is None and blank.scene.rigidbody_world is None
    assert child.name in bpy.data.objects and child.hide_viewport


# ---------------------------------------------------------------- and out again

SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
    <body name="b">
        <inertia><mass>2</mass><offset>0.25 0 0</offset></inertia>
        <visualization_shape><transformation>0 0 0 0 0 0</transformation>
            <geometry><ellipsoid><size>1 2 3</size></ellipsoid></geometry></visualization_shape>
        <collision_shape><transformation>0.5 0 0 0 0 0</transformation>
            <geometry><box><size>1 2 3</size></box></geometry></collision_shape>
    </body>
    <joint type="free" name="j"><parent>world</parent><child>b</child></joint>
</skeleton></world></skel>
"""


def skel_model() -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(formats.loads(SKEL.encode(), "b.skel"), bpy.context, BuildOptions(physics=False, gait=False)))


def out(rig: Any) -> tuple[str, Mechanism]:
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(rig.data.knuckle.collection)
    return formats.dumps(mechanism)[0], mechanism


def test_a_missing_collision_mesh_collides_with_nothing(blank: Any) -> None:
    """A box of no meaning in its place, or the visible mesh, would push things about."""
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build
    from addon.blender.scene.read.mechanism import extract

    seen, gone = Shape("sphere", {"radius": 0.2}, collision=False), Shape("mesh", mesh="gone.obj", visual=False)
    for extra, kind in (([], None), ([Shape("cone", {"radius": 1.0, "length": 1.0}, visual=False)], "COMPOUND")):
        mechanism = Mechanism("Shapes", World(), [Body("one", "One", shapes=[seen, gone, *extra])])
        collection = build(mechanism, blank, BuildOptions(gait=False))
        (body,) = objects_of(rig_in(collection), "BODY").values()
        assert len(objects_of(rig_in(collection), "SHAPE")) == len(extra)
        assert [shape.has_child for shape in body.knuckle.shapes] == [False, False] + [True] * len(extra)
        assert any(body.rigid_body.collision_collections) == (kind is not None)
        assert kind is None or body.rigid_body.collision_shape == kind
        told = [entry.message for entry in mechanism.report.entries if entry.code == "collision-mesh-missing"]
        assert len(told) == 1
        assert told[0].startswith("Collision mesh of One: missing, so it does not collide; file gone.obj")
        assert "mesh-missing" not in [entry.code for entry in mechanism.report.entries]
        kept = [shape.type for shape in extract(collection).bodies[0].shapes if shape.collision]
        assert kept == ["mesh", *(shape.type for shape in extra)]


def test_a_mesh_that_is_seen_and_collides_is_reported_as_both(blank: Any) -> None:
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    shapes = [Shape("mesh", mesh="gone.obj"), Shape("sphere", {"radius": 0.2}, collision=False)]
    mechanism = Mechanism("Shapes", World(), [Body("one", "One", shapes=shapes)])
    assert not children_of(rig_in(build(mechanism, blank, BuildOptions(gait=False))))
    codes = [entry.code for entry in mechanism.report.entries]
    assert (codes.count("mesh-missing"), codes.count("collision-mesh-missing")) == (1, 1)


def test_a_collision_child_that_is_moved_and_scaled_takes_its_shape_along(blank: Any) -> None:
    rig = skel_model()
    assert out(rig)[0] == SKEL
    (child,) = children_of(rig)
    child.location.z += 0.75
    child.scale = (1.0, 0.5, 2.0)
    text, mechanism = out(rig)
    seen, touched = mechanism.bodies[0].shapes
    assert touched.size == {"x": 1.0, "y": 1.0, "z": 6.0}
    assert np.allclose(touched.pose, at(0.5, 0, 0.75), atol=1e-7)
    assert seen.size == {"x": 1.0, "y": 2.0, "z": 3.0} and np.array_equal(seen.pose, np.eye(4))
    changed = [line for line in text.splitlines() if line not in SKEL.splitlines()]
    assert len(changed) == 2 and "0.5 0 0.75 0 0 0" in changed[0] and "<size>1 1 6</size>" in changed[1]


def test_a_collision_child_that_is_deleted_takes_its_shape_away(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data.queries import rig_in

    rig = skel_model()
    bpy.data.objects.remove(children_of(rig)[0])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    text, mechanism = out(
        rig_in(bpy.data.collections["w"] if "w" in bpy.data.collections else bpy.data.collections["b"])
    )
    assert [shape.type for shape in mechanism.bodies[0].shapes] == ["ellipsoid"]
    assert "collision_shape" not in text and "ellipsoid" in text


def test_a_copied_body_keeps_its_collision_shapes(blank: Any) -> None:
    rig = skel_model()
    (body,) = objects_of(rig, "BODY").values()
    twin = body.copy()
    body.users_collection[0].objects.link(twin)
    _text, mechanism = out(rig)
    assert [[shape.type for shape in each.shapes] for each in mechanism.bodies] == [["ellipsoid", "box"]] * 2


def test_collision_shapes_are_shown_and_hidden_with_one_switch(blank: Any) -> None:
    rig = skel_model()
    (child,) = children_of(rig)
    rig.data.knuckle.show_collision = True
    assert not child.hide_viewport and child.hide_render
    rig.data.knuckle.show_collision = False
    assert child.hide_viewport


def test_moments_follow_a_collision_shape_that_is_scaled(blank: Any, tmp_path: Path) -> None:
    """Moments that the file does not state are those that its reader derives from the shapes."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build
    from addon.blender.scene.read.mechanism import extract
    from tests.support.scenes import found

    built = build(formats.load(found("humanoid.skel")), options=BuildOptions(gait=False, physics=False))
    rig = rig_in(built)
    before = {body.name: body.inertia for body in extract(rig).bodies}
    child = bpy.data.objects["right forearm collision"]
    child.scale *= 0.7
    bpy.context.view_layer.update()
    mechanism = extract(rig)
    formats.save(mechanism, tmp_path / "out.skel")
    back = {body.name: body.inertia for body in formats.load(tmp_path / "out.skel").bodies}
    for body in mechanism.bodies:
        assert body.inertia == pytest.approx(back[body.name], rel=1e-5)
        assert (body.inertia == before[body.name]).all() == (body.name != "right forearm")
