"""x_xy against imt-ring itself: what it loads stands, weighs and moves here as there, and what we write it loads.

The program runs in a Python of its own (``tests.support.references``); without one these tests skip.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import spanning_tree
from addon.core.model import Array, Body, Dof, Frame, Joint, Mechanism, Shape, Source
from addon.core.transforms import inverse, rotation_matrix, rotation_vector
from tests.support.references import NO_RING, RING, answered

pytestmark = pytest.mark.slow

CLOSE = 1e-9

JOINTS = [
    "free",
    "free_2d",
    "frozen",
    "spherical",
    "px",
    "py",
    "pz",
    "rx",
    "ry",
    "rz",
    "saddle",
    "p3d",
    "rr",
    "rr_imp",
    "rsaddle",
]
EVERY_JOINT = (
    '<x_xy model="all"><options gravity="0 1 -2" dt="0.02"/>'
    '<defaults><geom color="white" edge_color="black"/></defaults>'
    '<worldbody><geom type="box" mass="3" dim="1 1 1"/>'
    + "".join(
        f'<body name="{joint}" joint="{joint}" pos="{i} 0.5 -{i}" euler="{10 * i} 20 -30">'
        '<geom type="box" mass="1" dim="1 2 3" pos="0.1 0.2 0.3" euler="40 50 60"/>'
        '<geom type="capsule" mass="2" dim="0.1 0.5" quat="0.6 0.8 0 0"/>'
        '<geom type="cylinder" mass="0.5" dim="0.3 0.5" pos="1 0 0" color="1 0 0.5 0.5"/>'
        '<geom type="sphere" mass="0.25" dim="0.3" pos="0 1 0" color="dustin_exp_blue"/><geom type="xyz" dim="0.5"/>'
        f'<omc name="seg" pos_marker="{i}" pos="0 0 0.1"/>'
        f'<body name="on {joint}" joint="rz" quat="0 0.6 0 -0.8" pos="1 1 1" pos_min="0 0 0" pos_max="2 2 2"'
        f' damping="{i}"/>'
        "</body>"
        for i, joint in enumerate(JOINTS)
    )
    + '<body name="springs" joint="free" damping="5 5 5 25 25 25" armature="1 2 3 4 5 6" spring_stiff="1 1 1 2 2 2"'
    ' spring_zero="0.6 0 0.8 0 1 2 3"/></worldbody></x_xy>'
)
STRETCHED = (
    '<x_xy model="stretched"><worldbody><body name="a" joint="rx" quat="0.75 0 0 0.25" pos="1 2 3">'
    '<body name="b" joint="ry" pos="1 0 0" quat="1 0 0 1"><body name="c" joint="rz" pos="0 1 1"/></body></body>'
    "</worldbody></x_xy>"
)


def turned(x: float, y: float, z: float, *place: float) -> Array:
    """A pose that is turned by a rotation vector."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_matrix(np.array([x, y, z]))
    pose[:3, 3] = place or (0.0, 0.0, 0.0)
    return pose


