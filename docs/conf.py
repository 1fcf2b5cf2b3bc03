"""How the manual is built to HTML: ``python3 build.py docs``."""

import re
from pathlib import Path

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
