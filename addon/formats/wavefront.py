"""Wavefront files (.obj, .mtl) made harmless: what they name is read only where models may be read from.

An .obj names .mtl files and these name pictures, by whatever path; a program that reads the .obj opens them all. Here
the .obj gets a single .mtl of known statements, in which pictures are named by the path at which they were found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..model.report import FormatError
from .files import read_bytes
from .mesh_files import find_mesh

#: What a made .obj says of its materials.
LIBRARY = "knuckle.mtl"
_PLAIN = {"newmtl", "illum", "Ka", "Kd", "Ks", "Ke", "Tf", "Ns", "Ni", "d", "Tr"}
_PLAIN |= {"Pr", "Pm", "Ps", "Pc", "Pcr", "aniso", "anisor"}
_PICTURES = {"map_Ka", "map_Kd", "map_Ks", "map_Ke", "map_Ns", "map_d", "map_Pr", "map_Pm", "map_Ps", "map_refl"}
_PICTURES |= {"refl", "map_Bump", "map_bump", "bump", "norm"}
_OPTIONS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-mm": 2, "-o": 3, "-s": 3, "-t": 3, "-texres": 1, "-clamp": 1}
_OPTIONS |= {"-bm": 1, "-imfchan": 1, "-type": 1, "-cc": 1}
_PICTURE_KINDS = {".png", ".jpg", ".jpeg", ".tga", ".bmp", ".tif", ".tiff", ".exr", ".hdr", ".webp", ".jp2", ".dds"}
#: Statements that name files, and curves, of some of which Blender dies. Wherever the word stands: which bytes a reader
#: takes for the beginning of a line is its own affair.
_HARMFUL = re.compile(rb"(?<![\x21-\x5b\x5d-\x7e])(?:mtllib|curv2?|cstype)(?![\x21-\x5b\x5d-\x7e])")


def harmless(path: Path, folders: Iterable[Path | str], materials: Sequence[str] = ()) -> tuple[bytes, bytes]:
    """The bytes of an .obj, naming no file but ``LIBRARY``, and those of that .mtl. ``folders``: where what is named
    may lie beside the .obj; ``materials``: names of .mtl files to take where the .obj names none."""
    data = read_bytes(path)
    allowed = [*folders]
    names = _libraries(data) or [path.with_suffix(".mtl").name, *materials]
    statements: list[bytes] = []
    for name in dict.fromkeys(names):
        try:
            library = find_mesh(name, path, (), allowed)
            statements += _statements(read_bytes(library), library, allowed)
        except FormatError:
            continue  # a mesh is as good without its colours
    head = f"mtllib {LIBRARY}\n".encode()
    return head + _HARMFUL.sub(b"#", data), _HARMFUL.sub(b"#", b"\n".join(statements)) + b"\n"


def _libraries(data: bytes) -> list[str]:
    """The .mtl files that an .obj names, a name with spaces in it whole and in its parts."""
    names = []
    for found in re.finditer(rb"^[ \t]*mtllib[ \t]+(.*)$", data, re.MULTILINE):
        name = found[1].decode("utf-8", "replace").strip()
        names += [name, *(name.split() if " " in name else ())]
    return names


def _statements(data: bytes, library: Path, folders: Sequence[Path | str]) -> list[bytes]:
    """The statements of an .mtl that are known, pictures by their full paths; those not found are left out."""
    found = []
    for line in data.splitlines():
        words = line.decode("utf-8", "replace").rstrip("\\").split()
        if not words:
            continue
        if words[0] in _PLAIN:
            found.append(" ".join(words).encode())
        elif words[0] in _PICTURES:
            options, name = _options(words[1:])
            if Path(name.replace("\\", "/")).suffix.lower() not in _PICTURE_KINDS:
                continue
            try:
                picture = find_mesh(name, library, (), folders)
            except FormatError:
                continue
            if picture.suffix.lower() in _PICTURE_KINDS and "\n" not in str(picture):
                found.append(" ".join([words[0], *options, str(picture)]).encode("utf-8", "surrogateescape"))
    return found


def _options(words: Sequence[str]) -> tuple[list[str], str]:
    """The options of a picture, and its name. Of up to three numbers an option may leave some out."""
    at = 0
    while at < len(words) and words[at] in _OPTIONS:
        most = at + 1 + _OPTIONS[words[at]]
        at += 1
        numbers = _OPTIONS[words[at - 1]] == 3
        while at < min(most, len(words)) and (not numbers or _is_number(words[at])):
            at += 1
    return [*words[:at]], " ".join(words[at:])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
