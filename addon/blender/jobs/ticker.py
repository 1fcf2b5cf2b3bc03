"""Progress of long work on standard error."""

from __future__ import annotations

import sys


class Ticker:
    """Progress on standard error: a line that counts on a terminal, a line per tenth in a log."""

    #: Says nothing, whoever asks: ``--quiet``, and processes that work beside others.
    quiet = False
    #: Ctrl-C was pressed. Blender swallows the exception where it calls a handler of ours, so the next step raises it.
    stopped = False

    def __init__(self, what: str) -> None:
        self._what = what
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        if Ticker.stopped:
            raise KeyboardInterrupt
        if Ticker.quiet:
            return
        tenth = 10 * done // max(total, 1)
        if sys.stderr.isatty():
            print(f"\r{self._what} {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif tenth != self._last:
            self._last = tenth
            print(f"{self._what} {done}/{total}", file=sys.stderr, flush=True)
