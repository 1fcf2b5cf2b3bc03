"""A mechanism as a whole new SKEL document, for one that was not read from one."""

from __future__ import annotations

from ...core.model import Mechanism
from ...core.report import Report
from .markup import Node, body_node, joint_node, written
from .names import plain
from .plan import Plan
from .table import SKELETON, WORLD


def new_document(mechanism: Mechanism, report: Report) -> str:
    """The text of a SKEL file with everything of a mechanism that SKEL can hold, and its tensors in full."""
    plan = Plan.of(mechanism, report)
    meshes = sorted({shape.mesh for body in mechanism.bodies for shape in body.shapes if shape.mesh})
    if meshes:
        told = f"meshes keep their names ('{meshes[0]}' is one of {len(meshes)})"
        report.info(
            "mesh-names", f"{told}; DART looks for them from the folder of the file, and stops where one is missing"
        )
    world = written("world", WORLD, {"@name": plain(mechanism.name, "world"), **plan.world})
    world.attributes.setdefault("name", "world")
    world.children += [skeleton_node(plan, key) for key in plan.skeletons]
    root = Node("skel", {"version": "1.0"}, children=[world])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root.markup()}\n'


def skeleton_node(plan: Plan, key: str) -> Node:
    """A planned skeleton with its bodies and joints."""
    node = written("skeleton", SKELETON, plan.skeletons[key])
    node.children += [body_node(body) for body in plan.bodies.values() if body.skeleton == key]
    node.children += [joint_node(joint) for joint in plan.joints.values() if joint.skeleton == key]
    return node
