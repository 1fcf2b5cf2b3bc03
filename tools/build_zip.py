"""Build the extension's zip files, one for each platform, with the wheels that Blender does not bring.

The same commit gives the same bytes on every machine. ``python3 build.py zip`` runs this in the environment of a
Blender, whose validator reads each zip, with the manual as HTML and the group ``bundled`` of uv.lock as pylock.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from tools.console import ROOT, BuildError, run_quietly, say, step
from tools.uv import cache, locked


class Platform(NamedTuple):
    """A kind of machine in Blender's words.

    Attributes:
        system: ``sys.platform`` there.
        machine: ``platform.machine()`` there.
        tags: Platform tags of wheels that run there, best first.
        pythons: Those of the Blenders that run there.
    """

    system: str
    machine: str
    tags: tuple[str, ...]
    pythons: tuple[str, ...] = ("3.11", "3.13")


MANYLINUX = (*(f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)), "manylinux2014_x86_64")
#: Linux has Python 3.14 too: distributions build Blender with their own Python. There is no Blender for ARM Linux.
PLATFORMS = {
    "linux-x64": Platform("linux", "x86_64", MANYLINUX, ("3.11", "3.13", "3.14")),
    "windows-x64": Platform("win32", "AMD64", ("win_amd64",)),
    "windows-arm64": Platform("win32", "ARM64", ("win_arm64",)),
    "macos-x64": Platform("darwin", "x86_64", tuple(mac_platforms((11, 0), "x86_64"))),
    "macos-arm64": Platform("darwin", "arm64", tuple(mac_platforms((11, 0), "arm64"))),
}

#: What lies beside the package in the tree and goes into the zip with it.
BESIDE = ("LICENSE", "COPYING", "CHANGELOG.md", "THIRD_PARTY.md")
#: Hidden files, caches, and what editors, merges and systems leave behind: no part of a release.
LEFTOVERS = re.compile(
    r"\..*|__pycache__|.*(~|\.(pyc|bak|orig|rej|tmp|swp|log|partial|blend\d+|blend@))|Thumbs\.db|desktop\.ini", re.I
)


# ---- Wheels --------------------------------------------------------------------------------------------


class Wheel(NamedTuple):
    """A wheel in the lock file: the requirement it fulfills, its file's name and its SHA-256 in hexadecimal."""

    requirement: str
    filename: str
    sha256: str


def locked_wheels(pylock: Mapping[str, Any], platform: str) -> list[Wheel]:
    """Return the wheels for a platform, once each: compiled ones for each of its Pythons, pure ones for all."""
    found: dict[Wheel, None] = {}
    for python in PLATFORMS[platform].pythons:
        environment, tags = marker_environment(platform, python), wheel_tags(platform, python)
        for package in pylock["packages"]:
            if "marker" not in package or Marker(package["marker"]).evaluate(environment):
                found[best_wheel(package, tags, f"{platform}, Python {python}")] = None
    return list(found)


def marker_environment(platform: str, python: str) -> dict[str, str]:
    """Return what the markers of requirements ask for, as it is on a platform."""
    kind = PLATFORMS[platform]
    return {
        "python_version": python,
        "python_full_version": f"{python}.99",
        "sys_platform": kind.system,
        "platform_machine": kind.machine,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }


def wheel_tags(platform: str, python: str) -> list[Tag]:
    """Return the tags of wheels that a Python on a platform takes, best first."""
    major, minor = map(int, python.split("."))
    version, tags = (major, minor), PLATFORMS[platform].tags
    return [*cpython_tags(version, platforms=tags), *compatible_tags(version, f"cp{major}{minor}", tags)]


