"""A file that cannot be read is refused in words: which file, which line, which element, what is wrong, what to do."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from addon import formats
from addon.core.model import Motion, Trajectory
from addon.formats import FormatError
from tests.support.references import CORPUS


def refusal(data: bytes | str) -> FormatError:
    """The error of reading a document called leg.jm."""
    with pytest.raises(FormatError) as caught:
        formats.loads(data.encode() if isinstance(data, str) else data, "leg.jm")
    error = caught.value
    assert error.path == "leg.jm"
    assert str(error).startswith("leg.jm")
    return error


def model(bodies: str, joints: str = "") -> str:
    """A model whose bodies begin on line 3."""
    return f"<Model>\n<Bodies>\n{bodies}\n</Bodies>\n<RevoluteJoints>\n{joints}\n</RevoluteJoints></Model>"


def test_a_missing_file_is_rejected_by_name(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nothing.jm: the file cannot be read: No such file.*Check the spelling"):
        formats.load(tmp_path / "nothing.jm")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is a folder, not a file. Choose a file inside it"):
        formats.load(tmp_path)
    with pytest.raises(FormatError, match="this is a folder"):
        formats.save(formats.loads(model("<Body><ID>1</ID></Body>").encode()), tmp_path)


@pytest.mark.skipif(os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="root may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.jm"
    path.write_text(model(""))
    path.chmod(0)
    with pytest.raises(FormatError, match="Permission denied"):
        formats.load(path)


@pytest.mark.parametrize("data", [b"", b" \r\n\t "])
def test_an_empty_file_is_rejected_by_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "empty.jm"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="empty.jm: the file is empty"):
        formats.load(path)
    assert "the file is empty" in str(refusal(data))


@pytest.mark.parametrize("data", ["hello", "v 0 0 0\nv 1 0 0\n", "&lt;Model&gt;"])
def test_what_is_not_xml(data: str) -> None:
    error = refusal(data)
    assert (error.line, error.message) == (1, "this is not XML")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"name,mass\n1,2\n", "a table without a time column"),
        (b"\x89PNG\r\n", "a picture"),
        (b"\x01\x00\x02abc", "a binary file"),
        (b'{"a": 1}', 'an unknown kind of JSON with "a" at its top'),
    ],
)
def test_a_file_of_another_kind_is_rejected_with_the_remedy(data: bytes, what: str) -> None:
    error = refusal(data)
    assert error.message == f"this is {what}, which is not supported"
    assert "model" in error.remedy


@pytest.mark.parametrize("ending", [".jm", ".json", ".skel", ".xml"])
def test_a_negative_mass_is_reported_with_its_value_and_line(ending: str, tmp_path: Path) -> None:
    sound = formats.loads(model("<Body><ID>1</ID><Name>A</Name><Mass>3</Mass><Shape>1</Shape></Body>").encode())
    path = tmp_path / f"model{ending}"
    formats.save(sound, path, "x_xy" if ending == ".xml" else None)
    text = path.read_text()
    changed = re.sub(r"(<Mass>|<mass>|mass=\"|\"mass\": )3(?:\.0)?\b", r"\g<1>-3", text, count=1)
    assert changed != text
    path.write_text(changed)
    (entry,) = [each for each in formats.load(path).report.entries if each.code == "negative-mass"]
    assert (entry.severity, entry.message) == ("warning", "body 'A': the mass -3 is negative")
    assert entry.line


def test_a_truncated_file_is_rejected_with_its_last_line() -> None:
    error = refusal("<Model>\n<Bodies>\n<Body>\n<ID>1</ID>\n<Na")
    assert (error.line, error.where) == (5, "Model/Bodies/Body")
    error = refusal("<Model>\n<Bodies>\n<Body>\n<ID>1</ID>\n")
    assert "truncated" in error.message
    assert error.where == "Model/Bodies/Body"


def test_a_tag_that_closes_nothing_is_shown() -> None:
    error = refusal("<Model>\n<Bodies>\n</Bodies>\n</1013AB34>")
    assert (error.line, error.where) == (4, "Model")
    assert "</1013AB34>" in error.message
    error = refusal("<Model>\n<Bodies>\n</Model>")
    assert (error.line, error.where) == (3, "Model/Bodies")


def test_the_malformed_file_of_the_corpus() -> None:
    path = CORPUS / "juice" / "models" / "simpleant2.jp.jm"
    if not path.exists():
        pytest.skip(f"real files are not here: {path}")
    with pytest.raises(FormatError, match=r"simpleant2.jp.jm:804: <Model>: invalid XML.*</1013AB34>"):
        formats.load(path)


NUMBERS = ["abc", "1,5", "nan", "-inf", "1e999", "1.#QNAN", "1_000", "٣", "0x10", "1 2", "--1"]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_that_is_none(text: str) -> None:
    error = refusal(model(f"<Body>\n<ID>1</ID>\n<Mass>{text}</Mass></Body>"))
    assert (error.line, error.where) == (5, "Model/Bodies/Body/Mass")
    endless = text in {"nan", "-inf", "1e999"}
    assert error.message == f"'{text}' is not a {'finite ' if endless else ''}number"
    assert error.remedy == ("Use a point: 1.5." if text == "1,5" else "Write a decimal number such as 0.25.")
    error = refusal(model(f"<Body><ID>1</ID></Body>\n<Body><ID>2</ID><Position><X>{text}</X></Position></Body>"))
    assert (error.line, error.where) == (4, "Model/Bodies/Body[2]/Position/X")


@pytest.mark.parametrize("tag", ["Gravity", "PoseDelay"])
def test_a_setting_that_is_no_number(tag: str) -> None:
    error = refusal(f"<Model>\n<{tag}>fast</{tag}>\n<Bodies/></Model>")
    assert (error.line, error.where) == (2, f"Model/{tag}")


def test_a_gait_with_a_number_that_is_none() -> None:
    motor = "<ClockworkMotors>\n<ClockworkMotor><Phase>left</Phase></ClockworkMotor></ClockworkMotors>"
    error = refusal(f"<Model>\n<Behaviors><Clockwork>{motor}</Clockwork></Behaviors></Model>")
    assert (error.line, error.where.split("/")[-1]) == (3, "Phase")


def test_an_id_that_is_none() -> None:
    error = refusal(model("<Body>\n<ID>left leg</ID></Body>"))
    assert (error.line, error.where) == (4, "Model/Bodies/Body/ID")
    assert "'left leg' is not an ID" in error.message


@pytest.mark.parametrize("own", ["", "<ID/>", "<ID>0</ID>", "<ID> </ID>"])
def test_a_body_or_joint_without_an_id(own: str) -> None:
    error = refusal(model(f"<Body><ID>1</ID></Body>\n<Body>{own}<Name>Foot</Name></Body>"))
    assert (error.line, error.where) == (4, "Model/Bodies/Body[2]")
    assert "Body 'Foot' has" in error.message
    assert "<ID>" in error.remedy
    error = refusal(model("", f"<RevoluteJoint>{own}<Name>Knee</Name></RevoluteJoint>"))
    assert (error.line, error.where) == (6, "Model/RevoluteJoints/RevoluteJoint")


@pytest.mark.parametrize("other", ["16", "4294967312", "0x10", "-4294967280"])
def test_two_with_one_id_are_both_named(other: str) -> None:
    error = refusal(model(f"<Body><ID>16</ID><Name>A</Name></Body>\n<Body><ID>{other}</ID><Name>B</Name></Body>"))
    assert (error.line, error.where) == (4, "Model/Bodies/Body[2]")
    assert "Body 'B' has the ID 16 of Body 'A' on line 3" in error.message
    assert "lines 3 and 4" in error.remedy
    joints = f"<RevoluteJoint><ID>16</ID></RevoluteJoint>\n<RevoluteJoint><ID>{other}</ID></RevoluteJoint>"
    error = refusal(model("", joints))
    assert error.line == 7
    assert "lines 6 and 7" in error.remedy


def test_xml_nested_too_deep_is_rejected_in_time() -> None:
    for depth in (256, 300, 200_000):
        start = time.process_time()
        error = refusal("<Model>" + "<Bodies>" * depth + "</Bodies>" * depth + "</Model>")
        assert "nested deeper than 256" in error.message
        assert error.line == 1
        assert time.process_time() - start < 2


def test_what_is_nested_just_not_too_deep_is_read() -> None:
    deep = "<Extra>" * 254 + "</Extra>" * 254
    assert formats.loads(f"<Model>{deep}<Bodies/></Model>".encode()).bodies == []


def test_entities_are_never_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("42")
    bombs = [
        "<!DOCTYPE Model [" + "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(20)) + "]>",
        f'<!DOCTYPE Model [<!ENTITY a9 SYSTEM "{secret.as_uri()}">]>',
        "<?xml version='1.0'?>\n<!-- <Model> -->\n<!DOCTYPE Model SYSTEM 'x' [<!ENTITY % a9 'x'>]>",
        "<!DOCTYPE Model SYSTEM \">\" [<!ENTITY a9 'x'>]>",
        "<!DOCTYPE Model PUBLIC '>' \"<!--'>\" [<!ENTITY a9 'x'>]>",
        "<!DOCTYPE Model SYSTEM '[>\"'\n [<!ENTITY a9 'x'>]>".replace("\n", " "),
    ]
    for bomb in bombs:
        start = time.process_time()
        error = refusal(bomb + "<Model><Bodies><Body><ID>1</ID><Mass>&a9;</Mass></Body></Bodies></Model>")
        assert "entities" in error.message
        assert error.where == "!DOCTYPE"
        assert error.line == bomb.count("\n") + 1
        assert time.process_time() - start < 1


def test_what_is_read_for_its_depth_has_no_entities_either() -> None:
    from addon.formats.text.xml_reader import _parse_deep

    assert _parse_deep("<!DOCTYPE a SYSTEM 'x'><a b='1'/>", 10) is not None
    for entity in ("<!ENTITY e 'x'>", "<!ENTITY e SYSTEM 'file:///etc/hostname'>", "<!ENTITY % e 'x'>"):
        assert _parse_deep(f"<!DOCTYPE a [{entity}]><a/>", 10) is None
    deep = "<body name='&e;'>" * 2500 + "</body>" * 2500
    bomb = f"<!DOCTYPE x_xy SYSTEM \">\" [<!ENTITY e 'lol'>]><x_xy><worldbody>{deep}</worldbody></x_xy>"
    assert "entities" in refusal(bomb).message


def test_a_document_type_elsewhere_is_not_fetched_and_its_entities_are_letters() -> None:
    text = '<!DOCTYPE Model SYSTEM "http://127.0.0.1:9/x.dtd">' + model("<Body><ID>1</ID><Name>&leg;</Name></Body>")
    mechanism = formats.loads(text.encode())
    assert mechanism.bodies[0].name == "&leg;"
    assert "repaired-text" in [entry.code for entry in mechanism.report.entries]


OTHERS = {
    '<robot name="arm"><link/></robot>': "URDF",
    '<sdf version="1.6"/>': "SDF",
    "<mujoco/>": "MJCF",
    '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"/>': "COLLADA",
    '<svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>': "SVG",
    "<!DOCTYPE html>\n<html><body><br></body></html>": "web page",
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/x.dtd"><plist/>': "property list",
    '{"bodies": []}': "JSON",
    "#WEBOTS_MOTION,V1.0,hip\n": "Webots",
    "BLENDER-v420": ".blend",
}


@pytest.mark.parametrize(("text", "what"), OTHERS.items(), ids=OTHERS.values())
def test_other_programs_files_are_called_by_their_name(text: str, what: str) -> None:
    error = refusal(text)
    assert what in error.message
    with pytest.raises(FormatError):
        formats.loads(b"\xef\xbb\xbf" + text.encode())


def test_xml_that_nobody_knows_is_rejected_with_what_can_be_read() -> None:
    error = refusal("<?xml version='1.0'?>\n<recipe/>")
    assert "<recipe>" in error.message
    assert (error.line, error.where) == (2, "recipe")
    assert "Juice" in error.remedy
    assert "<Model>" in refusal("<Model><Chapter/></Model>").message


def test_binary_files_are_rejected() -> None:
    assert "binary" in refusal(b"\x7fELF\x00\x01\x02").message
    assert "zip" in refusal(b"PK\x03\x04rest").message


@pytest.mark.parametrize("folder", ["skel", "x_xy", "shift", "motion"])
def test_real_files_of_other_formats_are_rejected_or_read_as_what_they_are(folder: str) -> None:
    paths = [path for path in sorted((CORPUS / folder).rglob("*")) if path.is_file()]
    if not paths:
        pytest.skip(f"real files are not here: {CORPUS / folder}")
    for path in paths:
        try:
            mechanism = formats.load(path)
        except FormatError as error:
            assert str(path) in str(error)
        else:
            assert mechanism.source.format != "juice"


def test_any_cut_of_a_file_is_read_or_rejected() -> None:
    path = CORPUS / "juice" / "models" / "SimpleHex.jm"
    if not path.exists():
        pytest.skip(f"real files are not here: {path}")
    data = path.read_bytes()
    for end in range(1, len(data) - 20, 997):
        refusal(data[:end])


def test_a_motion_is_no_model_and_a_model_is_no_motion(tmp_path: Path) -> None:
    path = tmp_path / "wave.xml"
    formats.save_motion(Motion("wave", [Trajectory("hip", [0.0, 0.032], [0.0, 1.0])]), path, "xmdi")
    with pytest.raises(FormatError, match=r"this is a servo motion \(XMDI servo motion\), not a model. .*Servo Motion"):
        formats.load(path)
    assert formats.load_motion(path).name == "wave"
    leg = tmp_path / "leg.jm"
    leg.write_text(model("<Body><ID>1</ID></Body>"))
    with pytest.raises(FormatError, match=r"leg.jm:1: <Model>: this is a model \(Juice\), not a servo motion"):
        formats.load_motion(leg)
    with pytest.raises(FormatError, match="motion format '.abc' does not exist"):
        formats.save_motion(Motion("wave"), tmp_path / "wave.abc")
