"""Numbers in text: fast parsing, shortest round-trip spelling, and matching of new values to a document's."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.model import Array

#: Decimal number as in XML Schema and C; neither "inf" nor "nan", "0x1" or "1_0". Possessive quantifiers: there is
#: only one way to match a text, so that a long non-number fails in one pass.
NUMBER_PATTERN = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
DECIMAL = re.compile(NUMBER_PATTERN)
#: White space of C and XML that may surround a number; no other Unicode space is, not even the no-break space.
WHITESPACE = " \t\r\n\f\v"


def parse_numbers(text: str) -> Array | None:
    """Parse the numbers of a text, separated by white space, to (n,); None where a word is no finite number.

    Only the last word is checked by itself: numpy stops at the first word that it cannot read, so as many numbers as
    words means that it has read all before the last.
    """
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


#: Number with a decimal comma, as written by hand in many countries.
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)


def number_remedy(word: str, otherwise: str) -> str:
    """Return the remedy for a word that is no number: a decimal point instead of a comma, or else ``otherwise``."""
    return f"Use a point: {word.replace(',', '.')}." if _WITH_COMMA.fullmatch(word) else otherwise


def format_shortest(number: float) -> str:
    """Return the shortest text that reads back as the same number; integers without a point."""
    return repr(number).removesuffix(".0")


def shortest_decimal(wanted: float, guess: float, read: Callable[[float], float]) -> str:
    """Return the shortest decimal that ``read`` maps to ``wanted``.

    Searched at ``guess`` and its two neighboring floats; if none maps to it, the guess.
    """
    for neighbour in (guess, math.nextafter(guess, math.inf), math.nextafter(guess, -math.inf)):
        if read(neighbour) != wanted:
            continue
        for digits in range(1, 17):
            text = f"{neighbour:.{digits}g}"
            if read(float(text)) == wanted:
                return format_shortest(float(text))
        return format_shortest(neighbour)
    return format_shortest(guess)


#: Start and end of the replaced span, and the replacement.
TextChange = tuple[int, int, str]


def apply_changes(text: str, changes: Iterable[TextChange], start: int = 0, end: int | None = None) -> str:
    """Return ``text[start:end]`` with non-overlapping changes applied; insertions at one position keep their order."""
    pieces: list[str] = []
    position = start
    for begins, finishes, word in sorted(changes, key=lambda change: change[:2]):
        pieces += (text[position:begins], word)
        position = finishes
    return "".join((*pieces, text[position:end]))


def replace_words(
    text: str, spans: Sequence[tuple[int, int]], places: Sequence[int], words: Sequence[str | None], between: str = " "
) -> str:
    """Replace the words of a text, keeping the white space between those that stay.

    Args:
        text: the text.
        spans: start and end of each old word.
        places: for each new word the index of the old one that it replaces, ascending; -1 for an insertion. Old words
            that no new one takes are removed with the white space before them.
        words: the new words; None keeps the old word's text.
        between: separator where the text gives no example.
    """
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
        pieces += (_text_before(gaps, place, written, between), text[slice(*spans[place])] if word is None else word)
        old, written = place + 1, True
    pieces += (gaps[gone].rstrip() for gone in range(max(old, 1), len(spans)))
    return "".join((*pieces, text[spans[-1][1] :]))


def _text_before(gaps: list[str], place: int, written: bool, between: str) -> str:
    """Return the white space before an old word that stays."""
    if place == 0:
        return _gap(gaps, 0, between) if written else ""
    return gaps[place] if written else gaps[place].lstrip()


def _gap(gaps: list[str], place: int, between: str) -> str:
    """Return white space that separates a new word from the previous one: that of the nearest gap that is blank."""
    near = (gaps[each] for each in (max(place, 1), max(place - 1, 1)) if each < len(gaps))
    return next((gap for gap in near if gap and gap.isspace()), between)


IndexArray = NDArray[np.int64]
#: Limit of old × new keyframes between two that stayed: beyond it moved ones are not searched for, all count as new.
MAX_SEARCH = 10**6


def match_servo_names(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return for every new servo the index of the old one of its name, None if there is none; repeated names in order.

    Where the numbers of servos are equal, unmatched ones at the same index count as renamed.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(old):
        places.setdefault(name, []).append(place)
    found = [places[name].pop(0) if places.get(name) else None for name in new]
    if len(old) == len(new):
        taken = set(found)
        for place, match in enumerate(found):
            if match is None and place not in taken:
                found[place] = place
    return found


def match_key_times(old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> IndexArray:
    """Return for every new keyframe the index of the old one that it continues, -1 for a new one, (n,), ascending.

    Times ascend in both. Two matchings are compared and the one that changes fewer numbers is taken: by index, or by
    time, with moved ones searched for between two that stayed.
    """
    by_time = _match_by_time(old_times, old_values, new_times, new_values)
    if len(old_times) != len(new_times):
        return by_time
    in_row = np.arange(len(new_times))
    each = (old_times, old_values, new_times, new_values)
    return in_row if _cost(in_row, *each) <= _cost(by_time, *each) else by_time


def _match_by_time(old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> IndexArray:
    found = np.full(len(new_times), -1, np.int64)
    _, old, new = np.intersect1d(old_times, new_times, assume_unique=True, return_indices=True)
    found[new] = old
    old_ends = np.concatenate(([-1], old, [len(old_times)]))
    new_ends = np.concatenate(([-1], new, [len(new_times)]))
    for gap in np.flatnonzero((np.diff(old_ends) > 1) & (np.diff(new_ends) > 1)):
        olds = np.arange(old_ends[gap] + 1, old_ends[gap + 1])
        news = np.arange(new_ends[gap] + 1, new_ends[gap + 1])
        if len(olds) == len(news):
            found[news] = olds
            continue
        if len(olds) * len(news) > MAX_SEARCH:
            continue
        following = 0
        for place in news:
            same = np.flatnonzero(old_values[olds[following:]] == new_values[place])
            if len(same):
                found[place] = olds[following + same[0]]
                following += int(same[0]) + 1
    return found


def _cost(places: IndexArray, old_times: Array, old_values: Array, new_times: Array, new_values: Array) -> int:
    """Return how many numbers of the document change."""
    kept = places >= 0
    retimed = np.count_nonzero(old_times[places[kept]] != new_times[kept])
    changed = np.count_nonzero(old_values[places[kept]] != new_values[kept])
    return int(retimed + changed + 2 * (len(new_times) + len(old_times) - 2 * np.count_nonzero(kept)))
