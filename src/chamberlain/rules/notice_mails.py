"""Mails: what a notice says to one recipient, as plain text and as HTML.

Everything that comes from somebody is data: it cannot add a line to a header, an element to the HTML, or turn the
writing round.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from chamberlain.rules.approvals import ApprovalRecord
from chamberlain.rules.ids import UserId
from chamberlain.rules.notice_words import Language, Words, language_of, words_of
from chamberlain.rules.notices import Notice, NoticeKind
from chamberlain.rules.people import Person
from chamberlain.rules.requests import RequestRecord

# The longest address that a mail server has to take (RFC 5321, 4.5.3.1).
LONGEST_ADDRESS = 254
# Where a person's language stands among the properties that a directory gives.
PREFERRED_LANGUAGE = "preferredLanguage"

# Characters that turn the direction of what follows: a name could show a sentence that nobody has written.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BREAKING = frozenset({"Cc", "Zl", "Zp", "Cs"})
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+@[^\s@<>()\\,;:\"\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to one recipient. `id` is the same at every try, so that whoever gets it twice may show it once."""

    id: str
    to: UserId
    address: str
    name: str
    subject: str
    text: str
    html: str
    language: Language
    at: datetime


@dataclass(frozen=True, slots=True)
class News:
    """What a notice is about: the request as it is now, its tenant, and where a person can look at it, if somewhere."""

    notice: Notice
    request: RequestRecord
    tenant_name: str
    link: str | None


@dataclass(frozen=True, slots=True)
class _Quote:
    """What somebody has written, line by line."""

    text: str


@dataclass(frozen=True, slots=True)
class _Link:
    label: str
    address: str


_Part = str | _Quote | _Link


def address_of(person: Person) -> str | None:
    """Where a person gets mail; None when the directory has no address of theirs, or none that can be one."""
    mail = person.mail
    fits = mail is not None and len(mail) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(mail) is not None
    return mail if fits else None


def compose(news: News, person: Person, address: str) -> Mail:
    """The mail for one recipient, in a language of theirs."""
    language = language_of(person.properties.get(PREFERRED_LANGUAGE))
    words = words_of(language)
    subject = words.subjects[news.notice.kind].format(thing=_thing(news.request, words))
    parts = list(_parts(news, words))
    footer = words.footer.format(request_id=news.request.request_id, tenant=one_line(news.tenant_name))
    return Mail(
        id=f"{news.notice.id}.{person.id}",
        to=person.id,
        address=address,
        name=one_line(person.display_name),
        subject=subject,
        text=_text(parts, footer),
        html=_html(parts, footer, subject=subject, language=language),
        language=language,
        at=news.notice.at,
    )


def one_line(text: str) -> str:
    """A text from somebody, without anything that would end a line or turn the writing round."""
    return "".join(" " if _is_breaking(each) else each for each in text if each not in _TURNING)


def _is_breaking(character: str) -> bool:
    return unicodedata.category(character) in _BREAKING


def _thing(request: RequestRecord, words: Words) -> str:
    return words.things[request.kind].format(name=one_line(request.display_name))


def _parts(news: News, words: Words) -> Iterator[_Part]:
    notice, request = news.notice, news.request
    requester = one_line(request.created_by.display_name).strip() or words.somebody
    about = words.news[notice.kind].format(thing=_thing(request, words), requester=requester)
    yield " ".join([about, *_template(request, words)])
    match notice.kind:
        case NoticeKind.APPROVAL_REQUIRED:
            yield from _terms(notice, request.approvals, words)
        case NoticeKind.APPROVED | NoticeKind.REJECTED:
            yield from _comments(request.approvals, words)
        case NoticeKind.FAILED:
            if request.error is not None:
                yield words.cause
                yield _Quote(request.error.detail)
        case NoticeKind.EXPIRED:
            pass
    if (what_next := words.what_next.get(notice.kind)) is not None:
        yield what_next
    if news.link is not None:
        yield _Link(words.open_request, news.link)


def _template(request: RequestRecord, words: Words) -> Iterator[str]:
    if request.template is not None:
        yield words.from_template.format(template=one_line(request.template.name))


def _terms(notice: Notice, approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[str]:
    level = next((each for each in approvals if each.level == notice.level), None)
    if level is None:
        return
    terms = []
    if len(approvals) > 1:
        terms.append(words.level.format(level=level.level, levels=len(approvals)))
    if len(level.approvers) > 1:
        terms.append(words.modes[level.mode])
    if level.deadline is not None:
        terms.append(words.deadline.format(deadline=f"{level.deadline:%Y-%m-%d %H:%M}"))
    if terms:
        yield " ".join(terms)


def _comments(approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[_Part]:
    for decision in [decision for level in approvals for decision in level.decisions]:
        if decision.comment is not None and decision.comment.strip():
            yield words.decided_by.format(name=one_line(decision.by.display_name).strip() or words.somebody)
            yield _Quote(decision.comment)


def _lines(quote: _Quote) -> Iterable[str]:
    return [one_line(line) for line in quote.text.splitlines()]


def _text(parts: Iterable[_Part], footer: str) -> str:
    return "\n\n".join([*map(_text_part, parts), f"-- \n{footer}"]) + "\n"


def _text_part(part: _Part) -> str:
    match part:
        case str():
            return part
        case _Quote():
            return "\n".join(f"> {line}".rstrip() for line in _lines(part))
        case _Link():
            return f"{part.label}: {part.address}"


def _html(parts: Iterable[_Part], footer: str, *, subject: str, language: Language) -> str:
    head = f'<meta charset="utf-8"><title>{escape(subject)}</title>'
    body = "\n".join([*map(_html_part, parts), f"<hr>\n<p><small>{escape(footer)}</small></p>"])
    return f'<!DOCTYPE html>\n<html lang="{language}">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def _html_part(part: _Part) -> str:
    match part:
        case str():
            return f"<p>{escape(part)}</p>"
        case _Quote():
            return f"<blockquote>{'<br>'.join(map(escape, _lines(part)))}</blockquote>"
        case _Link():
            return f'<p><a href="{escape(part.address)}">{escape(part.label)}</a></p>'
