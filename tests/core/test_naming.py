"""What motions call the coordinates of joints."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from addon.core.model import DOF_SIZE, Dof
from addon.core.naming import dof_value_names, servo_names, unique_names


def turns(*names: str) -> list[Dof]:
    return [Dof("rotation", name=name) for name in names]


def test_a_name_that_is_not_alone_gets_its_id() -> None:
    pairs = [("a", "Knee"), ("b", "Knee"), ("c", "Hip"), ("d", "")]
    assert unique_names(pairs) == {"a": "Knee #a", "b": "Knee #b", "c": "Hip", "d": "#d"}


def test_a_single_dof_has_the_name_of_its_joint() -> None:
    assert servo_names([("a", "Knee", turns("bend"))]) == {"a": ("Knee",)}


def test_several_dofs_are_distinguished_by_names_of_the_file_or_numbers() -> None:
    assert dof_value_names(turns("x", "z")) == ["x", "z"]
    assert dof_value_names(turns("", "")) == ["1", "2"]
    assert dof_value_names(turns("x", "x", "z")) == ["1", "2", "z"]
    assert dof_value_names(turns("2", "")) == ["1", "2"]
    assert servo_names([("a", "Hip", turns("x", ""))]) == {"a": ("Hip/x", "Hip/2")}


def test_balls_and_free_blocks_count_in_rotation_vectors() -> None:
    assert dof_value_names([Dof("ball")]) == ["rx", "ry", "rz"]
    assert dof_value_names([Dof("free")]) == ["rx", "ry", "rz", "x", "y", "z"]
    assert dof_value_names([Dof("translation", name="up"), Dof("ball")]) == ["up", "rx", "ry", "rz"]
    assert dof_value_names([Dof("ball"), Dof("ball")]) == ["1", "2", "3", "4", "5", "6"]
    assert dof_value_names([]) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "a/1", "a/rx", "", "a/2"]),
            st.lists(st.tuples(st.sampled_from(list(DOF_SIZE)), st.sampled_from(["", "1", "2", "rx"])), max_size=3),
        ),
        max_size=6,
    )
)
def test_every_coordinate_has_a_name_of_its_own(joints: list) -> None:
    told = [(str(key), name, [Dof(kind, name=own) for kind, own in dofs]) for key, (name, dofs) in enumerate(joints)]
    found = servo_names(told)
    for key, _, dofs in told:
        assert len(found[key]) == sum(DOF_SIZE[dof.kind] for dof in dofs)
    names = [name for names in found.values() for name in names]
    assert len(set(names)) == len(names)
