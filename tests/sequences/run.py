"""Run random sequences of steps in a Blender of its own, and shorten those that fail.

    python -m tests.sequences.run SEED STEPS FOLDER [MODEL …]     # draws and runs
    python -m tests.sequences.run replay FILE FOLDER              # runs the steps in a file once
    python -m tests.sequences.run shrink FILE FOLDER              # prints as few of them as fail the same way

After each step: nothing that was said is a traceback, every model can be read and validated, an operator of ours has
brought no error that it does not tell of, and undo and redo come to exactly what was."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.sequences.steps import MORE_OBJECTS, Doing, Drawing, Step

#: Steps with one file; then another is begun.
EPISODE = 100
#: Every so many steps undo is compared: it takes as long as several steps.
_UNDO_EACH = 3
_ROOT = Path(__file__).resolve().parents[2]
#: What a run begins with that tells what failed.
_FAILED = "failed: "


class Failed(Exception):
    """A step after which something is wrong: in one line what, and the whole story."""

    def __init__(self, what: str, story: str = "") -> None:
        super().__init__(what)
        self.what, self.story = what, story


class Heard:
    """What the process, and Blender in it, wrote on its output and errors since it was asked last."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w+b", buffering=0)  # noqa: SIM115 -- as long as the process
        self.real = os.fdopen(os.dup(1), "w")
        os.dup2(self._file.fileno(), 1)
        os.dup2(self._file.fileno(), 2)
        self._at = 0

    def more(self) -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        self._file.seek(self._at)
        text = self._file.read().decode(errors="replace")
        self._at += len(text.encode())
        self._file.seek(0, os.SEEK_END)
        return text


def _of_original(key: tuple[str, ...]) -> tuple[str, ...]:
    """The error that the original of a copied part has had, in whatever mechanism: a copy has its faults too."""
    import bpy

    from addon.blender.data.access import record_of

    originals = {record_of(obj).source_id: record_of(obj).copy_of for obj in bpy.data.objects if record_of(obj).copy_of}
    return (key[1], *(originals.get(part, part) for part in key[2:]))


class Episode:
    """One file and what is done with it."""

    def __init__(self, model: Path, folder: Path, heard: Heard) -> None:
        self.model, self.folder, self.heard = model, folder, heard
        self.doing = Doing(folder)
        self.number = 0

    def begin(self) -> None:
        """The model imported into an empty file, which is also saved for being appended."""
        import bpy

        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.import_scene.mechanism(filepath=str(self.model), gait_seconds=0.2)
        bpy.context.scene.frame_end = 12
        bpy.ops.wm.save_as_mainfile(filepath=str(self.folder / "library.blend"), copy=True)
        bpy.ops.ed.undo_push(message="begun")
        self.heard.more()

    def do(self, step: Step) -> None:
        """One step and all checks. Failed where one fails."""
        import bpy

        # a step of undo in Edit Mode has what is edited alone: Blender takes nothing else back there
        compare = step[0] == "run" and self.number % _UNDO_EACH == 0 and not bpy.context.mode.startswith("EDIT")
        self.number += 1
        errors = self._errors() if step[0] == "run" else {}
        if compare:
            bpy.context.view_layer.update()
            bpy.ops.ed.undo_push(message="before")
        before = state() if compare else {}
        said = self._done(step)
        self._require_no_traceback(step, said)
        bpy.context.view_layer.update()
        self._valid(step, errors, said)
        if step[0] in {"undo", "redo"}:
            return
        bpy.ops.ed.undo_push(message=str(step[1])[:40])
        if compare:
            after = state()
            bpy.ops.ed.undo()
            self._same(before, f"undo of {step[:2]}")
            bpy.ops.ed.redo()
            self._same(after, f"redo of {step[:2]}")
        self._require_no_traceback(step, "")

    def _done(self, step: Step) -> str:
        try:
            self.doing.do(step)
        except RuntimeError as error:
            return str(error)
        except Exception as error:  # whatever it is, it is no word for users
            raise Failed(f"{step[:2]}: {type(error).__name__}: {error}", traceback.format_exc()) from None
        return ""

    def _require_no_traceback(self, step: Step, said: str) -> None:
        text = said + self.heard.more()
        if "Traceback" in text:
            lines = [line for line in text[text.index("Traceback") :].splitlines() if line and not line.startswith(" ")]
            raise Failed(f"{step[:2]}: {lines[1] if len(lines) > 1 else 'Traceback'}", text)

    def _mechanisms(self) -> Iterator[Any]:
        import bpy

        from addon.blender.data.queries import collection_of, rigs_in
        from addon.blender.scene.read.mechanism import extract

        for rig in list(rigs_in(bpy.context.scene)):
            try:
                collection_of(rig)
                yield rig, extract(rig)
            except ValueError:
                continue  # a word for users: it lost its collection, stands at no number
            except Exception as error:
                raise Failed(f"extract: {type(error).__name__}: {error}", traceback.format_exc()) from None

    def _errors(self) -> dict[tuple[str, ...], str]:
        from addon.core.validation import validate

        out: dict[tuple[str, ...], str] = {}
        for rig, mechanism in self._mechanisms():
            try:
                found = validate(mechanism)
            except Exception as error:
                raise Failed(f"validate: {type(error).__name__}: {error}", traceback.format_exc()) from None
            for finding in found:
                if finding.severity == "error":
                    out[rig.name, finding.code, *finding.parts] = finding.message
        return out

    def _valid(self, step: Step, before: dict[tuple[str, ...], str], said: str) -> None:
        new = {key: message for key, message in self._errors().items() if key not in before}
        known = {key[1:] for key in before}
        new = {key: message for key, message in new.items() if _of_original(key) not in known}
        if step[0] != "run" or step[1].split(".")[0] != "knuckle" or not new:
            return
        told = said + self.heard.more() + "".join(_report_lines())
        silent = [message for message in new.values() if message not in told and message.split("'")[1] not in told]
        if silent:
            raise Failed(f"{step[:2]}: brings and does not tell: {silent[0]}")

    def _same(self, wanted: dict[str, Any], when: str) -> None:
        found = state()
        if found != wanted:
            paths = [path for path in sorted({*found, *wanted}) if found.get(path) != wanted.get(path)]
            told = [f"{path}: {wanted.get(path)!r} -> {found.get(path)!r}" for path in paths[:8]]
            raise Failed(f"{when} is not exact: {paths[0].split('/', 2)[-1]}", "\n".join(told))


