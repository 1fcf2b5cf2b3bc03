"""The ground of a simulation in 3D views: drawn where the view looks, since its box is too large to be shown."""

from __future__ import annotations

import math
from typing import Any

import bpy
import gpu
import gpu_extras.batch

from ..physics.bodies.ground import heir_of_ground
from .overlay import overlay_of

_COLOR = (0.5, 0.53, 0.56)
#: Opacity of the ground by its distance from the middle, in distances of the view.
_RINGS = ((0.0, 0.55), (0.7, 0.5), (2.5, 0.0))
_CORNERS = 48

_state: dict[str, Any] = {"handle": None, "batch": None}


def _draw() -> None:
    """The 3D view's draw handler. Blender leaves it out of renders."""
    context = bpy.context
    space: Any = context.space_data
    view = context.region_data
    if view is None or not space.overlay.show_overlays or not overlay_of(context.scene).ground:
        return
    if context.scene.rigidbody_world is None or heir_of_ground(context.scene, ()) is None:
        return
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    if _state["batch"] is None:
        _state["batch"] = _disc(shader)
    root = space.lock_object
    middle = view.view_location if root is None else root.matrix_world.translation
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    matrices: Any = gpu.matrix
    with matrices.push_pop():
        gpu.matrix.translate((middle.x, middle.y, 0.0))
        gpu.matrix.scale_uniform(view.view_distance)
        _state["batch"].draw(shader)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def _disc(shader: Any) -> Any:
    """A disc that fades towards its rim, in the plane of X and Y."""
    points, colors, faces = [], [], []
    for radius, opacity in _RINGS:
        for corner in range(_CORNERS):
            angle = math.tau * corner / _CORNERS
            points.append((radius * math.cos(angle), radius * math.sin(angle), 0.0))
            colors.append((*_COLOR, opacity))
    for first in range(0, len(points) - _CORNERS, _CORNERS):
        for corner in range(_CORNERS):
            one, two = first + corner, first + (corner + 1) % _CORNERS
            faces += [(one, two, two + _CORNERS), (one, two + _CORNERS, one + _CORNERS)]
    batch_for_shader: Any = gpu_extras.batch.batch_for_shader
    return batch_for_shader(shader, "TRIS", {"pos": points, "color": colors}, indices=faces)


def register() -> None:
    """Hang the drawing in."""
    if not bpy.app.background and _state["handle"] is None:
        _state["handle"] = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    """Take it out."""
    if _state["handle"] is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_state["handle"], "WINDOW")
    _state.update(handle=None, batch=None)
