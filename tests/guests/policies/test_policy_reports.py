# SPDX-License-Identifier: Apache-2.0
"""Reports of runs: their entries at the time of sending, recipients and texts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from chamberlain.core.ids import GroupId, NoticeId, PolicyId, TenantId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.models import NamedPerson, PeopleAnswer, Person, Relations
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import Assignment, FindingSubject
from chamberlain.guests.policies.evaluation import AssignedPolicy, PolicyTask
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction, PolicyRules, Review
from chamberlain.guests.policies.reports import (
    MAX_NAMED,
    Findings,
    OpenFinding,
    Report,
    ReportLine,
    TooFewOwners,
    add_names,
    build_report,
)
from chamberlain.guests.policies.timers import PolicyRule, Timer, record_failure
from chamberlain.guests.subjects.models import SubjectEntry, SubjectRecord
from chamberlain.notifications.models import AboutSubject, Notice
from chamberlain.notifications.rendering import EmailContent, PolicyNotification, policy_email, to_html, to_text
from chamberlain.notifications.rules import Candidates, Recipients, candidates, recipients_question, report_recipients
from chamberlain.notifications.texts import Language, PlaceKind, policy_texts_for
from chamberlain.tenants.models import Tenant

pytestmark = pytest.mark.pure

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
GROUP = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
POLICY = PolicyId(UUID("90110000-0000-4000-8000-000000000002"))
BOARD = GroupId(UUID("94000000-0000-4000-8000-0000000000b0"))
FINDING = UUID("f1d00000-0000-4000-8000-000000000001")
ADA, BEN, CLEO = UserId(UUID(int=0xADA)), UserId(UUID(int=0xBE)), UserId(UUID(int=0xC1E))
GIL = Guest(UserId(UUID("9e570000-0000-4000-8000-000000000001")), "gil@partner.example", "Gil Hartmann")
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOSTILE = "</li><script>x</script>\r\nBcc: eve@evil.example\u202e {id} {line} {target}"

REMINDED = Timer(
    rule=PolicyRule.REVIEW,
    guest=GIL,
    policy_id=POLICY,
    terms="",
    action=PolicyAction.DISABLE,
    started_at=NOW,
    action_at=NOW + timedelta(days=14),
    next_at=NOW + timedelta(days=14),
    reminded=14,
)
REMINDER = ReportLine(PolicyRule.REVIEW, GIL.id)
TOO_FEW = ReportLine(PolicyRule.MINIMUM_OWNERS, None)
ASKED: Findings = {(PolicyRule.REVIEW, GIL.id): OpenFinding(FINDING, None, None)}


def task(*timers: Timer, policy_id: PolicyId | None = POLICY, by: ConfirmedBy = ConfirmedBy.OWNERS) -> PolicyTask:
    review = Review(365, 14, by, (14,), PolicyAction.DISABLE)
    rules = PolicyRules(None, review, None, None)
    policy = None if policy_id is None else AssignedPolicy(policy_id, rules, NOW, is_begun=True, idle=None)
    return PolicyTask((TENANT, GROUP), FindingSubject(TENANT, GROUP, SubjectType.GROUP, "All staff"), policy, timers)


def subject(
    kind: SubjectType = SubjectType.GROUP,
    name: str = "All staff",
    *,
    is_team: bool = False,
    policy: str | None = "Yearly review",
) -> SubjectRecord:
    entry = SubjectEntry(
        tenant_id=TENANT,
        id=GROUP,
        type=kind,
        display_name=name,
        mail=None,
        is_team=is_team,
        member_ship_type=MemberShipType.PRIVATE,
        request_id=None,
        site_url=None,
        sharing=None,
        observed_at=NOW,
    )
    return SubjectRecord(
        entry=entry,
        assignment=Assignment(None, POLICY),
        template_name=None,
        policy_name=policy,
        generation=1,
        effects=(),
        open_findings=0,
        assignment_request_id=None,
        assigned_at=NOW,
        assigned_by=None,
    )


def letter_of(report: Report, language: Language = Language.ENGLISH, *, are_owners: bool = True) -> EmailContent:
    notice = Notice(TENANT, NoticeId(uuid4()), AboutSubject(GROUP), NOW, 0, frozenset())
    return policy_email(PolicyNotification(notice, report, "Estate", are_owners, "https://x/ID/confirm/"), language)


def report(*lines: ReportLine, about: PolicyTask | None = None, findings: Findings = ASKED) -> Report:
    return build_report(lines, subject(), about or task(REMINDED), findings)


@pytest.mark.parametrize(
    ("about", "is_reported"),
    [
        (task(REMINDED), True),
        (task(replace(REMINDED, reminded=None)), False),
        (task(replace(REMINDED, is_acting=True)), False),
        (task(record_failure(replace(REMINDED, is_acting=True), "No.", now=REMINDED.started_at)), False),
        # Refused, accepted and open again: it is announced again, with its fault.
        (task(replace(REMINDED, is_acting=True, trouble="No.")), True),
        (task(replace(REMINDED, acted_at=NOW)), False),
        (task(replace(REMINDED, action_at=None)), False),
        (task(), False),
        (task(replace(REMINDED, rule=PolicyRule.EXPIRY)), False),
        (replace(task(REMINDED), accepted={REMINDED.place: None}), False),
        (task(REMINDED, policy_id=None), False),
        (task(REMINDED, policy_id=PolicyId(uuid4())), False),
    ],
)
def test_it_works_for_reminders_of_what_is_still_to_come(about: PolicyTask, *, is_reported: bool) -> None:
    assert report(REMINDER, about=about).is_empty is not is_reported


@pytest.mark.parametrize(
    ("action", "findings", "is_reported"),
    [
        (PolicyAction.REMOVE, {}, True),
        (PolicyAction.DISABLE, {}, True),
        (PolicyAction.NOTIFY, ASKED, True),
        (PolicyAction.NOTIFY, {}, False),
    ],
)
def test_it_works_for_what_was_done(action: PolicyAction, findings: Findings, *, is_reported: bool) -> None:
    line = ReportLine(PolicyRule.REVIEW, GIL.id, action)

    assert report(line, about=task(policy_id=None), findings=findings).is_empty is not is_reported


@pytest.mark.parametrize(
    ("lines", "found", "expected"),
    [
        ([TOO_FEW], OpenFinding(FINDING, 1, 2), TooFewOwners(1, 2)),
        ([TOO_FEW], None, None),
        ([TOO_FEW], OpenFinding(FINDING, None, None), None),
        ([], OpenFinding(FINDING, 1, 2), None),
    ],
)
def test_it_works_for_owners(lines: list[ReportLine], found: OpenFinding | None, expected: TooFewOwners | None) -> None:
    findings: Findings = {} if found is None else {(PolicyRule.MINIMUM_OWNERS, None): found}

    assert report(*lines, findings=findings).owners == expected


def test_it_names_the_first_and_counts_the_others() -> None:
    guests = [Guest(UserId(UUID(int=number)), None, f"Guest {number:03}") for number in range(90)]
    timers = [replace(REMINDED, guest=guest) for guest in guests]
    lines = [ReportLine(PolicyRule.REVIEW, guest.id) for guest in reversed(guests)]
    removed = [ReportLine(PolicyRule.EXPIRY, UserId(uuid4()), PolicyAction.REMOVE) for _ in range(30)]

    told = report(*removed, *lines, about=task(*timers))

    assert [each.guest for each in told.reminders] == guests
    assert len(told.taken) == len(told.unnamed) == MAX_NAMED - 90
    assert told.more == 20


@pytest.mark.parametrize(("language"), list(Language))
def test_it_works_with_words_for_everything(language: Language) -> None:
    texts = policy_texts_for(language)

    assert set(texts.targets) == set(PlaceKind)
    assert set(texts.will) == set(texts.done) == set(PolicyAction)
    assert set(texts.reminders) == set(texts.reasons) == set(PolicyRule) - {PolicyRule.MINIMUM_OWNERS}


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("action", list(PolicyAction))
@pytest.mark.parametrize("rule", [rule for rule in PolicyRule if rule is not PolicyRule.MINIMUM_OWNERS])
def test_it_says_every_rule_and_action_in_every_language(
    rule: PolicyRule, action: PolicyAction, language: Language
) -> None:
    texts = policy_texts_for(language)
    late = Guest(UserId(uuid4()), None, "Ida Sommer")
    timer, over = replace(REMINDED, rule=rule, action=action), replace(REMINDED, rule=rule, guest=late, acted_at=NOW)
    lines = ReportLine(rule, GIL.id), ReportLine(rule, late.id, action)
    findings: Findings = {(rule, late.id): OpenFinding(FINDING, None, None)}

    text = to_text(letter_of(report(*lines, about=task(timer, over), findings=findings), language))

    is_asked = rule is PolicyRule.REVIEW
    reminder = "- 2026-12-04 09:30 UTC, Gil Hartmann (gil@partner.example)"
    assert f"{texts.reminders[rule]} {texts.will[action]}\n\n{reminder}\n" in text
    assert f"{texts.reasons[rule]} {texts.done[action]}\n\n- {f'{FINDING}: ' if is_asked else ''}Ida Sommer\n" in text
    assert ("chamberlain finding confirm ID" in text) is is_asked
    assert ("https://x/ID/confirm/" in text) is is_asked


@pytest.mark.parametrize(
    ("place", "english", "german"),
    [
        (subject(), 'group "All staff"', "Gruppe „All staff“"),
        (subject(is_team=True), 'team "All staff"', "Team „All staff“"),
        (subject(SubjectType.SITE), 'site "All staff"', "Website „All staff“"),
    ],
)
def test_it_works_for_groups_teams_and_sites(place: SubjectRecord, english: str, german: str) -> None:
    told = replace(report(REMINDER), subject=place)

    assert letter_of(told).subject == f"Please confirm who stays: {english}"
    assert letter_of(told, Language.GERMAN).subject == f"Bitte bestätigen Sie, wer bleibt: {german}"
    assert letter_of(replace(told, reminders=())).subject == f"Guest policy: {english}"


def test_it_works_where_no_policy_is_assigned_any_more() -> None:
    line = ReportLine(PolicyRule.EXPIRY, GIL.id, PolicyAction.REMOVE)
    told = build_report([line], subject(policy=None), task(policy_id=None), {})

    assert "It is no longer assigned." in to_text(letter_of(told))


def test_it_says_why_somebody_is_reported() -> None:
    told = report(REMINDER)

    assert policy_texts_for(Language.ENGLISH).to_owners in to_text(letter_of(told))
    assert "because you administer Estate" in to_text(letter_of(told, are_owners=False))


def test_it_handles_hostile_names_as_data() -> None:
    timer = replace(REMINDED, guest=replace(GIL, display_name=HOSTILE))
    told = build_report([REMINDER, TOO_FEW], subject(name=HOSTILE, policy=HOSTILE), task(timer), ASKED)

    content = letter_of(told)

    assert len(content.subject.splitlines()) == 1
    assert not any(line.lower().startswith("bcc") for line in to_text(content).splitlines())
    assert "\u202e" not in content.subject + to_text(content) + to_html(content)
    assert "<script" not in to_html(content)
    assert "{id} {line} {target} (gil@partner.example)" in to_text(content)


def test_it_takes_the_name_of_somebody_who_was_removed_from_the_directory() -> None:
    told = report(ReportLine(PolicyRule.EXPIRY, GIL.id, PolicyAction.REMOVE), about=task())

    assert told.unnamed == {GIL.id}
    assert "- Gil Hartmann (gil@partner.example)" in to_text(letter_of(add_names(told, {GIL.id: person(GIL.id)})))
    assert f"- A user who is no longer in the directory ({GIL.id})" in to_text(letter_of(add_names(told, {})))


def test_it_lists_those_who_were_removed_by_name() -> None:
    guests = [UserId(UUID(int=number)) for number in (1, 2, 3)]
    told = report(*[ReportLine(PolicyRule.EXPIRY, guest, PolicyAction.REMOVE) for guest in guests])
    people = {guest: person(guest, name=name) for guest, name in zip(guests, ["Ida", "Cem", "Ada"], strict=True)}

    assert [each.guest and each.guest.display_name for each in add_names(told, people).taken] == ["Ada", "Cem", "Ida"]


def person(user: UserId, mail: str | None = "gil@partner.example", name: str = "Gil Hartmann") -> Person:
    return Person(id=user, display_name=name, mail=mail, has_team_license=False, properties={})


def guest(user: UserId) -> Person:
    return replace(person(user, "guest@partner.example"), properties={"userType": "Guest"})


def house(*users: UserId, groups: frozenset[GroupId] = frozenset()) -> Tenant:
    return Tenant(TENANT, 1, "Estate", ("x.example",), frozenset(users), groups, "chamberlain", suspended=False)


def answer(*owners: UserId, members: Mapping[GroupId, tuple[NamedPerson, ...]] | None = None) -> PeopleAnswer:
    return PeopleAnswer(
        owners={GROUP: tuple([NamedPerson(owner, "") for owner in owners])}, relations=Relations(None, members or {})
    )


def test_it_asks_who_owns_it_and_who_administers() -> None:
    question = recipients_question(report(REMINDER), house(ADA, groups=frozenset((BOARD,))))

    assert (question.owners_of, question.members_of) == (frozenset((GROUP,)), frozenset((BOARD,)))


@pytest.mark.parametrize(
    ("by", "owners", "expected"),
    [
        (ConfirmedBy.OWNERS, (BEN, CLEO), (BEN, CLEO)),
        (ConfirmedBy.OWNERS, (), ()),
        (ConfirmedBy.ADMINISTRATORS, (BEN,), ()),
    ],
)
def test_it_works_for_owners_where_it_is_theirs(
    by: ConfirmedBy, owners: tuple[UserId, ...], expected: tuple[UserId, ...]
) -> None:
    told = report(REMINDER, about=task(REMINDED, by=by))

    found = candidates(told, house(ADA), answer(*owners))

    assert found == Candidates(expected, (ADA,))


def test_it_knows_administrators_by_name_and_by_group() -> None:
    members = {BOARD: (NamedPerson(CLEO, ""), NamedPerson(ADA, ""))}

    found = candidates(report(REMINDER), house(ADA, groups=frozenset((BOARD,))), answer(members=members))

    assert set(found.administrators) == {ADA, CLEO}
    assert len(found.administrators) == 2


@pytest.mark.parametrize(
    ("owners", "people", "expected"),
    [
        ((BEN, CLEO), {BEN: person(BEN), CLEO: person(CLEO, None)}, Recipients((BEN, CLEO), are_owners=True)),
        ((CLEO,), {CLEO: person(CLEO, None)}, Recipients((ADA,), are_owners=False)),
        ((CLEO,), {}, Recipients((ADA,), are_owners=False)),
        # Owners who are guests confirm no guest.
        ((BEN, GIL.id), {BEN: person(BEN), GIL.id: guest(GIL.id)}, Recipients((BEN,), are_owners=True)),
        ((GIL.id,), {GIL.id: guest(GIL.id)}, Recipients((ADA,), are_owners=False)),
        ((), {}, Recipients((ADA,), are_owners=False)),
    ],
)
def test_it_tells_administrators_where_no_owner_can_be_told(
    owners: tuple[UserId, ...], people: Mapping[UserId, Person], expected: Recipients
) -> None:
    assert report_recipients(Candidates(owners, (ADA,)), people) == expected
