"""A cell of the edit matrix: a mechanism made ready, observed before and after an edit, and the comparison.

After every edit this must hold: the facts of the exported file that the edit is of have the expected values and no
other fact has changed; no other path of the file has; what was not to move stands where it stood, at every frame; and
what Blender shows is what the file says (forward kinematics and extents of the shapes, both reckoned here).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from tests.support.emptied import empty_file

from . import names
from .document import Document, differences, placed, same
from .readers import READERS
from .scenes import SCENES, Scene

#: What the value of a fact is that is no longer there.
GONE = "(gone)"
#: What a fact may have become, whatever it is.
ANY = "(any)"
#: Blender's numbers are of 32 bits: how far a number that went through it may be off, by its size, at least absolutely.
TOLERANCE = 2e-6
#: The same of places and turns, which went through several matrices.
PLACE = 1e-5
#: Shapes whose extents are reckoned here.
SOLIDS = {"box", "ellipsoid", "sphere", "cylinder", "capsule"}
#: What an empty field of a motion file counts as.
EMPTY = 1e300
#: How far what joints of closed loops hold together may be apart, which a solver finds at each frame.
JOINED = 1e-4
#: By how much of its size the mesh of a round shape may be within it.
ROUND = 0.03
STATES = ("initial", "posed", "animated")
VIAS = ("direct", "saved")
FRAMES = (1, 6, 11)
M = np.diag([-1.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Freed:
    """A joint of whose new values nothing is known: it may be written as several, one after the other.

    ``kinds`` are those of their degrees of freedom together, and ``kept`` what one of these has to have."""

    parent: str | None
    child: str
    kinds: tuple[str, ...]
    kept: dict[str, Any] = field(default_factory=dict)


@dataclass
class Expected:
    """What an edit is to do. ``moved``: objects (role, name) that may stand elsewhere. ``renamed``: names that are
    others now. ``is_shown``: whether bones show the edit at once. ``told``: a code that the report has to have."""

    facts: dict[str, Any] = field(default_factory=dict)
    moved: set[tuple[str, str]] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    is_shown: bool = True
    #: Whether bones carry it, so that it is shown rightly at other frames than that at which it was edited.
    is_carried: bool = True
    told: str = ""
    #: Whether names are others in the file alone: of bones. And whether those of servos are what they were.
    keeps_object_names: bool = False
    keeps_servo_names: bool = False
    #: Whether the mechanism has any servo that moves. And servos that move as before though others do not.
    has_motion: bool = True
    goes_on: tuple[str, ...] = ()
    #: Whether joints may count from elsewhere, their stops with them, and which may not: the design of a loop that was
    #: edited as it is posed closes elsewhere.
    is_counted_anew: bool = False
    counts_on: tuple[str, ...] = ()
    #: Bodies that may have a joint of six degrees of freedom to the world now, as formats want it.
    free: set[str] = field(default_factory=set)
    #: Objects (role, name) that have to stand where they stood at the frame of the edit alone.
    held: set[tuple[str, str]] = field(default_factory=set)
    #: Joints whose type has changed, by name.
    freed: dict[str, Freed] = field(default_factory=dict)
    #: What names of new parts of the file look like, whatever they are.
    made: str = ""
    #: Raw paths (as beginnings) that may change though no fact does.
    besides: tuple[str, ...] = ()


@dataclass
class Observation:
    """What an export says, and where everything stands at each frame (n, 4, 4), in the file's axes."""

    text: str
    document: Document
    told: list[tuple[str, str]]
    seen: dict[tuple[str, str], np.ndarray]
    boxes: dict[str, np.ndarray]
    motion: dict[str, tuple[float, ...]]


