"""Names that no sane file has, through Blender: cut to its 63 or 255 bytes there, and as they were in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import armature_of, record_of
from addon.blender.data.queries import joint_bones, parts
from addon.core.model import Motion, Trajectory
from addon.formats.text.file_io import encode_text
from tests.support.exam import rigs
from tests.support.scenes import pick

#: As a body, and as the joint that it hangs by.
ODD = [
    "two\nlines", "tab\there", "carriage\rreturn", "\u202eright to left\u202c", "\u05d2\u05d5\u05e3", "\U0001f980 crab",
    "e\u0301", "\u00e9", "x" * 300, "x" * 299 + "y", "\U0001f980" * 80, "\U0001f980" * 80 + "!", "/etc/passwd", "..",
    ".hidden", "a=b", 'quo"te', "it's", "back\\slash", 'pose.bones["x"].location', "CON", "nul", "aux.txt", "a.001",
    "x (2)", "[0]", "%s {0} {}", "#hash", "<b>&amp;", "a;b,c", "  spaces  ", "\u2028", "\u00a0", "1e5", "None", "-",
    "*", "fixed", "world", "\ufeffmark", "\x7f\x85", "\ufffd",
]  # fmt: skip
#: What XML has no letters for.
CONTROLS = ["\x01\x1f", "a\0b", "half \ud800 letter", "\ufffe"]


def juice(names: list[str]) -> str:
    bodies = "".join(f"<Body><ID>{at}</ID><Name>{escape(name)}</Name></Body>" for at, name in enumerate(names, 1))
    joints = "".join(
        f"<RevoluteJoint><ID>{1000 + at}</ID><Name>{escape(name)}</Name><Body1>999</Body1><Body2>{at}</Body2>"
        f"<Position><X>{at}</X></Position></RevoluteJoint>"
        for at, name in enumerate(names, 1)
    )
    base = "<Body><ID>999</ID><Name>base</Name></Body>"
    return f"<Model><Bodies>{base}{bodies}</Bodies><RevoluteJoints>{joints}</RevoluteJoints></Model>"


def attribute(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def skel(names: list[str]) -> str:
    bodies = "".join(f"<body name={attribute(name)}/>" for name in names)
    ends = "<parent>world</parent><child>@</child><axis><xyz>0 0 1</xyz></axis>"
    joints = "".join(
        f'<joint type="revolute" name={attribute(name)}>{ends.replace("@", escape(name, {chr(13): "&#13;"}))}</joint>'
        for name in names
    )
    skeleton = f'<skeleton name="s">{bodies}{joints}</skeleton>'
    return f'<skel version="1.0"><world name="w">{skeleton}</world></skel>'


def x_xy(names: list[str]) -> str:
    geom = '<geom type="box" mass="1" dim="1 1 1"/>'
    bodies = "".join(f'<body joint="rx" name={attribute(name)}>{geom}</body>' for name in names)
    return f'<x_xy model="m"><worldbody>{bodies}</worldbody></x_xy>'


def shift(names: list[str]) -> str:
    ends = [["fixed", "origin"]]
    joints = [
        {"name": name, "type": "Rx", "body_frame_pairs": [*ends, [[f"b{at}"], "origin"]]}
        for at, name in enumerate(names)
    ]
    bodies = [{"name": name} for name in names] + [{"name": f"b{at}"} for at in range(len(names))]
    assembly = {"name": "m\0\ud800\u202e", "bodies": bodies, "joints": joints}
    return json.dumps({"model_parameters": {}, "fixed": {}, "assemblies": [assembly]}, indent=1)


def bring(path: Path) -> Any:
    before = set(rigs())
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    (rig,) = set(rigs()) - before
    return rig


def written(rig: Any, path: Path) -> bytes:
    pick(rig)
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return path.read_bytes()


def names_of(rig: Any, role: str) -> list[str]:
    return sorted(record_of(obj).source_name for obj in parts(rig, role))


#: SKEL names ends of joints in a text, the spaces around which do not count; one of them is what nothing hangs on.
TOLD = [name for name in ODD if name not in ("  spaces  ", "world")]
MODELS = [(juice, ODD, ".jm"), (skel, TOLD, ".skel"), (x_xy, ODD, ".xml"), (shift, ODD + CONTROLS, ".json")]


@pytest.mark.parametrize(("write", "names", "ending"), MODELS, ids=lambda each: getattr(each, "__name__", ""))
def test_odd_names_go_through_blender(blank: Any, tmp_path: Path, write: Any, names: list[str], ending: str) -> None:
    """Imported twice, saved and opened again, exported: every part is there under its name, and the bytes are those of
    the file. What was edited changes alone."""
    source = tmp_path / f"odd{ending}"
    source.write_bytes(write(names).encode())
    mechanism = formats.load(source)
    for _ in range(2):
        bring(source)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    first, second = rigs()
    for rig in (first, second):
        assert names_of(rig, "BODY") == sorted(body.name for body in mechanism.bodies)
        assert names_of(rig, "JOINT") == sorted(joint.name for joint in mechanism.joints)
        bones = armature_of(rig).bones
        assert all(bone in bones for chain in joint_bones(rig).values() for bone in chain)
        assert len(joint_bones(rig)) == len(mechanism.joints)
        assert all(obj.parent_bone in bones for obj in parts(rig, "BODY") if obj.parent_type == "BONE")
        assert written(rig, tmp_path / f"out{ending}") == source.read_bytes()
    part = parts(second, "BODY")[0]
    record_of(part).mass = 7.0
    again = formats.loads(written(second, tmp_path / f"edited{ending}"), str(source))
    assert [body.name for body in again.bodies] == [body.name for body in mechanism.bodies]
    assert next(body for body in again.bodies if body.id == record_of(part).source_id).mass == 7.0


FIELDS = [name for name in ODD if not set(name) & set(",\r\n") and len(name) < 100]
MOTIONS = [("xmdi", ODD), ("csv", [*ODD, "\x01\x1f"]), ("webots", FIELDS)]


@pytest.mark.parametrize(("format", "names"), MOTIONS, ids=lambda each: each if isinstance(each, str) else "")
def test_motion_of_servos_of_odd_names(blank: Any, tmp_path: Path, format: str, names: list[str]) -> None:
    """Every servo of the file moves its joint, and the file comes out as it went in."""
    model = tmp_path / "odd.json"
    model.write_bytes(shift(names).encode())
    rig = bring(model)
    times = np.array([0.0, 0.032, 0.064])
    tracks = [Trajectory(name, times, np.array([0.0, 0.1 * at, 0.0])) for at, name in enumerate(names, 1)]
    source = tmp_path / f"odd{formats.MOTION_FORMATS[format].extensions[0]}"
    source.write_bytes(encode_text(formats.dumps_motions(Motion("odd\nname", tracks), format), ""))
    pick(rig)
    assert bpy.ops.import_anim.servo_motion(filepath=str(source)) == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    (rig,) = rigs()
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start, subframe=0.0)
    at = 0.032 * scene.render.fps / scene.render.fps_base
    scene.frame_set(scene.frame_start + int(at), subframe=at % 1.0)
    turned = {
        record_of(joint).source_name: rig.pose.bones[joint_bones(rig)[record_of(joint).source_id][-1]].rotation_euler
        for joint in parts(rig, "JOINT")
    }
    assert {name: np.abs(angles).max() for name, angles in turned.items()} == {
        track.name: pytest.approx(track.values[1], abs=1e-5) for track in tracks
    }
    pick(rig)
    out = tmp_path / f"out{source.suffix}"
    assert bpy.ops.export_anim.servo_motion(filepath=str(out)) == {"FINISHED"}
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["two\nlines", "a,b", "cr\r"])
def test_a_name_that_a_motion_file_cannot_hold_is_rejected(blank: Any, tmp_path: Path, name: str) -> None:
    model = tmp_path / "odd.json"
    model.write_bytes(shift([name]).encode())
    pick(bring(model))
    with pytest.raises(RuntimeError, match="cannot hold the name"):
        bpy.ops.export_anim.servo_motion(filepath=str(tmp_path / "out.motion"))
    assert not (tmp_path / "out.motion").exists()


@pytest.mark.parametrize("codec", ["cp932", "cp1252"])
def test_json_in_a_code_page_comes_back(blank: Any, tmp_path: Path, codec: str) -> None:
    """Japanese Windows programs wrote JSON in code page 932; nothing in it says so, and its bytes come back."""
    name = {"cp932": "\u5de6\u8db3\u30bd\u8868", "cp1252": "F\u00fc\u00dfe \u20ac"}[codec]
    text = json.dumps(json.loads(shift(["leg", name])), indent=1, ensure_ascii=False).encode("utf-8", "replace")
    source = tmp_path / "odd.json"
    source.write_bytes(text.decode().encode(codec, "replace"))
    rig = bring(source)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    (rig,) = rigs()
    assert written(rig, tmp_path / "out.json") == source.read_bytes()
    if codec == "cp1252":
        assert name in names_of(rig, "BODY")
    record_of(parts(rig, "BODY")[0]).mass = 7.0
    out = written(rig, tmp_path / "edited.json")
    assert out != source.read_bytes()
    assert name.encode(codec) in out
