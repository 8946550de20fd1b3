"""Letters: what a mail says, part by part, as plain text and as HTML.

Everything that comes from somebody is data: it cannot add a line, an element to the HTML, or turn the writing round.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from chamberlain.core.text import one_line
from chamberlain.notifications.words import Language


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody has written, line by line."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address to open, and what that does."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list, each item of which is one line."""

    items: tuple[str, ...]


Part: TypeAlias = str | Quote | Link | Listing


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter in one language; a part that is a text is a paragraph."""

    language: Language
    subject: str
    parts: tuple[Part, ...]
    footer: str


def text_of(letter: Letter) -> str:
    """The letter as plain text."""
    return "\n\n".join([*map(_text_part, letter.parts), f"-- \n{letter.footer}"]) + "\n"


def html_of(letter: Letter) -> str:
    """The letter as HTML."""
    head = f'<meta charset="utf-8"><title>{escape(letter.subject)}</title>'
    body = "\n".join([*map(_html_part, letter.parts), f"<hr>\n<p><small>{escape(letter.footer)}</small></p>"])
    return f'<!DOCTYPE html>\n<html lang="{letter.language}">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def _lines(quote: Quote) -> Iterable[str]:
    return [one_line(line) for line in quote.text.splitlines()]


def _text_part(part: Part) -> str:
    match part:
        case str():
            return part
        case Quote():
            return "\n".join(f"> {line}".rstrip() for line in _lines(part))
        case Link():
            return f"{part.label}: {part.address}"
        case Listing():
            return "\n".join(f"- {one_line(item)}" for item in part.items)


def _html_part(part: Part) -> str:
    match part:
        case str():
            return f"<p>{escape(part)}</p>"
        case Quote():
            return f"<blockquote>{'<br>'.join(map(escape, _lines(part)))}</blockquote>"
        case Link():
            return f'<p><a href="{escape(part.address)}">{escape(part.label)}</a></p>'
        case Listing():
            items = "\n".join(f"<li>{escape(one_line(item))}</li>" for item in part.items)
            return f"<ul>\n{items}\n</ul>"
