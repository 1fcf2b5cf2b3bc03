"""What a file has and nothing here makes use of is kept and told, once per kind with its count and its first line."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from addon import formats

JUICE = """<Model FileVersion="1">
<Name>m</Name>
<Springs><Spring><ID>7</ID></Spring></Springs>
<CameraBookmarks/>
<Bodies>
<Body><ID>1</ID><Colour>red</Colour><Mass>1</Mass><Mass>2</Mass></Body>
<Body><ID>2</ID><Colour>blue</Colour></Body>
<Ghost><ID>9</ID></Ghost>
</Bodies>
<RevoluteJoints>
<RevoluteJoint><ID>3</ID><Body1>1</Body1><Body2>2</Body2><Rotation><Y>0</Y><W>1</W></Rotation></RevoluteJoint>
</RevoluteJoints>
<Behaviors>
<NetworkBehavior><Name>n</Name><Mood>calm</Mood>
<MotorNodes><MotorNode><ID>4</ID><JointID>3</JointID><MotorType>1</MotorType></MotorNode></MotorNodes>
<FunctionNodes><QuantumNode><ID>5</ID></QuantumNode><QuantumNode><ID>6</ID></QuantumNode></FunctionNodes>
<Edges><Edge><Source>4</Source><Destination>4</Destination></Edge><Arc/></Edges>
</NetworkBehavior>
<Clockwork><ClockworkMotors><ClockworkMotor><JointID>3</JointID></ClockworkMotor><Gear/></ClockworkMotors></Clockwork>
<Dream/>
</Behaviors>
</Model>
"""
SKEL = """<skel version="1.0"><world name="w"><skeleton name="s">
<body name="a"><smell>1</smell></body>
<body name="b"><smell>2</smell></body>
<joint name="j" type="free"><parent>world</parent><child>a</child><mood>1</mood></joint>
<joint name="k" type="free"><parent>world</parent><child>b</child></joint></skeleton></world></skel>
"""
X_XY = """<x_xy model="m"><worldbody>
<body name="a" joint="rx"><geom type="sphere" mass="1" dim="1" smell="2"/><cloud/></body>
<body name="b" joint="rx"><cloud/></body></worldbody></x_xy>
"""
SHIFT = """{"model_parameters": {}, "fixed": {}, "assemblies": [{"name": "m", "bodies": [
{"name": "a", "smell": 1},
{"name": "b", "smell": 2}], "joints": []}]}
"""
XMDI = """<xmdi><motions><motion name="m"><cloud/>
<servo name="a" mood="1"><position unit="rad">0</position><frames>0</frames></servo>
<servo name="b" mood="1"><position unit="rad">0</position><frames>0</frames><rain/></servo>
<cloud/></motion></motions></xmdi>
"""
#: Of each format: what is told of, how often it is there, and the first line.
TOLD = {
    "juice": (JUICE, {
        "Springs": (1, 3), "CameraBookmarks": (1, 4), "Colour": (2, 6), "more than one Mass": (1, 6), "Ghost": (1, 8),
        "Rotation/W": (1, 11), "Mood": (1, 14), "QuantumNode": (2, 16), "Arc": (1, 17), "Gear": (1, 19),
        "Dream": (1, 20),
    }),
    "skel": (SKEL, {"smell": (2, 2), "mood": (1, 4)}),
    "x_xy": (X_XY, {"smell": (1, 2), "cloud": (2, 2)}),
    "shift": (SHIFT, {"smell": (2, 2)}),
    "xmdi": (XMDI, {"<cloud>": (2, 1), "'mood'": (2, 2), "<position> has no attributes": (2, 2), "<rain>": (1, 3)}),
}  # fmt: skip
CODES = {"ignored-element", "ignored-attribute", "unknown-element", "unknown-attribute", "kept"}


@pytest.mark.parametrize("format", TOLD)
def test_each_kind_of_ignored_content_is_reported_once_with_count_and_line(format: str) -> None:
    text, told = TOLD[format]
    if format == "xmdi":
        motions, report = formats.loads_motions(text.encode(), "a")
        written = formats.dumps_motions(motions, format)
    else:
        mechanism = formats.loads(text.encode(), "a")
        report, written = mechanism.report, formats.dumps(mechanism)[0]
    entries = [entry for entry in report.entries if entry.code in CODES]
    found = {}
    for what in told:
        (entry,) = [entry for entry in entries if what in entry.message]
        count = re.search(r"(\d+) (?:times|more)", entry.message)
        more = "more" in (count[0] if count else "")
        found[what] = (int(count[1]) + more if count else 1, entry.line)
    assert found == told
    assert len(entries) == len(told), "and nothing else"
    assert written == text


@pytest.mark.parametrize("format", TOLD)
def test_of_many_ignored_elements_only_one_line_is_reported(format: str) -> None:
    text, told = TOLD[format]
    what = {"juice": "<Ghost><ID>9</ID></Ghost>", "skel": '<body name="b"><smell>2</smell></body>', "x_xy": "<cloud/>"}
    what |= {"shift": '{"name": "a", "smell": 1},', "xmdi": "<cloud/>"}
    text = text.replace(what[format], what[format] * 50, 1)
    if format == "xmdi":
        report = formats.loads_motions(text.encode(), "a")[1]
    else:
        report = formats.loads(text.encode(), "a").report
    codes = Counter(entry.code for entry in report.entries if entry.code in CODES)
    assert codes.total() == len(told)
