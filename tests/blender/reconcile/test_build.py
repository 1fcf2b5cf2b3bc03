"""What an import leaves in the scene: a collection of its own, with everything marked, and nothing else touched."""

from __future__ import annotations

import colorsys
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Body, Joint, Mechanism, Shape, World
from tests.support.mechanisms import (
    XmlModel,
    body,
    bone_of,
    clockwork,
    clockwork_motor,
    coordinate,
    joint,
    model,
    objects_of,
    put,
    turn,
    world_of,
)

SAMPLES = Path(__file__).resolve().parents[3] / "sample_models"
LONG = "Upper left hind leg of the large walker, revision two, as drawn by näme"  # more than 63 bytes
KINDS = ("objects", "meshes", "armatures", "collections", "materials", "texts", "actions", "scenes", "worlds")

ARM = model(
    body(1, (0, 0, 5), (2, 2, 2), mass=50, name="Base"),
    body(2, (0, 0, 3), (0.4, 0.4, 2), name="Arm"),
    joint(3, 1, 2, (0, 0, 4), (0, 0, 90), name="Shoulder"),
    behaviours=clockwork(clockwork_motor(3, 30)),
)


def datablocks() -> dict[str, set[str]]:
    import bpy

    return {kind: {block.name for block in getattr(bpy.data, kind)} for kind in KINDS}


def a_users_scene() -> dict[str, Any]:
    """A cube with a keyed, parented child, in a collection."""
    import bpy

    mesh = bpy.data.meshes.new("Mine")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    made = {name: bpy.data.objects.new(name, mesh) for name in ("Bodies", "Base")}  # names that we use too
    folder = bpy.data.collections.new("Joints")
    bpy.context.scene.collection.children.link(folder)
    for obj in made.values():
        folder.objects.link(obj)
    made["Base"].parent = made["Bodies"]
    made["Base"].location = (1, 2, 3)
    made["Bodies"].keyframe_insert("location", frame=1)
    bpy.context.view_layer.objects.active = made["Base"]
    made["Base"].select_set(True)
    return made


# ---------------------------------------------------------------- what is there


def test_an_import_makes_one_collection_with_five_in_it(blank: Any) -> None:
    rig = put(ARM, "walker.jm")
    collection = rig.data.knuckle.collection
    assert collection.name == "walker"
    assert [child.name for child in blank.scene.collection.children] == ["walker"]
    kinds = ["Joints", "Helpers", "Bodies", "Collision", "Frames"]
    assert [child.name.split(".")[0] for child in collection.children] == kinds
    joints, helpers, bodies, *_ = collection.children
    assert not helpers.objects[:]
    assert sorted(obj.name for obj in bodies.objects) == ["Arm", "Base"]
    assert [obj.name for obj in joints.objects] == ["Shoulder"]
    assert list(collection.objects) == [rig]
    assert rig.type == "ARMATURE"


@pytest.mark.parametrize("path", ["SimpleHex.jm", "pterosaur_balljoints.jm", "fourdolls.jm", "bird1.jm"])
def test_every_created_object_has_its_role(blank: Any, corpus: Path, path: str) -> None:
    rig = put(corpus / "juice" / "models" / path)
    mechanism = formats.load(corpus / "juice" / "models" / path)
    roles: dict[str, dict[str, str]] = {}
    for obj in rig.data.knuckle.collection.all_objects:
        assert obj.knuckle.role in {"MODEL", "BODY", "JOINT", "SHAPE"}
        assert obj.knuckle.model == rig
        roles.setdefault(obj.knuckle.role, {})[obj.knuckle.source_id] = obj.knuckle.source_name
    assert roles["BODY"] == {part.id: part.name for part in mechanism.bodies}
    assert roles["JOINT"] == {part.id: part.name for part in mechanism.joints}
    assert list(roles["MODEL"].values()) == [Path(path).stem]


def test_the_report_stays_with_the_model(blank: Any, corpus: Path) -> None:
    mechanism = formats.load(corpus / "juice" / "models" / "bird1.jm")
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import build

    rig = rig_in(build(mechanism, blank))
    kept = [(line.severity, line.code, line.message) for line in rig.data.knuckle.report]
    assert kept == [(entry.severity, entry.code, entry.message) for entry in mechanism.report.entries]
    assert "gait" in {code for _, code, _ in kept}


