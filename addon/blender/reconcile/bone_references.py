"""The user's drivers and constraints on the bones of a mechanism, and those that refer to them.

``BoneReferences`` converts them where an edit turns bones or moves channels. ``follow_bones``, ``copy_bone_drivers``
and ``copy_bone_constraints`` take them to another armature, and what an edit deletes is reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array
from ...core.report import Message, Report
from ..animation.fcurves import CurveId, curve_id, curve_ids
from ..data.access import armature_of
from ..data.channels import Channel, bone_of_path, bone_path, is_screw_driver_curve, path_with_renamed_bone
from ..data.datablocks import still_exists
from ..data.queries import mechanism_bones, parts
from ..physics.simulation.recording import is_body_key_constraint
from ..rig.bone_limits import is_stop_constraint, read_ranges, write_ranges
from ..scene.read.design_poses import posed_matrix


@dataclass(frozen=True)
class BoneReference:
    """Constraint, or variable of a driver, that refers to a bone of an armature object.

    Attributes:
        owner: Datablock that has it.
        posed: Bone of the owner that has it or is driven; empty: none.
        name: Name of the constraint, or the driven data path.
        bone: The bone that it refers to.
        holder: Constraint, its target, or target of the driver's variable.
        end: Property of the holder that is the armature object.
    """

    owner: bpy.types.ID
    posed: str
    name: str
    bone: str
    holder: Any
    end: str

    @property
    def is_driver(self) -> bool:
        """True for a variable of a driver, false for a constraint."""
        return self.end == "id"

    def set(self, rig: bpy.types.Object, bone: str) -> None:
        """Let it refer to a bone of an armature object."""
        if not self.is_driver:
            setattr(self.holder, f"{self.end[:-6]}subtarget", bone)
        elif self.holder.bone_target == self.bone:
            self.holder.bone_target = bone
        else:
            self.holder.data_path = path_with_renamed_bone(self.holder.data_path, {self.bone: bone})
        setattr(self.holder, self.end, rig)


def bone_references(rig: bpy.types.Object) -> Iterator[BoneReference]:
    """Yield all constraints and drivers of the .blend that refer to bones of an armature object."""
    for obj, posed, constraint in _constraints(rig):
        for holder in (constraint, *(constraint.targets if constraint.type == "ARMATURE" else ())):
            for end in ("target", "pole_target"):
                if bone := _target_bone(holder, rig, end):
                    yield BoneReference(obj, posed, constraint.name, bone, holder, end)
    for owner, curve in _drivers(rig):
        driven = bone_of_path(curve.data_path) if owner.id_type == "OBJECT" else ""
        for source, bone in _bone_sources(curve, rig):
            yield BoneReference(owner, driven, curve.data_path, bone, source, "id")


# ---------------------------------------------------------------- references to bones

#: Object that owns a constraint, name of its bone if it is on one, and name of the constraint.
_ConstraintKey = tuple[bpy.types.Object, str, str]


def _users(rig: bpy.types.Object) -> list[bpy.types.ID]:
    """Return the datablocks that refer to an armature object, and itself, except linked ones."""
    users = bpy.data.user_map(subset={rig}).get(rig, ())
    return [user for user in dict.fromkeys((rig, *users)) if user.library is None]


def _drivers(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.ID, Any]]:
    """Yield the drivers of the datablocks that refer to an armature object, and of their node trees, with the owner."""
    for user in _users(rig):
        for owner in (user, getattr(user, "node_tree", None)):
            data = getattr(owner, "animation_data", None)
            for curve in () if data is None else data.drivers:
                yield owner, curve


def _bone_sources(curve: bpy.types.FCurve, rig: bpy.types.Object) -> Iterator[tuple[Any, str]]:
    """Yield the targets of a driver's variables that are bones of an armature object, with the names of the bones."""
    assert curve.driver is not None
    for source in (source for variable in curve.driver.variables for source in variable.targets):
        bone = source.bone_target or bone_of_path(source.data_path)
        if bone and source.id == rig:
            yield source, bone


def _drivers_reading(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.ID, bpy.types.FCurve]]:
    """Yield the user's drivers that read a bone of an armature object, each with its owner."""
    for owner, curve in _drivers(rig):
        if any(_bone_sources(curve, rig)) and not is_screw_driver_curve(curve):
            yield owner, curve


