"""The retiming tools and the motions' panels, through operators as a user has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import bone_of, curves_of
from tests.support.panels_helpers import Layout

TOOLS = ("loop_motion", "stop_looping", "mirror_motion", "offset_motion", "scale_motion")


def ops() -> Any:
    import bpy

    return bpy.ops.knuckle


def curve() -> Any:
    """The left joint's curve of the Action that plays."""
    import bpy

    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    return next(c for c in curves_of(rig) if "Left Joint" in c.data_path)


@pytest.fixture
def nod(rig: Any) -> Any:
    """Both servos keyed by hand, at 60 frames per second; the left one leaves its stop of 45°."""
    from addon.blender.animation.keying import key_servos

    frames = np.array([1.0, 31.0, 61.0])
    tracks = {"21": (frames, np.array([0.0, 1.0, 0.0]), 1), "22": (frames, np.array([0.0, 0.3, 0.0]), 1)}
    key_servos(rig, "nod", tracks)
    return rig


def keys() -> list[tuple[float, float]]:
    return [(round(p.co[0], 3), round(p.co[1], 4)) for p in curve().keyframe_points]


def test_loop_by_keys_lengthens_the_range(nod: Any) -> None:
    import bpy

    bpy.context.scene.frame_end = 100
    assert ops().loop_motion(rounds=3) == {"FINISHED"}
    assert keys() == [(1 + 30 * k, float(k % 2)) for k in range(7)]
    assert bpy.context.scene.frame_end == 181
    ops().loop_motion(rounds=2, extend=False)
    assert bpy.context.scene.frame_end == 181


def test_loop_without_end_and_stop(nod: Any) -> None:
    assert ops().loop_motion(way="CYCLES") == {"FINISHED"}
    assert curve().evaluate(31 + 600) == pytest.approx(1.0, abs=1e-4)
    assert ops().stop_looping() == {"FINISHED"}
    assert curve().evaluate(31 + 600) == pytest.approx(0.0, abs=1e-6)


def test_offset_in_frames_and_seconds(nod: Any) -> None:
    import bpy

    bpy.context.scene.render.fps = 60
    ops().offset_motion(frames=9)
    assert keys()[0] == (10.0, 0.0)
    ops().offset_motion(unit="SECONDS", seconds=-0.15)
    assert keys()[0] == (1.0, 0.0)
    ops().offset_motion(frames=15, wrap=True)
    assert keys() == [(1.0, 0.5), (16.0, 0.0), (46.0, 1.0), (61.0, 0.5)]


def test_speed_by_factor_and_by_duration(nod: Any) -> None:
    import bpy

    bpy.context.scene.render.fps = 60
    ops().scale_motion(speed=2.0)
    assert keys() == [(1.0, 0.0), (16.0, 1.0), (31.0, 0.0)]
    bpy.context.scene.frame_set(31)
    ops().scale_motion(to="DURATION", duration=2.0, about="CURRENT")
    assert keys() == [(-89.0, 0.0), (-29.0, 1.0), (31.0, 0.0)]


def test_what_goes_past_the_range_lengthens_it(nod: Any) -> None:
    import bpy

    scene = bpy.context.scene
    scene.frame_end = 61
    ops().scale_motion(speed=0.5)
    assert scene.frame_end == 121
    ops().offset_motion(frames=10)
    assert scene.frame_end == 131
    ops().offset_motion(frames=10, extend=False)
    ops().scale_motion(speed=4)
    assert scene.frame_end == 131


@pytest.fixture
def slow(nod: Any) -> Any:
    """Time remapped so that the motion's 60 frames of keys are shown in 120 of the scene, at 24 a second."""
    import bpy

    scene = bpy.context.scene
    scene.render.fps, scene.render.frame_map_old, scene.render.frame_map_new = 24, 100, 200
    scene.frame_end = 10
    return scene


def test_remapped_time_counts_in_the_range(slow: Any) -> None:
    assert ops().loop_motion(rounds=1) == {"FINISHED"}
    assert slow.frame_end == 122, "the last key at 61"
    assert ops().loop_motion(rounds=2) == {"FINISHED"}
    assert slow.frame_end == 242


