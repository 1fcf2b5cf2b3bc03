"""SKEL files are written so that DART reads them as we do, and a kept document changes only where it was edited."""

from __future__ import annotations

import copy
import difflib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import joint_motion, spanning_tree
from addon.core.model import DOF_SIZE, Body, Dof, Frame, Joint, Light, Mechanism, Motion, Restraint, Shape
from addon.core.report import FormatError
from tests.support.skel_compare import (
    CORPUS,
    FILES,
    coordinates_of,
    dart_of,
    needs_dart,
    needs_files,
    same_as_dart,
)
from tests.support.skel_helpers import BOX, NO_FRAGS, body, everything, joint, only, read, shown, skel, skeleton
from tests.support.skel_write_helpers import KINDS, R, T, Z, dofs, pose

pytestmark = pytest.mark.filterwarnings("error")
each_file = pytest.mark.parametrize(
    "path",
    FILES or [pytest.param(None, marks=needs_files)],
    ids=lambda path: "-".join(path.parts[-2:]) if path else "none",
)


def anew(mechanism: Mechanism) -> str:
    """The text of a mechanism as if it had come from elsewhere."""
    other = copy.deepcopy(mechanism)
    other.source.text = ""
    return formats.dumps(other, "skel")[0]


def patched(mechanism: Mechanism) -> tuple[Mechanism, list[str]]:
    """A mechanism written into its document and read again, and the lines that changed."""
    text, report = formats.dumps(mechanism, "skel")
    assert {entry.code for entry in report.entries} & {"document-patched", "document-kept"}
    old, new = mechanism.source.text.splitlines(), text.splitlines()
    lines = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:3] not in ("---", "+++")]
    return formats.loads(text.encode(), "test.skel"), [line for line in lines if not line.startswith("@@")]


def differences(a: Mechanism, b: Mechanism) -> list[str]:
    """What two mechanisms do not share, names and numbers."""
    found = []

    def same(what: str, one: object, other: object) -> None:
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            equal = one.shape == other.shape and bool(np.abs(one - other).max(initial=0.0) < 1e-9)
        elif isinstance(one, float | int) and isinstance(other, float | int):
            equal = abs(one - other) < 1e-9
        elif isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            equal = False
        else:
            equal = one == other
        if not equal:
            found.append(f"{what}: {one} is {other}")

    same("bodies", [each.id for each in a.bodies], [each.id for each in b.bodies])
    same("joints", [each.id for each in a.joints], [each.id for each in b.joints])
    same("gravity", a.world.gravity, b.world.gravity)
    same("time step", a.world.time_step, b.world.time_step)
    for one, other in zip(a.bodies, b.bodies, strict=False):
        for name in ("name", "pose", "mass", "com", "inertia", "gravity", "immobile", "collidable", "assembly", "twin"):
            same(f"{one.id} {name}", getattr(one, name), getattr(other, name))
        same(f"{one.id} shapes", len(one.shapes), len(other.shapes))
        for mine, theirs in zip(one.shapes, other.shapes, strict=False):
            for name in ("type", "pose", "visual", "collision", "color", "mesh", "spheres", "soft", "extra"):
                same(f"{one.id} shape {name}", getattr(mine, name), getattr(theirs, name))
            same(f"{one.id} size", mine.size.keys(), theirs.size.keys())
            for key in mine.size.keys() & theirs.size.keys():
                same(f"{one.id} size {key}", mine.size[key], theirs.size[key])
    for one, other in zip(a.joints, b.joints, strict=False):
        for name in ("name", "type", "parent", "child", "frame_parent", "frame_child", "active", "twin"):
            same(f"{one.id} {name}", getattr(one, name), getattr(other, name))
        same(f"{one.id} dofs", [dof.kind for dof in one.dofs], [dof.kind for dof in other.dofs])
        for mine, theirs in zip(one.dofs, other.dofs, strict=False):
            for name in ("axis", "initial", "pitch", "gain", "max_force", "armature"):
                same(f"{one.id} {name}", getattr(mine, name), getattr(theirs, name))
        for mine, theirs in zip(coordinates_of(one), coordinates_of(other), strict=False):
            for name in ("lower", "upper", "damping", "friction", "stiffness", "rest", "velocity", "extra"):
                same(f"{one.id} {name}", getattr(mine, name), getattr(theirs, name))
    return found


