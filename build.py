#!/usr/bin/env python3
"""Set up what is needed and run one of Knuckle's development tasks: demo, test, bench, fuzz, zip, docs, check.

Needs nothing but Python: uv, fetched where it is missing, installs what uv.lock names, for the Python that a Blender
needs, into a cache folder outside the tree (KNUCKLE_CACHE, or the platform's own), and the next run uses that again.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 9):  # noqa: UP036 - said here, before anything below fails in a way that nobody understands
    sys.exit("build.py itself needs Python 3.9 or newer, not {}.{}. Run it with: python3.11".format(*sys.version_info))

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from tools import checks, suites
from tools.console import GREEN, RED, ROOT, BuildError, paint, say
from tools.environments import (
    BLENDERS,
    FUZZ,
    blender_python,
    call,
    python_of,
    references,
)
from tools.uv import cache, exported, uv, uv_environ

#: The platforms that ``tools/build_zip.py`` builds for.
PLATFORMS = ("linux-x64", "windows-x64", "windows-arm64", "macos-x64", "macos-arm64")
ALL = "all"
#: Has the bench's table put into the manual as well.
PAGE = "--page"
#: Commands whose further words are another program's.
PASSING = ("test", "bench", "fuzz", "uv")
#: Words of a bench that leave nothing out.
WHOLE_BENCH = {"physics", "--full", "--strict", PAGE}


def demo(options: argparse.Namespace) -> int:
    """Let a model walk under physics, film it and write it again; list the files."""
    python = blender_python(options.blender)
    model, inputs = Path(options.file or ROOT / "sample_models/hexapod/hexapod.jm"), options.input
    if not options.file and not inputs:
        inputs = ["joystick 1 y=-1"]
    out = Path(options.out).resolve() if options.out else ROOT / "out"
    words = ["demo", str(model.resolve()), "--seconds", str(options.seconds), "--out", str(out)]
    start, clock = time.time(), time.monotonic()
    code = call(python, "-m", "addon", *words, *(word for text in inputs for word in ("--input", text)))
    if code == 0:
        made = [path for path in sorted(out.rglob("*")) if path.is_file() and path.stat().st_mtime > start - 2]
        for path in made:
            say(f"{path.stat().st_size / 1e6:9.3f} MB  {path}")
        say(f"demo: {len(made)} files, {(time.monotonic() - clock) / 60:.1f} minutes", GREEN)
    return code


def test(options: argparse.Namespace) -> int:
    """Run a test suite, or the tests that are named, in one Blender or several."""
    words = options.rest or ([] if options.all else suites.FAST)
    cells = os.environ.get("KNUCKLE_MATRIX") or (ALL if options.all else "")
    with suites.bytecode() as kept:
        if options.ci:
            return suites.run_suites(suites.ci_parts(), kept, make=True)
        if options.blender == ALL or (options.all and not options.blender):
            parts = [suites.Part(series, words, cells) for series in BLENDERS]
            return suites.run_suites(parts, kept, make=not options.rest)
        part = suites.Part(options.blender, words, cells)
        return suites.run_suite(part, variables=kept, make=not options.rest, coverage=options.coverage)


def bench(options: argparse.Namespace) -> int:
    """Measure speed or accuracy; further words go to ``benchmarks/run.py``."""
    python, script = blender_python(options.blender), str(ROOT / "benchmarks/run.py")
    peers = references(not options.rest or set(options.rest) <= WHOLE_BENCH)
    rest = [word for word in options.rest if word != PAGE]
    if rest == options.rest:
        return call(python, script, *rest, variables=peers)
    code = call(python, script, *rest, "--json", str(ROOT / "docs/figures/speed.json"), variables=peers)
    return call(python, "docs/tables.py") or code


def fuzz(options: argparse.Namespace) -> int:
    """Fuzz the readers; what was found before is in the cache."""
    kept = {"KNUCKLE_FUZZ": str(cache() / "fuzz")}
    return call(python_of(FUZZ), "-m", "tests.fuzz.run", *options.rest, variables=kept)


def make_zips(options: argparse.Namespace) -> int:
    """Build the extension's zips with the manual and the wheels of ``uv.lock``."""
    python = blender_python(options.blender)
    out = Path(options.out).resolve() if options.out else ROOT / "dist"
    with tempfile.TemporaryDirectory() as folder:
        manual, lock = Path(folder, "manual"), Path(folder, "pylock.toml")
        checks.build_manual(manual)
        words = ("--no-emit-package", "numpy", "--format", "pylock.toml")  # numpy is Blender's own
        lock.write_text(exported("bundled", *words), encoding="utf-8")
        platforms = [f"--platform={platform}" for platform in options.platform or PLATFORMS]
        places = [f"--lock={lock}", f"--manual={manual}", f"--out={out}"]
        return call(python, "-m", "tools.build_zip", *places, *platforms)


def docs(options: argparse.Namespace) -> int:
    """Build the manual as HTML; first its tables and pictures where asked for."""
    if options.tables or options.pictures:
        python = blender_python(options.blender)
        renewed = [call(python, "docs/tables.py")] if options.tables else []
        shots = ["--window", str(Path(options.window).resolve())] if options.window else []
        renewed += [call(python, "docs/pictures.py", *shots)] if options.pictures else []
        if any(renewed):
            return 1
    out = Path(options.out).resolve() if options.out else ROOT / "out/docs"
    checks.build_manual(out)
    say(f"  {out / 'index.html'}")
    return 0


def check(options: argparse.Namespace) -> int:
    """Read the code and the manual with every tool, or with those that are named."""
    return checks.run_checks(options.names)


