# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.directory.opensuite.sieve import parse_reply, render_reply

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    script = render_reply("We are at sea.", ["quay@estate.example", "pier@estate.example"])

    assert script == (
        'require ["vacation"];\n'
        'vacation :days 1 :addresses ["quay@estate.example", "pier@estate.example"] :subject "Automatic reply" text:\n'
        "We are at sea.\n"
        ".\n"
        ";\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "We are at sea.",
        "",
        "Two\nlines",
        "With CR LF\r\nin it",
        "Ends with a line break\n",
        "\nBegins with one",
        ".",
        "..",
        ".begins with a dot\n.\n..twice",
        "text:\nvacation",
        '"quoted" \\ {braces} (parentheses); and a semicolon;',
        "Grüße aus Zürich 🚢",
        " spaces ",
    ],
)
def test_a_text_survives(text: str) -> None:
    assert parse_reply(render_reply(text, ["quay@estate.example"])) == text


def test_a_text_cannot_end_its_block() -> None:
    script = render_reply("Bye.\n.\n;\ndiscard;\nvacation text:\nMore.", [])

    assert "\n..\n;\ndiscard;" in script


def test_addresses_are_quoted() -> None:
    assert '["\\"a b\\\\\\"@estate.example"]' in render_reply("Hello.", ['"a b\\"@estate.example'])


@pytest.mark.parametrize("script", ["", "keep;", 'require ["vacation"];\nvacation "Away.";\n'])
def test_other_scripts_have_no_text(script: str) -> None:
    assert parse_reply(script) is None
