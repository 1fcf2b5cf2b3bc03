"""How the manual is built to HTML: ``python3 build.py docs``."""

import re
from pathlib import Path
from typing import Any

_MANIFEST = (Path(__file__).parent.parent / "blender_manifest.toml").read_text(encoding="utf-8")

project = "Knuckle"
author = "Knuckle's authors"
version = release = re.search(r'^version = "(.+)"', _MANIFEST, re.MULTILINE)[1]
html_title = f"Knuckle {version}"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # the same anchors as GitHub's
exclude_patterns = ["figures"]

html_theme = "furo"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path: list[str] = []
html_theme_options = {"navigation_with_keys": True}
suppress_warnings: list[str] = []

_MARKDOWN_LINK = re.compile(r"(?<=\]\()(?=\.\./)[^)#]+\.md(?=[)#])")


def _download_what_lies_beside(app: Any, docname: str, source: list[str]) -> None:
    """Sphinx takes every link to Markdown for one to a page, also to files of the tree that are none of the manual's:
    those are for download, as others are."""
    manual = Path(app.srcdir)
    folder = (manual / docname).parent

    def marked(link: re.Match[str]) -> str:
        is_page = (folder / link[0]).resolve().is_relative_to(manual)
        return link[0] if is_page else f"path:{link[0]}"

    source[0] = _MARKDOWN_LINK.sub(marked, source[0])


def setup(app: Any) -> None:
    app.connect("source-read", _download_what_lies_beside)