def _constraints(rig: bpy.types.Object) -> Iterator[tuple[bpy.types.Object, str, Any]]:
    """Yield the constraints of the objects that refer to an armature object, and of its own bones.

    Each with its object and the name of its bone, which is empty where it is on the object.
    """
    for obj in _users(rig):
        if isinstance(obj, bpy.types.Object):
            yield from ((obj, "", constraint) for constraint in obj.constraints)
            for pose in obj.pose.bones if obj.pose is not None else ():
                yield from ((obj, pose.name, constraint) for constraint in pose.constraints)


def _target_bone(holder: Any, rig: bpy.types.Object, end: str = "target") -> str:
    """Return the bone of an armature object that a constraint, or a target of one, refers to; empty: none."""
    bone: str = getattr(holder, f"{end[:-6]}subtarget", "")
    return bone if bone and getattr(holder, end, None) == rig else ""


def _constraints_on_bones(rig: bpy.types.Object) -> Iterator[tuple[_ConstraintKey, Any]]:
    """Yield the user's constraints that read a bone of an armature object or are on a bone of its mechanism."""
    own = mechanism_bones(rig)
    for obj, bone, constraint in _constraints(rig):
        is_own = obj == rig and bone in own and not is_stop_constraint(constraint)
        if is_own or (_target_bone(constraint, rig) and (bone or not is_body_key_constraint(constraint))):
            yield (obj, bone, constraint.name), constraint


def _user_constraints(pose: bpy.types.PoseBone) -> list[bpy.types.Constraint]:
    return [constraint for constraint in pose.constraints if not is_stop_constraint(constraint)]


# ---------------------------------------------------------------- what an edit copies, moves and removes


def follow_bones(old: bpy.types.Object, new: bpy.types.Object, names: Mapping[str, str]) -> None:
    """Let the constraints and drivers that refer to bones of an armature object follow these to another one.

    Args:
        old: The armature object that they refer to.
        new: The one that has the bones now.
        names: New names of the bones by previous ones.
    """
    for each in list(bone_references(old)) if names else ():
        if each.bone in names:
            each.set(new, names[each.bone])


def report_lost_references(rig: bpy.types.Object, deleted: Collection[str]) -> Report:
    """Report the constraints and drivers that refer to deleted bones (names) of an armature object."""
    report = Report()
    for each in bone_references(rig) if deleted else ():
        if each.bone not in deleted or (each.owner == rig and each.posed in deleted):
            continue
        owner = Message("{}, bone {}", repr(each.owner.name), repr(each.posed)) if each.posed else repr(each.owner.name)
        what = (
            Message(
                "{}: its driver of {} reads bone {}, which was deleted or replaced",
                owner,
                repr(each.name),
                repr(each.bone),
            )
            if each.is_driver
            else Message(
                "{}: its constraint {} refers to bone {}, which was deleted or replaced",
                owner,
                repr(each.name),
                repr(each.bone),
            )
        )
        report.warn(
            "bone-reference-lost", Message("{}. Choose another bone, or remove it", what), where=each.owner.name
        )
    return report


def user_drivers(rig: bpy.types.Object) -> list[bpy.types.FCurve]:
    """Return the user's drivers of properties of an armature object and its bones."""
    drivers = rig.animation_data.drivers if rig.animation_data is not None else ()
    return [curve for curve in drivers if not is_screw_driver_curve(curve)]


def report_removed_drivers(
    rig: bpy.types.Object,
    bones: Collection[str],
    gone: Collection[CurveId] = (),
    remaining: Iterable[Sequence[Channel]] = (),
) -> Report:
    """Report the user's drivers of what an edit removes.

    Args:
        rig: The armature.
        bones: Names of bones that are deleted, or replaced by others of the same names.
        gone: Identifiers of channels that pose no joint any more.
        remaining: Previous channels of the joints that remain, for each joint.
    """
    report, drivers = Report(), user_drivers(rig)
    removed = {curve_id(curve) for curve in drivers}.intersection(gone)
    for channels in remaining if removed else ():
        if not removed.isdisjoint(curve_ids(channels)):
            name = channels[0].bone
            report.warn(
                "driver-removed",
                Message("{}: its driver is removed, the joint has no such channel any more", repr(name)),
                where=name,
            )
    for curve in drivers:
        name = bone_of_path(curve.data_path)
        if name in bones:
            report.warn(
                "bone-driver-removed",
                Message("{}: its driver of {} is removed, the bone was deleted", repr(name), repr(curve.data_path)),
                where=name,
            )
    return report


