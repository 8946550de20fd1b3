"""Letters about guest policies: what a report says to those who may do something about it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from chamberlain.core.ids import UserId
from chamberlain.core.text import one_line
from chamberlain.directory.subjects import SubjectType
from chamberlain.directory.subjects_guests import Guest
from chamberlain.guests.policies.reports import Reminder, Report, Taken
from chamberlain.guests.subjects.models import SubjectEntry
from chamberlain.notifications.models import Notice
from chamberlain.notifications.rendering import Letter, Listing, Part
from chamberlain.notifications.words import Language
from chamberlain.notifications.words_policy_words import PlaceKind, PolicyWords, policy_words_of


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
    return Letter(language, subject.format(thing=_thing(report, words)), tuple(_parts(news, words)), footer)


def _thing(report: Report, words: PolicyWords) -> str:
    entry = report.subject.entry
    return words.things[_kind_of(entry)].format(name=one_line(entry.display_name))


def _kind_of(entry: SubjectEntry) -> PlaceKind:
    match entry.type:
        case SubjectType.SITE:
            return PlaceKind.SITE
        case SubjectType.GROUP:
            return PlaceKind.TEAM if entry.is_team else PlaceKind.GROUP


def _parts(news: PolicyNews, words: PolicyWords) -> Iterator[Part]:
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
        return words.no_policy.format(thing=_thing(report, words))
    return words.policy.format(policy=one_line(name), thing=_thing(report, words))


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
