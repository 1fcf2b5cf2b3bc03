"""mypy plugin: what Blender's type stubs (fake-bpy-module) call optional, although our code always has it.

The stubs declare every pointer of RNA that may be null in any situation as optional. With ``strict_optional`` each use
of those in ``PRESENT`` would need a check that can never fail.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.plugin import AttributeContext, Plugin
from mypy.types import NoneType, Type, UnionType, get_proper_type

#: Attributes whose type is read without None. Those that tell a state that users choose are not among them: the
#: rigid-body world of a scene, its collections, the rigid body of an object, the animation data of a datablock, what
#: belongs to a window.
PRESENT = frozenset(
    f"bpy.types.{name}"
    for name in (
        # there is no file without a scene, a view layer, and a window manager, with or without windows
        "Context.preferences",
        "Context.scene",
        "Context.view_layer",
        "Context.window_manager",
        "Depsgraph.scene",
        "Window.scene",
        "Window.view_layer",
        # while ``draw`` is called, and we use it nowhere else
        "Header.layout",
        "Menu.layout",
        "Operator.layout",
        "Panel.layout",
        # armatures have one once Blender has evaluated them, and we ask no other object
        "Object.pose",
        # of what a dependency graph has evaluated
        "ID.original",
        # parts of their structures in Blender
        "Bone.color",
        "PoseBone.color",
        "RigidBodyWorld.effector_weights",
        "RigidBodyWorld.point_cache",
        "Scene.display",
        "Scene.view_settings",
    )
)


class BlenderPlugin(Plugin):
    """Remove None from the types of attributes that ``PRESENT`` names."""

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return the hook for an attribute that the stubs call optional."""
        return _without_none if fullname in PRESENT else None


def _without_none(context: AttributeContext) -> Type:
    declared = get_proper_type(context.default_attr_type)
    if not isinstance(declared, UnionType):
        return declared
    return UnionType.make_union([each for each in declared.items if not isinstance(get_proper_type(each), NoneType)])


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin's class, as mypy asks for it."""
    return BlenderPlugin