def test_long_and_repeated_names_are_kept_beside_blenders(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 5), name="Leg"),
        body(2, (0, 0, 3), name="Leg"),
        body(3, (0, 0, 1), name=LONG),
        joint(4, 1, 2, (0, 0, 4), name=LONG),
        joint(5, 2, 3, (0, 0, 2), name=LONG),
    )
    rig = put(text)
    assert [obj.knuckle.source_name for obj in objects_of(rig, "BODY").values()] == ["Leg", "Leg", LONG]
    assert [obj.knuckle.source_name for obj in objects_of(rig, "JOINT").values()] == [LONG, LONG]
    assert len({obj.name for obj in objects_of(rig, "BODY").values()}) == 3
    names = {bone_of(rig, 4).name, bone_of(rig, 5).name}
    assert len(names) == 2
    assert all(len(name.encode()) <= 63 for name in names)
    blank.scene.frame_set(2)  # a body whose bone's name was cut still hangs on it
    document = XmlModel(text)
    for key, value in ((4, 0.3), (5, -0.8)):
        bone_of(rig, key).rotation_euler[2] = value
    blank.view_layer.update()
    assert [coordinate(rig, key, document) for key in (4, 5)] == pytest.approx([0.3, -0.8], abs=1e-5)


def test_equal_shapes_of_one_colour_share_their_mesh(blank: Any) -> None:
    text = model(
        *(body(k, (k, 0, 5), (1, 2, 3)) for k in (1, 2)),
        body(3, (3, 0, 5), (1, 2, 4)),
        body(4, (4, 0, 5), 1.0, shape=3),
        body(5, (5, 0, 5), 1.0, shape=3),
    )
    bodies = objects_of(put(text), "BODY")
    meshes = {key: obj.data for key, obj in bodies.items()}
    assert meshes["1"] == meshes["2"] != meshes["3"]
    assert meshes["4"] == meshes["5"]


@pytest.mark.parametrize("name", ["SimpleHex", "simpleant2", "Dihno2", "puppeteer", "humanoid2", "bird1"])
def test_left_and_right_limbs_have_different_names(blank: Any, corpus: Path, name: str) -> None:
    """Where a body carries several limbs, no two of them look alike; only a limb and its mirror image share a hue."""
    path = corpus / "juice" / "models" / f"{name}.jm"
    rig, document = put(path), XmlModel(path)
    bodies = objects_of(rig, "BODY")
    carried = {obj.parent_bone: key for key, obj in bodies.items()}
    limbs: dict[str, list[str]] = {}
    for bone in rig.data.bones:
        if bone.parent is not None:
            limbs.setdefault(carried[bone.parent.name], []).append(carried[bone.name])
    twin = dict(twins_of(document))
    checked = 0
    for siblings in limbs.values():
        colors = {limb: tuple(bodies[limb].data.materials[0].diffuse_color) for limb in siblings}
        assert len(set(colors.values())) == len(siblings)
        for one, other in itertools.combinations(siblings, 2):
            hues = [colorsys.rgb_to_hsv(*colors[limb][:3])[0] for limb in (one, other)]
            if other != twin.get(one) and one != twin.get(other):
                assert abs((hues[0] - hues[1] + 0.5) % 1.0 - 0.5) > 0.05, (bodies[one].name, bodies[other].name)
                checked += 1
    assert checked
    root = next(bone.knuckle.root for bone in rig.data.bones if bone.knuckle.root)
    pale = bodies[root].data.materials[0].diffuse_color
    assert max(pale[:3]) - min(pale[:3]) < 0.1


def twins_of(document: XmlModel) -> list[tuple[str, str]]:
    return [(key, str(int(element.find(".//Twin").text) % 2**32)) for key, element in document.elements.items()]


