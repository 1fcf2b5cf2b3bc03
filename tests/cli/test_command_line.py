"""The command line: what each verb prints and writes, and the exit code of everything that can go wrong."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from addon import formats
from addon.cli import main, output
from tests.support import mesh_samples
from tests.support.mechanisms import XmlModel, body, clockwork, clockwork_motor, joint, model

ROOT = Path(__file__).resolve().parents[2]
FRAME = 0.032  # seconds of a frame of XMDI

#: A trunk that swings two legs as far as the stick says, and holds a tray on a slide.
WALKER = model(
    body(1, (0, 0, 1.9), (2, 1, 0.5), mass=4, name="Trunk"),
    body(2, (-1.2, 0, 1.3), (0.3, 0.3, 1.6), name="Left Leg", twin=3),
    body(3, (1.2, 0, 1.3), (0.3, 0.3, 1.6), name="Right Leg", twin=2),
    body(4, (0, 0, 2.3), (0.5, 0.5, 0.2), name="Tray"),
    joint(21, 1, 2, (-1.2, 0, 1.9), (0, 90, 0), force=200, stops=(-60, 60), name="Left Hip"),
    joint(22, 1, 3, (1.2, 0, 1.9), (0, 90, 0), force=200, name="Right Hip"),
    joint(23, 1, 4, (0, 0, 2.2), force=50, name="Lift", tag="PrismaticJoint"),
    gravity=9.81,
    behaviours=clockwork(
        clockwork_motor(21, amplitude=30), clockwork_motor(22, amplitude=25, phase=90), clockwork_motor(23), amp_mod=2
    ),
)  # fmt: skip
PUSHED = ["--input", "joystick 1 y=-1"]
MOTION = """<?xml version="1.0"?>
<xmdi><motions><motion name="wave">
<servo name="Left Hip"><position>0 0.5 -0.25</position><frames>0 10 25</frames></servo>
<servo name="Tail"><position>0 1</position><frames>0 1</frames></servo>
</motion></motions></xmdi>
"""


@pytest.fixture
def walker(tmp_path: Path) -> Path:
    path = tmp_path / "walker.jm"
    path.write_text(WALKER, encoding="utf-8")
    return path


@pytest.fixture
def wave(tmp_path: Path) -> Path:
    path = tmp_path / "wave.xmdi"
    path.write_text(MOTION, encoding="utf-8")
    return path


def run(*words: Any) -> int:
    return main([str(word) for word in words])


def servos(path: Path) -> dict[str, tuple[list[float], list[float]]]:
    """Frames and positions of every servo of an XMDI file, as any XML reader sees them."""
    return {
        servo.get("name"): tuple(
            [float(word) for word in servo.findtext(tag).split()] for tag in ("frames", "position")
        )
        for servo in etree.parse(str(path)).iter("servo")
    }


# ---------------------------------------------------------------- info

KEYS = {
    "": {"format", "dialect", "name", "gravity", "bodies", "joints", "motions", "controls", "engine", "report"},
    "bodies": {
        "id", "name", "assembly", "mass", "com_world", "inertia_world", "matrix_world", "twin", "shapes",
    },
    "shapes": {"type", "size", "matrix_world", "visual", "collision", "color", "mesh"},
    "joints": {
        "id", "name", "type", "parent", "child", "active", "loop", "twin", "frame_world", "dofs",
    },
    "motions": {"name", "attributes", "servos"},
    "servos": {"name", "times", "values"},
    "report": {"severity", "code", "message", "line", "where"},
}  # fmt: skip
DOF_KEYS = {"kind", "axis_world", "lower", "upper", "position"}


def test_info_json_is_one_object_with_exactly_the_promised_keys(walker: Path, capsys: Any) -> None:
    assert run("info", walker, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == KEYS[""]
    assert (told["format"], told["name"], told["gravity"]) == ("juice", "walker", [0, 0, -9.81])
    assert [part["name"] for part in told["bodies"]] == ["Trunk", "Left Leg", "Right Leg", "Tray"]
    for part in told["bodies"]:
        assert set(part) == KEYS["bodies"]
        assert [set(shape) for shape in part["shapes"]] == [KEYS["shapes"]]
    for part in told["joints"]:
        assert set(part) == KEYS["joints"]
        (dof,) = part["dofs"]
        assert set(dof) >= DOF_KEYS
    document = XmlModel(WALKER)
    for part in told["bodies"]:
        assert np.abs(np.array(part["matrix_world"]) - document.poses[part["id"]]).max() < 1e-12
        assert np.shape(part["inertia_world"]) == (3, 3)
    for part in told["joints"]:
        place = document.joints[part["id"]]
        assert (part["parent"], part["child"]) == (place.first, place.second)
        assert part["dofs"][0]["axis_world"] == pytest.approx(place.axis, abs=1e-12)
        limits = (part["dofs"][0]["lower"], part["dofs"][0]["upper"])
        assert limits == (pytest.approx(place.limits()) if place.stops else (None, None))
    assert told["bodies"][1]["twin"] == "3"
    assert told["controls"] == ["joystick 1 y"]
    assert all(set(entry) == KEYS["report"] for entry in told["report"])


def test_info_json_of_a_motion(wave: Path, capsys: Any) -> None:
    assert run("info", wave, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == KEYS[""]
    assert (told["format"], told["bodies"], told["joints"]) == ("xmdi", [], [])
    (motion,) = told["motions"]
    assert set(motion) == KEYS["motions"]
    assert [set(servo) for servo in motion["servos"]] == [KEYS["servos"]] * 2
    assert motion["servos"][0]["times"] == pytest.approx([0, 0.32, 0.8])
    assert motion["servos"][0]["values"] == [0, 0.5, -0.25]


def test_info_of_a_motion_as_text_mentions_no_model(wave: Path, capsys: Any) -> None:
    assert run("info", wave) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told[1:]] == ["motion", "report"]


def test_a_simulation_lasts_eight_seconds_by_default(capsys: Any) -> None:
    for verb in ("simulate", "render", "demo", "job"):
        assert run(verb, "--help") == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "--seconds S duration" in told and "in s (default: 8" in told
    assert run("simulate", "nobody.jm", "--out", "out.xmdi") == 1, "usage is right; the file is not there"


def test_convert_reports_how_meshes_come_along(tmp_path: Path, capsys: Any) -> None:
    words = ["convert", "sample_models/pumpjack/pumpjack.json", tmp_path / "jack.skel"]
    assert run(*words) == 0
    assert "--copy-meshes" in capsys.readouterr().out
    assert run(*words, "--copy-meshes") == 0
    assert "Mesh files: not copied" not in capsys.readouterr().out
    assert (tmp_path / "beam.obj").is_file()


def test_info_as_text_lists_what_is_in_a_model(walker: Path, capsys: Any) -> None:
    assert run("info", walker) == 0
    said = capsys.readouterr().out
    for words in ("walker", "bodies   4", "total mass 7", "joints   3 (2 revolute, 1 prismatic)", "joystick 1 y"):
        assert words in said


def test_info_and_convert_do_without_blender_and_the_others_say_that_they_cannot(walker: Path, tmp_path: Path) -> None:
    """In a Python where bpy cannot be imported."""
    code = (
        "import sys; sys.modules['bpy'] = None\n"
        "from addon.cli import main\n"
        f"file, folder = {str(walker)!r}, {str(tmp_path)!r}\n"
        "print([main(['info', file, '--json']), main(['convert', file, folder + '/again.jm']),\n"
        "       main(['import', file, '--blend', folder + '/a.blend'])], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[0, 0, 1]"
    assert "this command needs Blender" in done.stderr
    assert (tmp_path / "again.jm").read_text(encoding="utf-8") == WALKER
    assert not (tmp_path / "a.blend").exists()


# ---------------------------------------------------------------- convert


def test_meshes_are_copied_when_asked_for(tmp_path: Path, capsys: Any) -> None:
    """Into the folder of the new file, where the model is complete without the old one."""
    for name in ("from", "to", "bare"):
        (tmp_path / name).mkdir()
    (tmp_path / "from/link.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    source = tmp_path / "from/a.skel"
    source.write_text(
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia>'
        "<visualization_shape><geometry><mesh><file_name>link.obj</file_name><scale>1 1 1</scale></mesh></geometry>"
        "</visualization_shape></body></skeleton></world></skel>"
    )
    assert run("convert", source, tmp_path / "to/a.json", "--copy-meshes") == 0
    assert (tmp_path / "to/link.obj").read_bytes() == (tmp_path / "from/link.obj").read_bytes()
    assert formats.load(tmp_path / "to/a.json").bodies[0].shapes[0].mesh == "link.obj"
    assert "--copy-meshes" not in capsys.readouterr().out
    assert run("convert", source, tmp_path / "bare/a.json") == 0
    assert not (tmp_path / "bare/link.obj").exists() and "--copy-meshes" in capsys.readouterr().out
    motion = tmp_path / "m.xmdi"
    motion.write_text("<xmdi><motions/></xmdi>")
    assert run("convert", motion, tmp_path / "n.csv", "--copy-meshes") != 0


def test_converting_to_its_own_format_keeps_the_file(walker: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "again.jm"
    assert run("convert", walker, target) == 0
    assert target.read_bytes() == walker.read_bytes()
    assert capsys.readouterr().out.splitlines()[-1] == f"{target}: Juice, {len(WALKER)} bytes"


def test_what_an_ending_means_where_several_formats_have_it(walker: Path, tmp_path: Path, capsys: Any) -> None:
    """Juice's old files end in .xml too, and x_xy's in nothing else."""
    skel = '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"/></skeleton></world></skel>'
    (tmp_path / "a.skel").write_text(skel)
    for source, target, label in (("a.skel", "b.xml", "x_xy"), ("b.xml", "c.xml", "x_xy"), (walker, "w.xml", "Juice")):
        assert run("convert", tmp_path / source, tmp_path / target) == 0
        assert f": {label}" in capsys.readouterr().out.splitlines()[-1]


def test_a_model_that_lies_on_its_side_is_turned_upright(tmp_path: Path, capsys: Any) -> None:
    skel = """<skel version="1.0"><world name="w"><physics><gravity>0 -9.81 0</gravity></physics><skeleton name="s">
    <body name="b"><transformation>1 2 3 0 0 0</transformation></body></skeleton></world></skel>"""
    (tmp_path / "a.skel").write_text(skel)
    assert run("convert", tmp_path / "a.skel", tmp_path / "lying.jm") == 0
    assert "Gravity (0 -9.81 0): only 0 along Z is written" in capsys.readouterr().out
    assert run("convert", tmp_path / "a.skel", tmp_path / "standing.jm", "--upright") == 0
    assert "gravity" not in capsys.readouterr().out
    made = formats.load(tmp_path / "standing.jm")
    assert made.world.gravity.tolist() == [0, 0, -9.81]
    assert made.bodies[0].pose[:3, 3] == pytest.approx((1, -3, 2))


def test_an_old_file_becomes_a_new_one(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    source, target = corpus / "juice" / "legacy_jpm" / "DogWithSlider.jpm", tmp_path / "dog.jm"
    assert run("convert", source, target) == 0
    old, new = XmlModel(source), XmlModel(target)
    assert etree.parse(str(target)).getroot().get("FileVersion") == "1"
    assert list(new.poses) == list(old.poses)
    assert all(np.abs(new.poses[key] - old.poses[key]).max() < 1e-9 for key in old.poses)
    assert new.joints.keys() == old.joints.keys()
    for key, place in old.joints.items():
        assert (new.joints[key].first, new.joints[key].second) == (place.first, place.second)
        assert new.joints[key].limits() == pytest.approx(place.limits())


def test_meshes_are_read_from_the_folders_that_are_named(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "library").mkdir()
    (tmp_path / "library/a.stl").write_bytes(mesh_samples.stl())
    model = tmp_path / "model/m.skel"
    model.write_text(
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>12</mass></inertia>'
        "<visualization_shape><geometry><mesh><file_name>../far/a.stl</file_name><scale>1 1 1</scale></mesh>"
        '</geometry></visualization_shape></body><joint type="free" name="j"><parent>world</parent><child>b</child>'
        "</joint></skeleton></world></skel>"
    )
    x, y, z = mesh_samples.EDGES
    moments = [y * y + z * z, x * x + z * z, x * x + y * y]
    assert run("info", model, "--json", "--meshes", tmp_path / "library") == 0
    body = json.loads(capsys.readouterr().out)["bodies"][0]
    assert np.diagonal(body["inertia_world"]) == pytest.approx(moments)
    assert run("info", model) == 0
    assert str(tmp_path / "far/a.stl") in capsys.readouterr().out
    target = tmp_path / "out.json"
    assert run("convert", model, target, "--meshes", tmp_path / "model", "--meshes", tmp_path / "library") == 0
    assert formats.load(target).bodies[0].inertia.diagonal() == pytest.approx(moments)
    assert "as in DART 6.20" in capsys.readouterr().out
    assert run("convert", model, target) == 0
    assert "--meshes" in capsys.readouterr().out
    assert run("convert", model, target, "--meshes", tmp_path / "nowhere") == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["info", "convert", "import", "simulate", "render", "demo"])
def test_help_mentions_mesh_folders(verb: str, capsys: Any) -> None:
    assert run(verb, "--help") == 0
    assert "--meshes DIR" in capsys.readouterr().out


def test_a_motion_is_converted_to_a_motion(wave: Path, tmp_path: Path, capsys: Any) -> None:
    for target, options in ((tmp_path / "again.xmdi", []), (tmp_path / "odd.ending", ["--to", "xmdi"])):
        assert run("convert", wave, target, *options) == 0
        assert servos(target) == servos(wave)


# ---------------------------------------------------------------- import


def opened(path: Path) -> Any:
    """A .blend, opened: Blender's scene."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.context.scene


