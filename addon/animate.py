"""The work of ``animate``: a model's gait, or a motion fitted to a model, to a motion file, a .blend or a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from . import formats, plot
from .formats.files import write_whole
from .formats.xmdi import FRAME_SECONDS
from .model.gait import gait_of
from .model.gait_motion import gait_motion, tell_controls
from .model.motion_fit import Fitting, fitted
from .model.records import Mechanism, Motion
from .model.report import FormatError, Report
from .model.servo_match import match_servos
from .model.servos import servos_of


@dataclass(frozen=True)
class AnimateJob:
    """What ``animate`` was asked for. Without ``motion`` the model's own gait is meant, with the ``inputs`` held for
    so many ``seconds``; its ``fitting`` says but the step."""

    model: Path
    motion: Path | None = None
    only: str | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 10.0
    fitting: Fitting = field(default_factory=Fitting)
    out: Path | None = None
    picture: Path | None = None
    servos: Sequence[str] = ()
    mesh_folders: Sequence[str] = ()


def animate(job: AnimateJob, blender: Callable[[], ModuleType]) -> Report:
    """Do it; ``blender`` gives the jobs that need Blender, and is asked for them only for a .blend.

    FormatError where a file is bad or an output cannot be; then nothing is written."""
    to_blend = job.out is not None and job.out.suffix.lower() == ".blend"
    _check_endings(job, to_blend)
    jobs = blender() if to_blend else None
    mechanism = formats.load(job.model)
    report = Report(list(mechanism.report.entries))
    motions = _motions(mechanism, job, report)
    drawn = _picture(motions, mechanism, job) if job.picture is not None else b""
    if jobs is not None:
        keyed = motions if job.motion is not None else []
        made = jobs.animate_to_blend(mechanism, job.out, keyed, job.seconds, job.inputs, job.mesh_folders)
        report.entries += made.entries
    elif job.out is not None:
        report.extend(formats.save_motion(motions, job.out))
    if job.picture is not None:
        write_whole(job.picture, drawn)
    return report


def chosen(motions: Sequence[Motion], only: str | None, path: Path) -> list[Motion]:
    """All motions of a file, or the one that is asked for by its name."""
    found = [motion for motion in motions if only is None or motion.name == only]
    if not found:
        raise FormatError(
            f"there is no motion {only!r}", path=str(path),
            remedy=f"It holds {', '.join(repr(motion.name) for motion in motions)}.",
        )  # fmt: skip
    return found


def motion_endings() -> list[str]:
    """What motion files are called."""
    return list(dict.fromkeys(ending for row in formats.MOTION_FORMATS.values() for ending in row.extensions))


def _check_endings(job: AnimateJob, to_blend: bool) -> None:
    known = motion_endings()
    if job.out is not None and not to_blend and job.out.suffix.lower() not in known:
        raise FormatError(
            f"{job.out.suffix or 'no ending'} is not what animate writes", path=str(job.out),
            remedy=f"Name the output {', '.join(known)} for the servo motion or .blend for the scene.",
        )  # fmt: skip
    if job.picture is not None and job.picture.suffix.lower() not in plot.ENDINGS:
        raise FormatError(
            f"{job.picture.suffix or 'no ending'} is not what a plot is written as", path=str(job.picture),
            remedy=f"Name it {', '.join(plot.ENDINGS)}.",
        )  # fmt: skip


def _motions(mechanism: Mechanism, job: AnimateJob, report: Report) -> list[Motion]:
    if job.motion is None:
        tell_controls(gait_of(mechanism), job.inputs, report)
        motion = gait_motion(mechanism, job.inputs, job.seconds, job.fitting.step or FRAME_SECONDS)
        report.info("gait", f"The gait moves {len(motion.trajectories)} servos for {motion.duration:g} s")
        return [motion]
    read, found = formats.read_motions(job.motion)
    report.extend(found)
    out = []
    motions = chosen(read, job.only, job.motion)
    there = {each.name for motion in motions for each in motion.trajectories}
    for name in sorted(job.fitting.mapping.keys() - there):
        report.warn("mapping-unused", f"The mapping speaks of servo {name!r}, which is not in the file")
    for motion in motions:
        told = Report()
        out.append(fitted(motion, mechanism, job.fitting, told))
        of = f"{motion.name}: " if len(motions) > 1 else ""
        report.entries += [replace(entry, message=of + entry.message) for entry in told.entries]
    return out


def _picture(motions: Sequence[Motion], mechanism: Mechanism, job: AnimateJob) -> bytes:
    if len(motions) > 1:
        raise FormatError(
            f"a plot shows one motion, and here are {len(motions)}", path=str(job.motion),
            remedy=f"Choose one with --only: {', '.join(repr(motion.name) for motion in motions)}.",
        )  # fmt: skip
    motion = motions[0]
    if job.servos:
        match = match_servos(job.servos, [each.name for each in motion.trajectories])
        if match.unmatched:
            asked, why = next(iter(match.unmatched.items()))
            raise FormatError(
                f"servo {asked!r} cannot be plotted: {why}", path=str(job.motion or job.model),
                remedy=f"The motion has {', '.join(repr(each.name) for each in motion.trajectories)}.",
            )  # fmt: skip
        by_name = {each.name: each for each in motion.trajectories}
        motion = replace(motion, trajectories=[by_name[match.pairs[name]] for name in dict.fromkeys(job.servos)])
    return plot.motion_picture(motion, servos_of(mechanism), job.picture.suffix.lower())