# ---- Nothing edited -------------------------------------------------------------------------------------


@each_file
def test_an_unedited_document_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    mechanism = formats.load(path)
    report = formats.save(mechanism, tmp_path / "out.skel")
    assert (tmp_path / "out.skel").read_bytes() == path.read_bytes()
    assert [entry.code for entry in report.entries if entry.code != "meshes-stay"] == ["document-kept"]


def test_an_unedited_document_with_every_fault_is_written_as_it_was_read() -> None:
    text = body(
        "b", "<inertia><mass>-1</mass></inertia>" + shown("<geometry><box><size>-1 2 0</size></box></geometry>")
    )
    text += body(" odd ") + body("b") + body("") + body("world")
    text += joint("hinge") + joint("weld", "<transformation>1,2</transformation>", parent="nobody", child=" odd ")
    text += joint("screw", child="world", name="b") + joint("weld", parent="b", child="b")
    text += "<loop_joint type='weld' name='l'><parent>b</parent><child>world</child></loop_joint>"
    data = skel(skeleton(text) + skeleton("", "s") + skeleton(body("b"), ""))
    mechanism = formats.loads(data, "odd.skel")
    assert formats.dumps(mechanism)[0] == data.decode()


# ---- Written anew ---------------------------------------------------------------------------------------


@needs_files
def test_a_model_written_as_new_document_is_read_as_the_same() -> None:
    for path in FILES:
        mechanism = formats.load(path)
        again = formats.loads(anew(mechanism).encode(), str(path))
        told = [line for line in differences(mechanism, again) if " inertia: None is " not in line]
        if path.name in NO_FRAGS:
            told = [line for line in told if "frags" not in line]  # which DART wants, and so it is written
        assert told == [], path.name


@needs_dart
@needs_files
def test_dart_reads_a_new_document_as_it_reads_the_original(tmp_path: Path) -> None:
    shutil.copytree(CORPUS / "skel", tmp_path / "skel")  # with the meshes, without which DART stops
    written, models = [], []
    for path in FILES:
        target = tmp_path / "skel" / path.relative_to(CORPUS / "skel")
        target.chmod(0o644)
        mechanism = formats.load(path)
        target.write_text(anew(mechanism))
        written.append(target)
        models.append(mechanism)
    for path, mechanism, dart in zip(written, models, dart_of(written), strict=True):
        assert same_as_dart(mechanism, dart) == [], path.name


@needs_dart
def test_dart_reads_every_joint_type_and_shape_that_is_written(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.skel" for seed in range(12)]
    models = [formats.loads(everything(seed), "test.skel") for seed in range(12)]
    for path, mechanism in zip(paths, models, strict=True):
        path.write_text(anew(mechanism))
    for mechanism, dart in zip(models, dart_of(paths), strict=True):
        assert same_as_dart(mechanism, dart) == []


def test_numbers_are_written_as_they_are_written_by_hand() -> None:
    text = anew(only(joint("weld"), "0.1 -2 3e-5 0 0 0"))
    assert "<transformation>0.1 -2 3e-05 0 0 0</transformation>" in text
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<skel version="1.0">')


@pytest.mark.parametrize("angle", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, np.pi / 2 - 1e-6, 1.0])
def test_a_rotation_is_exact_also_where_its_angles_are_not_determined(angle: float) -> None:
    mechanism = only(joint("free"))
    for spin in (0.3, 2.5, -3.0):
        mechanism.bodies[0].pose = (
            pose(1, 2, 3, (spin, 0, 0)) @ pose(about=(0, angle, 0)) @ pose(about=(0, 0, -spin / 2))
        )
        mechanism.joints[0].frame_parent = mechanism.bodies[0].pose
        again = formats.loads(anew(mechanism).encode(), "test.skel")
        assert np.abs(again.bodies[0].pose - mechanism.bodies[0].pose).max() < 1e-14


# ---- Edits ----------------------------------------------------------------------------------------------


