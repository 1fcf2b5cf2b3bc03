"""Helpers for tests of operators: for each one scenes it can run in, its options, and its refusals."""

# A new operator is to be added here; ``test_all_operators`` fails until it is.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import attachments_helpers, loops
from tests.support.mechanisms import body, clockwork, clockwork_motor, joint, model
from tests.support.references import mujoco_missing
from tests.support.scenes import OWN
from tests.support.small import MOTION

#: A trunk on two legs that are twins, with a gait, and a tool that lies beside it, held by nothing.
DUO = model(
    body(1, (0, 0, 2), (1, 2, 0.5), mass=4, name="Trunk"),
    body(2, (-1.25, 0, 2), (1, 0.5, 0.1), name="Left Leg", twin=3),
    body(3, (1.25, 0, 2), (1, 0.5, 0.1), name="Right Leg", twin=2),
    body(4, (0, 3, 2), (0.3, 0.3, 0.3), name="Tool"),
    joint(11, 1, 2, (-0.6, 0, 2), (0, -90, 0), (-45, 30), name="Left Hip"),
    joint(12, 1, 3, (0.6, 0, 2), (0, -90, 0), (-45, 30), name="Right Hip"),
    behaviours=clockwork(clockwork_motor(11, amplitude=20), clockwork_motor(12, amplitude=20, phase=90)),
)

Ready = Callable[[Path], "dict[str, Any] | None"]


@dataclass(frozen=True)
class Case:
    """An operator's row.

    ``ready`` makes the scene fit, after which the operator runs with the options that it returns. ``refused`` are
    scenes in which its poll says no, and what it says then. ``no_step`` is empty where undo takes the work back, else
    the reason why there is nothing to take back. ``window`` names what runs in the background only in part, and the
    window script that does the rest."""

    ready: Ready
    refused: tuple[tuple[Ready, str], ...] = ()
    no_step: str = ""
    window: str = ""
    needs_window: str = ""  # what it says where there is none
    model: bool = True  # whether it says that there is no mechanism where there is none


# ---------------------------------------------------------------- scenes


def duo(folder: Path) -> None:
    """The model above, imported with physics and gait, and nothing of it selected but the armature."""
    import bpy

    path = folder / "duo.jm"
    path.write_text(DUO)
    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.5) == {"FINISHED"}
    bpy.context.scene.frame_end = 12


def hexapod(folder: Path) -> None:
    """The sample whose gait reads inputs."""
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / "hexapod/hexapod.jm"), gait_seconds=0.2) == {"FINISHED"}


def rig() -> Any:
    """The first model's armature: undo gives everything another place in memory."""
    import bpy

    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def picked(*names: str) -> Ready:
    """The model with these parts selected, the last of them active."""

    def ready(folder: Path) -> dict[str, Any]:
        duo(folder)
        pick(*names)
        return {}

    return ready


def pick(*names: str) -> None:
    """Select objects by name, and no others."""
    import bpy

    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    for name in names:
        bpy.data.objects[name].select_set(True)
    bpy.context.view_layer.objects.active = bpy.data.objects[names[-1]] if names else rig()


def with_options(ready: Ready, *steps: Callable[[], Any], **options: Any) -> Ready:
    """A scene, made ready further by steps, and the options to run with."""

    def more(folder: Path) -> dict[str, Any]:
        given = ready(folder)
        for step in steps:
            step()
        return {**(given or {}), **options}

    return more


def op(name: str, /, **options: Any) -> Callable[[], Any]:
    """A step that runs another operator, as a user would before."""

    def step() -> None:
        import bpy

        module, short = name.split(".")
        assert getattr(getattr(bpy.ops, module), short)(**options) == {"FINISHED"}

    return step


def mode(name: str) -> Callable[[], None]:
    """A step that goes to another mode of the armature."""

    def step() -> None:
        import bpy

        bpy.context.view_layer.objects.active = rig()
        bpy.ops.object.mode_set(mode=name)

    return step


def no_action() -> None:
    rig().animation_data_clear()


def nothing_active() -> None:
    import bpy

    pick()
    rig().data.bones.active = None
    bpy.context.view_layer.update()


