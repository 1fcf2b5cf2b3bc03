"""Who collides with whom: on request as the file's own program has it, and with the user's things in any case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from addon.core.model import Body, Mechanism, Shape, World
from tests.support.clear_helpers import differences, everything
from tests.support.collision_helpers import OVERLAPPING, limp, skel, skeleton
from tests.support.mechanisms import body, joint, model, objects_of, play, put, world_of

G = 9.81


def moved(rig: Any, frames: int) -> dict[str, np.ndarray]:
    """How far each body has come after some frames."""
    import bpy

    found = objects_of(rig, "BODY")
    seen = play(bpy.context.scene, frames, lambda: {key: world_of(obj)[:3, 3] for key, obj in found.items()})
    return {key.split("/")[-1]: seen[-1][key] - seen[0][key] for key in seen[0]}


@pytest.mark.parametrize("collide", [False, True])
def test_bodies_of_one_skeleton_may_overlap_where_the_user_lets_them(blank: Any, collide: bool) -> None:
    rig = limp(skel(OVERLAPPING))
    assert not rig.data.knuckle.self_collide, "as in DART"
    assert "self-collision" in {line.code for line in rig.data.knuckle.report}
    rig.data.knuckle.self_collide = collide
    apart = max(float(np.abs(way).max()) for way in moved(rig, 40).values())
    assert apart > 0.1 if collide else apart < 1e-4
    rig.data.knuckle.self_collide = not collide
    again = max(float(np.abs(way).max()) for way in moved(rig, 40).values())
    assert again < 1e-4 if collide else again > 0.1, "and it can be changed"


def test_bodies_of_two_skeletons_collide(blank: Any) -> None:
    falling = skeleton("upper", ("a", 0.0, 4.0), ("b", 0.6, 4.0))
    below = skeleton("lower", ("c", 0.3, 2.0)).replace('name="lower">', 'name="lower"><mobile>false</mobile>')
    ways = moved(limp(skel(falling, below, gravity=G), self_collide=False), 60)
    assert {key: way[2] for key, way in ways.items()} == pytest.approx({"a": -1, "b": -1, "c": 0}, abs=0.1)


def put_floor(blank: Any, height: float) -> None:
    """A floor of the user's, its top 1 above."""
    import bpy

    mesh = bpy.data.meshes.new("Floor")
    mesh.from_pydata([(x, y, z) for x in (-9, 9) for y in (-9, 9) for z in (-1, 1)], [], [(0, 1, 3, 2), (4, 6, 7, 5)])
    floor = bpy.data.objects.new("Floor", mesh)
    blank.scene.collection.objects.link(floor)
    blank.scene.rigidbody_world.collection.objects.link(floor)
    floor.rigid_body.type, floor.rigid_body.collision_shape, floor.location.z = "PASSIVE", "BOX", height


def test_bodies_without_self_collision_land_on_a_floor_of_the_user(blank: Any) -> None:
    rig = limp(skel(OVERLAPPING, gravity=G), self_collide=False)
    put_floor(blank, 2.0)
    heights = {key: 5 + way[2] for key, way in moved(rig, 90).items()}
    assert heights == pytest.approx({"a": 3.5, "b": 3.5, "c": 3.5}, abs=0.06)


def test_bodies_of_x_xy_touch_nothing_of_their_own_model(blank: Any) -> None:
    text = (
        '<x_xy model="m"><options gravity="0 0 0" dt="0.01"/><worldbody>'
        '<body name="a" joint="free" pos="0 0 3"><geom type="box" mass="1" dim="1 1 1"/></body>'
        '<body name="b" joint="free" pos="0.5 0 3"><geom type="box" mass="1" dim="1 1 1"/></body>'
        "</worldbody></x_xy>"
    )
    ways = moved(limp(text, "small.xml", self_collide=False), 40)
    assert max(float(np.abs(way).max()) for way in ways.values()) < 1e-4


