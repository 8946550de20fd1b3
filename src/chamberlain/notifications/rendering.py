"""Letters: what a mail says, part by part, as plain text and as HTML.

Everything that comes from somebody is data: it cannot add a line, an element to the HTML, or turn the writing round.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import groupby
from typing import TypeAlias
from uuid import UUID

from chamberlain.core.ids import UserId
from chamberlain.core.text import one_line
from chamberlain.directory.models import Person
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.policies.reports import Reminder, Report, Taken
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.notifications.models import AboutRequest, Notice, NoticeKind
from chamberlain.notifications.words import (
    Language,
    PlaceKind,
    PolicyWords,
    Words,
    language_of,
    policy_words_of,
    words_of,
)
from chamberlain.requests.models import ApprovalRecord, RequestRecord


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


# The longest address that a mail server has to take (RFC 5321, 4.5.3.1).
LONGEST_ADDRESS = 254
# Where a person's language stands among the properties that a directory gives.
PREFERRED_LANGUAGE = "preferredLanguage"

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


def address_of(person: Person) -> str | None:
    """Where a person gets mail; None when the directory has no address of theirs, or none that can be one."""
    mail = person.mail
    fits = mail is not None and len(mail) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(mail) is not None
    return mail if fits else None


def language_for(person: Person) -> Language:
    """The language that a person is written to in."""
    return language_of(person.properties.get(PREFERRED_LANGUAGE))


def mail_of(notice: Notice, letter: Letter, person: Person, address: str) -> Mail:
    """The letter of a notice for one recipient."""
    return Mail(
        id=f"{notice.id}.{person.id}",
        to=person.id,
        address=address,
        name=one_line(person.display_name),
        subject=letter.subject,
        text=text_of(letter),
        html=html_of(letter),
        language=letter.language,
        at=notice.at,
    )


@dataclass(frozen=True, slots=True)
class RequestNews:
    """What a notice is about: the request as it is now, its tenant, and where a person can look at it, if somewhere."""

    notice: Notice
    about: AboutRequest
    request: RequestRecord
    tenant_name: str
    link: str | None


def request_letter(news: RequestNews, language: Language) -> Letter:
    """What is said in one language."""
    words = words_of(language)
    return Letter(
        language=language,
        subject=words.subjects[news.about.kind].format(thing=_thing(news.request, words)),
        parts=tuple(_parts(news, words)),
        footer=words.footer.format(request_id=news.request.request_id, tenant=one_line(news.tenant_name)),
    )


def _thing(request: RequestRecord, words: Words) -> str:
    return words.things[request.kind].format(name=one_line(request.display_name))


def _parts(news: RequestNews, words: Words) -> Iterator[Part]:
    kind, request = news.about.kind, news.request
    requester = one_line(request.created_by.display_name).strip() or words.somebody
    about = words.news[kind].format(thing=_thing(request, words), requester=requester)
    yield " ".join([about, *_template(request, words)])
    match kind:
        case NoticeKind.APPROVAL_REQUIRED:
            yield from _terms(news.about, request.approvals, words)
        case NoticeKind.APPROVED | NoticeKind.REJECTED:
            yield from _comments(request.approvals, words)
        case NoticeKind.FAILED:
            if request.error is not None:
                yield words.cause
                yield Quote(request.error.detail)
        case NoticeKind.EXPIRED:
            pass
    if (what_next := words.what_next.get(kind)) is not None:
        yield what_next
    if news.link is not None:
        yield Link(words.open_request, news.link)


def _template(request: RequestRecord, words: Words) -> Iterator[str]:
    if request.template is not None:
        yield words.from_template.format(template=one_line(request.template.name))


def _terms(about: AboutRequest, approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[str]:
    level = next((each for each in approvals if each.level == about.level), None)
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


def _comments(approvals: Sequence[ApprovalRecord], words: Words) -> Iterator[Part]:
    for decision in [decision for level in approvals for decision in level.decisions]:
        if decision.comment is not None and decision.comment.strip():
            yield words.decided_by.format(name=one_line(decision.by.display_name).strip() or words.somebody)
            yield Quote(decision.comment)


@dataclass(frozen=True, slots=True)
class PolicyNews:
    """A report, and whom it is for. `confirm_address` is where a finding is confirmed, with ID for its id."""

    notice: Notice
    report: Report
    tenant_name: str
    are_owners: bool
    confirm_address: str


def policy_letter(news: PolicyNews, language: Language) -> Letter:
    """What is said in one language."""
    words, report = policy_words_of(language), news.report
    subject = words.asks if report.asks else words.tells
    footer = words.footer.format(id=report.subject.entry.id, tenant=one_line(news.tenant_name))
    return Letter(
        language, subject.format(thing=_policy_thing(report, words)), tuple(_policy_parts(news, words)), footer
    )


def _policy_thing(report: Report, words: PolicyWords) -> str:
    entry = report.subject.entry
    return words.things[_kind_of(entry)].format(name=one_line(entry.display_name))


def _kind_of(entry: SubjectEntry) -> PlaceKind:
    match entry.type:
        case SubjectType.SITE:
            return PlaceKind.SITE
        case SubjectType.GROUP:
            return PlaceKind.TEAM if entry.is_team else PlaceKind.GROUP


def _policy_parts(news: PolicyNews, words: PolicyWords) -> Iterator[Part]:
    report = news.report
    yield f"{_policy(report, words)} {_why(news, words)}"
    yield from _reminded(report.reminders, words)
    yield from _done(report.taken, words)
    if report.more:
        yield words.more.format(number=report.more)
    if report.asks:
        yield words.how_to_confirm.format(address=news.confirm_address)
    if (owners := report.owners) is not None:
        yield words.too_few_owners.format(owners=owners.owners, wanted=owners.wanted)


def _policy(report: Report, words: PolicyWords) -> str:
    name = report.subject.policy_name
    if name is None:
        return words.no_policy.format(thing=_policy_thing(report, words))
    return words.policy.format(policy=one_line(name), thing=_policy_thing(report, words))


def _why(news: PolicyNews, words: PolicyWords) -> str:
    if news.are_owners:
        return words.to_owners
    return words.to_administrators.format(tenant=one_line(news.tenant_name))


def _reminded(reminders: Iterable[Reminder], words: PolicyWords) -> Iterator[Part]:
    for (rule, action), group in groupby(reminders, lambda each: (each.rule, each.action)):
        yield f"{words.reminders[rule]} {words.will[action]}"
        yield Listing(tuple([_reminder(each, words) for each in group]))


def _done(taken: Iterable[Taken], words: PolicyWords) -> Iterator[Part]:
    for (action, rule), group in groupby(taken, lambda each: (each.action, each.rule)):
        yield f"{words.reasons[rule]} {words.done[action]}"
        yield Listing(tuple([_item(each.finding_id, _name(each.guest_id, each.guest, words)) for each in group]))


def _reminder(each: Reminder, words: PolicyWords) -> str:
    name = _name(each.guest.id, each.guest, words)
    return _item(each.finding_id, f"{each.action_at:%Y-%m-%d %H:%M} UTC, {name}")


def _item(finding_id: UUID | None, line: str) -> str:
    """The name comes last: guests choose it, and nothing of ours may be mistaken for a part of it."""
    return line if finding_id is None else f"{finding_id}: {line}"


def _name(guest_id: UserId, guest: Guest | None, words: PolicyWords) -> str:
    """Of somebody who is forgotten there is no name."""
    if guest is None or not guest.display_name.strip():
        return words.somebody.format(id=guest_id)
    name = one_line(guest.display_name)
    return name if guest.mail is None else f"{name} ({one_line(guest.mail)})"
