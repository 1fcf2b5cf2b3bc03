"""Frames whose empties were deleted though joints, lights or restraints are at them."""

from __future__ import annotations

import bpy

from ..build.folders import Folders
from ..build.frames import make_frames
from ..build.plan import plan
from ..build.rig import Hook
from ..data.access import record_of, settings
from ..data.bulk_write import make
from ..data.documents import read_document
from ..data.queries import every_part
from ..events.signals import quiet
from ..extract import extract
from ..extract.attachments import frame_users
from .twins import by_id


def used_frames_again(rig: bpy.types.Object) -> list[str]:
    """Make the empties anew of the document's frames that something is at; their names."""
    base = read_document(rig)
    if base is None:
        return []
    users, bodies = frame_users(extract(rig)), by_id(rig, "BODY")
    present = {record_of(obj).source_id for obj in every_part(rig, "FRAME")}
    wanted = {
        str(number): frame.name
        for number, frame in enumerate(base.frames)
        if str(number) not in present
        and (frame.body, frame.name) in users
        and (frame.body is None or frame.body in bodies)
    }
    others = {("FRAME", str(number)) for number in range(len(base.frames)) if str(number) not in wanted}
    lights = {("LIGHT", str(number)) for number in range(len(base.lights))}
    decided = plan(base)
    hook = Hook(decided, rig, [])
    hook.let_loose()
    with quiet():
        folders = Folders(base.name, base.assemblies, settings(rig).collection)
        make(make_frames(decided, hook, folders, bodies, there=others | lights))
        for scene in bpy.data.scenes:
            folders.exclude_off(scene)
    return list(wanted.values())
