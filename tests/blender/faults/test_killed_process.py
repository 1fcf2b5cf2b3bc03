"""Killed while it writes: every file is the old one or the new one, whole, and the next run is as any other.

``python -m tests.blender.faults.test_killed_process TRIALS`` tries it so many times and counts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("bpy", reason="Blender is not here")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows kills in another way")
ROOT = Path(__file__).resolve().parents[3]
#: Seconds from the first writing, within which the end comes at random.
LONGEST = 1.2


def killed(folder: Path, seed: int) -> None:
    """Have all outputs written again and again in a process, and kill that at a moment of the seed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    script = str(ROOT / "tests/support/writing.py")
    with (folder / "log").open("w") as log, subprocess.Popen(
        [sys.executable, script, str(folder), str(seed)], stdout=subprocess.PIPE, stderr=log, text=True, env=env
    ) as child:  # fmt: skip
        assert child.stdout is not None
        try:
            assert any(line == "READY\n" for line in child.stdout), (folder / "log").read_text()[-2000:]
            time.sleep(random.Random(seed).uniform(0.0, LONGEST))
            assert child.poll() is None, (folder / "log").read_text()[-2000:]
        finally:
            child.kill()


def faults(folder: Path) -> tuple[list[str], list[str]]:
    """What is neither the one nor the other after all, and what lies about."""
    import bpy

    wrong = []
    out, whole = folder / "out", folder / "whole"
    kept = {path.relative_to(out) for path in out.rglob("*") if path.is_file()}
    wanted = {Path(*path.relative_to(whole).parts) for path in whole.rglob("*") if path.is_file()}
    wanted = {Path(str(path).split(" ", maxsplit=1)[1]) for path in wanted}
    wrong += [f"{path} is gone" for path in sorted(wanted - kept)]
    for path in sorted(wanted & kept):
        if path.suffix == ".blend":
            with bpy.data.libraries.load(str(out / path)) as (there, _here):  # type: ignore[attr-defined]
                names = sorted(there.scenes)
            if names not in (["A"], ["B"]):
                wrong.append(f"{path} holds {names}")
        elif told_by(out / path) not in [told_by(whole / f"{which} {path}") for which in "AB"]:
            wrong.append(f"{path} is neither the one nor the other")
    return wrong, sorted(str(path) for path in kept - wanted)


def told_by(path: Path) -> tuple[int, bytes]:
    """What must be as it was: all of it, but of a video what goes before the pictures only in its length, since one
    byte that is stated there is now this, now that."""
    data = path.read_bytes()
    return len(data), data[data.index(b"mdat") if path.suffix == ".mp4" and b"mdat" in data else 0 :]


@pytest.mark.parametrize("seed", [1])
def test_whoever_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path, seed: int) -> None:
    killed(tmp_path, seed)
    wrong, left = faults(tmp_path)
    assert wrong == []
    assert all(Path(name).name.startswith(".") and ".part" in name for name in left), "hidden, and nobody's"


def test_the_next_one_to_write_there_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    import bpy

    from addon.blender.tasks.scenes import save_blend
    from addon.formats.text.file_io import write_atomically

    def leave(name: str, seconds: float) -> Path:
        path = tmp_path / name
        path.write_bytes(b"half of it")
        os.utime(path, (time.time() - seconds,) * 2)
        return path

    names = (".x.jm.abcd_123.part", ".x.blend.abcd_123.part.blend", ".x.blend.zzzzzzzz.part.blend@")
    old = [leave(name, 7200) for name in names]
    users = ("x.jm.part", ".y.jm.abcd_123.part", ".x.jm.parts.json", ".x.jm.my_notes.part.zip", ".x.jm.is.part")
    others = [leave(".x.jm.defg_123.part", 60), *(leave(name, 7200) for name in users)]
    write_atomically(tmp_path / "x.jm", b"whole")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    save_blend(tmp_path / "x.blend")
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in others), "what somebody may be writing now, and what is not ours"
    assert len(list(tmp_path.iterdir())) == len(others) + 2


def main(trials: int) -> None:
    """Try it, and count."""
    tally: Counter[str] = Counter()
    for seed in range(trials):
        with tempfile.TemporaryDirectory() as name:
            killed(Path(name), seed)
            wrong, left = faults(Path(name))
            tally.update({"trials": 1, "with what was left": bool(left), "files left": len(left)})
            tally.update({f"WRONG {each}": 1 for each in wrong})
            print(seed, wrong, left, flush=True)
    print(dict(tally))


if __name__ == "__main__":
    main(int(sys.argv[1]))
