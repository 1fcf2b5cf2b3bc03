"""The zip in a Blender with a model and physics: see ``installed.py``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.build_zip import packaged_files, write_zip

pytest.importorskip("bpy", reason="Blender is not here")
ROOT = Path(__file__).resolve().parents[3]


def zipped(path: Path, version: str = "") -> Path:
    """The extension for any platform, without wheels: what they hold is here already."""
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    if version:
        manifest = re.sub(r'(?m)^version = ".*"', f'version = "{version}"', manifest)
    content = {name: file.read_bytes() for name, file in packaged_files(ROOT).items()}
    content["blender_manifest.toml"] = manifest.encode()
    write_zip(path, content, 0)
    return path


def test_the_zip_is_installed_upgraded_disabled_enabled_and_uninstalled(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
        "BLENDER_USER_RESOURCES": str(tmp_path / "user"),
    }  # fmt: skip
    old, new = zipped(tmp_path / "old.zip", "0.9.0"), zipped(tmp_path / "new.zip")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/installed.py"), str(tmp_path), str(old), str(new)],
        capture_output=True, text=True, env=env, timeout=240, check=False,
    )  # fmt: skip
    told = done.stderr
    assert "Traceback" not in told + done.stdout, told[-3000:]
    assert told.rstrip().endswith("DONE"), told[-3000:]
