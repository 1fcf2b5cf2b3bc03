"""Moving 3D views: frame objects in the part without panels, and follow an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

from ....core.model import Array
from ...data.access import record_of
from ...data.queries import parts, root_bones

#: Share of the free part of a view that the objects fill in the direction in which they are larger.
_FILL_SHARE = 0.8
#: Share of the way from the middle of a view to its edge that counts as free beside any panel.
_MIN_FREE_SHARE = 0.1
#: Half the sensor width (mm) of Blender's 3D View: its perspective matrix has lens / this.
_SENSOR = 36.0
#: Smallest size of objects (length units) that a view is fitted to, as a point has none.
_MIN_SIZE = 1e-4


def frame_objects(context: bpy.types.Context, objects: Iterable[bpy.types.Object]) -> None:
    """Move the 3D views of the context's screen so that objects fill them beside sidebar and toolbar.

    The direction of each view stays. Views through a camera stay, and without a screen nothing happens.
    """
    points = world_corners(context, objects)
    if len(points):
        for view, free, projection in _views(context):
            _fit(view, points, free, projection)


def frame_around(context: bpy.types.Context, middle: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> None:
    """Move the 3D views of the context's screen, locked to an object, so far away that they show other objects too.

    No view moves closer. Views through a camera stay.
    """
    points = world_corners(context, objects) - np.array(middle.matrix_world.translation)
    if len(points):
        for view, free, projection in _views(context):
            seen = points @ np.array(view.view_rotation.to_matrix(), dtype=np.float64)
            # With the object in the middle a point must lie within the limits on its own side.
            limits = np.where(
                seen[:, :2] < 0.0, np.minimum(free[0], -_MIN_FREE_SHARE), np.maximum(free[1], _MIN_FREE_SHARE)
            )
            depth = 0.0 if view.view_perspective == "ORTHO" else seen[:, 2:]
            view.view_distance = max(view.view_distance, float((projection * seen[:, :2] / limits + depth).max()))


def _views(context: bpy.types.Context) -> Iterator[tuple[bpy.types.RegionView3D, Array, Array]]:
    """Yield the 3D views of the context's screen, except for views through a camera.

    Yields:
        The view; the lower and upper ends, [(x, y), (x, y)] in normalized device coordinates, of ``_FILL_SHARE`` of the
        part that no panel covers; and the diagonal (2,) of its projection matrix, at distance 1 if orthographic.
    """
    for area in context.screen.areas if context.screen is not None else ():
        window = next((region for region in area.regions if region.type == "WINDOW"), None)
        if area.type != "VIEW_3D" or window is None or min(window.width, window.height) <= 1:
            continue
        space: Any = area.spaces.active
        if space.region_3d is not None and space.region_3d.view_perspective != "CAMERA":
            size = np.array([window.width, window.height], dtype=np.float64)
            free = _free_part(area, window)
            middle, half = free.mean(axis=0), 0.5 * _FILL_SHARE * (free[1] - free[0])
            yield space.region_3d, np.array([middle - half, middle + half]), space.lens / _SENSOR * size.max() / size
            area.tag_redraw()


def world_corners(context: bpy.types.Context, objects: Iterable[bpy.types.Object]) -> Array:
    """Return the corners of the bounding boxes of evaluated objects in the world, (8 per object, 3).

    Objects without a size, which show nothing, count only if all objects are such.
    """
    depsgraph = context.evaluated_depsgraph_get()
    found, places = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for obj in objects:
        evaluated = obj.evaluated_get(depsgraph)
        matrix = np.array(evaluated.matrix_world, dtype=np.float64)
        corners = np.array(evaluated.bound_box, dtype=np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        (found if any(evaluated.dimensions[:]) else places).append(corners)
    return np.concatenate(found if len(found) > 1 else places)


def _covering_regions(area: bpy.types.Area) -> Iterator[bpy.types.Region]:
    """Yield the visible regions over the edge of an area's view, or beside it."""
    for region in area.regions:
        if region.type != "WINDOW" and region.width > 1 and region.height > 1:
            yield region


