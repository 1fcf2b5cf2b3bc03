"""Helpers for tests of the manual: its pages, their code blocks and spans, and folders to run the code in."""

# A block of commands (``sh``), of Python (``python``) or of a session (``pycon``) runs as it is. One whose fence
# continues with ``not-run: WHY`` does not.

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md")), *DOCS.rglob("*.md")]
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<code>.*?)^ *```$", re.DOTALL | re.MULTILINE)
#: What commands and examples want to find beside them.
_BESIDE = ("addon", "build.py", "examples", "blender_manifest.toml")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what else its fence says, its code, and the line of the page where that begins."""

    language: str
    note: str
    code: str
    line: int

    @property
    def runs(self) -> bool:
        return not self.note.startswith("not-run:")


def name_of(page: Path) -> str:
    """A page's name from the project's folder on."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    out = []
    for found in _FENCE.finditer(text):
        language, _, note = found["info"].strip().partition(" ")
        code = re.sub(rf"^{found['indent']}", "", found["code"], flags=re.MULTILINE)
        out.append(Block(language, note.strip(), code, text.count("\n", 0, found.start("code")) + 1))
    return out


def without_code(text: str) -> str:
    """A page without its fenced blocks and spans of code; lines stay where they are."""
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return re.sub(r"(`+).+?\1", "", text)


def folder_like_ours(folder: Path) -> Path:
    """A folder in which commands written for the project's own find what they want and may write."""
    folder.mkdir(parents=True)
    for name in _BESIDE:
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "sample_models", folder / "sample_models", ignore=shutil.ignore_patterns("*.png"))
    (folder / "out").mkdir()
    return folder


def spans(page: Path) -> list[str]:
    """The spans of code in a page's sentences, each on one line."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(found[2].split()) for found in re.finditer(r"(`+)(.+?)\1", text, re.DOTALL)]