def foreign() -> Mechanism:
    """A mechanism as other formats have them: joint frames apart from the bodies', oblique axes, a joint that points
    to the root, bodies without a joint, names that the program takes for numbers, and a loop."""

    def hinge(*axis: float, **more: Any) -> Dof:
        return Dof("rotation", np.array(axis) / np.linalg.norm(axis), **more)

    def slide(*axis: float, **more: Any) -> Dof:
        return Dof("translation", np.array(axis) / np.linalg.norm(axis), **more)

    joints = [
        Joint(
            "j1",
            "hip",
            "revolute",
            "1",
            "2",
            turned(1, 2, 3, 0, 0, 1),
            turned(0.1, 0, 0, 0.5, 0, 0.2),
            [hinge(1, 2, 3)],
        ),
        Joint(
            "j2",
            "universal",
            "universal",
            "2",
            "3",
            turned(0, 1, 0, 1, 0, 0),
            turned(0, 0, 1, 0, 1, 0),
            [hinge(1, 0, 0, damping=1.0, lower=-1.0), hinge(0, 1, 1, damping=2.0)],
        ),
        Joint(
            "j3",
            "euler",
            "euler",
            "3",
            "4",
            np.eye(4),
            turned(0, 0, 0, 0, 0, 0.3),
            [hinge(1, 0, 0), hinge(0, 1, 0), hinge(0, 0, 1)],
        ),
        Joint(
            "j4",
            "planar",
            "planar",
            "4",
            "5",
            turned(0.3, 0, 0),
            np.eye(4),
            [slide(1, 0, 0), slide(0, 1, 0), hinge(0, 0, 1)],
        ),
        Joint(
            "j5", "slider", "prismatic", "6", "5", turned(0, 0, 2, 1, 1, 1), turned(1, 0, 0, 2, 0, 0), [slide(0, -1, 2)]
        ),
        Joint(
            "j6",
            "ball",
            "ball",
            "1",
            "7",
            turned(0, 2, 0, 0, 1, 0),
            turned(0.5, 0, 0, 0, 0, 1),
            [Dof("ball", damping=0.5)],
        ),
        Joint("j7", "screw", "screw", "7", "8", np.eye(4), np.eye(4), [Dof("screw", pitch=0.01)]),
        Joint(
            "j8",
            "backwards",
            "revolute",
            "9",
            "8",
            turned(0, 0, 1, 1, 0, 0),
            turned(1, 0, 0, 0, 2, 0),
            [hinge(0, 0, 1)],
        ),
        Joint("j9", "weld", "weld", None, "10", turned(1, 1, 0, 5, 0, 0), turned(0, 0, 1, 1, 0, 0)),
        Joint("loop", "chord", "revolute", "3", "8", np.eye(4), np.eye(4), [hinge(0, 0, 1)]),
    ]
    names = {"1": "torso", "2": "007", "3": "_1.5", "4": "inf", "5": "1 2", "6": "leg", "7": "leg", "8": 'a<b>&"c"'}
    bodies = [Body(str(i), names.get(str(i), f"body {i}"), mass=float(i)) for i in range(1, 12)]
    by_id = {body.id: body for body in bodies}
    by_id["1"].pose = turned(0.2, 0.3, 0.4, 1, 2, 3)
    by_id["11"].pose, by_id["11"].immobile = turned(0, 1, 0, 0, 0, 9), True
    by_id["2"].com, by_id["2"].inertia = np.array([0.1, 0.2, 0.3]), np.diag([1.0, 2.0, 2.5]) + 0.1
    by_id["3"].shapes = [Shape("cylinder", {"radius": 0.1, "length": 1.0}, turned(1, 0, 0, 0, 0, 1))]
    by_id["3"].com = np.array([0.0, 0.0, 1.0])
    by_id["4"].shapes = [
        Shape("box", {"x": 1, "y": 2, "z": 3}),
        Shape("sphere", {"radius": 0.5}, turned(0, 0, 0, 0, 0, 0)),
    ]
    by_id["5"].shapes = [
        Shape("mesh", {"x": 1, "y": 1, "z": 1}, mesh="a.obj"),
        Shape("cone", {"radius": 1, "length": 2}),
    ]
    by_id["5"].inertia = np.diag([5.0, 4.0, 3.0])
    out = Mechanism("42", bodies=bodies, joints=joints, frames=[Frame("tip", "3", turned(1, 0, 0, 0, 0, 2))])
    out.world.gravity = np.array([0.0, -9.8, 0.0])
    placed = {"1", "11"}
    for joint in joints[:9]:
        for near, far, there, here in (
            (joint.parent, joint.child, joint.frame_parent, joint.frame_child),
            (joint.child, joint.parent, joint.frame_child, joint.frame_parent),
        ):
            if (near is None or near in placed) and far is not None and far not in placed:
                start = np.eye(4) if near is None else by_id[near].pose
                by_id[far].pose = start @ there @ inverse(here)
                placed.add(far)
    chord = joints[-1]
    chord.frame_child = inverse(by_id["8"].pose) @ by_id["3"].pose @ chord.frame_parent
    return out


