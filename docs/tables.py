#!/usr/bin/env python3
"""Write the tables of the manual from the code: ``python3 build.py docs --tables``.

A page has a table between ``<!-- table: NAME -->`` and ``<!-- end -->``. With ``--check`` nothing is written, and the
exit code is 1 if a page differs from the code.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import format_tables
import losses
import program_tables
import speed_tables

PLACE = re.compile(r"(<!-- table: (?P<name>[^>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)

TABLES: dict[str, Callable[[], str]] = {
    "formats": format_tables.format_list,
    "fields juice": format_tables.juice_fields,
    "fields shift": format_tables.shift_fields,
    "fields skel": format_tables.skel_fields,
    "fields x_xy": format_tables.x_xy_fields,
    "joints shift": format_tables.shift_joints,
    "joints skel": format_tables.skel_joint_types,
    "joints x_xy": format_tables.x_xy_joints,
    "shapes skel": format_tables.skel_geometries,
    "shapes x_xy": format_tables.x_xy_geoms,
    **{f"losses {name}": (lambda name=name: losses.losses(name)) for name in losses.WRITING},
    "options": program_tables.options,
    "functions": program_tables.functions,
    "physics": program_tables.physics,
    "speed": speed_tables.speed,
    "rates": speed_tables.rates,
}


def renewed(text: str) -> str:
    """Return a page with its tables from the code.

    Raises:
        KeyError: The page has a table of an unknown name.
    """
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place['name']]()}{place[4]}", text)


def pages() -> list[Path]:
    """Return the pages of the manual."""
    return sorted(HERE.rglob("*.md"))


def main(words: Sequence[str] | None = None) -> int:
    """Write the pages that differ from the code, or list them."""
    parser = argparse.ArgumentParser(description=textwrap.dedent(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; return 1 if a page differs from the code")
    check = parser.parse_args(words).check
    stale = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = renewed(text)
        if new != text:
            stale += 1
            print(f"{page.relative_to(ROOT)}: {'differs from the code' if check else 'written'}")
            if not check:
                page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
