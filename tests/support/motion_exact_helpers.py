"""Helpers for tests of exact motion files: a mechanism with a hinge, a slider and a ball, and files to import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.mechanisms import body, joint, model, put

XMDI = """<?xml version='1.0' encoding='iso-8859-1'?>
<!-- two gestures of a caf\xe9's robot -->
<archive owner="us">
  <gestures kind="greeting"><motion name="wave" author="A. Nother" speed="1.50">
      <servo name="left_hip"><position>0 -.70
        +1.10e-1 3</position><frames>0 10  40 41.25</frames></servo>
      <servo name="Tail"><position>0.30 .4</position><frames>1 2</frames></servo>
      <servo name="Lift"><position>0.123456789012345678 0.1</position><frames>0 7</frames></servo>
      <servo name="Neck/rx"><position>0 1.25 3.5</position><frames>0 20 30</frames></servo>
      <servo name="Neck/ry"><position>0.2 -0.5</position><frames>5 20</frames></servo>
  </motion>
  <motion name="rest"><servo name="Left Hip"><position>1</position><frames>3</frames></servo></motion></gestures>
</archive>
"""


def three_joints() -> Any:
    """A trunk with a hinge, a slide and a ball."""
    text = model(
        body(1, (0, 0, 4), (2, 2, 2)),
        body(2, (0, 0, 2)),
        body(3, (0, 2.5, 4)),
        body(4, (0, 0, 6)),
        joint(51, 1, 2, (0, 0, 3), name="Left Hip"),
        joint(52, 1, 3, (0, 1.5, 4), name="Lift", tag="PrismaticJoint"),
        joint(53, 1, 4, (0, 0, 5), name="Neck", tag="SphericalJoint"),
    )
    return put(text, gait=False, adapt_scene=False)


def put_file(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path
