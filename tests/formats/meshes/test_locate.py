"""Which files a model may have read: those in its own folder and in the folders that the user allows, and no others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from addon import formats
from addon.formats.meshes.locate import MeshError, find_mesh, is_network

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A model in ``models/arm``, meshes in and below its folder, beside it and far off, and a secret."""
    for name in (
        "models/arm/arm.skel",
        "models/arm/link.obj",
        "models/arm/meshes/hand.stl",
        "models/arm/Meshes 2/Tip Part.OBJ",
        "models/shared/wheel.obj",
        "library/robot/meshes/foot.dae",
        "library/toe.ply",
        "secret/secret.obj",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path.resolve()


def found(world: Path, name: str, include: tuple[str, ...] = (), folders: tuple[str, ...] = ()) -> str | None:
    """Where a mesh of the model is found, from the world's folder; None where it is not."""
    try:
        place = find_mesh(name, world / "models/arm/arm.skel", include, [str(world / each) for each in folders])
    except MeshError:
        return None
    return place.relative_to(world).as_posix()


LINK, HAND, WHEEL, FOOT = (
    "models/arm/link.obj",
    "models/arm/meshes/hand.stl",
    "models/shared/wheel.obj",
    "library/robot/meshes/foot.dae",
)


@pytest.mark.parametrize(
    ("name", "include", "folders", "place"),
    [
        ("link.obj", (), (), LINK),
        ("meshes/hand.stl", (), (), HAND),
        ("meshes\\hand.stl", (), (), HAND),
        (".\\meshes\\..\\link.obj", (), (), LINK),
        ("../arm/link.obj", (), (), LINK),
        ("hand.stl", ("meshes",), (), HAND),
        ("hand.stl", ("models/arm/meshes/",), (), HAND),  # counted from a folder above the model's
        ("MESHES/Hand.STL", (), (), HAND),
        ("meshes%202/tip%20part.obj", (), (), "models/arm/Meshes 2/Tip Part.OBJ"),
        ("C:\\work\\link.obj", (), (), LINK),
        ("dart://sample/arm/link.obj", (), (), LINK),
        ("package://arm/meshes/hand.stl", (), (), HAND),
        ("../shared/wheel.obj", (), (), None),
        ("../shared/wheel.obj", (), ("models",), WHEEL),
        ("../shared/wheel.obj", (), ("models/shared",), WHEEL),
        ("wheel.obj", ("../shared",), (), None),
        ("wheel.obj", ("../shared",), ("models/shared",), WHEEL),
        ("toe.ply", (), ("library",), "library/toe.ply"),
        ("deep/down/toe.ply", (), ("library",), "library/toe.ply"),
        ("../../toe.ply", (), ("library",), "library/toe.ply"),
        ("package://robot/meshes/foot.dae", (), ("library",), FOOT),
        ("model://robot/meshes/foot.dae", (), ("library/robot",), FOOT),
        ("dart://sample/robot/meshes/foot.dae", (), ("library",), FOOT),
        ("foot.dae", (), ("library",), None),  # not searched for in every folder below
        ("../../secret/secret.obj", (), ("library",), None),
        ("..\\..\\secret\\secret.obj", (), (), None),
        ("%2e%2e/%2e%2e/secret/secret.obj", (), (), None),
        ("package://../../secret/secret.obj", (), (), None),
        ("secret.obj", ("../../secret", "..", "/"), (), None),
        ("../arm", (), (), None),
        ("", (), ("library",), None),
        ("..", (), ("library",), None),
        ("link.obj\0", (), (), None),
    ],
)
def test_a_name_leads_into_the_folders_that_are_allowed_or_nowhere(
    world: Path, name: str, include: tuple[str, ...], folders: tuple[str, ...], place: str | None
) -> None:
    assert found(world, name, include, folders) == place


def test_an_absolute_path_is_read_where_it_leads_into_an_allowed_folder(world: Path) -> None:
    secret, toe = str(world / "secret/secret.obj"), str(world / "library/toe.ply")
    for spelled in (secret, Path(secret).as_uri(), "file://localhost" + secret, "file:" + secret):
        assert found(world, spelled) is None
        assert found(world, spelled, (), ("library",)) is None
        assert found(world, spelled, (), ("secret",)) == "secret/secret.obj"
    assert found(world, f"{world}/library/../secret/secret.obj", (), ("library",)) is None
    assert found(world, toe, (), ("library",)) == "library/toe.ply"
    assert found(world, "secret.obj", (str(world / "secret"),)) is None
    assert found(world, "secret.obj", (str(world / "secret"),), ("secret",)) == "secret/secret.obj"


@needs_links
def test_a_link_that_leads_out_is_rejected_and_one_that_stays_is_followed(world: Path) -> None:
    arm = world / "models/arm"
    (arm / "file.obj").symlink_to(world / "secret/secret.obj")
    (arm / "folder").symlink_to(world / "secret")
    (arm / "Inside.obj").symlink_to("link.obj")
    for name in ("file.obj", "folder/secret.obj", "FILE.obj", "FOLDER/SECRET.OBJ", "secret.obj"):
        assert found(world, name, ("folder",)) is None
    assert found(world, "Inside.obj") == LINK
    assert found(world, "file.obj", (), ("secret",)) == "secret/secret.obj"
    (world / "door").symlink_to(world / "models")
    assert find_mesh("link.obj", world / "door/arm/arm.skel") == world / LINK
    assert find_mesh(str(world / "door/shared/wheel.obj"), "", (), [world / "door"]) == world / WHEEL
    (arm / "loop").symlink_to("loop")
    assert found(world, "loop/link.obj") == LINK  # by its bare name
    os.mkfifo(arm / "pipe.obj")
    assert found(world, "pipe.obj") is None


@pytest.mark.parametrize(
    "name",
    [
        "http://x.org/a.obj", "HTTPS://x.org/a.obj", "ftp://x/a.obj", "smb://x/a.obj", "\\\\host\\share\\a.obj",
        "//host/share/a.obj", "file://host/share/a.obj", "file:////host/share/a.obj", "file:\\\\\\\\host\\a.obj",
        "%5C%5Chost%5Cshare%5Ca.obj", "http:%2F%2Fx.org/a.obj", "\\\\?\\C:\\a.obj", " //host/a.obj",
    ],
)  # fmt: skip
def test_a_network_is_never_asked(world: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: object, **__: object) -> None:
        raise AssertionError("looked at")

    with monkeypatch.context() as patch, pytest.raises(MeshError, match="network"):
        for function in ("stat", "lstat", "open", "listdir", "scandir"):
            patch.setattr(os, function, touched)
        find_mesh(name, "", (), [str(world)])


def test_what_is_no_network() -> None:
    for name in ("a.obj", "C:\\a.obj", "file:///home/a.obj", "file://localhost/a.obj", "package://p/a.obj", "a:b.obj"):
        assert not is_network(name)


def test_files_outside_the_allowed_folders_are_not_looked_at(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    with monkeypatch.context() as patch:
        for function in ("stat", "listdir", "scandir", "open"):
            before = getattr(os, function)

            def look(path: object, *rest: object, before: object = before, **more: object) -> object:
                seen.append(os.fspath(path) if isinstance(path, str | os.PathLike) else "")
                return before(path, *rest, **more)  # type: ignore[operator]

            patch.setattr(os, function, look)
        for name in ("../../secret/secret.obj", str(world / "secret/secret.obj"), "dart://sample/secret/secret.obj"):
            assert found(world, name, ("../../secret", str(world / "secret"))) is None
    assert seen
    assert not [path for path in seen if "secret" in Path(path).relative_to(world).parts[:1]]


def test_without_a_file_of_its_own_a_model_has_only_the_users_folders(world: Path) -> None:
    assert find_mesh("link.obj", "", (), [str(world / "models/arm")]) == world / LINK
    with pytest.raises(MeshError):
        find_mesh("link.obj", "")
    with pytest.raises(MeshError):
        find_mesh("link.obj", "", (), ["models/arm", ""])  # not written out


def test_the_trouble_names_every_place_and_the_remedy(world: Path) -> None:
    with pytest.raises(MeshError) as caught:
        find_mesh("../x/gone.obj", world / "models/arm/arm.skel", ["meshes", "../shared"], [str(world / "library")])
    trouble = caught.value
    outside = f"{world}/models/x/gone.obj (outside the folders that may be read)"
    places = [f"{world}/models/arm/x/gone.obj", f"{world}/library/x/gone.obj", f"{world}/models/arm/gone.obj"]
    assert outside in trouble.tried
    assert set(places) <= set(trouble.tried)
    text = str(trouble)
    assert text.startswith("file ../x/gone.obj not found. Looked for: ")
    assert "Mesh Folders" in text
    assert "--meshes" in text
    assert trouble.code == "missing"


def test_the_meshes_of_real_files_are_found_by_the_rule(corpus: Path) -> None:
    """All but ../obj/foot.obj lie beside their models; that one needs the folder of DART's data."""
    beside = allowed = 0
    for path in [*(corpus / "skel").rglob("*.skel"), *(corpus / "shift").rglob("*.json")]:
        if "not_skel" in path.parts:
            continue
        mechanism = formats.load(path)
        for shape in (shape for body in mechanism.bodies for shape in body.shapes if shape.mesh):
            try:
                find_mesh(shape.mesh, path, shape.extra.get("include", ()))
                beside += 1
            except MeshError:
                if "foot.obj" in shape.mesh:
                    find_mesh(shape.mesh, path, (), [corpus / "skel/dart-6.13.1/data"])
                    allowed += 1
    assert beside > 20
    assert allowed >= 4
