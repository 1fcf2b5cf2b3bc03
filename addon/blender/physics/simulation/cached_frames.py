"""How far the present run of a scene's physics came, and whether a frame that is gone to shows what it did there.

Blender keeps the frames of a run. It shows them when one goes back, but reading one of a cache that anything was
written to since its second frame, as servos do at every step, it throws away all that come after; and it knows nothing
of an edit of keys, stops or gains, after which they are old. Here a cache is kept from being thrown away while it is
read, is emptied when it is old, and what is shown is compared with what the run did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ....core.model import Array
from ..world.rigidbody_world import first_frame, last_frame, reset_cache
from . import session as runs
from .cache_key import fingerprint
from .initial_state import evaluate_at

#: Places (length units) that differ by less are the same: what is shown is a frame of the run.
_SAME = 1e-4
_NOWHERE = -(2**31)


@dataclass
class Progress:
    """A run: what it began with, the last frame that it came to, the frame at which Blender has it now, and where
    bodies were at each frame."""

    mark: bytes
    reach: int = _NOWHERE
    now: int = _NOWHERE
    places: dict[int, Array] = field(default_factory=dict)
    is_broken: bool = False

    @property
    def has_frames(self) -> bool:
        """Return whether the run has come to any frame."""
        return self.reach != _NOWHERE

    def came_to(self, frame: int, places: Array) -> None:
        """The run took a step."""
        self.reach = self.now = frame
        self.places[frame] = places.astype(np.float32)

    def shows(self, frame: int, places: Array) -> bool:
        """Return whether bodies are where the run had them at a frame."""
        then = self.places.get(frame)
        return then is not None and then.shape == places.shape and bool(np.abs(then - places).max(initial=0.0) < _SAME)


#: By the scene's ``session_uid``, which a new name does not change.
_progress: dict[int, Progress] = {}
_notes: dict[int, str] = {}
_read: list[bpy.types.Scene] = []


def begin(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """A run starts anew."""
    _progress[scene.session_uid] = Progress(fingerprint(scene, rigs), now=first_frame(scene))


def progress_of(scene: bpy.types.Scene) -> Progress | None:
    """The scene's present run."""
    return _progress.get(scene.session_uid)


def shown_of_run(scene: bpy.types.Scene) -> range:
    """The frames from the first to the scene's present one, which come to the same again, where a run had come to it;
    none where what is shown is none of a run's."""
    run = progress_of(scene)
    reached = run is not None and scene.frame_current <= run.reach
    return range(first_frame(scene), scene.frame_current + 1) if reached else range(0)


def end(scene: bpy.types.Scene) -> None:
    """What the scene's cache holds, and its simulation, is nothing that can be gone on from."""
    _progress[scene.session_uid] = Progress(b"")


def break_off() -> None:
    """After undo: what was known of the runs of all scenes, speeds, turns and forces, is gone. What they did can still
    be shown; but nothing goes on from there."""
    for run in _progress.values():
        run.is_broken, run.now = True, _NOWHERE


def end_broken(scene: bpy.types.Scene) -> None:
    """Before a frame that the present run did not have: it has ended where it was broken off."""
    run = _progress.get(scene.session_uid)
    if run is not None and run.is_broken:
        end(scene)


def rewound(scene: bpy.types.Scene) -> None:
    """Blender has gone back to the first frame, from where it goes on."""
    run = _progress.get(scene.session_uid)
    if run is not None:
        run.now = first_frame(scene)


def part_with_old(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int, led: bool) -> None:
    """Before a frame that is gone to, and not ``led`` to by a step: have Blender forget a run that is old."""
    run = _progress.get(scene.session_uid)
    if run is None or not run.has_frames or (frame > run.reach and (led or run.now == frame - 1)):
        return
    if run.mark != fingerprint(scene, rigs):
        reset_cache(scene)
        evaluate_at(scene, first_frame(scene) + 1)  # Blender throws away what comes after
        end(scene)
        for rig in rigs:
            runs.lose(rig)


def replay(scene: bpy.types.Scene, frame: int) -> bool:
    """Before a frame that the present run had: have Blender show it from its cache. Whether it was one."""
    run = _progress.get(scene.session_uid)
    if run is None or frame > run.reach:
        return False
    run.now = frame
    scene.frame_current = run.reach  # to call an operator evaluates the scene: at that frame nothing is thrown away
    try:
        _protect(scene, True)
    finally:
        scene.frame_current = frame
    _read.append(scene)
    return True


def release() -> None:
    """After a frame was shown from a cache: runs may write to it again."""
    while _read:
        _protect(_read.pop(), False)


def _protect(scene: bpy.types.Scene, on: bool) -> None:
    """Have Blender take a cache for baked: it then throws nothing away."""
    cache = scene.rigidbody_world.point_cache
    if cache.is_baked != on:
        with bpy.context.temp_override(scene=scene, point_cache=cache):
            (bpy.ops.ptcache.bake_from_cache if on else bpy.ops.ptcache.free_bake)()


def hush() -> None:
    """Take back what the status bar says: nobody is there any more to know better."""
    for scene in getattr(bpy.data, "scenes", ()):
        tell(scene, "")


def forget() -> None:
    """Another file was opened."""
    _progress.clear()
    _notes.clear()
    _read.clear()


# ------------------------------------------------------------------------------------ told


def note(scene: bpy.types.Scene) -> str:
    """Return why what is shown is not what physics does at this frame; empty where it is."""
    return _notes.get(scene.session_uid, "")


def judge_frame(scene: bpy.types.Scene, places: Array, stepped: bool) -> None:
    """After a frame: ``stepped``, the run came to it, with bodies at these places (n, 3); else tell whether they show
    what it did there."""
    frame, run = scene.frame_current, _progress.get(scene.session_uid)
    if run is not None and stepped and frame <= last_frame(scene):
        run.came_to(frame, places)
    tell(scene, "" if run is not None and run.shows(frame, places) else _why(scene, run))


def tell_why(scene: bpy.types.Scene) -> None:
    """At a frame that no run has come to: say so."""
    tell(scene, _why(scene, _progress.get(scene.session_uid)))


def _why(scene: bpy.types.Scene, run: Progress | None) -> str:
    if scene.frame_current > last_frame(scene):
        return (
            f"Physics ends at frame {last_frame(scene)}: bring the scene's end beyond it and play from the first frame"
        )
    if run is None or not run.has_frames:
        return "Bake first, or play from the first frame: physics has not run to this frame as things are now"
    return f"Bake first, or play from the first frame: physics has run to frame {run.reach} only"


def tell(scene: bpy.types.Scene, text: str) -> None:
    """Keep a note for the panel, and show it in the status bar."""
    if _notes.get(scene.session_uid, "") == text:
        return
    _notes[scene.session_uid] = text
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        if window.scene == scene:
            window.workspace.status_text_set(text or None)
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()  # the sidebar has room for the note, or none