def copy_bone_drivers(
    rig: bpy.types.Object, to: bpy.types.Object, bones: Mapping[str, str], channels: Mapping[CurveId, CurveId]
) -> None:
    """Copy the user's drivers of a mechanism's bones to those of another.

    Args:
        rig: The armature.
        to: The other armature.
        bones: Names of its bones by those of the bones that they replace.
        channels: New identifiers of channels that do not only get the new name of their bone, by previous ones.
    """
    for curve in user_drivers(rig):
        if bone_of_path(curve.data_path) in bones:
            copied = to.animation_data_create().drivers.from_existing(src_driver=curve)
            same = path_with_renamed_bone(curve.data_path, bones), curve.array_index
            copied.data_path, copied.array_index = channels.get(curve_id(curve), same)


def mute_bone_constraints(rig: bpy.types.Object) -> set[tuple[str, str]]:
    """Mute the user's constraints on a mechanism's bones; return those that acted, by bone and name."""
    every = [(pose, constraint) for pose in rig.pose.bones for constraint in _user_constraints(pose)]
    acting = {(pose.name, constraint.name) for pose, constraint in every if not constraint.mute}
    for _pose, constraint in every:
        constraint.mute = True
    return acting


def copy_bone_constraints(
    rig: bpy.types.Object, to: bpy.types.Object, bones: Mapping[str, str], acting: Collection[tuple[str, str]]
) -> None:
    """Copy the user's constraints on a mechanism's bones to those of another, where only ``acting`` ones are unmuted.

    Args:
        rig: The armature.
        to: The other armature.
        bones: Names of its bones by those of the bones that they replace.
        acting: Bones and names of constraints that acted (``mute_bone_constraints``).
    """
    for name, new_name in bones.items():
        for constraint in _user_constraints(rig.pose.bones[name]):
            to.pose.bones[new_name].constraints.copy(constraint).mute = (name, constraint.name) not in acting


# ---------------------------------------------------------------- conversion after an edit of bones

#: Identifier of a channel after an edit, and the factor of its values.
MovedChannel = tuple[CurveId, float]
#: Difference (rad, length units, entries of matrices), relative to values above 1, up to which results are the same.
_SAME_RESULT = 1e-4
_MAX_EXPRESSION_LENGTH = 255  # of Blender
_AXES = "XYZ"
_ROTATIONS = {"rotation_euler", "rotation_quaternion"}
#: Property and index of a bone by the transform channel of drivers.
_TRANSFORM_CHANNELS = {
    f"{kind}_{letter}": (prop, index)
    for kind, prop in (("ROT", "rotation_euler"), ("LOC", "location"))
    for index, letter in enumerate(_AXES)
}


