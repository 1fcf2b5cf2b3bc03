"""``build.py bench farm``: the jobs for farms, run by ``openjd run``: a film in four chunks, and a sweep of 3 x 3.

The film is compared with the one that a single command makes: pictures bit by bit, and the video's own data.
``--keep DIR`` leaves all of it to be looked at."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOK = ("--size", "160x90", "--engine", "workbench")


def openjd() -> str | None:
    """The program, beside our Python or on the path."""
    return shutil.which("openjd", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def knuckle(*words: object) -> None:
    """Run a verb."""
    subprocess.run([sys.executable, "-m", "addon", *map(str, words), "--quiet"], cwd=ROOT, check=True)


def run_job(folder: Path) -> float:
    """Have openjd check and run a job; the seconds it took."""
    program, started = openjd(), time.perf_counter()
    for verb in ("check", "run"):
        done = subprocess.run(
            [str(program), verb, str(folder / "template.json")], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"openjd {verb} failed:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")
    return time.perf_counter() - started


def media(path: Path) -> bytes:
    """The pictures in a video: its mdat box. What stands around it has the date in it."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"mdat":
            return data[at : at + size]
        at += size
    raise ValueError(f"no pictures in {path}")


def film(room: Path) -> list[str]:
    """A film in four chunks against that of one command: what is wrong."""
    model, job = ROOT / "sample_models/hexapod/hexapod.jm", room / "film"
    words = (model, "--input", "joystick 1 y=-1", "--seconds", 1, *LOOK)
    knuckle("job", *words, "--chunk", 8, "--out", job)
    seconds = run_job(job)
    knuckle("render", *words, "--prepare", room / "stage.blend")
    knuckle("render", room / "stage.blend", "--frames", "1..9999", "--out", room / "frames")
    started = time.perf_counter()
    knuckle("render", *words, "--out", room / "one.mp4")
    alone = time.perf_counter() - started
    ours, theirs = sorted((room / "frames").glob("*.png")), sorted((job / "out/frames").glob("*.png"))
    chunks = -(-len(theirs) // 8)
    print(f"film: {len(theirs)} frames in {chunks} chunks, {seconds:.1f} s by openjd, {alone:.1f} s by one command")
    wrong = []
    if [path.name for path in ours] != [path.name for path in theirs] or chunks != 4:
        wrong.append(f"the job made {len(theirs)} frames in {chunks} chunks, at one go there are {len(ours)}")
    wrong += [f"{a.name} differs" for a, b in zip(ours, theirs, strict=False) if a.read_bytes() != b.read_bytes()]
    if media(job / "out/hexapod.mp4") != media(room / "one.mp4"):
        wrong.append("the videos differ")
    return wrong


def sweep(room: Path) -> list[str]:
    """A sweep of 3 x 3: what is wrong."""
    job = room / "sweep"
    axes = ("--sweep", "joystick 1 y=-1..1:3", "--sweep", "friction=0.2,0.5,1")
    knuckle("job", ROOT / "sample_models/hexapod/hexapod.jm", *axes, "--seconds", 2, "--out", job)
    seconds = run_job(job)
    rows = list(csv.DictReader((job / "out/sweep.csv").read_text(encoding="utf-8").splitlines()))
    print(f"sweep: {len(rows)} points of 2 s in {seconds:.1f} s")
    for row in rows:
        print("  " + ", ".join(f"{name} {float(value):.4g}" for name, value in row.items() if value))
    wrong = [] if len({(row["joystick 1 y"], row["friction"]) for row in rows}) == 9 else ["points are missing"]
    if not (job / "out/sweep.png").read_bytes().startswith(b"\x89PNG"):
        wrong.append("there is no plot")
    far = {row["joystick 1 y"]: float(row["distance"]) for row in rows if row["friction"] == "1"}
    if not far["-1"] > 2 * far["0"]:
        wrong.append("the stick makes no difference to how far it walks")
    return wrong


def main(arguments: list[str]) -> int:
    """Print the figures; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="build.py bench farm", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave everything in this folder")
    options = parser.parse_args(arguments)
    if openjd() is None:
        print("openjd is not here: pip install openjd-cli", file=sys.stderr)
        return 1
    with contextlib.ExitStack() as stack:
        room = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        room.mkdir(parents=True, exist_ok=True)
        wrong = [*film(room.resolve()), *sweep(room.resolve())]
    for text in wrong:
        print(f"WRONG: {text}")
    return 1 if wrong else 0