def test_jointed_bodies_of_juice_do_not_collide_and_all_others_do(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 9), (1, 1, 1)),
        body(2, (0.8, 0, 9), (1, 1, 1)),
        body(3, (0.8, 0.8, 9), (1, 1, 1)),
        joint(4, 1, 2, (0.4, 0, 9), force=0),
        gravity=0,
    )
    pair = moved(limp(text.replace("0.8</Y>", "30</Y>"), "small.jm"), 40)
    assert max(float(np.abs(way).max()) for way in pair.values()) < 1e-3
    three = moved(limp(text, "small.jm"), 40)
    assert float(np.abs(three["3"]).max()) > 0.05


def simulated_apart(blank: Any, text: str, name: str = "small.skel") -> tuple[Any, Any]:
    """A limp mechanism that a hidden scene simulates, and that scene at its first frame."""
    blank.scene.knuckle_simulate_here = False
    rig = limp(text, name, self_collide=False)
    blank.scene.frame_set(2)
    blank.scene.frame_set(1)
    return rig, next(scene for scene in _scenes() if scene.knuckle_shown_uid == blank.scene.session_uid)


def _scenes() -> Any:
    import bpy

    return bpy.data.scenes


def filters_of(scene: Any) -> list[Any]:
    return [obj for obj in scene.rigidbody_world.constraints.objects if obj.knuckle.is_collision_filter]


def test_a_simulation_scene_filters_collisions_by_collections(blank: Any) -> None:
    """Bodies that overlap move as if alone, and still land on the ground and on another skeleton."""
    apart = skel(OVERLAPPING)
    rig, scene = simulated_apart(blank, apart)
    assert not filters_of(scene)
    assert max(float(np.abs(way).max()) for way in moved(rig, 40).values()) < 1e-4
    rig.data.knuckle.self_collide = True
    assert max(float(np.abs(way).max()) for way in moved(rig, 40).values()) > 0.1
    rig.data.knuckle.self_collide = False
    assert max(float(np.abs(way).max()) for way in moved(rig, 40).values()) < 1e-4


def test_bodies_in_collections_of_their_own_land_on_another_skeleton(blank: Any) -> None:
    falling = skeleton("upper", ("a", 0.0, 4.0), ("b", 0.6, 4.0))
    below = skeleton("lower", ("c", 0.3, 2.0)).replace('name="lower">', 'name="lower"><mobile>false</mobile>')
    rig, scene = simulated_apart(blank, skel(falling, below, gravity=G))
    assert not filters_of(scene)
    ways = moved(rig, 60)
    assert {key: way[2] for key, way in ways.items()} == pytest.approx({"a": -1, "b": -1, "c": 0}, abs=0.1)


def test_more_bodies_than_collections_have_filter_constraints(blank: Any) -> None:
    text = skel(skeleton("one", *((f"b{number}", 3.0 * number, 5.0) for number in range(21))))
    _, scene = simulated_apart(blank, text)
    assert len(filters_of(scene)) == 21 * 20 // 2


def test_pairs_of_the_humanoid_are_filtered_where_no_joint_does_it(blank: Any) -> None:
    """Each pair that could collide, and only these; and each body meets the mat."""
    from itertools import combinations

    from addon.blender.data.access import original_of
    from addon.blender.data.queries import rigs_in
    from tests.support.scenes import OWN

    rig, scene = simulated_apart(blank, (OWN / "humanoid/humanoid.skel").read_text("utf8"), "humanoid.skel")
    (copy,) = [each for each in rigs_in(scene) if original_of(each) == rig]
    bodies = {key.split("/")[-1]: obj for key, obj in objects_of(copy, "BODY").items()}
    solid = {key: np.array(obj.rigid_body.collision_collections) for key, obj in bodies.items()}
    solid = {key: bits for key, bits in solid.items() if bits.any()}
    joints = [obj.rigid_body_constraint for obj in objects_of(copy, "JOINT").values()]
    held = {frozenset((each.object1, each.object2)) for each in joints if each is not None}
    mat = solid.pop("mat")
    assert len(solid) == 12
    assert all((bits & mat).any() for bits in solid.values())
    for (one, bits), (other, there) in combinations(solid.items(), 2):
        assert not (bits & there).any() or frozenset((bodies[one], bodies[other])) in held


