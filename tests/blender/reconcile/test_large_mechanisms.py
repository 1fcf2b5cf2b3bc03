"""Large models: a factory of robots in nested assemblies comes back as it was, and nothing asks of each body what is to
be looked up once for all of them. Counts, not times."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("bpy")

import bpy

from addon import formats
from addon.blender.animation.loops import live_solver
from addon.blender.data.access import record_of
from addon.blender.data.queries import parts, rig_in
from addon.blender.physics.bodies import collision as apart
from addon.blender.physics.workarounds import constraint_removal as removal
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from benchmarks import factory
from benchmarks.mechanisms import star
from tests.support.emptied import empty_file


class Counted:
    """A function of a module, and how often it was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        self.calls, self._act = 0, getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *words: object) -> object:
        self.calls += 1
        return self._act(*words)


def put_factory(folder: Path, robots: int) -> tuple[Path, bpy.types.Collection]:
    empty_file()
    path = factory.written(folder, robots)
    return path, build(formats.load(path), bpy.context, BuildOptions())


def test_a_factory_comes_back_through_a_saved_file(tmp_path: Path) -> None:
    path, collection = put_factory(tmp_path, 20)
    rig = rig_in(collection)
    assert len(parts(rig, "BODY")) == factory.bodies_in(20)
    assert sum(record_of(empty).joint.loop for empty in parts(rig, "JOINT")) == factory.loops_in(20)
    name, blend = collection.name, str(tmp_path / "factory.blend")
    bpy.ops.wm.save_as_mainfile(filepath=blend)
    bpy.ops.wm.open_mainfile(filepath=blend)
    out = tmp_path / "out.json"
    formats.save(extract(bpy.data.collections[name]), out)
    assert out.read_bytes() == path.read_bytes()


def test_the_loops_of_a_factory_share_one_look_at_its_channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, collection = put_factory(tmp_path, 11)
    rig = rig_in(collection)
    live_solver.invalidate_loops()
    looks = Counted(monkeypatch, live_solver, "servo_channels")
    assert len(live_solver.live_loops(rig)) == factory.loops_in(11) == 3
    assert looks.calls == 1


def test_a_frame_looks_for_what_is_linked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, collection = put_factory(tmp_path, 6)
    wheels = [obj for obj in collection.all_objects if record_of(obj).is_inertia_proxy]
    assert len(wheels) > 20, "each of them was asked for the collections that it is in"
    looks = Counted(monkeypatch, removal, "objects_in_collections")

    def each(_obj: object) -> object:
        raise AssertionError("an object was asked for its collections: that looks through all objects of the file")

    monkeypatch.setattr(bpy.types.Object, "users_collection", property(each))
    bpy.context.scene.frame_set(2)
    assert looks.calls <= 2


@pytest.mark.parametrize(("bodies", "still", "looked_at"), [(60, 0, 0), (12, 1, 51)])
def test_collision_filters_are_counted_no_further_than_their_limit(
    monkeypatch: pytest.MonkeyPatch, bodies: int, still: int, looked_at: int
) -> None:
    """1,711 pairs, which is plain from how many bodies there are; and 55, of which 10 are with one that stands."""
    empty_file()
    monkeypatch.setattr(apart, "_MAX_PAIRS", 50)
    seen: list[object] = []
    pairs = apart._collidable_pairs

    def watched(*about: object) -> object:
        for pair in pairs(*about):
            seen.append(pair)
            yield pair

    monkeypatch.setattr(apart, "_collidable_pairs", watched)
    mechanism = formats.loads(star(bodies).encode(), "star.jm")
    mechanism.source.format = "skel"  # whose program keeps the bodies of a skeleton apart
    for body in mechanism.bodies[bodies - still :]:
        body.immobile = True
    report = mechanism.report
    build(mechanism, bpy.context, BuildOptions(gait=False))
    assert len(seen) == looked_at
    assert any("more than 50 pairs cannot be filtered" in entry.message for entry in report.entries)
