"""Move 3D views along with an object."""

from __future__ import annotations

import bpy
from mathutils import Vector

from ..data.access import record_of
from ..data.queries import parts, root_bones

#: Share of the way to the object that views go at each frame: steps of a walker do not shake them.
_NEAR = 0.15


def root_body(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the body of a mechanism that views follow: its root body, or its first body. None where it has none."""
    roots, bodies = root_bones(rig), parts(rig, "BODY")
    return next((obj for obj in bodies if record_of(obj).source_id in roots), bodies[0] if bodies else None)


class ViewFollower:
    """Moves the 3D views of a screen along with an object, smoothly, and at once where it jumps.

    Views through a camera are left alone. Directions and distances stay as the user has them.

    Args:
        obj: The object, such as a mechanism's root body.
        jump: Distance in one frame from which on the object has jumped.
    """

    def __init__(self, obj: bpy.types.Object, jump: float) -> None:
        self._obj, self._jump = obj, jump
        self._seen = self._followed = obj.matrix_world.translation.copy()

    def update(self, screen: bpy.types.Screen) -> None:
        """Follow to where the object was last evaluated. ReferenceError where it was deleted."""
        now = self._obj.matrix_world.translation.copy()
        step = now - self._followed
        if (now - self._seen).length < self._jump:
            step = step * _NEAR
        self._seen, self._followed = now, self._followed + step
        move_views(screen, step)


def move_views(screen: bpy.types.Screen, step: Vector) -> None:
    """Move what the 3D views of a screen look at."""
    for area in screen.areas:
        space = area.spaces.active
        if isinstance(space, bpy.types.SpaceView3D) and space.region_3d is not None:
            if space.region_3d.view_perspective != "CAMERA":
                space.region_3d.view_location += step
            area.tag_redraw()
