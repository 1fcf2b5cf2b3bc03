"""Manual pages by operator and property, which *Online Manual* in Blender's context menus opens."""

from __future__ import annotations

import bpy

from .... import installation

#: Operators and property groups that each page describes. The first match counts.
PAGES: dict[str, tuple[str, ...]] = {
    "import#what-the-import-asks": ("import_scene.mechanism",),
    "convert": ("export_scene.mechanism",),
    "motion#in": ("import_anim.servo_motion", "knuckle.list_left_over", "knuckle.key_left_over"),
    "motion": ("knuckle.add_servo_name", "knuckle.remove_servo_name", "KnuckleServoName", "KnuckleAction"),
    "motion#out": ("export_anim.servo_motion",),
    "gait#with-the-joystick-elsewhere": (
        "knuckle.bake_gait",
        "knuckle.set_inputs",
        "KnuckleControls",
        "KnuckleModel.speed_factor",
    ),
    "gait#change-a-motion-as-a-whole": (
        "knuckle.loop_motion",
        "knuckle.stop_looping",
        "knuckle.mirror_motion",
        "knuckle.offset_motion",
        "knuckle.scale_motion",
    ),
    "gait#what-it-asks-of-the-servos": ("knuckle.use_motion", "knuckle.show_servo"),
    "walk#keep-what-happened": (
        "knuckle.bake_physics",
        "knuckle.remove_body_keys",
        "KnuckleModel.key_bodies",
    ),
    "walk#steer-it-with-keys": ("knuckle.live_", "knuckle.map_", "knuckle.unmap_", "KnuckleLive"),
    "walk#what-the-servos-track": ("KnuckleModel.target", "KnuckleModel.law"),
    "walk": ("knuckle.set_drive", "knuckle.follow_in_view", "KnuckleModel.drive", "KnucklePhysicsView"),
    "physics#ask-how-true-a-run-was": ("knuckle.select_worst", "KnuckleAccuracy", "KnuckleJointAccuracy"),
    "physics#the-world": (
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
    "pose#keep-a-pose": ("knuckle.store_pose", "knuckle.recall_pose", "knuckle.delete_pose"),
    "pose": (
        "knuckle.key_servo",
        "knuckle.zero_servos",
        "knuckle.drive_loop",
        "KnuckleJointList",
        "PoseBone.knuckle_servo_",
        "Armature.knuckle_pose_row",
    ),
    "stops#all-joints-side-by-side": ("knuckle.joint_table", "knuckle.tick_joints", "knuckle.copy_joint"),
    "stops#see-them": ("knuckle.overlay_picture", "KnuckleOverlay"),
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
    "in_blender#what-was-deleted-and-what-comes-back": ("knuckle.rebuild",),
    "authoring#change-what-is-there": (
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
        "knuckle.check_model",
        "knuckle.fix_finding",
        "KnuckleFinding",
    ),
    "import#what-the-report-says": ("KnuckleSeverities", "KnuckleReportLine"),
    "import#where-meshes-are-looked-for": (
        "knuckle.mesh_folder_",
        "KnuckleMeshFolder",
        "KnucklePreferences.mesh_folders",
    ),
    "install#when-something-is-amiss": ("knuckle.self_check", "knuckle.copy_check"),
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
