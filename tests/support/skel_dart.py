"""Reference for tests of SKEL, as a script: what DART itself makes of SKEL files."""

# Run with a Python that has dartpy (KNUCKLE_DARTPY); needs nothing of ours. Reads a JSON object of paths from its
# input, prints one with what is in each: ``null`` with the reason in ``error`` where DART rejects the file or crashes
# on it (each is read in a process of its own).

import json
import math
import os
import sys
import xml.etree.ElementTree as ET

import dartpy
import numpy as np

PARSER = dartpy.utils.SkelParser
POSES = 3


def plain(value):
    """An array as lists, with what is infinite as a word."""
    value = np.asarray(value, dtype=float)
    if value.ndim:
        return [plain(each) for each in value]
    return float(value) if math.isfinite(value) else repr(float(value))


def skeletons_of(path):
    if ET.parse(path).getroot().find("world") is not None:
        world = PARSER.readWorld(path)
        found = [world.getSkeleton(i) for i in range(world.getNumSkeletons())]
        return found, {"gravity": plain(world.getGravity()), "time_step": world.getTimeStep()}
    return [PARSER.readSkeleton(path)], None


def joint_of(joint):
    count = range(joint.getNumDofs())
    return {
        "name": joint.getName(),
        "type": joint.getType(),
        "actuator": str(joint.getActuatorType()).rpartition(".")[2],
        "dofs": [
            {
                "name": joint.getDofName(i),
                "position": joint.getInitialPosition(i),
                "velocity": joint.getInitialVelocity(i),
                "lower": plain(joint.getPositionLowerLimit(i)),
                "upper": plain(joint.getPositionUpperLimit(i)),
                "damping": joint.getDampingCoefficient(i),
                "friction": joint.getCoulombFriction(i),
                "rest": joint.getRestPosition(i),
                "stiffness": joint.getSpringStiffness(i),
            }
            for i in count
        ],
    }


def shape_of(node):
    shape = node.getShape()
    if shape is None:
        return {"type": None}
    size = {}
    for name in ("Size", "Diameters", "Radius", "Height", "Normal", "Offset", "Scale", "NumSpheres", "BaseWidth"):
        if hasattr(shape, f"get{name}"):
            size[name] = plain(getattr(shape, f"get{name}")())
    visual = node.getVisualAspect() if node.hasVisualAspect() else None
    return {
        "type": shape.getType(),
        "size": size,
        "pose": plain(node.getRelativeTransform().matrix()),
        "visual": visual is not None,
        "color": plain(visual.getRGBA()) if visual is not None else None,
        "collision": node.hasCollisionAspect(),
        "collidable": bool(node.getCollisionAspect().isCollidable()) if node.hasCollisionAspect() else None,
    }


def body_of(body):
    inertia = body.getInertia()
    return {
        "name": body.getName(),
        "mass": body.getMass(),
        "com": plain(inertia.getLocalCOM()),
        "moment": plain(inertia.getMoment()),
        "gravity": bool(body.getGravityMode()),
        "soft": type(body).__name__ == "SoftBodyNode",
        "joint": joint_of(body.getParentJoint()),
        "shapes": [shape_of(node) for node in body.getShapeNodes()],
    }


def poses_of(skeleton):
    return [plain(body.getWorldTransform().matrix()) for body in skeleton.getBodyNodes()]


def described(path):
    skeletons, world = skeletons_of(path)
    random = np.random.default_rng(7)
    out = {"world": world, "skeletons": []}
    for skeleton in skeletons:
        item = {
            "name": skeleton.getName(),
            "mobile": bool(skeleton.isMobile()),
            "bodies": [body_of(body) for body in skeleton.getBodyNodes()],
            "poses": [poses_of(skeleton)],
            "coordinates": [[plain(body.getParentJoint().getPositions()) for body in skeleton.getBodyNodes()]],
        }
        for _ in range(POSES):
            for body in skeleton.getBodyNodes():
                joint = body.getParentJoint()
                joint.setPositions(random.uniform(-0.8, 0.8, joint.getNumDofs()))
            item["coordinates"].append([plain(b.getParentJoint().getPositions()) for b in skeleton.getBodyNodes()])
            item["poses"].append(poses_of(skeleton))
        out["skeletons"].append(item)
    return out


def alone(path):
    """The description made in a child process, which may crash or be killed after ten seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            import signal

            signal.alarm(10)
            text = json.dumps(described(path))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            text = json.dumps({"skeletons": None, "error": f"{type(error).__name__}: {error}"})
        with os.fdopen(writer, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as out:
        text = out.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else {"skeletons": None, "error": f"DART died: signal {status & 127}"}


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # DART prints its messages among ours
    json.dump({name: alone(os.path.abspath(path)) for name, path in json.load(sys.stdin).items()}, answers)