@pytest.mark.parametrize("backwards", [False, True], ids=["points away from the root", "points towards the root"])
@pytest.mark.parametrize("ypr", [(0, 0, 0), (0, 0, 90), (0, -90, 0), (35, 20, 0)])
def test_a_positive_servo_value_moves_the_second_body_positively(blank: Any, ypr: tuple, backwards: bool) -> None:
    """Whichever body is the root and stays: relative to the first, the second turns by +q about the design axis."""
    first, second = (2, 1) if backwards else (1, 2)
    text = model(
        body(1, (0, 0, 5), (2, 2, 2), mass=50),
        body(2, (0, 0, 3), (0.4, 0.4, 2)),
        body(4, (5, 0, 5), mass=60),  # so that no body is the only one without a joint that claims it: weight decides
        joint(3, first, second, (0, 0, 4), ypr),
        # the same axis: beside it the two hinges would leave no freedom
        joint(5, 2, 1, (0, 0, 4), ypr) if not backwards else joint(5, 1, 2, (0, 0, 4), ypr),
    )
    rig, document = put(text), XmlModel(text)
    bone = bone_of(rig, 3)
    bone.rotation_euler[2] = 0.7
    blank.view_layer.update()
    bodies = objects_of(rig, "BODY")
    assert np.abs(world_of(bodies["1"]) - document.poses["1"]).max() < 1e-5
    assert coordinate(rig, 3, document) == pytest.approx(0.7, abs=1e-5)
    moved = world_of(bodies["2"])
    axis = document.joints["3"].axis
    expected = turn(axis, -0.7 if backwards else 0.7) @ document.poses["2"][:3, :3]
    assert np.abs(moved[:3, :3] - expected).max() < 1e-5


def test_a_joint_that_joins_nothing_is_there_without_a_constraint(blank: Any) -> None:
    text = model(body(1, (0, 0, 5)), body(2, (0, 0, 3)), joint(3, 1, 0, (0, 0, 4)), joint(4, 2, 2, (0, 0, 2)))
    rig = put(text)
    empties = objects_of(rig, "JOINT")
    assert [empty.rigid_body_constraint for empty in empties.values()] == [None, None]
    assert [empty.knuckle.joint.active for empty in empties.values()] == [False, False]
    assert not any(bone.knuckle.joint for bone in rig.data.bones)
    assert np.abs(world_of(empties["4"])[:3, 3] - (0, 0, 2)).max() < 1e-5


def test_a_joint_that_closes_a_loop_has_an_empty_and_a_constraint_but_no_bone(blank: Any) -> None:
    corners = [(0, 0, 5), (2, 0, 5), (2, 0, 3), (0, 0, 3)]
    middles = [np.mean([corners[k], corners[(k + 1) % 4]], axis=0) for k in range(4)]
    text = model(
        *(body(k + 1, corner, mass=10 - k) for k, corner in enumerate(corners)),
        *(joint(11 + k, k + 1, (k + 1) % 4 + 1, middle, (0, 90, 0)) for k, middle in enumerate(middles)),
    )
    rig = put(text)
    loops = [key for key, empty in objects_of(rig, "JOINT").items() if empty.knuckle.joint.loop]
    assert len(loops) == 1
    assert loops[0] not in {bone.knuckle.joint for bone in rig.data.bones}
    assert objects_of(rig, "JOINT")[loops[0]].rigid_body_constraint.type == "HINGE"


def test_a_body_without_shape_is_an_object_without_surface(blank: Any) -> None:
    rig = put(model(body(1, (0, 0, 5), shape=0, mass=2), body(2, (0, 0, 5.2))))
    ghost = objects_of(rig, "BODY")["1"]
    assert len(ghost.data.vertices) == 0
    assert ghost.rigid_body.mass == 2
    assert not any(ghost.rigid_body.collision_collections)
    solid = objects_of(rig, "BODY")["2"].rigid_body
    before = world_of(objects_of(rig, "BODY")["2"])
    rig.data.knuckle.drive = "LIMP"
    for frame in range(1, 31):
        blank.scene.frame_set(frame)
    assert solid.collision_shape == "BOX"
    assert np.abs(world_of(objects_of(rig, "BODY")["2"]) - before).max() < 1e-4, "it does not push what is inside it"


def test_an_empty_model_is_an_armature_without_bones(blank: Any) -> None:
    rig = put(model())
    assert len(rig.data.bones) == 0
    assert not objects_of(rig, "BODY")
    rig.data.knuckle.drive = "SERVO"
    for frame in range(1, 5):
        blank.scene.frame_set(frame)