def _report_lines() -> list[str]:
    import bpy

    from addon.blender.data.queries import rigs_in

    return [line.message for rig in rigs_in(bpy.context.scene) for line in rig.data.knuckle.report]


def state() -> dict[str, Any]:
    """Names, matrices, parents, records, constraints, actions and selection, as plain values."""
    import bpy

    out: dict[str, Any] = {}
    for obj in bpy.data.objects:
        if obj.library is not None:
            continue
        path = f"objects/{obj.name}"
        out[f"{path}/basis"] = _numbers(obj.matrix_basis)
        out[f"{path}/inverse"] = _numbers(obj.matrix_parent_inverse)
        out[f"{path}/parent"] = obj.parent and obj.parent.name, obj.parent_type, obj.parent_bone
        out[f"{path}/hidden"] = obj.hide_viewport, obj.hide_render
        out[f"{path}/in"] = tuple(sorted(each.name for each in obj.users_collection))
        out[f"{path}/constraints"] = tuple((each.type, each.name, each.mute) for each in obj.constraints)
        body, held = obj.rigid_body, obj.rigid_body_constraint
        out[f"{path}/rigid"] = body and (body.type, body.mass, body.kinematic, body.collision_shape)
        out[f"{path}/held"] = held and (held.type, *(end and end.name for end in (held.object1, held.object2)))
        _group(out, f"{path}/record", obj.knuckle)
        if obj.type == "ARMATURE" and obj.pose is not None:
            data = obj.animation_data
            moved = data is not None and (data.action is not None or len(data.drivers) or len(data.nla_tracks))
            for bone in obj.pose.bones:  # undo has Blender evaluate: channels with curves are what these say then
                channels = (
                    () if moved else (*bone.location, *bone.rotation_quaternion, *bone.rotation_euler, *bone.scale)
                )
                out[f"{path}/bones/{bone.name}"] = (channels, bone.rotation_mode, tuple(bone.lock_rotation))
                _group(out, f"{path}/bones/{bone.name}/record", bone.bone.knuckle)
            _group(out, f"{path}/settings", obj.data.knuckle)
    for action in [action for action in bpy.data.actions if action.library is None]:
        out[f"actions/{action.name}"] = action.use_fake_user, action.use_frame_range
    for scene in bpy.data.scenes:
        has_world = scene.rigidbody_world is not None
        out[f"scenes/{scene.name}"] = scene.frame_current, scene.frame_end, scene.render.fps, has_world
    layer = bpy.context.view_layer
    out["active"] = layer.objects.active and layer.objects.active.name
    out["selected"] = tuple(sorted(obj.name for obj in layer.objects.selected))
    return out


def _numbers(matrix: Any) -> tuple[float, ...]:
    """A matrix as numbers that stay when its object is gone."""
    return tuple(number for row in matrix.copy() for number in row[:])


