"""Cells of the edit matrix that are known to fail, with the reason. Each has to fail: one that passes is taken off."""

from __future__ import annotations

import re

#: Patterns of names of cells, and why they fail.
EXPECTED: dict[str, str] = {
    r"joint_keyframes-(ball|free)-\w+-animated-\w+": (
        "*Set Joint Type* holds the present frame: keyframes of a hinge are not converted to those of a ball or a free "
        "joint"
    ),
    r"slider_keyframes-free-\w+-animated-\w+": (
        "*Set Joint Type* holds the present frame: keyframes of a slider are not converted to those of a free joint"
    ),
    r"loop_joint_place-(move_\w+|redo)-juice_loop-(posed|animated)-\w+": (
        "*Move Joint* in a posed closed loop keeps the bodies and not the loop: the design that Juice gets, "
        "where all joints are at 0, does not close"
    ),
    r"loop_joint_type-\w+_weld-juice_loop-(posed|animated)-\w+": (
        "a weld in a posed closed loop holds that where it is seen, and Juice's file has the other bodies as they were "
        "designed: the loop does not close"
    ),
}


def why_expected(name: str) -> str:
    """Return why a cell is known to fail, empty where it is not."""
    return next((reason for pattern, reason in EXPECTED.items() if re.fullmatch(pattern, name)), "")