def set_to(name: str, path: str, value: Any) -> Callable[[], None]:
    """A step that changes a value of an object as a user would."""

    def step() -> None:
        import bpy

        owner: Any = bpy.data.objects[name]
        *way, last = path.split(".")
        for each in way:
            owner = owner[int(each)] if each.isdigit() else getattr(owner, each)
        setattr(owner, last, value)
        bpy.context.view_layer.update()

    return step


def drive(value: str) -> Callable[[], None]:
    def step() -> None:
        rig().data.knuckle.drive = value

    return step


def plain_cube() -> None:
    import bpy

    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(0, -3, 1))
    bpy.context.object.name = "Block"
    pick("Block", rig().name)


def alone(folder: Path) -> None:
    """A mechanism without anything in it."""
    import bpy

    assert bpy.ops.knuckle.new_model(name="Bare") == {"FINISHED"}


def in_pose_mode(folder: Path) -> None:
    duo(folder)
    mode("POSE")()


def second() -> None:
    """One more model, both selected."""
    import bpy

    first = rig()
    bpy.ops.knuckle.new_model(name="Other")
    bpy.data.objects["Other"].select_set(True)
    first.select_set(True)
    bpy.context.view_layer.objects.active = first


def solver(steps: int) -> Callable[[], None]:
    """A step that gives the scene's physics another pace."""

    def step() -> None:
        import bpy

        bpy.context.scene.rigidbody_world.substeps_per_frame = steps

    return step


def editing(folder: Path) -> None:
    """The armature in edit mode."""
    duo(folder)
    mode("EDIT")()


def without_armature(folder: Path) -> None:
    """A model whose armature was deleted by hand."""
    import bpy

    duo(folder)
    pick(rig().name)
    bpy.ops.object.delete(confirm=False)
    bpy.context.view_layer.objects.active = bpy.data.objects["Trunk"]


def left_behind(folder: Path) -> None:
    """What a user deletes who selects all: the ground and the motors cannot be selected."""
    import bpy

    duo(folder)
    drive("SERVO")()
    bpy.context.scene.frame_set(2)
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()


def linkage(folder: Path) -> dict[str, Any]:
    import bpy

    from addon.blender.reconcile.build import BuildOptions, build

    build(loops.crank_rocker(), bpy.context, BuildOptions(physics=False))
    bpy.context.view_layer.objects.active = rig()
    bpy.context.view_layer.update()
    return {"joint": "D"}


def robot(folder: Path) -> dict[str, Any]:
    import bpy

    bpy.context.view_layer.objects.active = attachments_helpers.put(attachments_helpers.document())
    return {"path": "robot:arm"}


def motion_file(folder: Path, text: str = MOTION.replace("Left Joint", "Left Hip")) -> dict[str, Any]:
    duo(folder)
    path = folder / "nod.xmdi"
    path.write_text(text)
    return {"filepath": str(path)}


def misnamed(folder: Path) -> dict[str, Any]:
    """A motion imported that knows one servo, and another by a wrong name."""
    second_servo = '<servo name="Wrong"><position>0 0.1</position><frames>0 10</frames></servo></motion>'
    text = MOTION.replace("Left Joint", "Left Hip").replace("</motion>", second_servo)
    op("import_anim.servo_motion", **motion_file(folder, text))()
    return {}


def to_file(name: str, ready: Ready = duo) -> Ready:
    """A scene that is written to a file."""

    def more(folder: Path) -> dict[str, Any]:
        ready(folder)
        return {"filepath": str(folder / name)}

    return more


def ran(folder: Path) -> None:
    """After a run was baked."""
    duo(folder)
    drive("LIMP")()
    op("knuckle.bake_physics", all_bodies=True)()


def with_mujoco() -> None:
    if why := mujoco_missing():
        pytest.skip(why)


def marked(folder: Path) -> dict[str, Any]:
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=False)
    bpy.data.batch_remove([*bpy.data.objects])
    duo(folder)
    bpy.context.scene.knuckle_overlay.axes = True
    return {"filepath": str(folder / "marks.png"), "size": (96, 64)}


def enabled(folder: Path) -> None:
    import bpy

    bpy.context.preferences.addons.new().module = "addon"


def with_folder(folder: Path) -> dict[str, Any]:
    import bpy

    enabled(folder)
    assert bpy.ops.knuckle.mesh_folder_add(directory=str(folder)) == {"FINISHED"}
    return {"index": 0}


def folder_option(folder: Path) -> dict[str, Any]:
    enabled(folder)
    return {"directory": str(folder)}