def best_wheel(package: Mapping[str, Any], tags: Sequence[Tag], place: str) -> Wheel:
    """Return the wheel of a package that is in pure Python, else the one whose tag comes first.

    Raises:
        BuildError: None runs there.
    """
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    fitting = []
    for each in package["wheels"]:
        filename = each["url"].rpartition("/")[2]
        rank = min((ranks[tag] for tag in parse_wheel_filename(filename)[3] if tag in ranks), default=None)
        if rank is not None:
            fitting.append((not filename.endswith("-none-any.whl"), rank, filename, each["hashes"]["sha256"]))
    requirement = f"{package['name']}=={package['version']}"
    if not fitting:
        raise BuildError(f"{requirement} has no wheel for {place}: choose another version in pyproject.toml")
    return Wheel(requirement, *min(fitting)[2:])


def fetch_wheel(wheel: Wheel) -> Path:
    """Return a wheel's file, from the cache or through pip, which has no other than the one with its hash."""
    folder = cache() / "wheels" / wheel.sha256
    path = folder / wheel.filename
    with locked(folder.with_name(folder.name + ".lock")):
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "it.txt").write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}", encoding="utf-8")
            python, abi, platforms = wheel.filename.removesuffix(".whl").split("-")[-3:]
            target = [f"--platform={platform}" for platform in platforms.split(".")]
            if abi != "none":
                target += [f"--abi={abi}", "--implementation=cp", f"--python-version={python.removeprefix('cp')}"]
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *target]
            with step(f"downloading {wheel.filename}"):
                run_quietly([*pip, "-r", str(folder / "it.txt"), "-d", str(folder)], f"pip finds no {wheel.filename}:")
    if hashlib.sha256(path.read_bytes()).hexdigest() != wheel.sha256:
        raise BuildError(f"{path} is not the one in uv.lock: delete it and try again")
    return path