def test_remapped_time_counts_in_durations(slow: Any) -> None:
    assert ops().scale_motion(to="DURATION", duration=10.0) == {"FINISHED"}
    assert [place for place, _ in keys()] == [1.0, 61.0, 121.0], "10 s are 240 frames of the scene, 120 of keys"
    slow.frame_set(61)
    value = curve().evaluate(30.5)
    assert ops().scale_motion(speed=2.0, about="CURRENT") == {"FINISHED"}
    assert curve().evaluate(30.5) == pytest.approx(value, abs=1e-4)


def test_remapped_time_counts_in_offsets(slow: Any) -> None:
    ops().offset_motion(unit="SECONDS", seconds=1.0)
    assert keys()[0] == (13.0, 0.0)
    ops().offset_motion(frames=-24.0)
    assert keys()[0] == (1.0, 0.0)


def test_mirror_names_its_pairs_and_the_alone(rig: Any) -> None:
    """Of the flapper's two joints one turns and the other slides: neither is the other's counterpart."""
    from addon.blender.animation.keying import key_servos

    key_servos(rig, "nod", {"21": (np.array([1.0]), np.array([0.2]), 1)})
    with pytest.raises(RuntimeError, match="none of the chosen servos has a twin"):
        ops().mirror_motion()
    assert keys() == [(1.0, 0.2)]


def test_mirror_of_a_walker(blank: Any, sample_models: Any) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(sample_models / "hexapod" / "hexapod.jm"), gait_seconds=2.0)
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    before = {c.data_path: [p.co[1] for p in c.keyframe_points] for c in curves_of(rig) if "pose" in c.data_path}
    assert ops().mirror_motion() == {"FINISHED"}
    assert ops().mirror_motion() == {"FINISHED"}
    after = {c.data_path: [p.co[1] for p in c.keyframe_points] for c in curves_of(rig) if "pose" in c.data_path}
    assert after.keys() == before.keys()
    for path, values in before.items():
        assert after[path] == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize("mode", ["POSE", "OBJECT"])
def test_only_the_selected_servos(nod: Any, mode: str) -> None:
    import bpy

    bpy.context.view_layer.objects.active = nod
    if mode == "POSE":
        bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.knuckle.select_part(part="Right Joint")
    before = keys()
    assert ops().offset_motion(frames=5, only_selected=True) == {"FINISHED"}
    assert keys() == before
    right = next(c for c in curves_of(nod) if "Right Joint" in c.data_path)
    assert right.keyframe_points[0].co[0] == 6
    if mode == "POSE":
        bpy.ops.pose.select_all(action="DESELECT")
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = nod
    with pytest.raises(RuntimeError, match="No servo is selected"):
        ops().offset_motion(frames=5, only_selected=True)


@pytest.mark.parametrize("tool", TOOLS)
def test_without_a_motion_the_tools_say_why(rig: Any, tool: str) -> None:
    import bpy

    rig.animation_data.action = None
    assert not getattr(ops(), tool).poll()
    with pytest.raises(RuntimeError, match="'flapper': no motion. Import one, bake its gait or choose an Action"):
        getattr(ops(), tool)()
    assert all("UNDO" in getattr(bpy.types, f"KNUCKLE_OT_{each}").bl_options for each in TOOLS)


def test_a_motion_is_chosen(nod: Any) -> None:
    import bpy

    gait = next(action for action in bpy.data.actions if action.name.endswith("Gait"))
    assert ops().use_motion(motion=gait.name) == {"FINISHED"}
    assert nod.animation_data.action == gait
    nod.data.knuckle_motion_row = bpy.data.actions.find("nod")
    assert nod.animation_data.action.name == "nod"
    assert nod.data.knuckle_motion_row == bpy.data.actions.find("nod")
    bpy.data.actions.new("other")
    with pytest.raises(RuntimeError, match="No Action called 'other'"):
        ops().use_motion(motion="other")


def test_a_servo_is_shown(nod: Any) -> None:
    import bpy

    assert ops().show_servo(servo="Left Joint", frame=31.5) == {"FINISHED"}
    assert bpy.context.scene.frame_current_final == 31.5
    assert bpy.context.view_layer.objects.active.name == "Left Joint"
    bpy.context.view_layer.objects.active = nod
    bpy.ops.object.mode_set(mode="POSE")
    ops().show_servo(servo="Right Joint", frame=12)
    assert bpy.context.active_pose_bone == bone_of(nod, 22)
    with pytest.raises(RuntimeError, match="no servo called 'Tail'"):
        ops().show_servo(servo="Tail")