def corpus_texts(corpus: Path) -> dict[str, str]:
    """The files of the corpus, those that are there twice once."""
    found = {path.read_text(): path for path in sorted(corpus.glob("x_xy/**/*.xml"))}
    return {str(path.relative_to(corpus)): text for text, path in found.items()}


def written_anew(mechanism: Mechanism) -> str:
    """The text of a mechanism that has no document."""
    mechanism.source = Source()
    return formats.dumps(mechanism, "x_xy")[0]


@pytest.fixture(scope="module")
def texts(corpus: Path) -> dict[str, str]:
    """Everything that the program is asked about."""
    found = corpus_texts(corpus)
    out = {**found, "every joint": EVERY_JOINT, "stretched": STRETCHED}
    out |= {f"anew {name}": written_anew(formats.loads(text.encode())) for name, text in out.items()}
    out["foreign"] = written_anew(foreign())
    for path in sorted(corpus.glob("juice/*/*.jm"))[:3]:
        out[f"juice {path.relative_to(corpus)}"] = written_anew(formats.load(path))
    return out


@pytest.fixture(scope="module")
def answers(texts: dict[str, str]) -> dict[str, Any]:
    """What the program says about each, asked once."""
    if not RING:
        pytest.skip(NO_RING)
    # what was written anew is posed as the model that it was made from
    questions = {name: [zlib.crc32(name.removeprefix("anew ").encode()), text] for name, text in texts.items()}
    return answered(RING, Path(__file__).resolve().parents[2] / "support/ring_reference.py", questions)


def coordinate(kind: str, q: list[float]) -> list[float]:
    """The program's coordinates of a joint as ours: its quaternions are passive, and free_2d begins with its turn."""
    if kind in {"spherical", "free"}:
        w, x, y, z = q[:4]
        angle = 2.0 * np.arctan2(np.linalg.norm([x, y, z]), w)
        axis = -np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return [*(axis * angle), *q[4:]]
    return [*q[1:], q[0]] if kind == "free_2d" else q


def forward(mechanism: Mechanism, coordinates: dict[str, list[float]]) -> dict[str, Array]:
    """World poses of bodies by id."""
    tree = spanning_tree(mechanism)
    poses = tree.forward({own: np.array([values]) for own, values in coordinates.items()})[0]
    return {body.id: pose for body, pose in zip(mechanism.bodies, poses, strict=True)}


def compare(mechanism: Mechanism, answer: dict[str, Any]) -> dict[str, float]:
    """The largest differences between a model here and there, for bodies that are links of the same name."""
    worst = {"rest": 0.0, "posed": 0.0, "mass": 0.0, "com": 0.0, "inertia": 0.0}
    links = answer["links"]
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.child: joint for joint in mechanism.joints}
    for link in links:
        for dof, own in zip(joints[link["name"]].dofs, chosen_axes(link), strict=False):
            dof.axis = np.array(own)
    posed = forward(mechanism, {link["name"]: coordinate(link["joint"], link["q"]) for link in links})
    for link, rest, pose in zip(links, answer["rest"], answer["posed"], strict=True):
        body = bodies[link["name"]]
        joint = joints[body.id]
        assert joint.parent == link["parent"]
        worst["rest"] = max(worst["rest"], np.abs(body.pose - rest).max())
        worst["posed"] = max(worst["posed"], np.abs(posed[body.id] - pose).max())
        weigh(worst, body, link)
    return worst


def chosen_axes(link: dict[str, Any]) -> list[list[float]]:
    """The axes that the program drew for a joint that has none in the file."""
    params = link["params"]
    if link["joint"] == "rsaddle":
        return params["joint_axes"]
    return [params[name] for name in ("joint_axes", "residual") if name in params]


