"""Rules of the source that no common tool checks: third parties per package, lengths, questions for Blender's version.

The direction of imports is checked by import-linter (contracts in ``pyproject.toml``).
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ADDON = ROOT / "addon"

BLENDERS_OWN = {"bpy", "bpy_extras", "bl_ext", "bl_math", "bl_ui", "addon_utils", "aud", "blf", "bmesh", "freestyle"}
BLENDERS_OWN |= {"gpu", "gpu_extras", "idprop", "imbuf", "mathutils", "nodeitems_utils", "rna_keymap_ui"}
#: The third parties that each package may import, by the start of its path; the longest start that fits counts.
MAY_USE = {
    "": {"numpy"},
    "__init__.py": set(),
    "installation.py": set(),
    "registration.py": BLENDERS_OWN,
    "core/": {"numpy"},
    "formats/": {"numpy", "lxml", "trimesh", "collada"},
    "plot.py": {"numpy", "matplotlib"},
    "blender/": {"numpy", "lxml", "PIL"} | BLENDERS_OWN,
    "blender/ui/": {"numpy"} | BLENDERS_OWN,
    "blender/tasks/": {"numpy"} | BLENDERS_OWN,
}


def modules() -> list[str]:
    """The paths of all modules below ``addon/``."""
    return sorted(path.relative_to(ADDON).as_posix() for path in ADDON.rglob("*.py"))


def wrong_imports(path: str, source: str) -> list[str]:
    """The imports of third parties that a module may not have, and of our own modules by an absolute name: Blender
    gives the installed package another one."""
    allowed = MAY_USE[max((start for start in MAY_USE if path.startswith(start)), key=len)]
    found = []
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [str(node.module)]
        for name in names:
            top = name.partition(".")[0]
            if top in {"addon", "knuckle"}:
                found.append(f"addon/{path}:{node.lineno}: imports {name} absolutely")
            elif top not in sys.stdlib_module_names | allowed:
                found.append(f"addon/{path}:{node.lineno}: may not import {name}")
    return found


def test_import_contracts_hold() -> None:
    """Direction of packages and absence of cycles: the contracts in ``pyproject.toml``."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", modules())
def test_module_imports_only_allowed_third_parties(path: str) -> None:
    assert wrong_imports(path, (ADDON / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("core/model.py", "import lxml.etree", "may not import lxml.etree"),
        ("core/model.py", "import scipy", "may not import scipy"),
        ("core/model.py", "from mathutils import Matrix", "may not import mathutils"),
        ("core/stops.py", "def f():\n    import matplotlib", "may not import matplotlib"),
        ("formats/juice/reader.py", "try:\n    import bpy\nexcept ImportError:\n    pass", "may not import bpy"),
        ("formats/juice/reader.py", "from core.model import Body", "may not import core.model"),
        ("blender/scene/mesh_files.py", "import trimesh", "may not import trimesh"),
        ("blender/ui/mechanism/panels.py", "from lxml import etree", "may not import lxml"),
        ("blender/ui/mechanism/panels.py", "from addon.model import records", "absolutely"),
        ("cli/__init__.py", "import bpy", "may not import bpy"),
        ("installation.py", "import numpy", "may not import numpy"),
    ],
)
def test_a_wrong_import_is_found(path: str, source: str, complaint: str) -> None:
    found = wrong_imports(path, source)
    assert len(found) == 1
    assert complaint in found[0]
    assert found[0].startswith(f"addon/{path}:")


#: Lines that a module may have, and those that have more, each with its reason.
LONGEST = 600
LONGER: dict[str, str] = {}
#: Where an operator is called within a loop, with the reason: each call evaluates the whole scene.
LOOPED: dict[str, str] = {}


@pytest.mark.parametrize("path", modules())
def test_a_module_is_short_enough_to_be_read(path: str) -> None:
    lines = (ADDON / path).read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST or path in LONGER, f"{lines} lines: split it where it reads better"


def test_packages_are_small_enough_to_be_overseen() -> None:
    """At most 24 modules in a folder, and 10 beside the packages of Blender."""
    counts = {folder: len([*folder.glob("*.py")]) for folder in (ADDON, *ADDON.rglob("*")) if folder.is_dir()}
    assert {str(folder): count for folder, count in counts.items() if count > 24} == {}
    assert counts[ADDON / "blender"] <= 10


#: Public names that several modules may define, since folders of one kind have equal names in them: of the interface,
#: of handlers of Blender, of thin packages, and of formats (which one document engine will share later).
SHARED_NAMES = {
    "of feature modules": {"CLASSES", "register", "unregister", "menu", "is_registered"},
    "of handlers": {"after_load", "after_update"},
    "of the public interface": {"build", "load", "loads", "dump", "dumps"},
    "of formats": {
        "BODY", "Document", "FLAG", "FORMAT", "Field", "INDENT", "JOINT", "JOINTS", "Key", "Kind", "NUMBER", "NUMBERS",
        "ORIGIN", "POSE_ROUNDING", "Reader", "Row", "SourceElement", "TEXT", "TRANSPARENT", "Table", "VECTOR", "X", "Y",
        "Z", "detect", "document_trajectories", "joint_row", "new_document", "parse", "patch_document", "read",
        "read_opened", "same_pose", "shape_from_row",
    },
}  # fmt: skip


