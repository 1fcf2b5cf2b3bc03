"""Another program's forward kinematics, timed: run with a Python that has it, ``peer_kinematics.py dartpy`` or
``peer_kinematics.py mujoco``.

Reads lines of three paths from its input: a model, the angles of its hinges, and where to write the transforms of its
bodies in the first poses, (poses, bodies, 4, 4). The angles are ``values`` of shape (poses, hinges), in the order of
``PROGRAM_names``; the bodies are ``PROGRAM_bodies``, both as the program has them. Each line is answered with the CPU
seconds that all poses took, each body's transform read in each, or with why there are none. Needs nothing of ours."""

import os
import sys
import time

import numpy

CHECKED = 3  # poses that are written


def dartpy_poses(path, names, values, bodies):
    import dartpy

    skeleton = dartpy.utils.SkelParser.readWorld("file://" + path).getSkeleton(0)
    start = skeleton.getPositions()
    rows = numpy.tile(start, (len(values), 1))
    for name, column in zip(names, values.T, strict=True):
        rows[:, skeleton.getJoint(name).getIndexInSkeleton(0)] = column
    nodes = [skeleton.getBodyNode(name) for name in bodies]

    def poses(count):
        return [
            [node.getWorldTransform().matrix() for node in nodes]
            for row in rows[:count]
            if skeleton.setPositions(row) is None
        ]

    return poses


def mujoco_poses(path, names, values, bodies):
    import mujoco

    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    rows = numpy.tile(model.qpos0, (len(values), 1))
    for name, column in zip(names, values.T, strict=True):
        rows[:, model.joint(name).qposadr[0]] = column
    order = [model.body(name).id for name in bodies]
    angles, at, turned, forward = data.qpos, data.xpos, data.xmat, mujoco.mj_kinematics

    def poses(count):
        places, turns = (numpy.empty((count, model.nbody, size)) for size in (3, 9))
        for number, row in enumerate(rows[:count]):
            angles[:] = row
            forward(model, data)
            places[number] = at
            turns[number] = turned
        if count > CHECKED:
            return None
        found = numpy.zeros((count, len(order), 4, 4))
        found[..., :3, :3] = turns[:count, order].reshape(count, -1, 3, 3)
        found[..., :3, 3], found[..., 3, 3] = places[:count, order], 1.0
        return found

    return poses


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # they print messages of their own
    program = sys.argv[1]
    make = {"dartpy": dartpy_poses, "mujoco": mujoco_poses}[program]
    for line in sys.stdin:
        model, given, out = line.rstrip("\n").split("\t")
        try:
            told = numpy.load(given)
            poses = make(model, told[f"{program}_names"].tolist(), told["values"], told[f"{program}_bodies"].tolist())
            numpy.save(out, numpy.array(poses(CHECKED)))
            start = time.process_time()
            poses(len(told["values"]))
            answer = time.process_time() - start
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