def weigh(worst: dict[str, float], body: Body, link: dict[str, Any]) -> None:
    """Compare what a body weighs, relative to its size."""
    assert body.inertia is not None
    worst["mass"] = max(worst["mass"], abs(body.mass - link["mass"]))
    worst["com"] = max(worst["com"], np.abs(body.com * body.mass - link["moment"]).max())
    away = np.dot(body.com, body.com) * np.eye(3) - np.outer(body.com, body.com)
    there = np.array(link["inertia_about_origin"])
    apart = np.abs(body.inertia + body.mass * away - there).max() / (np.abs(there).max() or 1.0)
    worst["inertia"] = max(worst["inertia"], apart)


def test_every_file_is_read_as_the_program_reads_it(texts: dict[str, str], answers: dict[str, Any]) -> None:
    names = [name for name in texts if not name.startswith(("anew", "foreign", "juice", "stretched"))]
    assert len(names) > 10
    for name in names:
        assert "error" not in answers[name], name
        mechanism = formats.loads(texts[name].encode())
        worst = compare(mechanism, answers[name])
        assert max(worst.values()) < CLOSE, (name, worst)
        assert np.abs(mechanism.world.gravity + answers[name]["gravity"]).max() == 0.0
        assert mechanism.world.time_step == answers[name]["dt"]
        assert sum(len(body.shapes) for body in mechanism.bodies) == answers[name]["geoms"]


def test_lists_of_a_joint_mean_what_they_mean_there(answers: dict[str, Any]) -> None:
    mechanism = formats.loads(EVERY_JOINT.encode())
    for joint, link in zip(mechanism.joints, answers["every joint"]["links"], strict=True):
        kinds = {"damping": "damping", "armature": "armature", "spring_stiff": "stiffness"}
        if joint.extra["joint"] == "free_2d":
            assert link["damping"] == [0, 0, 0]
            continue
        for there, here in kinds.items():
            ours = [getattr(one, here) for dof in joint.dofs for one in dof.parts or [dof]]
            theirs = link[there]
            assert (ours == theirs) or set(ours) == set(theirs), (joint.name, there)
    springs, link = mechanism.joints[-1].dofs[0], answers["every joint"]["links"][-1]
    assert [part.armature for part in springs.parts] == link["armature"]
    w, x, y, z = link["spring_zero"][:4]
    assert np.allclose(rotation_matrix(np.array([part.rest for part in springs.parts[:3]])), rotation_matrix(
        -np.array([x, y, z]) / np.linalg.norm([x, y, z]) * 2 * np.arctan2(np.linalg.norm([x, y, z]), w)
    ))  # fmt: skip
    assert [part.rest for part in springs.parts[3:]] == link["spring_zero"][4:]


def test_what_no_unit_quaternion_stretches_stands_where_it_stands_there(answers: dict[str, Any]) -> None:
    bodies = formats.loads(STRETCHED.encode()).bodies
    apart = [np.abs(body.pose - rest).max() for body, rest in zip(bodies, answers["stretched"]["rest"], strict=True)]
    assert max(apart) < CLOSE


def test_a_new_document_is_the_same_model_in_imt_ring(texts: dict[str, str], answers: dict[str, Any]) -> None:
    for name in texts:
        before, after = answers[name], answers.get(f"anew {name}")
        if after is None:
            continue
        assert "error" not in after, (name, after)
        assert [link["name"] for link in after["links"]] == [link["name"] for link in before["links"]]
        assert after["geoms"] == before["geoms"]
        # where quaternions are no unit ones, posed links are stretched on the one side and not on the other
        for which in ("rest", "posed") if name != "stretched" else ("rest",):
            apart = np.abs(np.array(after[which]) - before[which]).max()
            drawn = which == "posed" and any(link["params"] for link in before["links"])
            assert drawn or apart < CLOSE, (name, which, apart)
        for old, new in zip(before["links"], after["links"], strict=True):
            for key in ("mass", "moment", "inertia_about_origin", "damping", "armature", "spring_stiff", "spring_zero"):
                assert np.abs(np.array(old[key]) - new[key]).max(initial=0.0) < CLOSE, (name, old["name"], key)
            assert (old["joint"], old["marker"]) == (new["joint"], new["marker"])
            for key in ("pos_min", "pos_max"):
                if name != "stretched":
                    assert old[key] == pytest.approx(new[key], abs=CLOSE)