class BoneReferences:
    """The user's drivers and constraints that depend on the bones of a mechanism, and what they give before an edit.

    An edit may turn a bone (a hinge whose parent and child are swapped counts in the opposite direction, about an
    opposite Z axis) or assign a joint's values to other channels. What depends on such a bone is converted where that
    is exact; all else that gives another result is reported.

    Attributes:
        rig: The armature.
        drivers: Results of drivers that read a bone, by their owner and what they drive.
        constraints: Results of constraints that read a bone or are on one: pose (4, 4) of their owner.
        rests: Rest matrices (4, 4) of the mechanism's bones, by name, if anything depends on them.
        poses: Pose matrices (4, 4) of these.
    """

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        self.drivers = {
            (owner, curve_id(curve)): _driven_value(owner, *curve_id(curve)) for owner, curve in _drivers_reading(rig)
        }
        found = [key for key, _constraint in _constraints_on_bones(rig)]
        bodies = _bodies_by_bone(rig) if found else {}
        self.constraints = {key: _owner_pose(rig, *key[:2], bodies) for key in found}
        self.rests: dict[str, Array] = {}
        self.poses: dict[str, Array] = {}
        if self.drivers or self.constraints:
            every = {name: rig.pose.bones[name] for name in mechanism_bones(rig)}
            self.rests = {name: np.array(pose.bone.matrix_local) for name, pose in every.items()}
            self.poses = {name: np.array(pose.matrix) for name, pose in every.items()}
        self._moved: dict[CurveId, MovedChannel] = {}
        self._lost = set[tuple[bpy.types.ID, CurveId]]()

    def convert(
        self, moved: Mapping[CurveId, MovedChannel], gone: Collection[CurveId], channels: Iterable[Channel]
    ) -> None:
        """Convert drivers and constraints after the bones were planned again.

        Args:
            moved: New identifiers and factors of channels that continue.
            gone: Channels that posed a joint and do so no longer.
            channels: The present channels of all joints.
        """
        if not self.rests:
            return
        self._moved = {old: new for old, new in moved.items() if new != (old, 1.0)}
        kinds = {(channel.bone, channel.prop in _ROTATIONS) for channel in channels}
        for owner, curve in _drivers_reading(self.rig):
            assert curve.driver is not None
            for variable in curve.driver.variables:
                if not self._convert_variable(curve.driver, variable, gone, kinds):
                    self._lost.add((owner, curve_id(curve)))
        for (obj, bone, _name), constraint in _constraints_on_bones(self.rig):
            self._convert_constraint(constraint, bone if obj == self.rig else "")

    def finish(self) -> Report:
        """Convert constraints that depend on a bone's axes in space, and report what gives another result now."""
        report = Report()
        if not self.rests:
            return report
        bpy.context.view_layer.update()
        for _key, constraint in _constraints_on_bones(self.rig):
            if constraint.type == "CHILD_OF" and constraint.target == self.rig:
                self._convert_child_of(constraint)
        bpy.context.view_layer.update()
        self._report_drivers(report)
        self._report_constraints(report)
        self.rests = {}  # all is converted
        return report

    # ------------------------------------------------------------ conversion

    def _moved_channel(self, bone: str, prop: str, index: int) -> MovedChannel:
        """Return where a channel of a bone is now, and the factor of its values."""
        channel = bone_path(bone, prop), index
        if channel in self._moved:
            return self._moved[channel]
        axis = index - 1 if prop == "rotation_quaternion" else index
        return channel, 1.0 if axis < 0 else self._signs(bone)[axis]

    def _signs(self, bone: str) -> tuple[float, float, float]:
        """Return the factors of a bone's X, Y and Z values: -1 for axes that point against what they were.

        All are 1 where the bone was not turned by a half turn about one of its axes, and for no bone (empty name).
        """
        now = armature_of(self.rig).bones.get(bone)
        if bone not in self.rests or now is None:
            return 1.0, 1.0, 1.0
        turn = self.rests[bone][:3, :3].T @ np.array(now.matrix_local)[:3, :3]
        x, y, z = np.sign(np.diag(turn)).tolist()
        return (x, y, z) if np.abs(turn - np.diag((x, y, z))).max() < _SAME_RESULT else (1.0, 1.0, 1.0)

    def _convert_variable(
        self,
        driver: bpy.types.Driver,
        variable: Any,
        gone: Collection[CurveId],
        kinds: Collection[tuple[str, bool]],
    ) -> bool:
        """Convert a variable of a driver that reads a channel of a bone, or the bone in its own axes.

        Args:
            driver: The driver.
            variable: The variable.
            gone: Channels that posed a joint and do so no longer.
            kinds: Bones that pose joints now, each with whether by a rotation.

        Returns:
            False where the channel poses no joint any more, or the expression would be too long.
        """
        source, is_single = variable.targets[0], variable.type == "SINGLE_PROP"
        path, _bracket, end = source.data_path.removesuffix("]").rpartition("[")
        if source.id == self.rig and is_single:
            bone, prop = bone_of_path(path), path.rpartition(".")[2]
            if not (bone and end.isdigit() and path == bone_path(bone, prop) and prop in {"location", *_ROTATIONS}):
                return True  # no other property counts along the bone's axes
            index = int(end)
        elif source.id == self.rig and variable.type == "TRANSFORMS" and source.transform_type in _TRANSFORM_CHANNELS:
            if source.transform_space not in {"LOCAL_SPACE", "TRANSFORM_SPACE"}:
                return True
            bone, (prop, index) = source.bone_target, _TRANSFORM_CHANNELS[source.transform_type]
            path = bone_path(bone, prop)
        else:
            return True
        (new_path, new_index), factor = self._moved_channel(bone, prop, index)
        if (path, index) in gone and (is_single or (bone, prop in _ROTATIONS) not in kinds):
            return False
        if (new_path, new_index) != (path, index) and is_single:
            source.data_path = f"{new_path}[{new_index}]"
        elif (new_path, new_index) != (path, index):
            kind = "LOC" if new_path.endswith(".location") else "ROT"
            source.bone_target, source.transform_type = bone_of_path(new_path), f"{kind}_{_AXES[new_index]}"
        return factor > 0.0 or _negate_variable(driver, variable.name)

    def _convert_constraint(self, constraint: Any, bone: str) -> None:
        """Convert a constraint that reads a bone in its own axes, or limits or moves one (``bone``) in these."""
        target = _target_bone(constraint, self.rig)
        read = self._signs(target if target and constraint.target_space == "LOCAL" else "")
        written = self._signs(bone if constraint.owner_space == "LOCAL" else "")
        if constraint.type in {"LIMIT_ROTATION", "LIMIT_LOCATION"}:
            ranges = zip(read_ranges(constraint), written, strict=True)
            write_ranges(constraint, tuple(each if sign > 0.0 else _negated(each) for each, sign in ranges))
        elif constraint.type in {"COPY_ROTATION", "COPY_LOCATION"}:
            for axis, sign, other in zip("xyz", read, written, strict=True):
                if sign * other < 0.0:
                    setattr(constraint, f"invert_{axis}", not getattr(constraint, f"invert_{axis}"))
        elif constraint.type == "TRANSFORM":
            _convert_transformation(constraint, read, written)
        elif constraint.type == "ACTION" and constraint.transform_channel[-1] in _AXES:
            sign = read[_AXES.index(constraint.transform_channel[-1])]
            if not constraint.transform_channel.startswith("SCALE"):
                constraint.min, constraint.max = sign * constraint.min, sign * constraint.max

    def _convert_child_of(self, constraint: Any) -> None:
        """Keep what follows a bone where it is on it."""
        bone: bpy.types.PoseBone | None = self.rig.pose.bones.get(constraint.subtarget)
        parts_ = [getattr(constraint, f"use_{kind}_{axis}") for kind in ("location", "rotation") for axis in "xyz"]
        if bone is None or bone.name not in self.poses or not all(parts_):
            return
        turn = np.linalg.solve(self.poses[bone.name], np.array(bone.matrix))
        if np.abs(turn - np.eye(4)).max() > _SAME_RESULT:
            constraint.inverse_matrix = Matrix(np.linalg.inv(turn).tolist()) @ constraint.inverse_matrix

    # ------------------------------------------------------------ report

    def _report_drivers(self, report: Report) -> None:
        for (owner, was), before in self.drivers.items():
            if not still_exists(owner):
                continue
            (path, index), factor = self._moved.get(was, (was, 1.0)) if owner == self.rig else (was, 1.0)
            now, is_lost = _driven_value(owner, path, index), (owner, (path, index)) in self._lost
            if before is None or now is None or (not is_lost and _are_same(now, factor * before)):
                continue
            message = (
                Message(
                    "Driver of {} ({}): it reads a channel of a bone that poses no joint any more. Edit the driver",
                    repr(owner.name),
                    f"{path}[{index}]",
                )
                if is_lost
                else Message(
                    "Driver of {} ({}): it gave {} and gives {}, because a bone that it reads has other axes or "
                    "channels. Edit the driver",
                    repr(owner.name),
                    f"{path}[{index}]",
                    f"{factor * before:.3g}",
                    f"{now:.3g}",
                )
            )
            report.warn("driver-changed", message, where=owner.name)

    def _report_constraints(self, report: Report) -> None:
        bodies = _bodies_by_bone(self.rig) if self.constraints else {}
        for key, constraint in _constraints_on_bones(self.rig):
            owner, bone, name = key
            before, now = self.constraints.get(key), _owner_pose(self.rig, owner, bone, bodies)
            if before is None or now is None or constraint.mute or _are_same(now, before):
                continue
            if _target_bone(constraint, self.rig) and constraint.subtarget not in self.rig.pose.bones:
                continue  # reported as one that refers to a deleted bone
            report.warn(
                "constraint-changed",
                Message(
                    "Constraint {} of {}: it gives another pose, because a bone has other axes or channels. Edit the "
                    "constraint",
                    repr(name),
                    repr(bone or owner.name),
                ),
                where=bone or owner.name,
            )


