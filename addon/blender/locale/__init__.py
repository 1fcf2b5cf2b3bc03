"""Translations of the interface: one gettext catalog (.po) per language beside this module.

Blender looks up labels, tooltips and enum items. Sentences composed of parts are matched against templates in which
``{}`` stands for each part; parts are translated in turn, except names in quotes.
"""

from __future__ import annotations

import ast
import re
from functools import cache, lru_cache
from pathlib import Path

import bpy

#: Locale names of each language in Blender's versions, by the name of its catalog.
LANGUAGES = {"de": ("de", "de_DE")}
_OWN = __package__ or __name__
#: Translation context of labels that Blender itself translates differently, such as *Keyframes*.
CONTEXT = "Knuckle"
#: Translation contexts; Blender has one of its own for labels of operators.
_CONTEXTS = ("*", "Operator", CONTEXT)
#: A name in quotes; ``_PART`` below is a part of a sentence, which does not end within quotes.
_NAME = re.compile(r"'[^']*'|\"[^\"]*\"")
_ENOUGH = 3  # letters
_PART = r"((?:'[^']*'|\"[^\"]*\"|.)*?)"


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


def told(text: str) -> str:
    """Return a text in the user's language; unchanged if that is English or the interface is not translated."""
    language = wanted_language()
    return translate(text, language) if language in LANGUAGES else text


def wanted_language() -> str:
    """Return the language code of the interface, without the country: ``de``."""
    if not bpy.context.preferences.view.use_translate_interface:
        return "en"
    return bpy.app.translations.locale.partition("_")[0]


@lru_cache(4096)  # panels translate the same lines at every redraw
def translate(text: str, language: str) -> str:
    """Return a text in a language; unchanged where the catalog has no translation."""
    words = catalog(language)
    if text in words:
        return words[text]
    if _NAME.fullmatch(text) or not any(map(str.isalpha, text)):
        return text
    for template, other in _templates(language):
        found = template.fullmatch(text)
        if found is not None and (_says_enough(template) or all(_is_known(part, language) for part in found.groups())):
            return other.format(*(translate(part, language) for part in found.groups()))
    counted = re.fullmatch(r"(\d+) (.+)", text)
    if counted is not None and counted[2] in words:
        return f"{counted[1]} {words[counted[2]]}"
    several = text.split(", ")
    return text if len(several) == 1 else ", ".join(translate(part, language) for part in several)


@cache
def _says_enough(template: re.Pattern[str]) -> bool:
    """Return whether a template has enough letters of its own not to match untranslated parts by chance."""
    own = template.pattern.replace(_PART, "").replace("\\", "")
    return sum(map(str.isalpha, own)) >= _ENOUGH


def _is_known(part: str, language: str) -> bool:
    """Return whether a part is a name in quotes, a number, empty, or a text with a translation."""
    named = _NAME.fullmatch(part) is not None or not any(map(str.isalpha, part))
    return named or translate(part, language) != part


@cache
def _templates(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the compiled templates of sentences with their translations, those with the most text first."""
    words = catalog(language)
    several = [text for text in words if "{}" in text and any(map(str.isalpha, text))]
    several.sort(key=lambda text: -len(text.replace("{}", "")))
    return [(re.compile(_PART.join(map(re.escape, text.split("{}")))), words[text]) for text in several]
