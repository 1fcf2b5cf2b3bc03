"""Numbers in text: many read at once, and spelled so that they read back the same."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable

import numpy as np

from ..core.model import Array

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