def _convert_transformation(constraint: Any, read: Sequence[float], written: Sequence[float]) -> None:
    """Convert a Transformation constraint to other signs of the axes (3,) that it reads and of those that it moves."""
    maps = {letter: getattr(constraint, f"map_to_{letter}_from").lower() for letter in "xyz"}
    for axis, sign in zip("xyz", read, strict=True):
        for kind in ("", "_rot") if sign < 0.0 else ():
            _scale_range(constraint, "from", axis + kind, -1.0, is_reversed=True)
    for axis, sign in zip("xyz", written, strict=True):
        is_reversed = read["xyz".index(maps[axis])] < 0.0 and constraint.map_from != "SCALE"
        for kind, factor in (("", sign), ("_rot", sign), ("_scale", 1.0)):
            _scale_range(constraint, "to", axis + kind, factor, is_reversed)


def _scale_range(constraint: Any, side: str, channel: str, factor: float, is_reversed: bool) -> None:
    """Multiply the ends of a range of a Transformation constraint by a factor, and swap them where it is reversed."""
    low, high = (f"{side}_{end}_{channel}" for end in ("min", "max"))
    ends = factor * getattr(constraint, low), factor * getattr(constraint, high)
    for name, value in zip((low, high), reversed(ends) if is_reversed else ends, strict=True):
        setattr(constraint, name, value)