LEG = (
    body(
        "hip",
        "\n  <transformation>0 0 1 0 0 0.10</transformation><!-- the hip -->"
        "\n  <inertia>\n    <mass>5.0</mass>\n    <offset>0 0 0.1</offset>\n  </inertia>"
        f"\n  {shown(BOX)}"
        f"\n  <collision_shape>{BOX}</collision_shape>\n",
    )
    + body("shin", "\n  <transformation>0 0 0.5 0 0 0</transformation>\n")
    + joint("free", "\n  <init_pos>0 0 0 0 0 1</init_pos>\n", child="hip", name="root")
    + joint(
        "revolute",
        "\n  <transformation>0 0 0.25 0 0 0</transformation>\n  <axis>\n    <xyz>0 2 0</xyz>\n    <limit>\n"
        "      <lower>-1.50</lower>\n      <upper>0</upper>\n    </limit>\n  </axis>\n",
        parent="hip",
        child="shin",
        name="knee",
    )
)


def leg() -> Mechanism:
    return read(LEG, "<physics><gravity>0 0 -9.81</gravity></physics>\n")


def knee(mechanism: Mechanism) -> Joint:
    return next(each for each in mechanism.joints if each.name == "knee")


def move_hip(mechanism: Mechanism) -> None:
    shift = pose(x=2)
    for each in mechanism.bodies:
        each.pose = shift @ each.pose
    mechanism.joints[0].frame_parent = shift @ mechanism.joints[0].frame_parent


def set_limit(mechanism: Mechanism) -> None:
    knee(mechanism).dofs[0].upper = 0.75


def free_limit(mechanism: Mechanism) -> None:
    knee(mechanism).dofs[0].lower = None


def set_damping(mechanism: Mechanism) -> None:
    knee(mechanism).dofs[0].damping = 0.5


def start_elsewhere(mechanism: Mechanism) -> None:
    mechanism.joints[0].dofs[0].start = (0.0, 0.0, 0.5, 0.0, 0.0, 1.0)


def start_knee(mechanism: Mechanism) -> None:
    knee(mechanism).dofs[0].position = -0.5


def weigh(mechanism: Mechanism) -> None:
    mechanism.bodies[0].mass = 7.0


def weigh_shin(mechanism: Mechanism) -> None:
    mechanism.bodies[1].mass = 7.0


def state_tensor(mechanism: Mechanism) -> None:
    mechanism.bodies[0].inertia = np.diag([1.0, 2.0, 3.0])


def paint(mechanism: Mechanism) -> None:
    mechanism.bodies[0].shapes[0].color = (1.0, 0.5, 0.0, 1.0)


def grow(mechanism: Mechanism) -> None:
    mechanism.bodies[0].shapes[1].size["x"] = 9.0


def rename(mechanism: Mechanism) -> None:
    mechanism.bodies[1].name = "lower leg"


def turn_axis(mechanism: Mechanism) -> None:
    knee(mechanism).dofs[0].axis = np.array([1.0, 0.0, 0.0])


def lift_gravity(mechanism: Mechanism) -> None:
    mechanism.world.gravity = np.array([0.0, 0.0, -1.62])
    mechanism.world.time_step = 0.002


def float_up(mechanism: Mechanism) -> None:
    mechanism.bodies[1].gravity = False


def hold_still(mechanism: Mechanism) -> None:
    for each in mechanism.bodies:
        each.immobile = True


def add_shape(mechanism: Mechanism) -> None:
    ball = Shape("sphere", {"radius": 0.25}, pose(z=1), visual=True, collision=False)
    mechanism.bodies[0].shapes.insert(1, ball)


def drop_shape(mechanism: Mechanism) -> None:
    del mechanism.bodies[0].shapes[0]


def another_shape(mechanism: Mechanism) -> None:
    mechanism.bodies[0].shapes[0] = Shape("capsule", {"radius": 0.25, "length": 1.0}, pose(z=1), collision=False)


def mark(mechanism: Mechanism) -> None:
    mechanism.frames.append(Frame("toe", "s/shin", pose(1, 2, 3)))


def ball_knee(mechanism: Mechanism) -> None:
    mechanism.joints[1].type = "ball"
    mechanism.joints[1].dofs = [Dof("ball")]


def limit_root(mechanism: Mechanism) -> None:
    parts = [Dof("rotation") for _ in range(6)]
    parts[5].lower, parts[5].damping = 0.0, 2.0
    mechanism.joints[0].dofs[0].parts = parts


