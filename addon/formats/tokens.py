"""Words in a text, some of them changed: what is between them, and all that stays, keeps its very characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