def test_a_mechanism_that_was_never_a_file(blank: Any) -> None:
    """Records made by a program: centre of mass off the body's frame, several shapes, colours, Y up."""
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import build

    place = np.eye(4)
    place[:3, 3] = (0, 3, 1)
    shape_pose = np.eye(4)
    shape_pose[:3, 3] = (0.5, 0, 0)
    lamp = Body(
        "lamp", "Lamp", place, com=np.array([0.0, 0.5, 0.0]), inertia=np.eye(3),
        shapes=[Shape("sphere", {"radius": 0.2}, color=(1, 0, 0, 1)), Shape("box", dict(x=1, y=1, z=1), shape_pose)],
    )  # fmt: skip
    other = Body("post", "Post", shapes=[Shape("cylinder", {"length": 2, "radius": 0.1})])
    weld = Joint("w", "Weld", "fixed", "post", "lamp", frame_child=np.linalg.inv(place))
    mechanism = Mechanism(world=World(np.array([0, -9.81, 0.0])), bodies=[lamp, other], joints=[weld])
    rig = rig_in(build(mechanism, blank))
    upright = np.eye(4)
    upright[:3, :3] = turn([1, 0, 0], math.pi / 2)  # Y up becomes Z up
    made = objects_of(rig, "BODY")["lamp"]
    com = place.copy()
    com[:3, 3] += (0, 0.5, 0)
    assert np.abs(world_of(made) - upright @ com).max() < 1e-6
    assert len(made.data.materials) == 2
    corners = np.array([vertex.co for vertex in made.data.vertices])
    in_body = corners + (0, 0.5, 0)
    assert in_body.max(axis=0) == pytest.approx([1.0, 0.5, 0.5], abs=1e-5)
    assert in_body.min(axis=0) == pytest.approx([-0.2, -0.5, -0.5], abs=1e-5)
    constraint = objects_of(rig, "JOINT")["w"].rigid_body_constraint
    assert constraint.type == "FIXED"
    assert tuple(blank.scene.gravity) == pytest.approx((0, 0, -9.81), abs=1e-5)


# ---------------------------------------------------------------- what is not touched


def test_a_second_import_is_a_second_model(blank: Any) -> None:
    first = put(ARM)
    placed = {obj.name: world_of(obj) for obj in objects_of(first, "BODY").values()}
    second = put(ARM)
    assert first != second and first.data != second.data
    assert set(objects_of(first, "BODY").values()).isdisjoint(objects_of(second, "BODY").values())
    assert first.data.knuckle.document != second.data.knuckle.document
    assert first.animation_data.action != second.animation_data.action
    for rig in (first, second):
        for obj in rig.data.knuckle.collection.all_objects:
            assert obj.knuckle.model == rig
        empty = objects_of(rig, "JOINT")["3"]
        assert empty.knuckle.joint.parent == objects_of(rig, "BODY")["1"]
        assert empty.rigid_body_constraint.object1 in objects_of(rig, "BODY").values()
    bone_of(second, 3).rotation_euler[2] = 0.5
    second.animation_data.action = None
    blank.view_layer.update()
    for name, pose in placed.items():
        assert np.abs(world_of(first.data.knuckle.collection.all_objects[name]) - pose).max() == 0.0


def test_the_users_own_things_stay_as_they_are(blank: Any) -> None:
    mine = a_users_scene()
    before = {name: (world_of(obj), obj.data, obj.parent, list(obj.users_collection)) for name, obj in mine.items()}
    scene = blank.scene
    scene.frame_set(5)
    scene.frame_start, scene.frame_end = 3, 900
    put(ARM)
    assert set(mine) <= {obj.name for obj in scene.objects}, "our bodies of the same names got other ones"
    for name, obj in mine.items():
        place, data, parent, folders = before[name]
        assert np.array_equal(world_of(obj), place)
        assert (obj.data, obj.parent, list(obj.users_collection)) == (data, parent, folders)
        assert obj.knuckle.role == "NONE"
        assert obj.rigid_body is None
    assert (scene.frame_current, scene.frame_start, scene.frame_end) == (5, 3, 900)
    assert [child.name for child in scene.collection.children] == ["Joints", "small"]
    assert blank.view_layer.objects.active == mine["Base"]
    assert mine["Base"].select_get()