EDITS: list[tuple[Callable[[Mechanism], None], list[str]]] = [
    (
        move_hip,
        [
            "  <transformation>2 0 1 0 0 0.1</transformation><!-- the hip -->",
            "  <transformation>2 0 0.5 0 0 0</transformation>",
        ],
    ),
    (set_limit, ["      <upper>0.75</upper>"]),
    (free_limit, []),
    (set_damping, ["    <dynamics>", "      <damping>0.5</damping>", "    </dynamics>"]),
    (start_elsewhere, ["  <init_pos>0 0 0.5 0 0 1</init_pos>"]),
    (start_knee, ["  <init_pos>-0.5</init_pos>"]),
    (weigh, ["    <mass>7</mass>"]),
    (paint, None),
    (grow, None),
    (turn_axis, ["    <xyz>1 0 0</xyz>"]),
    (float_up, ["  <gravity>0</gravity>"]),
    (hold_still, ["  <mobile>0</mobile>"]),
    (weigh_shin, None),
    (state_tensor, None),
    (lift_gravity, None),
    (rename, None),
    (add_shape, None),
    (drop_shape, []),
    (another_shape, None),
    (mark, None),
    (ball_knee, None),
    (limit_root, None),
]


@pytest.mark.parametrize(("edit", "expected"), EDITS, ids=[edit.__name__ for edit, _ in EDITS])
def test_an_edit_changes_its_own_text_and_nothing_else(
    edit: Callable[[Mechanism], None], expected: list[str] | None
) -> None:
    mechanism = leg()
    edit(mechanism)
    again, lines = patched(mechanism)
    if edit is rename:
        mechanism.bodies[1].id = mechanism.joints[1].child = "s/lower leg"
    told = [
        line
        for line in differences(mechanism, again)
        if not (edit in (weigh, grow, add_shape, drop_shape, another_shape) and " inertia: " in line)
    ]
    assert told == []
    if expected is not None:
        assert [line[1:].strip() for line in lines if line.startswith("+")] == [line.strip() for line in expected]
    else:
        assert 0 < len(lines) <= 20
    assert "<!-- the hip -->" in formats.dumps(mechanism)[0]


def test_a_tensor_that_the_file_leaves_to_be_derived_stays_so() -> None:
    mechanism = leg()
    weigh(mechanism)
    again, _ = patched(mechanism)
    assert "moment_of_inertia" not in formats.dumps(mechanism)[0]
    assert np.allclose(again.bodies[0].inertia, leg().bodies[0].inertia * 7 / 5)


def test_parts_are_added_and_deleted_in_the_document() -> None:
    mechanism = leg()
    foot = Body("new", "foot", pose(z=0.25), mass=0.5, inertia=np.eye(3), assembly="s")
    foot.shapes.append(Shape("box", {"x": 1.0, "y": 2.0, "z": 3.0}))
    mechanism.bodies.append(foot)
    ankle = Joint("newer", "ankle", "universal", "s/shin", "new", pose(z=-0.25), pose(), assembly="s")
    ankle.dofs = [Dof("rotation", np.array([1.0, 0, 0])), Dof("rotation", np.array([0, 1.0, 0]), lower=-1.0)]
    mechanism.joints.append(ankle)
    again, lines = patched(mechanism)
    assert not [line for line in lines if line.startswith("-")]
    assert [each.id for each in again.bodies] == ["s/hip", "s/shin", "s/foot"]
    assert np.allclose(again.bodies[2].pose, foot.pose)
    assert [len(each.dofs) for each in again.joints] == [1, 1, 2]
    del again.bodies[1:]
    del again.joints[1:]
    least, lines = patched(again)
    assert [each.id for each in least.bodies] == ["s/hip"]
    assert not [line for line in lines if line.startswith("+")]


def test_skeletons_are_added_and_deleted_in_the_document() -> None:
    mechanism = formats.loads(skel(skeleton(LEG) + skeleton(body("b") + joint("weld"), "ground")), "two.skel")
    mechanism.bodies.append(Body("x", "ball", pose(z=3), inertia=np.eye(3), assembly="extra"))
    again, lines = patched(mechanism)
    assert [each.id for each in again.bodies] == ["s/hip", "s/shin", "ground/b", "extra/ball"]
    assert not [line for line in lines if line.startswith("-")]
    again.bodies = [each for each in again.bodies if each.assembly != "ground"]
    again.joints = [each for each in again.joints if each.assembly != "ground"]
    again.assemblies = [each for each in again.assemblies if each.path != "ground"]
    least, _ = patched(again)
    assert [each.path for each in least.assemblies] == ["s", "extra"]


