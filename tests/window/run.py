"""All drivers in a real Blender, by one command: see README.md.

    python3 tests/window/run.py                        every driver, in each Blender of the harness
    python3 tests/window/run.py overlays --suite sid   one of them, in one

The harness is a command, named by KNUCKLE_WINDOW: ``HARNESS run SUITE --zip Z --script S --file F … --size WxH
--timeout S --out DIR`` installs the zip into a fresh Blender, opens a window, runs the script, and exits with 0 where
all that the script expects holds. What a driver needs stands at its top: FILES, paths counted from the tree's root,
laid into the home folder, and SIZE, the window's.
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUITES = ("sid", "trixie")
HELPERS = {"run", "finding"}
DRIVERS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)


def needs(driver: Path) -> dict[str, object]:
    """FILES and SIZE of a driver, which cannot be imported here: it imports Blender."""
    found: dict[str, object] = {"FILES": (), "SIZE": "1280x800"}
    for node in ast.parse(driver.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in found:
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("drivers", nargs="*", choices=[[], *DRIVERS], metavar="DRIVER", help=", ".join(DRIVERS))
    words.add_argument("--suite", nargs="+", default=SUITES, help=f"default: {' '.join(SUITES)}")
    words.add_argument("--zip", type=Path, help="the extension (default: built now)")
    words.add_argument("--out", type=Path, default=ROOT / "out" / "window")
    words.add_argument("--timeout", default="600", help="seconds for each driver (default: 600)")
    options = words.parse_args()
    harness = shlex.split(os.environ.get("KNUCKLE_WINDOW", ""))
    if not harness:
        words.error("KNUCKLE_WINDOW names no harness")
    package = options.zip or built()
    failed = 0
    for suite in options.suite:
        for name in options.drivers or DRIVERS:
            failed += not holds(
                harness, suite, HERE / f"{name}.py", package, options.out / suite / name, options.timeout
            )
    return 1 if failed else 0


def built() -> Path:
    """The zip of this tree for Linux."""
    subprocess.run([sys.executable, str(ROOT / "build.py"), "zip", "--platform", "linux-x64"], check=True, cwd=ROOT)
    return max((ROOT / "dist").glob("*linux-x64.zip"), key=lambda path: path.stat().st_mtime)


def holds(harness: list[str], suite: str, driver: Path, package: Path, out: Path, timeout: str) -> bool:
    """Run one driver; says in a line how it went, and what did not hold."""
    wanted = needs(driver)
    files = [word for name in wanted["FILES"] for word in ("--file", str(ROOT / name))]  # type: ignore[attr-defined]
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    done = subprocess.run(
        [*harness, "run", suite, "--zip", str(package), "--script", str(driver), *files,
         "--size", str(wanted["SIZE"]), "--timeout", timeout, "--out", str(out)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    result = out / "result.txt"
    lines = result.read_text(encoding="utf-8").splitlines() if result.is_file() else []
    print(
        f"{suite:8} {driver.stem:14} exit {done.returncode}  {len(lines)} lines  {time.monotonic() - began:4.0f} s",
        flush=True,
    )
    if done.returncode:
        for line in lines or (done.stdout + done.stderr).splitlines()[-15:]:
            print(f"    {line}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
