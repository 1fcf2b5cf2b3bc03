"""A motion file that goes through an Action and a saved .blend comes out as it went in, at any frame rate; what was
edited changes alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addon import formats
from addon.core.model import Motion, Trajectory
from tests.support.mechanisms import body, bone_of, curves_of, joint, model, put
from tests.support.motion_exact_helpers import XMDI, put_file, three_joints
from tests.support.references import CORPUS

RATES = [(24, 1.0), (25, 1.0), (30, 1.0), (60, 1.0), (30, 1.001), (125, 4.0)]
STARTS = [0, 1, -10, 1001]
WEBOTS = """#WEBOTS_MOTION,V1.0,Left Hip,Tail,Lift
01:000,First,0.10,.5,0.250
1:032,Pose2,-.2,0.5,*
00:01:500,Pose2,0.3,-0.5,*
2000,Pose7,1e-1,+0.5,0.1
"""
CSV = """time [ms];"Left Hip [deg]";Lift [mm];Tail
0;10,50;2,0;1
32;-20;;2
64,5;30,25;4,25;3
"""


def document(*names: str) -> str:
    """A trunk with a limb on a hinge for each name."""
    limbs = [body(10 + k, (3 * k, 0, 2), name=f"Limb {name}") for k, name in enumerate(names)]
    hinges = [joint(50 + k, 1, 10 + k, (3 * k, 0, 3), name=name) for k, name in enumerate(names)]
    return model(body(1, (0, 0, 4)), *limbs, *hinges)


@pytest.fixture
def rig(blank: Any) -> Any:
    return three_joints()


def ops() -> Any:
    import bpy

    return bpy.ops


def carried(path: Path, out: Path, reopen: bool = True, **options: Any) -> bytes:
    """Import a file, save and reopen the .blend, export everything that was imported."""
    import bpy

    before = set(bpy.data.actions)
    assert ops().import_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}
    several = len(set(bpy.data.actions) - before) > 1
    if reopen:
        ops().wm.save_as_mainfile(filepath=str(out.with_suffix(".blend")))
        ops().wm.open_mainfile(filepath=str(out.with_suffix(".blend")))
    ops().export_anim.servo_motion(filepath=str(out), motions="ALL" if several else "ACTIVE")
    return out.read_bytes()


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("fps", "base"), RATES)
def test_a_file_comes_out_as_it_went_in(rig: Any, tmp_path: Path, fps: int, base: float, start: int) -> None:
    """Every byte: outer tags, attributes, comments, spelling, what moves nothing here, keys of a ball that are not its
    three servos' alike."""
    import bpy

    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
    xmdi = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    assert carried(xmdi, tmp_path / "out.xmdi", frame_start=start) == xmdi.read_bytes()
    for action in list(bpy.data.actions):
        bpy.data.actions.remove(action)
    for name, text in (("a.motion", WEBOTS), ("a.csv", CSV)):
        path = put_file(tmp_path / name, text)
        assert carried(path, tmp_path / f"out{path.suffix}", reopen=False, frame_start=start) == path.read_bytes()


@pytest.mark.parametrize("fps", [24, 60])
def test_real_motions_come_out_as_they_went_in(blank: Any, corpus: Path, tmp_path: Path, fps: int) -> None:
    import bpy

    files = sorted((corpus / "motion").glob("*.motion"))
    names = {name for path in files for name in path.read_text().splitlines()[0].split(",")[2:]}
    put(document(*sorted(names)), gait=False, adapt_scene=False)
    bpy.context.scene.render.fps = fps
    assert files, CORPUS
    for path in files:
        assert carried(path, tmp_path / path.name, frame_start=-10) == path.read_bytes()


def words(text: str) -> list[str]:
    return re.findall(r"[^\s,<>]+|[<>]", text)


@pytest.mark.parametrize(("fps", "base"), RATES)
def test_an_edited_key_changes_alone(rig: Any, tmp_path: Path, fps: int, base: float) -> None:
    import bpy

    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
    xmdi = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    ops().import_anim.servo_motion(filepath=str(xmdi))
    (curve,) = [c for c in curves_of(rig) if bone_of(rig, 52).name in c.data_path]
    curve.keyframe_points[1].co[1] = 0.75
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"), motions="ALL")
    before, after = words(XMDI), words((tmp_path / "out.xmdi").read_text("iso-8859-1"))
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [("0.1", "0.75")]


def test_a_key_more_and_a_key_less_change_nothing_else(rig: Any, tmp_path: Path) -> None:
    import bpy

    bpy.context.scene.render.fps = 25
    xmdi = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    ops().import_anim.servo_motion(filepath=str(xmdi))
    (curve,) = [c for c in curves_of(rig) if bone_of(rig, 51).name in c.data_path]
    curve.keyframe_points.remove(curve.keyframe_points[1])
    key = curve.keyframe_points.insert(1 + 0.640 * 25, 0.5)  # the 20th step
    key.interpolation = "LINEAR"
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"), motions="ALL")
    after = (tmp_path / "out.xmdi").read_text("iso-8859-1")
    hip = re.search(r'"left_hip">\s*<position>(.*?)</position>\s*<frames>(.*?)</frames>', after, re.S)
    assert hip[1].split() == ["0", "0.5", "+1.10e-1", "3"]
    assert hip[2].split() == ["0", "20", "40", "41.25"]
    assert after[after.index('<servo name="Tail"') :] == XMDI[XMDI.index('<servo name="Tail"') :]