def armatures() -> list[Any]:
    import bpy

    return sorted((obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"), key=lambda obj: obj.name)


def bodies() -> dict[str, Any]:
    import bpy

    return {obj.knuckle.source_name: obj for obj in bpy.data.objects if obj.knuckle.role == "BODY"}


def test_import_makes_a_blend_of_several_models_with_a_motion_on_the_first(
    blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any
) -> None:
    other = tmp_path / "other.jm"
    other.write_text(WALKER.replace("Left Hip", "Linke"), encoding="utf-8")
    blend = tmp_path / "two.blend"
    assert run("import", walker, other, "--blend", blend, "--motion", wave) == 0
    said = capsys.readouterr().out
    assert "warning: Servo 'Tail' has no effect" in said
    assert f"{blend}: {blend.stat().st_size} bytes" in said
    scene = opened(blend)
    second, first = armatures()
    assert (second.name, first.name) == ("other", "walker")
    assert first.animation_data.action.name == "wave"
    assert second.animation_data.action.knuckle.kind == "GAIT"
    assert {obj.name for obj in scene.collection.children} >= {"walker", "other"}
    frame = 1 + 10 * FRAME * scene.render.fps
    scene.frame_set(math.floor(frame), subframe=frame % 1)
    assert first.pose.bones["Left Hip"].rotation_euler.z == pytest.approx(0.5, abs=1e-5)


# ---------------------------------------------------------------- simulate


def test_simulate_writes_what_the_servos_did_on_the_32_ms_grid(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "walk.xmdi"
    assert run("simulate", walker, *PUSHED, "--seconds", 1.5, "--out", out) == 0
    found = servos(out)
    assert set(found) == {"Left Hip", "Right Hip", "Lift"}
    for frames, positions in found.values():
        assert frames == list(range(47)), "whole frames up to 1.5 s"
        assert len(positions) == 47
    document = XmlModel(WALKER)
    time = np.arange(47) * FRAME
    for number, name, amplitude, phase in (("21", "Left Hip", 30, 0), ("22", "Right Hip", 25, 90)):
        place = document.joints[number]
        sense = 1.0 if place.line @ place.axis > 0 else -1.0  # the stick is pulled, which turns the wave over
        wanted = sense * np.radians(amplitude) * np.sin(2 * math.pi * time + math.radians(phase))
        assert np.abs(np.array(found[name][1]) - wanted)[10:].mean() < 0.1, name
        assert np.abs(np.array(found[name][1]) - wanted).max() > 1e-4, "physics is never exact"
    told = capsys.readouterr()
    assert "Simulation: Trunk moved (" in told.out
    assert "simulating 91/91" in told.err


def test_a_stick_that_is_not_pushed_and_servos_that_are_off_do_otherwise(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "walk.xmdi"
    spans = {}
    for name, options in (("pushed", PUSHED), ("still", []), ("limp", [*PUSHED, "--drive", "limp"])):
        assert run("simulate", walker, *options, "--seconds", 1, "--out", out) == 0
        spans[name] = {servo: np.ptp(positions) for servo, (_, positions) in servos(out).items()}
    assert spans["pushed"]["Left Hip"] == pytest.approx(math.radians(60), abs=0.2)
    assert spans["still"]["Left Hip"] < 0.1
    assert spans["limp"]["Lift"] > 0.3 > spans["still"]["Lift"], "nothing holds the tray"


def test_a_motion_is_tracked_under_physics(blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "run.xmdi"
    assert run("simulate", walker, "--motion", wave, "--seconds", 1, "--out", out) == 0
    frames, positions = servos(out)["Left Hip"]
    wanted = np.interp(frames, [0, 10, 25], [0, 0.5, -0.25])
    assert np.abs(np.array(positions) - wanted).mean() < 0.04
    assert "Servo 'Tail' has no effect" in capsys.readouterr().out


def test_an_input_that_the_model_does_not_listen_to_is_reported(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "walk.xmdi"
    assert run("simulate", walker, "--input", "Joystick2 Z = 0.5", "--seconds", 0.1, "--out", out) == 0
    assert "'joystick 2 z' has no effect: the gait does not read it; it reads joystick 1 y" in capsys.readouterr().out


@pytest.mark.parametrize("options", [[], ["--all-bodies"]], ids=["servos", "all bodies"])
def test_a_simulated_blend_plays_the_run_without_physics(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any, options: list[str]
) -> None:
    """The same run is made here by hand; physics repeats itself."""
    import bpy

    from addon.blender.physics.recording.bake import record
    from tests.support.mechanisms import objects_of, put, world_of

    rig = put(walker)
    rig.data.knuckle.controls.joystick_1_y = -1.0
    rig.data.knuckle.drive = "SERVO"
    recording = record(bpy.context.scene, rig, 121)
    names = [obj.knuckle.source_name for obj in objects_of(rig, "BODY").values()]
    there = {name: recording.poses[:, place] for place, name in enumerate(names)}

    blend = tmp_path / "walk.blend"
    assert run("simulate", walker, *PUSHED, "--seconds", 2, "--out", blend, *options) == 0
    scene = opened(blend)
    assert scene.rigidbody_world is None
    assert (scene.frame_current, scene.frame_start, scene.frame_end) == (1, 1, 121)
    (rig,) = armatures()
    assert rig.data.knuckle.drive == "KEYS"
    (root,) = [bone.knuckle.root for bone in rig.data.bones if bone.knuckle.root]
    standing = bodies()
    moved = {name: [] for name in standing}
    for frame in range(1, 122):
        scene.frame_set(frame)
        for name, obj in standing.items():
            moved[name].append(world_of(obj))
    for name, obj in standing.items():
        apart = np.abs(np.array(moved[name]) - there[name]).max()
        assert apart < (1e-4 if options or obj.knuckle.source_id == root else 0.1), name
    trunk = np.array(moved["Trunk"])[:, :3, 3]
    assert np.ptp(trunk, axis=0).max() > 0.2
    lines = capsys.readouterr().out.splitlines()
    assert [
        sum(what in line for line in lines) for what in ("Joint separation:", "Tracking error:", "Joint separation of")
    ] == [1, 1, 3]
    said = next(line for line in lines if "Simulation: Trunk moved" in line)
    travel = [float(word) for word in said.split("(")[1].split(")")[0].split(",")]
    assert travel == pytest.approx((trunk[-1] - trunk[0]).tolist(), abs=0.006)


def test_only_a_blend_has_keys_for_bodies(blank: Any, walker: Path, tmp_path: Path, capsys: Any) -> None:
    assert run("simulate", walker, "--seconds", 1, "--out", tmp_path / "walk.xmdi", "--all-bodies") == 1
    assert "--all-bodies is for a .blend" in capsys.readouterr().err


# ---------------------------------------------------------------- render


def film(*words: Any) -> int:
    return run("render", *words, "--engine", "workbench", "--size", "160x90")


@pytest.mark.usefixtures("coarse")
def test_render_makes_a_picture_of_the_size_that_was_asked_for(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "walker.png"
    assert film(walker, "--out", out, "--seconds", 0.2) == 0
    data = out.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (160, 90)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".png"] == ["walker.png"]
    assert len(set(shades(out))) > 50, "there is something to see"


def shades(path: Path) -> list[float]:
    import bpy

    picture = bpy.data.images.load(str(path))
    assert tuple(picture.size) == (160, 90)
    return np.round(np.array(picture.pixels[:])[::4], 2).tolist()


def clip(path: Path) -> tuple[int, tuple[int, int]]:
    """Frames and size of a video."""
    import bpy

    assert path.read_bytes()[4:8] == b"ftyp"
    video = bpy.data.movieclips.load(str(path))
    return video.frame_duration, tuple(video.size)


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("drive", [[], ["--drive", "keys"], ["--drive", "limp"]], ids=["servo", "keys", "limp"])
def test_render_makes_a_video(blank: Any, walker: Path, tmp_path: Path, capsys: Any, drive: list[str]) -> None:
    out = tmp_path / "walker.mp4"
    assert film(walker, *PUSHED, *drive, "--out", out, "--seconds", 0.2) == 0
    frames, size = clip(out)
    assert size == (160, 90)
    assert frames >= 5
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".mp4"] == ["walker.mp4"]


@pytest.mark.usefixtures("coarse")
def test_render_makes_a_video_of_a_blend_and_a_motion(
    blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any
) -> None:
    blend, out = tmp_path / "walk.blend", tmp_path / "walk.mp4"
    assert run("import", walker, "--blend", blend) == 0
    before = blend.read_bytes()
    assert film(blend, "--motion", wave, "--out", out, "--seconds", 0.2) == 0
    assert clip(out)[1] == (160, 90)
    assert blend.read_bytes() == before


@pytest.mark.usefixtures("coarse")
def test_a_video_of_a_motion_has_the_requested_duration(blank: Any) -> None:
    from addon.blender.tasks import RenderJob, count_video_frames

    model = Path("sample_models/humanoid/humanoid.skel")
    motion = Path("sample_models/humanoid/squat.xmdi")  # of several seconds
    short, still, whole = (
        count_video_frames(model, RenderJob({"fps": 10}, seconds, "KEYS", each))
        for seconds, each in ((0.5, motion), (0.5, None), (None, motion))
    )
    assert short == still < 10 < whole


def test_render_with_a_stage_words_and_pictures_beside_it(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    out, sheet, poster = (tmp_path / name for name in ("walk.webm", "sheet.png", "poster.png"))
    words = ["--stage", "blueprint", "--camera", "three-quarter", "--burn", "name,time,servos", "--title", "Walk"]
    extras = ["--sheet", sheet, "--poster", poster, "--keep-frames", "--samples", 1, "--fps", 30]
    assert film(walker, "--drive", "keys", "--seconds", 0.1, "--out", out, *words, *extras) == 0
    assert out.read_bytes()[:4] == b"\x1aE\xdf\xa3" and len(shades(poster)) == 160 * 90 and sheet.is_file()
    frames = list((tmp_path / "walk_frames").glob("*.png"))
    assert film(walker, "--drive", "keys", "--seconds", 0.1, "--out", out, *words, *extras, "--resume") == 0
    assert f"Frames: {len(frames)} of {len(frames)} were rendered before" in capsys.readouterr().out


def test_the_options_of_render_are_those_of_videos() -> None:
    from addon.blender.render import BURNS, CAMERAS, STAGES, VIDEO_FORMATS
    from addon.cli import render as words

    assert [word.upper().replace("-", "_") for word in words.CAMERA_CHOICES] == list(CAMERAS)
    assert [word.upper() for word in words.STAGE_CHOICES] == list(STAGES)
    assert [word.upper() for word in words.BURN_IN_FIELDS] == list(BURNS)
    assert {name.upper().replace("-", "_"): row for name, row in words.SIZE_PRESETS.items()} == {
        name: (*row.size, row.fps) for name, row in VIDEO_FORMATS.items()
    }


# ---------------------------------------------------------------- what goes wrong

BAD = {
    "not XML": ("Gravity 9.81", ["bad.jm", "not XML"]),
    "cut off": (WALKER[: len(WALKER) // 2], ["bad.jm:1"]),
    "empty": ("", ["bad.jm", "empty"]),
    "another program's": ("<robot name='r'/>", ["bad.jm", "URDF"]),
    "no number": (WALKER.replace("<Mass>4</Mass>", "\n<Mass>heavy</Mass>"), ["bad.jm:2", "Mass", "heavy"]),
    "one id twice": (WALKER.replace("<ID>2</ID>", "<ID>1</ID>"), ["bad.jm", "1"]),
}  # fmt: skip


def verbs(path: Path, folder: Path) -> list[Sequence[Any]]:
    return [
        ("info", path),
        ("info", path, "--json"),
        ("convert", path, folder / "out.jm"),
        ("import", path, "--blend", folder / "out.blend"),
        ("simulate", path, "--seconds", 0.1, "--out", folder / "out.xmdi"),
        ("simulate", path, "--seconds", 0.1, "--out", folder / "out.blend"),
        ("render", path, "--seconds", 0.1, "--out", folder / "out.mp4"),
        ("demo", path, "--seconds", 0.1, "--out", folder / "demo"),
    ]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_exit_1_with_file_and_line_and_nothing_written(
    blank: Any, tmp_path: Path, capsys: Any, kind: str
) -> None:
    text, words = BAD[kind]
    path, folder = tmp_path / "bad.jm", tmp_path / "out"
    path.write_text(text, encoding="utf-8")
    folder.mkdir()
    for line in verbs(path, folder):
        assert run(*line) == 1, line
        told = capsys.readouterr()
        assert told.err.startswith("knuckle: ")
        assert "Traceback" not in told.err
        for word in words:
            assert word in told.err, line
        assert not any(each.is_file() for each in folder.rglob("*")), line


def test_a_file_that_is_not_there_and_a_folder_are_exit_1(blank: Any, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for path, word in (
        (tmp_path / "none.jm", "none.jm"),
        (tmp_path, "folder"),
        (tmp_path / "none.blend", "none.blend"),
    ):
        for line in verbs(path, out):
            assert run(*line) == 1
            assert word in capsys.readouterr().err
    assert not any(each.is_file() for each in out.rglob("*"))


def test_a_second_file_that_is_bad_stops_the_whole_import(
    blank: Any, walker: Path, tmp_path: Path, capsys: Any
) -> None:
    bad, blend = tmp_path / "bad.jm", tmp_path / "out.blend"
    bad.write_text("<Model>", encoding="utf-8")
    assert run("import", walker, bad, "--blend", blend) == 1
    assert "bad.jm" in capsys.readouterr().err
    assert not blend.exists()


def test_a_motion_given_as_model_is_rejected_and_the_other_way_round(
    blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "out.blend"
    for line, words in (
        (("import", wave, "--blend", out), ["wave.xmdi", "not a model"]),
        (("import", walker, "--blend", out, "--motion", walker), ["walker.jm", "not a servo motion"]),
        (("simulate", walker, "--motion", walker, "--seconds", 1, "--out", out), ["walker.jm", "not a servo motion"]),
        (("render", walker, "--motion", walker, "--out", tmp_path / "out.png"), ["walker.jm", "not a servo motion"]),
    ):
        assert run(*line) == 1, line
        err = capsys.readouterr().err
        assert all(word in err for word in words), err
    assert not out.exists()
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["convert", "WALKER", "OUT/model.xmdi", "--to", "xmdi"], ["xmdi", "model"]),
        (["convert", "WAVE", "OUT/wave.jm", "--to", "juice"], ["juice", "motion"]),
        (["convert", "WALKER", "NOWHERE/model.jm"], ["nowhere"]),
        (["convert", "WAVE", "OUT/wave.jm"], ["jm"]),
        (["import", "WALKER", "--blend", "NOWHERE/a.blend"], ["nowhere"]),
        (["simulate", "WALKER", "--seconds", "0.1", "--out", "OUT/a.gif"], [".gif", ".xmdi", ".blend"]),
        (["simulate", "WALKER", "--seconds", "0.1", "--out", "NOWHERE/a.xmdi"], ["nowhere"]),
        (["render", "WALKER", "--out", "OUT/a.avi"], [".avi", ".webm", ".webp", ".gif", ".mp4", ".png"]),
    ],
    ids=lambda each: " ".join(each[:1] + each[-1:]),
)
def test_an_output_that_cannot_be_is_exit_1(
    blank: Any, walker: Path, wave: Path, tmp_path: Path, capsys: Any, line: list[str], words: list[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    places = {"WALKER": walker, "WAVE": wave, "OUT": out, "NOWHERE": tmp_path / "nowhere"}

    def meant(word: str) -> str:
        head, _, tail = word.partition("/")
        return str(places[head] / tail if tail else places[head]) if head in places else word

    assert run(*map(meant, line)) == 1
    err = capsys.readouterr().err
    assert err.startswith("knuckle: ") or "knuckle: " in err
    assert all(word in err for word in words), err
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "number", "words"),
    [
        ("--seconds", "0", "'0' is not a number of seconds above 0"),
        ("--seconds", "40000", "'40000' is above the maximum of 36000 seconds"),
        ("--step", "soon", "'soon' is not a number of milliseconds above 0"),
        ("--step", "nan", "'nan' is not a number of milliseconds above 0"),
        ("--step", "60001", "'60001' is above the maximum of 60000 milliseconds"),
    ],
)
def test_a_time_out_of_range_is_reported_with_its_unit(capsys: Any, option: str, number: str, words: str) -> None:
    assert run("animate", "a.jm", "--gait", option, number, "--out", "b.xmdi") == 2
    assert f"{option}: {words}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["fly"],
        ["info"],
        ["convert", "a.jm"],
        ["convert", "a.jm", "b.jm", "--to", "nothing"],
        ["import", "a.jm"],
        ["simulate", "a.jm"],
        ["simulate", "a.jm", "--seconds", "-1", "--out", "b.xmdi"],
        ["simulate", "a.jm", "--seconds", "nan", "--out", "b.xmdi"],
        ["simulate", "a.jm", "--seconds", "1", "--drive", "keys", "--out", "b.xmdi"],
        ["simulate", "a.jm", "--seconds", "1", "--input", "pedal=1", "--out", "b.xmdi"],
        ["simulate", "a.jm", "--seconds", "1", "--input", "joystick 1 y=much", "--out", "b.xmdi"],
        ["render", "a.jm", "--out", "b.png", "--size", "big"],
        ["render", "a.jm", "--out", "b.png", "--engine", "pencil"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2_and_prints_the_usage(capsys: Any, line: list[str]) -> None:
    assert run(*line) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("usage: python -m addon")


def test_an_input_that_does_not_exist_names_those_that_do(capsys: Any) -> None:
    assert run("simulate", "a.jm", "--seconds", 1, "--input", "pedal=1", "--out", "b.xmdi") == 2
    err = capsys.readouterr().err
    assert "pedal" in err
    assert "joystick 1 y" in err


@pytest.mark.parametrize("line", [["--help"], ["simulate", "--help"]], ids=" ".join)
def test_help_is_exit_0(capsys: Any, line: list[str]) -> None:
    assert run(*line) == 0
    assert "python -m addon" in capsys.readouterr().out


def test_as_a_program_of_its_own(walker: Path, tmp_path: Path) -> None:
    """The exit codes that a shell sees."""

    def program(*words: Any) -> subprocess.CompletedProcess:
        line = [sys.executable, "-m", "addon", *map(str, words)]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    bad = tmp_path / "bad.jm"
    bad.write_text("<Model>\n<Bodies>\n<Body></Model>", encoding="utf-8")
    told = program("info", walker, "--json")
    assert (told.returncode, told.stderr) == (0, "")
    assert json.loads(told.stdout)["name"] == "walker"
    told = program("info", bad)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"knuckle: {bad}:3: ")
    assert program("info").returncode == 2


def test_simulate_as_a_program_ends_well(blank: Any, walker: Path, tmp_path: Path) -> None:
    """Blender as a module, started and left: no crash at exit, which would be another code."""
    out = tmp_path / "walk.xmdi"
    line = ["simulate", walker, "--seconds", "0.2", "--out", out]
    told = subprocess.run(
        [sys.executable, "-m", "addon", *map(str, line)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert formats.load_motion(out).duration == pytest.approx(6 * FRAME)


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "MODEL", "--seconds", "3600", "--out", "nowhere/a.xmdi"],
        ["animate", "MODEL", "--gait", "--out", "nowhere/a.xmdi"],
        ["animate", "MODEL", "--gait", "--plot", "nowhere/a.png"],
        ["render", "MODEL", "--out", "nowhere/a.png"],
        ["import", "MODEL", "--blend", "nowhere/a.blend"],
        ["convert", "MODEL", "nowhere/a.jm"],
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_a_missing_folder_is_reported_before_the_work(
    walker: Path, tmp_path: Path, capsys: Any, monkeypatch: Any, words: list[str]
) -> None:
    monkeypatch.setattr(output, "import_module", lambda _name: pytest.fail("work was begun"))
    words = [str(walker) if word == "MODEL" else word.replace("nowhere", str(tmp_path / "nowhere")) for word in words]
    assert main(words) == 1
    assert "the folder '" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "MODEL", "made/"],
        ["animate", "MODEL", "--gait", "--out", "made/"],
        ["animate", "MODEL", "--gait", "--plot=made/"],
        ["simulate", "MODEL", "--seconds", "1", "--figures", "made/"],
        ["render", "MODEL", "--sheet", "made//"],
        ["import", "MODEL", "--blend", "made/"],
    ],
    ids=" ".join,
)
def test_a_name_that_ends_as_a_folders_is_none_of_a_file(
    walker: Path, tmp_path: Path, capsys: Any, monkeypatch: Any, words: list[str]
) -> None:
    """Whether the folder is there or not, nothing is written."""
    monkeypatch.setattr(output, "import_module", lambda _name: pytest.fail("work was begun"))
    made = tmp_path / "made"
    words = [str(walker) if word == "MODEL" else word.replace("made", str(made)) for word in words]
    assert main(words) == 1
    assert "this is a folder, not a file. Enter a file name." in capsys.readouterr().err
    assert not made.exists()
    made.mkdir()
    assert main(words) == 1
    assert "a folder, not a file. Enter a file name." in capsys.readouterr().err
    assert not list(made.iterdir())


def test_ctrl_c_that_blender_swallows_ends_the_work_at_its_next_step(blank: Any, walker: Path, tmp_path: Path) -> None:
    code = (
        "import os, runpy, signal, bpy\n"
        "def press(scene, _graph=None):\n"
        "    if scene.frame_current == 3:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        for _ in range(1000): pass\n"
        "from addon.blender.tasks import scenes\n"
        "plain = scenes.open_empty_scene\n"
        "def fresh():\n"
        "    out = plain()\n"
        "    bpy.app.handlers.frame_change_post.append(press)\n"
        "    return out\n"
        "from addon.blender.tasks import videos as films\n"
        "films.open_empty_scene = fresh\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "runpy.run_module('addon', run_name='__main__')\n"
    )
    words = ["render", str(walker), "--seconds", "4", "--size", "64x36", "--out", str(tmp_path / "x.mp4")]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False,
        cwd=Path(__file__).resolve().parents[2], timeout=120,
    )  # fmt: skip
    assert "knuckle: stopped" in done.stderr, done.stderr
    assert done.returncode == 1, "Blender 4.2 and 4.5 would crash or wait while Python closes them"
    assert not (tmp_path / "x.mp4").exists()


@pytest.mark.parametrize("program", ["python -m addon", "blender --command knuckle"])
@pytest.mark.parametrize("verb", ["info", "convert", "job", "render"])
def test_help_calls_the_program_as_it_was_called(capsys: Any, program: str, verb: str) -> None:
    assert main([verb, "--help"], program) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: {program} {verb} ")
    examples = told.partition("Example")[2].splitlines()[1:]
    assert examples and all(line.startswith(f"  {program} {verb} ") for line in examples if line)
