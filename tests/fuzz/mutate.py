"""Changes to a file that keep most of it sound: numbers, elements, values and lines, rather than letters.

A fuzzer that changes letters breaks the first tag and never comes past the parser. Here a text is cut at the marks of
its language, and its pieces are changed, doubled, left out, moved, or taken from other files.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_][\w.:-]*")
_TAG = re.compile(r"<(/?)([^\s<>/!?]+)[^<>]*?(/?)>")
_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|-?[\d.]+(?:[eE][-+]?\d+)?|true|false|null|[\[\]{}]')
#: Texts where a number is expected.
NUMBERS = (
    "0", "-0", "1", "-1", "2", "3", "0.5", "1e-9", "5e-324", "1e-320", "1e16", "1e18", "1e154", "-1e155", "1e200",
    "1e306", "1.7976931348623157e308", "-1.7976931348623157e308", "1e309", "1e999", "-1e999", "nan", "NaN", "-nan",
    "inf", "-inf", "Infinity", "INF", "1.#QNAN", "127", "255", "256", "32767", "65535", "65536", "99999",
    "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" + "0" * 40, "9" * 400, "0x10", "0b1",
    "1_000", "1,5", "1.2.3", "--1", "+", "-", ".", "e5", "1e", "", " ", "٣", "１", "π", "true", "1 2 3", "1 2 3 4 5 6",
    "0 0 0", "3.141592653589793", "1.5707963267948966", "90", "180", "360", "0.1" + "0" * 300 + "1",
)  # fmt: skip
#: Texts where a name is expected.
WORDS = (
    "", " ", "..", ".", "//", "/", "\\", "CON", "NUL", "a/b", "a:b", "[0]", "None", "null", "true", "world", "World",
    "static", "root", "\u202eabc", "\ufeff", "\u00e9", "\U0001f980", "e\u0301", "\x7f", "\x85", "\u2028", "&", "&amp;",
    "&lt;", "&#0;", "&#x110000;", "<", ">", "]]>", "-->", "<!--", "%s", "%00", "{0}", "$(x)", "'", '"', "\t", "\n",
    "\r\n", "x" * 300, "a,b", "a;b", "#", "//c", "/*", "*/", "\\u0000", "\\ud800", "\\n", "file:///etc/passwd",
    "http://127.0.0.1:9/x", "\\\\server\\share", "../../../etc/passwd",
)  # fmt: skip
#: Values of JSON where one of another kind is expected.
KINDS = (
    "null", "true", "0", "-1.5", "1e400", "1" + "0" * 400, '""', '"1"', "[]", "[null]", "[[]]", "[1,2,3]", "{}",
    '{"":null}',
)  # fmt: skip
_NOTE = re.compile(r"<!--.*?-->", re.DOTALL)
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "cp1250", "cp1251", "cp932", "cp437")


@dataclass
class Pool:
    """What a reader's good files are made of: their words, and pieces of them to put elsewhere."""

    words: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def add(self, data: bytes, cut: Callable[[str], list[tuple[int, int]]]) -> None:
        text = data.decode("utf-8", "replace")
        self.words = sorted({*self.words, *_WORD.findall(text)})
        spans = [(start, end) for start, end in cut(text) if end - start <= 500]
        self.pieces = sorted({*self.pieces, *(text[start:end] for start, end in spans)})[:20_000]


def elements(text: str) -> list[tuple[int, int]]:
    """Where the elements of XML stand, broken ones passed over."""
    found, is_open = [], []
    for match in _TAG.finditer(text):
        if match[3]:
            found.append(match.span())
        elif not match[1]:
            is_open.append((match[2], match.start()))
        elif is_open and is_open[-1][0] == match[2]:
            found.append((is_open.pop()[1], match.end()))
    return found


def values(text: str) -> list[tuple[int, int]]:
    """Where the values of JSON stand, broken ones passed over."""
    found, is_open = [], []
    for match in _VALUE.finditer(text):
        if match[0] in "[{":
            is_open.append(match.start())
        elif match[0] in "]}":
            if is_open:
                found.append((is_open.pop(), match.end()))
        else:
            found.append(match.span())
    return found


def noted(text: str) -> list[tuple[int, int]]:
    """Where the elements of XML stand, and the values of the JSON in its comments."""
    inside = [(match.start(), *span) for match in _NOTE.finditer(text) for span in values(match[0])]
    return elements(text) + [(start + at, end + at) for at, start, end in inside]


def lines(text: str) -> list[tuple[int, int]]:
    """Where the lines of a text stand, and the cells of their tables."""
    rows = [match.span() for match in re.finditer(r"[^\n]*\n", text)]
    return rows + [match.span() for match in re.finditer(r"[^,;\t\n]+[,;\t]?", text)]


