"""*Online Manual* and the help buttons lead to pages and headings that there are: shipped, hosted or in the source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from tests.support.book import DOCS
from tests.support.operators_helpers import operators
from tests.support.panels_helpers import Layout, panels_of_tab


def looked_up(identifier: str) -> str:
    """Where Blender's *Online Manual* goes for an identifier."""
    from bl_operators.wm import WM_OT_doc_view_manual

    return WM_OT_doc_view_manual._lookup_rna_url(identifier, verbose=False) or ""


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def assert_leads_somewhere(address: str) -> None:
    path, _, anchor = address.partition("#")
    page = Path(url2pathname(urlsplit(path).path))
    assert page.parent == DOCS and page.is_file(), address
    assert not anchor or anchor in anchors(page), address


def test_every_operator_has_a_page(blank: Any) -> None:
    assert len(operators()) > 60
    for name in operators():
        address = looked_up(f"bpy.ops.{name}")
        assert address.startswith(DOCS.as_uri()), f"the manual has no page for {name}"
        assert_leads_somewhere(address)


@pytest.mark.parametrize(
    ("owner", "name", "page"),
    [
        ("KnuckleModel", "drive", "walk.md"),
        ("KnuckleModel", "law", "walk.md#targets-and-control-laws"),
        ("KnuckleModel", "has_ground", "physics.md#rigid-body-world"),
        ("KnuckleControls", "joystick_1_y", "gait.md#inputs"),
        ("KnuckleDof", "lower_angle", "stops.md"),
        ("KnuckleJointList", "columns", "pose.md"),
        ("KnuckleMirrorPlane", "axis", "twins.md"),
        ("KnuckleOverlay", "axes", "stops.md#overlays"),
        ("KnuckleFilm", "stage", "film.md"),
        ("KnuckleObject", "mass", "in_blender.md"),
        ("PoseBone", "knuckle_servo_3", "pose.md"),
    ],
)
def test_every_property_has_a_manual_page(blank: Any, owner: str, name: str, page: str) -> None:
    import bpy

    if owner != "PoseBone":
        assert name in bpy.types.PropertyGroup.bl_rna_get_subclass_py(owner).bl_rna.properties
    assert looked_up(f"bpy.types.{owner}.{name}") == f"{DOCS.as_uri()}/{page}"


def test_what_is_blenders_stays_blenders(blank: Any) -> None:
    assert looked_up("bpy.types.Object.location").startswith("https://docs.blender.org")


def test_every_panel_has_a_help_button_that_leads_somewhere(rig: Any) -> None:
    outer = [cls for cls in panels_of_tab() if not hasattr(cls, "bl_parent_id")]
    assert len(outer) == 8 and all(cls.help_page for cls in outer)
    for cls in panels_of_tab():
        drawn: list[tuple[str, Any]] = []
        cls.draw_header_preset(type("Panel", (), {"layout": Layout(drawn), "help_page": cls.help_page})(), None)
        assert drawn == ([("operator", "wm.url_open")] if cls.help_page else [])
        if cls.help_page:
            from addon.installation import manual_page_url

            assert_leads_somewhere(manual_page_url(cls.help_page))


def test_every_row_of_the_map_is_of_use(blank: Any) -> None:
    import bpy

    from addon.blender.ui.base.manual_pages import PAGES

    known = set(operators())
    for what in (what for progress_text in PAGES.values() for what in progress_text):
        if what[0].islower():
            assert any(name.startswith(what) for name in known), what
        else:
            owner = what.partition(".")[0]
            groups = (bpy.types.PropertyGroup, bpy.types.AddonPreferences)
            names = {cls.__name__ for group in groups for cls in group.__subclasses__()}
            ours = any(name.startswith(owner) for name in names)
            assert ours or hasattr(bpy.types, owner), what


def test_the_shipped_pages_come_before_their_source_and_a_hosted_project_before_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon import installation

    monkeypatch.setattr(installation, "package_home", lambda: tmp_path)
    installation.manual_url.cache_clear()
    try:
        assert installation.manual_url() == ("", "") and installation.manual_page_url("walk") == ""
        for name, page in (("docs", "index.md"), ("manual", "index.html")):
            (tmp_path / name).mkdir()
            (tmp_path / name / page).write_text("")
            installation.manual_url.cache_clear()
            ending = Path(page).suffix
            assert installation.manual_page_url("walk#a") == f"{(tmp_path / name).as_uri()}/walk{ending}#a"
        assert installation.manual_url("https://example.org/k/") == ("https://example.org/k/manual/", ".html")
    finally:
        installation.manual_url.cache_clear()
