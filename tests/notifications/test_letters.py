# SPDX-License-Identifier: Apache-2.0
"""A letter part by part, in both forms."""

import pytest

from chamberlain.notifications.rendering import EmailContent, Link, Listing, Quote, to_html, to_text
from chamberlain.notifications.texts import Language

pytestmark = pytest.mark.pure

LETTER = EmailContent(
    language=Language.GERMAN,
    subject="1 < 2",
    parts=(
        "Hello & welcome.",
        Quote("Not now.\n\nAsk <Ada>\tin May."),
        Link("Open it", "https://x.example/?a=1&b=2"),
        Listing(("One\nline", "<two>")),
    ),
    footer="From A & B",
)


def test_it_works_as_plain_text() -> None:
    assert to_text(LETTER) == (
        "Hello & welcome.\n\n"
        "> Not now.\n>\n> Ask <Ada> in May.\n\n"
        "Open it: https://x.example/?a=1&b=2\n\n"
        "- One line\n- <two>\n\n"
        "-- \nFrom A & B\n"
    )


def test_it_works_as_html() -> None:
    assert to_html(LETTER) == (
        "<!DOCTYPE html>\n"
        '<html lang="de">\n'
        '<head><meta charset="utf-8"><title>1 &lt; 2</title></head>\n'
        "<body>\n"
        "<p>Hello &amp; welcome.</p>\n"
        "<blockquote>Not now.<br><br>Ask &lt;Ada&gt; in May.</blockquote>\n"
        '<p><a href="https://x.example/?a=1&amp;b=2">Open it</a></p>\n'
        "<ul>\n<li>One line</li>\n<li>&lt;two&gt;</li>\n</ul>\n"
        "<hr>\n<p><small>From A &amp; B</small></p>\n"
        "</body>\n</html>\n"
    )
