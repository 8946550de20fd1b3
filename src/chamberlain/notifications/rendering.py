# SPDX-License-Identifier: Apache-2.0
"""Render e-mail as plain text and HTML.

All content is data. It cannot add a line or an HTML element, or change the writing direction.
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
from chamberlain.guests.models import FindingRecord
from chamberlain.guests.policies.reports import Reminder, Report, TakenAction
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.notifications.models import ASKING, AboutRequest, Notice, NoticeKind
from chamberlain.notifications.texts import (
    Language,
    PlaceKind,
    PolicyTexts,
    RequestTexts,
    drift_texts_for,
    language_of,
    policy_texts_for,
    texts_for,
)
from chamberlain.requests.models import ApprovalRecord, Decision, RequestRecord


@dataclass(frozen=True, slots=True)
class Quote:
    """Text of a user, by lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link with its label."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list, each item of which is one line."""

    items: tuple[str, ...]


Part: TypeAlias = str | Quote | Link | Listing


@dataclass(frozen=True, slots=True)
class EmailContent:
    """An e-mail in one language.

    A part of type str is a paragraph.
    """

    language: Language
    subject: str
    parts: tuple[Part, ...]
    footer: str
    takes_reply: bool = False


# The longest address that a mail server has to take (RFC 5321, 4.5.3.1).
LONGEST_ADDRESS = 254
_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+@[^\s@<>()\\,;:\"\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to one recipient.

    `id` is the same at each retry, so that mail programs can deduplicate.
    """

    id: str
    to: UserId
    address: str
    name: str
    subject: str
    text: str
    html: str
    language: Language
    at: datetime
    takes_reply: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A user who is asked for a decision.

    `represents` is the name of the approver for whom a substitute decides. `reply_token` is None if replies by mail are
    not taken.
    """

    represents: str | None
    reply_token: str | None


@dataclass(frozen=True, slots=True)
class RequestNotification:
    """A notice about a request in its current state, with a link."""

    notice: Notice
    about: AboutRequest
    request: RequestRecord
    tenant_name: str
    link: str | None


@dataclass(frozen=True, slots=True)
class PolicyNotification:
    """A report of a policy for its recipients.

    `confirm_address` is the address that confirms a finding, with ID as placeholder.
    """

    notice: Notice
    report: Report
    tenant_name: str
    are_owners: bool
    confirm_address: str


@dataclass(frozen=True, slots=True)
class DriftNotification:
    """The newly opened findings of drift checks, at most some of them.

    `number` counts them all.
    """

    notice: Notice
    findings: tuple[FindingRecord, ...]
    number: int
    tenant_name: str


def to_text(content: EmailContent) -> str:
    """The letter as plain text."""
    return "\n\n".join([*map(_text_part, content.parts), f"-- \n{content.footer}"]) + "\n"


def to_html(content: EmailContent) -> str:
    """The letter as HTML."""
    head = f'<meta charset="utf-8"><title>{escape(content.subject)}</title>'
    body = "\n".join([*map(_html_part, content.parts), f"<hr>\n<p><small>{escape(content.footer)}</small></p>"])
    return f'<!DOCTYPE html>\n<html lang="{content.language}">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def address_of(person: Person) -> str | None:
    """Return the mail address of a person, or None.

    None means that it is missing or invalid.
    """
    mail = person.mail
    fits = mail is not None and len(mail) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(mail) is not None
    return mail if fits else None


def language_for(person: Person) -> Language:
    """Return the language of a person's mail."""
    return language_of(person.language)


def to_mail(notice: Notice, content: EmailContent, person: Person, address: str) -> Mail:
    """The letter of a notice for one recipient."""
    return Mail(
        id=f"{notice.id}.{person.id}",
        to=person.id,
        address=address,
        name=one_line(person.display_name),
        subject=content.subject,
        text=to_text(content),
        html=to_html(content),
        language=content.language,
        at=notice.at,
        takes_reply=content.takes_reply,
    )


def request_email(notification: RequestNotification, language: Language, asked: Asked | None = None) -> EmailContent:
    """Render the e-mail about a request.

    With `asked` it is for one user, who is asked for a decision.
    """
    texts = texts_for(language)
    takes_reply = asked is not None and asked.reply_token is not None
    footer = texts.footer_with_replies if takes_reply else texts.footer
    return EmailContent(
        language=language,
        subject=texts.subjects[notification.about.kind].format(target=_target(notification.request, texts)),
        parts=(*_parts(notification, texts, asked), *_reply(texts, asked)),
        footer=footer.format(request_id=notification.request.request_id, tenant=one_line(notification.tenant_name)),
        takes_reply=takes_reply,
    )


def policy_email(notification: PolicyNotification, language: Language) -> EmailContent:
    """Render the e-mail about a policy report."""
    texts, report = policy_texts_for(language), notification.report
    subject = texts.confirm_subject if report.needs_confirmation else texts.report_subject
    footer = texts.footer.format(id=report.subject.entry.id, tenant=one_line(notification.tenant_name))
    return EmailContent(
        language,
        subject.format(target=_policy_target(report, texts)),
        tuple(_policy_parts(notification, texts)),
        footer,
    )


def drift_email(notification: DriftNotification, language: Language) -> EmailContent:
    """Render the e-mail about drift."""
    texts, tenant = drift_texts_for(language), one_line(notification.tenant_name)
    # The name comes last, because users choose it.
    lines = [f"{each.id}: {each.property}, {each.subject.display_name}" for each in notification.findings]
    left = notification.number - len(lines)
    parts: list[Part] = [texts.found, Listing(tuple(lines))]
    if left:
        parts.append(texts.more.format(number=left))
    return EmailContent(
        language,
        texts.subject.format(number=notification.number, tenant=tenant),
        (*parts, texts.next_steps),
        texts.footer.format(tenant=tenant),
    )


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


def _target(request: RequestRecord, texts: RequestTexts) -> str:
    return texts.targets[request.kind].format(name=one_line(request.display_name))


def _parts(notification: RequestNotification, texts: RequestTexts, asked: Asked | None) -> Iterator[Part]:
    kind, request = notification.about.kind, notification.request
    requester = one_line(request.created_by.display_name).strip() or texts.unknown_person
    about = texts.notification[kind].format(target=_target(request, texts), requester=requester)
    yield " ".join([about, *_template(request, texts)])
    if asked is not None and asked.represents is not None:
        yield texts.for_approver.format(approver=one_line(asked.represents).strip() or texts.unknown_person)
    match kind:
        case NoticeKind.APPROVAL_REQUIRED | NoticeKind.SUBSTITUTE_REQUIRED | NoticeKind.APPROVAL_REMINDER:
            yield from _terms(notification.about, request.approvals, texts)
        case NoticeKind.APPROVED | NoticeKind.REJECTED:
            yield from _comments(request.approvals, texts)
        case NoticeKind.FAILED:
            if request.error is not None:
                yield texts.cause
                yield Quote(request.error.detail)
        case NoticeKind.EXPIRED:
            pass
    if (next_steps := texts.next_steps.get(kind)) is not None:
        yield next_steps
    if notification.link is not None:
        yield Link(texts.review_request if kind in ASKING else texts.open_request, notification.link)


def _reply(texts: RequestTexts, asked: Asked | None) -> Iterator[Part]:
    if asked is not None and asked.reply_token is not None:
        yield texts.reply
        yield texts.reply_code.format(token=asked.reply_token)


def _policy_target(report: Report, texts: PolicyTexts) -> str:
    entry = report.subject.entry
    return texts.targets[_kind_of(entry)].format(name=one_line(entry.display_name))


def _policy_parts(notification: PolicyNotification, texts: PolicyTexts) -> Iterator[Part]:
    report = notification.report
    yield f"{_policy(report, texts)} {_why(notification, texts)}"
    yield from _reminded(report.reminders, texts)
    yield from _done(report.taken, texts)
    if report.more:
        yield texts.more.format(number=report.more)
    if report.needs_confirmation:
        yield texts.how_to_confirm.format(address=notification.confirm_address)
    if (owners := report.owners) is not None:
        yield texts.too_few_owners.format(owners=owners.owners, wanted=owners.wanted)


def _lines(quote: Quote) -> Iterable[str]:
    return [one_line(line) for line in quote.text.splitlines()]


def _template(request: RequestRecord, texts: RequestTexts) -> Iterator[str]:
    if request.template is not None:
        yield texts.from_template.format(template=one_line(request.template.name))


def _terms(about: AboutRequest, approvals: Sequence[ApprovalRecord], texts: RequestTexts) -> Iterator[str]:
    level = next((each for each in approvals if each.level == about.level), None)
    if level is None:
        return
    terms = []
    if len(approvals) > 1:
        terms.append(texts.level.format(level=level.level, levels=len(approvals)))
    if len(level.approvers) > 1:
        terms.append(texts.modes[level.mode])
    if level.deadline is not None:
        terms.append(texts.deadline.format(deadline=level.deadline))
    if terms:
        yield " ".join(terms)


def _comments(approvals: Sequence[ApprovalRecord], texts: RequestTexts) -> Iterator[Part]:
    for decision in [decision for level in approvals for decision in level.decisions]:
        name = _decider(decision, texts)
        if decision.comment is not None and decision.comment.strip():
            yield texts.decided_by.format(name=name)
            yield Quote(decision.comment)
        elif decision.on_behalf_of is not None:
            yield texts.decided_for.format(name=name)


def _decider(decision: Decision, texts: RequestTexts) -> str:
    """Return the name of the decider, of a substitute with the approver."""
    name = one_line(decision.by.display_name).strip() or texts.unknown_person
    if decision.on_behalf_of is None:
        return name
    approver = one_line(decision.on_behalf_of.display_name).strip() or texts.unknown_person
    return texts.on_behalf_of.format(name=name, approver=approver)


def _kind_of(entry: SubjectEntry) -> PlaceKind:
    match entry.type:
        case SubjectType.SITE:
            return PlaceKind.SITE
        case SubjectType.GROUP:
            return PlaceKind.TEAM if entry.is_team else PlaceKind.GROUP


def _policy(report: Report, texts: PolicyTexts) -> str:
    name = report.subject.policy_name
    if name is None:
        return texts.no_policy.format(target=_policy_target(report, texts))
    return texts.policy.format(policy=one_line(name), target=_policy_target(report, texts))


def _why(notification: PolicyNotification, texts: PolicyTexts) -> str:
    if notification.are_owners:
        return texts.to_owners
    return texts.to_administrators.format(tenant=one_line(notification.tenant_name))


def _reminded(reminders: Iterable[Reminder], texts: PolicyTexts) -> Iterator[Part]:
    for (rule, action), group in groupby(reminders, lambda each: (each.rule, each.action)):
        yield f"{texts.reminders[rule]} {texts.will[action]}"
        yield Listing(tuple([_reminder(each, texts) for each in group]))


def _done(taken: Iterable[TakenAction], texts: PolicyTexts) -> Iterator[Part]:
    for (action, rule), group in groupby(taken, lambda each: (each.action, each.rule)):
        yield f"{texts.reasons[rule]} {texts.done[action]}"
        yield Listing(tuple([_item(each.finding_id, _name(each.guest_id, each.guest, texts)) for each in group]))


def _reminder(each: Reminder, texts: PolicyTexts) -> str:
    name = _name(each.guest.id, each.guest, texts)
    return _item(each.finding_id, f"{each.action_at:%Y-%m-%d %H:%M} UTC, {name}")


def _item(finding_id: UUID | None, line: str) -> str:
    """Format an item.

    The name comes last, because guests choose it and could imitate our text.
    """
    return line if finding_id is None else f"{finding_id}: {line}"


def _name(guest_id: UserId, guest: Guest | None, texts: PolicyTexts) -> str:
    """Format a guest's name. Erased guests have none."""
    if guest is None or not guest.display_name.strip():
        return texts.unknown_person.format(id=guest_id)
    name = one_line(guest.display_name)
    return name if guest.mail is None else f"{name} ({one_line(guest.mail)})"
