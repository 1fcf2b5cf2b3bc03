"""Wavefront .obj and .mtl files: writing of points and polygons, and sanitizing of files before Blender reads them."""

from __future__ import annotations

import math
import os
import re
import string
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...core.model import Array
from ...core.report import FormatError
from ..text.file_io import read_bytes
from .locate import find_mesh

#: Blender's points are 32-bit floats.
_SIGNIFICANT_DIGITS = 7


def format_obj(name: str, points: Array, polygons: Iterable[Sequence[int]]) -> str:
    """Return the text of an .obj with one object.

    Args:
        name: name of the object.
        points: (n, 3).
        polygons: indices of points, from 0.
    """
    lines = ["# knuckle", f"o {name.replace(chr(10), ' ')}"]
    lines += [f"v {' '.join(f'{float(x):.{_SIGNIFICANT_DIGITS}g}' for x in point)}" for point in points]
    lines += ["f " + " ".join(str(number + 1) for number in polygon) for polygon in polygons]
    return "\n".join(lines) + "\n"


#: Material library that a sanitized .obj refers to.
MATERIAL_LIBRARY = "knuckle.mtl"
#: Blender truncates paths at 1023 bytes, and the result may be another file.
MAX_PATH_LENGTH = 1000
#: Limits of names of .mtl files, of bytes in these, and of names of images.
_MAX_LIBRARIES, _MAX_BYTES, _MAX_TEXTURES = 100, 16 * 2**20, 1000
_MATERIAL_STATEMENTS = {"newmtl", "illum", "Ka", "Kd", "Ks", "Ke", "Tf", "Ns", "Ni", "d", "Tr"}
_MATERIAL_STATEMENTS |= {"Pr", "Pm", "Ps", "Pc", "Pcr", "aniso", "anisor"}
_TEXTURE_STATEMENTS = {
    "map_Ka",
    "map_Kd",
    "map_Ks",
    "map_Ke",
    "map_Ns",
    "map_d",
    "map_Pr",
    "map_Pm",
    "map_Ps",
    "map_refl",
}
_TEXTURE_STATEMENTS |= {"refl", "map_Bump", "map_bump", "bump", "norm"}
#: Options of textures and the number of their arguments; of three numbers some may be missing.
_OPTIONS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-mm": 2, "-o": 3, "-s": 3, "-t": 3, "-texres": 1, "-clamp": 1}
_OPTIONS |= {"-bm": 1, "-imfchan": 1, "-type": 1, "-cc": 1}
#: Options that are kept, with the defaults of their numbers.
_KEPT_OPTIONS = {"-o": (0.0, 0.0, 0.0), "-s": (1.0, 1.0, 1.0), "-bm": (1.0,)}
_IMAGE_EXTENSIONS = {".png", ".jpg", ".jpeg", ".tga", ".bmp", ".tif", ".tiff", ".exr", ".hdr", ".webp", ".jp2", ".dds"}
#: Statements that name files, and curves, some of which crash Blender. Matched anywhere in the text, as readers differ
#: in what they take for the beginning of a line.
_UNSAFE_STATEMENTS = re.compile(rb"(?<![\x21-\x5b\x5d-\x7e])(?:mtllib|curv2?|cstype)(?![\x21-\x5b\x5d-\x7e])")


@dataclass
class SanitizedObj:
    """Sanitized .obj that refers only to ``MATERIAL_LIBRARY``, the bytes of that, and the images it refers to."""

    data: bytes
    materials: bytes
    pictures: list[Path]


def sanitize_obj(
    path: Path, folders: Iterable[Path | str], materials: Sequence[str], names: MutableMapping[Path, str]
) -> SanitizedObj:
    """Make an .obj safe to read: no references but to a generated .mtl and allowed images, no curves.

    Args:
        path: the .obj file.
        folders: folders, beside that of the .obj, in which referenced files may lie.
        materials: names of .mtl files to use where the .obj names none.
        names: names of images in the generated .mtl; extended.
    """
    data = read_bytes(path)
    gathered = _Materials([*folders], names)
    named = material_libraries(data) or [path.with_suffix(".mtl").name, *materials]
    for name in [*dict.fromkeys(named)][:_MAX_LIBRARIES]:
        gathered.add(name, path)
    head = f"mtllib {MATERIAL_LIBRARY}\n".encode()
    made = _UNSAFE_STATEMENTS.sub(b"#", b"\n".join(gathered.statements)) + b"\n"
    return SanitizedObj(head + _UNSAFE_STATEMENTS.sub(b"#", data), made, [*gathered.pictures])