@pytest.mark.parametrize("seed", range(20))
def test_no_two_neighbors_of_a_graph_have_the_same_color(seed: int) -> None:
    from addon.blender.physics.bodies.collision import color_first_fit

    random = np.random.default_rng(seed)
    edges = np.triu(random.random((30, 30)) < 0.3, 1)
    near = {node: {int(k) for k in np.flatnonzero(edges[node] | edges[:, node])} for node in range(30)}
    colors = color_first_fit(near)
    assert set(colors) == set(range(30))
    assert all(colors[node] != colors[other] for node, beside in near.items() for other in beside)
    assert max(colors.values()) <= max(len(beside) for beside in near.values())


def test_clearing_physics_removes_collision_filters(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics

    rig = put(skel(OVERLAPPING, gravity=G), "small.skel", physics=False)
    rig.data.knuckle.self_collide = False
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    assert len(blank.scene.rigidbody_world.constraints.objects) == 3, "each of three with each"
    rig.data.knuckle.drive = "LIMP"
    moved(rig, 10)
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert differences(before, everything(blank.scene)) == {}


def test_too_many_pairs_are_reported(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics

    text = skel(skeleton("one", *((f"b{number}", 3.0 * number, 5.0) for number in range(65))))
    rig = put(text, "small.skel", physics=False)
    rig.data.knuckle.self_collide = False
    (told,) = [entry for entry in build_physics(blank.scene, rig).entries if entry.code == "self-collision-limit"]
    assert told.severity == "warning"
    assert not len(blank.scene.rigidbody_world.constraints.objects)


def test_bodies_in_two_collections_are_one_pair_each(blank: Any) -> None:
    """Their pairs are as many as before: 1,225, of which twice as many would be too many."""
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.physics.simulation.setup import build_physics

    text = skel(skeleton("one", *((f"b{number}", 3.0 * number, 5.0) for number in range(50))))
    rig = put(text, "twice.skel")
    kept_apart = len(blank.scene.rigidbody_world.constraints.objects)
    assert kept_apart == 50 * 49 // 2
    more = bpy.data.collections.new("more")
    rig.data.knuckle.collection.children.link(more)
    for obj in parts(rig, "BODY"):
        more.objects.link(obj)
    assert "too many" not in " ".join(entry.message for entry in build_physics(blank.scene, rig).entries)
    held = [obj.rigid_body_constraint for obj in blank.scene.rigidbody_world.constraints.objects]
    assert len(held) == kept_apart
    assert all(constraint.disable_collisions for constraint in held)


@pytest.mark.parametrize(("set_to", "slides"), [(0.0, False), (0.9, False), (0.3, True)])
def test_friction_of_skel_is_darts_unless_it_is_set(blank: Any, set_to: float, slides: bool) -> None:
    """A box on another under a pull of half its weight to the side: it stays from a coefficient of 0.5 up."""
    text = skel(skeleton("top", ("a", 0.0, 3.0)), skeleton("below", ("b", 0.0, 2.0)).replace("1 1 1", "9 9 1"))
    text = text.replace('name="below">', 'name="below"><mobile>false</mobile>')
    rig = limp(text.replace("<gravity>0 0 -0.0</gravity>", "<gravity>0 0 -10</gravity>"), friction=set_to)
    blank.scene.gravity = (5.0, 0.0, -10.0)
    way = moved(rig, 60)["a"][0]
    coefficient = set_to**2 if set_to else 1.0
    expected = (5.0 - 10.0 * coefficient) * (59 / 60) ** 2 / 2 if slides else 0.0
    assert way == pytest.approx(expected, rel=0.1, abs=0.03)


@pytest.mark.parametrize("size", [0.02, 0.2, 2.0])
def test_bodies_of_any_size_rest_on_the_ground_and_not_above_it(blank: Any, size: float) -> None:
    """A box, a hull and a cylinder, let fall by a fifth of their size."""
    shapes = {
        "box": f"<box><size>{size} {size} {size}</size></box>",
        "hull": f"<box><size>{size} {size} {size}</size></box>",
        "log": f"<cylinder><radius>{size / 2}</radius><height>{size}</height></cylinder>",
    }
    parts = [
        skeleton(key, (key, 3 * size * number, 0.7 * size)).replace("<box><size>1 1 1</size></box>", shape)
        for number, (key, shape) in enumerate(shapes.items())
    ]
    rig = put(skel(*parts, gravity=G), "small.skel", gait=False)
    found = {key.split("/")[-1]: obj for key, obj in objects_of(rig, "BODY").items()}
    found["hull"].rigid_body.collision_shape = "CONVEX_HULL"
    rig.data.knuckle.drive = "LIMP"
    ground(rig)
    heights = np.array(play(blank.scene, 60, lambda: [world_of(obj)[2, 3] for obj in found.values()]))
    assert heights[-20:] / size == pytest.approx(0.5, abs=2e-4)


def ground(rig: Any) -> None:
    """Put the ground that Juice's models have under another one."""
    import bpy

    from addon.blender.physics.simulation.setup import ensure_ground

    ensure_ground(bpy.context.scene, rig, bpy.context.scene.rigidbody_world)


@pytest.mark.parametrize("apart", [False, True], ids=["its own mesh", "a shape of its own"])
def test_a_body_that_its_file_lets_through_touches_nothing(blank: Any, apart: bool) -> None:
    """Both fall on the ground; the one that does not collide goes through."""
    from addon.blender.data.access import settings
    from addon.blender.data.queries import parts, rig_in
    from addon.blender.reconcile.build import build

    bodies = []
    for number, collidable in enumerate((True, False)):
        place = np.eye(4)
        place[:3, 3] = [3.0 * number, 0.0, 0.6]
        box = Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0}, collision=not apart)
        ball = Shape("sphere", {"radius": 0.5}, visual=False)
        shapes = [box, ball] if apart else [box]
        bodies.append(Body(f"b{number}", f"b{number}", place, shapes=shapes, collidable=collidable, gravity=collidable))
    mechanism = Mechanism("two", World(gravity=np.array([0.0, 0.0, -9.81]), ground=0.0), bodies)
    rig = rig_in(build(mechanism))
    settings(rig).drive = "LIMP"
    for frame in range(1, 61):
        blank.scene.frame_set(frame)
    heights = [obj.matrix_world.translation.z for obj in parts(rig, "BODY")]
    assert heights[0] == pytest.approx(0.5, abs=0.01) and heights[1] < -3.0
    told = [line.message for line in settings(rig).report if line.code == "weightless"]
    assert len(told) == 1 and "'b1'" in told[0] and "'b0'" not in told[0]


