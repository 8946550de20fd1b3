# SPDX-License-Identifier: Apache-2.0
"""Every message of the console is translated, and the language of a call is chosen."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from chamberlain.console.rendering import PAGES, environment
from chamberlain.console.words import ENGLISH, LANGUAGES, choose_language, load_catalogue, read_catalogue

pytestmark = pytest.mark.pure
PACKAGE = Path(str(files("chamberlain.console")))
# Messages that are the same in both languages. A new one needs a look by a person who knows the language.
EQUAL: frozenset[str] = frozenset(
    {"%(number)s h", "%(number)s min", "%(number)s ms", "%(number)s s", "Alias", "Name", "Team", "Teams", "Whiteboard"}
)

# A message, and its plural if it has one.
Found = tuple[str, str | None]


def messages() -> set[Found]:
    """All messages of templates and of Python files."""
    return {*_of_templates(), *_of_modules()}


def _of_templates() -> Iterator[Found]:
    for path in PAGES.glob("*.html"):
        source = path.read_text(encoding="utf-8")
        for _, _, found in environment(ENGLISH).extract_translations(source):  # type: ignore[attr-defined]
            # A call with a variable has none: N_ marks its message elsewhere. One with a plural has two.
            message, plural = (found[0], found[1]) if isinstance(found, tuple) else (found, None)
            if message is not None:
                yield message, plural


def _of_modules() -> Iterator[Found]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"N_", "NN_"}:
                texts = [ast.literal_eval(argument) for argument in node.args]
                assert all(isinstance(text, str) for text in texts), f"{path}:{node.lineno}"
                yield texts[0], texts[1] if node.func.id == "NN_" else None


def translations_of(language: str) -> dict[Found, tuple[str, ...]]:
    """All entries of a catalogue, with their plurals."""
    path = PACKAGE / "words" / f"{language}.po"
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^msgid ", text, re.MULTILINE)) == len(read_catalogue(text)) + 1, "an entry is there twice"
    plurals = dict(re.findall(r'^msgid "(.*)"\nmsgid_plural "(.*)"$', text, re.MULTILINE))
    plurals = {ast.literal_eval(f'"{one}"'): ast.literal_eval(f'"{many}"') for one, many in plurals.items()}
    return {(message, plurals.get(message)): found for message, found in read_catalogue(text).items()}


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {ENGLISH}))
def test_it_works(language: str) -> None:
    translations = translations_of(language)

    assert messages() - translations.keys() == set()
    assert translations.keys() - messages() == set()
    assert [message for message, found in translations.items() if not all(found)] == []
    assert {message for (message, _), found in translations.items() if message in found} == EQUAL


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {ENGLISH}))
def test_translations_have_the_places_of_their_messages(language: str) -> None:
    for (one, many), found in translations_of(language).items():
        # "one day" may leave out its number.
        assert _places(many or one) == _places(found[-1]), one
        assert _places(one) <= _places(many or one), one
        assert _places(found[0]) <= _places(many or one), one


def _places(text: str) -> frozenset[str]:
    """The places of values. A % that is none breaks the formatting."""
    places = re.findall(r"%\((\w+)\)[sd]", text)
    assert text.replace("%%", "").count("%") == len(places), text
    return frozenset(places)


# Names of properties, and words of programs.
OF_PROGRAMS = re.compile(r"\b(?:[a-z]+[A-Z]\w*|JSON|UUID|null|boolean|string|array|integer|payload|backend|endpoint)\b")


def test_no_message_has_words_of_programs() -> None:
    texts = [text for each, found in translations_of("de").items() for text in (*each, *found) if text is not None]

    assert [text for text in texts if OF_PROGRAMS.search(re.sub(r"%\(\w+\)[sd]", "", text))] == []


def test_it_reads_lines_plurals_and_escapes() -> None:
    text = """
# A comment.
msgid ""
msgstr "Language: de\\n"

#, python-format
msgid ""
"One \\"line\\" "
"and more"
msgstr "Eine \\"Zeile\\" und mehr"

msgid "%(num)d request"
msgid_plural "%(num)d requests"
msgstr[0] "%(num)d Antrag"
msgstr[1] "%(num)d Anträge"
"""

    assert read_catalogue(text) == {
        'One "line" and more': ('Eine "Zeile" und mehr',),
        "%(num)d request": ("%(num)d Antrag", "%(num)d Anträge"),
    }


def test_a_message_without_translation_stays_english() -> None:
    german = load_catalogue("de")

    assert german.gettext("Not a message") == "Not a message"
    assert [german.ngettext("a day", "days", number) for number in (0, 1, 2)] == ["days", "a day", "days"]


@pytest.mark.parametrize(
    ("cookie", "accepted", "chosen"),
    [
        (None, "", "en"),
        (None, "de", "de"),
        (None, "de-CH,de;q=0.9,en;q=0.8", "de"),
        (None, "fr, en;q=0.5, de;q=0.7", "de"),
        (None, "en-GB,de;q=0.9", "en"),
        (None, "de;q=0", "en"),
        (None, "fr", "en"),
        (None, "*;q=x, ,,;;", "en"),
        (None, "a" * 100_000, "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
    ],
)
def test_the_cookie_comes_before_the_header(cookie: str | None, accepted: str, chosen: str) -> None:
    assert choose_language(cookie, accepted) == chosen