def test_a_joint_between_two_skeletons_makes_them_one_in_a_new_document() -> None:
    mechanism = formats.loads(skel(skeleton(body("b") + joint("weld"), "one") + skeleton(body("b"), "two")), "t.skel")
    hinge = Joint("h", "hinge", "revolute", "one/b", "two/b", dofs=[Dof("rotation")])
    mechanism.joints.append(hinge)
    text, report = formats.dumps(mechanism)
    assert "document-lost" in [entry.code for entry in report.entries]
    again = formats.loads(text.encode(), "t.skel")
    assert [(each.name, each.assembly) for each in again.bodies] == [("b", "one"), ("b", "two")]
    assert len(ET.fromstring(text).findall("world/skeleton")) == 1
    assert sorted(each.attrib["name"] for each in ET.fromstring(text).iter("body")) == ["b", "b(1)"]


def test_an_edit_of_a_plane_leaves_its_normal() -> None:
    plane = "<geometry><plane><normal>0 2 0</normal><offset>3</offset></plane></geometry>"
    mechanism = read(body("b", shown(plane)) + joint("weld"))
    shape = mechanism.bodies[0].shapes[0]
    shape.pose = pose(1, 2, 3, (0.1, 0.2, 0.3)) @ shape.pose
    again, _ = patched(mechanism)
    assert np.allclose(again.bodies[0].shapes[0].pose, shape.pose)
    assert "<normal>0 2 0</normal>" in formats.dumps(mechanism)[0]


def test_values_of_a_dof_element_are_edited_there() -> None:
    dof = '<dof local_index="0"><position lower="-2" upper="2" initial="0.5"/><velocity upper="9"/></dof>'
    mechanism = only(joint("revolute", f"<axis><xyz>0 0 1</xyz></axis>{dof}<init_pos>0.1</init_pos>"))
    single = mechanism.joints[0].dofs[0]
    single.lower, single.upper, single.position, single.extra = -3.0, None, 0.75, {"velocity/@upper": 8.0}
    again, _ = patched(mechanism)
    assert differences(mechanism, again) == []
    assert (
        '<dof local_index="0"><position lower="-3" initial="0.75"/><velocity upper="8"/></dof>'
        in formats.dumps(mechanism)[0]
    )


def test_a_body_inside_a_moved_skeleton_is_written_in_its_frame() -> None:
    mechanism = read("<transformation>1 0 0 0 0 1</transformation>" + body("b") + joint("free"))
    mechanism.bodies[0].pose = pose(4, 5, 6, (0.1, 0.2, 0.3))
    mechanism.joints[0].frame_parent = mechanism.bodies[0].pose
    again, _ = patched(mechanism)
    assert differences(mechanism, again) == []


@needs_files
def test_random_edits_of_real_files_come_back() -> None:
    random = np.random.default_rng(3)
    for path in FILES:
        mechanism = formats.load(path)
        for number in random.permutation(len(mechanism.joints))[:3]:
            for dof in mechanism.joints[number].dofs:
                if dof.kind in ("ball", "free"):
                    dof.start = tuple(float(x) for x in random.uniform(-1, 1, DOF_SIZE[dof.kind]))
                    continue
                dof.lower, dof.damping, dof.position = (float(x) for x in random.uniform(-1, 1, 3))
        for number in random.permutation(len(mechanism.bodies))[:3]:
            each = mechanism.bodies[number]
            each.com, each.inertia = random.uniform(-1, 1, 3), np.diag(random.uniform(1, 2, 3))
            for shape in each.shapes:
                if not shape.soft:
                    shape.pose = shape.pose @ pose(*random.uniform(-1, 1, 3), tuple(random.uniform(-1, 1, 3)))
        text, report = formats.dumps(mechanism)
        again = formats.loads(text.encode(), str(path))
        assert differences(mechanism, again) == [], path.name
        assert "document-lost" not in [entry.code for entry in report.entries]


# ---- From elsewhere -------------------------------------------------------------------------------------


