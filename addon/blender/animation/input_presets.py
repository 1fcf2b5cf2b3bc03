"""Input presets of a mechanism in Blender: the inputs of its gait set so that it stands, walks or turns."""

from __future__ import annotations

from collections.abc import Mapping

import bpy

from ...core.gait.presets import Inputs, input_presets
from ...formats import loads_again
from ...formats.document.cache import MOST
from ...formats.document.parse_cache import Lately
from ..data.access import action_record, settings
from ..data.documents import document_bytes
from ..data.properties.model import control_property
from .gait import bake_gait, plays_own_gait

#: The presets of documents: finding them takes trying the gait.
_presets: Lately[dict[str, Inputs]] = Lately(MOST)


def presets_of(rig: bpy.types.Object) -> dict[str, Inputs]:
    """Return the presets of the gait in a mechanism's document and the inputs of each, worked out once per text.

    Raises:
        FormatError: The document cannot be read, as while somebody edits its text.
    """
    if not settings(rig).listens_to:
        return {}
    data, path = document_bytes(rig), settings(rig).path
    if data is None:
        return {}
    found = _presets.get(data, path)
    if found is None:
        found = input_presets(loads_again(data, path))
        _presets.keep(data, path, found)
    return found


def input_names(rig: bpy.types.Object) -> list[str]:
    """The inputs that the gait of a mechanism reads, in its order."""
    return [name for name in settings(rig).listens_to.split(",") if name]


def set_inputs(scene: bpy.types.Scene, rig: bpy.types.Object, inputs: Mapping[str, float]) -> bool:
    """Set all inputs that a mechanism's gait reads, those without a name to 0, and bake the gait's own Action anew.

    Returns:
        Whether it was: see ``bake_own_gait``.
    """
    for name in input_names(rig):
        setattr(settings(rig).controls, control_property(name), inputs.get(name, 0.0))
    return bake_own_gait(scene, rig)


def bake_own_gait(scene: bpy.types.Scene, rig: bpy.types.Object, until: int | None = None) -> bool:
    """Bake the gait anew, with its inputs as they are set or keyed, where its own unedited Action plays.

    Args:
        scene: The scene, which has the frame rate.
        rig: The mechanism.
        until: A frame to which the Action is to reach, besides those that it had.

    Returns:
        Whether it was baked.
    """
    data = rig.animation_data
    before = data.action if data is not None else None
    if before is None or data.use_tweak_mode or action_record(before).kind != "GAIT" or not plays_own_gait(rig):
        return False
    first, last = (round(frame) for frame in before.frame_range[:])
    name = before.name
    if bake_gait(scene, rig, first, max(last, until or last)) is None:
        return False
    if before.users == int(before.use_fake_user):  # Blender may have put the keyframes of inputs into the same Action
        bpy.data.actions.remove(before)
        rig.animation_data.action.name = name
    return True
