#!/usr/bin/env python3
"""The one door for developers of Knuckle: demo, test, bench, fuzz, zip, docs, check.

Needs nothing but Python: it finds one that Blender's module is made for, sets up an environment in a
cache folder outside the tree (KNUCKLE_CACHE, or the platform's own), and uses it again the next time.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 9):  # noqa: UP036 - said here, before anything below fails in a way that nobody understands
    sys.exit("build.py itself needs Python 3.9 or newer, not {}.{}. Run it with: python3.11".format(*sys.version_info))

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from platform import machine
from typing import NamedTuple, Optional
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent
Version = tuple[int, int]


class Trouble(Exception):
    """Something that the user can put right; the message says how."""


# ---- What is installed, pinned in this one place ----------------------------------------------------

LXML = "lxml==6.1.3"
#: Plots, and what matplotlib needs that is compiled; contourpy is chosen below.
COMPILED = (LXML, "matplotlib==3.10.9", "kiwisolver==1.5.1", "pillow==12.3.0")
#: In pure Python: one wheel serves all. The first two read meshes without Blender, pycollada needs the next two, and
#: matplotlib python-dateutil and the rest.
PURE = (
    "trimesh==5.2.0",
    "pycollada==0.9.3",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
    "cycler==0.12.1",
    "fonttools==4.68.0",
    "packaging==26.3",
    "pyparsing==3.3.3",
)
TEST_TOOLS = ("pytest==9.2.0", "pytest-xdist==3.8.0", "execnet==2.1.2", "hypothesis==6.170.15", "coverage==7.17.3")
#: Checks and runs the jobs that we write for farms. Windows on ARM has no wheels of it.
JOB_TOOLS = tuple(
    f"{requirement}; platform_machine != 'ARM64'"
    for requirement in (
        "openjd-cli==0.8.0",
        "openjd-model==0.13.0",
        "openjd-sessions==0.13.0",
        "pydantic==2.14.3",
        "pydantic-core==2.50.4",
        "annotated-types==0.8.0",
        "typing-extensions==4.16.0",
        "typing-inspection==0.4.5",
        "pyyaml==6.0.3",
    )
)


class Recipe(NamedTuple):
    """An environment: its name, the Pythons it can be made with (best first), what is installed."""

    name: str
    pythons: tuple[Version, ...]
    requirements: tuple[str, ...]


def contourpy(python: Version, arm_windows: bool = False) -> str:
    """The last one that takes the numpy 1.24 of Blender 4.2; for ARM Windows and newer Pythons one that has wheels."""
    return "contourpy==1.3.2" if python == (3, 11) and not arm_windows else "contourpy==1.3.3"


def blender_recipe(series: str, python: Version, bpy: str, numpy: str) -> Recipe:
    arm_windows = sys.platform == "win32" and machine() == "ARM64"
    ours = (*COMPILED, contourpy(python, arm_windows), *PURE)
    return Recipe(f"blender-{series}", (python,), (f"bpy=={bpy}", f"numpy=={numpy}", *ours, *TEST_TOOLS, *JOB_TOOLS))


#: numpy is the one that each Blender brings (or, for 4.2, whose module asks for none, the 1.x of its time).
BLENDERS = {
    "4.2": blender_recipe("4.2", (3, 11), "4.2.23", "1.26.4"),
    "4.5": blender_recipe("4.5", (3, 11), "4.5.15", "1.26.4"),
    "5.0": blender_recipe("5.0", (3, 11), "5.0.1", "1.26.4"),
    "5.2": blender_recipe("5.2", (3, 13), "5.2.3", "2.5.5"),
}
#: Tried in this order where the user names none.
DEFAULT_BLENDERS = ("5.0", "5.2")

#: For `check`: Blender's API as type stubs, no Blender. Newer numpy has stubs that only Python 3.12 can read.
TOOLS = Recipe(
    "tools",
    ((3, 11), (3, 13), (3, 12)),
    (
        "ruff==0.17.5",
        "mypy==2.4.1",
        "fake-bpy-module-5.0==20260730",
        "numpy==1.26.4; python_version < '3.13'",
        "numpy==2.2.6; python_version >= '3.13'",
        LXML,
        *TEST_TOOLS,
    ),
)

#: For `docs`, and for the links in `check`: the manual is Markdown, which is read well without it too.
DOCS = Recipe("docs", ((3, 11), (3, 13), (3, 12)), ("sphinx==9.0.4", "furo==2025.12.19", "myst-parser==5.2.0"))

#: For `fuzz`: the readers and what they need, without Blender. Windows has no wheel of atheris.
FUZZER = Recipe(
    "fuzz",
    ((3, 11), (3, 12), (3, 13)),
    ("atheris==3.0.0", LXML, "numpy==1.26.4; python_version < '3.13'", "numpy==2.2.6; python_version >= '3.13'", *PURE),
)

#: Programs that the tests compare with, by the variable that names a Python with each. Two environments, since where
#: one program has no wheel the other still serves. JAX is pinned as well: imt-ring takes any.
REFERENCES = {
    "KNUCKLE_DARTPY": Recipe("dartpy", ((3, 11), (3, 13), (3, 12)), ("dartpy==6.20.0", "numpy==2.4.6")),
    "KNUCKLE_RING": Recipe(
        "imt-ring",
        ((3, 11), (3, 13), (3, 12)),
        ("imt-ring==1.7.1", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    ),
}
#: And those that only the bench compares with.
BENCH_REFERENCES = {
    "KNUCKLE_MUJOCO": Recipe("mujoco", ((3, 11), (3, 13), (3, 12)), ("mujoco==4.0.0", "numpy==2.4.6")),
}
#: Seconds before what could not be installed is tried again. Each run would pay for pip's timeouts, or for most of a
#: download; but networks come back and wheels appear, so it is not for ever.
RETRY_AFTER = 24 * 3600.0


class Platform(NamedTuple):
    """A kind of machine in Blender's words, its wheels' tags, and the Pythons of the Blenders that run on it."""

    wheel_tags: tuple[str, ...]
    pythons: tuple[str, ...] = ("3.11", "3.13")


#: Linux has Python 3.14 too: distributions build Blender with their own Python. There is no Blender for ARM Linux.
PLATFORMS = {
    "linux-x64": Platform(("manylinux_2_28_x86_64", "manylinux2014_x86_64"), ("3.11", "3.13", "3.14")),
    "windows-x64": Platform(("win_amd64",)),
    "windows-arm64": Platform(("win_arm64",)),
    "macos-x64": Platform(("macosx_11_0_x86_64",)),
    "macos-arm64": Platform(("macosx_11_0_arm64",)),
}


# ---- Saying what happens -----------------------------------------------------------------------------


def paint(text: str, colour: int) -> str:
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def step(title: str, *, announce: bool = False) -> Iterator[None]:
    """One line when done, with the seconds it took; ``announce`` says so beforehand too, for long work."""
    if announce:
        say(paint(f"{title} ...", 36))
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(paint(f"{title}: failed after {time.monotonic() - start:.1f} s", 31))
        raise
    say(paint(f"{title}: {time.monotonic() - start:.1f} s", 32))


def run_quietly(command: Sequence[str], failure: str) -> None:
    """Runs a command whose output matters only if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Trouble(f"{failure}\n{done.stdout.rstrip()}")


