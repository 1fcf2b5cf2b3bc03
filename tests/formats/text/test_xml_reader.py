"""Documents with bare letters in names, which are no XML: what is not edited is written back as it was."""

from __future__ import annotations

import difflib
import itertools
import random

import pytest

from addon import formats
from addon.formats.text.xml_reader import RepairMap
from tests.support.hostile_helpers import juice

NAMES = ["a < b", "R&D", "<", "&", "a & <b>", "&lt;&amp;", "&nbsp;", "&&amp;&", "<<>>", "x &lt; & y", "&#65;&"]
BODIES = "".join(f"<Body><ID>{at}</ID><Name>{name}</Name><Mass>1</Mass></Body>\n" for at, name in enumerate(NAMES, 1))
JUICE = juice(BODIES, name="A & B < C") + "<!-- & < -->\n"
SKEL = (
    '<skel version="1.0"><world name="a & b"><skeleton name="s"><body name="b & c"><inertia><mass>1</mass></inertia>'
    '</body><body name="d"><inertia><mass>1</mass></inertia><Name>a < b</Name></body></skeleton></world></skel>'
)
X_XY = (
    '<x_xy model="m & n"><worldbody><body name="a & b" joint="rx"><geom type="sphere" mass="1" dim="1"/></body>'
    "</worldbody></x_xy>"
)
XMDI = (
    '<xmdi><motions><motion name="a & b"><servo name="c & d"><position>0</position><frames>0</frames></servo>'
    "</motion></motions></xmdi>"
)
MODELS = {"juice": JUICE, "skel": SKEL, "x_xy": X_XY}


@pytest.mark.parametrize("format", MODELS)
def test_an_unedited_document_keeps_its_bare_letters(format: str) -> None:
    mechanism = formats.loads(MODELS[format].encode(), "a")
    assert "repaired-text" in [entry.code for entry in mechanism.report.entries]
    assert mechanism.source.text == MODELS[format]
    text, report = formats.dumps(mechanism)
    assert text == MODELS[format]
    assert [entry.code for entry in report.entries] == ["document-kept"]


@pytest.mark.parametrize("format", MODELS)
def test_an_edit_changes_its_own_text_and_no_bare_letter(format: str) -> None:
    mechanism = formats.loads(MODELS[format].encode(), "a")
    mechanism.bodies[-1].mass = 2.0
    if format == "x_xy":
        mechanism.bodies[-1].inertia = mechanism.bodies[-1].inertia * 2.0
    text = formats.dumps(mechanism)[0]
    steps = difflib.SequenceMatcher(None, MODELS[format], text, False).get_opcodes()
    changed = [(MODELS[format][a:b], text[c:d]) for tag, a, b, c, d in steps if tag != "equal"]
    assert changed == [("1", "2")]
    again = formats.loads(text.encode(), "a")
    assert [body.name for body in again.bodies] == [body.name for body in mechanism.bodies]
    assert again.bodies[-1].mass == 2.0
    assert formats.dumps(again)[0] == text


def test_a_name_that_is_edited_is_written_as_xml() -> None:
    mechanism = formats.loads(JUICE.encode(), "a")
    mechanism.bodies[0].name = "c < d & e"
    text = formats.dumps(mechanism)[0]
    assert text == JUICE.replace("<Name>a < b</Name>", "<Name>c &lt; d &amp; e</Name>")


def test_a_motion_keeps_its_bare_letters_where_it_is_edited() -> None:
    (motion,), _report = formats.loads_motions(XMDI.encode(), "a")
    assert formats.dumps_motions(motion, "xmdi") == XMDI
    motion.trajectories[0].values = motion.trajectories[0].values + 0.5
    assert formats.dumps_motions(motion, "xmdi") == XMDI.replace("<position>0", "<position>0.5")


def test_a_document_that_was_kept_repaired_is_still_read() -> None:
    """As files that release 1.0 saved have it."""
    mechanism = formats.loads(JUICE.replace(" & ", " &amp; ").replace("<Name>a < b", "<Name>a &lt; b").encode(), "a")
    assert mechanism.bodies[0].name == "a < b"
    assert formats.dumps(mechanism)[0] == mechanism.source.text


def test_each_part_of_a_repaired_text_is_found_again() -> None:
    chance = random.Random(1)
    for _ in range(300):
        pieces = [chance.choice(["&amp;", "&lt;", "&", "<", "a", "&gt;", " "]) for _ in range(chance.randrange(12))]
        pieces = [piece + "." if piece == "&" else piece for piece in pieces]  # a bare one begins no entity
        repaired = [{"&.": "&amp;.", "<": "&lt;"}.get(piece, piece) for piece in pieces]
        found = RepairMap("".join(repaired), "".join(pieces))
        ends = [0, *itertools.accumulate(map(len, repaired))]
        for start, end in itertools.combinations(range(len(ends)), 2):
            assert found.before(ends[start], ends[end]) == "".join(pieces[start:end])
