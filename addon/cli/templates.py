"""Open Job Description templates (openjd.io, edition 2023-09): what a farm is to run, as plain values.

The steps are verbs of this command line. Their programs, folders and numbers are parameters of the job, so that
whoever submits it can say otherwise. Nothing beyond the first edition is used, which every farm reads.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Values that one parameter of a task may have, by the specification.
MOST_VALUES = 1024


@dataclass
class Runner:
    """How the job calls Knuckle: the words before the verb, the parameters that they speak of, and what it needs in
    the environment."""

    words: list[str]
    parameters: list[dict[str, Any]]
    variables: dict[str, str] = field(default_factory=dict)


def python_runner(home: Path) -> Runner:
    """As ``python -m addon``, with the Python and the package (its folder is ``home``) of this machine unless the job
    is told otherwise."""
    return Runner(
        ["{{Param.Python}}", "-m", home.name],
        [
            {"name": "Python", "type": "STRING", "default": sys.executable,
             "description": "The Python that has Blender as a module"},
            {"name": "KnuckleFolder", "type": "STRING", "default": str(home.parent),
             "description": f"The folder that the package {home.name} is in"},
        ],
        {"PYTHONPATH": "{{Param.KnuckleFolder}}"},
    )  # fmt: skip


def blender_runner() -> Runner:
    """As ``blender --command knuckle``, where Knuckle is installed in Blender."""
    return Runner(
        ["{{Param.Blender}}", "--command", "knuckle"],
        [{"name": "Blender", "type": "STRING", "default": "blender",
          "description": "The Blender in which Knuckle is installed"}],
    )  # fmt: skip


def template(
    name: str, runner: Runner, parameters: Sequence[Mapping[str, Any]], steps: Sequence[Any]
) -> dict[str, Any]:
    """A job of steps."""
    out: dict[str, Any] = {
        "specificationVersion": "jobtemplate-2023-09",
        "name": name.replace("{{", "{ {")[:128],
        "parameterDefinitions": [*runner.parameters, *parameters],
    }
    if runner.variables:
        out["jobEnvironments"] = [{"name": "Knuckle", "variables": dict(runner.variables)}]
    return out | {"steps": list(steps)}


def step(
    runner: Runner,
    name: str,
    words: Sequence[str],
    after: Sequence[str] = (),
    tasks: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A step that runs one verb, once or for every combination of the values of ``tasks``."""
    command, *before = runner.words
    out: dict[str, Any] = {"name": name}
    if after:
        out["dependencies"] = [{"dependsOn": each} for each in after]
    if tasks:
        out["parameterSpace"] = {"taskParameterDefinitions": list(tasks)}
    return out | {"script": {"actions": {"onRun": {"command": command, "args": [*before, *words]}}}}


def number(name: str, value: int, text: str) -> dict[str, Any]:
    """A whole number that the job may be told."""
    return {"name": name, "type": "INT", "default": value, "minValue": 1, "description": text}


def path(name: str, value: str, text: str, folder: bool = True, out: bool = False) -> dict[str, Any]:
    """A file or folder, beside the template unless the job is told otherwise."""
    kind = {"objectType": "DIRECTORY" if folder else "FILE", "dataFlow": "OUT" if out else "IN"}
    return {"name": name, "type": "PATH", **kind, "default": value, "description": text}


def chunks(name: str, last: str, size: str) -> dict[str, Any]:
    """A task for every so many of what is counted from 1."""
    return {"name": name, "type": "INT", "range": f"1-{last}:{size}"}


def values(name: str, numbers: Sequence[float]) -> dict[str, Any]:
    """A task for each of some numbers. They are told as text, which keeps them as they were written."""
    return {"name": name, "type": "STRING", "range": [f"{each:.10g}" for each in numbers]}


def identifier(name: str) -> str:
    """A name as templates have them."""
    return "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", name))[:64]