def _free_part(area: bpy.types.Area, window: bpy.types.Region) -> Array:
    """Return the part of a view without panels, in normalized device coordinates: [(x, y), (x, y)], low and high."""
    low = np.array([window.x, window.y], dtype=np.float64)
    high = low + [window.width, window.height]
    free = np.array([low, high])
    for region in _covering_regions(area):
        if region.alignment == "LEFT":
            free[0, 0] = max(free[0, 0], region.x + region.width)
        elif region.alignment == "RIGHT":
            free[1, 0] = min(free[1, 0], region.x)
        elif region.alignment == "TOP":
            free[1, 1] = min(free[1, 1], region.y)
        elif region.alignment == "BOTTOM":
            free[0, 1] = max(free[0, 1], region.y + region.height)
    if (free[1] - free[0]).min() <= 0.1 * (high - low).min():  # panels leave too little
        free = np.array([low, high])
    return 2.0 * (free - low) / (high - low) - 1.0


def _fit(view: bpy.types.RegionView3D, points: Array, free: Array, projection: Array) -> None:
    """Place a view so that points (n, 3) fill the free part, without turning it.

    In the view's axes a camera at ``c`` sees the point ``q`` at ``projection (q - c) / (c_z - q_z)``. That this lies
    between two limits is linear in ``c``: the extreme points of each direction give the nearest camera at which all do.
    """
    low, high = free
    middle = free.mean(axis=0)
    turn = np.array(view.view_rotation.to_matrix(), dtype=np.float64)
    seen = points @ turn
    center = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    if view.view_perspective == "ORTHO":
        size = np.maximum(np.ptp(seen[:, :2], axis=0), _MIN_SIZE)
        distance = float((projection * size / (high - low)).max())
        aim = center[:2] - middle * distance / projection
    else:
        above = (projection * seen[:, :2] + high * seen[:, 2:]).max(axis=0)
        below = (projection * seen[:, :2] + low * seen[:, 2:]).min(axis=0)
        camera = float(((above - below) / (high - low)).max())
        aim = (above + below - (high + low) * camera) / (2.0 * projection)
        distance = max(camera - float(center[2]), _MIN_SIZE)
    view.view_location = Vector((turn @ [*aim, center[2]]).tolist())
    view.view_distance = distance


#: Share of the way to the object that views move at each frame, so that steps of a walker do not shake them.
_FOLLOW_SHARE = 0.15


def root_body(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the body that views follow: a mechanism's root body, else its first body; None without bodies."""
    roots, bodies = root_bones(rig), parts(rig, "BODY")
    return next((obj for obj in bodies if record_of(obj).source_id in roots), bodies[0] if bodies else None)


class ViewFollower:
    """Follower that moves the 3D views of a screen along with an object, smoothly, but at once where it jumps.

    Views through a camera stay. Directions and distances stay as the user has them.

    Args:
        obj: The object, such as a mechanism's root body.
        jump: Distance in one frame from which on the object has jumped.
    """

    def __init__(self, obj: bpy.types.Object, jump: float) -> None:
        self._obj, self._jump = obj, jump
        self._seen = self._followed = obj.matrix_world.translation.copy()

    def update(self, screen: bpy.types.Screen) -> None:
        """Move the views toward the object's last evaluated location.

        Raises:
            ReferenceError: If the object was deleted.
        """
        now = self._obj.matrix_world.translation.copy()
        step = now - self._followed
        if (now - self._seen).length < self._jump:
            step = step * _FOLLOW_SHARE
        self._seen, self._followed = now, self._followed + step
        move_views(screen, step)


def move_views(screen: bpy.types.Screen, step: Vector) -> None:
    """Move the view locations of a screen's 3D views by ``step``, except for views through a camera."""
    for area in screen.areas:
        space = area.spaces.active
        if isinstance(space, bpy.types.SpaceView3D) and space.region_3d is not None:
            if space.region_3d.view_perspective != "CAMERA":
                space.region_3d.view_location += step
            area.tag_redraw()
