"""The core of the tests: what shows of each room that it works in a Blender, in about three minutes on two cores,
besides those cells of the edit matrix that ``KNUCKLE_MATRIX`` chooses.

They carry the marker ``core``. This is the one place that names them, by file, from the tree's root."""

from __future__ import annotations

CORE = frozenset(
    f"tests/{name}.py"
    for name in (
        "test_public_api",
        "cli/test_command_line",  # models and motions in and out, a walker under physics, a picture and a film
        "blender/test_files_of_other_versions",  # what another Blender or another release of ours saved
        "blender/test_files_of_release_1_0",
        "blender/editing/test_migration",
        "blender/rig/test_ball_channels",
        "blender/animation/test_keying",
        "blender/animation/test_multi_dof_motion",
        "blender/scene/test_shapes",
        "blender/scene/read/test_other_formats",  # each format through a .blend
        "blender/editing/symmetry/test_twins",
        "blender/physics/recording/test_bake",
        "blender/physics/simulation/test_drive",
        "blender/ui/import_export/test_motion_files",
        "blender/ui/test_panels",
        "test_registration",
        "blender/ui/test_undo",
        "matrix/test_all_juice",  # a fixed tenth, where KNUCKLE_MATRIX asks for it
        "matrix/test_all_skel",
        "matrix/test_all_x_xy",
        "matrix/test_all_shift",
        "matrix/test_fast",
        "formats/x_xy/test_writer",  # what goes by the types that numpy and Python declare
    )
)
