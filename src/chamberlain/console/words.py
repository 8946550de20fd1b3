# SPDX-License-Identifier: Apache-2.0
"""Languages: the catalogues of gettext, and the language of a call.

The reader of `.po` files reads as much of the format as our catalogues use. So there is no build step, and no binary
file in the repository.
"""

import ast
import gettext
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

ENGLISH: Final = "en"
# Each in itself, for the choice in the account menu.
LANGUAGES: Final[Mapping[str, str]] = {ENGLISH: "English", "de": "Deutsch"}

_LINE = re.compile(r'(?:(msgid|msgid_plural|msgstr)(?:\[(\d)\])? )?(".*")')
_RANGE = re.compile(r"\s*([a-zA-Z]{1,8})(?:-[a-zA-Z0-9-]{1,32})?\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?")
_MOST_RANGES = 20


def N_(message: str) -> str:  # noqa: N802 - the name that gettext tools know.
    """Mark a message for translation. It is translated when it is shown."""
    return message


@dataclass(frozen=True, slots=True)
class Plural:
    """A message in singular and plural. `number` names the value that decides."""

    one: str
    many: str
    number: str


Message = str | Plural


def NN_(one: str, many: str, number: str) -> Plural:  # noqa: N802 - as N_.
    """Mark a message with a plural for translation."""
    return Plural(one, many, number)


class Catalogue(gettext.NullTranslations):
    """The messages of one language.

    Both languages have the plural rule of English.
    """

    def __init__(self, messages: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__()
        self.messages = messages

    def gettext(self, message: str) -> str:
        """Translate a message."""
        return self.messages.get(message, (message,))[0]

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Translate a message with a number."""
        return self.messages.get(msgid1, (msgid1, msgid2))[n != 1]


def read_catalogue(text: str) -> Mapping[str, tuple[str, ...]]:
    """Read a `.po` file: the translations of each message.

    A message with a plural has two.
    """
    return {each["msgid"]: _translations(each) for each in _entries(text) if each["msgid"]}


@cache
def load_catalogue(language: str) -> Catalogue:
    """Load the catalogue of a language; that of English is empty."""
    if language == ENGLISH:
        return Catalogue({})
    return Catalogue(read_catalogue(files(__package__).joinpath("words", f"{language}.po").read_text(encoding="utf-8")))


def choose_language(cookie: str | None, accepted: str) -> str:
    """Choose the language: that of the cookie, else of Accept-Language."""
    if cookie is not None and cookie in LANGUAGES:
        return cookie
    best, best_quality = ENGLISH, 0.0
    for part in accepted.split(",")[:_MOST_RANGES]:
        found = _RANGE.fullmatch(part)
        quality = 0.0 if found is None else float(found[2] or 1)
        if found is not None and found[1].lower() in LANGUAGES and quality > best_quality:
            best, best_quality = found[1].lower(), quality
    return best


def _entries(text: str) -> Iterator[dict[str, str]]:
    entry: dict[str, str] = {}
    key = ""
    for line in (*text.splitlines(), 'msgid ""'):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            continue
        if found[1] == "msgid" and entry:
            yield entry
            entry = {}
        key = f"{found[1]}{found[2] or ''}" if found[1] else key
        entry[key] = entry.get(key, "") + ast.literal_eval(found[3])


def _translations(entry: Mapping[str, str]) -> tuple[str, ...]:
    return (entry["msgstr0"], entry["msgstr1"]) if "msgid_plural" in entry else (entry["msgstr"],)