def test_a_mechanism_of_another_format_moves_the_same_there(texts: dict[str, str], answers: dict[str, Any]) -> None:
    mechanism = foreign()
    mechanism.joints[6].dofs[0].pitch = 0.0  # the file has no screws
    answer = answers["foreign"]
    assert "error" not in answer, answer
    assert answer["gravity"] == pytest.approx([0.0, 9.8, 0.0])
    again = formats.loads(texts["foreign"].encode())
    name_in_file = dict(zip([body.id for body in again.bodies], body_links(answer), strict=True))
    assert sorted(name_in_file) == sorted(body.id for body in mechanism.bodies)
    at = {link["name"]: i for i, link in enumerate(answer["links"])}
    coordinates: dict[str, list[float]] = {}
    roots: dict[str, Array] = {}
    tree = spanning_tree(mechanism)
    by_body = {link.body: link for link in tree.links}
    for own, name in name_in_file.items():
        steps = [link for link in answer["links"] if link["name"].startswith(f"{name} step")]
        values = [x for link in (*steps, answer["links"][at[name]]) for x in coordinate(link["joint"], link["q"])]
        link = by_body.get(own)
        if link is None:
            roots[own] = np.array(answer["posed"][at[name]])
        elif link.is_reversed:  # its last axis comes first in the file, and a ball is turned the other way
            coordinates[link.joint.id] = [-x for x in values] if link.joint.type == "ball" else values[::-1]
        else:
            coordinates[link.joint.id] = values
    poses = tree.forward(
        {own: np.array([values]) for own, values in coordinates.items()},
        root_poses=np.array([roots[root.id] for root in tree.roots]),
    )[0]
    for body, pose in zip(mechanism.bodies, poses, strict=True):
        number = at[name_in_file[body.id]]
        assert np.abs(body.pose - answer["rest"][number]).max() < CLOSE, body.name
        assert np.abs(pose - answer["posed"][number]).max() < CLOSE, body.name
        there = answer["links"][number]
        assert abs(there["mass"] - body.mass) < CLOSE
        assert np.abs(np.array(there["moment"]) - body.com * body.mass).max() < CLOSE


def body_links(answer: dict[str, Any]) -> list[str]:
    """Names of the links that are bodies of ours, in order: neither steps nor the frame."""
    return [link["name"] for link in answer["links"] if " step " not in link["name"] and link["name"] != "tip"]


def test_walkers_of_juice_load_there(corpus: Path, texts: dict[str, str], answers: dict[str, Any]) -> None:
    names = [name for name in texts if name.startswith("juice")]
    assert names
    for name in names:
        assert "error" not in answers[name], answers[name]
        mechanism = formats.load(corpus / name.removeprefix("juice "))
        there = {
            link["name"]: np.array(rest)
            for link, rest in zip(answers[name]["links"], answers[name]["rest"], strict=True)
        }
        masses = {link["name"]: link["mass"] for link in answers[name]["links"]}
        alone = [body for body in mechanism.bodies if [other.name for other in mechanism.bodies].count(body.name) == 1]
        assert alone
        for body in alone:
            assert np.abs(there[body.name] - body.pose).max() < CLOSE
            assert masses[body.name] == pytest.approx(body.mass)


def test_rotation_vectors_of_the_helper_are_right() -> None:
    half = np.sqrt(0.5)
    assert np.allclose(coordinate("spherical", [half, 0, 0, -half]), [0, 0, np.pi / 2])
    assert np.allclose(rotation_vector(rotation_matrix(np.array([0.1, 0.2, 0.3]))), [0.1, 0.2, 0.3])
