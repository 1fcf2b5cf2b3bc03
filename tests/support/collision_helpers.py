"""Helpers for tests of collision and penetration: SKEL skeletons of floating boxes, simulated without servos."""

from __future__ import annotations

from typing import Any

from tests.support.mechanisms import put


def skeleton(name: str, *bodies: tuple[str, float, float]) -> str:
    """Floating boxes of 1 at (x, z)."""
    parts = "".join(
        f'<body name="{key}"><transformation>{x} 0 {z} 0 0 0</transformation><inertia><mass>1</mass></inertia>'
        "<visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape>"
        "<collision_shape><geometry><box><size>1 1 1</size></box></geometry></collision_shape></body>"
        f'<joint type="free" name="j{key}"><parent>world</parent><child>{key}</child></joint>'
        for key, x, z in bodies
    )
    return f'<skeleton name="{name}">{parts}</skeleton>'


def skel(*skeletons: str, gravity: float = 0.0) -> str:
    return (
        f'<?xml version="1.0"?><skel version="1.0"><world name="w"><physics><gravity>0 0 -{gravity}</gravity></physics>'
        f"{''.join(skeletons)}</world></skel>"
    )


def limp(text: str, name: str = "small.skel", **settings: Any) -> Any:
    rig = put(text, name, gait=False)
    for key, value in settings.items():
        setattr(rig.data.knuckle, key, value)
    rig.data.knuckle.drive = "LIMP"
    return rig


OVERLAPPING = skeleton("one", ("a", 0.0, 5.0), ("b", 0.6, 5.0), ("c", -0.6, 5.0))