class Cell:
    """A mechanism in the scene, in a state, ready to be edited."""

    def __init__(self, subject: str, state: str, via: str, folder: Path) -> None:
        self.scene: Scene = SCENES[subject]
        self.format, self.state, self.via, self.folder = self.scene.format, state, via, folder
        if via == "saved":
            bpy.ops.wm.open_mainfile(filepath=str(_kept(subject, state)))
        else:
            self._make_ready()
        self.before = self.observe()
        self._axes = dict(self._own_axes())

    def _own_axes(self) -> Iterator[tuple[str, np.ndarray]]:
        """The axes of the objects of bodies whose pose in the file is that of their first geom, in that."""
        poses = self.before.document.world_poses(self.values_at(self.frames[0]))
        for name in poses if self.format == "x_xy" else ():
            yield name, placed((0, 0, 0), poses[name][:3, :3].T @ self.before.seen["BODY", name][0][:3, :3])

    def _make_ready(self) -> None:
        empty_file()
        names.run("import", filepath=str(self.scene.write(self.folder)))
        for role, pair in (("BODY", self.scene.arm), ("JOINT", self.scene.hip)):
            if not pair[1]:
                continue
            twins = [names.part(role, name) for name in pair]
            if not names.twin_id(twins[0])[1]:
                pick(*twins)
                names.run("link twins")
        for frame in () if self.scene.has_gait else FRAMES if self.state == "animated" else (None,):
            if self.state != "initial":
                self._pose({joint: self.values_at(frame or 1)[joint][0] for joint in self.scene.posed}, frame)
        if self.state == "animated":
            bpy.context.scene.frame_set(FRAMES[1])
        pick(names.the_rig())
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="ready")

    def _pose(self, values: dict[str, float], frame: int | None) -> None:
        for joint, value in values.items():
            ((bone, prop, index),) = names.channels(names.part("JOINT", joint))
            getattr(bone, prop)[index] = value
            if frame is not None:
                bone.keyframe_insert(prop, index=index, frame=frame)

    def values_at(self, frame: int) -> dict[str, list[float]]:
        """The values at which joints stand at a frame (those keyed are keyed at every frame that is looked at)."""
        values = {joint: np.atleast_1d(value).tolist() for joint, value in self.scene.initial.items()}
        share = {"initial": 0.0, "posed": 1.0, "animated": (frame - 1) / 10}[self.state]
        posed = self.scene.posed if self.state != "initial" and not self.scene.has_gait else {}
        return values | {joint: [value * share] for joint, value in posed.items()}

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames at which it is looked at; the one at which it is edited is the second, or the only one."""
        return FRAMES if self.state == "animated" else (bpy.context.scene.frame_current,)

    def observe(self) -> Observation:
        """The export, and where everything stands."""
        text, told = names.exported(self.folder / f"out{self.scene.suffix}")
        seen: dict[tuple[str, str], list[np.ndarray]] = {}
        frame = bpy.context.scene.frame_current
        boxes = {}
        for each in self.frames:
            if each != frame or len(self.frames) > 1:
                bpy.context.scene.frame_set(each)
            seen_now = dict(self.places())
            for key, pose in seen_now.items():
                seen.setdefault(key, []).append(pose)
            if each == frame:
                boxes = dict(self._boxes())
        if bpy.context.scene.frame_current != frame:
            bpy.context.scene.frame_set(frame)
        document = READERS[self.format](text)
        places = {key: np.array(poses) for key, poses in seen.items()}
        return Observation(text, document, told, places, boxes, self._motion() if self.state == "animated" else {})

    def _motion(self) -> dict[str, tuple[float, ...]]:
        """The columns of the exported motion."""
        if not names.has_servos():
            return {}
        path = self.folder / "motion.csv"
        pick(names.the_rig())
        names.run("export motion", filepath=str(path))
        with path.open(newline="") as file:
            header, *rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
        return {name: tuple(float(row[i] or EMPTY) for row in rows) for i, name in enumerate(header)}

    def upright(self) -> np.ndarray:
        """From the world to the file's axes."""
        return np.linalg.inv(np.array(names.the_rig().matrix_world))

    def places(self) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
        """Where each part is seen at the present frame, in the file's axes."""
        graph, back = bpy.context.evaluated_depsgraph_get(), self.upright()
        for obj in names.visible_parts():
            yield (obj.knuckle.role, obj.name), back @ np.array(obj.evaluated_get(graph).matrix_world)

    def _boxes(self) -> Iterator[tuple[str, np.ndarray]]:
        """Lowest and highest corner of each body's mesh as it is shown."""
        graph, back = bpy.context.evaluated_depsgraph_get(), self.upright()
        for obj in names.parts("BODY"):
            shown = obj.evaluated_get(graph)
            points = np.empty(3 * len(shown.data.vertices), dtype=np.float32)
            shown.data.vertices.foreach_get("co", points)
            world = back @ np.array(shown.matrix_world)
            points = points.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
            if len(points):
                yield obj.name, np.array([points.min(axis=0), points.max(axis=0)])

    def reopen(self) -> None:
        """Save the .blend and open it again."""
        path = self.folder / "cell.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=False)
        bpy.ops.wm.open_mainfile(filepath=str(path))

    # ---------------------------------------------------------------- the comparison

    def check(self, expected: Expected) -> list[str]:
        """What is not as expected, now and, via a .blend, after that was saved and opened again."""
        bpy.context.view_layer.update()
        found = self._compare(expected, self.observe())
        if self.via == "saved":
            self.reopen()
            found += [f"reopened: {line}" for line in self._compare(expected, self.observe())]
        return found

    def _compare(self, expected: Expected, after: Observation) -> list[str]:
        before = renamed(self.before.document, expected.renamed)
        zeros = self._zeros(after, expected) if expected.is_counted_anew else {}
        stops = {f"dof/{joint}/0/{end}": zero for joint, zero in zeros.items() for end in ("lower", "upper")}
        stops = {fact: before.facts[fact] + zero for fact, zero in stops.items() if before.facts.get(fact) is not None}
        expected = replace(expected, facts={**expected.facts, **stops})
        found = [
            *_facts(before, after.document, expected),
            *_paths(before, after.document, expected),
            *_lines(self.before, after),
            *_stood(self.before, after, expected),
            *_moves(self.before, after, expected),
            *_chains(after.document, expected),
            *_comes_back(after, expected, f"out{self.scene.suffix}"),
        ]
        if expected.told and expected.told not in {code for code, _message in after.told}:
            found.append(f"report: no entry {expected.told!r}, but {[code for code, _message in after.told]}")
        if expected.is_shown and not self.scene.has_gait:
            found += self._is_as_shown(after, expected, zeros)
        return found

    def _zeros(self, after: Observation, expected: Expected) -> dict[str, float]:
        """By how much more the values of joints are, at the frame of the edit, than before it: their bodies stand where
        they stood. Of those of which that is more than nothing."""
        facts, number = after.document.facts, min(1, len(self.frames) - 1)
        out = {}
        for joint in after.document.names("joint"):
            if joint in expected.freed or joint in expected.counts_on or _is_made(joint, expected):
                continue
            ends = facts[f"joint/{joint}/parent"], facts[f"joint/{joint}/child"]
            now, was = (self._values_seen(each, number, *ends)[0].get(joint, []) for each in (after, self.before))
            if len(now) == len(was) == 1 and abs(now[0] - was[0]) > PLACE:
                out[joint] = now[0] - was[0]
        return out

    def _is_as_shown(self, after: Observation, expected: Expected, zeros: dict[str, float]) -> Iterator[str]:
        """Whether what Blender shows is what the file says."""
        facts, back = after.document.facts, {new: old for old, new in expected.renamed.items()}
        shown_at = {obj.name: names.body_record(obj).source_name for obj in names.parts("BODY")}
        here = self.frame
        for number, frame in enumerate(self.frames):
            if frame != here and not expected.is_carried:
                continue
            if self.scene.chord:
                yield from self._is_joined(after, expected, zeros, number)
                continue
            values = {expected.renamed.get(joint, joint): each for joint, each in self.values_at(frame).items()}
            for name, freed in expected.freed.items():
                values.pop(name, None)
                values |= self._values_seen(after, number, freed.parent, freed.child)[0]
            poses = after.document.world_poses(values)
            for name in shown_at:
                if name not in poses:
                    continue
                shown = rigid(after.seen["BODY", name][number])
                old = back.get(name, name)
                wanted = poses[name] @ placed(facts[f"body/{name}/com"]) @ self._axes.get(old, np.eye(4))
                off = np.abs(shown - wanted).max()
                if off > PLACE:
                    yield f"body {name!r} is shown {off:.2g} from where the file has it (frame {frame})"
                if frame == here:
                    yield from self._fits(name, poses[name], after)

    def _values_seen(
        self, after: Observation, number: int, parent: str | None, child: str
    ) -> tuple[dict[str, list[float]], float]:
        """The values of the joints between two bodies, or the world and one, that have these where they are seen, and
        how far off that is; in a tree at the initial pose those of the file."""
        facts, chain = after.document.facts, after.document.chain(parent, child)
        if self.state == "initial" and not self.scene.chord:
            every = ((joint, facts.get(f"dof/{joint}/0/position", 0.0)) for joint in chain)
            return {joint: np.atleast_1d(value).tolist() for joint, value in every}, 0.0
        went = [np.eye(4), *(self._went(after, number, body) for body in filter(None, (parent, child)))]
        return after.document.fitted(chain, np.linalg.inv(went[-2]) @ went[-1])

    def _went(self, observed: Observation, number: int, body: str) -> np.ndarray:
        """How far (4, 4) a body is seen from where it is designed."""
        facts = observed.document.facts
        local = placed(facts[f"body/{body}/com"]) @ self._axes.get(body, np.eye(4))
        return rigid(observed.seen["BODY", body][number]) @ np.linalg.inv(facts[f"body/{body}/pose"] @ local)

    def _is_joined(self, after: Observation, expected: Expected, zeros: dict[str, float], number: int) -> Iterator[str]:
        """Whether every joint of a mechanism with closed loops lets its bodies stand as they are seen, and those that
        were posed stand there, as they count now."""
        facts, frame = after.document.facts, self.frames[number]
        back = {new: old for old, new in expected.renamed.items()}
        posed = {expected.renamed.get(joint, joint): each for joint, (each, *_) in self.values_at(frame).items()}
        posed = {joint: value + zeros.get(joint, 0.0) for joint, value in posed.items()}
        ends = {
            joint: (facts[f"joint/{joint}/parent"], facts[f"joint/{joint}/child"])
            for joint in after.document.names("joint")
        }
        ends = {
            joint: pair for joint, pair in ends.items() if all(e is None or ("BODY", e) in after.seen for e in pair)
        }
        ends |= {joint: (freed.parent, freed.child) for joint, freed in expected.freed.items()}
        for joint, (parent, child) in ends.items():
            if child is None or not facts.get(f"joint/{joint}/active", True):
                continue
            values, off = self._values_seen(after, number, parent, child)
            if off > JOINED:
                yield f"joint {joint!r} is apart by {off:.2g} (frame {frame})"
            began = self.before.document.facts.get(f"dof/{back.get(joint, joint)}/0/position")
            begins = facts.get(f"dof/{joint}/0/position") if joint not in expected.freed else began
            if self.state == "initial" and begins != began and abs(values[joint][0] - begins) > JOINED:
                yield f"joint {joint!r} is to begin at {begins:.6g} and stands at {values[joint][0]:.6g}"
            if joint in posed and joint not in expected.freed and abs(values[joint][0] - posed[joint]) > JOINED:
                yield f"joint {joint!r} stands at {values[joint][0]:.6g} instead of {posed[joint]:.6g} (frame {frame})"

    @property
    def frame(self) -> int:
        """The frame at which it is edited."""
        return self.frames[min(1, len(self.frames) - 1)]

    def went_before(self, body: str) -> np.ndarray:
        """How far (4, 4) a body was, at the frame of the edit, from where it is designed."""
        if self.scene.chord or self.scene.has_gait:
            return self._went(self.before, min(1, len(self.frames) - 1), body)
        document = self.before.document
        poses = document.world_poses(self.values_at(self.frame))
        return poses[body] @ np.linalg.inv(document.facts[f"body/{body}/pose"])

    def _fits(self, name: str, pose: np.ndarray, after: Observation) -> Iterator[str]:
        shapes = visual_shapes(after.document, name)
        is_known = {kind for kind, *_rest in shapes} <= SOLIDS and name not in after.document.decorated
        if not shapes or not is_known or any(code == "mesh-edited" for code, _message in after.told):
            return
        ends = np.array([extent(kind, size, pose @ at) for kind, size, at in shapes])
        box = np.array([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])
        off = float(np.abs(box - after.boxes[name]).max() / np.ptp(box, axis=0).max())
        if off > ROUND:
            yield f"body {name!r} looks otherwise than the file has it: {off:.2g} of its size"


