"""How DART turns the bodies of a SKEL file left alone: ``pendulum_dart.py FILE SECONDS RATE`` prints, as JSON, their
rotations (frames, bodies, 3, 3), in steps so short that its integrator is not what is judged.

Run with a Python that has dartpy. Needs nothing of ours."""

import json
import os
import sys

STEPS = 2000  # per frame


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DART prints its messages among ours
    import dartpy

    path, seconds, rate = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    world = dartpy.utils.SkelParser.readWorld("file://" + path)
    world.setTimeStep(1.0 / rate / STEPS)
    skeleton = world.getSkeleton(0)
    bodies = [skeleton.getBodyNode(number) for number in range(skeleton.getNumBodyNodes())]
    found = []
    for frame in range(round(seconds * rate) + 1):
        for _ in range(STEPS if frame else 0):
            world.step()
        found.append([body.getWorldTransform().rotation().tolist() for body in bodies])
    print(json.dumps(found), file=answers)


if __name__ == "__main__":
    main()
