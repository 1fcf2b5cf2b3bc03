"""The README: its quick start for animators done with the buttons it names, its moving picture, and its addresses."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlparse

import pytest

from tests.support.book import ROOT
from tests.support.labels_helpers import emphasised

README = ROOT / "README.md"
#: Whose pages it names: other people's formats. Knuckle's own have no address until it is hosted.
OTHERS = {"dartsim.github.io", "github.com/SimiPixel/ring"}
_MEGABYTE = 1e6


def text() -> str:
    return README.read_text(encoding="utf-8")


def steps_of(heading: str) -> list[str]:
    """The numbered steps below a heading."""
    section = text().split(f"### {heading}", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\d+\. (.+)$", section, re.MULTILINE)


def entry_of_add_menu(title: str) -> dict[str, Any]:
    """What Add > Mechanism calls the importer with for a sample."""
    import bpy

    from addon.blender.ui.mechanism.menus import KNUCKLE_MT_add

    drawn: list[tuple[str, SimpleNamespace]] = []

    def operator(_name: str, text: str = "", **_: Any) -> SimpleNamespace:
        drawn.append((text, SimpleNamespace()))
        return drawn[-1][1]

    KNUCKLE_MT_add.draw(SimpleNamespace(layout=SimpleNamespace(operator=operator, separator=lambda: None)), bpy.context)
    return vars(next(words for text, words in drawn if text == title))


@pytest.mark.usefixtures("coarse")
def test_the_animators_quick_start_makes_a_robot_walk(blank: Any, tmp_path: Path) -> None:
    import bpy

    first, play, drive, keep, video = steps_of("Animator: make a robot walk")

    assert "*Add > Mechanism > Hexapod*" in first
    assert bpy.ops.import_scene.mechanism("EXEC_DEFAULT", **entry_of_add_menu("Hexapod")) == {"FINISHED"}
    scene, rig = bpy.context.scene, bpy.context.view_layer.objects.active

    assert "Space" in play
    knee = rig.pose.bones["Left Front Knee"]
    seen = set()
    for frame in range(1, 61, 5):
        scene.frame_set(frame)
        seen.add(round(knee.rotation_euler.z, 3))
    assert len(seen) > 3, "its gait plays: the legs move"

    assert "*Servos*" in drive and "*First Frame*" in drive and "*Play*" in drive
    scene.frame_set(1)
    chassis = next(obj for obj in bpy.data.objects if obj.name == "Chassis")
    began = chassis.matrix_world.translation.copy()
    assert bpy.ops.knuckle.set_drive(drive="SERVO") == {"FINISHED"}
    for frame in range(1, 91):
        scene.frame_set(frame)
    assert (chassis.matrix_world.translation - began).length > 1.0, "it walks"

    assert f"*{bpy.ops.knuckle.bake_physics.get_rna_type().name}*" in keep
    scene.frame_end = 90
    actions = len(bpy.data.actions)
    assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
    assert len(bpy.data.actions) == actions + 1 and rig.data.knuckle.drive == "KEYS"

    assert f"*{bpy.ops.knuckle.render_film.get_rna_type().name}*" in video and "*Video*" in video
    scene.frame_end = 6
    target = tmp_path / "walk.mp4"
    assert bpy.ops.knuckle.render_film(filepath=str(target), size=(96, 54), samples=1) == {"FINISHED"}
    assert target.stat().st_size > 1000


def test_the_first_picture_moves_and_is_small() -> None:
    from PIL import Image

    picture = ROOT / re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text())[0]
    assert picture.stat().st_size < 1.5 * _MEGABYTE
    with Image.open(picture) as loop:
        assert loop.format == "WEBP" and loop.info["loop"] == 0
        assert loop.n_frames >= 30 and loop.width >= 640
        first = loop.convert("RGB").tobytes()
        loop.seek(loop.n_frames // 2)
        assert loop.convert("RGB").tobytes() != first


def test_the_readme_links_to_known_addresses_only() -> None:
    addresses = [urlparse(found) for found in re.findall(r"https?://[^\s)>\"]+", text())]
    strange = [each.geturl() for each in addresses if not {each.netloc, each.netloc + each.path} & OTHERS]
    assert strange == []


def test_every_quick_start_leads_on() -> None:
    sections = re.split(r"^### ", text().split("## Quick start", 1)[1].split("\n## ", 1)[0], flags=re.MULTILINE)[1:]
    assert len(sections) == 3
    for section in sections:
        assert "Next: [" in section and section.count("\n") < 25
    assert len(emphasised(README)) > 10
