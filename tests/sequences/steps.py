"""Steps of random sequences: what users do with our operators and with Blender's own tools.

A step is plain data, ``[kind, argument, …]``, so that a failing sequence can be printed, replayed and shortened.
Objects are meant by name: a step whose objects are not there any more does nothing."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import bpy

from addon.blender.data.access import record_of, settings

Step = list[Any]

#: Operators that are not run, and why.
LEFT_OUT = {
    "knuckle.render_film": "renders for seconds",
    "knuckle.preview_film": "renders for seconds",
    "knuckle.overlay_picture": "renders",
    "knuckle.self_check": "imports, simulates and renders",
    "knuckle.mesh_folder_add": "changes the preferences, which no undo takes back",
    "knuckle.mesh_folder_remove": "changes the preferences",
    "knuckle.copy_check": "writes the clipboard",
    "knuckle.sweep": "goes on for a while in a window",
}
#: So many more objects than at the beginning and the file is begun anew.
MORE_OBJECTS = 120
_MODULES = ("knuckle", "import_scene", "export_scene", "import_anim", "export_anim")
_ROLES = ("BODY", "JOINT", "FRAME", "SHAPE", "LIGHT", "MODEL")


def operators() -> list[str]:
    """The ids of all operators of ours."""
    found = []
    for module in _MODULES:
        for short in dir(getattr(bpy.ops, module)):
            cls = getattr(bpy.types, getattr(getattr(bpy.ops, module), short).idname(), None)
            if cls is not None and cls.__module__.partition(".")[0] == "addon":
                found.append(f"{module}.{short}")
    return [name for name in found if name not in LEFT_OUT]


def operator_of(name: str) -> Any:
    """The function of ``bpy.ops`` of an id."""
    module, short = name.split(".")
    return getattr(getattr(bpy.ops, module), short)


# ---------------------------------------------------------------- drawing


class Drawing:
    """Draws steps. ``models`` are files that may be imported; ``folder`` is where files are written."""

    def __init__(self, rng: random.Random, models: list[Path], folder: Path) -> None:
        self.rng, self.models, self.folder = rng, models, folder
        self.ours = operators()
        self.own = [
            (getattr(self, name), weight)
            for name, weight in {
                "_select": 10, "_hide": 2, "_delete": 2, "_duplicate": 1, "_move": 3, "_rotate": 2, "_scale": 2,
                "_flatten": 1, "_exclude": 1, "_frame": 3, "_drive": 2, "_mode": 2, "_pose": 4, "_key": 2,
                "_undo": 2, "_redo": 1, "_scene": 1, "_append": 1, "_apply": 1, "_parent": 1,
            }.items()
        ]  # fmt: skip

    def step(self) -> Step:
        """The next step: one of ours or one of Blender's, equally often."""
        if self.rng.random() < 0.5:
            name = self.rng.choice(self.ours)
            return ["run", name, self._options(name)]
        make = self.rng.choices([make for make, _ in self.own], [weight for _, weight in self.own])[0]
        return make()

    def _options(self, name: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for prop in operator_of(name).get_rna_type().properties:
            key = prop.identifier
            if key == "rna_type" or prop.is_readonly or (key != "filepath" and self.rng.random() < 0.5):
                continue
            value = self._value(name, prop)
            if value is not None:
                options[key] = value
        return options

    def _value(self, name: str, prop: Any) -> Any:
        rng = self.rng
        if prop.identifier == "filepath":
            if name == "import_scene.mechanism":
                return str(rng.choice(self.models))
            ending = ".xmdi" if "anim" in name else rng.choice([".jm", ".skel", ".xml", ".json"])
            return str(self.folder / f"out{ending}")
        if prop.type == "BOOLEAN" and not prop.is_array:
            return rng.random() < 0.5
        if prop.type == "ENUM":
            items = [item.identifier for item in prop.enum_items]
            if not items:
                return None
            return [rng.choice(items)] if prop.is_enum_flag else rng.choice(items)
        if prop.type in {"INT", "FLOAT"}:
            low, high = max(prop.soft_min, -3.0), min(prop.soft_max, 12.0)
            count = prop.array_length if prop.is_array else 1
            if prop.type == "INT":
                drawn = [rng.randint(int(low), max(int(low), int(high))) for _ in range(count)]
            else:
                drawn = [rng.choice([low, high, rng.uniform(low, high)]) for _ in range(count)]
            return drawn if prop.is_array else drawn[0]
        if prop.type == "STRING" and prop.subtype in {"NONE", ""}:
            names = (
                [obj.name for obj in bpy.data.objects][:60] + [action.name for action in bpy.data.actions] + ["", "x"]
            )
            return rng.choice(names)
        return None

    def _names(self, most: int, *roles: str) -> list[str]:
        """Names of some objects of the view layer, by default of any role."""
        kinds = roles or (self.rng.choice(_ROLES),)
        found = [obj.name for obj in bpy.context.view_layer.objects if record_of(obj).role in kinds]
        found = found or [obj.name for obj in bpy.context.view_layer.objects]
        return self.rng.sample(found, min(len(found), self.rng.randint(1, most)))

    def _select(self) -> Step:
        return ["select", self._names(4, *self.rng.sample(_ROLES, 2))]

    def _hide(self) -> Step:
        return ["hide", self._names(2), self.rng.choice(["eye", "viewport", "show"])]

    def _delete(self) -> Step:
        return ["delete", self._names(2)]

    def _duplicate(self) -> Step:
        return ["duplicate", self._names(3, "BODY", "JOINT"), self.rng.random() < 0.2]

    def _move(self) -> Step:
        return ["move", self._names(2), [round(self.rng.uniform(-0.3, 0.3), 3) for _ in range(3)]]

    def _rotate(self) -> Step:
        return ["rotate", self._names(2), [round(self.rng.uniform(-1, 1), 3) for _ in range(3)]]

    def _scale(self) -> Step:
        return ["scale", self._names(2), [self.rng.choice([0.5, 1.0, 1.3, 2.0, -1.0]) for _ in range(3)]]

    def _flatten(self) -> Step:
        return ["flatten", self._names(1, "BODY", "JOINT", "FRAME"), self.rng.randrange(3)]

    def _exclude(self) -> Step:
        every = [layer.name for layer in _layers(bpy.context.view_layer.layer_collection)][1:]
        return ["exclude", self.rng.choice(every) if every else "", self.rng.random() < 0.5]

    def _frame(self) -> Step:
        return ["frame", self.rng.choice([1, 1, 2, 3, 4, 7])]

    def _drive(self) -> Step:
        return ["drive", self._names(1, "MODEL"), self.rng.choice(["KEYS", "SERVO", "LIMP"])]

    def _mode(self) -> Step:
        return ["mode", self._names(1, "MODEL", "BODY"), self.rng.choice(["OBJECT", "POSE", "EDIT"])]

    def _pose(self) -> Step:
        return ["pose", self._names(1, "MODEL"), self.rng.randrange(99), round(self.rng.uniform(-1.5, 1.5), 3)]

    def _key(self) -> Step:
        return ["key", self._names(1, "MODEL"), self.rng.randrange(99), self.rng.choice([1, 5, 9])]

    def _undo(self) -> Step:
        return ["undo", self.rng.randint(1, 3)]

    def _redo(self) -> Step:
        return ["redo", 1]

    def _scene(self) -> Step:
        return ["scene", self.rng.choice(["NEW", "EMPTY", "LINK_COPY", "back", "back"])]

    def _append(self) -> Step:
        return ["append", self.rng.random() < 0.5]

    def _apply(self) -> Step:
        return ["apply", self._names(2), self.rng.choice(["location", "rotation", "scale"])]

    def _parent(self) -> Step:
        return ["parent", self._names(1, "BODY"), self.rng.random() < 0.5]


def _layers(top: Any) -> list[Any]:
    return [top, *(layer for child in top.children for layer in _layers(child))]


# ---------------------------------------------------------------- doing


class Doing:
    """Does steps. What Blender by itself crashes after is left out: deleting what was simulated, and two scenes that
    simulate the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def do(self, step: Step) -> None:
        """Do one step. RuntimeError is what an operator says that cannot do it, or its traceback."""
        kind, *arguments = step
        getattr(self, f"_{kind}")(*arguments)

    def _run(self, name: str, options: dict[str, Any]) -> None:
        run = operator_of(name)
        if run.poll():
            run("EXEC_DEFAULT", **options)

    def _select(self, names: list[str]) -> None:
        layer = bpy.context.view_layer
        for obj in list(layer.objects.selected):
            obj.select_set(False)
        for obj in _there(names):
            obj.select_set(True)
            layer.objects.active = obj

    def _hide(self, names: list[str], how: str) -> None:
        for obj in _there(names):
            if how == "viewport":
                obj.hide_viewport = not obj.hide_viewport
            else:
                obj.hide_set(how == "eye")

    def _delete(self, names: list[str]) -> None:
        """Where physics is, ours takes it out first: Blender by itself crashes when what was simulated is freed."""
        if _simulates():
            return
        self._object_mode()
        self._select(names)
        if bpy.ops.object.delete.poll():
            bpy.ops.object.delete()

    def _duplicate(self, names: list[str], linked: bool) -> None:
        self._object_mode()
        self._select(names)
        if bpy.ops.object.duplicate.poll():
            bpy.ops.object.duplicate(linked=linked)

    def _move(self, names: list[str], by: list[float]) -> None:
        for obj in _there(names):
            obj.location = [a + b for a, b in zip(obj.location, by, strict=True)]

    def _rotate(self, names: list[str], by: list[float]) -> None:
        for obj in _there(names):
            if obj.rotation_mode == "QUATERNION":
                obj.rotation_quaternion = [1.0, *by]
            else:
                obj.rotation_euler = [a + b for a, b in zip(obj.rotation_euler, by, strict=True)]

    def _scale(self, names: list[str], by: list[float]) -> None:
        for obj in _there(names):
            obj.scale = [a * b for a, b in zip(obj.scale, by, strict=True)]

    def _flatten(self, names: list[str], axis: int) -> None:
        for obj in _there(names):
            obj.scale[axis] = 0.0

    def _exclude(self, name: str, on: bool) -> None:
        for layer in _layers(bpy.context.view_layer.layer_collection):
            if layer.name == name:
                layer.exclude = on

    def _frame(self, frame: int) -> None:
        for each in range(1, frame + 1) if frame < 5 else (frame,):
            bpy.context.scene.frame_set(each)

    def _drive(self, names: list[str], drive: str) -> None:
        for obj in _there(names):
            if obj.type == "ARMATURE" and record_of(obj).role == "MODEL" and obj.data.library is None:
                with contextlib.suppress(ValueError):  # it says so: physics is in another scene
                    settings(obj).drive = drive

    def _mode(self, names: list[str], mode: str) -> None:
        self._object_mode()
        for obj in _there(names):
            if obj.visible_get() and not (mode == "POSE" and obj.type != "ARMATURE"):
                bpy.context.view_layer.objects.active = obj
                if bpy.ops.object.mode_set.poll():
                    bpy.ops.object.mode_set(mode=mode)

    def _object_mode(self) -> None:
        active = bpy.context.view_layer.objects.active
        if active is not None and active.mode != "OBJECT" and bpy.ops.object.mode_set.poll():
            bpy.ops.object.mode_set(mode="OBJECT")

    def _bone(self, names: list[str], number: int) -> Any:
        for obj in _there(names):
            if obj.pose is not None and len(obj.pose.bones) and obj.library is None:
                return obj.pose.bones[number % len(obj.pose.bones)]
        return None

    def _pose(self, names: list[str], number: int, value: float) -> None:
        bone = self._bone(names, number)
        if bone is not None:
            bone.rotation_euler[2] = value
            bone.location[2] = 0.1 * value

    def _key(self, names: list[str], number: int, frame: int) -> None:
        bone = self._bone(names, number)
        if bone is not None:
            bone.keyframe_insert("rotation_euler", frame=frame)

    def _undo(self, count: int) -> None:
        for _ in range(count):
            if bpy.ops.ed.undo.poll():
                bpy.ops.ed.undo()

    def _redo(self, _count: int) -> None:
        if bpy.ops.ed.redo.poll():
            bpy.ops.ed.redo()

    def _scene(self, kind: str) -> None:
        """A linked copy of a scene with physics is left out: Blender itself crashes where two simulate the same."""
        self._object_mode()
        window = bpy.context.window
        if kind == "back":
            if window is not None:
                window.scene = next(each for each in bpy.data.scenes if not each.knuckle_shown_uid)  # no hidden one
        elif len(bpy.data.scenes) < 4 and not (kind == "LINK_COPY" and _simulates()):
            bpy.ops.scene.new(type=kind)

    def _append(self, link: bool) -> None:
        path = self.folder / "library.blend"
        if not path.exists():
            return
        with bpy.data.libraries.load(str(path), link=link) as (there, here):
            here.collections = there.collections[:1]
        for collection in here.collections:
            if collection is not None:
                bpy.context.scene.collection.children.link(collection)

    def _apply(self, names: list[str], what: str) -> None:
        self._object_mode()
        self._select(names)
        wanted = {name: name == what for name in ("location", "rotation", "scale")}
        if bpy.ops.object.transform_apply.poll():
            bpy.ops.object.transform_apply(**wanted)

    def _parent(self, names: list[str], clear: bool) -> None:
        for obj in _there(names):
            place = obj.matrix_world.copy()
            if clear:
                obj.parent = None
            obj.matrix_world = place


def _simulates() -> bool:
    return any(scene.rigidbody_world is not None for scene in bpy.data.scenes)


def _there(names: list[str]) -> list[Any]:
    """The objects of these names in the view layer that are this file's own."""
    known = bpy.context.view_layer.objects
    return [known[name] for name in names if name in known and known[name].library is None]
