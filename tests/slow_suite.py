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
    "blender/animation/loops/test_opened_files.py", "blender/animation/test_renamed_bones.py",
    "blender/animation/test_rotation_stops.py", "blender/data/test_datablocks.py",
    "blender/editing/repair/test_missing_parts.py", "blender/editing/repair/test_rebuild.py",
    "blender/editing/repair/test_rig_mismatch.py", "blender/editing/symmetry/test_appearance.py",
    "blender/editing/symmetry/test_create.py", "blender/editing/symmetry/test_appearance_images.py",
    "blender/editing/symmetry/test_mirrored_inertia.py", "blender/editing/symmetry/test_mirrored_restraints.py",
    "blender/editing/symmetry/test_twins.py", "blender/editing/test_authored_mechanisms.py",
    "blender/editing/test_authoring.py", "blender/editing/test_closed_loop_edits.py",
    "blender/reconcile/test_foreign_objects.py", "blender/editing/test_joints.py", "blender/editing/test_migration.py",
    "blender/editing/test_property_renames.py", "blender/reconcile/test_rig_update.py",
    "blender/editing/test_split_merge.py", "blender/editing/test_structural_edits.py",
    "blender/faults/test_cancelled_tasks.py", "blender/faults/test_damaged_simulation.py",
    "blender/faults/test_deletion_after_edit.py", "blender/faults/test_denied_access.py",
    "blender/faults/test_full_disk.py", "blender/faults/test_installed_zip.py", "blender/faults/test_killed_process.py",
    "blender/faults/test_partly_failed_outputs.py", "blender/faults/test_repeated_registration.py",
    "blender/locale/test_german_panels.py", "blender/locale/test_translations.py",
    "blender/physics/actuators/test_servo_targets.py", "blender/physics/actuators/test_control_laws.py",
    "blender/physics/actuators/test_dof_servos.py", "blender/physics/actuators/test_joint_friction_damping.py",
    "blender/physics/actuators/test_motors.py", "blender/physics/actuators/test_point_forces.py",
    "blender/physics/actuators/test_screw_coupling.py", "blender/physics/actuators/test_spring_forces.py",
    "blender/physics/bodies/test_inertia.py", "blender/physics/constraints/test_constraints.py",
    "blender/physics/constraints/test_multi_dof_stops.py", "blender/physics/constraints/test_restraints.py",
    "blender/physics/recording/test_accuracy.py", "blender/physics/recording/test_bake.py",
    "blender/physics/simulation/test_cached_frames.py", "blender/physics/simulation/test_closed_loops.py",
    "blender/physics/simulation/test_deleted_parts.py", "blender/physics/simulation/test_drive.py",
    "blender/physics/simulation/test_helper_objects.py", "blender/physics/workarounds/test_initial_state.py",
    "blender/physics/simulation/test_live_input.py", "blender/physics/simulation/test_mechanics.py",
    "blender/physics/workarounds/test_constraint_removal.py", "blender/physics/simulation/test_scene_states.py",
    "blender/physics/simulation/test_walkers.py", "blender/physics/world/test_anchor.py",
    "blender/physics/world/test_scale.py", "blender/physics/world/test_solver_settings.py",
    "blender/reconcile/test_build.py", "blender/reconcile/test_bulk_build.py",
    "blender/reconcile/test_large_mechanisms.py", "blender/reconcile/test_long_chains.py",
    "blender/reconcile/test_motion_change.py",
    "blender/rendering/test_farm_jobs.py", "blender/rendering/test_floor.py", "blender/rendering/test_video.py",
    "blender/rig/test_dials.py", "blender/scene/read/test_applied_transforms.py",
    "blender/scene/read/test_inactive_joints.py", "blender/scene/read/test_mechanism.py",
    "blender/scene/read/test_mesh_export.py", "blender/scene/read/test_other_formats.py",
    "blender/scene/test_placement.py", "blender/scene_edge_cases/test_export_of_reparented_parts.py",
    "blender/scene_edge_cases/test_import_contexts.py", "blender/scene_edge_cases/test_removed_rigidbody_worlds.py",
    "blender/scene_edge_cases/test_several_mechanisms.py", "blender/scene_edge_cases/test_unusual_names.py",
    "blender/scene_edge_cases/test_zero_scale.py", "blender/test_diagnostics.py",
    "blender/test_files_of_release_1_0.py", "blender/test_overlay.py", "blender/ui/import_export/test_default_scene.py",
    "blender/ui/import_export/test_export_motion.py", "blender/ui/import_export/test_motion_options.py",
    "blender/ui/import_export/test_motion_round_trip.py", "blender/ui/joints/test_operators.py",
    "blender/ui/joints/test_stops.py", "blender/ui/mechanism/test_panels.py", "blender/ui/servos/test_keying_set.py",
    "blender/ui/servos/test_servos.py", "blender/ui/simulation/test_view.py", "blender/ui/test_all_operators.py",
    "blender/ui/test_button_labels.py", "blender/ui/test_overlay.py", "blender/ui/test_preferences.py",
    "blender/ui/test_undo.py", "blender/ui/video/test_operators.py", "cli/test_batch.py", "cli/test_jobs.py",
    "cli/test_root_motion.py", "core/editing/test_symmetry.py", "core/editing/test_twins.py",
    "core/loops/test_newton.py", "core/motion/test_retiming.py", "core/test_mass_properties.py",
    "core/test_primitive_fit.py", "docs/test_commands.py", "docs/test_glossary.py", "docs/test_labels.py",
    "docs/test_new_user.py", "docs/test_python.py", "docs/test_readme.py", "formats/document/test_cache.py",
    "formats/test_conversions.py", "formats/test_linear_time.py", "sequences/test_sequences.py",
    "test_bench_against.py", "test_bench_table.py", "test_crashes.py", "test_installation.py", "test_plot.py",
    "test_registration.py", "test_sample_models.py",
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