def _negate_variable(driver: bpy.types.Driver, name: str) -> bool:
    """Change a driver to use the negative of a variable; return False where its expression would be too long."""
    text, names = driver.expression, [variable.name for variable in driver.variables]
    if driver.type in {"SUM", "AVERAGE"}:
        text = " + ".join(names)
        text = text if driver.type == "SUM" else f"({text}) / {len(names)}"
    elif driver.type in {"MIN", "MAX"}:
        text = f"{driver.type.lower()}({', '.join(names)})" if len(names) > 1 else names[0]
    own = re.escape(name)  # "(-x)" becomes "x", but not that of "sin(-x)"
    found = re.compile(rf"(?<![\w)\]])\(-{own}\)|(?<![\w.]){own}(?!\w)")
    text = found.sub(lambda each: name if each[0].startswith("(") else f"(-{name})", text)
    if len(text) > _MAX_EXPRESSION_LENGTH:
        return False
    driver.type, driver.expression = "SCRIPTED", text
    return True


def _driven_value(owner: bpy.types.ID, path: str, index: int) -> float | None:
    """Return the evaluated value of a driven property; None where there is none, or it is no number."""
    evaluated = owner.evaluated_get(bpy.context.evaluated_depsgraph_get())
    try:
        value = evaluated.path_resolve(path)
    except ValueError:
        return None
    try:
        return float(value) if isinstance(value, int | float) else float(value[index])
    except (TypeError, ValueError, IndexError):
        return None


def _are_same(now: Any, before: Any) -> bool:
    return bool(np.abs(np.subtract(now, before)).max() <= _SAME_RESULT * max(1.0, float(np.abs(before).max())))


def _negated(span: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    low, high = span
    return None if high is None else -high, None if low is None else -low


def _bodies_by_bone(rig: bpy.types.Object) -> dict[str, bpy.types.Object]:
    """Return the bodies that a mechanism's bones carry, by the name of the bone."""
    return {body.parent_bone: body for body in parts(rig, "BODY") if body.parent_type == "BONE"}


def _owner_pose(
    rig: bpy.types.Object, obj: bpy.types.Object, bone: str, bodies: Mapping[str, bpy.types.Object]
) -> Array | None:
    """Return the pose (4, 4) of a constraint's owner: an object, a bone, or what a bone of the mechanism carries.

    The latter is relative to what the bones above carry: it moves with these.
    """
    if not bone:
        return np.array(obj.matrix_world)
    pose: bpy.types.PoseBone | None = obj.pose.bones.get(bone)
    if pose is None:
        return None
    if obj != rig or bone not in bodies:
        return np.array(obj.matrix_world @ pose.matrix)
    above = next((bodies[each.name] for each in pose.bone.parent_recursive if each.name in bodies), None)
    near = rig.matrix_world if above is None else posed_matrix(above)
    return np.array(near.inverted_safe() @ posed_matrix(bodies[bone]))
