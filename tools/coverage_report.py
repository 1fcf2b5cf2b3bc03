"""What ``build.py test --coverage`` tells: lines of addon/ that the tests run, by folder, and which they do not."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def stretches(lines: Iterable[int]) -> str:
    """Line numbers as ``3-5, 9``."""
    parts: list[list[int]] = []
    for line in sorted(lines):
        if parts and line == parts[-1][-1] + 1:
            parts[-1][1:] = [line]
        else:
            parts.append([line])
    return ", ".join("-".join(map(str, part)) for part in parts)


def by_folder(files: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Folder of addon/, lines, and those that no test runs; all of them last."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, found in files.items():
        for folder in (name.rpartition("/")[0], "all of addon/"):
            counts[folder][0] += found["summary"]["num_statements"]
            counts[folder][1] += found["summary"]["missing_lines"]
    rows = [(folder, lines, missed) for folder, (lines, missed) in counts.items()]
    return sorted(rows, key=lambda row: (row[0] == "all of addon/", row[0]))


def main(folder: Path) -> int:
    """Print the table and write the list; 1 where nothing was noted."""
    noted = folder / "lines.json"
    if not noted.is_file():
        print("coverage noted nothing")
        return 1
    raw = json.loads(noted.read_text(encoding="utf-8"))["files"]
    files = {Path(ROOT, name).relative_to(ROOT).as_posix(): found for name, found in raw.items()}
    for name, lines, missed in by_folder(files):
        print(f"{name:32} {lines:6} lines, {missed:5} not run, {100 * (1 - missed / max(lines, 1)):6.2f} %")
    left = sorted(files.items(), key=lambda each: (-each[1]["summary"]["missing_lines"], each[0]))
    told = [f"{name}: {stretches(found['missing_lines'])}\n" for name, found in left if found["missing_lines"]]
    (folder / "uncovered.txt").write_text("".join(told), encoding="utf-8")
    print(f"{len(told)} files have lines that no test runs: {folder / 'uncovered.txt'}, and as pages {folder / 'html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
