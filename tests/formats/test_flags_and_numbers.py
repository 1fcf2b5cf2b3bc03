"""Flags and numbers mean what their formats' documents say, and nothing that only looks like it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from addon import formats
from addon.core.report import FormatError
from tests.support.hostile_helpers import FIELDS, juice

JOINT = (
    "<RevoluteJoint><ID>3</ID><Body1>1</Body1><Body2>2</Body2><LoStopValue>-10</LoStopValue>"
    "<HiStopValue>20</HiStopValue><LoStopFlag>@</LoStopFlag><HiStopFlag>0</HiStopFlag></RevoluteJoint>"
)
JUICE = juice("<Body><ID>1</ID></Body>\n<Body><ID>2</ID></Body>\n", JOINT)
SKEL = (
    '<skel version="1.0"><world name="w"><skeleton name="s"><mobile>@m</mobile>\n<body name="a"><gravity>@g</gravity>'
    "<collision_shape><geometry><box><size>1 1 1</size></box></geometry><collidable>@c</collidable></collision_shape>"
    '</body><joint name="j" type="free"><parent>world</parent><child>a</child></joint></skeleton></world></skel>'
)
YES, NO = ["1", "true", "True", " 1 "], ["0", "false", "FALSE", "\n0"]
#: What starts like a flag and is none.
WRONG = ["1_000", "12abc", "1,5", "0x10", "nan", "inf", "-1", "2", "on", "off", "\u00a01", "１", "yesterday", "null"]


def skel(**flags: str) -> str:
    """A model with its flags; those that are not given are 1."""
    text = SKEL
    for letter in "mgc":
        text = text.replace(f"@{letter}", flags.get(letter, "1"))
    return text


@pytest.mark.parametrize("word", [*YES, *NO, "yes", "Y", "t", "no", "N", "f"])
def test_flags_of_juice_are_what_its_document_and_its_program_say(word: str) -> None:
    mechanism = formats.loads(JUICE.replace("@", word).encode())
    dof = mechanism.joints[0].dofs[0]
    assert [dof.lower, dof.upper].count(None) == (1 if word.strip().lower()[0] in "1ty" else 2)
    assert "not-a-flag" not in [entry.code for entry in mechanism.report.entries]


@pytest.mark.parametrize("word", [*WRONG, "1.0", "0.0"])
def test_an_invalid_flag_of_juice_is_reported_and_kept(word: str) -> None:
    text = JUICE.replace("@", word)
    mechanism = formats.loads(text.encode(), "a.jm")
    dof = mechanism.joints[0].dofs[0]
    assert (dof.lower, dof.upper) == (None, None)
    (entry,) = [entry for entry in mechanism.report.entries if entry.code == "not-a-flag"]
    assert entry.severity == "warning" and "LoStopFlag" in entry.message and "Write 1 or 0." in entry.message
    assert entry.line == 3 and entry.where.endswith("LoStopFlag")
    assert formats.dumps(mechanism)[0] == text
    mechanism.bodies[0].mass = 5.0
    edited = ET.fromstring(formats.dumps(mechanism)[0])
    assert edited.findtext(".//LoStopFlag") == word


@pytest.mark.parametrize("letter", "mgc")
@pytest.mark.parametrize("word", [*YES, *NO])
def test_flags_of_skel_are_what_dart_reads(letter: str, word: str) -> None:
    body = formats.loads(skel(**{letter: word}).encode()).bodies[0]
    found = {"m": not body.immobile, "g": body.gravity, "c": body.collidable}[letter]
    assert found == (word in YES)


@pytest.mark.parametrize("letter", "mgc")
@pytest.mark.parametrize("word", WRONG)
def test_an_invalid_flag_of_skel_is_reported_and_kept(letter: str, word: str) -> None:
    """DART makes false of it; where it reads a number, it is what it is without."""
    text = skel(**{letter: word})
    mechanism = formats.loads(text.encode(), "a.skel")
    body = mechanism.bodies[0]
    found = {"m": not body.immobile, "g": body.gravity, "c": body.collidable}[letter]
    if letter == "c" and word in {"-1", "2"}:  # numbers
        assert found
        return
    assert found == (letter == "c")
    (entry,) = [entry for entry in mechanism.report.entries if entry.code == "not-a-flag"]
    assert entry.severity == "warning" and "Write 1 or 0." in entry.message and entry.line
    assert formats.dumps(mechanism)[0] == text


@pytest.mark.parametrize("shape", [".5", "1.5", "2e-1"])
def test_a_whole_number_has_no_fraction(shape: str) -> None:
    text = juice(f"<Body><ID>1</ID>\n<Shape>{shape}</Shape></Body>")
    with pytest.raises(FormatError, match=r"a.jm:2.*Shape.*is not a whole number. Write a whole number such as 1."):
        formats.loads(text.encode(), "a.jm")


#: White space of other scripts than ASCII's, before and behind a number.
SPACES = ["\u00a0{}", "{}\u00a0", "\u2009{}", "\u202f{}", "\u3000{}", "\u2007{}", "\u0085{}", "\ufeff{}"]


@pytest.mark.parametrize("reader", FIELDS)
@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_no_break_spaces_stand_around_no_number(reader: str, space: str) -> None:
    pieces = FIELDS[reader].split("@")
    for place in range(1, len(pieces)):
        words = [space.format("1") if at == place else "1" for at in range(len(pieces))]
        text = pieces[0] + "".join(word + piece for word, piece in zip(words[1:], pieces[1:], strict=True))
        try:
            if reader in formats.MOTION_FORMATS:
                report = formats.loads_motions(text.encode(), "a")[1]
            else:
                report = formats.loads(text.encode(), "a").report
        except FormatError as refused:
            assert refused.line and refused.remedy, text
        else:  # what stands behind a number is left out, as DART and Webots do
            assert reader in ("skel", "webots") and space.startswith("{}")
            assert {entry.code for entry in report.entries} & {"repaired-numbers", "half-a-number"}