def call_uv(options: argparse.Namespace) -> int:
    """Run uv in the project, with this machine's Pythons: ``build.py uv lock`` writes uv.lock anew."""
    return subprocess.call([uv(), *options.rest], cwd=ROOT, env=uv_environ(index=False))


EXAMPLES = """examples:
  python3 build.py demo
  python3 build.py demo walker.jm --input "joystick 1 y=-1" --seconds 8 --out /tmp/walk
  python3 build.py test tests/formats -k juice
  python3 build.py test --blender 4.2
  python3 build.py test --coverage
  python3 build.py test --all
  python3 build.py test --blender all
  python3 build.py test --blender 5.2 -m core
  python3 build.py bench
  python3 build.py bench --only imports exports --json /tmp/bench.json
  python3 build.py bench --page
  python3 build.py bench --against ../knuckle-1.0
  python3 build.py bench conversions
  python3 build.py bench batch
  python3 build.py bench farm
  python3 build.py bench physics --blender 4.2
  python3 build.py bench physics --only pendulums double loops
  python3 build.py bench films --out films/
  python3 build.py bench contact_sheet my_models/ --meshes my_meshes/ --out sheets/
  python3 build.py fuzz
  python3 build.py fuzz juice skel --seconds 600
  python3 build.py zip --platform linux-x64
  python3 build.py docs
  python3 build.py docs --tables --pictures
  python3 build.py check
  python3 build.py test --ci
  python3 build.py uv lock --upgrade-package ruff

The first run sets up an environment (about 1 GB, a minute or less) in {cache}.
KNUCKLE_CACHE names another place.

`test` and `bench` with no further words also set up, once, the programs that some tests compare with: DART's Python
module, MuJoCo and imt-ring (1 GB more, with JAX). With further words they use what is there.
KNUCKLE_DARTPY, KNUCKLE_RING and KNUCKLE_MUJOCO may name Pythons of yours that have them, or be empty to do without;
tests that lack theirs say so and skip."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; words for pytest, benches, the fuzzer and uv are left over."""
    top = argparse.ArgumentParser(
        prog="build.py",
        description=__doc__,
        epilog=EXAMPLES.format(cache=cache()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="demo|test|bench|fuzz|zip|docs|check|uv")

    def verb(name: str, action: object, text: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(action=action)
        if name not in ("check", "fuzz", "uv"):
            more = [ALL] if name == "test" else []
            text = "default: 5.0, or 5.2 without a Python 3.11" + ("; all: one after the other" if more else "")
            made.add_argument("--blender", choices=[*BLENDERS, *more], help=text)
        return made

    words = verb("demo", demo, "a model walks under physics, is filmed, and goes out again")
    words.add_argument("file", nargs="?", help="a model; default: our hexapod, walking")
    words.add_argument("--input", action="append", default=[], metavar='"joystick 1 y=-1"', help="hold a control")
    words.add_argument("--seconds", type=float, default=8.0)
    words.add_argument("--out", metavar="DIR", help="default: out/ in the tree")
    words = verb("test", test, "the fast tests, or those that further words name to pytest, from the tree's root")
    words.add_argument("--all", action="store_true", help="all tests, on all Blenders unless one is named, and a table")
    words.add_argument(
        "--ci", action="store_true", help="all on 4.2 and 5.0, the core ones on 4.5 and 5.2, and a table"
    )
    words.add_argument("--coverage", action="store_true", help="and which lines of addon/ they run, in out/coverage")
    verb("bench", bench, "how long things take; further words go to benchmarks/run.py")
    verb("fuzz", fuzz, "odd input for every reader, as long as you like; words go to tests/fuzz/run.py")
    words = verb("zip", make_zips, "the extension's zip files, validated by Blender, into dist/")
    words.add_argument("--platform", action="append", choices=PLATFORMS, help="only this one (repeatable)")
    words.add_argument("--out", metavar="DIR", help="default: dist/ in the tree")
    words = verb("docs", docs, "the manual as HTML, into out/docs")
    words.add_argument("--tables", action="store_true", help="first write its tables anew from the code")
    words.add_argument("--pictures", action="store_true", help="first render its pictures anew (some minutes)")
    words.add_argument("--window", metavar="DIR", help="and cut those of a window out of this run of tests/window")
    words.add_argument("--out", metavar="DIR", help="default: out/docs in the tree")
    words = verb("check", check, "what reads the code and the manual without running them")
    words.add_argument("names", nargs="*", metavar="CHECK", help=f"of {', '.join(checks.NAMES)} (default: all)")
    verb("uv", call_uv, "uv with this machine's Pythons; `uv lock` writes uv.lock anew")
    return top


def main(words: Optional[Sequence[str]] = None) -> int:
    """Run a command; 1 where it fails, with a message that says what to do, and 2 on wrong usage."""
    arguments = parser()
    options, rest = arguments.parse_known_args(words)
    if rest and options.verb not in PASSING:
        arguments.error(f"{options.verb} does not know {' '.join(rest)}")
    options.rest = [word for word in rest if word != "--"]
    if options.verb == "check" and not {*options.names} <= {*checks.NAMES}:
        arguments.error(f"check knows {', '.join(checks.NAMES)}")
    if options.verb == "test" and options.ci and (options.all or options.blender or options.coverage or options.rest):
        arguments.error("test --ci has its own Blenders and tests: it takes no further words")
    if options.verb == "test" and options.all and options.rest:
        arguments.error("test --all runs all tests: it takes no further words but --blender and --coverage")
    if options.verb == "test" and options.coverage and (options.blender or (options.all and ALL)) == ALL:
        arguments.error("test --coverage is of one Blender: --blender 5.0")
    try:
        return int(options.action(options))
    except BuildError as error:
        print(paint(f"build.py: {error}", RED), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