# ---- Finding a Python --------------------------------------------------------------------------------

PROBE = "import sys, venv, ensurepip; print('%d.%d.%d' % (*sys.version_info[:2], sys.maxsize > 2**32))"


def probe(command: Sequence[str]) -> Optional[Version]:
    """The version of a Python that can make environments and is a 64-bit one, else None.

    It is run rather than believed: pyenv puts commands on the path for versions that are not switched on,
    and Debian has Pythons without ensurepip.
    """
    try:
        done = subprocess.run([*command, "-c", PROBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)\.1", done.stdout.strip()) if done.returncode == 0 else None
    return (int(found[1]), int(found[2])) if found else None


def candidates(version: Version, environ: Mapping[str, str], home: Path, windows: bool) -> Iterator[list[str]]:
    """Commands that may be the wanted Python, likely ones first."""
    dotted = "{}.{}".format(*version)
    if sys.version_info[:2] == version:
        yield [sys.executable]
    for folder in filter(None, environ.get("PATH", "").split(os.pathsep)):
        yield [os.path.join(folder, f"python{dotted}.exe" if windows else f"python{dotted}")]
    pyenv = Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    uv = Path(environ["APPDATA"], "uv/python") if windows else home / ".local/share/uv/python"
    uv = Path(environ.get("UV_PYTHON_INSTALL_DIR") or uv)
    for installation in [*sorted(pyenv.glob(f"{dotted}.*")), *sorted(uv.glob(f"cpython-{dotted}.*"))]:
        yield [str(installation / ("python.exe" if windows else "bin/python3"))]
    if windows:
        yield ["py", f"-{dotted}"]
    else:
        yield from ([f"{prefix}/bin/python{dotted}"] for prefix in ("/opt/homebrew", "/usr/local", "/usr"))
        yield [f"/Library/Frameworks/Python.framework/Versions/{dotted}/bin/python3"]


def find_python(version: Version) -> Optional[list[str]]:
    commands = candidates(version, os.environ, Path.home(), os.name == "nt")
    return next((command for command in commands if probe(command) == version), None)


def no_python(recipes: Sequence[Recipe]) -> Trouble:
    wanted = " or ".join(sorted({"{}.{}".format(*version) for recipe in recipes for version in recipe.pythons}))
    return Trouble(
        f"No suitable Python: {recipes[0].name} needs a 64-bit Python {wanted} with venv and ensurepip.\n"
        f"This is {sys.version.split()[0]} ({sys.executable}). Looked on PATH, in pyenv, uv and the usual places.\n"
        "Install one and try again, with whichever of these you have:\n"
        "  apt install python3.11-venv | dnf install python3.11 | brew install python@3.11\n"
        "  winget install Python.Python.3.11 | pyenv install 3.11 | uv python install 3.11"
    )


# ---- The environments --------------------------------------------------------------------------------


def cache_dir(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Where environments and downloads live: KNUCKLE_CACHE, or the platform's place for caches."""
    if environ.get("KNUCKLE_CACHE"):
        return Path(environ["KNUCKLE_CACHE"]).expanduser().resolve()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData/Local") / "knuckle"
    if platform == "darwin":
        return home / "Library/Caches/knuckle"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "knuckle"


PIP_FAILED = """pip could not install what is needed; its message is above. It needs the network this once.
If it knows no such bpy: Blender has an index of its own, so set
  PIP_EXTRA_INDEX_URL=https://download.blender.org/pypi/
and try again."""


def cache() -> Path:
    return cache_dir(os.environ, Path.home(), sys.platform)


def env_name(recipe: Recipe, python: Version) -> str:
    digest = hashlib.sha256("\n".join(recipe.requirements).encode()).hexdigest()[:10]
    return "{}-py{}.{}-{}".format(recipe.name, *python, digest)


def env_python(env: Path) -> Path:
    return env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_ready(env: Path) -> bool:
    """The marker is written last, and a Python that was uninstalled since leaves a dangling link."""
    return (env / "knuckle-ready").is_file() and env_python(env).exists()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock that the operating system frees if this process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as handle:
        waited = False
        while not try_lock(handle.fileno()):
            if not waited:
                say(f"Another build.py is at work on {path.with_suffix('')}; waiting for it.")
                waited = True
            time.sleep(0.5)
        yield


def try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists on Windows only

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - exists everywhere else

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def ready_python(recipe: Recipe) -> Optional[Path]:
    """The Python of an environment made before, of the best version there is."""
    made = (cache() / "envs" / env_name(recipe, version) for version in recipe.pythons)
    return next((env_python(env) for env in made if is_ready(env)), None)


def environment(*recipes: Recipe, quiet: bool = False) -> Path:
    """The Python of the first recipe that is ready or can be made ready; makes the environment if need be."""
    for recipe in recipes:
        ready = ready_python(recipe)
        if ready:
            return ready
        for version in recipe.pythons:
            command = find_python(version)
            if command:
                return make_environment(cache() / "envs" / env_name(recipe, version), recipe, command, quiet)
    raise no_python(recipes)


def make_environment(env: Path, recipe: Recipe, python: Sequence[str], quiet: bool = False) -> Path:
    """Makes and fills an environment. ``quiet``: wheels alone, for which pip builds nothing, and pip's words are in
    the Trouble; else they are shown as they come."""
    with locked(env.with_name(env.name + ".lock")):
        if is_ready(env):
            return env_python(env)
        say(f"Setting up {recipe.name} with {' '.join(python)} in {env}")
        if env.exists():
            say("(an earlier attempt was interrupted; starting anew)")
            shutil.rmtree(env)
        with step("making the environment"):
            run_quietly([*python, "-m", "venv", str(env)], "The environment cannot be made.")
        with step(f"installing {', '.join(recipe.requirements)}", announce=True):
            pip = [str(env_python(env)), "-m", "pip", "install", "--disable-pip-version-check", *recipe.requirements]
            if quiet:
                run_quietly([*pip, "--only-binary=:all:"], "pip could not install it:")
            elif subprocess.call([*pip, "--progress-bar", "on"], cwd=env):
                raise Trouble(PIP_FAILED)
        (env / "knuckle-ready").write_text("\n".join(recipe.requirements) + "\n", encoding="utf-8")
    return env_python(env)


def blender_python(series: Optional[str]) -> Path:
    return environment(*(BLENDERS[name] for name in ([series] if series else DEFAULT_BLENDERS)))


def reference_python(recipe: Recipe, make: bool) -> Path:
    """The Python with a program that tests compare with; Trouble of one line where there is none, or none ``make``
    allows to be made. Why the last attempt failed stands in a file beside the environments, until the next one."""
    ready = ready_python(recipe)
    if ready:
        return ready
    if not make:
        verb = "bench" if recipe in BENCH_REFERENCES.values() else "test"
        raise Trouble(f"{recipe.name} is not set up: `build.py {verb}` does it, with no further words")
    failed = cache() / "envs" / f"{recipe.name}.failed"
    if not failed.is_file() or time.time() - failed.stat().st_mtime > RETRY_AFTER:
        failed.unlink(missing_ok=True)
        try:
            return environment(recipe, quiet=True)
        except (Trouble, OSError) as trouble:
            failed.parent.mkdir(parents=True, exist_ok=True)
            failed.write_text(f"{trouble}\n", encoding="utf-8")
    raise Trouble(f"{recipe.name} cannot be installed here ({failed} says why; delete it to try again within a day)")


def references(make: bool, recipes: Optional[Mapping[str, Recipe]] = None) -> dict[str, str]:
    """Variables for the tests: the Pythons with the programs to compare with, or why there is none. Those that the
    user set, be it to nothing, are left alone."""
    found = {}
    for variable, recipe in (REFERENCES if recipes is None else recipes).items():
        if variable in os.environ:
            continue
        try:
            found[variable] = str(reference_python(recipe, make))
        except Trouble as trouble:
            say(paint(f"{trouble}; what compares with it is skipped.", 33))
            found[f"{variable}_MISSING"] = str(trouble)
    return found


def call(python: Path, *arguments: str, variables: Optional[Mapping[str, str]] = None) -> int:
    """Runs the environment's Python in the repository's root, on our package, and on nobody's Blender settings."""
    settings = python.parent.parent / "blender-user"
    settings.mkdir(exist_ok=True)
    environ = {**os.environ, **(variables or {}), "PYTHONPATH": str(ROOT), "PYTHONNOUSERSITE": "1"}
    environ.setdefault("BLENDER_USER_RESOURCES", str(settings))
    environ.setdefault("KNUCKLE_CACHE", str(cache()))  # for the tests to keep what is long in the making
    return subprocess.call([str(python), *arguments], cwd=ROOT, env=environ)


# ---- Packaging ---------------------------------------------------------------------------------------


def manifest_value(manifest: str, key: str) -> str:
    """Python 3.9 reads no TOML; the keys asked for are plain strings, each on a line of its own."""
    found = re.search(rf'^{key}\s*=\s*"([^"]*)"', manifest, re.MULTILINE)
    if not found:
        raise Trouble(f'blender_manifest.toml has no line {key} = "..."')
    return found[1]


def platform_manifest(manifest: str, platform: str, wheels: Sequence[str]) -> str:
    """The manifest with ``platforms`` and ``wheels`` put before its first table: keys after it would belong to that."""
    listed = "".join(f'  "./wheels/{name}",\n' for name in wheels)
    added = f'platforms = ["{platform}"]\nwheels = [\n{listed}]\n\n'
    head = re.search(r"^\[", manifest, re.MULTILINE)
    at = head.start() if head else len(manifest)
    return manifest[:at] + added + manifest[at:]


#: What lies beside the package in the tree and goes into the zip with it.
BESIDE = ("LICENSE", "COPYING", "CHANGELOG.md", "THIRD_PARTY.md")
#: Hidden files, caches, and what editors, merges and systems leave behind: no part of a release.
LEFT_LYING = re.compile(
    r"\..*|__pycache__|.*(~|\.(pyc|bak|orig|rej|tmp|swp|log|partial|blend\d+|blend@))|Thumbs\.db|desktop\.ini", re.I
)


def packaged_files(root: Path) -> dict[str, Path]:
    """Name in the zip -> file: the package at the zip's root, where Blender wants it; samples; licences."""
    files = {name: root / name for name in BESIDE}
    for folder, base in ((root / "addon", root / "addon"), (root / "sample_models", root)):
        for path in filter(Path.is_file, folder.rglob("*")):
            name = path.relative_to(base)
            if not any(map(LEFT_LYING.fullmatch, name.parts)):
                files[name.as_posix()] = path
    return files


def write_zip(target: Path, content: Mapping[str, bytes], timestamp: int) -> None:
    """The same content gives the same bytes: sorted names, one date for all, the same permissions on every system.
    Nothing is compressed: each zlib does that in its own way, and the wheels, nearly all of it, are compressed."""
    date = time.gmtime(max(timestamp, 315532800))[:6]  # zip knows no time before 1980-01-01
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, date)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_STORED
            archive.writestr(entry, content[name])
    partial.replace(target)


def platform_zip(
    target: Path, root: Path, platform: str, wheels: Sequence[Path], timestamp: int, manual: Optional[Path] = None
) -> None:
    """Pack Knuckle for a platform, with the pages of the manual in the folder ``manual``."""
    manifest = (root / "blender_manifest.toml").read_text(encoding="utf-8")
    names = sorted(wheel.name for wheel in wheels)
    content = {name: path.read_bytes() for name, path in packaged_files(root).items()}
    content.update({f"wheels/{wheel.name}": wheel.read_bytes() for wheel in wheels})
    for path in filter(Path.is_file, manual.rglob("*") if manual is not None else ()):
        page = path.relative_to(manual or path)
        if not any(map(LEFT_LYING.fullmatch, page.parts)):
            content[f"manual/{page.as_posix()}"] = path.read_bytes()
    content["blender_manifest.toml"] = platform_manifest(manifest, platform, names).encode()
    write_zip(target, content, timestamp)


def third_party(root: Path) -> dict[str, tuple[set[str], list[str]]]:
    """The rows of THIRD_PARTY.md: distribution -> its versions, and where its licences are in its wheel."""
    text = (root / "THIRD_PARTY.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0].lower(): (set(re.split(r",\s*", row[1])), re.findall(r"`([^`]+)`", row[4])) for row in rows[2:]}


def check_licences(wheels: Sequence[Path], listed: Mapping[str, tuple[set[str], list[str]]]) -> None:
    """Trouble where a wheel is not listed in its version, or does not bring the licences that are said to be in it."""
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        versions, texts = listed.get(name.lower().replace("_", "-"), (set(), []))
        if version not in versions:
            raise Trouble(f"THIRD_PARTY.md has no row for {name} {version}: add it with its licence and its holder.")
        with zipfile.ZipFile(wheel) as archive:
            brought = [each.partition("/")[2] for each in archive.namelist() if ".dist-info/" in each]
            brought += archive.namelist()
        lacking = [text for text in texts if text not in brought]
        if lacking or not texts:
            raise Trouble(f"{wheel.name} does not hold {' nor '.join(lacking) or 'a licence'}: mend its row.")


def write_sums(folder: Path, pattern: str) -> None:
    """SHA256SUMS beside the zips, for ``sha256sum --check``."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.glob(pattern))]
    (folder / "SHA256SUMS").write_bytes("".join(lines).encode())
    say("".join(lines).rstrip())


Hashes = Mapping[str, Sequence[str]]


def pinned_wheels(root: Path) -> Hashes:
    """wheels.txt, in the form that pip takes: requirement -> ``--hash=sha256:…`` of each of its wheels that we pack."""
    lines = (root / "wheels.txt").read_text(encoding="utf-8").splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines) if words}


def pin_wheels(python: Path, root: Path) -> None:
    """Write wheels.txt anew, with the wheels that pip chooses today for every platform."""
    found: dict[str, set[str]] = {}
    for platform in PLATFORMS:
        for requirement, wheel in fetch_wheels(python, platform, None):
            found.setdefault(requirement, set()).add(wheel_hash(wheel))
    text = "".join(f"{requirement} {' '.join(sorted(found[requirement]))}\n" for requirement in sorted(found))
    (root / "wheels.txt").write_text(text, encoding="utf-8")


def wheel_hash(wheel: Path) -> str:
    return f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


def fetch_wheels(python: Path, platform: str, pinned: Optional[Hashes]) -> list[tuple[str, Path]]:
    """What Blender does not bring, for one platform, by its requirement: what is compiled for each of its Pythons, and
    what serves every Python. numpy is Blender's own. ``pinned``: None takes what pip chooses."""
    pythons = PLATFORMS[platform].pythons
    wanted = [
        (requirement, platform, version)
        for version in pythons
        for requirement in (*COMPILED, contourpy(version_of(version), platform == "windows-arm64"))
    ]
    wanted += [(requirement, "any", pythons[0]) for requirement in PURE]
    return [(each[0], fetch_wheel(python, *each, pinned)) for each in wanted]


def version_of(dotted: str) -> Version:
    major, minor = dotted.split(".")
    return int(major), int(minor)


def fetch_wheel(python: Path, requirement: str, platform: str, python_version: str, pinned: Optional[Hashes]) -> Path:
    """A wheel for that platform and Python, from the cache or through pip. Platform ``any``: one in pure Python."""
    pure = platform == "any"
    if pinned is not None and requirement not in pinned:
        raise Trouble(f"wheels.txt has no {requirement}: build.py zip --pin writes it anew")
    hashes = pinned[requirement] if pinned is not None else []
    folder = cache() / "wheels" / requirement / ("any" if pure else f"{platform}-{python_version}")
    with locked(folder.with_name(folder.name + ".lock")):
        if not folder.is_dir():
            partial = folder.with_name(folder.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            listed = partial.with_name(partial.name + ".txt")
            listed.write_text(" ".join([requirement, *hashes]), encoding="utf-8")
            tags = (platform,) if pure else PLATFORMS[platform].wheel_tags
            target = [word for tag in tags for word in ("--platform", tag)]
            target += ["--implementation", "py" if pure else "cp", "--python-version", python_version]
            # only from wheels whose hashes are given does pip choose: one that is added to a release later is not taken
            pip = [str(python), "-m", "pip", "download", "-r", str(listed), "--no-deps", "--only-binary=:all:"]
            with step(f"downloading {requirement} for {platform}, Python {python_version}"):
                failure = f"pip finds no {requirement} for {' '.join(target)}:"
                run_quietly([*pip, *target, "-d", str(partial)], failure)
            partial.replace(folder)
    wheel = next(folder.glob("*.whl"))
    if pinned is not None and wheel_hash(wheel) not in hashes:
        raise Trouble(f"{wheel} is not the one in wheels.txt: delete it, or write that anew by build.py zip --pin")
    return wheel


def validate_zip(python: Path, target: Path) -> None:
    """Blender's own validator and its own list of tags, as its module brings them along."""
    find = "import importlib.util as u; print(u.find_spec('bpy').submodule_search_locations[0])"
    module = Path(subprocess.check_output([str(python), "-c", find], text=True).strip())
    scripts = next(path.parent for path in module.glob("*/scripts/addons_core"))
    tags = f"--valid-tags={scripts / 'modules/_bpy_internal/extensions/tags.py'}"
    validator = [str(python), str(scripts / "addons_core/bl_pkg/cli/blender_ext.py"), "validate", tags, str(target)]
    run_quietly(validator, f"Blender's validator rejects {target.name}:")


# ---- The verbs ---------------------------------------------------------------------------------------


def demo(options: argparse.Namespace) -> int:
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
        say(paint(f"demo: {len(made)} files, {(time.monotonic() - clock) / 60:.1f} minutes", 32))
    return code


def test(options: argparse.Namespace) -> int:
    with bytecode() as kept:
        if options.ci:
            return test_parts(ci_parts(), kept)
        if options.blender == ALL:
            return test_parts([Part(series, options.rest) for series in BLENDERS], kept)
        return run_tests(options.blender, options.rest, variables=kept, coverage=options.coverage)


@contextlib.contextmanager
def bytecode() -> Iterator[dict[str, str]]:
    """Variables for the tests that have what Python compiles kept for as long as this lasts. Where it is not to be
    written beside the sources, as in many containers, the hundreds of processes would each compile the package anew."""
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield {}
        return
    with tempfile.TemporaryDirectory() as folder:
        yield {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}


def run_tests(
    series: Optional[str], rest: Sequence[str], *more: str, variables: Mapping[str, str], coverage: bool = False
) -> int:
    python = blender_python(series)
    # all of them on every core, a Blender each; what was asked for by name in one, in its order
    whole = [] if rest and list(rest) != CORE else EVERY_CORE
    words = ("-m", "pytest", "-q", *whole, *rest, *more)
    variables = {**variables, **ONE_THREAD, **references(make=not rest), **other_blenders()}
    return covered(python, words, variables) if coverage else call(python, *words, variables=variables)


def covered(python: Path, words: Sequence[str], variables: Mapping[str, str]) -> int:
    """The tests with every line of addon/ that they run noted, in all the processes that they start: a table by folder,
    what no test reaches in out/coverage/uncovered.txt, and the sources as pages in out/coverage/html."""
    out, settings = ROOT / "out/coverage", str(ROOT / "tests/coverage.ini")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tree = {"KNUCKLE_TREE": str(ROOT)}
    code = call(python, *words, variables={**variables, **tree, "COVERAGE_PROCESS_START": settings})
    for verb in ("combine", "json", "html"):
        call(python, "-m", "coverage", verb, f"--rcfile={settings}", "-q", variables=tree)
    return call(python, "tests/uncovered.py", str(out)) or code


#: In every process a Blender of its own, and a file's tests in one of them; where one crashed they run once more.
EVERY_CORE = ["--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadfile", "-p", "tests.crashes"]
#: What numpy calls for matrices else starts threads on every core, which wait for each other at our small ones.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
#: The tests that show of each room that it works in a Blender.
CORE = ["-m", "core"]
ALL = "all"


def other_blenders() -> dict[str, str]:
    """Variables for the tests that open in one Blender what another saved: the Pythons of those that are set up."""
    made = {f"KNUCKLE_BLENDER_{series.replace('.', '')}": ready_python(recipe) for series, recipe in BLENDERS.items()}
    return {variable: str(python) for variable, python in made.items() if python and variable not in os.environ}


class Outcome(NamedTuple):
    """How the tests ended in a Blender: pytest's exit code, counts, seconds; ``note`` where they did not run."""

    blender: str
    code: int
    counts: Mapping[str, int]
    seconds: float
    note: str = ""


def test_parts(parts: Sequence[Part], variables: Mapping[str, str]) -> int:
    """The tests in one Blender after the other, on to the end whatever fails; then how each ended. 1 if any failed."""
    outcomes = [outcome(part, variables) for part in parts]
    say("")
    for line in outcome_lines(outcomes):
        say(line)
    return 1 if any(each.code for each in outcomes) else 0


def outcome(part: Part, variables: Mapping[str, str]) -> Outcome:
    say(paint(f"Blender {part.blender} ...", 36))
    variables = {**variables, "KNUCKLE_MATRIX": part.cells} if part.cells else variables
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        try:
            code, note = run_tests(part.blender, part.rest, f"--junit-xml={results}", variables=variables), ""
        except Trouble as trouble:
            say(paint(f"build.py: {trouble}", 31))
            code, note = 1, "no environment"
        counts = counted(results) if results.is_file() else {}
    return Outcome(part.blender, code, counts, time.monotonic() - start, note or ("" if counts else "no results"))


def counted(results: Path) -> dict[str, int]:
    """How many tests passed, failed and were skipped, as pytest's file of results (JUnit's XML) has it."""
    suites = list(ElementTree.parse(results).iter("testsuite"))
    total, errors, failures, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "errors", "failures", "skipped")
    )
    return {"passed": total - errors - failures - skipped, "failed": errors + failures, "skipped": skipped}


def outcome_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A table: a line for each Blender, and the time that all took."""
    lines = [f"{'Blender':8} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}"]
    for each in outcomes:
        passed, failed, skipped = (each.counts.get(name, "-") for name in ("passed", "failed", "skipped"))
        line = f"{each.blender:8} {passed:>7} {failed:>7} {skipped:>8} {each.seconds:>8.0f}"
        ending = each.note or (f"exit code {each.code}" if each.code else "")
        lines.append(paint(f"{line}  {ending}".rstrip(), 31 if each.code else 32))
    lines.append(f"{sum(each.seconds for each in outcomes) / 60:.1f} minutes")
    return lines


class Part(NamedTuple):
    """What is tested in a Blender: words for pytest, and which cells of the edit matrix (``tests/matrix``)."""

    blender: str
    rest: Sequence[str]
    cells: str = ""


#: What CI tests, the first to the last.
CI = (Part("4.2", [], "tenth"), Part("4.5", CORE, "tenth"), Part("5.0", [], "third"), Part("5.2", CORE, "tenth"))


def ci_parts() -> list[Part]:
    """``CI`` but for core parts whose Blender there is no Python for. First sets up all of their Blenders: what one
    saves, others open."""
    parts = []
    for part in CI:
        recipe = BLENDERS[part.blender]
        if part.rest == CORE and not ready_python(recipe) and not any(map(find_python, recipe.pythons)):
            say("Blender {} is left out: there is no Python {}.{} here.".format(part.blender, *recipe.pythons[0]))
            continue
        parts.append(part)
    for part in parts:
        with contextlib.suppress(Trouble):
            blender_python(part.blender)
    return parts


#: Has the bench's table put into the manual as well.
PAGE = "--page"
#: Words of a bench that leave nothing out.
WHOLE_BENCH = {"physics", "--full", "--strict", PAGE}


def bench(options: argparse.Namespace) -> int:
    python, script = blender_python(options.blender), str(ROOT / "tests/bench/run.py")
    peers = references(not options.rest or set(options.rest) <= WHOLE_BENCH, {**REFERENCES, **BENCH_REFERENCES})
    rest = [word for word in options.rest if word != PAGE]
    if rest == options.rest:
        return call(python, script, *rest, variables=peers)
    code = call(python, script, *rest, "--json", str(ROOT / "docs/figures/speed.json"), variables=peers)
    return call(python, "docs/tables.py") or code


def fuzz(options: argparse.Namespace) -> int:
    kept = {"KNUCKLE_FUZZ": str(cache() / "fuzz")}
    return call(environment(FUZZER), "-m", "tests.fuzz.run", *options.rest, variables=kept)


def make_zips(options: argparse.Namespace) -> int:
    python = blender_python(options.blender)
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    name = f"{manifest_value(manifest, 'id')}-{manifest_value(manifest, 'version')}"
    out = Path(options.out).resolve() if options.out else ROOT / "dist"
    timestamp = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    if options.pin:
        pin_wheels(python, ROOT)
    pinned = pinned_wheels(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        manual = Path(folder) / "manual"
        with step("the manual"):
            run_quietly(manual_words(manual), "The manual has findings:")
        make_platform_zips(options.platform or PLATFORMS, python, out / name, timestamp, pinned, manual)
    write_sums(out, f"{name}-*.zip")
    return 0


def make_platform_zips(
    platforms: Iterable[str], python: Path, start: Path, timestamp: int, pinned: Optional[Hashes], manual: Path
) -> None:
    """Make a zip for each platform and have Blender validate it; ``start`` is how the paths of all begin."""
    for platform in platforms:
        wheels = [wheel for _requirement, wheel in fetch_wheels(python, platform, pinned)]
        check_licences(wheels, third_party(ROOT))
        target = start.with_name(f"{start.name}-{platform}.zip")
        with step(f"{target} made and validated"):
            platform_zip(target, ROOT, platform, wheels, timestamp, manual)
            validate_zip(python, target)
        say(f"  {target.stat().st_size / 1e6:.1f} MB, with {', '.join(wheel.name for wheel in wheels)}")


def docs(options: argparse.Namespace) -> int:
    if options.tables or options.pictures:
        python = blender_python(options.blender)
        renewed = [call(python, "docs/tables.py")] if options.tables else []
        shots = ["--window", str(Path(options.window).resolve())] if options.window else []
        renewed += [call(python, "docs/pictures.py", *shots)] if options.pictures else []
        if any(renewed):
            return 1
    out = Path(options.out).resolve() if options.out else ROOT / "out/docs"
    with step("the manual"):
        run_quietly(manual_words(out), "The manual has findings:")
    say(f"  {out / 'index.html'}")
    return 0


def manual_words(out: Path) -> list[str]:
    """The command that builds the manual; a link or an anchor that leads nowhere fails it, and so does any warning."""
    notes = out.with_name(out.name + ".doctrees")
    sphinx = [str(environment(DOCS)), "-m", "sphinx", "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    return [*sphinx, "--builder", "html", "--doctree-dir", str(notes), str(ROOT / "docs"), str(out)]


def check(_options: argparse.Namespace) -> int:
    python = str(environment(TOOLS))
    checks = {
        "ruff": [python, "-m", "ruff", "check", "."],
        "mypy": [python, "-m", "mypy"],
        "layers": [python, "-m", "pytest", "-q", "tests/test_code_rules.py"],
        "links": [python, "-m", "pytest", "-q", "tests/docs/test_links.py"],
        "manual": manual_words(ROOT / "out/docs"),
    }
    failures = 0
    for title, words in checks.items():
        try:
            with step(title):
                run_quietly(words, f"{title} has findings:")
        except Trouble as trouble:
            say(str(trouble))
            failures += 1
    return 1 if failures else 0


EXAMPLES = """examples:
  python3 build.py demo
  python3 build.py demo walker.jm --input "joystick 1 y=-1" --seconds 8 --out /tmp/walk
  python3 build.py test tests/formats -k juice
  python3 build.py test --blender 4.2
  python3 build.py test --coverage
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

The first run sets up an environment (about 1 GB, a minute or two) in {cache}.
KNUCKLE_CACHE names another place.

`test` and `bench` with no further words also set up, once, the programs that some tests compare with: DART's Python
module and imt-ring (1 GB more, with JAX), `bench` MuJoCo as well. With further words they use what is there.
KNUCKLE_DARTPY, KNUCKLE_RING and KNUCKLE_MUJOCO may name Pythons of yours that have them, or be empty to do without;
tests that lack theirs say so and skip."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="build.py",
        description=__doc__,
        epilog=EXAMPLES.format(cache=cache()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="demo|test|bench|fuzz|zip|docs|check")

    def verb(name: str, action: object, text: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
        made.set_defaults(action=action)
        if name not in ("check", "fuzz"):
            more = [ALL] if name == "test" else []
            text = "default: 5.0, or 5.2 without a Python 3.11" + ("; all: one after the other" if more else "")
            made.add_argument("--blender", choices=[*BLENDERS, *more], help=text)
        return made

    words = verb("demo", demo, "a model walks under physics, is filmed, and goes out again")
    words.add_argument("file", nargs="?", help="a model; default: our hexapod, walking")
    words.add_argument("--input", action="append", default=[], metavar='"joystick 1 y=-1"', help="hold a control")
    words.add_argument("--seconds", type=float, default=8.0)
    words.add_argument("--out", metavar="DIR", help="default: out/ in the tree")
    words = verb("test", test, "the tests; further words go to pytest, paths counted from the tree's root")
    words.add_argument(
        "--ci", action="store_true", help="all on 4.2 and 5.0, the core ones on 4.5 and 5.2, and a table"
    )
    words.add_argument("--coverage", action="store_true", help="and which lines of addon/ they run, in out/coverage")
    verb("bench", bench, "how long things take; further words go to tests/bench/run.py")
    verb("fuzz", fuzz, "odd input for every reader, as long as you like; words go to tests/fuzz/run.py")
    words = verb("zip", make_zips, "the extension's zip files, validated by Blender, into dist/")
    words.add_argument("--platform", action="append", choices=list(PLATFORMS), help="only this one (repeatable)")
    words.add_argument("--pin", action="store_true", help="first note every platform's wheels in wheels.txt anew")
    words.add_argument("--out", metavar="DIR", help="default: dist/ in the tree")
    words = verb("docs", docs, "the manual as HTML, into out/docs")
    words.add_argument("--tables", action="store_true", help="first write its tables anew from the code")
    words.add_argument("--pictures", action="store_true", help="first render its pictures anew (some minutes)")
    words.add_argument("--window", metavar="DIR", help="and cut those of a window out of this run of tests/window")
    words.add_argument("--out", metavar="DIR", help="default: out/docs in the tree")
    verb("check", check, "ruff, mypy, the layering test and the manual with its links")
    return top


def main(words: Optional[Sequence[str]] = None) -> int:
    arguments = parser()
    options, rest = arguments.parse_known_args(words)
    if rest and options.verb not in ("test", "bench", "fuzz"):
        arguments.error(f"{options.verb} does not know {' '.join(rest)}")
    options.rest = [word for word in rest if word != "--"]
    if options.verb == "test" and options.ci and (options.blender or options.coverage or options.rest):
        arguments.error("test --ci has its own Blenders and tests: it takes no further words")
    if options.verb == "test" and options.coverage and options.blender == ALL:
        arguments.error("test --coverage is of one Blender: --blender 5.0")
    try:
        return int(options.action(options))
    except Trouble as trouble:
        print(paint(f"build.py: {trouble}", 31), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
