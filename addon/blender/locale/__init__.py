"""Translations of the interface: one gettext catalog (.po) per language beside this module.

Labels, tooltips and enum items are looked up by Blender. Sentences that are put together from parts go through
``told``, which finds the template that they were made by: ``{}`` stands for each part, and parts are translated in
their turn, but not names in quotes.
"""

from __future__ import annotations

import ast
import re
from functools import cache, lru_cache
from pathlib import Path

import bpy

#: The names that Blender's versions have for each language, by the name of its catalog.
LANGUAGES = {"de": ("de", "de_DE")}
_OWN = __package__ or __name__
#: The context of labels that Blender translates otherwise where it uses them itself, such as *Keyframes*.
CONTEXT = "Knuckle"
#: Blender looks labels of operators up in a context of their own.
_CONTEXTS = ("*", "Operator", CONTEXT)
#: A name in quotes, and a part of a sentence, which does not end within one.
_NAME = re.compile(r"'[^']*'|\"[^\"]*\"")
_ENOUGH = 3  # letters
_PART = r"((?:'[^']*'|\"[^\"]*\"|.)*?)"


@cache
def catalog(language: str) -> dict[str, str]:
    """Read the catalog of a language: English texts with their translations."""
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
    """Take them back."""
    bpy.app.translations.unregister(_OWN)


def told(text: str) -> str:
    """A text in the user's language; the text itself where that is English or the user wants English."""
    language = wanted_language()
    return translate(text, language) if language in LANGUAGES else text


def wanted_language() -> str:
    """The beginning of the name of the language that the interface is in: ``de``."""
    if not bpy.context.preferences.view.use_translate_interface:
        return "en"
    return bpy.app.translations.locale.partition("_")[0]


@lru_cache(4096)  # panels ask for the same lines at every drawing
def translate(text: str, language: str) -> str:
    """A text in a language; what that has no words for stays as it is."""
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
    """Return whether a template is long enough not to be mistaken for a part of a sentence that nobody has
    translated."""
    own = template.pattern.replace(_PART, "").replace("\\", "")
    return sum(map(str.isalpha, own)) >= _ENOUGH


def _is_known(part: str, language: str) -> bool:
    """Return whether a part is a name in quotes, a number, nothing, or a text that has a translation."""
    named = _NAME.fullmatch(part) is not None or not any(map(str.isalpha, part))
    return named or translate(part, language) != part


@cache
def _templates(language: str) -> list[tuple[re.Pattern[str], str]]:
    """The sentences with parts, those that say most themselves first."""
    words = catalog(language)
    several = [text for text in words if "{}" in text and any(map(str.isalpha, text))]
    several.sort(key=lambda text: -len(text.replace("{}", "")))
    return [(re.compile(_PART.join(map(re.escape, text.split("{}")))), words[text]) for text in several]