def test_the_scenes_range_is_lengthened_for_the_gait_but_never_shortened(blank: Any) -> None:
    blank.scene.frame_end = 30
    put(ARM, gait_seconds=4.0)
    assert blank.scene.frame_end == 1 + 4 * 60
    put(ARM, gait_seconds=1.0)
    assert blank.scene.frame_end == 1 + 4 * 60


def test_the_scene_can_be_left_at_its_own_rate(blank: Any) -> None:
    blank.scene.render.fps, blank.scene.frame_end = 24, 30
    put(ARM, adapt_scene=False, gait=False)
    assert (blank.scene.render.fps, blank.scene.frame_end) == (24, 30)
    put(ARM)
    assert blank.scene.render.fps == 60


def test_an_animated_scene_keeps_its_frame_rate_which_is_reported(blank: Any) -> None:
    a_users_scene()
    blank.scene.render.fps = 24
    rig = put(ARM, gait_seconds=2.0)
    assert blank.scene.render.fps == 24
    assert "frame-rate-kept" in {line.code for line in rig.data.knuckle.report}
    assert blank.scene.frame_end >= 1 + 2 * 24


def test_the_report_lists_each_setting_of_the_scene_that_an_import_changed(blank: Any) -> None:
    """Compared with the scene's own settings before and after, of a first and of a second import."""
    from addon import formats
    from addon.blender.reconcile.build import build

    def settings() -> dict[str, Any]:
        scene, world = blank.scene, blank.scene.rigidbody_world
        found = {"frame-rate": f"{scene.render.fps / scene.render.fps_base:g}", "frame-range": str(scene.frame_end)}
        found["gravity"] = "({})".format(", ".join(f"{part:.4g}" for part in scene.gravity))
        if world is not None:
            found |= {"substeps": str(world.substeps_per_frame), "iterations": str(world.solver_iterations)}
        return found

    blank.scene.render.fps = 24
    changes = []
    for name in ("hexapod/hexapod.jm", "humanoid/humanoid.skel", "humanoid/humanoid.skel"):
        before = settings()
        mechanism = formats.load(SAMPLES / name)
        build(mechanism)
        after = settings()
        told = {entry.code: entry.message for entry in mechanism.report.entries if entry.code in after}
        changed = {code for code in before if before[code] != after[code]}
        assert told.keys() == changed
        for code in changed:
            assert f" changed from {before[code]} to {after[code]}" in told[code]
        changes.append(changed)
    assert changes == [{"frame-rate", "frame-range", "gravity"}, {"substeps", "iterations"}, set()]


def test_the_model_knows_its_file_from_any_folder(blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is extracted again, elsewhere, finds the meshes beside the file."""
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    for path, kept in (("models/arm.skel", str(tmp_path / "models/arm.skel")), ("", "")):
        mechanism = Mechanism("Arm", bodies=[Body("one", "One")])
        mechanism.source.path = path
        rig = rig_in(build(mechanism, blank, BuildOptions(gait=False)))
        monkeypatch.chdir(tmp_path / "models")
        assert rig.data.knuckle.path == kept


@pytest.mark.parametrize(
    "stage",
    [
        "create_bodies",
        "create_joints",
        "_adapt_scene",
        "build_physics",
        "set_up_pose_bones",
        "set_up_gait",
        "store_report",
    ],
)
def test_an_error_leaves_nothing_behind(blank: Any, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    from addon.blender.reconcile import build
    from addon.blender.scene import parts

    room = parts if stage in {"create_bodies", "create_joints"} else build
    mine = a_users_scene()
    scene = blank.scene
    before, objects = datablocks(), set(scene.objects)
    had_world = scene.rigidbody_world is not None
    settings = scene.render.fps, scene.frame_end, tuple(scene.gravity), scene.use_gravity
    work = getattr(room, stage)

    def fails(*args: Any, **kwargs: Any) -> None:
        work(*args, **kwargs)
        raise RuntimeError("in the middle")

    monkeypatch.setattr(room, stage, fails)
    with pytest.raises(RuntimeError, match="in the middle"):
        put(ARM)
    assert datablocks() == before
    assert set(scene.objects) == objects == set(mine.values())
    assert (scene.rigidbody_world is not None) == had_world
    assert (scene.render.fps, scene.frame_end, tuple(scene.gravity), scene.use_gravity) == settings
    monkeypatch.undo()
    assert len(objects_of(put(ARM), "BODY")) == 2, "and the next import works"
