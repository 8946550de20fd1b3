# SPDX-License-Identifier: Apache-2.0
"""Romanize texts: letters and digits of all scripts become those of ASCII.

`anyascii` has the letters (docs/decisions names the libraries that were compared). This module decides about words.
"""

import re
import unicodedata
from typing import Final

from anyascii import anyascii

# A letter or digit outside ASCII. Marks of a decomposition are none.
FOREIGN: Final = re.compile(r"[^\W\x00-\x7f]")
# CJK Unified Ideographs: each is a syllable, and no white space separates words.
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
# Begins and ends a syllable. No romanized text contains it.
_EDGE = "\x00"
_EDGES = re.compile("(?<=[a-z0-9])\x00+(?=[a-z0-9])")
_SPACES = re.compile(r"[\s-]+")
_SYMBOLS = re.compile(r"[^a-z0-9]+")
# The library writes these letters as quotation marks or not at all. They carry the vowel "a", or "i" with hamza below.
_VOWELS: Final = {"\N{HEBREW LETTER ALEF}": "a", "\N{ARABIC LETTER ALEF}": "a"} | {
    "\N{ARABIC LETTER ALEF WITH HAMZA ABOVE}": "a",
    "\N{ARABIC LETTER ALEF WITH HAMZA BELOW}": "i",
}


def romanize(text: str) -> str:
    """Romanize the letters and digits of a text, in lower case.

    ASCII stays, and so do the base letters of diacritics. A dash separates ideographs, words and all that dashes and
    white space separate. Other characters are removed.
    """
    composed = unicodedata.normalize("NFKC", text)
    joined = "".join([_romanized(character) for character in composed]).lower()
    return _SPACES.sub("-", _EDGES.sub("-", joined).replace(_EDGE, ""))


def romanize_symbols(text: str) -> str:
    """Name the symbols of a text, such as emoji, in lower case."""
    return _SYMBOLS.sub("-", anyascii(unicodedata.normalize("NFKC", text)).lower()).strip("-")


def _romanized(character: str) -> str:
    if character.isascii():
        return character
    base = unicodedata.normalize("NFD", character)[0]
    if base.isascii():
        return base
    if _IDEOGRAPH.match(character):
        return f"{_EDGE}{anyascii(character)}{_EDGE}"
    # Vowel signs of many scripts are marks.
    is_written = character.isalnum() or unicodedata.category(character)[0] == "M"
    if character.isspace():
        return " "
    return _VOWELS.get(character) or anyascii(character) if is_written else ""
