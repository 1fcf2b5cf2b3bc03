"""Translations of the interface: one gettext catalog (.po) per language beside this module.

Blender looks up labels, tooltips and enum items. Messages with parameters are looked up by their template; words and
messages among the parameters are translated in turn.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import bpy

from ...core.report import Message

#: Locale names of each language in Blender's versions, by the name of its catalog.
LANGUAGES = {"de": ("de", "de_DE")}
_OWN = __package__ or __name__
#: Translation context of labels that Blender itself translates differently, such as *Keyframes*.
CONTEXT = "Knuckle"
#: Translation contexts; Blender has one of its own for labels of operators.
_CONTEXTS = ("*", "Operator", CONTEXT)


@cache
def catalog(language: str) -> dict[str, str]:
    """Read the catalog of a language: translations by English texts."""
    texts: dict[str, str] = {}
    key, field = "", ""
    for line in (Path(__file__).parent / f"{language}.po").read_text(encoding="utf-8").splitlines():
        keyword, _, quoted = line.partition(" ") if line.startswith("msg") else ("", "", line)
        if not quoted.startswith('"'):  # a comment or an empty line
            continue
        field = keyword or field
        text = ast.literal_eval(quoted)
        if keyword == "msgid":
            key = text
        elif field == "msgid":
            key += text
        else:
            texts[key] = texts.get(key, "") + text
    texts.pop("", None)  # the header
    return texts


def register() -> None:
    """Register the catalogs of all languages with Blender."""
    known = {
        locale: {(context, text): other for context in _CONTEXTS for text, other in catalog(language).items()}
        for language, locales in LANGUAGES.items()
        for locale in locales
    }
    bpy.app.translations.register(_OWN, known)  # type: ignore[arg-type]


def unregister() -> None:
    """Unregister the catalogs."""
    bpy.app.translations.unregister(_OWN)


def translated(text: str) -> str:
    """Return a text in the user's language; unchanged if that is English or the interface is not translated."""
    language = wanted_language()
    return translate(text, language) if language in LANGUAGES else text


def wanted_language() -> str:
    """Return the language code of the interface, without the country: ``de``."""
    if not bpy.context.preferences.view.use_translate_interface:
        return "en"
    return bpy.app.translations.locale.partition("_")[0]


def translate(text: str, language: str) -> str:
    """Return a text in a language; unchanged where the catalog has no translation."""
    words = catalog(language)
    if not isinstance(text, Message):
        return words.get(text, text)
    parameters = (translate(each, language) for each in text.parameters)
    return words.get(text.template, text.template).format(*parameters)