def blank(folder: Path) -> None:
    """The empty scene."""


def one_file(folder: Path) -> dict[str, Any]:
    path = folder / "duo.jm"
    path.write_text(DUO)
    return {"filepath": str(path), "gait_seconds": 0.5}


# ---------------------------------------------------------------- what operators say

_NOTHING = with_options(duo, nothing_active)
_SILENT = with_options(duo, no_action)
_NO_PARTS = (_NOTHING, "Select bodies or joints of the mechanism")
_NO_JOINT = (_NOTHING, "Select a joint, its bone, or the body that it moves")
_NO_JOINTS = (_NOTHING, "Select joints, their bones, or bodies that they move")
_NO_MOTION = (_SILENT, "no motion. Import one, bake its gait or choose an Action")
_NOT_OBJECT_MODE = (in_pose_mode, "Go to object mode to add a mechanism")
_KEPT_ELSEWHERE = "writes a file and leaves the .blend as it is"
_PREFERENCES = "changes the preferences, which are the user's and of no .blend: Blender undoes none of them"

CASES: dict[str, Case] = {
    "export_anim.servo_motion": Case(
        to_file("walk.xmdi"), no_step=_KEPT_ELSEWHERE, window="motion_files.py: the file browser"
    ),
    "export_scene.mechanism": Case(to_file("out.jm"), no_step=_KEPT_ELSEWHERE, window="walkthrough.py: the browser"),
    "import_anim.servo_motion": Case(motion_file, window="motion_files.py: the drop and its popup"),
    "import_scene.mechanism": Case(one_file, model=False, window="walkthrough.py: the drop and its popup"),
    "knuckle.add_joint": Case(
        picked("Tool", "Trunk"),
        (
            (with_options(duo, plain_cube), "is no body yet: Make Body first"),
            (_NOTHING, "Select the child and then the parent"),
        ),
    ),
    "knuckle.add_mechanism": Case(blank, (_NOT_OBJECT_MODE,), model=False),
    "knuckle.add_servo_name": Case(with_options(duo, name="left", servo="Left Hip")),
    "knuckle.bake_gait": Case(with_options(duo, no_action, frame_end=6), ((alone, "The mechanism has no gait"),)),
    "knuckle.bake_physics": Case(
        with_options(duo, drive("LIMP"), frame_end=6),
        ((duo, "The bodies follow their keyframes: set Drive to Servos or Ragdoll first"),),
        window="physics.py and walkthrough.py: the progress, and Esc",
    ),
    "knuckle.build_physics": Case(
        with_options(duo, op("knuckle.clear_physics")), ((alone, "The mechanism has no bodies"),)
    ),
    "knuckle.check_convergence": Case(
        with_options(duo, drive("LIMP"), op("knuckle.bake_physics", frame_end=6)),
        ((duo, "Bake a simulation of the mechanism first"),),
        window="step_trials.py: the progress, and Esc, as of Measure Again",
    ),
    "knuckle.check_model": Case(duo),
    "knuckle.rebuild": Case(without_armature),
    "knuckle.check_symmetry": Case(with_options(duo, set_to("Left Leg", "knuckle.mass", 3.0))),
    "knuckle.clean_up": Case(left_behind, ((duo, "No deleted mechanism has left anything behind"),), model=False),
    "knuckle.clear_physics": Case(duo, ((alone, "The mechanism has no rigid bodies to remove"),)),
    "knuckle.copy_check": Case(blank, no_step="it only looks", model=False),
    "knuckle.copy_install_command": Case(blank, no_step="it only copies", model=False),
    "knuckle.compare_mujoco": Case(
        with_options(duo, with_mujoco, drive("LIMP"), op("knuckle.bake_physics", frame_end=6)),
        ((duo, "Bake a simulation of the mechanism first"),),
        window="step_trials.py: the progress, and Esc, as of Measure Again",
    ),
    "knuckle.copy_joint": Case(
        with_options(picked("Right Hip", "Left Hip"), set_to("Left Hip", "knuckle.joint.dofs.0.gain", 3.0)),
        (_NO_JOINTS,),
    ),
    "knuckle.create_twin": Case(with_options(picked("Tool"), set_to("Tool", "location", (2, 3, 2))), (_NO_PARTS,)),
    "knuckle.delete_parts": Case(picked("Left Leg"), (_NO_PARTS,)),
    "knuckle.delete_pose": Case(
        with_options(duo, op("knuckle.store_pose", name="Crouch"), pose="Crouch"),
        ((duo, "The mechanism has no poses: use Store Pose first"),),
    ),
    "knuckle.drive_loop": Case(linkage),
    "knuckle.duplicate_limb": Case(picked("Left Leg"), ((_NOTHING, "Select bodies of the mechanism, or joints"),)),
    "knuckle.find_twins": Case(with_options(picked("Left Leg", "Left Hip"), op("knuckle.unlink_twins"))),
    "knuckle.fit_world": Case(
        with_options(duo, solver(3)),
        ((with_options(duo, op("knuckle.clear_physics")), "Use Add Rigid Bodies first"),),
        window="step_trials.py: the progress, and Esc",
    ),
    "knuckle.fix_finding": Case(
        with_options(duo, set_to("Tool", "knuckle.mass", 0.0), op("knuckle.check_model"), index=0),
        ((duo, "Check Mechanism first"),),
    ),
    "knuckle.joint_table": Case(
        duo,
        ((alone, "The mechanism has no joints"),),
        no_step="what is set in its popup is set there, and confirming makes one step of it",
        window="servos.py: all gains set at once, kept, undone, cancelled",
    ),
    "knuckle.key_left_over": Case(
        with_options(misnamed, op("knuckle.add_servo_name", name="Wrong", servo="Right Hip")),
        ((duo, "The Action that plays was not imported from a motion file"),),
    ),
    "knuckle.key_servo": Case(with_options(duo, no_action, servo="Left Hip")),
    "knuckle.key_servos": Case(with_options(duo, no_action)),
    "knuckle.link_found_twins": Case(
        with_options(picked("Left Leg", "Left Hip"), op("knuckle.unlink_twins"), op("knuckle.find_twins")),
        ((duo, "Find Twins first, and mark pairs"),),
    ),
    "knuckle.link_twins": Case(
        with_options(picked("Left Leg", "Right Leg"), op("knuckle.unlink_twins")),
        ((picked("Left Leg"), "Select two bodies, or two joints"),),
    ),
    "knuckle.list_left_over": Case(misnamed, ((duo, "The Action that plays was not imported from a motion file"),)),
    "knuckle.follow_in_view": Case(duo, no_step="what a view shows is no part of a step", window="physics_view.py"),
    "knuckle.live_input": Case(
        with_options(hexapod),
        ((duo, "The mechanism has no gait with inputs: map servos to keys first"),),
        needs_window="Live Input needs a window",
        window="live_input.py: keys, and every end",
    ),
    "knuckle.map_live_servo": Case(picked("Left Hip"), ((duo, "Select a joint with one servo"),)),
    "knuckle.unmap_live_servo": Case(
        with_options(picked("Left Hip"), op("knuckle.map_live_servo")), ((duo, "No servo is mapped to keys"),)
    ),
    "knuckle.loop_motion": Case(duo, (_NO_MOTION,), window="motions.py: the popup"),
    "knuckle.make_body": Case(
        with_options(duo, plain_cube),
        ((duo, "Select meshes that are no bodies yet"), (in_pose_mode, "Go to object mode to make bodies")),
    ),
    "knuckle.merge_models": Case(
        with_options(duo, second),
        ((duo, "Select parts of two mechanisms"), (in_pose_mode, "Go to object mode to merge mechanisms")),
    ),
    "knuckle.mesh_folder_add": Case(
        folder_option, ((blank, "Enable Knuckle under Add-ons"),), no_step=_PREFERENCES, model=False
    ),
    "knuckle.mesh_folder_remove": Case(
        with_folder, ((blank, "Enable Knuckle under Add-ons"),), no_step=_PREFERENCES, model=False
    ),
    "knuckle.mirror_motion": Case(duo, (_NO_MOTION,), window="motions.py: the popup"),
    "knuckle.mirror_to_twin": Case(
        with_options(
            picked("Right Hip", "Left Hip"),
            op("knuckle.link_twins"),
            set_to("Left Hip", "knuckle.joint.dofs.0.gain", 3.0),
            keys=True,
        ),
        (_NO_PARTS, (picked("Tool"), "No selected part has a twin: use Find Twins")),
    ),
    "knuckle.move_joint": Case(picked("Left Hip"), (_NO_JOINT,)),
    "knuckle.new_model": Case(blank, (_NOT_OBJECT_MODE,), model=False),
    "knuckle.offset_motion": Case(with_options(duo, frames=3.0), (_NO_MOTION,), window="motions.py: the popup"),
    "knuckle.overlay_picture": Case(
        marked, ((duo, "No overlay is on: choose some above"),), no_step=_KEPT_ELSEWHERE, window="overlays.py"
    ),
    "knuckle.preview_film": Case(
        with_options(duo, size=(64, 48)),
        ((alone, "The mechanism has no bodies to render"),),
        window="walkthrough.py: the progress of a film, and Esc",
    ),
    "knuckle.recall_pose": Case(
        with_options(duo, op("knuckle.store_pose", name="Crouch"), op("knuckle.zero_servos"), pose="Crouch"),
        ((duo, "The mechanism has no poses: use Store Pose first"),),
    ),
    "knuckle.refit": Case(with_options(duo, set_to("Left Hip", "location", (-0.7, 0.0, 2.1)))),
    "knuckle.remove_body_keys": Case(ran, ((duo, "The bodies have no keyframes of their own"),)),
    "knuckle.remove_servo_name": Case(
        with_options(duo, op("knuckle.add_servo_name", name="left", servo="Left Hip")), ((duo, "The list is empty"),)
    ),
    "knuckle.render_film": Case(
        with_options(to_file("film.png"), size=(64, 48)),
        ((alone, "The mechanism has no bodies to render"),),
        no_step=_KEPT_ELSEWHERE,
        window="walkthrough.py: the progress, and Esc",
    ),
    "knuckle.scale_motion": Case(with_options(duo, speed=2.0), (_NO_MOTION,), window="motions.py: the popup"),
    "knuckle.select_part": Case(with_options(duo, part="Left Leg"), ((editing, "Go to object mode or pose mode"),)),
    "knuckle.select_worst": Case(ran, ((duo, "Bake a simulation of the mechanism first"),)),
    "knuckle.set_inputs": Case(
        with_options(hexapod, preset="TURN_LEFT"), ((duo, "The gait of the mechanism reads no input"),)
    ),
    "knuckle.set_drive": Case(with_options(duo, drive="LIMP")),
    "knuckle.set_joint_type": Case(with_options(picked("Left Hip"), type="cylindrical"), (_NO_JOINT,)),
    "knuckle.set_stops": Case(with_options(picked("Left Hip"), to="UPPER"), (_NO_JOINTS,)),
    "knuckle.self_check": Case(duo, no_step="it only looks", model=False),
    "knuckle.show_servo": Case(with_options(duo, servo="Left Hip", frame=4.0), window="motions.py: a click on a row"),
    "knuckle.split_model": Case(
        picked("Left Leg"),
        ((duo, "Select bodies of the mechanism to split them off"), (in_pose_mode, "Go to object mode to split")),
        window="editing.py",
    ),
    "knuckle.stop_looping": Case(with_options(duo, op("knuckle.loop_motion", way="CYCLES")), (_NO_MOTION,)),
    "knuckle.store_pose": Case(with_options(duo, name="Crouch"), window="servos.py: its popup"),
    "knuckle.swap_joint": Case(picked("Left Hip"), (_NO_JOINT,)),
    "knuckle.sweep": Case(
        with_options(picked("Left Hip"), seconds=0.2),
        (_NO_JOINTS, (with_options(picked("Left Hip"), drive("LIMP")), "set Drive to Keyframes to see a sweep")),
        no_step="shows the range, and leaves pose, keys and frame as they were",
        window="servos.py: ended by Esc and by a click",
    ),
    "knuckle.switch_assembly": Case(robot, ((alone, "The mechanism has no assemblies"),)),
    "knuckle.switch_stops": Case(with_options(picked("Left Hip"), on=False), (_NO_JOINTS,)),
    "knuckle.tick_joints": Case(duo),
    "knuckle.unlink_twins": Case(
        picked("Left Leg"), (_NO_PARTS, (picked("Tool"), "None of the selected parts has a twin"))
    ),
    "knuckle.use_motion": Case(
        with_options(duo, op("knuckle.bake_gait", frame_end=6), motion="duo Gait"), window="motions.py: a click"
    ),
    "knuckle.zero_servos": Case(duo),
}
