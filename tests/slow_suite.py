"""Files of tests that ``build.py test`` leaves out, so that it ends within five minutes on two cores.

Their tests take more than ``MEAN_SECONDS`` each on average. ``build.py test --all`` and ``--ci`` run them. To choose
anew, measure all and print the list::

    python3 build.py test --blender 5.0 --all --junit-xml=/tmp/results.xml
    python3 tests/slow_suite.py /tmp/results.xml
"""

from __future__ import annotations

import sys
from collections import defaultdict
from xml.etree import ElementTree

#: Mean time of a test (s) above which a file is slow.
MEAN_SECONDS = 0.2

SLOW = frozenset({
    "blender/animation/test_loops_opened.py", "blender/animation/test_rotation_stops.py",
    "blender/editing/test_authored_machines.py", "blender/editing/test_authoring.py",
    "blender/editing/test_cut_loops.py", "blender/editing/test_edits_hold.py",
    "blender/editing/test_foreign_objects.py", "blender/editing/test_joints.py",
    "blender/editing/test_mirror_images.py", "blender/editing/test_mirror_modifiers.py",
    "blender/editing/test_mirror_moments.py", "blender/editing/test_mirror_restraints.py",
    "blender/editing/test_overlay_state.py", "blender/editing/test_paired_edits.py",
    "blender/editing/test_property_renames.py", "blender/editing/test_renamed_bones.py",
    "blender/editing/test_rig_mismatch.py", "blender/editing/test_rig_update.py",
    "blender/editing/test_split_merge.py", "blender/editing/test_stops.py",
    "blender/editing/test_symmetric_editing.py", "blender/editing/test_twins.py", "blender/faults/test_again.py",
    "blender/faults/test_cancelled.py", "blender/faults/test_denied.py", "blender/faults/test_full_disk.py",
    "blender/faults/test_harmed.py", "blender/faults/test_installed.py", "blender/faults/test_killed.py",
    "blender/faults/test_lost_texts.py", "blender/faults/test_needed.py", "blender/faults/test_rebuild.py",
    "blender/faults/test_rested.py", "blender/faults/test_several_outputs.py", "blender/odd/test_export_hanging.py",
    "blender/odd/test_flattened.py", "blender/odd/test_import_where.py", "blender/odd/test_names.py",
    "blender/odd/test_several.py", "blender/odd/test_worlds_removed.py", "blender/physics/test_accuracy.py",
    "blender/physics/test_bake.py", "blender/physics/test_body_keys.py", "blender/physics/test_drive.py",
    "blender/physics/test_fit.py", "blender/physics/test_friction.py", "blender/physics/test_helpers.py",
    "blender/physics/test_inertia.py", "blender/physics/test_initial_pose.py",
    "blender/physics/test_joint_friction_damping.py", "blender/physics/test_joints.py",
    "blender/physics/test_live_bones.py", "blender/physics/test_live_input.py", "blender/physics/test_loops.py",
    "blender/physics/test_motion.py", "blender/physics/test_motors.py", "blender/physics/test_multi_dof_servos.py",
    "blender/physics/test_multi_dof_stops.py", "blender/physics/test_pd_law.py",
    "blender/physics/test_point_forces.py", "blender/physics/test_progress.py", "blender/physics/test_removal.py",
    "blender/physics/test_restraints.py", "blender/physics/test_scaled_forces.py",
    "blender/physics/test_screw_coupling.py", "blender/physics/test_spring_rest.py",
    "blender/physics/test_springs.py", "blender/physics/test_states.py", "blender/physics/test_walkers.py",
    "blender/physics/test_world_joints.py", "blender/rendering/test_farm_jobs.py",
    "blender/rendering/test_stage.py", "blender/rendering/test_video.py",
    "blender/scene/read/test_applied_transforms.py", "blender/scene/read/test_inactive_joints.py",
    "blender/scene/read/test_mechanism.py", "blender/scene/read/test_mesh_export.py",
    "blender/scene/read/test_other_formats.py", "blender/scene/test_build.py", "blender/scene/test_bulk_build.py",
    "blender/scene/test_dials.py", "blender/scene/test_initial_pose.py", "blender/scene/test_long_chains.py",
    "blender/test_diagnostics.py", "blender/test_large.py", "blender/test_migration.py",
    "blender/test_release_1_0.py", "blender/test_stale_lists.py", "blender/ui/test_add_menu.py",
    "blender/ui/test_button_labels.py", "blender/ui/test_default_scene.py", "blender/ui/test_german_panels.py",
    "blender/ui/test_input_presets.py", "blender/ui/test_joint_table.py", "blender/ui/test_keying_set.py",
    "blender/ui/test_motion_exact.py", "blender/ui/test_motion_options.py", "blender/ui/test_motion_whole.py",
    "blender/ui/test_operators.py", "blender/ui/test_overlay.py", "blender/ui/test_preferences.py",
    "blender/ui/test_redraws.py", "blender/ui/test_registration.py", "blender/ui/test_report_panel.py",
    "blender/ui/test_servos.py", "blender/ui/test_translations.py", "blender/ui/test_undo.py",
    "blender/ui/test_video.py", "blender/ui/test_view_framing.py", "core/test_loop_interpolation.py",
    "core/test_mass_properties.py", "core/test_one_sided.py", "core/test_primitive_fit.py", "core/test_retiming.py",
    "core/test_twins.py", "docs/test_commands.py", "docs/test_glossary.py", "docs/test_labels.py",
    "docs/test_new_user.py", "docs/test_python.py", "docs/test_readme.py", "formats/test_conversions.py",
    "formats/test_lately.py", "formats/test_linear_time.py", "sequences/test_sequences.py", "test_bench_against.py",
    "test_bench_table.py", "test_cli_batch.py", "test_cli_jobs.py", "test_cli_root_motion.py", "test_crashes.py",
    "test_installation.py", "test_plot.py", "test_sample_models.py",
})  # fmt: skip


def slow_files(results: str) -> list[str]:
    """Return the slow files of a run, from its JUnit file."""
    seconds = defaultdict(list)
    for case in ElementTree.parse(results).iter("testcase"):
        path = str(case.get("classname")).removeprefix("tests.").replace(".", "/") + ".py"
        seconds[path].append(float(case.get("time", 0.0)))
    return sorted(path for path, each in seconds.items() if sum(each) / len(each) > MEAN_SECONDS)


if __name__ == "__main__":
    print("\n".join(slow_files(sys.argv[1])))
