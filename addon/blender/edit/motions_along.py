"""The motions and stored poses of a model that becomes a part of another: they go along, and pose its parts there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import bpy

from ..animation.actions import motions_of
from ..animation.posed import poses_of
from ..animation.renamed import bone_in, played_by
from ..compat import all_curves, curve_groups
from ..data.access import action_record, settings
from ..data.channels import Channel

#: Data paths and numbers of curves, by those that they had.
Places = dict[tuple[str, int], tuple[str, int]]


def curves_of_both(before: Mapping[str, Sequence[Channel]], after: Mapping[str, Sequence[Channel]]) -> Places:
    """Return which curve of joints' bones as they were is which of their bones as they are, by the joints' ids."""
    pairs = ((old, new) for joint, own in before.items() for old, new in zip(own, after.get(joint, ()), strict=False))
    return {was: now for old, new in pairs for was, now in zip(old.curves(), new.curves(), strict=False)}


def own_motions(rig: bpy.types.Object, other: bpy.types.Object) -> list[bpy.types.Action]:
    """The motions and poses that are a model's and not another's as well: it plays them, they were made for it, or the
    other has no such bones."""
    both = {*motions_of(other), *poses_of(other)}
    sure = {*played_by(rig), *(each for each in both if action_record(each).model == settings(rig).uid != "")}
    return [each for each in (*motions_of(rig), *poses_of(rig)) if each in sure or each not in both]


def hand_over_motions(actions: Iterable[bpy.types.Action], places: Places, model: str) -> None:
    """Have motions and poses of a model be those of another, by its ``model_uid``, on whose bones its parts hang now.
    What else they key is left as it is."""
    for action in actions:
        groups = {bone_in(old): bone_in(new) for (old, _index), (new, _number) in places.items()}
        for curve in list(all_curves(action)):
            place = places.get((curve.data_path, curve.array_index))
            if place is not None and place != (curve.data_path, curve.array_index):
                curve.data_path, curve.array_index = place
        for group in curve_groups(action):
            if group.name in groups:
                group.name = groups[group.name]
        action_record(action).model = model
