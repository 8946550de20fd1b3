# SPDX-License-Identifier: Apache-2.0
"""Every message of the console is translated, and the language of a call is chosen."""

import ast
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from chamberlain.console.rendering import PAGES, environment, write_time
from chamberlain.console.words import ENGLISH, LANGUAGES, choose_language, load_catalogue, read_catalogue
from tests.console.times import AT

pytestmark = pytest.mark.pure
PACKAGE = Path(str(files("chamberlain.console")))
# Messages that are the same in both languages. A new one needs a look by a person who knows the language.
EQUAL: frozenset[str] = frozenset({"Alias", "Name", "Team", "Whiteboard"})


def messages() -> set[str]:
    """All messages of templates and of Python files."""
    return {*_of_templates(), *_of_modules()}


def _of_templates() -> Iterator[str]:
    for path in PAGES.glob("*.html"):
        source = path.read_text(encoding="utf-8")
        for _, _, found in environment(ENGLISH).extract_translations(source):  # type: ignore[attr-defined]
            # A call with a variable has none: N_ marks its message elsewhere. One with a plural has two.
            message = found[0] if isinstance(found, tuple) else found
            if message is not None:
                yield message


def _of_modules() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "N_":
                (argument,) = node.args
                assert isinstance(argument, ast.Constant), f"{path}:{node.lineno}"
                assert isinstance(argument.value, str)
                yield argument.value


def catalogue(language: str) -> dict[str, tuple[str, ...]]:
    return dict(read_catalogue((PACKAGE / "words" / f"{language}.po").read_text(encoding="utf-8")))


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {ENGLISH}))
def test_it_works(language: str) -> None:
    translations = catalogue(language)

    assert sorted(messages() - translations.keys()) == []
    assert sorted(translations.keys() - messages()) == []
    assert [message for message, found in translations.items() if not all(found)] == []
    assert {message for message, found in translations.items() if message in found} == EQUAL


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {ENGLISH}))
def test_translations_have_the_places_of_their_messages(language: str) -> None:
    for message, found in catalogue(language).items():
        assert {_places(message)} == {_places(each) for each in found}, message


def _places(text: str) -> frozenset[str]:
    return frozenset(part.partition(")")[0] for part in text.split("%(")[1:])


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


def test_times_are_written_as_in_the_language() -> None:
    assert [write_time(AT, each) for each in ("en", "de")] == ["20 Nov 2026, 09:30 UTC", "20.11.2026, 09:30 UTC"]