def material_libraries(data: bytes) -> list[str]:
    """Return the .mtl files that an .obj names; a name with spaces as a whole and in its parts."""
    names = []
    for found in re.finditer(rb"^[ \t]*mtllib[ \t]+(.*)$", data, re.MULTILINE):
        name = found[1].decode("utf-8", "replace").strip()
        names += [name, *(name.split() if " " in name else ())]
    return names


@dataclass
class _Materials:
    """Known statements of .mtl files, each file once whatever its names; images that are not found are left out."""

    folders: Sequence[Path | str]
    names: MutableMapping[Path, str]
    statements: list[bytes] = field(default_factory=list)
    pictures: dict[Path, None] = field(default_factory=dict)
    _seen: set[Path] = field(default_factory=set)
    _looked_for: dict[tuple[Path, str], Path | None] = field(default_factory=dict)
    _size: int = 0

    def add(self, name: str, beside: Path) -> None:
        """Add the .mtl of a name if it may be read; a mesh is usable without its colors."""
        try:
            library = find_mesh(name, beside, (), self.folders)
            if library in self._seen or self._size + library.stat().st_size > _MAX_BYTES:
                return
            self._seen.add(library)
            data = read_bytes(library)
        except (FormatError, OSError):
            return
        self._size += len(data)
        for line in data.splitlines():
            words = line.decode("utf-8", "replace").rstrip(string.whitespace + "\\").split()
            if words and words[0] in _MATERIAL_STATEMENTS:
                self.statements.append(" ".join(words).encode())
            elif words and words[0] in _TEXTURE_STATEMENTS:
                self._add_picture(words, library)

    def _add_picture(self, words: Sequence[str], library: Path) -> None:
        options, name = _texture_options(words[1:])
        key = library.parent, name
        if key not in self._looked_for and len(self._looked_for) < _MAX_TEXTURES:
            self._looked_for[key] = _find_texture(name, library, self.folders)
        picture = self._looked_for.get(key)
        if picture is not None:
            self.pictures[picture] = None
            plain = self.names.setdefault(picture, f"{len(self.names)}{picture.suffix.lower()}")
            self.statements.append(" ".join([words[0], *options, plain]).encode())


def _find_texture(name: str, library: Path, folders: Sequence[Path | str]) -> Path | None:
    """Return the file of an image that an .mtl names, if it is an image and may be read."""
    if Path(name.replace("\\", "/")).suffix.lower() not in _IMAGE_EXTENSIONS:
        return None
    try:
        picture = find_mesh(name, library, (), folders)
    except FormatError:
        return None
    fits = picture.suffix.lower() in _IMAGE_EXTENSIONS and len(os.fsencode(picture)) <= MAX_PATH_LENGTH
    return picture if fits else None


def texture_name(line: bytes) -> str:
    """Return the image that a line of an .mtl names; empty if none."""
    words = line.decode("utf-8", "replace").rstrip(string.whitespace + "\\").split()
    return _texture_options(words[1:])[1] if words and words[0] in _TEXTURE_STATEMENTS else ""


def _texture_options(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the options of a texture that are kept, with all their numbers, and its name."""
    kept: list[str] = []
    at = 0
    while at < len(words) and words[at] in _OPTIONS:
        option, first = words[at], at + 1
        at = min(first + _OPTIONS[option], len(words))
        if _OPTIONS[option] == 3:  # some may be left out
            at = next((k for k in range(first, at) if _number(words[k]) is None), at)
        if option in _KEPT_OPTIONS:
            given = [_number(word) for word in words[first:at]]
            full = [*given, *_KEPT_OPTIONS[option][len(given) :]]
            kept += [option, *(f"{one if one is not None else 1.0:.9g}" for one in full)]
    return kept, " ".join(words[at:])


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
