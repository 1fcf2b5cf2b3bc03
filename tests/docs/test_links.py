"""Links of the README and the manual: every file, picture and heading that one leads to is there. No network."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.book import DOCS, PAGES, ROOT, name_of, without_code

_LINK = re.compile(r"!?\[(?:[^\[\]]|!?\[[^\[\]]*\]\([^()]*\))*\]\((?P<target>[^()\s]+)\)")
_INNER = re.compile(r"!\[[^\[\]]*\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def links(page: Path) -> list[str]:
    text = without_code(page.read_text(encoding="utf-8"))
    return [found["target"] for pattern in (_LINK, _INNER) for found in pattern.finditer(text)]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the manual's generator make them."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    out: set[str] = set()
    for heading in _HEADING.findall(text):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        same = sum(1 for other in out if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", other))
        out.add(f"{slug}-{same}" if same else slug)
    return out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(ROOT) or anchor and anchor not in anchors(target):
            lost.append(link)
    assert not lost, f"{name_of(page)} has links that lead nowhere: {lost}"


def test_the_pages_that_are_outside_are_named_by_https() -> None:
    outside = {link for page in PAGES for link in links(page) if re.match(r"[a-z]+:", link)}
    assert [link for link in outside if not link.startswith("https://")] == []


def test_every_page_is_in_a_list_of_contents() -> None:
    listed = set()
    for page in PAGES:
        listed |= {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
    assert [name_of(page) for page in PAGES if DOCS in page.parents and page not in listed | {DOCS / "index.md"}] == []


def test_every_picture_of_the_manual_is_shown_and_small() -> None:
    pictures = sorted((DOCS / "pictures").glob("*.*"))
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    assert pictures, "there are pictures"
    assert [path.name for path in pictures if path not in shown] == []
    sizes = {path.name: path.stat().st_size for path in pictures}
    still = {name: size for name, size in sizes.items() if name != "moving.webp"}
    assert {name: size for name, size in still.items() if size > 150_000} == {}
    assert sum(sizes.values()) < 3_000_000


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `heading`, and more\n\n[![x](gone.png)](page.md#a-heading-and-more) `[no](link)`\n")
    assert sorted(links(page)) == ["gone.png", "page.md#a-heading-and-more"]
    assert anchors(page) == {"a-heading-and-more"}
