"""What DART does with a SKEL file left alone: ``falling_dart.py FILE SECONDS RATE`` prints, as JSON, the path of the
common centre of mass of its mobile skeletons, whether they touched anything, and its joints' initial speeds.

Run with a Python that has dartpy. Needs nothing of ours."""

import json
import os
import sys


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DART prints its messages among ours
    import dartpy

    path, seconds, rate = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    world = dartpy.utils.SkelParser.readWorld("file://" + path)
    skeletons = [world.getSkeleton(number) for number in range(world.getNumSkeletons())]
    mobile = [skeleton for skeleton in skeletons if skeleton.isMobile()]
    bodies = [skeleton.getBodyNode(number) for skeleton in mobile for number in range(skeleton.getNumBodyNodes())]
    mass = sum(body.getMass() for body in bodies)
    speed = max((abs(float(v)) for skeleton in mobile for v in skeleton.getVelocities()), default=0.0)
    step, found, touched = world.getTimeStep(), [], False
    for frame in range(round(seconds * rate) + 1):
        while world.getTime() < frame / rate - step / 2:
            world.step()
            touched = touched or world.getLastCollisionResult().isCollision()
        found.append((sum(body.getMass() * body.getCOM() for body in bodies) / mass).tolist())
    print(json.dumps({"path": found, "touched": touched, "speed": speed, "mass": mass}), file=answers)


if __name__ == "__main__":
    main()