#: By reader: how its files are cut in pieces. Those that are not here are bytes.
CUTS: dict[str, Callable[[str], list[tuple[int, int]]]] = {
    **dict.fromkeys(("juice", "skel", "xmdi", "collada"), elements),
    "x_xy": noted,
    "shift": values,
    **dict.fromkeys(("webots", "csv", "obj", "mtl"), lines),
}


def mutated(data: bytes, rng: random.Random, cut: Callable[[str], list[tuple[int, int]]], pool: Pool) -> bytes:
    """A file with some of its pieces changed."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        text = rng.choice(_CHANGES)(text, rng, cut, pool)
    if rng.random() < 0.02:
        return text.encode(rng.choice(_ENCODINGS), "replace")
    return text.encode("utf-8", "replace")


def _number(text: str, rng: random.Random, _cut: object, _pool: Pool) -> str:
    found = [match.span() for match in _NUMBER.finditer(text)]
    if not found:
        return text
    start, end = rng.choice(found)
    if rng.random() < 0.3:  # another that is there: IDs then meet each other
        other = rng.choice(found)
        new = text[other[0] : other[1]]
    elif rng.random() < 0.3:
        new = repr(rng.choice((-1, 1)) * 10.0 ** rng.uniform(-12, 12))
    else:
        new = rng.choice(NUMBERS)
    return text[:start] + new + text[end:]


def _word(text: str, rng: random.Random, _cut: object, pool: Pool) -> str:
    found = [match.span() for match in _WORD.finditer(text)]
    if not found:
        return text
    start, end = rng.choice(found)
    old = text[start:end]
    new = rng.choice(pool.words) if pool.words and rng.random() < 0.7 else rng.choice(WORDS)
    if rng.random() < 0.3:  # everywhere, so that tags stay pairs
        return re.sub(rf"\b{re.escape(old)}\b", lambda _match: new, text)
    return text[:start] + new + text[end:]


def _piece(text: str, rng: random.Random, cut: Callable[[str], list[tuple[int, int]]], pool: Pool) -> str:
    found = cut(text)
    if not found:
        return text
    start, end = rng.choice(found)
    what = rng.randrange(6)
    if what == 0:
        return text[:start] + text[end:]
    if what == 1:
        return text[:end] + text[start:end] * rng.choice((1, 1, 2, 5)) + text[end:]
    new = rng.choice(pool.pieces) if pool.pieces and what < 4 else text[slice(*rng.choice(found))]
    if what in (2, 4):
        return text[:start] + new + text[end:]
    place = rng.choice((start, end))
    return text[:place] + new + text[place:]


def _kind(text: str, rng: random.Random, cut: Callable[[str], list[tuple[int, int]]], _pool: Pool) -> str:
    """A value of JSON becomes one of another kind."""
    found = [(start, end) for start, end in cut(text) if _VALUE.match(text, start)]
    if not found:
        return text
    start, end = rng.choice(found)
    return text[:start] + rng.choice(KINDS) + text[end:]


def _letters(text: str, rng: random.Random, _cut: object, _pool: Pool) -> str:
    at = rng.randint(0, len(text))
    what = rng.randrange(4)
    if what == 0:
        return text[:at] + rng.choice(WORDS) + text[at:]
    if what == 1:
        return text[:at] + text[at + rng.choice((1, 1, 2, 8)) :]
    if what == 2:
        return text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + text[at + 1 :]
    return text[:at] if rng.random() < 0.2 else text[at:] + text[:at] if rng.random() < 0.05 else text


_CHANGES: Sequence[Callable[..., str]] = (
    _number, _number, _number, _word, _word, _piece, _piece, _piece, _kind, _letters,
)  # fmt: skip


def mutated_binary(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a number of some width at some place."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        kind = rng.choice(["<B", "<H", "<I", "<i", "<Q", "<f", "<d", ">I", ">f"])
        if kind[-1] in "fd":
            number: float = rng.choice((0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e38, 1e-45, 1.0))
            new = struct.pack(kind, number)
        else:
            bits = 8 * struct.calcsize(kind)
            low = rng.choice((0, 1, 2**bits // 2 - 1, 2**bits // 2, 2**bits - 1, rng.randrange(2**bits)))
            new = (low % 2**bits).to_bytes(bits // 8, "little" if kind[0] == "<" else "big")
        at = rng.randint(0, len(made))
        made[at : at + (len(new) if rng.random() < 0.8 else 0)] = new
    return bytes(made)
