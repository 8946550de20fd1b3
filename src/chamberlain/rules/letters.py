"""Letters: what a mail says, part by part, as plain text and as HTML.

Everything that comes from somebody is data: it cannot add a line, an element to the HTML, or turn the writing round.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from chamberlain.rules.notice_words import Language

# Characters that turn the direction of what follows: a name could show a sentence that nobody has written.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKING = frozenset({"Cc", "Zl", "Zp", "Cs"})


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


def one_line(text: str) -> str:
    """A text from somebody, without anything that would end a line or turn the writing round."""
    return "".join(" " if _is_breaking(each) else each for each in text if each not in _TURNING)


def _is_breaking(character: str) -> bool:
    return unicodedata.category(character) in _BREAKING


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