def third_party(root: Path) -> dict[str, tuple[set[str], list[str]]]:
    """Return the rows of THIRD_PARTY.md: package -> its versions, and where its licenses are in its wheel."""
    text = (root / "THIRD_PARTY.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0].lower(): (set(re.split(r",\s*", row[1])), re.findall(r"`([^`]+)`", row[4])) for row in rows[2:]}


def check_licenses(wheels: Sequence[Path], listed: Mapping[str, tuple[set[str], list[str]]]) -> None:
    """Check that each wheel is listed in its version and holds the licenses that are said to be in it.

    Raises:
        BuildError: One is not, or does not.
    """
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        versions, texts = listed.get(name.lower().replace("_", "-"), (set(), []))
        if version not in versions:
            raise BuildError(f"THIRD_PARTY.md has no row for {name} {version}: add it with its license and its holder.")
        with zipfile.ZipFile(wheel) as archive:
            brought = [each.partition("/")[2] for each in archive.namelist() if ".dist-info/" in each]
            brought += archive.namelist()
        lacking = [text for text in texts if text not in brought]
        if lacking or not texts:
            raise BuildError(f"{wheel.name} does not hold {' nor '.join(lacking) or 'a license'}: correct its row.")


# ---- Zips ----------------------------------------------------------------------------------------------


def packaged_files(root: Path) -> dict[str, Path]:
    """Return name in the zip -> file: the package at the zip's root, where Blender wants it; samples; licenses."""
    files = {name: root / name for name in BESIDE}
    for folder, base in ((root / "addon", root / "addon"), (root / "sample_models", root)):
        files.update(files_under(folder, base))
    return files


def files_under(folder: Path, base: Path) -> dict[str, Path]:
    """Return path from ``base`` -> file, for all under a folder that are no leftovers."""
    found = {path.relative_to(base): path for path in folder.rglob("*") if path.is_file()}
    return {name.as_posix(): path for name, path in found.items() if not any(map(LEFTOVERS.fullmatch, name.parts))}


def platform_manifest(manifest: str, platform: str, wheels: Sequence[str]) -> str:
    """Return the manifest with ``platforms`` and ``wheels``, before its first table: else they would belong to that."""
    listed = "".join(f'  "./wheels/{name}",\n' for name in wheels)
    added = f'platforms = ["{platform}"]\nwheels = [\n{listed}]\n\n'
    head = re.search(r"^\[", manifest, re.MULTILINE)
    at = head.start() if head else len(manifest)
    return manifest[:at] + added + manifest[at:]


def write_zip(target: Path, content: Mapping[str, bytes], timestamp: int) -> None:
    """Write a zip whose bytes depend on nothing but its content.

    Names are sorted, all files have one date and the same permissions. Nothing is compressed: each zlib does that in
    its own way, and the wheels, nearly all of it, are compressed.

    Args:
        target: Path of the zip.
        content: Name in the zip -> bytes.
        timestamp: Date of all files, in seconds since 1970; those before 1980 become 1980, where zip's time begins.
    """
    date = time.gmtime(max(timestamp, 315532800))[:6]
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
    target: Path, root: Path, platform: str, wheels: Sequence[Path], timestamp: int, manual: Path | None = None
) -> None:
    """Pack Knuckle for a platform, with the pages of the manual in the folder ``manual``."""
    manifest = (root / "blender_manifest.toml").read_text(encoding="utf-8")
    content = {name: path.read_bytes() for name, path in packaged_files(root).items()}
    content.update({f"wheels/{wheel.name}": wheel.read_bytes() for wheel in wheels})
    if manual is not None:
        content.update({f"manual/{name}": page.read_bytes() for name, page in files_under(manual, manual).items()})
    names = sorted(wheel.name for wheel in wheels)
    content["blender_manifest.toml"] = platform_manifest(manifest, platform, names).encode()
    write_zip(target, content, timestamp)


def validate_zip(target: Path) -> None:
    """Have Blender's own validator read a zip, with its own list of tags, as its module brings them along."""
    spec = find_spec("bpy")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("There is no bpy here to validate the zip with: run this by build.py zip")
    scripts = next(path.parent for path in Path(spec.submodule_search_locations[0]).glob("*/scripts/addons_core"))
    tags = f"--valid-tags={scripts / 'modules/_bpy_internal/extensions/tags.py'}"
    validator = [sys.executable, str(scripts / "addons_core/bl_pkg/cli/blender_ext.py"), "validate", tags, str(target)]
    run_quietly(validator, f"Blender's validator rejects {target.name}:")


def write_sums(folder: Path, pattern: str) -> None:
    """Write SHA256SUMS beside the zips, for ``sha256sum --check``."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.glob(pattern))]
    (folder / "SHA256SUMS").write_bytes("".join(lines).encode())
    say("".join(lines).rstrip())


def build_zips(platforms: Iterable[str], pylock: Mapping[str, Any], manual: Path, out: Path, timestamp: int) -> None:
    """Build and validate the zips of some platforms, and their sums."""
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    name = f"{manifest['id']}-{manifest['version']}"
    for platform in platforms:
        wheels = [fetch_wheel(wheel) for wheel in locked_wheels(pylock, platform)]
        check_licenses(wheels, third_party(ROOT))
        target = out / f"{name}-{platform}.zip"
        with step(f"{target} made and validated"):
            platform_zip(target, ROOT, platform, wheels, timestamp, manual)
            validate_zip(target)
        say(f"  {target.stat().st_size / 1e6:.1f} MB, with {', '.join(wheel.name for wheel in wheels)}")
    write_sums(out, f"{name}-*.zip")


def main() -> int:
    """Build zips as ``build.py zip`` asks; 1 and a message where that cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--platform", action="append", choices=list(PLATFORMS))
    parser.add_argument("--lock", type=Path, required=True, metavar="FILE", help="pylock.toml of what is bundled")
    parser.add_argument("--manual", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    pylock = tomllib.loads(options.lock.read_text(encoding="utf-8"))
    timestamp = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    try:
        build_zips(options.platform or PLATFORMS, pylock, options.manual, options.out, timestamp)
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
