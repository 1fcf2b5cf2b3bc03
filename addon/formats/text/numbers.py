"""Numbers in text: many read at once, and spelled so that they read back the same."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...core.model import Array

#: The spelling of a decimal number as XML Schema and C write it; neither "inf" nor "nan", "0x1" or "1_0". There is one
#: way only to match a text, so that a long one that is no number is known for it in one pass.
SPELLING = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
DECIMAL = re.compile(SPELLING)
#: White space that may stand around a number: what C and XML know. Of other scripts' none is, a no-break space neither.
BLANKS = " \t\r\n\f\v"


def read_many(text: str) -> Array | None:
    """The numbers of a text with white space between them, (n,); None where a word is no finite number.

    No word but the last is looked at by itself: numpy reads on until it cannot, so that as many numbers as words means
    that it read all before that."""
    try:
        letters = np.frombuffer(text.encode("ascii"), np.uint8)
    except UnicodeEncodeError:
        return None
    space = np.concatenate(([True], letters <= ord(" ")))
    words = int(np.count_nonzero(space[:-1] > space[1:]))
    if not words:
        return np.empty(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # older numpy only warns where newer ones raise
            found = np.fromstring(text, dtype=np.float64, sep=" ")
    except ValueError:
        return None
    sound = len(found) == words and np.isfinite(found).all() and DECIMAL.fullmatch(text.rsplit(None, 1)[-1])
    return found if sound else None


#: A number with a decimal comma, as it is written by hand in many countries.
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)


def remedy_for(word: str, otherwise: str) -> str:
    """Return what to do about a word that is no number: write a point for a decimal comma, or else ``otherwise``."""
    return f"Use a point: {word.replace(',', '.')}." if _WITH_COMMA.fullmatch(word) else otherwise


def shortest(number: float) -> str:
    """The shortest text that reads back as the same number; whole numbers without a point."""
    return repr(number).removesuffix(".0")


def spelled(wanted: float, guess: float, read: Callable[[float], float]) -> str:
    """The shortest decimal that ``read`` turns into ``wanted``, found at ``guess`` and its neighbours; where there is
    none, the guess."""
    for neighbour in (guess, math.nextafter(guess, math.inf), math.nextafter(guess, -math.inf)):
        if read(neighbour) != wanted:
            continue
        for digits in range(1, 17):
            text = f"{neighbour:.{digits}g}"
            if read(float(text)) == wanted:
                return shortest(float(text))
        return shortest(neighbour)
    return shortest(guess)


#: Where a change begins and ends, and what is to stand there.
Change = tuple[int, int, str]


def changed(text: str, changes: Iterable[Change], start: int = 0, end: int | None = None) -> str:
    """The text from ``start`` to ``end`` with changes, which do not overlap; of those at one place in their order."""
    pieces: list[str] = []
    position = start
    for begins, finishes, word in sorted(changes, key=lambda change: change[:2]):
        pieces += (text[position:begins], word)
        position = finishes
    return "".join((*pieces, text[position:end]))


def respelt(
    text: str, spans: Sequence[tuple[int, int]], places: Sequence[int], words: Sequence[str | None], between: str = " "
) -> str:
    """The text with its words, which stand at ``spans``, replaced by those wanted: for each of these the place among
    the old ones that it takes, -1 for a new one, and its text, None for that of the old one. Places ascend; words at
    places that nobody takes are removed with the white space before them. ``between`` parts words where nothing in
    the text shows how."""
    if not spans:
        return text[: len(text) - len(text.lstrip())] + between.join(word or "" for word in words) + text.lstrip()
    gaps = [text[: spans[0][0]], *(text[one[1] : two[0]] for one, two in zip(spans[:-1], spans[1:], strict=True))]
    pieces, old, written = [gaps[0]], 0, False
    for place, word in zip(places, words, strict=True):
        if place < 0:
            pieces += (_gap(gaps, old, between) if written else "", word or "")
            written = True
            continue
        pieces += (gaps[gone].rstrip() for gone in range(max(old, 1), place))
        pieces += (_before(gaps, place, written, between), text[slice(*spans[place])] if word is None else word)
        old, written = place + 1, True
    pieces += (gaps[gone].rstrip() for gone in range(max(old, 1), len(spans)))
    return "".join((*pieces, text[spans[-1][1] :]))


def _before(gaps: list[str], place: int, written: bool, between: str) -> str:
    """Return what stands before an old word."""
    if place == 0:
        return _gap(gaps, 0, between) if written else ""
    return gaps[place] if written else gaps[place].lstrip()


def _gap(gaps: list[str], place: int, between: str) -> str:
    """White space to part a new word from the one before it: as at the nearest place where there is nothing else."""
    near = (gaps[each] for each in (max(place, 1), max(place - 1, 1)) if each < len(gaps))
    return next((gap for gap in near if gap and gap.isspace()), between)
