"""What ``tools/build_zip.py`` packs: which files, which wheels, and that the same tree gives the same bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import parse_wheel_filename

from tests.support.doors import load_build
from tools import build_zip, uv
from tools.console import BuildError

ROOT = Path(__file__).resolve().parents[1]
BLENDER_TAGS = {"Import-Export", "Animation", "Physics", "Rigging"}  # those of Blender's fixed list that we are
PURE = {"trimesh", "pycollada", "python-dateutil", "six", "cycler", "fonttools", "packaging", "pyparsing"}
COMPILED = {"lxml", "matplotlib", "kiwisolver", "pillow", "contourpy"}


@pytest.fixture(scope="module")
def pylock() -> dict[str, Any]:
    """What uv.lock has of the group ``bundled``, as uv itself writes it."""
    if not uv.is_here():
        pytest.skip("uv is not here: build.py fetches it")
    return tomllib.loads(uv.exported("bundled", "--no-emit-package", "numpy", "--format", "pylock.toml"))


# ---- files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree with everything that must and must not be packed, and two wheels."""
    root = tmp_path / "tree"
    for name in (
        "addon/__init__.py",
        "addon/core/model.py",
        "addon/__pycache__/x.pyc",
        "addon/.hidden",
        "sample_models/crab/crab.jm",
        "sample_models/crab/crab.blend1",
        "tests/test_x.py",
        "addon/core/model.py~",
        "addon/core/model.py.orig",
        "addon/Thumbs.db",
        "sample_models/crab/crab.blend@",
        "sample_models/.DS_Store",
        "LICENSE",
        "COPYING",
        "CHANGELOG.md",
        "THIRD_PARTY.md",
        "README.md",
        "build.py",
        "wheels/b-1-cp313.whl",
        "wheels/a-1-cp311.whl",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (root / "blender_manifest.toml").write_text(manifest, encoding="utf-8")
    return root


def pack(tree: Path, target: Path, timestamp: int = 0) -> bytes:
    build_zip.platform_zip(target, tree, "linux-x64", sorted((tree / "wheels").iterdir(), reverse=True), timestamp)
    return target.read_bytes()


def test_the_zip_holds_the_pages_of_the_manual(tree: Path, tmp_path: Path) -> None:
    for name in ("index.html", "_images/walk.webp", ".buildinfo"):
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_text(name)
    build_zip.platform_zip(tmp_path / "k.zip", tree, "linux-x64", [], 0, tmp_path / "pages")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        pages = [name for name in archive.namelist() if name.startswith("manual/")]
        assert pages == ["manual/_images/walk.webp", "manual/index.html"]
        assert archive.read("manual/index.html") == b"index.html"


def test_the_zip_holds_the_package_and_nothing_else(tree: Path, tmp_path: Path) -> None:
    pack(tree, tmp_path / "k.zip")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        assert archive.namelist() == [
            "CHANGELOG.md",
            "COPYING",
            "LICENSE",
            "THIRD_PARTY.md",
            "__init__.py",
            "blender_manifest.toml",
            "core/model.py",
            "sample_models/crab/crab.jm",
            "wheels/a-1-cp311.whl",
            "wheels/b-1-cp313.whl",
        ]
        assert archive.read("core/model.py") == b"addon/core/model.py"


def test_the_zipped_manifest_names_platform_and_wheels(tree: Path, tmp_path: Path) -> None:
    pack(tree, tmp_path / "k.zip")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        packed = tomllib.loads(archive.read("blender_manifest.toml").decode())
    source = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    wheels = ["./wheels/a-1-cp311.whl", "./wheels/b-1-cp313.whl"]
    assert packed == {**source, "platforms": ["linux-x64"], "wheels": wheels}
    assert "wheels" not in source


# ---- wheels


def test_the_command_line_knows_the_platforms() -> None:
    assert list(load_build().PLATFORMS) == list(build_zip.PLATFORMS)


@pytest.mark.parametrize("platform", build_zip.PLATFORMS)
def test_a_zip_gets_compiled_wheels_for_each_python_and_pure_ones_once(pylock: dict[str, Any], platform: str) -> None:
    wheels = build_zip.locked_wheels(pylock, platform)
    names = [wheel.requirement.split("==")[0] for wheel in wheels]
    assert set(names) == PURE | COMPILED, "numpy is Blender's own"
    pythons = build_zip.PLATFORMS[platform].pythons
    assert {name: names.count(name) for name in set(names)} == {
        **dict.fromkeys(PURE, 1),
        **dict.fromkeys(COMPILED, len(pythons)),
    }
    contourpy = sorted(wheel.requirement for wheel in wheels if wheel.requirement.startswith("contourpy"))
    first = "1.3.3" if platform == "windows-arm64" else "1.3.2"
    assert contourpy == [f"contourpy=={first}", *["contourpy==1.3.3"] * (len(pythons) - 1)]
    for wheel in wheels:
        interpreter, abi, system = wheel.filename.removesuffix(".whl").split("-")[-3:]
        if wheel.requirement.split("==")[0] in PURE:
            assert (abi, system) == ("none", "any"), wheel.filename
        else:
            assert interpreter == abi and f"{interpreter[2]}.{interpreter[3:]}" in pythons
            kind = {"linux": "manylinux", "macos": "macosx", "windows": "win"}[platform.split("-", maxsplit=1)[0]]
            assert system.startswith(kind), wheel.filename


@pytest.mark.skipif(sys.platform != "linux", reason="the platform whose wheels are compared is Linux")
def test_the_wheels_are_those_that_uv_installs_here(pylock: dict[str, Any]) -> None:
    """uv chose this environment's wheels by itself: their own records have the same tags."""
    pytest.importorskip("bpy", reason="this is no Blender's environment")
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    ours = {}
    for wheel in build_zip.locked_wheels(pylock, "linux-x64"):
        name, version, _build, tags = parse_wheel_filename(wheel.filename)
        if name in PURE or python in wheel.filename:
            ours[str(name)] = (str(version), {str(tag) for tag in tags})
    del ours["fonttools"]  # uv takes a compiled one; ours serves all platforms
    installed = {}
    for each in ours:
        lines = (metadata.distribution(each).read_text("WHEEL") or "").splitlines()
        own_tags = {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}
        installed[each] = (metadata.version(each), own_tags)
    assert ours == installed


def test_a_package_without_a_wheel_for_a_platform_is_an_error() -> None:
    url = "https://example.org/lxml-6-cp311-cp311-win_arm64.whl"
    package = {"name": "lxml", "version": "6", "wheels": [{"url": url, "hashes": {"sha256": "0"}}]}
    build_zip.locked_wheels({"packages": [{**package, "marker": "python_version < '3.12'"}]}, "windows-arm64")
    with pytest.raises(BuildError, match="lxml==6 has no wheel for windows-arm64, Python 3.13"):
        build_zip.locked_wheels({"packages": [package]}, "windows-arm64")


def test_only_the_wheel_with_the_locked_hash_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, asked = b"the right one", []

    def pip(command: list[str], _failure: str) -> str:
        asked.append(command)
        assert Path(command[command.index("-r") + 1]).read_text() == f"six==1 --hash=sha256:{wheel.sha256}"
        (Path(command[command.index("-d") + 1]) / wheel.filename).write_bytes(content)
        return ""

    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(build_zip, "run_quietly", pip)
    wheel = build_zip.Wheel("six==1", "six-1-cp311-cp311-win_amd64.whl", hashlib.sha256(content).hexdigest())
    path = build_zip.fetch_wheel(wheel)
    assert path.read_bytes() == content
    assert {"--platform=win_amd64", "--python-version=311", "--no-deps", "--only-binary=:all:"} <= set(asked[0])
    assert build_zip.fetch_wheel(wheel) == path and len(asked) == 1
    path.write_bytes(b"another")
    with pytest.raises(BuildError, match=r"is not the one in uv\.lock"):
        build_zip.fetch_wheel(wheel)


# ---- bytes


def test_the_same_tree_gives_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    first = pack(tree, tmp_path / "1.zip")
    for path in tree.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert pack(tree, tmp_path / "2.zip") == first
    (tree / "addon/__init__.py").write_text("changed")
    assert pack(tree, tmp_path / "3.zip") != first


def checkout(folder: Path, *settings: str, umask: int = 0o022) -> Path:
    """What is committed, as somebody else would have it."""
    switches = [word for each in settings for word in ("-c", each)]
    words = ["git", *switches, "clone", "-q", "--shared", str(ROOT), str(folder)]
    before = os.umask(umask)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        os.umask(before)
    if done.returncode:
        pytest.skip(f"this tree is no repository of git: {done.stderr.strip()}")
    return folder


def test_two_checkouts_give_the_same_bytes_whatever_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other dates, rights, languages, line endings, orders of files and caches; a change still shows."""
    wheel = tmp_path / "six-1.17.0-py2.py3-none-any.whl"
    wheel.write_bytes(b"a wheel")

    def packed(tree: Path) -> bytes:
        build_zip.platform_zip(tmp_path / "k.zip", tree, "linux-x64", [wheel], 0)
        return (tmp_path / "k.zip").read_bytes()

    first, other = checkout(tmp_path / "one"), checkout(tmp_path / "two", "core.autocrlf=true", umask=0o077)
    reference = packed(first)
    for number, path in enumerate(other.rglob("*")):
        os.utime(path, (1e9 + number, 1e9 + number))
    for left_lying in ("addon/__pycache__/x.pyc", "addon/.mypy_cache/a", "sample_models/rover/rover.blend1"):
        (other / left_lying).parent.mkdir(parents=True, exist_ok=True)
        (other / left_lying).write_text("no part of it")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    backwards = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: reversed(list(backwards(self, pattern))))
    assert packed(other) == reference
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        names = archive.namelist()
        assert not [name for name in names if "test" in name.split("/")[0] or name.endswith((".blend1", ".pyc"))]
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {"blender_manifest.toml", "installation.py", "sample_models/rover/rover.jm"} <= set(names)
    (other / "addon/cli/telling.py").write_text("changed")
    assert packed(other) != reference


def test_sums_are_written_for_the_programs_that_check_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("knuckle-1-linux-x64.zip", "knuckle-1-macos-x64.zip", "knuckle-0-linux-x64.zip"):
        (tmp_path / name).write_text(name)
    build_zip.write_sums(tmp_path, "knuckle-1-*.zip")
    lines = (tmp_path / "SHA256SUMS").read_bytes().decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["knuckle-1-linux-x64.zip", "knuckle-1-macos-x64.zip"]
    for line in lines:
        digest, name = line.split("  ")
        assert digest == hashlib.sha256(name.encode()).hexdigest()
    assert capsys.readouterr().out.splitlines() == lines


def test_the_date_in_the_zip_may_be_given(tree: Path, tmp_path: Path) -> None:
    for timestamp, date in ((0, (1980, 1, 1, 0, 0, 0)), (1_000_000_000, (2001, 9, 9, 1, 46, 40))):
        pack(tree, tmp_path / "k.zip", timestamp)
        with zipfile.ZipFile(tmp_path / "k.zip") as archive:
            assert {entry.date_time for entry in archive.infolist()} == {date}


def test_the_manifest_is_one_that_blender_takes() -> None:
    text = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    manifest = tomllib.loads(text)
    assert manifest["id"] == "knuckle"
    assert manifest["license"] == ["SPDX:GPL-3.0-or-later"]
    assert set(manifest["tags"]) == BLENDER_TAGS
    for sentence in (manifest["tagline"], *manifest["permissions"].values()):
        assert len(sentence) <= 64
        assert sentence[-1].isalnum()
