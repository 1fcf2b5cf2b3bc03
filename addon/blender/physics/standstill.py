"""Holding a pose still while Blender begins a simulation.

Blender builds a run's bodies and constraints while it evaluates the run's second frame, and takes each from wherever
it stands at that moment: in the first frame's pose or already in the second's, as its threads happen to go. What is
keyed to move between the two would put pivots and stops off, differently every time.
"""

from __future__ import annotations

import bpy

from ..compat import action_curves
from ..ticks import after_change


class Standstill:
    """A rig whose animation is off from ``hold`` to ``release``: it keeps the pose of the frame before."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self._rig = rig
        self._muted: list[bpy.types.FCurve] = []
        self._nla = False

    def hold(self) -> None:
        """Switch the rig's animation off."""
        data = self._rig.animation_data
        if data is None:
            return
        if data.action is not None:
            curves = action_curves(self._rig, data.action, create=False) or ()
            self._muted = [curve for curve in curves if not curve.mute]
            for curve in self._muted:
                curve.mute = True
        self._nla = data.use_nla
        data.use_nla = False
        after_change()  # nobody else tells that curves say nothing for the moment

    def release(self) -> None:
        """Switch on again what ``hold`` switched off. Blender then evaluates the frame once more, with its pose."""
        for curve in self._muted:
            curve.mute = False
        self._muted = []
        if self._nla:
            self._rig.animation_data.use_nla = True
            self._nla = False
        after_change()
