"""What others made: every wheel of the zips is listed with its licence, and the list says what the wheels say."""

from __future__ import annotations

import re
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tools import uv
from tools.build_zip import check_licenses, third_party
from tools.console import BuildError

ROOT = Path(__file__).resolve().parents[1]
#: Licences whose works may be part of one under GPL-3.0-or-later, as the Free Software Foundation lists them.
COMPATIBLE = {"BSD-3-Clause", "BSD-2-Clause", "MIT", "MIT-CMU", "PSF-2.0", "Apache-2.0"}
#: How the packages' own records word a licence for which they give no identifier.
WORDED = {
    "BSD-3-Clause": r"BSD",
    "MIT": r"MIT",
    "PSF-2.0": r"Python Software Foundation|matplotlib",
    "Apache-2.0 OR BSD-3-Clause": r"Apache|BSD|Dual",
}
#: A sentence that only this licence has.
SENTENCES = {
    "BSD-3-Clause": r"Neither\s+the\s+names?\s+of|be used to endorse",
    "MIT": r"Permission is hereby granted,\s+free\s+of\s+charge",
    "MIT-CMU": r"not be used in\s+advertising",
    "PSF-2.0": r"nonexclusive,\s+royalty-free,\s+world-wide\s+license",
    "Apache-2.0": r"Apache\s+License",
    "BSD-2-Clause": r"Redistributions? of source code|Redistribution and use in source",
}


def rows() -> dict[str, list[str]]:
    lines = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row for row in cells[2:]}


NAMES = sorted(rows())


def test_all_that_is_packed_is_listed_and_nothing_else() -> None:
    if not uv.is_here():
        pytest.skip("uv is not here: build.py fetches it")
    packed: dict[str, set[str]] = {}
    for line in uv.exported("bundled", "--no-emit-package", "numpy", "--no-hashes").splitlines():
        name, _, version = line.split(" ;")[0].strip().partition("==")
        packed.setdefault(name, set()).add(version)
    assert {name: versions for name, (versions, _texts) in third_party(ROOT).items()} == packed


@pytest.mark.parametrize("name", NAMES)
def test_a_row_has_the_version_and_license_of_its_package(name: str) -> None:
    _name, versions, licence, holders, texts = rows()[name]
    told = metadata.metadata(name)
    files = {str(file) for file in metadata.files(name) or ()}
    folder = next(file.partition("/")[0] for file in files if ".dist-info/" in file)
    assert told["Version"] in versions.split(", ")
    assert set(licence.split(" OR ")) <= COMPATIBLE
    if told["License-Expression"]:
        assert told["License-Expression"] == licence
    else:
        worded = " ".join([told["License"] or "", *told.get_all("Classifier", [])])
        assert licence in worded or re.search(WORDED[licence], worded), worded
    listed = re.findall("`(.+?)`", texts)
    places = {text: next((each for each in (f"{folder}/{text}", text) if each in files), None) for text in listed}
    assert None not in places.values(), places
    declared = set(told.get_all("License-File", []))
    assert {text.removeprefix("licenses/") for text in listed if text.count("/") < 2} >= declared
    read = "\n".join(Path(metadata.distribution(name).locate_file(each)).read_text("utf-8") for each in places.values())
    assert any(re.search(SENTENCES[one], read) for one in licence.split(" OR ")), licence
    for holder in holders.split("; "):
        assert re.sub(r"^[\d-]+ ", "", holder) in re.sub(r"\s+", " ", read), holder


def test_a_zip_is_not_made_with_a_wheel_that_is_not_listed(tmp_path: Path) -> None:
    def wheel(name: str, *inside: str) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            for each in inside:
                archive.writestr(each, "a licence")
        return path

    listed = third_party(ROOT)
    good = wheel("six-1.17.0-py2.py3-none-any.whl", "six-1.17.0.dist-info/LICENSE")
    check_licenses([good], listed)
    with pytest.raises(BuildError, match="no row for six 9.9"):
        check_licenses([wheel("six-9.9-py3-none-any.whl")], listed)
    with pytest.raises(BuildError, match="no row for seven"):
        check_licenses([wheel("seven-1-py3-none-any.whl")], listed)
    with pytest.raises(BuildError, match="does not hold LICENSE"):
        check_licenses([wheel("six-1.17.0-py3-none-any.whl", "six.py")], listed)


def test_the_list_is_linked_where_people_look() -> None:
    assert "(THIRD_PARTY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(../THIRD_PARTY.md)" in (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert "GNU GENERAL PUBLIC LICENSE\n                       Version 3" in (ROOT / "COPYING").read_text()