@pytest.mark.parametrize("modified", ["never", "before", "between", "no more"])
def test_a_body_rests_on_what_its_modifiers_make_of_it(blank: Any, modified: str) -> None:
    """Blender reads other sources than the mesh itself without waiting until they are evaluated: they are for those
    that need them. Physics is built twice, as by an import and after an edit."""
    from addon.blender.physics.simulation.setup import build_physics

    rig = put(skel(skeleton("one", ("a", 0.0, 4.0)), gravity=G), "small.skel", physics=False)
    (box,) = objects_of(rig, "BODY").values()

    def lower() -> None:
        lower = box.modifiers.new("Lower", "DISPLACE")
        lower.direction, lower.strength, lower.mid_level = "Z", -0.25, 0.0

    if modified in {"before", "no more"}:
        lower()
    build_physics(blank.scene, rig)
    if modified == "between":
        lower()
    elif modified == "no more":
        box.modifiers.clear()
    build_physics(blank.scene, rig)
    is_modified = modified in {"before", "between"}
    rig.data.knuckle.drive = "LIMP"
    put_floor(blank, 2.0)
    assert box.rigid_body.mesh_source == ("DEFORM" if is_modified else "BASE")
    box.rigid_body.collision_shape = "CONVEX_HULL"
    assert moved(rig, 60)["a"][2] == pytest.approx(-0.25 if is_modified else -0.5, abs=0.02)


@pytest.mark.parametrize("source", ["BASE", "FINAL"])
def test_what_a_modified_body_collides_as_is_left_to_people(blank: Any, source: str) -> None:
    from addon.blender.physics.simulation.setup import build_physics

    rig = put(skel(skeleton("one", ("a", 0.0, 4.0)), gravity=G), "small.skel", physics=True)
    (box,) = objects_of(rig, "BODY").values()
    box.modifiers.new("Smooth", "SUBSURF")
    build_physics(blank.scene, rig)
    box.rigid_body.mesh_source = source
    build_physics(blank.scene, rig)
    assert box.rigid_body.mesh_source == source