def _group(out: dict[str, Any], path: str, group: Any) -> None:
    """All values of a group of ours."""
    import bpy

    for prop in group.bl_rna.properties:
        key = prop.identifier
        if key in {"rna_type", "name"} or key.startswith("knuckle_servo_") or key in _PASSING:
            continue
        value = getattr(group, key)
        if prop.type == "COLLECTION":
            for number, each in enumerate(value):
                _group(out, f"{path}/{key}/{number}", each)
        elif prop.type == "POINTER":
            if isinstance(value, bpy.types.ID) or value is None:
                out[f"{path}/{key}"] = value and value.name
            else:
                _group(out, f"{path}/{key}", value)
        else:
            plain = isinstance(value, (str, int, float, bool))
            out[f"{path}/{key}"] = value if plain else _numbers(value) if hasattr(value, "row") else tuple(value[:])


#: Not of the file: the marks with which a model is known while it is looked at.
_PASSING = {"session_tag", "mirrored_count", "mirrored_pose", "mirrored"}


# ---------------------------------------------------------------- the command


def _register() -> None:
    import bpy

    import addon

    addon.register()
    bpy.context.preferences.edit.undo_steps = 32


def draw(seed: int, steps: int, folder: Path, models: list[Path], heard: Heard) -> str:
    """Draw and run steps, a hundred with one file. Returns what failed, empty where nothing did."""
    import bpy

    rng, begun, done = random.Random(seed), time.perf_counter(), 0
    log = folder / "steps.json"
    while done < steps:
        model = models[(seed + done // EPISODE) % len(models)]
        episode, drawing = Episode(model, folder, heard), Drawing(rng, models, folder)
        history: list[Step] = []
        try:
            episode.begin()
            most = len(bpy.data.objects) + MORE_OBJECTS
            for _ in range(min(EPISODE, steps - done)):
                if len(bpy.data.objects) > most:
                    break
                history.append(drawing.step())
                log.write_text(json.dumps({"model": str(model), "seed": seed, "steps": history}))
                done += 1
                episode.do(history[-1])
        except Failed as error:
            return f"seed {seed}, step {done}, {model.name}: {error.what}\n{error.story}\nsteps are in {log}"
    print(f"{done} steps of seed {seed} in {time.perf_counter() - begun:.0f} s", file=heard.real, flush=True)
    return ""


def replay(path: Path, folder: Path, heard: Heard) -> str:
    """Run the steps in a file; what failed."""
    kept = json.loads(path.read_text())
    episode = Episode(Path(kept["model"]), folder, heard)
    try:
        episode.begin()
        for step in kept["steps"]:
            episode.do(step)
    except Failed as error:
        return f"{error.what}\n{error.story}"
    return ""


def outcome(path: Path, folder: Path) -> str:
    """How a replay ends: in one line what failed, or that it crashed."""
    command = [sys.executable, "-m", "tests.sequences.run", "replay", str(path), str(folder)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    told = (line.partition(_FAILED)[2] for line in done.stdout.splitlines() if line.startswith(_FAILED))
    return next(told, "")  # Blender 5.2 logs to the same place


def shrink(path: Path, folder: Path, seconds: float = 120.0) -> list[Step]:
    """As few of the steps in a file as fail the same way, dropping halves, quarters and so on down to single steps."""
    kept = json.loads(path.read_text())
    steps: list[Step] = kept["steps"]
    trial, begun = folder / "trial.json", time.perf_counter()

    def fails(some: list[Step]) -> str:
        trial.write_text(json.dumps({**kept, "steps": some}))
        return outcome(trial, folder)

    wanted = fails(steps)
    size = max(1, len(steps) // 2)
    while wanted and time.perf_counter() - begun < seconds:
        at, dropped = 0, False
        while at < len(steps) and time.perf_counter() - begun < seconds:
            fewer = steps[:at] + steps[at + size :]
            if fewer and fails(fewer) == wanted:
                steps, dropped = fewer, True
            else:
                at += size
        if size == 1 and not dropped:
            break
        size = max(1, size // 2)
    path.write_text(json.dumps({**kept, "steps": steps}))
    return steps


def main(words: list[str]) -> int:
    folder = Path(words[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if words[0] == "shrink":
        for step in shrink(Path(words[1]), folder):
            print(json.dumps(step))
        return 0
    heard = Heard(folder / f"heard.{os.getpid()}")
    _register()
    if words[0] == "replay":
        wrong = replay(Path(words[1]), folder, heard)
    else:
        wrong = draw(int(words[0]), int(words[1]), folder, [Path(word) for word in words[3:]], heard)
    print(f"{_FAILED}{wrong}" if wrong else "", file=heard.real, flush=True)
    os._exit(1 if wrong else 0)  # what Blender crashes with as it ends is none of this


if __name__ == "__main__":
    main(sys.argv[1:])