def rigid(pose: np.ndarray) -> np.ndarray:
    """A pose without its scale."""
    out = pose.copy()
    out[:3, :3] /= np.linalg.norm(out[:3, :3], axis=0)
    return out


def visual_shapes(document: Document, body: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Type, size and pose of what is seen of a body."""
    numbers = [
        key.split("/")[2] for key in document.facts if key.startswith(f"shape/{body}/") and key.endswith("/type")
    ]
    return [
        tuple(document.facts[f"shape/{body}/{n}/{w}"] for w in ("type", "size", "pose")) for n in numbers if n[0] != "c"
    ]  # type: ignore[misc]


def extent(kind: str, size: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Lowest and highest corner (2, 3) of a shape along the axes of the world."""
    turned = pose[:3, :3]
    if kind == "box":
        half = np.abs(turned) @ (np.abs(size) / 2)
    elif kind == "ellipsoid":
        half = np.linalg.norm(turned * (size / 2), axis=1)
    elif kind == "sphere":
        half = np.full(3, size[0])
    else:
        along, across = np.abs(turned[:, 2]) * size[0] / 2, size[1]
        half = along + (across if kind == "capsule" else across * np.sqrt(np.maximum(0.0, 1.0 - turned[:, 2] ** 2)))
    return np.array([pose[:3, 3] - half, pose[:3, 3] + half])


def _facts(before: Document, after: Document, expected: Expected) -> Iterator[str]:
    free = _free_joints(after, expected)
    for fact in {**before.facts, **after.facts, **expected.facts}:
        kind, name, *_more = fact.split("/")
        if (fact.endswith("/motions") and fact not in expected.facts) or (kind in {"joint", "dof"} and name in free):
            continue  # they follow from the type and the axes
        wanted = expected.facts.get(fact, before.facts.get(fact, GONE))
        now = after.facts.get(fact, GONE)
        if wanted is ANY or (fact not in before.facts and _is_made(name, expected)):
            continue
        if wanted is GONE and any(path.startswith(after.origin[fact]) for path in before.raw if after.origin.get(fact)):
            continue  # a frame of a joint that is no joint's any more
        is_placed = fact.endswith(("/pose", "/frame")) or (expected.is_counted_anew and fact in expected.facts)
        tolerance = PLACE if is_placed else TOLERANCE  # paths are compared to the last digit
        if (
            fact.endswith("/frame")
            and _spins(before, fact)
            and not isinstance(now, str)
            and not isinstance(wanted, str)
        ):
            now, wanted = now[:, 2:], wanted[:, 2:]
        if not same(now, wanted, tolerance):
            which = "is" if fact in expected.facts else "has become"
            yield f"{fact} {which} {_short(now)} instead of {_short(wanted)}"


def _is_made(name: str, expected: Expected) -> bool:
    """Whether a part of the file is one of those that an edit may make, whatever they are."""
    return name in expected.freed or (bool(expected.made) and re.fullmatch(expected.made, name) is not None)


def _chains(after: Document, expected: Expected) -> Iterator[str]:
    """Whether joints of another type have the degrees of freedom of that, and what goes on in them has what it had."""
    for name, freed in expected.freed.items():
        chain = after.chain(freed.parent, freed.child)
        kinds = sorted(kind for joint in chain for kind, _axis in after.facts[f"joint/{joint}/motions"])
        if kinds != sorted(freed.kinds):
            yield f"joint {name!r} has {kinds} instead of {sorted(freed.kinds)}"
        dofs = {fact.rpartition("/")[0] for fact in after.facts for joint in chain if fact.startswith(f"dof/{joint}/")}
        if freed.kept and not any(
            all(same(after.facts.get(f"{dof}/{key}"), value, TOLERANCE) for key, value in freed.kept.items())
            for dof in dofs
        ):
            yield f"no degree of freedom of joint {name!r} has {freed.kept}"


def _comes_back(after: Observation, expected: Expected, path: str) -> Iterator[str]:
    """Check that the import makes one joint of what the file has of each joint whose type was changed.

    The readers here take several joints one after the other for one: they do not know how the file marks these."""
    from addon import formats

    again = formats.loads(after.text.encode(), path)
    names_by_id: dict[str | None, str | None] = {None: None, **{body.id: body.name for body in again.bodies}}
    for name, freed in expected.freed.items():
        ends = {freed.parent, freed.child}
        joints = [joint for joint in again.joints if {names_by_id.get(end) for end in joint.ends} == ends]
        found = [sorted(dof.kind.replace("screw", "rotation") for dof in joint.dofs) for joint in joints]
        if sorted(freed.kinds) not in found:
            yield f"joint {name!r} is imported with {found} instead of {sorted(freed.kinds)}"


def _free_joints(after: Document, expected: Expected) -> set[str]:
    """Joints that hold a body to the world with all its freedom, of bodies that may have one."""
    ends = (joint for joint in after.names("joint") if after.facts[f"joint/{joint}/child"] in expected.free)
    return {joint for joint in ends if after.facts[f"joint/{joint}/parent"] is None}


def _spins(document: Document, frame: str) -> bool:
    """Whether a joint's frame may be turned about its axis."""
    motions = document.facts.get(frame.replace("/frame", "/motions"), [])
    return document.spins and len(motions) == 1 and motions[0][0] != "ball"


def _paths(before: Document, after: Document, expected: Expected) -> Iterator[str]:
    """What else has changed in the file than what holds the expected facts."""
    allowed = {*expected.besides}
    for fact in expected.facts:
        allowed |= {*before.origin.get(fact, ()), *after.origin.get(fact, ())}
    allowed |= {
        path for fact, paths in after.origin.items() if _is_made(fact.split("/")[1], expected) for path in paths
    }
    allowed |= {path for joint in _free_joints(after, expected) for path in after.origin.get(f"joint/{joint}/is", ())}
    places = tuple(allowed)
    for path in differences(before.raw, after.raw):
        if path.endswith("/#"):
            one, other = before.raw.get(path, ()), after.raw.get(path, ())
            kept = [[key for key in keys if key in one and key in other] for keys in (one, other)]
            news = [path[:-2] + key for key in {*one} ^ {*other}]
            if path.startswith(places):
                continue
            if kept[0] != kept[1] or not all(_is_within(new, places) for new in news):
                yield f"the order or number of {path[:-2]} has changed: {one} -> {other}"
        elif not _is_within(path, places):
            yield f"{path} has become {_short(after.raw.get(path, GONE))} (it was {_short(before.raw.get(path, GONE))})"


def _is_within(path: str, places: tuple[str, ...]) -> bool:
    """Whether a path is one of some places, in one, or on the way to one."""
    return any(path.startswith(place) or place.startswith(f"{path}/") for place in places)


def _lines(before: Observation, after: Observation) -> Iterator[str]:
    """A few changes rewrite a few lines, and not the whole text."""
    lost = sum((Counter(before.text.splitlines()) - Counter(after.text.splitlines())).values())
    changed = sum(1 for _path in differences(before.document.raw, after.document.raw))
    if lost > 3 * changed + 3:
        yield f"{lost} lines were rewritten for {changed} changes"


def _stood(before: Observation, after: Observation, expected: Expected) -> Iterator[str]:
    for (role, name), poses in before.seen.items():
        now = after.seen.get((role, name if expected.keeps_object_names else expected.renamed.get(name, name)))
        if (role, name) in expected.moved or ("*", name) in expected.moved:
            continue
        if now is None:
            yield f"{role} {name!r} is gone"
            continue
        off = np.abs(now - poses).reshape(len(poses), -1).max(axis=1)
        off = float(off[min(1, len(off) - 1)] if (role, name) in expected.held else off.max())
        if off > PLACE:
            yield f"{role} {name!r} has moved by {off:.2g}"


def _moves(before: Observation, after: Observation, expected: Expected) -> Iterator[str]:
    """The motion is that of before, but for what is called otherwise and what is gone."""
    gone = {fact.split("/")[1] for fact, value in expected.facts.items() if value is GONE and fact.startswith("dof/")}
    gone |= {*expected.freed}
    for column, values in before.motion.items():
        name = column
        for old, new in expected.renamed.items() if not expected.keeps_servo_names else ():
            name = new + name[len(old) :] if name.startswith(old) else name
        if column.startswith(tuple(gone) or ("\0",)) or not (expected.has_motion or column in expected.goes_on):
            continue
        if not same(after.motion.get(name), values, TOLERANCE):
            yield f"the exported motion of {name!r} has become {after.motion.get(name)} instead of {values}"


def _short(value: Any) -> str:
    return np.array2string(value, precision=6).replace("\n", "") if isinstance(value, np.ndarray) else repr(value)


def renamed(document: Document, names_: dict[str, str]) -> Document:
    """A document as it is with other names wherever it has the old ones."""
    if not names_:
        return document

    def text(value: Any) -> Any:
        if isinstance(value, str):
            for old, new in names_.items():
                head, _, last = value.rpartition(":")
                value = new if value == old else f"{head}:{new}" if head and last == old else value
        elif isinstance(value, tuple):
            return tuple(text(item) for item in value)
        return value

    def path(key: str) -> str:
        for old, new in names_.items():
            key = key.replace(f"[{old}]", f"[{new}]").replace(f"/{old}/", f"/{new}/")
        return key

    def keys(value: Any) -> Any:
        return tuple(path(text(item)) for item in value)

    out = Document()
    out.raw = {path(k): keys(v) if k.endswith("/#") else text(v) for k, v in document.raw.items()}
    out.facts = {path(k): text(v) for k, v in document.facts.items()}
    out.origin = {path(k): tuple(map(path, v)) for k, v in document.origin.items()}
    out.inner = {names_.get(joint, joint): frame for joint, frame in document.inner.items()}
    return out


def pick(*objects: Any) -> None:
    """Select these alone, the last one active; what is hidden can be selected afterwards."""
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    for obj in objects:
        obj.hide_viewport = False
        obj.hide_set(False)
    bpy.context.view_layer.update()
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[-1]


#: The folder in which mechanisms that were made ready are kept, once it is known.
READY: list[Path] = []


@cache
def _kept(subject: str, state: str) -> Path:
    """A .blend of a mechanism that was made ready: cells via a .blend begin with it."""
    folder = READY[0] / f"{subject}-{state}"
    folder.mkdir()
    Cell(subject, state, "direct", folder)
    path = folder / "ready.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=False)
    return path
