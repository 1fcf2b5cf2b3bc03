"""Root motion on the command line, as a separate process: in tables, and reported where a format cannot hold it."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from addon import formats
from tests.conftest import CORPUS, ROOT

HEXAPOD = ROOT / "sample_models" / "hexapod" / "hexapod.jm"
HUMANOID = ROOT / "sample_models" / "humanoid" / "humanoid.skel"
COORDINATES = ("rx [rad]", "ry [rad]", "rz [rad]", "x [m]", "y [m]", "z [m]")


def knuckle(*words: Any) -> str:
    pytest.importorskip("bpy", reason="Blender is not here")
    told = subprocess.run(
        [sys.executable, "-m", "addon", *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


def columns(path: Path) -> dict[str, np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(head)}


def curves_of(rig: Any) -> list[Any]:
    from addon.blender.compat import action_curves

    return list(action_curves(rig, rig.animation_data.action, create=False) or ())


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("walk") / "walk.csv"
    stick = ("--input", "joystick 1 y=-1")
    assert "root motion" not in knuckle("simulate", HEXAPOD, *stick, "--seconds", 1, "--out", out)
    return out


def test_a_simulated_table_has_the_path_and_its_units(walk: Path) -> None:
    """Against the figures of the same run: how far the body came."""
    found = columns(walk)
    assert list(found)[-6:] == [f"root:Chassis/{each}" for each in COORDINATES]
    assert all(name.endswith((" [rad]", " [m]", " [s]")) for name in found), "every column has its unit"
    told = knuckle("simulate", HEXAPOD, "--input", "joystick 1 y=-1", "--seconds", 0.8, "--out", walk.parent / "a.xmdi")
    travelled = told.partition("Chassis moved (")[2].partition(")")[0].split(",")
    path = np.array([found[f"root:Chassis/{axis} [m]"] for axis in "xyz"])
    assert path[:, 25] - path[:, 0] == pytest.approx([float(each) for each in travelled], abs=0.01)
    assert np.linalg.norm(path[:, 25] - path[:, 0]) > 0.01


def test_info_distinguishes_servos_from_root_motion(walk: Path) -> None:
    found = columns(walk)
    roots = [name for name in found if name.startswith("root:")]
    lines = knuckle("info", walk).splitlines()
    assert (
        f"motion   walk: {len(found) - 1 - len(roots)} servos, root motion of 'Chassis', {found['time [s]'][-1]:.6g} s"
        in lines
    )
    (motion,) = json.loads(knuckle("info", walk, "--json"))["motions"]
    listed = {key: [each["name"] for each in motion[key]] for key in ("servos", "root_motion")}
    assert listed["root_motion"] == [name.partition(" [")[0] for name in roots]
    assert len(listed["servos"]) == len(found) - 1 - len(roots) and not {*listed["servos"]} & {*listed["root_motion"]}
    for each in motion["root_motion"]:
        (values,) = (values for name, values in found.items() if name.startswith(f"{each['name']} ["))
        assert each["times"] == found["time [s]"].tolist() and each["values"] == values.tolist()


@pytest.mark.parametrize("ending", ["xmdi", "motion"])
def test_a_format_that_cannot_hold_the_path_is_reported(walk: Path, tmp_path: Path, ending: str) -> None:
    found = columns(walk)
    far = np.linalg.norm([found[f"root:Chassis/{axis} [m]"] for axis in "xyz"], axis=0)
    for words in (
        ("simulate", HEXAPOD, "--input", "joystick 1 y=-1", "--seconds", 1, "--out", tmp_path / f"run.{ending}"),
        ("convert", walk, tmp_path / f"run.{ending}"),
    ):
        told = knuckle(*words)
        assert f"has none: 'Chassis' moves up to {far.max():.3g} m (" in told, told
        assert "root:" not in (tmp_path / f"run.{ending}").read_text(encoding="utf-8")
    names = {each.partition(" [")[0] for each in found if not each.startswith(("time", "root:"))}
    if ending == "xmdi":
        assert {each.get("name") for each in ElementTree.parse(tmp_path / "run.xmdi").iter("servo")} == names


def test_the_path_comes_back_and_stays_as_it_was_read(walk: Path, tmp_path: Path, blank: Any) -> None:
    import bpy

    found = columns(walk)
    motion = formats.load_motion(walk)
    roots = [each for each in motion.trajectories if each.root]
    assert [f"{each.name} [{each.unit}]" for each in roots] == list(found)[-6:]
    for each in roots:
        assert np.array_equal(each.values, found[f"{each.name} [{each.unit}]"])
    formats.save_motion(motion, tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_bytes() == walk.read_bytes()
    told = knuckle("animate", HEXAPOD, "--motion", walk, "--out", tmp_path / "fitted.csv")
    assert "root:" not in told, "the model has that root"
    assert (tmp_path / "fitted.csv").read_bytes() == walk.read_bytes()
    knuckle("import", HEXAPOD, "--motion", walk, "--blend", tmp_path / "walk.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "walk.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    scene, bone = bpy.context.scene, rig.pose.bones["Chassis"]
    rate = scene.render.fps / scene.render.fps_base
    rest = np.array(bone.bone.matrix_local)
    for row, time in enumerate(found["time [s]"].tolist()):
        frame = 1 + time * rate
        scene.frame_set(math.floor(frame), subframe=frame % 1.0)
        moved = np.array(bone.matrix) @ np.linalg.inv(rest)
        place = np.array(bone.matrix)[:3, 3] - rest[:3, 3]
        assert place == pytest.approx([found[f"root:Chassis/{axis} [m]"][row] for axis in "xyz"], abs=2e-4)
        vector = np.array([found[f"root:Chassis/{axis} [rad]"][row] for axis in ("rx", "ry", "rz")])
        angle = math.acos(np.clip((np.trace(moved[:3, :3]) - 1.0) / 2.0, -1.0, 1.0))
        assert angle == pytest.approx(np.linalg.norm(vector), abs=1e-3)


@pytest.mark.parametrize("name", ["Rump", "chassis", "CHASSIS"])
def test_animate_takes_a_root_of_another_name_as_the_import_does(
    walk: Path, tmp_path: Path, name: str, blank: Any
) -> None:
    """The one root that is left on both sides, or one that is spelled otherwise."""
    import bpy

    renamed, out = tmp_path / "renamed.csv", tmp_path / "fitted.csv"
    renamed.write_text(walk.read_text(encoding="utf-8").replace("root:Chassis/", f"root:{name}/"), encoding="utf-8")
    told = knuckle("animate", HEXAPOD, "--motion", renamed, "--out", out)
    assert f"Root motion of {name!r} was matched with 'Chassis'" in told
    found, before = columns(out), columns(walk)
    assert list(found) == list(before)
    assert all(np.array_equal(found[column], before[column]) for column in found)
    told = knuckle("import", HEXAPOD, "--motion", renamed, "--blend", tmp_path / "walk.blend")
    assert f"Root motion of {name!r} was matched with 'Chassis'" in told
    knuckle("animate", HEXAPOD, "--motion", renamed, "--step", 100, "--out", tmp_path / "coarse.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "coarse.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    assert "Chassis" in {each.data_path.split('"')[1] for each in curves_of(rig)}


def test_animate_reports_a_root_that_the_model_does_not_have(walk: Path, tmp_path: Path) -> None:
    """Two roots of one file, of which none is called as the model's."""
    head, *rows = walk.read_text(encoding="utf-8").splitlines()
    roots = [column for column in head.split(",") if column.startswith("root:")]
    two = [head.replace("root:Chassis/", "root:One/"), *(column.replace("Chassis", "Two") for column in roots)]
    lines = [",".join(two), *(",".join([row, *["0"] * len(roots)]) for row in rows)]
    (tmp_path / "two.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = knuckle("animate", HEXAPOD, "--motion", tmp_path / "two.csv", "--out", tmp_path / "fitted.csv")
    for name in ("One", "Two"):
        assert f"Root motion of {name!r} has no effect: no root body has this name" in told
    assert {"root:One/x [m]", "root:Two/x [m]"} <= set(columns(tmp_path / "fitted.csv")), "it is kept"


def test_a_free_root_of_a_file_goes_out_as_its_joint(tmp_path: Path) -> None:
    """A free joint has coordinates of its own: they are servos, of any format."""
    out = tmp_path / "fall.csv"
    knuckle("simulate", HUMANOID, "--drive", "limp", "--seconds", 1, "--out", out)
    found = columns(out)
    heights = [name for name in found if name.endswith(("/z [m]", "/y [m]", "/x [m]"))]
    assert heights and max(np.ptp(found[name]) for name in heights) > 0.02, "it falls"


@pytest.mark.parametrize("head", ["root:Chassis/x", "root:Chassis/x,root:Chassis/y,root:Chassis/z"])
def test_columns_that_are_no_whole_path_are_servos_as_before(tmp_path: Path, head: str) -> None:
    path = tmp_path / "some.csv"
    count = head.count(",") + 1
    path.write_text(f"time,{head}\n0{',0' * count}\n1{',1' * count}\n")
    motion = formats.load_motion(path)
    assert not any(each.root for each in motion.trajectories)
    report = formats.save_motion(motion, tmp_path / "some.xmdi")
    assert not [entry for entry in report.entries if entry.code == "root-motion-left"]
    assert len(list(ElementTree.parse(tmp_path / "some.xmdi").iter("servo"))) == count


UPRIGHT = sorted((CORPUS / "shift").rglob("*.json"))[:1]
NO_FILES = [pytest.param(None, marks=pytest.mark.skip(reason="real Shift files are not here"))]


@pytest.mark.parametrize("gravity", [(0, 9.81, 0), (9.81, 0, 0), (-9.81, 0, 0), (0, -9.81, 0), (0, 0, 9.81)])
@pytest.mark.parametrize("path", UPRIGHT or NO_FILES, ids=lambda path: path.name if path else "none")
def test_upright_rotates_gravity_down_whatever_its_axis(path: Path, tmp_path: Path, gravity: tuple[float, ...]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    for holder in [document, *(each for each in document.values() if isinstance(each, dict))]:
        if "gravity" in holder:
            holder["gravity"] = list(gravity)
    (tmp_path / "in.json").write_text(json.dumps(document))
    assert formats.load(tmp_path / "in.json").world.gravity == pytest.approx(gravity)
    knuckle("convert", tmp_path / "in.json", tmp_path / "out.json", "--upright")
    assert formats.load(tmp_path / "out.json").world.gravity == pytest.approx((0, 0, -9.81), abs=1e-9)