# ---------------------------------------------------------------- what is drawn


class Buttons(Layout):
    """A layout that keeps what is written on its buttons as well."""

    def operator(self, idname: str, icon: str = "NONE", text: str = "", **options: Any) -> Any:
        self.drawn.append(("button", text))
        return super().operator(idname, icon, **options)

    def row(self, **_: Any) -> Layout:
        return Buttons(self.drawn)

    column = split = box = row


def draw_all() -> dict[str, list[tuple[str, Any]]]:
    """What every panel of the motions draws whose poll lets it."""
    import bpy

    from addon.blender.ui.motion import panel as motion_panel

    out = {}
    for cls in motion_panel.CLASSES:
        if not issubclass(cls, bpy.types.Panel) or not cls.poll(bpy.context):
            continue
        drawn: list[tuple[str, Any]] = []
        stand_in = type("Panel", (), {"layout": Buttons(drawn)})()
        if hasattr(cls, "draw_header"):
            cls.draw_header(stand_in, bpy.context)
        cls.draw(stand_in, bpy.context)
        out[cls.bl_label] = drawn
    return out


def asked(columns: str) -> list[tuple[str, Any]]:
    """What the panel of joints draws with the columns *Range* or *Speed*, and then the rows of its list."""
    import bpy

    from addon.blender.ui.joints.joint_list import KNUCKLE_UL_joints
    from addon.blender.ui.joints.panel import VIEW3D_PT_knuckle_servos

    bpy.context.window_manager.knuckle_joint_list.columns = columns
    drawn: list[tuple[str, Any]] = []
    VIEW3D_PT_knuckle_servos.draw(type("Panel", (), {"layout": Buttons(drawn)})(), bpy.context)
    for empty in [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT"]:
        KNUCKLE_UL_joints.draw_item(None, bpy.context, Buttons(drawn), None, empty, 0, None)
    return drawn


def texts(panel: list[tuple[str, Any]]) -> list[str]:
    return [text for kind, text in panel if kind == "label" and text]


def operator_texts(panel: list[tuple[str, Any]]) -> list[str]:
    return [text for kind, text in panel if kind == "button"]


def test_the_panels_show_the_demands_of_the_motion(nod: Any) -> None:
    drawn = draw_all()
    assert list(drawn) == ["Motion", "Motions"]
    assert ("list", "KNUCKLE_UL_motions") in drawn["Motions"]
    assert "Frames 1 to 61, 2 servos" in texts(drawn["Motions"])
    offered = {text for kind, text in drawn["Motions"] if kind == "operator"}
    assert offered == {f"knuckle.{tool}" for tool in TOOLS if tool != "stop_looping"}
    ranges = asked("RANGE")
    stops = texts(ranges)
    assert "1 servo leaves its stops" in stops
    # one radian; the file has the stops from -45° to 30° of a hinge that it counts the other way round
    assert "0…57°" in stops and "-30…45°" in stops
    assert "0…0.3" in stops and "none" in stops
    speeds = texts(asked("SPEED"))
    assert "115°/s" in speeds, "1 rad in half a second"
    # straight to 1 rad in 30 frames: 45° is passed pi / 4 of the way, and again as long before the end
    assert "Left Joint leaves its stops" in stops
    assert "Frames 24.56 to 37.44: 12.3° above" in operator_texts(ranges)
    assert ranges.count(("operator", "knuckle.show_servo")) == 1 + 2
    ops().loop_motion(way="CYCLES")
    assert ("operator", "knuckle.stop_looping") in draw_all()["Motions"]


def test_a_servo_with_one_key_has_one_value_and_no_speed(rig: Any) -> None:
    from addon.blender.animation.keying import key_servos

    key_servos(rig, "held", {"21": (np.array([1.0]), np.array([0.2]), 1)})
    assert "11°" in texts(asked("RANGE")), "one angle, and no range of it"
    assert texts(asked("SPEED"))[-5:-2] == ["Left Joint", "–", "–"]


def test_the_list_of_joints_is_sorted_and_filtered(nod: Any) -> None:
    import bpy

    from addon.blender.ui.base.selection import joints_collection
    from addon.blender.ui.joints.joint_list import KNUCKLE_UL_joints

    joints, shown = joints_collection(nod), bpy.context.window_manager.knuckle_joint_list

    def listed(**wanted: str) -> list[str]:
        for name, value in wanted.items():
            setattr(shown, name, value)
        stand_in = type("List", (), {"filter_name": "", "bitflag_filter_item": 1, "opened": False})()
        flags, order = KNUCKLE_UL_joints.filter_items(stand_in, bpy.context, joints, "all_objects")
        assert stand_in.opened and stand_in.use_filter_show
        places = order or range(len(flags))
        rows = sorted(zip(places, flags, joints.all_objects, strict=True))
        return [obj.name for _place, flag, obj in rows if flag]

    assert listed() == ["Left Joint", "Right Joint"]
    bpy.data.objects["Left Joint"].knuckle.source_name = bpy.data.objects["Left Joint"].name = "Zed"
    assert listed(order="NAME") == ["Right Joint", "Zed"]
    assert listed(order="FILE") == ["Zed", "Right Joint"]
    assert listed(kind="TURN") == ["Zed"] and listed(kind="SLIDE") == ["Right Joint"]
    bpy.data.objects["Right Joint"].knuckle.joint.dofs[0].use_lower = True
    bpy.data.objects["Right Joint"].knuckle.joint.dofs[0].use_upper = True
    bpy.data.objects["Right Joint"].knuckle.joint.dofs[0].upper = 0.01  # the motion slides it by 0.3
    assert listed(kind="ALL", order="CRITICAL", columns="RANGE") == ["Right Joint", "Zed"]


def test_the_list_shows_the_models_motions_alone(nod: Any) -> None:
    import bpy

    from addon.blender.ui.motion.panel import KNUCKLE_UL_motions

    bpy.data.actions.new("Strange")
    stand_in = type("List", (), {"filter_name": "", "bitflag_filter_item": 1})()
    shown, _order = KNUCKLE_UL_motions.filter_items(stand_in, bpy.context, bpy.data, "actions")
    names = [action.name for action, flag in zip(bpy.data.actions, shown, strict=True) if flag]
    assert names == ["flapper Gait", "nod"]
    drawn: list[tuple[str, Any]] = []
    KNUCKLE_UL_motions.draw_item(None, bpy.context, Layout(drawn), None, bpy.data.actions["nod"], 0, None)
    assert ("label", "1.0 s") in drawn and ("label", "2") in drawn


def test_without_a_motion_there_is_nothing_to_draw(rig: Any) -> None:
    import bpy

    rig.animation_data.action = None
    assert "Click a motion to play it" in texts(draw_all()["Motions"])
    assert "No motion plays" in texts(asked("RANGE"))
    for action in list(bpy.data.actions):
        bpy.data.actions.remove(action)
    assert list(draw_all()) == ["Motion"]


@pytest.mark.parametrize("damage", ["bones", "joints", "collection", "record"])
def test_no_panel_raises_for_a_model_in_pieces(nod: Any, damage: str) -> None:
    import bpy

    bpy.context.view_layer.objects.active = nod
    if damage == "bones":
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in list(nod.data.edit_bones):
            nod.data.edit_bones.remove(bone)
        bpy.ops.object.mode_set(mode="OBJECT")
    elif damage == "joints":
        bpy.data.objects.remove(bpy.data.objects["Left Joint"])
    elif damage == "collection":
        bpy.data.collections.remove(bpy.data.collections["flapper"])
    else:
        bpy.data.objects["Left Joint"].knuckle.joint.dofs.clear()
    bpy.context.view_layer.update()
    draw_all()
    for tool in TOOLS:
        getattr(ops(), tool).poll()


def test_the_popups_draw_their_options(nod: Any) -> None:
    import bpy

    from addon.blender.ui.motion import operators

    for cls in operators.CLASSES[:5]:
        rna = getattr(bpy.ops.knuckle, cls.bl_idname.split(".")[1]).get_rna_type()
        drawn: list[tuple[str, Any]] = []
        operator: Any = type("Operator", (), {"layout": Layout(drawn), "draw_options": cls.draw_options})()
        operator.bl_rna = rna
        for prop in rna.properties:
            setattr(operator, prop.identifier, getattr(prop, "default", None))
        for seam in ("REPEAT", "BLEND"):
            operator.seam, operator.phase, operator.wrap = seam, 0.5, True
            cls.draw(operator, bpy.context)
        assert drawn[-1] == ("prop", "only_selected")
