"""Helpers for tests of XMDI: validation of documents against the schema by an XML library's own validator."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

SCHEMA = Path(__file__).resolve().parents[2] / "addon/formats/xmdi/xmdi.xsd"
_schema = etree.XMLSchema(etree.parse(SCHEMA))


def errors(text: str) -> list[str]:
    """What the schema has against a document; where its outer elements are not ours, against its motions."""
    root = etree.fromstring(text.encode())
    parts = [root] if root.tag == "xmdi" else list(root.iter("motion"))
    return [str(error) for part in parts if not _schema.validate(part) for error in _schema.error_log]


def assert_valid(text: str) -> None:
    """That the schema has nothing against a document."""
    assert errors(text) == []
