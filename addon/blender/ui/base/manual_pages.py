"""Manual pages by operator and property, which *Online Manual* in Blender's context menus opens."""

from __future__ import annotations

import bpy

from .... import installation

#: Operators and property groups that each page describes. The first match counts.
PAGES: dict[str, tuple[str, ...]] = {
    "import#import-options": ("import_scene.mechanism",),
    "convert": ("export_scene.mechanism",),
    "motion#import": ("import_anim.servo_motion", "knuckle.list_left_over", "knuckle.key_left_over"),
    "motion": ("knuckle.add_servo_name", "knuckle.remove_servo_name", "KnuckleServoName", "KnuckleAction"),
    "motion#export": ("export_anim.servo_motion",),
    "gait#inputs": (
        "knuckle.bake_gait",
        "knuckle.set_inputs",
        "KnuckleControls",
        "KnuckleModel.speed_factor",
    ),
    "gait#edit-a-whole-motion": (
        "knuckle.loop_motion",
        "knuckle.stop_looping",
        "knuckle.mirror_motion",
        "knuckle.offset_motion",
        "knuckle.scale_motion",
    ),
    "gait#required-range-and-speed": ("knuckle.use_motion", "knuckle.show_servo"),
    "walk#bake-the-simulation": (
        "knuckle.bake_physics",
        "knuckle.remove_body_keys",
        "KnuckleModel.key_bodies",
    ),
    "walk#live-input": ("knuckle.live_", "knuckle.map_", "knuckle.unmap_", "KnuckleLive"),
    "walk#targets-and-control-laws": ("KnuckleModel.target", "KnuckleModel.law"),
    "walk": ("knuckle.set_drive", "knuckle.follow_in_view", "KnuckleModel.drive", "KnucklePhysicsView"),
    "check#check-the-accuracy": (
        "knuckle.select_worst",
        "knuckle.check_convergence",
        "KnuckleAccuracy",
        "KnuckleJointAccuracy",
    ),
    "check#compare-with-mujoco": (
        "knuckle.compare_mujoco",
        "knuckle.copy_install_command",
        "KnuckleBodyDifference",
    ),
    "physics#rigid-body-world": (
        "knuckle.build_physics",
        "knuckle.clear_physics",
        "knuckle.fit_world",
        "knuckle.clean_up",
        *(
            f"KnuckleModel.{name}"
            for name in (
                "gravity",
                "has_ground",
                "friction",
                "self_collide",
                "erp",
                "cfm",
                "time_step",
                "match_inertia",
            )
        ),
    ),
    "pose#store-a-pose": ("knuckle.store_pose", "knuckle.recall_pose", "knuckle.delete_pose"),
    "pose": (
        "knuckle.key_servo",
        "knuckle.zero_servos",
        "knuckle.drive_loop",
        "KnuckleJointList",
        "PoseBone.knuckle_servo_",
        "Armature.knuckle_pose_row",
    ),
    "stops#table-of-joints": ("knuckle.joint_table", "knuckle.tick_joints", "knuckle.copy_joint"),
    "stops#overlays": ("knuckle.overlay_picture", "KnuckleOverlay"),
    "stops#set-a-stop": ("knuckle.set_stops", "knuckle.switch_stops", "knuckle.sweep"),
    "stops": ("KnuckleDof", "KnuckleJoint.", "Armature.knuckle_row", "knuckle.select_part"),
    "twins": (
        "knuckle.mirror_to_twin",
        "knuckle.create_twin",
        "knuckle.find_twins",
        "knuckle.link_",
        "knuckle.unlink_twins",
        "knuckle.check_symmetry",
        "KnuckleMirrorPlane",
        "KnuckleTwinPair",
        "KnuckleModel.symmetric",
    ),
    "film": ("knuckle.preview_film", "knuckle.render_film", "KnuckleFilm"),
    "in_blender#deleted-parts": ("knuckle.rebuild",),
    "authoring#edit-a-mechanism": (
        "knuckle.set_joint_type",
        "knuckle.move_joint",
        "knuckle.swap_joint",
        "knuckle.refit",
        "knuckle.duplicate_limb",
        "knuckle.split_model",
        "knuckle.merge_models",
        "knuckle.delete_parts",
        "knuckle.switch_assembly",
    ),
    "authoring#a-first-walker": (
        "knuckle.add_mechanism",
        "knuckle.new_model",
        "knuckle.make_body",
        "knuckle.add_joint",
    ),
    "authoring#check-a-mechanism": ("knuckle.check_model", "knuckle.fix_finding", "KnuckleFinding"),
    "import#the-report": ("KnuckleSeverities", "KnuckleReportLine"),
    "import#mesh-folders": (
        "knuckle.mesh_folder_",
        "KnuckleMeshFolder",
        "KnucklePreferences.mesh_folders",
    ),
    "install#troubleshooting": ("knuckle.self_check", "knuckle.copy_check"),
    "import": ("KnucklePreferences",),
    "in_blender": ("KnuckleModel", "KnuckleObject"),
}


def manual_entries(ending: str) -> list[tuple[str, str]]:
    """Return the rows of Blender's manual map: pattern of an identifier as Blender spells it, and path of a page.

    Args:
        ending: File ending of the manual's pages, such as ``.html``.
    """
    return [
        (
            f"bpy.{'ops' if what[0].islower() else 'types'}.{what}".lower() + "*",
            installation.manual_page_path(page, ending),
        )
        for page, subjects in PAGES.items()
        for what in subjects
    ]


def manual_map() -> tuple[str, list[tuple[str, str]]]:
    """Return Blender's manual map: the manual's address and a path for each identifier; no rows without a manual."""
    start, ending = installation.manual_url()
    return start, manual_entries(ending) if start else []


def register() -> None:
    """Register the manual map."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Unregister the manual map."""
    bpy.utils.unregister_manual_map(manual_map)
