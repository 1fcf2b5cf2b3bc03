"""The good files that fuzzing starts from: our sample models, real ones where they are, and both in every format.

Large files are thinned until they are small, since a fuzzer's rate is what counts.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from addon import formats
from addon.core.gait.engine import find_gait, sample_gait
from addon.core.model import Mechanism, Motion, Trajectory
from addon.core.report import FormatError
from addon.formats.text.file_io import encode_text
from tests.fuzz.mutate import CUTS
from tests.support import mesh_samples
from tests.support.references import CORPUS

ROOT = Path(__file__).resolve().parents[2]
#: A larger file is not thinned but passed over.
LARGEST_SOURCE = 12_000
_MTL = b"newmtl red\nKd 1 0 0\nd 0.5\nillum 2\nmap_Kd -o 1 2 3 -s 1 1 -bm 0.5 red.png\nbump -imfchan r ../a b.png\n"
_NAMES = (
    b"a.obj", b"../secret.obj", b"/etc/passwd", b"file:///etc/passwd", b"package://a/a.obj", b"\\\\host\\share\\a.obj",
    b"http://host/a.obj", b"C:\\a.obj", b"./A.OBJ", b"%2e%2e/secret.obj", b"file://localhost/a.obj", b"..//..//a.obj",
)  # fmt: skip


def seeds(largest: int) -> dict[str, list[bytes]]:
    """Good files of no more than ``largest`` bytes by reader."""
    found: dict[str, list[bytes]] = {reader: [] for reader in (*CUTS, "stl", "ply", "names", "any")}
    for path in _files():
        data = path.read_bytes()
        if path.suffix in (".obj", ".mtl") and path.suffix[1:] in found:
            found[path.suffix[1:]].append(data)
            continue
        for reader, made in _formats_of(data, path):
            found[reader].append(thinned(made, largest, CUTS[reader], _read_as(reader)))
    for name, data in {**mesh_samples.SAMPLES, **mesh_samples.BROKEN}.items():
        kind = Path(name).suffix[1:]
        if kind in ("obj", "stl", "ply", "dae"):
            found["collada" if kind == "dae" else kind].append(data)
    found["mtl"].append(_MTL)
    found["names"] += _NAMES
    found = {reader: [data for data in dict.fromkeys(made) if len(data) <= largest] for reader, made in found.items()}
    found["any"] += [each for reader, made in found.items() if reader != "any" for each in made[:12]]
    return found


def _files() -> Iterator[Path]:
    for root in (ROOT / "sample_models", CORPUS):
        paths = (path for path in sorted(root.rglob("*")) if path.is_file())
        yield from (path for path in paths if root != CORPUS or path.stat().st_size < LARGEST_SOURCE)


def _formats_of(data: bytes, path: Path) -> Iterator[tuple[str, bytes]]:
    """A file as it is, and as every other format has it."""
    try:
        mechanism = formats.loads(data, path.name)
    except FormatError:
        try:
            motions, _ = formats.loads_motions(data, path.name)
        except FormatError:
            return
        yield from _motions(data, motions)
        return
    yield mechanism.source.format, data
    yield from _models(mechanism)
    if find_gait(mechanism) is not None:
        yield from _motions(None, [sample_gait(mechanism, {}, 0.2, 0.04)])


def _models(mechanism: Mechanism) -> Iterator[tuple[str, bytes]]:
    for row in formats.FORMATS:
        if row != mechanism.source.format:
            yield row, encode_text(formats.dumps(mechanism, row)[0], "")


def _motions(data: bytes | None, motions: list[Motion]) -> Iterator[tuple[str, bytes]]:
    if data is not None:
        yield motions[0].source.format, data
    few = [
        Motion(
            motion.name,
            [Trajectory(t.name, t.times[:6], t.values[:6], unit=t.unit) for t in motion.trajectories[:5]],
            attributes=motion.attributes,
        )
        for motion in motions[:2]
    ]
    for row in formats.MOTION_FORMATS:
        try:
            yield row, formats.dumps_motions(few if row == "xmdi" else few[:1], row).encode()
        except FormatError:
            continue


def _read_as(reader: str) -> Callable[[bytes], bool]:
    """Whether a reader still takes a file."""
    read = formats.loads_motions if reader in formats.MOTION_FORMATS else formats.loads

    def takes(data: bytes) -> bool:
        try:
            read(data, "")
        except FormatError:
            return False
        return True

    return takes


def thinned(
    data: bytes, largest: int, cut: Callable[[str], list[tuple[int, int]]], takes: Callable[[bytes], bool]
) -> bytes:
    """A file with pieces left out until it is small; as it is where it cannot be."""
    rng = random.Random(len(data))
    for _ in range(300):
        if len(data) <= largest:
            break
        text = data.decode("utf-8", "replace")
        spans = [(start, end) for start, end in cut(text) if 20 <= end - start < len(text) * 0.6]
        if not spans:
            break
        start, end = max(rng.sample(spans, min(4, len(spans))), key=lambda span: span[1] - span[0])
        less = (text[:start] + text[end:]).encode()
        if takes(less):
            data = less
    return data


def joint_state(folder: Path, largest: int) -> None:
    """Write the seeds of every reader, each into a folder of its own under ``folder``."""
    for reader, found in seeds(largest).items():
        place = folder / reader / "seeds"
        place.mkdir(parents=True, exist_ok=True)
        for data in found:
            (place / hashlib.sha1(data).hexdigest()).write_bytes(data)
        print(f"{reader}: {len(found)} seeds", flush=True)


if __name__ == "__main__":
    joint_state(Path(sys.argv[1]), int(sys.argv[2]))
