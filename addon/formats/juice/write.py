"""A mechanism as a whole new Juice document, for one that was not read from one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...core.gait.behaviors import Behaviours
from ...core.model import Array, Body, Joint, Mechanism
from ...core.report import FormatError, Report
from .gait_write import Writer, turned
from .lower import lowered
from .markup import Node, fields, object_node, text_of
from .rows import Numbers, body_row, joint_frame, joint_row, settings_row
from .strength import softness
from .table import BODY, CONTAINERS, JOINTS, MODEL, Row, Table

SAME_PLACE = 1e-6


@dataclass
class Plan:
    """What is to be written, in Juice's vocabulary, with the IDs to be given."""

    bodies: list[Body]
    joints: list[Joint]
    body_number: Numbers
    joint_number: Numbers
    pose_of: dict[str, Array]
    #: How the coordinates of joints relate to those that the file counts in, by id. A weld has none.
    file_signs: dict[str, float]

    @classmethod
    def of(cls, mechanism: Mechanism, report: Report, taken: Iterable[str] = ()) -> Plan:
        """Lower a mechanism. ``taken`` are IDs not to be given to what has none. FormatError for two objects of one
        kind with one id."""
        bodies, joints = lowered(mechanism, report)
        try:
            body_number = Numbers((body.id for body in bodies), (*taken, *(joint.id for joint in joints)))
            joint_number = Numbers((joint.id for joint in joints), (*taken, *body_number.values()))
        except FormatError as error:
            raise FormatError(error.message, path=mechanism.source.path, remedy=error.remedy) from None
        pose_of = {body.id: body.pose for body in mechanism.bodies}
        file_signs = {joint.id: joint.dofs[0].file_sign for joint in mechanism.joints if joint.dofs}
        return cls(bodies, joints, body_number, joint_number, pose_of, file_signs)

    def is_reversed(self, joint: Joint, sense: float) -> bool:
        """Return whether the file will count a joint the other way round, ``sense`` being that of its row."""
        return sense != self.file_signs.get(joint.id, sense)


def frame_of(joint: Joint, pose_of: Mapping[str, Array], report: Report) -> Array:
    """A joint's frame in the world (4, 4); reported where its two bodies have it in two places."""
    frame, apart = joint_frame(joint, pose_of)
    if apart > SAME_PLACE * (1.0 + abs(frame[:3, 3]).max()):
        message = f"the bodies of joint '{joint.name}' have it {apart:.3g} apart; its parent's is written"
        report.warn("joint-apart", message)
    return frame


def new_document(mechanism: Mechanism, report: Report) -> str:
    """The text of a Juice file (.jm) with everything of a mechanism that Juice can hold."""
    plan = Plan.of(mechanism, report)
    rows: dict[str, list[Row]] = {table.tag: [] for table in CONTAINERS.values()}
    rows[BODY.tag] = [body_row(body, plan.body_number) for body in plan.bodies]
    reversed_joints = set()
    for joint in plan.joints:
        frame = frame_of(joint, plan.pose_of, report)
        row, sense = joint_row(joint, frame, plan.body_number, plan.joint_number)
        rows[JOINTS[joint.type].tag].append(row)
        if plan.is_reversed(joint, sense):
            reversed_joints.add(joint.id)
    behaviours = mechanism.behaviours if isinstance(mechanism.behaviours, Behaviours) else Behaviours()
    usual = dict(MODEL.defaults)
    if mechanism.source.format != "juice" and mechanism.behaviours is None:
        rigid = softness(mechanism, usual["ERP"], usual["CFM"])
        if mechanism.world.cfm is None and rigid != usual["CFM"]:
            report.info(
                "approximated-softness", f"its joints are rigid; Juice's are springs, with a CFM of {rigid:g} here"
            )
        usual["CFM"] = rigid
    settings = settings_row(mechanism.world, behaviours.engine, usual)
    writer = Writer(plan.body_number, plan.joint_number)
    taken = {*plan.body_number.values(), *plan.joint_number.values()}
    content: list[Node] = [
        *fields(MODEL, settings),
        *((name, _objects(table, rows[table.tag])) for name, table in CONTAINERS.items()),
        ("Behaviors", [writer.node(item, taken) for item in turned(behaviours, reversed_joints).items]),
    ]
    return text_of((MODEL.tag, content)).replace("<Model>", '<Model FileVersion="1">', 1) + "\n"


def _objects(table: Table, rows: list[Row]) -> list[Node]:
    return [object_node(table, row) for row in rows]
