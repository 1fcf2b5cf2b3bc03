"""Time step and solver iterations that keep a mechanism's joints together, with the reasons.

Measured on chains of five links that fall from level (2 cm to 1 m long, tips of 1 to 1000 times a link's mass): the
joint separation is about ``70 g dt^2`` (70 times twice the fall in one step from rest), whatever the size, as long as
there are enough iterations for the masses: fifty where they are equal, and more in proportion to the power of 0.3 of
their ratio. Where joints reach their stops, unlike masses separate them more: up to six times, which up to four times
the steps removes. A spring oscillates at its own frequency within a hundredth when a step is at most a quarter of its
radian.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ....core.accuracy import STEPS_PER_RADIAN, StepSelection, StepSetting, format_two_digits
from ....core.report import Message
from ...data.access import record_of, settings, world_of
from ...data.caching import joint_record
from ...data.channels import settings_curves
from ...data.conversion import flatten_pose, joint_has_stops
from ...data.datablocks import mesh_points
from ...data.facts import BODY_PROPERTIES, DOF_PROPERTIES, SHAPE_PROPERTIES, PropertyTable, read_properties
from ...data.properties.joint import KnuckleDof, KnuckleJoint
from ...data.properties.model import KnuckleSteps, KnuckleWorldBackup
from ...data.queries import parts
from ...data.rigid_bodies import MIN_MASS
from .anchor import SOFT_CFM, connects_bodies, ode_time_step
from .scale import model_scale

#: Steps per second and iterations at which real walkers walked: the least for every mechanism.
STEPS_PER_SECOND = 600
ITERATIONS = 50
#: Steps in which the shortest link falls by its own length from rest, over the square root of two. 600 are enough for
#: most chains; the worst separation in five links, the last ten times as heavy, is then a thousandth of a link.
_STEPS_PER_FALL = 720.0
#: Shortest link that counts, as a share of the mechanism; shorter ones count as this long.
_MIN_LENGTH_RATIO = 0.05
#: Largest mass ratio for which the least iterations are enough, and the exponent of their growth with it.
_HARMLESS_MASS_RATIO, _ITERATION_EXPONENT = 5.0, 0.3
#: Increase of steps and of iterations by stops between unlike masses: exponent of the ratio, and maximum.
_STOP_STEPS, _STOP_ITERATIONS = (0.6, 4.0), (0.15, 1.6)
#: Most steps per second for the softness of joints, which some files have between bodies of nearly no mass.
MAX_SOFT_STEPS = 12000
#: Ratio of the softness of joints to that of their file up to which nothing is said.
_SOFTNESS_TOLERANCE = 1.1
#: More has no effect within the precision of 32-bit positions.
_MAX_STEPS, _MAX_ITERATIONS = 24000, 400


@dataclass(frozen=True)
class SolverSettings:
    """World settings that a mechanism needs: steps per second and iterations per step, with the reasons.

    Steps are whole numbers, which the stored selections hold exactly. ``least``: those that its springs need in any
    case.
    """

    steps: int
    iterations: int
    why_steps: str
    why_iterations: str
    least: int = STEPS_PER_SECOND

    @property
    def is_worst_case(self) -> bool:
        """Return whether most such mechanisms need less, so that it is worth measuring."""
        return self.steps > self.least or self.iterations > ITERATIONS

    @property
    def why(self) -> str:
        """Both reasons in a sentence, or the one that they share."""
        if self.why_steps == self.why_iterations:
            return Message(
                "{} steps per second and {} iterations: {}", f"{self.steps:.0f}", self.iterations, self.why_steps
            )
        return Message(
            "{} steps per second: {}. {} iterations: {}",
            f"{self.steps:.0f}",
            self.why_steps,
            self.iterations,
            self.why_iterations,
        )

    def substeps(self, rate: float) -> int:
        """Return the substeps per frame at a frame rate (1/s)."""
        return max(math.ceil(self.steps / rate - 1e-6), 1)


def required_solver_settings(rig: bpy.types.Object, quality: str = "PREVIEW") -> SolverSettings:
    """Return the settings for a mechanism, from its smallest link, its masses and its stiffest spring.

    With soft joints a bake takes as many steps as their softness needs (``softness_rate``); playing takes the least.
    """
    least = SolverSettings(
        STEPS_PER_SECOND, ITERATIONS, "minimum, enough for this mechanism", "minimum, enough for this mechanism"
    )
    if settings(rig).cfm > SOFT_CFM:
        soft, exact = "minimum, enough for the softness of the file's joints", softness_rate(rig)
        if quality == "BAKE" or exact <= STEPS_PER_SECOND:
            rate = math.ceil(min(max(exact, STEPS_PER_SECOND), MAX_SOFT_STEPS))
            return SolverSettings(rate, ITERATIONS, soft, soft, rate)
        clipped = softness_message(rig, STEPS_PER_SECOND)
        return SolverSettings(STEPS_PER_SECOND, ITERATIONS, clipped, clipped)
    empties = [empty for empty in parts(rig, "JOINT") if connects_bodies(joint_record(empty))]
    scale = model_scale(rig)
    lengths = {obj: long * scale for obj, long in _body_lengths(empties).items() if long > 0.0}
    if not lengths:
        return least
    size = _largest_distance(list(lengths)) * scale + max(lengths.values())
    floor = _MIN_LENGTH_RATIO * size
    options = [(float(least.steps), least.why_steps), *_spring_rates(empties, lengths, floor)]
    body = min(lengths, key=lambda obj: lengths[obj])
    gravity = math.hypot(*settings(rig).gravity)
    long = max(lengths[body], floor)
    short = "" if long == lengths[body] else Message(" (counted as {} m, 5 % of the mechanism)", f"{long:.3g}")
    reason = Message(
        "link {} is {} m long{} at {} m/s² gravity",
        repr(record_of(body).source_name),
        f"{lengths[body]:.3g}",
        short,
        f"{gravity:.3g}",
    )
    springs = max(steps for steps, _why in options)
    options.append((_STEPS_PER_FALL * math.sqrt(gravity / long), reason))
    steps, why = max(options, key=lambda option: option[0])
    ratio = _mass_ratio(empties, lengths)
    iterations, why_iterations = _required_iterations(ratio, least)
    if any(joint_has_stops(joint_record(empty)) for empty in empties) and iterations > least.iterations:
        unlike = 1.0 if ratio is None else ratio[0] / _HARMLESS_MASS_RATIO
        more, most = (min(unlike**growth, cap) for growth, cap in (_STOP_STEPS, _STOP_ITERATIONS))
        steps, iterations = steps * more, min(round(iterations * most), _MAX_ITERATIONS)
        why += Message("; times {} for stops between unequal masses", f"{more:.3g}")
    bound, needed = (math.ceil(min(each, _MAX_STEPS)) for each in (steps, springs))
    return SolverSettings(bound, iterations, why, why_iterations, needed)


def softness_rate(rig: bpy.types.Object) -> float:
    """Return the steps per second (1/s) from which all soft joints are as stiff as their file has them.

    ODE's softness is a spring of stiffness ERP / (step * CFM) at each joint. Blender limits the stiffness ``k`` of a
    spring between two bodies of reduced mass ``m`` to ``m / (4 dt)^2`` (Bullet's ``btGeneric6DofSpring2Constraint``),
    so it is exact from ``1 / dt = 4 sqrt(k / m)`` on. Springs against tilting are left out: those that are not exact
    are locked (``write_tilt_softness``).
    """
    model = settings(rig)
    if not model.cfm > SOFT_CFM:
        return 0.0
    stiffness, least = model.erp / (ode_time_step(model) * model.cfm), 0.0
    for joint in (joint_record(empty) for empty in parts(rig, "JOINT")):
        if connects_bodies(joint) and [dof.kind for dof in joint.dofs] in (["rotation"], ["ball"]):
            moving = [end for end in (joint.parent, joint.child) if end is not None and not record_of(end).immobile]
            inverse_mass = sum(1.0 / max(record_of(end).mass, MIN_MASS) for end in moving)
            least = max(least, STEPS_PER_RADIAN * math.sqrt(stiffness * inverse_mass))
    return least


def softness_message(rig: bpy.types.Object, steps: float) -> str:
    """Return by how much a mechanism's soft joints are softer than in their file at some steps per second; else ''."""
    exact = softness_rate(rig)
    if (exact / steps) ** 2 <= _SOFTNESS_TOLERANCE:
        return ""
    return Message(
        "joints up to {} times softer than in the file, which needs {} steps per second",
        format_two_digits((exact / steps) ** 2),
        f"{exact:.0f}",
    )


def simulation_key(rig: bpy.types.Object) -> str:
    """Return a checksum of all that decides how many steps a simulation of a mechanism needs: its parts and world."""
    model = settings(rig)
    facts: list[object] = [
        *model.gravity,
        model.erp,
        model.cfm,
        model.law,
        model.match_inertia,
        model.self_collide,
        model.has_ground,
        model.friction,
        model.time_step,
        *(scene.knuckle_control_rate for scene in rig.users_scene),  # type: ignore[attr-defined]
    ]
    for obj in parts(rig, "BODY"):
        record = record_of(obj)
        facts += [flatten_pose(obj.matrix_basis), *record.tensor, *_plain_values(record, BODY_PROPERTIES)]
        facts += [_plain_values(shape, SHAPE_PROPERTIES) for shape in record.shapes]
    for empty in parts(rig, "JOINT"):
        joint = joint_record(empty)
        facts += [flatten_pose(empty.matrix_basis), joint.type, joint.active]
        facts += [_plain_values(dof, DOF_PROPERTIES) for dof in [*joint.dofs, *joint.parts]]
    return hashlib.sha1(repr(facts).encode(), usedforsecurity=False).hexdigest()


def _plain_values(record: Any, table: PropertyTable) -> list[object]:
    """Return the values that a record has, arrays as lists: NumPy prints those ten times slower."""
    values = read_properties(record, table).values()
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


def simulated_drives(rig: bpy.types.Object) -> tuple[str, ...]:
    """Return the drives with which physics may move a mechanism: both where the drive is keyed, or is Keyframes."""
    drive = settings(rig).drive
    if drive == "KEYS" or ("knuckle.drive", 0) in settings_curves(rig):
        return ("LIMP", "SERVO")
    return (drive,)


def selected_steps(rig: bpy.types.Object, quality: str) -> KnuckleSteps | None:
    """Return the settings that trials selected for a mechanism as it is now: the largest of its drives.

    None where one of the drives was not tried.
    """
    drives = simulated_drives(rig)
    found = [each for each in settings(rig).selected_steps if each.quality == quality and each.drive in drives]
    if len(found) < len(drives):
        return None
    key = simulation_key(rig)
    if any(each.key != key for each in found):
        return None
    return max(found, key=lambda each: StepSetting(each.steps, each.iterations).cost)


def store_selection(rig: bpy.types.Object, quality: str, drive: str, selection: StepSelection, key: str) -> None:
    """Store what trials selected for a mechanism; ``key`` was its ``simulation_key``."""
    kept = settings(rig).selected_steps
    found = next((each for each in kept if (each.quality, each.drive) == (quality, drive)), None) or kept.add()
    found.quality, found.drive, found.key = quality, drive, key
    found.steps, found.iterations = selection.setting.steps, selection.setting.iterations
    trial = selection.trial
    found.separation, found.speed = (-1.0, 0.0) if trial is None else (trial.separation, 1.0 / max(trial.seconds, 1e-3))


def chosen_solver_settings(rig: bpy.types.Object, quality: str = "PREVIEW") -> SolverSettings:
    """Return the settings that trials selected for a mechanism; without trials those that any such one needs."""
    required = required_solver_settings(rig, quality)
    found = selected_steps(rig, quality) if required.is_worst_case else None
    if found is None:
        return required
    measured = "measured in trial simulations"
    return SolverSettings(round(found.steps), found.iterations, measured, measured, required.least)


def merge_solver_settings(fits: Sequence[SolverSettings]) -> SolverSettings:
    """Return the settings for several mechanisms in one world: the largest of each."""
    steps, iterations = max(fits, key=lambda fit: fit.steps), max(fits, key=lambda fit: fit.iterations)
    return SolverSettings(steps.steps, iterations.iterations, steps.why_steps, iterations.why_iterations)


def apply_solver_settings(scene: bpy.types.Scene, fit: SolverSettings, before: KnuckleWorldBackup) -> None:
    """Apply the settings to the scene's world and store them in ``before``, to detect later changes by the user."""
    world = world_of(scene)
    substeps = fit.substeps(scene.render.fps / scene.render.fps_base)
    if (world.substeps_per_frame, world.solver_iterations) != (substeps, fit.iterations):
        world.substeps_per_frame, world.solver_iterations = substeps, fit.iterations
    before.fitted_substeps, before.fitted_iterations = world.substeps_per_frame, world.solver_iterations
    before.fitted_rate = scene.render.fps / scene.render.fps_base


def has_applied_settings(scene: bpy.types.Scene, before: KnuckleWorldBackup) -> bool:
    """Return whether a scene's world is still as ``apply_solver_settings`` set it."""
    world = world_of(scene)
    return (world.substeps_per_frame, world.solver_iterations) == (before.fitted_substeps, before.fitted_iterations)


def _body_lengths(empties: Sequence[bpy.types.Object]) -> dict[bpy.types.Object, float]:
    """Return the length of each moving body with joints.

    The largest of: the diagonal of the box of its pivots, twice the distance of its center to one of them, and the
    extent of its mesh.
    """
    ends = [
        end for empty in empties for end in (joint_record(empty).parent, joint_record(empty).child) if end is not None
    ]
    moving = [end for end in dict.fromkeys(ends) if not record_of(end).immobile]
    index = {end: number for number, end in enumerate(moving)}
    owners, pivots = [], []
    for empty in empties:
        joint, place = joint_record(empty), empty.location[:]
        for end in (joint.parent, joint.child):
            if end in index:
                owners.append(index[end])
                pivots.append(place)
    if not index:
        return {}
    count, owner, places = len(index), np.array(owners), np.array(pivots, dtype=np.float64)
    middles = np.array([obj.location[:] for obj in index], dtype=np.float64)
    arms, low, high = np.zeros(count), np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.maximum.at(arms, owner, np.linalg.norm(places - middles[owner], axis=1))
    np.minimum.at(low, owner, places)
    np.maximum.at(high, owner, places)
    extents: dict[bpy.types.ID | None, float] = {None: 0.0}
    for data in {obj.data for obj in index} - extents.keys():
        extents[data] = _mesh_extent(cast(bpy.types.Mesh, data))
    longest = np.maximum(2.0 * arms, np.linalg.norm(high - low, axis=1))
    return {obj: max(long, extents[obj.data]) for obj, long in zip(index, longest.tolist(), strict=True)}


def _mesh_extent(mesh: bpy.types.Mesh) -> float:
    return float(np.ptp(mesh_points(mesh), axis=0).max()) if len(mesh.vertices) else 0.0


def _largest_distance(bodies: Sequence[bpy.types.Object]) -> float:
    return float(np.ptp(np.array([obj.location for obj in bodies]), axis=0).max())


_MassRatio = tuple[float, bpy.types.Object, bpy.types.Object]


def _mass_ratio(empties: Sequence[bpy.types.Object], moving: Collection[bpy.types.Object]) -> _MassRatio | None:
    """Return the largest mass ratio of two moving bodies that a joint connects, the lighter and the heavier one."""
    pairs = ((joint_record(empty).parent, joint_record(empty).child) for empty in empties)
    ratios = []
    for ends in pairs:
        masses = [(max(record_of(end).mass, MIN_MASS), end) for end in ends if end in moving]
        if len(masses) == 2:
            light, heavy = sorted(masses, key=lambda each: each[0])
            ratios.append((heavy[0] / light[0], light[1], heavy[1]))
    return max(ratios, key=lambda each: each[0], default=None)


def _required_iterations(unlike: _MassRatio | None, least: SolverSettings) -> tuple[int, str]:
    if unlike is None or unlike[0] <= _HARMLESS_MASS_RATIO:
        return least.iterations, least.why_iterations
    ratio, light, heavy = unlike
    wanted = min(round(ITERATIONS * (ratio / _HARMLESS_MASS_RATIO) ** _ITERATION_EXPONENT), _MAX_ITERATIONS)
    names = Message("{} and {}", repr(record_of(light).source_name), repr(record_of(heavy).source_name))
    return wanted, Message("mass ratio of {} is 1:{}", names, f"{ratio:.3g}")


def _spring_rates(
    empties: Sequence[bpy.types.Object], lengths: dict[bpy.types.Object, float], floor: float
) -> Iterator[tuple[float, str]]:
    """Yield the steps per second that each spring needs, by the lighter of its two bodies, and the reason."""
    for empty in empties:
        joint = joint_record(empty)
        for dof in [*joint.dofs, *joint.parts]:
            if dof.stiffness > 0.0:
                yield (
                    STEPS_PER_RADIAN * _spring_frequency(joint, dof, lengths, floor),
                    Message("the spring of {}", repr(empty.name)),
                )


def _spring_frequency(
    joint: KnuckleJoint, dof: KnuckleDof, lengths: dict[bpy.types.Object, float], floor: float
) -> float:
    """Return the angular frequency (rad/s) of a spring with a rod of the lighter body's length about its end."""
    inertias = []
    for end in (joint.parent, joint.child):
        if end in lengths:
            mass, long = max(record_of(end).mass, MIN_MASS), max(lengths[end], floor)
            inertias.append(mass if dof.kind == "translation" else mass * long**2 / 3.0)
    return math.sqrt(dof.stiffness / min(inertias)) if inertias else 0.0
