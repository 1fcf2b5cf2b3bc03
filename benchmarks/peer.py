"""Another program's reading, timed: run with a Python that has it, ``peer.py dartpy`` or ``peer.py imt-ring``.

Reads paths from its input, a line each, and answers each with the CPU seconds that one load took, or with why none did.
Needs nothing of ours."""

import os
import sys
import time


def dartpy_load():
    import dartpy

    return dartpy.utils.SkelParser.readWorld


def ring_load():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import ring

    def load(path):
        with open(path, encoding="utf-8") as file:
            return ring.System.create(file.read())

    return load


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DART prints its messages among ours
    load = {"dartpy": dartpy_load, "imt-ring": ring_load}[sys.argv[1]]()
    for line in sys.stdin:
        start = time.process_time()
        try:
            load(line.rstrip("\n"))
        except Exception as error:
            print(f"{type(error).__name__}: {error}".replace("\n", " "), file=answers, flush=True)
        else:
            print(time.process_time() - start, file=answers, flush=True)


if __name__ == "__main__":
    main()
