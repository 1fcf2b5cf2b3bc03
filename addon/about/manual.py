"""The pages of the manual: those of the hosted project where there is one, else those that came with Knuckle."""

from __future__ import annotations

from functools import cache

from . import home

#: The address of the hosted project, such as ``https://example.org/knuckle``, with the manual in its folder ``manual``.
#: Empty: there is none.
PROJECT_ADDRESS = ""
#: The folder of the pages in an installed package, and that of their source.
_SHIPPED, _SOURCE = "manual", "docs"


@cache
def folder(address: str = PROJECT_ADDRESS) -> tuple[str, str]:
    """Return where the pages are, as an address that ends in a slash, and what their names end in; empty where there
    are none.

    Args:
        address: The address of the hosted project; empty for the pages on disk.
    """
    if address:
        return f"{address.rstrip('/')}/manual/", ".html"
    for name, ending in ((_SHIPPED, ".html"), (_SOURCE, ".md")):
        if (home() / name / f"index{ending}").is_file():
            return f"{(home() / name).as_uri()}/", ending
    return "", ""


def address_of(page: str) -> str:
    """The address of a page of the manual; empty where there is no manual.

    Args:
        page: Name of the page, with the anchor of a heading where one is meant: ``walk#keep-what-happened``.
    """
    start, ending = folder()
    return f"{start}{path_of(page, ending)}" if start else ""


def path_of(page: str, ending: str) -> str:
    """The path of a page within the manual: ``walk.html#keep-what-happened``."""
    name, hash_sign, anchor = page.partition("#")
    return f"{name}{ending}{hash_sign}{anchor}"