def public_names(source: str) -> set[str]:
    """The public names that a module defines; type variables are no names for others."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and not ast.unparse(node.value).startswith("TypeVar("):
            names |= {part.id for goal in node.targets for part in ast.walk(goal) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def test_a_public_name_is_defined_once() -> None:
    places: dict[str, list[str]] = {}
    for path in modules():
        for name in public_names((ADDON / path).read_text(encoding="utf-8")):
            places.setdefault(name, []).append(path)
    several = {name: where for name, where in places.items() if len(where) > 1}
    allowed = set().union(*SHARED_NAMES.values())
    assert {name: where for name, where in several.items() if name not in allowed} == {}
    assert allowed - several.keys() == set(), "these are defined once and need no exception any more"
    assert all(path.startswith("formats/") for name in SHARED_NAMES["of formats"] for path in several[name]), (
        "outside the formats such a name is to be another"
    )


def looped_operators(source: str) -> list[int]:
    """The lines of operator calls within loops."""
    return sorted({
        call.lineno
        for loop in ast.walk(ast.parse(source))
        if isinstance(loop, (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        for call in ast.walk(loop)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("bpy.ops.")
    })  # fmt: skip


def test_no_operator_is_called_in_a_loop() -> None:
    found = {path for path in modules() if looped_operators((ADDON / path).read_text(encoding="utf-8"))}
    assert found == set(LOOPED)
    assert looped_operators("for x in y:\n    with z:\n        bpy.ops.object.select_all(action='SELECT')") == [3]
    assert looped_operators("[bpy.ops.wm.stl_import(filepath=f) for f in files]") == [1]
    assert looped_operators("bpy.ops.wm.stl_import(filepath=f)\nfor x in y:\n    pass") == []


# ---- Blender's versions: what differs between them is in blender/compat.py

#: What may be asked of an object by its name: whether Blender is in the middle of something, or whether it is ours.
PROBES = {"scenes", "armatures", "objects", "object", "selected_objects", "is_array", "image", "node_tree"}
PROBES |= {
    "CLASSES",
    "register",
    "unregister",
    "default_value",
    "use_tail",
    "animation_data",
    "knuckle",
    "mesh_folders",
    "display",
    "eevee",
    "cycles",
}
#: What ``compat`` knows of the version: other modules call its functions instead.
VERSION_NAMES = {"BLENDER_VERSION", "HAS_SLOTS"}
VERSIONS = {"bpy.app.version", "app.version", *(f"compat.{name}" for name in VERSION_NAMES)}


def assigned_names(source: str) -> set[str]:
    targets = [target for node in ast.parse(source).body if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def version_questions(path: str, source: str) -> list[str]:
    """Where a module asks which Blender it runs in, or whether it has something, a sentence each. (To tell the version,
    as ``version_string``, is no question.)"""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in VERSIONS:
            found.append(f"addon/{path}:{node.lineno}: asks for Blender's version")
        elif isinstance(node, ast.ImportFrom) and node.module == "compat":
            asked = VERSION_NAMES & {alias.name for alias in node.names}
            found += [f"addon/{path}:{node.lineno}: asks for Blender's version"] if asked else []
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"} and len(node.args) > 1:
            name = node.args[1]
            probing = ast.unparse(node.func) == "hasattr" or len(node.args) == 3
            if probing and isinstance(name, ast.Constant) and name.value not in PROBES:
                found.append(f"addon/{path}:{node.lineno}: asks whether there is a {name.value!r}")
    return found


def test_only_one_module_asks_for_the_version() -> None:
    paths = [path for path in modules() if path.startswith("blender/") and path != "blender/compat.py"]
    assert "blender/rendering/engines.py" in paths
    assert assigned_names((ADDON / "blender/compat.py").read_text(encoding="utf-8")) >= VERSION_NAMES
    sources = ((path, (ADDON / path).read_text(encoding="utf-8")) for path in paths)
    assert [line for path, source in sources for line in version_questions(path, source)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import bpy\nnew = bpy.app.version >= (5, 0)",
        "from bpy import app\nnew = app.version >= (5, 0)",
        "from ..compat import BLENDER_VERSION, ensure_node_tree",
        "from .. import compat\nnew = compat.BLENDER_VERSION >= (5, 0)",
        "def f(editor):\n    return editor.strips if hasattr(editor, 'strips') else editor.sequences",
        "def f(action):\n    return getattr(action, 'slots', ())",
    ],
)
def test_a_question_for_the_version_is_found(source: str) -> None:
    assert len(version_questions("blender/scene/armature.py", source)) == 1


def test_telling_the_version_and_asking_by_variables_is_no_question() -> None:
    source = "import bpy\nprint(bpy.app.version_string)\ndef f(it, names):\n    return [getattr(it, n) for n in names]"
    assert version_questions("blender/rendering/video_state.py", source) == []


#: Imports all that has to work without Blender, where Blender cannot be imported.
WITHOUT_BLENDER = """
import importlib, pathlib, sys
for name in ("bpy", "mathutils", "gpu"):
    sys.modules[name] = None
import addon
home = pathlib.Path(addon.__file__).parent
for path in sorted(home.rglob("*.py")):
    parts = path.relative_to(home).with_suffix("").parts
    if parts[0] not in {"blender", "registration"} and parts != ("__main__",):
        importlib.import_module(".".join(("addon", *parts)).removesuffix(".__init__"))
print("imported")
"""


def import_without_blender(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_BLENDER]
    return subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, check=False)  # fmt: skip


def test_all_but_the_blender_packages_import_without_bpy() -> None:
    done = import_without_blender(ROOT)
    assert (done.stdout, done.stderr) == ("imported\n", "")


def test_a_module_that_needs_bpy_is_caught(tmp_path: Path) -> None:
    formats = tmp_path / "addon" / "formats"
    formats.mkdir(parents=True)
    (tmp_path / "addon" / "__init__.py").write_text("")
    (formats / "__init__.py").write_text("")
    assert import_without_blender(tmp_path).stdout == "imported\n"
    (formats / "juice.py").write_text("import bpy\n")
    assert "ModuleNotFoundError" in import_without_blender(tmp_path).stderr
