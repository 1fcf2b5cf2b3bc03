"""What panels and lists cost at each redraw: our part of it, drawn onto a layout that takes everything and does
nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy

from addon.blender.animation.gait import bake_gait
from addon.blender.data import change_counter as ticks
from addon.blender.data.queries import child_collection, parts
from addon.blender.ui.joints.operators import KNUCKLE_UL_joint_table
from benchmarks.measuring import again, fresh_model, timed
from benchmarks.mechanisms import star
from benchmarks.table import Row
from tests.support.panels_helpers import panels_of_tab

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 3000), (5, 10)
#: Seconds for all panels of the tab, and for the joint table's list, of 1,000 joints.
BAR, JUDGED = 0.05, 1000


class Nowhere:
    """A layout, and whatever may be asked of one."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *args: Any, **words: Any) -> Any:
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        pass


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per redraw of the whole tab, the first after a change and further ones, of its slowest panel, and of the
    joint table's list."""
    for joints in sizes:
        rig = fresh_model(star(joints + 1))
        bake_gait(bpy.context.scene, rig, 1, 20)
        yield from redrawn(rig, joints, "joints", "", BAR if joints == JUDGED else None)


def redrawn(rig: bpy.types.Object, size: int, unit: str, whose: str, bar: float | None = None) -> Iterator[Row]:
    """The rows of a model, one of its joints active."""
    bpy.context.view_layer.objects.active = parts(rig, "JOINT")[0]
    panels = panels_of_tab()
    first = timed(lambda: [_draw(cls) for cls in panels], ticks.count_change, 7)
    yield Row(f"{whose}redraw: all panels after a change", size, unit, first, bar=bar, growth_bar=1.25)
    took = {cls.__name__: again(lambda cls=cls: _draw(cls)) for cls in panels}
    worst = max(took, key=lambda name: took[name])
    yield Row(f"{whose}redraw: all panels of the tab", size, unit, sum(took.values()), bar=bar, growth_bar=1.25)
    yield Row(f"{whose}redraw: {worst}", size, unit, took[worst])
    listed = again(lambda: _filter(rig))
    yield Row(f"{whose}redraw: the joint table's list", size, unit, listed, bar=bar, growth_bar=1.25)


def _draw(cls: Any) -> None:
    if not hasattr(cls, "poll") or cls.poll(bpy.context):
        panel = type("Drawn", (), {**{k: v for k, v in vars(cls).items() if callable(v)}, "layout": Nowhere()})
        for base in cls.__mro__[1:]:
            for name, value in vars(base).items():
                if callable(value) and not name.startswith("__") and not hasattr(panel, name):
                    setattr(panel, name, value)
        cls.draw(panel(), bpy.context)


def _filter(rig: bpy.types.Object) -> None:
    class List:
        filter_name, kind, opened, bitflag_filter_item = "", "ALL", True, 1

    holder = child_collection(rig, "Joints")
    KNUCKLE_UL_joint_table.filter_items(List(), bpy.context, holder, "all_objects")