def test_a_turned_ball_changes_its_key_alone(rig: Any, tmp_path: Path) -> None:
    xmdi = put_file(tmp_path / "wave.xmdi", XMDI, "iso-8859-1")
    ops().import_anim.servo_motion(filepath=str(xmdi))
    turns = [c for c in curves_of(rig) if c.data_path.endswith("rotation_quaternion")]
    assert len(turns) == 4
    half = 0.9 / 2  # the last key becomes a turn of 0.9 rad about one of the bone's axes
    for curve, value in zip(
        sorted(turns, key=lambda c: c.array_index), (np.cos(half), 0, 0, np.sin(half)), strict=True
    ):
        curve.keyframe_points[-1].co[1] = value
    ops().export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi"), motions="ALL")
    after = (tmp_path / "out.xmdi").read_text("iso-8859-1")

    def neck(part: str) -> tuple[list[float], list[float]]:
        found = re.search(rf'"Neck/{part}">\s*<position>(.*?)</position>\s*<frames>(.*?)</frames>', after, re.S)
        return [float(word) for word in found[1].split()], [float(word) for word in found[2].split()]

    rx, frames = neck("rx")
    assert frames == [0, 20, 30] and rx[:2] == [0, 1.25]
    ry, frames = neck("ry")
    assert frames[:2] == [5, 20] and ry[:2] == [0.2, -0.5]
    last = np.array([rx[-1], ry[-1], neck("rz")[0][-1] if '"Neck/rz"' in after else 0.0])
    assert np.linalg.norm(last) == pytest.approx(0.9, abs=1e-5)
    assert after[: after.index('"Neck/rx"')] == XMDI[: XMDI.index('"Neck/rx"')]
    assert after[after.index('<motion name="rest"') :] == XMDI[XMDI.index('<motion name="rest"') :]


def test_a_document_goes_with_its_action(rig: Any, tmp_path: Path) -> None:
    """Into another .blend, and away when the Action is deleted."""
    import bpy

    path = put_file(tmp_path / "a.motion", WEBOTS)
    ops().import_anim.servo_motion(filepath=str(path))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"), compress=False)
    assert WEBOTS.encode() in (tmp_path / "a.blend").read_bytes()
    action = bpy.data.actions["a"]
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    rig.animation_data.action = None
    bpy.data.actions.remove(action)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "b.blend"), compress=False)
    assert WEBOTS.encode() not in (tmp_path / "b.blend").read_bytes()
    with bpy.data.libraries.load(str(tmp_path / "a.blend")) as (there, here):
        here.actions = ["a"]
    from addon.blender.compat import use_action

    use_action(rig, bpy.data.actions["a"])
    assert exported_bytes(tmp_path / "out.motion") == path.read_bytes()


def exported_bytes(path: Path) -> bytes:
    assert ops().export_anim.servo_motion(filepath=str(path)) == {"FINISHED"}
    return path.read_bytes()


def test_times_that_32_bits_cannot_distinguish_come_back(rig: Any, tmp_path: Path) -> None:
    """Hours into a motion the keys of a frame or less apart fall on one place of Blender's."""
    frames = " ".join(str(1_000_000_000 + k) for k in range(50))
    values = " ".join(repr(0.1 * k) for k in range(50))
    text = (
        f'<x><y><motion name="m"><servo name="Lift"><position>{values}</position><frames>{frames}</frames></servo>'
        "</motion></y></x>\n"
    )
    path = put_file(tmp_path / "long.xmdi", text)
    assert carried(path, tmp_path / "out.xmdi") == path.read_bytes()


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
frames = st.lists(
    st.one_of(st.integers(-(10**6), 10**7).map(float), st.floats(-1e9, 1e9)), min_size=1, max_size=8, unique=True
).map(sorted)


@st.composite
def trajectories(draw: Any, name: str) -> Trajectory:
    keys = np.array(draw(frames)) * 0.032
    values = draw(st.lists(numbers, min_size=len(keys), max_size=len(keys)))
    return Trajectory(name, keys, np.array(values))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), rate=st.sampled_from(RATES), start=st.integers(-(10**5), 10**5))
def test_any_motion_survives_an_action(rig: Any, data: Any, rate: tuple[int, float], start: int) -> None:
    """To the last bit, however large or close together: what 32 bits cannot hold is in the document."""
    import bpy

    from addon.blender.animation import SampleOptions, apply, read_motion

    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = rate
    names = data.draw(st.lists(st.sampled_from(["Left Hip", "Lift", "Tail"]), min_size=1, unique=True))
    if names == ["Tail"]:
        names = ["Lift"]
    motion = Motion("m", [data.draw(trajectories(name)) for name in names])
    text = formats.dumps_motions(motion, "xmdi")
    (read,), _report = formats.loads_motions(text.encode())
    action, _report = apply(read, rig.data.knuckle.collection, bpy.context.scene, start, extend=False)
    found, _report = read_motion(rig.data.knuckle.collection, bpy.context.scene, SampleOptions(grid=0.032))
    for a, b in zip(found.trajectories, read.trajectories, strict=True):
        assert a.name == b.name
        assert a.times.tolist() == b.times.tolist()
        assert a.values.tolist() == b.values.tolist()
    assert formats.dumps_motions(found, "xmdi") == text
    bpy.data.actions.remove(action)