def two(type_: str, dofs: list[Dof], **more: object) -> Mechanism:
    """Two bodies on a joint with frames askew, the first of them fixed to the world."""
    mechanism = Mechanism("pair")
    frame, other = pose(1, 2, 3, (0.3, 0.2, 0.1)), pose(-1, 0.5, 0, (0.5, 0, 0.7))
    base = Body("a", "base", pose(0, 0, 1, (0.1, 0.2, 0.3)), inertia=np.eye(3))
    arm = Body("b", "arm", base.pose @ frame @ np.linalg.inv(other), inertia=np.eye(3))
    mechanism.bodies = [base, arm]
    mechanism.joints = [Joint("r", "root", "weld", None, "a", base.pose, pose())]
    mechanism.joints.append(Joint("j", "elbow", type_, "a", "b", frame, other, dofs, **more))  # type: ignore[arg-type]
    return mechanism


@needs_dart
def test_dart_moves_joints_of_every_make_as_we_do(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.skel" for number in range(len(KINDS))]
    models = [two(type_, copy.deepcopy(made)) for type_, made in KINDS.items()]
    for path, mechanism in zip(paths, models, strict=True):
        path.write_text(formats.dumps(mechanism, "skel")[0])
    for path, mechanism, dart in zip(paths, models, dart_of(paths), strict=True):
        elbow = mechanism.joints[1]
        bodies = dart["skeletons"][0]["bodies"]
        for coordinates, poses in zip(dart["skeletons"][0]["coordinates"], dart["skeletons"][0]["poses"], strict=True):
            value = np.concatenate([np.zeros(0), *(np.array(each, dtype=float) for each in coordinates)])
            expected = spanning_tree(mechanism).forward({"j": value[None]})[0]
            names = {each["name"]: np.array(world) for each, world in zip(bodies, poses, strict=True)}
            assert np.abs(names["base"] - expected[0]).max() < 1e-12
            assert np.abs(names["arm"] - expected[1]).max() < 1e-12, (path, elbow.type)


@pytest.mark.parametrize("type_", KINDS)
def test_joints_of_every_make_come_back(type_: str) -> None:
    mechanism = two(type_, copy.deepcopy(KINDS[type_]))
    for each in mechanism.joints[1].dofs:
        each.gain, each.max_force, each.lower, each.damping = 5.0, 2.0, -1.0, 0.5
    again = formats.loads(formats.dumps(mechanism, "skel")[0].encode(), "pair.skel")
    assert [each.name for each in again.bodies] == ["base", "arm"]
    assert len(again.joints) == 2
    elbow, other = mechanism.joints[1], again.joints[1]
    assert other.type == type_
    value = np.random.default_rng(1).uniform(-1, 1, (1, len(coordinates_of(elbow))))
    expected = elbow.frame_parent @ joint_motion(elbow, value)[0] @ np.linalg.inv(elbow.frame_child)
    found = other.frame_parent @ joint_motion(other, value)[0] @ np.linalg.inv(other.frame_child)
    assert np.abs(expected - found).max() < 1e-12
    for one, two_ in zip(elbow.dofs, other.dofs, strict=True):
        assert (one.kind, one.gain, one.max_force) == (two_.kind, two_.gain, two_.max_force)
        if one.kind in (R, T):
            assert (one.lower, one.damping) == (two_.lower, two_.damping)


def test_a_document_with_a_chain_is_kept_and_edited() -> None:
    text = formats.dumps(two("cylindrical", copy.deepcopy(KINDS["cylindrical"])), "skel")[0]
    mechanism = formats.loads(text.encode(), "pair.skel")
    assert formats.dumps(mechanism)[0] == text
    mechanism.joints[1].dofs[0].upper = 1.0
    mechanism.joints[1].dofs[1].upper = 2.0
    again, lines = patched(mechanism)
    assert [each.upper for each in again.joints[1].dofs] == [1.0, 2.0]
    assert len(lines) < 12
    del mechanism.joints[1], mechanism.bodies[1]
    least, _ = patched(mechanism)
    assert [each.name for each in least.bodies] == ["base"]


@needs_dart
def test_a_screw_is_a_hinge_to_dart_and_a_screw_to_us(tmp_path: Path) -> None:
    mechanism = two("screw", [Dof("screw", np.array([0.0, 0, 1]), pitch=0.25)])
    text, report = formats.dumps(mechanism, "skel")
    assert "approximated-joint" in [entry.code for entry in report.entries]
    (tmp_path / "screw.skel").write_text(text)
    assert dart_of([tmp_path / "screw.skel"])[0]["skeletons"][0]["bodies"][1]["joint"]["type"] == "RevoluteJoint"
    again = formats.loads(text.encode(), "screw.skel")
    assert (again.joints[1].type, again.joints[1].dofs[0].kind, again.joints[1].dofs[0].pitch) == (
        "screw",
        "screw",
        0.25,
    )


def square() -> Mechanism:
    """Four bars on four hinges."""
    mechanism = Mechanism("square")
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    mechanism.bodies = [Body(str(i), f"bar {i}", pose(*corner), inertia=np.eye(3)) for i, corner in enumerate(corners)]
    for i, corner in enumerate(corners):
        parent, child = mechanism.bodies[i - 1], mechanism.bodies[i]
        frame = np.linalg.inv(parent.pose) @ pose(*corner)
        mechanism.joints.append(Joint(f"j{i}", f"hinge {i}", "revolute", parent.id, child.id, frame, pose(), [Dof(R)]))
    return mechanism


@needs_dart
def test_a_loop_is_cut_for_dart_and_closed_again_for_us(tmp_path: Path) -> None:
    text, report = formats.dumps(square(), "skel")
    cut = [entry.message for entry in report.entries if entry.code == "cut-loop"]
    assert len(cut) == 1
    (tmp_path / "loop.skel").write_text(text)
    dart = dart_of([tmp_path / "loop.skel"])[0]
    assert [len(skeleton["bodies"]) for skeleton in dart["skeletons"]] == [4]
    again = formats.loads(text.encode(), "loop.skel")
    assert len(again.joints) == 4
    assert all(each.active for each in again.joints)
    assert len(spanning_tree(again).loop_joints) == 1
    assert formats.dumps(again)[0] == text


@needs_dart
def test_joints_read_from_the_wrong_end_are_turned_round(tmp_path: Path) -> None:
    paths, models = [], []
    for number, (type_, made) in enumerate(KINDS.items()):
        mechanism = two(type_, copy.deepcopy(made))
        elbow = mechanism.joints[1]
        elbow.parent, elbow.child = elbow.child, elbow.parent
        elbow.frame_parent, elbow.frame_child = elbow.frame_child, elbow.frame_parent
        paths.append(tmp_path / f"{number}.skel")
        models.append(mechanism)
        paths[-1].write_text(formats.dumps(mechanism, "skel")[0])
    for mechanism, dart in zip(models, dart_of(paths), strict=True):
        kinds = {dof.kind for dof in mechanism.joints[1].dofs}
        skeleton_ = dart["skeletons"][0]
        for coordinates, poses in zip(skeleton_["coordinates"], skeleton_["poses"], strict=True):
            names = {each["name"]: np.array(world) for each, world in zip(skeleton_["bodies"], poses, strict=True)}
            value = np.concatenate([np.zeros(0), *(np.array(each, dtype=float) for each in coordinates)])
            if kinds & {"ball", "free"}:
                continue  # their coordinates change, which is reported
            sizes = len(mechanism.joints[1].dofs)
            expected = spanning_tree(mechanism).forward({"j": value[::-1][None] if sizes else value[None]})[0]
            assert np.abs(names["arm"] - expected[1]).max() < 1e-12, mechanism.joints[1].type


def test_a_body_without_joint_gets_a_free_joint_and_loses_it_again() -> None:
    mechanism = Mechanism("loose", bodies=[Body("1", "rock", pose(1, 2, 3), inertia=np.eye(3))])
    mechanism.bodies.append(Body("2", "floor", immobile=True, inertia=np.eye(3)))
    text = formats.dumps(mechanism, "skel")[0]
    assert [each.attrib["type"] for each in ET.fromstring(text).iter("joint")] == ["free", "weld"]
    again = formats.loads(text.encode(), "loose.skel")
    assert again.joints == []
    assert formats.dumps(again)[0] == text
    again.joints.append(Joint("w", "glue", "weld", "loose/floor", "loose/rock", pose(1, 2, 3), pose()))
    glued, _ = patched(again)
    assert [each.name for each in glued.joints] == ["glue"]
    assert "weld" in [each.attrib["type"] for each in ET.fromstring(formats.dumps(again)[0]).iter("joint")]
    assert len(list(ET.fromstring(formats.dumps(again)[0]).iter("joint"))) == 2


def test_names_that_dart_cannot_distinguish_get_a_number_and_come_back() -> None:
    mechanism = Mechanism(
        "names",
        bodies=[Body(str(i), name, inertia=np.eye(3)) for i, name in enumerate(["a", "a", "world", " b", 'q"<&>'])],
    )
    text = formats.dumps(mechanism, "skel")[0]
    written = [each.attrib["name"] for each in ET.fromstring(text).iter("body")]
    assert written == ["a", "a(1)", "world(1)", "b", 'q"<&>']
    again = formats.loads(text.encode(), "names.skel")
    assert [each.name for each in again.bodies] == ["a", "a", "world", " b", 'q"<&>']


def test_shapes_that_dart_does_not_know() -> None:
    mechanism = Mechanism("shapes", bodies=[Body("1", "b", inertia=np.eye(3))])
    mechanism.bodies[0].shapes = [
        Shape("hemisphere", {"radius": 0.5}),
        Shape("axes", {"x": 1.0}),
        Shape("box", {"x": 0.0, "y": 1.0, "z": 1.0}),
    ]
    text, report = formats.dumps(mechanism, "skel")
    assert {"approximated-shape", "dropped-shape", "mended-size"} <= {entry.code for entry in report.entries}
    again = formats.loads(text.encode(), "shapes.skel")
    assert [shape.type for shape in again.bodies[0].shapes] == ["hemisphere", "hemisphere", "box", "box"]


def test_what_skel_has_no_word_for_is_reported() -> None:
    mechanism = two("weld", [])
    mechanism.motions = [Motion("wave")]
    mechanism.lights = [Light("lamp")]
    mechanism.restraints = [Restraint("spring")]
    mechanism.frames = [Frame("here", None), Frame("there", "a", pose(about=(1, 0, 0)))]
    mechanism.world.friction = 2.0
    mechanism.bodies.append(Body("off", "off", active=False))
    told = {entry.code for entry in formats.dumps(mechanism, "skel")[1].entries}
    expected = {"motion", "light", "restraint", "frame", "rotation", "world", "inactive"}
    assert {f"dropped-{what}" for what in expected} <= told


def test_a_twin_and_an_assembly_come_back() -> None:
    mechanism = two("revolute", dofs((R, Z)))
    mechanism.bodies[0].twin, mechanism.bodies[1].twin = "b", "a"
    mechanism.bodies[0].assembly, mechanism.bodies[1].assembly = "robot:left", "robot:right"
    again = formats.loads(formats.dumps(mechanism, "skel")[0].encode(), "twin.skel")
    assert [each.assembly for each in again.bodies] == ["robot:left", "robot:right"]
    assert [each.twin for each in again.bodies] == ["robot/arm", "robot/base"]


@needs_dart
@pytest.mark.slow
def test_real_files_of_other_formats_stand_and_move_in_dart_as_in_their_own(tmp_path: Path) -> None:
    sources, paths = [], []
    for path in sorted(each for folder in ("juice", "x_xy", "shift") for each in (CORPUS / folder).rglob("*")):
        try:
            mechanism = formats.load(path)
        except FormatError:
            continue
        target = tmp_path / f"{len(paths)}.skel"
        target.write_text(formats.dumps(mechanism, "skel")[0])
        for name in {shape.mesh for each in mechanism.bodies for shape in each.shapes if shape.mesh}:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")  # DART stops where there is no mesh
        sources.append(mechanism)
        paths.append(target)
    if not paths:
        pytest.skip(f"real files are not here: {CORPUS}")
    for mechanism, path, dart in zip(sources, paths, dart_of(paths), strict=True):
        again = formats.load(path)
        missing = same_as_dart(again, dart, ("shapes",))
        assert all(again_id.rpartition("/")[2].rpartition("_")[0].endswith("_link") for again_id in missing), path
        there = [each for each in mechanism.bodies if each.active]
        assert [each.name for each in there] == [each.name for each in again.bodies], mechanism.source.path
        if spanning_tree(mechanism).loop_joints:
            continue  # where a loop is open, the tree decides where its bodies are
        for one, other in zip(there, again.bodies, strict=True):
            assert np.abs(one.pose - other.pose).max() < 1e-9, (mechanism.source.path, one.name)
