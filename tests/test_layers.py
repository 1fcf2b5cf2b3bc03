"""The house has one direction: ui -> (build | extract | physics | animation | edit | render) -> formats -> core.

Imports are read, not run, so the rules hold for every module on every machine.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ADDON = ROOT / "addon"

ROOMS = {"build", "extract", "physics", "animation", "edit", "render", "checkup"}
BLENDERS_OWN = {"bpy", "bpy_extras", "bl_ext", "bl_math", "bl_ui", "addon_utils", "aud", "blf", "bmesh", "freestyle"}
BLENDERS_OWN |= {"gpu", "gpu_extras", "idprop", "imbuf", "mathutils", "nodeitems_utils", "rna_keymap_ui"}

#: Which of our layers, and which third parties, each layer may import.
MAY_IMPORT = {
    "about": {"about"},
    "core": {"core"},
    "formats": {"formats", "core"},
    "plot": {"plot", "core"},
    "blender": {"blender", "formats", "core"},
    "room": {"room", "blender", "formats", "core", "about"},
    "ui": {"ui", "room", "blender", "formats", "core", "about"},
    "jobs": {"jobs", "room", "blender", "formats", "core"},
    "registration": {"ui", "room", "blender", "door", "formats", "core"},
    "door": {"door", "registration", "jobs", "room", "blender", "plot", "formats", "core", "about"},
}
MAY_USE = {
    "about": set(),
    "core": {"numpy"},
    "formats": {"numpy", "lxml", "trimesh", "collada"},
    "plot": {"numpy", "matplotlib"},
    "blender": {"numpy", "lxml"} | BLENDERS_OWN,
    "room": {"numpy", "lxml", "PIL"} | BLENDERS_OWN,
    "ui": {"numpy"} | BLENDERS_OWN,
    "jobs": {"numpy"} | BLENDERS_OWN,
    "registration": BLENDERS_OWN,
    "door": {"numpy"},
}


def layer(parts: tuple[str, ...]) -> str:
    """The layer of a module inside the package: ("blender", "build", "rig") is in a room.

    The top of the package (command line, register) is the door; ``plot`` beside it draws.
    ``about``, what Knuckle says of itself, knows nobody and needs nothing but Python.
    ``registration.py`` is the one module that reaches into the interface, to hand it to Blender.
    ``blender/jobs`` stands beside the interface: what the command line has done with Blender. What else lies
    loose there serves all rooms.
    """
    if parts[:1] in {("about",), ("core",), ("formats",), ("plot",)}:
        return parts[0]
    if parts[:1] != ("blender",):
        return "door"
    if parts[1:2] in {("ui",), ("jobs",), ("registration",)}:
        return parts[1]
    return "room" if parts[1:2] and parts[1] in ROOMS else "blender"


def violations(path: str, source: str) -> list[str]:
    """What the module at ``path`` (below addon/, with slashes) imports against the rules, a sentence each."""
    module = tuple(path.removesuffix(".py").split("/"))
    package = module[:-1]
    tree = ast.parse(source)
    inner = {inside for node in ast.walk(tree) if isinstance(node, FUNCTIONS) for inside in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        for target, absolute in imported(node, package):
            problem = judge(module, target, absolute, at_top=node not in inner)
            if problem:
                found.append(f"addon/{path}:{node.lineno}: {problem}")
    return found


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def imported(node: ast.AST, package: tuple[str, ...]) -> list[tuple[tuple[str, ...], bool]]:
    """Each module or name that the statement imports, and whether it is named absolutely."""
    if isinstance(node, ast.Import):
        return [(tuple(alias.name.split(".")), True) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    named = tuple(node.module.split(".")) if node.module else ()
    if node.level == 0:
        return [(named, True)]
    if node.level - 1 > len(package):
        return [(("..",), False)]
    base = package[: len(package) - (node.level - 1)]
    return [((*base, *named, alias.name), False) for alias in node.names]


def judge(module: tuple[str, ...], target: tuple[str, ...], absolute: bool, at_top: bool) -> str | None:
    """Why this import is against the rules, else None."""
    here = layer(module)
    if absolute:
        name = target[0]
        if name in sys.stdlib_module_names or name in MAY_USE[here]:
            return None
        if name in {"addon", "knuckle"} or (ADDON / name).is_dir() or (ADDON / f"{name}.py").is_file():
            return f"imports {'.'.join(target)} absolutely: Blender gives the package another name"
        return f"{here} may not import {name}"
    if target == ("..",):
        return "a relative import leaves the package"
    there = layer(target)
    if there not in MAY_IMPORT[here]:
        return f"{here} may not import {there} ({'.'.join(target)})"
    if here == "door" and there in {"registration", "jobs", "blender", "room"} and at_top:
        return f"imports {'.'.join(target)} at the top: the package has to be importable without bpy"
    return None


def modules() -> list[str]:
    return sorted(path.relative_to(ADDON).as_posix() for path in ADDON.rglob("*.py"))


@pytest.mark.parametrize("path", modules())
def test_module_imports_only_what_its_layer_may(path: str) -> None:
    assert violations(path, (ADDON / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("core/model.py", "from ..formats import load", "core may not import formats"),
        ("core/model.py", "from .. import formats", "core may not import formats"),
        ("core/model.py", "def f():\n    from ..blender.build import rig", "core may not import room"),
        ("core/model.py", "import lxml.etree", "core may not import lxml"),
        ("core/model.py", "import scipy", "core may not import scipy"),
        ("core/model.py", "from mathutils import Matrix", "core may not import mathutils"),
        ("formats/juice.py", "import bpy", "formats may not import bpy"),
        ("formats/juice.py", "try:\n    import bpy\nexcept ImportError:\n    pass", "formats may not import bpy"),
        ("formats/juice.py", "from ..blender import compat", "formats may not import blender"),
        ("formats/juice.py", "from .. import cli", "formats may not import door"),
        ("formats/juice.py", "from ... import cli", "leaves the package"),
        ("blender/compat.py", "from .build import bodies", "blender may not import room"),
        ("blender/compat.py", "from . import ui", "blender may not import ui"),
        ("blender/scene/armature.py", "from ..ui.operators import X", "room may not import ui"),
        ("blender/scene/armature.py", "from ... import cli", "room may not import door"),
        ("blender/scene/mesh_files.py", "import trimesh", "room may not import trimesh"),
        ("blender/scene/armature.py", "import requests", "room may not import requests"),
        ("blender/ui/mechanism/panels.py", "from lxml import etree", "ui may not import lxml"),
        ("blender/ui/mechanism/panels.py", "from addon.model import records", "absolutely"),
        ("formats/juice.py", "from core.model import Body", "absolutely"),
        ("plot.py", "from . import formats", "plot may not import formats"),
        ("core/stops.py", "import matplotlib", "core may not import matplotlib"),
        ("blender/ui/mechanism/panels.py", "from ... import plot", "ui may not import plot"),
        ("animate.py", "import bpy", "door may not import bpy"),
        ("animate.py", "def main():\n    import bpy", "door may not import bpy"),
        ("animate.py", "from .blender import build", "importable without bpy"),
        ("animate.py", "def main():\n    from .blender.ui import operators", "door may not import ui"),
        ("__init__.py", "def register():\n    from .blender import ui", "door may not import ui"),
        ("__init__.py", "from .blender import registration", "importable without bpy"),
        ("blender/scene/armature.py", "from .. import registration", "room may not import registration"),
        ("registration.py", "import numpy", "registration may not import numpy"),
    ],
)
def test_each_rule_can_fail(path: str, source: str, complaint: str) -> None:
    found = violations(path, source)
    assert len(found) == 1
    assert complaint in found[0]
    assert found[0].startswith(f"addon/{path}:")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model/kinematics.py", "import math\nimport numpy as np\nfrom . import records\nfrom .report import Report"),
        ("formats/juice.py", "from lxml import etree\nfrom ..core.model import Body\nfrom . import xml_table"),
        ("blender/scene/armature.py", "import bpy\nfrom mathutils import Matrix\nfrom ...core import model"),
        ("blender/scene/armature.py", "from .. import compat\nfrom ..physics import world\nfrom . import bodies"),
        ("blender/ui/mechanism/panels.py", "import bpy\nfrom ..build import build\nfrom ...formats import load"),
        ("animate.py", "import argparse\nfrom . import formats\ndef main():\n    from .blender import build"),
        ("__init__.py", "def register():\n    from .blender import registration"),
        ("registration.py", "from . import properties, ui\nfrom .. import cli\nfrom .physics import handlers"),
    ],
)
def test_what_the_design_allows_passes(path: str, source: str) -> None:
    assert violations(path, source) == []


#: Lines that a module may have, and those that have more, each with its reason.
LONGEST = 600
LONGER: dict[str, str] = {}
#: Where an operator is called within a loop, with the reason: each call evaluates the whole scene.
LOOPED: dict[str, str] = {}


@pytest.mark.parametrize("path", modules())
def test_a_module_is_short_enough_to_be_read(path: str) -> None:
    lines = (ADDON / path).read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST or path in LONGER, f"{lines} lines: split it where it reads better"


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
PROBES |= {"default_value", "use_tail", "animation_data", "knuckle", "mesh_folders", "display", "eevee", "cycles"}
VERSIONS = {"bpy.app.version", "app.version", "compat.VERSION"}


def version_questions(path: str, source: str) -> list[str]:
    """Where a module asks which Blender it runs in, or whether it has something, a sentence each. (To tell the version,
    as ``version_string``, is no question.)"""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in VERSIONS:
            found.append(f"addon/{path}:{node.lineno}: asks for Blender's version")
        elif isinstance(node, ast.ImportFrom) and node.module == "compat":
            asked = {"VERSION", "HAS_SLOTS"} & {alias.name for alias in node.names}
            found += [f"addon/{path}:{node.lineno}: asks for Blender's version"] if asked else []
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"} and len(node.args) > 1:
            name = node.args[1]
            probing = ast.unparse(node.func) == "hasattr" or len(node.args) == 3
            if probing and isinstance(name, ast.Constant) and name.value not in PROBES:
                found.append(f"addon/{path}:{node.lineno}: asks whether there is a {name.value!r}")
    return found


def test_only_one_module_asks_for_the_version() -> None:
    rooms = [path for path in modules() if path.startswith("blender/") and path != "blender/compat.py"]
    assert "blender/rendering/engines.py" in rooms
    sources = ((path, (ADDON / path).read_text(encoding="utf-8")) for path in rooms)
    assert [line for path, source in sources for line in version_questions(path, source)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import bpy\nnew = bpy.app.version >= (5, 0)",
        "from bpy import app\nnew = app.version >= (5, 0)",
        "from ..compat import VERSION, give_nodes",
        "from .. import compat\nnew = compat.VERSION >= (5, 0)",
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
    if parts[0] != "blender" and parts != ("__main__",):
        importlib.import_module(".".join(("addon", *parts)).removesuffix(".__init__"))
print("imported")
"""


def import_without_blender(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_BLENDER]
    return subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, check=False)  # fmt: skip


def test_all_but_the_blender_rooms_import_without_bpy() -> None:
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
